// GPUs of different targets at work together: each has its own copy of a
// module's variables, its streams wait for the other's events, threads use one
// each, and a graph runs where it was made.
//
// RUN: env DEVICES=gfx1100,gfx942 %check %s %t
#include <atomic>
#include <thread>

#include "program.h"

constexpr int kDevices = 2;
constexpr int kSize = 256;

__device__ int g_scale = 3;
__constant__ int c_offset = 7;
__device__ int g_sum;
__managed__ int g_total = 5;
__managed__ int g_turns[2] = {1, 2};

__global__ void Fill(int* p) {
  p[threadIdx.x] = g_scale * static_cast<int>(threadIdx.x) + c_offset;
}
__global__ void Add(int* p, const int* by) {
  p[threadIdx.x] += by[threadIdx.x];
}
__global__ void AddToManaged(int by) {
  atomicAdd(&g_total, by);
  if (threadIdx.x < 2) g_turns[threadIdx.x] *= 2;
}
__global__ void Sum(const int* p) {
  int value = p[threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffff, value, offset);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(&g_sum, value);
}

// Variables of the same module are others on each device.
void VariablesAreEachDevices(int* const (&p)[kDevices]) {
  for (int d = 0; d < kDevices; ++d) {
    CHECK(cudaSetDevice(d));
    const int scale = 10 * (d + 1), offset = d;
    CHECK(cudaMemcpyToSymbol(g_scale, &scale, sizeof scale));
    if (d == 1) CHECK(cudaMemcpyToSymbol(c_offset, &offset, sizeof offset));
  }
  void* addresses[kDevices];
  for (int d = 0; d < kDevices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaGetSymbolAddress(&addresses[d], g_scale));
    Fill<<<1, kSize>>>(p[d]);
    const std::vector<int> values = ToHost(p[d], kSize);
    for (int i = 0; i < kSize; ++i) {
      EXPECT(values[i] == (d == 0 ? 10 * i + 7 : 20 * i + 1));
    }
  }
  EXPECT(addresses[0] != addresses[1]);
}

// All but managed ones, of which there is one for all, and for the host.
void ManagedVariablesAreShared() {
  for (int turn = 0; turn < 4; ++turn) {
    const int device = turn % kDevices;
    CHECK(cudaSetDevice(device));
    AddToManaged<<<1, 8>>>(turn);
    CHECK(cudaDeviceSynchronize());
    EXPECT(g_turns[0] == 2 << turn && g_turns[1] == 4 << turn);
    g_total += 100;
  }
  EXPECT(g_total == 5 + 8 * (0 + 1 + 2 + 3) + 400);
  void* addresses[kDevices];
  for (int d = 0; d < kDevices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaGetSymbolAddress(&addresses[d], g_total));
    int total = 0;
    CHECK(cudaMemcpyFromSymbol(&total, g_total, sizeof total));
    EXPECT(total == g_total);
  }
  EXPECT(addresses[0] == &g_total && addresses[1] == &g_total);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, &g_turns[1]));
  EXPECT(attributes.type == cudaMemoryTypeManaged);
}

