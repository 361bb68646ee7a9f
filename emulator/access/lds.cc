// Execution of LDS instructions. A workgroup is run by one host thread, so
// nothing here needs host atomics.
#include "emulator/access/lds.h"

#include "emulator/access/lane_memory.h"
#include "emulator/device/launch.h"

namespace cerberus::emulator {

namespace {

const LdsOp& Data(const Op& op) { return *static_cast<const LdsOp*>(op.data); }

u64 OffsetOf(const Op& op, const u32* rows, u32 lane) {
  return u64{rows[lane]} + static_cast<u32>(op.offset);
}

// The active lanes' offsets, if all lie inside the group's LDS, with `more`
// bytes behind an element, and none needs a look at. Sums wrap at 32 bits, as
// in LdsAt.
bool Offsets(Wave& w, const u32* rows, u32 offset, u32 bytes, u32 more,
             LaneOffsets* o) {
  if (w.lds_size < bytes + more || w.shadow != nullptr ||
      !w.pending.lds.empty()) {
    return false;
  }
  o->n = w.lanes;
  o->mask = w.LaneMask();
  host_lane_memory.find(rows, offset, 0, w.lds_size - bytes - more, bytes, o);
  return o->inside();
}

// Calls fn(lane, host address) for the active lanes, at rows[lane] + offset.
template <typename F>
void ForLanesAt(Wave& w, const LdsOp& l, u64 exec, const u32* rows, u32 offset,
                F&& fn) {
  const auto at = [&](u32 lane) {
    return LdsAt(w, u64{rows[lane]} + offset, l.mem.bytes,
                 static_cast<int>(lane), l.mem);
  };
  try {
    ForLanes(exec, [&](u32 lane) { fn(lane, at(lane)); });
  } catch (FaultError& e) {
    e.lanes = FaultingLanes(exec, at);
    throw;
  }
}

// The same for the counters, which take 64 bits.
void CountOffsets(Wave& w, const MemOp& op, u64 exec, const u32* rows,
                  u32 offset) {
  if (!w.counting) [[likely]]
    return;
  u64 offsets[64];
  ForLanes(exec, [&](u32 lane) { offsets[lane] = u64{rows[lane]} + offset; });
  CountLds(w, op, exec, offsets);
}

}  // namespace

void ExecLdsLoad(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  const u32* const rows = w.Vgpr(l.address);
  const u32 offset = static_cast<u32>(op.offset);
  CountOffsets(w, l.mem, exec, rows, offset);
  u32* const d = w.Vgpr(op.dst);
  LaneOffsets o;
  if (Offsets(w, rows, offset, l.mem.bytes, 0, &o)) {
    host_lane_memory.load(l.mem, w.lds, o, d);
    return;
  }
  // The destination may hold the addresses.
  u32 base[64];
  std::memcpy(base, rows, n * 4);
  ForLanesAt(w, l, exec, base, offset, [&](u32 lane, const u8* from) {
    LoadLaneData(l.mem, from, d, lane, n);
  });
}

void ExecLdsStore(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u64 exec = w.Exec();
  const u32* const rows = w.Vgpr(l.address);
  const u32* const data = w.Vgpr(l.data);
  const u32 offset = static_cast<u32>(op.offset);
  CountOffsets(w, l.mem, exec, rows, offset);
  LaneOffsets o;
  if (Offsets(w, rows, offset, l.mem.bytes, 0, &o)) {
    host_lane_memory.store(l.mem, w.lds, o, data);
    return;
  }
  ForLanesAt(w, l, exec, rows, offset, [&](u32 lane, u8* to) {
    StoreLaneData(l.mem, to, data, lane, w.lanes);
  });
}

// Two elements at two offsets that count in elements, or 64 of them.
void ExecLdsTwo(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  const u32* const rows = w.Vgpr(l.address);
  const u32 words = l.mem.bytes / 4u;
  const u32 first = l.offset0 * l.scale, second = l.offset1 * l.scale;
  CountOffsets(w, l.mem, exec, rows, first);
  CountOffsets(w, l.mem, exec, rows, second);
  // Both from the lower one's place.
  const u32 low = std::min(first, second),
            apart = std::max(first, second) - low;
  LaneOffsets o;
  if (!l.exchange && Offsets(w, rows, low, l.mem.bytes, apart, &o)) {
    u8* const at0 = w.lds + (first - low);
    u8* const at1 = w.lds + (second - low);
    if (l.mem.kind == MemKind::kLoad) {
      u32* const d = w.Vgpr(op.dst);
      host_lane_memory.load(l.mem, at0, o, d);
      host_lane_memory.load(l.mem, at1, o, d + words * n);
      return;
    }
    // Where lanes overlap, the higher one wins with both its elements.
    if (o.shape == Shape::kRow && apart >= l.mem.bytes * n) {
      host_lane_memory.store(l.mem, at0, o, w.Vgpr(l.data));
      host_lane_memory.store(l.mem, at1, o, w.Vgpr(l.data2));
      return;
    }
    const u32* const data0 = w.Vgpr(l.data);
    const u32* const data1 = w.Vgpr(l.data2);
    ForLanes(exec, [&](u32 lane) {
      for (u32 r = 0; r < words; ++r) {
        std::memcpy(at0 + o.at[lane] + 4 * r, &data0[r * n + lane], 4);
      }
      for (u32 r = 0; r < words; ++r) {
        std::memcpy(at1 + o.at[lane] + 4 * r, &data1[r * n + lane], 4);
      }
    });
    return;
  }
  u32 base[64];
  std::memcpy(base, rows, n * 4);
  ForLanes(exec, [&](u32 lane) {
    const int at = static_cast<int>(lane);
    u8* const a = LdsAt(w, u64{base[lane]} + first, l.mem.bytes, at, l.mem);
    u8* const b = LdsAt(w, u64{base[lane]} + second, l.mem.bytes, at, l.mem);
    u32 old[4];
    std::memcpy(old, a, l.mem.bytes);
    if (l.data.vgpr()) StoreLaneData(l.mem, a, w.Vgpr(l.data), lane, n);
    std::memcpy(old + words, b, l.mem.bytes);
    if (l.data2.vgpr()) StoreLaneData(l.mem, b, w.Vgpr(l.data2), lane, n);
    if (op.dst.vgpr()) {
      u32* const d = w.Vgpr(op.dst);
      for (u32 i = 0; i < 2 * words; ++i) d[i * n + lane] = old[i];
    }
  });
}

namespace {

// The most common atomic; false if a lane is outside or misaligned.
bool AddToLds(Wave& w, const Op& op, const u32* rows, const u32* data) {
  LaneOffsets o;
  if (!Offsets(w, rows, static_cast<u32>(op.offset), 4, 0, &o)) return false;
  u32 bits = 0;
  for (u32 i = 0; i < w.lanes; ++i) bits |= o.at[i];
  if ((bits & 3) != 0) return false;
  u32 old[64];
  ForLanes(w.Exec(), [&](u32 lane) {
    u8* const at = w.lds + o.at[lane];
    std::memcpy(&old[lane], at, 4);
    const u32 sum = old[lane] + data[lane];
    std::memcpy(at, &sum, 4);
  });
  if (op.dst.vgpr()) {
    u32* const d = w.Vgpr(op.dst);
    ForLanes(w.Exec(), [&](u32 lane) { d[lane] = old[lane]; });
  }
  return true;
}

}  // namespace

void ExecLdsAtomic(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  const u32* const rows = w.Vgpr(l.address);
  const u32* const data = w.Vgpr(l.data);
  const u32* const data2 = l.data2.vgpr() ? w.Vgpr(l.data2) : nullptr;
  const u8 bytes = l.mem.bytes;
  ApplyEnv(w, bytes == 8 ? Env::kF64 : Env::kF32);
  if (w.counting) [[unlikely]] {
    u64 offsets[64];
    ForLanes(exec, [&](u32 lane) { offsets[lane] = OffsetOf(op, rows, lane); });
    CountLds(w, l.mem, exec, offsets);
  }
  if (bytes == 4 && l.mem.atomic == Atomic::kAdd &&
      AddToLds(w, op, rows, data)) {
    return;
  }
  u64 old[64];
  ForLanes(exec, [&](u32 lane) {
    u8* const at = LdsAt(w, OffsetOf(op, rows, lane), bytes,
                         static_cast<int>(lane), l.mem);
    u64 before = 0;
    std::memcpy(&before, at, bytes);
    const u64 second = data2 != nullptr ? LaneValue(data2, lane, n, bytes) : 0;
    const u64 after =
        ApplyAtomic(l.mem.atomic, bytes, before,
                    LaneValue(data, lane, n, bytes), second, w.mode);
    std::memcpy(at, &after, bytes);
    old[lane] = before;
  });
  if (!op.dst.vgpr()) return;
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) {
    d[lane] = static_cast<u32>(old[lane]);
    if (bytes == 8) d[lane + n] = static_cast<u32>(old[lane] >> 32);
  });
}

