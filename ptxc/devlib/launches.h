// CUDA's device runtime: what kernels launch, copy and fill becomes records in
// a queue, which the host reads when the kernel has ended
// (docs/launch-abi.md, "Launches from the device").
#ifndef CERBERUS_DEVLIB_LAUNCHES_H_
#define CERBERUS_DEVLIB_LAUNCHES_H_

#include "device.h"
#include "formats/device_attributes.h"
#include "services.h"

// cudaError_t.
enum : u32 {
  kCudaSuccess = 0,
  kCudaInvalidValue = 1,
  kCudaMemoryAllocation = 2,
  kCudaInvalidConfiguration = 9,
  kCudaLaunchPendingCountExceeded = 69,
  kCudaInvalidDeviceFunction = 98,
  kCudaInvalidDevice = 101,
  kCudaUnsupportedLimit = 215,
  kCudaInvalidResourceHandle = 400,
  kCudaLaunchOutOfResources = 701,
};

constexpr u32 kNonBlocking = 1;
constexpr u32 kDisableTiming = 2;

struct Dim3 {
  u32 x, y, z;
};

// What each function has of its kernel's launch: the context, the number of
// the launch queue and of the grid.
#define LAUNCH u64 context, u32 number, u64 grid

INLINE GLOBAL LaunchQueue* QueueOf(u64 context, u32 number) {
  if (context == 0 || number == 0) return nullptr;
  GLOBAL const u64* queues =
      reinterpret_cast<GLOBAL const u64*>(BlockAt(context)->launch_queues);
  if (queues == nullptr) return nullptr;
  return reinterpret_cast<GLOBAL LaunchQueue*>(queues[number - 1]);
}

INLINE GLOBAL const DeviceFacts* FactsOf(GLOBAL const LaunchQueue* queue) {
  return reinterpret_cast<GLOBAL const DeviceFacts*>(queue->facts);
}

INLINE u32 ThreadNumber() {
  return __cerberus_wave_thread_x() | __cerberus_wave_thread_y() << 10 |
         __cerberus_wave_thread_z() << 20;
}

// ---- Graphs -----------------------------------------------------------------

DEV(u64, rt_current_graph)(u64 context, u32 number) {
  if (context == 0 || number == 0) return 0;
  GLOBAL const u64* queues =
      reinterpret_cast<GLOBAL const u64*>(BlockAt(context)->launch_queues);
  return queues == nullptr ? 0 : queues[kLaunchQueues + number - 1];
}

// The handle is the address of the condition's value, which the host reads when
// the kernel has ended.
DEV(void, rt_set_conditional)(u64 handle, u32 value) {
  __scoped_atomic_store_n(reinterpret_cast<GLOBAL u32*>(handle), value,
                          __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
}

// ---- Errors -----------------------------------------------------------------

INLINE u64 Mixed(u64 hash, u64 value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ul;
  return hash ^ hash >> 29;
}

// The thread's place in the table, or where it could be; null if all places
// near it are taken.
INLINE GLOBAL ThreadError* ErrorOfThread(GLOBAL LaunchQueue* queue, u64 grid,
                                         bool make) {
  u64 self = Mixed(Mixed(0, grid), __builtin_amdgcn_workgroup_id_x());
  self = Mixed(self, u64{__builtin_amdgcn_workgroup_id_y()} << 32 |
                         __builtin_amdgcn_workgroup_id_z());
  self = Mixed(self, ThreadNumber()) | 1;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < 64; ++i) {
    GLOBAL ThreadError* place =
        &queue->errors[((self >> 20) + i) % kThreadErrors];
    u64 owner = __scoped_atomic_load_n(&place->thread, __ATOMIC_RELAXED,
                                       __MEMORY_SCOPE_SYSTEM);
    if (owner == self) return place;
    if (owner != 0) continue;
    if (!make) return nullptr;
    if (__scoped_atomic_compare_exchange_n(&place->thread, &owner, self, false,
                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                           __MEMORY_SCOPE_SYSTEM)) {
      __scoped_atomic_fetch_add(&queue->failed, 1, __ATOMIC_RELAXED,
                                __MEMORY_SCOPE_SYSTEM);
      return place;
    }
    if (owner == self) return place;
  }
  return nullptr;
}

