// The emulated device behind emulator.h: code objects, memory, launches.
//
// A launch runs on the caller's thread, and on up to DeviceOptions::threads - 1
// others that it starts, and returns when all its waves have ended. They share
// its workgroups (scheduler.cc). Several launches may run at once on one
// device: what orders them is the caller's (a stream, a queue).
//
// An address is an address of the process. Each access of a kernel is looked up
// in `memory_`, which knows what was allocated for this device: one that lies
// elsewhere is a fault with the instruction, the lane and the allocation that
// is nearest (DescribeCode()), and ends the launch. Programs are decoded for
// waves of 32 and of 64 apart, since operands are rows of that length.
#ifndef CERBERUS_EMULATOR_DEVICE_DEVICE_H_
#define CERBERUS_EMULATOR_DEVICE_DEVICE_H_

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "emulator/access/memory.h"
#include "emulator/decode/decode.h"
#include "emulator/device/code_object.h"
#include "emulator/device/launch.h"
#include "emulator/emulator.h"

namespace cerberus::emulator {

// What a processor is to the emulator.
struct Target {
  const char* name;
  Gen gen;
  u32 major, minor, stepping;
  bool wave32;  // the default wave size
  u32 lds_bytes;
  u32 waves_per_simd;
  u32 simds;
  u32 vgprs;  // per SIMD and lane
  u32 compute_units;
  u32 elf_machine;  // EF_AMDGPU_MACH (AMDGPUUsage, "ELF Header")
};
const Target* FindTarget(std::string_view processor);

// A barrier or semaphore of global wave sync (access/gws.cc).
struct GwsResource {
  std::mutex mutex;
  u32 count = 0;
  u64 phase = 0;  // grows when those that wait are let go
};

class DeviceImpl : public Device {
 public:
  DeviceImpl(const Target& target, std::string id,
             const DeviceOptions& options);
  ~DeviceImpl() override;

  const std::string& target() const override { return id_; }
  const TargetInfo& info() const override { return info_; }
  Result<Allocation> Allocate(std::uint64_t size, std::uint64_t alignment,
                              MemoryKind kind) override;
  Status Register(void* host, std::uint64_t size) override;
  void ForgetRegistered(std::uint64_t address, std::uint64_t size) override;
  Status Free(std::uint64_t address, std::string_view by = {}) override;
  void MarkWritten(std::uint64_t address, std::uint64_t size) override;
  std::optional<Allocation> Find(std::uint64_t address) const override;
  std::uint64_t AllocatedBytes() const override;
  Result<CodeObject*> LoadCodeObject(ByteSpan bytes) override;
  Status UnloadCodeObject(CodeObject* code) override;
  const KernelInfo* FindKernelAt(std::uint64_t descriptor) const override;
  Status Launch(const KernelInfo& kernel, const LaunchConfig& config) override;
  const Fault* LastFault() const override;
  void OnInterrupt(std::function<void()> handler) override {
    interrupt_ = std::move(handler);
  }
  std::uint32_t Occupancy(const KernelInfo& kernel, std::uint32_t block_size,
                          std::uint32_t dynamic_lds) const override;
  std::uint32_t WavesPerSimd(const KernelInfo& kernel, std::uint32_t block_size,
                             std::uint32_t dynamic_lds) const override;

  Memory& memory() { return memory_; }
  static constexpr u32 kGwsResources = 64;
  std::array<GwsResource, kGwsResources>& gws() { return gws_; }
  // A wave has sent the host an interrupt.
  void Interrupt() const {
    if (interrupt_) interrupt_();
  }
  const DeviceOptions& options() const { return options_; }
  Program* FindProgram(std::uint64_t address, u32 lanes);
  // Fills what the code object says about an instruction's address and about
  // the address that it accessed.
  void DescribeCode(std::uint64_t pc, Fault* fault) const;

 private:
  struct Loaded {
    std::unique_ptr<LoadedCode> code;
    std::unique_ptr<Program> programs[2];  // wave32, wave64
  };
  Result<Allocation> TakeKernarg(std::uint64_t size);
  // Against what the GPU and the kernel allow.
  Status CheckLimits(const KernelInfo& kernel,
                     const LaunchConfig& config) const;
  // From the kernel's descriptor; without the addresses of FillBlock().
  KernelState StateOf(const KernelInfo& kernel,
                      const LaunchConfig& config) const;
  // Takes memory for what a launch hands its waves, and fills it.
  Result<Allocation> FillBlock(const LaunchConfig& config, KernelState& k);
  void RecordStats(const cerberus::emulator::Launch& launch,
                   const KernelInfo& kernel, const LaunchConfig& config) const;

  const Target& target_;
  std::string id_;
  TargetInfo info_;
  DeviceOptions options_;
  Memory memory_;
  mutable std::shared_mutex code_mutex_;
  std::vector<std::unique_ptr<Loaded>> code_;
  std::mutex kernarg_mutex_;
  std::vector<Allocation> free_kernargs_;
  std::atomic<u64> dispatches_{0};
  std::array<GwsResource, kGwsResources> gws_;
  std::function<void()> interrupt_;
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DEVICE_DEVICE_H_
