// Handles, what they are set to, descriptors.
#include <gmock/gmock.h>

#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

using testing::HasSubstr;

TEST(CusparseHelpers, HandlesLiveFromCreateToDestroy) {
  SparseHandle();  // makes a context current
  Handle handle = nullptr;
  EXPECT_EQ(Call("cusparseCreate", (Handle*)nullptr), kInvalidValue);
  ASSERT_EQ(Call("cusparseCreate", &handle), kSuccess);
  void *stream = nullptr, *got = nullptr;
  int mode = -1;
  ASSERT_EQ(Cuda("cuStreamCreate", &stream, 0u), 0);
  EXPECT_EQ(Call("cusparseGetPointerMode", handle, &mode), kSuccess);
  EXPECT_EQ(mode, 0);
  EXPECT_EQ(Call("cusparseSetPointerMode", handle, 1), kSuccess);
  EXPECT_EQ(Call("cusparseGetPointerMode", handle, &mode), kSuccess);
  EXPECT_EQ(mode, 1);
  EXPECT_EQ(Call("cusparseSetPointerMode", handle, 2), kInvalidValue);
  EXPECT_EQ(Call("cusparseSetStream", handle, stream), kSuccess);
  EXPECT_EQ(Call("cusparseGetStream", handle, &got), kSuccess);
  EXPECT_EQ(got, stream);
  EXPECT_EQ(Call("cusparseGetStream", handle, (void**)nullptr), kInvalidValue);
  EXPECT_EQ(Call("cusparseDestroy", handle), kSuccess);
  EXPECT_EQ(Call("cusparseDestroy", handle), kNotInitialized);
  EXPECT_EQ(Call("cusparseSetStream", handle, stream), kNotInitialized);
  EXPECT_EQ(Call("cusparseGetPointerMode", handle, &mode), kNotInitialized);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}

