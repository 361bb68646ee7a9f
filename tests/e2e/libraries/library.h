// For the programs of this folder: calls of NVIDIA's libraries that fail, and
// values that are not near those of loops on the host, end the program.
#include <cmath>
#include <complex>

#include "../programs/program.h"

#define CALL(call)                                          \
  do {                                                      \
    const int status = static_cast<int>(call);              \
    if (status != 0) {                                      \
      std::printf("%d: %s: %d\n", __LINE__, #call, status); \
      std::exit(1);                                         \
    }                                                       \
  } while (0)

// From -1 to 1, the same in each run.
template <typename T>
std::vector<T> Numbers(std::size_t n, unsigned seed) {
  std::vector<T> numbers(n);
  for (T& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = T((seed >> 8) / double(1 << 23) - 1);
  }
  return numbers;
}

// Whether all are as near as `tolerance`, relative to the largest.
template <typename T, typename U>
bool Near(const std::vector<T>& got, const std::vector<U>& want,
          double tolerance) {
  if (got.size() != want.size()) return false;
  double largest = 1;
  for (const U& value : want) largest = std::fmax(largest, std::abs(value));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = std::abs(U(got[i]) - want[i]);
    if (!(off <= tolerance * largest)) {
      std::printf("element %zu is off by %g\n", i, off);
      return false;
    }
  }
  return true;
}

template <typename T>
T* Zeros(std::size_t n) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, n * sizeof(T)));
  CHECK(cudaMemset(memory, 0, n * sizeof(T)));
  return memory;
}

inline unsigned Blocks(std::size_t n) {
  return static_cast<unsigned>((n + 127) / 128);
}

// C := op(A) op(B), by columns, of packed matrices.
template <typename T>
std::vector<T> Product(int m, int n, int k, const T* a, bool turn_a, const T* b,
                       bool turn_b) {
  std::vector<T> c(std::size_t(m) * n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      T sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += (turn_a ? a[l + i * k] : a[i + l * m]) *
               (turn_b ? b[j + l * n] : b[l + j * k]);
      }
      c[i + j * m] = sum;
    }
  }
  return c;
}
