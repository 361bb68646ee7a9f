// Systems with sparse matrices, by what their solutions solve, on the host and
// on the device, with indices from 0 and from 1.
#include "tests/unit/libraries/cusolver_sparse.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace cerberus::libraries::tests::solver {

void* SparseDescr(int base) {
  static void* const library = dlopen("libcusparse.so.12", RTLD_NOW);
  static void* descriptions[2] = {};
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  void*& descr = descriptions[base];
  if (descr == nullptr) {
    EXPECT_EQ(reinterpret_cast<int (*)(void**)>(
                  dlsym(library, "cusparseCreateMatDescr"))(&descr),
              0);
    EXPECT_EQ(reinterpret_cast<int (*)(void*, int)>(
                  dlsym(library, "cusparseSetMatIndexBase"))(descr, base),
              0);
  }
  return descr;
}
Handle SparseHandle() {
  static const Handle handle = [] {
    SolverHandle();  // makes a context current
    Handle made = nullptr;
    EXPECT_EQ(Solver("cusolverSpCreate", &made), kSuccess);
    return made;
  }();
  return handle;
}

namespace {

constexpr double kUnits = 4096;
constexpr int kMatrixTypeNotSupported = 8;

template <typename T>
std::string Sp(const std::string& name) {
  return std::string("cusolverSp") + kLetter<T> + name;
}
template <typename T>
std::vector<T> InMemory(const Matrix& a) {
  std::vector<T> out;
  out.reserve(a.v.size());
  for (const Complex64& value : a.v) out.push_back(To<T>(value));
  return out;
}
template <typename T>
Matrix AsMatrix(const std::vector<T>& v, long n) {
  Matrix out(n, 1);
  const std::vector<Complex64> wide = Widened(v);
  std::copy_n(wide.begin(), n, out.v.begin());
  return out;
}

// Calls name (…Host if `host`) with a matrix, a right side and what is behind
// them; returns x.
template <typename T, typename... Tail>
Matrix SolveOne(const std::string& name, bool host, const Matrix& a,
                const Matrix& b, int base, int* singularity, Tail... tail) {
  const SparseRows<T> rows(a, base);
  const auto n = static_cast<int>(a.rows);
  const std::vector<T> image = InMemory<T>(b);
  std::vector<T> x(static_cast<std::size_t>(n) + 1, T(7));
  if (host) {
    EXPECT_EQ(Solver(Sp<T>(name + "Host"), SparseHandle(), n, rows.nnz(),
                     SparseDescr(base), rows.values.data(), rows.starts.data(),
                     rows.places.data(), image.data(), tail..., x.data(),
                     singularity),
              kSuccess);
    return AsMatrix(x, n);
  }
  const SparseOnDevice<T> memory(rows);
  const Device<T> on_device(image), to(x);
  EXPECT_EQ(
      Solver(Sp<T>(name), SparseHandle(), n, rows.nnz(), SparseDescr(base),
             memory.values.get(), memory.starts.get(), memory.places.get(),
             on_device.get(), tail..., to.get(), singularity),
      kSuccess);
  return AsMatrix(to.Read(), n);
}

TEST(CusolverSparse, Solves) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    for (const char* name : {"csrlsvlu", "csrlsvqr", "csrlsvchol"}) {
      const bool definite = std::string(name) == "csrlsvchol";
      for (const bool host : {true, false}) {
        if (!host && std::string(name) == "csrlsvlu") continue;
        for (const long n : {9, 1, 25}) {
          for (const int reorder : {0, 1, 2, 3}) {
            Numbers numbers;
            Matrix a = RandomSparse<T>(numbers, n);
            if (definite) {
              a = Times(a, Apply(kC, a));
            } else if (n > 1) {
              // No pivot on the diagonal.
              a(0, 0) = 0;
              a(0, 1) = a(1, 0) = 3;
            }
            const Matrix x = RandomMatrix<T>(numbers, n, 1);
            int singularity = 777;
            const Matrix got =
                SolveOne<T>(name, host, a, Times(a, x), reorder % 2,
                            &singularity, R(0), reorder);
            EXPECT_EQ(singularity, -1) << name;
            ExpectMatrix<T>(got, x, 64 * kUnits, name);
          }
        }
        // The second column is a multiple of the first; or not definite.
        Matrix singular = Identity(3);
        singular(1, 1) = definite ? -1 : 0;
        int singularity = 777;
        SolveOne<T>(name, host, singular, Matrix(3, 1), 0, &singularity,
                    R(1e-6), 0);
        EXPECT_EQ(singularity, 1) << name;
      }
    }
  });
}

