// Loads, stores and addresses.
//
// A PTX address is an integer: 64 bits wide for generic, global and const
// addresses, an offset into LDS for shared ones, an offset into the thread's
// scratch for local ones. The state space of the instruction picks the LLVM
// address space; the generic one is left to infer-address-spaces.
#include <algorithm>
#include <bit>

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Metadata.h"
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {

llvm::Value* FunctionLowering::ToPointer(Value* address, unsigned as) {
  llvm::Type* pointer = llvm::PointerType::get(b_.getContext(), as);
  const unsigned bits = as == kAsShared || as == kAsLocal ? 32 : 64;
  return b_.CreateIntToPtr(b_.CreateZExtOrTrunc(address, Int(bits)), pointer);
}

namespace {

// A naturally aligned access of so many bytes is never seen in part: by LLVM's
// model up to 8, and 16 since they are one instruction that moves within one
// line of the caches. PTX's model would allow one access for each element, but
// CUB's look-back passes a state and a value as .v2.u32 and as .v2.u64.
constexpr unsigned kMostWholeBytes = 16;
constexpr unsigned kMostAtomicBytes = 8;
// What such an access of 16 bytes has for a type. LLVM has no atomic of that
// size; a volatile one is never split, and passes by all caches that are not
// the device's.
llvm::Type* WholeType(llvm::LLVMContext& context) {
  return llvm::FixedVectorType::get(llvm::Type::getInt32Ty(context), 4);
}

unsigned SpaceNumber(Space space) {
  switch (space) {
    case Space::kGlobal: return kAsGlobal;
    case Space::kShared:
    case Space::kSharedCta:
    case Space::kSharedCluster:  // a cluster is one block
      return kAsShared;
    case Space::kLocal: return kAsLocal;
    case Space::kConst: return kAsConstant;
    case Space::kParam:
    case Space::kParamEntry: return kAsConstant;
    case Space::kParamFunc: return kAsLocal;
    default: return kAsGeneric;
  }
}

}  // namespace

FunctionLowering::Pointer FunctionLowering::Address(const Operand& operand,
                                                    Space space) {
  Pointer result;
  unsigned as = SpaceNumber(space);
  if (operand.kind != OperandKind::kAddress) {
    result.pointer = ToPointer(Read(operand, Type::kU64), as);
    return result;
  }
  if (operand.base == OperandKind::kVariable) {
    const Variable& variable = ptx_module_.variables[operand.index];
    Value* base = nullptr;
    switch (variable.space) {
      case VarSpace::kShared:
      case VarSpace::kGlobal:
      case VarSpace::kConst: base = DefinedGlobal(operand.index); break;
      case VarSpace::kLocal:
      case VarSpace::kParam: base = LocalStorage(operand.index); break;
      default: Fail("this variable has no address"); break;
    }
    if (!base) {
      result.pointer =
          llvm::PoisonValue::get(llvm::PointerType::get(b_.getContext(), as));
      return result;
    }
    if (variable.space == VarSpace::kConst) {
      // The host writes constants between launches, never during one.
      base = b_.CreateAddrSpaceCast(
          base, llvm::PointerType::get(b_.getContext(), kAsConstant));
      result.invariant = true;
    }
    if (base->getType()->getPointerAddressSpace() == kAsConstant) {
      result.invariant = true;
    }
    const bool inside =
        static_cast<std::uint64_t>(operand.value) < variable.size() &&
        !operand.element;
    Value* offset = OffsetInVariable(operand);
    result.pointer =
        offset ? b_.CreateGEP(b_.getInt8Ty(), base, offset, "",
                              inside ? llvm::GEPNoWrapFlags::inBounds()
                                     : llvm::GEPNoWrapFlags::none())
               : base;
    return result;
  }
  Value* address = nullptr;
  if (operand.base == OperandKind::kRegister) {
    Operand reg = operand;
    reg.kind = OperandKind::kRegister;
    reg.negated = false;
    reg.value = 0;
    address = Read(reg, ptx_.registers[operand.index].type == Type::kU32 ||
                                BitsOf(ptx_.registers[operand.index].type) == 32
                            ? Type::kU32
                            : Type::kU64);
  } else if (operand.base == OperandKind::kInt) {
    result.pointer = ToPointer(I64(operand.bits), as);
    return result;
  } else {
    Fail("this address is not supported");
    address = I64(0);
  }
  // A parameter of a device function lies in scratch, a kernel's in the
  // kernarg segment; ld.param says the same for both.
  if (space == Space::kParam && !ptx_.is_entry) as = kAsLocal;
  result.invariant = as == kAsConstant;
  result.pointer = ToPointer(address, as);
  if (operand.value != 0) {
    result.pointer =
        b_.CreateGEP(b_.getInt8Ty(), result.pointer, I64(operand.bits));
  }
  return result;
}

llvm::SyncScope::ID FunctionLowering::SyncScope(Scope scope) {
  switch (scope) {
    case Scope::kCta:
      return b_.getContext().getOrInsertSyncScopeID("workgroup");
    case Scope::kSys: return llvm::SyncScope::System;
    default: return b_.getContext().getOrInsertSyncScopeID("agent");
  }
}

// Without a scope that of one GPU; for memory of several GPUs that of all.
llvm::SyncScope::ID FunctionLowering::AccessScope() {
  const Scope scope = mods().scope();
  if (scope == Scope::kNone && form().row->name.starts_with("multimem.")) {
    return llvm::SyncScope::System;
  }
  return SyncScope(scope);
}

void FunctionLowering::Fence(llvm::AtomicOrdering ordering,
                             llvm::SyncScope::ID scope) {
  b_.CreateFence(ordering, scope);
}

void FunctionLowering::CopyAttributes(llvm::Instruction* access) {
  // .cs: streaming, likely accessed once. .cv and .wt ask for memory itself.
  if (mods().cache() == Cache::kCs || mods().l1() == L1::kNoAllocate ||
      mods().l1() == L1::kEvictFirst) {
    access->setMetadata(
        llvm::LLVMContext::MD_nontemporal,
        llvm::MDNode::get(b_.getContext(),
                          llvm::ConstantAsMetadata::get(I32(1))));
  }
}

namespace {

// What a place in a variable is known to be aligned to, so that loads of
// neighbours become one.
llvm::Align AlignmentOf(llvm::Value* pointer, const llvm::DataLayout& layout) {
  llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(
      layout, offset, /*AllowNonInbounds=*/true);
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(base);
  if (!variable) return llvm::Align(1);
  return llvm::commonAlignment(variable->getAlign().valueOrOne(),
                               offset.getZExtValue());
}

}  // namespace

llvm::Value* FunctionLowering::LoadScalar(Value* pointer, llvm::Type* type,
                                          unsigned align, bool invariant) {
  llvm::LoadInst* load = b_.CreateAlignedLoad(
      type, pointer,
      std::max(llvm::Align(align),
               AlignmentOf(pointer, module_.out().getDataLayout())));
  if (invariant) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(b_.getContext(), {}));
    // Parameters have been written by the launch. LLVM need not ask whether
    // each of their uses, of which there may be many, would show it.
    if (load->getPointerAddressSpace() == kAsConstant) {
      load->setMetadata(llvm::LLVMContext::MD_noundef,
                        llvm::MDNode::get(b_.getContext(), {}));
    }
  }
  CopyAttributes(load);
  return load;
}

