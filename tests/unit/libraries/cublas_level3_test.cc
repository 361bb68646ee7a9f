// Matrices, by BLAS' definitions, and what cuBLAS adds for one matrix.
#include "tests/unit/libraries/storage.h"

namespace cerberus::libraries::tests {
namespace {

constexpr double kUnits = 64;

struct Factors {
  double alpha, beta;
};
constexpr Factors kFactors[] = {{0.5, -1.5}, {1, 0}, {0, 2}, {0, 0}, {-2, 1}};
struct Shape {
  long m, n, k;
};
constexpr Shape kShapes[] = {{5, 7, 3}, {1, 1, 1}, {0, 3, 2},
                             {3, 0, 2}, {3, 2, 0}, {33, 9, 17}};

// alpha P + beta C; what a factor of 0 stands before is not read.
Matrix Combined(Complex64 alpha, const Matrix& product, Complex64 beta,
                const Matrix& c) {
  Matrix out(product.rows, product.columns);
  for (std::size_t i = 0; i < out.v.size(); ++i) {
    out.v[i] = (alpha == 0.0 ? 0.0 : alpha * product.v[i]) +
               (beta == 0.0 ? 0.0 : beta * c.v[i]);
  }
  return out;
}
Matrix Nans(long m, long n) {
  Matrix out(m, n);
  for (Complex64& value : out.v) value = kNan;
  return out;
}
template <typename T>
Matrix RandomFor(Numbers& numbers, int op, long m, long n) {
  return op == kN || op == kConj ? RandomMatrix<T>(numbers, m, n)
                                 : RandomMatrix<T>(numbers, n, m);
}
std::string Told(Form form, const std::string& name, const Shape& s,
                 const Factors& f, const std::vector<int>& modes) {
  std::string out = NameIn(form, name) + " form " + std::to_string(form) +
                    " m, n, k " + std::to_string(s.m) + " " +
                    std::to_string(s.n) + " " + std::to_string(s.k) +
                    " factors " + std::to_string(f.alpha) + " " +
                    std::to_string(f.beta) + " modes";
  for (const int mode : modes) out += " " + std::to_string(mode);
  return out;
}

template <typename T>
void TestGemm(const std::string& name, Form form, int opa, int opb,
              const Shape& s, const Factors& f) {
  Numbers numbers;
  const Matrix a = RandomFor<T>(numbers, opa, s.m, s.k);
  const Matrix b = RandomFor<T>(numbers, opb, s.k, s.n);
  const Matrix c = RandomMatrix<T>(numbers, s.m, s.n);
  const Matrix want =
      Combined(f.alpha, Times(Apply(opa, a), Apply(opb, b)), f.beta, c);
  const long lda = a.rows + 1, ldb = b.rows + 2, ldc = s.m + 3;
  const auto read = [](double factor, const Matrix& x) {
    return factor == 0 ? Nans(x.rows, x.columns) : x;
  };
  const Device<T> da(Stored<T>(read(f.alpha, a), lda, kNan));
  const Device<T> db(Stored<T>(read(f.alpha, b), ldb, kNan));
  const Device<T> dc(Stored<T>(read(f.beta, c), ldc, kGuard));
  EXPECT_EQ(Invoke(form, name, Op(opa), Op(opb), Size(s.m), Size(s.n),
                   Size(s.k), Scalar(To<T>(f.alpha)), Raw(da.get()),
                   Ld(lda, a.rows), Raw(db.get()), Ld(ldb, b.rows),
                   Scalar(To<T>(f.beta)), Raw(dc.get()), Ld(ldc, s.m)),
            kSuccess);
  ExpectSame(dc, Stored<Complex64>(want, ldc, kGuard), kUnits,
             Told(form, name, s, f, {opa, opb}));
}
template <typename T>
void TestGemms(const std::string& name) {
  for (const Form form : FormsOf(name)) {
    for (int ops = 0; ops < 9; ++ops) {
      TestGemm<T>(name, form, ops % 3, ops / 3, {5, 7, 3}, {0.5, -1.5});
      TestGemm<T>(name, form, ops % 3, ops / 3, {33, 9, 17}, {-2, 1});
    }
    for (const Shape& s : kShapes) {
      for (const Factors& f : kFactors) TestGemm<T>(name, form, kN, kT, s, f);
    }
  }
  const Device<T> d(std::vector<T>(80, T(1)));
  const Scalar one(T(1));
  ExpectRefusals(name, Op(kN), Op(kT), Size(3), Size(4), Size(2), one,
                 Raw(d.get()), Ld(3, 3), Raw(d.get()), Ld(4, 4), one,
                 Raw(d.get() + 40), Ld(3, 3));
}
TEST(CublasLevel3, Gemm) {
  ForAll([]<typename T>() { TestGemms<T>(Name<T>("gemm")); });
  ForComplex([]<typename T>() { TestGemms<T>(Name<T>("gemm3m")); });
}
// CUBLAS_OP_CONJG: not turned. cublas.h has no letter for it.
TEST(CublasLevel3, GemmOfConjugates) {
  ForAll([]<typename T>() {
    for (const Form form : FormsOf(Name<T>("gemm"))) {
      for (int op = kN; op <= kConj && form != kOld; ++op) {
        TestGemm<T>(Name<T>("gemm"), form, kConj, op, {5, 7, 3}, {0.5, -1.5});
        TestGemm<T>(Name<T>("gemm"), form, op, kConj, {5, 7, 3}, {2, 0});
      }
    }
  });
}
// What is not finite goes through products and sums as IEEE 754 has it.
TEST(CublasLevel3, GemmOfWhatIsNotFinite) {
  ForReal([]<typename T>() {
    const Device<T> a({T(kInfinity), T(1), T(kNan), T(0)});
    const Device<T> b({T(1), T(2), T(0), T(1)});
    const Device<T> c(std::vector<T>(4, T(0)));
    for (const Form form : FormsOf(Name<T>("gemm"))) {
      EXPECT_EQ(
          Invoke(form, Name<T>("gemm"), Op(kN), Op(kN), Size(2), Size(2),
                 Size(2), Scalar(T(1)), Raw(a.get()), Ld(2, 2), Raw(b.get()),
                 Ld(2, 2), Scalar(T(0)), Raw(c.get()), Ld(2, 2)),
          kSuccess);
      ExpectSame(c, {kNan, 1, kNan, 0}, 1, Name<T>("gemm"));
    }
  });
}

template <typename T>
void TestSymm(const std::string& name, bool hermitian, Form form, int side,
              int fill, const Shape& s, const Factors& f) {
  Numbers numbers;
  const long order = side == kLeft ? s.m : s.n;
  const Matrix a = Mirrored(RandomMatrix<T>(numbers, order, order), hermitian);
  const Matrix b = RandomMatrix<T>(numbers, s.m, s.n);
  const Matrix c = RandomMatrix<T>(numbers, s.m, s.n);
  const Matrix want =
      Combined(f.alpha, side == kLeft ? Times(a, b) : Times(b, a), f.beta, c);
  InMemory<T> memory = kStorages[0].Store<T>(a, fill, kNonUnit, hermitian);
  if (f.alpha == 0) {
    for (T& value : memory.elements) value = To<T>(kNan);
  }
  const long ld = s.m + 1;
  const Device<T> da(memory.elements);
  const Device<T> db(Stored<T>(f.alpha == 0 ? Nans(s.m, s.n) : b, ld, kNan));
  const Device<T> dc(Stored<T>(f.beta == 0 ? Nans(s.m, s.n) : c, ld, kGuard));
  EXPECT_EQ(Invoke(form, name, Side(side), Fill(fill), Size(s.m), Size(s.n),
                   Scalar(To<T>(f.alpha)), Raw(da.get()), Ld(memory.ld, order),
                   Raw(db.get()), Ld(ld, s.m), Scalar(To<T>(f.beta)),
                   Raw(dc.get()), Ld(ld, s.m)),
            kSuccess);
  ExpectSame(dc, Stored<Complex64>(want, ld, kGuard), kUnits,
             Told(form, name, s, f, {side, fill}));
}
template <typename T>
void TestSymms(const std::string& name, bool hermitian) {
  for (const Form form : FormsOf(name)) {
    for (int bits = 0; bits < 4; ++bits) {
      for (const Factors& f : kFactors) {
        TestSymm<T>(name, hermitian, form, bits & 1, bits >> 1, {5, 7, 0}, f);
      }
      for (const Shape& s : kShapes) {
        TestSymm<T>(name, hermitian, form, bits & 1, bits >> 1, s, {0.5, 2});
      }
    }
  }
  const Device<T> d(std::vector<T>(80, T(1)));
  const Scalar one(T(1));
  ExpectRefusals(name, Side(kLeft), Fill(kUpper), Size(3), Size(2), one,
                 Raw(d.get()), Ld(3, 3), Raw(d.get() + 20), Ld(3, 3), one,
                 Raw(d.get() + 40), Ld(3, 3));
}
TEST(CublasLevel3, SymmAndHemm) {
  ForAll([]<typename T>() { TestSymms<T>(Name<T>("symm"), false); });
  ForComplex([]<typename T>() { TestSymms<T>(Name<T>("hemm"), true); });
}

// --- Updates of rank k. SA and SB are the types of alpha and beta.
struct RankK {
  std::string name;
  bool hermitian, of_two, twice;
};
template <typename T, typename SA, typename SB>
void TestRankK(const RankK& kind, Form form, int fill, bool turned, long n,
               long k, const Factors& f) {
  Numbers numbers;
  const int turn = kind.hermitian ? kC : kT;
  const int op = turned ? turn : kN;
  const Matrix a = RandomFor<T>(numbers, op, n, k);
  const Matrix b = kind.of_two ? RandomFor<T>(numbers, op, n, k) : a;
  const Matrix c = Mirrored(RandomMatrix<T>(numbers, n, n), kind.hermitian);
  const SA alpha = To<SA>({f.alpha, kIsComplex<SA> && f.alpha != 0 ? 0.75 : 0});
  const Complex64 wide(alpha);
  const Matrix full_a = Apply(op, a), full_b = Apply(op, b);
  Matrix want = Combined(wide, Times(full_a, Apply(turn, full_b)), f.beta, c);
  if (kind.twice) {
    want = Combined(kind.hermitian ? std::conj(wide) : wide,
                    Times(full_b, Apply(turn, full_a)), 1, want);
  } else if (kind.of_two && kind.hermitian) {
    // herkx: only for products that are Hermitian is the diagonal what was
    // asked for; its imaginary part is dropped.
    for (long i = 0; i < n; ++i) want(i, i) = want(i, i).real();
  }
  const Storage& full = kStorages[0];
  const bool imaginary = kind.hermitian && f.beta != 0 && f.alpha != 0 && k > 0;
  const InMemory<T> before = full.Store<T>(f.beta == 0 ? Nans(n, n) : c, fill,
                                           kNonUnit, imaginary, kGuard);
  const InMemory<Complex64> after =
      full.Store<Complex64>(want, fill, kNonUnit, false, kGuard);
  const long ld = a.rows + 2;
  const Matrix unread = Nans(a.rows, a.columns);
  const Device<T> da(Stored<T>(f.alpha == 0 ? unread : a, ld, kNan));
  const Device<T> db(Stored<T>(f.alpha == 0 ? unread : b, ld, kNan));
  const Device<T> dc(before.elements);
  const Scalar sa(alpha);
  const Scalar sb(To<SB>(f.beta));
  const int status =
      kind.of_two
          ? Invoke(form, kind.name, Fill(fill), Op(op), Size(n), Size(k), sa,
                   Raw(da.get()), Ld(ld, a.rows), Raw(db.get()), Ld(ld, a.rows),
                   sb, Raw(dc.get()), Ld(before.ld, n))
          : Invoke(form, kind.name, Fill(fill), Op(op), Size(n), Size(k), sa,
                   Raw(da.get()), Ld(ld, a.rows), sb, Raw(dc.get()),
                   Ld(before.ld, n));
  EXPECT_EQ(status, kSuccess);
  ExpectSame(dc, after.elements, kUnits,
             Told(form, kind.name, {n, n, k}, f, {fill, op}));
}
template <typename T, typename SA, typename SB>
void TestRankKs(const RankK& kind) {
  for (const Form form : FormsOf(kind.name)) {
    for (int bits = 0; bits < 4; ++bits) {
      const int fill = bits & 1;
      const bool turned = bits >> 1;
      for (const Factors& f : kFactors) {
        TestRankK<T, SA, SB>(kind, form, fill, turned, 6, 4, f);
      }
      for (const auto& [n, k] :
           {std::pair{0L, 2L}, {1L, 1L}, {3L, 0L}, {21L, 10L}}) {
        TestRankK<T, SA, SB>(kind, form, fill, turned, n, k, {0.5, 2});
      }
    }
  }
  const Device<T> d(std::vector<T>(80, T(1)));
  const Scalar sa(SA(1));
  const Scalar sb(SB(1));
  if (kind.of_two) {
    ExpectRefusals(kind.name, Fill(kUpper), Op(kN), Size(3), Size(2), sa,
                   Raw(d.get()), Ld(3, 3), Raw(d.get() + 20), Ld(3, 3), sb,
                   Raw(d.get() + 40), Ld(3, 3));
  } else {
    ExpectRefusals(kind.name, Fill(kUpper), Op(kN), Size(3), Size(2), sa,
                   Raw(d.get()), Ld(3, 3), sb, Raw(d.get() + 40), Ld(3, 3));
  }
}
TEST(CublasLevel3, RankK) {
  ForAll([]<typename T>() {
    TestRankKs<T, T, T>({Name<T>("syrk"), false, false, false});
    TestRankKs<T, T, T>({Name<T>("syr2k"), false, true, true});
    TestRankKs<T, T, T>({Name<T>("syrkx"), false, true, false});
  });
  ForComplex([]<typename T>() {
    TestRankKs<T, Real<T>, Real<T>>({Name<T>("herk"), true, false, false});
    TestRankKs<T, T, Real<T>>({Name<T>("her2k"), true, true, true});
    TestRankKs<T, T, Real<T>>({Name<T>("herkx"), true, true, false});
  });
}

// Complex symmetric updates know no conjugates, Hermitian ones nothing else.
TEST(CublasLevel3, RankKOfTheOtherTurn) {
  ForComplex([]<typename T>() {
    const Device<T> d(std::vector<T>(80, T(1)));
    const Raw p(d.get());
    const Ld ld(3, 3);
    for (const Form form : FormsOf(Name<T>("syrk"))) {
      EXPECT_EQ(Invoke(form, Name<T>("syrk"), Fill(kUpper), Op(kC), Size(3),
                       Size(2), Scalar(T(1)), p, ld, Scalar(T(1)), p, ld),
                kInvalidValue);
      EXPECT_EQ(
          Invoke(form, Name<T>("syr2k"), Fill(kUpper), Op(kC), Size(3), Size(2),
                 Scalar(T(1)), p, ld, p, ld, Scalar(T(1)), p, ld),
          kInvalidValue);
      EXPECT_EQ(
          Invoke(form, Name<T>("herk"), Fill(kUpper), Op(kT), Size(3), Size(2),
                 Scalar(Real<T>(1)), p, ld, Scalar(Real<T>(1)), p, ld),
          kInvalidValue);
      EXPECT_EQ(
          Invoke(form, Name<T>("her2k"), Fill(kUpper), Op(kT), Size(3), Size(2),
                 Scalar(T(1)), p, ld, p, ld, Scalar(Real<T>(1)), p, ld),
          kInvalidValue);
    }
  });
}

// --- Triangles
struct Modes {
  int side, fill, op, diag;
};
template <typename T>
Matrix Moderate(Numbers& numbers, long n) {
  Matrix a = RandomMatrix<T>(numbers, n, n);
  for (Complex64& value : a.v) value *= 0.125;
  for (long i = 0; i < n; ++i) a(i, i) = (i % 2 == 0) ? 1.0 : -2.0;
  return a;
}
template <typename T>
void TestTrsm(Form form, const Modes& o, const Shape& s, double alpha) {
  const std::string name = Name<T>("trsm");
  Numbers numbers;
  const long order = o.side == kLeft ? s.m : s.n;
  const Matrix a = Moderate<T>(numbers, order);
  const Matrix full = Apply(o.op, Triangle(a, o.fill, o.diag));
  const Matrix x = RandomMatrix<T>(numbers, s.m, s.n);
  const Matrix image = o.side == kLeft ? Times(full, x) : Times(x, full);
  const InMemory<T> memory = kStorages[0].Store<T>(a, o.fill, o.diag);
  const long ld = s.m + 2;
  const Device<T> da(memory.elements);
  const Device<T> db(
      Stored<T>(alpha == 0 ? Nans(s.m, s.n) : image, ld, kGuard));
  EXPECT_EQ(
      Invoke(form, name, Side(o.side), Fill(o.fill), Op(o.op), Diag(o.diag),
             Size(s.m), Size(s.n), Scalar(To<T>(alpha)), Raw(da.get()),
             Ld(memory.ld, order), Raw(db.get()), Ld(ld, s.m)),
      kSuccess);
  ExpectSame(db, Stored<Complex64>(Combined(alpha, x, 0, x), ld, kGuard), 256,
             Told(form, name, s, {alpha, 0}, {o.side, o.fill, o.op, o.diag}));
}
template <typename T>
void TestTrmm(Form form, const Modes& o, const Shape& s, double alpha,
              bool in_place) {
  const std::string name = Name<T>("trmm");
  Numbers numbers;
  const long order = o.side == kLeft ? s.m : s.n;
  const Matrix a = Moderate<T>(numbers, order);
  const Matrix full = Apply(o.op, Triangle(a, o.fill, o.diag));
  const Matrix x = RandomMatrix<T>(numbers, s.m, s.n);
  const Matrix image = o.side == kLeft ? Times(full, x) : Times(x, full);
  const InMemory<T> memory = kStorages[0].Store<T>(a, o.fill, o.diag);
  const long ld = s.m + 2;
  const Device<T> da(memory.elements);
  const Device<T> db(Stored<T>(alpha == 0 ? Nans(s.m, s.n) : x, ld, kGuard));
  const Device<T> dc(Stored<T>(Nans(s.m, s.n), ld, kGuard));
  const Side side(o.side);
  const Fill fill(o.fill);
  const Op op(o.op);
  const Diag diag(o.diag);
  const Scalar factor(To<T>(alpha));
  // cublas.h's has no C.
  const int status =
      form == kOld ? Invoke(form, name, side, fill, op, diag, Size(s.m),
                            Size(s.n), factor, Raw(da.get()),
                            Ld(memory.ld, order), Raw(db.get()), Ld(ld, s.m))
                   : Invoke(form, name, side, fill, op, diag, Size(s.m),
                            Size(s.n), factor, Raw(da.get()),
                            Ld(memory.ld, order), Raw(db.get()), Ld(ld, s.m),
                            Raw(in_place ? db.get() : dc.get()), Ld(ld, s.m));
  EXPECT_EQ(status, kSuccess);
  ExpectSame(form == kOld || in_place ? db : dc,
             Stored<Complex64>(Combined(alpha, image, 0, x), ld, kGuard),
             kUnits,
             Told(form, name, s, {alpha, 0}, {o.side, o.fill, o.op, o.diag}));
}
TEST(CublasLevel3, Triangles) {
  ForAll([]<typename T>() {
    for (const Form form : FormsOf(Name<T>("trsm"))) {
      for (int bits = 0; bits < 24; ++bits) {
        const Modes modes{bits & 1, bits >> 1 & 1, bits >> 3, bits >> 2 & 1};
        for (const double alpha : {1.0, -0.5}) {
          TestTrsm<T>(form, modes, {6, 4, 0}, alpha);
          TestTrmm<T>(form, modes, {6, 4, 0}, alpha, false);
        }
        TestTrmm<T>(form, modes, {4, 7, 0}, 1, true);
      }
      for (const Shape& s : kShapes) {
        const Modes modes{kRight, kLower, kT, kNonUnit};
        TestTrsm<T>(form, modes, s, 2);
        TestTrsm<T>(form, modes, s, 0);
        TestTrmm<T>(form, modes, s, 2, false);
        TestTrmm<T>(form, modes, s, 0, false);
      }
    }
    const Device<T> d(std::vector<T>(80, T(1)));
    const Side side(kLeft);
    const Fill fill(kUpper);
    const Op op(kN);
    const Diag diag(kUnit);
    const Scalar one(T(1));
    ExpectRefusals(Name<T>("trsm"), side, fill, op, diag, Size(3), Size(2), one,
                   Raw(d.get()), Ld(3, 3), Raw(d.get() + 20), Ld(3, 3));
    for (const Form form : {kHost, kXt}) {
      EXPECT_EQ(Invoke(form, Name<T>("trmm"), side, fill, op, diag, Size(3),
                       Size(2), one, Raw(d.get()), Ld(2, 3), Raw(d.get() + 20),
                       Ld(3, 3), Raw(d.get() + 40), Ld(3, 3)),
                kInvalidValue);
    }
  });
}
TEST(CublasLevel3, TrmmRefusals) {
  ForAll([]<typename T>() {
    const Device<T> d(std::vector<T>(80, T(1)));
    const auto all =
        std::tuple(Side(kLeft), Fill(kUpper), Op(kN), Diag(kUnit), Size(3),
                   Size(2), Scalar(T(1)), Raw(d.get()), Ld(3, 3),
                   Raw(d.get() + 20), Ld(3, 3), Raw(d.get() + 40), Ld(3, 3));
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      for (const Form form : {kHost, kHost64, kDevice, kXt}) {
        (ExpectRefusal<i>(form, Name<T>("trmm"), all), ...);
      }
    }(std::make_index_sequence<13>());
  });
}

// --- What cuBLAS adds
template <typename T>
void TestGeam(Form form, int opa, int opb, const Shape& s, const Factors& f) {
  const std::string name = Name<T>("geam");
  Numbers numbers;
  const Matrix a = RandomFor<T>(numbers, opa, s.m, s.n);
  const Matrix b = RandomFor<T>(numbers, opb, s.m, s.n);
  const Matrix want = Combined(f.alpha, Apply(opa, a), f.beta, Apply(opb, b));
  const auto read = [](double factor, const Matrix& x) {
    return factor == 0 ? Nans(x.rows, x.columns) : x;
  };
  const long lda = a.rows + 1, ldb = b.rows + 2, ldc = s.m + 3;
  const Device<T> da(Stored<T>(read(f.alpha, a), lda, kNan));
  const Device<T> db(Stored<T>(read(f.beta, b), ldb, kNan));
  const Device<T> dc(Stored<T>(Nans(s.m, s.n), ldc, kGuard));
  EXPECT_EQ(Invoke(form, name, Op(opa), Op(opb), Size(s.m), Size(s.n),
                   Scalar(To<T>(f.alpha)), Raw(da.get()), Ld(lda, a.rows),
                   Scalar(To<T>(f.beta)), Raw(db.get()), Ld(ldb, b.rows),
                   Raw(dc.get()), Ld(ldc, s.m)),
            kSuccess);
  ExpectSame(dc, Stored<Complex64>(want, ldc, kGuard), kUnits,
             Told(form, name, s, f, {opa, opb}));
}
// C in place of A or of B, not turned; turned it is refused.
template <typename T>
void TestGeamInPlace(Form form) {
  const std::string name = Name<T>("geam");
  Numbers numbers;
  const Matrix a = RandomMatrix<T>(numbers, 4, 4);
  const Matrix b = RandomMatrix<T>(numbers, 4, 4);
  for (const bool first : {true, false}) {
    for (const int other : {kN, kT, kC}) {
      const Device<T> da(Stored<T>(a, 5, kGuard)), db(Stored<T>(b, 5, kGuard));
      const Device<T>& out = first ? da : db;
      const int opa = first ? kN : other, opb = first ? other : kN;
      EXPECT_EQ(Invoke(form, name, Op(opa), Op(opb), Size(4), Size(4),
                       Scalar(T(2)), Raw(da.get()), Ld(5, 4), Scalar(T(-3)),
                       Raw(db.get()), Ld(5, 4), Raw(out.get()), Ld(5, 4)),
                kSuccess);
      ExpectSame(out,
                 Stored<Complex64>(
                     Combined(2, Apply(opa, a), -3, Apply(opb, b)), 5, kGuard),
                 kUnits, name + " in place");
      EXPECT_EQ(Invoke(form, name, Op(kT), Op(kT), Size(4), Size(4),
                       Scalar(T(2)), Raw(da.get()), Ld(5, 4), Scalar(T(-3)),
                       Raw(db.get()), Ld(5, 4), Raw(out.get()), Ld(5, 4)),
                kInvalidValue);
    }
  }
}
TEST(CublasLevel3, Geam) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("geam");
    for (const Form form : FormsOf(name)) {
      for (int ops = 0; ops < 9; ++ops) {
        for (const Factors& f : kFactors) {
          TestGeam<T>(form, ops % 3, ops / 3, {5, 7, 0}, f);
        }
      }
      for (const Shape& s : kShapes) TestGeam<T>(form, kN, kC, s, {1, 2});
      TestGeamInPlace<T>(form);
    }
    const Device<T> d(std::vector<T>(80, T(1)));
    ExpectRefusals(name, Op(kN), Op(kT), Size(3), Size(2), Scalar(T(1)),
                   Raw(d.get()), Ld(3, 3), Scalar(T(1)), Raw(d.get() + 20),
                   Ld(2, 2), Raw(d.get() + 40), Ld(3, 3));
  });
}

