// What the programs of cuFFT share.
#include <cufft.h>

#include "library.h"

using Complex = std::complex<double>;

// The sum that defines a transform, along one axis of n values `step` apart.
inline void Sum(std::vector<Complex>& data, std::size_t first, int n, int step,
                int sign) {
  std::vector<Complex> out(n);
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < n; ++i) {
      const double angle =
          sign * 2 * 3.141592653589793 * ((long long)i * k % n) / n;
      out[k] +=
          data[first + i * step] * Complex(std::cos(angle), std::sin(angle));
    }
  }
  for (int k = 0; k < n; ++k) data[first + k * step] = out[k];
}

// Of an array of any number of dimensions, the last fastest.
inline std::vector<Complex> Transform(std::vector<Complex> data,
                                      const std::vector<int>& sizes, int sign) {
  int step = 1;
  for (int axis = int(sizes.size()) - 1; axis >= 0; --axis) {
    const int n = sizes[axis];
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (i / step % n == 0) Sum(data, i, n, step, sign);
    }
    step *= n;
  }
  return data;
}

template <typename T>
std::vector<Complex> Wide(const std::vector<T>& values) {
  std::vector<Complex> out;
  for (const T& value : values) out.push_back(Complex(value));
  return out;
}
template <typename T>
std::vector<std::complex<T>> ComplexNumbers(std::size_t n, unsigned seed) {
  const auto parts = Numbers<T>(2 * n, seed);
  std::vector<std::complex<T>> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = {parts[2 * i], parts[2 * i + 1]};
  return out;
}
