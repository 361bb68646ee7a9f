// Vectors, by BLAS' definitions.
#include <cmath>

#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {
namespace {

struct Steps {
  long n, x, y;
};
constexpr Steps kSteps[] = {{-1, 1, 1}, {0, 1, 1},  {1, 1, 1},   {7, 1, 1},
                            {7, 2, 1},  {7, -1, 3}, {33, 1, -2}, {33, -3, -1},
                            {5, 0, 1},  {200, 1, 1}};

// Vectors of n elements with guards between them and at their end.
template <typename T>
std::vector<T> Spread(Numbers& numbers, long n, long step) {
  std::vector<T> v(Span(n, step) + 3, T(static_cast<Real<T>>(kGuard)));
  for (long i = 0; i < n; ++i) v[At(i, n, step)] = numbers.As<T>();
  return v;
}

std::string Told(Form form, const std::string& name, const Steps& s) {
  return NameIn(form, name) + " form " + std::to_string(form) + " n " +
         std::to_string(s.n) + " steps " + std::to_string(s.x) + " " +
         std::to_string(s.y);
}

// Calls test(form, steps) for all of both.
template <typename Test>
void ForSteps(const std::string& name, const Test& test) {
  for (const Form form : FormsOf(name)) {
    for (const Steps& steps : kSteps) test(form, steps);
  }
}

TEST(CublasLevel1, Axpy) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("axpy");
    ForSteps(name, [&](Form form, const Steps& s) {
      Numbers numbers;
      const std::vector<T> x = Spread<T>(numbers, s.n, s.x);
      const std::vector<T> y = Spread<T>(numbers, s.n, s.y);
      const T alpha = numbers.As<T>();
      std::vector<Complex64> want = Widened(y);
      for (long i = 0; i < s.n; ++i) {
        want[At(i, s.n, s.y)] +=
            Complex64(alpha) * Complex64(x[At(i, s.n, s.x)]);
      }
      const Device<T> dx(x), dy(y);
      EXPECT_EQ(Invoke(form, name, Count(s.n), Scalar(alpha), Raw(dx.get()),
                       Step(s.x), Raw(dy.get()), Step(s.y)),
                kSuccess);
      ExpectSame(dy, want, 4, Told(form, name, s));
      // By 0 x is not read.
      EXPECT_EQ(Invoke(form, name, Count(s.n), Scalar(T(0)),
                       Raw(static_cast<const T*>(nullptr)), Step(s.x),
                       Raw(dy.get()), Step(s.y)),
                kSuccess);
      ExpectSame(dy, want, 4, Told(form, name, s));
    });
    const Device<T> d(std::vector<T>(4, T(1)));
    ExpectRefusals(name, Count(2), Scalar(T(2)), Raw(d.get()), Step(1),
                   Raw(d.get() + 2), Step(1));
  });
}

TEST(CublasLevel1, CopyAndSwap) {
  ForAll([]<typename T>() {
    for (const bool swap : {false, true}) {
      const std::string name = Name<T>(swap ? "swap" : "copy");
      ForSteps(name, [&](Form form, const Steps& s) {
        if (s.x == 0) return;
        Numbers numbers;
        const std::vector<T> x = Spread<T>(numbers, s.n, s.x);
        const std::vector<T> y = Spread<T>(numbers, s.n, s.y);
        std::vector<Complex64> want_x = Widened(x), want_y = Widened(y);
        for (long i = 0; i < s.n; ++i) {
          want_y[At(i, s.n, s.y)] = x[At(i, s.n, s.x)];
          if (swap) want_x[At(i, s.n, s.x)] = y[At(i, s.n, s.y)];
        }
        const Device<T> dx(x), dy(y);
        EXPECT_EQ(Invoke(form, name, Count(s.n), Raw(dx.get()), Step(s.x),
                         Raw(dy.get()), Step(s.y)),
                  kSuccess);
        ExpectSame(dx, want_x, 0, Told(form, name, s));
        ExpectSame(dy, want_y, 0, Told(form, name, s));
      });
      const Device<T> d(std::vector<T>(4, T(1)));
      ExpectRefusals(name, Count(2), Raw(d.get()), Step(1), Raw(d.get() + 2),
                     Step(1));
    }
  });
}

