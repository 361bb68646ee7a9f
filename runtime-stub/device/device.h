// The GPUs of the process, as CUDA devices.
#ifndef CERBERUS_RUNTIME_STUB_DEVICE_DEVICE_H_
#define CERBERUS_RUNTIME_STUB_DEVICE_DEVICE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime-stub/api/cuda_abi.h"
#include "support/targets/target_id.h"
#include "support/targets/target_table.h"

namespace cerberus::stub {

struct Context;
struct LaunchSlots;
struct ServiceBlock;

// More GPUs than this in one machine are not shown; per-device tables have
// this size so that the launch path needs no lock.
inline constexpr int kMaxDevices = 32;

struct Device {
  // Ids of CUdevice_attribute in CUDA 13.5 end at 161.
  static constexpr int kAttributes = 162;

  int ordinal = 0;      // CUdevice
  int hip_ordinal = 0;  // differs where CUDA_VISIBLE_DEVICES chooses
  std::string name;
  TargetId target;  // what HIP says the GPU is
  std::uint64_t total_memory = 0;
  CUuuid uuid = {};
  ComputeCapability cc;
  // Asked once, at cuInit: cudart hashes what it was told, so the answers may
  // not change later.
  std::array<int, kAttributes> attributes = {};
  std::unique_ptr<Context> primary;
  // What kernels have from the host (services.h), made at first use. All
  // contexts share it, as they share the modules' code.
  std::atomic<ServiceBlock*> services{nullptr};
  // For kernels that launch kernels (device_launch.h), made at first use.
  std::atomic<LaunchSlots*> launch_slots{nullptr};

  int attribute(int id) const {
    return id >= 0 && id < kAttributes ? attributes[id] : 0;
  }
  // Bytes of shared memory that a block can have in all.
  std::uint32_t shared_limit = 65536;

  Device();
  ~Device();
};

// Finds the devices; cuInit. Further calls repeat the first one's answer.
CUresult InitDevices();

// Whether shared memory above the hardware's lies in device memory
// (CERBERUS_SHARED_OVERFLOW).
bool SharedOverflow();

// 0 before cuInit.
int DeviceCount();

// Null for an ordinal that is not a device's.
Device* GetDevice(CUdevice ordinal);

// The device with that number in HIP; null if there is none or it is hidden.
Device* DeviceOfHip(int hip_ordinal);

// CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_DEVICE, or the device.
CUresult FindDevice(CUdevice ordinal, Device** device);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_DEVICE_DEVICE_H_
