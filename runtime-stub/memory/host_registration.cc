#include "runtime-stub/memory/host_registration.h"

#include <atomic>
#include <iterator>
#include <map>
#include <mutex>

#include "hip/hip_loader.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// By first byte; and the byte behind the last.
using Ranges = std::map<CUdeviceptr, CUdeviceptr>;
struct Registrations {
  std::mutex mutex;
  Ranges registered, left;
  std::atomic<bool> any_left{false};
};
NeverDestroyed<Registrations> g_all_registrations;
auto& g_registrations = *g_all_registrations;

// The range that holds the byte, or the end.
Ranges::iterator RangeWith(Ranges& ranges, CUdeviceptr address) {
  const auto next = ranges.upper_bound(address);
  if (next == ranges.begin()) return ranges.end();
  const auto at = std::prev(next);
  return address < at->second ? at : ranges.end();
}

void Subtract(Ranges& ranges, CUdeviceptr begin, CUdeviceptr end) {
  for (auto at = ranges.begin(); at != ranges.end();) {
    const auto [first, last] = *at;
    if (last <= begin || first >= end) {
      ++at;
      continue;
    }
    at = ranges.erase(at);
    if (first < begin) ranges[first] = begin;
    if (last > end) ranges[end] = last;
  }
}

}  // namespace

bool IsLeftRegistered(CUdeviceptr address) {
  if (!g_registrations.any_left) return false;
  std::lock_guard<std::mutex> lock(g_registrations.mutex);
  return RangeWith(g_registrations.left, address) != g_registrations.left.end();
}

bool RegisterAgain(CUdeviceptr address, std::size_t bytes) {
  if (!hip.is_before_5_3) return false;
  std::lock_guard<std::mutex> lock(g_registrations.mutex);
  Ranges& left = g_registrations.left;
  const CUdeviceptr end = address + bytes;
  const auto at = RangeWith(left, address);
  const bool all = at != left.end() && end <= at->second;
  Subtract(left, address, end);
  g_registrations.any_left = !left.empty();
  g_registrations.registered[address] = end;
  return all;
}

bool LeaveRegistered(CUdeviceptr address) {
  if (!hip.is_before_5_3) return false;
  void* const pointer = reinterpret_cast<void*>(address);
  void* on_device = nullptr;
  const bool leave =
      hip.hipHostGetDevicePointer(&on_device, pointer, 0) == hipSuccess &&
      on_device == pointer;
  std::lock_guard<std::mutex> lock(g_registrations.mutex);
  const auto at = g_registrations.registered.find(address);
  if (at == g_registrations.registered.end()) return false;
  if (leave) {
    g_registrations.left.insert(*at);
    g_registrations.any_left = true;
  }
  g_registrations.registered.erase(at);
  return leave;
}

}  // namespace cerberus::stub
