// LDS instructions (RDNA3 ISA, section 12). A workgroup is run by one host
// thread, so nothing here needs host atomics.
#include <fmt/format.h>

#include "emulator/access/lane_memory.h"
#include "emulator/access/memop.h"
#include "emulator/decode/decode.h"
#include "emulator/device/launch.h"

namespace cerberus::emulator {
namespace {

enum class Form : u8 {
  kPlain,  // one address
  kTwo,    // ds_load_2addr, ds_store_2addr, ds_storexchg_2addr
  kAddtid,
  kTranspose,  // ds_read_b64_tr_b16 and its kin
  kAppend,
  kConsume,
  kSwizzle,
  kPermute,
  kBpermute,
  kNop,
  kCondExchange,
};

struct LdsOp {
  Form form = Form::kPlain;
  MemOp mem;
  u32 offset0 = 0, offset1 = 0, scale = 0;  // kTwo
  Operand address, data, data2;
  bool exchange = false;
  bool fi = false;
  u32 element = 0;  // kTranspose: bits
};

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
  const u32 now = l.form == Form::kAppend ? old + count : old - count;
  std::memcpy(at, &now, 4);
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) { d[lane] = old; });
}

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

// The lane that an address names. RDNA2 and RDNA3 move data within 32 lanes
// only, in a wave of 64 too; CDNA and gfx12 across the wave.
u32 OtherLane(const Wave& w, const Op& op, const u32* address, u32 lane) {
  const bool halves = w.gen == Gen::kGfx10 || w.gen == Gen::kGfx11;
  const u32 reach = halves ? 32 : w.lanes;
  const u32 index = (address[lane] + static_cast<u32>(op.offset)) / 4;
  return (lane & ~(reach - 1)) | (index & (reach - 1));
}

