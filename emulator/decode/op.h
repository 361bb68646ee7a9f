// A decoded instruction: what the interpreter executes.
//
// LLVM's disassembler turns the bytes into text once; decode.cc turns the text
// into an Op with resolved operands and a handler. The Ops of a code object
// stand in a table with one slot per 32-bit word of .text, so that a branch is
// an addition; a slot is decoded when it is first executed.
#ifndef CERBERUS_EMULATOR_DECODE_OP_H_
#define CERBERUS_EMULATOR_DECODE_OP_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace cerberus::emulator {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

struct Wave;
struct Op;
using Handler = void (*)(Wave& wave, const Op& op);

// Scalar registers stand in one array. VCC, M0 and EXEC have the slots that
// their encodings name (RDNA3 ISA, section 3.4); the rest is ours.
enum Slot : u16 {
  kVcc = 106,
  kTtmp = 108,
  kM0 = 124,
  kNull = 125,  // reads as 0, never written
  kExec = 126,
  kSink = 128,  // where writes to null go; up to 16 registers
  kScc = 144,   // src_scc as an operand is read from Wave::scc
  kVccz = 145,
  kExecz = 146,
  kFlatScratch = 148,  // gfx9 and gfx10: flat_scratch lo, hi
  kXnackMask = 150,
  kSharedBase = 152,  // 64-bit constants, filled when the wave starts
  kSharedLimit = 154,
  kPrivateBase = 156,
  kPrivateLimit = 158,
  kPops = 160,
  kNumSlots = 176,
};

enum class Kind : u8 { kNone, kVgpr, kSgpr, kImm };

// What an instruction reads or writes as one operand.
enum class Type : u8 {
  kNone,
  kB32,
  kI32,
  kF32,
  kB64,
  kI64,
  kF64,
  kB16,
  kI16,
  kF16,
  kBf16,
  kPk16,  // two 16-bit halves, taken as they are
  kMask,  // one bit per lane, in a scalar register or pair
  kWide,  // more than two registers; the handler knows
};

constexpr int TypeRegs(Type t) {
  return t == Type::kB64 || t == Type::kI64 || t == Type::kF64 ? 2 : 1;
}
constexpr bool Is16(Type t) {
  return t == Type::kB16 || t == Type::kI16 || t == Type::kF16 ||
         t == Type::kBf16;
}
constexpr bool IsFloat(Type t) {
  return t == Type::kF16 || t == Type::kF32 || t == Type::kF64 ||
         t == Type::kBf16;
}

// Sub-dword selections of SDWA (GFX9 ISA, section 6.4).
enum Sel : u8 { kByte0, kByte1, kByte2, kByte3, kWord0, kWord1, kDword };

struct Operand {
  Kind kind = Kind::kNone;
  Type type = Type::kNone;
  u8 regs = 1;  // registers named in the text
  u8 sdwa = kDword;
  u16 reg = 0;           // VGPR: 0-255, AGPR: 256-511, SGPR: a Slot
  bool neg : 1 = false;  // VOP3P: neg_lo
  bool abs : 1 = false;
  bool neg_hi : 1 = false;  // VOP3P
  bool sext : 1 = false;
  bool hi : 1 = false;      // 16-bit operand in the upper half; VOP3P: op_sel
  bool sel_hi : 1 = false;  // VOP3P: op_sel_hi
  bool half : 1 = false;    // hi or low half alone: .h, .l in the text
  u64 imm = 0;
  const u32* row = nullptr;  // kImm: the value in every lane

  bool vgpr() const { return kind == Kind::kVgpr; }
  bool sgpr() const { return kind == Kind::kSgpr; }
};

enum class DppKind : u8 {
  kNone,
  kQuadPerm,
  kRowShl,
  kRowShr,
  kRowRor,
  kWaveShl,
  kWaveRol,
  kWaveShr,
  kWaveRor,
  kRowMirror,
  kRowHalfMirror,
  kRowBcast15,
  kRowBcast31,
  kRowShare,
  kRowXmask,
  kRowNewBcast,
  kDpp8,
};

// Controls that only some instructions have.
struct Dpp {
  DppKind kind = DppKind::kNone;
  u8 amount = 0;
  std::array<u8, 8> sel = {};
  u8 row_mask = 0xf, bank_mask = 0xf;
  bool bound_ctrl = false, fi = false;
  // From these, by PrepareDpp:
  std::array<u32, 64> source = {};
  u64 valid = 0;       // lanes that have a source
  u64 written = 0;     // lanes that the masks let through
  bool zeros = false;  // a lane without a valid source gets 0
};

struct LaneArgs;
using LaneFn = void (*)(const LaneArgs& args);

