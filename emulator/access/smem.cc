// Scalar loads (RDNA3 ISA, section 8).
#include <fmt/format.h>

#include "emulator/access/memop.h"
#include "emulator/decode/decode.h"
#include "emulator/device/launch.h"

namespace cerberus::emulator {
namespace {

enum class Family : u8 {
  kLoad,
  kStore,
  kAtomic,
  kTime,
  kRealTime,
  kNothing,
};

struct ScalarOp {
  Family family = Family::kLoad;
  bool buffer = false;
  MemOp mem;
  Operand base, offset;
};

bool ParseName(std::string_view name, ScalarOp* s) {
  s->mem = MemOp{};
  if (name == "s_memtime") {
    s->family = Family::kTime;
    return true;
  }
  if (name == "s_memrealtime") {
    s->family = Family::kRealTime;
    return true;
  }
  if (name == "s_atc_probe" || name == "s_atc_probe_buffer" ||
      name == "s_dcache_discard" || name == "s_dcache_discard_x2") {
    s->family = Family::kNothing;
    return true;
  }
  if (!name.starts_with("s_")) return false;
  std::string_view rest = name.substr(2);
  if (rest.starts_with("buffer_")) {
    s->buffer = true;
    rest.remove_prefix(7);
  } else if (rest.starts_with("scratch_")) {
    rest.remove_prefix(8);
  }
  if (rest.starts_with("atomic_")) {
    s->family = Family::kAtomic;
    return ParseAtomic(rest.substr(7), &s->mem);
  }
  if (rest.starts_with("load_")) {
    rest.remove_prefix(5);
  } else if (rest.starts_with("store_dword")) {
    s->family = Family::kStore;
    s->mem.kind = MemKind::kStore;
    rest.remove_prefix(6);
  } else {
    return false;
  }
  struct Size {
    std::string_view name;
    u8 bytes;
    bool sign;
  };
  static constexpr Size kSizes[] = {
      {"dword", 4, false},    {"dwordx2", 8, false},   {"dwordx4", 16, false},
      {"dwordx8", 32, false}, {"dwordx16", 64, false}, {"b32", 4, false},
      {"b64", 8, false},      {"b96", 12, false},      {"b128", 16, false},
      {"b256", 32, false},    {"b512", 64, false},     {"u8", 1, false},
      {"i8", 1, true},        {"u16", 2, false},       {"i16", 2, true},
  };
  for (const Size& size : kSizes) {
    if (rest == size.name) {
      s->mem.bytes = size.bytes;
      s->mem.sign = size.sign;
      return true;
    }
  }
  return false;
}

void ExecScalarLoad(Wave& w, const Op& op) {
  const ScalarOp& s = *static_cast<const ScalarOp*>(op.data);
  if (s.family == Family::kTime) {
    WriteScalar64(w, op.dst, w.Clock());
    return;
  }
  if (s.family == Family::kRealTime) {
    WriteScalar64(w, op.dst, w.launch->RealTime());
    return;
  }
  if (s.family == Family::kNothing) return;
  u64 offset = static_cast<u64>(i64{op.offset});
  if (s.offset.sgpr()) offset += ReadScalar(w, s.offset);
  u64 base;
  u64 limit = ~u64{0};
  if (s.buffer) {
    const u32 slot = s.base.reg;
    base = w.sgpr[slot] | static_cast<u64>(w.sgpr[slot + 1] & 0xffff) << 32;
    const u32 stride = w.sgpr[slot + 1] >> 16 & 0x3fff;
    limit = u64{w.sgpr[slot + 2]} * (stride == 0 ? 1 : stride);
  } else {
    base = ReadScalar64(w, s.base);
  }
  const u32 bytes = s.mem.bytes;
  u64 address = base + offset;
  // The low bits of a dword load's address are ignored.
  if (bytes >= 4) address &= ~u64{3};
  u32 value[16] = {};
  MemOp mem = s.mem;
  if (s.family != Family::kLoad) {
    if (offset + bytes > limit) return;
    u8* const at = GlobalAt(w, address, bytes, -1, mem);
    u32* const data = &w.sgpr[op.dst.reg];
    if (s.family == Family::kStore) {
      std::memcpy(at, data, bytes);
      return;
    }
    // The data's registers get the old value if it is asked for; a compare
    // value stands behind the new one.
    const u64 fresh = LaneValue(data, 0, 1, mem.bytes);
    const u64 compare = mem.atomic == Atomic::kCmpSwap
                            ? LaneValue(data + bytes / 4, 0, 1, mem.bytes)
                            : 0;
    const u64 old =
        HostAtomic(mem.atomic, mem.bytes, at, fresh, compare, w.mode);
    if (mem.returns) std::memcpy(data, &old, bytes);
    return;
  }
  if (offset + bytes <= limit) {
    const u8* const from = GlobalAt(w, address, bytes, -1, mem);
    LoadLaneData(mem, from, value, 0, 1);
  } else if (offset < limit) {
    for (u32 i = 0; i < bytes / 4 && offset + 4 * i + 4 <= limit; ++i) {
      mem.bytes = 4;
      LoadLaneData(mem, GlobalAt(w, address + 4 * i, 4, -1, mem), &value[i], 0,
                   1);
    }
  }
  if (op.dst.reg == kNull) return;
  for (u32 i = 0; i < (bytes + 3) / 4; ++i) w.sgpr[op.dst.reg + i] = value[i];
}

}  // namespace

bool KnowsScalarMemory(std::string_view name) {
  ScalarOp s;
  return ParseName(name, &s);
}

bool DecodeScalarMemory(const Text& text, Program& program, Op* op) {
  ScalarOp s;
  if (!ParseName(text.mnemonic, &s)) return false;
  op->klass = OpClass::kSmem;
  op->wait = Wait::kLgkmSmem;
  const auto operand = [&](std::size_t i) {
    return i < text.operands.size()
               ? program.ParseOperand(text.operands[i], Type::kWide)
               : Operand{};
  };
  op->dst = operand(0);
  op->offset = static_cast<i32>(text.Number("offset", 0));
  Handler handler = ExecScalarLoad;
  s.mem.returns = text.Has("glc");
  if (s.family <= Family::kAtomic) {
    s.base = operand(1);
    s.offset = operand(2);
    if (s.offset.kind == Kind::kImm) {
      op->offset += static_cast<i32>(s.offset.imm);
      s.offset = Operand{};
    }
    if (!s.base.sgpr() || !op->dst.sgpr()) handler = ExecUnimplemented;
  }
  op->src[0] = s.base;
  op->src[1] = s.offset;
  op->nsrc = 2;
  op->data = program.Keep(s);
  op->handler.store(handler, std::memory_order_relaxed);
  return true;
}

}  // namespace cerberus::emulator
