// Several copies in one call.
//
// RUN: %check %s %t
#include "program.h"

int main() {
  CHECK(cudaSetDevice(0));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  std::vector<int> a{1, 2, 3, 4}, b{5, 6, 7, 8, 9}, out(9);
  int* p = nullptr;
  CHECK(cudaMalloc(&p, 64));
  CUdeviceptr to[] = {CUdeviceptr(p), CUdeviceptr(p + 4)};
  CUdeviceptr from[] = {CUdeviceptr(a.data()), CUdeviceptr(b.data())};
  std::size_t sizes[] = {16, 20};
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;
  CHECK_DRIVER(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1,
                                  stream));
  CHECK(cudaMemcpyAsync(out.data(), p, 36, cudaMemcpyDefault, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < 9; ++i) EXPECT(out[i] == i + 1);
  EXPECT(cuMemcpyBatchAsync(to, from, sizes, 0, &attributes, &first, 1,
                            stream) == CUDA_ERROR_INVALID_VALUE);

  CUDA_MEMCPY3D_BATCH_OP op = {};
  op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = CUdeviceptr(p);
  op.src.op.ptr.rowLength = 12;  // bytes: rows of three words
  op.src.op.ptr.layerHeight = 3;
  op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  std::vector<int> box(6, 0);
  op.dst.op.ptr.ptr = CUdeviceptr(box.data());
  op.dst.op.ptr.rowLength = 8;
  op.dst.op.ptr.layerHeight = 3;
  op.extent = {8, 3, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CHECK_DRIVER(cuMemcpy3DBatchAsync(1, &op, 0, stream));
  CHECK(cudaStreamSynchronize(stream));
  const std::vector<int> want{1, 2, 4, 5, 7, 8};
  EXPECT(box == want);
  return Pass();
}
