// Instructions that move data between lanes or index registers.
#include "emulator/execute/semantics.h"
#include "emulator/vector/valu.h"

namespace cerberus::emulator {
namespace {

u32 LaneSelect(const Wave& w, const Operand& o) {
  return ReadScalar(w, o) & (w.lanes - 1);
}

// A source of v_readlane and v_writelane may be a register of either kind.
u32 ReadLaneOf(Wave& w, const Operand& o, u32 lane) {
  return o.vgpr() ? w.Vgpr(o)[lane] : ReadScalar(w, o);
}

void ReadFirstLane(Wave& w, const Op& op) {
  const u64 exec = w.Exec();
  const u32 lane = exec == 0 ? 0 : static_cast<u32>(std::countr_zero(exec));
  WriteScalar(w, op.dst, ReadLaneOf(w, op.src[0], lane));
}

void ReadLane(Wave& w, const Op& op) {
  WriteScalar(w, op.dst, ReadLaneOf(w, op.src[0], LaneSelect(w, op.src[1])));
}

void WriteLane(Wave& w, const Op& op) {
  w.Vgpr(op.dst)[LaneSelect(w, op.src[1])] = ReadScalar(w, op.src[0]);
}

// Bits of op_sel here: 0 reads inactive lanes too, 1 is bound_ctrl.
void PermuteRows(Wave& w, const Op& op, bool across, bool variable) {
  const u32 n = w.lanes;
  const u64 exec = w.Exec();
  const bool fi = (op.aux0 & 1) != 0, bound = (op.aux0 & 2) != 0;
  u32 from[64];
  std::memcpy(from, w.Vgpr(op.src[0]), n * 4);
  u64 select = 0;
  const u32* rows = nullptr;
  if (variable) {
    rows = w.Vgpr(op.src[1]);
  } else {
    select = ReadScalar(w, op.src[1]) |
             static_cast<u64>(ReadScalar(w, op.src[2])) << 32;
  }
  u32 result[64];
  u64 write = exec;
  for (u32 i = 0; i < n; ++i) {
    const u32 in_row = variable
                           ? rows[i] & 15
                           : static_cast<u32>(select >> (4 * (i & 15))) & 15;
    u32 row = i & ~15u;
    if (across) row ^= 16;
    const u32 source = row | in_row;
    const bool valid = fi || (exec >> source & 1) != 0;
    result[i] = valid ? from[source] : 0;
    if (!valid && !bound) write &= ~(u64{1} << i);
  }
  u32* const d = w.Vgpr(op.dst);
  for (u32 i = 0; i < n; ++i) {
    if ((write >> i & 1) != 0) d[i] = result[i];
  }
}
void Permlane16(Wave& w, const Op& op) { PermuteRows(w, op, false, false); }
void Permlanex16(Wave& w, const Op& op) { PermuteRows(w, op, true, false); }
void Permlane16Var(Wave& w, const Op& op) { PermuteRows(w, op, false, true); }
void Permlanex16Var(Wave& w, const Op& op) { PermuteRows(w, op, true, true); }

// Exchanges the two halves of the wave; a wave of 32 has one.
void Permlane64(Wave& w, const Op& op) {
  if (w.lanes != 64) return;
  u32 from[64];
  std::memcpy(from, w.Vgpr(op.src[0]), sizeof from);
  u32* const d = w.Vgpr(op.dst);
  const u64 exec = w.Exec();
  for (u32 i = 0; i < 64; ++i) {
    if ((exec >> i & 1) != 0) d[i] = from[i ^ 32];
  }
}

// gfx950: swaps odd rows of the first register with even rows of the second,
// in rows of 16 or 32 lanes.
void PermlaneSwap(Wave& w, const Op& op, u32 row) {
  u32* const a = w.Vgpr(op.dst);
  u32* const b = w.Vgpr(op.src[0]);
  const u64 exec = w.Exec();
  const bool fi = (op.aux0 & 1) != 0, bound = (op.aux0 & 2) != 0;
  for (u32 base = 0; base < w.lanes; base += 2 * row) {
    for (u32 i = 0; i < row; ++i) {
      const u32 x = base + row + i, y = base + i;
      const bool x_on = (exec >> x & 1) != 0, y_on = (exec >> y & 1) != 0;
      const u32 av = a[x], bv = b[y];
      if (x_on && (y_on || fi || bound)) a[x] = y_on || fi ? bv : 0;
      if (y_on && (x_on || fi || bound)) b[y] = x_on || fi ? av : 0;
    }
  }
}
void Permlane16Swap(Wave& w, const Op& op) { PermlaneSwap(w, op, 16); }
void Permlane32Swap(Wave& w, const Op& op) { PermlaneSwap(w, op, 32); }

void Swap(Wave& w, const Op& op) {
  u32* const a = w.Vgpr(op.dst);
  u32* const b = w.Vgpr(op.src[0]);
  const u32* const mask = w.ExecMask();
  for (u32 i = 0; i < w.lanes; ++i) {
    const u32 x = a[i], y = b[i];
    a[i] = (y & mask[i]) | (x & ~mask[i]);
    b[i] = (x & mask[i]) | (y & ~mask[i]);
  }
}

void Swap16(Wave& w, const Op& op) {
  u32* const a = w.Vgpr(op.dst);
  u32* const b = w.Vgpr(op.src[0]);
  const u64 exec = w.Exec();
  const u32 sa = op.dst.hi ? 16 : 0, sb = op.src[0].hi ? 16 : 0;
  for (u32 i = 0; i < w.lanes; ++i) {
    if ((exec >> i & 1) == 0) continue;
    const u32 x = a[i] >> sa & 0xffff, y = b[i] >> sb & 0xffff;
    a[i] = (a[i] & ~(0xffffu << sa)) | y << sa;
    b[i] = (b[i] & ~(0xffffu << sb)) | x << sb;
  }
}

// Register indexing through M0 (v_movrel*): one offset for source and
// destination, or ten bits for each.
u32 Index(const Wave& w, const Operand& o, u32 offset) {
  const u64 at = u64{o.reg} + offset;
  if (!o.vgpr() || at >= 256) Throw("register index is out of range");
  (void)w;
  return static_cast<u32>(at);
}
void MoveRow(Wave& w, u32 to, u32 from) {
  const u32* const s = w.Row(from);
  u32* const d = w.Row(to);
  const u32* const mask = w.ExecMask();
  for (u32 i = 0; i < w.lanes; ++i) {
    d[i] = (s[i] & mask[i]) | (d[i] & ~mask[i]);
  }
}
void Movreld(Wave& w, const Op& op) {
  u32 buffer[128];
  const u32* const s = SourceRow(w, op.src[0], buffer);
  u32* const d = w.Row(Index(w, op.dst, w.sgpr[kM0]));
  const u32* const mask = w.ExecMask();
  for (u32 i = 0; i < w.lanes; ++i) {
    d[i] = (s[i] & mask[i]) | (d[i] & ~mask[i]);
  }
}
void Movrels(Wave& w, const Op& op) {
  MoveRow(w, op.dst.reg, Index(w, op.src[0], w.sgpr[kM0]));
}
void Movrelsd(Wave& w, const Op& op) {
  MoveRow(w, Index(w, op.dst, w.sgpr[kM0]), Index(w, op.src[0], w.sgpr[kM0]));
}
void Movrelsd2(Wave& w, const Op& op) {
  const u32 m0 = w.sgpr[kM0];
  MoveRow(w, Index(w, op.dst, m0 >> 16 & 0x3ff),
          Index(w, op.src[0], m0 & 0x3ff));
}
void Swaprel(Wave& w, const Op& op) {
  const u32 m0 = w.sgpr[kM0];
  Op swap;
  swap.dst = op.dst;
  swap.src = op.src;
  swap.dst.reg = static_cast<u16>(Index(w, op.dst, m0 >> 16 & 0x3ff));
  swap.src[0].reg = static_cast<u16>(Index(w, op.src[0], m0 & 0x3ff));
  Swap(w, swap);
}

// v_mqsad_u32_u8 has a 128-bit accumulator.
void MqsadU32(Wave& w, const Op& op) {
  const u32 n = w.lanes;
  alignas(64) u32 buffer[2][128];
  const u32* const a = SourceRow(w, op.src[0], buffer[0]);
  const u32* const b = SourceRow(w, op.src[1], buffer[1]);
  const u32* const c = op.src[2].vgpr() ? w.Vgpr(op.src[2]) : nullptr;
  u32* const d = w.Vgpr(op.dst);
  const u64 exec = w.Exec();
  for (u32 i = 0; i < n; ++i) {
    if ((exec >> i & 1) == 0) continue;
    const u64 data = a[i] | static_cast<u64>(a[i + n]) << 32;
    u32 result[4];
    for (u32 k = 0; k < 4; ++k) {
      const u32 x = static_cast<u32>(data >> (8 * k));
      u64 sum = c == nullptr ? 0 : c[k * n + i];
      for (int s = 0; s < 32; s += 8) {
        const u32 p = x >> s & 255, q = b[i] >> s & 255;
        if (q != 0) sum += p > q ? p - q : q - p;
      }
      const bool saturate = (op.flags & kFlagClamp) != 0;
      result[k] = saturate && sum >> 32 != 0 ? ~0u : static_cast<u32>(sum);
    }
    for (u32 k = 0; k < 4; ++k) d[k * n + i] = result[k];
  }
}

constexpr Semantic Own(Handler h, Type dst, Type a, Type b = Type::kNone,
                       Type c = Type::kNone) {
  Semantic s;
  s.handler = h;
  s.dst = dst;
  s.src[0] = a;
  s.src[1] = b;
  s.src[2] = c;
  s.nsrc = c != Type::kNone ? 3 : b != Type::kNone ? 2 : 1;
  return s;
}
constexpr Type kB = Type::kB32;

void PkMov(Wave& w, const Op& op) {
  const u32 n = w.lanes;
  alignas(64) u32 buffer[2][128];
  alignas(64) u32 out[128];
  const u32* const a = SourceRow(w, op.src[0], buffer[0]);
  const u32* const b = SourceRow(w, op.src[1], buffer[1]);
  std::memcpy(out, a + (op.src[0].hi ? n : 0), n * 4);
  std::memcpy(out + n, b + (op.src[1].hi ? n : 0), n * 4);
  u32* const d = w.Vgpr(op.dst);
  const u32* const mask = w.ExecMask();
  for (u32 i = 0; i < n; ++i) {
    d[i] = (out[i] & mask[i]) | (d[i] & ~mask[i]);
    d[i + n] = (out[i + n] & mask[i]) | (d[i + n] & ~mask[i]);
  }
}

const Row kRows[] = {
    {"v_readfirstlane_b32", Own(ReadFirstLane, kB, kB)},
    {"v_readlane_b32", Own(ReadLane, kB, kB, kB)},
    {"v_writelane_b32", Own(WriteLane, kB, kB, kB)},
    {"v_permlane16_b32", Own(Permlane16, kB, kB, kB, kB)},
    {"v_permlanex16_b32", Own(Permlanex16, kB, kB, kB, kB)},
    {"v_permlane16_var_b32", Own(Permlane16Var, kB, kB, kB)},
    {"v_permlanex16_var_b32", Own(Permlanex16Var, kB, kB, kB)},
    {"v_permlane64_b32", Own(Permlane64, kB, kB)},
    {"v_permlane16_swap_b32", Own(Permlane16Swap, kB, kB)},
    {"v_permlane32_swap_b32", Own(Permlane32Swap, kB, kB)},
    {"v_swap_b32", Own(Swap, kB, kB)},
    {"v_swap_b16", Own(Swap16, Type::kB16, Type::kB16)},
    {"v_movreld_b32", Own(Movreld, kB, kB)},
    {"v_movrels_b32", Own(Movrels, kB, kB)},
    {"v_movrelsd_b32", Own(Movrelsd, kB, kB)},
    {"v_movrelsd_2_b32", Own(Movrelsd2, kB, kB)},
    {"v_swaprel_b32", Own(Swaprel, kB, kB)},
    {"v_mqsad_u32_u8", Own(MqsadU32, Type::kWide, Type::kB64, kB, Type::kWide)},
    {"v_pk_mov_b32", Own(PkMov, Type::kB64, Type::kB64, Type::kB64)},
};

}  // namespace

std::span<const Row> CrossLaneRows() { return kRows; }

}  // namespace cerberus::emulator
