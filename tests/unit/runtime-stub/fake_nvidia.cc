// An NVIDIA driver that finds a GPU, or none if FAKE_NVIDIA_NO_GPU is set.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE cuInit(unsigned) {
  return std::getenv("FAKE_NVIDIA_NO_GPU") != nullptr ? 100 : 0;
}
FAKE cuDeviceGetCount(int* count) {
  *count = 3;
  return 0;
}
FAKE cuDriverGetVersion(int* version) {
  *version = 12345;
  return 0;
}
FAKE cuDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "NVIDIA Fake");
  return 0;
}
FAKE cuGetProcAddress_v2(const char* name, void** function, int, unsigned long,
                         int* status) {
  *function = nullptr;
  if (std::strcmp(name, "cuDriverGetVersion") == 0) {
    *function = reinterpret_cast<void*>(cuDriverGetVersion);
  }
  if (status != nullptr) *status = *function != nullptr ? 0 : 1;
  return *function != nullptr ? 0 : 500;
}
