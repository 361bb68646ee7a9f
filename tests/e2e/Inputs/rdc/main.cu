#include "shapes.h"

static __device__ int hidden = 7;

__device__ int Odd(int n) { return n == 0 ? hidden : Even(n - 1); }

__global__ void Areas(float* out) {
  Shape* shape = MakeSquare(threadIdx.x + 1.0f);
  out[threadIdx.x] = shape->Area() * scale[threadIdx.x % 4];
  delete shape;
}

__global__ void Apply(float* out, int which) {
  out[threadIdx.x] = operations[which](out[threadIdx.x]);
}

__global__ void Parity(int* out) {
  out[threadIdx.x] = Even(threadIdx.x);
}

__global__ void Some(int* out) {
  out[threadIdx.x] = 1;
  EndUnless(threadIdx.x % 2 == 0);
  out[threadIdx.x] = 2;
}

int main() {
  const int n = 8;
  float *areas, host[n];
  int *numbers, values[n], count;
  cudaMalloc(&areas, sizeof(host));
  cudaMalloc(&numbers, sizeof(values));
  auto show = [&](const char* what) {
    cudaMemcpy(values, numbers, sizeof(values), cudaMemcpyDeviceToHost);
    printf("%s:", what);
    for (int value : values) printf(" %d", value);
    printf("\n");
  };
  Areas<<<1, n>>>(areas);
  Apply<<<1, n>>>(areas, 0);
  Apply<<<1, 2>>>(areas, 1);
  cudaMemcpy(host, areas, sizeof(host), cudaMemcpyDeviceToHost);
  printf("areas:");
  for (float value : host) printf(" %g", value);
  cudaMemcpyFromSymbol(&count, calls, sizeof(count));
  printf("\ncalls: %d\n", count);
  Parity<<<1, n>>>(numbers);
  show("parity");
  Some<<<1, n>>>(numbers);
  show("some");
  Fill<<<1, n>>>(numbers, 3);
  FillElsewhere(numbers);
  show("filled");
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
