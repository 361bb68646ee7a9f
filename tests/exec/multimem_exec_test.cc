// Memory of several GPUs under one address: multimem.
//
// PTX ISA 9.0, "multimem.ld_reduce, multimem.st, multimem.red", and 9.1,
// "multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk". The emulator's GPU
// has the memory of all GPUs here; tests/e2e/programs/multicast.cu has several.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/exec/atomic_reference.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

constexpr std::uint32_t kThreads = 64;
constexpr char kHeader[] = ".version 9.3\n.target sm_100a\n.address_size 64\n";
// Nothing lies there.
constexpr std::uint64_t kRange = 0x7ab0'0000'0000;
constexpr std::uint64_t kOtherRange = 0x7ac0'0000'0000;

// What the stub gives a kernel (docs/launch-abi.md, "Multicast memory"): two
// ranges, of which the second has the memory of `devices` GPUs.
class Team {
 public:
  Team(PtxModule& module, std::size_t devices, std::uint64_t bytes,
       bool known = true)
      : block_(module.device(), 64),
        record_(module.device(), 64),
        table_(module.device(), 8 * (4 + 3 + devices + 3)) {
    std::vector<std::uint64_t> table = {kOtherRange, 256,   1,      12345,
                                        kRange,      bytes, devices};
    for (std::size_t i = 0; i < devices; ++i) {
      memories_.push_back(std::make_unique<Buffer>(module.device(), bytes));
      table.push_back(memories_.back()->address() - kRange);
    }
    table.resize(table.size() + 3);
    std::memcpy(table_.as<void>(), table.data(), 8 * table.size());
    std::memset(record_.as<void>(), 0, record_.size());
    const std::uint64_t fields[8] = {2 | std::uint64_t{known} << 32,
                                     record_.address(),
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     table_.address()};
    std::memcpy(block_.as<void>(), fields, sizeof fields);
    const std::uint64_t context = module.Symbol("__cerberus_ctx");
    EXPECT_NE(context, 0u);
    if (context != 0) {
      *reinterpret_cast<std::uint64_t*>(context) = block_.address();
    }
  }
  std::uint8_t* memory(std::size_t device) const {
    return memories_[device]->as<std::uint8_t>();
  }
  std::uint32_t fault() const { return *record_.as<std::uint32_t>(); }

 private:
  Buffer block_, record_, table_;
  std::vector<std::unique_ptr<Buffer>> memories_;
};

struct Form {
  Spelling s;
  PtxType t;
  std::size_t width;
  std::string op;
  std::size_t element() const { return static_cast<std::size_t>(t.bits) / 8; }
  std::size_t bytes() const { return width * element(); }
};

// The numbers of 8 bits stand in no register of their own, but in memory.
PtxType TypeOf(const Spelling& s) {
  if (!s.types().empty()) return s.type(s.types().size() - 1);
  PtxType one = *FindType(s.Has("e4m3") ? "e4m3x2" : "e5m2x2");
  one.bits /= one.elements;
  one.elements = 1;
  return one;
}

Form FormOf(const std::string& text) {
  const Spelling s(text);
  return {s, TypeOf(s),
          s.Has("v8")   ? 8u
          : s.Has("v4") ? 4u
          : s.Has("v2") ? 2u
                        : 1u,
          std::string(OperationOf(s))};
}

std::string Registers(std::size_t width) {
  if (width == 1) return "%x0";
  std::string out = "{";
  for (std::size_t i = 0; i < width; ++i) {
    out += (i == 0 ? "%x" : ", %x") + std::to_string(i);
  }
  return out + "}";
}

// Each thread has its own place at `a`, and at `data`, which is loaded from or
// stored to.
std::string Kernel(const std::string& name, const Form& form, bool loads) {
  const std::string type = ".b" + std::to_string(form.t.bits);
  std::string text = ".visible .entry " + name +
                     "(.param .u64 a, .param .u64 data)\n{\n"
                     "  .reg .b64 %a, %data;\n  .reg .b32 %thread;\n  .reg " +
                     type + " %x<8>;\n  mov.u32 %thread, %tid.x;\n";
  for (const char* p : {"a", "data"}) {
    const std::string n(p);
    text += "  ld.param.u64 %" + n + ", [" + n + "];\n  mad.wide.u32 %" + n +
            ", %thread, " + std::to_string(form.bytes()) + ", %" + n + ";\n";
  }
  const std::string access = "  " + form.s.text() + " " +
                             (loads ? Registers(form.width) + ", [%a]"
                                    : "[%a], " + Registers(form.width)) +
                             ";\n";
  if (loads) text += access;
  for (std::size_t i = 0; i < form.width; ++i) {
    const std::string at = "[%data+" + std::to_string(i * form.element()) + "]";
    const std::string x = "%x" + std::to_string(i);
    text += loads ? "  st.global" + type + " " + at + ", " + x + ";\n"
                  : "  ld.global" + type + " " + x + ", " + at + ";\n";
  }
  if (!loads) text += access;
  return text + "  ret;\n}\n";
}

