// Estimates pi from points of the unit square. Each thread has a generator of
// its own (xorshift, seeded by a hash of the thread's number); hits are added
// up by a shuffle and one 64-bit atomic for each warp.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                     \
  do {                                                                  \
    cudaError_t status = (call);                                        \
    if (status != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status));                         \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

__host__ __device__ unsigned Hash(unsigned x) {
  x = (x ^ 61u) ^ (x >> 16);
  x *= 9u;
  x ^= x >> 4;
  x *= 0x27d4eb2du;
  return x ^ (x >> 15);
}

__host__ __device__ unsigned Next(unsigned& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

// The number of `points` of thread `thread` that lie in the quarter circle.
// Coordinates of 24 bits make every operation exact, on both sides.
__host__ __device__ int Hits(unsigned thread, int points) {
  unsigned state = Hash(thread + 1) | 1u;
  int hits = 0;
  for (int i = 0; i < points; ++i) {
    double x = (Next(state) >> 8) * (1.0 / (1 << 24));
    double y = (Next(state) >> 8) * (1.0 / (1 << 24));
    if (x * x + y * y < 1.0) ++hits;
  }
  return hits;
}

__global__ void CountHits(int points, unsigned long long* total) {
  int hits = Hits(blockIdx.x * blockDim.x + threadIdx.x, points);
  for (int distance = warpSize / 2; distance > 0; distance /= 2) {
    hits += __shfl_xor_sync(0xffffffffu, hits, distance);
  }
  if (threadIdx.x % warpSize == 0) {
    atomicAdd(total, static_cast<unsigned long long>(hits));
  }
}

int main() {
  const int blocks = 32, threads = 128, points = 100;
  unsigned long long *device_total, total;
  CHECK(cudaMalloc(&device_total, sizeof(total)));
  CHECK(cudaMemset(device_total, 0, sizeof(total)));
  CountHits<<<blocks, threads>>>(points, device_total);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&total, device_total, sizeof(total),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_total));

  unsigned long long expected = 0;
  for (int i = 0; i < blocks * threads; ++i) expected += Hits(i, points);
  double pi = 4.0 * total / (double(blocks) * threads * points);
  bool ok = total == expected && std::fabs(pi - 3.14159265) < 0.02;
  if (!ok) {
    std::printf("%llu hits, expected %llu\n", total, expected);
  }
  std::printf("monte_carlo_pi: about %.4f from %d points: %s\n", pi,
              blocks * threads * points, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
