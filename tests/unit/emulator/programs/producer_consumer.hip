// One wave fills a ring in LDS while another drains it; they wait for each
// other by spinning, so the emulator must let both make progress.
#include "mini_hip.h"

constexpr unsigned kRing = 4, kItems = 100;

__global__ void Kernel(unsigned* out) {
  __shared__ unsigned ring[kRing][64];
  __shared__ unsigned head, tail;  // items filled, items drained
  unsigned wave = WaveSize(), lane = ThreadX() % wave;
  if (ThreadX() == 0) head = tail = 0;
  SyncThreads();
  const bool producer = ThreadX() < wave;
  for (unsigned i = 0; i < kItems; ++i) {
    if (producer) {
      while (i - __hip_atomic_load(&tail, __ATOMIC_ACQUIRE,
                                   __HIP_MEMORY_SCOPE_WORKGROUP) >= kRing) {
        __builtin_amdgcn_s_sleep(1);
      }
      ring[i % kRing][lane] = i * 1000 + lane + BlockX();
    } else {
      while (__hip_atomic_load(&head, __ATOMIC_ACQUIRE,
                               __HIP_MEMORY_SCOPE_WORKGROUP) <= i) {
        __builtin_amdgcn_s_sleep(1);
      }
      out[(BlockX() * kItems + i) * wave + lane] = ring[i % kRing][lane];
    }
    // All lanes of the wave are behind their access before one tells.
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_wave_barrier();
    if (lane == 0) {
      __hip_atomic_fetch_add(producer ? &head : &tail, 1u, __ATOMIC_RELEASE,
                             __HIP_MEMORY_SCOPE_WORKGROUP);
    }
  }
}

__global__ void Size(unsigned* out) { *out = WaveSize(); }

int main() {
  const unsigned blocks = 3;
  Buffer<unsigned> size(1);
  Size<<<1, 1>>>(size.data);
  const unsigned wave = size.Read()[0];
  Buffer<unsigned> out(blocks * kItems * wave);
  Kernel<<<blocks, 2 * wave>>>(out.data);
  std::vector<unsigned> got = out.Read();
  for (unsigned b = 0; b < blocks; ++b) {
    for (unsigned i = 0; i < kItems; ++i) {
      for (unsigned lane = 0; lane < wave; ++lane) {
        unsigned v = got[(b * kItems + i) * wave + lane];
        EXPECT(v == i * 1000 + lane + b, "block %u item %u lane %u: %u", b, i,
               lane, v);
      }
    }
  }
  return Pass();
}