TEST(CublasLevel3, Dgmm) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("dgmm");
    for (const Form form : FormsOf(name)) {
      for (const int side : {kLeft, kRight}) {
        for (const Shape& s : kShapes) {
          for (const long step : {1, 2, -3, 0}) {
            Numbers numbers;
            const Matrix a = RandomMatrix<T>(numbers, s.m, s.n);
            const long length = side == kLeft ? s.m : s.n;
            std::vector<T> x = numbers.Vector<T>(Span(length, step) + 1);
            Matrix want = a;
            for (long j = 0; j < s.n; ++j) {
              for (long i = 0; i < s.m; ++i) {
                want(i, j) *=
                    Complex64(x[At(side == kLeft ? i : j, length, step)]);
              }
            }
            const Device<T> da(Stored<T>(a, s.m + 1, kNan)), dx(x);
            const Device<T> dc(Stored<T>(Nans(s.m, s.n), s.m + 2, kGuard));
            EXPECT_EQ(Invoke(form, name, Side(side), Size(s.m), Size(s.n),
                             Raw(da.get()), Ld(s.m + 1, s.m), Raw(dx.get()),
                             Step(step), Raw(dc.get()), Ld(s.m + 2, s.m)),
                      kSuccess);
            ExpectSame(dc, Stored<Complex64>(want, s.m + 2, kGuard), 4,
                       Told(form, name, s, {1, 0}, {side}));
            // In place.
            const Device<T> in_place(Stored<T>(a, s.m + 1, kGuard));
            EXPECT_EQ(
                Invoke(form, name, Side(side), Size(s.m), Size(s.n),
                       Raw(in_place.get()), Ld(s.m + 1, s.m), Raw(dx.get()),
                       Step(step), Raw(in_place.get()), Ld(s.m + 1, s.m)),
                kSuccess);
            ExpectSame(in_place, Stored<Complex64>(want, s.m + 1, kGuard), 4,
                       name + " in place");
          }
        }
      }
    }
    const Device<T> d(std::vector<T>(80, T(1)));
    ExpectRefusals(name, Side(kLeft), Size(3), Size(2), Raw(d.get()), Ld(3, 3),
                   Raw(d.get() + 20), Step(1), Raw(d.get() + 40), Ld(3, 3));
  });
}

