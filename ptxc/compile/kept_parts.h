// Parts of a program that were compiled before a run was cut short: files in a
// folder, one for each, until the program is done. What makes a file's name is
// all that its content depends on. Nothing of it is an error: what cannot be
// kept or found is compiled.
#ifndef CERBERUS_PTXC_COMPILE_KEPT_PARTS_H_
#define CERBERUS_PTXC_COMPILE_KEPT_PARTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxc/compile/compile.h"
#include "ptxc/compile/outcome.h"
#include "ptxc/compile/parts.h"

namespace cerberus::ptx {

class KeptParts {
 public:
  // None if there is no folder.
  KeptParts(std::string folder, std::string_view ptx,
            const CompileOptions& options);

  bool Has(const ProgramPart& part) const;
  std::optional<PartOutcome> Find(const ProgramPart& part);
  void Keep(const ProgramPart& part, const PartOutcome& outcome);
  // The program is done: removes what was found and kept.
  void Forget();

 private:
  std::string PathOf(const ProgramPart& part) const;

  const std::string folder_;
  Bytes program_;  // a hash of its text and the options that matter
  std::vector<std::string> paths_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_COMPILE_KEPT_PARTS_H_
