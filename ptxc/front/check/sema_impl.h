// The checker's state, shared by sema.cc (declarations, functions),
// sema_instruction.cc (what single instructions ask for, calls)
// and sema_operand.cc (operands by the rows of the table).
#ifndef CERBERUS_PTXC_FRONT_CHECK_SEMA_IMPL_H_
#define CERBERUS_PTXC_FRONT_CHECK_SEMA_IMPL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptxc/front/ast.h"
#include "ptxc/front/check/sema.h"
#include "ptxc/front/opcode_table.h"
#include "support/diag.h"

namespace cerberus::ptx {

// In quotes, as messages name things.
std::string Quote(std::string_view text);

// How a register's type must agree with the instruction's.
enum class Width : std::uint8_t {
  kSame,
  kWider,  // ld, st, cvt: the register may be wider (PTX ISA, "Operand Size
           // Exceeding Instruction-Type Size")
};

// PTX ISA, "Type Information for Instructions and Operands": integers agree
// with integers, floats with the same float, everything with bits.
bool Agrees(Type instruction, Type reg, Width width);

class Checker {
 public:
  Checker(Module& module, const DiagSink& sink)
      : module_(module), sink_(sink) {}

  int Run(int* module_errors);

 private:
  // ---- Reporting ----
  void Report(Severity severity, std::uint32_t offset, std::uint32_t loc,
              std::string message);
  void Error(std::uint32_t offset, std::string message);
  void Warn(std::uint32_t offset, std::string message);
  std::string Mnemonic() const { return Quote(inst_->form->spelling); }
  std::string Text(const Operand& o) const;

  // ---- Declarations ----
  void CheckVariable(const Variable& v);
  void CheckConstantMemory();
  void CheckParameters(const Function& f);

  // ---- Functions ----
  void CheckFunction(Function& f);
  void CheckInstruction(const Instruction& inst);
  const Operand& OperandAt(int i) const;
  bool Matches(const OperandSpec& spec, const Operand& o, int at,
               const OpcodeRow& row) const;
  void CheckConstants(const Instruction& inst);
  void CheckMovedVectors(const Modifiers& mods);
  void CheckLanes(char unit, unsigned lanes);
  void CheckFraction(const Operand& o);
  void Gate(const OpcodeRow& row);

  // ---- Operands ----
  static std::string Expected(std::uint32_t c);
  void WrongKind(const OperandSpec& spec, const Operand& o);
  Type TypeOf(const OperandSpec& spec) const;
  Width WidthOf(const OperandSpec& spec) const;
  void CheckOperand(const OperandSpec& spec, const Operand& o);
  void CheckReference(const Operand& o, bool second);
  void CheckTexture(const Operand& o);
  void CheckNames(const Operand& composite);
  void Mismatch(const OperandSpec& spec, const Operand& o, Type has, Type want);
  void CheckConstant(const OperandSpec& spec, const Operand& o, Type type);
  void CheckRegister(const OperandSpec& spec, const Operand& o, Type type,
                     int width);
  bool HoldsElement(Type element, Type reg) const;
  void CheckVector(const OperandSpec& spec, const Operand& o, Type type);
  void CheckPair(const OperandSpec& spec, const Operand& o, Type type);
  void CheckSymbol(const Operand& o);
  bool CheckCounter(const Operand& o);
  bool NeedsWideAddress() const;
  void CheckAddress(const Operand& o);

  // ---- Calls ----
  void CheckCall(const Instruction& inst);
  void CheckSignature(std::string_view name,
                      const std::vector<std::uint32_t>& formal_returns,
                      const Operand& returns,
                      const std::vector<std::uint32_t>& formal_params,
                      const Operand& arguments);
  void CheckList(std::string_view verb, std::string_view name,
                 const std::vector<std::uint32_t>& formals,
                 const Operand& actuals);

  Module& module_;
  const DiagSink& sink_;
  Function* function_ = nullptr;
  const Instruction* inst_ = nullptr;
  int errors_ = 0;
  bool said_limit_ = false;
  int module_errors_ = 0;
  std::vector<bool> gated_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_CHECK_SEMA_IMPL_H_
