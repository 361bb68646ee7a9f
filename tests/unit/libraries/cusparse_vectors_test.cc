// Sparse vectors with dense ones.
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

constexpr std::int64_t kSize = 11;
const std::vector<long> kPlaces = {0, 3, 4, 10};

class SparseVector {
 public:
  SparseVector(int type, const std::vector<Complex64>& values, int index,
               int base, const std::vector<long>& places = kPlaces)
      : type_(type),
        indices_(EncodedIndices(index, places, base)),
        values_(Encoded(type, values)),
        object_(Made("cusparseCreateSpVec", kSize,
                     static_cast<std::int64_t>(places.size()), indices_.get(),
                     values_.get(), index, base, type)) {}
  ~SparseVector() {
    EXPECT_EQ(Call("cusparseDestroySpVec", object_), kSuccess);
  }
  SparseVector(const SparseVector&) = delete;
  SparseVector& operator=(const SparseVector&) = delete;
  Object get() const { return object_; }
  std::vector<Complex64> Read() const { return Decoded(type_, values_.Read()); }

 private:
  const int type_;
  const Device<std::uint8_t> indices_, values_;
  const Object object_;
};

// Of scalars for elements of a type.
int ScalarOf(int type) {
  switch (type) {
    case kR16:
    case kB16: return kR32;
    case kC16:
    case kCB16: return kC32;
    default: return type;
  }
}
constexpr int kElements[] = {kR32, kR64, kC32, kC64, kR16, kB16, kC16, kCB16};

template <typename Test>
void ForEachType(const Test& test) {
  Numbers numbers;
  for (const int type : kElements) {
    for (const int index : {kInt, kLong}) {
      for (const int base : {0, 1}) {
        test(type, index, base, Integers(numbers, type, kPlaces.size()),
             Integers(numbers, type, kSize));
      }
    }
  }
}

TEST(CusparseVectors, Axpby) {
  ForEachType([](int type, int index, int base, const auto& x, const auto& y) {
    for (const double beta : {3.0, 1.0, 0.0}) {
      const SparseVector sparse(type, x, index, base);
      const DenseVector dense(type, y);
      const Factor a(ScalarOf(type), 2), b(ScalarOf(type), beta);
      EXPECT_EQ(Call("cusparseAxpby", SparseHandle(), a.get(), sparse.get(),
                     b.get(), dense.get()),
                kSuccess);
      Synchronize();
      std::vector<Complex64> want = y;
      for (Complex64& value : want) value *= beta;
      for (std::size_t i = 0; i < kPlaces.size(); ++i) {
        want[static_cast<std::size_t>(kPlaces[i])] += 2.0 * x[i];
      }
      ExpectEqual(dense.Read(), Rounded(type, want), "axpby");
    }
  });
}

TEST(CusparseVectors, GatherAndScatter) {
  ForEachType([](int type, int index, int base, const auto& x, const auto& y) {
    const SparseVector sparse(type, x, index, base);
    const DenseVector dense(type, y);
    EXPECT_EQ(
        Call("cusparseScatter", SparseHandle(), sparse.get(), dense.get()),
        kSuccess);
    Synchronize();
    std::vector<Complex64> want = y;
    for (std::size_t i = 0; i < kPlaces.size(); ++i) {
      want[static_cast<std::size_t>(kPlaces[i])] = x[i];
    }
    ExpectEqual(dense.Read(), want, "scatter");
    const SparseVector other(type, {0, 0, 0, 0}, index, base);
    EXPECT_EQ(Call("cusparseGather", SparseHandle(), dense.get(), other.get()),
              kSuccess);
    Synchronize();
    ExpectEqual(other.Read(), x, "gather");
  });
  const SparseVector sparse(kR32, {1, 2, 3, 4}, kInt, 0);
  const DenseVector dense(kR64, std::vector<Complex64>(kSize));
  EXPECT_EQ(Call("cusparseGather", SparseHandle(), dense.get(), sparse.get()),
            kInvalidValue);
}

