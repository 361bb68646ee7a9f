// A verb of the program: `cerberus <verb> …`.
//
// To add one: a cmd_<verb>.cc with a class like the others, its Make function
// here, its line in main.cc; and its help text in tests/cli/help.
#ifndef CERBERUS_CLI_VERB_H_
#define CERBERUS_CLI_VERB_H_

#include <memory>

#include "cli/reporter.h"

namespace CLI {
class App;
}

namespace cerberus::cli {

// What every verb takes.
struct CommonOptions {
  ReporterOptions report;
  bool json = false;
};

class Verb {
 public:
  virtual ~Verb() = default;
  virtual const char* name() const = 0;
  virtual const char* summary() const = 0;
  // Two command lines, one a line, for the end of the help.
  virtual const char* examples() const = 0;
  // A verb whose first argument that is no option begins a command line of its
  // own: how the usage line shows it ("APP [ARGS…]"); "" for others. `app` of
  // AddOptions has that command line in remaining().
  virtual const char* command() const { return ""; }
  virtual void AddOptions(CLI::App& app) = 0;
  // Errors go to the reporter. Returns an ExitCode.
  virtual int Run(const CommonOptions& common, Reporter& reporter) = 0;
};

std::unique_ptr<Verb> MakeCacheVerb();
std::unique_ptr<Verb> MakeCompileVerb();
std::unique_ptr<Verb> MakeConvertVerb();
std::unique_ptr<Verb> MakeConvertWheelVerb();
std::unique_ptr<Verb> MakeDoctorVerb();
std::unique_ptr<Verb> MakeExtractVerb();
std::unique_ptr<Verb> MakeListVerb();
std::unique_ptr<Verb> MakeRunVerb();
std::unique_ptr<Verb> MakeSplitVerb();
std::unique_ptr<Verb> MakeVerifyVerb();

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_VERB_H_
