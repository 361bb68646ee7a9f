// What may have been meant by a target's name that is none.
#ifndef CERBERUS_SUPPORT_TARGETS_NEAREST_TARGETS_H_
#define CERBERUS_SUPPORT_TARGETS_NEAREST_TARGETS_H_

#include <string>
#include <string_view>

namespace cerberus {

// "gfx1100, gfx1101, ...": all targets of the table, those first that differ
// from `name` in the fewest letters.
std::string NearestTargets(std::string_view name);

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_TARGETS_NEAREST_TARGETS_H_
