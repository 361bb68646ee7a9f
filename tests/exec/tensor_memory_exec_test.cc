// Tensor memory: what registers and shared memory become in it, and back, in
// every spelling. Products are tensor_product_exec_test.cc's.
//
// PTX ISA 9.0, "TensorCore 5th Generation Family Instructions": "Data Movement
// Shape", "Tensor Memory Allocation", and tcgen05's instructions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/spellings.h"
#include "tests/exec/tensor_kernel.h"

namespace cerberus::exec {
namespace {

std::string Registers(int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) {
    list += (i == 0 ? "%r" : ", %r") + std::to_string(i);
  }
  return list + "}";
}

// ---- Loads and stores -------------------------------------------------------

struct Movement {
  std::string shape;
  int count = 0;  // of the .x suffix
  bool packed = false;
  int registers = 0;
  int split = 0;  // columns to the second half of .16x32bx2
  int first_column = 0;

  explicit Movement(const LoweredSpelling& s) {
    for (const char* name :
         {"16x64b", "32x32b", "16x128b", "16x256b", "16x32bx2"}) {
      if (s.Has(name)) shape = name;
    }
    for (int x = 1; x <= 128; x *= 2) {
      if (s.Has("x" + std::to_string(x))) count = x;
    }
    packed = s.Has("pack::16b") || s.Has("unpack::16b");
    registers = count * (shape == "16x128b" ? 2 : shape == "16x256b" ? 4 : 1);
    split = count * (packed ? 2 : 1);
    if (2 * split + 6 <= kTensorColumns) split += 3;
    if (Columns() + 3 <= kTensorColumns) first_column = 3;
  }
  bool HasSplit() const { return shape == "16x32bx2"; }
  int first_lane() const { return shape == "32x32b" ? 0 : 16; }