// Two rows of one matrix, as LU's pivoting exchanges them.
TEST(CublasLevel1, RowsOfOneMatrix) {
  ForAll([]<typename T>() {
    for (const Form form : FormsOf(Name<T>("swap"))) {
      Numbers numbers;
      const long rows = 3, columns = 5;
      const Matrix a = RandomMatrix<T>(numbers, rows, columns);
      Matrix want = a;
      for (long j = 0; j < columns; ++j) {
        want(0, j) = a(2, j);
        want(2, j) = a(0, j) + a(1, j);
      }
      const Device<T> d(Stored<T>(a, rows, kGuard));
      EXPECT_EQ(Invoke(form, Name<T>("swap"), Count(columns), Raw(d.get()),
                       Step(rows), Raw(d.get() + 2), Step(rows)),
                kSuccess);
      EXPECT_EQ(
          Invoke(form, Name<T>("axpy"), Count(columns), Scalar(T(1)),
                 Raw(d.get() + 1), Step(rows), Raw(d.get() + 2), Step(rows)),
          kSuccess);
      ExpectSame(d, want.v, 2, Name<T>("swap") + " of rows");
    }
  });
}

template <typename T, typename S>
void TestScal(const std::string& name) {
  ForSteps(name, [&](Form form, const Steps& s) {
    Numbers numbers;
    const std::vector<T> x = Spread<T>(numbers, s.n, s.x);
    const S alpha = static_cast<S>(numbers.As<S>());
    std::vector<Complex64> want = Widened(x);
    for (long i = 0; i < s.n && s.x > 0; ++i) {
      want[At(i, s.n, s.x)] *= Complex64(alpha);
    }
    const Device<T> d(x);
    EXPECT_EQ(
        Invoke(form, name, Count(s.n), Scalar(alpha), Raw(d.get()), Step(s.x)),
        kSuccess);
    ExpectSame(d, want, 4, Told(form, name, s));
  });
  const Device<T> d(std::vector<T>(4, T(1)));
  ExpectRefusals(name, Count(2), Scalar(S(2)), Raw(d.get()), Step(1));
}
TEST(CublasLevel1, Scal) {
  ForAll([]<typename T>() { TestScal<T, T>(Name<T>("scal")); });
  TestScal<Complex32, float>("cublasCsscal");
  TestScal<Complex64, double>("cublasZdscal");
}

template <typename T>
void TestDot(const std::string& name, bool conjugated) {
  ForSteps(name, [&](Form form, const Steps& s) {
    Numbers numbers;
    const std::vector<T> x = Spread<T>(numbers, s.n, s.x);
    const std::vector<T> y = Spread<T>(numbers, s.n, s.y);
    Complex64 want = 0;
    for (long i = 0; i < s.n; ++i) {
      const Complex64 v(x[At(i, s.n, s.x)]);
      want += (conjugated ? std::conj(v) : v) * Complex64(y[At(i, s.n, s.y)]);
    }
    const Device<T> dx(x), dy(y);
    T result(static_cast<Real<T>>(kGuard));
    EXPECT_EQ(Invoke(form, name, Count(s.n), Raw(dx.get()), Step(s.x),
                     Raw(dy.get()), Step(s.y), Result(&result)),
              kSuccess);
    ExpectNear({Complex64(result)}, {want},
               4 * 200 * std::numeric_limits<Real<T>>::epsilon(),
               Told(form, name, s));
  });
  const Device<T> d(std::vector<T>(4, T(1)));
  T result(0);
  ExpectRefusals(name, Count(2), Raw(d.get()), Step(1), Raw(d.get()), Step(1),
                 Result(&result));
}
TEST(CublasLevel1, Dot) {
  ForReal([]<typename T>() { TestDot<T>(Name<T>("dot"), false); });
  ForComplex([]<typename T>() {
    TestDot<T>(Name<T>("dotu"), false);
    TestDot<T>(Name<T>("dotc"), true);
  });
}

// A norm's name: of real types cublasSnrm2, of complex ones cublasScnrm2.
template <typename T>
std::string NormName(const std::string& base) {
  if (!kIsComplex<T>) return Name<T>(base);
  return (kLetter<T> == 'C' ? "cublasSc" : "cublasDz") + base;
}
TEST(CublasLevel1, NormAndSum) {
  ForAll([]<typename T>() {
    for (const bool norm : {false, true}) {
      const std::string name = NormName<T>(norm ? "nrm2" : "asum");
      ForSteps(name, [&](Form form, const Steps& s) {
        Numbers numbers;
        const std::vector<T> x = Spread<T>(numbers, s.n, s.x);
        double want = 0;
        for (long i = 0; i < s.n && s.x > 0; ++i) {
          const Complex64 v(x[At(i, s.n, s.x)]);
          want += norm ? std::norm(v) : std::abs(v.real()) + std::abs(v.imag());
        }
        const Device<T> d(x);
        Real<T> result = -1;
        EXPECT_EQ(Invoke(form, name, Count(s.n), Raw(d.get()), Step(s.x),
                         Result(&result)),
                  kSuccess);
        ExpectNear({Complex64(result)}, {norm ? std::sqrt(want) : want},
                   4 * 200 * std::numeric_limits<Real<T>>::epsilon(),
                   Told(form, name, s));
      });
      const Device<T> d(std::vector<T>(4, T(1)));
      Real<T> result = 0;
      ExpectRefusals(name, Count(2), Raw(d.get()), Step(1), Result(&result));
    }
  });
}