TEST(CublasLevel3, PackedTriangles) {
  ForAll([]<typename T>() {
    const std::string unpack = Name<T>("tpttr"), pack = Name<T>("trttp");
    for (const Form form : FormsOf(pack)) {
      for (const int fill : {kLower, kUpper}) {
        for (const long n : {0, 1, 5}) {
          Numbers numbers;
          const Matrix a = RandomMatrix<T>(numbers, n, n);
          const InMemory<T> full =
              kStorages[0].Store<T>(a, fill, kNonUnit, false, kGuard);
          const InMemory<T> packed =
              kStorages[2].Store<T>(a, fill, kNonUnit, false, kGuard);
          const Device<T> df(full.elements), dp(packed.elements);
          const Device<T> to_full(
              std::vector<T>(full.elements.size(), To<T>(kGuard)));
          const Device<T> to_packed(
              std::vector<T>(packed.elements.size(), To<T>(kGuard)));
          EXPECT_EQ(Invoke(form, unpack, Fill(fill), Size(n), Raw(dp.get()),
                           Raw(to_full.get()), Ld(full.ld, n)),
                    kSuccess);
          EXPECT_EQ(Invoke(form, pack, Fill(fill), Size(n), Raw(df.get()),
                           Ld(full.ld, n), Raw(to_packed.get())),
                    kSuccess);
          ExpectSame(to_full, Widened(full.elements), 0, unpack);
          ExpectSame(to_packed, Widened(packed.elements), 0, pack);
        }
      }
    }
    const Device<T> d(std::vector<T>(80, T(1)));
    ExpectRefusals(unpack, Fill(kUpper), Size(3), Raw(d.get()),
                   Raw(d.get() + 20), Ld(3, 3));
    ExpectRefusals(pack, Fill(kUpper), Size(3), Raw(d.get()), Ld(3, 3),
                   Raw(d.get() + 20));
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests
