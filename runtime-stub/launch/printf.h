// What kernels print: the ring they write to (docs/launch-abi.md), and its
// records as text.
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_PRINTF_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_PRINTF_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/launch_abi.h"

namespace cerberus::stub {

// Appends what C's printf writes for a format and its arguments. An argument
// is one word; a string is its length, then its bytes in as many words as
// they fill, or kNullString. What is missing prints as nothing.
void FormatPrintf(std::string_view format,
                  const std::vector<std::uint64_t>& arguments,
                  std::string* out);
inline constexpr std::uint64_t kNullString = ~std::uint64_t{0};

// Whether a kernel has written anything that is not read yet.
bool HasOutput(const formats::PrintfRing& ring);

// What kernels wrote, by where it belongs.
struct KernelOutput {
  std::string text;        // of printf
  std::string assertions;  // a line of each thread that failed
};

// Takes all complete records out of the ring, in order, and appends what they
// say. Kernels may be writing. `capacity`: words behind the header.
void DrainRing(formats::PrintfRing* ring, std::uint64_t capacity,
               KernelOutput* out);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_PRINTF_H_
