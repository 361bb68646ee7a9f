// Whole rows of lanes between registers and memory, for accesses that are known
// to lie inside: compiled once for each ISA of the host, as the lane
// loops are.
#ifndef CERBERUS_EMULATOR_ACCESS_LANE_MEMORY_H_
#define CERBERUS_EMULATOR_ACCESS_LANE_MEMORY_H_

#include "emulator/access/memop.h"

namespace cerberus::emulator {

enum class Shape : u8 {
  kOutside,  // a lane is outside, or must be looked at by itself
  kRow,      // all lanes, one element behind the other
  kSame,     // all lanes at the same place
  kAny,
};

// Where the lanes of a wave are in one piece of memory.
struct LaneOffsets {
  Shape shape = Shape::kOutside;
  u32 n = 32;
  const u32* mask = nullptr;  // as in LaneArgs; lanes without it are at 0
  alignas(64) u32 at[64];

  // The first byte of an element; the whole of it must be inside.
  bool inside() const { return shape != Shape::kOutside; }
};

// What can be done with them. `bytes` is an element's size; `limit`, below
// 2^31, the last offset at which it is still inside.
struct LaneMemory {
  // rows[lane] + add, in 32 bits; a row with a bit of `guard` is outside.
  void (*find)(const u32* rows, u32 add, u32 guard, u32 limit, u32 bytes,
               LaneOffsets* o);
  // The same with 64-bit addresses in two rows.
  void (*find64)(const u32* rows, u64 add, u32 limit, u32 bytes,
                 LaneOffsets* o);
  void (*load)(const MemOp& op, const u8* from, const LaneOffsets& o, u32* d);
  void (*store)(const MemOp& op, u8* to, const LaneOffsets& o, const u32* data);
  // Between the lanes of a register: out[lane] = from[index[lane]]. `out` is
  // neither of the others.
  void (*pull)(const u32* from, const u32* index, u32 n, u32* out);
};
namespace base {
extern const LaneMemory kLaneMemory;
}  // namespace base
namespace v3 {
extern const LaneMemory kLaneMemory;
}  // namespace v3
namespace v4 {
extern const LaneMemory kLaneMemory;
}  // namespace v4

// The one for this host (semantics.cc).
extern const LaneMemory& host_lane_memory;

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_ACCESS_LANE_MEMORY_H_
