// Products of sparse matrices and vectors with dense ones, in every format,
// compared with dense matrices.
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

// For matrices of 12 by 8, or multiples of their blocks.
const std::vector<Shape> kShapes = {
    {kCsr},
    {kCsc},
    {kCoo},
    {kBsr, kByRows, 2, 2},
    {kBsr, kByColumns, 3, 4},
    {kSlicedEll, kByRows, 1, 1, 4},
    {kSlicedEll, kByRows, 1, 1, 5},
};
constexpr int kOperations[] = {kN, kT, kC};

std::vector<Complex64> Column(const Matrix& a) { return a.v; }
Matrix Column(const std::vector<Complex64>& v) {
  Matrix out(static_cast<long>(v.size()), 1);
  out.v = v;
  return out;
}

struct Product {
  Complex64 alpha = 2, beta = -1;
};

void ExpectSpMV(const Matrix& a, const SparseMatrix& matrix, const Types& t,
                int op, const Product& p, const std::string& what) {
  Numbers numbers;
  const Matrix opa = Apply(op, a);
  const auto x = Integers(numbers, t.x, static_cast<std::size_t>(opa.columns));
  const auto y = Integers(numbers, t.y, static_cast<std::size_t>(opa.rows));
  const DenseVector dx(t.x, x), dy(t.y, y);
  const Factor alpha(t.compute, p.alpha), beta(t.compute, p.beta);
  std::size_t bytes = 0;
  EXPECT_EQ(
      Call("cusparseSpMV_bufferSize", SparseHandle(), op, alpha.get(),
           matrix.get(), dx.get(), beta.get(), dy.get(), t.compute, 0, &bytes),
      kSuccess);
  const Device<std::uint8_t> buffer{Bytes(bytes)};
  for (const char* name : {"cusparseSpMV_preprocess", "cusparseSpMV"}) {
    EXPECT_EQ(Call(name, SparseHandle(), op, alpha.get(), matrix.get(),
                   dx.get(), beta.get(), dy.get(), t.compute, 0, buffer.get()),
              kSuccess)
        << what;
  }
  Synchronize();
  ExpectEqual(dy.Read(),
              Rounded(t.y, Column(Plus(Scaled(p.alpha, Times(opa, Column(x))),
                                       Scaled(p.beta, Column(y))))),
              what);
}

TEST(CusparseSpMV, EachFormatOperationAndIndex) {
  Numbers numbers;
  for (const Shape& shape : kShapes) {
    for (const int type : {kR64, kC64}) {
      const Matrix a = RandomSparse(numbers, type, 12, 8);
      for (const int index : {kInt, kLong}) {
        for (const int base : {0, 1}) {
          const SparseMatrix matrix(a, type, shape, index, base);
          for (const int op : kOperations) {
            ExpectSpMV(a, matrix, {type, type, type, type}, op, {},
                       shape.Name() + ", op " + std::to_string(op));
          }
        }
      }
    }
  }
}

TEST(CusparseSpMV, EachType) {
  Numbers numbers;
  for (const Types& t : kTypes) {
    const Matrix a = RandomSparse(numbers, t.a, 9, 13);
    const SparseMatrix matrix(a, t.a);
    for (const int op : kOperations) {
      for (const Product p : {Product{2, -1}, Product{1, 0}, Product{0, 3}}) {
        ExpectSpMV(a, matrix, t, op, p, t.Name());
      }
    }
  }
}

TEST(CusparseSpMV, EdgeSizesAndEmptyRows) {
  for (const auto& [rows, columns] : std::vector<std::pair<long, long>>{
           {1, 1}, {1, 7}, {7, 1}, {3, 3}, {0, 4}, {4, 0}, {130, 67}}) {
    Numbers numbers;
    for (const int full : {0, 1, 4}) {
      const Matrix a = RandomSparse(numbers, kR32, rows, columns, full);
      for (const int format : {kCsr, kCsc, kCoo}) {
        const SparseMatrix matrix(a, kR32, {format});
        ExpectSpMV(a, matrix, {kR32, kR32, kR32, kR32}, kN, {},
                   std::to_string(rows) + " by " + std::to_string(columns));
      }
    }
  }
}

