// Words that stand for several targets, and which code serves which GPU.
//
//   all        every processor that the compiler knows
//   generic    every generic target (gfx11-generic, …)
//   native     the GPUs of this machine
//   rocm       what the newest ROCm of our table supports; "rocm-7.1": that one
#ifndef CERBERUS_SUPPORT_TARGETS_TARGET_SETS_H_
#define CERBERUS_SUPPORT_TARGETS_TARGET_SETS_H_

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace cerberus {

// "all", "generic", "native", "rocm", "rocm-10.0", …: for messages.
std::string TargetSetNames();

// The target ids that the words stand for, each once; what is no such word
// stays as it is. Errors: a release that is not in the table; no GPU in this
// machine.
Result<std::vector<std::string>> ExpandTargets(
    const std::vector<std::string>& words);

// The GPUs that the kernel shows under `root`/sys, as HSA_OVERRIDE_GFX_VERSION
// would have them seen. Errors: there is none; that variable makes no sense.
Result<std::vector<std::string>> NativeTargets(const std::string& root);

// Of the targets that there is code for those that are asked for, in the order
// of `there`: for a bare processor the code for it in all its variants, for one
// with features the most specific that it loads, and where there is neither,
// that for the generic target which covers it. All, if none is asked for.
std::vector<std::string> ChooseTargets(const std::vector<std::string>& there,
                                       const std::vector<std::string>& asked);

// Whether code or tables for a target are of use to one that is asked for,
// among others that may be as well. `target` may be a family, "gfx11xx", as
// AOTriton names its folders.
bool IsOfUse(std::string_view target, const std::vector<std::string>& asked);

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_TARGETS_TARGET_SETS_H_
