// What lanes of a warp, and warps of a block, do together. How warps lie in
// the hardware's waves is settled later, in passes/lanes/waves.h.
#include <algorithm>
#include <array>
#include <string>

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/lower.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_progress.h"

namespace cerberus::ptx {

namespace {

// The spelling with its qualifiers in one order, whichever they were written
// in, and without the one that says nothing.
std::string KindOf(std::string_view spelling) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  llvm::StringRef(spelling).split(parts, '.');
  llvm::erase(parts, "cta");
  std::sort(parts.begin() + 1, parts.end());
  return llvm::join(parts, ".");
}

}  // namespace

// From sm_70 on a `.sync` instruction waits for all lanes of its mask, `args`'
// first, wherever they execute one of the same kind and qualifiers: it becomes
// a call of that kind's function, and what `work` makes is its body. Before,
// lanes had to be at the same instruction together.
llvm::Value* FunctionLowering::Join(
    llvm::Type* result, llvm::ArrayRef<Value*> args,
    llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> work) {
  if (module_.ptx().sm < kFirstIndependent) return work(args);
  const auto [function, is_new] =
      JoinFunction(module_.out(), KindOf(inst_->form->spelling), result, args);
  if (is_new) {
    module_.SetCommonAttributes(*function);
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "", function));
    b_.SetCurrentDebugLocation({});
    std::vector<Value*> parameters;
    for (llvm::Argument& parameter : function->args()) {
      parameters.push_back(&parameter);
    }
    Value* value = work(parameters);
    if (result->isVoidTy()) {
      b_.CreateRetVoid();
    } else {
      b_.CreateRet(value);
    }
  }
  return b_.CreateCall(function, args);
}

llvm::Value* FunctionLowering::Ballot(Value* predicate) {
  return Wave("ballot", {predicate});
}

// The value that `lane` holds, for 32-bit values.
llvm::Value* FunctionLowering::Permute(Value* lane, Value* bits) {
  return Intrinsic(
      llvm::Intrinsic::amdgcn_ds_bpermute, {},
      {b_.CreateShl(b_.CreateOr(lane, Wave("first_lane")), 2), bits});
}

void FunctionLowering::LowerShfl() {
  // PTX ISA, "shfl": c holds a clamp value (bits 0–4) and a segment mask
  // (bits 8–12); a source outside of the segment gives the lane itself.
  const Operand& d = op(0);
  const Type t = type(num_types() - 1);
  Value* a = Read(op(1), t);
  Value* b = b_.CreateAnd(Read(op(2), Type::kU32), I32(31));
  Value* c = Read(op(3), Type::kU32);
  Value* lane = LaneId();
  Value* clamp = b_.CreateAnd(c, I32(31));
  Value* segment = b_.CreateAnd(b_.CreateLShr(c, 8), I32(31));
  Value* first = b_.CreateAnd(lane, segment);
  Value* last = b_.CreateOr(first, b_.CreateAnd(clamp, b_.CreateNot(segment)));
  Value* source = nullptr;
  Value* valid = nullptr;
  switch (mods().shfl()) {
    case Shfl::kUp:
      source = b_.CreateSub(lane, b);
      valid = b_.CreateICmpSGE(source, last);
      break;
    case Shfl::kDown:
      source = b_.CreateAdd(lane, b);
      valid = b_.CreateICmpSLE(source, last);
      break;
    case Shfl::kBfly:
      source = b_.CreateXor(lane, b);
      valid = b_.CreateICmpSLE(source, last);
      break;
    default:
      source = b_.CreateOr(first, b_.CreateAnd(b, b_.CreateNot(segment)));
      valid = b_.CreateICmpSLE(source, last);
      break;
  }
  source = b_.CreateSelect(valid, source, lane);
  Value* result = nullptr;
  if (mods().sync() == Sync::kOn) {
    result = Join(b_.getInt32Ty(),
                  {Read(op(num_operands() - 1), Type::kB32), source, a},
                  [this](llvm::ArrayRef<Value*> with) {
                    return Permute(with[1], with[2]);
                  });
  } else {
    result = Permute(source, a);
  }
  const bool pair = d.kind == OperandKind::kPair;
  Write(pair ? child(d, 0) : d, result, t);
  if (pair) Write(child(d, 1), valid, Type::kPred);
}

