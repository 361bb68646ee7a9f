// Launches described by structures, launches on several devices, and the
// addresses of functions by their names.
#include <dlfcn.h>

#include <cstring>
#include <set>
#include <string>

#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

namespace {

// Hints leave the launch as it is.
hipError_t ReadAttributes(const hipLaunchAttribute* list, unsigned count,
                          bool* cooperative) {
  if (count != 0 && list == nullptr) return hipErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    switch (list[i].id) {
      case hipLaunchAttributeCooperative:
        *cooperative = list[i].val.cooperative != 0;
        break;
      case hipLaunchAttributeAccessPolicyWindow:
      case hipLaunchAttributeSynchronizationPolicy:
      case hipLaunchAttributePriority:
      case hipLaunchAttributeMemSyncDomainMap:
      case hipLaunchAttributeMemSyncDomain: break;
      default: return hipErrorInvalidValue;
    }
  }
  return hipSuccess;
}

// What a kernel of a launch on several devices finds behind its hidden
// argument "multigrid_sync_arg", as AMD's device library reads it.
struct MultigridSync {
  std::uint32_t w0, w1;
};
struct MultigridInfo {
  MultigridSync* all;
  std::uint32_t grid, grids;
  std::uint64_t items_before, items_of_all;
  MultigridSync own;
  std::uint32_t workgroups;
};

std::uint64_t Items(const dim3& grid, const dim3& block) {
  return std::uint64_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
}

struct DeviceLaunch {
  Function* function;
  dim3 grid, block;
  std::size_t shared;
  hipStream_t stream;
  void** params;
};

hipError_t LaunchOnAll(const std::vector<DeviceLaunch>& list, unsigned flags) {
  constexpr unsigned kKnown = hipCooperativeLaunchMultiDeviceNoPreSync |
                              hipCooperativeLaunchMultiDeviceNoPostSync;
  if (list.empty() || (flags & ~kKnown) != 0) return hipErrorInvalidValue;
  std::set<Gpu*> gpus;
  std::vector<std::shared_ptr<Stream>> streams;
  std::uint64_t items = 0;
  for (const DeviceLaunch& each : list) {
    if (each.function == nullptr || each.stream == nullptr) {
      return hipErrorInvalidValue;
    }
    Gpu* gpu = each.function->module->gpu;
    std::shared_ptr<Stream> stream = Runtime::Get().FindStream(each.stream);
    if (!stream || stream->gpu() != gpu || !gpus.insert(gpu).second) {
      return hipErrorInvalidValue;
    }
    streams.push_back(std::move(stream));
    items += Items(each.grid, each.block);
  }
  // The counters that all share, then each grid's own record.
  void* memory = nullptr;
  const hipError_t error = Runtime::Get().Allocate(
      *gpus.begin(), 64 + list.size() * 64,
      cerberus::emulator::MemoryKind::kManaged, 0, &memory);
  if (error != hipSuccess) return error;
  const std::shared_ptr<void> whole(memory, [](void* m) {
    (void)Runtime::Get().Free(m, "the end of a launch on several devices");
  });
  const auto meet = [&streams] {
    std::vector<FencePtr> last;
    for (const std::shared_ptr<Stream>& stream : streams) {
      last.push_back(stream->Submit(Work{}));
    }
    for (const std::shared_ptr<Stream>& stream : streams) {
      for (const FencePtr& fence : last) stream->WaitFor(fence);
    }
  };
  if ((flags & hipCooperativeLaunchMultiDeviceNoPreSync) == 0) meet();
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const DeviceLaunch& each = list[i];
    auto* info = reinterpret_cast<MultigridInfo*>(static_cast<char*>(memory) +
                                                  64 + i * 64);
    *info = {static_cast<MultigridSync*>(memory),
             static_cast<std::uint32_t>(i),
             static_cast<std::uint32_t>(list.size()),
             before,
             items,
             {},
             each.grid.x * each.grid.y * each.grid.z};
    before += Items(each.grid, each.block);
    const hipError_t launched = LaunchOn(
        each.function, each.grid, each.block, each.shared, each.stream,
        each.params, nullptr, true, std::shared_ptr<void>(whole, info));
    if (launched != hipSuccess) return launched;
  }
  if ((flags & hipCooperativeLaunchMultiDeviceNoPostSync) == 0) meet();
  return hipSuccess;
}

// This library's function of a name, or null.
void* FunctionOf(const std::string& name) {
  if (name.rfind("hip", 0) != 0) return nullptr;
  static void* self = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(&FunctionOf), &info) != 0
               ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : nullptr;
  }();
  return self == nullptr ? nullptr : dlsym(self, name.c_str());
}

}  // namespace

