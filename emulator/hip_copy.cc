// Copies and fills. All copies are boxes of rows; a plain copy is one row.
#include <algorithm>
#include <cstring>

#include "emulator/hip_runtime.h"
#include "support/bytes.h"

namespace cerberus::emulator::hip {

std::size_t Copy3D::src_bytes() const {
  return (depth - 1) * src_slice + (height - 1) * src_pitch + width;
}
std::size_t Copy3D::dst_bytes() const {
  return (depth - 1) * dst_slice + (height - 1) * dst_pitch + width;
}

void Copy3D::Run() const {
  if (depth != 0 && height != 0) MarkWritten(dst, dst_bytes());
  for (std::size_t z = 0; z < depth; ++z) {
    const std::uint8_t* from = src + z * src_slice;
    std::uint8_t* to = dst + z * dst_slice;
    if (src_pitch == width && dst_pitch == width) {
      std::memmove(to, from, width * height);
      continue;
    }
    for (std::size_t y = 0; y < height; ++y) {
      std::memmove(to + y * dst_pitch, from + y * src_pitch, width);
    }
  }
}

namespace {

enum class Side { kAny, kHost, kDevice };

// A side of a copy: memory the runtime knows must hold all its bytes, and a
// device side must be such memory. Host memory is the program's own.
hipError_t CheckSide(const void* pointer, std::size_t bytes, Side side,
                     bool* pageable) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  std::optional<Block> block = Runtime::Get().Find(pointer);
  *pageable = !block;
  if (!block) {
    return side == Side::kDevice ? hipErrorInvalidValue : hipSuccess;
  }
  const std::uint64_t offset =
      reinterpret_cast<std::uint64_t>(pointer) - block->address;
  if (block->kind != MemoryKind::kRegistered && bytes > block->size - offset) {
    return hipErrorInvalidValue;
  }
  return hipSuccess;
}

bool SidesOf(std::uint32_t kind, Side* src, Side* dst) {
  switch (kind) {
    case hipMemcpyHostToHost:
      *src = *dst = Side::kHost;
      return true;
    case hipMemcpyHostToDevice:
      *src = Side::kHost;
      *dst = Side::kDevice;
      return true;
    case hipMemcpyDeviceToHost:
      *src = Side::kDevice;
      *dst = Side::kHost;
      return true;
    case hipMemcpyDeviceToDevice:
    case hipMemcpyDeviceToDeviceNoCU:
      *src = *dst = Side::kDevice;
      return true;
    case hipMemcpyDefault:
      *src = *dst = Side::kAny;
      return true;
    default:
      return false;
  }
}

// Runs or queues a copy. From and to pageable memory an asynchronous copy
// behaves as CUDA's and HIP's do: the source is read before the call returns,
// a destination is written before it returns.
hipError_t DoCopy(Copy3D copy, Side src_side, Side dst_side, hipStream_t handle,
                  bool async) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return hipErrorInvalidHandle;
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) {
    return hipSuccess;
  }
  bool src_pageable = false, dst_pageable = false;
  error = CheckSide(copy.src, copy.src_bytes(), src_side, &src_pageable);
  if (error != hipSuccess) return error;
  error = CheckSide(copy.dst, copy.dst_bytes(), dst_side, &dst_pageable);
  if (error != hipSuccess) return error;

  const bool capturing = IsCapturing(stream);
  if (!async || (dst_pageable && !capturing)) {
    if (capturing) return hipErrorStreamCaptureUnsupported;
    stream->RunHere([&copy] { copy.Run(); });
    return stream->gpu()->sticky;
  }
  Work work;
  work.kind = Work::Kind::kCopy;
  if (src_pageable && !capturing) {
    std::vector<std::uint8_t> staged(copy.width * copy.height * copy.depth);
    Copy3D in = copy;
    in.dst = staged.data();
    in.dst_pitch = copy.width;
    in.dst_slice = copy.width * copy.height;
    in.Run();
    copy.src_pitch = in.dst_pitch;
    copy.src_slice = in.dst_slice;
    work.run = [copy, staged = std::move(staged)]() mutable {
      copy.src = staged.data();
      copy.Run();
    };
  } else {
    work.run = [copy] { copy.Run(); };
  }
  stream->Submit(std::move(work));
  return hipSuccess;
}

