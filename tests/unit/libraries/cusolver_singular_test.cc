// Singular values by what they and their vectors are.
#include <algorithm>
#include <cmath>

#include "tests/unit/libraries/cusolver.h"

namespace cerberus::libraries::tests::solver {
namespace {

constexpr double kUnits = 4096;

// A = U S V^H, of columns at right angles and of length one, S in falling
// order.
template <typename T>
void ExpectSingular(const Matrix& a, const Matrix& u,
                    const std::vector<double>& s, const Matrix& vh,
                    const std::string& what) {
  const auto k = static_cast<long>(s.size());
  ExpectMatrix<T>(Times(Times(Block(u, 0, 0, u.rows, k), Diagonal(s)),
                        Block(vh, 0, 0, k, vh.columns)),
                  a, kUnits, what);
  ExpectMatrix<T>(Times(Apply(kC, u), u), Identity(u.columns), kUnits,
                  what + ", U^H U");
  ExpectMatrix<T>(Times(vh, Apply(kC, vh)), Identity(vh.rows), kUnits,
                  what + ", V^H V");
  EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend())) << what;
  for (const double value : s) EXPECT_GE(value, 0) << what;
}

// What gesvd and its 64-bit form leave for each pair of letters.
template <typename T>
void TestSingular(bool typed, char job_u, char job_v, const Matrix& a) {
  using R = Real<T>;
  const long m = a.rows, n = a.columns, k = std::min(m, n);
  const auto columns = [&](char job, long all) { return job == 'A' ? all : k; };
  const OnDevice<T> memory(a), u(Matrix(m, columns(job_u, m))),
      vh(Matrix(columns(job_v, n), n));
  const Device<R> s = Zeros<R>(k);
  const auto ju = static_cast<signed char>(job_u),
             jv = static_cast<signed char>(job_v);
  if (typed) {
    EXPECT_EQ(
        WithBytes(
            "cusolverDnXgesvd",
            std::tuple(Raw(SolverParams()), Raw(ju), Raw(jv), Size(m), Size(n),
                       Raw(kType<T>), Raw<void*>(memory.get()), memory.step(),
                       Raw(kType<R>), Raw<void*>(s.get()), Raw(kType<T>),
                       Raw<void*>(u.get()), u.step(), Raw(kType<T>),
                       Raw<void*>(vh.get()), vh.step(), Raw(kType<T>))),
        0);
  } else {
    const Info info;
    int size = 0;
    EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("gesvd_bufferSize"), Size(m),
                     Size(n), Raw(&size)),
              kSuccess);
    EXPECT_GT(size, 0);
    EXPECT_EQ(
        Invoke(SolverHandle(), Dn<T>("gesvd"), Raw(ju), Raw(jv), Size(m),
               Size(n), Raw(memory.get()), memory.step(), Raw(s.get()),
               Raw(u.get()), u.step(), Raw(vh.get()), vh.step(),
               Raw<T*>(nullptr), Raw(size), Raw<R*>(nullptr), Raw(info.get())),
        kSuccess);
    EXPECT_EQ(info.Read(), 0);
  }
  const std::vector<double> values = Reals(ReadVector(s, k));
  const std::string what = std::string("gesvd ") + job_u + job_v + " of " +
                           std::to_string(m) + " by " + std::to_string(n);
  double square = 0, sum = 0;
  for (const Complex64& value : a.v) square += std::norm(value);
  for (const double value : values) sum += value * value;
  EXPECT_NEAR(sum, square,
              kUnits * std::numeric_limits<R>::epsilon() * (square + 1))
      << what;
  if (job_u == 'N' || job_v == 'N') return;
  const Matrix in_place = memory.Read();
  ExpectSingular<T>(
      a, job_u == 'O' ? Block(in_place, 0, 0, m, k) : u.Read(), values,
      job_v == 'O' ? Block(in_place, 0, 0, k, n) : vh.Read(), what);
}
constexpr std::pair<long, long> kSizes[] = {{5, 5}, {7, 3}, {3, 7},  {1, 1},
                                            {1, 4}, {4, 1}, {33, 20}};
