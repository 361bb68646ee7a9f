// How the meaning of an instruction is written down.
//
// A vector instruction is one lambda on the values of one lane:
//
//   {"v_lshl_add_u32", Lanes<[](u32 a, u32 b, u32 c) {
//      return (a << (b & 31)) + c; }>()}
//
// The lambda's types say what the operands are: u32, i32, float, u64, i64,
// double, u16, i16, H (f16), B (bf16), Pk (two 16-bit halves), bool (one bit
// of a lane mask). A first parameter of type `const Cx&` gives access to MODE
// and the lane number. From it the compiler makes a loop over the lanes that
// it can vectorise; decoding, modifiers, DPP, SDWA and EXEC are elsewhere
// (valu.cc), once for all. A scalar instruction is a lambda too (salu.cc).
#ifndef CERBERUS_EMULATOR_EXECUTE_SEMANTICS_H_
#define CERBERUS_EMULATOR_EXECUTE_SEMANTICS_H_

#include <span>
#include <type_traits>

#include "emulator/decode/op.h"
#include "emulator/execute/wave.h"
#include "emulator/vector/float16.h"

namespace cerberus::emulator {

struct LaneArgs {
  u32* d = nullptr;      // destination rows
  const u32* s[4] = {};  // source rows
  // All-ones where the lane's result is written; null: everywhere.
  const u32* mask = nullptr;
  u32 n = 32;  // lanes: 32 or 64
  const Mode* mode = nullptr;
  u32* flag = nullptr;  // per lane: carry-out or comparison, 0 or ~0
  const Op* op = nullptr;
};

// What a lambda may ask for beside its operands.
struct Cx {
  const Mode& mode;
  u32 lane;
  u32 lanes;
  const Op& op;
};

struct H {
  float v;
};  // f16 in f32
struct B {
  float v;
};  // bf16
struct Pk {
  u32 v;
};  // packed halves
// A result with a carry-out or flag per lane.
template <typename T>
struct With {
  T value;
  bool flag;
};

template <typename T>
constexpr Type TypeOf() {
  if constexpr (std::is_same_v<T, u32>) return Type::kB32;
  else if constexpr (std::is_same_v<T, i32>) return Type::kI32;
  else if constexpr (std::is_same_v<T, float>) return Type::kF32;
  else if constexpr (std::is_same_v<T, u64>) return Type::kB64;
  else if constexpr (std::is_same_v<T, i64>) return Type::kI64;
  else if constexpr (std::is_same_v<T, double>) return Type::kF64;
  else if constexpr (std::is_same_v<T, u16>) return Type::kB16;
  else if constexpr (std::is_same_v<T, i16>) return Type::kI16;
  else if constexpr (std::is_same_v<T, H>) return Type::kF16;
  else if constexpr (std::is_same_v<T, B>) return Type::kBf16;
  else if constexpr (std::is_same_v<T, Pk>) return Type::kPk16;
  else if constexpr (std::is_same_v<T, bool>) return Type::kMask;
  else return Type::kNone;
}

template <typename T>
struct IsWith : std::false_type {};
template <typename T>
struct IsWith<With<T>> : std::true_type {
  using Value = T;
};

// MODE as one pass over the lanes takes it: with what is known of it filled in
// as constants, so that the compiler drops the rest.
struct LaneMode : Mode {
  bool plain = false;    // f16: rounds to nearest, the host does too
  bool any_nan = false;  // NaNs need not keep their bits
};

// The host's conversions of f16 give the same bits as those of float16.h, but
// quiet NaNs, keep denormals and round as MXCSR says.
CERBERUS_EMU_INLINE H LoadHalf(u32 word, const LaneMode& mode) {
  const u16 h = static_cast<u16>(word);
  const bool flush = (mode.denorm64 & 1) == 0;
#ifdef __F16C__
  const u32 em = word & 0x7fff, sign = (word & 0x8000) << 16;
  u32 r = Bits(static_cast<float>(std::bit_cast<_Float16>(h)));
  if (!mode.any_nan) {
    r = em > 0x7c00 ? sign | ((em << 13) + (224u << 23)) : r;
  }
  r = flush && em < 0x400 ? sign : r;
  return H{F32(r)};
#else
  return H{HalfToFloat(h, flush)};
#endif
}

CERBERUS_EMU_INLINE u32 RoundToHalf(float v, const LaneMode& mode) {
  const bool flush = (mode.denorm64 & 2) == 0;
#ifdef __F16C__
  if (mode.plain) {
    const u32 r = std::bit_cast<u16>(static_cast<_Float16>(v));
    return flush && (r & 0x7c00) == 0 ? r & 0x8000 : r;
  }
#endif
  return FloatToHalf(v, mode.round64, flush);
}

// One of the 16-bit elements of packed rows.
template <typename T>
CERBERUS_EMU_INLINE T LoadElement(u16 h, const LaneMode& mode) {
  if constexpr (std::is_same_v<T, H>) return LoadHalf(h, mode);
  else return static_cast<T>(h);
}

template <typename T>
CERBERUS_EMU_INLINE T LoadLane(const u32* s, u32 i, u32 n,
                               const LaneMode& mode) {
  if constexpr (std::is_same_v<T, bool>) {
    return s[i] != 0;
  } else if constexpr (std::is_same_v<T, H>) {
    return LoadHalf(s[i], mode);
  } else if constexpr (std::is_same_v<T, B>) {
    return B{Bf16ToFloat(static_cast<u16>(s[i]))};
  } else if constexpr (std::is_same_v<T, Pk>) {
    return Pk{s[i]};
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(s[i] | static_cast<u64>(s[i + n]) << 32);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(s[i]);
  } else {
    return static_cast<T>(s[i]);
  }
}

CERBERUS_EMU_INLINE u32 ClampHalfOverflow(const Mode& mode, u32 h,
                                          bool finite) {
  return mode.fp16_ovfl && finite && (h & 0x7fff) == 0x7c00
             ? (h & 0x8000) | 0x7bff
             : h;
}

// Puts a lane's result into rows of its own, which alias nothing.
template <typename T>
CERBERUS_EMU_INLINE void PutLane(u32* out, u32 i, u32 n, T v,
                                 const LaneMode& mode) {
  if constexpr (sizeof(T) == 8) {
    const u64 b = std::bit_cast<u64>(v);
    out[i] = static_cast<u32>(b);
    out[i + n] = static_cast<u32>(b >> 32);
  } else if constexpr (std::is_same_v<T, H>) {
    const u32 b = RoundToHalf(v.v, mode);
    out[i] = ClampHalfOverflow(mode, b, v.v - v.v == 0);
  } else if constexpr (std::is_same_v<T, B>) {
    out[i] = FloatToBf16(v.v);
  } else if constexpr (std::is_same_v<T, Pk>) {
    out[i] = v.v;
  } else if constexpr (sizeof(T) == 4) {
    out[i] = std::bit_cast<u32>(v);
  } else {
    out[i] = static_cast<std::make_unsigned_t<T>>(v);
  }
}

template <typename T>
CERBERUS_EMU_INLINE u16 ElementBits(T v, const LaneMode& mode) {
  if constexpr (std::is_same_v<T, H>) {
    const u32 b = RoundToHalf(v.v, mode);
    return static_cast<u16>(ClampHalfOverflow(mode, b, v.v - v.v == 0));
  } else {
    return static_cast<u16>(v);
  }
}

// Copies 32 or 64 words, in sizes that need no call.
CERBERUS_EMU_INLINE void CopyRow(void* d, const void* from, u32 n) {
  if (n == 64) std::memcpy(d, from, 256);
  else std::memcpy(d, from, 128);
}

// Copies the lanes of `mask`, or all; the rows never overlap.
CERBERUS_EMU_INLINE void BlendRow(u32* __restrict d, const u32* __restrict out,
                                  const u32* __restrict mask, u32 n) {
  if (mask == nullptr) {
    CopyRow(d, out, n);
    return;
  }
  for (u32 i = 0; i < n; ++i) d[i] = (out[i] & mask[i]) | (d[i] & ~mask[i]);
}

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
    return F(LoadLane<A>(a.s[I], i, n, mode)...);
  }
  template <auto F, std::size_t... I>
  static R CallPacked(const u16 (*rows)[128], const Op&, const LaneMode& mode,
                      u32 i, u32, std::index_sequence<I...>) {
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
    return F(Cx{mode, i, n, *a.op}, LoadLane<A>(a.s[I], i, n, mode)...);
  }
  template <auto F, std::size_t... I>
  static R CallPacked(const u16 (*rows)[128], const Op& op,
                      const LaneMode& mode, u32 i, u32 n,
                      std::index_sequence<I...>) {
    return F(Cx{mode, i / 2, n, op}, LoadElement<A>(rows[I][i], mode)...);
  }
};

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

