// 256 bins: private LDS histograms, merged by global atomics.
#include "mini_hip.h"

__global__ void Histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  for (unsigned i = ThreadX(); i < 256; i += BlockDimX()) local[i] = 0;
  SyncThreads();
  for (unsigned i = GlobalX(); i < (unsigned)n;
       i += BlockDimX() * GridDimX()) {
    __hip_atomic_fetch_add(&local[in[i]], 1u, __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  SyncThreads();
  for (unsigned i = ThreadX(); i < 256; i += BlockDimX()) {
    if (local[i] != 0) AtomicAdd(&bins[i], local[i]);
  }
}

int main() {
  const int n = 50000;
  Random random;
  std::vector<unsigned char> values(n);
  std::vector<unsigned> expected(256, 0);
  for (unsigned char& v : values) {
    v = (unsigned char)(random.Next() % 16 * (random.Next() % 16));
    ++expected[v];
  }
  Buffer<unsigned char> in(values);
  Buffer<unsigned> bins(std::vector<unsigned>(256, 0));
  Histogram<<<9, 192>>>(in.data, bins.data, n);
  std::vector<unsigned> got = bins.Read();
  for (int i = 0; i < 256; ++i) {
    EXPECT(got[i] == expected[i], "bin %d: %u, host %u", i, got[i],
           expected[i]);
  }
  return Pass();
}
