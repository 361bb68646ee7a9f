// Composable kernel: libdevice_conv_operations_gfx942.a,
// libdevice_conv_operations_gfx90a_xnackp.a, …_gfx1250_strict.a: target ids in
// which ':' is '_', '+' 'p' and '-' '_'. Without a target they are for all.
#include <algorithm>

#include "packager/databases/databases.h"
#include "support/targets/target_id.h"

namespace cerberus::packager {
namespace {

// "gfx90a_xnackp" → "gfx90a:xnack+"; "" for anything else.
std::string FromSanitized(std::string_view text) {
  std::string target(text.substr(0, text.find('_')));
  text.remove_prefix(target.size());
  if (text.substr(0, 7) == "_strict") {
    target += "-strict";
    text.remove_prefix(7);
  }
  while (!text.empty()) {
    bool found = false;
    for (const std::string_view feature : {"_sramecc", "_xnack"}) {
      const std::string_view sign =
          text.substr(std::min(feature.size(), text.size()), 1);
      if (text.substr(0, feature.size()) != feature ||
          (sign != "p" && sign != "_")) {
        continue;
      }
      target +=
          ":" + std::string(feature.substr(1)) + (sign == "p" ? "+" : "-");
      text.remove_prefix(feature.size() + 1);
      found = true;
    }
    if (!found) return "";
  }
  const Result<TargetId> id = TargetId::Parse(target);
  return id ? id->ToString() : "";
}

}  // namespace

std::string ComposableKernelTarget(std::string_view path) {
  const std::string_view name = FileName(path);
  constexpr std::string_view kEnd = ".a";
  const std::size_t at = name.rfind("_operations_gfx");
  if (at == name.npos || name.substr(0, 10) != "libdevice_" ||
      !EndsWith(name, kEnd)) {
    return "";
  }
  const std::size_t begin = name.find("gfx", at);
  return FromSanitized(name.substr(begin, name.size() - kEnd.size() - begin));
}

}  // namespace cerberus::packager