// Keeps an error for cudaGetLastError.
INLINE u32 Noted(GLOBAL LaunchQueue* queue, u64 grid, u32 error) {
  if (error == kCudaSuccess || queue == nullptr) return error;
  GLOBAL ThreadError* place = ErrorOfThread(queue, grid, true);
  if (place != nullptr) {
    place->error = error;
  } else {
    __scoped_atomic_store_n(&queue->overflow, error, __ATOMIC_RELAXED,
                            __MEMORY_SCOPE_SYSTEM);
  }
  return error;
}

INLINE u32 LastError(LAUNCH, bool forget) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr ||
      __scoped_atomic_load_n(&queue->failed, __ATOMIC_RELAXED,
                             __MEMORY_SCOPE_SYSTEM) == 0) {
    return kCudaSuccess;
  }
  GLOBAL ThreadError* place = ErrorOfThread(queue, grid, false);
  if (place == nullptr) {
    return __scoped_atomic_load_n(&queue->overflow, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_SYSTEM);
  }
  const u32 error = place->error;
  if (forget) place->error = kCudaSuccess;
  return error;
}
DEV(u32, rt_last_error)(LAUNCH) {
  return LastError(context, number, grid, true);
}
DEV(u32, rt_peek_error)(LAUNCH) {
  return LastError(context, number, grid, false);
}

INLINE u64 ErrorText(LAUNCH, u32 error, u32 which) {
  static_cast<void>(grid);
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return 0;
  GLOBAL const DeviceFacts* facts = FactsOf(queue);
  return reinterpret_cast<u64>(facts) +
         facts
             ->errors[error < kDeviceErrors ? error : kDeviceErrors - 1][which];
}
DEV(u64, rt_error_name)(LAUNCH, u32 error) {
  return ErrorText(context, number, grid, error, 0);
}
DEV(u64, rt_error_text)(LAUNCH, u32 error) {
  return ErrorText(context, number, grid, error, 1);
}

// ---- Records ----------------------------------------------------------------

// Counts one more launch; false if there are as many as there may be.
INLINE bool CountPending(GLOBAL LaunchQueue* queue) {
  u32 pending = __scoped_atomic_load_n(&queue->pending, __ATOMIC_RELAXED,
                                       __MEMORY_SCOPE_SYSTEM);
  do {
    if (pending >= queue->limit) return false;
  } while (!__scoped_atomic_compare_exchange_n(
      &queue->pending, &pending, pending + 1, false, __ATOMIC_RELAXED,
      __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM));
  return true;
}

// A record with room for that many bytes; null if there is none.
INLINE GLOBAL LaunchRecord* NewRecord(GLOBAL LaunchQueue* queue, u64 content) {
  if (content > 0x10000) return nullptr;
  const u64 bytes = sizeof(LaunchRecord) + ((content + 15) & ~u64{15});
  u64 used = __scoped_atomic_load_n(&queue->used, __ATOMIC_RELAXED,
                                    __MEMORY_SCOPE_SYSTEM);
  do {
    if (used + bytes > queue->capacity) return nullptr;
  } while (!__scoped_atomic_compare_exchange_n(
      &queue->used, &used, used + bytes, false, __ATOMIC_RELAXED,
      __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM));
  GLOBAL LaunchRecord* record = reinterpret_cast<GLOBAL LaunchRecord*>(
      reinterpret_cast<u64>(queue + 1) + used);
  record->bytes = static_cast<u32>(bytes);
  record->kind = kRecordNone;
  return record;
}

INLINE void Put(GLOBAL LaunchQueue* queue, u64 grid,
                GLOBAL LaunchRecord* record, u64 stream, u32 kind) {
  record->sequence = __scoped_atomic_fetch_add(
      &queue->sequence, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
  record->thread = ThreadNumber();
  record->grid = grid;
  record->stream = stream;
  record->block[0] = __builtin_amdgcn_workgroup_id_x();
  record->block[1] = __builtin_amdgcn_workgroup_id_y();
  record->block[2] = __builtin_amdgcn_workgroup_id_z();
  record->kind = kind;
}

INLINE bool IsHandle(GLOBAL LaunchQueue* queue, u64 handle) {
  return handle >= kFirstDeviceHandle && handle % kDeviceHandleStep == 0 &&
         (handle - kFirstDeviceHandle) / kDeviceHandleStep <
             __scoped_atomic_load_n(&queue->handles, __ATOMIC_RELAXED,
                                    __MEMORY_SCOPE_SYSTEM);
}
INLINE bool IsStream(GLOBAL LaunchQueue* queue, u64 stream) {
  return stream <= kDeviceStreamFireAndForget || IsHandle(queue, stream);
}

INLINE u32 MakeHandle(GLOBAL LaunchQueue* queue, u64* out) {
  *out = kFirstDeviceHandle +
         kDeviceHandleStep * __scoped_atomic_fetch_add(&queue->handles, 1,
                                                       __ATOMIC_RELAXED,
                                                       __MEMORY_SCOPE_SYSTEM);
  return kCudaSuccess;
}

// Puts in a record of some numbers.
template <u32 count>
INLINE u32 PutNumbers(LAUNCH, u64 stream, u32 kind,
                      const u64 (&numbers)[count]) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (!IsStream(queue, stream)) {
    return Noted(queue, grid, kCudaInvalidResourceHandle);
  }
  GLOBAL LaunchRecord* record = NewRecord(queue, sizeof numbers);
  if (record == nullptr) return Noted(queue, grid, kCudaMemoryAllocation);
  GLOBAL u64* content = reinterpret_cast<GLOBAL u64*>(record + 1);
  for (u32 i = 0; i < count; ++i) content[i] = numbers[i];
  Put(queue, grid, record, stream, kind);
  return kCudaSuccess;
}