// The wave's own window: M0 plus four bytes a lane.
void ExecLdsAddtid(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const bool load = l.mem.kind == MemKind::kLoad;
  ForLanes(w.Exec(), [&](u32 lane) {
    const u64 offset = u64{static_cast<u32>(op.offset)} +
                       (w.sgpr[kM0] & 0xffff) + 4 * u64{lane};
    u8* const at = LdsAt(w, offset, 4, static_cast<int>(lane), l.mem);
    if (load) LoadLaneData(l.mem, at, w.Vgpr(op.dst), lane, w.lanes);
    else StoreLaneData(l.mem, at, w.Vgpr(l.data), lane, w.lanes);
  });
}

// One counter for the wave: adds or subtracts the number of active lanes.
void ExecLdsAppend(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u64 exec = w.Exec();
  if (exec == 0) return;
  const u64 offset = u64{static_cast<u32>(op.offset)} + (w.sgpr[kM0] & 0xffff);
  u8* const at = LdsAt(w, offset, 4, -1, l.mem);
  u32 old;
  std::memcpy(&old, at, 4);
  const u32 count = static_cast<u32>(std::popcount(exec));
  const u32 now = l.form == LdsForm::kAppend ? old + count : old - count;
  std::memcpy(at, &now, 4);
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) { d[lane] = old; });
}