hipError_t Copy1D(void* dst, const void* src, std::size_t bytes,
                  std::uint32_t kind, hipStream_t stream, bool async) {
  Side src_side, dst_side;
  if (!SidesOf(kind, &src_side, &dst_side)) {
    return hipErrorInvalidMemcpyDirection;
  }
  Copy3D copy;
  copy.src = static_cast<const std::uint8_t*>(src);
  copy.dst = static_cast<std::uint8_t*>(dst);
  copy.width = copy.src_pitch = copy.dst_pitch = bytes;
  copy.height = copy.depth = 1;
  return DoCopy(copy, src_side, dst_side, stream, async);
}

hipError_t Copy2D(void* dst, std::size_t dst_pitch, const void* src,
                  std::size_t src_pitch, std::size_t width, std::size_t height,
                  std::uint32_t kind, hipStream_t stream, bool async) {
  Side src_side, dst_side;
  if (!SidesOf(kind, &src_side, &dst_side)) {
    return hipErrorInvalidMemcpyDirection;
  }
  if (width > src_pitch || width > dst_pitch) {
    return hipErrorInvalidPitchValue;
  }
  Copy3D copy;
  copy.src = static_cast<const std::uint8_t*>(src);
  copy.dst = static_cast<std::uint8_t*>(dst);
  copy.width = width;
  copy.height = height;
  copy.depth = 1;
  copy.src_pitch = src_pitch;
  copy.dst_pitch = dst_pitch;
  return DoCopy(copy, src_side, dst_side, stream, async);
}

// The side that a hipMemoryType of the caller's HIP version names, and its
// pointer.
bool SideOfType(std::uint32_t type, void* host, void* device, Side* side,
                std::uint8_t** pointer) {
  const std::uint32_t host_type = ApiMajor() < 6 ? 0 : hipMemoryTypeHost;
  const std::uint32_t device_type = ApiMajor() < 6 ? 1 : hipMemoryTypeDevice;
  const std::uint32_t unified = ApiMajor() < 6 ? 3 : hipMemoryTypeUnified;
  const std::uint32_t managed = ApiMajor() < 6 ? 4 : hipMemoryTypeManaged;
  if (type == host_type || (ApiMajor() >= 6 && type == 0)) {
    *side = Side::kHost;
    *pointer = static_cast<std::uint8_t*>(host);
  } else if (type == device_type || type == managed) {
    *side = Side::kDevice;
    *pointer = static_cast<std::uint8_t*>(device);
  } else if (type == unified) {
    *side = Side::kAny;
    *pointer = static_cast<std::uint8_t*>(device);
  } else {
    return false;  // arrays
  }
  return true;
}

hipError_t CopyParam2D(const hip_Memcpy2D* p, hipStream_t stream, bool async) {
  if (p == nullptr) return hipErrorInvalidValue;
  Side src_side, dst_side;
  std::uint8_t *src = nullptr, *dst = nullptr;
  if (!SideOfType(p->srcMemoryType, const_cast<void*>(p->srcHost), p->srcDevice,
                  &src_side, &src) ||
      !SideOfType(p->dstMemoryType, p->dstHost, p->dstDevice, &dst_side,
                  &dst)) {
    return hipErrorInvalidValue;
  }
  Copy3D copy;
  copy.width = p->WidthInBytes;
  copy.height = p->Height;
  copy.depth = 1;
  if (copy.width == 0 || copy.height == 0) return hipSuccess;
  if (src == nullptr || dst == nullptr) return hipErrorInvalidValue;
  // A pitch of 0 means rows without gaps.
  copy.src_pitch = p->srcPitch != 0 ? p->srcPitch : p->srcXInBytes + copy.width;
  copy.dst_pitch = p->dstPitch != 0 ? p->dstPitch : p->dstXInBytes + copy.width;
  if (p->srcXInBytes + copy.width > copy.src_pitch ||
      p->dstXInBytes + copy.width > copy.dst_pitch) {
    return hipErrorInvalidValue;
  }
  copy.src = src + p->srcY * copy.src_pitch + p->srcXInBytes;
  copy.dst = dst + p->dstY * copy.dst_pitch + p->dstXInBytes;
  return DoCopy(copy, src_side, dst_side, stream, async);
}

