// What the programs here call of cuSOLVER, declared after NVIDIA's
// documentation.
#ifndef CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUSOLVERDN_H_
#define CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUSOLVERDN_H_
#include <cstdint>

#include "cublas_v2.h"

enum cusolverStatus_t : int {};
using cusolverDnHandle_t = struct cusolverDnContext*;
using gesvdjInfo_t = struct gesvdjInfo*;
using cusolverDnParams_t = struct cusolverDnParams*;
using syevjInfo_t = struct syevjInfo*;
enum cusolverEigMode_t : int { CUSOLVER_EIG_MODE_VECTOR = 1 };
enum cusolverEigRange_t : int { CUSOLVER_EIG_RANGE_I = 1002 };
enum cusolverEigType_t : int { CUSOLVER_EIG_TYPE_1 = 1 };
enum cusolverDnFunction_t : int { CUSOLVERDN_GETRF = 0 };
enum cusolverAlgMode_t : int { CUSOLVER_ALG_0 = 0 };

extern "C" {
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t*);
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t*);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t*);
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t*);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t);
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t);
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t);
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t);
cusolverStatus_t cusolverDnDgeqrf(cusolverDnHandle_t, int, int, double*, int,
                                  double*, double*, int, int*);
cusolverStatus_t cusolverDnDgeqrf_bufferSize(cusolverDnHandle_t, int, int,
                                             double*, int, int*);
cusolverStatus_t cusolverDnDgesvd(cusolverDnHandle_t, signed char, signed char,
                                  int, int, double*, int, double*, double*, int,
                                  double*, int, double*, int, double*, int*);
cusolverStatus_t cusolverDnDgesvd_bufferSize(cusolverDnHandle_t, int, int,
                                             int*);
cusolverStatus_t cusolverDnDgesvdaStridedBatched(
    cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const double*, int,
    long long, double*, long long, double*, int, long long, double*, int,
    long long, double*, int, int*, double*, int);
cusolverStatus_t cusolverDnDgesvdaStridedBatched_bufferSize(
    cusolverDnHandle_t, cusolverEigMode_t, int, int, int, const double*, int,
    long long, const double*, long long, const double*, int, long long,
    const double*, int, long long, int*, int);
cusolverStatus_t cusolverDnDgesvdj(cusolverDnHandle_t, cusolverEigMode_t, int,
                                   int, int, double*, int, double*, double*,
                                   int, double*, int, double*, int, int*,
                                   gesvdjInfo_t);
cusolverStatus_t cusolverDnDgesvdjBatched(cusolverDnHandle_t, cusolverEigMode_t,
                                          int, int, double*, int, double*,
                                          double*, int, double*, int, double*,
                                          int, int*, gesvdjInfo_t, int);
cusolverStatus_t cusolverDnDgesvdjBatched_bufferSize(
    cusolverDnHandle_t, cusolverEigMode_t, int, int, const double*, int,
    const double*, const double*, int, const double*, int, int*, gesvdjInfo_t,
    int);
cusolverStatus_t cusolverDnDgesvdj_bufferSize(cusolverDnHandle_t,
                                              cusolverEigMode_t, int, int, int,
                                              const double*, int, const double*,
                                              const double*, int, const double*,
                                              int, int*, gesvdjInfo_t);
cusolverStatus_t cusolverDnDgetrf(cusolverDnHandle_t, int, int, double*, int,
                                  double*, int*, int*);
cusolverStatus_t cusolverDnDgetrf_bufferSize(cusolverDnHandle_t, int, int,
                                             double*, int, int*);
cusolverStatus_t cusolverDnDgetrs(cusolverDnHandle_t, cublasOperation_t, int,
                                  int, const double*, int, const int*, double*,
                                  int, int*);
cusolverStatus_t cusolverDnDorgqr(cusolverDnHandle_t, int, int, int, double*,
                                  int, const double*, double*, int, int*);
cusolverStatus_t cusolverDnDorgqr_bufferSize(cusolverDnHandle_t, int, int, int,
                                             const double*, int, const double*,
                                             int*);
cusolverStatus_t cusolverDnDormqr(cusolverDnHandle_t, cublasSideMode_t,
                                  cublasOperation_t, int, int, int,
                                  const double*, int, const double*, double*,
                                  int, double*, int, int*);
cusolverStatus_t cusolverDnDormqr_bufferSize(cusolverDnHandle_t,
                                             cublasSideMode_t,
                                             cublasOperation_t, int, int, int,
                                             const double*, int, const double*,
                                             const double*, int, int*);
cusolverStatus_t cusolverDnDpotrf(cusolverDnHandle_t, cublasFillMode_t, int,
                                  double*, int, double*, int, int*);
cusolverStatus_t cusolverDnDpotrfBatched(cusolverDnHandle_t, cublasFillMode_t,
                                         int, double**, int, int*, int);
cusolverStatus_t cusolverDnDpotrf_bufferSize(cusolverDnHandle_t,
                                             cublasFillMode_t, int, double*,
                                             int, int*);
cusolverStatus_t cusolverDnDpotrs(cusolverDnHandle_t, cublasFillMode_t, int,
                                  int, const double*, int, double*, int, int*);
cusolverStatus_t cusolverDnDpotrsBatched(cusolverDnHandle_t, cublasFillMode_t,
                                         int, int, double**, int, double**, int,
                                         int*, int);
