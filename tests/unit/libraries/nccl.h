// Calls of NCCL as a program makes them, by ranks on three devices.
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_NCCL_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_NCCL_H_

#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/typed.h"

namespace cerberus::libraries::tests::nccl {

inline constexpr int kRanks = 3;
// ncclResult_t.
enum { kSuccess = 0, kInvalidArgument = 4, kInvalidUsage = 5 };
// ncclRedOp_t.
enum { kSum, kProd, kMax, kMin, kAvg };
inline constexpr int kInt32 = 2, kFloat32 = 7;  // ncclDataType_t

inline std::set<std::string>& Asked() {
  static std::set<std::string> names;
  return names;
}
inline void* Symbol(const std::string& name) {
  static void* const library = dlopen("libnccl.so.2", RTLD_NOW);
  void* symbol = library != nullptr ? dlsym(library, name.c_str()) : nullptr;
  if (symbol == nullptr) {
    ADD_FAILURE() << name << ": " << dlerror();
    std::abort();
  }
  return symbol;
}
template <typename R = int, typename... A>
R Call(const std::string& name, A... arguments) {
  static std::mutex mutex;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    Asked().insert(name);
  }
  return reinterpret_cast<R (*)(A...)>(Symbol(name))(arguments...);
}

using Comm = void*;
struct UniqueId {
  char bytes[128];
};

// A device's context and a stream of its own.
struct Rank {
  void *context = nullptr, *stream = nullptr;
  Comm comm = nullptr;

  void Use() const { ASSERT_EQ(Cuda("cuCtxSetCurrent", context), 0); }
  void Synchronize() const {
    Use();
    ASSERT_EQ(Cuda("cuStreamSynchronize", stream), 0);
  }
};

class Memory {
 public:
  Memory(const Rank& rank, const Bytes& bytes)
      : rank_(rank), size_(bytes.size()) {
    rank.Use();
    EXPECT_EQ(Cuda("cuMemAlloc_v2", &address_, size_ + 1), 0);
    Upload(get(), bytes.data(), size_);
  }
  ~Memory() {
    rank_.Use();
    EXPECT_EQ(Cuda("cuMemFree_v2", address_), 0);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::uint8_t* get() const {
    return reinterpret_cast<std::uint8_t*>(address_);
  }
  Bytes Read() const {
    rank_.Synchronize();
    Bytes out(size_);
    Download(out.data(), get(), size_);
    return out;
  }

 private:
  const Rank& rank_;
  const std::size_t size_;
  std::uint64_t address_ = 0;
};
using Memories = std::vector<std::unique_ptr<Memory>>;

class Nccl : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Cuda("cuInit", 0u), 0);
    for (int i = 0; i < kRanks; ++i) {
      Rank& rank = ranks_[i];
      ASSERT_EQ(Cuda("cuDevicePrimaryCtxRetain", &rank.context, i), 0);
      rank.Use();
      ASSERT_EQ(Cuda("cuStreamCreate", &rank.stream, 1u), 0);
    }
    Comm comms[kRanks];
    const int devices[] = {0, 1, 2};
    ASSERT_EQ(Call("ncclCommInitAll", comms, kRanks, devices), kSuccess);
    for (int i = 0; i < kRanks; ++i) ranks_[i].comm = comms[i];
  }
  void TearDown() override {
    // All are done before one goes, from whose memory others may read.
    for (const Rank& rank : ranks_) rank.Synchronize();
    for (Rank& rank : ranks_) {
      rank.Use();
      if (rank.comm != nullptr) {
        EXPECT_EQ(Call("ncclCommFinalize", rank.comm), kSuccess);
        EXPECT_EQ(Call("ncclCommDestroy", rank.comm), kSuccess);
      }
      EXPECT_EQ(Cuda("cuStreamDestroy_v2", rank.stream), 0);
    }
  }
  // `call` for each rank, as one group.
  void Together(const std::function<int(int, const Rank&)>& call) {
    ASSERT_EQ(Call("ncclGroupStart"), kSuccess);
    for (int i = 0; i < kRanks; ++i) EXPECT_EQ(call(i, ranks_[i]), kSuccess);
    ASSERT_EQ(Call("ncclGroupEnd"), kSuccess);
  }
  Memories Upload(const std::vector<Bytes>& of_ranks) {
    Memories out;
    for (int i = 0; i < kRanks; ++i) {
      out.push_back(std::make_unique<Memory>(
          ranks_[i], of_ranks[static_cast<std::size_t>(i)]));
    }
    return out;
  }

  Rank ranks_[kRanks];
};

inline Bytes Ints(const std::vector<int>& values) {
  Bytes out;
  for (const int value : values) Append(value, &out);
  return out;
}
// Rank r's elements: 100 r + 10 b + i for element i of block b.
inline Bytes Blocks(int rank, int blocks, int count) {
  std::vector<int> out;
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < count; ++i) out.push_back(100 * rank + 10 * b + i);
  }
  return Ints(out);
}

}  // namespace cerberus::libraries::tests::nccl

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_NCCL_H_
