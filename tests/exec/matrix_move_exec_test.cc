// ldmatrix, stmatrix and movmatrix: every spelling, rows of the matrices in
// any order in shared memory, against the layouts of the manual's figures.
//
// PTX ISA 9.0, "Warp-level matrix load instruction: ldmatrix" and the two
// sections behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

constexpr std::string_view kHeader =
    ".version 9.0\n.target sm_100a\n.address_size 64\n";
constexpr int kRowBytes = 16;
constexpr int kRows = 32;
using Shared = std::array<std::uint8_t, kRows * kRowBytes>;
// Lane l's row starts at row_of[l] * 16.
using RowOf = std::array<std::uint32_t, 32>;

int CountOf(const LoweredSpelling& s) {
  return s.Has("x4") ? 4 : s.Has("x2") ? 2 : 1;
}

// k(memory, rows, registers): shared memory is copied from `memory` and back,
// `rows` has a 32-bit offset and `registers` 32 bytes for each lane.
std::string Kernel(const std::string& name, bool generic,
                   const std::string& body) {
  std::string text =
      ".visible .entry " + name +
      "(.param .u64 memory, .param .u64 rows, .param .u64 regs)\n{\n"
      "  .reg .b64 %memory, %rows, %regs, %p;\n"
      "  .reg .b32 %thread, %words, %row, %r<8>, %w<8>;\n"
      "  .shared .align 16 .b8 words[512];\n"
      "  ld.param.u64 %memory, [memory];\n  ld.param.u64 %rows, [rows];\n"
      "  ld.param.u64 %regs, [regs];\n  mov.u32 %thread, %tid.x;\n"
      "  mad.wide.u32 %memory, %thread, 16, %memory;\n"
      "  mad.wide.u32 %rows, %thread, 4, %rows;\n"
      "  mad.wide.u32 %regs, %thread, 32, %regs;\n"
      "  mov.u32 %words, words;\n"
      "  mad.lo.u32 %w7, %thread, 16, %words;\n"
      "  ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%memory];\n"
      "  st.shared.v4.b32 [%w7], {%w0, %w1, %w2, %w3};\n"
      "  bar.sync 0;\n"
      "  ld.global.u32 %row, [%rows];\n  add.u32 %row, %row, %words;\n";
  if (generic) {
    text += "  cvt.u64.u32 %p, %row;\n  cvta.shared.u64 %p, %p;\n";
  }
  text += body +
          "  bar.sync 0;\n"
          "  ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [%w7];\n"
          "  st.global.v4.b32 [%memory], {%w0, %w1, %w2, %w3};\n"
          "  ret;\n}\n";
  return text;
}

struct State {
  Shared memory;
  RowOf row_of;
  std::array<std::array<std::uint32_t, 8>, 32> registers;
};

State RandomState(std::mt19937_64& random) {
  State state;
  for (std::uint8_t& byte : state.memory) {
    byte = static_cast<std::uint8_t>(random());
  }
  std::iota(state.row_of.begin(), state.row_of.end(), 0u);
  std::shuffle(state.row_of.begin(), state.row_of.end(), random);
  for (auto& lane : state.registers) {
    for (std::uint32_t& word : lane) {
      word = static_cast<std::uint32_t>(random());
    }
  }
  return state;
}

State Execute(PtxModule& module, const std::string& kernel, State state) {
  Buffer memory(module.device(), sizeof(Shared));
  Buffer rows(module.device(), sizeof(RowOf));
  Buffer registers(module.device(), sizeof state.registers);
  std::copy(state.memory.begin(), state.memory.end(),
            memory.as<std::uint8_t>());
  for (int lane = 0; lane < 32; ++lane) {
    rows.as<std::uint32_t>()[lane] =
        state.row_of[static_cast<std::size_t>(lane)] * kRowBytes;
  }
  std::copy_n(&state.registers[0][0], 32 * 8, registers.as<std::uint32_t>());
  Launch launch;
  launch.block = {32, 1, 1};
  launch.params = {memory.address(), rows.address(), registers.address()};
  const Status status = module.Run(kernel, launch);
  EXPECT_TRUE(status) << status.error().ToString();
  std::copy_n(memory.as<std::uint8_t>(), state.memory.size(),
              state.memory.begin());
  std::copy_n(registers.as<std::uint32_t>(), 32 * 8, &state.registers[0][0]);
  return state;
}

// The row that lane `lane` points to, as its 16 bytes.
const std::uint8_t* RowAt(const State& state, int lane) {
  return state.memory.data() +
         state.row_of[static_cast<std::size_t>(lane)] * kRowBytes;
}
std::uint8_t* RowAt(State& state, int lane) {
  return state.memory.data() +
         state.row_of[static_cast<std::size_t>(lane)] * kRowBytes;
}
std::uint32_t HalfAt(const std::uint8_t* row, int column) {
  return static_cast<std::uint32_t>(row[2 * column] | row[2 * column + 1] << 8);
}

// Element `column` of a row of elements of 8 bits, or of 6 or 4 without gaps.
std::uint32_t ElementAt(const LoweredSpelling& s, const std::uint8_t* row,
                        int column) {
  const int bits = s.Has("b6x16_p32") ? 6 : s.Has("b4x16_p64") ? 4 : 8;
  std::uint32_t element = 0;
  for (int i = 0; i < bits; ++i) {
    const int bit = column * bits + i;
    element |= static_cast<std::uint32_t>(row[bit / 8] >> (bit % 8) & 1) << i;
  }
  return element;
}

