#include "tests/unit/libraries/cusolver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace cerberus::libraries::tests::solver {
namespace {

std::set<std::string>& Asked() {
  static std::set<std::string> names;
  return names;
}

}  // namespace

void* SolverSymbol(const std::string& name) {
  static void* const library =
      dlopen("libcusolver.so.12", RTLD_NOW | RTLD_LOCAL);
  void* const symbol =
      library == nullptr ? nullptr : dlsym(library, name.c_str());
  if (symbol == nullptr) {
    ADD_FAILURE() << name << ": " << dlerror();
    std::abort();
  }
  Asked().insert(name);
  return symbol;
}
const std::set<std::string>& CalledSolver() { return Asked(); }

Handle SolverHandle() {
  static const Handle handle = [] {
    GiveBackDevice(TakeDevice(0));  // makes a context current
    Handle made = nullptr;
    EXPECT_EQ(Solver("cusolverDnCreate", &made), kSuccess);
    return made;
  }();
  return handle;
}
void* SolverParams() {
  static void* const params = [] {
    void* made = nullptr;
    EXPECT_EQ(Solver("cusolverDnCreateParams", &made), kSuccess);
    return made;
  }();
  return params;
}
void* JacobiInfo(const std::string& kind) {
  void* made = nullptr;
  EXPECT_EQ(Solver("cusolverDnCreate" + kind + "Info", &made), kSuccess);
  return made;
}
void Synchronize() { ASSERT_EQ(Cuda("cuStreamSynchronize", nullptr), 0); }

Matrix Identity(long n) {
  Matrix out(n, n);
  for (long i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}
Matrix Minus(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.v.size(); ++i) a.v[i] -= b.v[i];
  return a;
}
Matrix Block(const Matrix& a, long row, long column, long rows, long columns) {
  Matrix out(rows, columns);
  for (long j = 0; j < columns; ++j) {
    for (long i = 0; i < rows; ++i) out(i, j) = a(row + i, column + j);
  }
  return out;
}
Matrix Diagonal(const std::vector<double>& values) {
  const auto n = static_cast<long>(values.size());
  Matrix out(n, n);
  for (long i = 0; i < n; ++i) out(i, i) = values[static_cast<std::size_t>(i)];
  return out;
}
std::vector<double> Reals(const Matrix& vector) {
  std::vector<double> out;
  out.reserve(vector.v.size());
  for (const Complex64& value : vector.v) out.push_back(value.real());
  return out;
}
Matrix Product(const Matrix& a, const Matrix& tau, long below, long count) {
  Matrix q = Identity(a.rows);
  for (long k = 0; k < count; ++k) {
    Matrix h = Identity(a.rows);
    const auto v = [&](long i) {
      return i < k + below    ? Complex64(0)
             : i == k + below ? Complex64(1)
                              : a(i, k);
    };
    for (long j = 0; j < a.rows; ++j) {
      for (long i = 0; i < a.rows; ++i) {
        h(i, j) -= tau(k, 0) * v(i) * std::conj(v(j));
      }
    }
    q = Times(q, h);
  }
  return q;
}
Matrix Half(Matrix a, int fill, Complex64 beside) {
  for (long j = 0; j < a.columns; ++j) {
    for (long i = 0; i < a.rows; ++i) {
      if (fill == kUpper ? i > j : i < j) a(i, j) = beside;
    }
  }
  return a;
}

}  // namespace cerberus::libraries::tests::solver
