// What completions and the man page are made of: the verbs and their options
// as the command line's own parser knows them.
#ifndef CERBERUS_CLI_TEXTS_DESCRIBE_H_
#define CERBERUS_CLI_TEXTS_DESCRIBE_H_

#include <string>
#include <vector>

#include "support/result.h"

namespace cerberus::cli {

// What a value is, as its name in the help says.
enum class ValueKind {
  kNone,  // a flag
  kChoice,
  kTargets,  // several, with commas between them
  kTarget,
  kDevice,  // auto, hip, nvidia, emulator or targets
  kFile,
  kFolder,
  kOther,
};

struct OptionText {
  std::vector<std::string> short_names;  // "o"
  std::vector<std::string> long_names;   // "output"
  std::string value;                     // "OUT", "" for a flag
  ValueKind kind = ValueKind::kNone;
  std::vector<std::string> choices;
  std::string description;  // one line
};

struct VerbText {
  std::string name;
  std::string summary;
  std::string usage;                // behind "cerberus "
  std::vector<OptionText> options;  // of all groups, without positional ones
};

std::vector<VerbText> DescribeVerbs();
// Names of the options that every verb has: "output".
std::vector<std::string> CommonOptionNames();
// Targets as --arch takes them.
std::vector<std::string> TargetNames();

std::string BashCompletion(const std::vector<VerbText>& verbs);
std::string ZshCompletion(const std::vector<VerbText>& verbs);
std::string FishCompletion(const std::vector<VerbText>& verbs);

// `folder` holds name.mdoc, head.mdoc, tail.mdoc, all-verbs.mdoc and, of verbs
// that need more than a line for each option, <verb>.mdoc. Errors: a file that
// is not there, one of a verb that is not, an option that its verb does not
// have.
Result<std::string> ManPage(const std::vector<VerbText>& verbs,
                            const std::string& folder);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_TEXTS_DESCRIBE_H_
