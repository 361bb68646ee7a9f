// Operands: PTX registers, constants and addresses as LLVM values.
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "ptxc/lower/lower.h"
#include "support/demangle.h"

namespace cerberus::ptx {

llvm::Type* FunctionLowering::LlvmType(Type type) {
  switch (type) {
    case Type::kNone: return b_.getVoidTy();
    case Type::kPred: return b_.getInt1Ty();
    case Type::kF16: return b_.getHalfTy();
    case Type::kBF16: return b_.getBFloatTy();
    case Type::kF32: return b_.getFloatTy();
    case Type::kF64: return b_.getDoubleTy();
    case Type::kF16x2: return llvm::FixedVectorType::get(b_.getHalfTy(), 2);
    case Type::kBF16x2: return llvm::FixedVectorType::get(b_.getBFloatTy(), 2);
    case Type::kF32x2: return llvm::FixedVectorType::get(b_.getFloatTy(), 2);
    case Type::kU16x2:
    case Type::kS16x2: return llvm::FixedVectorType::get(b_.getInt16Ty(), 2);
    case Type::kU8x4:
    case Type::kS8x4: return llvm::FixedVectorType::get(b_.getInt8Ty(), 4);
    default: return Int(static_cast<unsigned>(BytesOf(type)) * 8);
  }
}

llvm::Type* FunctionLowering::SlotType(const Register& reg) {
  switch (reg.type) {
    case Type::kPred: return b_.getInt1Ty();
    case Type::kF32: return b_.getFloatTy();
    case Type::kF64: return b_.getDoubleTy();
    default: return Int(static_cast<unsigned>(BytesOf(reg.type)) * 8);
  }
}

llvm::AllocaInst* FunctionLowering::EntryAlloca(llvm::Type* type,
                                                llvm::Align align,
                                                const llvm::Twine& name) {
  llvm::IRBuilder<> at_entry(alloca_point_);
  llvm::AllocaInst* storage =
      at_entry.CreateAlloca(type, kAsLocal, nullptr, name);
  storage->setAlignment(align);
  return storage;
}

llvm::Value* FunctionLowering::Slot(std::uint32_t id, Component part) {
  const Register& reg = ptx_.registers[id];
  llvm::Type* type = SlotType(reg);
  if (!slots_[id]) {
    llvm::Type* whole =
        reg.vector > 1 ? llvm::ArrayType::get(type, reg.vector) : type;
    slots_[id] = EntryAlloca(
        whole, module_.out().getDataLayout().getABITypeAlign(type), "");
  }
  unsigned element = 0;
  switch (part) {
    case Component::kY: element = 1; break;
    case Component::kZ: element = 2; break;
    case Component::kW: element = 3; break;
    default: break;
  }
  if (reg.vector <= 1 || element == 0) return slots_[id];
  return b_.CreateConstInBoundsGEP1_32(type, slots_[id], element);
}

// Nothing for vectors, whose storage has other users.
llvm::Value** FunctionLowering::KnownHere(std::uint32_t reg) {
  if (ptx_.registers[reg].vector > 1) return nullptr;
  if (known_in_ != b_.GetInsertBlock()) {
    known_in_ = b_.GetInsertBlock();
    known_.clear();
  }
  return &known_[reg];
}

llvm::Value* FunctionLowering::LoadRegister(std::uint32_t reg, Component part) {
  Value** known = KnownHere(reg);
  if (known && *known) return *known;
  Value* value = b_.CreateLoad(SlotType(ptx_.registers[reg]), Slot(reg, part));
  if (known) *known = value;
  return value;
}

// Constants are read again: what is made of them now would be computed without
// the function's mode for subnormals.
void FunctionLowering::StoreRegister(std::uint32_t reg, Component part,
                                     Value* value) {
  b_.CreateStore(value, Slot(reg, part));
  if (Value** known = KnownHere(reg)) {
    *known = llvm::isa<llvm::Constant>(value) ? nullptr : value;
  }
}

llvm::Value* FunctionLowering::AsInt(Value* value) {
  llvm::Type* type = value->getType();
  if (type->isIntegerTy()) return value;
  return b_.CreateBitCast(
      value, Int(static_cast<unsigned>(type->getPrimitiveSizeInBits())));
}

llvm::Value* FunctionLowering::FromInt(Value* bits, llvm::Type* type) {
  if (type->isIntegerTy()) return b_.CreateZExtOrTrunc(bits, type);
  const unsigned size = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  return b_.CreateBitCast(b_.CreateZExtOrTrunc(bits, Int(size)), type);
}

llvm::Value* FunctionLowering::Coerce(Value* value, Type type) {
  llvm::Type* want = LlvmType(type);
  if (value->getType() == want) return value;
  Value* bits = AsInt(value);
  const unsigned have_bits = bits->getType()->getIntegerBitWidth();
  const unsigned want_bits =
      static_cast<unsigned>(want->getPrimitiveSizeInBits());
  if (have_bits > want_bits) {
    bits = b_.CreateTrunc(bits, Int(want_bits));
  } else if (have_bits < want_bits) {
    bits = IsSigned(type) ? b_.CreateSExt(bits, Int(want_bits))
                          : b_.CreateZExt(bits, Int(want_bits));
  }
  return want->isIntegerTy() ? bits : b_.CreateBitCast(bits, want);
}

unsigned FunctionLowering::PackedElements(const Operand& operand,
                                          std::uint64_t bits) const {
  if (operand.part != Component::kWhole) return 0;
  const Register& reg = ptx_.registers[operand.index];
  const unsigned each = static_cast<unsigned>(BitsOf(reg.type));
  return reg.vector > 1 && reg.vector * each == bits ? reg.vector : 0;
}

Operand FunctionLowering::ComponentOf(Operand vector, unsigned i) {
  constexpr Component kParts[] = {Component::kX, Component::kY, Component::kZ,
                                  Component::kW};
  vector.part = kParts[i];
  return vector;
}

llvm::Value* FunctionLowering::Pack(
    unsigned count, llvm::Type* type,
    llvm::function_ref<Value*(unsigned, Type)> element) {
  const unsigned bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  const unsigned each = count ? bits / count : bits;
  const Type part = each == 8    ? Type::kB8
                    : each == 16 ? Type::kB16
                    : each == 32 ? Type::kB32
                                 : Type::kB64;
  Value* whole = IntOf(Int(bits), 0);
  for (unsigned i = 0; i < count; ++i) {
    whole = b_.CreateOr(
        whole,
        b_.CreateShl(b_.CreateZExt(element(i, part), Int(bits)), i * each));
  }
  return type->isIntegerTy() ? whole : b_.CreateBitCast(whole, type);
}

void FunctionLowering::Unpack(Value* value, unsigned count,
                              llvm::function_ref<Operand(unsigned)> element) {
  Value* bits = AsInt(value);
  const unsigned total = bits->getType()->getIntegerBitWidth();
  const unsigned each = count ? total / count : total;
  for (unsigned i = 0; i < count; ++i) {
    Write(element(i), b_.CreateTrunc(b_.CreateLShr(bits, i * each), Int(each)),
          Type::kNone);
  }
}

llvm::Value* FunctionLowering::ReadFloat(const Operand& operand,
                                         llvm::Type* want) {
  const bool is_single = operand.kind == OperandKind::kFloat32;
  if (want->isFloatingPointTy()) {
    llvm::APFloat number =
        is_single ? llvm::APFloat(llvm::APFloat::IEEEsingle(),
                                  llvm::APInt(32, operand.bits & 0xffffffffu))
                  : llvm::APFloat(llvm::APFloat::IEEEdouble(),
                                  llvm::APInt(64, operand.bits));
    bool inexact = false;
    number.convert(want->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &inexact);
    return llvm::ConstantFP::get(want, number);
  }
  return FromInt(
      is_single ? I32(operand.bits & 0xffffffffu) : I64(operand.bits), want);
}

llvm::Value* FunctionLowering::Read(const Operand& operand, Type type) {
  llvm::Type* want = LlvmType(type);
  Value* value = nullptr;
  switch (operand.kind) {
    case OperandKind::kRegister: {
      if (const unsigned n =
              PackedElements(operand, want->getPrimitiveSizeInBits())) {
        value = Pack(n, want, [&](unsigned i, Type part) {
          return Read(ComponentOf(operand, i), part);
        });
        break;
      }
      llvm::Type* slot_type = SlotType(ptx_.registers[operand.index]);
      value = LoadRegister(operand.index, operand.part);
      if (operand.adds()) {
        value = b_.CreateAdd(value, FromInt(I64(operand.bits), slot_type));
      }
      value = Coerce(value, type);
      break;
    }
    case OperandKind::kInt:
      // "1" where a float is meant does not exist in PTX; bits do.
      if (type == Type::kPred) {
        value = b_.getInt1(operand.value != 0);
      } else {
        value = FromInt(I64(operand.bits), Int(64));
        value = want->isIntegerTy() && want->getIntegerBitWidth() > 64
                    ? b_.CreateSExt(value, want)
                    : FromInt(value, want);
      }
      break;
    case OperandKind::kFloat32:
    case OperandKind::kFloat64: value = ReadFloat(operand, want); break;
    case OperandKind::kSpecial:
      value = Coerce(
          Special(static_cast<SpecialReg>(operand.index), operand.part), type);
      break;
    case OperandKind::kVariable:
      value = Coerce(AddressOfVariable(operand), type);
      break;
    case OperandKind::kFunction:
      if (!module_.FunctionDefinition(operand.index).has_body) {
        Fail("'" + Demangle(ptx_module_.functions[operand.index].name) +
             "' is declared but defined nowhere");
        return llvm::PoisonValue::get(want);
      }
      value = Coerce(b_.CreatePtrToInt(module_.AddressedFunction(operand.index),
                                       b_.getInt64Ty()),
                     type);
      break;
    case OperandKind::kVector:
      // A pack read as one value: {a, b} as .b64, {h0, h1} as .f16x2.
      value = Pack(operand.count, want, [&](unsigned i, Type part) {
        return Read(child(operand, i), part);
      });
      break;
    default:
      Fail("this operand has no value here");
      return llvm::PoisonValue::get(want);
  }
  if (operand.negated) value = b_.CreateNot(value);
  return value;
}

llvm::Value* FunctionLowering::ReadPred(const Operand& operand) {
  return Read(operand, Type::kPred);
}

void FunctionLowering::Write(const Operand& operand, Value* value, Type type) {
  switch (operand.kind) {
    case OperandKind::kSink:
    case OperandKind::kNone: return;
    case OperandKind::kRegister: {
      if (const unsigned n = PackedElements(
              operand, value->getType()->getPrimitiveSizeInBits())) {
        Unpack(value, n, [&](unsigned i) { return ComponentOf(operand, i); });
        return;
      }
      llvm::Type* slot_type = SlotType(ptx_.registers[operand.index]);
      Value* stored = value;
      if (stored->getType() != slot_type) {
        Value* bits = AsInt(stored);
        const unsigned have = bits->getType()->getIntegerBitWidth();
        const unsigned want =
            static_cast<unsigned>(slot_type->getPrimitiveSizeInBits());
        // PTX ISA, "Operand Size Exceeding Instruction-Type Size": signed
        // results are sign-extended, all others zero-extended.
        if (have < want) {
          bits = IsSigned(type) ? b_.CreateSExt(bits, Int(want))
                                : b_.CreateZExt(bits, Int(want));
        } else if (have > want) {
          bits = b_.CreateTrunc(bits, Int(want));
        }
        stored =
            slot_type->isIntegerTy() ? bits : b_.CreateBitCast(bits, slot_type);
      }
      StoreRegister(operand.index, operand.part, stored);
      return;
    }
    case OperandKind::kVector:
      Unpack(value, operand.count,
             [&](unsigned i) { return child(operand, i); });
      return;
    default: Fail("the destination is not a register");
  }
}

llvm::Value* FunctionLowering::AddressOfVariable(const Operand& operand) {
  const Variable& variable = ptx_module_.variables[operand.index];
  // A reference's name means the handle that the variable holds.
  if (KindOf(variable.type) == TypeKind::kOpaque) {
    return HandleOfVariable(operand.index);
  }
  Value* base = nullptr;
  switch (variable.space) {
    case VarSpace::kGlobal:
    case VarSpace::kConst:
      base = b_.CreatePtrToInt(DefinedGlobal(operand.index), b_.getInt64Ty());
      break;
    case VarSpace::kShared:
      base = b_.CreateZExt(
          b_.CreatePtrToInt(module_.GlobalOf(operand.index), b_.getInt32Ty()),
          b_.getInt64Ty());
      break;
    case VarSpace::kLocal:
    case VarSpace::kParam: {
      Value* storage = LocalStorage(operand.index);
      const unsigned space = storage->getType()->getPointerAddressSpace();
      base = space == kAsLocal
                 ? b_.CreateZExt(b_.CreatePtrToInt(storage, b_.getInt32Ty()),
                                 b_.getInt64Ty())
                 : b_.CreatePtrToInt(storage, b_.getInt64Ty());
      break;
    }
    default:
      Fail(
          "the address of a texture, sampler or surface reference is not "
          "supported");
      return I64(0);
  }
  Value* offset = OffsetInVariable(operand);
  return offset ? b_.CreateAdd(base, offset) : base;
}

llvm::Value* FunctionLowering::OffsetInVariable(const Operand& operand) {
  Value* offset = operand.value ? I64(operand.bits) : nullptr;
  if (!operand.element || operand.count == 0) return offset;
  Operand counter;
  counter.kind = OperandKind::kRegister;
  counter.index = operand.count - 1;
  const Variable& array = ptx_module_.variables[operand.index];
  Value* bytes = b_.CreateMul(
      Read(counter, IsSigned(ptx_.registers[counter.index].type) ? Type::kS64
                                                                 : Type::kU64),
      I64(static_cast<std::uint64_t>(BytesOf(array.type))));
  return offset ? b_.CreateAdd(bytes, offset) : bytes;
}

llvm::GlobalVariable* FunctionLowering::DefinedGlobal(std::uint32_t id) {
  const Variable& variable = module_.VariableDefinition(id);
  // Dynamic shared memory is extern as well, but comes with the launch.
  if (variable.linkage == Linkage::kExtern &&
      (variable.space != VarSpace::kShared || variable.size() != 0)) {
    Fail("'" + std::string(variable.name) +
         "' is declared but defined nowhere");
  }
  if (module_.HoldsPartOfAddress(id)) {
    Fail("'" + std::string(variable.name) +
         "' is initialised with less than the 64 bits of an address");
  }
  return module_.GlobalOf(id);
}

llvm::Value* FunctionLowering::LocalStorage(std::uint32_t id) {
  for (const std::pair<std::uint32_t, Value*>& local : locals_) {
    if (local.first == id) return local.second;
  }
  const Variable& variable = ptx_module_.variables[id];
  llvm::Type* type = llvm::ArrayType::get(
      b_.getInt8Ty(), std::max<std::uint64_t>(1, variable.size()));
  Value* storage = EntryAlloca(type, llvm::Align(variable.alignment()),
                               std::string(variable.name));
  locals_.emplace_back(id, storage);
  return storage;
}

llvm::Value* FunctionLowering::CarryFlag() {
  if (!carry_) {
    carry_ = EntryAlloca(b_.getInt1Ty(), llvm::Align(1), "cc");
    // Behind all allocas, as in StackStorage.
    llvm::IRBuilder<>(alloca_point_->getParent(),
                      std::next(alloca_point_->getIterator()))
        .CreateStore(b_.getFalse(), carry_);
  }
  return carry_;
}

bool FunctionLowering::TargetHas(const char* feature) const {
  const llvm::MCSubtargetInfo* target = module_.options().subtarget;
  return target && target->checkFeatures(std::string("+") + feature);
}

llvm::Value* FunctionLowering::Intrinsic(llvm::Intrinsic::ID id,
                                         llvm::ArrayRef<llvm::Type*> types,
                                         llvm::ArrayRef<Value*> args) {
  return b_.CreateIntrinsic(id, types, args);
}

llvm::Value* FunctionLowering::Dev(llvm::StringRef name, llvm::Type* result,
                                   llvm::ArrayRef<Value*> args) {
  std::vector<llvm::Type*> types;
  for (Value* arg : args) types.push_back(arg->getType());
  llvm::FunctionCallee callee = module_.out().getOrInsertFunction(
      ("__cerberus_dev_" + name).str(),
      llvm::FunctionType::get(result, types, false));
  return b_.CreateCall(callee, args);
}

}  // namespace cerberus::ptx
