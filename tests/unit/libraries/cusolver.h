// Calls of cuSOLVER as a program makes them, for tests of every function of the
// table: functions are found by their names, and what is passed is declared
// here, after NVIDIA's documentation.
//
// A test gives a function's arguments, each wrapped in what it is, so that a
// bad value for it is known, too (ExpectRefused).
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_CUSOLVER_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_CUSOLVER_H_

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests::solver {

// cusolverStatus_t.
inline constexpr int kSuccess = 0;
inline constexpr int kNotInitialized = 1;
inline constexpr int kInvalidValue = 3;
inline constexpr int kNotSupported = 9;

void* SolverSymbol(const std::string& name);  // remembers that it was asked
const std::set<std::string>& CalledSolver();
template <typename... A>
int Solver(const std::string& name, A... arguments) {
  return reinterpret_cast<int (*)(A...)>(SolverSymbol(name))(arguments...);
}
Handle SolverHandle();  // one for all tests, on the default stream
void* SolverParams();   // cusolverDnParams_t
// syevjInfo_t of "Syevj", gesvdjInfo_t of "Gesvdj"; to be destroyed.
void* JacobiInfo(const std::string& kind);
void Synchronize();

// The letters of a type in a function's name: "Dn" and one of S, D, C, Z; of
// functions that are named after real and after complex matrices that name.
template <typename T>
std::string Dn(const std::string& name) {
  return std::string("cusolverDn") + kLetter<T> + name;
}
template <typename T>
std::string Dn(const std::string& real, const std::string& complex) {
  return Dn<T>(kIsComplex<T> ? complex : real);
}
// cudaDataType.
template <typename T>
inline constexpr int kType = std::is_same_v<T, float>       ? 0
                             : std::is_same_v<T, double>    ? 1
                             : std::is_same_v<T, Complex32> ? 4
                                                            : 5;

// cusolverEigMode_t, cusolverEigType_t.
struct Mode : Number {
  using Number::Number;
};
struct Kind : Number {
  using Number::Number;
};

// As the call is made: I is the type of sizes.
template <typename I>
struct Lowering {
  int operator()(Op a) const { return Other(a, 4); }
  int operator()(Fill a) const { return Other(a, 3); }
  int operator()(Side a) const { return Other(a, 2); }
  int operator()(Diag a) const { return Other(a, 2); }
  int operator()(Mode a) const { return Other(a, 2); }
  int operator()(Kind a) const { return Other(a, 0); }
  I operator()(Size a) const { return static_cast<I>(a.broken ? -1 : a.value); }
  I operator()(Count a) const { return static_cast<I>(a.value); }
  I operator()(Inc a) const { return static_cast<I>(a.broken ? 0 : a.value); }
  I operator()(Ld a) const {
    return static_cast<I>(a.broken ? a.least - 1 : a.value);
  }
  template <typename T>
  T operator()(const Raw<T>& a) const {
    return a.value;
  }

 private:
  static int Other(const Number& a, int bad) {
    return a.broken ? bad : static_cast<int>(a.value);
  }
};
template <typename I = int, typename... A>
int Invoke(Handle handle, const std::string& name, const A&... arguments) {
  const Lowering<I> lower;
  return Solver(name, handle, lower(arguments)...);
}

// With arguments in tuples, one after the other.
template <typename I = int, typename... P>
int InvokeAll(const std::string& name, const P&... parts) {
  return std::apply(
      [&](const auto&... a) { return Invoke<I>(SolverHandle(), name, a...); },
      std::tuple_cat(parts...));
}

template <typename I, std::size_t kIndex, typename... A>
void ExpectOneRefused(const std::string& name, std::tuple<A...> arguments) {
  if constexpr (kCanBreak<std::tuple_element_t<kIndex, std::tuple<A...>>>) {
    std::get<kIndex>(arguments).broken = true;
    const int status = std::apply(
        [&](const A&... a) { return Invoke<I>(SolverHandle(), name, a...); },
        arguments);
    EXPECT_EQ(status, kInvalidValue) << name << ", argument " << kIndex + 1;
  }
}
// Each argument in turn is made bad; a handle that is none is refused, too.
template <typename I = int, typename... A>
void ExpectRefused(const std::string& name, const A&... arguments) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (ExpectOneRefused<I, i>(name, std::tuple<A...>(arguments...)), ...);
  }(std::index_sequence_for<A...>());
  int none[64] = {};
  for (const Handle handle : {Handle{nullptr}, Handle{none}}) {
    EXPECT_EQ(Invoke<I>(handle, name, arguments...), kNotInitialized) << name;
  }
}

