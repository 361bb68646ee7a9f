// Two processes, a device each: the id goes through a pipe, as it does through
// MPI or a file.
//
// RUN: env "DEVICES=gfx1100,gfx1100 gfx942,gfx942" \
// RUN:   %check %s %t %library -l:libnccl.so.2
#include <sys/wait.h>
#include <unistd.h>

#include "ranks.h"

constexpr int kN = 5000;

__global__ void Twice(float* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kN) values[i] *= 2;
}

void Work(int rank, ncclUniqueId id) {
  CHECK(cudaSetDevice(rank));
  ncclComm_t comm;
  CALL(ncclCommInitRank(&comm, 2, id, rank));
  int count = 0, me = -1, device = -1;
  CALL(ncclCommCount(comm, &count));
  CALL(ncclCommUserRank(comm, &me));
  CALL(ncclCommCuDevice(comm, &device));
  EXPECT(count == 2 && me == rank && device == rank);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  float *values = ToDevice(Values(rank, kN)), *other = Zeros<float>(kN);
  Twice<<<Blocks(kN), 128, 0, stream>>>(values);
  CALL(ncclAllReduce(values, values, kN, ncclFloat, ncclSum, comm, stream));
  // Each its own part to the other.
  CALL(ncclGroupStart());
  CALL(ncclSend(values, kN / 2 + rank, ncclFloat, 1 - rank, comm, stream));
  CALL(ncclRecv(other, kN / 2 + 1 - rank, ncclFloat, 1 - rank, comm, stream));
  CALL(ncclGroupEnd());
  CHECK(cudaStreamSynchronize(stream));
  std::vector<float> want(kN);
  for (int i = 0; i < kN; ++i) want[i] = 2 * (Value(0, i) + Value(1, i));
  EXPECT(ToHost(values, kN) == want);
  std::fill(want.begin() + kN / 2 + 1 - rank, want.end(), 0.f);
  EXPECT(ToHost(other, kN) == want);
  ncclResult_t error = ncclInternalError;
  CALL(ncclCommGetAsyncError(comm, &error));
  EXPECT(error == ncclSuccess);
  CALL(ncclCommFinalize(comm));
  CALL(ncclCommDestroy(comm));
}

int main() {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  // Before anything of CUDA.
  const pid_t child = fork();
  ncclUniqueId id;
  if (child == 0) {
    EXPECT(read(ends[0], &id, sizeof id) == sizeof id);
    Work(1, id);
    return 0;
  }
  CALL(ncclGetUniqueId(&id));
  EXPECT(write(ends[1], &id, sizeof id) == sizeof id);
  Work(0, id);
  int status = 1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  return Pass();
}
