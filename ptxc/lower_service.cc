// Device services: what a kernel asks of the host (docs/launch-abi.md), by an
// instruction (trap) or by calling a function that CUDA's device runtime
// defines (printf, assert, malloc, free).
//
// A module that has any of these carries the variable __cerberus_ctx.
#include <fmt/format.h>

#include "llvm/IR/IntrinsicsAMDGPU.h"

#include "ptxc/lower.h"

namespace cerberus::ptx {
namespace {

constexpr unsigned kTrap = 1;

// CUDA's functions as nvcc declares them, sizes in bytes. What they do is in
// devlib/services.h, behind the context's address as first argument.
struct Service {
  std::string_view name;
  const char* dev;
  unsigned result;  // 0: none
  unsigned params[5];
  bool fault;  // the wave ends
};
constexpr Service kServices[] = {
    {"vprintf", "vprintf", 4, {8, 8}, false},
    {"__assertfail", "report_assert", 0, {8, 8, 4, 8, 8}, true},
    {"malloc", "malloc", 8, {8}, false},
    {"__cuda_syscall_aligned_malloc", "aligned_malloc", 8, {8, 8}, false},
    {"free", "free", 0, {8}, false},
};

}  // namespace

llvm::Value* FunctionLowering::ServiceContext() {
  llvm::Module& out = module_.out();
  llvm::GlobalVariable* context = out.getNamedGlobal("__cerberus_ctx");
  if (!context) {
    context = new llvm::GlobalVariable(
        out, b_.getInt64Ty(), false,
        module_.part().is_whole() ? llvm::GlobalValue::ExternalLinkage
                                  : llvm::GlobalValue::WeakAnyLinkage,
        I64(0), "__cerberus_ctx", nullptr, llvm::GlobalValue::NotThreadLocal,
        kAsGlobal, /*isExternallyInitialized=*/true);
    context->setAlignment(llvm::Align(8));
    context->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  }
  return b_.CreateLoad(b_.getInt64Ty(), context);
}

llvm::Value* FunctionLowering::KernelName() {
  llvm::Constant* text = llvm::ConstantDataArray::getString(
      b_.getContext(), std::string(ptx_.name));
  return new llvm::GlobalVariable(
      module_.out(), text->getType(), true, llvm::GlobalValue::PrivateLinkage,
      text, "kernel.name", nullptr, llvm::GlobalValue::NotThreadLocal,
      kAsGlobal);
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

bool FunctionLowering::CallService(std::uint32_t callee) {
  const Function& function = ptx_module_.functions[callee];
  const Service* service = nullptr;
  for (const Service& row : kServices) {
    if (row.name == function.name) service = &row;
  }
  if (!service) return false;
  const Operand& results = op(0);
  const Operand& arguments = op(2);
  std::vector<Value*> args = {ServiceContext()};
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
        ptx_module_.variables[function.returns[0]].size() ==
            service->result));
  if (!as_cuda_declares || arguments.kind != OperandKind::kList ||
      arguments.count != count) {
    Fail(fmt::format("'{}' is not declared as CUDA's", function.name));
    return true;
  }
  for (unsigned i = 0; i < count; ++i) {
    args.push_back(CallArgument(child(arguments, i), function.params[i],
                                Int(service->params[i] * 8)));
  }
  if (service->fault) {
    // __assertfail's last argument is the size of the texts' characters,
    // which is 1 with every nvcc for Linux.
    args.back() = KernelName();
    Dev(service->dev, b_.getVoidTy(), args);
    EndWave();
    return true;
  }
  llvm::Type* type = service->result ? Int(service->result * 8)
                                     : b_.getVoidTy();
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
