// What verbs do that make wheels of a wheel.
#ifndef CERBERUS_CLI_PACKAGES_WHEEL_FILES_H_
#define CERBERUS_CLI_PACKAGES_WHEEL_FILES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "packager/wheel/wheel.h"
#include "support/bytes.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::cli {

// Makes the folder and those above it, as far as they are not there; adds them
// to `made_folders`, parents first.
Status MakeOutputFolder(const std::string& folder,
                        std::vector<std::string>& made_folders);

// Reads a file to its end, once, for its hash; one whose first bytes are
// `wanted` is unpacked meanwhile, into a file without a name that will be
// called `path`.
Result<std::optional<OutputFile>> ReadWheelFile(
    const packager::Wheel& wheel, const packager::ZipMember& member,
    const std::string& path, const std::function<bool(ByteSpan)>& wanted,
    std::string& hash);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PACKAGES_WHEEL_FILES_H_
