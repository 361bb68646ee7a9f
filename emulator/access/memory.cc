#include "emulator/access/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

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

void Memory::ReleaseWritten(Entry& entry) {
  if (entry.written == nullptr) return;
  munmap(entry.written, entry.allocation.size);
  entry.written = nullptr;
}

Memory::~Memory() {
  for (Entry& entry : entries_) {
    ReleaseWritten(entry);
    Release(entry);
  }
  for (const Entry& entry : freed_) Release(entry);
}

Result<Allocation> Memory::Allocate(std::uint64_t size, std::uint64_t alignment,
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
  e.made = NextCall();
  if (track_writes_ && kind == MemoryKind::kDevice) {
    void* written = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (written != MAP_FAILED) e.written = static_cast<std::uint8_t*>(written);
  }
  const Status inserted = Insert(e);
  if (!inserted) {
    ReleaseWritten(e);
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
  e.made = NextCall();
  e.allocation.address = reinterpret_cast<std::uint64_t>(host);
  e.allocation.size = size;
  e.allocation.kind = kind;
  return Insert(e);
}

void Memory::ForgetRegistered(std::uint64_t address, std::uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  DropRegistered(address, address + size);
}

void Memory::DropRegistered(std::uint64_t begin, std::uint64_t end) {
  std::vector<Entry> left;
  const auto is_stale = [&](const Entry& e) {
    const std::uint64_t first = e.allocation.address;
    const std::uint64_t last = first + e.allocation.size;
    if (e.allocation.kind != MemoryKind::kRegistered || last <= begin ||
        first >= end) {
      return false;
    }
    if (first < begin) {
      left.push_back(e);
      left.back().allocation.size = begin - first;
    }
    if (last > end) {
      left.push_back(e);
      left.back().allocation.address = end;
      left.back().allocation.size = last - end;
    }
    return true;
  };
  if (std::erase_if(entries_, is_stale) == 0) return;
  for (Entry& e : left) entries_.push_back(std::move(e));
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) {
              return a.allocation.address < b.allocation.address;
            });
  epoch_.fetch_add(1, std::memory_order_release);
}

Status Memory::Insert(const Entry& entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (entry.mapping != nullptr) {
    const auto mapped = reinterpret_cast<std::uint64_t>(entry.mapping);
    DropRegistered(mapped, mapped + entry.mapping_size);
  }
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
                                       f.address <
                                           begin + entry.allocation.size &&
                                       begin < f.address + f.size;
                              }),
               freed_.end());
  return {};
}

Status Memory::Free(std::uint64_t address, std::string_view by) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), address,
      [](const Entry& e, std::uint64_t a) { return e.allocation.address < a; });
  if (at == entries_.end() || at->allocation.address != address) {
    return Err(DiagCode::kUsage,
               fmt::format("{:#x} is not the start of an allocation", address));
  }
  Entry gone = std::move(*at);
  entries_.erase(at);
  ReleaseWritten(gone);
  gone.freed = NextCall();
  gone.freed_by = by;
  if (gone.mapping != nullptr) {
    // The pages go, the addresses stay taken.
    mmap(gone.mapping, gone.mapping_size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  if (freed_.size() == kFreedKept) {
    Release(freed_.front());
    freed_.erase(freed_.begin());
  }
  freed_.push_back(std::move(gone));
  epoch_.fetch_add(1, std::memory_order_release);
  return {};
}

const Memory::Entry* Memory::FindEntry(std::uint64_t address) const {
  auto at = std::upper_bound(
      entries_.begin(), entries_.end(), address,
      [](std::uint64_t a, const Entry& e) { return a < e.allocation.address; });
  if (at == entries_.begin()) return nullptr;
  --at;
  return address - at->allocation.address < at->allocation.size ? &*at
                                                                : nullptr;
}

std::optional<Allocation> Memory::Find(std::uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Entry* const e = FindEntry(address);
  if (e == nullptr) return std::nullopt;
  return e->allocation;
}

Memory::Range Memory::FindRange(std::uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Entry* const e = FindEntry(address);
  if (e == nullptr) return {};
  Range r{e->allocation.address, e->allocation.size, true, e->written};
  std::uint64_t end = r.begin + r.size;
  for (const Range& p : e->read_only) {
    if (address - p.begin < p.size) return p;
    // What lies between read-only parts.
    if (p.begin + p.size <= address)
      r.begin = std::max(r.begin, p.begin + p.size);
    else end = std::min(end, p.begin);
  }
  if (e->allocation.kind == MemoryKind::kRegistered) {
    // What is mapped side by side is one range.
    const auto joins = [](const Entry& left, const Entry& right) {
      const Allocation& a = left.allocation;
      return a.kind == right.allocation.kind &&
             a.address + a.size == right.allocation.address &&
             left.read_only.empty() && right.read_only.empty();
    };
    const Entry* const first = entries_.data();
    for (const Entry* at = e; at != first && joins(at[-1], *at); --at) {
      r.begin = at[-1].allocation.address;
    }
    const Entry* const last = first + entries_.size() - 1;
    for (const Entry* at = e; at != last && joins(*at, at[1]); ++at) {
      end = at[1].allocation.address + at[1].allocation.size;
    }
  }
  r.size = end - r.begin;
  return r;
}

void Memory::Protect(std::uint64_t address, std::uint64_t size) {
  if (!protects_) return;
  std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& e : entries_) {
    if (address - e.allocation.address < e.allocation.size) {
      e.read_only.push_back({address, size, false, nullptr});
    }
  }
}

