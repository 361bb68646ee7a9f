// Texture and surface objects.
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_TEXTURE_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_TEXTURE_H_

#include "runtime-stub/device/context.h"

namespace cerberus::stub {

// All objects of a context end, when it has no work left.
void DropTextures(Context* context);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_TEXTURE_H_