// `width` elements of `bytes` each, as .volatile and .relaxed load.
std::vector<llvm::Value*> FunctionLowering::LoadOrdered(Value* pointer,
                                                        unsigned width,
                                                        unsigned bytes) {
  const Sem sem = mods().sem();
  llvm::Type* element = Int(bytes * 8);
  std::vector<Value*> parts;
  const bool is_volatile = sem == Sem::kVolatile || mods().mmio() == Mmio::kOn;
  const llvm::SyncScope::ID scope =
      is_volatile ? llvm::SyncScope::System : AccessScope();
  const unsigned total = width * bytes;
  const unsigned chunk = std::min(total, kMostWholeBytes);
  std::vector<Value*> chunks;
  for (unsigned offset = 0; offset < total; offset += chunk) {
    const bool atomic = chunk <= kMostAtomicBytes;
    llvm::LoadInst* load = b_.CreateAlignedLoad(
        atomic ? Int(chunk * 8) : WholeType(b_.getContext()),
        b_.CreateConstGEP1_32(b_.getInt8Ty(), pointer, offset),
        llvm::Align(chunk), is_volatile || !atomic);
    if (atomic) load->setAtomic(llvm::AtomicOrdering::Monotonic, scope);
    chunks.push_back(b_.CreateBitCast(load, Int(chunk * 8)));
  }
  for (unsigned i = 0; i < width; ++i) {
    const unsigned begin = i * bytes;
    if (bytes <= chunk) {
      parts.push_back(b_.CreateTrunc(
          b_.CreateLShr(chunks[begin / chunk], begin % chunk * 8), element));
      continue;
    }
    Value* part = b_.CreateZExt(chunks[begin / chunk], element);
    for (unsigned at_byte = chunk; at_byte < bytes; at_byte += chunk) {
      part = b_.CreateOr(
          part, b_.CreateShl(
                    b_.CreateZExt(chunks[(begin + at_byte) / chunk], element),
                    at_byte * 8));
    }
    parts.push_back(part);
  }
  return parts;
}

