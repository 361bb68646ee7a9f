// From one format to another.
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

TEST(CusparseSparseToDense, EachFormatTypeAndOrder) {
  Numbers numbers;
  for (const Shape& shape : {Shape{kCsr},
                             {kCsc},
                             {kCoo},
                             {kBlockedEll, kByRows, 2, 2},
                             {kBsr, kByColumns, 3, 2},
                             {kSlicedEll, kByRows, 1, 1, 4}}) {
    for (const int type : {kR32, kR64, kC32, kC64, kR16, kB16, kI8}) {
      const Matrix a = RandomSparse(numbers, type, 12, 8);
      for (const int order : {kByColumns, kByRows}) {
        const SparseMatrix m(a, type, shape, order == kByRows ? kLong : kInt,
                             order - 1);
        const DenseMatrix dense(type, RandomSparse(numbers, type, 12, 8, 4),
                                order);
        std::size_t bytes = 0;
        EXPECT_EQ(Call("cusparseSparseToDense_bufferSize", SparseHandle(),
                       m.get(), dense.get(), 0, &bytes),
                  kSuccess);
        EXPECT_EQ(Call("cusparseSparseToDense", SparseHandle(), m.get(),
                       dense.get(), 0, Object{nullptr}),
                  kSuccess);
        Synchronize();
        ExpectEqual(dense.Read(), a, shape.Name());
      }
    }
  }
}

TEST(CusparseDenseToSparse, EachFormatTypeAndOrder) {
  Numbers numbers;
  for (const int format : {kCsr, kCsc, kCoo}) {
    for (const int type : {kR32, kR64, kC32, kC64, kR16, kB16, kI8}) {
      for (const int order : {kByColumns, kByRows}) {
        for (const int full : {0, 1, 4}) {
          const int index = order == kByRows ? kLong : kInt, base = order - 1;
          const Matrix a = RandomSparse(numbers, type, 7, 9, full);
          const Layout want = LayOut(a, {format});
          const DenseMatrix dense(type, a, order);
          const std::size_t width = index == kLong ? 8 : 4;
          const std::size_t nnz = want.places.size();
          const Device<std::uint8_t> major(Bytes(want.major.size() * width)),
              minor(Bytes(nnz * width)), values(Bytes(nnz * SizeOf(type)));
          void* const none = nullptr;
          const std::int64_t m = 7, n = 9, zero = 0;
          const bool coo = format == kCoo;
          const Object sparse = coo ? Made("cusparseCreateCoo", m, n, zero,
                                           none, none, none, index, base, type)
                                    : Made(format == kCsr ? "cusparseCreateCsr"
                                                          : "cusparseCreateCsc",
                                           m, n, zero, major.get(), none, none,
                                           index, index, base, type);
          std::size_t bytes = 0;
          EXPECT_EQ(Call("cusparseDenseToSparse_bufferSize", SparseHandle(),
                         dense.get(), sparse, 0, &bytes),
                    kSuccess);
          EXPECT_EQ(Call("cusparseDenseToSparse_analysis", SparseHandle(),
                         dense.get(), sparse, 0, none),
                    kSuccess);
          std::int64_t rows = 0, columns = 0, found = -1;
          EXPECT_EQ(
              Call("cusparseSpMatGetSize", sparse, &rows, &columns, &found),
              kSuccess);
          ASSERT_EQ(found, want.nnz);
          EXPECT_EQ(Call(coo              ? "cusparseCooSetPointers"
                         : format == kCsr ? "cusparseCsrSetPointers"
                                          : "cusparseCscSetPointers",
                         sparse, major.get(), minor.get(), values.get()),
                    kSuccess);
          EXPECT_EQ(Call("cusparseDenseToSparse_convert", SparseHandle(),
                         dense.get(), sparse, 0, none),
                    kSuccess);
          Synchronize();
          EXPECT_EQ(DecodedIndices(index, major.Read(), base), want.major);
          EXPECT_EQ(DecodedIndices(index, minor.Read(), base), want.minor);
          ExpectEqual(Decoded(type, values.Read()), want.Values(a), "values");
          EXPECT_EQ(Call("cusparseDestroySpMat", sparse), kSuccess);
        }
      }
    }
  }
}

// The blocks are given; what lies in them is copied.
TEST(CusparseDenseToSparse, IntoBlockedEll) {
  Numbers numbers;
  const Matrix a = RandomSparse(numbers, kR16, 8, 6);
  const SparseMatrix blocks(a, kR16, {kBlockedEll, kByRows, 2, 2}, kInt, 0);
  const Matrix other = Scaled(2, a);
  const DenseMatrix dense(kR16, other, kByRows);
  EXPECT_EQ(Call("cusparseDenseToSparse_analysis", SparseHandle(), dense.get(),
                 blocks.get(), 0, Object{nullptr}),
            kSuccess);
  EXPECT_EQ(Call("cusparseDenseToSparse_convert", SparseHandle(), dense.get(),
                 blocks.get(), 0, Object{nullptr}),
            kSuccess);
  Synchronize();
  ExpectEqual(Decoded(kR16, blocks.values().Read()),
              blocks.layout().Values(other), "blocks");
  const SparseMatrix bsr(a, kR16, {kBsr, kByRows, 2, 2});
  EXPECT_EQ(Call("cusparseDenseToSparse_analysis", SparseHandle(), dense.get(),
                 bsr.get(), 0, Object{nullptr}),
            kNotSupported);
}

TEST(CusparseConversions, Csr2cscEx2) {
  Numbers numbers;
  for (const int type : {kR32, kR64, kC32, kC64, kR16, kB16, kI8}) {
    for (const int base : {0, 1}) {
      const Matrix a = RandomSparse(numbers, type, 6, 10);
      const SparseMatrix m(a, type, {kCsr}, kInt, base);
      const Layout want = LayOut(a, {kCsc});
      const int nnz = static_cast<int>(want.nnz);
      for (const bool numeric : {true, false}) {
        const Device<std::uint8_t> offsets(Bytes(11 * 4)),
            rows(Bytes(want.minor.size() * 4)),
            values(Bytes(want.minor.size() * SizeOf(type)));
        std::size_t bytes = 0;
        EXPECT_EQ(Call("cusparseCsr2cscEx2_bufferSize", SparseHandle(), 6, 10,
                       nnz, m.values().get(), m.major().get(), m.minor().get(),
                       values.get(), offsets.get(), rows.get(), type,
                       numeric ? 1 : 0, base, 1, &bytes),
                  kSuccess);
        const Device<std::uint8_t> buffer{Bytes(bytes)};
        EXPECT_EQ(Call("cusparseCsr2cscEx2", SparseHandle(), 6, 10, nnz,
                       m.values().get(), m.major().get(), m.minor().get(),
                       values.get(), offsets.get(), rows.get(), type,
                       numeric ? 1 : 0, base, 1, buffer.get()),
                  kSuccess);
        Synchronize();
        EXPECT_EQ(DecodedIndices(kInt, offsets.Read(), base), want.major);
        EXPECT_EQ(DecodedIndices(kInt, rows.Read(), base), want.minor);
        ExpectEqual(Decoded(type, values.Read()),
                    numeric ? want.Values(a)
                            : std::vector<Complex64>(want.minor.size()),
                    "values");
      }
    }
  }
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
