// Checked access to foreign bytes, little-endian.
//
// Nothing of a foreign file is read through a cast pointer: every read goes
// through a ByteReader, which knows its end and reports the offset at which a
// read would have left the buffer. Arithmetic on sizes that come from a file
// goes through CheckedAdd/CheckedMul.
#ifndef CERBERUS_SUPPORT_BYTES_H_
#define CERBERUS_SUPPORT_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace cerberus {

using Bytes = std::vector<std::uint8_t>;
using ByteSpan = std::span<const std::uint8_t>;

inline ByteSpan AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view AsText(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::optional<std::uint64_t> CheckedAdd(std::uint64_t a,
                                               std::uint64_t b) {
  std::uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}
inline std::optional<std::uint64_t> CheckedMul(std::uint64_t a,
                                               std::uint64_t b) {
  std::uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
// Rounds up to a power of two; the caller guarantees no overflow.
inline std::uint64_t AlignUp(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Fixed-offset loads of a value that is known to lie inside.
template <typename T>
T LoadLe(const void* at) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void StoreLe(void* at, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(at, &value, sizeof value);
}
template <typename T>
void AppendLe(Bytes& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  StoreLe(out.data() + at, value);
}

// A cursor over a byte span. `base` is the offset of the span's first byte
// in what the user knows (file or section), for messages only.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan data, std::string what = "",
                      std::uint64_t base = 0)
      : data_(data), what_(std::move(what)), base_(base) {}

  std::size_t offset() const { return pos_; }
  std::size_t size() const { return data_.size(); }
  std::size_t remaining() const { return data_.size() - pos_; }
  ByteSpan data() const { return data_; }

  Status Seek(std::uint64_t offset);
  Status Skip(std::uint64_t count);
  Result<std::uint8_t> U8() { return Read<std::uint8_t>(); }
  Result<std::uint16_t> U16() { return Read<std::uint16_t>(); }
  Result<std::uint32_t> U32() { return Read<std::uint32_t>(); }
  Result<std::uint64_t> U64() { return Read<std::uint64_t>(); }
  // The next `count` bytes, as a view into the data.
  Result<ByteSpan> Take(std::uint64_t count);
  // `count` bytes at `offset`, without moving the cursor.
  Result<ByteSpan> Slice(std::uint64_t offset, std::uint64_t count) const;

  // A trivially copyable record laid out as in the file.
  template <typename T>
  Result<T> Read() {
    static_assert(std::is_trivially_copyable_v<T>);
    CERB_TRY(ByteSpan bytes, Take(sizeof(T)));
    return LoadLe<T>(bytes.data());
  }

  // An error that names this reader's subject and the cursor's offset.
  Diag Error(std::string message) const;

 private:
  ByteSpan data_;
  std::string what_;
  std::uint64_t base_;
  std::size_t pos_ = 0;
};

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_BYTES_H_
