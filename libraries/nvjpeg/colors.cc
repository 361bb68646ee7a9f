#include "libraries/nvjpeg/colors.h"

#include <algorithm>
#include <cmath>

#include "libraries/nvjpeg/blocks.h"

namespace cerberus::libraries::nvjpeg {
namespace {

// By nvjpegChromaSubsampling_t.
constexpr struct {
  int h, v;
} kFactors[] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}, {1, 1}};

std::uint8_t Rounded(float value) {
  return static_cast<std::uint8_t>(
      std::clamp(std::nearbyint(value), 0.0f, 255.0f));
}
// As NVIDIA's library makes red, green and blue.
std::uint8_t Cut(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f));
}
Plane Sized(int width, int height) {
  Plane plane;
  plane.width = width;
  plane.height = height;
  plane.samples.resize(static_cast<std::size_t>(width) * height);
  return plane;
}
// f(x, y) for each sample.
template <typename F>
Plane Filled(int width, int height, const F& f) {
  Plane plane = Sized(width, height);
  std::uint8_t* to = plane.samples.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) *to++ = f(x, y);
  }
  return plane;
}

// A sample for each pixel of the window.
Plane Full(const Image& image, std::size_t number, const Window& window,
           bool interpolate) {
  const Plane& plane = image.planes[number];
  if (!interpolate || (plane.h == image.most_h && plane.v == image.most_v)) {
    return Filled(window.width, window.height, [&](int x, int y) {
      return plane.at(
          std::min((window.x + x) * plane.h / image.most_h, plane.width - 1),
          std::min((window.y + y) * plane.v / image.most_v, plane.height - 1));
    });
  }
  // Samples stand in the middle of what they are for.
  struct Between {
    int first, second;
    float part;
  };
  const auto place = [](int at, int of, int most, int size) {
    const float where = (static_cast<float>(at) + 0.5f) *
                            static_cast<float>(of) / static_cast<float>(most) -
                        0.5f;
    const float below = std::floor(where);
    const int first = static_cast<int>(below);
    return Between{std::clamp(first, 0, size - 1),
                   std::clamp(first + 1, 0, size - 1), where - below};
  };
  std::vector<Between> across;
  across.reserve(static_cast<std::size_t>(window.width));
  for (int x = 0; x < window.width; ++x) {
    across.push_back(place(window.x + x, plane.h, image.most_h, plane.width));
  }
  return Filled(window.width, window.height, [&](int x, int y) {
    const Between down =
        place(window.y + y, plane.v, image.most_v, plane.height);
    const Between& c = across[x];
    const auto row = [&](int from) {
      const float a = plane.at(c.first, from), b = plane.at(c.second, from);
      return a + (b - a) * c.part;
    };
    const float a = row(down.first), b = row(down.second);
    return Rounded(a + (b - a) * down.part);
  });
}
// Each of its own size, as much as the window has of it.
Plane Cropped(const Image& image, std::size_t number, const Window& window) {
  const Plane& plane = image.planes[number];
  const int x = window.x * plane.h / image.most_h;
  const int y = window.y * plane.v / image.most_v;
  const int width =
      std::min(DivideUp(window.width * plane.h, image.most_h), plane.width - x);
  const int height = std::min(DivideUp(window.height * plane.v, image.most_v),
                              plane.height - y);
  return Filled(width, height,
                [&](int dx, int dy) { return plane.at(x + dx, y + dy); });
}

// Upright, by Exif's orientation.
Plane Upright(Plane plane, int orientation) {
  if (orientation <= 1) return plane;
  const int right = plane.width - 1, bottom = plane.height - 1;
  const bool turned = orientation >= 5;
  return Filled(turned ? plane.height : plane.width,
                turned ? plane.width : plane.height, [&](int x, int y) {
                  switch (orientation) {
                    case 2: return plane.at(right - x, y);
                    case 3: return plane.at(right - x, bottom - y);
                    case 4: return plane.at(x, bottom - y);
                    case 5: return plane.at(y, x);
                    case 6: return plane.at(y, bottom - x);
                    case 7: return plane.at(right - y, bottom - x);
                    default: return plane.at(right - y, x);
                  }
                });
}

// The mean of each piece of so many samples.
Plane Means(const Plane& plane, int across, int down) {
  return Filled(DivideUp(plane.width, across), DivideUp(plane.height, down),
                [&](int x, int y) {
                  int sum = 0, count = 0;
                  for (int v = y * down;
                       v < std::min((y + 1) * down, plane.height); ++v) {
                    for (int h = x * across;
                         h < std::min((x + 1) * across, plane.width);
                         ++h, ++count) {
                      sum += plane.at(h, v);
                    }
                  }
                  return static_cast<std::uint8_t>(sum / count);
                });
}

