// A program converted with the libraries that hold its device code: all of them
// go into one folder and share their archives. The steps are those of
// conversion.h.
#ifndef CERBERUS_CLI_CONVERT_GROUP_CONVERSION_H_
#define CERBERUS_CLI_CONVERT_GROUP_CONVERSION_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/convert/conversion.h"

namespace cerberus::cli {

class GroupConversion {
 public:
  // As for the program alone.
  GroupConversion(const ConversionOptions& options, Reporter& reporter);
  ~GroupConversion();

  // Finds the libraries: those with device code, and those that lie between
  // them and the program, which must lead to the converted ones.
  Status Open();
  Status Plan();
  Status Create();
  Result<bool> Compile();
  Status Write();
  Status Commit();

  const ConversionSummary& summary() const { return summary_; }
  std::vector<std::string> DescribeModules() const;
  std::vector<std::string> output_paths() const;
  std::vector<std::string> inputs() const;
  // As output_paths(), before Create.
  std::vector<std::string> planned_paths() const;
  std::vector<const Conversion*> conversions() const;
  std::string PlanText() const;
  std::string PlanJson() const;

 private:
  struct Member {
    std::string output;
    std::unique_ptr<Conversion> conversion;
    std::optional<OutputFile> program;
  };

  Status Add(const std::string& input, const std::string& output);
  void WarnOfPaths(const std::string& needed) const;

  const ConversionOptions options_;
  const ArchivePlace place_;  // next to the output, where all members are
  Reporter& reporter_;
  ConversionSummary summary_;
  std::vector<std::string> runpath_;
  std::vector<Member> members_;  // the program last
  std::map<std::string, kpack::ArchiveWriter> archives_;
  std::vector<OutputFile> bundled_;
  std::vector<std::string> made_folders_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_GROUP_CONVERSION_H_
