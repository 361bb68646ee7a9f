// A program that loads a library with kernels behind its first call of the
// driver: late_library LIBRARY. The library is the same file with -DLIBRARY.
#include <dlfcn.h>

#include <cstdio>

__global__ void Add(int* sum, int number) { *sum += number; }

static int AddOnTheGpu(int number) {
  int* sum = nullptr;
  if (cudaMallocManaged(&sum, sizeof *sum) != cudaSuccess) return -1;
  *sum = 1;
  Add<<<1, 1>>>(sum, number);
  if (cudaDeviceSynchronize() != cudaSuccess) return -1;
  const int result = *sum;
  cudaFree(sum);
  return result;
}

#ifdef LIBRARY
extern "C" int AddInTheLibrary(int number) { return AddOnTheGpu(number); }
#else
int main(int, char** argv) {
  if (AddOnTheGpu(4) != 5) return 1;
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) return 2;
  auto* add = reinterpret_cast<int (*)(int)>(dlsym(library, "AddInTheLibrary"));
  if (add == nullptr || add(6) != 7) return 3;
  std::puts("late_library: PASS");
}
#endif
