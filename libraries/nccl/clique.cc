#include "libraries/nccl/clique.h"

#include <algorithm>

namespace cerberus::libraries::nccl {

std::vector<int> MembersOf(const std::map<int, Clique::Told>& told, int color) {
  std::vector<int> members;
  for (const auto& [rank, of_rank] : told) {
    if (of_rank.color == color) members.push_back(rank);
  }
  std::sort(members.begin(), members.end(), [&](int a, int b) {
    const int key_a = told.at(a).key, key_b = told.at(b).key;
    return key_a != key_b ? key_a < key_b : a < b;
  });
  return members;
}

void LocalClique::Arrive(const Meeting& meeting, int seat, const Part& part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Exchange& exchange = exchanges_[meeting];
  exchange.parts.resize(Seats(meeting));
  exchange.parts[static_cast<std::size_t>(seat)] = part;
  if (++exchange.arrived < Seats(meeting) || given_up_) return;
  if (Agree(exchange.parts)) Do(exchange.parts);
  else error_ = kInvalidUsage;
  exchange.done = true;
  changed_.notify_all();
}

void LocalClique::Wait(const Meeting& meeting, int) {
  std::unique_lock<std::mutex> lock(mutex_);
  Exchange& exchange = exchanges_[meeting];
  changed_.wait(lock, [&] { return exchange.done || given_up_; });
  if (++exchange.left == Seats(meeting)) exchanges_.erase(meeting);
}

void LocalClique::GiveUp() {
  const std::lock_guard<std::mutex> lock(mutex_);
  given_up_ = true;
  changed_.notify_all();
}

Status LocalClique::error() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_;
}

void LocalClique::Tell(std::uint64_t number, int rank, Told told) {
  const std::lock_guard<std::mutex> lock(mutex_);
  splittings_[number].told[rank] = told;
  changed_.notify_all();
}

std::shared_ptr<Clique> LocalClique::Split(std::uint64_t number, int rank,
                                           std::vector<int>* members) {
  std::unique_lock<std::mutex> lock(mutex_);
  Splitting& splitting = splittings_[number];
  changed_.wait(lock, [&] {
    return static_cast<int>(splitting.told.size()) == size() || given_up_;
  });
  const int color = splitting.told[rank].color;
  if (color < 0 || given_up_) return nullptr;
  *members = MembersOf(splitting.told, color);
  std::shared_ptr<Clique>& made = splitting.made[color];
  if (made == nullptr) {
    made = std::make_shared<LocalClique>(static_cast<int>(members->size()));
  }
  return made;
}

}  // namespace cerberus::libraries::nccl