TEST(CusparseHelpers, VersionsAndErrors) {
  int version = 0, part = 0, sum = 0;
  EXPECT_EQ(Call("cusparseGetVersion", SparseHandle(), &version), kSuccess);
  EXPECT_EQ(version / 1000, 12);
  for (const auto& [property, factor] :
       {std::pair(0, 1000), {1, 100}, {2, 1}}) {
    EXPECT_EQ(Call("cusparseGetProperty", property, &part), kSuccess);
    sum += part * factor;
  }
  EXPECT_EQ(sum, version);
  EXPECT_EQ(Call("cusparseGetProperty", 3, &part), kInvalidValue);
  EXPECT_EQ(Call("cusparseGetVersion", Handle{nullptr}, &version),
            kNotInitialized);
  EXPECT_EQ(Call("cusparseGetVersion", SparseHandle(), (int*)nullptr),
            kInvalidValue);
  std::set<std::string> names, texts;
  for (int status = 0; status <= 11; ++status) {
    names.insert(Call<const char*>("cusparseGetErrorName", status));
    texts.insert(Call<const char*>("cusparseGetErrorString", status));
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(texts.size(), 12u);
  EXPECT_STREQ(Call<const char*>("cusparseGetErrorName", 9),
               "CUSPARSE_STATUS_ZERO_PIVOT");
  EXPECT_THAT(Call<const char*>("cusparseGetErrorString", 12),
              HasSubstr("unrecognized"));
  EXPECT_THAT(Call<const char*>("cusparseGetErrorName", 12),
              HasSubstr("unrecognized"));
}

TEST(CusparseHelpers, Logging) {
  EXPECT_EQ(Call("cusparseLoggerSetCallback", Object{nullptr}), kSuccess);
  EXPECT_EQ(Call("cusparseLoggerSetFile", Object{nullptr}), kSuccess);
  EXPECT_EQ(Call("cusparseLoggerOpenFile", "log"), kSuccess);
  EXPECT_EQ(Call("cusparseLoggerSetLevel", 0), kSuccess);
  EXPECT_EQ(Call("cusparseLoggerSetMask", 0), kSuccess);
  EXPECT_EQ(Call("cusparseLoggerForceDisable"), kSuccess);
}

TEST(CusparseHelpers, MatrixDescriptors) {
  EXPECT_EQ(Call("cusparseCreateMatDescr", (Object*)nullptr), kInvalidValue);
  const Object descr = Made("cusparseCreateMatDescr");
  for (const auto& [setting, largest] : {std::pair("MatType", 3),
                                         {"MatFillMode", 1},
                                         {"MatDiagType", 1},
                                         {"MatIndexBase", 1}}) {
    const std::string set = std::string("cusparseSet") + setting;
    const std::string get = std::string("cusparseGet") + setting;
    EXPECT_EQ(Call(get, descr), 0) << setting;
    EXPECT_EQ(Call(set, descr, largest), kSuccess) << setting;
    EXPECT_EQ(Call(get, descr), largest) << setting;
    EXPECT_EQ(Call(set, descr, largest + 1), kInvalidValue) << setting;
    EXPECT_EQ(Call(set, Object{nullptr}, 0), kInvalidValue) << setting;
  }
  EXPECT_EQ(Call("cusparseDestroyMatDescr", descr), kSuccess);
}

// What a descriptor of vectors was made of it tells again.
TEST(CusparseDescriptors, Vectors) {
  char memory[8];
  void *const a = memory, *const b = memory + 1, *const c = memory + 2;
  for (const bool is_const : {false, true}) {
    const std::string word = is_const ? "Const" : "";
    std::int64_t size = 0, nnz = 0;
    void *indices = nullptr, *values = nullptr;
    int index = 0, base = 0, type = 0;
    const Object sparse =
        Made("cusparseCreate" + word + "SpVec", std::int64_t{9},
             std::int64_t{4}, a, b, kLong, 1, kC32);
    EXPECT_EQ(Call("cusparse" + word + "SpVecGet", sparse, &size, &nnz,
                   &indices, &values, &index, &base, &type),
              kSuccess);
    EXPECT_EQ(size, 9);
    EXPECT_EQ(nnz, 4);
    EXPECT_EQ(indices, a);
    EXPECT_EQ(values, b);
    EXPECT_EQ(index, kLong);
    EXPECT_EQ(base, 1);
    EXPECT_EQ(type, kC32);
    base = 7;
    EXPECT_EQ(Call("cusparseSpVecGetIndexBase", sparse, &base), kSuccess);
    EXPECT_EQ(base, 1);
    EXPECT_EQ(Call("cusparseSpVecSetValues", sparse, c), kSuccess);
    EXPECT_EQ(Call("cusparse" + word + "SpVecGetValues", sparse, &values),
              kSuccess);
    EXPECT_EQ(values, c);
    EXPECT_EQ(Call("cusparseDestroySpVec", sparse), kSuccess);

    const Object dense =
        Made("cusparseCreate" + word + "DnVec", std::int64_t{5}, a, kR16);
    EXPECT_EQ(
        Call("cusparse" + word + "DnVecGet", dense, &size, &values, &type),
        kSuccess);
    EXPECT_EQ(size, 5);
    EXPECT_EQ(values, a);
    EXPECT_EQ(type, kR16);
    EXPECT_EQ(Call("cusparseDnVecSetValues", dense, c), kSuccess);
    EXPECT_EQ(Call("cusparse" + word + "DnVecGetValues", dense, &values),
              kSuccess);
    EXPECT_EQ(values, c);
    EXPECT_EQ(Call("cusparseDestroyDnVec", dense), kSuccess);

    std::int64_t rows = 0, columns = 0, ld = 0;
    int order = 0;
    const Object matrix =
        Made("cusparseCreate" + word + "DnMat", std::int64_t{3},
             std::int64_t{4}, std::int64_t{5}, a, kR64, kByRows);
    EXPECT_EQ(Call("cusparse" + word + "DnMatGet", matrix, &rows, &columns, &ld,
                   &values, &type, &order),
              kSuccess);
    EXPECT_EQ(rows, 3);
    EXPECT_EQ(columns, 4);
    EXPECT_EQ(ld, 5);
    EXPECT_EQ(values, a);
    EXPECT_EQ(type, kR64);
    EXPECT_EQ(order, kByRows);
    EXPECT_EQ(Call("cusparseDnMatSetValues", matrix, c), kSuccess);
    EXPECT_EQ(Call("cusparse" + word + "DnMatGetValues", matrix, &values),
              kSuccess);
    EXPECT_EQ(values, c);
    EXPECT_EQ(Call("cusparseDestroyDnMat", matrix), kSuccess);
  }
}

TEST(CusparseDescriptors, Compressed) {
  char memory[8];
  void *const a = memory, *const b = memory + 1, *const c = memory + 2;
  for (const std::string word : {"", "Const"}) {
    for (const std::string format : {"Csr", "Csc", "Coo"}) {
      const bool coo = format == "Coo";
      const Object m =
          coo ? Made("cusparseCreate" + word + format, std::int64_t{3},
                     std::int64_t{4}, std::int64_t{5}, a, b, c, kLong, 1, kR64)
              : Made("cusparseCreate" + word + format, std::int64_t{3},
                     std::int64_t{4}, std::int64_t{5}, a, b, c, kLong, kInt, 1,
                     kR64);
      std::int64_t rows = 0, columns = 0, nnz = 0;
      void *major = nullptr, *minor = nullptr, *values = nullptr;
      int major_type = 0, minor_type = 0, base = 0, type = -1;
      const std::string get = "cusparse" + word + format + "Get";
      EXPECT_EQ(coo ? Call(get, m, &rows, &columns, &nnz, &major, &minor,
                           &values, &major_type, &base, &type)
                    : Call(get, m, &rows, &columns, &nnz, &major, &minor,
                           &values, &major_type, &minor_type, &base, &type),
                kSuccess);
      EXPECT_EQ(rows, 3);
      EXPECT_EQ(columns, 4);
      EXPECT_EQ(nnz, 5);
      EXPECT_EQ(major, a);
      EXPECT_EQ(minor, b);
      EXPECT_EQ(values, c);
      EXPECT_EQ(major_type, kLong);
      if (!coo) EXPECT_EQ(minor_type, kInt);
      EXPECT_EQ(base, 1);
      EXPECT_EQ(type, kR64);
      // Another format's are not there.
      EXPECT_EQ(Call("cusparseBlockedEllGet", m, &rows, &columns, &nnz, &nnz,
                     &major, &values, &major_type, &base, &type),
                kInvalidValue);
      if (word.empty()) {
        EXPECT_EQ(Call("cusparse" + format + "SetPointers", m, c, a, b),
                  kSuccess);
        EXPECT_EQ(
            Call("cusparse" + std::string(coo ? "Csr" : "Coo") + "SetPointers",
                 m, c, a, b),
            kInvalidValue);
        EXPECT_EQ(Call("cusparseSpMatGetValues", m, &values), kSuccess);
        EXPECT_EQ(values, b);
      }
      EXPECT_EQ(Call("cusparseSpMatSetValues", m, a), kSuccess);
      EXPECT_EQ(Call("cusparseConstSpMatGetValues", m, &values), kSuccess);
      EXPECT_EQ(values, a);
      int got = 0;
      EXPECT_EQ(Call("cusparseSpMatGetFormat", m, &got), kSuccess);
      EXPECT_EQ(got, format == "Csr" ? kCsr : coo ? kCoo : kCsc);
      base = 0;
      EXPECT_EQ(Call("cusparseSpMatGetIndexBase", m, &base), kSuccess);
      EXPECT_EQ(base, 1);
      nnz = 0;
      EXPECT_EQ(Call("cusparseSpMatGetSize", m, &rows, &columns, &nnz),
                kSuccess);
      EXPECT_EQ(nnz, 5);
      EXPECT_EQ(Call("cusparseSpMatSetStridedBatch", m, 3), kSuccess);
      EXPECT_EQ(Call("cusparseSpMatGetStridedBatch", m, &got), kSuccess);
      EXPECT_EQ(got, 3);
      EXPECT_EQ(Call("cusparseDestroySpMat", m), kSuccess);
    }
  }
}

TEST(CusparseDescriptors, Blocked) {
  char memory[8];
  void *const a = memory, *const b = memory + 1, *const c = memory + 2;
  for (const std::string word : {"", "Const"}) {
    std::int64_t rows = 0, columns = 0, side = 0, width = 0;
    void *indices = nullptr, *values = nullptr;
    int index = 0, base = 0, type = 0, format = 0;
    const Object ell = Made("cusparseCreate" + word + "BlockedEll",
                            std::int64_t{8}, std::int64_t{6}, std::int64_t{2},
                            std::int64_t{4}, a, b, kInt, 1, kB16);
    EXPECT_EQ(Call("cusparse" + word + "BlockedEllGet", ell, &rows, &columns,
                   &side, &width, &indices, &values, &index, &base, &type),
              kSuccess);
    EXPECT_EQ(rows, 8);
    EXPECT_EQ(columns, 6);
    EXPECT_EQ(side, 2);
    EXPECT_EQ(width, 4);
    EXPECT_EQ(indices, a);
    EXPECT_EQ(values, b);
    EXPECT_EQ(index, kInt);
    EXPECT_EQ(base, 1);
    EXPECT_EQ(type, kB16);
    EXPECT_EQ(Call("cusparseDestroySpMat", ell), kSuccess);

    const Object bsr =
        Made("cusparseCreate" + word + "Bsr", std::int64_t{4}, std::int64_t{3},
             std::int64_t{5}, std::int64_t{2}, std::int64_t{2}, a, b, c, kInt,
             kInt, 0, kR32, kByColumns);
    EXPECT_EQ(Call("cusparseSpMatGetFormat", bsr, &format), kSuccess);
    EXPECT_EQ(format, kBsr);
    EXPECT_EQ(Call("cusparseDestroySpMat", bsr), kSuccess);
    const Object slices =
        Made("cusparseCreate" + word + "SlicedEll", std::int64_t{4},
             std::int64_t{3}, std::int64_t{5}, std::int64_t{8}, std::int64_t{2},
             a, b, c, kInt, kInt, 0, kR32);
    EXPECT_EQ(Call("cusparseSpMatGetFormat", slices, &format), kSuccess);
    EXPECT_EQ(format, kSlicedEll);
    EXPECT_EQ(Call("cusparseDestroySpMat", slices), kSuccess);
  }
}

TEST(CusparseDescriptors, Attributes) {
  Numbers numbers;
  const SparseMatrix m(RandomSparse(numbers, kR32, 3, 3), kR32);
  for (const int attribute : {0, 1, 2, 3}) {
    int value = 1, got = 0;
    EXPECT_EQ(Call("cusparseSpMatSetAttribute", m.get(), attribute, &value,
                   sizeof value),
              kSuccess);
    EXPECT_EQ(
        Call("cusparseSpMatGetAttribute", m.get(), attribute, &got, sizeof got),
        kSuccess);
    EXPECT_EQ(got, 1);
    value = 3;
    EXPECT_EQ(Call("cusparseSpMatSetAttribute", m.get(), attribute, &value,
                   sizeof value),
              kInvalidValue);
    EXPECT_EQ(Call("cusparseSpMatGetAttribute", m.get(), attribute, &got,
                   std::size_t{8}),
              kInvalidValue);
  }
  int value = 0;
  EXPECT_EQ(Call("cusparseSpMatGetAttribute", m.get(), 4, &value, sizeof value),
            kInvalidValue);
  EXPECT_EQ(Call("cusparseSpMatSetAttribute", m.get(), 4, &value, sizeof value),
            kInvalidValue);
}

TEST(CusparseDescriptors, WhatMakesNone) {
  char memory[8];
  void* const a = memory;
  Object made = nullptr;
  const auto csr = [&](Object* to, std::int64_t rows, std::int64_t nnz,
                       int index, int base, int type) {
    return Call("cusparseCreateCsr", to, rows, std::int64_t{3}, nnz, a, a, a,
                index, index, base, type);
  };
  EXPECT_EQ(csr(nullptr, 3, 1, kInt, 0, kR32), kInvalidValue);
  EXPECT_EQ(csr(&made, -1, 1, kInt, 0, kR32), kInvalidValue);
  EXPECT_EQ(csr(&made, 3, -1, kInt, 0, kR32), kInvalidValue);
  EXPECT_EQ(csr(&made, 3, 1, 1, 0, kR32), kNotSupported);  // of 16 bits
  EXPECT_EQ(csr(&made, 3, 1, kInt, 2, kR32), kInvalidValue);
  EXPECT_EQ(csr(&made, 3, 1, kInt, 0, 99), kInvalidValue);
  const auto dense = [&](std::int64_t rows, std::int64_t ld, int order) {
    return Call("cusparseCreateDnMat", &made, rows, std::int64_t{5}, ld, a,
                kR32, order);
  };
  EXPECT_EQ(dense(3, 2, kByColumns), kInvalidValue);
  EXPECT_EQ(dense(3, 4, kByRows), kInvalidValue);
  EXPECT_EQ(dense(3, 5, 3), kInvalidValue);
  EXPECT_EQ(dense(-1, 5, kByRows), kInvalidValue);
  EXPECT_EQ(Call("cusparseCreateSpVec", &made, std::int64_t{3}, std::int64_t{4},
                 a, a, kInt, 0, kR32),
            kInvalidValue);
  EXPECT_EQ(
      Call("cusparseCreateBlockedEll", &made, std::int64_t{4}, std::int64_t{4},
           std::int64_t{0}, std::int64_t{4}, a, a, kInt, 0, kR32),
      kInvalidValue);
  EXPECT_EQ(made, nullptr);
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
