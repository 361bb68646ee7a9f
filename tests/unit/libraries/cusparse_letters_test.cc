// Products, triangular systems and incomplete factors of the functions with a
// letter for their type.
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

constexpr int kOperations[] = {kN, kT, kC};

struct Blocks {
  int side;
  int direction;  // 0: rows first
  int base;
  Shape shape() const {
    return {kBsr, direction == 0 ? kByRows : kByColumns, side, side};
  }
};
constexpr Blocks kBlocks[] = {{1, 0, 0}, {2, 0, 1}, {3, 1, 0}, {4, 1, 1}};

int Count(const SparseMatrix& m) { return static_cast<int>(m.layout().nnz); }

TEST(CusparseLetters, Bsrmv) {
  ForAll([]<typename T>() {
    Numbers numbers;
    for (const Blocks& b : kBlocks) {
      const int mb = 12 / b.side, nb = 24 / b.side;
      const Matrix a = RandomSparse(numbers, kTypeOf<T>, 12, 24);
      const SparseMatrix m(a, kTypeOf<T>, b.shape(), kInt, b.base);
      const MatDescr descr(b.base);
      for (const int op : kOperations) {
        const Matrix opa = Apply(op, a);
        ForPointerModes([&](bool on_device) {
          Matrix x(opa.columns, 1), y(opa.rows, 1);
          x.v = Integers(numbers, kTypeOf<T>, x.v.size());
          y.v = Integers(numbers, kTypeOf<T>, y.v.size());
          const Device<T> dx(Stored<T>(x, x.rows, 0)),
              dy(Stored<T>(y, y.rows, 0));
          Single<T> alpha(on_device, T(2)), beta(on_device, T(-1));
          EXPECT_EQ(Call(Typed<T>("bsrmv"), SparseHandle(), b.direction, op, mb,
                         nb, Count(m), alpha.get(), descr.get(),
                         m.values().get(), m.major().get(), m.minor().get(),
                         b.side, dx.get(), beta.get(), dy.get()),
                    kSuccess);
          Synchronize();
          ExpectSame(dy, Plus(Scaled(2, Times(opa, x)), Scaled(-1, y)).v, 0,
                     "bsrmv");
        });
      }
    }
  });
}

// Only the rows of blocks that the mask names, which end where they say.
TEST(CusparseLetters, Bsrxmv) {
  ForAll([]<typename T>() {
    Numbers numbers;
    for (const Blocks& b : kBlocks) {
      const int mb = 12 / b.side;
      const Matrix a = RandomSparse(numbers, kTypeOf<T>, 12, 12, 2);
      const SparseMatrix m(a, kTypeOf<T>, b.shape(), kInt, b.base);
      const MatDescr descr(b.base);
      std::vector<int> mask, starts, ends;
      Matrix seen(12, 12);
      std::vector<bool> is_masked(12, false);
      for (int i = 0; i < mb; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const int first = static_cast<int>(m.layout().major[at]);
        const int end = static_cast<int>(m.layout().major[at + 1]);
        starts.push_back(first + b.base);
        ends.push_back((end > first ? end - 1 : end) + b.base);
        if (i % 2 == 1) continue;
        mask.push_back(i + b.base);
        const long size = b.side * b.side;
        for (long p = first * size; p < (ends.back() - b.base) * size; ++p) {
          const auto [r, c] = m.layout().places[static_cast<std::size_t>(p)];
          seen(r, c) = a(r, c);
        }
        for (int r = 0; r < b.side; ++r) {
          const long row = long{b.side} * i + r;
          is_masked[static_cast<std::size_t>(row)] = true;
        }
      }
      Matrix x(12, 1), y(12, 1);
      x.v = Integers(numbers, kTypeOf<T>, 12);
      y.v = Integers(numbers, kTypeOf<T>, 12);
      const Device<T> dx(Stored<T>(x, 12, 0)), dy(Stored<T>(y, 12, 0));
      const Device<int> dm(mask), ds(starts), de(ends);
      const T alpha(2), beta(3);
      const auto bsrxmv = [&](int op) {
        return Call(Typed<T>("bsrxmv"), SparseHandle(), b.direction, op,
                    static_cast<int>(mask.size()), mb, mb, Count(m), &alpha,
                    descr.get(), m.values().get(), dm.get(), ds.get(), de.get(),
                    m.minor().get(), b.side, dx.get(), &beta, dy.get());
      };
      EXPECT_EQ(bsrxmv(kN), kSuccess);
      Synchronize();
      std::vector<Complex64> want =
          Plus(Scaled(2, Times(seen, x)), Scaled(3, y)).v;
      for (std::size_t i = 0; i < 12; ++i) {
        if (!is_masked[i]) want[i] = y.v[i];
      }
      ExpectSame(dy, want, 0, "bsrxmv");
      EXPECT_EQ(bsrxmv(kT), kNotSupported);
    }
  });
}

