// Conversions of the functions with a letter for their type.
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

int Count(const SparseMatrix& m) { return static_cast<int>(m.layout().nnz); }

// Arrays for a result of so many elements or blocks.
template <typename T>
struct Arrays {
  Device<int> offsets, indices;
  Device<T> values;
  Arrays(long lines, int nnz, long size = 1)
      : offsets(std::vector<int>(static_cast<std::size_t>(lines) + 1, 99)),
        indices(std::vector<int>(static_cast<std::size_t>(nnz))),
        values(std::vector<T>(static_cast<std::size_t>(nnz * size))) {}
  // Fails if the offsets do not end at all elements.
  Matrix Read(const Shape& shape, long rows, long columns, int base) const {
    const auto wide = [&](const Device<int>& from) {
      std::vector<long> out;
      for (const int index : from.Read()) out.push_back(index - base);
      return out;
    };
    const auto major = wide(offsets), minor = wide(indices);
    EXPECT_EQ(major.front(), 0);
    EXPECT_EQ(major.back(), static_cast<long>(minor.size()));
    return Assembled(shape, rows, columns, major, minor,
                     Widened(values.Read()));
  }
};

TEST(CusparseOrders, OffsetsAndRows) {
  for (const int base : {0, 1}) {
    const std::vector<long> rows = {0, 0, 2, 2, 2, 5};
    const Device<std::uint8_t> there(EncodedIndices(kInt, rows, base));
    const Device<int> offsets(std::vector<int>(8, 9)),
        back(std::vector<int>(6, 9));
    EXPECT_EQ(Call("cusparseXcoo2csr", SparseHandle(), there.get(), 6, 7,
                   offsets.get(), base),
              kSuccess);
    EXPECT_EQ(Call("cusparseXcsr2coo", SparseHandle(), offsets.get(), 6, 7,
                   back.get(), base),
              kSuccess);
    Synchronize();
    std::vector<int> want = {0, 2, 2, 5, 5, 5, 6, 6};
    for (int& offset : want) offset += base;
    EXPECT_EQ(offsets.Read(), want);
    const auto got = back.Read();
    EXPECT_EQ(std::vector<long>(got.begin(), got.end()),
              DecodedIndices(kInt, there.Read(), 0));
  }
  EXPECT_EQ(Call("cusparseXcoo2csr", SparseHandle(), Object{nullptr}, -1, 7,
                 Object{nullptr}, 0),
            kInvalidValue);
  // None at all.
  const Device<int> offsets({5});
  EXPECT_EQ(Call("cusparseXcoo2csr", SparseHandle(), Object{nullptr}, 0, 0,
                 offsets.get(), 1),
            kSuccess);
  Synchronize();
  EXPECT_EQ(offsets.Read(), std::vector<int>{1});
}

TEST(CusparseOrders, SortedWithAPermutation) {
  const std::vector<int> rows = {3, 0, 2, 0, 3, 1},
                         columns = {1, 2, 0, 0, 0, 1};
  for (const bool by_row : {true, false}) {
    const Device<int> r(rows), c(columns), p(std::vector<int>(6, 9));
    std::size_t bytes = 0;
    EXPECT_EQ(Call("cusparseXcoosort_bufferSizeExt", SparseHandle(), 4, 3, 6,
                   r.get(), c.get(), &bytes),
              kSuccess);
    EXPECT_EQ(
        Call("cusparseCreateIdentityPermutation", SparseHandle(), 6, p.get()),
        kSuccess);
    EXPECT_EQ(
        Call(by_row ? "cusparseXcoosortByRow" : "cusparseXcoosortByColumn",
             SparseHandle(), 4, 3, 6, r.get(), c.get(), p.get(),
             Object{nullptr}),
        kSuccess);
    Synchronize();
    EXPECT_EQ(p.Read(), by_row ? (std::vector<int>{3, 1, 5, 2, 4, 0})
                               : (std::vector<int>{3, 2, 4, 5, 0, 1}));
    const auto sorted_rows = r.Read(), sorted_columns = c.Read(),
               permutation = p.Read();
    for (std::size_t i = 0; i < 6; ++i) {
      const auto from = static_cast<std::size_t>(permutation[i]);
      EXPECT_EQ(sorted_rows[i], rows[from]);
      EXPECT_EQ(sorted_columns[i], columns[from]);
    }
  }
  for (const std::string name : {"csr", "csc"}) {
    for (const bool permutes : {true, false}) {
      const MatDescr descr(1);
      const Device<int> offsets({1, 4, 4, 6}), indices({3, 1, 2, 3, 1}),
          p({0, 1, 2, 3, 4});
      std::size_t bytes = 0;
      EXPECT_EQ(Call("cusparseX" + name + "sort_bufferSizeExt", SparseHandle(),
                     3, 3, 5, offsets.get(), indices.get(), &bytes),
                kSuccess);
      EXPECT_EQ(Call("cusparseX" + name + "sort", SparseHandle(), 3, 3, 5,
                     descr.get(), offsets.get(), indices.get(),
                     permutes ? p.get() : nullptr, Object{nullptr}),
                kSuccess);
      Synchronize();
      EXPECT_EQ(indices.Read(), (std::vector<int>{1, 2, 3, 1, 3}));
      EXPECT_EQ(p.Read(), permutes ? (std::vector<int>{1, 2, 0, 4, 3})
                                   : (std::vector<int>{0, 1, 2, 3, 4}));
    }
  }
}

