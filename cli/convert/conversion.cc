#include "cli/convert/conversion.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <utility>

#include "cli/convert/bundle.h"
#include "cli/convert/carry_over.h"
#include "cli/convert/commit_in_order.h"
#include "cli/paths.h"
#include "kpack/content_key.h"
#include "kpack/marker.h"
#include "kpack/reader.h"
#include "ptxc/front/block_bounds.h"
#include "ptxc/front/kernel_names.h"
#include "support/demangle.h"

namespace cerberus::cli {
namespace {

// "the module holds: scan(int*), …", for messages.
std::string NameKernels(const std::string& ptx) {
  constexpr std::size_t kShown = 5;
  const std::vector<std::string> kernels = ptx::KernelNames(ptx);
  if (kernels.empty()) return "the module holds no kernel";
  std::string text = "the module holds: ";
  for (std::size_t i = 0; i < kernels.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + Demangle(kernels[i]);
  }
  if (kernels.size() > kShown) {
    text += fmt::format(" and {} more", kernels.size() - kShown);
  }
  return text;
}

// The modules behind one another, as the compiler takes them to be linked.
Result<std::string> TextOf(
    const std::vector<const images::FatbinEntry*>& source) {
  std::string all;
  for (const images::FatbinEntry* entry : source) {
    CERB_TRY(const std::string text, images::UnpackPtx(*entry));
    if (!all.empty() && all.back() != '\n') all += '\n';
    all += text;
  }
  return all;
}

// Compilers in processes take whatever job nobody else has, one part of their
// module at a time; those in this process share the jobs out.
CompileShare ShareOf(unsigned jobs, std::size_t tasks,
                     const std::optional<JobSlots>& slots) {
  if (slots) return {jobs, slots->descriptor()};
  return {std::max(1u, jobs / std::max(1u, static_cast<unsigned>(tasks))), -1};
}

// The order in which modules are compiled: file by file, so that the first are
// done early; of each the largest first, so that what is left for the end is
// small. `file_of` is sorted.
std::vector<std::size_t> LargestFirst(
    const std::vector<std::size_t>& file_of,
    const std::vector<Progress::Task>& sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) {
                     if (file_of[a] != file_of[b])
                       return file_of[a] < file_of[b];
                     return sizes[a].bytes > sizes[b].bytes;
                   });
  return order;
}

const Diag* FirstError(const std::vector<Diag>& diags) {
  const auto at = std::find_if(diags.begin(), diags.end(), [](const Diag& d) {
    return d.severity == Severity::kError;
  });
  return at == diags.end() ? nullptr : &*at;
}

}  // namespace

Conversion::Conversion(const ConversionOptions& options, Reporter& reporter)
    : options_(options),
      input_name_(options.member ? options.member->input_name : options.input),
      kernel_name_(options.member ? options.member->kernel_name
                                  : BaseName(options.output)),
      place_(PlaceArchives(options.output, options.archives_folder)),
      reporter_(reporter),
      archives_(options.member ? *options.member->archives : own_archives_) {}

// Undoes what an unfinished conversion made. Files under their final names
// are undone by Commit itself.
Conversion::~Conversion() {
  own_archives_.clear();
  bundled_.clear();
  RemoveFolders(made_folders_);
}

std::string Conversion::ArchivePath(const std::string& target) const {
  return place_.File(options_.group, target);
}

std::vector<std::string> Conversion::output_paths() const {
  std::vector<std::string> paths;
  for (const auto& [target, archive] : archives_) {
    paths.push_back(archive.path());
  }
  paths.push_back(options_.output);
  return paths;
}

std::vector<std::string> Conversion::planned_paths() const {
  std::vector<std::string> paths = {options_.output};
  if (modules_.empty()) return paths;
  for (const std::string& target : options_.arches) {
    paths.push_back(ArchivePath(target));
  }
  paths.push_back(ArchivePath(kFallbackTarget));
  return paths;
}

