// What the programs here call of cuFFT, declared after NVIDIA's documentation.
#ifndef CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUFFT_H_
#define CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUFFT_H_
#include <cuComplex.h>
#include <cuda_runtime.h>
#include <library_types.h>

enum cufftResult : int {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_INVALID_SIZE = 8
};
using cufftHandle = int;
enum cufftType : int {
  CUFFT_R2C = 42,
  CUFFT_C2R = 44,
  CUFFT_C2C = 41,
  CUFFT_D2Z = 106,
  CUFFT_Z2D = 108,
  CUFFT_Z2Z = 105
};
using cufftComplex = cuComplex;
using cufftReal = float;
using cufftDoubleReal = double;
using cufftDoubleComplex = cuDoubleComplex;
enum cufftProperty { NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS = 2 };
enum cufftXtCallbackType : int { CUFFT_CB_LD_REAL = 2 };

#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1
extern "C" {
cufftResult cufftCreate(cufftHandle*);
cufftResult cufftDestroy(cufftHandle);
cufftResult cufftEstimate1d(int, cufftType, int, std::size_t*);
cufftResult cufftExecC2C(cufftHandle, cufftComplex*, cufftComplex*, int);
cufftResult cufftExecC2R(cufftHandle, cufftComplex*, cufftReal*);
cufftResult cufftExecD2Z(cufftHandle, cufftDoubleReal*, cufftDoubleComplex*);
cufftResult cufftExecR2C(cufftHandle, cufftReal*, cufftComplex*);
cufftResult cufftExecZ2D(cufftHandle, cufftDoubleComplex*, cufftDoubleReal*);
cufftResult cufftExecZ2Z(cufftHandle, cufftDoubleComplex*, cufftDoubleComplex*,
                         int);
cufftResult cufftGetPlanPropertyInt64(cufftHandle, cufftProperty, long long*);
cufftResult cufftGetSize(cufftHandle, std::size_t*);
cufftResult cufftGetVersion(int*);
cufftResult cufftMakePlan1d(cufftHandle, int, cufftType, int, std::size_t*);
cufftResult cufftMakePlanMany(cufftHandle, int, int*, int*, int, int, int*, int,
                              int, cufftType, int, std::size_t*);
cufftResult cufftPlan1d(cufftHandle*, int, cufftType, int);
cufftResult cufftPlan2d(cufftHandle*, int, int, cufftType);
cufftResult cufftPlan3d(cufftHandle*, int, int, int, cufftType);
cufftResult cufftPlanMany(cufftHandle*, int, int*, int*, int, int, int*, int,
                          int, cufftType, int);
cufftResult cufftResetPlanProperty(cufftHandle, cufftProperty);
cufftResult cufftSetPlanPropertyInt64(cufftHandle, cufftProperty, long long);
cufftResult cufftSetAutoAllocation(cufftHandle, int);
cufftResult cufftSetStream(cufftHandle, cudaStream_t);
cufftResult cufftSetWorkArea(cufftHandle, void*);
cufftResult cufftXtExec(cufftHandle, void*, void*, int);
cufftResult cufftXtMakePlanMany(cufftHandle, int, long long*, long long*,
                                long long, long long, cudaDataType, long long*,
                                long long, long long, cudaDataType, long long,
                                std::size_t*, cudaDataType);
cufftResult cufftXtSetJITCallback(cufftHandle, const char*, const void*, size_t,
                                  cufftXtCallbackType, void**);
cufftResult cufftXtSetCallback(cufftHandle, void**, cufftXtCallbackType,
                               void**);
}

#endif  // CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUFFT_H_
