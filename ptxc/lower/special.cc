// Special registers, from workgroup and work-item ids, the hidden arguments
// and the launch block (docs/launch-abi.md).
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/lower.h"
#include "ptxc/passes/clusters.h"
#include "ptxc/passes/lanes/waves.h"
#include "ptxc/passes/launch_block.h"

namespace cerberus::ptx {
namespace {

// Hidden arguments of code object v5 (LLVM, User Guide for AMDGPU Backend,
// "Code Object V5 Metadata"): block counts.
constexpr unsigned kHiddenBlockCount = 0;  // u32[3]

int AxisOf(Component part) {
  switch (part) {
    case Component::kY: return 1;
    case Component::kZ: return 2;
    case Component::kW: return 3;
    default: return 0;
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
  return LoadLaunchBlock(b_, offset, bits);
}

llvm::Value* FunctionLowering::Wave(llvm::StringRef name,
                                    llvm::ArrayRef<Value*> args) {
  llvm::CallInst* call = b_.CreateCall(WaveFunction(module_.out(), name), args);
  // Who a thread is has one value; what lanes give each other may have none.
  if (name.starts_with("thread") || name == "lane") {
    call->addRetAttr(llvm::Attribute::NoUndef);
  }
  return call;
}

llvm::Value* FunctionLowering::ThreadId(int axis) {
  constexpr const char* kNames[] = {"thread_x", "thread_y", "thread_z"};
  return Wave(kNames[axis]);
}

llvm::Value* FunctionLowering::BlockId(int axis) {
  constexpr llvm::Intrinsic::ID kIds[] = {
      llvm::Intrinsic::amdgcn_workgroup_id_x,
      llvm::Intrinsic::amdgcn_workgroup_id_y,
      llvm::Intrinsic::amdgcn_workgroup_id_z};
  return Intrinsic(kIds[axis], {}, {});
}

llvm::Value* FunctionLowering::BlockSize(int axis) {
  return LoadBlockDim(b_, axis);
}

llvm::Value* FunctionLowering::GridSize(int axis) {
  return HiddenArg(kHiddenBlockCount + 4 * static_cast<unsigned>(axis), 32);
}

llvm::Value* FunctionLowering::BlockThreads() {
  return b_.CreateMul(b_.CreateMul(BlockSize(0), BlockSize(1)), BlockSize(2));
}

llvm::Value* FunctionLowering::Cluster(llvm::StringRef name) {
  return b_.CreateCall(ClusterFunction(module_.out(), name));
}

llvm::Value* FunctionLowering::ClusterSize(int axis) {
  return b_.CreateAnd(
      b_.CreateLShr(Cluster("shape"), 8 * static_cast<std::uint64_t>(axis)),
      0xff);
}

llvm::Value* FunctionLowering::ClusterBlocks() {
  return b_.CreateMul(b_.CreateMul(ClusterSize(0), ClusterSize(1)),
                      ClusterSize(2));
}

// PTX ISA, "%cluster_ctarank": the block's number in the cluster, x fastest.
llvm::Value* FunctionLowering::ClusterRank() {
  const auto place = [this](int axis) {
    return b_.CreateURem(BlockId(axis), ClusterSize(axis));
  };
  Value* row = b_.CreateAdd(b_.CreateMul(place(2), ClusterSize(1)), place(1));
  return b_.CreateAdd(b_.CreateMul(row, ClusterSize(0)), place(0));
}

llvm::Value* FunctionLowering::LaneId() { return Wave("lane"); }

llvm::Value* FunctionLowering::Clock() {
  if (TargetHas("s-memtime-inst") ||
      TargetHas("shader-cycles-hi-lo-registers")) {
    return Intrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
  }
  // gfx11 counts cycles in 20 bits (RDNA3 ISA, SHADER_CYCLES), on which a
  // kernel that waits for a million of them waits for ever. The steady counter
  // of 100 MHz stands in, as a clock of 2.5 GHz.
  return b_.CreateMul(Intrinsic(llvm::Intrinsic::readsteadycounter, {}, {}),
                      I64(25));
}

llvm::Value* FunctionLowering::GlobalTimer(SpecialReg reg) {
  // The steady counter ticks at 100 MHz; PTX counts nanoseconds.
  Value* ns = b_.CreateMul(
      Intrinsic(llvm::Intrinsic::readsteadycounter, {}, {}), I64(10));
  if (reg == SpecialReg::kGlobaltimer) return ns;
  if (reg == SpecialReg::kGlobaltimerHi) ns = b_.CreateLShr(ns, 32);
  return b_.CreateTrunc(ns, b_.getInt32Ty());
}

llvm::Value* FunctionLowering::Special(SpecialReg reg, Component part) {
  const int axis = AxisOf(part);
  // The fourth component of the vectors exists and is 0 (1 for extents).
  const bool extent = reg == SpecialReg::kNtid || reg == SpecialReg::kNctaid ||
                      reg == SpecialReg::kNclusterid ||
                      reg == SpecialReg::kClusterNctaid;
  if (axis == 3) return I32(extent ? 1 : 0);
  switch (reg) {
    case SpecialReg::kTid: return ThreadId(axis);
    case SpecialReg::kNtid: return BlockSize(axis);
    case SpecialReg::kCtaid: return BlockId(axis);
    case SpecialReg::kClusterid:
      return b_.CreateUDiv(BlockId(axis), ClusterSize(axis));
    case SpecialReg::kNctaid: return GridSize(axis);
    case SpecialReg::kNclusterid:
      return b_.CreateUDiv(GridSize(axis), ClusterSize(axis));
    case SpecialReg::kIsExplicitCluster:
      return b_.CreateICmpUGE(Cluster("shape"),
                              I32(formats::WindowBlock::kNamed));
    case SpecialReg::kClusterCtaid:
      return b_.CreateURem(BlockId(axis), ClusterSize(axis));
    case SpecialReg::kClusterCtarank: return ClusterRank();
    case SpecialReg::kClusterNctaid: return ClusterSize(axis);
    case SpecialReg::kClusterNctarank: return ClusterBlocks();
    case SpecialReg::kLocalityDomainId:  // all memory is equally near
    case SpecialReg::kLocalityDomainSupplementalSm: return I32(0);
    case SpecialReg::kLaneid: return LaneId();
    case SpecialReg::kWarpid: return b_.CreateLShr(Wave("thread"), 5);
    case SpecialReg::kNwarpid:
      return b_.CreateLShr(b_.CreateAdd(BlockThreads(), I32(31)), 5);
    case SpecialReg::kLanemaskEq: return BitOf(LaneId());
    case SpecialReg::kLanemaskLt: return b_.CreateSub(BitOf(LaneId()), I32(1));
    case SpecialReg::kLanemaskLe:
      return b_.CreateSub(b_.CreateShl(I32(2), LaneId()), I32(1));
    case SpecialReg::kLanemaskGe: return b_.CreateNeg(BitOf(LaneId()));
    case SpecialReg::kLanemaskGt:
      return b_.CreateNeg(b_.CreateShl(I32(2), LaneId()));
    case SpecialReg::kSmid:
      // Blocks are not bound to a numbered unit that programs could rely on
      // ("%smid … not guaranteed to be contiguous"); one unit is legal.
      return I32(0);
    case SpecialReg::kNsmid: return I32(1);
    case SpecialReg::kGridid: return LaunchBlock(kLaunchGridId, 64);
    case SpecialReg::kClock: return b_.CreateTrunc(Clock(), b_.getInt32Ty());
    case SpecialReg::kClockHi:
      return b_.CreateTrunc(b_.CreateLShr(Clock(), 32), b_.getInt32Ty());
    case SpecialReg::kClock64: return Clock();
    case SpecialReg::kGlobaltimer:
    case SpecialReg::kGlobaltimerLo:
    case SpecialReg::kGlobaltimerHi: return GlobalTimer(reg);
    case SpecialReg::kDynamicSmemSize:
      return LaunchBlock(kLaunchDynamicShared, 32);
    case SpecialReg::kTotalSmemSize:
    case SpecialReg::kAggrSmemSize: {
      // Static and dynamic, in units of 128 bytes.
      Value* bytes = b_.CreateAdd(
          Intrinsic(llvm::Intrinsic::amdgcn_groupstaticsize, {}, {}),
          LaunchBlock(kLaunchDynamicShared, 32));
      return b_.CreateAnd(b_.CreateAdd(bytes, I32(127)), I32(~127u));
    }
    case SpecialReg::kEnvreg1:
      return b_.CreateTrunc(
          b_.CreateLShr(LaunchBlock(kLaunchWorkspace, 64), 32),
          b_.getInt32Ty());
    case SpecialReg::kEnvreg2:
      return b_.CreateTrunc(LaunchBlock(kLaunchWorkspace, 64), b_.getInt32Ty());
    case SpecialReg::kReservedSmemBegin:
    case SpecialReg::kReservedSmem0: return ReservedShared(0);
    case SpecialReg::kReservedSmem1: return ReservedShared(kReservedShared / 2);
    case SpecialReg::kReservedSmemEnd: return ReservedShared(kReservedShared);
    case SpecialReg::kReservedSmemCap: return I32(kReservedShared);
    case SpecialReg::kCurrentGraphExec:
      return Dev("rt_current_graph", b_.getInt64Ty(),
                 {ServiceContext(), LaunchBlock(kLaunchQueue, 32)});
    default: break;
  }
  // %envreg0, 3…31 and the performance counters hold what the driver puts
  // there: nothing.
  return IntOf(LlvmType(SpecialRegType(reg)), 0);
}

}  // namespace cerberus::ptx
