// A module: variables, signatures, the order of work, and which kernels a
// failure takes along.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "formats/launch_abi.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "ptxc/lower/lower.h"
#include "ptxc/passes/clusters.h"
#include "ptxc/passes/launch_block.h"
#include "ptxc/passes/table_reads.h"
#include "support/demangle.h"

namespace cerberus::ptx {

namespace {

// Such functions are not inlined (lower/memory.cc, "The stack").
bool TakesStack(const Function& ptx) {
  return std::ranges::any_of(ptx.instructions, [](const Instruction& inst) {
    if (inst.form == nullptr) return false;
    const Opcode opcode = inst.form->opcode();
    return opcode == Opcode::kAlloca || opcode == Opcode::kStacksave ||
           opcode == Opcode::kStackrestore;
  });
}

// Arrays get more, as in C++ for AMD: neighbours can then be read and written
// together.
llvm::Align MemoryAlignment(const Variable& variable) {
  const std::uint64_t size = variable.size();
  const unsigned useful = size > 8 ? 16 : size > 4 ? 8 : 1;
  return llvm::Align(std::max(useful, variable.alignment()));
}

// What an initialiser other than zero may fill, in bytes: the code object
// holds all of it.
constexpr std::uint64_t kLargestImage = 256u << 20;

// How many of an initialiser's symbols, from `first` on, make up one address
// of 64 bits; 0 if they do not. Elements smaller than that hold bytes of it,
// masked (PTX ISA, "Initializers"): nvcc writes packed structs as
// {0xFF(p), 0xFF00(p), …}.
std::size_t CountPieces(const std::vector<const InitElement*>& symbols,
                        std::size_t first, std::uint64_t unit) {
  const InitElement& low = *symbols[first];
  if (unit == 8 && low.mask == 0) return 1;
  if (unit >= 8) return 0;
  const std::size_t pieces = 8 / unit;
  if (symbols.size() - first < pieces) return 0;
  const std::uint64_t ones = (1ull << (8 * unit)) - 1;
  for (std::size_t i = 0; i < pieces; ++i) {
    const InitElement& piece = *symbols[first + i];
    if (piece.kind != low.kind || piece.index != low.index ||
        piece.addend != low.addend || piece.byte != low.byte + i * unit ||
        piece.mask != ones << (8 * unit * i)) {
      return 0;
    }
  }
  return pieces;
}

std::vector<const InitElement*> SymbolsOf(const Variable& variable) {
  std::vector<const InitElement*> symbols;
  for (const InitElement& element : variable.init) {
    if (element.kind == InitElement::Kind::kVariable ||
        element.kind == InitElement::Kind::kFunction) {
      symbols.push_back(&element);
    }
  }
  return symbols;
}

std::uint64_t ElementBytes(const Variable& variable) {
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(BytesOf(variable.type)));
}

// What the module's .const variables take.
std::uint64_t ConstBytes(const Module& module) {
  std::uint64_t bytes = 0;
  for (const Variable& variable : module.variables) {
    if (variable.space != VarSpace::kConst ||
        variable.linkage == Linkage::kExtern) {
      continue;
    }
    bytes = variable.EndFrom(bytes);
  }
  return bytes;
}

// Whether one of the symbols is less than a whole address.
bool HoldPart(const std::vector<const InitElement*>& symbols,
              std::uint64_t unit) {
  for (std::size_t i = 0; i < symbols.size();) {
    const std::size_t pieces = CountPieces(symbols, i, unit);
    if (pieces == 0) return true;
    i += pieces;
  }
  return false;
}

bool IsManaged(const Variable& variable) {
  return variable.managed && variable.function == kNoId;
}

// Where the address of a managed variable stands.
std::string ManagedSlot(const Variable& variable) {
  return formats::kManagedPrefix + std::string(variable.name);
}

}  // namespace

ProgramLowering::ProgramLowering(const std::vector<Input>& inputs,
                                 CallGraph graph, const ProgramPart& part,
                                 const VariableTable* table, llvm::Module& out,
                                 const DiagSink& sink)
    : graph_(std::move(graph)), part_(part), table_(table) {
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    modules_.push_back(
        std::make_unique<ModuleLowering>(*this, i, inputs[i], out, sink));
    meets_in_clusters_ |=
        std::ranges::any_of(inputs[i].ptx->forms, [](const InstForm& form) {
          return form.row != nullptr &&
                 form.opcode() == Opcode::kBarrierCluster;
        });
  }
}

