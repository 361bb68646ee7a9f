// Function pointers, virtual functions and recursion in kernels.
//
// RUN: %check %s %t
#include "program.h"

using Operation = int (*)(int, int);
__device__ int Add(int a, int b) { return a + b; }
__device__ int Multiply(int a, int b) { return a * b; }
__device__ Operation operations[] = {Add, Multiply};

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int Area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int Area() const override { return side * side; }
};
struct Strip : Shape {
  int length;
  __device__ explicit Strip(int l) : length(l) {}
  __device__ int Area() const override { return 2 * length; }
};

__device__ __noinline__ int Fibonacci(int n) {
  return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2);
}

__global__ void Run(int* out, Operation given) {
  const int t = threadIdx.x;
  out[t] = operations[t % 2](t, 3);
  Square square(t);
  Strip strip(t);
  const Shape* shape = &strip;
  if (t % 3 == 0) shape = &square;
  out[64 + t] = shape->Area();
  out[128 + t] = Fibonacci(t % 10);
  out[192 + t] = given(t, 5);
}

__global__ void Address(Operation* out) { *out = Multiply; }

int main() {
  int* out = ToDevice(std::vector<int>(256, -1));
  Operation* address = nullptr;
  CHECK(cudaMalloc(&address, sizeof(Operation)));
  Address<<<1, 1>>>(address);
  Run<<<1, 64>>>(out, ToHost(address, 1)[0]);
  const std::vector<int> got = ToHost(out, 256);
  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
  for (int t = 0; t < 64; ++t) {
    EXPECT(got[t] == (t % 2 == 0 ? t + 3 : t * 3));
    EXPECT(got[64 + t] == (t % 3 == 0 ? t * t : 2 * t));
    EXPECT(got[128 + t] == fibonacci[t % 10]);
    EXPECT(got[192 + t] == t * 5);
  }
  return Pass();
}
