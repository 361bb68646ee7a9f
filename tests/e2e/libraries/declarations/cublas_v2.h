// What the programs here call of cuBLAS, declared after NVIDIA's documentation.
#ifndef CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUBLAS_V2_H_
#define CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUBLAS_V2_H_
#include <cuComplex.h>
#include <cuda_runtime.h>
#include <library_types.h>

enum cublasStatus_t : int { CUBLAS_STATUS_SUCCESS = 0 };
using cublasHandle_t = struct cublasContext*;
enum cublasSideMode_t : int { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasOperation_t : int {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
  CUBLAS_OP_C = 2
};
enum cublasFillMode_t : int {
  CUBLAS_FILL_MODE_LOWER = 0,
  CUBLAS_FILL_MODE_UPPER = 1
};
enum cublasDiagType_t : int { CUBLAS_DIAG_NON_UNIT = 0 };
enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
  CUBLAS_COMPUTE_32I = 72
};
enum cublasGemmAlgo_t : int {
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99
};
enum cublasMath_t : int { CUBLAS_TENSOR_OP_MATH = 1 };
enum cublasPointerMode_t : int {
  CUBLAS_POINTER_MODE_HOST = 0,
  CUBLAS_POINTER_MODE_DEVICE = 1
};

extern "C" {
cublasStatus_t cublasCdgmm(cublasHandle_t, cublasSideMode_t, int, int,
                           const cuComplex*, int, const cuComplex*, int,
                           cuComplex*, int);
cublasStatus_t cublasCgeam(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                           int, int, const cuComplex*, const cuComplex*, int,
                           const cuComplex*, const cuComplex*, int, cuComplex*,
                           int);
cublasStatus_t cublasChemm_v2(cublasHandle_t, cublasSideMode_t,
                              cublasFillMode_t, int, int, const cuComplex*,
                              const cuComplex*, int, const cuComplex*, int,
                              const cuComplex*, cuComplex*, int);
cublasStatus_t cublasCherk_v2(cublasHandle_t, cublasFillMode_t,
                              cublasOperation_t, int, int, const float*,
                              const cuComplex*, int, const float*, cuComplex*,
                              int);
cublasStatus_t cublasCreate_v2(cublasHandle_t*);
cublasStatus_t cublasCtrmm_v2(cublasHandle_t, cublasSideMode_t,
                              cublasFillMode_t, cublasOperation_t,
                              cublasDiagType_t, int, int, const cuComplex*,
                              const cuComplex*, int, const cuComplex*, int,
                              cuComplex*, int);
cublasStatus_t cublasCtrsm_v2(cublasHandle_t, cublasSideMode_t,
                              cublasFillMode_t, cublasOperation_t,
                              cublasDiagType_t, int, int, const cuComplex*,
                              const cuComplex*, int, cuComplex*, int);
cublasStatus_t cublasDasum_v2(cublasHandle_t, int, const double*, int, double*);
cublasStatus_t cublasDaxpy_v2(cublasHandle_t, int, const double*, const double*,
                              int, double*, int);
cublasStatus_t cublasDdot_v2(cublasHandle_t, int, const double*, int,
                             const double*, int, double*);
cublasStatus_t cublasDestroy_v2(cublasHandle_t);
cublasStatus_t cublasDgemv_v2(cublasHandle_t, cublasOperation_t, int, int,
                              const double*, const double*, int, const double*,
                              int, const double*, double*, int);
cublasStatus_t cublasDger_v2(cublasHandle_t, int, int, const double*,
                             const double*, int, const double*, int, double*,
                             int);
cublasStatus_t cublasDnrm2_v2(cublasHandle_t, int, const double*, int, double*);
cublasStatus_t cublasDrot_v2(cublasHandle_t, int, double*, int, double*, int,
                             const double*, const double*);
cublasStatus_t cublasDscal_v2(cublasHandle_t, int, const double*, double*, int);
cublasStatus_t cublasDsymv_v2(cublasHandle_t, cublasFillMode_t, int,
                              const double*, const double*, int, const double*,
                              int, const double*, double*, int);
cublasStatus_t cublasDtrmv_v2(cublasHandle_t, cublasFillMode_t,
                              cublasOperation_t, cublasDiagType_t, int,
                              const double*, int, double*, int);
cublasStatus_t cublasDtrsm_v2(cublasHandle_t, cublasSideMode_t,
                              cublasFillMode_t, cublasOperation_t,
                              cublasDiagType_t, int, int, const double*,
                              const double*, int, double*, int);
cublasStatus_t cublasDtrsv_v2(cublasHandle_t, cublasFillMode_t,
                              cublasOperation_t, cublasDiagType_t, int,
                              const double*, int, double*, int);
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t,
                            cublasOperation_t, int, int, int, const void*,
                            const void*, cudaDataType, int, const void*,
                            cudaDataType, int, const void*, void*, cudaDataType,
                            int, cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasIdamax_v2(cublasHandle_t, int, const double*, int, int*);
cublasStatus_t cublasSaxpy_v2(cublasHandle_t, int, const float*, const float*,
                              int, float*, int);
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t, cublasPointerMode_t);
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t);
cublasStatus_t cublasSgelsBatched(cublasHandle_t, cublasOperation_t, int, int,
                                  int, float* const*, int, float* const*, int,
                                  int*, int*, int);
cublasStatus_t cublasSgemmBatched(cublasHandle_t, cublasOperation_t,
                                  cublasOperation_t, int, int, int,
                                  const float*, const float* const*, int,
                                  const float* const*, int, const float*,
                                  float* const*, int, int);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t,
                                         cublasOperation_t, int, int, int,
                                         const float*, const float*, int,
                                         long long, const float*, int,
                                         long long, const float*, float*, int,
                                         long long, int);
cublasStatus_t cublasSgetrfBatched(cublasHandle_t, int, float* const*, int,
                                   int*, int*, int);
cublasStatus_t cublasSgetriBatched(cublasHandle_t, int, const float* const*,
                                   int, const int*, float* const*, int, int*,
                                   int);
cublasStatus_t cublasSgetrsBatched(cublasHandle_t, cublasOperation_t, int, int,
                                   const float* const*, int, const int*,
                                   float* const*, int, int*, int);
cublasStatus_t cublasSmatinvBatched(cublasHandle_t, int, const float* const*,
                                    int, float* const*, int, int*, int);
}
#define cublasChemm cublasChemm_v2
#define cublasCherk cublasCherk_v2
#define cublasCreate cublasCreate_v2
#define cublasCtrmm cublasCtrmm_v2
#define cublasCtrsm cublasCtrsm_v2
#define cublasDasum cublasDasum_v2
#define cublasDaxpy cublasDaxpy_v2
#define cublasDdot cublasDdot_v2
#define cublasDestroy cublasDestroy_v2
#define cublasDgemv cublasDgemv_v2
#define cublasDger cublasDger_v2
#define cublasDnrm2 cublasDnrm2_v2
#define cublasDrot cublasDrot_v2
#define cublasDscal cublasDscal_v2
#define cublasDsymv cublasDsymv_v2
#define cublasDtrmv cublasDtrmv_v2
#define cublasDtrsm cublasDtrsm_v2
#define cublasDtrsv cublasDtrsv_v2
#define cublasIdamax cublasIdamax_v2
#define cublasSaxpy cublasSaxpy_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasSetStream cublasSetStream_v2
#define cublasSetWorkspace cublasSetWorkspace_v2

#endif  // CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUBLAS_V2_H_
