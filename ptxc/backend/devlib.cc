#include "ptxc/backend/devlib.h"

#include <memory>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Instructions.h"
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

// It ends the wave.
bool IsReport(llvm::StringRef name) {
  name.consume_front(kPrefix);
  return name.starts_with("report_");
}

// From how many calls on a function stays one. Control flow of its own in each
// of many places costs more than quadratic time: a program that checks each
// access has thousands of reports, and kernels read textures in many places.
unsigned CallsThatStay(llvm::StringRef name) {
  if (IsReport(name)) return 32;
  name.consume_front(kPrefix);
  if (name.starts_with("tex") || name.starts_with("gather_")) return 3;
  if (name.starts_with("surface_") || name.starts_with("random_")) return 32;
  return ~0u;
}

// What waits for other lanes and sees to it itself that they go on: the passes
// that do so for PTX would only make it large. It takes no lanes together.
bool IsService(llvm::StringRef name) {
  name.consume_front(kPrefix);
  return name == "vprintf" || name == "malloc" || name == "aligned_malloc" ||
         name == "free" || name.starts_with("rt_");
}

bool CallsLibrary(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() && function.getName().starts_with(kPrefix)) {
      return true;
    }
  }
  return false;
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
