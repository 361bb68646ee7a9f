// Files that hold other files: archives, and programs that carry some.
//
// Device code in there cannot be seen, let alone converted where it is. So what
// is said of such a file names what it is, and that it has to be unpacked.
#ifndef CERBERUS_REWRITER_PAYLOAD_H_
#define CERBERUS_REWRITER_PAYLOAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rewriter/elf/elf.h"
#include "support/bytes.h"
#include "support/diag.h"

namespace cerberus::rewriter {

// "a Debian package" if the bytes begin like one; "" if like nothing known.
std::string_view ArchiveKind(ByteSpan bytes);

struct Payload {
  std::string_view kind;  // "an archive of PyInstaller"; "data" if not known
  std::uint64_t offset;   // in the file
  std::uint64_t size;
  // It stands behind all that the program's own tables lead to, where only who
  // looks for it from the end of the file, or of these tables, finds it.
  bool is_behind;
};

// What a program carries that is no part of it, if anything.
std::optional<Payload> FindPayload(ByteSpan bytes, const ElfFile& elf);
// What that means for a file that bytes are appended to; nothing, mostly.
std::optional<Diag> PayloadWarning(const std::string& file, ByteSpan bytes,
                                   const ElfFile& elf);

// Whether UPX has packed the program: nothing of it can be seen.
bool IsPackedByUpx(ByteSpan bytes, const ElfFile& elf);

}  // namespace cerberus::rewriter

#endif  // CERBERUS_REWRITER_PAYLOAD_H_
