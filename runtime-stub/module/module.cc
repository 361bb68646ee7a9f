#include "runtime-stub/module/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "formats/code_object.h"
#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/provider.h"
#include "runtime-stub/launch/device_launch.h"
#include "runtime-stub/launch/services.h"
#include "runtime-stub/memory/texture_reference.h"
#include "runtime-stub/module/hip_image.h"
#include "runtime-stub/stream/capture.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

std::mutex g_modules_mutex;
NeverDestroyed<std::vector<Module*>> g_all_modules;
auto& g_modules = *g_all_modules;

}  // namespace

std::uint32_t Kernel::DynamicSharedLimit(const KernelInfo& info) const {
  const int set = max_dynamic_shared.load(std::memory_order_relaxed);
  if (set >= 0) return static_cast<std::uint32_t>(set);
  const std::uint32_t used = info.program_shared();
  return used < kDefaultSharedLimit ? kDefaultSharedLimit - used : 0;
}

Kernel* KernelOf(const void* handle) {
  auto* kernel = static_cast<Kernel*>(const_cast<void*>(handle));
  return kernel != nullptr && kernel->alive == Kernel::kAlive ? kernel
                                                              : nullptr;
}

Module* Module::Create(Image image, Context* home) {
  std::unique_ptr<Module> module(new Module(std::move(image), home));
  std::lock_guard<std::mutex> lock(g_modules_mutex);
  g_modules.push_back(module.get());
  return module.release();
}

Module* Module::Of(const void* handle) {
  auto* module = static_cast<Module*>(const_cast<void*>(handle));
  return module != nullptr && module->alive_ == kAlive ? module : nullptr;
}

bool Module::Unload(const void* handle) {
  auto* module = static_cast<Module*>(const_cast<void*>(handle));
  {
    std::lock_guard<std::mutex> lock(g_modules_mutex);
    const auto at = std::find(g_modules.begin(), g_modules.end(), module);
    if (at == g_modules.end()) return false;
    g_modules.erase(at);
  }
  if (!Exiting()) ForgetReferences(module);
  if (!Exiting()) {
    for (int i = 0; i < DeviceCount(); ++i) module->UnloadFrom(GetDevice(i));
  }
  for (auto& [name, kernel] : module->kernels_) {
    ForgetLaunchId(kernel.get());
    kernel->alive = 0;
  }
  module->alive_ = 0;
  delete module;
  return true;
}

CUresult Module::Prepare(Device* device, std::string* log) {
  std::lock_guard<std::mutex> lock(mutex_);
  const CUresult result = SearchLocked(device, log, CodeSource::kAsUsed);
  if (result != CUDA_SUCCESS) SayMissingLocked(device, "");
  return result;
}

void Module::SayMissingLocked(Device* device, const char* kernel) const {
  const std::string& why = devices_.at(device->ordinal)->code.why_none;
  if (why.empty()) return;  // what failed has said so
  SayMissing(
      image_.name,
      fmt::format("{}: {}cannot run on {}: {}", image_.name,
                  *kernel == '\0' ? "" : fmt::format("kernel '{}' ", kernel),
                  device->target.ToString(), why));
}

Module::OnDevice& Module::SlotLocked(Device* device) {
  std::unique_ptr<OnDevice>& slot = devices_[device->ordinal];
  if (slot == nullptr) slot = std::make_unique<OnDevice>();
  return *slot;
}

CUresult Module::SearchLocked(Device* device, std::string* log,
                              CodeSource source) {
  OnDevice& slot = SlotLocked(device);
  if (slot.searched) return slot.result;
  if (slot.alone != nullptr) {
    if (source == CodeSource::kAsUsed) return CUDA_SUCCESS;
    // Nothing else was found.
    source = slot.alone->empty() ? CodeSource::kCompiled : CodeSource::kApart;
  }
  slot.result = FindCode(image_, *device, &slot.code, log, source);
  const bool as_used = !slot.code.to_compile.empty();
  if (as_used || (slot.code.variables_apart && slot.alone == nullptr)) {
    slot.alone =
        std::make_unique<KernelsAlone>(std::exchange(slot.code.to_compile, {}));
  }
  if (as_used) return CUDA_SUCCESS;
  slot.searched = slot.result != CUDA_ERROR_OUT_OF_MEMORY;
  return slot.result;
}

