// A ROCm wheel split, step by step: docs/wheels.md says what comes out. Nothing
// has a name in the file system before Commit.
//
//   open      the wheel, its HIP libraries, what it has of kernel databases
//   pack      their code objects into archives, the split libraries
//   write     the host wheel, a wheel for each GPU
//   commit    names: the host wheel last
#ifndef CERBERUS_CLI_PACKAGES_WHEEL_SPLITTING_H_
#define CERBERUS_CLI_PACKAGES_WHEEL_SPLITTING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/convert/splitting.h"
#include "cli/json.h"
#include "cli/reporter.h"
#include "packager/wheel/wheel.h"
#include "packager/wheel/wheel_family.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::cli {

struct WheelSplittingOptions {
  std::string input;
  std::string folder;         // for what is made
  std::string device_prefix;  // of the device wheels; default: by AMD's rule
  std::vector<std::string> arches;  // as in SplittingOptions
  bool dry_run = false;
  bool keep_going = true;
};

struct WheelSplittingSummary {
  SplittingSummary libraries;  // all together
  std::vector<std::string> split;
  std::size_t database_files = 0;  // that went to device wheels
  std::size_t not_asked_for = 0;   // files of databases
  // Libraries with device code that stay as they are, and why.
  std::map<std::string, std::string> unsplit;
  FileSizes wheels;  // in the order in which they get their names
  std::string requirement;
};

class WheelSplitting {
 public:
  WheelSplitting(WheelSplittingOptions options, Reporter& reporter);
  ~WheelSplitting();

  Status Open();
  Status Pack();
  Status Write();
  Status Commit();

  const WheelSplittingSummary& summary() const { return summary_; }
  bool some_missing() const { return !summary_.unsplit.empty(); }
  // For --dry-run.
  std::vector<std::string> Describe() const;

 private:
  struct Library {
    std::string installed;            // path among the packages
    std::optional<OutputFile> input;  // unpacked, without a name
    std::optional<rewriter::Binary> binary;
    std::unique_ptr<Splitting> splitting;
    std::optional<OutputFile> output;
    std::optional<MappedFile> bytes;  // of the output
  };

  Status ReadFile(const packager::ZipMember& member);
  Status OpenLibrary(const packager::ZipMember& member, OutputFile unpacked);
  Status LeaveAsItIs(const std::string& path, Diag why);
  Status PlanLibraries();
  void NameFolder();
  std::string ArchiveName(const std::string& target) const;
  std::string OutputPath() const;
  void NameParts();
  Status WriteDevice(const std::string& part);
  Status WriteHost();

  const WheelSplittingOptions options_;
  Reporter& reporter_;
  WheelSplittingSummary summary_;
  std::optional<packager::Wheel> wheel_;
  packager::WheelFamily family_;
  std::string group_;   // of the archives
  std::string folder_;  // among the packages, in which .kpack/ is

  std::map<std::string, std::string> hashes_;     // by path in the wheel
  std::map<std::string, Library> libraries_;      // the same
  std::map<std::string, std::string> databases_;  // path → part; "": left out
  ArchivesByTarget archives_;
  std::map<std::string, MappedFile> archive_bytes_;
  std::vector<packager::WheelWriter> wheels_;
  std::vector<std::string> made_folders_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PACKAGES_WHEEL_SPLITTING_H_
