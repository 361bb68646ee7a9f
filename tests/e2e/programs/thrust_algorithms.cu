// Thrust: sort, scan, reduce and transform of 100,000 elements.
//
// RUN: %check %s %t
#include "program.h"

#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <numeric>

struct Twist {
  __host__ __device__ unsigned operator()(unsigned x) const {
    return x * 2654435761u >> 12;
  }
};

int main() {
  constexpr int kCount = 100000;
  std::vector<unsigned> host(kCount);
  std::iota(host.begin(), host.end(), 1u);
  thrust::device_vector<unsigned> device(host.begin(), host.end());
  thrust::transform(device.begin(), device.end(), device.begin(), Twist());
  std::transform(host.begin(), host.end(), host.begin(), Twist());
  std::vector<unsigned> got(kCount);
  const auto same = [&] {
    thrust::copy(device.begin(), device.end(), got.begin());
    return got == host;
  };
  EXPECT(same());
  EXPECT(thrust::reduce(device.begin(), device.end()) ==
         std::accumulate(host.begin(), host.end(), 0u));
  thrust::sort(device.begin(), device.end());
  std::sort(host.begin(), host.end());
  EXPECT(same());
  thrust::inclusive_scan(device.begin(), device.end(), device.begin());
  std::partial_sum(host.begin(), host.end(), host.begin());
  EXPECT(same());
  return Pass();
}
