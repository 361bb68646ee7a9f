// Whether a library of HIP kernels has code for a GPU. HIP ends a process that
// calls one which has none, before version 6, and rocBLAS in all versions.
#ifndef CERBERUS_LIBRARIES_COMMON_ROCM_CODE_H_
#define CERBERUS_LIBRARIES_COMMON_ROCM_CODE_H_

#include <string>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::libraries {

// The targets of the first bundle in .hip_fatbin of an ELF file, without their
// features; none of a file without that section. Each source of a library is
// compiled for the same targets. Errors: no ELF file for 64 bits, tables or a
// bundle that run past its end.
Result<std::vector<std::string>> TargetsOfLibrary(ByteSpan file);

// The same of a file by name.
Result<std::vector<std::string>> TargetsOfLibraryFile(const std::string& path);

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_ROCM_CODE_H_
