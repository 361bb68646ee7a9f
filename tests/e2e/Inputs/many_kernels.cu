// A module of 24 kernels, of which a run takes those that its arguments name,
// each checked: mN, kernel N; cN, one that counts in a variable of the module
// as well, and pN, one that prints. `q` asks for a kernel's attributes alone.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                          \
  do {                                                       \
    if (const cudaError_t e = (call); e != cudaSuccess) {    \
      std::printf("%s: %s\n", #call, cudaGetErrorString(e)); \
      std::exit(1);                                          \
    }                                                        \
  } while (0)

__device__ int g_count;

// Long enough that nobody wants to wait for all of them.
template <unsigned kNumber>
__host__ __device__ unsigned Mixed(unsigned x) {
#pragma unroll
  for (unsigned i = 0; i < 400; ++i) {
    x = (x ^ i * kNumber) * 0x9e3779b1u + i;
  }
  return x;
}

enum Kind { kMixes, kCounts, kPrints };
template <Kind kKind, unsigned kNumber>
__global__ void Kernel(unsigned* values) {
  values[threadIdx.x] = Mixed<kNumber>(values[threadIdx.x]);
  if (kKind == kCounts) atomicAdd(&g_count, 1);
  if (kKind == kPrints && threadIdx.x == 0) printf("kernel p%u\n", kNumber);
}

template <Kind kKind, unsigned kNumber>
void Run() {
  std::vector<unsigned> values(32);
  for (unsigned i = 0; i < 32; ++i) values[i] = i;
  unsigned* device;
  CHECK(cudaMalloc(&device, 128));
  CHECK(cudaMemcpy(device, values.data(), 128, cudaMemcpyHostToDevice));
  Kernel<kKind, kNumber><<<1, 32>>>(device);
  CHECK(cudaMemcpy(values.data(), device, 128, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < 32; ++i) {
    if (values[i] == Mixed<kNumber>(i)) continue;
    std::printf("kernel %u computed something else\n", kNumber);
    std::exit(1);
  }
}

template <Kind kKind, unsigned kNumber = 0>
void Pick(unsigned number) {
  if (number == kNumber) return Run<kKind, kNumber>();
  if constexpr (kNumber < 7) Pick<kKind, kNumber + 1>(number);
}

int main(int argc, char** argv) {
  int counts = 0;
  for (int i = 1; i < argc; ++i) {
    const auto number = static_cast<unsigned>(std::atoi(argv[i] + 1));
    switch (argv[i][0]) {
      case 'm': Pick<kMixes>(number); break;
      case 'p': Pick<kPrints>(number); break;
      case 'c':
        Pick<kCounts>(number);
        counts += 32;
        break;
      default: {
        cudaFuncAttributes attributes;
        CHECK(cudaFuncGetAttributes(&attributes, Kernel<kMixes, 5>));
        std::printf("at most %d threads\n", attributes.maxThreadsPerBlock);
      }
    }
  }
  int counted = counts;
  if (counts != 0) {
    CHECK(cudaMemcpyFromSymbol(&counted, g_count, sizeof counted));
  }
  std::puts(counted == counts ? "PASS" : "the count is wrong");
}
