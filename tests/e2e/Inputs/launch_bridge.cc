// The launches that nvcc 13 writes call functions that cudart 12 brought;
// cudart 11 has the ones below them.
#include <cuda_runtime_api.h>

extern "C" {
cudaError_t cudaLaunchKernel_ptsz(const void*, dim3, dim3, void**, size_t,
                                  cudaStream_t);

cudaError_t __cudaGetKernel(const void** kernel, const void* function) {
  *kernel = function;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block,
                               void** arguments, size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
cudaError_t __cudaLaunchKernel_ptsz(const void* kernel, dim3 grid, dim3 block,
                                    void** arguments, size_t shared,
                                    cudaStream_t stream) {
  return cudaLaunchKernel_ptsz(kernel, grid, block, arguments, shared, stream);
}
}
