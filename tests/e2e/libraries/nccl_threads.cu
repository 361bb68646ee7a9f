// A thread for each device, communicators within communicators, and operations
// of several types of numbers, one behind another without waiting.
//
// RUN: env "DEVICES=gfx1100,gfx1100,gfx1100 gfx942,gfx942,gfx942" \
// RUN:   %check %s %t %library -l:libnccl.so.2
#include <thread>

#include "ranks.h"

constexpr int kN = 100, kRanks = 3;

void Work(int rank, ncclUniqueId id) {
  CHECK(cudaSetDevice(rank));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm, pair = nullptr;
  CALL(ncclCommInitRankConfig(&comm, kRanks, id, rank, &config));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  std::vector<long long> whole(kN);
  std::vector<double> wide(kN);
  for (int i = 0; i < kN; ++i) {
    whole[i] = (1ll << 40) + rank * i;
    wide[i] = 1 + rank / 4.0;
  }
  auto* dw = ToDevice(whole);
  auto* dd = ToDevice(wide);
  CALL(ncclAllReduce(dw, dw, kN, ncclInt64, ncclSum, comm, stream));
  CALL(ncclAllReduce(dd, dd, kN, ncclDouble, ncclProd, comm, stream));
  CALL(ncclAllReduce(dw, dw, kN, ncclInt64, ncclMin, comm, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < kN; ++i) whole[i] = (3ll << 40) + 3 * i;
  EXPECT(ToHost(dw, kN) == whole);
  EXPECT(Near(ToHost(dd, kN), std::vector<double>(kN, 1 * 1.25 * 1.5), 1e-15));
  // The outer two, the other way round; the middle one is in none.
  const int color = rank == 1 ? NCCL_SPLIT_NOCOLOR : 7;
  CALL(ncclCommSplit(comm, color, -rank, &pair, nullptr));
  EXPECT((pair == nullptr) == (rank == 1));
  if (pair != nullptr) {
    int me = -1;
    CALL(ncclCommUserRank(pair, &me));
    EXPECT(me == (rank == 0 ? 1 : 0));
    unsigned char* byte = ToDevice(
        std::vector<unsigned char>(1, static_cast<unsigned char>(rank + 1)));
    CALL(ncclBcast(byte, 1, ncclUint8, 0, pair, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(ToHost(byte, 1)[0] == 3);
    CALL(ncclCommDestroy(pair));
  }
  CALL(ncclCommDestroy(comm));
}

int main() {
  int version = 0;
  CALL(ncclGetVersion(&version));
  EXPECT(version >= 22000);
  ncclUniqueId id;
  CALL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int i = 0; i < kRanks; ++i) threads.emplace_back(Work, i, id);
  for (std::thread& thread : threads) thread.join();
  EXPECT(std::strcmp(ncclGetErrorString(ncclSuccess), "no error") == 0);
  return Pass();
}
