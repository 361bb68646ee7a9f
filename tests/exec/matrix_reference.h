// Matrices and what multiplying them must give, for the tests of mma and wmma.
//
// PTX ISA 9.0, "Warp-level Matrix Instructions". Integers wrap or saturate and
// must be exact. The order and the intermediate rounding of floating-point
// sums are open; the result must be as near as single-precision steps get,
// and exact where no step needs rounding.
#ifndef CERBERUS_TESTS_EXEC_MATRIX_REFERENCE_H_
#define CERBERUS_TESTS_EXEC_MATRIX_REFERENCE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ptxc/front/opcode_table.h"
#include "tests/exec/soft_float.h"

namespace cerberus::exec {

using Code = std::uint64_t;  // the bits of an element

bool IsFloatElement(ptx::Type type);
const FloatFormat& FormatOf(ptx::Type type);

struct Matrix {
  int rows = 0, columns = 0;
  ptx::Type type = ptx::Type::kNone;
  std::vector<Code> codes;

  Matrix() = default;
  Matrix(int r, int c, ptx::Type t)
      : rows(r),
        columns(c),
        type(t),
        codes(static_cast<std::size_t>(r) * static_cast<std::size_t>(c)) {}
  Code& at(int r, int c) {
    return codes[static_cast<std::size_t>(r * columns + c)];
  }
  Code at(int r, int c) const {
    return codes[static_cast<std::size_t>(r * columns + c)];
  }
};

// What the elements of a test's matrices are like.
enum class Data {
  kSmall,  // small integers: every partial sum is exact
  kRandom,
  kEdges,  // infinities, NaN, subnormals, extremes among random numbers
};
constexpr Data kAllData[] = {Data::kSmall, Data::kRandom, Data::kEdges};

Code RandomElement(ptx::Type type, Data data, std::mt19937_64& random);
void Fill(Matrix& matrix, Data data, std::mt19937_64& random);

struct ProductRules {
  ptx::Type result = ptx::Type::kF32;
  bool satfinite = false;
  bool xor_popc = false;                 // b1: xor instead of and
  Round rounding = Round::kNearestEven;  // f64
  // Block scaling: factors by [row or column][block]; empty if there is none.
  std::vector<std::vector<double>> scale_a, scale_b;
};

// Checks D against A * B + C; says what is wrong with the first wrong
// element, "" if none is.
std::string CheckProduct(const Matrix& a, const Matrix& b, const Matrix& c,
                         const Matrix& d, const ProductRules& rules, Data data);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_MATRIX_REFERENCE_H_
