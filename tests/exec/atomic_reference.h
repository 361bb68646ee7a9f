// What atomic operations compute, by themselves or as reductions.
#ifndef CERBERUS_TESTS_EXEC_ATOMIC_REFERENCE_H_
#define CERBERUS_TESTS_EXEC_ATOMIC_REFERENCE_H_

#include <random>
#include <string_view>

#include "tests/exec/reference.h"

namespace cerberus::exec {

// "add", "cas", …: the operation in a spelling of atom or red.
std::string_view OperationOf(const Spelling& s);

// What the cell holds afterwards.
Value ApplyAtomic(std::string_view op, const PtxType& t, Value old, Value b,
                  Value c);

// Finite, normal numbers and any integers: subnormals may be flushed by
// atom.add.f32, and NaN payloads are open.
Value RandomAtomicOperand(const PtxType& t, std::mt19937_64& random);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_ATOMIC_REFERENCE_H_
