// tex and tld4 on random textures, samplers and coordinates, against a model
// of a few lines for each feature, in double precision. CUDA Programming
// Guide, "Texture Fetching": a coordinate is first addressed (wrapped,
// mirrored, clamped) and then turned into a texel; a linear filter weighs the
// texels on both sides of x - 0.5 by fractions of 8 bits. PTX ISA 9.0, "tex",
// "tld4": geometries, levels, gradients, offsets and comparisons.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/texture_descriptor.h"

namespace cerberus::exec {
namespace {

constexpr int kThreads = 32;
constexpr int kTextures = 12;  // for each kernel

struct Geometry {
  const char* name;
  int dimensions;  // of a texel's place
  bool layered, cube;
};
constexpr Geometry kGeometries[] = {
    {"1d", 1, false, false},  {"2d", 2, false, false}, {"3d", 3, false, false},
    {"a1d", 1, true, false},  {"a2d", 2, true, false}, {"cube", 2, false, true},
    {"acube", 2, true, true},
};

enum class Form { kBase, kLevel, kGrad, kOffset, kCompare, kTexel, kGather };

// ---- The model --------------------------------------------------------------

struct Image {
  Descriptor d = PlainTexture(1, 1, 1);
  std::vector<std::uint8_t> bytes;
  using Level = formats::TextureLevel;
  std::vector<Level> levels;
};

int ChannelBytes(std::uint32_t format) {
  return format == 1 || format == 8                   ? 1
         : format == 2 || format == 9 || format == 16 ? 2
                                                      : 4;
}

double Half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double size = exponent == 0
                          ? std::ldexp(fraction, -24)
                          : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

// A channel of a texel, which lies inside.
double ChannelAt(const Image& image, const Image::Level& level, int x, int y,
                 int slice, int channel) {
  const Descriptor& d = image.d;
  if (channel >= static_cast<int>(d.channels)) return channel == 3 ? 1 : 0;
  const int size = ChannelBytes(d.format);
  const std::uint8_t* at =
      image.bytes.data() + level.base +
      static_cast<std::uint64_t>(slice) * level.slice_bytes +
      static_cast<std::uint64_t>(y) * level.row_bytes +
      (static_cast<std::uint64_t>(x) * d.channels +
       static_cast<std::uint64_t>(channel)) *
          static_cast<std::uint64_t>(size);
  std::uint32_t raw = 0;
  std::memcpy(&raw, at, static_cast<std::size_t>(size));
  const bool as_integer = d.flags & kAsInteger;
  switch (d.format) {
    case 1: return as_integer ? raw : raw / 255.0;
    case 2: return as_integer ? raw : raw / 65535.0;
    case 3: return raw;
    case 8: {
      const int v = static_cast<std::int8_t>(raw);
      return as_integer ? v : std::max(v / 127.0, -1.0);
    }
    case 9: {
      const int v = static_cast<std::int16_t>(raw);
      return as_integer ? v : std::max(v / 32767.0, -1.0);
    }
    case 10: return static_cast<std::int32_t>(raw);
    case 16: return Half(static_cast<std::uint16_t>(raw));
    default: {
      float f;
      std::memcpy(&f, &raw, sizeof f);
      return f;
    }
  }
}

// The texel whose centre a neighbour's centre, `i` + 0.5, is addressed to; -1
// in the border.
int Addressed(int i, int n, std::uint32_t mode, bool normalized) {
  double x = (i + 0.5) / n;
  const double whole = std::floor(x);
  if (mode == kBorder) {
    if (whole != 0) return -1;
  } else if (normalized && mode == kWrap) {
    x -= whole;
  } else if (normalized && mode == kMirror) {
    x = std::fmod(whole, 2) == 0 ? x - whole : 1 - (x - whole);
  } else {
    x = std::min(std::max(x, 0.0), 1 - 0.5 / n);
  }
  return static_cast<int>(std::floor(x * n));
}

struct Lookup {
  const Image& image;
  const Geometry& geometry;
  int slice = 0;
  int channel = 0;
  bool compare = false;
  double reference = 0;