// Into the destination: a register, a vector, or the parts of a vector.
void FunctionLowering::WriteParts(const std::vector<Value*>& parts,
                                  Type as_bits) {
  const unsigned width = static_cast<unsigned>(parts.size());
  if (width == 1) {
    Write(op(0), parts[0], as_bits);
    return;
  }
  const Operand& d = op(0);
  if (d.kind == OperandKind::kVector) {
    for (unsigned i = 0; i < width && i < d.count; ++i) {
      Write(child(d, i), parts[i], as_bits);
    }
    return;
  }
  constexpr Component kParts[] = {Component::kX, Component::kY, Component::kZ,
                                  Component::kW};
  for (unsigned i = 0; i < width && i < 4; ++i) {
    Operand part = d;
    part.part = kParts[i];
    Write(part, parts[i], as_bits);
  }
}

void FunctionLowering::LoadOrLdu(bool ldu) {
  const Space space = mods().space();
  const Type t = type(num_types() - 1);
  Pointer at = Address(op(1), space);
  const unsigned width = static_cast<unsigned>(mods().vector_width());
  const unsigned bytes = static_cast<unsigned>(BytesOf(t));
  llvm::Type* element = Int(bytes * 8);
  const bool invariant = at.invariant || ldu || mods().nc() == NonCoherent::kOn;
  std::vector<Value*> parts;
  if (IsOrderedLoad() && !at.invariant) {
    parts = LoadOrdered(at.pointer, width, bytes);
    if (mods().sem() == Sem::kAcquire) {
      Fence(llvm::AtomicOrdering::Acquire, mods().mmio() == Mmio::kOn
                                               ? llvm::SyncScope::System
                                               : AccessScope());
    }
  } else if (width == 1) {
    parts.push_back(LoadScalar(at.pointer, element, bytes, invariant));
  } else {
    Value* whole =
        LoadScalar(at.pointer, llvm::FixedVectorType::get(element, width),
                   bytes * width, invariant);
    for (unsigned i = 0; i < width; ++i) {
      parts.push_back(b_.CreateExtractElement(whole, i));
    }
  }
  // The value is what memory holds; only its extension depends on the type.
  const Type as_bits = IsSigned(t) ? t : Type::kNone;
  WriteParts(parts, as_bits);
}

void FunctionLowering::LowerLd() { LoadOrLdu(false); }
void FunctionLowering::LowerLdu() { LoadOrLdu(true); }