// Which part of MODE an instruction's arithmetic obeys; kNearest: rounds to
// nearest and keeps denormals whatever MODE says.
enum class Env : u8 { kNone, kF32, kF64, kNearest };

enum OpFlags : u32 {
  kFlagDpp = 1,
  kFlagSdwa = 2,
  kFlagClamp = 4,
  kFlagPacked = 8,
  kFlagZeroHigh = 16,    // 16-bit result clears the upper half (gfx9)
  kFlagWritesExec = 32,  // v_cmpx
  kFlagDstHi = 64,
  kFlagMix = 128,
  kFlagEnds = 256,      // straight-line decoding stops here
  kFlagClampInt = 512,  // the handler saturates by itself
  kFlagSdwaPreserve = 1024,
  kFlagSdwaSext = 2048,
  kFlagGlc = 4096,
  kFlagPacked32 = 8192,  // v_pk_*_f32
  kFlagVopd = 1 << 14,
  kFlagTied = 1 << 15,  // the last source is the destination's old value
  kFlagLds = 1 << 16,   // loads straight to LDS
  kFlagOffen = 1 << 17,
  kFlagIdxen = 1 << 18,
  kFlagLegacyClamp = 1 << 19,
  kFlagPlain = 1 << 20,  // the handler is the row's own (lane_loop.h)
  // Loads that write, and stores that read, half of a register.
  kFlagLowHalf = 1 << 21,
  kFlagHighHalf = 1 << 22,
};

// Classes for the counters of CERBERUS_EMU_STATS.
enum class OpClass : u8 {
  kSalu,
  kValu,
  kValuF64,
  kTranscendental,
  kVopd,
  kMatrix,
  kSmem,
  kLoad,
  kStore,
  kAtomic,  // global memory, by global_ and buffer_
  kFlat,
  kScratch,
  kLds,
  kBranch,
  kWait,
  kBarrier,
  kSync,
  kOther,
  kCount,
};
// Instructions that every active lane executes.
inline bool IsVector(OpClass c) {
  return (c >= OpClass::kValu && c <= OpClass::kMatrix) ||
         (c >= OpClass::kLoad && c <= OpClass::kLds);
}

// Counters a result is waited for with.
enum class Wait : u8 { kNone, kVm, kLgkmSmem, kLgkmLds, kFlat, kVs };

// A set of registers, what tells most instructions from those that may touch
// a pending result. AGPRs share bits with VGPRs, and some scalar registers with
// others.
struct RegisterSet {
  std::array<u64, 5> bits = {};

  void Add(bool vgpr, u32 reg) {
    const u32 bit = vgpr ? reg & 255 : 256 + (reg & 63);
    bits[bit / 64] |= u64{1} << (bit % 64);
  }
  void Add(const RegisterSet& o) {
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= o.bits[i];
  }
  bool Meets(const RegisterSet& o) const {
    u64 both = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) both |= bits[i] & o.bits[i];
    return both != 0;
  }
};

// What most instructions need stands in the first three lines of the cache.
struct alignas(64) Op {
  // Null until decoded; written last, with release order.
  std::atomic<Handler> handler{nullptr};
  LaneFn fn = nullptr;
  Handler first = nullptr;     // VOPD: the X half, if it may run before Y
  const Op* second = nullptr;  // VOPD: the Y half
  const void* data = nullptr;  // the handler's own
  u32 flags = 0;
  u32 aux = 0;
  i32 offset = 0;  // memory offset, branch distance in words
  u32 hazard = 0;  // CDNA's wait states (hazards.cc)
  u8 dwords = 1;
  u8 nsrc = 0;
  u8 omod = 0;  // 1: *2, 2: *4, 3: /2
  Env env = Env::kNone;
  OpClass klass = OpClass::kOther;
  Wait wait = Wait::kNone;
  u8 aux0 = 0, aux1 = 0;  // the handler's own
  Operand dst;
  std::array<Operand, 4> src;
  Operand sdst;
  const Dpp* dpp = nullptr;
  RegisterSet touches;  // its registers (pending.cc)

  // Everything but the handler.
  void CopyFrom(const Op& o) {
    fn = o.fn;
    flags = o.flags;
    dwords = o.dwords;
    nsrc = o.nsrc;
    omod = o.omod;
    env = o.env;
    klass = o.klass;
    wait = o.wait;
    aux0 = o.aux0;
    aux1 = o.aux1;
    aux = o.aux;
    offset = o.offset;
    dpp = o.dpp;
    second = o.second;
    first = o.first;
    data = o.data;
    hazard = o.hazard;
    touches = o.touches;
    dst = o.dst;
    sdst = o.sdst;
    src = o.src;
  }
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DECODE_OP_H_
