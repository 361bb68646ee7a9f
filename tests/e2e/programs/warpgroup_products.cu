// A product of matrices as programs for compute capability 9.0 write it: a warp
// copies tiles by tensor map into a ring in shared memory, for both blocks of a
// cluster at once, and two warpgroups multiply them with wgmma.
//
// RUN: env RUN_ENV=CERBERUS_CC=9.0 %check %s %t -gencode arch=compute_90a,code=compute_90a
#include <cuda_bf16.h>

#include "program.h"

constexpr int kM = 256, kN = 128, kK = 320;        // the matrices
constexpr int kTileM = 128, kTileN = 64, kTileK = 64;  // a block's tiles
constexpr int kStages = 3;
constexpr int kBytesOfA = kTileM * kTileK * 2, kBytesOfB = kTileN * kTileK * 2;

__device__ unsigned Shared(const void* at) {
  return unsigned(__cvta_generic_to_shared(at));
}
__device__ void Init(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier),
               "r"(count));
}
__device__ void Wait(unsigned barrier, int parity) {
  asm volatile(
      "{.reg .pred p;\nWAIT:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra WAIT;}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ unsigned Of(unsigned block, unsigned address) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(address), "r"(block));
  return there;
}
// Lines of 128 bytes, swizzled.
__device__ uint64_t Descriptor(unsigned address) {
  return uint64_t(1) << 62 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 16 |
         (address & 0x3ffff) >> 4;
}

template <int kNegate>
__device__ void Multiply(float (&d)[32], uint64_t a, uint64_t b, int adds) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
      "%30, %31}, %32, %33, p, %35, 1, 0, 0;}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]),
        "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
        "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]),
        "+f"(d[31])
      : "l"(a), "l"(b), "r"(adds), "n"(kNegate));
}

struct Ring {
  alignas(1024) unsigned char a[kStages][kBytesOfA];
  alignas(1024) unsigned char b[kStages][kBytesOfB];
  alignas(8) uint64_t full[kStages], empty[kStages];
};

// The cluster's two blocks have the same rows of A, of which each copies half
// for both, and different columns of B.
__global__ void __cluster_dims__(1, 2, 1) __launch_bounds__(384)
    Product(const __grid_constant__ CUtensorMap a,
            const __grid_constant__ CUtensorMap b, float* out) {
  extern __shared__ unsigned char memory[];
  Ring& ring = *reinterpret_cast<Ring*>(
      memory + (1024 - Shared(memory) % 1024) % 1024);
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      Init(Shared(&ring.full[s]), 1);
      Init(Shared(&ring.empty[s]), 4);  // two groups in each of two blocks
    }
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
  const int row = blockIdx.x * kTileM, column = blockIdx.y * kTileN;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      for (int i = 0; i < kK / kTileK; ++i) {
        const int s = i % kStages;
        const unsigned full = Shared(&ring.full[s]);
        Wait(Shared(&ring.empty[s]), (i / kStages + 1) % 2);
        asm volatile(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                full),
            "r"(kBytesOfA + kBytesOfB)
            : "memory");
        const int half = int(rank) * kTileM / 2;
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
            "::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
            "[%4], %5;" ::"r"(Shared(ring.a[s] + half * kTileK * 2)),
            "l"(&a), "r"(i * kTileK), "r"(row + half), "r"(full),
            "h"((unsigned short)3)
            : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
            "::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                Shared(ring.b[s])),
            "l"(&b), "r"(i * kTileK), "r"(column), "r"(full)
            : "memory");
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[32];
    for (int i = 0; i < kK / kTileK; ++i) {
      const int s = i % kStages;
      Wait(Shared(&ring.full[s]), i / kStages % 2);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      const uint64_t at_a =
          Descriptor(Shared(ring.a[s]) + (group - 1) * 64 * kTileK * 2);
      const uint64_t at_b = Descriptor(Shared(ring.b[s]));
      for (int k = 0; k < kTileK / 16; ++k) {
        // 32 bytes further along the lines.
        Multiply<1>(d, at_a + 2 * k, at_b + 2 * k, i + k != 0);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (threadIdx.x % 128 < 2) {
        asm volatile(
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                Of(threadIdx.x % 128, Shared(&ring.empty[s])))
            : "memory");
      }
    }
    const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    for (int i = 0; i < 32; ++i) {
      const int r = (group - 1) * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
      const int c = i / 4 * 8 + lane % 4 * 2 + i % 2;
      out[(row + r) * kN + column + c] = d[i];
    }
  }
  // Nobody's memory goes while others copy to it or arrive there.
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
}

CUtensorMap MapOf(__nv_bfloat16* matrix, int rows, int box_rows) {
  CUtensorMap map;
  const cuuint64_t sizes[2] = {kK, cuuint64_t(rows)};
  const cuuint64_t strides[1] = {kK * 2};
  const cuuint32_t box[2] = {kTileK, cuuint32_t(box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  CHECK_DRIVER(cuTensorMapEncodeTiled(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, matrix, sizes, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

int main() {
  std::vector<__nv_bfloat16> a(kM * kK), b(kN * kK);
  const auto value = [](int i, int k) {
    return float((i * 7 + k * 13) % 17 - 8) / 4;
  };
  for (int i = 0; i < kM; ++i) {
    for (int k = 0; k < kK; ++k) a[i * kK + k] = __float2bfloat16(value(i, k));
  }
  for (int i = 0; i < kN; ++i) {
    for (int k = 0; k < kK; ++k) {
      b[i * kK + k] = __float2bfloat16(value(i + 5, 3 * k));
    }
  }
  const CUtensorMap map_a = MapOf(ToDevice(a), kM, kTileM / 2);
  const CUtensorMap map_b = MapOf(ToDevice(b), kN, kTileN);
  float* out = ToDevice(std::vector<float>(kM * kN, -1));
  const int bytes = sizeof(Ring) + 1024;
  CHECK(cudaFuncSetAttribute(Product,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             bytes));
  Product<<<dim3(kM / kTileM, kN / kTileN), 384, bytes>>>(map_a, map_b, out);
  CHECK(cudaGetLastError());
  const std::vector<float> d = ToHost(out, kM * kN);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      float want = 0;  // exact: all values are multiples of 1/16
      for (int k = 0; k < kK; ++k) want += value(i, k) * value(j + 5, 3 * k);
      EXPECT(d[i * kN + j] == want);
    }
  }
  return Pass();
}
