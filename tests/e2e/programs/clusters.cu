// Thread block clusters of several blocks: their shared memory, barriers,
// copies and stores between blocks, and how launches name them.
//
// RUN: %check %s %t -gencode arch=compute_90,code=compute_90
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

// ---- Who is who -------------------------------------------------------------

struct Place {
  unsigned rank, blocks, x, y, z, thread, threads, value, of, explicitly;
  unsigned own, away, local;
};

__global__ void Places(Place* out) {
  __shared__ unsigned mine;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned block =
      (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0) mine = 100 + block;
  cluster.sync();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  unsigned* other = cluster.map_shared_rank(&mine, next);
  Place place = {cluster.block_rank(),
                 cluster.num_blocks(),
                 cluster.block_index().x,
                 cluster.block_index().y,
                 cluster.block_index().z,
                 cluster.thread_rank(),
                 cluster.num_threads(),
                 *other,
                 cluster.query_shared_rank(other)};
  asm("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}"
      : "=r"(place.explicitly));
  asm("{.reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p;}"
      : "=r"(place.own)
      : "l"(other));
  asm("{.reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p;}"
      : "=r"(place.away)
      : "l"(other));
  asm("{.reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p;}"
      : "=r"(place.local)
      : "l"(out));
  cluster.sync();  // nobody leaves while others read
  if (threadIdx.x == blockDim.x - 1) out[block] = place;
}

__global__ void __cluster_dims__(2, 1, 2) Fixed(Place* out) {
  __shared__ unsigned mine;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) mine = blockIdx.x + 10 * blockIdx.z;
  cluster.sync();
  const unsigned block =
      (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0) {
    out[block].rank = cluster.block_rank();
    out[block].blocks = cluster.num_blocks();
    out[block].value = *cluster.map_shared_rank(&mine, 3);
  }
  cluster.sync();
}

cudaLaunchConfig_t Config(dim3 grid, dim3 block, dim3 cluster,
                          cudaLaunchAttribute* attribute,
                          std::size_t shared = 0, cudaStream_t stream = 0) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim = {cluster.x, cluster.y, cluster.z};
  config.attrs = attribute;
  config.numAttrs = 1;
  return config;
}

void CheckPlaces(dim3 grid, dim3 cluster, unsigned threads) {
  const unsigned blocks = grid.x * grid.y * grid.z;
  Place* out = ToDevice(std::vector<Place>(blocks));
  cudaLaunchAttribute attribute;
  const auto config = Config(grid, threads, cluster, &attribute);
  CHECK(cudaLaunchKernelEx(&config, Places, out));
  const std::vector<Place> places = ToHost(out, blocks);
  const unsigned size = cluster.x * cluster.y * cluster.z;
  for (unsigned i = 0; i < blocks; ++i) {
    const unsigned at[3] = {i % grid.x, i / grid.x % grid.y,
                            i / grid.x / grid.y};
    const unsigned in[3] = {at[0] % cluster.x, at[1] % cluster.y,
                            at[2] % cluster.z};
    const Place& p = places[i];
    const unsigned rank = (in[2] * cluster.y + in[1]) * cluster.x + in[0];
    EXPECT(p.rank == rank && p.blocks == size);
    EXPECT(p.x == in[0] && p.y == in[1] && p.z == in[2]);
    EXPECT(p.threads == size * threads);
    EXPECT(p.thread == rank * threads + threads - 1);
    const unsigned next = (rank + 1) % size;
    const unsigned nx = at[0] - in[0] + next % cluster.x;
    const unsigned ny = at[1] - in[1] + next / cluster.x % cluster.y;
    const unsigned nz = at[2] - in[2] + next / cluster.x / cluster.y;
    EXPECT(p.value == 100 + (nz * grid.y + ny) * grid.x + nx);
    EXPECT(p.of == next && (p.explicitly == 1 || size == 1));
    EXPECT(p.own == (size == 1) && p.away == 1 && p.local == 0);
  }
  CHECK(cudaFree(out));
}

