// Constant memory and device variables, by name and by address.
//
// RUN: %check %s %t
#include "program.h"

__constant__ float coefficients[4] = {1, 2, 3, 4};
__constant__ int unset;
__device__ int counter = 5;
__device__ double table[8];
__device__ const char text[] = "device text";

__global__ void Use(float* out) {
  float x = 0;
  for (int i = 0; i < 4; ++i) x = x * 10 + coefficients[i];
  out[0] = x;
  out[1] = float(unset);
  out[2] = float(atomicAdd(&counter, 1));
  out[3] = float(text[7]);
  table[3] = 2.5;
}

int main() {
  float* out = ToDevice(std::vector<float>(4));
  Use<<<1, 1>>>(out);
  std::vector<float> got = ToHost(out, 4);
  EXPECT(got[0] == 1234 && got[1] == 0 && got[2] == 5 && got[3] == 't');
  const float other[2] = {9, 8};
  CHECK(cudaMemcpyToSymbol(coefficients, other, sizeof other, 4));
  const int seven = 7;
  CHECK(cudaMemcpyToSymbol(unset, &seven, sizeof seven));
  Use<<<1, 1>>>(out);
  got = ToHost(out, 4);
  EXPECT(got[0] == 1984 && got[1] == 7 && got[2] == 6);
  int count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  EXPECT(count == 7);
  void* address = nullptr;
  std::size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, table));
  CHECK(cudaGetSymbolSize(&bytes, table));
  EXPECT(bytes == 64);
  EXPECT(ToHost(static_cast<double*>(address), 8)[3] == 2.5);
  CHECK(cudaMemcpyToSymbolAsync(counter, &seven, sizeof seven, 0,
                                cudaMemcpyHostToDevice, 0));
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  EXPECT(count == 7);
  EXPECT(cudaMemcpyToSymbol(unset, other, sizeof other) ==
         cudaErrorInvalidValue);
  return Pass();
}
