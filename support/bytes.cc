#include "support/bytes.h"

#include <fmt/format.h>

namespace cerberus {

Diag ByteReader::Error(std::string message) const {
  Where where;
  where.section = what_;
  where.offset = static_cast<std::int64_t>(base_ + pos_);
  return MakeDiag(DiagCode::kBadFormat, std::move(where), std::move(message));
}

Status ByteReader::Seek(std::uint64_t offset) {
  if (offset > data_.size()) {
    return Err(Error(fmt::format("offset 0x{:x} lies past the end (0x{:x})",
                                 base_ + offset, base_ + data_.size())));
  }
  pos_ = offset;
  return {};
}

Status ByteReader::Skip(std::uint64_t count) {
  CERB_TRY_VOID(Take(count));
  return {};
}

Result<ByteSpan> ByteReader::Take(std::uint64_t count) {
  CERB_TRY(ByteSpan bytes, Slice(pos_, count));
  pos_ += count;
  return bytes;
}

Result<ByteSpan> ByteReader::Slice(std::uint64_t offset,
                                   std::uint64_t count) const {
  if (offset > data_.size() || count > data_.size() - offset) {
    return Err(Error(fmt::format("{} bytes at 0x{:x} run past the end (0x{:x})",
                                 count, base_ + offset, base_ + data_.size())));
  }
  return data_.subspan(offset, count);
}

}  // namespace cerberus
