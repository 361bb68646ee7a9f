#include "runtime-stub/memory/texture_reference.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/memory/array.h"
#include "runtime-stub/module/module.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// A `.texref` or `.surfref` variable is 8 bytes that hold the handle of a
// texture or surface object (docs/texture-descriptor.md). A reference keeps
// what the program set, and makes a new object of it at each change.
struct Reference {
  const Module* module = nullptr;  // null: from cuTexRefCreate
  std::string name;
  bool surface = false;
  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC texture = {};
  CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8;
  int channels = 1;
  bool bound = false;
  CUtexObject object = 0;
};

std::mutex g_mutex;
NeverDestroyed<std::vector<std::unique_ptr<Reference>>> g_all_references;
auto& g_references = *g_all_references;

// Null unless the handle is a reference's, of that kind.
Reference* ReferenceOf(const void* handle, bool surface) {
  for (const auto& reference : g_references) {
    if (reference.get() == handle && reference->surface == surface) {
      return reference.get();
    }
  }
  return nullptr;
}

CUresult DestroyObjectOf(Reference* reference) {
  const CUtexObject old = reference->object;
  reference->object = 0;
  if (old == 0) return CUDA_SUCCESS;
  return reference->surface ? api::cuSurfObjectDestroy(old)
                            : api::cuTexObjectDestroy(old);
}

// Makes the variable say what the reference says.
CUresult Publish(Reference* reference) {
  if (!reference->bound || reference->module == nullptr) return CUDA_SUCCESS;
  Module* module = Module::Of(reference->module);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Context* context = nullptr;
  if (CUresult r = UseModule(*module, &context); r != CUDA_SUCCESS) return r;
  const CurrentContextScope scope(context);
  if (scope.result() != CUDA_SUCCESS) return scope.result();
  CUdeviceptr variable = 0;
  CUresult result =
      module->GetGlobal(context, reference->name.c_str(), &variable, nullptr);
  if (result != CUDA_SUCCESS) return result;
  CUtexObject object = 0;
  result = reference->surface
               ? api::cuSurfObjectCreate(&object, &reference->resource)
               : api::cuTexObjectCreate(&object, &reference->resource,
                                        &reference->texture, nullptr);
  if (result != CUDA_SUCCESS) return result;
  result = api::cuMemcpyHtoD_v2(variable, &object, sizeof object);
  if (result == CUDA_SUCCESS) result = DestroyObjectOf(reference);
  reference->object = object;
  return result;
}

CUresult GetReference(void** out, CUmodule handle, const char* name,
                      bool surface) {
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Module* module = Module::Of(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Context* context = nullptr;
  if (CUresult r = UseModule(*module, &context); r != CUDA_SUCCESS) return r;
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  CUresult result = module->GetGlobal(context, name, &variable, &bytes);
  if (result != CUDA_SUCCESS) return result;
  if (bytes != sizeof(CUtexObject)) return CUDA_ERROR_NOT_FOUND;
  std::lock_guard<std::mutex> lock(g_mutex);
  for (const auto& reference : g_references) {
    if (reference->module == module && reference->name == name) {
      if (reference->surface != surface) return CUDA_ERROR_NOT_FOUND;
      *out = reference.get();
      return CUDA_SUCCESS;
    }
  }
  auto made = std::make_unique<Reference>();
  made->module = module;
  made->name = name;
  made->surface = surface;
  *out = made.get();
  g_references.push_back(std::move(made));
  return CUDA_SUCCESS;
}

// Runs `change` on the reference and then publishes it.
template <typename Change>
CUresult Set(const void* handle, bool surface, Change change) {
  std::lock_guard<std::mutex> lock(g_mutex);
  Reference* reference = ReferenceOf(handle, surface);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult r = change(*reference); r != CUDA_SUCCESS) return r;
  return Publish(reference);
}
template <typename Change>
CUresult SetState(CUtexref handle, Change change) {
  return Set(handle, false, [&](Reference& reference) {
    change(reference);
    return CUDA_SUCCESS;
  });
}

