// The versions of symbols that a file asks of its libraries.
#ifndef CERBERUS_REWRITER_ELF_VERSION_NEEDS_H_
#define CERBERUS_REWRITER_ELF_VERSION_NEEDS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rewriter/elf/elf.h"
#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::rewriter {

struct VersionNeed {
  std::string_view library;  // its SONAME
  std::size_t at;            // of the Elf64_Vernaux in the table
};

// `table` is what DT_VERNEED leads to. (LSB Core, "Symbol Versioning".)
Result<std::vector<VersionNeed>> ReadVersionNeeds(const ElfFile& elf,
                                                  ByteSpan table);

// The Elf64_Vernaux at that place asks for the version whose name stands at
// `offset` of the strings. The loader does not mind if a library has none of
// that name: it may be another one than the file will find its symbols in.
void AskForVersion(Bytes& table, std::size_t at, std::string_view name,
                   std::uint64_t offset);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_ELF_VERSION_NEEDS_H_
