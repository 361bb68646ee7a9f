// Options of the JIT, and its logs for PTX that is wrong.
//
// RUN: %check %s %t
#include "program.h"

int main() {
  CHECK(cudaSetDevice(0));
  char info[2000] = "", error[2000] = "";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_LOG_VERBOSE};
  const auto number = [](std::uintptr_t n) {
    return reinterpret_cast<void*>(n);
  };
  const auto load = [&](CUmodule* module, const char* text) {
    void* values[] = {info, number(sizeof info), error, number(sizeof error),
                      number(1), number(1)};
    error[0] = '\0';
    return cuModuleLoadDataEx(module, text, 6, options, values);
  };
  CUmodule module;
  CHECK_DRIVER(load(&module,
                    ".version 7.0\n.target sm_70\n.address_size 64\n"
                    ".visible .entry nothing() { ret; }\n"));
  CHECK_DRIVER(cuModuleUnload(module));
  EXPECT(load(&module,
              ".version 7.0\n.target sm_70\n.address_size 64\n"
              ".visible .entry broken() {\n  frobnicate.u32 %r1;\n}\n") ==
         CUDA_ERROR_INVALID_PTX);
  EXPECT(std::strstr(error, "frobnicate") != nullptr);
  // No image at all: an error, and a word about it.
  EXPECT(load(&module, "this is no image") != CUDA_SUCCESS);
  EXPECT(error[0] != '\0');
  return Pass();
}
