// Order within and between streams, events, pinned memory.
#include "mini_hip.h"

__global__ void Step(int* data, int n, int factor, int add) {
  unsigned i = GlobalX();
  if (i < (unsigned)n) data[i] = data[i] * factor + add;
}

int main() {
  const int n = 4000;
  int* host = nullptr;
  CHECK_HIP(hipHostMalloc((void**)&host, n * 4, 0));
  for (int i = 0; i < n; ++i) host[i] = i;
  Buffer<int> a(n), b(n);
  hipStream_t s1, s2;
  CHECK_HIP(hipStreamCreate(&s1));
  CHECK_HIP(hipStreamCreateWithFlags(&s2, 1));
  hipEvent_t ready, start, stop;
  CHECK_HIP(hipEventCreate(&ready));
  CHECK_HIP(hipEventCreate(&start));
  CHECK_HIP(hipEventCreate(&stop));

  CHECK_HIP(hipEventRecord(start, s1));
  CHECK_HIP(hipMemcpyAsync(a.data, host, n * 4, hipMemcpyHostToDevice, s1));
  for (int k = 0; k < 10; ++k) {
    Step<<<(n + 127) / 128, 128, 0, s1>>>(a.data, n, 3, k);
  }
  CHECK_HIP(hipEventRecord(ready, s1));
  CHECK_HIP(hipStreamWaitEvent(s2, ready, 0));
  CHECK_HIP(hipMemcpyAsync(b.data, a.data, n * 4, hipMemcpyDeviceToDevice,
                           s2));
  Step<<<(n + 127) / 128, 128, 0, s2>>>(b.data, n, 1, 1000);
  CHECK_HIP(hipMemcpyAsync(host, b.data, n * 4, hipMemcpyDeviceToHost, s2));
  CHECK_HIP(hipStreamSynchronize(s2));
  CHECK_HIP(hipEventRecord(stop, s1));
  CHECK_HIP(hipEventSynchronize(stop));
  float ms = -1;
  CHECK_HIP(hipEventElapsedTime(&ms, start, stop));
  EXPECT(ms >= 0 && ms < 600000, "elapsed %g ms", ms);
  for (int i = 0; i < n; ++i) {
    int v = i;
    for (int k = 0; k < 10; ++k) v = v * 3 + k;
    EXPECT(host[i] == v + 1000, "at %d: %d, host %d", i, host[i], v + 1000);
  }
  // The legacy stream waits for blocking streams, without an event.
  for (int k = 0; k < 5; ++k) {
    Step<<<(n + 127) / 128, 128, 0, s1>>>(a.data, n, 1, 1);
  }
  Step<<<(n + 127) / 128, 128>>>(a.data, n, 2, 0);
  std::vector<int> got = a.Read();
  for (int i = 0; i < n; ++i) {
    int v = i;
    for (int k = 0; k < 10; ++k) v = v * 3 + k;
    EXPECT(got[i] == (v + 5) * 2, "legacy order at %d", i);
  }
  CHECK_HIP(hipStreamDestroy(s1));
  CHECK_HIP(hipStreamDestroy(s2));
  CHECK_HIP(hipEventDestroy(ready));
  CHECK_HIP(hipEventDestroy(start));
  CHECK_HIP(hipEventDestroy(stop));
  CHECK_HIP(hipHostFree(host));
  return Pass();
}
