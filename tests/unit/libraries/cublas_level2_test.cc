// Matrices and vectors, by BLAS' definitions: what is stored in part is filled
// up and multiplied in a plain loop.
#include "tests/unit/libraries/storage.h"

namespace cerberus::libraries::tests {
namespace {

constexpr double kUnits = 16;

struct Steps {
  long x, y;
};
constexpr Steps kSteps[] = {{1, 1}, {2, -1}, {-3, 2}};

// A vector as a column of numbers, in memory with guards.
template <typename T>
struct Vector {
  Vector(Numbers& numbers, long n, long by, double beside = kGuard)
      : step(by), values(RandomMatrix<T>(numbers, n, 1)) {
    memory.assign(Span(n, by) + 2, To<T>(beside));
    Put(values, &memory);
  }
  template <typename E>
  void Put(const Matrix& m, std::vector<E>* to) const {
    for (long i = 0; i < m.rows; ++i) {
      (*to)[At(i, m.rows, step)] = To<E>(m(i, 0));
    }
  }
  // Memory after the values have become `m`.
  std::vector<Complex64> With(const Matrix& m) const {
    std::vector<Complex64> out = Widened(memory);
    Put(m, &out);
    return out;
  }
  long step;
  Matrix values;
  std::vector<T> memory;
};

// alpha and beta: also those for which something is not read.
struct Factors {
  double alpha, beta;
};
constexpr Factors kFactors[] = {{0.5, -1.5}, {1, 0}, {0, 2}, {0, 0}, {-2, 1}};

// y := alpha A x + beta y.
Matrix Combined(Complex64 alpha, const Matrix& product, Complex64 beta,
                const Matrix& y) {
  Matrix out(product.rows, product.columns);
  for (std::size_t i = 0; i < out.v.size(); ++i) {
    out.v[i] = (alpha == 0.0 ? 0.0 : alpha * product.v[i]) +
               (beta == 0.0 ? 0.0 : beta * y.v[i]);
  }
  return out;
}
// What is not read holds NaN.
template <typename T>
void Spoil(bool unread, std::vector<T>* memory) {
  if (!unread) return;
  for (T& value : *memory) value = To<T>(kNan);
}
// Those of a vector's elements alone, so that its guards stay.
template <typename T>
void Spoil(bool unread, Vector<T>* v) {
  if (!unread) return;
  Matrix nans(v->values.rows, 1);
  for (Complex64& value : nans.v) value = kNan;
  v->Put(nans, &v->memory);
}

template <typename T>
void TestGemv(Form form, int op, long m, long n, const Steps& steps,
              const Factors& f) {
  const std::string name = Name<T>("gemv");
  Numbers numbers;
  const Matrix a = RandomMatrix<T>(numbers, m, n);
  const long ld = m + 3;
  std::vector<T> memory = Stored<T>(a, ld, kNan);
  Vector<T> x(numbers, op == kN ? n : m, steps.x, kNan);
  Vector<T> y(numbers, op == kN ? m : n, steps.y);
  const Matrix want =
      Combined(f.alpha, Times(Apply(op, a), x.values), f.beta, y.values);
  Spoil(f.alpha == 0, &memory);
  Spoil(f.alpha == 0, &x.memory);
  Spoil(f.beta == 0, &y);
  const Device<T> da(memory), dx(x.memory), dy(y.memory);
  EXPECT_EQ(Invoke(form, name, Op(op), Size(m), Size(n), Scalar(T(f.alpha)),
                   Raw(da.get()), Ld(ld, m), Raw(dx.get()), Inc(steps.x),
                   Scalar(T(f.beta)), Raw(dy.get()), Inc(steps.y)),
            kSuccess);
  // Of an empty matrix nothing is done.
  ExpectSame(dy, m == 0 || n == 0 ? Widened(y.memory) : y.With(want), kUnits,
             NameIn(form, name) + " op " + std::to_string(op) + " m " +
                 std::to_string(m) + " n " + std::to_string(n) + " alpha " +
                 std::to_string(f.alpha) + " beta " + std::to_string(f.beta));
}
TEST(CublasLevel2, Gemv) {
  ForAll([]<typename T>() {
    for (const Form form : FormsOf(Name<T>("gemv"))) {
      for (const int op : {kN, kT, kC}) {
        for (const Steps& steps : kSteps) {
          for (const Factors& f : kFactors) {
            TestGemv<T>(form, op, 7, 5, steps, f);
          }
        }
        for (const auto& [m, n] :
             {std::pair{0L, 3L}, {3L, 0L}, {1L, 1L}, {3L, 19L}, {40L, 1L}}) {
          TestGemv<T>(form, op, m, n, {1, 1}, {1, 2});
        }
      }
    }
    const Device<T> d(std::vector<T>(40, T(1)));
    ExpectRefusals(Name<T>("gemv"), Op(kN), Size(3), Size(2), Scalar(T(1)),
                   Raw(d.get()), Ld(4, 3), Raw(d.get()), Inc(1), Scalar(T(1)),
                   Raw(d.get() + 20), Inc(1));
  });
}

template <typename T>
void TestGbmv(Form form, int op, long m, long n, long lower, long upper,
              const Factors& f) {
  const std::string name = Name<T>("gbmv");
  Numbers numbers;
  const long ld = lower + upper + 2;
  Matrix a(m, n);
  std::vector<T> memory(static_cast<std::size_t>(ld * n), To<T>(kNan));
  for (long j = 0; j < n; ++j) {
    for (long i = std::max(0L, j - upper); i <= std::min(m - 1, j + lower);
         ++i) {
      const T value = numbers.As<T>();
      a(i, j) = Complex64(value);
      memory[static_cast<std::size_t>(upper + i - j + j * ld)] = value;
    }
  }
  Vector<T> x(numbers, op == kN ? n : m, 2, kNan);
  Vector<T> y(numbers, op == kN ? m : n, -1);
  const Matrix want =
      Combined(f.alpha, Times(Apply(op, a), x.values), f.beta, y.values);
  Spoil(f.alpha == 0, &memory);
  Spoil(f.beta == 0, &y);
  const Device<T> da(memory), dx(x.memory), dy(y.memory);
  EXPECT_EQ(
      Invoke(form, name, Op(op), Size(m), Size(n), Size(lower), Size(upper),
             Scalar(T(f.alpha)), Raw(da.get()), Ld(ld, lower + upper + 1),
             Raw(dx.get()), Inc(2), Scalar(T(f.beta)), Raw(dy.get()), Inc(-1)),
      kSuccess);
  ExpectSame(dy, y.With(want), kUnits, NameIn(form, name));
}
TEST(CublasLevel2, Gbmv) {
  ForAll([]<typename T>() {
    for (const Form form : FormsOf(Name<T>("gbmv"))) {
      for (const int op : {kN, kT, kC}) {
        for (const Factors& f : kFactors) TestGbmv<T>(form, op, 7, 5, 2, 1, f);
        TestGbmv<T>(form, op, 4, 9, 0, 3, {1, 2});
        TestGbmv<T>(form, op, 9, 4, 6, 0, {1, 2});
        TestGbmv<T>(form, op, 1, 1, 0, 0, {1, 0});
      }
    }
    const Device<T> d(std::vector<T>(40, T(1)));
    ExpectRefusals(Name<T>("gbmv"), Op(kN), Size(3), Size(2), Size(1), Size(1),
                   Scalar(T(1)), Raw(d.get()), Ld(3, 3), Raw(d.get()), Inc(1),
                   Scalar(T(1)), Raw(d.get() + 20), Inc(1));
  });
}

// --- Triangles
template <typename T>
void TestTriangle(const Storage& s, bool solve, Form form, int fill, int op,
                  int diag, long n, long step) {
  const std::string name = Name<T>("t" + s.letters + (solve ? "sv" : "mv"));
  Numbers numbers;
  Matrix a = RandomMatrix<T>(numbers, n, n);
  // So that solutions stay small.
  for (Complex64& value : a.v) value *= 0.125;
  for (long i = 0; i < n; ++i) a(i, i) = (i % 2 == 0) ? 1.0 : -2.0;
  const InMemory<T> memory = s.Store<T>(a, fill, diag);
  Vector<T> x(numbers, n, step);
  const Matrix full = Apply(op, Triangle(memory.full, fill, diag));
  // Given what A times it is, the solution is x.
  const Matrix image = Times(full, x.values);
  Vector<T> start = x;
  if (solve) start.Put(image, &start.memory);
  const Device<T> da(memory.elements), dx(start.memory);
  int status = 0;
  if (s.kind == Storage::kFull) {
    status = Invoke(form, name, Fill(fill), Op(op), Diag(diag), Size(n),
                    Raw(da.get()), Ld(memory.ld, n), Raw(dx.get()), Inc(step));
  } else if (s.kind == Storage::kBand) {
    status =
        Invoke(form, name, Fill(fill), Op(op), Diag(diag), Size(n), Size(s.k),
               Raw(da.get()), Ld(memory.ld, s.k + 1), Raw(dx.get()), Inc(step));
  } else {
    status = Invoke(form, name, Fill(fill), Op(op), Diag(diag), Size(n),
                    Raw(da.get()), Raw(dx.get()), Inc(step));
  }
  EXPECT_EQ(status, kSuccess);
  ExpectSame(dx, x.With(solve ? x.values : image), 64,
             NameIn(form, name) + " fill " + std::to_string(fill) + " op " +
                 std::to_string(op) + " diag " + std::to_string(diag) + " n " +
                 std::to_string(n));
}
template <typename T>
void RefuseTriangles(const Storage& s, bool solve) {
  const std::string name = Name<T>("t" + s.letters + (solve ? "sv" : "mv"));
  const Device<T> d(std::vector<T>(40, T(1)));
  if (s.kind == Storage::kFull) {
    ExpectRefusals(name, Fill(kLower), Op(kN), Diag(kUnit), Size(3),
                   Raw(d.get()), Ld(3, 3), Raw(d.get() + 20), Inc(1));
  } else if (s.kind == Storage::kBand) {
    ExpectRefusals(name, Fill(kLower), Op(kN), Diag(kUnit), Size(3), Size(1),
                   Raw(d.get()), Ld(2, 2), Raw(d.get() + 20), Inc(1));
  } else {
    ExpectRefusals(name, Fill(kLower), Op(kN), Diag(kUnit), Size(3),
                   Raw(d.get()), Raw(d.get() + 20), Inc(1));
  }
}
TEST(CublasLevel2, Triangles) {
  ForAll([]<typename T>() {
    for (const Storage& s : kStorages) {
      for (const bool solve : {false, true}) {
        const std::string name =
            Name<T>("t" + s.letters + (solve ? "sv" : "mv"));
        for (const Form form : FormsOf(name)) {
          for (int bits = 0; bits < 12; ++bits) {
            const int fill = bits & 1, diag = bits >> 1 & 1, op = bits >> 2;
            TestTriangle<T>(s, solve, form, fill, op, diag, 9, 1);
            TestTriangle<T>(s, solve, form, fill, op, diag, 6, -2);
            if (form == kHost) {
              for (const long n : {0, 1, 2}) {
                TestTriangle<T>(s, solve, form, fill, op, diag, n, 1);
              }
            }
          }
        }
        RefuseTriangles<T>(s, solve);
      }
    }
  });
}

// --- Symmetric matrices and Hermitian ones
template <typename T>
std::string SymmetricName(const Storage& s, bool hermitian,
                          const std::string& rest) {
  const std::string first = !hermitian ? "s" : "h";
  // sy, sb, sp and he, hb, hp.
  if (s.kind == Storage::kFull)
    return Name<T>((hermitian ? "he" : "sy") + rest);
  return Name<T>(first + s.letters + rest);
}

template <typename T>
void TestSymmetric(const Storage& s, bool hermitian, Form form, int fill,
                   long n, const Steps& steps, const Factors& f) {
  const std::string name = SymmetricName<T>(s, hermitian, "mv");
  Numbers numbers;
  const Matrix a = Mirrored(RandomMatrix<T>(numbers, n, n), hermitian);
  // The diagonal's imaginary part is not read.
  InMemory<T> memory = s.Store<T>(a, fill, kNonUnit, hermitian);
  Vector<T> x(numbers, n, steps.x, kNan), y(numbers, n, steps.y);
  const Matrix want =
      Combined(f.alpha, Times(memory.full, x.values), f.beta, y.values);
  Spoil(f.alpha == 0, &memory.elements);
  Spoil(f.beta == 0, &y);
  const Device<T> da(memory.elements), dx(x.memory), dy(y.memory);
  const Scalar alpha(T(f.alpha)), beta(T(f.beta));
  int status = 0;
  if (s.kind == Storage::kFull) {
    status = Invoke(form, name, Fill(fill), Size(n), alpha, Raw(da.get()),
                    Ld(memory.ld, n), Raw(dx.get()), Inc(steps.x), beta,
                    Raw(dy.get()), Inc(steps.y));
  } else if (s.kind == Storage::kBand) {
    status = Invoke(form, name, Fill(fill), Size(n), Size(s.k), alpha,
                    Raw(da.get()), Ld(memory.ld, s.k + 1), Raw(dx.get()),
                    Inc(steps.x), beta, Raw(dy.get()), Inc(steps.y));
  } else {
    status =
        Invoke(form, name, Fill(fill), Size(n), alpha, Raw(da.get()),
               Raw(dx.get()), Inc(steps.x), beta, Raw(dy.get()), Inc(steps.y));
  }
  EXPECT_EQ(status, kSuccess);
  ExpectSame(dy, y.With(want), kUnits,
             NameIn(form, name) + " fill " + std::to_string(fill));
}
template <typename T>
void RefuseSymmetric(const Storage& s, const std::string& name) {
  const Device<T> d(std::vector<T>(40, T(1)));
  const Scalar one(T(1));
  if (s.kind == Storage::kFull) {
    ExpectRefusals(name, Fill(kLower), Size(3), one, Raw(d.get()), Ld(3, 3),
                   Raw(d.get()), Inc(1), one, Raw(d.get() + 20), Inc(1));
  } else if (s.kind == Storage::kBand) {
    ExpectRefusals(name, Fill(kLower), Size(3), Size(1), one, Raw(d.get()),
                   Ld(2, 2), Raw(d.get()), Inc(1), one, Raw(d.get() + 20),
                   Inc(1));
  } else {
    ExpectRefusals(name, Fill(kLower), Size(3), one, Raw(d.get()), Raw(d.get()),
                   Inc(1), one, Raw(d.get() + 20), Inc(1));
  }
}
TEST(CublasLevel2, SymmetricAndHermitian) {
  ForAll([]<typename T>() {
    for (const Storage& s : kStorages) {
      for (const bool hermitian : {false, true}) {
        const std::string name = SymmetricName<T>(s, hermitian, "mv");
        // Complex symmetric ones are there in full storage alone.
        if (!HasCublas(name + "_v2")) {
          EXPECT_TRUE(kIsComplex<T> ? !hermitian && s.kind != Storage::kFull
                                    : hermitian)
              << name;
          continue;
        }
        for (const Form form : FormsOf(name)) {
          for (const int fill : {kLower, kUpper}) {
            for (const Factors& f : kFactors) {
              TestSymmetric<T>(s, hermitian, form, fill, 7, {1, 2}, f);
            }
            TestSymmetric<T>(s, hermitian, form, fill, 5, {-2, -1}, {1, 2});
            TestSymmetric<T>(s, hermitian, form, fill, 1, {1, 1}, {1, 2});
            TestSymmetric<T>(s, hermitian, form, fill, 0, {1, 1}, {1, 2});
          }
        }
        RefuseSymmetric<T>(s, name);
      }
    }
  });
}

// --- Updates of rank 1 and 2
template <typename T>
void TestGer(const std::string& name, bool conjugated, Form form, long m,
             long n, const Steps& steps) {
  Numbers numbers;
  const Matrix a = RandomMatrix<T>(numbers, m, n);
  const Vector<T> x(numbers, m, steps.x, kNan), y(numbers, n, steps.y, kNan);
  const T alpha = numbers.As<T>();
  const Matrix product = Times(x.values, Apply(conjugated ? kC : kT, y.values));
  const Matrix want = Combined(Complex64(alpha), product, 1, a);
  const Device<T> da(Stored<T>(a, m + 2, kGuard)), dx(x.memory), dy(y.memory);
  EXPECT_EQ(Invoke(form, name, Size(m), Size(n), Scalar(alpha), Raw(dx.get()),
                   Inc(steps.x), Raw(dy.get()), Inc(steps.y), Raw(da.get()),
                   Ld(m + 2, m)),
            kSuccess);
  ExpectSame(da, Stored<Complex64>(want, m + 2, kGuard), kUnits,
             NameIn(form, name));
}
template <typename T>
void TestGers(const std::string& name, bool conjugated) {
  for (const Form form : FormsOf(name)) {
    for (const Steps& steps : kSteps) {
      for (const auto& [m, n] :
           {std::pair{7L, 5L}, {1L, 1L}, {0L, 2L}, {2L, 0L}, {3L, 17L}}) {
        TestGer<T>(name, conjugated, form, m, n, steps);
      }
    }
  }
  const std::vector<T> ones(40, T(1));
  const Device<T> d(ones);
  for (const Form form : FormsOf(name)) {  // by 0 vectors are not read
    const T* const none = nullptr;
    EXPECT_EQ(Invoke(form, name, Size(3), Size(2), Scalar(T(0)), Raw(none),
                     Inc(1), Raw(none), Inc(1), Raw(d.get()), Ld(3, 3)),
              kSuccess);
    ExpectSame(d, Widened(ones), 0, NameIn(form, name));
  }
  ExpectRefusals(name, Size(3), Size(2), Scalar(T(1)), Raw(d.get()), Inc(1),
                 Raw(d.get()), Inc(1), Raw(d.get() + 20), Ld(3, 3));
}
TEST(CublasLevel2, Ger) {
  ForReal([]<typename T>() { TestGers<T>(Name<T>("ger"), false); });
  ForComplex([]<typename T>() {
    TestGers<T>(Name<T>("geru"), false);
    TestGers<T>(Name<T>("gerc"), true);
  });
}

// S is the type of alpha: real for her and hpr.
template <typename T, typename S>
void TestRank1(const Storage& s, bool hermitian, Form form, int fill, long n,
               long step) {
  const std::string name = SymmetricName<T>(s, hermitian, "r");
  Numbers numbers;
  const Matrix a = Mirrored(RandomMatrix<T>(numbers, n, n), hermitian);
  const Vector<T> x(numbers, n, step, kNan);
  const S alpha = numbers.As<S>();
  const Matrix want =
      Combined(Complex64(alpha),
               Times(x.values, Apply(hermitian ? kC : kT, x.values)), 1, a);
  const InMemory<T> before = s.Store<T>(
      a, fill, kNonUnit, hermitian && Complex64(alpha) != 0.0, kGuard);
  const InMemory<Complex64> after =
      s.Store<Complex64>(want, fill, kNonUnit, false, kGuard);
  const Device<T> da(before.elements), dx(x.memory);
  const int status =
      s.kind == Storage::kFull
          ? Invoke(form, name, Fill(fill), Size(n), Scalar(alpha),
                   Raw(dx.get()), Inc(step), Raw(da.get()), Ld(before.ld, n))
          : Invoke(form, name, Fill(fill), Size(n), Scalar(alpha),
                   Raw(dx.get()), Inc(step), Raw(da.get()));
  EXPECT_EQ(status, kSuccess);
  ExpectSame(da, after.elements, kUnits, NameIn(form, name));
}
template <typename T>
void TestRank2(const Storage& s, bool hermitian, Form form, int fill, long n,
               const Steps& steps) {
  const std::string name = SymmetricName<T>(s, hermitian, "r2");
  Numbers numbers;
  const Matrix a = Mirrored(RandomMatrix<T>(numbers, n, n), hermitian);
  const Vector<T> x(numbers, n, steps.x, kNan), y(numbers, n, steps.y, kNan);
  const T alpha = numbers.As<T>();
  const Complex64 wide(alpha);
  const int turn = hermitian ? kC : kT;
  const Matrix first =
      Combined(wide, Times(x.values, Apply(turn, y.values)), 1, a);
  const Matrix want =
      Combined(hermitian ? std::conj(wide) : wide,
               Times(y.values, Apply(turn, x.values)), 1, first);
  const InMemory<T> before = s.Store<T>(
      a, fill, kNonUnit, hermitian && Complex64(alpha) != 0.0, kGuard);
  const InMemory<Complex64> after =
      s.Store<Complex64>(want, fill, kNonUnit, false, kGuard);
  const Device<T> da(before.elements), dx(x.memory), dy(y.memory);
  const int status =
      s.kind == Storage::kFull
          ? Invoke(form, name, Fill(fill), Size(n), Scalar(alpha),
                   Raw(dx.get()), Inc(steps.x), Raw(dy.get()), Inc(steps.y),
                   Raw(da.get()), Ld(before.ld, n))
          : Invoke(form, name, Fill(fill), Size(n), Scalar(alpha),
                   Raw(dx.get()), Inc(steps.x), Raw(dy.get()), Inc(steps.y),
                   Raw(da.get()));
  EXPECT_EQ(status, kSuccess);
  ExpectSame(da, after.elements, kUnits, NameIn(form, name));
}
template <typename T, typename S>
void TestUpdates(const Storage& s, bool hermitian) {
  for (const int fill : {kLower, kUpper}) {
    for (const long n : {0, 1, 6}) {
      for (const Form form : FormsOf(SymmetricName<T>(s, hermitian, "r"))) {
        TestRank1<T, S>(s, hermitian, form, fill, n, 1);
        TestRank1<T, S>(s, hermitian, form, fill, n, -2);
      }
      for (const Form form : FormsOf(SymmetricName<T>(s, hermitian, "r2"))) {
        for (const Steps& steps : kSteps) {
          TestRank2<T>(s, hermitian, form, fill, n, steps);
        }
      }
    }
  }
  const Device<T> d(std::vector<T>(40, T(1)));
  const std::string one = SymmetricName<T>(s, hermitian, "r"),
                    two = SymmetricName<T>(s, hermitian, "r2");
  if (s.kind == Storage::kFull) {
    ExpectRefusals(one, Fill(kLower), Size(3), Scalar(S(1)), Raw(d.get()),
                   Inc(1), Raw(d.get() + 20), Ld(3, 3));
    ExpectRefusals(two, Fill(kLower), Size(3), Scalar(T(1)), Raw(d.get()),
                   Inc(1), Raw(d.get()), Inc(1), Raw(d.get() + 20), Ld(3, 3));
  } else {
    ExpectRefusals(one, Fill(kLower), Size(3), Scalar(S(1)), Raw(d.get()),
                   Inc(1), Raw(d.get() + 20));
    ExpectRefusals(two, Fill(kLower), Size(3), Scalar(T(1)), Raw(d.get()),
                   Inc(1), Raw(d.get()), Inc(1), Raw(d.get() + 20));
  }
}
TEST(CublasLevel2, Updates) {
  const Storage &full = kStorages[0], &packed = kStorages[2];
  ForAll([&]<typename T>() { TestUpdates<T, T>(full, false); });
  ForReal([&]<typename T>() { TestUpdates<T, T>(packed, false); });
  ForComplex([&]<typename T>() {
    TestUpdates<T, Real<T>>(full, true);
    TestUpdates<T, Real<T>>(packed, true);
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests
