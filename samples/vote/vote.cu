// What a warp can ask its lanes: ballots and bit counts. Counts the elements
// with a property, keeps them in their order (stream compaction), and checks
// that __any_sync, __all_sync, __activemask and __match_any_sync agree.
#include <cuda_runtime.h>

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

__device__ bool Wanted(unsigned value) { return __popc(value) % 3 == 0; }

__device__ unsigned LanesBelow() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

// One block. Writes the wanted elements of `in` to `out`, in order.
__global__ void Compact(const unsigned* in, int n, unsigned* out,
                        int* out_count) {
  __shared__ int warps[32];
  __shared__ int base;
  int warp = threadIdx.x / warpSize;
  int lane = threadIdx.x % warpSize;
  if (threadIdx.x == 0) base = 0;
  __syncthreads();
  for (int first = 0; first < n; first += blockDim.x) {
    int i = first + threadIdx.x;
    bool wanted = i < n && Wanted(in[i]);
    unsigned ballot = __ballot_sync(0xffffffffu, wanted);
    if (lane == 0) warps[warp] = __popc(ballot);
    __syncthreads();
    int before = base;
    for (int w = 0; w < warp; ++w) before += warps[w];
    if (wanted) out[before + __popc(ballot & LanesBelow())] = in[i];
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) base = before + __popc(ballot);
    __syncthreads();
  }
  if (threadIdx.x == 0) *out_count = base;
}

// Counts disagreements between the ways to ask one question.
__global__ void Agree(const unsigned* in, int n, int* disagreements) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;  // the last warp is partial from here on
  unsigned active = __activemask();
  bool odd = in[i] % 2 != 0;
  unsigned ballot = __ballot_sync(active, odd);
  bool any = __any_sync(active, odd);
  bool all = __all_sync(active, odd);
  int wrong = 0;
  wrong += any != (ballot != 0);
  wrong += all != (ballot == active);
  if (odd) {
    // Only the odd lanes meet here.
    wrong += __ballot_sync(ballot, true) != ballot;
  }
  __syncwarp(active);
#if __CUDA_ARCH__ >= 700
  unsigned same = __match_any_sync(active, in[i] % 4);
  for (int value = 0; value < 4; ++value) {
    unsigned expected = __ballot_sync(active, in[i] % 4 == value);
    if (in[i] % 4 == value) wrong += same != expected;
  }
#endif
  if (wrong != 0) atomicAdd(disagreements, wrong);
}

int main() {
  const int n = 10007;
  std::vector<unsigned> in(n), expected;
  unsigned random = 1;
  for (unsigned& value : in) {
    random = random * 1664525u + 1013904223u;
    value = random >> 7;
    if (__builtin_popcount(value) % 3 == 0) expected.push_back(value);
  }
  unsigned *device_in, *device_out;
  int* device_counts;
  CHECK(cudaMalloc(&device_in, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&device_out, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&device_counts, 2 * sizeof(int)));
  CHECK(cudaMemset(device_counts, 0, 2 * sizeof(int)));
  CHECK(cudaMemcpy(device_in, in.data(), n * sizeof(unsigned),
                   cudaMemcpyHostToDevice));
  Compact<<<1, 256>>>(device_in, n, device_out, device_counts);
  CHECK(cudaGetLastError());
  Agree<<<(n + 127) / 128, 128>>>(device_in, n, device_counts + 1);
  CHECK(cudaGetLastError());
  int counts[2];
  CHECK(cudaMemcpy(counts, device_counts, sizeof(counts),
                   cudaMemcpyDeviceToHost));

  bool ok = counts[0] == int(expected.size()) && counts[1] == 0;
  if (!ok) {
    std::printf("%d elements kept, expected %zu; %d disagreements\n",
                counts[0], expected.size(), counts[1]);
  } else {
    std::vector<unsigned> out(expected.size());
    CHECK(cudaMemcpy(out.data(), device_out, out.size() * sizeof(unsigned),
                     cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < out.size() && ok; ++i) {
      if (out[i] != expected[i]) {
        std::printf("element %zu is %u, expected %u\n", i, out[i],
                    expected[i]);
        ok = false;
      }
    }
  }
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(device_out));
  CHECK(cudaFree(device_counts));
  std::printf("vote: %zu of %d elements kept by ballots: %s\n",
              expected.size(), n, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