  bool Real() const {
    return image.d.format >= 16 || !(image.d.flags & kAsInteger);
  }

  double TexelAt(const Image::Level& level, const int* place,
                 bool normalized) const {
    const Descriptor& d = image.d;
    int at[3] = {0, 0, slice};
    bool border = false;
    for (int i = 0; i < geometry.dimensions; ++i) {
      const int one = Addressed(place[i], static_cast<int>(level.extent[i]),
                                d.addressing[i], normalized);
      border |= one < 0;
      at[i] = one;
    }
    const double v =
        border ? d.border[channel]
               : ChannelAt(image, level, at[0], at[1], at[2], channel);
    if (!compare || channel >= static_cast<int>(d.channels)) return v;
    return reference <= v ? 1 : 0;
  }

  // `c`: texels of `level`, normalised coordinates already multiplied.
  double Filtered(int number, const double* c, const int* offset) const {
    const Image::Level& level = image.levels[static_cast<std::size_t>(number)];
    const bool linear = (image.d.flags & kLinear) && Real();
    const bool normalized = image.d.flags & kNormalized;
    int place[3] = {0, 0, 0};
    double alpha[3] = {0, 0, 0};
    for (int i = 0; i < geometry.dimensions; ++i) {
      const double x = normalized ? c[i] * level.extent[i] : c[i];
      const double b = linear ? x - 0.5 : x;
      place[i] = static_cast<int>(std::floor(b)) + offset[i];
      alpha[i] = linear ? std::nearbyint((b - std::floor(b)) * 256) / 256 : 0;
    }
    double sum = 0;
    for (int corner = 0; corner < 1 << geometry.dimensions; ++corner) {
      double weight = 1;
      int q[3];
      for (int i = 0; i < 3; ++i) {
        q[i] = place[i] + (corner >> i & 1);
        if (i < geometry.dimensions)
          weight *= corner >> i & 1 ? alpha[i] : 1 - alpha[i];
      }
      if (weight != 0) sum += weight * TexelAt(level, q, normalized);
    }
    return sum;
  }

