// Calls of cuBLAS as a program makes them, for tests of every function of the
// table: the library and the driver are opened, functions are found by their
// names, and what is passed is declared here, after NVIDIA's documentation.
//
// A test gives the arguments of a function once, each wrapped in what it is (a
// size, a step, a scalar, …), and calls it in all its forms: with int and with
// 64 bits, scalars of the host or the device, cublas.h's, cublasXt's. By what
// an argument is, a bad value for it is known, too (ExpectRefusals).
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_CUBLAS_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_CUBLAS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace cerberus::libraries::tests {

using Complex32 = std::complex<float>;
using Complex64 = std::complex<double>;

// cublasStatus_t.
inline constexpr int kSuccess = 0;
inline constexpr int kNotInitialized = 1;
inline constexpr int kInvalidValue = 7;
inline constexpr int kNotSupported = 15;
// cublasOperation_t, cublasFillMode_t, cublasSideMode_t, cublasDiagType_t.
enum { kN, kT, kC, kConj };
enum { kLower, kUpper };
enum { kLeft, kRight };
enum { kNonUnit, kUnit };

// --- Functions by name
void* CudaSymbol(const char* name);
void* CublasSymbol(const std::string& name);  // remembers that it was asked
bool HasCublas(const std::string& name);
const std::set<std::string>& CalledNames();

template <typename... A>
int Cuda(const char* name, A... arguments) {
  return reinterpret_cast<int (*)(A...)>(CudaSymbol(name))(arguments...);
}
template <typename R = int, typename... A>
R Cublas(const std::string& name, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(CublasSymbol(name))(arguments...);
}

using Handle = void*;
Handle CublasHandle();  // one for all tests, on the default stream
Handle XtHandle();
void InitOld();                   // cublasInit, once
void* NewStream(unsigned flags);  // null if there is none

// --- Device memory, which is given back in the opposite order
void* TakeDevice(std::size_t bytes);
void GiveBackDevice(void* memory);
void Upload(void* device, const void* host, std::size_t bytes);
void Download(void* host, const void* device, std::size_t bytes);

template <typename T>
class Device {
 public:
  explicit Device(const std::vector<T>& values)
      : size_(values.size()), memory_(TakeDevice(size_ * sizeof(T))) {
    Upload(memory_, values.data(), size_ * sizeof(T));
  }
  ~Device() { GiveBackDevice(memory_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  T* get() const { return static_cast<T*>(memory_); }
  std::vector<T> Read() const {
    std::vector<T> values(size_);
    Download(values.data(), memory_, size_ * sizeof(T));
    return values;
  }

 private:
  std::size_t size_;
  void* memory_;
};

// --- Types
template <typename T>
struct RealOf {
  using Type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <typename T>
using Real = typename RealOf<T>::Type;
template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;
template <typename T>
inline constexpr char kLetter = std::is_same_v<T, float>       ? 'S'
                                : std::is_same_v<T, double>    ? 'D'
                                : std::is_same_v<T, Complex32> ? 'C'
                                                               : 'Z';
template <typename T>
std::string Name(const std::string& base) {
  return std::string("cublas") + kLetter<T> + base;
}
template <typename T>
T To(Complex64 value) {
  if constexpr (kIsComplex<T>) {
    return T(static_cast<Real<T>>(value.real()),
             static_cast<Real<T>>(value.imag()));
  } else {
    return static_cast<T>(value.real());
  }
}

// `test` is called as a template with each type.
template <typename Test>
void ForReal(const Test& test) {
  test.template operator()<float>();
  test.template operator()<double>();
}
template <typename Test>
void ForComplex(const Test& test) {
  test.template operator()<Complex32>();
  test.template operator()<Complex64>();
}
template <typename Test>
void ForAll(const Test& test) {
  ForReal(test);
  ForComplex(test);
}

// --- Arguments
// A broken one is passed as a value that the function must refuse.
struct Argument {
  bool broken = false;
};
struct Number : Argument {
  long value;
  explicit Number(long v) : value(v) {}
};
struct Op : Number {
  using Number::Number;
};
struct Fill : Number {
  using Number::Number;
};
struct Side : Number {
  using Number::Number;
};
struct Diag : Number {
  using Number::Number;
};
// Not negative; anything; not 0; anything.
struct Size : Number {
  using Number::Number;
};
struct Count : Number {
  using Number::Number;
};
struct Inc : Number {
  using Number::Number;
};
struct Step : Number {
  using Number::Number;
};
// The step between columns, and the least that it may be.
struct Ld : Argument {
  long value, least;
  Ld(long v, long rows) : value(v), least(std::max(1L, rows)) {}
};
// A pointer to a scalar; cublas.h takes it by value.
template <typename T>
struct Scalar : Argument {
  T value;
  explicit Scalar(T v) : value(v) {}
};
// What the function gives; cublas.h returns it.
template <typename T>
struct Result : Argument {
  T* to;
  explicit Result(T* t) : to(t) {}
};
// Scalars that are read and written, of the host or the device as the mode
// says.
template <typename T>
struct InOut : Argument {
  T* to;
  std::size_t count;
  explicit InOut(T* t, std::size_t n = 1) : to(t), count(n) {}
};
// The same, but for cublas.h by value if it is complex.
template <typename T>
struct InOutOld : InOut<T> {
  explicit InOutOld(T* t) : InOut<T>(t) {}
};
// Passed as it is.
template <typename T>
struct Raw : Argument {
  T value;
  explicit Raw(T v) : value(v) {}
};

// --- Forms
enum Form { kHost, kHost64, kDevice, kDevice64, kOld, kXt };
// Whether a function has the form, and its name in it.
bool Exists(Form form, const std::string& name);
std::string NameIn(Form form, const std::string& name);
std::vector<Form> FormsOf(const std::string& name);

// One call's memory of scalars on the device.
class Passing {
 public:
  Passing(Form form, Handle handle);
  ~Passing();
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;

  Form form() const { return form_; }
  // `bytes` at `host`, where the call wants them; written back if `out`.
  void* Pass(void* host, std::size_t bytes, bool out);

 private:
  struct Held {
    void *host, *device;
    std::size_t bytes;
    bool out;
  };
  const Form form_;
  std::vector<Held> held_;
};

// As the call is made: I is the type of sizes.
template <typename I, Form kForm>
struct Lower {
  static constexpr bool kByLetter = kForm == kOld;
  Passing& passing;

  static auto Letter(const Argument& a, long value, const char* letters,
                     int bad) {
    if constexpr (kByLetter) {
      return a.broken ? 'x' : letters[value];
    } else {
      return a.broken ? bad : static_cast<int>(value);
    }
  }
  auto operator()(Op a) { return Letter(a, a.value, "NtC", 4); }
  auto operator()(Fill a) { return Letter(a, a.value, "lU", 3); }
  auto operator()(Side a) { return Letter(a, a.value, "Lr", 2); }
  auto operator()(Diag a) { return Letter(a, a.value, "nU", 2); }
  I operator()(Size a) { return static_cast<I>(a.broken ? -1 : a.value); }
  I operator()(Count a) { return static_cast<I>(a.value); }
  I operator()(Inc a) { return static_cast<I>(a.broken ? 0 : a.value); }
  I operator()(Step a) { return static_cast<I>(a.value); }
  I operator()(Ld a) {
    return static_cast<I>(a.broken ? a.least - 1 : a.value);
  }
  template <typename T>
  auto operator()(Scalar<T>& a) {
    if constexpr (kForm == kOld) {
      return a.value;
    } else {
      return Pointer(a, &a.value, 1, false);
    }
  }
  template <typename T>
  auto operator()(Result<T>& a) {
    return Pointer(a, a.to, 1, true);
  }
  template <typename T>
  auto operator()(InOut<T>& a) {
    return Pointer(a, a.to, a.count, true);
  }
  template <typename T>
  auto operator()(InOutOld<T>& a) {
    if constexpr (kForm == kOld && kIsComplex<T>) {
      return *a.to;
    } else {
      return Pointer(a, a.to, a.count, true);
    }
  }
  template <typename T>
  T operator()(Raw<T>& a) {
    return a.value;
  }
  template <typename T>
  T* Pointer(const Argument& a, T* value, std::size_t count, bool out) {
    if (a.broken) return nullptr;
    return static_cast<T*>(passing.Pass(
        const_cast<std::remove_const_t<T>*>(value), count * sizeof(T), out));
  }
};

// The last argument of what returns its result in cublas.h.
template <typename... A>
using LastOf = std::remove_cvref_t<decltype(std::get<sizeof...(A) - 1>(
    std::declval<std::tuple<A...>&>()))>;
template <typename T>
struct ResultOf {
  using Type = void;
};
template <typename T>
struct ResultOf<Result<T>> {
  using Type = T;
};

int InvokeOldEnd();  // cublasGetError

template <typename I, Form kForm, typename... A>
int InvokeAs(Handle handle, const std::string& name, A&... arguments) {
  Passing passing(kForm, handle);
  Lower<I, kForm> lower{passing};
  using R = typename ResultOf<LastOf<A...>>::Type;
  if constexpr (kForm != kOld) {
    return Cublas(NameIn(kForm, name), handle, lower(arguments)...);
  } else if constexpr (std::is_void_v<R>) {
    Cublas<void>(name, lower(arguments)...);
    return InvokeOldEnd();
  } else {
    std::tuple<A&...> all(arguments...);
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      *std::get<sizeof...(A) - 1>(all).to =
          Cublas<R>(name, lower(std::get<i>(all))...);
    }(std::make_index_sequence<sizeof...(A) - 1>());
    return InvokeOldEnd();
  }
}

// Calls a function in a form. `handle` null: the tests' own.
template <typename... A>
int InvokeWith(Handle handle, Form form, const std::string& name,
               A... arguments) {
  switch (form) {
    case kHost: return InvokeAs<int, kHost>(handle, name, arguments...);
    case kDevice: return InvokeAs<int, kDevice>(handle, name, arguments...);
    case kHost64:
      return InvokeAs<std::int64_t, kHost64>(handle, name, arguments...);
    case kDevice64:
      return InvokeAs<std::int64_t, kDevice64>(handle, name, arguments...);
    case kOld:
      InitOld();
      return InvokeAs<int, kOld>(nullptr, name, arguments...);
    case kXt: return InvokeAs<std::size_t, kXt>(handle, name, arguments...);
  }
  return -1;
}
template <typename... A>
int Invoke(Form form, const std::string& name, A... arguments) {
  return InvokeWith(form == kXt ? XtHandle() : CublasHandle(), form, name,
                    arguments...);
}

// Whether there is a value that the function must refuse.
template <typename A>
inline constexpr bool kCanBreak =
    !std::is_same_v<A, Count> && !std::is_same_v<A, Step>;
template <typename T>
inline constexpr bool kCanBreak<Raw<T>> = false;
template <typename A>
inline constexpr bool kIsPointer = !std::is_base_of_v<Number, A>;
template <>
inline constexpr bool kIsPointer<Ld> = false;

template <std::size_t kIndex, typename... A>
void ExpectRefusal(Form form, const std::string& name,
                   std::tuple<A...> arguments) {
  using Type = std::tuple_element_t<kIndex, std::tuple<A...>>;
  if constexpr (kCanBreak<Type>) {
    if (form == kOld && kIsPointer<Type>) return;
    std::get<kIndex>(arguments).broken = true;
    const int status = std::apply(
        [&](const A&... a) { return Invoke(form, name, a...); }, arguments);
    EXPECT_EQ(status, kInvalidValue)
        << NameIn(form, name) << ", argument " << kIndex + 1;
  }
}
// Each argument in turn is made bad; a handle that is none is refused, too. The
// arguments as given are right.
template <typename... A>
void ExpectRefusals(const std::string& name, const A&... arguments) {
  for (const Form form : FormsOf(name)) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (ExpectRefusal<i>(form, name, std::tuple<A...>(arguments...)), ...);
    }(std::index_sequence_for<A...>());
    if (form == kOld) continue;
    int none[64] = {};
    for (const Handle handle : {Handle{nullptr}, Handle{none}}) {
      EXPECT_EQ(InvokeWith(handle, form, name, arguments...), kNotInitialized)
          << NameIn(form, name);
    }
  }
}

// --- Numbers
// The same ones in each run: multiples of a quarter from -2 to 2, of which sums
// and products are exact.
class Numbers {
 public:
  double Next();
  template <typename T>
  T As() {
    if constexpr (kIsComplex<T>) {
      const double re = Next(), im = Next();
      return To<T>({re, im});
    } else {
      return static_cast<T>(Next());
    }
  }
  template <typename T>
  std::vector<T> Vector(std::size_t n) {
    std::vector<T> out(n);
    for (T& value : out) value = As<T>();
    return out;
  }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

std::vector<Complex64> Widened(const std::vector<float>& v);
std::vector<Complex64> Widened(const std::vector<double>& v);
std::vector<Complex64> Widened(const std::vector<Complex32>& v);
std::vector<Complex64> Widened(const std::vector<Complex64>& v);

// All elements within `units` of the type's roundings, at the magnitude of the
// largest; what is no number, or infinite, is so in both.
void ExpectNear(const std::vector<Complex64>& got,
                const std::vector<Complex64>& want, double tolerance,
                const std::string& what);
template <typename T>
void ExpectSame(const Device<T>& got, const std::vector<Complex64>& want,
                double units, const std::string& what) {
  ExpectNear(Widened(got.Read()), want,
             units * std::numeric_limits<Real<T>>::epsilon(), what);
}

// The place of element i of n in a vector: from its end for a negative step.
std::size_t At(long i, long n, long step);
std::size_t Span(long n, long step);

// --- Matrices of the reference
struct Matrix {
  long rows = 0, columns = 0;
  std::vector<Complex64> v;
  Matrix() = default;
  Matrix(long m, long n)
      : rows(m), columns(n), v(static_cast<std::size_t>(m * n)) {}
  Complex64& operator()(long i, long j) {
    return v[static_cast<std::size_t>(i + j * rows)];
  }
  Complex64 operator()(long i, long j) const {
    return v[static_cast<std::size_t>(i + j * rows)];
  }
};
Matrix Apply(int op, const Matrix& a);
Matrix Times(const Matrix& a, const Matrix& b);
template <typename T>
Matrix RandomMatrix(Numbers& numbers, long m, long n) {
  Matrix a(m, n);
  for (Complex64& value : a.v) value = Complex64(numbers.As<T>());
  return a;
}
// With the smaller of both triangles mirrored.
Matrix Mirrored(Matrix a, bool hermitian);
// Zeros beside the triangle, ones on a unit diagonal.
Matrix Triangle(const Matrix& a, int fill, int diag);

// In memory. What is not part of the matrix is `beside`.
inline constexpr double kGuard = 777;
template <typename T>
std::vector<T> Stored(const Matrix& a, long ld, Complex64 beside) {
  std::vector<T> out(static_cast<std::size_t>(ld * std::max(1L, a.columns)),
                     To<T>(beside));
  for (long j = 0; j < a.columns; ++j) {
    for (long i = 0; i < a.rows; ++i) {
      out[static_cast<std::size_t>(i + j * ld)] = To<T>(a(i, j));
    }
  }
  return out;
}
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace cerberus::libraries::tests

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_CUBLAS_H_
