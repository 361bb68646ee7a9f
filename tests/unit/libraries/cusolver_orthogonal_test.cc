// Orthogonal factors by what their products are.
#include "tests/unit/libraries/cusolver.h"

namespace cerberus::libraries::tests::solver {
namespace {

constexpr double kUnits = 4096;

template <typename T>
void TestQr(long m, long n) {
  Numbers numbers;
  const long k = std::min(m, n);
  const Matrix a = RandomMatrix<T>(numbers, m, n);
  const OnDevice<T> memory(a);
  const Device<T> tau = Zeros<T>(k);
  const Info info;
  int size = 0;
  EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("geqrf_bufferSize"), Size(m), Size(n),
                   Raw(memory.get()), memory.step(), Raw(&size)),
            kSuccess);
  const Device<T> work = Zeros<T>(size);
  EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("geqrf"), Size(m), Size(n),
                   Raw(memory.get()), memory.step(), Raw(tau.get()),
                   Raw(work.get()), Raw(size), Raw(info.get())),
            kSuccess);
  EXPECT_EQ(info.Read(), 0);
  const Matrix qr = memory.Read();
  const Matrix q = Product(qr, ReadVector(tau, k), 0, k);
  ExpectMatrix<T>(Times(Apply(kC, q), q), Identity(m), kUnits, "Q^H Q");
  ExpectMatrix<T>(Times(q, Triangle(qr, kUpper, kNonUnit)), a, kUnits, "Q R");
  for (const int side : {kLeft, kRight}) {
    for (const int op : {kN, kIsComplex<T> ? kC : kT}) {
      const Matrix c = side == kLeft ? RandomMatrix<T>(numbers, m, 3)
                                     : RandomMatrix<T>(numbers, 3, m);
      const OnDevice<T> to(c, 2);
      EXPECT_EQ(
          WithWork<T>(
              Dn<T>("ormqr", "unmqr"),
              std::tuple(Side(side), Op(op), Size(c.rows), Size(c.columns),
                         Size(k), Raw<const T*>(memory.get()), memory.step(),
                         Raw<const T*>(tau.get()), Raw(to.get()), to.step())),
          0);
      const Matrix by = op == kN ? q : Apply(kC, q);
      ExpectMatrix<T>(to.Read(), side == kLeft ? Times(by, c) : Times(c, by),
                      kUnits, "op(Q) C");
    }
  }
  // As many columns of Q as fit.
  EXPECT_EQ(WithWork<T>(Dn<T>("orgqr", "ungqr"),
                        std::tuple(Size(m), Size(k), Size(k), Raw(memory.get()),
                                   memory.step(), Raw<const T*>(tau.get()))),
            0);
  ExpectMatrix<T>(Block(memory.Read(), 0, 0, m, k), Block(q, 0, 0, m, k),
                  kUnits, "Q");
}
// A column whose inverse is infinite.
TEST(CusolverOrthogonal, QrOfTheSmallest) {
  ForAll([]<typename T>() {
    Matrix a(2, 1);
    a(0, 0) = a(1, 0) = std::numeric_limits<Real<T>>::min() / 16;
    const OnDevice<T> memory(a);
    const Device<T> tau = Zeros<T>(1);
    const Info info;
    EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("geqrf"), Size(2), Size(1),
                     Raw(memory.get()), memory.step(), Raw(tau.get()),
                     Raw<T*>(nullptr), Count(64), Raw(info.get())),
              kSuccess);
    const Matrix q = Product(memory.Read(), ReadVector(tau, 1), 0, 1);
    ExpectMatrix<T>(Times(Apply(kC, q), q), Identity(2), kUnits, "Q^H Q");
  });
}
TEST(CusolverOrthogonal, Qr) {
  ForAll([]<typename T>() {
    for (const auto& [m, n] : kShapes) TestQr<T>(m, n);
    const Device<T> a = Zeros<T>(64);
    const Info info;
    int size = 0;
    const Raw<const T*> in(a.get());
    const Raw out(a.get());
    ExpectRefused(Dn<T>("geqrf"), Size(3), Size(2), out, Ld(3, 3), out, out,
                  Count(64), Raw(info.get()));
    // A leading dimension that is too small, as cupy has it, is taken.
    ExpectRefused(Dn<T>("geqrf_bufferSize"), Size(3), Size(2), out, Raw(2),
                  Raw(&size));
    EXPECT_EQ(Solver(Dn<T>("geqrf_bufferSize"), SolverHandle(), 3, 2, a.get(),
                     2, &size),
              kSuccess);
    ExpectRefused(Dn<T>("orgqr", "ungqr"), Size(3), Size(2), Size(1), out,
                  Ld(3, 3), in, out, Count(64), Raw(info.get()));
    ExpectRefused(Dn<T>("orgqr_bufferSize", "ungqr_bufferSize"), Size(3),
                  Size(2), Size(1), in, Ld(3, 3), in, Raw(&size));
    ExpectRefused(Dn<T>("ormqr", "unmqr"), Side(kLeft), Op(kN), Size(3),
                  Size(2), Size(1), in, Ld(3, 3), in, out, Ld(3, 3), out,
                  Count(64), Raw(info.get()));
    ExpectRefused(Dn<T>("ormqr_bufferSize", "unmqr_bufferSize"), Side(kLeft),
                  Op(kN), Size(3), Size(2), Size(1), in, Ld(3, 3), in, in,
                  Ld(3, 3), Raw(&size));
    // More columns of Q than rows, more reflections than columns.
    for (const auto& [m, n, k] : {std::tuple{2, 3, 2}, {3, 2, 3}}) {
      EXPECT_EQ(Solver(Dn<T>("orgqr", "ungqr"), SolverHandle(), m, n, k,
                       a.get(), 3, a.get(), a.get(), 64, info.get()),
                kInvalidValue);
    }
  });
}

