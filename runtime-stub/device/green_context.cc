#include "runtime-stub/device/green_context.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "formats/device_attributes.h"
#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/stream/stream.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// CUdevResourceType and flags of cuda.h.
constexpr CUdevResourceType kInvalid = 0;
constexpr CUdevResourceType kSm = 1;
constexpr unsigned kIgnoreCoscheduling = 1;
constexpr unsigned kMaxPotentialCluster = 2;
constexpr unsigned kDefaultStream = 1;
constexpr unsigned kBackfill = 1;
constexpr unsigned kLocalityDomain = 2, kLocalityDomainSupplement = 4;

// What the driver keeps in a CUdevResource's padding.
struct Inside {
  static constexpr std::uint32_t kMagic = 0x53455243;  // "CRES"
  std::uint32_t magic;
  std::int32_t device;
  std::uint64_t split;  // the call that made it; 0: none
  std::uint8_t mask[kMostMultiprocessors / 8];
};
static_assert(sizeof(Inside) <= sizeof(CUdevResource::internal));

struct Resource {
  Device* device = nullptr;
  std::uint64_t split = 0;
  Multiprocessors multiprocessors;
};

CUdevResource Packed(const Resource& resource) {
  CUdevResource out = {};
  out.type = kSm;
  Inside inside = {
      Inside::kMagic, resource.device->ordinal, resource.split, {}};
  for (std::size_t i = 0; i < kMostMultiprocessors; ++i) {
    if (resource.multiprocessors[i]) inside.mask[i / 8] |= 1 << i % 8;
  }
  std::memcpy(out.internal, &inside, sizeof inside);
  out.sm.smCount = static_cast<unsigned>(resource.multiprocessors.count());
  out.sm.minSmPartitionSize = 1;
  out.sm.smCoscheduledAlignment = 1;
  return out;
}

CUdevResource PackedIfAny(const Resource& resource) {
  if (resource.multiprocessors.any()) return Packed(resource);
  CUdevResource none = {};
  none.type = kInvalid;
  return none;
}

CUresult Unpack(const CUdevResource& in, Resource* out) {
  if (in.type != kSm) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  Inside inside;
  std::memcpy(&inside, in.internal, sizeof inside);
  if (inside.magic != Inside::kMagic) return CUDA_ERROR_INVALID_VALUE;
  out->split = inside.split;
  for (std::size_t i = 0; i < kMostMultiprocessors; ++i) {
    out->multiprocessors[i] = (inside.mask[i / 8] >> i % 8 & 1) != 0;
  }
  return FindDevice(inside.device, &out->device);
}

Multiprocessors AllOf(const Device& device) {
  const auto count = static_cast<std::size_t>(
      device.attribute(formats::kAttribute_MULTIPROCESSOR_COUNT));
  Multiprocessors all;
  for (std::size_t i = 0; i < std::min(count, kMostMultiprocessors); ++i) {
    all.set(i);
  }
  return all;
}

// Descriptors live as long as the process: CUDA has no call that frees one.
// Equal ones are the same.
struct Descriptor {
  Device* device;
  Multiprocessors multiprocessors;
};
std::mutex g_mutex;
NeverDestroyed<std::vector<std::unique_ptr<Descriptor>>> g_all_descriptors;
auto& g_descriptors = *g_all_descriptors;

std::atomic<int> g_green_contexts{0};

GreenContext* GreenOf(CUgreenCtx handle) {
  const Context* context = ContextOf(reinterpret_cast<CUcontext>(handle));
  return context != nullptr ? context->green : nullptr;
}

CUresult ResourceOf(const Device& device, const GreenContext* green,
                    CUdevResource* out, CUdevResourceType type) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != kSm) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  Resource resource;
  resource.device = const_cast<Device*>(&device);
  resource.multiprocessors =
      green != nullptr ? green->multiprocessors : AllOf(device);
  *out = Packed(resource);
  return CUDA_SUCCESS;
}

std::atomic<std::uint64_t> g_next_split{1};

}  // namespace

