// Systems of three and of five diagonals, with partial pivoting.
#include "libraries/cusparse/handle.h"
#include "libraries/cusparse/typed_exports.h"

namespace cerberus::libraries::cusparse {
namespace {

using cublas::Div;
using cublas::Mul;

// Diagonals from the lowest; element i of each stands in row i. In batches
// element i of batch b is at i * step + b * apart.
struct Systems {
  DataType type;
  Index size, columns;  // of one system
  std::vector<const void*> diagonals;
  void* x;  // the right sides, then the solutions
  Index ldx;
  Index count = 1, step = 1, apart = 0;
};

// A band of `width` diagonals on each side of the main one, with room for what
// exchanges of rows bring above it.
template <typename T>
class Band {
 public:
  Band(Index size, Index width)
      : size_(size),
        width_(width),
        row_(3 * width + 1),
        elements_(Size(size * row_), T(0)) {}

  T& operator()(Index i, Index j) {
    return elements_[Size(i * row_ + j - i + width_)];
  }
  // Overwrites n right sides, which lie by rows, with the solutions.
  void Solve(T* x, Index n) {
    for (Index k = 0; k < size_; ++k) {
      const Index below = std::min(k + width_, size_ - 1);
      const Index right = std::min(k + 2 * width_, size_ - 1);
      Index best = k;
      for (Index i = k + 1; i <= below; ++i) {
        if (cublas::AbsSum((*this)(i, k)) > cublas::AbsSum((*this)(best, k))) {
          best = i;
        }
      }
      if (best != k) {
        for (Index j = k; j <= right; ++j) {
          std::swap((*this)(best, j), (*this)(k, j));
        }
        std::swap_ranges(x + best * n, x + best * n + n, x + k * n);
      }
      for (Index i = k + 1; i <= below; ++i) {
        const T factor = Div((*this)(i, k), (*this)(k, k));
        if (factor == T(0)) continue;
        for (Index j = k + 1; j <= right; ++j) {
          (*this)(i, j) -= Mul(factor, (*this)(k, j));
        }
        for (Index j = 0; j < n; ++j) {
          x[i * n + j] -= Mul(factor, x[k * n + j]);
        }
      }
    }
    for (Index i = size_ - 1; i >= 0; --i) {
      const Index right = std::min(i + 2 * width_, size_ - 1);
      for (Index j = 0; j < n; ++j) {
        T sum = x[i * n + j];
        for (Index k = i + 1; k <= right; ++k) {
          sum -= Mul((*this)(i, k), x[k * n + j]);
        }
        x[i * n + j] = Div(sum, (*this)(i, i));
      }
    }
  }