CUresult Module::PrepareLocked(Device* device, std::string* log) {
  return SearchLocked(device, log, CodeSource::kAny);
}

KernelsAlone* Module::AloneLocked(Device* device) {
  static_cast<void>(SearchLocked(device, nullptr, CodeSource::kAsUsed));
  const OnDevice& slot = SlotLocked(device);
  return slot.searched ? nullptr : slot.alone.get();
}

KernelsAlone::Entry* Module::FindAloneLocked(Device* device,
                                             std::string_view name) {
  KernelsAlone* alone = SlotLocked(device).alone.get();
  return alone != nullptr ? alone->Find(name) : nullptr;
}

Kernel* Module::KernelLocked(const std::string& name) {
  auto at = kernels_.find(name);
  if (at == kernels_.end()) {
    auto made = std::make_unique<Kernel>();
    made->module = this;
    made->name = name;
    at = kernels_.emplace(name, std::move(made)).first;
  }
  return at->second.get();
}

Kernel* Module::KernelLocked(Device* device, const KernelInfo& info) {
  Kernel* kernel = KernelLocked(info.name);
  kernel->devices[device->ordinal].info.store(&info, std::memory_order_release);
  return kernel;
}

CUresult Module::GetKernel(Device* device, const char* name, Kernel** kernel) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (KernelsAlone* alone = AloneLocked(device);
      alone != nullptr && alone->Has(name)) {
    *kernel = KernelLocked(name);
    return CUDA_SUCCESS;
  }
  return CompiledKernelLocked(device, name, kernel);
}

CUresult Module::CompiledKernelLocked(Device* device, const char* name,
                                      Kernel** kernel) {
  KernelsAlone::Entry* entry = FindAloneLocked(device, name);
  if (KernelsAlone* alone = AloneLocked(device);
      entry == nullptr && alone != nullptr && alone->Has(name)) {
    entry = alone->Compile(image_, *device, name);
  }
  if (entry != nullptr) {
    *kernel = KernelLocked(device, entry->info());
    return CUDA_SUCCESS;
  }
  if (CUresult r = PrepareLocked(device, nullptr); r != CUDA_SUCCESS) {
    SayMissingLocked(device, name);
    return r;
  }
  const CodeObjectInfo& info = devices_[device->ordinal]->code.info;
  if (const KernelInfo* found = info.FindKernel(name)) {
    *kernel = KernelLocked(device, *found);
    return CUDA_SUCCESS;
  }
  if (const CodeObjectInfo::Failed* failed = info.FindFailed(name)) {
    Log(LogLevel::kError, "kernel '%s' was left out when it was compiled: %s",
        name, failed->reason.c_str());
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  Log(LogLevel::kInfo, "%s has no kernel '%s'", image_.name.c_str(), name);
  return CUDA_ERROR_NOT_FOUND;
}

CUresult Module::ListKernels(Device* device, std::vector<Kernel*>* kernels) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const KernelsAlone* alone = AloneLocked(device)) {
    for (const std::string& name : alone->names()) {
      kernels->push_back(KernelLocked(name));
    }
    return CUDA_SUCCESS;
  }
  if (CUresult r = PrepareLocked(device, nullptr); r != CUDA_SUCCESS) return r;
  for (const KernelInfo& info : devices_[device->ordinal]->code.info.kernels) {
    kernels->push_back(KernelLocked(device, info));
  }
  return CUDA_SUCCESS;
}

