// ptxc-opt: runs passes of ptxc/passes on LLVM IR, one behind the other, as
// LLVM's opt runs its own. For tests: the text in, the text out.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "ptxc/backend/codegen.h"
#include "ptxc/passes/addresses.h"
#include "ptxc/passes/float_ranges.h"
#include "ptxc/passes/growth/ended_waves.h"
#include "ptxc/passes/growth/freezes.h"
#include "ptxc/passes/growth/invariants.h"
#include "ptxc/passes/growth/irreducible.h"
#include "ptxc/passes/growth/ladders.h"
#include "ptxc/passes/growth/long_blocks.h"
#include "ptxc/passes/growth/mask_search.h"
#include "ptxc/passes/growth/sinking.h"
#include "ptxc/passes/growth/uniform_sums.h"
#include "ptxc/passes/kernel_inputs.h"
#include "ptxc/passes/lanes/joins.h"
#include "ptxc/passes/lanes/lane_progress.h"
#include "ptxc/passes/lanes/waves.h"
#include "ptxc/passes/lanes/whole_loops.h"
#include "ptxc/passes/local_memory.h"
#include "ptxc/passes/phi_offsets.h"
#include "ptxc/passes/repairs/carries.h"
#include "ptxc/passes/repairs/exact_floats.h"
#include "ptxc/passes/repairs/own_halves.h"
#include "ptxc/passes/repairs/unset_registers.h"
#include "ptxc/passes/shared_window.h"
#include "ptxc/passes/shuffles.h"
#include "ptxc/passes/table_reads.h"
#include "support/output_file.h"
#include "support/targets/target_table.h"

namespace cerberus::ptx {
namespace {

// docs: exit codes of every cerberus program.
constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsageError = 2;

struct Arguments {
  std::vector<std::string> passes;
  std::string target = "gfx1100";
  std::string input;
  std::string output = "-";
  bool text = false;
  int opt_level = 2;
  WaveOptions waves;
  SharedWindowOptions shared;
  LaneOptions lanes;
};

// A module, and what passes need beside it.
class Session {
 public:
  Session(const Arguments& arguments, llvm::Module& module,
          llvm::TargetMachine& machine)
      : arguments_(arguments), module_(module), machine_(machine) {
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules_);
    builder.registerCGSCCAnalyses(call_graphs_);
    builder.registerFunctionAnalyses(functions_);
    builder.registerLoopAnalyses(loops_);
    builder.crossRegisterProxies(loops_, functions_, call_graphs_, modules_);
  }

  llvm::Module& module() { return module_; }
  llvm::TargetMachine& machine() { return machine_; }
  const Arguments& arguments() const { return arguments_; }
  const TargetRow& target() const {
    return *FindTarget(machine_.getTargetCPU().str());
  }

  template <typename Pass>
  void RunOnModule(Pass pass) {
    llvm::ModulePassManager passes;
    passes.addPass(std::move(pass));
    passes.run(module_, modules_);
  }
  template <typename Pass>
  void RunOnFunctions(Pass pass) {
    RunOnModule(llvm::createModuleToFunctionPassAdaptor(std::move(pass)));
  }
  // For what is a function and no pass, which says nothing of analyses.
  void Forget() {
    modules_.invalidate(module_, llvm::PreservedAnalyses::none());
  }

  static void Say(const char* severity, llvm::StringRef function,
                  const llvm::Twine& text) {
    llvm::errs() << severity << ": " << function << ": " << text << '\n';
  }