 private:
  const Index size_, width_, row_;
  std::vector<T> elements_;
};

template <typename T>
void SolveAll(const Systems& s) {
  const auto width = static_cast<Index>(s.diagonals.size() / 2);
  auto* x = static_cast<T*>(s.x);
  for (Index b = 0; b < s.count; ++b) {
    const Index first = b * s.apart;
    Band<T> band(s.size, width);
    for (Index d = -width; d <= width; ++d) {
      const auto* diagonal =
          static_cast<const T*>(s.diagonals[Size(d + width)]);
      for (Index i = std::max<Index>(0, -d); i < std::min(s.size, s.size - d);
           ++i) {
        band(i, i + d) = diagonal[first + i * s.step];
      }
    }
    std::vector<T> sides(Size(s.size * s.columns));
    const auto each = [&](const auto& f) {
      for (Index i = 0; i < s.size; ++i) {
        for (Index j = 0; j < s.columns; ++j) {
          f(sides[Size(i * s.columns + j)], x[first + i * s.step + j * s.ldx]);
        }
      }
    };
    each([](T& side, const T& in) { side = in; });
    band.Solve(sides.data(), s.columns);
    each([](const T& side, T& out) { out = side; });
  }
}

Status Solve(Handle h, Systems s) {
  if (s.size < 0 || s.columns < 0 || s.count < 0) return kInvalidValue;
  if (s.size == 0 || s.columns == 0 || s.count == 0) return kSuccess;
  Call call(h);
  const std::size_t bytes = cublas::SizeOf(s.type);
  // Batches that lie between each other are one piece.
  const bool interleaved = s.apart == 1;
  const std::size_t length = Size(s.size) * (interleaved ? Size(s.count) : 1);
  const std::size_t pieces = interleaved ? 1 : Size(s.count);
  for (const void*& diagonal : s.diagonals) {
    diagonal =
        call.work().In(diagonal, length * bytes, pieces, Size(s.apart) * bytes);
  }
  s.x = s.columns > 1 || s.count == 1
            ? call.work().InOutMatrix(s.x, bytes, s.size, s.columns, s.ldx)
            : call.work().InOut(s.x, length * bytes, pieces,
                                Size(s.apart) * bytes);
  return call.Run(
      [=] { InType(s.type, [&]<typename T>() { SolveAll<T>(s); }); });
}

// NVIDIA's systems have three rows at least.
constexpr int kLeast = 3;

Status SolveColumns(Handle h, DataType type, int m, int n, const void* lower,
                    const void* diagonal, const void* upper, void* b, int ldb) {
  if (m < kLeast || n < 0 || ldb < m) return kInvalidValue;
  return Solve(h, {type, m, n, {lower, diagonal, upper}, b, ldb});
}
Status SolveStrided(Handle h, DataType type, int m, const void* lower,
                    const void* diagonal, const void* upper, void* x, int count,
                    int stride) {
  if (m < kLeast || count < 0 || stride < m) return kInvalidValue;
  return Solve(h,
               {type, m, 1, {lower, diagonal, upper}, x, m, count, 1, stride});
}
// `algorithms`: how many there are to choose from.
Status SolveInterleaved(Handle h, DataType type, int algorithm, int algorithms,
                        int m, std::vector<const void*> diagonals, void* x,
                        int count) {
  if (algorithm < 0 || algorithm >= algorithms || m < 0 || count < 0) {
    return kInvalidValue;
  }
  return Solve(h, {type, m, 1, std::move(diagonals), x, m, count, count, 1});
}

}  // namespace

#define CUSPARSE_COLUMNS(name)                                              \
  CUSPARSE_EXPORT_SDCZ(name##_bufferSizeExt,                                \
                       (Handle h, int, int, const void*, const void*,       \
                        const void*, const void*, int, std::size_t* bytes), \
                       SizeOfBuffer(h, bytes))                              \
  CUSPARSE_EXPORT_SDCZ(                                                     \
      name,                                                                 \
      (Handle h, int m, int n, const void* lower, const void* diagonal,     \
       const void* upper, void* b, int ldb, void*),                         \
      SolveColumns(h, kType, m, n, lower, diagonal, upper, b, ldb))
CUSPARSE_COLUMNS(gtsv2)
CUSPARSE_COLUMNS(gtsv2_nopivot)
#undef CUSPARSE_COLUMNS

CUSPARSE_EXPORT_SDCZ(gtsv2StridedBatch_bufferSizeExt,
                     (Handle h, int, const void*, const void*, const void*,
                      const void*, int, int, std::size_t* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(gtsv2StridedBatch,
                     (Handle h, int m, const void* lower, const void* diagonal,
                      const void* upper, void* x, int count, int stride, void*),
                     SolveStrided(h, kType, m, lower, diagonal, upper, x, count,
                                  stride))
CUSPARSE_EXPORT_SDCZ(gtsvInterleavedBatch_bufferSizeExt,
                     (Handle h, int, int, const void*, const void*, const void*,
                      const void*, int, std::size_t* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(gtsvInterleavedBatch,
                     (Handle h, int algorithm, int m, const void* lower,
                      const void* diagonal, const void* upper, void* x,
                      int count, void*),
                     SolveInterleaved(h, kType, algorithm, 3, m,
                                      {lower, diagonal, upper}, x, count))
CUSPARSE_EXPORT_SDCZ(gpsvInterleavedBatch_bufferSizeExt,
                     (Handle h, int, int, const void*, const void*, const void*,
                      const void*, const void*, const void*, int,
                      std::size_t* bytes),
                     SizeOfBuffer(h, bytes))
CUSPARSE_EXPORT_SDCZ(
    gpsvInterleavedBatch,
    (Handle h, int algorithm, int m, const void* lowest, const void* lower,
     const void* diagonal, const void* upper, const void* uppermost, void* x,
     int count, void*),
    SolveInterleaved(h, kType, algorithm, 1, m,
                     {lowest, lower, diagonal, upper, uppermost}, x, count))

}  // namespace cerberus::libraries::cusparse
