// --report of the verbs that convert or split.
#ifndef CERBERUS_CLI_REPORT_REPORT_OPTION_H_
#define CERBERUS_CLI_REPORT_REPORT_OPTION_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/option_list.h"
#include "cli/report/report.h"
#include "cli/reporter.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::cli {

class ReportOption {
 public:
  void AddTo(OptionList& list);
  // Makes the file, which has no name yet: fails early if there is no place
  // for it. It may neither be the input, nor in it, nor the output.
  Status Open(const std::string& input, const std::string& output);
  // If a report was asked for and its file made, gives it its name: also of a
  // run that failed. Returns `code`, or that of a failure.
  int Write(Report report, Reporter& reporter, int code);

 private:
  std::string path_;
  std::optional<OutputFile> file_;
};

// Of files that are there now.
FileSizes SizesOf(const std::vector<std::string>& paths);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_REPORT_REPORT_OPTION_H_
