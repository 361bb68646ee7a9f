// Any bytes as a program for Linux: opened, its conversion or its split planned
// and applied, and the result verified.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/plan_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  cerberus::rewriter::testing::CheckPlans({data, size}, size % 2 == 1);
  return 0;
}
