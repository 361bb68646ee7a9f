#include "ptxc/passes/growth/passes_by_size.h"

#include <cstddef>

namespace cerberus::ptx {
namespace {

// Blocks times instructions: some 50 ms.
constexpr std::size_t kMostSteps = 4'000'000;

constexpr llvm::StringLiteral kMemoryClauses = "si-form-memory-clauses";

}  // namespace

PassesBySize::PassesBySize(llvm::Module& module)
    : context_(module.getContext()), before_(context_.getOptPassGate()) {
  for (const llvm::Function& function : module) {
    if (function.size() * function.getInstructionCount() > kMostSteps) {
      large_.insert(("function (" + function.getName() + ")").str());
    }
  }
  context_.setOptPassGate(*this);
}

PassesBySize::~PassesBySize() { context_.setOptPassGate(before_); }

bool PassesBySize::shouldRunPass(llvm::StringRef pass,
                                 llvm::StringRef where) const {
  return pass != kMemoryClauses || !large_.contains(where);
}

}  // namespace cerberus::ptx
