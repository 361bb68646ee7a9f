#include "ptxc/target_traits.h"

namespace cerberus::ptx {

TargetTraits TargetTraits::Of(const TargetId& target) {
  TargetTraits traits;
  const std::string& name = target.processor;
  // GCN and CDNA are wave64 only; RDNA (gfx10 on) runs waves of 32.
  if (name.compare(0, 4, "gfx9") == 0) traits.wave_size = 64;
  if (name == "gfx950") traits.lds_bytes = 160 * 1024;
  return traits;
}

}  // namespace cerberus::ptx
