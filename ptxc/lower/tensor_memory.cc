// Tensor memory, tcgen05 (devlib/tensor_memory.h, devlib/tensor_product.h). It
// is a variable in shared memory that is too large for any target, so that a
// kernel which has one has all its shared memory in a window
// (passes/shared_window.h). All is done when the instruction is met; nothing is
// left to wait for.
#include "formats/tensor_memory.h"

#include <fmt/format.h>

#include <vector>

#include "ptxc/address_spaces.h"
#include "ptxc/lower/lower.h"
#include "ptxc/passes/shared_window.h"

namespace cerberus::ptx {
namespace {

using formats::TensorCopy;
using formats::TensorHow;

constexpr unsigned kLaneBytes = formats::kTensorMemoryBytes / 128;

// log2 of the blocks of K that have a scale of their own.
unsigned LogOfScales(const Modifiers& mods) {
  switch (mods.scale_vec()) {
    case ScaleVec::kX4:
    case ScaleVec::kBlock16: return 2;
    case ScaleVec::kX2: return 1;
    case ScaleVec::kX1: return 0;
    default:
      // One for each 32 places.
      return mods.mma_kind() == MmaKind::kMxf8f6f4 ? 0 : 1;
  }
}

const char* NameOf(MmaKind kind) {
  switch (kind) {
    case MmaKind::kF16: return "halves";
    case MmaKind::kTf32: return "tf32";
    case MmaKind::kI8: return "bytes";
    case MmaKind::kF8f6f4:
    case MmaKind::kMxf8f6f4: return "small";
    default: return "quads";
  }
}

}  // namespace

llvm::GlobalVariable* FunctionLowering::TensorMemory() {
  llvm::Module& module = module_.out();
  if (llvm::GlobalVariable* known = module.getNamedGlobal(kTensorMemory)) {
    return known;
  }
  llvm::Type* type =
      llvm::ArrayType::get(b_.getInt8Ty(), formats::kTensorMemoryBytes);
  auto* memory = new llvm::GlobalVariable(
      module, type, false, llvm::GlobalValue::InternalLinkage,
      llvm::PoisonValue::get(type), kTensorMemory, nullptr,
      llvm::GlobalValue::NotThreadLocal, kAsShared);
  memory->setAlignment(llvm::Align(1024));
  return memory;
}

// [taddr]: a lane from bit 16 on and a column below.
llvm::Value* FunctionLowering::TensorAddress(const Operand& operand) {
  if (operand.kind != OperandKind::kAddress) return Read(operand, Type::kU32);
  if (operand.base == OperandKind::kInt) return I32(operand.bits);
  if (operand.base != OperandKind::kRegister) {
    Fail("an address in tensor memory is in a register");
    return I32(0);
  }
  Operand reg = operand;
  reg.kind = OperandKind::kRegister;
  reg.negated = false;
  reg.value = 0;
  return b_.CreateAdd(Read(reg, Type::kU32),
                      I32(static_cast<std::uint32_t>(operand.value)));
}

// The tensor memory of both blocks of a pair, the even one's first; of
// .cta_group::1 this block's, twice.
std::vector<llvm::Value*> FunctionLowering::TensorMemories() {
  Value* own = b_.CreatePtrToInt(
      b_.CreateAddrSpaceCast(
          TensorMemory(), llvm::PointerType::get(b_.getContext(), kAsGeneric)),
      b_.getInt64Ty());
  if (mods().cta_group() != CtaGroup::kTwo) return {own, own};
  Value* stride = b_.CreateZExt(Cluster("stride"), b_.getInt64Ty());
  Value* odd =
      b_.CreateZExt(b_.CreateAnd(ClusterRank(), I32(1)), b_.getInt64Ty());
  Value* even = b_.CreateSub(own, b_.CreateMul(odd, stride));
  return {even, b_.CreateAdd(even, stride)};
}

// ---- Columns ----------------------------------------------------------------

// A bit for each 32 that are taken.
llvm::GlobalVariable* FunctionLowering::TensorColumns() {
  return OwnShared("__cerberus_tensor_columns", 1);
}

void FunctionLowering::LowerTcgen05Alloc() {
  Dev("tensor_alloc", b_.getVoidTy(),
      {TensorColumns(), SharedAt(op(0)), Read(op(1), Type::kU32)});
}

void FunctionLowering::LowerTcgen05Dealloc() {
  Dev("tensor_dealloc", b_.getVoidTy(),
      {TensorColumns(), Read(op(0), Type::kU32), Read(op(1), Type::kU32)});
}

// ---- Loads and stores -------------------------------------------------------

// Pointers to the words that a thread's registers stand for (PTX ISA, "Data
// Movement Shape"). Where two halves are packed into a register, or unpacked,
// they are of two columns, and each register has two pointers.
std::vector<llvm::Value*> FunctionLowering::TensorWords(const Operand& address,
                                                        unsigned registers) {
  Value* first = TensorAddress(address);
  Value* lane = LaneId();
  Value* row = lane;
  Value* column = I32(0);
  const bool packed = mods().option() == Option::kPack16 ||
                      mods().option() == Option::kUnpack16;
  const unsigned per = packed ? 2 : 1;  // columns of a register
  // Registers of one group are next to each other in a row; a second group
  // may be eight rows below; then come further columns.
  unsigned group = registers;
  unsigned groups_down = 1;
  unsigned width = 0;  // columns, of registers, from one such step to the next
  switch (mods().shape()) {
    case Shape::kT32x32b: break;
    case Shape::kT16x32bx2: {
      row = b_.CreateAnd(lane, 15);
      const int split = form().opcode() == Opcode::kTcgen05St   ? 1
                        : form().opcode() == Opcode::kTcgen05Ld ? 2
                                                                : 3;
      column =
          b_.CreateMul(b_.CreateLShr(lane, 4), Read(op(split), Type::kU32));
      break;
    }
    case Shape::kT16x64b:
      row = b_.CreateOr(b_.CreateLShr(lane, 2),
                        b_.CreateShl(b_.CreateAnd(lane, 1), 3));
      column = b_.CreateMul(b_.CreateAnd(b_.CreateLShr(lane, 1), 1), I32(per));
      group = 1;
      width = 2;
      break;
    case Shape::kT16x128b:
      row = b_.CreateLShr(lane, 2);
      column = b_.CreateMul(b_.CreateAnd(lane, 3), I32(per));
      group = 1;
      groups_down = 2;
      width = 4;
      break;
    default:  // 16x256b
      row = b_.CreateLShr(lane, 2);
      column = b_.CreateMul(b_.CreateAnd(lane, 3), I32(2 * per));
      group = 2;
      groups_down = 2;
      width = 8;
  }
  Value* lanes = b_.CreateAnd(b_.CreateAdd(b_.CreateLShr(first, 16), row), 127);
  Value* at = b_.CreateAdd(
      b_.CreateMul(lanes, I32(kLaneBytes)),
      b_.CreateShl(b_.CreateAnd(b_.CreateAdd(first, column), 511), 2));
  Value* start = Moved(TensorMemory(), at);
  std::vector<Value*> words;
  for (unsigned i = 0; i < registers; ++i) {
    const unsigned in_group = i % group;
    const unsigned down = i / group % groups_down;
    const unsigned step = i / group / groups_down;
    for (unsigned j = 0; j < per; ++j) {
      const unsigned columns = (in_group + step * width) * per + j;
      words.push_back(Moved(start, I32(down * 8 * kLaneBytes + columns * 4)));
    }
  }
  return words;
}

void FunctionLowering::LowerTcgen05Ld() {
  const Operand& to = op(0);
  const bool vector = to.kind == OperandKind::kVector;
  const unsigned count = vector ? to.count : 1;
  const bool reduces = form().opcode() == Opcode::kTcgen05LdRed;
  const std::vector<Value*> words = TensorWords(op(reduces ? 2 : 1), count);
  const std::size_t per = words.size() / count;
  const auto load = [&](Value* pointer, llvm::Type* type) {
    return b_.CreateAlignedLoad(type, pointer, llvm::Align(4));
  };
  std::vector<Value*> values;
  for (unsigned i = 0; i < count; ++i) {
    if (per == 1) {
      values.push_back(load(words[i], b_.getInt32Ty()));
      continue;
    }
    // The lower halves of two columns.
    Value* low = b_.CreateAnd(load(words[2 * i], b_.getInt32Ty()), 0xffff);
    Value* high = load(words[2 * i + 1], b_.getInt32Ty());
    values.push_back(b_.CreateOr(low, b_.CreateShl(high, 16)));
  }
  for (unsigned i = 0; i < count; ++i) {
    Write(vector ? child(to, i) : to, values[i], Type::kB32);
  }
  if (!reduces) return;
  const Type t = type();
  const bool is_max = mods().op() == Op::kMax;
  const auto choose = [&](Value* x, Value* y) {
    if (t == Type::kF32) return MinMax(x, y, is_max);
    if (t == Type::kS32) {
      return Binary(is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, x,
                    y);
    }
    return Binary(is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin, x, y);
  };
  Value* chosen = nullptr;
  for (Value* value : values) {
    Value* element = FromInt(value, LlvmType(t));
    if (mods().abs() == Abs::kOn) {
      element = Unary(llvm::Intrinsic::fabs, element);
    }
    chosen = chosen ? choose(chosen, element) : element;
  }
  Out(1, chosen, t);
}

void FunctionLowering::LowerTcgen05St() {
  const bool split = mods().shape() == Shape::kT16x32bx2;
  const Operand& from = op(split ? 2 : 1);
  const bool vector = from.kind == OperandKind::kVector;
  const unsigned count = vector ? from.count : 1;
  const std::vector<Value*> words = TensorWords(op(0), count);
  const std::size_t per = words.size() / count;
  for (unsigned i = 0; i < count; ++i) {
    Value* value = Read(vector ? child(from, i) : from, Type::kB32);
    if (per == 1) {
      b_.CreateAlignedStore(value, words[i], llvm::Align(4));
      continue;
    }
    b_.CreateAlignedStore(b_.CreateAnd(value, 0xffff), words[2 * i],
                          llvm::Align(4));
    b_.CreateAlignedStore(b_.CreateLShr(value, 16), words[2 * i + 1],
                          llvm::Align(4));
  }
}

// ---- What one thread asks for -----------------------------------------------

void FunctionLowering::LowerTcgen05Cp() {
  std::uint32_t how = 0;
  unsigned log_rows = 7;
  unsigned log_copies = 0;
  switch (mods().shape()) {
    case Shape::kT128x256b: how |= TensorCopy::kWide; break;
    case Shape::kT128x128b: break;
    case Shape::kT4x256b:
      how |= TensorCopy::kWide;
      log_rows = 2;
      break;
    case Shape::kT64x128b:
      log_rows = 6;
      log_copies = 1;
      if (mods().warpx() == Warpx::kX2_01_23) how |= TensorCopy::kNeighbours;
      break;
    default: log_rows = 5; log_copies = 2;
  }
  how |= log_rows << TensorCopy::kLogOfRows;
  how |= log_copies << TensorCopy::kLogOfCopies;
  const auto has = [&](PackFormat format) {
    const auto number = static_cast<std::uint8_t>(format);
    return mods().first(ModGroup::kPackFormat) == number ||
           mods().second(ModGroup::kPackFormat) == number;
  };
  if (has(PackFormat::kB4x16P64)) how |= TensorCopy::kFrom4;
  if (has(PackFormat::kB6x16P32)) how |= TensorCopy::kFrom6;
  if (mods().cta_group() == CtaGroup::kTwo) how |= TensorCopy::kPair;
  std::vector<Value*> args = TensorMemories();
  args.insert(args.end(), {TensorAddress(op(0)), Read(op(1), Type::kB64),
                           static_cast<Value*>(I32(how))});
  Dev("tensor_cp", b_.getVoidTy(), args);
}

void FunctionLowering::LowerTcgen05Shift() {
  std::vector<Value*> args = TensorMemories();
  args.push_back(TensorAddress(op(0)));
  args.push_back(I32(mods().cta_group() == CtaGroup::kTwo ? 2 : 1));
  Dev("tensor_shift", b_.getVoidTy(), args);
}

// [d], a or [a], b, {[metadata],} descriptor, then {mask}, whether to add
// {, a power of two to divide D by}; or [scales of a], [of b], whether to add;
// or, of .ws, whether to add {, columns that are zero}.
void FunctionLowering::LowerTcgen05Mma() {
  const Opcode opcode = form().opcode();
  const bool weights =
      opcode == Opcode::kTcgen05MmaWs || opcode == Opcode::kTcgen05MmaWsSp;
  const bool sparse =
      opcode == Opcode::kTcgen05MmaSp || opcode == Opcode::kTcgen05MmaWsSp;
  const bool scaled = mods().block_scale() == BlockScale::kOn;
  std::uint32_t how = 0;
  if (weights) how |= TensorHow::kWeights;
  if (sparse) how |= TensorHow::kSparse;
  if (mods().cta_group() == CtaGroup::kTwo) how |= TensorHow::kPair;
  if (mods().ashift() == Ashift::kOn) how |= TensorHow::kShiftA;
  if (scaled) {
    how |= TensorHow::kScaled | LogOfScales(mods()) << TensorHow::kLogOfScales;
  }
  int next = 0;
  Value* d = TensorAddress(op(next++));
  const Operand& a_operand = op(next++);
  Value* a = nullptr;
  if (a_operand.kind == OperandKind::kAddress) {
    how |= TensorHow::kAInMemory;
    a = b_.CreateZExt(TensorAddress(a_operand), b_.getInt64Ty());
  } else {
    a = Read(a_operand, Type::kB64);
  }
  Value* b = Read(op(next++), Type::kB64);
  Value* metadata = sparse ? TensorAddress(op(next++)) : I32(0);
  Value* descriptor = Read(op(next++), Type::kU32);
  Value* scale_a = I32(0);
  Value* scale_b = I32(0);
  std::vector<Value*> masks(8, I32(0));
  if (scaled) {
    scale_a = TensorAddress(op(next++));
    scale_b = TensorAddress(op(next++));
  } else if (op(next).kind == OperandKind::kVector) {
    const Operand& mask = op(next++);
    for (unsigned i = 0; i < mask.count && i < masks.size(); ++i) {
      masks[i] = Read(child(mask, i), Type::kB32);
    }
  }
  const Operand& adds = op(next++);
  Value* add = adds.kind == OperandKind::kRegister ? ReadPred(adds)
                                                   : b_.getInt1(adds.bits != 0);
  if (num_operands() > next) {
    if (weights) {
      Value* zeros = Read(op(next), Type::kB64);
      masks[0] = b_.CreateTrunc(zeros, b_.getInt32Ty());
      masks[1] = b_.CreateTrunc(b_.CreateLShr(zeros, 32), b_.getInt32Ty());
    } else {
      how |= static_cast<std::uint32_t>(op(next).bits & 15)
             << TensorHow::kScaleOfD;
    }
  }
  Value* meant = b_.CreateOr(I32(how), b_.CreateZExt(add, b_.getInt32Ty()));
  static_assert(TensorHow::kAdds == 1);
  std::vector<Value*> args = TensorMemories();
  args.insert(args.end(),
              {a, b, d, descriptor, meant, metadata, scale_a, scale_b});
  args.insert(args.end(), masks.begin(), masks.end());
  Dev(fmt::format("tensor_mma_{}{}", NameOf(mods().mma_kind()),
                  sparse ? "_sparse" : ""),
      b_.getVoidTy(), args);
}

// All that this thread has asked for is done.
void FunctionLowering::LowerTcgen05Commit() {
  const auto arrive = [&](Value* away) {
    Dev("mbarrier_arrive", b_.getInt64Ty(),
        {Moved(SharedAt(op(0)), away), I32(1), I32(0)});
  };
  if (num_operands() > 1) {
    Multicast(Read(op(1), Type::kU16), arrive);
  } else {
    arrive(I32(0));
  }
}

}  // namespace cerberus::ptx
