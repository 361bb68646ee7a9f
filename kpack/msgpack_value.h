// MessagePack read into a flat tree, with limits.
//
//   CERB_TRY(Document doc, Document::Parse(bytes));
//   if (auto abi = doc.root().Find("abi").AsUint()) …
//
// For the archive's table of contents, the marker, `.cerberus.info` and the
// AMDGPU metadata note: all of them come from files, so depth and size are
// bounded, nothing is allocated from a number that the bytes only claim, and
// no exception leaves. A value of an unexpected kind is an empty optional.
#ifndef CERBERUS_KPACK_MSGPACK_VALUE_H_
#define CERBERUS_KPACK_MSGPACK_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::kpack {

class Document;

// A handle to one value; valid as long as its Document and the parsed bytes
// live. A default-made Value, and what a failed Find returns, is "absent".
class Value {
 public:
  enum class Kind : std::uint8_t {
    kAbsent,
    kNil,
    kBool,
    kInt,
    kUint,
    kFloat,
    kString,
    kBinary,
    kExtension,
    kArray,
    kMap
  };

  Value() = default;

  Kind kind() const;
  explicit operator bool() const { return kind() != Kind::kAbsent; }
  bool is_map() const { return kind() == Kind::kMap; }
  bool is_array() const { return kind() == Kind::kArray; }

  std::optional<bool> AsBool() const;
  // Integers of either sign convert where they fit.
  std::optional<std::int64_t> AsInt() const;
  std::optional<std::uint64_t> AsUint() const;
  std::optional<double> AsFloat() const;
  // Views into the parsed bytes.
  std::optional<std::string_view> AsString() const;
  std::optional<ByteSpan> AsBinary() const;
  // Its type's byte, then its bytes.
  std::optional<ByteSpan> AsExtension() const;

  // Elements of an array, pairs of a map, 0 for anything else.
  std::size_t size() const;
  // The value behind a map's string key: the first, if it stands twice;
  // absent if there is none or this is no map. Linear in the map's size.
  Value Find(std::string_view key) const;

  // Walks an array's elements, or a map's keys and values in turn:
  //   for (Value v = array.First(); v; v = array.Next(v)) …
  //   for (Value k = map.First(); k; k = map.Next(map.Next(k))) …
  Value First() const;
  Value Next(Value child) const;

 private:
  friend class Document;
  Value(const Document* document, std::uint32_t index)
      : document_(document), index_(index) {}

  const Document* document_ = nullptr;
  std::uint32_t index_ = 0;
};

class Document {
 public:
  struct Limits {
    unsigned depth = 32;                     // nested arrays and maps
    std::uint32_t values = 1u << 20;         // in the whole tree
    std::uint32_t string_bytes = 16u << 20;  // of one string or binary
    bool allow_trailing_bytes = false;
  };

  // Errors carry the offset within `bytes`. The document refers to `bytes`.
  static Result<Document> Parse(ByteSpan bytes, const Limits& limits);
  static Result<Document> Parse(ByteSpan bytes) {
    return Parse(bytes, Limits());
  }

  // Handles made before a move dangle.
  Document() = default;
  Document(Document&&) = default;
  Document& operator=(Document&&) = default;
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  Value root() const { return nodes_.empty() ? Value() : Value(this, 0); }

 private:
  friend class Value;
  friend class TreeBuilder;

  // Values in the order of the bytes; a container is followed by its
  // children. A table of contents has some twenty for each entry, so they are
  // small.
  struct Node {
    union {
      bool boolean;
      std::int64_t integer;
      std::uint64_t unsigned_integer;
      double floating;
      const char* text;
      std::uint32_t end;  // of a container: behind its last descendant
    };
    std::uint32_t size;  // bytes of a string, children of a container
    Value::Kind kind;
  };
  static_assert(sizeof(Node) == 16);
  // The index behind a value and all that is in it.
  std::uint32_t EndOf(std::uint32_t index) const {
    const Node& node = nodes_[index];
    const bool container =
        node.kind == Value::Kind::kArray || node.kind == Value::Kind::kMap;
    return container ? node.end : index + 1;
  }

  std::vector<Node> nodes_;
};

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_MSGPACK_VALUE_H_
