#include "ptxc/passes/recompute.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSchedule.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "ptxc/passes/behind_pass.h"

namespace cerberus::ptx {
namespace {

using llvm::LiveInterval;
using llvm::MachineBasicBlock;
using llvm::MachineFunction;
using llvm::MachineInstr;
using llvm::MachineOperand;
using llvm::Register;
using llvm::SlotIndex;

// Nothing moves behind it before registers are allocated.
constexpr llvm::StringLiteral kBehindPass = "machine-scheduler";

// Of so many registers one is not counted on: wide values need neighbours.
constexpr int kSpare = 10;
// Instructions from one use to the next, at least.
constexpr std::size_t kFar = 32;
// Cycles that a result of one issue takes; a quotient or an f64 takes more.
constexpr unsigned kFast = 5;
// Places looked at in a function: some 50 ms.
constexpr std::size_t kMostSteps = 50'000'000;

// The instructions of a function in their order, its places, and the vector
// registers that are taken at each.
class Pressure {
 public:
  Pressure(const MachineFunction& function,
           const llvm::LiveIntervals& intervals);

  // In vector registers; none for values of the wave.
  int WidthOf(Register reg) const;
  std::size_t PlaceOf(SlotIndex slot) const {
    return llvm::lower_bound(slots_, slot.getBaseIndex()) - slots_.begin();
  }
  std::size_t PlaceOf(const MachineInstr& instruction) const {
    return PlaceOf(intervals_.getInstructionIndex(instruction));
  }
  // Up to where in its block a register is alive that is so at `place`.
  std::size_t EndOf(Register reg, std::size_t place) const;

  int Most() const { return *llvm::max_element(taken_); }
  // Of the places from `from` to in front of `to` those with more than `limit`.
  std::size_t Above(int limit, std::size_t from, std::size_t to) const {
    return std::count_if(taken_.begin() + static_cast<std::ptrdiff_t>(from),
                         taken_.begin() + static_cast<std::ptrdiff_t>(to),
                         [=](int taken) { return taken > limit; });
  }
  void Change(std::size_t from, std::size_t to, int by) {
    for (std::size_t i = from; i < to; ++i) taken_[i] += by;
  }

 private:
  const llvm::MachineRegisterInfo& registers_;
  const llvm::TargetRegisterInfo& info_;
  const llvm::LiveIntervals& intervals_;
  std::vector<SlotIndex> slots_;
  std::vector<int> taken_;
};

Pressure::Pressure(const MachineFunction& function,
                   const llvm::LiveIntervals& intervals)
    : registers_(function.getRegInfo()),
      info_(*function.getSubtarget().getRegisterInfo()),
      intervals_(intervals) {
  for (const MachineBasicBlock& block : function) {
    for (const MachineInstr& instruction : block) {
      if (instruction.isDebugInstr()) continue;
      slots_.push_back(intervals.getInstructionIndex(instruction));
    }
  }
  taken_.resize(slots_.size() + 1);
  for (unsigned i = 0; i < registers_.getNumVirtRegs(); ++i) {
    const Register reg = Register::index2VirtReg(i);
    const int width = WidthOf(reg);
    if (width == 0 || !intervals.hasInterval(reg)) continue;
    for (const LiveInterval::Segment& alive : intervals.getInterval(reg)) {
      taken_[PlaceOf(alive.start)] += width;
      taken_[PlaceOf(alive.end)] -= width;
    }
  }
  for (std::size_t i = 1; i < taken_.size(); ++i) taken_[i] += taken_[i - 1];
}

int Pressure::WidthOf(Register reg) const {
  if (registers_.reg_nodbg_empty(reg)) return 0;
  const llvm::TargetRegisterClass* type = registers_.getRegClass(reg);
  return info_.isDivergentRegClass(type)
             ? static_cast<int>(info_.getRegClassWeight(type).RegWeight)
             : 0;
}

std::size_t Pressure::EndOf(Register reg, std::size_t place) const {
  const LiveInterval& interval = intervals_.getInterval(reg);
  const LiveInterval::const_iterator alive = interval.find(slots_[place]);
  return alive == interval.end() ? place : std::max(place, PlaceOf(alive->end));
}

// Blocks that are executed one behind the other by the same lanes: the pieces
// of a long one.
using Row = std::vector<MachineBasicBlock*>;

std::vector<Row> RowsOf(MachineFunction& function) {
  std::vector<Row> rows;
  for (MachineBasicBlock& block : function) {
    const bool goes_on = !rows.empty() && block.pred_size() == 1 &&
                         *block.pred_begin() == rows.back().back() &&
                         rows.back().back()->succ_size() == 1;
    if (!goes_on) rows.emplace_back();
    rows.back().push_back(&block);
  }
  return rows;
}

// A use that a value can be made again for: it is not needed from place `from`
// to `to` then.
struct Gap {
  MachineInstr* use;
  std::size_t from, to;
};
struct Value {
  MachineInstr* made;
  std::vector<MachineInstr*> uses;
  std::vector<Gap> gaps;
};

class Recompute : public llvm::MachineFunctionPass {
 public:
  static char ID;
  Recompute() : MachineFunctionPass(ID) {}

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    usage.addRequired<llvm::LiveIntervalsWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction& function) override;