  // The 16 bits `half` of a register: lane of the warp's, column, and which
  // half of that word.
  std::array<int, 3> Place(int lane, int reg, int half) const {
    int row = 0, word = 0;  // as if each register were one column
    if (shape == "32x32b") {
      row = lane;
      word = reg;
    } else if (shape == "16x32bx2") {
      row = lane % 16;
      word = reg;
    } else if (shape == "16x64b") {
      row = lane / 4 + lane % 2 * 8;
      word = 2 * reg + lane / 2 % 2;
    } else if (shape == "16x128b") {
      row = lane / 4 + reg % 2 * 8;
      word = reg / 2 * 4 + lane % 4;
    } else {
      row = lane / 4 + reg / 2 % 2 * 8;
      word = reg / 4 * 8 + lane % 4 * 2 + reg % 2;
    }
    const int more = shape == "16x32bx2" ? lane / 16 * split : 0;
    if (packed) return {first_lane() + row, 2 * word + half + more, 0};
    return {first_lane() + row, word + more, half};
  }
  int Columns() const {
    int most = 0;
    for (int lane = 0; lane < 32; ++lane) {
      for (int reg = 0; reg < registers; ++reg) {
        most = std::max(most, Place(lane, reg, 1)[1]);
      }
    }
    return most + 1;
  }
  std::string Address(const std::string& reg) const {
    return "[" + reg + "]" +
           (HasSplit() ? ", " + std::to_string(split) : std::string());
  }
};

std::uint32_t HalfOf(std::uint32_t word, int half) {
  return word >> 16 * half & 0xffff;
}

std::string Declare(int registers) {
  return "  .reg .b32 %r<" + std::to_string(registers) +
         ">;\n  .reg .b32 %from, %red;\n";
}

// The warps' own lanes.
std::string From(const Movement& m) {
  return "  add.u32 %from, %taddr, %lane;\n  add.u32 %from, %from, " +
         std::to_string((m.first_lane() << 16) + m.first_column) + ";\n";
}

std::uint32_t Reduced(const LoweredSpelling& s,
                      const std::vector<std::uint32_t>& words) {
  const bool max = s.Has("max");
  if (s.Has("u32")) {
    return max ? *std::max_element(words.begin(), words.end())
               : *std::min_element(words.begin(), words.end());
  }
  if (s.Has("s32")) {
    std::vector<std::int32_t> values(words.begin(), words.end());
    return static_cast<std::uint32_t>(
        max ? *std::max_element(values.begin(), values.end())
            : *std::min_element(values.begin(), values.end()));
  }
  float best = std::numeric_limits<float>::quiet_NaN();
  for (std::uint32_t word : words) {
    float value = std::bit_cast<float>(word);
    if (s.Has("abs")) value = std::fabs(value);
    if (std::isnan(value)) {
      if (s.Has("NaN")) return 0x7fffffff;
    } else if (std::isnan(best) || (max ? value > best : value < best)) {
      best = value;
    }
  }
  return std::bit_cast<std::uint32_t>(best);
}

void CheckLoad(const LoweredSpelling& s, const TensorKernel& k,
               PtxModule& module, const std::string& kernel,
               std::mt19937_64& random) {
  const Movement m(s);
  std::vector<TensorImage> images = {RandomImage(random)};
  TensorImage before = images[0];
  Words own;
  k.Run(module, kernel, {}, &images, &own);
  if (testing::Test::HasFatalFailure()) return;
  ExpectAlike(images[0], before);
  for (int t = 0; t < kTensorThreads; ++t) {
    Words loaded;
    for (int reg = 0; reg < m.registers; ++reg) {
      std::uint32_t want = 0;
      for (int half = 0; half < 2; ++half) {
        const auto [lane, column, part] = m.Place(t % 32, reg, half);
        want |= HalfOf(At(before, t / 32 * 32 + lane, m.first_column + column),
                       part)
                << 16 * half;
      }
      const int number = t * k.words + reg;
      ASSERT_EQ(own[static_cast<std::size_t>(number)], want)
          << "thread " << t << ", register " << reg;
      loaded.push_back(want);
    }
    if (k.words == m.registers) continue;
    const std::uint32_t want = Reduced(s, loaded);
    const int last = t * k.words + m.registers;
    const std::uint32_t got = own[static_cast<std::size_t>(last)];
    if (s.Has("f32") && std::isnan(std::bit_cast<float>(want))) {
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(got)));
    } else {
      ASSERT_EQ(got, want) << "thread " << t << ", of all";
    }
  }
}

void CheckStore(const LoweredSpelling& s, const TensorKernel& k,
                PtxModule& module, const std::string& kernel,
                std::mt19937_64& random) {
  const Movement m(s);
  std::vector<TensorImage> images = {RandomImage(random)};
  TensorImage want = images[0];
  Words values(static_cast<std::size_t>(k.further));
  for (std::uint32_t& value : values) {
    value = static_cast<std::uint32_t>(random());
  }
  for (int t = 0; t < kTensorThreads; ++t) {
    for (int reg = 0; reg < m.registers; ++reg) {
      for (int half = 0; half < 2; ++half) {
        const auto [lane, column, part] = m.Place(t % 32, reg, half);
        std::uint32_t& word =
            At(want, t / 32 * 32 + lane, m.first_column + column);
        const int number = t * m.registers + reg;
        const std::uint32_t bits =
            HalfOf(values[static_cast<std::size_t>(number)], half);
        word = m.packed ? bits
                        : (word & ~(0xffffu << 16 * part)) | bits << 16 * part;
      }
    }
  }
  Words own;
  k.Run(module, kernel, {values}, &images, &own);
  if (testing::Test::HasFatalFailure()) return;
  ExpectAlike(images[0], want);
}

