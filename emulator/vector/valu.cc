#include "emulator/vector/valu.h"

#include <cmath>

#include "emulator/access/lane_memory.h"
#include "emulator/execute/host_env.h"
#include "emulator/vector/float_math.h"

namespace cerberus::emulator {
namespace {

constexpr u32 kMaxLanes = 64;

// Neg and abs work on the sign bit of an operand's own width.
void ApplySign(const Operand& o, u32* row, u32 n) {
  u32 sign = 0x80000000;
  u32* r = row;
  if (Is16(o.type)) sign = 0x8000;
  else if (TypeRegs(o.type) == 2) r = row + n;
  if (o.abs) {
    for (u32 i = 0; i < n; ++i) r[i] &= ~sign;
  }
  if (o.neg) {
    for (u32 i = 0; i < n; ++i) r[i] ^= sign;
  }
}

void SelectSdwa(u8 sel, bool sext, u32* row, u32 n) {
  if (sel == kDword) return;
  const bool word = sel == kWord0 || sel == kWord1;
  const u32 shift = word ? (sel - kWord0) * 16u : sel * 8u;
  const u32 up = word ? 16 : 24;
  for (u32 i = 0; i < n; ++i) {
    const u32 v = (row[i] >> shift) << up;
    row[i] = sext ? static_cast<u32>(static_cast<i32>(v) >> up) : v >> up;
  }
}

float ClampF32(float v, bool dx10) {
  if (IsNan(v)) return dx10 ? 0.0f : v;
  return v > 0 ? (v < 1 ? v : 1.0f) : 0.0f;
}

// OMOD and clamp of one result row set.
void Finish(const Wave& w, const Op& op, Type type, u32* out, u32 n) {
  const bool clamp = (op.flags & kFlagClamp) != 0 && IsFloat(type);
  // The output modifier is ignored where results may be denormal and where
  // MODE.IEEE is set; it makes +0 of -0 (RDNA3 ISA, "Output Modifiers").
  const bool omod = op.omod != 0 && !w.mode.ieee;
  const bool omod32 = omod && (w.mode.denorm32 & 2) == 0;
  const bool omod64 = omod && (w.mode.denorm64 & 2) == 0;
  static constexpr float kFactor[] = {1.0f, 2.0f, 4.0f, 0.5f};
  const float factor = kFactor[op.omod & 3];
  const bool dx10 = w.mode.dx10_clamp;
  switch (type) {
    case Type::kF32:
      for (u32 i = 0; i < n; ++i) {
        float v = F32(out[i]);
        if (omod32) v = v == 0 ? 0.0f : FlushDenormal(v * factor);
        out[i] = Bits(clamp ? ClampF32(v, dx10) : v);
      }
      break;
    case Type::kF64:
      for (u32 i = 0; i < n; ++i) {
        double v = F64(out[i] | static_cast<u64>(out[i + n]) << 32);
        if (omod64) {
          v = v == 0 ? 0.0 : v * factor;
          if (std::fabs(v) < 0x1p-1022) v = std::copysign(0.0, v);
        }
        if (clamp) {
          v = IsNan(v) ? (dx10 ? 0.0 : v) : v > 0 ? (v < 1 ? v : 1.0) : 0.0;
        }
        out[i] = static_cast<u32>(Bits(v));
        out[i + n] = static_cast<u32>(Bits(v) >> 32);
      }
      break;
    case Type::kF16:
      for (u32 i = 0; i < n; ++i) {
        float v = HalfToFloat(static_cast<u16>(out[i]));
        if (omod64) v = v == 0 ? 0.0f : v * factor;
        if (clamp) v = ClampF32(v, dx10);
        out[i] = (out[i] & 0xffff0000) | FloatToHalf(v, w.mode.round64, omod64);
      }
      break;
    case Type::kBf16:
      for (u32 i = 0; i < n; ++i) {
        float v = Bf16ToFloat(static_cast<u16>(out[i]));
        if (clamp) v = ClampF32(v, dx10);
        out[i] = (out[i] & 0xffff0000) | FloatToBf16(v);
      }
      break;
    default: break;
  }
}

// Puts one half of `out` into a VGPR row's half, the rest of the register
// kept or cleared.
void WriteHalf(const Op& op, const u32* out, const u32* mask, u32* d, u32 n) {
  const bool hi = (op.flags & kFlagDstHi) != 0;
  const bool zero = (op.flags & kFlagZeroHigh) != 0;
  for (u32 i = 0; i < n; ++i) {
    const u32 h = out[i] & 0xffff;
    const u32 v = hi     ? (d[i] & 0xffff) | h << 16
                  : zero ? h
                         : (d[i] & 0xffff0000) | h;
    d[i] = (v & mask[i]) | (d[i] & ~mask[i]);
  }
}

void WriteSdwa(const Op& op, const u32* out, const u32* mask, u32* d, u32 n) {
  const u8 sel = op.dst.sdwa;
  const bool word = sel == kWord0 || sel == kWord1;
  const u32 shift = word ? (sel - kWord0) * 16u : sel * 8u;
  const u32 field = word ? 0xffffu : 0xffu;
  const u32 width = word ? 16 : 8;
  for (u32 i = 0; i < n; ++i) {
    const u32 v = out[i] & field;
    u32 r = v << shift;
    if ((op.flags & kFlagSdwaPreserve) != 0) {
      r |= d[i] & ~(field << shift);
    } else if ((op.flags & kFlagSdwaSext) != 0) {
      const u32 up = 32 - width;
      r = static_cast<u32>(static_cast<i32>(v << up) >> up) << shift;
    }
    d[i] = (r & mask[i]) | (d[i] & ~mask[i]);
  }
}

void WriteRows(const u32* out, const u32* mask, u32* d, u32 n, int rows) {
  for (int r = 0; r < rows; ++r) {
    for (u32 i = 0; i < n; ++i) {
      d[r * n + i] = (out[r * n + i] & mask[i]) | (d[r * n + i] & ~mask[i]);
    }
  }
}

}  // namespace

alignas(64) constexpr auto kLaneBit = [] {
  std::array<u32, 32> a{};
  for (u32 i = 0; i < 32; ++i) a[i] = 1u << i;
  return a;
}();

void ExpandMask(u64 bits, u32* row, u32 n) {
  for (u32 at = 0; at < n; at += 32) {
    const u32 word = static_cast<u32>(bits >> at);
    for (u32 i = 0; i < 32; ++i) {
      row[at + i] = (word & kLaneBit[i]) != 0 ? ~0u : 0u;
    }
  }
}

void Wave::ExpandExec(u64 exec) {
  ExpandMask(exec, mask, lanes);
  mask_exec = exec;
  mask_valid = true;
}

int DppSource(const Dpp& dpp, int lane, int lanes) {
  const int row = lane & ~15, in_row = lane & 15, n = dpp.amount;
  switch (dpp.kind) {
    case DppKind::kNone: return lane;
    case DppKind::kDpp8: return (lane & ~7) | dpp.sel[lane & 7];
    case DppKind::kQuadPerm: return (lane & ~3) | dpp.sel[lane & 3];
    case DppKind::kRowShl: return in_row + n < 16 ? lane + n : -1;
    case DppKind::kRowShr: return in_row >= n ? lane - n : -1;
    case DppKind::kRowRor: return row | ((in_row - n) & 15);
    case DppKind::kWaveShl: return lane + 1 < lanes ? lane + 1 : -1;
    case DppKind::kWaveRol: return (lane + 1) % lanes;
    case DppKind::kWaveShr: return lane - 1;
    case DppKind::kWaveRor: return (lane + lanes - 1) % lanes;
    case DppKind::kRowMirror: return row | (15 - in_row);
    case DppKind::kRowHalfMirror: return (lane & ~7) | (7 - (lane & 7));
    case DppKind::kRowBcast15: return row == 0 ? -1 : row - 1;
    case DppKind::kRowBcast31: return lane < 32 ? -1 : 31;
    case DppKind::kRowShare: return row | n;
    case DppKind::kRowNewBcast: return row | n;
    case DppKind::kRowXmask: return row | (in_row ^ n);
  }
  return lane;
}

void PrepareDpp(Dpp* dpp, u32 lanes) {
  for (u32 i = 0; i < lanes; ++i) {
    const int from =
        DppSource(*dpp, static_cast<int>(i), static_cast<int>(lanes));
    dpp->source[i] = from < 0 ? 0 : static_cast<u32>(from);
    if (from >= 0) dpp->valid |= u64{1} << i;
    // row_bcast only writes the rows behind the one it reads.
    if (dpp->kind == DppKind::kDpp8 ||
        ((dpp->row_mask >> (i / 16) & 1) != 0 &&
         (dpp->bank_mask >> (i / 4 % 4) & 1) != 0)) {
      dpp->written |= u64{1} << i;
    }
  }
  // An inactive source lane of DPP8 reads as 0.
  dpp->zeros = dpp->bound_ctrl || dpp->kind == DppKind::kDpp8;
}

void ApplyDpp(const Dpp& dpp, u64 exec, u32 lanes, const u32* in, u32* out,
              u64* write) {
  const u64 all = lanes == 64 ? ~u64{0} : 0xffffffff;
  host_lane_memory.pull(in, dpp.source.data(), lanes, out);
  u64 valid = dpp.valid & all;
  if (!dpp.fi && exec != all) {
    for (u32 i = 0; i < lanes; ++i) {
      if ((exec >> dpp.source[i] & 1) == 0) valid &= ~(u64{1} << i);
    }
  }
  if (valid != all) {
    for (u64 rest = all & ~valid; rest != 0; rest &= rest - 1) {
      out[std::countr_zero(rest)] = 0;
    }
  }
  *write &= dpp.written & (dpp.zeros ? all : valid);
}

void ExecNop(Wave&, const Op&) {}

// DPP on the first source and no other modifiers.
void ExecDpp(Wave& w, const Op& op) {
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[4][2 * kMaxLanes];
  alignas(64) u32 moved[kMaxLanes];
  alignas(64) u32 written[kMaxLanes];
  const u64 exec = w.Exec();
  u64 write = exec;
  LaneArgs a;
  a.n = w.lanes;
  a.mode = &w.mode;
  a.op = &op;
  ApplyDpp(*op.dpp, exec, a.n, SourceRow(w, op.src[0], buffer[0]), moved,
           &write);
  a.s[0] = moved;
  for (int k = 1; k < op.nsrc; ++k) {
    a.s[k] = SourceRow(w, op.src[k], buffer[k]);
  }
  if (write == exec) {
    a.mask = w.LaneMask();
  } else {
    ExpandMask(write, written, a.n);
    a.mask = written;
  }
  a.d = w.Vgpr(op.dst);
  op.fn(a);
}

void ExecFull(Wave& w, const Op& op) {
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[4][2 * kMaxLanes];
  alignas(64) u32 out[2 * kMaxLanes];
  u64 flag = 0;
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  u64 write = exec;
  LaneArgs a;
  a.n = n;
  a.mode = &w.mode;
  a.op = &op;
  for (int k = 0; k < op.nsrc; ++k) {
    const Operand& o = op.src[k];
    const u32* row = SourceRow(w, o, buffer[k]);
    const bool dpp = k == 0 && op.dpp != nullptr;
    const bool changes =
        dpp || o.neg || o.abs || o.hi || o.sext || o.sdwa != kDword;
    if (changes) {
      const u32 words = n * static_cast<u32>(TypeRegs(o.type));
      if (dpp) {
        alignas(64) u32 moved[2 * kMaxLanes];
        for (u32 at = 0; at < words; at += n) {
          ApplyDpp(*op.dpp, exec, n, row + at, moved + at, &write);
        }
        std::memcpy(buffer[k], moved, words * 4);
      } else if (row != buffer[k]) {
        std::memcpy(buffer[k], row, words * 4);
      }
      if (o.hi) {
        for (u32 i = 0; i < n; ++i) buffer[k][i] >>= 16;
      }
      SelectSdwa(o.sdwa, o.sext, buffer[k], n);
      if (o.neg || o.abs) ApplySign(o, buffer[k], n);
      row = buffer[k];
    }
    a.s[k] = row;
  }
  a.d = out;
  a.flag = &flag;
  if (op.dst.kind == Kind::kNone) {
    op.fn(a);
    WriteFlag(w, op, flag & write);
    return;
  }
  op.fn(a);
  const Type type = op.dst.type;
  if (op.omod != 0 || (op.flags & kFlagClamp) != 0) {
    Finish(w, op, type, out, n);
  }
  if (op.sdst.kind != Kind::kNone) {
    WriteFlag(w, op, flag & write);
  }
  if (op.dst.sgpr()) {  // gfx12's v_s_*: one value for the wave
    w.sgpr[op.dst.reg] = out[0];
    return;
  }
  alignas(64) u32 lanes_written[kMaxLanes];
  const u32* mask;
  if (write == exec) {
    mask = w.ExecMask();
  } else {
    ExpandMask(write, lanes_written, n);
    mask = lanes_written;
  }
  u32* const d = w.Vgpr(op.dst);
  if ((op.flags & kFlagSdwa) != 0 && op.dst.sdwa != kDword) {
    WriteSdwa(op, out, mask, d, n);
  } else if (Is16(type) && (op.flags & kFlagSdwa) == 0) {
    WriteHalf(op, out, mask, d, n);
  } else {
    WriteRows(out, mask, d, n, TypeRegs(type));
  }
}

void ExecPacked(Wave& w, const Op& op) {
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[3][2 * kMaxLanes];
  alignas(64) u32 out[kMaxLanes];
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  u64 write = exec;
  LaneArgs a;
  a.n = n;
  a.mode = &w.mode;
  a.op = &op;
  for (int k = 0; k < op.nsrc; ++k) {
    const Operand& o = op.src[k];
    const u32* row = SourceRow(w, o, buffer[k]);
    if (k == 0 && op.dpp != nullptr) {
      alignas(64) u32 moved[kMaxLanes];
      ApplyDpp(*op.dpp, exec, n, row, moved, &write);
      std::memcpy(buffer[k], moved, n * 4);
      row = buffer[k];
    }
    if (o.hi || !o.sel_hi || o.neg || o.neg_hi) {
      const u32 lo = o.hi ? 16 : 0, hi = o.sel_hi ? 16 : 0;
      const u32 sign = (o.neg ? 0x8000 : 0) | (o.neg_hi ? 0x80000000 : 0);
      for (u32 i = 0; i < n; ++i) {
        buffer[k][i] = ((row[i] >> lo & 0xffff) | (row[i] >> hi) << 16) ^ sign;
      }
      row = buffer[k];
    }
    a.s[k] = row;
  }
  const bool clamp = (op.flags & kFlagClamp) != 0;
  if (!clamp && write == exec) {
    a.mask = w.LaneMask();
    a.d = w.Vgpr(op.dst);
    op.fn(a);
    return;
  }
  a.d = out;
  op.fn(a);
  if (clamp) {
    alignas(64) u32 high[kMaxLanes];
    for (u32 i = 0; i < n; ++i) high[i] = out[i] >> 16;
    Finish(w, op, op.dst.type, out, n);
    Finish(w, op, op.dst.type, high, n);
    for (u32 i = 0; i < n; ++i) out[i] = (out[i] & 0xffff) | high[i] << 16;
  }
  alignas(64) u32 mask[kMaxLanes];
  ExpandMask(write, mask, n);
  WriteRows(out, mask, w.Vgpr(op.dst), n, 1);
}

void ExecPacked32(Wave& w, const Op& op) {
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[3][2 * kMaxLanes];
  alignas(64) u32 part[2][3][kMaxLanes];
  const u32 n = w.lanes;
  const u32* rows[2][3] = {};
  // The first result may be written before the second one is computed unless
  // that reads it.
  bool apart = true;
  for (int k = 0; k < op.nsrc; ++k) {
    const Operand& o = op.src[k];
    const u32* const row = SourceRow(w, o, buffer[k]);
    for (int h = 0; h < 2; ++h) {
      const bool upper = h == 0 ? o.hi : o.sel_hi;
      const u32* const from = row + (upper ? n : 0);
      rows[h][k] = from;
      if (h == 1 && o.vgpr() && o.reg + (upper ? 1u : 0u) == op.dst.reg) {
        apart = false;
      }
      if (h == 0 ? o.neg : o.neg_hi) {
        for (u32 i = 0; i < n; ++i) part[h][k][i] = from[i] ^ 0x80000000;
        rows[h][k] = part[h][k];
      }
    }
  }
  LaneArgs a;
  a.n = n;
  a.mode = &w.mode;
  a.op = &op;
  const bool clamp = (op.flags & kFlagClamp) != 0;
  alignas(64) u32 out[2 * kMaxLanes];
  const bool direct = apart && !clamp;
  if (direct) a.mask = w.LaneMask();
  u32* const d = w.Vgpr(op.dst);
  for (int h = 0; h < 2; ++h) {
    for (int k = 0; k < op.nsrc; ++k) a.s[k] = rows[h][k];
    a.d = (direct ? d : out) + h * n;
    op.fn(a);
    if (clamp) Finish(w, op, Type::kF32, a.d, n);
  }
  if (!direct) WriteRows(out, w.ExecMask(), d, n, 2);
}

void ExecMix(Wave& w, const Op& op) {
  ApplyEnv(w, Env::kF32);
  alignas(64) u32 buffer[3][2 * kMaxLanes];
  alignas(64) u32 value[3][kMaxLanes];
  alignas(64) u32 out[2 * kMaxLanes];
  const u32 n = w.lanes;
  LaneArgs a;
  a.n = n;
  a.mode = &w.mode;
  a.op = &op;
  u64 write = w.Exec();
  const bool flush = (w.mode.denorm64 & 1) == 0;
  for (int k = 0; k < op.nsrc; ++k) {
    const Operand& o = op.src[k];
    const u32* row = SourceRow(w, o, buffer[k]);
    alignas(64) u32 moved[kMaxLanes];
    if (k == 0 && op.dpp != nullptr) {
      ApplyDpp(*op.dpp, w.Exec(), n, row, moved, &write);
      row = moved;
    }
    for (u32 i = 0; i < n; ++i) {
      u32 v = row[i];
      if (o.sel_hi) {
        v = Bits(HalfToFloat(static_cast<u16>(o.hi ? v >> 16 : v), flush));
      }
      if (o.abs) v &= 0x7fffffff;
      if (o.neg) v ^= 0x80000000;
      value[k][i] = v;
    }
    a.s[k] = value[k];
  }
  a.d = out;
  op.fn(a);
  if ((op.flags & kFlagClamp) != 0) Finish(w, op, op.dst.type, out, n);
  alignas(64) u32 mask[kMaxLanes];
  ExpandMask(write, mask, n);
  if (op.dst.type == Type::kF16) {
    WriteHalf(op, out, mask, w.Vgpr(op.dst), n);
  } else {
    WriteRows(out, mask, w.Vgpr(op.dst), n, 1);
  }
}

// Where Y does not read what X writes.
void ExecVopdInTurn(Wave& w, const Op& op) {
  op.first(w, op);
  const Op& y = *op.second;
  y.handler.load(std::memory_order_relaxed)(w, y);
}

// Both halves read their sources before either writes (RDNA3 ISA, section
// 7.6): X's result waits until Y, which writes another register, is done.
void ExecVopd(Wave& w, const Op& op) {
  const Op* parts[2] = {&op, op.second};
  alignas(64) u32 buffer[4][2 * kMaxLanes];
  alignas(64) u32 out[kMaxLanes];
  const u32 n = w.lanes;
  const u32* const mask = w.LaneMask();
  for (int p = 0; p < 2; ++p) {
    const Op& part = *parts[p];
    if (part.env != Env::kNone) ApplyEnv(w, part.env);
    LaneArgs a;
    a.n = n;
    a.mode = &w.mode;
    a.op = &part;
    if (p == 0) {
      a.d = out;
    } else {
      a.d = w.Vgpr(part.dst);
      a.mask = mask;
    }
    for (int k = 0; k < part.nsrc; ++k) {
      a.s[k] = SourceRow(w, part.src[k], buffer[k]);
      const Operand& o = part.src[k];
      if (o.neg || o.abs) {
        if (a.s[k] != buffer[k]) std::memcpy(buffer[k], a.s[k], n * 4);
        ApplySign(o, buffer[k], n);
        a.s[k] = buffer[k];
      }
    }
    part.fn(a);
  }
  BlendRow(w.Vgpr(op.dst), out, mask, n);
}

}  // namespace cerberus::emulator
