// A module of 32 kernels, of which a run takes those that its arguments name,
// each checked: mN, kernel N; cN, one that counts in a variable of the module
// as well, by what a constant says, and that each time it is called in a
// function's own variable; fN, one that counts in the first by a function
// pointer; and pN, one that prints. `q` asks for a kernel's attributes alone,
// `s` sets the constant, and `r` resets the device, with all variables. With
// -DMANAGED the first variable is managed, and read by the host itself.
#include <algorithm>
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

#ifdef MANAGED
__managed__ int g_count;
__device__ void Count(int step) { atomicAdd(&g_count, step); }
#else
__device__ int g_count;
__device__ int* const g_counter = &g_count;
__device__ void Count(int step) { atomicAdd(g_counter, step); }
#endif
__constant__ int g_step = 1;

__device__ __noinline__ int Call() {
  static __device__ int calls;
  return atomicAdd(&calls, 1);
}

__device__ void CountUp() { Count(g_step); }
__device__ void CountDown() { Count(-g_step); }
__device__ void (*g_ways[2])() = {CountUp, CountDown};

// Long enough that nobody wants to wait for all of them.
template <unsigned kNumber>
__host__ __device__ unsigned Mixed(unsigned x) {
#pragma unroll
  for (unsigned i = 0; i < 400; ++i) {
    x = (x ^ i * kNumber) * 0x9e3779b1u + i;
  }
  return x;
}

enum Kind { kMixes, kCounts, kPrints, kCalls };
template <Kind kKind, unsigned kNumber>
__global__ void Kernel(unsigned* values) {
  values[threadIdx.x] = Mixed<kNumber>(values[threadIdx.x]);
  if (kKind == kCounts) {
    atomicAdd(&g_count, g_step);
    const int call = Call();
    if (threadIdx.x == 31) values[32] = call;
  }
  if (kKind == kCalls) g_ways[values[0] == 0]();
  if (kKind == kPrints && threadIdx.x == 0) printf("kernel p%u\n", kNumber);
}

int g_last_call = -1;  // that kernels of that kind have seen

template <Kind kKind, unsigned kNumber>
void Run() {
  std::vector<unsigned> values(32);
  for (unsigned i = 0; i < 32; ++i) values[i] = i;
  unsigned* device;
  CHECK(cudaMalloc(&device, 132));
  CHECK(cudaMemcpy(device, values.data(), 128, cudaMemcpyHostToDevice));
  Kernel<kKind, kNumber><<<1, 32>>>(device);
  CHECK(cudaMemcpy(values.data(), device, 128, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < 32; ++i) {
    if (values[i] == Mixed<kNumber>(i)) continue;
    std::printf("kernel %u computed something else\n", kNumber);
    std::exit(1);
  }
  if (kKind == kCounts) {
    static_assert(sizeof(int) == sizeof(unsigned));
    int call = 0;
    CHECK(cudaMemcpy(&call, device + 32, 4, cudaMemcpyDeviceToHost));
    g_last_call = std::max(g_last_call, call);
  }
}

template <Kind kKind, unsigned kNumber = 0>
void Pick(unsigned number) {
  if (number == kNumber) return Run<kKind, kNumber>();
  if constexpr (kNumber < 7) Pick<kKind, kNumber + 1>(number);
}

int main(int argc, char** argv) {
  int counts = 0;
  int calls = 0;
  int step = 1;
  for (int i = 1; i < argc; ++i) {
    const auto number = static_cast<unsigned>(std::atoi(argv[i] + 1));
    switch (argv[i][0]) {
      case 'm': Pick<kMixes>(number); break;
      case 'p': Pick<kPrints>(number); break;
      case 'c':
        Pick<kCounts>(number);
        counts += 32 * step;
        calls += 32;
        break;
      case 'f':
        Pick<kCalls>(number);
        counts += 32 * step;
        break;
      case 's':
        step = static_cast<int>(number);
        CHECK(cudaMemcpyToSymbol(g_step, &step, sizeof step));
        break;
      case 'r':
        CHECK(cudaDeviceReset());
        counts = calls = 0;
        step = 1;
        g_last_call = -1;
        break;
      default: {
        cudaFuncAttributes attributes;
        CHECK(cudaFuncGetAttributes(&attributes, Kernel<kMixes, 5>));
        std::printf("at most %d threads\n", attributes.maxThreadsPerBlock);
      }
    }
  }
  int counted = counts;
#ifdef MANAGED
  counted = g_count;
#else
  if (counts != 0) {
    CHECK(cudaMemcpyFromSymbol(&counted, g_count, sizeof counted));
  }
#endif
  const bool all_called =
      calls == 0 ? g_last_call == -1
                 : g_last_call >= calls - 32 && g_last_call < calls;
  if (!all_called) std::printf("call %d of %d\n", g_last_call, calls);
  if (counted != counts) std::printf("%d instead of %d\n", counted, counts);
  if (all_called && counted == counts) std::puts("PASS");
}
