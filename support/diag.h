// Diagnostics: what every library reports and only cli/ prints.
//
// A message is lower case, has no full stop, and says what was found and what
// was expected. Where it happened is kept apart from the words, so that a
// terminal, a JSON report and a log can each show it in their own way.
#ifndef CERBERUS_SUPPORT_DIAG_H_
#define CERBERUS_SUPPORT_DIAG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cerberus {

enum class Severity : std::uint8_t { kError, kWarning, kNote };

// Stable classes of failure, for callers that must act on the kind and for
// `--json`. Numbers are never reused.
enum class DiagCode : std::uint16_t {
  kUnknown = 0,
  kIo = 1,              // the operating system refused
  kBadFormat = 2,       // bytes that do not follow their format
  kUnsupported = 3,     // well formed, but not something we handle
  kNoDeviceCode = 4,    // a binary without a fatbin
  kNoPtx = 5,           // a fatbin that holds machine code only
  kBadPtx = 6,          // PTX that does not parse or type-check
  kUnsupportedPtx = 7,  // PTX that parses, but cannot be lowered
  kCompiler = 8,        // LLVM or lld failed
  kUsage = 9,           // arguments that contradict each other
  kInternal = 10,       // our own check failed: a bug
};

// The position a message speaks of. Every part is optional.
struct Where {
  std::string file;          // path as the user gave it
  std::string section;       // e.g. ".nv_fatbin"
  std::int64_t offset = -1;  // byte offset within section (or file), -1: none
  std::string kernel;        // demangled name
  int ptx_line = 0;          // 1-based, 0: none
  int ptx_column = 0;        // 1-based, 0: none
  std::string source_file;   // CUDA file from .loc
  int source_line = 0;       // 1-based, 0: none

  // "libfoo.so: .nv_fatbin+0x1a40" or "libfoo.so: kernel 'scan(int*)':
  // ptx:57:9 (scan.cu:12)"; empty if nothing is known.
  std::string ToString() const;
};

struct Diag {
  Severity severity = Severity::kError;
  DiagCode code = DiagCode::kUnknown;
  Where where;
  std::string message;
  std::vector<std::string> notes;

  // "libfoo.so: .nv_fatbin+0x1a40: entry size 96 runs past …", notes not
  // included.
  std::string ToString() const;
};

// Short spellings for the common cases.
Diag MakeDiag(DiagCode code, std::string message);
Diag MakeDiag(DiagCode code, Where where, std::string message);
// An errno turned into words: "cannot open: No such file or directory".
Diag ErrnoDiag(const std::string& file, const std::string& what, int err);

// Where libraries send what does not stop them (warnings, several errors in
// one run). Must be callable from several threads if the library says so.
using DiagSink = std::function<void(const Diag&)>;

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_DIAG_H_