template <typename Params>
hipError_t CopyDrv3D(const Params* p, hipStream_t stream, bool async) {
  if (p == nullptr) return hipErrorInvalidValue;
  Side src_side, dst_side;
  std::uint8_t *src = nullptr, *dst = nullptr;
  if (!SideOfType(p->srcMemoryType, const_cast<void*>(p->srcHost), p->srcDevice,
                  &src_side, &src) ||
      !SideOfType(p->dstMemoryType, p->dstHost, p->dstDevice, &dst_side,
                  &dst)) {
    return hipErrorInvalidValue;
  }
  Copy3D copy;
  copy.width = p->WidthInBytes;
  copy.height = p->Height;
  copy.depth = p->Depth;
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) {
    return hipSuccess;
  }
  if (src == nullptr || dst == nullptr) return hipErrorInvalidValue;
  copy.src_pitch = p->srcPitch != 0 ? p->srcPitch : p->srcXInBytes + copy.width;
  copy.dst_pitch = p->dstPitch != 0 ? p->dstPitch : p->dstXInBytes + copy.width;
  copy.src_slice = copy.src_pitch *
                   (p->srcHeight != 0 ? p->srcHeight : p->srcY + copy.height);
  copy.dst_slice = copy.dst_pitch *
                   (p->dstHeight != 0 ? p->dstHeight : p->dstY + copy.height);
  if (p->srcXInBytes + copy.width > copy.src_pitch ||
      p->dstXInBytes + copy.width > copy.dst_pitch) {
    return hipErrorInvalidValue;
  }
  copy.src = src + p->srcZ * copy.src_slice + p->srcY * copy.src_pitch +
             p->srcXInBytes;
  copy.dst = dst + p->dstZ * copy.dst_slice + p->dstY * copy.dst_pitch +
             p->dstXInBytes;
  return DoCopy(copy, src_side, dst_side, stream, async);
}

hipError_t CopyDrv3DAnyVersion(const void* params, hipStream_t stream,
                               bool async) {
  return ApiMajor() < 6 ? CopyDrv3D(static_cast<const HipMemcpy3DV5*>(params),
                                    stream, async)
                        : CopyDrv3D(static_cast<const HIP_MEMCPY3D*>(params),
                                    stream, async);
}

hipError_t CopyParms3D(const hipMemcpy3DParms* p, hipStream_t stream,
                       bool async) {
  if (p == nullptr || p->srcArray != nullptr || p->dstArray != nullptr) {
    return hipErrorInvalidValue;
  }
  Side src_side, dst_side;
  if (!SidesOf(p->kind, &src_side, &dst_side)) {
    return hipErrorInvalidMemcpyDirection;
  }
  Copy3D copy;
  copy.width = p->extent.width;
  copy.height = p->extent.height;
  copy.depth = p->extent.depth;
  if (copy.width == 0 || copy.height == 0 || copy.depth == 0) {
    return hipSuccess;
  }
  if (p->srcPtr.ptr == nullptr || p->dstPtr.ptr == nullptr) {
    return hipErrorInvalidValue;
  }
  copy.src_pitch = p->srcPtr.pitch;
  copy.dst_pitch = p->dstPtr.pitch;
  if (p->srcPos.x + copy.width > copy.src_pitch ||
      p->dstPos.x + copy.width > copy.dst_pitch) {
    return hipErrorInvalidPitchValue;
  }
  copy.src_slice = copy.src_pitch * p->srcPtr.ysize;
  copy.dst_slice = copy.dst_pitch * p->dstPtr.ysize;
  copy.src = static_cast<const std::uint8_t*>(p->srcPtr.ptr) +
             p->srcPos.z * copy.src_slice + p->srcPos.y * copy.src_pitch +
             p->srcPos.x;
  copy.dst = static_cast<std::uint8_t*>(p->dstPtr.ptr) +
             p->dstPos.z * copy.dst_slice + p->dstPos.y * copy.dst_pitch +
             p->dstPos.x;
  return DoCopy(copy, src_side, dst_side, stream, async);
}

