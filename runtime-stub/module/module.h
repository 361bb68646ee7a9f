// Modules, libraries and kernels.
//
// A CUlibrary and a CUmodule are the same object here, and so are a CUkernel
// and a CUfunction: cudart passes one where the other is declared. What was
// loaded as a module knows the context that it was loaded in, but runs in all.
// Code for a device is looked for at the first use of a kernel or variable
// there, and loaded into HIP at the first launch.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_MODULE_H_
#define CERBERUS_RUNTIME_STUB_MODULE_MODULE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/module/image.h"
#include "runtime-stub/module/kernels_alone.h"

namespace cerberus::stub {

class Module;

// CUDA's limit of shared memory per block for kernels that did not ask for
// more.
inline constexpr std::uint32_t kDefaultSharedLimit = 48 * 1024;

struct Kernel {
  static constexpr std::uint32_t kAlive = 0x4c4e524b;  // "KRNL"

  std::uint32_t alive = kAlive;
  Module* module = nullptr;
  std::string name;
  // By device: null until the first use there.
  struct OnDevice {
    std::atomic<const KernelInfo*> info{nullptr};
    // Of each of its forms.
    std::array<std::atomic<hipFunction_t>, KernelInfo::kForms> functions{};
  };
  std::array<OnDevice, kMaxDevices> devices;
  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; -1: not set.
  std::atomic<int> max_dynamic_shared{-1};
  std::atomic<int> carveout{-1};
  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED and _SCHEDULING_POLICY_
  // PREFERENCE.
  std::atomic<int> large_clusters{0};
  std::atomic<int> cluster_policy{0};
  std::atomic<bool> warned_of_block{false};  // too large for the GPU's waves
  std::uint32_t launch_id = 0;               // device_launch.h

  CUkernel kernel_handle() { return reinterpret_cast<CUkernel>(this); }
  CUfunction function_handle() { return reinterpret_cast<CUfunction>(this); }
  // Dynamic bytes that a launch may ask for.
  std::uint32_t DynamicSharedLimit(const KernelInfo& info) const;
};

// Null unless the handle is a kernel's.
Kernel* KernelOf(const void* handle);

class Module {
 public:
  // The module stays registered until Unload. `home` is the context that a
  // CUmodule belongs to, null for a library, which belongs to none.
  static Module* Create(Image image, Context* home = nullptr);
  static Module* Of(const void* handle);  // null unless a module's handle
  // Frees the code on all devices, all kernels, and the module. False for
  // what is no module, or none any more.
  static bool Unload(const void* handle);

  CUmodule module_handle() { return reinterpret_cast<CUmodule>(this); }
  CUlibrary library_handle() { return reinterpret_cast<CUlibrary>(this); }
  const std::string& name() const { return image_.name; }
  Context* home() const { return home_; }

  // Looks for the code for a device, once, unless kernels are to be compiled
  // as they are used (kernels_alone.h). `log` receives the compiler's words,
  // where it is asked.
  CUresult Prepare(Device* device, std::string* log = nullptr);

  // The kernel of that name, always the same object. Errors:
  // CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_SUPPORTED for a kernel that the
  // compiler left out, what Prepare answers.
  CUresult GetKernel(Device* device, const char* name, Kernel** kernel);
  // All kernels, by name.
  CUresult ListKernels(Device* device, std::vector<Kernel*>* kernels);

  // What the metadata says of the kernel on this device.
  CUresult InfoOf(Kernel* kernel, Device* device, const KernelInfo** info);
  // The code in HIP of one of the kernel's forms, the first one unless said
  // otherwise; loaded if need be. The context's device must be HIP's current
  // one.
  CUresult FunctionOf(Kernel* kernel, Context* context, hipFunction_t* function,
                      const KernelInfo* form = nullptr);
  CUresult GetGlobal(Context* context, const char* name, CUdeviceptr* address,
                     std::size_t* bytes);
  // Tells kernels that launch this one what may be asked of it, if its code is
  // loaded; after what is so has changed.
  CUresult UpdateHandle(Kernel* kernel, Device* device);
  // sm of the PTX that the kernel's code was made from; 0 if not known.
  std::uint32_t SmOf(Kernel* kernel, Device* device);

  // Drops the device's code from HIP, for a reset; it is loaded again at the
  // next use.
  void UnloadFrom(Device* device);

 private:
  static constexpr std::uint32_t kAlive = 0x45444f4d;  // "MODE"

  struct OnDevice {
    bool searched = false;
    CUresult result = CUDA_SUCCESS;
    Code code;
    Code rejected;  // by HIP; kernels' infos may still be read
    hipModule_t hip_module = nullptr;
    // Where there are such, or variables apart.
    std::unique_ptr<KernelsAlone> alone;
  };

  Module(Image image, Context* home) : image_(std::move(image)), home_(home) {}
  OnDevice& SlotLocked(Device* device);
  CUresult SearchLocked(Device* device, std::string* log, CodeSource source);
  // Where kernels are compiled as they are used: null once the whole is there.
  KernelsAlone* AloneLocked(Device* device);
  KernelsAlone::Entry* FindAloneLocked(Device* device, std::string_view name);
  CUresult PrepareLocked(Device* device, std::string* log);
  // Where there is no code at all: for `kernel`, or "" for the whole image.
  void SayMissingLocked(Device* device, const char* kernel) const;
  CUresult LoadLocked(Context* context);
  CUresult SetHandleLocked(Context* context, hipModule_t loaded,
                           const KernelInfo& info);
  hipError_t LoadCompiledLocked(Device* device, hipModule_t* loaded);
  Kernel* KernelLocked(const std::string& name);
  Kernel* KernelLocked(Device* device, const KernelInfo& info);
  // As GetKernel, with the code.
  CUresult CompiledKernelLocked(Device* device, const char* name,
                                Kernel** kernel);
  CUresult LoadAloneLocked(Context* context, KernelsAlone::Entry* entry);
  // The code of variables that are apart; HIP's null where none are.
  CUresult VariablesLocked(Context* context, hipModule_t* variables);
  // Tells code where they are, if it asks for them.
  CUresult SetVariablesLocked(Context* context, hipModule_t loaded);
  // Gives the code's managed variables memory that all devices share.
  CUresult SetManagedLocked(Context* context, hipModule_t loaded,
                            const CodeObjectInfo& info);
  void UnloadFromLocked(Device* device);

  std::uint32_t alive_ = kAlive;
  const Image image_;
  Context* const home_;
  std::mutex mutex_;  // guards what follows; never held while HIP runs work
  std::array<std::unique_ptr<OnDevice>, kMaxDevices> devices_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
  // By name; allocated on `device`, whose reset ends them.
  struct ManagedVariable {
    void* memory;
    const Device* device;
  };
  std::map<std::string, ManagedVariable, std::less<>> managed_;
};

// The context in which a module and its functions are meant: its own, else the
// current one. To be used (UseContext).
CUresult UseModule(const Module& module, Context** context);
// Where code is looked for if there may be no context: on the device of the
// module's own, else of the current one, else on the first.
Device* DeviceForQuery(const Module& module);

// A registered image, as cudart 11 hands it over.
CUresult LoadWrapper(CUmodule* module, const void* wrapper);

// Drops all modules' code from a device.
void UnloadAllModules(Device* device);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_MODULE_H_