// One pass over the lanes. False if `F`, being the quick way of an
// instruction, is not to be believed: a result is a NaN.
template <auto F, bool quick, bool plain>
CERBERUS_EMU_INLINE bool RunLanes(const LaneArgs& a, const Mode& m, u32 n,
                                  u32* out, u32* flag) {
  using Sig = LaneSig<decltype(+F)>;
  using R = typename Sig::Result;
  const LaneMode mode = Known<plain, quick>(m);
  u32 nans = 0;
  for (u32 i = 0; i < n; ++i) {
    const R r = Sig::template Call<F>(a, mode, i, n);
    if constexpr (quick) nans |= IsNanResult(r) ? 1u : 0u;
    if constexpr (std::is_same_v<R, bool>) {
      flag[i] = r ? ~0u : 0u;
    } else if constexpr (IsWith<R>::value) {
      flag[i] = r.flag ? ~0u : 0u;
      PutLane(out, i, n, r.value, mode);
    } else {
      PutLane(out, i, n, r, mode);
    }
  }
  return nans == 0;
}

// The same on both halves of every word (VOP3P): on twice as many elements,
// whose order does not matter.
template <auto F, bool quick, bool plain>
CERBERUS_EMU_INLINE bool RunHalves(const LaneArgs& a, const Mode& m, u32 n,
                                   u32* out, u32*) {
  using Sig = LaneSig<decltype(+F)>;
  constexpr int kCount = Sig::kCount;
  const LaneMode mode = Known<plain, quick>(m);
  alignas(64) u16 rows[kCount][128];
  alignas(64) u16 result[128];
  for (int k = 0; k < kCount; ++k) CopyRow(rows[k], a.s[k], n);
  u32 nans = 0;
  for (u32 i = 0; i < 2 * n; ++i) {
    const auto r = Sig::template CallPacked<F>(
        rows, *a.op, mode, i, n, std::make_index_sequence<kCount>());
    if constexpr (quick) nans |= IsNanResult(r) ? 1u : 0u;
    result[i] = ElementBits(r, mode);
  }
  CopyRow(out, result, n);
  return nans == 0;
}

