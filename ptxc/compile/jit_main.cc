// cerberus-jit: one PTX file to one code object, in a process of its own.
//
// The driver stub and `cerberus compile` start it, because LLVM can crash:
// here a crash becomes a message and an exit code, and the program that asked
// goes on. It sees only the C API, as any other user of the library would.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "cerberus/ptxc.h"
#include "ptxc/compile/serve.h"
#include "support/mapped_file.h"
#include "support/output_file.h"

namespace {

// docs: exit codes of every cerberus program.
constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsageError = 2;
constexpr int kSomeKernelsMissing = 3;

constexpr char kHelp[] =
    R"(usage: cerberus-jit --arch TARGET [options] -o OUT IN.ptx

Compiles one PTX module to one AMD code object. '-' is stdin or stdout.

  --arch TARGET         target id, e.g. gfx1100 or gfx942:xnack-
  -o OUT                output file, replaced only when complete
  --emit KIND           hsaco (default), obj, asm, ll, ll-raw
  --keep-going          leave out kernels that cannot be compiled (exit 3)
  --shared-overflow HOW error (default), or global: shared memory above the
                        hardware's lies in device memory, slow
  --lanes HOW           auto (default), or serial: lanes of a warp go on one by
                        one wherever they might wait for each other, slow
  --kernel NAME         this kernel (mangled) alone, to be loaded beside code
                        for others; fails where it takes addresses of code
  --variables WHERE     here (default), or of a module in several code objects:
                        apart, the kernels without the variables they share,
                        as --kernel has it, or alone, those without kernels
  -O0 -O1 -O2           optimisation, -O2 is the default
  --jobs N              threads for a large module; default: processors
  --compile-seconds S   processor time for a kernel of up to 10,000 PTX
                        instructions, larger ones as many times more; 300,
                        0: no limit
  --parts DIR           keeps what is compiled of a module until all is
  --progress-fd N       writes there how far it is: kernels done, kernels,
                        PTX instructions done, PTX instructions
  --slots-fd N          of the jobs, those after the first are taken from this
                        eventfd, a semaphore, and given back
  --processor-seconds N at most so much processor time in this process
  --memory-bytes N      at most so much address space in each process
  --serve N             alone: answers a program's requests over this socket
  --verify-each         check the IR after every pass
  --time-trace FILE     where the time went, as JSON; - is a line on stderr
  --diagnostics FORM    text (default) or json, one object a line, on stderr
  --version             version and launch ABI
  --help                this text

exit: 0 done, 1 failed, 2 wrong usage, 3 done but some kernels are missing
)";

struct Arguments {
  std::string arch;
  std::string input;
  std::string output;
  cerberus_ptxc_emit emit = CERBERUS_PTXC_EMIT_HSACO;
  int opt_level = 0;
  // Nobody else compiles while a program waits for the driver.
  int jobs = static_cast<int>(std::thread::hardware_concurrency());
  bool keep_going = false;
  bool verify_each = false;
  bool shared_overflow = false;
  bool serial_lanes = false;
  std::string kernel;
  int variables = 0;  // as the C interface has it
  std::string time_trace;
  bool json = false;
  unsigned seconds = 300;
  std::string parts;
  int progress = -1;
  int slots = 0;
  std::uint64_t processor_seconds = 0;
  std::uint64_t memory_bytes = 0;
};

int UsageError(const std::string& message) {
  std::fprintf(stderr, "cerberus-jit: error: %s\n", message.c_str());
  std::fprintf(stderr, "try 'cerberus-jit --help'\n");
  return kUsageError;
}

bool ParseEmit(std::string_view text, cerberus_ptxc_emit* emit) {
  struct Row {
    std::string_view name;
    cerberus_ptxc_emit emit;
  };
  constexpr Row kRows[] = {{"hsaco", CERBERUS_PTXC_EMIT_HSACO},
                           {"obj", CERBERUS_PTXC_EMIT_OBJ},
                           {"asm", CERBERUS_PTXC_EMIT_ASM},
                           {"ll", CERBERUS_PTXC_EMIT_LL},
                           {"ll-raw", CERBERUS_PTXC_EMIT_LL_RAW}};
  for (const Row& row : kRows) {
    if (row.name == text) {
      *emit = row.emit;
      return true;
    }
  }
  return false;
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && at == end;
}