TEST(CusparseLetters, Bsrmm) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kWidth = 5;
    for (const Blocks& b : kBlocks) {
      const int mb = 12 / b.side, kb = 24 / b.side;
      const Matrix a = RandomSparse(numbers, kTypeOf<T>, 12, 24);
      const SparseMatrix m(a, kTypeOf<T>, b.shape(), kInt, b.base);
      const MatDescr descr(b.base);
      for (const int opb : kOperations) {
        const Matrix right = RandomSparse(numbers, kTypeOf<T>, 24, kWidth, 3);
        const Matrix stored = Apply(opb, right);
        const Matrix c = RandomSparse(numbers, kTypeOf<T>, 12, kWidth, 3);
        const int ldb = static_cast<int>(stored.rows) + 1, ldc = 14;
        const Device<T> db(Stored<T>(stored, ldb, kNan)),
            dc(Stored<T>(c, ldc, kGuard));
        const T alpha(2), beta(-1);
        const auto bsrmm = [&](int ld) {
          return Call(Typed<T>("bsrmm"), SparseHandle(), b.direction, kN, opb,
                      mb, kWidth, kb, Count(m), &alpha, descr.get(),
                      m.values().get(), m.major().get(), m.minor().get(),
                      b.side, db.get(), ldb, &beta, dc.get(), ld);
        };
        EXPECT_EQ(bsrmm(ldc), kSuccess);
        Synchronize();
        ExpectSame(
            dc,
            Widened(Stored<T>(Plus(Scaled(2, Times(a, right)), Scaled(-1, c)),
                              ldc, kGuard)),
            0, "bsrmm");
        EXPECT_EQ(bsrmm(11), kInvalidValue);
      }
    }
  });
}

TEST(CusparseLetters, Gemmi) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kM = 5, kColumns = 7, kInner = 6, kLda = 6, kLdc = 8;
    const Matrix a = RandomMatrix<T>(numbers, kM, kInner);
    const Matrix b = RandomSparse(numbers, kTypeOf<T>, kInner, kColumns);
    const Matrix c = RandomMatrix<T>(numbers, kM, kColumns);
    const SparseMatrix m(b, kTypeOf<T>, {kCsc});
    const Device<T> da(Stored<T>(a, kLda, kNan)),
        dc(Stored<T>(c, kLdc, kGuard));
    const T alpha(2), beta(-1);
    EXPECT_EQ(Call(Typed<T>("gemmi"), SparseHandle(), kM, kColumns, kInner,
                   Count(m), &alpha, da.get(), kLda, m.values().get(),
                   m.major().get(), m.minor().get(), &beta, dc.get(), kLdc),
              kSuccess);
    Synchronize();
    ExpectSame(dc,
               Widened(Stored<T>(Plus(Scaled(2, Times(a, b)), Scaled(-1, c)),
                                 kLdc, kGuard)),
               0, "gemmi");
  });
}

// Ones and twos on the diagonal, so that sums stay exact.
Matrix RandomSystem(Numbers& numbers, int type) {
  Matrix out = RandomSparse(numbers, type, 12, 12);
  for (Complex64& value : out.v) {
    value = {std::clamp(value.real(), -1.0, 1.0),
             std::clamp(value.imag(), -1.0, 1.0)};
  }
  for (long i = 0; i < 12; ++i) out(i, i) = i % 3 == 0 ? 2 : -1;
  return out;
}