template <auto F, bool quick, bool plain, bool packed>
CERBERUS_EMU_INLINE bool RunPass(const LaneArgs& a, const Mode& m, u32 n,
                                 u32* out, u32* flag) {
  if constexpr (packed) return RunHalves<F, quick, plain>(a, m, n, out, flag);
  else return RunLanes<F, quick, plain>(a, m, n, out, flag);
}

// The results go to rows of their own first: a destination may be a source
// too, and the compiler vectorises a loop only if it sees that its stores
// change none of its loads.
template <auto F, auto Quick = nullptr, bool packed = false>
void LaneLoop(const LaneArgs& args) {
  using Sig = LaneSig<decltype(+F)>;
  using R = typename Sig::Result;
  constexpr bool kQuick = !std::is_null_pointer_v<decltype(Quick)>;
  const LaneArgs a = args;
  const Mode mode = *args.mode;
  const u32 n = a.n;
  __builtin_assume(n == 32 || n == 64);
  alignas(64) u32 out[128];
  alignas(64) u32 flag[64];
  constexpr bool kFlagOnly = std::is_same_v<R, bool>;
  bool done = false;
  if constexpr (UsesHalves<F>()) {
    if (PlainHalves(mode)) {
      if constexpr (kQuick) {
        done = RunPass<Quick, true, true, packed>(a, mode, n, out, flag);
      } else {
        done = RunPass<F, false, true, packed>(a, mode, n, out, flag);
      }
    }
  } else if constexpr (kQuick) {
    done = RunPass<Quick, true, false, packed>(a, mode, n, out, flag);
  }
  if (!done) RunPass<F, false, false, packed>(a, mode, n, out, flag);
  if constexpr (kFlagOnly || IsWith<R>::value) {
    CopyRow(a.flag, flag, n);
  }
  if constexpr (!kFlagOnly) {
    BlendRow(a.d, out, a.mask, n);
    constexpr bool kWide = [] {
      if constexpr (IsWith<R>::value) {
        return sizeof(typename IsWith<R>::Value) == 8;
      } else {
        return sizeof(R) == 8;
      }
    }();
    if constexpr (kWide) BlendRow(a.d + n, out + n, a.mask, n);
  }
}

