// --bundle: all that a converted program needs at run time, beside it.
#ifndef CERBERUS_CLI_CONVERT_BUNDLE_H_
#define CERBERUS_CLI_CONVERT_BUNDLE_H_

#include <string>
#include <vector>

#include "support/output_file.h"
#include "support/result.h"

namespace cerberus::cli {

// Where the bundle is, beside a program or at the top of a tree.
inline constexpr char kBundleFolder[] = ".cerberus";

struct BundleFile {
  std::string path;    // in the bundle: "lib/cerberus/libcuda.so.1"
  std::string source;  // where it is installed
};

// The driver stub, what it loads and the compiler of the fallback, in the
// order of their paths.
Result<std::vector<BundleFile>> FindBundleFiles();

// What DT_RUNPATH of a bundled program says: "$ORIGIN/.cerberus/lib/cerberus".
Result<std::string> BundleRunpath();

// Copies these files into `folder`/.cerberus, laid out as they are installed,
// because they find each other by that layout. The files are written but have
// no names yet: the caller commits them. Folders that had to be made are added
// to `made_folders`, parents first.
Status StageBundle(const std::string& folder, std::vector<OutputFile>& files,
                   std::vector<std::string>& made_folders);

// Makes one folder; one that is there already is no error.
Status MakeFolder(const std::string& path,
                  std::vector<std::string>& made_folders);
// Removes those that nothing was put into.
void RemoveFolders(const std::vector<std::string>& made_folders);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_BUNDLE_H_