  double Mipmapped(double lod, const double* c, const int* offset) const {
    const Descriptor& d = image.d;
    lod = std::clamp<double>(lod + d.bias, d.least_lod, d.greatest_lod);
    lod = std::clamp(lod, 0.0, d.levels - 1.0);
    if (!(d.flags & kMipLinear) || !Real())
      return Filtered(static_cast<int>(std::floor(lod + 0.5)), c, offset);
    const int low = static_cast<int>(std::floor(lod));
    const double part = std::nearbyint((lod - low) * 256) / 256;
    double sum = (1 - part) * Filtered(low, c, offset);
    if (part != 0) sum += part * Filtered(low + 1, c, offset);
    return sum;
  }
};

// CUDA Programming Guide, "Cubemap Textures".
int FaceAt(const double* v, double* c) {
  const double x = v[0], y = v[1], z = v[2];
  const double ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  struct Row {
    int face;
    double m, s, t;
  };
  const Row row =
      ax > ay && ax > az   ? x >= 0 ? Row{0, x, -z, -y} : Row{1, -x, z, -y}
      : ay > ax && ay > az ? y >= 0 ? Row{2, y, x, z} : Row{3, -y, x, -z}
      : z >= 0             ? Row{4, z, x, -y}
                           : Row{5, -z, -x, -y};
  c[0] = (row.s / row.m + 1) / 2;
  c[1] = (row.t / row.m + 1) / 2;
  return row.face;
}

// ---- Scenes -----------------------------------------------------------------

Image RandomImage(const Geometry& g, Form form, std::mt19937& random) {
  const auto upto = [&](int n) {
    return static_cast<std::uint32_t>(random() % static_cast<unsigned>(n));
  };
  Image image;
  Descriptor& d = image.d;
  constexpr std::uint32_t kFormats[] = {1, 2, 3, 8, 9, 10, 16, 32};
  constexpr std::uint32_t kReal[] = {1, 2, 8, 9, 16, 32};
  const bool integers = form != Form::kCompare && upto(4) == 0;
  d.format = integers ? kFormats[upto(6)] : kReal[upto(6)];
  d.channels = 1u << upto(3);
  d.flags = (integers ? std::uint32_t{kAsInteger} : 0u) |
            (upto(2) ? std::uint32_t{kLinear} : 0u) |
            (upto(2) || g.cube ? std::uint32_t{kNormalized} : 0u) |
            (upto(2) ? std::uint32_t{kMipLinear} : 0u);
  // How a place outside is wrapped has no rule for integer coordinates.
  if (form == Form::kTexel) d.flags &= ~std::uint32_t{kNormalized};
  for (int i = 0; i < g.dimensions; ++i) {
    d.extent[i] = 1 + upto(9);
    d.addressing[i] = upto(4);
    // What integers find in the border is not published.
    if (integers && d.addressing[i] == kBorder) d.addressing[i] = kMirror;
  }
  if (g.cube) d.extent[1] = d.extent[0];
  d.layers = (g.layered ? 1 + upto(3) : 1) * (g.cube ? 6 : 1);
  for (float& channel : d.border) channel = static_cast<float>(upto(5)) - 2;
  // All but .level and .grad read level 0, whatever these say.
  d.levels = 1 + upto(3);
  d.bias = static_cast<float>(static_cast<int>(upto(5)) - 2) / 2;
  d.least_lod = static_cast<float>(static_cast<int>(upto(8)) - 2) / 4;
  d.greatest_lod = d.least_lod + static_cast<float>(upto(12)) / 4;
  std::uint64_t size = 0;
  for (std::uint32_t i = 0; i < d.levels; ++i) {
    Image::Level level = {};
    level.base = size;
    for (int k = 0; k < 3; ++k)
      level.extent[k] = std::max(d.extent[k] >> i, 1u);
    const std::uint64_t texel =
        d.channels * static_cast<std::uint64_t>(ChannelBytes(d.format));
    level.row_bytes = (level.extent[0] * texel + 31) / 16 * 16;  // a pitch
    level.slice_bytes = level.row_bytes * level.extent[1];
    size += level.slice_bytes * std::max(d.layers, level.extent[2]);
    image.levels.push_back(level);
  }
  d.row_bytes = image.levels[0].row_bytes;
  d.slice_bytes = image.levels[0].slice_bytes;
  image.bytes.resize(size);
  for (std::uint8_t& byte : image.bytes)
    byte = static_cast<std::uint8_t>(random());
  // Reals of moderate size.
  for (std::uint64_t i = 0; d.format == 16 && i < size; i += 2)
    image.bytes[i + 1] = static_cast<std::uint8_t>(0x30 + upto(0x18));
  for (std::uint64_t i = 0; d.format == 32 && i < size; i += 4) {
    const float v = static_cast<float>(static_cast<int>(upto(2001)) - 1000) / 8;
    std::memcpy(&image.bytes[i], &v, sizeof v);
  }
  return image;
}

// Numbers of a thread: 0-3 coordinates, 4 level, 5 reference, 8-13 gradients.
using Numbers = std::array<float, 16>;
constexpr int kOffsets[3] = {-2, 3, 1};

Numbers RandomPoint(const Geometry& g, const Image& image,
                    std::mt19937& random) {
  Numbers n = {};
  const auto upto = [&](int k) {
    return static_cast<int>(random() % static_cast<unsigned>(k));
  };
  int next = 0;
  // Layers beyond the last one are the last one.
  const int layers = static_cast<int>(image.d.layers) / (g.cube ? 6 : 1);
  if (g.layered) n[0] = static_cast<float>(upto(layers + 2)), next = 1;
  if (g.cube) {
    for (int i = 0; i < 3; ++i)
      n[static_cast<std::size_t>(next + i)] =
          static_cast<float>(upto(2000) - 999) + 0.25f +
          0.125f * static_cast<float>(i);
  }
  for (int i = 0; i < g.dimensions && !g.cube; ++i) {
    // No step on the way may end between two texels or two weights.
    const double size = image.d.extent[i];
    const int far = upto(8) == 0 ? 40000 : 3;
    const double texel = upto(static_cast<int>(size) * 2 * far) - size * far +
                         (upto(256) + 0.3) / 256;
    n[static_cast<std::size_t>(next + i)] =
        static_cast<float>(image.d.flags & kNormalized ? texel / size : texel);
  }
  n[4] = static_cast<float>(upto(1200) - 200) / 256 + 0.001f;
  n[5] = static_cast<float>(upto(400) - 200) / 64;
  for (std::size_t i = 8; i < 14; ++i)
    n[i] = static_cast<float>(upto(64) + 1) / 64;
  return n;
}

std::string Vector(const std::string& name, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ", ") + name + std::to_string(first + i);
  return text + "}";
}

std::string Kernel(const Geometry& g, Form form, bool integers, int channel) {
  const bool texel = form == Form::kTexel;
  const int places = g.cube ? 3 : g.dimensions;
  const int all = places + (g.layered ? 1 : 0);
  std::string coordinates = "{";
  for (int i = 0; i < (all == 3 ? 4 : all); ++i) {
    coordinates += (i == 0 ? "" : ", ") +
                   std::string((i == 0 && g.layered) || texel ? "%r" : "%f") +
                   std::to_string(i);
  }
  coordinates += "}";
  const std::string level = form == Form::kLevel  ? ".level"
                            : form == Form::kGrad ? ".grad"
                                                  : "";
  constexpr char kChannels[] = "rgba";
  std::string text = form == Form::kGather
                         ? "tld4." + std::string(1, kChannels[channel])
                         : "tex" + level;
  text += "." + std::string(g.name) + ".v4." + (integers ? "u32" : "f32") +
          (texel ? ".s32" : ".f32") + " {%d0, %d1, %d2, %d3}, [%t, " +
          coordinates + "]";
  const int step = places == 3 ? 4 : places;
  if (form == Form::kLevel) text += ", %f4";
  if (form == Form::kGrad)
    text += ", " + Vector("%f", 8, step) + ", " + Vector("%f", 11, step);
  if (form == Form::kOffset) text += ", " + Vector("%r", 8, step);
  if (form == Form::kCompare) text += ", %f5";
  return text + ";";
}

struct Scene {
  const Geometry& g;
  Form form;
  int channel;  // of a gather
  Image image;
  std::vector<Numbers> points = {};

