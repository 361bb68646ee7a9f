// A sparse product whose size is not known before, in the three steps of
// cusparseSpGEMM.
//
// RUN: %check %s %t %library -l:libcusparse.so.12
#include "sparse.h"

constexpr int kM = 18, kK = 25, kN = 21;

int main() {
  const Csr<double> a = Random<double>(kM, kK, 6, 6),
                    b = Random<double>(kK, kN, 9, 7);
  cusparseHandle_t handle;
  CALL(cusparseCreate(&handle));
  cusparseSpMatDescr_t ma = Describe(a), mb = Describe(b), mc;
  CALL(cusparseCreateCsr(&mc, kM, kN, 0, nullptr, nullptr, nullptr,
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  const auto no = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto how = CUSPARSE_SPGEMM_DEFAULT;
  const double two = 2, zero = 0;
  cusparseSpGEMMDescr_t product;
  CALL(cusparseSpGEMM_createDescr(&product));
  std::size_t room = 0, more = 0;
  CALL(cusparseSpGEMM_workEstimation(handle, no, no, &two, ma, mb, &zero, mc,
                                     CUDA_R_64F, how, product, &room, nullptr));
  CALL(cusparseSpGEMM_workEstimation(handle, no, no, &two, ma, mb, &zero, mc,
                                     CUDA_R_64F, how, product, &room,
                                     Zeros<char>(room + 1)));
  CALL(cusparseSpGEMM_compute(handle, no, no, &two, ma, mb, &zero, mc,
                              CUDA_R_64F, how, product, &more, nullptr));
  CALL(cusparseSpGEMM_compute(handle, no, no, &two, ma, mb, &zero, mc,
                              CUDA_R_64F, how, product, &more,
                              Zeros<char>(more + 1)));
  std::int64_t m, n, count;
  CALL(cusparseSpMatGetSize(mc, &m, &n, &count));
  EXPECT(m == kM && n == kN && count > 0);
  int *offsets = Zeros<int>(kM + 1), *indices = Zeros<int>(count);
  double* values = Zeros<double>(count);
  CALL(cusparseCsrSetPointers(mc, offsets, indices, values));
  CALL(cusparseSpGEMM_copy(handle, no, no, &two, ma, mb, &zero, mc, CUDA_R_64F,
                           how, product));
  CALL(cusparseSpGEMM_destroyDescr(product));
  const auto rows = ToHost(offsets, kM + 1), columns = ToHost(indices, count);
  const auto found = ToHost(values, count);
  std::vector<double> got(kM * kN), want(kM * kN);
  EXPECT(rows[0] == 0 && rows[kM] == count);
  for (int i = 0; i < kM; ++i) {
    for (int l = rows[i]; l < rows[i + 1]; ++l) {
      EXPECT(l == rows[i] || columns[l] > columns[l - 1]);
      got[i * kN + columns[l]] = found[l];
    }
    for (int j = 0; j < kN; ++j) {
      for (int k = 0; k < kK; ++k) {
        want[i * kN + j] += 2 * a.dense[i * kK + k] * b.dense[k * kN + j];
      }
    }
  }
  EXPECT(Near(got, want, 1e-14));
  CALL(cusparseDestroy(handle));
  return Pass();
}
