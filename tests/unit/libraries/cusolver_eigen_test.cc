// Eigenvalues by what they and their vectors are.
#include <algorithm>
#include <cmath>

#include "tests/unit/libraries/cusolver.h"

namespace cerberus::libraries::tests::solver {
namespace {

constexpr double kUnits = 4096;
constexpr int kAll = 1001, kByIndex = 1002, kByValue = 1003;

// X^H X = 1, or for a generalized problem X^H B X = 1, A X = B X W, the values
// in rising order.
template <typename T>
void ExpectEigen(const Matrix& a, const Matrix& b, const Matrix& x,
                 const std::vector<double>& w, const std::string& what) {
  ExpectMatrix<T>(Times(a, x), Times(Times(b, x), Diagonal(w)), kUnits, what);
  ExpectMatrix<T>(Times(Apply(kC, x), Times(b, x)), Identity(x.columns), kUnits,
                  what + ", X^H B X");
  EXPECT_TRUE(std::is_sorted(w.begin(), w.end())) << what;
}
template <typename T>
void ExpectValues(const std::vector<double>& got,
                  const std::vector<double>& want, const std::string& what) {
  std::vector<Complex64> a(got.begin(), got.end()), b(want.begin(), want.end());
  ExpectNear(a, b, kUnits * std::numeric_limits<Real<T>>::epsilon(), what);
}

// The functions of one Hermitian matrix: by halves, by rotations, told types.
template <typename T>
std::vector<double> EigenOf(const std::string& way, int mode, int fill,
                            const OnDevice<T>& a, long n) {
  using R = Real<T>;
  const Device<R> w = Zeros<R>(n);
  const auto front = std::tuple(Mode(mode), Fill(fill), Size(n), Raw(a.get()),
                                a.step(), Raw(w.get()));
  if (way == "evd") {
    EXPECT_EQ(WithWork<T>(Dn<T>("syevd", "heevd"), front), 0);
  } else if (way == "evj") {
    void* const jacobi = JacobiInfo("Syevj");
    EXPECT_EQ(
        WithWork<T>(Dn<T>("syevj", "heevj"), front, std::tuple(Raw(jacobi))),
        0);
    double residual = -1;
    int sweeps = -1;
    EXPECT_EQ(Solver("cusolverDnXsyevjGetResidual", SolverHandle(), jacobi,
                     &residual),
              kSuccess);
    EXPECT_EQ(
        Solver("cusolverDnXsyevjGetSweeps", SolverHandle(), jacobi, &sweeps),
        kSuccess);
    EXPECT_GE(residual, 0);
    EXPECT_LT(residual, kUnits * std::numeric_limits<R>::epsilon() *
                            static_cast<double>(n * n + 1));
    EXPECT_GE(sweeps, 0);
    EXPECT_EQ(Solver("cusolverDnDestroySyevjInfo", jacobi), kSuccess);
  } else {
    const auto typed =
        std::tuple(Raw(SolverParams()), Mode(mode), Fill(fill), Size(n),
                   Raw(kType<T>), Raw<void*>(a.get()), a.step(), Raw(kType<R>),
                   Raw<void*>(w.get()), Raw(kType<T>));
    if (way == "X") {
      EXPECT_EQ(WithBytes("cusolverDnXsyevd", typed), 0);
    } else {
      EXPECT_EQ(WithBytes("cusolverDnXsyevBatched", typed, std::tuple(Count(1)),
                          std::tuple(Count(1))),
                0);
    }
  }
  return Reals(ReadVector(w, n));
}
template <typename T>
int EigenInfo(const std::string& name, int fill, const OnDevice<T>& a,
              const Device<Real<T>>& w) {
  return WithWork<T>(name, std::tuple(Mode(1), tests::Fill(fill), Size(4),
                                      Raw(a.get()), a.step(), Raw(w.get())));
}
TEST(CusolverEigen, OfHermitianMatrices) {
  ForAll([]<typename T>() {
    for (const char* way : {"evd", "evj", "X", "batched"}) {
      for (const long n : {5, 1, 0, 33}) {
        for (const int fill : {kLower, kUpper}) {
          Numbers numbers;
          const Matrix a = RandomHermitian<T>(numbers, n);
          const OnDevice<T> with(Half(a, fill, 9)), without(Half(a, fill, 9));
          const std::vector<double> w = EigenOf(way, 1, fill, with, n);
          ExpectEigen<T>(a, Identity(n), with.Read(), w,
                         way + std::string(" of ") + std::to_string(n));
          ExpectValues<T>(EigenOf(way, 0, fill, without, n), w, way);
        }
      }
    }
  });
}
// Of numbers so small that what is beside the diagonal could count as nothing.
TEST(CusolverEigen, OfTheSmallestNumbers) {
  ForAll([]<typename T>() {
    const double least = std::numeric_limits<Real<T>>::min();
    Matrix a(2, 2);
    a(0, 1) = a(1, 0) = least;
    const OnDevice<T> memory(a);
    std::vector<double> w = EigenOf("evd", 1, kLower, memory, 2);
    for (double& value : w) value /= least;
    ExpectValues<T>(w, {-1, 1}, "syevd");
  });
}

TEST(CusolverEigen, Refusals) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    const Device<T> a = Zeros<T>(64);
    const Device<R> w = Zeros<R>(8);
    const Info info;
    int size = 0;
    const Raw out(a.get());
    const Raw<const T*> in(a.get());
    const Raw<const R*> in_w(w.get());
    void* const jacobi = JacobiInfo("Syevj");
    const auto matrix = std::tuple(Mode(1), Fill(kLower), Size(3));
    const auto refused = [](const std::string& name, const auto&... parts) {
      std::apply([&](const auto&... all) { ExpectRefused(name, all...); },
                 std::tuple_cat(parts...));
    };
    const auto one = std::tuple(out, Ld(3, 3));
    const auto two = std::tuple(out, Ld(3, 3), out, Ld(3, 3));
    const auto one_in = std::tuple(in, Ld(3, 3));
    const auto two_in = std::tuple(in, Ld(3, 3), in, Ld(3, 3));
    const auto work = std::tuple(Raw(w.get()), out, Count(64), Raw(info.get()));
    const auto ask = std::tuple(in_w, Raw(&size));
    const auto kind = std::tuple(Kind(1));
    refused(Dn<T>("syevd", "heevd"), matrix, one, work);
    refused(Dn<T>("syevd_bufferSize", "heevd_bufferSize"), matrix, one_in, ask);
    refused(Dn<T>("sygvd", "hegvd"), kind, matrix, two, work);
    refused(Dn<T>("sygvd_bufferSize", "hegvd_bufferSize"), kind, matrix, two_in,
            ask);
    const auto tail = std::tuple(Raw(jacobi));
    refused(Dn<T>("syevj", "heevj"), matrix, one, work, tail);
    refused(Dn<T>("syevj_bufferSize", "heevj_bufferSize"), matrix, one_in, ask,
            tail);
    refused(Dn<T>("sygvj", "hegvj"), kind, matrix, two, work, tail);
    refused(Dn<T>("sygvj_bufferSize", "hegvj_bufferSize"), kind, matrix, two_in,
            ask, tail);
    const auto batch = std::tuple(Raw(jacobi), Size(1));
    refused(Dn<T>("syevjBatched", "heevjBatched"), matrix, one, work, batch);
    refused(Dn<T>("syevjBatched_bufferSize", "heevjBatched_bufferSize"), matrix,
            one_in, ask, batch);
    // Parameters that are none.
    EXPECT_EQ(Solver(Dn<T>("syevj", "heevj"), SolverHandle(), 1, kLower, 3,
                     a.get(), 3, w.get(), a.get(), 64, info.get(), nullptr),
              kInvalidValue);
    EXPECT_EQ(Solver("cusolverDnDestroySyevjInfo", jacobi), kSuccess);
    EXPECT_EQ(Solver("cusolverDnDestroySyevjInfo", jacobi), kInvalidValue);
  });
}

