// tex, tld4 and txq in each of their spellings: geometries, types, depth,
// gradients, samplers of their own.
//
// PTX ISA 9.0, "Texture Instructions".
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/soft_float.h"
#include "tests/exec/spellings.h"
#include "tests/exec/texture_descriptor.h"
#include "tests/exec/texture_exec_test.h"

namespace cerberus::exec {
namespace {

// ---- Every spelling ---------------------------------------------------------

// An image in which thread t finds the value t + 1 at its own coordinates, in
// the geometry and the type that a spelling of tex or tld4 names.
struct Scene {
  Descriptor descriptor = PlainTexture(1, 1, 1);
  std::uint32_t texels;                      // of 32 bits
  std::vector<std::array<float, 4>> points;  // one per thread
  bool integers = false;                     // u32, not f32
};

std::array<float, 4> OnCube(std::uint32_t face, float s, float r) {
  switch (face) {
    case 0: return {1, -r, -s, 0};
    case 1: return {-1, -r, s, 0};
    case 2: return {s, 1, r, 0};
    case 3: return {s, -1, -r, 0};
    case 4: return {s, -r, 1, 0};
    default: return {-s, -r, -1, 0};
  }
}

// Texel t of a 4 x 4 image, in slice t / 16. `shift` moves the coordinates
// into the texel (0.5) or between texels (1).
Scene SceneOf(const LoweredSpelling& s, float shift) {
  const auto has = [&](const char* word) { return s.Has(word); };
  Scene scene;
  scene.integers = has("u32") || s.text.find(".v4.s32") != std::string::npos;
  scene.texels = 64;
  const bool line = has("1d") || has("a1d");
  Descriptor& d = scene.descriptor;
  d = line ? PlainTexture(16, 1, 1) : PlainTexture(4, 4, has("3d") ? 4 : 1);
  const bool cube = has("cube") || has("acube");
  const bool array = has("a1d") || has("a2d");
  if (array) d.layers = 4;
  if (has("cube")) d.layers = 6;
  if (has("acube")) d.layers = 12;
  if (has("2dms") || has("a2dms")) {
    d.layers = 4;
    d.samples = has("a2dms") ? 2 : 4;
  }
  if (cube) scene.texels = d.layers * 16;
  if (scene.integers) {
    d.format = 3;
    d.flags = kAsInteger;
  }
  const std::size_t last = s.text.rfind('.');
  const bool whole = s.text.substr(last) == ".s32";
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    const std::uint32_t slice = t / 16, half = t / 32;
    const float z = static_cast<float>(slice);
    const float add = whole ? 0 : shift;
    const float x = static_cast<float>(line ? t % 16 : t % 4) + add;
    const std::uint32_t row = t / 4 % 4;
    const float y = static_cast<float>(row) + add;
    std::array<float, 4> p = {};
    if (line) {
      p = array ? std::array<float, 4>{z, x, 0, 0}
                : std::array<float, 4>{x, 0, 0, 0};
    } else if (has("3d")) {
      p = {x, y, z + add, 0};
    } else if (has("2dms")) {
      p = {z, x, y, 0};
    } else if (has("a2dms")) {
      p = {static_cast<float>(slice % 2), static_cast<float>(half), x, y};
    } else if (cube) {
      // Slices 0 to 3 are faces 0 to 3 of the first cube; with layers, the
      // last thread's 16 texels are those of face 1 of the second.
      const bool second = has("acube") && t >= 48;
      const std::uint32_t face = second ? 1 : t / 16;
      p = OnCube(face, x / 2 - 1, y / 2 - 1);
      if (has("acube")) p = {second ? 1.0f : 0.0f, p[0], p[1], p[2]};
    } else if (array) {
      p = {z, x, y, 0};
    } else {
      p = {x, y, 0, 0};
    }
    scene.points.push_back(p);
  }
  return scene;
}

// The texel that thread t addresses.
std::uint32_t TexelOf(const LoweredSpelling& s, std::uint32_t t) {
  if (s.Has("1d")) return t % 16;
  if (s.Has("2d")) return t % 16;
  if (s.Has("acube") && t >= 48) return (6 + 1) * 16 + t % 16;
  return t;
}

bool LayerFirst(const LoweredSpelling& s) {
  return s.Has("a1d") || s.Has("a2d") || s.Has("acube");
}

// "{%f0, %f1}", as many and as typed as the geometry asks for.
std::string CoordinatesOf(const LoweredSpelling& s, bool whole) {
  if (s.Has("2dms") || s.Has("a2dms")) return "{%r0, %r1, %r2, %r3}";
  const std::string c = whole ? "%r" : "%f";
  const std::string first = LayerFirst(s) ? "%r0" : c + "0";
  if (s.Has("1d")) return "{" + first + "}";
  if (s.Has("2d") || s.Has("a1d")) return "{" + first + ", " + c + "1}";
  return "{" + first + ", " + c + "1, " + c + "2, " + c + "3}";
}

std::string SceneKernel(const std::string& name, const std::string& body) {
  std::string text =
      ".visible .entry " + name +
      "(.param .u64 tex, .param .u64 in, .param .u64 out)\n"
      "{\n  .reg .b64 %t, %in, %out;\n  .reg .b32 %thread, %d<4>, %r<8>;\n"
      "  .reg .f32 %f<8>, %zero;\n  .reg .pred %p;\n  .reg .b16 %h<4>;\n"
      "  mov.f32 %zero, 0f00000000;\n"
      "  ld.param.u64 %t, [tex];\n  ld.param.u64 %in, [in];\n"
      "  ld.param.u64 %out, [out];\n  mov.u32 %thread, %tid.x;\n"
      "  mad.wide.u32 %in, %thread, 16, %in;\n"
      "  mad.wide.u32 %out, %thread, 16, %out;\n"
      "  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%in];\n";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    text += "  cvt.rzi.s32.f32 %r" + n + ", %f" + n + ";\n  mov.b32 %d" + n +
            ", 0;\n";
  }
  return text + body +
         "\n  st.global.v4.b32 [%out], {%d0, %d1, %d2, %d3};\n  ret;\n}\n";
}

