#include "emulator/hip/memory/array.h"

#include <bit>
#include <set>

#include "emulator/hip/runtime.h"
#include "support/bytes.h"

namespace cerberus::emulator::hip {
namespace {

struct Format {
  std::uint32_t number;
  int bits;
  std::uint32_t kind;
};
constexpr Format kFormats[] = {
    {HIP_AD_FORMAT_UNSIGNED_INT8, 8, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_UNSIGNED_INT16, 16, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_UNSIGNED_INT32, 32, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_SIGNED_INT8, 8, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_SIGNED_INT16, 16, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_SIGNED_INT32, 32, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_HALF, 16, hipChannelFormatKindFloat},
    {HIP_AD_FORMAT_FLOAT, 32, hipChannelFormatKindFloat},
};

// Channels of a description: 1, 2 or 4 of the same width, else 0.
unsigned Channels(const hipChannelFormatDesc& d) {
  if (d.x == 0) return 0;
  const bool y = d.y == d.x, z = d.z == d.x, w = d.w == d.x;
  if (y && z && w) return 4;
  if (d.z != 0 || d.w != 0) return 0;
  return y ? 2 : d.y == 0 ? 1 : 0;
}

const Format* FormatOf(const hipChannelFormatDesc& d) {
  if (Channels(d) == 0) return nullptr;
  for (const Format& format : kFormats) {
    if (format.bits == d.x && format.kind == d.f) return &format;
  }
  return nullptr;
}

bool DescOf(std::uint32_t number, unsigned channels,
            hipChannelFormatDesc* out) {
  if (channels != 1 && channels != 2 && channels != 4) return false;
  for (const Format& format : kFormats) {
    if (format.number != number) continue;
    const int second = channels > 1 ? format.bits : 0;
    const int others = channels > 2 ? format.bits : 0;
    *out = {format.bits, second, others, others, format.kind};
    return true;
  }
  return false;
}

struct State {
  std::mutex mutex;
  std::set<const hipArray*> arrays;  // levels of mipmapped arrays, too
  std::set<const hipMipmappedArray*> mipmapped;
};

State& The() {
  static State* state = new State;
  return *state;
}

// The rules of hipMalloc3DArray: a dimension needs those before it, unless
// the third counts layers; a cube has six square faces per layer.
bool Shaped(const hipExtent& e, unsigned flags) {
  constexpr unsigned kKnown = hipArrayLayered | hipArraySurfaceLoadStore |
                              hipArrayCubemap | hipArrayTextureGather;
  constexpr std::size_t kMost = 1u << 30;
  if ((flags & ~kKnown) != 0 || e.width == 0 || e.width > kMost ||
      e.height > kMost || e.depth > kMost) {
    return false;
  }
  const bool layered = (flags & hipArrayLayered) != 0;
  if ((flags & hipArrayCubemap) != 0) {
    return e.width == e.height && e.depth != 0 &&
           (layered ? e.depth % 6 == 0 : e.depth == 6);
  }
  if (layered) return e.depth != 0;
  return e.height != 0 || e.depth == 0;
}

std::optional<std::uint64_t> Bytes(const hipExtent& e, std::size_t element) {
  const std::optional<std::uint64_t> row = CheckedMul(e.width, element);
  const std::optional<std::uint64_t> slice =
      row ? CheckedMul(*row, std::max<std::size_t>(e.height, 1)) : std::nullopt;
  return slice ? CheckedMul(*slice, std::max<std::size_t>(e.depth, 1))
               : std::nullopt;
}

std::unique_ptr<hipArray> NewArray(const hipChannelFormatDesc& desc,
                                   const hipExtent& e, unsigned flags,
                                   int device, bool driver) {
  std::unique_ptr<hipArray> array = std::make_unique<hipArray>();
  array->desc = desc;
  array->width = static_cast<unsigned>(e.width);
  array->height = static_cast<unsigned>(e.height);
  array->depth = static_cast<unsigned>(e.depth);
  array->Format = FormatOf(desc)->number;
  array->NumChannels = Channels(desc);
  array->isDrv = driver;
  array->flags = flags;
  array->device = device;
  return array;
}

hipError_t Make(hipArray_t* out, const hipChannelFormatDesc& desc,
                const hipExtent& extent, unsigned flags, bool driver) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  if (out == nullptr || FormatOf(desc) == nullptr || !Shaped(extent, flags)) {
    return hipErrorInvalidValue;
  }
  const std::optional<std::uint64_t> bytes = Bytes(extent, ElementBytes(desc));
  if (!bytes) return hipErrorOutOfMemory;
  std::unique_ptr<hipArray> array =
      NewArray(desc, extent, flags, gpu->ordinal, driver);
  error = Runtime::Get().Allocate(gpu, *bytes, MemoryKind::kDevice, 0,
                                  &array->data);
  if (error != hipSuccess) return error;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  *out = array.release();
  state.arrays.insert(*out);
  return hipSuccess;
}

hipError_t MakeMipmapped(hipMipmappedArray_t* out,
                         const hipChannelFormatDesc& desc, hipExtent extent,
                         unsigned levels, unsigned flags, bool driver) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  if (out == nullptr || FormatOf(desc) == nullptr || !Shaped(extent, flags)) {
    return hipErrorInvalidValue;
  }
  // As many levels as halving the largest dimension gives, at most.
  const bool layers = (flags & (hipArrayLayered | hipArrayCubemap)) != 0;
  const std::size_t largest = std::max(
      {extent.width, extent.height, layers ? std::size_t{0} : extent.depth});
  levels =
      std::clamp(levels, 1u, static_cast<unsigned>(std::bit_width(largest)));
  auto made = std::make_unique<hipMipmappedArray>();
  made->desc = desc;
  made->width = static_cast<unsigned>(extent.width);
  made->height = static_cast<unsigned>(extent.height);
  made->depth = static_cast<unsigned>(extent.depth);
  made->max_mipmap_level = levels - 1;
  made->flags = flags;
  made->format = FormatOf(desc)->number;
  made->device = gpu->ordinal;
  std::uint64_t total = 0;
  std::vector<std::uint64_t> offsets;
  const auto half = [](std::size_t n) {
    return n == 0 ? n : std::max<std::size_t>(n / 2, 1);
  };
  for (unsigned i = 0; i < levels; ++i) {
    const std::optional<std::uint64_t> bytes =
        Bytes(extent, ElementBytes(desc));
    if (!bytes || *bytes > ~std::uint64_t{0} / 4 - total) {
      return hipErrorOutOfMemory;
    }
    made->levels.push_back(NewArray(desc, extent, flags, gpu->ordinal, driver));
    made->levels.back()->level_of = made.get();
    offsets.push_back(total);
    total += AlignUp(*bytes, 256);
    extent = {half(extent.width), half(extent.height),
              layers ? extent.depth : half(extent.depth)};
  }
  error =
      Runtime::Get().Allocate(gpu, total, MemoryKind::kDevice, 0, &made->data);
  if (error != hipSuccess) return error;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (unsigned i = 0; i < levels; ++i) {
    made->levels[i]->data = static_cast<char*>(made->data) + offsets[i];
    state.arrays.insert(made->levels[i].get());
  }
  *out = made.release();
  state.mipmapped.insert(*out);
  return hipSuccess;
}