// What is multiplied by zero is not read.
TEST(CusparseSpMV, ZeroFactors) {
  const Matrix a = Apply(kN, [] {
    Matrix m(2, 2);
    m.v = {1, 2, 3, kNan};
    return m;
  }());
  const SparseMatrix matrix(a, kR32);
  const DenseVector x(kR32, {kNan, 1}), y(kR32, {kNan, kNan}), z(kR32, {3, 4});
  const Factor zero(kR32, 0), two(kR32, 2);
  EXPECT_EQ(Call("cusparseSpMV", SparseHandle(), kN, zero.get(), matrix.get(),
                 x.get(), two.get(), z.get(), kR32, 0, Object{nullptr}),
            kSuccess);
  EXPECT_EQ(Call("cusparseSpMV", SparseHandle(), kN, zero.get(), matrix.get(),
                 x.get(), zero.get(), y.get(), kR32, 0, Object{nullptr}),
            kSuccess);
  Synchronize();
  ExpectEqual(z.Read(), {6, 8}, "beta y");
  ExpectEqual(y.Read(), {0, 0}, "nothing");
}

TEST(CusparseSpMV, ScalarsOfTheDevice) {
  Numbers numbers;
  const Matrix a = RandomSparse(numbers, kC64, 6, 5, 2);
  const SparseMatrix matrix(a, kC64);
  const auto x = Integers(numbers, kC64, 5), y = Integers(numbers, kC64, 6);
  const DenseVector dx(kC64, x), dy(kC64, y);
  const Complex64 alpha(1, 2), beta(0, -1);
  const Device<Complex64> scalars({alpha, beta});
  EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), 1), kSuccess);
  EXPECT_EQ(
      Call("cusparseSpMV", SparseHandle(), kN, scalars.get(), matrix.get(),
           dx.get(), scalars.get() + 1, dy.get(), kC64, 0, Object{nullptr}),
      kSuccess);
  EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), 0), kSuccess);
  Synchronize();
  ExpectEqual(
      dy.Read(),
      Plus(Scaled(alpha, Times(a, Column(x))), Scaled(beta, Column(y))).v,
      "device scalars");
}

TEST(CusparseSpMV, Refusals) {
  Numbers numbers;
  const Matrix a = RandomSparse(numbers, kR32, 4, 3, 2);
  const SparseMatrix matrix(a, kR32);
  const SparseMatrix ell(RandomSparse(numbers, kR32, 4, 4, 2), kR32,
                         {kBlockedEll, kByRows, 2, 2});
  const DenseVector x(kR32, std::vector<Complex64>(3)),
      y(kR32, std::vector<Complex64>(4)),
      wrong(kR64, std::vector<Complex64>(4));
  const Factor one(kR32, 1);
  const auto spmv = [&](Handle handle, int op, const void* alpha, Object m,
                        Object from, Object to, int compute) {
    return Call("cusparseSpMV", handle, op, alpha, m, from, one.get(), to,
                compute, 0, Object{nullptr});
  };
  const Handle h = SparseHandle();
  EXPECT_EQ(spmv(nullptr, kN, one.get(), matrix.get(), x.get(), y.get(), kR32),
            kNotInitialized);
  EXPECT_EQ(spmv(h, 5, one.get(), matrix.get(), x.get(), y.get(), kR32),
            kInvalidValue);
  EXPECT_EQ(spmv(h, kN, nullptr, matrix.get(), x.get(), y.get(), kR32),
            kInvalidValue);
  EXPECT_EQ(spmv(h, kN, one.get(), nullptr, x.get(), y.get(), kR32),
            kInvalidValue);
  EXPECT_EQ(spmv(h, kT, one.get(), matrix.get(), x.get(), y.get(), kR32),
            kInvalidValue);
  EXPECT_EQ(spmv(h, kN, one.get(), matrix.get(), x.get(), wrong.get(), kR32),
            kNotSupported);
  EXPECT_EQ(spmv(h, kN, one.get(), matrix.get(), x.get(), y.get(), kR64),
            kNotSupported);
  EXPECT_EQ(spmv(h, kN, one.get(), ell.get(), y.get(), y.get(), kR32),
            kNotSupported);
}

