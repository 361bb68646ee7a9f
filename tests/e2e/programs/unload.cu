// A shared object with kernels, loaded and unloaded again and again, leaves
// nothing behind: `app.amd plugin.amd.so 10000` is the long run.
//
// RUN: %check %s %t -DMAIN && %nvcc -std=c++17 -shared -Xcompiler -fPIC -o %t/plugin.so %s && cerberus-convert -q %t/plugin.so -o %t/plugin.amd.so --arch gfx1100 && env -i CERBERUS_DEVICE=gfx1100 %t/app.amd %t/plugin.amd.so | grep PASS
#include "program.h"

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

#ifdef MAIN
// What the process holds.
struct Held {
  std::size_t bytes = 0;
  int files = 0;
  int mappings = 0;
  pthread_key_t next_key = 0;

  static Held Now() {
    Held held;
    const struct mallinfo2 heap = mallinfo2();
    held.bytes = heap.uordblks + heap.hblkhd;
    DIR* folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr) ++held.files;
    closedir(folder);
    FILE* maps = fopen("/proc/self/maps", "r");
    for (int c; (c = fgetc(maps)) != EOF;) held.mappings += c == '\n';
    fclose(maps);
    EXPECT(pthread_key_create(&held.next_key, nullptr) == 0);
    EXPECT(pthread_key_delete(held.next_key) == 0);
    return held;
  }
};

__global__ void Own(int* p) { p[threadIdx.x] = 1; }

int main(int argc, char** argv) {
  int* p = ToDevice(std::vector<int>(32, 0));
  Own<<<1, 32>>>(p);
  EXPECT(ToHost(p, 32)[31] == 1);
  if (argc == 1) return Pass();
  constexpr int kWarmUp = 20;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 300;
  Held before;
  for (int round = 0; round < rounds; ++round) {
    if (round == kWarmUp) before = Held::Now();
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    EXPECT(driver != nullptr && plugin != nullptr);
    auto* run = reinterpret_cast<int (*)(int)>(dlsym(plugin, "Run"));
    EXPECT(run != nullptr && run(round) == 3 * round + 31);
    EXPECT(dlclose(plugin) == 0 && dlclose(driver) == 0);
  }
  const Held after = Held::Now();
  // Each of the emulator's threads keeps half a megabyte when it first works.
  EXPECT(after.bytes < before.bytes + 768 * 1024);
  EXPECT(after.files == before.files);
  EXPECT(after.mappings <= before.mappings + 8);
  EXPECT(after.next_key == before.next_key);
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
