// Many matrices in one call, each against a plain loop of its own.
#include <deque>

#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {
namespace {

constexpr double kUnits = 64;

// An array of pointers to matrices on the device.
template <typename T>
class Batch {
 public:
  void Add(const std::vector<T>& memory) { arrays_.emplace_back(memory); }
  // To be called when all are there.
  T** Pointers() {
    std::vector<T*> pointers;
    pointers.reserve(arrays_.size() + 1);
    for (const Device<T>& array : arrays_) pointers.push_back(array.get());
    pointers.push_back(nullptr);
    pointers_.emplace_back(pointers);
    return pointers_.back().get();
  }
  const Device<T>& operator[](std::size_t i) const { return arrays_[i]; }

 private:
  std::deque<Device<T>> arrays_;
  std::deque<Device<T*>> pointers_;
};

// One product: op(A) op(B), what C was and what it becomes.
struct Product {
  int opa, opb;
  long m, n, k;
  Matrix a, b, c, want;
  long lda() const { return a.rows + 1; }
  long ldb() const { return b.rows + 2; }
  long ldc() const { return c.rows + 1; }
};
template <typename T>
Product MakeProduct(Numbers& numbers, int opa, int opb, long m, long n, long k,
                    Complex64 alpha, Complex64 beta) {
  Product p{opa, opb, m, n, k, {}, {}, {}, {}};
  p.a = opa == kN ? RandomMatrix<T>(numbers, m, k)
                  : RandomMatrix<T>(numbers, k, m);
  p.b = opb == kN ? RandomMatrix<T>(numbers, k, n)
                  : RandomMatrix<T>(numbers, n, k);
  p.c = RandomMatrix<T>(numbers, m, n);
  p.want = Times(Apply(opa, p.a), Apply(opb, p.b));
  for (std::size_t i = 0; i < p.want.v.size(); ++i) {
    p.want.v[i] = alpha * p.want.v[i] + (beta == 0.0 ? 0.0 : beta * p.c.v[i]);
  }
  if (beta == 0.0) {
    for (Complex64& value : p.c.v) value = kNan;
  }
  return p;
}
constexpr double kBetas[] = {0, -1.5};

template <typename T>
void TestGemmBatched(const std::string& name, Form form, int opa, int opb,
                     long count, double beta) {
  Numbers numbers;
  std::vector<Product> products;
  Batch<T> a, b, c;
  for (long i = 0; i < count; ++i) {
    const Product& p = products.emplace_back(
        MakeProduct<T>(numbers, opa, opb, 4, 5, 3, 0.5, beta));
    a.Add(Stored<T>(p.a, p.lda(), kNan));
    b.Add(Stored<T>(p.b, p.ldb(), kNan));
    c.Add(Stored<T>(p.c, p.ldc(), kGuard));
  }
  const long rows_a = opa == kN ? 4 : 3, rows_b = opb == kN ? 3 : 5;
  EXPECT_EQ(
      Invoke(form, name, Op(opa), Op(opb), Size(4), Size(5), Size(3),
             Scalar(To<T>(0.5)), Raw(a.Pointers()), Ld(rows_a + 1, rows_a),
             Raw(b.Pointers()), Ld(rows_b + 2, rows_b), Scalar(To<T>(beta)),
             Raw(c.Pointers()), Ld(5, 4), Size(count)),
      kSuccess);
  for (std::size_t i = 0; i < products.size(); ++i) {
    ExpectSame(c[i],
               Stored<Complex64>(products[i].want, products[i].ldc(), kGuard),
               kUnits, NameIn(form, name) + " of " + std::to_string(i));
  }
}
template <typename T>
void TestGemmStrided(const std::string& name, Form form, int opa, int opb,
                     long count, double beta) {
  Numbers numbers;
  std::vector<T> a(1), b(1), c(1);
  std::vector<Complex64> want(1, kGuard);
  c[0] = To<T>(kGuard);
  const long rows_a = opa == kN ? 4 : 3, rows_b = opb == kN ? 3 : 5;
  std::size_t step_a = 0, step_b = 0, step_c = 0;
  for (long i = 0; i < count; ++i) {
    const Product p = MakeProduct<T>(numbers, opa, opb, 4, 5, 3, 0.5, beta);
    const auto add = [](auto& to, const auto& from, std::size_t more) {
      to.insert(to.end() - 1, from.begin(), from.end());
      to.insert(to.end() - 1, more, to.back());
      return from.size() + more;
    };
    step_a = add(a, Stored<T>(p.a, p.lda(), kNan), 2);
    step_b = add(b, Stored<T>(p.b, p.ldb(), kNan), 0);
    step_c = add(c, Stored<T>(p.c, p.ldc(), kGuard), 3);
    add(want, Stored<Complex64>(p.want, p.ldc(), kGuard), 3);
  }
  const Device<T> da(a), db(b), dc(c);
  using Stride = Raw<long long>;
  EXPECT_EQ(
      Invoke(form, name, Op(opa), Op(opb), Size(4), Size(5), Size(3),
             Scalar(To<T>(0.5)), Raw(da.get()), Ld(rows_a + 1, rows_a),
             Stride(static_cast<long long>(step_a)), Raw(db.get()),
             Ld(rows_b + 2, rows_b), Stride(static_cast<long long>(step_b)),
             Scalar(To<T>(beta)), Raw(dc.get()), Ld(5, 4),
             Stride(static_cast<long long>(step_c)), Size(count)),
      kSuccess);
  ExpectSame(dc, want, kUnits, NameIn(form, name));
}
template <typename T>
void TestGemms(const std::string& letters) {
  const std::string batched = letters + "Batched",
                    strided = letters + "StridedBatched";
  for (const Form form : FormsOf(strided)) {
    for (int ops = 0; ops < 9; ++ops) {
      for (const long count : {0, 1, 3}) {
        for (const double beta : kBetas) {
          if (HasCublas(batched)) {
            TestGemmBatched<T>(batched, form, ops % 3, ops / 3, count, beta);
          }
          TestGemmStrided<T>(strided, form, ops % 3, ops / 3, count, beta);
        }
      }
    }
  }
  Batch<T> batch;
  batch.Add(std::vector<T>(80, T(1)));
  T** const p = batch.Pointers();
  const Scalar one(T(1));
  if (HasCublas(batched)) {
    ExpectRefusals(batched, Op(kN), Op(kN), Size(3), Size(4), Size(2), one,
                   Raw(p), Ld(3, 3), Raw(p), Ld(2, 2), one, Raw(p), Ld(3, 3),
                   Size(1));
  }
  T* const d = batch[0].get();
  const Raw<long long> stride(20);
  ExpectRefusals(strided, Op(kN), Op(kN), Size(3), Size(4), Size(2), one,
                 Raw(d), Ld(3, 3), stride, Raw(d), Ld(2, 2), stride, one,
                 Raw(d), Ld(3, 3), stride, Size(1));
}
TEST(CublasBatched, Gemm) {
  ForAll([]<typename T>() { TestGemms<T>(Name<T>("gemm")); });
  TestGemms<Complex32>("cublasCgemm3m");
}

// A stride of 0 gives all products one A; batches may lie beside each other in
// the rows of one matrix.
TEST(CublasBatched, StridesThatOverlap) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("gemmStridedBatched");
    for (const Form form : FormsOf(name)) {
      Numbers numbers;
      const Matrix a = RandomMatrix<T>(numbers, 2, 2);
      const Matrix b = RandomMatrix<T>(numbers, 6, 3);
      Matrix want(6, 3);
      for (long i = 0; i < 6; ++i) {
        for (long j = 0; j < 3; ++j) {
          for (long l = 0; l < 2; ++l) {
            want(i, j) += a(i % 2, l) * b(i / 2 * 2 + l, j);
          }
        }
      }
      const Device<T> da(Stored<T>(a, 2, 0)), db(Stored<T>(b, 6, 0));
      const Device<T> dc(std::vector<T>(18, T(0)));
      const Raw<long long> none(0), two(2);
      EXPECT_EQ(Invoke(form, name, Op(kN), Op(kN), Size(2), Size(3), Size(2),
                       Scalar(T(1)), Raw(da.get()), Ld(2, 2), none,
                       Raw(db.get()), Ld(6, 2), two, Scalar(T(0)),
                       Raw(dc.get()), Ld(6, 2), two, Size(3)),
                kSuccess);
      ExpectSame(dc, want.v, kUnits, NameIn(form, name));
    }
  });
}