Status Conversion::Create() {
  CERB_TRY(program_, OutputFile::Create(options_.output, binary_->mode()));
  if (modules_.empty() || options_.member) return {};
  CERB_TRY_VOID(MakeFolder(place_.folder, made_folders_));
  std::vector<std::string> targets = options_.arches;
  targets.push_back(kFallbackTarget);
  for (const std::string& target : targets) {
    kpack::ArchiveOptions archive;
    archive.group_name = options_.group;
    archive.gfx_arch_family = target;
    CERB_TRY(kpack::ArchiveWriter writer,
             kpack::ArchiveWriter::Create(ArchivePath(target), archive));
    archives_.emplace(target, std::move(writer));
  }
  return {};
}

// On a thread of the pool; touches nothing but the task.
void Conversion::RunTask(
    ModuleTask& task, const Compiler& compiler, const CompileShare& share,
    const std::atomic<bool>& stopped,
    std::function<void(const CompileProgress&)> on_progress) const {
  CompileTask(task, compiler, share, stopped, std::move(on_progress));
  // The archive's frames, too, so that nobody waits for the one who writes it.
  // Where one cannot be made, the writer tries again and says why.
  thread_local kpack::Compressor compressor;
  const auto compress = [](ByteSpan bytes) {
    Result<Bytes> frame = compressor.Compress(bytes);
    return frame ? *std::move(frame) : Bytes();
  };
  if (task.outcome.status != CompileOutcome::Status::kFailed) {
    task.frame = compress(task.outcome.code);
  }
  if (task.module->index && task.arch == options_.arches.front()) {
    task.ptx_frame = compress(AsBytes(task.ptx));
  }
}

CompileRequest Conversion::RequestOf(const PlannedModule& planned,
                                     const std::string& arch) const {
  CompileRequest request;
  request.arch = arch;
  request.where = planned.where;
  request.keep_going = options_.keep_going;
  request.shared_overflow = options_.shared_overflow;
  request.serial_lanes = options_.serial_lanes;
  request.time_trace = options_.time_trace != nullptr;
  return request;
}

// Returns the PTX as it is in the file; the compiler gets more.
Result<std::string> Conversion::SetPtx(const PlannedModule& planned,
                                       const Source& source,
                                       CompileRequest& request) const {
  Result<std::string> text = TextOf(source);
  LetGo();
  if (text) {
    request.ptx = *text;
    ptx::AppendBlockBounds(BoundsFor(planned, source, request.arch),
                           &request.ptx);
  }
  return text;
}

void Conversion::CompileTask(
    ModuleTask& task, const Compiler& compiler, const CompileShare& share,
    const std::atomic<bool>& stopped,
    std::function<void(const CompileProgress&)> on_progress) const {
  const PlannedModule& planned = *task.module;
  CompileRequest request = RequestOf(planned, task.arch);
  request.share = share;
  request.on_progress = std::move(on_progress);
  const TimedPhase phase(options_.time_trace, "Compile module",
                         planned.label + " " + task.arch);
  const auto compile = [&] {
    CompileOutcome outcome = compiler(request);
    if (request.time_trace) options_.time_trace->Add(outcome.time_trace);
    return outcome;
  };
  if (!planned.embedded.empty()) {
    request.ptx = planned.embedded;
    task.outcome = compile();
    task.ptx = std::move(request.ptx);
    return;
  }

  // Older PTX of the same module may do without what the newer one uses.
  bool first = true;
  for (const Source& source : planned.choices.at(task.arch)) {
    const images::FatbinEntry* entry = source.front();
    Result<std::string> text = SetPtx(planned, source, request);
    CompileOutcome outcome;
    if (text) {
      outcome = compile();
    } else {
      outcome.diags.push_back(InModule(text.error(), planned.where));
      request.ptx.clear();
    }
    const bool whole = outcome.status == CompileOutcome::Status::kDone;
    if (whole && !first) {
      const Diag* error = FirstError(task.outcome.diags);
      Diag note = MakeDiag(
          DiagCode::kUnknown, planned.where,
          fmt::format(
              "the PTX for {} was taken, that for {} cannot be "
              "compiled: {}",
              entry->ArchName(), task.entry->ArchName(),
              error == nullptr ? "kernels are missing" : error->message));
      note.severity = Severity::kNote;
      outcome.diags.push_back(std::move(note));
    }
    if (whole || first) {
      task.outcome = std::move(outcome);
      task.entry = entry;
      task.ptx = text ? *std::move(text) : std::string();
    }
    if (whole || Interrupted() || stopped) return;
    first = false;
  }
}

