// Names and texts of errors; the last error, peeked at and taken.
//
// RUN: %check %s %t
#include "program.h"

#include <string>

int main() {
  int device = 0;
  EXPECT(cuDeviceGet(&device, 0) == CUDA_ERROR_NOT_INITIALIZED);
  EXPECT(std::string(cudaGetErrorName(cudaErrorInvalidValue)) ==
         "cudaErrorInvalidValue");
  EXPECT(std::string(cudaGetErrorString(cudaErrorInvalidValue)) ==
         "invalid argument");
  const char* text = nullptr;
  CHECK_DRIVER(cuGetErrorName(CUDA_ERROR_NOT_FOUND, &text));
  EXPECT(std::string(text) == "CUDA_ERROR_NOT_FOUND");
  CHECK_DRIVER(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT(std::string(text) == "out of memory");
  CHECK_DRIVER(cuGetErrorString(CUDA_SUCCESS, &text));
  EXPECT(std::string(text) == "no error");
  EXPECT(cuGetErrorName(static_cast<CUresult>(12345), &text) ==
         CUDA_ERROR_INVALID_VALUE);
  EXPECT(cudaSetDevice(99) == cudaErrorInvalidDevice);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(cudaMemcpy(nullptr, &device, 4, cudaMemcpyHostToDevice) ==
         cudaErrorInvalidValue);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  return Pass();
}
