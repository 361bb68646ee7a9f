// Products and sums that are sparse themselves.
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

// A matrix whose elements the library is to find.
class Unknown {
 public:
  Unknown(int type, long rows, long columns, int base)
      : type_(type),
        rows_(rows),
        columns_(columns),
        base_(base),
        offsets_(EncodedIndices(
            kInt, std::vector<long>(static_cast<std::size_t>(rows) + 1, 9), 0)),
        object_(Made("cusparseCreateCsr", std::int64_t{rows},
                     std::int64_t{columns}, std::int64_t{0}, offsets_.get(),
                     Object{nullptr}, Object{nullptr}, kInt, kInt, base,
                     type)) {}
  ~Unknown() { EXPECT_EQ(Call("cusparseDestroySpMat", object_), kSuccess); }
  Unknown(const Unknown&) = delete;
  Unknown& operator=(const Unknown&) = delete;
  Object get() const { return object_; }

  // Gives it the memory that it says it needs.
  void Allocate() {
    std::int64_t m = 0, n = 0, nnz = -1;
    EXPECT_EQ(Call("cusparseSpMatGetSize", object_, &m, &n, &nnz), kSuccess);
    const auto count = static_cast<std::size_t>(nnz);
    columns_memory_ = std::make_unique<Device<std::uint8_t>>(Bytes(count * 4));
    values_ =
        std::make_unique<Device<std::uint8_t>>(Bytes(count * SizeOf(type_)));
    EXPECT_EQ(Call("cusparseCsrSetPointers", object_, offsets_.get(),
                   columns_memory_->get(), values_->get()),
              kSuccess);
  }
  // As a dense matrix, and how many elements it has.
  Matrix Read(std::size_t* nnz = nullptr) const {
    const auto offsets = DecodedIndices(kInt, offsets_.Read(), base_);
    const auto columns = DecodedIndices(kInt, columns_memory_->Read(), base_);
    const auto values = Decoded(type_, values_->Read());
    Matrix out(rows_, columns_);
    for (long i = 0; i < rows_; ++i) {
      const auto first = static_cast<std::size_t>(offsets[Size(i)]);
      const auto end = static_cast<std::size_t>(offsets[Size(i) + 1]);
      for (std::size_t p = first; p < end; ++p) {
        if (p > first) EXPECT_LT(columns[p - 1], columns[p]);
        out(i, columns[p]) += values[p];
      }
    }
    if (nnz != nullptr) *nnz = values.size();
    EXPECT_EQ(static_cast<std::size_t>(offsets.back()), values.size());
    return out;
  }

 private:
  static std::size_t Size(long n) { return static_cast<std::size_t>(n); }
  const int type_;
  const long rows_, columns_;
  const int base_;
  const Device<std::uint8_t> offsets_;
  std::unique_ptr<Device<std::uint8_t>> columns_memory_, values_;
  const Object object_;
};

class Descr {
 public:
  explicit Descr(const std::string& name)
      : name_(name), object_(Made("cusparse" + name + "_createDescr")) {}
  ~Descr() {
    EXPECT_EQ(Call("cusparse" + name_ + "_destroyDescr", object_), kSuccess);
  }
  Descr(const Descr&) = delete;
  Descr& operator=(const Descr&) = delete;
  Object get() const { return object_; }

 private:
  const std::string name_;
  const Object object_;
};

// Elements of the product, whatever they sum up to.
std::size_t ProductNnz(const Matrix& a, const Matrix& b) {
  const auto pattern = [](Matrix m) {
    for (Complex64& value : m.v) value = value != Complex64(0) ? 1 : 0;
    return m;
  };
  std::size_t nnz = 0;
  for (const Complex64& value : Times(pattern(a), pattern(b)).v) {
    nnz += value != Complex64(0);
  }
  return nnz;
}

