// What comes behind a sum of products on the GPU: scalars, C, the epilogue,
// conversions. As the host hands it to the kernels of finish.cu, which includes
// it, too; so without the standard library.
#ifndef CERBERUS_LIBRARIES_CUBLASLT_FINISH_H_
#define CERBERUS_LIBRARIES_CUBLASLT_FINISH_H_

namespace cerberus::libraries::cublaslt {

using Int64 = long long;

// A matrix in device memory; steps count elements.
struct DeviceMatrix {
  void* first;  // null: there is none
  Int64 row, column, batch;
  int type;      // cudaDataType
  int is_array;  // first leads to a pointer for each of the batch
};

// Alpha or beta: a number, or device memory, with one for each row if `row` is
// 1.
struct DeviceScalar {
  double value;
  const void* later;
  Int64 row, batch;
};

// D := what the epilogue makes of alpha X + beta C.
struct FinishArguments {
  DeviceMatrix x, c, d, aux;
  // Where x goes before it is rounded to D's type, for sums of it.
  DeviceMatrix kept;
  DeviceScalar alpha, beta;
  int scalar_type;
  unsigned epilogue;  // bits of Epilogue
  const void* bias;
  Int64 bias_batch;
  int bias_type;
  const float *scale_of_a, *scale_of_b, *scale_of_c, *scale_of_d, *scale_of_aux;
  // Zero before the kernel begins.
  float *amax_of_d, *amax_of_aux;
  Int64 rows, columns, batches;
};

// sums[i] := the sum over X's columns of row i.
struct RowSumArguments {
  DeviceMatrix x;
  void* sums;
  Int64 sums_batch;
  int sums_type;
  Int64 rows, columns, batches;
};

// Threads of a block; rows that a thread does where bits of them share a byte.
inline constexpr unsigned kFinishThreads = 256;
inline constexpr unsigned kRowsOfByte = 8;

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_LIBRARIES_CUBLASLT_FINISH_H_