 private:
  bool MayExceed(const MachineFunction& function);
  bool IsFast(const MachineInstr& instruction) const;
  Register SourceOf(const MachineInstr& instruction) const;
  bool RunOn(const Row& row);
  void FindWalls(const Row& row, llvm::ArrayRef<MachineInstr*> made);
  std::vector<Value> ValuesOf(Register source,
                              llvm::ArrayRef<MachineInstr*> made);
  Value GapsOf(MachineInstr& made);
  void Split(const Value& value);

  llvm::MachineRegisterInfo* registers_ = nullptr;
  llvm::LiveIntervals* intervals_ = nullptr;
  llvm::TargetSchedModel times_;
  Pressure* pressure_ = nullptr;
  llvm::SmallPtrSet<const MachineBasicBlock*, 16> row_;
  std::vector<std::size_t> walls_;
  int limit_ = 0;
  std::size_t steps_ = 0;
};

// Whether all values together are more than the registers, and how many those
// are.
bool Recompute::MayExceed(const MachineFunction& function) {
  const llvm::TargetRegisterInfo& info =
      *function.getSubtarget().getRegisterInfo();
  int all = 0;
  limit_ = 0;
  for (unsigned i = 0; i < registers_->getNumVirtRegs(); ++i) {
    const Register reg = Register::index2VirtReg(i);
    if (registers_->reg_nodbg_empty(reg)) continue;
    const llvm::TargetRegisterClass* type = registers_->getRegClass(reg);
    if (!info.isDivergentRegClass(type)) continue;
    const int width = static_cast<int>(info.getRegClassWeight(type).RegWeight);
    all += width;
    if (limit_ != 0 || width != 1) continue;
    limit_ = static_cast<int>(info.getAllocatableSet(function, type).count());
  }
  limit_ -= limit_ / kSpare;
  return limit_ > 0 && all > limit_;
}

bool Recompute::IsFast(const MachineInstr& instruction) const {
  return !instruction.mayLoadOrStore() && !instruction.isCall() &&
         !instruction.hasUnmodeledSideEffects() &&
         !instruction.mayRaiseFPException() && !instruction.isInlineAsm() &&
         !instruction.isTerminator() && !instruction.isPosition() &&
         !instruction.isCopyLike() && !instruction.isImplicitDef() &&
         times_.computeInstrLatency(&instruction) <= kFast;
}

// The one register that makes a value of one register, each made once.
Register Recompute::SourceOf(const MachineInstr& instruction) const {
  const MachineOperand* result = nullptr;
  Register source;
  for (const MachineOperand& operand : instruction.operands()) {
    if (!operand.isReg() || !operand.getReg().isValid()) continue;
    if (operand.isDef()) {
      if (result || operand.getSubReg() != 0) return {};
      result = &operand;
    } else if (operand.getReg().isVirtual() && !operand.isUndef()) {
      if (source.isValid() && source != operand.getReg()) return {};
      source = operand.getReg();
    }
  }
  if (!result || !source.isValid()) return {};
  for (const Register reg : {result->getReg(), source}) {
    if (!reg.isVirtual() || !registers_->hasOneDef(reg) ||
        pressure_->WidthOf(reg) == 0) {
      return {};
    }
  }
  return source;
}

// Places where something is written that these instructions read beside their
// source: which lanes take part, how numbers are rounded.
void Recompute::FindWalls(const Row& row, llvm::ArrayRef<MachineInstr*> made) {
  const llvm::TargetRegisterInfo& info = *registers_->getTargetRegisterInfo();
  llvm::BitVector read(info.getNumRegUnits());
  for (const MachineInstr* instruction : made) {
    for (const MachineOperand& operand : instruction->all_uses()) {
      if (!operand.getReg().isPhysical()) continue;
      for (const llvm::MCRegUnit unit :
           info.regunits(operand.getReg().asMCReg())) {
        read.set(static_cast<unsigned>(unit));
      }
    }
  }
  walls_.clear();
  const auto writes = [&](const MachineOperand& operand) {
    if (operand.isRegMask()) return true;
    return operand.isReg() && operand.isDef() &&
           operand.getReg().isPhysical() &&
           llvm::any_of(info.regunits(operand.getReg().asMCReg()),
                        [&](llvm::MCRegUnit unit) {
                          return read.test(static_cast<unsigned>(unit));
                        });
  };
  for (const MachineBasicBlock* block : row) {
    for (const MachineInstr& instruction : *block) {
      if (!instruction.isDebugInstr() &&
          llvm::any_of(instruction.operands(), writes)) {
        walls_.push_back(pressure_->PlaceOf(instruction));
      }
    }
  }
}

// The long ways between the uses of a value, where too much is alive.
Value Recompute::GapsOf(MachineInstr& made) {
  Value value = {&made, {}, {}};
  const Register result = made.getOperand(0).getReg();
  for (MachineInstr& use : registers_->use_nodbg_instructions(result)) {
    // Elsewhere the value is needed to the end of the row.
    if (!row_.contains(use.getParent())) return value;
    if (&use != &made) value.uses.push_back(&use);
  }
  llvm::sort(value.uses, [&](const MachineInstr* a, const MachineInstr* b) {
    return intervals_->getInstructionIndex(*a) <
           intervals_->getInstructionIndex(*b);
  });
  value.uses.erase(llvm::unique(value.uses), value.uses.end());
  const std::size_t first = pressure_->PlaceOf(made);
  const auto wall = llvm::lower_bound(walls_, first);
  std::size_t last = first;
  for (MachineInstr* use : value.uses) {
    const std::size_t at = pressure_->PlaceOf(*use);
    if (wall != walls_.end() && *wall < at) break;
    if (at - last >= kFar) {
      steps_ += at - last;
      if (pressure_->Above(limit_, last, at) != 0) {
        value.gaps.push_back({use, last, at});
      }
    }
    last = at;
  }
  return value;
}

// The gaps of what a source makes. It must be alive where they end, and may be
// so for longer than it was if that costs less.
std::vector<Value> Recompute::ValuesOf(Register source,
                                       llvm::ArrayRef<MachineInstr*> made) {
  std::vector<Value> values;
  for (MachineInstr* one : made) {
    if (SourceOf(*one) != source) continue;
    Value value = GapsOf(*one);
    if (!value.gaps.empty()) values.push_back(std::move(value));
  }
  if (values.empty()) return values;
  const std::size_t end =
      pressure_->EndOf(source, pressure_->PlaceOf(*values.front().made));
  std::size_t needed = end, gained = 0;
  for (const Value& value : values) {
    for (const Gap& gap : value.gaps) {
      needed = std::max(needed, gap.to);
      gained += pressure_->Above(limit_, gap.from, gap.to);
    }
  }
  steps_ += 2 * (needed - end);
  const auto width = static_cast<std::size_t>(pressure_->WidthOf(source));
  if (width * pressure_->Above(limit_, end, needed) < gained) {
    pressure_->Change(end, needed, static_cast<int>(width));
    return values;
  }
  for (Value& value : values) {
    llvm::erase_if(value.gaps, [=](const Gap& gap) { return gap.to > end; });
  }
  return values;
}

void Recompute::Split(const Value& value) {
  MachineFunction& function = *value.made->getMF();
  const Register result = value.made->getOperand(0).getReg();
  std::vector<Register> changed = {result};
  Register current = result;
  const Gap* gap = value.gaps.data();
  for (MachineInstr* use : value.uses) {
    if (gap != value.gaps.data() + value.gaps.size() && gap->use == use) {
      current =
          registers_->createVirtualRegister(registers_->getRegClass(result));
      changed.push_back(current);
      MachineInstr* again = function.CloneMachineInstr(value.made);
      again->substituteRegister(result, current, 0,
                                *registers_->getTargetRegisterInfo());
      use->getParent()->insert(use->getIterator(), again);
      intervals_->InsertMachineInstrInMaps(*again);
      pressure_->Change(gap->from, gap->to, -1);
      ++gap;
    }
    if (current != result) {
      use->substituteRegister(result, current, 0,
                              *registers_->getTargetRegisterInfo());
    }
  }
  registers_->markUsesInDebugValueAsUndef(result);
  if (registers_->use_nodbg_empty(result)) {
    intervals_->removeInterval(result);
    intervals_->RemoveMachineInstrFromMaps(*value.made);
    value.made->eraseFromParent();
    changed.erase(changed.begin());
  }
  for (const Register reg : changed) {
    registers_->clearKillFlags(reg);
    if (intervals_->hasInterval(reg)) intervals_->removeInterval(reg);
    intervals_->createAndComputeVirtRegInterval(reg);
  }
}

bool Recompute::RunOn(const Row& row) {
  std::vector<MachineInstr*> made;
  llvm::MapVector<Register, std::vector<MachineInstr*>> by_source;
  for (MachineBasicBlock* block : row) {
    for (MachineInstr& instruction : *block) {
      if (!IsFast(instruction)) continue;
      const Register source = SourceOf(instruction);
      if (!source.isValid()) continue;
      made.push_back(&instruction);
      by_source[source].push_back(&instruction);
    }
  }
  if (made.empty()) return false;
  row_.clear();
  row_.insert(row.begin(), row.end());
  FindWalls(row, made);
  bool changed = false;
  for (const auto& [source, instructions] : by_source) {
    if (steps_ > kMostSteps) break;
    const std::vector<Value> values = ValuesOf(source, instructions);
    if (values.empty()) continue;
    for (const Value& value : values) {
      if (!value.gaps.empty()) Split(value);
    }
    registers_->clearKillFlags(source);
    intervals_->removeInterval(source);
    intervals_->createAndComputeVirtRegInterval(source);
    changed = true;
  }
  return changed;
}

bool Recompute::runOnMachineFunction(MachineFunction& function) {
  registers_ = &function.getRegInfo();
  if (!MayExceed(function)) return false;
  intervals_ = &getAnalysis<llvm::LiveIntervalsWrapperPass>().getLIS();
  Pressure pressure(function, *intervals_);
  if (pressure.Most() <= limit_) return false;
  pressure_ = &pressure;
  times_.init(&function.getSubtarget());
  steps_ = 0;
  bool changed = false;
  for (const Row& row : RowsOf(function)) changed |= RunOn(row);
  return changed;
}

char Recompute::ID = 0;
const llvm::RegisterPass<Recompute> registered("cerberus-recompute",
                                               "Fast results are made again");

}  // namespace

void RecomputeWithinRegisters() {
  static const BehindPass pass(kBehindPass, Recompute::ID);
}

}  // namespace cerberus::ptx
