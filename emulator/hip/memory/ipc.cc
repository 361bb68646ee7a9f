// Memory and events shared between processes: a handle of one process names
// memory that another maps.
//
// An allocation whose handle is asked for moves, at its address, into a
// memory file; the handle says the process and its descriptor, which the
// other opens through /proc. So nothing is left behind when either ends.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "emulator/hip/runtime.h"
#include "support/bytes.h"

using namespace cerberus::emulator::hip;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMagic = 0x6370692d62726563;       // "cerb-ipc"
constexpr std::uint64_t kEventMagic = 0x7476652d62726563;  // "cerb-evt"

struct HandleLayout {
  std::uint64_t magic;
  std::uint64_t size;
  std::int32_t process;
  std::int32_t file;
};
static_assert(sizeof(HandleLayout) <= sizeof(hipIpcMemHandle_t));

struct State {
  std::mutex mutex;
  // Our own: the allocation's id to its file.
  struct Shared {
    void* address;
    int file;
  };
  std::map<std::uint64_t, Shared> shared;
  // Others': the address to how often it was opened, by handle.
  struct Opened {
    std::uint64_t size;
    HandleLayout handle;
    int times;
    bool pooled = false;  // comes from a pool, and is freed like its memory
  };
  std::map<void*, Opened> opened;
};

State& The() {
  static State* state = new State;
  return *state;
}

// Files of allocations that have been freed since. Under the state's lock.
void Sweep(State& state) {
  std::erase_if(state.shared, [](const auto& entry) {
    const std::optional<Block> block =
        Runtime::Get().Find(entry.second.address);
    if (block && block->id == entry.first) return false;
    close(entry.second.file);
    return true;
  });
}

// Moves an allocation's bytes into a file that is mapped in their place.
int MoveToFile(const Block& block) {
  const std::uint64_t bytes = cerberus::AlignUp(block.size, kPage);
  const int file = memfd_create("cerberus-ipc-memory", MFD_CLOEXEC);
  if (file < 0) return -1;
  void* address = reinterpret_cast<void*>(block.address);
  void* copy = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (copy == MAP_FAILED) {
    close(file);
    return -1;
  }
  std::memcpy(copy, address, block.size);
  munmap(copy, bytes);
  if (mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
           0) == MAP_FAILED) {
    close(file);
    return -1;
  }
  return file;
}

// Another process's file, mapped: null if it is not (or no longer) there or
// shorter than the handle says, which must not be a fault later.
void* MapOfOther(const HandleLayout& handle, std::uint64_t bytes) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process,
                handle.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  const bool whole = lseek(file, 0, SEEK_END) >= static_cast<off_t>(bytes);
  void* map =
      whole ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
            : MAP_FAILED;
  close(file);
  return map == MAP_FAILED ? nullptr : map;
}

}  // namespace

namespace cerberus::emulator::hip {

void SharedRecord::Reach(std::uint64_t number) {
  std::uint64_t now = reached;
  while (now < number && !reached.compare_exchange_weak(now, number)) {
  }
}

Event::~Event() {
  if (shared != nullptr) munmap(shared, kPage);
  if (shared_file >= 0) close(shared_file);
}

void NotePooled(void* pointer) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.opened.find(pointer);
  if (found != state.opened.end()) found->second.pooled = true;
}

bool IsImportedFromPool(void* pointer) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.opened.find(pointer);
  return found != state.opened.end() && found->second.pooled;
}

hipError_t CloseMemory(void* pointer) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto found = state.opened.find(pointer);
  if (found == state.opened.end()) return hipErrorInvalidValue;
  if (--found->second.times == 0) {
    (void)Runtime::Get().Abandon(pointer);
    munmap(pointer, found->second.size);
    state.opened.erase(found);
  }
  return hipSuccess;
}

bool ShareEvent(Event* event) {
  event->shared_file = memfd_create("cerberus-ipc-event", MFD_CLOEXEC);
  if (event->shared_file < 0 || ftruncate(event->shared_file, kPage) != 0) {
    return false;
  }
  void* map = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED,
                   event->shared_file, 0);
  if (map == MAP_FAILED) return false;
  event->shared = static_cast<SharedRecord*>(map);  // zeros: never recorded
  return true;
}

}  // namespace cerberus::emulator::hip