// Each reason once: it holds for all targets, and often for many modules.
void Conversion::ReportMissing() {
  std::vector<std::pair<Diag, std::size_t>> reasons;
  bool some_ptx = false;
  for (const std::unique_ptr<PlannedModule>& planned : modules_) {
    if (!planned->HasNoPtx()) {
      some_ptx = true;
      continue;
    }
    const auto same =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) {
          return reason.first.message == planned->missing;
        });
    if (same != reasons.end()) {
      ++same->second;
    } else {
      reasons.emplace_back(
          MakeDiag(DiagCode::kNoPtx, planned->where, planned->missing), 1);
    }
  }
  for (auto& [diag, modules] : reasons) {
    if (modules > 1) {
      diag.notes.push_back(fmt::format("the same is true of {} more module{}",
                                       modules - 1, modules == 2 ? "" : "s"));
    }
    if (!some_ptx) {
      diag.notes.push_back(fmt::format(
          "{} was built without PTX: nothing to convert", input_name_));
    }
    if (options_.keep_going) {
      diag.severity = Severity::kWarning;
    } else {
      failed_ = true;
    }
    reporter_.Report(diag);
  }
}

std::uint64_t Conversion::PtxBytes(const PlannedModule& planned,
                                   const std::string& arch) const {
  if (!planned.embedded.empty()) return planned.embedded.size();
  std::uint64_t bytes = 0;
  for (const images::FatbinEntry* entry : planned.choices.at(arch).front()) {
    bytes += entry->unpacked_size;
  }
  return bytes;
}

std::uint64_t Conversion::ptx_bytes() const {
  std::uint64_t bytes = 0;
  for (const std::unique_ptr<PlannedModule>& planned : modules_) {
    if (planned->HasNoPtx()) continue;
    for (const std::string& arch : options_.arches) {
      bytes += PtxBytes(*planned, arch);
    }
  }
  return bytes;
}

// Whether what became of the task means that there will be no output.
bool Conversion::EndsAll(const ModuleTask& task) const {
  return task.outcome.status == CompileOutcome::Status::kFailed &&
         !options_.keep_going && task.module->embedded.empty();
}

// The tasks, and what is known of their results without compiling.
void Conversion::AddTasks(std::vector<std::unique_ptr<ModuleTask>>& tasks) {
  ReportMissing();
  for (const std::string& arch : options_.arches) {
    for (const std::unique_ptr<PlannedModule>& planned : modules_) {
      if (planned->elsewhere) continue;
      summary_.kernels += planned->kernel_count;
      if (planned->HasNoPtx()) {
        if (options_.keep_going) {
          NoteMissing(*planned, arch, "", planned->missing);
        }
        continue;
      }
      tasks.push_back(std::make_unique<ModuleTask>());
      tasks.back()->conversion = this;
      tasks.back()->module = planned.get();
      tasks.back()->arch = arch;
    }
  }
}

Result<bool> Conversion::Compile() { return CompileAll({this}); }

