// Files that become entries of an archive, and the names that entries have as
// files. `cerberus kpack create` of what `extract` wrote has the same entries.
#ifndef CERBERUS_CLI_VERBS_KPACK_KPACK_INPUTS_H_
#define CERBERUS_CLI_VERBS_KPACK_KPACK_INPUTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "kpack/edit.h"
#include "support/result.h"

namespace cerberus::cli {

// What one argument stands for: "[KEY=]FILE", a code object, HIP bundle or PTX,
// or a folder with files TARGET/KEY.TYPE, their names as EntryFileName makes
// them. Without KEY it is the file's name; "#0" is added where no number is.
Result<std::vector<kpack::NewEntry>> ReadKpackInputs(
    const std::string& argument);

// "gfx1100/lib%2Fx.so#0.hsaco": bytes that no name of a file may have, or that
// shells and other systems take badly, as %XX.
std::string EntryFileName(std::string_view key, std::string_view arch,
                          std::string_view type);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_VERBS_KPACK_KPACK_INPUTS_H_