ProgramLowering::~ProgramLowering() = default;

Status ProgramLowering::Run(ModuleInfo* info) {
  for (const auto& module : modules_) {
    const Module& ptx = module->ptx();
    const auto newest = std::make_pair(ptx.version / 10, ptx.version % 10);
    std::tie(info->ptx_major, info->ptx_minor) =
        std::max(newest, std::make_pair(info->ptx_major, info->ptx_minor));
    info->sm = std::max<int>(info->sm, ptx.sm);
    info->const_bytes += ConstBytes(ptx);
    module->ListManaged(info);
    if (part_.variables == ProgramPart::Variables::kAll) {
      module->LowerVariables();
    }
  }
  if (part_.variables == ProgramPart::Variables::kTable) LowerTable();
  for (const auto& module : modules_) module->LowerBodies();
  graph_.PropagateFailures();
  for (const auto& module : modules_) {
    if (module->first_error() &&
        (module->failed() || !module->options().keep_going)) {
      return Err(*module->first_error());
    }
  }
  for (const auto& module : modules_) module->RemoveFailed(info);
  return {};
}

// The variables, and where each of them is.
void ProgramLowering::LowerTable() {
  std::vector<llvm::Constant*> places;
  for (const Symbol variable : table_->all()) {
    places.push_back(module(variable.module).StorageOf(variable.id));
  }
  llvm::Module& out = modules_.front()->out();
  auto* type = llvm::ArrayType::get(
      llvm::PointerType::get(out.getContext(), kAsGlobal), places.size());
  auto* table = new llvm::GlobalVariable(
      out, type, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantArray::get(type, places), formats::kVariableTable, nullptr,
      llvm::GlobalValue::NotThreadLocal, kAsGlobal);
  table->setAlignment(llvm::Align(8));
  table->setVisibility(llvm::GlobalValue::ProtectedVisibility);
}

std::uint32_t ProgramLowering::PlaceInTable(Symbol variable) const {
  return table_ != nullptr && part_.variables != ProgramPart::Variables::kTable
             ? table_->PlaceOf(variable)
             : VariableTable::kNowhere;
}

ModuleLowering::ModuleLowering(ProgramLowering& program, std::uint32_t index,
                               const ProgramLowering::Input& input,
                               llvm::Module& out, const DiagSink& sink)
    : program_(program),
      index_(index),
      ptx_(*input.ptx),
      out_(out),
      options_(input.options),
      sink_(sink),
      lines_(*input.lines),
      debug_info_(ptx_, out),
      globals_(ptx_.variables.size()),
      parts_of_addresses_(ptx_.variables.size()) {}

void ModuleLowering::ListManaged(ModuleInfo* info) const {
  for (std::uint32_t id = 0; id < ptx_.variables.size(); ++id) {
    const Symbol self{index_, id};
    if (IsManaged(ptx_.variables[id]) &&
        program_.graph().VariableDefinition(self) == self) {
      info->managed.emplace_back(ptx_.variables[id].name);
    }
  }
}

// Every variable of module scope is a symbol that the host may ask for.
void ModuleLowering::LowerVariables() {
  for (const TopLevel& item : ptx_.order) {
    if (item.kind != TopLevelKind::kVariable) continue;
    const Variable& variable = ptx_.variables[item.index];
    if ((variable.space == VarSpace::kGlobal ||
         variable.space == VarSpace::kConst) &&
        variable.linkage != Linkage::kExtern &&
        program_.PlaceInTable({index_, item.index}) ==
            VariableTable::kNowhere) {
      GlobalOf(item.index);
    }
  }
}

const Function& ModuleLowering::FunctionDefinition(std::uint32_t id) {
  const Symbol at = program_.graph().FunctionDefinition({index_, id});
  return program_.module(at.module).ptx_.functions[at.id];
}

const Variable& ModuleLowering::VariableDefinition(std::uint32_t id) {
  const Symbol at = program_.graph().VariableDefinition({index_, id});
  return program_.module(at.module).ptx_.variables[at.id];
}