void CheckWho() {
  CheckPlaces({4, 1, 1}, {2, 1, 1}, 32);
  CheckPlaces({6, 4, 2}, {3, 2, 1}, 33);
  CheckPlaces({4, 4, 4}, {1, 4, 2}, 128);
  CheckPlaces({3, 1, 1}, {1, 1, 1}, 64);
  Place* out = ToDevice(std::vector<Place>(4 * 3 * 2));
  Fixed<<<dim3(4, 3, 2), 96>>>(out);
  CHECK(cudaGetLastError());
  const std::vector<Place> places = ToHost(out, 4 * 3 * 2);
  for (unsigned i = 0; i < places.size(); ++i) {
    const unsigned x = i % 4, z = i / 12;
    EXPECT(places[i].rank == z % 2 * 2 + x % 2 && places[i].blocks == 4);
    EXPECT(places[i].value == (x / 2 * 2 + 1) + 10 * (z / 2 * 2 + 1));
  }
}

// ---- Barriers ---------------------------------------------------------------

// Values travel around the cluster, a block further in each round. One barrier
// has work of others between arrival and wait.
__global__ void Ring(int* out, int rounds) {
  __shared__ int values[2][64];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
  values[0][threadIdx.x] = int(rank * 64 + threadIdx.x);
  int done = 0;
  for (int i = 0; i < rounds; ++i) {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    done += i;
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    const int* from =
        cluster.map_shared_rank(values[i % 2], (rank + blocks - 1) % blocks);
    values[1 - i % 2][threadIdx.x] = from[63 - threadIdx.x] + 1;
  }
  cluster.sync();
  out[(blockIdx.x * 64) + threadIdx.x] =
      values[rounds % 2][threadIdx.x] + done - rounds * (rounds - 1) / 2;
}

// Threads end at different times: the others' barriers do not wait for them.
__global__ void Leaving(int* out) {
  __shared__ int sum;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  if (threadIdx.x % 3 == 0 && rank != 0) return;
  atomicAdd(cluster.map_shared_rank(&sum, 0), 1);
  if (threadIdx.x % 3 == 1) {  // arrives, and ends
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    return;
  }
  cluster.sync();
  if (rank == 1 && threadIdx.x >= 32) return;
  cluster.sync();
  if (rank == 0 && threadIdx.x == 2)
    out[blockIdx.x / cluster.num_blocks()] = sum;
  if (rank == 0) cluster.sync();
}

void CheckBarriers() {
  constexpr int kRounds = 37;
  for (const int blocks : {2, 5, 8}) {
    int* out = ToDevice(std::vector<int>(blocks * 3 * 64));
    cudaLaunchAttribute attribute;
    const auto config = Config(blocks * 3, 64, blocks, &attribute);
    CHECK(cudaLaunchKernelEx(&config, Ring, out, kRounds));
    const std::vector<int> values = ToHost(out, blocks * 3 * 64);
    for (int i = 0; i < int(values.size()); ++i) {
      const int rank = i / 64 % blocks, thread = i % 64;
      const int from = (rank + blocks * kRounds - kRounds) % blocks;
      EXPECT(values[i] == from * 64 + 63 - thread + kRounds);
    }
  }
  int* out = ToDevice(std::vector<int>(6));
  for (int again = 0; again < 3; ++again) {
    cudaLaunchAttribute attribute;
    const auto config = Config(12, 96, 2, &attribute);
    CHECK(cudaLaunchKernelEx(&config, Leaving, out));
    for (const int sum : ToHost(out, 6)) EXPECT(sum == 96 + 64);
  }
}

// ---- Between blocks ---------------------------------------------------------

__device__ unsigned Shared(const void* at) {
  return unsigned(__cvta_generic_to_shared(at));
}
__device__ unsigned Of(unsigned rank, unsigned address) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(address), "r"(rank));
  return there;
}
__device__ void Wait(const uint64_t* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta"
        ".b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(Shared(barrier)), "r"(parity)
        : "memory");
  }
}

