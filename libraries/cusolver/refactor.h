// LU of sparse matrices of one pattern, whose rows and columns are in an order
// in which no rows need be exchanged: P A Q = L U, with rows and columns of A
// that P and Q name. On the host; no CUDA.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_REFACTOR_H_
#define CERBERUS_LIBRARIES_CUSOLVER_REFACTOR_H_

#include <vector>

#include "libraries/cusolver/sparse.h"

namespace cerberus::libraries::cusolver {

class Refactor {
 public:
  // Both factors in one: L below the diagonal, without its ones, and U.
  struct Bundle {
    std::vector<int> starts, places;
    std::vector<double> values;
  };

  // False if P or Q is no permutation, or an index is out of the matrix.
  bool Setup(const Pattern& a, const Pattern& lower, const Pattern& upper,
             const Permutation& p, const Permutation& q);
  int n() const { return static_cast<int>(p_.size()); }
  std::size_t elements() const { return a_columns_.size(); }

  // Where pivots that are not above `zero` are replaced by `boost`, unless that
  // is 0. Returns the first row of another such, or -1; `boosted`: there was
  // one that was replaced.
  int Factor(const double* values, double zero, double boost, bool* boosted,
             Bundle* bundle) const;
  // x := Q U^-1 L^-1 P x.
  static void Solve(const Bundle& bundle, const Permutation& p,
                    const Permutation& q, double* x);
  // The pattern without values.
  const Bundle& pattern() const { return pattern_; }

 private:
  Permutation p_, q_;
  // Elements of A, by rows of P A Q: row, and their columns there.
  std::vector<int> a_starts_, a_elements_, a_columns_;
  Bundle pattern_;
};

bool IsPermutation(const int* p, int n);

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_REFACTOR_H_