bool IsGreen(CUcontext handle) {
  return g_green_contexts.load() != 0 &&
         GreenOf(reinterpret_cast<CUgreenCtx>(handle)) != nullptr;
}

hipError_t CreateGreenStream(const GreenContext& green, hipStream_t* stream) {
  std::uint32_t mask[kMostMultiprocessors / 32] = {};
  std::uint32_t words = 0;
  for (std::size_t i = 0; i < kMostMultiprocessors; ++i) {
    if (!green.multiprocessors[i]) continue;
    mask[i / 32] |= 1u << i % 32;
    words = static_cast<std::uint32_t>(i / 32 + 1);
  }
  return hip.hipExtStreamCreateWithCUMask(stream, words, mask);
}

namespace api {

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* out,
                                CUdevResourceType type) {
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  return ResourceOf(*device, nullptr, out, type);
}
CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* out,
                             CUdevResourceType type) {
  const Context* context = ContextOf(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return ResourceOf(*context->device, context->green, out, type);
}
CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource* out,
                                  CUdevResourceType type) {
  const GreenContext* green = GreenOf(handle);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return ResourceOf(*green->context->device, green, out, type);
}

CUresult cuStreamGetDevResource(CUstream stream, CUdevResource* out,
                                CUdevResourceType type) {
  CUcontext context = nullptr;
  if (CUresult r = cuStreamGetCtx(stream, &context); r != CUDA_SUCCESS) {
    return r;
  }
  return cuCtxGetDevResource(context, out, type);
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups,
                                     const CUdevResource* input,
                                     CUdevResource* remaining, unsigned flags,
                                     unsigned least) {
  if (groups == nullptr || input == nullptr ||
      (flags & ~(kIgnoreCoscheduling | kMaxPotentialCluster)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Resource whole;
  if (CUresult r = Unpack(*input, &whole); r != CUDA_SUCCESS) return r;
  if (whole.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const std::size_t count = whole.multiprocessors.count();
  if (least > count) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t each = std::max(least, 1u);
  const auto possible = static_cast<unsigned>(count / each);
  if (result == nullptr) {
    *groups = possible;
    return CUDA_SUCCESS;
  }
  *groups = std::min(*groups, possible);
  const std::uint64_t split = g_next_split.fetch_add(1);
  Resource part = {whole.device, split, {}};
  unsigned made = 0;
  for (std::size_t i = 0; i < kMostMultiprocessors && made < *groups; ++i) {
    if (!whole.multiprocessors[i]) continue;
    part.multiprocessors.set(i);
    if (part.multiprocessors.count() < each) continue;
    result[made++] = Packed(part);
    whole.multiprocessors &= ~part.multiprocessors;
    part.multiprocessors.reset();
  }
  if (remaining != nullptr) {
    whole.split = split;
    *remaining = PackedIfAny(whole);
  }
  return CUDA_SUCCESS;
}

// Multiprocessors of an AMD GPU are scheduled one by one, so that any count of
// them may be asked for as a unit; it has no locality domains.
CUresult cuDevSmResourceSplit(CUdevResource* result, unsigned groups,
                              const CUdevResource* input,
                              CUdevResource* remaining, unsigned flags,
                              CU_DEV_SM_RESOURCE_GROUP_PARAMS* params) {
  if (groups == 0 || input == nullptr || params == nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Resource whole;
  if (CUresult r = Unpack(*input, &whole); r != CUDA_SUCCESS) return r;
  whole.split = g_next_split.fetch_add(1);
  for (unsigned i = 0; i < groups; ++i) {
    CU_DEV_SM_RESOURCE_GROUP_PARAMS& group = params[i];
    if ((group.flags &
         ~(kBackfill | kLocalityDomain | kLocalityDomainSupplement)) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto left = static_cast<unsigned>(whole.multiprocessors.count());
    const unsigned unit = std::max(group.coscheduledSmCount, 1u);
    const bool backfill = (group.flags & kBackfill) != 0;
    unsigned count = group.smCount;
    if (count == 0) count = backfill ? left : left / unit * unit;
    if ((group.flags & kLocalityDomain) != 0 || count > left ||
        (!backfill && count % unit != 0) ||
        (result != nullptr && count < unit)) {
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    }
    group.smCount = count;
    Resource part = {whole.device, whole.split, {}};
    for (std::size_t j = 0; part.multiprocessors.count() < count; ++j) {
      if (!whole.multiprocessors[j]) continue;
      part.multiprocessors.set(j);
      whole.multiprocessors.reset(j);
    }
    if (result == nullptr) continue;
    result[i] = Packed(part);
    result[i].sm.smCoscheduledAlignment = backfill ? 1 : unit;
    result[i].sm.flags = group.flags;
  }
  if (remaining != nullptr) *remaining = PackedIfAny(whole);
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* out,
                                   CUdevResource* resources, unsigned count) {
  if (out == nullptr || resources == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Resource all;
  for (unsigned i = 0; i < count; ++i) {
    Resource one;
    if (CUresult r = Unpack(resources[i], &one); r != CUDA_SUCCESS) return r;
    if (i != 0 && (one.device != all.device || one.split != all.split)) {
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    }
    one.multiprocessors |= all.multiprocessors;
    all = one;
  }
  std::lock_guard<std::mutex> lock(g_mutex);
  for (const auto& known : g_descriptors) {
    if (known->device == all.device &&
        known->multiprocessors == all.multiprocessors) {
      *out = reinterpret_cast<CUdevResourceDesc>(known.get());
      return CUDA_SUCCESS;
    }
  }
  g_descriptors.push_back(std::make_unique<Descriptor>(
      Descriptor{all.device, all.multiprocessors}));
  *out = reinterpret_cast<CUdevResourceDesc>(g_descriptors.back().get());
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc handle,
                          CUdevice ordinal, unsigned flags) {
  // Before CUDA 13.3 the default stream had to be asked for. It is there in
  // any case.
  if (out == nullptr || flags > kDefaultStream) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Device* device = nullptr;
  if (CUresult r = FindDevice(ordinal, &device); r != CUDA_SUCCESS) return r;
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = std::find_if(
      g_descriptors.begin(), g_descriptors.end(),
      [handle](const std::unique_ptr<Descriptor>& known) {
        return reinterpret_cast<CUdevResourceDesc>(known.get()) == handle;
      });
  if (at == g_descriptors.end()) return CUDA_ERROR_INVALID_VALUE;
  if ((*at)->device != device) return CUDA_ERROR_INVALID_DEVICE;
  auto green = std::make_unique<GreenContext>();
  green->multiprocessors = (*at)->multiprocessors;
  green->context = NewContext(device, 0);
  green->context->green = green.get();
  g_green_contexts.fetch_add(1);
  *out = green.release()->handle();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  GreenContext* green = GreenOf(handle);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  green->context->green = nullptr;
  const CUresult result = cuCtxDestroy_v2(green->context->handle());
  delete green;
  g_green_contexts.fetch_sub(1);
  return result;
}

CUresult cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GreenContext* green = GreenOf(handle);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *out = green->context->handle();
  return CUDA_SUCCESS;
}
CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GreenContext* green = GreenOf(handle);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *id = green->context->id;
  return CUDA_SUCCESS;
}
CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event) {
  const GreenContext* green = GreenOf(handle);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return cuCtxRecordEvent(green->context->handle(), event);
}
CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event) {
  const GreenContext* green = GreenOf(handle);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return cuCtxWaitEvent(green->context->handle(), event);
}

// No context is bound to a part of the GPU by NVIDIA's MPS, so that it has all
// multiprocessors, or those of the green context.
CUresult cuCtxGetExecAffinity(CUexecAffinityParam* out,
                              CUexecAffinityType type) {
  constexpr CUexecAffinityType kSmCount = 0;
  if (out == nullptr || type != kSmCount) return CUDA_ERROR_INVALID_VALUE;
  CERB_CONTEXT(context);
  CUdevResource resource;
  ResourceOf(*context->device, context->green, &resource, kSm);
  out->type = kSmCount;
  out->smCount = resource.sm.smCount;
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
