#include "emulator/vector/matrix_sum.h"

#include <cstring>
#include <vector>

#include "emulator/vector/float_math.h"

namespace cerberus::emulator::CERBERUS_EMU_ISA {
namespace {

// A row of C at a time; a row of 4, 16 or 32 elements stays in registers.
template <typename T, int columns>
void Quick(const T* a, const T* b, T* c, int m, int n, int k) {
  const int width = columns == 0 ? n : columns;
  for (int i = 0; i < m; ++i) {
    for (int depth = 0; depth < k; ++depth) {
      const T x = a[i * k + depth];
      for (int j = 0; j < width; ++j) {
        c[i * width + j] = FmaRaw(x, b[depth * width + j], c[i * width + j]);
      }
    }
  }
}

template <typename T>
void Sum(const double* a, const double* b, double* c, int m, int n, int k) {
  const std::vector<T> ta(a, a + m * k), tb(b, b + k * n);
  std::vector<T> tc(c, c + m * n);
  switch (n) {
    case 4: Quick<T, 4>(ta.data(), tb.data(), tc.data(), m, n, k); break;
    case 16: Quick<T, 16>(ta.data(), tb.data(), tc.data(), m, n, k); break;
    case 32: Quick<T, 32>(ta.data(), tb.data(), tc.data(), m, n, k); break;
    default: Quick<T, 0>(ta.data(), tb.data(), tc.data(), m, n, k); break;
  }
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      T& sum = tc[static_cast<std::size_t>(i * n + j)];
      if (!IsNan(sum)) continue;
      // Which NaN it is, the host does not say.
      sum = static_cast<T>(c[i * n + j]);
      for (int depth = 0; depth < k; ++depth) {
        sum = FmaF(ta[static_cast<std::size_t>(i * k + depth)],
                   tb[static_cast<std::size_t>(depth * n + j)], sum);
      }
    }
  }
  for (int i = 0; i < m * n; ++i) c[i] = tc[static_cast<std::size_t>(i)];
}

using Element = RunProduct::Element;

template <typename T, int length>
using Vector = T __attribute__((ext_vector_type(length)));

// Halves in the low bits of words, as f32.
template <int length>
Vector<float, length> WidenHalves(Vector<u32, length> bits, bool flush) {
#ifdef __F16C__
  using Words = Vector<u32, length>;
  const auto halves =
      __builtin_bit_cast(Vector<_Float16, length>,
                         __builtin_convertvector(bits, Vector<u16, length>));
  const auto v = __builtin_convertvector(halves, Vector<float, length>);
  if (!flush) return v;
  const Words words = __builtin_bit_cast(Words, v);
  const Words flushed = (bits & 0x7c00) == 0 ? words & 0x80000000 : words;
  return __builtin_bit_cast(Vector<float, length>, flushed);
#else
  Vector<float, length> v;
  for (int i = 0; i < length; ++i) {
    v[i] = HalfToFloat(static_cast<u16>(bits[i]), flush);
  }
  return v;
#endif
}

// Zero for denormals, of the same sign.
template <int length>
Vector<u32, length> FlushWords(Vector<u32, length> v) {
  return (v & 0x7f800000) == 0 ? v & 0x80000000 : v;
}

template <Element element, int length>
void LoadRuns(const u32* rows, const Run* runs, int count, bool flush,
              float* out) {
  for (int r = 0; r < count; ++r) {
    Vector<u32, length> v;
    std::memcpy(&v, rows + runs[r].word, sizeof v);
    if constexpr (element != Element::kF32) v = v >> runs[r].shift & 0xffff;
    if constexpr (element == Element::kBf16) v <<= 16;
    if constexpr (element == Element::kF16) {
      const auto wide = WidenHalves<length>(v, flush);
      std::memcpy(out + r * length, &wide, sizeof wide);
    } else {
      if (flush) v = FlushWords<length>(v);
      std::memcpy(out + r * length, &v, sizeof v);
    }
  }
}

