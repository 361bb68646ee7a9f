// The printf ring as kernels may leave it: whatever they wrote, reading ends,
// stays inside, and takes no more than there is.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime-stub/launch/printf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using cerberus::formats::PrintfRing;
  constexpr std::size_t kHeaderWords = sizeof(PrintfRing) / 8;
  constexpr std::size_t kMostWords = 512;
  const std::size_t words = size / 8;
  if (words <= kHeaderWords || words > kMostWords) return 0;
  // The header is the host's and the device's own, but for how far the
  // device wrote.
  std::vector<std::uint64_t> memory(words);
  std::memcpy(memory.data(), data, words * 8);
  auto* ring = reinterpret_cast<PrintfRing*>(memory.data());
  ring->dropped = ring->dropped_assertions = 0;
  const std::uint64_t capacity = words - kHeaderWords;
  ring->written = ring->read + ring->written % (capacity + 2);
  for (int round = 0; round < 2; ++round) {
    cerberus::stub::KernelOutput out;
    cerberus::stub::DrainRing(ring, capacity, &out);
    if (ring->written - ring->read > capacity + 1) __builtin_trap();
  }
  return 0;
}
