// cerberus_texts: writes what is made of the command line's options.
//
//   cerberus_texts bash|zsh|fish OUT
//   cerberus_texts man OUT FOLDER    FOLDER has the prose, *.mdoc
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli/texts/describe.h"
#include "support/output_file.h"

namespace cerberus::cli {
namespace {

Status Write(int argc, char** argv) {
  const std::string kind = argc > 2 ? argv[1] : "";
  const std::vector<VerbText> verbs = DescribeVerbs();
  Result<std::string> text = Err(
      DiagCode::kUsage, "usage: cerberus_texts bash|zsh|fish|man OUT [FOLDER]");
  if (kind == "bash") text = BashCompletion(verbs);
  if (kind == "zsh") text = ZshCompletion(verbs);
  if (kind == "fish") text = FishCompletion(verbs);
  if (kind == "man" && argc > 3) text = ManPage(verbs, argv[3]);
  if (!text) return Err(text.error());
  return WriteFile(argv[2], AsBytes(*text));
}

}  // namespace
}  // namespace cerberus::cli

int main(int argc, char** argv) {
  try {
    const cerberus::Status done = cerberus::cli::Write(argc, argv);
    if (done) return 0;
    std::cerr << "cerberus_texts: " << done.error().ToString() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "cerberus_texts: " << error.what() << "\n";
  }
  return 1;
}
