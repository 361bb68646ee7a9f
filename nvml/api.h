// The functions of nvml_api.def as the library implements them. They live in
// a namespace under their exported names (exports.cc).
#ifndef CERBERUS_NVML_API_H_
#define CERBERUS_NVML_API_H_

#include <optional>
#include <string>

#include "nvml/abi.h"
#include "nvml/gpu.h"

namespace cerberus::nvml {

// Whether nvmlInit was called more often than nvmlShutdown.
bool Initialized();

// Whether a handle is one that the library gave out.
bool IsGpu(nvmlDevice_t device);

// All GPUs; empty before the first nvmlInit. They never go.
const std::vector<Gpu>& Gpus();

// Copies a text with its zero at the end.
nvmlReturn_t CopyText(const std::string& text, char* out, std::size_t length);

// Sends every call to NVIDIA's own library from here on, if it is installed
// and finds a GPU.
bool HandOverToNvidia();

namespace api {
#define NVML_API(name, signature) nvmlReturn_t name signature;
#define NVML_RAW(result, name, signature) result name signature;
#define NVML_SAME(name, other)
#define NVML_NONE(name)
#include "nvml/nvml_api.def"
#undef NVML_NONE
#undef NVML_SAME
#undef NVML_RAW
#undef NVML_API
}  // namespace api
}  // namespace cerberus::nvml

#endif  // CERBERUS_NVML_API_H_