template <int length>
void LoadElements(const RunProduct& x, const u32* rows, const Run* runs,
                  int count, float* out) {
  switch (x.element) {
    case Element::kF32:
      return LoadRuns<Element::kF32, length>(rows, runs, count, x.flush, out);
    case Element::kF16:
      return LoadRuns<Element::kF16, length>(rows, runs, count, x.flush, out);
    case Element::kBf16:
      return LoadRuns<Element::kBf16, length>(rows, runs, count, x.flush, out);
  }
}

// Some rows of C at a time, as many as registers hold. `a` is stored column by
// column. True if a sum is a NaN.
template <int columns>
bool SumRows(const float* a, const float* b, float* c, int m, int k) {
  constexpr int kRows = columns == 32 ? 2 : 4;
  using V = Vector<float, columns>;
  Vector<int, columns> nans = 0;
  for (int i = 0; i < m; i += kRows) {
    V sum[kRows];
    std::memcpy(sum, c + i * columns, sizeof sum);
    for (int depth = 0; depth < k; ++depth) {
      V row;
      std::memcpy(&row, b + depth * columns, sizeof row);
      for (int r = 0; r < kRows; ++r) {
        const V x = a[depth * m + i + r];
        sum[r] = __builtin_elementwise_fma(x, row, sum[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) nans |= sum[r] != sum[r];
    std::memcpy(c + i * columns, sum, sizeof sum);
  }
  return __builtin_reduce_or(nans) != 0;
}

template <int columns, int length>
void MultiplyBlocks(const RunProduct& x, const u32* a_rows, const u32* b_rows,
                    const u32* c_rows, u32* d_rows) {
  alignas(64) float a[RunProduct::kMost], b[RunProduct::kMost],
      c[RunProduct::kMost], before[RunProduct::kMost];
  const int a_runs = x.m * x.k / length, b_runs = x.k * columns / length,
            d_runs = x.m * columns / length;
  LoadRuns<Element::kF32, length>(c_rows, x.d.data(), d_runs * x.blocks,
                                  x.flush, c);
  std::memcpy(
      before, c,
      sizeof(float) * static_cast<std::size_t>(x.m * columns * x.blocks));
  for (int block = 0; block < x.blocks; ++block) {
    LoadElements<length>(x, a_rows, &x.a[block * a_runs], a_runs, a);
    LoadElements<length>(x, b_rows, &x.b[block * b_runs], b_runs, b);
    float* const sums = c + block * x.m * columns;
    if (!SumRows<columns>(a, b, sums, x.m, x.k)) continue;
    for (int i = 0; i < x.m; ++i) {
      for (int j = 0; j < columns; ++j) {
        float& sum = sums[i * columns + j];
        if (!IsNan(sum)) continue;
        // Which NaN it is, the host does not say.
        sum = before[(block * x.m + i) * columns + j];
        for (int depth = 0; depth < x.k; ++depth) {
          sum = FmaF(a[depth * x.m + i], b[depth * columns + j], sum);
        }
      }
    }
  }
  for (int r = 0; r < d_runs * x.blocks; ++r) {
    Vector<u32, length> v;
    std::memcpy(&v, c + r * length, sizeof v);
    if (x.flush) v = FlushWords<length>(v);
    std::memcpy(d_rows + x.d[r].word, &v, sizeof v);
  }
}

}  // namespace

void MultiplyRuns(const RunProduct& x, const u32* a, const u32* b, const u32* c,
                  u32* d) {
  switch (x.n) {
    case 4: return MultiplyBlocks<4, 4>(x, a, b, c, d);
    case 16: return MultiplyBlocks<16, 16>(x, a, b, c, d);
    case 32: return MultiplyBlocks<32, 16>(x, a, b, c, d);
    default: break;
  }
}

void MatrixSumF32(const double* a, const double* b, double* c, int m, int n,
                  int k) {
  Sum<float>(a, b, c, m, n, k);
}
void MatrixSumF64(const double* a, const double* b, double* c, int m, int n,
                  int k) {
  Sum<double>(a, b, c, m, n, k);
}

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
