// Copies that an mbarrier, a group or nobody waits for; matrices moved between
// lanes; the only block of a cluster.
//
// RUN: %check %s %t -gencode arch=compute_90,code=compute_90
#include "program.h"

__device__ unsigned Shared(const void* at) {
  return unsigned(__cvta_generic_to_shared(at));
}

__device__ void Wait(const uint64_t* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, "
        "%3; selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(Shared(barrier)), "r"(parity), "r"(1000)
        : "memory");
  }
}

constexpr int kWords = 256, kRounds = 3;

// In each round a tile comes by cp.async.bulk, is changed by all threads, and
// leaves by a copy and by two reductions.
__global__ void Bulk(const int* from, int* out, int* sum, unsigned* largest) {
  __shared__ alignas(128) int tile[kWords];
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(Shared(&full)));
    asm volatile(
        "fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;");
  }
  __syncthreads();
  for (int round = 0; round < kRounds; ++round) {
    if (threadIdx.x == 0) {
      asm volatile(
          "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
              Shared(&full)),
          "r"(4 * kWords)
          : "memory");
      for (int half = 0; half < 2; ++half) {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            "[%0], [%1], %2, [%3];" ::"r"(Shared(tile + half * kWords / 2)),
            "l"(from + round * kWords + half * kWords / 2), "r"(2 * kWords),
            "r"(Shared(&full))
            : "memory");
      }
    }
    Wait(&full, round & 1);
    for (int i = threadIdx.x; i < kWords; i += blockDim.x) tile[i] += round + 1;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile(
          "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
              out + round * kWords),
          "r"(Shared(tile)), "r"(4 * kWords)
          : "memory");
      asm volatile(
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], "
          "[%1], %2;" ::"l"(sum),
          "r"(Shared(tile)), "r"(4 * kWords)
          : "memory");
      asm volatile(
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], "
          "[%1], %2;" ::"l"(largest),
          "r"(Shared(tile)), "r"(4 * kWords)
          : "memory");
      asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::
                       : "memory");
    }
    __syncthreads();
  }
}

// cp.async of whole and part sizes: what is not copied becomes zero.
__global__ void Parts(const char* from, char* out) {
  __shared__ alignas(16) char bytes[64 * 24];
  const int t = threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(
                   Shared(bytes + 8 * t)),
               "l"(from + 8 * t), "r"(t % 9));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   Shared(bytes + 512 + 16 * t)),
               "l"(from + 16 * t), "r"(t % 17));
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int i = t; i < 64 * 24; i += blockDim.x) out[i] = bytes[i];
}

__global__ void Matrices(unsigned* out) {
  __shared__ alignas(16) unsigned short rows[16 * 8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 128; i += 32) rows[i] = i;
  __syncwarp();
  unsigned plain, turned, moved;
  const unsigned at = Shared(rows + lane % 8 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(plain)
               : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(turned)
               : "r"(at));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
               : "=r"(moved)
               : "r"(plain));
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(
          Shared(rows + 64 + lane % 8 * 8)),
      "r"(plain)
      : "memory");
  __syncwarp();
  out[lane] = plain;
  out[32 + lane] = turned;
  out[64 + lane] = moved;
  out[96 + lane] = rows[64 + lane] | unsigned(rows[96 + lane]) << 16;
}

__global__ void __cluster_dims__(1, 1, 1) Cluster(unsigned* out) {
  __shared__ alignas(16) unsigned words[64];
  __shared__ alignas(8) uint64_t barrier;
  const int t = threadIdx.x;
  if (t == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(Shared(&barrier)));
  words[t] = t;
  asm volatile(
      "barrier.cluster.arrive.release.aligned; "
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
  unsigned remote, value, rank;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;"
               : "=r"(remote)
               : "r"(Shared(words + 63 - t)));
  asm volatile("ld.shared::cluster.u32 %0, [%1];"
               : "=r"(value)
               : "r"(remote)
               : "memory");
  asm volatile("getctarank.shared::cluster.u32 %0, %1;"
               : "=r"(rank)
               : "r"(remote));
  out[t] = value + 1000 * rank;
  __syncthreads();
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;"
               : "=r"(remote)
               : "r"(Shared(&barrier)));
  if (t == 0)
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(
            Shared(&barrier))
        : "memory");
  if (t < 16) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
        "[%0], {%1, %1, %1, %1}, [%2];" ::"r"(Shared(words + 4 * t)),
        "r"(t + 100), "r"(remote)
        : "memory");
  }
  Wait(&barrier, 0);
  out[64 + t] = words[t];
}

int main() {
  std::vector<int> input(kRounds * kWords);
  for (int i = 0; i < kRounds * kWords; ++i) input[i] = 7 * i - 900;
  int* from = ToDevice(input);
  int* out = ToDevice(std::vector<int>(kRounds * kWords));
  int* sum = ToDevice(std::vector<int>(kWords));
  unsigned* largest = ToDevice(std::vector<unsigned>(kWords));
  Bulk<<<1, 64>>>(from, out, sum, largest);
  const auto copied = ToHost(out, kRounds * kWords);
  const auto sums = ToHost(sum, kWords);
  const auto largests = ToHost(largest, kWords);
  for (int i = 0; i < kWords; ++i) {
    int want_sum = 0;
    unsigned want_largest = 0;
    for (int round = 0; round < kRounds; ++round) {
      const int want = input[round * kWords + i] + round + 1;
      EXPECT(copied[round * kWords + i] == want);
      want_sum += want;
      if (unsigned(want) > want_largest) want_largest = want;
    }
    EXPECT(sums[i] == want_sum && largests[i] == want_largest);
  }

  char* parts = ToDevice(std::vector<char>(64 * 24));
  Parts<<<1, 64>>>(reinterpret_cast<char*>(from), parts);
  const auto bytes = ToHost(parts, 64 * 24);
  const char* source = reinterpret_cast<const char*>(input.data());
  for (int t = 0; t < 64; ++t) {
    for (int k = 0; k < 8; ++k)
      EXPECT(bytes[8 * t + k] == (k < t % 9 ? source[8 * t + k] : 0));
    for (int k = 0; k < 16; ++k)
      EXPECT(bytes[512 + 16 * t + k] == (k < t % 17 ? source[16 * t + k] : 0));
  }

  unsigned* words = ToDevice(std::vector<unsigned>(128));
  Matrices<<<1, 32>>>(words);
  const auto matrices = ToHost(words, 128);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned row = lane / 4, column = lane % 4 * 2;
    EXPECT(matrices[lane] == (8 * row + column | (8 * row + column + 1) << 16));
    const unsigned turned = (8 * column + row) | (8 * (column + 1) + row) << 16;
    EXPECT(matrices[32 + lane] == turned && matrices[64 + lane] == turned);
    const auto stored = [](unsigned i) { return i % 8 * 8 + i / 8; };
    EXPECT(matrices[96 + lane] == (stored(lane) | stored(lane + 32) << 16));
  }

  Cluster<<<2, 64>>>(words);
  const auto cluster = ToHost(words, 128);
  for (unsigned t = 0; t < 64; ++t) {
    EXPECT(cluster[t] == 63 - t && cluster[64 + t] == t / 4 + 100);
  }
  return Pass();
}
