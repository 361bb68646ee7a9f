// The state behind the HIP face: devices, memory, streams, modules.
//
//   Runtime   one in a process: GPUs, every live allocation, every handle
//   Gpu       an emulated device (emulator.h) and what HIP keeps beside it
//   Stream    a queue of work with a thread of its own (stream.h)
//   Module    a loaded code object and the functions asked of it
//
// Device memory is host memory, so that an address means the same to host and
// kernels, and copies are plain ones. Which kernels may touch it is the core's
// business; HIP's own questions (what is this pointer, whose is it, how much is
// used) are answered here from `blocks_`.
//
// A handle that a program holds is an address which is looked up before it is
// followed: one that was destroyed, or never was, is an error and no crash.
// Streams and events are shared, since work that is queued outlives its handle.
//
// Locks: what a stream has to wait for is decided under its GPU's `order`, in
// the order of the calls. `memory_mutex_` and `handles_mutex_` are held for a
// look-up only, and nothing is called under them that takes another. A kernel
// that faults makes its device's `sticky` error: every later call returns it,
// as on a GPU, until the device is reset.
#ifndef CERBERUS_EMULATOR_HIP_RUNTIME_H_
#define CERBERUS_EMULATOR_HIP_RUNTIME_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/emulator.h"
#include "emulator/hip/abi.h"
#include "emulator/hip/stream.h"

namespace cerberus::emulator::hip {

// The major version of HIP whose structures the caller was compiled for: the
// number in the name this library was loaded under (libamdhip64.so.6), else
// 7; CERBERUS_EMU_HIP_MAJOR decides otherwise.
int ApiMajor();

// A live allocation as HIP sees it. What a kernel may touch is the core's
// business; this adds what HIP's queries tell.
struct Block {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;
  unsigned flags = 0;
  std::uint64_t id = 0;
  bool adopted = false;  // by Runtime::Adopt(): not for hipFree
};

struct Gpu {
  int ordinal = 0;
  std::unique_ptr<Device> core;
  hipDeviceProp_tR0600 properties = {};
  unsigned flags = 0;       // hipSetDeviceFlags
  int primary_retains = 0;  // hipDevicePrimaryCtxRetain, guarded by `order`
  std::set<int> peers;      // access enabled, guarded by memory_mutex_

  // Serialises submissions: what each stream waits for is decided here.
  std::mutex order;
  std::uint64_t submitted = 0;  // so far, under `order`
  std::shared_ptr<Stream> legacy;
  std::set<Stream*> streams;  // live ones without `legacy`, under `order`

  // The first fault of a kernel; all later calls return it until a reset.
  std::atomic<hipError_t> sticky{hipSuccess};

  std::uint64_t release_threshold = 0;  // of the default memory pool
  std::atomic<std::uint64_t> pool_used{0}, pool_high{0};
  std::size_t heap_limit = 8u << 20, printf_limit = 1u << 20,
              stack_limit = 1024;

  void Synchronize();
};

struct Module;

struct Function {
  Module* module = nullptr;
  const KernelInfo* info = nullptr;
  std::atomic<int> max_dynamic_lds{0};
};

struct Module {
  Gpu* gpu = nullptr;
  CodeObject* code = nullptr;
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Function>> functions;

  Function* Find(const char* name);
};

class Runtime {
 public:
  // Made at the first call of any HIP function and never destroyed: streams'
  // workers and the program's own static objects may outlive main().
  static Runtime& Get();

  const std::vector<std::unique_ptr<Gpu>>& gpus() const { return gpus_; }
  Gpu* gpu(int ordinal) const;
  Gpu* current() const;

  // Memory. `kind` kHost and kManaged memory is seen by all devices.
  hipError_t Allocate(Gpu* gpu, std::uint64_t size, MemoryKind kind,
                      unsigned flags, void** out);
  hipError_t RegisterHost(void* host, std::uint64_t size, unsigned flags);
  hipError_t UnregisterHost(void* host);
  // `by`: the call that frees, for reports of a use after it.
  hipError_t Free(void* address, std::string_view by);
  // Memory that others have mapped (hip/memory/virtual.cc) becomes device
  // memory of `owner`, used by the kernels of `users`; Abandon() takes it away
  // again.
  hipError_t Adopt(Gpu* owner, void* address, std::uint64_t size,
                   const std::vector<Gpu*>& users);
  hipError_t Abandon(void* address);
  std::optional<Block> Find(const void* address) const;
  std::uint64_t Used(int device) const;
  // Whether kernels of `from` reach memory of a device, its own included.
  bool Reaches(const Gpu* from, int device) const;
  hipError_t EnablePeer(Gpu* from, Gpu* to);
  hipError_t DisablePeer(Gpu* from, Gpu* to);

  // Handles. A null result means the handle is not alive.
  std::shared_ptr<Stream> FindStream(hipStream_t handle);
  hipStream_t AddStream(std::shared_ptr<Stream> stream);
  std::shared_ptr<Stream> RemoveStream(hipStream_t handle);
  hipEvent_t AddEvent(std::shared_ptr<Event> event);
  std::shared_ptr<Event> FindEvent(hipEvent_t handle);
  bool RemoveEvent(hipEvent_t handle);
  hipModule_t AddModule(std::unique_ptr<Module> module);
  Module* FindModule(hipModule_t handle);
  std::unique_ptr<Module> RemoveModule(hipModule_t handle);
  Function* FindFunction(hipFunction_t handle);
  void AddFunction(Function* function);

