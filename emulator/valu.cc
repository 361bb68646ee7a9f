#include "emulator/valu.h"

#include <emmintrin.h>

#include "emulator/float_math.h"
#include "emulator/host_env.h"

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
  // The output modifier is ignored where results may be denormal (RDNA3 ISA,
  // section 7.2.3).
  const bool omod32 = op.omod != 0 && (w.mode.denorm32 & 2) == 0;
  const bool omod64 = op.omod != 0 && (w.mode.denorm64 & 2) == 0;
  static constexpr float kFactor[] = {1.0f, 2.0f, 4.0f, 0.5f};
  const float factor = kFactor[op.omod & 3];
  const bool dx10 = w.mode.dx10_clamp;
  switch (type) {
    case Type::kF32:
      for (u32 i = 0; i < n; ++i) {
        float v = F32(out[i]);
        if (omod32) v = FlushDenormal(v * factor);
        out[i] = Bits(clamp ? ClampF32(v, dx10) : v);
      }
      break;
    case Type::kF64:
      for (u32 i = 0; i < n; ++i) {
        double v = F64(out[i] | static_cast<u64>(out[i + n]) << 32);
        if (omod64) v *= factor;
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
        if (omod64) v *= factor;
        if (clamp) v = ClampF32(v, dx10);
        out[i] = (out[i] & 0xffff0000) |
                 FloatToHalf(v, w.mode.round64, omod64);
      }
      break;
    case Type::kBf16:
      for (u32 i = 0; i < n; ++i) {
        float v = Bf16ToFloat(static_cast<u16>(out[i]));
        if (clamp) v = ClampF32(v, dx10);
        out[i] = (out[i] & 0xffff0000) | FloatToBf16(v);
      }
      break;
    default:
      break;
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

alignas(64) constexpr auto kAll = [] {
  std::array<u32, kMaxLanes> a{};
  for (u32& v : a) v = ~0u;
  return a;
}();

void WriteFlag(Wave& w, const Op& op, u64 bits) {
  if ((op.flags & kFlagWritesExec) != 0) {
    w.SetExec(bits);
    if (op.sdst.sgpr()) w.SetMaskAt(op.sdst.reg, bits);
  } else if (op.sdst.reg != kNull) {
    w.SetMaskAt(op.sdst.reg, bits);
  }
}

}  // namespace

u64 PackMask(const u32* row, u32 n) {
  u64 bits = 0;
  for (u32 i = 0; i < n; i += 4) {
    const __m128 v =
        _mm_castsi128_ps(_mm_loadu_si128(
            reinterpret_cast<const __m128i*>(row + i)));
    bits |= static_cast<u64>(_mm_movemask_ps(v)) << i;
  }
  return bits;
}

