// Sums by LDS trees, by wave shuffles, and by atomics.
#include "mini_hip.h"

__global__ void SumTree(const int* in, int* out, int n) {
  __shared__ int part[256];
  unsigned t = ThreadX(), i = GlobalX();
  part[t] = i < (unsigned)n ? in[i] : 0;
  SyncThreads();
  for (unsigned step = BlockDimX() / 2; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    SyncThreads();
  }
  if (t == 0) AtomicAdd(out, part[0]);
}

__device__ int WaveSum(int value) {
  for (unsigned step = WaveSize() / 2; step > 0; step /= 2) {
    value += Shuffle(value, LaneId() ^ step);
  }
  return value;
}

__global__ void SumShuffle(const int* in, int* out, int n) {
  __shared__ int waves[32];
  unsigned t = ThreadX(), wave = t / WaveSize();
  int sum = 0;
  for (unsigned i = GlobalX(); i < (unsigned)n;
       i += BlockDimX() * GridDimX()) {
    sum += in[i];
  }
  sum = WaveSum(sum);
  if (LaneId() == 0) waves[wave] = sum;
  SyncThreads();
  if (t == 0) {
    int all = 0;
    for (unsigned w = 0; w < BlockDimX() / WaveSize(); ++w) all += waves[w];
    AtomicAdd(out, all);
  }
}

__global__ void MaxFloat(const float* in, float* out, int n) {
  __shared__ float part[128];
  unsigned t = ThreadX();
  float best = -__builtin_inff();
  for (int i = t; i < n; i += BlockDimX()) best = __builtin_fmaxf(best, in[i]);
  part[t] = best;
  SyncThreads();
  for (unsigned step = 64; step > 0; step /= 2) {
    if (t < step) part[t] = __builtin_fmaxf(part[t], part[t + step]);
    SyncThreads();
  }
  if (t == 0) *out = part[0];
}

int main() {
  const int n = 12345;
  Random random;
  std::vector<int> values(n);
  std::vector<float> floats(n);
  int sum = 0;
  float best = -1e30f;
  for (int i = 0; i < n; ++i) {
    values[i] = (int)(random.Next() % 2001) - 1000;
    sum += values[i];
    floats[i] = random.Unit() * 1000 - 500;
    best = floats[i] > best ? floats[i] : best;
  }
  Buffer<int> in(values), out(std::vector<int>(2, 0));
  Buffer<float> fin(floats), fout(1);
  SumTree<<<(n + 255) / 256, 256>>>(in.data, out.data, n);
  SumShuffle<<<7, 128>>>(in.data, out.data + 1, n);
  MaxFloat<<<1, 128>>>(fin.data, fout.data, n);
  std::vector<int> got = out.Read();
  EXPECT(got[0] == sum, "tree %d, host %d", got[0], sum);
  EXPECT(got[1] == sum, "shuffle %d, host %d", got[1], sum);
  EXPECT(fout.Read()[0] == best, "max %g, host %g", fout.Read()[0], best);
  return Pass();
}
