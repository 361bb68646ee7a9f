// A mathematical library of our own in f64, the same code on both sides: every
// bit must agree. Uses division, square roots, conversions and bit casts.
#include "mini_hip.h"

#define BOTH __host__ __device__ inline

BOTH double FromBits(uint64_t bits) { return __builtin_bit_cast(double, bits); }
BOTH uint64_t ToBits(double v) { return __builtin_bit_cast(uint64_t, v); }

BOTH double Exp(double x) {
  const double n = __builtin_floor(x * 1.4426950408889634 + 0.5);
  const double r = (x - n * 0.693145751953125) - n * 1.42860682030941723e-6;
  double sum = 1;
  for (int k = 18; k >= 1; --k) sum = 1 + sum * r / k;
  return sum * FromBits((uint64_t)((int64_t)n + 1023) << 52);
}

BOTH double Log(double x) {
  int64_t e = (int64_t)(ToBits(x) >> 52) - 1023;
  double m = FromBits((ToBits(x) & 0xfffffffffffff) | 0x3ff0000000000000);
  if (m > 1.4142135623730951) {
    m = m / 2;
    ++e;
  }
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * s * s + 1.0 / k;
  return (double)e * 0.6931471805599453 + 2 * s * sum;
}

BOTH double Sin(double x) {
  const double turns = __builtin_floor(x / 6.283185307179586 + 0.5);
  const double r = x - turns * 6.283185307179586;
  double term = r, sum = r;
  for (int k = 1; k < 16; ++k) {
    term = -term * r * r / (2.0 * k * (2 * k + 1));
    sum += term;
  }
  return sum;
}

// Newton: no instruction for the root takes part.
BOTH double Root(double x) {
  double r = FromBits((ToBits(x) >> 1) + 0x1ff7a3bea91d9b1b);
  for (int i = 0; i < 5; ++i) r = 0.5 * (r + x / r);
  return r;
}

BOTH double Power(double x, int n) {
  double r = 1;
  for (unsigned k = (unsigned)(n < 0 ? -n : n); k != 0; k >>= 1) {
    if (k & 1) r *= x;
    x *= x;
  }
  return n < 0 ? 1 / r : r;
}

BOTH void All(double x, int i, double* out) {
  out[0] = Exp(x / 16);
  out[1] = Log(x + 100);
  out[2] = Sin(x);
  out[3] = Root(x * x + 1);
  out[4] = Power(x / 32, i % 21 - 10);
  out[5] = (double)(int64_t)(x * 1e9) / 7 + (double)(uint64_t)(x * x);
}

__global__ void Kernel(const double* in, double* out, int n) {
  const int i = (int)GlobalX();
  if (i < n) All(in[i], i, out + 6 * i);
}

int main() {
  const int n = 500;
  Random random;
  std::vector<double> values(n);
  for (double& v : values) v = ((double)random.Next() / 4294967296 - 0.5) * 100;
  Buffer<double> in(values), out(n * 6);
  Kernel<<<(n + 63) / 64, 64>>>(in.data, out.data, n);
  std::vector<double> got = out.Read();
  for (int i = 0; i < n; ++i) {
    double expected[6];
    All(values[i], i, expected);
    for (int k = 0; k < 6; ++k) {
      EXPECT(ToBits(got[6 * i + k]) == ToBits(expected[k]),
             "function %d of %.17g: %.17g, host %.17g", k, values[i],
             got[6 * i + k], expected[k]);
    }
    // And it is the function it says.
    EXPECT(__builtin_fabs(expected[3] * expected[3] -
                          (values[i] * values[i] + 1)) < 1e-9,
           "root of %g", values[i]);
  }
  return Pass();
}
