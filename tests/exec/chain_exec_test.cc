// Random programs: instructions that feed each other, in branches and loops
// that lanes take differently, with constants among their operands and, in
// half of them, instructions of whole warps. Each is
// computed on the host, an instruction at a time, by the same references that
// value_exec_test.cc holds against single instructions; what only goes wrong
// where the compiler merges, moves or folds instructions shows here.
//
// CERBERUS_TEST_CHAINS=FIRST:COUNT runs other programs than the few that
// belong to the test; CERBERUS_TEST_CHAINS_DIR keeps their PTX in a folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/exec/chain_program.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"

namespace cerberus::exec {
namespace {

constexpr std::uint64_t kProgramsOfModule = 8;
constexpr std::uint64_t kProgramsOfTest = 48;

constexpr char kHeader[] = ".version 9.0\n.target sm_100a\n.address_size 64\n";

// ---------------------------------------------------------------------------
// On the host
// ---------------------------------------------------------------------------

// A lane's registers. Where the manual leaves bits open (the payload of a NaN)
// nothing is known of what follows from them.
struct Lane {
  int id = 0;  // in its warp
  std::array<Value, kRegisters> values = {};
  std::array<bool, kRegisters> open = {};
};
using Lanes = std::vector<Lane*>;

// A branch went by something open: nothing is known of the warp any more.
struct Lost {};

bool HasNan(const PtxType& type, Value value) {
  if (!type.is_float()) return false;
  const FloatFormat& format = FormatOf(type);
  const int bits = type.element_bits();
  for (int e = 0; e < type.elements; ++e) {
    if (format.IsNan(Low(Truncate(value >> (e * bits), bits)))) return true;
  }
  return false;
}

// The inputs; none if one of them is open.
std::optional<std::vector<Value>> InputsOf(const Step& step, const Lane& lane) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const Operand& operand = step.inputs[i];
    const auto reg = static_cast<std::size_t>(operand.reg);
    if (operand.reg >= 0 && lane.open[reg]) return std::nullopt;
    inputs.push_back(
        Truncate(operand.reg >= 0 ? lane.values[reg] : operand.value,
                 step.test->inputs[i].bits));
  }
  return inputs;
}

void SetOutput(const Step& step, std::size_t k, std::optional<Value> value,
               Lane* lane) {
  const auto reg = static_cast<std::size_t>(step.outputs[k]);
  lane->open[reg] = !value;
  if (value) lane->values[reg] = Truncate(*value, step.test->outputs[k].bits);
}

void RunInstruction(const Step& step, Lane* lane) {
  const ValueTest& test = *step.test;
  const std::optional<std::vector<Value>> inputs = InputsOf(step, *lane);
  std::vector<Want> wants;
  if (inputs) wants = test.expect(*inputs);
  for (std::size_t k = 0; k < step.outputs.size(); ++k) {
    const bool known = inputs && wants[k].match == Want::Match::kExact &&
                       !HasNan(test.outputs[k], wants[k].bits);
    SetOutput(step, k, known ? std::optional(wants[k].bits) : std::nullopt,
              lane);
  }
}

void RunOfWarp(const Step& step, const Lanes& lanes) {
  std::vector<int> ids;
  std::vector<std::vector<Value>> inputs;
  for (Lane* lane : lanes) {
    std::optional<std::vector<Value>> of_lane = InputsOf(step, *lane);
    if (!of_lane) throw Lost();
    ids.push_back(lane->id);
    inputs.push_back(*std::move(of_lane));
  }
  const std::vector<Outputs> outputs = step.warp(ids, inputs);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (std::size_t k = 0; k < step.outputs.size(); ++k) {
      SetOutput(step, k, outputs[i][k], lanes[i]);
    }
  }
}

// Whether the lane passes the step's predicate; none if that is open.
std::optional<bool> Passes(const Step& step, const Lane& lane) {
  if (step.guard < 0) return true;
  const auto guard = static_cast<std::size_t>(step.guard);
  if (lane.open[guard]) return std::nullopt;
  return (lane.values[guard] != 0) != step.negated;
}

