#include "runtime-stub/launch/launch_family.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "hip/hip_loader.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/launch/device_launch.h"
#include "runtime-stub/launch/launch.h"
#include "runtime-stub/launch/services.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

// What copies and fills are made of; a record holds them in this order.
struct Rows {
  std::uint64_t start, pitch, slice_pitch;
};
struct Shape {
  std::uint64_t width, rows, slices;

  bool IsEmpty() const { return width == 0 || rows == 0 || slices == 0; }
};

// Whether the record has the content that its kind needs.
bool IsSound(const formats::LaunchRecord& record) {
  constexpr std::uint32_t kLeastNumbers[] = {0, 0, 9, 7, 1, 1, 1};  // by kind
  return record.kind < std::size(kLeastNumbers) &&
         record.bytes >=
             sizeof record + kLeastNumbers[record.kind] * sizeof(std::uint64_t);
}

template <typename T>
T Numbers(const std::vector<std::uint64_t>& content, std::size_t first) {
  T out;
  std::memcpy(&out, content.data() + first, sizeof out);
  return out;
}

hipError_t CopyRows(void* to, std::uint64_t to_pitch, const void* from,
                    std::uint64_t from_pitch, const Shape& shape,
                    hipStream_t on) {
  if (shape.rows == 1) {
    return hip.hipMemcpyAsync(to, from, shape.width, hipMemcpyDefault, on);
  }
  return hip.hipMemcpy2DAsync(to, to_pitch, from, from_pitch, shape.width,
                              shape.rows, hipMemcpyDefault, on);
}

}  // namespace

LaunchFamily::Grid* LaunchFamily::AddGrid(std::uint64_t id, Stream* from) {
  auto grid = std::make_unique<Grid>();
  grid->id = id;
  grid->from = from;
  grid->tail.grid = grid.get();
  return (grids_[id] = std::move(grid)).get();
}

hipError_t LaunchFamily::Run(hipStream_t stream, std::uint64_t id) {
  Grid* first = AddGrid(id, nullptr);
  hipError_t error = hip.hipStreamSynchronize(stream);
  FlushOutput(context_->device);
  if (error != hipSuccess) return error;
  first->ended = true;
  ReadQueue();
  Settle(first);
  while (!complete_) {
    error = RunRound();
    if (error != hipSuccess) {
      // What was launched before the error must not outlive the queue.
      for (hipStream_t used : slot_.streams) {
        if (used != nullptr) hip.hipStreamSynchronize(used);
      }
      return error;
    }
  }
  return hipSuccess;
}

hipError_t LaunchFamily::RunRound() {
  const std::vector<Stream*> begun = std::exchange(ready_, {});
  launched_.clear();
  recorded_.clear();
  std::size_t next = 0;
  for (Stream* stream : begun) {
    hipStream_t& on = slot_.streams[next++ % slot_.streams.size()];
    if (on == nullptr) {
      constexpr unsigned kNonBlocking = 1;
      const hipError_t error = hip.hipStreamCreateWithFlags(&on, kNonBlocking);
      if (error != hipSuccess) return error;
    }
    const hipError_t error = Begin(stream, on);
    if (error != hipSuccess) return error;
  }
  for (std::size_t i = 0; i < std::min(next, slot_.streams.size()); ++i) {
    const hipError_t error = hip.hipStreamSynchronize(slot_.streams[i]);
    if (error != hipSuccess) return error;
  }
  FlushOutput(context_->device);
  for (const std::shared_ptr<bool>& event : recorded_) *event = true;
  for (Grid* grid : launched_) grid->ended = true;
  ReadQueue();
  for (Stream* stream : begun) {
    stream->in_flight = false;
    if (stream->waits) continue;
    if (!stream->operations.empty()) {
      ready_.push_back(stream);
      continue;
    }
    stream->open = false;
    if (stream != &stream->grid->tail) --stream->grid->open_streams;
  }
  // Settling removes grids with their streams; what is settled twice is gone
  // the second time.
  std::vector<std::uint64_t> touched;
  for (const Stream* stream : begun) touched.push_back(stream->grid->id);
  for (const Grid* grid : launched_) touched.push_back(grid->id);
  for (std::uint64_t id : touched) {
    const auto at = grids_.find(id);
    if (at != grids_.end()) Settle(at->second.get());
  }
  return hipSuccess;
}

