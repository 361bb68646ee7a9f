// Room for more program headers in a file that was laid out without any.
#ifndef CERBERUS_REWRITER_ELF_MAKE_ROOM_H_
#define CERBERUS_REWRITER_ELF_MAKE_ROOM_H_

#include <cstddef>
#include <optional>
#include <set>

#include "rewriter/elf/elf.h"

namespace cerberus::rewriter {

// The sections (by number) that must be copied elsewhere so that the program
// header table can have `entries` more entries where it is; possibly none.
// No value if something stands there that cannot be moved: the loader and
// the kernel find the sections named here, and no others, by a pointer that
// a rewriter sees and can change.
std::optional<std::set<std::size_t>> SectionsInTheWay(const ElfFile& elf,
                                                      std::size_t entries);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_ELF_MAKE_ROOM_H_
