#include "emulator/hip/runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/hip/memory/array.h"

namespace cerberus::emulator::hip {
namespace {

int MajorFromName() {
  const char* text = std::getenv("CERBERUS_EMU_HIP_MAJOR");
  if (text != nullptr) {
    int major = std::atoi(text);
    if (major >= 5 && major <= 7) return major;
  }
  // The name this library was opened under: a program that needs
  // libamdhip64.so.6 finds the link of that name beside us.
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&MajorFromName), &info) != 0 &&
      info.dli_fname != nullptr) {
    const char* dot = std::strstr(info.dli_fname, ".so.");
    if (dot != nullptr && dot[4] >= '5' && dot[4] <= '7') return dot[4] - '0';
  }
  return 7;
}

}  // namespace

int ApiMajor() {
  static const int major = MajorFromName();
  return major;
}

ThreadState& Thread() {
  // On the heap and never freed: HIP calls made by destructors of other
  // thread-local objects still find it.
  static thread_local ThreadState* state = new ThreadState;
  return *state;
}

hipError_t Return(hipError_t error) {
  // HIP 7: the last error that was one. Before: what the last call returned
  // ("HIP API 7.0 changes", Update hipGetLastError).
  if (ApiMajor() < 7 || (error != hipSuccess && error != hipErrorNotReady)) {
    Thread().last_error = error;
  }
  return error;
}

Runtime& Runtime::Get() {
  static Runtime* runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() {
  for (const std::string& target : TargetsFromEnvironment()) {
    Result<std::unique_ptr<Device>> device = Device::Create(target);
    if (!device) {
      Report(device.error().ToString());
      continue;
    }
    std::unique_ptr<Gpu> gpu = std::make_unique<Gpu>();
    gpu->ordinal = static_cast<int>(gpus_.size());
    gpu->core = std::move(*device);
    FillProperties(*gpu->core, gpu->ordinal, &gpu->properties);
    gpu->legacy =
        Stream::Create(gpu.get(), Stream::Type::kLegacy, hipStreamDefault, 0);
    gpus_.push_back(std::move(gpu));
  }
  used_.resize(gpus_.size());
}

Gpu* Runtime::gpu(int ordinal) const {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= gpus_.size()) {
    return nullptr;
  }
  return gpus_[static_cast<std::size_t>(ordinal)].get();
}

Gpu* Runtime::current() const { return gpu(Thread().device); }

hipError_t CheckCurrent(Gpu** gpu) {
  Runtime& runtime = Runtime::Get();
  if (runtime.gpus().empty()) return hipErrorNoDevice;
  *gpu = runtime.current();
  if (*gpu == nullptr) return hipErrorInvalidDevice;
  return (*gpu)->sticky;
}

hipError_t CurrentStream(hipStream_t handle, std::shared_ptr<Stream>* out) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  *out = Runtime::Get().FindStream(handle);
  return *out ? hipSuccess : hipErrorInvalidHandle;
}

hipCtx_t ContextOf(Gpu* gpu) { return reinterpret_cast<hipCtx_t>(gpu); }

Gpu* GpuOf(hipCtx_t context) {
  for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
    if (ContextOf(gpu.get()) == context) return gpu.get();
  }
  return nullptr;
}

// --- Memory ---------------------------------------------------------------

