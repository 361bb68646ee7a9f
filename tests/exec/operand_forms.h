// Values of operands, and the forms in which PTX may write them.
#ifndef CERBERUS_TESTS_EXEC_OPERAND_FORMS_H_
#define CERBERUS_TESTS_EXEC_OPERAND_FORMS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ptxc/front/opcode_table.h"
#include "tests/exec/value.h"

namespace cerberus::exec {

constexpr std::uint32_t kLanes = 32;

// What CERBERUS_TEST_OPERANDS says; null in the normal run.
const char* Wanted();

// "all" or an opcode, and how many values.
std::string_view WantedOpcode();

// How many values each source takes.
int Rounds();

int RegisterBits(ptx::Type type);
std::string RegisterType(ptx::Type type);
std::string Hex(Value v, int digits = 1);

// The value of a source, never 0: small ones and large ones.
Value ValueOf(ptx::Type type, std::string_view name, int source, int round);

// How a source is written.
enum class Form {
  kRegister,   // loaded by each lane
  kParameter,  // ld.param
  kSum,        // %r+4
  kInverse,    // !%p
  kHex,        // 0x…, also of floats' bits
  kNegative,   // -5
  kFloat,      // 0f…, 0d…
  kLane,       // a register with the lane's number
  kSpecial,    // %laneid itself
};
constexpr Form kForms[] = {Form::kParameter, Form::kSum,      Form::kInverse,
                           Form::kHex,       Form::kNegative, Form::kFloat,
                           Form::kLane,      Form::kSpecial};

// The operand and what has to stand in front of the instruction; an empty
// text where the form does not exist for the type.
struct Written {
  std::string before;
  std::string text;
};

// Loads a source's value from `at`, "[address]", in `space`.
std::string LoadInto(const std::string& reg, ptx::Type type,
                     const std::string& space, const std::string& at);

// `lane_at` and `param_at`: where the lane's value, and the kernel's parameter,
// are.
Written Write(Form form, ptx::Type type, Value v, const std::string& reg,
              const std::string& lane_at, const std::string& param_at);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_OPERAND_FORMS_H_
