// rocBLAS: lib/rocblas/library/TensileLibrary_Type_HH_…_gfx90a.dat,
// Kernels.so-000-gfx90a-xnack+.hsaco, and since they are sorted by GPU
// lib/rocblas/library/gfx942/…. Files without a target (the fallbacks' tables,
// TensileManifest.txt) are for all.
#include "packager/databases/databases.h"

namespace cerberus::packager {

std::string RocBlasTarget(std::string_view path) {
  return TensileTarget(path, "rocblas/library");
}

}  // namespace cerberus::packager