// As NVIDIA's example makes the calls.
void ExpectSpGEMM(const Matrix& a, const Matrix& b, int type, int compute,
                  int base, bool estimates) {
  const SparseMatrix ma(a, type, {kCsr}, kInt, base),
      mb(b, type, {kCsr}, kInt, base);
  Unknown c(type, a.rows, b.columns, base);
  const Descr descr("SpGEMM");
  const Factor alpha(compute, 2), beta(compute, 0);
  const int alg = estimates ? 5 : 0;
  const auto step = [&](const char* name, std::size_t* bytes, void* buffer) {
    EXPECT_EQ(
        Call(name, SparseHandle(), kN, kN, alpha.get(), ma.get(), mb.get(),
             beta.get(), c.get(), compute, alg, descr.get(), bytes, buffer),
        kSuccess)
        << name;
  };
  std::size_t bytes1 = 0, bytes2 = 0, bytes3 = 0;
  step("cusparseSpGEMM_workEstimation", &bytes1, nullptr);
  const Device<std::uint8_t> buffer1{Bytes(bytes1)};
  step("cusparseSpGEMM_workEstimation", &bytes1, buffer1.get());
  std::int64_t products = -1;
  EXPECT_EQ(Call("cusparseSpGEMM_getNumProducts", descr.get(), &products),
            kSuccess);
  std::int64_t want_products = 0;
  for (long k = 0; k < a.columns; ++k) {
    std::int64_t left = 0, right = 0;
    for (long i = 0; i < a.rows; ++i) left += a(i, k) != Complex64(0);
    for (long j = 0; j < b.columns; ++j) right += b(k, j) != Complex64(0);
    want_products += left * right;
  }
  EXPECT_EQ(products, want_products);
  if (estimates) {
    const auto estimate = [&](void* buffer, std::size_t* needed) {
      EXPECT_EQ(Call("cusparseSpGEMM_estimateMemory", SparseHandle(), kN, kN,
                     alpha.get(), ma.get(), mb.get(), beta.get(), c.get(),
                     compute, alg, descr.get(), 0.2f, &bytes3, buffer, needed),
                kSuccess);
    };
    estimate(nullptr, nullptr);
    const Device<std::uint8_t> buffer3{Bytes(bytes3)};
    estimate(buffer3.get(), &bytes2);
    EXPECT_GT(bytes2, 0u);
  } else {
    step("cusparseSpGEMM_compute", &bytes2, nullptr);
  }
  const Device<std::uint8_t> buffer2{Bytes(bytes2)};
  step("cusparseSpGEMM_compute", &bytes2, buffer2.get());
  c.Allocate();
  EXPECT_EQ(
      Call("cusparseSpGEMM_copy", SparseHandle(), kN, kN, alpha.get(), ma.get(),
           mb.get(), beta.get(), c.get(), compute, alg, descr.get()),
      kSuccess);
  Synchronize();
  std::size_t nnz = 0;
  ExpectEqual(c.Read(&nnz), Rounded(type, Scaled(2, Times(a, b))), "SpGEMM");
  EXPECT_EQ(nnz, ProductNnz(a, b));
}

TEST(CusparseSpGEMM, EachTypeAndSize) {
  Numbers numbers;
  for (const auto& [type, compute] : {std::pair(kR32, kR32),
                                      {kR64, kR64},
                                      {kC32, kC32},
                                      {kC64, kC64},
                                      {kR16, kR32},
                                      {kB16, kR32},
                                      {kC16, kC32}}) {
    for (const int base : {0, 1}) {
      ExpectSpGEMM(RandomSparse(numbers, type, 7, 9),
                   RandomSparse(numbers, type, 9, 5), type, compute, base,
                   base == 1);
    }
  }
  for (const auto& [m, k, n] : std::vector<std::tuple<long, long, long>>{
           {1, 1, 1}, {3, 0, 4}, {0, 3, 2}, {2, 3, 0}, {40, 30, 50}}) {
    for (const int full : {0, 1, 4}) {
      ExpectSpGEMM(RandomSparse(numbers, kR64, m, k, full),
                   RandomSparse(numbers, kR64, k, n, full), kR64, kR64, 0,
                   false);
    }
  }
}

