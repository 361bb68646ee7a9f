/* PTX among strings whose bytes are counted, as Rust and Go lay them out: no
   NUL stands between them. What is handed over is a copy that ends in one. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define MODULE(name, does)                                      \
  "//\n// Made by hand.\n//\n\n.version 7.0\n.target sm_52\n"   \
  ".address_size 64\n\n.visible .entry " name                   \
  "(.param .u64 out)\n{\n.reg .u64 %rd<2>;\n.reg .u32 %r<2>;\n" \
  "ld.param.u64 %rd1, [out];\nmov.u32 %r1, 20;\n" does          \
  "\nst.u32 [%rd1], %r1;\nret;\n}\n\n"
#define ADDS MODULE("adds", "add.u32 %r1, %r1, 1;")
#define DOUBLES MODULE("doubles", "add.u32 %r1, %r1, %r1;")

static const struct {
  char before[11];
  char adds[sizeof(ADDS) - 1];
  char doubles[sizeof(DOUBLES) - 1];
  char behind[6];
} kStrings = {"src/main.rs", ADDS, DOUBLES, "unwrap"};

static unsigned Run(const char* text, size_t size, const char* name) {
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr out;
  unsigned value = 0;
  char* copy = calloc(size + 1, 1);
  if (copy == NULL) exit(1);
  memcpy(copy, text, size);
  Check(cuModuleLoadData(&module, copy), "cuModuleLoadData");
  free(copy);
  Check(cuModuleGetFunction(&kernel, module, name), "cuModuleGetFunction");
  Check(cuMemAlloc(&out, 4), "cuMemAlloc");
  void* arguments[] = {&out};
  Check(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL),
        "cuLaunchKernel");
  Check(cuMemcpyDtoH(&value, out, 4), "cuMemcpyDtoH");
  return value;
}

int main(void) {
  UseDevice();
  const unsigned added = Run(kStrings.adds, sizeof(kStrings.adds), "adds");
  const unsigned doubled =
      Run(kStrings.doubles, sizeof(kStrings.doubles), "doubles");
  printf("%u %u: %s\n", added, doubled,
         added == 21 && doubled == 40 ? "PASS" : "FAIL");
  return 0;
}