Result<bool> Conversion::CompileAll(
    const std::vector<Conversion*>& conversions,
    const std::function<Status(Conversion&)>& on_compiled) {
  if (conversions.empty()) return true;
  const ConversionOptions& options = conversions.front()->options_;
  LinePrinter& printer = conversions.front()->reporter_.printer();
  Compiler compiler;
  if (options.in_process) {
    compiler = MakeInProcessCompiler();
  } else {
    CERB_TRY(std::string jit, FindJit());
    compiler =
        MakeChildCompiler(std::move(jit), options.limits, options.folders);
  }

  ChooseShard(conversions);
  std::vector<std::unique_ptr<ModuleTask>> tasks;
  std::vector<std::size_t> file_of;  // of each task
  bool failed = false;
  for (Conversion* conversion : conversions) {
    conversion->AddTasks(tasks);
    file_of.resize(tasks.size(), file_of.empty() ? 0 : file_of.back() + 1);
    failed = failed || conversion->failed_;
  }
  if (failed) return false;

  // Tokens of a jobserver count processes, so that each compiles alone.
  const bool alone = options.jobserver == nullptr;
  const std::optional<JobSlots> slots =
      alone && !options.in_process && options.jobs > 1 ? JobSlots::Make()
                                                       : std::nullopt;
  const CompileShare share =
      alone ? ShareOf(options.jobs, tasks.size(), slots) : CompileShare();
  std::vector<Progress::Task> sizes;
  for (const std::unique_ptr<ModuleTask>& task : tasks) {
    sizes.push_back({task->arch + " " + task->module->label,
                     task->conversion->PtxBytes(*task->module, task->arch),
                     task->module->kernel_count});
  }
  Progress progress(printer, sizes);
  std::atomic<bool> stopped = false;  // there will be no output
  const std::vector<std::size_t> order = LargestFirst(file_of, sizes);
  std::vector<TaskPool::Task> work(tasks.size());
  std::vector<std::size_t> place(tasks.size());  // in `work`
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t i = order[k];
    place[i] = k;
    work[k] = [i, &task = *tasks[i], &progress, &compiler, &stopped, &share] {
      if (stopped) {
        task.outcome.stopped = true;
        return;
      }
      progress.Begin(i);
      task.conversion->RunTask(task, compiler, share, stopped,
                               [&progress, i](const CompileProgress& now) {
                                 progress.Update(i, now);
                               });
      progress.End(i);
      // What the others still do is for nothing.
      if (task.conversion->EndsAll(task) && !stopped.exchange(true)) {
        StopProcesses();
      }
    };
  }
  // Results are taken in the order of the tasks, whatever the order in which
  // they end: so the archives are the same on every run.
  TaskPool pool(options.jobs, std::move(work), options.jobserver,
                slots ? &*slots : nullptr);
  bool some = false;
  std::size_t i = 0;
  for (Conversion* conversion : conversions) {
    for (; i < tasks.size() && tasks[i]->conversion == conversion; ++i) {
      if (!pool.Wait(place[i]) || Interrupted()) {
        printer.Clear();
        return false;
      }
      CERB_TRY_VOID(conversion->TakeResult(*tasks[i]));
      if (conversion->failed_) {
        failed = true;
        pool.Stop();
      }
      tasks[i].reset();
    }
    if (failed) continue;
    CERB_TRY_VOID(conversion->EndCompile());
    some = some || conversion->compiled_;
    if (on_compiled) CERB_TRY_VOID(on_compiled(*conversion));
  }
  printer.Clear();
  return some && !failed;
}

Status Conversion::EndCompile() {
  // What the other shards make is not known here.
  compiled_ = !options_.shard.is_all() || summary_.code_objects != 0 ||
              summary_.left_out.empty();
  if (compiled_) return AddFallback();
  Diag diag = FileDiag(DiagCode::kCompiler, input_name_,
                       "no kernel could be converted");
  // A member stays as it is, the others go on.
  if (options_.member && options_.keep_going) {
    diag.severity = Severity::kWarning;
  }
  reporter_.Report(diag);
  return {};
}

Status Conversion::TakeResult(ModuleTask& task) {
  // What a killed child says is no diagnostic.
  if (Interrupted() || task.outcome.stopped) return {};
  if (!task.outcome.kept.empty()) kept_.push_back(task.outcome.kept);
  const bool made = task.outcome.status != CompileOutcome::Status::kFailed;
  // Text that only looks like a module is the fallback's business.
  const bool optional = !task.module->embedded.empty();
  for (Diag diag : task.outcome.diags) {
    if (diag.severity == Severity::kError &&
        (options_.keep_going || optional)) {
      diag.severity = Severity::kWarning;
    }
    if (diag.severity == Severity::kNote && !reporter_.verbose()) continue;
    // A compiler that died says nothing of the kernel it was at.
    if (diag.code == DiagCode::kCompiler && diag.where.kernel.empty()) {
      diag.notes.push_back(NameKernels(task.ptx));
    }
    reporter_.Report(diag);
  }
  if (task.module->fallback_ptx.empty()) {
    task.module->fallback_ptx = task.ptx;
    task.module->fallback_frame = std::move(task.ptx_frame);
    task.module->fallback_entry = task.entry;
  }
  if (made) {
    summary_.found += task.outcome.found ? 1 : 0;
    return AddToArchive(task, std::move(task.outcome.code));
  }
  if (optional) {
    summary_.kernels -= task.module->kernel_count;
  } else if (options_.keep_going) {
    LeaveOut(task);
  } else {
    failed_ = true;
  }
  return {};
}

