#include "runtime-stub/memory/managed.h"

#include <map>
#include <mutex>

#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

struct Variable {
  std::size_t bytes;
  const void* owner;
};
std::mutex g_mutex;
using Variables = std::map<CUdeviceptr, Variable>;
NeverDestroyed<Variables> g_all_variables;
auto& g_variables = *g_all_variables;

}  // namespace

void NoteManagedVariable(const void* owner, CUdeviceptr address,
                         std::size_t bytes) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_variables[address] = {bytes, owner};
}

void ForgetManagedVariables(const void* owner) {
  std::lock_guard<std::mutex> lock(g_mutex);
  std::erase_if(g_variables,
                [owner](const auto& v) { return v.second.owner == owner; });
}

bool IsInManagedVariable(CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(g_mutex);
  auto at = g_variables.upper_bound(address);
  if (at == g_variables.begin()) return false;
  --at;
  return address - at->first < at->second.bytes;
}

}  // namespace cerberus::stub
