// What only the host's products are asked: a fake of rocSPARSE's would make a
// dense matrix of this.
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

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
