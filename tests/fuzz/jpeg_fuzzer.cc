// Reads the input as a JPEG stream. What can be decoded is written in each
// form, and encoded again; that stream decodes to an image of the same size.
#include <cstdint>

#include "libraries/nvjpeg/colors.h"
#include "libraries/nvjpeg/jpeg.h"

using namespace cerberus::libraries::nvjpeg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const Bytes bytes(data, size);
  Header header;
  ParseHeader(bytes, {}, /*only_tables=*/true, &header);
  if (ParseHeader(bytes, {}, /*only_tables=*/false, &header) != kSuccess) {
    return 0;
  }
  // Large images take long, and show nothing more.
  if (header.width * header.height > 1 << 16) return 0;
  Image image;
  Decode(bytes, header, /*strict=*/true, 0, &image);
  if (Decode(bytes, header, /*strict=*/false, size % 4, &image) != kSuccess) {
    return 0;
  }
  for (int format = kUnchanged; format <= kYuy2; ++format) {
    OutputSettings settings;
    settings.format = format;
    settings.interpolate = size % 2 != 0;
    settings.cmyk = true;
    settings.orientation = static_cast<int>(size % 9);
    Output output;
    Convert(image, settings, &output);
  }
  if (image.colors != Colors::kYcc) return 0;
  EncodeSettings settings;
  SetQuality(static_cast<int>(size % 100) + 1, &settings);
  settings.optimized = size % 3 == 0;
  settings.encoding = size % 5 == 0 ? kProgressive : kBaseline;
  const std::vector<std::uint8_t> again =
      Encode(Resample(image, static_cast<int>(size % 7)), settings);
  Image decoded;
  if (ParseHeader(again, {}, false, &header) != kSuccess ||
      Decode(again, header, /*strict=*/true, 0, &decoded) != kSuccess ||
      decoded.width != image.width || decoded.height != image.height) {
    __builtin_trap();
  }
  return 0;
}
