#include "kpack/msgpack_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <msgpack.hpp>
#include <new>
#include <utility>

namespace cerberus::kpack {

// The visitor that msgpack-c's parser calls. It stops the parser by returning
// false, which is also how limits are enforced: before anything is stored.
class TreeBuilder {
 public:
  using Kind = Value::Kind;
  using Node = Document::Node;

  TreeBuilder(const Document::Limits& limits, std::vector<Node>& nodes)
      : limits_(limits), nodes_(nodes) {}

  const std::string& error() const { return error_; }

  bool visit_nil() { return Push(Kind::kNil, 0) != nullptr; }
  bool visit_boolean(bool value) {
    Node* node = Push(Kind::kBool, 0);
    if (node != nullptr) node->boolean = value;
    return node != nullptr;
  }
  bool visit_positive_integer(std::uint64_t value) {
    Node* node = Push(Kind::kUint, 0);
    if (node != nullptr) node->unsigned_integer = value;
    return node != nullptr;
  }
  bool visit_negative_integer(std::int64_t value) {
    Node* node = Push(Kind::kInt, 0);
    if (node != nullptr) node->integer = value;
    return node != nullptr;
  }
  bool visit_float32(float value) { return visit_float64(value); }
  bool visit_float64(double value) {
    Node* node = Push(Kind::kFloat, 0);
    if (node != nullptr) node->floating = value;
    return node != nullptr;
  }
  bool visit_str(const char* text, std::uint32_t size) {
    return PushBytes(Kind::kString, text, size);
  }
  bool visit_bin(const char* bytes, std::uint32_t size) {
    return PushBytes(Kind::kBinary, bytes, size);
  }
  bool visit_ext(const char* bytes, std::uint32_t size) {
    return PushBytes(Kind::kExtension, bytes, size);
  }

  bool start_array(std::uint32_t count) { return Open(Kind::kArray, count); }
  bool start_array_item() { return true; }
  bool end_array_item() { return true; }
  bool end_array() { return Close(); }
  bool start_map(std::uint32_t pairs) { return Open(Kind::kMap, pairs); }
  bool start_map_key() { return true; }
  bool end_map_key() { return true; }
  bool start_map_value() { return true; }
  bool end_map_value() { return true; }
  bool end_map() { return Close(); }

  void parse_error(std::size_t, std::size_t) {
    error_ = "not a MessagePack value";
  }
  void insufficient_bytes(std::size_t, std::size_t) {
    error_ = "MessagePack data is cut short";
  }

 private:
  Node* Push(Kind kind, std::uint32_t size) {
    if (nodes_.size() >= limits_.values) {
      error_ = fmt::format("more than {} MessagePack values", limits_.values);
      return nullptr;
    }
    Node node = {};
    node.kind = kind;
    node.size = size;
    nodes_.push_back(node);
    return &nodes_.back();
  }

  bool PushBytes(Kind kind, const char* bytes, std::uint32_t size) {
    if (size > limits_.string_bytes) {
      error_ = fmt::format("a string of {} bytes, at most {} are accepted",
                           size, limits_.string_bytes);
      return false;
    }
    Node* node = Push(kind, size);
    // The parser gives no usable pointer for an empty string.
    if (node != nullptr) node->text = size == 0 ? "" : bytes;
    return node != nullptr;
  }

  bool Open(Kind kind, std::uint32_t count) {
    if (open_.size() >= limits_.depth) {
      error_ = fmt::format("MessagePack nested deeper than {} levels",
                           limits_.depth);
      return false;
    }
    if (Push(kind, count) == nullptr) return false;
    open_.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
    return true;
  }

  bool Close() {
    nodes_[open_.back()].end = static_cast<std::uint32_t>(nodes_.size());
    open_.pop_back();
    return true;
  }

