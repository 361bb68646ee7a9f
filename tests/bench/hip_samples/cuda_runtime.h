// Makes HIP programs of samples: what they use of the CUDA runtime, under the
// names of HIP (see portable.h).
#ifndef CERBERUS_TESTS_BENCH_HIP_SAMPLES_CUDA_RUNTIME_H_
#define CERBERUS_TESTS_BENCH_HIP_SAMPLES_CUDA_RUNTIME_H_

#include "portable.h"

using cudaError_t = hipError_t;
constexpr hipError_t cudaSuccess = hipSuccess;
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaFree hipFree
#define cudaMemcpy hipMemcpy
#define cudaMemset hipMemset
template <typename T>
hipError_t cudaMalloc(T** pointer, size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(pointer), bytes);
}

#endif  // CERBERUS_TESTS_BENCH_HIP_SAMPLES_CUDA_RUNTIME_H_
