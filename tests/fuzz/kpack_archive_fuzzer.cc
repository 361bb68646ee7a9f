// Opens the input as an archive and reads all that it claims to hold.
#include <cstdint>
#include <memory>

#include "kpack/reader.h"

using cerberus::ByteSpan;
using cerberus::kpack::Archive;
using cerberus::kpack::Entry;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto archive = Archive::FromBytes(ByteSpan(data, size), "fuzz");
  if (!archive) return 0;
  for (const Entry& entry : (*archive)->entries()) {
    if ((*archive)->Find(entry.key, entry.arch) != &entry) __builtin_trap();
    // A few hundred input bytes may claim, rightly, to unpack to megabytes.
    if (entry.original_size > (1u << 24)) continue;
    const auto bytes = (*archive)->Read(entry);
    if (bytes && bytes->size() != entry.original_size) __builtin_trap();
  }
  return 0;
}
