// The exported functions: one jump each through a slot, which leads to this
// library's function behind its checks, or to NVIDIA's (as in
// runtime-stub/api/dispatch.cc).
#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "hip/nvidia_paths.h"
#include "nvml/api.h"

namespace cerberus::nvml {
namespace {

bool Valid(nvmlDevice_t device) { return IsGpu(device); }
// A caller that asks how many there are has no array.
bool Valid(const nvmlProcessInfo_t*) { return true; }
bool Valid(const nvmlProcessInfo_v1_t*) { return true; }
template <typename T>
bool Valid(const T* pointer) {
  return pointer != nullptr;
}
template <typename T>
  requires(!std::is_pointer_v<T>)
bool Valid(T) {
  return true;
}

template <auto Function>
struct Checked;
template <typename... Args, nvmlReturn_t (*Function)(Args...)>
struct Checked<Function> {
  static nvmlReturn_t Call(Args... args) {
    if (!Initialized()) return NVML_ERROR_UNINITIALIZED;
    if (!(Valid(args) && ...)) return NVML_ERROR_INVALID_ARGUMENT;
    return Function(args...);
  }
};

// For every signature: the arguments are not looked at.
nvmlReturn_t None() {
  return Initialized() ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED;
}

}  // namespace

// The slots have C names, for the jumps below. That of a second name is
// behind the first one's jump.
#define NVML_SLOT(name, target)                                        \
  extern "C" [[gnu::visibility("hidden")]] void* cerberus_slot_##name; \
  void* cerberus_slot_##name = reinterpret_cast<void*>(target);
#define NVML_API(name, signature) NVML_SLOT(name, Checked<&api::name>::Call)
#define NVML_RAW(result, name, signature) NVML_SLOT(name, &api::name)
#define NVML_SAME(name, other)
#define NVML_NONE(name) NVML_SLOT(name, &None)
#include "nvml/nvml_api.def"
#undef NVML_NONE
#undef NVML_SAME
#undef NVML_RAW
#undef NVML_API

#if !defined(__x86_64__)
#error "write the jump for this processor"
#endif
#define NVML_EXPORT(name, slot)                    \
  asm(".pushsection .text.nvml,\"ax\",@progbits\n" \
      ".globl " #name                              \
      "\n"                                         \
      ".type " #name                               \
      ",@function\n"                               \
      ".p2align 3\n" #name                         \
      ":\n"                                        \
      "jmp *cerberus_slot_" #slot                  \
      "(%rip)\n"                                   \
      ".size " #name ",.-" #name                   \
      "\n"                                         \
      ".popsection\n");
#define NVML_API(name, signature) NVML_EXPORT(name, name)
#define NVML_RAW(result, name, signature) NVML_EXPORT(name, name)
#define NVML_SAME(name, other) NVML_EXPORT(name, other)
#define NVML_NONE(name) NVML_EXPORT(name, name)
#include "nvml/nvml_api.def"
#undef NVML_NONE
#undef NVML_SAME
#undef NVML_RAW
#undef NVML_API

namespace {

struct Slot {
  const char* name;
  void** slot;
};
constexpr Slot kSlots[] = {
#define NVML_API(name, signature) {#name, &cerberus_slot_##name},
#define NVML_RAW(result, name, signature) {#name, &cerberus_slot_##name},
#define NVML_SAME(name, other)
#define NVML_NONE(name) {#name, &cerberus_slot_##name},
#include "nvml/nvml_api.def"
#undef NVML_NONE
#undef NVML_SAME
#undef NVML_RAW
#undef NVML_API
};

void* g_nvidia = nullptr;

bool IsThisLibrary(const char* path) {
  Dl_info info;
  struct stat own, other;
  return dladdr(reinterpret_cast<const void*>(&IsThisLibrary), &info) != 0 &&
         stat(info.dli_fname, &own) == 0 && stat(path, &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool TryNvidia(const char* path) {
  struct stat st;
  if (stat(path, &st) != 0 || IsThisLibrary(path)) return false;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  nvmlReturn_t (*init)() = nullptr;
  void* address = dlsym(library, "nvmlInit_v2");
  std::memcpy(&init, &address, sizeof init);
  if (init == nullptr || init() != NVML_SUCCESS) {
    dlclose(library);
    return false;
  }
  g_nvidia = library;
  return true;
}

}  // namespace

bool HandOverToNvidia() {
  if (const char* path = secure_getenv("CERBERUS_NVIDIA_NVML")) {
    TryNvidia(path);
  } else {
    for (const char* folder : kNvidiaFolders) {
      if (TryNvidia((std::string(folder) + "/libnvidia-ml.so.1").c_str())) {
        break;
      }
    }
  }
  if (g_nvidia == nullptr) return false;
  for (const Slot& row : kSlots) {
    if (void* address = dlsym(g_nvidia, row.name)) *row.slot = address;
  }
  return true;
}

}  // namespace cerberus::nvml
