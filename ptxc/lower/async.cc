// mbarrier objects, asynchronous copies, and what a cluster's blocks
// means by its own and by distributed shared memory.
//
// Every copy is done when its instruction is (devlib/async.h), so waiting for
// a group of copies is nothing and an mbarrier hears of their bytes at once.
#include <fmt/format.h>

#include "formats/tensor_map.h"
#include "ptxc/lower/lower.h"
#include "ptxc/passes/clusters.h"

namespace cerberus::ptx {

// ---- mbarrier ---------------------------------------------------------------

// An operand that must lie in shared memory, also if its address is generic
// because the instruction names no space.
llvm::Value* FunctionLowering::SharedAt(const Operand& operand) {
  if (mods().space() != Space::kNone ||
      operand.base == OperandKind::kVariable) {
    return Address(operand, Space::kShared).pointer;
  }
  Value* generic = Address(operand, Space::kNone).pointer;
  return b_.CreateAddrSpaceCast(
      generic, llvm::PointerType::get(b_.getContext(), kAsShared));
}

// Bytes have arrived for the phase.
void FunctionLowering::CompleteTx(Value* mbarrier, Value* bytes) {
  Dev("mbarrier_arrive", b_.getInt64Ty(),
      {mbarrier, I32(0), b_.CreateNeg(bytes)});
}

void FunctionLowering::LowerMbarrierInit() {
  Dev("mbarrier_init", b_.getVoidTy(),
      {SharedAt(op(0)), Read(op(1), Type::kU32)});
}

// Objects of the other layout, which reports what copies found, cannot be made.
void FunctionLowering::LowerMbarrierCheckLayout() {
  Write(op(0), b_.getInt1(mods().object_layout() == ObjectLayout::kV0),
        Type::kPred);
}

void FunctionLowering::LowerMbarrierExpectTx() {
  Dev("mbarrier_arrive", b_.getInt64Ty(),
      {SharedAt(op(0)), I32(0), Read(op(1), Type::kU32)});
}

void FunctionLowering::LowerMbarrierCompleteTx() {
  CompleteTx(SharedAt(op(0)), Read(op(1), Type::kU32));
}

void FunctionLowering::LowerMbarrierArrive() {
  // {state,} [object] {, count}, where .expect_tx's count is one of bytes.
  const int first = op(0).kind == OperandKind::kAddress ? 0 : 1;
  Value* operand =
      num_operands() > first + 1 ? Read(op(first + 1), Type::kU32) : I32(1);
  // In arrive_drop the opcode's own word comes first.
  const auto expect = static_cast<std::uint8_t>(Word::kExpectTx);
  const bool expects = mods().first(ModGroup::kWord) == expect ||
                       mods().second(ModGroup::kWord) == expect;
  const bool drops = form().opcode() == Opcode::kMbarrierArriveDrop;
  Value* state =
      Dev(drops ? "mbarrier_drop" : "mbarrier_arrive", b_.getInt64Ty(),
          {SharedAt(op(first)), expects ? static_cast<Value*>(I32(1)) : operand,
           expects ? operand : static_cast<Value*>(I32(0))});
  if (first != 0) Write(op(0), state, Type::kB64);
}

void FunctionLowering::LowerMbarrierWait() {
  const bool parity = mods().option() == Option::kParity;
  Value* which = parity ? Read(op(2), Type::kU32)
                        : Dev("mbarrier_parity", b_.getInt32Ty(),
                              {Read(op(2), Type::kB64)});
  const bool waits = form().opcode() == Opcode::kMbarrierTryWait;
  Write(op(0),
        Dev(waits ? "mbarrier_try" : "mbarrier_test", b_.getInt1Ty(),
            {SharedAt(op(1)), which}),
        Type::kPred);
}

void FunctionLowering::LowerMbarrierPendingCount() {
  Write(op(0),
        Dev("mbarrier_pending", b_.getInt32Ty(), {Read(op(1), Type::kB64)}),
        Type::kU32);
}

// ---- cp.async ---------------------------------------------------------------

void FunctionLowering::LowerCpAsync() {
  // [dst], [src], size {, valid bytes or ignore-src} {, policy}.
  const int extras = mods().cache_hint() == CacheHint::kOn ? 4 : 3;
  Value* to = Address(op(0), Space::kShared).pointer;
  Value* from = Address(op(1), Space::kGlobal).pointer;
  const std::uint64_t size = op(2).bits;
  if (size != 4 && size != 8 && size != 16) {
    Fail(fmt::format("cannot copy {} bytes: 4, 8 and 16 are the sizes", size));
    return;
  }
  if (num_operands() <= extras) {
    llvm::Type* type = llvm::FixedVectorType::get(
        b_.getInt32Ty(), static_cast<unsigned>(size / 4));
    const llvm::Align align(size);
    b_.CreateAlignedStore(b_.CreateAlignedLoad(type, from, align), to, align);
    return;
  }
  const Operand& extra = op(3);
  const bool ignore = extra.kind == OperandKind::kRegister &&
                      ptx_.registers[extra.index].type == Type::kPred;
  Value* valid = ignore ? b_.CreateSelect(ReadPred(extra), I32(0), I32(size))
                        : Read(extra, Type::kU32);
  Dev(fmt::format("copy_part_{}", size), b_.getVoidTy(), {to, from, valid});
}

void FunctionLowering::LowerCpAsyncMbarrier() {
  // Without .noinc the arrival was counted before: nothing is left of it.
  if (mods().option() != Option::kNoinc) return;
  Dev("mbarrier_arrive", b_.getInt64Ty(), {SharedAt(op(0)), I32(1), I32(0)});
}

// Runs `body` only if `condition` holds.
void FunctionLowering::If(Value* condition, llvm::function_ref<void()> body) {
  llvm::BasicBlock* then = NewBlock("then");
  llvm::BasicBlock* behind = NewBlock("endif");
  b_.CreateCondBr(condition, then, behind);
  b_.SetInsertPoint(then);
  body();
  if (!Terminated()) b_.CreateBr(behind);
  b_.SetInsertPoint(behind);
}

llvm::Value* FunctionLowering::Moved(Value* address, Value* bytes) {
  return b_.CreateGEP(b_.getInt8Ty(), address, bytes);
}

// Runs `copy` for each block of the cluster whose bit in the mask is set, with
// how far its shared memory lies from this block's.
void FunctionLowering::Multicast(Value* mask,
                                 llvm::function_ref<void(Value*)> copy) {
  Value* bits = b_.CreateZExt(mask, b_.getInt32Ty());
  Value* rank = ClusterRank();
  Value* blocks = ClusterBlocks();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = NewBlock("multicast");
  llvm::BasicBlock* behind = NewBlock("multicasted");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* block = b_.CreatePHI(b_.getInt32Ty(), 2);
  block->addIncoming(I32(0), before);
  Value* wanted = b_.CreateTrunc(b_.CreateLShr(bits, block), b_.getInt1Ty());
  If(wanted,
     [&] { copy(b_.CreateMul(b_.CreateSub(block, rank), Cluster("stride"))); });
  Value* next = b_.CreateAdd(block, I32(1));
  block->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, blocks), loop, behind);
  b_.SetInsertPoint(behind);
}

