// What only the host's products are asked: a fake of rocSPARSE's would make
// dense matrices of these.
#include <algorithm>

#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

// 2.5 billion elements, which offsets of 32 bits can't tell.
TEST(CusparseSpGEMM, TooManyElements) {
  constexpr long kSide = 50000;
  Matrix column(kSide, 1), row(1, kSide);
  std::fill(column.v.begin(), column.v.end(), 1);
  std::fill(row.v.begin(), row.v.end(), 1);
  const SparseMatrix a(column, kR32, {kCsr}, kInt, 0),
      b(row, kR32, {kCsr}, kInt, 0);
  const Device<std::uint8_t> offsets(
      EncodedIndices(kInt, std::vector<long>(kSide + 1, 0), 0));
  const Object c = Made("cusparseCreateCsr", std::int64_t{kSide},
                        std::int64_t{kSide}, std::int64_t{0}, offsets.get(),
                        Object{nullptr}, Object{nullptr}, kInt, kInt, 0, kR32);
  const Object descr = Made("cusparseSpGEMM_createDescr");
  const Factor alpha(kR32, 1), beta(kR32, 0);
  std::size_t bytes = 1;
  const Device<std::uint8_t> buffer(Bytes{0});
  constexpr int kInsufficientResources = 11;
  EXPECT_EQ(Call("cusparseSpGEMM_compute", SparseHandle(), kN, kN, alpha.get(),
                 a.get(), b.get(), beta.get(), c, kR32, 0, descr, &bytes,
                 buffer.get()),
            kInsufficientResources);
  EXPECT_EQ(Call("cusparseSpGEMM_destroyDescr", descr), kSuccess);
  EXPECT_EQ(Call("cusparseDestroySpMat", c), kSuccess);
}

// The product of a 1x2 and a 2x2^40 matrix, all of whose elements lie in the
// last column: no memory or time is spent on the columns without any.
TEST(CusparseSpGEMM, ManyColumns) {
  constexpr std::int64_t kColumns = std::int64_t{1} << 40;
  const auto indices = [](const std::vector<long>& values) {
    return Device<std::uint8_t>(EncodedIndices(kLong, values, 0));
  };
  const auto made = [](std::int64_t rows, std::int64_t columns,
                       std::int64_t nnz, const Device<std::uint8_t>& offsets,
                       Object minor, Object values) {
    return Made("cusparseCreateCsr", rows, columns, nnz, offsets.get(), minor,
                values, kLong, kLong, 0, kR64);
  };
  const Device<std::uint8_t> offsets_a = indices({0, 2}),
                             minor_a = indices({0, 1}),
                             offsets_b = indices({0, 1, 2}),
                             minor_b = indices({kColumns - 1, kColumns - 1}),
                             offsets_c = indices({7, 7}),
                             minor_c = indices({7});
  const Device<std::uint8_t> values_a(Encoded(kR64, {2, 3})),
      values_b(Encoded(kR64, {5, 7})), values_c(Encoded(kR64, {0}));
  const Object a = made(1, 2, 2, offsets_a, minor_a.get(), values_a.get()),
               b = made(2, kColumns, 2, offsets_b, minor_b.get(),
                        values_b.get()),
               c = made(1, kColumns, 0, offsets_c, nullptr, nullptr),
               descr = Made("cusparseSpGEMM_createDescr");
  const Factor alpha(kR64, 1), beta(kR64, 0);
  std::size_t bytes = 1;
  const Device<std::uint8_t> buffer(Bytes{0});
  ASSERT_EQ(Call("cusparseSpGEMM_compute", SparseHandle(), kN, kN, alpha.get(),
                 a, b, beta.get(), c, kR64, 0, descr, &bytes, buffer.get()),
            kSuccess);
  std::int64_t rows = 0, columns = 0, nnz = 0;
  ASSERT_EQ(Call("cusparseSpMatGetSize", c, &rows, &columns, &nnz), kSuccess);
  EXPECT_EQ(nnz, 1);
  ASSERT_EQ(Call("cusparseCsrSetPointers", c, offsets_c.get(), minor_c.get(),
                 values_c.get()),
            kSuccess);
  ASSERT_EQ(Call("cusparseSpGEMM_copy", SparseHandle(), kN, kN, alpha.get(), a,
                 b, beta.get(), c, kR64, 0, descr),
            kSuccess);
  EXPECT_EQ(offsets_c.Read(), EncodedIndices(kLong, {0, 1}, 0));
  EXPECT_EQ(minor_c.Read(), EncodedIndices(kLong, {kColumns - 1}, 0));
  EXPECT_EQ(values_c.Read(), Encoded(kR64, {31}));
  EXPECT_EQ(Call("cusparseSpGEMM_destroyDescr", descr), kSuccess);
  for (const Object matrix : {a, b, c}) {
    EXPECT_EQ(Call("cusparseDestroySpMat", matrix), kSuccess);
  }
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
