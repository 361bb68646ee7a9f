// Images in the forms that nvJPEG writes and reads.
#ifndef CERBERUS_LIBRARIES_NVJPEG_COLORS_H_
#define CERBERUS_LIBRARIES_NVJPEG_COLORS_H_

#include "libraries/nvjpeg/jpeg.h"

namespace cerberus::libraries::nvjpeg {

// nvjpegOutputFormat_t and nvjpegInputFormat_t.
enum Format : int {
  kUnchanged = 0,
  kYuv = 1,
  kY = 2,
  kRgb = 3,
  kBgr = 4,
  kRgbInterleaved = 5,
  kBgrInterleaved = 6,
  kUnchanged16 = 7,
  kNv12 = 8,
  kYuy2 = 9,
};

// Factors of Y by nvjpegChromaSubsampling_t. False: a row that is none.
enum Subsampling : int {
  k444 = 0,
  k422 = 1,
  k420 = 2,
  k440 = 3,
  k411 = 4,
  k410 = 5,
  kGraySampling = 6,
  kUnknownSampling = -1,
};
bool FactorsOf(int subsampling, int* h, int* v);
int SubsamplingOf(const Header& header);

struct Window {
  int x, y, width, height;
};

// What is made of an image, before it is written to the program's memory: a
// plane for each channel, `bytes` for each sample of a row.
struct Output {
  struct Channel {
    int width, height;  // in bytes, rows
    std::vector<std::uint8_t> bytes;
  };
  std::vector<Channel> channels;
};
struct OutputSettings {
  int format = kRgb;
  bool interpolate = false;  // chroma between its samples
  bool cmyk = false;         // four colors may become three
  int orientation = 0;       // Exif's, to be undone
  const Window* window = nullptr;
};
Status Convert(const Image& image, const OutputSettings& settings,
               Output* output);

// Y, Cb and Cr (or Y alone, for kGraySampling) of such factors, of red, green
// and blue, or of Y, Cb and Cr in another sampling.
Image FromRgb(const std::array<Plane, 3>& rgb, int subsampling);
Image Resample(const Image& image, int subsampling);

}  // namespace cerberus::libraries::nvjpeg

#endif  // CERBERUS_LIBRARIES_NVJPEG_COLORS_H_
