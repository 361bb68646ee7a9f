// suld, sust, sured and suq, by handle and by reference, and istypep.
//
// PTX ISA 9.0, "Surface Instructions".
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/exec/atomic_reference.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"
#include "tests/exec/texture_descriptor.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kThreads = 64;
constexpr char kHeader[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

// k(surf, out): %r0…%r3 are the thread's coordinates, %v0…%v3 registers of
// the spelling's type; %out points at 16 bytes.
std::string Kernel(const std::string& name, const std::string& type,
                   const std::string& body) {
  return ".visible .entry " + name +
         "(.param .u64 surf, .param .u64 out)\n{\n"
         "  .reg .b64 %s, %out;\n  .reg .b32 %thread, %r<8>, %x<4>;\n"
         "  .reg ." +
         type +
         " %v<4>;\n  .reg .pred %p;\n"
         "  ld.param.u64 %s, [surf];\n  ld.param.u64 %out, [out];\n"
         "  mov.u32 %thread, %tid.x;\n"
         "  mad.wide.u32 %out, %thread, 16, %out;\n" +
         body + "  ret;\n}\n";
}

// The geometry of a spelling. Rows hold 8 units (16 without rows), and thread
// t's unit is number t of all, through rows and slices.
struct Shape {
  Descriptor descriptor = PlainTexture(1, 1, 1);
  std::string setup;        // makes %r0…%r3 of %thread
  std::string coordinates;  // "{%r0, %r1}"
};
Shape ShapeOf(const LoweredSpelling& s, int unit, bool samples) {
  Shape shape;
  Descriptor& d = shape.descriptor;
  const std::string scale =
      samples ? "1" : std::to_string(unit);  // x counts bytes or samples
  const auto extent = [&](std::uint32_t w, std::uint32_t h, std::uint32_t z) {
    // Elements of one byte, so that an access of any size fits.
    d.extent[0] = samples ? w : w * static_cast<std::uint32_t>(unit);
    d.extent[1] = h;
    d.extent[2] = z;
    d.row_bytes = static_cast<std::uint64_t>(w) * unit;
    d.slice_bytes = d.row_bytes * h;
  };
  d.format = 1;
  const auto x = [&](const std::string& reg, int per_row) {
    return "  and.b32 " + reg + ", %thread, " + std::to_string(per_row - 1) +
           ";\n  mul.lo.u32 " + reg + ", " + reg + ", " + scale + ";\n";
  };
  if (s.Has("1d")) {
    extent(64, 1, 1);
    shape.setup = x("%r0", 64);
    shape.coordinates = "{%r0}";
  } else if (s.Has("2d")) {
    extent(8, 8, 1);
    shape.setup = x("%r0", 8) + "  shr.u32 %r1, %thread, 3;\n";
    shape.coordinates = "{%r0, %r1}";
  } else if (s.Has("3d")) {
    extent(8, 4, 2);
    shape.setup = x("%r0", 8) +
                  "  shr.u32 %r1, %thread, 3;\n  and.b32 %r1, %r1, 3;\n"
                  "  shr.u32 %r2, %thread, 5;\n  mov.u32 %r3, -1;\n";
    shape.coordinates = "{%r0, %r1, %r2, %r3}";
  } else if (s.Has("a1d")) {
    extent(16, 1, 1);
    d.layers = 4;
    shape.setup = x("%r1", 16) + "  shr.u32 %r0, %thread, 4;\n";
    shape.coordinates = "{%r0, %r1}";
  } else {
    extent(8, 4, 1);
    d.layers = 2;
    shape.setup = x("%r1", 8) +
                  "  shr.u32 %r2, %thread, 3;\n  and.b32 %r2, %r2, 3;\n"
                  "  shr.u32 %r0, %thread, 5;\n  mov.u32 %r3, -1;\n";
    shape.coordinates = "{%r0, %r1, %r2, %r3}";
  }
  return shape;
}

// Runs with a surface of `bytes` and checks its memory and the output.
using Check =
    std::function<void(const std::vector<std::uint8_t>& before,
                       const std::uint8_t* surface, const std::uint8_t* out)>;
KernelBatch::Run RunOn(Descriptor d, std::size_t bytes, Check check,
                       std::uint8_t first = 1) {
  return [=](PtxModule& module, const std::string& kernel) {
    Buffer memory(module.device(), bytes);
    Buffer descriptor(module.device(), sizeof d);
    Buffer out(module.device(), 16 * kThreads);
    std::vector<std::uint8_t> before(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      before[i] = static_cast<std::uint8_t>(first + i * 7 + i / 256);
    }
    std::copy(before.begin(), before.end(), memory.as<std::uint8_t>());
    std::memset(out.as<std::uint8_t>(), 0xee, 16 * kThreads);
    *descriptor.as<Descriptor>() = d;
    descriptor.as<Descriptor>()->base = memory.address();
    Launch launch;
    launch.block = {kThreads, 1, 1};
    launch.params = {descriptor.address(), out.address()};
    const Status status = module.Run(kernel, launch);
    ASSERT_TRUE(status) << status.error().ToString();
    check(before, memory.as<std::uint8_t>(), out.as<std::uint8_t>());
  };
}

struct Access {
  int bits;
  int width;
  int bytes() const { return bits / 8 * width; }
  std::string type() const {
    return bits <= 16 ? "b16" : "b" + std::to_string(bits);
  }
  std::string registers() const {
    std::string text;
    for (int i = 0; i < width; ++i) {
      text += (i == 0 ? "%v" : ", %v") + std::to_string(i);
    }
    return width == 1 ? text : "{" + text + "}";
  }
};
Access AccessOf(const LoweredSpelling& s) {
  const Spelling parts(s.text);
  return {parts.type().bits, s.Has("v4") ? 4 : s.Has("v2") ? 2 : 1};
}

// Element by element between the registers and the thread's output.
std::string StoreOut(const Access& a) {
  std::string text;
  for (int i = 0; i < a.width; ++i) {
    text += "  st.global.b" + std::to_string(a.bits) + " [%out+" +
            std::to_string(i * a.bits / 8) + "], %v" + std::to_string(i) +
            ";\n";
  }
  return text;
}

TEST(SurfaceExec, SuldLoadsBytes) {
  KernelBatch batch{kHeader};
  int kernels = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("suld")) {
    ++kernels;
    const Access a = AccessOf(s);
    const Shape shape = ShapeOf(s, a.bytes(), false);
    batch.Add(
        s.text,
        Kernel(batch.NextName(), a.type(),
               shape.setup + "  " + s.text + " " + a.registers() + ", [%s, " +
                   shape.coordinates + "];\n" + StoreOut(a)),
        RunOn(shape.descriptor, static_cast<std::size_t>(a.bytes()) * kThreads,
              [a](const auto& before, const auto*, const auto* out) {
                const auto n = static_cast<std::size_t>(a.bytes());
                for (std::size_t t = 0; t < kThreads; ++t) {
                  ASSERT_EQ(std::memcmp(out + 16 * t, before.data() + n * t, n),
                            0)
                      << t;
                }
              }));
  }
  EXPECT_GT(kernels, 0);
}