cusolverStatus_t cusolverDnDsyevd(cusolverDnHandle_t, cusolverEigMode_t,
                                  cublasFillMode_t, int, double*, int, double*,
                                  double*, int, int*);
cusolverStatus_t cusolverDnDsyevd_bufferSize(cusolverDnHandle_t,
                                             cusolverEigMode_t,
                                             cublasFillMode_t, int,
                                             const double*, int, const double*,
                                             int*);
cusolverStatus_t cusolverDnDsyevdx(cusolverDnHandle_t, cusolverEigMode_t,
                                   cusolverEigRange_t, cublasFillMode_t, int,
                                   double*, int, double, double, int, int, int*,
                                   double*, double*, int, int*);
cusolverStatus_t cusolverDnDsyevdx_bufferSize(
    cusolverDnHandle_t, cusolverEigMode_t, cusolverEigRange_t, cublasFillMode_t,
    int, const double*, int, double, double, int, int, int*, const double*,
    int*);
cusolverStatus_t cusolverDnDsyevj(cusolverDnHandle_t, cusolverEigMode_t,
                                  cublasFillMode_t, int, double*, int, double*,
                                  double*, int, int*, syevjInfo_t);
cusolverStatus_t cusolverDnDsyevjBatched(cusolverDnHandle_t, cusolverEigMode_t,
                                         cublasFillMode_t, int, double*, int,
                                         double*, double*, int, int*,
                                         syevjInfo_t, int);
cusolverStatus_t cusolverDnDsyevjBatched_bufferSize(
    cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, const double*,
    int, const double*, int*, syevjInfo_t, int);
cusolverStatus_t cusolverDnDsyevj_bufferSize(cusolverDnHandle_t,
                                             cusolverEigMode_t,
                                             cublasFillMode_t, int,
                                             const double*, int, const double*,
                                             int*, syevjInfo_t);
cusolverStatus_t cusolverDnDsygvd(cusolverDnHandle_t, cusolverEigType_t,
                                  cusolverEigMode_t, cublasFillMode_t, int,
                                  double*, int, double*, int, double*, double*,
                                  int, int*);
cusolverStatus_t cusolverDnDsygvd_bufferSize(
    cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t,
    int, const double*, int, const double*, int, const double*, int*);
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t,
                                         cusolverDnFunction_t,
                                         cusolverAlgMode_t);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t, cudaStream_t);
cusolverStatus_t cusolverDnXgesvd(
    cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char,
    std::int64_t, std::int64_t, cudaDataType, void*, std::int64_t, cudaDataType,
    void*, cudaDataType, void*, std::int64_t, cudaDataType, void*, std::int64_t,
    cudaDataType, void*, std::size_t, void*, std::size_t, int*);
cusolverStatus_t cusolverDnXgesvd_bufferSize(
    cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char,
    std::int64_t, std::int64_t, cudaDataType, const void*, std::int64_t,
    cudaDataType, const void*, cudaDataType, const void*, std::int64_t,
    cudaDataType, const void*, std::int64_t, cudaDataType, std::size_t*,
    std::size_t*);
cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t, double);
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t, cusolverDnParams_t,
                                  std::int64_t, std::int64_t, cudaDataType,
                                  void*, std::int64_t, std::int64_t*,
                                  cudaDataType, void*, std::size_t, void*,
                                  std::size_t, int*);
cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t,
                                             cusolverDnParams_t, std::int64_t,
                                             std::int64_t, cudaDataType,
                                             const void*, std::int64_t,
                                             cudaDataType, std::size_t*,
                                             std::size_t*);
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t, cusolverDnParams_t,
                                  cublasOperation_t, std::int64_t, std::int64_t,
                                  cudaDataType, const void*, std::int64_t,
                                  const std::int64_t*, cudaDataType, void*,
                                  std::int64_t, int*);
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t, cusolverDnParams_t,
                                  cublasFillMode_t, std::int64_t, cudaDataType,
                                  void*, std::int64_t, cudaDataType, void*,
                                  std::size_t, void*, std::size_t, int*);
cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t,
                                             cusolverDnParams_t,
                                             cublasFillMode_t, std::int64_t,
                                             cudaDataType, const void*,
                                             std::int64_t, cudaDataType,
                                             std::size_t*, std::size_t*);
cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t, cusolverDnParams_t,
                                  cublasFillMode_t, std::int64_t, std::int64_t,
                                  cudaDataType, const void*, std::int64_t,
                                  cudaDataType, void*, std::int64_t, int*);
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t, cusolverDnParams_t,
                                  cusolverEigMode_t, cublasFillMode_t,
                                  std::int64_t, cudaDataType, void*,
                                  std::int64_t, cudaDataType, void*,
                                  cudaDataType, void*, std::size_t, void*,
                                  std::size_t, int*);
cusolverStatus_t cusolverDnXsyevd_bufferSize(
    cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t,
    std::int64_t, cudaDataType, const void*, std::int64_t, cudaDataType,
    const void*, cudaDataType, std::size_t*, std::size_t*);
cusolverStatus_t cusolverDnXsyevjGetResidual(cusolverDnHandle_t, syevjInfo_t,
                                             double*);
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t, int);
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t, double);
}

#endif  // CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUSOLVERDN_H_
