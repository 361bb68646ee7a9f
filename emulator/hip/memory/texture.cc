// Texture and surface objects: their descriptions are kept and can be asked
// for; a kernel that samples one stops at its image instruction, which the
// emulator does not execute (docs/emulator-coverage.md).
//
// An object is device memory of the size of the descriptors that AMD's
// compiler loads from it (an image's 12 words, a sampler's 8), so that a
// kernel comes as far as that instruction.
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "emulator/hip/memory/array.h"
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;
using cerberus::emulator::MemoryKind;

namespace {

constexpr std::size_t kObjectBytes = 128;

// As the runtime's or the driver's call described it.
template <typename Resource, typename Sampling, typename View>
struct Described {
  using ResourceType = Resource;
  using SamplingType = Sampling;
  using ViewType = View;
  Resource resource;
  Sampling sampling;
  std::optional<View> view;
};
using RuntimeTexture =
    Described<hipResourceDesc, hipTextureDesc, hipResourceViewDesc>;
using DriverTexture =
    Described<HIP_RESOURCE_DESC, HIP_TEXTURE_DESC, HIP_RESOURCE_VIEW_DESC>;

struct State {
  std::mutex mutex;
  std::map<const void*, std::variant<RuntimeTexture, DriverTexture>> textures;
  std::set<const void*> surfaces;
};

State& The() {
  static State* state = new State;
  return *state;
}

constexpr std::size_t kAlignment = 256;  // textureAlignment of the properties

bool Linear(const void* pointer, std::size_t element, std::size_t bytes) {
  return pointer != nullptr && element != 0 && bytes >= element &&
         reinterpret_cast<std::uintptr_t>(pointer) % kAlignment == 0 &&
         Runtime::Get().Find(pointer).has_value();
}

bool Pitched(const void* pointer, std::size_t element, std::size_t width,
             std::size_t height, std::size_t pitch) {
  return Linear(pointer, element, element) && width != 0 && height != 0 &&
         width <= pitch / element && pitch % kAlignment == 0;
}

// The format of what a texture reads, or 0 channels if there is none.
bool Usable(const hipResourceDesc& d, hipChannelFormatDesc* format) {
  switch (d.resType) {
    case hipResourceTypeArray:
      if (!IsArray(d.res.array.array)) return false;
      *format = d.res.array.array->desc;
      return true;
    case hipResourceTypeMipmappedArray:
      if (!IsMipmappedArray(d.res.mipmap.mipmap)) return false;
      *format = d.res.mipmap.mipmap->desc;
      return true;
    case hipResourceTypeLinear:
      *format = d.res.linear.desc;
      return Linear(d.res.linear.devPtr, ElementBytes(*format),
                    d.res.linear.sizeInBytes);
    case hipResourceTypePitch2D:
      *format = d.res.pitch2D.desc;
      return Pitched(d.res.pitch2D.devPtr, ElementBytes(*format),
                     d.res.pitch2D.width, d.res.pitch2D.height,
                     d.res.pitch2D.pitchInBytes);
    default: return false;
  }
}

bool Usable(const HIP_RESOURCE_DESC& d) {
  if (d.flags != 0) return false;
  switch (d.resType) {
    case hipResourceTypeArray: return IsArray(d.res.array.hArray);
    case hipResourceTypeMipmappedArray:
      return IsMipmappedArray(d.res.mipmap.hMipmappedArray);
    case hipResourceTypeLinear:
      return Linear(d.res.linear.devPtr,
                    ElementBytes(d.res.linear.format, d.res.linear.numChannels),
                    d.res.linear.sizeInBytes);
    case hipResourceTypePitch2D:
      return Pitched(
          d.res.pitch2D.devPtr,
          ElementBytes(d.res.pitch2D.format, d.res.pitch2D.numChannels),
          d.res.pitch2D.width, d.res.pitch2D.height,
          d.res.pitch2D.pitchInBytes);
    default: return false;
  }
}

// Addressing, filtering and reading that no texture can have.
bool Usable(const hipTextureDesc& t, const hipChannelFormatDesc& format) {
  for (const std::uint32_t mode : t.addressMode) {
    if (mode > 3) return false;
  }
  if (t.filterMode > 1 || t.mipmapFilterMode > 1 || t.readMode > 1) {
    return false;
  }
  const bool integer = format.f != hipChannelFormatKindFloat;
  // Only 8 and 16 bits are normalised; only floats are filtered.
  if (t.readMode == hipReadModeNormalizedFloat) {
    return !integer || format.x <= 16;
  }
  return !(t.filterMode == 1 && integer);
}

template <typename Handle>
hipError_t NewObject(Handle* out) {
  Gpu* gpu = nullptr;
  const hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  void* memory = nullptr;
  const hipError_t made = Runtime::Get().Allocate(
      gpu, kObjectBytes, MemoryKind::kManaged, 0, &memory);
  *out = static_cast<Handle>(memory);
  return made;
}

template <typename T>
hipError_t Add(hipTextureObject_t* out, T texture) {
  const hipError_t error = NewObject(out);
  if (error != hipSuccess) return error;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.textures[*out] = std::move(texture);
  return hipSuccess;
}

hipError_t Remove(hipTextureObject_t texture) {
  if (texture == nullptr) return hipSuccess;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.textures.erase(texture) == 0) return hipErrorInvalidValue;
  (void)Runtime::Get().Free(texture, "hipDestroyTextureObject");
  return hipSuccess;
}

