#include "ptxc/lower/debug.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Support/Path.h"
#include "support/version.h"

namespace cerberus::ptx {
namespace {

// As DWARF has it: with its scope, without parameters and result.
std::string NameOf(const std::string& mangled) {
  llvm::ItaniumPartialDemangler demangler;
  if (demangler.partialDemangle(mangled.c_str())) return mangled;
  std::size_t size = 0;
  char* name = demangler.getFunctionName(nullptr, &size);
  const std::string out = name ? name : mangled;
  std::free(name);
  return out;
}

}  // namespace

DebugInfo::DebugInfo(const Module& ptx, llvm::Module& out)
    : ptx_(ptx), builder_(out) {
  if (ptx.locs.empty()) return;
  ReadStrings();
  if (!out.getModuleFlag("Debug Info Version")) {
    out.addModuleFlag(llvm::Module::Warning, "Debug Info Version",
                      llvm::DEBUG_METADATA_VERSION);
    out.addModuleFlag(llvm::Module::Max, "Dwarf Version", 5);
  }
  unit_ = builder_.createCompileUnit(
      llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C_plus_plus_14),
      FileOf(ptx.locs.front().file), std::string("ptxc ") + kVersion,
      /*isOptimized=*/!ptx.debug, /*Flags=*/"", /*RV=*/0);
}

// The strings stand as lists of bytes between labels (PTX ISA, 11.5.3).
void DebugInfo::ReadStrings() {
  for (const Section& section : ptx_.sections) {
    if (section.name != ".debug_str") continue;
    std::string_view rest = section.text;
    while (!rest.empty()) {
      const std::size_t begin = rest.find_first_not_of(" \t\r\n,");
      if (begin == rest.npos) break;
      rest.remove_prefix(begin);
      const std::size_t end =
          std::min(rest.find_first_of(" \t\r\n,"), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest.remove_prefix(end);
      if (word.back() == ':') {
        labels_.emplace(word.substr(0, word.size() - 1), strings_.size());
        continue;
      }
      unsigned value = 0;
      const char* last = word.data() + word.size();
      if (std::from_chars(word.data(), last, value).ptr == last) {
        strings_ += static_cast<char>(value);
      }
    }
  }
}

std::string DebugInfo::StringAt(std::string_view label, std::int64_t offset) {
  const auto at = labels_.find(label);
  if (at == labels_.end()) return "";
  const std::uint64_t begin = at->second + static_cast<std::uint64_t>(offset);
  if (begin >= strings_.size()) return "";
  return strings_.substr(begin, strings_.find('\0', begin) - begin);
}

llvm::DIFile* DebugInfo::FileOf(std::uint32_t number) {
  llvm::DIFile*& file = files_[number];
  if (!file) {
    const SourceFile* source = ptx_.FileByNumber(number);
    const llvm::StringRef path =
        source ? llvm::StringRef(source->name) : llvm::StringRef("unknown");
    file = builder_.createFile(llvm::sys::path::filename(path),
                               llvm::sys::path::parent_path(path));
  }
  return file;
}

llvm::DISubprogram* DebugInfo::Subprogram(std::string_view mangled,
                                          std::uint32_t file,
                                          std::uint32_t line) {
  return builder_.createFunction(
      unit_, NameOf(std::string(mangled)), mangled, FileOf(file), line,
      builder_.createSubroutineType(builder_.getOrCreateTypeArray({})), line,
      llvm::DINode::FlagPrototyped,
      llvm::DISubprogram::SPFlagDefinition |
          (ptx_.debug ? llvm::DISubprogram::SPFlagZero
                      : llvm::DISubprogram::SPFlagOptimized));
}

// nvcc gives an inlined function's name, but not where it begins: the first
// line seen of it stands for that.
llvm::DISubprogram* DebugInfo::Inlined(const Loc& loc) {
  std::string name = StringAt(loc.function_name, loc.function_offset);
  if (name.empty()) name = "inlined function";
  llvm::DISubprogram*& function = inlined_[name];
  if (!function) function = Subprogram(name, loc.file, loc.line);
  return function;
}

llvm::DebugLoc DebugInfo::Begin(const Function& ptx, llvm::Function& function) {
  current_ = &function;
  locations_.clear();
  places_.clear();
  for (const Instruction& inst : ptx.instructions) {
    if (inst.loc >= ptx_.locs.size()) continue;
    first_loc_ = inst.loc;
    // nvcc's first .loc is the function's own line; where that is that of an
    // inlined call, its parent's.
    const Loc& loc = ptx_.locs[inst.loc];
    llvm::DISubprogram* subprogram =
        loc.is_inlined
            ? Subprogram(ptx.name, loc.inlined_file, loc.inlined_line)
            : Subprogram(ptx.name, loc.file, loc.line);
    function.setSubprogram(subprogram);
    return llvm::DILocation::get(function.getContext(), subprogram->getLine(),
                                 0, subprogram);
  }
  return {};
}

llvm::DebugLoc DebugInfo::At(std::uint32_t loc, llvm::Function& function) {
  if (loc >= ptx_.locs.size() || current_ != &function ||
      !function.getSubprogram() || loc < first_loc_) {
    return {};
  }
  // In order, so that a call's place is known before what was inlined there.
  while (locations_.size() <= loc - first_loc_) {
    const Loc& next = ptx_.locs[first_loc_ + locations_.size()];
    locations_.push_back(Locate(next, function.getSubprogram()));
    places_[{next.file, next.line, next.column}] = locations_.back();
  }
  return locations_[loc - first_loc_];
}

llvm::DILocation* DebugInfo::Locate(const Loc& loc,
                                    llvm::DISubprogram* function) {
  llvm::LLVMContext& context = function->getContext();
  if (loc.is_inlined) {
    return llvm::DILocation::get(context, loc.line, loc.column, Inlined(loc),
                                 CallOf(loc, function));
  }
  // A line of another file without a function's name is from a header that
  // was included into the body.
  llvm::DIScope* scope = function;
  if (FileOf(loc.file) != function->getFile()) {
    scope = builder_.createLexicalBlockFile(function, FileOf(loc.file));
  }
  return llvm::DILocation::get(context, loc.line, loc.column, scope);
}

// The call that `loc` was inlined at. nvcc emits that place as a .loc of its
// own before it, which says whether it is inlined in turn.
llvm::DILocation* DebugInfo::CallOf(const Loc& loc,
                                    llvm::DISubprogram* function) {
  llvm::LLVMContext& context = function->getContext();
  const auto at =
      places_.find({loc.inlined_file, loc.inlined_line, loc.inlined_column});
  // Distinct: two calls on one line are two calls.
  if (at == places_.end()) {
    return llvm::DILocation::getDistinct(context, loc.inlined_line,
                                         loc.inlined_column, function);
  }
  return llvm::DILocation::getDistinct(
      context, at->second->getLine(), at->second->getColumn(),
      at->second->getScope(), at->second->getInlinedAt());
}

void DebugInfo::Finish() {
  if (unit_) builder_.finalize();
}

}  // namespace cerberus::ptx
