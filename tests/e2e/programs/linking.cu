// PTX texts, fatbins and an archive linked at run time.
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

// A fatbin with one entry, PTX that is not compressed (docs/fatbin-format.md).
std::string Fatbin(const std::string& ptx) {
  std::string entry(64, '\0');
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::memcpy(&entry[at], &value, size);
  };
  std::string text = ptx;
  text.resize((ptx.size() + 8) / 8 * 8);
  put(0, 1, 2);
  put(2, 0x0101, 2);
  put(4, entry.size(), 4);
  put(8, text.size(), 8);
  put(28, 70, 4);
  put(40, 0x11, 8);
  std::string header(16, '\0');
  const std::uint64_t size = entry.size() + text.size();
  std::memcpy(&header[0], "\x50\xed\x55\xba\x01\0\x10\0", 8);
  std::memcpy(&header[8], &size, 8);
  return header + entry + text;
}

void Add(CUlinkState state, CUjitInputType type, const std::string& data) {
  CHECK_DRIVER(cuLinkAddData(state, type, const_cast<char*>(data.data()),
                             data.size(), "data", 0, nullptr, nullptr));
}

CUfunction Function(CUlinkState state, const char* name) {
  void* image = nullptr;
  std::size_t bytes = 0;
  CHECK_DRIVER(cuLinkComplete(state, &image, &bytes));
  CUmodule module;
  CHECK_DRIVER(cuModuleLoadData(&module, image));
  CHECK_DRIVER(cuLinkDestroy(state));
  CUfunction function;
  CHECK_DRIVER(cuModuleGetFunction(&function, module, name));
  return function;
}

void LinkFatbins() {
  CUlinkState state;
  CHECK_DRIVER(cuLinkCreate(0, nullptr, nullptr, &state));
  Add(state, CU_JIT_INPUT_FATBINARY, Fatbin(std::string(kHead) + kCallee));
  // The second of an object's two fatbins, in an archive.
  Add(state, CU_JIT_INPUT_LIBRARY,
      "!<arch>\nan object." +
          Fatbin(std::string(kHead) + ".visible .func none() { ret; }") +
          "data" + Fatbin(std::string(kHead) + kCaller));
  CUfunction run = Function(state, "run");
  int* p = ToDevice(std::vector<int>(32, 0));
  void* args[] = {&p};
  CHECK_DRIVER(cuLaunchKernel(run, 1, 1, 1, 32, 1, 1, 0, 0, args, nullptr));
  EXPECT(ToHost(p, 32)[31] == 93);

  // Machine code is refused, and so is what holds no PTX.
  CHECK_DRIVER(cuLinkCreate(0, nullptr, nullptr, &state));
  char cubin[64] = "\x7f""ELF";
  EXPECT(cuLinkAddData(state, CU_JIT_INPUT_CUBIN, cubin, sizeof cubin, "cubin",
                       0, nullptr, nullptr) == CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT(cuLinkAddData(state, CU_JIT_INPUT_OBJECT, cubin, sizeof cubin, "o", 0,
                       nullptr, nullptr) == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK_DRIVER(cuLinkDestroy(state));
}

// Blocks that hand a value round, the device runtime giving the barrier.
const char kRounds[] = R"(
.extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 e) cudaCGSynchronize(.param .b64 h, .param .b32 f);
.visible .entry rounds(.param .u64 p) {
  .reg .pred %q;
  .reg .b32 %r<8>; .reg .b64 %d<6>;
  { .param .b32 a; .param .b64 b;
    st.param.b32 [a], 1;
    call (b), cudaCGGetIntrinsicHandle, (a);
    ld.param.b64 %d5, [b]; }
  ld.param.u64 %d0, [p];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %nctaid.x;
  add.u32 %r2, %r0, 1;
  rem.u32 %r2, %r2, %r1;
  mul.wide.u32 %d1, %r0, 4;
  mul.wide.u32 %d2, %r2, 4;
  add.u64 %d1, %d1, %d0;
  add.u64 %d2, %d2, %d0;
  mov.u32 %r3, 0;
again:
  ld.volatile.global.u32 %r4, [%d2];
  { .param .b64 a; .param .b32 b; .param .b32 e;
    st.param.b64 [a], %d5; st.param.b32 [b], 0;
    call (e), cudaCGSynchronize, (a, b);
    ld.param.b32 %r6, [e]; }
  add.u32 %r4, %r4, 1;
  add.u32 %r4, %r4, %r6;
  st.volatile.global.u32 [%d1], %r4;
  { .param .b64 a; .param .b32 b; .param .b32 e;
    st.param.b64 [a], %d5; st.param.b32 [b], 0;
    call (e), cudaCGSynchronize, (a, b);
    ld.param.b32 %r6, [e]; }
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %q, %r3, 5;
  @%q bra again;
  ret;
}
)";
void LinkDeviceRuntime() {
  CUlinkState state;
  CHECK_DRIVER(cuLinkCreate(0, nullptr, nullptr, &state));
  Add(state, CU_JIT_INPUT_PTX, std::string(kHead) + kRounds);
  // Known by the names of its kernels.
  Add(state, CU_JIT_INPUT_LIBRARY,
      Fatbin(std::string(kHead) +
             ".visible .entry a_cuda_device_runtime_cu_b() { ret; }"));
  CUfunction rounds = Function(state, "rounds");
  int* p = ToDevice(std::vector<int>{0, 10, 20, 30});
  void* args[] = {&p};
  CHECK_DRIVER(cuLaunchCooperativeKernel(rounds, 4, 1, 1, 64, 1, 1, 0, 0,
                                         args));
  // Five times the neighbour's value plus one.
  EXPECT((ToHost(p, 4) == std::vector<int>{15, 25, 35, 5}));
}

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
  LinkFatbins();
  LinkDeviceRuntime();
  return Pass();
}