TEST(CusparseSpGEMM, Reused) {
  Numbers numbers;
  const int type = kC32;
  Matrix a = RandomSparse(numbers, type, 6, 8);
  const Matrix b = RandomSparse(numbers, type, 8, 7);
  const SparseMatrix ma(a, type), mb(b, type);
  Unknown c(type, 6, 7, 1);
  const Descr descr("SpGEMM");
  std::size_t bytes[5] = {};
  const auto call = [&](const char* name, auto... buffers) {
    EXPECT_EQ(Call(name, SparseHandle(), kN, kN, ma.get(), mb.get(), c.get(), 0,
                   descr.get(), buffers...),
              kSuccess)
        << name;
  };
  call("cusparseSpGEMMreuse_workEstimation", &bytes[0], Object{nullptr});
  EXPECT_GT(bytes[0], 0u);
  const Device<std::uint8_t> buffer(Bytes(1024));
  void *const some = buffer.get(), *const none = nullptr;
  call("cusparseSpGEMMreuse_workEstimation", &bytes[0], some);
  call("cusparseSpGEMMreuse_nnz", &bytes[1], none, &bytes[2], none, &bytes[3],
       none);
  EXPECT_GT(bytes[1], 0u);
  call("cusparseSpGEMMreuse_nnz", &bytes[1], some, &bytes[2], some, &bytes[3],
       some);
  c.Allocate();
  call("cusparseSpGEMMreuse_copy", &bytes[4], none);
  call("cusparseSpGEMMreuse_copy", &bytes[4], some);
  const Factor alpha(type, 1), zero(type, 0), one(type, 1);
  Matrix want(6, 7);
  for (const bool adds : {false, true}) {
    EXPECT_EQ(
        Call("cusparseSpGEMMreuse_compute", SparseHandle(), kN, kN, alpha.get(),
             ma.get(), mb.get(), adds ? one.get() : zero.get(), c.get(), type,
             0, descr.get()),
        kSuccess);
    Synchronize();
    want = adds ? Plus(want, Times(a, b)) : Times(a, b);
    ExpectEqual(c.Read(), want, "reused");
    // With other values.
    a = Scaled(-3, a);
    const Bytes changed = Encoded(type, ma.layout().Values(a));
    Upload(ma.values().get(), changed.data(), changed.size());
  }
}

TEST(CusparseSpGEMM, Refusals) {
  Numbers numbers;
  const SparseMatrix a(RandomSparse(numbers, kR32, 3, 3), kR32),
      coo(RandomSparse(numbers, kR32, 3, 3), kR32, {kCoo}),
      wide(RandomSparse(numbers, kR32, 4, 3), kR32);
  const Unknown c(kR32, 3, 3, 0);
  const Descr descr("SpGEMM");
  const Factor one(kR32, 1);
  std::size_t bytes = 0;
  const auto estimate = [&](int op, Object right, Object state) {
    return Call("cusparseSpGEMM_workEstimation", SparseHandle(), op, kN,
                one.get(), a.get(), right, one.get(), c.get(), kR32, 0, state,
                &bytes, Object{nullptr});
  };
  EXPECT_EQ(estimate(kT, a.get(), descr.get()), kNotSupported);
  EXPECT_EQ(estimate(kN, coo.get(), descr.get()), kNotSupported);
  EXPECT_EQ(estimate(kN, wide.get(), descr.get()), kInvalidValue);
  EXPECT_EQ(estimate(kN, a.get(), nullptr), kInvalidValue);
  // Nothing has been computed.
  EXPECT_EQ(Call("cusparseSpGEMM_copy", SparseHandle(), kN, kN, one.get(),
                 a.get(), a.get(), one.get(), c.get(), kR32, 0, descr.get()),
            kInvalidValue);
}

TEST(CusparseSpGEAM, EachTypeAndOperation) {
  Numbers numbers;
  for (const int type : kUniform) {
    for (const int ops : {0, 1, 2, 3, 4, 8}) {
      const int opa = ops % 3, opb = ops / 3;
      for (const double beta : {-1.0, 0.0}) {
        const Matrix a =
            Apply(opa == kN ? kN : kT, RandomSparse(numbers, type, 5, 8));
        const Matrix b =
            Apply(opb == kN ? kN : kT, RandomSparse(numbers, type, 5, 8));
        const SparseMatrix ma(a, type, {kCsr}, kInt, 1), mb(b, type);
        Unknown c(type, 5, 8, 1);
        const Descr descr("SpGEAM");
        const Factor fa(type, 2), fb(type, beta);
        std::size_t bytes = 0;
        EXPECT_EQ(Call("cusparseSpGEAM_bufferSize", SparseHandle(), opa, opb,
                       fa.get(), ma.get(), fb.get(), mb.get(), c.get(), type, 0,
                       descr.get(), &bytes),
                  kSuccess);
        for (const char* name : {"cusparseSpGEAM_nnz", "cusparseSpGEAM"}) {
          EXPECT_EQ(
              Call(name, SparseHandle(), opa, opb, fa.get(), ma.get(), fb.get(),
                   mb.get(), c.get(), type, 0, descr.get(), Object{nullptr}),
              kSuccess)
              << name;
          if (name == std::string("cusparseSpGEAM_nnz")) c.Allocate();
        }
        Synchronize();
        std::size_t nnz = 0, want_nnz = 0;
        const Matrix left = Apply(opa, a), right = Apply(opb, b);
        ExpectEqual(c.Read(&nnz), Plus(Scaled(2, left), Scaled(beta, right)),
                    "SpGEAM");
        // A factor of zero takes its matrix away.
        for (std::size_t i = 0; i < left.v.size(); ++i) {
          want_nnz += left.v[i] != Complex64(0) ||
                      (beta != 0 && right.v[i] != Complex64(0));
        }
        EXPECT_EQ(nnz, want_nnz);
      }
    }
  }
}

