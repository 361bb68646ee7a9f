// Masks that lanes compute from their own number.
#ifndef CERBERUS_PTXC_PASSES_LANES_LANE_MASKS_H_
#define CERBERUS_PTXC_PASSES_LANES_LANE_MASKS_H_

namespace llvm {
class Value;
}  // namespace llvm

namespace cerberus::ptx {

// Whether a mask that differs between lanes puts them into groups, as
// `15 << (lane & 28)` does: each lane's mask names lanes that have the same
// one. So it does only if it depends on nothing but the lane's number or the
// thread's; what is read from memory is not known.
bool FormsGroups(const llvm::Value& mask);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_PASSES_LANES_LANE_MASKS_H_