// Stores, arrivals, a reduction and a copy into the next block's memory, each
// waited for at its mbarrier.
__global__ void Neighbours(int* out) {
  __shared__ alignas(16) int stored[64], copied[64], from[64];
  __shared__ int added;
  __shared__ alignas(8) uint64_t full, arrived;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const int me = int(blockIdx.x);
  if (threadIdx.x == 0) {
    added = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(Shared(&full)));
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 64;" ::"r"(Shared(&arrived)));
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 516;" ::"r"(
            Shared(&full)));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  from[threadIdx.x] = me * 1000 + int(threadIdx.x);
  cluster.sync();
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], "
      "%1, [%2];" ::"r"(Of(next, Shared(&stored[threadIdx.x]))),
      "r"(me * 100 + int(threadIdx.x)), "r"(Of(next, Shared(&full)))
      : "memory");
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
          Of(next, Shared(&arrived)))
      : "memory");
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx"
        "::bytes [%0], [%1], 256, [%2];" ::"r"(Of(next, Shared(copied))),
        "r"(Shared(from)), "r"(Of(next, Shared(&full)))
        : "memory");
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx"
        "::bytes.add.u32 [%0], %1, [%2];" ::"r"(Of(next, Shared(&added))),
        "r"(me + 7), "r"(Of(next, Shared(&full)))
        : "memory");
  }
  Wait(&full, 0);
  Wait(&arrived, 0);
  out[blockIdx.x * 64 + threadIdx.x] =
      stored[threadIdx.x] + copied[threadIdx.x] + added;
  cluster.sync();
}

// One block copies a row of words to all blocks of a mask at once.
__global__ void Broadcast(const int* from, int* out, unsigned mask) {
  __shared__ alignas(128) int words[64];
  __shared__ alignas(8) uint64_t full;
  const cg::cluster_group cluster = cg::this_cluster();
  const bool takes = mask >> cluster.block_rank() & 1;
  words[threadIdx.x] = -1;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(Shared(&full)));
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(
            Shared(&full)));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  cluster.sync();
  if (cluster.block_rank() == 1 && threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1], 256, [%2], %3;" ::"r"(Shared(words)),
        "l"(from), "r"(Shared(&full)), "h"(static_cast<unsigned short>(mask))
        : "memory");
  }
  if (takes) Wait(&full, 0);
  cluster.sync();
  out[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x];
}

void CheckNeighbours() {
  int* out = ToDevice(std::vector<int>(8 * 64));
  cudaLaunchAttribute attribute;
  auto config = Config(8, 64, 4, &attribute);
  CHECK(cudaLaunchKernelEx(&config, Neighbours, out));
  std::vector<int> values = ToHost(out, 8 * 64);
  for (int i = 0; i < 8 * 64; ++i) {
    const int block = i / 64, t = i % 64;
    const int before = block / 4 * 4 + (block + 3) % 4;
    EXPECT(values[i] == before * 1100 + 2 * t + before + 7);
  }
  std::vector<int> row(64);
  for (int i = 0; i < 64; ++i) row[i] = 3 * i;
  const int* from = ToDevice(row);
  CHECK(cudaLaunchKernelEx(&config, Broadcast, from, out, 0b1011u));
  values = ToHost(out, 8 * 64);
  for (int i = 0; i < 8 * 64; ++i) {
    EXPECT(values[i] == (i / 64 % 4 == 2 ? -1 : 3 * (i % 64)));
  }
}

// ---- Launches ---------------------------------------------------------------

__global__ void Histogram(const int* values, int count, int* bins,
                          int of_block) {
  extern __shared__ int own[];
  const cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < of_block; i += blockDim.x) own[i] = 0;
  cluster.sync();
  for (int i = int(cg::this_grid().thread_rank()); i < count;
       i += int(gridDim.x * blockDim.x)) {
    atomicAdd(cluster.map_shared_rank(own, values[i] / of_block) +
                  values[i] % of_block,
              1);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < of_block; i += blockDim.x) {
    atomicAdd(&bins[cluster.block_rank() * of_block + i], own[i]);
  }
}
__global__ void NoClusters(int* out) { atomicAdd(out, 1); }