TEST(CusparseOrders, Csru2csrAndBack) {
  ForAll([]<typename T>() {
    const std::vector<int> columns = {3, 1, 2, 3, 1};
    const std::vector<T> values = {T(1), T(2), T(3), T(4), T(5)};
    const MatDescr descr(1);
    const Info info("Csru2csrInfo");
    const Device<int> offsets({1, 4, 4, 6}), dc(columns);
    const Device<T> dv(values);
    std::size_t bytes = 0;
    EXPECT_EQ(Call(Typed<T>("csru2csr_bufferSizeExt"), SparseHandle(), 3, 3, 5,
                   dv.get(), offsets.get(), dc.get(), info.get(), &bytes),
              kSuccess);
    EXPECT_EQ(
        Call(Typed<T>("csru2csr"), SparseHandle(), 3, 3, 5, descr.get(),
             dv.get(), offsets.get(), dc.get(), info.get(), Object{nullptr}),
        kSuccess);
    Synchronize();
    EXPECT_EQ(dc.Read(), (std::vector<int>{1, 2, 3, 1, 3}));
    EXPECT_EQ(dv.Read(), (std::vector<T>{T(2), T(3), T(1), T(5), T(4)}));
    EXPECT_EQ(
        Call(Typed<T>("csr2csru"), SparseHandle(), 3, 3, 5, descr.get(),
             dv.get(), offsets.get(), dc.get(), info.get(), Object{nullptr}),
        kSuccess);
    Synchronize();
    EXPECT_EQ(dc.Read(), columns);
    EXPECT_EQ(dv.Read(), values);
  });
}

