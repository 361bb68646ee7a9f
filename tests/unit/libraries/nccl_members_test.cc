// Communicators that shrink, grow, rest and are told of memory, on the host.
#include <atomic>
#include <thread>

#include "tests/unit/libraries/nccl.h"

namespace cerberus::libraries::tests::nccl {
namespace {

constexpr auto kNone = static_cast<void*>(nullptr);  // a configuration

// The sum of what the ranks bring, `rank` one of `size`.
int SumOf(const Comm comm, const Rank& rank, int size, int place, int value) {
  int told = -1, wrong = 0;
  wrong += Call("ncclCommCount", comm, &told) + (told != size);
  wrong += Call("ncclCommUserRank", comm, &told) + (told != place);
  EXPECT_EQ(wrong, 0);
  const Memory memory(rank, Ints({value}));
  EXPECT_EQ(Call("ncclAllReduce", memory.get(), memory.get(), std::size_t{1},
                 kInt32, kSum, comm, rank.stream),
            kSuccess);
  int sum = 0;
  const Bytes bytes = memory.Read();
  std::copy_n(bytes.begin(), sizeof sum, reinterpret_cast<std::uint8_t*>(&sum));
  return sum;
}

// A thread for each of the ranks.
template <typename F>
void InThreads(const std::vector<int>& ranks, const F& f) {
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (const int i : ranks) threads.emplace_back([&f, i] { f(i); });
  for (std::thread& thread : threads) thread.join();
}

// Rank 1 does not know of it, and it may be done twice.
TEST_F(Nccl, Shrinks) {
  int excluded[] = {1};
  for (int flags : {0, 1}) {
    InThreads({0, 2}, [&](int i) {
      ranks_[i].Use();
      Comm less = nullptr;
      EXPECT_EQ(Call("ncclCommShrink", ranks_[i].comm, excluded, 1, &less,
                     kNone, flags),
                kSuccess);
      EXPECT_EQ(SumOf(less, ranks_[i], 2, i / 2, i + 5), 12);
      EXPECT_EQ(Call("ncclCommDestroy", less), kSuccess);
    });
  }
}
TEST_F(Nccl, DoesNotShrinkByTheseRanks) {
  Comm less = nullptr;
  const auto shrink = [&](std::vector<int> excluded, int flags) {
    return Call("ncclCommShrink", ranks_[0].comm, excluded.data(),
                static_cast<int>(excluded.size()), &less, kNone, flags);
  };
  EXPECT_EQ(shrink({}, 0), kInvalidArgument);
  EXPECT_EQ(shrink({0}, 0), kInvalidArgument);
  EXPECT_EQ(shrink({1, 1}, 0), kInvalidArgument);
  EXPECT_EQ(shrink({3}, 0), kInvalidArgument);
  EXPECT_EQ(shrink({-1}, 0), kInvalidArgument);
  EXPECT_EQ(shrink({1}, 2), kInvalidArgument);
}

// Ranks 0 and 1 leave 2 behind, and then it comes back as a new one.
TEST_F(Nccl, Grows) {
  std::atomic<bool> has_id = false;
  UniqueId id = {};
  int excluded[] = {2};
  InThreads({0, 1, 2}, [&](int i) {
    const Rank& rank = ranks_[i];
    rank.Use();
    Comm pair = nullptr, all = nullptr;
    if (i < 2) {
      ASSERT_EQ(Call("ncclCommShrink", rank.comm, excluded, 1, &pair, kNone, 0),
                kSuccess);
    }
    if (i == 0) {
      EXPECT_EQ(Call("ncclCommGetUniqueId", pair, &id), kSuccess);
      UniqueId other = id;
      other.bytes[10] = static_cast<char>(other.bytes[10] ^ 1);
      EXPECT_EQ(Call("ncclCommGrow", pair, 3, &other, -1, &all, kNone),
                kInvalidArgument);
      EXPECT_EQ(Call("ncclCommGrow", pair, 2, &id, -1, &all, kNone),
                kInvalidArgument);
      has_id = true;
    }
    while (i == 2 && !has_id) std::this_thread::yield();
    EXPECT_EQ(Call("ncclCommGrow", pair, 3, i == 1 ? nullptr : &id,
                   i == 2 ? 2 : -1, &all, kNone),
              kSuccess);
    EXPECT_EQ(SumOf(all, rank, 3, i, 1 << i), 7);
    EXPECT_EQ(Call("ncclCommDestroy", all), kSuccess);
    if (pair != nullptr) {
      UniqueId next = {};
      EXPECT_EQ(Call("ncclCommGetUniqueId", pair, &next), kSuccess);
      EXPECT_NE(Bytes(next.bytes, next.bytes + 128),
                Bytes(id.bytes, id.bytes + 128));
      EXPECT_EQ(Call("ncclCommDestroy", pair), kSuccess);
    }
  });
  Comm none = nullptr;
  EXPECT_EQ(Call("ncclCommGrow", Comm{nullptr}, 3,
                 static_cast<UniqueId*>(nullptr), 2, &none, kNone),
            kInvalidArgument);
}

TEST_F(Nccl, Rests) {
  const Comm comm = ranks_[0].comm;
  const Memory memory(ranks_[0], Ints({1}));
  const auto stat = [&](int what) {
    std::uint64_t value = 99;
    EXPECT_EQ(Call("ncclCommMemStats", comm, what, &value), kSuccess);
    return value;
  };
  const auto reduce = [&] {
    return Call("ncclAllReduce", memory.get(), memory.get(), std::size_t{1},
                kInt32, kSum, comm, ranks_[0].stream);
  };
  EXPECT_EQ(Call("ncclCommResume", comm), kInvalidUsage);
  EXPECT_EQ(Call("ncclCommSuspend", comm, 0), kInvalidArgument);
  EXPECT_EQ(Call("ncclCommSuspend", comm, 1), kSuccess);
  EXPECT_EQ(Call("ncclCommSuspend", comm, 1), kInvalidUsage);
  EXPECT_EQ(stat(1), 1u);
  EXPECT_EQ(reduce(), kInvalidUsage);
  EXPECT_EQ(Call("ncclCommResume", comm), kSuccess);
  for (const int what : {0, 1, 2, 3}) EXPECT_EQ(stat(what), 0u);
  std::uint64_t value = 0;
  EXPECT_EQ(Call("ncclCommMemStats", comm, 4, &value), kInvalidArgument);
  InThreads({0, 1, 2}, [&](int i) {
    ranks_[i].Use();
    EXPECT_EQ(SumOf(ranks_[i].comm, ranks_[i], 3, i, 2), 6);
  });
}

TEST_F(Nccl, IsToldOfWindows) {
  const Memory memory(ranks_[0], Bytes(4096));
  void *one = nullptr, *two = nullptr, *told = nullptr;
  const auto open = [&](void** window, int flags) {
    return Call("ncclCommWindowRegister", ranks_[0].comm,
                static_cast<void*>(memory.get()), std::size_t{4096}, window,
                flags);
  };
  EXPECT_EQ(open(&one, 0), kSuccess);
  EXPECT_EQ(open(&two, 1), kSuccess);
  EXPECT_NE(one, two);
  EXPECT_EQ(open(&told, 16), kInvalidArgument);
  EXPECT_EQ(Call("ncclWinGetUserPtr", ranks_[0].comm, one, &told), kSuccess);
  EXPECT_EQ(told, memory.get());
  EXPECT_EQ(Call("ncclCommWindowDeregister", ranks_[1].comm, one),
            kInvalidArgument);
  EXPECT_EQ(Call("ncclCommWindowDeregister", ranks_[0].comm, one), kSuccess);
  EXPECT_EQ(Call("ncclCommWindowDeregister", ranks_[0].comm, one),
            kInvalidArgument);
  EXPECT_EQ(Call("ncclWinGetUserPtr", ranks_[0].comm, one, &told),
            kInvalidArgument);
}

// What was called in it is as if it had not been: the calls behind it meet.
TEST_F(Nccl, SimulatesAGroup) {
  struct {
    std::size_t size = sizeof *this;
    unsigned magic = 0x74685283, version = 23203;
    float estimated_time = 7;
  } info;
  const Memory memory(ranks_[0], Ints({1}));
  EXPECT_EQ(Call("ncclGroupSimulateEnd", &info), kInvalidUsage);
  EXPECT_EQ(Call("ncclGroupStart"), kSuccess);
  EXPECT_EQ(Call("ncclAllReduce", memory.get(), memory.get(), std::size_t{1},
                 kInt32, kSum, ranks_[0].comm, ranks_[0].stream),
            kSuccess);
  for (const char* name : {"ncclSend", "ncclRecv"}) {
    EXPECT_EQ(Call(name, memory.get(), std::size_t{1}, kInt32, 1,
                   ranks_[0].comm, ranks_[0].stream),
              kSuccess);
  }
  info.magic = 1;
  EXPECT_EQ(Call("ncclGroupSimulateEnd", &info), kInvalidArgument);
  info.magic = 0x74685283;
  EXPECT_EQ(Call("ncclGroupSimulateEnd", &info), kSuccess);
  EXPECT_EQ(info.estimated_time, -1);
  EXPECT_EQ(Call("ncclGroupEnd"), kInvalidUsage);
  InThreads({0, 1, 2}, [&](int i) {
    ranks_[i].Use();
    EXPECT_EQ(SumOf(ranks_[i].comm, ranks_[i], 3, i, i), 3);
    const Memory own(ranks_[i], Ints({i}));
    if (i == 2) return;
    EXPECT_EQ(Call(i == 0 ? "ncclSend" : "ncclRecv", own.get(), std::size_t{1},
                   kInt32, 1 - i, ranks_[i].comm, ranks_[i].stream),
              kSuccess);
    EXPECT_EQ(own.Read(), Ints({0}));
  });
}

}  // namespace
}  // namespace cerberus::libraries::tests::nccl
