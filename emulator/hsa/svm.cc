// Shared virtual memory: pages of the program's that GPUs reach once an
// attribute says so. No page moves, so that all the other attributes are kept
// and told, and change nothing.
//
// A GPU without retries after faults, as all are here, reaches what an
// attribute grants it and nothing else (ROCr, "SVM memory attributes":
// SVM_ACCESSIBLE_BY_DEFAULT is false).
#include "emulator/hsa/svm.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>

#include "emulator/hsa/memory.h"
#include "support/bytes.h"

namespace cerberus::emulator::hsa {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kIndeterminate = 2;  // HSA_AMD_SVM_GLOBAL_FLAG_…

// Attributes of pages that nobody has set any of.
struct Attributes {
  std::array<std::uint64_t, kSvmGpuExec + 1> values = {0, 0, 0, 9};
  std::map<AgentState*, std::uint64_t> access;  // kSvmAccessible…

  std::uint64_t AccessOf(AgentState* agent) const {
    const auto at = access.find(agent);
    return at != access.end() ? at->second
           : agent->gpu()     ? std::uint64_t{kSvmNoAccess}
                              : std::uint64_t{kSvmAccessibleInPlace};
  }
};
struct Range {
  std::uint64_t end = 0;
  Attributes attributes;
};

// By first byte; no two overlap.
struct State {
  std::mutex mutex;
  std::map<std::uint64_t, Range> ranges;
};
State& The() {
  static State* const state = new State;
  return *state;
}

struct Span {
  std::uint64_t begin = 0, end = 0;
};

// The whole pages of it; all of them have to be mapped, which a call asks for
// that does nothing else.
Status PagesOf(const void* address, std::uint64_t size, Span* out) {
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(address);
  if (address == nullptr || size == 0 || size > ~first - kPage) {
    return kErrorInvalidArgument;
  }
  *out = {first & ~(kPage - 1), AlignUp(first + size, kPage)};
  return msync(reinterpret_cast<void*>(out->begin), out->end - out->begin,
               MS_ASYNC) == 0
             ? kSuccess
             : kErrorInvalidArgument;
}

// A range that holds `at` becomes two, the second of which begins there.
void SplitAt(State& state, std::uint64_t at) {
  const auto next = state.ranges.upper_bound(at);
  if (next == state.ranges.begin()) return;
  const auto range = std::prev(next);
  if (range->first == at || range->second.end <= at) return;
  state.ranges[at] = range->second;
  range->second.end = at;
}

// Ranges that make up all of the span, with new ones in its gaps.
template <typename Use>
Status ForEachRange(State& state, const Span& span, Use use) {
  SplitAt(state, span.begin);
  SplitAt(state, span.end);
  std::uint64_t at = span.begin;
  while (at < span.end) {
    const auto next = state.ranges.lower_bound(at);
    if (next == state.ranges.end() || next->first != at) {
      const std::uint64_t end = next == state.ranges.end()
                                    ? span.end
                                    : std::min(span.end, next->first);
      state.ranges[at] = {end, {}};
    }
    Range& range = state.ranges[at];
    if (const Status status = use(at, range); status != kSuccess) return status;
    at = range.end;
  }
  return kSuccess;
}

// Pages may have been unmapped and mapped again since they were granted, and a
// GPU have been told of that: what was granted is granted anew.
Status SetAccess(std::uint64_t begin, Range& range, AgentState* agent,
                 std::uint64_t access) {
  MemoryTable& memory = MemoryTable::Get();
  if (agent->gpu()) {
    if (range.attributes.AccessOf(agent) != kSvmNoAccess) {
      memory.Withdraw(agent, begin, range.end);
    }
    range.attributes.access[agent] = kSvmNoAccess;
    if (access != kSvmNoAccess) {
      const Status status = memory.Reach(agent, begin, range.end);
      if (status != kSuccess) return status;
    }
  }
  range.attributes.access[agent] = access;
  return kSuccess;
}

bool IsAccess(std::uint64_t attribute) {
  return attribute >= kSvmAccessible && attribute <= kSvmNoAccess;
}
AgentState* AgentOf(Runtime& runtime, std::uint64_t handle) {
  return runtime.Find(Agent{handle});
}

Status CheckToSet(Runtime& runtime, const SvmAttribute& a) {
  if (IsAccess(a.attribute)) {
    return AgentOf(runtime, a.value) != nullptr ? kSuccess : kErrorInvalidAgent;
  }
  if (a.attribute > kSvmGpuExec || a.attribute == kSvmPrefetchLocation) {
    return kErrorInvalidArgument;
  }
  if (a.attribute == kSvmPreferredLocation && a.value != 0 &&
      AgentOf(runtime, a.value) == nullptr) {
    return kErrorInvalidAgent;
  }
  return a.attribute == kSvmGlobalFlag && a.value >= kIndeterminate
             ? kErrorInvalidArgument
             : kSuccess;
}

// What several ranges have together, where they differ: no bool, no place.
void Join(std::uint64_t attribute, std::uint64_t value, bool first,
          std::uint64_t* joined) {
  if (first || *joined == value) {
    *joined = value;
  } else if (attribute == kSvmMigrationGranularity) {
    *joined = std::min(*joined, value);
  } else {
    *joined = attribute == kSvmGlobalFlag ? kIndeterminate : 0;
  }
}

Status Get(Runtime& runtime, State& state, const Span& span,
           SvmAttribute* asked) {
  AgentState* const agent = asked->attribute == kSvmAccessQuery
                                ? AgentOf(runtime, asked->value)
                                : nullptr;
  if (asked->attribute == kSvmAccessQuery) {
    if (agent == nullptr) return kErrorInvalidAgent;
  } else if (asked->attribute > kSvmGpuExec) {
    return kErrorInvalidArgument;
  }
  bool first = true;
  std::uint64_t joined = 0;
  const auto join = [&](std::uint64_t, Range& range) {
    if (agent == nullptr) {
      Join(asked->attribute, range.attributes.values[asked->attribute], first,
           &joined);
    } else {
      // The least of it.
      const std::uint64_t access = range.attributes.AccessOf(agent);
      joined = first || access == kSvmNoAccess ? access
               : joined == kSvmNoAccess        ? joined
                                               : std::min(joined, access);
    }
    first = false;
    return kSuccess;
  };
  const Status status = ForEachRange(state, span, join);
  if (status != kSuccess) return status;
  (agent == nullptr ? asked->value : asked->attribute) = joined;
  return kSuccess;
}

}  // namespace

