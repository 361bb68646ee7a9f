// Code objects come from archives and caches: their metadata is foreign.
#include <cstdint>
#include <cstdlib>

#include "runtime-stub/module/code_object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus::stub;
  auto info = ReadCodeObject({data, size});
  if (!info) return 0;
  for (const KernelInfo& kernel : info->kernels) {
    // The launch path writes this many bytes without looking again.
    if (kernel.explicit_size() > kernel.kernarg_size) std::abort();
    if (info->FindKernel(kernel.name) == nullptr) std::abort();
  }
  return 0;
}
