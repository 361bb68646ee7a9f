/* Runs a kernel on a number: of a file that is loaded by name, or of the bytes
   of one. */
#include "driver.h"

int apply(const char* file, const void* bytes, const char* name, int value) {
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr memory;
  void* arguments[] = {&memory};
  UseDevice();
  Check(cuMemAlloc(&memory, sizeof value), "cuMemAlloc");
  Check(cuMemcpyHtoD(memory, &value, sizeof value), "cuMemcpyHtoD");
  Check(bytes ? cuModuleLoadData(&module, bytes) : cuModuleLoad(&module, file),
        file);
  Check(cuModuleGetFunction(&kernel, module, name), name);
  Check(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL),
        "cuLaunchKernel");
  Check(cuMemcpyDtoH(&value, memory, sizeof value), "cuMemcpyDtoH");
  return value;
}