TEST(Cusparsecsrgeam2, EachType) {
  ForAll([]<typename T>() {
    Numbers numbers;
    const int type = kIsComplex<T>    ? sizeof(T) == 8 ? kC32 : kC64
                     : sizeof(T) == 4 ? kR32
                                      : kR64;
    const Object da = Made("cusparseCreateMatDescr"),
                 db = Made("cusparseCreateMatDescr");
    EXPECT_EQ(Call("cusparseSetMatIndexBase", db, 1), kSuccess);
    for (const int on_device : {0, 1}) {
      constexpr int kM = 6, kColumns = 9;
      const Matrix a = RandomSparse(numbers, type, kM, kColumns),
                   b = RandomSparse(numbers, type, kM, kColumns);
      const SparseMatrix ma(a, type), mb(b, type, {kCsr}, kInt, 1);
      const T alpha(2), beta(-1);
      const Device<T> scalars({alpha, beta});
      const Device<int> there({-1});
      const T* pa = on_device ? scalars.get() : &alpha;
      const T* pb = on_device ? scalars.get() + 1 : &beta;
      const int nnz_a = static_cast<int>(ma.layout().nnz);
      const int nnz_b = static_cast<int>(mb.layout().nnz);
      EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), on_device),
                kSuccess);
      const Device<int> offsets(std::vector<int>(kM + 1));
      std::size_t bytes = 0;
      EXPECT_EQ(Call(Typed<T>("csrgeam2_bufferSizeExt"), SparseHandle(), kM,
                     kColumns, pa, da, nnz_a, ma.values().get(),
                     ma.major().get(), ma.minor().get(), pb, db, nnz_b,
                     mb.values().get(), mb.major().get(), mb.minor().get(), db,
                     Object{nullptr}, offsets.get(), Object{nullptr}, &bytes),
                kSuccess);
      int nnz = -1;
      EXPECT_EQ(Call("cusparseXcsrgeam2Nnz", SparseHandle(), kM, kColumns, da,
                     nnz_a, ma.major().get(), ma.minor().get(), db, nnz_b,
                     mb.major().get(), mb.minor().get(), db, offsets.get(),
                     on_device ? there.get() : &nnz, Object{nullptr}),
                kSuccess);
      Synchronize();
      if (on_device) nnz = there.Read()[0];
      const Device<int> columns(
          std::vector<int>(static_cast<std::size_t>(nnz)));
      const Device<T> values(std::vector<T>(static_cast<std::size_t>(nnz)));
      EXPECT_EQ(
          Call(Typed<T>("csrgeam2"), SparseHandle(), kM, kColumns, pa, da,
               nnz_a, ma.values().get(), ma.major().get(), ma.minor().get(), pb,
               db, nnz_b, mb.values().get(), mb.major().get(), mb.minor().get(),
               db, values.get(), offsets.get(), columns.get(), Object{nullptr}),
          kSuccess);
      EXPECT_EQ(Call("cusparseSetPointerMode", SparseHandle(), 0), kSuccess);
      Synchronize();
      Matrix got(kM, kColumns);
      const auto o = offsets.Read(), c = columns.Read();
      const auto v = values.Read();
      for (long i = 0; i < kM; ++i) {
        const auto at = static_cast<std::size_t>(i);
        for (int p = o[at] - 1; p < o[at + 1] - 1; ++p) {
          const auto place = static_cast<std::size_t>(p);
          got(i, c[place] - 1) = Complex64(v[place]);
        }
      }
      ExpectEqual(got, Plus(Scaled(2, a), Scaled(-1, b)), "csrgeam2");
    }
    EXPECT_EQ(Call("cusparseDestroyMatDescr", da), kSuccess);
    EXPECT_EQ(Call("cusparseDestroyMatDescr", db), kSuccess);
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