// Random elements, in memory and as values.
std::vector<Value> Fill(const PtxType& t, std::uint8_t* to, std::size_t count,
                        std::mt19937_64& random) {
  std::vector<Value> values;
  const std::size_t element = static_cast<std::size_t>(t.bits) / 8;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(RandomAtomicOperand(t, random));
    std::memcpy(to + i * element, &values.back(), element);
  }
  return values;
}

// Each element of `v` in another format.
Value Converted(const PtxType& t, const FloatFormat& from,
                const FloatFormat& to, int step_from, int step_to, Value v) {
  Value out = 0;
  for (int e = 0; e < t.elements; ++e) {
    const std::uint64_t x = Low(Truncate(v >> (e * step_from), step_from));
    out |= static_cast<Value>(RoundTo(to, Round::kNearestEven, Mp(from, x)))
           << (e * step_to);
  }
  return out;
}

// What the GPUs' values are together, one after the other.
Value Reduced(const Form& form, const std::vector<Value>& values) {
  const FloatFormat* wide = form.s.Has("acc::f32")   ? &kF32
                            : form.s.Has("acc::f16") ? &kF16
                                                     : nullptr;
  if (wide == nullptr) {
    Value sum = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) {
      sum = ApplyAtomic(form.op, form.t, sum, values[i], 0);
    }
    return sum;
  }
  const FloatFormat& own = FormatOf(form.t);
  const int bits = form.t.element_bits(), wide_bits = wide->storage_bits();
  Value out = 0;
  for (int e = 0; e < form.t.elements; ++e) {
    PtxType one = form.t;
    one.elements = 1;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t v =
          Low(Converted(one, own, *wide, bits, wide_bits,
                        Truncate(values[i] >> (e * bits), bits)));
      sum = i == 0 ? v : Add(*wide, Round::kNearestEven, sum, v);
    }
    out |= Converted(one, *wide, own, wide_bits, bits, sum) << (e * bits);
  }
  return out;
}

void ExpectElements(const Form& form, const std::uint8_t* got,
                    const std::vector<Value>& want, const std::string& where) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    Value v = 0;
    std::memcpy(&v, got + i * form.element(), form.element());
    const Want exact{Want::Match::kExact, want[i], 0, 0};
    ASSERT_TRUE(Matches(exact, form.t, v))
        << where << ", element " << i << ": 0x" << std::hex << Low(v)
        << ", want 0x" << Low(want[i]);
  }
}

void RunForm(PtxModule& module, const std::string& kernel, const Form& form,
             std::size_t devices) {
  SCOPED_TRACE(std::to_string(devices) + " devices");
  const std::size_t count = kThreads * form.width;
  const bool loads = form.s.text().starts_with("multimem.ld_reduce");
  Team team(module, devices, count * form.element());
  Buffer data(module.device(), count * form.element());
  std::mt19937_64 random(devices);
  std::vector<std::vector<Value>> held;
  held.reserve(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    held.push_back(Fill(form.t, team.memory(d), count, random));
  }
  const std::vector<Value> given =
      Fill(form.t, data.as<std::uint8_t>(), count, random);
  Launch launch;
  launch.block = {kThreads, 1, 1};
  launch.params = {kRange, data.address()};
  const Status status = module.Run(kernel, launch);
  ASSERT_TRUE(status) << status.error().ToString();
  ASSERT_EQ(team.fault(), 0u);
  std::vector<Value> sums;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Value> each;
    for (std::size_t d = 0; d < devices; ++d) {
      each.push_back(held[d][i]);
      if (!loads) {
        held[d][i] = form.op.empty() ? given[i]
                                     : ApplyAtomic(form.op, form.t, held[d][i],
                                                   given[i], 0);
      }
    }
    if (loads) sums.push_back(Reduced(form, each));
  }
  for (std::size_t d = 0; d < devices; ++d) {
    ExpectElements(form, team.memory(d), held[d],
                   "memory of device " + std::to_string(d));
  }
  if (loads) ExpectElements(form, data.as<std::uint8_t>(), sums, "the result");
}

