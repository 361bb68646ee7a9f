#include "ptxc/compile/kept_parts.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "formats/launch_abi.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/version.h"

namespace cerberus::ptx {
namespace {

// A file is this and then the outcome. `cerberus cache` goes by the extension.
struct Header {
  char magic[8];
  std::uint64_t hash;  // XXH3-64 of the outcome
};
constexpr char kMagic[] = "CERBPRT1";
constexpr std::string_view kExtension = ".cerbjit";

// Tells one build of this library from another of the same version.
std::string Build() {
  static const char here = 0;
  Dl_info info;
  struct stat st;
  if (::dladdr(&here, &info) == 0 || ::stat(info.dli_fname, &st) != 0) {
    return "";
  }
  return fmt::format("{} {} {}", st.st_size, st.st_mtim.tv_sec,
                     st.st_mtim.tv_nsec);
}

}  // namespace

KeptParts::KeptParts(std::string folder, std::string_view ptx,
                     const CompileOptions& options)
    : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  Bytes all;
  for (const std::string& text :
       {options.target.ToString(),
        fmt::format("{} {} {} {} {} {}", options.opt_level,
                    static_cast<int>(options.shared_overflow),
                    static_cast<int>(options.variables),
                    options.one_warp_per_wave, options.serial_lanes,
                    formats::kLaunchAbi),
        std::string(kVersion), Build(), options.input_name, std::string(ptx)}) {
    AppendLe(all, std::uint64_t{text.size()});
    all.insert(all.end(), text.begin(), text.end());
  }
  const llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::ArrayRef<std::uint8_t>(all));
  AppendLe(program_, hash.high64);
  AppendLe(program_, hash.low64);
}

std::string KeptParts::PathOf(const ProgramPart& part) const {
  Bytes all = program_;
  AppendLe(all, part.is_whole());
  AppendLe(all, part.threads);
  for (const bool taken : part.functions) AppendLe(all, taken);
  const llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::ArrayRef<std::uint8_t>(all));
  return fmt::format("{}/{:016x}{:016x}{}", folder_, hash.high64, hash.low64,
                     kExtension);
}

bool KeptParts::Has(const ProgramPart& part) const {
  return !folder_.empty() && ::access(PathOf(part).c_str(), R_OK) == 0;
}

std::optional<PartOutcome> KeptParts::Find(const ProgramPart& part) {
  if (folder_.empty()) return std::nullopt;
  std::string path = PathOf(part);
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file || file->bytes().size() < sizeof(Header)) return std::nullopt;
  const Header header = LoadLe<Header>(file->bytes().data());
  const ByteSpan bytes = file->bytes().subspan(sizeof(Header));
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 ||
      header.hash !=
          llvm::xxh3_64bits(llvm::ArrayRef(bytes.data(), bytes.size()))) {
    return std::nullopt;
  }
  Result<PartOutcome> outcome = ReadOutcome(bytes);
  if (!outcome) return std::nullopt;
  paths_.push_back(std::move(path));
  return *std::move(outcome);
}

void KeptParts::Keep(const ProgramPart& part, const PartOutcome& outcome) {
  if (folder_.empty()) return;
  std::error_code error;
  if (!std::filesystem::exists(folder_, error)) {
    std::filesystem::create_directories(folder_, error);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all,
                                 error);
  }
  const Bytes bytes = WriteOutcome(outcome);
  Header header;
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  header.hash = llvm::xxh3_64bits(llvm::ArrayRef(bytes.data(), bytes.size()));
  Bytes content;
  AppendLe(content, header);
  content.insert(content.end(), bytes.begin(), bytes.end());
  std::string path = PathOf(part);
  if (WriteFile(path, content, 0600)) paths_.push_back(std::move(path));
}

void KeptParts::Forget() {
  for (const std::string& path : paths_) ::unlink(path.c_str());
  paths_.clear();
}

}  // namespace cerberus::ptx
