// Memory of several GPUs under one address: multimem.
//
// NVIDIA's switches carry such an access to each GPU. Here the kernel does, one
// after the other: it looks up which memory the address means
// (devlib/multimem.h), in the order in which the program named the GPUs, so
// that a sum has the same bits each time. An address that is none of several
// GPUs' is a fault.
#include "formats/launch_abi.h"
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {
namespace {

// The format of a type's elements, and how many there are.
struct Elements {
  const char* small = nullptr;  // of 8 bits: its name in devlib/convert.h
  unsigned count = 1;
};
Elements ElementsOf(Type t) {
  switch (t) {
    case Type::kE4M3: return {"e4m3", 1};
    case Type::kE4M3x2: return {"e4m3", 2};
    case Type::kE4M3x4: return {"e4m3", 4};
    case Type::kE5M2: return {"e5m2", 1};
    case Type::kE5M2x2: return {"e5m2", 2};
    case Type::kE5M2x4: return {"e5m2", 4};
    default: return {};
  }
}

llvm::Type* Like(llvm::Type* shape, llvm::Type* element) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape);
  return vector != nullptr
             ? llvm::FixedVectorType::get(element, vector->getNumElements())
             : element;
}

}  // namespace

// Runs `access` for each GPU, with the address in its memory and whether it is
// the first one.
void FunctionLowering::ForMembers(
    const Operand& operand, Space space, Value* bytes,
    llvm::function_ref<void(Value*, Value*)> access) {
  llvm::Type* pointer = llvm::PointerType::get(b_.getContext(), kAsGlobal);
  Value* address =
      b_.CreatePtrToInt(Address(operand, space).pointer, b_.getInt64Ty());
  Value* range =
      Dev("multicast_range", pointer, {ServiceContext(), address, bytes});
  If(b_.CreateIsNull(range), [&] { EmitTrap(formats::kErrorMulticast); });
  Value* members = b_.CreateLoad(
      b_.getInt32Ty(),
      b_.CreateConstGEP1_32(b_.getInt8Ty(), range,
                            offsetof(formats::MulticastRange, members)));
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = NewBlock("member");
  llvm::BasicBlock* behind = NewBlock("members");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* member = b_.CreatePHI(b_.getInt32Ty(), 2);
  member->addIncoming(I32(0), before);
  Value* there = Dev("multicast_member", b_.getInt64Ty(), {range, member});
  access(b_.CreateIntToPtr(b_.CreateAdd(address, there), pointer),
         b_.CreateICmpEQ(member, I32(0)));
  Value* next = b_.CreateAdd(member, I32(1));
  member->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, members), loop, behind);
  b_.SetInsertPoint(behind);
}

// ---- multimem.ld_reduce -----------------------------------------------------

// Loaded bits, as they are summed up: 8-bit numbers without .acc as they are.
llvm::Value* FunctionLowering::Accumulator(Value* bits, Type t) {
  const Elements elements = ElementsOf(t);
  if (elements.small == nullptr) {
    Value* v = FromInt(bits, LlvmType(t));
    return mods().acc() == Acc::kF32
               ? b_.CreateFPExt(v, Like(v->getType(), b_.getFloatTy()))
               : v;
  }
  bits = b_.CreateZExt(bits, b_.getInt32Ty());
  if (mods().acc() != Acc::kF16) return bits;
  Value* v = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(b_.getHalfTy(), elements.count));
  for (unsigned i = 0; i < elements.count; ++i) {
    Value* code = b_.CreateAnd(b_.CreateLShr(bits, 8 * i), I32(0xff));
    Value* number =
        Dev(std::string("decode_") + elements.small, b_.getFloatTy(), {code});
    // A half has all of these numbers.
    v = b_.CreateInsertElement(v, b_.CreateFPTrunc(number, b_.getHalfTy()), i);
  }
  return v;
}

// PTX ISA, "multimem": without .acc each sum is rounded to the type.
llvm::Value* FunctionLowering::Accumulate(Value* sum, Value* v, Type t) {
  const Op op = mods().op();
  const Elements elements = ElementsOf(t);
  if (elements.small != nullptr && mods().acc() != Acc::kF16) {
    const char* name = op == Op::kMin   ? "min_"
                       : op == Op::kMax ? "max_"
                                        : "sum_";
    return Dev(std::string(name) + elements.small, b_.getInt32Ty(),
               {sum, v, I32(elements.count)});
  }
  const bool fp = v->getType()->isFPOrFPVectorTy();
  const bool is_signed = IsSigned(t);
  switch (op) {
    case Op::kAnd: return b_.CreateAnd(sum, v);
    case Op::kOr: return b_.CreateOr(sum, v);
    case Op::kXor: return b_.CreateXor(sum, v);
    case Op::kMin:
      if (fp) return MinMax(sum, v, false);
      return Binary(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin,
                    sum, v);
    case Op::kMax:
      if (fp) return MinMax(sum, v, true);
      return Binary(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax,
                    sum, v);
    default: return fp ? b_.CreateFAdd(sum, v) : b_.CreateAdd(sum, v);
  }
}

