// The ranks of a communicator, as far as they are in this process, and how they
// meet: an operation is done by whoever comes last, while the others wait in
// their streams.
#ifndef CERBERUS_LIBRARIES_NCCL_CLIQUE_H_
#define CERBERUS_LIBRARIES_NCCL_CLIQUE_H_

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "libraries/nccl/abi.h"

namespace cerberus::libraries::nccl {

enum class Kind {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kSendReceive,
};

// What a rank brings to an operation.
struct Part {
  Kind kind = Kind::kAllReduce;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  Type type = kFloat32;
  Op op = kSum;
  const void* factor = nullptr;
  int root = 0;
};

// An operation among the ranks: the number that it has in the order of their
// calls, and its run, which more than one follow if it is in a graph. Between
// two: their ranks, else -1.
struct Meeting {
  int from = -1, to = -1;
  std::uint64_t number = 0, run = 0;
  auto Key() const { return std::tie(from, to, number, run); }
  bool operator<(const Meeting& other) const { return Key() < other.Key(); }
};

class Clique {
 public:
  explicit Clique(int size) : size_(size) {}
  int size() const { return size_; }

  // One of the operation's parts is there; `seat` is its rank, or of two 0 for
  // the sender and 1 for the receiver. The last one does it all.
  void Arrive(const Meeting& meeting, int seat, const Part& part);
  // Returns when it is done, or all is given up.
  void Wait(const Meeting& meeting);
  void GiveUp();
  // What ranks that did not agree left.
  Status error();

  // Of the host: told by each rank, known to all. Waits for the others.
  struct Told {
    int color, key;
  };
  void Tell(std::uint64_t number, int rank, Told told);
  // Also the clique that those of the rank's color are from now on; null where
  // a color is none. `members`: their ranks, by key.
  std::shared_ptr<Clique> Split(std::uint64_t number, int rank,
                                std::vector<int>* members);

 private:
  struct Exchange {
    std::vector<Part> parts;
    int arrived = 0, left = 0;
    bool done = false;
  };
  struct Splitting {
    std::map<int, Told> told;
    std::map<int, std::shared_ptr<Clique>> made;
  };
  int Seats(const Meeting& meeting) const {
    return meeting.from >= 0 ? 2 : size_;
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Meeting, Exchange> exchanges_;
  std::map<std::uint64_t, Splitting> splittings_;
  bool given_up_ = false;
  Status error_ = kSuccess;
};

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_CLIQUE_H_