// `lanes`: those of one warp that come here together.
void Run(const Steps& steps, const Lanes& lanes) {
  if (lanes.empty()) return;
  for (const Step& step : steps) {
    switch (step.kind) {
      case Step::Kind::kInstruction: {
        if (step.warp) {
          RunOfWarp(step, lanes);
          break;
        }
        for (Lane* lane : lanes) {
          const std::optional<bool> passes = Passes(step, *lane);
          if (passes == std::optional(true)) RunInstruction(step, lane);
          if (passes) continue;
          for (std::size_t k = 0; k < step.outputs.size(); ++k) {
            SetOutput(step, k, std::nullopt, lane);
          }
        }
        break;
      }
      case Step::Kind::kIf: {
        Lanes taken, others;
        for (Lane* lane : lanes) {
          const std::optional<bool> passes = Passes(step, *lane);
          if (!passes) throw Lost();
          (*passes ? taken : others).push_back(lane);
        }
        Run(step.body, taken);
        Run(step.otherwise, others);
        break;
      }
      case Step::Kind::kLoop: {
        std::map<const Lane*, int> left;
        for (Lane* lane : lanes) {
          left[lane] = step.count;
          if (step.counter < 0) continue;
          const auto counter = static_cast<std::size_t>(step.counter);
          if (lane->open[counter]) throw Lost();
          left[lane] = static_cast<int>(Low(lane->values[counter]) & 3);
        }
        for (Lanes inside = lanes;;) {
          std::erase_if(inside, [&](Lane* lane) { return left[lane]-- == 0; });
          if (inside.empty()) break;
          Run(step.body, inside);
        }
        break;
      }
    }
  }
}

// Half edge values, mostly small numbers of the class's floating-point type,
// half any bits.
std::vector<Lane> FirstValues(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Lane> lanes(kLanes);
  const std::array<std::vector<Value>, 4> edges = {
      EdgeValues(*FindType("pred")), EdgeValues(*FindType("f16")),
      EdgeValues(*FindType("f32")), EdgeValues(*FindType("f64"))};
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    lane.id = static_cast<int>(i % 32);
    for (int reg = 0; reg < kRegisters; ++reg) {
      const RegisterClass& those = ClassOf(reg);
      const auto& list =
          edges[static_cast<std::size_t>(&those - kClasses.data())];
      Value value = random();
      if (random() % 2 == 0) value = list[random() % list.size()];
      if (random() % 4 == 0) value = random() % 70;
      lane.values[static_cast<std::size_t>(reg)] = Truncate(value, those.bits);
    }
  }
  return lanes;
}

// ---------------------------------------------------------------------------
// Both
// ---------------------------------------------------------------------------

// False if nothing is known of what it computes.
bool RunWarp(const Steps& steps, std::span<Lane> warp) {
  Lanes lanes;
  for (Lane& lane : warp) lanes.push_back(&lane);
  try {
    Run(steps, lanes);
  } catch (Lost) {
    return false;
  }
  return true;
}

// What differs, "" if nothing does; `compared` counts registers of lanes.
std::string Compare(PtxModule& module, const std::string& kernel,
                    const Steps& steps, std::uint64_t seed,
                    std::size_t* compared) {
  std::vector<Lane> lanes = FirstValues(seed);
  Buffer in(module.device(), 8 * kRegisters * kLanes);
  Buffer out(module.device(), 8 * kRegisters * kLanes);
  std::uint64_t* slot = in.as<std::uint64_t>();
  for (const Lane& lane : lanes) {
    for (Value value : lane.values) *slot++ = Low(value);
  }
  Launch launch;
  launch.block = {kLanes, 1, 1};
  launch.params = {in.address(), out.address()};
  const Status status = module.Run(kernel, launch);
  if (!status) return status.error().ToString();
  for (std::size_t i = 0; i < kLanes; ++i) {
    Lane& lane = lanes[i];
    if (i % 32 == 0 && !RunWarp(steps, std::span(lanes).subspan(i, 32))) {
      i += 31;
      continue;
    }
    for (int reg = 0; reg < kRegisters; ++reg) {
      const auto r = static_cast<std::size_t>(reg);
      if (lane.open[r]) continue;
      ++*compared;
      const Value got = Truncate(out.as<std::uint64_t>()[i * kRegisters + r],
                                 ClassOf(reg).bits);
      if (got == lane.values[r]) continue;
      char text[120];
      std::snprintf(
          text, sizeof text, "thread %zu, %s: got 0x%llx, want 0x%llx", i,
          NameOf(reg).c_str(), static_cast<unsigned long long>(Low(got)),
          static_cast<unsigned long long>(Low(lane.values[r])));
      return text;
    }
  }
  return "";
}