TEST(CusolverEigen, SomeOfThem) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    const long n = 7;
    Numbers numbers;
    const Matrix a = RandomHermitian<T>(numbers, n);
    const OnDevice<T> whole(a);
    const std::vector<double> all = EigenOf("evd", 0, kLower, whole, n);
    const auto vl = static_cast<R>((all[1] + all[2]) / 2),
               vu = static_cast<R>((all[4] + all[5]) / 2);
    for (const int range : {kAll, kByIndex, kByValue}) {
      const long first = range == kAll ? 0 : 2, count = range == kAll ? n : 3;
      for (const bool typed : {false, true}) {
        for (const int mode : {0, 1}) {
          const OnDevice<T> memory(Half(a, kUpper, 9));
          const Device<R> w = Zeros<R>(n);
          int found = -1;
          std::int64_t found_typed = -1;
          if (typed) {
            R low = vl, high = vu;
            EXPECT_EQ(
                WithBytes(
                    "cusolverDnXsyevdx",
                    std::tuple(Raw(SolverParams()), Mode(mode), Raw(range),
                               Fill(kUpper), Size(n), Raw(kType<T>),
                               Raw<void*>(memory.get()), memory.step(),
                               Raw<void*>(&low), Raw<void*>(&high), Count(3),
                               Count(5), Raw(&found_typed), Raw(kType<R>),
                               Raw<void*>(w.get()), Raw(kType<T>))),
                0);
            EXPECT_EQ(found_typed, count);
          } else {
            EXPECT_EQ(WithWork<T>(
                          Dn<T>("syevdx", "heevdx"),
                          std::tuple(Mode(mode), Raw(range), Fill(kUpper),
                                     Size(n), Raw(memory.get()), memory.step(),
                                     Raw(vl), Raw(vu), Count(3), Count(5),
                                     Raw(&found), Raw(w.get()))),
                      0);
            EXPECT_EQ(found, count);
          }
          const std::vector<double> got = Reals(ReadVector(w, count));
          const std::vector<double> want(all.begin() + first,
                                         all.begin() + first + count);
          ExpectValues<T>(got, want, "range " + std::to_string(range));
          if (mode == 1) {
            ExpectEigen<T>(a, Identity(n), Block(memory.Read(), 0, 0, n, count),
                           got, "range " + std::to_string(range));
          }
        }
      }
    }
    // An index out of range, an interval that is none.
    const OnDevice<T> memory(a);
    const Device<R> w = Zeros<R>(n);
    const Info info;
    int found = 0;
    for (const auto& [range, low, high, il, iu] :
         {std::tuple{kByIndex, 0, 0, 0, 3},
          {kByIndex, 0, 0, 3, 8},
          {kByIndex, 0, 0, 4, 3},
          {kByValue, 1, 1, 0, 0},
          {7, 0, 0, 1, 1}}) {
      EXPECT_EQ(
          Invoke(SolverHandle(), Dn<T>("syevdx", "heevdx"), Mode(0), Raw(range),
                 Fill(kUpper), Size(n), Raw(memory.get()), memory.step(),
                 Raw(static_cast<R>(low)), Raw(static_cast<R>(high)), Count(il),
                 Count(iu), Raw(&found), Raw(w.get()), Raw(memory.get()),
                 Count(64), Raw(info.get())),
          kInvalidValue);
    }
  });
}