// A = Q B P^H with two diagonals in B.
TEST(CusolverOrthogonal, Bidiagonal) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    for (const auto& [m, n] : {std::pair{5L, 5L},
                               {7L, 4L},
                               {1L, 1L},
                               {3L, 1L},
                               {0L, 0L},
                               {33, 20}}) {
      Numbers numbers;
      const Matrix a = RandomMatrix<T>(numbers, m, n);
      const OnDevice<T> memory(a);
      const Device<R> d = Zeros<R>(n), e = Zeros<R>(n);
      const Device<T> tau_q = Zeros<T>(n), tau_p = Zeros<T>(n);
      const Info info;
      int size = 0;
      EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("gebrd_bufferSize"), Size(m),
                       Size(n), Raw(&size)),
                kSuccess);
      const Device<T> work = Zeros<T>(size);
      EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("gebrd"), Size(m), Size(n),
                       Raw(memory.get()), memory.step(), Raw(d.get()),
                       Raw(e.get()), Raw(tau_q.get()), Raw(tau_p.get()),
                       Raw(work.get()), Raw(size), Raw(info.get())),
                kSuccess);
      EXPECT_EQ(info.Read(), 0);
      const Matrix factors = memory.Read();
      Matrix b(n, n);
      const Matrix diagonal = ReadVector(d, n),
                   beside = ReadVector(e, std::max(0L, n - 1));
      for (long i = 0; i < n; ++i) {
        b(i, i) = diagonal(i, 0);
        if (i + 1 < n) b(i, i + 1) = beside(i, 0);
      }
      const OnDevice<T> q(factors), p(Block(factors, 0, 0, n, n));
      EXPECT_EQ(WithWork<T>(Dn<T>("orgbr", "ungbr"),
                            std::tuple(Side(kLeft), Size(m), Size(n), Size(n),
                                       Raw(q.get()), q.step(),
                                       Raw<const T*>(tau_q.get()))),
                0);
      EXPECT_EQ(WithWork<T>(Dn<T>("orgbr", "ungbr"),
                            std::tuple(Side(kRight), Size(n), Size(n), Size(m),
                                       Raw(p.get()), p.step(),
                                       Raw<const T*>(tau_p.get()))),
                0);
      ExpectMatrix<T>(Times(Times(q.Read(), b), p.Read()), a, kUnits,
                      "Q B P^H of " + std::to_string(m));
      ExpectMatrix<T>(Times(Apply(kC, q.Read()), q.Read()), Identity(n), kUnits,
                      "Q^H Q");
    }
    const Device<T> a = Zeros<T>(64);
    const Device<R> d = Zeros<R>(8);
    const Info info;
    int size = 0;
    ExpectRefused(Dn<T>("gebrd"), Size(3), Size(3), Raw(a.get()), Ld(3, 3),
                  Raw(d.get()), Raw(d.get()), Raw(a.get()), Raw(a.get()),
                  Raw(a.get()), Count(64), Raw(info.get()));
    ExpectRefused(Dn<T>("gebrd_bufferSize"), Size(3), Size(3), Raw(&size));
    ExpectRefused(Dn<T>("orgbr", "ungbr"), Side(kLeft), Size(3), Size(3),
                  Size(3), Raw(a.get()), Ld(3, 3), Raw<const T*>(a.get()),
                  Raw(a.get()), Count(64), Raw(info.get()));
    ExpectRefused(Dn<T>("orgbr_bufferSize", "ungbr_bufferSize"), Side(kLeft),
                  Size(3), Size(3), Size(3), Raw<const T*>(a.get()), Ld(3, 3),
                  Raw<const T*>(a.get()), Raw(&size));
  });
}

