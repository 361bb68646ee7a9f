#include "cli/packages/tree_packing.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/convert/bundle.h"
#include "cli/paths.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "packager/databases/databases.h"
#include "packager/parallel.h"
#include "packager/tree/rocfft_cache.h"
#include "packager/wheel/record.h"
#include "rewriter/binary.h"
#include "support/targets/target_id.h"
#include "support/targets/target_sets.h"

namespace cerberus::cli {
namespace {

namespace fs = std::filesystem;
using packager::ManifestEntry;
using packager::TreeEntry;
using Kind = packager::TreeEntry::Kind;

// What readers of markers and archives take at least (docs/kpack-format.md).
constexpr std::size_t kMaxKernelName = 1000;

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

ManifestEntry EntryOf(const TreeEntry& entry) {
  ManifestEntry made;
  made.path = entry.path;
  made.kind = entry.kind;
  made.mode = entry.st.st_mode & 07777;
  made.target = entry.target;
  return made;
}

}  // namespace

Findings TreeSummary::AllFindings() const {
  Findings all = cuda.findings;
  all.Add(hip.findings);
  for (const auto& [part, amount] : databases) {
    all.sizes[part].databases += amount.bytes;
  }
  return all;
}

TreePacking::TreePacking(const TreeOptions& options, Reporter& reporter)
    : options_(options), reporter_(reporter) {}

TreePacking::~TreePacking() {
  // Files without names first, then the folder they are in.
  items_.clear();
  archives_.clear();
}

std::string TreePacking::PartOfTarget(const std::string& target) {
  return target == kFallbackTarget ? packager::kHostPart
                                   : target.substr(0, target.find(':'));
}

std::string TreePacking::PartFolder(const std::string& part) const {
  return options_.parts ? root_ + "/" + part : root_;
}

std::string TreePacking::PathOf(const std::string& part,
                                const std::string& path) const {
  return path.empty() ? PartFolder(part) : PartFolder(part) + "/" + path;
}

void TreePacking::Warn(const std::string& path, DiagCode code,
                       const std::string& why) {
  Diag warning = FileDiag(code, tree_->Name(path), why);
  warning.severity = Severity::kWarning;
  reporter_.Report(warning);
}

Status TreePacking::LeaveOut(Item& item, const std::string& why) {
  if (!options_.conversion.keep_going) {
    return Err(FileDiag(DiagCode::kIo, tree_->Name(item.entry->path), why));
  }
  Warn(item.entry->path, DiagCode::kIo, why + "; left out");
  summary_.left_out.emplace(item.entry->path, why);
  item.action = Action::kNone;
  return {};
}

Status TreePacking::LeaveAsItIs(Item& item, Diag why) {
  if (!options_.conversion.keep_going) return Err(std::move(why));
  why.severity = Severity::kWarning;
  reporter_.Report(why);
  summary_.unconverted.emplace(item.entry->path, why.message);
  item.action = Action::kCopy;
  return {};
}

// Neither tree may be in the other, nor may the new one be there.
Status TreePacking::CheckPlaces() const {
  const std::string parent = FolderOf(options_.output);
  if (!options_.may_be_there && !packager::IsFree(options_.output)) {
    return Err(FileDiag(DiagCode::kUsage, options_.output,
                        "is there already; a tree is made new"));
  }
  std::error_code error;
  if (!fs::is_directory(parent, error)) {
    return Err(FileDiag(DiagCode::kUsage, parent, "is not a folder"));
  }
  if (IsWithin(parent, options_.input)) {
    return Err(FileDiag(DiagCode::kUsage, options_.output,
                        fmt::format("would be in the input, '{}', which is "
                                    "never changed",
                                    options_.input)));
  }
  return {};
}

// What we add must not stand in the place of what is there.
Status TreePacking::CheckNames() const {
  const std::string archives =
      fmt::format("{}/{}-", kArchiveFolder, options_.group);
  const std::string manifest = fmt::format(
      "{}/{}{}", kArchiveFolder, options_.group, packager::kManifestSuffix);
  for (const TreeEntry& entry : tree_->entries()) {
    const std::string& path = entry.path;
    if (path == kArchiveFolder && entry.kind != Kind::kFolder) {
      return Err(FileDiag(DiagCode::kUsage, tree_->Name(path),
                          "is in the place of the folder for the archives"));
    }
    if (path == manifest || path.rfind(archives, 0) == 0) {
      return Err(FileDiag(DiagCode::kUsage, tree_->Name(path),
                          fmt::format("has the name of an archive of the group "
                                      "'{}'; --group gives another",
                                      options_.group)));
    }
    if (options_.bundle && path == kBundleFolder) {
      return Err(FileDiag(DiagCode::kUsage, tree_->Name(path),
                          "is in the place of the bundled stub"));
    }
  }
  return {};
}

Status TreePacking::Open() {
  CERB_TRY_VOID(CheckPlaces());
  CERB_TRY(tree_,
           packager::Tree::Read(options_.input, [] { return Interrupted(); }));
  CERB_TRY_VOID(CheckNames());
  CERB_TRY(stub_, options_.bundle ? StubFolderInPrefix() : FindStubFolder());
  if (!options_.conversion.dry_run) {
    CERB_TRY(packager::Staging staging,
             packager::Staging::Create(options_.output));
    staging_.emplace(std::move(staging));
    root_ = staging_->tree();
  }
  std::size_t at = 0;
  for (const TreeEntry& entry : tree_->entries()) {
    ++at;
    if (Interrupted()) return {};
    Item item;
    item.entry = &entry;
    item.made = EntryOf(entry);
    if (at % 64 == 0) {
      reporter_.printer().Status(
          fmt::format("reading {} of {}", at, tree_->entries().size()));
    }
    CERB_TRY_VOID(OpenItem(item));
    Item& kept = items_.emplace_back(std::move(item));
    if ((kept.action == Action::kConvert || kept.splitting) &&
        entry.st.st_nlink > 1) {
      first_names_.emplace(std::tuple(entry.st.st_dev, entry.st.st_ino,
                                      packager::UpFrom(entry.path)),
                           &kept);
    }
  }
  reporter_.printer().Clear();
  DropModuleFiles();
  for (Item& item : items_) {
    if (item.conversion) item_of_.emplace(item.conversion.get(), &item);
  }
  if (options_.conversion.dry_run) Foresee();
  return {};
}

// For a dry run: what the summary would say.
void TreePacking::Foresee() {
  for (const Item& item : items_) {
    const std::string& path = item.entry->path;
    if (item.action == Action::kConvert) {
      summary_.converted.push_back(path);
      summary_.cuda.findings.Add(item.conversion->summary().findings);
    } else if (item.conversion) {
      ++summary_.module_files;
    }
    if (item.splitting) summary_.split.push_back(path);
    if (item.action == Action::kAgain) {
      (item.first->action == Action::kConvert ? summary_.converted
                                              : summary_.split)
          .push_back(path);
    }
    if (item.action == Action::kCopy || item.action == Action::kPrune) {
      summary_.copied.Add(static_cast<std::uint64_t>(item.entry->st.st_size));
    }
  }
}

// One that names the input leads to what is not converted.
void TreePacking::WarnOfLink(const TreeEntry& entry) {
  if (packager::StaysInTree(entry.path, entry.target)) return;
  std::error_code error;
  const std::string input = fs::canonical(options_.input, error).string();
  const bool into_input = !error && (entry.target == input ||
                                     entry.target.rfind(input + "/", 0) == 0);
  if (!into_input && !reporter_.verbose()) return;
  Diag diag =
      FileDiag(DiagCode::kUnknown, tree_->Name(entry.path),
               fmt::format("a link out of the tree, to '{}', kept as it is: {}",
                           entry.target,
                           into_input ? "what is there is not converted"
                                      : "what it leads to is not packed"));
  diag.severity = into_input ? Severity::kWarning : Severity::kNote;
  reporter_.Report(diag);
}

Status TreePacking::OpenItem(Item& item) {
  const TreeEntry& entry = *item.entry;
  if (!entry.problem.empty() && entry.kind != Kind::kFolder) {
    return LeaveOut(item, entry.problem);
  }
  if (entry.kind == Kind::kFolder) {
    if (!entry.problem.empty()) CERB_TRY_VOID(LeaveOut(item, entry.problem));
    item.action = Action::kFolder;
    entry_of_folder_[entry.path] = &entry;
    return {};
  }
  const packager::DatabaseFile database =
      packager::RecogniseDatabase(entry.path);
  if (!database.target.empty()) {
    const auto size = static_cast<std::uint64_t>(entry.st.st_size);
    if (!IsOfUse(database.target, options_.selected)) {
      summary_.not_asked_for.Add(size);
      item.action = Action::kNone;
      return {};
    }
    item.part = PartOfTarget(database.target);
    summary_.databases[item.part].Add(size);
  }
  if (entry.kind == Kind::kFile && packager::IsRocfftCache(entry.path) &&
      !options_.selected.empty()) {
    item.action = Action::kPrune;
    // Of one GPU's rows it is that GPU's file.
    std::set<std::string> parts;
    for (const std::string& target : options_.selected) {
      parts.insert(PartOfTarget(target));
    }
    if (parts.size() == 1) item.part = *parts.begin();
    return {};
  }
  if (entry.kind == Kind::kLink) {
    item.action = Action::kLink;
    WarnOfLink(entry);
    return {};
  }
  return IsAgain(item) ? Status() : OpenProgram(item);
}

// Whether this is another name of a file that is converted or split. In folders
// of other depths the way to the archives is another, and so is the file.
bool TreePacking::IsAgain(Item& item) {
  const struct stat& st = item.entry->st;
  if (st.st_nlink <= 1 || item.part != packager::kHostPart) return false;
  const auto first = first_names_.find(
      {st.st_dev, st.st_ino, packager::UpFrom(item.entry->path)});
  if (first == first_names_.end()) return false;
  item.action = Action::kAgain;
  item.first = first->second;
  return true;
}

Status TreePacking::OpenProgram(Item& item) {
  const TreeEntry& entry = *item.entry;
  Result<packager::Descriptor> file = tree_->Open(entry.path);
  if (!file) return LeaveOut(item, file.error().message);
  Bytes start(4096);
  const ssize_t n = ::read(file->get(), start.data(), start.size());
  if (n < 0) {
    return LeaveOut(item, ErrnoDiag("", "cannot read", errno).message);
  }
  start.resize(static_cast<std::size_t>(n));
  if (!rewriter::IsLoadable(start) && !rewriter::IsLoadableByWindows(start)) {
    return OpenModuleFile(item, start);
  }
  Result<rewriter::Binary> binary =
      rewriter::Binary::Open(tree_->Name(entry.path));
  if (!binary) return LeaveAsItIs(item, std::move(binary).error());
  if (binary->is_converted() || binary->hip().is_split()) {
    Diag note = FileDiag(DiagCode::kUnsupported, tree_->Name(entry.path),
                         "is converted or split already; copied as it is");
    note.severity = Severity::kNote;
    reporter_.Report(note);
    return {};
  }
  Status status = !binary->hip().wrappers.empty() && binary->wrappers().empty()
                      ? OpenHip(item, *std::move(binary))
                      : OpenCuda(item, *std::move(binary));
  if (status) return {};
  item.conversion.reset();
  item.splitting.reset();
  return LeaveAsItIs(item, std::move(status).error());
}

Status TreePacking::OpenHip(Item& item, rewriter::Binary binary) {
  const std::string& path = item.entry->path;
  SplittingOptions options;
  options.input = tree_->Name(path);
  options.input_name = options.input;
  options.arches = options_.selected;
  options.jobs = options_.conversion.jobs;
  options.split.search_paths = {packager::UpFrom(path) +
                                ArchiveSearchPath(options_.group)};
  options.split.kernel_name = path;
  item.splitting = std::make_unique<Splitting>(std::move(options));
  CERB_TRY_VOID(item.splitting->Open(std::move(binary)));
  for (const Diag& note : item.splitting->plan().notes) reporter_.Report(note);
  item.action = Action::kSplit;
  for (const auto& image : item.splitting->binary().hip().images) {
    summary_.hip_bytes += image.image.bytes.size();
  }
  return {};
}

// A conversion of a member of the tree.
std::unique_ptr<Conversion> TreePacking::NewConversion(
    const std::string& path) {
  ConversionOptions options = options_.conversion;
  options.input = tree_->Name(path);
  options.output = PathOf(packager::kHostPart, path);
  options.group = options_.group;
  options.folders.own = staging_ ? staging_->code() : "";
  MemberOptions names;
  names.archives = &archives_;
  names.input_name = options.input;
  names.kernel_name = path;
  names.search_path =
      packager::UpFrom(path) + ArchiveSearchPath(options_.group);
  names.runpath = {options_.bundle
                       ? fmt::format("$ORIGIN/{}{}/{}", packager::UpFrom(path),
                                     kBundleFolder, stub_)
                       : stub_};
  options.member = std::move(names);
  return std::make_unique<Conversion>(options, reporter_);
}

// PTX, fatbins and cubins that programs load by name: they are compiled with
// the programs, which find the code by its content.
Status TreePacking::OpenModuleFile(Item& item, ByteSpan start) {
  const std::string& path = item.entry->path;
  if (item.part != packager::kHostPart || path.size() > kMaxKernelName ||
      !Conversion::MayBeModuleFile(start)) {
    return {};
  }
  Result<MappedFile> file = MappedFile::Open(tree_->Name(path));
  if (!file) return LeaveOut(item, file.error().message);
  auto conversion = NewConversion(path);
  Result<bool> opened = conversion->OpenModuleFile(*std::move(file));
  if (!opened) return LeaveAsItIs(item, std::move(opened).error());
  if (!*opened) return {};
  summary_.ptx_bytes += conversion->ptx_bytes();
  item.conversion = std::move(conversion);
  return {};
}

// Where no program is converted, nobody would find what they become.
void TreePacking::DropModuleFiles() {
  if (std::ranges::any_of(items_, [](const Item& item) {
        return item.action == Action::kConvert;
      })) {
    return;
  }
  for (Item& item : items_) item.conversion.reset();
  summary_.ptx_bytes = 0;
}

Status TreePacking::OpenCuda(Item& item, rewriter::Binary binary) {
  const std::string& path = item.entry->path;
  auto conversion = NewConversion(path);
  Status status = conversion->Open(std::move(binary));
  const bool holds_nothing = !status && conversion->holds_nothing();
  if (status && path.size() > kMaxKernelName) {
    status = Err(FileDiag(DiagCode::kUnsupported, tree_->Name(path),
                          fmt::format("holds device code, and has a path of "
                                      "more than {} bytes",
                                      kMaxKernelName)));
  }
  if (status) status = conversion->Plan();
  if (!status) {
    // What is not converted will not be asked again.
    summary_.cuda.findings.Add(conversion->summary().findings);
    return holds_nothing ? Status() : status;
  }
  if (!conversion->binary().is_pe()) {
    WarnOfSearchPath(path, conversion->binary());
  }
  summary_.ptx_bytes += conversion->ptx_bytes();
  item.conversion = std::move(conversion);
  item.action = Action::kConvert;
  return {};
}

// A search path of the folder that the tree was built in leads to libraries
// that are not converted.
void TreePacking::WarnOfSearchPath(const std::string& path,
                                   const rewriter::Binary& binary) {
  for (const std::int64_t tag : {DT_RUNPATH, DT_RPATH}) {
    const auto at = binary.elf().DynamicValue(tag);
    if (!at) continue;
    const Result<std::string_view> text = binary.elf().DynamicString(*at);
    std::string_view rest = text ? *text : std::string_view();
    while (!rest.empty()) {
      const std::string folder(rest.substr(0, rest.find(':')));
      rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
      if (folder[0] != '/' || !IsWithin(folder, options_.input)) continue;
      Warn(path, DiagCode::kUnknown,
           fmt::format("searches libraries in '{}', which is in the input: "
                       "there it finds unconverted ones; a search path with "
                       "$ORIGIN leads into the new tree",
                       folder));
    }
  }
}

std::vector<const Conversion*> TreePacking::conversions() const {
  std::vector<const Conversion*> all;
  for (const Item& item : items_) {
    if (item.conversion) all.push_back(item.conversion.get());
  }
  return all;
}

std::vector<std::string> TreePacking::inputs() const {
  std::vector<std::string> paths = {options_.input};
  for (const Item& item : items_) {
    // A link is part of its folder.
    if (item.entry->kind != Kind::kLink) {
      paths.push_back(tree_->Name(item.entry->path));
    }
  }
  return paths;
}

std::vector<std::string> TreePacking::Describe() const {
  std::vector<std::string> lines;
  for (const Item& item : items_) {
    const std::string& path = item.entry->path;
    if (item.conversion) {
      const std::size_t modules = item.conversion->summary().modules;
      lines.push_back(
          fmt::format("{} {}: {} module{}, {} of PTX",
                      item.action == Action::kConvert ? "convert" : "compile",
                      path, modules, modules == 1 ? "" : "s",
                      SizeText(item.conversion->ptx_bytes())));
      if (reporter_.verbose()) {
        const std::vector<std::string> described =
            item.conversion->DescribeModules();
        lines.insert(lines.end(), described.begin(), described.end());
      }
    } else if (item.splitting) {
      const SplittingSummary& split = item.splitting->summary();
      lines.push_back(
          fmt::format("split {}: {} image{}, {} leave the file", path,
                      split.images, split.images == 1 ? "" : "s",
                      SizeText(item.splitting->plan().bytes_cut())));
    } else if (item.part != packager::kHostPart && reporter_.verbose()) {
      lines.push_back(fmt::format("{}: for {}", path, item.part));
    }
  }
  return lines;
}

Result<kpack::ArchiveWriter> TreePacking::MakeArchive(
    const std::string& target) const {
  kpack::ArchiveOptions archive;
  archive.group_name = options_.group;
  archive.gfx_arch_family = target;
  return kpack::ArchiveWriter::Create(
      PathOf(PartOfTarget(target), ArchiveFile(options_.group, target)),
      archive);
}

Status TreePacking::MakeArchives() {
  std::vector<std::string> targets = options_.conversion.arches;
  targets.push_back(kFallbackTarget);
  for (const std::string& target : targets) {
    CERB_TRY_VOID(MakeFolder(PartOfTarget(target), kArchiveFolder));
    CERB_TRY(kpack::ArchiveWriter writer, MakeArchive(target));
    archives_.emplace(target, std::move(writer));
  }
  return {};
}

// A folder of a part with those above it, as they are in the input; open to us
// until all is in them.
Status TreePacking::MakeFolder(const std::string& part,
                               const std::string& path) {
  if (made_.contains({part, path})) return {};
  if (!path.empty()) CERB_TRY_VOID(MakeFolder(part, ParentOf(path)));
  const std::string place = PathOf(part, path);
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) {
    return Err(ErrnoDiag(place, "cannot create a folder", errno));
  }
  made_.insert({part, path});
  folders_[part].push_back(path);
  return {};
}

