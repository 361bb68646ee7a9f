// The check of missing waits. Memory instructions run at once here, but on the
// hardware their results arrive later; code must wait for a counter before it
// touches them (RDNA3 ISA, section 4.4; AMDGPUUsage, "Memory Model"). A result
// that is read or overwritten earlier is an error.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/device/launch.h"

namespace cerberus::emulator {
namespace {

u32 RegistersOf(const Operand& o, u32 lanes) {
  if (o.sgpr() && o.type == Type::kMask) return lanes == 64 ? 2 : 1;
  return o.regs;
}

u32 HalvesOf(const Op& op) { return op.flags & (kFlagLowHalf | kFlagHighHalf); }

void Add(Wave& w, const Op& op, Wait wait, u32 seq, bool unordered = false) {
  const Operand& o = op.dst;
  for (u32 i = 0; i < o.regs; ++i) {
    w.pending.entries.push_back({static_cast<u16>(o.reg + i), o.vgpr(), wait,
                                 unordered, HalvesOf(op), seq});
    w.pending.touched.Add(o.vgpr(), o.reg + i);
  }
}

const char* CounterName(const Wave& w, Wait wait) {
  const bool gfx12 = w.gen == Gen::kGfx12;
  switch (wait) {
    case Wait::kVm: return gfx12 ? "loadcnt" : "vmcnt";
    case Wait::kLgkmLds: return gfx12 ? "dscnt" : "lgkmcnt";
    case Wait::kLgkmSmem: return gfx12 ? "kmcnt" : "lgkmcnt";
    default: return "";
  }
}

// `halves`: of which halves of its registers the operand is, where its own text
// does not say so; 0: all.
void CheckOperand(Wave& w, const Operand& o, const Op& op, bool written,
                  u32 halves) {
  if (o.half) halves = o.hi ? kFlagHighHalf : kFlagLowHalf;
  if (o.kind != Kind::kVgpr && o.kind != Kind::kSgpr) return;
  if (o.sgpr() && o.reg >= kNull) return;
  const u32 regs = RegistersOf(o, w.lanes);
  for (const Pending::Entry& e : w.pending.entries) {
    if (e.vgpr != o.vgpr() || e.reg < o.reg || e.reg >= o.reg + regs) continue;
    if (halves != 0 && e.halves != 0 && halves != e.halves) continue;
    // Results of one kind arrive in order, so a later one may overwrite;
    // scalar loads have no order.
    if (written && e.wait != Wait::kLgkmSmem &&
        (op.wait == e.wait || op.wait == Wait::kFlat)) {
      continue;
    }
    Throw(fmt::format("{}{} is {} before s_wait for its load ({})",
                      e.vgpr ? (e.reg < 256 ? "v" : "a") : "s",
                      e.vgpr && e.reg >= 256 ? e.reg - 256 : e.reg,
                      written ? "overwritten" : "read",
                      CounterName(w, e.wait)));
  }
}

}  // namespace

void NotePending(Wave& w, const Op& op) {
  Pending& p = w.pending;
  const bool result = op.dst.kind == Kind::kVgpr ||
                      (op.dst.kind == Kind::kSgpr && op.dst.reg != kNull);
  // Since gfx10 what returns nothing has a counter of its own.
  const bool counts = result || IsCdna(w.gen);
  switch (op.wait) {
    case Wait::kVm:
      if (!counts && (op.flags & kFlagLds) == 0 &&
          op.klass != OpClass::kOther) {  // global_inv
        return;
      }
      ++p.vm_issued;
      if (result) Add(w, op, Wait::kVm, p.vm_issued);
      break;
    case Wait::kFlat:
      if (counts) ++p.vm_issued;
      ++p.lds_issued;
      if (result) {
        // Flat loads, from LDS or memory, had no order before gfx10
        // (Vega ISA, section 9.3.2).
        const bool unordered = IsCdna(w.gen);
        Add(w, op, Wait::kVm, p.vm_issued, unordered);
        // Without LDS nothing can come from there, and LLVM waits for memory
        // alone.
        if (w.lds_size != 0) {
          Add(w, op, Wait::kLgkmLds, p.lds_issued, unordered);
        }
      }
      break;
    case Wait::kLgkmLds:
      ++p.lds_issued;
      if (result) Add(w, op, Wait::kLgkmLds, p.lds_issued);
      break;
    case Wait::kLgkmSmem:
      ++p.smem_issued;
      if (result) Add(w, op, Wait::kLgkmSmem, p.smem_issued);
      break;
    default: break;
  }
}

void CheckPending(Wave& w, const Op& op) {
  constexpr int kStored = 1;  // the place of what a store reads
  const u32 halves = HalvesOf(op);
  for (int i = 0; i < op.nsrc; ++i) {
    CheckOperand(w, op.src[i], op, false, i == kStored ? halves : 0);
  }
  CheckOperand(w, op.dst, op, true, halves);
  CheckOperand(w, op.sdst, op, true, 0);
  if (op.second != nullptr) CheckPending(w, *op.second);
}

void CheckLdsPending(const Wave& w, u64 offset, u32 bytes, int lane) {
  for (const Pending::LdsBytes& b : w.pending.lds) {
    if (offset < b.end && b.begin < offset + bytes) {
      ThrowAt(fmt::format("LDS offset {:#x} is read before s_wait for its "
                          "load ({})",
                          offset, CounterName(w, Wait::kVm)),
              lane, kSharedAperture + offset);
    }
  }
}

WaitLimits ParseWait(const Text& t) {
  WaitLimits limits;
  i64 number = 0;
  if (!t.operands.empty()) ParseInt(t.operands.back(), &number);
  const i32 n = static_cast<i32>(number);
  const std::string& m = t.mnemonic;
  if (m == "s_waitcnt") {
    const auto value = [&](std::string_view name) {
      const std::size_t at = t.rest.find(name);
      if (at == std::string::npos) return -1;
      return static_cast<i32>(
          std::strtol(t.rest.c_str() + at + name.size(), nullptr, 0));
    };
    limits.vm = value("vmcnt(");
    limits.lgkm = value("lgkmcnt(");
  } else if (m == "s_waitcnt_vmcnt" || m == "s_wait_loadcnt") {
    limits.vm = n;
  } else if (m == "s_waitcnt_lgkmcnt") {
    limits.lgkm = n;
  } else if (m == "s_wait_dscnt") {
    limits.lds = n;
  } else if (m == "s_wait_kmcnt") {
    limits.smem = n;
  } else if (m == "s_wait_loadcnt_dscnt") {
    limits.vm = n >> 8 & 63;
    limits.lds = n & 63;
  } else if (m == "s_wait_storecnt_dscnt") {
    limits.lds = n & 63;
  } else if (m == "s_wait_idle") {
    limits.vm = limits.lgkm = 0;
  }
  return limits;
}

void NoteRegisters(Op* op, u32 lanes) {
  const auto add = [op, lanes](const Operand& o) {
    if (o.kind != Kind::kVgpr && o.kind != Kind::kSgpr) return;
    if (o.sgpr() && o.reg >= kNull) return;
    const u32 regs = RegistersOf(o, lanes);
    for (u32 i = 0; i < regs; ++i) {
      op->touches.Add(o.vgpr(), o.reg + i);
    }
  };
  for (int i = 0; i < op->nsrc; ++i) add(op->src[i]);
  add(op->dst);
  add(op->sdst);
  if (op->second != nullptr) {
    Op second;
    second.CopyFrom(*op->second);
    NoteRegisters(&second, lanes);
    op->touches.Add(second.touches);
  }
}

void Launch::Waited(Wave& w, const Op& op) {
  Pending& p = w.pending;
  const WaitLimits& limits = *static_cast<const WaitLimits*>(op.data);
  const auto wait = [](i32 limit, u32 issued, u32* done) {
    if (limit < 0) return;
    const u32 left = static_cast<u32>(limit);
    if (issued - *done > left) *done = issued - left;
  };
  wait(limits.vm, p.vm_issued, &p.vm_done);
  wait(limits.lds, p.lds_issued, &p.lds_done);
  // Scalar loads return in any order: only waiting for all tells anything.
  // LDS keeps its order, also where both share a counter.
  if (limits.smem == 0 || limits.lgkm == 0) p.smem_done = p.smem_issued;
  wait(limits.lgkm, p.lds_issued, &p.lds_done);
  std::erase_if(p.lds,
                [&](const Pending::LdsBytes& b) { return b.seq <= p.vm_done; });
  if (p.entries.empty()) return;
  const auto arrived = [&p](const Pending::Entry& e) {
    switch (e.wait) {
      case Wait::kVm: return (e.unordered ? p.vm_issued : e.seq) <= p.vm_done;
      case Wait::kLgkmLds:
        return (e.unordered ? p.lds_issued : e.seq) <= p.lds_done;
      default: return e.seq <= p.smem_done;
    }
  };
  p.touched = {};
  std::size_t left = 0;
  for (const Pending::Entry& e : p.entries) {
    if (arrived(e)) continue;
    p.touched.Add(e.vgpr, e.reg);
    p.entries[left++] = e;
  }
  p.entries.resize(left);
}

}  // namespace cerberus::emulator
