// Factors of square matrices by what their products are, and solutions by what
// they solve.
#include <deque>
#include <memory>

#include "tests/unit/libraries/cusolver.h"

namespace cerberus::libraries::tests::solver {
namespace {

constexpr double kUnits = 4096;

// Rows exchanged as the pivots say, which are counted from 1.
template <typename P>
Matrix Exchanged(Matrix a, const std::vector<P>& pivots, long count) {
  for (long i = 0; i < count; ++i) {
    const long other = pivots[static_cast<std::size_t>(i)] - 1;
    for (long j = 0; j < a.columns && other != i; ++j) {
      std::swap(a(i, j), a(other, j));
    }
  }
  return a;
}
Matrix WithUnit(const Matrix& lu, long n) {
  return Triangle(Block(lu, 0, 0, lu.rows, n), kLower, kUnit);
}

TEST(CusolverLu, Factors) {
  ForAll([]<typename T>() {
    for (const auto& [m, n] : kShapes) {
      for (const bool pivoting : {true, false}) {
        Numbers numbers;
        const long k = std::min(m, n);
        Matrix a = RandomSolvable<T>(numbers, m, n);
        for (long i = 0; !pivoting && i < k; ++i) a(i, i) += 50;
        const OnDevice<T> memory(a);
        const Device<int> pivots = Zeros<int>(k);
        const Info info;
        int size = 0;
        EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("getrf_bufferSize"), Size(m),
                         Size(n), Raw(memory.get()), memory.step(), Raw(&size)),
                  kSuccess);
        EXPECT_GT(size, 0);
        const Device<T> work = Zeros<T>(size);
        EXPECT_EQ(
            Invoke(SolverHandle(), Dn<T>("getrf"), Size(m), Size(n),
                   Raw(memory.get()), memory.step(), Raw(work.get()),
                   Raw(pivoting ? pivots.get() : nullptr), Raw(info.get())),
            kSuccess);
        EXPECT_EQ(info.Read(), 0);
        const Matrix lu = memory.Read();
        ExpectMatrix<T>(
            Times(WithUnit(lu, k),
                  Triangle(Block(lu, 0, 0, k, n), kUpper, kNonUnit)),
            pivoting ? Exchanged(a, pivots.Read(), k) : a, kUnits, "L U");
      }
    }
    const Device<T> a = Zeros<T>(64);
    const Info info;
    int size = 0;
    ExpectRefused(Dn<T>("getrf"), Size(3), Size(2), Raw(a.get()), Ld(3, 3),
                  Raw(a.get()), Raw(info.get()), Raw(info.get()));
    ExpectRefused(Dn<T>("getrf_bufferSize"), Size(3), Size(2), Raw(a.get()),
                  Ld(3, 3), Raw(&size));
  });
}

TEST(CusolverLu, Solves) {
  ForAll([]<typename T>() {
    for (const long n : {5, 1, 0, 33}) {
      for (const int op : {kN, kT, kC}) {
        for (const long columns : {3, 1, 0}) {
          Numbers numbers;
          const Matrix a = RandomSolvable<T>(numbers, n, n);
          const Matrix x = RandomMatrix<T>(numbers, n, columns);
          const OnDevice<T> lu(a), b(Times(Apply(op, a), x), 2);
          const Device<int> pivots = Zeros<int>(n);
          const Info info;
          EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("getrf"), Size(n), Size(n),
                           Raw(lu.get()), lu.step(), Raw(lu.get()),
                           Raw(pivots.get()), Raw(info.get())),
                    kSuccess);
          EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("getrs"), Op(op), Size(n),
                           Size(columns), Raw<const T*>(lu.get()), lu.step(),
                           Raw<const int*>(pivots.get()), Raw(b.get()),
                           b.step(), Raw(info.get())),
                    kSuccess);
          EXPECT_EQ(info.Read(), 0);
          ExpectMatrix<T>(b.Read(), x, 32 * kUnits, "solved");
        }
      }
    }
    const Device<T> a = Zeros<T>(64);
    const Info info;
    ExpectRefused(Dn<T>("getrs"), Op(kN), Size(3), Size(1),
                  Raw<const T*>(a.get()), Ld(3, 3), Raw<const int*>(info.get()),
                  Raw(a.get()), Ld(3, 3), Raw(info.get()));
  });
}

// The first zero on U's diagonal is told, counted from 1.
TEST(CusolverLu, SingularMatrices) {
  ForAll([]<typename T>() {
    Matrix a = Identity(3);
    a(1, 1) = 0;
    const OnDevice<T> memory(a);
    const Device<int> pivots = Zeros<int>(3);
    const Info info;
    EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("getrf"), Size(3), Size(3),
                     Raw(memory.get()), memory.step(), Raw(memory.get()),
                     Raw(pivots.get()), Raw(info.get())),
              kSuccess);
    EXPECT_EQ(info.Read(), 2);
  });
}

