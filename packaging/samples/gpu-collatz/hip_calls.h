// What collatz.hip uses of HIP, so that clang compiles it without ROCm. A
// package of the archive includes <hip/hip_runtime.h>.
#ifndef HIP_CALLS_H_
#define HIP_CALLS_H_

#include <cstddef>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};
typedef struct ihipStream_t* hipStream_t;
enum { hipMemcpyDeviceToHost = 2 };

extern "C" {
int __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0,
                               hipStream_t stream = nullptr);
int __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared,
                              hipStream_t* stream);
int hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args,
                    std::size_t shared, hipStream_t stream);
const char* hipGetErrorString(int error);
int hipGetLastError();
int hipMalloc(void** pointer, std::size_t size);
int hipMemset(void* pointer, int value, std::size_t size);
int hipMemcpy(void* to, const void* from, std::size_t size, int kind);
int hipFree(void* pointer);
}

static __device__ inline unsigned BlockSize() {
  return __builtin_amdgcn_workgroup_size_x();
}
static __device__ inline unsigned BlockCount() {
  return __builtin_amdgcn_grid_size_x() / BlockSize();
}
static __device__ inline unsigned ThreadIndex() {
  return __builtin_amdgcn_workgroup_id_x() * BlockSize() +
         __builtin_amdgcn_workitem_id_x();
}

#endif  // HIP_CALLS_H_
