// Numbers of the kpack container, version 2 (docs/kpack-format.md, "Version
// 2").
#ifndef CERBERUS_KPACK_FORMAT_V2_H_
#define CERBERUS_KPACK_FORMAT_V2_H_

#include <cstdint>

namespace cerberus::kpack::v2 {

inline constexpr std::uint32_t kVersion = 2;
inline constexpr std::uint64_t kHeaderBytes = 64;

// A string in the index: where it begins in the strings, and its bytes.
struct Text {
  std::uint32_t offset;
  std::uint32_t size;
};

struct Header {
  char magic[4];
  std::uint32_t version;
  std::uint64_t index_offset;
  std::uint64_t index_size;
  std::uint64_t file_size;
  std::uint32_t blob_count;
  std::uint32_t entry_count;
  std::uint32_t arch_count;
  std::uint32_t features;  // bits; a reader refuses those that it does not know
  std::uint64_t reserved;  // 0
  // XXH3, 64 bits, seed 0, of the 56 bytes before it and of the index.
  std::uint64_t checksum;
};
static_assert(sizeof(Header) == kHeaderBytes);
inline constexpr std::uint64_t kChecksumOffset = 56;

inline constexpr std::uint32_t kNoReference = 0xffffffff;
enum Codec : std::uint32_t { kPlain = 0, kZstd = 1 };

// The index: blobs, entries, targets, names, strings, one behind the other.
struct Blob {
  std::uint64_t offset;
  std::uint64_t stored_size;
  std::uint64_t size;
  std::uint64_t checksum;         // XXH3, 64 bits, of the stored bytes
  std::uint8_t content_hash[16];  // XXH3, 128 bits, canonical, of the unpacked
  std::uint32_t codec;
  std::uint32_t reference;  // the blob that the frame was compressed behind
};
static_assert(sizeof(Blob) == 56);

struct Entry {
  Text key;
  Text arch;
  Text type;
  Text metadata;  // a MessagePack map, or nothing
  std::uint32_t blob;
  std::uint32_t reserved;  // 0
};
static_assert(sizeof(Entry) == 40);

struct Names {
  Text group_name;
  Text gfx_arch_family;
};

// What a reader keeps unpacked to read others stays small.
inline constexpr std::uint64_t kMaxReferenceBytes = 16u << 20;

}  // namespace cerberus::kpack::v2

#endif  // CERBERUS_KPACK_FORMAT_V2_H_
