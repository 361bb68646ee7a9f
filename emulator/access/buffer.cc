// Untyped buffer instructions (RDNA3 ISA, section 9): an address is made of a
// four-word descriptor, an index and an offset, and checked against the
// descriptor's range.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/access/memop.h"
#include "emulator/decode/decode.h"
#include "emulator/device/device.h"
#include "emulator/device/launch.h"

namespace cerberus::emulator {
namespace {

struct BufferOp {
  MemOp mem;
  bool offen = false, idxen = false, to_lds = false;
  Operand data, address, resource, soffset;
};

// The fields of a buffer descriptor that addressing looks at.
struct Descriptor {
  u64 base = 0;
  u32 stride = 0;
  u32 records = 0;
  bool swizzle = false;
  u32 index_stride = 8, element_size = 4;
  bool add_tid = false;
  u32 oob = 0;
};

Descriptor ReadDescriptor(const Wave& w, u32 slot) {
  const u32 w0 = w.sgpr[slot], w1 = w.sgpr[slot + 1], w2 = w.sgpr[slot + 2],
            w3 = w.sgpr[slot + 3];
  Descriptor d;
  d.base = w0 | static_cast<u64>(w1 & 0xffff) << 32;
  d.stride = w1 >> 16 & 0x3fff;
  d.records = w2;
  static constexpr u32 kIndexStride[] = {8, 16, 32, 64};
  d.index_stride = kIndexStride[w3 >> 21 & 3];
  d.add_tid = (w3 >> 23 & 1) != 0;
  if (IsCdna(w.gen)) {
    d.swizzle = (w1 >> 31) != 0;
    static constexpr u32 kElement[] = {2, 4, 8, 16};
    d.element_size = kElement[w3 >> 19 & 3];
    // With the thread's id added, the format field extends the stride.
    if (d.add_tid) d.stride |= (w3 >> 15 & 15) << 14;
  } else {
    // gfx10: one bit, elements of 4; gfx11 and later: two bits that choose
    // the element size, 0 for none.
    const u32 mode = w.gen == Gen::kGfx10 ? w1 >> 31 : w1 >> 30 & 3;
    d.swizzle = mode != 0;
    static constexpr u32 kElement[] = {4, 4, 8, 16};
    d.element_size = w.gen == Gen::kGfx10 ? 4 : kElement[mode];
    d.oob = w3 >> 28 & 3;
  }
  return d;
}

struct Address {
  u64 address = 0;
  bool in_range = true;    // all of it
  bool by_scalar = false;  // in range but for the scalar offset
  u32 bytes = 0;           // the first so many are
  bool scratch = false;
};

Address LaneAddress(const Wave& w, const BufferOp& b, const Descriptor& d,
                    u32 voffset, u32 vindex, u32 soffset, u32 ioffset, u32 lane,
                    u32 bytes) {
  const u64 offset = u64{voffset} + ioffset;
  Address r;
  r.bytes = bytes;
  // The scratch descriptor we make at the start of a wave: the stack pointer
  // counts bytes of the whole wave, the offset those of one lane.
  if (d.base == (kPrivateAperture & 0xffffffffffff) && d.add_tid) {
    r.scratch = true;
    r.address = soffset / w.lanes + offset;
    return r;
  }
  const u64 index = u64{vindex} + (d.add_tid ? lane : 0);
  // Range checking: structured buffers by index, raw ones by offset.
  const bool structured = d.stride != 0 && (b.idxen || d.add_tid);
  const bool by_index = IsCdna(w.gen) ? d.stride != 0 && (d.swizzle || b.idxen)
                                      : d.oob == 0 || d.oob == 1;
  const auto in_range = [&](u32 size) {
    if (!IsCdna(w.gen) && d.oob == 2) return d.records != 0;
    if (by_index && d.stride != 0) {
      return index < d.records &&
             (d.oob == 1 || offset + size <= d.stride || !d.swizzle);
    }
    if (structured) return index * d.stride + offset + size <= d.records;
    return offset + soffset + size <= u64{d.records} ||
           (IsCdna(w.gen) && offset + size <= u64{d.records});
  };
  r.in_range = in_range(bytes);
  r.by_scalar = IsCdna(w.gen) && !by_index && !structured &&
                offset + soffset + bytes > u64{d.records};
  // Loads and stores are checked component by component, atomics as a whole
  // (RDNA2 ISA, "Range checking").
  while (r.bytes > 0 && !in_range(r.bytes)) r.bytes -= std::min(r.bytes, 4u);
  u64 relative;
  if (d.swizzle) {
    const u64 index_msb = index / d.index_stride;
    const u64 index_lsb = index % d.index_stride;
    const u64 offset_msb = offset / d.element_size;
    const u64 offset_lsb = offset % d.element_size;
    relative =
        (index_msb * d.stride + offset_msb * d.element_size) * d.index_stride +
        index_lsb * d.element_size + offset_lsb;
  } else {
    relative = index * d.stride + offset;
  }
  r.address = d.base + soffset + relative;
  return r;
}

const BufferOp& Data(const Op& op) {
  return *static_cast<const BufferOp*>(op.data);
}

// Calls f(lane, address) for the active lanes.
template <typename F>
void ForAddresses(Wave& w, const Op& op, const BufferOp& b, F&& f) {
  const u32 n = w.lanes;
  const Descriptor d = ReadDescriptor(w, b.resource.reg);
  const u32 soffset = ReadScalar(w, b.soffset);
  const u32* const rows =
      b.address.kind == Kind::kNone ? nullptr : w.Vgpr(b.address);
  const u32 ioffset = static_cast<u32>(op.offset);
  // Results may overwrite the address registers.
  Address at[64];
  const u64 exec = w.Exec();
  ForLanes(exec, [&](u32 lane) {
    u32 vindex = 0, voffset = 0;
    if (rows != nullptr && b.idxen) vindex = rows[lane];
    if (rows != nullptr && b.offen) voffset = rows[lane + (b.idxen ? n : 0)];
    at[lane] = LaneAddress(w, b, d, voffset, vindex, soffset, ioffset, lane,
                           b.mem.bytes);
  });
  if (w.counting) [[unlikely]] {
    u64 addresses[64], moved = 0;
    ForLanes(exec, [&](u32 lane) {
      addresses[lane] =
          at[lane].address + (at[lane].scratch ? kPrivateAperture : 0);
      if (at[lane].in_range) moved |= u64{1} << lane;
    });
    CountMemory(w, b.mem, moved, addresses);
  }
  ForLanes(exec, [&](u32 lane) { f(lane, at[lane]); });
}

u8* At(Wave& w, const BufferOp& b, const Address& a, u32 lane) {
  if (a.scratch) {
    return ScratchAt(w, a.address, a.bytes, static_cast<int>(lane), b.mem);
  }
  return GlobalAt(w, a.address, a.bytes, static_cast<int>(lane), b.mem);
}

// What a lane loads, with zeros where it is out of range.
void LoadInRange(Wave& w, const BufferOp& b, const Address& a, u32 lane,
                 u32* row, u32 to, u32 n) {
  u8 value[16] = {};
  // Whether the scalar offset counts in the check is told differently.
  // Tensile's kernels for gfx90a load rows behind a small matrix by it, and use
  // none of what is found there.
  const bool is_nothing = a.by_scalar && !a.scratch &&
                          w.launch->device->options().whole_blocks &&
                          !w.memory.Check(a.address, a.bytes);
  if (is_nothing) {
    LoadLaneData(b.mem, value, row, to, n);
    return;
  }
  if (a.in_range) {
    LoadLaneData(b.mem, At(w, b, a, lane), row, to, n);
    return;
  }
  if (a.bytes != 0) std::memcpy(value, At(w, b, a, lane), a.bytes);
  LoadLaneData(b.mem, value, row, to, n);
}

void ExecBufferLoad(Wave& w, const Op& op) {
  const BufferOp& b = Data(op);
  const u32 n = w.lanes;
  u32* const d = w.Vgpr(op.dst);
  ForAddresses(w, op, b, [&](u32 lane, const Address& a) {
    LoadInRange(w, b, a, lane, d, lane, n);
  });
}

void ExecBufferToLds(Wave& w, const Op& op) {
  const BufferOp& b = Data(op);
  const u32 step = b.mem.bytes < 4 ? 4 : b.mem.bytes;
  MemOp to_lds = b.mem;
  to_lds.kind = MemKind::kStore;
  ForAddresses(w, op, b, [&](u32 lane, const Address& a) {
    u32 value[4] = {};
    LoadInRange(w, b, a, lane, value, 0, 1);
    const u64 to =
        u64{w.sgpr[kM0]} + static_cast<u32>(op.offset) + u64{lane} * step;
    u8* const at = LdsAt(w, to, step, static_cast<int>(lane), to_lds);
    std::memcpy(at, value, step);
    NoteLdsPending(w, at, step);
  });
}

// LDS straight to memory, without registers (CDNA2 ISA,
// BUFFER_STORE_LDS_DWORD).
void ExecBufferFromLds(Wave& w, const Op& op) {
  const BufferOp& b = Data(op);
  MemOp from_lds = b.mem;
  from_lds.kind = MemKind::kLoad;
  ForAddresses(w, op, b, [&](u32 lane, const Address& a) {
    const u64 from =
        u64{w.sgpr[kM0]} + static_cast<u32>(op.offset) + u64{lane} * 4;
    const u8* const at = LdsAt(w, from, 4, static_cast<int>(lane), from_lds);
    if (a.in_range) std::memcpy(At(w, b, a, lane), at, 4);
  });
}

void ExecBufferStore(Wave& w, const Op& op) {
  const BufferOp& b = Data(op);
  const u32 n = w.lanes;
  const u32* const data = w.Vgpr(b.data);
  ForAddresses(w, op, b, [&](u32 lane, const Address& a) {
    if (a.bytes == 0) return;
    u8 value[16];
    StoreLaneData(b.mem, value, data, lane, n);
    std::memcpy(At(w, b, a, lane), value, a.bytes);
  });
}

void ExecBufferAtomic(Wave& w, const Op& op) {
  const BufferOp& b = Data(op);
  const u32 n = w.lanes;
  u32* const data = w.Vgpr(b.data);
  const u8 bytes = b.mem.bytes;
  ApplyEnv(w, bytes == 8 ? Env::kF64 : Env::kF32);
  ForAddresses(w, op, b, [&](u32 lane, const Address& a) {
    u64 old = 0;
    if (a.in_range) {
      const bool compares =
          b.mem.atomic == Atomic::kCmpSwap || b.mem.atomic == Atomic::kCmpSwapF;
      const u64 compare =
          compares ? LaneValue(data + (bytes / 4) * n, lane, n, bytes) : 0;
      old = HostAtomic(b.mem.atomic, bytes, At(w, b, a, lane),
                       LaneValue(data, lane, n, bytes), compare, w.mode);
    }
    if (b.mem.returns) {
      data[lane] = static_cast<u32>(old);
      if (bytes == 8) data[lane + n] = static_cast<u32>(old >> 32);
    }
  });
}

}  // namespace

// What stands behind "buffer_".
static bool ParseBufferOp(std::string_view name, MemOp* mem, bool* from_lds) {
  if (!name.starts_with("buffer_")) return false;
  name.remove_prefix(7);
  *from_lds = name == "store_lds_dword";
  return ParseMemOp(*from_lds ? "store_dword" : name, mem);
}

bool KnowsBuffer(std::string_view name) {
  MemOp mem;
  bool from_lds;
  return ParseBufferOp(name, &mem, &from_lds);
}

bool DecodeBuffer(const Text& text, Program& program, Op* op) {
  BufferOp b;
  bool from_lds;
  if (!ParseBufferOp(text.mnemonic, &b.mem, &from_lds)) return false;
  op->klass = ClassOf(b.mem);
  op->wait = Wait::kVm;
  op->offset = static_cast<i32>(text.Number("offset", 0));
  b.offen = text.Has("offen");
  b.idxen = text.Has("idxen");
  b.to_lds = text.Has("lds") && !from_lds;
  if (b.to_lds) op->flags |= kFlagLds;
  std::vector<Operand> o;
  for (const std::string& s : text.operands) {
    o.push_back(program.ParseOperand(s, Type::kWide));
  }
  // data, address, resource, soffset; loads to LDS have no data, stores from
  // it no address either.
  std::size_t i = 0;
  const auto next = [&] { return i < o.size() ? o[i++] : Operand{}; };
  if (!b.to_lds && !from_lds) b.data = next();
  if (!from_lds) b.address = next();
  b.resource = next();
  b.soffset = next();
  // "offen" and the like stand behind the last operand.
  b.mem.returns = b.mem.kind == MemKind::kAtomic &&
                  (text.Has("glc") || text.Has("sc0") ||
                   text.rest.find("TH_ATOMIC_RETURN") != std::string::npos);
  Handler handler = from_lds                         ? ExecBufferFromLds
                    : b.mem.kind == MemKind::kStore  ? ExecBufferStore
                    : b.mem.kind == MemKind::kAtomic ? ExecBufferAtomic
                    : b.to_lds                       ? ExecBufferToLds
                                                     : ExecBufferLoad;
  if (b.mem.kind == MemKind::kLoad || b.mem.returns) op->dst = b.data;
  op->flags |= b.mem.SettleHalf(program.gen());
  op->src[0] = b.address;
  op->src[1] = b.mem.kind == MemKind::kLoad ? Operand{} : b.data;
  op->src[2] = b.resource;
  op->src[3] = b.soffset;
  op->nsrc = 4;
  if (!b.resource.sgpr() || b.resource.regs != 4 ||
      (!b.to_lds && !from_lds && !b.data.vgpr()) ||
      (b.address.kind != Kind::kNone && !b.address.vgpr())) {
    handler = ExecUnimplemented;
  }
  op->data = program.Keep(b);
  op->handler.store(handler, std::memory_order_relaxed);
  return true;
}

}  // namespace cerberus::emulator