// What an operand has to store: the bits of each element.
std::vector<llvm::Value*> FunctionLowering::StoredParts(const Operand& source) {
  const Type t = type(num_types() - 1);
  const unsigned width = static_cast<unsigned>(mods().vector_width());
  const unsigned bytes = static_cast<unsigned>(BytesOf(t));
  const Type bits_type = bytes == 1   ? Type::kB8
                         : bytes == 2 ? Type::kB16
                         : bytes == 4 ? Type::kB32
                         : bytes == 8 ? Type::kB64
                                      : Type::kB128;
  std::vector<Value*> parts;
  if (width == 1) {
    // A constant is converted to the type; a register's bits are stored.
    parts.push_back(source.kind == OperandKind::kRegister
                        ? Read(source, bits_type)
                        : AsInt(Read(source, t)));
  } else if (source.kind == OperandKind::kVector) {
    for (unsigned i = 0; i < width && i < source.count; ++i) {
      const Operand& part = child(source, i);
      if (part.kind == OperandKind::kSink) {
        parts.push_back(llvm::PoisonValue::get(Int(bytes * 8)));
      } else {
        parts.push_back(part.kind == OperandKind::kRegister
                            ? Read(part, bits_type)
                            : AsInt(Read(part, t)));
      }
    }
  } else {
    constexpr Component kParts[] = {Component::kX, Component::kY, Component::kZ,
                                    Component::kW};
    for (unsigned i = 0; i < width && i < 4; ++i) {
      Operand part = source;
      part.part = kParts[i];
      parts.push_back(Read(part, bits_type));
    }
  }
  return parts;
}

bool FunctionLowering::IsOrderedLoad() const {
  const Sem sem = mods().sem();
  return sem == Sem::kVolatile || sem == Sem::kRelaxed || sem == Sem::kAcquire;
}
bool FunctionLowering::IsOrderedStore() const {
  const Sem sem = mods().sem();
  return sem == Sem::kVolatile || sem == Sem::kRelaxed || sem == Sem::kRelease;
}

// As .volatile, .relaxed and .weak store.
void FunctionLowering::StoreParts(const std::vector<Value*>& parts,
                                  Value* pointer) {
  const unsigned width = static_cast<unsigned>(mods().vector_width());
  const unsigned bytes = static_cast<unsigned>(BytesOf(type(num_types() - 1)));
  if (IsOrderedStore()) {
    const bool is_volatile =
        mods().sem() == Sem::kVolatile || mods().mmio() == Mmio::kOn;
    const llvm::SyncScope::ID scope =
        is_volatile ? llvm::SyncScope::System : AccessScope();
    // As for loads.
    const unsigned total = width * bytes;
    const unsigned chunk = std::min(total, kMostWholeBytes);
    for (unsigned offset = 0; offset < total; offset += chunk) {
      llvm::IntegerType* type = Int(chunk * 8);
      Value* bits = IntOf(type, 0);
      for (unsigned at_byte = 0; at_byte < chunk;
           at_byte += std::min(bytes, chunk)) {
        Value* part = parts[(offset + at_byte) / bytes];
        bits = b_.CreateOr(
            bits, bytes <= chunk
                      ? b_.CreateShl(b_.CreateZExt(part, type), at_byte * 8)
                      : b_.CreateTrunc(b_.CreateLShr(part, offset % bytes * 8),
                                       type));
      }
      const bool atomic = chunk <= kMostAtomicBytes;
      if (!atomic) bits = b_.CreateBitCast(bits, WholeType(b_.getContext()));
      llvm::StoreInst* store = b_.CreateAlignedStore(
          bits, b_.CreateConstGEP1_32(b_.getInt8Ty(), pointer, offset),
          llvm::Align(chunk), is_volatile || !atomic);
      if (atomic) store->setAtomic(llvm::AtomicOrdering::Monotonic, scope);
    }
    return;
  }
  Value* whole = parts[0];
  if (width > 1) {
    whole = llvm::PoisonValue::get(
        llvm::FixedVectorType::get(Int(bytes * 8), width));
    for (unsigned i = 0; i < width; ++i) {
      whole = b_.CreateInsertElement(whole, parts[i], i);
    }
  }
  llvm::StoreInst* store =
      b_.CreateAlignedStore(whole, pointer, llvm::Align(bytes * width));
  CopyAttributes(store);
}

