#include "emulator/execute/wave.h"

#include "emulator/device/launch.h"
#include "emulator/execute/host_env.h"
#include "emulator/vector/valu.h"

namespace cerberus::emulator {

void Throw(std::string reason) {
  throw FaultError{std::move(reason), -1, false, 0};
}
void ThrowAt(std::string reason, int lane, u64 address) {
  throw FaultError{std::move(reason), lane, true, address};
}

u32 ReadScalar(const Wave& w, const Operand& o) {
  if (o.kind == Kind::kImm) return static_cast<u32>(o.imm);
  if (o.kind == Kind::kVgpr) {  // an unexpected form: the first lane
    return const_cast<Wave&>(w).Vgpr(o)[0];
  }
  switch (o.reg) {
    case kScc: return w.scc;
    case kVccz: return w.Vcc() == 0;
    case kExecz: return w.Exec() == 0;
    default: return w.sgpr[o.reg];
  }
}

u64 ReadScalar64(const Wave& w, const Operand& o) {
  if (o.kind == Kind::kImm) return o.imm;
  if (o.reg == kScc || o.reg == kVccz || o.reg == kExecz) {
    return ReadScalar(w, o);
  }
  if (o.reg == kNull) return 0;
  return w.S64(o.reg);
}

void WriteScalar(Wave& w, const Operand& o, u32 v) {
  if (o.reg != kNull) w.sgpr[o.reg] = v;
}
void WriteScalar64(Wave& w, const Operand& o, u64 v) {
  if (o.reg != kNull) w.SetS64(o.reg, v);
}

const u32* ScalarRow(Wave& w, const Operand& o, u32* buffer) {
  const u32 n = w.lanes;
  if (o.kind == Kind::kNone) {
    for (u32 i = 0; i < 2 * n; ++i) buffer[i] = 0;
    return buffer;
  }
  if (o.type == Type::kMask) {
    ExpandMask(o.reg == kNull ? 0 : w.MaskAt(o.reg), buffer, n);
    return buffer;
  }
  if (TypeRegs(o.type) == 2) {
    const u64 v = ReadScalar64(w, o);
    const u32 lo = static_cast<u32>(v), hi = static_cast<u32>(v >> 32);
    for (u32 i = 0; i < n; ++i) buffer[i] = lo;
    for (u32 i = 0; i < n; ++i) buffer[n + i] = hi;
    return buffer;
  }
  const u32 v = ReadScalar(w, o);
  for (u32 i = 0; i < n; ++i) buffer[i] = v;
  return buffer;
}

u32 ModeBits(const Wave& w) {
  const Mode& m = w.mode;
  u32 v = m.rest;
  v |= m.round32 | m.round64 << 2 | m.denorm32 << 4 | m.denorm64 << 6;
  if (w.gen != Gen::kGfx12) {
    v |= static_cast<u32>(m.dx10_clamp) << 8 | static_cast<u32>(m.ieee) << 9;
  }
  v |= static_cast<u32>(m.fp16_ovfl) << 23;
  return v;
}

void SetModeBits(Wave& w, u32 v) {
  Mode& m = w.mode;
  m.round32 = v & 3;
  m.round64 = v >> 2 & 3;
  m.denorm32 = v >> 4 & 3;
  m.denorm64 = v >> 6 & 3;
  if (w.gen == Gen::kGfx12) {
    // gfx12 has neither bit: clamping NaNs gives 0 and minimum and maximum
    // follow IEEE 754 on their own.
    m.dx10_clamp = true;
    m.ieee = false;
    m.rest = v & ~0x8000ffu;
  } else {
    m.dx10_clamp = (v >> 8 & 1) != 0;
    m.ieee = (v >> 9 & 1) != 0;
    m.rest = v & ~0x8003ffu;
  }
  m.fp16_ovfl = (v >> 23 & 1) != 0;
  static constexpr u32 kRound[] = {0, kMxcsrUp, kMxcsrDown,
                                   kMxcsrUp | kMxcsrDown};
  const auto control = [](u8 round, u8 denorm) {
    return kMxcsrDefault | kRound[round] | ((denorm & 1) == 0 ? kMxcsrDaz : 0) |
           ((denorm & 2) == 0 ? kMxcsrFtz : 0);
  };
  const auto set = [&w](Env env, u32 value) {
    w.mxcsr_for[static_cast<int>(env)] = value;
  };
  set(Env::kNone, kMxcsrDefault);
  set(Env::kF32, control(m.round32, m.denorm32));
  set(Env::kF64, control(m.round64, m.denorm64));
  set(Env::kNearest, kMxcsrDefault);
}

}  // namespace cerberus::emulator
