// Wave-level primitives: ballot, first active lane, permutes, DPP moves.
#include "mini_hip.h"

__global__ void Kernel(unsigned long long* ballots, int* first, int* rotated,
                       int* shifted, int* swizzled) {
  unsigned i = GlobalX(), lane = LaneId();
  unsigned long long mask;
#ifdef __GFX9__
  mask = __builtin_amdgcn_ballot_w64(i % 3 == 0);
#else
  mask = __builtin_amdgcn_ballot_w32(i % 3 == 0);
#endif
  ballots[i] = mask;
  int value = (int)i * 10;
  first[i] = -1;
  if (lane % 4 == 2) first[i] = __builtin_amdgcn_readfirstlane(value);
  rotated[i] = Shuffle(value, (lane + 5) % WaveSize());
  // Row shift right by one within 16 lanes; lane 0 of a row keeps `old`.
  shifted[i] = __builtin_amdgcn_update_dpp(-7, value, 0x111, 0xf, 0xf, false);
  // Swap neighbours: xor mask 1, bit mode.
  swizzled[i] = __builtin_amdgcn_ds_swizzle(value, 0x041f);
}

__global__ void Size(int* out) { *out = (int)WaveSize(); }

int main() {
  const int n = 256;
  Buffer<int> size(1);
  Size<<<1, 1>>>(size.data);
  const int wave = size.Read()[0];
  Buffer<unsigned long long> ballots(n);
  Buffer<int> first(n), rotated(n), shifted(n), swizzled(n);
  Kernel<<<2, n / 2>>>(ballots.data, first.data, rotated.data, shifted.data,
                       swizzled.data);
  std::vector<unsigned long long> b = ballots.Read();
  std::vector<int> f = first.Read(), r = rotated.Read(), s = shifted.Read(),
                   z = swizzled.Read();
  for (int i = 0; i < n; ++i) {
    int base = i / wave * wave, lane = i % wave;
    unsigned long long mask = 0;
    for (int k = 0; k < wave; ++k) {
      if ((base + k) % 3 == 0) mask |= 1ull << k;
    }
    EXPECT(b[i] == mask, "ballot %d: %llx, host %llx", i, b[i], mask);
    EXPECT(f[i] == (lane % 4 == 2 ? (base + 2) * 10 : -1), "first %d: %d", i,
           f[i]);
    EXPECT(r[i] == (base + (lane + 5) % wave) * 10, "rotate %d: %d", i, r[i]);
    EXPECT(s[i] == (lane % 16 == 0 ? -7 : (i - 1) * 10), "shift %d: %d", i,
           s[i]);
    EXPECT(z[i] == (i ^ 1) * 10, "swizzle %d: %d", i, z[i]);
  }
  return Pass();
}
