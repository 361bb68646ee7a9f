// Atomic operations and fences: atom, red, membar, fence.
//
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions:
// atom, red, membar/fence".
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/exec/atomic_reference.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kThreads = 64;
constexpr char kHeader[] = ".version 9.0\n.target sm_100a\n.address_size 64\n";

std::string Registers(const std::string& name, int width) {
  if (width == 1) return "%" + name + "0";
  std::string out = "{";
  for (int i = 0; i < width; ++i) {
    out += (i == 0 ? "%" : ", %") + name + std::to_string(i);
  }
  return out + "}";
}

// Each thread works on its own cell: old value and new value are known.
void AddOwnCells(KernelBatch& batch, const LoweredSpelling& lowered,
                 bool returns) {
  const Spelling s(lowered.text);
  const PtxType t = s.type(s.types().size() - 1);
  const int width = s.Has("v8") ? 8 : s.Has("v4") ? 4 : s.Has("v2") ? 2 : 1;
  const std::string_view op = OperationOf(s);
  const bool cas = op == "cas";
  const bool shared =
      s.Has("shared") || s.Has("shared::cta") || s.Has("shared::cluster");
  const std::string type = ".b" + std::to_string(t.bits);
  const int bytes = t.bits / 8 * width;
  const std::string stride = std::to_string(bytes);

  // Buffers: cells, operands b, operands c, old values, new values.
  std::string text = ".visible .entry " + batch.NextName() +
                     "(.param .u64 cells, .param .u64 b, .param .u64 c,"
                     " .param .u64 old, .param .u64 new)\n{\n"
                     "  .reg .b64 %cells, %b, %c, %old, %new, %at, %policy;\n"
                     "  .reg .b32 %thread;\n  .reg " +
                     type +
                     " %x<8>, %y<8>, %z<8>, %o<8>, %n<8>;\n"
                     "  .shared .align 32 .b8 window[" +
                     std::to_string(bytes * kThreads) +
                     "];\n  mov.b64 %policy, 0;\n  mov.u32 %thread, %tid.x;\n";
  for (const char* name : {"cells", "b", "c", "old", "new"}) {
    const std::string n(name);
    text += "  ld.param.u64 %" + n + ", [" + n + "];\n  mad.wide.u32 %" + n +
            ", %thread, " + stride + ", %" + n + ";\n";
  }
  const auto each = [&](const std::string& format_before,
                        const std::string& reg, const std::string& base,
                        bool load) {
    for (int i = 0; i < width; ++i) {
      const std::string at =
          "[%" + base + "+" + std::to_string(i * t.bits / 8) + "]";
      const std::string r = "%" + reg + std::to_string(i);
      text += "  " + format_before + type + " " +
              (load ? r + ", " + at : at + ", " + r) + ";\n";
    }
  };
  each("ld.global", "y", "b", true);
  each("ld.global", "z", "c", true);
  if (shared) {
    text += "  mov.u64 %at, window;\n  mad.wide.u32 %at, %thread, " + stride +
            ", %at;\n";
    each("ld.global", "x", "cells", true);
    each("st.shared", "x", "at", false);
  } else {
    text += "  mov.b64 %at, %cells;\n";
  }
  text += "  " + lowered.text + " ";
  if (returns) text += Registers("o", width) + ", ";
  text += "[%at], " + Registers("y", width);
  if (cas) text += ", " + Registers("z", width);
  if (lowered.Has("L2::cache_hint")) text += ", %policy";
  text += ";\n";
  each(shared ? "ld.shared" : "ld.global", "n", "at", true);
  each("st.global", "n", "new", false);
  if (returns) each("st.global", "o", "old", false);
  text += "  ret;\n}\n";

  const std::string op_name(op);
  // `s` owns the text that `t` refers to.
  batch.Add(
      lowered.text, text,
      [=, keep = s](PtxModule& module, const std::string& kernel) {
        const std::size_t count = kThreads * static_cast<std::size_t>(width);
        const std::size_t element = static_cast<std::size_t>(t.bits) / 8;
        std::vector<std::unique_ptr<Buffer>> buffers;
        Launch launch;
        launch.block = {kThreads, 1, 1};
        std::mt19937_64 random(99);
        std::vector<Value> values[3];
        for (int k = 0; k < 5; ++k) {
          buffers.push_back(
              std::make_unique<Buffer>(module.device(), count * element));
          launch.params.push_back(buffers.back()->address());
          if (k >= 3) continue;
          for (std::size_t i = 0; i < count; ++i) {
            Value v = RandomAtomicOperand(t, random);
            // Half of the compare-and-swaps find what they expect.
            if (k == 1 && cas && i % 2 == 0) v = values[0][i];
            values[k].push_back(v);
            std::memcpy(buffers.back()->as<char>() + i * element, &v, element);
          }
        }
        const Status status = module.Run(kernel, launch);
        ASSERT_TRUE(status) << status.error().ToString();
        for (std::size_t i = 0; i < count; ++i) {
          Value old = 0, now = 0;
          std::memcpy(&old, buffers[3]->as<char>() + i * element, element);
          std::memcpy(&now, buffers[4]->as<char>() + i * element, element);
          if (returns) {
            ASSERT_TRUE(old == values[0][i])
                << "returned 0x" << std::hex << Low(old) << ", the cell held 0x"
                << Low(values[0][i]);
          }
          const Value want =
              ApplyAtomic(op_name, t, values[0][i], values[1][i], values[2][i]);
          const Want exact{Want::Match::kExact, want, 0, 0};
          ASSERT_TRUE(Matches(exact, t, now))
              << "(0x" << std::hex << Low(values[0][i]) << ", 0x"
              << Low(values[1][i]) << ", 0x" << Low(values[2][i]) << ") left 0x"
              << Low(now) << ", want 0x" << Low(want);
        }
      });
}

