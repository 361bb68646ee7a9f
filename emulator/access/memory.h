// What kernels may touch: live allocations, found fast.
#ifndef CERBERUS_EMULATOR_ACCESS_MEMORY_H_
#define CERBERUS_EMULATOR_ACCESS_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/emulator.h"

namespace cerberus::emulator {

// Flat addresses of LDS and scratch: the apertures that AMD's driver uses,
// outside of what the host can map (AMDGPUUsage, "Memory Spaces").
inline constexpr std::uint64_t kSharedAperture = std::uint64_t{1} << 48;
inline constexpr std::uint64_t kPrivateAperture = std::uint64_t{2} << 48;
inline constexpr std::uint64_t kApertureSize = std::uint64_t{1} << 32;

class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Result<Allocation> Allocate(std::uint64_t size, std::uint64_t alignment,
                              MemoryKind kind);
  Status Register(void* host, std::uint64_t size, MemoryKind kind);
  // `by`: the call that frees, for reports.
  Status Free(std::uint64_t address, std::string_view by = {});
  // These addresses were given out again, so that what was registered of them
  // is memory that the program has unmapped since. What is left of it on
  // either side stays.
  void ForgetRegistered(std::uint64_t address, std::uint64_t size);
  // Part of an allocation that kernels may not write.
  void Protect(std::uint64_t address, std::uint64_t size);
  // Allocating, freeing and launching are counted, so that a report can say
  // in which order things happened.
  std::uint64_t NextCall() { return ++calls_; }
  // From now on device memory knows which of its bytes were written.
  void TrackWrites() { track_writes_ = true; }
  // Protect() has no effect from now on.
  void ProtectNothing() { protects_ = false; }
  // The host has written these bytes.
  void MarkWritten(std::uint64_t address, std::uint64_t size);
  std::optional<Allocation> Find(std::uint64_t address) const;
  std::uint64_t AllocatedBytes() const;
  // Words for a fault report: what `address` is closest to.
  std::string Describe(std::uint64_t address) const;
  struct Range {
    std::uint64_t begin = 0, size = 0;
    bool writable = true;
    // One byte per byte, 0: never written; null: not tracked.
    std::uint8_t* written = nullptr;
  };
  // The bytes around `address` that may be accessed in the same way; empty
  // outside of allocations.
  Range FindRange(std::uint64_t address) const;
  // Changes whenever an allocation goes away.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  struct Entry {
    Allocation allocation;
    void* mapping = nullptr;  // what to release; null if not ours
    std::uint64_t mapping_size = 0;
    std::uint8_t* written = nullptr;  // as in Range, mapped
    std::vector<Range> read_only;
    std::uint64_t made = 0, freed = 0;  // numbers of calls
    std::string freed_by;
  };
  const Entry* FindEntry(std::uint64_t address) const;
  Status Insert(const Entry& entry);
  // Under the lock.
  void DropRegistered(std::uint64_t begin, std::uint64_t end);
  static void Release(const Entry& entry);
  static void ReleaseWritten(Entry& entry);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // sorted by address
  // The latest freed ones: their addresses stay reserved, so that a stale
  // pointer is a fault and not another allocation's bytes.
  std::vector<Entry> freed_;
  std::atomic<std::uint64_t> epoch_{1};
  std::atomic<std::uint64_t> calls_{0};
  bool track_writes_ = false;
  bool protects_ = true;
};

// A wave's view: the allocations it used last.
class MemoryView {
 public:
  void Attach(const Memory* memory) { memory_ = memory; }
  // True if [address, address + size) lies in a live allocation.
  bool Check(std::uint64_t address, std::uint64_t size) {
    const Memory::Range& r = recent_[0];
    if (address - r.begin <= r.size - size && size <= r.size &&
        memory_->epoch() == epoch_) {
      return true;
    }
    return CheckSlow(address, size);
  }
  // The cached allocation's bounds, for checks of whole vectors.
  std::uint64_t begin() const { return recent_[0].begin; }
  std::uint64_t end() const { return recent_[0].begin + recent_[0].size; }
  bool Current() const { return memory_->epoch() == epoch_; }
  // Of the range that the last successful Check() found.
  const Memory::Range& range() const { return recent_[0]; }
  const Memory* memory() const { return memory_; }

 private:
  bool CheckSlow(std::uint64_t address, std::uint64_t size);

  const Memory* memory_ = nullptr;
  std::uint64_t epoch_ = 0;
  Memory::Range recent_[4];
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_ACCESS_MEMORY_H_
