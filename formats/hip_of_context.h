// What the driver stub tells our libraries beside it of the HIP that it uses,
// by cuCerberusHip, of which CUDA's driver knows nothing (docs/libraries.md).
#ifndef CERBERUS_FORMATS_HIP_OF_CONTEXT_H_
#define CERBERUS_FORMATS_HIP_OF_CONTEXT_H_

namespace cerberus::formats {

struct HipOfContext {
  void* device_count;  // hipGetDeviceCount, to tell one HIP from another
  int major;
  int emulated;      // whether kernels run in the memory of the process
  char file[1024];   // of that HIP
  char target[128];  // "gfx90a:sramecc+:xnack-", of the context's device
};

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_HIP_OF_CONTEXT_H_