// The whole module is missing for this target.
void Conversion::LeaveOut(const ModuleTask& task) {
  const Diag* error = FirstError(task.outcome.diags);
  const std::string reason =
      error == nullptr ? "the compiler failed" : error->message;
  const std::vector<std::string> kernels = ptx::KernelNames(task.ptx);
  for (const std::string& kernel : kernels) {
    task.module->failed.emplace(kernel, reason);
    NoteMissing(*task.module, task.arch, kernel, reason);
  }
  if (kernels.empty()) NoteMissing(*task.module, task.arch, "", reason);
}

// A kernel that is left out; "": a module of which no kernel is known.
void Conversion::NoteMissing(const PlannedModule& planned,
                             const std::string& arch, const std::string& kernel,
                             const std::string& reason) {
  ++summary_.left_out[reason];
  summary_.findings.missing.push_back({planned.label, arch, kernel, reason});
}

// Every kernel of the PTX is in the code object or among those left out: a
// kernel that is lost without a word would be found out only at its launch.
Status Conversion::CheckComplete(const ModuleTask& task,
                                 const CodeObject& object) const {
  std::set<std::string> there;
  for (const CodeObject::Kernel& kernel : object.kernels) {
    there.insert(kernel.name);
  }
  for (const std::string& kernel : ptx::KernelNames(task.ptx)) {
    if (there.count(kernel) != 0 || object.failed.count(kernel) != 0) continue;
    Where where = task.module->where;
    where.kernel = Demangle(kernel);
    return Err(DiagCode::kInternal, std::move(where),
               "is missing from the compiler's output");
  }
  return {};
}

Status Conversion::AddToArchive(const ModuleTask& task, Bytes code) {
  PlannedModule& planned = *task.module;
  CERB_TRY(const CodeObject object, ReadCodeObject(code, planned.label));
  const int launch_abi = rewriter::PlanOptions().launch_abi;
  if (object.abi != launch_abi) {
    return Err(MakeDiag(
        DiagCode::kInternal, planned.where,
        fmt::format("the compiler's code follows launch ABI {}, expected {}",
                    object.abi, launch_abi)));
  }
  CERB_TRY_VOID(CheckComplete(task, object));
  const std::string content_key = kpack::ContentKey(task.ptx);
  kpack::Metadata metadata = {{"cerberus_abi", object.abi},
                              {"ptxc", object.ptxc},
                              {"sm", object.sm},
                              {"ptx_version", object.ptx_version},
                              {"content_key", content_key}};
  if (!object.failed.empty()) {
    metadata.emplace("failed", object.failed);
    for (const auto& [kernel, reason] : object.failed) {
      planned.failed.emplace(kernel, reason);
      NoteMissing(planned, task.arch, kernel, reason);
    }
  }
  kpack::ArchiveWriter& archive = archives_.at(task.arch);
  const std::string by_content = content_key + "#";
  if (planned.index) {
    const std::string key = kpack::ModuleKey(kernel_name_, *planned.index);
    CERB_TRY_VOID(archive.AddStored(key, task.arch, "hsaco", code, task.frame,
                                    std::move(metadata)));
    if (!archive.Has(by_content, task.arch)) {
      CERB_TRY_VOID(archive.AddAlias(by_content, task.arch, key));
    }
  } else if (!archive.Has(by_content, task.arch)) {
    CERB_TRY_VOID(archive.AddStored(by_content, task.arch, "hsaco", code,
                                    task.frame, std::move(metadata)));
  }
  ++summary_.code_objects;
  summary_.kernels_converted += object.KernelCount();
  NoteKernels(task, object);
  return {};
}

void Conversion::NoteKernels(const ModuleTask& task, const CodeObject& object) {
  summary_.forms += object.kernels.size() - object.KernelCount();
  for (const CodeObject::Kernel& kernel : object.kernels) {
    summary_.findings.kernels.push_back(
        {task.module->label, task.arch, kernel});
  }
}

