#include "kpack/msgpack_writer.h"

#include <msgpack.hpp>
#include <utility>

namespace cerberus::kpack {

struct MsgpackWriter::Impl {
  // The stream that msgpack::packer writes to.
  void write(const char* data, std::size_t size) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), at, at + size);
  }
  Bytes bytes;
  msgpack::packer<Impl> packer{*this};
};

MsgpackWriter::MsgpackWriter() : impl_(std::make_unique<Impl>()) {}
MsgpackWriter::~MsgpackWriter() = default;

void MsgpackWriter::Map(std::size_t pairs) {
  impl_->packer.pack_map(static_cast<std::uint32_t>(pairs));
}
void MsgpackWriter::Array(std::size_t count) {
  impl_->packer.pack_array(static_cast<std::uint32_t>(count));
}
void MsgpackWriter::String(std::string_view text) {
  impl_->packer.pack_str(static_cast<std::uint32_t>(text.size()));
  impl_->packer.pack_str_body(text.data(),
                              static_cast<std::uint32_t>(text.size()));
}
void MsgpackWriter::Int(std::int64_t value) { impl_->packer.pack_int64(value); }
void MsgpackWriter::Uint(std::uint64_t value) {
  impl_->packer.pack_uint64(value);
}

void MsgpackWriter::Binary(ByteSpan bytes) {
  impl_->packer.pack_bin(static_cast<std::uint32_t>(bytes.size()));
  Raw(bytes);
}

// An extension of 2^32 bytes: its length has wrapped round in msgpack-c.
static constexpr std::uint8_t kEmptyExtension[1] = {0};

void MsgpackWriter::Raw(ByteSpan encoded) {
  impl_->bytes.insert(impl_->bytes.end(), encoded.begin(), encoded.end());
}

// Documents are not nested deeper than their readers allow.
void MsgpackWriter::Copy(Value value) {  // NOLINT(misc-no-recursion)
  switch (value.kind()) {
    case Value::Kind::kAbsent:
    case Value::Kind::kNil: impl_->packer.pack_nil(); break;
    case Value::Kind::kBool:
      if (*value.AsBool()) {
        impl_->packer.pack_true();
      } else {
        impl_->packer.pack_false();
      }
      break;
    case Value::Kind::kInt: Int(*value.AsInt()); break;
    case Value::Kind::kUint: Uint(*value.AsUint()); break;
    case Value::Kind::kFloat:
      impl_->packer.pack_double(*value.AsFloat());
      break;
    case Value::Kind::kString: String(*value.AsString()); break;
    case Value::Kind::kBinary: Binary(*value.AsBinary()); break;
    case Value::Kind::kExtension: {
      const ByteSpan bytes = value.AsExtension().value_or(kEmptyExtension);
      impl_->packer.pack_ext(bytes.size() - 1,
                             static_cast<std::int8_t>(bytes[0]));
      Raw(bytes.subspan(1));
      break;
    }
    case Value::Kind::kArray:
      Array(value.size());
      for (Value v = value.First(); v; v = value.Next(v)) Copy(v);
      break;
    case Value::Kind::kMap:
      Map(value.size());
      for (Value v = value.First(); v; v = value.Next(v)) Copy(v);
      break;
  }
}

Bytes MsgpackWriter::Take() && { return std::move(impl_->bytes); }

}  // namespace cerberus::kpack
