// Device services: what a kernel asks of the host (docs/launch-abi.md), by an
// instruction (trap) or by calling a function that CUDA's device runtime
// defines (printf, assert, malloc, free).
//
// A module that has any of these carries the variable __cerberus_ctx.
#include <fmt/format.h>

#include "formats/launch_abi.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "ptxc/lower/lower.h"
#include "ptxc/lower/services.h"
#include "ptxc/passes/launch_block.h"

namespace cerberus::ptx {
namespace {

constexpr unsigned kTrap = 1;

}  // namespace

llvm::Value* FunctionLowering::ServiceContext() {
  llvm::Module& out = module_.out();
  llvm::GlobalVariable* context = out.getNamedGlobal(formats::kContextSymbol);
  if (!context) {
    context = new llvm::GlobalVariable(
        out, b_.getInt64Ty(), false,
        module_.part().is_whole() ? llvm::GlobalValue::ExternalLinkage
                                  : llvm::GlobalValue::WeakAnyLinkage,
        I64(0), formats::kContextSymbol, nullptr,
        llvm::GlobalValue::NotThreadLocal, kAsGlobal,
        /*isExternallyInitialized=*/true);
    context->setAlignment(llvm::Align(8));
    context->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  }
  return b_.CreateLoad(b_.getInt64Ty(), context);
}

llvm::Value* FunctionLowering::KernelName() {
  llvm::Constant* text = llvm::ConstantDataArray::getString(
      b_.getContext(), std::string(ptx_.name));
  return new llvm::GlobalVariable(module_.out(), text->getType(), true,
                                  llvm::GlobalValue::PrivateLinkage, text,
                                  "kernel.name", nullptr,
                                  llvm::GlobalValue::NotThreadLocal, kAsGlobal);
}

// s_trap would make AMD's runtime abort the whole process.
void FunctionLowering::EndWave() {
  Intrinsic(llvm::Intrinsic::amdgcn_endpgm, {}, {});
  b_.CreateUnreachable();
}

void FunctionLowering::EmitTrap(unsigned kind) {
  Dev("report_fault", b_.getVoidTy(),
      {ServiceContext(), I32(kind),
       I32(static_cast<unsigned>(module_.LineOf(inst_->offset))),
       KernelName()});
  EndWave();
}

void FunctionLowering::LowerTrap() { EmitTrap(kTrap); }

// What the module cannot have at all: one message for all calls of the kind.
void FunctionLowering::FailOnce(const char* why, std::string message) {
  if (module_.IsNews(why)) {
    Fail(std::move(message));
    return;
  }
  failed_ = true;
  if (module_.state(id_).reason.empty()) {
    module_.state(id_).reason = std::move(message);
  }
}

// A structure, by its address.
llvm::Value* FunctionLowering::InMemory(Value* value) {
  llvm::AllocaInst* memory =
      EntryAlloca(value->getType(), llvm::Align(8), "structure");
  b_.CreateStore(value, memory);
  return b_.CreateAddrSpaceCast(
      memory, llvm::PointerType::get(b_.getContext(), kAsGeneric));
}

bool FunctionLowering::CallService(std::uint32_t callee) {
  const Function& function = ptx_module_.functions[callee];
  bool per_thread = false;
  const Service* service = FindService(function.name, &per_thread);
  if (!service) return false;
  if (service->kind == Service::kUnsupported) {
    FailOnce(service->dev, fmt::format("'{}' is not supported: {}",
                                       function.name, service->dev));
    return true;
  }
  const Operand& results = op(0);
  const Operand& arguments = op(2);
  std::vector<Value*> args;
  if (service->kind != Service::kDirect) args.push_back(ServiceContext());
  if (service->kind == Service::kRuntime || service->kind == Service::kHeap) {
    args.push_back(LaunchBlock(kLaunchQueue, 32));
    args.push_back(LaunchBlock(kLaunchGridId, 64));
  }
  unsigned count = 0;
  for (; count < std::size(service->params) && service->params[count];
       ++count) {
    if (count >= function.params.size() ||
        ptx_module_.variables[function.params[count]].size() !=
            service->params[count]) {
      break;
    }
  }
  const bool as_cuda_declares =
      count == function.params.size() &&
      (count == std::size(service->params) || !service->params[count]) &&
      (function.returns.empty() ||  // taichi has vprintf return nothing
       (function.returns.size() == 1 && service->result &&
        ptx_module_.variables[function.returns[0]].size() == service->result));
  const unsigned given =
      arguments.kind == OperandKind::kList ? arguments.count : 0;
  if (!as_cuda_declares || given != count) {
    Fail(fmt::format("'{}' is not declared as CUDA's", function.name));
    return true;
  }
  for (unsigned i = 0; i < count; ++i) {
    const unsigned bytes = service->params[i];
    const std::uint32_t param = function.params[i];
    llvm::Type* type = bytes <= 8
                           ? Int(bytes * 8)
                           : module_.ParamType(ptx_module_.variables[param]);
    Value* value = CallArgument(child(arguments, i), param, type);
    if (bytes > 8) value = InMemory(value);
    if (per_thread && i + 1 == service->stream) {
      constexpr std::uint64_t kStreamPerThread = 2;
      value = b_.CreateSelect(b_.CreateICmpEQ(value, I64(0)),
                              I64(kStreamPerThread), value);
    }
    args.push_back(value);
  }
  if (service->kind == Service::kFault) {
    // __assertfail's last argument is the size of the texts' characters,
    // which is 1 with every nvcc for Linux.
    args.back() = KernelName();
    Dev(service->dev, b_.getVoidTy(), args);
    EndWave();
    return true;
  }
  llvm::Type* type =
      service->result ? Int(service->result * 8) : b_.getVoidTy();
  Value* value = Dev(service->dev, type, args);
  if (service->result && results.kind == OperandKind::kList &&
      results.count == 1) {
    const Operand& to = child(results, 0);
    if (to.kind == OperandKind::kVariable) {
      b_.CreateStore(value, LocalStorage(to.index));
    } else {
      Write(to, value, ptx_module_.variables[function.returns[0]].type);
    }
  }
  return true;
}

}  // namespace cerberus::ptx
