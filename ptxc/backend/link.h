// Relocatable AMDGPU objects to a code object the loader takes.
#ifndef CERBERUS_PTXC_BACKEND_LINK_H_
#define CERBERUS_PTXC_BACKEND_LINK_H_

#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::ptx {

Result<Bytes> LinkCodeObject(const std::vector<Bytes>& objects);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_BACKEND_LINK_H_
