// Textures, sampled in software from a descriptor in memory
// (docs/texture-descriptor.md): CDNA targets have no image instructions.
#include "ptxc/lower.h"

namespace cerberus::ptx {

void FunctionLowering::LowerTex() { FailUnsupported("textures"); }

}  // namespace cerberus::ptx
