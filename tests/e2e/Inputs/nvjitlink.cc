// Two PTX modules linked by nvJitLink, loaded by the driver and run.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

const char kCaller[] = R"(
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<3>;
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  ld.global.u32 %r0, [%d];
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r0;
    call.uni (b), twice, (a);
    ld.param.b32 %r1, [b]; }
  st.global.u32 [%d], %r1;
  ret;
}
)";
const char kCallee[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %a;
  ld.param.b32 %a, [x];
  add.u32 %a, %a, %a;
  st.param.b32 [r], %a;
  ret;
}
)";

#define EXPECT(what)                                  \
  if (!(what)) {                                      \
    std::printf("%d: not so: %s\n", __LINE__, #what); \
    return 1;                                         \
  }

int main(int, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW);
  EXPECT(library != nullptr);
  const auto find = [&](const char* name) { return dlsym(library, name); };
  // Under the name in the header of an older version, and under the plain one.
  auto* create =
      reinterpret_cast<int (*)(void**, unsigned, const char**)>(find(argv[2]));
  auto* add = reinterpret_cast<int (*)(void*, int, const void*, std::size_t,
                                       const char*)>(find("nvJitLinkAddData"));
  auto* complete = reinterpret_cast<int (*)(void*)>(find("nvJitLinkComplete"));
  auto* size = reinterpret_cast<int (*)(void*, std::size_t*)>(
      find("nvJitLinkGetLinkedCubinSize"));
  auto* get =
      reinterpret_cast<int (*)(void*, void*)>(find("nvJitLinkGetLinkedCubin"));
  auto* log_size = reinterpret_cast<int (*)(void*, std::size_t*)>(
      find("nvJitLinkGetErrorLogSize"));
  auto* log =
      reinterpret_cast<int (*)(void*, char*)>(find("nvJitLinkGetErrorLog"));
  auto* destroy = reinterpret_cast<int (*)(void**)>(find("nvJitLinkDestroy"));
  EXPECT(create && add && complete && size && get && log && destroy);

  // Before the program has a context.
  const char* options[] = {"-arch=sm_80"};
  void* link = nullptr;
  EXPECT(create(&link, 1, options) == 0 && link != nullptr);
  EXPECT(add(link, 2, kCaller, sizeof kCaller, "caller") == 0);
  EXPECT(add(link, 10, kCallee, sizeof kCallee, "callee") == 0);
  EXPECT(complete(link) == 0);
  std::size_t bytes = 0;
  EXPECT(size(link, &bytes) == 0 && bytes > 0);
  char* code = new char[bytes];
  EXPECT(get(link, code) == 0);
  EXPECT(destroy(&link) == 0 && link == nullptr);

  CUcontext context;
  EXPECT(cuInit(0) == CUDA_SUCCESS);
  EXPECT(cuCtxGetCurrent(&context) == CUDA_SUCCESS && context == nullptr);
  EXPECT(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  EXPECT(cuCtxSetCurrent(context) == CUDA_SUCCESS);
  CUmodule module;
  CUfunction function;
  EXPECT(cuModuleLoadData(&module, code) == CUDA_SUCCESS);
  EXPECT(cuModuleGetFunction(&function, module, "k") == CUDA_SUCCESS);
  CUdeviceptr p;
  EXPECT(cuMemAlloc(&p, 4) == CUDA_SUCCESS);
  EXPECT(cuMemsetD32(p, 21, 1) == CUDA_SUCCESS);
  void* args[] = {&p};
  EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, args,
                        nullptr) == CUDA_SUCCESS);
  unsigned value = 0;
  EXPECT(cuMemcpyDtoH(&value, p, 4) == CUDA_SUCCESS && value == 42);

  // What went wrong is in the log.
  EXPECT(create(&link, 0, nullptr) == 0);
  EXPECT(add(link, 3, kCaller, sizeof kCaller, "an LTO input") != 0);
  EXPECT(log_size(link, &bytes) == 0 && bytes > 1);
  char* text = new char[bytes];
  EXPECT(log(link, text) == 0);
  EXPECT(std::strstr(text, "an LTO input") != nullptr);
  EXPECT(add(link, 2, "nonsense", 8, "nonsense") == 0);
  EXPECT(complete(link) != 0);
  EXPECT(log_size(link, &bytes) == 0 && bytes > 20);
  EXPECT(destroy(&link) == 0);
  std::puts("PASS");
}
