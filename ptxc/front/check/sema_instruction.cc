// What instructions ask for beside their operands' types; calls.
#include <algorithm>
#include <bit>

#include "ptxc/front/check/sema_impl.h"
#include "ptxc/front/printer.h"

namespace cerberus::ptx {

void Checker::CheckInstruction(const Instruction& inst) {
  const OpcodeRow& row = *inst.form->row;
  Gate(row);
  if (inst.guard != kNoId &&
      function_->registers[inst.guard].type != Type::kPred)
    Error(inst.offset,
          "guard " + Quote(RegisterName(*function_, inst.guard)) +
              " is of type ." +
              std::string(TypeName(function_->registers[inst.guard].type)) +
              ", expected .pred");
  if (inst.form->opcode() == Opcode::kCall) return CheckCall(inst);
  const OperandCount count = CountOperands(row);
  const int have = inst.num_operands;
  if (have < count.min || have > count.max) {
    std::string expected = std::to_string(count.min);
    if (count.max != count.min) expected += " to " + std::to_string(count.max);
    return Error(inst.offset, Mnemonic() + " has " + std::to_string(have) +
                                  " operands, expected " + expected + " (" +
                                  std::string(row.operands) + ")");
  }
  CheckConstants(inst);
  // Optional operands are left out from the first one on, as few as fit.
  int skip = count.max - have;
  int at = 0;
  for (std::size_t s = 0; s < row.specs.size(); ++s) {
    const OperandSpec& spec = row.specs[s];
    if ((spec.classes & kOpOptional) != 0 && skip > 0 &&
        !Matches(spec, OperandAt(at), at, row)) {
      --skip;
      continue;
    }
    CheckOperand(spec, OperandAt(at));
    ++at;
  }
}

const Operand& Checker::OperandAt(int i) const {
  static const Operand kMissing;
  if (i >= inst_->num_operands) return kMissing;
  return function_
      ->operands[inst_->first_operand + static_cast<std::uint32_t>(i)];
}

// Whether an optional operand is the one present: by position if all that
// follow still fit.
bool Checker::Matches(const OperandSpec& spec, const Operand& o, int at,
                      const OpcodeRow& row) const {
  const int left = inst_->num_operands - at;
  int needed = 0;
  bool behind = false;
  for (const OperandSpec& other : row.specs) {
    if (&other == &spec) {
      behind = true;
      continue;
    }
    if (behind && (other.classes & kOpOptional) == 0) ++needed;
  }
  if (left <= needed) return false;
  if ((spec.classes & kOpAddress) != 0) return o.kind == OperandKind::kAddress;
  if ((spec.classes & (kOpVector | kOpRegister)) == kOpVector)
    return o.kind == OperandKind::kVector;
  if (o.kind == OperandKind::kRegister && TypeOf(spec) != Type::kNone)
    return Agrees(TypeOf(spec), function_->registers[o.index].type,
                  Width::kSame);
  return true;
}

// Vectors are moved whole, into one of as many elements.
void Checker::CheckMovedVectors(const Modifiers& mods) {
  // PTX ISA, "mov": only bits are packed and taken apart.
  for (int i = 0; i < 2 && mods.vector_width() == 1; ++i) {
    const Operand& o = OperandAt(i);
    if (o.kind != OperandKind::kVector) continue;
    if (KindOf(inst_->form->type()) != TypeKind::kBit) {
      Error(o.offset, "vector " + Text(o) + " in " + Mnemonic() +
                          ", expected a type of bits such as .b32");
    } else if (o.count > 4) {
      Error(o.offset, "vector " + Text(o) + " in " + Mnemonic() +
                          " has more than 4 elements");
    }
  }
  const Operand& source = OperandAt(1);
  const auto width = static_cast<std::uint32_t>(mods.vector_width());
  for (int i = 0; i < 2 && width > 1; ++i) {
    const Operand& o = OperandAt(i);
    const bool fits =
        o.kind == OperandKind::kVector ? o.count == width
        : o.kind == OperandKind::kRegister
            ? o.part == Component::kWhole &&
                  function_->registers[o.index].vector == width
            : o.kind == OperandKind::kSpecial && o.part == Component::kWhole &&
                  width == 4 &&
                  SpecialRegIsVector(static_cast<SpecialReg>(o.index));
    if (!fits) {
      Error(o.offset, Text(o) + " in " + Mnemonic() +
                          ", expected a vector of " + std::to_string(width));
    }
  }
  if (source.kind == OperandKind::kSpecial &&
      source.part == Component::kWhole && mods.vector_width() == 1 &&
      OperandAt(0).kind == OperandKind::kRegister &&
      function_->registers[OperandAt(0).index].vector <= 1 &&
      SpecialRegIsVector(static_cast<SpecialReg>(source.index))) {
    Error(source.offset, Text(source) + " in " + Mnemonic() +
                             " is a vector, expected one of its "
                             "components");
  }
}

// The selectors of SIMD video instructions: of a and b one source for each of
// their lanes, of the result those that are written, the most significant
// first and none twice.
void Checker::CheckLanes(char unit, unsigned lanes) {
  for (int i = 0; i < 3; ++i) {
    const Operand& o = OperandAt(i);
    if (o.part == Component::kWhole) continue;
    // One digit of the result's is a part, which the others do not have.
    const Component first = lanes == 2 ? Component::kH0 : Component::kB0;
    const int at = static_cast<int>(o.part) - static_cast<int>(first);
    bool fits = i == 0 && at >= 0 && at < static_cast<int>(lanes);
    if (o.part == Component::kSelector && (o.value < 0) == (unit == 'h')) {
      auto digits =
          static_cast<std::uint64_t>(o.value < 0 ? -o.value : o.value);
      // From the least significant on.
      const unsigned end = i == 0 ? lanes : 2 * lanes;
      std::uint64_t count = 0, least = 0;
      fits = true;
      for (; digits > 1; digits /= 8, ++count) {
        const std::uint64_t digit = digits % 8;
        fits = fits && digit < end && (i != 0 || digit >= least);
        least = digit + 1;
      }
      fits = fits && (i == 0 ? count <= lanes : count == lanes);
    }
    if (!fits) {
      Error(o.offset,
            Text(o) + " in " + Mnemonic() + ", expected " +
                (i == 0 ? "lanes such as ." : "a selector such as .") + unit +
                (lanes == 2 ? "10" : "3210"));
    }
  }
}

// Of how many accesses a policy is for.
void Checker::CheckFraction(const Operand& o) {
  double value = 1;
  if (o.kind == OperandKind::kFloat32) {
    value = std::bit_cast<float>(static_cast<std::uint32_t>(o.bits));
  } else if (o.kind == OperandKind::kFloat64) {
    value = std::bit_cast<double>(o.bits);
  }
  if (!(value > 0 && value <= 1)) {
    Error(o.offset, Text(o) + " in " + Mnemonic() +
                        ", expected a fraction above 0 and up to 1");
  }
}

// What the manual says of single instructions beside their operands' types.
void Checker::CheckConstants(const Instruction& inst) {
  const Modifiers& mods = inst.form->mods;
  const auto constant = [&](int i, auto allowed, const char* expected) {
    const Operand& o = OperandAt(i);
    if (o.kind == OperandKind::kInt && !allowed(o.bits)) {
      Error(o.offset, Text(o) + " in " + Mnemonic() + ", expected " + expected);
    }
  };
  switch (inst.form->opcode()) {
    case Opcode::kBar:
    case Opcode::kBarrier: {
      const bool reduces = mods.bar() == Bar::kRed;
      const int first = reduces ? 1 : 0;
      constant(
          first, [](std::uint64_t v) { return v < 16; },
          "a barrier from 0 to 15");
      if (inst.num_operands == (reduces ? 4 : 2)) {
        constant(
            first + 1, [](std::uint64_t v) { return v % 32 == 0; },
            "a multiple of 32 threads");
      }
      break;
    }
    case Opcode::kMov: CheckMovedVectors(mods); break;
    case Opcode::kVadd:
    case Opcode::kVsub:
    case Opcode::kVabsdiff:
    case Opcode::kVmin:
    case Opcode::kVmax:
    case Opcode::kVshl:
    case Opcode::kVshr:
    case Opcode::kVset:
      // Either a part of the result is replaced, or all of it is added to.
      if (OperandAt(0).part != Component::kWhole && mods.op() != Op::kNone) {
        Error(OperandAt(0).offset,
              Text(OperandAt(0)) + " in " + Mnemonic() +
                  ", whose second operation takes the whole register");
      }
      break;
    case Opcode::kVadd2:
    case Opcode::kVsub2:
    case Opcode::kVavrg2:
    case Opcode::kVabsdiff2:
    case Opcode::kVmin2:
    case Opcode::kVmax2:
    case Opcode::kVset2: CheckLanes('h', 2); break;
    case Opcode::kVadd4:
    case Opcode::kVsub4:
    case Opcode::kVavrg4:
    case Opcode::kVabsdiff4:
    case Opcode::kVmin4:
    case Opcode::kVmax4:
    case Opcode::kVset4: CheckLanes('b', 4); break;
    case Opcode::kCpAsync:
      if (inst.num_operands < 3) break;
      if (mods.cache() == Cache::kCg) {
        constant(2, [](std::uint64_t v) { return v == 16; }, "16 bytes");
      } else {
        constant(
            2, [](std::uint64_t v) { return v == 4 || v == 8 || v == 16; },
            "4, 8 or 16 bytes");
      }
      break;
    case Opcode::kApplypriority:
    case Opcode::kDiscard:
    case Opcode::kFence:
      constant(1, [](std::uint64_t v) { return v == 128; }, "128 bytes");
      break;
    case Opcode::kPmevent:
      if (mods.option() == Option::kMask) {
        constant(
            0, [](std::uint64_t v) { return v <= 0xffff; },
            "a mask of 16 events");
      } else {
        constant(
            0, [](std::uint64_t v) { return v < 16; }, "an event from 0 to 15");
      }
      break;
    case Opcode::kCpAsyncBulk:
    case Opcode::kCpReduceAsyncBulk:
      constant(
          2, [](std::uint64_t v) { return v % 16 == 0; },
          "a multiple of 16 bytes");
      break;
    case Opcode::kCpAsyncBulkPrefetch:
      constant(
          1, [](std::uint64_t v) { return v % 16 == 0; },
          "a multiple of 16 bytes");
      break;
    case Opcode::kTensormapCpFenceproxy:
      constant(2, [](std::uint64_t v) { return v == 128; }, "128 bytes");
      break;
    case Opcode::kSetmaxnreg:
      constant(
          0, [](std::uint64_t v) { return v >= 24 && v <= 256 && v % 8 == 0; },
          "a multiple of 8 from 24 to 256");
      break;
    case Opcode::kCreatepolicy: CheckFraction(OperandAt(1)); break;
    case Opcode::kElect: {
      const Operand& pair = OperandAt(0);
      if (pair.kind == OperandKind::kPair &&
          function_->operands[pair.index + 1].kind == OperandKind::kSink) {
        Error(pair.offset, Text(pair) + " in " + Mnemonic() +
                               ", expected a predicate behind '|'");
      }
      break;
    }
    case Opcode::kIsspacep:
      if (OperandAt(1).kind != OperandKind::kRegister) {
        Error(OperandAt(1).offset, Text(OperandAt(1)) + " in " + Mnemonic() +
                                       ", expected a register");
      }
      break;
    case Opcode::kStBulk:
      constant(
          1, [](std::uint64_t v) { return v % 8 == 0; },
          "a multiple of 8 bytes");
      constant(
          2, [](std::uint64_t v) { return v == 0; },
          "0, which is all that it can store");
      break;
    case Opcode::kMbarrierArrive:
    case Opcode::kMbarrierArriveDrop:
      // The state of another block's barrier is not told.
      if (mods.space() == Space::kSharedCluster &&
          OperandAt(0).kind != OperandKind::kSink) {
        Error(OperandAt(0).offset,
              Text(OperandAt(0)) + " in " + Mnemonic() + ", expected '_'");
      }
      break;
    case Opcode::kMad:
      // PTX ISA, "mad": the rounding is implied on sm_1x alone; ptxas
      // implies it before version 3.0 too.
      if (inst.form->type() == Type::kF32 && module_.sm >= 20 &&
          module_.version >= 30 && mods.rounding() == Rounding::kNone) {
        Error(inst.offset, Mnemonic() +
                               " needs a rounding modifier "
                               "(.rn, .rz, .rm or .rp) on sm_20 "
                               "and newer targets");
      }
      break;
    default: break;
  }
}

void Checker::Gate(const OpcodeRow& row) {
  if (gated_.size() <= row.index) gated_.resize(row.index + 1u, false);
  if (gated_[row.index]) return;
  gated_[row.index] = true;
  // What 1.4 spelled out, 1.0 to 1.3 implied.
  if (module_.version != 0 &&
      row.ptx_version > std::max<int>(module_.version, 14))
    Warn(inst_->offset, Mnemonic() + " needs .version " +
                            std::to_string(row.ptx_version / 10) + "." +
                            std::to_string(row.ptx_version % 10) + ", found " +
                            std::to_string(module_.version / 10) + "." +
                            std::to_string(module_.version % 10));
  if (module_.sm != 0 && row.min_sm > module_.sm)
    Warn(inst_->offset, Mnemonic() + " needs .target sm_" +
                            std::to_string(row.min_sm) + std::string(row.arch) +
                            ", found sm_" + std::to_string(module_.sm));
}

// ---- Calls
// -------------------------------------------------------------------

void Checker::CheckCall(const Instruction& inst) {
  const Operand& returns = OperandAt(0);
  const Operand& callee = OperandAt(1);
  const Operand& arguments = OperandAt(2);
  const Operand& prototype = OperandAt(3);
  CheckNames(returns);
  CheckNames(arguments);
  if (callee.kind == OperandKind::kUnresolved)
    return Error(callee.offset, "call of " + Quote(module_.NameOf(callee)) +
                                    ", which is not declared");
  if (callee.kind == OperandKind::kFunction) {
    const Function& target = module_.functions[callee.index];
    if (target.is_entry)
      return Error(callee.offset,
                   "call of " + Quote(target.name) + ", which is an .entry");
    return CheckSignature(target.name, target.returns, returns, target.params,
                          arguments);
  }
  if (callee.kind != OperandKind::kRegister)
    return Error(callee.offset, "call of " + Text(callee) +
                                    ", expected a function or a register");
  if (prototype.kind == OperandKind::kUnresolved)
    return Error(
        prototype.offset,
        "prototype " + Quote(module_.NameOf(prototype)) + " is not defined");
  if (prototype.kind != OperandKind::kPrototype)
    return Error(inst.offset,
                 "indirect call without a .callprototype or .calltargets");
  const Prototype& p = function_->prototypes[prototype.index];
  if (p.kind == Prototype::Kind::kCallPrototype) {
    CheckSignature(p.name, p.returns, returns, p.params, arguments);
  } else if (p.kind == Prototype::Kind::kCallTargets) {
    if (!p.targets.empty() && p.targets[0] != kNoId) {
      const Function& target = module_.functions[p.targets[0]];
      CheckSignature(target.name, target.returns, returns, target.params,
                     arguments);
    }
  } else {
    Error(prototype.offset, Quote(p.name) +
                                " is a list of labels, expected a "
                                ".callprototype or .calltargets");
  }
}

void Checker::CheckSignature(std::string_view name,
                             const std::vector<std::uint32_t>& formal_returns,
                             const Operand& returns,
                             const std::vector<std::uint32_t>& formal_params,
                             const Operand& arguments) {
  CheckList("returns", name, formal_returns, returns);
  CheckList("takes", name, formal_params, arguments);
}

void Checker::CheckList(std::string_view verb, std::string_view name,
                        const std::vector<std::uint32_t>& formals,
                        const Operand& actuals) {
  if (formals.size() != actuals.count)
    return Error(inst_->offset, Quote(name) + " " + std::string(verb) + " " +
                                    std::to_string(formals.size()) +
                                    " values, the call has " +
                                    std::to_string(actuals.count));
  for (std::uint32_t i = 0; i < actuals.count; ++i) {
    const Operand& actual = function_->operands[actuals.index + i];
    const Variable& formal = module_.variables[formals[i]];
    std::uint64_t have = 0;
    if (actual.kind == OperandKind::kVariable) {
      have = module_.variables[actual.index].size();
    } else if (actual.kind == OperandKind::kRegister) {
      const Register& reg = function_->registers[actual.index];
      have = static_cast<std::uint64_t>(BytesOf(reg.type));
      if (actual.part == Component::kWhole) have *= reg.vector;
    } else {
      continue;
    }
    // An open array takes any size (variadic functions).
    if (formal.size() != 0 && have != formal.size())
      Error(actual.offset, "value " + Text(actual) + " of " +
                               std::to_string(have) + " bytes, " + Quote(name) +
                               " " + std::string(verb) + " " +
                               std::to_string(formal.size()) + " bytes there");
  }
}

}  // namespace cerberus::ptx
