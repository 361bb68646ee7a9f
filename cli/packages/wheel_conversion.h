// The conversion of a wheel, step by step: docs/wheels.md says what comes out.
// Nothing has a name in the file system before Commit, as in conversion.h.
//
//   open      the wheel: every file read once and held against RECORD, the
//             libraries with device code found and their changes planned
//   convert   each library; their code into common archives
//   write     the host wheel, the device wheels, perhaps the stub's wheel
//   commit    names: the host wheel last
#ifndef CERBERUS_CLI_PACKAGES_WHEEL_CONVERSION_H_
#define CERBERUS_CLI_PACKAGES_WHEEL_CONVERSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/convert/bundle.h"
#include "cli/convert/conversion.h"
#include "cli/reporter.h"
#include "kpack/writer.h"
#include "packager/wheel/wheel.h"
#include "packager/wheel/wheel_family.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::cli {

struct WheelOptions {
  std::string input;
  std::string folder;  // for what is made
  std::string name;    // of the host wheel, instead of a local version
  bool bundle_stub = true;
  // Whether wheels of NVIDIA's that our libraries answer for are required no
  // more.
  bool replace_libraries = false;
  // Of each library: targets, limits, keep_going; its names come from here.
  ConversionOptions conversion;
};

struct WheelSummary {
  ConversionSummary libraries;  // all together
  std::vector<std::string> converted;
  // Libraries with device code that stay as they are, and why.
  std::map<std::string, std::string> unconverted;
  std::size_t module_files = 0;  // compiled, and copied as they are
  FileSizes wheels;              // in the order in which they get their names
  std::vector<std::string> replaced;  // requirements that our libraries answer
  std::string requirement;  // what to tell pip, "x[device-gfx1100]==1.0"
};

class WheelConversion {
 public:
  WheelConversion(const WheelOptions& options, Reporter& reporter);
  ~WheelConversion();

  Status Open();
  // False: errors were reported, or it was interrupted.
  Result<bool> Convert();
  Status Write();
  Status Commit();

  const WheelSummary& summary() const { return summary_; }
  bool some_missing() const {
    return !summary_.unconverted.empty() ||
           !summary_.libraries.left_out.empty();
  }
  // After Open: the wheels that will be made, and what is in them.
  std::vector<std::string> planned_paths() const;
  std::vector<const Conversion*> conversions() const;
  // For --dry-run: the modules of each library, the names of the wheels.
  std::vector<std::string> Describe() const;

 private:
  struct Library {
    std::optional<OutputFile> input;  // unpacked, without a name
    std::unique_ptr<Conversion> conversion;
    std::optional<OutputFile> output;
    std::optional<MappedFile> bytes;  // of the output
  };
  using Files = std::vector<std::pair<BundleFile, MappedFile>>;

  Status NameAll();
  void ReplaceLibraries();
  Status ReadFile(const packager::ZipMember& member);
  Result<std::unique_ptr<Conversion>> NewConversion(
      const packager::ZipMember& member, const OutputFile& unpacked);
  Status OpenLibrary(const packager::ZipMember& member, OutputFile unpacked);
  Status OpenModuleFile(const packager::ZipMember& member, OutputFile unpacked);
  Status SettleModuleFiles();
  Status PlanLibrary(const std::string& path, Library& library);
  Status NotConverted(const std::string& path, Diag why);
  Status LeaveAsItIs(const std::string& path, const std::string& why);
  Status TakeLibrary(const std::string& path, Library& library);
  Status WriteHost();
  Status WriteDevice(const std::string& processor);
  packager::WheelName RuntimeName() const;
  Status WriteRuntime();
  Status AddStub(packager::WheelWriter& wheel, const std::string& folder);
  std::vector<std::string> Processors() const;

  const WheelOptions options_;
  Reporter& reporter_;
  WheelSummary summary_;
  std::optional<packager::Wheel> wheel_;
  std::vector<BundleFile> stub_files_;
  unsigned stub_glibc_ = 0;
  packager::WheelName host_;
  packager::WheelFamily family_;
  std::string project_;  // "bitsandbytes", as METADATA has it
  std::string group_;    // of the archives
  std::string folder_;   // "bitsandbytes.cerberus", among the packages
  std::string stub_folder_;

  std::map<std::string, std::string> hashes_;  // of the wheel's files, by path
  std::map<std::string, Library> libraries_;   // by path in the wheel
  // Files of PTX, fatbins and cubins, which stay as they are; and those that
  // hold machine code alone.
  std::map<std::string, std::unique_ptr<Conversion>> module_files_;
  std::map<std::string, Diag> machine_code_;
  // Libraries of ours that any of the wheel's needs. They are loaded with the
  // stub: modules without device code, as those of CuPy that call cuBLAS, are
  // not converted, and cuda-pathfinder takes what is loaded before it looks for
  // NVIDIA's.
  std::set<std::string> beside_stub_;
  std::map<std::string, kpack::ArchiveWriter> archives_;  // by target
  std::map<std::string, MappedFile> archive_bytes_;
  Files stub_;
  std::vector<packager::WheelWriter> wheels_;
  std::vector<std::string> kept_;
  std::vector<std::string> made_folders_;
};

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PACKAGES_WHEEL_CONVERSION_H_