std::string RunAlone(const Steps& steps, std::uint64_t seed) {
  Result<std::unique_ptr<PtxModule>> module =
      PtxModule::Compile(kHeader + KernelText("k", steps));
  if (!module) return module.error().ToString();
  std::size_t compared = 0;
  return Compare(**module, "k", steps, seed, &compared);
}

// Leaves out what can be left out with the program still failing.
void Shrink(Steps* all, Steps* list, std::uint64_t seed) {
  for (std::size_t i = list->size(); i-- > 0;) {
    const Step step = (*list)[i];
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
    if (!RunAlone(*all, seed).empty()) continue;
    list->insert(list->begin() + static_cast<std::ptrdiff_t>(i), step);
    Shrink(all, &(*list)[i].body, seed);
    Shrink(all, &(*list)[i].otherwise, seed);
  }
}

std::pair<std::uint64_t, std::uint64_t> Seeds() {
  unsigned long long first = 1, count = kProgramsOfTest;
  if (const char* text = std::getenv("CERBERUS_TEST_CHAINS")) {
    std::sscanf(text, "%llu:%llu", &first, &count);
  }
  return {first, count};
}

TEST(ChainExec, RandomPrograms) {
  ProgramMaker maker;
  const auto [first, count] = Seeds();
  std::size_t compared = 0;
  for (std::uint64_t at = first; at < first + count; at += kProgramsOfModule) {
    std::string text = kHeader;
    std::vector<Steps> programs;
    for (std::uint64_t seed = at; seed < at + kProgramsOfModule; ++seed) {
      programs.push_back(maker.Make(seed));
      text += KernelText("k" + std::to_string(seed), programs.back());
    }
    if (const char* folder = std::getenv("CERBERUS_TEST_CHAINS_DIR")) {
      std::ofstream(std::string(folder) + "/" + std::to_string(at) + ".ptx")
          << text;
    }
    Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(text);
    for (std::uint64_t i = 0; i < kProgramsOfModule; ++i) {
      Steps& program = programs[i];
      const std::uint64_t seed = at + i;
      const std::string wrong =
          module ? Compare(**module, "k" + std::to_string(seed), program, seed,
                           &compared)
                 : RunAlone(program, seed);
      if (wrong.empty()) continue;
      Shrink(&program, &program, seed);
      ADD_FAILURE() << "program " << seed << ": " << wrong
                    << "\nshrunk: " << RunAlone(program, seed) << "\n"
                    << Text(program, "0xffffffff");
    }
  }
  // Most of what is computed is known to the last bit.
  EXPECT_GT(compared, count * kLanes * kRegisters / 4);
  RecordProperty("compared", std::to_string(compared));
}