// Push: each lane sends its value to the lane its address names. The highest
// numbered sender wins; lanes nobody sends to get 0.
void ExecPermute(Wave& w, const Op& op) {
  const LdsOp& l = Data(op);
  const u64 exec = w.Exec();
  const u32* const address = w.Vgpr(l.address);
  const u32* const data = w.Vgpr(l.data);
  u32 result[64] = {};
  ForLanes(exec, [&](u32 lane) {
    result[OtherLane(w, op, address, lane)] = data[lane];
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
  u32 data[64];
  std::memcpy(data, w.Vgpr(l.data), n * 4);
  u32 result[64];
  ForLanes(exec, [&](u32 lane) {
    const u32 from = OtherLane(w, op, address, lane);
    result[lane] = l.fi || (exec >> from & 1) != 0 ? data[from] : 0;
  });
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) { d[lane] = result[lane]; });
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

// Names of old and new generations to one form: "load_b32", "add_rtn_u32".
struct Name {
  std::string_view name;
  Atomic atomic;
  u8 bytes;
};
constexpr Name kAtomics[] = {
    {"add_u32", Atomic::kAdd, 4},
    {"sub_u32", Atomic::kSub, 4},
    {"rsub_u32", Atomic::kRsub, 4},
    {"inc_u32", Atomic::kInc, 4},
    {"dec_u32", Atomic::kDec, 4},
    {"min_i32", Atomic::kMinI, 4},
    {"max_i32", Atomic::kMaxI, 4},
    {"min_u32", Atomic::kMinU, 4},
    {"max_u32", Atomic::kMaxU, 4},
    {"and_b32", Atomic::kAnd, 4},
    {"or_b32", Atomic::kOr, 4},
    {"xor_b32", Atomic::kXor, 4},
    {"mskor_b32", Atomic::kMskOr, 4},
    {"min_f32", Atomic::kMinF, 4},
    {"max_f32", Atomic::kMaxF, 4},
    {"add_f32", Atomic::kAddF, 4},
    {"min_num_f32", Atomic::kMinNumF, 4},
    {"max_num_f32", Atomic::kMaxNumF, 4},
    {"min_num_f64", Atomic::kMinNumF, 8},
    {"max_num_f64", Atomic::kMaxNumF, 8},
    {"add_u64", Atomic::kAdd, 8},
    {"sub_u64", Atomic::kSub, 8},
    {"rsub_u64", Atomic::kRsub, 8},
    {"inc_u64", Atomic::kInc, 8},
    {"dec_u64", Atomic::kDec, 8},
    {"min_i64", Atomic::kMinI, 8},
    {"max_i64", Atomic::kMaxI, 8},
    {"min_u64", Atomic::kMinU, 8},
    {"max_u64", Atomic::kMaxU, 8},
    {"and_b64", Atomic::kAnd, 8},
    {"or_b64", Atomic::kOr, 8},
    {"xor_b64", Atomic::kXor, 8},
    {"mskor_b64", Atomic::kMskOr, 8},
    {"min_f64", Atomic::kMinF, 8},
    {"max_f64", Atomic::kMaxF, 8},
    {"add_f64", Atomic::kAddF, 8},
    {"pk_add_f16", Atomic::kPkAddF16, 4},
    {"pk_add_bf16", Atomic::kPkAddBf16, 4},
    {"cond_sub_u32", Atomic::kCondSub, 4},
    {"sub_clamp_u32", Atomic::kSubClamp, 4},
    {"wrxchg_b32", Atomic::kSwap, 4},
    {"wrxchg_b64", Atomic::kSwap, 8},
    {"storexchg_b32", Atomic::kSwap, 4},
    {"storexchg_b64", Atomic::kSwap, 8},
    {"cmpst_b32", Atomic::kCmpSwap, 4},
    {"cmpst_b64", Atomic::kCmpSwap, 8},
    {"cmpst_f32", Atomic::kCmpSwapF, 4},
    {"cmpst_f64", Atomic::kCmpSwapF, 8},
    {"cmpstore_b32", Atomic::kCmpSwap, 4},
    {"cmpstore_b64", Atomic::kCmpSwap, 8},
    {"cmpstore_f32", Atomic::kCmpSwapF, 4},
    {"cmpstore_f64", Atomic::kCmpSwapF, 8},
    {"wrap_b32", Atomic::kWrap, 4},
};

// Instructions that have a form of their own.
struct FormName {
  std::string_view name;
  Form form;
  MemKind kind = MemKind::kLoad;
  bool fi = false;
};
constexpr FormName kForms[] = {
    {"nop", Form::kNop},
    {"swizzle_b32", Form::kSwizzle},
    {"permute_b32", Form::kPermute},
    {"bpermute_b32", Form::kBpermute},
    {"bpermute_fi_b32", Form::kBpermute, MemKind::kLoad, true},
    {"append", Form::kAppend, MemKind::kAtomic},
    {"consume", Form::kConsume, MemKind::kAtomic},
    {"condxchg32_rtn_b64", Form::kCondExchange, MemKind::kAtomic},
};

// load_2addr_stride64_b64, or load2st64_b64 in older text. True if `s` is one;
// *known is false if its type is not.
bool ParseTwo(const std::string& s, LdsOp* l, bool* known) {
  for (const bool stride : {true, false}) {
    for (const std::string_view old :
         {std::string_view("load"), std::string_view("store"),
          std::string_view("storexchg"), std::string_view("wrxchg")}) {
      const std::string a = std::string(old) + (stride ? "2st64_" : "2_");
      const std::string b =
          std::string(old) + (stride ? "_2addr_stride64_" : "_2addr_");
      const std::string c = a + "rtn_", d = b + "rtn_";
      for (const std::string& prefix : {c, d, a, b}) {
        if (!s.starts_with(prefix)) continue;
        const std::string type = s.substr(prefix.size());
        *known = type == "b32" || type == "b64";
        l->form = Form::kTwo;
        l->mem.bytes = type == "b32" ? 4 : 8;
        l->scale = l->mem.bytes * (stride ? 64u : 1u);
        l->exchange = old == "storexchg" || old == "wrxchg";
        l->mem.kind = old == "load" ? MemKind::kLoad : MemKind::kStore;
        return true;
      }
    }
  }
  return false;
}

// load_b64_tr_b8 and its kin.
bool ParseTranspose(const std::string& s, LdsOp* l) {
  for (const u32 bits : {4u, 6u, 8u, 16u}) {
    const u8 bytes = bits == 6 ? 12 : 8;
    if (s !=
        "load_b" + std::to_string(8 * bytes) + "_tr_b" + std::to_string(bits)) {
      continue;
    }
    l->form = Form::kTranspose;
    l->element = bits;
    l->mem.kind = MemKind::kLoad;
    l->mem.bytes = bytes;
    return true;
  }
  return false;
}

bool ParseName(std::string_view name, LdsOp* l, bool* compare_first) {
  *compare_first = false;
  if (!name.starts_with("ds_")) return false;
  std::string s(name.substr(3));
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = s.find(from);
    if (at != std::string::npos) s.replace(at, from.size(), to);
  };
  for (const FormName& form : kForms) {
    if (s != form.name) continue;
    l->form = form.form;
    l->mem.kind = form.kind;
    l->fi = form.fi;
    return true;
  }
  if (s.starts_with("read")) replace("read", "load");
  if (s.starts_with("write")) replace("write", "store");
  if (bool known = true; ParseTwo(s, l, &known)) return known;
  if (s == "load_addtid_b32" || s == "store_addtid_b32") {
    l->form = Form::kAddtid;
    return ParseMemOp(s == "load_addtid_b32" ? "load_b32" : "store_b32",
                      &l->mem);
  }
  if (ParseTranspose(s, l)) return true;
  MemOp mem;
  if (ParseMemOp(s, &mem) && mem.kind != MemKind::kAtomic) {
    l->mem = mem;
    return true;
  }
  const bool returns = s.find("_rtn_") != std::string::npos;
  replace("_rtn_", "_");
  for (const Name& a : kAtomics) {
    if (s != a.name) continue;
    l->mem.kind = MemKind::kAtomic;
    l->mem.atomic = a.atomic;
    l->mem.bytes = a.bytes;
    l->mem.returns = returns;
    // cmpst has the value to compare with first, cmpstore last.
    *compare_first = s.starts_with("cmpst_");
    return true;
  }
  return false;
}

