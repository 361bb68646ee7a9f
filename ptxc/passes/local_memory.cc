#include "ptxc/passes/local_memory.h"

#include <algorithm>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Alignment.h"

namespace cerberus::ptx {
namespace {

// By function; 0 for one that is being looked at.
using Known = llvm::DenseMap<const llvm::Function*, std::uint64_t>;

std::uint64_t BytesOf(const llvm::Function& function, Known& known) {
  const auto [at, is_new] = known.insert({&function, 0});
  if (!is_new) return at->second;
  const llvm::DataLayout& layout = function.getDataLayout();
  std::uint64_t own = 0, below = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (const auto* array = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      if (array->isStaticAlloca()) {
        own = llvm::alignTo(own, array->getAlign()) +
              array->getAllocationSize(layout)->getFixedValue();
      }
    } else if (const auto* call =
                   llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee && !callee->isDeclaration()) {
        below = std::max(below, BytesOf(*callee, known));
      }
    }
  }
  return known[&function] = own + below;
}

}  // namespace

std::uint64_t LocalBytes(const llvm::Function& kernel) {
  Known known;
  return BytesOf(kernel, known);
}

// AMD's register COMPUTE_TMPRING_SIZE has so many bits for a wave's memory, in
// such units (LLVM, GCNSubtarget::getMaxWaveScratchSize, has the same).
std::uint64_t MostLocalBytes(std::string_view processor, unsigned wave_size) {
  const bool gfx12 = processor.starts_with("gfx12");
  const bool gfx11 = processor.starts_with("gfx11");
  const unsigned bits = gfx12 ? 18 : gfx11 ? 15 : 13;
  const unsigned unit = gfx12 || gfx11 ? 256 : 1024;
  const std::uint64_t of_wave = ((std::uint64_t{1} << bits) - 1) * unit;
  return of_wave / wave_size / 8 * 8;
}

}  // namespace cerberus::ptx