TEST(CusolverLu, RowExchanges) {
  ForAll([]<typename T>() {
    Numbers numbers;
    const Matrix a = RandomMatrix<T>(numbers, 4, 3);
    for (const int step : {1, 2, -1, -2}) {
      const OnDevice<T> memory(a);
      // Of rows 2 to 4.
      const Device<int> pivots(step == 1 || step == -1
                                   ? std::vector<int>{9, 4, 3, 4}
                                   : std::vector<int>{9, 4, 9, 3, 9, 4});
      EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("laswp"), Size(3),
                       Raw(memory.get()), Count(memory.ld()), Count(2),
                       Count(4), Raw<const int*>(pivots.get()), Count(step)),
                kSuccess);
      Matrix want = a;
      const auto swap = [&](long x, long y) {
        for (long j = 0; j < 3; ++j) std::swap(want(x, j), want(y, j));
      };
      swap(1, 3);  // 2 and 4; 3 and 3, 4 and 4 stay
      ExpectMatrix<T>(memory.Read(), want, 0, "rows");
    }
    const Device<T> a_few = Zeros<T>(64);
    const Info info;
    ExpectRefused(Dn<T>("laswp"), Size(3), Raw(a_few.get()), Ld(4, 1), Count(1),
                  Count(1), Raw<const int*>(info.get()), Inc(1));
  });
}

TEST(CusolverCholesky, FactorsSolvesInverts) {
  ForAll([]<typename T>() {
    for (const long n : {5, 1, 0, 33}) {
      for (const int fill : {kLower, kUpper}) {
        Numbers numbers;
        const Matrix a = RandomDefinite<T>(numbers, n);
        const Matrix x = RandomMatrix<T>(numbers, n, 2);
        const OnDevice<T> memory(Half(a, fill, 9)), b(Times(a, x), 3);
        const auto front =
            std::tuple(Fill(fill), Size(n), Raw(memory.get()), memory.step());
        EXPECT_EQ(WithWork<T>(Dn<T>("potrf"), front), 0);
        const Matrix factor = memory.Read();
        const Matrix l = Triangle(factor, fill, kNonUnit);
        ExpectMatrix<T>(
            fill == kLower ? Times(l, Apply(kC, l)) : Times(Apply(kC, l), l), a,
            kUnits, "Cholesky's factor");
        if (n > 1) EXPECT_EQ(fill == kLower ? factor(0, 1) : factor(1, 0), 9.0);
        const Info info;
        EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("potrs"), Fill(fill), Size(n),
                         Size(2), Raw<const T*>(memory.get()), memory.step(),
                         Raw(b.get()), b.step(), Raw(info.get())),
                  kSuccess);
        EXPECT_EQ(info.Read(), 0);
        ExpectMatrix<T>(b.Read(), x, 8 * kUnits, "solved");
        EXPECT_EQ(WithWork<T>(Dn<T>("potri"), front), 0);
        const Matrix whole = Mirrored(
            fill == kUpper ? memory.Read() : Apply(kC, memory.Read()), true);
        ExpectMatrix<T>(Times(a, whole), Identity(n), 32 * kUnits, "inverse");
      }
    }
    Matrix indefinite = Identity(4);
    for (const double bad : {-1.0, kNan}) {
      indefinite(2, 2) = bad;
      for (const int fill : {kLower, kUpper}) {
        const OnDevice<T> memory(indefinite);
        EXPECT_EQ(WithWork<T>(Dn<T>("potrf"),
                              std::tuple(Fill(fill), Size(4), Raw(memory.get()),
                                         memory.step())),
                  3)
            << bad;
      }
    }
    const Device<T> m = Zeros<T>(64);
    const Info info;
    int size = 0;
    for (const char* name : {"potrf", "potri", "lauum"}) {
      ExpectRefused(Dn<T>(name), Fill(kLower), Size(3), Raw(m.get()), Ld(3, 3),
                    Raw(m.get()), Count(64), Raw(info.get()));
      ExpectRefused(Dn<T>(name + std::string("_bufferSize")), Fill(kLower),
                    Size(3), Raw(m.get()), Ld(3, 3), Raw(&size));
    }
    ExpectRefused(Dn<T>("potrs"), Fill(kLower), Size(3), Size(1),
                  Raw<const T*>(m.get()), Ld(3, 3), Raw(m.get()), Ld(3, 3),
                  Raw(info.get()));
  });
}