void CheckLaunches() {
  constexpr int kCount = 5000, kBins = 4096;
  std::vector<int> data(kCount);
  for (int i = 0; i < kCount; ++i) data[i] = i * 7919 % kBins;
  std::vector<int> expected(kBins);
  for (const int v : data) ++expected[v];
  const int* values = ToDevice(data);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (const int blocks : {1, 2, 8, 16}) {
    if (blocks > 8) {
      CHECK(cudaFuncSetAttribute(
          Histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    }
    int* bins = ToDevice(std::vector<int>(kBins));
    cudaLaunchAttribute attribute;
    const auto config = Config(16, 128, blocks, &attribute,
                               kBins / blocks * sizeof(int), stream);
    int most = 0, active = 0;
    CHECK(cudaOccupancyMaxPotentialClusterSize(&most, Histogram, &config));
    EXPECT(most == (blocks > 8 ? 16 : 8));
    CHECK(cudaOccupancyMaxActiveClusters(&active, Histogram, &config));
    EXPECT(active >= 1);
    CHECK(cudaLaunchKernelEx(&config, Histogram, values, kCount, bins,
                             kBins / blocks));
    EXPECT(ToHost(bins, kBins) == expected);
    // From a graph, twice.
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaLaunchKernelEx(&config, Histogram, values, kCount, bins,
                             kBins / blocks));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::vector<int> thrice = expected;
    for (int& bin : thrice) bin *= 3;
    EXPECT(ToHost(bins, kBins) == thrice);
  }

  // A node of a graph, whose clusters change.
  {
    int of_block = kBins / 8;
    int* bins = ToDevice(std::vector<int>(kBins));
    int count = kCount;
    void* params[] = {&values, &count, &bins, &of_block};
    cudaKernelNodeParams node_params = {};
    node_params.func = reinterpret_cast<void*>(Histogram);
    node_params.gridDim = 16;
    node_params.blockDim = 64;
    node_params.sharedMemBytes = of_block * sizeof(int);
    node_params.kernelParams = params;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &node_params));
    cudaKernelNodeAttrValue cluster = {};
    cluster.clusterDim = {5, 1, 1};
    EXPECT(cudaGraphKernelNodeSetAttribute(
               node, cudaKernelNodeAttributeClusterDimension, &cluster) ==
           cudaErrorInvalidClusterSize);
    cudaGetLastError();
    cluster.clusterDim = {8, 1, 1};
    CHECK(cudaGraphKernelNodeSetAttribute(
        node, cudaKernelNodeAttributeClusterDimension, &cluster));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(ToHost(bins, kBins) == expected);
  }

  cudaLaunchAttribute attribute;
  int* out = ToDevice(std::vector<int>{0});
  // A kernel that does not care.
  auto config = Config(8, 32, 4, &attribute);
  CHECK(cudaLaunchKernelEx(&config, NoClusters, out));
  EXPECT(ToHost(out, 1)[0] == 256);
  // What does not divide the grid, is too large, or not the kernel's own.
  config = Config(6, 32, 4, &attribute);
  EXPECT(cudaLaunchKernelEx(&config, NoClusters, out) ==
         cudaErrorInvalidClusterSize);
  config = Config(16, 32, 16, &attribute);
  EXPECT(cudaLaunchKernelEx(&config, NoClusters, out) ==
         cudaErrorInvalidClusterSize);
  EXPECT(cudaGetLastError() == cudaErrorInvalidClusterSize);
  Place* places = ToDevice(std::vector<Place>(64));
  config = Config(dim3(4, 1, 4), 32, dim3(4, 1, 1), &attribute);
  EXPECT(cudaLaunchKernelEx(&config, Fixed, places) ==
         cudaErrorInvalidClusterSize);
  Fixed<<<3, 32>>>(places);
  EXPECT(cudaGetLastError() == cudaErrorInvalidClusterSize);
  cudaFuncAttributes of_fixed;
  CHECK(cudaFuncGetAttributes(&of_fixed, Fixed));
  EXPECT(of_fixed.clusterDimMustBeSet == 1);
  EXPECT(of_fixed.requiredClusterWidth == 2 &&
         of_fixed.requiredClusterHeight == 1 &&
         of_fixed.requiredClusterDepth == 2);
}

int main() {
  CheckWho();
  CheckBarriers();
  CheckNeighbours();
  CheckLaunches();
  return Pass();
}
