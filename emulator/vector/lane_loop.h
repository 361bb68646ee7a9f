// What the compiler makes of a vector instruction's lambda (semantics.h): a
// loop over the lanes, and the handler for the instruction without modifiers.
//
// Included by the files of lane loops only, which are compiled once for each
// ISA of the host: whatever stands here must be inlined or internal to them.
#ifndef CERBERUS_EMULATOR_VECTOR_LANE_LOOP_H_
#define CERBERUS_EMULATOR_VECTOR_LANE_LOOP_H_

#include <utility>

#include "emulator/execute/semantics.h"
#include "emulator/vector/host_isa.h"
#include "emulator/vector/valu.h"

namespace cerberus::emulator {

// Lanes are worked on in pieces of a constant size: such loops the compiler
// unrolls and keeps their results in registers.
inline constexpr u32 kPiece = 32;

template <typename Sig>
struct LaneSig;
template <typename R, typename... A>
struct LaneSig<R (*)(A...)> {
  using Result = R;
  static constexpr bool kCx = false;
  static constexpr int kCount = sizeof...(A);
  static constexpr Type kTypes[5] = {TypeOf<A>()...};
  template <auto F>
  static R Call(const LaneArgs& a, const LaneMode& mode, u32 i, u32 n) {
    return CallWith<F>(a, mode, i, n, std::make_index_sequence<sizeof...(A)>());
  }
  template <auto F, std::size_t... I>
  static R CallWith(const LaneArgs& a, const LaneMode& mode, u32 i, u32 n,
                    std::index_sequence<I...>) {
    return F(LoadLane<A>(a.s[I], i, n, a.shift[I], mode)...);
  }
  template <auto F, std::size_t... I>
  static R CallPacked(const u16 (*rows)[2 * kPiece], const LaneArgs&,
                      const LaneMode& mode, u32, u32 i,
                      std::index_sequence<I...>) {
    return F(LoadElement<A>(rows[I][i], mode)...);
  }
};
template <typename R, typename... A>
struct LaneSig<R (*)(const Cx&, A...)> {
  using Result = R;
  static constexpr int kCount = sizeof...(A);
  static constexpr Type kTypes[5] = {TypeOf<A>()...};
  template <auto F>
  static R Call(const LaneArgs& a, const LaneMode& mode, u32 i, u32 n) {
    return CallWith<F>(a, mode, i, n, std::make_index_sequence<sizeof...(A)>());
  }
  template <auto F, std::size_t... I>
  static R CallWith(const LaneArgs& a, const LaneMode& mode, u32 i, u32 n,
                    std::index_sequence<I...>) {
    return F(Cx{mode, i, n, *a.op},
             LoadLane<A>(a.s[I], i, n, a.shift[I], mode)...);
  }
  template <auto F, std::size_t... I>
  static R CallPacked(const u16 (*rows)[2 * kPiece], const LaneArgs& a,
                      const LaneMode& mode, u32 base, u32 i,
                      std::index_sequence<I...>) {
    return F(Cx{mode, base + i / 2, a.n, *a.op},
             LoadElement<A>(rows[I][i], mode)...);
  }
};

// What the operands and the result of a lambda say.
template <auto F>
constexpr Semantic Describe(LaneFn fn, Handler plain, u32 flags) {
  using Sig = LaneSig<decltype(+F)>;
  using R = typename Sig::Result;
  Semantic s;
  s.fn = fn;
  s.plain = plain;
  s.nsrc = Sig::kCount;
  bool f32 = false, f64 = false;
  for (int i = 0; i < Sig::kCount; ++i) {
    s.src[i] = Sig::kTypes[i];
  }
  if constexpr (std::is_same_v<R, bool>) {
    s.dst = Type::kNone;
    s.flag = true;
  } else if constexpr (IsWith<R>::value) {
    s.dst = TypeOf<typename IsWith<R>::Value>();
    s.flag = true;
  } else {
    s.dst = TypeOf<R>();
  }
  for (int i = -1; i < Sig::kCount; ++i) {
    const Type t = i < 0 ? s.dst : s.src[i];
    if (t == Type::kF32 || t == Type::kBf16) f32 = true;
    if (t == Type::kF64 || t == Type::kF16) f64 = true;
  }
  // A conversion rounds as its result says; arithmetic has one width.
  if (s.dst == Type::kF32) s.env = Env::kF32;
  else if (s.dst == Type::kF64 || s.dst == Type::kF16) s.env = Env::kF64;
  else if (f64) s.env = Env::kF64;
  else if (f32) s.env = Env::kF32;
  s.klass = (flags & kRowTrans) != 0 ? OpClass::kTranscendental
            : s.dst == Type::kF64    ? OpClass::kValuF64
                                     : OpClass::kValu;
  if ((flags & kRowTrans) != 0) s.env = Env::kNearest;
  s.flags = flags;
  return s;
}

CERBERUS_EMU_INLINE bool IsNanResult(float v) { return v != v; }
CERBERUS_EMU_INLINE bool IsNanResult(double v) { return v != v; }
CERBERUS_EMU_INLINE bool IsNanResult(H v) { return v.v != v.v; }

template <auto F>
constexpr bool UsesHalves() {
  using Sig = LaneSig<decltype(+F)>;
  for (const Type t : Sig::kTypes) {
    if (t == Type::kF16) return true;
  }
  return std::is_same_v<typename Sig::Result, H>;
}

// What most code runs under, as far as f16 is concerned.
inline bool PlainHalves(const Mode& m) {
  return m.round64 == kNearest && m.round32 == kNearest && m.denorm64 == 3 &&
         !m.fp16_ovfl;
}

template <bool plain, bool any_nan>
CERBERUS_EMU_INLINE LaneMode Known(const Mode& m) {
  LaneMode mode;
  static_cast<Mode&>(mode) = m;
  if constexpr (plain) {
    mode.round64 = mode.round32 = kNearest;
    mode.denorm64 = 3;
    mode.fp16_ovfl = false;
    mode.plain = true;
  }
  mode.any_nan = any_nan;
  return mode;
}

// How a loop goes over the lanes. Straight: a piece of words at once.
// Rolled: what needs so many registers that it gains nothing by that. Packed:
// on both halves of every word (VOP3P).
enum class Walk : u8 { kStraight, kRolled, kPacked };

// One pass over the lanes of a piece, which begins at `base`. False if `F`,
// being the quick way of an instruction, is not to be believed: a result is a
// NaN.
template <auto F, bool quick, bool plain, Walk walk>
CERBERUS_EMU_INLINE bool RunLanes(const LaneArgs& a, const Mode& m, u32 base,
                                  u32* out, u32* flag) {
  using Sig = LaneSig<decltype(+F)>;
  using R = typename Sig::Result;
  const LaneMode mode = Known<plain, quick>(m);
  u32 nans = 0;
  const auto lane = [&](u32 i) __attribute__((always_inline)) {
    const R r = Sig::template Call<F>(a, mode, base + i, a.n);
    if constexpr (quick) nans |= IsNanResult(r) ? ~0u : 0u;
    if constexpr (std::is_same_v<R, bool>) {
      flag[i] = r ? ~0u : 0u;
    } else if constexpr (IsWith<R>::value) {
      flag[i] = r.flag ? ~0u : 0u;
      PutLane(out, i, kPiece, r.value, mode);
    } else {
      PutLane(out, i, kPiece, r, mode);
    }
  };
  if constexpr (walk == Walk::kRolled) {
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < kPiece; ++i) lane(i);
  } else {
    CERBERUS_EMU_SIDE_BY_SIDE
    for (u32 i = 0; i < kPiece; ++i) lane(i);
  }
  return nans == 0;
}