// `pattern` of 1, 2 or 4 bytes over boxes of `width` elements.
struct Fill {
  std::uint8_t* dst = nullptr;
  std::uint32_t pattern = 0;
  unsigned element = 1;
  std::size_t pitch = 0, slice = 0;
  std::size_t width = 0, height = 1, depth = 1;

  void Run() const {
    for (std::size_t z = 0; z < depth; ++z) {
      if (height != 0) {
        MarkWritten(dst + z * slice, (height - 1) * pitch + width * element);
      }
      for (std::size_t y = 0; y < height; ++y) {
        std::uint8_t* row = dst + z * slice + y * pitch;
        if (element == 1) {
          std::memset(row, static_cast<int>(pattern), width);
          continue;
        }
        for (std::size_t x = 0; x < width; ++x) {
          std::memcpy(row + x * element, &pattern, element);
        }
      }
    }
  }
};

hipError_t DoFill(const Fill& fill, hipStream_t handle, bool async) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return hipErrorInvalidHandle;
  if (fill.width == 0 || fill.height == 0 || fill.depth == 0) {
    return hipSuccess;
  }
  if (reinterpret_cast<std::uintptr_t>(fill.dst) % fill.element != 0) {
    return hipErrorInvalidValue;
  }
  std::optional<std::uint64_t> bytes = CheckedMul(fill.width, fill.element);
  if (!bytes) return hipErrorInvalidValue;
  bool pageable = false;
  error = CheckSide(
      fill.dst,
      (fill.depth - 1) * fill.slice + (fill.height - 1) * fill.pitch + *bytes,
      Side::kDevice, &pageable);
  if (error != hipSuccess) return error;
  if (!async) {
    if (IsCapturing(stream)) return hipErrorStreamCaptureUnsupported;
    stream->RunHere([&fill] { fill.Run(); });
    return stream->gpu()->sticky;
  }
  Work work;
  work.kind = Work::Kind::kSet;
  work.run = [fill] { fill.Run(); };
  stream->Submit(std::move(work));
  return hipSuccess;
}

hipError_t Fill1D(void* dst, std::uint32_t pattern, unsigned element,
                  std::size_t count, hipStream_t stream, bool async) {
  Fill fill;
  fill.dst = static_cast<std::uint8_t*>(dst);
  fill.pattern = pattern;
  fill.element = element;
  fill.width = count;
  return DoFill(fill, stream, async);
}

hipError_t Fill2D(void* dst, std::size_t pitch, int value, unsigned element,
                  std::size_t width, std::size_t height, hipStream_t stream,
                  bool async) {
  if (width * element > pitch) return hipErrorInvalidValue;
  Fill fill;
  fill.dst = static_cast<std::uint8_t*>(dst);
  fill.pattern = static_cast<std::uint32_t>(value);
  fill.element = element;
  fill.pitch = pitch;
  fill.width = width;
  fill.height = height;
  return DoFill(fill, stream, async);
}

