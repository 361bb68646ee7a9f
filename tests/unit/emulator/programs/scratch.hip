// Per-lane arrays with computed indices, of every access width.
#include "mini_hip.h"

template <typename T>
__device__ unsigned Mix(unsigned seed) {
  T table[61];
  for (int i = 0; i < 61; ++i) table[i] = (T)(seed * (i + 1));
  unsigned sum = 0, at = seed % 61;
  for (int i = 0; i < 200; ++i) {
    table[at] = (T)(table[at] + (T)i);
    sum = sum * 31 + (unsigned)table[(at + 7) % 61];
    at = (at * 5 + (unsigned)table[at] + i) % 61;
  }
  return sum;
}

__host__ __device__ inline unsigned Dummy() { return 0; }

template <typename T>
unsigned HostMix(unsigned seed) {
  T table[61];
  for (int i = 0; i < 61; ++i) table[i] = (T)(seed * (i + 1));
  unsigned sum = 0, at = seed % 61;
  for (int i = 0; i < 200; ++i) {
    table[at] = (T)(table[at] + (T)i);
    sum = sum * 31 + (unsigned)table[(at + 7) % 61];
    at = (at * 5 + (unsigned)table[at] + i) % 61;
  }
  return sum;
}

struct Wide {
  unsigned v[4];
};

__global__ void Kernel(unsigned* out) {
  unsigned i = GlobalX();
  out[i * 5 + 0] = Mix<unsigned char>(i + 3);
  out[i * 5 + 1] = Mix<unsigned short>(i + 3);
  out[i * 5 + 2] = Mix<unsigned>(i + 3);
  out[i * 5 + 3] = Mix<unsigned long long>(i + 3);
  Wide wide[17];
  for (unsigned k = 0; k < 17; ++k) wide[k] = {{i, k, i * k, i ^ k}};
  unsigned sum = 0;
  for (unsigned k = 0; k < 100; ++k) {
    Wide& w = wide[(k * k + i) % 17];
    wide[(k + i) % 17] = w;
    sum = sum * 3 + w.v[0] + w.v[1] * 5 + w.v[2] * 7 + w.v[3] * 11;
  }
  out[i * 5 + 4] = sum;
}

int main() {
  const unsigned n = 300;
  Buffer<unsigned> out(n * 5);
  Kernel<<<n / 100, 100>>>(out.data);
  std::vector<unsigned> got = out.Read();
  for (unsigned i = 0; i < n; ++i) {
    EXPECT(got[i * 5] == HostMix<unsigned char>(i + 3), "bytes, %u", i);
    EXPECT(got[i * 5 + 1] == HostMix<unsigned short>(i + 3), "halves, %u", i);
    EXPECT(got[i * 5 + 2] == HostMix<unsigned>(i + 3), "words, %u", i);
    EXPECT(got[i * 5 + 3] == HostMix<unsigned long long>(i + 3),
           "double words, %u", i);
    Wide wide[17];
    for (unsigned k = 0; k < 17; ++k) wide[k] = {{i, k, i * k, i ^ k}};
    unsigned sum = 0;
    for (unsigned k = 0; k < 100; ++k) {
      Wide& w = wide[(k * k + i) % 17];
      wide[(k + i) % 17] = w;
      sum = sum * 3 + w.v[0] + w.v[1] * 5 + w.v[2] * 7 + w.v[3] * 11;
    }
    EXPECT(got[i * 5 + 4] == sum, "structures, %u", i);
  }
  return Pass();
}
