#include "standins/tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>

#include "ptxc/front/parse/parser.h"
#include "standins/resources.h"

namespace cerberus::standins {
namespace {

using ptx::Function;
using ptx::Linkage;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Variable;

// Functions that the driver defines itself (PTX interoperability, "System
// calls"), which no module needs to have.
constexpr std::string_view kSystemCalls[] = {"vprintf", "malloc", "free",
                                             "__assertfail", "__assert_fail"};

}  // namespace

void Say(std::string_view tool, std::string_view level,
         std::string_view words) {
  fmt::print(stderr, "{} {:<8}: {}\n", tool, level, words);
}

std::string ToolkitVersion() {
  // CUDA 13.0 came with PTX 9.0, and so on.
  const int newest = ptx::NewestVersion();
  return fmt::format("{}.{}", newest / 10 + 4, newest % 10);
}

void PrintVersion(std::string_view tool, std::string_view what) {
  const std::string version = ToolkitVersion();
  fmt::print(
      "{}: {}\n"
      "Cerberus, in place of NVIDIA's: checks PTX and keeps it\n"
      "Cuda compilation tools, release {}, V{}.0\n"
      "Build cuda_{}.r{}/cerberus\n",
      tool, what, version, version, version, version);
}

std::optional<images::CubinTraits> ParseArch(std::string_view name,
                                             bool or_virtual) {
  constexpr std::uint32_t kKnown[] = {50,  52,  53,  60,  61,  62, 70, 72,
                                      75,  80,  86,  87,  88,  89, 90, 100,
                                      101, 103, 107, 110, 120, 121};
  if (name.starts_with("sm_")) {
    name.remove_prefix(3);
  } else if (or_virtual && name.starts_with("compute_")) {
    name.remove_prefix(8);
  } else {
    return std::nullopt;
  }
  images::CubinTraits traits;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, traits.sm);
  if (error != std::errc() || end - rest > 1) return std::nullopt;
  if (rest != end) traits.suffix = *rest;
  const bool known = std::find(std::begin(kKnown), std::end(kKnown),
                               traits.sm) != std::end(kKnown);
  const bool has_suffix = traits.suffix == 0 ||
                          (traits.suffix == 'a' && traits.sm >= 90) ||
                          (traits.suffix == 'f' && traits.sm >= 100);
  if (!known || !has_suffix) return std::nullopt;
  return traits;
}

bool ReadInput(const std::string& name, std::string* bytes) {
  std::FILE* file = name == "-" ? stdin : std::fopen(name.c_str(), "rb");
  if (file == nullptr) return false;
  char part[1 << 16];
  while (const std::size_t got = std::fread(part, 1, sizeof part, file)) {
    bytes->append(part, got);
  }
  const bool good = std::ferror(file) == 0;
  if (file != stdin) std::fclose(file);
  return good;
}

