// The libraries that the loader gives a program (ld.so(8)), as far as the
// program or the environment names their folders.
#ifndef CERBERUS_CLI_NEEDED_LIBRARIES_H_
#define CERBERUS_CLI_NEEDED_LIBRARIES_H_

#include <string>
#include <vector>

#include "rewriter/binary.h"

namespace cerberus::cli {

struct SearchFolder {
  std::string path;
  const char* from;  // "RPATH", "LD_LIBRARY_PATH", "RUNPATH"
};

// A path of a file's dynamic section, "$ORIGIN/lib": the file's folder takes
// the place of $ORIGIN.
std::string ExpandOrigin(std::string path, const std::string& file);

// Where the loader looks for what `binary` needs, in its order, before its
// own folders.
std::vector<SearchFolder> SearchFolders(const rewriter::Binary& binary);

// A library with CUDA device code.
struct DeviceLibrary {
  std::string name;  // as in DT_NEEDED: "libgpujpeg.so.0"
  std::string path;
  const char* from;  // how it was found; "the program's folder"
  bool converted = false;
  bool has_ptx = false;
};

// Those among the libraries that `binary` needs, and that these need, without
// NVIDIA's own. In the program's own folder those are looked for, too, that
// the loader finds nowhere else.
std::vector<DeviceLibrary> FindDeviceLibraries(const rewriter::Binary& binary);

// "/build/libscan.so (by RUNPATH)".
std::string Place(const DeviceLibrary& library);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_NEEDED_LIBRARIES_H_
