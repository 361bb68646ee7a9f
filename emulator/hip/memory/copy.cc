// How copies are described, checked and run. The calls are in
// hip/memory/copy_api.cc.
#include "emulator/hip/memory/copy.h"

#include <cstring>

#include "emulator/hip/memory/array.h"
#include "emulator/hip/runtime.h"
#include "support/bytes.h"

namespace cerberus::emulator::hip {
namespace {

std::size_t Reach(std::size_t width, std::size_t height, std::size_t depth,
                  std::size_t pitch, std::size_t slice) {
  const std::optional<std::uint64_t> slices = CheckedMul(depth - 1, slice);
  const std::optional<std::uint64_t> rows = CheckedMul(height - 1, pitch);
  const std::optional<std::uint64_t> both =
      slices && rows ? CheckedAdd(*slices, *rows) : std::nullopt;
  const std::optional<std::uint64_t> all =
      both ? CheckedAdd(*both, width) : std::nullopt;
  return all.value_or(~std::size_t{0});
}

// Where the corner of a place is, and the steps to its rows and slices.
hipError_t Locate(const Place& place, const hipExtent& extent,
                  std::uint8_t** corner, std::size_t* pitch,
                  std::size_t* slice) {
  const auto fits = [](std::size_t at, std::size_t count, std::size_t limit) {
    return at <= limit && count <= limit - at;
  };
  std::size_t rows = place.height;
  const void* memory = place.pointer;
  if (place.array != nullptr) {
    const hipArray* array = place.array;
    if (!IsArray(array) || place.side == Side::kHost ||
        !fits(place.x, extent.width, array->pitch()) ||
        !fits(place.y, extent.height, array->rows()) ||
        !fits(place.z, extent.depth, std::max(array->depth, 1u))) {
      return hipErrorInvalidValue;
    }
    memory = array->data;
    *pitch = array->pitch();
    rows = array->rows();
  } else {
    if (memory == nullptr) return hipErrorInvalidValue;
    *pitch = place.pitch != 0 ? place.pitch : place.x + extent.width;
    if (!fits(place.x, extent.width, *pitch)) return hipErrorInvalidPitchValue;
    if (rows == 0) rows = place.y + extent.height;
  }
  const std::optional<std::uint64_t> step = CheckedMul(*pitch, rows);
  if (!step || !CheckedMul(*step, place.z + 1) ||
      !CheckedMul(*pitch, place.y + 1)) {
    return hipErrorInvalidValue;
  }
  *slice = *step;
  *corner = static_cast<std::uint8_t*>(const_cast<void*>(memory)) +
            place.z * *slice + place.y * *pitch + place.x;
  return hipSuccess;
}

// The side that a hipMemoryType of the caller's HIP version names.
bool SetType(std::uint32_t type, const void* host, void* device,
             hipArray_t array, Place* out) {
  enum { kUnregistered, kHost, kDevice, kArray, kUnified, kManaged };
  constexpr std::uint32_t kNone = ~0u;  // version 5 has no unregistered
  constexpr std::uint32_t kOld[] = {kNone, 0, 1, 2, 3, 4};
  constexpr std::uint32_t kNew[] = {
      hipMemoryTypeUnregistered, hipMemoryTypeHost,    hipMemoryTypeDevice,
      hipMemoryTypeArray,        hipMemoryTypeUnified, hipMemoryTypeManaged};
  const std::uint32_t (&numbers)[6] = ApiMajor() < 6 ? kOld : kNew;
  if (type == numbers[kHost] || type == numbers[kUnregistered]) {
    out->side = Side::kHost;
    out->pointer = const_cast<void*>(host);
  } else if (type == numbers[kDevice] || type == numbers[kManaged]) {
    out->side = Side::kDevice;
    out->pointer = device;
  } else if (type == numbers[kUnified]) {
    out->pointer = device;
  } else if (type == numbers[kArray] && array != nullptr) {
    out->array = array;
  } else {
    return false;
  }
  return true;
}

// hip_Memcpy2D and both layouts of HIP_MEMCPY3D name their members alike.
template <typename Params>
hipError_t FromDriver(const Params* p, Copy3D* out) {
  if (p == nullptr) return hipErrorInvalidValue;
  Place from, to;
  if (!SetType(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray,
               &from) ||
      !SetType(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, &to)) {
    return hipErrorInvalidValue;
  }
  from.pitch = p->srcPitch;
  from.x = p->srcXInBytes;
  from.y = p->srcY;
  to.pitch = p->dstPitch;
  to.x = p->dstXInBytes;
  to.y = p->dstY;
  hipExtent extent = {p->WidthInBytes, p->Height, 1};
  if constexpr (requires { p->Depth; }) {
    if (p->srcLOD != 0 || p->dstLOD != 0) return hipErrorInvalidValue;
    from.height = p->srcHeight;
    from.z = p->srcZ;
    to.height = p->dstHeight;
    to.z = p->dstZ;
    extent.depth = p->Depth;
  }
  const hipError_t error = MakeCopy(from, to, extent, out);
  // The driver's calls have one word for every bad number.
  return error == hipErrorInvalidPitchValue ? hipErrorInvalidValue : error;
}

}  // namespace

std::size_t Copy3D::src_bytes() const {
  return Reach(width, height, depth, src_pitch, src_slice);
}
std::size_t Copy3D::dst_bytes() const {
  return Reach(width, height, depth, dst_pitch, dst_slice);
}

void Copy3D::Run() const {
  if (empty()) return;
  MarkWritten(dst, dst_bytes());
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

hipError_t MakeCopy(const Place& from, const Place& to, hipExtent extent,
                    Copy3D* out) {
  *out = {};
  out->src_side = from.side;
  out->dst_side = to.side;
  out->width = extent.width;
  out->height = extent.height;
  out->depth = extent.depth;
  if (out->empty()) return hipSuccess;
  std::uint8_t* src = nullptr;
  hipError_t error =
      Locate(from, extent, &src, &out->src_pitch, &out->src_slice);
  if (error != hipSuccess) return error;
  out->src = src;
  return Locate(to, extent, &out->dst, &out->dst_pitch, &out->dst_slice);
}

hipError_t SetSides(std::uint32_t kind, Place* from, Place* to) {
  switch (kind) {
    case hipMemcpyHostToHost:
      from->side = to->side = Side::kHost;
      return hipSuccess;
    case hipMemcpyHostToDevice:
      from->side = Side::kHost;
      to->side = Side::kDevice;
      return hipSuccess;
    case hipMemcpyDeviceToHost:
      from->side = Side::kDevice;
      to->side = Side::kHost;
      return hipSuccess;
    case hipMemcpyDeviceToDevice:
    case hipMemcpyDeviceToDeviceNoCU:
      from->side = to->side = Side::kDevice;
      return hipSuccess;
    case hipMemcpyDefault:
      from->side = to->side = Side::kAny;
      return hipSuccess;
    default: return hipErrorInvalidMemcpyDirection;
  }
}

hipError_t CopyOf(void* dst, const void* src, std::size_t bytes,
                  std::uint32_t kind, Copy3D* out) {
  Place from, to;
  const hipError_t error = SetSides(kind, &from, &to);
  if (error != hipSuccess) return error;
  from.pointer = const_cast<void*>(src);
  to.pointer = dst;
  return MakeCopy(from, to, {bytes, 1, 1}, out);
}

// Positions in an array and, where one takes part, the extent's width count
// its elements; positions in memory count bytes.
hipError_t CopyOf(const hipMemcpy3DParms* p, Copy3D* out) {
  if (p == nullptr) return hipErrorInvalidValue;
  Place from, to;
  const hipError_t error = SetSides(p->kind, &from, &to);
  if (error != hipSuccess) return error;
  std::size_t element = 1;
  const auto set = [&element](hipArray_t array, const hipPitchedPtr& memory,
                              const hipPos& at, Place* place) {
    if ((array != nullptr) == (memory.ptr != nullptr)) return false;
    place->x = at.x;
    place->y = at.y;
    place->z = at.z;
    if (array == nullptr) {
      place->pointer = memory.ptr;
      place->pitch = memory.pitch;
      place->height = memory.ysize;
      return true;
    }
    if (!IsArray(array)) return false;
    const std::size_t size = array->element();
    if (at.x > array->width) return false;
    element = size;
    place->array = array;
    place->x = at.x * size;
    return true;
  };
  const hipExtent& e = p->extent;
  if (e.width == 0 || e.height == 0 || e.depth == 0) {
    *out = {};
    return hipSuccess;
  }
  if (!set(p->srcArray, p->srcPtr, p->srcPos, &from) ||
      !set(p->dstArray, p->dstPtr, p->dstPos, &to)) {
    return hipErrorInvalidValue;
  }
  if (p->srcArray != nullptr && p->dstArray != nullptr &&
      p->srcArray->element() != p->dstArray->element()) {
    return hipErrorInvalidValue;
  }
  if ((p->srcArray == nullptr && p->srcPtr.pitch == 0) ||
      (p->dstArray == nullptr && p->dstPtr.pitch == 0)) {
    return hipErrorInvalidPitchValue;
  }
  const std::optional<std::uint64_t> width = CheckedMul(e.width, element);
  if (!width) return hipErrorInvalidValue;
  return MakeCopy(from, to, {*width, e.height, e.depth}, out);
}

hipError_t CopyOf(const hipMemcpy3DPeerParms* p, Copy3D* out) {
  if (p == nullptr) return hipErrorInvalidValue;
  if (Runtime::Get().gpu(p->srcDevice) == nullptr ||
      Runtime::Get().gpu(p->dstDevice) == nullptr) {
    return hipErrorInvalidDevice;
  }
  const hipMemcpy3DParms params = {
      p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
      p->dstPos,   p->dstPtr, p->extent, hipMemcpyDeviceToDevice};
  return CopyOf(&params, out);
}

hipError_t CopyOf(const hip_Memcpy2D* params, Copy3D* out) {
  return FromDriver(params, out);
}

hipError_t CopyOfDriver3D(const void* params, Copy3D* out) {
  return ApiMajor() < 6
             ? FromDriver(static_cast<const HipMemcpy3DV5*>(params), out)
             : FromDriver(static_cast<const HIP_MEMCPY3D*>(params), out);
}

// Memory the runtime knows must hold all the bytes, and a device side must
// be such memory. Host memory is the program's own.
hipError_t CheckSide(const void* pointer, std::size_t bytes, Side side,
                     bool* pageable) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  std::optional<Block> block = Runtime::Get().Find(pointer);
  *pageable = !block;
  if (!block) {
    return side == Side::kDevice ? hipErrorInvalidValue : hipSuccess;
  }
  if (block->kind == MemoryKind::kRegistered) return hipSuccess;
  // Mappings side by side are one range (hipMemMap); other memory has gaps.
  const std::uint64_t begin = reinterpret_cast<std::uint64_t>(pointer);
  while (bytes > block->address + block->size - begin) {
    const std::uint64_t end = block->address + block->size;
    block = Runtime::Get().Find(reinterpret_cast<const void*>(end));
    if (!block || block->address != end) return hipErrorInvalidValue;
  }
  return hipSuccess;
}

hipError_t CheckCopy(const Copy3D& copy, bool* src_pageable,
                     bool* dst_pageable) {
  const hipError_t error =
      CheckSide(copy.src, copy.src_bytes(), copy.src_side, src_pageable);
  if (error != hipSuccess) return error;
  return CheckSide(copy.dst, copy.dst_bytes(), copy.dst_side, dst_pageable);
}

// From and to pageable memory an asynchronous copy behaves as CUDA's and
// HIP's do: the source is read before the call returns, a destination is
// written before it returns.
hipError_t DoCopy(Copy3D copy, hipStream_t handle, bool async) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  std::shared_ptr<Stream> stream = Runtime::Get().FindStream(handle);
  if (!stream) return hipErrorInvalidHandle;
  if (copy.empty()) return hipSuccess;
  bool src_pageable = false, dst_pageable = false;
  error = CheckCopy(copy, &src_pageable, &dst_pageable);
  if (error != hipSuccess) return error;

  const bool capturing = IsCapturing(stream);
  if (!async || (dst_pageable && !capturing)) {
    if (capturing) return hipErrorStreamCaptureUnsupported;
    stream->RunHere([&copy] { copy.Run(); });
    return stream->gpu()->sticky;
  }
  Work work = CopyWork(copy);
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
  }
  stream->Submit(std::move(work));
  return hipSuccess;
}

}  // namespace cerberus::emulator::hip
