#include "runtime-stub/api/nvidia.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "hip/nvidia_paths.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/api/dispatch.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

void* g_driver = nullptr;

template <typename F>
F* Function(void* library, const char* symbol) {
  F* function = nullptr;
  void* address = dlsym(library, symbol);
  std::memcpy(&function, &address, sizeof function);
  return function;
}

// Another name of this very file, through a link.
bool IsThisLibrary(const char* path) {
  Dl_info info;
  struct stat own, other;
  return dladdr(reinterpret_cast<const void*>(&IsThisLibrary), &info) != 0 &&
         stat(info.dli_fname, &own) == 0 && stat(path, &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool TryDriver(const char* path, std::string* message) {
  struct stat st;
  if (stat(path, &st) != 0) {
    *message = std::string(path) + ": " + std::strerror(errno);
    return false;
  }
  if (IsThisLibrary(path)) {
    *message = std::string(path) + " is this library";
    return false;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    *message = reason != nullptr ? reason : path;
    return false;
  }
  auto* init = Function<CUresult(unsigned)>(library, "cuInit");
  auto* get_count = Function<CUresult(int*)>(library, "cuDeviceGetCount");
  int count = 0;
  const bool works = init != nullptr && get_count != nullptr &&
                     init(0) == CUDA_SUCCESS &&
                     get_count(&count) == CUDA_SUCCESS && count > 0;
  if (!works) {
    *message = std::string(path) + " finds no GPU";
    dlclose(library);
    return false;
  }
  *message = path;
  g_driver = library;
  return true;
}

}  // namespace

bool HandOverToNvidia(std::string* message) {
  bool found = false;
  if (const char* path = secure_getenv("CERBERUS_NVIDIA_DRIVER");
      path != nullptr && *path != '\0') {
    found = TryDriver(path, message);
  } else {
    *message = "no NVIDIA driver is installed";
    for (const char* folder : kNvidiaFolders) {
      std::string reason;
      found =
          TryDriver((std::string(folder) + "/libcuda.so.1").c_str(), &reason);
      if (found) *message = reason;
      if (found) break;
      Log(LogLevel::kDebug, "%s", reason.c_str());
    }
  }
  if (!found) return false;
  for (const ApiRow& row : ApiTable()) {
    if (void* address = dlsym(g_driver, row.symbol); address != nullptr) {
      *row.slot = address;
    }
  }
  return true;
}

void* NvidiaFunction(const char* symbol) {
  return g_driver != nullptr ? dlsym(g_driver, symbol) : nullptr;
}

}  // namespace cerberus::stub
