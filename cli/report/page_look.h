// The style sheet and the script of a report.
#ifndef CERBERUS_CLI_REPORT_PAGE_LOOK_H_
#define CERBERUS_CLI_REPORT_PAGE_LOOK_H_

namespace cerberus::cli {

extern const char kPageStyle[];
// Sorts tables and searches in the list of kernels, whose controls it shows.
extern const char kPageScript[];

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_REPORT_PAGE_LOOK_H_