void LaunchFamily::Settle(Grid* grid) {
  for (;;) {
    if (!grid->ended || grid->open_streams != 0) return;
    if (grid->tail.open) {
      if (!grid->tail.waits && !grid->tail.in_flight &&
          std::find(ready_.begin(), ready_.end(), &grid->tail) ==
              ready_.end()) {
        ready_.push_back(&grid->tail);
      }
      return;
    }
    Stream* from = grid->from;
    grids_.erase(grid->id);
    if (from == nullptr) {
      complete_ = true;
      return;
    }
    from->waits = false;
    grid = from->grid;
    if (!from->operations.empty()) {
      ready_.push_back(from);
      return;
    }
    from->open = false;
    if (from != &grid->tail) --grid->open_streams;
  }
}

void LaunchFamily::ReadQueue() {
  formats::LaunchQueue& queue = *slot_.queue;
  const std::uint64_t used = std::min(queue.used, queue.capacity);
  std::vector<Operation> read;
  std::uint32_t dropped = 0;  // buffers for launches that did not come
  for (std::uint64_t at = 0; at + sizeof(formats::LaunchRecord) <= used;) {
    Operation operation;
    std::memcpy(&operation.record, queue.records() + at,
                sizeof operation.record);
    const std::uint32_t bytes = operation.record.bytes;
    if (bytes > used - at || !IsSound(operation.record)) {
      Log(LogLevel::kError, "a kernel has overwritten the launch queue");
      break;
    }
    if (operation.record.kind == formats::kRecordNone) {
      ++dropped;
    } else {
      operation.content.resize((bytes - sizeof(formats::LaunchRecord)) /
                               sizeof(std::uint64_t));
      std::memcpy(operation.content.data(),
                  queue.records() + at + sizeof(formats::LaunchRecord),
                  bytes - sizeof(formats::LaunchRecord));
      read.push_back(std::move(operation));
    }
    at += bytes;
  }
  queue.used = 0;
  queue.sequence = 0;
  queue.pending -= std::min(dropped, queue.pending);
  if (queue.failed != 0) {
    queue.failed = queue.overflow = 0;
    std::memset(queue.errors, 0, sizeof queue.errors);
  }
  std::sort(read.begin(), read.end(),
            [](const Operation& a, const Operation& b) {
              return a.record.sequence < b.record.sequence;
            });
  for (Operation& operation : read) {
    if (operation.record.kind == formats::kRecordGraph) {
      graphs_.push_back({reinterpret_cast<CUgraphExec>(operation.content[0]),
                         operation.record.stream});
      continue;
    }
    const auto at = grids_.find(operation.record.grid);
    if (at != grids_.end()) SortIn(at->second.get(), std::move(operation));
  }
}

void LaunchFamily::SortIn(Grid* grid, Operation operation) {
  const formats::LaunchRecord& record = operation.record;
  if (record.kind == formats::kRecordEvent) {
    operation.event = std::make_shared<bool>(false);
    grid->events[operation.content[0]] = operation.event;
  } else if (record.kind == formats::kRecordWait) {
    const auto at = grid->events.find(operation.content[0]);
    if (at == grid->events.end()) return;  // never recorded
    operation.event = at->second;
  }
  const std::uint64_t columns =
      std::uint64_t{record.block[0]} << 32 | record.block[1];
  const std::uint64_t layer = std::uint64_t{record.block[2]} << 32;
  StreamKey key = {record.stream, 0, 0};
  switch (record.stream) {
    case formats::kDeviceStreamTail: break;
    case formats::kDeviceStreamNull:
    case formats::kDeviceStreamLegacy:  // of the block
      key = {formats::kDeviceStreamNull, columns, layer};
      break;
    case formats::kDeviceStreamPerThread:
      key = {record.stream, columns, layer | record.thread};
      break;
    case formats::kDeviceStreamFireAndForget:
      key = {record.stream, ++forgotten_, 0};
      break;
    default: break;
  }
  Stream* stream = &grid->tail;
  if (record.stream != formats::kDeviceStreamTail) {
    stream = &grid->streams[key];
    stream->grid = grid;
  }
  if (!stream->open) {
    stream->open = true;
    if (stream != &grid->tail) {
      ++grid->open_streams;
      ready_.push_back(stream);
    }
  }
  stream->operations.push_back(std::move(operation));
}