// The outcome of a vote of those lanes of the mask that are here.
llvm::Value* FunctionLowering::CountVotes(Vote vote, Value* mask,
                                          Value* predicate) {
  const auto none = [&](Value* says) {
    return b_.CreateICmpEQ(b_.CreateAnd(Ballot(says), mask), I32(0));
  };
  switch (vote) {
    case Vote::kBallot: return b_.CreateAnd(Ballot(predicate), mask);
    case Vote::kAny: return b_.CreateNot(none(predicate));
    case Vote::kAll: return none(b_.CreateNot(predicate));
    default: return b_.CreateOr(none(predicate), none(b_.CreateNot(predicate)));
  }
}

void FunctionLowering::LowerVote() {
  const Vote vote = mods().vote();
  const Type t = vote == Vote::kBallot ? Type::kB32 : Type::kPred;
  Value* p = ReadPred(op(1));
  if (mods().sync() != Sync::kOn || num_operands() < 3) {
    Write(op(0), CountVotes(vote, Ballot(b_.getTrue()), p), t);
    return;
  }
  Write(op(0),
        Join(vote == Vote::kBallot ? b_.getInt32Ty() : b_.getInt1Ty(),
             {Read(op(2), Type::kB32), p},
             [&](llvm::ArrayRef<Value*> with) {
               return CountVotes(vote, with[0], with[1]);
             }),
        t);
}

void FunctionLowering::LowerActivemask() {
  Write(op(0), Ballot(b_.getTrue()), Type::kB32);
}

void FunctionLowering::LowerElect() {
  // The lowest lane of the mask that has not exited.
  Value* leader =
      Join(b_.getInt32Ty(), {Read(op(1), Type::kB32)},
           [this](llvm::ArrayRef<Value*> with) {
             Value* members = b_.CreateAnd(with[0], Ballot(b_.getTrue()));
             return b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()},
                                       {members, b_.getFalse()});
           });
  const Operand& d = op(0);
  const bool pair = d.kind == OperandKind::kPair;
  if (pair) {
    Write(child(d, 0), leader, Type::kB32);
    Write(child(d, 1), b_.CreateICmpEQ(leader, LaneId()), Type::kPred);
  } else {
    Write(d, b_.CreateICmpEQ(leader, LaneId()), Type::kPred);
  }
}

void FunctionLowering::LowerMatch() {
  const Type t = type(num_types() - 1);
  const bool wide = BitsOf(t) == 64;
  Value* a = Read(op(1), t);
  Value* mask = Read(op(2), Type::kB32);
  const auto same = [this, wide](llvm::ArrayRef<Value*> with) {
    return Dev(wide ? "match_any_b64" : "match_any_b32", b_.getInt32Ty(),
               {with[1], with[0]});
  };
  const Operand& d = op(0);
  if (mods().vote() == Vote::kAny) {
    Write(d, Join(b_.getInt32Ty(), {mask, a}, same), Type::kB32);
    return;
  }
  // The lanes of the mask if all agree, else 0; p says which.
  llvm::StructType* outcome =
      llvm::StructType::get(b_.getInt32Ty(), b_.getInt1Ty());
  Value* all =
      Join(outcome, {mask, a}, [&](llvm::ArrayRef<Value*> with) -> Value* {
        Value* members = b_.CreateAnd(with[0], Ballot(b_.getTrue()));
        Value* agree = b_.CreateICmpEQ(same(with), members);
        Value* result =
            b_.CreateInsertValue(llvm::PoisonValue::get(outcome),
                                 b_.CreateSelect(agree, members, I32(0)), 0);
        return b_.CreateInsertValue(result, agree, 1);
      });
  const bool pair = d.kind == OperandKind::kPair;
  Write(pair ? child(d, 0) : d, b_.CreateExtractValue(all, 0), Type::kB32);
  if (pair) Write(child(d, 1), b_.CreateExtractValue(all, 1), Type::kPred);
}