hipError_t Fill3D(hipPitchedPtr dst, int value, hipExtent extent,
                  hipStream_t stream, bool async) {
  if (extent.width > dst.pitch) return hipErrorInvalidValue;
  Fill fill;
  fill.dst = static_cast<std::uint8_t*>(dst.ptr);
  fill.pattern = static_cast<std::uint32_t>(value);
  fill.pitch = dst.pitch;
  fill.slice = dst.pitch * dst.ysize;
  fill.width = extent.width;
  fill.height = extent.height;
  fill.depth = extent.depth;
  return DoFill(fill, stream, async);
}

hipError_t CopySymbol(const void* symbol, void* other, std::size_t bytes,
                      std::size_t offset, std::uint32_t kind, bool to_symbol,
                      hipStream_t stream, bool async) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  void* address = nullptr;
  std::size_t size = 0;
  error = FindHostVariable(symbol, gpu, &address, &size);
  if (error != hipSuccess) return error;
  if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
  const std::uint32_t wrong =
      to_symbol ? hipMemcpyDeviceToHost : hipMemcpyHostToDevice;
  if (kind == wrong || kind == hipMemcpyHostToHost) {
    return hipErrorInvalidMemcpyDirection;
  }
  void* at = static_cast<std::uint8_t*>(address) + offset;
  return to_symbol ? Copy1D(at, other, bytes, kind, stream, async)
                   : Copy1D(other, at, bytes, kind, stream, async);
}

}  // namespace
}  // namespace cerberus::emulator::hip

using namespace cerberus::emulator::hip;

HIP_API hipError_t hipMemcpy(void* dst, const void* src, std::size_t bytes,
                             std::uint32_t kind) {
  return Return(Copy1D(dst, src, bytes, kind, nullptr, false));
}
HIP_API hipError_t hipMemcpyAsync(void* dst, const void* src, std::size_t bytes,
                                  std::uint32_t kind, hipStream_t stream) {
  return Return(Copy1D(dst, src, bytes, kind, stream, true));
}
HIP_API hipError_t hipMemcpyWithStream(void* dst, const void* src,
                                       std::size_t bytes, std::uint32_t kind,
                                       hipStream_t stream) {
  return Return(Copy1D(dst, src, bytes, kind, stream, false));
}
HIP_API hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, const void* src,
                                 std::size_t bytes) {
  return Return(Copy1D(dst, src, bytes, hipMemcpyHostToDevice, nullptr, false));
}
HIP_API hipError_t hipMemcpyDtoH(void* dst, hipDeviceptr_t src,
                                 std::size_t bytes) {
  return Return(Copy1D(dst, src, bytes, hipMemcpyDeviceToHost, nullptr, false));
}
HIP_API hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src,
                                 std::size_t bytes) {
  return Return(
      Copy1D(dst, src, bytes, hipMemcpyDeviceToDevice, nullptr, false));
}
HIP_API hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, const void* src,
                                      std::size_t bytes, hipStream_t stream) {
  return Return(Copy1D(dst, src, bytes, hipMemcpyHostToDevice, stream, true));
}
HIP_API hipError_t hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src,
                                      std::size_t bytes, hipStream_t stream) {
  return Return(Copy1D(dst, src, bytes, hipMemcpyDeviceToHost, stream, true));
}
HIP_API hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src,
                                      std::size_t bytes, hipStream_t stream) {
  return Return(Copy1D(dst, src, bytes, hipMemcpyDeviceToDevice, stream, true));
}

HIP_API hipError_t hipMemcpyPeer(void* dst, int dst_device, const void* src,
                                 int src_device, std::size_t bytes) {
  if (Runtime::Get().gpu(dst_device) == nullptr ||
      Runtime::Get().gpu(src_device) == nullptr) {
    return Return(hipErrorInvalidDevice);
  }
  return Return(
      Copy1D(dst, src, bytes, hipMemcpyDeviceToDevice, nullptr, false));
}
HIP_API hipError_t hipMemcpyPeerAsync(void* dst, int dst_device,
                                      const void* src, int src_device,
                                      std::size_t bytes, hipStream_t stream) {
  if (Runtime::Get().gpu(dst_device) == nullptr ||
      Runtime::Get().gpu(src_device) == nullptr) {
    return Return(hipErrorInvalidDevice);
  }
  return Return(Copy1D(dst, src, bytes, hipMemcpyDeviceToDevice, stream, true));
}

