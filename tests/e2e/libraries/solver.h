// What the programs of cuSOLVER share.
#include <cusolverDn.h>

#include <algorithm>

#include "library.h"

// Q^T Q is the identity, for the first n columns of m elements.
inline bool Orthogonal(int m, int n, const std::vector<double>& q) {
  std::vector<double> identity(n * n);
  for (int i = 0; i < n; ++i) identity[i * (n + 1)] = 1;
  return Near(Product(n, n, m, q.data(), true, q.data(), false), identity,
              1e-12);
}
// U diag(w) V^T, of m and n rows and k columns.
inline std::vector<double> Joined(int m, int n, int k, std::vector<double> u,
                                  const std::vector<double>& w, const double* v,
                                  bool v_turned) {
  for (int i = 0; i < m * k; ++i) u[i] *= w[i / m];
  return Product(m, n, k, u.data(), false, v, !v_turned);
}
inline std::vector<double> Symmetric(int n, unsigned seed, double shift) {
  const auto half = Numbers<double>(n * n, seed);
  auto a = Product(n, n, n, half.data(), true, half.data(), false);
  for (int i = 0; i < n; ++i) a[i * (n + 1)] += shift;
  return a;
}
