// How an ELF file is given one more segment without moving what is loaded.
#ifndef CERBERUS_REWRITER_ELF_PATCH_ELF_H_
#define CERBERUS_REWRITER_ELF_PATCH_ELF_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/elf/elf.h"
#include "rewriter/object_change.h"
#include "rewriter/plan.h"

namespace cerberus::rewriter {

// What is to change in an ELF file, whatever its layout.
struct ElfChange : ObjectChange {
  // Folders put before the file's search path.
  std::vector<std::string> runpath;
  // Libraries to load at start, added behind the file's own or put in the
  // place of another.
  struct Needed {
    std::string name;
    std::string_view instead_of;  // or ""
  };
  std::vector<Needed> needed;
  // Those that are loaded before the file's own.
  std::vector<std::string> needed_first;
  // Of these of the file's own libraries its symbols are found in none but
  // ours (formats/library_version.h).
  std::vector<std::string> ours_alone;
};

Result<Plan> PlanElf(const ElfFile& elf, const ElfChange& change);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_ELF_PATCH_ELF_H_
