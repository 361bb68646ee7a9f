// How cuSPARSE's products come to rocSPARSE, and what becomes of those that it
// does not take. What comes out is compared by the tests of cuSPARSE, which run
// over it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "libraries/cusparse/rocsparse.h"
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

void* Fake(const char* name) {
  static void* const library = dlopen("librocsparse.so.1", RTLD_NOW);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    ADD_FAILURE() << dlerror();
    std::abort();
  }
  return found;
}
std::string Last() {
  return reinterpret_cast<const char* (*)()>(Fake("fake_rocsparse_last"))();
}
void Answer(int status) {
  reinterpret_cast<void (*)(int)>(Fake("fake_rocsparse_answer"))(status);
}

struct CusparseRocm : ::testing::Test {
  Matrix a = Apply(kN, [] {
    Matrix m(2, 2);
    m.v = {1, 2, 3, 4};
    return m;
  }());
  int Multiply(int type, int op, const DenseVector& y, double alpha = 1) {
    const SparseMatrix matrix(a, type);
    const DenseVector x(type, {1, 1});
    const Factor factor(type, alpha), zero(type, 0);
    const int status =
        Call("cusparseSpMV", SparseHandle(), op, factor.get(), matrix.get(),
             x.get(), zero.get(), y.get(), type, 0, Object{nullptr});
    Synchronize();
    return status;
  }
};

TEST_F(CusparseRocm, IsGivenNumbersOfItsOwn) {
  // cudaDataType, rocsparse_datatype.
  const std::pair<int, const char*> types[] = {
      {0, "151"}, {1, "152"}, {4, "154"}, {5, "155"}};
  for (const auto& [type, theirs] : types) {
    const DenseVector y(type, {0, 0});
    for (const int op : {kN, kT, kC}) {
      EXPECT_EQ(Multiply(type, op, y), kSuccess);
      EXPECT_EQ(Last(),
                "spmv " + std::to_string(111 + op) + " " + theirs + " 3 3 p");
    }
  }
}

TEST_F(CusparseRocm, WhatItDoesNotTakeTheHostComputes) {
  for (const int status : {2, 3, 4, 5, 7, 8, 11, 12}) {
    const DenseVector y(kR32, {0, 0});
    Answer(status);
    EXPECT_EQ(Multiply(kR32, kN, y), kSuccess) << status;
    EXPECT_EQ(y.Read()[0], a(0, 0) + a(0, 1)) << status;
  }
  // Nothing times what is not a number.
  const DenseVector y(kR32, {7, 7});
  const std::string before = Last();
  EXPECT_EQ(Multiply(kR32, kN, y, /*alpha=*/0), kSuccess);
  EXPECT_EQ(y.Read()[0], Complex64(0));
  EXPECT_EQ(Last(), before);
}

// A lower triangle whose columns may stand in any order.
struct CusparseRocmSolve : ::testing::Test {
  const int type = kR64;
  const std::vector<double> numbers = {2, 3, 4};  // [2 0; 3 4]
  int Analyse(const std::vector<int>& columns,
              const std::vector<double>& values) {
    Object m = nullptr;
    offsets_ = std::make_unique<Device<int>>(std::vector<int>{0, 1, 3});
    columns_ = std::make_unique<Device<int>>(columns);
    values_ = std::make_unique<Device<double>>(values);
    EXPECT_EQ(Call("cusparseCreateCsr", &m, std::int64_t{2}, std::int64_t{2},
                   std::int64_t{3}, offsets_->get(), columns_->get(),
                   values_->get(), kInt, kInt, 0, type),
              kSuccess);
    matrix_ = m;
    solver_ = Made("cusparseSpSV_createDescr");
    return Call("cusparseSpSV_analysis", SparseHandle(), kN, one_.get(),
                matrix_, x_.get(), y_.get(), type, 0, solver_, buffer_.get());
  }
  std::vector<Complex64> Solve() {
    EXPECT_EQ(Call("cusparseSpSV_solve", SparseHandle(), kN, one_.get(),
                   matrix_, x_.get(), y_.get(), type, 0, solver_),
              kSuccess);
    Synchronize();
    return y_.Read();
  }
  ~CusparseRocmSolve() override {
    EXPECT_EQ(Call("cusparseSpSV_destroyDescr", solver_), kSuccess);
    EXPECT_EQ(Call("cusparseDestroySpMat", matrix_), kSuccess);
  }

 private:
  std::unique_ptr<Device<int>> offsets_, columns_;
  std::unique_ptr<Device<double>> values_;
  Object matrix_ = nullptr, solver_ = nullptr;
  const Device<char> buffer_{std::vector<char>(256)};
  const Factor one_{type, 1};
  const DenseVector x_{type, {2, 11}}, y_{type, {0, 0}};
};
const std::vector<Complex64> kSolution = {1, 2};