TEST(CusolverSingular, Values) {
  ForAll([]<typename T>() {
    for (const bool typed : {false, true}) {
      for (const auto& [m, n] : kSizes) {
        Numbers numbers;
        const Matrix a = RandomMatrix<T>(numbers, m, n);
        for (const char* jobs : {"AA", "SS", "NN", "AS", "OS", "SO", "AN"}) {
          TestSingular<T>(typed, jobs[0], jobs[1], a);
        }
      }
      // Of rank one, and of none.
      Matrix one(5, 4);
      for (long i = 0; i < 5; ++i) one(i, 1) = static_cast<double>(i);
      TestSingular<T>(typed, 'A', 'A', one);
      TestSingular<T>(typed, 'A', 'A', Matrix(3, 4));
      // Of rank one, so that all columns but one are rounding.
      Matrix ones(10, 7);
      for (Complex64& value : ones.v) value = 1;
      TestSingular<T>(typed, 'A', 'A', ones);
      TestSingular<T>(typed, 'A', 'A', Matrix(0, 2));
    }
    using R = Real<T>;
    const Device<T> a = Zeros<T>(64);
    const Device<R> s = Zeros<R>(8);
    const Info info;
    int size = 0;
    const signed char some = 'S', bad = 'x', over = 'O';
    ExpectRefused(Dn<T>("gesvd_bufferSize"), Size(3), Size(2), Raw(&size));
    ExpectRefused(Dn<T>("gesvd"), Raw(some), Raw(some), Size(3), Size(2),
                  Raw(a.get()), Ld(3, 3), Raw(s.get()), Raw(a.get()), Ld(3, 3),
                  Raw(a.get()), Ld(2, 2), Raw(a.get()), Count(64), Raw(s.get()),
                  Raw(info.get()));
    for (const auto& [u, v] :
         {std::pair{bad, some}, {some, bad}, {over, over}}) {
      EXPECT_EQ(Solver(Dn<T>("gesvd"), SolverHandle(), u, v, 3, 2, a.get(), 3,
                       s.get(), a.get(), 3, a.get(), 2, a.get(), 64, s.get(),
                       info.get()),
                kInvalidValue);
    }
  });
}

// What is no number has no singular values, and comes to an end.
TEST(CusolverSingular, NotANumber) {
  ForAll([]<typename T>() {
    Matrix a = Identity(4);
    a(2, 1) = kNan;
    using R = Real<T>;
    const OnDevice<T> memory(a), vectors(a);
    const Device<R> s = Zeros<R>(4);
    const Info info;
    const signed char job = 'A';
    EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("gesvd"), Raw(job), Raw(job),
                     Size(4), Size(4), Raw(memory.get()), memory.step(),
                     Raw(s.get()), Raw(vectors.get()), vectors.step(),
                     Raw(vectors.get()), vectors.step(), Raw<T*>(nullptr),
                     Count(64), Raw<R*>(nullptr), Raw(info.get())),
              kSuccess);
    EXPECT_GT(info.Read(), 0);
  });
}

