// Recursive device functions: a stack in scratch, real calls, divergence.
#include "mini_hip.h"

__device__ __attribute__((noinline)) unsigned Fibonacci(unsigned n) {
  return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);
}

__device__ __attribute__((noinline)) unsigned Ackermann(unsigned m,
                                                        unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}

__device__ __attribute__((noinline)) int Hanoi(int n, int from, int to,
                                               int* trace, int at) {
  if (n == 0) return at;
  int other = 3 - from - to;
  at = Hanoi(n - 1, from, other, trace, at);
  trace[at++] = n * 16 + from * 4 + to;
  return Hanoi(n - 1, other, to, trace, at);
}

__global__ void Kernel(unsigned* fib, unsigned* ack, int* traces) {
  unsigned i = ThreadX();
  fib[i] = Fibonacci(i % 14);
  ack[i] = Ackermann(i % 3, i % 5);
  Hanoi(4, 0, 2, traces + i * 16, 0);
}

unsigned HostAckermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return HostAckermann(m - 1, 1);
  return HostAckermann(m - 1, HostAckermann(m, n - 1));
}

int HostHanoi(int n, int from, int to, int* trace, int at) {
  if (n == 0) return at;
  int other = 3 - from - to;
  at = HostHanoi(n - 1, from, other, trace, at);
  trace[at++] = n * 16 + from * 4 + to;
  return HostHanoi(n - 1, other, to, trace, at);
}

int main() {
  const int n = 64;
  Buffer<unsigned> fib(n), ack(n);
  Buffer<int> traces(n * 16);
  Kernel<<<1, n>>>(fib.data, ack.data, traces.data);
  std::vector<unsigned> f = fib.Read(), a = ack.Read();
  std::vector<int> got = traces.Read();
  int trace[16];
  HostHanoi(4, 0, 2, trace, 0);
  for (int i = 0; i < n; ++i) {
    unsigned x = 0, y = 1;
    for (int k = 0; k < i % 14; ++k) {
      unsigned z = x + y;
      x = y;
      y = z;
    }
    EXPECT(f[i] == x, "fibonacci lane %d: %u, host %u", i, f[i], x);
    EXPECT(a[i] == HostAckermann(i % 3, i % 5), "ackermann lane %d: %u", i,
           a[i]);
    EXPECT(memcmp(&got[i * 16], trace, 15 * 4) == 0, "hanoi lane %d", i);
  }
  return Pass();
}
