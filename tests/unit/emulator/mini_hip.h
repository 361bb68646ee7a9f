// The little of HIP's language and API that the test programs use, so that
// clang alone compiles them: no ROCm headers, no device libraries.
#ifndef CERBERUS_TESTS_UNIT_EMULATOR_MINI_HIP_H_
#define CERBERUS_TESTS_UNIT_EMULATOR_MINI_HIP_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __HIP__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#endif

struct dim3 {
  uint32_t x, y, z;
#ifdef __HIP__
  __host__ __device__
#endif
      constexpr dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1)
      : x(x), y(y), z(z) {
  }
};

typedef int hipError_t;
enum { hipSuccess = 0 };
typedef int hipMemcpyKind;
enum {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault
};
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
typedef struct ihipGraph* hipGraph_t;
typedef struct hipGraphExec* hipGraphExec_t;

extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                      hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared,
                                     hipStream_t* stream);
hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block,
                           void** args, size_t shared, hipStream_t stream);
hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid,
                                      dim3 block, void** args, unsigned shared,
                                      hipStream_t stream);
const char* hipGetErrorName(hipError_t);
const char* hipGetErrorString(hipError_t);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
hipError_t hipInit(unsigned);
hipError_t hipGetDeviceCount(int*);
hipError_t hipSetDevice(int);
hipError_t hipGetDevice(int*);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipMalloc(void**, size_t);
hipError_t hipFree(void*);
hipError_t hipHostMalloc(void**, size_t, unsigned);
hipError_t hipHostFree(void*);
hipError_t hipMallocManaged(void**, size_t, unsigned);
hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind,
                          hipStream_t);
hipError_t hipMemset(void*, int, size_t);
hipError_t hipMemcpyToSymbol(const void*, const void*, size_t, size_t,
                             hipMemcpyKind);
hipError_t hipMemcpyFromSymbol(void*, const void*, size_t, size_t,
                               hipMemcpyKind);
hipError_t hipGetSymbolAddress(void**, const void*);
hipError_t hipStreamCreate(hipStream_t*);
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned);
hipError_t hipEventCreate(hipEvent_t*);
hipError_t hipEventRecord(hipEvent_t, hipStream_t);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipEventDestroy(hipEvent_t);
}

#ifdef __HIP__

__device__ inline unsigned ThreadX() {
  return __builtin_amdgcn_workitem_id_x();
}
__device__ inline unsigned ThreadY() {
  return __builtin_amdgcn_workitem_id_y();
}
__device__ inline unsigned ThreadZ() {
  return __builtin_amdgcn_workitem_id_z();
}
__device__ inline unsigned BlockX() {
  return __builtin_amdgcn_workgroup_id_x();
}
__device__ inline unsigned BlockY() {
  return __builtin_amdgcn_workgroup_id_y();
}
__device__ inline unsigned BlockZ() {
  return __builtin_amdgcn_workgroup_id_z();
}
__device__ inline unsigned BlockDimX() {
  return __builtin_amdgcn_workgroup_size_x();
}
__device__ inline unsigned BlockDimY() {
  return __builtin_amdgcn_workgroup_size_y();
}
__device__ inline unsigned BlockDimZ() {
  return __builtin_amdgcn_workgroup_size_z();
}
__device__ inline unsigned GridDimX() {
#ifdef MINI_HIP_CODE_OBJECT_V4
  return __builtin_amdgcn_grid_size_x() / BlockDimX();
#else
  // hidden_block_count_x: the first of the implicit arguments from code
  // objects of version 5 on.
  return *(const __attribute__((address_space(4)))
           uint32_t*)__builtin_amdgcn_implicitarg_ptr();
#endif
}
__device__ inline unsigned GlobalX() {
  return BlockX() * BlockDimX() + ThreadX();
}

__device__ inline unsigned WaveSize() {
  return __builtin_amdgcn_wavefrontsize();
}
__device__ inline unsigned LaneId() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

__device__ inline void SyncThreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// The value of another lane of the wave.
__device__ inline int Shuffle(int value, unsigned lane) {
  return __builtin_amdgcn_ds_bpermute(static_cast<int>(lane * 4), value);
}

template <typename T>
__device__ inline T AtomicAdd(T* at, T value) {
  return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_AGENT);
}

// --- Host side of a test program -------------------------------------------

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#define CHECK_HIP(call)                                         \
  do {                                                          \
    hipError_t check_error = (call);                            \
    if (check_error != hipSuccess) {                            \
      printf("FAIL %s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
             hipGetErrorName(check_error));                     \
      exit(1);                                                  \
    }                                                           \
  } while (0)

#define EXPECT(condition, ...)                                    \
  do {                                                            \
    if (!(condition)) {                                           \
      printf("FAIL %s:%d: %s: ", __FILE__, __LINE__, #condition); \
      printf(__VA_ARGS__);                                        \
      printf("\n");                                               \
      exit(1);                                                    \
    }                                                             \
  } while (0)

template <typename T>
struct Buffer {
  T* data = nullptr;
  size_t count = 0;
  explicit Buffer(size_t n) : count(n) {
    CHECK_HIP(hipMalloc((void**)&data, n * sizeof(T)));
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    CHECK_HIP(hipMemcpy(data, values.data(), count * sizeof(T),
                        hipMemcpyHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { CHECK_HIP(hipFree(data)); }
  std::vector<T> Read() const {
    std::vector<T> values(count);
    CHECK_HIP(hipMemcpy(values.data(), data, count * sizeof(T),
                        hipMemcpyDeviceToHost));
    return values;
  }
};

// Numbers that are the same on every machine.
struct Random {
  uint64_t state = 0x9e3779b97f4a7c15;
  uint32_t Next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) * 2654435761u;
  }
  float Unit() { return (Next() >> 8) * (1.0f / 16777216.0f); }
};

inline int Pass() {
  CHECK_HIP(hipDeviceSynchronize());
  printf("PASS\n");
  return 0;
}

#endif  // __HIP__

#endif  // CERBERUS_TESTS_UNIT_EMULATOR_MINI_HIP_H_
