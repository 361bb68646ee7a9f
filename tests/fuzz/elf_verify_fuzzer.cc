// Any bytes as a converted program.
#include <cstddef>
#include <cstdint>

#include "rewriter/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  (void)cerberus::rewriter::ReadConverted({data, size}, "fuzz");
  return 0;
}
