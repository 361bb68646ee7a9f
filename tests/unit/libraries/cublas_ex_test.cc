// Calls that are told types: small numbers, so that sums are exact and there is
// one rounding, which is compared bit by bit.
#include "tests/unit/libraries/typed.h"

namespace cerberus::libraries::tests {
namespace {

// A vector's elements are computed in f32 where they are smaller.
int Execution(int type) { return type == kR16 || type == kB16 ? kR32 : type; }
constexpr int kFloats[] = {kR16, kB16, kR32, kR64, kC32, kC64};

struct Vectors {
  long n, incx, incy;
};
constexpr Vectors kVectors[] = {{0, 1, 1}, {1, 1, 1}, {9, 1, 1}, {9, 2, -3}};

template <typename Test>
void ForVectors(const std::string& name, const Test& test) {
  for (const Form form : FormsOf(name)) {
    for (const int type : kFloats) {
      for (const Vectors& v : kVectors) test(form, type, v);
    }
  }
}
#define EXPECT_BYTES(device, type, want)          \
  EXPECT_EQ((device).Read(), Encoded(type, want)) \
      << NameIn(form, name) << " form " << form << " type " << type

TEST(CublasEx, AxpyAndScal) {
  const std::string axpy = "cublasAxpyEx", scal = "cublasScalEx";
  ForVectors(axpy, [&](Form form, int type, const Vectors& v) {
    Numbers numbers;
    std::string name = axpy;
    const auto x = Integers(numbers, type, Span(v.n, v.incx) + 1);
    auto y = Integers(numbers, type, Span(v.n, v.incy) + 1);
    // Exact in f32 and rounded in 16 bits.
    const Complex64 alpha(1 + std::ldexp(1, -9), IsComplexType(type) ? 2 : 0);
    Bytes scalar = Encoded(Execution(type), {alpha});
    const Device<std::uint8_t> dx(Encoded(type, x)), dy(Encoded(type, y));
    for (long i = 0; i < v.n; ++i) {
      y[At(i, v.n, v.incy)] += alpha * x[At(i, v.n, v.incx)];
    }
    const Raw t(type);
    const Raw e(Execution(type));
    EXPECT_EQ(Invoke(form, name, Count(v.n), Passed(scalar), e, Raw(dx.get()),
                     t, Step(v.incx), Raw(dy.get()), t, Step(v.incy), e),
              kSuccess);
    EXPECT_BYTES(dy, type, y);
    name = scal;
    auto scaled = x;
    for (long i = 0; i < v.n; ++i) scaled[At(i, v.n, v.incx)] *= alpha;
    EXPECT_EQ(Invoke(form, name, Count(v.n), Passed(scalar), e, Raw(dx.get()),
                     t, Step(v.incx), e),
              kSuccess);
    EXPECT_BYTES(dx, type, scaled);
  });
  const Device<std::uint8_t> d(Bytes(64));
  Bytes one = Encoded(kR32, {1});
  const Raw t(kR32);
  const Raw p(d.get());
  ExpectRefusals(axpy, Count(2), Passed(one), t, p, t, Step(1), p, t, Step(1),
                 t);
  ExpectRefusals(scal, Count(2), Passed(one), t, p, t, Step(1), t);
  for (const auto& [x, y, execution] : {std::tuple{kR16, kR16, kR16},
                                        {kR32, kR64, kR32},
                                        {kI8, kI8, kR32},
                                        {kR64, kR64, kR32},
                                        {99, 99, 99}}) {
    EXPECT_EQ(Invoke(kHost, axpy, Count(2), Passed(one), t, p, Raw(x), Step(1),
                     p, Raw(y), Step(1), Raw(execution)),
              kNotSupported);
    if (x != y) continue;
    EXPECT_EQ(Invoke(kHost, scal, Count(2), Passed(one), t, p, Raw(x), Step(1),
                     Raw(execution)),
              kNotSupported);
  }
}

TEST(CublasEx, Dots) {
  for (const std::string name : {"cublasDotEx", "cublasDotcEx"}) {
    const bool conjugated = name == "cublasDotcEx";
    ForVectors(name, [&](Form form, int type, const Vectors& v) {
      Numbers numbers;
      const auto x = Integers(numbers, type, Span(v.n, v.incx) + 1, 100);
      const auto y = Integers(numbers, type, Span(v.n, v.incy) + 1, 90);
      Complex64 want = 0;
      for (long i = 0; i < v.n; ++i) {
        const Complex64 a = x[At(i, v.n, v.incx)];
        want += (conjugated ? std::conj(a) : a) * y[At(i, v.n, v.incy)];
      }
      const Device<std::uint8_t> dx(Encoded(type, x)), dy(Encoded(type, y));
      const Raw t(type);
      Bytes result(SizeOf(type));
      EXPECT_EQ(Invoke(form, name, Count(v.n), Raw(dx.get()), t, Step(v.incx),
                       Raw(dy.get()), t, Step(v.incy), Passed(result), t,
                       Raw(Execution(type))),
                kSuccess);
      EXPECT_EQ(result, Encoded(type, {want})) << NameIn(form, name) << type;
    });
    const Device<std::uint8_t> d(Bytes(64));
    Bytes result(4);
    const Raw t(kR32);
    const Raw p(d.get());
    const Raw other(kR64);
    ExpectRefusals(name, Count(2), p, t, Step(1), p, t, Step(1), Passed(result),
                   t, t);
    EXPECT_EQ(Invoke(kHost, name, Count(2), p, t, Step(1), p, t, Step(1),
                     Passed(result), other, t),
              kNotSupported);
    EXPECT_EQ(Invoke(kHost, name, Count(2), p, t, Step(1), p, t, Step(1),
                     Passed(result), t, other),
              kNotSupported);
  }
}

TEST(CublasEx, NormAndSum) {
  for (const std::string name : {"cublasNrm2Ex", "cublasAsumEx"}) {
    const bool norm = name == "cublasNrm2Ex";
    ForVectors(name, [&](Form form, int type, const Vectors& v) {
      Numbers numbers;
      auto x = Integers(numbers, type, Span(v.n, v.incx) + 1, 40);
      double want = 0;
      for (long i = 0; i < v.n; ++i) {
        // So that the root is exact: one element in two is the only one.
        Complex64& e = x[At(i, v.n, v.incx)];
        if (norm && i > 0) e = 0;
        if (norm) e = IsComplexType(type) ? Complex64(3, -4) * e.real() : e;
        want += norm ? (IsComplexType(type) ? std::abs(e) : std::abs(e.real()))
                     : std::abs(e.real()) + std::abs(e.imag());
      }
      const Device<std::uint8_t> d(Encoded(type, x));
      const Raw t(type);
      const Raw r(RealType(type));
      Bytes result(SizeOf(RealType(type)), 9);
      EXPECT_EQ(Invoke(form, name, Count(v.n), Raw(d.get()), t, Step(v.incx),
                       Passed(result), r, Raw(Execution(RealType(type)))),
                kSuccess);
      EXPECT_EQ(result, Encoded(RealType(type), {want}))
          << NameIn(form, name) << " type " << type << " n " << v.n;
    });
    const Device<std::uint8_t> d(Bytes(64));
    Bytes result(4);
    const Raw t(kR32);
    const Raw p(d.get());
    const Raw c(kC32);
    ExpectRefusals(name, Count(2), p, t, Step(1), Passed(result), t, t);
    EXPECT_EQ(
        Invoke(kHost, name, Count(2), p, c, Step(1), Passed(result), c, t),
        kNotSupported);
    EXPECT_EQ(Invoke(kHost, name, Count(2), p, Raw(kI8), Step(1),
                     Passed(result), t, t),
              kNotSupported);
  }
}

template <typename I>
void TestPlace(const std::string& name, Form form, bool largest) {
  for (const int type : kFloats) {
    for (const long step : {1, 3, -1}) {
      std::vector<Complex64> x(25, 99);
      const double values[] = {3, -5, 1, 5, -1, 4};
      for (long i = 0; i < 6; ++i) {
        x[static_cast<std::size_t>(std::max(step, 1L) * i)] = values[i];
      }
      const Device<std::uint8_t> d(Encoded(type, x));
      I result = -1;
      EXPECT_EQ(Invoke(form, name, Count(6), Raw(d.get()), Raw(type),
                       Step(step), Result(&result)),
                kSuccess);
      EXPECT_EQ(result, step < 0 ? 0 : largest ? 2 : 3) << name << type;
    }
  }
}
TEST(CublasEx, LargestAndSmallest) {
  for (const bool largest : {true, false}) {
    const std::string name = largest ? "cublasIamaxEx" : "cublasIaminEx";
    for (const Form form : {kHost, kDevice})
      TestPlace<int>(name, form, largest);
    for (const Form form : {kHost64, kDevice64}) {
      TestPlace<std::int64_t>(name, form, largest);
    }
    const Device<std::uint8_t> d(Bytes(64));
    std::int64_t result = 0;
    ExpectRefusals(name, Count(2), Raw(d.get()), Raw(kR32), Step(1),
                   Result(&result));
    EXPECT_EQ(Invoke(kHost, name, Count(2), Raw(d.get()), Raw(kI8), Step(1),
                     Result(&result)),
              kNotSupported);
  }
}

TEST(CublasEx, CopyAndSwap) {
  for (const std::string given : {"cublasCopyEx", "cublasSwapEx"}) {
    const std::string& name = given;
    const bool swap = name == "cublasSwapEx";
    ForVectors(name, [&](Form form, int type, const Vectors& v) {
      Numbers numbers;
      auto x = Integers(numbers, type, Span(v.n, v.incx) + 1);
      auto y = Integers(numbers, type, Span(v.n, v.incy) + 1);
      const Device<std::uint8_t> dx(Encoded(type, x)), dy(Encoded(type, y));
      for (long i = 0; i < v.n; ++i) {
        const Complex64 from = x[At(i, v.n, v.incx)];
        if (swap) x[At(i, v.n, v.incx)] = y[At(i, v.n, v.incy)];
        y[At(i, v.n, v.incy)] = from;
      }
      const Raw t(type);
      EXPECT_EQ(Invoke(form, name, Count(v.n), Raw(dx.get()), t, Step(v.incx),
                       Raw(dy.get()), t, Step(v.incy)),
                kSuccess);
      EXPECT_BYTES(dx, type, x);
      EXPECT_BYTES(dy, type, y);
    });
    const Device<std::uint8_t> d(Bytes(64));
    const Raw t(kR32);
    const Raw p(d.get());
    ExpectRefusals(name, Count(2), p, t, Step(1), p, t, Step(1));
    EXPECT_EQ(
        Invoke(kHost, name, Count(2), p, t, Step(1), p, Raw(kR64), Step(1)),
        kNotSupported);
  }
}

TEST(CublasEx, Rotations) {
  const std::string name = "cublasRotEx";
  ForVectors(name, [&](Form form, int type, const Vectors& v) {
    Numbers numbers;
    auto x = Integers(numbers, type, Span(v.n, v.incx) + 1);
    auto y = Integers(numbers, type, Span(v.n, v.incy) + 1);
    const Device<std::uint8_t> dx(Encoded(type, x)), dy(Encoded(type, y));
    const Complex64 s(0.5, IsComplexType(type) ? 2 : 0);
    for (long i = 0; i < v.n; ++i) {
      Complex64& a = x[At(i, v.n, v.incx)];
      Complex64& b = y[At(i, v.n, v.incy)];
      const Complex64 turned = 0.25 * a + s * b;
      b = 0.25 * b - std::conj(s) * a;
      a = turned;
    }
    // The cosine is real; of complex sines NVIDIA takes the cosine as their
    // real type.
    Bytes cosine = Encoded(RealType(type), {0.25}), sine = Encoded(type, {s});
    const Raw t(type);
    EXPECT_EQ(Invoke(form, name, Count(v.n), Raw(dx.get()), t, Step(v.incx),
                     Raw(dy.get()), t, Step(v.incy), Passed(cosine),
                     Passed(sine), t, Raw(Execution(type))),
              kSuccess);
    EXPECT_BYTES(dx, type, x);
    EXPECT_BYTES(dy, type, y);
  });
  const Device<std::uint8_t> d(Bytes(64));
  Bytes one = Encoded(kR32, {1});
  const Raw t(kR32);
  const Raw p(d.get());
  ExpectRefusals(name, Count(2), p, t, Step(1), p, t, Step(1), Passed(one),
                 Passed(one), t, t);
}

TEST(CublasEx, MadeRotations) {
  for (const Form form : FormsOf("cublasRotgEx")) {
    for (const int type : {kR32, kR64, kC32, kC64}) {
      Bytes a = Encoded(type, {4}), b = Encoded(type, {0});
      Bytes c = Encoded(RealType(type), {7}), s = Encoded(type, {7});
      EXPECT_EQ(Invoke(form, "cublasRotgEx", Passed(a), Passed(b), Raw(type),
                       Passed(c), Passed(s), Raw(type), Raw(type)),
                kSuccess);
      EXPECT_EQ(a, Encoded(type, {4}));
      EXPECT_EQ(c, Encoded(RealType(type), {1}));
      EXPECT_EQ(s, Encoded(type, {0}));
    }
    Bytes x(8);
    EXPECT_EQ(Invoke(form, "cublasRotgEx", Passed(x), Passed(x), Raw(kI8),
                     Passed(x), Passed(x), Raw(kI8), Raw(kR32)),
              kNotSupported);
  }
  for (const int type : {kR32, kR64}) {
    const Raw t(type);
    for (const Form form : FormsOf("cublasRotmgEx")) {
      Bytes d1 = Encoded(type, {1}), d2 = Encoded(type, {1});
      Bytes x = Encoded(type, {2}), y = Encoded(type, {0});
      Bytes p = Encoded(type, {7, 7, 7, 7, 7});
      EXPECT_EQ(Invoke(form, "cublasRotmgEx", Passed(d1), t, Passed(d2), t,
                       Passed(x), t, Passed(y), t, Passed(p), t, t),
                kSuccess);
      EXPECT_EQ(p, Encoded(type, {-2, 7, 7, 7, 7}));
    }
    const std::string name = "cublasRotmEx";
    for (const Form form : FormsOf(name)) {
      Bytes p = Encoded(type, {-1, 2, 3, 4, 5});
      const Device<std::uint8_t> x(Encoded(type, {1, 9, 2})),
          y(Encoded(type, {10, 20}));
      EXPECT_EQ(Invoke(form, name, Count(2), Raw(x.get()), t, Step(2),
                       Raw(y.get()), t, Step(1), Passed(p), t, t),
                kSuccess);
      const std::vector<Complex64> wx = {42, 9, 84}, wy = {53, 106};
      EXPECT_BYTES(x, type, wx);
      EXPECT_BYTES(y, type, wy);
    }
  }
  Bytes v(8);
  const Raw half(kR16);
  EXPECT_EQ(Invoke(kHost, "cublasRotmgEx", Passed(v), half, Passed(v), half,
                   Passed(v), half, Passed(v), half, Passed(v), half, half),
            kNotSupported);
  EXPECT_EQ(
      Invoke(kHost, "cublasRotmEx", Count(1), Raw(v.data()), half, Step(1),
             Raw(v.data()), half, Step(1), Passed(v), half, half),
      kNotSupported);
}

}  // namespace
}  // namespace cerberus::libraries::tests