// I is the type of sizes, which are arrays here.
template <typename T, typename I>
void TestGrouped(const std::string& name, Form form, int scalars) {
  Numbers numbers;
  const int ops_a[] = {kN, kT, kN}, ops_b[] = {kT, kN, kN};
  const I m[] = {3, 4, 1}, n[] = {2, 5, 1}, k[] = {4, 3, 0}, size[] = {2, 3, 1};
  const T alpha[] = {T(0.5), T(2), T(1)}, beta[] = {T(1), T(0), T(-2)};
  I lda[3], ldb[3], ldc[3];
  Batch<T> a, b, c;
  std::vector<Product> products;
  for (int g = 0; g < 3; ++g) {
    for (I i = 0; i < size[g]; ++i) {
      const Product& p = products.emplace_back(MakeProduct<T>(
          numbers, ops_a[g], ops_b[g], m[g], n[g], k[g], alpha[g], beta[g]));
      a.Add(Stored<T>(p.a, p.lda(), kNan));
      b.Add(Stored<T>(p.b, p.ldb(), kNan));
      c.Add(Stored<T>(p.c, p.ldc(), kGuard));
      lda[g] = static_cast<I>(p.lda());
      ldb[g] = static_cast<I>(p.ldb());
      ldc[g] = static_cast<I>(p.ldc());
    }
  }
  const auto call = [&](const I* lds) {
    if (scalars < 0) {
      return Invoke(form, name, Raw(ops_a), Raw(ops_b), Raw(m), Raw(n), Raw(k),
                    Raw(alpha), Raw(a.Pointers()), Raw(lds), Raw(b.Pointers()),
                    Raw<I*>(ldb), Raw(beta), Raw(c.Pointers()), Raw<I*>(ldc),
                    Size(3), Raw(size));
    }
    // cublasGemmGroupedBatchedEx.
    const Raw type(scalars), compute(scalars == 0 ? 68 : 70);
    return Invoke(form, name, Raw(ops_a), Raw(ops_b), Raw(m), Raw(n), Raw(k),
                  Raw(alpha), Raw(a.Pointers()), type, Raw(lds),
                  Raw(b.Pointers()), type, Raw<I*>(ldb), Raw(beta),
                  Raw(c.Pointers()), type, Raw<I*>(ldc), Size(3), Raw(size),
                  compute);
  };
  // A group that is wrong is refused before any is under way.
  EXPECT_EQ(call(lda), kSuccess);
  for (std::size_t i = 0; i < products.size(); ++i) {
    ExpectSame(c[i],
               Stored<Complex64>(products[i].want, products[i].ldc(), kGuard),
               kUnits, NameIn(form, name) + " of " + std::to_string(i));
  }
}
TEST(CublasBatched, GroupedGemm) {
  // Scalars are the host's in both modes.
  TestGrouped<float, int>("cublasSgemmGroupedBatched", kHost, -1);
  TestGrouped<float, std::int64_t>("cublasSgemmGroupedBatched", kHost64, -1);
  TestGrouped<double, int>("cublasDgemmGroupedBatched", kHost, -1);
  TestGrouped<double, std::int64_t>("cublasDgemmGroupedBatched", kHost64, -1);
  TestGrouped<float, int>("cublasGemmGroupedBatchedEx", kHost, 0);
  TestGrouped<double, int>("cublasGemmGroupedBatchedEx", kHost, 1);
  TestGrouped<float, std::int64_t>("cublasGemmGroupedBatchedEx", kHost64, 0);
}

