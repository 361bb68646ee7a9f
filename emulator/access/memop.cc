#include "emulator/access/memop.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "emulator/access/shadow.h"
#include "emulator/access/whole.h"
#include "emulator/device/device.h"
#include "emulator/device/launch.h"
#include "emulator/vector/float_math.h"

namespace cerberus::emulator {
namespace {

struct Shape {
  u8 bytes;
  bool sign, d16, hi;
};

const std::unordered_map<std::string_view, Shape>& LoadShapes() {
  static const std::unordered_map<std::string_view, Shape> shapes = {
      {"ubyte", {1, false, false, false}},
      {"u8", {1, false, false, false}},
      {"sbyte", {1, true, false, false}},
      {"i8", {1, true, false, false}},
      {"ushort", {2, false, false, false}},
      {"u16", {2, false, false, false}},
      {"sshort", {2, true, false, false}},
      {"i16", {2, true, false, false}},
      {"dword", {4, false, false, false}},
      {"b32", {4, false, false, false}},
      {"dwordx2", {8, false, false, false}},
      {"b64", {8, false, false, false}},
      {"dwordx3", {12, false, false, false}},
      {"b96", {12, false, false, false}},
      {"dwordx4", {16, false, false, false}},
      {"b128", {16, false, false, false}},
      {"ubyte_d16", {1, false, true, false}},
      {"ubyte_d16_hi", {1, false, true, true}},
      {"sbyte_d16", {1, true, true, false}},
      {"sbyte_d16_hi", {1, true, true, true}},
      {"short_d16", {2, false, true, false}},
      {"short_d16_hi", {2, false, true, true}},
      {"d16_u8", {1, false, true, false}},
      {"d16_hi_u8", {1, false, true, true}},
      {"d16_i8", {1, true, true, false}},
      {"d16_hi_i8", {1, true, true, true}},
      {"d16_b16", {2, false, true, false}},
      {"d16_hi_b16", {2, false, true, true}},
      {"u8_d16", {1, false, true, false}},
      {"u8_d16_hi", {1, false, true, true}},
      {"i8_d16", {1, true, true, false}},
      {"i8_d16_hi", {1, true, true, true}},
      {"u16_d16", {2, false, true, false}},
      {"u16_d16_hi", {2, false, true, true}},
  };
  return shapes;
}

const std::unordered_map<std::string_view, Shape>& StoreShapes() {
  static const std::unordered_map<std::string_view, Shape> shapes = {
      {"byte", {1, false, false, false}},
      {"b8", {1, false, false, false}},
      {"short", {2, false, false, false}},
      {"b16", {2, false, false, false}},
      {"byte_d16_hi", {1, false, false, true}},
      {"short_d16_hi", {2, false, false, true}},
      {"d16_hi_b8", {1, false, false, true}},
      {"d16_hi_b16", {2, false, false, true}},
      {"b8_d16_hi", {1, false, false, true}},
      {"b16_d16_hi", {2, false, false, true}},
      {"dword", {4, false, false, false}},
      {"b32", {4, false, false, false}},
      {"dwordx2", {8, false, false, false}},
      {"b64", {8, false, false, false}},
      {"dwordx3", {12, false, false, false}},
      {"b96", {12, false, false, false}},
      {"dwordx4", {16, false, false, false}},
      {"b128", {16, false, false, false}},
  };
  return shapes;
}

struct AtomicShape {
  Atomic atomic;
  u8 bytes;
};
const std::unordered_map<std::string_view, AtomicShape>& Atomics() {
  using A = Atomic;
  static const std::unordered_map<std::string_view, AtomicShape> shapes = {
      {"swap", {A::kSwap, 4}},
      {"swap_b32", {A::kSwap, 4}},
      {"swap_x2", {A::kSwap, 8}},
      {"swap_b64", {A::kSwap, 8}},
      {"cmpswap", {A::kCmpSwap, 4}},
      {"cmpswap_b32", {A::kCmpSwap, 4}},
      {"cmpswap_x2", {A::kCmpSwap, 8}},
      {"cmpswap_b64", {A::kCmpSwap, 8}},
      {"cmpswap_f32", {A::kCmpSwapF, 4}},
      {"fcmpswap", {A::kCmpSwapF, 4}},
      {"fcmpswap_x2", {A::kCmpSwapF, 8}},
      {"add", {A::kAdd, 4}},
      {"add_u32", {A::kAdd, 4}},
      {"add_x2", {A::kAdd, 8}},
      {"add_u64", {A::kAdd, 8}},
      {"sub", {A::kSub, 4}},
      {"sub_u32", {A::kSub, 4}},
      {"sub_x2", {A::kSub, 8}},
      {"sub_u64", {A::kSub, 8}},
      {"smin", {A::kMinI, 4}},
      {"min_i32", {A::kMinI, 4}},
      {"smin_x2", {A::kMinI, 8}},
      {"min_i64", {A::kMinI, 8}},
      {"smax", {A::kMaxI, 4}},
      {"max_i32", {A::kMaxI, 4}},
      {"smax_x2", {A::kMaxI, 8}},
      {"max_i64", {A::kMaxI, 8}},
      {"umin", {A::kMinU, 4}},
      {"min_u32", {A::kMinU, 4}},
      {"umin_x2", {A::kMinU, 8}},
      {"min_u64", {A::kMinU, 8}},
      {"umax", {A::kMaxU, 4}},
      {"max_u32", {A::kMaxU, 4}},
      {"umax_x2", {A::kMaxU, 8}},
      {"max_u64", {A::kMaxU, 8}},
      {"and", {A::kAnd, 4}},
      {"and_b32", {A::kAnd, 4}},
      {"and_x2", {A::kAnd, 8}},
      {"and_b64", {A::kAnd, 8}},
      {"or", {A::kOr, 4}},
      {"or_b32", {A::kOr, 4}},
      {"or_x2", {A::kOr, 8}},
      {"or_b64", {A::kOr, 8}},
      {"xor", {A::kXor, 4}},
      {"xor_b32", {A::kXor, 4}},
      {"xor_x2", {A::kXor, 8}},
      {"xor_b64", {A::kXor, 8}},
      {"inc", {A::kInc, 4}},
      {"inc_u32", {A::kInc, 4}},
      {"inc_x2", {A::kInc, 8}},
      {"inc_u64", {A::kInc, 8}},
      {"dec", {A::kDec, 4}},
      {"dec_u32", {A::kDec, 4}},
      {"dec_x2", {A::kDec, 8}},
      {"dec_u64", {A::kDec, 8}},
      {"csub", {A::kSubClamp, 4}},
      {"csub_u32", {A::kSubClamp, 4}},
      {"sub_clamp_u32", {A::kSubClamp, 4}},
      {"cond_sub_u32", {A::kCondSub, 4}},
      {"add_f32", {A::kAddF, 4}},
      {"add_f64", {A::kAddF, 8}},
      {"fmin", {A::kMinF, 4}},
      {"min_f32", {A::kMinF, 4}},
      {"fmin_x2", {A::kMinF, 8}},
      {"min_f64", {A::kMinF, 8}},
      {"fmax", {A::kMaxF, 4}},
      {"max_f32", {A::kMaxF, 4}},
      {"fmax_x2", {A::kMaxF, 8}},
      {"max_f64", {A::kMaxF, 8}},
      {"min_num_f32", {A::kMinNumF, 4}},
      {"max_num_f32", {A::kMaxNumF, 4}},
      {"min_num_f64", {A::kMinNumF, 8}},
      {"max_num_f64", {A::kMaxNumF, 8}},
      {"pk_add_f16", {A::kPkAddF16, 4}},
      {"pk_add_bf16", {A::kPkAddBf16, 4}},
      {"ordered_add_b64", {A::kOrderedAdd, 8}},
  };
  return shapes;
}

template <typename T>
T MinMaxAtomic(Atomic a, T old, T data, bool ieee) {
  switch (a) {
    case Atomic::kMinF: return MinF(old, data, ieee);
    case Atomic::kMaxF: return MaxF(old, data, ieee);
    case Atomic::kMinNumF: return MinNumF(old, data);
    default: return MaxNumF(old, data);
  }
}

const char* Verb(const MemOp& op) {
  switch (op.kind) {
    case MemKind::kLoad: return "load";
    case MemKind::kStore: return "store";
    case MemKind::kAtomic: return "atomic";
  }
  return "";
}

}  // namespace

bool ParseAtomic(std::string_view name, MemOp* op) {
  const auto it = Atomics().find(name);
  if (it == Atomics().end()) return false;
  op->kind = MemKind::kAtomic;
  op->atomic = it->second.atomic;
  op->bytes = it->second.bytes;
  return true;
}

// Since gfx90a all of the register is written, with and without ECC (LLVM,
// D112635); Tensile joins halves by v_or_b32.
u32 MemOp::SettleHalf(Gen gen) {
  keeps = gen != Gen::kGfx90a && gen != Gen::kGfx940 && gen != Gen::kGfx950;
  const bool half = kind == MemKind::kLoad    ? d16 && keeps
                    : kind == MemKind::kStore ? bytes <= 2
                                              : false;
  return !half ? 0 : hi ? kFlagHighHalf : kFlagLowHalf;
}

bool ParseMemOp(std::string_view name, MemOp* op) {
  *op = MemOp{};
  const bool load = name.starts_with("load_");
  const bool store = name.starts_with("store_");
  if (load || store) {
    const auto& shapes = load ? LoadShapes() : StoreShapes();
    const auto it = shapes.find(name.substr(load ? 5 : 6));
    if (it == shapes.end()) return false;
    op->kind = load ? MemKind::kLoad : MemKind::kStore;
    op->bytes = it->second.bytes;
    op->sign = it->second.sign;
    op->d16 = it->second.d16;
    op->hi = it->second.hi;
    return true;
  }
  return name.starts_with("atomic_") && ParseAtomic(name.substr(7), op);
}

u64 ApplyAtomic(Atomic atomic, u8 bytes, u64 old, u64 data, u64 compare,
                const Mode& mode) {
  const bool wide = bytes == 8;
  if (!wide) old = static_cast<u32>(old), data = static_cast<u32>(data);
  const auto as_signed = [wide](u64 v) {
    return wide ? static_cast<i64>(v) : i64{static_cast<i32>(v)};
  };
  u64 r = 0;
  switch (atomic) {
    case Atomic::kNone: r = old; break;
    case Atomic::kSwap: r = data; break;
    case Atomic::kCmpSwap:
      r = old == (wide ? compare : static_cast<u32>(compare)) ? data : old;
      break;
    case Atomic::kCmpSwapF: {
      const bool equal =
          wide ? F64(old) == F64(compare)
               : F32(static_cast<u32>(old)) == F32(static_cast<u32>(compare));
      r = equal ? data : old;
      break;
    }
    case Atomic::kAdd: r = old + data; break;
    case Atomic::kSub: r = old - data; break;
    case Atomic::kRsub: r = data - old; break;
    case Atomic::kMinI:
      r = as_signed(data) < as_signed(old) ? data : old;
      break;
    case Atomic::kMaxI:
      r = as_signed(data) >= as_signed(old) ? data : old;
      break;
    case Atomic::kMinU: r = std::min(old, data); break;
    case Atomic::kMaxU: r = std::max(old, data); break;
    case Atomic::kAnd: r = old & data; break;
    case Atomic::kOr: r = old | data; break;
    case Atomic::kXor: r = old ^ data; break;
    case Atomic::kInc: r = old >= data ? 0 : old + 1; break;
    case Atomic::kDec: r = old == 0 || old > data ? data : old - 1; break;
    case Atomic::kCondSub: r = old >= data ? old - data : old; break;
    case Atomic::kSubClamp: r = old >= data ? old - data : 0; break;
    case Atomic::kMskOr: r = (old & ~data) | compare; break;
    case Atomic::kWrap: r = old >= data ? old - data : old + compare; break;
    case Atomic::kOrderedAdd: r = old + data; break;
    case Atomic::kAddF:
      r = wide ? Bits(AddF(F64(old), F64(data)))
               : Bits(AddF(F32(static_cast<u32>(old)),
                           F32(static_cast<u32>(data))));
      break;
    case Atomic::kMinF:
    case Atomic::kMaxF:
    case Atomic::kMinNumF:
    case Atomic::kMaxNumF:
      r = wide ? Bits(MinMaxAtomic(atomic, F64(old), F64(data), mode.ieee))
               : Bits(MinMaxAtomic(atomic, F32(static_cast<u32>(old)),
                                   F32(static_cast<u32>(data)), mode.ieee));
      break;
    case Atomic::kPkAddF16:
      for (int i = 0; i < 32; i += 16) {
        const float s = AddF(HalfToFloat(static_cast<u16>(old >> i)),
                             HalfToFloat(static_cast<u16>(data >> i)));
        r |= static_cast<u64>(FloatToHalf(s, kNearest)) << i;
      }
      break;
    case Atomic::kPkAddBf16:
      for (int i = 0; i < 32; i += 16) {
        const float s = AddF(Bf16ToFloat(static_cast<u16>(old >> i)),
                             Bf16ToFloat(static_cast<u16>(data >> i)));
        r |= static_cast<u64>(FloatToBf16(s)) << i;
      }
      break;
  }
  return wide ? r : static_cast<u32>(r);
}

namespace {

template <typename T>
u64 HostAtomicOf(Atomic atomic, u8* at, u64 data, u64 compare,
                 const Mode& mode) {
  T* const p = reinterpret_cast<T*>(at);
  const T operand = static_cast<T>(data);
  switch (atomic) {  // what the host has an instruction for
    case Atomic::kAdd: return __atomic_fetch_add(p, operand, __ATOMIC_SEQ_CST);
    case Atomic::kSub: return __atomic_fetch_sub(p, operand, __ATOMIC_SEQ_CST);
    case Atomic::kSwap:
      return __atomic_exchange_n(p, operand, __ATOMIC_SEQ_CST);
    default: break;
  }
  T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  for (;;) {
    const T now = static_cast<T>(
        ApplyAtomic(atomic, sizeof(T), old, data, compare, mode));
    if (__atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
      return old;
    }
  }
}

}  // namespace

u64 HostAtomic(Atomic atomic, u8 bytes, u8* at, u64 data, u64 compare,
               const Mode& mode) {
  return bytes == 8 ? HostAtomicOf<u64>(atomic, at, data, compare, mode)
                    : HostAtomicOf<u32>(atomic, at, data, compare, mode);
}

namespace {

// An atomic access to less than a word is one to the word, and a load of it
// before; that reaches behind the last byte of an array of a few halves.
bool HoldsLastByte(Wave& w, u64 address, u32 bytes, const MemOp& op) {
  return op.kind != MemKind::kStore && bytes == 4 && address % 4 == 0 &&
         w.memory.Check(address, 1);
}

}  // namespace

u8* GlobalAt(Wave& w, u64 address, u32 bytes, int lane, const MemOp& op) {
  if (!w.memory.Check(address, bytes) &&
      !HoldsLastByte(w, address, bytes, op)) {
    ThrowAt(
        fmt::format("{} of {} bytes outside any allocation", Verb(op), bytes),
        lane, address);
  }
  if (op.kind == MemKind::kAtomic && (address & (bytes - 1)) != 0) {
    ThrowAt(fmt::format("misaligned atomic of {} bytes", bytes), lane, address);
  }
  if (op.kind != MemKind::kLoad && !w.memory.range().writable) {
    ThrowAt(fmt::format("{} of {} bytes to read-only memory", Verb(op), bytes),
            lane, address);
  }
  if (w.shadow != nullptr) [[unlikely]] {
    w.shadow->Global(w, address, bytes, lane, op.kind);
  }
  return reinterpret_cast<u8*>(address);
}

namespace {

bool HasLds(const Wave& w, u64 offset, u32 bytes) {
  return bytes <= w.lds_size && offset <= w.lds_size - bytes;
}

u8* LdsWithin(Wave& w, u64 offset, u32 bytes, int lane, const MemOp& op) {
  if (!HasLds(w, offset, bytes)) {
    ThrowAt(fmt::format("{} of {} bytes at LDS offset {:#x}, beyond the "
                        "group's {} bytes",
                        Verb(op), bytes, offset, w.lds_size),
            lane, kSharedAperture + offset);
  }
  if (op.kind == MemKind::kAtomic && (offset & (bytes - 1)) != 0) {
    ThrowAt(fmt::format("misaligned LDS atomic of {} bytes", bytes), lane,
            kSharedAperture + offset);
  }
  if (op.kind != MemKind::kStore && !w.pending.lds.empty()) [[unlikely]] {
    CheckLdsPending(w, offset, bytes, lane);
  }
  if (w.shadow != nullptr) [[unlikely]] {
    w.shadow->Lds(w, offset, bytes, lane, op.kind);
  }
  return w.lds + offset;
}

}  // namespace

u8* LdsAt(Wave& w, u64 offset, u32 bytes, int lane, const MemOp& op) {
  // Address and offset add up in 32 bits: LLVM folds offsets onto negative
  // bases (AMDGPUISelDAGToDAG, isDSOffsetLegal).
  offset = static_cast<u32>(offset);
  // Loads of what is not there return zero, by which Tensile's kernels for
  // gfx90a clear accumulators. Elsewhere that is a mistake.
  if (op.kind == MemKind::kLoad && !HasLds(w, offset, bytes) &&
      w.launch->device->options().whole_blocks) {
    static u8 zeros[16] = {};  // nothing is stored through a load's address
    return zeros;
  }
  return LdsWithin(w, offset, bytes, lane, op);
}

u8* ScratchAt(Wave& w, u64 offset, u32 bytes, int lane, const MemOp& op) {
  if (bytes > w.scratch_stride || offset > w.scratch_stride - bytes) {
    ThrowAt(fmt::format("{} of {} bytes at scratch offset {:#x}, beyond the "
                        "lane's {} bytes",
                        Verb(op), bytes, offset, w.scratch_stride),
            lane, kPrivateAperture + offset);
  }
  u8* const at = w.scratch + static_cast<u64>(lane) * w.scratch_stride + offset;
  if (w.shadow != nullptr) [[unlikely]] {
    w.shadow->Scratch(w, static_cast<u64>(at - w.group->scratch.data()), offset,
                      bytes, lane, op.kind);
  }
  return at;
}

u8* FlatAt(Wave& w, u64 address, u32 bytes, int lane, const MemOp& op) {
  if (address - kSharedAperture < kApertureSize) {
    // Beyond its end that is memory which is not there.
    return LdsWithin(w, address - kSharedAperture, bytes, lane, op);
  }
  if (address - kPrivateAperture < kApertureSize) {
    return ScratchAt(w, address - kPrivateAperture, bytes, lane, op);
  }
  return GlobalAt(w, address, bytes, lane, op);
}

void LoadLaneData(const MemOp& op, const u8* from, u32* row, u32 lane, u32 n) {
  if (op.bytes >= 4) {
    const u32 words = op.bytes / 4u;
    for (u32 first = 0; first < words; first += 4) {
      const u32 count = std::min(4u, words - first);
      u32 part[4];
      GetWhole(from + 4 * first, count, part);
      for (u32 r = 0; r < count; ++r) row[(first + r) * n + lane] = part[r];
    }
    return;
  }
  u32 v;
  if (op.bytes == 1) {
    v = op.sign ? static_cast<u32>(i32{static_cast<i8>(from[0])}) : from[0];
  } else {
    u16 h;
    std::memcpy(&h, from, 2);
    v = op.sign ? static_cast<u32>(i32{static_cast<i16>(h)}) : h;
  }
  if (!op.d16) {
    row[lane] = v;
    return;
  }
  const u32 old = op.keeps ? row[lane] : 0;
  row[lane] =
      op.hi ? (old & 0xffff) | v << 16 : (old & ~0xffffu) | (v & 0xffff);
}

void StoreLaneData(const MemOp& op, u8* to, const u32* row, u32 lane, u32 n) {
  if (op.bytes >= 4) {
    const u32 words = op.bytes / 4u;
    for (u32 first = 0; first < words; first += 4) {
      const u32 count = std::min(4u, words - first);
      u32 part[4];
      for (u32 r = 0; r < count; ++r) part[r] = row[(first + r) * n + lane];
      PutWhole(to + 4 * first, count, part);
    }
    return;
  }
  const u32 v = op.hi ? row[lane] >> 16 : row[lane];
  if (op.bytes == 1) {
    to[0] = static_cast<u8>(v);
  } else {
    const u16 h = static_cast<u16>(v);
    std::memcpy(to, &h, 2);
  }
}

}  // namespace cerberus::emulator