  const Document::Limits& limits_;
  std::vector<Node>& nodes_;
  std::vector<std::uint32_t> open_;
  std::string error_;
};

Result<Document> Document::Parse(ByteSpan bytes, const Limits& limits) {
  Document document;
  // In a table of contents a value has ten bytes on average; room that stays
  // unused costs less than to move them all as they grow.
  document.nodes_.reserve(
      std::min<std::size_t>(bytes.size() / 8, limits.values));
  TreeBuilder builder(limits, document.nodes_);
  std::size_t offset = 0;
  std::string error;
  try {
    const std::string_view text = AsText(bytes);
    const bool whole =
        msgpack::parse(text.data(), text.size(), offset, builder);
    error = builder.error();
    if (error.empty() && !whole) error = "not a MessagePack value";
  } catch (const std::bad_alloc&) {
    throw;  // says nothing of the bytes
  } catch (const std::exception& caught) {
    error = caught.what();
  }
  if (error.empty() && offset < bytes.size() && !limits.allow_trailing_bytes) {
    error = fmt::format("{} bytes follow the MessagePack value",
                        bytes.size() - offset);
  }
  if (!error.empty()) {
    Where where;
    where.offset = static_cast<std::int64_t>(offset);
    return Err(DiagCode::kBadFormat, std::move(where), std::move(error));
  }
  return document;
}

Value::Kind Value::kind() const {
  return document_ == nullptr ? Kind::kAbsent : document_->nodes_[index_].kind;
}

std::optional<bool> Value::AsBool() const {
  if (kind() != Kind::kBool) return std::nullopt;
  return document_->nodes_[index_].boolean;
}

std::optional<std::int64_t> Value::AsInt() const {
  if (kind() == Kind::kInt) return document_->nodes_[index_].integer;
  const std::optional<std::uint64_t> value = AsUint();
  if (!value || *value > static_cast<std::uint64_t>(
                             std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*value);
}

std::optional<std::uint64_t> Value::AsUint() const {
  if (kind() == Kind::kUint) return document_->nodes_[index_].unsigned_integer;
  // A writer may use a signed encoding for a value that is not negative.
  if (kind() == Kind::kInt && document_->nodes_[index_].integer >= 0) {
    return static_cast<std::uint64_t>(document_->nodes_[index_].integer);
  }
  return std::nullopt;
}

std::optional<double> Value::AsFloat() const {
  if (kind() != Kind::kFloat) return std::nullopt;
  return document_->nodes_[index_].floating;
}

std::optional<std::string_view> Value::AsString() const {
  if (kind() != Kind::kString) return std::nullopt;
  const Document::Node& node = document_->nodes_[index_];
  return std::string_view(node.text, node.size);
}

std::optional<ByteSpan> Value::AsBinary() const {
  if (kind() != Kind::kBinary) return std::nullopt;
  const Document::Node& node = document_->nodes_[index_];
  return AsBytes(std::string_view(node.text, node.size));
}

std::optional<ByteSpan> Value::AsExtension() const {
  if (kind() != Kind::kExtension) return std::nullopt;
  if (document_->nodes_[index_].size == 0) return std::nullopt;
  const Document::Node& node = document_->nodes_[index_];
  return AsBytes(std::string_view(node.text, node.size));
}

std::size_t Value::size() const {
  if (!is_array() && !is_map()) return 0;
  return document_->nodes_[index_].size;
}

Value Value::Find(std::string_view key) const {
  if (!is_map()) return Value();
  for (Value k = First(); k;) {
    const Value v = Next(k);
    if (k.AsString() == key) return v;
    k = Next(v);
  }
  return Value();
}

Value Value::First() const {
  if (size() == 0) return Value();
  return Value(document_, index_ + 1);
}

Value Value::Next(Value child) const {
  if (document_ == nullptr || child.document_ != document_) return Value();
  const std::uint32_t next = document_->EndOf(child.index_);
  if (next >= document_->EndOf(index_)) return Value();
  return Value(document_, next);
}

}  // namespace cerberus::kpack