TEST(CusolverSparse, Refusals) {
  const SparseRows<double> a(Identity(3));
  std::vector<double> x(3);
  int singularity = 0;
  void* const descr = SparseDescr(0);
  const auto call = [&](int n, const void* description, const int* places,
                        int reorder, int* to) {
    return Solver("cusolverSpDcsrlsvluHost", SparseHandle(), n, 3, description,
                  a.values.data(), a.starts.data(), places, x.data(), 0.0,
                  reorder, x.data(), to);
  };
  const int* const places = a.places.data();
  const int beyond[] = {0, 3, 2};
  EXPECT_EQ(call(3, descr, places, 0, &singularity), kSuccess);
  EXPECT_EQ(call(-1, descr, places, 0, &singularity), kInvalidValue);
  EXPECT_EQ(call(3, nullptr, places, 0, &singularity), kInvalidValue);
  EXPECT_EQ(call(3, descr, beyond, 0, &singularity), kInvalidValue);
  EXPECT_EQ(call(3, descr, places, 4, &singularity), kInvalidValue);
  EXPECT_EQ(call(3, descr, places, 0, nullptr), kInvalidValue);
  EXPECT_EQ(Solver("cusolverSpDcsrlsvluHost", Handle{nullptr}, 3, 3, descr,
                   a.values.data(), a.starts.data(), places, x.data(), 0.0, 0,
                   x.data(), &singularity),
            kNotInitialized);
  // A triangle is not what NVIDIA's takes.
  void* const library = dlopen("libcusparse.so.12", RTLD_NOW | RTLD_NOLOAD);
  const auto set = reinterpret_cast<int (*)(void*, int)>(
      dlsym(library, "cusparseSetMatType"));
  ASSERT_EQ(set(descr, 3), 0);
  EXPECT_EQ(call(3, descr, places, 0, &singularity), kMatrixTypeNotSupported);
  ASSERT_EQ(set(descr, 0), 0);
}

TEST(CusolverSparse, LeastSquares) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    Numbers numbers;
    const int m = 6, n = 3;
    Matrix a = RandomMatrix<T>(numbers, m, n);
    for (const int wanted : {3, 2}) {
      for (long i = 0; wanted == 2 && i < m; ++i) a(i, 1) = 2.0 * a(i, 0);
      const SparseRows<T> rows(a);
      const Matrix b = RandomMatrix<T>(numbers, m, 1);
      const std::vector<T> image = InMemory<T>(b);
      std::vector<T> x(3);
      std::vector<int> p(3, -1);
      int rank = -1;
      R distance = -1;
      EXPECT_EQ(Solver(Sp<T>("csrlsqvqrHost"), SparseHandle(), m, n, rows.nnz(),
                       SparseDescr(0), rows.values.data(), rows.starts.data(),
                       rows.places.data(), image.data(), R(1e-4), &rank,
                       x.data(), p.data(), &distance),
                kSuccess);
      EXPECT_EQ(rank, wanted);
      const Matrix rest = Minus(Times(a, AsMatrix(x, n)), b);
      ExpectMatrix<T>(Times(Apply(kC, a), rest), Matrix(n, 1), kUnits, "A^H r");
      double square = 0;
      for (const Complex64& value : rest.v) square += std::norm(value);
      EXPECT_NEAR(distance, std::sqrt(square), 1e-4);
      std::sort(p.begin(), p.end());
      EXPECT_EQ(p, (std::vector<int>{0, 1, 2}));
    }
  });
}

