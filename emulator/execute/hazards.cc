#include "emulator/execute/hazards.h"

#include <fmt/format.h>

#include <algorithm>

namespace cerberus::emulator {
namespace {

enum Bit : u32 {
  kVector = 1 << 0,  // VALU, matrix instructions too
  kDpp = 1 << 1,
  kMatrix = 1 << 2,
  kXdl = 1 << 3,  // a matrix instruction of the XDL unit
  kMatrixF64 = 1 << 4,
  kTrans = 1 << 5,
  kReadLane = 1 << 6,  // v_readlane, v_readfirstlane
  kWriteLane = 1 << 7,
  kDivFmas = 1 << 8,
  kMemory = 1 << 9,      // vector memory, not LDS
  kWideStore = 1 << 10,  // more than 64 bits of data
  kReadsM0 = 1 << 11,    // where the hardware does not wait for M0
  kSetReg = 1 << 12,
  kGetReg = 1 << 13,
  kSwapLanes = 1 << 14,  // gfx950's v_permlane16_swap and v_permlane32_swap
  kDot = 1 << 15,
  kSparse = 1 << 21,  // v_smfmac: C is the result, the third source is not
  // Bits 16 to 20: HazardReach(); 22 and 23: hazards.h; 24 to 31: passes of a
  // matrix instruction, or the number of s_nop.
};

// A pass is four cycles; how many an instruction takes is from LLVM's
// scheduling models.
u32 Passes(std::string_view name, u32 bits, Gen gen) {
  const bool large = name.find("32x32") != std::string_view::npos;
  const bool small = name.find("4x4x") != std::string_view::npos &&
                     name.find("64x4x4") == std::string_view::npos;
  if ((bits & kMatrixF64) != 0) return small ? 4 : 8;
  if (small) return 2;
  const bool blocks = name.find("_2b_") != std::string_view::npos ||
                      name.find("_4b_") != std::string_view::npos;
  const bool fast = gen >= Gen::kGfx940 && (bits & kXdl) != 0 && !blocks;
  return large ? (fast ? 8 : 16) : (fast ? 4 : 8);
}

bool Overlap(const Operand& a, const Operand& b) {
  if (a.kind != b.kind || (!a.vgpr() && !a.sgpr())) return false;
  const auto end = [](const Operand& o) {
    return o.reg + (o.sgpr() && o.type == Type::kMask ? 2u : o.regs);
  };
  return a.reg < end(b) && b.reg < end(a);
}

bool Reads(const Op& op, const Operand& o) {
  for (int i = 0; i < op.nsrc; ++i) {
    if (Overlap(op.src[i], o)) return true;
  }
  return false;
}

// What a consumer needs behind a matrix instruction, and why.
struct Rule {
  u32 states = 0;
  const char* why = "";

