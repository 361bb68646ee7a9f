#include "libraries/common/rocm.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "libraries/common/rocm_code.h"
#include "support/log.h"
#include "support/targets/target_id.h"

namespace cerberus::libraries {
namespace {

enum class Wanted { kBest, kHost, kRocm };
Wanted WantedProvider() {
  const char* text = std::getenv("CERBERUS_LIBRARY_PROVIDER");
  const std::string wanted = text == nullptr ? "" : text;
  if (wanted == "host") return Wanted::kHost;
  if (wanted == "rocm") return Wanted::kRocm;
  if (!wanted.empty() && wanted != "auto") {
    Log(LogLevel::kError,
        "CERBERUS_LIBRARY_PROVIDER=%s is not host, rocm or auto",
        wanted.c_str());
  }
  return Wanted::kBest;
}

struct Opened {
  const RocmLibrary* library = nullptr;
  std::string why;  // there is none
};

std::string FileOf(void* library, const char* name) {
  link_map* map = nullptr;
  const bool told = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0;
  return told && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name
                                                                : name;
}

// Under its plain name, and beside HIP.
void* OpenByName(const HipOfContext& hip, const char* name) {
  const std::string file = hip.file;
  const std::size_t slash = file.rfind('/');
  if (slash != file.npos) {
    const std::string beside = file.substr(0, slash + 1) + name;
    if (void* found = dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return found;
    }
  }
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

Opened Open(const HipOfContext& hip, const RocmKind& kind) {
  std::string names;
  for (const RocmKind::Soname& soname : kind.sonames) {
    if (soname.hip_major != 0 && soname.hip_major != hip.major) continue;
    names += (names.empty() ? "" : " or ") + std::string(soname.name);
    void* const found = OpenByName(hip, soname.name);
    if (found == nullptr) {
      Log(LogLevel::kDebug, "%s", dlerror());
      continue;
    }
    std::string path = FileOf(found, soname.name);
    // By its dependencies. A second HIP would not know the first one's streams.
    void* const count = dlsym(found, "hipGetDeviceCount");
    if (count != nullptr && count != hip.device_count) {
      dlclose(found);
      return {nullptr, path + " is built on another HIP than " + hip.file};
    }
    // Never freed, as it may be called to the end of the process.
    return {new RocmLibrary(found, std::move(path)), ""};
  }
  if (names.empty()) {
    return {nullptr, "there is no " + std::string(kind.rocm) + " for HIP " +
                         std::to_string(hip.major)};
  }
  return {nullptr, "no " + names + " was found"};
}

// Once for each kind, and for each target.
class All {
 public:
  static All& Instance() {
    static auto& all = *new All;
    return all;
  }
  Opened Get(const HipOfContext& hip, const RocmKind& kind) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string target(hip.target,
                             std::find(hip.target, hip.target + 128, '\0'));
    const auto [library, is_new] = libraries_.try_emplace(&kind);
    if (is_new) library->second = Open(hip, kind);
    if (library->second.library == nullptr) return library->second;
    const auto [checked, is_new_target] =
        targets_.try_emplace({&kind, target}, library->second);
    if (is_new_target) {
      const std::string why = kind.lacks(library->second.library->path(),
                                         target.substr(0, target.find(':')));
      if (!why.empty()) checked->second = {nullptr, why};
    }
    return checked->second;
  }
  // Whether it is said for the first time.
  bool IsNews(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return said_.try_emplace(line, true).second;
  }

 private:
  std::mutex mutex_;
  std::map<const RocmKind*, Opened> libraries_;
  std::map<std::pair<const RocmKind*, std::string>, Opened> targets_;
  std::map<std::string, bool> said_;
};

// Who computes.
struct Decision {
  const RocmLibrary* library = nullptr;
  std::string why = {};    // there is none
  bool is_wanted = false;  // by the environment, or as kernels are the host's
  bool insists = false;    // the environment, on one
};
Decision Decide(const Driver& driver, const RocmKind& kind) {
  const Wanted wanted = WantedProvider();
  if (wanted == Wanted::kHost) {
    return {nullptr, "CERBERUS_LIBRARY_PROVIDER=host", /*is_wanted=*/true};
  }
  HipOfContext hip = {};
  const bool on_hip = driver.describe_hip != nullptr &&
                      driver.hip_stream != nullptr &&
                      driver.describe_hip(&hip) == 0;
  const bool insists = wanted == Wanted::kRocm;
  if (!insists && (!on_hip || hip.emulated != 0)) {
    return {nullptr, on_hip ? "the GPU is the emulator's" : "there is no HIP",
            /*is_wanted=*/true};
  }
  const Opened opened = on_hip ? All::Instance().Get(hip, kind)
                               : Opened{nullptr, "there is no HIP"};
  return {opened.library, opened.why, /*is_wanted=*/false, insists};
}

}  // namespace

void* RocmLibrary::Find(const char* symbol) const {
  return dlsym(library_, symbol);
}

std::string LacksTarget(const std::string& path, const std::string& target) {
  const auto targets = TargetsOfLibraryFile(path);
  if (!targets) return targets.error().message;
  // What is made at run time is made for any.
  if (targets->empty()) return "";
  const auto id = TargetId::Parse(target);
  if (!id) return id.error().message;
  const std::vector<std::string> loads = id->LoadOrder();
  for (const std::string& load : loads) {
    if (std::count(targets->begin(), targets->end(), load) != 0) return "";
  }
  return path + " has no code for " + target;
}

std::string VersionByText(const RocmLibrary& library, const char* symbol) {
  char text[128] = "";
  int (*tell)(char*, std::size_t) = nullptr;
  if (!library.Find(symbol, &tell) || tell(text, sizeof text) != 0) return "";
  std::string version(text, std::find(text, text + sizeof text, '\0'));
  // What a build without a commit's name ends with.
  while (version.ends_with('.')) version.pop_back();
  return version;
}

bool ChooseRocm(const Driver& driver, const RocmKind& kind,
                const RocmLibrary** library) {
  const Decision decision = Decide(driver, kind);
  *library = decision.library;
  if (decision.library != nullptr) {
    const std::string line = std::string(kind.nvidia) + ": " + kind.rocm +
                             " computes, " + decision.library->path();
    if (All::Instance().IsNews(line)) Log(LogLevel::kInfo, "%s", line.c_str());
    return true;
  }
  if (decision.is_wanted) return true;
  const std::string line =
      std::string(kind.nvidia) +
      (decision.insists ? ": no " + std::string(kind.rocm)
                        : " computes on the host, slowly") +
      ": " + decision.why;
  if (All::Instance().IsNews(line)) {
    if (decision.insists) {
      Log(LogLevel::kError, "%s", line.c_str());
    } else {
      LogNotice("%s", line.c_str());
    }
  }
  return !decision.insists;
}

std::string DescribeProvider(const RocmKind& kind) {
  const Driver* const driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return "nothing: no device";
  const Decision decision = Decide(*driver, kind);
  if (decision.library == nullptr) {
    return (decision.insists ? "nothing: " : "the host: ") + decision.why;
  }
  const std::string version =
      kind.version != nullptr ? kind.version(*decision.library) : "";
  return std::string(kind.rocm) + (version.empty() ? "" : " " + version) +
         ", " + decision.library->path();
}

void SayComputesOnHost(const Driver& driver, const char* nvidia) {
  HipOfContext hip = {};
  if (WantedProvider() == Wanted::kHost || driver.describe_hip == nullptr ||
      driver.describe_hip(&hip) != 0 || hip.emulated != 0) {
    return;
  }
  const std::string line =
      std::string(nvidia) + " computes on the host, slowly";
  if (All::Instance().IsNews(line)) LogNotice("%s", line.c_str());
}

}  // namespace cerberus::libraries