namespace {

// Lane a swizzle reads from (RDNA3 ISA, DS_SWIZZLE_B32): quad permutation,
// rotation, FFT reversal, or bit masks on the lane number within 32.
u32 SwizzleSource(u32 offset, u32 lane) {
  if (offset >= 0xe000) {  // FFT: reverse the bits of the lane's number
    const u32 mask = offset & 0x1f;
    u32 reversed = 0;
    for (u32 i = 0; i < 5; ++i) reversed |= (lane >> i & 1) << (4 - i);
    return reversed >> std::popcount(mask) | (lane & mask) | (lane & 32);
  }
  if (offset >= 0xc000) {  // rotate left, or right if bit 10 is set
    const u32 mask = offset & 0x1f, amount = offset >> 5 & 0x1f;
    const u32 moved = (offset >> 10 & 1) != 0 ? lane - amount : lane + amount;
    return (lane & mask) | (moved & ~mask & 31) | (lane & 32);
  }
  if ((offset & 0x8000) != 0) {  // quad permutation
    return (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3);
  }
  const u32 and_mask = offset & 31, or_mask = offset >> 5 & 31,
            xor_mask = offset >> 10 & 31;
  return (lane & ~31u) | ((((lane & 31) & and_mask) | or_mask) ^ xor_mask);
}

}  // namespace