// Frees wait for all work of the device, as hipFree does.
hipError_t FreeArray(hipArray_t array) {
  State& state = The();
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.arrays.count(array) == 0 || array->level_of != nullptr) {
      return hipErrorInvalidValue;
    }
    state.arrays.erase(array);
  }
  Runtime::Get().gpu(array->device)->Synchronize();
  const hipError_t error = Runtime::Get().Free(array->data, "hipFreeArray");
  delete array;
  return error;
}

hipError_t FreeMipmapped(hipMipmappedArray_t array) {
  State& state = The();
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.mipmapped.erase(array) == 0) return hipErrorInvalidValue;
    for (const std::unique_ptr<hipArray>& level : array->levels) {
      state.arrays.erase(level.get());
    }
  }
  Runtime::Get().gpu(array->device)->Synchronize();
  const hipError_t error =
      Runtime::Get().Free(array->data, "hipFreeMipmappedArray");
  delete array;
  return error;
}

hipError_t LevelOf(hipArray_t* out, hipMipmappedArray_const_t array,
                   unsigned level) {
  if (out == nullptr || !IsMipmappedArray(array) ||
      level >= array->levels.size()) {
    return hipErrorInvalidValue;
  }
  *out = array->levels[level].get();
  return hipSuccess;
}

}  // namespace

bool IsArray(hipArray_const_t array) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.arrays.count(array) != 0;
}

bool IsMipmappedArray(hipMipmappedArray_const_t array) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.mipmapped.count(array) != 0;
}

std::size_t ElementBytes(const hipChannelFormatDesc& desc) {
  const Format* format = FormatOf(desc);
  return format == nullptr
             ? 0
             : static_cast<std::size_t>(format->bits) / 8 * Channels(desc);
}

std::size_t ElementBytes(std::uint32_t format, unsigned channels) {
  hipChannelFormatDesc desc;
  return DescOf(format, channels, &desc) ? ElementBytes(desc) : 0;
}

void ForgetArrays(Gpu* gpu) {
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  std::erase_if(state.mipmapped, [&](const hipMipmappedArray* array) {
    if (array->device != gpu->ordinal) return false;
    for (const std::unique_ptr<hipArray>& level : array->levels) {
      state.arrays.erase(level.get());
    }
    delete array;
    return true;
  });
  std::erase_if(state.arrays, [&](const hipArray* array) {
    if (array->device != gpu->ordinal) return false;
    delete array;
    return true;
  });
}

}  // namespace cerberus::emulator::hip

