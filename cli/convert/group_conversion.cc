#include "cli/convert/group_conversion.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "cli/convert/bundle.h"
#include "cli/convert/carry_over.h"
#include "cli/convert/commit_in_order.h"
#include "cli/convert/needed_libraries.h"
#include "cli/json.h"
#include "cli/paths.h"

namespace cerberus::cli {
namespace {

// Which of the libraries have to go along: those with code to convert, and
// whatever needs them, up to the program.
std::set<std::size_t> ToTake(const std::vector<FoundLibrary>& libraries) {
  std::set<std::size_t> taken;
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    if (!libraries[i].has_device_code || libraries[i].converted) continue;
    for (std::size_t at = i;
         at != FoundLibrary::kByProgram && taken.insert(at).second;) {
      at = libraries[at].by;
    }
  }
  return taken;
}

}  // namespace

GroupConversion::GroupConversion(const ConversionOptions& options,
                                 Reporter& reporter)
    : options_(options),
      place_(PlaceArchives(options.output, options.archives_folder)),
      reporter_(reporter) {}

// As ~Conversion().
GroupConversion::~GroupConversion() {
  members_.clear();
  archives_.clear();
  bundled_.clear();
  RemoveFolders(made_folders_);
}

void GroupConversion::WarnOfPaths(const std::string& needed) const {
  Diag warning = FileDiag(
      DiagCode::kUnsupported, options_.input,
      fmt::format("'{}' is named by its path: the loader goes on taking that "
                  "file, not the converted one",
                  needed));
  warning.severity = Severity::kWarning;
  reporter_.Report(warning);
}

Status GroupConversion::Open() {
  std::string stub = options_.stub_folder;
  if (stub.empty()) {
    CERB_TRY(stub, options_.bundle ? BundleRunpath() : FindStubFolder());
  }
  // Behind the stub the folder itself, before whatever the files name.
  runpath_ = {stub, "$ORIGIN"};
  CERB_TRY(const rewriter::Binary program,
           rewriter::Binary::Open(options_.input));
  const std::vector<FoundLibrary> libraries = FindLibraries(program);
  const std::string folder = FolderOf(options_.output);
  for (const std::size_t i : ToTake(libraries)) {
    const FoundLibrary& library = libraries[i];
    if (library.needed.find('/') != std::string::npos) {
      WarnOfPaths(library.needed);
    }
    const std::string output = folder + "/" + library.name;
    if (SameFile(library.path, output)) {
      return Err(DiagCode::kUsage,
                 fmt::format("the converted '{}' would take the place of the "
                             "original; choose another folder for the output",
                             library.name));
    }
    CERB_TRY_VOID(Add(library.path, output));
  }
  // Without libraries to take what it says of itself is the whole truth.
  if (members_.empty()) {
    CERB_TRY_VOID(Conversion(options_, reporter_).Open());
  }
  return Add(options_.input, options_.output);
}

Status GroupConversion::Add(const std::string& input,
                            const std::string& output) {
  ConversionOptions options = options_;
  options.input = input;
  options.output = output;
  MemberOptions names;
  names.archives = &archives_;
  names.input_name = input;
  names.kernel_name = BaseName(output);
  names.search_path = place_.SearchPath(options_.group);
  names.runpath = runpath_;
  names.even_if_empty = !members_.empty() || input != options_.input;
  options.member = std::move(names);
  Member& member = members_.emplace_back();
  member.output = output;
  member.conversion = std::make_unique<Conversion>(options, reporter_);
  return member.conversion->Open();
}

Status GroupConversion::Plan() {
  for (Member& member : members_) CERB_TRY_VOID(member.conversion->Plan());
  return {};
}

Status GroupConversion::Create() {
  CERB_TRY_VOID(MakeFolder(place_.folder, made_folders_));
  std::vector<std::string> targets = options_.arches;
  targets.push_back(kFallbackTarget);
  for (const std::string& target : targets) {
    kpack::ArchiveOptions archive;
    archive.group_name = options_.group;
    archive.gfx_arch_family = target;
    CERB_TRY(kpack::ArchiveWriter writer,
             kpack::ArchiveWriter::Create(place_.File(options_.group, target),
                                          archive));
    archives_.emplace(target, std::move(writer));
  }
  for (Member& member : members_) CERB_TRY_VOID(member.conversion->Create());
  return {};
}