CUresult Module::InfoOf(Kernel* kernel, Device* device,
                        const KernelInfo** info) {
  Kernel::OnDevice& slot = kernel->devices[device->ordinal];
  *info = slot.info.load(std::memory_order_acquire);
  if (*info != nullptr) return CUDA_SUCCESS;
  Kernel* same = nullptr;
  std::lock_guard<std::mutex> lock(mutex_);
  const CUresult result =
      CompiledKernelLocked(device, kernel->name.c_str(), &same);
  if (result == CUDA_SUCCESS) {
    *info = slot.info.load(std::memory_order_acquire);
  }
  return result;
}

// For code that HIP does not take (made for another version of it, say):
// compiled anew from the PTX, if the image has it.
hipError_t Module::LoadCompiledLocked(Device* device, hipModule_t* loaded) {
  OnDevice& slot = *devices_[device->ordinal];
  Code compiled;
  if (!image_.hsaco.empty() || slot.code.variables_apart ||
      FindCode(image_, *device, &compiled, nullptr, CodeSource::kCompiled) !=
          CUDA_SUCCESS) {
    if (!compiled.why_none.empty()) {
      SayMissing(image_.name,
                 fmt::format("{}: HIP does not load the prebuilt code for {}, "
                             "and there is no other: {}",
                             image_.name, device->target.ToString(),
                             compiled.why_none));
    }
    return hipErrorNotFound;
  }
  const hipError_t error = LoadIntoHip(loaded, compiled.bytes);
  if (error != hipSuccess) return error;
  Log(LogLevel::kWarning,
      "%s: HIP does not load the prebuilt code for %s; compiled again",
      image_.name.c_str(), device->target.ToString().c_str());
  slot.rejected = std::move(slot.code);
  slot.code = std::move(compiled);
  for (const KernelInfo& info : slot.code.info.kernels) {
    KernelLocked(device, info);
  }
  return hipSuccess;
}

