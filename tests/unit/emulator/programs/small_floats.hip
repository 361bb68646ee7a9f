// Floats of 16 and 8 bits: f16 arithmetic rounded at every step, bfloat16 by
// rounding to nearest even, and the 8-bit conversions where the target has
// them.
#include "mini_hip.h"

__global__ void HalfPolynomial(const _Float16* in, _Float16* out, int n) {
  const int i = (int)GlobalX();
  if (i >= n) return;
  const _Float16 x = in[i];
  _Float16 y = x * (_Float16)0.75f;
  y = y + (_Float16)1.5f;
  y = y * x;
  out[i] = y - (_Float16)0.125f;
}

__global__ void Brain(const float* in, __bf16* out, int n) {
  const int i = (int)GlobalX();
  if (i < n) out[i] = (__bf16)in[i];
}

__global__ void BrainSum(const __bf16* a, const __bf16* b, float* out, int n) {
  const int i = (int)GlobalX();
  if (i < n) out[i] = (float)a[i] * (float)b[i] + (float)a[n - 1 - i];
}

// Four floats to four bytes and back. Without the instructions: `kind` is 0.
__global__ void Bytes(const float* in, unsigned* packed, float* out, int* kind,
                      int n) {
  const int i = (int)GlobalX();
  if (i >= n) return;
#if defined(__gfx942__) || defined(__gfx950__) || defined(__GFX12__)
  int word = 0;
  word = __builtin_amdgcn_cvt_pk_fp8_f32(in[4 * i], in[4 * i + 1], word, false);
  word =
      __builtin_amdgcn_cvt_pk_fp8_f32(in[4 * i + 2], in[4 * i + 3], word, true);
  packed[i] = (unsigned)word;
  out[4 * i] = __builtin_amdgcn_cvt_f32_fp8(word, 0);
  out[4 * i + 1] = __builtin_amdgcn_cvt_f32_fp8(word, 1);
  out[4 * i + 2] = __builtin_amdgcn_cvt_f32_fp8(word, 2);
  out[4 * i + 3] = __builtin_amdgcn_cvt_f32_fp8(word, 3);
#if defined(__gfx942__)
  if (i == 0) *kind = 8;  // bias 8, no infinities, no minus zero
#else
  if (i == 0) *kind = 7;  // OCP: bias 7
#endif
#else
  if (i == 0) *kind = 0;
#endif
}

// The f16 nearest to v, ties to even; v is in the normal range or 0.
double RoundHalf(double v) {
  if (v == 0) return v;
  int e = 0;
  double m = __builtin_frexp(v, &e);
  return __builtin_ldexp(__builtin_rint(__builtin_ldexp(m, 11)), e - 11);
}

unsigned short RoundBrain(float v) {
  unsigned bits;
  memcpy(&bits, &v, 4);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float WidenBrain(unsigned short b) {
  unsigned bits = (unsigned)b << 16;
  float v;
  memcpy(&v, &bits, 4);
  return v;
}

// A byte of E4M3 as a number.
double ByteValue(unsigned b, int bias) {
  const int e = (int)(b >> 3 & 15), m = (int)(b & 7);
  const double v = e == 0 ? __builtin_ldexp(m / 8.0, 1 - bias)
                          : __builtin_ldexp(1 + m / 8.0, e - bias);
  return (b & 0x80) != 0 ? -v : v;
}

int main() {
  const int n = 1024, block = 128;
  Random random;
  std::vector<_Float16> halves(n);
  for (int i = 0; i < n; ++i) {
    halves[i] = (_Float16)((float)(int)(random.Next() % 2048 - 1024) / 256.0f);
  }
  Buffer<_Float16> in(halves), out(n);
  HalfPolynomial<<<n / block, block>>>(in.data, out.data, n);
  std::vector<_Float16> got = out.Read();
  for (int i = 0; i < n; ++i) {
    const double x = (float)halves[i];
    double y = RoundHalf(x * 0.75);
    y = RoundHalf(RoundHalf(RoundHalf(y + 1.5) * x) - 0.125);
    EXPECT((double)(float)got[i] == y, "f16 %d: %g, host %g", i,
           (double)(float)got[i], y);
  }

  std::vector<float> floats(n);
  for (float& v : floats) v = (random.Unit() - 0.5f) * 1000;
  floats[0] = 1.00390625f;  // half-way, the even one below
  floats[1] = 1.01171875f;  // half-way, the even one above
  Buffer<float> wide(floats), sums(n);
  Buffer<__bf16> brain(n);
  Brain<<<n / block, block>>>(wide.data, brain.data, n);
  BrainSum<<<n / block, block>>>(brain.data, brain.data, sums.data, n);
  std::vector<unsigned short> rounded(n);
  CHECK_HIP(hipMemcpy(rounded.data(), brain.data, n * 2,
                      hipMemcpyDeviceToHost));
  std::vector<float> sum = sums.Read();
  for (int i = 0; i < n; ++i) {
    EXPECT(rounded[i] == RoundBrain(floats[i]), "bf16 of %g: %#x", floats[i],
           rounded[i]);
    const float a = WidenBrain(rounded[i]), b = WidenBrain(rounded[n - 1 - i]);
    EXPECT(sum[i] == a * a + b, "bf16 sum %d: %g", i, sum[i]);
  }

  for (int i = 0; i < n; ++i) floats[i] = (random.Unit() - 0.5f) * 200;
  Buffer<float> source(floats), back(n);
  Buffer<unsigned> packed(std::vector<unsigned>(n / 4, 0));
  Buffer<int> kind(1);
  Bytes<<<n / 4 / 64, 64>>>(source.data, packed.data, back.data, kind.data,
                            n / 4);
  const int bias = kind.Read()[0];
  if (bias == 0) return Pass();
  std::vector<unsigned> words = packed.Read();
  std::vector<float> bytes = back.Read();
  for (int i = 0; i < n; ++i) {
    const unsigned b = words[i / 4] >> (i % 4 * 8) & 255;
    const double v = ByteValue(b, bias);
    EXPECT(bytes[i] == (float)v, "fp8 %#x: %g, host %g", b, bytes[i], v);
    // No neighbour is nearer.
    const double error = __builtin_fabs(floats[i] - v);
    const double below = ByteValue(b - 1, bias), above = ByteValue(b + 1, bias);
    EXPECT((b & 127) == 0 || error <= __builtin_fabs(floats[i] - below),
           "fp8 of %g: %#x", floats[i], b);
    EXPECT((b & 127) >= 126 || error <= __builtin_fabs(floats[i] - above),
           "fp8 of %g: %#x", floats[i], b);
  }
  return Pass();
}
