// Kernels written as assembly in a test: llvm-mc makes the bytes, and the code
// object around them is made by hand (code_object_builder.h).
#ifndef CERBERUS_TESTS_UNIT_EMULATOR_ASSEMBLE_H_
#define CERBERUS_TESTS_UNIT_EMULATOR_ASSEMBLE_H_

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "code_object_builder.h"
#include "emulator/emulator.h"

namespace cerberus::emulator {

inline Bytes ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

// The section .text of an object file of llvm-mc.
inline Bytes TextSection(const Bytes& object) {
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  const auto section = [&](unsigned i) {
    Elf64_Shdr s;
    std::memcpy(&s, object.data() + header.e_shoff + i * sizeof s, sizeof s);
    return s;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (unsigned i = 1; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    const char* name = reinterpret_cast<const char*>(
        object.data() + names.sh_offset + s.sh_name);
    if (std::string_view(name) == ".text") {
      const auto at = object.begin() + static_cast<long>(s.sh_offset);
      return Bytes(at, at + static_cast<long>(s.sh_size));
    }
  }
  return {};
}

inline Bytes Assemble(const std::string& target, std::string_view text,
                      bool wave64 = false) {
  const std::string base =
      testing::TempDir() + "/assemble." + std::to_string(getpid());
  std::ofstream(base + ".s") << text << "\n";
  const bool rdna = target.starts_with("gfx1");
  const std::string command =
      std::string(LLVM_MC) + " -triple=amdgcn-amd-amdhsa -mcpu=" + target +
      (rdna && wave64 ? " -mattr=+wavefrontsize64,-wavefrontsize32" : "") +
      " -filetype=obj -o " + base + ".o " + base + ".s";
  if (std::system(command.c_str()) != 0) {
    ADD_FAILURE() << command;
    return {};
  }
  return TextSection(ReadAll(base + ".o"));
}

// One device with one kernel; its only argument is the address of `memory`.
class AssembledKernel : public ::testing::Test {
 protected:
  void Open(KernelParts parts, std::string_view text,
            DeviceOptions options = {}) {
    if (parts.target.starts_with("gfx9")) parts.wavefront_size = 64;
    if (options.threads == 0) options.threads = 2;
    auto device = Device::Create(parts.target, options);
    ASSERT_TRUE(device) << device.error().ToString();
    device_ = std::move(*device);
    const auto loaded = device_->LoadCodeObject(BuildCodeObject(
        parts, Assemble(parts.target, text, parts.wavefront_size == 64)));
    ASSERT_TRUE(loaded) << loaded.error().ToString();
    code_ = *loaded;
    const auto memory = device_->Allocate(65536, 256, MemoryKind::kDevice);
    ASSERT_TRUE(memory);
    memory_ = *memory;
  }
  void Open(const std::string& target, std::string_view text,
            DeviceOptions options = {}) {
    KernelParts parts;
    parts.target = target;
    Open(parts, text, options);
  }
  Status Run(std::uint32_t groups, std::uint32_t items) {
    const std::uint64_t argument = memory_.address;
    LaunchConfig config;
    config.grid = {groups, 1, 1};
    config.block = {items, 1, 1};
    config.kernarg =
        ByteSpan(reinterpret_cast<const std::uint8_t*>(&argument), 8);
    return device_->Launch(code_->kernels()[0], config);
  }
  // The report of a kernel that must fail; empty if it did not.
  std::string Reason(std::uint32_t items = 1) { return Reason(1, items); }
  std::string Reason(std::uint32_t groups, std::uint32_t items) {
    if (code_ == nullptr) return "no code";
    if (Run(groups, items)) return "";
    const Fault* fault = device_->LastFault();
    return fault == nullptr ? "no fault" : fault->reason;
  }

  std::unique_ptr<Device> device_;
  CodeObject* code_ = nullptr;
  Allocation memory_;
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_TESTS_UNIT_EMULATOR_ASSEMBLE_H_