// With X of A X = B X W; of the second problem B X, of the third B^-1 X.
template <typename T>
void ExpectGeneralized(int kind, const Matrix& a, const Matrix& b,
                       const Matrix& x, const std::vector<double>& w,
                       const std::string& what) {
  const Matrix values = Diagonal(w);
  switch (kind) {
    case 1: return ExpectEigen<T>(a, b, x, w, what);
    case 2:
      ExpectMatrix<T>(Times(a, Times(b, x)), Times(x, values), 16 * kUnits,
                      what);
      break;
    default:
      ExpectMatrix<T>(Times(b, Times(a, x)), Times(x, values), 16 * kUnits,
                      what);
  }
  EXPECT_TRUE(std::is_sorted(w.begin(), w.end())) << what;
}
TEST(CusolverEigen, OfTwoMatrices) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    for (const std::string way : {"gvd", "gvj", "gvdx", "X", "Xx", "batched"}) {
      for (const int kind : {1, 2, 3}) {
        for (const long n : {4, 1, 0}) {
          for (const int fill : {kLower, kUpper}) {
            Numbers numbers;
            const Matrix a = RandomHermitian<T>(numbers, n);
            const Matrix b = RandomDefinite<T>(numbers, n);
            const OnDevice<T> ma(Half(a, fill, 9)), mb(Half(b, fill, 9));
            const Device<R> w = Zeros<R>(n);
            const auto head =
                std::tuple(Kind(kind), Mode(1), Fill(fill), Size(n));
            const auto matrices =
                std::tuple(Raw(ma.get()), ma.step(), Raw(mb.get()), mb.step());
            const auto typed =
                std::tuple(Raw(kType<T>), Raw<void*>(ma.get()), ma.step(),
                           Raw(kType<T>), Raw<void*>(mb.get()), mb.step());
            const auto values =
                std::tuple(Raw(kType<R>), Raw<void*>(w.get()), Raw(kType<T>));
            const auto params = std::tuple(Raw(SolverParams()));
            if (way == "gvd") {
              EXPECT_EQ(WithWork<T>(Dn<T>("sygvd", "hegvd"),
                                    std::tuple_cat(head, matrices,
                                                   std::tuple(Raw(w.get())))),
                        0);
            } else if (way == "gvj") {
              void* const jacobi = JacobiInfo("Syevj");
              EXPECT_EQ(WithWork<T>(Dn<T>("sygvj", "hegvj"),
                                    std::tuple_cat(head, matrices,
                                                   std::tuple(Raw(w.get()))),
                                    std::tuple(Raw(jacobi))),
                        0);
              EXPECT_EQ(Solver("cusolverDnDestroySyevjInfo", jacobi), kSuccess);
            } else if (way == "gvdx") {
              int found = -1;
              EXPECT_EQ(
                  WithWork<T>(
                      Dn<T>("sygvdx", "hegvdx"),
                      std::tuple_cat(
                          std::tuple(Kind(kind), Mode(1), Raw(kAll), Fill(fill),
                                     Size(n)),
                          matrices,
                          std::tuple(Raw(R(0)), Raw(R(0)), Count(0), Count(0),
                                     Raw(&found), Raw(w.get())))),
                  0);
              EXPECT_EQ(found, n);
            } else if (way == "X") {
              EXPECT_EQ(WithBytes("cusolverDnXsygvd",
                                  std::tuple_cat(params, head, typed, values)),
                        0);
            } else if (way == "Xx") {
              std::int64_t found = -1;
              std::size_t device = 0, host = 0;
              const auto call = [](const std::string& name, const auto& all) {
                return std::apply(
                    [&](const auto&... arguments) {
                      return Invoke<std::int64_t>(SolverHandle(), name,
                                                  arguments...);
                    },
                    all);
              };
              const auto bounds =
                  std::tuple(Raw<void*>(nullptr), Raw<void*>(nullptr), Count(1),
                             Count(n), Raw(&found));
              EXPECT_EQ(
                  call("cusolverDnXsygvdx_bufferSize",
                       std::tuple_cat(params, head, typed, bounds, values,
                                      std::tuple(Raw(&device), Raw(&host)))),
                  kSuccess);
              const Info info;
              EXPECT_EQ(call("cusolverDnXsygvdx",
                             std::tuple_cat(
                                 params,
                                 std::tuple(Kind(kind), Mode(1), Raw(kAll),
                                            Fill(fill), Size(n)),
                                 typed, bounds, values,
                                 std::tuple(Raw<void*>(nullptr), Raw(device),
                                            Raw<void*>(nullptr), Raw(host),
                                            Raw(info.get())))),
                        kSuccess);
              EXPECT_EQ(info.Read(), 0);
              EXPECT_EQ(found, n);
            } else {
              const auto strided = std::tuple(
                  Raw(kType<T>), Raw<void*>(ma.get()), ma.step(), Count(0),
                  Raw(kType<T>), Raw<void*>(mb.get()), mb.step(), Count(0),
                  Raw(kType<R>), Raw<void*>(w.get()), Count(0), Raw(kType<T>),
                  Count(1));
              EXPECT_EQ(WithBytes("cusolverDnXsygvStridedBatched",
                                  std::tuple_cat(params, head, strided)),
                        0);
            }
            ExpectGeneralized<T>(kind, a, b, ma.Read(), Reals(ReadVector(w, n)),
                                 way + " " + std::to_string(kind));
          }
        }
      }
    }
    // B that is not positive definite: n and the order of its leading matrix.
    const OnDevice<T> a(Identity(3)), b(Minus(Matrix(3, 3), Identity(3)));
    const Device<R> w = Zeros<R>(3);
    EXPECT_EQ(WithWork<T>(Dn<T>("sygvd", "hegvd"),
                          std::tuple(Kind(1), Mode(1), Fill(kLower), Size(3),
                                     Raw(a.get()), a.step(), Raw(b.get()),
                                     b.step(), Raw(w.get()))),
              4);
  });
}