void FunctionLowering::LowerRedux() {
  const Type t = type(num_types() - 1);
  Value* a = Read(op(1), t);
  Value* mask = Read(op(2), Type::kB32);
  const auto reduce = [&](const std::string& name) {
    Write(op(0),
          Join(a->getType(), {mask, a},
               [&](llvm::ArrayRef<Value*> with) {
                 return Dev(name, with[1]->getType(), {with[1], with[0]});
               }),
          t);
  };
  if (t == Type::kF32) {
    if (mods().abs() == Abs::kOn) a = Unary(llvm::Intrinsic::fabs, a);
    const bool nan = mods().propagate_nan() == Nan::kOn;
    reduce(std::string(mods().op() == Op::kMin ? "redux_min_f32"
                                               : "redux_max_f32") +
           (nan ? "_nan" : ""));
    return;
  }
  const char* name = nullptr;
  switch (mods().op()) {
    case Op::kAnd: name = "redux_and"; break;
    case Op::kOr: name = "redux_or"; break;
    case Op::kXor: name = "redux_xor"; break;
    case Op::kAdd: name = "redux_add"; break;
    case Op::kMin:
      name = IsSigned(t) ? "redux_min_s32" : "redux_min_u32";
      break;
    default: name = IsSigned(t) ? "redux_max_s32" : "redux_max_u32"; break;
  }
  reduce(name);
}

// ---- Barriers ---------------------------------------------------------------

void FunctionLowering::Barrier() {
  const llvm::SyncScope::ID scope = SyncScope(Scope::kCta);
  Fence(llvm::AtomicOrdering::Release, scope);
  if (IsAligned()) {
    Intrinsic(llvm::Intrinsic::amdgcn_s_barrier, {}, {});
  } else {
    b_.CreateCall(BarrierFunction(module_.out()), {I32(~0u)});
  }
  Fence(llvm::AtomicOrdering::Acquire, scope);
}

// Whether all lanes of a warp come to this one. At others they wait for each
// other, each at its own (PTX ISA, "barrier").
bool FunctionLowering::IsAligned() const {
  return !inst_ || form().opcode() != Opcode::kBarrier ||
         mods().aligned() == Aligned::kOn ||
         module_.ptx().sm < kFirstIndependent;
}

// What a barrier does once for all lanes of a warp; `with` as of Join. Those of
// an aligned one come to the same place, but maybe not in the same round of
// lanes that wait.
llvm::Value* FunctionLowering::WithAllLanes(
    llvm::Type* result, llvm::ArrayRef<Value*> with,
    llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> work) {
  if (!IsAligned()) return Join(result, with, work);
  Intrinsic(llvm::Intrinsic::amdgcn_wave_barrier, {}, {});
  return work(with);
}

// An LDS array of the compiler's own, one per module.
llvm::GlobalVariable* FunctionLowering::OwnShared(llvm::StringRef name,
                                                  unsigned words) {
  llvm::Module& module = module_.out();
  if (llvm::GlobalVariable* old = module.getNamedGlobal(name)) return old;
  llvm::Type* type = llvm::ArrayType::get(b_.getInt32Ty(), words);
  auto* variable = new llvm::GlobalVariable(
      module, type, false, llvm::GlobalValue::InternalLinkage,
      llvm::PoisonValue::get(type), name, nullptr,
      llvm::GlobalValue::NotThreadLocal, kAsShared);
  variable->setAlignment(llvm::Align(16));
  return variable;
}

llvm::GlobalVariable* FunctionLowering::WarpCounts() {
  return OwnShared("__cerberus_warp_counts", kMostWarps);
}

// The number of the block's threads with the predicate: each warp writes its
// count, and after a barrier every warp adds them all up. The second barrier
// keeps the next use from overwriting counts not yet read. In between all are
// zero: a warp that has ended counts for nothing.
llvm::Value* FunctionLowering::BlockCount(Value* predicate) {
  Value* warp = b_.CreateLShr(Wave("thread"), 5);
  Value* own = b_.CreateGEP(b_.getInt32Ty(), WarpCounts(), warp);
  const auto count_in = [this](llvm::ArrayRef<Value*> with) {
    return Unary(llvm::Intrinsic::ctpop, Ballot(with[1]));
  };
  b_.CreateStore(WithAllLanes(b_.getInt32Ty(), {I32(~0u), predicate}, count_in),
                 own);
  Barrier();
  Value* warps = b_.CreateLShr(b_.CreateAdd(BlockThreads(), I32(31)), 5);
  Value* sum = Dev("sum_words", b_.getInt32Ty(), {WarpCounts(), warps});
  Barrier();
  b_.CreateStore(I32(0), own);
  return sum;
}