HIP_API hipError_t hipMemcpy2D(void* dst, std::size_t dst_pitch,
                               const void* src, std::size_t src_pitch,
                               std::size_t width, std::size_t height,
                               std::uint32_t kind) {
  return Return(Copy2D(dst, dst_pitch, src, src_pitch, width, height, kind,
                       nullptr, false));
}
HIP_API hipError_t hipMemcpy2DAsync(void* dst, std::size_t dst_pitch,
                                    const void* src, std::size_t src_pitch,
                                    std::size_t width, std::size_t height,
                                    std::uint32_t kind, hipStream_t stream) {
  return Return(Copy2D(dst, dst_pitch, src, src_pitch, width, height, kind,
                       stream, true));
}
HIP_API hipError_t hipMemcpyParam2D(const hip_Memcpy2D* params) {
  return Return(CopyParam2D(params, nullptr, false));
}
HIP_API hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* params,
                                         hipStream_t stream) {
  return Return(CopyParam2D(params, stream, true));
}
HIP_API hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* params) {
  return Return(CopyParam2D(params, nullptr, false));
}
HIP_API hipError_t hipMemcpy3D(const hipMemcpy3DParms* params) {
  return Return(CopyParms3D(params, nullptr, false));
}
HIP_API hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* params,
                                    hipStream_t stream) {
  return Return(CopyParms3D(params, stream, true));
}
HIP_API hipError_t hipDrvMemcpy3D(const void* params) {
  return Return(CopyDrv3DAnyVersion(params, nullptr, false));
}
HIP_API hipError_t hipDrvMemcpy3DAsync(const void* params, hipStream_t stream) {
  return Return(CopyDrv3DAnyVersion(params, stream, true));
}