// A chain through both devices, ordered by events alone.
void StreamsWaitForEachOther(int* const (&p)[kDevices]) {
  cudaStream_t stream[kDevices];
  cudaEvent_t done[kDevices];
  int* other[kDevices];
  for (int d = 0; d < kDevices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done[d], cudaEventDisableTiming));
    CHECK(cudaMalloc(&other[d], kSize * sizeof(int)));
    CHECK(cudaMemsetAsync(p[d], 0, kSize * sizeof(int), stream[d]));
  }
  const std::vector<int> ones(kSize, 1);
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemcpyAsync(p[0], ones.data(), kSize * sizeof(int),
                        cudaMemcpyHostToDevice, stream[0]));
  CHECK(cudaEventRecord(done[0], stream[0]));
  // Doubled at each turn.
  int value = 1;
  for (int turn = 0; turn < 6; ++turn, value *= 2) {
    const int from = turn % 2, to = 1 - from;
    CHECK(cudaSetDevice(to));
    CHECK(cudaStreamWaitEvent(stream[to], done[from], 0));
    CHECK(cudaMemcpyPeerAsync(other[to], to, p[from], from, kSize * sizeof(int),
                              stream[to]));
    CHECK(cudaMemcpyAsync(p[to], other[to], kSize * sizeof(int),
                          cudaMemcpyDeviceToDevice, stream[to]));
    Add<<<1, kSize, 0, stream[to]>>>(p[to], other[to]);
    CHECK(cudaEventRecord(done[to], stream[to]));
  }
  CHECK(cudaEventSynchronize(done[0]));
  CHECK(cudaSetDevice(0));
  for (int v : ToHost(p[0], kSize)) EXPECT(v == value);
  // Only events of one device can be compared; a stream keeps its device.
  CHECK(cudaSetDevice(1));
  int device = -1;
  CHECK(cudaStreamGetDevice(stream[0], &device));
  EXPECT(device == 0);
  for (int d = 0; d < kDevices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaStreamDestroy(stream[d]));
    CHECK(cudaEventDestroy(done[d]));
    CHECK(cudaFree(other[d]));
  }
}

void ThreadsHaveTheirDevice() {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([t, &good] {
      const int d = t % kDevices;
      CHECK(cudaSetDevice(d));
      int* p = ToDevice(std::vector<int>(kSize, t));
      int* by = ToDevice(std::vector<int>(kSize, 100));
      for (int i = 0; i < 5; ++i) {
        Add<<<1, kSize, 0, cudaStreamPerThread>>>(p, by);
      }
      CHECK(cudaStreamSynchronize(cudaStreamPerThread));
      int device = -1;
      CHECK(cudaGetDevice(&device));
      if (device == d && ToHost(p, kSize)[kSize - 1] == t + 500) ++good;
      CHECK(cudaFree(p));
      CHECK(cudaFree(by));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(good == 6);
}

void GraphsStayOnTheirDevice(int* const (&p)[kDevices]) {
  cudaGraphExec_t exec[kDevices];
  for (int d = 0; d < kDevices; ++d) {
    CHECK(cudaSetDevice(d));
    const int zero = 0;
    CHECK(cudaMemcpyToSymbol(g_sum, &zero, sizeof zero));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    Fill<<<1, kSize, 0, stream>>>(p[d]);
    Sum<<<1, kSize, 0, stream>>>(p[d]);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec[d], graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
  }
  for (int d = kDevices; d-- > 0;) {
    CHECK(cudaSetDevice(d));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaGraphLaunch(exec[d], stream));
    CHECK(cudaGraphLaunch(exec[d], stream));
    CHECK(cudaStreamSynchronize(stream));
    int sum = 0;
    CHECK(cudaMemcpyFromSymbol(&sum, g_sum, sizeof sum));
    const int once =
        (d == 0 ? 10 : 20) * kSize * (kSize - 1) / 2 + (d == 0 ? 7 : 1) * kSize;
    EXPECT(sum == 2 * once);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaGraphExecDestroy(exec[d]));
  }
}

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count == kDevices);
  int* p[kDevices];
  for (int d = 0; d < kDevices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaMalloc(&p[d], kSize * sizeof(int)));
  }
  VariablesAreEachDevices(p);
  ManagedVariablesAreShared();
  StreamsWaitForEachOther(p);
  ThreadsHaveTheirDevice();
  GraphsStayOnTheirDevice(p);
  // What one device loses the other keeps.
  CHECK(cudaSetDevice(1));
  CHECK(cudaDeviceReset());
  CHECK(cudaSetDevice(0));
  Fill<<<1, kSize>>>(p[0]);
  EXPECT(ToHost(p[0], kSize)[1] == 17);
  CHECK(cudaSetDevice(1));
  int* again = ToDevice(std::vector<int>(kSize, 0));
  Fill<<<1, kSize>>>(again);
  EXPECT(ToHost(again, kSize)[1] == 10);  // 3 + 7: as it was loaded
  return Pass();
}