TEST(CusolverSparse, Eigenvalues) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    using C = std::complex<R>;
    Matrix a = Diagonal({1, 2, 5, 9});
    a(0, 1) = a(1, 0) = 0.25;
    a(2, 3) = a(3, 2) = 0.5;
    const SparseRows<T> rows(a, 1);
    const SparseOnDevice<T> memory(rows);
    const std::vector<T> ones(4, T(1));
    const R tol = static_cast<R>(1e-4);
    const T mu0 = T(R(5.5));
    T mu = T(0);
    std::vector<T> x(4);
    const auto expect = [&](T value, const Matrix& vector) {
      ExpectMatrix<T>(
          Times(a, vector),
          Times(vector, Diagonal({static_cast<double>(std::real(value))})),
          1e-3 / std::numeric_limits<R>::epsilon(), "A x");
      EXPECT_NEAR(std::real(value), 4.9384, 1e-3);
    };
    EXPECT_EQ(
        Solver(Sp<T>("csreigvsiHost"), SparseHandle(), 4, rows.nnz(),
               SparseDescr(1), rows.values.data(), rows.starts.data(),
               rows.places.data(), mu0, ones.data(), 50, tol, &mu, x.data()),
        kSuccess);
    expect(mu, AsMatrix(x, 4));
    const Device<T> to = Zeros<T>(4), first(ones), value = Zeros<T>(1);
    EXPECT_EQ(Solver(Sp<T>("csreigvsi"), SparseHandle(), 4, rows.nnz(),
                     SparseDescr(1), memory.values.get(), memory.starts.get(),
                     memory.places.get(), mu0, first.get(), 50, tol,
                     value.get(), to.get()),
              kSuccess);
    expect(value.Read()[0], AsMatrix(to.Read(), 4));
    int count = -1;
    EXPECT_EQ(Solver(Sp<T>("csreigsHost"), SparseHandle(), 4, rows.nnz(),
                     SparseDescr(1), rows.values.data(), rows.starts.data(),
                     rows.places.data(), C(0, -1), C(6, 1), &count),
              kSuccess);
    EXPECT_EQ(count, 3);
  });
}

bool IsOrder(std::vector<int> p) {
  std::sort(p.begin(), p.end());
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] != static_cast<int>(i)) return false;
  }
  return true;
}
long Band(const Matrix& a, const std::vector<int>& p) {
  long out = 0;
  for (long i = 0; i < a.rows; ++i) {
    for (long j = 0; j < a.columns; ++j) {
      if (a(p[static_cast<std::size_t>(i)], p[static_cast<std::size_t>(j)]) !=
          Complex64(0)) {
        out = std::max(out, std::abs(i - j));
      }
    }
  }
  return out;
}
TEST(CusolverSparse, Orders) {
  // A path through 12 rows that are named at random, and one on its own.
  const long n = 13;
  const std::vector<int> path = {5, 0, 9, 3, 11, 7, 1, 10, 2, 8, 4, 6};
  Matrix a = Identity(n);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    a(path[i], path[i + 1]) = a(path[i + 1], path[i]) = 1;
  }
  const SparseRows<double> rows(a, 1);
  for (const char* name : {"symrcm", "symmdq", "symamd"}) {
    std::vector<int> p(static_cast<std::size_t>(n), -1);
    EXPECT_EQ(
        Solver(std::string("cusolverSpXcsr") + name + "Host", SparseHandle(),
               static_cast<int>(n), rows.nnz(), SparseDescr(1),
               rows.starts.data(), rows.places.data(), p.data()),
        kSuccess);
    EXPECT_TRUE(IsOrder(p)) << name;
    if (std::string(name) == "symrcm") EXPECT_EQ(Band(a, p), 1);
  }
  std::vector<int> p(static_cast<std::size_t>(n), -1);
  EXPECT_EQ(
      Solver("cusolverSpXcsrmetisndHost", SparseHandle(), static_cast<int>(n),
             rows.nnz(), SparseDescr(1), rows.starts.data(), rows.places.data(),
             static_cast<const std::int64_t*>(nullptr), p.data()),
      kSuccess);
  EXPECT_TRUE(IsOrder(p));
  // Symmetric is the pattern, whatever the values.
  int symmetric = -1;
  const auto ask = [&](const SparseRows<double>& m) {
    EXPECT_EQ(
        Solver("cusolverSpXcsrissymHost", SparseHandle(), static_cast<int>(n),
               m.nnz(), SparseDescr(1), m.starts.data(), m.starts.data() + 1,
               m.places.data(), &symmetric),
        kSuccess);
    return symmetric;
  };
  EXPECT_EQ(ask(rows), 1);
  a(0, 1) = 1;
  EXPECT_EQ(ask(SparseRows<double>(a, 1)), 0);
}

