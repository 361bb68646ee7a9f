// Collective operations by AMD's RCCL between the GPUs of one process: sums,
// what one has to all, what each has to all, from one to the next. Prints PASS,
// or what was found.
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <cstdio>
#include <vector>

#include "device.h"

namespace {

constexpr std::size_t kCount = 3000;

struct Rank {
  ncclComm_t communicator = nullptr;
  hipStream_t stream = nullptr;
  float *from = nullptr, *to = nullptr;
};

// `each` puts its operations of a rank into the rank's stream; what `to` holds
// then is `expected`(rank, i).
template <typename Each, typename Expected>
bool Check(const char* what, std::vector<Rank>& ranks, std::size_t count,
           const Each& each, const Expected& expected) {
  const int n = static_cast<int>(ranks.size());
  CHECK(ncclGroupStart());
  for (int r = 0; r < n; ++r) {
    CHECK(hipSetDevice(r));
    each(ranks[r], r);
  }
  CHECK(ncclGroupEnd());
  for (int r = 0; r < n; ++r) {
    CHECK(hipSetDevice(r));
    CHECK(hipStreamSynchronize(ranks[r].stream));
    std::vector<float> got(count);
    CHECK(hipMemcpy(got.data(), ranks[r].to, count * sizeof(float),
                    hipMemcpyDeviceToHost));
    for (std::size_t i = 0; i < count; ++i) {
      if (got[i] == expected(r, i)) continue;
      std::printf("%s: rank %d, %zu: %g, not %g\n", what, r, i, got[i],
                  expected(r, i));
      return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  int n = 0;
  CHECK(hipGetDeviceCount(&n));
  std::vector<Rank> ranks(n);
  std::vector<ncclComm_t> communicators(n);
  CHECK(ncclCommInitAll(communicators.data(), n, nullptr));
  for (int r = 0; r < n; ++r) {
    CHECK(hipSetDevice(r));
    ranks[r].communicator = communicators[r];
    CHECK(hipStreamCreate(&ranks[r].stream));
    std::vector<float> numbers(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      numbers[i] = static_cast<float>(r * 10 + i % 7);
    }
    ranks[r].from = Upload(numbers);
    ranks[r].to = Upload(std::vector<float>(kCount * n));
  }
  const auto of = [](int rank, std::size_t i) {
    return static_cast<float>(rank * 10 + i % 7);
  };
  bool good = Check(
      "sum", ranks, kCount,
      [](const Rank& r, int) {
        CHECK(ncclAllReduce(r.from, r.to, kCount, ncclFloat, ncclSum,
                            r.communicator, r.stream));
      },
      [&](int, std::size_t i) {
        float sum = 0;
        for (int r = 0; r < n; ++r) sum += of(r, i);
        return sum;
      });
  good &= Check(
      "broadcast", ranks, kCount,
      [&](const Rank& r, int) {
        CHECK(ncclBroadcast(r.from, r.to, kCount, ncclFloat, n - 1,
                            r.communicator, r.stream));
      },
      [&](int, std::size_t i) { return of(n - 1, i); });
  good &= Check(
      "all to all", ranks, kCount * n,
      [](const Rank& r, int) {
        CHECK(ncclAllGather(r.from, r.to, kCount, ncclFloat, r.communicator,
                            r.stream));
      },
      [&](int, std::size_t i) {
        return of(static_cast<int>(i / kCount), i % kCount);
      });
  good &= Check(
      "ring", ranks, kCount,
      [&](const Rank& r, int rank) {
        CHECK(ncclSend(r.from, kCount, ncclFloat, (rank + 1) % n,
                       r.communicator, r.stream));
        CHECK(ncclRecv(r.to, kCount, ncclFloat, (rank + n - 1) % n,
                       r.communicator, r.stream));
      },
      [&](int rank, std::size_t i) { return of((rank + n - 1) % n, i); });
  for (const Rank& r : ranks) CHECK(ncclCommDestroy(r.communicator));
  std::puts(good ? "PASS" : "FAIL");
  return !good;
}