hipError_t LaunchFamily::Begin(Stream* stream, hipStream_t on) {
  hipError_t error = hipSuccess;
  while (error == hipSuccess && !stream->operations.empty() && !stream->waits) {
    Operation& operation = stream->operations.front();
    switch (operation.record.kind) {
      case formats::kRecordKernel:
        error = BeginKernel(stream, operation, on);
        stream->in_flight = true;
        break;
      case formats::kRecordCopy:
        error = BeginCopy(operation, on);
        stream->in_flight = true;
        break;
      case formats::kRecordFill:
        error = BeginFill(operation, on);
        stream->in_flight = true;
        break;
      case formats::kRecordEvent:
        if (stream->in_flight) {
          recorded_.push_back(operation.event);
        } else {
          *operation.event = true;
        }
        break;
      case formats::kRecordWait:
        if (!*operation.event) return hipSuccess;
        break;
      default: break;
    }
    stream->operations.pop_front();
  }
  return error;
}

hipError_t LaunchFamily::BeginKernel(Stream* stream, const Operation& operation,
                                     hipStream_t on) {
  const formats::LaunchRecord& record = operation.record;
  __atomic_fetch_sub(&slot_.queue->pending, 1, __ATOMIC_RELAXED);
  stub::Grid grid = {record.grid_dim[0],    record.grid_dim[1],
                     record.grid_dim[2],    record.block_dim[0],
                     record.block_dim[1],   record.block_dim[2],
                     record.dynamic_shared, false};
  LaunchTarget target;
  Kernel* kernel = KernelOfLaunchId(record.kernel);
  CUresult result = CUDA_ERROR_INVALID_HANDLE;
  if (kernel != nullptr) {
    result =
        FindLaunchTarget(context_, kernel->function_handle(), &grid, &target);
  }
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  if (result == CUDA_SUCCESS) {
    if (target.info->launches) grid.launch_queue = slot_.number;
    size = target.info->explicit_size();
    buffer = static_cast<std::uint8_t*>(alloca(size + 1));
    std::size_t bytes = operation.content.size() * sizeof(std::uint64_t);
    void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer),
                     const_cast<std::uint64_t*>(operation.content.data()),
                     reinterpret_cast<void*>(kLaunchParamBufferSize), &bytes,
                     reinterpret_cast<void*>(kLaunchParamEnd)};
    // A kernel without parameters has no content either.
    result = FillArguments(context_, *target.info, grid, &on, nullptr,
                           bytes != 0 ? extra : nullptr, buffer);
  }
  if (result != CUDA_SUCCESS) {
    Log(LogLevel::kError,
        "kernel '%s', launched by a kernel, does not start: %s",
        kernel != nullptr ? kernel->name.c_str() : "?", ErrorText(result));
    return hipErrorLaunchFailure;
  }
  if (target.info->launches) {
    launched_.push_back(AddGrid(GridIdIn(*target.info, buffer), stream));
    stream->waits = true;
  }
  return LaunchFilled(target, grid, on, buffer, size);
}

hipError_t LaunchFamily::BeginCopy(const Operation& operation, hipStream_t on) {
  const auto to = Numbers<Rows>(operation.content, 0);
  const auto from = Numbers<Rows>(operation.content, 3);
  const auto shape = Numbers<Shape>(operation.content, 6);
  hipError_t error = hipSuccess;
  for (std::uint64_t i = 0;
       i < shape.slices && error == hipSuccess && !shape.IsEmpty(); ++i) {
    error = CopyRows(
        reinterpret_cast<void*>(to.start + i * to.slice_pitch), to.pitch,
        reinterpret_cast<const void*>(from.start + i * from.slice_pitch),
        from.pitch, shape, on);
  }
  return error;
}

hipError_t LaunchFamily::BeginFill(const Operation& operation, hipStream_t on) {
  const auto to = Numbers<Rows>(operation.content, 0);
  const auto value = static_cast<std::uint8_t>(operation.content[3]);
  const auto shape = Numbers<Shape>(operation.content, 4);
  hipError_t error = hipSuccess;
  for (std::uint64_t i = 0;
       i < shape.slices && error == hipSuccess && !shape.IsEmpty(); ++i) {
    auto* slice = reinterpret_cast<void*>(to.start + i * to.slice_pitch);
    error = shape.rows == 1
                ? hip.hipMemsetD8Async(slice, value, shape.width, on)
                : hip.hipMemset2DAsync(slice, to.pitch, value, shape.width,
                                       shape.rows, on);
  }
  return error;
}

}  // namespace cerberus::stub
