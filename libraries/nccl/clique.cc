#include "libraries/nccl/clique.h"

#include <algorithm>
#include <cstring>

#include "libraries/nccl/reduce.h"

namespace cerberus::libraries::nccl {
namespace {

using Parts = std::vector<Part>;

const std::byte* At(const void* array, std::size_t bytes) {
  return static_cast<const std::byte*>(array) + bytes;
}
std::byte* At(void* array, std::size_t bytes) {
  return static_cast<std::byte*>(array) + bytes;
}
void Copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0 && to != from) std::memmove(to, from, bytes);
}

// Whether all mean the same.
bool Agree(const Parts& parts) {
  const Part& first = parts.front();
  return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    return part.kind == first.kind && part.count == first.count &&
           part.type == first.type && part.op == first.op &&
           part.root == first.root;
  });
}

// Elements from `first` on of what all bring, to `outs`.
void ReduceFrom(const Parts& parts, std::size_t first,
                const std::vector<void*>& outs) {
  Reduction reduction;
  reduction.op = parts.front().op;
  reduction.type = parts.front().type;
  std::vector<const void*> ins;
  for (const Part& part : parts) {
    ins.push_back(At(part.in, first * SizeOf(part.type)));
    if (part.factor != nullptr) reduction.factors.push_back(part.factor);
  }
  Reduce(reduction, ins, outs, parts.front().count);
}

// Each rank's block for each other one.
void AllToAll(const Parts& parts, std::size_t bytes) {
  const std::size_t n = parts.size();
  // In place, what is read must not have been written yet.
  std::vector<std::vector<std::byte>> before;
  for (const Part& part : parts) {
    const std::byte* in = At(part.in, 0);
    before.emplace_back(in, in + n * bytes);
  }
  for (std::size_t to = 0; to < n; ++to) {
    for (std::size_t from = 0; from < n; ++from) {
      Copy(At(parts[to].out, from * bytes), before[from].data() + to * bytes,
           bytes);
    }
  }
}

void Do(const Parts& parts) {
  const Part& first = parts.front();
  const std::size_t bytes = first.count * SizeOf(first.type);
  const auto root = static_cast<std::size_t>(first.root);
  const std::size_t n = parts.size();
  switch (first.kind) {
    case Kind::kAllReduce: {
      std::vector<void*> outs;
      for (const Part& part : parts) outs.push_back(part.out);
      return ReduceFrom(parts, 0, outs);
    }
    case Kind::kReduce: return ReduceFrom(parts, 0, {parts[root].out});
    case Kind::kReduceScatter:
      for (std::size_t to = 0; to < n; ++to) {
        ReduceFrom(parts, to * first.count, {parts[to].out});
      }
      return;
    case Kind::kBroadcast:
      for (const Part& part : parts) Copy(part.out, parts[root].in, bytes);
      return;
    case Kind::kAllGather:
      for (const Part& part : parts) {
        for (std::size_t from = 0; from < n; ++from) {
          Copy(At(part.out, from * bytes), parts[from].in, bytes);
        }
      }
      return;
    case Kind::kAllToAll: return AllToAll(parts, bytes);
    case Kind::kGather:
      for (std::size_t from = 0; from < n; ++from) {
        Copy(At(parts[root].out, from * bytes), parts[from].in, bytes);
      }
      return;
    case Kind::kScatter:
      for (std::size_t to = 0; to < n; ++to) {
        Copy(parts[to].out, At(parts[root].in, to * bytes), bytes);
      }
      return;
    case Kind::kSendReceive: return Copy(parts[1].out, parts[0].in, bytes);
  }
}

}  // namespace

void Clique::Arrive(const Meeting& meeting, int seat, const Part& part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Exchange& exchange = exchanges_[meeting];
  exchange.parts.resize(static_cast<std::size_t>(Seats(meeting)));
  exchange.parts[static_cast<std::size_t>(seat)] = part;
  if (++exchange.arrived < Seats(meeting) || given_up_) return;
  if (Agree(exchange.parts)) Do(exchange.parts);
  else error_ = kInvalidUsage;
  exchange.done = true;
  changed_.notify_all();
}

void Clique::Wait(const Meeting& meeting) {
  std::unique_lock<std::mutex> lock(mutex_);
  Exchange& exchange = exchanges_[meeting];
  changed_.wait(lock, [&] { return exchange.done || given_up_; });
  if (++exchange.left == Seats(meeting)) exchanges_.erase(meeting);
}

void Clique::GiveUp() {
  const std::lock_guard<std::mutex> lock(mutex_);
  given_up_ = true;
  changed_.notify_all();
}

Status Clique::error() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return error_;
}

void Clique::Tell(std::uint64_t number, int rank, Told told) {
  const std::lock_guard<std::mutex> lock(mutex_);
  splittings_[number].told[rank] = told;
  changed_.notify_all();
}

std::shared_ptr<Clique> Clique::Split(std::uint64_t number, int rank,
                                      std::vector<int>* members) {
  std::unique_lock<std::mutex> lock(mutex_);
  Splitting& splitting = splittings_[number];
  changed_.wait(lock, [&] {
    return static_cast<int>(splitting.told.size()) == size_ || given_up_;
  });
  const int color = splitting.told[rank].color;
  if (color < 0 || given_up_) return nullptr;
  for (const auto& [other, told] : splitting.told) {
    if (told.color == color) members->push_back(other);
  }
  std::sort(members->begin(), members->end(), [&](int a, int b) {
    const int key_a = splitting.told[a].key, key_b = splitting.told[b].key;
    return key_a != key_b ? key_a < key_b : a < b;
  });
  std::shared_ptr<Clique>& made = splitting.made[color];
  if (made == nullptr) {
    made = std::make_shared<Clique>(static_cast<int>(members->size()));
  }
  return made;
}

}  // namespace cerberus::libraries::nccl
