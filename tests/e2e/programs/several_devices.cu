// Two GPUs: the current device, copies between them, peer access.
//
// RUN: env DEVICES=gfx1100,gfx942 %check %s %t
#include "program.h"

__global__ void Add(int* p, int by) { p[threadIdx.x] += by; }

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count == 2);
  int* p[2];
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    p[d] = ToDevice(std::vector<int>(64, 10 * (d + 1)));
    Add<<<1, 64>>>(p[d], d + 1);
    CHECK(cudaDeviceSynchronize());
    cudaPointerAttributes a;
    CHECK(cudaPointerGetAttributes(&a, p[d]));
    EXPECT(a.device == d && a.type == cudaMemoryTypeDevice);
  }
  CHECK(cudaMemcpyPeer(p[0], 0, p[1], 1, 128));
  CHECK(cudaSetDevice(0));
  const std::vector<int> mixed = ToHost(p[0], 64);
  EXPECT(mixed[0] == 22 && mixed[31] == 22 && mixed[32] == 11);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  Add<<<1, 64, 0, stream>>>(p[0], 5);
  CHECK(cudaMemcpyPeerAsync(p[1], 1, p[0], 0, 256, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaSetDevice(1));
  EXPECT(ToHost(p[1], 64)[0] == 27 && ToHost(p[1], 64)[63] == 16);
  // Into the stream of a device that is not current go copies, but no kernels
  // and no events of other devices.
  Add<<<1, 64, 0, stream>>>(p[1], 5);
  EXPECT(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaMemcpyAsync(p[1], p[1] + 1, 4, cudaMemcpyDefault, stream));
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  EXPECT(cudaEventRecord(event, stream) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(ToHost(p[1], 64)[0] == 27);

  int can = -1;
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
  CHECK(cudaSetDevice(0));
  if (can != 0) {
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(cudaDeviceEnablePeerAccess(1, 0) ==
           cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
    Add<<<1, 64>>>(p[1], 100);  // the other one's memory
    CHECK(cudaDeviceSynchronize());
    EXPECT(ToHost(p[1], 1)[0] == 127);
    CHECK(cudaDeviceDisablePeerAccess(1));
  }
  EXPECT(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
  int device = -1;
  CHECK(cudaGetDevice(&device));
  EXPECT(device == 0);
  return Pass();
}