int Pivot(const std::string& name, const Info& info, int* position) {
  return Call("cusparseX" + name + "_zeroPivot", SparseHandle(), info.get(),
              position);
}
void ExpectNoPivot(const std::string& name, const Info& info) {
  int position = 7;
  EXPECT_EQ(Pivot(name, info, &position), kSuccess) << name;
  EXPECT_EQ(position, -1) << name;
}

TEST(CusparseLetters, TriangularSystemsOfBlocks) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kWidth = 3;
    for (const Blocks& b : kBlocks) {
      const int mb = 12 / b.side;
      const Matrix a = RandomSystem(numbers, kTypeOf<T>);
      const SparseMatrix m(a, kTypeOf<T>, b.shape(), kInt, b.base);
      for (const int kind : {0, 1, 2, 3}) {
        const int fill = kind % 2, diag = kind / 2;
        const MatDescr descr(b.base, fill, diag);
        for (const int op : kOperations) {
          const Matrix system = Apply(op, Triangle(a, fill, diag));
          Matrix want(12, kWidth), first(12, 1);
          want.v = Integers(numbers, kTypeOf<T>, want.v.size(), 2);
          std::copy_n(want.v.begin(), 12, first.v.begin());
          const T alpha(2);
          {
            const Info info("Bsrsv2Info");
            const Device<T> f(
                Stored<T>(Scaled(0.5, Times(system, first)), 12, 0)),
                x(std::vector<T>(12));
            int bytes = 0;
            EXPECT_EQ(Call(Typed<T>("bsrsv2_bufferSize"), SparseHandle(),
                           b.direction, op, mb, Count(m), descr.get(),
                           m.values().get(), m.major().get(), m.minor().get(),
                           b.side, info.get(), &bytes),
                      kSuccess);
            EXPECT_EQ(Call(Typed<T>("bsrsv2_analysis"), SparseHandle(),
                           b.direction, op, mb, Count(m), descr.get(),
                           m.values().get(), m.major().get(), m.minor().get(),
                           b.side, info.get(), 0, Object{nullptr}),
                      kSuccess);
            ExpectNoPivot("bsrsv2", info);
            EXPECT_EQ(
                Call(Typed<T>("bsrsv2_solve"), SparseHandle(), b.direction, op,
                     mb, Count(m), &alpha, descr.get(), m.values().get(),
                     m.major().get(), m.minor().get(), b.side, info.get(),
                     f.get(), x.get(), 0, Object{nullptr}),
                kSuccess);
            ExpectNoPivot("bsrsv2", info);
            ExpectSame(x, first.v, 64, "bsrsv2");
          }
          for (const int opx : kOperations) {
            if (opx == kC && kIsComplex<T>) continue;
            const Info info("Bsrsm2Info");
            const Matrix right = Scaled(0.5, Times(system, want));
            const Matrix b_stored = Apply(opx, right);
            const Matrix x_stored = Apply(opx, want);
            const int ld = static_cast<int>(b_stored.rows) + 1;
            const Device<T> db(Stored<T>(b_stored, ld, kGuard)),
                dx(Stored<T>(Matrix(b_stored.rows, b_stored.columns), ld,
                             kGuard));
            int bytes = 0;
            EXPECT_EQ(Call(Typed<T>("bsrsm2_bufferSize"), SparseHandle(),
                           b.direction, op, opx, mb, kWidth, Count(m),
                           descr.get(), m.values().get(), m.major().get(),
                           m.minor().get(), b.side, info.get(), &bytes),
                      kSuccess);
            EXPECT_EQ(
                Call(Typed<T>("bsrsm2_analysis"), SparseHandle(), b.direction,
                     op, opx, mb, kWidth, Count(m), descr.get(),
                     m.values().get(), m.major().get(), m.minor().get(), b.side,
                     info.get(), 0, Object{nullptr}),
                kSuccess);
            EXPECT_EQ(Call(Typed<T>("bsrsm2_solve"), SparseHandle(),
                           b.direction, op, opx, mb, kWidth, Count(m), &alpha,
                           descr.get(), m.values().get(), m.major().get(),
                           m.minor().get(), b.side, info.get(), db.get(), ld,
                           dx.get(), ld, 0, Object{nullptr}),
                      kSuccess);
            ExpectNoPivot("bsrsm2", info);
            ExpectSame(dx, Widened(Stored<T>(x_stored, ld, kGuard)), 64,
                       "bsrsm2");
          }
        }
      }
    }
  });
}

