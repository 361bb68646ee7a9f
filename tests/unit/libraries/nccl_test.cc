// Ranks on three devices of one process: each operation in each type, in place
// and not, from one thread in groups and from a thread for each rank, in the
// order of streams and in graphs.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "tests/unit/libraries/cublas.h"
#include "tests/unit/libraries/typed.h"

namespace cerberus::libraries::tests::nccl {
namespace {

constexpr int kRanks = 3;
// ncclResult_t.
enum { kSuccess = 0, kInvalidArgument = 4, kInvalidUsage = 5 };
// ncclRedOp_t.
enum { kSum, kProd, kMax, kMin, kAvg };
constexpr int kInt32 = 2, kFloat32 = 7;  // ncclDataType_t

std::set<std::string>& Asked() {
  static std::set<std::string> names;
  return names;
}
void* Symbol(const std::string& name) {
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
    for (Rank& rank : ranks_) {
      rank.Synchronize();
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

Bytes Ints(const std::vector<int>& values) {
  Bytes out;
  for (const int value : values) Append(value, &out);
  return out;
}
// Rank r's elements: 100 r + 10 b + i for element i of block b.
Bytes Blocks(int rank, int blocks, int count) {
  std::vector<int> out;
  for (int b = 0; b < blocks; ++b) {
    for (int i = 0; i < count; ++i) out.push_back(100 * rank + 10 * b + i);
  }
  return Ints(out);
}

struct Type {
  int nccl, cuda;
  double largest;
};
// Unsigned ones and 64 bits are written by hand below.
const Type kTypes[] = {{0, kI8, 3},  {kInt32, kI32, 9}, {6, kR16, 9},
                       {7, kR32, 9}, {8, kR64, 9},      {9, kB16, 4}};

double Combined(int op, const std::vector<double>& values) {
  double out = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    switch (op) {
      case kProd: out *= values[i]; break;
      case kMax: out = std::max(out, values[i]); break;
      case kMin: out = std::min(out, values[i]); break;
      default: out += values[i];
    }
  }
  return op == kAvg ? out / static_cast<double>(values.size()) : out;
}

TEST_F(Nccl, AllReduceOfEachTypeAndOperation) {
  Numbers numbers;
  for (const Type& type : kTypes) {
    for (const int op : {kSum, kProd, kMax, kMin, kAvg}) {
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{37}}) {
        for (const bool in_place : {false, true}) {
          std::vector<std::vector<Complex64>> values(kRanks);
          std::vector<Bytes> bytes, zeros;
          for (auto& of_rank : values) {
            for (std::size_t i = 0; i < count; ++i) {
              // Averages come out whole.
              const double value =
                  std::round(numbers.Next() * type.largest / 2);
              of_rank.emplace_back(op == kAvg ? 3 * std::round(value / 3)
                                              : value);
            }
            bytes.push_back(Encoded(type.cuda, of_rank));
            zeros.emplace_back(bytes.back().size());
          }
          std::vector<Complex64> want;
          for (std::size_t i = 0; i < count; ++i) {
            want.emplace_back(
                Combined(op, {values[0][i].real(), values[1][i].real(),
                              values[2][i].real()}));
          }
          const Memories in = Upload(bytes), out = Upload(zeros);
          Together([&](int i, const Rank& rank) {
            const auto at = static_cast<std::size_t>(i);
            return Call("ncclAllReduce", in[at]->get(),
                        (in_place ? in : out)[at]->get(), count, type.nccl, op,
                        rank.comm, rank.stream);
          });
          for (const auto& memory : in_place ? in : out) {
            EXPECT_EQ(memory->Read(), Encoded(type.cuda, want))
                << "type " << type.nccl << ", op " << op;
          }
        }
      }
    }
  }
}

// Integers wrap around; unsigned ones are so; 8-bit floats round once.
TEST_F(Nccl, AllReduceOfOtherTypes) {
  const auto expect = [&](int type, int op, const std::vector<Bytes>& in,
                          std::size_t count, const Bytes& want) {
    const Memories memory = Upload(in);
    Together([&](int i, const Rank& rank) {
      auto* at = memory[static_cast<std::size_t>(i)]->get();
      return Call("ncclAllReduce", at, at, count, type, op, rank.comm,
                  rank.stream);
    });
    for (const auto& one : memory) EXPECT_EQ(one->Read(), want) << type;
  };
  const auto wide = [](std::uint64_t value) {
    Bytes out;
    Append(value, &out);
    return out;
  };
  expect(1, kMax, {{200, 1}, {100, 255}, {0, 7}}, 2, {200, 255});
  expect(1, kSum, {{200, 1}, {100, 255}, {0, 7}}, 2, {44, 7});
  expect(1, kAvg, {{200, 1}, {10, 2}, {0, 8}}, 2, {70, 3});
  expect(3, kMin, {Ints({-1, 5}), Ints({7, -2}), Ints({9, 6})}, 2,
         Ints({7, 5}));
  expect(4, kProd, {wide(1ull << 40), wide(1ull << 10), wide(3)}, 1,
         wide(3ull << 50));
  expect(4, kMin, {wide(5), wide(~0ull), wide(7)}, 1, wide(~0ull));
  expect(5, kMin, {wide(5), wide(~0ull), wide(7)}, 1, wide(5));
  // OCP's E4M3: 0x38 is 1, 0x40 is 2, 0x48 is 4; E5M2: 0x3c is 1, 0x40 is 2.
  expect(10, kSum, {{0x38}, {0x38}, {0x40}}, 1, {0x48});
  expect(11, kSum, {{0x3c}, {0x3c}, {0x40}}, 1, {0x44});
}

TEST_F(Nccl, WhereBlocksGo) {
  constexpr std::size_t kCount = 4;
  const auto all = [&](int blocks) {
    std::vector<Bytes> out;
    for (int i = 0; i < kRanks; ++i) {
      out.push_back(Blocks(i, blocks, kCount));
    }
    return out;
  };
  const auto room = [](int blocks) {
    return std::vector<Bytes>(kRanks,
                              Ints(std::vector<int>(blocks * kCount, -1)));
  };
  const auto joined = [](const std::vector<Bytes>& parts) {
    Bytes out;
    for (const Bytes& part : parts) {
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  };
  const auto block = [](int rank, int b) {
    std::vector<int> out;
    for (int i = 0; i < static_cast<int>(kCount); ++i) {
      out.push_back(100 * rank + 10 * b + i);
    }
    return Ints(out);
  };
  const Bytes untouched = room(1)[0];
  const Bytes gathered = joined({block(0, 0), block(1, 0), block(2, 0)});
  for (const std::string end : {"", "Config"}) {
    const auto call = [&](const std::string& name, const Memories& in,
                          const Memories& out, auto... rest) {
      Together([&](int i, const Rank& rank) {
        const auto at = static_cast<std::size_t>(i);
        void* const none = nullptr;
        return end.empty()
                   ? Call(name, in[at]->get(), out[at]->get(), kCount, kInt32,
                          rest..., rank.comm, rank.stream)
                   : Call(name + end, in[at]->get(), out[at]->get(), kCount,
                          kInt32, rest..., rank.comm, rank.stream, none);
      });
    };
    for (const int root : {0, 2}) {
      const Memories in = Upload(all(1)), blocks = Upload(all(3)),
                     out = Upload(room(1)), wide = Upload(room(3));
      call("ncclBroadcast", in, out, root);
      for (const auto& memory : out) EXPECT_EQ(memory->Read(), block(root, 0));
      call("ncclGather", in, wide, root);
      call("ncclScatter", blocks, out, root);
      for (int i = 0; i < kRanks; ++i) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_EQ(wide[at]->Read(), i == root ? gathered : room(3)[0]);
        EXPECT_EQ(out[at]->Read(), block(root, i));
      }
      const Memories reduced = Upload(room(1));
      call("ncclReduce", in, reduced, kMax, root);
      for (int i = 0; i < kRanks; ++i) {
        EXPECT_EQ(reduced[static_cast<std::size_t>(i)]->Read(),
                  i == root ? block(2, 0) : untouched);
      }
    }
    const Memories in = Upload(all(1)), blocks = Upload(all(3)),
                   out = Upload(room(1)), wide = Upload(room(3));
    call("ncclAllGather", in, wide);
    for (const auto& memory : wide) EXPECT_EQ(memory->Read(), gathered);
    call("ncclReduceScatter", blocks, out, kMax);
    for (int i = 0; i < kRanks; ++i) {
      EXPECT_EQ(out[static_cast<std::size_t>(i)]->Read(), block(2, i));
    }
    call("ncclAllReduce", in, out, kMin);
    for (const auto& memory : out) EXPECT_EQ(memory->Read(), block(0, 0));
    // In place as well.
    for (const Memories* to : {&wide, &blocks}) {
      call("ncclAlltoAll", blocks, *to);
      for (int i = 0; i < kRanks; ++i) {
        EXPECT_EQ((*to)[static_cast<std::size_t>(i)]->Read(),
                  joined({block(0, i), block(1, i), block(2, i)}));
      }
    }
  }
  // In place: a rank's block stands where it belongs in the whole.
  const Memories wide = Upload(all(3));
  Together([&](int i, const Rank& rank) {
    auto* memory = wide[static_cast<std::size_t>(i)]->get();
    return Call("ncclAllGather", memory + i * kCount * sizeof(int), memory,
                kCount, kInt32, rank.comm, rank.stream);
  });
  for (const auto& memory : wide) {
    EXPECT_EQ(memory->Read(), joined({block(0, 0), block(1, 1), block(2, 2)}));
  }
  const Memories one = Upload(all(1));
  Together([&](int i, const Rank& rank) {
    return Call("ncclBcast", one[static_cast<std::size_t>(i)]->get(), kCount,
                kInt32, 1, rank.comm, rank.stream);
  });
  for (const auto& memory : one) EXPECT_EQ(memory->Read(), block(1, 0));
}

// Round a ring, both ways at once, and to oneself: all in one group.
TEST_F(Nccl, SendAndReceive) {
  constexpr std::size_t kCount = 5;
  std::vector<Bytes> values, none;
  for (int i = 0; i < kRanks; ++i) {
    values.push_back(Blocks(i, 1, kCount));
    none.emplace_back(values[0].size());
  }
  const Memories in = Upload(values), right = Upload(none), left = Upload(none),
                 own = Upload(none);
  Together([&](int i, const Rank& rank) {
    const auto at = static_cast<std::size_t>(i);
    const int next = (i + 1) % kRanks, before = (i + 2) % kRanks;
    int failed = 0;
    const auto send = [&](int peer) {
      failed += Call("ncclSend", in[at]->get(), kCount, kInt32, peer, rank.comm,
                     rank.stream);
    };
    const auto receive = [&](const Memories& to, int peer) {
      failed += Call("ncclRecv", to[at]->get(), kCount, kInt32, peer, rank.comm,
                     rank.stream);
    };
    send(next), send(before), send(i);
    receive(own, i), receive(left, before), receive(right, next);
    return failed;
  });
  for (int i = 0; i < kRanks; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(own[at]->Read(), values[at]);
    EXPECT_EQ(right[at]->Read(), values[(at + 1) % kRanks]);
    EXPECT_EQ(left[at]->Read(), values[(at + 2) % kRanks]);
  }
}

TEST_F(Nccl, OwnOperations) {
  std::vector<Bytes> values;
  for (int i = 0; i < kRanks; ++i) {
    values.push_back(Encoded(kR32, {Complex64(i + 1), Complex64(2)}));
  }
  const Memories memory = Upload(values);
  const Memory factor(ranks_[2], Encoded(kR32, {Complex64(100)}));
  int ops[kRanks];
  for (int i = 0; i < kRanks; ++i) {
    float of_host = i == 0 ? 1.0f : 10.0f;
    // The last one's lies on its device.
    EXPECT_EQ(Call("ncclRedOpCreatePreMulSum", &ops[i],
                   i == 2 ? static_cast<void*>(factor.get()) : &of_host,
                   kFloat32, i == 2 ? 0 : 1, ranks_[i].comm),
              kSuccess);
  }
  Together([&](int i, const Rank& rank) {
    auto* at = memory[static_cast<std::size_t>(i)]->get();
    return Call("ncclAllReduce", at, at, std::size_t{2}, kFloat32, ops[i],
                rank.comm, rank.stream);
  });
  for (const auto& one : memory) {
    EXPECT_EQ(one->Read(), Encoded(kR32, {Complex64(321), Complex64(222)}));
  }
  // Of another type they are none.
  EXPECT_EQ(
      Call("ncclAllReduce", memory[0]->get(), memory[0]->get(), std::size_t{1},
           kInt32, ops[0], ranks_[0].comm, ranks_[0].stream),
      kInvalidArgument);
  for (int i = 0; i < kRanks; ++i) {
    EXPECT_EQ(Call("ncclRedOpDestroy", ops[i], ranks_[i].comm), kSuccess);
    EXPECT_EQ(Call("ncclRedOpDestroy", ops[i], ranks_[i].comm),
              kInvalidArgument);
  }
}

// Without groups, from a thread for each rank, behind what each stream does.
TEST_F(Nccl, AThreadForEachRank) {
  UniqueId id;
  ASSERT_EQ(Call("ncclGetUniqueId", &id), kSuccess);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  const Memories memory = Upload(std::vector<Bytes>(kRanks, Bytes(400)));
  for (int i = 0; i < kRanks; ++i) {
    threads.emplace_back([&, i] {
      const Rank& rank = ranks_[i];
      rank.Use();
      Comm comm = nullptr;
      wrong += i == 0   ? Call("ncclCommInitRank", &comm, kRanks, id, i)
               : i == 1 ? Call("ncclCommInitRankConfig", &comm, kRanks, id, i,
                               static_cast<void*>(nullptr))
                        : Call("ncclCommInitRankScalable", &comm, kRanks, i, 1,
                               &id, static_cast<void*>(nullptr));
      int told = -1;
      wrong += Call("ncclCommUserRank", comm, &told) + (told != i);
      wrong += Call("ncclCommCount", comm, &told) + (told != kRanks);
      wrong += Call("ncclCommCuDevice", comm, &told) + (told != i);
      auto* at = memory[static_cast<std::size_t>(i)]->get();
      for (int step = 1; step <= 50; ++step) {
        // 32-bit words of step times rank plus one.
        wrong += Cuda("cuMemsetD32Async", reinterpret_cast<std::uint64_t>(at),
                      static_cast<unsigned>(step * (i + 1)), std::size_t{100},
                      rank.stream);
        wrong += Call("ncclAllReduce", at, at, std::size_t{100}, kInt32, kSum,
                      comm, rank.stream);
        std::vector<int> got(100);
        wrong += Cuda("cuMemcpyDtoHAsync_v2", got.data(),
                      reinterpret_cast<std::uint64_t>(at), std::size_t{400},
                      rank.stream);
        wrong += Cuda("cuStreamSynchronize", rank.stream);
        wrong += got != std::vector<int>(100, 6 * step);
      }
      wrong += Call("ncclCommDestroy", comm);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// In a group one thread may make all, too; a rank twice is none.
TEST_F(Nccl, RanksOfAGroup) {
  UniqueId id;
  ASSERT_EQ(Call("ncclGetUniqueId", &id), kSuccess);
  Comm comms[kRanks] = {}, again = nullptr;
  Together([&](int i, const Rank& rank) {
    rank.Use();
    return Call("ncclCommInitRank", &comms[i], kRanks, id, i);
  });
  const Memories memory = Upload({Ints({1}), Ints({10}), Ints({100})});
  for (int i = 0; i < kRanks; ++i) {
    auto* at = memory[static_cast<std::size_t>(i)]->get();
    EXPECT_EQ(Call("ncclAllReduce", at, at, std::size_t{1}, kInt32, kSum,
                   comms[i], ranks_[i].stream),
              kSuccess);
  }
  for (const auto& one : memory) EXPECT_EQ(one->Read(), Ints({111}));
  for (Comm comm : comms) EXPECT_EQ(Call("ncclCommDestroy", comm), kSuccess);
  ASSERT_EQ(Call("ncclGetUniqueId", &id), kSuccess);
  ASSERT_EQ(Call("ncclGroupStart"), kSuccess);
  EXPECT_EQ(Call("ncclCommInitRank", &comms[0], 2, id, 0), kSuccess);
  EXPECT_EQ(Call("ncclCommInitRank", &again, 2, id, 0), kInvalidUsage);
  EXPECT_EQ(Call("ncclCommInitRank", &comms[1], 2, id, 1), kSuccess);
  ASSERT_EQ(Call("ncclGroupEnd"), kSuccess);
  for (Comm comm : {comms[0], comms[1]}) {
    EXPECT_EQ(Call("ncclCommDestroy", comm), kSuccess);
  }
}

// What each of the ranks does that are in processes of their own, or two in
// one. Returns how much of it was wrong.
int ActAsRank(int me, const UniqueId& id, const Rank& rank) {
  int wrong = 0;
  Comm comm = nullptr, pair = nullptr;
  rank.Use();
  wrong += Call("ncclCommInitRank", &comm, kRanks, id, me);
  // More than a page, and nothing at all.
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{3000}}) {
    const std::vector<int> own(count, 1 << me);
    const Memory in(rank, Ints(own)), out(rank, Ints(own)),
        wide(rank, Ints(std::vector<int>(kRanks * count)));
    wrong += Call("ncclAllReduce", in.get(), out.get(), count, kInt32, kSum,
                  comm, rank.stream);
    wrong += Call("ncclAllGather", in.get(), wide.get(), count, kInt32, comm,
                  rank.stream);
    wrong += out.Read() != Ints(std::vector<int>(count, 7));
    std::vector<int> want;
    for (int i = 0; i < kRanks; ++i) want.insert(want.end(), count, 1 << i);
    wrong += wide.Read() != Ints(want);
    wrong += Call("ncclReduce", in.get(), out.get(), count, kInt32, kMax, 1,
                  comm, rank.stream);
    wrong += out.Read() != Ints(std::vector<int>(count, me == 1 ? 4 : 7));
    // Round a ring.
    wrong += Call("ncclGroupStart");
    wrong += Call("ncclSend", in.get(), count, kInt32, (me + 1) % kRanks, comm,
                  rank.stream);
    wrong += Call("ncclRecv", out.get(), count, kInt32, (me + 2) % kRanks, comm,
                  rank.stream);
    wrong += Call("ncclGroupEnd");
    wrong +=
        out.Read() != Ints(std::vector<int>(count, 1 << ((me + 2) % kRanks)));
  }
  float factor = static_cast<float>(me);
  int op = 0;
  const Memory value(rank, Encoded(kR32, {Complex64(10)}));
  wrong += Call("ncclRedOpCreatePreMulSum", &op, &factor, kFloat32, 1, comm);
  wrong += Call("ncclAllReduce", value.get(), value.get(), std::size_t{1},
                kFloat32, op, comm, rank.stream);
  wrong += value.Read() != Encoded(kR32, {Complex64(30)});
  wrong += Call("ncclCommSplit", comm, me == 0 ? -1 : 3, -me, &pair,
                static_cast<void*>(nullptr));
  wrong += (pair == nullptr) != (me == 0);
  if (pair != nullptr) {
    int place = -1;
    const Memory mine(rank, Ints({me}));
    wrong += Call("ncclCommUserRank", pair, &place) + (place != 2 - me);
    wrong += Call("ncclBcast", mine.get(), std::size_t{1}, kInt32, 0, pair,
                  rank.stream);
    wrong += mine.Read() != Ints({2});
    wrong += Call("ncclCommDestroy", pair);
  }
  rank.Synchronize();
  wrong += Call("ncclCommDestroy", comm);
  return wrong;
}

// Rank 2 is this program, started anew.
TEST_F(Nccl, SeveralProcesses) {
  UniqueId id;
  ASSERT_EQ(Call("ncclGetUniqueId", &id), kSuccess);
  const std::string name(id.bytes, 8 + 32);
  const std::string command = "NCCL_TEST_ID=" + name + " /proc/" +
                              std::to_string(::getpid()) +
                              "/exe --gtest_also_run_disabled_tests "
                              "--gtest_filter=Nccl.DISABLED_AsRankTwo >&2";
  int other = -1;
  std::atomic<int> wrong = 0;
  std::thread child([&] { other = std::system(command.c_str()); });
  std::thread second([&] { wrong += ActAsRank(1, id, ranks_[1]); });
  wrong += ActAsRank(0, id, ranks_[0]);
  second.join();
  child.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(other, 0);
  // Nothing is left behind.
  EXPECT_NE(
      ::access(("/dev/shm/cerberus-nccl-" + name.substr(8)).c_str(), F_OK), 0);
}
TEST_F(Nccl, DISABLED_AsRankTwo) {
  const char* name = std::getenv("NCCL_TEST_ID");
  ASSERT_NE(name, nullptr);
  UniqueId id = {};
  std::copy_n(name, std::min(std::strlen(name), sizeof id.bytes), id.bytes);
  EXPECT_EQ(ActAsRank(2, id, ranks_[2]), 0);
}

// A call returns before the others have made theirs.
TEST_F(Nccl, WorkStandsBetweenWhatIsBeforeAndBehind) {
  const Memories memory = Upload(std::vector<Bytes>(kRanks, Bytes(4)));
  const auto set = [&](int i, unsigned value) {
    ranks_[i].Use();
    EXPECT_EQ(Cuda("cuMemsetD32Async",
                   reinterpret_cast<std::uint64_t>(
                       memory[static_cast<std::size_t>(i)]->get()),
                   value, std::size_t{1}, ranks_[i].stream),
              0);
  };
  const Memories out = Upload(std::vector<Bytes>(kRanks, Bytes(4)));
  for (int i = 0; i < kRanks; ++i) {
    set(i, static_cast<unsigned>(i + 1));
    EXPECT_EQ(Call("ncclAllReduce", memory[static_cast<std::size_t>(i)]->get(),
                   out[static_cast<std::size_t>(i)]->get(), std::size_t{1},
                   kInt32, kSum, ranks_[i].comm, ranks_[i].stream),
              kSuccess);
    set(i, 77);
    if (i + 1 < kRanks) {
      EXPECT_EQ(Cuda("cuStreamQuery", ranks_[i].stream), 600);  // not ready
    }
  }
  for (const auto& one : out) EXPECT_EQ(one->Read(), Ints({6}));
  for (const auto& one : memory) EXPECT_EQ(one->Read(), Ints({77}));
}

TEST_F(Nccl, GoesIntoGraphs) {
  const Memories memory = Upload({Ints({1}), Ints({10}), Ints({100})});
  void* ready[kRanks] = {};
  for (int i = 0; i < kRanks; ++i) {
    const Rank& rank = ranks_[i];
    rank.Use();
    auto* at = memory[static_cast<std::size_t>(i)]->get();
    void* graph = nullptr;
    ASSERT_EQ(Cuda("cuStreamBeginCapture_v2", rank.stream, 2), 0);
    EXPECT_EQ(Call("ncclAllReduce", at, at, std::size_t{1}, kInt32, kSum,
                   rank.comm, rank.stream),
              kSuccess);
    EXPECT_EQ(Cuda("cuStreamEndCapture", rank.stream, &graph), 0);
    EXPECT_EQ(Cuda("cuGraphInstantiateWithFlags", &ready[i], graph, 0ull), 0);
    EXPECT_EQ(Cuda("cuGraphDestroy", graph), 0);
  }
  for (const int want : {111, 333, 999}) {
    for (int i = 0; i < kRanks; ++i) {
      ranks_[i].Use();
      EXPECT_EQ(Cuda("cuGraphLaunch", ready[i], ranks_[i].stream), 0);
    }
    for (const auto& one : memory) EXPECT_EQ(one->Read(), Ints({want}));
  }
  for (int i = 0; i < kRanks; ++i) {
    ranks_[i].Use();
    EXPECT_EQ(Cuda("cuGraphExecDestroy", ready[i]), 0);
  }
}

// Ranks 0 and 2 in the opposite order, 1 in none.
TEST_F(Nccl, Split) {
  Comm parts[kRanks] = {&parts, &parts, &parts};
  Together([&](int i, const Rank& rank) {
    return Call("ncclCommSplit", rank.comm, i == 1 ? -1 : 4, -i, &parts[i],
                static_cast<void*>(nullptr));
  });
  EXPECT_EQ(parts[1], nullptr);
  for (const auto& [of, want] : {std::pair(0, 1), {2, 0}}) {
    int rank = -1, count = 0, device = -1;
    EXPECT_EQ(Call("ncclCommUserRank", parts[of], &rank), kSuccess);
    EXPECT_EQ(rank, want);
    EXPECT_EQ(Call("ncclCommCount", parts[of], &count), kSuccess);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(Call("ncclCommCuDevice", parts[of], &device), kSuccess);
    EXPECT_EQ(device, of);
  }
  const Memories memory = Upload({Ints({1, 0}), Ints({5, 5}), Ints({3, 0})});
  for (const int i : {0, 2}) {
    auto* at = memory[static_cast<std::size_t>(i)]->get();
    EXPECT_EQ(Call("ncclAllGather", at, at, std::size_t{0}, kInt32, parts[i],
                   ranks_[i].stream),
              kSuccess);
    EXPECT_EQ(Call("ncclAllReduce", at, at + 4, std::size_t{1}, kInt32, kSum,
                   parts[i], ranks_[i].stream),
              kSuccess);
  }
  EXPECT_EQ(memory[0]->Read(), Ints({1, 4}));
  EXPECT_EQ(memory[2]->Read(), Ints({3, 4}));
  EXPECT_EQ(memory[1]->Read(), Ints({5, 5}));
  for (const int i : {0, 2}) {
    EXPECT_EQ(Call("ncclCommDestroy", parts[i]), kSuccess);
  }
}

// Ranks that do not agree are told of later; one that waits is set free.
TEST_F(Nccl, DisagreementAndAbort) {
  const Memories memory = Upload(std::vector<Bytes>(kRanks, Bytes(8)));
  int error = -1;
  EXPECT_EQ(Call("ncclCommGetAsyncError", ranks_[0].comm, &error), kSuccess);
  EXPECT_EQ(error, kSuccess);
  Together([&](int i, const Rank& rank) {
    auto* at = memory[static_cast<std::size_t>(i)]->get();
    return Call("ncclAllReduce", at, at, std::size_t{i == 1 ? 2u : 1u}, kInt32,
                kSum, rank.comm, rank.stream);
  });
  for (const Rank& rank : ranks_) rank.Synchronize();
  EXPECT_EQ(Call("ncclCommGetAsyncError", ranks_[0].comm, &error), kSuccess);
  EXPECT_EQ(error, kInvalidUsage);
  EXPECT_EQ(
      Call("ncclAllReduce", memory[0]->get(), memory[0]->get(), std::size_t{1},
           kInt32, kSum, ranks_[0].comm, ranks_[0].stream),
      kSuccess);
  EXPECT_EQ(Call("ncclCommRevoke", ranks_[1].comm, 0), kSuccess);
  ranks_[0].Synchronize();
  for (Rank& rank : ranks_) {
    EXPECT_EQ(Call("ncclCommAbort", rank.comm), kSuccess);
    rank.comm = nullptr;
  }
}

TEST_F(Nccl, HelpersAndErrors) {
  int version = 0;
  EXPECT_EQ(Call("ncclGetVersion", &version), kSuccess);
  EXPECT_EQ(version / 10000, 2);
  std::set<std::string> texts;
  for (int status = 0; status < 8; ++status) {
    texts.insert(Call<const char*>("ncclGetErrorString", status));
  }
  EXPECT_EQ(texts.size(), 8u);
  Call<void>("ncclResetDebugInit");
  void *memory = nullptr, *handle = nullptr;
  EXPECT_EQ(Call("ncclMemAlloc", &memory, std::size_t{64}), kSuccess);
  EXPECT_EQ(Call("ncclCommRegister", ranks_[0].comm, memory, std::size_t{64},
                 &handle),
            kSuccess);
  EXPECT_NE(handle, nullptr);
  EXPECT_EQ(Call("ncclCommDeregister", ranks_[0].comm, handle), kSuccess);
  EXPECT_EQ(Call("ncclMemFree", memory), kSuccess);

  UniqueId id;
  Comm comm = nullptr;
  ASSERT_EQ(Call("ncclGetUniqueId", &id), kSuccess);
  EXPECT_EQ(Call("ncclCommInitRank", &comm, 2, id, 2), kInvalidArgument);
  EXPECT_EQ(Call("ncclCommInitRank", &comm, 2, UniqueId{}, 0),
            kInvalidArgument);
  EXPECT_STREQ(Call<const char*>("ncclGetLastError", Comm{nullptr}),
               "the id is not of ncclGetUniqueId");
  ranks_[0].Use();
  EXPECT_EQ(Call("ncclCommInitRank", &comm, 1, id, 0), kSuccess);
  EXPECT_EQ(Call("ncclCommDestroy", comm), kSuccess);
  EXPECT_EQ(Call("ncclCommDestroy", comm), kInvalidArgument);
  const auto reduce = [&](Comm of, int type, int op, void* buffer) {
    return Call("ncclAllReduce", buffer, buffer, std::size_t{1}, type, op, of,
                ranks_[0].stream);
  };
  EXPECT_EQ(reduce(comm, kInt32, kSum, &id), kInvalidArgument);
  EXPECT_EQ(reduce(ranks_[0].comm, 12, kSum, &id), kInvalidArgument);
  EXPECT_EQ(reduce(ranks_[0].comm, kInt32, 9, &id), kInvalidArgument);
  EXPECT_EQ(reduce(ranks_[0].comm, kInt32, kSum, nullptr), kInvalidArgument);
  EXPECT_EQ(Call("ncclGroupEnd"), kInvalidUsage);
  const int devices[] = {0, 99};
  Comm comms[2];
  EXPECT_EQ(Call("ncclCommInitAll", comms, 2, devices), kInvalidArgument);
  EXPECT_EQ(Call("ncclCommDestroy", comms[0]), kSuccess);
}

#define NCCL_ANSWERED(name) #name,
#define NCCL_REFUSED(name)
const std::vector<const char*> kAnswered = {
#include "libraries/nccl/nccl.def"
};
#undef NCCL_ANSWERED
#undef NCCL_REFUSED
#define NCCL_ANSWERED(name)
#define NCCL_REFUSED(name) #name,
const std::vector<const char*> kRefused = {
#include "libraries/nccl/nccl.def"
};

TEST(NcclTable, IsExportedTwice) {
  for (const auto& names : {kAnswered, kRefused}) {
    for (const std::string name : names) {
      EXPECT_NE(Symbol(name), nullptr);
      EXPECT_NE(Symbol("p" + name), nullptr);
    }
  }
  for (const std::string name : kAnswered) {
    EXPECT_EQ(Symbol(name), Symbol("p" + name)) << name;
  }
  for (const std::string name : kRefused) {
    EXPECT_EQ(Call(name), kInvalidUsage) << name;
  }
}

class Coverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    std::string missing;
    for (const char* name : kAnswered) {
      if (Asked().count(name) == 0) missing += std::string(" ") + name;
    }
    EXPECT_EQ(missing, "") << "not called by any test";
  }
};
[[maybe_unused]] const auto* const kCoverage =
    ::testing::AddGlobalTestEnvironment(new Coverage);

}  // namespace
}  // namespace cerberus::libraries::tests::nccl
