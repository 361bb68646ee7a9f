// Linked with the stub's objects into a libcuda.so.1 of tests alone: the
// function that CERBERUS_NOOP names does nothing and reports success. What
// still passes then does not test it (tests/tools/noop_coverage.py).
#include <cstdlib>
#include <cstring>

#include "runtime-stub/api/dispatch.h"

namespace cerberus::stub {
namespace {

int DoNothing() { return 0; }

[[gnu::constructor]] void ReplaceFunction() {
  const char* wanted = std::getenv("CERBERUS_NOOP");
  if (wanted == nullptr) return;
  for (const ApiRow& row : ApiTable()) {
    if (std::strcmp(row.symbol, wanted) == 0) {
      *row.slot = reinterpret_cast<void*>(&DoNothing);
    }
  }
}

}  // namespace
}  // namespace cerberus::stub
