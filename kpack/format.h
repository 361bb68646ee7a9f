// Numbers of the kpack container, version 1 (docs/kpack-format.md).
#ifndef CERBERUS_KPACK_FORMAT_H_
#define CERBERUS_KPACK_FORMAT_H_

#include <cstdint>

namespace cerberus::kpack {

inline constexpr char kMagic[4] = {'K', 'P', 'A', 'K'};
inline constexpr std::uint32_t kVersion1 = 1;
inline constexpr std::uint64_t kHeaderBytes = 64;  // blobs start behind it
inline constexpr std::uint64_t kHeaderUsedBytes = 16;

// Ours, where other writers have zeros.
inline constexpr std::uint64_t kChecksumMarkOffset = 16;
inline constexpr char kChecksumMark[8] = {'c', 'h', 'e', 'c',
                                          'k', 's', 'u', 'm'};
inline constexpr std::uint64_t kTableChecksumOffset = 24;
// The key in an entry's metadata.
inline constexpr char kChecksumKey[] = "xxh3";
// The key in the table: u32 of each frame, so that they need not be walked.
inline constexpr char kFrameSizesKey[] = "frame_sizes";

// A zstd block takes at least 4 bytes (3 of header, 1 of content) and yields
// at most 128 KiB (RFC 8878, section 3.1.1.2), so nothing unpacks to more
// than this many times its size. Claims beyond it are refused before memory
// is allocated for them.
inline constexpr std::uint64_t kMaxZstdRatio = 128 * 1024 / 4;

inline constexpr char kSchemeNone[] = "none";
inline constexpr char kSchemeZstd[] = "zstd-per-kernel";
inline constexpr int kZstdLevel = 3;

// Upstream's reader refuses an archive beyond these, so the writer does too.
inline constexpr std::uint64_t kMaxZstdArea = std::uint64_t{4} << 30;
inline constexpr std::uint32_t kMaxFrames = 1u << 20;

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_FORMAT_H_