void ExpectSpMM(const Matrix& a, const SparseMatrix& matrix, const Types& t,
                int opa, int opb, int order_b, int order_c, long n,
                const Product& p, const std::string& what) {
  Numbers numbers;
  const Matrix left = Apply(opa, a);
  const Matrix b = opb == kN ? RandomSparse(numbers, t.x, left.columns, n, 3)
                             : RandomSparse(numbers, t.x, n, left.columns, 3);
  const Matrix c = RandomSparse(numbers, t.y, left.rows, n, 3);
  const DenseMatrix db(t.x, b, order_b), dc(t.y, c, order_c);
  const Factor alpha(t.compute, p.alpha), beta(t.compute, p.beta);
  std::size_t bytes = 0;
  EXPECT_EQ(
      Call("cusparseSpMM_bufferSize", SparseHandle(), opa, opb, alpha.get(),
           matrix.get(), db.get(), beta.get(), dc.get(), t.compute, 0, &bytes),
      kSuccess);
  const Device<std::uint8_t> buffer{Bytes(bytes)};
  for (const char* name : {"cusparseSpMM_preprocess", "cusparseSpMM"}) {
    EXPECT_EQ(Call(name, SparseHandle(), opa, opb, alpha.get(), matrix.get(),
                   db.get(), beta.get(), dc.get(), t.compute, 0, buffer.get()),
              kSuccess)
        << what;
  }
  Synchronize();
  ExpectEqual(dc.Read(),
              Rounded(t.y, Plus(Scaled(p.alpha, Times(left, Apply(opb, b))),
                                Scaled(p.beta, c))),
              what);
}

TEST(CusparseSpMM, EachFormatOperationAndOrder) {
  Numbers numbers;
  std::vector<Shape> shapes = kShapes;
  shapes.push_back({kBlockedEll, kByRows, 4, 4});
  for (const Shape& shape : shapes) {
    const Matrix a = RandomSparse(numbers, kC64, 12, 8);
    for (const int base : {0, 1}) {
      const SparseMatrix matrix(a, kC64, shape, base == 0 ? kLong : kInt, base);
      for (const int opa : kOperations) {
        for (const int opb : kOperations) {
          for (const int orders : {0, 1, 2, 3}) {
            ExpectSpMM(a, matrix, {kC64, kC64, kC64, kC64}, opa, opb,
                       1 + orders % 2, 1 + orders / 2, 5, {},
                       shape.Name() + ", ops " + std::to_string(opa) + " " +
                           std::to_string(opb));
          }
        }
      }
    }
  }
}

TEST(CusparseSpMM, EachTypeAndWidth) {
  Numbers numbers;
  for (const Types& t : kTypes) {
    const Matrix a = RandomSparse(numbers, t.a, 7, 11, 2);
    const SparseMatrix matrix(a, t.a);
    for (const long n : {1, 3, 65}) {
      for (const Product p : {Product{2, -1}, Product{1, 0}, Product{0, 1}}) {
        ExpectSpMM(a, matrix, t, kN, kN, kByRows, kByColumns, n, p, t.Name());
      }
    }
  }
  for (const auto& [rows, columns] :
       std::vector<std::pair<long, long>>{{0, 3}, {3, 0}, {1, 1}}) {
    const Matrix a = RandomSparse(numbers, kR32, rows, columns, 4);
    const SparseMatrix matrix(a, kR32);
    for (const long n : {0, 1, 4}) {
      ExpectSpMM(a, matrix, {kR32, kR32, kR32, kR32}, kN, kN, kByColumns,
                 kByRows, n, {}, "edge");
    }
  }
}

