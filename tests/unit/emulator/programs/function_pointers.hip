// Calls through pointers that differ from lane to lane.
#include "mini_hip.h"

typedef int (*Op)(int, int);

__device__ int Add(int a, int b) { return a + b; }
__device__ int Sub(int a, int b) { return a - b; }
__device__ int Mul(int a, int b) { return a * b; }
__device__ int Mix(int a, int b) { return (a << 3) ^ b; }

__device__ Op g_table[4] = {Add, Sub, Mul, Mix};

struct Shape {
  __device__ virtual int Area(int scale) const { return -scale; }
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int Area(int scale) const override {
    return side * side * scale;
  }
};
struct Strip : Shape {
  int length;
  __device__ explicit Strip(int l) : length(l) {}
  __device__ int Area(int scale) const override { return length * scale + 1; }
};

__device__ __attribute__((noinline)) int Measure(const Shape& shape, int s) {
  return shape.Area(s);
}

__global__ void Kernel(const int* which, int* out, int* areas) {
  unsigned i = GlobalX();
  out[i] = g_table[which[i]](i * 3, i + 7);
  Square square(i);
  Strip strip(i * 2);
  areas[i] = Measure(i % 3 == 0 ? (const Shape&)square
                                : (const Shape&)strip, 5);
}

int main() {
  const int n = 256;
  Random random;
  std::vector<int> which(n);
  for (int& w : which) w = random.Next() % 4;
  Buffer<int> in(which), out(n), areas(n);
  Kernel<<<4, n / 4>>>(in.data, out.data, areas.data);
  std::vector<int> got = out.Read(), area = areas.Read();
  for (int i = 0; i < n; ++i) {
    int a = i * 3, b = i + 7;
    int results[4] = {a + b, a - b, a * b, (a << 3) ^ b};
    EXPECT(got[i] == results[which[i]], "lane %d op %d: %d", i, which[i],
           got[i]);
    int expected = i % 3 == 0 ? i * i * 5 : i * 2 * 5 + 1;
    EXPECT(area[i] == expected, "area %d: %d, host %d", i, area[i], expected);
  }
  return Pass();
}
