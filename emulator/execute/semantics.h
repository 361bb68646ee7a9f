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
  u32 shift[4] = {};     // 16-bit sources: 16 for the upper half
  // All-ones where the lane's result is written; null: everywhere.
  const u32* mask = nullptr;
  u32 n = 32;  // lanes: 32 or 64
  const Mode* mode = nullptr;
  u64* flag = nullptr;  // carry-outs or comparisons, a bit for each lane
  const Op* op = nullptr;
  // 16-bit results: how far up they go, and what stays of the destination.
  u32 up = 0, keep = 0;
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
CERBERUS_EMU_INLINE T LoadLane(const u32* s, u32 i, u32 n, u32 shift,
                               const LaneMode& mode) {
  if constexpr (std::is_same_v<T, bool>) {
    return s[i] != 0;
  } else if constexpr (std::is_same_v<T, H>) {
    return LoadHalf(s[i] >> shift, mode);
  } else if constexpr (std::is_same_v<T, B>) {
    return B{Bf16ToFloat(static_cast<u16>(s[i] >> shift))};
  } else if constexpr (std::is_same_v<T, Pk>) {
    return Pk{s[i]};
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(s[i] | static_cast<u64>(s[i + n]) << 32);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(s[i]);
  } else {
    return static_cast<T>(s[i] >> shift);
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

// What decode.cc must know of an instruction.
struct Semantic {
  LaneFn fn = nullptr;
  LaneFn clamp = nullptr;     // what it is with the clamp bit, if not to [0, 1]
  Handler handler = nullptr;  // instructions with a handler of their own
  Handler plain = nullptr;    // the instruction without modifiers
  Handler plain_clamp = nullptr;
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

struct Row {
  const char* name;
  Semantic semantic;
};

// The tables, one per file; those of the lane loops for each ISA of the host.
std::span<const Row> SaluRows();
std::span<const Row> SaluFlowRows();
std::span<const Row> GwsRows();
std::span<const Row> CrossLaneRows();
#define CERBERUS_EMU_ROWS(isa)            \
  namespace isa {                         \
  std::span<const Row> ValuIntRows();     \
  std::span<const Row> ValuFloatRows();   \
  std::span<const Row> ValuCompareRows(); \
  std::span<const Row> ValuConvertRows(); \
  std::span<const Row> ValuPackedRows();  \
  }
CERBERUS_EMU_ROWS(base)  // any x86-64
CERBERUS_EMU_ROWS(v3)    // AVX2, FMA, F16C
CERBERUS_EMU_ROWS(v4)    // AVX-512 as in x86-64-v4
#undef CERBERUS_EMU_ROWS

// The row of a mnemonic (without encoding suffix), or null.
const Semantic* FindSemantic(std::string_view mnemonic, Gen gen);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_EXECUTE_SEMANTICS_H_