TEST_F(CusparseRocmSolve, IsAnalysedOnce) {
  EXPECT_EQ(Analyse({0, 0, 1}, numbers), kSuccess);
  EXPECT_EQ(Last(), "spsv 111 152 0 2 p");
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(Solve(), kSolution);
    EXPECT_EQ(Last(), "spsv 111 152 0 3 p");
  }
}
TEST_F(CusparseRocmSolve, TheHostSolvesWhatItDoesNotTake) {
  EXPECT_EQ(Analyse({0, 0, 1}, numbers), kSuccess);
  Answer(2);
  EXPECT_EQ(Solve(), kSolution);
}
// rocSPARSE would read columns as far as the diagonal.
TEST_F(CusparseRocmSolve, TheHostSolvesWhatIsNotInOrder) {
  const std::string before = Last();
  EXPECT_EQ(Analyse({0, 1, 0}, {2, 4, 3}), kSuccess);
  EXPECT_EQ(Solve(), kSolution);
  EXPECT_EQ(Last(), before);
}

TEST(CusparseRocmProduct, IsCountedAndComputed) {
  const auto square = [] {
    Matrix m(2, 2);
    m.v = {1, 0, 2, 3};  // by columns
    return m;
  }();
  const int type = kR32;
  const SparseMatrix a(square, type);
  const Device<int> offsets{std::vector<int>(3)}, columns{std::vector<int>(3)};
  const Device<float> values{std::vector<float>(3)};
  Object c = nullptr;
  EXPECT_EQ(Call("cusparseCreateCsr", &c, std::int64_t{2}, std::int64_t{2},
                 std::int64_t{0}, Object{nullptr}, Object{nullptr},
                 Object{nullptr}, kInt, kInt, 0, type),
            kSuccess);
  const Object product = Made("cusparseSpGEMM_createDescr");
  const Factor one(type, 1), zero(type, 0);
  std::size_t bytes = 256;
  const Device<char> buffer{std::vector<char>(256)};
  EXPECT_EQ(
      Call("cusparseSpGEMM_compute", SparseHandle(), kN, kN, one.get(), a.get(),
           a.get(), zero.get(), c, type, 0, product, &bytes, buffer.get()),
      kSuccess);
  EXPECT_EQ(Last(), "spgemm 111 111 0 151 0 2 p");
  std::int64_t rows = 0, across = 0, nnz = 0;
  EXPECT_EQ(Call("cusparseSpMatGetSize", c, &rows, &across, &nnz), kSuccess);
  EXPECT_EQ(nnz, 3);
  EXPECT_EQ(Call("cusparseCsrSetPointers", c, offsets.get(), columns.get(),
                 values.get()),
            kSuccess);
  const auto copy = [&](const Factor& beta) {
    EXPECT_EQ(Call("cusparseSpGEMM_copy", SparseHandle(), kN, kN, one.get(),
                   a.get(), a.get(), beta.get(), c, type, 0, product),
              kSuccess);
    Synchronize();
    return values.Read();
  };
  EXPECT_EQ(copy(zero), (std::vector<float>{1, 8, 9}));
  EXPECT_EQ(Last(), "spgemm 111 111 0 151 0 3 p");
  // What is added has places of its own; the host finds them then.
  const std::string before = Last();
  EXPECT_EQ(copy(one), (std::vector<float>{2, 16, 18}));
  EXPECT_EQ(Last(), before);
  EXPECT_EQ(offsets.Read(), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(columns.Read(), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(Call("cusparseSpGEMM_destroyDescr", product), kSuccess);
  EXPECT_EQ(Call("cusparseDestroySpMat", c), kSuccess);
}

TEST(RocsparseOf, Names) {
  using cusparse::RocsparseOf;
  EXPECT_EQ(RocsparseOf("cusparseSpMV"), "rocsparse_spmv");
  EXPECT_EQ(RocsparseOf("cusparseSpMM"), "rocsparse_spmm");
  EXPECT_EQ(RocsparseOf("cusparseSDDMM"), "rocsparse_sddmm");
  EXPECT_EQ(RocsparseOf("cusparseSpSV_solve"), "rocsparse_spsv");
  EXPECT_EQ(RocsparseOf("cusparseSpSM_analysis"), "rocsparse_spsm");
  EXPECT_EQ(RocsparseOf("cusparseSpGEMMreuse_copy"), "rocsparse_spgemm");
  EXPECT_EQ(RocsparseOf("cusparseSparseToDense"), "rocsparse_sparse_to_dense");
  EXPECT_EQ(RocsparseOf("cusparseDenseToSparse_convert"),
            "rocsparse_dense_to_sparse");
  EXPECT_EQ(RocsparseOf("cusparseSpMV_bufferSize"), "");
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
