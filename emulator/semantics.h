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
#ifndef CERBERUS_EMULATOR_SEMANTICS_H_
#define CERBERUS_EMULATOR_SEMANTICS_H_

#include <span>
#include <type_traits>

#include "emulator/float16.h"
#include "emulator/op.h"
#include "emulator/wave.h"

namespace cerberus::emulator {

struct LaneArgs {
  u32* d = nullptr;         // destination rows
  const u32* s[4] = {};     // source rows
  const u32* mask = nullptr;  // all-ones where the lane's result is written
  u32 n = 32;               // lanes: 32 or 64
  const Mode* mode = nullptr;
  u32* flag = nullptr;      // per lane: carry-out or comparison, 0 or ~0
  const Op* op = nullptr;
};

// What a lambda may ask for beside its operands.
struct Cx {
  const Mode& mode;
  u32 lane;
  u32 lanes;
  const Op& op;
};

struct H { float v; };    // f16 in f32
struct B { float v; };    // bf16
struct Pk { u32 v; };     // packed halves
// A result with a carry-out or flag per lane.
template <typename T>
struct With { T value; bool flag; };

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

template <typename T>
CERBERUS_EMU_INLINE T LoadLane(const u32* s, u32 i, u32 n, const Mode& mode) {
  if constexpr (std::is_same_v<T, bool>) {
    return s[i] != 0;
  } else if constexpr (std::is_same_v<T, H>) {
    return H{HalfToFloat(static_cast<u16>(s[i]), (mode.denorm64 & 1) == 0)};
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
                                 const Mode& mode) {
  if constexpr (sizeof(T) == 8) {
    const u64 b = std::bit_cast<u64>(v);
    out[i] = static_cast<u32>(b);
    out[i + n] = static_cast<u32>(b >> 32);
  } else if constexpr (std::is_same_v<T, H>) {
    const u32 b = FloatToHalf(v.v, mode.round64, (mode.denorm64 & 2) == 0);
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

// Copies the lanes of `mask`; the rows never overlap.
CERBERUS_EMU_INLINE void BlendRow(u32* __restrict d,
                                  const u32* __restrict out,
                                  const u32* __restrict mask, u32 n) {
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
  static R Call(const LaneArgs& a, const Mode& mode, u32 i, u32 n) {
    return CallWith<F>(a, mode, i, n,
                       std::make_index_sequence<sizeof...(A)>());
  }
  template <auto F, std::size_t... I>
  static R CallWith(const LaneArgs& a, const Mode& mode, u32 i, u32 n,
                    std::index_sequence<I...>) {
    return F(LoadLane<A>(a.s[I], i, n, mode)...);
  }
};
template <typename R, typename... A>
struct LaneSig<R (*)(const Cx&, A...)> {
  using Result = R;
  static constexpr int kCount = sizeof...(A);
  static constexpr Type kTypes[5] = {TypeOf<A>()...};
  template <auto F>
  static R Call(const LaneArgs& a, const Mode& mode, u32 i, u32 n) {
    return CallWith<F>(a, mode, i, n,
                       std::make_index_sequence<sizeof...(A)>());
  }
  template <auto F, std::size_t... I>
  static R CallWith(const LaneArgs& a, const Mode& mode, u32 i, u32 n,
                    std::index_sequence<I...>) {
    return F(Cx{mode, i, n, *a.op}, LoadLane<A>(a.s[I], i, n, mode)...);
  }
};

// The results go to rows of their own first: a destination may be a source
// too, and the compiler vectorises a loop only if it sees that its stores
// change none of its loads.
template <auto F>
void LaneLoop(const LaneArgs& args) {
  using Sig = LaneSig<decltype(+F)>;
  using R = typename Sig::Result;
  const LaneArgs a = args;
  const Mode mode = *args.mode;
  const u32 n = a.n;
  __builtin_assume(n == 32 || n == 64);
  alignas(64) u32 out[128];
  alignas(64) u32 flag[64];
  constexpr bool kFlagOnly = std::is_same_v<R, bool>;
  for (u32 i = 0; i < n; ++i) {
    const R r = Sig::template Call<F>(a, mode, i, n);
    if constexpr (kFlagOnly) {
      flag[i] = r ? ~0u : 0u;
    } else if constexpr (IsWith<R>::value) {
      flag[i] = r.flag ? ~0u : 0u;
      PutLane(out, i, n, r.value, mode);
    } else {
      PutLane(out, i, n, r, mode);
    }
  }
  if constexpr (kFlagOnly || IsWith<R>::value) {
    std::memcpy(a.flag, flag, n * sizeof(u32));
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
  LaneFn clamp = nullptr;  // saturating variant of an integer instruction
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
  kRowVccIn = 256,    // reads VCC although the text does not show it
  kRowRaw = 512,      // the handler reads its operands itself
  kRowNoMods = 1024,
};

template <auto F>
constexpr Semantic Lanes(u32 flags = 0) {
  using Sig = LaneSig<decltype(+F)>;
  using R = typename Sig::Result;
  Semantic s;
  s.fn = &LaneLoop<F>;
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
  s.flags = flags;
  return s;
}

// An integer instruction whose clamp bit saturates.
template <auto F, auto Saturating>
constexpr Semantic Lanes2(u32 flags = 0) {
  Semantic s = Lanes<F>(flags);
  s.clamp = &LaneLoop<Saturating>;
  return s;
}

struct Row {
  const char* name;
  Semantic semantic;
};

// The tables, one per file; `v3` variants are compiled for AVX2 and FMA.
std::span<const Row> SaluRows();
std::span<const Row> SaluFlowRows();
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

#endif  // CERBERUS_EMULATOR_SEMANTICS_H_
