// What the programs here call of cuSPARSE, declared after NVIDIA's
// documentation.
#ifndef CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUSPARSE_H_
#define CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUSPARSE_H_
#include <cuComplex.h>
#include <cuda_runtime.h>
#include <library_types.h>

#include <cstdint>

enum cusparseStatus_t : int {};
using cusparseHandle_t = struct cusparseContext*;
using cusparseSpMatDescr_t = struct cusparseSpMatDescr*;
enum cusparseIndexType_t : int { CUSPARSE_INDEX_32I = 2 };
enum cusparseIndexBase_t : int { CUSPARSE_INDEX_BASE_ZERO = 0 };
using cusparseDnMatDescr_t = struct cusparseDnMatDescr*;
enum cusparseOrder_t : int { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 };
using cusparseDnVecDescr_t = struct cusparseDnVecDescr*;
using cusparseSpVecDescr_t = struct cusparseSpVecDescr*;
enum cusparseAction_t : int { CUSPARSE_ACTION_NUMERIC = 1 };
enum cusparseCsr2CscAlg_t : int { CUSPARSE_CSR2CSC_ALG1 = 1 };
using cusparseConstDnMatDescr_t = const struct cusparseDnMatDescr*;
enum cusparseDenseToSparseAlg_t : int {
  CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0
};
using cusparseConstDnVecDescr_t = const struct cusparseDnVecDescr*;
using cusparseConstSpMatDescr_t = const struct cusparseSpMatDescr*;
enum cusparseOperation_t : int {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1
};
enum cusparseSDDMMAlg_t : int { CUSPARSE_SDDMM_ALG_DEFAULT = 0 };
enum cusparsePointerMode_t : int { CUSPARSE_POINTER_MODE_DEVICE = 1 };
enum cusparseSpGEMMAlg_t : int { CUSPARSE_SPGEMM_DEFAULT = 0 };
using cusparseSpGEMMDescr_t = struct cusparseSpGEMMDescr*;
enum cusparseSpMMAlg_t : int { CUSPARSE_SPMM_ALG_DEFAULT = 0 };
enum cusparseSpMVAlg_t : int { CUSPARSE_SPMV_ALG_DEFAULT = 0 };
enum cusparseSpMatAttribute_t : int {
  CUSPARSE_SPMAT_FILL_MODE = 0,
  CUSPARSE_SPMAT_DIAG_TYPE = 1
};
enum cusparseSpSMAlg_t : int { CUSPARSE_SPSM_ALG_DEFAULT = 0 };
using cusparseSpSMDescr_t = struct cusparseSpSMDescr*;
enum cusparseSpSVAlg_t : int { CUSPARSE_SPSV_ALG_DEFAULT = 0 };
using cusparseSpSVDescr_t = struct cusparseSpSVDescr*;
enum cusparseDiagType_t : int { CUSPARSE_DIAG_TYPE_NON_UNIT = 0 };
enum cusparseFillMode_t : int { CUSPARSE_FILL_MODE_LOWER = 0 };

extern "C" {
cusparseStatus_t cusparseCreate(cusparseHandle_t*);
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t*, std::int64_t,
                                   std::int64_t, std::int64_t, void*, void*,
                                   void*, cusparseIndexType_t,
                                   cusparseIndexBase_t, cudaDataType);
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t*, std::int64_t,
                                   std::int64_t, std::int64_t, void*, void*,
                                   void*, cusparseIndexType_t,
                                   cusparseIndexType_t, cusparseIndexBase_t,
                                   cudaDataType);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t*, std::int64_t,
                                     std::int64_t, std::int64_t, void*,
                                     cudaDataType, cusparseOrder_t);
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t*, std::int64_t, void*,
                                     cudaDataType);
cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t, int, int*);
cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t*, std::int64_t,
                                     std::int64_t, void*, void*,
                                     cusparseIndexType_t, cusparseIndexBase_t,
                                     cudaDataType);
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t, int, int, int,
                                    const void*, const int*, const int*, void*,
                                    int*, int*, cudaDataType, cusparseAction_t,
                                    cusparseIndexBase_t, cusparseCsr2CscAlg_t,
                                    void*);
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(
    cusparseHandle_t, int, int, int, const void*, const int*, const int*, void*,
    int*, int*, cudaDataType, cusparseAction_t, cusparseIndexBase_t,
    cusparseCsr2CscAlg_t, std::size_t*);
cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t, std::int64_t*,
                                std::int64_t*, std::int64_t*, void**, void**,
                                void**, cusparseIndexType_t*,
                                cusparseIndexType_t*, cusparseIndexBase_t*,
                                cudaDataType*);
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t, void*, void*,
                                        void*);
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t,
                                                cusparseConstDnMatDescr_t,
                                                cusparseSpMatDescr_t,
                                                cusparseDenseToSparseAlg_t,
                                                void*);
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t,
                                                  cusparseConstDnMatDescr_t,
                                                  cusparseSpMatDescr_t,
                                                  cusparseDenseToSparseAlg_t,
                                                  std::size_t*);
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t,
                                               cusparseConstDnMatDescr_t,
                                               cusparseSpMatDescr_t,
                                               cusparseDenseToSparseAlg_t,
                                               void*);
