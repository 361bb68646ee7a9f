// A module: variables, signatures, the order of work, and which kernels a
// failure takes along.
#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"

#include "ptxc/lower.h"

namespace cerberus::ptx {

unsigned AlignOf(const Variable& variable) {
  if (variable.align != 0) return variable.align;
  return std::max(1u, static_cast<unsigned>(BytesOf(variable.type)) *
                          variable.vector);
}

bool HasThreadCount(const Instruction& inst) {
  const Opcode opcode = inst.form->opcode();
  if (opcode != Opcode::kBar && opcode != Opcode::kBarrier) return false;
  // sync a {, b}; arrive a, b; red d, a {, b}, c.
  switch (inst.form->mods.bar()) {
    case Bar::kArrive:
      return true;
    case Bar::kRed:
      return inst.num_operands == 4;
    default:
      return inst.num_operands == 2;
  }
}

ModuleLowering::ModuleLowering(const Module& ptx, llvm::Module& out,
                               const LowerOptions& options,
                               const DiagSink& sink)
    : ptx_(ptx),
      out_(out),
      options_(options),
      sink_(sink),
      lines_(ptx.text),
      states_(ptx.functions.size()),
      globals_(ptx.variables.size()) {}

Status ModuleLowering::Run(ModuleInfo* info) {
  info->ptx_major = ptx_.version / 10;
  info->ptx_minor = ptx_.version % 10;
  info->sm = ptx_.sm;
  AnalyzeCalls();
  MarkRecursion();
  AnalyzeFlushing();
  // Every variable of module scope is a symbol that the host may ask for.
  for (const TopLevel& item : ptx_.order) {
    if (item.kind != TopLevelKind::kVariable) continue;
    const Variable& variable = ptx_.variables[item.index];
    if ((variable.space == VarSpace::kGlobal ||
         variable.space == VarSpace::kConst) &&
        variable.linkage != Linkage::kExtern) {
      GlobalOf(item.index);
    }
  }
  LowerBodies();
  PropagateFailures();
  if (first_error_ && !options_.keep_going) return Err(*first_error_);
  RemoveFailed(info);
  return {};
}

void ModuleLowering::Report(Diag diag) {
  if (options_.keep_going && diag.severity == Severity::kError &&
      diag.code == DiagCode::kUnsupportedPtx) {
    diag.severity = Severity::kWarning;
  }
  if (sink_) sink_(diag);
  if (!first_error_) first_error_ = std::move(diag);
}

Where ModuleLowering::WhereOf(const Function* function,
                              std::uint32_t text_offset, std::uint32_t loc) {
  Where where;
  where.file = options_.input_name;
  if (function) where.kernel = llvm::demangle(function->name);
  const Position position = lines_.At(text_offset);
  where.ptx_line = position.line;
  where.ptx_column = position.column;
  if (loc != kNoId) {
    const Loc& source = ptx_.locs[loc];
    const SourceFile* file = ptx_.FileByNumber(source.file);
    if (file) where.source_file = std::string(file->name);
    where.source_line = static_cast<int>(source.line);
  }
  return where;
}

// ---- Analyses of the call graph ---------------------------------------------

void ModuleLowering::AnalyzeCalls() {
  for (std::size_t id = 0; id < ptx_.functions.size(); ++id) {
    const Function& function = ptx_.functions[id];
    FunctionState& state = states_[id];
    for (const Instruction& inst : function.instructions) {
      if (!inst.form) continue;
      const bool is_call = inst.form->opcode() == Opcode::kCall;
      if (inst.form->opcode() == Opcode::kExit) state.may_exit = true;
      if (HasThreadCount(inst)) state.named_barriers = true;
      for (unsigned i = 0; i < inst.num_operands; ++i) {
        const Operand& operand = function.operands[inst.first_operand + i];
        if (is_call && i == 1) {
          if (operand.kind == OperandKind::kFunction) {
            state.callees.push_back(operand.index);
          } else {
            state.calls_indirectly = true;
          }
        } else if (operand.kind == OperandKind::kFunction) {
          states_[operand.index].address_taken = true;
          state.callees.push_back(operand.index);
        }
      }
    }
    std::sort(state.callees.begin(), state.callees.end());
    state.callees.erase(
        std::unique(state.callees.begin(), state.callees.end()),
        state.callees.end());
  }
  for (const Variable& variable : ptx_.variables) {
    for (const InitElement& element : variable.init) {
      if (element.kind == InitElement::Kind::kFunction) {
        states_[element.index].address_taken = true;
      }
    }
  }
  // What holds for a function holds for its callers.
  bool pointed_at_barriers = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionState& state : states_) {
      if (state.address_taken && state.named_barriers) {
        pointed_at_barriers = true;
      }
      for (std::uint32_t callee : state.callees) {
        const FunctionState& below = states_[callee];
        const bool exits = below.may_exit && !below.address_taken;
        if (exits && !state.may_exit) state.may_exit = changed = true;
        if (below.named_barriers && !state.named_barriers) {
          state.named_barriers = changed = true;
        }
      }
      if (state.calls_indirectly && pointed_at_barriers &&
          !state.named_barriers) {
        state.named_barriers = changed = true;
      }
    }
  }
}