TEST(CusolverSparse, PermutesAPattern) {
  Numbers numbers;
  const Matrix a = RandomSparse<double>(numbers, 5);
  SparseRows<double> rows(a, 1);
  const std::vector<int> p = {3, 1, 4, 0, 2}, q = {2, 0, 1, 4, 3};
  std::vector<int> map(rows.places.size());
  std::iota(map.begin(), map.end(), 0);
  std::size_t size = 0;
  EXPECT_EQ(Solver("cusolverSpXcsrperm_bufferSizeHost", SparseHandle(), 5, 5,
                   rows.nnz(), SparseDescr(1), rows.starts.data(),
                   rows.places.data(), p.data(), q.data(), &size),
            kSuccess);
  EXPECT_GT(size, 0u);
  EXPECT_EQ(Solver("cusolverSpXcsrpermHost", SparseHandle(), 5, 5, rows.nnz(),
                   SparseDescr(1), rows.starts.data(), rows.places.data(),
                   p.data(), q.data(), map.data(), nullptr),
            kSuccess);
  Matrix got(5, 5), want(5, 5);
  for (long i = 0; i < 5; ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (int e = rows.starts[at] - 1; e < rows.starts[at + 1] - 1; ++e) {
      const auto element = static_cast<std::size_t>(e);
      got(i, rows.places[element] - 1) =
          rows.values[static_cast<std::size_t>(map[element])];
    }
    for (long j = 0; j < 5; ++j) {
      want(i, j) = a(p[at], q[static_cast<std::size_t>(j)]);
    }
  }
  EXPECT_EQ(got.v, want.v);
  const std::vector<int> none = {0, 0, 1, 2, 3};
  EXPECT_EQ(Solver("cusolverSpXcsrpermHost", SparseHandle(), 5, 5, rows.nnz(),
                   SparseDescr(1), rows.starts.data(), rows.places.data(),
                   none.data(), q.data(), map.data(), nullptr),
            kInvalidValue);
}

TEST(CusolverSparse, DiagonalsWithoutZeros) {
  ForAll([]<typename T>() {
    // Two ways of taking rows one after the other end at the third.
    Matrix a(4, 4);
    a(0, 0) = a(0, 1) = a(1, 0) = a(2, 1) = a(2, 2) = a(3, 2) = a(3, 3) = 1;
    a(3, 0) = 2;
    for (const int found : {4, 3}) {
      if (found == 3) a(3, 3) = 0;
      const SparseRows<T> rows(a);
      std::vector<int> p(4, -1);
      int count = -1;
      EXPECT_EQ(Solver(Sp<T>("csrzfdHost"), SparseHandle(), 4, rows.nnz(),
                       SparseDescr(0), rows.values.data(), rows.starts.data(),
                       rows.places.data(), p.data(), &count),
                kSuccess);
      EXPECT_EQ(count, found);
      EXPECT_TRUE(IsOrder(p));
      int on_diagonal = 0;
      for (long j = 0; j < 4; ++j) {
        on_diagonal += a(p[static_cast<std::size_t>(j)], j) != Complex64(0);
      }
      EXPECT_EQ(on_diagonal, found);
    }
  });
}

