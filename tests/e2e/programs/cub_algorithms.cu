// CUB: a block reduction and scan, a device-wide reduction.
//
// RUN: %check %s %t
#include "program.h"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_reduce.cuh>

__global__ void Block(const int* in, int* scanned, int* sum) {
  using Scan = cub::BlockScan<int, 128>;
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Reduce::TempStorage reduce;
  const int v = in[threadIdx.x];
  int before;
  Scan(scan).ExclusiveSum(v, before);
  scanned[threadIdx.x] = before;
  const int total = Reduce(reduce).Sum(v);
  if (threadIdx.x == 0) *sum = total;
}

int main() {
  std::vector<int> in(5000);
  long long all = 0;
  for (int i = 0; i < 5000; ++i) all += in[i] = (i * 37) % 101;
  int* p = ToDevice(in);
  int* scanned = ToDevice(std::vector<int>(128));
  int* sum = ToDevice(std::vector<int>(1));
  Block<<<1, 128>>>(p, scanned, sum);
  const std::vector<int> got = ToHost(scanned, 128);
  int before = 0;
  for (int i = 0; i < 128; ++i) {
    EXPECT(got[i] == before);
    before += in[i];
  }
  EXPECT(ToHost(sum, 1)[0] == before);
  std::size_t bytes = 0;
  CHECK(cub::DeviceReduce::Sum(nullptr, bytes, p, sum, 5000));
  void* temporary = nullptr;
  CHECK(cudaMalloc(&temporary, bytes));
  CHECK(cub::DeviceReduce::Sum(temporary, bytes, p, sum, 5000));
  EXPECT(ToHost(sum, 1)[0] == all);
  return Pass();
}
