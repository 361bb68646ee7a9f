// Factorizations of many small matrices, by what their products are.
#include <algorithm>
#include <cmath>
#include <deque>

#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {
namespace {

constexpr double kUnits = 4096;

bool IsFinite(const Matrix& a) {
  return std::all_of(a.v.begin(), a.v.end(), [](Complex64 value) {
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  });
}

template <typename T>
class Batch {
 public:
  explicit Batch(const std::vector<Matrix>& matrices, long ld) : ld_(ld) {
    std::vector<T*> pointers;
    for (const Matrix& a : matrices) {
      shapes_.push_back(a);
      arrays_.emplace_back(Stored<T>(a, ld, kGuard));
      pointers.push_back(arrays_.back().get());
    }
    pointers.push_back(nullptr);
    pointers_.emplace_back(pointers);
  }
  T** get() const { return pointers_[0].get(); }
  // What a matrix holds now. Its guards must be as they were.
  Matrix Read(std::size_t i) const {
    const std::vector<Complex64> memory = Widened(arrays_[i].Read());
    Matrix out(shapes_[i].rows, shapes_[i].columns);
    for (long j = 0; j < out.columns; ++j) {
      for (long r = 0; r < ld_; ++r) {
        const Complex64 value = memory[static_cast<std::size_t>(r + j * ld_)];
        if (r < out.rows) {
          out(r, j) = value;
        } else {
          EXPECT_EQ(value, Complex64(kGuard));
        }
      }
    }
    return out;
  }

