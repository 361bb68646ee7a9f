// FLAT, GLOBAL and SCRATCH instructions (RDNA3 ISA, section 11).
#include <fmt/format.h>

#include <algorithm>

#include "emulator/access/lane_memory.h"
#include "emulator/access/memop.h"
#include "emulator/decode/decode.h"
#include "emulator/device/launch.h"
#include "emulator/execute/semantics.h"

namespace cerberus::emulator {
namespace {

enum class Space : u8 { kFlat, kGlobal, kScratch };

struct FlatOp {
  MemOp mem;
  Space space = Space::kFlat;
  bool to_lds = false;      // global_load_lds_*
  bool addtid = false;      // global_load_addtid_b32
  bool transposed = false;  // global_load_tr_b128
  Operand address, data, base;
};

const FlatOp& Data(const Op& op) {
  return *static_cast<const FlatOp*>(op.data);
}

// All lanes' addresses, of inactive lanes too.
void LaneAddresses(const FlatOp& f, const u32* rows, u32 n, u64 base,
                   u64* out) {
  const u32 step = f.addtid ? 4 : 0;
  if (f.address.kind == Kind::kNone) {
    for (u32 i = 0; i < n; ++i) out[i] = base + u64{step} * i;
  } else if (f.address.regs == 2) {
    for (u32 i = 0; i < n; ++i) {
      out[i] = base + (rows[i] | static_cast<u64>(rows[i + n]) << 32);
    }
  } else {
    for (u32 i = 0; i < n; ++i) out[i] = base + rows[i];
  }
}

// The scalar part of every lane's address.
u64 ScalarBase(Wave& w, const Op& op, const FlatOp& f) {
  u64 base = static_cast<u64>(i64{op.offset});
  if (f.base.sgpr() && f.base.reg != kNull) {
    base += f.space == Space::kScratch ? ReadScalar(w, f.base)
                                       : ReadScalar64(w, f.base);
  } else if (f.base.kind == Kind::kImm) {
    base += f.base.imm;
  }
  return base;
}

u8* At(Wave& w, const FlatOp& f, u64 address, u32 bytes, int lane) {
  switch (f.space) {
    case Space::kGlobal: return GlobalAt(w, address, bytes, lane, f.mem);
    case Space::kScratch:
      // Scratch addresses are 32-bit offsets into the lane's own memory.
      return ScratchAt(w, static_cast<u32>(address), bytes, lane, f.mem);
    case Space::kFlat: break;
  }
  return FlatAt(w, address, bytes, lane, f.mem);
}

// Calls fn(lane, host address) for the active lanes.
template <typename F>
void ForLanesAt(Wave& w, const FlatOp& f, u64 exec, const u64* addresses,
                F&& fn) {
  const auto at = [&](u32 lane) {
    return At(w, f, addresses[lane], f.mem.bytes, static_cast<int>(lane));
  };
  try {
    ForLanes(exec, [&](u32 lane) { fn(lane, at(lane)); });
  } catch (FaultError& e) {
    e.lanes = FaultingLanes(exec, at);
    throw;
  }
}

// Scratch offsets are no addresses.
void Count(Wave& w, const FlatOp& f, u64 exec, const u64* addresses) {
  CountMemory(w, f.mem, exec, f.space == Space::kScratch ? nullptr : addresses);
}

// Where all active lanes are in one piece of memory.
struct Place {
  u8* base = nullptr;
  LaneOffsets lanes;
};

void ToScratch(Wave& w, Place* place) {
  place->base = w.scratch;
  u32* const at = place->lanes.at;
  for (u32 i = 0; i < w.lanes; ++i) at[i] += i * w.scratch_stride;
  if (place->lanes.inside()) place->lanes.shape = Shape::kAny;
}

// False if a lane is elsewhere, or each must be looked at: stores to read-only
// memory, memory under CERBERUS_EMU_CHECK.
bool FindPlace(Wave& w, const FlatOp& f, const u32* rows, u64 base,
               Place* place) {
  static constexpr u32 kNoRows[64] = {};
  const u32 bytes = f.mem.bytes;
  const u64 exec = w.Exec();
  if (exec == 0 || w.shadow != nullptr || f.addtid) return false;
  const LaneMemory& memory = host_lane_memory;
  LaneOffsets& lanes = place->lanes;
  lanes.n = w.lanes;
  lanes.mask = w.LaneMask();
  const bool own_fits =
      w.scratch_stride >= bytes && u64{w.scratch_stride} * w.lanes >> 31 == 0;
  if (f.space == Space::kScratch) {
    if (!own_fits) return false;
    memory.find(rows == nullptr ? kNoRows : rows, static_cast<u32>(base), 0,
                w.scratch_stride - bytes, bytes, &lanes);
    ToScratch(w, place);
    return lanes.inside();
  }
  if (rows == nullptr) return false;
  const u32 lane = static_cast<u32>(std::countr_zero(exec));
  const bool wide = f.address.regs == 2;
  const u64 first =
      base + (wide ? rows[lane] | static_cast<u64>(rows[lane + w.lanes]) << 32
                   : rows[lane]);
  if (f.space == Space::kFlat && wide) {
    if (first - kSharedAperture < kApertureSize) {
      if (w.lds_size < bytes || !w.pending.lds.empty()) return false;
      place->base = w.lds;
      memory.find64(rows, base - kSharedAperture, w.lds_size - bytes, bytes,
                    &lanes);
      return lanes.inside();
    }
    if (first - kPrivateAperture < kApertureSize) {
      if (!own_fits) return false;
      memory.find64(rows, base - kPrivateAperture, w.scratch_stride - bytes,
                    bytes, &lanes);
      ToScratch(w, place);
      return lanes.inside();
    }
  }
  if (!w.memory.Check(first, bytes)) return false;
  if (f.mem.kind != MemKind::kLoad && !w.memory.range().writable) return false;
  // As much of the allocation, around the first lane, as offsets can reach.
  const u64 begin =
      std::max(w.memory.begin(), first - std::min(first, u64{1} << 30));
  const u32 limit = static_cast<u32>(
      std::min(w.memory.end() - bytes - begin, u64{0x7fffffff}));
  place->base = reinterpret_cast<u8*>(begin);
  const i64 add = static_cast<i64>(base - begin);
  if (wide) {
    memory.find64(rows, static_cast<u64>(add), limit, bytes, &lanes);
  } else {
    if (add != static_cast<i32>(add)) return false;
    memory.find(rows, static_cast<u32>(add), 1u << 31, limit, bytes, &lanes);
  }
  return lanes.inside();
}

// What a load or store of any shape begins with: its rows of addresses, and the
// counters.
const u32* AddressRows(Wave& w, const FlatOp& f, u64 base) {
  const u32* const rows =
      f.address.kind == Kind::kNone ? nullptr : w.Vgpr(f.address);
  if (w.counting) [[unlikely]] {
    u64 addresses[64];
    LaneAddresses(f, rows, w.lanes, base, addresses);
    Count(w, f, w.Exec(), addresses);
  }
  return rows;
}

void ExecFlatLoad(Wave& w, const Op& op) {
  const FlatOp& f = Data(op);
  const u32 n = w.lanes;
  const u64 base = ScalarBase(w, op, f);
  const u32* const rows = AddressRows(w, f, base);
  u32* const d = w.Vgpr(op.dst);
  Place place;
  if (FindPlace(w, f, rows, base, &place)) {
    host_lane_memory.load(f.mem, place.base, place.lanes, d);
    return;
  }
  // The destination may hold the addresses.
  u64 addresses[64];
  LaneAddresses(f, rows, n, base, addresses);
  ForLanesAt(w, f, w.Exec(), addresses, [&](u32 lane, const u8* from) {
    LoadLaneData(f.mem, from, d, lane, n);
  });
}

void ExecFlatStore(Wave& w, const Op& op) {
  const FlatOp& f = Data(op);
  const u32 n = w.lanes;
  const u64 base = ScalarBase(w, op, f);
  const u32* const rows = AddressRows(w, f, base);
  const u32* const data = w.Vgpr(f.data);
  Place place;
  if (FindPlace(w, f, rows, base, &place)) {
    host_lane_memory.store(f.mem, place.base, place.lanes, data);
    return;
  }
  u64 addresses[64];
  LaneAddresses(f, rows, n, base, addresses);
  ForLanesAt(w, f, w.Exec(), addresses, [&](u32 lane, u8* to) {
    StoreLaneData(f.mem, to, data, lane, n);
  });
}

bool Aligned(const Place& place, u32 bytes) {
  u64 bits = 0;
  for (u32 i = 0; i < place.lanes.n; ++i) {
    bits |= reinterpret_cast<u64>(place.base) + place.lanes.at[i];
  }
  return (bits & (bytes - 1)) == 0;
}

// Adds of the whole wave to one place: one read-modify-write, lane after lane.
bool AddToOne(Wave& w, const Op& op, const Place& place) {
  const FlatOp& f = Data(op);
  if (f.mem.atomic != Atomic::kAdd || f.mem.bytes != 4 ||
      place.lanes.shape != Shape::kSame) {
    return false;
  }
  const u32* const data = w.Vgpr(f.data);
  u32 before[64];
  u32 sum = 0;
  for (u32 i = 0; i < w.lanes; ++i) before[i] = sum, sum += data[i];
  const u32 old = static_cast<u32>(HostAtomic(
      Atomic::kAdd, 4, place.base + place.lanes.at[0], sum, 0, w.mode));
  if (f.mem.returns) {
    u32* const d = w.Vgpr(op.dst);
    for (u32 i = 0; i < w.lanes; ++i) d[i] = old + before[i];
  }
  return true;
}

void ExecFlatAtomic(Wave& w, const Op& op) {
  const FlatOp& f = Data(op);
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  const u64 base = ScalarBase(w, op, f);
  const u32* const rows = AddressRows(w, f, base);
  const u32* const data = w.Vgpr(f.data);
  const u8 bytes = f.mem.bytes;
  ApplyEnv(w, bytes == 8 ? Env::kF64 : Env::kF32);
  // cmpswap: the new value first, what to compare with behind it.
  const bool compares =
      f.mem.atomic == Atomic::kCmpSwap || f.mem.atomic == Atomic::kCmpSwapF;
  u64 old[64];
  const auto apply = [&](u32 lane, u8* at) {
    const u64 value = LaneValue(data, lane, n, bytes);
    const u64 compare =
        compares ? LaneValue(data + (bytes / 4) * n, lane, n, bytes) : 0;
    old[lane] = HostAtomic(f.mem.atomic, bytes, at, value, compare, w.mode);
  };
  Place place;
  if (FindPlace(w, f, rows, base, &place) && Aligned(place, bytes)) {
    if (AddToOne(w, op, place)) return;
    ForLanes(exec,
             [&](u32 lane) { apply(lane, place.base + place.lanes.at[lane]); });
  } else {
    u64 addresses[64];
    LaneAddresses(f, rows, n, base, addresses);
    ForLanesAt(w, f, exec, addresses, apply);
  }
  if (!f.mem.returns) return;
  u32* const d = w.Vgpr(op.dst);
  ForLanes(exec, [&](u32 lane) {
    d[lane] = static_cast<u32>(old[lane]);
    if (bytes == 8) d[lane + n] = static_cast<u32>(old[lane] >> 32);
  });
}

// Straight to LDS: M0 holds the base of the wave's window, each lane's data
// goes behind the one before it (CDNA3 ISA, section 9.1.9).
void ExecLoadToLds(Wave& w, const Op& op) {
  const FlatOp& f = Data(op);
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  const u64 base = ScalarBase(w, op, f);
  const u32* const rows =
      f.address.kind == Kind::kNone ? nullptr : w.Vgpr(f.address);
  const u32 step = f.mem.bytes < 4 ? 4 : f.mem.bytes;
  u64 addresses[64];
  LaneAddresses(f, rows, n, base, addresses);
  Count(w, f, exec, addresses);
  MemOp to_lds = f.mem;
  to_lds.kind = MemKind::kStore;
  ForLanes(exec, [&](u32 lane) {
    const u8* const from =
        At(w, f, addresses[lane], f.mem.bytes, static_cast<int>(lane));
    u32 value[4] = {};
    LoadLaneData(f.mem, from, value, 0, 1);
    u8* const to = LdsAt(
        w, u64{w.sgpr[kM0]} + static_cast<u64>(op.offset) + u64{lane} * step,
        step, static_cast<int>(lane), to_lds);
    std::memcpy(to, value, step);
    NoteLdsPending(w, to, step);
  });
}

// 16 bytes of each of eight lanes are an 8x8 matrix of 16-bit elements that
// is transposed on its way (RDNA4 ISA, GLOBAL_LOAD_TR_B128). The manual does
// not say which lanes share a matrix; on gfx1201 lane L's element j has been
// observed to be element L % 8 of lane 8 * (L / 8) + j.
void ExecLoadTransposed(Wave& w, const Op& op) {
  ExecFlatLoad(w, op);
  const u32 n = w.lanes;
  u32* const d = w.Vgpr(op.dst);
  u32 from[4 * 64];
  std::memcpy(from, d, sizeof(u32) * 4 * n);
  ForLanes(w.Exec(), [&](u32 lane) {
    const u32 at = lane & 7, row = at / 2, shift = at % 2 * 16;
    for (u32 r = 0; r < 4; ++r) {
      const u32 low = from[row * n + (lane & ~7u) + 2 * r] >> shift;
      const u32 high = from[row * n + (lane & ~7u) + 2 * r + 1] >> shift;
      d[r * n + lane] = (low & 0xffff) | high << 16;
    }
  });
}

bool ParseName(std::string_view name, FlatOp* f) {
  std::string_view rest;
  if (name.starts_with("flat_")) {
    f->space = Space::kFlat;
    rest = name.substr(5);
  } else if (name.starts_with("global_")) {
    f->space = Space::kGlobal;
    rest = name.substr(7);
  } else if (name.starts_with("scratch_")) {
    f->space = Space::kScratch;
    rest = name.substr(8);
  } else {
    return false;
  }
  if (rest.starts_with("load_lds_")) {
    f->to_lds = true;
    return ParseMemOp("load_" + std::string(rest.substr(9)), &f->mem);
  }
  if (rest == "load_tr_b128" && f->space == Space::kGlobal) {
    f->transposed = true;
    return ParseMemOp("load_b128", &f->mem);
  }
  if (rest == "load_addtid_b32" || rest == "load_dword_addtid") {
    f->addtid = true;
    return ParseMemOp("load_b32", &f->mem);
  }
  if (rest == "store_addtid_b32" || rest == "store_dword_addtid") {
    f->addtid = true;
    return ParseMemOp("store_b32", &f->mem);
  }
  return ParseMemOp(rest, &f->mem);
}

// Cache controls: nothing is cached.
bool IsCacheControl(std::string_view name) {
  return name == "global_wb" || name == "global_inv" ||
         name == "global_wbinv" || name == "buffer_gl0_inv" ||
         name == "buffer_gl1_inv" || name == "buffer_wbl2" ||
         name == "buffer_invl2" || name == "buffer_inv" ||
         name == "buffer_wbinvl1" || name == "buffer_wbinvl1_vol";
}

}  // namespace

bool KnowsFlat(std::string_view name) {
  FlatOp f;
  return IsCacheControl(name) || ParseName(name, &f);
}

bool DecodeFlat(const Text& text, Program& program, Op* op) {
  if (IsCacheControl(text.mnemonic)) {
    op->klass = OpClass::kOther;
    // They count as loads all the same (AMDGPUUsage, "Memory Model GFX12" and
    // "GFX942").
    if (text.mnemonic == "global_inv" || text.mnemonic == "buffer_wbl2") {
      op->wait = Wait::kVm;
    }
    op->handler.store([](Wave&, const Op&) {}, std::memory_order_relaxed);
    return true;
  }
  FlatOp f;
  if (!ParseName(text.mnemonic, &f)) return false;
  op->klass = f.space == Space::kScratch  ? OpClass::kScratch
              : f.space == Space::kGlobal ? ClassOf(f.mem)
                                          : OpClass::kFlat;
  op->offset = static_cast<i32>(text.Number("offset", 0));
  std::vector<Operand> o;
  for (const std::string& s : text.operands) {
    o.push_back(program.ParseOperand(s, Type::kWide));
  }
  const auto at = [&](std::size_t i) {
    return i < o.size() ? o[i] : Operand{};
  };
  std::size_t i = 0;
  Handler handler = ExecFlatLoad;
  const bool flat = f.space == Space::kFlat;
  // Operands: [result], address, [data], base.
  if (f.to_lds) {
    f.address = at(i++);
    handler = ExecLoadToLds;
    op->flags |= kFlagLds;
  } else if (f.mem.kind == MemKind::kLoad) {
    op->dst = at(i++);
    if (!f.addtid) f.address = at(i++);
    if (f.transposed) handler = ExecLoadTransposed;
  } else if (f.mem.kind == MemKind::kStore) {
    if (!f.addtid) f.address = at(i++);
    f.data = at(i++);
    handler = ExecFlatStore;
  } else {
    f.mem.returns = o.size() == (flat ? 3u : 4u);
    if (f.mem.returns) op->dst = at(i++);
    f.address = at(i++);
    f.data = at(i++);
    handler = ExecFlatAtomic;
  }
  f.base = at(i);
  op->wait = flat ? Wait::kFlat : Wait::kVm;
  // For the check of missing waits: what is read.
  op->flags |= f.mem.SettleHalf(program.gen());
  op->src[0] = f.address;
  op->src[1] = f.data;
  op->src[2] = f.base;
  op->nsrc = 3;
  const bool needs_result = f.mem.kind == MemKind::kLoad && !f.to_lds;
  const bool needs_data = f.mem.kind != MemKind::kLoad;
  if ((needs_result && !op->dst.vgpr()) || (needs_data && !f.data.vgpr()) ||
      (f.address.kind != Kind::kNone && !f.address.vgpr()) ||
      f.address.regs > 2) {
    handler = ExecUnimplemented;
  }
  op->data = program.Keep(f);
  op->handler.store(handler, std::memory_order_relaxed);
  return true;
}

}  // namespace cerberus::emulator
