// From coordinates in any order to rows: sorted, compressed, the values
// gathered; to columns and back; three diagonals solved.
//
// RUN: %check %s %t %library -l:libcusparse.so.12
#include <algorithm>
#include <numeric>

#include "sparse.h"

constexpr int kM = 15, kN = 22;

int main() {
  const Csr<float> a = Random<float>(kM, kN, 4, 11);
  const int count = a.count();
  std::vector<int> rows, columns(count), order(count), mixed_rows(count);
  for (int i = 0; i < kM; ++i) rows.resize(a.offsets[i + 1], i);
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) {
    // 7 has no factor in common with the count.
    const int from = int((long long)i * 7 % count);
    mixed_rows[i] = rows[from];
    columns[i] = a.indices[from];
    values[i] = a.values[from];
  }
  EXPECT(count % 7 != 0);
  cusparseHandle_t handle;
  CALL(cusparseCreate(&handle));
  int *drows = ToDevice(mixed_rows), *dcolumns = ToDevice(columns);
  std::size_t room = 0;
  CALL(cusparseXcoosort_bufferSizeExt(handle, kM, kN, count, drows, dcolumns,
                                      &room));
  int* permutation = Zeros<int>(count);
  CALL(cusparseCreateIdentityPermutation(handle, count, permutation));
  CALL(cusparseXcoosortByRow(handle, kM, kN, count, drows, dcolumns,
                             permutation, Zeros<char>(room + 1)));
  float* sorted = Zeros<float>(count);
  cusparseSpVecDescr_t gathered;
  cusparseDnVecDescr_t all;
  CALL(cusparseCreateSpVec(&gathered, count, count, permutation, sorted,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                           CUDA_R_32F));
  CALL(cusparseCreateDnVec(&all, count, ToDevice(values), CUDA_R_32F));
  CALL(cusparseGather(handle, all, gathered));
  EXPECT(ToHost(sorted, count) == a.values);
  EXPECT(ToHost(dcolumns, count) == a.indices);
  int* offsets = Zeros<int>(kM + 1);
  CALL(cusparseXcoo2csr(handle, drows, count, kM, offsets,
                        CUSPARSE_INDEX_BASE_ZERO));
  EXPECT(ToHost(offsets, kM + 1) == a.offsets);
  // To columns.
  float* turned = Zeros<float>(count);
  int *column_offsets = Zeros<int>(kN + 1), *row_indices = Zeros<int>(count);
  CALL(cusparseCsr2cscEx2_bufferSize(
      handle, kM, kN, count, sorted, offsets, dcolumns, turned, column_offsets,
      row_indices, CUDA_R_32F, CUSPARSE_ACTION_NUMERIC,
      CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1, &room));
  CALL(cusparseCsr2cscEx2(handle, kM, kN, count, sorted, offsets, dcolumns,
                          turned, column_offsets, row_indices, CUDA_R_32F,
                          CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                          CUSPARSE_CSR2CSC_ALG1, Zeros<char>(room + 1)));
  const auto begins = ToHost(column_offsets, kN + 1);
  const auto row_of = ToHost(row_indices, count);
  const auto value_of = ToHost(turned, count);
  std::vector<float> dense(kM * kN);
  for (int j = 0; j < kN; ++j) {
    for (int l = begins[j]; l < begins[j + 1]; ++l) {
      dense[row_of[l] * kN + j] = value_of[l];
    }
  }
  EXPECT(dense == a.dense);
  // -x(i-1) + 4 x(i) - x(i+1) = b
  const std::vector<float> off(kN, -1), diagonal(kN, 4);
  const auto b = Numbers<float>(kN, 12);
  float *lower = ToDevice(off), *middle = ToDevice(diagonal),
        *upper = ToDevice(off), *x = ToDevice(b);
  const float none = 0;  // The first of the lower, the last of the upper.
  CHECK(cudaMemcpy(lower, &none, 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(upper + kN - 1, &none, 4, cudaMemcpyHostToDevice));
  CALL(cusparseSgtsv2_bufferSizeExt(handle, kN, 1, lower, middle, upper, x, kN,
                                    &room));
  CALL(cusparseSgtsv2(handle, kN, 1, lower, middle, upper, x, kN,
                      Zeros<char>(room + 1)));
  const auto solved = ToHost(x, kN);
  std::vector<float> product(kN);
  for (int i = 0; i < kN; ++i) {
    product[i] = 4 * solved[i] - (i > 0 ? solved[i - 1] : 0) -
                 (i + 1 < kN ? solved[i + 1] : 0);
  }
  EXPECT(Near(product, b, 1e-5));
  CALL(cusparseDestroy(handle));
  return Pass();
}