// Of an opcode's spellings as few as have every operation, and, of each row,
// every order, scope and space beside every type.
std::vector<LoweredSpelling> FewSpellingsOf(std::string_view opcode) {
  const std::vector<LoweredSpelling> all = LoweredSpellingsOf(opcode);
  const auto parts_of = [](const LoweredSpelling& s) {
    const Form form = FormOf(s.text);
    const std::string type(form.s.words().back());
    std::vector<std::string> parts;
    std::string operation;
    for (const std::string_view word : form.s.words()) {
      parts.push_back(std::to_string(s.row->index) + type + " with " +
                      std::string(word));
      const bool orders =
          !Spelling("x." + std::string(word))
               .OneOf({"weak", "relaxed", "acquire", "release", "cta",
                       "cluster", "gpu", "sys", "global"})
               .empty();
      if (!orders) operation.append(".").append(word);
    }
    parts.push_back(operation);
    return parts;
  };
  std::vector<std::vector<std::string>> parts;
  parts.reserve(all.size());
  for (const LoweredSpelling& s : all) parts.push_back(parts_of(s));
  std::set<std::string> seen;
  std::vector<LoweredSpelling> chosen;
  for (;;) {
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto fresh = static_cast<std::size_t>(std::count_if(
          parts[i].begin(), parts[i].end(),
          [&](const std::string& part) { return !seen.contains(part); }));
      if (fresh > most) {
        most = fresh;
        best = i;
      }
    }
    if (most == 0) return chosen;
    seen.insert(parts[best].begin(), parts[best].end());
    chosen.push_back(all[best]);
  }
}

TEST(MultimemExec, EachAccess) {
  KernelBatch batch(kHeader);
  int forms = 0;
  for (const char* opcode : {"multimem.ld_reduce", "multimem.st",
                             "multimem.red", "multimem.red.async"}) {
    for (const LoweredSpelling& s : FewSpellingsOf(opcode)) {
      const Form form = FormOf(s.text);
      ++forms;
      batch.Add(s.text,
                Kernel(batch.NextName(), form,
                       s.text.starts_with("multimem.ld_reduce")),
                [form](PtxModule& module, const std::string& kernel) {
                  for (std::size_t n = 1; n <= 3; ++n) {
                    RunForm(module, kernel, form, n);
                  }
                });
    }
  }
  EXPECT_GT(forms, 200);
}

// ---- Copies -----------------------------------------------------------------

constexpr std::uint32_t kBulk = 16 * kThreads;

std::string CopyKernel(const std::string& name, const LoweredSpelling& s) {
  return ".visible .entry " + name +
         "(.param .u64 a, .param .u64 data)\n{\n"
         "  .shared .align 16 .b8 from[" +
         std::to_string(kBulk) +
         "];\n"
         "  .reg .b64 %a, %data;\n  .reg .b32 %thread, %at, %x<4>;\n"
         "  .reg .b16 %mask;\n  .reg .pred %p;\n"
         "  ld.param.u64 %a, [a];\n  ld.param.u64 %data, [data];\n"
         "  mov.u32 %thread, %tid.x;\n"
         "  mad.wide.u32 %data, %thread, 16, %data;\n  mov.u32 %at, from;\n"
         "  mad.lo.u32 %at, %thread, 16, %at;\n"
         "  ld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%data];\n"
         "  st.shared.v4.b32 [%at], {%x0, %x1, %x2, %x3};\n"
         "  mov.b16 %mask, 0xA5F0;\n  setp.ne.u32 %p, %thread, 0;\n"
         "  bar.sync 0;\n  @%p ret;\n  " +
         s.text + " [%a], [from], " + std::to_string(kBulk) +
         (s.Has("cp_mask") ? ", %mask" : "") +
         ";\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n"
         "  ret;\n}\n";
}