// What is no executable graph the host finds.
DEV(u32, rt_graph_launch)(LAUNCH, u64 exec, u64 stream) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (exec == 0 ||
      (stream != kGraphStreamTail && stream != kGraphStreamFireAndForget &&
       stream != kGraphStreamSibling)) {
    return Noted(queue, grid, kCudaInvalidValue);
  }
  GLOBAL LaunchRecord* record = NewRecord(queue, sizeof exec);
  if (record == nullptr) return Noted(queue, grid, kCudaMemoryAllocation);
  *reinterpret_cast<GLOBAL u64*>(record + 1) = exec;
  Put(queue, grid, record, stream, kRecordGraph);
  return kCudaSuccess;
}

// ---- Streams and events -----------------------------------------------------

DEV(u32, rt_stream_create)(LAUNCH, u64* stream, u32 flags) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (stream == nullptr || flags != kNonBlocking) {
    return Noted(queue, grid, kCudaInvalidValue);
  }
  return MakeHandle(queue, stream);
}
DEV(u32, rt_event_create)(LAUNCH, u64* event, u32 flags) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (event == nullptr || flags != kDisableTiming) {
    return Noted(queue, grid, kCudaInvalidValue);
  }
  return MakeHandle(queue, event);
}
// What is in the stream stays there; the number is not used again.
DEV(u32, rt_destroy)(LAUNCH, u64 handle) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr || IsHandle(queue, handle)) return kCudaSuccess;
  return Noted(queue, grid, kCudaInvalidResourceHandle);
}

INLINE u32 PutEvent(LAUNCH, u64 event, u64 stream, u32 kind) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (!IsHandle(queue, event) || stream == kDeviceStreamTail ||
      stream == kDeviceStreamFireAndForget) {
    return Noted(queue, grid, kCudaInvalidResourceHandle);
  }
  const u64 numbers[] = {event};
  return PutNumbers(context, number, grid, stream, kind, numbers);
}
DEV(u32, rt_event_record)(LAUNCH, u64 event, u64 stream) {
  return PutEvent(context, number, grid, event, stream, kRecordEvent);
}
DEV(u32, rt_event_record_flags)(LAUNCH, u64 event, u64 stream, u32 flags) {
  if (flags != 0) {
    return Noted(QueueOf(context, number), grid, kCudaInvalidValue);
  }
  return PutEvent(context, number, grid, event, stream, kRecordEvent);
}
DEV(u32, rt_stream_wait)(LAUNCH, u64 stream, u64 event, u32 flags) {
  if (flags != 0) {
    return Noted(QueueOf(context, number), grid, kCudaInvalidValue);
  }
  return PutEvent(context, number, grid, event, stream, kRecordWait);
}

// ---- Launches ---------------------------------------------------------------

INLINE u32 CheckLaunch(GLOBAL const DeviceFacts* facts,
                       GLOBAL const KernelHandle* kernel, const Dim3& grid,
                       const Dim3& block, u32 dynamic_shared) {
  if (kernel == nullptr || kernel->id == 0) return kCudaInvalidDeviceFunction;
  const u32 sides[] = {block.x, block.y, block.z, grid.x, grid.y, grid.z};
  for (u32 i = 0; i < 6; ++i) {
    if (sides[i] == 0 ||
        sides[i] > static_cast<u32>(
                       facts->attributes[kAttribute_MAX_BLOCK_DIM_X + i])) {
      return kCudaInvalidConfiguration;
    }
  }
  const u64 threads = u64{block.x} * block.y * block.z;
  if (threads >
      static_cast<u32>(facts->attributes[kAttribute_MAX_THREADS_PER_BLOCK])) {
    return kCudaInvalidConfiguration;
  }
  if (threads > kernel->max_threads) return kCudaLaunchOutOfResources;
  if (dynamic_shared > kernel->dynamic_limit) return kCudaInvalidValue;
  return kCudaSuccess;
}