TEST(CusparseVectors, Rot) {
  ForEachType([](int type, int index, int base, const auto& x, const auto& y) {
    const SparseVector sparse(type, x, index, base);
    const DenseVector dense(type, y);
    const Factor c(ScalarOf(type), 2), s(ScalarOf(type), -3);
    EXPECT_EQ(Call("cusparseRot", SparseHandle(), c.get(), s.get(),
                   sparse.get(), dense.get()),
              kSuccess);
    Synchronize();
    std::vector<Complex64> want_x = x, want_y = y;
    for (std::size_t i = 0; i < kPlaces.size(); ++i) {
      Complex64& to = want_y[static_cast<std::size_t>(kPlaces[i])];
      want_x[i] = 2.0 * x[i] - 3.0 * to;
      to = 2.0 * to + 3.0 * x[i];
    }
    ExpectEqual(sparse.Read(), Rounded(type, want_x), "x");
    ExpectEqual(dense.Read(), Rounded(type, want_y), "y");
  });
}

TEST(CusparseVectors, SpVV) {
  Numbers numbers;
  for (const Types& t : kTypes) {
    // The result is of the type of the sum.
    if (t.y != t.compute || t.a != t.x) continue;
    for (const int op : {kN, kC}) {
      const auto x = Integers(numbers, t.a, kPlaces.size());
      const auto y = Integers(numbers, t.x, kSize);
      const SparseVector sparse(t.a, x, kInt, 0);
      const DenseVector dense(t.x, y);
      Complex64 want = 0;
      for (std::size_t i = 0; i < kPlaces.size(); ++i) {
        want += (op == kC ? std::conj(x[i]) : x[i]) *
                y[static_cast<std::size_t>(kPlaces[i])];
      }
      Bytes result(SizeOf(t.compute));
      std::size_t bytes = 0;
      EXPECT_EQ(
          Call("cusparseSpVV_bufferSize", SparseHandle(), op, sparse.get(),
               dense.get(), result.data(), t.compute, &bytes),
          kSuccess);
      EXPECT_EQ(Call("cusparseSpVV", SparseHandle(), op, sparse.get(),
                     dense.get(), result.data(), t.compute, Object{nullptr}),
                kSuccess);
      ExpectEqual(Decoded(t.compute, result), {want}, t.Name());
      // Of the device.
      const Device<std::uint8_t> there{Bytes(result.size())};
      EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), 1), kSuccess);
      EXPECT_EQ(Call("cusparseSpVV", SparseHandle(), op, sparse.get(),
                     dense.get(), there.get(), t.compute, Object{nullptr}),
                kSuccess);
      EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), 0), kSuccess);
      Synchronize();
      EXPECT_EQ(there.Read(), result) << t.Name();
    }
  }
}

// A dense matrix with a sparse vector.
TEST(CusparseVectors, Gemvi) {
  ForAll([]<typename T>() {
    Numbers numbers;
    constexpr int kM = 5, kN = kSize, kLd = 7;
    for (const int op : {0, 1, 2}) {
      const Matrix a = RandomMatrix<T>(numbers, kM, kN);
      const long rows = op == 0 ? kM : kN, columns = op == 0 ? kN : kM;
      const std::vector<long> places = {1, 2, 4};
      const auto values = numbers.Vector<T>(places.size());
      const auto y = numbers.Vector<T>(static_cast<std::size_t>(rows));
      Matrix x(columns, 1), want(rows, 1);
      for (std::size_t i = 0; i < places.size(); ++i) {
        x.v[static_cast<std::size_t>(places[i])] = Complex64(values[i]);
      }
      want.v = Widened(y);
      want = Plus(Scaled(2, Times(Apply(op, a), x)), Scaled(-1, want));
      const Device<T> da(Stored<T>(a, kLd, kNan)), dx(values), dy(y);
      const Device<std::uint8_t> indices(EncodedIndices(kInt, places, 1));
      const T alpha(2), beta(-1);
      int bytes = 0;
      EXPECT_EQ(Call(Typed<T>("gemvi_bufferSize"), SparseHandle(), op, kM, kN,
                     3, &bytes),
                kSuccess);
      EXPECT_EQ(Call(Typed<T>("gemvi"), SparseHandle(), op, kM, kN, &alpha,
                     da.get(), kLd, 3, dx.get(), indices.get(), &beta, dy.get(),
                     1, Object{nullptr}),
                kSuccess);
      Synchronize();
      ExpectSame(dy, want.v, 0, "gemvi");
    }
  });
}

