// Managed memory. Host and devices see the same bytes at any time, so that
// advice and prefetching change nothing but what can be asked about them.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

namespace {

constexpr int kHost = -1;     // hipCpuDeviceId
constexpr int kNowhere = -2;  // hipInvalidDeviceId

// hipMemoryAdvise.
enum : std::uint32_t {
  kSetReadMostly = 1,
  kUnsetReadMostly = 2,
  kSetPreferred = 3,
  kUnsetPreferred = 4,
  kSetAccessedBy = 5,
  kUnsetAccessedBy = 6,
  kSetCoarseGrain = 100,
  kUnsetCoarseGrain = 101,
};
// hipMemRangeAttribute.
enum : std::uint32_t {
  kReadMostly = 1,
  kPreferred = 2,
  kAccessedBy = 3,
  kLastPrefetch = 4,
  kCoherency = 100,
};

struct Advice {
  bool read_mostly = false, coarse = false;
  int preferred = kNowhere, prefetched = kNowhere;
  std::set<int> accessed_by;
};

// Of one allocation: what holds from an offset on, up to the next.
struct Advised {
  std::uint64_t address;
  std::map<std::uint64_t, Advice> from = {{0, {}}};

  // Makes `at` a place where advice may change.
  std::map<std::uint64_t, Advice>::iterator Split(std::uint64_t at) {
    return from.emplace(at, std::prev(from.upper_bound(at))->second).first;
  }
};

struct State {
  std::mutex mutex;
  std::map<std::uint64_t, Advised> blocks;  // by Block::id
};

State& The() {
  static State* state = new State;
  return *state;
}

bool IsPlace(int device) {
  return device == kHost || Runtime::Get().gpu(device) != nullptr;
}

// Calls `edit` with the advice of each part of a range, under the lock.
template <typename Edit>
hipError_t ForRange(const void* pointer, std::size_t size, Edit edit) {
  const std::optional<Block> block = Runtime::Get().Find(pointer);
  if (!block || size == 0) return hipErrorInvalidValue;
  const std::uint64_t begin =
      reinterpret_cast<std::uint64_t>(pointer) - block->address;
  if (size > block->size - begin) return hipErrorInvalidValue;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  // Allocations that are gone take their advice with them.
  std::erase_if(state.blocks, [](const auto& entry) {
    const std::optional<Block> now =
        Runtime::Get().Find(reinterpret_cast<void*>(entry.second.address));
    return !now || now->id != entry.first;
  });
  Advised& advised =
      state.blocks.try_emplace(block->id, Advised{block->address})
          .first->second;
  advised.Split(begin + size);
  for (auto at = advised.Split(begin);
       at != advised.from.end() && at->first < begin + size; ++at) {
    edit(at->second);
  }
  return hipSuccess;
}

hipError_t Advise(const void* pointer, std::size_t size, std::uint32_t advice,
                  int device) {
  const bool places = advice == kSetPreferred || advice == kSetAccessedBy ||
                      advice == kUnsetAccessedBy;
  if (places && !IsPlace(device)) return hipErrorInvalidDevice;
  if (advice != kSetCoarseGrain && advice != kUnsetCoarseGrain &&
      (advice < kSetReadMostly || advice > kUnsetAccessedBy)) {
    return hipErrorInvalidValue;
  }
  return ForRange(pointer, size, [advice, device](Advice& a) {
    switch (advice) {
      case kSetReadMostly:
      case kUnsetReadMostly: a.read_mostly = advice == kSetReadMostly; break;
      case kSetPreferred: a.preferred = device; break;
      case kUnsetPreferred: a.preferred = kNowhere; break;
      case kSetAccessedBy: a.accessed_by.insert(device); break;
      case kUnsetAccessedBy: a.accessed_by.erase(device); break;
      default: a.coarse = advice == kSetCoarseGrain; break;
    }
  });
}

// One answer for the whole range; where parts differ, the one that promises
// nothing.
hipError_t AskRange(void* data, std::size_t bytes, std::uint32_t attribute,
                    const void* pointer, std::size_t size) {
  const bool list = attribute == kAccessedBy;
  if (data == nullptr || bytes < sizeof(int) || bytes % sizeof(int) != 0 ||
      (!list && bytes != sizeof(int)) ||
      (attribute != kCoherency &&
       (attribute < kReadMostly || attribute > kLastPrefetch))) {
    return hipErrorInvalidValue;
  }
  bool first = true;
  Advice common;
  bool mixed = false;
  const hipError_t error = ForRange(pointer, size, [&](const Advice& a) {
    if (first) {
      common = a;
      first = false;
      return;
    }
    common.read_mostly = common.read_mostly && a.read_mostly;
    if (common.preferred != a.preferred) common.preferred = kNowhere;
    if (common.prefetched != a.prefetched) common.prefetched = kNowhere;
    mixed = mixed || common.coarse != a.coarse;
    std::erase_if(common.accessed_by, [&a](int device) {
      return a.accessed_by.count(device) == 0;
    });
  });
  if (error != hipSuccess) return error;
  std::vector<int> out(bytes / sizeof(int), kNowhere);
  switch (attribute) {
    case kReadMostly: out[0] = common.read_mostly; break;
    case kPreferred: out[0] = common.preferred; break;
    case kLastPrefetch: out[0] = common.prefetched; break;
    case kCoherency: out[0] = mixed ? 2 : common.coarse ? 1 : 0; break;
    default: {
      std::size_t at = 0;
      for (const int device : common.accessed_by) {
        if (at < out.size()) out[at++] = device;
      }
      break;
    }
  }
  std::memcpy(data, out.data(), bytes);
  return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipMemPrefetchAsync(const void* pointer, std::size_t size,
                                       int device, hipStream_t handle) {
  std::shared_ptr<Stream> stream;
  const hipError_t error = CurrentStream(handle, &stream);
  if (error != hipSuccess) return Return(error);
  if (!IsPlace(device)) return Return(hipErrorInvalidDevice);
  return Return(
      ForRange(pointer, size, [device](Advice& a) { a.prefetched = device; }));
}

HIP_API hipError_t hipMemAdvise(const void* pointer, std::size_t size,
                                std::uint32_t advice, int device) {
  return Return(Advise(pointer, size, advice, device));
}

HIP_API hipError_t hipMemRangeGetAttribute(void* data, std::size_t bytes,
                                           std::uint32_t attribute,
                                           const void* pointer,
                                           std::size_t size) {
  return Return(AskRange(data, bytes, attribute, pointer, size));
}

HIP_API hipError_t hipMemRangeGetAttributes(void** data, std::size_t* bytes,
                                            std::uint32_t* attributes,
                                            std::size_t count,
                                            const void* pointer,
                                            std::size_t size) {
  if (data == nullptr || bytes == nullptr || attributes == nullptr ||
      count == 0) {
    return Return(hipErrorInvalidValue);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const hipError_t error =
        AskRange(data[i], bytes[i], attributes[i], pointer, size);
    if (error != hipSuccess) return Return(error);
  }
  return Return(hipSuccess);
}

HIP_API hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* pointer,
                                           std::size_t, unsigned) {
  if (!Runtime::Get().FindStream(stream)) {
    return Return(hipErrorInvalidHandle);
  }
  return Return(Runtime::Get().Find(pointer) ? hipSuccess
                                             : hipErrorInvalidValue);
}
