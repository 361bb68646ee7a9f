// Bitonic sort of keys with values: stages that fit into a block run in shared
// memory, the others as one launch for each step.
#include <cuda_runtime.h>

#include <algorithm>
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

const unsigned kBlock = 256;          // threads
const unsigned kTile = 2 * kBlock;    // elements that a block sorts

__device__ void Order(unsigned& key_a, unsigned& value_a, unsigned& key_b,
                      unsigned& value_b, bool ascending) {
  if ((key_a > key_b) == ascending) {
    unsigned key = key_a, value = value_a;
    key_a = key_b;
    value_a = value_b;
    key_b = key;
    value_b = value;
  }
}

// The steps of stage `size` from distance `first` on (and, with `all`, all
// stages up to `size`), for a tile in shared memory.
__global__ void SortTile(unsigned* keys, unsigned* values, unsigned size,
                         bool all) {
  __shared__ unsigned key[kTile];
  __shared__ unsigned value[kTile];
  unsigned base = blockIdx.x * kTile;
  for (unsigned i = threadIdx.x; i < kTile; i += kBlock) {
    key[i] = keys[base + i];
    value[i] = values[base + i];
  }
  for (unsigned stage = all ? 2 : size; stage <= size; stage *= 2) {
    for (unsigned distance = min(stage / 2, kBlock); distance > 0;
         distance /= 2) {
      __syncthreads();
      unsigned a = 2 * threadIdx.x - (threadIdx.x & (distance - 1));
      bool ascending = ((base + a) & stage) == 0;
      Order(key[a], value[a], key[a + distance], value[a + distance],
            ascending);
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kTile; i += kBlock) {
    keys[base + i] = key[i];
    values[base + i] = value[i];
  }
}

__global__ void Step(unsigned* keys, unsigned* values, unsigned size,
                     unsigned distance) {
  unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned a = 2 * thread - (thread & (distance - 1));
  Order(keys[a], values[a], keys[a + distance], values[a + distance],
        (a & size) == 0);
}

int main() {
  const unsigned n = 8192;
  std::vector<unsigned> keys(n), values(n);
  unsigned random = 7;
  for (unsigned i = 0; i < n; ++i) {
    random = random * 1664525u + 1013904223u;
    keys[i] = random ^ (random >> 16);
    values[i] = keys[i] * 2654435761u;
  }
  unsigned *device_keys, *device_values;
  CHECK(cudaMalloc(&device_keys, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&device_values, n * sizeof(unsigned)));
  CHECK(cudaMemcpy(device_keys, keys.data(), n * sizeof(unsigned),
                   cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_values, values.data(), n * sizeof(unsigned),
                   cudaMemcpyHostToDevice));

  SortTile<<<n / kTile, kBlock>>>(device_keys, device_values, kTile, true);
  CHECK(cudaGetLastError());
  for (unsigned size = 2 * kTile; size <= n; size *= 2) {
    for (unsigned distance = size / 2; distance > kBlock; distance /= 2) {
      Step<<<n / kTile, kBlock>>>(device_keys, device_values, size, distance);
      CHECK(cudaGetLastError());
    }
    SortTile<<<n / kTile, kBlock>>>(device_keys, device_values, size, false);
    CHECK(cudaGetLastError());
  }

  std::vector<unsigned> sorted(n), sorted_values(n);
  CHECK(cudaMemcpy(sorted.data(), device_keys, n * sizeof(unsigned),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(sorted_values.data(), device_values, n * sizeof(unsigned),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_keys));
  CHECK(cudaFree(device_values));
  std::sort(keys.begin(), keys.end());
  bool ok = true;
  for (unsigned i = 0; i < n && ok; ++i) {
    if (sorted[i] != keys[i] || sorted_values[i] != keys[i] * 2654435761u) {
      std::printf("element %u is %u with value %u, expected %u with %u\n", i,
                  sorted[i], sorted_values[i], keys[i],
                  keys[i] * 2654435761u);
      ok = false;
    }
  }
  std::printf("bitonic_sort: %u keys with values: %s\n", n,
              ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
