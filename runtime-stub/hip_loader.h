// HIP, found at run time.
//
//   std::string why;
//   if (LoadHip(path, &why)) hip.hipMalloc(&pointer, bytes);
//
// `hip` holds a pointer per function of hip_api.def. Optional functions that
// the library lacks answer hipErrorNotSupported. Once loaded, a library stays
// for the life of the process.
#ifndef CERBERUS_RUNTIME_STUB_HIP_LOADER_H_
#define CERBERUS_RUNTIME_STUB_HIP_LOADER_H_

#include <string>

#include "runtime-stub/hip_abi.h"

namespace cerberus::stub {

struct Hip {
#define HIP_FN(need, name, parameters) hipError_t(*name) parameters = nullptr;
#include "runtime-stub/hip_api.def"
#undef HIP_FN
  int major = 0;     // of HIP's version: 5, 6, 7
  std::string path;  // as opened
  bool has_cooperative_launch = false;
};
extern Hip& hip;

// Opens a library by name or path and fills `hip`. On failure `hip` is
// unchanged, and `why` says what was wrong.
bool LoadHip(const std::string& path, std::string* why);

// The names under which AMD's runtime is looked for, best first.
const char* const* AmdRuntimeNames();  // nullptr-terminated

// What kind of memory a pointer leads to, in every version's numbers.
enum class MemoryKind { kUnregistered, kHost, kDevice, kManaged };
MemoryKind KindOf(const hipPointerAttribute_t& attributes, int hip_major);

// The device's target id ("gfx942:sramecc+:xnack-"), or "".
std::string ArchNameOf(int hip_device);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_HIP_LOADER_H_
