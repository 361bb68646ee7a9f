// An AMD code object: an ELF file with two MessagePack maps in it.
#ifndef CERBERUS_IMAGES_CODE_OBJECT_H_
#define CERBERUS_IMAGES_CODE_OBJECT_H_

#include <cstdint>
#include <string>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::images {

// Whether these are the first bytes of an ELF file for AMD GPUs.
bool IsCodeObject(ByteSpan bytes);

struct CodeObjectMaps {
  ByteSpan metadata;  // of the note, which every code object has; else empty
  ByteSpan info;      // the section .cerberus.info; empty in code of others
};

// Errors name `name` and the offset: not an AMD GPU's ELF file, tables,
// sections or notes that run past the end.
Result<CodeObjectMaps> FindCodeObjectMaps(ByteSpan bytes,
                                          const std::string& name);

}  // namespace cerberus::images

#endif  // CERBERUS_IMAGES_CODE_OBJECT_H_