 private:
  const Arguments& arguments_;
  llvm::Module& module_;
  llvm::TargetMachine& machine_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager call_graphs_;
  llvm::ModuleAnalysisManager modules_;
};

void RunChooseWaves(Session& session) {
  WaveOptions options = session.arguments().waves;
  options.wave_size = session.target().wave_size;
  session.RunOnModule(ChooseWaves(options));
}

void RunLaneProgress(Session& session) {
  std::map<std::string, std::vector<std::string>> warnings;
  session.RunOnFunctions(LaneProgress(session.arguments().lanes, &warnings));
  for (const auto& [function, texts] : warnings) {
    for (const std::string& text : texts) {
      Session::Say("warning", function, text);
    }
  }
}

void RunMoveSharedMemory(Session& session) {
  SharedWindowOptions options = session.arguments().shared;
  if (options.limit == UINT32_MAX) options.limit = session.target().lds_bytes;
  std::map<std::string, KernelShared> kernels;
  session.RunOnModule(MoveSharedMemory(options, &kernels));
  for (const auto& [kernel, shared] : kernels) {
    if (!shared.refused.empty()) {
      Session::Say("warning", kernel, shared.refused);
      continue;
    }
    if (shared.own_bytes != 0) {
      Session::Say("note", kernel,
                   llvm::Twine(shared.own_bytes) + " bytes of the compiler's");
    }
    if (shared.window) {
      Session::Say("note", kernel,
                   llvm::Twine(*shared.window) +
                       " bytes in front of dynamic shared memory" +
                       (shared.second_form ? ", in a second form" : "") +
                       (shared.clusters ? ", for clusters" : ""));
    } else if (shared.clusters) {
      Session::Say("note", kernel, "no clusters of several blocks");
    }
  }
}

void RunResolveWaves(Session& session) {
  WaveOptions options = session.arguments().waves;
  options.wave_size = session.target().wave_size;
  std::map<std::string, KernelWaves> kernels;
  session.RunOnModule(ResolveWaves(options, &kernels));
  for (const auto& [kernel, waves] : kernels) {
    Session::Say("note", kernel,
                 waves.warps_per_wave == 2 ? "two warps in each wave"
                 : waves.why_one.empty()
                     ? "one warp in each wave"
                     : "one warp in each wave: " + waves.why_one);
  }
}

void PrintLocalMemory(Session& session) {
  const TargetRow& target = session.target();
  for (const llvm::Function& function : session.module()) {
    if (function.getCallingConv() != llvm::CallingConv::AMDGPU_KERNEL) continue;
    Session::Say(
        "note", function.getName(),
        llvm::Twine(LocalBytes(function)) +
            " bytes of local memory of at most " +
            llvm::Twine(MostLocalBytes(target.processor, target.wave_size)));
  }
}

// In the order in which ptxc has them.
struct PassRow {
  const char* name;
  void (*run)(Session& session);
};
constexpr PassRow kPasses[] = {
    {"zero-unset-registers",
     [](Session& s) { s.RunOnFunctions(ZeroUnsetRegisters()); }},
    {"drop-freezes", [](Session& s) { s.RunOnFunctions(DropFreezes()); }},
    {"drop-subnormal-care",
     [](Session& s) { s.RunOnFunctions(DropSubnormalCare()); }},
    {"flush-constants", [](Session& s) { s.RunOnFunctions(FlushConstants()); }},
    {"move-shared-memory", RunMoveSharedMemory},
    {"choose-waves", RunChooseWaves},
    {"lane-progress", RunLaneProgress},
    {"inline-joins", [](Session& s) { s.RunOnModule(InlineJoins()); }},
    {"resolve-waves", RunResolveWaves},
    {"keep-loops-whole",
     [](Session& s) { s.RunOnFunctions(KeepLoopsWhole()); }},
    {"find-pointers", [](Session& s) { s.RunOnFunctions(FindPointers()); }},
    {"choose-shuffles",
     [](Session& s) {
       s.RunOnFunctions(ChooseShuffles(s.target().wave_size));
     }},
    {"hoist-invariants",
     [](Session& s) { s.RunOnFunctions(HoistInvariants()); }},
    {"cut-long-blocks", [](Session& s) { s.RunOnFunctions(CutLongBlocks()); }},
    {"sink-within-bounds",
     [](Session& s) { s.RunOnFunctions(SinkWithinBounds()); }},
    {"hold-sums", [](Session& s) { s.RunOnFunctions(HoldSums()); }},
    {"read-variable-table",
     [](Session& s) { s.RunOnModule(ReadVariableTable()); }},
    {"rejoin-ended-waves",
     [](Session& s) { s.RunOnFunctions(RejoinEndedWaves()); }},
    {"cut-irreducible", [](Session& s) { s.RunOnFunctions(CutIrreducible()); }},
    {"join-offsets", [](Session& s) { s.RunOnFunctions(JoinOffsets()); }},
    {"cut-ladders", [](Session& s) { s.RunOnFunctions(CutLadders()); }},
    {"bound-mask-search",
     [](Session& s) {
       s.RunOnFunctions(BoundMaskSearch(s.target().wave_size));
     }},
    {"order-uniform-sums",
     [](Session& s) { s.RunOnFunctions(OrderUniformSums()); }},
    {"keep-floats-exact",
     [](Session& s) {
       KeepFloatsExact(s.module());
       s.Forget();
     }},
    {"mark-kernel-inputs",
     [](Session& s) {
       MarkKernelInputs(s.module());
       s.Forget();
     }},
    {"print-local-memory", PrintLocalMemory},
    {"keep-own-halves",
     [](Session& s) {
       KeepOwnHalves(s.module(), s.machine());
       s.Forget();
     }},
    {"keep-carries",
     [](Session& s) {
       KeepCarries(s.module());
       s.Forget();
     }},
};

constexpr char kHelp[] =
    R"(usage: ptxc-opt --passes=NAME[,NAME...] [options] IN

Runs passes of ptxc on a module of LLVM IR, text or bitcode, in the order
given. '-' is stdin or stdout.