// Takes "--name value" and "--name=value".
class ArgumentReader {
 public:
  explicit ArgumentReader(const std::vector<std::string>& args) : args_(args) {}
  bool Next(std::string* arg) {
    if (at_ == args_.size()) return false;
    *arg = args_[at_++];
    has_value_ = false;
    const std::size_t equals = arg->find('=');
    if (arg->compare(0, 2, "--") == 0 && equals != std::string::npos) {
      value_ = arg->substr(equals + 1);
      arg->resize(equals);
      has_value_ = true;
    }
    return true;
  }
  bool Value(std::string* value) {
    if (has_value_) {
      *value = value_;
      return true;
    }
    if (at_ == args_.size()) return false;
    *value = args_[at_++];
    return true;
  }

 private:
  const std::vector<std::string>& args_;
  std::size_t at_ = 0;
  std::string value_;
  bool has_value_ = false;
};

constexpr int kGoOn = -1;  // else: exit with it

int TakeValue(const std::string& arg, const std::string& value,
              Arguments* out) {
  if (arg == "--arch") {
    out->arch = value;
  } else if (arg == "-o") {
    out->output = value;
  } else if (arg == "--jobs") {
    out->jobs = std::atoi(value.c_str());
    if (out->jobs < 1) return UsageError("--jobs is not a number");
  } else if (arg == "--compile-seconds") {
    if (!ParseNumber(value, &out->seconds)) {
      return UsageError("--compile-seconds is not a number");
    }
  } else if (arg == "--parts") {
    out->parts = value;
  } else if (arg == "--kernel") {
    out->kernel = value;
  } else if (arg == "--variables") {
    if (value != "here" && value != "apart" && value != "alone") {
      return UsageError("unknown --variables '" + value + "'");
    }
    out->variables = value == "here" ? 0 : value == "apart" ? 1 : 2;
  } else if (arg == "--progress-fd" || arg == "--slots-fd") {
    unsigned fd = 0;
    if (!ParseNumber(value, &fd)) return UsageError(arg + " is not a number");
    (arg == "--progress-fd" ? out->progress : out->slots) =
        static_cast<int>(fd);
  } else if (arg == "--processor-seconds" || arg == "--memory-bytes") {
    if (!ParseNumber(value, arg == "--memory-bytes"
                                ? &out->memory_bytes
                                : &out->processor_seconds)) {
      return UsageError(arg + " is not a number");
    }
  } else if (arg == "--time-trace") {
    out->time_trace = value;
  } else if (arg == "--shared-overflow") {
    if (value != "error" && value != "global") {
      return UsageError("unknown --shared-overflow '" + value + "'");
    }
    out->shared_overflow = value == "global";
  } else if (arg == "--lanes") {
    if (value != "auto" && value != "serial") {
      return UsageError("unknown --lanes '" + value + "'");
    }
    out->serial_lanes = value == "serial";
  } else if (arg == "--emit") {
    if (!ParseEmit(value, &out->emit)) {
      return UsageError("unknown --emit '" + value + "'");
    }
  } else if (value == "json" || value == "text") {
    out->json = value == "json";
  } else {
    return UsageError("unknown --diagnostics '" + value + "'");
  }
  return kGoOn;
}

int ParseArguments(const std::vector<std::string>& args, Arguments* out) {
  ArgumentReader reader(args);
  std::string arg;
  std::string value;
  while (reader.Next(&arg)) {
    if (arg == "--help" || arg == "-h") {
      std::fputs(kHelp, stdout);
      return kDone;
    }
    if (arg == "--version") {
      std::printf("cerberus-jit %s (launch ABI %u)\n", cerberus_ptxc_version(),
                  cerberus_ptxc_launch_abi());
      return kDone;
    }
    if (arg == "--keep-going" || arg == "-k") {
      out->keep_going = true;
    } else if (arg == "--verify-each") {
      out->verify_each = true;
    } else if (arg == "-O0") {
      out->opt_level = -1;
    } else if (arg == "-O1" || arg == "-O2" || arg == "-O3") {
      out->opt_level = arg[2] - '0';
    } else if (arg == "--arch" || arg == "-o" || arg == "--emit" ||
               arg == "--diagnostics" || arg == "--time-trace" ||
               arg == "--jobs" || arg == "--shared-overflow" ||
               arg == "--lanes" || arg == "--compile-seconds" ||
               arg == "--parts" || arg == "--kernel" || arg == "--variables" ||
               arg == "--progress-fd" || arg == "--slots-fd" ||
               arg == "--processor-seconds" || arg == "--memory-bytes") {
      if (!reader.Value(&value)) return UsageError(arg + " needs a value");
      if (const int code = TakeValue(arg, value, out); code != kGoOn) {
        return code;
      }
    } else if (arg.size() > 1 && arg[0] == '-') {
      return UsageError("unknown option '" + arg + "'");
    } else if (out->input.empty()) {
      out->input = arg;
    } else {
      return UsageError("more than one input file");
    }
  }
  if (out->arch.empty()) return UsageError("--arch is missing");
  if (out->input.empty()) return UsageError("the input file is missing");
  if (!out->kernel.empty()) out->variables = 1;
  if (out->variables != 0 && out->emit != CERBERUS_PTXC_EMIT_HSACO) {
    return UsageError("--kernel and --variables go with --emit hsaco");
  }
  if (out->output.empty()) return UsageError("-o is missing");
  return kGoOn;
}

