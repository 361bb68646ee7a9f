// What the driver stub adds to a launch: nanoseconds over HIP's own call, whose
// launch here does nothing.
//
//   launch_bench           prints a table
//   launch_bench --check   fails if a launch allocates memory, or holds a lock
//                          while HIP is called; measures nothing
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/api/api.h"
#include "tests/unit/runtime-stub/code_object_builder.h"
#include "tests/unit/runtime-stub/fake_hip.h"

namespace {
std::atomic<long> allocations{0};
}

// Every allocation of the process comes here; the stub's own operator new ends
// in malloc.
#ifdef COUNT_ALLOCATIONS
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* pointer, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void* malloc(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* pointer, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(pointer, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
}
#endif

namespace cerberus::stub {
namespace {

void* g_stub = nullptr;

#define CU(function) \
  reinterpret_cast<decltype(&api::function)>(dlsym(g_stub, #function))

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "launch_bench: %s\n", what);
  std::exit(1);
}

constexpr std::size_t kMostParams = 20;

// A kernel of so many pointers, laid out as docs/launch-abi.md says.
TestKernel KernelOf(std::size_t params) {
  TestKernel kernel;
  for (std::uint32_t i = 0; i < params; ++i) {
    kernel.params.push_back({8 * i, 8});
  }
  const auto bytes = static_cast<std::uint32_t>(8 * params);
  kernel.launch_block = static_cast<int>((bytes + 15) / 16 * 16);
  kernel.kernarg_size = static_cast<std::uint32_t>(kernel.launch_block) + 96;
  return kernel;
}

struct Launch {
  CUfunction function = nullptr;
  std::uint64_t values[kMostParams] = {};
  void* params[kMostParams] = {};

  explicit Launch(std::size_t count) {
    static std::vector<Bytes>& images = *new std::vector<Bytes>;
    TestCodeObject object;
    object.kernels = {KernelOf(count)};
    images.push_back(object.Build());
    CUmodule module = nullptr;
    Require(
        CU(cuModuleLoadData)(&module, images.back().data()) == CUDA_SUCCESS &&
            CU(cuModuleGetFunction)(&function, module, "kernel") ==
                CUDA_SUCCESS,
        "the kernel is not loaded");
    for (std::size_t i = 0; i < kMostParams; ++i) params[i] = &values[i];
  }
};

int DoNothing() { return 0; }

// Nanoseconds of one call: the median of rounds.
template <typename F>
double Nanoseconds(const F& call) {
  constexpr int kRounds = 101, kCalls = 10000;
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::nano> time =
        std::chrono::steady_clock::now() - begin;
    rounds.push_back(time.count() / kCalls);
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

using HipLaunch = hipError_t (*)(hipFunction_t, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, unsigned, unsigned,
                                 hipStream_t, void**, void**);

void Measure(HipLaunch hip_launch) {
  const auto launch = CU(cuLaunchKernel);
  const auto launch_ex = CU(cuLaunchKernelEx);
  const auto launch_per_thread =
      reinterpret_cast<decltype(launch)>(dlsym(g_stub, "cuLaunchKernel_ptsz"));
  CUstream stream = nullptr;
  Require(CU(cuStreamCreate)(&stream, 0) == CUDA_SUCCESS, "no stream");
  std::printf("%-10s%10s%10s%10s%10s%10s   (ns over HIP's call)\n", "arguments",
              "HIP", "null", "stream", "thread's", "Ex");
  for (const std::size_t count : {0, 4, 20}) {
    Launch it(count);
    const double hip_alone = Nanoseconds([&] {
      hip_launch(nullptr, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr);
    });
    const double null_stream = Nanoseconds([&] {
      launch(it.function, 1, 1, 1, 64, 1, 1, 0, nullptr, it.params, nullptr);
    });
    const double on_stream = Nanoseconds([&] {
      launch(it.function, 1, 1, 1, 64, 1, 1, 0, stream, it.params, nullptr);
    });
    const double per_thread = Nanoseconds([&] {
      launch_per_thread(it.function, 1, 1, 1, 64, 1, 1, 0, nullptr, it.params,
                        nullptr);
    });
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 64;
    config.blockDimY = config.blockDimZ = 1;
    const double extended = Nanoseconds(
        [&] { launch_ex(&config, it.function, it.params, nullptr); });
    std::printf("%-10zu%10.1f%10.1f%10.1f%10.1f%10.1f\n", count, hip_alone,
                null_stream - hip_alone, on_stream - hip_alone,
                per_thread - hip_alone, extended - hip_alone);
  }
}

void CheckAllocations() {
  constexpr int kLaunches = 1000;
  for (const std::size_t count : {0, 4, 20}) {
    Launch it(count);
    const auto launch_per_thread =
        reinterpret_cast<decltype(&api::cuLaunchKernel)>(
            dlsym(g_stub, "cuLaunchKernel_ptsz"));
    const auto all = [&] {
      CUlaunchConfig config = {};
      config.gridDimX = config.gridDimY = config.gridDimZ = 1;
      config.blockDimX = config.blockDimY = config.blockDimZ = 1;
      Require(CU(cuLaunchKernel)(it.function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                 it.params, nullptr) == CUDA_SUCCESS &&
                  launch_per_thread(it.function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                    it.params, nullptr) == CUDA_SUCCESS &&
                  CU(cuLaunchKernelEx)(&config, it.function, it.params,
                                       nullptr) == CUDA_SUCCESS,
              "a launch fails");
    };
    all();  // the first one loads the code
    const long before = allocations.load();
    for (int i = 0; i < kLaunches; ++i) all();
    const long made = allocations.load() - before;
    std::printf("%zu arguments: %ld allocations in %d launches\n", count, made,
                3 * kLaunches);
    Require(made == 0, "a launch allocates memory");
  }
  const long before = allocations.load();
  std::free(std::malloc(16));
  Require(allocations.load() != before, "allocations are not counted");
}

// While one thread is inside of HIP's launch, another does all that a program
// may do at the same time. A lock held by the first would stop it for ever.
Launch* g_outer = nullptr;
CUcontext g_context = nullptr;
std::atomic<int> g_inside{0};

void UseTheDriver() {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  Require(
      CU(cuCtxSetCurrent)(g_context) == CUDA_SUCCESS &&
          CU(cuLaunchKernel)(g_outer->function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                             g_outer->params, nullptr) == CUDA_SUCCESS &&
          CU(cuStreamCreate)(&stream, 0) == CUDA_SUCCESS &&
          CU(cuEventCreate)(&event, 0) == CUDA_SUCCESS &&
          CU(cuEventRecord)(event, stream) == CUDA_SUCCESS &&
          CU(cuMemAlloc_v2)(&memory, 64) == CUDA_SUCCESS &&
          CU(cuMemFree_v2)(memory) == CUDA_SUCCESS &&
          CU(cuEventDestroy_v2)(event) == CUDA_SUCCESS &&
          CU(cuStreamDestroy_v2)(stream) == CUDA_SUCCESS,
      "a call during a launch fails");
  Launch another(4);
  Require(CU(cuLaunchKernel)(another.function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                             another.params, nullptr) == CUDA_SUCCESS,
          "a first launch during a launch fails");
}

int LaunchMeanwhile() {
  if (g_inside.fetch_add(1) == 0) std::thread(UseTheDriver).join();
  return 0;
}

void CheckLocks(FakeHip* fake) {
  Launch outer(4);
  g_outer = &outer;
  fake->on_launch = LaunchMeanwhile;
  alarm(30);
  Require(CU(cuLaunchKernel)(outer.function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                             outer.params, nullptr) == CUDA_SUCCESS,
          "a launch fails");
  alarm(0);
  Require(g_inside.load() == 3, "no launch went on meanwhile");
  std::printf("no lock is held during HIP's launch\n");
}

int Main(bool check) {
  setenv("CERBERUS_DEVICE", "emulator", 1);
  setenv("CERBERUS_EMULATOR", FAKE_HIP, 1);
  g_stub = dlopen(STUB, RTLD_NOW | RTLD_LOCAL);
  void* hip_library = dlopen(FAKE_HIP, RTLD_NOW | RTLD_LOCAL);
  Require(g_stub != nullptr && hip_library != nullptr, "no library");
  auto* fake = static_cast<FakeHip*>(dlsym(hip_library, "fake_hip"));
  fake->on_launch = DoNothing;
  Require(CU(cuInit)(0) == CUDA_SUCCESS &&
              CU(cuDevicePrimaryCtxRetain)(&g_context, 0) == CUDA_SUCCESS &&
              CU(cuCtxSetCurrent)(g_context) == CUDA_SUCCESS,
          "no device");
  if (check) {
    CheckAllocations();
    CheckLocks(fake);
    return 0;
  }
  HipLaunch hip_launch = nullptr;
  void* address = dlsym(hip_library, "hipModuleLaunchKernel");
  std::memcpy(&hip_launch, &address, sizeof hip_launch);
  Measure(hip_launch);
  return 0;
}

}  // namespace
}  // namespace cerberus::stub

int main(int argc, char** argv) {
  return cerberus::stub::Main(argc > 1 && std::strcmp(argv[1], "--check") == 0);
}
