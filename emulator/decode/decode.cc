#include "emulator/decode/decode.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <charconv>
#include <cstdlib>
#include <new>

#include "emulator/device/launch.h"
#include "emulator/execute/hazards.h"
#include "emulator/execute/semantics.h"
#include "emulator/vector/float16.h"
#include "emulator/vector/valu.h"

namespace cerberus::emulator {
namespace {

// Slots behind the end of the code: a branch of one word more never leaves
// the table, and running off the end is a fault.
constexpr std::size_t kSlack = 8;

struct SpecialRegister {
  std::string_view name;
  u16 slot;
};

constexpr SpecialRegister kSpecial[] = {
    {"vcc", kVcc},
    {"vcc_lo", kVcc},
    {"vcc_hi", kVcc + 1},
    {"exec", kExec},
    {"exec_lo", kExec},
    {"exec_hi", kExec + 1},
    {"m0", kM0},
    {"null", kNull},
    {"scc", kScc},
    {"src_scc", kScc},
    {"vccz", kVccz},
    {"src_vccz", kVccz},
    {"execz", kExecz},
    {"src_execz", kExecz},
    {"flat_scratch", kFlatScratch},
    {"flat_scratch_lo", kFlatScratch},
    {"flat_scratch_hi", kFlatScratch + 1},
    {"xnack_mask", kXnackMask},
    {"xnack_mask_lo", kXnackMask},
    {"xnack_mask_hi", kXnackMask + 1},
    {"src_shared_base", kSharedBase},
    {"src_shared_limit", kSharedLimit},
    {"src_private_base", kPrivateBase},
    {"src_private_limit", kPrivateLimit},
    {"src_pops_exiting_wave_id", kPops},
    {"src_shared_base_lo", kSharedBase},
    {"src_shared_base_hi", kSharedBase + 1},
    {"src_shared_limit_lo", kSharedLimit},
    {"src_shared_limit_hi", kSharedLimit + 1},
    {"src_private_base_lo", kPrivateBase},
    {"src_private_base_hi", kPrivateBase + 1},
    {"src_private_limit_lo", kPrivateLimit},
    {"src_private_limit_hi", kPrivateLimit + 1},
};

// A float as LLVM prints inline constants, to the bits of the operand's type.
u64 FloatBits(double v, std::string_view text, Type type) {
  const bool inverse_pi = text.starts_with("0.159");
  switch (type) {
    case Type::kF64:
    case Type::kB64:
    case Type::kI64: return inverse_pi ? 0x3fc45f306dc9c882 : Bits(v);
    case Type::kF16:
    case Type::kB16:
    case Type::kI16:
    case Type::kPk16: return inverse_pi ? 0x3118 : DoubleToHalf(v, kNearest);
    case Type::kBf16:
      return inverse_pi ? 0x3e23 : FloatToBf16(static_cast<float>(v));
    default: return inverse_pi ? 0x3e22f983 : Bits(static_cast<float>(v));
  }
}

u64 IntBits(i64 v, bool hex, Type type) {
  switch (type) {
    case Type::kF64:
      // A 32-bit literal is the upper half of a double.
      return hex && static_cast<u64>(v) >> 32 == 0 ? static_cast<u64>(v) << 32
                                                   : static_cast<u64>(v);
    case Type::kI64:
      return hex && static_cast<u64>(v) >> 32 == 0
                 ? static_cast<u64>(static_cast<i64>(static_cast<i32>(v)))
                 : static_cast<u64>(v);
    case Type::kB64: return static_cast<u64>(v);
    default: return static_cast<u32>(v);
  }
}

// "12" or "12:15" to first and count.
bool ParseRange(std::string_view s, unsigned limit, u16* first, u8* count) {
  i64 a = 0, b = 0;
  const std::size_t colon = s.find(':');
  if (!ParseInt(s.substr(0, colon), &a)) return false;
  b = a;
  if (colon != std::string_view::npos && !ParseInt(s.substr(colon + 1), &b)) {
    return false;
  }
  if (a < 0 || b < a || b >= static_cast<i64>(limit) || b - a >= 32) {
    return false;
  }
  *first = static_cast<u16>(a);
  *count = static_cast<u8>(b - a + 1);
  return true;
}

}  // namespace

void ExecIllegal(Wave&, const Op&) { Throw("illegal instruction"); }
void ExecUnimplemented(Wave&, const Op&) {
  Throw("instruction is not implemented by the emulator");
}

Program::Program(std::uint64_t begin, std::uint64_t end, Gen gen, u32 lanes,
                 std::unique_ptr<Disassembler> disassembler)
    : begin_(begin),
      end_(end),
      gen_(gen),
      lanes_(lanes),
      disassembler_(std::move(disassembler)) {
  slots_ = (end - begin + 3) / 4 + kSlack;
  // Zero pages: an Op of zero bytes is an undecoded one, and only the pages
  // of executed code are ever touched.
  mapped_ = AlignUp(slots_ * sizeof(Op), 4096);
  void* map = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  ops_ = static_cast<Op*>(map);
}

Program::~Program() { munmap(ops_, mapped_); }

std::string Program::Disassemble(std::uint64_t address, std::uint32_t* size) {
  *size = 4;
  if (address >= end_) return "";
  // LLVM crashes on an instruction whose literal is cut off, so it is always
  // given room for the longest one.
  std::uint8_t bytes[24] = {};
  const std::uint64_t room = std::min<std::uint64_t>(end_ - address, 20);
  std::memcpy(bytes, reinterpret_cast<const void*>(address), room);
  const std::string text = disassembler_->Decode(ByteSpan(bytes, sizeof bytes),
                                                 address - begin_, size);
  if (*size > room) {
    *size = 4;
    return "";
  }
  return text;
}

std::string Program::TextAt(std::uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::uint32_t size = 0;
  return Disassemble(address, &size);
}

const u32* Program::ConstantRow(u64 value, bool wide) {
  auto& row = constants_[{value, wide}];
  if (row == nullptr) {
    row = std::make_unique<u32[]>(128);
    for (u32 i = 0; i < lanes_; ++i) {
      row[i] = static_cast<u32>(value);
      row[lanes_ + i] = static_cast<u32>(value >> 32);
    }
  }
  return row.get();
}

Operand Program::ParseOperand(std::string_view s, Type type) {
  Operand o;
  o.type = type;
  for (bool more = true; more;) {
    more = false;
    const auto unwrap = [&](std::string_view open, std::string_view close) {
      if (!s.starts_with(open) || !s.ends_with(close) ||
          s.size() < open.size() + close.size()) {
        return false;
      }
      s.remove_prefix(open.size());
      s.remove_suffix(close.size());
      return more = true;
    };
    if (unwrap("neg(", ")")) o.neg = !o.neg;
    else if (unwrap("abs(", ")") || unwrap("|", "|")) o.abs = true;
    else if (unwrap("sext(", ")")) o.sext = true;
    else if (unwrap("lit(", ")") || unwrap("lit64(", ")")) {
    } else if (s.size() > 1 && s[0] == '-' && !(s[1] >= '0' && s[1] <= '9')) {
      o.neg = !o.neg;
      s.remove_prefix(1);
      more = true;
    }
  }
  if (s.ends_with(".l") || s.ends_with(".h")) {
    o.half = true;
    o.hi = s.back() == 'h';
    s.remove_suffix(2);
  }
  const auto bank = [&](std::string_view prefix, unsigned limit, u16 base,
                        Kind kind) {
    if (!s.starts_with(prefix) || s.size() <= prefix.size()) return false;
    std::string_view rest = s.substr(prefix.size());
    if (rest.front() == '[' && rest.back() == ']') {
      rest = rest.substr(1, rest.size() - 2);
    }
    u16 first = 0;
    u8 count = 1;
    if (!ParseRange(rest, limit, &first, &count)) return false;
    o.kind = kind;
    o.reg = static_cast<u16>(base + first);
    o.regs = count;
    return true;
  };
  if (bank("v", 256, 0, Kind::kVgpr) ||
      (IsCdna(gen_) && bank("a", 256, 256, Kind::kVgpr)) ||
      bank("ttmp", 16, kTtmp, Kind::kSgpr) || bank("s", 106, 0, Kind::kSgpr)) {
    return o;
  }
  for (const SpecialRegister& r : kSpecial) {
    if (s == r.name) {
      o.kind = Kind::kSgpr;
      o.reg = r.slot;
      o.regs = static_cast<u8>(TypeRegs(type));
      return o;
    }
  }
  if (s == "off" || s.empty()) return o;
  i64 v = 0;
  if (ParseInt(s, &v)) {
    o.imm = IntBits(v, s.find("0x") != std::string_view::npos, type);
  } else {
    char* end = nullptr;
    const std::string copy(s);
    const double d = std::strtod(copy.c_str(), &end);
    if (end != copy.c_str() + copy.size()) {
      o.kind = Kind::kNone;
      o.type = Type::kNone;
      return o;
    }
    o.imm = FloatBits(d, s[0] == '-' ? s.substr(1) : s, type);
    if (s[0] == '-' && s.find("0.159") != std::string_view::npos) {
      o.neg = !o.neg;
    }
  }
  o.kind = Kind::kImm;
  o.row = ConstantRow(o.imm, true);
  return o;
}

void Program::Decode(const Op* slot) {
  std::lock_guard<std::mutex> lock(mutex_);
  Op* op = const_cast<Op*>(slot);
  if (op->handler.load(std::memory_order_relaxed) != nullptr) return;
  const std::uint64_t address = AddressOf(op);
  std::uint32_t size = 4;
  const std::string line = Disassemble(address, &size);
  // The parts are written into a copy; the handler goes in last, so that
  // another thread sees all or nothing.
  op->dwords = static_cast<u8>((size + 3) / 4);
  Op scratch;
  scratch.dwords = op->dwords;
  scratch.dst = scratch.sdst = Operand{};
  Handler handler = ExecIllegal;
  if (!line.empty()) {
    u32 word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(address), 4);
    if (line.find(" :: ") != std::string::npos) {
      if (!DecodeVopd(line, &scratch)) {
        scratch.handler.store(ExecUnimplemented, std::memory_order_relaxed);
      }
    } else {
      Text text = Text::Parse(line);
      text.word = word;
      DecodeText(text, &scratch);
      scratch.hazard = HazardBits(text, scratch, gen_);
    }
    handler = scratch.handler.load(std::memory_order_relaxed);
  }
  NoteRegisters(&scratch, lanes_);
  op->CopyFrom(scratch);
  op->handler.store(handler, std::memory_order_release);
}

