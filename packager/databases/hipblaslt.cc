// hipBLASLt: lib/hipblaslt/library/TensileLibrary_…_gfx942.co, extop_gfx942.co,
// and since they are sorted by GPU lib/hipblaslt/library/gfx942/….
// hipblasltExtOpLibrary.dat and hipblasltTransform.hsaco are for all.
#include "packager/databases/databases.h"

namespace cerberus::packager {

std::string HipBlasLtTarget(std::string_view path) {
  return TensileTarget(path, "hipblaslt/library");
}

}  // namespace cerberus::packager