// 10 by 13: their last blocks are not full.
TEST(CusparseBlocks, FromElementsAndBack) {
  ForAll([]<typename T>() {
    Numbers numbers;
    for (const auto& [br, bc, direction] :
         {std::tuple(1, 1, 0), {2, 2, 1}, {3, 3, 0}, {2, 3, 0}, {4, 1, 1}}) {
      ForPointerModes([&, br = br, bc = bc,
                       direction = direction](bool on_device) {
        constexpr int kRows = 10, kColumns = 13;
        const Matrix a = RandomSparse(numbers, kTypeOf<T>, kRows, kColumns);
        const SparseMatrix m(a, kTypeOf<T>, {kCsr}, kInt, 1);
        const MatDescr one(1), zero(0);
        const int mb = (kRows + br - 1) / br, nb = (kColumns + bc - 1) / bc;
        const Shape shape{kBsr, direction == 0 ? kByRows : kByColumns, br, bc};
        const Device<int> offsets(
            std::vector<int>(static_cast<std::size_t>(mb) + 1));
        Single<int> nnz(on_device, -1);
        int bytes = 0;
        const bool square = br == bc;
        EXPECT_EQ(Call(Typed<T>("csr2gebsr_bufferSize"), SparseHandle(),
                       direction, kRows, kColumns, one.get(), m.values().get(),
                       m.major().get(), m.minor().get(), br, bc, &bytes),
                  kSuccess);
        EXPECT_EQ(
            Call("cusparseXcsr2gebsrNnz", SparseHandle(), direction, kRows,
                 kColumns, one.get(), m.major().get(), m.minor().get(),
                 zero.get(), offsets.get(), br, bc, nnz.get(), Object{nullptr}),
            kSuccess);
        Synchronize();
        const int blocks = nnz.Read();
        if (square) {
          Single<int> again(on_device, -1);
          EXPECT_EQ(
              Call("cusparseXcsr2bsrNnz", SparseHandle(), direction, kRows,
                   kColumns, one.get(), m.major().get(), m.minor().get(), br,
                   zero.get(), offsets.get(), again.get()),
              kSuccess);
          Synchronize();
          EXPECT_EQ(again.Read(), blocks);
        }
        Arrays<T> bsr(mb, blocks, br * bc);
        const auto counted = offsets.Read();
        Upload(bsr.offsets.get(), counted.data(), counted.size() * sizeof(int));
        EXPECT_EQ(
            Call(Typed<T>("csr2gebsr"), SparseHandle(), direction, kRows,
                 kColumns, one.get(), m.values().get(), m.major().get(),
                 m.minor().get(), zero.get(), bsr.values.get(),
                 bsr.offsets.get(), bsr.indices.get(), br, bc, Object{nullptr}),
            kSuccess);
        Synchronize();
        ExpectEqual(bsr.Read(shape, kRows, kColumns, 0), a, "csr2gebsr");
        if (square) {
          EXPECT_EQ(Call(Typed<T>("csr2bsr"), SparseHandle(), direction, kRows,
                         kColumns, one.get(), m.values().get(), m.major().get(),
                         m.minor().get(), br, zero.get(), bsr.values.get(),
                         bsr.offsets.get(), bsr.indices.get()),
                    kSuccess);
          Synchronize();
          ExpectEqual(bsr.Read(shape, kRows, kColumns, 0), a, "csr2bsr");
        }
        // Every element of a block comes back.
        const Arrays<T> csr(mb * br, blocks * br * bc);
        for (const bool generic : {true, false}) {
          if (!generic && !square) continue;
          EXPECT_EQ(
              generic
                  ? Call(Typed<T>("gebsr2csr"), SparseHandle(), direction, mb,
                         nb, zero.get(), bsr.values.get(), bsr.offsets.get(),
                         bsr.indices.get(), br, bc, one.get(), csr.values.get(),
                         csr.offsets.get(), csr.indices.get())
                  : Call(Typed<T>("bsr2csr"), SparseHandle(), direction, mb, nb,
                         zero.get(), bsr.values.get(), bsr.offsets.get(),
                         bsr.indices.get(), br, one.get(), csr.values.get(),
                         csr.offsets.get(), csr.indices.get()),
              kSuccess);
          Synchronize();
          ExpectEqual(csr.Read({kCsr}, kRows, kColumns, 1), a, "bsr2csr");
        }
      });
    }
  });
}

