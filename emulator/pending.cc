// The check of missing waits. Memory instructions run at once here, but on the
// hardware their results arrive later; code must wait for a counter before it
// touches them (RDNA3 ISA, section 4.4; AMDGPUUsage, "Memory Model"). A result
// that is read or overwritten earlier is an error.
#include <algorithm>

#include <fmt/format.h>

#include "emulator/launch.h"

namespace cerberus::emulator {
namespace {

void Add(Wave& w, const Operand& o, Wait wait, u32 seq) {
  for (u32 i = 0; i < o.regs; ++i) {
    w.pending.entries.push_back(
        {static_cast<u16>(o.reg + i), o.vgpr(), wait, seq});
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

void CheckOperand(Wave& w, const Operand& o, const Op& op, bool written) {
  if (o.kind != Kind::kVgpr && o.kind != Kind::kSgpr) return;
  if (o.sgpr() && o.reg >= kNull) return;
  u32 regs = o.regs;
  if (o.sgpr() && o.type == Type::kMask) regs = w.lanes == 64 ? 2 : 1;
  for (const Pending::Entry& e : w.pending.entries) {
    if (e.vgpr != o.vgpr() || e.reg < o.reg || e.reg >= o.reg + regs) continue;
    // Results of one kind arrive in order, so a later one may overwrite.
    if (written && op.wait != Wait::kNone) continue;
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
      if (!counts && (op.flags & kFlagLds) == 0) return;
      ++p.vm_issued;
      if (result) Add(w, op.dst, Wait::kVm, p.vm_issued);
      break;
    case Wait::kFlat:
      if (counts) ++p.vm_issued;
      ++p.lds_issued;
      if (result) {
        Add(w, op.dst, Wait::kVm, p.vm_issued);
        Add(w, op.dst, Wait::kLgkmLds, p.lds_issued);
      }
      break;
    case Wait::kLgkmLds:
      ++p.lds_issued;
      if (result) Add(w, op.dst, Wait::kLgkmLds, p.lds_issued);
      break;
    case Wait::kLgkmSmem:
      ++p.smem_issued;
      if (result) Add(w, op.dst, Wait::kLgkmSmem, p.smem_issued);
      break;
    default:
      break;
  }
}

void CheckPending(Wave& w, const Op& op) {
  for (int i = 0; i < op.nsrc; ++i) CheckOperand(w, op.src[i], op, false);
  CheckOperand(w, op.dst, op, true);
  CheckOperand(w, op.sdst, op, true);
  if (op.second != nullptr) CheckPending(w, *op.second);
}

void Launch::Waited(Wave& w, const Op& op) {
  Pending& p = w.pending;
  const Text& t = *static_cast<const Text*>(op.data);
  const auto vm = [&](u32 left) {
    if (p.vm_issued - p.vm_done > left) p.vm_done = p.vm_issued - left;
  };
  const auto lds = [&](u32 left) {
    if (p.lds_issued - p.lds_done > left) p.lds_done = p.lds_issued - left;
  };
  // Scalar loads return in any order: only waiting for all tells anything.
  const auto smem = [&](u32 left) {
    if (left == 0) p.smem_done = p.smem_issued;
  };
  const auto lgkm = [&](u32 left) {
    smem(left);
    if (p.smem_done == p.smem_issued) lds(left);
  };
  i64 number = 0;
  if (!t.operands.empty()) ParseInt(t.operands.back(), &number);
  const u32 n = static_cast<u32>(number);
  const std::string& m = t.mnemonic;
  if (m == "s_waitcnt") {
    const auto value = [&](std::string_view name) -> i64 {
      const std::size_t at = t.rest.find(name);
      if (at == std::string::npos) return -1;
      return std::strtol(t.rest.c_str() + at + name.size(), nullptr, 0);
    };
    if (const i64 v = value("vmcnt("); v >= 0) vm(static_cast<u32>(v));
    if (const i64 v = value("lgkmcnt("); v >= 0) lgkm(static_cast<u32>(v));
  } else if (m == "s_waitcnt_vmcnt" || m == "s_wait_loadcnt") {
    vm(n);
  } else if (m == "s_waitcnt_lgkmcnt") {
    lgkm(n);
  } else if (m == "s_wait_dscnt") {
    lds(n);
  } else if (m == "s_wait_kmcnt") {
    smem(n);
  } else if (m == "s_wait_loadcnt_dscnt") {
    vm(n >> 8 & 63);
    lds(n & 63);
  } else if (m == "s_wait_storecnt_dscnt") {
    lds(n & 63);
  } else if (m == "s_wait_idle") {
    vm(0);
    lgkm(0);
  }
  std::erase_if(p.entries, [&](const Pending::Entry& e) {
    switch (e.wait) {
      case Wait::kVm: return e.seq <= p.vm_done;
      case Wait::kLgkmLds: return e.seq <= p.lds_done;
      default: return e.seq <= p.smem_done;
    }
  });
}

}  // namespace cerberus::emulator