Status TreePacking::MakeFolders() {
  for (const Item& item : items_) {
    const std::string& path = item.entry->path;
    if (item.action == Action::kNone) continue;
    CERB_TRY_VOID(MakeFolder(
        item.part, item.action == Action::kFolder ? path : ParentOf(path)));
  }
  return {};
}

Result<bool> TreePacking::Convert() {
  if (is_whole()) CERB_TRY_VOID(MakeFolders());
  std::vector<Conversion*> conversions;
  for (Item& item : items_) {
    if (item.conversion) conversions.push_back(item.conversion.get());
  }
  if (!conversions.empty()) {
    CERB_TRY_VOID(MakeArchives());
    CERB_TRY(const bool some,
             Conversion::CompileAll(conversions, [this](Conversion& one) {
               return TakeConverted(one);
             }));
    if (Interrupted()) return false;
    if (!some && !options_.conversion.keep_going) return false;
  }
  // Of an archive HIP code comes last.
  if (options_.conversion.shard.is_last()) CERB_TRY_VOID(Split());
  return !Interrupted();
}

Status TreePacking::TakeConverted(Conversion& conversion) {
  Item& item = *item_of_.at(&conversion);
  summary_.cuda.Add(conversion.summary());
  if (item.action != Action::kConvert) {
    if (conversion.compiled()) ++summary_.module_files;
  } else if (!is_whole()) {
    summary_.converted.push_back(item.entry->path);
  } else if (conversion.compiled()) {
    CERB_TRY_VOID(conversion.Create());
    CERB_TRY_VOID(conversion.Write());
    summary_.cuda.bytes_out += conversion.summary().bytes_out;
    CERB_TRY_VOID(Place(item, conversion.TakeProgram(), "converted"));
    summary_.converted.push_back(item.entry->path);
  } else {
    const auto& reasons = conversion.summary().left_out;
    summary_.unconverted.emplace(
        item.entry->path, reasons.empty() ? "no kernel could be converted"
                                          : reasons.begin()->first);
    item.action = Action::kCopy;
  }
  item_of_.erase(&conversion);
  item.conversion.reset();
  return {};
}

