// Whether converted and split files are what was planned, and their archives
// whole: of one file, and of a packed tree.
#ifndef CERBERUS_CLI_CONVERT_VERIFICATION_H_
#define CERBERUS_CLI_CONVERT_VERIFICATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/reporter.h"
#include "rewriter/rewriter.h"
#include "support/result.h"

namespace cerberus::cli {

struct FileVerification {
  rewriter::ConvertedInfo info;
  std::uint64_t in_place = 0;
  std::size_t edits = 0;
  std::uint64_t cut = 0;
  std::size_t appended = 0;
  bool is_split = false;
  std::size_t compared = 0;  // code objects of a split file
  // What archives call the modules of a converted file that have code.
  std::vector<std::string> modules;
};

// Plans the conversion anew, with what the converted file says it was, and
// holds the file against that plan; of a HIP program the archives are held
// against the original, too.
Result<FileVerification> VerifyFile(const std::string& original,
                                    const std::string& converted);

// Reads every entry of the archive, and warns of those of `modules` that it has
// no code for.
Status VerifyArchive(const std::string& path,
                     const std::vector<std::string>& modules,
                     Reporter& reporter);

struct TreeVerification {
  std::vector<std::string> manifests;
  std::size_t files = 0;     // by the manifests, each as it says
  std::size_t archives = 0;  // read to their end
  std::size_t compared = 0;  // files, with the original's
  std::size_t unlisted = 0;  // files that no manifest has
};

// A packed tree by its manifests and, unless `original` is empty, against what
// it was packed from. What is wrong is reported; false then.
Result<bool> VerifyTree(const std::string& packed, const std::string& original,
                        Reporter& reporter, TreeVerification& result);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_VERIFICATION_H_