void ModuleLowering::MarkRecursion() {
  // A function is recursive if it can reach itself. Modules have few
  // functions with calls, so a search from each is cheap enough.
  std::vector<std::uint32_t> seen(states_.size(), kNoId);
  for (std::uint32_t start = 0; start < states_.size(); ++start) {
    if (states_[start].callees.empty()) continue;
    std::vector<std::uint32_t> work = states_[start].callees;
    while (!work.empty() && !states_[start].recursive) {
      const std::uint32_t id = work.back();
      work.pop_back();
      if (id == start) states_[start].recursive = true;
      if (seen[id] == start) continue;
      seen[id] = start;
      work.insert(work.end(), states_[id].callees.begin(),
                  states_[id].callees.end());
    }
  }
}

namespace {

enum class FlushUse { kNone, kFlushes, kKeeps };

// Whether an instruction cares how the hardware treats f32 subnormals.
FlushUse FlushUseOf(const InstForm& form) {
  bool has_f32 = false;
  bool has_f64 = false;
  for (int i = 0; i < form.num_types; ++i) {
    has_f32 |= form.type(i) == Type::kF32 || form.type(i) == Type::kF32x2;
    has_f64 |= form.type(i) == Type::kF64;
  }
  if (!has_f32) return FlushUse::kNone;
  switch (form.opcode()) {
    case Opcode::kCvt:
      // From integers and from f16 no f32 subnormal can come.
      if (form.type(0) == Type::kF32 && form.type(1) != Type::kF32 &&
          !has_f64) {
        return FlushUse::kNone;
      }
      break;
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kMul:
    case Opcode::kFma:
    case Opcode::kMad:
    case Opcode::kDiv:
    case Opcode::kRcp:
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kLg2:
    case Opcode::kEx2:
    case Opcode::kMin:
    case Opcode::kMax:
    case Opcode::kSetp:
    case Opcode::kSet:
    case Opcode::kSlct:
      break;
    case Opcode::kAbs:
    case Opcode::kNeg:
      // Bit operations: without .ftz they need no mode.
      if (form.mods.ftz() != Ftz::kOn) return FlushUse::kNone;
      break;
    default:
      return FlushUse::kNone;
  }
  // Directed rounding is computed from results to nearest, which the mode
  // must not flush.
  if (form.mods.rounding() == Rounding::kRz ||
      form.mods.rounding() == Rounding::kRm ||
      form.mods.rounding() == Rounding::kRp) {
    return FlushUse::kKeeps;
  }
  return form.mods.ftz() == Ftz::kOn ? FlushUse::kFlushes : FlushUse::kKeeps;
}

}  // namespace

void ModuleLowering::AnalyzeFlushing() {
  // The hardware's mode holds for a whole call tree, so functions that call
  // each other decide together; one f32 operation without .ftz among them
  // and flushing is written out for the others.
  std::vector<std::uint32_t> group(states_.size());
  std::iota(group.begin(), group.end(), 0u);
  const auto find = [&](std::uint32_t id) {
    while (group[id] != id) id = group[id] = group[group[id]];
    return id;
  };
  std::uint32_t indirect = kNoId;
  for (std::uint32_t id = 0; id < states_.size(); ++id) {
    for (std::uint32_t callee : states_[id].callees) {
      group[find(id)] = find(callee);
    }
    if (states_[id].calls_indirectly || states_[id].address_taken) {
      if (indirect == kNoId) indirect = id;
      group[find(id)] = find(indirect);
    }
  }
  std::vector<bool> flushes(states_.size());
  std::vector<bool> keeps(states_.size());
  for (std::uint32_t id = 0; id < states_.size(); ++id) {
    for (const Instruction& inst : ptx_.functions[id].instructions) {
      if (!inst.form) continue;
      const FlushUse use = FlushUseOf(*inst.form);
      if (use == FlushUse::kFlushes) flushes[find(id)] = true;
      if (use == FlushUse::kKeeps) keeps[find(id)] = true;
    }
  }
  for (std::uint32_t id = 0; id < states_.size(); ++id) {
    states_[id].flush_f32 = flushes[find(id)] && !keeps[find(id)];
  }
}