// What random programs found: a body between %l0, which comes from memory, and
// %l1, its input and what it must compute.
struct Found {
  const char* body;
  std::uint64_t input;
  std::uint64_t want;
};
constexpr Found kFound[] = {
    // An integer of few significant bits, too large for f16.
    {"setp.ne.u64 %p0, %l0, 0; selp.b32 %r0, 0x3f800000, 0, %p0;"
     "cvt.rm.f16.s32 %h0, %r0; cvt.u64.u16 %l1, %h0;",
     1, 0x7bff},
    // Between two subnormal numbers, found from the negative side.
    {"rcp.rn.f64 %l1, %l0;", 0xffdffffffffffffe, 0x8008000000000001},
    // Rounded to f32 on the way to bf16.
    {"cvt.u32.u64 %r0, %l0; cvt.rn.bf16.u32 %h0, %r0; cvt.u64.u16 %l1, %h0;",
     0xcf7fffff, 0x4f4f},
    // A constant half that is not the other.
    {"cvt.u32.u64 %r0, %l0; max.s16x2 %r1, %r0, 0x3f800000;"
     "cvt.u64.u32 %l1, %r1;",
     0x0001fff0, 0x3f800000},
    // bf16 subnormals beside f32 arithmetic that flushes.
    {"cvt.u32.u64 %r0, %l0; mov.f32 %r1, 0f3f800000; add.ftz.f32 %r1, %r1, "
     "%r1; mul.rn.bf16x2 %r1, %r0, 0x3f803f80; cvt.u64.u32 %l1, %r1;",
     0x00010002, 0x00010002},
    // A part of what two comparisons gave (passes/repairs/packed_selects.h).
    {"cvt.u32.u64 %r0, %l0; set.num.bf16x2.bf16x2 %r1, %r0, %r0;"
     "and.b32 %r1, %r1, 0xff00ffff; cvt.u64.u32 %l1, %r1;",
     0x7fc03f80, 0x00003f80},
    {"cvt.u32.u64 %r0, %l0; set.gt.f16x2.f16x2 %r1, %r0, 0;"
     "xor.b32 %r1, %r1, 0x80000001; cvt.u64.u32 %l1, %r1;",
     0x3c000000, 0xbc000001},
    // A half that is all ones (passes/repairs/known_ones.h).
    {"mov.u32 %r0, %tid.x; mad.wide.u32 %at, %r0, 16, %at;"
     "ld.volatile.global.b64 %l0, [%at]; or.b64 %l1, -64, %l0;"
     "ld.volatile.global.b64 %l0, [%at]; st.volatile.global.b64 [%at+8], %l1;"
     "or.b64 %l1, %l1, %l0;",
     1, 0xffffffffffffffc1},
    // A carry of a sum of which a part had wrapped (passes/repairs/carries.h).
    {"mov.u32 %r0, %tid.x; mad.wide.u32 %at, %r0, 16, %at;"
     "ld.volatile.global.b64 %l0, [%at]; mov.b64 {%r0, %r1}, %l0;"
     "add.u32 %r0, %r0, %r1; add.cc.u32 %r1, %r1, %r1;"
     "addc.cc.u32 %r0, %r0, 0; addc.u32 %r1, 0, 0; mov.b64 %l1, {%r0, %r1};",
     0x1ffffffff, 0},
    {"mov.u32 %r0, %tid.x; mad.wide.u32 %at, %r0, 16, %at;"
     "ld.volatile.global.b64 %l0, [%at]; cvt.u64.u32 %l1, %r0;"
     "mad.lo.cc.u64 %l0, %l0, %l0, %l1; addc.u64 %l1, 0, 0;",
     0x8000000080000001, 0},
    {"mov.u32 %r0, %tid.x; mad.wide.u32 %at, %r0, 16, %at;"
     "ld.volatile.global.b64 %l0, [%at]; mov.b64 {%r0, %r1}, %l0;"
     "sub.u32 %r1, %r0, %r1; mov.b64 %l0, {%r0, %r1}; cvt.u64.u32 %l1, %r0;"
     "sub.cc.u64 %l0, %l0, %l1; subc.u64 %l1, 0, 0;",
     0x200000001, 0},
    // A constant of v_fmamk_f16 that LLVM's disassembler crashed on.
    {"mov.u32 %r0, %tid.x; cvt.u16.u32 %h1, %r0; cvt.u16.u64 %h0, %l0;"
     "add.u16 %h0, %h0, %h1; add.u16 %h1, %h0, 1;"
     "{ .reg .b16 %c; mov.b16 %c, 0x00ff; fma.rn.f16 %h0, %h0, %c, %h1; }"
     "add.u16 %h0, %h0, %h1;"
     "cvt.u64.u16 %l1, %h0;",
     0x7800, 0xf002},
};

TEST(ChainExec, WhatRandomProgramsFound) {
  for (const Found& found : kFound) {
    const std::string text =
        std::string(kHeader) +
        ".visible .entry k(.param .u64 at)\n{\n  .reg .pred %p<2>;\n"
        "  .reg .b16 %h<2>;\n  .reg .b32 %r<2>;\n  .reg .b64 %at, %l<2>;\n"
        "  ld.param.u64 %at, [at];\n  ld.global.b64 %l0, [%at];\n  " +
        found.body + "\n  st.global.b64 [%at+8], %l1;\n  ret;\n}\n";
    SCOPED_TRACE(found.body);
    Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(text);
    ASSERT_TRUE(module) << module.error().ToString();
    Buffer memory((*module)->device(), 16);
    memory.as<std::uint64_t>()[0] = found.input;
    Launch launch;
    launch.params = {memory.address()};
    const Status status = (*module)->Run("k", launch);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(memory.as<std::uint64_t>()[1], found.want);
  }
}

}  // namespace
}  // namespace cerberus::exec
