#include "emulator/access/shadow.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/decode/decode.h"

namespace cerberus::emulator {
namespace {

const char* Verb(MemKind kind) {
  return kind == MemKind::kLoad    ? "load"
         : kind == MemKind::kStore ? "store"
                                   : "atomic";
}

// Notes a store; says for a load whether any byte was ever written.
bool Written(u8* bytes, u32 size, MemKind kind) {
  const bool written =
      kind == MemKind::kStore ||
      std::any_of(bytes, bytes + size, [](u8 b) { return b != 0; });
  if (kind != MemKind::kLoad) std::fill_n(bytes, size, u8{1});
  return written;
}

template <typename C>
void Join(C& into, const C& other) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] = std::max(into[i], other[i]);
  }
}

}  // namespace

GroupShadow::GroupShadow(u32 lds_size, std::size_t scratch_size, u32 waves,
                         const DeviceOptions& options)
    : uninitialised_(options.check_uninitialised),
      scratch_(options.check_scratch) {
  if (uninitialised_) lds_written_.resize(lds_size);
  if (scratch_) scratch_written_.resize(scratch_size);
  if (options.check_races && waves > 1) {
    touches_.resize(lds_size);
    clocks_.resize(waves);
    for (u32 i = 0; i < waves; ++i) clocks_[i][i] = 1;
  }
}

void GroupShadow::Lds(Wave& w, u64 offset, u32 bytes, int lane, MemKind kind) {
  if (uninitialised_ && !Written(&lds_written_[offset], bytes, kind)) {
    ThrowAt(fmt::format("{} of {} bytes of LDS at offset {:#x} that were "
                        "never written",
                        Verb(kind), bytes, offset),
            lane, kSharedAperture + offset);
  }
  if (!touches_.empty()) Race(w, offset, bytes, lane, kind);
}

void GroupShadow::Scratch(Wave&, u64 index, u64 offset, u32 bytes, int lane,
                          MemKind kind) {
  if (scratch_ && !Written(&scratch_written_[index], bytes, kind)) {
    ThrowAt(fmt::format("{} of {} bytes of scratch at offset {:#x} that were "
                        "never written",
                        Verb(kind), bytes, offset),
            lane, kPrivateAperture + offset);
  }
}

void GroupShadow::Global(Wave& w, u64 address, u32 bytes, int lane,
                         MemKind kind) {
  const Memory::Range& r = w.memory.range();
  if (!uninitialised_ || r.written == nullptr) return;
  if (!Written(r.written + (address - r.begin), bytes, kind)) {
    ThrowAt(fmt::format("{} of {} bytes that were never written", Verb(kind),
                        bytes),
            lane, address);
  }
}

void GroupShadow::Arrive(u32 wave) {
  if (clocks_.empty()) return;
  Join(barrier_, clocks_[wave]);
  ++clocks_[wave][wave];
}

// A wave may have arrived at the next barrier already, so this orders a
// little more than there is; what is reported is true.
void GroupShadow::Leave(u32 wave) {
  if (!clocks_.empty()) Join(clocks_[wave], barrier_);
}

bool GroupShadow::Ordered(const Access& before, u32 wave) const {
  return before.op == nullptr || before.wave == wave ||
         clocks_[wave][before.wave] >= before.time;
}

void GroupShadow::CheckRace(Wave& w, u64 offset, int lane, MemKind kind,
                            const Access& other, bool other_wrote) {
  if (Ordered(other, w.index_in_group) ||
      (other.atomic && kind == MemKind::kAtomic)) {
    return;
  }
  ThrowAt(fmt::format(
              "data race: {} of LDS byte {:#x}, which wave {} has {} without "
              "a barrier between ('{}')",
              Verb(kind), offset, other.wave, other_wrote ? "written" : "read",
              other.program->TextAt(other.program->AddressOf(other.op))),
          lane, kSharedAperture + offset);
}

void GroupShadow::Race(Wave& w, u64 offset, u32 bytes, int lane, MemKind kind) {
  const u32 wave = w.index_in_group;
  Clock& clock = clocks_[wave];
  const bool atomic = kind == MemKind::kAtomic;
  if (atomic) {
    Clock& word = atomics_[offset / 4];
    Join(clock, word);
  }
  const Access now{w.current, w.program, wave, clock[wave], atomic};
  for (u64 at = offset; at < offset + bytes; ++at) {
    Touch& t = touches_[at];
    CheckRace(w, at, lane, kind, t.write, true);
    if (kind != MemKind::kLoad) {
      for (const Access& read : t.reads) {
        CheckRace(w, at, lane, kind, read, false);
      }
      t.write = now;
    }
    if (kind != MemKind::kStore) {
      if (t.reads[0].op != nullptr && t.reads[0].wave != wave) {
        t.reads[1] = t.reads[0];
      }
      t.reads[0] = now;
    }
  }
  if (atomic) {
    Join(atomics_[offset / 4], clock);
    ++clock[wave];
  }
}

}  // namespace cerberus::emulator