HIP_API hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* config,
                                      const void* host, void** params) {
  if (config == nullptr) return Return(hipErrorInvalidValue);
  bool cooperative = false;
  hipError_t error =
      ReadAttributes(config->attrs, config->numAttrs, &cooperative);
  if (error != hipSuccess) return Return(error);
  Function* function = nullptr;
  error = Resolve(host, &function);
  if (error != hipSuccess) return Return(error);
  return Return(LaunchOn(function, config->gridDim, config->blockDim,
                         config->dynamicSmemBytes, config->stream, params,
                         nullptr, cooperative));
}

HIP_API hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* config,
                                        hipFunction_t function, void** params,
                                        void** extra) {
  if (config == nullptr) return Return(hipErrorInvalidValue);
  bool cooperative = false;
  const hipError_t error =
      ReadAttributes(config->attrs, config->numAttrs, &cooperative);
  if (error != hipSuccess) return Return(error);
  return Return(LaunchOn(
      Runtime::Get().FindFunction(function),
      {config->gridDimX, config->gridDimY, config->gridDimZ},
      {config->blockDimX, config->blockDimY, config->blockDimZ},
      config->sharedMemBytes, config->hStream, params, extra, cooperative));
}

HIP_API hipError_t hipModuleLaunchCooperativeKernelMultiDevice(
    hipFunctionLaunchParams* list, unsigned count, unsigned flags) {
  if (list == nullptr) return Return(hipErrorInvalidValue);
  std::vector<DeviceLaunch> launches;
  for (unsigned i = 0; i < count; ++i) {
    const hipFunctionLaunchParams& p = list[i];
    launches.push_back({Runtime::Get().FindFunction(p.function),
                        {p.gridDimX, p.gridDimY, p.gridDimZ},
                        {p.blockDimX, p.blockDimY, p.blockDimZ},
                        p.sharedMemBytes,
                        p.hStream,
                        p.kernelParams});
  }
  return Return(LaunchOnAll(launches, flags));
}

// The host-side stub means, for each stream, the kernel of its device.
HIP_API hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams* list,
                                                         int count,
                                                         unsigned flags) {
  if (list == nullptr || count < 0) return Return(hipErrorInvalidValue);
  std::vector<DeviceLaunch> launches;
  for (int i = 0; i < count; ++i) {
    const hipLaunchParams& p = list[i];
    std::shared_ptr<Stream> stream = Runtime::Get().FindStream(p.stream);
    if (!stream) return Return(hipErrorInvalidHandle);
    Function* function = nullptr;
    const hipError_t error = FindHostFunction(p.func, stream->gpu(), &function);
    if (error != hipSuccess) return Return(error);
    launches.push_back(
        {function, p.gridDim, p.blockDim, p.sharedMem, p.stream, p.args});
  }
  return Return(LaunchOnAll(launches, flags));
}

// flags: 0 by the default, 1 the legacy default stream, 2 the thread's own.
// status: 0 found, 1 no such name, 2 not in this version.
HIP_API hipError_t hipGetProcAddress(const char* name, void** out, int,
                                     std::uint64_t flags,
                                     std::uint32_t* status) {
  if (name == nullptr || *name == '\0' || out == nullptr || flags > 2) {
    return Return(hipErrorInvalidValue);
  }
  *out = nullptr;
  std::string wanted = name;
  // As AMD's header renames it since version 6.
  if (ApiMajor() >= 6 &&
      (wanted == "hipGetDeviceProperties" || wanted == "hipChooseDevice")) {
    wanted += "R0600";
  }
  if (flags == 2) *out = FunctionOf(wanted + "_spt");
  if (*out == nullptr) *out = FunctionOf(wanted);
  if (status != nullptr) *status = *out != nullptr ? 0 : 1;
  return Return(*out != nullptr ? hipSuccess : hipErrorNotFound);
}

HIP_API hipError_t hipGetDriverEntryPoint(const char* name, void** out,
                                          unsigned long long flags,
                                          std::uint32_t* status) {
  return hipGetProcAddress(name, out, 0, flags, status);
}

HIP_API hipError_t hipGetFuncBySymbol(hipFunction_t* out, const void* host) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  Function* function = nullptr;
  const hipError_t error = Resolve(host, &function);
  if (error != hipSuccess) return Return(error);
  *out = reinterpret_cast<hipFunction_t>(function);
  return Return(hipSuccess);
}
