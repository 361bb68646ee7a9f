// Tiled matrix products in f32, f64 and f16, static and dynamic LDS.
#include "mini_hip.h"

constexpr int kTile = 16;

template <typename T>
__device__ void Multiply(const T* a, const T* b, T* c, int n, T* as, T* bs) {
  unsigned tx = ThreadX(), ty = ThreadY();
  unsigned row = BlockY() * kTile + ty, column = BlockX() * kTile + tx;
  T sum = 0;
  for (int k = 0; k < n; k += kTile) {
    as[ty * kTile + tx] = a[row * n + k + tx];
    bs[ty * kTile + tx] = b[(k + ty) * n + column];
    SyncThreads();
    for (int i = 0; i < kTile; ++i) {
      sum = __builtin_elementwise_fma(as[ty * kTile + i], bs[i * kTile + tx],
                                      sum);
    }
    SyncThreads();
  }
  c[row * n + column] = sum;
}

template <typename T>
__global__ void MatMul(const T* a, const T* b, T* c, int n) {
  __shared__ T as[kTile * kTile], bs[kTile * kTile];
  Multiply(a, b, c, n, as, bs);
}

extern __shared__ float g_dynamic[];

__global__ void MatMulDynamic(const float* a, const float* b, float* c,
                              int n) {
  Multiply(a, b, c, n, g_dynamic, g_dynamic + kTile * kTile);
}

template <typename T>
void Run(const char* name, bool dynamic) {
  const int n = 64;
  Random random;
  std::vector<T> a(n * n), b(n * n);
  for (T& x : a) x = (T)(float)((int)(random.Next() % 17) - 8);
  for (T& x : b) x = (T)(float)((int)(random.Next() % 9) - 4);
  Buffer<T> da(a), db(b), dc(n * n);
  dim3 grid(n / kTile, n / kTile), block(kTile, kTile);
  if constexpr (sizeof(T) == 4) {
    if (dynamic) {
      MatMulDynamic<<<grid, block, 2 * kTile * kTile * 4>>>(
          (const float*)da.data, (const float*)db.data, (float*)dc.data, n);
    }
  }
  if (!dynamic) MatMul<T><<<grid, block>>>(da.data, db.data, dc.data, n);
  std::vector<T> c = dc.Read();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      // Small integers: every order of summation is exact in every format.
      double sum = 0;
      for (int k = 0; k < n; ++k) {
        sum += (double)(float)a[i * n + k] * (double)(float)b[k * n + j];
      }
      EXPECT((double)c[i * n + j] == sum, "%s [%d][%d]: %g, host %g", name, i,
             j, (double)c[i * n + j], sum);
    }
  }
}

int main() {
  Run<float>("f32", false);
  Run<float>("f32 dynamic", true);
  Run<double>("f64", false);
  Run<_Float16>("f16", false);
  return Pass();
}