// Forms that give V, not V^H: by rotations, by polar factors, truncated.
template <typename T>
void TestWithV(bool polar, int econ, const Matrix& a) {
  using R = Real<T>;
  const long m = a.rows, n = a.columns, k = std::min(m, n);
  for (const int mode : {1, 0}) {
    const OnDevice<T> memory(a), u(Matrix(m, econ ? k : m)),
        v(Matrix(n, econ ? k : n));
    const Device<R> s = Zeros<R>(k);
    if (polar) {
      double error = -1;
      EXPECT_EQ(WithBytes("cusolverDnXgesvdp",
                          std::tuple(
                              Raw(SolverParams()), Mode(mode), Raw(econ),
                              Size(m), Size(n), Raw(kType<T>),
                              Raw<void*>(memory.get()), memory.step(),
                              Raw(kType<R>), Raw<void*>(s.get()), Raw(kType<T>),
                              Raw<void*>(u.get()), u.step(), Raw(kType<T>),
                              Raw<void*>(v.get()), v.step(), Raw(kType<T>)),
                          std::tuple(Raw(&error))),
                0);
      EXPECT_EQ(error, 0);
    } else {
      void* const jacobi = JacobiInfo("Gesvdj");
      EXPECT_EQ(WithWork<T>(
                    Dn<T>("gesvdj"),
                    std::tuple(Mode(mode), Raw(econ), Size(m), Size(n),
                               Raw(memory.get()), memory.step(), Raw(s.get()),
                               Raw(u.get()), u.step(), Raw(v.get()), v.step()),
                    std::tuple(Raw(jacobi))),
                0);
      double residual = -1;
      int sweeps = -1;
      EXPECT_EQ(Solver("cusolverDnXgesvdjGetResidual", SolverHandle(), jacobi,
                       &residual),
                kSuccess);
      EXPECT_EQ(
          Solver("cusolverDnXgesvdjGetSweeps", SolverHandle(), jacobi, &sweeps),
          kSuccess);
      EXPECT_GE(residual, 0);
      EXPECT_LT(residual, kUnits * std::numeric_limits<R>::epsilon() *
                              static_cast<double>(m * n + 1));
      EXPECT_EQ(Solver("cusolverDnDestroyGesvdjInfo", jacobi), kSuccess);
    }
    const std::vector<double> values = Reals(ReadVector(s, k));
    EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
    if (mode == 1) {
      ExpectSingular<T>(a, u.Read(), values, Apply(kC, v.Read()), "with V");
    }
  }
}
TEST(CusolverSingular, WithV) {
  ForAll([]<typename T>() {
    for (const auto& [m, n] : kSizes) {
      Numbers numbers;
      const Matrix a = RandomMatrix<T>(numbers, m, n);
      for (const bool polar : {false, true}) {
        for (const int econ : {0, 1}) TestWithV<T>(polar, econ, a);
      }
    }
    using R = Real<T>;
    const Device<T> a = Zeros<T>(64);
    const Device<R> s = Zeros<R>(8);
    const Info info;
    int size = 0;
    void* const jacobi = JacobiInfo("Gesvdj");
    const Raw<const T*> in(a.get());
    const Raw<const R*> in_s(s.get());
    const Raw out(a.get());
    ExpectRefused(Dn<T>("gesvdj"), Mode(1), Raw(0), Size(3), Size(2), out,
                  Ld(3, 3), Raw(s.get()), out, Ld(3, 3), out, Ld(2, 2), out,
                  Count(64), Raw(info.get()), Raw(jacobi));
    ExpectRefused(Dn<T>("gesvdj_bufferSize"), Mode(1), Raw(0), Size(3), Size(2),
                  in, Ld(3, 3), in_s, in, Ld(3, 3), in, Ld(2, 2), Raw(&size),
                  Raw(jacobi));
    ExpectRefused(Dn<T>("gesvdjBatched"), Mode(1), Size(3), Size(2), out,
                  Ld(3, 3), Raw(s.get()), out, Ld(3, 3), out, Ld(2, 2), out,
                  Count(64), Raw(info.get()), Raw(jacobi), Size(1));
    ExpectRefused(Dn<T>("gesvdjBatched_bufferSize"), Mode(1), Size(3), Size(2),
                  in, Ld(3, 3), in_s, in, Ld(3, 3), in, Ld(2, 2), Raw(&size),
                  Raw(jacobi), Size(1));
    EXPECT_EQ(Solver("cusolverDnDestroyGesvdjInfo", jacobi), kSuccess);
  });
}

TEST(CusolverSingular, OfManyMatrices) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    const long m = 5, n = 3, count = 3;
    Numbers numbers;
    Matrix all(m, n * count);
    for (Complex64& value : all.v) value = Complex64(numbers.As<T>());
    const OnDevice<T> memory(all), u(Matrix(m, m * count)),
        v(Matrix(n, n * count));
    const Device<R> s = Zeros<R>(n * count);
    const Info infos(static_cast<std::size_t>(count));
    void* const jacobi = JacobiInfo("Gesvdj");
    const auto head = std::tuple(Mode(1), Size(m), Size(n));
    const auto places =
        std::tuple(Raw(memory.get()), memory.step(), Raw(s.get()), Raw(u.get()),
                   u.step(), Raw(v.get()), v.step());
    const auto call = [&](const std::string& name, const auto& middle) {
      return std::apply(
          [&](const auto&... arguments) {
            return Invoke(SolverHandle(), name, arguments...);
          },
          std::tuple_cat(head, places, middle,
                         std::tuple(Raw(jacobi), Size(count))));
    };
    int size = 0;
    EXPECT_EQ(call(Dn<T>("gesvdjBatched_bufferSize"), std::tuple(Raw(&size))),
              kSuccess);
    EXPECT_EQ(call(Dn<T>("gesvdjBatched"),
                   std::tuple(Raw<T*>(nullptr), Raw(size), Raw(infos.get()))),
              kSuccess);
    EXPECT_EQ(Solver("cusolverDnDestroyGesvdjInfo", jacobi), kSuccess);
    const std::vector<double> values = Reals(ReadVector(s, n * count));
    for (long i = 0; i < count; ++i) {
      EXPECT_EQ(infos.Read(static_cast<std::size_t>(i)), 0);
      ExpectSingular<T>(Block(all, 0, i * n, m, n),
                        Block(u.Read(), 0, i * m, m, m),
                        {values.begin() + i * n, values.begin() + (i + 1) * n},
                        Apply(kC, Block(v.Read(), 0, i * n, n, n)), "of many");
    }
  });
}