// A = Q B Q^H with three diagonals in B.
TEST(CusolverOrthogonal, Tridiagonal) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    for (const long n : {6, 1, 0, 33}) {
      for (const int fill : {kLower, kUpper}) {
        Numbers numbers;
        const Matrix a = RandomHermitian<T>(numbers, n);
        const OnDevice<T> memory(Half(a, fill, 9));
        const Device<R> d = Zeros<R>(n), e = Zeros<R>(n);
        const Device<T> tau = Zeros<T>(n);
        EXPECT_EQ(WithWork<T>(Dn<T>("sytrd", "hetrd"),
                              std::tuple(Fill(fill), Size(n), Raw(memory.get()),
                                         memory.step(), Raw(d.get()),
                                         Raw(e.get()), Raw(tau.get()))),
                  0);
        Matrix b(n, n);
        const Matrix diagonal = ReadVector(d, n),
                     beside = ReadVector(e, std::max(0L, n - 1));
        for (long i = 0; i < n; ++i) {
          b(i, i) = diagonal(i, 0);
          if (i + 1 < n) b(i + 1, i) = b(i, i + 1) = beside(i, 0);
        }
        const Matrix c = RandomMatrix<T>(numbers, n, 2);
        for (const int side : {kLeft, kRight}) {
          for (const int op : {kN, kIsComplex<T> ? kC : kT}) {
            const OnDevice<T> to(side == kLeft ? c : Apply(kC, c));
            const OnDevice<T> q(memory.Read());
            EXPECT_EQ(WithWork<T>(
                          Dn<T>("ormtr", "unmtr"),
                          std::tuple(Side(side), Fill(fill), Op(op),
                                     Size(side == kLeft ? n : 2),
                                     Size(side == kLeft ? 2 : n),
                                     Raw(memory.get()), memory.step(),
                                     Raw(tau.get()), Raw(to.get()), to.step())),
                      0);
            EXPECT_EQ(
                WithWork<T>(Dn<T>("orgtr", "ungtr"),
                            std::tuple(Fill(fill), Size(n), Raw(q.get()),
                                       q.step(), Raw<const T*>(tau.get()))),
                0);
            const Matrix by = op == kN ? q.Read() : Apply(kC, q.Read());
            ExpectMatrix<T>(
                to.Read(),
                side == kLeft ? Times(by, c) : Times(Apply(kC, c), by), kUnits,
                "op(Q) C of " + std::to_string(n));
            ExpectMatrix<T>(Times(Times(q.Read(), b), Apply(kC, q.Read())), a,
                            kUnits, "Q B Q^H of " + std::to_string(n));
          }
        }
      }
    }
    const Device<T> a = Zeros<T>(64);
    const Device<R> d = Zeros<R>(8);
    const Info info;
    int size = 0;
    const Raw<const T*> in(a.get());
    const Raw out(a.get());
    ExpectRefused(Dn<T>("sytrd", "hetrd"), Fill(kLower), Size(3), out, Ld(3, 3),
                  Raw(d.get()), Raw(d.get()), out, out, Count(64),
                  Raw(info.get()));
    ExpectRefused(Dn<T>("sytrd_bufferSize", "hetrd_bufferSize"), Fill(kLower),
                  Size(3), in, Ld(3, 3), Raw<const R*>(d.get()),
                  Raw<const R*>(d.get()), in, Raw(&size));
    ExpectRefused(Dn<T>("orgtr", "ungtr"), Fill(kLower), Size(3), out, Ld(3, 3),
                  in, out, Count(64), Raw(info.get()));
    ExpectRefused(Dn<T>("orgtr_bufferSize", "ungtr_bufferSize"), Fill(kLower),
                  Size(3), in, Ld(3, 3), in, Raw(&size));
    ExpectRefused(Dn<T>("ormtr", "unmtr"), Side(kLeft), Fill(kLower), Op(kN),
                  Size(3), Size(2), out, Ld(3, 3), out, out, Ld(3, 3), out,
                  Count(64), Raw(info.get()));
    ExpectRefused(Dn<T>("ormtr_bufferSize", "unmtr_bufferSize"), Side(kLeft),
                  Fill(kLower), Op(kN), Size(3), Size(2), in, Ld(3, 3), in, in,
                  Ld(3, 3), Raw(&size));
  });
}