// The same on both halves of every word: on twice as many elements, whose
// order does not matter.
template <auto F, bool quick, bool plain>
CERBERUS_EMU_INLINE bool RunHalves(const LaneArgs& a, const Mode& m, u32 base,
                                   u32* out, u32*) {
  using Sig = LaneSig<decltype(+F)>;
  constexpr int kCount = Sig::kCount;
  const LaneMode mode = Known<plain, quick>(m);
  alignas(64) u16 rows[kCount][2 * kPiece];
  alignas(64) u16 result[2 * kPiece];
  for (int k = 0; k < kCount; ++k) {
    std::memcpy(rows[k], a.s[k] + base, sizeof rows[k]);
  }
  u32 nans = 0;
  const auto element = [&](u32 i) __attribute__((always_inline)) {
    const auto r = Sig::template CallPacked<F>(
        rows, a, mode, base, i, std::make_index_sequence<kCount>());
    if constexpr (quick) nans |= IsNanResult(r) ? ~0u : 0u;
    result[i] = ElementBits(r, mode);
  };
  if constexpr (UsesHalves<F>()) {  // long enough to be left alone
    for (u32 i = 0; i < 2 * kPiece; ++i) element(i);
  } else {
    CERBERUS_EMU_SIDE_BY_SIDE
    for (u32 i = 0; i < 2 * kPiece; ++i) element(i);
  }
  std::memcpy(out, result, sizeof result);
  return nans == 0;
}