TEST(CusparseBlocks, OfOtherSizesAndTransposed) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kMb = 4, kNb = 3;
    for (const int direction : {0, 1}) {
      const int order = direction == 0 ? kByRows : kByColumns;
      const Shape from{kBsr, order, 2, 4}, to{kBsr, order, 3, 2};
      const Matrix a = RandomSparse(numbers, kTypeOf<T>, 8, 12);
      const SparseMatrix m(a, kTypeOf<T>, from, kInt, 1);
      const MatDescr one(1), zero(0);
      int bytes = 0, nnz = -1;
      EXPECT_EQ(Call(Typed<T>("gebsr2gebsr_bufferSize"), SparseHandle(),
                     direction, kMb, kNb, Count(m), one.get(), m.values().get(),
                     m.major().get(), m.minor().get(), 2, 4, 3, 2, &bytes),
                kSuccess);
      const Device<int> offsets(std::vector<int>(4));
      EXPECT_EQ(
          Call("cusparseXgebsr2gebsrNnz", SparseHandle(), direction, kMb, kNb,
               Count(m), one.get(), m.major().get(), m.minor().get(), 2, 4,
               zero.get(), offsets.get(), 3, 2, &nnz, Object{nullptr}),
          kSuccess);
      Arrays<T> blocks(3, nnz, 6);
      const auto counted = offsets.Read();
      Upload(blocks.offsets.get(), counted.data(),
             counted.size() * sizeof(int));
      EXPECT_EQ(Call(Typed<T>("gebsr2gebsr"), SparseHandle(), direction, kMb,
                     kNb, Count(m), one.get(), m.values().get(),
                     m.major().get(), m.minor().get(), 2, 4, zero.get(),
                     blocks.values.get(), blocks.offsets.get(),
                     blocks.indices.get(), 3, 2, Object{nullptr}),
                kSuccess);
      Synchronize();
      ExpectEqual(blocks.Read(to, 8, 12, 0), a, "gebsr2gebsr");

      // By columns of blocks; what is in a block stays as it is.
      const Arrays<T> bsc(kNb, Count(m), 8);
      EXPECT_EQ(Call(Typed<T>("gebsr2gebsc_bufferSize"), SparseHandle(), kMb,
                     kNb, Count(m), m.values().get(), m.major().get(),
                     m.minor().get(), 2, 4, &bytes),
                kSuccess);
      EXPECT_EQ(Call(Typed<T>("gebsr2gebsc"), SparseHandle(), kMb, kNb,
                     Count(m), m.values().get(), m.major().get(),
                     m.minor().get(), 2, 4, bsc.values.get(), bsc.indices.get(),
                     bsc.offsets.get(), 1, 1, Object{nullptr}),
                kSuccess);
      Synchronize();
      Shape turned = from;
      turned.format = kCsc;
      ExpectEqual(bsc.Read(turned, 8, 12, 1), a, "gebsr2gebsc");
    }
  });
}

TEST(CusparseDense, CountsAndConversions) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kM = 6, kN = 8, kLd = 7;
    const Matrix a = RandomSparse(numbers, kTypeOf<T>, kM, kN);
    const Device<T> dense(Stored<T>(a, kLd, kNan));
    const MatDescr descr(1);
    ForPointerModes([&](bool on_device) {
      for (const bool by_columns : {false, true}) {
        const Layout layout = LayOut(a, {by_columns ? kCsc : kCsr});
        const int lines = by_columns ? kN : kM;
        const Device<int> counts(std::vector<int>(lines, -1));
        Single<int> total(on_device, -1);
        EXPECT_EQ(
            Call(Typed<T>("nnz"), SparseHandle(), by_columns ? 1 : 0, kM, kN,
                 descr.get(), dense.get(), kLd, counts.get(), total.get()),
            kSuccess);
        Synchronize();
        const int nnz = total.Read();
        EXPECT_EQ(nnz, layout.nnz);
        const auto got = counts.Read();
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_EQ(got[i], layout.major[i + 1] - layout.major[i]);
        }
        // Of CUDA 11.
        const Arrays<T> sparse(lines, nnz);
        int *const first =
                       by_columns ? sparse.indices.get() : sparse.offsets.get(),
                   *const second =
                       by_columns ? sparse.offsets.get() : sparse.indices.get();
        EXPECT_EQ(Call(Typed<T>(by_columns ? "dense2csc" : "dense2csr"),
                       SparseHandle(), kM, kN, descr.get(), dense.get(), kLd,
                       counts.get(), sparse.values.get(), first, second),
                  kSuccess);
        Synchronize();
        ExpectEqual(sparse.Read({by_columns ? kCsc : kCsr}, kM, kN, 1), a,
                    "dense2csr");
        const Device<T> back(std::vector<T>(kLd * kN, T(kGuard)));
        EXPECT_EQ(Call(Typed<T>(by_columns ? "csc2dense" : "csr2dense"),
                       SparseHandle(), kM, kN, descr.get(), sparse.values.get(),
                       first, second, back.get(), kLd),
                  kSuccess);
        Synchronize();
        ExpectSame(back, Widened(Stored<T>(a, kLd, kGuard)), 0, "csr2dense");
      }
    });
  });
}

