#include "cli/report/report_option.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/paths.h"

namespace cerberus::cli {

void ReportOption::AddTo(OptionList& list) {
  list.Add("--report", path_, "write what was done as a page of HTML")
      .ValueName("FILE")
      .Group(kGroupDiagnostics);
}

Status ReportOption::Open(const std::string& input, const std::string& output) {
  if (path_.empty()) return {};
  std::error_code error;
  if (SameFile(path_, input) || (std::filesystem::is_directory(input, error) &&
                                 IsWithin(FolderOf(path_), input))) {
    return Err(DiagCode::kUsage,
               fmt::format("the report '{}' would be in the place of the "
                           "input, which is never changed",
                           path_));
  }
  if (path_ == output || SameFile(path_, output)) {
    return Err(
        DiagCode::kUsage,
        fmt::format("the report '{}' would be in the place of the output",
                    path_));
  }
  CERB_TRY(file_, OutputFile::Create(path_));
  return {};
}

int ReportOption::Write(Report report, Reporter& reporter, int code) {
  if (!file_ || code == kExitUsage || code == kExitInterrupted) return code;
  report.exit_code = code;
  report.messages = reporter.reported();
  Status written = file_->Append(AsBytes(ReportPage(report)));
  if (written) written = file_->Commit();
  if (written) return code;
  reporter.Report(written.error());
  return kExitFailed;
}

FileSizes SizesOf(const std::vector<std::string>& paths) {
  FileSizes sizes;
  for (const std::string& path : paths) {
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) continue;
    sizes.emplace_back(path, static_cast<std::uint64_t>(st.st_size));
  }
  return sizes;
}

}  // namespace cerberus::cli
