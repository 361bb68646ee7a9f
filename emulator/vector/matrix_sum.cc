#include "emulator/vector/matrix_sum.h"

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

}  // namespace

void MatrixSumF32(const double* a, const double* b, double* c, int m, int n,
                  int k) {
  Sum<float>(a, b, c, m, n, k);
}
void MatrixSumF64(const double* a, const double* b, double* c, int m, int n,
                  int k) {
  Sum<double>(a, b, c, m, n, k);
}

}  // namespace cerberus::emulator::CERBERUS_EMU_ISA
