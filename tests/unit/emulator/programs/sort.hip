// A bitonic sort in LDS and a least-significant-digit radix sort over global
// memory.
#include <algorithm>

#include "mini_hip.h"

constexpr unsigned kCount = 512;

__global__ void Bitonic(unsigned* data) {
  __shared__ unsigned s[kCount];
  unsigned t = ThreadX();
  unsigned* part = data + BlockX() * kCount;
  s[t] = part[t];
  s[t + kCount / 2] = part[t + kCount / 2];
  SyncThreads();
  for (unsigned size = 2; size <= kCount; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      unsigned i = 2 * t - (t & (step - 1));
      bool up = (i & size) == 0;
      unsigned a = s[i], b = s[i + step];
      if ((a > b) == up) {
        s[i] = b;
        s[i + step] = a;
      }
      SyncThreads();
    }
  }
  part[t] = s[t];
  part[t + kCount / 2] = s[t + kCount / 2];
}

// One pass of four bits by one block: counts per thread, scan, scatter.
__global__ void RadixPass(const unsigned* in, unsigned* out, int n,
                          int shift) {
  __shared__ unsigned counts[16 * 64];
  unsigned t = ThreadX();
  int per = (n + 63) / 64;
  int first = t * per, last = first + per < n ? first + per : n;
  for (int d = 0; d < 16; ++d) counts[d * 64 + t] = 0;
  for (int i = first; i < last; ++i) {
    ++counts[(in[i] >> shift & 15) * 64 + t];
  }
  SyncThreads();
  if (t == 0) {
    unsigned sum = 0;
    for (int i = 0; i < 16 * 64; ++i) {
      unsigned c = counts[i];
      counts[i] = sum;
      sum += c;
    }
  }
  SyncThreads();
  for (int i = first; i < last; ++i) {
    out[counts[(in[i] >> shift & 15) * 64 + t]++] = in[i];
  }
}

int main() {
  Random random;
  std::vector<unsigned> values(4 * kCount);
  for (unsigned& v : values) v = random.Next();
  Buffer<unsigned> data(values);
  Bitonic<<<4, kCount / 2>>>(data.data);
  std::vector<unsigned> got = data.Read();
  for (int block = 0; block < 4; ++block) {
    std::vector<unsigned> part(values.begin() + block * kCount,
                               values.begin() + (block + 1) * kCount);
    std::sort(part.begin(), part.end());
    EXPECT(std::equal(part.begin(), part.end(), got.begin() + block * kCount),
           "bitonic block %d", block);
  }
  const int n = 3000;
  values.resize(n);
  for (unsigned& v : values) v = random.Next();
  Buffer<unsigned> a(values), b(n);
  unsigned *from = a.data, *to = b.data;
  for (int shift = 0; shift < 32; shift += 4) {
    RadixPass<<<1, 64>>>(from, to, n, shift);
    std::swap(from, to);
  }
  got = a.Read();
  std::sort(values.begin(), values.end());
  EXPECT(got == values, "radix");
  return Pass();
}
