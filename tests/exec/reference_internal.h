// Shared by the reference_*.cc files.
#ifndef CERBERUS_TESTS_EXEC_REFERENCE_INTERNAL_H_
#define CERBERUS_TESTS_EXEC_REFERENCE_INTERNAL_H_

#include <utility>

#include "tests/exec/reference.h"
#include "tests/exec/soft_float.h"

namespace cerberus::exec {

using Tests = std::vector<ValueTest>;
using In = std::span<const Value>;
using Kind = PtxType::Kind;

PtxType T(std::string_view name);  // must exist
Round RoundingOf(const Spelling& s, Round otherwise = Round::kNearestEven);

inline Want Exact(Value v) { return {Want::Match::kExact, v, 0, 0}; }
inline Want Any() { return {Want::Match::kAny, 0, 0, 0}; }

// A test of the common form: one output, inputs of the given types.
ValueTest Simple(PtxType out, std::vector<PtxType> in,
                 std::function<Want(In)> expect);
// Applies a scalar function to each element of packed operands.
ValueTest Elementwise(
    PtxType type, int inputs,
    std::function<std::uint64_t(const std::vector<std::uint64_t>&)> fn);

Tests IntegerReferences(const Spelling& s, std::string_view operands);
Tests LogicReferences(const Spelling& s, std::string_view operands);
Tests FloatReferences(const Spelling& s, std::string_view operands);
Tests CompareReferences(const Spelling& s, std::string_view operands);
Tests VideoReferences(const Spelling& s, std::string_view operands);
Tests ConvertReferences(const Spelling& s, std::string_view operands);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_REFERENCE_INTERNAL_H_