// The driver's own part of a block's shared memory (PTX ISA,
// %reserved_smem_offset_…), of 1 KiB as NVIDIA's. Cooperative groups keep the
// barriers and values of groups of several warps in it, from _offset_1 on.
llvm::Value* FunctionLowering::ReservedShared(unsigned offset) {
  llvm::GlobalVariable* region =
      OwnShared("__cerberus_reserved_shared", kReservedShared / 4);
  return b_.CreateAdd(b_.CreatePtrToInt(region, b_.getInt32Ty()), I32(offset));
}

// The named barriers of docs/launch-abi.md's blocks: counters in LDS, because
// the hardware's barrier always takes all waves.
llvm::Value* FunctionLowering::NamedBarriers() {
  return OwnShared("__cerberus_barriers", 64);
}

// LDS holds anything when a kernel starts; the counters of named barriers, the
// counts of warps, and which columns of tensor memory are taken, must be zero
// before the first warp asks for one.
void FunctionLowering::ClearOwnShared() {
  const ClearedShared& own = module_.state(id_).cleared;
  if (!own.any()) return;
  llvm::BasicBlock* clear = NewBlock("clear");
  llvm::BasicBlock* behind = NewBlock("cleared");
  b_.CreateCondBr(b_.CreateICmpEQ(Wave("thread"), I32(0)), clear, behind);
  b_.SetInsertPoint(clear);
  if (own.named_barriers) {
    b_.CreateMemSet(NamedBarriers(), b_.getInt8(0), 256, llvm::MaybeAlign(16));
    if (module_.graph().ends_matter()) {
      b_.CreateMemSet(Arrivals(), b_.getInt8(0), 4 * kArrivalWords,
                      llvm::MaybeAlign(16));
    }
  }
  if (own.warp_counts) {
    b_.CreateMemSet(WarpCounts(), b_.getInt8(0), 4 * kMostWarps,
                    llvm::MaybeAlign(16));
  }
  if (own.tensor_columns) {
    b_.CreateAlignedStore(I32(0), TensorColumns(), llvm::Align(4));
  }
  b_.CreateBr(behind);
  b_.SetInsertPoint(behind);
  Barrier();
}

// For each barrier who has arrived (devlib/sync.h), behind that for each warp
// how many threads of it have ended, and a word of the warps that have.
llvm::Value* FunctionLowering::Arrivals() {
  return OwnShared("__cerberus_arrivals", kArrivalWords);
}
llvm::Value* FunctionLowering::EndedWarps() {
  return b_.CreateConstGEP1_32(b_.getInt32Ty(), Arrivals(), kArrivalWords - 1);
}

// The threads at this barrier with the predicate; without one they only arrive.
// `threads`: how many take part, null for all of the block.
llvm::Value* FunctionLowering::NamedBarrier(Value* id, Value* threads,
                                            Value* predicate) {
  const llvm::SyncScope::ID scope = SyncScope(Scope::kCta);
  const bool ends_matter = module_.graph().ends_matter();
  const auto number = [this](Value* of) { return b_.CreateAnd(of, I32(15)); };
  const auto state_of = [&](Value* of) {
    return b_.CreateGEP(b_.getInt32Ty(), NamedBarriers(),
                        b_.CreateShl(number(of), 2));
  };
  const auto arrivals_of = [&](Value* of) {
    return b_.CreateGEP(b_.getInt64Ty(), Arrivals(), number(of));
  };
  const auto arrive = [&](llvm::ArrayRef<Value*> with) -> Value* {
    Value* count = Unary(llvm::Intrinsic::ctpop, Ballot(with[3]));
    if (!ends_matter) {
      return Dev("barrier_arrive", b_.getInt32Ty(),
                 {state_of(with[1]), with[2], count});
    }
    return Dev("barrier_arrive_ending", b_.getInt32Ty(),
               {state_of(with[1]), arrivals_of(with[1]), EndedWarps(), with[2],
                with[4], with[5], count});
  };
  Fence(llvm::AtomicOrdering::Release, scope);
  llvm::SmallVector<Value*, 6> with = {I32(~0u), id, threads ? threads : I32(0),
                                       predicate ? predicate : b_.getFalse()};
  if (ends_matter) {
    // A bit for each warp of the block, and that of this one.
    Value* warps = b_.CreateLShr(b_.CreateAdd(BlockThreads(), I32(31)), 5);
    with.push_back(b_.CreateLShr(I32(~0u), b_.CreateSub(I32(32), warps)));
    with.push_back(BitOf(b_.CreateLShr(Wave("thread"), 5)));
  }
  Value* awaited = WithAllLanes(b_.getInt32Ty(), with, arrive);
  Value* sum = nullptr;
  if (predicate && threads) {
    sum = Dev("barrier_wait", b_.getInt32Ty(), {state_of(id), awaited});
  } else if (predicate) {
    sum = Dev("barrier_wait_ending", b_.getInt32Ty(),
              {state_of(id), arrivals_of(id), EndedWarps(), with[4], with[5],
               awaited});
  }
  Fence(llvm::AtomicOrdering::Acquire, scope);
  return sum;
}

