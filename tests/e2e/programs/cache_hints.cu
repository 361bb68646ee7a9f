// Hints to the caches, which change nothing but speed: each load, store and
// copy here carries one, and the data arrives all the same.
//
// RUN: %check %s %t -arch=sm_90
#include "program.h"

namespace {

constexpr int kCount = 1024;
constexpr int kWays = 18;

__device__ std::uint64_t Policy(int kind) {
  std::uint64_t policy = 0;
  switch (kind) {
    case 0:
      asm("createpolicy.fractional.L2::evict_last.b64 %0, 0.5;" : "=l"(policy));
      break;
    case 1:
      asm("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %0;"
          : "=l"(policy));
      break;
    default:
      // cudaAccessProperty, from a window that the host describes.
      asm("createpolicy.cvt.L2.b64 %0, 0x10f0000000000000;" : "=l"(policy));
  }
  return policy;
}

__global__ void Run(const int* in, int* out) {
  __shared__ int staged[kCount / 4];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int* from = in + i;
  const std::uint64_t policy = Policy(blockIdx.x % 3);
  int n = 0;
  asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(from));
  asm volatile("prefetchu.L1 [%0];" ::"l"(from));
  asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(
      in + i / 32 * 32));
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" ::"l"(
      in + i / 32 * 32));
#define LOAD(ptx)                                                 \
  {                                                               \
    int value;                                                    \
    asm volatile(ptx : "=r"(value) : "l"(from), "l"(policy));     \
    out[n++ * kCount + i] = value;                                \
  }
  LOAD("ld.global.ca.b32 %0, [%1];")
  LOAD("ld.global.cg.b32 %0, [%1];")
  LOAD("ld.global.cs.b32 %0, [%1];")
  LOAD("ld.global.lu.b32 %0, [%1];")
  LOAD("ld.global.cv.b32 %0, [%1];")
  LOAD("ld.global.nc.b32 %0, [%1];")
  LOAD("ldu.global.b32 %0, [%1];")
  LOAD("ld.global.L1::no_allocate.L2::128B.b32 %0, [%1];")
  LOAD("ld.global.L1::evict_last.L2::cache_hint.b32 %0, [%1], %2;")
  LOAD("ld.global.nc.L1::evict_first.L2::cache_hint.L2::64B.b32 %0, [%1], %2;")
  LOAD("ld.weak.global.L2::256B.b32 %0, [%1];")
#define STORE(ptx)                                                      \
  asm volatile(ptx ::"l"(out + n++ * kCount + i), "r"(*from), \
               "l"(policy)                                              \
               : "memory");
  STORE("st.global.wb.b32 [%0], %1;")
  STORE("st.global.cg.b32 [%0], %1;")
  STORE("st.global.cs.b32 [%0], %1;")
  STORE("st.global.wt.b32 [%0], %1;")
  STORE("st.global.L1::no_allocate.L2::cache_hint.b32 [%0], %1, %2;")
  // Through shared memory.
  const unsigned slot = __cvta_generic_to_shared(staged + threadIdx.x);
  asm volatile(
      "cp.async.ca.shared.global.L2::cache_hint.L2::128B [%0], [%1], 4, %2;\n"
      "cp.async.wait_all;" ::"r"(slot), "l"(from), "l"(policy)
      : "memory");
  out[n++ * kCount + i] = staged[threadIdx.x];
  // Into zeros.
  asm volatile("red.global.add.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(
                   out + n++ * kCount + i),
               "r"(*from), "l"(policy)
               : "memory");
}

// A line that is discarded holds anything until it is written again.
__global__ void Discard(int* line) {
  if (threadIdx.x == 0) {
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(line) : "memory");
  }
  __syncthreads();
  line[threadIdx.x] = int(threadIdx.x) * 3;
}

}  // namespace

int main() {
  std::vector<int> in(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = i * 2654435761u >> 3;
  int* device_in = ToDevice(in);
  int* out = ToDevice(std::vector<int>(kWays * kCount));
  Run<<<4, kCount / 4>>>(device_in, out);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> got = ToHost(out, kWays * kCount);
  for (int way = 0; way < kWays; ++way) {
    for (int i = 0; i < kCount; ++i) {
      if (got[way * kCount + i] == in[i]) continue;
      std::printf("way %d, element %d: %d, expected %d\n", way, i,
                  got[way * kCount + i], in[i]);
      return 1;
    }
  }
  Discard<<<1, 32>>>(device_in);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> line = ToHost(device_in, 33);
  for (int i = 0; i < 32; ++i) EXPECT(line[i] == 3 * i);
  EXPECT(line[32] == in[32]);
  return Pass();
}