hipError_t Runtime::Allocate(Gpu* gpu, std::uint64_t size, MemoryKind kind,
                             unsigned flags, void** out) {
  const std::size_t ordinal = static_cast<std::size_t>(gpu->ordinal);
  {
    std::unique_lock<std::shared_mutex> lock(memory_mutex_);
    if (size > TotalMemory() - std::min(TotalMemory(), used_[ordinal])) {
      return hipErrorOutOfMemory;
    }
    used_[ordinal] += size;
  }
  // HIP aligns allocations to 256 bytes at least; pinned ones to a page.
  const std::uint64_t alignment = kind == MemoryKind::kDevice ? 256 : 4096;
  Result<Allocation> made = gpu->core->Allocate(size, alignment, kind);
  std::unique_lock<std::shared_mutex> lock(memory_mutex_);
  if (!made) {
    used_[ordinal] -= size;
    return hipErrorOutOfMemory;
  }
  Block block{made->address, size, kind, gpu->ordinal, flags, next_block_id_++};
  blocks_[block.address] = block;
  for (const std::unique_ptr<Gpu>& other : gpus_) {
    if (other.get() == gpu) continue;
    // Host memory is everyone's; device memory its peers'.
    if (kind != MemoryKind::kDevice || other->peers.count(gpu->ordinal) != 0) {
      (void)other->core->Register(made->host(), size);
    }
  }
  *out = made->host();
  return hipSuccess;
}

hipError_t Runtime::RegisterHost(void* host, std::uint64_t size,
                                 unsigned flags) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(host);
  std::unique_lock<std::shared_mutex> lock(memory_mutex_);
  auto after = blocks_.lower_bound(address + size);
  if (after != blocks_.begin()) {
    const Block& before = std::prev(after)->second;
    if (before.address + before.size > address) {
      return hipErrorHostMemoryAlreadyRegistered;
    }
  }
  for (const std::unique_ptr<Gpu>& gpu : gpus_) {
    if (!gpu->core->Register(host, size)) return hipErrorInvalidValue;
  }
  blocks_[address] = Block{address,         size,  MemoryKind::kRegistered,
                           Thread().device, flags, next_block_id_++};
  return hipSuccess;
}

hipError_t Runtime::UnregisterHost(void* host) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(host);
  std::unique_lock<std::shared_mutex> lock(memory_mutex_);
  auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.kind != MemoryKind::kRegistered) {
    return hipErrorHostMemoryNotRegistered;
  }
  blocks_.erase(found);
  for (const std::unique_ptr<Gpu>& gpu : gpus_) {
    (void)gpu->core->Free(address, "hipHostUnregister");
  }
  return hipSuccess;
}

void MarkWritten(const void* address, std::size_t size) {
  for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
    if (gpu->core == nullptr) continue;
    gpu->core->MarkWritten(reinterpret_cast<std::uint64_t>(address), size);
  }
}

hipError_t Runtime::Free(void* pointer, std::string_view by) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(pointer);
  std::unique_lock<std::shared_mutex> lock(memory_mutex_);
  auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.kind == MemoryKind::kCode ||
      found->second.kind == MemoryKind::kRegistered || found->second.adopted) {
    return hipErrorInvalidValue;
  }
  const Block block = found->second;
  blocks_.erase(found);
  used_[static_cast<std::size_t>(block.device)] -= block.size;
  Gpu* owner = gpu(block.device);
  for (const std::unique_ptr<Gpu>& other : gpus_) {
    if (other.get() != owner && other->core->Find(address)) {
      (void)other->core->Free(address, by);
    }
  }
  return owner->core->Free(address, by) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t Runtime::Adopt(Gpu* owner, void* pointer, std::uint64_t size,
                          const std::vector<Gpu*>& users) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(pointer);
  std::unique_lock<std::shared_mutex> lock(memory_mutex_);
  for (Gpu* user : users) {
    if (!user->core->Register(pointer, size)) return hipErrorInvalidValue;
  }
  Block block{address,        size, MemoryKind::kDevice,
              owner->ordinal, 0,    next_block_id_++};
  block.adopted = true;
  blocks_[address] = block;
  return hipSuccess;
}

hipError_t Runtime::Abandon(void* pointer) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(pointer);
  std::unique_lock<std::shared_mutex> lock(memory_mutex_);
  auto found = blocks_.find(address);
  if (found == blocks_.end() || !found->second.adopted) {
    return hipErrorInvalidValue;
  }
  blocks_.erase(found);
  for (const std::unique_ptr<Gpu>& gpu : gpus_) {
    if (gpu->core->Find(address)) (void)gpu->core->Free(address);
  }
  return hipSuccess;
}