TEST(CusolverEigen, OfManyMatrices) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    const long n = 4, count = 3;
    for (const bool typed : {false, true}) {
      Numbers numbers;
      Matrix all(n, n * count);
      std::vector<Matrix> as;
      for (long i = 0; i < count; ++i) {
        as.push_back(RandomHermitian<T>(numbers, n));
        std::copy(as.back().v.begin(), as.back().v.end(),
                  all.v.begin() + i * n * n);
      }
      const OnDevice<T> memory(all);
      const Device<R> w = Zeros<R>(n * count);
      const Info infos(static_cast<std::size_t>(count));
      const auto head = std::tuple(Mode(1), Fill(kLower), Size(n));
      const auto call = [](const std::string& name, const auto&... parts) {
        std::apply(
            [&](const auto&... arguments) {
              EXPECT_EQ(
                  Invoke<std::int64_t>(SolverHandle(), name, arguments...),
                  kSuccess);
            },
            std::tuple_cat(parts...));
      };
      if (typed) {
        call("cusolverDnXsyevBatched", std::tuple(Raw(SolverParams())), head,
             std::tuple(Raw(kType<T>), Raw<void*>(memory.get()), memory.step(),
                        Raw(kType<R>), Raw<void*>(w.get()), Raw(kType<T>),
                        Raw<void*>(nullptr), Raw(std::size_t{0}),
                        Raw<void*>(nullptr), Raw(std::size_t{0}),
                        Raw(infos.get()), Size(count)));
      } else {
        void* const jacobi = JacobiInfo("Syevj");
        int size = 0;
        EXPECT_EQ(
            Invoke(SolverHandle(),
                   Dn<T>("syevjBatched_bufferSize", "heevjBatched_bufferSize"),
                   Mode(1), Fill(kLower), Size(n), Raw<const T*>(memory.get()),
                   memory.step(), Raw<const R*>(w.get()), Raw(&size),
                   Raw(jacobi), Size(count)),
            kSuccess);
        EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("syevjBatched", "heevjBatched"),
                         Mode(1), Fill(kLower), Size(n), Raw(memory.get()),
                         memory.step(), Raw(w.get()), Raw<T*>(nullptr),
                         Raw(size), Raw(infos.get()), Raw(jacobi), Size(count)),
                  kSuccess);
        double residual = 0;
        EXPECT_EQ(Solver("cusolverDnXsyevjGetResidual", SolverHandle(), jacobi,
                         &residual),
                  kNotSupported);
        EXPECT_EQ(Solver("cusolverDnDestroySyevjInfo", jacobi), kSuccess);
      }
      const Matrix vectors = memory.Read();
      const std::vector<double> values = Reals(ReadVector(w, n * count));
      for (long i = 0; i < count; ++i) {
        EXPECT_EQ(infos.Read(static_cast<std::size_t>(i)), 0);
        ExpectEigen<T>(as[static_cast<std::size_t>(i)], Identity(n),
                       Block(vectors, 0, i * n, n, n),
                       {values.begin() + i * n, values.begin() + (i + 1) * n},
                       "of many");
      }
    }
  });
}

