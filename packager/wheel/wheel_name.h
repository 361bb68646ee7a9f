// The names of wheels: "x-1.0-1-py3-none-manylinux_2_17_x86_64.whl" (binary
// distribution format; tags: PEP 425, PEP 600).
#ifndef CERBERUS_PACKAGER_WHEEL_WHEEL_NAME_H_
#define CERBERUS_PACKAGER_WHEEL_WHEEL_NAME_H_

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace cerberus::packager {

struct WheelName {
  std::string distribution;  // "open3d_cpu", as in the file name
  std::string version;
  std::string build;  // "" mostly
  std::string python;
  std::string abi;
  std::string platform;  // several, with '.' between

  static Result<WheelName> Parse(std::string_view file_name);
  std::string ToString() const;
  // "x-1.0": what its .dist-info and .data folders begin with.
  std::string Stem() const { return distribution + "-" + version; }
  // "cp311-cp311-manylinux1_x86_64", …: what its names stand for.
  std::vector<std::string> Tags() const;
};

// "Open3D_cpu" → "open3d-cpu" (PEP 503).
std::string NormalizeName(std::string_view name);
// … → "open3d_cpu", as file names have it.
std::string EscapeName(std::string_view name);
// Whether it can be the name of a project: letters, digits, and '-', '_', '.'
// between them.
bool IsProjectName(std::string_view name);

// "1.0" → "1.0+cerberus", "1.0+cu128" → "1.0+cu128.cerberus" (PEP 440).
std::string AddLocalVersion(const std::string& version, std::string_view label);

// The platforms of a Linux wheel that stay true where it is given a file that
// needs a glibc 2.`minor`: older ones and those without glibc are left out, and
// if none remains, "manylinux_2_<minor>_x86_64". Errors: none is for Linux with
// glibc on x86-64.
Result<std::string> RaisePlatform(const std::string& platform, unsigned minor);

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_WHEEL_WHEEL_NAME_H_
