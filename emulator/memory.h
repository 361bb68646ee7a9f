// What kernels may touch: live allocations, found fast.
#ifndef CERBERUS_EMULATOR_MEMORY_H_
#define CERBERUS_EMULATOR_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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
  Status Free(std::uint64_t address);
  std::optional<Allocation> Find(std::uint64_t address) const;
  std::uint64_t AllocatedBytes() const;
  // Words for a fault report: what `address` is closest to.
  std::string Describe(std::uint64_t address) const;
  // Changes whenever an allocation goes away.
  std::uint64_t epoch() const {
    return epoch_.load(std::memory_order_acquire);
  }

 private:
  struct Entry {
    Allocation allocation;
    void* mapping;  // what to release; null if not ours
    std::uint64_t mapping_size;
  };
  Status Insert(const Entry& entry);
  static void Release(const Entry& entry);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // sorted by address
  // The latest freed ones: their addresses stay reserved, so that a stale
  // pointer is a fault and not another allocation's bytes.
  std::vector<Entry> freed_;
  std::atomic<std::uint64_t> epoch_{1};
};

// A wave's view: the allocations it used last.
class MemoryView {
 public:
  void Attach(const Memory* memory) { memory_ = memory; }
  // True if [address, address + size) lies in a live allocation.
  bool Check(std::uint64_t address, std::uint64_t size) {
    const Range& r = recent_[0];
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
  const Memory* memory() const { return memory_; }

 private:
  struct Range {
    std::uint64_t begin = 0, size = 0;
  };
  bool CheckSlow(std::uint64_t address, std::uint64_t size);

  const Memory* memory_ = nullptr;
  std::uint64_t epoch_ = 0;
  Range recent_[4];
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_MEMORY_H_
