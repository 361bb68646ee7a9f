// Fills: a pattern over a box of rows.
#include <cstring>

#include "emulator/hip/memory/copy.h"
#include "emulator/hip/runtime.h"
#include "support/bytes.h"

namespace cerberus::emulator::hip {

void Fill::Run() const {
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

namespace {

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

}  // namespace
}  // namespace cerberus::emulator::hip

using namespace cerberus::emulator::hip;

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
