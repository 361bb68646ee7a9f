// Texture and surface references: variables of a module that name what a
// kernel samples or writes, bound by the host before the launch.
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_TEXTURE_REFERENCE_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_TEXTURE_REFERENCE_H_

namespace cerberus::stub {

class Module;

// The module is being unloaded: its references are no more.
void ForgetReferences(const Module* module);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_TEXTURE_REFERENCE_H_