// A matrix in device memory with a gap below its columns, which nothing may
// touch. Where its elements are `beside`, nothing may depend on them.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(const Matrix& a, long gap = 1)
      : rows_(a.rows),
        columns_(a.columns),
        ld_(std::max(1L, a.rows) + gap),
        memory_(Stored<T>(a, ld_, kGuard)) {}
  T* get() const { return memory_.get(); }
  long ld() const { return ld_; }
  Ld step() const { return Ld(ld_, rows_); }
  Matrix Read() const {
    Synchronize();
    const std::vector<Complex64> memory = Widened(memory_.Read());
    Matrix out(rows_, columns_);
    for (long j = 0; j < columns_; ++j) {
      for (long i = 0; i < ld_; ++i) {
        const Complex64 value = memory[static_cast<std::size_t>(i + j * ld_)];
        if (i < rows_) out(i, j) = value;
        else EXPECT_EQ(value, Complex64(kGuard)) << "beside a matrix";
      }
    }
    return out;
  }

 private:
  long rows_, columns_, ld_;
  Device<T> memory_;
};
template <typename T>
Matrix ReadVector(const Device<T>& v, long n) {
  Synchronize();
  const std::vector<Complex64> values = Widened(v.Read());
  Matrix out(n, 1);
  std::copy_n(values.begin(), n, out.v.begin());
  return out;
}
template <typename T>
Device<T> Zeros(long n) {
  return Device<T>(std::vector<T>(static_cast<std::size_t>(n + 1)));
}

// One number of the device's.
class Info {
 public:
  explicit Info(std::size_t n = 1) : memory_(std::vector<int>(n, 777)) {}
  int* get() const { return memory_.get(); }
  int Read(std::size_t i = 0) const {
    Synchronize();
    return memory_.Read()[i];
  }

 private:
  Device<int> memory_;
};

// Asks for memory with `front` and calls the function with `front`, that
// memory, and `tail`; expects success and returns the number it tells, which
// stands in front of the tail.
template <typename T, typename I = int, typename... A, typename... B>
int WithWork(const std::string& name, const std::tuple<A...>& front,
             const std::tuple<B...>& tail = {}) {
  const Info info;
  int size = 0;
  EXPECT_EQ(
      InvokeAll<I>(name + "_bufferSize", front, std::tuple(Raw(&size)), tail),
      kSuccess)
      << name;
  EXPECT_GT(size, 0) << name;
  const Device<T> work = Zeros<T>(size);
  EXPECT_EQ(InvokeAll<I>(
                name, front,
                std::tuple(Raw(work.get()), Raw(size), Raw(info.get())), tail),
            kSuccess)
      << name;
  return info.Read();
}
// The same of functions with 64 bits, whose memory is told in bytes.
template <typename... A, typename... B, typename... S>
int WithBytes(const std::string& name, const std::tuple<A...>& front,
              const std::tuple<B...>& tail = {},
              const std::tuple<S...>& tail_of_size = {}) {
  const Info info;
  std::size_t device = 0, host = 777;
  EXPECT_EQ(InvokeAll<std::int64_t>(name + "_bufferSize", front,
                                    std::tuple(Raw(&device), Raw(&host)),
                                    tail_of_size),
            kSuccess)
      << name;
  EXPECT_GT(device, 0u) << name;
  const Device<char> work = Zeros<char>(static_cast<long>(device));
  std::vector<char> on_host(host + 1);
  EXPECT_EQ(
      InvokeAll<std::int64_t>(
          name, front,
          std::tuple(Raw<void*>(work.get()), Raw(device),
                     Raw<void*>(on_host.data()), Raw(host), Raw(info.get())),
          tail),
      kSuccess)
      << name;
  return info.Read();
}

// --- References
template <typename T>
void ExpectMatrix(const Matrix& got, const Matrix& want, double units,
                  const std::string& what) {
  ExpectNear(got.v, want.v, units * std::numeric_limits<Real<T>>::epsilon(),
             what);
}
Matrix Identity(long n);
Matrix Minus(Matrix a, const Matrix& b);
Matrix Block(const Matrix& a, long row, long column, long rows, long columns);
Matrix Diagonal(const std::vector<double>& values);
// The real numbers of a vector.
std::vector<double> Reals(const Matrix& vector);
template <typename T>
Matrix RandomHermitian(Numbers& numbers, long n) {
  return Mirrored(RandomMatrix<T>(numbers, n, n), true);
}
// Positive definite.
template <typename T>
Matrix RandomDefinite(Numbers& numbers, long n) {
  const Matrix a = RandomMatrix<T>(numbers, n, n);
  Matrix s = Times(a, Apply(kC, a));
  for (long i = 0; i < n; ++i) s(i, i) += 1;
  return s;
}
// Any, with nothing at zero on the diagonal.
template <typename T>
Matrix RandomSolvable(Numbers& numbers, long m, long n) {
  Matrix a = RandomMatrix<T>(numbers, m, n);
  for (long i = 0; i < std::min(m, n); ++i) a(i, i) += 0.125;
  return a;
}
// Q out of reflections in the columns of `a`, from the `below`th beside the
// diagonal on: H(1) H(2) …, H(i) = I - tau v v^H.
Matrix Product(const Matrix& a, const Matrix& tau, long below, long count);
inline constexpr std::pair<long, long> kShapes[] = {
    {5, 5}, {7, 4}, {3, 6}, {1, 1}, {0, 0}, {4, 0}, {33, 33}};
// One triangle of it, and what must not be read in the other.
Matrix Half(Matrix a, int fill, Complex64 beside = kNan);

}  // namespace cerberus::libraries::tests::solver

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_CUSOLVER_H_
