#include "libraries/cudnn/plan_text.h"

#include <charconv>
#include <memory>

#include "libraries/cudnn/status.h"

namespace cerberus::libraries::cudnn {
namespace {

constexpr std::string_view kBegin = "[\"cerberus-cudnn-plan\",1,";
constexpr int kDeepest = 12;  // a plan's tensors are at 7

bool IsLeftOut(const Value& value) {
  return value.type == Type::kHandle || value.type == Type::kVoidPointer;
}

void Write(const Descriptor& d, std::string* text) {
  constexpr char kDigits[] = "0123456789abcdef";
  *text += "[" + std::to_string(static_cast<int>(d.kind)) + ",[";
  bool first = true;
  for (const auto& [name, value] : d.attributes) {
    if (IsLeftOut(value) ||
        name == attribute::EXECUTION_PLAN_JSON_REPRESENTATION) {
      continue;
    }
    if (!first) *text += ",";
    first = false;
    *text += "[" + std::to_string(name) + "," +
             std::to_string(static_cast<int>(value.type)) + ",";
    if (value.type == Type::kDescriptor) {
      *text += "[";
      for (std::size_t i = 0; i < value.descriptors.size(); ++i) {
        if (i > 0) *text += ",";
        Write(*value.descriptors[i], text);
      }
      *text += "]]";
      continue;
    }
    *text += std::to_string(value.count) + ",\"";
    for (const std::byte byte : value.bytes) {
      const auto bits = std::to_integer<unsigned>(byte);
      *text += kDigits[bits / 16];
      *text += kDigits[bits % 16];
    }
    *text += "\"]";
  }
  *text += "]]";
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool AtEnd() const { return rest_.empty(); }
  bool Take(std::string_view expected) {
    if (rest_.substr(0, expected.size()) != expected) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool Number(Index* number) {
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), *number);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  // Of "…": its bytes.
  bool Bytes(std::vector<std::byte>* bytes) {
    if (!Take("\"")) return false;
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos || end % 2 != 0) return false;
    for (std::size_t i = 0; i < end; i += 2) {
      unsigned bits = 0;
      const char* first = rest_.data() + i;
      if (std::from_chars(first, first + 2, bits, 16).ptr != first + 2) {
        return false;
      }
      bytes->push_back(static_cast<std::byte>(bits));
    }
    rest_.remove_prefix(end + 1);
    return true;
  }

 private:
  std::string_view rest_;
};

Status Broken() { return Failed(kBadParam, "the text of no execution plan"); }

Status Read(Reader* reader, int depth, std::unique_ptr<Descriptor>* made);

// Behind the type of an attribute of descriptors: all of them.
Status ReadDescriptors(Reader* reader, int depth, Descriptor* d, Index name) {
  std::vector<std::unique_ptr<Descriptor>> read;
  std::vector<const Descriptor*> elements;
  if (!reader->Take("[")) return Broken();
  while (!reader->Take("]")) {
    if (!read.empty() && !reader->Take(",")) return Broken();
    std::unique_ptr<Descriptor> one;
    if (const Status bad = Read(reader, depth + 1, &one)) return bad;
    elements.push_back(one.get());
    read.push_back(std::move(one));
  }
  return SetAttribute(d, static_cast<int>(name),
                      static_cast<int>(Type::kDescriptor),
                      static_cast<Index>(elements.size()), elements.data());
}

Status ReadAttribute(Reader* reader, int depth, Descriptor* d) {
  Index name = 0, type = 0, count = 0;
  if (!reader->Take("[") || !reader->Number(&name) || !reader->Take(",") ||
      !reader->Number(&type) || !reader->Take(",")) {
    return Broken();
  }
  // They are told as ints.
  if (name != static_cast<int>(name) || type != static_cast<int>(type)) {
    return Broken();
  }
  Status status = kSuccess;
  if (type == static_cast<Index>(Type::kDescriptor)) {
    status = ReadDescriptors(reader, depth, d, name);
  } else {
    std::vector<std::byte> bytes;
    if (!reader->Number(&count) || !reader->Take(",") ||
        !reader->Bytes(&bytes)) {
      return Broken();
    }
    const auto kind = static_cast<Type>(type);
    // As many bytes as so many elements have; no pointers from a text.
    if (kind == Type::kHandle || kind == Type::kVoidPointer || count < 0 ||
        count > static_cast<Index>(bytes.size()) ||
        static_cast<std::size_t>(count) * SizeOf(kind) != bytes.size()) {
      return Broken();
    }
    status = SetAttribute(d, static_cast<int>(name), static_cast<int>(type),
                          count, bytes.data());
  }
  if (status != kSuccess) return status;
  return reader->Take("]") ? kSuccess : Broken();
}

Status Read(Reader* reader, int depth, std::unique_ptr<Descriptor>* made) {
  Index kind = 0;
  if (depth > kDeepest || !reader->Take("[") || !reader->Number(&kind) ||
      kind != static_cast<int>(kind) || !IsKind(static_cast<int>(kind)) ||
      !reader->Take(",[")) {
    return Broken();
  }
  *made = std::make_unique<Descriptor>(static_cast<Kind>(kind));
  bool first = true;
  while (!reader->Take("]")) {
    if (!first && !reader->Take(",")) return Broken();
    first = false;
    if (const Status bad = ReadAttribute(reader, depth, made->get())) {
      return bad;
    }
  }
  if (!reader->Take("]")) return Broken();
  return Finalize(made->get());
}

}  // namespace

std::string PlanText(const Descriptor& plan) {
  std::string text(kBegin);
  Write(plan, &text);
  return text + "]";
}

Status ReadPlan(std::string_view text, Descriptor* plan) {
  Reader reader(text);
  std::unique_ptr<Descriptor> read;
  if (!reader.Take(kBegin)) return Broken();
  if (const Status bad = Read(&reader, 0, &read)) return bad;
  if (!reader.Take("]") || !reader.AtEnd() ||
      read->kind != Kind::kExecutionPlan) {
    return Broken();
  }
  *plan = std::move(*read);
  return kSuccess;
}

}  // namespace cerberus::libraries::cudnn