// What the forms of LDS instructions take, in the order of their text.
class LdsOperands {
 public:
  LdsOperands(const Text& text, Program& program, Op& op, LdsOp& l)
      : text_(text), program_(program), op_(op), l_(l) {}

  // The handler of l's form, whose operands are in `op` and `l` then.
  Handler Take(bool compare_first);
  // All that it needs are vector registers.
  bool AreVectors() const {
    return (!needs_dst_ || op_.dst.vgpr()) &&
           (!needs_address_ || l_.address.vgpr()) &&
           (!needs_data_ || l_.data.vgpr());
  }

 private:
  Operand Next() {
    return i_ < text_.operands.size()
               ? program_.ParseOperand(text_.operands[i_++], Type::kWide)
               : Operand{};
  }
  void TakeDst() {
    op_.dst = Next();
    needs_dst_ = true;
  }
  void TakeAddress() {
    l_.address = Next();
    needs_address_ = true;
  }
  void TakeData() {
    l_.data = Next();
    needs_data_ = true;
  }
  Handler TakeTwo();
  Handler TakePlain(bool compare_first);

  const Text& text_;
  Program& program_;
  Op& op_;
  LdsOp& l_;
  std::size_t i_ = 0;
  bool needs_dst_ = false;
  bool needs_address_ = false;
  bool needs_data_ = false;
};

Handler LdsOperands::Take(bool compare_first) {
  switch (l_.form) {
    case Form::kNop: return [](Wave&, const Op&) {};
    case Form::kSwizzle:
      TakeDst();
      TakeAddress();
      // LLVM's text leaves out the mask of a rotation.
      op_.aux = text_.word & 0xffff;
      return ExecSwizzle;
    case Form::kPermute:
    case Form::kBpermute:
      TakeDst();
      TakeAddress();
      TakeData();
      return l_.form == Form::kPermute ? ExecPermute : ExecBpermute;
    case Form::kAppend:
    case Form::kConsume: TakeDst(); return ExecLdsAppend;
    case Form::kAddtid:
      if (l_.mem.kind == MemKind::kLoad) {
        TakeDst();
      } else {
        TakeData();
      }
      return ExecLdsAddtid;
    case Form::kTwo: return TakeTwo();
    case Form::kCondExchange:
      TakeDst();
      TakeAddress();
      TakeData();
      return ExecCondExchange;
    case Form::kTranspose:
      TakeDst();
      TakeAddress();
      return ExecLdsTranspose;
    case Form::kPlain: return TakePlain(compare_first);
  }
  return ExecUnimplemented;
}

Handler LdsOperands::TakeTwo() {
  l_.offset0 = static_cast<u32>(text_.Number("offset0", 0));
  l_.offset1 = static_cast<u32>(text_.Number("offset1", 0));
  if (l_.mem.kind == MemKind::kLoad || l_.exchange) TakeDst();
  TakeAddress();
  if (l_.mem.kind == MemKind::kStore) {
    TakeData();
    l_.data2 = Next();
  }
  return ExecLdsTwo;
}

Handler LdsOperands::TakePlain(bool compare_first) {
  if (l_.mem.kind == MemKind::kLoad || l_.mem.returns) TakeDst();
  TakeAddress();
  if (l_.mem.kind == MemKind::kLoad) return ExecLdsLoad;
  TakeData();
  l_.data2 = Next();
  if (compare_first) std::swap(l_.data, l_.data2);
  return l_.mem.kind == MemKind::kStore ? ExecLdsStore : ExecLdsAtomic;
}

}  // namespace

bool KnowsLds(std::string_view name) {
  LdsOp l;
  bool compare_first;
  return ParseName(name, &l, &compare_first);
}

bool DecodeLds(const Text& text, Program& program, Op* op) {
  LdsOp l;
  bool compare_first = false;
  if (!ParseName(text.mnemonic, &l, &compare_first)) return false;
  op->klass = OpClass::kLds;
  op->wait = Wait::kLgkmLds;
  op->offset = static_cast<i32>(text.Number("offset", 0));
  LdsOperands operands(text, program, *op, l);
  Handler handler = operands.Take(compare_first);
  if (text.Has("gds") || !operands.AreVectors()) handler = ExecUnimplemented;
  op->src[0] = l.address;
  op->src[1] = l.data;
  op->src[2] = l.data2;
  op->nsrc = 3;
  op->data = program.Keep(l);
  op->handler.store(handler, std::memory_order_relaxed);
  return true;
}

}  // namespace cerberus::emulator