 private:
  const long ld_;
  std::vector<Matrix> shapes_;
  std::deque<Device<T>> arrays_;
  std::deque<Device<T*>> pointers_;
};

template <typename T>
void ExpectMatrix(const Matrix& got, const Matrix& want,
                  const std::string& what) {
  ExpectNear(got.v, want.v, kUnits * std::numeric_limits<Real<T>>::epsilon(),
             what);
}
template <typename T>
std::vector<Matrix> Solvable(Numbers& numbers, long m, long n, long count,
                             double diagonal) {
  std::vector<Matrix> out;
  for (long i = 0; i < count; ++i) {
    Matrix& a = out.emplace_back(RandomMatrix<T>(numbers, m, n));
    for (long j = 0; j < std::min(m, n); ++j) a(j, j) += diagonal;
  }
  return out;
}
Matrix Identity(long n) {
  Matrix out(n, n);
  for (long i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}
// Rows exchanged as the pivots say, which are counted from 1.
Matrix Exchanged(Matrix a, const std::vector<int>& pivots, std::size_t first) {
  for (long i = 0; i < a.rows; ++i) {
    const long other = pivots[first + static_cast<std::size_t>(i)] - 1;
    for (long j = 0; j < a.columns && other != i; ++j) {
      std::swap(a(i, j), a(other, j));
    }
  }
  return a;
}

template <typename T>
void TestLu(Form form, long n, long count, bool pivoting) {
  Numbers numbers;
  const std::vector<Matrix> as =
      Solvable<T>(numbers, n, n, count, pivoting ? 0.125 : 20);
  const std::vector<Matrix> xs = Solvable<T>(numbers, n, 2, count, 0);
  const Batch<T> a(as, n + 1), inverse(as, n + 2);
  const auto numbers_of_pivots = static_cast<std::size_t>(n * count + 1);
  const Device<int> pivots(std::vector<int>(numbers_of_pivots, 777));
  const Device<int> info(
      std::vector<int>(static_cast<std::size_t>(count) + 1, 777));
  int* const p = pivoting ? pivots.get() : nullptr;
  const std::string type =
      NameIn(form, Name<T>("getrfBatched")) + " n " + std::to_string(n);
  EXPECT_EQ(Invoke(form, Name<T>("getrfBatched"), Size(n), Raw(a.get()),
                   Ld(n + 1, n), Raw(p), Raw(info.get()), Size(count)),
            kSuccess);
  EXPECT_EQ(Invoke(form, Name<T>("getriBatched"), Size(n), Raw(a.get()),
                   Ld(n + 1, n), Raw(p), Raw(inverse.get()), Ld(n + 2, n),
                   Raw(info.get()), Size(count)),
            kSuccess);
  const std::vector<int> exchanges = pivots.Read(), infos = info.Read();
  EXPECT_EQ(infos.back(), 777);
  EXPECT_EQ(exchanges.back(), 777);
  for (std::size_t i = 0; i < as.size(); ++i) {
    EXPECT_EQ(infos[i], 0) << type;
    const Matrix lu = a.Read(i);
    const Matrix product =
        Times(Triangle(lu, kLower, kUnit), Triangle(lu, kUpper, kNonUnit));
    ExpectMatrix<T>(
        product,
        pivoting ? Exchanged(as[i], exchanges, i * static_cast<std::size_t>(n))
                 : as[i],
        type);
    ExpectMatrix<T>(Times(as[i], inverse.Read(i)), Identity(n),
                    type + " inverse");
  }
  for (const int op : {kN, kT, kC}) {
    std::vector<Matrix> images;
    images.reserve(as.size());
    for (std::size_t i = 0; i < as.size(); ++i) {
      images.push_back(Times(Apply(op, as[i]), xs[i]));
    }
    const Batch<T> b(images, n + 3);
    int host_info = 777;
    EXPECT_EQ(Invoke(form, Name<T>("getrsBatched"), Op(op), Size(n), Size(2),
                     Raw(a.get()), Ld(n + 1, n), Raw(p), Raw(b.get()),
                     Ld(n + 3, n), Raw(&host_info), Size(count)),
              kSuccess);
    EXPECT_EQ(host_info, 0);
    for (std::size_t i = 0; i < as.size(); ++i) {
      ExpectMatrix<T>(b.Read(i), xs[i],
                      type + " solved, op " + std::to_string(op));
    }
  }
}
TEST(CublasFactors, Lu) {
  ForAll([]<typename T>() {
    for (const Form form : FormsOf(Name<T>("getrfBatched"))) {
      for (const bool pivoting : {true, false}) {
        for (const auto& [n, count] :
             {std::pair{5L, 3L}, {1L, 1L}, {9L, 1L}, {4L, 0L}}) {
          TestLu<T>(form, n, count, pivoting);
        }
      }
    }
    int info = 0;
    const Device<int> ints(std::vector<int>(8, 1));
    const Batch<T> batch({Identity(3)}, 3);
    T** const p = batch.get();
    ExpectRefusals(Name<T>("getrfBatched"), Size(3), Raw(p), Ld(3, 3),
                   Raw(ints.get()), Raw(ints.get()), Size(1));
    ExpectRefusals(Name<T>("getriBatched"), Size(3), Raw(p), Ld(3, 3),
                   Raw(ints.get()), Raw(p), Ld(3, 3), Raw(ints.get()), Size(1));
    ExpectRefusals(Name<T>("getrsBatched"), Op(kN), Size(3), Size(1), Raw(p),
                   Ld(3, 3), Raw(ints.get()), Raw(p), Ld(3, 3), Raw(&info),
                   Size(1));
    // Which argument is wrong is told, too.
    EXPECT_EQ(Invoke(kHost, Name<T>("getrsBatched"), Op(kN), Size(3), Size(1),
                     Raw(p), Ld(2, 3), Raw(ints.get()), Raw(p), Ld(3, 3),
                     Raw(&info), Size(1)),
              kInvalidValue);
    EXPECT_EQ(info, -5);
  });
}

// Row exchanges are by the largest element; a column of zeros is told,
// and what is divided by it is not finite.
TEST(CublasFactors, LuOfSingularMatrices) {
  ForAll([]<typename T>() {
    Matrix singular(3, 3), permuted(3, 3);
    singular(0, 0) = 1, singular(0, 2) = 2, singular(2, 0) = -4;
    singular(1, 2) = 3;
    permuted(0, 1) = 2, permuted(1, 2) = 3, permuted(2, 0) = 4;
    const Batch<T> a({singular, permuted}, 3), out({singular, permuted}, 3),
        inverse({singular, permuted}, 3);
    const Device<int> pivots(std::vector<int>(6, 0));
    const Device<int> info({777, 777});
    EXPECT_EQ(
        Invoke(kHost, Name<T>("matinvBatched"), Size(3), Raw(a.get()), Ld(3, 3),
               Raw(inverse.get()), Ld(3, 3), Raw(info.get()), Size(2)),
        kSuccess);
    EXPECT_EQ(info.Read(), (std::vector<int>{2, 0}));
    EXPECT_FALSE(IsFinite(inverse.Read(0)));
    EXPECT_EQ(Invoke(kHost, Name<T>("getrfBatched"), Size(3), Raw(a.get()),
                     Ld(3, 3), Raw(pivots.get()), Raw(info.get()), Size(2)),
              kSuccess);
    EXPECT_EQ(info.Read(), (std::vector<int>{2, 0}));
    EXPECT_EQ(pivots.Read(), (std::vector<int>{3, 2, 3, 3, 3, 3}));
    EXPECT_EQ(Invoke(kHost, Name<T>("getriBatched"), Size(3), Raw(a.get()),
                     Ld(3, 3), Raw(pivots.get()), Raw(out.get()), Ld(3, 3),
                     Raw(info.get()), Size(2)),
              kSuccess);
    EXPECT_EQ(info.Read(), (std::vector<int>{2, 0}));
    EXPECT_FALSE(IsFinite(out.Read(0)));
    for (const Batch<T>* b : {&inverse, &out}) {
      ExpectMatrix<T>(Times(permuted, b->Read(1)), Identity(3), "permutation");
    }
  });
}

TEST(CublasFactors, Inverse) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("matinvBatched");
    for (const Form form : FormsOf(name)) {
      for (const auto& [n, count] :
           {std::pair{1L, 3L}, {7L, 2L}, {32L, 1L}, {3L, 0L}}) {
        Numbers numbers;
        const std::vector<Matrix> as = Solvable<T>(numbers, n, n, count, 4);
        const Batch<T> a(as, n + 1), out(as, n + 2);
        const Device<int> info(
            std::vector<int>(static_cast<std::size_t>(count) + 1, 777));
        EXPECT_EQ(
            Invoke(form, name, Size(n), Raw(a.get()), Ld(n + 1, n),
                   Raw(out.get()), Ld(n + 2, n), Raw(info.get()), Size(count)),
            kSuccess);
        for (std::size_t i = 0; i < as.size(); ++i) {
          EXPECT_EQ(info.Read()[i], 0);
          ExpectMatrix<T>(Times(as[i], out.Read(i)), Identity(n), name);
          ExpectMatrix<T>(a.Read(i), as[i], name + " leaves A");
        }
      }
      // NVIDIA has it for up to 32 rows.
      EXPECT_EQ(
          Invoke(form, name, Size(33), Raw<T**>(nullptr), Ld(33, 33),
                 Raw<T**>(nullptr), Ld(33, 33), Raw<int*>(nullptr), Size(1)),
          kInvalidValue);
    }
    const Device<int> ints(std::vector<int>(8, 1));
    const Batch<T> batch({Identity(3)}, 3);
    ExpectRefusals(name, Size(3), Raw(batch.get()), Ld(3, 3), Raw(batch.get()),
                   Ld(3, 3), Raw(ints.get()), Size(1));
  });
}