template <auto F, bool quick, bool plain, Walk walk>
CERBERUS_EMU_INLINE bool RunPass(const LaneArgs& a, const Mode& m, u32 base,
                                 u32* out, u32* flag) {
  if constexpr (walk == Walk::kPacked) {
    return RunHalves<F, quick, plain>(a, m, base, out, flag);
  } else {
    return RunLanes<F, quick, plain, walk>(a, m, base, out, flag);
  }
}

// What is rarely needed, out of the way.
template <auto F, Walk walk>
[[gnu::noinline, gnu::cold]] void RunExactly(const LaneArgs& a, const Mode& m,
                                             u32 base, u32* out, u32* flag) {
  constexpr Walk kSlow = walk == Walk::kPacked ? walk : Walk::kRolled;
  RunPass<F, false, false, kSlow>(a, m, base, out, flag);
}

// Copies the lanes of `mask`, or all, of one piece.
CERBERUS_EMU_INLINE void BlendPiece(u32* __restrict d,
                                    const u32* __restrict out,
                                    const u32* __restrict mask) {
  if (mask == nullptr) {
    std::memcpy(d, out, 4 * kPiece);
    return;
  }
  for (u32 i = 0; i < kPiece; ++i) {
    d[i] = (out[i] & mask[i]) | (d[i] & ~mask[i]);
  }
}

// What the compiler shall not double a loop for, one for each value.
template <typename T>
CERBERUS_EMU_INLINE T NotInvariant(T v) {
  asm("" : "+r"(v));
  return v;
}

// How many words of a lane a lambda's result takes; 0: it is only a flag.
template <typename R>
constexpr u32 ResultWords() {
  if constexpr (std::is_same_v<R, bool>) return 0;
  else if constexpr (IsWith<R>::value) {
    return ResultWords<typename IsWith<R>::Value>();
  } else {
    return sizeof(R) == 8 ? 2 : 1;
  }
}

// The results go to rows of their own first: a destination may be a source
// too, and the compiler vectorises a loop only if it sees that its stores
// change none of its loads. Returns the lanes' flags.
template <auto F, auto Quick, Walk walk>
CERBERUS_EMU_INLINE u32 RunPiece(const LaneArgs& a, const Mode& mode,
                                 u32 base) {
  using Sig = LaneSig<decltype(+F)>;
  using R = typename Sig::Result;
  constexpr bool kQuick = !std::is_null_pointer_v<decltype(Quick)>;
  constexpr u32 kWords = ResultWords<R>();
  alignas(64) u32 out[2 * kPiece];
  alignas(64) u32 flag[kPiece];
  bool done = false;
  if constexpr (UsesHalves<F>()) {
    if (NotInvariant(PlainHalves(mode))) {
      if constexpr (kQuick) {
        done = RunPass<Quick, true, true, walk>(a, mode, base, out, flag);
      } else {
        done = RunPass<F, false, true, walk>(a, mode, base, out, flag);
      }
    }
  } else if constexpr (kQuick) {
    done = RunPass<Quick, true, false, walk>(a, mode, base, out, flag);
  }
  if constexpr (kQuick || UsesHalves<F>()) {
    if (!done) [[unlikely]] {
      // By copies: what has its address taken is kept in memory.
      alignas(64) u32 copy[2 * kPiece];
      const LaneArgs args = a;
      const Mode m = mode;
      RunExactly<F, walk>(args, m, base, copy, flag);
      std::memcpy(out, copy, sizeof copy);
    }
  } else {
    RunPass<F, false, false, walk>(a, mode, base, out, flag);
  }
  if constexpr (kWords != 0) {
    u32* const d = a.d + base;
    const u32* const mask =
        NotInvariant(a.mask) == nullptr ? nullptr : a.mask + base;
    if constexpr (walk != Walk::kPacked &&
                  Is16(Describe<F>(nullptr, nullptr, 0).dst)) {
      for (u32 i = 0; i < kPiece; ++i)
        out[i] = out[i] << a.up | (d[i] & a.keep);
    }
    BlendPiece(d, out, mask);
    if constexpr (kWords == 2) BlendPiece(d + a.n, out + kPiece, mask);
  }
  if constexpr (kWords == 0 || IsWith<R>::value) return PackPiece(flag);
  else return 0;
}