// Of CUDA 11.
TEST(CusparseLetters, TriangularSystemsOfElements) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kWidth = 3, kSize = 12;
    const Matrix a = RandomSystem(numbers, kTypeOf<T>);
    const SparseMatrix m(a, kTypeOf<T>, {kCsr}, kInt, 1);
    const MatDescr descr(1, kUpper, kNonUnit);
    const T alpha(2);
    for (const int op : kOperations) {
      const Matrix system = Apply(op, Triangle(a, kUpper, kNonUnit));
      Matrix want(kSize, kWidth), first(kSize, 1);
      want.v = Integers(numbers, kTypeOf<T>, want.v.size(), 2);
      std::copy_n(want.v.begin(), kSize, first.v.begin());
      const Info vector("Csrsv2Info"), matrix("Csrsm2Info");
      const Device<T> f(Stored<T>(Scaled(0.5, Times(system, first)), kSize, 0)),
          x(std::vector<T>(12)),
          b(Stored<T>(Scaled(0.5, Times(system, want)), 13, kGuard));
      int bytes = 0;
      std::size_t wide = 0;
      EXPECT_EQ(Call(Typed<T>("csrsv2_bufferSize"), SparseHandle(), op, kSize,
                     Count(m), descr.get(), m.values().get(), m.major().get(),
                     m.minor().get(), vector.get(), &bytes),
                kSuccess);
      EXPECT_EQ(Call(Typed<T>("csrsv2_analysis"), SparseHandle(), op, kSize,
                     Count(m), descr.get(), m.values().get(), m.major().get(),
                     m.minor().get(), vector.get(), 0, Object{nullptr}),
                kSuccess);
      EXPECT_EQ(Call(Typed<T>("csrsv2_solve"), SparseHandle(), op, kSize,
                     Count(m), &alpha, descr.get(), m.values().get(),
                     m.major().get(), m.minor().get(), vector.get(), f.get(),
                     x.get(), 0, Object{nullptr}),
                kSuccess);
      ExpectNoPivot("csrsv2", vector);
      ExpectSame(x, first.v, 64, "csrsv2");
      EXPECT_EQ(Call(Typed<T>("csrsm2_bufferSizeExt"), SparseHandle(), 0, op,
                     kN, kSize, kWidth, Count(m), &alpha, descr.get(),
                     m.values().get(), m.major().get(), m.minor().get(),
                     b.get(), 13, matrix.get(), 0, &wide),
                kSuccess);
      EXPECT_EQ(Call(Typed<T>("csrsm2_analysis"), SparseHandle(), 0, op, kN,
                     kSize, kWidth, Count(m), &alpha, descr.get(),
                     m.values().get(), m.major().get(), m.minor().get(),
                     b.get(), 13, matrix.get(), 0, Object{nullptr}),
                kSuccess);
      EXPECT_EQ(Call(Typed<T>("csrsm2_solve"), SparseHandle(), 0, op, kN, kSize,
                     kWidth, Count(m), &alpha, descr.get(), m.values().get(),
                     m.major().get(), m.minor().get(), b.get(), 13,
                     matrix.get(), 0, Object{nullptr}),
                kSuccess);
      ExpectNoPivot("csrsm2", matrix);
      ExpectSame(b, Widened(Stored<T>(want, 13, kGuard)), 64, "csrsm2");
    }
  });
}