// Register `index` of a lane after ldmatrix.
std::uint32_t Loaded(const LoweredSpelling& s, const State& state, int lane,
                     int index) {
  const int group = lane / 4, thread = lane % 4;
  std::uint32_t word = 0;
  if (s.Has("m16n16")) {
    // Two registers for a matrix; transposed: row `group` (and group + 8) of
    // the transposed matrix is that column of the stored one.
    for (int i = 0; i < 4; ++i) {
      const std::uint8_t* row = RowAt(state, 16 * (index / 2) + 4 * thread + i);
      word |= ElementAt(s, row, group + 8 * (index % 2)) << (8 * i);
    }
  } else if (s.Has("m8n16")) {
    for (int i = 0; i < 4; ++i) {
      word |= ElementAt(s, RowAt(state, 8 * index + group), 4 * thread + i)
              << (8 * i);
    }
  } else {
    for (int i = 0; i < 2; ++i) {
      const int row = s.Has("trans") ? 2 * thread + i : group;
      const int column = s.Has("trans") ? group : 2 * thread + i;
      word |= HalfAt(RowAt(state, 8 * index + row), column) << (16 * i);
    }
  }
  return word;
}

std::string Registers(int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "%r" : ", %r") + std::to_string(i);
  }
  return text + "}";
}

bool IsGeneric(const LoweredSpelling& s) {
  return s.text.find(".shared") == std::string::npos;
}

TEST(MatrixMoveExec, Ldmatrix) {
  const auto spellings = LoweredSpellingsOf("ldmatrix");
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : spellings) {
    const int count = CountOf(s) * (s.Has("m16n16") ? 2 : 1);
    const bool generic = IsGeneric(s);
    std::string body = "  " + s.text + " " + Registers(count) + ", [" +
                       (generic ? "%p" : "%row") + "];\n";
    for (int i = 0; i < count; ++i) {
      body += "  st.global.b32 [%regs+" + std::to_string(4 * i) + "], %r" +
              std::to_string(i) + ";\n";
    }
    batch.Add(s.text, Kernel(batch.NextName(), generic, body),
              [=](PtxModule& module, const std::string& name) {
                std::mt19937_64 random(1);
                const State before = RandomState(random);
                const State after = Execute(module, name, before);
                for (int lane = 0; lane < 32; ++lane) {
                  for (int i = 0; i < count; ++i) {
                    ASSERT_EQ(after.registers[static_cast<std::size_t>(lane)]
                                             [static_cast<std::size_t>(i)],
                              Loaded(s, before, lane, i))
                        << "lane " << lane << ", register " << i;
                  }
                }
                EXPECT_EQ(after.memory, before.memory);
              });
  }
}

TEST(MatrixMoveExec, Stmatrix) {
  const auto spellings = LoweredSpellingsOf("stmatrix");
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : spellings) {
    const int count = CountOf(s);
    const bool generic = IsGeneric(s);
    std::string body;
    for (int i = 0; i < count; ++i) {
      body += "  ld.global.b32 %r" + std::to_string(i) + ", [%regs+" +
              std::to_string(4 * i) + "];\n";
    }
    body += "  " + s.text + " [" + (generic ? "%p" : "%row") + "], " +
            Registers(count) + ";\n";
    batch.Add(
        s.text, Kernel(batch.NextName(), generic, body),
        [=](PtxModule& module, const std::string& name) {
          std::mt19937_64 random(2);
          const State before = RandomState(random);
          const State after = Execute(module, name, before);
          State want = before;
          for (int lane = 0; lane < 32; ++lane) {
            const int group = lane / 4, thread = lane % 4;
            for (int i = 0; i < count; ++i) {
              const std::uint32_t word =
                  before.registers[static_cast<std::size_t>(lane)]
                                  [static_cast<std::size_t>(i)];
              for (int e = 0; e < 4; ++e) {
                const auto byte = static_cast<std::uint8_t>(word >> (8 * e));
                if (s.Has("m16n8")) {
                  // e0, e1: columns 2t, 2t+1 of row g; e2, e3: of row g + 8;
                  // a column of the matrix is a row in memory.
                  RowAt(want, 8 * i + 2 * thread + e % 2)[group + e / 2 * 8] =
                      byte;
                } else if (s.Has("trans")) {
                  RowAt(want, 8 * i + 2 * thread + e / 2)[2 * group + e % 2] =
                      byte;
                } else {
                  RowAt(want, 8 * i + group)[4 * thread + e] = byte;
                }
              }
            }
          }
          EXPECT_EQ(after.memory, want.memory);
        });
  }
}

TEST(MatrixMoveExec, Movmatrix) {
  const auto spellings = LoweredSpellingsOf("movmatrix");
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : spellings) {
    const std::string body = "  ld.global.b32 %r0, [%regs];\n  " + s.text +
                             " %r1, %r0;\n  st.global.b32 [%regs], %r1;\n";
    batch.Add(
        s.text, Kernel(batch.NextName(), false, body),
        [=](PtxModule& module, const std::string& name) {
          std::mt19937_64 random(3);
          const State before = RandomState(random);
          const State after = Execute(module, name, before);
          // Element [row][column] of the matrix before.
          const auto element = [&](int row, int column) {
            return before.registers[static_cast<std::size_t>(4 * row +
                                                             column / 2)][0] >>
                       (16 * (column % 2)) &
                   0xffff;
          };
          for (int lane = 0; lane < 32; ++lane) {
            const int row = lane / 4, column = lane % 4 * 2;
            EXPECT_EQ(after.registers[static_cast<std::size_t>(lane)][0],
                      element(column, row) | element(column + 1, row) << 16)
                << lane;
          }
        });
  }
}

}  // namespace
}  // namespace cerberus::exec