  std::string Where(int scene, int thread, int component) const;
  double Want(const Numbers& n, int component) const;
  double LevelOf(const Numbers& n) const;
  double Gathered(const double (&c)[3], int component, Lookup& lookup) const;
};

std::string Scene::Where(int scene, int thread, int component) const {
  const Descriptor& d = image.d;
  const auto row = [](const auto& list, int count, const char* between) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += (i == 0 ? "" : between) + std::to_string(list[i]);
    return text;
  };
  const Numbers& n = points[static_cast<std::size_t>(thread)];
  return "texture " + std::to_string(scene) + ", thread " +
         std::to_string(thread) + ", channel " + std::to_string(component) +
         ", format " + std::to_string(d.format) + " of " +
         std::to_string(d.channels) + ", flags " + std::to_string(d.flags) +
         ", addressing " + row(d.addressing, 3, "") + ", extent " +
         row(d.extent, 3, " ") + ", at " + row(n.data(), 4, " ") +
         ", reference " + std::to_string(n[5]);
}

double Scene::LevelOf(const Numbers& n) const {
  if (form == Form::kLevel) return n[4];
  double squares[2] = {0, 0};
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(g.dimensions); ++i) {
      const double step = n[8 + 3 * side + i] *
                          (image.d.flags & kNormalized ? image.d.extent[i] : 1);
      squares[side] += step * step;
    }
  }
  return std::log2(std::max(squares[0], squares[1])) / 2;
}

