#include "emulator/device/msgpack.h"

#include <fmt/format.h>

#include <utility>

#include "llvm/BinaryFormat/MsgPackReader.h"

namespace cerberus::emulator {
namespace {

constexpr int kMaxDepth = 32;

Diag Bad(std::string message) {
  return MakeDiag(DiagCode::kBadFormat,
                  "AMDGPU metadata: " + std::move(message));
}

// The next value with all that is in it.
Result<MsgValue> ReadValue(llvm::msgpack::Reader& in, int depth) {
  using llvm::msgpack::Type;
  if (depth > kMaxDepth) {
    return Err(Bad(fmt::format("nested more than {} deep", kMaxDepth)));
  }
  llvm::msgpack::Object object;
  llvm::Expected<bool> more = in.read(object);
  if (!more) return Err(Bad(llvm::toString(more.takeError())));
  if (!*more) return Err(Bad("ends within a value"));
  MsgValue v;
  switch (object.Kind) {
    case Type::Nil: break;
    case Type::Boolean:
      v.kind = MsgValue::Kind::kBool;
      v.number = object.Bool;
      break;
    case Type::Int:
      v.kind = MsgValue::Kind::kInt;
      v.number = object.Int;
      break;
    case Type::UInt:
      v.kind = MsgValue::Kind::kInt;
      v.number = static_cast<std::int64_t>(object.UInt);
      break;
    case Type::Float: v.kind = MsgValue::Kind::kFloat; break;
    case Type::String:
    case Type::Binary:
      v.kind = MsgValue::Kind::kString;
      v.text = object.Raw;
      break;
    case Type::Array:
    case Type::Map:
      v.kind = object.Kind == Type::Map ? MsgValue::Kind::kMap
                                        : MsgValue::Kind::kArray;
      // Nothing is reserved: the length is only claimed.
      for (std::size_t i = 0; i < object.Length; ++i) {
        if (object.Kind == Type::Map) {
          CERB_TRY(MsgValue key, ReadValue(in, depth + 1));
          v.keys.push_back(std::move(key.text));
        }
        CERB_TRY(MsgValue item, ReadValue(in, depth + 1));
        v.items.push_back(std::move(item));
      }
      break;
    case Type::Extension:
    case Type::Empty: return Err(Bad("has a value of an unexpected type"));
  }
  return v;
}

}  // namespace

const MsgValue& MsgValue::operator[](std::string_view key) const {
  static const MsgValue kNilValue;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return items[i];
  }
  return kNilValue;
}

std::uint32_t MsgValue::U32(std::uint32_t otherwise) const {
  if (kind != Kind::kInt && kind != Kind::kBool) return otherwise;
  return static_cast<std::uint32_t>(number);
}

Result<MsgValue> ReadMsgPack(ByteSpan bytes) {
  llvm::msgpack::Reader in(llvm::StringRef(
      reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  return ReadValue(in, 0);
}

}  // namespace cerberus::emulator
