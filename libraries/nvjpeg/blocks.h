// What decoding and encoding share: blocks of 8 x 8.
#ifndef CERBERUS_LIBRARIES_NVJPEG_BLOCKS_H_
#define CERBERUS_LIBRARIES_NVJPEG_BLOCKS_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace cerberus::libraries::nvjpeg {

// Where the k-th coefficient of a block stands by rows.
inline constexpr std::array<std::uint8_t, 64> kZigzag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// The cosine transform of so many points (8, 4, 2 or 1), as a matrix: row u has
// c(u) cos((2x+1) u pi / 2n), so that it times itself transposed is 1.
template <int n>
struct Cosines {
  Cosines() {
    for (int u = 0; u < n; ++u) {
      for (int x = 0; x < n; ++x) {
        at[u][x] = static_cast<float>(
            std::sqrt((u == 0 ? 1.0 : 2.0) / n) *
            std::cos((2 * x + 1) * u * std::numbers::pi / (2 * n)));
      }
    }
  }
  float at[n][n];
};
template <int n>
const Cosines<n>& CosinesOf() {
  static const Cosines<n> cosines;
  return cosines;
}

inline int DivideUp(int a, int b) { return (a + b - 1) / b; }

}  // namespace cerberus::libraries::nvjpeg

#endif  // CERBERUS_LIBRARIES_NVJPEG_BLOCKS_H_
