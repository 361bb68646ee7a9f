#include "hip/find_emulator.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "hip/hip_loader.h"

namespace cerberus {
namespace {

constexpr char kVariable[] = "CERBERUS_EMU_TARGETS";

}  // namespace

const std::string& OwnFolder() {
  static const std::string& folder = *new std::string([] {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&OwnFolder), &info) == 0 ||
        info.dli_fname == nullptr) {
      return std::string();
    }
    // A converted program may reach us through a link in its own folder.
    // Links among the folders themselves lead to the right place anyway.
    std::string path = info.dli_fname;
    char target[PATH_MAX];
    constexpr int kMostLinks = 40;  // as many as Linux follows
    for (int i = 0; i < kMostLinks; ++i) {
      const ssize_t size = readlink(path.c_str(), target, sizeof target);
      if (size <= 0) break;
      const std::string_view next(target, static_cast<std::size_t>(size));
      path = next[0] == '/' ? std::string(next)
                            : path.substr(0, path.rfind('/') + 1).append(next);
    }
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string(".")
                                      : path.substr(0, slash);
  }());
  return folder;
}

std::string WantedEmulatorTargets() {
  const char* wanted = std::getenv("CERBERUS_DEVICE");
  const std::string text = wanted != nullptr ? wanted : "";
  return text.compare(0, 3, "gfx") == 0 ? text : std::string();
}

bool EmulatorTargetsAreGiven() {
  const char* text = std::getenv(kVariable);
  return !WantedEmulatorTargets().empty() || (text != nullptr && *text != '\0');
}

EmulatorTargets::EmulatorTargets(std::string (*otherwise)()) {
  std::string targets = WantedEmulatorTargets();
  if (const char* text = std::getenv(kVariable); text != nullptr) {
    before_ = text;
  }
  if (targets.empty() && before_.value_or("").empty() && otherwise != nullptr) {
    targets = otherwise();
  }
  if (targets.empty()) return;
  setenv(kVariable, targets.c_str(), 1);
  set_ = true;
}

EmulatorTargets::~EmulatorTargets() {
  if (!set_) return;
  if (before_) {
    setenv(kVariable, before_->c_str(), 1);
  } else {
    unsetenv(kVariable);
  }
}

bool LoadEmulator(std::string* why) {
  const char* named = secure_getenv("CERBERUS_EMULATOR");
  std::string path = named != nullptr ? named : "";
  if (path.empty()) path = OwnFolder() + "/emulator/libamdhip64.so.7";
  return LoadHip(path, HipBinding::kLazy, why);
}

}  // namespace cerberus
