// One conversion, step by step. Nothing has a name in the file system before
// Commit; whatever ends it earlier leaves nothing behind.
//
//   open      the input, its modules, the PTX of each
//   plan      the bytes that will change
//   create    unnamed output files: fails early if there is no place for them
//   compile   module × target, in child processes, into the archives
//   write     the program, and check it against the plan
//   commit    names: archives first, the program last
#ifndef CERBERUS_CLI_CONVERT_CONVERSION_H_
#define CERBERUS_CLI_CONVERT_CONVERSION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/convert/code_object.h"
#include "cli/convert/compiler.h"
#include "cli/convert/time_trace.h"
#include "cli/json.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/report/findings.h"
#include "cli/reporter.h"
#include "cli/scale/shard.h"
#include "kpack/writer.h"
#include "ptxc/front/block_bounds.h"
#include "rewriter/rewriter.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::cli {

// A conversion that is one of several with common archives, as those of a
// wheel's libraries are. Names and archives are the caller's, and nothing gets
// a name in the file system: there is no Commit, but TakeProgram.
struct MemberOptions {
  std::map<std::string, kpack::ArchiveWriter>* archives = nullptr;  // by target
  std::string input_name;   // for messages, "x.whl/pkg/libx.so"
  std::string kernel_name;  // in the archives, "pkg/libx.so"
  std::string search_path;  // of the archives
  // Folders for its search path: where the stub will be, then others.
  std::vector<std::string> runpath;
  // Libraries of ours that are loaded with the stub; read by Plan.
  const std::set<std::string>* beside_stub = nullptr;
  // A file without device code is changed as well, to lead to other members.
  bool even_if_empty = false;
};

// The target of the archive that holds PTX.
inline constexpr char kFallbackTarget[] = "ptx";

struct ConversionOptions {
  std::string input;
  std::string output;
  std::vector<std::string> arches;  // target ids, in the user's order
  std::string group;                // default: the output's file name
  std::string archives_folder;      // default: .kpack beside the output
  std::string stub_folder;          // default: this installation's
  bool bundle = false;
  bool keep_fatbin = false;
  bool keep_going = false;
  bool shared_overflow = false;  // into device memory
  bool serial_lanes = false;     // of a warp, one by one
  bool in_process = false;
  bool dry_run = false;
  unsigned jobs = 1;
  Jobserver* jobserver = nullptr;  // shares them with others, or null
  ProcessLimits limits;
  TimeTrace* time_trace = nullptr;  // or null
  CodeFolders folders;
  Shard shard;  // of the modules, which are compiled
  std::optional<MemberOptions> member;
};

struct ConversionSummary {
  std::size_t fatbins = 0;
  std::size_t modules = 0;  // that hold PTX
  std::size_t kernels = 0;  // in them, per target
  std::size_t kernels_converted = 0;
  std::size_t code_objects = 0;
  std::size_t found = 0;  // of these, not compiled again
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t archive_bytes = 0;
  // Further forms of them, for small blocks among them.
  std::size_t forms = 0;
  Findings findings;
  // Reasons why kernels were left out, and how many kernels each.
  std::map<std::string, std::size_t> left_out;

  void Add(const ConversionSummary& other);
  void AddArchive(const std::string& target, std::uint64_t size);
  // As members of the object that is being written.
  void WriteTo(JsonWriter& json) const;
  // For people, with their names.
  std::vector<std::pair<std::string, std::string>> Numbers() const;
};

// About a file as a whole.
Diag FileDiag(DiagCode code, const std::string& file, std::string message);
// What a single entry says of itself, with the place where it is.
Diag InModule(Diag diag, const Where& module);

class Conversion {
 public:
  Conversion(const ConversionOptions& options, Reporter& reporter);
  ~Conversion();

