// Images of libjpeg (tests/tools/make_jpegs.py), and our own, through nvJPEG's
// functions: decoded against what libjpeg reads, encoded and decoded again.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/exported.h"

namespace cerberus::libraries::tests {
namespace {

#define NVJPEG_ANSWERED(name) #name,
const char* const kNames[] = {
#include "libraries/nvjpeg/nvjpeg.def"
};
std::set<std::string>& Called() {
  static std::set<std::string> names;
  return names;
}
void* Library() {
  static void* const library = dlopen("libnvjpeg.so.13", RTLD_NOW);
  return library;
}
template <typename... A>
int Nv(const std::string& name, A... arguments) {
  const std::string whole = "nvjpeg" + name;
  void* const symbol = Library() ? dlsym(Library(), whole.c_str()) : nullptr;
  if (symbol == nullptr) {
    ADD_FAILURE() << whole;
    std::abort();
  }
  Called().insert(whole);
  return reinterpret_cast<int (*)(A...)>(symbol)(arguments...);
}

constexpr int kUninitialized = 1, kInvalid = 2, kBad = 3, kUnsupported = 4,
              kArch = 7, kNotImplemented = 9, kIncomplete = 10;
enum { kUnchanged, kYuv, kY, kRgb, kBgr, kRgbi, kBgri, kU16, kNv12, kYuy2 };
enum { k444, k422, k420, k440, k411, k410, kGraySampling };
constexpr unsigned kStrict = 4, kInterpolate = 32;

using Bytes = std::vector<std::uint8_t>;
Bytes ReadFile(const std::string& name) {
  std::ifstream file(std::string(CERBERUS_JPEGS) + "/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}
constexpr int kWidth = 37, kHeight = 29;

void* Handle(unsigned flags = 0) {
  static std::map<unsigned, void*> handles;
  void*& handle = handles[flags];
  if (handle == nullptr) {
    const Device<char> context({0});  // makes one current
    EXPECT_EQ(Nv("CreateEx", 0, nullptr, nullptr, flags, &handle), 0);
  }
  return handle;
}
// An object that is made by a function of a handle.
struct Object {
  explicit Object(const std::string& kind) : kind_(kind) {
    EXPECT_EQ(Nv(kind + "Create", Handle(), &object_), 0);
  }
  ~Object() { EXPECT_EQ(Nv(kind_ + "Destroy", object_), 0); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  void* get() const { return object_; }

 private:
  const std::string kind_;
  void* object_ = nullptr;
};

// nvjpegImage_t, in device memory with rows that lie apart.
struct Picture {
  static constexpr std::size_t kPitch = 160;
  explicit Picture(int channels = 3, int rows = 64) {
    for (int c = 0; c < channels; ++c) {
      image.channel[c] = static_cast<std::uint8_t*>(TakeDevice(kPitch * rows));
      image.pitch[c] = kPitch;
      const Bytes fill(kPitch * rows, 0xa5);
      Upload(image.channel[c], fill.data(), fill.size());
    }
  }
  ~Picture() {
    for (int c = 3; c >= 0; --c) {
      if (image.channel[c] != nullptr) GiveBackDevice(image.channel[c]);
    }
  }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  // So many bytes of so many rows; behind them nothing was written.
  Bytes Read(int channel, int width, int height) const {
    Bytes all(kPitch * static_cast<std::size_t>(height + 1));
    Download(all.data(), image.channel[channel], all.size());
    Bytes out;
    for (int y = 0; y < height; ++y) {
      const auto row = all.begin() + static_cast<long>(kPitch) * y;
      out.insert(out.end(), row, row + width);
      EXPECT_EQ(row[width], 0xa5) << "channel " << channel << ", row " << y;
    }
    EXPECT_EQ(all[kPitch * static_cast<std::size_t>(height)], 0xa5);
    return out;
  }
  void Write(int channel, int width, int height, const Bytes& bytes) const {
    for (int y = 0; y < height; ++y) {
      Upload(image.channel[channel] + kPitch * static_cast<std::size_t>(y),
             bytes.data() + static_cast<std::size_t>(width) * y,
             static_cast<std::size_t>(width));
    }
  }
  struct {
    std::uint8_t* channel[4];
    std::size_t pitch[4];
  } image = {};
};

int Decode(const Bytes& stream, int format, const Picture& to,
           unsigned flags = 0) {
  const Object state("JpegState");
  const int status = Nv("Decode", Handle(flags), state.get(), stream.data(),
                        stream.size(), format, &to.image, nullptr);
  EXPECT_EQ(Cuda("cuCtxSynchronize"), 0);
  return status;
}

// The largest difference, and the mean.
struct Difference {
  int most = 0;
  double mean = 0;
};
Difference Compare(const Bytes& got, const Bytes& want) {
  EXPECT_EQ(got.size(), want.size());
  Difference d;
  if (got.size() != want.size() || got.empty()) return d;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const int one = std::abs(got[i] - want[i]);
    d.most = std::max(d.most, one);
    d.mean += one;
  }
  d.mean /= static_cast<double>(got.size());
  return d;
}
Bytes Interleave(const std::vector<Bytes>& planes) {
  Bytes out;
  for (std::size_t i = 0; i < planes[0].size(); ++i) {
    for (const Bytes& plane : planes) out.push_back(plane[i]);
  }
  return out;
}

// libjpeg interpolates chroma, and rounds where NVIDIA's library cuts off.
TEST(Nvjpeg, DecodesAsLibjpeg) {
  for (const char* name :
       {"ycc444", "ycc422", "ycc420", "progressive", "progressive444",
        "restart", "optimized", "rgb", "gray", "turned"}) {
    Bytes want = ReadFile(std::string(name) + ".raw");
    if (std::string(name) == "gray") want = Interleave({want, want, want});
    const Picture picture;
    ASSERT_EQ(Decode(ReadFile(std::string(name) + ".jpg"), kRgbi, picture,
                     kInterpolate),
              0)
        << name;
    const Difference d = Compare(picture.Read(0, 3 * kWidth, kHeight), want);
    EXPECT_LE(d.most, 4) << name;
    EXPECT_LE(d.mean, 0.7) << name;
  }
}

TEST(Nvjpeg, FormatsAreOfOneImage) {
  const Bytes stream = ReadFile("ycc420.jpg");
  constexpr int kHalfWidth = (kWidth + 1) / 2, kHalfHeight = (kHeight + 1) / 2;
  const Picture yuv, rgb, bgr, packed, other, luma(1), nv12, yuy2, plain;
  ASSERT_EQ(Decode(stream, kYuv, yuv), 0);
  const Bytes y = yuv.Read(0, kWidth, kHeight);
  const Bytes u = yuv.Read(1, kHalfWidth, kHalfHeight);
  const Bytes v = yuv.Read(2, kHalfWidth, kHalfHeight);
  ASSERT_EQ(Decode(stream, kUnchanged, plain), 0);
  EXPECT_EQ(plain.Read(1, kHalfWidth, kHalfHeight), u);
  ASSERT_EQ(Decode(stream, kY, luma), 0);
  EXPECT_EQ(luma.Read(0, kWidth, kHeight), y);

  // Without interpolation each sample of chroma is for four pixels.
  ASSERT_EQ(Decode(stream, kRgb, rgb), 0);
  Bytes want[3];
  for (int row = 0; row < kHeight; ++row) {
    for (int x = 0; x < kWidth; ++x) {
      const auto place = [](int down, int width, int across) {
        return static_cast<std::size_t>(down) * width + across;
      };
      const double l = y[place(row, kWidth, x)];
      const std::size_t at = place(row / 2, kHalfWidth, x / 2);
      const double cb = u[at] - 128.0, cr = v[at] - 128.0;
      const double colors[] = {l + 1.402 * cr,
                               l - 0.34413629 * cb - 0.71413629 * cr,
                               l + 1.772 * cb};
      for (int c = 0; c < 3; ++c) {
        want[c].push_back(static_cast<std::uint8_t>(
            std::clamp(std::floor(colors[c]), 0.0, 255.0)));
      }
    }
  }
  std::vector<Bytes> got;
  for (int c = 0; c < 3; ++c) {
    got.push_back(rgb.Read(c, kWidth, kHeight));
    EXPECT_LE(Compare(got[c], want[c]).most, 1);
  }
  ASSERT_EQ(Decode(stream, kBgr, bgr), 0);
  EXPECT_EQ(bgr.Read(0, kWidth, kHeight), got[2]);
  EXPECT_EQ(bgr.Read(2, kWidth, kHeight), got[0]);
  ASSERT_EQ(Decode(stream, kRgbi, packed), 0);
  EXPECT_EQ(packed.Read(0, 3 * kWidth, kHeight), Interleave(got));
  ASSERT_EQ(Decode(stream, kBgri, other), 0);
  EXPECT_EQ(other.Read(0, 3 * kWidth, kHeight),
            Interleave({got[2], got[1], got[0]}));

  ASSERT_EQ(Decode(stream, kNv12, nv12), 0);
  EXPECT_EQ(nv12.Read(0, kWidth, kHeight), y);
  EXPECT_EQ(nv12.Read(1, 2 * kHalfWidth, kHalfHeight), Interleave({u, v}));
  ASSERT_EQ(Decode(stream, kYuy2, yuy2), 0);
  const Bytes pairs = yuy2.Read(0, 4 * kHalfWidth, kHeight);
  for (int x = 0; x < kWidth; ++x) {
    EXPECT_EQ(pairs[static_cast<std::size_t>(2 * x)],
              y[static_cast<std::size_t>(x)]);
  }
  EXPECT_EQ(pairs[1], u[0]);
  EXPECT_EQ(pairs[3], v[0]);
  EXPECT_EQ(Decode(stream, kU16, plain), kNotImplemented);
  EXPECT_EQ(Decode(stream, 10, plain), kInvalid);
}

TEST(Nvjpeg, TellsOfStreams) {
  int count = 0, sampling = -2, widths[4], heights[4];
  const auto info = [&](const Bytes& stream) {
    return Nv("GetImageInfo", Handle(), stream.data(), stream.size(), &count,
              &sampling, &widths[0], &heights[0]);
  };
  ASSERT_EQ(info(ReadFile("ycc420.jpg")), 0);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(sampling, k420);
  EXPECT_EQ(widths[0], kWidth);
  EXPECT_EQ(heights[0], kHeight);
  EXPECT_EQ(widths[1], 19);
  EXPECT_EQ(heights[2], 15);
  EXPECT_EQ(widths[3], 0);
  ASSERT_EQ(info(ReadFile("gray.jpg")), 0);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(sampling, kGraySampling);
  ASSERT_EQ(info(ReadFile("ycc422.jpg")), 0);
  EXPECT_EQ(sampling, k422);
  EXPECT_EQ(info({1, 2, 3, 4, 5}), kBad);
  Bytes arithmetic = ReadFile("gray.jpg");
  for (std::size_t i = 0; i + 1 < arithmetic.size(); ++i) {
    if (arithmetic[i] == 0xff && arithmetic[i + 1] == 0xc0) {
      arithmetic[i + 1] = 0xc9;
    }
  }
  EXPECT_EQ(info(arithmetic), kUnsupported);

  const Object stream("JpegStream");
  void* const s = stream.get();
  int value = -2;
  EXPECT_EQ(Nv("JpegStreamGetJpegEncoding", s, &value), kInvalid);
  Bytes file = ReadFile("turned.jpg");
  ASSERT_EQ(Nv("JpegStreamParseHeader", Handle(), file.data(), file.size(), s),
            0);
  EXPECT_EQ(Nv("JpegStreamGetExifOrientation", s, &value), 0);
  EXPECT_EQ(value, 6);
  EXPECT_EQ(Nv("JpegStreamGetJpegEncoding", s, &value), 0);
  EXPECT_EQ(value, 0xc0);
  EXPECT_EQ(Nv("JpegStreamGetChromaSubsampling", s, &value), 0);
  EXPECT_EQ(value, k444);
  file = ReadFile("progressive.jpg");
  ASSERT_EQ(Nv("JpegStreamParse", Handle(), file.data(), file.size(), 0, 0, s),
            0);
  EXPECT_EQ(Nv("JpegStreamGetJpegEncoding", s, &value), 0);
  EXPECT_EQ(value, 0xc2);
  EXPECT_EQ(Nv("JpegStreamGetExifOrientation", s, &value), 0);
  EXPECT_EQ(value, 0);
  unsigned a = 0, b = 0;
  EXPECT_EQ(Nv("JpegStreamGetFrameDimensions", s, &a, &b), 0);
  EXPECT_EQ(a, unsigned{kWidth});
  EXPECT_EQ(b, unsigned{kHeight});
  EXPECT_EQ(Nv("JpegStreamGetComponentsNum", s, &a), 0);
  EXPECT_EQ(a, 3u);
  EXPECT_EQ(Nv("JpegStreamGetComponentDimensions", s, 2u, &a, &b), 0);
  EXPECT_EQ(a, 19u);
  EXPECT_EQ(Nv("JpegStreamGetComponentDimensions", s, 3u, &a, &b), kInvalid);
  EXPECT_EQ(Nv("JpegStreamGetSamplePrecision", s, &a), 0);
  EXPECT_EQ(a, 8u);
}

// What decoding in phases has made.
class Phases {
 public:
  Phases() : decoder_(nullptr), state_(nullptr) {
    EXPECT_EQ(Nv("DecoderCreate", Handle(), 0, &decoder_), 0);
    EXPECT_EQ(Nv("DecoderStateCreate", Handle(), decoder_, &state_), 0);
  }
  ~Phases() {
    EXPECT_EQ(Nv("JpegStateDestroy", state_), 0);
    EXPECT_EQ(Nv("DecoderDestroy", decoder_), 0);
  }
  Phases(const Phases&) = delete;
  Phases& operator=(const Phases&) = delete;
  int Parse(const Bytes& stream) {
    return Nv("JpegStreamParse", Handle(), stream.data(), stream.size(), 0, 1,
              S());
  }
  int Decode(const Picture& to) {
    const int status = Nv("DecodeJpeg", Handle(), decoder_, state_, S(),
                          &to.image, P(), nullptr);
    EXPECT_EQ(Cuda("cuCtxSynchronize"), 0);
    return status;
  }
  int Format(int format) {
    return Nv("DecodeParamsSetOutputFormat", P(), format);
  }
  void* P() const { return params_.get(); }
  void* S() const { return stream_.get(); }
  void* decoder() const { return decoder_; }
  void* state() const { return state_; }

 private:
  void *decoder_, *state_;
  const Object params_{"DecodeParams"}, stream_{"JpegStream"};
};

TEST(Nvjpeg, Phases) {
  Phases phases;
  const Bytes file = ReadFile("ycc444.jpg");
  ASSERT_EQ(phases.Parse(file), 0);
  ASSERT_EQ(phases.Format(kRgbi), 0);
  int no = 1;
  EXPECT_EQ(
      Nv("DecoderJpegSupported", phases.decoder(), phases.S(), phases.P(), &no),
      0);
  EXPECT_EQ(no, 0);
  EXPECT_EQ(Nv("DecodeBatchedSupported", Handle(), phases.S(), &no), 0);
  EXPECT_EQ(no, 0);
  const Picture whole, parts, part;
  EXPECT_EQ(Nv("DecodeJpegDevice", Handle(), phases.decoder(), phases.state(),
               &parts.image, nullptr),
            kInvalid);
  ASSERT_EQ(phases.Decode(whole), 0);
  ASSERT_EQ(Nv("DecodeJpegHost", Handle(), phases.decoder(), phases.state(),
               phases.P(), phases.S()),
            0);
  ASSERT_EQ(Nv("DecodeJpegTransferToDevice", Handle(), phases.decoder(),
               phases.state(), phases.S(), nullptr),
            0);
  ASSERT_EQ(Nv("DecodeJpegDevice", Handle(), phases.decoder(), phases.state(),
               &parts.image, nullptr),
            0);
  ASSERT_EQ(Cuda("cuCtxSynchronize"), 0);
  const Bytes pixels = whole.Read(0, 3 * kWidth, kHeight);
  EXPECT_EQ(parts.Read(0, 3 * kWidth, kHeight), pixels);

  // A window.
  ASSERT_EQ(Nv("DecodeParamsSetROI", phases.P(), 5, 3, 11, 9), 0);
  ASSERT_EQ(phases.Decode(part), 0);
  const Bytes window = part.Read(0, 33, 9);
  for (std::size_t y = 0; y < 9; ++y) {
    EXPECT_EQ(
        std::memcmp(&window[33 * y], &pixels[3 * (kWidth * (3 + y) + 5)], 33),
        0);
  }
  ASSERT_EQ(Nv("DecodeParamsSetROI", phases.P(), 30, 3, 11, 9), 0);
  EXPECT_EQ(phases.Decode(part), kInvalid);
  EXPECT_EQ(Nv("DecodeParamsSetROI", phases.P(), -1, 3, 11, 9), kInvalid);
  ASSERT_EQ(Nv("DecodeParamsSetROI", phases.P(), 0, 0, -1, -1), 0);

  // Turned: the first row is the last column.
  ASSERT_EQ(Nv("DecodeParamsSetExifOrientation", phases.P(), 8), 0);
  const Picture turned;
  ASSERT_EQ(phases.Decode(turned), 0);
  const Bytes upright = turned.Read(0, 3 * kHeight, kWidth);
  for (std::size_t y = 0; y < kWidth; ++y) {
    for (std::size_t x = 0; x < kHeight; ++x) {
      EXPECT_EQ(upright[3 * (y * kHeight + x)],
                pixels[3 * (x * kWidth + kWidth - 1 - y)]);
    }
  }
  EXPECT_EQ(Nv("DecodeParamsSetExifOrientation", phases.P(), 9), kInvalid);
  ASSERT_EQ(Nv("DecodeParamsSetExifOrientation", phases.P(), 1), 0);

  // Half as large: about the mean of each four.
  ASSERT_EQ(Nv("DecodeParamsSetScaleFactor", phases.P(), 1), 0);
  const Picture half;
  ASSERT_EQ(phases.Decode(half), 0);
  const Bytes small = half.Read(0, 3 * 19, 15);
  double sum = 0;
  for (std::size_t y = 0; y < 14; ++y) {
    for (std::size_t x = 0; x < 18; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        const auto at = [&](std::size_t dx, std::size_t dy) {
          return pixels[3 * ((2 * y + dy) * kWidth + 2 * x + dx) + c];
        };
        sum += std::abs(small[3 * (y * 19 + x) + c] -
                        (at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1)) / 4.0);
      }
    }
  }
  EXPECT_LE(sum / (14 * 18 * 3), 6);
  EXPECT_EQ(Nv("DecodeParamsSetScaleFactor", phases.P(), 4), kInvalid);
  ASSERT_EQ(Nv("DecodeParamsSetScaleFactor", phases.P(), 0), 0);

  // Four inks.
  const Bytes inks = ReadFile("cmyk.jpg");
  ASSERT_EQ(phases.Parse(inks), 0);
  EXPECT_EQ(
      Nv("DecodeBatchedSupportedEx", Handle(), phases.S(), phases.P(), &no), 0);
  EXPECT_EQ(no, 1);
  EXPECT_EQ(phases.Decode(whole), kUnsupported);
  ASSERT_EQ(Nv("DecodeParamsSetAllowCMYK", phases.P(), 1), 0);
  EXPECT_EQ(
      Nv("DecodeBatchedSupportedEx", Handle(), phases.S(), phases.P(), &no), 0);
  EXPECT_EQ(no, 0);
  const Picture colors;
  ASSERT_EQ(phases.Decode(colors), 0);
  EXPECT_LE(
      Compare(colors.Read(0, 3 * kWidth, kHeight), ReadFile("cmyk.raw")).most,
      4);
}

TEST(Nvjpeg, Batches) {
  const Object state("JpegState"), params("DecodeParams");
  void *const s = state.get(), *const p = params.get();
  const std::vector<Bytes> files = {ReadFile("ycc444.jpg"),
                                    ReadFile("gray.jpg"),
                                    ReadFile("progressive.jpg")};
  std::vector<const std::uint8_t*> data;
  std::vector<std::size_t> sizes;
  for (const Bytes& file : files) {
    data.push_back(file.data());
    sizes.push_back(file.size());
  }
  const Picture a, b, c;
  decltype(Picture::image) to[] = {a.image, b.image, c.image};
  EXPECT_EQ(Nv("DecodeBatched", Handle(), s, data.data(), sizes.data(), &to[0],
               nullptr),
            kInvalid);
  EXPECT_EQ(Nv("DecodeBatchedPreAllocate", Handle(), s, 3, 64, 64, 0, kRgb), 0);
  EXPECT_EQ(Nv("DecodeBatchedInitialize", Handle(), s, 0, 1, kRgb), kInvalid);
  ASSERT_EQ(Nv("DecodeBatchedInitialize", Handle(), s, 3, 1, kRgb), 0);
  for (const bool each : {false, true}) {
    void* settings[] = {p, p, p};
    ASSERT_EQ(each ? Nv("DecodeBatchedEx", Handle(), s, data.data(),
                        sizes.data(), &to[0], &settings[0], nullptr)
                   : Nv("DecodeBatched", Handle(), s, data.data(), sizes.data(),
                        &to[0], nullptr),
              0);
    ASSERT_EQ(Cuda("cuCtxSynchronize"), 0);
    const Picture* const pictures[] = {&a, &b, &c};
    for (std::size_t i = 0; i < 3; ++i) {
      const Picture alone;
      ASSERT_EQ(Decode(files[i], kRgb, alone), 0);
      EXPECT_EQ(pictures[i]->Read(1, kWidth, kHeight),
                alone.Read(1, kWidth, kHeight));
    }
  }
}

// Tables in a stream of their own, as TIFF has them.
TEST(Nvjpeg, TablesApart) {
  const Bytes whole = ReadFile("gray.jpg");
  Bytes tables = {0xff, 0xd8}, rest = {0xff, 0xd8};
  for (std::size_t at = 2; at < whole.size();) {
    const std::size_t size =
        whole[at + 1] == 0xda
            ? whole.size() - at
            : 2 + (std::size_t{whole[at + 2]} << 8 | whole[at + 3]);
    const bool is_table = whole[at + 1] == 0xdb || whole[at + 1] == 0xc4;
    Bytes& to = is_table ? tables : rest;
    to.insert(to.end(), whole.begin() + static_cast<long>(at),
              whole.begin() + static_cast<long>(at + size));
    at += size;
  }
  tables.insert(tables.end(), {0xff, 0xd9});
  const Picture want(1), got(1), phased(1);
  ASSERT_EQ(Decode(whole, kY, want), 0);
  EXPECT_EQ(Decode(rest, kY, got), kBad);
  const Object state("JpegState");
  void* const s = state.get();
  ASSERT_EQ(Nv("DecodeBatchedInitialize", Handle(), s, 1, 1, kY), 0);
  ASSERT_EQ(Nv("DecodeBatchedParseJpegTables", Handle(), s, tables.data(),
               tables.size()),
            0);
  const std::uint8_t* data = rest.data();
  const std::size_t size = rest.size();
  ASSERT_EQ(Nv("DecodeBatched", Handle(), s, &data, &size, &got.image, nullptr),
            0);
  ASSERT_EQ(Cuda("cuCtxSynchronize"), 0);
  EXPECT_EQ(got.Read(0, kWidth, kHeight), want.Read(0, kWidth, kHeight));
  Phases phases;
  ASSERT_EQ(Nv("JpegStreamParseTables", Handle(), tables.data(), tables.size(),
               phases.S()),
            0);
  ASSERT_EQ(phases.Parse(rest), 0);
  ASSERT_EQ(phases.Format(kY), 0);
  ASSERT_EQ(phases.Decode(phased), 0);
  EXPECT_EQ(phased.Read(0, kWidth, kHeight), want.Read(0, kWidth, kHeight));
}

TEST(Nvjpeg, BrokenStreams) {
  const Bytes whole = ReadFile("ycc420.jpg");
  const Bytes cut(whole.begin(), whole.end() - 200);
  const Picture picture;
  EXPECT_EQ(Decode(cut, kRgb, picture), 0);
  EXPECT_EQ(Decode(cut, kRgb, picture, kStrict), kIncomplete);
  EXPECT_EQ(Decode(whole, kRgb, picture, kStrict), 0);
  const Bytes head(whole.begin(), whole.begin() + 100);
  EXPECT_EQ(Decode(head, kRgb, picture), kBad);
  // Of a restart marker's segment the others are left.
  Bytes damaged = ReadFile("restart.jpg");
  damaged[damaged.size() - 40] ^= 0x55;
  EXPECT_EQ(Decode(damaged, kRgb, picture), 0);
}

// --- Encoding
struct Encoder {
  Encoder() {
    EXPECT_EQ(Nv("EncoderStateCreate", Handle(), &state, nullptr), 0);
    EXPECT_EQ(Nv("EncoderParamsCreate", Handle(), &params, nullptr), 0);
  }
  ~Encoder() {
    EXPECT_EQ(Nv("EncoderStateDestroy", state), 0);
    EXPECT_EQ(Nv("EncoderParamsDestroy", params), 0);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  int Set(const char* what, int value) {
    return Nv(std::string("EncoderParamsSet") + what, params, value, nullptr);
  }
  // From the host's memory, which is the same as the device's.
  Bytes Retrieve() {
    std::size_t size = 0, most = 0;
    EXPECT_EQ(
        Nv("EncodeRetrieveBitstream", Handle(), state, nullptr, &size, nullptr),
        0);
    Bytes stream(size);
    EXPECT_EQ(Nv("EncodeRetrieveBitstream", Handle(), state, stream.data(),
                 &size, nullptr),
              0);
    const Device<std::uint8_t> device(Bytes(size, 0));
    EXPECT_EQ(Nv("EncodeRetrieveBitstreamDevice", Handle(), state, device.get(),
                 &size, nullptr),
              0);
    EXPECT_EQ(Cuda("cuCtxSynchronize"), 0);
    EXPECT_EQ(device.Read(), stream);
    EXPECT_EQ(
        Nv("EncodeGetBufferSize", Handle(), params, kWidth, kHeight, &most), 0);
    EXPECT_LE(size, most);
    --size;
    EXPECT_EQ(Nv("EncodeRetrieveBitstream", Handle(), state, stream.data(),
                 &size, nullptr),
              kInvalid);
    return stream;
  }
  void *state = nullptr, *params = nullptr;
};

// libjpeg's pixels are the picture.
Bytes Pixels() { return ReadFile("ycc444.raw"); }
Difference RoundTrip(Encoder& encoder, int format = kRgbi) {
  const Picture from, to;
  const Bytes pixels = Pixels();
  if (format == kRgbi || format == kBgri) {
    from.Write(0, 3 * kWidth, kHeight, pixels);
  } else {
    for (std::size_t c = 0; c < 3; ++c) {
      Bytes plane;
      for (std::size_t i = c; i < pixels.size(); i += 3) {
        plane.push_back(pixels[i]);
      }
      from.Write(static_cast<int>(c), kWidth, kHeight, plane);
    }
  }
  EXPECT_EQ(Nv("EncodeImage", Handle(), encoder.state, encoder.params,
               &from.image, format, kWidth, kHeight, nullptr),
            0);
  const bool interleaved = format == kRgbi || format == kBgri;
  EXPECT_EQ(Decode(encoder.Retrieve(), format, to, kStrict), 0);
  if (interleaved) {
    return Compare(to.Read(0, 3 * kWidth, kHeight), pixels);
  }
  return Compare(
      Interleave({to.Read(0, kWidth, kHeight), to.Read(1, kWidth, kHeight),
                  to.Read(2, kWidth, kHeight)}),
      pixels);
}

TEST(Nvjpeg, EncodesWhatItDecodes) {
  Encoder encoder;
  ASSERT_EQ(encoder.Set("Quality", 100), 0);
  for (const int format : {kRgb, kBgr, kRgbi, kBgri}) {
    const Difference d = RoundTrip(encoder, format);
    EXPECT_LE(d.most, 6) << format;
    EXPECT_LE(d.mean, 1.6) << format;
  }
  // Each encoding of the same coefficients has the same pixels.
  ASSERT_EQ(encoder.Set("Quality", 80), 0);
  const double mean = RoundTrip(encoder).mean;
  const std::size_t plain = encoder.Retrieve().size();
  EXPECT_GT(mean, 0);
  ASSERT_EQ(encoder.Set("OptimizedHuffman", 1), 0);
  EXPECT_EQ(RoundTrip(encoder).mean, mean);
  EXPECT_LT(encoder.Retrieve().size(), plain);
  ASSERT_EQ(Nv("EncoderParamsSetRestartInterval", encoder.params, 3u, nullptr),
            0);
  EXPECT_EQ(RoundTrip(encoder).mean, mean);
  ASSERT_EQ(encoder.Set("Encoding", 0xc2), 0);
  EXPECT_EQ(RoundTrip(encoder).mean, mean);
  ASSERT_EQ(encoder.Set("OptimizedHuffman", 0), 0);
  EXPECT_EQ(RoundTrip(encoder).mean, mean);
  ASSERT_EQ(encoder.Set("Encoding", 0xc0), 0);
  // Worse ones are smaller.
  ASSERT_EQ(encoder.Set("Quality", 20), 0);
  EXPECT_GT(RoundTrip(encoder).mean, mean);
  EXPECT_LT(encoder.Retrieve().size(), plain);

  for (const int bad : {0, 101}) {
    EXPECT_EQ(encoder.Set("Quality", bad), kInvalid);
  }
  EXPECT_EQ(encoder.Set("Encoding", 0xc3), kInvalid);
  EXPECT_EQ(encoder.Set("SamplingFactors", -1), kInvalid);
  EXPECT_EQ(encoder.Set("SamplingFactors", 7), kInvalid);
}

TEST(Nvjpeg, SamplesChroma) {
  Encoder encoder;
  ASSERT_EQ(encoder.Set("Quality", 95), 0);
  for (const int sampling : {k444, k422, k420, k440, k411, k410}) {
    ASSERT_EQ(encoder.Set("SamplingFactors", sampling), 0);
    // The picture has an edge.
    EXPECT_LE(RoundTrip(encoder).mean, sampling == k444 ? 2 : 18) << sampling;
    const Bytes stream = encoder.Retrieve();
    int count = 0, told = -2, widths[4], heights[4];
    ASSERT_EQ(Nv("GetImageInfo", Handle(), stream.data(), stream.size(), &count,
                 &told, &widths[0], &heights[0]),
              0);
    EXPECT_EQ(told, sampling);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(widths[0], kWidth);
    EXPECT_EQ(heights[0], kHeight);

    // Planes of that sampling are encoded as they are.
    const Picture planes, again;
    ASSERT_EQ(Decode(stream, kYuv, planes), 0);
    ASSERT_EQ(Nv("EncodeYUV", Handle(), encoder.state, encoder.params,
                 &planes.image, sampling, kWidth, kHeight, nullptr),
              0);
    ASSERT_EQ(Decode(encoder.Retrieve(), kYuv, again), 0);
    for (int c = 0; c < 3; ++c) {
      EXPECT_LE(Compare(again.Read(c, widths[c], heights[c]),
                        planes.Read(c, widths[c], heights[c]))
                    .mean,
                1);
    }
  }
  ASSERT_EQ(encoder.Set("SamplingFactors", kGraySampling), 0);
  const Picture from, luma(1);
  from.Write(0, 3 * kWidth, kHeight, Pixels());
  ASSERT_EQ(Nv("Encode", Handle(), encoder.state, encoder.params, &from.image,
               k444, kRgbi, kWidth, kHeight, nullptr),
            0);
  ASSERT_EQ(Decode(encoder.Retrieve(), kY, luma), 0);
  const Bytes y = luma.Read(0, kWidth, kHeight);
  Bytes want;
  const Bytes pixels = Pixels();
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    want.push_back(static_cast<std::uint8_t>(std::lround(
        0.299 * pixels[i] + 0.587 * pixels[i + 1] + 0.114 * pixels[i + 2])));
  }
  EXPECT_LE(Compare(y, want).mean, 1.5);

