// CUTLASS' products of matrices for compute capability 10.0: one thread asks
// for products with sums in tensor memory (tcgen05), of one block or of a pair.
#include "cutlass_product.h"

template <typename... Parts>
bool OnBlackwell(const char* name, int m, int n, int k) {
  return Check<cutlass::arch::Sm100, Parts...>(name, m, n, k);
}

int main() {
  bool ok = true;
  ok &= OnBlackwell<cutlass::half_t, Rows, Columns, Shape<_64, _64, _64>,
                    Shape<_1, _1, _1>, gemm::KernelTmaWarpSpecialized1SmSm100,
                    epilogue::TmaWarpSpecialized1Sm>("f16", 130, 136, 200);
  ok &= OnBlackwell<cutlass::bfloat16_t, Columns, Rows, Shape<_128, _64, _64>,
                    Shape<_1, _1, _1>, gemm::KernelTmaWarpSpecialized1SmSm100,
                    epilogue::TmaWarpSpecialized1Sm>("bf16", 256, 128, 128);
  ok &= OnBlackwell<cutlass::tfloat32_t, Rows, Columns, Shape<_128, _64, _32>,
                    Shape<_2, _1, _1>, gemm::KernelTmaWarpSpecialized1SmSm100,
                    epilogue::TmaWarpSpecialized1Sm>("tf32, two blocks", 256,
                                                     128, 96);
  ok &=
      OnBlackwell<cutlass::float_e4m3_t, Rows, Columns, Shape<_128, _64, _128>,
                  Shape<_1, _2, _1>, gemm::KernelTmaWarpSpecialized1SmSm100,
                  epilogue::TmaWarpSpecialized1Sm>("e4m3", 128, 128, 256);
  ok &= OnBlackwell<cutlass::half_t, Rows, Rows, Shape<_256, _64, _64>,
                    Shape<_2, _1, _1>, gemm::KernelTmaWarpSpecialized2SmSm100,
                    epilogue::TmaWarpSpecialized2Sm>("f16, a pair", 256, 128,
                                                     128);
  ok &= OnBlackwell<cutlass::half_t, Rows, Columns, Shape<_128, _64, _64>,
                    Shape<_2, _2, _1>, gemm::KernelTmaWarpSpecialized2SmSm100,
                    epilogue::TmaWarpSpecialized2Sm>("f16, two pairs", 256, 128,
                                                     128);
  return ok ? 0 : 1;
}
