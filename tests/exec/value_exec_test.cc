// Executes every instruction that turns registers into registers: each row of
// the table that is lowered, in every spelling the row allows, on edge values
// and random ones, and compares with the manual's arithmetic. Then again with
// constants for operands, which the compiler computes with instead of the GPU,
// and in kernels whose f32 arithmetic flushes subnormals.
//
// A lowered row without a reference fails its test unless the list below says
// which other test executes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ptxc/front/opcode_table.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

// Opcodes that need memory, other lanes or control flow; memory_exec_test.cc,
// warp_exec_test.cc and control_exec_test.cc execute them.
const std::set<std::string_view> kElsewhere = {
#define EXECUTED_ELSEWHERE(opcode, test) opcode,
#include "tests/exec/executed_elsewhere.def"
};

// Operand slots of 16 bytes in memory; one thread runs one case.
constexpr std::uint32_t kCases = 256;
constexpr std::size_t kSlot = 16;
// So many of the cases also come as constants.
constexpr std::size_t kConstantCases = 6;
// A kernel executes several tests one after the other, since a kernel costs
// the compiler far more than an instruction.
constexpr std::size_t kTestsOfKernel = 12;
constexpr std::size_t kTestsOfModule = 8 * kTestsOfKernel;

std::string RegisterType(const PtxType& type) {
  if (type.kind == PtxType::Kind::kPred) return ".pred";
  if (type.bits == 8 && type.is_float()) return ".b8";
  if (type.bits <= 16) return ".b16";
  return ".b" + std::to_string(type.bits);
}

// `base`: where the kernel's test keeps its first slot.
std::string LoadInput(int i, const PtxType& type, std::size_t base) {
  const std::string reg = "%a" + std::to_string(i);
  const std::string at =
      "[%at+" + std::to_string(base + static_cast<std::size_t>(i) * kSlot) +
      "]";
  if (type.kind == PtxType::Kind::kPred) {
    const std::string raw = "%p" + std::to_string(i);
    return "  .reg .b32 " + raw + ";\n  ld.global.b32 " + raw + ", " + at +
           ";\n  and.b32 " + raw + ", " + raw + ", 1;\n  setp.ne.u32 " + reg +
           ", " + raw + ", 0;\n";
  }
  return "  ld.global" + RegisterType(type) + " " + reg + ", " + at + ";\n";
}

std::string StoreOutput(int i, const PtxType& type, std::size_t base) {
  const std::string reg = "%d" + std::to_string(i);
  const std::string at =
      "[%to+" + std::to_string(base + static_cast<std::size_t>(i) * kSlot) +
      "]";
  if (type.kind == PtxType::Kind::kPred) {
    const std::string raw = "%q" + std::to_string(i);
    return "  .reg .b32 " + raw + ";\n  selp.b32 " + raw + ", 1, 0, " + reg +
           ";\n  st.global.b32 " + at + ", " + raw + ";\n";
  }
  return "  st.global" + RegisterType(type) + " " + at + ", " + reg + ";\n";
}

std::string Hex(Value v) {
  char text[64];
  if (High(v) != 0) {
    std::snprintf(text, sizeof text, "0x%llx%016llx",
                  static_cast<unsigned long long>(High(v)),
                  static_cast<unsigned long long>(Low(v)));
  } else {
    std::snprintf(text, sizeof text, "0x%llx",
                  static_cast<unsigned long long>(Low(v)));
  }
  return text;
}

std::string ConstantInput(int i, const PtxType& type, Value v) {
  const std::string reg = "%a" + std::to_string(i);
  v = Truncate(v, type.bits);
  switch (type.bits) {
    case 1:
      return "  mov.pred " + reg + ", " + ((v & 1) != 0 ? "1" : "0") + ";\n";
    case 8:
      if (RegisterType(type) != ".b8") break;
      return "  mov.b16 {" + reg + ", _}, " + Hex(v) + ";\n";
    case 128:
      return "  mov.b128 " + reg + ", {" + Hex(Low(v)) + ", " + Hex(High(v)) +
             "};\n";
    default: break;
  }
  return "  mov" + RegisterType(type) + " " + reg + ", " + Hex(v) + ";\n";
}