// False also where another module's weak definition was taken, or where the
// function is another part's.
bool ModuleLowering::DefinesFunction(std::uint32_t id) {
  const Symbol self{index_, id};
  return ptx_.functions[id].has_body &&
         program_.graph().FunctionDefinition(self) == self &&
         part().Takes(program_.graph().Number(self));
}

void ModuleLowering::Report(Diag diag) {
  // What is wrong with a variable concerns whoever uses it.
  const bool of_module = diag.where.kernel.empty();
  if (options_.keep_going && diag.severity == Severity::kError &&
      diag.code == DiagCode::kUnsupportedPtx && !of_module) {
    diag.severity = Severity::kWarning;
  }
  if (sink_) sink_(diag);
  if (!first_error_ || (of_module && !failed_)) first_error_ = std::move(diag);
  failed_ |= of_module;
}

Where ModuleLowering::WhereOf(const Function* function,
                              std::uint32_t text_offset, std::uint32_t loc) {
  Where where;
  where.file = options_.input_name;
  if (function) where.kernel = Demangle(function->name);
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

// ---- Functions --------------------------------------------------------------

llvm::Type* ModuleLowering::ParamType(const Variable& variable) {
  // By size only, so that a prototype and a function that differ in types
  // agree in registers.
  const std::uint64_t size = std::max<std::uint64_t>(1, variable.size());
  llvm::LLVMContext& context = out_.getContext();
  // The caller's array in place: nothing else knows its size, and functions
  // only read their parameters.
  if (variable.is_open()) return llvm::PointerType::get(context, kAsLocal);
  switch (size) {
    case 1:
    case 2:
    case 4:
    case 8:
      return llvm::IntegerType::get(context, static_cast<unsigned>(size) * 8);
    default: break;
  }
  if (variable.type == Type::kB128 && !variable.is_array) {
    return llvm::IntegerType::get(context, 128);
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
  llvm::Type* result = results.empty() ? llvm::Type::getVoidTy(context())
                       : results.size() == 1
                           ? results[0]
                           : llvm::StructType::get(context(), results);
  return llvm::FunctionType::get(result, args, false);
}

llvm::Function* ModuleLowering::FunctionOf(std::uint32_t id) {
  const Symbol at = program_.graph().FunctionDefinition({index_, id});
  if (at.module != index_) return program_.module(at.module).FunctionOf(at.id);
  id = at.id;
  if (!state(id).function) {
    if (ptx_.functions[id].is_entry) {
      DeclareKernel(id);
    } else {
      DeclareDevice(id);
    }
  }
  return state(id).function;
}

llvm::GlobalValue* ModuleLowering::AddressedFunction(std::uint32_t id) {
  const Function& function = FunctionDefinition(id);
  if (function.is_entry) return KernelHandle(function);
  return FunctionOf(id);
}

// Zero until the host fills it, and where the kernel was left out.
llvm::GlobalVariable* ModuleLowering::KernelHandle(const Function& kernel) {
  const std::string name = formats::kHandlePrefix + std::string(kernel.name);
  if (llvm::GlobalVariable* known = out_.getNamedGlobal(name)) return known;
  llvm::Type* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context()),
                                          sizeof(formats::KernelHandle));
  auto* handle = new llvm::GlobalVariable(
      out_, type, false,
      part().is_whole() ? llvm::GlobalValue::ExternalLinkage
                        : llvm::GlobalValue::WeakAnyLinkage,
      llvm::ConstantAggregateZero::get(type), name, nullptr,
      llvm::GlobalValue::NotThreadLocal, kAsGlobal,
      /*isExternallyInitialized=*/true);
  handle->setAlignment(llvm::Align(16));
  handle->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  return handle;
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
    const auto& sides = ptx.tuning.reqntid;
    SetRequiredBlock(
        function, {sides[0], std::max(1u, sides[1]), std::max(1u, sides[2])});
  } else {
    if (ptx.tuning.maxntid[0] != 0) most = product(ptx.tuning.maxntid);
    if (options_.bounds != nullptr) {
      const auto known = options_.bounds->find(std::string(ptx.name));
      if (known != options_.bounds->end()) {
        most = std::min<std::uint64_t>(most, known->second);
      }
    }
  }
  if (part().threads != 0) most = std::min<std::uint64_t>(most, part().threads);
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
             std::max<std::uint64_t>(1, param.size()), param.alignment());
  }
  describe(static_cast<unsigned>(ptx.params.size()), formats::kLaunchBlockName,
           kLaunchBlockBytes, 8);
  SetCommonAttributes(*function);
  SetLaunchBounds(ptx, *function);
  if (const auto& blocks = ptx.tuning.reqnctapercluster; blocks[0] != 0) {
    SetRequiredCluster(*function, {blocks[0], std::max(1u, blocks[1]),
                                   std::max(1u, blocks[2])});
  }
  if (state(id).flush_f32) {
    function->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  }
  state(id).function = function;
}

