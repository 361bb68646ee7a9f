// NVIDIA's libraries whose kernels are machine code: there is nothing in them
// to convert. Some are answered by libraries of ours (libraries/), which lie
// beside the driver stub under NVIDIA's names, so that a converted program
// finds them first; for others a program needs its counterpart from ROCm.
#ifndef CERBERUS_CLI_CONVERT_NVIDIA_LIBRARIES_H_
#define CERBERUS_CLI_CONVERT_NVIDIA_LIBRARIES_H_

#include <string>
#include <string_view>
#include <vector>

#include "rewriter/binary.h"

namespace cerberus::cli {

struct NeededLibrary {
  std::string name;              // as in DT_NEEDED: "libcublas.so.12"
  std::string_view replacement;  // "hipBLAS or rocBLAS"; "" if there is none
  std::string answered_by;       // the file of ours, or ""
  // Of one that is not answered, other versions that are: "libcublas.so.11".
  std::vector<std::string> versions;
};

// Whether NVIDIA ships a library of this name, with kernels of any kind.
bool IsNvidiaLibrary(std::string_view needed);

// Those that the file names in DT_NEEDED.
std::vector<NeededLibrary> FindNvidiaLibraries(const rewriter::Binary& binary);

// Of one that is not answered: "needs libcublas.so.12, which …".
std::string Describe(const NeededLibrary& library);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_NVIDIA_LIBRARIES_H_