// ---- Functions --------------------------------------------------------------

llvm::Type* ModuleLowering::ParamType(const Variable& variable) {
  // By size only, so that a prototype and a function that differ in types
  // agree in registers.
  const std::uint64_t size = std::max<std::uint64_t>(1, variable.size());
  llvm::LLVMContext& context = out_.getContext();
  switch (size) {
    case 1:
    case 2:
    case 4:
    case 8:
      return llvm::IntegerType::get(context,
                                    static_cast<unsigned>(size) * 8);
    default:
      break;
  }
  const unsigned unit = size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
  return llvm::ArrayType::get(llvm::IntegerType::get(context, unit * 8),
                              size / unit);
}

llvm::FunctionType* ModuleLowering::SignatureOf(
    const std::vector<std::uint32_t>& returns,
    const std::vector<std::uint32_t>& params, bool may_exit) {
  std::vector<llvm::Type*> results;
  if (may_exit) results.push_back(llvm::Type::getInt1Ty(context()));
  for (std::uint32_t id : returns) {
    results.push_back(ParamType(ptx_.variables[id]));
  }
  std::vector<llvm::Type*> args;
  for (std::uint32_t id : params) {
    args.push_back(ParamType(ptx_.variables[id]));
  }
  llvm::Type* result = results.empty()
                           ? llvm::Type::getVoidTy(context())
                       : results.size() == 1
                           ? results[0]
                           : llvm::StructType::get(context(), results);
  return llvm::FunctionType::get(result, args, false);
}

llvm::Function* ModuleLowering::FunctionOf(std::uint32_t id) {
  for (const Alias& alias : ptx_.aliases) {
    if (alias.alias_function == id && alias.aliasee_function != kNoId) {
      return FunctionOf(alias.aliasee_function);
    }
  }
  if (!states_[id].function) {
    if (ptx_.functions[id].is_entry) {
      DeclareKernel(id);
    } else {
      DeclareDevice(id);
    }
  }
  return states_[id].function;
}

void ModuleLowering::SetCommonAttributes(llvm::Function& function) {
  function.addFnAttr(llvm::Attribute::Convergent);
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.addFnAttr("uniform-work-group-size", "true");
  // Minima and maxima take a signaling NaN for a quiet one, as PTX does.
  function.addFnAttr("amdgpu-ieee", "false");
  // What docs/launch-abi.md does not provide must not be asked for.
  for (const char* absent :
       {"amdgpu-no-hostcall-ptr", "amdgpu-no-heap-ptr",
        "amdgpu-no-multigrid-sync-arg", "amdgpu-no-default-queue",
        "amdgpu-no-completion-action", "amdgpu-no-dispatch-ptr",
        "amdgpu-no-dispatch-id", "amdgpu-no-queue-ptr"}) {
    function.addFnAttr(absent);
  }
}

void ModuleLowering::SetLaunchBounds(const Function& ptx,
                                     llvm::Function& function) {
  const auto product = [](const std::uint32_t (&n)[3]) {
    std::uint64_t all = 1;
    for (std::uint32_t part : n) all *= std::max<std::uint32_t>(1, part);
    return all;
  };
  std::uint64_t least = 1;
  std::uint64_t most = 1024;
  if (ptx.tuning.reqntid[0] != 0) {
    least = most = product(ptx.tuning.reqntid);
  } else if (ptx.tuning.maxntid[0] != 0) {
    most = product(ptx.tuning.maxntid);
  }
  most = std::min<std::uint64_t>(most, 1024);
  least = std::min(least, most);
  function.addFnAttr("amdgpu-flat-work-group-size",
                     fmt::format("{},{}", least, most));
}

