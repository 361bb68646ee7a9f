// Matrix instructions of each generation against a triple loop. Where a lane
// keeps its elements is the manuals' ("WMMA Matrix Layout" of RDNA3 and RDNA4,
// "Matrix Register Layout" of CDNA3). Small integers: every result is exact.
#include "mini_hip.h"

typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
typedef float Float4 __attribute__((ext_vector_type(4)));
typedef float Float8 __attribute__((ext_vector_type(8)));
typedef int Int2 __attribute__((ext_vector_type(2)));
typedef int Int4 __attribute__((ext_vector_type(4)));
typedef int Int8 __attribute__((ext_vector_type(8)));
typedef double Double4 __attribute__((ext_vector_type(4)));

// D = A * B + C with A 16 x K and B K x 16, row-major; K is in `k`.
__global__ void ProductF16(const _Float16* a, const _Float16* b,
                           const float* c, float* d) {
  unsigned lane = ThreadX(), n = lane % 16;
#if defined(__GFX11__)
  Half16 x, y;
  for (int k = 0; k < 16; ++k) {
    x[k] = a[n * 16 + k];
    y[k] = b[k * 16 + n];
  }
  Float8 sum;
  for (int i = 0; i < 8; ++i) sum[i] = c[(2 * i + lane / 16) * 16 + n];
  sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, sum);
  for (int i = 0; i < 8; ++i) d[(2 * i + lane / 16) * 16 + n] = sum[i];
#elif defined(__GFX12__)
  Half8 x, y;
  for (int i = 0; i < 8; ++i) {
    int k = lane / 16 * 8 + i;
    x[i] = a[n * 16 + k];
    y[i] = b[k * 16 + n];
  }
  Float8 sum;
  for (int i = 0; i < 8; ++i) sum[i] = c[(i + lane / 16 * 8) * 16 + n];
  sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, sum);
  for (int i = 0; i < 8; ++i) d[(i + lane / 16 * 8) * 16 + n] = sum[i];
#elif defined(__GFX9__)
  Half4 x, y;
  Float4 sum;
  for (int i = 0; i < 4; ++i) {
    int k = lane / 16 * 4 + i;
    x[i] = a[n * 16 + k];
    y[i] = b[k * 16 + n];
    sum[i] = c[k * 16 + n];
  }
  sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
  for (int i = 0; i < 4; ++i) d[(lane / 16 * 4 + i) * 16 + n] = sum[i];
#else
  for (int m = lane / 16; m < 16; m += WaveSize() / 16) {
    float sum = c[m * 16 + n];
    for (int k = 0; k < 16; ++k) {
      sum += (float)a[m * 16 + k] * (float)b[k * 16 + n];
    }
    d[m * 16 + n] = sum;
  }
#endif
}

// A and B of signed bytes, 16 x 16.
__global__ void ProductI8(const signed char* a, const signed char* b,
                          const int* c, int* d) {
  unsigned lane = ThreadX(), n = lane % 16;
#if defined(__GFX11__)
  union { Int4 v; signed char e[16]; } x, y;
  for (int k = 0; k < 16; ++k) {
    x.e[k] = a[n * 16 + k];
    y.e[k] = b[k * 16 + n];
  }
  Int8 sum;
  for (int i = 0; i < 8; ++i) sum[i] = c[(2 * i + lane / 16) * 16 + n];
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x.v, true, y.v, sum,
                                                   false);
  for (int i = 0; i < 8; ++i) d[(2 * i + lane / 16) * 16 + n] = sum[i];
#elif defined(__GFX12__)
  union { Int2 v; signed char e[8]; } x, y;
  for (int i = 0; i < 8; ++i) {
    int k = lane / 16 * 8 + i;
    x.e[i] = a[n * 16 + k];
    y.e[i] = b[k * 16 + n];
  }
  Int8 sum;
  for (int i = 0; i < 8; ++i) sum[i] = c[(i + lane / 16 * 8) * 16 + n];
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, x.v, true, y.v,
                                                         sum, false);
  for (int i = 0; i < 8; ++i) d[(i + lane / 16 * 8) * 16 + n] = sum[i];
#elif defined(__gfx90a__)
  union { int v; signed char e[4]; } x, y;
  Int4 sum;
  for (int i = 0; i < 4; ++i) {
    int k = lane / 16 * 4 + i;
    x.e[i] = a[n * 16 + k];
    y.e[i] = b[k * 16 + n];
    sum[i] = c[k * 16 + n];
  }
  sum = __builtin_amdgcn_mfma_i32_16x16x16i8(x.v, y.v, sum, 0, 0, 0);
  for (int i = 0; i < 4; ++i) d[(lane / 16 * 4 + i) * 16 + n] = sum[i];
