// What each exported function goes through.
#ifndef CERBERUS_LIBRARIES_CUBLAS_API_H_
#define CERBERUS_LIBRARIES_CUBLAS_API_H_

#include <new>

#include "libraries/cublas/abi.h"
#include "libraries/cublas/handle.h"

#define CUBLAS_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::cublas {

// The call of a handle: a dead one and a lack of memory are its errors.
template <typename F>
Status Guarded(Handle handle, const F& call) {
  if (!IsAlive(handle)) return kNotInitialized;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return kAllocFailed;
  }
}

// cublas.h's functions share a handle and say later what went wrong.
Handle OldHandle();
void KeepOldStatus(Status status);
template <typename F>
void Old(const F& call) {
  const Handle handle = OldHandle();
  KeepOldStatus(Guarded(handle, [&] { return call(handle); }));
}

// "N", "n" → kN, …; a value that is none of them for other letters.
Operation OperationOf(char letter);
Fill FillOf(char letter);
Side SideOf(char letter);
Diag DiagOf(char letter);

}  // namespace cerberus::libraries::cublas

#endif  // CERBERUS_LIBRARIES_CUBLAS_API_H_