// What a vector's norm, sum and largest element are where a square would
// overflow or vanish, and where elements are no numbers.
TEST(CublasLevel1, NormOfExtremes) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    const R big = std::numeric_limits<R>::max() / 8,
            tiny = std::numeric_limits<R>::min() * 4;
    const R nan = std::numeric_limits<R>::quiet_NaN(),
            infinity = std::numeric_limits<R>::infinity();
    struct Case {
      std::vector<R> x;
      R norm, sum;
    };
    for (const Case& c :
         {Case{{3 * big / 8, 4 * big / 8}, 5 * big / 8, 7 * big / 8},
          Case{{3 * tiny, 0, -4 * tiny}, 5 * tiny, 7 * tiny},
          Case{{1, infinity, 2}, infinity, infinity},
          Case{{-infinity, infinity}, infinity, infinity},
          Case{{1, nan, 2}, nan, nan}, Case{{infinity, nan}, nan, nan},
          Case{{0, 0}, 0, 0}}) {
      const std::vector<T> x(c.x.begin(), c.x.end());
      const Device<T> d(x);
      R norm = -1, sum = -1;
      const Count n(static_cast<long>(x.size()));
      EXPECT_EQ(Invoke(kHost, NormName<T>("nrm2"), n, Raw(d.get()), Step(1),
                       Result(&norm)),
                kSuccess);
      EXPECT_EQ(Invoke(kHost, NormName<T>("asum"), n, Raw(d.get()), Step(1),
                       Result(&sum)),
                kSuccess);
      // Relative to what is wanted, which may be far below 1.
      const R unit = c.norm > 0 && std::isfinite(c.norm) ? c.norm : R(1);
      const double eps = 8 * std::numeric_limits<R>::epsilon();
      ExpectNear({norm / unit}, {c.norm / unit}, eps, NormName<T>("nrm2"));
      ExpectNear({sum / unit}, {c.sum / unit}, eps, NormName<T>("asum"));
    }
  });
}

template <typename T, typename I>
void TestExtreme(const std::string& name, Form form, bool largest) {
  for (const Steps& s : kSteps) {
    Numbers numbers;
    std::vector<T> x = Spread<T>(numbers, s.n, s.x);
    for (long i = 0; i < s.n && !largest; ++i) {
      if (x[At(i, s.n, s.x)] == T(0)) x[At(i, s.n, s.x)] = T(1);
    }
    long want = 0;
    double best = 0;
    for (long i = 0; i < s.n && s.x > 0; ++i) {
      const Complex64 v(x[At(i, s.n, s.x)]);
      const double size = std::abs(v.real()) + std::abs(v.imag());
      if (want == 0 || (largest ? size > best : size < best)) {
        want = i + 1;
        best = size;
      }
    }
    const Device<T> d(x);
    I result = -1;
    EXPECT_EQ(Invoke(form, name, Count(s.n), Raw(d.get()), Step(s.x),
                     Result(&result)),
              kSuccess);
    EXPECT_EQ(result, want) << Told(form, name, s);
  }
  // One that is no number is not larger than another, nor smaller.
  const T nan(std::numeric_limits<Real<T>>::quiet_NaN());
  const Device<T> d({T(1), nan, T(3), T(-3), T(1)});
  I result = -1;
  EXPECT_EQ(
      Invoke(form, name, Count(5), Raw(d.get()), Step(1), Result(&result)),
      kSuccess);
  EXPECT_EQ(result, largest ? 3 : 1) << name;
}
TEST(CublasLevel1, LargestAndSmallest) {
  ForAll([]<typename T>() {
    for (const bool largest : {true, false}) {
      const std::string name = std::string("cublasI") +
                               static_cast<char>(std::tolower(kLetter<T>)) +
                               (largest ? "amax" : "amin");
      for (const Form form : FormsOf(name)) {
        if (form == kHost64 || form == kDevice64) {
          TestExtreme<T, std::int64_t>(name, form, largest);
        } else {
          TestExtreme<T, int>(name, form, largest);
        }
      }
      const Device<T> d(std::vector<T>(4, T(1)));
      std::int64_t result = 0;
      ExpectRefusals(name, Count(2), Raw(d.get()), Step(1), Result(&result));
    }
  });
}

