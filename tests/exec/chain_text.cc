// Random programs as PTX.
#include <algorithm>
#include <cstdio>
#include <string>

#include "tests/exec/chain_program.h"
#include "tests/exec/reference.h"

namespace cerberus::exec {
namespace {

std::string Constant(const PtxType& type, Value value) {
  char text[40];
  const char* format = type.name == "f32"   ? "0f%08llx"
                       : type.name == "f64" ? "0d%016llx"
                                            : "0x%llx";
  std::snprintf(
      text, sizeof text, format,
      static_cast<unsigned long long>(Low(Truncate(value, type.bits))));
  return text;
}

// `mask`: the register, or number, of the lanes that come here.
std::string InstructionText(const Step& step, const std::string& mask) {
  const ValueTest& test = *step.test;
  std::string body = test.body;
  if (body.empty()) {
    body = test.spelling->text() + " %d0";
    for (std::size_t i = 0; i < test.inputs.size(); ++i) {
      body += ", %a" + std::to_string(i);
    }
    body += ";";
  }
  if (const std::size_t at = body.find("%mask"); at != std::string::npos) {
    body.replace(at, 5, mask);
  }
  std::string text;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool name = body[i] == '%' && i + 2 < body.size() &&
                      (body[i + 1] == 'd' || body[i + 1] == 'a') &&
                      body[i + 2] >= '0' && body[i + 2] <= '9';
    if (!name) {
      text += body[i];
      continue;
    }
    const std::size_t n = static_cast<std::size_t>(body[i + 2] - '0');
    if (body[i + 1] == 'd') {
      text += NameOf(step.outputs[n]);
    } else if (step.inputs[n].reg >= 0) {
      text += NameOf(step.inputs[n].reg);
    } else {
      text += Constant(test.inputs[n], step.inputs[n].value);
    }
    i += 2;
  }
  return IsScoped(test) ? "{ " + text + " }" : text;
}

bool HasWarps(const Steps& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    return step.warp || HasWarps(step.body) || HasWarps(step.otherwise);
  });
}

}  // namespace

std::string Text(const Steps& steps, const std::string& mask) {
  std::string text;
  for (const Step& step : steps) {
    const std::string id = std::to_string(step.id);
    const std::string predicate =
        step.guard < 0 ? "" : (step.negated ? "!" : "") + NameOf(step.guard);
    const std::string guard = predicate.empty() ? "" : "@" + predicate + " ";
    const bool warps = HasWarps(step.body) || HasWarps(step.otherwise);
    switch (step.kind) {
      case Step::Kind::kInstruction:
        text += "  " + guard + InstructionText(step, mask) + "\n";
        break;
      case Step::Kind::kIf:
        if (warps) {
          text += "  vote.sync.ballot.b32 %m" + id + ", " + predicate + ", " +
                  mask + ";\n  xor.b32 %e" + id + ", %m" + id + ", " + mask +
                  ";\n";
        }
        text += "  " + guard + "bra THEN" + id + ";\n" +
                Text(step.otherwise, "%e" + id) + "  bra END" + id + ";\nTHEN" +
                id + ":\n" + Text(step.body, "%m" + id) + "END" + id + ":\n";
        break;
      case Step::Kind::kLoop:
        if (warps) text += "  mov.b32 %m" + id + ", " + mask + ";\n";
        text += "  and.b32 %n" + id + ", " +
                (step.counter >= 0 ? NameOf(step.counter) + ", 3"
                                   : std::to_string(step.count) + ", 7") +
                ";\nHEAD" + id + ":\n  setp.eq.u32 %t, %n" + id + ", 0;\n";
        if (warps) {
          text += "  vote.sync.ballot.b32 %m" + id + ", !%t, %m" + id + ";\n";
        }
        text += "  @%t bra END" + id + ";\n" + Text(step.body, "%m" + id) +
                "  sub.u32 %n" + id + ", %n" + id + ", 1;\n  bra HEAD" + id +
                ";\nEND" + id + ":\n";
        break;
    }
  }
  return text;
}

namespace {

// Counters of loops, masks of lanes.
void AddCounters(const Steps& steps, std::string* text) {
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::kInstruction) {
      const std::string id = std::to_string(step.id);
      *text += "  .reg .b32 %n" + id + ", %m" + id + ", %e" + id + ";\n";
    }
    AddCounters(step.body, text);
    AddCounters(step.otherwise, text);
  }
}

}  // namespace

std::string KernelText(const std::string& name, const Steps& steps) {
  std::string text = ".visible .entry " + name +
                     "(.param .u64 in, .param .u64 out)\n{\n"
                     "  .reg .pred %t;\n  .reg .b32 %mine, %x;\n"
                     "  .reg .b64 %at, %to;\n"
                     "  .local .align 8 .b8 mem[16];\n"
                     "  .shared .align 8 .b8 all[" +
                     std::to_string(8 * kLanes) + "];\n";
  for (const RegisterClass& those : kClasses) {
    text += std::string("  .reg ") + those.type + " " + those.prefix + "<" +
            std::to_string(those.count) + ">;\n";
  }
  AddCounters(steps, &text);
  const std::string stride = std::to_string(8 * kRegisters);
  text +=
      "  mov.u32 %x, %tid.x;\n  ld.param.u64 %at, [in];\n"
      "  ld.param.u64 %to, [out];\n"
      "  mad.wide.u32 %at, %x, " +
      stride +
      ", %at;\n"
      "  mad.wide.u32 %to, %x, " +
      stride +
      ", %to;\n"
      "  mov.u32 %mine, all;\n  mad.lo.u32 %mine, %x, 8, %mine;\n";
  std::string stores;
  for (int reg = 0; reg < kRegisters; ++reg) {
    const std::string at = "+" + std::to_string(8 * reg) + "]";
    const RegisterClass& those = ClassOf(reg);
    if (those.bits == 1) {
      text += "  ld.global.b32 %x, [%at" + at + ";\n  setp.ne.u32 " +
              NameOf(reg) + ", %x, 0;\n";
      stores += "  selp.b32 %x, 1, 0, " + NameOf(reg) +
                ";\n  st.global.b32 [%to" + at + ", %x;\n";
    } else {
      text += std::string("  ld.global") + those.type + " " + NameOf(reg) +
              ", [%at" + at + ";\n";
      stores += std::string("  st.global") + those.type + " [%to" + at + ", " +
                NameOf(reg) + ";\n";
    }
  }
  return text + Text(steps, "0xffffffff") + stores + "  ret;\n}\n";
}

}  // namespace cerberus::exec
