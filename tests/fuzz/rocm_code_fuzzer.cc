// Any bytes as a library of HIP kernels: the targets that it names are told, or
// why it has none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "libraries/common/rocm_code.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto targets = cerberus::libraries::TargetsOfLibrary({data, size});
  if (!targets) return 0;
  for (const std::string& target : *targets) {
    if (target.empty() || target.find(':') != target.npos) std::abort();
  }
  return 0;
}
