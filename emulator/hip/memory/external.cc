// Memory and semaphores that another interface made and handed over as file
// descriptors (HIP Runtime API, "External Resource Interoperability").
//
// There is no such interface beside the emulator, so any file will do: memory
// is a file that can be mapped; a timeline semaphore is one that holds its
// 64-bit value, mapped by all who signal or await it; a binary one is an
// eventfd. The import owns the descriptor from then on.
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"
#include "support/bytes.h"

using namespace cerberus::emulator::hip;

struct ihipExternalMemory {
  int file = -1;
  std::uint64_t size = 0;
};

struct ihipExternalSemaphore {
  ~ihipExternalSemaphore() {
    if (value != nullptr) munmap(value, sizeof *value);
    close(file);
  }
  int file = -1;
  std::atomic<std::uint64_t>* value = nullptr;  // null: binary
};

namespace {

constexpr std::uint64_t kPage = 4096;

using Semaphore = std::shared_ptr<ihipExternalSemaphore>;

struct State {
  std::mutex mutex;
  std::set<hipExternalMemory_t> memories;
  std::map<hipExternalSemaphore_t, Semaphore> semaphores;
  struct Mapping {
    void* start;
    std::uint64_t bytes;
  };
  std::map<void*, Mapping> mapped;  // by what the program was given
};

State& The() {
  static State* state = new State;
  return *state;
}

std::uint64_t BytesOf(int file) {
  const off_t end = lseek(file, 0, SEEK_END);
  return end < 0 ? 0 : static_cast<std::uint64_t>(end);
}

void Signal(const ihipExternalSemaphore& semaphore, std::uint64_t value) {
  if (semaphore.value != nullptr) {
    *semaphore.value = value;
  } else {
    const std::uint64_t one = 1;
    (void)!write(semaphore.file, &one, sizeof one);
  }
}

// False: not yet. A binary semaphore is unsignalled by the wait.
bool Reached(const ihipExternalSemaphore& semaphore, std::uint64_t value) {
  if (semaphore.value != nullptr) return *semaphore.value >= value;
  pollfd event = {semaphore.file, POLLIN, 0};
  std::uint64_t count = 0;
  return poll(&event, 1, 0) == 1 &&
         read(semaphore.file, &count, sizeof count) == sizeof count;
}

hipError_t Enqueue(Work::Kind kind, const hipExternalSemaphore_t* list,
                   const hipExternalSemaphoreParams* params, unsigned count,
                   hipStream_t handle) {
  std::shared_ptr<Stream> stream;
  hipError_t error = CurrentStream(handle, &stream);
  Work work;
  if (error == hipSuccess) {
    error = SemaphoreWork(kind, list, params, count, stream->gpu(), &work);
  }
  if (error == hipSuccess) stream->Submit(std::move(work));
  return error;
}

}  // namespace

namespace cerberus::emulator::hip {

bool IsMappedExternal(void* pointer) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.mapped.count(pointer) != 0;
}

hipError_t UnmapExternal(void* pointer) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.mapped.find(pointer);
  if (found == state.mapped.end()) return hipErrorInvalidValue;
  const hipError_t error = Runtime::Get().Abandon(pointer);
  munmap(found->second.start, found->second.bytes);
  state.mapped.erase(found);
  return error;
}

hipError_t SemaphoreWork(Work::Kind kind, const hipExternalSemaphore_t* list,
                         const hipExternalSemaphoreParams* params,
                         std::size_t count, const Gpu* gpu, Work* out) {
  if (list == nullptr || params == nullptr || count == 0) {
    return hipErrorInvalidValue;
  }
  std::vector<std::pair<Semaphore, std::uint64_t>> steps;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = state.semaphores.find(list[i]);
    if (found == state.semaphores.end()) return hipErrorInvalidHandle;
    steps.emplace_back(found->second, params[i].fence);
  }
  const auto signal = [steps] {
    for (const auto& [semaphore, value] : steps) Signal(*semaphore, value);
  };
  const auto await = [steps, gpu] {
    for (const auto& [semaphore, value] : steps) {
      while (!Reached(*semaphore, value) && gpu->sticky == hipSuccess) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  };
  *out = {kind,
          {},
          false,
          std::make_shared<const NodeParams>(NodeParams{
              SemaphoreOps{{list, list + count}, {params, params + count}}})};
  if (kind == Work::Kind::kSignal) {
    out->run = signal;
  } else {
    out->run = await;
  }
  return hipSuccess;
}

}  // namespace cerberus::emulator::hip