void RunCopy(PtxModule& module, const std::string& kernel,
             const LoweredSpelling& s, std::size_t devices) {
  SCOPED_TRACE(std::to_string(devices) + " devices");
  const bool copies = s.text.starts_with("multimem.cp.async");
  Form form = FormOf("st.b8");
  if (!copies) form = FormOf(s.text);
  const std::size_t count = kBulk / form.element();
  Team team(module, devices, kBulk);
  Buffer data(module.device(), kBulk);
  std::mt19937_64 random(devices);
  const std::vector<Value> given =
      Fill(form.t, data.as<std::uint8_t>(), count, random);
  std::vector<std::vector<Value>> want;
  for (std::size_t d = 0; d < devices; ++d) {
    want.push_back(Fill(form.t, team.memory(d), count, random));
    for (std::size_t i = 0; i < count; ++i) {
      if (!copies) {
        want[d][i] = ApplyAtomic(form.op, form.t, want[d][i], given[i], 0);
      } else if (!s.Has("cp_mask") || (0xa5f0 >> (i % 16) & 1) != 0) {
        want[d][i] = given[i];
      }
    }
  }
  Launch launch;
  launch.block = {kThreads, 1, 1};
  launch.params = {kRange, data.address()};
  const Status status = module.Run(kernel, launch);
  ASSERT_TRUE(status) << status.error().ToString();
  ASSERT_EQ(team.fault(), 0u);
  for (std::size_t d = 0; d < devices; ++d) {
    ExpectElements(form, team.memory(d), want[d],
                   "memory of device " + std::to_string(d));
  }
}

TEST(MultimemExec, EachCopy) {
  KernelBatch batch(kHeader);
  int forms = 0;
  for (const char* opcode :
       {"multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk"}) {
    for (const LoweredSpelling& s : LoweredSpellingsOf(opcode)) {
      ++forms;
      batch.Add(s.text, CopyKernel(batch.NextName(), s),
                [s](PtxModule& module, const std::string& kernel) {
                  for (std::size_t n = 1; n <= 3; ++n) {
                    RunCopy(module, kernel, s, n);
                  }
                });
    }
  }
  EXPECT_GT(forms, 20);
}

// ---- Numbers that are none, or too large ------------------------------------

// What multimem.ld_reduce makes of one word of each of two GPUs.
std::uint32_t ReducedWord(const std::string& spelling, std::uint32_t a,
                          std::uint32_t b) {
  const Form form = FormOf(spelling);
  auto module = PtxModule::Compile(kHeader + Kernel("k", form, /*loads=*/true));
  EXPECT_TRUE(module) << module.error().ToString();
  if (!module) return 0;
  Team team(**module, 2, 4);
  Buffer data((*module)->device(), 4);
  std::memcpy(team.memory(0), &a, 4);
  std::memcpy(team.memory(1), &b, 4);
  Launch launch;
  launch.params = {kRange, data.address()};
  const Status status = (*module)->Run("k", launch);
  EXPECT_TRUE(status) << status.error().ToString();
  return *data.as<std::uint32_t>();
}

