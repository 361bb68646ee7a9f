#ifndef CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUFFTXT_H_
#define CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUFFTXT_H_

#include "cufft.h"

enum cufftXtSubFormat {
  CUFFT_XT_FORMAT_INPUT,
  CUFFT_XT_FORMAT_OUTPUT,
  CUFFT_XT_FORMAT_INPLACE,
  CUFFT_XT_FORMAT_INPLACE_SHUFFLED
};
enum cufftXtCopyType {
  CUFFT_COPY_HOST_TO_DEVICE,
  CUFFT_COPY_DEVICE_TO_HOST,
  CUFFT_COPY_DEVICE_TO_DEVICE
};
struct cudaXtDesc {
  int version, nGPUs, GPUs[64];
  void* data[64];
  size_t size[64];
  void* cudaXtState;
};
struct cudaLibXtDesc {
  int version;
  cudaXtDesc* descriptor;
  int library, subFormat;
  void* libDescriptor;
};
extern "C" {
cufftResult cufftXtSetGPUs(cufftHandle, int, int*);
cufftResult cufftXtMalloc(cufftHandle, cudaLibXtDesc**, cufftXtSubFormat);
cufftResult cufftXtFree(cudaLibXtDesc*);
cufftResult cufftXtMemcpy(cufftHandle, void*, void*, cufftXtCopyType);
cufftResult cufftXtExecDescriptorC2C(cufftHandle, cudaLibXtDesc*,
                                     cudaLibXtDesc*, int);
cufftResult cufftXtExecDescriptorR2C(cufftHandle, cudaLibXtDesc*,
                                     cudaLibXtDesc*);
cufftResult cufftXtExecDescriptorC2R(cufftHandle, cudaLibXtDesc*,
                                     cudaLibXtDesc*);
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle, cudaLibXtDesc*,
                                     cudaLibXtDesc*, int);
}

#endif  // CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUFFTXT_H_