template <typename Read>
CUresult Get(const void* handle, bool surface, Read read) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const Reference* reference = ReferenceOf(handle, surface);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return read(*reference);
}
// `out` gets what `field` says.
template <typename Out, typename Field>
CUresult GetState(CUtexref handle, Out* out, Field field) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Get(handle, false, [&](const Reference& reference) {
    *out = field(reference);
    return CUDA_SUCCESS;
  });
}

CUresult BindArray(const void* handle, bool surface, CUarray array) {
  return Set(handle, surface, [&](Reference& reference) {
    const Array* bound = ArrayOf(array);
    if (bound == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    reference.resource = {};
    reference.resource.resType = CU_RESOURCE_TYPE_ARRAY;
    reference.resource.res.array.hArray = array;
    reference.format = bound->descriptor.Format;
    reference.channels = static_cast<int>(bound->descriptor.NumChannels);
    reference.bound = true;
    return CUDA_SUCCESS;
  });
}

CUresult GetArray(CUarray* out, const void* handle, bool surface) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Get(handle, surface, [&](const Reference& reference) {
    if (!reference.bound ||
        reference.resource.resType != CU_RESOURCE_TYPE_ARRAY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *out = reference.resource.res.array.hArray;
    return CUDA_SUCCESS;
  });
}

bool IsDimension(int dimension) { return dimension >= 0 && dimension < 3; }

}  // namespace

void ForgetReferences(const Module* module) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto of_module = [&](const std::unique_ptr<Reference>& reference) {
    if (reference->module != module) return false;
    DestroyObjectOf(reference.get());
    return true;
  };
  g_references.erase(
      std::remove_if(g_references.begin(), g_references.end(), of_module),
      g_references.end());
}

