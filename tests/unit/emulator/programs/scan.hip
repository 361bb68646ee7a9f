// Prefix sums: within a block, over three kernels, and in one kernel by
// decoupled look-back, which needs blocks to start in order and all resident
// ones to make progress.
#include "mini_hip.h"

constexpr int kBlock = 128;

__device__ int BlockScan(int value, int* shared) {
  unsigned t = ThreadX();
  shared[t] = value;
  SyncThreads();
  for (unsigned step = 1; step < kBlock; step *= 2) {
    int add = t >= step ? shared[t - step] : 0;
    SyncThreads();
    shared[t] += add;
    SyncThreads();
  }
  return shared[t];
}

__global__ void ScanBlocks(const int* in, int* out, int* sums, int n) {
  __shared__ int shared[kBlock];
  unsigned i = GlobalX();
  int value = BlockScan(i < (unsigned)n ? in[i] : 0, shared);
  if (i < (unsigned)n) out[i] = value;
  if (ThreadX() == kBlock - 1) sums[BlockX()] = value;
}

__global__ void AddSums(int* out, const int* sums, int n) {
  unsigned i = GlobalX();
  int before = 0;
  for (unsigned b = 0; b < BlockX(); ++b) before += sums[b];
  if (i < (unsigned)n) out[i] += before;
}

struct Tile {
  unsigned state;  // 0 nothing, 1 own sum, 2 sum of all up to here
  int own, all;
};

__global__ void ScanLookBack(const int* in, int* out, Tile* tiles,
                             unsigned* ticket, int n) {
  __shared__ int shared[kBlock];
  __shared__ unsigned tile_shared;
  __shared__ int before_shared;
  unsigned t = ThreadX();
  if (t == 0) tile_shared = AtomicAdd(ticket, 1u);
  SyncThreads();
  unsigned tile = tile_shared;
  unsigned i = tile * kBlock + t;
  int value = BlockScan(i < (unsigned)n ? in[i] : 0, shared);
  if (t == kBlock - 1) {
    tiles[tile].own = value;
    if (tile != 0) {
      __hip_atomic_store(&tiles[tile].state, 1u, __ATOMIC_RELEASE,
                         __HIP_MEMORY_SCOPE_AGENT);
    }
    int before = 0;
    for (int at = (int)tile - 1; at >= 0; --at) {
      unsigned state;
      do {
        state = __hip_atomic_load(&tiles[at].state, __ATOMIC_ACQUIRE,
                                  __HIP_MEMORY_SCOPE_AGENT);
      } while (state == 0);
      if (state == 2) {
        before += tiles[at].all;
        break;
      }
      before += tiles[at].own;
    }
    tiles[tile].all = before + value;
    __hip_atomic_store(&tiles[tile].state, 2u, __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_AGENT);
    before_shared = before;
  }
  SyncThreads();
  if (i < (unsigned)n) out[i] = value + before_shared;
}

int main() {
  // More blocks than two cores could keep running at once.
  const int all = 135000, all_blocks = (all + kBlock - 1) / kBlock;
  const int n = 20000, blocks = (n + kBlock - 1) / kBlock;
  Random random;
  std::vector<int> values(all), expected(all);
  int sum = 0;
  for (int i = 0; i < all; ++i) {
    values[i] = (int)(random.Next() % 100);
    expected[i] = sum += values[i];
  }
  Buffer<int> in(values), out(all), sums(blocks);
  ScanBlocks<<<blocks, kBlock>>>(in.data, out.data, sums.data, n);
  AddSums<<<blocks, kBlock>>>(out.data, sums.data, n);
  std::vector<int> got = out.Read();
  for (int i = 0; i < n; ++i) {
    EXPECT(got[i] == expected[i], "at %d: %d, host %d", i, got[i],
           expected[i]);
  }
  Buffer<Tile> tiles(all_blocks);
  Buffer<unsigned> ticket(1);
  CHECK_HIP(hipMemset(tiles.data, 0, all_blocks * sizeof(Tile)));
  CHECK_HIP(hipMemset(ticket.data, 0, 4));
  CHECK_HIP(hipMemset(out.data, 0, all * 4));
  ScanLookBack<<<all_blocks, kBlock>>>(in.data, out.data, tiles.data,
                                       ticket.data, all);
  got = out.Read();
  for (int i = 0; i < all; ++i) {
    EXPECT(got[i] == expected[i], "look-back at %d: %d, host %d", i, got[i],
           expected[i]);
  }
  return Pass();
}
