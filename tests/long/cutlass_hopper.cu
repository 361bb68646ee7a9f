// CUTLASS' products of matrices for compute capability 9.0: warps that copy by
// tensor map, for all blocks of a cluster at once, and warpgroups that multiply
// (wgmma), against sums on the host. All values are such that sums are exact.
#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm_universal_adapter.h>

#include <cstdio>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>
#include <type_traits>
#include <vector>

namespace {

namespace gemm = cutlass::gemm;
namespace epilogue = cutlass::epilogue;
using cute::_1;
using cute::_128;
using cute::_2;
using cute::_32;
using cute::_64;
using cute::Shape;
using Rows = cutlass::layout::RowMajor;
using Columns = cutlass::layout::ColumnMajor;

template <typename T>
T* Upload(const std::vector<T>& values) {
  T* there = nullptr;
  cudaMalloc(&there, values.size() * sizeof(T));
  cudaMemcpy(there, values.data(), values.size() * sizeof(T),
             cudaMemcpyHostToDevice);
  return there;
}

// D = 2 A B + C / 2.
template <typename T, typename LayoutA, typename LayoutB, typename Tile,
          typename Cluster, typename Schedule, typename EpilogueSchedule>
bool Check(const char* name, int m, int n, int k) {
  constexpr int kAlign = 16 / sizeof(T);
  using Epilogue = typename epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      epilogue::collective::EpilogueTileAuto, float, float, float, Rows, 4,
      float, Rows, 4, EpilogueSchedule>::CollectiveOp;
  using Mainloop = typename gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, T, LayoutA, kAlign,
      T, LayoutB, kAlign, float, Tile, Cluster,
      gemm::collective::StageCountAutoCarveout<int(
          sizeof(typename Epilogue::SharedStorage))>,
      Schedule>::CollectiveOp;
  using Kernel = gemm::kernel::GemmUniversal<Shape<int, int, int, int>,
                                             Mainloop, Epilogue>;
  using Gemm = gemm::device::GemmUniversalAdapter<Kernel>;

  std::vector<T> a(m * k), b(n * k);
  std::vector<float> of_a(m * k), of_b(n * k), c(m * n), want(m * n);
  for (int i = 0; i < m * k; ++i) {
    a[i] = T(of_a[i] = float(i * 7 % 11 - 5) / 2);
  }
  for (int i = 0; i < n * k; ++i) {
    b[i] = T(of_b[i] = float(i * 5 % 13 - 6) / 2);
  }
  for (int i = 0; i < m * n; ++i) c[i] = float(i % 9);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int x = 0; x < k; ++x) {
        sum += of_a[std::is_same_v<LayoutA, Rows> ? i * k + x : x * m + i] *
               of_b[std::is_same_v<LayoutB, Columns> ? j * k + x : x * n + j];
      }
      want[i * n + j] = 2 * sum + c[i * n + j] / 2;
    }
  }
  T* on_device_a = Upload(a);
  T* on_device_b = Upload(b);
  float* on_device_c = Upload(c);
  float* on_device_d = Upload(std::vector<float>(m * n, -7));
  const auto stride = [&](auto kind, int rows, int columns) {
    return cutlass::make_cute_packed_stride(kind, {rows, columns, 1});
  };
  typename Gemm::Arguments arguments{
      gemm::GemmUniversalMode::kGemm,
      {m, n, k, 1},
      {on_device_a, stride(typename Kernel::StrideA{}, m, k), on_device_b,
       stride(typename Kernel::StrideB{}, n, k)},
      {{2.0f, 0.5f},
       on_device_c,
       stride(typename Kernel::StrideC{}, m, n),
       on_device_d,
       stride(typename Kernel::StrideD{}, m, n)}};
  arguments.hw_info.sm_count = 4;
  Gemm product;
  void* workspace = nullptr;
  cudaMalloc(&workspace, Gemm::get_workspace_size(arguments) + 1);
  cutlass::Status status = Gemm::can_implement(arguments);
  if (status == cutlass::Status::kSuccess) {
    status = product.initialize(arguments, workspace);
  }
  if (status == cutlass::Status::kSuccess) status = product.run();
  const cudaError_t error = cudaDeviceSynchronize();
  std::vector<float> d(m * n);
  cudaMemcpy(d.data(), on_device_d, m * n * sizeof(float),
             cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < m * n; ++i) wrong += d[i] != want[i];
  if (status != cutlass::Status::kSuccess || error != cudaSuccess ||
      wrong != 0) {
    std::printf("%s: %s, %s, %d elements are wrong\n", name,
                cutlassGetStatusString(status), cudaGetErrorName(error), wrong);
    return false;
  }
  return true;
}

}  // namespace

int main() {
  bool ok = true;
  ok &= Check<cutlass::half_t, Rows, Columns, Shape<_64, _64, _64>,
              Shape<_1, _1, _1>, gemm::KernelTmaWarpSpecialized,
              epilogue::TmaWarpSpecialized>("f16", 130, 136, 200);
  ok &= Check<cutlass::bfloat16_t, Columns, Rows, Shape<_64, _128, _64>,
              Shape<_2, _1, _1>, gemm::KernelTmaWarpSpecializedPingpong,
              epilogue::TmaWarpSpecialized>("bf16, two blocks", 256, 256, 192);
  ok &= Check<cutlass::half_t, Rows, Rows, Shape<_128, _128, _64>,
              Shape<_1, _2, _1>, gemm::KernelTmaWarpSpecializedCooperative,
              epilogue::TmaWarpSpecializedCooperative>("f16, two groups", 256,
                                                       384, 128);
  ok &= Check<cutlass::tfloat32_t, Rows, Columns, Shape<_64, _64, _32>,
              Shape<_2, _2, _1>, gemm::KernelTmaWarpSpecialized,
              epilogue::TmaWarpSpecialized>("tf32, four blocks", 256, 128, 96);
  ok &= Check<cutlass::float_e4m3_t, Rows, Columns, Shape<_64, _64, _128>,
              Shape<_1, _1, _1>, gemm::KernelTmaWarpSpecialized,
              epilogue::TmaWarpSpecialized>("e4m3", 128, 64, 256);
  return ok ? 0 : 1;
}