void FunctionLowering::LowerCpAsyncBulk() {
  const Space to_space = mods().space();
  const Space from_space = mods().space2();
  Value* to = Address(op(0), to_space).pointer;
  Value* from = Address(op(1), from_space).pointer;
  Value* size = Read(op(2), Type::kU32);
  if (mods().option() == Option::kCpMask) {
    Value* mask = Read(op(num_operands() - 1), Type::kB16);
    Dev("copy_bulk_masked", b_.getVoidTy(),
        {to, from, size, b_.CreateZExt(mask, b_.getInt32Ty())});
    return;
  }
  if (mods().option() == Option::kIgnoreOob) {
    // What is ignored at both ends is not read, but counted by the mbarrier.
    Dev("copy_bulk_within", b_.getVoidTy(),
        {to, from, size, Read(op(3), Type::kU32), Read(op(4), Type::kU32)});
    CompleteTx(SharedAt(op(5)), size);
    return;
  }
  const auto copy = [&](Value* away) {
    Dev(fmt::format("copy_bulk_{}_{}", to->getType()->getPointerAddressSpace(),
                    from->getType()->getPointerAddressSpace()),
        b_.getVoidTy(), {Moved(to, away), from, size});
    if (mods().completion() == Completion::kMbarrierTx) {
      CompleteTx(Moved(SharedAt(op(3)), away), size);
    }
  };
  const Option option = mods().option();
  if (option == Option::kMulticast || option == Option::kMulticast16 ||
      option == Option::kMulticast32) {
    Multicast(
        Read(op(4), option == Option::kMulticast32 ? Type::kU32 : Type::kU16),
        copy);
  } else {
    copy(I32(0));
  }
}

