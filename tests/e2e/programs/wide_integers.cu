// Integers of 128 bits: products, quotients, remainders and shifts, for which
// nvcc writes chains of carries, additions behind subtractions among them.
//
// RUN: %check %s %t
#include "program.h"

using Wide = unsigned __int128;
using SignedWide = __int128;
constexpr int kResults = 8;

__host__ __device__ void Compute(Wide a, Wide b, Wide* out) {
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = a / b;
  out[4] = a % b;
  out[5] = Wide(SignedWide(a) / SignedWide(b));
  out[6] = Wide(SignedWide(a) % SignedWide(b));
  out[7] = (a << int(b & 127)) ^ (a >> int(b & 127));
}

__global__ void Run(const Wide* a, const Wide* b, Wide* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Compute(a[i], b[i], out + i * kResults);
}

int main() {
  constexpr int kCount = 256;
  std::vector<Wide> a(kCount), b(kCount);
  std::uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ (state >> 29);
  };
  for (int i = 0; i < kCount; ++i) {
    a[i] = ((Wide(next()) << 64) | next()) >> (next() % 128);
    b[i] = (((Wide(next()) << 64) | next()) >> (next() % 128)) | 1;
  }
  Wide* out = ToDevice(std::vector<Wide>(kCount * kResults));
  Run<<<4, kCount / 4>>>(ToDevice(a), ToDevice(b), out);
  const std::vector<Wide> got = ToHost(out, kCount * kResults);
  for (int i = 0; i < kCount; ++i) {
    Wide want[kResults];
    Compute(a[i], b[i], want);
    for (int k = 0; k < kResults; ++k) EXPECT(got[i * kResults + k] == want[k]);
  }
  return Pass();
}
