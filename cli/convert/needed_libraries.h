// The libraries that the loader gives a program (ld.so(8)), as far as the
// program or the environment names their folders.
#ifndef CERBERUS_CLI_CONVERT_NEEDED_LIBRARIES_H_
#define CERBERUS_CLI_CONVERT_NEEDED_LIBRARIES_H_

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

// A library that is needed; NVIDIA's own are none.
struct FoundLibrary {
  std::string name;    // its file's name in DT_NEEDED: "libgpujpeg.so.0"
  std::string needed;  // as it stands there, often the same
  std::string path;
  const char* from;  // how it was found; "the program's folder"
  std::size_t by;    // which of the others needs it, or kByProgram
  bool has_device_code = false;
  bool converted = false;
  bool has_ptx = false;

  static constexpr std::size_t kByProgram = static_cast<std::size_t>(-1);
};
using DeviceLibrary = FoundLibrary;  // one with device code

// The libraries that `binary` needs, and that these need, as far as they are
// found: each behind the one that needs it.
std::vector<FoundLibrary> FindLibraries(const rewriter::Binary& binary);

// Those among them with CUDA device code. In the program's own folder those are
// looked for, too, that the loader finds nowhere else.
std::vector<DeviceLibrary> FindDeviceLibraries(const rewriter::Binary& binary);

// "/build/libscan.so (by RUNPATH)".
std::string Place(const DeviceLibrary& library);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_NEEDED_LIBRARIES_H_
