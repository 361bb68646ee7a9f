// Clocks of the device.
//
// RUN: %check %s %t
#include "program.h"

__global__ void Read(long long* out) {
  const long long before = clock64();
  unsigned long long t0, t1;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
  int x = 1;
  for (int i = 0; i < 200; ++i) x = x * 3 + int(clock());
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t1));
  out[0] = clock64() - before;
  out[1] = static_cast<long long>(t1 - t0);
  out[2] = x;
  out[3] = static_cast<long long>(t0 / 1000000000);
}

int main() {
  long long* out = ToDevice(std::vector<long long>(4, -1));
  Read<<<1, 1>>>(out);
  const std::vector<long long> got = ToHost(out, 4);
  EXPECT(got[0] > 0);
  EXPECT(got[1] >= 0 && got[1] < 600ll * 1000000000);
  EXPECT(got[3] > 0);
  return Pass();
}
