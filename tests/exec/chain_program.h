// Random programs of instructions that feed each other (chain_exec_test.cc):
// what they are made of.
#ifndef CERBERUS_TESTS_EXEC_CHAIN_PROGRAM_H_
#define CERBERUS_TESTS_EXEC_CHAIN_PROGRAM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/exec/reference.h"

namespace cerberus::exec {

// A last wave that is half full, also where waves have 64 lanes.
constexpr std::uint32_t kLanes = 160;

// The registers of a program: these many of each class, in this order.
struct RegisterClass {
  const char* type;
  const char* prefix;
  int bits;
  int first;
  int count;
};
constexpr std::array<RegisterClass, 4> kClasses = {{{".pred", "%p", 1, 0, 5},
                                                    {".b16", "%h", 16, 5, 6},
                                                    {".b32", "%r", 32, 11, 8},
                                                    {".b64", "%l", 64, 19, 6}}};
constexpr int kRegisters = 25;

inline const RegisterClass& ClassOf(int reg) {
  std::size_t i = 0;
  while (reg >= kClasses[i].first + kClasses[i].count) ++i;
  return kClasses[i];
}
inline std::string NameOf(int reg) {
  const RegisterClass& those = ClassOf(reg);
  return those.prefix + std::to_string(reg - those.first);
}
// The class whose registers a value of the type fills; null if none is.
inline const RegisterClass* ClassFor(const PtxType& type) {
  for (const RegisterClass& those : kClasses) {
    if (those.bits == type.bits) return &those;
  }
  return nullptr;
}

struct Operand {
  int reg = -1;  // < 0: a constant
  Value value = 0;
};

// What an instruction of a whole warp computes: of the lanes that execute it,
// and their inputs, the outputs of each; none where the manual leaves it open.
using Outputs = std::vector<std::optional<Value>>;
using WarpFunction = std::function<std::vector<Outputs>(
    std::span<const int> lanes, std::span<const std::vector<Value>> inputs)>;

struct Step {
  enum class Kind { kInstruction, kIf, kLoop } kind = Kind::kInstruction;
  int id = 0;
  // kInstruction; `warp` is set where lanes work together, and then "%mask" in
  // the test's body stands for the lanes that come there.
  std::shared_ptr<const ValueTest> test;
  WarpFunction warp;
  std::vector<int> outputs;
  std::vector<Operand> inputs;
  // The predicate of a guarded instruction (or < 0) and of a branch.
  int guard = -1;
  bool negated = false;
  // kLoop: runs `count` times, or the low two bits of a register if >= 0.
  int count = 0;
  int counter = -1;
  std::vector<Step> body;
  std::vector<Step> otherwise;
};
using Steps = std::vector<Step>;

// Makes programs: each follows from its seed and from those made before.
class Instructions;
class ProgramMaker {
 public:
  ProgramMaker();
  ~ProgramMaker();
  Steps Make(std::uint64_t seed);

 private:
  std::unique_ptr<Instructions> instructions_;
};

// The text of an instruction's test is more than one instruction, or declares
// something.
bool IsScoped(const ValueTest& test);

// The steps as PTX. `mask`: the register, or number, of the lanes that come
// here.
std::string Text(const Steps& steps, const std::string& mask);

// As PTX: loads all registers from the lane's slots of 8 bytes, runs, stores
// them.
std::string KernelText(const std::string& name, const Steps& steps);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_CHAIN_PROGRAM_H_