template <typename T, typename S>
void TestRot(const std::string& name) {
  ForSteps(name, [&](Form form, const Steps& s) {
    if (s.x == 0) return;
    Numbers numbers;
    const std::vector<T> x = Spread<T>(numbers, s.n, s.x);
    const std::vector<T> y = Spread<T>(numbers, s.n, s.y);
    const auto c = static_cast<Real<T>>(0.75);
    const S sine = numbers.As<S>();
    const Complex64 wide(sine);
    std::vector<Complex64> want_x = Widened(x), want_y = Widened(y);
    for (long i = 0; i < s.n; ++i) {
      const Complex64 a(x[At(i, s.n, s.x)]), b(y[At(i, s.n, s.y)]);
      want_x[At(i, s.n, s.x)] = 0.75 * a + wide * b;
      want_y[At(i, s.n, s.y)] = 0.75 * b - std::conj(wide) * a;
    }
    const Device<T> dx(x), dy(y);
    EXPECT_EQ(Invoke(form, name, Count(s.n), Raw(dx.get()), Step(s.x),
                     Raw(dy.get()), Step(s.y), Scalar(c), Scalar(sine)),
              kSuccess);
    ExpectSame(dx, want_x, 8, Told(form, name, s));
    ExpectSame(dy, want_y, 8, Told(form, name, s));
  });
  const Device<T> d(std::vector<T>(4, T(1)));
  ExpectRefusals(name, Count(2), Raw(d.get()), Step(1), Raw(d.get() + 2),
                 Step(1), Scalar(Real<T>(1)), Scalar(S(1)));
}
TEST(CublasLevel1, Rot) {
  ForAll([]<typename T>() { TestRot<T, T>(Name<T>("rot")); });
  TestRot<Complex32, float>("cublasCsrot");
  TestRot<Complex64, double>("cublasZdrot");
}

// What is made turns (a, b) to (r, 0), and r stands in place of a.
TEST(CublasLevel1, Rotg) {
  ForAll([]<typename T>() {
    using R = Real<T>;
    const std::string name = Name<T>("rotg");
    const double eps = 16 * std::numeric_limits<R>::epsilon();
    const Complex64 cases[][2] = {
        {3, 4},          {4, 3}, {-4, 3}, {3, -4}, {0, 0},
        {0, 2},          {2, 0}, {1, 1},  {-1, 1}, {{1, 2}, {-2, 0.5}},
        {{0, 1}, {3, 0}}};
    for (const Form form : FormsOf(name)) {
      for (const auto& [wide_a, wide_b] : cases) {
        const T from_a = To<T>(wide_a), from_b = To<T>(wide_b);
        T a = from_a, b = from_b, s(7);
        R c = 7;
        EXPECT_EQ(
            Invoke(form, name, InOut(&a), InOutOld(&b), InOut(&c), InOut(&s)),
            kSuccess);
        const Complex64 wa(from_a), wb(from_b), ws(s), wc(c);
        ExpectNear({wc * wa + ws * wb, -std::conj(ws) * wa + wc * wb,
                    wc * wc + ws * std::conj(ws)},
                   {Complex64(a), 0, 1}, eps, name);
        if constexpr (!kIsComplex<T>) {
          // BLAS: |a| > |b| decides the sign of r and what z is.
          const double r =
              std::hypot(from_a, from_b) *
              ((std::abs(from_a) > std::abs(from_b) ? from_a : from_b) < 0 ? -1
                                                                           : 1);
          const double z = from_a == 0 && from_b == 0            ? 0
                           : std::abs(from_a) > std::abs(from_b) ? s
                           : c != 0                              ? 1 / c
                                                                 : 1;
          ExpectNear({Complex64(a), Complex64(b)}, {r, z}, eps, name + " r, z");
        }
      }
    }
    T v(1);
    R r(1);
    ExpectRefusals(name, InOut(&v), InOutOld(&v), InOut(&r), InOut(&v));
  });
}