TEST(MultimemExec, MinimaIgnoreWhatIsNoNumber) {
  EXPECT_EQ(ReducedWord("multimem.ld_reduce.global.min.f16x2", 0x7e00'3c00,
                        0x4000'7e00),
            0x4000'3c00u);
  EXPECT_EQ(ReducedWord("multimem.ld_reduce.global.max.bf16x2", 0x7fc0'bf80,
                        0xc000'7fc0),
            0xc000'bf80u);
  EXPECT_EQ(ReducedWord("multimem.ld_reduce.global.max.e4m3x4", 0x7f38'7f30,
                        0x387f'7f40),
            0x3838'7f40u);
}

TEST(MultimemExec, SmallNumbersOverflow) {
  // 57344 + 57344, infinity - 1, 57344 + 8192 (the next would be 65536),
  // 57344 + 2048 (the nearest is 57344).
  EXPECT_EQ(ReducedWord("multimem.ld_reduce.global.add.e5m2x4", 0x7b7b'fc7b,
                        0x687b'bc70),
            0x7b7c'fc7cu);
  // 448 + 448, -448 - 448, NaN + 1, 1 + 1.
  EXPECT_EQ(ReducedWord("multimem.ld_reduce.global.add.e4m3x4", 0x7efe'7f38,
                        0x7efe'3838),
            0x7efe'7f40u);
}

// A sum of halves in f32 is rounded once: 2048 + 1 + 1, where a half has 2048
// and 2050.
TEST(MultimemExec, SumsAreAsPreciseAsAsked) {
  for (const bool wide : {false, true}) {
    const Form form = FormOf(std::string("multimem.ld_reduce.global.add") +
                             (wide ? ".acc::f32" : "") + ".f16x2");
    auto module =
        PtxModule::Compile(kHeader + Kernel("k", form, /*loads=*/true));
    ASSERT_TRUE(module) << module.error().ToString();
    Team team(**module, 3, 4);
    Buffer data((*module)->device(), 4);
    const std::uint32_t words[] = {0x6800'6800, 0x3c00'3c00, 0x3c00'3c00};
    for (std::size_t d = 0; d < 3; ++d)
      std::memcpy(team.memory(d), &words[d], 4);
    Launch launch;
    launch.params = {kRange, data.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(*data.as<std::uint32_t>(), wide ? 0x6801'6801u : 0x6800'6800u);
  }
}

// ---- Addresses --------------------------------------------------------------

// The kind of the fault, or 0.
std::uint32_t FaultOf(std::uint64_t address, bool known = true) {
  const Form form = FormOf("multimem.st.v2.f32");
  auto module =
      PtxModule::Compile(kHeader + Kernel("k", form, /*loads=*/false));
  EXPECT_TRUE(module) << module.error().ToString();
  if (!module) return ~0u;
  Team team(**module, 2, 64, known);
  Buffer data((*module)->device(), 8);
  *data.as<std::uint64_t>() = 1;
  Launch launch;
  launch.params = {address, data.address()};
  const Status status = (*module)->Run("k", launch);
  EXPECT_TRUE(status) << status.error().ToString();
  return team.fault();
}

TEST(MultimemExec, OtherAddressesAreFaults) {
  constexpr std::uint32_t kMulticast = 4;
  EXPECT_EQ(FaultOf(kRange), 0u);
  EXPECT_EQ(FaultOf(kRange + 56), 0u);
  // Behind, half behind, before, and somewhere else.
  EXPECT_EQ(FaultOf(kRange + 64), kMulticast);
  EXPECT_EQ(FaultOf(kRange + 60), kMulticast);
  EXPECT_EQ(FaultOf(kRange - 8), kMulticast);
  EXPECT_EQ(FaultOf(0), kMulticast);
  // A stub that knows no such memory leaves no table.
  EXPECT_EQ(FaultOf(kRange, /*known=*/false), kMulticast);
}

// A loop that waits for what another block adds everywhere.
TEST(MultimemExec, ALoopWaitsForAllDevices) {
  const std::string text =
      std::string(kHeader) +
      ".visible .entry k(.param .u64 a, .param .u64 out)\n{\n"
      "  .reg .b64 %a, %out;\n  .reg .b32 %r<3>;\n  .reg .pred %p;\n"
      "  ld.param.u64 %a, [a];\n  ld.param.u64 %out, [out];\n"
      "  mov.u32 %r0, %ctaid.x;\n  setp.ne.u32 %p, %r0, 0;\n"
      "  @%p bra WAIT;\n"
      "  st.global.u32 [%out], 41;\n"
      "  multimem.red.release.sys.global.add.u32 [%a], 1;\n  ret;\n"
      "WAIT:\n  multimem.ld_reduce.acquire.sys.global.add.u32 %r1, [%a];\n"
      "  setp.ne.u32 %p, %r1, 3;\n  @%p bra WAIT;\n"
      "  ld.global.u32 %r2, [%out];\n  add.u32 %r2, %r2, 1;\n"
      "  st.global.u32 [%out+4], %r2;\n  ret;\n}\n";
  auto module = PtxModule::Compile(text);
  ASSERT_TRUE(module) << module.error().ToString();
  Team team(**module, 3, 4);
  for (std::size_t d = 0; d < 3; ++d) std::memset(team.memory(d), 0, 4);
  Buffer out((*module)->device(), 8);
  Launch launch;
  launch.grid = {2, 1, 1};
  launch.params = {kRange, out.address()};
  const Status status = (*module)->Run("k", launch);
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(out.as<std::uint32_t>()[1], 42u);
}

}  // namespace
}  // namespace cerberus::exec