Result<bool> GroupConversion::Compile() {
  std::vector<Conversion*> conversions;
  conversions.reserve(members_.size());
  for (Member& member : members_) {
    conversions.push_back(member.conversion.get());
  }
  CERB_TRY(const bool some, Conversion::CompileAll(conversions));
  if (!some) return false;
  std::set<std::string> names;
  for (const Member& member : members_) names.insert(BaseName(member.output));
  for (auto& [target, archive] : archives_) {
    CERB_TRY_VOID(
        CarryOver(options_.group, names, FolderOf(options_.output), archive));
  }
  return true;
}

Status GroupConversion::Write() {
  for (Member& member : members_) {
    CERB_TRY_VOID(member.conversion->Write());
    summary_.Add(member.conversion->summary());
    member.program = member.conversion->TakeProgram();
  }
  for (auto& [target, archive] : archives_) {
    CERB_TRY_VOID(archive.Finish());
    summary_.AddArchive(target, archive.size());
  }
  if (!options_.bundle) return {};
  return StageBundle(FolderOf(options_.output), bundled_, made_folders_);
}

Status GroupConversion::Commit() {
  std::set<std::string> stale;
  std::vector<std::string> kept;
  for (const Member& member : members_) {
    CERB_TRY(const std::vector<std::string> of_member,
             member.conversion->StaleArchives());
    stale.insert(of_member.begin(), of_member.end());
    kept.insert(kept.end(), member.conversion->kept().begin(),
                member.conversion->kept().end());
  }
  CommitInOrder commit;
  for (const std::string& path : stale) CERB_TRY_VOID(commit.Remove(path));
  for (auto& [target, archive] : archives_) {
    CERB_TRY_VOID(commit.Add(archive));
  }
  for (OutputFile& file : bundled_) CERB_TRY_VOID(commit.Add(file));
  for (Member& member : members_) CERB_TRY_VOID(commit.Add(*member.program));
  commit.Done();
  for (const std::string& path : kept) ::unlink(path.c_str());
  made_folders_.clear();
  return {};
}

std::vector<std::string> GroupConversion::DescribeModules() const {
  std::vector<std::string> lines;
  for (const Member& member : members_) {
    const std::vector<std::string> modules =
        member.conversion->DescribeModules();
    lines.insert(lines.end(), modules.begin(), modules.end());
  }
  return lines;
}

std::vector<std::string> GroupConversion::output_paths() const {
  std::vector<std::string> paths;
  paths.reserve(archives_.size() + members_.size());
  for (const auto& [target, archive] : archives_) {
    paths.push_back(archive.path());
  }
  for (const Member& member : members_) paths.push_back(member.output);
  return paths;
}

std::vector<std::string> GroupConversion::inputs() const {
  std::vector<std::string> names;
  names.reserve(members_.size());
  for (const Member& member : members_) {
    names.push_back(member.conversion->inputs().front());
  }
  return names;
}

std::vector<std::string> GroupConversion::planned_paths() const {
  std::vector<std::string> paths;
  paths.reserve(members_.size() + options_.arches.size() + 1);
  for (const Member& member : members_) paths.push_back(member.output);
  for (const std::string& target : options_.arches) {
    paths.push_back(place_.File(options_.group, target));
  }
  paths.push_back(place_.File(options_.group, kFallbackTarget));
  return paths;
}

std::vector<const Conversion*> GroupConversion::conversions() const {
  std::vector<const Conversion*> all;
  all.reserve(members_.size());
  for (const Member& member : members_) all.push_back(member.conversion.get());
  return all;
}

std::string GroupConversion::PlanText() const {
  std::string text;
  for (const Member& member : members_) {
    text += member.output + ":\n" + member.conversion->PlanText();
  }
  return text;
}

std::string GroupConversion::PlanJson() const {
  JsonWriter json;
  json.BeginArray();
  for (const Member& member : members_) {
    json.BeginObject();
    json.Key("output").String(member.output);
    json.Key("plan").Raw(member.conversion->PlanJson());
    json.EndObject();
  }
  json.EndArray();
  return std::move(json).Take();
}

}  // namespace cerberus::cli