namespace {

// The file that an allocation of device memory lies in from now on; it stays
// the allocation's own.
hipError_t FileOf(const Block& block, int* out) {
  if (block.adopted || block.address % kPage != 0 ||
      block.kind != cerberus::emulator::MemoryKind::kDevice) {
    return hipErrorInvalidValue;
  }
  // Nothing may write while the bytes move.
  for (const std::unique_ptr<Gpu>& each : Runtime::Get().gpus()) {
    each->Synchronize();
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  Sweep(state);
  auto found = state.shared.find(block.id);
  if (found == state.shared.end()) {
    const int file = MoveToFile(block);
    if (file < 0) return hipErrorOutOfMemory;
    found = state.shared
                .emplace(
                    block.id,
                    State::Shared{reinterpret_cast<void*>(block.address), file})
                .first;
  }
  *out = found->second.file;
  return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* out, void* pointer) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  const std::optional<Block> block = Runtime::Get().Find(pointer);
  if (out == nullptr || !block) return Return(hipErrorInvalidValue);
  int file = -1;
  error = FileOf(*block, &file);
  if (error != hipSuccess) return Return(error);
  *out = {};
  const HandleLayout handle = {kMagic, block->size, getpid(), file};
  std::memcpy(out->reserved, &handle, sizeof handle);
  return Return(hipSuccess);
}

// A descriptor has no place within it: ranges begin where allocations do.
HIP_API hipError_t hipMemGetHandleForAddressRange(void* out, void* pointer,
                                                  std::size_t size,
                                                  std::uint32_t type,
                                                  unsigned long long flags) {
  constexpr std::uint32_t kDmaBufFd = 1;
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  const std::optional<Block> block = Runtime::Get().Find(pointer);
  if (out == nullptr || !block || type != kDmaBufFd || flags > 1 ||
      block->address != reinterpret_cast<std::uint64_t>(pointer) || size == 0 ||
      size > cerberus::AlignUp(block->size, kPage)) {
    return Return(hipErrorInvalidValue);
  }
  int file = -1;
  error = FileOf(*block, &file);
  if (error != hipSuccess) return Return(error);
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return Return(hipErrorOutOfMemory);
  std::memcpy(out, &copy, sizeof copy);
  return Return(hipSuccess);
}

HIP_API hipError_t hipIpcOpenMemHandle(void** out, hipIpcMemHandle_t packed,
                                       unsigned flags) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  HandleLayout handle;
  std::memcpy(&handle, packed.reserved, sizeof handle);
  // hipIpcMemLazyEnablePeerAccess is the only flag.
  if (out == nullptr || flags > 1 || handle.magic != kMagic ||
      handle.size == 0) {
    return Return(hipErrorInvalidValue);
  }
  if (handle.process == getpid()) return Return(hipErrorInvalidContext);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (auto& [address, opened] : state.opened) {
    if (std::memcmp(&opened.handle, &handle, sizeof handle) == 0) {
      ++opened.times;
      *out = address;
      return Return(hipSuccess);
    }
  }
  const std::uint64_t bytes = cerberus::AlignUp(handle.size, kPage);
  void* map = MapOfOther(handle, bytes);
  if (map == nullptr) return Return(hipErrorInvalidHandle);
  error = Runtime::Get().Adopt(gpu, map, handle.size, {gpu});
  if (error != hipSuccess) {
    munmap(map, bytes);
    return Return(error);
  }
  state.opened[map] = {bytes, handle, 1};
  *out = map;
  return Return(hipSuccess);
}

HIP_API hipError_t hipIpcCloseMemHandle(void* pointer) {
  // Nothing may use the memory when it goes.
  for (const std::unique_ptr<Gpu>& gpu : Runtime::Get().gpus()) {
    gpu->Synchronize();
  }
  return Return(CloseMemory(pointer));
}

HIP_API hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t* out,
                                        hipEvent_t handle) {
  const std::shared_ptr<Event> event = Runtime::Get().FindEvent(handle);
  if (out == nullptr) return Return(hipErrorInvalidValue);
  if (!event) return Return(hipErrorInvalidHandle);
  // Only one of our own making that was made for it.
  if (event->shared_file < 0) return Return(hipErrorInvalidHandle);
  *out = {};
  const HandleLayout packed = {kEventMagic, kPage, getpid(),
                               event->shared_file};
  std::memcpy(out->reserved, &packed, sizeof packed);
  return Return(hipSuccess);
}

HIP_API hipError_t hipIpcOpenEventHandle(hipEvent_t* out,
                                         hipIpcEventHandle_t packed) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  HandleLayout handle;
  std::memcpy(&handle, packed.reserved, sizeof handle);
  if (out == nullptr || handle.magic != kEventMagic) {
    return Return(hipErrorInvalidValue);
  }
  if (handle.process == getpid()) return Return(hipErrorInvalidContext);
  void* map = MapOfOther(handle, kPage);
  if (map == nullptr) return Return(hipErrorInvalidHandle);
  std::shared_ptr<Event> event = std::make_shared<Event>();
  event->flags = hipEventInterprocess | hipEventDisableTiming;
  event->gpu = gpu;
  event->shared = static_cast<SharedRecord*>(map);
  *out = Runtime::Get().AddEvent(std::move(event));
  return Return(hipSuccess);
}
