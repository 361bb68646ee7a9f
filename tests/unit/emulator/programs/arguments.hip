// What kernels are called with: structures by value, many and small arguments,
// large argument blocks, pointers inside structures. And a little inline
// assembly on what arrives.
#include "mini_hip.h"

struct Small {
  char c;
  short s;
  bool b;
  double d;
};
struct Image {
  int* pixels;
  int width, height;
};
struct Large {
  int values[700];
  Image image;
  float scale;
};
struct alignas(16) Vector {
  float x, y, z, w;
};

__global__ void Mixed(int* out, char a, Small s, unsigned char b, Vector v,
                      short c, long long d, bool e, float f, double g) {
  const int i = (int)GlobalX();
  out[i] = a + s.c * 2 + s.s * 3 + (s.b ? 5 : 0) + (int)s.d + b * 7 +
           (int)(v.x + v.y * 2 + v.z * 3 + v.w * 4) + c * 11 + (int)(d >> 32) +
           (e ? 13 : 0) + (int)f + (int)g + i;
}

__global__ void FromLarge(Large large) {
  const int i = (int)GlobalX();
  if (i >= large.image.width * large.image.height) return;
  large.image.pixels[i] = (int)((float)large.values[i % 700] * large.scale);
}

// A register in and out, a scalar one, and two instructions in one text.
__global__ void Assembly(unsigned* out, unsigned n) {
  const unsigned i = GlobalX();
  unsigned sum, twice, uniform;
  asm volatile("v_xor_b32 %0, %1, %2" : "=v"(sum) : "v"(i), "v"(0x5555u));
  asm volatile("v_lshlrev_b32 %0, 1, %1\n\tv_or_b32 %0, 1, %0"
               : "=&v"(twice)
               : "v"(i));
  asm volatile("s_lshl_b32 %0, %1, 2"
               : "=s"(uniform)
               : "s"(__builtin_amdgcn_readfirstlane(n))
               : "scc");
  out[i] = sum + twice * 3 + uniform * 5;
}

int main() {
  const int n = 1000, block = 125;
  Buffer<int> out(n);
  const Small small = {-3, -1000, true, 77.5};
  const Vector vector = {1, 2, 3, 4};
  Mixed<<<n / block, block>>>(out.data, (char)-9, small, (unsigned char)200,
                              vector, (short)-321, 5ll << 32, true, 2.5f,
                              1e6);
  std::vector<int> got = out.Read();
  const int sum = -9 + -3 * 2 + -1000 * 3 + 5 + 77 + 200 * 7 + 30 +
                  -321 * 11 + 5 + 13 + 2 + 1000000;
  for (int i = 0; i < n; ++i) {
    EXPECT(got[i] == sum + i, "mixed %d: %d", i, got[i]);
  }

  Large large;
  for (int i = 0; i < 700; ++i) large.values[i] = i * i;
  large.image = {out.data, 20, 30};
  large.scale = 0.5f;
  FromLarge<<<n / block, block>>>(large);
  got = out.Read();
  for (int i = 0; i < n; ++i) {
    const int expected = i < 600 ? i * i / 2 : sum + i;
    EXPECT(got[i] == expected, "large %d: %d", i, got[i]);
  }

  Buffer<unsigned> words(n);
  Assembly<<<n / block, block>>>(words.data, 9);
  std::vector<unsigned> word = words.Read();
  for (unsigned i = 0; i < (unsigned)n; ++i) {
    EXPECT(word[i] == (i ^ 0x5555) + (2 * i + 1) * 3 + 36 * 5,
           "assembly %u: %u", i, word[i]);
  }
  return Pass();
}