// A diagonal element that is not there is found by the analysis, one that is
// zero by the solution. Where ones are meant there is no such thing.
TEST(CusparseLetters, ZeroPivots) {
  for (const int base : {0, 1}) {
    Matrix a(6, 6);
    for (long i = 0; i < 6; ++i) a(i, i) = 1;
    a(3, 3) = 0;  // not stored
    a(5, 0) = 2;
    const SparseMatrix m(a, kR64, {kCsr}, kInt, base);
    const SparseMatrix blocks(a, kR64, {kBsr, kByRows, 2, 2}, kInt, base);
    const Device<double> f(std::vector<double>(6, 1)),
        x(std::vector<double>(6));
    const double alpha = 1;
    const MatDescr descr(base), unit(base, kLower, kUnit);
    int position = 0;
    const Info info("Csrsv2Info");
    const auto analyse = [&](Object d) {
      return Call("cusparseDcsrsv2_analysis", SparseHandle(), kN, 6, Count(m),
                  d, m.values().get(), m.major().get(), m.minor().get(),
                  info.get(), 0, Object{nullptr});
    };
    EXPECT_EQ(analyse(descr.get()), kSuccess);
    EXPECT_EQ(Pivot("csrsv2", info, &position), kZeroPivot);
    EXPECT_EQ(position, 3 + base);
    EXPECT_EQ(analyse(unit.get()), kSuccess);
    ExpectNoPivot("csrsv2", info);
    // The second row of blocks has the zero.
    const Info block_info("Bsrsv2Info");
    EXPECT_EQ(Call("cusparseDbsrsv2_solve", SparseHandle(), 0, kN, 3,
                   Count(blocks), &alpha, descr.get(), blocks.values().get(),
                   blocks.major().get(), blocks.minor().get(), 2,
                   block_info.get(), f.get(), x.get(), 0, Object{nullptr}),
              kSuccess);
    EXPECT_EQ(Pivot("bsrsv2", block_info, &position), kZeroPivot);
    EXPECT_EQ(position, 1 + base);
    const Device<int> there({-5});
    EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), 1), kSuccess);
    EXPECT_EQ(Pivot("bsrsv2", block_info, there.get()), kZeroPivot);
    EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), 0), kSuccess);
    EXPECT_EQ(there.Read()[0], 1 + base);
  }
}

// --- incomplete factors
// Gaussian elimination in the elements that the pattern has.
Matrix IncompleteLu(Matrix a, const Matrix& pattern) {
  const auto has = [&](long i, long j) {
    return pattern(i, j) != Complex64(0);
  };
  for (long i = 1; i < a.rows; ++i) {
    for (long k = 0; k < i; ++k) {
      if (!has(i, k)) continue;
      a(i, k) /= a(k, k);
      for (long j = k + 1; j < a.columns; ++j) {
        if (has(i, j)) a(i, j) -= a(i, k) * a(k, j);
      }
    }
  }
  return a;
}
// Of the elements on and below the diagonal; what is above stays.
Matrix IncompleteCholesky(Matrix a, const Matrix& pattern) {
  const auto has = [&](long i, long j) {
    return pattern(i, j) != Complex64(0);
  };
  for (long k = 0; k < a.rows; ++k) {
    a(k, k) = std::sqrt(a(k, k).real());
    for (long i = k + 1; i < a.rows; ++i) {
      if (has(i, k)) a(i, k) /= a(k, k);
    }
    for (long j = k + 1; j < a.rows; ++j) {
      for (long i = j; i < a.rows; ++i) {
        if (has(i, j) && has(i, k) && has(j, k)) {
          a(i, j) -= a(i, k) * std::conj(a(j, k));
        }
      }
    }
  }
  return a;
}
// Symmetric, or Hermitian, with a diagonal that outweighs the rest.
template <typename T>
Matrix Dominant(Numbers& numbers) {
  Matrix a = RandomSparse(numbers, kTypeOf<T>, 12, 12);
  a = Plus(a, Apply(kC, a));
  for (long i = 0; i < 12; ++i) a(i, i) = 100 + i;
  return a;
}
Matrix PatternOf(const SparseMatrix& m) {
  Matrix out(12, 12);
  for (const auto& [i, j] : m.layout().places) out(i, j) = 1;
  return out;
}