  --passes NAMES        of those below
  --target TARGET       target id; default: gfx1100
  -o OUT                output file; default: -
  -S                    text instead of bitcode
  -O0 -O1 -O2           of the target's machine, -O2 is the default
  --one-warp-per-wave   resolve-waves: also where two could share one
  --serial-lanes        lane-progress: one by one, all functions
  --shared-overflow HOW move-shared-memory: error (default), global, always
  --shared-limit BYTES  move-shared-memory: default: what the target has
  --help                this text

What passes say of functions goes to stderr.

passes:
)";

std::string KnownPasses(const char* before) {
  std::string text;
  for (const PassRow& row : kPasses) {
    text += before;
    text += row.name;
    text += '\n';
  }
  return text;
}

int UsageError(const std::string& message) {
  std::fprintf(stderr, "ptxc-opt: error: %s\n", message.c_str());
  std::fprintf(stderr, "known passes:\n%s", KnownPasses("  ").c_str());
  std::fprintf(stderr, "try 'ptxc-opt --help'\n");
  return kUsageError;
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "ptxc-opt: error: %s\n", message.c_str());
  return kFailed;
}

const PassRow* FindPass(llvm::StringRef name) {
  for (const PassRow& row : kPasses) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::optional<std::string> SetOption(llvm::StringRef name,
                                     const std::string& value, Arguments* out) {
  if (name == "--passes") {
    llvm::SmallVector<llvm::StringRef, 4> names;
    llvm::SplitString(value, names, ",");
    for (const llvm::StringRef pass : names) out->passes.push_back(pass.str());
  } else if (name == "--target") {
    out->target = value;
  } else if (name == "-o") {
    out->output = value;
  } else if (name == "--shared-limit") {
    if (llvm::StringRef(value).getAsInteger(10, out->shared.limit)) {
      return "--shared-limit is not a number";
    }
  } else if (value == "error") {
    out->shared.overflow = SharedOverflow::kError;
  } else if (value == "global") {
    out->shared.overflow = SharedOverflow::kGlobal;
  } else if (value == "always") {
    out->shared.overflow = SharedOverflow::kAlways;
  } else {
    return "unknown --shared-overflow '" + value + "'";
  }
  return std::nullopt;
}

// -1: go on; else exit with it.
int ParseArguments(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    std::optional<std::string> value;
    const std::size_t equals = arg.find('=');
    if (arg.starts_with("--") && equals != std::string::npos) {
      value = arg.substr(equals + 1);
      arg.resize(equals);
    }
    if (arg == "--help" || arg == "-h") {
      std::fputs(kHelp, stdout);
      std::fputs(KnownPasses("  ").c_str(), stdout);
      return kDone;
    }
    if (arg == "-S") {
      out->text = true;
    } else if (arg == "-O0" || arg == "-O1" || arg == "-O2") {
      out->opt_level = arg[2] - '0';
    } else if (arg == "--serial-lanes") {
      out->lanes.serial = true;
    } else if (arg == "--one-warp-per-wave") {
      out->waves.never_pack = true;
    } else if (arg == "--passes" || arg == "--target" || arg == "-o" ||
               arg == "--shared-overflow" || arg == "--shared-limit") {
      if (!value && ++i == argc) return UsageError(arg + " needs a value");
      if (!value) value = argv[i];
      if (const auto error = SetOption(arg, *value, out)) {
        return UsageError(*error);
      }
    } else if (arg.size() > 1 && arg[0] == '-') {
      return UsageError("unknown option '" + arg + "'");
    } else if (out->input.empty()) {
      out->input = arg;
    } else {
      return UsageError("more than one input file");
    }
  }
  if (out->passes.empty()) return UsageError("--passes is missing");
  for (const std::string& name : out->passes) {
    if (!FindPass(name)) return UsageError("unknown pass '" + name + "'");
  }
  if (out->input.empty()) return UsageError("the input file is missing");
  return -1;
}

