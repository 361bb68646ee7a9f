#include "ptxc/front/check/sema.h"

#include <algorithm>
#include <utility>

#include "ptxc/front/check/sema_impl.h"
#include "ptxc/front/printer.h"

namespace cerberus::ptx {
namespace {

constexpr int kMaxErrors = 100;

}  // namespace

std::string Quote(std::string_view text) {
  return "'" + std::string(text) + "'";
}

bool Agrees(Type instruction, Type reg, Width width) {
  const TypeKind a = KindOf(instruction);
  const TypeKind b = KindOf(reg);
  if (a == TypeKind::kPred || b == TypeKind::kPred) return a == b;
  if (a == TypeKind::kOpaque || b == TypeKind::kOpaque) return true;
  const int need = std::max(BitsOf(instruction), 8);
  const int have = BitsOf(reg);
  if (have < need || (width == Width::kSame && have != need)) return false;
  // ptxas takes a .f16x2 register as one of 32 bits.
  const bool bits = b == TypeKind::kBit || reg == Type::kF16x2;
  switch (a) {
    case TypeKind::kBit:
    case TypeKind::kSubByte: return true;
    case TypeKind::kUnsigned:
    case TypeKind::kSigned:
      return bits || b == TypeKind::kUnsigned || b == TypeKind::kSigned;
    case TypeKind::kPackedInt:
      return bits || b == TypeKind::kUnsigned || b == TypeKind::kSigned ||
             b == TypeKind::kPackedInt;
    case TypeKind::kFloat:
    case TypeKind::kPackedFloat:
      return bits || reg == instruction || (reg == Type::kB64);
    case TypeKind::kAltFloat:
      // Held in .b16/.b32; older PTX used unsigned integers too.
      return bits || b == TypeKind::kUnsigned || b == TypeKind::kSigned ||
             reg == instruction;
    default: return true;
  }
}

int Checker::Run(int* module_errors) {
  for (const Variable& v : module_.variables)
    if (v.function == kNoId) CheckVariable(v);
  CheckConstantMemory();
  module_errors_ = errors_;
  for (Function& f : module_.functions) {
    function_ = &f;
    CheckFunction(f);
  }
  if (module_errors != nullptr) *module_errors = module_errors_;
  return errors_;
}

void Checker::Report(Severity severity, std::uint32_t offset, std::uint32_t loc,
                     std::string message) {
  if (!sink_) return;
  Diag diag =
      MakeDiag(DiagCode::kBadPtx, WhereOf(module_, function_, offset, loc),
               std::move(message));
  diag.severity = severity;
  sink_(diag);
}

void Checker::Error(std::uint32_t offset, std::string message) {
  ++errors_;
  if (function_ != nullptr) ++function_->errors;
  // A function's first error is why it is left out, so it is always said.
  const bool first = function_ != nullptr && function_->errors == 1;
  if (errors_ > kMaxErrors && !first) {
    if (said_limit_) return;
    said_limit_ = true;
    message = "more than " + std::to_string(kMaxErrors) +
              " errors; only their number is counted";
  }
  Report(Severity::kError, offset, inst_ == nullptr ? kNoId : inst_->loc,
         std::move(message));
}

void Checker::Warn(std::uint32_t offset, std::string message) {
  Report(Severity::kWarning, offset, inst_ == nullptr ? kNoId : inst_->loc,
         std::move(message));
}

std::string Checker::Text(const Operand& o) const {
  std::string text = PrintOperand(module_, *function_, o);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return Quote(text);
}

void Checker::CheckVariable(const Variable& v) {
  if (v.has_init &&
      (v.space == VarSpace::kShared || v.space == VarSpace::kLocal ||
       v.space == VarSpace::kParam))
    Error(v.offset, Quote(v.name) + " has an initialiser, but " +
                        std::string(VarSpaceName(v.space)) +
                        " variables cannot have one");
  if (v.type == Type::kPred && v.space != VarSpace::kReg)
    Error(v.offset, Quote(v.name) +
                        " is of type .pred, which only "
                        "registers have");
  if (v.size() == 0 && v.linkage != Linkage::kExtern &&
      (v.space == VarSpace::kGlobal || v.space == VarSpace::kConst ||
       v.space == VarSpace::kShared) &&
      KindOf(v.type) != TypeKind::kOpaque)
    Error(v.offset, Quote(v.name) +
                        " has no size, which only .extern "
                        "variables may leave open");
  if (v.has_init && v.linkage == Linkage::kExtern)
    Error(v.offset, Quote(v.name) + " is .extern and has an initialiser");
  if (v.space != VarSpace::kGlobal &&
      (v.linkage == Linkage::kCommon || v.managed))
    Error(v.offset, Quote(v.name) + " is in " +
                        std::string(VarSpaceName(v.space)) +
                        ", but only .global variables are .common or "
                        ".managed");
  for (const InitElement& e : v.init) {
    const bool is_float = e.kind == InitElement::Kind::kFloat32 ||
                          e.kind == InitElement::Kind::kFloat64;
    if (KindOf(v.type) == TypeKind::kFloat ? !is_float || BitsOf(v.type) < 32
                                           : is_float && IsInteger(v.type)) {
      Error(e.offset, "initialiser of " + Quote(v.name) + " is not a ." +
                          std::string(TypeName(v.type)) + " constant");
      return;
    }
    const std::uint64_t element = static_cast<std::uint64_t>(BytesOf(v.type));
    if (e.byte + element > v.size()) {
      Error(e.offset, "initialiser of " + Quote(v.name) + " runs past its " +
                          std::to_string(v.size()) + " bytes");
      return;
    }
    // PTX ISA, "Initializers": only these two can be named there.
    if (e.kind == InitElement::Kind::kVariable) {
      const Variable& named = module_.variables[e.index];
      if (named.space != VarSpace::kGlobal && named.space != VarSpace::kConst)
        Error(e.offset, "initialiser of " + Quote(v.name) + " is " +
                            Quote(named.name) + ", a " +
                            std::string(VarSpaceName(named.space)) +
                            " variable, expected a .global or .const one");
    }
  }
}

// PTX ISA, "Constant State Space": 64 KiB; more of it is in the numbered
// banks of old versions.
void Checker::CheckConstantMemory() {
  constexpr std::uint64_t kMost = 65536;
  std::uint64_t end = 0;
  for (const Variable& v : module_.variables) {
    if (v.space != VarSpace::kConst || v.bank != 0 ||
        v.linkage == Linkage::kExtern)
      continue;
    end = v.EndFrom(end);
    if (end > kMost)
      return Error(v.offset, Quote(v.name) + " ends " + std::to_string(end) +
                                 " bytes into constant memory, which has " +
                                 std::to_string(kMost));
  }
}

// PTX ISA, "Kernel Function Parameters" and "Variadic Functions".
void Checker::CheckParameters(const Function& f) {
  const std::uint64_t most = module_.version >= 81 ? 32764 : 4352;
  std::uint64_t end = 0;
  for (std::uint32_t id : f.params) {
    end = module_.variables[id].EndFrom(end);
  }
  if (f.is_entry && end > most)
    Error(f.offset, Quote(f.name) + " has " + std::to_string(end) +
                        " bytes of parameters, at most " +
                        std::to_string(most) + " are possible");
  if (f.tuning.noreturn && !f.returns.empty())
    Error(f.offset, Quote(f.name) + " returns a value and is .noreturn");
  for (std::uint32_t id : f.params) {
    const Variable& v = module_.variables[id];
    const char* wrong = nullptr;
    if (v.is_open() && (f.is_entry || id != f.params.back())) {
      wrong = "an open array, which only a function's last parameter may be";
    } else if (f.is_entry && v.space != VarSpace::kParam) {
      wrong = "in .reg, but a kernel's parameters are in .param";
    } else if (v.space == VarSpace::kParam && v.type == Type::kPred) {
      wrong = "of type .pred, which only registers have";
    } else if (v.space == VarSpace::kParam && v.vector > 1) {
      wrong = "a vector, which only registers and memory have";
    }
    if (wrong != nullptr)
      Error(v.offset, "parameter " + Quote(v.name) + " is " + wrong);
  }
}

void Checker::CheckFunction(Function& f) {
  inst_ = nullptr;
  if (f.tuning.maxntid_dims != 0 && f.tuning.reqntid_dims != 0)
    Error(f.offset, Quote(f.name) + " has both .maxntid and .reqntid");
  const auto positive = [&](const char* directive, const std::uint32_t* n,
                            std::uint8_t count, const char* of_what) {
    if (std::find(n, n + count, 0u) != n + count)
      Error(f.offset, Quote(f.name) + " has " + directive +
                          " 0, expected a positive number of " + of_what);
  };
  positive(".maxntid", f.tuning.maxntid, f.tuning.maxntid_dims, "threads");
  positive(".reqntid", f.tuning.reqntid, f.tuning.reqntid_dims, "threads");
  if (f.tuning.blocksareclusters &&
      (f.tuning.reqntid_dims == 0 || f.tuning.reqncta_dims == 0))
    Error(f.offset, Quote(f.name) +
                        " has .blocksareclusters, which needs .reqntid and "
                        ".reqnctapercluster");
  if (!f.is_entry &&
      (f.tuning.maxntid_dims != 0 || f.tuning.reqntid_dims != 0 ||
       f.tuning.maxnreg != 0 || f.tuning.minnctapersm != 0))
    Error(f.offset, Quote(f.name) +
                        " is a function, but only kernels have "
                        "numbers of threads, blocks and registers");
  if (!f.has_body && f.is_entry && f.linkage != Linkage::kExtern)
    Error(f.offset, Quote(f.name) + " is declared but has no body");
  for (std::uint32_t id : f.variables) CheckVariable(module_.variables[id]);
  CheckParameters(f);
  for (const Prototype& p : f.prototypes)
    if (p.kind == Prototype::Kind::kBranchTargets)
      for (std::size_t i = 0; i < p.targets.size(); ++i)
        if (p.targets[i] == kNoId)
          Error(p.offset,
                "label " + Quote(p.unresolved[i]) + " is not defined");
  for (const Instruction& inst : f.instructions) {
    inst_ = &inst;
    if (inst.form == nullptr) continue;  // reported by the parser
    CheckInstruction(inst);
  }
  inst_ = nullptr;
}

int Check(Module& module, const DiagSink& sink, int* module_errors) {
  return Checker(module, sink).Run(module_errors);
}

}  // namespace cerberus::ptx