void Program::DecodeText(const Text& text, Op* op) {
  if (DecodeScalarMemory(text, *this, op) || DecodeLds(text, *this, op) ||
      DecodeFlat(text, *this, op) || DecodeBuffer(text, *this, op) ||
      DecodeMatrix(text, *this, op) || DecodeSmallFloat(text, *this, op)) {
    return;
  }
  std::string name(CanonicalName(text.mnemonic, gen_));
  if (name.starts_with("v_cmpx_")) {
    name = "v_cmp_" + name.substr(7);
    op->flags |= kFlagWritesExec;
  }
  const Semantic* semantic = FindSemantic(name, gen_);
  if (semantic == nullptr) {
    op->handler.store(ExecUnimplemented, std::memory_order_relaxed);
    return;
  }
  DecodeSemantic(text, *semantic, op);
}

void Program::DecodeSemantic(const Text& text, const Semantic& s, Op* op) {
  op->fn = s.fn;
  op->env = s.env;
  op->klass = s.klass;
  op->nsrc = s.nsrc;
  std::size_t at = 0;
  const auto next = [&](Type type) {
    return at < text.operands.size() ? ParseOperand(text.operands[at++], type)
                                     : Operand{};
  };
  const bool compare = s.flag && s.dst == Type::kNone;
  if (s.dst != Type::kNone) op->dst = next(s.dst);
  if (s.flag && !(compare && (op->flags & kFlagWritesExec) != 0 &&
                  text.operands.size() <= s.nsrc)) {
    op->sdst = next(Type::kMask);
  }
  if (compare) op->dst = Operand{};
  for (int i = 0; i < s.nsrc; ++i) {
    const bool last = i + 1 == s.nsrc;
    if ((s.flags & kRowTied) != 0 && last) {
      op->flags |= kFlagTied;
      op->src[i] = op->dst;
      op->src[i].type = s.src[i];
      op->src[i].hi = Is16(s.src[i]) && op->dst.hi;
      continue;
    }
    if (s.src[i] == Type::kMask && at >= text.operands.size()) {
      op->src[i] = ParseOperand("vcc", Type::kMask);
      continue;
    }
    // Packed integers take halves of a constant of 32 bits, also of 1.0.
    const bool halves =
        (s.flags & kRowPacked) != 0 && Is16(s.src[i]) && !IsFloat(s.src[i]);
    op->src[i] = next(halves ? Type::kB32 : s.src[i]);
    if (halves) op->src[i].type = s.src[i];
  }
  if ((s.flags & kRowPacked32) != 0) {
    // Pairs of registers; a constant is the same in both halves.
    for (int i = 0; i < s.nsrc; ++i) {
      Operand& o = op->src[i];
      o.type = Type::kB64;
      if (o.kind == Kind::kImm) {
        o.imm = (o.imm & 0xffffffff) | o.imm << 32;
        o.row = ConstantRow(o.imm, true);
      }
    }
  }
  if (s.handler != nullptr && (s.flags & kRowRaw) != 0) {
    if (text.mnemonic.starts_with("s_wait")) op->data = Keep(ParseWait(text));
    else op->data = Keep(text);
  }
  DecodeModifiers(text, op);
  if (op->dst.hi && op->dst.vgpr()) op->flags |= kFlagDstHi;
  if ((op->flags & kFlagClamp) != 0 && s.clamp != nullptr) {
    op->fn = s.clamp;
    op->flags &= ~kFlagClamp;
  }
  if (op->dst.vgpr() && Is16(op->dst.type) && gen_ <= Gen::kGfx950 &&
      (s.flags & (kRowPreserve | kRowTied)) == 0) {
    op->flags |= kFlagZeroHigh;
  }
  ChooseHandler(s, text, op);
}

