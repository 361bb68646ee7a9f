// Code objects as the HIP that is there takes them.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_HIP_IMAGE_H_
#define CERBERUS_RUNTIME_STUB_MODULE_HIP_IMAGE_H_

#include "hip/hip_loader.h"
#include "support/bytes.h"

namespace cerberus::stub {

// The same code for a HIP of version 5; empty: as it is.
Bytes ForHip5(ByteSpan code);

// The same code of version 5 for a HIP before 5.3.
Bytes ForHipBefore53(ByteSpan code);

hipError_t LoadIntoHip(hipModule_t* loaded, ByteSpan code);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_HIP_IMAGE_H_
