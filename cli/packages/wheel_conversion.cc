#include "cli/packages/wheel_conversion.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

#include "cli/convert/bundle.h"
#include "cli/convert/commit_in_order.h"
#include "cli/packages/nvidia_wheels.h"
#include "cli/packages/wheel_files.h"
#include "cli/paths.h"
#include "cli/process.h"
#include "packager/tree/tree.h"
#include "rewriter/elf/elf.h"
#include "support/targets/target_id.h"
#include "support/version.h"

namespace cerberus::cli {
namespace {

using packager::CoreMetadata;
using packager::WheelName;
using packager::WheelWriter;
using packager::ZipMember;

constexpr char kLocalVersion[] = "cerberus";
constexpr char kFolderSuffix[] = ".cerberus";
// The stub's own wheel, and the folder in it.
constexpr char kRuntimeProject[] = "cerberus-runtime";
constexpr char kRuntimeName[] = "cerberus_runtime";

// The newest glibc, 2.N, whose symbols a library asks for.
Result<unsigned> GlibcOf(const std::string& path) {
  CERB_TRY(const MappedFile file, MappedFile::Open(path));
  CERB_TRY(const rewriter::ElfFile elf,
           rewriter::ElfFile::Parse(file.bytes(), path));
  constexpr std::string_view kPrefix = "GLIBC_2.";
  const std::string_view strings = AsText(elf.dynamic_strings());
  unsigned newest = 0;
  for (std::size_t at = strings.find(kPrefix); at != std::string_view::npos;
       at = strings.find(kPrefix, at + 1)) {
    unsigned minor = 0;
    for (std::size_t i = at + kPrefix.size();
         i < strings.size() && minor < 1000 &&
         std::isdigit(static_cast<unsigned char>(strings[i])) != 0;
         ++i) {
      minor = minor * 10 + static_cast<unsigned>(strings[i] - '0');
    }
    newest = std::max(newest, minor);
  }
  return newest;
}

std::string ProcessorOf(const std::string& arch) {
  const Result<TargetId> id = TargetId::Parse(arch);
  return id ? id->processor : arch;
}

}  // namespace

WheelConversion::WheelConversion(const WheelOptions& options,
                                 Reporter& reporter)
    : options_(options), reporter_(reporter) {}

// Files first, then the folders made for them.
WheelConversion::~WheelConversion() {
  wheels_.clear();
  archive_bytes_.clear();
  archives_.clear();
  libraries_.clear();
  RemoveFolders(made_folders_);
}

Status WheelConversion::Open() {
  CERB_TRY(wheel_, packager::Wheel::Open(options_.input));
  for (const Diag& warning : wheel_->warnings()) reporter_.Report(warning);
  CERB_TRY_VOID(NameAll());
  CERB_TRY_VOID(MakeOutputFolder(options_.folder, made_folders_));
  for (const ZipMember& member : wheel_->files()) {
    CERB_TRY_VOID(ReadFile(member));
    if (Interrupted()) return {};
  }
  for (auto at = libraries_.begin(); at != libraries_.end();) {
    CERB_TRY_VOID(PlanLibrary(at->first, at->second));
    at = at->second.conversion ? std::next(at) : libraries_.erase(at);
  }
  if (libraries_.empty() && summary_.unconverted.empty()) {
    Diag diag = FileDiag(DiagCode::kNoDeviceCode, options_.input,
                         "holds no CUDA device code");
    const std::size_t files = module_files_.size();
    if (files != 0) {
      diag.message = fmt::format(
          "holds no CUDA device code but {} file{} of PTX, {}", files,
          files == 1 ? "" : "s",
          "compiled when loaded: no library could lead to code of theirs");
    }
    return Err(std::move(diag));
  }
  return SettleModuleFiles();
}

Status WheelConversion::NameAll() {
  CERB_TRY(stub_files_, FindBundleFiles());
  CERB_TRY(const std::string stub, FindStubFolder());
  CERB_TRY(stub_glibc_, GlibcOf(stub + "/libcuda.so.1"));
  host_ = wheel_->name();
  project_ = wheel_->metadata().Get("Name");
  if (options_.name.empty()) {
    host_.version = packager::AddLocalVersion(host_.version, kLocalVersion);
  } else {
    if (packager::NormalizeName(options_.name) ==
        packager::NormalizeName(project_)) {
      return Err(DiagCode::kUsage,
                 fmt::format("--name is '{}', which is the wheel's name; "
                             "expected another, or none",
                             options_.name));
    }
    project_ = options_.name;
    host_.distribution = packager::EscapeName(options_.name);
  }
  Result<std::string> platform = packager::RaisePlatform(
      host_.platform, options_.bundle_stub ? stub_glibc_ : 0);
  if (!platform) {
    platform.error().where.file = options_.input;
    return Err(std::move(platform).error());
  }
  host_.platform = *std::move(platform);
  group_ = packager::EscapeName(project_);
  folder_ = group_ + kFolderSuffix;
  stub_folder_ = options_.bundle_stub ? folder_ : kRuntimeName;
  family_.wheel = &*wheel_;
  family_.host = host_;
  family_.project = project_;
  family_.device_prefix = project_ + "-device";
  family_.parts = Processors();
  family_.generator = fmt::format("cerberus ({})", kVersion);
  if (!options_.bundle_stub) {
    family_.requires_dist = {fmt::format("{}>={}", kRuntimeProject, kVersion)};
  }
  if (options_.replace_libraries) ReplaceLibraries();
  summary_.requirement = family_.Requirement();
  return {};
}

void WheelConversion::ReplaceLibraries() {
  std::vector<std::string> kept;
  for (const std::string& requirement :
       wheel_->metadata().GetAll("Requires-Dist")) {
    const RewrittenRequirement rewritten = WithoutAnswered(requirement);
    if (rewritten.text != requirement) {
      summary_.replaced.push_back(requirement);
    }
    if (rewritten.text) kept.push_back(*rewritten.text);
    if (rewritten.unanswered.empty()) continue;
    Diag diag = wheel_->zip().Error(
        "",
        fmt::format("requires {}, which nothing here answers for",
                    rewritten.unanswered),
        DiagCode::kUnsupported);
    diag.severity = Severity::kWarning;
    reporter_.Report(diag);
  }
  family_.requirements = std::move(kept);
}

Status WheelConversion::ReadFile(const ZipMember& member) {
  bool is_library = false;
  CERB_TRY(std::optional<OutputFile> unpacked,
           ReadWheelFile(
               *wheel_, member, options_.folder + "/" + host_.ToString(),
               [&](ByteSpan start) {
                 is_library = rewriter::IsLoadable(start);
                 return is_library || Conversion::MayBeModuleFile(start);
               },
               hashes_[member.name]));
  if (!unpacked) return {};
  return is_library ? OpenLibrary(member, *std::move(unpacked))
                    : OpenModuleFile(member, *std::move(unpacked));
}

// A conversion of a file of the wheel.
Result<std::unique_ptr<Conversion>> WheelConversion::NewConversion(
    const ZipMember& member, const OutputFile& unpacked) {
  const std::string installed = wheel_->InstalledPath(member.name);
  CERB_TRY(const std::string stub, StubFolderInPrefix());
  ConversionOptions options = options_.conversion;
  options.input = unpacked.OpenName();
  options.output = options_.folder + "/" + host_.ToString();
  options.group = group_;
  MemberOptions names;
  names.archives = &archives_;
  names.input_name = options_.input + "/" + member.name;
  names.kernel_name = installed.empty() ? member.name : installed;
  names.search_path =
      packager::UpFrom(installed) + folder_ + "/" + ArchiveSearchPath(group_);
  names.runpath = {fmt::format("$ORIGIN/{}{}/{}", packager::UpFrom(installed),
                               stub_folder_, stub)};
  names.beside_stub = &beside_stub_;
  options.member = std::move(names);

  return std::make_unique<Conversion>(options, reporter_);
}

Status WheelConversion::OpenLibrary(const ZipMember& member,
                                    OutputFile unpacked) {
  CERB_TRY(std::unique_ptr<Conversion> conversion,
           NewConversion(member, unpacked));
  Status status = conversion->Open();
  beside_stub_.insert(conversion->answered().begin(),
                      conversion->answered().end());
  const bool holds_nothing = !status && conversion->holds_nothing();
  const bool has_no_place =
      status && wheel_->InstalledPath(member.name).empty();
  // What is not converted will not be asked again.
  if (!status || has_no_place || options_.conversion.dry_run) {
    summary_.libraries.findings.Add(conversion->summary().findings);
  }
  if (holds_nothing) return {};
  if (has_no_place) {
    return LeaveAsItIs(member.name,
                       "holds CUDA device code, but is installed where its "
                       "archives cannot be found from (scripts, headers or "
                       "data)");
  }
  if (!status) return NotConverted(member.name, std::move(status).error());
  Library& library = libraries_[member.name];
  library.input = std::move(unpacked);
  library.conversion = std::move(conversion);
  return {};
}

// What the wheel's libraries load by name: compiled with them, which find the
// code by its content.
Status WheelConversion::OpenModuleFile(const ZipMember& member,
                                       OutputFile unpacked) {
  CERB_TRY(std::unique_ptr<Conversion> conversion,
           NewConversion(member, unpacked));
  CERB_TRY(MappedFile file, unpacked.Map());
  Result<bool> opened = conversion->OpenModuleFile(std::move(file));
  if (!opened) {
    machine_code_.emplace(member.name, std::move(opened).error());
  } else if (*opened) {
    module_files_.emplace(member.name, std::move(conversion));
  }
  return {};
}

// Where no library is converted, nobody would find what they become.
Status WheelConversion::SettleModuleFiles() {
  if (libraries_.empty()) {
    module_files_.clear();
    return {};
  }
  for (auto& [path, why] : machine_code_) {
    CERB_TRY_VOID(NotConverted(path, std::move(why)));
  }
  if (options_.conversion.dry_run) summary_.module_files = module_files_.size();
  return {};
}

// A library that cannot be is left without a conversion.
Status WheelConversion::PlanLibrary(const std::string& path, Library& library) {
  Status status = library.conversion->Plan();
  if (status) return {};
  if (!options_.conversion.dry_run) {
    summary_.libraries.findings.Add(library.conversion->summary().findings);
  }
  library.conversion.reset();
  return NotConverted(path, std::move(status).error());
}

Status WheelConversion::NotConverted(const std::string& path, Diag why) {
  if (!options_.conversion.keep_going) return Err(std::move(why));
  why.severity = Severity::kWarning;
  reporter_.Report(why);
  summary_.unconverted.emplace(path, why.message);
  return {};
}

Status WheelConversion::LeaveAsItIs(const std::string& path,
                                    const std::string& why) {
  Diag diag = wheel_->zip().Error(path, why, DiagCode::kUnsupported);
  if (!options_.conversion.keep_going) return Err(std::move(diag));
  diag.severity = Severity::kWarning;
  reporter_.Report(diag);
  summary_.unconverted.emplace(path, why);
  return {};
}

std::vector<std::string> WheelConversion::Describe() const {
  std::vector<std::string> lines;
  for (const auto& [path, library] : libraries_) {
    const std::vector<std::string> modules =
        library.conversion->DescribeModules();
    lines.insert(lines.end(), modules.begin(), modules.end());
    if (modules.empty()) {
      lines.push_back(path + ": no kernel, only led to the stub");
    }
  }
  for (const auto& [path, conversion] : module_files_) {
    const std::vector<std::string> modules = conversion->DescribeModules();
    lines.insert(lines.end(), modules.begin(), modules.end());
  }
  const std::vector<std::string> wheels = planned_paths();
  lines.insert(lines.end(), wheels.begin(), wheels.end());
  return lines;
}

std::vector<std::string> WheelConversion::planned_paths() const {
  std::vector<std::string> paths;
  const auto add = [&](const WheelName& name) {
    paths.push_back(options_.folder + "/" + name.ToString());
  };
  for (const std::string& processor : Processors()) {
    add(family_.DeviceName(processor));
  }
  if (!options_.bundle_stub) add(RuntimeName());
  add(host_);
  return paths;
}

std::vector<const Conversion*> WheelConversion::conversions() const {
  std::vector<const Conversion*> all;
  all.reserve(libraries_.size() + module_files_.size());
  for (const auto& [path, library] : libraries_) {
    all.push_back(library.conversion.get());
  }
  for (const auto& [path, conversion] : module_files_) {
    all.push_back(conversion.get());
  }
  return all;
}

Result<bool> WheelConversion::Convert() {
  std::vector<std::string> targets = options_.conversion.arches;
  targets.push_back(kFallbackTarget);
  for (const std::string& target : targets) {
    kpack::ArchiveOptions archive;
    archive.group_name = group_;
    archive.gfx_arch_family = target;
    CERB_TRY(kpack::ArchiveWriter writer,
             kpack::ArchiveWriter::Create(
                 options_.folder + "/" + host_.ToString(), archive));
    archives_.emplace(target, std::move(writer));
  }
  std::vector<Conversion*> conversions;
  for (auto& [path, library] : libraries_) {
    CERB_TRY_VOID(library.conversion->Create());
    conversions.push_back(library.conversion.get());
  }
  for (const auto& [path, conversion] : module_files_) {
    conversions.push_back(conversion.get());
  }
  CERB_TRY(const bool done, Conversion::CompileAll(conversions));
  for (const Conversion* conversion : conversions) {
    kept_.insert(kept_.end(), conversion->kept().begin(),
                 conversion->kept().end());
  }
  if (Interrupted()) return false;
  const bool some =
      done && std::ranges::any_of(libraries_, [](const auto& library) {
        return library.second.conversion->compiled();
      });
  if (!some) {
    // If not, the error was reported.
    if (options_.conversion.keep_going) {
      reporter_.Report(wheel_->zip().Error("", "no library could be converted",
                                           DiagCode::kNoPtx));
    }
    return false;
  }
  for (auto& [path, library] : libraries_) {
    CERB_TRY_VOID(TakeLibrary(path, library));
  }
  for (auto& [path, conversion] : module_files_) {
    summary_.libraries.Add(conversion->summary());
    if (conversion->compiled()) ++summary_.module_files;
    conversion.reset();
  }
  return true;
}

Status WheelConversion::TakeLibrary(const std::string& path, Library& library) {
  Conversion& conversion = *library.conversion;
  if (conversion.compiled()) {
    CERB_TRY_VOID(conversion.Write());
    summary_.libraries.Add(conversion.summary());
    summary_.converted.push_back(path);
    library.output = conversion.TakeProgram();
  } else {
    summary_.libraries.findings.Add(conversion.summary().findings);
    const auto& reasons = conversion.summary().left_out;
    summary_.unconverted.emplace(path, reasons.empty()
                                           ? "no kernel could be converted"
                                           : reasons.begin()->first);
  }
  library.conversion.reset();
  library.input.reset();
  return {};
}

std::vector<std::string> WheelConversion::Processors() const {
  std::vector<std::string> processors;
  for (const std::string& arch : options_.conversion.arches) {
    const std::string processor = ProcessorOf(arch);
    if (std::find(processors.begin(), processors.end(), processor) ==
        processors.end()) {
      processors.push_back(processor);
    }
  }
  return processors;
}

Status WheelConversion::Write() {
  for (auto& [target, archive] : archives_) {
    CERB_TRY_VOID(archive.Finish());
    summary_.libraries.AddArchive(target, archive.size());
    CERB_TRY(archive_bytes_[target], archive.Map());
  }
  for (auto& [path, library] : libraries_) {
    if (!library.output) continue;
    CERB_TRY(library.bytes, library.output->Map());
  }
  for (const BundleFile& file : stub_files_) {
    CERB_TRY(MappedFile bytes, MappedFile::Open(file.source));
    stub_.emplace_back(file, std::move(bytes));
  }
  for (const std::string& processor : Processors()) {
    CERB_TRY_VOID(WriteDevice(processor));
  }
  if (!options_.bundle_stub) CERB_TRY_VOID(WriteRuntime());
  CERB_TRY_VOID(WriteHost());
  for (WheelWriter& wheel : wheels_) {
    CERB_TRY_VOID(wheel.Finish([] { return Interrupted(); }));
    summary_.wheels.push_back({wheel.path(), wheel.size()});
  }
  return {};
}

Status WheelConversion::AddStub(WheelWriter& wheel, const std::string& folder) {
  for (const auto& [file, bytes] : stub_) {
    struct stat st;
    if (::stat(file.source.c_str(), &st) != 0) {
      return Err(ErrnoDiag(file.source, "cannot stat", errno));
    }
    const unsigned mode = (st.st_mode & 0111) != 0 ? 0755 : 0644;
    CERB_TRY_VOID(wheel.Add(folder + "/" + file.path, bytes.bytes(), mode));
  }
  return {};
}

Status WheelConversion::WriteHost() {
  CERB_TRY(WheelWriter wheel, WheelWriter::Create(options_.folder, host_));
  std::vector<const ZipMember*> last;
  for (const ZipMember& member : wheel_->files()) {
    const std::string path = wheel_->NewPath(member.name, host_);
    const auto library = libraries_.find(member.name);
    if (library != libraries_.end() && library->second.bytes) {
      CERB_TRY_VOID(
          wheel.Add(path, library->second.bytes->bytes(), member.mode));
    } else if (path.rfind(wheel.dist_info() + "/", 0) == 0) {
      last.push_back(&member);
    } else {
      CERB_TRY_VOID(wheel.Copy(*wheel_, member, path, hashes_.at(member.name)));
    }
  }
  CERB_TRY_VOID(wheel.Add(folder_ + "/" + ArchiveFile(group_, kFallbackTarget),
                          archive_bytes_.at(kFallbackTarget).bytes(), 0644,
                          /*compress=*/false));
  if (options_.bundle_stub) CERB_TRY_VOID(AddStub(wheel, folder_));
  for (const ZipMember* member : last) {
    CERB_TRY_VOID(wheel.Copy(*wheel_, *member,
                             wheel_->NewPath(member->name, host_),
                             hashes_.at(member->name)));
  }
  CERB_TRY_VOID(wheel.AddText(wheel.dist_info() + "/WHEEL",
                              family_.WheelFile(host_).ToString()));
  CERB_TRY_VOID(wheel.AddText(wheel.dist_info() + "/METADATA",
                              family_.HostMetadata().ToString()));
  wheels_.push_back(std::move(wheel));
  return {};
}

Status WheelConversion::WriteDevice(const std::string& processor) {
  const WheelName name = family_.DeviceName(processor);
  CERB_TRY(WheelWriter wheel, WheelWriter::Create(options_.folder, name));
  for (const std::string& arch : options_.conversion.arches) {
    if (ProcessorOf(arch) != processor) continue;
    CERB_TRY_VOID(wheel.Add(folder_ + "/" + ArchiveFile(group_, arch),
                            archive_bytes_.at(arch).bytes(), 0644,
                            /*compress=*/false));
  }
  CERB_TRY_VOID(family_.FinishDevice(wheel, processor, hashes_));
  wheels_.push_back(std::move(wheel));
  return {};
}

WheelName WheelConversion::RuntimeName() const {
  WheelName name;
  name.distribution = kRuntimeName;
  name.version = kVersion;
  name.python = "py3";
  name.abi = "none";
  name.platform = fmt::format("manylinux_2_{}_x86_64", stub_glibc_);
  return name;
}

Status WheelConversion::WriteRuntime() {
  const WheelName name = RuntimeName();
  CERB_TRY(WheelWriter wheel, WheelWriter::Create(options_.folder, name));
  CERB_TRY_VOID(AddStub(wheel, kRuntimeName));
  CoreMetadata file;
  file.Add("Wheel-Version", "1.0");
  file.Add("Generator", fmt::format("cerberus ({})", kVersion));
  file.Add("Root-Is-Purelib", "false");
  for (const std::string& tag : name.Tags()) file.Add("Tag", tag);
  CoreMetadata metadata;
  metadata.Add("Metadata-Version", "2.1");
  metadata.Add("Name", kRuntimeProject);
  metadata.Add("Version", kVersion);
  metadata.Add("Summary", "The CUDA driver that converted packages load");
  metadata.Add("License", "Apache-2.0 WITH LLVM-exception");
  metadata.Add("Description-Content-Type", "text/plain");
  metadata.SetBody(
      "Packages that were converted from CUDA to AMD GPUs load the CUDA "
      "driver in this\none. There is nothing to import.\n");
  CERB_TRY_VOID(wheel.AddText(wheel.dist_info() + "/WHEEL", file.ToString()));
  CERB_TRY_VOID(
      wheel.AddText(wheel.dist_info() + "/METADATA", metadata.ToString()));
  wheels_.push_back(std::move(wheel));
  return {};
}

Status WheelConversion::Commit() {
  CommitInOrder commit;
  for (WheelWriter& wheel : wheels_) CERB_TRY_VOID(commit.Add(wheel));
  commit.Done();
  for (const std::string& path : kept_) ::unlink(path.c_str());
  made_folders_.clear();
  return {};
}

}  // namespace cerberus::cli