std::size_t hipArray::element() const {
  return cerberus::emulator::hip::ElementBytes(desc);
}

using namespace cerberus::emulator::hip;

HIP_API hipError_t hipMallocArray(hipArray_t* out,
                                  const hipChannelFormatDesc* desc,
                                  std::size_t width, std::size_t height,
                                  unsigned flags) {
  if (desc == nullptr) return Return(hipErrorInvalidValue);
  return Return(Make(out, *desc, {width, height, 0}, flags, false));
}

HIP_API hipError_t hipMalloc3DArray(hipArray_t* out,
                                    const hipChannelFormatDesc* desc,
                                    hipExtent extent, unsigned flags) {
  if (desc == nullptr) return Return(hipErrorInvalidValue);
  return Return(Make(out, *desc, extent, flags, false));
}

HIP_API hipError_t hipArrayCreate(hipArray_t* out,
                                  const HIP_ARRAY_DESCRIPTOR* d) {
  hipChannelFormatDesc desc;
  if (d == nullptr || !DescOf(d->Format, d->NumChannels, &desc)) {
    return Return(hipErrorInvalidValue);
  }
  return Return(Make(out, desc, {d->Width, d->Height, 0}, 0, true));
}

HIP_API hipError_t hipArray3DCreate(hipArray_t* out,
                                    const HIP_ARRAY3D_DESCRIPTOR* d) {
  hipChannelFormatDesc desc;
  if (d == nullptr || !DescOf(d->Format, d->NumChannels, &desc)) {
    return Return(hipErrorInvalidValue);
  }
  return Return(
      Make(out, desc, {d->Width, d->Height, d->Depth}, d->Flags, true));
}

HIP_API hipError_t hipFreeArray(hipArray_t array) {
  return Return(array == nullptr ? hipSuccess : FreeArray(array));
}
HIP_API hipError_t hipArrayDestroy(hipArray_t array) {
  return Return(FreeArray(array));
}

HIP_API hipError_t hipArrayGetInfo(hipChannelFormatDesc* desc,
                                   hipExtent* extent, unsigned* flags,
                                   hipArray_t array) {
  if (!IsArray(array)) return Return(hipErrorInvalidHandle);
  if (desc != nullptr) *desc = array->desc;
  if (extent != nullptr) *extent = {array->width, array->height, array->depth};
  if (flags != nullptr) *flags = array->flags;
  return Return(hipSuccess);
}

HIP_API hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR* out,
                                         hipArray_t array) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  if (!IsArray(array)) return Return(hipErrorInvalidHandle);
  *out = {array->width, array->height, array->Format, array->NumChannels};
  return Return(hipSuccess);
}

HIP_API hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR* out,
                                           hipArray_t array) {
  if (out == nullptr) return Return(hipErrorInvalidValue);
  if (!IsArray(array)) return Return(hipErrorInvalidHandle);
  *out = {array->width,  array->height,      array->depth,
          array->Format, array->NumChannels, array->flags};
  return Return(hipSuccess);
}

HIP_API hipError_t hipGetChannelDesc(hipChannelFormatDesc* desc,
                                     hipArray_const_t array) {
  if (desc == nullptr || !IsArray(array)) return Return(hipErrorInvalidValue);
  *desc = array->desc;
  return Return(hipSuccess);
}

HIP_API hipError_t hipMallocMipmappedArray(hipMipmappedArray_t* out,
                                           const hipChannelFormatDesc* desc,
                                           hipExtent extent, unsigned levels,
                                           unsigned flags) {
  if (desc == nullptr) return Return(hipErrorInvalidValue);
  return Return(MakeMipmapped(out, *desc, extent, levels, flags, false));
}

HIP_API hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t* out,
                                           const HIP_ARRAY3D_DESCRIPTOR* d,
                                           unsigned levels) {
  hipChannelFormatDesc desc;
  if (d == nullptr || !DescOf(d->Format, d->NumChannels, &desc)) {
    return Return(hipErrorInvalidValue);
  }
  return Return(MakeMipmapped(out, desc, {d->Width, d->Height, d->Depth},
                              levels, d->Flags, true));
}

HIP_API hipError_t hipFreeMipmappedArray(hipMipmappedArray_t array) {
  return Return(array == nullptr ? hipSuccess : FreeMipmapped(array));
}
HIP_API hipError_t hipMipmappedArrayDestroy(hipMipmappedArray_t array) {
  return Return(FreeMipmapped(array));
}

HIP_API hipError_t hipGetMipmappedArrayLevel(hipArray_t* out,
                                             hipMipmappedArray_const_t array,
                                             unsigned level) {
  return Return(LevelOf(out, array, level));
}
HIP_API hipError_t hipMipmappedArrayGetLevel(hipArray_t* out,
                                             hipMipmappedArray_t array,
                                             unsigned level) {
  return Return(LevelOf(out, array, level));
}
