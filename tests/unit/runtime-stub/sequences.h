// Sequences of driver calls, one per area of the API: each makes what it needs,
// checks what it computes, and leaves nothing behind.
#ifndef CERBERUS_TESTS_UNIT_RUNTIME_STUB_SEQUENCES_H_
#define CERBERUS_TESTS_UNIT_RUNTIME_STUB_SEQUENCES_H_

#include <ostream>
#include <span>
#include <string_view>

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Sequence {
  std::string_view name;
  CUresult (*run)(const char* ptx);
};
inline void PrintTo(const Sequence& sequence, std::ostream* out) {
  *out << sequence.name;
}
std::span<const Sequence> Sequences();

// With a context current and EmulatedTest::AddPtx(). The first error, that of
// clean-up at last; no CUresult at all if a value is wrong.
CUresult RunSequence(const Sequence& sequence, const char* ptx);

}  // namespace cerberus::stub

#endif  // CERBERUS_TESTS_UNIT_RUNTIME_STUB_SEQUENCES_H_
