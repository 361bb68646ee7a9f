#include "runtime-stub/api/handle.h"

#include <mutex>
#include <unordered_map>

#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

struct Owner {
  HandleKind kind;
  Context* context;
};

std::mutex g_mutex;
NeverDestroyed<std::unordered_map<const void*, Owner>> g_all_owners;
auto& g_owners = *g_all_owners;

}  // namespace

void RememberHandle(HandleKind kind, const void* handle, Context* context) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_owners[handle] = {kind, context};
}

void ForgetHandle(const void* handle) {
  std::lock_guard<std::mutex> lock(g_mutex);
  g_owners.erase(handle);
}

CUresult UseHandle(HandleKind kind, const void* handle, Context** context) {
  if (DeviceCount() == 0) return CUDA_ERROR_NOT_INITIALIZED;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    const auto at = g_owners.find(handle);
    if (at == g_owners.end() || at->second.kind != kind) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    *context = at->second.context;
  }
  return UseContext(*context);
}

}  // namespace cerberus::stub