// Sixteen lanes read a matrix of sixteen columns row by row and get a column
// each (CDNA4 ISA, DS_READ_B64_TR_B16).
void ExecLdsTranspose(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  const u32* const addresses = w.Vgpr(l.address);
  std::array<std::array<u64, 3>, 64> rows = {};  // one word more than read
  ForLanes(exec, [&](u32 lane) {
    const u8* const at = LdsAt(w, OffsetOf(op, addresses, lane), l.mem.bytes,
                               static_cast<int>(lane), l.mem);
    std::memcpy(&rows[lane], at, l.mem.bytes);
  });
  const u32 per_lane = l.mem.bytes * 8u / l.element;
  const u32 lanes_per_row = 16 / per_lane;
  const auto element = [&](u32 lane, u32 index) {
    const u32 bit = index * l.element;
    u64 v = rows[lane][bit / 64] >> bit % 64;
    if (bit % 64 + l.element > 64)
      v |= rows[lane][bit / 64 + 1] << (64 - bit % 64);
    return v & ((u64{1} << l.element) - 1);
  };
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) {
    std::array<u64, 3> out = {};
    const u32 column = lane & 15;
    for (u32 row = 0; row < per_lane; ++row) {
      const u64 v =
          element((lane & ~15u) + row * lanes_per_row + column / per_lane,
                  column % per_lane);
      const u32 bit = row * l.element;
      out[bit / 64] |= v << bit % 64;
      if (bit % 64 + l.element > 64) out[bit / 64 + 1] |= v >> (64 - bit % 64);
    }
    for (u32 i = 0; i < l.mem.bytes / 4u; ++i) {
      d[i * n + lane] = static_cast<u32>(out[i / 2] >> (32 * (i & 1)));
    }
  });
}

void ExecSwizzle(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u64 exec = w.Exec();
  u32 from[64];
  std::memcpy(from, w.Vgpr(l.address), w.lanes * 4);
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) {
    const u32 source = SwizzleSource(op.aux, lane);
    d[lane] = (exec >> source & 1) != 0 ? from[source] : 0;
  });
}

namespace {

// The lane that an address names. RDNA2 and RDNA3 move data within 32 lanes
// only, in a wave of 64 too; CDNA and gfx12 across the wave.
u32 Reach(const Wave& w) {
  return w.gen == Gen::kGfx10 || w.gen == Gen::kGfx11 ? 32 : w.lanes;
}
u32 OtherLane(u32 reach, u32 address, u32 lane) {
  return (lane & ~(reach - 1)) | (address / 4 & (reach - 1));
}

}  // namespace

// Push: each lane sends its value to the lane its address names. The highest
// numbered sender wins; lanes nobody sends to get 0.
void ExecPermute(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u64 exec = w.Exec();
  const u32* const address = w.Vgpr(l.address);
  const u32* const data = w.Vgpr(l.data);
  const u32 reach = Reach(w), offset = static_cast<u32>(op.offset);
  u32 result[64] = {};
  ForLanes(exec, [&](u32 lane) {
    result[OtherLane(reach, address[lane] + offset, lane)] = data[lane];
  });
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) { d[lane] = result[lane]; });
}

// Pull: each lane reads the value of the lane its address names; inactive
// lanes give 0.
void ExecBpermute(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  const u32* const address = w.Vgpr(l.address);
  const u32 reach = Reach(w), offset = static_cast<u32>(op.offset);
  alignas(64) u32 index[64], result[64];
  for (u32 i = 0; i < n; ++i) {
    index[i] = OtherLane(reach, address[i] + offset, i);
  }
  host_lane_memory.pull(w.Vgpr(l.data), index, n, result);
  u32* const d = w.Vgpr(op.dst);
  if (exec == w.LaneBits()) {
    std::memcpy(d, result, n * 4);
    return;
  }
  ForLanes(exec, [&](u32 lane) {
    d[lane] = l.fi || (exec >> index[lane] & 1) != 0 ? result[lane] : 0;
  });
}

// ds_condxchg32_rtn_b64: two dwords, each exchanged if its top bit is set.
void ExecCondExchange(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u32 n = w.lanes;
  u64 old[64];
  const u64 exec = w.Exec();
  ForLanes(exec, [&](u32 lane) {
    u8* const at = LdsAt(w, OffsetOf(op, w.Vgpr(l.address), lane), 8,
                         static_cast<int>(lane), l.mem);
    u32 value[2];
    std::memcpy(value, at, 8);
    old[lane] = value[0] | static_cast<u64>(value[1]) << 32;
    const u32* const data = w.Vgpr(l.data);
    for (u32 i = 0; i < 2; ++i) {
      const u32 v = data[i * n + lane];
      if (v >> 31 != 0) value[i] = v & 0x7fffffff;
    }
    std::memcpy(at, value, 8);
  });
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) {
    d[lane] = static_cast<u32>(old[lane]);
    d[lane + n] = static_cast<u32>(old[lane] >> 32);
  });
}

}  // namespace cerberus::emulator
