// A hash table from names to small values, with scopes.
//
// The parser looks up a name per operand, so this is a flat open-addressing
// table; entering a scope remembers how many insertions there were, leaving
// it undoes those made since.
#ifndef CERBERUS_PTXC_FRONT_NAME_TABLE_H_
#define CERBERUS_PTXC_FRONT_NAME_TABLE_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace cerberus::ptx {

inline std::uint64_t HashName(std::string_view name) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u ^ name.size();
  const char* p = name.data();
  std::size_t n = name.size();
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  while (n >= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    mix(word);
    p += 8;
    n -= 8;
  }
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < n; ++i)
    rest |= static_cast<std::uint64_t>(static_cast<unsigned char>(p[i]))
            << (8 * i);
  mix(rest);
  return hash;
}

template <typename Value>
class NameTable {
 public:
  NameTable() : slots_(64, 0) {}

  // The innermost value of `name`, or null. Valid until the next Insert.
  const Value* Find(std::string_view name) const {
    const std::uint64_t hash = HashName(name);
    for (std::size_t at = hash & Mask();; at = (at + 1) & Mask()) {
      const std::uint32_t slot = slots_[at];
      if (slot == 0) return nullptr;
      const Entry& entry = entries_[slot - 1];
      if (entry.hash == hash && entry.name == name)
        return entry.live ? &entry.value : nullptr;
    }
  }
  // As Find, but only in the scopes from `depth` inwards.
  const Value* FindFrom(std::size_t depth, std::string_view name) const {
    const std::uint32_t at = IndexOf(name);
    return at != kNone && entries_[at].live && entries_[at].depth >= depth
               ? &entries_[at].value
               : nullptr;
  }
  // How many scopes have been entered.
  std::size_t depth() const { return marks_.size(); }
  // Whether `name` was inserted in the innermost scope.
  bool InThisScope(std::string_view name) const {
    const std::uint32_t at = IndexOf(name);
    return at != kNone && entries_[at].live &&
           entries_[at].depth == marks_.size();
  }
  void Insert(std::string_view name, Value value) {
    std::uint32_t at = IndexOf(name);
    if (at == kNone) {
      if ((entries_.size() + 1) * 2 > slots_.size()) Grow();
      at = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({name, HashName(name), Value(), 0, false});
      Place(at);
    }
    Entry& entry = entries_[at];
    undo_.push_back({at, entry.value, entry.depth, entry.live});
    entry.value = value;
    entry.depth = marks_.size();
    entry.live = true;
  }
  void Enter() { marks_.push_back(undo_.size()); }
  void Leave() {
    const std::size_t mark = marks_.back();
    while (undo_.size() > mark) {
      const Undo& undo = undo_.back();
      Entry& entry = entries_[undo.entry];
      entry.value = undo.value;
      entry.depth = undo.depth;
      entry.live = undo.live;
      undo_.pop_back();
    }
    marks_.pop_back();
  }
  void Clear() {
    slots_.assign(64, 0);
    entries_.clear();
    undo_.clear();
    marks_.clear();
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Entry {
    std::string_view name;
    std::uint64_t hash;
    Value value;
    std::size_t depth;
    bool live;
  };
  struct Undo {
    std::uint32_t entry;
    Value value;
    std::size_t depth;
    bool live;
  };

  std::size_t Mask() const { return slots_.size() - 1; }
  std::uint32_t IndexOf(std::string_view name) const {
    const std::uint64_t hash = HashName(name);
    for (std::size_t at = hash & Mask();; at = (at + 1) & Mask()) {
      const std::uint32_t slot = slots_[at];
      if (slot == 0) return kNone;
      if (entries_[slot - 1].hash == hash && entries_[slot - 1].name == name)
        return slot - 1;
    }
  }
  void Place(std::uint32_t entry) {
    std::size_t at = entries_[entry].hash & Mask();
    while (slots_[at] != 0) at = (at + 1) & Mask();
    slots_[at] = entry + 1;
  }
  void Grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      Place(static_cast<std::uint32_t>(i));
  }

  std::vector<std::uint32_t> slots_;  // entry + 1; 0: free
  std::vector<Entry> entries_;
  std::vector<Undo> undo_;
  std::vector<std::size_t> marks_;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_NAME_TABLE_H_
