// Triangular systems: analysed once, solved again and again as a kernel changes
// the right side; many right sides at once; values updated.
//
// RUN: %check %s %t %library -l:libcusparse.so.12
#include "sparse.h"

constexpr int kN = 40, kRight = 3;

__global__ void Double(double* values, int n) {
  if (threadIdx.x < n) values[threadIdx.x] *= 2;
}

Csr<double> Lower() {
  Csr<double> a{kN, kN};
  a.dense.resize(kN * kN);
  const auto numbers = Numbers<double>(kN * kN, 8);
  for (int i = 0; i < kN; ++i) {
    for (int j = 0; j <= i; ++j) {
      if (i != j && (i + j * 3) % 5 != 0) continue;
      a.indices.push_back(j);
      a.values.push_back(i == j ? 3 : numbers[i * kN + j]);
      a.dense[i * kN + j] = a.values.back();
    }
    a.offsets.push_back(a.count());
  }
  return a;
}

int main() {
  const Csr<double> a = Lower();
  cusparseHandle_t handle;
  CALL(cusparseCreate(&handle));
  cusparseSpMatDescr_t ma = Describe(a);
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  CALL(cusparseSpMatSetAttribute(ma, CUSPARSE_SPMAT_FILL_MODE, &fill,
                                 sizeof fill));
  CALL(cusparseSpMatSetAttribute(ma, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal,
                                 sizeof diagonal));
  auto b = Numbers<double>(kN, 9);
  double *db = ToDevice(b), *dx = Zeros<double>(kN);
  cusparseDnVecDescr_t vb, vx;
  CALL(cusparseCreateDnVec(&vb, kN, db, CUDA_R_64F));
  CALL(cusparseCreateDnVec(&vx, kN, dx, CUDA_R_64F));
  const double one = 1;
  std::size_t room = 0;
  for (const auto turn :
       {CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE}) {
    cusparseSpSVDescr_t solve;
    CALL(cusparseSpSV_createDescr(&solve));
    CALL(cusparseSpSV_bufferSize(handle, turn, &one, ma, vb, vx, CUDA_R_64F,
                                 CUSPARSE_SPSV_ALG_DEFAULT, solve, &room));
    CALL(cusparseSpSV_analysis(handle, turn, &one, ma, vb, vx, CUDA_R_64F,
                               CUSPARSE_SPSV_ALG_DEFAULT, solve,
                               Zeros<char>(room + 1)));
    for (int round = 0; round < 3; ++round) {
      CALL(cusparseSpSV_solve(handle, turn, &one, ma, vb, vx, CUDA_R_64F,
                              CUSPARSE_SPSV_ALG_DEFAULT, solve));
      const auto x = ToHost(dx, kN);
      std::vector<double> product(kN);
      for (int i = 0; i < kN * kN; ++i) {
        const bool down = turn == CUSPARSE_OPERATION_NON_TRANSPOSE;
        product[down ? i / kN : i % kN] +=
            a.dense[i] * x[down ? i % kN : i / kN];
      }
      EXPECT(Near(product, b, 1e-12));
      Double<<<1, 64>>>(db, kN);
      for (double& value : b) value *= 2;
    }
    CALL(cusparseSpSV_destroyDescr(solve));
  }
  // Many right sides.
  const auto right = Numbers<double>(kN * kRight, 10);
  double* dy = Zeros<double>(kN * kRight);
  cusparseDnMatDescr_t mb, my;
  CALL(cusparseCreateDnMat(&mb, kN, kRight, kN, ToDevice(right), CUDA_R_64F,
                           CUSPARSE_ORDER_COL));
  CALL(cusparseCreateDnMat(&my, kN, kRight, kN, dy, CUDA_R_64F,
                           CUSPARSE_ORDER_COL));
  const auto no = CUSPARSE_OPERATION_NON_TRANSPOSE;
  cusparseSpSMDescr_t solve;
  CALL(cusparseSpSM_createDescr(&solve));
  CALL(cusparseSpSM_bufferSize(handle, no, no, &one, ma, mb, my, CUDA_R_64F,
                               CUSPARSE_SPSM_ALG_DEFAULT, solve, &room));
  CALL(cusparseSpSM_analysis(handle, no, no, &one, ma, mb, my, CUDA_R_64F,
                             CUSPARSE_SPSM_ALG_DEFAULT, solve,
                             Zeros<char>(room + 1)));
  CALL(cusparseSpSM_solve(handle, no, no, &one, ma, mb, my, CUDA_R_64F,
                          CUSPARSE_SPSM_ALG_DEFAULT, solve));
  CALL(cusparseSpSM_destroyDescr(solve));
  const auto y = ToHost(dy, kN * kRight);
  std::vector<double> product(kN * kRight);
  for (int i = 0; i < kN * kRight; ++i) {
    for (int k = 0; k < kN; ++k) {
      product[i] += a.dense[i % kN * kN + k] * y[i / kN * kN + k];
    }
  }
  EXPECT(Near(product, right, 1e-12));
  CALL(cusparseDestroy(handle));
  return Pass();
}