template <auto F, auto Quick = nullptr, Walk walk = Walk::kStraight>
CERBERUS_EMU_INLINE void RunRow(const LaneArgs& a) {
  const Mode mode = *a.mode;
  u64 flags = 0;
#pragma clang loop unroll(disable)
  for (u32 base = 0; base < a.n; base += kPiece) {
    flags |= u64{RunPiece<F, Quick, walk>(a, mode, base)} << base;
  }
  if constexpr (Describe<F>(nullptr, nullptr, 0).flag) *a.flag = flags;
}

// What the handlers of valu.cc call, with modifiers around it.
template <auto F, auto Quick = nullptr, Walk walk = Walk::kStraight>
void LaneLoop(const LaneArgs& args) {
  const LaneArgs a = args;
  RunRow<F, Quick, walk == Walk::kPacked ? walk : Walk::kRolled>(a);
}

// Whether a call counts beside the work: elsewhere one loop is enough.
template <auto F, auto Quick, Walk walk>
constexpr bool IsShort() {
#ifdef __AVX2__
  constexpr Semantic kRow = Describe<F>(nullptr, nullptr, 0);
  if (walk == Walk::kRolled) return false;
  if (!std::is_null_pointer_v<decltype(Quick)>) return true;
  bool floats = false;
  for (const Type t : kRow.src) floats = floats || IsFloat(t);
  return kRow.dst == Type::kNone || !(floats || IsFloat(kRow.dst));
#else
  return false;
#endif
}

// The instruction without modifiers: its sources are registers or numbers as
// they are, or halves of them.
template <auto F, auto Quick = nullptr, Walk walk = Walk::kStraight>
void ExecRow(Wave& w, const Op& op) {
  constexpr Semantic kRow = Describe<F>(nullptr, nullptr, 0);
  constexpr u32 kCount = kRow.nsrc;
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[kCount][128];
  u64 flags = 0;
  LaneArgs a;
  a.n = w.lanes;
  a.mode = &w.mode;
  a.op = &op;
  a.flag = &flags;
  for (u32 k = 0; k < kCount; ++k) {
    a.s[k] = SourceRow(w, op.src[k], buffer[k]);
    if (Is16(kRow.src[k])) a.shift[k] = op.src[k].hi ? 16 : 0;
  }
  a.mask = w.LaneMask();
  if constexpr (kRow.dst != Type::kNone) {
    a.d = w.Vgpr(op.dst);
    if constexpr (walk != Walk::kPacked && Is16(kRow.dst)) {
      a.up = (op.flags & kFlagDstHi) != 0 ? 16 : 0;
      a.keep = (op.flags & kFlagDstHi) != 0      ? 0xffff
               : (op.flags & kFlagZeroHigh) != 0 ? 0
                                                 : 0xffff0000;
    }
  }
  if constexpr (IsShort<F, Quick, walk>()) RunRow<F, Quick, walk>(a);
  else LaneLoop<F, Quick, walk>(a);
  if constexpr (kRow.flag) WriteFlag(w, op, flags & w.Exec());
}

// v_pk_*_f32 without negation: the same on two rows each, the second of which
// does not read the first's result (PairsApart).
template <auto F, auto Quick>
void ExecPairs(Wave& w, const Op& op) {
  constexpr u32 kCount = Describe<F>(nullptr, nullptr, 0).nsrc;
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  alignas(64) u32 buffer[kCount][128];
  const u32* rows[kCount];
  LaneArgs a;
  a.n = w.lanes;
  a.mode = &w.mode;
  a.op = &op;
  for (u32 k = 0; k < kCount; ++k) {
    rows[k] = SourceRow(w, op.src[k], buffer[k]);
    a.s[k] = rows[k] + (op.src[k].hi ? a.n : 0);
  }
  a.mask = w.LaneMask();
  a.d = w.Vgpr(op.dst);
  RunRow<F, Quick>(a);
  for (u32 k = 0; k < kCount; ++k) {
    a.s[k] = rows[k] + (op.src[k].sel_hi ? a.n : 0);
  }
  a.d += a.n;
  RunRow<F, Quick>(a);
}

