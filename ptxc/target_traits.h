// What lowering asks of the AMD target.
#ifndef CERBERUS_PTXC_TARGET_TRAITS_H_
#define CERBERUS_PTXC_TARGET_TRAITS_H_

#include "support/target_id.h"

namespace cerberus::ptx {

struct TargetTraits {
  int wave_size = 32;
  unsigned lds_bytes = 65536;

  static TargetTraits Of(const TargetId& target);
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_TARGET_TRAITS_H_
