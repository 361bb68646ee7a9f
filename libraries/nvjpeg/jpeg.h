// JPEG images (ITU-T T.81) on the host: bytes to components and back. Baseline,
// extended and progressive ones with Huffman codes and 8 bits.
#ifndef CERBERUS_LIBRARIES_NVJPEG_JPEG_H_
#define CERBERUS_LIBRARIES_NVJPEG_JPEG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cerberus::libraries::nvjpeg {

using Bytes = std::span<const std::uint8_t>;

// nvjpegStatus_t.
enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidParameter = 2,
  kBadJpeg = 3,
  kJpegNotSupported = 4,
  kAllocatorFailure = 5,
  kExecutionFailed = 6,
  kArchMismatch = 7,
  kImplementationNotSupported = 9,
  kIncompleteBitstream = 10,
};
// nvjpegJpegEncoding_t: the second byte of the frame's marker.
enum Encoding : int {
  kUnknownEncoding = 0,
  kBaseline = 0xc0,
  kExtended = 0xc1,
  kProgressive = 0xc2,
  kLossless = 0xc3,
};

inline constexpr int kMostComponents = 4;

// A table of Huffman's: how many codes of each length, and their values.
struct HuffmanTable {
  std::array<std::uint8_t, 16> counts = {};
  std::vector<std::uint8_t> values;
};
// In zigzag order.
using QuantTable = std::array<std::uint16_t, 64>;

// Those that a stream defines, or that others of its kind do for it.
struct Tables {
  std::array<std::optional<QuantTable>, 4> quant;
  std::array<std::optional<HuffmanTable>, 4> dc, ac;
};

struct Component {
  int id, h, v, quant;
  // In samples, and in blocks of 8 x 8 with those that fill the last unit.
  int width, height, across, down;
};

enum class Colors { kGray, kYcc, kRgb, kCmyk, kYcck, kOther };

struct Header {
  int encoding = kUnknownEncoding, precision = 0, width = 0, height = 0;
  std::vector<Component> components;
  int most_h = 1, most_v = 1;
  Colors colors = Colors::kOther;
  int orientation = 0;  // Exif's; 0: none
  Tables tables;        // at the first scan, or the end
  // APPn and COM segments whole, markers included.
  std::vector<std::uint8_t> metadata;
  std::size_t scans_at = 0;  // where the first scan's marker is
  bool inverted = false;     // as Adobe's CMYK
};

// Up to the first scan. With `only_tables`, of a stream that need hold no
// frame.
Status ParseHeader(Bytes data, const Tables& before, bool only_tables,
                   Header* header);

// Samples by rows: h by v of them for each most_h by most_v pixels of the
// image.
struct Plane {
  int width = 0, height = 0, h = 1, v = 1;
  std::vector<std::uint8_t> samples;
  std::uint8_t at(int x, int y) const {
    return samples[static_cast<std::size_t>(y) * width + x];
  }
};
struct Image {
  int width = 0, height = 0, most_h = 1, most_v = 1;
  Colors colors = Colors::kOther;
  bool inverted = false;
  std::vector<Plane> planes;  // as large as they are in the stream
};

// `strict`: what ends early, or breaks the rules, is an error. Each dimension
// is divided by 2 to the power of `shift` (0 to 3).
Status Decode(Bytes data, const Header& header, bool strict, int shift,
              Image* image);

struct EncodeSettings {
  int encoding = kBaseline;
  bool optimized = false;
  int restart = 0;  // units between two restart markers, or 0
  QuantTable luma, chroma;
  std::vector<std::uint8_t> metadata;  // in place of JFIF's own
};
// Annex K's tables for 1 (bad) to 100 (good).
void SetQuality(int quality, EncodeSettings* settings);
// Planes of Y, Cb and Cr, or of Y alone.
std::vector<std::uint8_t> Encode(const Image& image,
                                 const EncodeSettings& settings);

}  // namespace cerberus::libraries::nvjpeg

#endif  // CERBERUS_LIBRARIES_NVJPEG_JPEG_H_