void RunLoads(const char* opcode) {
  KernelBatch batch{std::string(kTensorHeader)};
  std::mt19937_64 random(51);
  Pairs pairs;
  int done = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
    if (!pairs.IsNew(s)) continue;
    const Movement m(s);
    const bool reduces = s.row->name == "tcgen05.ld.red";
    TensorKernel k;
    k.declarations = Declare(m.registers);
    k.words = m.registers + (reduces ? 1 : 0);
    k.body = From(m) + "  " + s.text + " " + Registers(m.registers) +
             (reduces ? ", %red" : "") + ", " + m.Address("%from") +
             ";\n  tcgen05.wait::ld.sync.aligned;\n";
    for (int i = 0; i < m.registers; ++i) {
      k.body += "  st.global.b32 [%own+" + std::to_string(4 * i) + "], %r" +
                std::to_string(i) + ";\n";
    }
    if (reduces) {
      k.body += "  st.global.b32 [%own+" + std::to_string(4 * m.registers) +
                "], %red;\n";
    }
    batch.Add(s.text, k.Text(batch.NextName()),
              [s, k, &random](PtxModule& module, const std::string& kernel) {
                CheckLoad(s, k, module, kernel, random);
              });
    ++done;
  }
  EXPECT_GT(done, 0);
}

TEST(TensorMemoryExec, Loads) { RunLoads("tcgen05.ld"); }
TEST(TensorMemoryExec, ReducingLoads) { RunLoads("tcgen05.ld.red"); }

TEST(TensorMemoryExec, Stores) {
  KernelBatch batch{std::string(kTensorHeader)};
  std::mt19937_64 random(52);
  Pairs pairs;
  int done = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("tcgen05.st")) {
    if (!pairs.IsNew(s)) continue;
    const Movement m(s);
    TensorKernel k;
    k.declarations = Declare(m.registers);
    k.further = m.registers * kTensorThreads;
    k.body = From(m) + "  mad.wide.u32 %further, %t, " +
             std::to_string(4 * m.registers) + ", %further;\n";
    for (int i = 0; i < m.registers; ++i) {
      k.body += "  ld.global.b32 %r" + std::to_string(i) + ", [%further+" +
                std::to_string(4 * i) + "];\n";
    }
    k.body += "  " + s.text + " " + m.Address("%from") + ", " +
              Registers(m.registers) + ";\n";
    batch.Add(s.text, k.Text(batch.NextName()),
              [s, k, &random](PtxModule& module, const std::string& kernel) {
                CheckStore(s, k, module, kernel, random);
              });
    ++done;
  }
  EXPECT_GT(done, 0);
}

// ---- Copies and shifts ------------------------------------------------------

// Bytes of shared memory, and where a descriptor's 16 bytes of a line are.
constexpr int kSharedBytes = 16384;

// Lines of 16 << swizzle bytes, which exchange their 16 bytes; without, two
// of them lie `leading` apart. `stride` is from eight lines to the next.
struct Source {
  int swizzle = 0, leading = 0, stride = 0;

  int At(int row, int chunk) const {
    int at = row / 8 * stride + row % 8 * (16 << swizzle) +
             (swizzle == 0 ? chunk * leading : chunk * 16);
    at ^= (at >> 7 & ((1 << swizzle) - 1)) << 4;
    return at;
  }
  std::uint64_t Descriptor() const {
    constexpr std::uint64_t kModes[] = {0, 6, 4, 2};
    return static_cast<std::uint64_t>(leading >> 4) << 16 |
           static_cast<std::uint64_t>(stride >> 4) << 32 |
           std::uint64_t{1} << 46 | kModes[swizzle] << 61;
  }
};

Source MakeSource(int swizzle, int rows) {
  Source source;
  source.swizzle = swizzle;
  source.stride = 8 * (16 << swizzle);
  if (swizzle == 0) source.leading = rows / 8 * 128 + 128;
  return source;
}

// The lanes that a row of the shape goes to.
std::vector<int> LanesOf(const LoweredSpelling& s, int row) {
  if (s.Has("4x256b")) return {32 * row};
  if (s.Has("32x128b")) return {row, row + 32, row + 64, row + 96};
  if (s.Has("warpx2::02_13")) return {row, row + 64};
  if (s.Has("warpx2::01_23")) {
    const int first = row / 32 * 64 + row % 32;
    return {first, first + 32};
  }
  return {row};
}

