// Compiles PTX text and runs its kernels on the emulated GPU.
#ifndef CERBERUS_TESTS_EXEC_PTX_RUNNER_H_
#define CERBERUS_TESTS_EXEC_PTX_RUNNER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/emulator.h"
#include "runtime-stub/module/code_object.h"
#include "support/result.h"

namespace cerberus::exec {

// The target under test: CERBERUS_TEST_ARCH, or gfx1100. Where its waves
// have 64 lanes, CERBERUS_TEST_ONE_WARP_PER_WAVE keeps ptxc from putting two
// warps into one; CERBERUS_TEST_SHARED_IN_WINDOW puts all shared memory into
// device memory.
std::string TestArch();

// Device memory that frees itself.
class Buffer {
 public:
  Buffer(emulator::Device& device, std::uint64_t size);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();
  std::uint64_t address() const { return allocation_.address; }
  std::uint64_t size() const { return allocation_.size; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(allocation_.host());
  }

 private:
  emulator::Device& device_;
  emulator::Allocation allocation_;
};

struct Launch {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> block = {1, 1, 1};
  std::uint32_t dynamic_shared = 0;
  std::array<std::uint32_t, 3> cluster = {1, 1, 1};  // in blocks
  // Kernel parameters, 8 bytes each; wider or narrower ones go into `raw`.
  std::vector<std::uint64_t> params;
  Bytes raw;  // used instead of `params` if not empty
};

class PtxModule {
 public:
  // Errors: every diagnostic of ptxc in one message.
  // Loaded on SharedDevice() unless another one is given. With `overflow`
  // shared memory above the hardware's lies in device memory.
  static Result<std::unique_ptr<PtxModule>> Compile(
      std::string_view ptx, std::shared_ptr<emulator::Device> device = {},
      bool overflow = false);
  ~PtxModule();

  emulator::Device& device() { return *device_; }
  Status Run(std::string_view kernel, const Launch& launch);
  // What the driver stub would know of a kernel.
  const stub::KernelInfo& Facts(std::string_view kernel) const {
    return *info_.FindKernel(kernel);
  }
  // What the compiler warned of, one line each.
  const std::string& warnings() const { return warnings_; }
  // The address of a module variable; 0 if there is none.
  std::uint64_t Symbol(std::string_view name) const;

 private:
  PtxModule() = default;
  std::string text_;
  std::set<std::string> executed_;  // kernels
  std::shared_ptr<emulator::Device> device_;
  emulator::CodeObject* code_ = nullptr;
  stub::CodeObjectInfo info_;
  std::string warnings_;
};

// One device for the whole test program.
std::shared_ptr<emulator::Device> SharedDevice();

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_PTX_RUNNER_H_