// Batches of A, of B, of both; a stride of 0 is the same matrix for all.
TEST(CusparseSpMM, Batches) {
  Numbers numbers;
  constexpr int kCount = 3;
  constexpr std::int64_t kRows = 4, kColumns = 5, kWidth = 2;
  // Each with as many elements: the same structure, turned by a row.
  std::vector<Matrix> a, b, c;
  std::vector<long> offsets, columns, rows;
  std::vector<Complex64> values, bv, cv;
  for (int i = 0; i < kCount; ++i) {
    Matrix one(kRows, kColumns);
    for (long r = 0; r < kRows; ++r) {
      one(r, (r + i) % kColumns) = r + i + 1;
      one((r + 1) % kRows, (r + 2 * i) % kColumns) = 2 * r + 3;
    }
    a.push_back(one);
    b.push_back(RandomSparse(numbers, kR32, kColumns, kWidth, 4));
    c.push_back(RandomSparse(numbers, kR32, kRows, kWidth, 4));
    bv.insert(bv.end(), b[i].v.begin(), b[i].v.end());
    cv.insert(cv.end(), c[i].v.begin(), c[i].v.end());
  }
  for (const int format : {kCsr, kCoo, kBsr}) {
    for (const bool all_a : {false, true}) {
      offsets.clear(), columns.clear(), values.clear();
      std::int64_t nnz = 0;
      for (int i = 0; i < kCount; ++i) {
        const Layout one = LayOut(
            a[format == kBsr ? 0 : static_cast<std::size_t>(i)], {format});
        nnz = std::max<std::int64_t>(nnz, one.nnz);
      }
      std::vector<Matrix> used;
      for (int i = 0; i < kCount; ++i) {
        Matrix m = a[format == kBsr ? 0 : static_cast<std::size_t>(i)];
        if (format == kBsr) m = Scaled(i + 1, m);
        if (!all_a && i > 0) m = used[0];
        used.push_back(m);
        Layout one = LayOut(m, {format});
        std::vector<Complex64> v = one.Values(m);
        // COO may hold the same element twice, as zero.
        while (static_cast<std::int64_t>(one.minor.size()) < nnz) {
          one.minor.push_back(0);
          if (format == kCoo) one.major.push_back(kRows - 1);
          v.push_back(0);
        }
        offsets.insert(offsets.end(), one.major.begin(), one.major.end());
        columns.insert(columns.end(), one.minor.begin(), one.minor.end());
        values.insert(values.end(), v.begin(), v.end());
      }
      const Device<std::uint8_t> da(EncodedIndices(kInt, offsets, 0)),
          dj(EncodedIndices(kInt, columns, 0)), dv(Encoded(kR32, values)),
          db(Encoded(kR32, bv)), dc(Encoded(kR32, cv));
      Object matrix = nullptr;
      const std::int64_t stride = all_a ? nnz : 0,
                         offsets_stride = all_a ? kRows + 1 : 0;
      if (format == kCsr) {
        matrix = Made("cusparseCreateCsr", kRows, kColumns, nnz, da.get(),
                      dj.get(), dv.get(), kInt, kInt, 0, kR32);
        EXPECT_EQ(Call("cusparseCsrSetStridedBatch", matrix, kCount,
                       offsets_stride, stride),
                  kSuccess);
      } else if (format == kCoo) {
        matrix = Made("cusparseCreateCoo", kRows, kColumns, nnz, da.get(),
                      dj.get(), dv.get(), kInt, 0, kR32);
        EXPECT_EQ(Call("cusparseCooSetStridedBatch", matrix, kCount, stride),
                  kSuccess);
      } else {
        const std::int64_t one = 1;
        matrix =
            Made("cusparseCreateBsr", kRows, kColumns, nnz, one, one, da.get(),
                 dj.get(), dv.get(), kInt, kInt, 0, kR32, kByRows);
        EXPECT_EQ(Call("cusparseBsrSetStridedBatch", matrix, kCount,
                       offsets_stride, stride, stride),
                  kSuccess);
      }
      int count = 0;
      EXPECT_EQ(Call("cusparseSpMatGetStridedBatch", matrix, &count), kSuccess);
      EXPECT_EQ(count, kCount);
      const Object mb = Made("cusparseCreateDnMat", kColumns, kWidth, kColumns,
                             db.get(), kR32, kByColumns);
      const Object mc = Made("cusparseCreateDnMat", kRows, kWidth, kRows,
                             dc.get(), kR32, kByColumns);
      EXPECT_EQ(
          Call("cusparseDnMatSetStridedBatch", mb, kCount, kColumns * kWidth),
          kSuccess);
      EXPECT_EQ(
          Call("cusparseDnMatSetStridedBatch", mc, kCount, kRows * kWidth),
          kSuccess);
      std::int64_t got = 0;
      EXPECT_EQ(Call("cusparseDnMatGetStridedBatch", mc, &count, &got),
                kSuccess);
      EXPECT_EQ(got, kRows * kWidth);
      const Factor alpha(kR32, 2), beta(kR32, 1);
      EXPECT_EQ(Call("cusparseSpMM", SparseHandle(), kN, kN, alpha.get(),
                     matrix, mb, beta.get(), mc, kR32, 0, Object{nullptr}),
                kSuccess);
      Synchronize();
      std::vector<Complex64> want;
      for (std::size_t i = 0; i < kCount; ++i) {
        const Matrix one = Plus(Scaled(2, Times(used[i], b[i])), c[i]);
        want.insert(want.end(), one.v.begin(), one.v.end());
      }
      ExpectEqual(Decoded(kR32, dc.Read()), want,
                  "format " + std::to_string(format));
      EXPECT_EQ(Call("cusparseDestroySpMat", matrix), kSuccess);
      EXPECT_EQ(Call("cusparseDestroyDnMat", mb), kSuccess);
      EXPECT_EQ(Call("cusparseDestroyDnMat", mc), kSuccess);
    }
  }
}

