// Two files as GCC's nvptx back end writes them, handed to cuLinkAddData one
// after the other, as libgomp does: a kernel, and the function that it calls.
#include <initializer_list>
#include <string>

#include "driver.h"

#define PREAMBLE        \
  "// BEGIN PREAMBLE\n" \
  ".version 6.0\n"      \
  ".target sm_30\n"     \
  ".address_size 64\n"  \
  "// END PREAMBLE\n"
#define KERNEL                                                             \
  PREAMBLE                                                                 \
  ".extern .func (.param .u32 %value_out) triple (.param .u32 %in_ar0);\n" \
  ".visible .entry k (.param .u64 %in_ar0);\n"                             \
  ".visible .entry k (.param .u64 %in_ar0)\n"                              \
  "{\n"                                                                    \
  ".reg .u64 %r1;\n"                                                       \
  ".reg .u32 %r2;\n"                                                       \
  "ld.param.u64 %r1,[%in_ar0];\n"                                          \
  "mov.u32 %r2,%tid.x;\n"                                                  \
  "{\n"                                                                    \
  ".param .u32 %value_in;\n"                                               \
  ".param .u32 %out_arg1;\n"                                               \
  "st.param.u32 [%out_arg1],%r2;\n"                                        \
  "call (%value_in),triple,(%out_arg1);\n"                                 \
  "ld.param.u32 %r2,[%value_in];\n"                                        \
  "}\n"                                                                    \
  "st.u32 [%r1],%r2;\n"                                                    \
  "ret;\n"                                                                 \
  "}\n"
#define FUNCTION                                                           \
  PREAMBLE                                                                 \
  ".visible .func (.param .u32 %value_out) triple (.param .u32 %in_ar0)\n" \
  "{\n"                                                                    \
  ".reg .u32 %r1;\n"                                                       \
  "ld.param.u32 %r1,[%in_ar0];\n"                                          \
  "mad.lo.u32 %r1,%r1,3,21;\n"                                             \
  "st.param.u32 [%value_out],%r1;\n"                                       \
  "ret;\n"                                                                 \
  "}\n"

static const struct {
  char kernel[sizeof(KERNEL) + 20] = KERNEL;
  char function[sizeof(FUNCTION)] = FUNCTION;
} kFiles;

int main() {
  UseDevice();
  CUlinkState link;
  Check(cuLinkCreate(0, nullptr, nullptr, &link), "cuLinkCreate");
  for (const char* file : {kFiles.kernel, kFiles.function}) {
    Check(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(file),
                        std::char_traits<char>::length(file) + 1, nullptr, 0,
                        nullptr, nullptr),
          "cuLinkAddData");
  }
  void* code;
  std::size_t size;
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr memory;
  Check(cuLinkComplete(link, &code, &size), "cuLinkComplete");
  Check(cuModuleLoadData(&module, code), "cuModuleLoadData");
  Check(cuModuleGetFunction(&kernel, module, "k"), "cuModuleGetFunction");
  Check(cuMemAlloc(&memory, 4), "cuMemAlloc");
  void* arguments[] = {&memory};
  Check(
      cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
      "cuLaunchKernel");
  unsigned value = 0;
  Check(cuMemcpyDtoH(&value, memory, 4), "cuMemcpyDtoH");
  printf("%u: %s\n", value, value == 21 ? "PASS" : "FAIL");
  return value != 21;
}