HIP_API hipError_t hipMemset(void* dst, int value, std::size_t bytes) {
  return Return(
      Fill1D(dst, static_cast<std::uint32_t>(value), 1, bytes, nullptr, false));
}
HIP_API hipError_t hipMemsetAsync(void* dst, int value, std::size_t bytes,
                                  hipStream_t stream) {
  return Return(
      Fill1D(dst, static_cast<std::uint32_t>(value), 1, bytes, stream, true));
}
HIP_API hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value,
                               std::size_t count) {
  return Return(Fill1D(dst, value, 1, count, nullptr, false));
}
HIP_API hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value,
                                    std::size_t count, hipStream_t stream) {
  return Return(Fill1D(dst, value, 1, count, stream, true));
}
HIP_API hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value,
                                std::size_t count) {
  return Return(Fill1D(dst, value, 2, count, nullptr, false));
}
HIP_API hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value,
                                     std::size_t count, hipStream_t stream) {
  return Return(Fill1D(dst, value, 2, count, stream, true));
}
HIP_API hipError_t hipMemsetD32(hipDeviceptr_t dst, int value,
                                std::size_t count) {
  return Return(
      Fill1D(dst, static_cast<std::uint32_t>(value), 4, count, nullptr, false));
}
HIP_API hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value,
                                     std::size_t count, hipStream_t stream) {
  return Return(
      Fill1D(dst, static_cast<std::uint32_t>(value), 4, count, stream, true));
}
HIP_API hipError_t hipMemset2D(void* dst, std::size_t pitch, int value,
                               std::size_t width, std::size_t height) {
  return Return(Fill2D(dst, pitch, value, 1, width, height, nullptr, false));
}
HIP_API hipError_t hipMemset2DAsync(void* dst, std::size_t pitch, int value,
                                    std::size_t width, std::size_t height,
                                    hipStream_t stream) {
  return Return(Fill2D(dst, pitch, value, 1, width, height, stream, true));
}
HIP_API hipError_t hipMemsetD2D8(hipDeviceptr_t dst, std::size_t pitch,
                                 unsigned char value, std::size_t width,
                                 std::size_t height) {
  return Return(Fill2D(dst, pitch, value, 1, width, height, nullptr, false));
}
HIP_API hipError_t hipMemsetD2D8Async(hipDeviceptr_t dst, std::size_t pitch,
                                      unsigned char value, std::size_t width,
                                      std::size_t height, hipStream_t stream) {
  return Return(Fill2D(dst, pitch, value, 1, width, height, stream, true));
}
HIP_API hipError_t hipMemsetD2D16(hipDeviceptr_t dst, std::size_t pitch,
                                  unsigned short value, std::size_t width,
                                  std::size_t height) {
  return Return(Fill2D(dst, pitch, value, 2, width, height, nullptr, false));
}
HIP_API hipError_t hipMemsetD2D16Async(hipDeviceptr_t dst, std::size_t pitch,
                                       unsigned short value, std::size_t width,
                                       std::size_t height, hipStream_t stream) {
  return Return(Fill2D(dst, pitch, value, 2, width, height, stream, true));
}
HIP_API hipError_t hipMemsetD2D32(hipDeviceptr_t dst, std::size_t pitch,
                                  unsigned value, std::size_t width,
                                  std::size_t height) {
  return Return(Fill2D(dst, pitch, static_cast<int>(value), 4, width, height,
                       nullptr, false));
}
HIP_API hipError_t hipMemsetD2D32Async(hipDeviceptr_t dst, std::size_t pitch,
                                       unsigned value, std::size_t width,
                                       std::size_t height, hipStream_t stream) {
  return Return(Fill2D(dst, pitch, static_cast<int>(value), 4, width, height,
                       stream, true));
}
HIP_API hipError_t hipMemset3D(hipPitchedPtr dst, int value, hipExtent extent) {
  return Return(Fill3D(dst, value, extent, nullptr, false));
}
HIP_API hipError_t hipMemset3DAsync(hipPitchedPtr dst, int value,
                                    hipExtent extent, hipStream_t stream) {
  return Return(Fill3D(dst, value, extent, stream, true));
}

// --- Variables of the program ---------------------------------------------

HIP_API hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (address == nullptr) return Return(hipErrorInvalidValue);
  std::size_t size = 0;
  return Return(FindHostVariable(symbol, gpu, address, &size));
}
HIP_API hipError_t hipGetSymbolSize(std::size_t* size, const void* symbol) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (size == nullptr) return Return(hipErrorInvalidValue);
  void* address = nullptr;
  return Return(FindHostVariable(symbol, gpu, &address, size));
}
HIP_API hipError_t hipMemcpyToSymbol(const void* symbol, const void* src,
                                     std::size_t bytes, std::size_t offset,
                                     std::uint32_t kind) {
  return Return(CopySymbol(symbol, const_cast<void*>(src), bytes, offset, kind,
                           true, nullptr, false));
}
HIP_API hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* src,
                                          std::size_t bytes, std::size_t offset,
                                          std::uint32_t kind,
                                          hipStream_t stream) {
  return Return(CopySymbol(symbol, const_cast<void*>(src), bytes, offset, kind,
                           true, stream, true));
}
HIP_API hipError_t hipMemcpyFromSymbol(void* dst, const void* symbol,
                                       std::size_t bytes, std::size_t offset,
                                       std::uint32_t kind) {
  return Return(
      CopySymbol(symbol, dst, bytes, offset, kind, false, nullptr, false));
}
HIP_API hipError_t hipMemcpyFromSymbolAsync(void* dst, const void* symbol,
                                            std::size_t bytes,
                                            std::size_t offset,
                                            std::uint32_t kind,
                                            hipStream_t stream) {
  return Return(
      CopySymbol(symbol, dst, bytes, offset, kind, false, stream, true));
}
