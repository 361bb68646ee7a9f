// What CERBERUS_EMU_CHECK asks for: which bytes were ever written, and which
// wave touched a byte of LDS last. A group that is checked has a GroupShadow;
// otherwise none of this runs.
//
// Never-written memory: a load is an error if none of its bytes was ever
// written. (A compiler may load padding, or more than it needs, together with
// what it needs, so a byte more is none.)
//
// Races on LDS: accesses of two waves to the same byte, one of them a write,
// not both atomic, with nothing between them that orders them. Barriers order,
// and atomics on the same word of LDS do. Each wave has a vector clock
// (FastTrack: Flanagan and Freund, PLDI 2009).
#ifndef CERBERUS_EMULATOR_ACCESS_SHADOW_H_
#define CERBERUS_EMULATOR_ACCESS_SHADOW_H_

#include <array>
#include <unordered_map>
#include <vector>

#include "emulator/access/memop.h"

namespace cerberus::emulator {

class GroupShadow {
 public:
  GroupShadow(u32 lds_size, std::size_t scratch_size, u32 waves,
              const DeviceOptions& options);

  void Lds(Wave& w, u64 offset, u32 bytes, int lane, MemKind kind);
  void Scratch(Wave& w, u64 index, u64 offset, u32 bytes, int lane,
               MemKind kind);
  void Global(Wave& w, u64 address, u32 bytes, int lane, MemKind kind);

  // The two halves of a barrier.
  void Arrive(u32 wave);
  void Leave(u32 wave);

 private:
  static constexpr std::size_t kMaxWaves = 32;
  using Clock = std::array<u32, kMaxWaves>;
  // One wave's access to a byte, and when that was on its own clock.
  struct Access {
    const Op* op = nullptr;  // null: none
    Program* program = nullptr;
    u32 wave = 0;
    u32 time = 0;
    bool atomic = false;
  };
  struct Touch {
    Access write;
    Access reads[2];  // the latest by two different waves
  };
  bool Ordered(const Access& before, u32 wave) const;
  void CheckRace(Wave& w, u64 offset, int lane, MemKind kind,
                 const Access& other, bool other_wrote);
  void Race(Wave& w, u64 offset, u32 bytes, int lane, MemKind kind);

  const bool uninitialised_, scratch_;
  std::vector<u8> lds_written_, scratch_written_;
  std::vector<Touch> touches_;  // empty: races are not looked for
  std::vector<Clock> clocks_;   // by wave
  Clock barrier_ = {};
  std::unordered_map<u64, Clock> atomics_;  // by offset in words
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_ACCESS_SHADOW_H_