// Q out of the reflections that geqrf leaves: H(1) H(2) …, H(i) = I - tau v
// v^H.
Matrix Orthogonal(const Matrix& qr, const Matrix& tau) {
  Matrix q = Identity(qr.rows);
  for (long k = 0; k < tau.rows; ++k) {
    Matrix h = Identity(qr.rows);
    const auto v = [&](long i) {
      return i < k ? Complex64(0) : i == k ? Complex64(1) : qr(i, k);
    };
    for (long j = 0; j < qr.rows; ++j) {
      for (long i = 0; i < qr.rows; ++i) {
        h(i, j) -= tau(k, 0) * v(i) * std::conj(v(j));
      }
    }
    q = Times(q, h);
  }
  return q;
}
TEST(CublasFactors, Qr) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("geqrfBatched");
    for (const Form form : FormsOf(name)) {
      for (const auto& [m, n] : {std::pair{6L, 4L},
                                 {4L, 6L},
                                 {5L, 5L},
                                 {1L, 1L},
                                 {1L, 3L},
                                 {3L, 1L}}) {
        Numbers numbers;
        const long count = 3, least = std::min(m, n);
        const std::vector<Matrix> as = Solvable<T>(numbers, m, n, count, 0);
        const Batch<T> a(as, m + 2);
        const Batch<T> tau(std::vector<Matrix>(3, Matrix(least, 1)), least + 1);
        int info = 777;
        EXPECT_EQ(Invoke(form, name, Size(m), Size(n), Raw(a.get()),
                         Ld(m + 2, m), Raw(tau.get()), Raw(&info), Size(count)),
                  kSuccess);
        EXPECT_EQ(info, 0);
        for (std::size_t i = 0; i < as.size(); ++i) {
          const Matrix qr = a.Read(i);
          const Matrix q = Orthogonal(qr, tau.Read(i));
          ExpectMatrix<T>(Times(Apply(kC, q), q), Identity(m), name + " Q");
          ExpectMatrix<T>(Times(q, Triangle(qr, kUpper, kNonUnit)), as[i],
                          name + " Q R");
        }
      }
    }
    int info = 0;
    const Batch<T> batch({Identity(3)}, 3);
    ExpectRefusals(name, Size(3), Size(2), Raw(batch.get()), Ld(3, 3),
                   Raw(batch.get()), Raw(&info), Size(1));
  });
}