TEST(AtomicExec, AtomOnOwnCells) {
  const auto spellings = LoweredSpellingsOf("atom");
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch(kHeader);
  for (const LoweredSpelling& s : spellings) AddOwnCells(batch, s, true);
}

TEST(AtomicExec, RedOnOwnCells) {
  KernelBatch batch(kHeader);
  for (const LoweredSpelling& s : LoweredSpellingsOf("red"))
    AddOwnCells(batch, s, false);
}

// All threads of several blocks on one cell: nothing is lost, and the old
// values are those of some order.
TEST(AtomicExec, ContendedAddReturnsEveryOldValueOnce) {
  for (const char* type : {"u32", "u64"}) {
    const std::string t(type);
    const std::string text =
        ".version 9.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 cell, .param .u64 old)\n{\n"
        "  .reg .b64 %cell, %old, %l;\n  .reg .b32 %r<4>;\n  .reg ." +
        t +
        " %o;\n  ld.param.u64 %cell, [cell];\n  ld.param.u64 %old, [old];\n"
        "  mov.u32 %r0, %ctaid.x;\n  mov.u32 %r1, %ntid.x;\n"
        "  mov.u32 %r2, %tid.x;\n  mad.lo.u32 %r3, %r0, %r1, %r2;\n"
        "  atom.global.add." +
        t +
        " %o, [%cell], 3;\n"
        "  mad.wide.u32 %old, %r3, 8, %old;\n  cvt.u64." +
        t +
        " %l, %o;\n"
        "  st.global.u64 [%old], %l;\n  ret;\n}\n";
    auto module = PtxModule::Compile(text);
    ASSERT_TRUE(module) << module.error().ToString();
    constexpr std::size_t kTotal = 8 * 96;
    Buffer cell((*module)->device(), 8), old((*module)->device(), 8 * kTotal);
    *cell.as<std::uint64_t>() = 0;
    Launch launch;
    launch.grid = {8, 1, 1};
    launch.block = {96, 1, 1};
    launch.params = {cell.address(), old.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(*cell.as<std::uint64_t>(), 3 * kTotal);
    std::uint64_t* first = old.as<std::uint64_t>();
    std::sort(first, first + kTotal);
    for (std::size_t i = 0; i < kTotal; ++i) EXPECT_EQ(first[i], 3 * i);
  }
}

// A block hands a value to the next one through memory; each fence and each
// order that may stand between must carry it.
TEST(AtomicExec, FencesCarryAMessageToAnotherBlock) {
  std::vector<std::string> fences;
  for (const char* opcode : {"membar", "fence"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      if (s.row->operands.size() > 0 || s.Has("proxy") || s.Has("cta") ||
          s.Has("mbarrier_init") || s.Has("cluster") ||
          s.Has("sync_restrict::shared::cta") ||
          s.Has("sync_restrict::shared::cluster")) {
        continue;
      }
      // One-sided fences order only their own side.
      if (s.Has("acquire") || s.Has("release")) continue;
      fences.push_back(s.text);
    }
  }
  ASSERT_FALSE(fences.empty());
  for (const std::string& fence : fences) {
    const std::string text =
        ".version 9.0\n.target sm_100a\n.address_size 64\n"
        ".visible .entry k(.param .u64 data, .param .u64 flag)\n{\n"
        "  .reg .b64 %data, %flag;\n  .reg .b32 %r<4>;\n  .reg .pred %p<2>;\n"
        "  ld.param.u64 %data, [data];\n  ld.param.u64 %flag, [flag];\n"
        "  mov.u32 %r0, %ctaid.x;\n  setp.ne.u32 %p0, %r0, 0;\n"
        "  @%p0 bra READER;\n"
        "  st.global.u32 [%data], 77;\n  " +
        fence +
        ";\n"
        "  st.volatile.global.u32 [%flag], 1;\n  ret;\n"
        "READER:\n  ld.volatile.global.u32 %r1, [%flag];\n"
        "  setp.eq.u32 %p1, %r1, 0;\n  @%p1 bra READER;\n  " +
        fence +
        ";\n"
        "  ld.global.u32 %r2, [%data];\n  st.global.u32 [%data+4], %r2;\n"
        "  ret;\n}\n";
    auto module = PtxModule::Compile(text);
    ASSERT_TRUE(module) << fence << module.error().ToString();
    Buffer data((*module)->device(), 8), flag((*module)->device(), 4);
    std::memset(data.as<char>(), 0, 8);
    *flag.as<std::uint32_t>() = 0;
    Launch launch;
    launch.grid = {2, 1, 1};
    launch.params = {data.address(), flag.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << fence << status.error().ToString();
    EXPECT_EQ(data.as<std::uint32_t>()[1], 77u) << fence;
  }
}

// The forms that the message above leaves out still execute, and order a
// thread's own accesses.
TEST(AtomicExec, EveryFenceExecutes) {
  for (const char* opcode : {"membar", "fence"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      const bool of_tensor_map = !s.row->operands.empty();
      const std::string text =
          ".version 9.0\n.target sm_100a\n.address_size 64\n"
          ".visible .entry k(.param .u64 data)\n{\n"
          "  .reg .b64 %data;\n  .reg .b32 %r;\n"
          "  ld.param.u64 %data, [data];\n  st.global.u32 [%data], 5;\n  " +
          s.text + (of_tensor_map ? " [%data], 128" : "") +
          ";\n  ld.global.u32 %r, [%data];\n  add.u32 %r, %r, 1;\n"
          "  st.global.u32 [%data], %r;\n  ret;\n}\n";
      auto module = PtxModule::Compile(text);
      ASSERT_TRUE(module) << s.text << module.error().ToString();
      Buffer data((*module)->device(), 128);
      Launch launch;
      launch.params = {data.address()};
      const Status status = (*module)->Run("k", launch);
      ASSERT_TRUE(status) << s.text << status.error().ToString();
      EXPECT_EQ(*data.as<std::uint32_t>(), 6u) << s.text;
    }
  }
}

}  // namespace
}  // namespace cerberus::exec