TEST(CusparseLetters, FactorsOfElements) {
  ForAll([]<typename T>() {
    Numbers numbers;
    for (const std::string name : {"csrilu02", "csric02"}) {
      for (const int base : {0, 1}) {
        const Matrix a = Dominant<T>(numbers);
        const SparseMatrix m(a, kTypeOf<T>, {kCsr}, kInt, base);
        const MatDescr descr(base);
        const Info info(name == "csric02" ? "Csric02Info" : "Csrilu02Info");
        int bytes = 0;
        EXPECT_EQ(Call(Typed<T>(name + "_bufferSize"), SparseHandle(), 12,
                       Count(m), descr.get(), m.values().get(), m.major().get(),
                       m.minor().get(), info.get(), &bytes),
                  kSuccess);
        for (const std::string& step : {name + "_analysis", name}) {
          EXPECT_EQ(Call(Typed<T>(step), SparseHandle(), 12, Count(m),
                         descr.get(), m.values().get(), m.major().get(),
                         m.minor().get(), info.get(), 0, Object{nullptr}),
                    kSuccess);
          ExpectNoPivot(name, info);
        }
        const Matrix pattern = PatternOf(m);
        const Matrix want = name == "csric02" ? IncompleteCholesky(a, pattern)
                                              : IncompleteLu(a, pattern);
        ExpectNear(Decoded(kTypeOf<T>, m.values().Read()),
                   m.layout().Values(want), 1e-5, name);
      }
    }
  });
}

TEST(CusparseLetters, FactorsOfBlocks) {
  ForAll([]<typename T>() {
    Numbers numbers;
    for (const std::string name : {"bsrilu02", "bsric02"}) {
      for (const Blocks& b : kBlocks) {
        const Matrix a = Dominant<T>(numbers);
        const SparseMatrix m(a, kTypeOf<T>, b.shape(), kInt, b.base);
        const MatDescr descr(b.base);
        const Info info(name == "bsric02" ? "Bsric02Info" : "Bsrilu02Info");
        const int mb = 12 / b.side;
        int bytes = 0;
        EXPECT_EQ(
            Call(Typed<T>(name + "_bufferSize"), SparseHandle(), b.direction,
                 mb, Count(m), descr.get(), m.values().get(), m.major().get(),
                 m.minor().get(), b.side, info.get(), &bytes),
            kSuccess);
        for (const std::string& step : {name + "_analysis", name}) {
          EXPECT_EQ(
              Call(Typed<T>(step), SparseHandle(), b.direction, mb, Count(m),
                   descr.get(), m.values().get(), m.major().get(),
                   m.minor().get(), b.side, info.get(), 0, Object{nullptr}),
              kSuccess);
          ExpectNoPivot(name, info);
        }
        const Matrix pattern = PatternOf(m);
        const Matrix want = name == "bsric02" ? IncompleteCholesky(a, pattern)
                                              : IncompleteLu(a, pattern);
        ExpectNear(Decoded(kTypeOf<T>, m.values().Read()),
                   m.layout().Values(want), 1e-5, name);
      }
    }
  });
}

// A small diagonal element becomes another number, told by the host or the
// device.
TEST(CusparseLetters, BoostedFactors) {
  ForAll([]<typename T>() {
    for (const std::string name : {"csrilu02", "bsrilu02"}) {
      ForPointerModes([&](bool on_device) {
        Matrix a(4, 4);
        for (long i = 0; i < 4; ++i) a(i, i) = 4;
        a(1, 1) = 0.25;
        a(3, 1) = 8;
        const bool blocks = name == "bsrilu02";
        const SparseMatrix m(a, kTypeOf<T>,
                             blocks ? Shape{kBsr, kByRows, 1, 1} : Shape{kCsr});
        const MatDescr descr;
        const Info info(blocks ? "Bsrilu02Info" : "Csrilu02Info");
        Single<double> tolerance(on_device, 0.5);
        Single<T> boost(on_device, T(2));
        EXPECT_EQ(Call(Typed<T>(name + "_numericBoost"), SparseHandle(),
                       info.get(), 1, tolerance.get(), boost.get()),
                  kSuccess);
        if (blocks) {
          EXPECT_EQ(Call(Typed<T>(name), SparseHandle(), 0, 4, Count(m),
                         descr.get(), m.values().get(), m.major().get(),
                         m.minor().get(), 1, info.get(), 0, Object{nullptr}),
                    kSuccess);
        } else {
          EXPECT_EQ(Call(Typed<T>(name), SparseHandle(), 4, Count(m),
                         descr.get(), m.values().get(), m.major().get(),
                         m.minor().get(), info.get(), 0, Object{nullptr}),
                    kSuccess);
        }
        Synchronize();
        a(1, 1) = 2;
        a(3, 1) = 4;
        ExpectEqual(Decoded(kTypeOf<T>, m.values().Read()),
                    m.layout().Values(a), name);
      });
    }
  });
}

