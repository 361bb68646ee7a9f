// cerberus run: starts a program that was not converted, with the driver stub
// in front of whatever libcuda.so.1 it would find; all its PTX is compiled at
// run time, and kept for the next start.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/convert/needed_libraries.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "cli/verb.h"
#include "rewriter/binary.h"
#include "support/mapped_file.h"
#include "support/targets/target_id.h"

namespace cerberus::cli {
namespace {

// As a shell says it: not found, found but not startable.
constexpr int kExitNotFound = 127;
constexpr int kExitNotStarted = 126;

class RunVerb : public Verb {
 public:
  const char* name() const override { return "run"; }
  const char* summary() const override {
    return "run a program that was not converted";
  }
  const char* examples() const override {
    return "  cerberus run ./app 5\n"
           "  cerberus run --device gfx942 python3 train.py\n"
           "  cerberus run --emulate gfx1100 rocminfo\n";
  }
  const char* command() const override { return "APP [ARGS...]"; }

  void AddOptions(OptionList& list) override {
    list_ = &list;
    list.Add("--device", device_, "auto, hip, nvidia, emulator or target ids")
        .ValueName("DEVICE")
        .Group(kGroupTargets);
    list.Add("--emulate", emulate_,
             "target ids that AMD's own runtimes find, too")
        .ValueName("GPUS")
        .Group(kGroupTargets);
    list.Add("--log", log_, "error, warn, info or debug")
        .OneOf({"error", "warn", "info", "debug"})
        .ValueName("LEVEL")
        .Group(kGroupDiagnostics);
  }

  int Run(const CommonOptions&, Reporter& reporter) override {
    std::vector<std::string> command = list_->remaining();
    if (!command.empty() && command.front() == "--") {
      command.erase(command.begin());
    }
    if (command.empty()) {
      reporter.Error(DiagCode::kUsage, "APP is missing: what is to be run?");
      return kExitUsage;
    }
    if (!emulate_.empty() && !device_.empty()) {
      reporter.Error(DiagCode::kUsage,
                     "--emulate and --device both say what to run on");
      return kExitUsage;
    }
    const Result<std::string> folder = FindStubFolder();
    if (!folder) {
      reporter.Report(folder.error());
      return kExitFailed;
    }
    const std::string stub = *folder + "/libcuda.so.1";
    if (::access(stub.c_str(), R_OK) != 0) {
      reporter.Report(ErrnoDiag(stub, "the driver stub cannot be read", errno));
      return kExitFailed;
    }
    Prepend("LD_LIBRARY_PATH", *folder);
    if (!device_.empty()) ::setenv("CERBERUS_DEVICE", device_.c_str(), 1);
    if (!emulate_.empty()) {
      if (const Status status = Emulate(*folder); !status) {
        reporter.Report(status.error());
        return kExitFailed;
      }
    }
    if (!log_.empty()) ::setenv("CERBERUS_LOG", log_.c_str(), 1);
    if (!IsForNvidia()) {
      PreloadNeeded(*folder, command.front());
      HaveKernelsCompiledToPtx(*folder);
    }

    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    const int error = errno;
    reporter.Report(ErrnoDiag(command.front(), "cannot be started", error));
    return error == ENOENT ? kExitNotFound : kExitNotStarted;
  }

 private:
  // GPUs where AMD's HSA runtime would find some: for a HIP runtime of AMD's,
  // for its tools, and for the driver stub, which takes such a runtime, or the
  // emulator's own where there is none.
  Status Emulate(const std::string& folder) {
    std::istringstream targets(emulate_);
    for (std::string target; std::getline(targets, target, ',');) {
      CERB_TRY_VOID(TargetId::Parse(target));
    }
    for (const char* library :
         {"libcerberus-amdgpu.so", "libhsa-runtime64.so.1"}) {
      const std::string file = folder + "/emulator/" + library;
      if (::access(file.c_str(), R_OK) != 0) {
        return Err(ErrnoDiag(file, "the emulator cannot be read", errno));
      }
      Prepend("LD_PRELOAD", file);
    }
    ::setenv("CERBERUS_EMU_TARGETS", emulate_.c_str(), 1);
    ::unsetenv("CERBERUS_DEVICE");
    return {};
  }

  // Whether the driver stub will hand the program to NVIDIA's driver, which
  // is to get what NVIDIA's tools make (docs/environment.md, CERBERUS_DEVICE).
  static bool IsForNvidia() {
    const char* device = std::getenv("CERBERUS_DEVICE");
    const std::string chosen = device != nullptr ? device : "";
    if (!chosen.empty() && chosen != "auto") return chosen == "nvidia";
    return ::access("/dev/nvidiactl", F_OK) == 0 &&
           ::access("/dev/kfd", F_OK) != 0;
  }

  // Of what the program is linked with itself, or a library that it is linked
  // with, ours come first even where DT_RPATH leads to NVIDIA's. What it opens
  // later, libcerberus-run.so leads to ours.
  static void PreloadNeeded(const std::string& folder,
                            const std::string& program) {
    const auto binary = rewriter::Binary::Open(FindProgram(program));
    if (!binary) return;  // a script
    std::set<std::string> names;
    const auto add = [&](const rewriter::Binary& of) {
      for (const std::string_view name : of.elf().NeededLibraries()) {
        names.emplace(name.substr(name.rfind('/') + 1));
      }
    };
    add(*binary);
    for (const FoundLibrary& library : FindLibraries(*binary)) {
      if (const auto other = rewriter::Binary::Open(library.path)) add(*other);
    }
    for (const std::string& name : names) {
      const std::string file = folder + "/" + name;
      if (::access(file.c_str(), R_OK) == 0) Prepend("LD_PRELOAD", file);
    }
  }

  // As execvp finds it; the name itself if it finds nothing.
  static std::string FindProgram(const std::string& name) {
    const char* path = std::getenv("PATH");
    if (name.find('/') != name.npos || path == nullptr) return name;
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string file = (folder.empty() ? "." : folder) + "/" + name;
      if (::access(file.c_str(), X_OK) == 0) return file;
    }
    return name;
  }

  // Packages that compile kernels themselves make machine code, unless told
  // not to or stood in for (docs/python.md).
  static void HaveKernelsCompiledToPtx(const std::string& folder) {
    const std::string library = folder + "/libcerberus-run.so";
    if (::access(library.c_str(), R_OK) == 0) Prepend("LD_PRELOAD", library);
    ::setenv("CUPY_COMPILE_WITH_PTX", "1", 0);
    const std::string tools = folder + "/bin";
    const std::string ptxas = tools + "/ptxas";
    if (::access(ptxas.c_str(), X_OK) != 0) return;
    Prepend("PATH", tools);
    ::setenv("TRITON_PTXAS_PATH", ptxas.c_str(), 0);
    ::setenv("TRITON_PTXAS_BLACKWELL_PATH", ptxas.c_str(), 0);
    ::setenv("TRITON_LIBCUDA_PATH", folder.c_str(), 0);
  }

  static void Prepend(const char* variable, const std::string& folder) {
    const char* old = std::getenv(variable);
    ::setenv(variable,
             old != nullptr && *old != '\0' ? (folder + ":" + old).c_str()
                                            : folder.c_str(),
             1);
  }

  OptionList* list_ = nullptr;
  std::string device_;
  std::string emulate_;
  std::string log_;
};

}  // namespace

std::unique_ptr<Verb> MakeRunVerb() { return std::make_unique<RunVerb>(); }

}  // namespace cerberus::cli