// A variable of the code that an address belongs into; null if there is none.
static CUresult FindAddressOf(Context* context, hipModule_t loaded,
                              const char* name, hipDeviceptr_t* variable) {
  std::size_t bytes = sizeof(CUdeviceptr);
  const hipError_t found =
      hip.hipModuleGetGlobal(variable, &bytes, loaded, name);
  if (found == hipErrorNotFound) {
    *variable = nullptr;
    return CUDA_SUCCESS;
  }
  if (found != hipSuccess) return NoteResult(context, found);
  return bytes == sizeof(CUdeviceptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

// Gives the code the address of the context's services, if it asks for it.
static CUresult SetServices(Context* context, hipModule_t loaded) {
  hipDeviceptr_t variable = nullptr;
  CUdeviceptr block = 0;
  CUresult result =
      FindAddressOf(context, loaded, formats::kContextSymbol, &variable);
  if (result != CUDA_SUCCESS || variable == nullptr) return result;
  result = ServicesOf(context, &block);
  if (result != CUDA_SUCCESS) return result;
  return FromHip(Upload(variable, &block, sizeof block));
}

CUresult Module::SetVariablesLocked(Context* context, hipModule_t loaded) {
  hipDeviceptr_t variable = nullptr;
  CUresult result =
      FindAddressOf(context, loaded, formats::kVariablesSymbol, &variable);
  if (result != CUDA_SUCCESS || variable == nullptr) return result;
  hipModule_t variables = nullptr;
  result = VariablesLocked(context, &variables);
  if (result != CUDA_SUCCESS) return result;
  hipDeviceptr_t table = nullptr;
  std::size_t bytes = 0;
  const hipError_t error = hip.hipModuleGetGlobal(&table, &bytes, variables,
                                                  formats::kVariableTable);
  if (error != hipSuccess) return NoteResult(context, error);
  return FromHip(Upload(variable, &table, sizeof table));
}

CUresult Module::SetManagedLocked(Context* context, hipModule_t loaded,
                                  const CodeObjectInfo& info) {
  for (const std::string& name : info.managed) {
    hipDeviceptr_t slot = nullptr;
    CUresult result = FindAddressOf(
        context, loaded, (formats::kManagedPrefix + name).c_str(), &slot);
    if (result != CUDA_SUCCESS) return result;
    if (slot == nullptr) continue;  // in other code
    auto known = managed_.find(name);
    if (known == managed_.end()) {
      hipDeviceptr_t copy = nullptr;
      std::size_t bytes = 0;
      ManagedVariable variable = {nullptr, context->device};
      hipError_t error =
          hip.hipModuleGetGlobal(&copy, &bytes, loaded, name.c_str());
      if (error == hipSuccess) {
        constexpr unsigned kForAll = 1;  // hipMemAttachGlobal
        const RelaxedCapture relaxed;
        error = hip.hipMallocManaged(&variable.memory, bytes, kForAll);
      }
      if (error != hipSuccess) return NoteResult(context, error);
      error = CopyNow(variable.memory, copy, bytes, hipMemcpyDeviceToHost);
      if (error != hipSuccess) {
        hip.hipFree(variable.memory);
        return NoteResult(context, error);
      }
      known = managed_.emplace(name, variable).first;
    }
    result = FromHip(Upload(slot, &known->second.memory, sizeof(void*)));
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult Module::SetHandleLocked(Context* context, hipModule_t loaded,
                                 const KernelInfo& info) {
  const std::string name = formats::kHandlePrefix + info.name;
  hipDeviceptr_t symbol = nullptr;
  std::size_t bytes = 0;
  const hipError_t found =
      hip.hipModuleGetGlobal(&symbol, &bytes, loaded, name.c_str());
  // Known to no code that was kept.
  if (found == hipErrorNotFound) return CUDA_SUCCESS;
  if (found != hipSuccess) return NoteResult(context, found);
  formats::KernelHandle handle;
  if (bytes != sizeof handle) return CUDA_ERROR_INVALID_IMAGE;
  Kernel* kernel = KernelLocked(context->device, info);
  handle.id = LaunchIdOf(kernel);
  for (const KernelParam& param : info.params) {
    handle.param_bytes =
        std::max(handle.param_bytes, param.offset + param.size);
  }
  handle.max_threads = info.max_threads;
  handle.static_shared = info.program_shared();
  handle.dynamic_limit = kernel->DynamicSharedLimit(info);
  handle.registers = info.registers;
  handle.local_bytes = info.local_bytes;
  handle.const_bytes = info.const_bytes;
  handle.sm = devices_[context->device->ordinal]->code.info.sm;
  return FromHip(Upload(symbol, &handle, sizeof handle));
}

CUresult Module::UpdateHandle(Kernel* kernel, Device* device) {
  std::lock_guard<std::mutex> lock(mutex_);
  const OnDevice* slot = devices_[device->ordinal].get();
  if (slot == nullptr || slot->hip_module == nullptr) return CUDA_SUCCESS;
  const KernelInfo* info = slot->code.info.FindKernel(kernel->name);
  if (info == nullptr || !info->handle) return CUDA_SUCCESS;
  return SetHandleLocked(device->primary.get(), slot->hip_module, *info);
}

CUresult Module::LoadLocked(Context* context) {
  Device* device = context->device;
  if (CUresult r = PrepareLocked(device, nullptr); r != CUDA_SUCCESS) return r;
  OnDevice& slot = *devices_[device->ordinal];
  if (slot.hip_module != nullptr) return CUDA_SUCCESS;
  if (slot.code.bytes.empty()) return CUDA_ERROR_NOT_FOUND;
  FlushOutput(device);
  hipModule_t loaded = nullptr;
  hipError_t error = LoadIntoHip(&loaded, slot.code.bytes);
  if (error != hipSuccess && error != hipErrorOutOfMemory &&
      LoadCompiledLocked(device, &loaded) == hipSuccess) {
    error = hipSuccess;
  }
  if (error != hipSuccess) {
    Log(LogLevel::kError, "%s: HIP does not load the code for %s: error %d",
        image_.name.c_str(), device->target.ToString().c_str(), error);
    return NoteResult(context, error);
  }
  // Modules that print, assert, trap or launch find what they need here.
  if (slot.code.info.abi) {
    CUresult result = SetServices(context, loaded);
    if (result == CUDA_SUCCESS) {
      result = SetManagedLocked(context, loaded, slot.code.info);
    }
    if (result == CUDA_SUCCESS && slot.code.variables_apart) {
      result = SetVariablesLocked(context, loaded);
    }
    for (const KernelInfo& info : slot.code.info.kernels) {
      if (!info.handle || result != CUDA_SUCCESS) continue;
      result = SetHandleLocked(context, loaded, info);
    }
    if (result != CUDA_SUCCESS) {
      hip.hipModuleUnload(loaded);
      return result;
    }
  }
  slot.hip_module = loaded;
  return CUDA_SUCCESS;
}

// Such code launches no kernels, and none launches it.
CUresult Module::LoadAloneLocked(Context* context, KernelsAlone::Entry* entry) {
  if (entry->hip_module != nullptr) return CUDA_SUCCESS;
  FlushOutput(context->device);
  hipModule_t loaded = nullptr;
  if (const hipError_t error = LoadIntoHip(&loaded, entry->code.bytes);
      error != hipSuccess) {
    Log(LogLevel::kError, "%s: HIP does not load the code for %s: error %d",
        image_.name.c_str(), context->device->target.ToString().c_str(), error);
    return NoteResult(context, error);
  }
  CUresult result = SetServices(context, loaded);
  if (result == CUDA_SUCCESS) {
    result = SetManagedLocked(context, loaded, entry->code.info);
  }
  if (result == CUDA_SUCCESS) result = SetVariablesLocked(context, loaded);
  if (result != CUDA_SUCCESS) {
    hip.hipModuleUnload(loaded);
    return result;
  }
  entry->hip_module = loaded;
  return CUDA_SUCCESS;
}

CUresult Module::VariablesLocked(Context* context, hipModule_t* variables) {
  Device* device = context->device;
  static_cast<void>(SearchLocked(device, nullptr, CodeSource::kAsUsed));
  const OnDevice& slot = SlotLocked(device);
  *variables = nullptr;
  if (slot.alone == nullptr || (slot.searched && !slot.code.variables_apart)) {
    return CUDA_SUCCESS;
  }
  KernelsAlone::Entry* entry = slot.alone->Variables(image_, *device);
  if (entry == nullptr) return CUDA_ERROR_INVALID_PTX;
  if (CUresult r = LoadAloneLocked(context, entry); r != CUDA_SUCCESS) return r;
  *variables = entry->hip_module;
  return CUDA_SUCCESS;
}

CUresult Module::FunctionOf(Kernel* kernel, Context* context,
                            hipFunction_t* function, const KernelInfo* form) {
  Kernel::OnDevice& on_device = kernel->devices[context->device->ordinal];
  const unsigned number = form != nullptr ? form->form : 0;
  std::atomic<hipFunction_t>& found = on_device.functions[number];
  *function = found.load(std::memory_order_acquire);
  if (__builtin_expect(*function != nullptr, 1)) return CUDA_SUCCESS;
  const KernelInfo* info = nullptr;
  if (CUresult r = InfoOf(kernel, context->device, &info); r != CUDA_SUCCESS) {
    return r;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  KernelsAlone::Entry* alone = FindAloneLocked(context->device, kernel->name);
  if (CUresult r = alone != nullptr ? LoadAloneLocked(context, alone)
                                    : LoadLocked(context);
      r != CUDA_SUCCESS) {
    return r;
  }
  const hipError_t error = hip.hipModuleGetFunction(
      function,
      alone != nullptr ? alone->hip_module
                       : devices_[context->device->ordinal]->hip_module,
      number != 0 ? form->name.c_str() : kernel->name.c_str());
  if (error != hipSuccess) return NoteResult(context, error);
  found.store(*function, std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult Module::GetGlobal(Context* context, const char* name,
                           CUdeviceptr* address, std::size_t* bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  hipDeviceptr_t pointer = nullptr;
  std::size_t size = 0;
  hipError_t error = hipErrorNotFound;
  hipModule_t variables = nullptr;
  if (CUresult r = VariablesLocked(context, &variables);
      r == CUDA_SUCCESS && variables != nullptr) {
    error = hip.hipModuleGetGlobal(&pointer, &size, variables, name);
  }
  if (error == hipErrorNotFound) {
    if (CUresult r = LoadLocked(context); r != CUDA_SUCCESS) return r;
    error = hip.hipModuleGetGlobal(
        &pointer, &size, devices_[context->device->ordinal]->hip_module, name);
  }
  if (error != hipSuccess) return NoteResult(context, error);
  if (auto managed = managed_.find(name); managed != managed_.end()) {
    pointer = managed->second.memory;
  }
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(pointer);
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

std::uint32_t Module::SmOf(Kernel* kernel, Device* device) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto* alone = FindAloneLocked(device, kernel->name)) {
    return alone->code.info.sm;
  }
  if (PrepareLocked(device, nullptr) != CUDA_SUCCESS) return 0;
  return devices_[device->ordinal]->code.info.sm;
}

void Module::UnloadFrom(Device* device) {
  std::lock_guard<std::mutex> lock(mutex_);
  UnloadFromLocked(device);
  // Code on other devices does not outlive its variables.
  bool others_too = false;
  for (auto at = managed_.begin(); at != managed_.end();) {
    if (at->second.device != device) {
      ++at;
      continue;
    }
    hip.hipFree(at->second.memory);
    at = managed_.erase(at);
    others_too = true;
  }
  if (!others_too) return;
  for (int i = 0; i < DeviceCount(); ++i) UnloadFromLocked(GetDevice(i));
}

void Module::UnloadFromLocked(Device* device) {
  OnDevice* slot = devices_[device->ordinal].get();
  if (slot == nullptr) return;
  for (auto& [name, kernel] : kernels_) {
    for (auto& function : kernel->devices[device->ordinal].functions) {
      function.store(nullptr);
    }
  }
  const auto unload = [&](hipModule_t* loaded) {
    if (*loaded == nullptr) return;
    FlushOutput(device);
    hip.hipModuleUnload(std::exchange(*loaded, nullptr));
  };
  unload(&slot->hip_module);
  if (slot->alone == nullptr) return;
  for (auto& [name, entry] : slot->alone->entries()) unload(&entry.hip_module);
}

CUresult UseModule(const Module& module, Context** context) {
  *context = module.home();
  return *context != nullptr ? UseContext(*context) : CurrentContext(context);
}

Device* DeviceForQuery(const Module& module) {
  const Context* context = module.home();
  if (context == nullptr) context = CurrentContextOrNull();
  return context != nullptr ? context->device : GetDevice(0);
}

CUresult LoadWrapper(CUmodule* out, const void* wrapper) {
  if (out == nullptr || wrapper == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  Image image;
  if (CUresult r = IdentifyImage(wrapper, &image); r != CUDA_SUCCESS) {
    return r;
  }
  *out = Module::Create(std::move(image))->module_handle();
  return CUDA_SUCCESS;
}

void UnloadAllModules(Device* device) {
  std::vector<Module*> modules;
  {
    std::lock_guard<std::mutex> lock(g_modules_mutex);
    modules = g_modules;
  }
  for (Module* module : modules) module->UnloadFrom(device);
}

}  // namespace cerberus::stub