// A factor that is kept: analysed, sized, factorized, asked for zeros, solved
// with.
template <typename T>
class Kept {
 public:
  Kept(const std::string& kind, bool host, const Matrix& a)
      : kind_(kind),
        host_(host),
        n_(static_cast<int>(a.rows)),
        columns_(static_cast<int>(a.columns)),
        rows_(a),
        memory_(rows_) {
    const std::string upper = "C" + kind.substr(1);
    EXPECT_EQ(Solver("cusolverSpCreate" + upper + "Info" + Host(), &info_),
              kSuccess);
    if (kind_ == "csrqr") {
      EXPECT_EQ(Solver("cusolverSpX" + kind_ + "Analysis" + Host(),
                       SparseHandle(), n_, columns_, rows_.nnz(),
                       SparseDescr(0), Starts(), Places(), info_),
                kSuccess);
      EXPECT_EQ(Solver(Sp<T>(kind_ + "BufferInfo" + Host()), SparseHandle(), n_,
                       columns_, rows_.nnz(), SparseDescr(0), Values(),
                       Starts(), Places(), info_, &internal_, &work_),
                kSuccess);
    } else {
      EXPECT_EQ(
          Solver("cusolverSpX" + kind_ + "Analysis" + Host(), SparseHandle(),
                 n_, rows_.nnz(), SparseDescr(0), Starts(), Places(), info_),
          kSuccess);
      EXPECT_EQ(Solver(Sp<T>(kind_ + "BufferInfo" + Host()), SparseHandle(), n_,
                       rows_.nnz(), SparseDescr(0), Values(), Starts(),
                       Places(), info_, &internal_, &work_),
                kSuccess);
    }
    EXPECT_GT(internal_, 0u);
    EXPECT_GT(work_, 0u);
  }
  ~Kept() {
    EXPECT_EQ(
        Solver("cusolverSpDestroyC" + kind_.substr(1) + "Info" + Host(), info_),
        kSuccess);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  void Factor(T mu = T(0)) {
    using R = Real<T>;
    if (kind_ == "csrlu") {
      EXPECT_EQ(Solver(Sp<T>(kind_ + "Factor" + Host()), SparseHandle(), n_,
                       rows_.nnz(), SparseDescr(0), Values(), Starts(),
                       Places(), info_, R(1), nullptr),
                kSuccess);
    } else if (kind_ == "csrchol") {
      EXPECT_EQ(Solver(Sp<T>(kind_ + "Factor" + Host()), SparseHandle(), n_,
                       rows_.nnz(), SparseDescr(0), Values(), Starts(),
                       Places(), info_, nullptr),
                kSuccess);
    } else {
      EXPECT_EQ(Solver(Sp<T>(kind_ + "Setup" + Host()), SparseHandle(), n_,
                       columns_, rows_.nnz(), SparseDescr(0), Values(),
                       Starts(), Places(), mu, info_),
                kSuccess);
      EXPECT_EQ(Solver(Sp<T>(kind_ + "Factor" + Host()), SparseHandle(), n_,
                       columns_, rows_.nnz(), nullptr, nullptr, info_, nullptr),
                kSuccess);
    }
  }
  int ZeroPivot() {
    int position = 777;
    EXPECT_EQ(Solver(Sp<T>(kind_ + "ZeroPivot" + Host()), SparseHandle(), info_,
                     Real<T>(1e-6), &position),
              kSuccess);
    return position;
  }
  Matrix Solve(const Matrix& b, int want = kSuccess) {
    const std::vector<T> image = InMemory<T>(b);
    std::vector<T> x(static_cast<std::size_t>(columns_) + 1);
    const Device<T> on_device(image), to(x);
    const T* const from = host_ ? image.data() : on_device.get();
    T* const out = host_ ? x.data() : to.get();
    const std::string name = Sp<T>(kind_ + "Solve" + Host());
    EXPECT_EQ(kind_ == "csrqr"
                  ? Solver(name, SparseHandle(), n_, columns_, from, out, info_,
                           nullptr)
                  : Solver(name, SparseHandle(), n_, from, out, info_, nullptr),
              want);
    return AsMatrix(host_ ? x : to.Read(), columns_);
  }
  void* info() const { return info_; }

 private:
  std::string Host() const { return host_ ? "Host" : ""; }
  const T* Values() const {
    return host_ ? rows_.values.data() : memory_.values.get();
  }
  const int* Starts() const {
    return host_ ? rows_.starts.data() : memory_.starts.get();
  }
  const int* Places() const {
    return host_ ? rows_.places.data() : memory_.places.get();
  }

  const std::string kind_;
  const bool host_;
  const int n_, columns_;
  const SparseRows<T> rows_;
  const SparseOnDevice<T> memory_;
  void* info_ = nullptr;
  std::size_t internal_ = 0, work_ = 0;
};
TEST(CusolverSparse, KeepsFactors) {
  ForAll([]<typename T>() {
    for (const std::string kind : {"csrlu", "csrqr", "csrchol"}) {
      for (const bool host : {true, false}) {
        if (!host && kind == "csrlu") continue;
        Numbers numbers;
        Matrix a = RandomSparse<T>(numbers, 11);
        if (kind == "csrchol") a = Times(a, Apply(kC, a));
        const Matrix x = RandomMatrix<T>(numbers, 11, 1);
        Kept<T> kept(kind, host, a);
        kept.Solve(x, kInvalidValue);
        kept.Factor();
        EXPECT_EQ(kept.ZeroPivot(), -1) << kind;
        ExpectMatrix<T>(kept.Solve(Times(a, x)), x, 64 * kUnits, kind);
        Matrix singular = Identity(4);
        singular(2, 2) = 0;
        Kept<T> zero(kind, host, singular);
        zero.Factor();
        EXPECT_GE(zero.ZeroPivot(), 0) << kind;
        zero.Solve(Matrix(4, 1), kInvalidValue);
        if (kind != "csrqr") continue;
        // A - mu, and a tall matrix.
        kept.Factor(T(3));
        Matrix shifted = a;
        for (long i = 0; i < 11; ++i) shifted(i, i) -= 3;
        ExpectMatrix<T>(kept.Solve(Times(shifted, x)), x, 4096 * kUnits,
                        "shifted");
        const Matrix tall = RandomMatrix<T>(numbers, 5, 2);
        const Matrix b = RandomMatrix<T>(numbers, 5, 1);
        Kept<T> least(kind, host, tall);
        least.Factor();
        EXPECT_EQ(least.ZeroPivot(), -1);
        ExpectMatrix<T>(
            Times(Apply(kC, tall), Minus(Times(tall, least.Solve(b)), b)),
            Matrix(2, 1), kUnits, "tall");
      }
    }
  });
}

// A(p, q) = L U.
TEST(CusolverSparse, GivesItsFactors) {
  ForAll([]<typename T>() {
    Numbers numbers;
    Matrix a = RandomSparse<T>(numbers, 8);
    a(0, 0) = 0;
    a(0, 1) = a(1, 0) = 3;
    Kept<T> kept("csrlu", true, a);
    kept.Factor();
    int count_l = 0, count_u = 0;
    EXPECT_EQ(Solver("cusolverSpXcsrluNnzHost", SparseHandle(), &count_l,
                     &count_u, kept.info()),
              kSuccess);
    std::vector<int> p(8), q(8), starts_l(9), starts_u(9),
        places_l(static_cast<std::size_t>(count_l)),
        places_u(static_cast<std::size_t>(count_u));
    std::vector<T> values_l(places_l.size()), values_u(places_u.size());
    EXPECT_EQ(Solver(Sp<T>("csrluExtractHost"), SparseHandle(), p.data(),
                     q.data(), SparseDescr(0), values_l.data(), starts_l.data(),
                     places_l.data(), SparseDescr(1), values_u.data(),
                     starts_u.data(), places_u.data(), kept.info(), nullptr),
              kSuccess);
    const auto dense = [](int base, const std::vector<T>& values,
                          const std::vector<int>& starts,
                          const std::vector<int>& places) {
      Matrix out(8, 8);
      for (std::size_t i = 0; i < 8; ++i) {
        for (int e = starts[i] - base; e < starts[i + 1] - base; ++e) {
          const auto at = static_cast<std::size_t>(e);
          out(static_cast<long>(i), places[at] - base) = Complex64(values[at]);
        }
      }
      return out;
    };
    const Matrix l = dense(0, values_l, starts_l, places_l),
                 u = dense(1, values_u, starts_u, places_u);
    ExpectMatrix<T>(l, Triangle(l, kLower, kUnit), 0, "L");
    ExpectMatrix<T>(u, Triangle(u, kUpper, kNonUnit), 0, "U");
    Matrix want(8, 8);
    for (long i = 0; i < 8; ++i) {
      for (long j = 0; j < 8; ++j) {
        want(i, j) =
            a(p[static_cast<std::size_t>(i)], q[static_cast<std::size_t>(j)]);
      }
    }
    ExpectMatrix<T>(Times(l, u), want, kUnits, "L U");
  });
}

TEST(CusolverSparse, ManyOfOnePattern) {
  ForAll([]<typename T>() {
    const int n = 6, count = 3;
    Numbers numbers;
    const SparseRows<T> rows(RandomSparse<T>(numbers, n));
    std::vector<Matrix> as, xs;
    std::vector<T> values, images;
    for (int i = 0; i < count; ++i) {
      as.push_back(RandomSparse<T>(numbers, n));
      xs.push_back(RandomMatrix<T>(numbers, n, 1));
      const SparseRows<T> one(as.back());
      // All of the places have elements, though some are zero by chance.
      for (std::size_t row = 0; row < n; ++row) {
        for (int e = rows.starts[row]; e < rows.starts[row + 1]; ++e) {
          values.push_back(
              To<T>(as.back()(static_cast<long>(row),
                              rows.places[static_cast<std::size_t>(e)])));
        }
      }
      Matrix stored(n, n);
      for (std::size_t row = 0; row < n; ++row) {
        for (int e = rows.starts[row]; e < rows.starts[row + 1]; ++e) {
          const int column = rows.places[static_cast<std::size_t>(e)];
          stored(static_cast<long>(row), column) =
              as.back()(static_cast<long>(row), column);
        }
      }
      for (const Complex64& value : Times(stored, xs.back()).v) {
        images.push_back(To<T>(value));
      }
    }
    const SparseOnDevice<T> memory(rows);
    const Device<T> of_all(values), b(images), x = Zeros<T>(n * count);
    void* info = nullptr;
    std::size_t internal = 0, work = 0;
    EXPECT_EQ(Solver("cusolverSpCreateCsrqrInfo", &info), kSuccess);
    EXPECT_EQ(Solver("cusolverSpXcsrqrAnalysisBatched", SparseHandle(), n, n,
                     rows.nnz(), SparseDescr(0), memory.starts.get(),
                     memory.places.get(), info),
              kSuccess);
    EXPECT_EQ(
        Solver(Sp<T>("csrqrBufferInfoBatched"), SparseHandle(), n, n,
               rows.nnz(), SparseDescr(0), of_all.get(), memory.starts.get(),
               memory.places.get(), count, info, &internal, &work),
        kSuccess);
    EXPECT_EQ(
        Solver(Sp<T>("csrqrsvBatched"), SparseHandle(), n, n, rows.nnz(),
               SparseDescr(0), of_all.get(), memory.starts.get(),
               memory.places.get(), b.get(), x.get(), count, info, nullptr),
        kSuccess);
    const std::vector<Complex64> all = Widened(x.Read());
    for (int i = 0; i < count; ++i) {
      Matrix got(n, 1);
      std::copy_n(all.begin() + i * n, n, got.v.begin());
      ExpectMatrix<T>(got, xs[static_cast<std::size_t>(i)], 64 * kUnits,
                      "of many");
    }
    EXPECT_EQ(Solver("cusolverSpDestroyCsrqrInfo", info), kSuccess);
    EXPECT_EQ(Solver("cusolverSpDestroyCsrqrInfo", info), kInvalidValue);
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::solver