namespace {

// The row's own handler takes halves of registers, but no other modifiers.
bool IsPlain(const Semantic& s, const Op& op, u32 but_for = 0) {
  const u32 modified = (kFlagSdwa | kFlagClamp | kFlagDpp) & ~but_for;
  if ((op.flags & modified) != 0 || op.omod != 0 || op.dst.sgpr()) {
    return false;
  }
  const bool half = Is16(op.dst.type) && op.dst.kind != Kind::kNone;
  if ((op.flags & kFlagDstHi) != 0 && !half) return false;
  if (half && s.flag) return false;
  for (int i = 0; i < s.nsrc; ++i) {
    const Operand& o = op.src[i];
    if (o.neg || o.abs || o.sext || o.sdwa != kDword ||
        (o.hi && (!Is16(o.type) || but_for != 0))) {
      return false;
    }
  }
  return true;
}

// VOP3P: both halves as they stand in the registers.
bool IsPlainPacked(const Op& op) {
  if ((op.flags & (kFlagClamp | kFlagDpp)) != 0) return false;
  for (int i = 0; i < op.nsrc; ++i) {
    const Operand& o = op.src[i];
    if (o.hi || !o.sel_hi || o.neg || o.neg_hi) return false;
  }
  return true;
}

// v_pk_*_f32: the second result does not read the first one's register.
bool PairsApart(const Op& op) {
  if ((op.flags & (kFlagClamp | kFlagDpp)) != 0) return false;
  for (int i = 0; i < op.nsrc; ++i) {
    const Operand& o = op.src[i];
    if (o.neg || o.neg_hi) return false;
    if (o.vgpr() && o.reg + (o.sel_hi ? 1u : 0u) == op.dst.reg) return false;
  }
  return true;
}

Handler VectorHandler(const Semantic& s, Op* op) {
  const bool clamps = s.clamp != nullptr && op->fn == s.clamp;
  const Handler plain = clamps ? s.plain_clamp : s.plain;
  if ((s.flags & kRowPacked) != 0) {
    return IsPlainPacked(*op) ? plain : ExecPacked;
  }
  if ((s.flags & kRowPacked32) != 0) {
    return PairsApart(*op) ? plain : ExecPacked32;
  }
  if ((s.flags & kRowMix) != 0) {
    if ((s.flags & kRowHighHalf) != 0) op->flags |= kFlagDstHi;
    return ExecMix;
  }
  if ((s.flags & kRowNoMods) != 0) return plain;
  if (IsPlain(s, *op)) {
    op->flags |= kFlagPlain;
    return plain;
  }
  const bool dpp = (op->flags & kFlagDpp) != 0 && !s.flag &&
                   !Is16(op->dst.type) && TypeRegs(op->src[0].type) == 1;
  return dpp && IsPlain(s, *op, kFlagDpp) ? ExecDpp : ExecFull;
}

}  // namespace