TEST(CusolverCholesky, ProductOfATriangle) {
  ForAll([]<typename T>() {
    for (const long n : {5, 1, 0}) {
      for (const int fill : {kLower, kUpper}) {
        Numbers numbers;
        Matrix a = RandomMatrix<T>(numbers, n, n);
        // Of a factor, whose diagonal is real.
        for (long i = 0; i < n; ++i) a(i, i) = a(i, i).real() + 1;
        const OnDevice<T> memory(Half(a, fill, 9));
        EXPECT_EQ(WithWork<T>(Dn<T>("lauum"),
                              std::tuple(Fill(fill), Size(n), Raw(memory.get()),
                                         memory.step())),
                  0);
        const Matrix t = Triangle(a, fill, kNonUnit);
        const Matrix product =
            fill == kUpper ? Times(t, Apply(kC, t)) : Times(Apply(kC, t), t);
        ExpectMatrix<T>(memory.Read(), Half(product, fill, 9), kUnits, "lauum");
      }
    }
  });
}

TEST(CusolverCholesky, ManyMatrices) {
  ForAll([]<typename T>() {
    Numbers numbers;
    const long n = 4;
    for (const int fill : {kLower, kUpper}) {
      std::vector<Matrix> as, xs;
      std::deque<OnDevice<T>> memory, images;
      std::vector<T*> places, places_of_images;
      for (int i = 0; i < 3; ++i) {
        as.push_back(RandomDefinite<T>(numbers, n));
        xs.push_back(RandomMatrix<T>(numbers, n, 1));
        if (i == 1) as[1](1, 1) = -1;
        memory.emplace_back(Half(as.back(), fill, 9));
        images.emplace_back(Times(as.back(), xs.back()));
        places.push_back(memory.back().get());
        places_of_images.push_back(images.back().get());
      }
      const Device<T*> a(places), b(places_of_images);
      const Info infos(4);
      EXPECT_EQ(
          Invoke(SolverHandle(), Dn<T>("potrfBatched"), Fill(fill), Size(n),
                 Raw(a.get()), memory[0].step(), Raw(infos.get()), Size(3)),
          kSuccess);
      EXPECT_EQ(infos.Read(0), 0);
      EXPECT_EQ(infos.Read(1), 2);
      EXPECT_EQ(infos.Read(2), 0);
      EXPECT_EQ(infos.Read(3), 777);
      EXPECT_EQ(
          Invoke(SolverHandle(), Dn<T>("potrsBatched"), Fill(fill), Size(n),
                 Size(1), Raw(a.get()), memory[0].step(), Raw(b.get()),
                 images[0].step(), Raw(infos.get()), Size(3)),
          kSuccess);
      EXPECT_EQ(infos.Read(0), 0);
      for (const std::size_t i : {0u, 2u}) {
        ExpectMatrix<T>(images[i].Read(), xs[i], 8 * kUnits, "solved");
      }
    }
    const Info info;
    ExpectRefused(Dn<T>("potrfBatched"), Fill(kLower), Size(3),
                  Raw<T**>(nullptr), Ld(3, 3), Raw(info.get()), Size(0));
    ExpectRefused(Dn<T>("potrsBatched"), Fill(kLower), Size(3), Size(1),
                  Raw<T**>(nullptr), Ld(3, 3), Raw<T**>(nullptr), Ld(3, 3),
                  Raw(info.get()), Size(0));
  });
}

// Symmetric and Hermitian matrices that are not definite, some of whose
// diagonal is zero, so that blocks of two rows are needed.
template <typename T>
Matrix RandomIndefinite(Numbers& numbers, long n, bool hermitian) {
  Matrix a = Mirrored(RandomMatrix<T>(numbers, n, n), hermitian);
  for (long i = 0; i < n; i += 2) a(i, i) = 0;
  if (n == 1) a(0, 0) = -3;
  return a;
}