cusparseStatus_t cusparseDestroy(cusparseHandle_t);
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t);
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t);
cusparseStatus_t cusparseGather(cusparseHandle_t, cusparseConstDnVecDescr_t,
                                cusparseSpVecDescr_t);
cusparseStatus_t cusparseSDDMM(cusparseHandle_t, cusparseOperation_t,
                               cusparseOperation_t, const void*,
                               cusparseConstDnMatDescr_t,
                               cusparseConstDnMatDescr_t, const void*,
                               cusparseSpMatDescr_t, cudaDataType,
                               cusparseSDDMMAlg_t, void*);
cusparseStatus_t cusparseSDDMM_bufferSize(
    cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void*,
    cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t, std::size_t*);
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t,
                                        cusparsePointerMode_t);
cusparseStatus_t cusparseSetStream(cusparseHandle_t, cudaStream_t);
cusparseStatus_t cusparseSgtsv2(cusparseHandle_t, int, int, const float*,
                                const float*, const float*, float*, int, void*);
cusparseStatus_t cusparseSgtsv2_bufferSizeExt(cusparseHandle_t, int, int,
                                              const float*, const float*,
                                              const float*, const float*, int,
                                              std::size_t*);
cusparseStatus_t cusparseSpGEMM_compute(
    cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*,
    cusparseSpMatDescr_t, cudaDataType, cusparseSpGEMMAlg_t,
    cusparseSpGEMMDescr_t, std::size_t*, void*);
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t, cusparseOperation_t,
                                     cusparseOperation_t, const void*,
                                     cusparseConstSpMatDescr_t,
                                     cusparseConstSpMatDescr_t, const void*,
                                     cusparseSpMatDescr_t, cudaDataType,
                                     cusparseSpGEMMAlg_t,
                                     cusparseSpGEMMDescr_t);
cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t*);
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t);
cusparseStatus_t cusparseSpGEMM_workEstimation(
    cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*,
    cusparseSpMatDescr_t, cudaDataType, cusparseSpGEMMAlg_t,
    cusparseSpGEMMDescr_t, std::size_t*, void*);
cusparseStatus_t cusparseSpMM(cusparseHandle_t, cusparseOperation_t,
                              cusparseOperation_t, const void*,
                              cusparseConstSpMatDescr_t,
                              cusparseConstDnMatDescr_t, const void*,
                              cusparseDnMatDescr_t, cudaDataType,
                              cusparseSpMMAlg_t, void*);
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t,
                                         cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t,
                                         cusparseConstDnMatDescr_t, const void*,
                                         cusparseDnMatDescr_t, cudaDataType,
                                         cusparseSpMMAlg_t, std::size_t*);
cusparseStatus_t cusparseSpMV(cusparseHandle_t, cusparseOperation_t,
                              const void*, cusparseConstSpMatDescr_t,
                              cusparseConstDnVecDescr_t, const void*,
                              cusparseDnVecDescr_t, cudaDataType,
                              cusparseSpMVAlg_t, void*);
cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t,
                                         const void*, cusparseConstSpMatDescr_t,
                                         cusparseConstDnVecDescr_t, const void*,
                                         cusparseDnVecDescr_t, cudaDataType,
                                         cusparseSpMVAlg_t, std::size_t*);
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t, std::int64_t*,
                                      std::int64_t*, std::int64_t*);
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t,
                                           cusparseSpMatAttribute_t, void*,
                                           std::size_t);
cusparseStatus_t cusparseSpSM_analysis(
    cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
    cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, void*);
cusparseStatus_t cusparseSpSM_bufferSize(
    cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
    cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
    cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, std::size_t*);
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t*);
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t);
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t, cusparseOperation_t,
                                    cusparseOperation_t, const void*,
                                    cusparseConstSpMatDescr_t,
                                    cusparseConstDnMatDescr_t,
                                    cusparseDnMatDescr_t, cudaDataType,
                                    cusparseSpSMAlg_t, cusparseSpSMDescr_t);
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t, cusparseOperation_t,
                                       const void*, cusparseConstSpMatDescr_t,
                                       cusparseConstDnVecDescr_t,
                                       cusparseDnVecDescr_t, cudaDataType,
                                       cusparseSpSVAlg_t, cusparseSpSVDescr_t,
                                       void*);
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t, cusparseOperation_t,
                                         const void*, cusparseConstSpMatDescr_t,
                                         cusparseConstDnVecDescr_t,
                                         cusparseDnVecDescr_t, cudaDataType,
                                         cusparseSpSVAlg_t, cusparseSpSVDescr_t,
                                         std::size_t*);
cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t*);
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t);
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t, cusparseOperation_t,
                                    const void*, cusparseConstSpMatDescr_t,
                                    cusparseConstDnVecDescr_t,
                                    cusparseDnVecDescr_t, cudaDataType,
                                    cusparseSpSVAlg_t, cusparseSpSVDescr_t);
cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t, const int*, int, int, int*,
                                  cusparseIndexBase_t);
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t, int, int, int, int*,
                                       int*, int*, void*);
cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t, int, int, int,
                                                const int*, const int*,
                                                std::size_t*);
}

#endif  // CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUSPARSE_H_