// --- gemv
struct GemvCase {
  int op;
  long m, n, incx, incy, count;
  double beta;
};
template <typename T>
struct GemvOperands {
  Matrix a, x, y, want;
  std::vector<T> memory_a, memory_x, memory_y;
  std::vector<Complex64> after;
};
template <typename T>
GemvOperands<T> MakeGemv(Numbers& numbers, const GemvCase& c) {
  GemvOperands<T> o;
  o.a = RandomMatrix<T>(numbers, c.m, c.n);
  const long length_x = c.op == kN ? c.n : c.m;
  const long length_y = c.op == kN ? c.m : c.n;
  o.x = RandomMatrix<T>(numbers, length_x, 1);
  o.y = RandomMatrix<T>(numbers, length_y, 1);
  o.want = Times(Apply(c.op, o.a), o.x);
  o.memory_a = Stored<T>(o.a, c.m + 1, kNan);
  o.memory_x.assign(Span(length_x, c.incx) + 1, To<T>(kNan));
  o.memory_y.assign(Span(length_y, c.incy) + 1, To<T>(kGuard));
  for (long i = 0; i < length_x; ++i) {
    o.memory_x[At(i, length_x, c.incx)] = To<T>(o.x(i, 0));
  }
  o.after = Widened(o.memory_y);
  for (long i = 0; i < length_y; ++i) {
    const std::size_t at = At(i, length_y, c.incy);
    o.memory_y[at] = To<T>(c.beta == 0 ? kNan : o.y(i, 0));
    o.after[at] = 0.5 * o.want(i, 0) + (c.beta == 0 ? 0 : c.beta * o.y(i, 0));
  }
  return o;
}
template <typename T>
void TestGemvBatched(Form form, const GemvCase& c) {
  const std::string name = Name<T>("gemvBatched");
  Numbers numbers;
  Batch<T> a, x, y;
  std::vector<GemvOperands<T>> all;
  for (long i = 0; i < c.count; ++i) {
    const auto& o = all.emplace_back(MakeGemv<T>(numbers, c));
    a.Add(o.memory_a);
    x.Add(o.memory_x);
    y.Add(o.memory_y);
  }
  EXPECT_EQ(Invoke(form, name, Op(c.op), Size(c.m), Size(c.n),
                   Scalar(To<T>(0.5)), Raw(a.Pointers()), Ld(c.m + 1, c.m),
                   Raw(x.Pointers()), Inc(c.incx), Scalar(To<T>(c.beta)),
                   Raw(y.Pointers()), Inc(c.incy), Size(c.count)),
            kSuccess);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ExpectSame(y[i], all[i].after, kUnits, NameIn(form, name));
  }
}
template <typename T>
void TestGemvStrided(Form form, const GemvCase& c) {
  const std::string name = Name<T>("gemvStridedBatched");
  Numbers numbers;
  std::vector<T> a(1), x(1), y(1);
  std::vector<Complex64> want;
  long long step_a = 0, step_x = 0, step_y = 0;
  for (long i = 0; i < c.count; ++i) {
    const GemvOperands<T> o = MakeGemv<T>(numbers, c);
    a.insert(a.end() - 1, o.memory_a.begin(), o.memory_a.end());
    x.insert(x.end() - 1, o.memory_x.begin(), o.memory_x.end());
    y.insert(y.end() - 1, o.memory_y.begin(), o.memory_y.end());
    want.insert(want.end(), o.after.begin(), o.after.end());
    step_a = static_cast<long long>(o.memory_a.size());
    step_x = static_cast<long long>(o.memory_x.size());
    step_y = static_cast<long long>(o.memory_y.size());
  }
  want.emplace_back(0);
  const Device<T> da(a), dx(x), dy(y);
  EXPECT_EQ(
      Invoke(form, name, Op(c.op), Size(c.m), Size(c.n), Scalar(To<T>(0.5)),
             Raw(da.get()), Ld(c.m + 1, c.m), Raw(step_a), Raw(dx.get()),
             Inc(c.incx), Raw(step_x), Scalar(To<T>(c.beta)), Raw(dy.get()),
             Inc(c.incy), Raw(step_y), Size(c.count)),
      kSuccess);
  ExpectSame(dy, want, kUnits, NameIn(form, name));
}
TEST(CublasBatched, Gemv) {
  ForAll([]<typename T>() {
    for (const Form form : FormsOf(Name<T>("gemvBatched"))) {
      for (const int op : {kN, kT, kC}) {
        for (const GemvCase& c : {GemvCase{op, 4, 3, 1, 1, 3, 0},
                                  {op, 4, 3, 2, -1, 3, 2},
                                  {op, 3, 5, -1, 3, 1, -1},
                                  {op, 3, 5, 1, 1, 0, 1},
                                  {op, 1, 1, 1, 1, 3, 1}}) {
          TestGemvBatched<T>(form, c);
          TestGemvStrided<T>(form, c);
        }
      }
    }
    Batch<T> batch;
    batch.Add(std::vector<T>(80, T(1)));
    T** const p = batch.Pointers();
    T* const d = batch[0].get();
    const Raw<long long> stride(20);
    ExpectRefusals(Name<T>("gemvBatched"), Op(kN), Size(3), Size(2),
                   Scalar(T(1)), Raw(p), Ld(3, 3), Raw(p), Inc(1), Scalar(T(1)),
                   Raw(p), Inc(1), Size(1));
    ExpectRefusals(Name<T>("gemvStridedBatched"), Op(kN), Size(3), Size(2),
                   Scalar(T(1)), Raw(d), Ld(3, 3), stride, Raw(d), Inc(1),
                   stride, Scalar(T(1)), Raw(d + 20), Inc(1), stride, Size(1));
  });
}
// The results of a batch lie between each other.
TEST(CublasBatched, GemvOfInterleavedVectors) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("gemvStridedBatched");
    for (const Form form : FormsOf(name)) {
      Numbers numbers;
      const Matrix a = RandomMatrix<T>(numbers, 2, 2);
      const Matrix x = RandomMatrix<T>(numbers, 3, 2);
      const Matrix want = Times(x, Apply(kT, a));  // a row for each
      const Device<T> da(Stored<T>(a, 2, 0)), dx(Stored<T>(x, 3, 0));
      const Device<T> dy(std::vector<T>(6, T(0)));
      const Raw<long long> none(0), one(1);
      EXPECT_EQ(Invoke(form, name, Op(kN), Size(2), Size(2), Scalar(T(1)),
                       Raw(da.get()), Ld(2, 2), none, Raw(dx.get()), Inc(3),
                       one, Scalar(T(0)), Raw(dy.get()), Inc(3), one, Size(3)),
                kSuccess);
      ExpectSame(dy, want.v, kUnits, NameIn(form, name));
    }
  });
}

