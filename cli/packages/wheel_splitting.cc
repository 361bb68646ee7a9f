#include "cli/packages/wheel_splitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cli/convert/bundle.h"
#include "cli/convert/commit_in_order.h"
#include "cli/convert/conversion.h"
#include "cli/packages/wheel_files.h"
#include "cli/paths.h"
#include "cli/process.h"
#include "packager/databases/databases.h"
#include "packager/tree/tree.h"
#include "support/targets/target_id.h"
#include "support/targets/target_sets.h"
#include "support/version.h"

namespace cerberus::cli {
namespace {

using packager::WheelWriter;
using packager::ZipMember;

// A part's name in those of packages: families as AMD's packages call them.
struct FamilyName {
  std::string_view folder;  // AOTriton's
  std::string_view part;
};
constexpr FamilyName kFamilies[] = {{"gfx11xx", "gfx11"},
                                    {"gfx120x", "gfx12-0"}};

std::string PartOf(const std::string& target) {
  for (const FamilyName& family : kFamilies) {
    if (family.folder == target) return std::string(family.part);
  }
  return target.substr(0, target.find(':'));
}

// "amd-torch-device" for torch, "rocm-sdk-device" for rocm-sdk: packages whose
// names say that they are AMD's do not say it twice.
std::string DevicePrefix(const std::string& project) {
  const std::string name = packager::NormalizeName(project);
  for (const std::string_view own : {"amd", "rocm"}) {
    if (name.substr(0, own.size()) == own) return project + "-device";
  }
  return "amd-" + project + "-device";
}

}  // namespace

WheelSplitting::WheelSplitting(WheelSplittingOptions options,
                               Reporter& reporter)
    : options_(std::move(options)), reporter_(reporter) {}

// As ~WheelConversion().
WheelSplitting::~WheelSplitting() {
  wheels_.clear();
  archive_bytes_.clear();
  archives_.clear();
  libraries_.clear();
  RemoveFolders(made_folders_);
}

std::string WheelSplitting::OutputPath() const {
  return options_.folder + "/" + family_.host.ToString();
}

// AMD's archives have an underscore before the target.
std::string WheelSplitting::ArchiveName(const std::string& target) const {
  return fmt::format("{}/{}_{}.kpack", kArchiveFolder, group_, target);
}

Status WheelSplitting::Open() {
  CERB_TRY(wheel_, packager::Wheel::Open(options_.input));
  for (const Diag& warning : wheel_->warnings()) reporter_.Report(warning);
  family_.wheel = &*wheel_;
  family_.host = wheel_->name();
  family_.project = wheel_->metadata().Get("Name");
  family_.device_prefix = options_.device_prefix.empty()
                              ? DevicePrefix(family_.project)
                              : options_.device_prefix;
  family_.generator = fmt::format("cerberus ({})", kVersion);
  group_ = packager::EscapeName(family_.project);
  if (SameFile(options_.input, OutputPath())) {
    return Err(DiagCode::kUsage,
               fmt::format("the host wheel would take the place of the input, "
                           "'{}'; choose another folder",
                           options_.input));
  }
  CERB_TRY_VOID(MakeOutputFolder(options_.folder, made_folders_));
  for (const ZipMember& member : wheel_->files()) {
    CERB_TRY_VOID(ReadFile(member));
    if (Interrupted()) return {};
  }
  if (libraries_.empty() && summary_.unsplit.empty() && databases_.empty()) {
    return Err(FileDiag(DiagCode::kNoDeviceCode, options_.input,
                        "holds no HIP device code"));
  }
  NameFolder();
  CERB_TRY_VOID(PlanLibraries());
  NameParts();
  return {};
}

Status WheelSplitting::ReadFile(const ZipMember& member) {
  CERB_TRY(std::optional<OutputFile> unpacked,
           ReadWheelFile(*wheel_, member, OutputPath(), rewriter::IsLoadable,
                         hashes_[member.name]));
  const packager::DatabaseFile database =
      packager::RecogniseDatabase(wheel_->InstalledPath(member.name));
  if (!database.target.empty()) {
    const bool wanted = IsOfUse(database.target, options_.arches);
    ++(wanted ? summary_.database_files : summary_.not_asked_for);
    const std::string part = wanted ? PartOf(database.target) : "";
    databases_.emplace(member.name, part);
    if (wanted) {
      summary_.libraries.findings.sizes[part].databases += member.size;
    }
    return {};
  }
  if (!unpacked) return {};
  return OpenLibrary(member, *std::move(unpacked));
}

Status WheelSplitting::OpenLibrary(const ZipMember& member,
                                   OutputFile unpacked) {
  Library library;
  library.input = std::move(unpacked);
  auto binary = rewriter::Binary::Open(library.input->OpenName(),
                                       options_.input + "/" + member.name);
  if (!binary) return LeaveAsItIs(member.name, std::move(binary).error());
  if (binary->hip().wrappers.empty()) return {};
  library.installed = wheel_->InstalledPath(member.name);
  if (library.installed.empty()) {
    return LeaveAsItIs(
        member.name,
        wheel_->zip().Error(member.name,
                            "holds HIP device code, but is installed where its "
                            "archives cannot be found from (scripts, headers "
                            "or data)",
                            DiagCode::kUnsupported));
  }
  library.binary = *std::move(binary);
  libraries_.emplace(member.name, std::move(library));
  return {};
}

Status WheelSplitting::LeaveAsItIs(const std::string& path, Diag why) {
  if (!options_.keep_going) return Err(std::move(why));
  why.severity = Severity::kWarning;
  reporter_.Report(why);
  summary_.unsplit.emplace(path, why.message);
  return {};
}

// The package that all HIP libraries are in; else a folder of our own.
void WheelSplitting::NameFolder() {
  std::set<std::string> tops;
  for (const auto& [path, library] : libraries_) {
    const std::size_t slash = library.installed.find('/');
    tops.insert(
        slash == std::string::npos ? "" : library.installed.substr(0, slash));
  }
  folder_ = tops.size() == 1 && !tops.begin()->empty() ? *tops.begin()
                                                       : group_ + ".rocm";
}

Status WheelSplitting::PlanLibraries() {
  for (auto library = libraries_.begin(); library != libraries_.end();) {
    const std::string& installed = library->second.installed;
    SplittingOptions options;
    options.input_name = options_.input + "/" + library->first;
    options.input = library->second.input->OpenName();
    options.arches = options_.arches;
    // As AMD's splitter has it: relative to the folder of the archives.
    const bool inside = installed.rfind(folder_ + "/", 0) == 0;
    options.split.kernel_name =
        inside ? installed.substr(folder_.size() + 1) : installed;
    options.split.search_paths = {
        (inside ? packager::UpFrom(options.split.kernel_name)
                : packager::UpFrom(installed) + folder_ + "/") +
        ArchiveName("@GFXARCH@")};
    auto splitting = std::make_unique<Splitting>(std::move(options));
    Status opened =
        splitting->Open(*std::exchange(library->second.binary, std::nullopt));
    if (!opened) {
      CERB_TRY_VOID(LeaveAsItIs(library->first, std::move(opened).error()));
      library = libraries_.erase(library);
      continue;
    }
    for (const Diag& note : splitting->plan().notes) reporter_.Report(note);
    library->second.splitting = std::move(splitting);
    ++library;
  }
  return {};
}

Status WheelSplitting::Pack() {
  std::size_t at = 0;
  const std::size_t all = libraries_.size();
  for (auto& [path, library] : libraries_) {
    reporter_.printer().Status(
        fmt::format("[{}/{}] split {}", ++at, all, path));
    Status packed =
        library.splitting->Pack(archives_, [&](const std::string& target) {
          kpack::ArchiveOptions archive;
          archive.group_name = group_;
          archive.gfx_arch_family = target;
          return kpack::ArchiveWriter::Create(OutputPath(), archive);
        });
    if (Interrupted()) return {};
    if (packed) {
      CERB_TRY(library.output, library.splitting->Write(OutputPath()));
      summary_.libraries.Add(library.splitting->summary());
      summary_.split.push_back(path);
    } else if (packed.error().code == DiagCode::kIo) {
      return packed;
    } else {
      CERB_TRY_VOID(LeaveAsItIs(path, std::move(packed).error()));
    }
    library.splitting.reset();
    library.input.reset();
  }
  reporter_.printer().Clear();
  if (summary_.split.empty() && summary_.database_files == 0) {
    return Err(FileDiag(DiagCode::kNoDeviceCode, options_.input,
                        "no library could be split"));
  }
  NameParts();
  return {};
}

// What device wheels there will be, as far as it is known.
void WheelSplitting::NameParts() {
  std::set<std::string> parts;
  for (const auto& [target, archive] : archives_) parts.insert(PartOf(target));
  for (const auto& [path, part] : databases_) {
    if (!part.empty()) parts.insert(part);
  }
  family_.parts.assign(parts.begin(), parts.end());
  family_.needs.clear();
  for (const FamilyName& family : kFamilies) {
    const std::string part(family.part);
    if (!parts.contains(part)) continue;
    for (const std::string& other : family_.parts) {
      if (other != part && IsOfUse(family.folder, {other})) {
        family_.needs[other].push_back(part);
      }
    }
  }
  summary_.requirement = family_.Requirement();
}

std::vector<std::string> WheelSplitting::Describe() const {
  std::vector<std::string> lines;
  for (const auto& [path, library] : libraries_) {
    const SplittingSummary& split = library.splitting->summary();
    lines.push_back(fmt::format("split {}: {} image{}, {} wrapper{}", path,
                                split.images, split.images == 1 ? "" : "s",
                                split.wrappers,
                                split.wrappers == 1 ? "" : "s"));
  }
  for (const auto& [path, part] : databases_) {
    lines.push_back(part.empty() ? path + ": not asked for"
                                 : fmt::format("{}: for {}", path, part));
  }
  lines.push_back(OutputPath());
  return lines;
}

Status WheelSplitting::Write() {
  for (auto& [target, archive] : archives_) {
    CERB_TRY_VOID(archive.Finish());
    summary_.libraries.findings.sizes[target].code += archive.size();
    CERB_TRY(archive_bytes_[target], archive.Map());
  }
  for (auto& [path, library] : libraries_) {
    if (!library.output) continue;
    CERB_TRY(library.bytes, library.output->Map());
  }
  for (const std::string& part : family_.parts) {
    CERB_TRY_VOID(WriteDevice(part));
  }
  CERB_TRY_VOID(WriteHost());
  for (WheelWriter& wheel : wheels_) {
    CERB_TRY_VOID(wheel.Finish([] { return Interrupted(); }));
    summary_.wheels.push_back({wheel.path(), wheel.size()});
  }
  return {};
}

Status WheelSplitting::WriteDevice(const std::string& part) {
  const packager::WheelName name = family_.DeviceName(part);
  CERB_TRY(WheelWriter wheel, WheelWriter::Create(options_.folder, name));
  for (const auto& [target, bytes] : archive_bytes_) {
    if (PartOf(target) != part) continue;
    CERB_TRY_VOID(wheel.Add(folder_ + "/" + ArchiveName(target), bytes.bytes(),
                            0644, /*compress=*/false));
  }
  for (const ZipMember& member : wheel_->files()) {
    const auto database = databases_.find(member.name);
    if (database == databases_.end() || database->second != part) continue;
    CERB_TRY_VOID(wheel.Copy(*wheel_, member,
                             wheel_->InstalledPath(member.name),
                             hashes_.at(member.name)));
  }
  CERB_TRY_VOID(family_.FinishDevice(wheel, part, hashes_));
  wheels_.push_back(std::move(wheel));
  return {};
}

Status WheelSplitting::WriteHost() {
  CERB_TRY(WheelWriter wheel,
           WheelWriter::Create(options_.folder, family_.host));
  const std::string info = wheel.dist_info() + "/";
  std::vector<const ZipMember*> last;
  for (const ZipMember& member : wheel_->files()) {
    if (databases_.contains(member.name)) continue;
    const auto library = libraries_.find(member.name);
    if (library != libraries_.end() && library->second.bytes) {
      CERB_TRY_VOID(
          wheel.Add(member.name, library->second.bytes->bytes(), member.mode));
    } else if (member.name.rfind(info, 0) == 0) {
      last.push_back(&member);
    } else {
      CERB_TRY_VOID(
          wheel.Copy(*wheel_, member, member.name, hashes_.at(member.name)));
    }
  }
  for (const ZipMember* member : last) {
    CERB_TRY_VOID(
        wheel.Copy(*wheel_, *member, member->name, hashes_.at(member->name)));
  }
  CERB_TRY_VOID(wheel.AddText(info + "WHEEL",
                              family_.WheelFile(family_.host).ToString()));
  CERB_TRY_VOID(
      wheel.AddText(info + "METADATA", family_.HostMetadata().ToString()));
  wheels_.push_back(std::move(wheel));
  return {};
}

Status WheelSplitting::Commit() {
  CommitInOrder commit;
  for (WheelWriter& wheel : wheels_) CERB_TRY_VOID(commit.Add(wheel));
  commit.Done();
  made_folders_.clear();
  return {};
}

}  // namespace cerberus::cli
