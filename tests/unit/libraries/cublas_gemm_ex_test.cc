// Products of types told at run time, and those of half precision: integers,
// whose sums are exact in f32, and one rounding, compared bit by bit.
#include <deque>

#include "tests/unit/libraries/typed.h"

namespace cerberus::libraries::tests {
namespace {

// cublasComputeType_t.
constexpr int kCompute16 = 64, kCompute32 = 68, kCompute32Pedantic = 69,
              kCompute64 = 70, kCompute64Pedantic = 71, kComputeI32 = 72,
              kComputeI32Pedantic = 73, kFast16 = 74, kFastB16 = 75,
              kFastTf32 = 77, kEmulatedX9 = 78, kEmulatedFixed = 79;

// The rows of NVIDIA's table for cublasGemmEx: A and B, C, computed as, and the
// type of alpha and beta.
struct Combination {
  int ab, c, compute, scale;
};
constexpr Combination kCombinations[] = {
    {kR16, kR16, kCompute16, kR16},
    {kI8, kI32, kComputeI32, kI32},
    {kI8, kI32, kComputeI32Pedantic, kI32},
    {kB16, kB16, kCompute32, kR32},
    {kR16, kR16, kCompute32, kR32},
    {kI8, kR32, kCompute32, kR32},
    {kB16, kR32, kCompute32, kR32},
    {kR16, kR32, kCompute32Pedantic, kR32},
    {kR32, kR32, kCompute32, kR32},
    {kCI8, kC32, kCompute32, kC32},
    {kC32, kC32, kCompute32, kC32},
    {kR32, kR32, kFast16, kR32},
    {kR32, kR32, kFastB16, kR32},
    {kR32, kR32, kFastTf32, kR32},
    {kR32, kR32, kEmulatedX9, kR32},
    {kC32, kC32, kFastTf32, kC32},
    {kR64, kR64, kCompute64, kR64},
    {kC64, kC64, kCompute64Pedantic, kC64},
    {kR64, kR64, kEmulatedFixed, kR64},
    // Before CUDA 11 the type that it is computed in stood there.
    {kR16, kR16, kR32, kR32},
    {kI8, kI32, kI32, kI32},
    {kC64, kC64, kC64, kC64},
};

Matrix IntegerMatrix(Numbers& numbers, int type, long m, long n, double most) {
  Matrix out(m, n);
  out.v = Integers(numbers, type, out.v.size(), most);
  return out;
}
Bytes InBytes(int type, const Matrix& a, long ld, double beside) {
  return Encoded(type, Stored<Complex64>(a, ld, beside));
}

struct Operands {
  Matrix a, b, want;
  Bytes bytes_a, bytes_b, bytes_c, after;
  long lda, ldb, ldc;
};
struct GemmCase {
  int opa, opb;
  long m, n, k;
  Complex64 alpha, beta;
};
// `unread`: what lies in C where beta is 0; a type without NaN has a number.
Operands MakeOperands(Numbers& numbers, int ab, int c, const GemmCase& g) {
  Operands o;
  // So large that halves round.
  const double most = ab == kI8 || ab == kCI8 ? 100 : 40;
  o.a = g.opa == kN ? IntegerMatrix(numbers, ab, g.m, g.k, most)
                    : IntegerMatrix(numbers, ab, g.k, g.m, most);
  o.b = g.opb == kN ? IntegerMatrix(numbers, ab, g.k, g.n, most)
                    : IntegerMatrix(numbers, ab, g.n, g.k, most);
  const Matrix before = IntegerMatrix(numbers, c, g.m, g.n, 8);
  o.want = Times(Apply(g.opa, o.a), Apply(g.opb, o.b));
  for (std::size_t i = 0; i < o.want.v.size(); ++i) {
    o.want.v[i] = g.alpha * o.want.v[i] + g.beta * before.v[i];
  }
  // NVIDIA wants steps of four for integers.
  o.lda = (o.a.rows + 4) / 4 * 4;
  o.ldb = (o.b.rows + 4) / 4 * 4;
  o.ldc = g.m + 3;
  o.bytes_a = InBytes(ab, o.a, o.lda, 111);
  o.bytes_b = InBytes(ab, o.b, o.ldb, 111);
  o.bytes_c = InBytes(c, before, o.ldc, 77);
  o.after = InBytes(c, o.want, o.ldc, 77);
  if (g.beta == 0.0 && c != kI32) {
    Matrix nans(g.m, g.n);
    // All bits: NaN in each of the floats.
    Bytes all = Encoded(c, Stored<Complex64>(nans, o.ldc, 77));
    const std::size_t size = SizeOf(c);
    for (long j = 0; j < g.n; ++j) {
      for (long i = 0; i < g.m; ++i) {
        std::fill_n(all.begin() + static_cast<long>(size) * (i + j * o.ldc),
                    size, std::uint8_t{0xff});
      }
    }
    o.bytes_c = all;
  }
  return o;
}

class BytesBatch {
 public:
  void Add(const Bytes& bytes) { arrays_.emplace_back(bytes); }
  std::uint8_t** Pointers() {
    std::vector<std::uint8_t*> all;
    all.reserve(arrays_.size() + 1);
    for (const auto& array : arrays_) all.push_back(array.get());
    all.push_back(nullptr);
    pointers_.emplace_back(all);
    return pointers_.back().get();
  }
  Bytes Read(std::size_t i) const { return arrays_[i].Read(); }

