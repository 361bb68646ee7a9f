#include "runtime-stub/emulator.h"

#include <dlfcn.h>

#include <cstdlib>

#include "runtime-stub/hip_loader.h"

namespace cerberus::stub {

const std::string& OwnFolder() {
  static const std::string& folder = *new std::string([] {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&OwnFolder), &info) == 0 ||
        info.dli_fname == nullptr) {
      return std::string();
    }
    // A converted program may reach us through a link in its own folder.
    char* real = realpath(info.dli_fname, nullptr);
    const std::string path = real != nullptr ? real : info.dli_fname;
    std::free(real);
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

bool LoadEmulator(std::string* why) {
  const char* named = std::getenv("CERBERUS_EMULATOR");
  std::string path = named != nullptr ? named : "";
  if (path.empty()) path = OwnFolder() + "/emulator/libamdhip64.so.7";
  // The emulator reads its targets from the environment, as it would when
  // used without this library.
  const std::string targets = WantedEmulatorTargets();
  if (!targets.empty()) setenv("CERBERUS_EMU_TARGETS", targets.c_str(), 1);
  return LoadHip(path, why);
}

}  // namespace cerberus::stub