// What decode.cc must know of an instruction.
struct Semantic {
  LaneFn fn = nullptr;
  LaneFn clamp = nullptr;     // saturating variant of an integer instruction
  Handler handler = nullptr;  // instructions with a handler of their own
  Type dst = Type::kNone;
  bool flag = false;  // writes a lane mask
  Type src[4] = {};
  u8 nsrc = 0;
  Env env = Env::kNone;
  OpClass klass = OpClass::kValu;
  u32 flags = 0;
};

enum RowFlags : u32 {
  kRowTied = 1,       // last source is the old destination
  kRowPacked = 2,     // VOP3P on two halves
  kRowPacked32 = 4,   // v_pk_*_f32
  kRowMix = 8,        // v_fma_mix*
  kRowHighHalf = 16,  // writes the upper half (mixhi)
  kRowCmpx = 32,
  kRowPreserve = 64,  // gfx9 keeps the upper half too
  kRowTrans = 128,
  kRowVccIn = 256,  // reads VCC although the text does not show it
  kRowRaw = 512,    // the handler reads its operands itself
  kRowNoMods = 1024,
};

// What the operands and the result of a lambda say.
template <auto F>
constexpr Semantic Describe(LaneFn fn, u32 flags) {
  using Sig = LaneSig<decltype(+F)>;
  using R = typename Sig::Result;
  Semantic s;
  s.fn = fn;
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

template <auto F>
constexpr Semantic Lanes(u32 flags = 0) {
  return Describe<F>(&LaneLoop<F>, flags);
}

// An integer instruction whose clamp bit saturates.
template <auto F, auto Saturating>
constexpr Semantic Lanes2(u32 flags = 0) {
  Semantic s = Lanes<F>(flags);
  s.clamp = &LaneLoop<Saturating>;
  return s;
}

// VOP3P: the lambda is about one half.
template <auto F>
constexpr Semantic Packed(u32 flags = 0) {
  return Describe<F>(&LaneLoop<F, nullptr, true>, flags | kRowPacked);
}
template <auto F, auto Saturating>
constexpr Semantic Packed2(u32 flags = 0) {
  Semantic s = Packed<F>(flags);
  s.clamp = &LaneLoop<Saturating, nullptr, true>;
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
// `static`: the lambdas belong to the file, which is compiled for two ISAs.
template <typename What, typename... T>
static constexpr Semantic Arith(u32 flags = 0) {
  constexpr auto exact = [](T... v) { return What::Exact(v...); };
  constexpr auto quick = [](T... v) { return What::Quick(v...); };
  return Describe<exact>(&LaneLoop<exact, quick>, flags);
}
template <typename What, typename... T>
static constexpr Semantic ArithPacked(u32 flags = 0) {
  constexpr auto exact = [](T... v) { return What::Exact(v...); };
  constexpr auto quick = [](T... v) { return What::Quick(v...); };
  return Describe<exact>(&LaneLoop<exact, quick, true>, flags | kRowPacked);
}

// A fused multiply-add of f16 (FmaHalfOp), which must know how the host rounds.
template <typename What, bool packed = false>
static constexpr Semantic FmaHalves(u32 flags = 0) {
  constexpr auto exact = [](const Cx& cx, H a, H b, H c) {
    return H{What::Exact(a.v, b.v, c.v, cx.mode.round64)};
  };
  constexpr auto quick = [](H a, H b, H c) {
    return H{What::Quick(a.v, b.v, c.v)};
  };
  return Describe<exact>(&LaneLoop<exact, quick, packed>,
                         flags | (packed ? kRowPacked : 0));
}

struct Row {
  const char* name;
  Semantic semantic;
};

// The tables, one per file; `v3` variants are compiled for AVX2 and FMA.
std::span<const Row> SaluRows();
std::span<const Row> SaluFlowRows();
std::span<const Row> GwsRows();
std::span<const Row> CrossLaneRows();
namespace base {
std::span<const Row> ValuIntRows();
std::span<const Row> ValuFloatRows();
std::span<const Row> ValuCompareRows();
std::span<const Row> ValuConvertRows();
std::span<const Row> ValuPackedRows();
}  // namespace base
namespace v3 {
std::span<const Row> ValuIntRows();
std::span<const Row> ValuFloatRows();
std::span<const Row> ValuCompareRows();
std::span<const Row> ValuConvertRows();
std::span<const Row> ValuPackedRows();
}  // namespace v3

// The row of a mnemonic (without encoding suffix), or null.
const Semantic* FindSemantic(std::string_view mnemonic, Gen gen);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_EXECUTE_SEMANTICS_H_