// --- pruning
double Magnitude(const Matrix& a, long i, long j) { return std::abs(a(i, j)); }
Matrix Kept(const Matrix& a, double limit) {
  Matrix out = a;
  for (Complex64& value : out.v) {
    if (!(std::abs(value) > limit)) value = 0;
  }
  return out;
}

// Elements as bytes: of f16, too.
void ExpectPruned(int type, char letter) {
  Numbers numbers;
  constexpr int kM = 5, kN = 6, kLd = 7;
  Matrix a = RandomSparse(numbers, type, kM, kN, 3);
  // Of different magnitudes, so that each share has another limit.
  for (std::size_t i = 0; i < a.v.size(); ++i) {
    if (a.v[i] != Complex64(0)) {
      a.v[i] = (i % 2 == 0 ? 1 : -1) * static_cast<double>(1 + i * 7 % 31);
    }
  }
  const SparseMatrix m(a, type, {kCsr}, kInt, 1);
  const int nnz_a = static_cast<int>(m.layout().nnz);
  const MatDescr from(1), to(0);
  const Device<std::uint8_t> dense(
      Encoded(type, Widened(Stored<Complex64>(a, kLd, 0))));
  // The magnitudes of all elements that there are, in order.
  std::vector<double> all, stored;
  for (long j = 0; j < kN; ++j) {
    for (long i = 0; i < kM; ++i) {
      all.push_back(Magnitude(a, i, j));
      if (all.back() != 0) stored.push_back(all.back());
    }
  }
  std::sort(all.begin(), all.end());
  std::sort(stored.begin(), stored.end());
  for (const bool of_dense : {true, false}) {
    for (const bool by_share : {true, false}) {
      for (const double amount : {3.0, 40.0, 75.0, 0.0, 100.0}) {
        const auto& sorted = of_dense ? all : stored;
        const double place = std::clamp(
            std::ceil(static_cast<double>(sorted.size()) * amount / 100) - 1,
            0.0, static_cast<double>(sorted.size()) - 1);
        const Matrix want = Kept(
            a, by_share ? sorted[static_cast<std::size_t>(place)] : amount);
        const Info info("PruneInfo");
        const Bytes threshold = Encoded(type, {amount});
        const auto share = static_cast<float>(amount);
        const std::string base = std::string("cusparse") + letter + "prune" +
                                 (of_dense ? "Dense2csr" : "Csr2csr");
        const std::string end = by_share ? "ByPercentage" : "";
        // What a matrix, its limit and the state are for a function.
        const auto call = [&](const std::string& name, auto... rest) {
          void *const none = nullptr, *const state = info.get();
          if (of_dense && by_share) {
            return Call(name, SparseHandle(), kM, kN, dense.get(), kLd, share,
                        to.get(), rest..., state, none);
          }
          if (of_dense) {
            return Call(name, SparseHandle(), kM, kN, dense.get(), kLd,
                        threshold.data(), to.get(), rest..., none);
          }
          if (by_share) {
            return Call(name, SparseHandle(), kM, kN, nnz_a, from.get(),
                        m.values().get(), m.major().get(), m.minor().get(),
                        share, to.get(), rest..., state, none);
          }
          return Call(name, SparseHandle(), kM, kN, nnz_a, from.get(),
                      m.values().get(), m.major().get(), m.minor().get(),
                      threshold.data(), to.get(), rest..., none);
        };
        const Device<int> offsets(std::vector<int>(kM + 1));
        std::size_t bytes = 0;
        void* const none = nullptr;
        if (of_dense && by_share) {
          EXPECT_EQ(Call(base + end + "_bufferSizeExt", SparseHandle(), kM, kN,
                         dense.get(), kLd, share, to.get(), none, offsets.get(),
                         none, info.get(), &bytes),
                    kSuccess);
        } else if (of_dense) {
          EXPECT_EQ(Call(base + end + "_bufferSizeExt", SparseHandle(), kM, kN,
                         dense.get(), kLd, threshold.data(), to.get(), none,
                         offsets.get(), none, &bytes),
                    kSuccess);
        } else if (by_share) {
          EXPECT_EQ(Call(base + end + "_bufferSizeExt", SparseHandle(), kM, kN,
                         nnz_a, from.get(), m.values().get(), m.major().get(),
                         m.minor().get(), share, to.get(), none, offsets.get(),
                         none, info.get(), &bytes),
                    kSuccess);
        } else {
          EXPECT_EQ(Call(base + end + "_bufferSizeExt", SparseHandle(), kM, kN,
                         nnz_a, from.get(), m.values().get(), m.major().get(),
                         m.minor().get(), threshold.data(), to.get(), none,
                         offsets.get(), none, &bytes),
                    kSuccess);
        }
        int nnz = -1;
        EXPECT_EQ(call(base + "Nnz" + end, offsets.get(), &nnz), kSuccess);
        const Layout layout = LayOut(want, {kCsr});
        ASSERT_EQ(nnz, layout.nnz) << base << end << " " << amount;
        const Device<std::uint8_t> columns(
            Bytes(static_cast<std::size_t>(nnz) * 4)),
            values(Bytes(static_cast<std::size_t>(nnz) * SizeOf(type)));
        EXPECT_EQ(call(base + end, values.get(), offsets.get(), columns.get()),
                  kSuccess);
        Synchronize();
        EXPECT_EQ(DecodedIndices(kInt, columns.Read(), 0), layout.minor);
        ExpectEqual(Decoded(type, values.Read()), layout.Values(want),
                    base + end);
      }
    }
  }
}
TEST(CusparsePrune, ByThresholdAndByShare) {
  ExpectPruned(kR16, 'H');
  ExpectPruned(kR32, 'S');
  ExpectPruned(kR64, 'D');
}

