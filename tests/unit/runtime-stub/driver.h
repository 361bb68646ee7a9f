// The built libcuda.so.1 over the fake HIP, as a program sees it: opened by
// path, functions by name.
#ifndef CERBERUS_TESTS_UNIT_RUNTIME_STUB_DRIVER_H_
#define CERBERUS_TESTS_UNIT_RUNTIME_STUB_DRIVER_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fake_hip.h"
#include "runtime-stub/api/api.h"
#include "support/bytes.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::stub {

// The exported symbol's address; a test failure and null if there is none.
void* DriverSymbol(const char* name);
FakeHip& Fake();

// Calls an exported function with its own signature:
//   CU(cuMemAlloc_v2)(&pointer, 16)
#define CU(function)                                            \
  reinterpret_cast<decltype(&::cerberus::stub::api::function)>( \
      ::cerberus::stub::DriverSymbol(#function))

// A fake compiler of its own for the folder. One that stays for the next
// compilation has the environment that it was started with.
std::string FakeJitIn(const std::string& folder);

// cuInit is done; the primary context of device 0 is current, and the fake
// remembers nothing of earlier tests.
class DriverTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A module of these bytes, unloaded when the test ends.
  CUmodule Load(const Bytes& image);

  CUcontext context_ = nullptr;

 private:
  std::vector<Bytes> images_;
  std::vector<CUmodule> modules_;
};

// Runs a command with extra environment ("A=1 B=2 program args"); its exit
// code and everything it printed, stderr included.
struct CommandResult {
  int exit_code = -1;
  std::string output;
};
CommandResult RunCommand(const std::string& command);

// Captures what the stub writes to stderr.
class StderrCapture {
 public:
  StderrCapture();
  ~StderrCapture();
  std::string Text();

 private:
  int saved_ = -1;
  int file_ = -1;
};

}  // namespace cerberus::stub

#endif  // CERBERUS_TESTS_UNIT_RUNTIME_STUB_DRIVER_H_