// The largest only: what is left is what the others make.
template <typename T>
void TestTruncated(bool random, long rank) {
  using R = Real<T>;
  const long m = 7, n = 4, count = random ? 1 : 2;
  Numbers numbers;
  const Matrix a = RandomMatrix<T>(numbers, m, n * count);
  const OnDevice<T> memory(a), u(Matrix(m, rank * count)),
      v(Matrix(n, rank * count));
  const Device<R> s = Zeros<R>(rank * count);
  std::vector<double> distances(2, -1);
  if (random) {
    const signed char some = 'S';
    EXPECT_EQ(
        WithBytes(
            "cusolverDnXgesvdr",
            std::tuple(Raw(SolverParams()), Raw(some), Raw(some), Size(m),
                       Size(n), Size(rank), Size(2), Size(2), Raw(kType<T>),
                       Raw<void*>(memory.get()), memory.step(), Raw(kType<R>),
                       Raw<void*>(s.get()), Raw(kType<T>), Raw<void*>(u.get()),
                       u.step(), Raw(kType<T>), Raw<void*>(v.get()), v.step(),
                       Raw(kType<T>))),
        0);
  } else {
    const Info infos(static_cast<std::size_t>(count));
    const long long step_a = memory.ld() * n, step_u = u.ld() * rank,
                    step_v = v.ld() * rank, step_s = rank;
    int size = 0;
    EXPECT_EQ(
        Solver(Dn<T>("gesvdaStridedBatched_bufferSize"), SolverHandle(), 1,
               static_cast<int>(rank), static_cast<int>(m), static_cast<int>(n),
               memory.get(), static_cast<int>(memory.ld()), step_a, s.get(),
               step_s, u.get(), static_cast<int>(u.ld()), step_u, v.get(),
               static_cast<int>(v.ld()), step_v, &size,
               static_cast<int>(count)),
        kSuccess);
    EXPECT_GT(size, 0);
    EXPECT_EQ(
        Solver(Dn<T>("gesvdaStridedBatched"), SolverHandle(), 1,
               static_cast<int>(rank), static_cast<int>(m), static_cast<int>(n),
               memory.get(), static_cast<int>(memory.ld()), step_a, s.get(),
               step_s, u.get(), static_cast<int>(u.ld()), step_u, v.get(),
               static_cast<int>(v.ld()), step_v, nullptr, size, infos.get(),
               distances.data(), static_cast<int>(count)),
        kSuccess);
    EXPECT_EQ(infos.Read(1), 0);
  }
  const std::vector<double> values = Reals(ReadVector(s, rank * count));
  for (long i = 0; i < count; ++i) {
    const Matrix one = Block(a, 0, i * n, m, n);
    const Matrix ui = Block(u.Read(), 0, i * rank, m, rank),
                 vi = Block(v.Read(), 0, i * rank, n, rank);
    const std::vector<double> si(values.begin() + i * rank,
                                 values.begin() + (i + 1) * rank);
    // A V = U S, whatever is left out.
    ExpectMatrix<T>(Times(one, vi), Times(ui, Diagonal(si)), kUnits, "A V");
    ExpectMatrix<T>(Times(Apply(kC, ui), ui), Identity(rank), kUnits, "U^H U");
    double left = 0;
    for (const Complex64& value :
         Minus(one, Times(Times(ui, Diagonal(si)), Apply(kC, vi))).v) {
      left += std::norm(value);
    }
    if (!random) {
      EXPECT_NEAR(distances[static_cast<std::size_t>(i)], std::sqrt(left),
                  kUnits * std::numeric_limits<R>::epsilon());
    }
  }
}
TEST(CusolverSingular, Largest) {
  ForAll([]<typename T>() {
    for (const long rank : {4, 2, 1}) {
      TestTruncated<T>(false, rank);
      TestTruncated<T>(true, rank);
    }
    // More than there are, and a wide matrix.
    int size = 0;
    const T* const a = nullptr;
    const Real<T>* const s = nullptr;
    for (const auto& [rank, m, n] : {std::tuple{3, 4, 2}, {2, 2, 4}}) {
      EXPECT_EQ(
          Solver(Dn<T>("gesvdaStridedBatched_bufferSize"), SolverHandle(), 1,
                 rank, m, n, a, 8, 0LL, s, 0LL, a, 8, 0LL, a, 8, 0LL, &size, 1),
          kInvalidValue);
    }
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::solver
