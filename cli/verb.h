// A verb of the program: `cerberus <verb> …`, or `cerberus <group> <verb> …`.
//
// To add one: a verbs/cmd_<verb>.cc with a class like the others, its row in
// verbs.def, and tests/cli/verbs/<verb>.test with its help. A paragraph for the
// man page, if a line for each option is not enough, is docs/man/<verb>.mdoc.
#ifndef CERBERUS_CLI_VERB_H_
#define CERBERUS_CLI_VERB_H_

#include <memory>
#include <string>
#include <vector>

#include "cli/option_list.h"
#include "cli/reporter.h"

namespace cerberus::cli {

// What every verb takes.
struct CommonOptions {
  ReporterOptions report;
  bool json = false;
  std::string color = "auto";  // always, never
  bool help = false;
  bool help_all = false;
};

class Verb {
 public:
  virtual ~Verb() = default;
  // "convert"; "kpack list" of a verb in a group.
  virtual const char* name() const = 0;
  virtual const char* summary() const = 0;
  // Two command lines, one a line, for the end of the help.
  virtual const char* examples() const = 0;
  // A verb whose first argument that is no option begins a command line of its
  // own: how the usage line shows it ("APP [ARGS…]"); "" for others. `list` of
  // AddOptions has that command line in remaining().
  virtual const char* command() const { return ""; }
  virtual void AddOptions(OptionList& list) = 0;
  // Errors go to the reporter. Returns an ExitCode.
  virtual int Run(const CommonOptions& common, Reporter& reporter) = 0;
};

#define CERBERUS_VERB(Name) std::unique_ptr<Verb> Make##Name##Verb();
#define CERBERUS_VERB_GROUP(name, summary)
#include "cli/verbs.def"
#undef CERBERUS_VERB
#undef CERBERUS_VERB_GROUP

// All of them, in the order of verbs.def.
std::vector<std::unique_ptr<Verb>> MakeVerbs();

struct VerbGroup {
  const char* name;
  const char* summary;
};
// The group of a verb, null for a verb by itself.
const VerbGroup* GroupOf(const std::string& verb);
const VerbGroup* FindGroup(const std::string& name);
// The verb's name within its group.
std::string NameInGroup(const std::string& verb);
// "kpack-list": for the names of its files.
std::string HyphenedName(const std::string& verb);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_VERB_H_
