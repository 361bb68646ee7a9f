// The table of the driver API, and the slots behind the exported symbols.
//
// Every exported symbol is one jump through its slot. A slot first leads to
// the stub's own function, or to one that refuses the call by name; when the
// process is handed over to a real NVIDIA driver (provider.h), all slots are
// pointed at that driver's functions.
#ifndef CERBERUS_RUNTIME_STUB_API_DISPATCH_H_
#define CERBERUS_RUNTIME_STUB_API_DISPATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "hip/hip_abi.h"

namespace cerberus::stub {

enum class ApiStatus : std::uint8_t { kForward, kImpl, kUnsupported };

struct ApiRow {
  const char* symbol;
  const char* name;
  int version;
  ApiStatus status;
  bool per_thread;  // a _ptsz or _ptds variant
  void** slot;
};

// In the order of cuda_api.def.
std::span<const ApiRow> ApiTable();

enum class ProcLookup { kFound, kUnknownName, kVersionTooOld };

// The function for a name as cuGetProcAddress understands it: the newest
// implemented ABI not above `version`; of per-thread variants only if asked,
// and then before the plain ones.
ProcLookup FindProc(const char* name, int version, bool per_thread,
                    void** function);

// What stream 0 means in the calling thread's current driver call: the
// device's null stream, or the thread's own stream within a call of a
// per-thread variant.
hipStream_t DefaultStream();

// Within its scope, stream 0 is the calling thread's own.
class PerThreadStreamScope {
 public:
  PerThreadStreamScope();
  ~PerThreadStreamScope();
  PerThreadStreamScope(const PerThreadStreamScope&) = delete;
  PerThreadStreamScope& operator=(const PerThreadStreamScope&) = delete;

 private:
  hipStream_t outer_;
};

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_API_DISPATCH_H_
