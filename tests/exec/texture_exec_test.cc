// tex, tld4 and txq, on textures described as docs/texture-descriptor.md
// says. What a sample must be follows the CUDA Programming Guide, "Texture
// Fetching", computed here in double precision and texel by texel.
#include "tests/exec/texture_exec_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/exec/texture_descriptor.h"

namespace cerberus::exec {
namespace {

// Index after addressing, -1 for the border.
int Addressed(int i, int n, std::uint32_t mode) {
  switch (mode) {
    case kWrap: return ((i % n) + n) % n;
    case kMirror: {
      const int r = ((i % (2 * n)) + 2 * n) % (2 * n);
      return r < n ? r : 2 * n - 1 - r;
    }
    case kBorder: return i < 0 || i >= n ? -1 : i;
    default: return std::min(std::max(i, 0), n - 1);
  }
}

double Expected2d(const std::vector<float>& image, const Descriptor& d,
                  double x, double y) {
  const int w = static_cast<int>(d.extent[0]);
  const int h = static_cast<int>(d.extent[1]);
  const bool normalized = d.flags & kNormalized;
  const auto mode = [&](int axis) {
    const std::uint32_t m = d.addressing[axis];
    return !normalized && (m == kWrap || m == kMirror)
               ? static_cast<std::uint32_t>(kClampEdge)
               : m;
  };
  const auto texel = [&](int i, int j) -> double {
    const int a = Addressed(i, w, mode(0));
    const int b = Addressed(j, h, mode(1));
    return a < 0 || b < 0 ? d.border[0]
                          : image[static_cast<std::size_t>(b * w + a)];
  };
  if (normalized) {
    x *= w;
    y *= h;
  }
  if (!(d.flags & kLinear)) {
    return texel(static_cast<int>(std::floor(x)),
                 static_cast<int>(std::floor(y)));
  }
  x -= 0.5;
  y -= 0.5;
  const int i = static_cast<int>(std::floor(x));
  const int j = static_cast<int>(std::floor(y));
  const double a = std::nearbyint((x - i) * 256) / 256;
  const double b = std::nearbyint((y - j) * 256) / 256;
  return (1 - a) * (1 - b) * texel(i, j) + a * (1 - b) * texel(i + 1, j) +
         (1 - a) * b * texel(i, j + 1) + a * b * texel(i + 1, j + 1);
}

std::vector<Coordinates> Grid(double from_x, double to_x, double from_y,
                              double to_y) {
  std::vector<Coordinates> points;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    // Multiples of 1/16 are exact in every step on the way.
    const double u = std::floor((from_x + (to_x - from_x) * (i % 8) / 7) * 16);
    const double v = std::floor((from_y + (to_y - from_y) * (i / 8) / 7) * 16);
    points.push_back(
        {static_cast<float>(u / 16), static_cast<float>(v / 16), 0, 0});
  }
  return points;
}

TEST(TextureExec, FiltersAndAddressing) {
  const std::vector<float> image = Image(4, 8, 1);
  for (const std::uint32_t flags :
       {0u, std::uint32_t{kLinear}, std::uint32_t{kNormalized},
        std::uint32_t{kNormalized | kLinear}}) {
    for (const std::uint32_t mode : {kWrap, kClampEdge, kMirror, kBorder}) {
      Descriptor d = PlainTexture(4, 8, 1);
      d.flags = flags;
      d.addressing[0] = d.addressing[1] = mode;
      d.border[0] = -5;
      const std::vector<Coordinates> points =
          flags & kNormalized ? Grid(-1.5, 2.5, -1.25, 2) : Grid(-3, 7, -2, 11);
      const std::vector<Result4> got =
          Sample("tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0, %f1}];", d,
                 BytesOf(image), points);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double want = Expected2d(image, d, points[i][0], points[i][1]);
        EXPECT_NEAR(AsFloat(got[i][0]), want, 1e-4)
            << "flags " << flags << " mode " << mode << " at " << points[i][0]
            << ", " << points[i][1];
        // Channels the format lacks.
        if (mode != kBorder) {
          EXPECT_EQ(got[i][1], 0u);
          EXPECT_EQ(AsFloat(got[i][3]), 1.0f);
        }
      }
    }
  }
}

