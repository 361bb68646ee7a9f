// Sums, orders and selections by the headers of rocPRIM, hipCUB and rocThrust,
// against the host. Prints PASS, or what is wrong.
#include <hip/hip_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <cstdio>
#include <hipcub/hipcub.hpp>
#include <numeric>
#include <rocprim/rocprim.hpp>
#include <vector>

#include "device.h"

namespace {

constexpr int kCount = 20011;

std::vector<int> Numbers() {
  std::vector<int> numbers(kCount);
  for (int& one : numbers) one = static_cast<int>(Next() * 100000);
  return numbers;
}
template <typename T>
std::vector<T> Download(const T* device, std::size_t count) {
  std::vector<T> host(count);
  CHECK(
      hipMemcpy(host.data(), device, count * sizeof(T), hipMemcpyDeviceToHost));
  return host;
}
// A call that first says how much memory it needs.
template <typename Call>
void Twice(Call call) {
  std::size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  void* memory = nullptr;
  CHECK(hipMalloc(&memory, bytes));
  CHECK(call(memory, bytes));
  CHECK(hipDeviceSynchronize());
}
int Report(const char* what, bool good) {
  std::printf("%s: %s\n", what, good ? "right" : "wrong");
  return !good;
}

struct IsEven {
  __host__ __device__ bool operator()(int number) const {
    return number % 2 == 0;
  }
};
struct Squared {
  __host__ __device__ long long operator()(int number) const {
    return 1LL * number * number;
  }
};

int RocPrim() {
  const std::vector<int> numbers = Numbers();
  int *in = Upload(numbers), *out = Upload(numbers);
  Twice([&](void* memory, std::size_t& bytes) {
    return rocprim::inclusive_scan(memory, bytes, in, out, kCount,
                                   rocprim::plus<int>());
  });
  std::vector<int> sums(kCount);
  std::partial_sum(numbers.begin(), numbers.end(), sums.begin());
  int failed = Report("rocprim::inclusive_scan", Download(out, kCount) == sums);

  Twice([&](void* memory, std::size_t& bytes) {
    return rocprim::radix_sort_keys(memory, bytes, in, out, kCount);
  });
  std::vector<int> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  return failed +
         Report("rocprim::radix_sort_keys", Download(out, kCount) == sorted);
}

int HipCub() {
  const std::vector<int> numbers = Numbers();
  int *in = Upload(numbers), *out = Upload(numbers),
      *found = Upload(std::vector<int>(1));
  Twice([&](void* memory, std::size_t& bytes) {
    return hipcub::DeviceReduce::Max(memory, bytes, in, found, kCount);
  });
  int failed = Report("hipcub::DeviceReduce::Max",
                      Download(found, 1)[0] ==
                          *std::max_element(numbers.begin(), numbers.end()));

  Twice([&](void* memory, std::size_t& bytes) {
    return hipcub::DeviceSelect::If(memory, bytes, in, out, found, kCount,
                                    IsEven());
  });
  std::vector<int> even;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(even),
               IsEven());
  return failed + Report("hipcub::DeviceSelect::If",
                         Download(out, Download(found, 1)[0]) == even);
}

int RocThrust() {
  const std::vector<int> numbers = Numbers();
  thrust::device_vector<int> data(numbers.begin(), numbers.end());
  thrust::device_vector<long long> squares(kCount);
  thrust::transform(data.begin(), data.end(), squares.begin(), Squared());
  long long sum = 0;
  for (int number : numbers) sum += Squared()(number);
  int failed = Report("thrust::transform, thrust::reduce",
                      thrust::reduce(squares.begin(), squares.end()) == sum);
  thrust::sort(data.begin(), data.end(), thrust::greater<int>());
  std::vector<int> got(kCount), sorted = numbers;
  thrust::copy(data.begin(), data.end(), got.begin());
  std::sort(sorted.rbegin(), sorted.rend());
  return failed + Report("thrust::sort", got == sorted);
}

}  // namespace

int main() {
  const int failed = RocPrim() + HipCub() + RocThrust();
  if (failed == 0) std::puts("PASS");
  return failed;
}
