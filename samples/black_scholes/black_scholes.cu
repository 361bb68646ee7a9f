// Prices of European options: logarithms, exponentials, square roots, error
// functions and divisions in float (fast and exact) and double.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    cudaError_t status = (call);                                        \
    if (status != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status));                         \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

const double kRate = 0.02, kVolatility = 0.3;

struct Option {
  float spot, strike, years;
};

template <typename T>
__host__ __device__ T Call(const Option& o) {
  T root = sqrt(T(o.years));
  T d1 = (log(T(o.spot) / T(o.strike)) +
          (T(kRate) + T(0.5 * kVolatility * kVolatility)) * T(o.years)) /
         (T(kVolatility) * root);
  T d2 = d1 - T(kVolatility) * root;
  const T half_root = T(0.70710678118654752440);
  return T(0.5) * (T(o.spot) * erfc(-d1 * half_root) -
                   T(o.strike) * exp(-T(kRate) * T(o.years)) *
                       erfc(-d2 * half_root));
}

__device__ float Cumulative(float d) {
  float k = __frcp_rn(1.0f + 0.2316419f * fabsf(d));
  float sum = 1.330274429f;
  sum = fmaf(sum, k, -1.821255978f);
  sum = fmaf(sum, k, 1.781477937f);
  sum = fmaf(sum, k, -0.356563782f);
  sum = fmaf(sum, k, 0.31938153f);
  float tail = 0.39894228040f * __expf(-0.5f * d * d) * sum * k;
  return d > 0 ? 1.0f - tail : tail;
}

__global__ void Price(const Option* options, int n, double* exact,
                      float* single, float* fast) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Option o = options[i];
  exact[i] = Call<double>(o);
  single[i] = Call<float>(o);
  float root = __fsqrt_rn(o.years);
  float d1 = __fdividef(
      __logf(__fdividef(o.spot, o.strike)) +
          float(kRate + 0.5 * kVolatility * kVolatility) * o.years,
      float(kVolatility) * root);
  float d2 = d1 - float(kVolatility) * root;
  fast[i] = o.spot * Cumulative(d1) -
            o.strike * __expf(-float(kRate) * o.years) * Cumulative(d2);
}

int main() {
  const int n = 5000;
  std::vector<Option> options(n);
  unsigned random = 5;
  auto next = [&random](float low, float high) {
    random = random * 1664525u + 1013904223u;
    return low + (high - low) * (random >> 8) / float(1 << 24);
  };
  for (Option& o : options) {
    o = {next(5, 30), next(1, 100), next(0.25f, 10)};
  }
  Option* device_options;
  double *device_exact;
  float *device_single, *device_fast;
  CHECK(cudaMalloc(&device_options, n * sizeof(Option)));
  CHECK(cudaMalloc(&device_exact, n * sizeof(double)));
  CHECK(cudaMalloc(&device_single, n * sizeof(float)));
  CHECK(cudaMalloc(&device_fast, n * sizeof(float)));
  CHECK(cudaMemcpy(device_options, options.data(), n * sizeof(Option),
                   cudaMemcpyHostToDevice));
  Price<<<(n + 127) / 128, 128>>>(device_options, n, device_exact,
                                  device_single, device_fast);
  CHECK(cudaGetLastError());
  std::vector<double> exact(n);
  std::vector<float> single(n), fast(n);
  CHECK(cudaMemcpy(exact.data(), device_exact, n * sizeof(double),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(single.data(), device_single, n * sizeof(float),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(fast.data(), device_fast, n * sizeof(float),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_options));
  CHECK(cudaFree(device_exact));
  CHECK(cudaFree(device_single));
  CHECK(cudaFree(device_fast));

  bool ok = true;
  for (int i = 0; i < n && ok; ++i) {
    double expected = Call<double>(options[i]);
    if (!(std::fabs(exact[i] - expected) < 1e-12 * options[i].strike) ||
        !(std::fabs(single[i] - expected) < 2e-6 * options[i].strike + 1e-5) ||
        !(std::fabs(fast[i] - expected) < 1e-4 * options[i].strike)) {
      std::printf("option %d is worth %.15g (float %.7g, fast %.7g), "
                  "expected %.15g\n",
                  i, exact[i], single[i], fast[i], expected);
      ok = false;
    }
  }
  std::printf("black_scholes: %d options in double and float: %s\n", n,
              ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
