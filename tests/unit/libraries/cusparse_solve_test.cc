// Triangular systems: a known solution comes back.
#include "tests/unit/libraries/cusparse.h"

namespace cerberus::libraries::tests::sparse {
namespace {

constexpr long kSize = 12;

// Sums stay exact: small integers, and powers of two on the diagonal.
Matrix RandomSystem(Numbers& numbers, int type) {
  Matrix out = RandomSparse(numbers, type, kSize, kSize);
  for (Complex64& value : out.v) {
    value = {std::clamp(value.real(), -1.0, 1.0),
             std::clamp(value.imag(), -1.0, 1.0)};
  }
  for (long i = 0; i < kSize; ++i) {
    out(i, i) = i % 3 == 0 ? Complex64(2) : Complex64(-1);
    if (IsComplexType(type) && i % 3 == 1) out(i, i) = Complex64(0, 2);
  }
  return out;
}
const std::vector<Shape> kShapes = {{kCsr},
                                    {kCsc},
                                    {kCoo},
                                    {kBsr, kByRows, 3, 3},
                                    {kSlicedEll, kByRows, 1, 1, 5}};

class Solver {
 public:
  explicit Solver(const std::string& name)
      : name_(name), descr_(Made("cusparse" + name + "_createDescr")) {}
  ~Solver() {
    EXPECT_EQ(Call("cusparse" + name_ + "_destroyDescr", descr_), kSuccess);
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  Object get() const { return descr_; }

 private:
  const std::string name_;
  const Object descr_;
};

struct Kind {
  int fill, diag, op;
  std::string Name() const {
    return "fill " + std::to_string(fill) + ", diag " + std::to_string(diag) +
           ", op " + std::to_string(op);
  }
  Matrix Of(const Matrix& a) const {
    return Apply(op, Triangle(a, fill, diag));
  }
};
template <typename Test>
void ForKinds(const Test& test) {
  for (const int fill : {kLower, kUpper}) {
    for (const int diag : {kNonUnit, kUnit}) {
      for (const int op : {kN, kT, kC}) test(Kind{fill, diag, op});
    }
  }
}

void SolveVector(const SparseMatrix& m, const Solver& solver, int type, int op,
                 const Factor& alpha, const DenseVector& x,
                 const DenseVector& y) {
  EXPECT_EQ(Call("cusparseSpSV_solve", SparseHandle(), op, alpha.get(), m.get(),
                 x.get(), y.get(), type, 0, solver.get()),
            kSuccess);
  Synchronize();
}
void AnalyseVector(const SparseMatrix& m, const Solver& solver, int type,
                   int op, const Factor& alpha, const DenseVector& x,
                   const DenseVector& y) {
  std::size_t bytes = 0;
  EXPECT_EQ(Call("cusparseSpSV_bufferSize", SparseHandle(), op, alpha.get(),
                 m.get(), x.get(), y.get(), type, 0, solver.get(), &bytes),
            kSuccess);
  const Device<std::uint8_t> buffer{Bytes(bytes)};
  EXPECT_EQ(
      Call("cusparseSpSV_analysis", SparseHandle(), op, alpha.get(), m.get(),
           x.get(), y.get(), type, 0, solver.get(), buffer.get()),
      kSuccess);
}

TEST(CusparseSpSV, EachFormatTriangleAndType) {
  Numbers numbers;
  for (const int type : kUniform) {
    const Matrix a = RandomSystem(numbers, type);
    for (const Shape& shape : kShapes) {
      const SparseMatrix m(a, type, shape, type == kR64 ? kLong : kInt,
                           type == kC32 ? 1 : 0);
      ForKinds([&](const Kind& kind) {
        m.SetTriangle(kind.fill, kind.diag);
        Matrix want(kSize, 1);
        want.v = Integers(numbers, type, kSize, 2);
        const Factor alpha(type, 2);
        const Solver solver("SpSV");
        const DenseVector x(type, Scaled(0.5, Times(kind.Of(a), want)).v),
            y(type, std::vector<Complex64>(kSize, 7));
        AnalyseVector(m, solver, type, kind.op, alpha, x, y);
        SolveVector(m, solver, type, kind.op, alpha, x, y);
        ExpectNear(y.Read(), want.v, 1e-5, kind.Name() + shape.Name());
        // In place.
        SolveVector(m, solver, type, kind.op, alpha, x, x);
        ExpectNear(x.Read(), want.v, 1e-5, kind.Name());
      });
    }
  }
}

// New values, all or of the diagonal, take the place of the matrix' own.
TEST(CusparseSpSV, UpdatedValues) {
  Numbers numbers;
  const int type = kR64;
  const Matrix a = RandomSystem(numbers, type), doubled = Scaled(2, a);
  const SparseMatrix m(a, type);
  const Factor one(type, 1);
  const Solver solver("SpSV");
  std::vector<Complex64> diagonal(kSize, 4);
  Matrix with_diagonal = doubled;
  for (long i = 0; i < kSize; ++i) with_diagonal(i, i) = 4;
  Matrix want(kSize, 1);
  want.v = Integers(numbers, type, kSize, 2);
  const auto expect = [&](const Matrix& of) {
    const DenseVector x(type, Times(Triangle(of, kLower, kNonUnit), want).v),
        y(type, std::vector<Complex64>(kSize));
    SolveVector(m, solver, type, kN, one, x, y);
    ExpectNear(y.Read(), want.v, 1e-12, "updated");
  };
  {
    const DenseVector x(type, want.v), y(type, want.v);
    AnalyseVector(m, solver, type, kN, one, x, y);
  }
  expect(a);
  const Device<std::uint8_t> values(Encoded(type, m.layout().Values(doubled))),
      on_diagonal(Encoded(type, diagonal));
  const auto update = [&](const Device<std::uint8_t>& from, int part) {
    return Call("cusparseSpSV_updateMatrix", SparseHandle(), solver.get(),
                from.get(), part);
  };
  EXPECT_EQ(update(values, 0), kSuccess);
  expect(doubled);
  EXPECT_EQ(update(on_diagonal, 1), kSuccess);
  expect(with_diagonal);
  EXPECT_EQ(update(values, 0), kSuccess);
  expect(doubled);
  EXPECT_EQ(update(values, 2), kInvalidValue);
}

TEST(CusparseSpSM, EachOrderOperationAndType) {
  Numbers numbers;
  constexpr long kWidth = 5;
  for (const int type : kUniform) {
    const Matrix a = RandomSystem(numbers, type);
    for (const Shape& shape : {Shape{kCsr}, Shape{kCoo}}) {
      const SparseMatrix m(a, type, shape);
      ForKinds([&](const Kind& kind) {
        m.SetTriangle(kind.fill, kind.diag);
        for (const int opb : {kN, kT, kC}) {
          const int order_b = kind.fill == kLower ? kByRows : kByColumns;
          const int order_c = kind.diag == kUnit ? kByRows : kByColumns;
          Matrix want(kSize, kWidth);
          want.v = Integers(numbers, type, want.v.size(), 2);
          // op(B), so that B is op of it.
          const Matrix right = Scaled(0.5, Times(kind.Of(a), want));
          const DenseMatrix b(type, Apply(opb, right), order_b),
              c(type, Matrix(kSize, kWidth), order_c);
          const Factor alpha(type, 2);
          const Solver solver("SpSM");
          std::size_t bytes = 0;
          EXPECT_EQ(Call("cusparseSpSM_bufferSize", SparseHandle(), kind.op,
                         opb, alpha.get(), m.get(), b.get(), c.get(), type, 0,
                         solver.get(), &bytes),
                    kSuccess);
          EXPECT_EQ(Call("cusparseSpSM_analysis", SparseHandle(), kind.op, opb,
                         alpha.get(), m.get(), b.get(), c.get(), type, 0,
                         solver.get(), Object{nullptr}),
                    kSuccess);
          EXPECT_EQ(Call("cusparseSpSM_solve", SparseHandle(), kind.op, opb,
                         alpha.get(), m.get(), b.get(), c.get(), type, 0,
                         solver.get()),
                    kSuccess);
          Synchronize();
          ExpectNear(c.Read().v, want.v, 1e-5, kind.Name());
          if (opb != kN) continue;
          EXPECT_EQ(Call("cusparseSpSM_solve", SparseHandle(), kind.op, opb,
                         alpha.get(), m.get(), b.get(), b.get(), type, 0,
                         solver.get()),
                    kSuccess);
          Synchronize();
          ExpectNear(b.Read().v, want.v, 1e-5, "in place");
        }
      });
    }
  }
}

TEST(CusparseSpSM, UpdatedDiagonal) {
  Numbers numbers;
  const int type = kR32;
  const Matrix a = RandomSystem(numbers, type);
  const SparseMatrix m(a, type);
  Matrix changed = a, want(kSize, 2);
  for (long i = 0; i < kSize; ++i) changed(i, i) = 8;
  want.v = Integers(numbers, type, want.v.size(), 2);
  const DenseMatrix b(type, Times(Triangle(changed, kLower, kNonUnit), want)),
      c(type, want);
  const Factor one(type, 1);
  const Solver solver("SpSM");
  EXPECT_EQ(
      Call("cusparseSpSM_analysis", SparseHandle(), kN, kN, one.get(), m.get(),
           b.get(), c.get(), type, 0, solver.get(), Object{nullptr}),
      kSuccess);
  const Device<std::uint8_t> diagonal(
      Encoded(type, std::vector<Complex64>(kSize, 8)));
  EXPECT_EQ(Call("cusparseSpSM_updateMatrix", SparseHandle(), solver.get(),
                 diagonal.get(), 1),
            kSuccess);
  EXPECT_EQ(Call("cusparseSpSM_solve", SparseHandle(), kN, kN, one.get(),
                 m.get(), b.get(), c.get(), type, 0, solver.get()),
            kSuccess);
  Synchronize();
  ExpectNear(c.Read().v, want.v, 1e-5, "updated");
}

TEST(CusparseSpSV, Refusals) {
  Numbers numbers;
  const SparseMatrix square(RandomSystem(numbers, kR32), kR32),
      wide(RandomSparse(numbers, kR32, 3, 4), kR32);
  const DenseVector x(kR32, std::vector<Complex64>(kSize)),
      y(kR64, std::vector<Complex64>(kSize));
  const Factor one(kR32, 1);
  const Solver solver("SpSV");
  const auto analyse = [&](Object m, Object to, Object descr) {
    return Call("cusparseSpSV_analysis", SparseHandle(), kN, one.get(), m,
                x.get(), to, kR32, 0, descr, Object{nullptr});
  };
  EXPECT_EQ(analyse(wide.get(), x.get(), solver.get()), kInvalidValue);
  EXPECT_EQ(analyse(square.get(), y.get(), solver.get()), kNotSupported);
  EXPECT_EQ(analyse(square.get(), x.get(), nullptr), kInvalidValue);
  EXPECT_EQ(analyse(nullptr, x.get(), solver.get()), kInvalidValue);
}

}  // namespace
}  // namespace cerberus::libraries::tests::sparse
