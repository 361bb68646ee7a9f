// docs/fatbin-format.md in C++: wrappers and fatbins as nvcc writes them.
#ifndef CERBERUS_FORMATS_FATBIN_H_
#define CERBERUS_FORMATS_FATBIN_H_

#include <cstdint>

namespace cerberus::formats {

inline constexpr std::uint32_t kWrapperMagic = 0x466243b1;
// __fatBinC_Wrapper_t: what a translation unit registers with cudart.
struct FatbinWrapper {
  std::uint32_t magic;
  std::uint32_t version;  // 1, or 2 for the linked image of -rdc programs
  const void* data;       // the fatbin; converted, a WrapperRecord
  void* last;             // version 2: an array of the members' fatbins
};
static_assert(sizeof(FatbinWrapper) == 24);

inline constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_size;
  std::uint64_t size;  // of the entries, without this header
};
static_assert(sizeof(FatbinHeader) == 16);

struct FatbinEntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_size;
  std::uint64_t size;  // of the payload with its padding
  std::uint32_t packed_size;
  std::uint32_t options_offset;
  std::uint16_t format_minor;
  std::uint16_t format_major;
  std::uint32_t sm;
  std::uint32_t name_offset;
  std::uint32_t name_size;
  std::uint64_t flags;
  std::uint64_t content_hash;
  std::uint64_t unpacked_size;
};
static_assert(sizeof(FatbinEntryHeader) == 64);

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_FATBIN_H_