// Element by element, each one atomic.
void FunctionLowering::ReduceBulk(Value* to, Value* from, Value* size) {
  const Type t = type();
  llvm::Type* element = LlvmType(t);
  const unsigned bytes = static_cast<unsigned>(BytesOf(t));

  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = NewBlock("reduce");
  llvm::BasicBlock* behind = NewBlock("reduced");
  b_.CreateCondBr(b_.CreateICmpNE(size, I32(0)), loop, behind);
  b_.SetInsertPoint(loop);
  llvm::PHINode* offset = b_.CreatePHI(b_.getInt32Ty(), 2);
  offset->addIncoming(I32(0), before);
  Value* value = b_.CreateAlignedLoad(
      element, b_.CreateGEP(b_.getInt8Ty(), from, offset), llvm::Align(bytes));
  AtomicOp(b_.CreateGEP(b_.getInt8Ty(), to, offset), value, nullptr, t);
  Value* next = b_.CreateAdd(offset, I32(bytes));
  offset->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, size), loop, behind);
  b_.SetInsertPoint(behind);
}

void FunctionLowering::LowerCpReduceAsyncBulk() {
  Value* to = Address(op(0), mods().space()).pointer;
  Value* from = Address(op(1), mods().space2()).pointer;
  Value* size = Read(op(2), Type::kU32);
  ReduceBulk(to, from, size);
  if (mods().completion() == Completion::kMbarrierTx) {
    CompleteTx(SharedAt(op(3)), size);
  }
}

// ---- Stores that an mbarrier hears of ---------------------------------------

void FunctionLowering::LowerStAsync() {
  LowerSt();
  if (num_operands() < 3) return;  // .release: an ordinary store
  const std::uint64_t bytes = static_cast<std::uint64_t>(BytesOf(type())) *
                              static_cast<std::uint64_t>(mods().vector_width());
  CompleteTx(SharedAt(op(2)), I32(bytes));
}

void FunctionLowering::LowerRedAsync() {
  LowerRed();
  if (num_operands() < 3) return;
  CompleteTx(SharedAt(op(2)), I32(static_cast<std::uint64_t>(BytesOf(type()))));
}

void FunctionLowering::LowerStBulk() {
  Value* size = Coerce(Read(op(1), Type::kU64), Type::kU64);
  Dev("clear_bulk", b_.getVoidTy(), {SharedAt(op(0)), size});
}

// ---- Clusters ---------------------------------------------------------------

// Shared memory of the cluster's blocks lies one behind the other.
void FunctionLowering::LowerMapa() {
  Value* blocks = b_.CreateSub(Read(op(2), Type::kU32), ClusterRank());
  // A generic address is one of device memory.
  Value* away = mods().space() == Space::kNone
                    ? b_.CreateMul(blocks, Cluster("stride"))
                    : b_.CreateShl(blocks, kClusterRankShift);
  Value* address = Read(op(1), type());
  Out(0, b_.CreateAdd(address, b_.CreateSExtOrTrunc(away, address->getType())),
      type());
}