double Scene::Gathered(const double (&c)[3], int component,
                       Lookup& lookup) const {
  // (0,1) (1,1) (1,0) (0,0)
  constexpr int kX[] = {0, 1, 1, 0}, kY[] = {1, 1, 0, 0};
  const bool normalized = image.d.flags & kNormalized;
  lookup.channel = channel;
  const auto first = [&](int axis) {
    return static_cast<int>(
        std::floor(c[axis] * (normalized ? image.d.extent[axis] : 1) - 0.5));
  };
  const int q[3] = {first(0) + kX[component], first(1) + kY[component], 0};
  return lookup.TexelAt(image.levels[0], q, normalized);
}

// What a thread with these numbers gets as one of its four results.
double Scene::Want(const Numbers& n, int component) const {
  Lookup lookup{image, g};
  const float* place = n.data() + (g.layered ? 1 : 0);
  double c[3] = {place[0], place[1], place[2]};
  int face = 0;
  if (g.cube) face = FaceAt(c, c);
  const int per_layer = g.cube ? 6 : 1;
  const int layers = static_cast<int>(image.d.layers) / per_layer;
  const int layer =
      g.layered ? std::min(static_cast<int>(n[0]), layers - 1) : 0;
  lookup.slice = layer * per_layer + face;
  lookup.compare = form == Form::kCompare;
  lookup.reference = n[5];
  lookup.channel = component;
  const int none[3] = {0, 0, 0};
  switch (form) {
    case Form::kGather: return Gathered(c, component, lookup);
    case Form::kTexel: {
      int q[3];
      for (int k = 0; k < 3; ++k) q[k] = static_cast<int>(c[k]);
      return lookup.TexelAt(image.levels[0], q, false);
    }
    case Form::kLevel:
    case Form::kGrad: return lookup.Mipmapped(LevelOf(n), c, none);
    default:
      return lookup.Filtered(0, c, form == Form::kOffset ? kOffsets : none);
  }
}

// Runs the kernel on the scene; its results, none if that failed.
std::vector<std::array<std::uint32_t, 4>> Launched(const Scene& scene,
                                                   PtxModule& module,
                                                   const std::string& kernel) {
  const Image& image = scene.image;
  emulator::Device& device = module.device();
  Buffer texels(device, image.bytes.size());
  Buffer records(device, 40 * image.levels.size());
  Buffer descriptor(device, sizeof(Descriptor));
  Buffer in(device, sizeof(Numbers) * kThreads);
  Buffer out(device, 16 * kThreads);
  std::copy(image.bytes.begin(), image.bytes.end(), texels.as<std::uint8_t>());
  for (std::size_t i = 0; i < image.levels.size(); ++i) {
    Image::Level level = image.levels[i];
    level.base += texels.address();
    records.as<Image::Level>()[i] = level;
  }
  Descriptor d = image.d;
  d.base = texels.address();
  d.level_records = d.levels > 1 ? records.address() : 0;
  *descriptor.as<Descriptor>() = d;
  std::copy(scene.points.begin(), scene.points.end(), in.as<Numbers>());
  Launch launch;
  launch.block = {kThreads, 1, 1};
  launch.params = {descriptor.address(), in.address(), out.address()};
  const Status status = module.Run(kernel, launch);
  EXPECT_TRUE(status) << (status ? "" : status.error().ToString());
  if (!status) return {};
  const auto* results = out.as<std::array<std::uint32_t, 4>>();
  return {results, results + kThreads};
}

