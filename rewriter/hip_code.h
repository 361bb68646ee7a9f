// The HIP device code of a program or library: wrappers and what they lead to.
//
// clang puts the images (docs/hip-bundle-format.md) into .hip_fatbin and for
// each a wrapper of 24 bytes into .hipFatBinSegment, whose address the program
// hands to __hipRegisterFatBinary: magic, version, pointer to the image, and a
// word that is 0. In a split program (docs/marker-format.md) the magic is
// another, the pointer leads to the marker and the last word is a number.
#ifndef CERBERUS_REWRITER_HIP_CODE_H_
#define CERBERUS_REWRITER_HIP_CODE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "images/hip_bundle.h"
#include "rewriter/object_file.h"
#include "support/result.h"

namespace cerberus::rewriter {

inline constexpr std::uint32_t kHipMagic = 0x48495046;       // "FPIH"
inline constexpr std::uint32_t kHipSplitMagic = 0x4B504948;  // "HIPK"
inline constexpr std::uint64_t kHipWrapperSize = 24;

struct HipWrapper {
  std::uint32_t index;  // position among the file's wrappers
  std::uint64_t vaddr;
  std::uint64_t offset;      // in the file
  PointerSlot data;          // → image; → marker in a split file
  bool is_split;             // its magic is HIPK
  std::uint32_t number = 0;  // of a split one: `kernel_name#number`
  std::size_t image = 0;     // index into HipCode::images, if not split
};

struct LocatedHipImage {
  std::string section;   // ".hip_fatbin"; "" if there are no section headers
  std::uint64_t vaddr;   // 0 if it is in no loaded segment
  std::uint64_t offset;  // in the file
  images::HipImage image;
  std::vector<std::uint32_t> wrappers;  // that lead here
};

struct HipCode {
  std::vector<HipWrapper> wrappers;     // by address
  std::vector<LocatedHipImage> images;  // by offset, with and without wrappers

  bool is_split() const {
    return !wrappers.empty() && wrappers.front().is_split;
  }
};

// Errors, each naming the place: a wrapper of another magic or version, one
// that leads to no image, images that overlap or run past their segment. A
// file without HIP code gives an empty result.
Result<HipCode> FindHipCode(const ObjectFile& file);

// The code objects of one image, unpacked where it is compressed.
struct CodeObjects {
  struct Row {
    // "gfx90a:xnack+", in LLVM's spelling; "" for an image that is a code
    // object by itself, whose metadata says it.
    std::string target;
    ByteSpan bytes;
  };
  Bytes unpacked;  // what `rows` are views of, if the image is compressed
  std::vector<Row> rows;

  CodeObjects() = default;
  CodeObjects(CodeObjects&&) = default;
  CodeObjects& operator=(CodeObjects&&) = default;
};
// Errors: a stream that does not unpack, a bundle that lies, two objects for
// one target. `what` and `base` name the image in messages.
Result<CodeObjects> UnpackHipImage(const images::HipImage& image,
                                   const std::string& what, std::uint64_t base);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_HIP_CODE_H_