std::optional<Block> Runtime::Find(const void* pointer) const {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(pointer);
  {
    std::shared_lock<std::shared_mutex> lock(memory_mutex_);
    auto after = blocks_.upper_bound(address);
    if (after != blocks_.begin()) {
      const Block& block = std::prev(after)->second;
      // An empty allocation contains its own first byte, for queries.
      if (address - block.address < std::max<std::uint64_t>(block.size, 1)) {
        return block;
      }
    }
  }
  // Variables of loaded code objects are known to the core only.
  for (const std::unique_ptr<Gpu>& gpu : gpus_) {
    std::optional<Allocation> code = gpu->core->Find(address);
    if (code && code->kind == MemoryKind::kCode) {
      return Block{code->address, code->size, MemoryKind::kCode,
                   gpu->ordinal,  0,          0};
    }
  }
  return std::nullopt;
}

std::uint64_t Runtime::Used(int device) const {
  std::shared_lock<std::shared_mutex> lock(memory_mutex_);
  return used_[static_cast<std::size_t>(device)];
}

bool Runtime::Reaches(const Gpu* from, int device) const {
  std::shared_lock<std::shared_mutex> lock(memory_mutex_);
  return from->ordinal == device || from->peers.count(device) != 0;
}

hipError_t Runtime::EnablePeer(Gpu* from, Gpu* to) {
  std::unique_lock<std::shared_mutex> lock(memory_mutex_);
  if (!from->peers.insert(to->ordinal).second) {
    return hipErrorPeerAccessAlreadyEnabled;
  }
  for (const auto& [address, block] : blocks_) {
    if (block.device == to->ordinal && block.kind == MemoryKind::kDevice) {
      (void)from->core->Register(reinterpret_cast<void*>(address), block.size);
    }
  }
  return hipSuccess;
}

hipError_t Runtime::DisablePeer(Gpu* from, Gpu* to) {
  std::unique_lock<std::shared_mutex> lock(memory_mutex_);
  if (from->peers.erase(to->ordinal) == 0) {
    return hipErrorPeerAccessNotEnabled;
  }
  for (const auto& [address, block] : blocks_) {
    if (block.device == to->ordinal && block.kind == MemoryKind::kDevice) {
      (void)from->core->Free(address);
    }
  }
  return hipSuccess;
}

// --- Handles --------------------------------------------------------------

std::shared_ptr<Stream> Runtime::FindStream(hipStream_t handle) {
  Gpu* gpu = current();
  if (gpu == nullptr) return nullptr;
  const bool own_default = handle == nullptr && Thread().per_thread_default;
  if ((handle == nullptr && !own_default) || handle == kHipStreamLegacy) {
    return gpu->legacy;
  }
  if (own_default || handle == kHipStreamPerThread) {
    std::vector<std::shared_ptr<Stream>>& own = Thread().per_thread;
    own.resize(gpus_.size());
    std::shared_ptr<Stream>& slot = own[static_cast<std::size_t>(gpu->ordinal)];
    if (!slot) {
      slot = Stream::Create(gpu, Stream::Type::kBlocking, hipStreamDefault, 0);
    }
    return slot;
  }
  std::lock_guard<std::mutex> lock(handles_mutex_);
  auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second;
}

hipStream_t Runtime::AddStream(std::shared_ptr<Stream> stream) {
  hipStream_t handle = stream->handle();
  std::lock_guard<std::mutex> lock(handles_mutex_);
  streams_[handle] = std::move(stream);
  return handle;
}

std::shared_ptr<Stream> Runtime::RemoveStream(hipStream_t handle) {
  std::lock_guard<std::mutex> lock(handles_mutex_);
  auto found = streams_.find(handle);
  if (found == streams_.end()) return nullptr;
  std::shared_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  return stream;
}

hipEvent_t Runtime::AddEvent(std::shared_ptr<Event> event) {
  hipEvent_t handle = reinterpret_cast<hipEvent_t>(event.get());
  std::lock_guard<std::mutex> lock(handles_mutex_);
  events_[handle] = std::move(event);
  return handle;
}

