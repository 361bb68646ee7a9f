#include "emulator/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace cerberus::emulator {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kFreedKept = 64;

const char* KindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kDevice: return "device";
    case MemoryKind::kHost: return "host";
    case MemoryKind::kManaged: return "managed";
    case MemoryKind::kRegistered: return "registered";
    case MemoryKind::kCode: return "code object";
  }
  return "";
}

}  // namespace

void Memory::Release(const Entry& entry) {
  if (entry.mapping != nullptr) munmap(entry.mapping, entry.mapping_size);
}

Memory::~Memory() {
  for (const Entry& entry : entries_) Release(entry);
  for (const Entry& entry : freed_) Release(entry);
}

Result<Allocation> Memory::Allocate(std::uint64_t size,
                                    std::uint64_t alignment,
                                    MemoryKind kind) {
  if (alignment == 0) alignment = 1;
  if ((alignment & (alignment - 1)) != 0) {
    return Err(DiagCode::kUsage,
               fmt::format("alignment {} is not a power of two", alignment));
  }
  if (size == 0) size = 1;
  if (size > (std::uint64_t{1} << 46) || alignment > (1u << 30)) {
    return Err(DiagCode::kIo, fmt::format("out of memory: {} bytes", size));
  }
  // Every allocation has pages of its own, so that they are zero. One page
  // more belongs to none, so that a step out of one never lands in the next.
  const std::uint64_t slack = alignment > kPage ? alignment : 0;
  const std::uint64_t bytes = AlignUp(size + slack, kPage) + kPage;
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    return Err(DiagCode::kIo, fmt::format("out of memory: {} bytes", size));
  }
  Entry e;
  e.mapping = map;
  e.mapping_size = bytes;
  e.allocation.address =
      AlignUp(reinterpret_cast<std::uint64_t>(map), alignment);
  e.allocation.size = size;
  e.allocation.kind = kind;
  const Status inserted = Insert(e);
  if (!inserted) {
    munmap(map, bytes);
    return Err(inserted.error());
  }
  return e.allocation;
}

Status Memory::Register(void* host, std::uint64_t size, MemoryKind kind) {
  if (host == nullptr || size == 0) {
    return Err(DiagCode::kUsage, "nothing to register");
  }
  Entry e;
  e.mapping = nullptr;
  e.mapping_size = 0;
  e.allocation.address = reinterpret_cast<std::uint64_t>(host);
  e.allocation.size = size;
  e.allocation.kind = kind;
  return Insert(e);
}

Status Memory::Insert(const Entry& entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::uint64_t begin = entry.allocation.address;
  const auto at = std::upper_bound(
      entries_.begin(), entries_.end(), begin,
      [](std::uint64_t a, const Entry& e) { return a < e.allocation.address; });
  const bool overlaps_next =
      at != entries_.end() &&
      at->allocation.address < begin + entry.allocation.size;
  const bool overlaps_previous =
      at != entries_.begin() &&
      (at - 1)->allocation.address + (at - 1)->allocation.size > begin;
  if (overlaps_next || overlaps_previous) {
    return Err(DiagCode::kUsage,
               fmt::format("{:#x} is registered already", begin));
  }
  entries_.insert(at, entry);
  freed_.erase(std::remove_if(freed_.begin(), freed_.end(),
                              [&](const Entry& e) {
                                const Allocation& f = e.allocation;
                                return e.mapping == nullptr &&
                                       f.address < begin +
                                                       entry.allocation.size &&
                                       begin < f.address + f.size;
                              }),
               freed_.end());
  return {};
}

Status Memory::Free(std::uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), address,
      [](const Entry& e, std::uint64_t a) { return e.allocation.address < a; });
  if (at == entries_.end() || at->allocation.address != address) {
    return Err(
        DiagCode::kUsage,
        fmt::format("{:#x} is not the start of an allocation", address));
  }
  const Entry gone = *at;
  entries_.erase(at);
  if (gone.mapping != nullptr) {
    // The pages go, the addresses stay taken.
    mmap(gone.mapping, gone.mapping_size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  if (freed_.size() == kFreedKept) {
    Release(freed_.front());
    freed_.erase(freed_.begin());
  }
  freed_.push_back(gone);
  epoch_.fetch_add(1, std::memory_order_release);
  return {};
}

std::optional<Allocation> Memory::Find(std::uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto at = std::upper_bound(
      entries_.begin(), entries_.end(), address,
      [](std::uint64_t a, const Entry& e) { return a < e.allocation.address; });
  if (at == entries_.begin()) return std::nullopt;
  --at;
  if (address - at->allocation.address >= at->allocation.size) {
    return std::nullopt;
  }
  return at->allocation;
}

std::uint64_t Memory::AllocatedBytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::uint64_t total = 0;
  for (const Entry& e : entries_) {
    if (e.mapping != nullptr) total += e.allocation.size;
  }
  return total;
}

std::string Memory::Describe(std::uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : freed_) {
    const Allocation& f = entry.allocation;
    if (address - f.address < f.size) {
      return fmt::format(
          "{} bytes into a {}-byte {} allocation that was freed",
          address - f.address, f.size, KindName(f.kind));
    }
  }
  const Allocation* best = nullptr;
  std::uint64_t best_distance = ~std::uint64_t{0};
  bool before = false;
  for (const Entry& e : entries_) {
    const Allocation& a = e.allocation;
    if (address < a.address) {
      if (a.address - address < best_distance) {
        best = &a, best_distance = a.address - address, before = true;
      }
    } else {
      const std::uint64_t past =
          address - a.address < a.size ? 0 : address - a.address - a.size;
      if (past < best_distance) {
        best = &a, best_distance = past, before = false;
      }
    }
  }
  if (best == nullptr) return "there is no allocation";
  return fmt::format("{} bytes {} a {}-byte {} allocation at {:#x}",
                     best_distance, before ? "before" : "past the end of",
                     best->size, KindName(best->kind), best->address);
}

bool MemoryView::CheckSlow(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t epoch = memory_->epoch();
  if (epoch != epoch_) {
    for (Range& r : recent_) r = Range{};
    epoch_ = epoch;
  }
  for (int i = 1; i < 4; ++i) {
    const Range r = recent_[i];
    if (size <= r.size && address - r.begin <= r.size - size) {
      for (int j = i; j > 0; --j) recent_[j] = recent_[j - 1];
      recent_[0] = r;
      return true;
    }
  }
  const std::optional<Allocation> a = memory_->Find(address);
  if (!a) return false;
#ifndef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
  if (size > a->size || address - a->address > a->size - size) return false;
#endif
  for (int i = 3; i > 0; --i) recent_[i] = recent_[i - 1];
  recent_[0] = {a->address, a->size};
  return true;
}

}  // namespace cerberus::emulator