// One test in a scope of its own. Its inputs come from memory at `in`, or are
// `constants`.
std::string TestText(const ValueTest& test, std::size_t in, std::size_t out,
                     const std::vector<Value>* constants) {
  const int inputs = static_cast<int>(test.inputs.size());
  const int outputs = static_cast<int>(test.outputs.size());
  const auto stride = [](int n) { return std::to_string(n * 16); };
  std::string text = "{\n  .reg .b64 %at, %to;\n";
  text += "  mad.wide.u32 %at, %thread, " + stride(inputs) + ", %in;\n";
  text += "  mad.wide.u32 %to, %thread, " + stride(outputs) + ", %out;\n";
  for (int i = 0; i < inputs; ++i) {
    const PtxType& type = test.inputs[static_cast<std::size_t>(i)];
    text += "  .reg " + RegisterType(type) + " %a" + std::to_string(i) + ";\n";
    text +=
        constants == nullptr
            ? LoadInput(i, type, in)
            : ConstantInput(i, type, (*constants)[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < outputs; ++i) {
    text += "  .reg " +
            RegisterType(test.outputs[static_cast<std::size_t>(i)]) + " %d" +
            std::to_string(i) + ";\n";
  }
  if (!test.body.empty()) {
    text += "  " + test.body + "\n";
  } else {
    text += "  " + test.spelling->text() + " %d0";
    for (int i = 0; i < inputs; ++i) text += ", %a" + std::to_string(i);
    text += ";\n";
  }
  for (int i = 0; i < outputs; ++i) {
    text += StoreOutput(i, test.outputs[static_cast<std::size_t>(i)], out);
  }
  return text + "}\n";
}

using Tests = std::span<const ValueTest>;
// The cases of each test: tuples of inputs.
using Inputs = std::vector<std::vector<std::vector<Value>>>;

enum class Variant {
  kInMemory,  // inputs come from memory
  kConstant,  // inputs are constants
  // From memory, and the f32 arithmetic in the kernel is all .ftz, so that the
  // hardware may be told to flush; what is no f32 must not notice.
  kFlushing,
};

std::string KernelText(const std::string& name, Tests tests,
                       const Inputs& inputs, Variant variant) {
  std::string text = ".visible .entry " + name +
                     "(.param .u64 in, .param .u64 out)\n{\n"
                     "  .reg .b64 %in, %out;\n  .reg .b32 %thread;\n"
                     "  ld.param.u64 %in, [in];\n"
                     "  ld.param.u64 %out, [out];\n"
                     "  mov.u32 %thread, %tid.x;\n";
  if (variant == Variant::kFlushing) {
    text +=
        "  .reg .f32 %ftz;\n  mov.f32 %ftz, 0f3f800000;\n"
        "  add.ftz.f32 %ftz, %ftz, %ftz;\n";
  }
  std::size_t in = 0, out = 0;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    const ValueTest& test = tests[t];
    if (variant == Variant::kConstant) {
      for (const std::vector<Value>& tuple : inputs[t]) {
        text += TestText(test, 0, out, &tuple);
        out += kSlot * test.outputs.size();
      }
    } else {
      text += TestText(test, in, out, nullptr);
      in += kSlot * test.inputs.size() * inputs[t].size();
      out += kSlot * test.outputs.size() * inputs[t].size();
    }
  }
  return text + "  ret;\n}\n";
}

// kCases tuples of inputs: the test's own, then edge values in all pairs as
// far as they go, then random ones.
std::vector<std::vector<Value>> Cases(const ValueTest& test,
                                      std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<Value>> cases = test.extra_cases;
  std::vector<std::vector<Value>> edges;
  for (const PtxType& type : test.inputs) edges.push_back(EdgeValues(type));
  std::size_t i = 0;
  while (cases.size() < kCases) {
    std::vector<Value> tuple;
    const bool edge = cases.size() < kCases * 3 / 4;
    for (std::size_t k = 0; k < test.inputs.size(); ++k) {
      const std::vector<Value>& list = edges[k];
      Value v = (static_cast<Value>(random()) << 64) | random();
      if (edge) {
        // First operand in turn, the others at random: every edge value of
        // the first meets several of the others.
        v = k == 0 ? list[i % list.size()] : list[random() % list.size()];
      } else if (test.inputs[k].is_float() && random() % 2 == 0) {
        // Numbers of like size, so that sums cancel.
        const Value base = list[random() % list.size()];
        v = base ^ (random() & 0xffff);
      } else if (random() % 3 == 0) {
        v = random() % 70;  // shift counts, small integers
      }
      tuple.push_back(v);
    }
    cases.push_back(std::move(tuple));
    ++i;
  }
  cases.resize(kCases);
  return cases;
}

void CheckOutputs(const ValueTest& test,
                  const std::vector<std::vector<Value>>& cases,
                  const Value* out) {
  int wrong = 0;
  for (std::size_t c = 0; c < cases.size() && wrong < 3; ++c) {
    const std::vector<Value>& inputs = cases[c];
    const std::vector<Want> wants = test.expect(inputs);
    for (std::size_t k = 0; k < test.outputs.size(); ++k) {
      const PtxType& type = test.outputs[k];
      const Value got = Truncate(*out++, type.bits);
      if (Matches(wants[k], type, got)) continue;
      ++wrong;
      std::string operands;
      for (std::size_t n = 0; n < inputs.size(); ++n) {
        operands += (n == 0 ? "" : ", ") +
                    Hex(Truncate(inputs[n], test.inputs[n].bits));
      }
      ADD_FAILURE() << test.spelling->text() << " "
                    << (test.body.empty() ? "" : "[" + test.body + "] ") << "("
                    << operands << ") output " << k << ": got " << Hex(got)
                    << ", want " << Hex(Truncate(wants[k].bits, type.bits));
    }
  }
}

// `first`: what the seed of the first test's values is.
Inputs InputsOf(Tests tests, std::size_t first, Variant variant) {
  Inputs inputs;
  for (const ValueTest& test : tests) {
    std::vector<std::vector<Value>> cases = Cases(test, first + inputs.size());
    if (variant == Variant::kConstant) {
      // From all parts of the list.
      for (std::size_t i = 0; i < kConstantCases; ++i) {
        cases[i] = cases[(i * kCases / kConstantCases + first) % kCases];
      }
      cases.resize(kConstantCases);
    }
    inputs.push_back(std::move(cases));
  }
  return inputs;
}

void RunKernel(PtxModule& module, const std::string& kernel, Tests tests,
               const Inputs& inputs, Variant variant) {
  std::size_t values = 0, out_bytes = 0;
  for (std::size_t t = 0; t < tests.size(); ++t) {
    values += tests[t].inputs.size() * inputs[t].size();
    out_bytes += kSlot * tests[t].outputs.size() * inputs[t].size();
  }
  Buffer in(module.device(), kSlot * values), out(module.device(), out_bytes);
  Value* slots = in.as<Value>();
  for (const auto& cases : inputs) {
    for (const std::vector<Value>& tuple : cases) {
      slots = std::copy(tuple.begin(), tuple.end(), slots);
    }
  }
  Launch launch;
  launch.block = {variant == Variant::kConstant ? 1u : kCases, 1, 1};
  launch.params = {in.address(), out.address()};
  const Status status = module.Run(kernel, launch);
  ASSERT_TRUE(status) << tests[0].spelling->text()
                      << ", …: " << status.error().ToString();
  const Value* results = out.as<Value>();
  for (std::size_t t = 0; t < tests.size(); ++t) {
    CheckOutputs(tests[t], inputs[t], results);
    results += tests[t].outputs.size() * inputs[t].size();
  }
}

// mad.f32 without a rounding modifier is of sm_1x alone.
std::string Header(Tests tests) {
  const Spelling& s = *tests[0].spelling;
  const bool old = s.opcode() == "mad" && s.Has("f32") &&
                   s.OneOf({"rn", "rz", "rm", "rp"}).empty();
  return std::string(".version 9.0\n.target ") + (old ? "sm_13" : "sm_100a") +
         "\n.address_size 64\n";
}

// Compiles in batches; if a batch fails, one by one to name the culprits.
void RunAll(Tests tests, Variant variant) {
  for (std::size_t at = 0; at < tests.size(); at += kTestsOfModule) {
    const Tests batch =
        tests.subspan(at, std::min(tests.size() - at, kTestsOfModule));
    struct Kernel {
      std::string name;
      Tests tests;
      Inputs inputs;
    };
    std::vector<Kernel> kernels;
    std::string text = Header(batch);
    for (std::size_t i = 0; i < batch.size(); i += kTestsOfKernel) {
      const Tests those =
          batch.subspan(i, std::min(batch.size() - i, kTestsOfKernel));
      kernels.push_back(
          {"k" + std::to_string(i), those, InputsOf(those, i + 1, variant)});
      text += KernelText(kernels.back().name, those, kernels.back().inputs,
                         variant);
    }
    Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(text);
    if (module) {
      for (const Kernel& kernel : kernels) {
        RunKernel(**module, kernel.name, kernel.tests, kernel.inputs, variant);
      }
      continue;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Tests one = batch.subspan(i, 1);
      const Inputs inputs = InputsOf(one, i + 1, variant);
      const std::string alone =
          Header(batch) + KernelText("k", one, inputs, variant);
      module = PtxModule::Compile(alone);
      if (module) {
        RunKernel(**module, "k", one, inputs, variant);
      } else {
        ADD_FAILURE() << batch[i].spelling->text() << ": "
                      << module.error().ToString() << alone;
      }
    }
  }
}

// May stand in a kernel whose f32 arithmetic flushes, and has to do with
// floating point.
bool MayBesideFlushing(const ValueTest& test) {
  const std::vector<PtxType>& types = test.spelling->types();
  return std::any_of(types.begin(), types.end(),
                     [](const PtxType& t) { return t.is_float(); }) &&
         (test.spelling->Has("ftz") ||
          std::none_of(types.begin(), types.end(), [](const PtxType& t) {
            return t.name == "f32" || t.name == "f32x2";
          }));
}

class RowTest : public ::testing::Test {
 public:
  explicit RowTest(const ptx::OpcodeRow* row) : row_(row) {}
  void TestBody() override {
    std::vector<ValueTest> tests;
    ptx::ForEachSpelling(*row_, false, [&](std::string_view spelling) {
      std::vector<ValueTest> found = ReferencesFor(spelling, row_->operands);
      if (found.empty()) {
        ADD_FAILURE() << "no reference for " << spelling;
      }
      for (ValueTest& test : found) tests.push_back(std::move(test));
    });
    RunAll(tests, Variant::kInMemory);
    RunAll(tests, Variant::kConstant);
    std::erase_if(tests,
                  [](const ValueTest& t) { return !MayBesideFlushing(t); });
    RunAll(tests, Variant::kFlushing);
  }

 private:
  const ptx::OpcodeRow* row_;
};

void RegisterRows() {
  std::map<std::string, int> seen;
  for (const ptx::OpcodeRow& row : ptx::OpcodeTable()) {
    if (!row.is_supported()) continue;
    const std::string name(row.name);
    if (kElsewhere.count(row.name) != 0 || TakesMemory(row)) continue;
    std::string test_name = name + "_" + std::to_string(seen[name]++);
    for (char& c : test_name) {
      if (c == '.' || c == ':') c = '_';
    }
    ::testing::RegisterTest(
        "ValueExec", test_name.c_str(), nullptr,
        std::string(row.syntax).c_str(), __FILE__, __LINE__,
        [row = &row]() -> ::testing::Test* { return new RowTest(row); });
  }
}

}  // namespace
}  // namespace cerberus::exec

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  cerberus::exec::RegisterRows();
  return RUN_ALL_TESTS();
}
