// Places of memory: devices count as HIP counts them on HIP's side.
#ifndef CERBERUS_RUNTIME_STUB_DEVICE_LOCATION_H_
#define CERBERUS_RUNTIME_STUB_DEVICE_LOCATION_H_

#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/device.h"

namespace cerberus::stub {

// CU_DEVICE_CPU, and HIP's number for it: both -1.
inline constexpr int kHostAsDevice = -1;

// Replaces a CUDA ordinal by HIP's. Errors: CUDA_ERROR_INVALID_DEVICE.
inline CUresult ToHip(CUmemLocation* location) {
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_SUCCESS;
  const Device* device = GetDevice(location->id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  location->id = device->hip_ordinal;
  return CUDA_SUCCESS;
}

// HIP's ordinal as CUDA's; numbers that name no device stay as they are.
inline int FromHipOrdinal(int hip_ordinal) {
  const Device* device = DeviceOfHip(hip_ordinal);
  return device != nullptr ? device->ordinal : hip_ordinal;
}

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_DEVICE_LOCATION_H_
