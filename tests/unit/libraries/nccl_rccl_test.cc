// NCCL over RCCL: who computes, and ranks that part, for which RCCL's version
// has no function.
#include "tests/unit/libraries/nccl.h"

namespace cerberus::libraries::tests::nccl {
namespace {

int RcclCalls() {
  void* const rccl = dlopen("librccl.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = rccl ? dlsym(rccl, "fake_rccl_calls") : nullptr;
  if (found == nullptr) {
    ADD_FAILURE() << "no RCCL was opened";
    return 0;
  }
  return reinterpret_cast<int (*)()>(found)();
}

TEST_F(Nccl, RcclComputes) {
  const Memories memory = Upload({Ints({1, 2}), Ints({3, 4}), Ints({5, 6})});
  const int before = RcclCalls();
  Together([&](int i, const Rank& rank) {
    auto* at = memory[static_cast<std::size_t>(i)]->get();
    return Call("ncclAllReduce", at, at, std::size_t{2}, kInt32, kSum,
                rank.comm, rank.stream);
  });
  EXPECT_EQ(RcclCalls() - before, kRanks);
  for (const auto& one : memory) EXPECT_EQ(one->Read(), Ints({9, 12}));
  const char* const told = Call<const char*>("ncclCerberusProvider");
  EXPECT_EQ(std::string(told).substr(0, 12), "RCCL 2.13.4,") << told;
}

TEST_F(Nccl, DoesNotChangeMembers) {
  UniqueId id = {};
  Comm comm = nullptr;
  int excluded[] = {1};
  EXPECT_EQ(Call("ncclCommShrink", ranks_[0].comm, excluded, 1, &comm,
                 static_cast<void*>(nullptr), 0),
            kInvalidUsage);
  EXPECT_EQ(Call("ncclCommGetUniqueId", ranks_[0].comm, &id), kInvalidUsage);
  EXPECT_EQ(Call("ncclCommGrow", ranks_[0].comm, 4, &id, -1, &comm,
                 static_cast<void*>(nullptr)),
            kInvalidUsage);
}

TEST_F(Nccl, IdsAreRccls) {
  UniqueId id = {};
  ASSERT_EQ(Call("ncclGetUniqueId", &id), kSuccess);
  EXPECT_EQ(id.bytes[0], 'r');
}

}  // namespace
}  // namespace cerberus::libraries::tests::nccl