 private:
  std::deque<Device<std::uint8_t>> arrays_;
  std::deque<Device<std::uint8_t*>> pointers_;
};

std::string Told(Form form, const std::string& name, const Combination& c,
                 const GemmCase& g) {
  return NameIn(form, name) + " form " + std::to_string(form) + " types " +
         std::to_string(c.ab) + " " + std::to_string(c.c) + " compute " +
         std::to_string(c.compute) + " ops " + std::to_string(g.opa) +
         std::to_string(g.opb);
}

// One matrix; many by pointers; many by strides.
void TestGemmEx(Form form, const Combination& c, const GemmCase& g) {
  Numbers numbers;
  const Operands o = MakeOperands(numbers, c.ab, c.c, g);
  Bytes alpha = Encoded(c.scale, {g.alpha}), beta = Encoded(c.scale, {g.beta});
  const Device<std::uint8_t> a(o.bytes_a), b(o.bytes_b), out(o.bytes_c);
  const Raw ab(c.ab);
  const Raw tc(c.c);
  const Raw compute(c.compute);
  const Raw algorithm(-1);
  EXPECT_EQ(
      Invoke(form, "cublasGemmEx", Op(g.opa), Op(g.opb), Size(g.m), Size(g.n),
             Size(g.k), Passed(alpha), Raw(a.get()), ab, Ld(o.lda, o.a.rows),
             Raw(b.get()), ab, Ld(o.ldb, o.b.rows), Passed(beta),
             Raw(out.get()), tc, Ld(o.ldc, g.m), compute, algorithm),
      kSuccess)
      << Told(form, "cublasGemmEx", c, g);
  EXPECT_EQ(out.Read(), o.after) << Told(form, "cublasGemmEx", c, g);
}
void TestBatchedEx(Form form, const Combination& c, const GemmCase& g,
                   long count) {
  Numbers numbers;
  BytesBatch a, b, out;
  Bytes row_a, row_b, row_out, after;
  std::vector<Operands> all;
  const auto join = [](Bytes* to, const Bytes& from) {
    to->insert(to->end(), from.begin(), from.end());
  };
  for (long i = 0; i < count; ++i) {
    const Operands& o = all.emplace_back(MakeOperands(numbers, c.ab, c.c, g));
    a.Add(o.bytes_a), b.Add(o.bytes_b), out.Add(o.bytes_c);
    join(&row_a, o.bytes_a), join(&row_b, o.bytes_b);
    join(&row_out, o.bytes_c), join(&after, o.after);
  }
  if (count == 0) all.push_back(MakeOperands(numbers, c.ab, c.c, g));
  const Operands& o = all[0];
  Bytes alpha = Encoded(c.scale, {g.alpha}), beta = Encoded(c.scale, {g.beta});
  const Raw ab(c.ab);
  const Raw tc(c.c);
  const Raw compute(c.compute);
  const Raw algorithm(99);
  EXPECT_EQ(Invoke(form, "cublasGemmBatchedEx", Op(g.opa), Op(g.opb), Size(g.m),
                   Size(g.n), Size(g.k), Passed(alpha), Raw(a.Pointers()), ab,
                   Ld(o.lda, o.a.rows), Raw(b.Pointers()), ab,
                   Ld(o.ldb, o.b.rows), Passed(beta), Raw(out.Pointers()), tc,
                   Ld(o.ldc, g.m), Size(count), compute, algorithm),
            kSuccess);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    EXPECT_EQ(out.Read(i), all[i].after)
        << Told(form, "cublasGemmBatchedEx", c, g);
  }
  const auto step = [](const Bytes& bytes, int type) {
    return Raw(static_cast<long long>(bytes.size() / SizeOf(type)));
  };
  const Device<std::uint8_t> da(row_a), db(row_b), dc(row_out);
  EXPECT_EQ(
      Invoke(form, "cublasGemmStridedBatchedEx", Op(g.opa), Op(g.opb),
             Size(g.m), Size(g.n), Size(g.k), Passed(alpha), Raw(da.get()), ab,
             Ld(o.lda, o.a.rows), step(o.bytes_a, c.ab), Raw(db.get()), ab,
             Ld(o.ldb, o.b.rows), step(o.bytes_b, c.ab), Passed(beta),
             Raw(dc.get()), tc, Ld(o.ldc, g.m), step(o.bytes_c, c.c),
             Size(count), compute, algorithm),
      kSuccess);
  EXPECT_EQ(dc.Read(), after) << Told(form, "cublasGemmStridedBatchedEx", c, g);
}
Complex64 Factor(double value, int type) {
  return {value, IsComplexType(type) ? value - 1 : 0};
}
TEST(CublasGemmEx, TypesOfTheTable) {
  for (const Form form : FormsOf("cublasGemmEx")) {
    for (const Combination& c : kCombinations) {
      // Halves that are computed in halves: no more than those hold.
      const long k = c.compute == kCompute16 ? 1 : 5;
      for (int ops = 0; ops < 9; ++ops) {
        TestGemmEx(form, c, {ops % 3, ops / 3, 6, 3, k, Factor(2, c.scale), 0});
      }
      TestGemmEx(form, c, {kN, kT, 1, 9, k, 1, Factor(3, c.scale)});
      TestGemmEx(form, c, {kN, kT, 0, 9, k, 1, 3});
      TestGemmEx(form, c, {kN, kT, 3, 2, 0, 1, 3});
      for (const long count : {0, 1, 3}) {
        TestBatchedEx(form, c, {kN, kT, 5, 3, k, 1, Factor(2, c.scale)}, count);
        TestBatchedEx(form, c, {kC, kN, 2, 3, k, Factor(2, c.scale), 0}, count);
      }
    }
  }
}
// Sums of halves between two halves, by hand: 2049 and 2051 in binary16, 257
// and 259 in bfloat16.
TEST(CublasGemmEx, TiesAreRoundedToEven) {
  struct Tie {
    int type;
    double large, even_below, even_above;
  };
  for (const Tie& t : {Tie{kR16, 2048, 2048, 2052}, {kB16, 256, 256, 260}}) {
    const Device<std::uint8_t> a(Encoded(t.type, {1, 1})),
        b(Encoded(t.type, {t.large, 1, t.large, 3})), c(Bytes(4));
    Bytes one = Encoded(kR32, {1}), zero = Encoded(kR32, {0});
    const Raw type(t.type);
    EXPECT_EQ(Invoke(kHost, "cublasGemmEx", Op(kN), Op(kN), Size(1), Size(2),
                     Size(2), Passed(one), Raw(a.get()), type, Ld(1, 1),
                     Raw(b.get()), type, Ld(2, 2), Passed(zero), Raw(c.get()),
                     type, Ld(1, 1), Raw(kCompute32), Raw(-1)),
              kSuccess);
    EXPECT_EQ(c.Read(), Encoded(t.type, {t.even_below, t.even_above}));
  }
}
TEST(CublasGemmEx, Refusals) {
  const Device<std::uint8_t> d(Bytes(512));
  BytesBatch batch;
  batch.Add(Bytes(512));
  const Raw p(d.get());
  const Raw pp(batch.Pointers());
  const Raw t(kR32);
  const Raw f(kCompute32);
  const Raw any(-1);
  const Raw<long long> step(16);
  Bytes one = Encoded(kR64, {1});
  const auto s = Passed(one);
  ExpectRefusals("cublasGemmEx", Op(kN), Op(kT), Size(3), Size(4), Size(2), s,
                 p, t, Ld(3, 3), p, t, Ld(4, 4), s, p, t, Ld(3, 3), f, any);
  ExpectRefusals("cublasGemmBatchedEx", Op(kN), Op(kT), Size(3), Size(4),
                 Size(2), s, pp, t, Ld(3, 3), pp, t, Ld(4, 4), s, pp, t,
                 Ld(3, 3), Size(1), f, any);
  ExpectRefusals("cublasGemmStridedBatchedEx", Op(kN), Op(kT), Size(3), Size(4),
                 Size(2), s, p, t, Ld(3, 3), step, p, t, Ld(4, 4), step, s, p,
                 t, Ld(3, 3), step, Size(1), f, any);
  for (const Combination& c : {Combination{kR64, kR64, kCompute32, 0},
                               {kR32, kR32, kCompute64, 0},
                               {kR16, kR32, kCompute16, 0},
                               {kI8, kI8, kComputeI32, 0},
                               {kR32, kR16, kCompute32, 0},
                               {kC32, kR32, kCompute32, 0},
                               {kI32, kI32, kComputeI32, 0},
                               {kR16, kR16, kFast16, 0},
                               {kR32, kR32, 1234, 0},
                               {99, 99, kCompute32, 0}}) {
    const Raw ab(c.ab);
    const Raw tc(c.c);
    const Raw compute(c.compute);
    EXPECT_EQ(Invoke(kHost, "cublasGemmEx", Op(kN), Op(kN), Size(1), Size(1),
                     Size(1), s, p, ab, Ld(1, 1), p, ab, Ld(1, 1), s, p, tc,
                     Ld(1, 1), compute, any),
              kNotSupported)
        << c.ab << " " << c.c << " " << c.compute;
  }
  EXPECT_EQ(Invoke(kHost, "cublasGemmEx", Op(kN), Op(kN), Size(1), Size(1),
                   Size(1), s, p, Raw(kR16), Ld(1, 1), p, Raw(kB16), Ld(1, 1),
                   s, p, t, Ld(1, 1), f, any),
            kNotSupported);
}

// cublasSgemmEx and its kin: S is the type of alpha and beta.
template <typename S>
void TestScalarGemmEx(const std::string& name,
                      const std::vector<std::pair<int, int>>& types) {
  for (const Form form : FormsOf(name)) {
    for (const auto& [ab, c] : types) {
      for (int ops = 0; ops < 9; ++ops) {
        Numbers numbers;
        const Complex64 beta = ops % 2 == 0 ? 0 : 3;
        const GemmCase g{ops % 3, ops / 3, 4, 3, 5, 2, beta};
        const Operands o = MakeOperands(numbers, ab, c, g);
        const Device<std::uint8_t> a(o.bytes_a), b(o.bytes_b), out(o.bytes_c);
        EXPECT_EQ(
            Invoke(form, name, Op(g.opa), Op(g.opb), Size(g.m), Size(g.n),
                   Size(g.k), Scalar(To<S>(g.alpha)), Raw(a.get()),
                   Raw<int>(ab), Ld(o.lda, o.a.rows), Raw(b.get()),
                   Raw<int>(ab), Ld(o.ldb, o.b.rows), Scalar(To<S>(g.beta)),
                   Raw(out.get()), Raw<int>(c), Ld(o.ldc, g.m)),
            kSuccess)
            << name << ab << c;
        EXPECT_EQ(out.Read(), o.after) << name << " " << ab << " " << c;
      }
    }
  }
  const Device<std::uint8_t> d(Bytes(512));
  const Raw p(d.get());
  const Raw t(types[0].first);
  const Raw tc(types[0].second);
  ExpectRefusals(name, Op(kN), Op(kT), Size(3), Size(4), Size(2), Scalar(S(1)),
                 p, t, Ld(3, 3), p, t, Ld(4, 4), Scalar(S(1)), p, tc, Ld(3, 3));
  EXPECT_EQ(Invoke(kHost, name, Op(kN), Op(kT), Size(3), Size(4), Size(2),
                   Scalar(S(1)), p, Raw(kR64), Ld(3, 3), p, Raw(kR64), Ld(4, 4),
                   Scalar(S(1)), p, Raw(kR64), Ld(3, 3)),
            kNotSupported);
}
TEST(CublasGemmEx, ScalarsOfOneType) {
  TestScalarGemmEx<float>("cublasSgemmEx", {{kR32, kR32},
                                            {kB16, kB16},
                                            {kR16, kR16},
                                            {kI8, kR32},
                                            {kB16, kR32},
                                            {kR16, kR32}});
  TestScalarGemmEx<Complex32>("cublasCgemmEx", {{kC32, kC32}, {kCI8, kC32}});
  TestScalarGemmEx<Complex32>("cublasCgemm3mEx", {{kC32, kC32}, {kCI8, kC32}});
}

template <typename S>
void TestRankKEx(const std::string& name, bool hermitian) {
  for (const Form form : FormsOf(name)) {
    for (const int type : {kC32, kCI8}) {
      for (int bits = 0; bits < 4; ++bits) {
        const int fill = bits & 1, turn = hermitian ? kC : kT,
                  op = bits >> 1 != 0 ? turn : kN;
        Numbers numbers;
        const long n = 4, k = 3;
        const Matrix a = op == kN ? IntegerMatrix(numbers, type, n, k, 8)
                                  : IntegerMatrix(numbers, type, k, n, 8);
        const Matrix c =
            Mirrored(IntegerMatrix(numbers, kC32, n, n, 8), hermitian);
        const Matrix full = Apply(op, a);
        Matrix want = Times(full, Apply(turn, full));
        for (long j = 0; j < n; ++j) {
          for (long i = 0; i < n; ++i) {
            const bool outside = fill == kUpper ? i > j : i < j;
            want(i, j) = outside ? c(i, j) : 2.0 * want(i, j) + 3.0 * c(i, j);
          }
        }
        const Device<std::uint8_t> da(InBytes(type, a, 5, 111));
        const Device<std::uint8_t> dc(InBytes(kC32, c, 6, 77));
        EXPECT_EQ(Invoke(form, name, Fill(fill), Op(op), Size(n), Size(k),
                         Scalar(S(2)), Raw(da.get()), Raw(type), Ld(5, a.rows),
                         Scalar(S(3)), Raw(dc.get()), Raw(kC32), Ld(6, n)),
                  kSuccess);
        EXPECT_EQ(dc.Read(), InBytes(kC32, want, 6, 77)) << name << type;
      }
    }
  }
  const Device<std::uint8_t> d(Bytes(512));
  const Raw p(d.get());
  const Raw tc(kC32);
  for (const int type : {kC32, kCI8}) {
    ExpectRefusals(name, Fill(kLower), Op(kN), Size(3), Size(2), Scalar(S(1)),
                   p, Raw(type), Ld(3, 3), Scalar(S(1)), p, tc, Ld(3, 3));
  }
  EXPECT_EQ(
      Invoke(kHost, name, Fill(kLower), Op(kN), Size(3), Size(2), Scalar(S(1)),
             p, Raw(kR32), Ld(3, 3), Scalar(S(1)), p, tc, Ld(3, 3)),
      kNotSupported);
  EXPECT_EQ(
      Invoke(kHost, name, Fill(kLower), Op(kN), Size(3), Size(2), Scalar(S(1)),
             p, tc, Ld(3, 3), Scalar(S(1)), p, Raw(kC64), Ld(3, 3)),
      kNotSupported);
}
TEST(CublasGemmEx, RankK) {
  TestRankKEx<Complex32>("cublasCsyrkEx", false);
  TestRankKEx<Complex32>("cublasCsyrk3mEx", false);
  TestRankKEx<float>("cublasCherkEx", true);
  TestRankKEx<float>("cublasCherk3mEx", true);
}

// --- Half precision by name
TEST(CublasHalf, Gemm) {
  const auto half = [](double value) {
    return Scalar(static_cast<std::uint16_t>(Binary16().Round(value, false)));
  };
  for (const Form form : FormsOf("cublasHgemm")) {
    for (int ops = 0; ops < 9; ++ops) {
      Numbers numbers;
      const GemmCase g{ops % 3, ops / 3, 4, 3, 1, 2, ops % 2 == 0 ? 0.0 : 3.0};
      const Operands o = MakeOperands(numbers, kR16, kR16, g);
      const Device<std::uint8_t> a(o.bytes_a), b(o.bytes_b);
      const Device<std::uint8_t> one(o.bytes_c), two(o.bytes_c),
          three(o.bytes_c);
      const auto pointers = [](const Device<std::uint8_t>& d) {
        return std::vector<std::uint8_t*>{d.get()};
      };
      const Device<std::uint8_t*> pa(pointers(a)), pb(pointers(b)),
          pc(pointers(two));
      const Op opa(g.opa), opb(g.opb);
      const Size m(g.m), n(g.n), k(g.k), count(1);
      const Ld lda(o.lda, o.a.rows), ldb(o.ldb, o.b.rows), ldc(o.ldc, g.m);
      const auto alpha = half(2), beta = half(g.beta.real());
      const Raw<long long> step(64);
      EXPECT_EQ(
          Invoke(form, "cublasHgemm", opa, opb, m, n, k, alpha, Raw(a.get()),
                 lda, Raw(b.get()), ldb, beta, Raw(one.get()), ldc),
          kSuccess);
      EXPECT_EQ(Invoke(form, "cublasHgemmBatched", opa, opb, m, n, k, alpha,
                       Raw(pa.get()), lda, Raw(pb.get()), ldb, beta,
                       Raw(pc.get()), ldc, count),
                kSuccess);
      EXPECT_EQ(Invoke(form, "cublasHgemmStridedBatched", opa, opb, m, n, k,
                       alpha, Raw(a.get()), lda, step, Raw(b.get()), ldb, step,
                       beta, Raw(three.get()), ldc, step, count),
                kSuccess);
      for (const auto* out : {&one, &two, &three}) {
        EXPECT_EQ(out->Read(), o.after) << NameIn(form, "cublasHgemm") << ops;
      }
    }
  }
  const Device<std::uint8_t> d(Bytes(512));
  const Raw p(d.get());
  ExpectRefusals("cublasHgemm", Op(kN), Op(kT), Size(3), Size(4), Size(2),
                 half(1), p, Ld(3, 3), p, Ld(4, 4), half(1), p, Ld(3, 3));
}

void TestHalfGemv(Form form, const std::string& letters, int type, int result,
                  int op, double beta) {
  Numbers numbers;
  const long m = 5, n = 3, count = 3;
  const long nx = op == kN ? n : m, ny = op == kN ? m : n;
  BytesBatch a, x, y;
  Bytes row_a, row_x, row_y, after;
  std::vector<Bytes> wants;
  const auto join = [](Bytes* to, const Bytes& from) {
    to->insert(to->end(), from.begin(), from.end());
  };
  for (long i = 0; i < count; ++i) {
    const Matrix ma = IntegerMatrix(numbers, type, m, n, 60);
    const Matrix mx = IntegerMatrix(numbers, type, nx, 1, 60);
    const Matrix my = IntegerMatrix(numbers, result, ny, 1, 8);
    const Matrix product = Times(Apply(op, ma), mx);
    std::vector<Complex64> memory_x(Span(nx, 2) + 1, 111),
        before(Span(ny, -2) + 1, 77);
    for (long e = 0; e < nx; ++e) memory_x[At(e, nx, 2)] = mx(e, 0);
    std::vector<Complex64> want = before;
    for (long e = 0; e < ny; ++e) {
      before[At(e, ny, -2)] = my(e, 0);
      want[At(e, ny, -2)] = 2.0 * product(e, 0) + beta * my(e, 0);
    }
    a.Add(InBytes(type, ma, m + 1, 111));
    x.Add(Encoded(type, memory_x));
    y.Add(Encoded(result, before));
    wants.push_back(Encoded(result, want));
    join(&row_a, InBytes(type, ma, m + 1, 111));
    join(&row_x, Encoded(type, memory_x));
    join(&row_y, Encoded(result, before));
    join(&after, wants.back());
  }
  const std::string batched = "cublas" + letters + "gemvBatched",
                    strided = "cublas" + letters + "gemvStridedBatched";
  EXPECT_EQ(Invoke(form, batched, Op(op), Size(m), Size(n), Scalar(2.0f),
                   Raw(a.Pointers()), Ld(m + 1, m), Raw(x.Pointers()), Inc(2),
                   Scalar(static_cast<float>(beta)), Raw(y.Pointers()), Inc(-2),
                   Size(count)),
            kSuccess);
  for (std::size_t i = 0; i < wants.size(); ++i) {
    EXPECT_EQ(y.Read(i), wants[i]) << NameIn(form, batched) << " op " << op;
  }
  const auto step = [&](const Bytes& row, int t) {
    return Raw(static_cast<long long>(row.size() / SizeOf(t)) / count);
  };
  const Device<std::uint8_t> da(row_a), dx(row_x), dy(row_y);
  EXPECT_EQ(
      Invoke(form, strided, Op(op), Size(m), Size(n), Scalar(2.0f),
             Raw(da.get()), Ld(m + 1, m), step(row_a, type), Raw(dx.get()),
             Inc(2), step(row_x, type), Scalar(static_cast<float>(beta)),
             Raw(dy.get()), Inc(-2), step(row_y, result), Size(count)),
      kSuccess);
  EXPECT_EQ(dy.Read(), after) << NameIn(form, strided) << " op " << op;
}
TEST(CublasHalf, GemvOfManyMatrices) {
  struct Types {
    const char* letters;
    int type, result;
  };
  for (const Types& t : {Types{"HSH", kR16, kR16},
                         {"HSS", kR16, kR32},
                         {"TST", kB16, kB16},
                         {"TSS", kB16, kR32}}) {
    const std::string name =
        std::string("cublas") + t.letters + "gemvStridedBatched";
    for (const Form form : FormsOf(name)) {
      for (const int op : {kN, kT, kC}) {
        for (const double beta : {0.0, 3.0}) {
          TestHalfGemv(form, t.letters, t.type, t.result, op, beta);
        }
      }
    }
    const Device<std::uint8_t> d(Bytes(512));
    const Raw p(d.get());
    const Raw<long long> step(16);
    ExpectRefusals(name, Op(kN), Size(3), Size(2), Scalar(1.0f), p, Ld(3, 3),
                   step, p, Inc(1), step, Scalar(1.0f), p, Inc(1), step,
                   Size(1));
  }
}

}  // namespace
}  // namespace cerberus::libraries::tests
