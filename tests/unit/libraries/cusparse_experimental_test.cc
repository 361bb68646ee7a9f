// What is declared under CUSPARSE_ENABLE_EXPERIMENTAL_API.
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

TEST(CusparseExperimental, SpMVGeneric) {
  Numbers numbers;
  const Matrix a = RandomSparse(numbers, kR64, 5, 7, 2);
  const SparseMatrix m(a, kR64);
  Matrix x(5, 1), y(7, 1);
  x.v = Integers(numbers, kR64, 5);
  y.v = Integers(numbers, kR64, 7);
  const DenseVector dx(kR64, x.v), dy(kR64, y.v), dz(kR64, y.v);
  const Factor alpha(kR64, 2), beta(kR64, -1);
  const Object descr = Made("cusparseSpMV_createDescr");
  int op = kT, got = -1, algorithm = 2;
  void *buffer = &op, *got_buffer = nullptr;
  EXPECT_EQ(Call("cusparseSpMVDescrSetParam", descr, 0, &op, sizeof op),
            kSuccess);
  EXPECT_EQ(Call("cusparseSpMVDescrGetParam", descr, 0, &got, sizeof got),
            kSuccess);
  EXPECT_EQ(got, kT);
  EXPECT_EQ(
      Call("cusparseSpMVDescrSetParam", descr, 1, &algorithm, sizeof algorithm),
      kSuccess);
  EXPECT_EQ(Call("cusparseSpMVDescrSetParam", descr, 2, &buffer, sizeof buffer),
            kSuccess);
  EXPECT_EQ(Call("cusparseSpMVDescrGetParam", descr, 2, &got_buffer,
                 sizeof got_buffer),
            kSuccess);
  EXPECT_EQ(got_buffer, buffer);
  EXPECT_EQ(Call("cusparseSpMVDescrSetParam", descr, 3, &op, sizeof op),
            kInvalidValue);
  EXPECT_EQ(Call("cusparseSpMVDescrSetParam", descr, 0, &op, std::size_t{8}),
            kInvalidValue);
  std::size_t bytes = 0;
  EXPECT_EQ(Call("cusparseSpMVGeneric_bufferSize", SparseHandle(), alpha.get(),
                 m.get(), dx.get(), beta.get(), dy.get(), dz.get(), kR64, descr,
                 &bytes),
            kSuccess);
  for (const char* name :
       {"cusparseSpMVGeneric_preprocess", "cusparseSpMVGeneric"}) {
    EXPECT_EQ(Call(name, SparseHandle(), alpha.get(), m.get(), dx.get(),
                   beta.get(), dy.get(), dz.get(), kR64, descr),
              kSuccess);
  }
  Synchronize();
  ExpectEqual(dy.Read(), y.v, "y stays");
  ExpectEqual(dz.Read(),
              Plus(Scaled(2, Times(Apply(kT, a), x)), Scaled(-1, y)).v, "z");
  EXPECT_EQ(Call("cusparseSpMV_destroyDescr", descr), kSuccess);
}

struct Told {
  int format;
  std::int64_t numbers[8];
};