  Status Open();
  // The same with the input opened already.
  Status Open(rewriter::Binary binary);
  // Whether a file that begins so may be one that programs hand to
  // cuModuleLoad: PTX, a fatbin or a cubin.
  static bool MayBeModuleFile(ByteSpan start);
  // Of a member instead: such a file. It is compiled into the archives, and
  // stays as it is: there is nothing to plan, to create or to write. False: it
  // is something else, which is said if asked for. Error: its kernels are there
  // as machine code alone (kNoPtx).
  Result<bool> OpenModuleFile(MappedFile file);
  Status Plan();
  Status Create();
  // False: errors were reported, there is nothing to write.
  Result<bool> Compile();
  // The same for several at once, with the same options but for their names.
  // compiled() then says of each whether there is anything to write; false if
  // there is for none. `on_compiled` is called for each as soon as that is
  // known, in their order, and may end its life.
  static Result<bool> CompileAll(
      const std::vector<Conversion*>& conversions,
      const std::function<Status(Conversion&)>& on_compiled = {});
  bool compiled() const { return compiled_; }
  // What the compiler would get first, module by module and target by target.
  struct FirstRequest {
    CompileRequest request;
    std::string label;
    // If it cannot be compiled, other PTX may be, or nobody misses it.
    bool may_fail = false;
  };
  Status ForEachRequest(
      const std::function<Status(const FirstRequest&)>& take) const;
  Status Write();
  Status Commit();

  // Archives that must not be found any more, when this is committed.
  Result<std::vector<std::string>> StaleArchives() const;

  // Of a member: the converted file, after Write.
  OutputFile TakeProgram();
  // … and what was kept for the case that it is converted again.
  const std::vector<std::string>& kept() const { return kept_; }

  // Why Open() failed: there is no CUDA device code in the file.
  bool holds_nothing() const { return holds_nothing_; }
  // After Open: libraries of NVIDIA's that it needs and ours answer.
  const std::vector<std::string>& answered() const { return answered_; }
  const ConversionSummary& summary() const { return summary_; }
  std::vector<std::string> inputs() const { return {input_name_}; }
  // Of all that will be compiled, summed over the targets.
  std::uint64_t ptx_bytes() const;
  const rewriter::Binary& binary() const { return *binary_; }
  // One line a module: where it is, which PTX was chosen for which target.
  std::vector<std::string> DescribeModules() const;
  std::string PlanText() const { return plan_.ToText(); }
  std::string PlanJson() const { return plan_.ToJson(); }
  std::vector<std::string> output_paths() const;
  // The same before Create.
  std::vector<std::string> planned_paths() const;
  std::vector<const Conversion*> conversions() const { return {this}; }

 private:
  // PTX entries that become one module: one, or those that a device link
  // joins. The entries belong to the binary.
  using Source = std::vector<const images::FatbinEntry*>;
  // A module, and what is done with it.
  struct PlannedModule {
    Where where;
    std::string label;  // "app#0", or "app+0x2010" for text without a wrapper
    std::optional<std::uint32_t> index;
    // By target, best first. Texts of a fatbin are unpacked when needed.
    std::map<std::string, std::vector<Source>> choices;
    // Of the module's fatbin, machine code among them.
    const std::vector<images::FatbinEntry>* entries = nullptr;
    std::string_view embedded;  // instead of entries
    std::string linked;         // what `embedded` is, of several texts
    std::string missing;        // why there is no PTX
    std::size_t kernel_count = 0;
    std::map<std::string, std::string> failed;  // kernel → reason
    std::string fallback_ptx;                   // text for the ptx archive
    Bytes fallback_frame;                       // … compressed, or nothing
    const images::FatbinEntry* fallback_entry = nullptr;  // … and its entry
    std::vector<Source> ptx;  // whatever may have been compiled
    bool elsewhere = false;   // in another shard

