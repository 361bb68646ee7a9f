// A shared object with kernels, loaded and unloaded again and again.
//
// RUN: %check %s %t -DMAIN && %nvcc -std=c++17 -shared -Xcompiler -fPIC -o %t/plugin.so %s && cerberus-convert -q %t/plugin.so -o %t/plugin.amd.so --arch gfx1100 && env -i CERBERUS_DEVICE=gfx1100 %t/app.amd %t/plugin.amd.so | grep PASS
#include "program.h"

#include <dlfcn.h>

#ifdef MAIN
__global__ void Own(int* p) { p[threadIdx.x] = 1; }

int main(int argc, char** argv) {
  int* p = ToDevice(std::vector<int>(32, 0));
  Own<<<1, 32>>>(p);
  EXPECT(ToHost(p, 32)[31] == 1);
  for (int round = 0; argc > 1 && round < 20; ++round) {
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    EXPECT(plugin != nullptr);
    auto* run = reinterpret_cast<int (*)(int)>(dlsym(plugin, "Run"));
    EXPECT(run != nullptr && run(round) == 3 * round + 31);
    EXPECT(dlclose(plugin) == 0);
  }
  Own<<<1, 32>>>(p);
  CHECK(cudaDeviceSynchronize());
  return Pass();
}
#else
__global__ void Compute(int* p, int x) { p[threadIdx.x] = 3 * x + threadIdx.x; }

extern "C" int Run(int x) {
  int* p = ToDevice(std::vector<int>(32, 0));
  Compute<<<1, 32>>>(p, x);
  const int result = ToHost(p, 32)[31];
  CHECK(cudaFree(p));
  return result;
}
#endif