struct Rgb {
  float r, g, b;
};
// BT.601 over the whole range, as JFIF has it.
Rgb FromYcc(int y, int cb, int cr) {
  const auto l = static_cast<float>(y);
  const auto u = static_cast<float>(cb - 128), v = static_cast<float>(cr - 128);
  return {l + 1.402f * v, l - 0.344136f * u - 0.714136f * v, l + 1.772f * u};
}
float Luma(float r, float g, float b) {
  return 0.299f * r + 0.587f * g + 0.114f * b;
}

bool ToRgb(const Image& image, const OutputSettings& settings,
           const Window& window, std::array<Plane, 3>* rgb) {
  const std::size_t count = image.planes.size();
  const bool four =
      image.colors == Colors::kCmyk || image.colors == Colors::kYcck;
  if (image.colors == Colors::kOther || (four && !settings.cmyk)) return false;
  std::vector<Plane> full;
  full.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    full.push_back(Full(image, i, window, settings.interpolate));
  }
  if (image.colors == Colors::kGray || image.colors == Colors::kRgb) {
    for (std::size_t i = 0; i < 3; ++i) (*rgb)[i] = full[count == 1 ? 0 : i];
    return true;
  }
  for (Plane& plane : *rgb) plane = Sized(window.width, window.height);
  for (std::size_t i = 0; i < full[0].samples.size(); ++i) {
    const auto at = [&](std::size_t c) { return full[c].samples[i]; };
    Rgb pixel;
    if (image.colors == Colors::kCmyk) {
      pixel = {static_cast<float>(at(0)), static_cast<float>(at(1)),
               static_cast<float>(at(2))};
    } else {
      pixel = FromYcc(at(0), at(1), at(2));
    }
    if (four) {
      // The inks that YCCK stands for are what is missing of these.
      const bool inverted = image.inverted != (image.colors == Colors::kYcck);
      const auto black =
          static_cast<float>(image.inverted ? at(3) : 255 - at(3));
      for (float* c : {&pixel.r, &pixel.g, &pixel.b}) {
        const float clamped = std::clamp(*c, 0.0f, 255.0f);
        *c = (inverted ? clamped : 255.0f - clamped) * black / 255.0f;
      }
    }
    (*rgb)[0].samples[i] = Cut(pixel.r);
    (*rgb)[1].samples[i] = Cut(pixel.g);
    (*rgb)[2].samples[i] = Cut(pixel.b);
  }
  return true;
}

Output::Channel ChannelOf(Plane plane) {
  return {plane.width, plane.height, std::move(plane.samples)};
}
// Samples of several planes side by side.
Output::Channel Interleaved(std::initializer_list<const Plane*> planes) {
  const Plane& first = **planes.begin();
  const auto count = static_cast<int>(planes.size());
  Output::Channel channel = {first.width * count, first.height, {}};
  channel.bytes.resize(first.samples.size() * planes.size());
  std::size_t c = 0;
  for (const Plane* plane : planes) {
    for (std::size_t i = 0; i < plane->samples.size(); ++i) {
      channel.bytes[i * planes.size() + c] = plane->samples[i];
    }
    ++c;
  }
  return channel;
}

}  // namespace

bool FactorsOf(int subsampling, int* h, int* v) {
  if (subsampling < 0 || subsampling > kGraySampling) return false;
  *h = kFactors[subsampling].h;
  *v = kFactors[subsampling].v;
  return true;
}
int SubsamplingOf(const Header& header) {
  const auto& c = header.components;
  if (c.size() == 1) return kGraySampling;
  if (c.size() < 3) return kUnknownSampling;
  for (std::size_t i = 1; i < 3; ++i) {
    if (c[i].h != c[1].h || c[i].v != c[1].v) return kUnknownSampling;
  }
  if (c[0].h % c[1].h != 0 || c[0].v % c[1].v != 0) return kUnknownSampling;
  for (int s = k444; s <= k410; ++s) {
    if (c[0].h / c[1].h == kFactors[s].h && c[0].v / c[1].v == kFactors[s].v) {
      return s;
    }
  }
  return kUnknownSampling;
}

