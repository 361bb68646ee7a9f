// A product with sums in tensor memory, as programs write it: one warp asks for
// it, the others wait and take the sums.
//
// RUN: env RUN_ENV=CERBERUS_CC=10.0 %check %s %t -gencode arch=compute_100a,code=compute_100a
#include <cuda_fp16.h>

#include "program.h"

constexpr int kM = 128, kN = 32, kK = 64;

__device__ unsigned SharedAddress(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Lines of 64 halves, which exchange their eight 16 bytes (128 bytes).
__device__ unsigned long long Descriptor(const void* p, int k) {
  const unsigned long long address = SharedAddress(p) + k * 2;
  return (address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 |
         1ull << 46 | 2ull << 61;
}

__device__ int Swizzled(int line, int k) {
  return line * kK + ((k / 8 ^ line % 8) * 8 + k % 8);
}

__global__ void Product(const half* a, const half* b, float* d) {
  __shared__ alignas(1024) half of_a[kM * kK];
  __shared__ alignas(1024) half of_b[kN * kK];
  __shared__ unsigned place;
  __shared__ alignas(8) unsigned long long done;
  const int thread = threadIdx.x;
  for (int i = thread; i < kM * kK; i += 128) {
    of_a[Swizzled(i / kK, i % kK)] = a[i];
  }
  for (int i = thread; i < kN * kK; i += 128) {
    of_b[Swizzled(i / kK, i % kK)] = b[i];
  }
  if (thread < 32) {
    asm volatile(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::
            "r"(SharedAddress(&place)));
  }
  if (thread == 0) {
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SharedAddress(&done)));
  }
  asm volatile("fence.proxy.async;");
  __syncthreads();
  const unsigned sums = place;
  if (thread == 32) {
    // f16 to f32, 128 rows.
    const unsigned how = 1 << 4 | kN / 8 << 17 | kM / 16 << 24;
    for (int k = 0; k < kK; k += 16) {
      asm volatile(
          "{\n.reg .pred adds;\nsetp.ne.u32 adds, %4, 0;\n"
          "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, adds;\n}" ::"r"(
              sums),
          "l"(Descriptor(of_a, k)), "l"(Descriptor(of_b, k)), "r"(how), "r"(k));
    }
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
        "[%0];" ::"r"(SharedAddress(&done)));
  }
  unsigned ready = 0;
  while (ready == 0) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(ready)
        : "r"(SharedAddress(&done))
        : "memory");
  }
  asm volatile("tcgen05.fence::after_thread_sync;");
  for (int j = 0; j < kN; ++j) {
    float sum;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];"
                 : "=f"(sum)
                 : "r"(sums + ((thread & 96) << 16) + j));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    d[thread * kN + j] = sum;
  }
  __syncthreads();
  if (thread < 32) {
    asm volatile(
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(sums));
  }
}

int main() {
  std::vector<half> a(kM * kK), b(kN * kK);
  for (int i = 0; i < kM * kK; ++i) a[i] = __int2half_rn(i * 7 % 11 - 5);
  for (int i = 0; i < kN * kK; ++i) b[i] = __int2half_rn(i * 5 % 13 - 6);
  half* of_a = ToDevice(a);
  half* of_b = ToDevice(b);
  float* of_d = ToDevice(std::vector<float>(kM * kN));
  Product<<<1, 128>>>(of_a, of_b, of_d);
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> d = ToHost(of_d, kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      float sum = 0;
      for (int k = 0; k < kK; ++k) {
        sum += __half2float(a[i * kK + k]) * __half2float(b[j * kK + k]);
      }
      EXPECT(d[i * kN + j] == sum);
    }
  }
  // Tensor memory is no shared memory of the program's.
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, Product));
  EXPECT(attributes.sharedSizeBytes < 48 * 1024);
  return Pass();
}
