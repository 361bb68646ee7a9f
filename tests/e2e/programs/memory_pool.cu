// Stream-ordered memory: pools, their attributes and limits.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Set(int* p, int value) { p[threadIdx.x] = value; }

int main() {
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported,
                               0));
  EXPECT(supported == 1);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int* p = nullptr;
  CHECK(cudaMallocAsync(&p, 64 * sizeof(int), stream));
  Set<<<1, 64, 0, stream>>>(p, 5);
  std::vector<int> out(64);
  CHECK(cudaMemcpyAsync(out.data(), p, 256, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeAsync(p, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (const int v : out) EXPECT(v == 5);

  cudaMemPool_t pool, current;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaDeviceGetMemPool(&current, 0));
  EXPECT(pool == current);
  std::uint64_t threshold = 1 << 20, read = 0;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold,
                                &threshold));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold,
                                &read));
  EXPECT(read == threshold);
  CHECK(cudaMemPoolTrimTo(pool, 0));

  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t own;
  CHECK(cudaMemPoolCreate(&own, &props));
  CHECK(cudaMallocFromPoolAsync(&p, 4096, own, stream));
  CHECK(cudaMemsetAsync(p, 1, 4096, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &read));
  EXPECT(read >= 4096);
  CHECK(cudaFreeAsync(p, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolDestroy(own));
  CHECK(cudaStreamDestroy(stream));
  return Pass();
}