INLINE void Describe(GLOBAL LaunchRecord* record,
                     GLOBAL const KernelHandle* kernel, const Dim3& grid,
                     const Dim3& block, u32 dynamic_shared) {
  record->kernel = kernel->id;
  record->grid_dim[0] = grid.x;
  record->grid_dim[1] = grid.y;
  record->grid_dim[2] = grid.z;
  record->block_dim[0] = block.x;
  record->block_dim[1] = block.y;
  record->block_dim[2] = block.z;
  record->dynamic_shared = dynamic_shared;
}

INLINE u64 ParameterBuffer(LAUNCH, u64 bytes, GLOBAL LaunchRecord** record) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (!CountPending(queue)) {
    Noted(queue, grid, kCudaLaunchPendingCountExceeded);
    return 0;
  }
  *record = NewRecord(queue, bytes);
  if (*record == nullptr) {
    __scoped_atomic_fetch_sub(&queue->pending, 1, __ATOMIC_RELAXED,
                              __MEMORY_SCOPE_SYSTEM);
    Noted(queue, grid, kCudaLaunchPendingCountExceeded);
    return 0;
  }
  return reinterpret_cast<u64>(*record + 1);
}
INLINE GLOBAL LaunchRecord* RecordOfBuffer(u64 buffer) {
  return reinterpret_cast<GLOBAL LaunchRecord*>(buffer) - 1;
}

INLINE u32 Launch(LAUNCH, u64 buffer, u64 stream) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (buffer == 0) return Noted(queue, grid, kCudaInvalidValue);
  if (!IsStream(queue, stream)) {
    return Noted(queue, grid, kCudaInvalidResourceHandle);
  }
  Put(queue, grid, RecordOfBuffer(buffer), stream, kRecordKernel);
  return kCudaSuccess;
}

DEV(u64, rt_buffer)(LAUNCH, u64 align, u64 bytes) {
  static_cast<void>(align);  // all are of 16
  if (QueueOf(context, number) == nullptr) return 0;
  GLOBAL LaunchRecord* record = nullptr;
  return ParameterBuffer(context, number, grid, bytes, &record);
}
DEV(u64, rt_buffer_v2)(LAUNCH, GLOBAL const KernelHandle* kernel,
                       const Dim3* grid_dim, const Dim3* block_dim,
                       u32 dynamic_shared) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return 0;
  const u32 error = CheckLaunch(FactsOf(queue), kernel, *grid_dim, *block_dim,
                                dynamic_shared);
  if (error != kCudaSuccess) {
    Noted(queue, grid, error);
    return 0;
  }
  GLOBAL LaunchRecord* record = nullptr;
  const u64 buffer =
      ParameterBuffer(context, number, grid, kernel->param_bytes, &record);
  if (buffer != 0) {
    Describe(record, kernel, *grid_dim, *block_dim, dynamic_shared);
  }
  return buffer;
}

DEV(u32, rt_launch)(LAUNCH, GLOBAL const KernelHandle* kernel, u64 buffer,
                    const Dim3* grid_dim, const Dim3* block_dim,
                    u32 dynamic_shared, u64 stream) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  const u32 error = CheckLaunch(FactsOf(queue), kernel, *grid_dim, *block_dim,
                                dynamic_shared);
  if (error != kCudaSuccess) return Noted(queue, grid, error);
  // A kernel without parameters needs no buffer.
  if (buffer == 0) {
    buffer = __cerberus_dev_rt_buffer(context, number, grid, 16, 0);
  }
  if (buffer == 0) return kCudaLaunchPendingCountExceeded;
  Describe(RecordOfBuffer(buffer), kernel, *grid_dim, *block_dim,
           dynamic_shared);
  return Launch(context, number, grid, buffer, stream);
}
DEV(u32, rt_launch_v2)(LAUNCH, u64 buffer, u64 stream) {
  return Launch(context, number, grid, buffer, stream);
}

// ---- Copies -----------------------------------------------------------------