TEST(SurfaceExec, SustStoresBytes) {
  KernelBatch batch{kHeader};
  int kernels = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("sust")) {
    if (s.Has("p")) continue;
    ++kernels;
    const Access a = AccessOf(s);
    const Shape shape = ShapeOf(s, a.bytes(), false);
    // Element i of thread t is 5 t + i, negated to reach all its bytes.
    std::string values = "  mul.lo.u32 %x0, %thread, 5;\n";
    for (int i = 0; i < a.width; ++i) {
      const std::string v = "%v" + std::to_string(i);
      values += "  add.u32 %x1, %x0, " + std::to_string(i) +
                ";\n  not.b32 %x1, %x1;\n  cvt.s" +
                std::to_string(a.bits <= 16 ? 16 : a.bits) + ".s32 " + v +
                ", %x1;\n";
    }
    batch.Add(
        s.text,
        Kernel(batch.NextName(), a.type(),
               shape.setup + values + "  " + s.text + " [%s, " +
                   shape.coordinates + "], " + a.registers() + ";\n"),
        RunOn(shape.descriptor, static_cast<std::size_t>(a.bytes()) * kThreads,
              [a](const auto&, const auto* surface, const auto*) {
                const auto n = static_cast<std::size_t>(a.bits) / 8;
                for (int t = 0; t < static_cast<int>(kThreads); ++t) {
                  for (int i = 0; i < a.width; ++i) {
                    const std::int64_t v = ~(std::int64_t{t} * 5 + i);
                    ASSERT_EQ(
                        std::memcmp(surface + n * static_cast<std::size_t>(
                                                      t * a.width + i),
                                    &v, n),
                        0)
                        << t;
                  }
                }
              }));
  }
  EXPECT_GT(kernels, 0);
}

