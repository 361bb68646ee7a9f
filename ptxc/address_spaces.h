#ifndef CERBERUS_PTXC_ADDRESS_SPACES_H_
#define CERBERUS_PTXC_ADDRESS_SPACES_H_

namespace cerberus::ptx {

// Address spaces of the AMDGPU backend (LLVM, User Guide for AMDGPU Backend,
// "Address Spaces").
enum AddressSpace : unsigned {
  kAsGeneric = 0,
  kAsGlobal = 1,
  kAsShared = 3,
  kAsConstant = 4,
  kAsLocal = 5,
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_ADDRESS_SPACES_H_