using SceneCheck = std::function<void(std::uint32_t thread, const Result4&)>;

KernelBatch::Run RunScene(const Scene& scene, const SceneCheck& check) {
  return [scene, check](PtxModule& module, const std::string& kernel) {
    emulator::Device& device = module.device();
    Buffer memory(device, 4 * scene.texels);
    Buffer descriptor(device, sizeof(Descriptor));
    Buffer in(device, 16 * kThreads), out(device, 16 * kThreads);
    for (std::uint32_t i = 0; i < scene.texels; ++i) {
      if (scene.integers) {
        memory.as<std::uint32_t>()[i] = i + 1;
      } else {
        memory.as<float>()[i] = static_cast<float>(i + 1);
      }
    }
    Descriptor d = scene.descriptor;
    d.base = memory.address();
    *descriptor.as<Descriptor>() = d;
    std::copy(scene.points.begin(), scene.points.end(),
              in.as<std::array<float, 4>>());
    Launch launch;
    launch.block = {kThreads, 1, 1};
    launch.params = {descriptor.address(), in.address(), out.address()};
    const Status status = module.Run(kernel, launch);
    ASSERT_TRUE(status) << status.error().ToString();
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      check(t, out.as<Result4>()[t]);
    }
  };
}

constexpr char kSceneHeader[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n";

TEST(TextureExec, TexInEverySpelling) {
  KernelBatch batch{kSceneHeader};
  int kernels = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("tex")) {
    ++kernels;
    const bool whole = s.text.substr(s.text.rfind('.')) == ".s32";
    const bool halves = s.text.find(".v4.f16") != std::string::npos;
    const bool packed = s.Has("f16x2");
    std::string operands = "[%t, " + CoordinatesOf(s, whole) + "]";
    if (s.Has("level")) operands += whole ? ", 0" : ", %zero";
    if (s.Has("grad")) {
      const std::string none = s.Has("1d") || s.Has("a1d") ? "{%zero}"
                               : s.Has("2d") || s.Has("a2d")
                                   ? "{%zero, %zero}"
                                   : "{%zero, %zero, %zero, %zero}";
      operands += ", " + none + ", " + none;
    }
    const std::string d = packed   ? "{%d0, %d1}"
                          : halves ? "{%h0, %h1, %h2, %h3}"
                                   : "{%d0, %d1, %d2, %d3}";
    std::string body = "  " + s.text + " " + d + ", " + operands + ";\n";
    if (halves) {
      body += "  mov.b32 %d0, {%h0, %h1};\n  mov.b32 %d1, {%h2, %h3};\n";
    }
    const Scene scene = SceneOf(s, 0.5f);
    const bool integers = scene.integers;
    batch.Add(
        s.text, SceneKernel(batch.NextName(), body),
        RunScene(scene, [=](std::uint32_t t, const Result4& got) {
          const float want = static_cast<float>(TexelOf(s, t) + 1);
          if (packed || halves) {
            const std::uint64_t half =
                RoundTo(kF16, Round::kNearestEven, Mp(kF32, BitsOfFloat(want)));
            ASSERT_EQ(got[0], half) << t;
            ASSERT_EQ(got[1], 0x3c000000u) << t;
          } else {
            ASSERT_EQ(got[0], integers ? TexelOf(s, t) + 1 : BitsOfFloat(want))
                << t;
            ASSERT_EQ(got[1], 0u) << t;
            ASSERT_EQ(got[3], integers ? 1u : 0x3f800000u) << t;
          }
        }));
  }
  EXPECT_GT(kernels, 100);
}