HIP_API hipError_t hipImportExternalMemory(
    hipExternalMemory_t* out, const hipExternalMemoryHandleDesc* description) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (out == nullptr || description == nullptr || description->size == 0) {
    return Return(hipErrorInvalidValue);
  }
  if (description->type != hipExternalMemoryHandleTypeOpaqueFd) {
    return Return(hipErrorNotSupported);
  }
  const int file = description->handle.fd;
  if (BytesOf(file) < description->size) return Return(hipErrorInvalidValue);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  *out = new ihipExternalMemory{file, description->size};
  state.memories.insert(*out);
  return Return(hipSuccess);
}

HIP_API hipError_t
hipExternalMemoryGetMappedBuffer(void** out, hipExternalMemory_t memory,
                                 const hipExternalMemoryBufferDesc* buffer) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (out == nullptr || buffer == nullptr ||
      state.memories.count(memory) == 0 || buffer->flags != 0 ||
      buffer->size == 0 || buffer->offset > memory->size ||
      buffer->size > memory->size - buffer->offset) {
    return Return(hipErrorInvalidValue);
  }
  const std::uint64_t start = buffer->offset / kPage * kPage;
  const std::uint64_t bytes = buffer->offset - start + buffer->size;
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                   memory->file, static_cast<off_t>(start));
  if (map == MAP_FAILED) return Return(hipErrorOutOfMemory);
  void* pointer = static_cast<char*>(map) + (buffer->offset - start);
  error = Runtime::Get().Adopt(gpu, pointer, buffer->size, {gpu});
  if (error != hipSuccess) {
    munmap(map, bytes);
    return Return(error);
  }
  state.mapped[pointer] = {map, bytes};
  *out = pointer;
  return Return(hipSuccess);
}

// What was mapped from it stays until it is freed.
HIP_API hipError_t hipDestroyExternalMemory(hipExternalMemory_t memory) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.memories.erase(memory) == 0) return Return(hipErrorInvalidValue);
  close(memory->file);
  delete memory;
  return Return(hipSuccess);
}

HIP_API hipError_t
hipImportExternalSemaphore(hipExternalSemaphore_t* out,
                           const hipExternalSemaphoreHandleDesc* description) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (out == nullptr || description == nullptr) {
    return Return(hipErrorInvalidValue);
  }
  const bool timeline =
      description->type == hipExternalSemaphoreHandleTypeTimelineSemaphoreFd;
  if (!timeline &&
      description->type != hipExternalSemaphoreHandleTypeOpaqueFd) {
    return Return(hipErrorNotSupported);
  }
  const int file = description->handle.fd;
  void* map = nullptr;
  if (timeline) {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    if (BytesOf(file) < kBytes) return Return(hipErrorInvalidValue);
    map = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) return Return(hipErrorInvalidValue);
  } else if (pollfd event = {file, POLLOUT, 0};
             poll(&event, 1, 0) < 0 || (event.revents & POLLNVAL) != 0) {
    return Return(hipErrorInvalidValue);
  }
  Semaphore semaphore = std::make_shared<ihipExternalSemaphore>();
  semaphore->file = file;
  semaphore->value = static_cast<std::atomic<std::uint64_t>*>(map);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  *out = semaphore.get();
  state.semaphores[*out] = std::move(semaphore);
  return Return(hipSuccess);
}

// Work that is queued keeps it.
HIP_API hipError_t
hipDestroyExternalSemaphore(hipExternalSemaphore_t semaphore) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  return Return(state.semaphores.erase(semaphore) != 0 ? hipSuccess
                                                       : hipErrorInvalidValue);
}

HIP_API hipError_t
hipSignalExternalSemaphoresAsync(const hipExternalSemaphore_t* list,
                                 const hipExternalSemaphoreParams* params,
                                 unsigned count, hipStream_t stream) {
  return Return(Enqueue(Work::Kind::kSignal, list, params, count, stream));
}
HIP_API hipError_t
hipWaitExternalSemaphoresAsync(const hipExternalSemaphore_t* list,
                               const hipExternalSemaphoreParams* params,
                               unsigned count, hipStream_t stream) {
  return Return(Enqueue(Work::Kind::kAwait, list, params, count, stream));
}