void Program::ChooseHandler(const Semantic& s, const Text& text, Op* op) {
  Handler handler = s.handler;
  if (handler == nullptr) {
    handler = s.fn == nullptr ? ExecNop : VectorHandler(s, op);
  }
  // Operands that are neither registers nor numbers mean that the text was
  // not understood: never guess.
  if (s.handler == nullptr) {
    for (int i = 0; i < s.nsrc; ++i) {
      if (op->src[i].kind == Kind::kNone) handler = ExecUnimplemented;
    }
    if (s.dst != Type::kNone && op->dst.kind == Kind::kNone) {
      handler = ExecUnimplemented;
    }
    if (op->dst.kind == Kind::kImm) handler = ExecUnimplemented;
    if (text.Has("lds_direct")) handler = ExecUnimplemented;
  }
  op->handler.store(handler, std::memory_order_relaxed);
}

namespace {

struct DppName {
  std::string_view name;
  DppKind kind;
};
constexpr DppName kDppNames[] = {
    {"quad_perm", DppKind::kQuadPerm},
    {"row_shl", DppKind::kRowShl},
    {"row_shr", DppKind::kRowShr},
    {"row_ror", DppKind::kRowRor},
    {"wave_shl", DppKind::kWaveShl},
    {"wave_rol", DppKind::kWaveRol},
    {"wave_shr", DppKind::kWaveShr},
    {"wave_ror", DppKind::kWaveRor},
    {"row_mirror", DppKind::kRowMirror},
    {"row_half_mirror", DppKind::kRowHalfMirror},
    {"row_share", DppKind::kRowShare},
    {"row_xmask", DppKind::kRowXmask},
    {"row_newbcast", DppKind::kRowNewBcast},
    {"dpp8", DppKind::kDpp8},
};

u8 SelOf(std::string_view s) {
  if (s == "BYTE_0") return kByte0;
  if (s == "BYTE_1") return kByte1;
  if (s == "BYTE_2") return kByte2;
  if (s == "BYTE_3") return kByte3;
  if (s == "WORD_0") return kWord0;
  if (s == "WORD_1") return kWord1;
  return kDword;
}

void ReadDpp(const Text& text, std::string_view name, const std::string& value,
             Dpp* dpp, Op* op) {
  for (const DppName& d : kDppNames) {
    if (name != d.name) continue;
    dpp->kind = d.kind;
    op->flags |= kFlagDpp;
    const std::vector<int> list = ParseList(value);
    if (d.kind == DppKind::kDpp8 || d.kind == DppKind::kQuadPerm) {
      for (std::size_t i = 0; i < 8 && i < list.size(); ++i) {
        dpp->sel[i] = static_cast<u8>(list[i] & 7);
      }
    } else if (!list.empty()) {
      dpp->amount = static_cast<u8>(list[0] & 15);
    }
  }
  if (name == "row_bcast") {
    dpp->kind = value == "31" ? DppKind::kRowBcast31 : DppKind::kRowBcast15;
    op->flags |= kFlagDpp;
  } else if (name == "row_mask") {
    dpp->row_mask = static_cast<u8>(text.Number(name, 15));
  } else if (name == "bank_mask") {
    dpp->bank_mask = static_cast<u8>(text.Number(name, 15));
  } else if (name == "bound_ctrl") {
    dpp->bound_ctrl = true;
  } else if (name == "fi") {
    dpp->fi = value == "1";
  }
}

void ReadSdwa(std::string_view name, const std::string& value, Op* op) {
  if (name == "dst_sel") {
    op->dst.sdwa = SelOf(value);
    op->flags |= kFlagSdwa;
  } else if (name == "dst_unused") {
    op->flags |= kFlagSdwa;
    if (value == "UNUSED_PRESERVE") op->flags |= kFlagSdwaPreserve;
    if (value == "UNUSED_SEXT") op->flags |= kFlagSdwaSext;
  } else if (name == "src0_sel") {
    op->src[0].sdwa = SelOf(value);
    op->flags |= kFlagSdwa;
  } else if (name == "src1_sel") {
    op->src[1].sdwa = SelOf(value);
  }
}

// The halves that operands, and the destination, take.
void ReadOpSel(const Text& text, const std::vector<int>& list, Op* op) {
  const bool packed = text.mnemonic.starts_with("v_pk_") ||
                      text.mnemonic.find("_mix") != std::string::npos;
  const bool halves = text.rest.find(".l") != std::string::npos ||
                      text.rest.find(".h") != std::string::npos;
  // A tied accumulator and the destination's own operand are not among the
  // sources that op_sel counts.
  std::size_t text_sources = op->nsrc;
  if ((op->flags & kFlagTied) != 0) --text_sources;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool on = list[i] != 0;
    if (i < text_sources || packed) {
      if (i >= op->src.size()) break;
      // The text shows halves as .l and .h too; bits count where it
      // does not: scalar registers and packed operands.
      Operand& o = op->src[i];
      if (packed) o.hi = on;
      else if (Is16(o.type) && !(halves && o.vgpr())) o.hi = on;
    } else if (i == list.size() - 1 && !halves && on && op->dst.vgpr()) {
      op->flags |= kFlagDstHi;
    }
  }
  op->aux0 = 0;
  for (std::size_t i = 0; i < list.size() && i < 8; ++i) {
    if (list[i] != 0) op->aux0 |= static_cast<u8>(1u << i);
  }
}

}  // namespace

