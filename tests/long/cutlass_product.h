// A product of matrices by CUTLASS' collective builders, against sums on the
// host: 2 A B + C / 2. All values are such that sums are exact.
#ifndef CERBERUS_TESTS_CUTLASS_PRODUCT_H_
#define CERBERUS_TESTS_CUTLASS_PRODUCT_H_

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
using cute::_256;
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

template <typename Arch, typename T, typename LayoutA, typename LayoutB,
          typename Tile, typename Cluster, typename Schedule,
          typename EpilogueSchedule>
bool Check(const char* name, int m, int n, int k) {
  constexpr int kAlign = 16 / sizeof(T);
  using Epilogue = typename epilogue::collective::CollectiveBuilder<
      Arch, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      epilogue::collective::EpilogueTileAuto, float, float, float, Rows, 4,
      float, Rows, 4, EpilogueSchedule>::CollectiveOp;
  using Mainloop = typename gemm::collective::CollectiveBuilder<
      Arch, cutlass::arch::OpClassTensorOp, T, LayoutA, kAlign, T, LayoutB,
      kAlign, float, Tile, Cluster,
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

#endif  // CERBERUS_TESTS_CUTLASS_PRODUCT_H_