void Memory::MarkWritten(std::uint64_t address, std::uint64_t size) {
  if (!track_writes_) return;
  std::lock_guard<std::mutex> lock(mutex_);
  const Entry* const e = FindEntry(address);
  if (e == nullptr || e->written == nullptr) return;
  const std::uint64_t at = address - e->allocation.address;
  std::memset(e->written + at, 1, std::min(size, e->allocation.size - at));
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
  if (address < kPage) return "the null page";
  // The latest first: addresses that were forgotten may be taken again.
  for (auto entry = freed_.rbegin(); entry != freed_.rend(); ++entry) {
    const Allocation& f = entry->allocation;
    if (address - f.address < f.size) {
      return fmt::format(
          "{} bytes into a {}-byte {} allocation of call {} that was freed "
          "by {}call {}",
          address - f.address, f.size, KindName(f.kind), entry->made,
          entry->freed_by.empty() ? "" : entry->freed_by + ", ", entry->freed);
    }
  }
  const Entry* best = nullptr;
  std::uint64_t best_distance = ~std::uint64_t{0};
  const char* where = "before";
  for (const Entry& e : entries_) {
    const Allocation& a = e.allocation;
    const std::uint64_t into = address - a.address;
    const bool before = address < a.address;
    const bool inside = !before && into < a.size;
    const std::uint64_t distance = before   ? a.address - address
                                   : inside ? 0
                                            : into - a.size;
    if (distance >= best_distance && !inside) continue;
    best = &e;
    best_distance = inside ? into : distance;
    where = before ? "before" : inside ? "into" : "past the end of";
    if (inside) break;
  }
  std::string words = "there is no allocation";
  if (best != nullptr) {
    const Allocation& a = best->allocation;
    words = fmt::format("{} bytes {} a {}-byte {} allocation at {:#x}, call {}",
                        best_distance, where, a.size, KindName(a.kind),
                        a.address, best->made);
  }
  // A page that the process has and nobody gave to the device.
  void* const page = reinterpret_cast<void*>(address & ~(kPage - 1));
  if (FindEntry(address) == nullptr && best_distance > kPage &&
      msync(page, 1, MS_ASYNC) == 0) {
    return "memory of the host that is neither pinned, managed nor "
           "registered";
  }
  return words;
}

bool MemoryView::CheckSlow(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t epoch = memory_->epoch();
  if (epoch != epoch_) {
    for (Memory::Range& r : recent_) r = Memory::Range{};
    epoch_ = epoch;
  }
  const auto holds = [&](const Memory::Range& r) {
    return size <= r.size && address - r.begin <= r.size - size;
  };
  for (int i = 1; i < 4; ++i) {
    const Memory::Range r = recent_[i];
    if (!holds(r)) continue;
    for (int j = i; j > 0; --j) recent_[j] = recent_[j - 1];
    recent_[0] = r;
    return true;
  }
  const Memory::Range r = memory_->FindRange(address);
#ifdef CERBERUS_PLANTED_BUG  // what the fuzzers must find (docs/fuzzing.md)
  if (r.size == 0) return false;
#else
  if (!holds(r)) return false;
#endif
  for (int i = 3; i > 0; --i) recent_[i] = recent_[i - 1];
  recent_[0] = r;
  return true;
}

}  // namespace cerberus::emulator
