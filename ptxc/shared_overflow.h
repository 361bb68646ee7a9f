#ifndef CERBERUS_PTXC_SHARED_OVERFLOW_H_
#define CERBERUS_PTXC_SHARED_OVERFLOW_H_

namespace cerberus::ptx {

// Shared memory above the hardware's (passes/shared_window.h).
enum class SharedOverflow {
  kError,
  kGlobal,  // lies in device memory
  kAlways,  // so does all other shared memory: for tests
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_SHARED_OVERFLOW_H_
