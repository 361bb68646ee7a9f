// rocSOLVER under a handle of cuSOLVER: which of its functions computes what
// (rocsolver.def), its arguments out of ours, its errors.
//
// A call is offered to it once it was found to be in order. What it does not
// take, the host computes: functions that its version lacks, sizes above 31
// bits, memory that it does not get. Its work is in the stream, in rocBLAS'
// handle for it (cublas/rocblas.h).
#ifndef CERBERUS_LIBRARIES_CUSOLVER_ROCSOLVER_H_
#define CERBERUS_LIBRARIES_CUSOLVER_ROCSOLVER_H_

#include <atomic>
#include <cctype>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "libraries/common/stream_memory.h"
#include "libraries/cublas/rocblas.h"
#include "libraries/cusolver/api.h"

namespace cerberus::libraries::cusolver {

// --- rocSOLVER's interface (AMD, rocSOLVER documentation, "Types"); what it
// has in common with rocBLAS stands in cublas/rocblas.h.
namespace roc {
using namespace cublas::roc;
enum class Storage : int { kColumns = 181, kRows = 182 };
enum class Singular : int {
  kAll = 191,
  kSome = 192,
  kOverwrite = 193,
  kNone = 194
};
enum class WorkMode : int { kOutOfPlace = 201 };
enum class Eigenvectors : int { kOriginal = 211, kNone = 213 };
enum class Order : int { kAscending = 252 };
enum class Which : int { kAll = 231, kValue = 232, kIndex = 233 };
enum class Problem : int { kAx = 221, kAbx = 222, kBax = 223 };
}  // namespace roc

// --- Which function
enum class Roc {
#define ROCSOLVER(row, ...) row,
#include "libraries/cusolver/rocsolver.def"
#undef ROCSOLVER
  kNone
};
struct RocsolverRow {
  std::string_view real, complex;  // of cuSOLVER: "orgqr", "ungqr"
  std::string_view roc_real, roc_complex;
};
inline constexpr RocsolverRow kRocsolverRows[] = {
#define ROCSOLVER(row, real, complex, roc_real, roc_complex) \
  {#real, #complex, #roc_real, #roc_complex},
#include "libraries/cusolver/rocsolver.def"
#undef ROCSOLVER
};
inline constexpr std::size_t kRocsolverCount = std::size(kRocsolverRows);

// "rocsolver_sgetrf"
inline std::string SymbolOf(const RocsolverRow& row, char letter) {
  const bool complex = letter == 'c' || letter == 'z';
  return std::string("rocsolver_") + letter +
         std::string(complex ? row.roc_complex : row.roc_real);
}
// That of an exported function, "" if it has none: of those whose type is told
// at run time "rocsolver_?potrf".
inline std::string RocsolverOf(std::string_view exported) {
  constexpr std::string_view kPrefix = "cusolverDn";
  if (!exported.starts_with(kPrefix)) return "";
  exported.remove_prefix(kPrefix.size());
  const char first = exported.front();
  const bool typed = std::string_view("SDCZ").find(first) != exported.npos &&
                     exported.size() > 1 &&
                     std::islower(static_cast<unsigned char>(exported[1]));
  std::string name(exported);
  char letter = '?';
  if (typed || first == 'X') {
    name.erase(0, 1);
    if (typed) letter = static_cast<char>(std::tolower(first));
  } else {
    name[0] = static_cast<char>(std::tolower(first));
  }
  // With pivots of 64 bits and signs, which rocSOLVER has not.
  if (!typed && name.starts_with("sytr")) return "";
  for (const RocsolverRow& row : kRocsolverRows) {
    const bool complex = letter == 'c' || letter == 'z';
    if ((complex ? row.complex : row.real) == name)
      return SymbolOf(row, letter);
  }
  return "";
}

template <typename T>
inline constexpr int kLetterOf = std::is_same_v<T, float>       ? 0
                                 : std::is_same_v<T, double>    ? 1
                                 : std::is_same_v<T, Complex32> ? 2
                                                                : 3;

// --- A handle's
class Rocsolver {
 public:
  // For the current context's device; null if the host computes. False: the
  // environment insists on rocSOLVER, and it cannot be had.
  static bool Make(const Driver& driver, std::shared_ptr<Rocsolver>* made);
  // Who computes, in words.
  static std::string Describe();
  explicit Rocsolver(const RocmLibrary& library,
                     std::shared_ptr<cublas::Rocblas> rocblas)
      : library_(library), rocblas_(std::move(rocblas)) {}
  cublas::Rocblas& rocblas() const { return *rocblas_; }
  // Null: this version lacks it.
  void* Find(Roc row, int letter) const;

 private:
  const RocmLibrary& library_;
  const std::shared_ptr<cublas::Rocblas> rocblas_;
};
// Once for each function, under CERBERUS_LOG=info.
void SayHostComputes(Roc row, int letter);
// Row numbers of 64 bits from those of 32, and the other way round, in the
// stream's order. False: they cannot be.
bool Widen(Handle h, const int* from, Index* to, Index count);
bool Narrow(Handle h, const Index* from, int* to, Index count);
// Zeroes LAPACK's number, if it is wanted.
bool ClearInfo(Handle h, int* info);

// --- Arguments
template <typename T>
class RocsolverArguments {
 public:
  roc::Fill operator()(Fill fill) {
    return fill == kLower ? roc::Fill::kLower : roc::Fill::kUpper;
  }
  roc::Side operator()(Side side) {
    return side == kLeft ? roc::Side::kLeft : roc::Side::kRight;
  }
  roc::Diagonal operator()(Diag diag) {
    return diag == kUnit ? roc::Diagonal::kUnit : roc::Diagonal::kNonUnit;
  }
  roc::Operation operator()(Operation op) {
    if (op == kN) return roc::Operation::kNone;
    return op == kC && kIsComplex<T> ? roc::Operation::kConjugate
                                     : roc::Operation::kTranspose;
  }
  roc::Eigenvectors operator()(EigMode mode) {
    return mode == kWithVectors ? roc::Eigenvectors::kOriginal
                                : roc::Eigenvectors::kNone;
  }
  int operator()(int size) { return size; }
  float operator()(float number) { return number; }
  double operator()(double number) { return number; }
  int operator()(Index size) {
    fit_ &= size == static_cast<int>(size);
    return static_cast<int>(size);
  }
  // What it has by its own name, and distances.
  template <typename E>
    requires std::is_enum_v<E>
  E operator()(E value) {
    return value;
  }
  template <typename P>
  const void* operator()(P* pointer) {
    fit_ &= pointer != nullptr;
    return pointer;
  }
  bool fit() const { return fit_; }

 private:
  bool fit_ = true;
};
// False: nothing was done, and the host has to. Else *status is cuSOLVER's.
// Calls with pointers that are null are the host's.
template <typename T, typename... A>
bool Rocsolve(Handle h, Roc row, Status* status, const A&... arguments) {
  const std::shared_ptr<Rocsolver>& rocsolver = h->rocsolver;
  if (rocsolver == nullptr) return false;
  const auto done = [&] {
    void* const function = rocsolver->Find(row, kLetterOf<T>);
    if (function == nullptr) return false;
    RocsolverArguments<T> of;
    const auto call = [&](auto... put) {
      if (!of.fit()) return false;
      cublas::Context context;
      context.driver = h->driver;
      context.stream = h->stream;
      const cublas::Rocblas::Use use(rocsolver->rocblas(), context,
                                     cublas::kHostPointers);
      if (!use.ready()) return false;
      cublas::Status told = cublas::kSuccess;
      const bool taken = cublas::IsTaken(
          reinterpret_cast<roc::Status (*)(roc::Handle, decltype(put)...)>(
              function)(rocsolver->rocblas().handle(), put...),
          &told);
      *status = told == cublas::kSuccess ? kSuccess : kExecutionFailed;
      return taken;
    };
    return call(of(arguments)...);
  }();
  if (!done) SayHostComputes(row, kLetterOf<T>);
  return done;
}
// One that tells no number.
template <typename T, typename... A>
bool RocsolveSilently(Handle h, int* info, Roc row, Status* status,
                      const A&... arguments) {
  if (!Rocsolve<T>(h, row, status, arguments...)) return false;
  if (*status == kSuccess && !ClearInfo(h, info)) *status = kExecutionFailed;
  return true;
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_ROCSOLVER_H_
