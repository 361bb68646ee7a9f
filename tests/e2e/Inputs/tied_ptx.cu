// Says which of its PTX it runs.
#include <cstdio>

#include "check.h"

__global__ void Which(int* which) {
#ifdef __CUDA_ARCH__
  which[0] = __CUDA_ARCH__ / 10;
#endif
#if defined(__CUDA_ARCH_SPECIFIC__)
  which[1] = 1;
#elif defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
  which[1] = 2;
#else
  which[1] = 0;
#endif
}

int main() {
  int* which = nullptr;
  CHECK(cudaMallocManaged(&which, 2 * sizeof(int)));
  Which<<<1, 1>>>(which);
  CHECK(cudaDeviceSynchronize());
  const char* const kinds[] = {"for all", "alone", "family"};
  std::printf("%d %s\n", which[0], kinds[which[1]]);
}
