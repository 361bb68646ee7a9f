// collatz [LIMIT]: which number below LIMIT takes longest to come down to 1,
// if even numbers are halved and odd ones become 3n + 1. A HIP program.
#include <cstdio>
#include <cstdlib>

#include "hip_calls.h"

static __global__ void LongestChain(unsigned limit, unsigned long long* best) {
  const unsigned stride = BlockSize() * BlockCount();
  unsigned long long mine = 0;
  for (unsigned start = ThreadIndex() + 1; start < limit; start += stride) {
    unsigned long long n = start;
    unsigned steps = 0;
    while (n != 1) {
      n = n % 2 == 0 ? n / 2 : 3 * n + 1;
      ++steps;
    }
    // The smaller of two starts wins: its complement is the larger.
    const unsigned long long key = (unsigned long long)steps << 32 | ~start;
    if (key > mine) mine = key;
  }
  __hip_atomic_fetch_max(best, mine, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
}

static void Check(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "collatz: %s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}

int main(int argc, char** argv) {
  const unsigned limit =
      argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
  unsigned long long* best = nullptr;
  unsigned long long result = 0;
  Check(hipMalloc((void**)&best, sizeof *best), "hipMalloc");
  Check(hipMemset(best, 0, sizeof *best), "hipMemset");
  LongestChain<<<dim3(16), dim3(128)>>>(limit, best);
  Check(hipGetLastError(), "launch");
  Check(hipMemcpy(&result, best, sizeof result, hipMemcpyDeviceToHost),
        "hipMemcpy");
  Check(hipFree(best), "hipFree");
  std::printf("%u takes %u steps\n", ~(unsigned)result,
              (unsigned)(result >> 32));
}
