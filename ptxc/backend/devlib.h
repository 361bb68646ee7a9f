// The device library: what is easier said in C++ than by an IR builder.
#ifndef CERBERUS_PTXC_BACKEND_DEVLIB_H_
#define CERBERUS_PTXC_BACKEND_DEVLIB_H_

#include "support/result.h"

namespace llvm {
class Module;
}

namespace cerberus::ptx {

// Links the functions that the module calls (__cerberus_dev_*), and what
// those call, into it; they are inlined later.
Status LinkDeviceLibrary(llvm::Module& module);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_BACKEND_DEVLIB_H_
