// How CUDA's libraries call a GPU.
#ifndef CERBERUS_HIP_CUDA_UUID_H_
#define CERBERUS_HIP_CUDA_UUID_H_

struct CUuuid {
  char bytes[16];
};

#endif  // CERBERUS_HIP_CUDA_UUID_H_