    bool HasNoPtx() const { return embedded.empty() && choices.empty(); }
  };
  struct ModuleTask {
    Conversion* conversion;
    PlannedModule* module;
    std::string arch;
    // Filled in by a thread of the pool:
    CompileOutcome outcome;
    std::string ptx;
    const images::FatbinEntry* entry = nullptr;
    Bytes frame;      // of the code, as it goes into the archive
    Bytes ptx_frame;  // of the PTX, if this is the module's first task
  };

  std::string ArchivePath(const std::string& target) const;
  // What was read is not needed in memory for now.
  void LetGo() const {
    if (binary_) binary_->LetGo();
  }
  Status AddModules();
  Status AddEmbedded();
  Status AddModuleFile(PlannedModule& planned);
  Status AddCubin(ByteSpan cubin, PlannedModule& planned);
  void AddText(std::string_view text, PlannedModule& planned);
  Status ChooseEntries(const rewriter::Module& module, PlannedModule& planned);
  Status ChooseAmong(const std::vector<images::FatbinEntry>& entries,
                     PlannedModule& planned);
  Status ChooseMembers(const rewriter::Module& module, PlannedModule& planned);
  Status CountKernels(PlannedModule& planned);
  static ptx::BlockBounds BoundsFor(const PlannedModule& planned,
                                    const Source& source,
                                    const std::string& arch);
  void ReportMissing();
  void NoteChoice(const std::string& note, const PlannedModule& planned);
  void AddTasks(std::vector<std::unique_ptr<ModuleTask>>& tasks);
  void RunTask(ModuleTask& task, const Compiler& compiler,
               const CompileShare& share, const std::atomic<bool>& stopped,
               std::function<void(const CompileProgress&)> on_progress) const;
  void CompileTask(
      ModuleTask& task, const Compiler& compiler, const CompileShare& share,
      const std::atomic<bool>& stopped,
      std::function<void(const CompileProgress&)> on_progress) const;
  static void ChooseShard(const std::vector<Conversion*>& conversions);
  CompileRequest RequestOf(const PlannedModule& planned,
                           const std::string& arch) const;
  Result<std::string> SetPtx(const PlannedModule& planned, const Source& source,
                             CompileRequest& request) const;
  std::uint64_t PtxBytes(const PlannedModule& planned,
                         const std::string& arch) const;
  bool EndsAll(const ModuleTask& task) const;
  void NoteMissing(const PlannedModule& planned, const std::string& arch,
                   const std::string& kernel, const std::string& reason);
  Status TakeResult(ModuleTask& task);
  void LeaveOut(const ModuleTask& task);
  Status CheckComplete(const ModuleTask& task, const CodeObject& object) const;
  Status AddToArchive(const ModuleTask& task, Bytes code);
  void NoteKernels(const ModuleTask& task, const CodeObject& object);
  Status EndCompile();
  Status AddFallback();

  const ConversionOptions options_;
  const std::string input_name_;  // for messages
  // First half of the keys in the archives: the output's file name, also
  // where a group is given, so that two programs in one group never find
  // each other's code.
  const std::string kernel_name_;
  const ArchivePlace place_;
  Reporter& reporter_;
  ConversionSummary summary_;
  std::optional<rewriter::Binary> binary_;
  // Instead of it.
  MappedFile module_file_;
  std::optional<images::Fatbin> module_fatbin_;
  std::vector<std::unique_ptr<PlannedModule>> modules_;
  rewriter::Plan plan_;

  std::map<std::string, kpack::ArchiveWriter> own_archives_;  // by target
  std::map<std::string, kpack::ArchiveWriter>& archives_;     // or the caller's
  std::optional<OutputFile> program_;
  // Files of --bundle and the folders that must be there for them.
  std::vector<OutputFile> bundled_;
  std::vector<std::string> made_folders_;
  std::vector<std::string> kept_;  // files, until the conversion is done
  bool failed_ = false;
  bool compiled_ = false;
  bool holds_nothing_ = false;
  std::vector<std::string> answered_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_CONVERSION_H_