Status NotePrefetch(const void* address, std::uint64_t size,
                    const AgentState* agent) {
  Span span;
  const Status status = PagesOf(address, size, &span);
  if (status != kSuccess) return status;
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  return ForEachRange(state, span, [&](std::uint64_t, Range& range) {
    range.attributes.values[kSvmPrefetchLocation] = agent->handle().handle;
    return kSuccess;
  });
}

}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_amd_svm_attributes_set(void* address, std::size_t size,
                                          SvmAttribute* list,
                                          std::size_t count) {
  HSA_LIVE(runtime);
  Span span;
  if (list == nullptr || count == 0) return kErrorInvalidArgument;
  if (const Status status = PagesOf(address, size, &span); status != kSuccess) {
    return status;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Status status = CheckToSet(*runtime, list[i]);
    if (status != kSuccess) return status;
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  return ForEachRange(state, span, [&](std::uint64_t begin, Range& range) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!IsAccess(list[i].attribute)) {
        range.attributes.values[list[i].attribute] = list[i].value;
        continue;
      }
      const Status status = SetAccess(
          begin, range, AgentOf(*runtime, list[i].value), list[i].attribute);
      if (status != kSuccess) return status;
    }
    return kSuccess;
  });
}

HSA_API Status hsa_amd_svm_attributes_get(void* address, std::size_t size,
                                          SvmAttribute* list,
                                          std::size_t count) {
  HSA_LIVE(runtime);
  Span span;
  if (list == nullptr || count == 0) return kErrorInvalidArgument;
  if (const Status status = PagesOf(address, size, &span); status != kSuccess) {
    return status;
  }
  State& state = The();
  std::lock_guard<std::mutex> lock(state.mutex);
  for (std::size_t i = 0; i < count; ++i) {
    const Status status = Get(*runtime, state, span, &list[i]);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}
