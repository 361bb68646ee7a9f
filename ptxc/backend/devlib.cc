#include "ptxc/backend/devlib.h"

#include <memory>
#include <string>
#include <vector>

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "ptxc/passes/growth/ended_waves.h"
#include "ptxc/passes/lanes/lane_progress.h"

namespace cerberus::ptx {
namespace {

constexpr unsigned char kBitcode[] = {
#include "devlib.bc.inc"
};

constexpr llvm::StringLiteral kPrefix = "__cerberus_dev_";
constexpr llvm::StringLiteral kWavePrefix = "__cerberus_wave_";  // waves.h
constexpr llvm::StringLiteral kBallot = "__cerberus_wave_ballot";

constexpr llvm::StringLiteral kAssertion = "__cerberus_dev_report_assert";

// It ends the wave.
bool IsReport(llvm::StringRef name) {
  name.consume_front(kPrefix);
  return name.starts_with("report_");
}

// Up to so many, a kernel's failed assertions go to one place, at its end. Its
// lanes that fail none go on to their own end first, and each that fails is
// named. With more, the wave ends at the first.
constexpr unsigned kManyReports = 32;

// From how many calls on a function stays one. Control flow of its own in each
// of many places costs more than quadratic time: a program that checks each
// access has thousands of reports, and kernels read textures in many places.
unsigned CallsThatStay(llvm::StringRef name) {
  if (IsReport(name)) return kManyReports;
  name.consume_front(kPrefix);
  if (name.starts_with("tex") || name.starts_with("gather_")) return 3;
  if (name.starts_with("surface_") || name.starts_with("random_")) return 32;
  return ~0u;
}

// What threads ask of tensor memory. Those that are there do it together.
bool IsTensorWork(llvm::StringRef name) {
  return name.starts_with("tensor_mma_") || name == "tensor_cp" ||
         name == "tensor_shift";
}

// What waits for other lanes and sees to it itself that they go on: the passes
// that do so for PTX would only make it large. It takes no lanes together.
bool IsService(llvm::StringRef name) {
  name.consume_front(kPrefix);
  return name == "vprintf" || name == "malloc" || name == "aligned_malloc" ||
         name == "free" || name.starts_with("rt_") || IsTensorWork(name);
}

bool CallsLibrary(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() && function.getName().starts_with(kPrefix)) {
      return true;
    }
  }
  return false;
}

// Whether it does, and nothing comes behind it.
bool EndsWave(const llvm::Instruction* instruction) {
  const auto* end = llvm::dyn_cast_if_present<llvm::IntrinsicInst>(instruction);
  return end && end->getIntrinsicID() == llvm::Intrinsic::amdgcn_endpgm &&
         llvm::isa<llvm::UnreachableInst>(end->getNextNode());
}

// The calls at the ends of `kernel` become one, from which threads return.
void ReportAtOnePlace(llvm::Function& kernel, llvm::Function& report,
                      const std::vector<llvm::CallInst*>& calls) {
  llvm::BasicBlock* place =
      llvm::BasicBlock::Create(kernel.getContext(), "report", &kernel);
  llvm::IRBuilder<> b(place);
  std::vector<llvm::Value*> arguments;
  for (llvm::Argument& argument : report.args()) {
    arguments.push_back(b.CreatePHI(argument.getType(), calls.size()));
  }
  b.CreateCall(&report, arguments);
  b.CreateRetVoid();
  for (llvm::CallInst* call : calls) {
    llvm::BasicBlock* block = call->getParent();
    for (unsigned i = 0; i < arguments.size(); ++i) {
      llvm::cast<llvm::PHINode>(arguments[i])
          ->addIncoming(call->getArgOperand(i), block);
    }
    while (&block->back() != call) block->back().eraseFromParent();
    call->eraseFromParent();
    llvm::BranchInst::Create(place, block);
  }
}

// Of a function that kernels call, the wave ends behind the report.
void ReportAtEnds(llvm::Function& report) {
  for (llvm::BasicBlock& block : report) {
    llvm::Instruction* end = block.getTerminator()->getPrevNode();
    if (!EndsWave(end)) continue;
    end->eraseFromParent();
    block.getTerminator()->eraseFromParent();
    llvm::ReturnInst::Create(report.getContext(), &block);
  }
  llvm::MapVector<llvm::Function*, std::vector<llvm::CallInst*>> calls;
  for (llvm::User* user : report.users()) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || !EndsWave(call->getNextNode())) continue;
    llvm::Function* caller = call->getFunction();
    if (caller->getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL) continue;
    calls[caller].push_back(call);
  }
  for (const auto& [kernel, its] : calls) {
    ReportAtOnePlace(*kernel, report, its);
  }
}

// C++ for AMD takes each function for one that lanes call together. Of those
// that tell a thread its place in the wave, only a vote is.
void MarkWaveFunctions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.getName().starts_with(kWavePrefix) ||
        function.getName() == kBallot) {
      continue;
    }
    function.setNotConvergent();
    for (llvm::User* user : function.users()) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) {
        call->setNotConvergent();
      }
    }
  }
}

}  // namespace

Status LinkDeviceLibrary(llvm::Module& module) {
  if (!CallsLibrary(module)) return {};
  llvm::MemoryBufferRef buffer(
      llvm::StringRef(reinterpret_cast<const char*>(kBitcode), sizeof kBitcode),
      "devlib");
  llvm::Expected<std::unique_ptr<llvm::Module>> library =
      llvm::getLazyBitcodeModule(buffer, module.getContext());
  if (!library) {
    return Err(DiagCode::kInternal,
               "device library: " + llvm::toString(library.takeError()));
  }
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  // Module flags of a C++ compilation say nothing about a kernel.
  if (llvm::NamedMDNode* flags = (*library)->getModuleFlagsMetadata()) {
    (*library)->eraseNamedMetadata(flags);
  }
  std::vector<std::string> ours;
  for (const llvm::Function& function : **library) {
    if (!function.isDeclaration()) ours.push_back(function.getName().str());
  }
  llvm::Linker linker(module);
  if (linker.linkInModule(std::move(*library),
                          llvm::Linker::Flags::LinkOnlyNeeded)) {
    return Err(DiagCode::kInternal, "the device library does not link");
  }
  for (const std::string& name : ours) {
    llvm::Function* function = module.getFunction(name);
    if (!function || function->isDeclaration()) continue;
    if (name == kAssertion && !function->hasNUsesOrMore(kManyReports)) {
      ReportAtEnds(*function);
    }
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->setVisibility(llvm::GlobalValue::DefaultVisibility);
    function->setDSOLocal(true);
    // The caller decides on target, mode and bounds.
    function->setAttributes(llvm::AttributeList());
    const bool service = IsService(function->getName());
    const bool call =
        service || function->hasNUsesOrMore(CallsThatStay(function->getName()));
    function->addFnAttr(call ? llvm::Attribute::NoInline
                             : llvm::Attribute::AlwaysInline);
    if (service) {
      function->addFnAttr(kNeverYields);
    } else {
      function->addFnAttr(llvm::Attribute::Convergent);
    }
    function->addFnAttr(llvm::Attribute::NoUnwind);
    if (call && IsReport(name)) function->addFnAttr(kEndsWave);
  }
  MarkWaveFunctions(module);
  return {};
}

}  // namespace cerberus::ptx