TEST(CusparseExperimental, SizesAndPointers) {
  Numbers numbers;
  const Matrix a = RandomSparse(numbers, kR32, 8, 4, 2);
  for (const Shape& shape : {Shape{kCsr},
                             {kCsc},
                             {kCoo},
                             {kBsr, kByRows, 2, 4},
                             {kBlockedEll, kByRows, 2, 2},
                             {kSlicedEll, kByRows, 1, 1, 4}}) {
    const SparseMatrix m(a, kR32, shape);
    Told sizes = {}, pointers = {};
    EXPECT_EQ(Call("cusparseSpMatGetSizes", m.get(), &sizes), kSuccess);
    EXPECT_EQ(sizes.format, shape.format);
    const std::int64_t nnz = m.layout().nnz;
    const std::int64_t stored =
        static_cast<std::int64_t>(m.layout().minor.size());
    const auto want = [&]() -> std::vector<std::int64_t> {
      switch (shape.format) {
        case kBsr: return {4, 1, nnz, 2, 4};
        case kBlockedEll: return {8, 4, 2, nnz};
        case kSlicedEll: return {8, 4, nnz, stored, 4};
        default: return {8, 4, nnz};
      }
    }();
    EXPECT_EQ(
        std::vector<std::int64_t>(sizes.numbers, sizes.numbers + want.size()),
        want);
    EXPECT_EQ(Call("cusparseSpMatGetPointers", m.get(), &pointers), kSuccess);
    EXPECT_EQ(pointers.format, shape.format);
    const std::size_t last = shape.format == kBlockedEll ? 1 : 2;
    EXPECT_EQ(reinterpret_cast<void*>(pointers.numbers[last]),
              m.values().get());
    EXPECT_EQ(reinterpret_cast<void*>(pointers.numbers[last - 1]),
              m.minor().get());
    pointers.numbers[last] = 0;
    EXPECT_EQ(Call("cusparseSpMatSetPointers", m.get(), &pointers), kSuccess);
    void* values = &pointers;
    EXPECT_EQ(Call("cusparseSpMatGetValues", m.get(), &values), kSuccess);
    EXPECT_EQ(values, nullptr);
    pointers.format = 9;
    EXPECT_EQ(Call("cusparseSpMatSetPointers", m.get(), &pointers),
              kInvalidValue);
  }
}

TEST(CusparseExperimental, SpMatConvert) {
  Numbers numbers;
  for (const Shape& from : {Shape{kCsr},
                            {kCsc},
                            {kCoo},
                            {kBsr, kByRows, 2, 3},
                            {kSlicedEll, kByRows, 1, 1, 4}}) {
    const Matrix a = RandomSparse(numbers, kC32, 6, 9);
    const SparseMatrix source(a, kC32, from);
    for (const int op : {kN, kT}) {
      const Matrix b = Apply(op, a);
      for (const Shape& to :
           {Shape{kCsr}, {kCsc}, {kCoo}, {kBsr, kByColumns, 3, 3}}) {
        // A block's zeros are elements, too, if it comes from one.
        if (from.format == kBsr && to.format != kBsr) continue;
        if (from.format == kBsr && op == kT) continue;
        const SparseMatrix target(b, kC32, to, kLong, 1);
        const Bytes major = target.major().Read(),
                    minor = target.minor().Read(),
                    values = target.values().Read();
        const Bytes none(std::max(
            {major.size(), minor.size(), values.size(), std::size_t{1}}));
        Upload(target.major().get(), none.data(), major.size());
        Upload(target.minor().get(), none.data(), minor.size());
        Upload(target.values().get(), none.data(), values.size());
        const Object descr = Made("cusparseSpMatConvertDescrCreate");
        std::size_t bytes = 0;
        const bool refused = op == kT && to.format == kBsr;
        const int want = refused ? kNotSupported : kSuccess;
        EXPECT_EQ(Call("cusparseSpMatConvert_bufferSize", SparseHandle(), op,
                       source.get(), target.get(), 1, 0, descr, &bytes),
                  want);
        for (const char* name :
             {"cusparseSpMatConvert_analysis", "cusparseSpMatConvert"}) {
          EXPECT_EQ(Call(name, SparseHandle(), op, source.get(), target.get(),
                         1, 0, descr, Object{nullptr}),
                    want);
          std::int64_t rows = 0, columns = 0, nnz = 0;
          EXPECT_EQ(
              Call("cusparseSpMatGetSize", target.get(), &rows, &columns, &nnz),
              kSuccess);
          EXPECT_EQ(nnz, target.layout().nnz);
        }
        Synchronize();
        if (!refused) {
          EXPECT_EQ(target.major().Read(), major);
          EXPECT_EQ(target.minor().Read(), minor);
          EXPECT_EQ(target.values().Read(), values);
        }
        EXPECT_EQ(Call("cusparseSpMatConvertDescrDestroy", descr), kSuccess);
      }
    }
  }
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
