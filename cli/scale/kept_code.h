// Compiled modules that are found again, by whoever compiles the same: files
// named by all that a module's code depends on, in the format of the JIT's
// cache.
#ifndef CERBERUS_CLI_SCALE_KEPT_CODE_H_
#define CERBERUS_CLI_SCALE_KEPT_CODE_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cache/jit_cache.h"
#include "cli/process.h"

namespace cerberus::cli {

struct CompileRequest;

struct CodeFolders {
  // Filled by `cerberus compile --into`, only read here.
  std::string given;
  // Shared by machines: modules without a missing kernel, for good.
  std::string cache;
  // Everything until the conversion is done. Empty: what took long, in the
  // cache of the JIT fallback.
  std::string own;
};

// Which compiler it is: the same on all machines that have the same one, and
// another for each build. `jit` is the path of cerberus-jit.
std::string CompilerBuild(const std::string& jit);

// The places of one module.
class KeptModule {
 public:
  struct Found {
    ProcessResult run;
    std::string of_no_use;  // a file to remove when all is done, or ""
  };

  KeptModule(const CodeFolders& folders, std::string_view build,
             const CompileRequest& request);

  std::optional<Found> Find() const;
  // Returns the file that is of no use when all is done, or "".
  std::string Keep(const ProcessResult& run,
                   std::chrono::steady_clock::duration took) const;
  // Where the compiler keeps finished parts of a module; or "".
  const std::string& parts_folder() const { return own_.folder(); }
  // Of a module in `given`.
  std::string GivenPath() const { return given_.PathOf(any_key_); }

 private:
  cache::JitCache given_, cache_, own_;
  bool own_is_all_ = false;
  // Of code that lacks no kernel, and of code that may.
  std::string whole_key_, any_key_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_SCALE_KEPT_CODE_H_
