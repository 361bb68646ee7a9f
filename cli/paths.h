// Where the parts of an installation are, seen from the running program. The
// build tree has the same layout.
#ifndef CERBERUS_CLI_PATHS_H_
#define CERBERUS_CLI_PATHS_H_

#include <string>

#include "support/result.h"

namespace cerberus::cli {

std::string FolderOf(const std::string& path);  // "." for a bare name
std::string BaseName(const std::string& path);

// Whether both name one file that is there.
bool SameFile(const std::string& a, const std::string& b);

// Whether one folder is the other or below it; both are there.
bool IsWithin(const std::string& inner, const std::string& outer);

// Where the archives of a program are: ".kpack/app-gfx1100.kpack" beside it,
// and how its marker says so.
inline constexpr char kArchiveFolder[] = ".kpack";
std::string ArchiveFile(const std::string& group, const std::string& target);
std::string ArchiveSearchPath(const std::string& group);

// The same for a folder of the user's choice.
struct ArchivePlace {
  std::string folder;        // "out/lib/kpack"
  std::string from_program;  // "../lib/kpack", of the program out/bin/app

  std::string File(const std::string& group, const std::string& target) const;
  std::string SearchPath(const std::string& group) const;
};
// `folder` is "" for the folder beside the program. Links are followed as far
// as there is something: a program is known to its driver by its real path.
ArchivePlace PlaceArchives(const std::string& program,
                           const std::string& folder);

// The folder of the running program, links resolved.
Result<std::string> ProgramFolder();
// The compiler's child process: cerberus-jit beside this program.
Result<std::string> FindJit();
// The private folder that holds the CUDA driver stub.
Result<std::string> FindStubFolder();

// The parts of an installation, relative to the folder above bin/.
Result<std::string> StubFolderInPrefix();  // "lib/cerberus"
extern const char kJitInPrefix[];          // "bin/cerberus-jit"

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PATHS_H_
