#include "cli/scale/kept_code.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "cerberus/ptxc.h"
#include "cli/convert/compiler.h"
#include "cli/exit_code.h"
#include "cli/scale/kept_file.h"
#include "kpack/content_key.h"
#include "rewriter/elf/elf.h"
#include "support/bytes.h"
#include "support/mapped_file.h"
#include "support/targets/target_id.h"

namespace cerberus::cli {
namespace {

using cache::JitCache;
using Sharing = JitCache::Sharing;

constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

// What is compiled in less is not worth a file in a folder of others'.
constexpr std::chrono::milliseconds kWorthKeeping{200};

// The linker's build id, which follows from what was linked; of a file without
// one its bytes.
std::string BuildOf(const std::string& path) {
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file) return "";
  ByteSpan bytes = file->bytes();
  if (const Result<rewriter::ElfFile> elf =
          rewriter::ElfFile::Parse(bytes, path)) {
    if (const auto* note = elf->FindSection(".note.gnu.build-id")) {
      bytes = elf->SectionBytes(*note);
    }
  }
  return kpack::Hash128Hex(bytes);
}

std::optional<ProcessResult> Load(const JitCache& from,
                                  const std::string& key) {
  const std::optional<Bytes> bytes = from.Load(key);
  return bytes ? ReadKeptFile(key, *bytes) : std::nullopt;
}

}  // namespace

std::string CompilerBuild(const std::string& jit) {
  Dl_info library;
  const bool found =
      ::dladdr(reinterpret_cast<void*>(&cerberus_ptxc_version), &library) != 0;
  return BuildOf(jit) + BuildOf(found ? library.dli_fname : "");
}

KeptModule::KeptModule(const CodeFolders& folders, std::string_view build,
                       const CompileRequest& request)
    : given_(folders.given, kUnbounded, Sharing::kReadOnly),
      cache_(folders.cache, kUnbounded, Sharing::kShared),
      own_(folders.own, kUnbounded, Sharing::kShared),
      own_is_all_(!folders.own.empty()) {
  const Result<TargetId> target = TargetId::Parse(request.arch);
  // A trace is of a compilation.
  if (!target || request.time_trace) {
    given_ = cache_ = own_ = JitCache("", 0);
    return;
  }
  if (!own_is_all_) own_ = JitCache::FromEnvironment();
  const std::string options =
      fmt::format("convert {}{} {}", request.shared_overflow,
                  request.serial_lanes ? " serial" : "", build);
  whole_key_ = JitCache::Key(request.ptx, *target, options);
  any_key_ = request.keep_going
                 ? JitCache::Key(request.ptx, *target, options + " keep-going")
                 : whole_key_;
}

std::optional<KeptModule::Found> KeptModule::Find() const {
  if (std::optional<ProcessResult> run = Load(given_, any_key_)) {
    return Found{*std::move(run), ""};
  }
  if (std::optional<ProcessResult> run = Load(cache_, whole_key_)) {
    return Found{*std::move(run), ""};
  }
  const std::string& key = own_is_all_ ? any_key_ : whole_key_;
  if (std::optional<ProcessResult> run = Load(own_, key)) {
    return Found{*std::move(run), own_.PathOf(key)};
  }
  return std::nullopt;
}

std::string KeptModule::Keep(const ProcessResult& run,
                             std::chrono::steady_clock::duration took) const {
  // In a common folder no module may stay without kernels that a longer time
  // limit would have given it.
  const bool whole = run.exit_code == kExitDone;
  if (whole && cache_.enabled()) {
    cache_.Store(whole_key_, WriteKeptFile(whole_key_, run));
    return "";
  }
  if (!own_.enabled() || !(own_is_all_ || (whole && took > kWorthKeeping))) {
    return "";
  }
  const std::string& key = own_is_all_ ? any_key_ : whole_key_;
  own_.Store(key, WriteKeptFile(key, run));
  return own_.PathOf(key);
}

}  // namespace cerberus::cli