TEST(TextureExec, GathersInEverySpelling) {
  KernelBatch batch{kSceneHeader};
  for (const LoweredSpelling& s : LoweredSpellingsOf("tld4")) {
    const std::string body = "  " + s.text + " {%d0, %d1, %d2, %d3}, [%t, " +
                             CoordinatesOf(s, false) + "];\n";
    const Scene scene = SceneOf(s, 1);
    const bool integers = scene.integers;
    const bool red = s.Has("r");
    const bool alpha = s.Has("a");
    batch.Add(
        s.text, SceneKernel(batch.NextName(), body),
        RunScene(scene, [=](std::uint32_t t, const Result4& got) {
          if (t % 4 == 3 || t / 4 % 4 == 3) return;  // over the edge
          const std::uint32_t first = TexelOf(s, t) + 1;
          const std::uint32_t values[] = {first + 4, first + 5, first + 1,
                                          first};
          for (std::size_t i = 0; i < 4; ++i) {
            const std::uint32_t v = red ? values[i] : alpha ? 1 : 0;
            ASSERT_EQ(got[i], integers ? v : BitsOfFloat(static_cast<float>(v)))
                << t;
          }
        }));
  }
}

// f: 1 where the value is at most the texel's, and the filter works on that.
TEST(TextureExec, DepthIsCompared) {
  const std::vector<float> image = Image(4, 4, 1);
  Descriptor d = PlainTexture(4, 4, 1);
  const std::vector<Coordinates> points = {
      {0.5f, 0.5f, 1, 0}, {1.5f, 0.5f, 3, 0}, {1, 0.5f, 1.5f, 0}};
  const char* tex =
      "tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0, %f1}], %f2;";
  std::vector<Result4> got = Sample(tex, d, BytesOf(image), points);
  EXPECT_EQ(AsFloat(got[0][0]), 1.0f);
  EXPECT_EQ(AsFloat(got[1][0]), 0.0f);
  d.flags = kLinear;
  got = Sample(tex, d, BytesOf(image), points);
  EXPECT_EQ(AsFloat(got[2][0]), 0.5f);
  got = Sample(
      "mov.u32 %r3, 1; tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, "
      "[%t, {%f0, %f1}], {%r3, 0}, %f2;",
      d, BytesOf(image), points);
  EXPECT_EQ(AsFloat(got[1][0]), 1.0f);
  got = Sample(
      "tld4.r.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, {%f0, %f1}], "
      "%f2;",
      d, BytesOf(image), {{1, 1, 5, 0}, {1, 1, 11.5f, 0}});
  EXPECT_EQ(got[0], (Result4{0x3f800000, 0x3f800000, 0, 0}));
  EXPECT_EQ(got[1], (Result4{0, 0x3f800000, 0, 0}));
}

// A sampler of its own decides about everything but the texels.
TEST(TextureExec, IndependentSampler) {
  const std::vector<float> image = Image(4, 1, 1);
  Descriptor d = PlainTexture(4, 1, 1);
  d.flags = kNormalized;
  d.addressing[0] = kWrap;
  // The sampler lies behind the texels: not normalised, border of 77.
  Descriptor sampler = PlainTexture(1, 1, 1);
  sampler.addressing[0] = kBorder;
  sampler.border[0] = 77;
  std::vector<std::uint8_t> bytes = BytesOf(image);
  const auto* raw = reinterpret_cast<const std::uint8_t*>(&sampler);
  bytes.insert(bytes.end(), raw, raw + sizeof sampler);
  const std::vector<Result4> got = Sample(
      "{ .reg .b64 %s; ld.global.u64 %s, [%t]; add.u64 %s, %s, 16; "
      "tex.1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%t, %s, {%f0}]; }",
      d, bytes, {{2.5f, 0, 0, 0}, {9, 0, 0, 0}});
  EXPECT_EQ(AsFloat(got[0][0]), 3.0f);
  EXPECT_EQ(AsFloat(got[1][0]), 77.0f);
}