Status Convert(const Image& image, const OutputSettings& settings,
               Output* output) {
  const Window whole = {0, 0, image.width, image.height};
  const Window& window = settings.window ? *settings.window : whole;
  const int turn = settings.orientation;
  const auto add = [&](Plane plane) {
    output->channels.push_back(ChannelOf(Upright(std::move(plane), turn)));
  };
  output->channels.clear();
  switch (settings.format) {
    case kUnchanged:
      for (std::size_t i = 0; i < image.planes.size(); ++i) {
        add(Cropped(image, i, window));
      }
      return kSuccess;
    case kYuv:
      if (image.planes.size() != 1 && image.planes.size() != 3) {
        return kJpegNotSupported;
      }
      for (std::size_t i = 0; i < image.planes.size(); ++i) {
        add(Cropped(image, i, window));
      }
      return kSuccess;
    case kNv12:
    case kYuy2: {
      const bool gray = image.colors == Colors::kGray;
      if (!gray && image.colors != Colors::kYcc) return kJpegNotSupported;
      const Plane y = Upright(Full(image, 0, window, false), turn);
      std::array<Plane, 2> chroma;
      for (std::size_t i = 0; i < 2; ++i) {
        Plane full = gray ? Filled(window.width, window.height,
                                   [](int, int) { return std::uint8_t{128}; })
                          : Full(image, i + 1, window, settings.interpolate);
        chroma[i] = Means(Upright(std::move(full), turn), 2,
                          settings.format == kNv12 ? 2 : 1);
      }
      if (settings.format == kNv12) {
        output->channels.push_back(ChannelOf(y));
        output->channels.push_back(Interleaved({&chroma[0], &chroma[1]}));
        return kSuccess;
      }
      Output::Channel& to = output->channels.emplace_back();
      to.width = 4 * chroma[0].width;
      to.height = y.height;
      for (int row = 0; row < y.height; ++row) {
        for (int x = 0; x < chroma[0].width; ++x) {
          const int second = std::min(2 * x + 1, y.width - 1);
          for (const std::uint8_t byte :
               {y.at(2 * x, row), chroma[0].at(x, row), y.at(second, row),
                chroma[1].at(x, row)}) {
            to.bytes.push_back(byte);
          }
        }
      }
      return kSuccess;
    }
    case kY:
      if (image.colors == Colors::kGray || image.colors == Colors::kYcc) {
        add(Full(image, 0, window, false));
        return kSuccess;
      }
      [[fallthrough]];
    case kRgb:
    case kBgr:
    case kRgbInterleaved:
    case kBgrInterleaved: {
      std::array<Plane, 3> rgb;
      if (!ToRgb(image, settings, window, &rgb)) return kJpegNotSupported;
      if (settings.format == kY) {
        add(Filled(window.width, window.height, [&](int x, int y) {
          return Rounded(
              Luma(rgb[0].at(x, y), rgb[1].at(x, y), rgb[2].at(x, y)));
        }));
        return kSuccess;
      }
      for (Plane& plane : rgb) plane = Upright(std::move(plane), turn);
      if (settings.format == kBgr || settings.format == kBgrInterleaved) {
        std::swap(rgb[0], rgb[2]);
      }
      if (settings.format == kRgb || settings.format == kBgr) {
        for (Plane& plane : rgb) {
          output->channels.push_back(ChannelOf(std::move(plane)));
        }
      } else {
        output->channels.push_back(Interleaved({&rgb[0], &rgb[1], &rgb[2]}));
      }
      return kSuccess;
    }
    default: return kImplementationNotSupported;
  }
}

Image Resample(const Image& image, int subsampling) {
  int h = 1, v = 1;
  FactorsOf(subsampling, &h, &v);
  Image out = image;
  out.most_h = h;
  out.most_v = v;
  const Window whole = {0, 0, image.width, image.height};
  out.planes = {Full(image, 0, whole, false)};
  out.planes[0].h = h;
  out.planes[0].v = v;
  if (subsampling == kGraySampling) return out;
  for (std::size_t i = 1; i < 3; ++i) {
    out.planes.push_back(Means(Full(image, i, whole, false), h, v));
  }
  return out;
}
Image FromRgb(const std::array<Plane, 3>& rgb, int subsampling) {
  Image image;
  image.width = rgb[0].width;
  image.height = rgb[0].height;
  image.colors = Colors::kYcc;
  for (int c = 0; c < 3; ++c) {
    image.planes.push_back(Filled(image.width, image.height, [&](int x, int y) {
      const auto r = static_cast<float>(rgb[0].at(x, y));
      const auto g = static_cast<float>(rgb[1].at(x, y));
      const auto b = static_cast<float>(rgb[2].at(x, y));
      switch (c) {
        case 0: return Cut(Luma(r, g, b));
        case 1: return Cut(-0.168736f * r - 0.331264f * g + 0.5f * b + 128);
        default: return Cut(0.5f * r - 0.418688f * g - 0.081312f * b + 128);
      }
    }));
  }
  return Resample(image, subsampling);
}

}  // namespace cerberus::libraries::nvjpeg
