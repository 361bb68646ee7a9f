// Each operation of NCCL in each type, in place and not, and the table as a
// whole.
#include "tests/unit/libraries/nccl.h"

#include <cmath>

namespace cerberus::libraries::tests::nccl {
namespace {

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
          want.reserve(count);
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
    out.reserve(kRanks);
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
    out.reserve(kCount);
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

TEST_F(Nccl, OwnOperations) {
  std::vector<Bytes> values;
  values.reserve(kRanks);
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
