// Streams that wait for words and write them.
//
// RUN: %check %s %t
#include "program.h"

int main() {
  CHECK(cudaSetDevice(0));
  int supported = 0;
  CHECK_DRIVER(cuDeviceGetAttribute(
      &supported, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
  EXPECT(supported == 1);
  CUstream first, second;
  CHECK_DRIVER(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK_DRIVER(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CUdeviceptr words, data;
  CHECK_DRIVER(cuMemAlloc(&words, 64));
  CHECK_DRIVER(cuMemAlloc(&data, 64));
  CHECK_DRIVER(cuMemsetD32(words, 0, 16));
  CHECK_DRIVER(cuMemsetD32(data, 1, 16));

  // The set runs only when the other stream has written the word.
  CHECK_DRIVER(
      cuStreamWaitValue32(first, words, 5, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK_DRIVER(cuMemsetD32Async(data, 2, 16, first));
  unsigned seen = 0;
  CHECK_DRIVER(cuMemcpyDtoHAsync(&seen, data, 4, second));
  CHECK_DRIVER(cuStreamSynchronize(second));
  EXPECT(seen == 1);
  EXPECT(cuStreamQuery(first) == CUDA_ERROR_NOT_READY);
  CHECK_DRIVER(cuStreamWriteValue32(second, words, 6, 0));
  CHECK_DRIVER(cuStreamSynchronize(first));
  CHECK_DRIVER(cuMemcpyDtoH(&seen, data, 4));
  EXPECT(seen == 2);

  CUstreamBatchMemOpParams ops[3] = {};
  ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  ops[0].writeValue.address = words + 8;
  ops[0].writeValue.value64 = 0x123456789abcull;
  ops[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  ops[1].waitValue.address = words + 8;
  ops[1].waitValue.value64 = 0x123456789abcull;
  ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  ops[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  ops[2].writeValue.address = words + 16;
  ops[2].writeValue.value = 77;
  CHECK_DRIVER(cuStreamBatchMemOp(second, 3, ops, 0));
  CHECK_DRIVER(cuStreamWaitValue32(first, words + 16, 8,
                                   CU_STREAM_WAIT_VALUE_AND));
  CHECK_DRIVER(cuStreamSynchronize(first));
  unsigned all[8];
  CHECK_DRIVER(cuMemcpyDtoH(all, words, sizeof all));
  EXPECT(all[0] == 6 && all[2] == 0x56789abc && all[3] == 0x1234 &&
         all[4] == 77);
  EXPECT(cuStreamWriteValue32(first, words + 1, 0, 0) ==
         CUDA_ERROR_INVALID_VALUE);
  return Pass();
}