TEST(CublasBatched, Trsm) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("trsmBatched");
    for (const Form form : FormsOf(name)) {
      for (int bits = 0; bits < 24; ++bits) {
        const int side = bits & 1, fill = bits >> 1 & 1, diag = bits >> 2 & 1,
                  op = bits >> 3;
        for (const long count : {0, 1, 3}) {
          Numbers numbers;
          const long m = 4, n = 3, order = side == kLeft ? m : n;
          Batch<T> a, b;
          std::vector<Matrix> solutions;
          for (long i = 0; i < count; ++i) {
            Matrix t = RandomMatrix<T>(numbers, order, order);
            for (long j = 0; j < order; ++j) t(j, j) = 2;
            const Matrix& x =
                solutions.emplace_back(RandomMatrix<T>(numbers, m, n));
            const Matrix full = Apply(op, Triangle(t, fill, diag));
            a.Add(Stored<T>(t, order + 1, kNan));
            b.Add(Stored<T>(side == kLeft ? Times(full, x) : Times(x, full),
                            m + 1, kGuard));
          }
          EXPECT_EQ(Invoke(form, name, Side(side), Fill(fill), Op(op),
                           Diag(diag), Size(m), Size(n), Scalar(T(1)),
                           Raw(a.Pointers()), Ld(order + 1, order),
                           Raw(b.Pointers()), Ld(m + 1, m), Size(count)),
                    kSuccess);
          for (std::size_t i = 0; i < solutions.size(); ++i) {
            ExpectSame(b[i], Stored<Complex64>(solutions[i], m + 1, kGuard),
                       4096, NameIn(form, name));
          }
        }
      }
    }
    Batch<T> batch;
    batch.Add(std::vector<T>(80, T(1)));
    T** const p = batch.Pointers();
    ExpectRefusals(name, Side(kLeft), Fill(kUpper), Op(kN), Diag(kUnit),
                   Size(3), Size(2), Scalar(T(1)), Raw(p), Ld(3, 3), Raw(p),
                   Ld(3, 3), Size(1));
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests
