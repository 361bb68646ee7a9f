// What programs of the driver API here begin with, in C and in C++.
#ifndef CERBERUS_TESTS_E2E_INPUTS_DRIVER_H_
#define CERBERUS_TESTS_E2E_INPUTS_DRIVER_H_

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  printf("FAIL: %s: error %d\n", what, (int)result);
  exit(1);
}

// The primary context of the first device.
static void UseDevice(void) {
  CUdevice device;
  CUcontext context;
  Check(cuInit(0), "cuInit");
  Check(cuDeviceGet(&device, 0), "cuDeviceGet");
  Check(cuDevicePrimaryCtxRetain(&context, device), "retain");
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

#endif  // CERBERUS_TESTS_E2E_INPUTS_DRIVER_H_