// A^-1 by sytrf and sytri.
TEST(CusolverSymmetric, FactorsAndInverts) {
  ForAll([]<typename T>() {
    for (const long n : {6, 1, 0, 9, 33}) {
      for (const int fill : {kLower, kUpper}) {
        Numbers numbers;
        const Matrix a = RandomIndefinite<T>(numbers, n, false);
        const OnDevice<T> memory(Half(a, fill, 9));
        const Device<int> pivots = Zeros<int>(n);
        const Info info;
        int size = 0;
        EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("sytrf_bufferSize"), Size(n),
                         Raw(memory.get()), memory.step(), Raw(&size)),
                  kSuccess);
        const Device<T> work = Zeros<T>(size);
        EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("sytrf"), Fill(fill), Size(n),
                         Raw(memory.get()), memory.step(), Raw(pivots.get()),
                         Raw(work.get()), Raw(size), Raw(info.get())),
                  kSuccess);
        EXPECT_EQ(info.Read(), 0);
        EXPECT_EQ(WithWork<T>(
                      Dn<T>("sytri"),
                      std::tuple(Fill(fill), Size(n), Raw(memory.get()),
                                 memory.step(), Raw<const int*>(pivots.get()))),
                  0);
        const Matrix half = memory.Read();
        const Matrix whole =
            Mirrored(fill == kUpper ? half : Apply(kT, half), false);
        ExpectMatrix<T>(Times(a, whole), Identity(n), 64 * kUnits,
                        "inverse of " + std::to_string(n));
      }
    }
    // What is beside the diagonal is the pivot, if its square is nothing, too.
    Matrix beside(2, 2);
    beside(0, 1) = beside(1, 0) = 16 * std::numeric_limits<Real<T>>::min();
    const OnDevice<T> tiny(beside);
    const Info info, pivots(3);
    EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("sytrf"), Fill(kLower), Size(2),
                     Raw(tiny.get()), tiny.step(), Raw(pivots.get()),
                     Raw<T*>(nullptr), Raw(32), Raw(info.get())),
              kSuccess);
    EXPECT_EQ(info.Read(), 0);
    EXPECT_EQ(pivots.Read(0), -2);
    EXPECT_EQ(pivots.Read(1), -2);
    const OnDevice<T> zero(Matrix(3, 3));
    EXPECT_EQ(Invoke(SolverHandle(), Dn<T>("sytrf"), Fill(kLower), Size(3),
                     Raw(zero.get()), zero.step(), Raw(pivots.get()),
                     Raw(zero.get()), Raw(32), Raw(info.get())),
              kSuccess);
    EXPECT_EQ(info.Read(), 1);
    const Device<T> m = Zeros<T>(64);
    int size = 0;
    ExpectRefused(Dn<T>("sytrf"), Fill(kLower), Size(3), Raw(m.get()), Ld(3, 3),
                  Raw(pivots.get()), Raw(m.get()), Count(64), Raw(info.get()));
    ExpectRefused(Dn<T>("sytrf_bufferSize"), Size(3), Raw(m.get()), Ld(3, 3),
                  Raw(&size));
    ExpectRefused(Dn<T>("sytri"), Fill(kLower), Size(3), Raw(m.get()), Ld(3, 3),
                  Raw<const int*>(pivots.get()), Raw(m.get()), Count(64),
                  Raw(info.get()));
    ExpectRefused(Dn<T>("sytri_bufferSize"), Fill(kLower), Size(3),
                  Raw(m.get()), Ld(3, 3), Raw<const int*>(pivots.get()),
                  Raw(&size));
  });
}

// The functions with 64 bits, symmetric and Hermitian; without pivots, too.
TEST(CusolverSymmetric, Solves) {
  ForAll([]<typename T>() {
    for (const char* kind : {"sy", "he"}) {
      const bool hermitian = kind[0] == 'h';
      const std::string trf = std::string("cusolverDnX") + kind + "trf",
                        trs = std::string("cusolverDnX") + kind + "trs";
      for (const auto& [n, pivoting] : {std::pair{6L, true},
                                        {6, false},
                                        {1, true},
                                        {0, true},
                                        {9, true},
                                        {33, true}}) {
        for (const int fill : {kLower, kUpper}) {
          Numbers numbers;
          Matrix a = RandomIndefinite<T>(numbers, n, hermitian);
          for (long i = 0; !pivoting && i < n; ++i) a(i, i) = 40;
          const Matrix x = RandomMatrix<T>(numbers, n, 3);
          const OnDevice<T> memory(Half(a, fill, 9)), b(Times(a, x));
          const Device<std::int64_t> pivots = Zeros<std::int64_t>(n);
          std::int64_t* const p = pivoting ? pivots.get() : nullptr;
          EXPECT_EQ(WithBytes(trf, std::tuple(
                                       Raw(SolverParams()), Fill(fill), Size(n),
                                       Raw(kType<T>), Raw<void*>(memory.get()),
                                       memory.step(), Raw(p), Raw(kType<T>))),
                    0);
          const auto rest =
              std::tuple(Fill(fill), Size(n), Size(3), Raw(kType<T>),
                         Raw<const void*>(memory.get()), memory.step(),
                         Raw<const std::int64_t*>(p), Raw(kType<T>),
                         Raw<void*>(b.get()), b.step());
          if (hermitian) {
            EXPECT_EQ(
                WithBytes(
                    trs, std::tuple_cat(std::tuple(Raw(SolverParams())), rest)),
                0);
          } else {
            EXPECT_EQ(WithBytes(trs, rest), 0);
          }
          ExpectMatrix<T>(b.Read(), x, 64 * kUnits,
                          trs + " " + std::to_string(n));
        }
      }
    }
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::solver
