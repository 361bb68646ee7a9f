#include "runtime-stub/memory/array.h"

#include <algorithm>
#include <memory>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "support/bytes.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

// Rows start at cache lines.
constexpr std::size_t kPitchAlignment = 256;

CUresult CheckDescriptor(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  if (d.Width == 0) return CUDA_ERROR_INVALID_VALUE;
  if (ElementBytes(d.Format, d.NumChannels) == 0) {
    Log(LogLevel::kError,
        "a CUDA array of format 0x%x with %u channels is not supported",
        d.Format, d.NumChannels);
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const bool cubemap = (d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
  if (cubemap && (d.Width != d.Height || d.Depth % 6 != 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  // Three dimensions need the second; layers of one dimension do not.
  if (d.Depth != 0 && d.Height == 0 && !layered) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult CreateArray(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, Array** out) {
  if (CUresult r = CheckDescriptor(descriptor); r != CUDA_SUCCESS) return r;
  CERB_CONTEXT(context);
  auto array = std::make_unique<Array>();
  array->context = context;
  array->descriptor = descriptor;
  const auto row =
      CheckedMul(descriptor.Width,
                 ElementBytes(descriptor.Format, descriptor.NumChannels));
  const auto padded = row ? CheckedAdd(*row, kPitchAlignment - 1) : row;
  if (!padded) return CUDA_ERROR_OUT_OF_MEMORY;
  array->pitch = *padded / kPitchAlignment * kPitchAlignment;
  const auto slice = CheckedMul(array->pitch, array->rows());
  const auto bytes = slice ? CheckedMul(*slice, array->slices()) : slice;
  if (!bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* memory = nullptr;
  const hipError_t error = hip.hipMalloc(&memory, *bytes);
  if (error != hipSuccess) return NoteResult(context, error);
  array->memory = static_cast<std::uint8_t*>(memory);
  *out = array.release();
  return CUDA_SUCCESS;
}

CUresult FreeArray(Array* array) {
  Context* context = array->context;
  if (CUresult r = UseContext(context); r != CUDA_SUCCESS) return r;
  const hipError_t error = hip.hipFree(array->memory);
  array->alive = 0;
  delete array;
  return NoteResult(context, error);
}

// One level up a mipmap: half of each side, at least 1. Layers stay.
std::size_t Half(std::size_t side) {
  return side == 0 ? 0 : std::max<std::size_t>(side / 2, 1);
}

}  // namespace

std::size_t ElementBytes(CUarray_format format, unsigned channels) {
  if (channels != 1 && channels != 2 && channels != 4) return 0;
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2 * std::size_t{channels};
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4 * std::size_t{channels};
    default: return 0;
  }
}

std::size_t Array::row_bytes() const {
  return descriptor.Width *
         ElementBytes(descriptor.Format, descriptor.NumChannels);
}

Array* ArrayOf(CUarray handle) {
  auto* array = reinterpret_cast<Array*>(handle);
  return array != nullptr && array->alive == Array::kAlive ? array : nullptr;
}

MipmappedArray* MipmappedArrayOf(CUmipmappedArray handle) {
  auto* array = reinterpret_cast<MipmappedArray*>(handle);
  return array != nullptr && array->alive == MipmappedArray::kAlive ? array
                                                                    : nullptr;
}

namespace api {

CUresult cuArray3DCreate_v2(CUarray* out,
                            const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  if (out == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Array* array = nullptr;
  const CUresult result = CreateArray(*descriptor, &array);
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<CUarray>(array);
  return result;
}
CUresult cuArrayCreate_v2(CUarray* out,
                          const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR full = {};
  full.Width = descriptor->Width;
  full.Height = descriptor->Height;
  full.Format = descriptor->Format;
  full.NumChannels = descriptor->NumChannels;
  return cuArray3DCreate_v2(out, &full);
}

CUresult cuArrayDestroy(CUarray handle) {
  Array* array = ArrayOf(handle);
  if (array == nullptr || !array->owns_memory) return CUDA_ERROR_INVALID_HANDLE;
  return FreeArray(array);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out,
                                   CUarray handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Array* array = ArrayOf(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *out = array->descriptor;
  return CUDA_SUCCESS;
}
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Array* array = ArrayOf(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  out->Width = array->descriptor.Width;
  out->Height = array->descriptor.Height;
  out->Format = array->descriptor.Format;
  out->NumChannels = array->descriptor.NumChannels;
  return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                      CUarray handle, CUdevice ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  const Array* array = ArrayOf(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *out = {};
  out->size = array->slice_bytes() * array->slices();
  out->alignment = kPitchAlignment;
  return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayGetMemoryRequirements(
    CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUmipmappedArray handle,
    CUdevice ordinal) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  const MipmappedArray* mipmap = MipmappedArrayOf(handle);
  if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *out = {};
  for (const Array* level : mipmap->levels) {
    out->size += level->slice_bytes() * level->slices();
  };
  out->alignment = kPitchAlignment;
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* out,
                                const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                unsigned levels) {
  if (out == nullptr || descriptor == nullptr || levels == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto mipmap = std::make_unique<MipmappedArray>();
  CUDA_ARRAY3D_DESCRIPTOR level = *descriptor;
  const bool layered =
      (level.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  for (unsigned i = 0; i < levels; ++i) {
    Array* array = nullptr;
    const CUresult result = CreateArray(level, &array);
    if (result != CUDA_SUCCESS) {
      for (Array* made : mipmap->levels) FreeArray(made);
      return result;
    }
    array->owns_memory = false;
    mipmap->levels.push_back(array);
    const bool smallest =
        level.Width == 1 && level.Height <= 1 && (layered || level.Depth <= 1);
    if (smallest) break;  // CUDA clamps the number of levels the same way
    level.Width = Half(level.Width);
    level.Height = Half(level.Height);
    if (!layered) level.Depth = Half(level.Depth);
  }
  *out = reinterpret_cast<CUmipmappedArray>(mipmap.release());
  return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle,
                                  unsigned level) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MipmappedArray* mipmap = MipmappedArrayOf(handle);
  if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (level >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUarray>(mipmap->levels[level]);
  return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  MipmappedArray* mipmap = MipmappedArrayOf(handle);
  if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = CUDA_SUCCESS;
  for (Array* level : mipmap->levels) {
    const CUresult freed = FreeArray(level);
    if (result == CUDA_SUCCESS) result = freed;
  }
  mipmap->alive = 0;
  delete mipmap;
  return result;
}

}  // namespace api
}  // namespace cerberus::stub