TEST(CusparseLetters, FactorsWithoutAPivot) {
  Matrix a(4, 4);
  for (long i = 0; i < 4; ++i) a(i, i) = 1;
  a(0, 1) = a(1, 0) = 1;  // the second pivot becomes zero
  for (const std::string name : {"csrilu02", "csric02"}) {
    const SparseMatrix m(a, kR32, {kCsr}, kInt, 1);
    const MatDescr descr(1);
    const Info info(name == "csric02" ? "Csric02Info" : "Csrilu02Info");
    EXPECT_EQ(Call("cusparseS" + name, SparseHandle(), 4, Count(m), descr.get(),
                   m.values().get(), m.major().get(), m.minor().get(),
                   info.get(), 0, Object{nullptr}),
              kSuccess);
    int position = 0;
    EXPECT_EQ(Pivot(name, info, &position), kZeroPivot);
    EXPECT_EQ(position, 2);
  }
  // Of a symmetric matrix only half would be stored: that is refused.
  const SparseMatrix m(a, kR32);
  const MatDescr descr;
  EXPECT_EQ(Call("cusparseSetMatType", descr.get(), 1), kSuccess);
  const Info info("Csrilu02Info");
  EXPECT_EQ(Call("cusparseScsrilu02", SparseHandle(), 4, Count(m), descr.get(),
                 m.values().get(), m.major().get(), m.minor().get(), info.get(),
                 0, Object{nullptr}),
            kMatrixTypeNotSupported);
}

// --- systems of a few diagonals
// Row i of each has its element i; what lies outside of the matrix is NaN, for
// it is not read.
template <typename T>
struct Diagonals {
  std::vector<std::vector<T>> lines;  // from the lowest
  Matrix full;
  Diagonals(Numbers& numbers, long size, long width)
      : lines(static_cast<std::size_t>(2 * width + 1)), full(size, size) {
    for (long d = -width; d <= width; ++d) {
      auto& line = lines[static_cast<std::size_t>(d + width)];
      for (long i = 0; i < size; ++i) {
        const bool inside = i + d >= 0 && i + d < size;
        // A small diagonal, and none at first: rows must be exchanged.
        const Complex64 value =
            d == 0 ? Complex64(i == 0 ? 0 : 0.25 * (1 + i % 2))
                   : Integers(numbers, kTypeOf<T>, 1, 2)[0] + 3.0;
        line.push_back(To<T>(inside ? value : Complex64(kNan)));
        if (inside) full(i, i + d) = value;
      }
    }
  }
};

TEST(CusparseLetters, ThreeDiagonals) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kSize = 9, kWidth = 4, kLd = 11;
    const Diagonals<T> d(numbers, kSize, 1);
    const Device<T> lower(d.lines[0]), diagonal(d.lines[1]), upper(d.lines[2]);
    Matrix want(kSize, kWidth);
    want.v = Integers(numbers, kTypeOf<T>, want.v.size(), 4);
    for (const std::string name : {"gtsv2", "gtsv2_nopivot"}) {
      const Device<T> b(Stored<T>(Times(d.full, want), kLd, kGuard));
      std::size_t bytes = 0;
      EXPECT_EQ(
          Call(Typed<T>(name + "_bufferSizeExt"), SparseHandle(), kSize, kWidth,
               lower.get(), diagonal.get(), upper.get(), b.get(), kLd, &bytes),
          kSuccess);
      const auto solve = [&](int m, int ld) {
        return Call(Typed<T>(name), SparseHandle(), m, kWidth, lower.get(),
                    diagonal.get(), upper.get(), b.get(), ld, Object{nullptr});
      };
      EXPECT_EQ(solve(kSize, kLd), kSuccess);
      Synchronize();
      ExpectSame(b, Widened(Stored<T>(want, kLd, kGuard)), 512, name);
      EXPECT_EQ(solve(2, kLd), kInvalidValue);
      EXPECT_EQ(solve(kSize, 8), kInvalidValue);
    }
  });
}

