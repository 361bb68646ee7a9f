#include "libraries/nccl/shared_clique.h"

#include <algorithm>
#include <cstring>

namespace cerberus::libraries::nccl {
namespace {

// A part as others see it; its data follows.
struct Brought {
  Kind kind;
  Type type;
  Op op;
  int root;
  std::size_t count;
  bool has_factor;
  alignas(8) std::byte factor[8];
};

template <typename T>
std::vector<std::byte> BytesOf(const T& value) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  return {first, first + sizeof value};
}
// False if it is too short.
template <typename T>
bool From(const Note& note, T* value) {
  if (note.size() < sizeof *value) return false;
  std::memcpy(value, note.bytes(), sizeof *value);
  return true;
}

std::string NameOf(const Meeting& m) {
  return std::to_string(m.from) + "." + std::to_string(m.to) + "." +
         std::to_string(m.number) + "." + std::to_string(m.run);
}

}  // namespace

void SharedClique::Arrive(const Meeting& meeting, int seat, const Part& part) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_[{meeting, seat}] = part;
  }
  Brought brought = {part.kind,  part.type, part.op, part.root,
                     part.count, false,     {}};
  if (part.factor != nullptr) {
    brought.has_factor = true;
    std::memcpy(brought.factor, part.factor, SizeOf(part.type));
  }
  if (!board_.Put(NameOf(meeting), seat, BytesOf(brought), part.in,
                  BytesIn(part, seat, Seats(meeting)))) {
    error_ = kSystemError;
    board_.GiveUp();
  }
}

void SharedClique::Wait(const Meeting& meeting, int seat) {
  Part own;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    own = waiting_[{meeting, seat}];
    waiting_.erase({meeting, seat});
  }
  if (error_ == kSystemError) return;
  const std::size_t seats = Seats(meeting);
  const std::string name = NameOf(meeting);
  const std::vector<Note*> notes = board_.Read(name, seat, seats);
  std::vector<Part> parts;
  std::vector<Brought> brought(notes.size());
  bool right = true;
  for (std::size_t i = 0; i < notes.size() && right; ++i) {
    Brought& b = brought[i];
    right = From(*notes[i], &b);
    if (!right) break;
    Part part;
    part.kind = b.kind;
    part.type = b.type;
    part.op = b.op;
    part.root = b.root;
    part.count = b.count;
    part.factor = b.has_factor ? b.factor : nullptr;
    part.in = notes[i]->bytes() + sizeof b;
    parts.push_back(part);
    // With the own count: others' are compared with it next.
    right =
        notes[i]->size() - sizeof b >= BytesIn(own, static_cast<int>(i), seats);
  }
  if (!parts.empty()) {
    if (right && Agree(parts)) {
      parts[static_cast<std::size_t>(seat)].out = own.out;
      Do(parts);
    } else {
      error_ = kInvalidUsage;
    }
  }
  board_.Finish(name, seat, seats);
}

void SharedClique::Tell(std::uint64_t number, int rank, Told told) {
  board_.Put("split." + std::to_string(number), rank, BytesOf(told));
}

std::shared_ptr<Clique> SharedClique::Split(std::uint64_t number, int rank,
                                            std::vector<int>* members) {
  const std::string name = "split." + std::to_string(number);
  const auto seats = static_cast<std::size_t>(size());
  const std::vector<Note*> notes = board_.Read(name, rank, seats);
  std::map<int, Told> told;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    Told& of_rank = told[static_cast<int>(i)];
    if (!From(*notes[i], &of_rank)) of_rank.color = -1;
  }
  board_.Finish(name, rank, seats);
  if (told.empty() || told[rank].color < 0) return nullptr;
  const int color = told[rank].color;
  *members = MembersOf(told, color);
  return std::make_shared<SharedClique>(board_.folder() + "-" +
                                            std::to_string(number) + "-" +
                                            std::to_string(color),
                                        static_cast<int>(members->size()));
}

}  // namespace cerberus::libraries::nccl
