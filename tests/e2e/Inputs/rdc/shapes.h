// What the translation units of the -rdc tests share.
#include <cstdio>

struct Shape {
  __device__ virtual float Area() const = 0;
  __device__ virtual ~Shape() {}
};

extern __device__ int calls;         // defined in shapes.cu
extern __constant__ float scale[4];  // defined in shapes.cu
extern __device__ float (*const operations[2])(float);

__device__ Shape* MakeSquare(float side);
__device__ float Twice(float x);
__device__ int Even(int n);  // shapes.cu and main.cu call each other
__device__ int Odd(int n);
__device__ void EndUnless(bool go_on);

// The same instance in both units.
template <typename T>
__global__ void Fill(T* out, T value) {
  out[threadIdx.x] = value;
}

void FillElsewhere(int* out);