TEST(TextureExec, IntegerCoordinatesFetchTexels) {
  const std::vector<float> image = Image(8, 4, 2);
  Descriptor d = PlainTexture(8, 4, 2);
  d.flags = kNormalized | kLinear;  // neither matters
  std::vector<Coordinates> points;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    points.push_back({static_cast<float>(i % 8), static_cast<float>(i / 8 % 4),
                      static_cast<float>(i / 32), 0});
  }
  const std::vector<Result4> got = Sample(
      "tex.3d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%t, {%r0, %r1, %r2, %r3}];", d,
      BytesOf(image), points);
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(AsFloat(got[i][0]), image[i]) << i;
  }
  d = PlainTexture(64, 1, 1);
  const std::vector<float> line = Image(64, 1, 1);
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    points[i] = {static_cast<float>(i), 0, 0, 0};
  }
  const std::vector<Result4> row =
      Sample("tex.1d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%t, {%r0}];", d,
             BytesOf(line), points);
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(AsFloat(row[i][0]), line[i]) << i;
  }
}

TEST(TextureExec, Formats) {
  const std::vector<std::uint8_t> bytes = {0, 51, 255, 128, 1, 2, 3, 4};
  Descriptor d = PlainTexture(1, 1, 1);
  d.extent[0] = 2;
  d.channels = 4;
  d.format = 1;  // u8
  d.row_bytes = 8;
  const std::vector<Coordinates> points = {{0.5f, 0, 0, 0}, {1.5f, 0, 0, 0}};
  const char* tex = "tex.1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0}];";
  std::vector<Result4> got = Sample(tex, d, bytes, points);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(AsFloat(got[0][i]), static_cast<float>(bytes[i]) / 255.0f);
  }
  d.flags = kAsInteger;
  got = Sample("tex.1d.v4.u32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0}];", d, bytes,
               points);
  EXPECT_EQ(got[0], (Result4{0, 51, 255, 128}));
  EXPECT_EQ(got[1], (Result4{1, 2, 3, 4}));
  d.format = 8;  // s8
  got = Sample("tex.1d.v4.s32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0}];", d, bytes,
               points);
  EXPECT_EQ(got[0], (Result4{0, 51, 0xffffffffu, 0xffffff80u}));
  d.flags = 0;
  got = Sample(tex, d, bytes, points);
  EXPECT_FLOAT_EQ(AsFloat(got[0][1]), 51.0f / 127.0f);
  EXPECT_FLOAT_EQ(AsFloat(got[0][3]), -1.0f);
  // Halves 1, 2 and an infinity; two channels.
  d.format = 16;
  d.channels = 2;
  got = Sample(
      tex, d,
      BytesOf(std::vector<std::uint16_t>{0x3c00, 0x4000, 0x7c00, 0x8000}),
      points);
  EXPECT_EQ(AsFloat(got[0][0]), 1.0f);
  EXPECT_EQ(AsFloat(got[0][1]), 2.0f);
  EXPECT_EQ(AsFloat(got[0][2]), 0.0f);
  EXPECT_TRUE(std::isinf(AsFloat(got[1][0])));
  // As packed halves.
  got =
      Sample("tex.1d.v2.f16x2.f32 {%d0, %d1}, [%t, {%f0}];", d,
             BytesOf(std::vector<std::uint16_t>{0x3c00, 0x4000, 0, 0}), points);
  EXPECT_EQ(got[0][0], 0x40003c00u);
  EXPECT_EQ(got[0][1], 0x3c000000u);
}

TEST(TextureExec, LayersAndOffsets) {
  const std::vector<float> image = Image(4, 4, 3);
  Descriptor d = PlainTexture(4, 4, 1);
  d.layers = 3;
  std::vector<Coordinates> points;
  for (std::uint32_t i = 0; i < 48; ++i) {
    points.push_back({static_cast<float>(i / 16),
                      static_cast<float>(i % 4) + 0.5f,
                      static_cast<float>(i / 4 % 4) + 0.5f, 0});
  }
  std::vector<Result4> got = Sample(
      "tex.a2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%r0, %f1, %f2, %f3}];", d,
      BytesOf(image), points);
  for (std::uint32_t i = 0; i < 48; ++i) {
    EXPECT_EQ(AsFloat(got[i][0]), image[i]) << i;
  }
  // The neighbour to the right, clamped at the edge; the pair's predicate
  // says that the texel is there.
  got = Sample(
      "mov.u32 %r3, 1; tex.a2d.v4.f32.f32 {%d0, %d1, %d2, %d3}|%p, "
      "[%t, {%r0, %f1, %f2, %f3}], {%r3, 0};  selp.b32 %d1, 1, 0, %p;",
      d, BytesOf(image), points);
  for (std::uint32_t i = 0; i < 48; ++i) {
    EXPECT_EQ(AsFloat(got[i][0]), image[i % 4 == 3 ? i : i + 1]) << i;
    EXPECT_EQ(got[i][1], 1u);
  }
}

