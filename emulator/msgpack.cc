#include "emulator/msgpack.h"

namespace cerberus::emulator {
namespace {

constexpr int kMaxDepth = 32;

std::uint64_t BigEndian(ByteSpan bytes) {
  std::uint64_t v = 0;
  for (std::uint8_t b : bytes) v = v << 8 | b;
  return v;
}

class Reader {
 public:
  explicit Reader(ByteSpan bytes) : in_(bytes, "AMDGPU metadata") {}

  Result<MsgValue> Value(int depth) {
    if (depth > kMaxDepth) {
      return Err(in_.Error("metadata is nested too deeply"));
    }
    CERB_TRY(const std::uint8_t tag, in_.U8());
    if (tag <= 0x7f) return Int(tag);
    if (tag <= 0x8f) return Map(tag & 0xf, depth);
    if (tag <= 0x9f) return Array(tag & 0xf, depth);
    if (tag <= 0xbf) return Text(tag & 0x1f);
    if (tag >= 0xe0) return Int(static_cast<std::int8_t>(tag));
    switch (tag) {
      case 0xc0: return MsgValue{};
      case 0xc2:
      case 0xc3: {
        MsgValue v = Int(tag & 1);
        v.kind = MsgValue::Kind::kBool;
        return v;
      }
      case 0xc4:
      case 0xd9: return Sized(1, &Reader::TextOf, depth);
      case 0xc5:
      case 0xda: return Sized(2, &Reader::TextOf, depth);
      case 0xc6:
      case 0xdb: return Sized(4, &Reader::TextOf, depth);
      case 0xdc: return Sized(2, &Reader::Array, depth);
      case 0xdd: return Sized(4, &Reader::Array, depth);
      case 0xde: return Sized(2, &Reader::Map, depth);
      case 0xdf: return Sized(4, &Reader::Map, depth);
      case 0xca: return Float(4);
      case 0xcb: return Float(8);
      case 0xcc: return Unsigned(1);
      case 0xcd: return Unsigned(2);
      case 0xce: return Unsigned(4);
      case 0xcf: return Unsigned(8);
      case 0xd0: return Signed(1);
      case 0xd1: return Signed(2);
      case 0xd2: return Signed(4);
      case 0xd3: return Signed(8);
      default: return Err(in_.Error("unexpected MessagePack type"));
    }
  }

 private:
  using Body = Result<MsgValue> (Reader::*)(std::uint64_t, int);

  static MsgValue Int(std::int64_t n) {
    MsgValue v;
    v.kind = MsgValue::Kind::kInt;
    v.number = n;
    return v;
  }
  Result<MsgValue> Unsigned(int bytes) {
    CERB_TRY(const ByteSpan b, in_.Take(bytes));
    return Int(static_cast<std::int64_t>(BigEndian(b)));
  }
  Result<MsgValue> Signed(int bytes) {
    CERB_TRY(const ByteSpan b, in_.Take(bytes));
    const int shift = 64 - 8 * bytes;
    return Int(static_cast<std::int64_t>(BigEndian(b) << shift) >> shift);
  }
  Result<MsgValue> Float(int bytes) {
    CERB_TRY_VOID(in_.Skip(bytes));
    MsgValue v;
    v.kind = MsgValue::Kind::kFloat;
    return v;
  }
  Result<MsgValue> Text(std::uint64_t size) {
    CERB_TRY(const ByteSpan b, in_.Take(size));
    MsgValue v;
    v.kind = MsgValue::Kind::kString;
    v.text = AsText(b);
    return v;
  }
  Result<MsgValue> TextOf(std::uint64_t size, int) { return Text(size); }
  Result<MsgValue> Sized(int bytes, Body body, int depth) {
    CERB_TRY(const ByteSpan b, in_.Take(bytes));
    return (this->*body)(BigEndian(b), depth);
  }
  Result<MsgValue> Array(std::uint64_t count, int depth) {
    MsgValue v;
    v.kind = MsgValue::Kind::kArray;
    for (std::uint64_t i = 0; i < count; ++i) {
      CERB_TRY(MsgValue item, Value(depth + 1));
      v.items.push_back(std::move(item));
    }
    return v;
  }
  Result<MsgValue> Map(std::uint64_t count, int depth) {
    MsgValue v;
    v.kind = MsgValue::Kind::kMap;
    for (std::uint64_t i = 0; i < count; ++i) {
      CERB_TRY(MsgValue key, Value(depth + 1));
      CERB_TRY(MsgValue item, Value(depth + 1));
      v.keys.push_back(std::move(key.text));
      v.items.push_back(std::move(item));
    }
    return v;
  }

  ByteReader in_;
};

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

Result<MsgValue> ReadMsgPack(ByteSpan bytes) { return Reader(bytes).Value(0); }

}  // namespace cerberus::emulator
