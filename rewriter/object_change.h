// What is to change in a file, whatever its format.
#ifndef CERBERUS_REWRITER_OBJECT_CHANGE_H_
#define CERBERUS_REWRITER_OBJECT_CHANGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rewriter/object_file.h"
#include "rewriter/plan.h"
#include "rewriter/removable.h"
#include "support/bytes.h"

namespace cerberus::rewriter {

struct ObjectChange {
  // The start of the new segment or section, which .rocm_kpack_ref describes
  // (.kpackrf in PE files). `head` gives its `head_size` bytes when its address
  // is known, and what of `removed` does leave the file.
  std::string head_why;
  std::uint64_t head_size = 0;
  std::function<Bytes(std::uint64_t vaddr, const std::vector<Removed>& gone)>
      head;

  // Pointers that will lead into the head.
  struct Pointer {
    PointerSlot slot;
    std::uint64_t into_head;
    std::string why;
  };
  std::vector<Pointer> pointers;
  // Bytes that change in place.
  std::vector<Plan::Edit> edits;

  // What nothing needs any more, sorted. As much of it as the format allows is
  // cut; of what is smaller than that, or in a place where nothing can be cut,
  // all stays.
  std::vector<Removed> removed;
};

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_OBJECT_CHANGE_H_