TEST(CusolverEigen, OfThreeDiagonals) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    for (const long n : {6, 1, 0}) {
      for (const int comp : {10, 11, 12}) {  // none, identity, given
        Numbers numbers;
        std::vector<R> d(static_cast<std::size_t>(n + 1)), e(d);
        for (R& value : d) value = static_cast<R>(numbers.Next());
        for (R& value : e) value = static_cast<R>(numbers.Next());
        Matrix t(n, n);
        for (long i = 0; i < n; ++i) {
          t(i, i) = d[static_cast<std::size_t>(i)];
          if (i + 1 < n) {
            t(i, i + 1) = t(i + 1, i) = e[static_cast<std::size_t>(i)];
          }
        }
        // A permutation, which is orthogonal.
        Matrix z(n, n);
        for (long i = 0; i < n; ++i) z(i, (i + 2) % n) = 1;
        const Device<R> md(d), me(e);
        const OnDevice<T> mz(z);
        EXPECT_EQ(WithBytes("cusolverDnXstedc",
                            std::tuple(Raw(SolverParams()), Raw(comp), Size(n),
                                       Raw(kType<R>), Raw<void*>(md.get()),
                                       Raw<void*>(me.get()), Raw(kType<T>),
                                       Raw<void*>(mz.get()), mz.step(),
                                       Raw(kType<T>))),
                  0);
        const std::vector<double> w = Reals(ReadVector(md, n));
        EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
        if (comp == 10) continue;
        const Matrix a = comp == 11 ? t : Times(Times(z, t), Apply(kC, z));
        ExpectEigen<T>(a, Identity(n), mz.Read(), w, "stedc");
      }
    }
    std::size_t device = 0, host = 0;
    for (const auto& [comp, status] :
         {std::pair{12, kSuccess}, {13, kInvalidValue}, {0, kInvalidValue}}) {
      EXPECT_EQ(Invoke<std::int64_t>(
                    SolverHandle(), "cusolverDnXstedc_bufferSize",
                    Raw(SolverParams()), Raw(comp), Size(3), Raw(kType<R>),
                    Raw<void*>(nullptr), Raw<void*>(nullptr), Raw(kType<T>),
                    Raw<void*>(nullptr), Ld(3, 3), Raw(kType<T>), Raw(&device),
                    Raw(&host)),
                status);
    }
  });
}