// Rows of rows: where to, bytes from row to row and from slice to slice; where
// from, the same; bytes of a row, rows, slices.
DEV(u32, rt_copy)(LAUNCH, u64 to, u64 from, u64 bytes, u32, u64 stream) {
  const u64 numbers[] = {to, bytes, bytes, from, bytes, bytes, bytes, 1, 1};
  return PutNumbers(context, number, grid, stream, kRecordCopy, numbers);
}
DEV(u32, rt_copy_2d)(LAUNCH, u64 to, u64 to_pitch, u64 from, u64 from_pitch,
                     u64 width, u64 height, u32, u64 stream) {
  const u64 numbers[] = {to, to_pitch, 0,      from, from_pitch,
                         0,  width,    height, 1};
  return PutNumbers(context, number, grid, stream, kRecordCopy, numbers);
}

struct PitchedPtr {
  u64 start, pitch, width, height;
};
struct Extent {
  u64 width, height, depth;
};
// cudaMemcpy3DParms.
struct CopyParameters {
  u64 from_array;
  Extent from_at;
  PitchedPtr from;
  u64 to_array;
  Extent to_at;
  PitchedPtr to;
  Extent extent;
  u32 kind;
};
INLINE u64 PlaceIn(const PitchedPtr& memory, const Extent& at) {
  return memory.start + at.width +
         memory.pitch * (at.height + memory.height * at.depth);
}
DEV(u32, rt_copy_3d)(LAUNCH, const CopyParameters* p, u64 stream) {
  // Arrays are the host's.
  if (p == nullptr || p->from_array != 0 || p->to_array != 0) {
    return Noted(QueueOf(context, number), grid, kCudaInvalidValue);
  }
  const u64 numbers[] = {PlaceIn(p->to, p->to_at),
                         p->to.pitch,
                         p->to.pitch * p->to.height,
                         PlaceIn(p->from, p->from_at),
                         p->from.pitch,
                         p->from.pitch * p->from.height,
                         p->extent.width,
                         p->extent.height,
                         p->extent.depth};
  return PutNumbers(context, number, grid, stream, kRecordCopy, numbers);
}

// Where to, bytes from row to row and from slice to slice, the byte, bytes of
// a row, rows, slices.
DEV(u32, rt_fill)(LAUNCH, u64 to, u32 value, u64 bytes, u64 stream) {
  const u64 numbers[] = {to, bytes, bytes, value, bytes, 1, 1};
  return PutNumbers(context, number, grid, stream, kRecordFill, numbers);
}
DEV(u32, rt_fill_2d)(LAUNCH, u64 to, u64 pitch, u32 value, u64 width,
                     u64 height, u64 stream) {
  const u64 numbers[] = {to, pitch, 0, value, width, height, 1};
  return PutNumbers(context, number, grid, stream, kRecordFill, numbers);
}
DEV(u32, rt_fill_3d)(LAUNCH, const PitchedPtr* to, u32 value,
                     const Extent* extent, u64 stream) {
  const u64 numbers[] = {to->start,    to->pitch,     to->pitch * to->height,
                         value,        extent->width, extent->height,
                         extent->depth};
  return PutNumbers(context, number, grid, stream, kRecordFill, numbers);
}

// ---- Memory -----------------------------------------------------------------

DEV(u32, rt_malloc)(LAUNCH, u64* out, u64 bytes) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (out == nullptr) return Noted(queue, grid, kCudaInvalidValue);
  // cudaMalloc's memory is aligned for every type.
  *out = bytes == 0 ? 0 : __cerberus_dev_aligned_malloc(context, bytes, 256);
  return *out != 0 || bytes == 0 ? kCudaSuccess
                                 : Noted(queue, grid, kCudaMemoryAllocation);
}
DEV(u32, rt_free)(LAUNCH, u64 address) {
  static_cast<void>(number);
  static_cast<void>(grid);
  __cerberus_dev_free(context, address);
  return kCudaSuccess;
}

// ---- Questions --------------------------------------------------------------

// Writes `value` where asked to.
template <typename T>
INLINE u32 Answer(LAUNCH, T* out, T value) {
  if (out == nullptr) {
    return Noted(QueueOf(context, number), grid, kCudaInvalidValue);
  }
  *out = value;
  return kCudaSuccess;
}