TEST(CusparsePrune, ByTolerance) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kM = 5, kN = 6;
    const Matrix a = RandomSparse(numbers, kTypeOf<T>, kM, kN, 3);
    const Matrix want = Kept(a, 5);
    const SparseMatrix m(a, kTypeOf<T>, {kCsr}, kInt, 1);
    const MatDescr descr(1);
    ForPointerModes([&](bool on_device) {
      const Device<int> counts(std::vector<int>(kM, -1));
      Single<int> nnz(on_device, -1);
      EXPECT_EQ(Call(Typed<T>("nnz_compress"), SparseHandle(), kM, descr.get(),
                     m.values().get(), m.major().get(), counts.get(), nnz.get(),
                     T(5)),
                kSuccess);
      Synchronize();
      const Layout layout = LayOut(want, {kCsr});
      ASSERT_EQ(nnz.Read(), layout.nnz);
      const Arrays<T> out(kM, nnz.Read());
      EXPECT_EQ(Call(Typed<T>("csr2csr_compress"), SparseHandle(), kM, kN,
                     descr.get(), m.values().get(), m.minor().get(),
                     m.major().get(), Count(m), counts.get(), out.values.get(),
                     out.indices.get(), out.offsets.get(), T(5)),
                kSuccess);
      Synchronize();
      ExpectEqual(out.Read({kCsr}, kM, kN, 1), want, "compress");
      EXPECT_EQ(Call(Typed<T>("nnz_compress"), SparseHandle(), kM, descr.get(),
                     m.values().get(), m.major().get(), counts.get(), nnz.get(),
                     T(-1)),
                kInvalidValue);
    });
  });
}