void ExpandMask(u64 bits, u32* row, u32 n) {
  for (u32 i = 0; i < n; ++i) {
    row[i] = 0u - static_cast<u32>(bits >> i & 1);
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

void ApplyDpp(const Dpp& dpp, u64 exec, u32 lanes, const u32* in, u32* out,
              u64* write) {
  for (u32 i = 0; i < lanes; ++i) {
    const int from = DppSource(dpp, static_cast<int>(i),
                               static_cast<int>(lanes));
    const bool valid =
        from >= 0 && (dpp.fi || (exec >> from & 1) != 0);
    // row_bcast only writes the rows behind the one it reads.
    const bool in_masks = dpp.kind == DppKind::kDpp8 ||
                          ((dpp.row_mask >> (i / 16) & 1) != 0 &&
                           (dpp.bank_mask >> (i / 4 % 4) & 1) != 0);
    out[i] = valid ? in[from] : 0;
    const bool writes =
        in_masks && (valid || dpp.bound_ctrl ||
                     // An inactive source lane of DPP8 reads as 0.
                     dpp.kind == DppKind::kDpp8);
    if (!writes) *write &= ~(u64{1} << i);
  }
}

void ExecNop(Wave&, const Op&) {}

void ExecLanes(Wave& w, const Op& op) {
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[3][2 * kMaxLanes];
  LaneArgs a;
  a.n = w.lanes;
  a.mode = &w.mode;
  a.op = &op;
  for (int k = 0; k < op.nsrc && k < 3; ++k) {
    a.s[k] = SourceRow(w, op.src[k], buffer[k]);
  }
  alignas(64) u32 mask_row[2 * kMaxLanes];
  if (op.nsrc == 4) a.s[3] = SourceRow(w, op.src[3], mask_row);
  a.mask = w.ExecMask();
  a.d = w.Vgpr(op.dst);
  op.fn(a);
}

void ExecFlag(Wave& w, const Op& op) {
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[3][2 * kMaxLanes];
  alignas(64) u32 flag[kMaxLanes];
  LaneArgs a;
  a.n = w.lanes;
  a.mode = &w.mode;
  a.op = &op;
  for (int k = 0; k < op.nsrc; ++k) {
    a.s[k] = SourceRow(w, op.src[k], buffer[k]);
  }
  a.mask = w.ExecMask();
  a.flag = flag;
  if (op.dst.vgpr()) a.d = w.Vgpr(op.dst);
  op.fn(a);
  WriteFlag(w, op, PackMask(flag, w.lanes) & w.Exec());
}

void ExecFull(Wave& w, const Op& op) {
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[4][2 * kMaxLanes];
  alignas(64) u32 out[2 * kMaxLanes];
  alignas(64) u32 flag[kMaxLanes];
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
    const bool changes = dpp || o.neg || o.abs || o.hi || o.sext ||
                         o.sdwa != kDword;
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
  a.mask = kAll.data();
  a.d = out;
  a.flag = flag;
  if (op.dst.kind == Kind::kNone) {
    op.fn(a);
    WriteFlag(w, op, PackMask(flag, n) & write);
    return;
  }
  std::memset(out, 0, sizeof out);
  op.fn(a);
  const Type type = op.dst.type;
  if (op.omod != 0 || (op.flags & kFlagClamp) != 0) {
    Finish(w, op, type, out, n);
  }
  if (op.sdst.kind != Kind::kNone) {
    WriteFlag(w, op, PackMask(flag, n) & write);
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
  alignas(64) u32 half[2][3][kMaxLanes];
  alignas(64) u32 out[2][kMaxLanes];
  const u32 n = w.lanes;
  u64 write = w.Exec();
  alignas(64) u32 moved[kMaxLanes];
  for (int k = 0; k < op.nsrc; ++k) {
    const Operand& o = op.src[k];
    const u32* row = SourceRow(w, o, buffer[k]);
    if (k == 0 && op.dpp != nullptr) {
      ApplyDpp(*op.dpp, w.Exec(), n, row, moved, &write);
      row = moved;
    }
    const u32 lo = o.hi ? 16 : 0, hi = o.sel_hi ? 16 : 0;
    const u32 lo_sign = o.neg ? 0x8000 : 0, hi_sign = o.neg_hi ? 0x8000 : 0;
    for (u32 i = 0; i < n; ++i) {
      half[0][k][i] = (row[i] >> lo & 0xffff) ^ lo_sign;
      half[1][k][i] = (row[i] >> hi & 0xffff) ^ hi_sign;
    }
  }
  LaneArgs a;
  a.n = n;
  a.mode = &w.mode;
  a.op = &op;
  a.mask = kAll.data();
  for (int h = 0; h < 2; ++h) {
    for (int k = 0; k < op.nsrc; ++k) a.s[k] = half[h][k];
    a.d = out[h];
    std::memset(out[h], 0, sizeof out[h]);
    op.fn(a);
    if ((op.flags & kFlagClamp) != 0) {
      Finish(w, op, op.dst.type, out[h], n);
    }
  }
  for (u32 i = 0; i < n; ++i) {
    out[0][i] = (out[0][i] & 0xffff) | out[1][i] << 16;
  }
  alignas(64) u32 mask[kMaxLanes];
  ExpandMask(write, mask, n);
  WriteRows(out[0], mask, w.Vgpr(op.dst), n, 1);
}

void ExecPacked32(Wave& w, const Op& op) {
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[3][2 * kMaxLanes];
  alignas(64) u32 part[3][kMaxLanes];
  alignas(64) u32 out[2 * kMaxLanes];
  const u32 n = w.lanes;
  LaneArgs a;
  a.n = n;
  a.mode = &w.mode;
  a.op = &op;
  a.mask = kAll.data();
  const u32* rows[3] = {};
  for (int k = 0; k < op.nsrc; ++k) {
    rows[k] = SourceRow(w, op.src[k], buffer[k]);
  }
  for (int h = 0; h < 2; ++h) {
    for (int k = 0; k < op.nsrc; ++k) {
      const Operand& o = op.src[k];
      const bool upper = h == 0 ? o.hi : o.sel_hi;
      const u32 sign = (h == 0 ? o.neg : o.neg_hi) ? 0x80000000 : 0;
      const u32* from = rows[k] + (upper ? n : 0);
      for (u32 i = 0; i < n; ++i) part[k][i] = from[i] ^ sign;
      a.s[k] = part[k];
    }
    a.d = out + h * n;
    op.fn(a);
    if ((op.flags & kFlagClamp) != 0) Finish(w, op, Type::kF32, a.d, n);
  }
  WriteRows(out, w.ExecMask(), w.Vgpr(op.dst), n, 2);
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
  a.mask = kAll.data();
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
  std::memset(out, 0, sizeof out);
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

// Both halves read their sources before either writes (RDNA3 ISA, section
// 7.6).
void ExecVopd(Wave& w, const Op& op) {
  const Op* parts[2] = {&op, op.second};
  alignas(64) u32 buffer[3][2 * kMaxLanes];
  alignas(64) u32 out[2][kMaxLanes];
  const u32 n = w.lanes;
  for (int p = 0; p < 2; ++p) {
    const Op& part = *parts[p];
    if (part.env != Env::kNone) ApplyEnv(w, part.env);
    LaneArgs a;
    a.n = n;
    a.mode = &w.mode;
    a.op = &part;
    a.mask = kAll.data();
    a.d = out[p];
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
  const u32* mask = w.ExecMask();
  for (int p = 0; p < 2; ++p) {
    WriteRows(out[p], mask, w.Vgpr(parts[p]->dst), n, 1);
  }
}

}  // namespace cerberus::emulator