  // Planes whose chroma lies together.
  ASSERT_EQ(encoder.Set("SamplingFactors", k420), 0);
  const Bytes file = ReadFile("ycc420.jpg");
  const Picture pair, back;
  ASSERT_EQ(Decode(file, kNv12, pair), 0);
  ASSERT_EQ(Nv("Encode", Handle(), encoder.state, encoder.params, &pair.image,
               k420, kNv12, kWidth, kHeight, nullptr),
            0);
  ASSERT_EQ(Decode(encoder.Retrieve(), kNv12, back), 0);
  EXPECT_LE(Compare(back.Read(1, 38, 15), pair.Read(1, 38, 15)).mean, 1);
  EXPECT_EQ(Nv("EncodeImage", Handle(), encoder.state, encoder.params,
               &pair.image, kNv12, kWidth, kHeight, nullptr),
            kInvalid);
  EXPECT_EQ(Nv("EncodeYUV", Handle(), encoder.state, encoder.params,
               &pair.image, 9, kWidth, kHeight, nullptr),
            kInvalid);
  EXPECT_EQ(Nv("EncodeYUV", Handle(), encoder.state, encoder.params,
               &pair.image, k420, 0, kHeight, nullptr),
            kInvalid);
}

// The same tables lead to the same coefficients: nothing more is lost.
TEST(Nvjpeg, CopiesFromStreams) {
  Encoder encoder;
  const Object stream("JpegStream");
  void* const s = stream.get();
  const Bytes file = ReadFile("turned.jpg");
  EXPECT_EQ(
      Nv("EncoderParamsCopyQuantizationTables", encoder.params, s, nullptr),
      kInvalid);
  ASSERT_EQ(Nv("JpegStreamParse", Handle(), file.data(), file.size(), 1, 1, s),
            0);
  ASSERT_EQ(
      Nv("EncoderParamsCopyQuantizationTables", encoder.params, s, nullptr), 0);
  ASSERT_EQ(Nv("EncoderParamsCopyMetadata", encoder.state, encoder.params, s,
               nullptr),
            0);
  ASSERT_EQ(Nv("EncoderParamsCopyHuffmanTables", encoder.state, encoder.params,
               s, nullptr),
            0);
  const Picture first, second;
  ASSERT_EQ(Decode(file, kYuv, first), 0);
  ASSERT_EQ(Nv("EncodeYUV", Handle(), encoder.state, encoder.params,
               &first.image, k444, kWidth, kHeight, nullptr),
            0);
  const Bytes again = encoder.Retrieve();
  ASSERT_EQ(Decode(again, kYuv, second), 0);
  for (int c = 0; c < 3; ++c) {
    // But where the image ends within a block.
    EXPECT_LE(
        Compare(first.Read(c, kWidth, kHeight), second.Read(c, kWidth, kHeight))
            .mean,
        0.5);
  }
  ASSERT_EQ(
      Nv("JpegStreamParse", Handle(), again.data(), again.size(), 1, 1, s), 0);
  int orientation = 0;
  EXPECT_EQ(Nv("JpegStreamGetExifOrientation", s, &orientation), 0);
  EXPECT_EQ(orientation, 6);
}

TEST(Nvjpeg, Handles) {
  for (const int major : {11, 12, 13}) {
    const std::string file = "libnvjpeg.so." + std::to_string(major);
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    for (const char* name : kNames) {
      EXPECT_NE(ExportedBy(library, file, name), nullptr) << name;
    }
    int version = 0;
    const auto get = reinterpret_cast<int (*)(int, int*)>(
        dlsym(library, "nvjpegGetProperty"));
    EXPECT_EQ(get(0, &version), 0);
    EXPECT_EQ(version, major);
  }
  int version = 0;
  EXPECT_EQ(Nv("GetProperty", 3, &version), kInvalid);
  EXPECT_EQ(Nv("GetCudartProperty", 0, &version), 0);
  EXPECT_EQ(version, 13);

  void* handle = nullptr;
  Handle();
  EXPECT_EQ(Nv("CreateSimple", &handle), 0);
  void* const gone = handle;
  EXPECT_EQ(Nv("Destroy", gone), 0);
  EXPECT_EQ(Nv("Destroy", gone), kUninitialized);
  EXPECT_EQ(Nv("Create", 1, nullptr, &handle), 0);
  EXPECT_EQ(Nv("SetDeviceMemoryPadding", std::size_t{64}, handle), 0);
  EXPECT_EQ(Nv("SetPinnedMemoryPadding", std::size_t{32}, handle), 0);
  std::size_t padding = 0;
  EXPECT_EQ(Nv("GetDeviceMemoryPadding", &padding, handle), 0);
  EXPECT_EQ(padding, 64u);
  EXPECT_EQ(Nv("GetPinnedMemoryPadding", &padding, handle), 0);
  EXPECT_EQ(padding, 32u);
  EXPECT_EQ(Nv("Destroy", handle), 0);
  EXPECT_EQ(Nv("CreateExV2", 2, nullptr, nullptr, 0u, &handle), 0);
  EXPECT_EQ(Nv("Destroy", handle), 0);
  // There are no engines for it.
  EXPECT_EQ(Nv("CreateEx", 3, nullptr, nullptr, 0u, &handle), kArch);
  EXPECT_EQ(Nv("DecoderCreate", Handle(), 3, &handle), kArch);
  EXPECT_EQ(Nv("EncoderStateCreateWithBackend", Handle(), &handle, 2, nullptr),
            kArch);
  EXPECT_EQ(Nv("CreateEx", 7, nullptr, nullptr, 0u, &handle), kInvalid);
  unsigned engines = 9, cores = 9;
  EXPECT_EQ(Nv("GetHardwareDecoderInfo", Handle(), &engines, &cores), 0);
  EXPECT_EQ(engines, 0u);
  engines = 9;
  EXPECT_EQ(Nv("GetHardwareEncoderInfo", Handle(), &engines), 0);
  EXPECT_EQ(engines, 0u);

  // In device memory, which that way of decoding takes its input from.
  const Bytes file = ReadFile("gray.jpg");
  const Device<std::uint8_t> stream(file);
  EXPECT_EQ(Nv("CreateEx", 4, nullptr, nullptr, 0u, &handle), 0);
  const Picture picture(1), want(1);
  const Object state("JpegState");
  EXPECT_EQ(Nv("Decode", handle, state.get(), stream.get(), file.size(), kY,
               &picture.image, nullptr),
            0);
  EXPECT_EQ(Cuda("cuCtxSynchronize"), 0);
  EXPECT_EQ(Decode(file, kY, want), 0);
  EXPECT_EQ(picture.Read(0, kWidth, kHeight), want.Read(0, kWidth, kHeight));
  EXPECT_EQ(Nv("Destroy", handle), 0);

  EXPECT_EQ(Nv("Decode", Handle(), state.get(), file.data(), file.size(), kRgb,
               &picture.image, nullptr),
            kInvalid);  // two channels lack
}

int allocated = 0, freed = 0;
int Allocate(void** memory, std::size_t size) {
  ++allocated;
  *memory = std::malloc(size);
  return 0;
}
int AllocatePinned(void** memory, std::size_t size, unsigned) {
  return Allocate(memory, size);
}
int Free(void* memory) {
  ++freed;
  std::free(memory);
  return 0;
}
int AllocateV2(void* context, void** memory, std::size_t size, void*) {
  return context == &allocated ? Allocate(memory, size) : 1;
}
int FreeV2(void* context, void* memory, std::size_t, void*) {
  return context == &allocated ? Free(memory) : 1;
}
TEST(Nvjpeg, Buffers) {
  const Object state("JpegState");
  void* const s = state.get();
  for (const std::string kind : {"Device", "Pinned"}) {
    const std::string name = "Buffer" + kind;
    void* const own[] = {kind == "Device"
                             ? reinterpret_cast<void*>(&Allocate)
                             : reinterpret_cast<void*>(&AllocatePinned),
                         reinterpret_cast<void*>(&Free)};
    void* const own2[] = {reinterpret_cast<void*>(&AllocateV2),
                          reinterpret_cast<void*>(&FreeV2), &allocated};
    void *a = nullptr, *b = nullptr, *c = nullptr;
    ASSERT_EQ(Nv(name + "Create", Handle(), nullptr, &a), 0);
    ASSERT_EQ(Nv(name + "Create", Handle(), &own[0], &b), 0);
    ASSERT_EQ(Nv(name + "CreateV2", Handle(), &own2[0], &c), 0);
    allocated = freed = 0;
    for (void* buffer : {a, b, c}) {
      EXPECT_EQ(Nv("StateAttach" + kind + "Buffer", s, buffer), 0);
      std::size_t size = 9;
      void* memory = &size;
      EXPECT_EQ(Nv(name + "Retrieve", buffer, &size, &memory), 0);
      EXPECT_EQ(size, 0u);
      EXPECT_EQ(memory, nullptr);
      EXPECT_EQ(Nv(name + "Resize", buffer, std::size_t{1000}, nullptr), 0);
      EXPECT_EQ(Nv(name + "Resize", buffer, std::size_t{10}, nullptr), 0);
      EXPECT_EQ(Nv(name + "Retrieve", buffer, &size, &memory), 0);
      EXPECT_EQ(size, 1000u);
      EXPECT_NE(memory, nullptr);
      const std::string other =
          kind == "Device" ? "BufferPinned" : "BufferDevice";
      EXPECT_EQ(Nv(other + "Resize", buffer, std::size_t{1}, nullptr),
                kInvalid);
      EXPECT_EQ(Nv(name + "Destroy", buffer), 0);
      EXPECT_EQ(Nv(name + "Destroy", buffer), kUninitialized);
    }
    EXPECT_EQ(allocated, 2);
    EXPECT_EQ(freed, 2);
  }
}

// What is exported and nobody called here.
TEST(NvjpegTable, AllAreCalled) {
  if (GTEST_FLAG_GET(filter) != "*") return;
  for (const char* name : kNames) EXPECT_EQ(Called().count(name), 1u) << name;
}

}  // namespace
}  // namespace cerberus::libraries::tests
