// The functions that CUDA's device runtime defines and the device library has:
// printf, assert, malloc and free, and what libcudadevrt.a adds for kernels
// that launch kernels.
#ifndef CERBERUS_PTXC_LOWER_SERVICES_H_
#define CERBERUS_PTXC_LOWER_SERVICES_H_

#include <string_view>

namespace cerberus::ptx {

struct Service {
  enum Kind {
    kPlain,       // gets the context's address before its arguments
    kFault,       // the same; the wave ends
    kRuntime,     // gets context, launch queue and grid
    kHeap,        // the same, and does without a queue
    kDirect,      // gets its arguments alone
    kUnsupported  // `dev` says why
  };
  // As nvcc declares it; of the device runtime without `__cudaCDP2` or `cuda`
  // in front and without `_ptsz` behind.
  std::string_view name;
  Kind kind;
  const char* dev;     // __cerberus_dev_<dev>
  unsigned result;     // bytes; 0: none
  unsigned params[8];  // bytes; those behind the last one are 0
  // The parameter that is a stream, counted from 1; 0: none. Null stands for
  // the thread's own where the name ends in `_ptsz`.
  unsigned stream;
};

// Null for a function that is no service. `per_thread`, if given, is set for a
// name that ends in `_ptsz`.
const Service* FindService(std::string_view name, bool* per_thread = nullptr);

// Whether a call of it needs the launch queue of its kernel.
inline bool NeedsLaunchQueue(const Service* service) {
  return service != nullptr && service->kind == Service::kRuntime;
}

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_LOWER_SERVICES_H_