// The bits of the sum.
llvm::Value* FunctionLowering::Accumulated(Value* sum, Type t) {
  const Elements elements = ElementsOf(t);
  if (elements.small == nullptr) {
    return AsInt(mods().acc() == Acc::kF32 ? b_.CreateFPTrunc(sum, LlvmType(t))
                                           : sum);
  }
  Value* bits = sum;
  if (mods().acc() == Acc::kF16) {
    bits = I32(0);
    for (unsigned i = 0; i < elements.count; ++i) {
      Value* number =
          b_.CreateFPExt(b_.CreateExtractElement(sum, i), b_.getFloatTy());
      Value* code = Dev(std::string("narrow_") + elements.small,
                        b_.getInt32Ty(), {number});
      bits = b_.CreateOr(bits, b_.CreateShl(code, 8 * i));
    }
  }
  return b_.CreateTrunc(bits, Int(8 * elements.count));
}

void FunctionLowering::LowerMultimemLdReduce() {
  const Type t = type();
  const unsigned width = static_cast<unsigned>(mods().vector_width());
  const unsigned bytes = static_cast<unsigned>(BytesOf(t));
  std::vector<llvm::AllocaInst*> sums;
  ForMembers(
      op(1), mods().space(), I64(std::uint64_t{width} * bytes),
      [&](Value* pointer, Value* first) {
        std::vector<Value*> parts;
        if (IsOrderedLoad()) {
          parts = LoadOrdered(pointer, width, bytes);
        } else {
          llvm::Type* element = Int(bytes * 8);
          Value* whole =
              LoadScalar(pointer, llvm::FixedVectorType::get(element, width),
                         bytes * width, false);
          for (unsigned i = 0; i < width; ++i) {
            parts.push_back(b_.CreateExtractElement(whole, i));
          }
        }
        for (unsigned i = 0; i < width; ++i) {
          Value* v = Accumulator(parts[i], t);
          sums.push_back(EntryAlloca(
              v->getType(),
              module_.out().getDataLayout().getABITypeAlign(v->getType()),
              "sum"));
          // What stands there before the first is not looked at.
          Value* sum =
              b_.CreateSelect(first, llvm::Constant::getNullValue(v->getType()),
                              b_.CreateLoad(v->getType(), sums[i]));
          b_.CreateStore(b_.CreateSelect(first, v, Accumulate(sum, v, t)),
                         sums[i]);
        }
      });
  if (mods().sem() == Sem::kAcquire) {
    Fence(llvm::AtomicOrdering::Acquire, AccessScope());
  }
  std::vector<Value*> parts;
  parts.reserve(sums.size());
  for (llvm::AllocaInst* sum : sums) {
    parts.push_back(
        Accumulated(b_.CreateLoad(sum->getAllocatedType(), sum), t));
  }
  WriteParts(parts, IsSigned(t) ? t : Type::kNone);
}

// ---- multimem.st, multimem.red ----------------------------------------------

void FunctionLowering::LowerMultimemSt() {
  const std::vector<Value*> parts = StoredParts(op(1));
  if (mods().sem() == Sem::kRelease) {
    Fence(llvm::AtomicOrdering::Release, AccessScope());
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(BytesOf(type())) *
                              static_cast<std::uint64_t>(mods().vector_width());
  ForMembers(op(0), mods().space(), I64(bytes),
             [&](Value* pointer, Value*) { StoreParts(parts, pointer); });
}

void FunctionLowering::LowerMultimemRed() {
  const Type t = type();
  const unsigned width = static_cast<unsigned>(mods().vector_width());
  const unsigned bytes = static_cast<unsigned>(BytesOf(t));
  std::vector<Value*> values;
  if (width == 1) {
    values.push_back(Read(op(1), t));
  } else {
    for (Value* bits : StoredParts(op(1))) {
      values.push_back(FromInt(bits, LlvmType(t)));
    }
  }
  if (mods().sem() == Sem::kRelease) {
    Fence(llvm::AtomicOrdering::Release, AccessScope());
  }
  ForMembers(op(0), mods().space(), I64(std::uint64_t{width} * bytes),
             [&](Value* pointer, Value*) {
               for (unsigned i = 0; i < width; ++i) {
                 AtomicOp(
                     b_.CreateConstGEP1_32(b_.getInt8Ty(), pointer, i * bytes),
                     values[i], nullptr, t, llvm::AtomicOrdering::Monotonic);
               }
             });
}

// ---- multimem.cp.async.bulk, multimem.cp.reduce.async.bulk ------------------

void FunctionLowering::LowerMultimemCp() {
  Value* from = Address(op(1), mods().space2()).pointer;
  Value* size = Read(op(2), Type::kU32);
  Value* mask = mods().option() == Option::kCpMask
                    ? b_.CreateZExt(Read(op(3), Type::kB16), b_.getInt32Ty())
                    : nullptr;
  ForMembers(op(0), mods().space(), b_.CreateZExt(size, b_.getInt64Ty()),
             [&](Value* to, Value*) {
               if (mask != nullptr) {
                 Dev("copy_bulk_masked", b_.getVoidTy(),
                     {to, from, size, mask});
               } else {
                 Dev("copy_bulk_1_3", b_.getVoidTy(), {to, from, size});
               }
             });
}

void FunctionLowering::LowerMultimemCpReduce() {
  Value* from = Address(op(1), mods().space2()).pointer;
  Value* size = Read(op(2), Type::kU32);
  ForMembers(op(0), mods().space(), b_.CreateZExt(size, b_.getInt64Ty()),
             [&](Value* to, Value*) { ReduceBulk(to, from, size); });
}

}  // namespace cerberus::ptx
