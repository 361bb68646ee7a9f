// Sum, maximum and minimum of an array: each warp reduces in registers with
// shuffles, each block combines its warps through shared memory, a second
// launch combines the blocks.
#include <cuda_runtime.h>

#include <algorithm>
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

struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Maximum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

struct Minimum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

template <typename T, typename Op>
__device__ T ReduceWarp(T value, Op op) {
  for (int distance = warpSize / 2; distance > 0; distance /= 2) {
    value = op(value, __shfl_down_sync(0xffffffffu, value, distance));
  }
  return value;  // right in lane 0
}

// Blocks of 256 threads; out[blockIdx.x] becomes the result of this block.
template <typename T, typename Op>
__global__ void Reduce(const T* in, int n, T identity, Op op, T* out) {
  __shared__ T warps[8];
  T value = identity;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    value = op(value, in[i]);
  }
  value = ReduceWarp(value, op);
  int lane = threadIdx.x % warpSize;
  int warp = threadIdx.x / warpSize;
  if (lane == 0) warps[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < int(blockDim.x / warpSize) ? warps[lane] : identity;
    value = ReduceWarp(value, op);
    if (lane == 0) out[blockIdx.x] = value;
  }
}

template <typename T, typename Op>
T ReduceOnDevice(const std::vector<T>& in, T identity, Op op) {
  const int threads = 256;
  const int blocks = 40;
  T *device_in, *device_partial, *device_out;
  T out;
  CHECK(cudaMalloc(&device_in, in.size() * sizeof(T)));
  CHECK(cudaMalloc(&device_partial, blocks * sizeof(T)));
  CHECK(cudaMalloc(&device_out, sizeof(T)));
  CHECK(cudaMemcpy(device_in, in.data(), in.size() * sizeof(T),
                   cudaMemcpyHostToDevice));
  Reduce<<<blocks, threads>>>(device_in, int(in.size()), identity, op,
                              device_partial);
  CHECK(cudaGetLastError());
  Reduce<<<1, threads>>>(device_partial, blocks, identity, op, device_out);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&out, device_out, sizeof(T), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(device_partial));
  CHECK(cudaFree(device_out));
  return out;
}

bool Expect(const char* what, double found, double expected,
            double tolerance = 0.0) {
  // Written so that a NaN fails.
  if (std::fabs(found - expected) <= tolerance) return true;
  std::printf("%s is %.17g, expected %.17g\n", what, found, expected);
  return false;
}

int main() {
  const int n = 60001;
  std::vector<int> integers(n);
  std::vector<float> floats(n);
  std::vector<double> doubles(n);
  unsigned random = 12345;
  long long integer_sum = 0;
  double float_sum = 0.0;
  for (int i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    integers[i] = int(random >> 12) - (1 << 19);
    floats[i] = integers[i] / 65536.0f;
    doubles[i] = integers[i] / 1048576.0;
    integer_sum += integers[i];
    float_sum += floats[i];
  }

  bool ok = true;
  ok &= Expect("integer sum", ReduceOnDevice(integers, 0, Sum()),
               int(integer_sum));
  ok &= Expect("integer maximum",
               ReduceOnDevice(integers, integers[0], Maximum()),
               *std::max_element(integers.begin(), integers.end()));
  ok &= Expect("float sum", ReduceOnDevice(floats, 0.0f, Sum()), float_sum,
               0.05);
  ok &= Expect("float minimum", ReduceOnDevice(floats, floats[0], Minimum()),
               *std::min_element(floats.begin(), floats.end()));
  ok &= Expect("double maximum",
               ReduceOnDevice(doubles, doubles[0], Maximum()),
               *std::max_element(doubles.begin(), doubles.end()));
  // Multiples of 2^-20 below 2^53 * 2^-20 add up without rounding.
  ok &= Expect("double sum", ReduceOnDevice(doubles, 0.0, Sum()),
               integer_sum / 1048576.0);
  std::printf("reduction: sum, minimum, maximum of %d numbers: %s\n", n,
              ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
