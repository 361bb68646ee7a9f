#include "driver.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace cerberus::stub {
namespace {

void* Library() {
  static void* const library = [] {
    setenv("CERBERUS_DEVICE", "emulator", 1);
    setenv("CERBERUS_EMULATOR", FAKE_HIP, 1);
    unsetenv("CERBERUS_CC");
    unsetenv("CERBERUS_LOG");
    const char* other = std::getenv("CERBERUS_TEST_STUB");
    void* opened =
        dlopen(other != nullptr ? other : STUB, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    return opened;
  }();
  return library;
}

}  // namespace

void* DriverSymbol(const char* name) {
  void* symbol = dlsym(Library(), name);
  EXPECT_NE(symbol, nullptr) << name;
  return symbol;
}

FakeHip& Fake() {
  static FakeHip* const fake = [] {
    void* library = dlopen(FAKE_HIP, RTLD_NOW | RTLD_LOCAL);
    return static_cast<FakeHip*>(dlsym(library, "fake_hip"));
  }();
  return *fake;
}

std::string FakeJitIn(const std::string& folder) {
  const std::string path = folder + "/cerberus-jit";
  std::filesystem::create_symlink(FAKE_JIT, path);
  return path;
}

void DriverTest::SetUp() {
  setenv("CERBERUS_JIT", FAKE_JIT, 1);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  ASSERT_EQ(CU(cuInit)(0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDevicePrimaryCtxRetain)(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
  Fake().launches.clear();
  Fake().workspaces.clear();
  Fake().calls.clear();
  Fake().failures.clear();
  Fake().globals.clear();
  Fake().loaded_modules.clear();
}

void DriverTest::TearDown() {
  Fake().failures.clear();
  for (CUmodule module : modules_) CU(cuModuleUnload)(module);
  CU(cuDevicePrimaryCtxReset_v2)(0);
  CUcontext current = nullptr;
  while (CU(cuCtxGetCurrent)(&current) == CUDA_SUCCESS && current != nullptr) {
    CU(cuCtxSetCurrent)(nullptr);
  }
}

CUmodule DriverTest::Load(const Bytes& image) {
  images_.push_back(image);
  CUmodule module = nullptr;
  EXPECT_EQ(CU(cuModuleLoadData)(&module, images_.back().data()), CUDA_SUCCESS);
  if (module != nullptr) modules_.push_back(module);
  return module;
}

CommandResult RunCommand(const std::string& command) {
  CommandResult result;
  std::FILE* pipe = popen(("env " + command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  std::size_t got;
  while ((got = std::fread(buffer, 1, sizeof buffer, pipe)) != 0) {
    result.output.append(buffer, got);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

StderrCapture::StderrCapture() {
  std::fflush(stderr);
  saved_ = dup(STDERR_FILENO);
  file_ = memfd_create("stderr", 0);
  dup2(file_, STDERR_FILENO);
}
StderrCapture::~StderrCapture() {
  dup2(saved_, STDERR_FILENO);
  close(saved_);
  close(file_);
}
std::string StderrCapture::Text() {
  std::string text;
  char buffer[4096];
  ssize_t got;
  off_t at = 0;
  while ((got = pread(file_, buffer, sizeof buffer, at)) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
    at += got;
  }
  return text;
}

}  // namespace cerberus::stub