std::string JsonString(const char* text) {
  std::string out = "\"";
  for (const char* p = text; *p; ++p) {
    const unsigned char c = static_cast<unsigned char>(*p);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += *p;
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += *p;
    }
  }
  return out + '"';
}

const char* SeverityName(cerberus_ptxc_severity severity) {
  switch (severity) {
    case CERBERUS_PTXC_WARNING: return "warning";
    case CERBERUS_PTXC_NOTE: return "note";
    default: return "error";
  }
}

void PrintText(const cerberus_ptxc_diag* diag, void*) {
  std::fprintf(stderr, "cerberus-jit: %s: %s\n", SeverityName(diag->severity),
               diag->text);
}

void PrintJson(const cerberus_ptxc_diag* diag, void*) {
  std::fprintf(stderr,
               "{\"severity\":\"%s\",\"code\":%u,\"message\":%s,\"kernel\":%s,"
               "\"ptx_line\":%d,\"ptx_column\":%d,\"source_file\":%s,"
               "\"source_line\":%d,\"text\":%s}\n",
               SeverityName(diag->severity), diag->code,
               JsonString(diag->message).c_str(),
               JsonString(diag->kernel).c_str(), diag->ptx_line,
               diag->ptx_column, JsonString(diag->source_file).c_str(),
               diag->source_line, JsonString(diag->text).c_str());
}

bool ReadInput(const std::string& path, std::string* text) {
  if (path == "-") {
    char buffer[1 << 16];
    ssize_t got;
    while ((got = ::read(STDIN_FILENO, buffer, sizeof buffer)) != 0) {
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return false;
      text->append(buffer, static_cast<std::size_t>(got));
    }
    return true;
  }
  cerberus::Result<cerberus::MappedFile> file =
      cerberus::MappedFile::Open(path);
  if (!file) {
    std::fprintf(stderr, "cerberus-jit: error: %s\n",
                 file.error().ToString().c_str());
    return false;
  }
  text->assign(cerberus::AsText(file->bytes()));
  return true;
}

bool WriteTo(std::FILE* stream, const void* data, std::size_t size) {
  return std::fwrite(data, 1, size, stream) == size && std::fflush(stream) == 0;
}

bool WriteOutput(const std::string& path, const void* data, std::size_t size,
                 std::FILE* dash = stdout) {
  if (path == "-") return WriteTo(dash, data, size);
  cerberus::Status written =
      cerberus::WriteFile(path, {static_cast<const std::uint8_t*>(data), size});
  if (!written) {
    std::fprintf(stderr, "cerberus-jit: error: %s\n",
                 written.error().ToString().c_str());
  }
  return written.has_value();
}

// A line of always the same length at the begin of the file, which whoever
// waits reads whenever it likes.
void WriteProgress(const cerberus_ptxc_progress* now, void* user) {
  char line[128];
  const int size = std::snprintf(line, sizeof line, "%20zu %20zu %20zu %20zu\n",
                                 now->kernels_done, now->kernels,
                                 now->instructions_done, now->instructions);
  if (::pwrite(*static_cast<const int*>(user), line,
               static_cast<std::size_t>(size), 0) < 0) {
    // Nobody will know; the code comes all the same.
  }
}

std::string crash_message;

// A crash of the compiler is a failed compilation. Only what is safe in a
// signal handler: the message was prepared beforehand.
void OnCrash(int) {
  if (::write(2, crash_message.data(), crash_message.size()) < 0) {
    // Nowhere left to say it.
  }
  std::_Exit(kFailed);
}

