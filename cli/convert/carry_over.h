// Archives that several programs share by the name of their group.
#ifndef CERBERUS_CLI_CONVERT_CARRY_OVER_H_
#define CERBERUS_CLI_CONVERT_CARRY_OVER_H_

#include <set>
#include <string>

#include "kpack/writer.h"
#include "support/result.h"

namespace cerberus::cli {

// Takes over into `archive`, which will replace the one at its path, what that
// holds for other programs of the group that are in `folder`: their PTX is in
// no other place. `own_names` are the programs whose entries are new.
Status CarryOver(const std::string& group,
                 const std::set<std::string>& own_names,
                 const std::string& folder, kpack::ArchiveWriter& archive);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_CARRY_OVER_H_
