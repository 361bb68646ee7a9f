// What the programs of this folder have in common: calls that end them, numbers
// of which each run has the same, and data on its way to the device.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                            \
  if (const int e = static_cast<int>(call); e != 0) {          \
    std::printf("line %d: %s gives %d\n", __LINE__, #call, e); \
    std::exit(1);                                              \
  }

inline unsigned state = 12345;
inline double Next() {
  state = state * 1664525 + 1013904223;
  return double(state >> 8) / (1 << 24) - 0.5;
}

template <typename T>
T* Upload(const std::vector<T>& host) {
  T* device = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&device), host.size() * sizeof(T)));
  CHECK(hipMemcpy(device, host.data(), host.size() * sizeof(T),
                  hipMemcpyHostToDevice));
  return device;
}