// --- of CUDA 11: C := alpha A B + beta D
TEST(CusparseOld, Csrgemm2) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kM = 5, kInner = 7, kN = 6;
    const Matrix a = RandomSparse(numbers, kTypeOf<T>, kM, kInner);
    const Matrix b = RandomSparse(numbers, kTypeOf<T>, kInner, kN);
    const Matrix d = RandomSparse(numbers, kTypeOf<T>, kM, kN);
    const SparseMatrix ma(a, kTypeOf<T>, {kCsr}, kInt, 1), mb(b, kTypeOf<T>),
        md(d, kTypeOf<T>);
    const MatDescr one(1), zero(0);
    const T two(2), minus(-1);
    for (const int terms : {1, 2, 3}) {
      const T* alpha = terms & 1 ? &two : nullptr;
      const T* beta = terms & 2 ? &minus : nullptr;
      const Info info("Csrgemm2Info");
      std::size_t bytes = 0;
      EXPECT_EQ(Call(Typed<T>("csrgemm2_bufferSizeExt"), SparseHandle(), kM, kN,
                     kInner, alpha, one.get(), Count(ma), ma.major().get(),
                     ma.minor().get(), zero.get(), Count(mb), mb.major().get(),
                     mb.minor().get(), beta, zero.get(), Count(md),
                     md.major().get(), md.minor().get(), info.get(), &bytes),
                kSuccess);
      const Device<int> offsets(std::vector<int>(kM + 1));
      int nnz = -1;
      EXPECT_EQ(
          Call("cusparseXcsrgemm2Nnz", SparseHandle(), kM, kN, kInner,
               one.get(), Count(ma), ma.major().get(), ma.minor().get(),
               zero.get(), Count(mb), mb.major().get(), mb.minor().get(),
               zero.get(), Count(md), md.major().get(), md.minor().get(),
               one.get(), offsets.get(), &nnz, info.get(), Object{nullptr}),
          kSuccess);
      Arrays<T> c(kM, nnz);
      const auto counted = offsets.Read();
      Upload(c.offsets.get(), counted.data(), counted.size() * sizeof(int));
      EXPECT_EQ(
          Call(Typed<T>("csrgemm2"), SparseHandle(), kM, kN, kInner, alpha,
               one.get(), Count(ma), ma.values().get(), ma.major().get(),
               ma.minor().get(), zero.get(), Count(mb), mb.values().get(),
               mb.major().get(), mb.minor().get(), beta, zero.get(), Count(md),
               md.values().get(), md.major().get(), md.minor().get(), one.get(),
               c.values.get(), c.offsets.get(), c.indices.get(), info.get(),
               Object{nullptr}),
          kSuccess);
      Synchronize();
      ExpectEqual(c.Read({kCsr}, kM, kN, 1),
                  Plus(Scaled(alpha != nullptr ? 2 : 0, Times(a, b)),
                       Scaled(beta != nullptr ? -1 : 0, d)),
                  "csrgemm2");
    }
  });
}

// Neighbours have different colors; the order goes by colors.
TEST(CusparseColor, Neighbours) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kSize = 20;
    const Matrix a = RandomSparse(numbers, kTypeOf<T>, kSize, kSize);
    const SparseMatrix m(a, kTypeOf<T>, {kCsr}, kInt, 1);
    const MatDescr descr(1);
    const Info info("ColorInfo");
    for (const double fraction : {1.0, 0.5}) {
      const auto share = static_cast<Real<T>>(fraction);
      const Device<int> coloring(std::vector<int>(kSize, -1)),
          order(std::vector<int>(kSize, -1));
      int colors = -1;
      EXPECT_EQ(
          Call(Typed<T>("csrcolor"), SparseHandle(), kSize, Count(m),
               descr.get(), m.values().get(), m.major().get(), m.minor().get(),
               &share, &colors, coloring.get(), order.get(), info.get()),
          kSuccess);
      Synchronize();
      const auto color = coloring.Read(), place = order.Read();
      std::set<int> used(color.begin(), color.end()),
          places(place.begin(), place.end());
      EXPECT_EQ(static_cast<int>(used.size()), colors);
      EXPECT_EQ(*used.begin(), 0);
      EXPECT_EQ(places.size(), static_cast<std::size_t>(kSize));
      for (long i = 0; i < kSize; ++i) {
        for (long j = 0; j < kSize; ++j) {
          const auto ci = color[static_cast<std::size_t>(i)],
                     cj = color[static_cast<std::size_t>(j)];
          if (i != j && a(i, j) != Complex64(0)) EXPECT_NE(ci, cj);
          if (ci < cj) {
            EXPECT_LT(place[static_cast<std::size_t>(i)],
                      place[static_cast<std::size_t>(j)]);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
