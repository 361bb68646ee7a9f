// AMD target ids: "gfx942", "gfx942:sramecc+:xnack-", "gfx11-generic".
// Source: LLVM, User Guide for AMDGPU Backend, section "Target ID".
#ifndef CERBERUS_SUPPORT_TARGETS_TARGET_ID_H_
#define CERBERUS_SUPPORT_TARGETS_TARGET_ID_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace cerberus {

struct TargetId {
  std::string processor;              // "gfx942", "gfx11-generic"
  std::vector<std::string> features;  // "sramecc+", "xnack-"; sorted

  // Accepts an optional "amdgcn-amd-amdhsa--" prefix. Errors: not a gfx
  // name, or a feature that is not <name>+ or <name>-.
  static Result<TargetId> Parse(std::string_view text);
  std::string ToString() const;  // "gfx942:sramecc+:xnack-"
  bool is_generic() const;

  // What a device of this id can load, most specific first: the id with all
  // its features, each subset of them, the bare processor, and last the
  // generic target that covers the processor, if there is one.
  std::vector<std::string> LoadOrder() const;
};

// The kernel's number for a processor: 90402 → "gfx942", 90010 → "gfx90a":
// decimal pairs, of which the name has the last two as one hexadecimal digit
// each.
std::string ProcessorOfVersion(std::uint64_t version);

// The generic target that covers a processor ("gfx1100" → "gfx11-generic"),
// or "" where LLVM has none (gfx90a).
std::string_view GenericTargetOf(std::string_view processor);

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_TARGETS_TARGET_ID_H_