// Any matrix: A V = V W, U^H A = W U^H, of length one, the largest element
// real.
void ExpectUnit(const Matrix& v, double tolerance) {
  for (long j = 0; j < v.columns; ++j) {
    double length = 0;
    long largest = 0;
    for (long i = 0; i < v.rows; ++i) {
      length += std::norm(v(i, j));
      if (std::abs(v(i, j)) > std::abs(v(largest, j))) largest = i;
    }
    EXPECT_NEAR(length, 1, tolerance);
    double real = 0;
    for (long i = 0; i < v.rows; ++i) {
      const bool is_largest =
          std::abs(v(i, j)) > std::abs(v(largest, j)) * (1 - tolerance);
      if (is_largest) real = std::max(real, std::abs(v(i, j).real()));
    }
    EXPECT_NEAR(real, std::abs(v(largest, j)), tolerance);
  }
}
// LAPACK's vectors of a real matrix, of which a pair's stand as real and
// imaginary part, as complex ones.
Matrix Widened(const Matrix& v, const std::vector<Complex64>& w) {
  Matrix out = v;
  for (long j = 0; j < v.columns; ++j) {
    if (w[static_cast<std::size_t>(j)].imag() <= 0) continue;
    for (long i = 0; i < v.rows; ++i) {
      out(i, j) = Complex64(v(i, j).real(), v(i, j + 1).real());
      out(i, j + 1) = std::conj(out(i, j));
    }
  }
  return out;
}
// Of A times `scale`.
template <typename T, typename W, typename V>
void TestGeneral(const Matrix& a, double scale = 1) {
  const long n = a.rows;
  Matrix scaled = a;
  for (Complex64& value : scaled.v) value *= scale;
  const OnDevice<T> memory(scaled), values_only(scaled);
  const Device<W> w = Zeros<W>(2 * n);
  const OnDevice<V> left(Matrix(n, n)), right(Matrix(n, n));
  const auto call = [&](const OnDevice<T>& from, int mode) {
    return WithBytes(
        "cusolverDnXgeev",
        std::tuple(Raw(SolverParams()), Mode(mode), Mode(mode), Size(n),
                   Raw(kType<T>), Raw<void*>(from.get()), from.step(),
                   Raw(kType<W>), Raw<void*>(w.get()), Raw(kType<V>),
                   Raw<void*>(left.get()), left.step(), Raw(kType<V>),
                   Raw<void*>(right.get()), right.step(), Raw(kType<T>)));
  };
  const auto read = [&] {
    const Matrix memory_of_w = ReadVector(w, 2 * n);
    std::vector<Complex64> out;
    out.reserve(static_cast<std::size_t>(n));
    for (long i = 0; i < n; ++i) {
      out.push_back(kIsComplex<W> ? memory_of_w(i, 0)
                                  : Complex64(memory_of_w(i, 0).real(),
                                              memory_of_w(n + i, 0).real()));
      out.back() /= scale;
    }
    return out;
  };
  EXPECT_EQ(call(memory, 1), 0);
  const std::vector<Complex64> found = read();
  Matrix values(n, n);
  for (long i = 0; i < n; ++i) {
    values(i, i) = found[static_cast<std::size_t>(i)];
  }
  const bool packed = !kIsComplex<V>;
  const Matrix v = packed ? Widened(right.Read(), found) : right.Read();
  const Matrix u = packed ? Widened(left.Read(), found) : left.Read();
  const std::string what = "geev of " + std::to_string(n);
  ExpectMatrix<T>(Times(a, v), Times(v, values), kUnits, what);
  ExpectMatrix<T>(Times(Apply(kC, u), a), Times(values, Apply(kC, u)), kUnits,
                  what + ", left");
  const double tolerance =
      kUnits * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
  ExpectUnit(v, tolerance);
  ExpectUnit(u, tolerance);
  if constexpr (!kIsComplex<T>) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].imag() == 0) continue;
      ASSERT_GT(found[i].imag(), 0) << what;
      ASSERT_LT(i + 1, found.size()) << what;
      EXPECT_EQ(found[i + 1], std::conj(found[i])) << what;
      ++i;
    }
  }
  EXPECT_EQ(call(values_only, 0), 0);
  Complex64 sum = 0, trace = 0;
  for (const Complex64& value : read()) sum += value;
  for (long i = 0; i < n; ++i) trace += a(i, i);
  EXPECT_NEAR(std::abs(sum - trace), 0, tolerance * 8);
}
// What is no number has no eigenvalues, and comes to an end.
TEST(CusolverEigen, NotANumber) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    for (const double bad : {kNan, kInfinity}) {
      Matrix a = Identity(4);
      a(2, 1) = bad;
      const OnDevice<T> memory(a), general(a);
      const Device<R> w = Zeros<R>(4);
      EXPECT_GT(EigenInfo(Dn<T>("syevd", "heevd"), kLower, memory, w), 0);
      for (const double value : Reals(ReadVector(w, 4))) {
        EXPECT_TRUE(std::isnan(value));
      }
      // The other triangle is not read.
      const OnDevice<T> half(a);
      EXPECT_EQ(EigenInfo(Dn<T>("syevd", "heevd"), kUpper, half, w), 0);
      const Device<T> values = Zeros<T>(8);
      EXPECT_GT(
          WithBytes("cusolverDnXgeev",
                    std::tuple(Raw(SolverParams()), Mode(0), Mode(0), Size(4),
                               Raw(kType<T>), Raw<void*>(general.get()),
                               general.step(), Raw(kType<T>),
                               Raw<void*>(values.get()), Raw(kType<T>),
                               Raw<void*>(nullptr), Count(1), Raw(kType<T>),
                               Raw<void*>(nullptr), Count(1), Raw(kType<T>))),
          0);
    }
  });
}
TEST(CusolverEigen, OfAnyMatrix) {
  ForAll([]<typename T>() {
    using C = std::complex<Real<T>>;
    for (const long n : {5, 1, 0, 2, 33}) {
      Numbers numbers;
      const Matrix a = RandomMatrix<T>(numbers, n, n);
      TestGeneral<T, C, C>(a);
      if constexpr (!kIsComplex<T>) {
        TestGeneral<T, T, T>(a);
        TestGeneral<T, C, T>(a);
      }
    }
    // A turn by a quarter, a matrix of zeros, a triangle.
    Matrix turn(2, 2), triangle(3, 3);
    turn(0, 1) = -1, turn(1, 0) = 1;
    triangle(0, 0) = 1, triangle(1, 1) = 2, triangle(2, 2) = 3;
    triangle(0, 1) = triangle(0, 2) = triangle(1, 2) = 1;
    TestGeneral<T, C, C>(turn);
    TestGeneral<T, C, C>(Matrix(3, 3));
    TestGeneral<T, C, C>(triangle);
    // Whose squares are no numbers, or nothing.
    Numbers numbers;
    const Matrix a = RandomMatrix<T>(numbers, 9, 9);
    TestGeneral<T, C, C>(a, std::numeric_limits<Real<T>>::max() / 4096);
    TestGeneral<T, C, C>(a, std::numeric_limits<Real<T>>::min() * 4096);
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::solver