Status TreePacking::Split() {
  std::size_t all = 0, at = 0;
  for (const Item& item : items_) all += item.splitting ? 1 : 0;
  for (Item& item : items_) {
    if (!item.splitting) continue;
    if (Interrupted()) return {};
    reporter_.printer().Status(
        fmt::format("[{}/{}] split {}", ++at, all, item.entry->path));
    CERB_TRY_VOID(SplitItem(item));
    item.splitting.reset();
  }
  reporter_.printer().Clear();
  return {};
}

Status TreePacking::SplitItem(Item& item) {
  Splitting& splitting = *item.splitting;
  Status packed = splitting.Pack(
      archives_,
      [this](const std::string& target) -> Result<kpack::ArchiveWriter> {
        CERB_TRY_VOID(MakeFolder(PartOfTarget(target), kArchiveFolder));
        return MakeArchive(target);
      });
  if (Interrupted()) return {};
  if (!packed) {
    if (packed.error().code == DiagCode::kIo) return packed;
    return LeaveAsItIs(item, std::move(packed).error());
  }
  if (!is_whole()) {
    summary_.hip.Add(splitting.summary());
    summary_.split.push_back(item.entry->path);
    return {};
  }
  CERB_TRY(OutputFile program,
           splitting.Write(PathOf(item.part, item.entry->path)));
  summary_.hip.Add(splitting.summary());
  summary_.split.push_back(item.entry->path);
  return Place(item, std::move(program), "split");
}

Status TreePacking::Place(Item& item, OutputFile program, const char* how) {
  const std::string path = program.path();
  {
    CERB_TRY(const MappedFile bytes, program.Map());
    packager::Sha256 hash;
    hash.Update(bytes.bytes());
    item.made.sha256 = hash.Hex();
    item.made.size = bytes.size();
  }
  CERB_TRY_VOID(program.Commit());
  item.made.how = how;
  item.done = true;
  return KeepAttributes(item, path, /*changed=*/true);
}

}  // namespace cerberus::cli