// A sampler described in PTX. PTX ISA 9.0, 5.3: whether coordinates are
// normalised says the texture, unless the sampler forces that they are not.
TEST(TextureExec, SamplerWithInitialiser) {
  const std::vector<float> image = Image(4, 1, 1);
  const auto sample = [&](std::uint32_t flags, const char* state, float at) {
    Descriptor d = PlainTexture(4, 1, 1);
    d.flags = flags;
    d.addressing[0] = kBorder;
    return AsFloat(Sample("{ .global .samplerref smp = {" + std::string(state) +
                              "}; tex.1d.v4.f32.f32 {%d0, %d1, %d2, %d3}, "
                              "[%t, smp, {%f0}]; }",
                          d, BytesOf(image), {{at, 0, 0, 0}})[0][0]);
  };
  // Texels 1, 2, 3, 4. The texture's own border and filter do not count.
  EXPECT_EQ(sample(kNormalized, "addr_mode_0 = wrap", 1.375f), 2.0f);
  EXPECT_EQ(sample(kNormalized, "addr_mode_0 = mirror", 1.125f), 4.0f);
  EXPECT_EQ(sample(kNormalized, "addr_mode_0 = clamp_to_edge", 9.0f), 4.0f);
  EXPECT_EQ(sample(0, "addr_mode_0 = clamp_to_border", 9.0f), 0.0f);
  EXPECT_EQ(
      sample(0, "filter_mode = linear, addr_mode_0 = clamp_to_edge", 2.0f),
      2.5f);
  EXPECT_EQ(sample(kLinear, "filter_mode = nearest", 1.9f), 2.0f);
  EXPECT_EQ(sample(kNormalized, "force_unnormalized_coords = 1", 2.5f), 3.0f);
}

// A cube's gradient is one of the direction.
TEST(TextureExec, CubeGradientsPickLevels) {
  std::vector<float> texels(6 * 16, 1.0f);   // 4 x 4
  texels.insert(texels.end(), 6 * 4, 2.0f);  // 2 x 2
  texels.insert(texels.end(), 6, 3.0f);      // 1 x 1
  std::vector<std::uint8_t> bytes = BytesOf(texels);
  const LevelRecord records[3] = {{0, {4, 4, 1}, 0, 16, 64},
                                  {6 * 64, {2, 2, 1}, 0, 8, 16},
                                  {6 * 80, {1, 1, 1}, 0, 4, 4}};
  Descriptor d = PlainTexture(4, 4, 1);
  d.layers = 6;
  d.levels = 3;
  d.flags = kNormalized;
  d.level_records = bytes.size();
  bytes.insert(bytes.end(), reinterpret_cast<const std::uint8_t*>(records),
               reinterpret_cast<const std::uint8_t*>(records + 3));
  // At (2, 0.2, 0.2) a face is 4 wide: 1 is a texel, 2 are two, 4 are four.
  for (const auto& [step, want] :
       {std::pair<const char*, float>{"0f3F800000", 1},
        {"0f40000000", 2},
        {"0f40800000", 3}}) {
    const std::vector<Result4> got =
        Sample("{ .reg .f32 %g, %n; mov.f32 %g, " + std::string(step) +
                   "; mov.f32 %n, 0f00000000; tex.grad.cube.v4.f32.f32 "
                   "{%d0, %d1, %d2, %d3}, [%t, {%f0, %f1, %f2, %f3}], "
                   "{%n, %g, %n, %n}, {%n, %n, %n, %n}; }",
               d, bytes, {{2, 0.2f, 0.2f, 0}});
    EXPECT_EQ(AsFloat(got[0][0]), want) << step;
  }
}

TEST(TextureExec, Queries) {
  Descriptor d = PlainTexture(8, 4, 2);
  d.layers = 3;
  d.levels = 2;
  d.samples = 4;
  d.format = 8;
  d.channels = 2;
  d.flags = kNormalized | kLinear;
  d.addressing[0] = kWrap;
  d.addressing[1] = kMirror;
  d.addressing[2] = kBorder;
  d.levels = 1;
  struct Row {
    const char* attribute;
    std::uint32_t want;
  };
  const Row rows[] = {
      {"width", 8},
      {"height", 4},
      {"depth", 2},
      {"array_size", 3},
      {"num_mipmap_levels", 1},
      {"num_samples", 4},
      {"normalized_coords", 1},
      {"force_unnormalized_coords", 0},
      {"channel_data_type", 0x10d0},
      {"channel_order", 0x10b2},
      {"filter_mode", 1},
      {"addr_mode_0", 0},
      {"addr_mode_1", 1},
      {"addr_mode_2", 4},
      {"level.width", 4},
      {"level.height", 2},
      {"level.depth", 1},
  };
  std::size_t queries = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("txq")) {
    const Row* row = nullptr;
    for (const Row& r : rows) {
      if (s.text == "txq." + std::string(r.attribute) + ".b32") row = &r;
    }
    ASSERT_NE(row, nullptr) << s.text;
    ++queries;
    const std::vector<Result4> got =
        Sample(s.text + " %d0, [%t]" + (s.Has("level") ? ", 1" : "") + ";", d,
               std::vector<std::uint8_t>(64), {{0, 0, 0, 0}});
    EXPECT_EQ(got[0][0], row->want) << s.text;
  }
  EXPECT_EQ(queries, std::size(rows));
}

}  // namespace
}  // namespace cerberus::exec
