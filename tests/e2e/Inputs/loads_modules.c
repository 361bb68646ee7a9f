/* Adds and doubles with the kernels of two files that it loads by name. */
#include "driver.h"

static void Run(const char* file, const char* name, CUdeviceptr value) {
  CUmodule module;
  CUfunction kernel;
  void* arguments[] = {&value};
  Check(cuModuleLoad(&module, file), file);
  Check(cuModuleGetFunction(&kernel, module, name), name);
  Check(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL),
        "cuLaunchKernel");
}

int main(int argc, char** argv) {
  CUdeviceptr memory;
  int value = 20;
  if (argc != 3) return 2;
  UseDevice();
  Check(cuMemAlloc(&memory, sizeof value), "cuMemAlloc");
  Check(cuMemcpyHtoD(memory, &value, sizeof value), "cuMemcpyHtoD");
  Run(argv[1], "add", memory);
  Run(argv[2], "twice", memory);
  Check(cuMemcpyDtoH(&value, memory, sizeof value), "cuMemcpyDtoH");
  printf("%d: %s\n", value, value == 42 ? "PASS" : "FAIL");
  return value != 42;
}