void Program::DecodeModifiers(const Text& text, Op* op) {
  Dpp dpp;
  // VOP3P takes the upper halves for the upper result unless told otherwise;
  // a text with neither modifier means exactly that.
  const bool packed = text.mnemonic.starts_with("v_pk_");
  for (Operand& o : op->src) o.sel_hi = packed;
  for (const auto& [name, value] : text.modifiers) {
    ReadDpp(text, name, value, &dpp, op);
    ReadSdwa(name, value, op);
    const auto each = [&](auto&& set) {
      const std::vector<int> list = ParseList(value);
      for (std::size_t i = 0; i < list.size() && i < op->src.size(); ++i) {
        set(i, list[i] != 0);
      }
    };
    if (name == "mul") {
      op->omod = value == "2" ? 1 : 2;
    } else if (name == "div") {
      op->omod = 3;
    } else if (name == "clamp") {
      op->flags |= kFlagClamp;
    } else if (name == "op_sel") {
      ReadOpSel(text, ParseList(value), op);
    } else if (name == "op_sel_hi") {
      each([&](std::size_t i, bool on) { op->src[i].sel_hi = on; });
    } else if (name == "neg_lo") {
      each([&](std::size_t i, bool on) { op->src[i].neg = on; });
    } else if (name == "neg_hi") {
      each([&](std::size_t i, bool on) { op->src[i].neg_hi = on; });
    } else if (name == "bitop3") {
      op->aux = static_cast<u32>(text.Number(name, 0));
    }
  }
  // Tied packed accumulators keep their halves apart.
  if ((op->flags & kFlagDpp) != 0) {
    PrepareDpp(&dpp, lanes_);
    op->dpp = Keep(dpp);
  }
}

