// Factors of matrices whose pattern stays.
#include <cstdlib>

#include "tests/unit/libraries/cusolver_sparse.h"

namespace cerberus::libraries::tests::solver {
namespace {

constexpr double kUnits = 4096;
constexpr int kZeroPivot = 10;

// A(p, q) = L U for matrices that need no exchanges besides, in the format and
// with the diagonal that are set.
struct Problem {
  Problem() {
    Numbers numbers;
    a = RandomSparse<double>(numbers, n);
    b = RandomSparse<double>(numbers, n);
    // Of one pattern.
    for (long i = 0; i < n; ++i) {
      for (long j = 0; j < n; ++j) {
        if ((a(i, j) == Complex64(0)) != (b(i, j) == Complex64(0))) {
          a(i, j) = b(i, j) = 0.5;
        }
      }
    }
    for (long i = 0; i < n; ++i) a(i, i) += 8, b(i, i) += 8;
    x = RandomMatrix<double>(numbers, n, 2);
  }
  // What the program has of L and U: all that may be filled in.
  Matrix Full(int fill) const {
    Matrix ones(n, n);
    for (Complex64& value : ones.v) value = 1;
    return Triangle(ones, fill, kNonUnit);
  }

  static constexpr int n = 7;
  // The same rows and columns, so that the diagonal stays where it is.
  std::vector<int> p = {3, 0, 6, 2, 5, 1, 4}, q = p;
  Matrix a, b, x;
};
// By rows or by columns.
SparseRows<double> InFormat(int format, const Matrix& a) {
  return SparseRows<double>(format == 0 ? a : Apply(kT, a));
}
Matrix Dense(int n, int format, const int* starts, const int* places,
             const double* values) {
  Matrix out(n, n);
  for (int i = 0; i < n; ++i) {
    for (int e = starts[i]; e < starts[i + 1]; ++e) {
      out(i, places[e]) = values[e];
    }
  }
  return format == 0 ? out : Apply(kT, out);
}
Matrix Permuted(const Matrix& a, const std::vector<int>& p,
                const std::vector<int>& q) {
  Matrix out(a.rows, a.columns);
  for (long i = 0; i < a.rows; ++i) {
    for (long j = 0; j < a.columns; ++j) {
      out(i, j) =
          a(p[static_cast<std::size_t>(i)], q[static_cast<std::size_t>(j)]);
    }
  }
  return out;
}

void* Made() {
  SolverHandle();  // makes a context current
  void* rf = nullptr;
  EXPECT_EQ(Solver("cusolverRfCreate", &rf), kSuccess);
  return rf;
}
int Prepare(void* rf, const std::string& where, Problem& problem, int format,
            const Matrix& a) {
  SparseRows<double> rows = InFormat(format, a),
                     l = InFormat(format, problem.Full(kLower)),
                     u = InFormat(format, problem.Full(kUpper));
  const SparseOnDevice<double> da(rows), dl(l), du(u);
  const Device<int> dp(problem.p), dq(problem.q);
  if (where == "Device") {
    return Solver("cusolverRfSetupDevice", Problem::n, rows.nnz(),
                  da.starts.get(), da.places.get(), da.values.get(), l.nnz(),
                  dl.starts.get(), dl.places.get(), dl.values.get(), u.nnz(),
                  du.starts.get(), du.places.get(), du.values.get(), dp.get(),
                  dq.get(), rf);
  }
  return Solver("cusolverRfSetupHost", Problem::n, rows.nnz(),
                rows.starts.data(), rows.places.data(), rows.values.data(),
                l.nnz(), l.starts.data(), l.places.data(), l.values.data(),
                u.nnz(), u.starts.data(), u.places.data(), u.values.data(),
                problem.p.data(), problem.q.data(), rf);
}
// X of A X = B in B's place.
Matrix Solve(void* rf, Problem& problem, const Matrix& b) {
  const OnDevice<double> memory(b);
  const Device<int> p(problem.p), q(problem.q);
  EXPECT_EQ(Solver("cusolverRfSolve", rf, p.get(), q.get(),
                   static_cast<int>(b.columns), nullptr, Problem::n,
                   memory.get(), static_cast<int>(memory.ld())),
            kSuccess);
  return memory.Read();
}

TEST(CusolverRf, FactorsAgain) {
  for (const char* where : {"Host", "Device"}) {
    for (const int format : {0, 1}) {
      Problem problem;
      void* const rf = Made();
      EXPECT_EQ(Solver("cusolverRfRefactor", rf), kInvalidValue);
      EXPECT_EQ(Solver("cusolverRfSetMatrixFormat", rf, format, 0), kSuccess);
      EXPECT_EQ(Prepare(rf, where, problem, format, problem.a), kSuccess);
      EXPECT_EQ(Solver("cusolverRfAnalyze", rf), kSuccess);
      EXPECT_EQ(Solver("cusolverRfRefactor", rf), kSuccess);
      ExpectMatrix<double>(Solve(rf, problem, Times(problem.a, problem.x)),
                           problem.x, kUnits, "solved");
      // Other values.
      const SparseRows<double> rows = InFormat(format, problem.b);
      const SparseOnDevice<double> other(rows);
      const Device<int> p(problem.p), q(problem.q);
      EXPECT_EQ(Solver("cusolverRfResetValues", Problem::n, rows.nnz(),
                       other.starts.get(), other.places.get(),
                       other.values.get(), p.get(), q.get(), rf),
                kSuccess);
      EXPECT_EQ(Solver("cusolverRfRefactor", rf), kSuccess);
      ExpectMatrix<double>(Solve(rf, problem, Times(problem.b, problem.x)),
                           problem.x, kUnits, "solved again");
      EXPECT_EQ(Solver("cusolverRfDestroy", rf), kSuccess);
      EXPECT_EQ(Solver("cusolverRfDestroy", rf), kNotInitialized);
    }
  }
}

TEST(CusolverRf, GivesItsFactors) {
  for (const int diagonal : {0, 1, 2, 3}) {
    Problem problem;
    const int n = Problem::n;
    void* const rf = Made();
    EXPECT_EQ(Solver("cusolverRfSetMatrixFormat", rf, 0, diagonal), kSuccess);
    EXPECT_EQ(Prepare(rf, "Host", problem, 0, problem.a), kSuccess);
    EXPECT_EQ(Solver("cusolverRfAnalyze", rf), kSuccess);
    EXPECT_EQ(Solver("cusolverRfRefactor", rf), kSuccess);
    int count = 0, count_l = 0, count_u = 0;
    int *starts = nullptr, *places = nullptr, *starts_l = nullptr,
        *places_l = nullptr, *starts_u = nullptr, *places_u = nullptr;
    double *values = nullptr, *values_l = nullptr, *values_u = nullptr;
    EXPECT_EQ(
        Solver("cusolverRfExtractSplitFactorsHost", rf, &count_l, &starts_l,
               &places_l, &values_l, &count_u, &starts_u, &places_u, &values_u),
        kSuccess);
    Matrix l = Dense(n, 0, starts_l, places_l, values_l),
           u = Dense(n, 0, starts_u, places_u, values_u);
    EXPECT_EQ(count_l, starts_l[n]);
    EXPECT_EQ(count_u, starts_u[n]);
    Matrix& ones = diagonal % 2 == 0 ? l : u;
    for (long i = 0; i < n; ++i) {
      EXPECT_EQ(ones(i, i), diagonal < 2 ? 1.0 : 0.0);
      ones(i, i) = 1;
    }
    const Matrix want = Permuted(problem.a, problem.p, problem.q);
    ExpectMatrix<double>(Times(l, u), want, kUnits, "L U");
    EXPECT_EQ(Solver("cusolverRfExtractBundledFactorsHost", rf, &count, &starts,
                     &places, &values),
              kSuccess);
    const Matrix bundle = Dense(n, 0, starts, places, values);
    ExpectMatrix<double>(bundle,
                         Minus(Minus(l, Minus(Matrix(n, n), u)), Identity(n)),
                         kUnits, "L + U - 1");
    int *device_starts = nullptr, *device_places = nullptr;
    double* device_values = nullptr;
    int device_count = 0;
    EXPECT_EQ(Solver("cusolverRfAccessBundledFactorsDevice", rf, &device_count,
                     &device_starts, &device_places, &device_values),
              kSuccess);
    EXPECT_EQ(device_count, count);
    std::vector<double> read(static_cast<std::size_t>(count));
    Download(read.data(), device_values, read.size() * sizeof(double));
    EXPECT_TRUE(std::equal(read.begin(), read.end(), values));
    for (void* memory :
         {static_cast<void*>(starts), static_cast<void*>(places),
          static_cast<void*>(values), static_cast<void*>(starts_l),
          static_cast<void*>(places_l), static_cast<void*>(values_l),
          static_cast<void*>(starts_u), static_cast<void*>(places_u),
          static_cast<void*>(values_u)}) {
      std::free(memory);
    }
    EXPECT_EQ(Solver("cusolverRfDestroy", rf), kSuccess);
  }
}

TEST(CusolverRf, ManyMatrices) {
  Problem problem;
  const int n = Problem::n, batch = 2;
  void* const rf = Made();
  SparseRows<double> first(problem.a), second(problem.b),
      l(problem.Full(kLower)), u(problem.Full(kUpper));
  double* values[] = {first.values.data(), second.values.data()};
  EXPECT_EQ(Solver("cusolverRfBatchSetupHost", batch, n, first.nnz(),
                   first.starts.data(), first.places.data(), values, l.nnz(),
                   l.starts.data(), l.places.data(), l.values.data(), u.nnz(),
                   u.starts.data(), u.places.data(), u.values.data(),
                   problem.p.data(), problem.q.data(), rf),
            kSuccess);
  EXPECT_EQ(Solver("cusolverRfBatchAnalyze", rf), kSuccess);
  const auto solve = [&](const Matrix& a, const Matrix& b) {
    EXPECT_EQ(Solver("cusolverRfBatchRefactor", rf), kSuccess);
    const OnDevice<double> x(Times(a, problem.x), 0), y(Times(b, problem.x), 0);
    const Device<double*> places({x.get(), y.get()});
    const Device<int> p(problem.p), q(problem.q);
    EXPECT_EQ(Solver("cusolverRfBatchSolve", rf, p.get(), q.get(), 2, nullptr,
                     n, places.get(), n),
              kSuccess);
    ExpectMatrix<double>(x.Read(), problem.x, kUnits, "first");
    ExpectMatrix<double>(y.Read(), problem.x, kUnits, "second");
  };
  solve(problem.a, problem.b);
  const Device<double> da(first.values), db(second.values);
  const Device<double*> turned({db.get(), da.get()});
  EXPECT_EQ(Solver("cusolverRfBatchResetValues", batch, n, first.nnz(),
                   first.starts.data(), first.places.data(), turned.get(),
                   problem.p.data(), problem.q.data(), rf),
            kSuccess);
  solve(problem.b, problem.a);
  int positions[] = {777, 777};
  EXPECT_EQ(Solver("cusolverRfBatchZeroPivot", rf, positions), kSuccess);
  EXPECT_EQ(positions[0], -1);
  std::vector<double> zeros(first.values.size());
  const Device<double> zero(zeros);
  const Device<double*> singular({da.get(), zero.get()});
  EXPECT_EQ(Solver("cusolverRfBatchResetValues", batch, n, first.nnz(),
                   first.starts.data(), first.places.data(), singular.get(),
                   problem.p.data(), problem.q.data(), rf),
            kSuccess);
  EXPECT_EQ(Solver("cusolverRfBatchRefactor", rf), kSuccess);
  EXPECT_EQ(Solver("cusolverRfBatchZeroPivot", rf, positions), kZeroPivot);
  EXPECT_EQ(positions[0], -1);
  EXPECT_EQ(positions[1], 0);
  EXPECT_EQ(Solver("cusolverRfDestroy", rf), kSuccess);
}

TEST(CusolverRf, ZeroPivots) {
  Problem problem;
  void* const rf = Made();
  // The row and column that come third.
  for (long i = 0; i < Problem::n; ++i) {
    problem.a(problem.p[2], i) = problem.a(i, problem.p[2]) = 0;
  }
  EXPECT_EQ(Prepare(rf, "Host", problem, 0, problem.a), kSuccess);
  EXPECT_EQ(Solver("cusolverRfAnalyze", rf), kSuccess);
  EXPECT_EQ(Solver("cusolverRfRefactor", rf), kZeroPivot);
  int report = -1;
  EXPECT_EQ(Solver("cusolverRfGetNumericBoostReport", rf, &report), kSuccess);
  EXPECT_EQ(report, 0);
  EXPECT_EQ(Solver("cusolverRfSetNumericProperties", rf, 1e-9, 2.0), kSuccess);
  EXPECT_EQ(Solver("cusolverRfRefactor", rf), kSuccess);
  EXPECT_EQ(Solver("cusolverRfGetNumericBoostReport", rf, &report), kSuccess);
  EXPECT_EQ(report, 1);
  Matrix boosted = problem.a;
  boosted(problem.p[2], problem.p[2]) = 2;
  ExpectMatrix<double>(Solve(rf, problem, Times(boosted, problem.x)), problem.x,
                       kUnits, "boosted");
  EXPECT_EQ(Solver("cusolverRfDestroy", rf), kSuccess);
}

TEST(CusolverRf, KeepsWhatIsSet) {
  void* const rf = Made();
  int a = -1, b = -1;
  double zero = -1, boost = -1;
  EXPECT_EQ(Solver("cusolverRfSetMatrixFormat", rf, 1, 3), kSuccess);
  EXPECT_EQ(Solver("cusolverRfSetMatrixFormat", rf, 2, 0), kInvalidValue);
  EXPECT_EQ(Solver("cusolverRfSetMatrixFormat", rf, 0, 4), kInvalidValue);
  EXPECT_EQ(Solver("cusolverRfGetMatrixFormat", rf, &a, &b), kSuccess);
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 3);
  EXPECT_EQ(Solver("cusolverRfSetAlgs", rf, 2, 3), kSuccess);
  EXPECT_EQ(Solver("cusolverRfSetAlgs", rf, 3, 1), kInvalidValue);
  EXPECT_EQ(Solver("cusolverRfGetAlgs", rf, &a, &b), kSuccess);
  EXPECT_EQ(a, 2);
  EXPECT_EQ(b, 3);
  EXPECT_EQ(Solver("cusolverRfSetNumericProperties", rf, 0.25, 0.5), kSuccess);
  EXPECT_EQ(Solver("cusolverRfGetNumericProperties", rf, &zero, &boost),
            kSuccess);
  EXPECT_EQ(zero, 0.25);
  EXPECT_EQ(boost, 0.5);
  EXPECT_EQ(Solver("cusolverRfSetResetValuesFastMode", rf, 1), kSuccess);
  EXPECT_EQ(Solver("cusolverRfGetResetValuesFastMode", rf, &a), kSuccess);
  EXPECT_EQ(a, 1);
  EXPECT_EQ(Solver("cusolverRfSetResetValuesFastMode", rf, 2), kInvalidValue);
  EXPECT_EQ(Solver("cusolverRfGetAlgs", nullptr, &a, &b), kNotInitialized);
  EXPECT_EQ(Solver("cusolverRfDestroy", rf), kSuccess);
}

}  // namespace
}  // namespace cerberus::libraries::tests::solver