void ModuleLowering::DeclareDevice(std::uint32_t id) {
  const Function& ptx = ptx_.functions[id];
  FunctionState& facts = state(id);
  llvm::Function* function = llvm::Function::Create(
      SignatureOf(ptx.returns, ptx.params, facts.may_exit),
      llvm::GlobalValue::InternalLinkage, std::string(ptx.name), out_);
  SetCommonAttributes(*function);
  const bool takes_stack = TakesStack(ptx);
  // Where lanes wait for each other is seen in one function only.
  const bool stays =
      (options_.debug || facts.copies_cost) && !facts.meets_lanes;
  if (!facts.recursive && !facts.address_taken && !stays && !takes_stack) {
    function->addFnAttr(llvm::Attribute::AlwaysInline);
  } else if (stays || options_.debug || takes_stack) {
    function->addFnAttr(llvm::Attribute::NoInline);
  }
  if (facts.flush_f32) {
    function->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  }
  facts.function = function;
}

void ModuleLowering::LowerBodies() {
  for (std::uint32_t id = 0; id < ptx_.functions.size(); ++id) {
    if (!DefinesFunction(id)) continue;
    if (ptx_.functions[id].errors != 0) {
      state(id).failed = true;
      const auto reason =
          options_.broken.find(std::string(ptx_.functions[id].name));
      state(id).reason =
          reason != options_.broken.end() ? reason->second : "does not parse";
      continue;
    }
    FunctionLowering lowering(*this, id);
    if (!lowering.Run()) state(id).failed = true;
  }
  debug_info_.Finish();
}

