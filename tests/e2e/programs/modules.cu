// Modules and libraries made of PTX text at run time.
//
// RUN: %check %s %t
#include "program.h"

const char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .entry scale(.param .u64 p, .param .u32 n) {
  .reg .pred %q; .reg .b32 %r<6>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [p];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %q, %r1, %r0;
  @%q ret;
  mul.wide.u32 %d1, %r1, 4;
  add.s64 %d2, %d0, %d1;
  ld.global.u32 %r2, [%d2];
  ld.global.u32 %r3, [factor];
  mul.lo.u32 %r4, %r2, %r3;
  st.global.u32 [%d2], %r4;
  ret;
}
)";

int main() {
  CHECK(cudaSetDevice(0));
  CUmodule module;
  CHECK_DRIVER(cuModuleLoadData(&module, kPtx));
  CUfunction scale, none;
  CHECK_DRIVER(cuModuleGetFunction(&scale, module, "scale"));
  EXPECT(cuModuleGetFunction(&none, module, "nothing") ==
         CUDA_ERROR_NOT_FOUND);
  CUdeviceptr factor;
  std::size_t bytes = 0;
  CHECK_DRIVER(cuModuleGetGlobal(&factor, &bytes, module, "factor"));
  EXPECT(bytes == 4);
  unsigned count = 0;
  CHECK_DRIVER(cuModuleGetFunctionCount(&count, module));
  EXPECT(count == 1);
  const char* name = nullptr;
  CHECK_DRIVER(cuFuncGetName(&name, scale));
  EXPECT(std::strcmp(name, "scale") == 0);
  CUmodule of;
  CHECK_DRIVER(cuFuncGetModule(&of, scale));
  EXPECT(of == module);

  int* p = ToDevice(std::vector<int>(40, 2));
  unsigned n = 40;
  void* args[] = {&p, &n};
  CHECK_DRIVER(cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, 0, args, nullptr));
  EXPECT(ToHost(p, 40) == std::vector<int>(40, 6));
  CHECK_DRIVER(cuMemsetD32(factor, 5, 1));
  struct { int* p; unsigned n; } packed = {p, 39};
  std::size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CHECK_DRIVER(cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, 0, nullptr, extra));
  const std::vector<int> out = ToHost(p, 40);
  EXPECT(out[0] == 30 && out[38] == 30 && out[39] == 6);
  CHECK_DRIVER(cuModuleUnload(module));

  CUlibrary library;
  CHECK_DRIVER(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr,
                                 nullptr, 0));
  CUkernel kernel;
  CHECK_DRIVER(cuLibraryGetKernel(&kernel, library, "scale"));
  CHECK_DRIVER(cuLibraryGetKernelCount(&count, library));
  EXPECT(count == 1);
  CHECK_DRIVER(cuKernelGetName(&name, kernel));
  EXPECT(std::strcmp(name, "scale") == 0);
  std::size_t offset = 9, width = 0;
  CHECK_DRIVER(cuKernelGetParamInfo(kernel, 1, &offset, &width));
  EXPECT(offset == 8 && width == 4);
  EXPECT(cuKernelGetParamInfo(kernel, 2, &offset, &width) ==
         CUDA_ERROR_INVALID_VALUE);
  CHECK_DRIVER(cuKernelGetFunction(&scale, kernel));
  CHECK_DRIVER(cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, 0, args, nullptr));
  EXPECT(ToHost(p, 1)[0] == 90);
  CHECK_DRIVER(cuLibraryUnload(library));
  return Pass();
}
