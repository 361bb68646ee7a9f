// Half and bfloat16: conversions, arithmetic, pairs.
//
// RUN: %check %s %t
#include "program.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void Compute(const float* in, float* out) {
  const int i = threadIdx.x;
  const __half h = __float2half(in[i]);
  const __nv_bfloat16 b = __float2bfloat16(in[i]);
  out[4 * i] = __half2float(__hfma(h, h, __float2half(1.0f)));
  out[4 * i + 1] = __bfloat162float(__hmul(b, __float2bfloat16(2.0f)));
  const __half2 pair = __hadd2(__half2half2(h), __floats2half2_rn(1, 2));
  out[4 * i + 2] = __low2float(pair) + 1000 * __high2float(pair);
  out[4 * i + 3] = __hgt(h, __float2half(2.0f)) ? 1 : 0;
}

int main() {
  const std::vector<float> in{0, 1, 2.5f, -3, 100, 0.1f, 1.0f / 3, 7};
  float* p = ToDevice(in);
  float* out = ToDevice(std::vector<float>(32));
  Compute<<<1, 8>>>(p, out);
  const std::vector<float> got = ToHost(out, 32);
  for (int i = 0; i < 8; ++i) {
    const float h = __half2float(__float2half(in[i]));
    const float b = __bfloat162float(__float2bfloat16(in[i]));
    const auto round = [](float x) { return __half2float(__float2half(x)); };
    EXPECT(got[4 * i] == round(h * h + 1));
    EXPECT(got[4 * i + 1] == 2 * b);
    EXPECT(got[4 * i + 2] == round(h + 1) + 1000 * round(h + 2));
    EXPECT(got[4 * i + 3] == (h > 2));
  }
  return Pass();
}
