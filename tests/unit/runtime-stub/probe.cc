// Opens the stub and says what it finds, for tests of the choice of a device,
// which is made once per process:
//   probe STUB [proc]   with `proc`, cuGetProcAddress is called first
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "runtime-stub/api/api.h"

namespace api = cerberus::stub::api;

int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
#define CU(name) reinterpret_cast<decltype(&api::name)>(dlsym(library, #name))
  decltype(&api::cuDriverGetVersion) get_version = CU(cuDriverGetVersion);
  if (argc > 2 && std::strcmp(argv[2], "proc") == 0) {
    void* function = nullptr;
    CU(cuGetProcAddress_v2)("cuDriverGetVersion", &function, 13000, 0, nullptr);
    get_version = reinterpret_cast<decltype(get_version)>(function);
  }
  int version = 0, count = -1;
  char name[64] = "";
  get_version(&version);
  std::printf("init %d\n", CU(cuInit)(0));
  CU(cuDeviceGetCount)(&count);
  CU(cuDeviceGetName)(name, sizeof name, 0);
  std::printf("version %d, %d devices, %s\n", version, count, name);
  return 0;
}