void FunctionLowering::LowerSt() {
  const Pointer at = Address(op(0), mods().space());
  const std::vector<Value*> parts = StoredParts(op(1));
  if (mods().sem() == Sem::kRelease) {
    Fence(llvm::AtomicOrdering::Release,
          mods().mmio() == Mmio::kOn ? llvm::SyncScope::System : AccessScope());
  }
  StoreParts(parts, at.pointer);
}

void FunctionLowering::LowerMov() {
  const Operand& d = op(0);
  const Operand& a = op(1);
  const Type t = type();
  if (t == Type::kPred) {
    Write(d, ReadPred(a), Type::kPred);
    return;
  }
  // A vector register moves as a whole, or is packed into one of its size.
  const auto whole_vector = [&](const Operand& o) {
    return o.kind == OperandKind::kRegister && o.part == Component::kWhole &&
           ptx_.registers[o.index].vector > 1 &&
           PackedElements(o, static_cast<std::uint64_t>(BitsOf(t))) == 0;
  };
  const unsigned elements = static_cast<unsigned>(mods().vector_width());
  if (elements > 1 || whole_vector(d) ||
      (whole_vector(a) && d.kind == OperandKind::kVector)) {
    const unsigned width = elements > 1      ? elements
                           : whole_vector(d) ? ptx_.registers[d.index].vector
                                             : d.count;
    // All are read before any is written: {a, b} may become {b, a}.
    std::vector<Value*> values;
    for (unsigned i = 0; i < width && i < 4; ++i) {
      values.push_back(Read(
          a.kind == OperandKind::kVector ? child(a, i) : ComponentOf(a, i), t));
    }
    for (unsigned i = 0; i < values.size(); ++i) {
      Write(d.kind == OperandKind::kVector ? child(d, i) : ComponentOf(d, i),
            values[i], t);
    }
    return;
  }
  // mov.b32 {%h0, %h1}, %r and back: Read and Write pack and unpack.
  Write(d, Read(a, t), t);
}

void FunctionLowering::LowerCvta() {
  // Generic addresses of global, const and kernel parameters are their own;
  // shared and local ones lie in apertures that addrspacecast knows.
  const unsigned as = SpaceNumber(mods().space());
  const bool to = mods().to() == To::kOn;
  const Type t = type();
  const bool window = as == kAsShared || as == kAsLocal;
  if (!window) {
    if (ptx_.is_entry || mods().space() != Space::kParam) {
      Out(0, Read(op(1), t), t);
      return;
    }
  }
  const unsigned space = window ? as : kAsLocal;
  llvm::Type* generic = llvm::PointerType::get(b_.getContext(), kAsGeneric);
  llvm::Type* special = llvm::PointerType::get(b_.getContext(), space);
  if (to) {
    Value* address = b_.CreateIntToPtr(Read(op(1), Type::kU64), generic);
    Value* offset = b_.CreatePtrToInt(b_.CreateAddrSpaceCast(address, special),
                                      b_.getInt32Ty());
    Out(0, Coerce(offset, t), t);
    return;
  }
  Value* pointer = ToPointer(Read(op(1), Type::kU64), space);
  Value* address = b_.CreatePtrToInt(b_.CreateAddrSpaceCast(pointer, generic),
                                     b_.getInt64Ty());
  Out(0, Coerce(address, t), t);
}

