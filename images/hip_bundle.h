// Device code as HIP programs carry it: a code object (an ELF file for one
// GPU), or a bundle of such for several targets, plain or compressed. Layout:
// docs/hip-bundle-format.md.
#ifndef CERBERUS_IMAGES_HIP_BUNDLE_H_
#define CERBERUS_IMAGES_HIP_BUNDLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::images {

enum class HipImageKind : std::uint8_t {
  kCodeObject,
  kBundle,
  kCompressedBundle,
};

struct HipImage {
  HipImageKind kind;
  ByteSpan bytes;         // from the first byte to the last that belongs to it
  std::uint16_t version;  // of a compressed bundle: 1 to 3
  std::string_view method;      // … and "zlib" or "zstd"
  std::uint64_t unpacked_size;  // as its header says; else bytes.size()
};

// Whether an image may begin here: a magic number is there.
bool IsHipImage(ByteSpan data);

// The image at the start of `data`, which may go on behind it. Its own
// headers say how far it reaches; of compressed bundles of version 1, which
// do not, the stream is followed. Errors: no image, one that runs past `data`.
Result<HipImage> ParseHipImage(ByteSpan data,
                               const std::string& what = "HIP image",
                               std::uint64_t base = 0);

struct BundleEntry {
  std::string_view id;      // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+"
  std::string_view target;  // "gfx90a:xnack+"; "" of the host's entry
  std::uint64_t offset;     // of the object, in the bundle
  ByteSpan object;
};

// The target that a bundle entry's id names, in any of the spellings that
// clang has used; "" if it is none of HIP's.
std::string_view TargetOfBundleId(std::string_view id);

// The entries of a plain bundle, in its order, views into it. Errors: no
// bundle, entries that run past its end.
Result<std::vector<BundleEntry>> ParseBundle(
    ByteSpan bundle, const std::string& what = "offload bundle",
    std::uint64_t base = 0);

bool IsBundle(ByteSpan image);
bool IsCompressedBundle(ByteSpan image);
// The bundle within. `image` may be longer than the compressed one.
Result<Bytes> DecompressBundle(ByteSpan image);

// The ELF file at the start of `image`: as far as its tables, sections and
// segments reach.
Result<ByteSpan> ElfExtent(ByteSpan image);

}  // namespace cerberus::images

#endif  // CERBERUS_IMAGES_HIP_BUNDLE_H_