  void Need(u32 n, const char* reason) {
    if (n > states) states = n, why = reason;
  }
};

// Whether `c` goes on with the whole accumulator of matrix instruction `p`.
bool PassesAccumulator(const Op& p, const Op& c) {
  return (p.hazard & kMatrix) != 0 && (c.hazard & kMatrix) != 0 &&
         Overlap(c.src[2], p.dst) && c.src[2].reg == p.dst.reg &&
         c.src[2].regs == p.dst.regs;
}

// Results and the accumulator that an instruction of `passes` still reads.
// `newer_c`: another one has written all of the consumer's C since.
void BehindMatrix(Gen gen, const Op& p, const Op& c, bool newer_c, Rule* rule) {
  const bool gfx940 = gen >= Gen::kGfx940, gfx950 = gen == Gen::kGfx950;
  const u32 passes = p.hazard >> 24;
  const bool f64 = (p.hazard & kMatrixF64) != 0;
  const bool xdl = (p.hazard & kXdl) != 0;
  const bool small_f64 = f64 && passes == 4;
  // CDNA4 takes one more, but for instructions of two passes.
  const u32 more = gfx950 && passes != 2 ? 1 : 0;
  const u32 result = f64              ? (small_f64 ? 6
                                         : gfx950  ? 19
                                                   : 11)
                     : gfx940 && !xdl ? passes + 2
                                      : passes + 3 + more;
  if ((c.hazard & kMatrix) != 0) {
    if (Overlap(c.src[0], p.dst) || Overlap(c.src[1], p.dst)) {
      rule->Need(result, "a matrix result is read as A or B");
    }
    if (newer_c || !Overlap(c.src[2], p.dst)) return;
    constexpr const char* kWhy = "a matrix result is read as C";
    const bool consumer_f64 = (c.hazard & kMatrixF64) != 0;
    const bool consumer_xdl = (c.hazard & kXdl) != 0;
    if (PassesAccumulator(p, c)) {
      if (small_f64 && consumer_f64 && c.hazard >> 24 == 4) {
        rule->Need(4, kWhy);
      } else if (gfx940 && !f64 && passes == 2) {
        rule->Need(2, kWhy);
      }
    } else if (f64) {
      if (consumer_f64 || (gfx940 && !consumer_xdl)) {
        rule->Need(small_f64 ? 4 : gfx950 ? 17 : 9, kWhy);
      }
    } else if (gfx940) {
      if (xdl)
        rule->Need(passes + 1 + (consumer_xdl && gfx950 ? 1 : more), kWhy);
      else if (!consumer_xdl) rule->Need(passes, kWhy);
    } else {
      rule->Need(passes + (consumer_f64 ? 1 : 0), kWhy);
    }
    return;
  }
  const bool lds = c.klass == OpClass::kLds;
  const bool memory = (c.hazard & kMemory) != 0 || lds;
  if (!memory && (c.hazard & kVector) == 0) return;
  if (Reads(c, p.dst)) {
    rule->Need(f64 && memory ? (small_f64 ? 9 : 18) : result,
               "a matrix result is read");
  }
  if (memory) return;
  if (Overlap(c.dst, p.dst)) {
    rule->Need(f64 && !small_f64 ? 11 : result,
               "a matrix result is overwritten");
  }
  if (!f64 && (!gfx940 || xdl) && (p.hazard & kSparse) == 0 &&
      Overlap(c.dst, p.src[2])) {
    rule->Need(passes - 1, "the C of a matrix instruction is overwritten");
  }
}

void BehindVector(Gen gen, const Op& p, const Op& c, Rule* rule) {
  const bool gfx90a = gen >= Gen::kGfx90a, gfx940 = gen >= Gen::kGfx940;
  const bool vector = (c.hazard & kVector) != 0;
  const bool matrix = (c.hazard & kMatrix) != 0;
  const bool lanes = (c.hazard & (kReadLane | kWriteLane)) != 0;
  for (const Operand* o : {&p.dst, &p.sdst}) {
    if (!o->sgpr()) continue;
    if ((c.hazard & kMemory) != 0 && Reads(c, *o)) {
      rule->Need(5, "a vector instruction's SGPR is read by vector memory");
    }
    if (lanes && Overlap(c.src[1], *o)) {
      rule->Need(4, "a vector instruction's SGPR chooses a lane");
    }
    if ((c.hazard & kDivFmas) != 0 && o->reg == kVcc) {
      rule->Need(4, "a vector instruction's VCC is read by v_div_fmas");
    }
    if (gfx940 && vector && Reads(c, *o)) {
      rule->Need(2, "a vector instruction's SGPR is read by another");
    }
  }
  if ((p.flags & kFlagWritesExec) != 0) {
    constexpr const char* kWhy = "a vector instruction has written EXEC";
    if ((c.hazard & kDpp) != 0) rule->Need(5, kWhy);
    if (matrix || (gfx940 && lanes)) rule->Need(4, kWhy);
    if ((c.hazard & kSwapLanes) != 0) rule->Need(4, kWhy);
  }
  if (!p.dst.vgpr()) return;
  const bool dot = (p.hazard & kDot) != 0;
  if ((c.hazard & kDpp) != 0 && Overlap(c.src[0], p.dst)) {
    rule->Need(2, "a vector instruction's result is read by DPP");
  }
  if (gfx90a && matrix && !dot && Reads(c, p.dst)) {
    rule->Need(2, "a vector instruction's result is read by a matrix one");
  }
  if ((c.hazard & kSwapLanes) != 0 &&
      (Reads(c, p.dst) || Overlap(c.dst, p.dst))) {
    rule->Need(2, "a vector instruction's result is swapped between lanes");
  }
  if (gfx940 && (c.hazard & kReadLane) != 0 && Overlap(c.src[0], p.dst)) {
    rule->Need(1, "a vector instruction's result is read from a lane");
  }
  if (gfx940 && vector && (p.hazard & kTrans) != 0 &&
      (c.hazard & kTrans) == 0 && Reads(c, p.dst)) {
    rule->Need(1, "a transcendental result is read");
  }
  const bool part = ((p.flags & kFlagSdwa) != 0 && p.dst.sdwa != kDword) ||
                    (p.flags & kFlagDstHi) != 0;
  if (gfx940 && vector && part && (Reads(c, p.dst) || Overlap(c.dst, p.dst))) {
    rule->Need(1, "a result in part of a register is used");
  }
  if (gfx90a && dot && vector && !matrix) {
    const bool same = p.fn == c.fn;
    const bool ab = Overlap(c.src[0], p.dst) || Overlap(c.src[1], p.dst);
    if (same ? ab : Reads(c, p.dst) || Overlap(c.dst, p.dst)) {
      rule->Need(3, "a dot product's result is used");
    }
  }
}

std::string_view RegisterName(const Op& op) {
  const Text& t = *static_cast<const Text*>(op.data);
  const std::size_t open = t.rest.find("hwreg(");
  if (open == std::string::npos) return "";
  const std::string_view rest = std::string_view(t.rest).substr(open + 6);
  return rest.substr(0, rest.find_first_of(",)"));
}

Rule RuleFor(Gen gen, const Op& p, const Op& c, bool newer_c) {
  Rule rule;
  if ((p.hazard & kMatrix) != 0) {
    // gfx908's accumulators have rules of their own.
    if (gen >= Gen::kGfx90a) BehindMatrix(gen, p, c, newer_c, &rule);
  } else if ((p.hazard & kVector) != 0) {
    BehindVector(gen, p, c, &rule);
  }
  if ((p.hazard & kWideStore) != 0 && (c.hazard & kVector) != 0 &&
      Overlap(c.dst, p.src[1])) {
    rule.Need(gen >= Gen::kGfx940 ? 2 : 1,
              "a wide store's data is overwritten");
  }
  if ((p.hazard & kSetReg) != 0 && (c.hazard & (kGetReg | kSetReg)) != 0 &&
      RegisterName(p) == RegisterName(c)) {
    rule.Need(2, "a hardware register was just written");
  }
  if (p.klass == OpClass::kSalu && p.dst.sgpr() && p.dst.reg == kM0 &&
      (c.hazard & kReadsM0) != 0) {
    rule.Need(1, "M0 was just written");
  }
  return rule;
}

}  // namespace

u32 HazardBits(const Text& text, const Op& op, Gen gen) {
  if (!IsCdna(gen)) return 0;
  const std::string_view m = text.mnemonic;
  const auto contains = [m](std::string_view s) {
    return m.find(s) != std::string_view::npos;
  };
  if (m == "s_nop") {
    i64 n = 0;
    if (!text.operands.empty()) ParseInt(text.operands[0], &n);
    return kHazardNop | static_cast<u32>(n & 0xff) << 24;
  }
  u32 bits = 0, reach = 0;
  if (m.starts_with("s_setreg")) bits |= kSetReg, reach = 2;
  if (m.starts_with("s_getreg")) bits |= kGetReg;
  if (m.starts_with("s_sendmsg") || m.starts_with("s_movrel") ||
      contains("_addtid_") || contains("_load_lds_") || text.Has("lds")) {
    bits |= kReadsM0;
  }
  if (op.klass == OpClass::kSalu && op.dst.sgpr() && op.dst.reg == kM0) {
    reach = 1;
  }
  if (m.starts_with("global_") || m.starts_with("flat_") ||
      m.starts_with("scratch_") || m.starts_with("buffer_")) {
    bits |= kMemory;
    if (m.ends_with("_store_dwordx3") || m.ends_with("_store_dwordx4")) {
      // A buffer store with a register as offset takes a cycle longer.
      if (!m.starts_with("buffer_") || !op.src[3].sgpr()) {
        bits |= kWideStore, reach = 2;
      }
    }
  }
  if (m.starts_with("v_")) {
    bits |= kVector;
    if (op.dst.sgpr() || op.sdst.sgpr() || (op.flags & kFlagWritesExec) != 0) {
      reach = kHazardNear;
    }
    if (op.dpp != nullptr) bits |= kDpp | kHazardAlways;
    if (op.klass == OpClass::kTranscendental) {
      bits |= kTrans, reach = std::max(reach, 1u);
    }
    if ((op.flags & (kFlagSdwa | kFlagDstHi)) != 0) {
      reach = std::max(reach, 1u);
    }
    if (m.starts_with("v_dot")) bits |= kDot, reach = std::max(reach, 3u);
    if (m.starts_with("v_div_fmas")) bits |= kDivFmas;
    if (m.starts_with("v_read")) bits |= kReadLane | kHazardAlways;
    if (m.starts_with("v_writelane")) bits |= kWriteLane;
    if (m.starts_with("v_permlane") && contains("_swap")) {
      bits |= kSwapLanes | kHazardAlways;
    }
    if (m.starts_with("v_mfma_") || m.starts_with("v_smfmac_")) {
      bits |= kMatrix | kHazardAlways;
      if (m.starts_with("v_smfmac_")) bits |= kSparse;
      if (contains("f64")) bits |= kMatrixF64;
      else if (!m.ends_with("f32") || m.ends_with("xf32")) bits |= kXdl;
      bits |= Passes(m, bits, gen) << 24;
      reach = kHazardFar;
    }
  }
  return bits | reach << 16;
}

void CheckHazards(Wave& w, const Op& op) {
  const Hazards& h = w.hazards;
  const std::size_t size = h.recent.size();
  // What any vector instruction writes matters for two wait states; behind
  // `until` nothing else does.
  const u64 any = (op.hazard & kHazardAlways) != 0 ? 2 : 0;
  const u64 farthest = h.now < h.until_matrix ? kHazardFar
                       : h.now < h.until      ? kHazardNear
                                              : any;
  bool newer_c = false, newer_matrix = false;
  for (u64 i = 1; i <= std::min<u64>(h.count, size); ++i) {
    const Hazards::Issued& before = h.recent[(h.count - i) % size];
    const u64 between = h.now - before.at - WaitStates(*before.op);
    if (between >= farthest) break;
    if (between >= std::max<u64>(HazardReach(*before.op), any)) continue;
    const Rule rule = RuleFor(w.gen, *before.op, op, newer_c);
    newer_c = newer_c || PassesAccumulator(*before.op, op);
    // A matrix instruction begins when the one before it has made its passes,
    // of which each is a wait state: rocBLAS' complex products put one between
    // a negated factor and its use.
    const bool is_over = newer_matrix && (op.hazard & kMatrix) != 0 &&
                         (before.op->hazard & kMatrix) == 0 && rule.states <= 2;
    newer_matrix = newer_matrix || (before.op->hazard & kMatrix) != 0;
    if (rule.states > between && !is_over) {
      Throw(fmt::format("{}: {} wait states behind '{}', {} are needed",
                        rule.why, between,
                        w.program->Contains(w.program->AddressOf(before.op))
                            ? w.program->TextAt(w.program->AddressOf(before.op))
                            : "",
                        rule.states));
    }
  }
}

}  // namespace cerberus::emulator