template <auto F>
constexpr Semantic Lanes(u32 flags = 0) {
  return Describe<F>(&LaneLoop<F>, &ExecRow<F>, flags);
}
template <auto F>
constexpr Semantic Transcendental() {
  return Describe<F>(&LaneLoop<F, nullptr, Walk::kRolled>,
                     &ExecRow<F, nullptr, Walk::kRolled>, kRowTrans);
}

// What the clamp bit does is the instruction's own: of integers it saturates.
template <auto F, auto Saturating>
constexpr Semantic Lanes2(u32 flags = 0) {
  Semantic s = Lanes<F>(flags);
  s.clamp = &LaneLoop<Saturating>;
  s.plain_clamp = &ExecRow<Saturating>;
  return s;
}

// VOP3P: the lambda is about one half.
template <auto F>
constexpr Semantic Packed(u32 flags = 0) {
  return Describe<F>(&LaneLoop<F, nullptr, Walk::kPacked>,
                     &ExecRow<F, nullptr, Walk::kPacked>, flags | kRowPacked);
}
template <auto F, auto Saturating>
constexpr Semantic Packed2(u32 flags = 0) {
  Semantic s = Packed<F>(flags);
  s.clamp = &LaneLoop<Saturating, nullptr, Walk::kPacked>;
  s.plain_clamp = &ExecRow<Saturating, nullptr, Walk::kPacked>;
  return s;
}

// Arithmetic whose result is a NaN whenever an operand is one (AddOp and the
// like in float_math.h): which NaN it is, is only looked after if there is one.
template <typename What>
struct OnHalves {
  template <typename... T> static H Quick(T... v) {
    return H{What::Quick(v.v...)};
  }
  template <typename... T> static H Exact(T... v) {
    return H{What::Exact(v.v...)};
  }
};
// `static`: the lambdas belong to the file, which is compiled once for each
// ISA.
template <typename What, typename... T>
static constexpr Semantic Arith(u32 flags = 0) {
  constexpr auto exact = [](T... v) { return What::Exact(v...); };
  constexpr auto quick = [](T... v) { return What::Quick(v...); };
  return Describe<exact>(&LaneLoop<exact, quick>, &ExecRow<exact, quick>,
                         flags);
}
template <typename What, typename... T>
static constexpr Semantic ArithPacked(u32 flags = 0) {
  constexpr auto exact = [](T... v) { return What::Exact(v...); };
  constexpr auto quick = [](T... v) { return What::Quick(v...); };
  return Describe<exact>(&LaneLoop<exact, quick, Walk::kPacked>,
                         &ExecRow<exact, quick, Walk::kPacked>,
                         flags | kRowPacked);
}
// Arithmetic on pairs of registers (v_pk_*_f32).
template <typename What, typename... T>
static constexpr Semantic ArithPairs() {
  constexpr auto exact = [](T... v) { return What::Exact(v...); };
  constexpr auto quick = [](T... v) { return What::Quick(v...); };
  return Describe<exact>(&LaneLoop<exact, quick>, &ExecPairs<exact, quick>,
                         kRowPacked32);
}

// A fused multiply-add of f16 (FmaHalfOp), which must know how the host rounds.
template <typename What, Walk walk = Walk::kStraight>
static constexpr Semantic FmaHalves(u32 flags = 0) {
  constexpr auto exact = [](const Cx& cx, H a, H b, H c) {
    return H{What::Exact(a.v, b.v, c.v, cx.mode.round64)};
  };
  constexpr auto quick = [](H a, H b, H c) {
    return H{What::Quick(a.v, b.v, c.v)};
  };
  return Describe<exact>(&LaneLoop<exact, quick, walk>,
                         &ExecRow<exact, quick, walk>,
                         flags | (walk == Walk::kPacked ? kRowPacked : 0));
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_LANE_LOOP_H_