// Those of CUDA 11, which do not tell how large y is.
TEST(CusparseVectors, WithoutASize) {
  ForAll([]<typename T>() {
    Numbers numbers;
    const int nnz = static_cast<int>(kPlaces.size());
    const auto x = numbers.Vector<T>(kPlaces.size()),
               y = numbers.Vector<T>(kSize);
    const T alpha(2);
    for (const int base : {0, 1}) {
      const Device<std::uint8_t> indices(EncodedIndices(kInt, kPlaces, base));
      const Device<T> dx(x), dy(y);
      const auto at = [&](std::size_t i) {
        return static_cast<std::size_t>(kPlaces[i]);
      };
      EXPECT_EQ(Call(Typed<T>("axpyi"), SparseHandle(), nnz, &alpha, dx.get(),
                     indices.get(), dy.get(), base),
                kSuccess);
      Synchronize();
      auto want = Widened(y);
      for (std::size_t i = 0; i < kPlaces.size(); ++i) {
        want[at(i)] += 2.0 * Complex64(x[i]);
      }
      ExpectSame(dy, want, 0, "axpyi");
      EXPECT_EQ(Call(Typed<T>("sctr"), SparseHandle(), nnz, dx.get(),
                     indices.get(), dy.get(), base),
                kSuccess);
      Synchronize();
      for (std::size_t i = 0; i < kPlaces.size(); ++i) {
        want[at(i)] = Complex64(x[i]);
      }
      ExpectSame(dy, want, 0, "sctr");
      const Device<T> gathered(std::vector<T>(kPlaces.size())),
          cleared(std::vector<T>(kPlaces.size()));
      EXPECT_EQ(Call(Typed<T>("gthr"), SparseHandle(), nnz, dy.get(),
                     gathered.get(), indices.get(), base),
                kSuccess);
      EXPECT_EQ(Call(Typed<T>("gthrz"), SparseHandle(), nnz, dy.get(),
                     cleared.get(), indices.get(), base),
                kSuccess);
      Synchronize();
      ExpectSame(gathered, Widened(x), 0, "gthr");
      ExpectSame(cleared, Widened(x), 0, "gthrz");
      for (std::size_t i = 0; i < kPlaces.size(); ++i) want[at(i)] = 0;
      ExpectSame(dy, want, 0, "gthrz clears");
    }
    if constexpr (!kIsComplex<T>) {
      const Device<std::uint8_t> indices(EncodedIndices(kInt, kPlaces, 0));
      const Device<T> dx(x), dy(y);
      const T c(2), s(-1);
      EXPECT_EQ(Call(Typed<T>("roti"), SparseHandle(), nnz, dx.get(),
                     indices.get(), dy.get(), &c, &s, 0),
                kSuccess);
      Synchronize();
      auto wx = Widened(x), wy = Widened(y);
      for (std::size_t i = 0; i < kPlaces.size(); ++i) {
        Complex64& to = wy[static_cast<std::size_t>(kPlaces[i])];
        const Complex64 before = wx[i];
        wx[i] = 2.0 * before - to;
        to = 2.0 * to + before;
      }
      ExpectSame(dx, wx, 0, "roti x");
      ExpectSame(dy, wy, 0, "roti y");
    }
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
