// The ranks of a communicator, and how they meet: they wait for each other in
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
#include "libraries/nccl/operation.h"

namespace cerberus::libraries::nccl {

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
  virtual ~Clique() = default;
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;
  int size() const { return size_; }

  // One of the operation's parts is there; `seat` is its rank, or of two 0 for
  // the sender and 1 for the receiver.
  virtual void Arrive(const Meeting& meeting, int seat, const Part& part) = 0;
  // Returns when what the part gets is there, or all is given up.
  virtual void Wait(const Meeting& meeting, int seat) = 0;
  virtual void GiveUp() = 0;
  // What ranks that did not agree left.
  virtual Status error() = 0;

  // Of the host: told by each rank, known to all.
  struct Told {
    int color, key;
  };
  virtual void Tell(std::uint64_t number, int rank, Told told) = 0;
  // Waits for the others. The clique that those of the rank's color are from
  // now on; null where a color is none. `members`: their ranks, by key.
  virtual std::shared_ptr<Clique> Split(std::uint64_t number, int rank,
                                        std::vector<int>* members) = 0;

 protected:
  std::size_t Seats(const Meeting& meeting) const {
    return meeting.from >= 0 ? 2 : static_cast<std::size_t>(size_);
  }

 private:
  const int size_;
};

// Of those of a color the ranks by key.
std::vector<int> MembersOf(const std::map<int, Clique::Told>& told, int color);

// All ranks are in this process: whoever comes last does it all.
class LocalClique : public Clique {
 public:
  using Clique::Clique;
  void Arrive(const Meeting& meeting, int seat, const Part& part) override;
  void Wait(const Meeting& meeting, int seat) override;
  void GiveUp() override;
  Status error() override;
  void Tell(std::uint64_t number, int rank, Told told) override;
  std::shared_ptr<Clique> Split(std::uint64_t number, int rank,
                                std::vector<int>* members) override;

 private:
  struct Exchange {
    std::vector<Part> parts;
    std::size_t arrived = 0, left = 0;
    bool done = false;
  };
  struct Splitting {
    std::map<int, Told> told;
    std::map<int, std::shared_ptr<Clique>> made;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Meeting, Exchange> exchanges_;
  std::map<std::uint64_t, Splitting> splittings_;
  bool given_up_ = false;
  Status error_ = kSuccess;
};

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_CLIQUE_H_