DEV(u32, rt_attribute)(LAUNCH, s32* out, u32 attribute, u32 device) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (device != FactsOf(queue)->device) {
    return Noted(queue, grid, kCudaInvalidDevice);
  }
  if (attribute == 0 || attribute >= kDeviceAttributes) {
    return Noted(queue, grid, kCudaInvalidValue);
  }
  return Answer(context, number, grid, out,
                static_cast<s32>(FactsOf(queue)->attributes[attribute]));
}
DEV(u32, rt_limit)(LAUNCH, u64* out, u32 limit) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (limit >= kDeviceLimits) return Noted(queue, grid, kCudaUnsupportedLimit);
  return Answer(context, number, grid, out,
                static_cast<u64>(FactsOf(queue)->limits[limit]));
}
// The preferences that AMD GPUs have no use for.
DEV(u32, rt_preference)(LAUNCH, u32* out) {
  return Answer(context, number, grid, out, 0u);
}
DEV(u32, rt_device)(LAUNCH, u32* out) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  return Answer(context, number, grid, out,
                static_cast<u32>(FactsOf(queue)->device));
}
DEV(u32, rt_device_count)(LAUNCH, u32* out) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  return Answer(context, number, grid, out,
                static_cast<u32>(FactsOf(queue)->devices));
}
DEV(u32, rt_version)(LAUNCH, u32* out) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  return Answer(context, number, grid, out,
                static_cast<u32>(FactsOf(queue)->runtime_version));
}

// cudaFuncAttributes, as far as all versions have it.
struct FunctionAttributes {
  u64 shared;
  u64 constant;
  u64 local;
  s32 max_threads;
  s32 registers;
  s32 ptx_version;
  s32 binary_version;
  s32 cache_mode;
  s32 max_dynamic_shared;
  s32 carveout;
};
DEV(u32, rt_function)(LAUNCH, FunctionAttributes* out,
                      GLOBAL const KernelHandle* kernel) {
  if (out == nullptr || kernel == nullptr || kernel->id == 0) {
    return Noted(
        QueueOf(context, number), grid,
        out == nullptr ? kCudaInvalidValue : kCudaInvalidDeviceFunction);
  }
  out->shared = kernel->static_shared;
  out->constant = kernel->const_bytes;
  out->local = kernel->local_bytes;
  out->max_threads = static_cast<s32>(kernel->max_threads);
  out->registers = static_cast<s32>(kernel->registers);
  out->ptx_version = out->binary_version = static_cast<s32>(kernel->sm);
  out->cache_mode = 0;
  out->max_dynamic_shared = static_cast<s32>(kernel->dynamic_limit);
  out->carveout = -1;
  return kCudaSuccess;
}

// By threads and shared memory alone: what registers allow only the host's
// driver knows.
DEV(u32, rt_occupancy)(LAUNCH, s32* out, GLOBAL const KernelHandle* kernel,
                       u32 threads, u64 dynamic_shared) {
  GLOBAL LaunchQueue* queue = QueueOf(context, number);
  if (queue == nullptr) return kCudaInvalidDeviceFunction;
  if (kernel == nullptr || kernel->id == 0) {
    return Noted(queue, grid, kCudaInvalidDeviceFunction);
  }
  if (threads == 0) return Noted(queue, grid, kCudaInvalidValue);
  GLOBAL const DeviceFacts* facts = FactsOf(queue);
  s32 blocks = 0;
  if (threads <= kernel->max_threads &&
      dynamic_shared <= kernel->dynamic_limit) {
    const u32 whole_warps = (threads + 31) & ~31u;
    blocks = facts->attributes[kAttribute_MAX_THREADS_PER_MULTIPROCESSOR] /
             static_cast<s32>(whole_warps);
    const u64 shared = kernel->static_shared + dynamic_shared;
    if (shared != 0) {
      const s32 fit = static_cast<s32>(
          static_cast<u64>(
              facts->attributes
                  [kAttribute_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR]) /
          shared);
      if (fit < blocks) blocks = fit;
    }
    const s32 most =
        facts->attributes[kAttribute_MAX_BLOCKS_PER_MULTIPROCESSOR];
    if (most > 0 && most < blocks) blocks = most;
  }
  return Answer(context, number, grid, out, blocks);
}
DEV(u32, rt_occupancy_flags)(LAUNCH, s32* out,
                             GLOBAL const KernelHandle* kernel, u32 threads,
                             u64 dynamic_shared, u32) {
  return __cerberus_dev_rt_occupancy(context, number, grid, out, kernel,
                                     threads, dynamic_shared);
}

#undef LAUNCH

#endif  // CERBERUS_DEVLIB_LAUNCHES_H_