void FunctionLowering::LowerIsspacep() {
  Value* pointer =
      b_.CreateIntToPtr(Read(op(1), Type::kU64),
                        llvm::PointerType::get(b_.getContext(), kAsGeneric));
  const auto in_shared = [&] {
    return Intrinsic(llvm::Intrinsic::amdgcn_is_shared, {}, {pointer});
  };
  const auto in_cluster = [&] {
    Value* from_first = b_.CreateSub(Read(op(1), Type::kU64), Cluster("base"));
    return b_.CreateOr(in_shared(),
                       b_.CreateICmpULT(from_first, Cluster("bytes")));
  };
  const auto in_local = [&] {
    return Intrinsic(llvm::Intrinsic::amdgcn_is_private, {}, {pointer});
  };
  // Constants and a kernel's parameters lie in global memory; only their
  // bounds tell them apart.
  const auto in_range = [&](Value* base, std::uint64_t size) {
    Value* distance = b_.CreateSub(Read(op(1), Type::kU64),
                                   b_.CreatePtrToInt(base, b_.getInt64Ty()));
    return b_.CreateICmpULT(distance, I64(size));
  };
  const auto in_constants = [&] {
    Value* any = b_.getFalse();
    for (std::uint32_t id = 0; id < ptx_module_.variables.size(); ++id) {
      const Variable& variable = ptx_module_.variables[id];
      if (variable.space != VarSpace::kConst) continue;
      any = b_.CreateOr(any, in_range(module_.GlobalOf(id), variable.size()));
    }
    return any;
  };
  const auto in_parameters = [&] {
    Value* any = b_.getFalse();
    if (!ptx_.is_entry) return any;
    for (std::uint32_t id : ptx_.params) {
      any = b_.CreateOr(
          any, in_range(LocalStorage(id), ptx_module_.variables[id].size()));
    }
    return any;
  };
  Value* result = nullptr;
  switch (mods().space()) {
    case Space::kShared:
    case Space::kSharedCta: result = in_shared(); break;
    case Space::kSharedCluster: result = in_cluster(); break;
    case Space::kLocal: result = in_local(); break;
    case Space::kConst: result = in_constants(); break;
    case Space::kParam:
    case Space::kParamEntry: result = in_parameters(); break;
    default:
      result = b_.CreateNot(
          b_.CreateOr(b_.CreateOr(in_cluster(), in_local()),
                      b_.CreateOr(in_constants(), in_parameters())));
      break;
  }
  Out(0, result, Type::kPred);
}

// ---- The stack --------------------------------------------------------------
//
// Each lane's pieces lie one behind the other above the function's frame, and
// each lane has a pointer of its own to the next: lanes of a wave may ask for
// different sizes, and give back what others still use. The machine's stack
// pointer, which all lanes share, only has to stay above all of them, where
// the frames of called functions begin; the function's end resets it. LLVM
// would reset it behind a function that is inlined too, when the first lane
// leaves that, so functions with pieces of stack are not inlined.

namespace {

// The alignment of frames.
constexpr unsigned kStackAlign = 16;

llvm::Value* Opaque(llvm::IRBuilder<>& b, llvm::Value* value,
                    const char* constraints) {
  return b.CreateCall(
      llvm::InlineAsm::get(
          llvm::FunctionType::get(value->getType(), {value->getType()}, false),
          "", constraints, /*hasSideEffects=*/false),
      {value});
}

// Raises the machine's stack pointer by what the lane that needs the most
// needs.
llvm::Value* GrowStack(llvm::IRBuilder<>& b, llvm::Value* bytes) {
  // What is allocated must not become a constant, which LLVM would make part
  // of the frame, nor be left out.
  llvm::Value* memory =
      b.CreateAlloca(b.getInt8Ty(), kAsLocal, Opaque(b, bytes, "=v,0"));
  b.CreateCall(
      llvm::InlineAsm::get(
          llvm::FunctionType::get(b.getVoidTy(), {memory->getType()}, false),
          "", "v", /*hasSideEffects=*/true),
      {memory});
  return memory;
}

// Storage of a function's own, beside that of its variables.
constexpr std::uint32_t kStackTop = kNoId;      // the lane's next piece
constexpr std::uint32_t kStackEnd = kNoId - 1;  // of what it has reserved

// `point`: the last of the entry block's allocas. What is computed goes behind
// it: an alloca behind anything else is no part of the frame once the kernel's
// body stands under a condition, as that of packed warps does. `flat`: the
// target has architected flat scratch.
llvm::Value* StackStorage(
    std::uint32_t which, llvm::Instruction* point, bool flat,
    std::vector<std::pair<std::uint32_t, llvm::Value*>>& storages) {
  for (const auto& [id, storage] : storages) {
    if (id == which) return storage;
  }
  llvm::IRBuilder<> allocas(point);
  llvm::IRBuilder<> b(point->getParent(), std::next(point->getIterator()));
  // What LLVM 22 gives for an allocated piece is the stack pointer itself, for
  // a saved one the lane's part of it. With architected flat scratch the first
  // is a lane's address, without it the second. Kernels have a stack pointer
  // only where something is allocated.
  llvm::Value* top = GrowStack(b, b.getInt32(0));
  if (!flat) {
    top = b.CreateIntrinsic(llvm::Intrinsic::stacksave,
                            {llvm::PointerType::get(b.getContext(), kAsLocal)},
                            {});
  }
  top = b.CreatePtrToInt(top, b.getInt32Ty());
  for (const std::uint32_t id : {kStackTop, kStackEnd}) {
    storages.emplace_back(
        id, allocas.CreateAlloca(b.getInt32Ty(), kAsLocal, nullptr, "stack"));
    b.CreateStore(top, storages.back().second);
  }
  return StackStorage(which, point, flat, storages);
}

constexpr const char* kFlatScratch = "architected-flat-scratch";

}  // namespace

