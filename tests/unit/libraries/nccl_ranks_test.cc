// How ranks meet: in groups of one thread, from a thread for each, in several
// processes, in the order of streams and in graphs.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/unit/libraries/nccl.h"

namespace cerberus::libraries::tests::nccl {
namespace {

// Round a ring, both ways at once, and to oneself: all in one group.
TEST_F(Nccl, SendAndReceive) {
  constexpr std::size_t kCount = 5;
  std::vector<Bytes> values, none;
  values.reserve(kRanks);
  none.reserve(kRanks);
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

// Without groups, from a thread for each rank, behind what each stream does.
TEST_F(Nccl, AThreadForEachRank) {
  UniqueId id;
  ASSERT_EQ(Call("ncclGetUniqueId", &id), kSuccess);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  threads.reserve(kRanks);
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

// In a group one thread may make all, too.
TEST_F(Nccl, RanksOfAGroup) {
  UniqueId id;
  ASSERT_EQ(Call("ncclGetUniqueId", &id), kSuccess);
  Comm comms[kRanks] = {};
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
}

TEST_F(Nccl, ARankTwiceIsNone) {
  UniqueId id;
  Comm comms[2] = {}, again = nullptr;
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

}  // namespace
}  // namespace cerberus::libraries::tests::nccl