void ModuleLowering::RemoveFailed(ModuleInfo* info) {
  for (std::uint32_t id = 0; id < ptx_.functions.size(); ++id) {
    if (!DefinesFunction(id)) continue;
    const Function& ptx = ptx_.functions[id];
    FunctionState& facts = state(id);
    if (facts.failed && facts.function) {
      // Its callers failed with it and lose their bodies too.
      facts.function->replaceAllUsesWith(
          llvm::PoisonValue::get(facts.function->getType()));
      facts.function->eraseFromParent();
      facts.function = nullptr;
    }
    if (!ptx.is_entry) continue;
    if (facts.failed) {
      info->failed.push_back({std::string(ptx.name), facts.reason});
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
    if (tuning.reqnctapercluster[0]) {
      kernel.cluster = triple(tuning.reqnctapercluster);
    }
    kernel.max_cluster = tuning.maxclusterrank;
    kernel.blocks_are_clusters = tuning.blocksareclusters;
    kernel.explicit_cluster = tuning.explicitcluster;
    kernel.launches = facts.launches;
    kernel.handle = facts.launched;
    info->kernels.push_back(std::move(kernel));
  }
}

// ---- Variables --------------------------------------------------------------

llvm::GlobalVariable* ModuleLowering::GlobalOf(std::uint32_t id) {
  const Symbol at = program_.graph().VariableDefinition({index_, id});
  if (at.module != index_) return program_.module(at.module).GlobalOf(at.id);
  if (!globals_[id]) globals_[id] = CreateGlobal(id);
  return globals_[id];
}

llvm::GlobalVariable* ModuleLowering::StorageOf(std::uint32_t id) {
  llvm::GlobalVariable* variable = GlobalOf(id);
  return IsManaged(ptx_.variables[id])
             ? out_.getNamedGlobal(ManagedSlot(ptx_.variables[id]))
             : variable;
}

bool ModuleLowering::HoldsPartOfAddress(std::uint32_t id) {
  const Symbol at = program_.graph().VariableDefinition({index_, id});
  if (at.module != index_) {
    return program_.module(at.module).HoldsPartOfAddress(at.id);
  }
  std::optional<bool>& known = parts_of_addresses_[at.id];
  if (!known) {
    const Variable& variable = ptx_.variables[at.id];
    known = HoldPart(SymbolsOf(variable), ElementBytes(variable));
  }
  return *known;
}

llvm::GlobalVariable* ModuleLowering::CreateGlobal(std::uint32_t id) {
  const Variable& variable = ptx_.variables[id];
  llvm::LLVMContext& context = out_.getContext();
  llvm::Type* byte = llvm::Type::getInt8Ty(context);
  const std::string name(variable.name);
  if (variable.space == VarSpace::kShared) {
    const bool dynamic =
        variable.linkage == Linkage::kExtern || variable.size() == 0;
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
    global->setAlignment(
        std::max(llvm::Align(dynamic ? 16 : 1), MemoryAlignment(variable)));
    return global;
  }
  const bool local = variable.function != kNoId;
  const std::uint32_t place = program_.PlaceInTable({index_, id});
  const bool managed = IsManaged(variable);
  const auto declare = [&](const llvm::Twine& called) {
    auto* elsewhere = new llvm::GlobalVariable(
        out_, llvm::ArrayType::get(byte, variable.size()), false,
        llvm::GlobalValue::ExternalLinkage, nullptr, called, nullptr,
        llvm::GlobalValue::NotThreadLocal, kAsGlobal,
        /*isExternallyInitialized=*/true);
    elsewhere->setVisibility(llvm::GlobalValue::ProtectedVisibility);
    elsewhere->setAlignment(MemoryAlignment(variable));
    return elsewhere;
  };
  const auto declare_managed = [&] {
    auto* elsewhere = declare(name + ".managed");
    SetManaged(*elsewhere, ManagedSlot(variable));
    return elsewhere;
  };
  if (place != VariableTable::kNowhere) {
    auto* elsewhere = declare(name);
    SetPlaceInTable(*elsewhere, place);
    if (managed) SetManaged(*elsewhere, "");
    return elsewhere;
  }
  if (!local && part().variables == ProgramPart::Variables::kElsewhere) {
    return managed ? declare_managed() : declare(name);
  }
  if (!local && part().variables == ProgramPart::Variables::kUsed &&
      !MayBeRepeated(variable)) {
    Report(MakeDiag(DiagCode::kUnsupportedPtx,
                    WhereOf(nullptr, variable.offset, kNoId),
                    "'" + name +
                        "' holds addresses of code, which have to be the same "
                        "for other kernels"));
  }
  llvm::Constant* init = Initializer(variable);
  auto* global = new llvm::GlobalVariable(
      out_, init->getType(), false,
      local ? llvm::GlobalValue::InternalLinkage
            : llvm::GlobalValue::ExternalLinkage,
      init, name, nullptr, llvm::GlobalValue::NotThreadLocal, kAsGlobal,
      /*isExternallyInitialized=*/true);
  if (!local) global->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  global->setAlignment(MemoryAlignment(variable));
  if (!managed) return global;
  PointerFromHost(out_, ManagedSlot(variable),
                  llvm::GlobalValue::ExternalLinkage, global);
  return declare_managed();
}

// The descriptor of a sampler that PTX describes, and its address as the
// variable's value (docs/texture-descriptor.md).
llvm::Constant* ModuleLowering::SamplerHandle(const Variable& variable) {
  enum : std::uint32_t { kLinear = 2, kAsTexture = 32 };
  enum { kFlags = 48 / 4, kAddressing = 52 / 4, kGreatestLod = 92 / 4 };
  std::uint32_t words[128 / 4] = {};
  words[kFlags] = (variable.sampler.linear ? kLinear : 0) |
                  (variable.sampler.force_unnormalized ? 0 : kAsTexture);
  std::copy_n(variable.sampler.addressing, 3, words + kAddressing);
  words[kGreatestLod] = std::bit_cast<std::uint32_t>(1000.0f);
  llvm::Constant* image = llvm::ConstantDataArray::get(
      out_.getContext(), llvm::ArrayRef<std::uint32_t>(words));
  auto* descriptor =
      new llvm::GlobalVariable(out_, image->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::InternalLinkage, image,
                               std::string(variable.name) + ".sampler", nullptr,
                               llvm::GlobalValue::NotThreadLocal, kAsGlobal);
  descriptor->setAlignment(llvm::Align(16));
  return llvm::ConstantExpr::getPtrToInt(
      descriptor, llvm::Type::getInt64Ty(out_.getContext()));
}

namespace {

// A number as the bits of an element of type `type`: floats are rounded to its
// size (PTX ISA 9.0, 4.5.2, "Floating-Point Constants").
std::uint64_t ElementBits(const InitElement& element, Type type) {
  if (element.kind == InitElement::Kind::kFloat64 && BitsOf(type) == 32) {
    return std::bit_cast<std::uint32_t>(
        static_cast<float>(std::bit_cast<double>(element.bits)));
  }
  if (element.kind == InitElement::Kind::kFloat32 && type == Type::kF64) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(
        std::bit_cast<float>(static_cast<std::uint32_t>(element.bits))));
  }
  return element.bits;
}

}  // namespace