// I - V T V^H is the product of the reflections, forwards and backwards, by
// columns and by rows.
TEST(CusolverOrthogonal, TriangleOfReflections) {
  ForAll([]<typename T>() {
    Numbers numbers;
    const long n = 6, k = 3;
    const Matrix random = RandomMatrix<T>(numbers, n, k);
    const Matrix tau = RandomMatrix<T>(numbers, k, 1);
    for (const int direct : {0, 1}) {
      for (const int storev : {0, 1}) {
        Matrix v = random, product = Identity(n);
        for (long j = 0; j < k; ++j) {
          const long one = direct == 0 ? j : n - k + j;
          for (long i = 0; i < n; ++i) {
            if (i == one) v(i, j) = 1;
            else if (direct == 0 ? i < one : i > one) v(i, j) = 0;
          }
        }
        for (long step = 0; step < k; ++step) {
          const long j = direct == 0 ? step : k - 1 - step;
          Matrix h = Identity(n);
          for (long c = 0; c < n; ++c) {
            for (long r = 0; r < n; ++r) {
              h(r, c) -= tau(j, 0) * v(r, j) * std::conj(v(c, j));
            }
          }
          product = Times(product, h);
        }
        const OnDevice<T> stored(storev == 0 ? v : Apply(kC, v)),
            factors(tau, 0), t(Matrix(k, k));
        const auto front = std::tuple(
            Raw(SolverParams()), Raw(direct), Raw(storev), Size(n), Size(k),
            Raw(kType<T>), Raw<const void*>(stored.get()), stored.step(),
            Raw(kType<T>), Raw<const void*>(factors.get()), Raw(kType<T>),
            Raw<void*>(t.get()), t.step(), Raw(kType<T>));
        std::size_t device = 0, host = 0;
        const auto call = [&](const char* name, const auto& rest) {
          return std::apply(
              [&](const auto&... a) {
                return Invoke<std::int64_t>(SolverHandle(), name, a...);
              },
              std::tuple_cat(front, rest));
        };
        EXPECT_EQ(call("cusolverDnXlarft_bufferSize",
                       std::tuple(Raw(&device), Raw(&host))),
                  kSuccess);
        EXPECT_EQ(call("cusolverDnXlarft",
                       std::tuple(Raw<void*>(nullptr), Raw(device),
                                  Raw<void*>(nullptr), Raw(host))),
                  kSuccess);
        const Matrix triangle =
            Triangle(t.Read(), direct == 0 ? kUpper : kLower, kNonUnit);
        ExpectMatrix<T>(
            Minus(Identity(n), Times(Times(v, triangle), Apply(kC, v))),
            product, kUnits, "I - V T V^H");
      }
    }
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::solver
