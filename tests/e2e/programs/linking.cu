// Two PTX texts linked at run time.
//
// RUN: %check %s %t
#include "program.h"

#include <string>

const char kHead[] = ".version 7.0\n.target sm_70\n.address_size 64\n";
const char kCallee[] = R"(
.visible .func (.param .b32 result) triple(.param .b32 value) {
  .reg .b32 %r<3>;
  ld.param.b32 %r0, [value];
  mul.lo.s32 %r1, %r0, 3;
  st.param.b32 [result], %r1;
  ret;
}
)";
const char kCaller[] = R"(
.extern .func (.param .b32 result) triple(.param .b32 value);
.visible .entry run(.param .u64 p) {
  .reg .b32 %r<4>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [p];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.s64 %d2, %d0, %d1;
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r0;
    call (b), triple, (a);
    ld.param.b32 %r1, [b]; }
  st.global.u32 [%d2], %r1;
  ret;
}
)";

int main() {
  CHECK(cudaSetDevice(0));
  const std::string callee = std::string(kHead) + kCallee;
  const std::string caller = std::string(kHead) + kCaller;
  char info[1000] = "", error[1000] = "";
  float ms = -1;
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_WALL_TIME};
  void* values[] = {info, reinterpret_cast<void*>(sizeof info), error,
                    reinterpret_cast<void*>(sizeof error), &ms};
  CUlinkState state;
  CHECK_DRIVER(cuLinkCreate(5, options, values, &state));
  CHECK_DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX,
                             const_cast<char*>(callee.c_str()),
                             callee.size() + 1, "callee", 0, nullptr,
                             nullptr));
  CHECK_DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX,
                             const_cast<char*>(caller.c_str()),
                             caller.size() + 1, "caller", 0, nullptr,
                             nullptr));
  void* image = nullptr;
  std::size_t bytes = 0;
  CHECK_DRIVER(cuLinkComplete(state, &image, &bytes));
  EXPECT(bytes > 0);
  CUmodule module;
  CHECK_DRIVER(cuModuleLoadData(&module, image));
  CHECK_DRIVER(cuLinkDestroy(state));
  CUfunction run;
  CHECK_DRIVER(cuModuleGetFunction(&run, module, "run"));
  int* p = ToDevice(std::vector<int>(32, 0));
  void* args[] = {&p};
  CHECK_DRIVER(cuLaunchKernel(run, 1, 1, 1, 32, 1, 1, 0, 0, args, nullptr));
  const std::vector<int> out = ToHost(p, 32);
  for (int i = 0; i < 32; ++i) EXPECT(out[i] == 3 * i);

  // A function that nobody defines is named in the error log. What the sizes
  // say is how much was filled.
  EXPECT(values[3] == reinterpret_cast<void*>(1) || values[3] == nullptr);
  values[1] = values[3] = reinterpret_cast<void*>(sizeof error);
  CHECK_DRIVER(cuLinkCreate(5, options, values, &state));
  const CUresult added = cuLinkAddData(
      state, CU_JIT_INPUT_PTX, const_cast<char*>(caller.c_str()),
      caller.size() + 1, "caller", 0, nullptr, nullptr);
  EXPECT(added != CUDA_SUCCESS ||
         cuLinkComplete(state, &image, &bytes) != CUDA_SUCCESS);
  EXPECT(std::strstr(error, "triple") != nullptr);
  CHECK_DRIVER(cuLinkDestroy(state));
  return Pass();
}