bool WriteOutput(const std::string& name, ByteSpan bytes) {
  std::FILE* file = std::fopen(name.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written =
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && written;
}

using Defined = std::map<std::string_view, const LinkInput*>;

// What the inputs give: name, and which gave it first.
static Defined FindDefined(const std::vector<LinkInput>& inputs,
                           std::vector<LinkProblem>& problems) {
  Defined defined;
  const auto define = [&](const LinkInput& input, std::string_view name,
                          Linkage linkage, std::uint32_t offset,
                          bool is_function) {
    if (linkage == Linkage::kWeak || linkage == Linkage::kCommon) {
      defined.emplace(name, &input);
      return;
    }
    const auto [at, first] = defined.emplace(name, &input);
    if (first || at->second == &input) return;
    problems.push_back({LinkProblem::Kind::kDefinedTwice, std::string(name),
                        input.file, at->second->file,
                        input.module->PositionOf(offset).line, is_function});
  };
  for (const LinkInput& input : inputs) {
    for (const Function& function : input.module->functions) {
      const bool seen_outside =
          function.is_entry || function.linkage != Linkage::kLocal;
      if (function.has_body && seen_outside) {
        define(input, function.name, function.linkage, function.offset, true);
      }
    }
    for (const Variable& variable : input.module->variables) {
      if (variable.function == ptx::kNoId &&
          variable.linkage != Linkage::kLocal &&
          variable.linkage != Linkage::kExtern) {
        define(input, variable.name, variable.linkage, variable.offset, false);
      }
    }
  }
  return defined;
}

// What one of them uses of the others, and nobody gives.
static void FindUndefined(const LinkInput& input, const Defined& defined,
                          std::vector<LinkProblem>& problems) {
  const ptx::Module& module = *input.module;
  std::set<std::string_view> missing;
  const auto use = [&](std::string_view name, bool is_function) {
    if (defined.contains(name) || !missing.insert(name).second) return;
    problems.push_back({LinkProblem::Kind::kUndefined, std::string(name),
                        input.file, "", 0, is_function});
  };
  const auto use_function = [&](std::uint32_t id) {
    if (id >= module.functions.size()) return;
    const Function& function = module.functions[id];
    if (!function.has_body &&
        std::find(std::begin(kSystemCalls), std::end(kSystemCalls),
                  function.name) == std::end(kSystemCalls)) {
      use(function.name, true);
    }
  };
  // Shared memory declared .extern is that of the launch.
  const auto use_variable = [&](std::uint32_t id) {
    if (id >= module.variables.size()) return;
    const Variable& variable = module.variables[id];
    if (variable.linkage == Linkage::kExtern &&
        variable.space != ptx::VarSpace::kShared) {
      use(variable.name, false);
    }
  };
  for (const Function& function : module.functions) {
    // All operands of the function, those within others too.
    for (const Operand& operand : function.operands) {
      if (operand.kind == OperandKind::kFunction) {
        use_function(operand.index);
      } else if (operand.kind == OperandKind::kVariable ||
                 operand.base == OperandKind::kVariable) {
        use_variable(operand.index);
      }
    }
  }
  for (const Variable& variable : module.variables) {
    for (const ptx::InitElement& element : variable.init) {
      if (element.kind == ptx::InitElement::Kind::kFunction) {
        use_function(element.index);
      } else if (element.kind == ptx::InitElement::Kind::kVariable) {
        use_variable(element.index);
      }
    }
  }
}

std::vector<LinkProblem> CheckLink(const std::vector<LinkInput>& inputs) {
  std::vector<LinkProblem> problems;
  const Defined defined = FindDefined(inputs, problems);
  for (const LinkInput& input : inputs) {
    FindUndefined(input, defined, problems);
  }
  return problems;
}

void PrintResources(std::string_view tool, const ptx::Module& module,
                    const std::string& arch, Shown shown) {
  // Constant bank 0 begins with what the launch says.
  const std::uint64_t before_params = module.sm >= 100  ? 896
                                      : module.sm >= 90 ? 528
                                                        : 352;
  std::string memory =
      fmt::format("{} bytes gmem", BytesIn(module, ptx::VarSpace::kGlobal));
  const std::uint64_t constants = BytesIn(module, ptx::VarSpace::kConst);
  if (constants != 0) memory += fmt::format(", {} bytes cmem[3]", constants);
  Say(tool, "info", memory);
  for (const Function& function : module.functions) {
    if (!function.has_body) continue;
    if (!function.is_entry && shown == Shown::kKernels) continue;
    const Resources resources = ResourcesOf(module, function);
    if (function.is_entry) {
      Say(tool, "info",
          fmt::format("Compiling entry function '{}' for '{}'", function.name,
                      arch));
    }
    Say(tool, "info", fmt::format("Function properties for {}", function.name));
    fmt::print(stderr,
               "    {} bytes stack frame, 0 bytes spill stores, 0 bytes spill "
               "loads\n",
               resources.stack_bytes);
    if (!function.is_entry) continue;
    std::string used = fmt::format("Used {} registers, used {} barriers",
                                   resources.registers, resources.barriers);
    if (resources.stack_bytes != 0) {
      used += fmt::format(", {} bytes cumulative stack size",
                          resources.stack_bytes);
    }
    if (resources.shared_bytes != 0) {
      used += fmt::format(", {} bytes smem", resources.shared_bytes);
    }
    used += fmt::format(", {} bytes cmem[0]",
                        before_params + resources.param_bytes);
    Say(tool, "info", used);
  }
}

}  // namespace cerberus::standins