TEST(TextureExec, CubemapFaces) {
  // One texel per face.
  Descriptor d = PlainTexture(1, 1, 1);
  d.layers = 6;
  d.row_bytes = d.slice_bytes = 4;
  d.flags = kNormalized;
  const std::vector<float> faces = {10, 11, 12, 13, 14, 15};
  const std::vector<Coordinates> points = {{2, 1, -1, 0}, {-2, 1, 1, 0},
                                           {0, 3, 1, 0},  {1, -3, 0, 0},
                                           {1, 1, 4, 0},  {0, 0, -1, 0}};
  const std::vector<Result4> got = Sample(
      "tex.cube.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0, %f1, %f2, %f3}];",
      d, BytesOf(faces), points);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(AsFloat(got[i][0]), faces[i]) << i;
  }
}

TEST(TextureExec, MipmapLevels) {
  // Levels of 4, 2 and 1 texels that hold 100, 200 and 300.
  const std::vector<float> texels = {100, 100, 100, 100, 200, 200, 300, 0};
  std::vector<std::uint8_t> bytes = BytesOf(texels);
  const LevelRecord records[3] = {{0, {4, 1, 1}, 0, 16, 16},
                                  {16, {2, 1, 1}, 0, 8, 8},
                                  {24, {1, 1, 1}, 0, 4, 4}};
  Descriptor d = PlainTexture(4, 1, 1);
  d.levels = 3;
  d.level_records = bytes.size();
  d.flags = kNormalized;
  bytes.insert(bytes.end(), reinterpret_cast<const std::uint8_t*>(records),
               reinterpret_cast<const std::uint8_t*>(records + 3));
  const std::vector<Coordinates> points = {
      {0.5f, 0, 0, 0}, {0.5f, 0.25f, 0, 0}, {0.5f, 1.5f, 0, 0},
      {0.5f, 2, 0, 0}, {0.5f, 9, 0, 0},     {0.5f, -3, 0, 0}};
  const char* tex =
      "tex.level.1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0}], %f1;";
  const std::vector<Result4> nearest = Sample(tex, d, bytes, points);
  const float want_nearest[] = {100, 100, 300, 300, 300, 100};
  d.flags |= kMipLinear;
  const std::vector<Result4> linear = Sample(tex, d, bytes, points);
  const float want_linear[] = {100, 125, 250, 300, 300, 100};
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(AsFloat(nearest[i][0]), want_nearest[i]) << i;
    EXPECT_EQ(AsFloat(linear[i][0]), want_linear[i]) << i;
  }
  // Two texels of level 0 a step are level 1.
  const std::vector<Result4> gradient = Sample(
      "mov.f32 %f1, 0f3f000000; mov.f32 %f2, 0f00000000; "
      "tex.grad.1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0}], {%f1}, "
      "{%f2};",
      d, bytes, {{0.5f, 0, 0, 0}});
  EXPECT_NEAR(AsFloat(gradient[0][0]), 200, 1);
}

TEST(TextureExec, GatherAndQuery) {
  const std::vector<float> image = Image(4, 4, 1);
  const Descriptor d = PlainTexture(4, 4, 1);
  const std::vector<Result4> got =
      Sample("tld4.r.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0, %f1}];", d,
             BytesOf(image), {{1.75f, 2.25f, 0, 0}});
  // Texels (1,2) (2,2) (2,1) (1,1): counter-clockwise from the lower left.
  EXPECT_EQ(AsFloat(got[0][0]), 22.0f);
  EXPECT_EQ(AsFloat(got[0][1]), 23.0f);
  EXPECT_EQ(AsFloat(got[0][2]), 13.0f);
  EXPECT_EQ(AsFloat(got[0][3]), 12.0f);
  const std::vector<Result4> query = Sample(
      "txq.width.b32 %d0, [%t]; txq.height.b32 %d1, [%t]; "
      "txq.depth.b32 %d2, [%t]; txq.normalized_coords.b32 %d3, [%t];",
      d, BytesOf(image), {{0, 0, 0, 0}});
  EXPECT_EQ(query[0], (Result4{4, 4, 1, 0}));
}

}  // namespace
}  // namespace cerberus::exec
