// Special registers, from workgroup and work-item ids, the hidden arguments
// and the launch block (docs/launch-abi.md).
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"

#include "ptxc/lower.h"

namespace cerberus::ptx {
namespace {

// Hidden arguments of code object v5 (LLVM, User Guide for AMDGPU Backend,
// "Code Object V5 Metadata"): block counts, then group sizes.
constexpr unsigned kHiddenBlockCount = 0;  // u32[3]
constexpr unsigned kHiddenGroupSize = 12;  // u16[3]

// The launch block.
constexpr unsigned kLaunchDynamicShared = 0;
constexpr unsigned kLaunchGridId = 8;
constexpr unsigned kLaunchWorkspace = 16;

int AxisOf(Component part) {
  switch (part) {
    case Component::kY:
      return 1;
    case Component::kZ:
      return 2;
    case Component::kW:
      return 3;
    default:
      return 0;
  }
}

}  // namespace

llvm::Value* FunctionLowering::HiddenArg(unsigned offset, unsigned bits) {
  Value* base = Intrinsic(llvm::Intrinsic::amdgcn_implicitarg_ptr, {}, {});
  llvm::LoadInst* load = b_.CreateAlignedLoad(
      Int(bits), b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), base, offset),
      llvm::Align(bits / 8));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(b_.getContext(), {}));
  return load;
}

llvm::Value* FunctionLowering::LaunchBlock(unsigned offset, unsigned bits) {
  Value* base = nullptr;
  if (ptx_.is_entry) {
    base = function_->getArg(function_->arg_size() - 1);
    base = b_.CreateConstInBoundsGEP1_32(b_.getInt8Ty(), base, offset);
  } else {
    // A device function does not know its kernel's parameters, but the
    // block's place is fixed relative to the hidden arguments: right before.
    base = Intrinsic(llvm::Intrinsic::amdgcn_implicitarg_ptr, {}, {});
    base = b_.CreateConstGEP1_32(b_.getInt8Ty(), base,
                                 static_cast<unsigned>(
                                     static_cast<int>(offset) - 32));
  }
  llvm::LoadInst* load =
      b_.CreateAlignedLoad(Int(bits), base, llvm::Align(bits / 8));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(b_.getContext(), {}));
  return load;
}

llvm::Value* FunctionLowering::ThreadId(int axis) {
  constexpr llvm::Intrinsic::ID kIds[] = {
      llvm::Intrinsic::amdgcn_workitem_id_x,
      llvm::Intrinsic::amdgcn_workitem_id_y,
      llvm::Intrinsic::amdgcn_workitem_id_z};
  return Intrinsic(kIds[axis], {}, {});
}

llvm::Value* FunctionLowering::BlockId(int axis) {
  constexpr llvm::Intrinsic::ID kIds[] = {
      llvm::Intrinsic::amdgcn_workgroup_id_x,
      llvm::Intrinsic::amdgcn_workgroup_id_y,
      llvm::Intrinsic::amdgcn_workgroup_id_z};
  return Intrinsic(kIds[axis], {}, {});
}

llvm::Value* FunctionLowering::BlockSize(int axis) {
  if (ptx_.is_entry && ptx_.tuning.reqntid[0] != 0) {
    return I32(std::max(1u, ptx_.tuning.reqntid[axis]));
  }
  Value* size = HiddenArg(kHiddenGroupSize + 2 * static_cast<unsigned>(axis),
                          16);
  llvm::MDBuilder metadata(b_.getContext());
  llvm::cast<llvm::Instruction>(size)->setMetadata(
      llvm::LLVMContext::MD_range,
      metadata.createRange(llvm::APInt(16, 1), llvm::APInt(16, 1025)));
  return b_.CreateZExt(size, b_.getInt32Ty());
}

llvm::Value* FunctionLowering::GridSize(int axis) {
  return HiddenArg(kHiddenBlockCount + 4 * static_cast<unsigned>(axis), 32);
}

llvm::Value* FunctionLowering::LinearThreadId() {
  Value* zy = b_.CreateAdd(b_.CreateMul(ThreadId(2), BlockSize(1)),
                           ThreadId(1));
  return b_.CreateAdd(b_.CreateMul(zy, BlockSize(0)), ThreadId(0));
}

llvm::Value* FunctionLowering::BlockThreads() {
  return b_.CreateMul(b_.CreateMul(BlockSize(0), BlockSize(1)), BlockSize(2));
}

llvm::Value* FunctionLowering::LaneId() {
  // Lanes of lower number in a full mask. On wave64 targets a warp is the
  // lower half of the wave, and the count of the lower half is enough.
  return Intrinsic(llvm::Intrinsic::amdgcn_mbcnt_lo, {}, {I32(0xffffffffu),
                                                          I32(0)});
}

