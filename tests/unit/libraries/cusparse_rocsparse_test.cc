// How cuSPARSE's products come to rocSPARSE, and what becomes of those that it
// does not take. What comes out is compared by the tests of cuSPARSE, which run
// over it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

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

TEST(RocsparseOf, Names) {
  using cusparse::RocsparseOf;
  EXPECT_EQ(RocsparseOf("cusparseSpMV"), "rocsparse_spmv");
  EXPECT_EQ(RocsparseOf("cusparseSpMM"), "rocsparse_spmm");
  EXPECT_EQ(RocsparseOf("cusparseSDDMM"), "rocsparse_sddmm");
  EXPECT_EQ(RocsparseOf("cusparseSpMV_bufferSize"), "");
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
