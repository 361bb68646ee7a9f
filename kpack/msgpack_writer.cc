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

Bytes MsgpackWriter::Take() && { return std::move(impl_->bytes); }

}  // namespace cerberus::kpack