llvm::Value* FunctionLowering::Special(SpecialReg reg, Component part) {
  const int axis = AxisOf(part);
  // The fourth component of the vectors exists and is 0 (1 for extents).
  const bool extent = reg == SpecialReg::kNtid || reg == SpecialReg::kNctaid ||
                      reg == SpecialReg::kNclusterid ||
                      reg == SpecialReg::kClusterNctaid;
  if (axis == 3) return I32(extent ? 1 : 0);
  switch (reg) {
    case SpecialReg::kTid:
      return ThreadId(axis);
    case SpecialReg::kNtid:
      return BlockSize(axis);
    case SpecialReg::kCtaid:
    case SpecialReg::kClusterid:  // without clusters each block is its own
      return BlockId(axis);
    case SpecialReg::kNctaid:
    case SpecialReg::kNclusterid:
      return GridSize(axis);
    case SpecialReg::kIsExplicitCluster:
      return b_.getFalse();
    case SpecialReg::kClusterCtaid:
    case SpecialReg::kClusterCtarank:
      return I32(0);
    case SpecialReg::kClusterNctaid:
    case SpecialReg::kClusterNctarank:
      return I32(1);
    case SpecialReg::kLaneid:
      return LaneId();
    case SpecialReg::kWarpid:
      return b_.CreateLShr(LinearThreadId(), 5);
    case SpecialReg::kNwarpid:
      return b_.CreateLShr(b_.CreateAdd(BlockThreads(), I32(31)), 5);
    case SpecialReg::kLanemaskEq:
      return BitOf(LaneId());
    case SpecialReg::kLanemaskLt:
      return b_.CreateSub(BitOf(LaneId()), I32(1));
    case SpecialReg::kLanemaskLe:
      return b_.CreateSub(b_.CreateShl(I32(2), LaneId()), I32(1));
    case SpecialReg::kLanemaskGe:
      return b_.CreateNeg(BitOf(LaneId()));
    case SpecialReg::kLanemaskGt:
      return b_.CreateNeg(b_.CreateShl(I32(2), LaneId()));
    case SpecialReg::kSmid:
      // Blocks are not bound to a numbered unit that programs could rely on
      // ("%smid … not guaranteed to be contiguous"); one unit is legal.
      return I32(0);
    case SpecialReg::kNsmid:
      return I32(1);
    case SpecialReg::kGridid:
      return LaunchBlock(kLaunchGridId, 64);
    case SpecialReg::kClock:
      return b_.CreateTrunc(
          Intrinsic(llvm::Intrinsic::readcyclecounter, {}, {}),
          b_.getInt32Ty());
    case SpecialReg::kClockHi:
      return b_.CreateTrunc(
          b_.CreateLShr(Intrinsic(llvm::Intrinsic::readcyclecounter, {}, {}),
                        32),
          b_.getInt32Ty());
    case SpecialReg::kClock64:
      return Intrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
    case SpecialReg::kGlobaltimer:
    case SpecialReg::kGlobaltimerLo:
    case SpecialReg::kGlobaltimerHi: {
      // The steady counter ticks at 100 MHz; PTX counts nanoseconds.
      Value* ns = b_.CreateMul(
          Intrinsic(llvm::Intrinsic::readsteadycounter, {}, {}), I64(10));
      if (reg == SpecialReg::kGlobaltimer) return ns;
      if (reg == SpecialReg::kGlobaltimerHi) ns = b_.CreateLShr(ns, 32);
      return b_.CreateTrunc(ns, b_.getInt32Ty());
    }
    case SpecialReg::kDynamicSmemSize:
      return LaunchBlock(kLaunchDynamicShared, 32);
    case SpecialReg::kTotalSmemSize:
    case SpecialReg::kAggrSmemSize:
      // The static part is known to the backend alone; it stands in the
      // hardware's allocation, in units too coarse for this register.
      Fail("reading the total shared memory size is not supported");
      return I32(0);
    case SpecialReg::kEnvreg1:
      return b_.CreateTrunc(b_.CreateLShr(LaunchBlock(kLaunchWorkspace, 64),
                                          32),
                            b_.getInt32Ty());
    case SpecialReg::kEnvreg2:
      return b_.CreateTrunc(LaunchBlock(kLaunchWorkspace, 64),
                            b_.getInt32Ty());
    case SpecialReg::kReservedSmemBegin:
    case SpecialReg::kReservedSmemEnd:
    case SpecialReg::kReservedSmemCap:
    case SpecialReg::kReservedSmem0:
    case SpecialReg::kReservedSmem1:
      return I32(0);
    case SpecialReg::kCurrentGraphExec:
      return I64(0);
    default:
      break;
  }
  // %envreg0, 3…31 and the performance counters hold what the driver puts
  // there: nothing.
  return IntOf(LlvmType(SpecialRegType(reg)), 0);
}

}  // namespace cerberus::ptx
