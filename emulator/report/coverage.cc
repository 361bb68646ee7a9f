// Which instructions of a target are executed: LLVM's opcode names against the
// tables that decoding uses.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "emulator/decode/decode.h"
#include "emulator/decode/disassembler.h"
#include "emulator/device/device.h"
#include "emulator/emulator.h"
#include "emulator/execute/semantics.h"

namespace cerberus::emulator {

bool KnowsScalarMemory(std::string_view name);
bool KnowsLds(std::string_view name);
bool KnowsFlat(std::string_view name);
bool KnowsBuffer(std::string_view name);

bool KnowsMatrix(std::string_view name, Gen gen);
bool KnowsSmallFloat(std::string_view name);

bool KnowsFamily(std::string_view name, Gen gen) {
  return KnowsScalarMemory(name) || KnowsLds(name) || KnowsFlat(name) ||
         KnowsBuffer(name) || KnowsMatrix(name, gen) || KnowsSmallFloat(name);
}

namespace {

// Why an instruction is not for compute kernels, or "".
std::string OutOfScope(std::string_view m) {
  const auto starts = [&](std::string_view p) { return m.starts_with(p); };
  if (starts("image_")) return "image";
  if (starts("exp") && !starts("exp_")) return "export";
  if (starts("v_interp_") || starts("lds_param") || starts("lds_direct") ||
      starts("ds_param") || starts("ds_direct")) {
    return "interpolation";
  }
  if (m.find("bvh") != std::string_view::npos) return "ray tracing";
  if (starts("ds_gws") || m.find("_gs_reg") != std::string_view::npos ||
      starts("ds_ordered_count")) {
    return "global data share";
  }
  if (starts("tbuffer_") || m.find("_format_") != std::string_view::npos) {
    return "typed buffers (images)";
  }
  if (m == "s_alloc_vgpr" || m.find("load_block") != std::string_view::npos ||
      m.find("store_block") != std::string_view::npos) {
    return "no gfx12 product has it";
  }
  if (m == "v_screen_partition_4se_b32" ||
      m == "global_atomic_ordered_add_b64") {
    return "graphics";
  }
  if (m == "global_load_tr_b64") return "its order of lanes is not published";
  if (m == "v_illegal") return "not an instruction";
  if (starts("s_rfe") || starts("s_cbranch_g_fork") ||
      starts("s_cbranch_i_fork") || m == "s_cbranch_join" ||
      m == "s_setvskip") {
    return "trap handlers and forks only";
  }
  return "";
}

}  // namespace

Result<std::vector<MnemonicInfo>> ListMnemonics(std::string_view target) {
  const Target* const t = FindTarget(target);
  if (t == nullptr) {
    return Err(DiagCode::kUnsupported,
               "the emulator does not execute " + std::string(target));
  }
  CERB_TRY(const auto disassembler,
           Disassembler::Create(std::string(target), ""));
  std::vector<MnemonicInfo> list;
  for (const std::string& m : disassembler->Mnemonics()) {
    MnemonicInfo info;
    info.mnemonic = m;
    std::string name(CanonicalName(m, t->gen));
    if (name.starts_with("v_cmpx_")) name = "v_cmp_" + name.substr(7);
    if (name.starts_with("v_dual_")) name = "v_" + name.substr(7);
    info.reason = OutOfScope(m);
    const Semantic* const s = FindSemantic(name, t->gen);
    info.executed = info.reason.empty() &&
                    (KnowsFamily(m, t->gen) ||
                     (s != nullptr && s->handler != ExecUnimplemented));
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace cerberus::emulator
