// Functions whose types are told at run time, and those whose names tell two.
#include <cctype>

#include "tests/unit/libraries/cusolver.h"

namespace cerberus::libraries::tests::solver {
namespace {

constexpr double kUnits = 4096;

// The functions with 64 bits, whose types are told, and their older names,
// which know no memory of the host's.
struct Typed {
  bool old;
  std::string Name(std::string name) const {
    if (!old) return "cusolverDnX" + name;
    name[0] = static_cast<char>(std::toupper(name[0]));
    return "cusolverDn" + name;
  }
  // Memory is asked for with `asked`. Returns the number that is told.
  template <typename Asked, typename Front>
  int Run(const std::string& name, const Asked& asked,
          const Front& front) const {
    const Info info;
    std::size_t size = 0, host = 0;
    if (old) {
      EXPECT_EQ(InvokeAll<std::int64_t>(Name(name + "_bufferSize"), asked,
                                        std::tuple(Raw(&size))),
                kSuccess);
      EXPECT_EQ(InvokeAll<std::int64_t>(Name(name), front,
                                        std::tuple(Raw<void*>(nullptr),
                                                   Raw(size), Raw(info.get()))),
                kSuccess);
    } else {
      EXPECT_EQ(InvokeAll<std::int64_t>(Name(name + "_bufferSize"), asked,
                                        std::tuple(Raw(&size), Raw(&host))),
                kSuccess);
      EXPECT_EQ(
          InvokeAll<std::int64_t>(
              Name(name), front,
              std::tuple(Raw<void*>(nullptr), Raw(size), Raw<void*>(nullptr),
                         Raw(host), Raw(info.get()))),
          kSuccess);
    }
    EXPECT_GT(size, 0u) << name;
    return info.Read();
  }
  template <typename Front>
  int Run(const std::string& name, const Front& front) const {
    return Run(name, front, front);
  }
};
template <typename T>
void TestSolutions(const Typed& typed) {
  Numbers numbers;
  const long n = 5;
  const Raw params(SolverParams());
  const Raw type(kType<T>);
  const Matrix a = RandomSolvable<T>(numbers, n, n);
  const Matrix s = RandomDefinite<T>(numbers, n);
  const Matrix x = RandomMatrix<T>(numbers, n, 2);
  const OnDevice<T> lu(a), b(Times(a, x)), l(s), c(Times(s, x)), qr(a);
  const Device<std::int64_t> pivots = Zeros<std::int64_t>(n);
  const Device<T> tau = Zeros<T>(n);
  const Info info;
  const auto lu_shape = std::tuple(params, Size(n), Size(n), type,
                                   Raw<void*>(lu.get()), lu.step());
  EXPECT_EQ(
      typed.Run("getrf", std::tuple_cat(lu_shape, std::tuple(type)),
                std::tuple_cat(lu_shape, std::tuple(Raw(pivots.get()), type))),
      0);
  EXPECT_EQ(Invoke<std::int64_t>(
                SolverHandle(), typed.Name("getrs"), params, Op(kN), Size(n),
                Size(2), type, Raw<const void*>(lu.get()), lu.step(),
                Raw<const std::int64_t*>(pivots.get()), type,
                Raw<void*>(b.get()), b.step(), Raw(info.get())),
            kSuccess);
  ExpectMatrix<T>(b.Read(), x, 32 * kUnits, "getrs");
  EXPECT_EQ(typed.Run("potrf", std::tuple(params, Fill(kUpper), Size(n), type,
                                          Raw<void*>(l.get()), l.step(), type)),
            0);
  EXPECT_EQ(Invoke<std::int64_t>(
                SolverHandle(), typed.Name("potrs"), params, Fill(kUpper),
                Size(n), Size(2), type, Raw<const void*>(l.get()), l.step(),
                type, Raw<void*>(c.get()), c.step(), Raw(info.get())),
            kSuccess);
  EXPECT_EQ(info.Read(), 0);
  ExpectMatrix<T>(c.Read(), x, 32 * kUnits, "potrs");
  EXPECT_EQ(typed.Run("geqrf", std::tuple(params, Size(n), Size(n), type,
                                          Raw<void*>(qr.get()), qr.step(), type,
                                          Raw<void*>(tau.get()), type)),
            0);
  ExpectMatrix<T>(Times(Product(qr.Read(), ReadVector(tau, n), 0, n),
                        Triangle(qr.Read(), kUpper, kNonUnit)),
                  a, kUnits, "geqrf");
}
template <typename T>
void TestSpectra(const Typed& typed) {
  using R = Real<T>;
  Numbers numbers;
  const long n = 5;
  const Raw params(SolverParams());
  const Raw type(kType<T>), real(kType<R>);
  const Matrix a = RandomHermitian<T>(numbers, n);
  const OnDevice<T> all(a), some(a), values_of(a), u(Matrix(n, n)),
      vh(Matrix(n, n));
  const Device<R> w = Zeros<R>(n), w_some = Zeros<R>(n), s = Zeros<R>(n);
  std::int64_t found = 0;
  EXPECT_EQ(
      typed.Run("syevd", std::tuple(params, Mode(1), Fill(kLower), Size(n),
                                    type, Raw<void*>(all.get()), all.step(),
                                    real, Raw<void*>(w.get()), type)),
      0);
  EXPECT_EQ(
      typed.Run(
          "syevdx",
          std::tuple(params, Mode(1), Raw(1002), Fill(kLower), Size(n), type,
                     Raw<void*>(some.get()), some.step(), Raw<void*>(nullptr),
                     Raw<void*>(nullptr), Count(2), Count(3), Raw(&found), real,
                     Raw<void*>(w_some.get()), type)),
      0);
  EXPECT_EQ(found, 2);
  const signed char job = 'A';
  EXPECT_EQ(
      typed.Run("gesvd", std::tuple(params, Raw(job), Raw(job), Size(n),
                                    Size(n), type, Raw<void*>(values_of.get()),
                                    values_of.step(), real, Raw<void*>(s.get()),
                                    type, Raw<void*>(u.get()), u.step(), type,
                                    Raw<void*>(vh.get()), vh.step(), type)),
      0);
  const Matrix x = all.Read();
  ExpectMatrix<T>(Times(a, x), Times(x, Diagonal(Reals(ReadVector(w, n)))),
                  kUnits, "syevd");
  const Matrix y = Block(some.Read(), 0, 0, n, 2);
  ExpectMatrix<T>(Times(a, y), Times(y, Diagonal(Reals(ReadVector(w_some, 2)))),
                  kUnits, "syevdx");
  ExpectMatrix<T>(
      Times(Times(u.Read(), Diagonal(Reals(ReadVector(s, n)))), vh.Read()), a,
      kUnits, "gesvd");
}
TEST(CusolverTyped, FactorsAndSolves) {
  ForAll([]<typename T>() {
    for (const bool old : {false, true}) {
      TestSolutions<T>({old});
      TestSpectra<T>({old});
    }
    for (const int fill : {kLower, kUpper}) {
      for (const int diag : {kUnit, kNonUnit}) {
        for (const long n : {5, 1, 0}) {
          Numbers numbers;
          const Matrix a = RandomSolvable<T>(numbers, n, n);
          const OnDevice<T> memory(a);
          EXPECT_EQ(
              WithBytes(
                  "cusolverDnXtrtri",
                  std::tuple(Fill(fill), Diag(diag), Size(n), Raw(kType<T>),
                             Raw<void*>(memory.get()), memory.step())),
              0);
          ExpectMatrix<T>(Times(Triangle(a, fill, diag),
                                Triangle(memory.Read(), fill, diag)),
                          Identity(n), 64 * kUnits, "trtri");
        }
      }
    }
    const OnDevice<T> singular(Matrix(2, 2));
    EXPECT_EQ(WithBytes("cusolverDnXtrtri",
                        std::tuple(Fill(kLower), Diag(kNonUnit), Size(2),
                                   Raw(kType<T>), Raw<void*>(singular.get()),
                                   singular.step())),
              1);
  });
  // Types that are none, and that do not go together.
  const Device<double> a = Zeros<double>(16);
  const Info info;
  const std::int64_t n = 2, ld = 2;
  for (const auto& [type, compute] : {std::pair{2, 2}, {0, 1}, {5, 1}}) {
    std::size_t device = 0, host = 0;
    EXPECT_EQ(
        Solver("cusolverDnXpotrf_bufferSize", SolverHandle(), SolverParams(),
               kLower, n, type, a.get(), ld, compute, &device, &host),
        kInvalidValue);
    EXPECT_EQ(Solver("cusolverDnXpotrf", SolverHandle(), SolverParams(), kLower,
                     n, type, a.get(), ld, compute, a.get(), std::size_t{0},
                     a.get(), std::size_t{0}, info.get()),
              kInvalidValue);
  }
}

// Solutions that NVIDIA refines, by all the names they have.
template <typename T>
std::vector<std::string> Precisions() {
  switch (kLetter<T>) {
    case 'S': return {"SS", "SH", "SB", "SX"};
    case 'D': return {"DD", "DS", "DH", "DB", "DX"};
    case 'C': return {"CC", "CK", "CE", "CY"};
    default: return {"ZZ", "ZC", "ZK", "ZE", "ZY"};
  }
}
// What is left of A X - B stands at right angles to A's columns.
template <typename T>
void ExpectLeastSquares(const Matrix& a, const Matrix& x, const Matrix& b) {
  const Matrix rest = Minus(Times(a, x), b);
  ExpectMatrix<T>(Times(Apply(kC, a), rest), Matrix(a.columns, b.columns),
                  8 * kUnits, "least squares");
}
TEST(CusolverRefined, ByTheirNames) {
  ForAll([]<typename T>() {
    for (const std::string& letters : Precisions<T>()) {
      Numbers numbers;
      const std::string gesv = "cusolverDn" + letters + "gesv",
                        gels = "cusolverDn" + letters + "gels";
      for (const auto& [m, n] : {std::pair{5L, 5L}, {7L, 3L}, {1L, 1L}}) {
        const Matrix a = RandomSolvable<T>(numbers, m, n);
        const Matrix b = RandomMatrix<T>(numbers, m, 2);
        const OnDevice<T> memory(a), images(b), x(Matrix(n, 2));
        const Device<int> pivots = Zeros<int>(n);
        const Info info;
        int iterations = 777;
        std::size_t size = 0;
        const auto call = [&](const std::string& name, const auto& shape,
                              const auto& middle, const auto& end) {
          return std::apply(
              [&](const auto&... arguments) {
                return Invoke(SolverHandle(), name, arguments...);
              },
              std::tuple_cat(
                  shape,
                  std::tuple(Size(n), Size(2), Raw(memory.get()),
                             memory.step()),
                  middle,
                  std::tuple(Raw(images.get()), images.step(), Raw(x.get()),
                             x.step(), Raw<void*>(nullptr)),
                  end));
        };
        const auto both = [&](const std::string& name, const auto& shape,
                              const auto& middle) {
          EXPECT_EQ(
              call(name + "_bufferSize", shape, middle, std::tuple(Raw(&size))),
              kSuccess);
          EXPECT_GT(size, 0u);
          EXPECT_EQ(
              call(name, shape, middle,
                   std::tuple(Raw(size), Raw(&iterations), Raw(info.get()))),
              kSuccess);
          EXPECT_EQ(info.Read(), 0);
          EXPECT_GE(iterations, 0);
        };
        both(gels, std::tuple(Size(m)), std::tuple());
        ExpectLeastSquares<T>(a, x.Read(), b);
        if (m == n) {
          both(gesv, std::tuple(), std::tuple(Raw(pivots.get())));
          ExpectMatrix<T>(Times(a, x.Read()), b, 32 * kUnits, gesv);
        }
        ExpectMatrix<T>(memory.Read(), a, 0, "A stays");
        ExpectMatrix<T>(images.Read(), b, 0, "B stays");
      }
      const OnDevice<T> zero(Matrix(2, 2));
      const Info info;
      int iterations = 0;
      EXPECT_EQ(Solver(gesv, SolverHandle(), 2, 1, zero.get(), 3, info.get(),
                       zero.get(), 3, zero.get(), 3, nullptr, std::size_t{256},
                       &iterations, info.get()),
                kSuccess);
      EXPECT_EQ(info.Read(), 1);
      ExpectRefused(gesv, Size(2), Size(1), Raw(zero.get()), Ld(3, 2),
                    Raw(info.get()), Raw(zero.get()), Ld(3, 2), Raw(zero.get()),
                    Ld(3, 2), Raw<void*>(nullptr), Raw<std::size_t>(0),
                    Raw(&iterations), Raw(info.get()));
      ExpectRefused(gels, Size(2), Size(2), Size(1), Raw(zero.get()), Ld(3, 2),
                    Raw(zero.get()), Ld(3, 2), Raw(zero.get()), Ld(3, 2),
                    Raw<void*>(nullptr), Raw<std::size_t>(0), Raw(&iterations),
                    Raw(info.get()));
    }
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::solver
