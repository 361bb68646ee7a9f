// cerberus doctor: what a program would run on, and, for a file, whether it
// is ready for that: which driver it loads, which code it finds, what it
// needs that cannot be converted.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cache/jit_cache.h"
#include "cli/convert/needed_libraries.h"
#include "cli/convert/nvidia_libraries.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "cli/process.h"
#include "cli/verb.h"
#include "formats/self_report.h"
#include "kpack/reader.h"
#include "kpack/resolve.h"
#include "rewriter/rewriter.h"
#include "support/targets/target_id.h"
#include "support/targets/target_table.h"
#include "support/version.h"

namespace cerberus::cli {
namespace {

constexpr char kDriver[] = "libcuda.so.1";

struct DeviceInfo {
  std::string target;
  std::string name;
  std::uint64_t memory = 0;  // bytes
  int sm = 0;                // as it is presented: 86 for sm_86
};

// The stub, asked as a program would ask it.
struct DriverInfo {
  std::string path;
  std::string provider;  // "hip", "emulator", "nvidia", "none"
  std::string library;
  int hip_version = 0;
  std::vector<DeviceInfo> devices;
};

template <typename... Args>
int Call(void* library, const char* name, Args... args) {
  void* address = ::dlsym(library, name);
  if (address == nullptr) return -1;
  int (*function)(Args...);
  static_assert(sizeof function == sizeof address);
  std::memcpy(&function, &address, sizeof address);
  return function(args...);
}

// Who computes in place of NVIDIA's libraries on this machine's GPU.
struct ComputedBy {
  const char* library;   // "cuBLAS"
  const char* file;      // of ours, beside the stub
  const char* question;  // the function that is asked (libraries/common/rocm.h)
  std::string answer = {};
};
std::vector<ComputedBy> AskLibraries(const std::string& folder) {
  std::vector<ComputedBy> all = {
      {"cuBLAS", "libcublas.so.13", "cublasCerberusProvider"},
      {"cuBLASLt", "libcublasLt.so.13", "cublasLtCerberusProvider"},
      {"cuFFT", "libcufft.so.12", "cufftCerberusProvider"},
      {"cuSOLVER", "libcusolver.so.12", "cusolverCerberusProvider"},
      {"cuSPARSE", "libcusparse.so.12", "cusparseCerberusProvider"},
      {"NCCL", "libnccl.so.2", "ncclCerberusProvider"},
  };
  std::vector<ComputedBy> answered;
  for (ComputedBy& one : all) {
    void* library =
        ::dlopen((folder + "/" + one.file).c_str(), RTLD_NOW | RTLD_LOCAL);
    void* address =
        library != nullptr ? ::dlsym(library, one.question) : nullptr;
    if (address == nullptr) continue;
    one.answer = reinterpret_cast<const char* (*)()>(address)();
    answered.push_back(one);
  }
  return answered;
}

Result<DriverInfo> AskDriver(const std::string& folder) {
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_…
  DriverInfo info;
  info.path = folder + "/" + kDriver;
  void* library = ::dlopen(info.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Err(MakeDiag(DiagCode::kIo, ::dlerror()));
  }
  info.provider = "none";
  const int started = Call(library, "cuInit", 0u);
  const formats::SelfReport* report = nullptr;
  // A char array of 16 bytes, as CUuuid is.
  const int found = Call(library, "cuGetExportTable", &report,
                         static_cast<const char*>(formats::kSelfReportId));
  if (found == 0 && report != nullptr) {
    info.provider = report->provider();
    info.library = report->library();
    info.hip_version = report->hip_version();
  } else if (started == 0) {
    info.provider = "nvidia";
  }
  int count = 0;
  if (started != 0 || Call(library, "cuDeviceGetCount", &count) != 0) {
    return info;
  }
  for (int i = 0; i < count; ++i) {
    DeviceInfo device;
    char name[256] = "";
    std::size_t memory = 0;
    int major = 0, minor = 0;
    Call(library, "cuDeviceGetName", static_cast<char*>(name),
         static_cast<int>(sizeof name), i);
    Call(library, "cuDeviceTotalMem_v2", &memory, i);
    Call(library, "cuDeviceGetAttribute", &major, kMajor, i);
    Call(library, "cuDeviceGetAttribute", &minor, kMinor, i);
    device.name = name;
    device.memory = memory;
    device.sm = 10 * major + minor;
    if (report != nullptr) device.target = report->target(i);
    info.devices.push_back(std::move(device));
  }
  return info;
}

// The libcuda.so.1 that the loader gives a program: by a path in DT_NEEDED,
// else by the search order of ld.so(8); `loaders` comes last.
std::string FindDriverOf(const rewriter::Binary& binary,
                         const std::string& loaders) {
  for (const std::string_view needed : binary.elf().NeededLibraries()) {
    if (needed.find('/') != needed.npos &&
        needed.substr(needed.rfind('/') + 1) == kDriver) {
      return ExpandOrigin(std::string(needed), binary.path());
    }
  }
  for (const SearchFolder& folder : SearchFolders(binary)) {
    const std::string path = folder.path + "/" + kDriver;
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return loaders;
}

// Those of `names` that are in the loader's own folders, which it knows best,
// with their paths. A program without a search path is asked, for ours leads to
// the stub: traced, it loads nothing and prints "NAME => /path (address)"
// (ld.so(8), LD_TRACE_LOADED_OBJECTS).
std::vector<std::pair<std::string, std::string>> FindByLoader(
    const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> found;
  const Result<ProcessResult> traced = RunProcess(
      {"/usr/bin/env", "LD_TRACE_LOADED_OBJECTS=1",
       fmt::format("LD_PRELOAD={}", fmt::join(names, ":")), "/bin/true"},
      {}, {});
  if (!traced) return found;
  const std::string_view lines(
      reinterpret_cast<const char*>(traced->out.data()), traced->out.size());
  for (const std::string& name : names) {
    const std::string arrow = name + " => ";
    const std::size_t at = lines.find(arrow);
    if (at == lines.npos) continue;
    const std::string_view rest = lines.substr(at + arrow.size());
    found.emplace_back(name, rest.substr(0, rest.find(" (")));
  }
  return found;
}

std::string FindLoadersDriver() {
  const auto found = FindByLoader({kDriver});
  return found.empty() ? "" : found.front().second;
}

// Of AMD's: HIP's runtimes and what is below and above them.
const std::vector<std::string> kRocmLibraries = {
    "libamdhip64.so.7",  "libamdhip64.so.6",  "libamdhip64.so.5",
    "libhiprtc.so.7",    "libhiprtc.so.6",    "libhsa-runtime64.so.1",
    "libamd_comgr.so.3", "libamd_comgr.so.2", "librocblas.so.5",
    "librocblas.so.4",   "librocblas.so.3",   "librocblas.so.0",
    "libhipblas.so.3",   "libhipblas.so.2",   "libhipblas.so.0",
    "libhipblaslt.so.1", "libhipblaslt.so.0", "libhipfft.so.0",
    "librocfft.so.0",    "librocsparse.so.1", "librocsparse.so.0",
    "librocsolver.so.0", "librocrand.so.1",   "libMIOpen.so.1",
    "librccl.so.1"};

struct FileInfo {
  std::string path;
  std::string driver;  // "" if the loader finds none
  bool driver_is_ours = false;
  bool has_device_code = false;
  bool converted = false;
  std::string converter;
  std::vector<std::pair<std::string, std::set<std::string>>> archives;
  std::vector<NeededLibrary> nvidia;
  std::vector<DeviceLibrary> libraries;
  // What it and its libraries hold prebuilt code for.
  std::vector<CodeByTarget> code;
};

class DoctorVerb : public Verb {
 public:
  const char* name() const override { return "doctor"; }
  const char* summary() const override {
    return "say what programs run on, and if a file is ready";
  }
  const char* examples() const override {
    return "  cerberus doctor\n"
           "  cerberus doctor app.amd\n";
  }

  void AddOptions(OptionList& list) override {
    list.Add("FILE", file_, "a program or library, converted or not")
        .Group(kGroupFiles);
  }

  int Run(const CommonOptions& common, Reporter& reporter) override {
    // What the stub has to say of the choice is in the report.
    if (!reporter.verbose()) ::setenv("CERBERUS_LOG", "error", 0);
    Status status = Examine();
    if (!status) reporter.Report(status.error());
    const bool runs = status && !driver_.devices.empty() && problems_.empty();
    const int code = runs ? kExitDone : kExitFailed;
    if (common.json) {
      PrintJson(reporter, code);
    } else if (status) {
      PrintText();
    }
    return code;
  }

 private:
  Status Examine() {
    CERB_TRY(const std::string folder, FindStubFolder());
    Status examined;
    if (!file_.empty()) {
      loaders_driver_ = FindLoadersDriver();
      examined = ExamineFile(folder);
      // The stub finds no converted file in this process.
      const std::string target = TargetToEmulate(info_.code);
      if (!target.empty()) ::setenv("CERBERUS_EMU_TARGETS", target.c_str(), 0);
    }
    CERB_TRY(driver_, AskDriver(folder));
    if (const Result<std::string> jit = FindJit()) jit_ = *jit;
    rocm_ = FindByLoader(kRocmLibraries);
    // On the emulator it is the host, unless the environment says otherwise.
    if (driver_.provider == "hip" ||
        std::getenv("CERBERUS_LIBRARY_PROVIDER") != nullptr) {
      computed_by_ = AskLibraries(folder);
    }
    if (driver_.devices.empty()) {
      problems_.push_back(
          "no device: neither an AMD GPU nor the emulator answers; "
          "CERBERUS_LOG=debug says what was tried");
    }
    if (jit_.empty()) {
      problems_.push_back(
          "cerberus-jit is not installed: what was not converted cannot be "
          "compiled when it is loaded");
    }
    return examined;
  }

  Status ExamineFile(const std::string& stub_folder) {
    CERB_TRY(const rewriter::Binary binary, rewriter::Binary::Open(file_));
    info_.path = file_;
    info_.has_device_code =
        !binary.fatbins().empty() || !binary.wrappers().empty();
    info_.nvidia = FindNvidiaLibraries(binary);
    info_.driver = FindDriverOf(binary, loaders_driver_);
    info_.driver_is_ours = SameFile(info_.driver, stub_folder + "/" + kDriver);
    info_.converted = binary.is_converted();
    if (info_.driver.empty()) {
      problems_.push_back(fmt::format(
          "{} finds no {}: convert it, or start it with 'cerberus run'", file_,
          kDriver));
    } else if (::access(info_.driver.c_str(), R_OK) != 0) {
      problems_.push_back(fmt::format(
          "{} names the driver stub {}, which is not there: convert it again",
          file_, info_.driver));
    } else if (!info_.driver_is_ours && !info_.converted) {
      problems_.push_back(
          fmt::format("{} loads {}, which is not this installation's stub: "
                      "convert it, or start it with 'cerberus run'",
                      file_, info_.driver));
    }
    for (const NeededLibrary& library : info_.nvidia) {
      if (!library.answered_by.empty()) continue;
      problems_.push_back(fmt::format("{} {}", file_, Describe(library)));
    }
    info_.libraries = FindDeviceLibraries(binary);
    for (const DeviceLibrary& library : info_.libraries) {
      if (library.converted) {
        CERB_TRY_VOID(ExamineArchives(library.path, nullptr));
      } else if (!library.has_ptx) {
        problems_.push_back(
            fmt::format("{} needs {}, found at {}, which is not converted and "
                        "was built without PTX: nothing in it can run",
                        file_, library.name, Place(library)));
      }
    }
    if (!info_.converted) return {};
    return ExamineArchives(file_, &info_);
  }

  // What a converted file's archives hold; listed in `out`, if not null.
  Status ExamineArchives(const std::string& file, FileInfo* out) {
    CERB_TRY(const rewriter::ConvertedInfo converted,
             rewriter::ReadConvertedFile(file));
    if (out != nullptr) out->converter = converted.converter_version;
    CodeByTarget& code = info_.code.emplace_back();
    for (const std::string& path :
         kpack::FindArchives(converted.search_paths, file)) {
      CERB_TRY(const std::shared_ptr<const kpack::Archive> archive,
               kpack::Archive::Open(path));
      for (const kpack::Entry& entry : archive->entries()) {
        ++code[std::string(entry.arch)];
      }
      if (out == nullptr) continue;
      std::set<std::string> arches;
      for (const std::string_view arch : archive->arches()) {
        arches.emplace(arch);
      }
      out->archives.emplace_back(path, std::move(arches));
    }
    return {};
  }

  // The target in the archives that the device would take, or "".
  std::string PrebuiltFor(const DeviceInfo& device) const {
    const Result<TargetId> id = TargetId::Parse(device.target);
    if (!id) return "";
    for (const std::string& wanted : id->LoadOrder()) {
      for (const auto& [path, arches] : info_.archives) {
        if (arches.count(wanted) != 0) return wanted;
      }
    }
    return "";
  }

  std::string RunsOn() const {
    if (driver_.provider == "hip") {
      return fmt::format("an AMD GPU, through {} (HIP {}.{})", driver_.library,
                         driver_.hip_version / 10'000'000,
                         driver_.hip_version / 100'000 % 100);
    }
    if (driver_.provider == "emulator") {
      return fmt::format("the emulator, {}", driver_.library);
    }
    if (driver_.provider == "nvidia") return "an NVIDIA GPU, by its own driver";
    return "nothing";
  }

  void PrintText() const {
    const auto line = [](std::string_view name, std::string_view value) {
      fmt::print("{:<12} {}\n", name, value);
    };
    line("cerberus", kVersion);
    line("driver stub", driver_.path);
    line("compiler", jit_.empty() ? "none" : jit_);
    line("runs on", RunsOn());
    for (std::size_t i = 0; i < driver_.devices.size(); ++i) {
      const DeviceInfo& device = driver_.devices[i];
      line(fmt::format("device {}", i),
           fmt::format("{}{}{}, {} MiB, presented as sm_{}", device.target,
                       device.target.empty() ? "" : ", ", device.name,
                       device.memory >> 20, device.sm));
    }
    for (const auto& [name, path] : rocm_) line("ROCm", path);
    for (const ComputedBy& one : computed_by_) {
      line(one.library, "computed by " + one.answer);
    }
    const cache::JitCache cache = cache::JitCache::FromEnvironment();
    const std::vector<cache::JitCacheEntry> entries = cache.Entries();
    line("cache", cache.enabled()
                      ? fmt::format("{}: {} {}", cache.folder(), entries.size(),
                                    entries.size() == 1 ? "entry" : "entries")
                      : "off");
    if (!file_.empty() && !info_.path.empty()) {
      fmt::print("{}:\n", file_);
      line("  driver", info_.driver.empty() ? "none found"
                       : info_.driver_is_ours
                           ? info_.driver
                           : info_.driver + " (not this installation's stub)");
      line("  code", info_.converted
                         ? fmt::format("converted by {}", info_.converter)
                     : info_.has_device_code ? "not converted"
                                             : "no CUDA device code");
      for (const auto& [path, arches] : info_.archives) {
        line("  archive", fmt::format("{}: {}", path, fmt::join(arches, ", ")));
      }
      for (std::size_t i = 0; i < driver_.devices.size(); ++i) {
        if (!info_.has_device_code) break;
        const std::string prebuilt = PrebuiltFor(driver_.devices[i]);
        line(fmt::format("  device {}", i),
             prebuilt.empty()
                 ? std::string("compiled at the first start, then kept")
                 : fmt::format("prebuilt for {}", prebuilt));
      }
    }
    for (const DeviceLibrary& library : info_.libraries) {
      line("  library",
           fmt::format("{}: {}", Place(library),
                       library.converted ? "converted"
                       : library.has_ptx
                           ? "not converted, compiled at the first start"
                           : "not converted, built without PTX"));
    }
    for (const NeededLibrary& library : info_.nvidia) {
      if (library.answered_by.empty()) continue;
      line("  library", fmt::format("{}: answered by {}", library.name,
                                    library.answered_by));
    }
    for (const std::string& problem : problems_) {
      fmt::print("problem: {}\n", problem);
    }
  }

  void PrintJson(const Reporter& reporter, int code) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("schema").Int(1);
    json.Key("verb").String("doctor");
    json.Key("exit_code").Int(code);
    json.Key("version").String(kVersion);
    json.Key("stub").String(driver_.path);
    json.Key("compiler").String(jit_);
    json.Key("provider").String(driver_.provider);
    json.Key("library").String(driver_.library);
    json.Key("hip_version").Int(driver_.hip_version);
    json.Key("devices").BeginArray();
    for (const DeviceInfo& device : driver_.devices) {
      json.BeginObject();
      json.Key("target").String(device.target);
      json.Key("name").String(device.name);
      json.Key("memory").Uint(device.memory);
      json.Key("sm").Int(device.sm);
      if (!info_.archives.empty()) {
        json.Key("prebuilt").String(PrebuiltFor(device));
      }
      json.EndObject();
    }
    json.EndArray();
    json.Key("rocm").BeginArray();
    for (const auto& [name, path] : rocm_) {
      json.BeginObject();
      json.Key("name").String(name);
      json.Key("path").String(path);
      json.EndObject();
    }
    json.EndArray();
    json.Key("computed_by").BeginArray();
    for (const ComputedBy& one : computed_by_) {
      json.BeginObject();
      json.Key("name").String(one.library);
      json.Key("by").String(one.answer);
      json.EndObject();
    }
    json.EndArray();
    if (!info_.path.empty()) {
      json.Key("file").BeginObject();
      json.Key("path").String(info_.path);
      json.Key("driver").String(info_.driver);
      json.Key("converted").Bool(info_.converted);
      json.Key("archives").BeginArray();
      for (const auto& [path, arches] : info_.archives) {
        json.BeginObject();
        json.Key("file").String(path);
        json.Key("targets").BeginArray();
        for (const std::string& arch : arches) json.String(arch);
        json.EndArray();
        json.EndObject();
      }
      json.EndArray();
      json.Key("nvidia_libraries").BeginArray();
      for (const NeededLibrary& library : info_.nvidia) {
        json.BeginObject();
        json.Key("name").String(library.name);
        json.Key("replacement").String(library.replacement);
        json.Key("answered_by").String(library.answered_by);
        json.EndObject();
      }
      json.EndArray();
      json.Key("libraries").BeginArray();
      for (const DeviceLibrary& library : info_.libraries) {
        json.BeginObject();
        json.Key("name").String(library.name);
        json.Key("path").String(library.path);
        json.Key("found_by").String(library.from);
        json.Key("converted").Bool(library.converted);
        json.Key("ptx").Bool(library.has_ptx);
        json.EndObject();
      }
      json.EndArray();
      json.EndObject();
    }
    json.Key("problems").BeginArray();
    for (const std::string& problem : problems_) json.String(problem);
    json.EndArray();
    json.Key("diagnostics");
    reporter.WriteJson(json);
    json.EndObject();
    fmt::print("{}", std::move(json).Take());
  }

  std::string file_;
  std::string jit_;
  std::string loaders_driver_;
  std::vector<std::pair<std::string, std::string>> rocm_;
  std::vector<ComputedBy> computed_by_;
  DriverInfo driver_;
  FileInfo info_;
  std::vector<std::string> problems_;
};

}  // namespace

std::unique_ptr<Verb> MakeDoctorVerb() {
  return std::make_unique<DoctorVerb>();
}

}  // namespace cerberus::cli
