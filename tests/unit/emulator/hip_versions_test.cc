// One library serves programs of three major versions of HIP, whose
// structures differ; it reads the version off the name it was opened under.
// Each case runs in a child process: a library is loaded once per process.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "emulator/hip/abi.h"

namespace {

template <typename F>
F* Function(void* library, const char* name) {
  void* address = dlsym(library, name);
  F* function = nullptr;
  static_assert(sizeof function == sizeof address);
  std::memcpy(&function, &address, sizeof address);
  return function;
}

// 0, or the number of the check that failed.
int Check(const std::string& path, int major) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  int version = 0;
  Function<hipError_t(int*)>(library, "hipRuntimeGetVersion")(&version);
  if (version / 10000000 != major) return 2;
  void* block = nullptr;
  if (Function<hipError_t(void**, std::size_t)>(library, "hipMalloc")(
          &block, 4096) != hipSuccess) {
    return 3;
  }
  hipPointerAttribute_t a = {};
  auto* attributes = Function<hipError_t(hipPointerAttribute_t*, const void*)>(
      library, "hipPointerGetAttributes");
  if (attributes(&a, block) != hipSuccess) return 4;
  if (a.type != (major == 5 ? 1u : 2u)) return 5;
  // Unknown host memory: an error in version 5, a type of its own since.
  int local = 0;
  const hipError_t unknown = attributes(&a, &local);
  if ((unknown == hipErrorInvalidValue) != (major == 5)) return 6;

  // HIP_MEMCPY3D holds unsigned numbers in 5, size_t since 6.
  unsigned char bytes[64], back[64] = {};
  for (unsigned i = 0; i < 64; ++i) bytes[i] = static_cast<unsigned char>(i);
  auto* copy3d = Function<hipError_t(const void*)>(library, "hipDrvMemcpy3D");
  hipError_t copied = hipErrorUnknown;
  auto fill = [&](auto* p) {
    *p = {};
    p->srcMemoryType = major == 5 ? 0 : hipMemoryTypeHost;
    p->srcHost = bytes;
    p->srcPitch = 8;
    p->srcHeight = 4;
    p->srcXInBytes = 1;
    p->dstMemoryType = major == 5 ? 1 : hipMemoryTypeDevice;
    p->dstDevice = block;
    p->dstPitch = 6;
    p->dstHeight = 3;
    p->WidthInBytes = 6;
    p->Height = 3;
    p->Depth = 2;
    copied = copy3d(p);
  };
  if (major == 5) {
    HipMemcpy3DV5 params;
    fill(&params);
  } else {
    HIP_MEMCPY3D params;
    fill(&params);
  }
  if (copied != hipSuccess) return 7;
  Function<hipError_t(void*, const void*, std::size_t, std::uint32_t)>(
      library, "hipMemcpy")(back, block, 36, hipMemcpyDeviceToHost);
  for (unsigned z = 0; z < 2; ++z) {
    for (unsigned y = 0; y < 3; ++y) {
      if (std::memcmp(back + z * 18 + y * 6, bytes + z * 32 + y * 8 + 1, 6) !=
          0) {
        return 8;
      }
    }
  }
  // hipGetLastError: since 7 the last error, before 7 the last call's result.
  auto* last = Function<hipError_t()>(library, "hipGetLastError");
  last();
  Function<hipError_t(void**, std::size_t)>(library, "hipMalloc")(nullptr, 1);
  Function<hipError_t()>(library, "hipDeviceSynchronize")();
  if ((last() == hipErrorInvalidValue) != (major == 7)) return 9;
  return 0;
}

class HipVersions : public testing::TestWithParam<int> {};

TEST_P(HipVersions, StructuresOfTheNameItWasOpenedUnder) {
  const int major = GetParam();
  const std::string path =
      std::string(HIP_FOLDER) + "/libamdhip64.so." + std::to_string(major);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(Check(path, major));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

INSTANTIATE_TEST_SUITE_P(All, HipVersions, testing::Values(5, 6, 7));

}  // namespace