// 16 bytes with 16 elements of 8, 6 or 4 bits, as bytes.
std::array<std::uint8_t, 16> Spread(const std::uint8_t* from, int bits) {
  std::array<std::uint8_t, 16> bytes{};
  if (bits == 8) {
    std::copy_n(from, 16, bytes.begin());
    return bytes;
  }
  for (int i = 0; i < 16; ++i) {
    unsigned code = 0;
    for (int b = 0; b < bits; ++b) {
      const int at = i * bits + b;
      code |= (from[at / 8] >> at % 8 & 1u) << b;
    }
    bytes[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(bits == 4 ? code << 2 : code);
  }
  return bytes;
}

TensorKernel CopyKernel(const LoweredSpelling& s, const Source& source) {
  TensorKernel k;
  k.blocks = s.Has("cta_group::2") ? 2 : 1;
  k.further = kSharedBytes / 4;
  k.declarations =
      "  .shared .align 1024 .b8 source[16384];\n  .reg .b64 %desc;\n"
      "  .reg .b32 %r<4>;\n";
  k.body = R"(  mov.u32 %r0, source;
  mov.u32 %i, %t;
SHARE:
  mad.wide.u32 %at, %i, 4, %further;
  ld.global.b32 %x, [%at];
  shl.b32 %r1, %i, 2;
  add.u32 %r1, %r1, %r0;
  st.shared.b32 [%r1], %x;
  add.u32 %i, %i, 128;
  setp.lt.u32 %p, %i, 4096;
  @%p bra SHARE;
  fence.proxy.async;
)" + Meet(k.blocks) +
           R"(  and.b32 %r1, %r0, 0x3ffff;
  shr.u32 %r1, %r1, 4;
  cvt.u64.u32 %desc, %r1;
  or.b64 %desc, %desc, )" +
           std::to_string(source.Descriptor()) + ";\n  @%first " + s.text +
           " [%taddr+5], %desc;\n" + CommitAndWait(k.blocks);
  return k;
}

TEST(TensorMemoryExec, Copies) {
  KernelBatch batch{std::string(kTensorHeader)};
  std::mt19937_64 random(53);
  Pairs pairs;
  int which = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("tcgen05.cp")) {
    if (!pairs.IsNew(s)) continue;
    const int rows = s.Has("4x256b")    ? 4
                     : s.Has("32x128b") ? 32
                     : s.Has("64x128b") ? 64
                                        : 128;
    const int chunks = s.Has("4x256b") || s.Has("128x256b") ? 2 : 1;
    const Source source = MakeSource(which++ % 4, rows);
    const int bits = s.Has("b6x16_p32") ? 6 : s.Has("b4x16_p64") ? 4 : 8;
    const TensorKernel k = CopyKernel(s, source);
    batch.Add(
        s.text, k.Text(batch.NextName()),
        [s, k, source, rows, chunks, bits, &random](PtxModule& module,
                                                    const std::string& kernel) {
          std::vector<TensorImage> images, want;
          std::vector<Words> shared;
          for (int block = 0; block < k.blocks; ++block) {
            images.push_back(RandomImage(random));
            want.push_back(images.back());
            shared.emplace_back(kSharedBytes / 4);
            for (std::uint32_t& word : shared.back()) {
              word = static_cast<std::uint32_t>(random());
            }
            for (int i = 0; i < rows * chunks; ++i) {
              const int row = i % rows, chunk = i / rows;
              const auto bytes = Spread(
                  reinterpret_cast<const std::uint8_t*>(shared.back().data()) +
                      source.At(row, chunk),
                  bits);
              for (int lane : LanesOf(s, row)) {
                std::memcpy(&At(want.back(), lane, 5 + 4 * chunk), bytes.data(),
                            16);
              }
            }
          }
          Words own;
          k.Run(module, kernel, shared, &images, &own);
          if (testing::Test::HasFatalFailure()) return;
          for (std::size_t i = 0; i < images.size(); ++i) {
            ExpectAlike(images[i], want[i]);
          }
        });
  }
  EXPECT_GT(which, 0);
}

