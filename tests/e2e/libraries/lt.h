// What the programs of cuBLASLt share: descriptions that go with their scope.
#include <cublasLt.h>

#include "library.h"

struct Layout {
  cublasLtMatrixLayout_t layout = nullptr;
  Layout(cudaDataType_t type, int rows, int columns, int ld) {
    CALL(cublasLtMatrixLayoutCreate(&layout, type, rows, columns, ld));
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout); }
  template <typename T>
  void Set(cublasLtMatrixLayoutAttribute_t name, T value) {
    CALL(cublasLtMatrixLayoutSetAttribute(layout, name, &value, sizeof value));
  }
};

struct Matmul {
  cublasLtMatmulDesc_t matmul = nullptr;
  Matmul(cublasComputeType_t compute, cudaDataType_t scale) {
    CALL(cublasLtMatmulDescCreate(&matmul, compute, scale));
  }
  ~Matmul() { cublasLtMatmulDescDestroy(matmul); }
  template <typename T>
  void Set(cublasLtMatmulDescAttributes_t name, T value) {
    CALL(cublasLtMatmulDescSetAttribute(matmul, name, &value, sizeof value));
  }
};

// As programs do: the first algorithm of those that are found for a workspace
// of so many bytes.
template <typename Scale>
void Run(cublasLtHandle_t handle, Matmul& matmul, Scale alpha, const void* a,
         Layout& la, const void* b, Layout& lb, Scale beta, const void* c,
         Layout& lc, void* d, Layout& ld, cudaStream_t stream) {
  const std::size_t room = 1 << 20;
  static void* const workspace = Zeros<char>(room);
  cublasLtMatmulPreference_t preference;
  CALL(cublasLtMatmulPreferenceCreate(&preference));
  CALL(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
      sizeof room));
  cublasLtMatmulHeuristicResult_t found[4];
  int count = 0;
  CALL(cublasLtMatmulAlgoGetHeuristic(handle, matmul.matmul, la.layout,
                                      lb.layout, lc.layout, ld.layout,
                                      preference, 4, found, &count));
  EXPECT(count > 0 && found[0].state == CUBLAS_STATUS_SUCCESS &&
         found[0].workspaceSize <= room);
  CALL(cublasLtMatmul(handle, matmul.matmul, &alpha, a, la.layout, b, lb.layout,
                      &beta, c, lc.layout, d, ld.layout, &found[0].algo,
                      workspace, room, stream));
  CALL(cublasLtMatmulPreferenceDestroy(preference));
}