// Empty if the module is well formed.
std::string Verify(const llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  return llvm::verifyModule(module, &stream) ? problems : "";
}

Status Write(const llvm::Module& module, const Arguments& arguments) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  if (arguments.text) {
    module.print(stream, nullptr);
  } else {
    llvm::WriteBitcodeToFile(module, stream);
  }
  if (arguments.output != "-") {
    return WriteFile(
        arguments.output,
        {reinterpret_cast<const std::uint8_t*>(buffer.data()), buffer.size()});
  }
  if (std::fwrite(buffer.data(), 1, buffer.size(), stdout) != buffer.size() ||
      std::fflush(stdout) != 0) {
    return Err(DiagCode::kIo, "cannot write to stdout");
  }
  return {};
}

int Main(int argc, char** argv) {
  Arguments arguments;
  const int early = ParseArguments(argc, argv, &arguments);
  if (early >= 0) return early;

  const Result<TargetId> target = TargetId::Parse(arguments.target);
  if (!target) return UsageError(target.error().ToString());
  const Result<std::unique_ptr<llvm::TargetMachine>> machine =
      CreateMachine(*target, arguments.opt_level);
  if (!machine) return UsageError(machine.error().ToString());

  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::string layout =
      (*machine)->createDataLayout().getStringRepresentation();
  const std::unique_ptr<llvm::Module> module = llvm::parseIRFile(
      arguments.input, problem, context,
      llvm::ParserCallbacks(
          [&](llvm::StringRef, llvm::StringRef) -> std::optional<std::string> {
            return layout;
          }));
  if (!module) {
    problem.print("ptxc-opt", llvm::errs());
    return kFailed;
  }
  module->setTargetTriple((*machine)->getTargetTriple());
  if (const std::string why = Verify(*module); !why.empty()) {
    return Fail(arguments.input + ": not well formed: " + why);
  }

  Session session(arguments, *module, **machine);
  for (const std::string& name : arguments.passes) {
    FindPass(name)->run(session);
    if (const std::string why = Verify(*module); !why.empty()) {
      return Fail(arguments.input + ": not well formed behind " + name + ": " +
                  why);
    }
  }
  const Status written = Write(*module, arguments);
  return written ? kDone : Fail(written.error().ToString());
}

}  // namespace
}  // namespace cerberus::ptx

int main(int argc, char** argv) { return cerberus::ptx::Main(argc, argv); }