void ModuleLowering::DeclareKernel(std::uint32_t id) {
  const Function& ptx = ptx_.functions[id];
  llvm::LLVMContext& context = out_.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, kAsConstant);
  const std::vector<llvm::Type*> types(ptx.params.size() + 1, pointer);
  llvm::Function* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
      llvm::GlobalValue::ExternalLinkage, std::string(ptx.name), out_);
  function->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  function->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  llvm::Type* byte = llvm::Type::getInt8Ty(context);
  const auto describe = [&](unsigned index, llvm::StringRef name,
                            std::uint64_t size, std::uint64_t align) {
    llvm::Argument* argument = function->getArg(index);
    argument->setName(name);
    llvm::AttrBuilder attributes(context);
    attributes.addByRefAttr(llvm::ArrayType::get(byte, size));
    attributes.addAlignmentAttr(align);
    argument->addAttrs(attributes);
  };
  for (std::size_t i = 0; i < ptx.params.size(); ++i) {
    const Variable& param = ptx_.variables[ptx.params[i]];
    describe(static_cast<unsigned>(i), param.name,
             std::max<std::uint64_t>(1, param.size()),
             AlignOf(param));
  }
  describe(static_cast<unsigned>(ptx.params.size()), "__cerberus_launch", 32,
           8);
  SetCommonAttributes(*function);
  SetLaunchBounds(ptx, *function);
  if (states_[id].flush_f32) {
    function->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  }
  states_[id].function = function;
}

void ModuleLowering::DeclareDevice(std::uint32_t id) {
  const Function& ptx = ptx_.functions[id];
  FunctionState& state = states_[id];
  llvm::Function* function = llvm::Function::Create(
      SignatureOf(ptx.returns, ptx.params,
                  state.may_exit && !state.address_taken),
      llvm::GlobalValue::InternalLinkage, std::string(ptx.name), out_);
  SetCommonAttributes(*function);
  if (!state.recursive && !state.address_taken && !options_.debug) {
    function->addFnAttr(llvm::Attribute::AlwaysInline);
  } else if (options_.debug) {
    function->addFnAttr(llvm::Attribute::NoInline);
  }
  if (state.flush_f32) {
    function->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  }
  state.function = function;
}

void ModuleLowering::LowerBodies() {
  for (std::uint32_t id = 0; id < ptx_.functions.size(); ++id) {
    if (!ptx_.functions[id].has_body) continue;
    if (ptx_.functions[id].errors != 0) {
      states_[id].failed = true;
      const auto reason =
          options_.broken.find(std::string(ptx_.functions[id].name));
      states_[id].reason = reason != options_.broken.end()
                               ? reason->second
                               : "does not parse";
      continue;
    }
    FunctionLowering lowering(*this, id);
    if (!lowering.Run()) states_[id].failed = true;
  }
}

void ModuleLowering::PropagateFailures() {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t id = 0; id < states_.size(); ++id) {
      FunctionState& state = states_[id];
      if (state.failed) continue;
      for (std::uint32_t callee : state.callees) {
        if (!states_[callee].failed) continue;
        state.failed = changed = true;
        state.reason =
            fmt::format("calls '{}': {}",
                        llvm::demangle(ptx_.functions[callee].name),
                        states_[callee].reason);
        break;
      }
    }
  }
}

void ModuleLowering::RemoveFailed(ModuleInfo* info) {
  for (std::uint32_t id = 0; id < ptx_.functions.size(); ++id) {
    const Function& ptx = ptx_.functions[id];
    FunctionState& state = states_[id];
    if (state.failed && state.function) {
      state.function->deleteBody();
      state.function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    }
    if (!ptx.is_entry || !ptx.has_body) continue;
    if (state.failed) {
      info->failed.push_back({std::string(ptx.name), state.reason});
      continue;
    }
    KernelInfo kernel;
    kernel.name = std::string(ptx.name);
    const PerformanceTuning& tuning = ptx.tuning;
    const auto triple = [](const std::uint32_t (&n)[3]) {
      return std::array<unsigned, 3>{std::max(1u, n[0]), std::max(1u, n[1]),
                                     std::max(1u, n[2])};
    };
    if (tuning.maxntid[0]) kernel.maxntid = triple(tuning.maxntid);
    if (tuning.reqntid[0]) kernel.reqntid = triple(tuning.reqntid);
    if (tuning.minnctapersm) kernel.minnctapersm = tuning.minnctapersm;
    info->kernels.push_back(std::move(kernel));
  }
  for (FunctionState& state : states_) {
    if (!state.failed || !state.function) continue;
    state.function->replaceAllUsesWith(
        llvm::PoisonValue::get(state.function->getType()));
    state.function->eraseFromParent();
    state.function = nullptr;
  }
}

// ---- Variables --------------------------------------------------------------

llvm::GlobalVariable* ModuleLowering::GlobalOf(std::uint32_t id) {
  if (!globals_[id]) globals_[id] = CreateGlobal(ptx_.variables[id]);
  return globals_[id];
}

