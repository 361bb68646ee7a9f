// Boxes of a matrix, copied by a tensor map into shared memory and back.
//
// RUN: env RUN_ENV=CERBERUS_CC=9.0 %check %s %t -arch=sm_90
#include <cuda/barrier>

#include "program.h"

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cde = cuda::device::experimental;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kRows = 70, kColumns = 200, kBoxRows = 16, kBoxColumns = 32;
constexpr int kBytes = kBoxRows * kBoxColumns * sizeof(int);

// Each block doubles its box; those at the edges are smaller than others.
__global__ void Double(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) int box[kBoxRows][kBoxColumns];
  __shared__ Barrier barrier;
  const int x = blockIdx.x * kBoxColumns, y = blockIdx.y * kBoxRows;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&box, &map, x, y, barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, kBytes);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  for (int i = threadIdx.x; i < kBoxRows * kBoxColumns; i += blockDim.x) {
    int& word = box[i / kBoxColumns][i % kBoxColumns];
    // What is outside of the matrix is read as zero, and written nowhere.
    word = 2 * word + 1;
  }
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, &box);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

void Check(int* matrix, const std::vector<int>& before) {
  const std::vector<int> after = ToHost(matrix, before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT(after[i] == 2 * before[i] + 1);
  }
}

int main() {
  std::vector<int> numbers(kRows * kColumns);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = int(i * 7);
  int* matrix = ToDevice(numbers);
  alignas(64) CUtensorMap map;
  const cuuint64_t sizes[] = {kColumns, kRows};
  const cuuint64_t strides[] = {kColumns * sizeof(int)};
  const cuuint32_t box[] = {kBoxColumns, kBoxRows};
  const cuuint32_t steps[] = {1, 1};
  CHECK_DRIVER(cuTensorMapEncodeTiled(
      &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, matrix, sizes, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  const dim3 boxes((kColumns + kBoxColumns - 1) / kBoxColumns,
                   (kRows + kBoxRows - 1) / kBoxRows);
  Double<<<boxes, 128>>>(map);
  CHECK(cudaDeviceSynchronize());
  Check(matrix, numbers);

  // The same map of another matrix.
  int* other = ToDevice(numbers);
  CHECK_DRIVER(cuTensorMapReplaceAddress(&map, other));
  Double<<<boxes, 128>>>(map);
  CHECK(cudaDeviceSynchronize());
  Check(other, numbers);
  Check(matrix, numbers);
  return Pass();
}