std::shared_ptr<Event> Runtime::FindEvent(hipEvent_t handle) {
  std::lock_guard<std::mutex> lock(handles_mutex_);
  auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second;
}

bool Runtime::RemoveEvent(hipEvent_t handle) {
  std::lock_guard<std::mutex> lock(handles_mutex_);
  return events_.erase(handle) != 0;
}

hipModule_t Runtime::AddModule(std::unique_ptr<Module> module) {
  hipModule_t handle = reinterpret_cast<hipModule_t>(module.get());
  std::lock_guard<std::mutex> lock(handles_mutex_);
  modules_[handle] = std::move(module);
  return handle;
}

Module* Runtime::FindModule(hipModule_t handle) {
  std::lock_guard<std::mutex> lock(handles_mutex_);
  auto found = modules_.find(handle);
  return found == modules_.end() ? nullptr : found->second.get();
}

std::unique_ptr<Module> Runtime::RemoveModule(hipModule_t handle) {
  std::lock_guard<std::mutex> lock(handles_mutex_);
  auto found = modules_.find(handle);
  if (found == modules_.end()) return nullptr;
  std::unique_ptr<Module> module = std::move(found->second);
  modules_.erase(found);
  for (const auto& [name, function] : module->functions) {
    functions_.erase(function.get());
  }
  return module;
}

Function* Runtime::FindFunction(hipFunction_t handle) {
  std::lock_guard<std::mutex> lock(handles_mutex_);
  return functions_.count(handle) != 0 ? reinterpret_cast<Function*>(handle)
                                       : nullptr;
}

void Runtime::AddFunction(Function* function) {
  std::lock_guard<std::mutex> lock(handles_mutex_);
  functions_.insert(function);
}

// hipDeviceReset: everything the program made on the device goes, and a
// sticky error with it.
void Runtime::Reset(Gpu* gpu) {
  gpu->Synchronize();
  std::vector<std::shared_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Module>> modules;
  {
    std::lock_guard<std::mutex> lock(handles_mutex_);
    for (auto it = streams_.begin(); it != streams_.end();) {
      if (it->second->gpu() == gpu) {
        streams.push_back(std::move(it->second));
        it = streams_.erase(it);
      } else {
        ++it;
      }
    }
    for (auto it = modules_.begin(); it != modules_.end();) {
      if (it->second->gpu == gpu) {
        for (const auto& [name, function] : it->second->functions) {
          functions_.erase(function.get());
        }
        modules.push_back(std::move(it->second));
        it = modules_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (const std::shared_ptr<Stream>& stream : streams) stream->Retire();
  for (const std::unique_ptr<Module>& module : modules) UnloadModule(*module);
  ForgetProgramModules(gpu);
  ForgetArrays(gpu);
  std::vector<std::uint64_t> owned;
  {
    std::shared_lock<std::shared_mutex> lock(memory_mutex_);
    for (const auto& [address, block] : blocks_) {
      if (block.device == gpu->ordinal && !block.adopted &&
          block.kind != MemoryKind::kRegistered) {
        owned.push_back(address);
      }
    }
  }
  for (std::uint64_t address : owned) {
    Free(reinterpret_cast<void*>(address), "hipDeviceReset");
  }
  gpu->sticky = hipSuccess;
}

void Runtime::Shutdown() {
  for (const std::unique_ptr<Gpu>& gpu : gpus_) {
    gpu->Synchronize();
    gpu->core.reset();
  }
}

}  // namespace cerberus::emulator::hip

namespace {

// Only where the core has something to write at its end: waiting for kernels
// at exit is not what a program expects.
__attribute__((destructor)) void AtUnload() {
  const char* stats = secure_getenv("CERBERUS_EMU_STATS");
  if (stats != nullptr && *stats != '\0') {
    cerberus::emulator::hip::Runtime::Get().Shutdown();
  }
}

}  // namespace