#elif defined(__GFX9__)
  // K is 32 here; the upper half is zero.
  union { long v; signed char e[8]; } x, y;
  Int4 sum;
  for (int i = 0; i < 8; ++i) {
    int k = lane / 16 * 8 + i;
    x.e[i] = k < 16 ? a[n * 16 + k] : 0;
    y.e[i] = k < 16 ? b[k * 16 + n] : 0;
  }
  for (int i = 0; i < 4; ++i) sum[i] = c[(lane / 16 * 4 + i) * 16 + n];
  sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(x.v, y.v, sum, 0, 0, 0);
  for (int i = 0; i < 4; ++i) d[(lane / 16 * 4 + i) * 16 + n] = sum[i];
#else
  for (int m = lane / 16; m < 16; m += WaveSize() / 16) {
    int sum = c[m * 16 + n];
    for (int k = 0; k < 16; ++k) sum += a[m * 16 + k] * b[k * 16 + n];
    d[m * 16 + n] = sum;
  }
#endif
}

// A 16 x 4, B 4 x 16.
__global__ void ProductF64(const double* a, const double* b, const double* c,
                           double* d) {
  unsigned lane = ThreadX(), n = lane % 16;
#if defined(__GFX9__)
  Double4 sum;
  for (int i = 0; i < 4; ++i) sum[i] = c[(4 * i + lane / 16) * 16 + n];
  sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[n * 4 + lane / 16],
                                             b[lane / 16 * 16 + n], sum, 0, 0,
                                             0);
  for (int i = 0; i < 4; ++i) d[(4 * i + lane / 16) * 16 + n] = sum[i];
#else
  for (int m = lane / 16; m < 16; m += WaveSize() / 16) {
    double sum = c[m * 16 + n];
    for (int k = 0; k < 4; ++k) sum += a[m * 4 + k] * b[k * 16 + n];
    d[m * 16 + n] = sum;
  }
#endif
}

__global__ void Size(unsigned* out) { *out = WaveSize(); }

template <typename T>
void Fill(std::vector<T>& v, Random& random, int range) {
  for (T& x : v) x = (T)((int)(random.Next() % (2 * range + 1)) - range);
}

template <typename T, typename S>
void Compare(const char* name, const std::vector<T>& a,
             const std::vector<T>& b, const std::vector<S>& c,
             const std::vector<S>& d, int depth) {
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 16; ++n) {
      S sum = c[m * 16 + n];
      for (int k = 0; k < depth; ++k) {
        sum += (S)a[m * depth + k] * (S)b[k * 16 + n];
      }
      EXPECT(d[m * 16 + n] == sum, "%s [%d][%d]: %g, host %g", name, m, n,
             (double)d[m * 16 + n], (double)sum);
    }
  }
}

int main() {
  Random random;
  Buffer<unsigned> size(1);
  Size<<<1, 1>>>(size.data);
  const unsigned wave = size.Read()[0];
  {
    std::vector<_Float16> a(256), b(256);
    std::vector<float> c(256);
    Fill(a, random, 15);
    Fill(b, random, 15);
    Fill(c, random, 1000);
    Buffer<_Float16> da(a), db(b);
    Buffer<float> dc(c), dd(256);
    ProductF16<<<1, wave>>>(da.data, db.data, dc.data, dd.data);
    Compare("f16", a, b, c, dd.Read(), 16);
  }
  {
    std::vector<signed char> a(256), b(256);
    std::vector<int> c(256);
    Fill(a, random, 127);
    Fill(b, random, 127);
    Fill(c, random, 100000);
    Buffer<signed char> da(a), db(b);
    Buffer<int> dc(c), dd(256);
    ProductI8<<<1, wave>>>(da.data, db.data, dc.data, dd.data);
    Compare("i8", a, b, c, dd.Read(), 16);
  }
  {
    std::vector<double> a(64), b(64), c(256);
    Fill(a, random, 1000);
    Fill(b, random, 1000);
    Fill(c, random, 100000);
    Buffer<double> da(a), db(b), dc(c), dd(256);
    ProductF64<<<1, wave>>>(da.data, db.data, dc.data, dd.data);
    Compare("f64", a, b, c, dd.Read(), 4);
  }
  return Pass();
}
