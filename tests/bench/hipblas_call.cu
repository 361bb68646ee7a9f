// A call of cuBLAS over rocBLAS beside the same call of hipBLAS, the library of
// AMD's that stands where ours does, in turns in one process, until it returns:
//
//   hipblas_call LIBHIPBLAS ELEMENTS CALLS TURNS
//
// Prints "ours theirs", medians in nanoseconds, and those that took least.
#include <algorithm>
#include <chrono>
#include <vector>

#include "cublas_call.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int n = std::atoi(argv[2]), calls = std::atoi(argv[3]),
            turns = std::atoi(argv[4]);
  float* x;
  Check(cudaMalloc(&x, 4096), "cudaMalloc");
  void *ours, *theirs;
  Check(cublasCreate_v2(&ours), "cublasCreate");
  void* const hipblas = dlopen(argv[1], RTLD_NOW);
  Check(hipblas == nullptr, argv[1]);
  Check(Find<int (*)(void**)>(hipblas, "hipblasCreate")(&theirs),
        "hipblasCreate");
  const Axpy axpy[] = {cublasSaxpy_v2, Find<Axpy>(hipblas, "hipblasSaxpy")};
  void* const handles[] = {ours, theirs};
  const float one = 1;
  std::vector<double> times[2];
  for (int turn = -2; turn < turns; ++turn) {  // two to warm up
    for (const int who : {0, 1}) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) {
        Check(axpy[who](handles[who], n, &one, x, 1, x + 64, 1), "axpy");
      }
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - begin;
      Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      if (turn >= 0) times[who].push_back(took.count() / calls);
    }
  }
  for (auto& t : times) std::sort(t.begin(), t.end());
  std::printf("%.0f %.0f %.0f %.0f\n", times[0][times[0].size() / 2],
              times[1][times[1].size() / 2], times[0][0], times[1][0]);
  return 0;
}