// A member of the description, if the object was made by the same interface.
template <typename T, typename Member>
hipError_t Ask(hipTextureObject_t texture, Member T::* member, auto* out) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.textures.find(texture);
  if (out == nullptr || found == state.textures.end()) {
    return hipErrorInvalidValue;
  }
  const T* described = std::get_if<T>(&found->second);
  if (described == nullptr) return hipErrorInvalidValue;
  if constexpr (requires { (described->*member).has_value(); }) {
    if (!(described->*member).has_value()) return hipErrorInvalidValue;
    *out = *(described->*member);
  } else {
    *out = described->*member;
  }
  return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipCreateTextureObject(hipTextureObject_t* out,
                                          const hipResourceDesc* resource,
                                          const hipTextureDesc* sampling,
                                          const hipResourceViewDesc* view) {
  hipChannelFormatDesc format;
  if (out == nullptr || resource == nullptr || sampling == nullptr ||
      !Usable(*resource, &format) || !Usable(*sampling, format)) {
    return Return(hipErrorInvalidValue);
  }
  RuntimeTexture made{*resource, *sampling, {}};
  if (view != nullptr) {
    // Only what lies in arrays can be viewed as another format or in part.
    if (resource->resType > hipResourceTypeMipmappedArray) {
      return Return(hipErrorInvalidValue);
    }
    made.view = *view;
  }
  return Return(Add(out, made));
}

HIP_API hipError_t hipTexObjectCreate(hipTextureObject_t* out,
                                      const HIP_RESOURCE_DESC* resource,
                                      const HIP_TEXTURE_DESC* sampling,
                                      const HIP_RESOURCE_VIEW_DESC* view) {
  if (out == nullptr || resource == nullptr || sampling == nullptr ||
      !Usable(*resource) ||
      (view != nullptr && resource->resType > hipResourceTypeMipmappedArray)) {
    return Return(hipErrorInvalidValue);
  }
  DriverTexture made{*resource, *sampling, {}};
  if (view != nullptr) made.view = *view;
  return Return(Add(out, made));
}

HIP_API hipError_t hipDestroyTextureObject(hipTextureObject_t texture) {
  return Return(Remove(texture));
}
HIP_API hipError_t hipTexObjectDestroy(hipTextureObject_t texture) {
  return Return(Remove(texture));
}

HIP_API hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc* out,
                                                   hipTextureObject_t texture) {
  return Return(Ask(texture, &RuntimeTexture::resource, out));
}
HIP_API hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc* out,
                                                  hipTextureObject_t texture) {
  return Return(Ask(texture, &RuntimeTexture::sampling, out));
}
HIP_API hipError_t hipGetTextureObjectResourceViewDesc(
    hipResourceViewDesc* out, hipTextureObject_t texture) {
  return Return(Ask(texture, &RuntimeTexture::view, out));
}
HIP_API hipError_t hipTexObjectGetResourceDesc(HIP_RESOURCE_DESC* out,
                                               hipTextureObject_t texture) {
  return Return(Ask(texture, &DriverTexture::resource, out));
}
HIP_API hipError_t hipTexObjectGetTextureDesc(HIP_TEXTURE_DESC* out,
                                              hipTextureObject_t texture) {
  return Return(Ask(texture, &DriverTexture::sampling, out));
}
HIP_API hipError_t hipTexObjectGetResourceViewDesc(HIP_RESOURCE_VIEW_DESC* out,
                                                   hipTextureObject_t texture) {
  return Return(Ask(texture, &DriverTexture::view, out));
}

// A surface is an array that kernels may write.
HIP_API hipError_t hipCreateSurfaceObject(hipSurfaceObject_t* out,
                                          const hipResourceDesc* resource) {
  if (out == nullptr || resource == nullptr ||
      resource->resType != hipResourceTypeArray ||
      !IsArray(resource->res.array.array)) {
    return Return(hipErrorInvalidValue);
  }
  const hipError_t error = NewObject(out);
  if (error != hipSuccess) return Return(error);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.surfaces.insert(*out);
  return Return(hipSuccess);
}

HIP_API hipError_t hipDestroySurfaceObject(hipSurfaceObject_t surface) {
  if (surface == nullptr) return Return(hipSuccess);
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.surfaces.erase(surface) == 0) return Return(hipErrorInvalidValue);
  (void)Runtime::Get().Free(surface, "hipDestroySurfaceObject");
  return Return(hipSuccess);
}