// Accesses in many places stay calls. Each moves the thread's byte on by one
// place, in one of two branches.
TEST(SurfaceExec, AccessesInManyPlaces) {
  Descriptor d = PlainTexture(1, 1, 1);
  d.format = 1;
  d.extent[0] = 1024;
  d.extent[1] = d.extent[2] = 1;
  d.row_bytes = d.slice_bytes = 1024;
  std::string body =
      "  and.b32 %x0, %thread, 1;\n  setp.ne.u32 %p, %x0, 0;\n"
      "  mov.u32 %r0, %thread;\n";
  constexpr int kMoves = 12;
  for (int i = 0; i < kMoves; ++i) {
    const std::string n = std::to_string(i);
    body += "  @%p bra ODD" + n + ";\n" +
            "  suld.b.1d.b8.trap %v0, [%s, {%r0}];\n  add.u32 %r0, %r0, 64;\n"
            "  sust.b.1d.b8.trap [%s, {%r0}], %v0;\n  bra DONE" +
            n + ";\nODD" + n +
            ":\n  suld.b.1d.b8.trap %v1, [%s, {%r0}];\n"
            "  add.u32 %r0, %r0, 64;\n  add.u16 %v1, %v1, 1;\n"
            "  sust.b.1d.b8.trap [%s, {%r0}], %v1;\nDONE" +
            n + ":\n";
  }
  KernelBatch batch{kHeader};
  batch.Add(
      "many", Kernel(batch.NextName(), "b16", body),
      RunOn(d, 1024, [](const auto& before, const auto* surface, const auto*) {
        for (std::size_t t = 0; t < kThreads; ++t) {
          for (std::size_t i = 0; i <= kMoves; ++i) {
            EXPECT_EQ(surface[64 * i + t],
                      static_cast<std::uint8_t>(before[t] + t % 2 * i))
                << t << " " << i;
          }
        }
      }));
}