// What is left of A X - C stands at right angles to A's columns.
TEST(CublasFactors, LeastSquares) {
  ForAll([]<typename T>() {
    const std::string name = Name<T>("gelsBatched");
    for (const Form form : FormsOf(name)) {
      for (const auto& [m, n] :
           {std::pair{7L, 3L}, {4L, 4L}, {1L, 1L}, {5L, 1L}}) {
        Numbers numbers;
        const std::vector<Matrix> as = Solvable<T>(numbers, m, n, 3, 3);
        const std::vector<Matrix> cs = Solvable<T>(numbers, m, 2, 3, 0);
        const Batch<T> a(as, m + 1), c(cs, m + 2);
        const Device<int> infos({777, 777, 777, 777});
        int info = 777;
        EXPECT_EQ(Invoke(form, name, Op(kN), Size(m), Size(n), Size(2),
                         Raw(a.get()), Ld(m + 1, m), Raw(c.get()), Ld(m + 2, m),
                         Raw(&info), Raw(infos.get()), Size(3)),
                  kSuccess);
        EXPECT_EQ(info, 0);
        EXPECT_EQ(infos.Read(), (std::vector<int>{0, 0, 0, 777}));
        for (std::size_t i = 0; i < as.size(); ++i) {
          const Matrix whole = c.Read(i);
          Matrix x(n, 2);
          for (long j = 0; j < 2; ++j) {
            for (long r = 0; r < n; ++r) x(r, j) = whole(r, j);
          }
          Matrix rest = Times(as[i], x);
          for (std::size_t e = 0; e < rest.v.size(); ++e) {
            rest.v[e] -= cs[i].v[e];
          }
          ExpectMatrix<T>(Times(Apply(kC, as[i]), rest), Matrix(n, 2), name);
        }
      }
    }
    Matrix of_rank_one(3, 2);
    for (Complex64& value : of_rank_one.v) value = 0;
    const Batch<T> a({of_rank_one}, 3), c({Identity(3)}, 3);
    const Device<int> infos({777});
    int info = 777;
    EXPECT_EQ(Invoke(kHost, name, Op(kN), Size(3), Size(2), Size(3),
                     Raw(a.get()), Ld(3, 3), Raw(c.get()), Ld(3, 3), Raw(&info),
                     Raw(infos.get()), Size(1)),
              kSuccess);
    EXPECT_EQ(infos.Read(), std::vector<int>{1});
    // Fewer rows than columns, or a turned A, NVIDIA does not have.
    for (const auto& [op, m, n] : {std::tuple{kT, 3L, 2L}, {kN, 2L, 3L}}) {
      EXPECT_EQ(Invoke(kHost, name, Op(op), Size(m), Size(n), Size(1),
                       Raw(a.get()), Ld(3, 3), Raw(c.get()), Ld(3, 3),
                       Raw(&info), Raw(infos.get()), Size(1)),
                kNotSupported);
    }
    for (const auto& [m, n, columns, lda, ldc, count, wrong] :
         {std::tuple{-1L, 1L, 1L, 3L, 3L, 1L, -2},
          {3, -1, 1, 3, 3, 1, -3},
          {3, 2, -1, 3, 3, 1, -4},
          {3, 2, 1, 2, 3, 1, -6},
          {3, 2, 1, 3, 2, 1, -8},
          {3, 2, 1, 3, 3, -1, -11}}) {
      EXPECT_EQ(
          InvokeWith(CublasHandle(), kHost, name, Op(kN), Count(m), Count(n),
                     Count(columns), Raw(a.get()), Count(lda), Raw(c.get()),
                     Count(ldc), Raw(&info), Raw(infos.get()), Count(count)),
          kInvalidValue);
      EXPECT_EQ(info, wrong);
    }
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests
