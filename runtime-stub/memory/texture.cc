// A texture or surface object's handle is the device address of a descriptor
// (docs/texture-descriptor.md), which code compiled by ptxc reads.
#include "runtime-stub/memory/texture.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "formats/texture_descriptor.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/memory/array.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

using formats::TextureDescriptor;
using formats::TextureLevel;

constexpr int kFilterLinear = 1;

// What is kept of an object, for the questions a program may ask.
struct Object {
  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC texture = {};
  CUDA_RESOURCE_VIEW_DESC view = {};
  bool has_view = false;
  Context* context = nullptr;
  std::size_t bytes = 0;  // of the descriptor and level records behind it
};
std::mutex g_mutex;
NeverDestroyed<std::map<unsigned long long, Object>> g_all_objects;
// The handles that were destroyed last.
std::array<unsigned long long, 256> g_destroyed = {};
std::size_t g_next_destroyed = 0;
auto& g_objects = *g_all_objects;

void DescribeArray(const Array& array, TextureDescriptor* out) {
  const CUDA_ARRAY3D_DESCRIPTOR& d = array.descriptor;
  out->base = reinterpret_cast<std::uintptr_t>(array.memory);
  out->extent[0] = static_cast<std::uint32_t>(d.Width);
  out->extent[1] = static_cast<std::uint32_t>(array.rows());
  const bool layered =
      (d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const auto slices = static_cast<std::uint32_t>(array.slices());
  out->extent[2] = layered ? 1 : slices;
  out->layers = layered ? slices : 1;
  out->row_bytes = array.pitch;
  out->slice_bytes = array.slice_bytes();
  out->format = static_cast<std::uint32_t>(d.Format);
  out->channels = d.NumChannels;
}

// Fills what the resource says; `records` gets a mipmap's levels.
CUresult DescribeResource(const CUDA_RESOURCE_DESC& resource,
                          TextureDescriptor* out,
                          std::vector<TextureLevel>* records) {
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
      const Array* array = ArrayOf(resource.res.array.hArray);
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      DescribeArray(*array, out);
      return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      const MipmappedArray* mipmap =
          MipmappedArrayOf(resource.res.mipmap.hMipmappedArray);
      if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      DescribeArray(*mipmap->levels.front(), out);
      out->levels = static_cast<std::uint32_t>(mipmap->levels.size());
      for (const Array* level : mipmap->levels) {
        TextureDescriptor d;
        DescribeArray(*level, &d);
        records->push_back({d.base,
                            {d.extent[0], d.extent[1], d.extent[2]},
                            0,
                            d.row_bytes,
                            d.slice_bytes});
      }
      return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = resource.res.linear;
      const std::size_t element =
          ElementBytes(linear.format, linear.numChannels);
      if (element == 0 || linear.devPtr == 0) return CUDA_ERROR_INVALID_VALUE;
      out->base = linear.devPtr;
      out->extent[0] = static_cast<std::uint32_t>(linear.sizeInBytes / element);
      out->row_bytes = out->slice_bytes = linear.sizeInBytes;
      out->format = static_cast<std::uint32_t>(linear.format);
      out->channels = linear.numChannels;
      return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& area = resource.res.pitch2D;
      if (ElementBytes(area.format, area.numChannels) == 0 ||
          area.devPtr == 0) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      out->base = area.devPtr;
      out->extent[0] = static_cast<std::uint32_t>(area.width);
      out->extent[1] = static_cast<std::uint32_t>(area.height);
      out->row_bytes = area.pitchInBytes;
      out->slice_bytes = area.pitchInBytes * area.height;
      out->format = static_cast<std::uint32_t>(area.format);
      out->channels = area.numChannels;
      return CUDA_SUCCESS;
    }
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

// The texels of a part of an array, or read in another format of the same
// size.
CUresult ApplyView(const CUDA_RESOURCE_VIEW_DESC& view, TextureDescriptor* out,
                   std::vector<TextureLevel>* records) {
  constexpr std::uint32_t kFormats[] = {
      CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,
      CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
      CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
      CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
  if (view.format < 0) return CUDA_ERROR_INVALID_VALUE;
  if (view.format != 0) {
    const auto kind = static_cast<std::size_t>(view.format - 1) / 3;
    if (kind >= std::size(kFormats)) {
      Log(LogLevel::kError,
          "a resource view in a block-compressed format is not supported");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    const std::uint32_t channels = 1u << ((view.format - 1) % 3);
    if (ElementBytes(CUarray_format(kFormats[kind]), channels) !=
        ElementBytes(CUarray_format(out->format), out->channels)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    out->format = kFormats[kind];
    out->channels = channels;
  }
  if (view.firstMipmapLevel > view.lastMipmapLevel ||
      view.lastMipmapLevel >= out->levels || view.firstLayer > view.lastLayer ||
      view.lastLayer >= out->layers) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!records->empty()) {
    records->resize(view.lastMipmapLevel + 1);
    records->erase(records->begin(), records->begin() + view.firstMipmapLevel);
    const TextureLevel& first = records->front();
    out->base = first.base;
    out->extent[0] = first.extent[0];
    out->extent[1] = first.extent[1];
    out->extent[2] = first.extent[2];
    out->row_bytes = first.row_bytes;
    out->slice_bytes = first.slice_bytes;
    out->levels = static_cast<std::uint32_t>(records->size());
  }
  const auto is_extent = [](std::size_t asked, std::uint32_t there) {
    return asked == there || (asked == 0 && there == 1);
  };
  if (!is_extent(view.width, out->extent[0]) ||
      !is_extent(view.height, out->extent[1]) ||
      !is_extent(view.depth, out->extent[2])) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out->base += view.firstLayer * out->slice_bytes;
  for (TextureLevel& record : *records) {
    record.base += view.firstLayer * record.slice_bytes;
  }
  out->layers = view.lastLayer - view.firstLayer + 1;
  return CUDA_SUCCESS;
}

void DescribeSampling(const CUDA_TEXTURE_DESC& texture, bool linear_memory,
                      TextureDescriptor* out) {
  const bool integers_only = out->format == CU_AD_FORMAT_UNSIGNED_INT32 ||
                             out->format == CU_AD_FORMAT_SIGNED_INT32;
  if ((texture.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0) {
    out->flags |= formats::kNormalized;
  }
  if (texture.filterMode == kFilterLinear) out->flags |= formats::kLinear;
  if ((texture.flags & CU_TRSF_READ_AS_INTEGER) != 0 || integers_only) {
    out->flags |= formats::kAsInteger;
  }
  if ((texture.flags & CU_TRSF_SRGB) != 0) out->flags |= formats::kSrgb;
  if (texture.mipmapFilterMode == kFilterLinear) {
    out->flags |= formats::kMipLinear;
  }
  for (int i = 0; i < 3; ++i) {
    out->addressing[i] = static_cast<std::uint32_t>(texture.addressMode[i]);
  }
  std::memcpy(out->border, texture.borderColor, sizeof out->border);
  if (linear_memory) {
    // Outside of linear memory texels read as zero (CUDA Programming Guide,
    // "Linear Memory" of texture memory).
    for (std::uint32_t& mode : out->addressing) mode = formats::kBorder;
    std::memset(out->border, 0, sizeof out->border);
    out->flags &= ~unsigned{formats::kLinear | formats::kNormalized};
  }
  out->bias = texture.mipmapLevelBias;
  out->least_lod = texture.minMipmapLevelClamp;
  out->greatest_lod = texture.maxMipmapLevelClamp;
}

CUresult CreateObject(const CUDA_RESOURCE_DESC& resource,
                      const CUDA_TEXTURE_DESC& texture, bool sampled,
                      const CUDA_RESOURCE_VIEW_DESC* view,
                      unsigned long long* out) {
  CERB_CONTEXT(context);
  TextureDescriptor descriptor;
  std::vector<TextureLevel> records;
  CUresult result = DescribeResource(resource, &descriptor, &records);
  if (result == CUDA_SUCCESS && view != nullptr) {
    result = ApplyView(*view, &descriptor, &records);
  }
  if (result != CUDA_SUCCESS) return result;
  if (sampled) {
    DescribeSampling(texture, resource.resType == CU_RESOURCE_TYPE_LINEAR,
                     &descriptor);
  }
  const std::size_t record_bytes = records.size() * sizeof(TextureLevel);
  std::vector<std::uint8_t> content(sizeof descriptor + record_bytes);
  CUdeviceptr address = 0;
  result = TakeDescriptor(context, content.size(), &address);
  if (result != CUDA_SUCCESS) return result;
  if (!records.empty()) {
    descriptor.level_records = address + sizeof descriptor;
    std::memcpy(content.data() + sizeof descriptor, records.data(),
                record_bytes);
  }
  std::memcpy(content.data(), &descriptor, sizeof descriptor);
  result = WriteDescriptor(context, address, content.data(), content.size());
  if (result != CUDA_SUCCESS) {
    ReleaseDescriptor(context, content.size(), address);
    return result;
  }
  std::lock_guard<std::mutex> lock(g_mutex);
  g_objects[address] = {resource,
                        texture,
                        view != nullptr ? *view : CUDA_RESOURCE_VIEW_DESC{},
                        view != nullptr,
                        context,
                        content.size()};
  *out = address;
  return CUDA_SUCCESS;
}

CUresult DestroyObject(unsigned long long handle) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_objects.find(handle);
  if (at == g_objects.end()) {
    // Twice is once: SiftGPU's copies of an object each destroy it, and the
    // error that it looks for then does not come from NVIDIA's driver.
    const bool twice =
        handle != 0 &&
        std::count(g_destroyed.begin(), g_destroyed.end(), handle) != 0;
    return twice ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  const Object& object = at->second;
  if (CUresult r = UseContext(object.context); r != CUDA_SUCCESS) return r;
  ReleaseDescriptor(object.context, object.bytes, handle);
  g_objects.erase(at);
  g_destroyed[g_next_destroyed++ % g_destroyed.size()] = handle;
  return CUDA_SUCCESS;
}

CUresult FindObject(unsigned long long handle, Object* out) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_objects.find(handle);
  if (at == g_objects.end()) return CUDA_ERROR_INVALID_VALUE;
  *out = at->second;
  return CUDA_SUCCESS;
}

}  // namespace

void DropTextures(Context* context) {
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    std::erase_if(g_objects, [context](const auto& object) {
      return object.second.context == context;
    });
  }
  DropDescriptors(context);
}

namespace api {

CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* texture,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  if (out == nullptr || resource == nullptr || texture == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Of linear memory there is no other view (Driver API, cuTexObjectCreate).
  if (view != nullptr && resource->resType != CU_RESOURCE_TYPE_ARRAY &&
      resource->resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CreateObject(*resource, *texture, true, view, out);
}
CUresult cuTexObjectDestroy(CUtexObject object) {
  return DestroyObject(object);
}
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out,
                                    CUtexObject handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Object object;
  const CUresult result = FindObject(handle, &object);
  if (result == CUDA_SUCCESS) *out = object.resource;
  return result;
}
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Object object;
  const CUresult result = FindObject(handle, &object);
  if (result == CUDA_SUCCESS) *out = object.texture;
  return result;
}
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out,
                                        CUtexObject handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Object object;
  if (CUresult r = FindObject(handle, &object); r != CUDA_SUCCESS) return r;
  if (!object.has_view) return CUDA_ERROR_INVALID_VALUE;
  *out = object.view;
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject* out,
                            const CUDA_RESOURCE_DESC* resource) {
  if (out == nullptr || resource == nullptr ||
      resource->resType != CU_RESOURCE_TYPE_ARRAY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CreateObject(*resource, {}, false, nullptr, out);
}
CUresult cuSurfObjectDestroy(CUsurfObject object) {
  return DestroyObject(object);
}
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out,
                                     CUsurfObject handle) {
  return cuTexObjectGetResourceDesc(out, handle);
}

}  // namespace api
}  // namespace cerberus::stub