void ContainCrashes(const std::string& input) {
  crash_message = "cerberus-jit: error: " + input +
                  ": the compiler crashed on this module\n";
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    std::signal(signal, OnCrash);
  }
}

// LLVM touches ten megabytes for the smallest module, and 2,400 page faults are
// a fifth of that module's time. Large pages make them five; the heap begins at
// one, and does not give memory back that it needs again for the next function.
void TakeLargePages() {
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  constexpr int kReserve = 64 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kReserve / 2);  // the most that glibc accepts
  ::mallopt(M_TRIM_THRESHOLD, 4 * kReserve);
  ::mallopt(M_TOP_PAD, kReserve);
  // More than is left of the heap, which therefore grows.
  void* grown = std::malloc(kLargePage);
  const auto top = reinterpret_cast<std::uintptr_t>(grown);
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  std::free(grown);
  // The first large page that malloc has not written to.
  const std::uintptr_t begin =
      (top + kLargePage + kLargePage) & ~(kLargePage - 1);
  if (grown == nullptr || begin >= end) return;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  // Keeps the small pages before it from being used.
  [[maybe_unused]] static void* volatile kept = std::malloc(begin - top);
}

int ExitCodeOf(cerberus_ptxc_status status) {
  switch (status) {
    case CERBERUS_PTXC_OK: return kDone;
    case CERBERUS_PTXC_SOME_KERNELS_FAILED: return kSomeKernelsMissing;
    case CERBERUS_PTXC_USAGE: return kUsageError;
    default: return kFailed;
  }
}

int Compile(const std::vector<std::string>& args) {
  Arguments arguments;
  const int early = ParseArguments(args, &arguments);
  if (early >= 0) return early;
  cerberus::LimitProcess(arguments.processor_seconds, arguments.memory_bytes);

  std::string text;
  if (!ReadInput(arguments.input, &text)) return kFailed;
  ContainCrashes(arguments.input);

  cerberus_ptxc_options options = {};
  options.size = sizeof options;
  options.arch = arguments.arch.c_str();
  options.emit = arguments.emit;
  options.keep_going = arguments.keep_going;
  options.opt_level = arguments.opt_level;
  options.verify_each = arguments.verify_each;
  options.shared_overflow = arguments.shared_overflow;
  options.serial_lanes = arguments.serial_lanes;
  options.jobs = arguments.jobs;
  options.slots_fd = arguments.slots;
  options.time_trace = !arguments.time_trace.empty();
  options.input_name =
      arguments.input == "-" ? "<stdin>" : arguments.input.c_str();
  options.on_diag = arguments.json ? PrintJson : PrintText;
  options.isolate = true;
  options.seconds = arguments.seconds;
  options.variables = arguments.variables;
  if (!arguments.kernel.empty()) {
    options.only_kernel = arguments.kernel.c_str();
  }
  if (!arguments.parts.empty()) options.parts_folder = arguments.parts.c_str();
  options.user = &arguments.progress;
  if (arguments.progress >= 0) options.on_progress = WriteProgress;

  cerberus_ptxc_result* result = nullptr;
  int exit_code = ExitCodeOf(
      cerberus_ptxc_compile(text.data(), text.size(), &options, &result));
  if ((exit_code == kDone || exit_code == kSomeKernelsMissing) &&
      !WriteOutput(arguments.output, cerberus_ptxc_result_data(result),
                   cerberus_ptxc_result_size(result))) {
    exit_code = kFailed;
  }
  const std::string trace =
      std::string(cerberus_ptxc_result_time_trace(result)) + '\n';
  if (options.time_trace &&
      !WriteOutput(arguments.time_trace, trace.data(), trace.size(), stderr)) {
    exit_code = kFailed;
  }
  cerberus_ptxc_result_free(result);
  return exit_code;
}

int ServeAt(std::string_view socket) {
  int fd = 0;
  if (!ParseNumber(socket, &fd)) return UsageError("--serve is not a number");
  return cerberus::Serve(fd, [](const std::vector<std::string>& args) {
    static const bool once = (TakeLargePages(), true);
    static_cast<void>(once);
    return Compile(args);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 2 && args[0] == "--serve") return ServeAt(args[1]);
  TakeLargePages();
  const int exit_code = Compile(args);
  std::fflush(nullptr);
  // The kernel frees faster than LLVM's destructors do.
  std::_Exit(exit_code);
}
