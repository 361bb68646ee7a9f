#include "runtime-stub/device/provider.h"

#include <atomic>
#include <cstdlib>

#include "hip/find_emulator.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/nvidia.h"
#include "runtime-stub/module/image.h"
#include "runtime-stub/module/segment.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

std::atomic<bool> g_exiting{false};

std::string Environment(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

// HIP knows CUDA_VISIBLE_DEVICES too; here the stub follows it (device.cc),
// and with both of them a device would be hidden twice. AMD's HIP reads it with
// the first call of any kind.
class HiddenVariable {
 public:
  explicit HiddenVariable(const char* name) : name_(name) {
    const char* text = std::getenv(name);
    if (text == nullptr) return;
    value_ = text;
    set_ = true;
    unsetenv(name);
  }
  ~HiddenVariable() {
    if (set_) setenv(name_, value_.c_str(), 1);
  }
  HiddenVariable(const HiddenVariable&) = delete;
  HiddenVariable& operator=(const HiddenVariable&) = delete;

 private:
  const char* name_;
  std::string value_;
  bool set_ = false;
};

// A library that opens but finds no GPU is as good as none.
bool FindsGpu() {
  int count = 0;
  return hip.hipInit(0) == hipSuccess &&
         hip.hipGetDeviceCount(&count) == hipSuccess && count > 0;
}

bool TryAmd(std::string* why) {
  const HiddenVariable hidden("CUDA_VISIBLE_DEVICES");
  *why = "no libamdhip64 was found";
  for (const char* const* name = AmdRuntimeNames(); *name != nullptr; ++name) {
    std::string reason;
    if (!LoadHip(*name, HipBinding::kNow, &reason)) {
      Log(LogLevel::kDebug, "%s", reason.c_str());
      continue;
    }
    if (FindsGpu()) return true;
    *why = std::string(*name) + " finds no GPU";
    Log(LogLevel::kDebug, "%s", why->c_str());
  }
  return false;
}

bool TryEmulator(std::string* why) {
  const HiddenVariable hidden("CUDA_VISIBLE_DEVICES");
  const EmulatorTargets targets(TargetWithMostCode);
  if (!LoadEmulator(why)) return false;
  if (FindsGpu()) return true;
  *why = hip.path + " starts no device";
  return false;
}

Provider Choose() {
  const std::string wanted = Environment("CERBERUS_DEVICE");
  const bool any = wanted.empty() || wanted == "auto";
  if (!any && wanted != "hip" && wanted != "nvidia" && wanted != "emulator" &&
      WantedEmulatorTargets().empty()) {
    Log(LogLevel::kError,
        "CERBERUS_DEVICE=%s is not hip, nvidia, emulator or a target id like "
        "gfx1100",
        wanted.c_str());
    return Provider::kNone;
  }
  std::string why;
  if (any || wanted == "hip") {
    if (TryAmd(&why)) {
      Log(LogLevel::kInfo, "using %s", hip.path.c_str());
      return Provider::kHip;
    }
    if (!any) {
      Log(LogLevel::kError, "no AMD GPU found: %s", why.c_str());
      return Provider::kNone;
    }
  }
  if (wanted == "nvidia" || (any && !ProcessHasConvertedWrapper())) {
    if (HandOverToNvidia(&why)) {
      Log(LogLevel::kInfo, "handing over to the NVIDIA driver %s", why.c_str());
      return Provider::kNvidia;
    }
    if (!any) {
      Log(LogLevel::kError, "no NVIDIA GPU found: %s", why.c_str());
      return Provider::kNone;
    }
  }
  if (TryEmulator(&why)) {
    if (any) {
      LogNotice(
          "no AMD GPU found; running on the emulated %s (slow). Set "
          "CERBERUS_DEVICE to choose.",
          ArchNameOf(0).c_str());
    } else {
      Log(LogLevel::kInfo, "running on the emulated %s", ArchNameOf(0).c_str());
    }
    return Provider::kEmulator;
  }
  Log(LogLevel::kError, "%s, and the emulator does not start: %s",
      any ? "no AMD GPU found" : "no device", why.c_str());
  return Provider::kNone;
}

void OnExit() { g_exiting.store(true, std::memory_order_relaxed); }

}  // namespace

Provider ChosenProvider() {
  static const Provider chosen = [] {
    const Provider found = Choose();
    // Registered after HIP's own exit handlers, so it runs before them.
    std::atexit(OnExit);
    return found;
  }();
  return chosen;
}

bool Exiting() { return g_exiting.load(std::memory_order_relaxed); }

}  // namespace cerberus::stub

// For our libraries beside this one: 1 where kernels run in the memory of the
// process. Not of CUDA's.
extern "C" __attribute__((visibility("default"))) int cuCerberusSharesMemory() {
  using cerberus::stub::ChosenProvider;
  return ChosenProvider() == cerberus::stub::Provider::kEmulator ? 1 : 0;
}