// Outside: .zero reads zeros and stores nothing, .clamp means the nearest
// place, .trap ends the kernel.
TEST(SurfaceExec, AccessesOutside) {
  Descriptor d = PlainTexture(4, 2, 1);
  const std::string store = "  st.global.b32 [%out], %v0;\n";
  const std::string at =
      "  sub.s32 %r0, %thread, 32;\n  shl.b32 %r0, %r0, 2;\n"
      "  mov.u32 %r1, 1;\n";
  KernelBatch batch{kHeader};
  const auto word = [](const std::vector<std::uint8_t>& bytes, int i) {
    std::uint32_t v;
    std::memcpy(&v, bytes.data() + 4 * i, 4);
    return v;
  };
  for (const bool clamp : {false, true}) {
    batch.Add(
        "suld",
        Kernel(batch.NextName(), "b32",
               at + "  suld.b.2d.b32." + (clamp ? "clamp" : "zero") +
                   " %v0, [%s, {%r0, %r1}];\n" + store),
        RunOn(d, 32, [=](const auto& before, const auto*, const auto* out) {
          for (int t = 0; t < 64; ++t) {
            const int x = t - 32;
            std::uint32_t got;
            std::memcpy(&got, out + 16 * t, 4);
            const bool inside = x >= 0 && x < 4;
            const std::uint32_t want =
                clamp || inside ? word(before, 4 + std::min(std::max(x, 0), 3))
                                : 0;
            ASSERT_EQ(got, want) << x;
          }
        }));
  }
  // y and z outside, and a layer that is not there.
  batch.Add("suld",
            Kernel(batch.NextName(), "b32",
                   "  mov.u32 %r0, 0;\n  sub.s32 %r1, %thread, 8;\n"
                   "  suld.b.2d.b32.zero %v0, [%s, {%r0, %r1}];\n" +
                       store),
            RunOn(d, 32, [=](const auto& before, const auto*, const auto* out) {
              for (int t = 0; t < 64; ++t) {
                std::uint32_t got;
                std::memcpy(&got, out + 16 * t, 4);
                const int y = t - 8;
                ASSERT_EQ(got, y == 0 || y == 1 ? word(before, 4 * y) : 0u);
              }
            }));
  batch.Add(
      "sust",
      Kernel(batch.NextName(), "b32",
             at + "  mov.u32 %v0, 7;\n"
                  "  sust.b.2d.b32.zero [%s, {%r0, %r1}], "
                  "%v0;\n"),
      RunOn(d, 32, [=](const auto& before, const auto* surface, const auto*) {
        EXPECT_EQ(std::memcmp(surface, before.data(), 16), 0);
        for (int x = 0; x < 4; ++x) {
          EXPECT_EQ(surface[16 + 4 * x], 7);
        }
      }));
  batch.Add("trap",
            Kernel(batch.NextName(), "b32",
                   "  st.global.b32 [%out], %thread;\n" + at +
                       "  suld.b.2d.b32.trap %v0, [%s, {%r0, "
                       "%r1}];\n" +
                       store),
            RunOn(d, 32, [=](const auto&, const auto*, const auto* out) {
              // A warp whose threads are all outside stores nothing more.
              for (std::uint32_t t = 0; t < 32; ++t) {
                std::uint32_t got;
                std::memcpy(&got, out + 16 * t, 4);
                ASSERT_EQ(got, t);
              }
            }));
}

// sust.p converts to the surface's format.
TEST(SurfaceExec, SustFormats) {
  struct Row {
    const char* what;
    std::uint32_t format;
    std::uint32_t channels;
    std::vector<std::uint32_t> in;   // 32-bit words as stored
    std::vector<std::uint8_t> want;  // one sample
  };
  const Row rows[] = {
      {"u8", 1, 4, {1, 255, 256, 7}, {1, 255, 255, 7}},
      {"u16", 2, 2, {0x1234, 0x12345}, {0x34, 0x12, 0xff, 0xff}},
      {"u32", 3, 1, {0x12345678}, {0x78, 0x56, 0x34, 0x12}},
      {"s8",
       8,
       4,
       {~0u, 127, 128, static_cast<std::uint32_t>(-1000)},
       {0xff, 0x7f, 0x7f, 0x80}},
      {"s16", 9, 1, {static_cast<std::uint32_t>(-40000)}, {0x00, 0x80}},
      {"s32", 10, 2, {~0u, 5}, {255, 255, 255, 255, 5, 0, 0, 0}},
      {"half", 16, 2, {0x3f800000, 0xc0000000}, {0, 0x3c, 0, 0xc0}},
      {"float", 32, 1, {0x3f800000}, {0, 0, 0x80, 0x3f}},
  };
  KernelBatch batch{kHeader};
  int kernels = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("sust")) {
    if (!s.Has("p")) continue;
    for (const Row& row : rows) {
      const Access a = AccessOf(s);
      if (static_cast<std::size_t>(a.width) < row.in.size()) continue;
      // All geometries with one format, all formats with one geometry.
      if (!s.Has("2d") && row.format != 3) continue;
      ++kernels;
      const int unit = static_cast<int>(row.want.size());
      Shape shape = ShapeOf(s, unit, true);
      shape.descriptor.format = row.format;
      shape.descriptor.channels = row.channels;
      std::string values;
      for (int i = 0; i < a.width; ++i) {
        const auto n = static_cast<std::size_t>(i);
        values += "  mov.b32 %v" + std::to_string(i) + ", " +
                  std::to_string(n < row.in.size() ? row.in[n] : 99u) + ";\n";
      }
      const std::vector<std::uint8_t> want = row.want;
      batch.Add(s.text + " on " + row.what,
                Kernel(batch.NextName(), "b32",
                       shape.setup + values + "  " + s.text + " [%s, " +
                           shape.coordinates + "], " + a.registers() + ";\n"),
                RunOn(shape.descriptor, want.size() * kThreads,
                      [want](const auto&, const auto* surface, const auto*) {
                        for (std::size_t t = 0; t < kThreads; ++t) {
                          ASSERT_EQ(std::memcmp(surface + want.size() * t,
                                                want.data(), want.size()),
                                    0)
                              << t;
                        }
                      }));
    }
  }
  EXPECT_GT(kernels, 0);
}