llvm::GlobalVariable* ModuleLowering::CreateGlobal(const Variable& variable) {
  llvm::LLVMContext& context = out_.getContext();
  llvm::Type* byte = llvm::Type::getInt8Ty(context);
  const std::string name(variable.name);
  if (variable.space == VarSpace::kShared) {
    const bool dynamic = variable.linkage == Linkage::kExtern ||
                         variable.size() == 0;
    llvm::Type* type =
        llvm::ArrayType::get(byte, dynamic ? 0 : variable.size());
    auto* global = new llvm::GlobalVariable(
        out_, type, false,
        dynamic ? llvm::GlobalValue::ExternalLinkage
                : llvm::GlobalValue::InternalLinkage,
        dynamic ? nullptr : llvm::PoisonValue::get(type), name, nullptr,
        llvm::GlobalValue::NotThreadLocal, kAsShared);
    // All dynamic arrays start at one address, a multiple of 16
    // (docs/launch-abi.md, "Dynamic shared memory").
    global->setAlignment(llvm::Align(
        std::max(dynamic ? 16u : 1u, AlignOf(variable))));
    return global;
  }
  llvm::Constant* init = Initializer(variable);
  const bool local = variable.function != kNoId;
  auto* global = new llvm::GlobalVariable(
      out_, init->getType(), false,
      local ? llvm::GlobalValue::InternalLinkage
            : llvm::GlobalValue::ExternalLinkage,
      init, name, nullptr, llvm::GlobalValue::NotThreadLocal, kAsGlobal,
      /*isExternallyInitialized=*/true);
  if (!local) global->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  global->setAlignment(llvm::Align(AlignOf(variable)));
  return global;
}

llvm::Constant* ModuleLowering::Initializer(const Variable& variable) {
  llvm::LLVMContext& context = out_.getContext();
  llvm::Type* byte = llvm::Type::getInt8Ty(context);
  const std::uint64_t unit =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(
                                     BytesOf(variable.type)));
  std::uint64_t size = std::max<std::uint64_t>(1, variable.size());
  for (const InitElement& element : variable.init) {
    size = std::max(size, element.byte + unit);
  }
  std::vector<const InitElement*> symbols;
  std::string image;
  if (!variable.init.empty()) image.assign(size, '\0');
  for (const InitElement& element : variable.init) {
    switch (element.kind) {
      case InitElement::Kind::kVariable:
      case InitElement::Kind::kFunction:
        symbols.push_back(&element);
        break;
      case InitElement::Kind::kUnresolved:
        break;  // sema reports it
      default:
        for (std::uint64_t i = 0; i < unit && i < 8; ++i) {
          image[element.byte + i] =
              static_cast<char>(element.bits >> (8 * i));
        }
    }
  }
  if (symbols.empty()) {
    if (image.find_first_not_of('\0') == std::string::npos) {
      return llvm::ConstantAggregateZero::get(
          llvm::ArrayType::get(byte, size));
    }
    return llvm::ConstantDataArray::getString(context, image, false);
  }
  // Bytes and addresses take turns in a packed struct.
  std::vector<llvm::Constant*> parts;
  std::uint64_t at = 0;
  const auto bytes_up_to = [&](std::uint64_t end) {
    if (end <= at) return;
    parts.push_back(llvm::ConstantDataArray::getString(
        context, llvm::StringRef(image).slice(at, end), false));
    at = end;
  };
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  for (const InitElement* element : symbols) {
    if (unit != 8 || element->mask != 0) {
      Where where = WhereOf(nullptr, element->offset, kNoId);
      Report(MakeDiag(DiagCode::kUnsupportedPtx, std::move(where),
                      "only whole 64-bit addresses can stand in an "
                      "initializer"));
      continue;
    }
    bytes_up_to(element->byte);
    llvm::Constant* address = nullptr;
    if (element->kind == InitElement::Kind::kFunction) {
      address = FunctionOf(element->index);
    } else {
      address = GlobalOf(element->index);
    }
    address = llvm::ConstantExpr::getPtrToInt(address, i64);
    if (element->addend != 0) {
      address = llvm::ConstantExpr::getAdd(
          address, llvm::ConstantInt::get(
                       i64, static_cast<std::uint64_t>(element->addend)));
    }
    parts.push_back(address);
    at += 8;
  }
  bytes_up_to(size);
  return llvm::ConstantStruct::getAnon(context, parts, /*Packed=*/true);
}

}  // namespace cerberus::ptx
