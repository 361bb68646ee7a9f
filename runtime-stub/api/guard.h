// Where memory runs out, the standard library throws. No exception leaves the
// stub: every function that a program reaches is called through Guarded, which
// turns one into the CUDA error for it.
//
// Only exceptions of the standard library are caught: a thread that is
// cancelled unwinds too, and must get through. Nothing may be thrown through
// functions of C (pthread_once, dl_iterate_phdr, HIP): they clean up by another
// unwinder than the one that is linked here.
#ifndef CERBERUS_RUNTIME_STUB_API_GUARD_H_
#define CERBERUS_RUNTIME_STUB_API_GUARD_H_

#include <exception>

#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

// Within a catch clause: the error for what was thrown.
CUresult ErrorOfException();

template <auto Function>
struct Guarded;
template <typename... Args, CUresult (*Function)(Args...)>
struct Guarded<Function> {
  static CUresult Call(Args... args) {
    try {
      return Function(args...);
    } catch (const std::exception&) {
      return ErrorOfException();
    }
  }
};

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_API_GUARD_H_
