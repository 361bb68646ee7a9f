// Copies and sets, in one, two and three dimensions.
//
// Everything becomes 1-D or 2-D work on a HIP stream. A synchronous call
// waits for its stream at the end; which stream that is follows from the call
// being the legacy or the per-thread variant (dispatch.h).
#include <algorithm>
#include <cstring>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/dispatch.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/launch/services.h"
#include "runtime-stub/memory/array.h"
#include "runtime-stub/memory/copy_region.h"
#include "runtime-stub/memory/pointer.h"
#include "runtime-stub/stream/capture.h"
#include "runtime-stub/stream/stream.h"
#include "support/bytes.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// The end of a synchronous call, which shows what kernels have printed.
hipError_t WaitFor(Context* context, hipStream_t stream) {
  const hipError_t error = hip.hipStreamSynchronize(stream);
  FlushOutput(context->device);
  return error;
}

// The copy becomes a node of the graph that the stream captures.
CUresult CaptureCopy(Context* context, hipStream_t stream,
                     const CUDA_MEMCPY3D& copy) {
  return CaptureNode(stream, [&](auto... at) {
    return api::cuGraphAddMemcpyNode(at..., &copy, context->handle());
  });
}
void SetSource(const void* from, int type, CUDA_MEMCPY3D* copy) {
  copy->srcMemoryType = type;
  if (type == CU_MEMORYTYPE_HOST) {
    copy->srcHost = from;
  } else {
    copy->srcDevice = reinterpret_cast<CUdeviceptr>(from);
  }
}
void SetTarget(void* to, int type, CUDA_MEMCPY3D* copy) {
  copy->dstMemoryType = type;
  if (type == CU_MEMORYTYPE_HOST) {
    copy->dstHost = to;
  } else {
    copy->dstDevice = reinterpret_cast<CUdeviceptr>(to);
  }
}
// A row of bytes, whose ends `kind` says.
CUDA_MEMCPY3D Row(void* to, const void* from, std::size_t bytes,
                  hipMemcpyKind kind) {
  CUDA_MEMCPY3D copy = {};
  const bool unified = kind == hipMemcpyDefault;
  const bool from_host =
      kind == hipMemcpyHostToDevice || kind == hipMemcpyHostToHost;
  const bool to_host =
      kind == hipMemcpyDeviceToHost || kind == hipMemcpyHostToHost;
  SetSource(from,
            unified     ? CU_MEMORYTYPE_UNIFIED
            : from_host ? CU_MEMORYTYPE_HOST
                        : CU_MEMORYTYPE_DEVICE,
            &copy);
  SetTarget(to,
            unified   ? CU_MEMORYTYPE_UNIFIED
            : to_host ? CU_MEMORYTYPE_HOST
                      : CU_MEMORYTYPE_DEVICE,
            &copy);
  copy.WidthInBytes = copy.srcPitch = copy.dstPitch = bytes;
  copy.Height = copy.Depth = copy.srcHeight = copy.dstHeight = 1;
  return copy;
}
// The fields that all descriptions of copies have.
template <typename Copy>
void CopySides(const Copy& from, CUDA_MEMCPY3D* to) {
  to->srcXInBytes = from.srcXInBytes;
  to->srcY = from.srcY;
  to->srcMemoryType = from.srcMemoryType;
  to->srcHost = from.srcHost;
  to->srcDevice = from.srcDevice;
  to->srcArray = from.srcArray;
  to->srcPitch = from.srcPitch;
  to->dstXInBytes = from.dstXInBytes;
  to->dstY = from.dstY;
  to->dstMemoryType = from.dstMemoryType;
  to->dstHost = from.dstHost;
  to->dstDevice = from.dstDevice;
  to->dstArray = from.dstArray;
  to->dstPitch = from.dstPitch;
  to->WidthInBytes = from.WidthInBytes;
  to->Height = from.Height;
}
CUDA_MEMCPY3D Plain(const CUDA_MEMCPY2D& copy) {
  CUDA_MEMCPY3D plain = {};
  CopySides(copy, &plain);
  plain.Depth = 1;
  return plain;
}
CUDA_MEMCPY3D Plain(const CUDA_MEMCPY3D& copy) { return copy; }
CUDA_MEMCPY3D Plain(const CUDA_MEMCPY3D_PEER& copy) {
  CUDA_MEMCPY3D plain = {};
  CopySides(copy, &plain);
  plain.srcZ = copy.srcZ;
  plain.srcHeight = copy.srcHeight;
  plain.dstZ = copy.dstZ;
  plain.dstHeight = copy.dstHeight;
  plain.Depth = copy.Depth;
  return plain;
}