  // Waits for all streams of all devices and tears the devices down, so that
  // the core writes its counters.
  void Shutdown();
  void Reset(Gpu* gpu);

 private:
  Runtime();

  std::vector<std::unique_ptr<Gpu>> gpus_;

  mutable std::shared_mutex memory_mutex_;
  std::map<std::uint64_t, Block> blocks_;
  std::uint64_t next_block_id_ = 1;
  std::vector<std::uint64_t> used_;

  std::mutex handles_mutex_;
  std::unordered_map<const void*, std::shared_ptr<Stream>> streams_;
  std::unordered_map<const void*, std::shared_ptr<Event>> events_;
  std::unordered_map<const void*, std::unique_ptr<Module>> modules_;
  std::set<const void*> functions_;
};

// Per thread: the current device, the context stack, the last error and the
// launch configuration between __hipPushCallConfiguration and its pop.
struct ThreadState {
  int device = 0;
  std::vector<int> contexts;
  bool context_set = false;
  hipError_t last_error = hipSuccess;
  struct Call {
    dim3 grid, block;
    std::size_t shared;
    hipStream_t stream;
  };
  std::vector<Call> calls;
  std::vector<std::shared_ptr<Stream>> per_thread;  // by device
  // Within a call whose name ends in _spt: no stream means the thread's own.
  bool per_thread_default = false;
};
ThreadState& Thread();

// Every HIP function that returns hipError_t returns through this.
hipError_t Return(hipError_t error);

// What a call that touches the current device must check first: a device is
// there and no earlier kernel has failed on it.
hipError_t CheckCurrent(Gpu** gpu);

// The same, and the stream behind a handle.
hipError_t CurrentStream(hipStream_t handle, std::shared_ptr<Stream>* out);

// Memory of another process that hipIpcOpenMemHandle has mapped
// (hip/memory/ipc.cc).
hipError_t CloseMemory(void* pointer);
// Such that hipMemPoolImportPointer gave: hipFree and hipFreeAsync close it.
void NotePooled(void* pointer);
bool IsImportedFromPool(void* pointer);

// Gives an event a record that other processes can map.
bool ShareEvent(Event* event);
// Waits until an event shared between processes has reached a recording, or
// a device has failed.
void AwaitShared(const Event& event, std::uint64_t number, const Gpu* gpu);

// Memory of another interface that was mapped (hip/memory/external.cc), for
// hipFree.
bool IsMappedExternal(void* pointer);
hipError_t UnmapExternal(void* pointer);
// Signals external semaphores, or waits for them until a device has failed.
hipError_t SemaphoreWork(Work::Kind kind, const hipExternalSemaphore_t* list,
                         const hipExternalSemaphoreParams* params,
                         std::size_t count, const Gpu* gpu, Work* out);
// A batch of waits for words and writes to them, in order.
hipError_t MemOpsWork(const hipStreamBatchMemOpParams* list, std::size_t count,
                      const Gpu* gpu, Work* out);

// A context's handle is its device's.
hipCtx_t ContextOf(Gpu* gpu);
Gpu* GpuOf(hipCtx_t context);

void FillProperties(const Device& core, int ordinal,
                    hipDeviceProp_tR0600* properties);
using emulator::Report;
using emulator::TotalMemory;

// Launches and copies, for the API functions and the graph nodes.
struct Launch {
  Function* function = nullptr;
  dim3 grid, block;
  unsigned shared = 0;
  bool cooperative = false;
  std::vector<std::uint8_t> kernarg;
  // What the grids of several devices know of each other, or null.
  std::shared_ptr<void> multigrid;
};
hipError_t PrepareLaunch(Function* function, dim3 grid, dim3 block,
                         std::size_t shared, void** params, void** extra,
                         bool cooperative, Launch* out);
Work LaunchWork(Gpu* gpu, Launch launch);
// Prepares and queues; `multigrid` as in Launch.
hipError_t LaunchOn(Function* function, dim3 grid, dim3 block,
                    std::size_t shared, hipStream_t stream, void** params,
                    void** extra, bool cooperative,
                    std::shared_ptr<void> multigrid = nullptr);
// The kernel behind a hipFunction_t or a host-side stub, on the current
// device.
hipError_t Resolve(const void* host, Function** out);
// The kernel behind a host-side stub registered by the program.
hipError_t FindHostFunction(const void* host, Gpu* gpu, Function** out);
hipError_t FindHostVariable(const void* host, Gpu* gpu, void** address,
                            std::size_t* size);
// A program's modules on a device, loaded anew after a reset.
void ForgetProgramModules(Gpu* gpu);

hipError_t LoadModule(Gpu* gpu, const void* image,
                      std::unique_ptr<Module>* out);
void UnloadModule(Module& module);

// The host or a copy has written to what may be device memory.
void MarkWritten(const void* address, std::size_t size);

// Whether a stream takes part in a capture.
bool IsCapturing(const std::shared_ptr<Stream>& stream);

}  // namespace cerberus::emulator::hip

#endif  // CERBERUS_EMULATOR_HIP_RUNTIME_H_
