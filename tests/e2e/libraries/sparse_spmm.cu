// Sparse matrix times many columns, by columns and by rows, of coordinates too;
// a sampled product; dense to sparse.
//
// RUN: %check %s %t %library -l:libcusparse.so.12
#include "sparse.h"

constexpr int kM = 20, kK = 30, kN = 6;

int main() {
  const Csr<float> a = Random<float>(kM, kK, 5, 4);
  cusparseHandle_t handle;
  CALL(cusparseCreate(&handle));
  const float one = 1, zero = 0;
  // B by columns, C by rows.
  const auto b = Numbers<float>(kK * kN, 5);
  float* dc = Zeros<float>(kM * kN);
  cusparseDnMatDescr_t mb, mc;
  CALL(cusparseCreateDnMat(&mb, kK, kN, kK, ToDevice(b), CUDA_R_32F,
                           CUSPARSE_ORDER_COL));
  CALL(
      cusparseCreateDnMat(&mc, kM, kN, kN, dc, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  std::vector<float> want(kM * kN);
  for (int i = 0; i < kM * kN; ++i) {
    for (int k = 0; k < kK; ++k) {
      want[i] += a.dense[i / kN * kK + k] * b[k + i % kN * kK];
    }
  }
  std::vector<int> rows;
  for (int i = 0; i < kM; ++i) {
    rows.resize(a.offsets[i + 1], i);
  }
  cusparseSpMatDescr_t coordinates;
  CALL(cusparseCreateCoo(&coordinates, kM, kK, a.count(), ToDevice(rows),
                         ToDevice(a.indices), ToDevice(a.values),
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                         CUDA_R_32F));
  for (cusparseSpMatDescr_t ma : {Describe(a), coordinates}) {
    CHECK(cudaMemset(dc, 0xff, kM * kN * sizeof(float)));
    std::size_t room = 0;
    CALL(cusparseSpMM_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                 CUSPARSE_OPERATION_NON_TRANSPOSE, &one, ma, mb,
                                 &zero, mc, CUDA_R_32F,
                                 CUSPARSE_SPMM_ALG_DEFAULT, &room));
    CALL(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                      CUSPARSE_OPERATION_NON_TRANSPOSE, &one, ma, mb, &zero, mc,
                      CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT,
                      Zeros<char>(room + 1)));
    EXPECT(Near(ToHost(dc, kM * kN), want, 1e-5));
  }
  // C B^T where A is: the same pattern, other values.
  cusparseSpMatDescr_t sampled = Describe(a);
  std::size_t room = 0;
  CALL(cusparseSDDMM_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                CUSPARSE_OPERATION_TRANSPOSE, &one, mc, mb,
                                &one, sampled, CUDA_R_32F,
                                CUSPARSE_SDDMM_ALG_DEFAULT, &room));
  CALL(cusparseSDDMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                     CUSPARSE_OPERATION_TRANSPOSE, &one, mc, mb, &one, sampled,
                     CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT,
                     Zeros<char>(room + 1)));
  std::int64_t m, n, count;
  void *offsets, *indices, *values;
  cusparseIndexType_t offset_type, index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
  CALL(cusparseCsrGet(sampled, &m, &n, &count, &offsets, &indices, &values,
                      &offset_type, &index_type, &base, &type));
  EXPECT(m == kM && n == kK && count == a.count() && type == CUDA_R_32F);
  std::vector<float> sums(a.values);
  for (int i = 0; i < a.count(); ++i) {
    for (int j = 0; j < kN; ++j) {
      sums[i] += want[rows[i] * kN + j] * b[a.indices[i] + j * kK];
    }
  }
  EXPECT(Near(ToHost(static_cast<float*>(values), count), sums, 1e-5));
  // Dense to sparse: the pattern is found again.
  cusparseDnMatDescr_t dense;
  cusparseSpMatDescr_t found;
  CALL(cusparseCreateDnMat(&dense, kM, kK, kK, ToDevice(a.dense), CUDA_R_32F,
                           CUSPARSE_ORDER_ROW));
  CALL(cusparseCreateCsr(&found, kM, kK, 0, Zeros<int>(kM + 1), nullptr,
                         nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  CALL(cusparseDenseToSparse_bufferSize(
      handle, dense, found, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &room));
  char* buffer = Zeros<char>(room + 1);
  CALL(cusparseDenseToSparse_analysis(
      handle, dense, found, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer));
  CALL(cusparseSpMatGetSize(found, &m, &n, &count));
  EXPECT(count == a.count());
  int* new_indices = Zeros<int>(count);
  float* new_values = Zeros<float>(count);
  CALL(cusparseCsrGet(found, &m, &n, &count, &offsets, &indices, &values,
                      &offset_type, &index_type, &base, &type));
  CALL(cusparseCsrSetPointers(found, offsets, new_indices, new_values));
  CALL(cusparseDenseToSparse_convert(
      handle, dense, found, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer));
  EXPECT(ToHost(new_indices, count) == a.indices);
  EXPECT(ToHost(new_values, count) == a.values);
  CALL(cusparseDestroy(handle));
  return Pass();
}