CUresult CopySync(void* to, const void* from, std::size_t bytes,
                  hipMemcpyKind kind) {
  CERB_STREAM(context, stream, nullptr);
  if (bytes == 0) return CUDA_SUCCESS;
  if (!IsMapped(to, bytes) || !IsMapped(from, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream == nullptr) {
    const hipError_t error = hip.hipMemcpy(to, from, bytes, kind);
    FlushOutput(context->device);
    return NoteResult(context, error);
  }
  hipError_t error = hip.hipMemcpyAsync(to, from, bytes, kind, stream);
  if (error == hipSuccess) error = WaitFor(context, stream);
  return NoteResult(context, error);
}

CUresult CopyAsync(void* to, const void* from, std::size_t bytes,
                   hipMemcpyKind kind, CUstream handle) {
  CERB_STREAM(context, stream, handle);
  if (bytes == 0) return CUDA_SUCCESS;
  if (!IsMapped(to, bytes) || !IsMapped(from, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (Captures(stream)) {
    return CaptureCopy(context, stream, Row(to, from, bytes, kind));
  }
  return NoteResult(context, hip.hipMemcpyAsync(to, from, bytes, kind, stream));
}

CUresult MakeSide(int type, const void* host, CUdeviceptr device,
                  CUarray handle, std::size_t x, std::size_t y, std::size_t z,
                  std::size_t pitch, std::size_t height, const Region& region,
                  Side* out) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      out->start = static_cast<std::uint8_t*>(const_cast<void*>(host));
      break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      out->start = static_cast<std::uint8_t*>(Pointer(device));
      break;
    case CU_MEMORYTYPE_ARRAY: {
      const Array* array = ArrayOf(handle);
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      if (x + region.width > array->row_bytes() ||
          y + region.height > array->rows() ||
          z + region.depth > array->slices()) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      out->start = array->memory;
      pitch = array->pitch;
      height = array->rows();
      break;
    }
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  // A single row needs no pitch, a single slice no height.
  out->pitch = pitch != 0 ? pitch : region.width + x;
  out->height = height != 0 ? height : region.height + y;
  out->type = type;
  if (out->pitch < region.width || out->height < region.height) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->start += (z * out->height + y) * out->pitch + x;
  return CUDA_SUCCESS;
}

bool IsOnHost(const void* start) {
  hipPointerAttribute_t attributes = {};
  if (hip.hipPointerGetAttributes(&attributes, start) != hipSuccess) {
    return true;
  }
  const MemoryKind kind = KindOf(attributes, hip.major);
  return kind == MemoryKind::kHost || kind == MemoryKind::kUnregistered;
}

hipError_t CopyRows(const Side& to, const Side& from, std::size_t width,
                    std::size_t rows, hipMemcpyKind kind, hipStream_t stream) {
  if (rows == 1 || (to.pitch == width && from.pitch == width)) {
    return hip.hipMemcpyAsync(to.start, from.start, width * rows, kind, stream);
  }
  const hipError_t error =
      hip.hipMemcpy2DAsync(to.start, to.pitch, from.start, from.pitch, width,
                           rows, KindOfRows(to, from, kind), stream);
  if (error != hipErrorNotSupported) return error;
  for (std::size_t row = 0; row < rows; ++row) {
    const hipError_t row_error =
        hip.hipMemcpyAsync(to.start + row * to.pitch,
                           from.start + row * from.pitch, width, kind, stream);
    if (row_error != hipSuccess) return row_error;
  }
  return hipSuccess;
}

hipError_t CopyRegion(const Region& region, hipStream_t stream) {
  const hipMemcpyKind kind = KindOfCopy(region);
  const bool slices_follow =
      region.to.height == region.height && region.from.height == region.height;
  if (region.depth == 1 || slices_follow) {
    return CopyRows(region.to, region.from, region.width,
                    region.height * region.depth, kind, stream);
  }
  Side to = region.to, from = region.from;
  for (std::size_t z = 0; z < region.depth; ++z) {
    const hipError_t error =
        CopyRows(to, from, region.width, region.height, kind, stream);
    if (error != hipSuccess) return error;
    to.start += to.pitch * to.height;
    from.start += from.pitch * from.height;
  }
  return hipSuccess;
}

CUresult MakeRegion(const CUDA_MEMCPY2D* copy, Region* region) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  region->width = copy->WidthInBytes;
  region->height = copy->Height;
  region->depth = 1;
  CUresult r = MakeSide(copy->srcMemoryType, copy->srcHost, copy->srcDevice,
                        copy->srcArray, copy->srcXInBytes, copy->srcY, 0,
                        copy->srcPitch, 0, *region, &region->from);
  if (r != CUDA_SUCCESS) return r;
  return MakeSide(copy->dstMemoryType, copy->dstHost, copy->dstDevice,
                  copy->dstArray, copy->dstXInBytes, copy->dstY, 0,
                  copy->dstPitch, 0, *region, &region->to);
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER, which differ only in the contexts
// that HIP finds by the addresses.
template <typename Copy>
CUresult MakeRegion3D(const Copy* copy, Region* region) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  region->width = copy->WidthInBytes;
  region->height = copy->Height;
  region->depth = copy->Depth;
  CUresult r =
      MakeSide(copy->srcMemoryType, copy->srcHost, copy->srcDevice,
               copy->srcArray, copy->srcXInBytes, copy->srcY, copy->srcZ,
               copy->srcPitch, copy->srcHeight, *region, &region->from);
  if (r != CUDA_SUCCESS) return r;
  return MakeSide(copy->dstMemoryType, copy->dstHost, copy->dstDevice,
                  copy->dstArray, copy->dstXInBytes, copy->dstY, copy->dstZ,
                  copy->dstPitch, copy->dstHeight, *region, &region->to);
}

template <typename Copy>
CUresult RunRegion(const Region& region, const Copy& copy, CUstream handle,
                   bool wait) {
  CERB_STREAM(context, stream, handle);
  if (region.width == 0 || region.height == 0 || region.depth == 0) {
    return CUDA_SUCCESS;
  }
  for (const Side* side : {&region.to, &region.from}) {
    const std::size_t rows = (region.depth - 1) * side->height + region.height;
    if (!IsMapped(side->start, (rows - 1) * side->pitch + region.width)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (!wait && Captures(stream))
    return CaptureCopy(context, stream, Plain(copy));
  hipError_t error = CopyRegion(region, stream);
  if (error == hipSuccess && wait) error = WaitFor(context, stream);
  return NoteResult(context, error);
}

CUresult Copy2D(const CUDA_MEMCPY2D* copy, CUstream stream, bool wait) {
  Region region;
  if (CUresult r = MakeRegion(copy, &region); r != CUDA_SUCCESS) return r;
  return RunRegion(region, *copy, stream, wait);
}

template <typename Copy>
CUresult Copy3D(const Copy* copy, CUstream stream, bool wait) {
  Region region;
  if (CUresult r = MakeRegion3D(copy, &region); r != CUDA_SUCCESS) return r;
  return RunRegion(region, *copy, stream, wait);
}

CUresult CopyPeer(CUdeviceptr to, CUcontext to_handle, CUdeviceptr from,
                  CUcontext from_handle, std::size_t bytes, CUstream handle,
                  bool wait) {
  CERB_STREAM(context, stream, handle);
  Context* to_context = ContextOf(to_handle);
  Context* from_context = ContextOf(from_handle);
  if (to_context == nullptr || from_context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (bytes == 0) return CUDA_SUCCESS;
  if (!wait && Captures(stream)) {
    return CaptureCopy(
        context, stream,
        Row(Pointer(to), Pointer(from), bytes, hipMemcpyDeviceToDevice));
  }
  const int to_device = to_context->device->hip_ordinal;
  const int from_device = from_context->device->hip_ordinal;
  hipError_t error = hipErrorNotSupported;
  if (to_device != from_device) {
    error = hip.hipMemcpyPeerAsync(Pointer(to), to_device, Pointer(from),
                                   from_device, bytes, stream);
  }
  if (error == hipErrorNotSupported) {
    error = hip.hipMemcpyAsync(Pointer(to), Pointer(from), bytes,
                               hipMemcpyDeviceToDevice, stream);
  }
  if (error == hipSuccess && wait) error = WaitFor(context, stream);
  return NoteResult(context, error);
}

// --- between arrays and linear memory ---

// A position within an array counts the bytes of its rows one behind the
// other, without padding.
struct ArrayPart {
  CUarray array;
  std::size_t offset;
};

// Calls `use(memory, done, bytes)` for each piece that lies in one row.
template <typename Use>
CUresult ForEachPiece(const ArrayPart& part, std::size_t bytes, Use use) {
  const Array* array = ArrayOf(part.array);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::size_t row_bytes = array->row_bytes();
  const std::size_t all = row_bytes * array->rows() * array->slices();
  if (part.offset > all || bytes > all - part.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t at = part.offset + done;
    const std::size_t column = at % row_bytes;
    const std::size_t piece = std::min(bytes - done, row_bytes - column);
    const CUresult result = use(
        array->memory + at / row_bytes * array->pitch + column, done, piece);
    if (result != CUDA_SUCCESS) return result;
    done += piece;
  }
  return CUDA_SUCCESS;
}

// One node for each run of rows: the rest of a first row, whole rows of a
// slice, the begin of a last row.
CUresult CaptureArray(Context* context, hipStream_t stream,
                      const ArrayPart& part, const void* linear,
                      std::size_t bytes, bool to_array, hipMemcpyKind kind) {
  const Array* array = ArrayOf(part.array);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::size_t row = array->row_bytes(), rows = array->rows();
  const std::size_t all = row * rows * array->slices();
  if (part.offset > all || bytes > all - part.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto* other = static_cast<std::uint8_t*>(const_cast<void*>(linear));
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t at = part.offset + done, column = at % row;
    const std::size_t y = at / row % rows, left = bytes - done;
    const bool whole = column == 0 && left >= row;
    const std::size_t width = whole ? row : std::min(left, row - column);
    const std::size_t height = whole ? std::min(left / row, rows - y) : 1;
    CUDA_MEMCPY3D copy = Row(other + done, other + done, width, kind);
    if (to_array) {
      copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
      copy.dstDevice = 0;
      copy.dstArray = part.array;
      copy.dstXInBytes = column;
      copy.dstY = y;
      copy.dstZ = at / row / rows;
    } else {
      copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
      copy.srcDevice = 0;
      copy.srcArray = part.array;
      copy.srcXInBytes = column;
      copy.srcY = y;
      copy.srcZ = at / row / rows;
    }
    copy.Height = copy.srcHeight = copy.dstHeight = height;
    const CUresult result = CaptureCopy(context, stream, copy);
    if (result != CUDA_SUCCESS) return result;
    done += width * height;
  }
  return CUDA_SUCCESS;
}

CUresult CopyArray(const ArrayPart& part, const void* linear, std::size_t bytes,
                   bool to_array, hipMemcpyKind kind, CUstream handle,
                   bool wait) {
  CERB_STREAM(context, stream, handle);
  if (!wait && Captures(stream)) {
    return CaptureArray(context, stream, part, linear, bytes, to_array, kind);
  }
  auto* other = static_cast<std::uint8_t*>(const_cast<void*>(linear));
  const CUresult result = ForEachPiece(
      part, bytes, [&](std::uint8_t* piece, std::size_t done, std::size_t n) {
        return NoteResult(context,
                          hip.hipMemcpyAsync(to_array ? piece : other + done,
                                             to_array ? other + done : piece, n,
                                             kind, stream));
      });
  if (result != CUDA_SUCCESS || !wait) return result;
  return NoteResult(context, WaitFor(context, stream));
}

// --- sets ---

hipError_t SetElements(void* to, unsigned char value, std::size_t count,
                       hipStream_t stream) {
  return hip.hipMemsetD8Async(to, value, count, stream);
}
hipError_t SetElements(void* to, unsigned short value, std::size_t count,
                       hipStream_t stream) {
  return hip.hipMemsetD16Async(to, value, count, stream);
}
hipError_t SetElements(void* to, unsigned value, std::size_t count,
                       hipStream_t stream) {
  return hip.hipMemsetD32Async(to, static_cast<int>(value), count, stream);
}

template <typename T>
CUresult CaptureSet(Context* context, hipStream_t stream, CUdeviceptr to,
                    std::size_t pitch, T value, std::size_t width,
                    std::size_t height) {
  const CUDA_MEMSET_NODE_PARAMS params = {to,           pitch, value,
                                          sizeof value, width, height};
  return CaptureNode(stream, [&](auto... at) {
    return api::cuGraphAddMemsetNode(at..., &params, context->handle());
  });
}

template <typename T>
CUresult Set(CUdeviceptr to, T value, std::size_t count, CUstream handle,
             bool wait) {
  CERB_STREAM(context, stream, handle);
  if (to % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (count == 0) return CUDA_SUCCESS;
  if (!IsMapped(Pointer(to), count * sizeof(T))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!wait && Captures(stream)) {
    return CaptureSet(context, stream, to, 0, value, count, 1);
  }
  hipError_t error = SetElements(Pointer(to), value, count, stream);
  if (error == hipSuccess && wait) error = WaitFor(context, stream);
  return NoteResult(context, error);
}

// `pitch` is in bytes, `width` in elements.
template <typename T>
hipError_t SetRows(CUdeviceptr to, std::size_t pitch, T value,
                   std::size_t width, std::size_t height, hipStream_t stream) {
  if (height == 1 || pitch == width * sizeof(T)) {
    return SetElements(Pointer(to), value, width * height, stream);
  }
  if (sizeof(T) == 1) {
    const hipError_t error =
        hip.hipMemset2DAsync(Pointer(to), pitch, value, width, height, stream);
    if (error != hipErrorNotSupported) return error;
  }
  for (std::size_t row = 0; row < height; ++row) {
    const hipError_t error =
        SetElements(Pointer(to + row * pitch), value, width, stream);
    if (error != hipSuccess) return error;
  }
  return hipSuccess;
}

template <typename T>
CUresult Set2D(CUdeviceptr to, std::size_t pitch, T value, std::size_t width,
               std::size_t height, CUstream handle, bool wait) {
  CERB_STREAM(context, stream, handle);
  if (to % sizeof(T) != 0 || (height > 1 && pitch < width * sizeof(T))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  if (!IsMapped(Pointer(to), (height - 1) * pitch + width * sizeof(T))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!wait && Captures(stream)) {
    return CaptureSet(context, stream, to, pitch, value, width, height);
  }
  hipError_t error = SetRows(to, pitch, value, width, height, stream);
  if (error == hipSuccess && wait) error = WaitFor(context, stream);
  return NoteResult(context, error);
}

}  // namespace

hipMemcpyKind KindOfRows(const Side& to, const Side& from, hipMemcpyKind kind) {
  if (kind != hipMemcpyDefault) return kind;
  const bool to_host = IsOnHost(to.start);
  if (IsOnHost(from.start)) {
    return to_host ? hipMemcpyHostToHost : hipMemcpyHostToDevice;
  }
  return to_host ? hipMemcpyDeviceToHost : hipMemcpyDeviceToDevice;
}

hipMemcpyKind KindOfCopy(const Region& region) {
  const int from = region.from.type, to = region.to.type;
  if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) {
    return hipMemcpyDefault;
  }
  if (from == CU_MEMORYTYPE_HOST) {
    return to == CU_MEMORYTYPE_HOST ? hipMemcpyHostToHost
                                    : hipMemcpyHostToDevice;
  }
  return to == CU_MEMORYTYPE_HOST ? hipMemcpyDeviceToHost
                                  : hipMemcpyDeviceToDevice;
}

CUresult RegionOf(const CUDA_MEMCPY3D* copy, Region* region) {
  return MakeRegion3D(copy, region);
}

namespace api {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return CopySync(Pointer(to), Pointer(from), bytes, hipMemcpyDefault);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                       CUstream stream) {
  return CopyAsync(Pointer(to), Pointer(from), bytes, hipMemcpyDefault, stream);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return CopySync(Pointer(to), from, bytes, hipMemcpyHostToDevice);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from,
                              std::size_t bytes, CUstream stream) {
  return CopyAsync(Pointer(to), from, bytes, hipMemcpyHostToDevice, stream);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return CopySync(to, Pointer(from), bytes, hipMemcpyDeviceToHost);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes,
                              CUstream stream) {
  return CopyAsync(to, Pointer(from), bytes, hipMemcpyDeviceToHost, stream);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return CopySync(Pointer(to), Pointer(from), bytes, hipMemcpyDeviceToDevice);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                              std::size_t bytes, CUstream stream) {
  return CopyAsync(Pointer(to), Pointer(from), bytes, hipMemcpyDeviceToDevice,
                   stream);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, std::size_t bytes) {
  return CopyPeer(to, to_context, from, from_context, bytes, nullptr, true);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context,
                           CUdeviceptr from, CUcontext from_context,
                           std::size_t bytes, CUstream stream) {
  return CopyPeer(to, to_context, from, from_context, bytes, stream, false);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  return Copy2D(copy, nullptr, true);
}
// The plain call may refuse pitches that no allocation has; none are refused
// here, so both do the same.
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return Copy2D(copy, nullptr, true);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return Copy2D(copy, stream, false);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
  return Copy3D(copy, nullptr, true);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return Copy3D(copy, stream, false);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  return Copy3D(copy, nullptr, true);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return Copy3D(copy, stream, false);
}

CUresult cuMemcpyHtoA_v2(CUarray to, std::size_t offset, const void* from,
                         std::size_t bytes) {
  return CopyArray({to, offset}, from, bytes, true, hipMemcpyHostToDevice,
                   nullptr, true);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, std::size_t offset, const void* from,
                              std::size_t bytes, CUstream stream) {
  return CopyArray({to, offset}, from, bytes, true, hipMemcpyHostToDevice,
                   stream, false);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, std::size_t offset,
                         std::size_t bytes) {
  return CopyArray({from, offset}, to, bytes, false, hipMemcpyDeviceToHost,
                   nullptr, true);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, std::size_t offset,
                              std::size_t bytes, CUstream stream) {
  return CopyArray({from, offset}, to, bytes, false, hipMemcpyDeviceToHost,
                   stream, false);
}
CUresult cuMemcpyDtoA_v2(CUarray to, std::size_t offset, CUdeviceptr from,
                         std::size_t bytes) {
  return CopyArray({to, offset}, Pointer(from), bytes, true,
                   hipMemcpyDeviceToDevice, nullptr, true);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, std::size_t offset,
                         std::size_t bytes) {
  return CopyArray({from, offset}, Pointer(to), bytes, false,
                   hipMemcpyDeviceToDevice, nullptr, true);
}
CUresult cuMemcpyAtoA_v2(CUarray to, std::size_t to_offset, CUarray from,
                         std::size_t from_offset, std::size_t bytes) {
  return ForEachPiece(
      {from, from_offset}, bytes,
      [&](std::uint8_t* piece, std::size_t done, std::size_t n) {
        return CopyArray({to, to_offset + done}, piece, n, true,
                         hipMemcpyDeviceToDevice, nullptr, true);
      });
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  return Set(to, value, count, nullptr, true);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value,
                        std::size_t count) {
  return Set(to, value, count, nullptr, true);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, std::size_t count) {
  return Set(to, value, count, nullptr, true);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                         CUstream stream) {
  return Set(to, value, count, stream, false);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value,
                          std::size_t count, CUstream stream) {
  return Set(to, value, count, stream, false);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count,
                          CUstream stream) {
  return Set(to, value, count, stream, false);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, std::size_t pitch, unsigned char value,
                         std::size_t width, std::size_t height) {
  return Set2D(to, pitch, value, width, height, nullptr, true);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, std::size_t pitch,
                          unsigned short value, std::size_t width,
                          std::size_t height) {
  return Set2D(to, pitch, value, width, height, nullptr, true);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, std::size_t pitch, unsigned value,
                          std::size_t width, std::size_t height) {
  return Set2D(to, pitch, value, width, height, nullptr, true);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch,
                           unsigned char value, std::size_t width,
                           std::size_t height, CUstream stream) {
  return Set2D(to, pitch, value, width, height, stream, false);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, std::size_t pitch,
                            unsigned short value, std::size_t width,
                            std::size_t height, CUstream stream) {
  return Set2D(to, pitch, value, width, height, stream, false);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value,
                            std::size_t width, std::size_t height,
                            CUstream stream) {
  return Set2D(to, pitch, value, width, height, stream, false);
}

}  // namespace api
}  // namespace cerberus::stub
