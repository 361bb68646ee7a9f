// One of several objects in a process, each with kernels and a cudart of its
// own. NAME makes it a shared object with a function of that name; without,
// it is the program, which calls those of the objects named as arguments:
// `NAME=FILE`.
#include "../programs/program.h"

#include <dlfcn.h>

#include <string>
#include <thread>

#ifdef NAME
#define STRING_OF(name) #name
#define STRING(name) STRING_OF(name)

// The version of the cudart that this object calls and 3 * x, made by a
// kernel on a stream of the caller's context.
static __device__ int factor = 3;
static __global__ void Times(int* p) { p[threadIdx.x] *= factor; }

extern "C" int NAME(int x, int* own, int* version) {
  CHECK(cudaRuntimeGetVersion(version));
  int* p = ToDevice(std::vector<int>(32, x));
  Times<<<1, 32>>>(p);
  // Memory of another cudart is memory of the same device.
  if (own != nullptr) Times<<<1, 32>>>(own);
  const int result = ToHost(p, 32)[31];
  CHECK(cudaFree(p));
  return result;
}
#else
__global__ void Add(int* p) { p[threadIdx.x] += 1; }

int main(int argc, char** argv) {
  int* own = ToDevice(std::vector<int>(32, 1));
  int factor = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto equals = argument.find('=');
    void* object = dlopen(argument.c_str() + equals + 1, RTLD_NOW | RTLD_LOCAL);
    if (object == nullptr) std::puts(dlerror());
    EXPECT(object != nullptr);
    auto* run = reinterpret_cast<int (*)(int, int*, int*)>(
        dlsym(object, argument.substr(0, equals).c_str()));
    EXPECT(run != nullptr);
    int version = 0;
    EXPECT(run(i, own, &version) == 3 * i);
    std::printf("%s: %d\n", argument.substr(0, equals).c_str(), version);
    factor *= 3;
    // From another thread, which has no current context yet.
    std::thread([&] { EXPECT(run(7, nullptr, &version) == 21); }).join();
    // A reset by one cudart takes the other's memory; both start anew.
    if (i == argc - 1) {
      Add<<<1, 32>>>(own);
      EXPECT(ToHost(own, 32) == std::vector<int>(32, factor + 1));
      CHECK(cudaDeviceReset());
      EXPECT(run(5, nullptr, &version) == 15);
    }
  }
  own = ToDevice(std::vector<int>(32, 1));
  Add<<<1, 32>>>(own);
  EXPECT(ToHost(own, 32) == std::vector<int>(32, 2));
  return Pass();
}
#endif