// The PTX of every module that a wrapper leads to, for GPUs that no archive
// was made for.
Status Conversion::AddFallback() {
  if (archives_.empty()) return {};
  for (auto& [target, archive] : own_archives_) {
    CERB_TRY_VOID(CarryOver(options_.group, {kernel_name_},
                            FolderOf(options_.output), archive));
  }
  kpack::ArchiveWriter& archive = archives_.at(kFallbackTarget);
  for (const std::unique_ptr<PlannedModule>& planned : modules_) {
    if (!planned->index || planned->fallback_ptx.empty()) continue;
    const images::FatbinEntry& entry = *planned->fallback_entry;
    kpack::Metadata metadata = {
        {"sm", std::int64_t{entry.sm}},
        {"ptx_version",
         fmt::format("{}.{}", entry.format_major, entry.format_minor)},
        {"content_key", kpack::ContentKey(planned->fallback_ptx)}};
    if (!planned->failed.empty()) metadata.emplace("failed", planned->failed);
    CERB_TRY_VOID(archive.AddStored(
        kpack::ModuleKey(kernel_name_, *planned->index), kFallbackTarget, "ptx",
        AsBytes(planned->fallback_ptx), planned->fallback_frame,
        std::move(metadata)));
  }
  return {};
}

Status Conversion::Write() {
  {
    const TimedPhase phase(options_.time_trace, "Rewrite");
    CERB_TRY_VOID(rewriter::Rewrite(*binary_, plan_, *program_));
  }
  {
    const TimedPhase phase(options_.time_trace, "Verify");
    CERB_TRY_VOID(rewriter::VerifyWritten(*binary_, plan_, *program_));
  }
  summary_.bytes_out = program_->size();
  if (options_.member) return {};
  const TimedPhase phase(options_.time_trace, "Pack");
  for (auto& [target, archive] : archives_) {
    CERB_TRY_VOID(archive.Finish());
    summary_.AddArchive(target, archive.size());
  }
  if (!options_.bundle) return {};
  return StageBundle(FolderOf(options_.output), bundled_, made_folders_);
}

OutputFile Conversion::TakeProgram() {
  return std::exchange(program_, std::nullopt).value();
}

// Archives of earlier conversions, for other targets, under the same name. If
// they were made from this program they go on serving it. If not, they hold
// other code under the same keys, and must not be found.
Result<std::vector<std::string>> Conversion::StaleArchives() const {
  namespace fs = std::filesystem;
  std::vector<std::string> stale;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(place_.folder, error)) {
    const std::string path = file.path().string();
    const std::string prefix = options_.group + "-";
    if (file.path().filename().string().rfind(prefix, 0) != 0) continue;
    const auto archive = kpack::Archive::Open(path);
    if (!archive || (*archive)->group_name() != options_.group) continue;
    const auto& arches = (*archive)->arches();
    const bool replaced =
        std::any_of(arches.begin(), arches.end(), [&](std::string_view arch) {
          return archives_.count(std::string(arch)) != 0;
        });
    if (replaced) continue;
    const auto is_ours = [&](const PlannedModule& planned,
                             std::string_view arch) {
      const std::string key = kpack::ModuleKey(kernel_name_, *planned.index);
      const kpack::Entry* entry = (*archive)->Find(key, arch);
      if (entry == nullptr) return true;
      const auto content = entry->metadata.Find("content_key").AsString();
      return content &&
             std::any_of(planned.ptx.begin(), planned.ptx.end(),
                         [&](const Source& source) {
                           const auto text = TextOf(source);
                           return text && kpack::ContentKey(*text) == *content;
                         });
    };
    for (const std::unique_ptr<PlannedModule>& planned : modules_) {
      if (!planned->index) continue;
      if (!std::all_of(arches.begin(), arches.end(), [&](std::string_view a) {
            return is_ours(*planned, a);
          })) {
        stale.push_back(path);
        break;
      }
    }
  }
  return stale;
}

Status Conversion::Commit() {
  CommitInOrder commit;
  CERB_TRY(const std::vector<std::string> stale, StaleArchives());
  for (const std::string& path : stale) CERB_TRY_VOID(commit.Remove(path));
  for (auto& [target, archive] : archives_) {
    CERB_TRY_VOID(commit.Add(archive));
  }
  for (OutputFile& file : bundled_) CERB_TRY_VOID(commit.Add(file));
  CERB_TRY_VOID(commit.Add(*program_));
  commit.Done();
  for (const std::string& path : kept_) ::unlink(path.c_str());
  return {};
}

}  // namespace cerberus::cli
