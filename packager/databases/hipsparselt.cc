// hipSPARSELt: lib/hipsparselt/library/TensileLibrary_gfx942.dat, ….
#include "packager/databases/databases.h"

namespace cerberus::packager {

std::string HipSparseLtTarget(std::string_view path) {
  return TensileTarget(path, "hipsparselt/library");
}

}  // namespace cerberus::packager