namespace api {

CUresult cuModuleGetTexRef(CUtexref* out, CUmodule module, const char* name) {
  return GetReference(reinterpret_cast<void**>(out), module, name, false);
}
CUresult cuModuleGetSurfRef(CUsurfref* out, CUmodule module, const char* name) {
  return GetReference(reinterpret_cast<void**>(out), module, name, true);
}

CUresult cuTexRefCreate(CUtexref* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(g_mutex);
  g_references.push_back(std::make_unique<Reference>());
  *out = reinterpret_cast<CUtexref>(g_references.back().get());
  return CUDA_SUCCESS;
}
CUresult cuTexRefDestroy(CUtexref handle) {
  std::lock_guard<std::mutex> lock(g_mutex);
  Reference* reference = ReferenceOf(handle, false);
  // Those of a module go with it.
  if (reference == nullptr || reference->module != nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  g_references.erase(
      std::find_if(g_references.begin(), g_references.end(),
                   [&](const auto& each) { return each.get() == reference; }));
  return CUDA_SUCCESS;
}
// A reference of the kernel's module is available to it without being asked
// for, as CUDA 4 made it.
CUresult cuParamSetTexRef(CUfunction function, int unit, CUtexref handle) {
  const Kernel* kernel = KernelOf(function);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (unit != CU_PARAM_TR_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
  return Get(handle, false, [&](const Reference& reference) {
    return reference.module == kernel->module ? CUDA_SUCCESS
                                              : CUDA_ERROR_INVALID_VALUE;
  });
}

// --- what a reference reads ---

// The format is the array's: CU_TRSA_OVERRIDE_FORMAT has to say so.
CUresult cuTexRefSetArray(CUtexref handle, CUarray array, unsigned flags) {
  if (flags != CU_TRSA_OVERRIDE_FORMAT) return CUDA_ERROR_INVALID_VALUE;
  return BindArray(handle, false, array);
}
CUresult cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray mipmap,
                                   unsigned flags) {
  if (flags != CU_TRSA_OVERRIDE_FORMAT) return CUDA_ERROR_INVALID_VALUE;
  return Set(handle, false, [&](Reference& reference) {
    if (MipmappedArrayOf(mipmap) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    reference.resource = {};
    reference.resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    reference.resource.res.mipmap.hMipmappedArray = mipmap;
    reference.bound = true;
    return CUDA_SUCCESS;
  });
}
// Any address will do for sampling in software, so the offset is 0.
CUresult cuTexRefSetAddress_v2(std::size_t* offset, CUtexref handle,
                               CUdeviceptr address, std::size_t bytes) {
  const CUresult result = Set(handle, false, [&](Reference& reference) {
    if (address == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    reference.resource = {};
    reference.resource.resType = CU_RESOURCE_TYPE_LINEAR;
    auto& linear = reference.resource.res.linear;
    linear.devPtr = address;
    linear.format = reference.format;
    linear.numChannels = static_cast<unsigned>(reference.channels);
    linear.sizeInBytes = bytes;
    reference.bound = true;
    return CUDA_SUCCESS;
  });
  if (result == CUDA_SUCCESS && offset != nullptr) *offset = 0;
  return result;
}
CUresult cuTexRefSetAddress2D_v3(CUtexref handle,
                                 const CUDA_ARRAY_DESCRIPTOR* descriptor,
                                 CUdeviceptr address, std::size_t pitch) {
  if (descriptor == nullptr || address == 0) return CUDA_ERROR_INVALID_VALUE;
  return Set(handle, false, [&](Reference& reference) {
    reference.resource = {};
    reference.resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    auto& area = reference.resource.res.pitch2D;
    area.devPtr = address;
    area.format = descriptor->Format;
    area.numChannels = descriptor->NumChannels;
    area.width = descriptor->Width;
    area.height = descriptor->Height;
    area.pitchInBytes = pitch;
    reference.format = descriptor->Format;
    reference.channels = static_cast<int>(descriptor->NumChannels);
    reference.bound = true;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetAddress2D_v2(CUtexref handle,
                                 const CUDA_ARRAY_DESCRIPTOR* descriptor,
                                 CUdeviceptr address, std::size_t pitch) {
  return cuTexRefSetAddress2D_v3(handle, descriptor, address, pitch);
}
CUresult cuTexRefSetFormat(CUtexref handle, CUarray_format format,
                           int channels) {
  if (ElementBytes(format, static_cast<unsigned>(channels)) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return SetState(handle, [&](Reference& reference) {
    reference.format = format;
    reference.channels = channels;
    if (reference.resource.resType == CU_RESOURCE_TYPE_LINEAR) {
      reference.resource.res.linear.format = format;
      reference.resource.res.linear.numChannels =
          static_cast<unsigned>(channels);
    }
  });
}

CUresult cuTexRefGetArray(CUarray* out, CUtexref handle) {
  return GetArray(out, handle, false);
}
CUresult cuTexRefGetMipmappedArray(CUmipmappedArray* out, CUtexref handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Get(handle, false, [&](const Reference& reference) {
    if (!reference.bound ||
        reference.resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *out = reference.resource.res.mipmap.hMipmappedArray;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefGetAddress_v2(CUdeviceptr* out, CUtexref handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Get(handle, false, [&](const Reference& reference) {
    if (!reference.bound) return CUDA_ERROR_INVALID_VALUE;
    switch (reference.resource.resType) {
      case CU_RESOURCE_TYPE_LINEAR:
        *out = reference.resource.res.linear.devPtr;
        return CUDA_SUCCESS;
      case CU_RESOURCE_TYPE_PITCH2D:
        *out = reference.resource.res.pitch2D.devPtr;
        return CUDA_SUCCESS;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}
CUresult cuTexRefGetFormat(CUarray_format* format, int* channels,
                           CUtexref handle) {
  return Get(handle, false, [&](const Reference& reference) {
    if (format != nullptr) *format = reference.format;
    if (channels != nullptr) *channels = reference.channels;
    return CUDA_SUCCESS;
  });
}

// --- how a reference samples ---

CUresult cuTexRefSetAddressMode(CUtexref handle, int dimension,
                                CUaddress_mode mode) {
  if (!IsDimension(dimension) || mode < 0 || mode > 3) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return SetState(handle, [&](Reference& reference) {
    reference.texture.addressMode[dimension] = mode;
  });
}
CUresult cuTexRefGetAddressMode(CUaddress_mode* out, CUtexref handle,
                                int dimension) {
  if (!IsDimension(dimension)) return CUDA_ERROR_INVALID_VALUE;
  return GetState(handle, out, [&](const Reference& reference) {
    return reference.texture.addressMode[dimension];
  });
}
CUresult cuTexRefSetFlags(CUtexref handle, unsigned flags) {
  return SetState(handle, [&](Reference& r) { r.texture.flags = flags; });
}
CUresult cuTexRefGetFlags(unsigned* out, CUtexref handle) {
  return GetState(handle, out,
                  [](const Reference& r) { return r.texture.flags; });
}
CUresult cuTexRefSetFilterMode(CUtexref handle, CUfilter_mode mode) {
  return SetState(handle, [&](Reference& r) { r.texture.filterMode = mode; });
}
CUresult cuTexRefGetFilterMode(CUfilter_mode* out, CUtexref handle) {
  return GetState(handle, out,
                  [](const Reference& r) { return r.texture.filterMode; });
}
CUresult cuTexRefSetMipmapFilterMode(CUtexref handle, CUfilter_mode mode) {
  return SetState(handle,
                  [&](Reference& r) { r.texture.mipmapFilterMode = mode; });
}
CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode* out, CUtexref handle) {
  return GetState(handle, out, [](const Reference& r) {
    return r.texture.mipmapFilterMode;
  });
}
CUresult cuTexRefSetMipmapLevelBias(CUtexref handle, float bias) {
  return SetState(handle,
                  [&](Reference& r) { r.texture.mipmapLevelBias = bias; });
}
CUresult cuTexRefGetMipmapLevelBias(float* out, CUtexref handle) {
  return GetState(handle, out,
                  [](const Reference& r) { return r.texture.mipmapLevelBias; });
}
CUresult cuTexRefSetMipmapLevelClamp(CUtexref handle, float least,
                                     float greatest) {
  return SetState(handle, [&](Reference& reference) {
    reference.texture.minMipmapLevelClamp = least;
    reference.texture.maxMipmapLevelClamp = greatest;
  });
}
CUresult cuTexRefGetMipmapLevelClamp(float* least, float* greatest,
                                     CUtexref handle) {
  if (least == nullptr || greatest == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Get(handle, false, [&](const Reference& reference) {
    *least = reference.texture.minMipmapLevelClamp;
    *greatest = reference.texture.maxMipmapLevelClamp;
    return CUDA_SUCCESS;
  });
}
CUresult cuTexRefSetMaxAnisotropy(CUtexref handle, unsigned ratio) {
  return SetState(handle,
                  [&](Reference& r) { r.texture.maxAnisotropy = ratio; });
}
CUresult cuTexRefGetMaxAnisotropy(int* out, CUtexref handle) {
  return GetState(handle, out, [](const Reference& reference) {
    return static_cast<int>(reference.texture.maxAnisotropy);
  });
}
CUresult cuTexRefSetBorderColor(CUtexref handle, float* colour) {
  if (colour == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetState(handle, [&](Reference& reference) {
    std::copy(colour, colour + 4, reference.texture.borderColor);
  });
}
CUresult cuTexRefGetBorderColor(float* out, CUtexref handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Get(handle, false, [&](const Reference& reference) {
    std::copy(reference.texture.borderColor, reference.texture.borderColor + 4,
              out);
    return CUDA_SUCCESS;
  });
}

CUresult cuSurfRefSetArray(CUsurfref handle, CUarray array, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return BindArray(handle, true, array);
}
CUresult cuSurfRefGetArray(CUarray* out, CUsurfref handle) {
  return GetArray(out, handle, true);
}

}  // namespace api
}  // namespace cerberus::stub
