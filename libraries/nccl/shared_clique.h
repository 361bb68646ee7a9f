// Ranks in several processes of one machine.
#ifndef CERBERUS_LIBRARIES_NCCL_SHARED_CLIQUE_H_
#define CERBERUS_LIBRARIES_NCCL_SHARED_CLIQUE_H_

#include <atomic>
#include <string>

#include "libraries/nccl/board.h"
#include "libraries/nccl/clique.h"

namespace cerberus::libraries::nccl {

// Each rank puts up what it brings, and computes what it gets.
class SharedClique : public Clique {
 public:
  SharedClique(const std::string& folder, int size)
      : Clique(size), board_(folder) {}
  void Arrive(const Meeting& meeting, int seat, const Part& part) override;
  void Wait(const Meeting& meeting, int seat) override;
  void GiveUp() override { board_.GiveUp(); }
  Status error() override { return error_; }
  void Tell(std::uint64_t number, int rank, Told told) override;
  std::shared_ptr<Clique> Split(std::uint64_t number, int rank,
                                std::vector<int>* members) override;

 private:
  Board board_;
  std::atomic<Status> error_ = kSuccess;
  std::mutex mutex_;
  std::map<std::pair<Meeting, int>, Part> waiting_;
};

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_SHARED_CLIQUE_H_
