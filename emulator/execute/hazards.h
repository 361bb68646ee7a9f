// Wait states that CDNA wants between certain instructions, which the hardware
// does not insert by itself. The numbers are those that LLVM inserts
// (GCNHazardRecognizer), which follows AMD's tables "Manually Inserted Wait
// States" but knows some later findings. Other generations have none that
// change results, or a compiler cannot know.
#ifndef CERBERUS_EMULATOR_EXECUTE_HAZARDS_H_
#define CERBERUS_EMULATOR_EXECUTE_HAZARDS_H_

#include "emulator/decode/decode.h"

namespace cerberus::emulator {

// Op::hazard of an instruction; 0 where it takes part in nothing.
u32 HazardBits(const Text& text, const Op& op, Gen gen);

// An error if `op` comes too early behind what the wave has issued.
void CheckHazards(Wave& w, const Op& op);

// Wait states that an instruction takes: one, s_nop one more than it says.
constexpr u32 kHazardNop = 1u << 23;
inline u32 WaitStates(const Op& op) {
  return (op.hazard & kHazardNop) != 0 ? 1 + (op.hazard >> 24) : 1;
}
// How many wait states behind it a producer matters; 0: it is none. Only matrix
// instructions reach far.
constexpr u32 kHazardNear = 5, kHazardFar = 20;
inline u32 HazardReach(const Op& op) { return op.hazard >> 16 & 0x1f; }
// Consumers of what any vector instruction writes.
constexpr u32 kHazardAlways = 1u << 22;

// For every instruction of a wave, before it is executed.
inline void TrackHazards(Wave& w, const Op& op) {
  Hazards& h = w.hazards;
  if (h.now < h.until || (op.hazard & kHazardAlways) != 0) CheckHazards(w, op);
  h.recent[h.count++ % h.recent.size()] = {&op, h.now};
  h.now += WaitStates(op);
  const u32 reach = HazardReach(op);
  if (reach == 0) return;
  h.until = std::max(h.until, h.now + reach);
  if (reach > kHazardNear) h.until_matrix = h.now + reach;
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_EXECUTE_HAZARDS_H_
