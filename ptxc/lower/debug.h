// .file and .loc to LLVM's debug information, which becomes DWARF line tables
// with inlined calls: what a debugger or the emulator shows as source lines.
#ifndef CERBERUS_PTXC_LOWER_DEBUG_H_
#define CERBERUS_PTXC_LOWER_DEBUG_H_

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Module.h"
#include "ptxc/front/ast.h"

namespace cerberus::ptx {

// For one PTX module; does nothing for one without .loc.
class DebugInfo {
 public:
  DebugInfo(const Module& ptx, llvm::Module& out);

  // Gives the function its place in the source, that of its first
  // instruction, and returns the location; none if nothing in it has one.
  llvm::DebugLoc Begin(const Function& ptx, llvm::Function& function);
  // Of Module::locs; `function` has been begun.
  llvm::DebugLoc At(std::uint32_t loc, llvm::Function& function);
  // Once all functions have been lowered.
  void Finish();

 private:
  llvm::DIFile* FileOf(std::uint32_t number);
  llvm::DISubprogram* Subprogram(std::string_view mangled, std::uint32_t file,
                                 std::uint32_t line);
  llvm::DISubprogram* Inlined(const Loc& loc);
  llvm::DILocation* Locate(const Loc& loc, llvm::DISubprogram* function);
  llvm::DILocation* CallOf(const Loc& loc, llvm::DISubprogram* function);
  std::string StringAt(std::string_view label, std::int64_t offset);
  void ReadStrings();

  const Module& ptx_;
  llvm::DIBuilder builder_;
  llvm::DICompileUnit* unit_ = nullptr;
  std::map<std::uint32_t, llvm::DIFile*> files_;            // by number
  std::map<std::string, llvm::DISubprogram*> inlined_;      // by mangled name
  std::map<std::string, std::size_t, std::less<>> labels_;  // of .debug_str
  std::string strings_;                                     // its bytes
  // Locations of the function begun last.
  llvm::Function* current_ = nullptr;
  std::uint32_t first_loc_ = 0;
  std::vector<llvm::DILocation*> locations_;  // from first_loc_ on
  std::map<std::array<std::uint32_t, 3>, llvm::DILocation*> places_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_LOWER_DEBUG_H_