// Everything that a launch reads, one texture to a block.
void RunScenes(PtxModule& module, const std::string& kernel, const Geometry& g,
               Form form, bool integers, int channel, std::mt19937 random) {
  for (int number = 0; number < kTextures; ++number) {
    Scene scene{g, form, channel, {}};
    do {
      scene.image = RandomImage(g, form, random);
    } while (((scene.image.d.flags & kAsInteger) != 0) != integers);
    for (int i = 0; i < kThreads; ++i)
      scene.points.push_back(RandomPoint(g, scene.image, random));
    const auto results = Launched(scene, module, kernel);
    ASSERT_FALSE(results.empty());
    // The logarithm and the division of a cube's coordinates may move a weight
    // by one step.
    const double steps = (form == Form::kGrad ? 1 : 0) + (g.cube ? 2 : 0);
    const std::uint32_t format = scene.image.d.format;
    const double range = format == 32 ? 250 : format == 16 ? 240 : 6;
    for (int t = 0; t < kThreads; ++t) {
      const auto thread = static_cast<std::size_t>(t);
      for (int i = 0; i < 4; ++i) {
        const double want = scene.Want(scene.points[thread], i);
        const std::uint32_t bits = results[thread][static_cast<std::size_t>(i)];
        if (integers) {
          ASSERT_EQ(bits,
                    static_cast<std::uint32_t>(static_cast<std::int64_t>(want)))
              << scene.Where(number, t, i);
        } else {
          ASSERT_NEAR(std::bit_cast<float>(bits), want,
                      1e-4 + 2e-6 * std::fabs(want) + steps * range / 256)
              << scene.Where(number, t, i);
        }
      }
    }
  }
}

constexpr char kHeader[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

void RunForm(Form form) {
  KernelBatch batch{kHeader};
  for (const Geometry& g : kGeometries) {
    for (const bool integers : {false, true}) {
      if (form == Form::kOffset && g.cube) continue;
      if (form == Form::kTexel && g.cube) continue;
      if (form == Form::kCompare && (integers || g.dimensions != 2)) continue;
      if (form == Form::kGather && g.dimensions != 2) continue;
      // A cube's gradients are those of the direction; texture_exec_test has
      // them.
      if (form == Form::kGrad && g.cube) continue;
      const int channel = static_cast<int>(&g - kGeometries) % 4;
      std::string text =
          ".visible .entry " + batch.NextName() +
          "(.param .u64 tex, .param .u64 in, .param .u64 out)\n{\n"
          "  .reg .b64 %t, %in, %out;\n  .reg .b32 %d<4>, %r<12>;\n"
          "  .reg .f32 %f<16>;\n  ld.param.u64 %t, [tex];\n"
          "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
          "  mov.u32 %r0, %tid.x;\n  mad.wide.u32 %in, %r0, 64, %in;\n"
          "  mad.wide.u32 %out, %r0, 16, %out;\n";
      for (int i = 0; i < 16; ++i) {
        text += "  ld.global.f32 %f" + std::to_string(i) + ", [%in+" +
                std::to_string(4 * i) + "];\n";
      }
      for (int i = 0; i < 4; ++i) {
        const std::string n = std::to_string(i);
        text += "  cvt.rzi.s32.f32 %r" + n + ", %f" + n + ";\n";
      }
      for (int i = 0; i < 3; ++i) {
        text += "  mov.b32 %r" + std::to_string(8 + i) + ", " +
                std::to_string(kOffsets[i]) + ";\n";
      }
      text += "  " + Kernel(g, form, integers, channel) +
              "\n  st.global.v4.b32 [%out], {%d0, %d1, %d2, %d3};\n  ret;\n"
              "}\n";
      const std::mt19937 random(static_cast<unsigned>(form) * 100 +
                                static_cast<unsigned>(channel) + 7);
      batch.Add(Kernel(g, form, integers, channel), text,
                [=, &g](PtxModule& module, const std::string& name) {
                  RunScenes(module, name, g, form, integers, channel, random);
                });
    }
  }
}

TEST(TextureModelExec, Base) { RunForm(Form::kBase); }
TEST(TextureModelExec, Levels) { RunForm(Form::kLevel); }
TEST(TextureModelExec, Gradients) { RunForm(Form::kGrad); }
TEST(TextureModelExec, Offsets) { RunForm(Form::kOffset); }
TEST(TextureModelExec, Comparisons) { RunForm(Form::kCompare); }
TEST(TextureModelExec, Texels) { RunForm(Form::kTexel); }
TEST(TextureModelExec, Gathers) { RunForm(Form::kGather); }

}  // namespace
}  // namespace cerberus::exec
