// Code objects for tests: an ELF file with the AMDGPU metadata note and
// .cerberus.info, and no code.
#ifndef CERBERUS_TESTS_UNIT_RUNTIME_STUB_CODE_OBJECT_BUILDER_H_
#define CERBERUS_TESTS_UNIT_RUNTIME_STUB_CODE_OBJECT_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/launch_abi.h"
#include "support/bytes.h"
#include "support/version.h"

namespace cerberus::stub {

struct TestKernel {
  std::string name = "kernel";
  // (offset, size) of each PTX parameter.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> params;
  int launch_block = -1;  // its offset; -1: none
  int window_block = -1;
  std::uint32_t window_bytes = 0;  // static ones
  std::uint32_t tensor_bytes = 0;  // of them, tensor memory
  std::uint32_t kernarg_size = 0;
  std::uint32_t static_shared = 0;
  std::uint32_t own_shared = 0;  // 0: not said
  std::uint32_t local_bytes = 0;
  std::uint32_t vgprs = 32;
  std::uint32_t max_flat = 1024;
  std::uint32_t wave_size = 32;
  int warps_per_wave = 0;  // 0: not said
  std::vector<std::uint32_t> maxntid;
  std::vector<std::uint32_t> reqntid;
  std::string hidden = "hidden_block_count_x";  // behind the explicit ones
  std::uint32_t hidden_end = 0;                 // else that of the segment
};

struct TestCodeObject {
  std::vector<TestKernel> kernels;
  int abi = formats::kLaunchAbi;  // -1: no .cerberus.info
  std::uint32_t sm = 75;
  std::vector<std::pair<std::string, std::string>> failed;
  std::uint16_t machine = 224;

  Bytes Build() const;
};

// A kernel of one pointer parameter, laid out as docs/launch-abi.md says.
TestKernel SimpleKernel(const std::string& name);

}  // namespace cerberus::stub

#endif  // CERBERUS_TESTS_UNIT_RUNTIME_STUB_CODE_OBJECT_BUILDER_H_
