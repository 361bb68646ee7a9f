// CUTLASS' products of matrices for compute capability 9.0: warps that copy by
// tensor map, for all blocks of a cluster at once, and warpgroups that multiply
// (wgmma).
#include "cutlass_product.h"

template <typename... Parts>
bool OnHopper(const char* name, int m, int n, int k) {
  return Check<cutlass::arch::Sm90, Parts...>(name, m, n, k);
}

int main() {
  bool ok = true;
  ok &= OnHopper<cutlass::half_t, Rows, Columns, Shape<_64, _64, _64>,
                 Shape<_1, _1, _1>, gemm::KernelTmaWarpSpecialized,
                 epilogue::TmaWarpSpecialized>("f16", 130, 136, 200);
  ok &=
      OnHopper<cutlass::bfloat16_t, Columns, Rows, Shape<_64, _128, _64>,
               Shape<_2, _1, _1>, gemm::KernelTmaWarpSpecializedPingpong,
               epilogue::TmaWarpSpecialized>("bf16, two blocks", 256, 256, 192);
  ok &= OnHopper<cutlass::half_t, Rows, Rows, Shape<_128, _128, _64>,
                 Shape<_1, _2, _1>, gemm::KernelTmaWarpSpecializedCooperative,
                 epilogue::TmaWarpSpecializedCooperative>("f16, two groups",
                                                          256, 384, 128);
  ok &=
      OnHopper<cutlass::tfloat32_t, Rows, Columns, Shape<_64, _64, _32>,
               Shape<_2, _2, _1>, gemm::KernelTmaWarpSpecialized,
               epilogue::TmaWarpSpecialized>("tf32, four blocks", 256, 128, 96);
  ok &= OnHopper<cutlass::float_e4m3_t, Rows, Columns, Shape<_64, _64, _128>,
                 Shape<_1, _1, _1>, gemm::KernelTmaWarpSpecialized,
                 epilogue::TmaWarpSpecialized>("e4m3", 128, 64, 256);
  return ok ? 0 : 1;
}