TEST(CusparseLetters, BatchesOfDiagonals) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kSize = 7, kCount = 3, kStride = 10;
    for (const int width : {1, 2}) {
      std::vector<Diagonals<T>> systems;
      std::vector<Matrix> wants;
      for (int b = 0; b < kCount; ++b) {
        systems.emplace_back(numbers, kSize, width);
        wants.emplace_back(kSize, 1);
        wants.back().v = Integers(numbers, kTypeOf<T>, kSize, 4);
      }
      for (const bool interleaved : {false, true}) {
        if (width == 2 && !interleaved) continue;
        const auto place = [&](int b, int i) {
          return static_cast<std::size_t>(interleaved ? i * kCount + b
                                                      : b * kStride + i);
        };
        std::vector<Device<T>*> lines;
        std::vector<std::unique_ptr<Device<T>>> held;
        const auto keep = [&](const std::vector<T>& values) {
          held.push_back(std::make_unique<Device<T>>(values));
          return held.back()->get();
        };
        std::vector<T*> diagonals;
        std::vector<T> x(kCount * kStride, T(kGuard)), want = x;
        for (int line = 0; line <= 2 * width; ++line) {
          std::vector<T> all(kCount * kStride, T(kNan));
          for (int b = 0; b < kCount; ++b) {
            for (int i = 0; i < kSize; ++i) {
              all[place(b, i)] = systems[static_cast<std::size_t>(b)]
                                     .lines[static_cast<std::size_t>(line)]
                                           [static_cast<std::size_t>(i)];
            }
          }
          diagonals.push_back(keep(all));
        }
        for (int b = 0; b < kCount; ++b) {
          const auto at = static_cast<std::size_t>(b);
          const Matrix right = Times(systems[at].full, wants[at]);
          for (int i = 0; i < kSize; ++i) {
            x[place(b, i)] = To<T>(right(i, 0));
            want[place(b, i)] = To<T>(wants[at](i, 0));
          }
        }
        T* const dx = keep(x);
        std::size_t bytes = 0;
        if (!interleaved) {
          EXPECT_EQ(Call(Typed<T>("gtsv2StridedBatch_bufferSizeExt"),
                         SparseHandle(), kSize, diagonals[0], diagonals[1],
                         diagonals[2], dx, kCount, kStride, &bytes),
                    kSuccess);
          EXPECT_EQ(Call(Typed<T>("gtsv2StridedBatch"), SparseHandle(), kSize,
                         diagonals[0], diagonals[1], diagonals[2], dx, kCount,
                         kStride, Object{nullptr}),
                    kSuccess);
        } else if (width == 1) {
          EXPECT_EQ(Call(Typed<T>("gtsvInterleavedBatch_bufferSizeExt"),
                         SparseHandle(), 1, kSize, diagonals[0], diagonals[1],
                         diagonals[2], dx, kCount, &bytes),
                    kSuccess);
          const auto solve = [&](int algorithm) {
            return Call(Typed<T>("gtsvInterleavedBatch"), SparseHandle(),
                        algorithm, kSize, diagonals[0], diagonals[1],
                        diagonals[2], dx, kCount, Object{nullptr});
          };
          EXPECT_EQ(solve(1), kSuccess);
          EXPECT_EQ(solve(3), kInvalidValue);
        } else {
          EXPECT_EQ(Call(Typed<T>("gpsvInterleavedBatch_bufferSizeExt"),
                         SparseHandle(), 0, kSize, diagonals[0], diagonals[1],
                         diagonals[2], diagonals[3], diagonals[4], dx, kCount,
                         &bytes),
                    kSuccess);
          const auto solve = [&](int algorithm) {
            return Call(Typed<T>("gpsvInterleavedBatch"), SparseHandle(),
                        algorithm, kSize, diagonals[0], diagonals[1],
                        diagonals[2], diagonals[3], diagonals[4], dx, kCount,
                        Object{nullptr});
          };
          EXPECT_EQ(solve(0), kSuccess);
          EXPECT_EQ(solve(1), kInvalidValue);
        }
        Synchronize();
        ExpectSame(*held.back(), Widened(want), 4096, "diagonals");
        while (!held.empty()) held.pop_back();
      }
    }
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