// Of CUDA 11, under the names of then.
TEST(CusparseOld, CsrmvExAndConstrainedGeMM) {
  Numbers numbers;
  const Matrix a = RandomSparse(numbers, kR16, 5, 7, 2);
  const SparseMatrix m(a, kR16, {kCsr}, kInt, 1);
  const auto x = Integers(numbers, kR16, 5), y = Integers(numbers, kR32, 7);
  const Device<std::uint8_t> dx(Encoded(kR16, x)), dy(Encoded(kR32, y));
  const Object descr = Made("cusparseCreateMatDescr");
  EXPECT_EQ(Call("cusparseSetMatIndexBase", descr, 1), kSuccess);
  const Factor alpha(kR32, 2), beta(kR32, -1);
  const auto csrmv = [&](const char* name, void* last) {
    return Call(name, SparseHandle(), 0, kT, 5, 7,
                static_cast<int>(m.layout().nnz), alpha.get(), kR32, descr,
                m.values().get(), kR16, m.major().get(), m.minor().get(),
                dx.get(), kR16, beta.get(), kR32, dy.get(), kR32, kR32, last);
  };
  std::size_t bytes = 0;
  EXPECT_EQ(csrmv("cusparseCsrmvEx_bufferSize", &bytes), kSuccess);
  EXPECT_EQ(csrmv("cusparseCsrmvEx", nullptr), kSuccess);
  Synchronize();
  ExpectEqual(
      Decoded(kR32, dy.Read()),
      Plus(Scaled(2, Times(Apply(kT, a), Column(x))), Scaled(-1, Column(y))).v,
      "csrmvEx");
  EXPECT_EQ(Call("cusparseDestroyMatDescr", descr), kSuccess);

  const Matrix left = RandomSparse(numbers, kR32, 5, 3, 3),
               right = RandomSparse(numbers, kR32, 3, 7, 3);
  const SparseMatrix c(a, kR32);
  const DenseMatrix dl(kR32, left), dr(kR32, right);
  const auto constrained = [&](const char* name, void* last) {
    return Call(name, SparseHandle(), kN, kN, alpha.get(), dl.get(), dr.get(),
                beta.get(), c.get(), kR32, last);
  };
  EXPECT_EQ(constrained("cusparseConstrainedGeMM_bufferSize", &bytes),
            kSuccess);
  EXPECT_EQ(constrained("cusparseConstrainedGeMM", nullptr), kSuccess);
  Synchronize();
  ExpectEqual(
      Decoded(kR32, c.values().Read()),
      c.layout().Values(Plus(Scaled(2, Times(left, right)), Scaled(-1, a))),
      "ConstrainedGeMM");
}

TEST(CusparseSDDMM, EachTypeOrderAndOperation) {
  Numbers numbers;
  for (const Types& t : kTypes) {
    for (const Shape& shape : {Shape{kCsr}, Shape{kBsr, kByRows, 2, 3}}) {
      const Matrix c = RandomSparse(numbers, t.y, 8, 9);
      const SparseMatrix matrix(c, t.y, shape, kInt, 1);
      for (const int orders : {0, 1, 2, 3}) {
        for (const int ops : {0, 1, 2, 3, 8}) {
          const int opa = ops % 3, opb = ops / 3;
          if (t.a != t.x) continue;
          const Matrix a =
              Apply(opa == kN ? kN : kT, RandomSparse(numbers, t.a, 8, 5, 3));
          const Matrix b =
              Apply(opb == kN ? kN : kT, RandomSparse(numbers, t.x, 5, 9, 3));
          const DenseMatrix da(t.a, a, 1 + orders % 2);
          const DenseMatrix db(t.x, b, 1 + orders / 2);
          Upload(matrix.values().get(),
                 Encoded(t.y, matrix.layout().Values(c)).data(),
                 matrix.layout().places.size() * SizeOf(t.y));
          const Factor alpha(t.compute, 2), beta(t.compute, -1);
          std::size_t bytes = 0;
          EXPECT_EQ(Call("cusparseSDDMM_bufferSize", SparseHandle(), opa, opb,
                         alpha.get(), da.get(), db.get(), beta.get(),
                         matrix.get(), t.compute, 0, &bytes),
                    kSuccess);
          for (const char* name :
               {"cusparseSDDMM_preprocess", "cusparseSDDMM"}) {
            EXPECT_EQ(Call(name, SparseHandle(), opa, opb, alpha.get(),
                           da.get(), db.get(), beta.get(), matrix.get(),
                           t.compute, 0, Object{nullptr}),
                      kSuccess)
                << t.Name();
          }
          Synchronize();
          const Matrix want = Plus(
              Scaled(2, Times(Apply(opa, a), Apply(opb, b))), Scaled(-1, c));
          ExpectEqual(Decoded(t.y, matrix.values().Read()),
                      Rounded(t.y, matrix.layout().Values(want)),
                      t.Name() + " " + shape.Name());
        }
      }
    }
  }
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
