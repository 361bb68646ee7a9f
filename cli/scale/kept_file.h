// What a kept module's file holds: what a compiler that came to its end wrote.
//
//   the module's key, so that a file under another's name is found out
//   u64 exit code, u64 length of the messages
//   the messages, as JSON (cli/convert/compiler.h); the code, to the end
#ifndef CERBERUS_CLI_SCALE_KEPT_FILE_H_
#define CERBERUS_CLI_SCALE_KEPT_FILE_H_

#include <optional>
#include <string>

#include "cli/process.h"
#include "support/bytes.h"

namespace cerberus::cli {

Bytes WriteKeptFile(const std::string& key, const ProcessResult& run);

// Nothing if it is another module's, cut off, or of a compiler that failed.
std::optional<ProcessResult> ReadKeptFile(const std::string& key,
                                          ByteSpan bytes);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_SCALE_KEPT_FILE_H_
