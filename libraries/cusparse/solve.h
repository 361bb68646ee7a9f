// Triangular systems with sparse matrices, and incomplete factors of them.
#ifndef CERBERUS_LIBRARIES_CUSPARSE_SOLVE_H_
#define CERBERUS_LIBRARIES_CUSPARSE_SOLVE_H_

#include <atomic>
#include <memory>
#include <vector>

#include "libraries/cusparse/handle.h"
#include "libraries/cusparse/matrix.h"

namespace cerberus::libraries::cusparse {

// What a solution or a factorization leaves for the question whether it met a
// zero on the diagonal: the first such row of blocks, which counts from the
// matrix' base, or -1.
struct Pivot {
  std::atomic<Index> row = -1;
};

// Values that take the place of the matrix' own: all of them, and of what is
// on the diagonal. Filled when the stream comes to it.
struct Update {
  std::vector<std::byte> values, diagonal;
};

struct System {
  Operation opa = cublas::kN;
  SpMat a;
  DnMat b;
  Operation opb = cublas::kN;
  DnMat x;
  DataType compute = cublas::kR32F;
  std::shared_ptr<const Update> update;
  std::shared_ptr<Pivot> pivot;
};
// Solves op(A) X = alpha op(B) for the triangle of A that its attributes name;
// X may be B.
Status Solve(Handle h, const void* alpha, const System& system);
// As a Pivot tells of it: the first row that has no diagonal element.
Index MissingDiagonal(const SpMat& a);

}  // namespace cerberus::libraries::cusparse

#endif  // CERBERUS_LIBRARIES_CUSPARSE_SOLVE_H_