TEST(SurfaceExec, SuredReduces) {
  KernelBatch batch{kHeader};
  int kernels = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("sured")) {
    const Spelling parts(s.text);
    const bool formatted = s.Has("p");
    for (const bool is_signed : {false, true}) {
      if (is_signed && !formatted) continue;
      ++kernels;
      PtxType t = parts.type();
      const int bytes = t.bits / 8;
      Shape shape = ShapeOf(s, bytes, formatted);
      if (formatted) {
        // A sample of 64 bits has two channels of 32.
        shape.descriptor.format = is_signed ? 10 : 3;
        shape.descriptor.channels = static_cast<std::uint32_t>(bytes) / 4;
        t = *FindType((is_signed ? "s" : "u") + std::to_string(t.bits));
      }
      const std::string type = "b" + std::to_string(t.bits);
      const std::string value =
          t.bits == 64 ? "  cvt.u64.u32 %v0, %thread;\n"
                         "  mul.lo.u64 %v0, %v0, 0x0F35712345678901;\n"
                       : "  mul.lo.u32 %v0, %thread, 0x3F357121;\n";
      batch.Add(
          s.text,
          Kernel(batch.NextName(), type,
                 shape.setup + value + "  " + s.text + " [%s, " +
                     shape.coordinates + "], %v0;\n"),
          RunOn(shape.descriptor, static_cast<std::size_t>(bytes) * kThreads,
                [=](const auto& before, const auto* surface, const auto*) {
                  const auto n = static_cast<std::size_t>(bytes);
                  const Spelling spelling(s.text);
                  for (std::size_t thread = 0; thread < kThreads; ++thread) {
                    Value old = 0, got = 0;
                    std::memcpy(&old, before.data() + n * thread, n);
                    std::memcpy(&got, surface + n * thread, n);
                    const Value b =
                        t.bits == 64
                            ? static_cast<Value>(thread * 0x0F35712345678901ull)
                            : static_cast<Value>(static_cast<std::uint32_t>(
                                  thread * 0x3F357121u));
                    ASSERT_EQ(got,
                              ApplyAtomic(OperationOf(spelling), t, old, b, 0))
                        << thread;
                  }
                }));
    }
  }
  EXPECT_GT(kernels, 0);
}

TEST(SurfaceExec, Queries) {
  Descriptor d = PlainTexture(8, 4, 2);
  d.layers = 3;
  d.format = 9;
  d.flags = kAsInteger;
  d.channels = 4;
  struct Row {
    const char* attribute;
    std::uint32_t want;
  };
  const Row rows[] = {{"width", 8},
                      {"height", 4},
                      {"depth", 2},
                      {"array_size", 3},
                      {"channel_data_type", 0x10d8},
                      {"channel_order", 0x10b5},
                      {"memory_layout", 1}};
  KernelBatch batch{kHeader};
  std::size_t queries = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("suq")) {
    for (const Row& row : rows) {
      if (s.text != "suq." + std::string(row.attribute) + ".b32") continue;
      ++queries;
      const std::uint32_t want = row.want;
      batch.Add(
          s.text,
          Kernel(batch.NextName(), "b32",
                 "  " + s.text + " %v0, [%s];\n  st.global.b32 [%out], %v0;\n"),
          RunOn(d, 16, [want](const auto&, const auto*, const auto* out) {
            std::uint32_t got;
            std::memcpy(&got, out, 4);
            EXPECT_EQ(got, want);
          }));
    }
  }
  EXPECT_EQ(queries, std::size(rows));
  EXPECT_EQ(queries, LoweredSpellingsOf("suq").size());
}