llvm::Constant* ModuleLowering::Initializer(const Variable& variable) {
  if (variable.type == Type::kSamplerRef && variable.has_init) {
    return SamplerHandle(variable);
  }
  llvm::LLVMContext& context = out_.getContext();
  llvm::Type* byte = llvm::Type::getInt8Ty(context);
  const std::uint64_t unit = ElementBytes(variable);
  std::uint64_t size = std::max<std::uint64_t>(1, variable.size());
  for (const InitElement& element : variable.init) {
    size = std::max(size, element.byte + unit);
  }
  const auto refuse = [&](const InitElement& element, std::string why) {
    Report(MakeDiag(DiagCode::kUnsupportedPtx,
                    WhereOf(nullptr, element.offset, kNoId), std::move(why)));
  };
  if (!variable.init.empty() && size > kLargestImage) {
    refuse(variable.init.front(),
           fmt::format("an initialised variable of {} bytes is larger than {}",
                       size, kLargestImage));
    return llvm::ConstantAggregateZero::get(llvm::ArrayType::get(byte, size));
  }
  const std::vector<const InitElement*> symbols = SymbolsOf(variable);
  std::string image;
  if (!variable.init.empty()) image.assign(size, '\0');
  for (const InitElement& element : variable.init) {
    switch (element.kind) {
      case InitElement::Kind::kVariable:
      case InitElement::Kind::kFunction: break;    // below
      case InitElement::Kind::kUnresolved: break;  // sema reports it
      default:
        for (std::uint64_t i = 0; i < unit && i < 8; ++i) {
          image[element.byte + i] =
              static_cast<char>(ElementBits(element, variable.type) >> (8 * i));
        }
    }
  }
  if (symbols.empty() || HoldPart(symbols, unit)) {
    if (image.find_first_not_of('\0') == std::string::npos) {
      return llvm::ConstantAggregateZero::get(llvm::ArrayType::get(byte, size));
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
  for (std::size_t i = 0, pieces = 0; i < symbols.size(); i += pieces) {
    const InitElement& element = *symbols[i];
    pieces = CountPieces(symbols, i, unit);
    bytes_up_to(element.byte);
    llvm::Constant* address = nullptr;
    if (element.kind == InitElement::Kind::kFunction) {
      if (!FunctionDefinition(element.index).has_body) {
        refuse(element, "'" + std::string(element.name) +
                            "' is declared but defined nowhere");
        continue;
      }
      address = AddressedFunction(element.index);
    } else if (IsManaged(VariableDefinition(element.index))) {
      refuse(element, "the address of '" + std::string(element.name) +
                          "' is no constant, since it is managed");
      continue;
    } else {
      address = GlobalOf(element.index);
    }
    address = llvm::ConstantExpr::getPtrToInt(address, i64);
    if (element.addend != 0) {
      address = llvm::ConstantExpr::getAdd(
          address, llvm::ConstantInt::get(
                       i64, static_cast<std::uint64_t>(element.addend)));
    }
    parts.push_back(address);
    at += 8;
  }
  bytes_up_to(size);
  return llvm::ConstantStruct::getAnon(context, parts, /*Packed=*/true);
}

}  // namespace cerberus::ptx
