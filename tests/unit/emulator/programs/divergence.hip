// Loops that each lane leaves at another time, nested branches, switches.
#include "mini_hip.h"

__host__ __device__ inline unsigned Collatz(unsigned n) {
  unsigned steps = 0;
  while (n != 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    ++steps;
  }
  return steps;
}

__host__ __device__ inline unsigned Escape(float cx, float cy) {
  float x = 0, y = 0;
  unsigned i = 0;
  for (; i < 100; ++i) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4) break;
    y = 2 * x * y + cy;
    x = xx - yy + cx;
  }
  return i;
}

__host__ __device__ inline unsigned Machine(unsigned seed) {
  unsigned state = seed % 5, sum = 0;
  for (unsigned i = 0; i < 40; ++i) {
    switch (state) {
      case 0: sum += i; state = (seed >> (i & 7)) & 1 ? 1 : 3; break;
      case 1: sum ^= i * 3; state = 2; if (sum & 4) continue; [[fallthrough]];
      case 2: sum = sum * 5 + 1; state = 4; break;
      case 3: if (i > seed % 37) return sum; state = 0; break;
      default: sum -= 7; state = (sum >> 2) % 5;
    }
  }
  return sum;
}

__global__ void Kernel(unsigned* collatz, unsigned* escape, unsigned* machine) {
  unsigned i = GlobalX();
  collatz[i] = Collatz(i + 1);
  escape[i] = Escape((i % 32) / 16.0f - 1.5f, (i / 32) / 8.0f - 1.0f);
  machine[i] = Machine(i * 2654435761u);
}

int main() {
  const unsigned n = 512;
  Buffer<unsigned> a(n), b(n), c(n);
  Kernel<<<4, 128>>>(a.data, b.data, c.data);
  std::vector<unsigned> x = a.Read(), y = b.Read(), z = c.Read();
  for (unsigned i = 0; i < n; ++i) {
    EXPECT(x[i] == Collatz(i + 1), "collatz %u: %u", i, x[i]);
    unsigned e = Escape((i % 32) / 16.0f - 1.5f, (i / 32) / 8.0f - 1.0f);
    EXPECT(y[i] == e, "escape %u: %u, host %u", i, y[i], e);
    EXPECT(z[i] == Machine(i * 2654435761u), "machine %u: %u", i, z[i]);
  }
  return Pass();
}