bool Program::DecodeVopd(std::string_view line, Op* op) {
  const std::size_t split = line.find(" :: ");
  const auto half = [&](std::string_view part, Op* out) {
    Text text = Text::Parse(part);
    // v_dual_mul_f32 is v_mul_f32.
    if (!text.mnemonic.starts_with("v_dual_")) return false;
    text.mnemonic = "v_" + text.mnemonic.substr(7);
    DecodeText(text, out);
    const Handler h = out->handler.load(std::memory_order_relaxed);
    return (out->flags & kFlagPlain) != 0 || (h == ExecFull && out->omod == 0);
  };
  auto second = std::make_unique<Op>();
  if (!half(line.substr(0, split), op) ||
      !half(line.substr(split + 4), second.get())) {
    return false;
  }
  // A register of X that Y reads must be the old one.
  bool in_turn = (op->flags & second->flags & kFlagPlain) != 0;
  for (int i = 0; i < second->nsrc; ++i) {
    const Operand& o = second->src[i];
    if (o.vgpr() && op->dst.reg >= o.reg && op->dst.reg < o.reg + o.regs)
      in_turn = false;
  }
  op->second = second.get();
  seconds_.push_back(std::move(second));
  op->first = op->handler.load(std::memory_order_relaxed);
  op->handler.store(in_turn ? ExecVopdInTurn : ExecVopd,
                    std::memory_order_relaxed);
  op->flags |= kFlagVopd;
  op->klass = OpClass::kVopd;
  return true;
}

}  // namespace cerberus::emulator
