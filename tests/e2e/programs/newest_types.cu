// What GPUs since sm_100 compute with: pairs of floats, floats of 8, 6 and 4
// bits by CUDA's types, sums of mixed precision, three operands at once, and
// accesses of 32 bytes.
//
// RUN: %check %s %t -gencode arch=compute_100a,code=compute_100a
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>

#include "program.h"

namespace {

constexpr int kThreads = 256;
constexpr int kResults = 15;

// `x` as the nearest number with `mantissa` bits behind the point, the even one
// of two, exponents not below `least`, and not above `largest`.
float Nearest(float x, int mantissa, int least, float largest) {
  if (x == 0) return x;
  int exponent;
  std::frexp(x, &exponent);
  const int unit = std::max(exponent - 1, least) - mantissa;
  const float rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  return std::clamp(rounded, -largest, largest);
}

__global__ void Run(const float* in, float* out, int* taken) {
  const int i = threadIdx.x;
  const float x = in[i], y = in[(i + 1) % kThreads], z = in[(i + 2) % kThreads];
  float* results = out + kResults * i;
  int n = 0;
  asm("{ .reg .b64 p, q, r;\n"
      "mov.b64 p, {%2, %3}; mov.b64 q, {%3, %4}; mov.b64 r, {%4, %2};\n"
      "fma.rn.f32x2 r, p, q, r;\n"
      "add.rz.f32x2 r, r, p;\n"
      "mov.b64 {%0, %1}, r; }"
      : "=f"(results[0]), "=f"(results[1])
      : "f"(x), "f"(y), "f"(z));
  n += 2;
  results[n++] = float(__nv_fp8_e4m3(x));
  results[n++] = float(__nv_fp8_e5m2(x));
  results[n++] = float(__nv_fp6_e2m3(x));
  results[n++] = float(__nv_fp6_e3m2(x));
  results[n++] = float(__nv_fp4_e2m1(x));
  results[n++] = float(__nv_fp8_e8m0(std::fabs(x)));
  asm("max.f32 %0, %1, %2, %3;" : "=f"(results[n++]) : "f"(x), "f"(y), "f"(z));
  asm("min.abs.f32 %0, %1, %2, %3;"
      : "=f"(results[n++])
      : "f"(x), "f"(y), "f"(z));
  asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %2; add.f32.f16 %0, h, %1; }"
      : "=f"(results[n++])
      : "f"(y), "f"(x));
  asm("{ .reg .b16 b; cvt.rn.bf16.f32 b, %2; fma.rn.f32.bf16 %0, b, b, %1; }"
      : "=f"(results[n++])
      : "f"(y), "f"(x));
  asm volatile("redux.sync.max.abs.f32 %0, %1, 0xffffffff;"
               : "=f"(results[n++])
               : "f"(x));
  // 32 bytes, from and to.
  const int eight = i / 8 * 8;
  float v[8];
  asm volatile("ld.global.v8.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]),
                 "=f"(v[5]), "=f"(v[6]), "=f"(v[7])
               : "l"(in + eight));
  float sum = 0;
  for (float value : v) sum += value;
  results[n++] = sum;
  // Another block's work may be taken over: the answer is no, or a block.
  __shared__ alignas(16) std::uint64_t answer[2];
  __shared__ std::uint64_t barrier;
  if (i == 0) {
    const unsigned at = __cvta_generic_to_shared(answer);
    const unsigned arrived = __cvta_generic_to_shared(&barrier);
    asm volatile(
        "{ .reg .pred done; .reg .b64 state;\n"
        "mbarrier.init.shared.b64 [%1], 1;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 state, [%1], 16;\n"
        "clusterlaunchcontrol.try_cancel.async.shared::cta"
        ".mbarrier::complete_tx::bytes.b128 [%0], [%1];\n"
        "again: mbarrier.try_wait.shared::cta.b64 done, [%1], state;\n"
        "@!done bra again; }" ::"r"(at),
        "r"(arrived)
        : "memory");
    unsigned canceled;
    asm volatile(
        "{ .reg .b128 r; .reg .pred p; .reg .b64 low, high;\n"
        "ld.shared.v2.b64 {low, high}, [%1]; mov.b128 r, {low, high};\n"
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n"
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(canceled)
        : "r"(at)
        : "memory");
    *taken = int(canceled);
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 64;");
  results[n++] = __frcp_rn(x);
}

}  // namespace

int main() {
  std::vector<float> in(kThreads);
  unsigned random = 3;
  for (int i = 0; i < kThreads; ++i) {
    random = random * 1664525 + 1013904223;
    in[i] = std::ldexp(int(random >> 8) - (1 << 23), -24 - int(random % 7)) *
            (i % 5 ? 16 : 900);
  }
  const float* device_in = ToDevice(in);
  float* out = ToDevice(std::vector<float>(kThreads * kResults));
  int* taken = ToDevice(std::vector<int>{-1});
  Run<<<1, kThreads>>>(device_in, out, taken);
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> got = ToHost(out, kThreads * kResults);
  EXPECT(ToHost(taken, 1)[0] == 0);  // there is no other block
  for (int i = 0; i < kThreads; ++i) {
    const float x = in[i], y = in[(i + 1) % kThreads];
    const float z = in[(i + 2) % kThreads];
    const auto add_toward_zero = [](float a, float b) {
      const double exact = double(a) + b;
      const float nearest = float(exact);
      return std::fabs(double(nearest)) > std::fabs(exact)
                 ? std::nextafter(nearest, 0.0f)
                 : nearest;
    };
    float largest = 0, sum = 0;
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) {
      largest = std::max(largest, std::fabs(in[k]));
    }
    for (int k = i / 8 * 8; k < i / 8 * 8 + 8; ++k) sum += in[k];
    const float half = Nearest(x, 10, -14, 65504);
    const float bf16 = Nearest(x, 7, -126, INFINITY);
    const float power =
        std::ldexp(1.0f, int(std::ceil(std::log2(std::fabs(x)))));
    const float expected[kResults] = {
        add_toward_zero(std::fma(x, y, z), x),
        add_toward_zero(std::fma(y, z, x), y),
        Nearest(x, 3, -6, 448),
        Nearest(x, 2, -14, 57344),
        Nearest(x, 3, 0, 7.5),
        Nearest(x, 2, -2, 28),
        Nearest(x, 1, 0, 6),
        power,
        std::max({x, y, z}),
        std::min({std::fabs(x), std::fabs(y), std::fabs(z)}),
        half + y,
        std::fma(bf16, bf16, y),
        largest,
        sum,
        1 / x};
    for (int k = 0; k < kResults; ++k) {
      const float value = got[kResults * i + k];
      if (std::memcmp(&value, &expected[k], 4) == 0) continue;
      std::printf("thread %d, result %d of %a, %a, %a: %a, expected %a\n", i, k,
                  x, y, z, value, expected[k]);
      return 1;
    }
  }
  return Pass();
}
