#include "hip/hip_loader.h"

#include <dlfcn.h>

#include <cstring>
#include <memory>

#include "support/never_destroyed.h"

namespace cerberus {
namespace {

enum Need { kRequired, kOptional };

// Converts a symbol's address to a function pointer.
template <typename... Args>
void SetFunction(HipFunction<hipError_t(Args...)>* slot, void* address) {
  typename HipFunction<hipError_t(Args...)>::Pointer pointer;
  static_assert(sizeof pointer == sizeof address);
  std::memcpy(&pointer, &address, sizeof address);
  *slot = pointer;
}

// The symbol's address, else `absent`.
[[gnu::noinline]] void* AddressOr(const char* name, void* absent) {
  void* address = dlsym(hip.library, name);
  return address != nullptr ? address : absent;
}

// Stands in an optional function's place up to its first call: a start needs
// few of them, and looking all of them up takes as long as the rest of it.
template <auto Member, const char* Name>
struct FirstCall;
template <typename... Args, HipFunction<hipError_t(Args...)> Hip::* Member,
          const char* Name>
struct FirstCall<Member, Name> {
  static hipError_t NotInThisHip(Args...) { return hipErrorNotSupported; }
  static hipError_t Call(Args... args) {
    auto& function = hip.*Member;
    SetFunction(&function,
                AddressOr(Name, reinterpret_cast<void*>(&NotInThisHip)));
    return function(args...);
  }
};

#define HIP_FN(need, name, parameters) constexpr char kName_##name[] = #name;
#include "hip/hip_api.def"
#undef HIP_FN

// HIP's version is major * 10,000,000 + minor * 100,000 + patch.
constexpr int kHipMajorUnit = 10'000'000;

}  // namespace

static NeverDestroyed<Hip> g_hip;
Hip& hip = *g_hip;

const char* const* AmdRuntimeNames() {
  static constexpr const char* kNames[] = {
      "libamdhip64.so.7",
      "libamdhip64.so.6",
      "libamdhip64.so.5",
      "/opt/rocm/lib/libamdhip64.so.7",
      "/opt/rocm/lib/libamdhip64.so.6",
      "/opt/rocm/lib/libamdhip64.so.5",
      nullptr,
  };
  return kNames;
}

bool LoadHip(const std::string& path, HipBinding binding, std::string* why) {
  const int mode = binding == HipBinding::kNow ? RTLD_NOW : RTLD_LAZY;
  void* library = dlopen(path.c_str(), mode | RTLD_LOCAL);
  if (library == nullptr) {
    const char* message = dlerror();
    *why = message != nullptr ? message : path + ": cannot be opened";
    return false;
  }
  Hip found;
  found.path = path;
  found.library = library;
#define HIP_FN(need, name, parameters)                                    \
  if (need == kOptional) {                                                \
    found.name = FirstCall<&Hip::name, kName_##name>::Call;               \
  } else if (void* address = dlsym(library, #name); address != nullptr) { \
    SetFunction(&found.name, address);                                    \
  } else {                                                                \
    *why = path + ": has no " #name;                                      \
    dlclose(library);                                                     \
    return false;                                                         \
  }
#include "hip/hip_api.def"
#undef HIP_FN
  found.is_before_5_3 = dlsym(library, "hipLaunchHostFunc") == nullptr;
  found.has_cooperative_launch =
      dlsym(library, "hipModuleLaunchCooperativeKernel") != nullptr;
  found.has_address_range_handles =
      dlsym(library, "hipMemGetHandleForAddressRange") != nullptr;
  hip = found;
  int version = 0;
  if (hip.hipRuntimeGetVersion(&version) == hipSuccess) {
    hip.major = version / kHipMajorUnit;
  }
  return true;
}

MemoryKind KindOf(const hipPointerAttribute_t& attributes, int hip_major) {
  if (attributes.isManaged != 0) return MemoryKind::kManaged;
  if (hip_major < 6) {
    // hipMemoryType of version 5: Host 0, Device 1, Array 2, Unified 3.
    return attributes.type == 0 ? MemoryKind::kHost : MemoryKind::kDevice;
  }
  switch (attributes.type) {
    case 0: return MemoryKind::kUnregistered;
    case 1: return MemoryKind::kHost;
    case 3: return MemoryKind::kManaged;
    default: return MemoryKind::kDevice;
  }
}

std::string ArchNameOf(int hip_device) {
  const auto properties = std::make_unique<char[]>(kHipDevicePropBytes);
  std::size_t offset = kArchNameOffsetR0600;
  if (hip.hipGetDevicePropertiesR0600(properties.get(), hip_device) !=
      hipSuccess) {
    // Under its plain name the function keeps the old layout, in version 6
    // too, for programs built against version 5.
    offset = kArchNameOffsetR0000;
    if (hip.hipGetDeviceProperties(properties.get(), hip_device) !=
        hipSuccess) {
      return {};
    }
  }
  const char* name = properties.get() + offset;
  return std::string(name, strnlen(name, kArchNameBytes));
}

}  // namespace cerberus
