// What compiling a part gave, as bytes: whatever a file of an earlier run or a
// process that crashed left, reading ends, and what is taken is what would be
// written again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ptxc/compile/outcome.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus;
  const Result<ptx::PartOutcome> outcome =
      ptx::ReadOutcome(ByteSpan(data, size));
  if (!outcome) {
    if (outcome.error().message.empty()) std::abort();
    return 0;
  }
  const Bytes again = ptx::WriteOutcome(*outcome);
  if (!std::equal(again.begin(), again.end(), data, data + size)) {
    std::fprintf(stderr, "an outcome is written otherwise than it was read\n");
    std::abort();
  }
  return 0;
}