TEST(TensorMemoryExec, Shifts) {
  KernelBatch batch{std::string(kTensorHeader)};
  std::mt19937_64 random(54);
  for (const LoweredSpelling& s : LoweredSpellingsOf("tcgen05.shift")) {
    TensorKernel k;
    k.blocks = s.Has("cta_group::2") ? 2 : 1;
    k.declarations = "  .reg .b32 %from;\n";
    k.body = "  add.u32 %from, %taddr, 0x200010;\n  @%first " + s.text +
             " [%from];\n" + CommitAndWait(k.blocks);
    batch.Add(s.text, k.Text(batch.NextName()),
              [k, &random](PtxModule& module, const std::string& kernel) {
                // The program's shared memory is what it asked for.
                EXPECT_EQ(module.Facts(kernel).program_shared(), 24u);
                EXPECT_EQ(module.Facts(kernel).tensor_memory, 262144u);
                std::vector<TensorImage> images, want;
                for (int block = 0; block < k.blocks; ++block) {
                  images.push_back(RandomImage(random));
                  want.push_back(images.back());
                  for (int lane = 32; lane < 63; ++lane) {
                    for (int column = 16; column < 24; ++column) {
                      At(want.back(), lane, column) =
                          At(images.back(), lane + 1, column);
                    }
                  }
                }
                Words own;
                k.Run(module, kernel, {}, &images, &own);
                if (testing::Test::HasFatalFailure()) return;
                for (std::size_t i = 0; i < images.size(); ++i) {
                  ExpectAlike(images[i], want[i]);
                }
              });
  }
}

// ---- Allocation -------------------------------------------------------------

TEST(TensorMemoryExec, AllocationsShareNoColumn) {
  // Four warps with 32 to 256 columns each, all of them; then the first again.
  const auto module = PtxModule::Compile(std::string(kTensorHeader) + R"(
.visible .entry k(.param .u64 out)
.reqntid 128
{
  .shared .align 16 .b32 place[8];
  .reg .b64 %out, %at;
  .reg .b32 %t, %warp, %columns, %at_place, %x;
  .reg .pred %p;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  mov.u32 %columns, 32;
  shl.b32 %columns, %columns, %warp;
  mov.u32 %at_place, place;
  mad.lo.u32 %at_place, %warp, 4, %at_place;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at_place], %columns;
  bar.sync 0;
  ld.shared.b32 %x, [%at_place];
  mad.wide.u32 %at, %t, 8, %out;
  st.global.b32 [%at], %x;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x, %columns;
  bar.sync 0;
  setp.lt.u32 %p, %t, 32;
  @%p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 512;
  bar.sync 0;
  ld.shared.b32 %x, [place];
  st.global.b32 [%at+4], %x;
  @%p tcgen05.dealloc.cta_group::1.sync.aligned.b32 %x, 512;
  ret;
}
)");
  ASSERT_TRUE(module) << module.error().ToString();
  Buffer out((*module)->device(), 8 * kTensorThreads);
  Launch launch;
  launch.block = {kTensorThreads, 1, 1};
  launch.params = {out.address()};
  ASSERT_TRUE((*module)->Run("k", launch));
  std::vector<int> taken(kTensorColumns);
  for (int warp = 0; warp < 4; ++warp) {
    const std::uint32_t first = out.as<std::uint32_t>()[warp * 32 * 2];
    for (int i = 0; i < 32 << warp; ++i) {
      ++taken.at(first + static_cast<std::uint32_t>(i));
    }
  }
  EXPECT_EQ(*std::max_element(taken.begin(), taken.end()), 1);
  for (int t = 0; t < kTensorThreads; ++t) {
    EXPECT_EQ(out.as<std::uint32_t>()[2 * t + 1], 0u);
  }
}

}  // namespace
}  // namespace cerberus::exec