// A kernel's thread ends: a barrier of the block no longer waits for its warp
// when the others of it have ended.
void FunctionLowering::LeaveBarriers() {
  if (!ptx_.is_entry || !module_.graph().ends_matter() ||
      !module_.state(id_).cleared.named_barriers) {
    return;
  }
  Value* thread = Wave("thread");
  Value* warp = b_.CreateLShr(thread, 5);
  Value* left = b_.CreateSub(BlockThreads(), b_.CreateAnd(thread, I32(~31u)));
  Value* count = b_.CreateGEP(b_.getInt32Ty(), Arrivals(),
                              b_.CreateAdd(warp, I32(2 * kNamedBarriers)));
  Dev("warp_leave", b_.getVoidTy(),
      {count, EndedWarps(), Binary(llvm::Intrinsic::umin, left, I32(32)),
       BitOf(warp)});
}

void FunctionLowering::LowerBarrier() {
  // Operands: {d or p,} a {, b} {, c}: a is the barrier's number, b the
  // number of threads that take part, c a predicate to reduce.
  const bool reduce = mods().bar() == Bar::kRed;
  const int first = reduce ? 1 : 0;
  const bool has_count = HasThreadCount(*inst_);
  const bool counts = module_.graph().CountsThreads(ptx_, *inst_);
  const auto threads = [&](int at) {
    return has_count ? Read(op(at), Type::kU32) : nullptr;
  };
  if (mods().bar() == Bar::kArrive) {
    NamedBarrier(Read(op(0), Type::kU32), Read(op(1), Type::kU32), nullptr);
    return;
  }
  if (!reduce) {
    if (counts) {
      NamedBarrier(Read(op(0), Type::kU32), threads(1), b_.getFalse());
    } else {
      Barrier();
    }
    return;
  }
  const bool all = mods().op() == Op::kAnd;
  Value* p = ReadPred(op(num_operands() - 1));
  if (all) p = b_.CreateNot(p);
  Value* count =
      counts ? NamedBarrier(Read(op(first), Type::kU32), threads(first + 1), p)
             : BlockCount(p);
  if (mods().op() == Op::kPopc) {
    Write(op(0), count, Type::kU32);
  } else if (all) {
    Write(op(0), b_.CreateICmpEQ(count, I32(0)), Type::kPred);
  } else {
    Write(op(0), b_.CreateICmpNE(count, I32(0)), Type::kPred);
  }
}

void FunctionLowering::LowerBarWarp() {
  Join(b_.getVoidTy(), {Read(op(0), Type::kB32)},
       [this](llvm::ArrayRef<Value*>) -> Value* {
         const llvm::SyncScope::ID scope =
             b_.getContext().getOrInsertSyncScopeID("wavefront");
         Fence(llvm::AtomicOrdering::Release, scope);
         Intrinsic(llvm::Intrinsic::amdgcn_wave_barrier, {}, {});
         Fence(llvm::AtomicOrdering::Acquire, scope);
         return nullptr;
       });
}

}  // namespace cerberus::ptx