void FunctionLowering::LowerGetctarank() {
  Value* address = Coerce(Read(op(1), type()), Type::kU64);
  if (mods().space() != Space::kNone) {
    address = b_.CreateTrunc(address, b_.getInt32Ty());
    Out(0,
        b_.CreateSelect(Cluster("several"),
                        b_.CreateLShr(address, kClusterRankShift), I32(0)),
        Type::kU32);
    return;
  }
  // A generic address is one of device memory.
  Value* offset =
      b_.CreateTrunc(b_.CreateSub(address, Cluster("base")), b_.getInt32Ty());
  Value* stride = Cluster("stride");
  Value* rank =
      b_.CreateUDiv(offset, Binary(llvm::Intrinsic::umax, stride, I32(1)));
  Out(0, b_.CreateSelect(b_.CreateICmpEQ(stride, I32(0)), I32(0), rank),
      Type::kU32);
}

// The threads of a single block meet where they wait: arriving only publishes
// what they wrote.
void FunctionLowering::LowerBarrierCluster() {
  const bool waits = mods().bar() == Bar::kWait;
  llvm::BasicBlock* several = NewBlock("cluster");
  llvm::BasicBlock* single = NewBlock("block");
  llvm::BasicBlock* behind = NewBlock("met");
  b_.CreateCondBr(Cluster("several"), several, single);
  b_.SetInsertPoint(several);
  Value* barrier = Cluster("barrier");
  Value* phase = Cluster("phase");
  if (waits) {
    Dev("cluster_wait", b_.getVoidTy(),
        {barrier, b_.CreateLoad(b_.getInt32Ty(), phase)});
    b_.CreateStore(I32(0), phase);
  } else {
    Value* arrived =
        Dev("cluster_arrive", b_.getInt32Ty(), {barrier, ClusterThreads()});
    b_.CreateStore(arrived, phase);
  }
  b_.CreateBr(behind);
  b_.SetInsertPoint(single);
  if (waits) {
    Barrier();
  } else if (mods().sem() != Sem::kRelaxed) {
    Fence(llvm::AtomicOrdering::Release, SyncScope(Scope::kCta));
  }
  b_.CreateBr(behind);
  b_.SetInsertPoint(behind);
}

llvm::Value* FunctionLowering::ClusterThreads() {
  return b_.CreateMul(BlockThreads(), ClusterBlocks());
}

// A kernel's thread ends: those at the cluster's barrier no longer wait for it.
void FunctionLowering::LeaveCluster() {
  if (!ptx_.is_entry || !module_.program().meets_in_clusters()) return;
  If(Cluster("leaves"), [&] {
    Value* phase = b_.CreateLoad(b_.getInt32Ty(), Cluster("phase"));
    Dev("cluster_leave", b_.getVoidTy(),
        {Cluster("barrier"), ClusterThreads(), phase});
  });
}

// Asking for the next cluster's work may be refused, and always is: the
// answer, 16 bytes, is all zeros.
void FunctionLowering::LowerTryCancel() {
  const auto answer = [&](Value* away) {
    b_.CreateAlignedStore(IntOf(Int(128), 0), Moved(SharedAt(op(0)), away),
                          llvm::Align(16));
    CompleteTx(Moved(SharedAt(op(1)), away), I32(16));
  };
  if (mods().option() == Option::kMulticastAll) {
    Multicast(I32(~0u), answer);
  } else {
    answer(I32(0));
  }
}

void FunctionLowering::LowerQueryCancel() {
  // Nothing else than .is_canceled is defined for a refused request.
  if (mods().option() == Option::kIsCanceled) {
    Out(0, b_.getFalse(), Type::kPred);
  } else if (op(0).kind == OperandKind::kVector) {
    for (unsigned i = 0; i < op(0).count; ++i) {
      Write(child(op(0), i), I32(0), Type::kB32);
    }
  } else {
    Out(0, I32(0), Type::kB32);
  }
}

}  // namespace cerberus::ptx