// References: variables of the module that hold a handle.
TEST(SurfaceExec, References) {
  const std::string text =
      std::string(kHeader) +
      ".visible .global .texref image;\n.visible .global .surfref target;\n"
      ".visible .entry k(.param .u64 surf, .param .u64 out)\n{\n"
      "  .reg .b64 %out, %h;\n  .reg .b32 %r<8>;\n  .reg .f32 %f<4>;\n"
      "  .reg .pred %p<4>;\n"
      "  ld.param.u64 %out, [out];\n  mov.u32 %r0, 4;\n  mov.u32 %r1, 1;\n"
      "  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [image, {%r1}];\n"
      "  st.global.f32 [%out], %f0;\n"
      "  sust.b.1d.b32.trap [target, {%r0}], %r0;\n"
      "  mov.u64 %h, image;\n"
      "  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%h, {%r1}];\n"
      "  st.global.f32 [%out+4], %f0;\n"
      "  istypep.texref %p0, %h;\n  istypep.surfref %p1, %h;\n"
      "  istypep.samplerref %p2, %h;\n"
      "  selp.u32 %r2, 1, 0, %p0;\n  selp.u32 %r3, 1, 0, %p1;\n"
      "  selp.u32 %r4, 1, 0, %p2;\n"
      "  st.global.v2.u32 [%out+8], {%r2, %r3};\n"
      "  st.global.u32 [%out+16], %r4;\n  mov.u64 %h, target;\n"
      "  istypep.surfref %p1, %h;\n  selp.u32 %r3, 1, 0, %p1;\n"
      "  st.global.u32 [%out+20], %r3;\n"
      "  txq.width.b32 %r5, [image];\n  st.global.u32 [%out+24], %r5;\n"
      "  suq.width.b32 %r5, [target];\n  st.global.u32 [%out+28], %r5;\n"
      "  ret;\n}\n";
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  emulator::Device& device = (*module)->device();
  Buffer texels(device, 16), bytes(device, 16), out(device, 64);
  Buffer first(device, sizeof(Descriptor)), second(device, sizeof(Descriptor));
  std::iota(texels.as<float>(), texels.as<float>() + 4, 10.0f);
  std::memset(bytes.as<std::uint8_t>(), 0, 16);
  *first.as<Descriptor>() = PlainTexture(4, 1, 1);
  first.as<Descriptor>()->base = texels.address();
  *second.as<Descriptor>() = PlainTexture(3, 1, 1);
  second.as<Descriptor>()->base = bytes.address();
  for (const auto& [name, buffer] :
       {std::pair<const char*, Buffer*>{"image", &first},
        {"target", &second}}) {
    const std::uint64_t handle = buffer->address();
    const std::uint64_t symbol = (*module)->Symbol(name);
    ASSERT_NE(symbol, 0u);
    std::memcpy(reinterpret_cast<void*>(symbol), &handle, 8);
  }
  Launch launch;
  launch.params = {0, out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  const std::uint32_t* got = out.as<std::uint32_t>();
  EXPECT_EQ(out.as<float>()[0], 11.0f);
  EXPECT_EQ(out.as<float>()[1], 11.0f);
  EXPECT_EQ(got[2], 1u);
  EXPECT_EQ(got[3], 0u);
  EXPECT_EQ(got[4], 0u);
  EXPECT_EQ(got[5], 1u);
  EXPECT_EQ(got[6], 4u);
  EXPECT_EQ(got[7], 3u);
  EXPECT_EQ(bytes.as<std::uint32_t>()[1], 4u);
}

}  // namespace
}  // namespace cerberus::exec
