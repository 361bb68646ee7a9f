// A report for people: one page of HTML that needs nothing else, no script
// either. What it says is in --json, too.
#ifndef CERBERUS_CLI_REPORT_REPORT_H_
#define CERBERUS_CLI_REPORT_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "cli/json.h"
#include "cli/report/findings.h"
#include "support/diag.h"

namespace cerberus::cli {

struct Report {
  struct FileRow {
    std::string path;
    std::string fate;    // "converted", "left as it is"
    std::string reason;  // why it was left, or ""
  };

  std::string verb;  // "convert-wheel"
  std::string input;
  std::string output;
  std::vector<std::string> targets;
  int exit_code = 0;
  bool dry_run = false;
  // Numbers with their names, as the verb's summary has them.
  std::vector<std::pair<std::string, std::string>> numbers;
  std::vector<FileRow> files;
  FileSizes written;
  Findings findings;
  std::vector<std::string> plan;  // of a dry run
  std::vector<Diag> messages;
};

// The same input gives the same bytes: no time, no host.
std::string ReportPage(const Report& report);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_REPORT_REPORT_H_