void FunctionLowering::LowerAlloca() {
  std::uint64_t align = num_operands() > 2 ? op(2).bits : 8;
  if (!std::has_single_bit(align)) {
    Fail("the alignment is not a power of two");
    return;
  }
  align = std::max<std::uint64_t>(align, 8);
  llvm::Type* word = b_.getInt32Ty();
  const auto up = [&](Value* value, std::uint64_t multiple) {
    return b_.CreateAnd(b_.CreateAdd(value, I32(multiple - 1)),
                        I32(~(multiple - 1)));
  };
  const bool flat = TargetHas(kFlatScratch);
  Value* top = StackStorage(kStackTop, alloca_point_, flat, locals_);
  Value* end_of_reserved =
      StackStorage(kStackEnd, alloca_point_, flat, locals_);
  Value* size = b_.CreateTrunc(Read(op(1), Type::kU64), word);
  Value* begin = up(b_.CreateLoad(word, top), align);
  Value* end = b_.CreateAdd(begin, size);
  b_.CreateStore(end, top);
  // LLVM 22 moves the stack pointer by the size times the lanes of a wave,
  // which is right where it counts the bytes of all lanes; with architected
  // flat scratch it counts those of one.
  const unsigned lanes_log = TargetHas("wavefrontsize64") ? 6 : 5;
  const unsigned scale = flat ? lanes_log : 0;
  Value* reserved = b_.CreateLoad(word, end_of_reserved);
  Value* more = up(Binary(llvm::Intrinsic::usub_sat, end, reserved),
                   std::uint64_t{kStackAlign} << scale);
  b_.CreateStore(b_.CreateAdd(reserved, more), end_of_reserved);
  GrowStack(b_, b_.CreateLShr(more, scale));
  Out(0, Coerce(begin, type()), type());
}

void FunctionLowering::LowerStacksave() {
  Value* top =
      StackStorage(kStackTop, alloca_point_, TargetHas(kFlatScratch), locals_);
  Out(0, Coerce(b_.CreateLoad(b_.getInt32Ty(), top), type()), type());
}

void FunctionLowering::LowerStackrestore() {
  b_.CreateStore(
      b_.CreateTrunc(Read(op(0), Type::kU64), b_.getInt32Ty()),
      StackStorage(kStackTop, alloca_point_, TargetHas(kFlatScratch), locals_));
}

// Performance hints: nothing depends on them.
void FunctionLowering::LowerNothing() {}

void FunctionLowering::LowerCreatepolicy() {
  // The result is only ever handed to a cache hint.
  Write(op(0), I64(0), Type::kB64);
}

}  // namespace cerberus::ptx