TEST(CublasLevel1, Rotm) {
  ForReal([]<typename T>() {
    const std::string name = Name<T>("rotm");
    for (const double flag : {-2.0, -1.0, 0.0, 1.0}) {
      ForSteps(name, [&](Form form, const Steps& s) {
        if (s.x == 0) return;
        Numbers numbers;
        const std::vector<T> x = Spread<T>(numbers, s.n, s.x);
        const std::vector<T> y = Spread<T>(numbers, s.n, s.y);
        T p[5] = {T(flag), T(0.5), T(-1.5), T(0.25), T(2)};
        double h[2][2] = {{p[1], p[3]}, {p[2], p[4]}};
        if (flag == 0) h[0][0] = h[1][1] = 1;
        if (flag == 1) h[0][1] = 1, h[1][0] = -1;
        if (flag == -2) h[0][0] = h[1][1] = 1, h[0][1] = h[1][0] = 0;
        std::vector<Complex64> want_x = Widened(x), want_y = Widened(y);
        for (long i = 0; i < s.n; ++i) {
          const double a = x[At(i, s.n, s.x)], b = y[At(i, s.n, s.y)];
          want_x[At(i, s.n, s.x)] = h[0][0] * a + h[0][1] * b;
          want_y[At(i, s.n, s.y)] = h[1][0] * a + h[1][1] * b;
        }
        const Device<T> dx(x), dy(y);
        EXPECT_EQ(Invoke(form, name, Count(s.n), Raw(dx.get()), Step(s.x),
                         Raw(dy.get()), Step(s.y), InOut(p, 5)),
                  kSuccess);
        ExpectSame(dx, want_x, 8, Told(form, name, s));
        ExpectSame(dy, want_y, 8, Told(form, name, s));
      });
    }
    const Device<T> d(std::vector<T>(4, T(1)));
    T p[5] = {};
    ExpectRefusals(name, Count(2), Raw(d.get()), Step(1), Raw(d.get() + 2),
                   Step(1), InOut(p, 5));
  });
}

// What is made turns (sqrt(d1) x1, sqrt(d2) y1) to have no second part, and
// keeps its length, whatever H is written as.
TEST(CublasLevel1, Rotmg) {
  ForReal([]<typename T>() {
    const std::string name = Name<T>("rotmg");
    const double cases[][4] = {{1, 2, 3, 4},    {2, 1, 5, 1},   {1, 1, 2, 0},
                               {1e-9, 2, 3, 4}, {1e9, 2, 3, 1}, {1, 1e-9, 3, 1},
                               {3, 1e9, 1, 2},  {0, 2, 1, 3},   {1, 1, 3, 3}};
    for (const Form form : FormsOf(name)) {
      for (const auto& [fd1, fd2, fx, fy] : cases) {
        T d1 = T(fd1), d2 = T(fd2), x = T(fx), y = T(fy), p[5] = {};
        EXPECT_EQ(Invoke(form, name, InOut(&d1), InOut(&d2), InOut(&x),
                         InOut(&y), InOut(p, 5)),
                  kSuccess);
        double h[2][2] = {{p[1], p[3]}, {p[2], p[4]}};
        if (p[0] == 0) h[0][0] = h[1][1] = 1;
        if (p[0] == 1) h[0][1] = 1, h[1][0] = -1;
        if (p[0] == -2) h[0][0] = h[1][1] = 1, h[0][1] = h[1][0] = 0;
        const double scale = std::abs(h[1][0] * fx) + std::abs(h[1][1] * fy);
        ExpectNear(
            {(h[0][0] * fx + h[0][1] * fy) / x,
             (h[1][0] * fx + h[1][1] * fy) / std::max(scale, 1e-30),
             d1 * double(x) * x / (fd1 * fx * fx + fd2 * fy * fy)},
            {1, 0, 1}, 64 * std::numeric_limits<T>::epsilon(),
            name + " of " + std::to_string(fd1) + " " + std::to_string(fd2));
        // No factor leaves the range of gamma^2.
        const double square = 4096.0 * 4096.0;
        for (const double d : {double(d1), double(d2)}) {
          if (p[0] == -1 && d != 0) {
            EXPECT_GT(std::abs(d), 0.99 / square);
            EXPECT_LT(std::abs(d), 1.01 * square);
          }
        }
      }
      // A negative weight has no rotation: all is cleared.
      T d1 = -1, d2 = 1, x = 2, y = 3, p[5] = {9, 9, 9, 9, 9};
      EXPECT_EQ(Invoke(form, name, InOut(&d1), InOut(&d2), InOut(&x), InOut(&y),
                       InOut(p, 5)),
                kSuccess);
      for (const T value : {d1, d2, x, p[1], p[2], p[3], p[4]}) {
        EXPECT_EQ(value, T(0));
      }
      EXPECT_EQ(p[0], T(-1));
    }
    T v = 1, p[5] = {};
    ExpectRefusals(name, InOut(&v), InOut(&v), InOut(&v), InOut(&v),
                   InOut(p, 5));
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests
