// A libamdhip64 without a GPU: memory is the host's, nothing runs, and every
// launch is remembered. What tests see of the stub's side of HIP.
#ifndef CERBERUS_TESTS_UNIT_RUNTIME_STUB_FAKE_HIP_H_
#define CERBERUS_TESTS_UNIT_RUNTIME_STUB_FAKE_HIP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cerberus::stub {

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  bool cooperative;
  std::vector<std::uint8_t> arguments;  // the packed buffer
  std::vector<void*> pointers;          // of a cooperative launch
};

// Filled by the library, reached by the test through dlsym("fake_hip").
struct FakeHip {
  std::vector<FakeLaunch> launches;
  std::vector<std::uint64_t> workspaces;  // of cooperative launches
  std::map<std::string, int> calls;       // by function
  // Functions that fail, and with what.
  std::map<std::string, int> failures;
  std::map<std::string, int> fail_once;     // at the next call only
  std::vector<std::string> loaded_modules;  // their bytes' first 4
  // Variables of every module: name → storage.
  std::map<std::string, std::vector<std::uint8_t>> globals;
  // In place of the launch, if set: nothing is counted or remembered then.
  int (*on_launch)() = nullptr;
  int devices = 1;
  int current_device = 0;
  std::string arch = "gfx1100";
};

}  // namespace cerberus::stub

#endif  // CERBERUS_TESTS_UNIT_RUNTIME_STUB_FAKE_HIP_H_
