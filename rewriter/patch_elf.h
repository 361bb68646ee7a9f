// How an ELF file is given one more segment without moving what is loaded.
#ifndef CERBERUS_REWRITER_PATCH_ELF_H_
#define CERBERUS_REWRITER_PATCH_ELF_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/elf.h"
#include "rewriter/plan.h"

namespace cerberus::rewriter {

// What is to change in a file, whatever its layout.
struct ElfChange {
  // Folders put before the file's search path.
  std::vector<std::string> runpath;
  // A library to load at start, added or put in the place of another.
  struct Needed {
    std::string name;
    std::string_view instead_of;  // or ""
  };
  std::optional<Needed> needed;

  // The start of the new segment, which .rocm_kpack_ref describes. `head`
  // gives its `head_size` bytes when its address is known.
  std::string head_why;
  std::uint64_t head_size = 0;
  std::function<Bytes(std::uint64_t vaddr)> head;

  // Pointers that will lead into the head.
  struct Pointer {
    PointerSlot slot;
    std::uint64_t into_head;
    std::string why;
  };
  std::vector<Pointer> pointers;
  // Bytes that change in place.
  std::vector<Plan::Edit> edits;

  // Bytes of the file that nothing needs any more: sorted, disjoint, and in a
  // file with section headers each in one section. Whole pages of them are
  // cut.
  struct Removed {
    std::uint64_t offset;
    std::uint64_t size;
  };
  std::vector<Removed> removed;
};

Result<Plan> PlanElf(const ElfFile& elf, const ElfChange& change);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_PATCH_ELF_H_
