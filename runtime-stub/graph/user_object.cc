#include "runtime-stub/graph/user_object.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime-stub/api/api.h"
#include "runtime-stub/device/context.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

constexpr unsigned kMove = 1;              // CU_GRAPH_USER_OBJECT_MOVE
constexpr unsigned kNoDestructorSync = 1;  // CU_USER_OBJECT_…

// Who holds references: graphs, executable graphs and launches by their
// handles, the program as null.
using Holder = const void*;
constexpr Holder kProgram = nullptr;

struct UserObject {
  void* object = nullptr;
  CUhostFn destroy = nullptr;
  std::map<Holder, unsigned> held;
};
using Object = std::unique_ptr<UserObject>;

std::mutex g_mutex;
NeverDestroyed<std::map<CUuserObject, Object>> g_all_objects;
auto& g_objects = *g_all_objects;
// There never was one: launches need not look.
std::atomic<bool> g_any{false};

// Takes references; the object itself, if they were the last. Locked.
Object Take(CUuserObject handle, Holder holder, unsigned count) {
  const auto object = g_objects.find(handle);
  auto& held = object->second->held;
  const auto at = held.find(holder);
  at->second -= count;
  if (at->second == 0) held.erase(at);
  if (!held.empty()) return nullptr;
  Object gone = std::move(object->second);
  g_objects.erase(object);
  return gone;
}

bool Has(CUuserObject handle, Holder holder, unsigned count) {
  const auto object = g_objects.find(handle);
  if (object == g_objects.end()) return false;
  const auto at = object->second->held.find(holder);
  return at != object->second->held.end() && at->second >= count;
}

void Give(Holder from, Holder to, bool all) {
  std::lock_guard<std::mutex> lock(g_mutex);
  for (auto& [handle, object] : g_objects) {
    const auto at = object->held.find(from);
    if (at == object->held.end()) continue;
    const unsigned count = at->second;
    unsigned& given = object->held[to];
    given = all ? given + count : 1;
  }
}

std::vector<CUuserObject> HeldBy(Holder holder) {
  std::lock_guard<std::mutex> lock(g_mutex);
  std::vector<CUuserObject> objects;
  for (const auto& [handle, object] : g_objects) {
    if (object->held.contains(holder)) objects.push_back(handle);
  }
  return objects;
}
bool IsHeldBy(CUuserObject handle, Holder holder) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return Has(handle, holder, 1);
}

CUresult Release(CUuserObject handle, Holder holder, unsigned count) {
  Object gone;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    if (count == 0 || !Has(handle, holder, count)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    gone = Take(handle, holder, count);
  }
  if (gone != nullptr) gone->destroy(gone->object);
  return CUDA_SUCCESS;
}

// With all its references.
void Drop(Holder holder) {
  for (const CUuserObject handle : HeldBy(holder)) {
    Object gone;
    {
      std::lock_guard<std::mutex> lock(g_mutex);
      if (!Has(handle, holder, 1)) continue;
      gone = Take(handle, holder, g_objects.at(handle)->held.at(holder));
    }
    if (gone != nullptr) gone->destroy(gone->object);
  }
}

// A launch holds by the address of this.
void LaunchDone(void* launch) {
  Drop(launch);
  delete static_cast<char*>(launch);
}

CUresult Retain(CUuserObject handle, Holder holder, unsigned count) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto object = g_objects.find(handle);
  if (count == 0 || object == g_objects.end()) return CUDA_ERROR_INVALID_VALUE;
  object->second->held[holder] += count;
  return CUDA_SUCCESS;
}

}  // namespace

void CloneUserObjects(CUgraph graph, CUgraph clone) {
  Give(graph, clone, true);
}
void KeepUserObjects(CUgraph graph, CUgraphExec exec) {
  if (!g_any.load(std::memory_order_relaxed)) return;
  // Launches hold what they run for themselves.
  const std::vector<CUuserObject> before = HeldBy(exec);
  Give(graph, exec, false);
  for (const CUuserObject object : before) {
    if (!IsHeldBy(object, graph)) Release(object, exec, 1);
  }
}
void KeepUserObjectsOfChild(CUgraph child, CUgraphExec exec) {
  Give(child, exec, false);
}
void DropUserObjects(CUgraph graph) { Drop(graph); }
void DropUserObjects(CUgraphExec exec) { Drop(exec); }

CUresult KeepUserObjectsOfLaunch(CUgraphExec exec, CUstream stream) {
  if (!g_any.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  if (HeldBy(exec).empty()) return CUDA_SUCCESS;
  // What is captured is part of another graph, and launched with that.
  CUstreamCaptureStatus capturing = 0;
  CUgraph captured = nullptr;
  if (CUresult r = api::cuStreamGetCaptureInfo_v2(stream, &capturing, nullptr,
                                                  &captured, nullptr, nullptr);
      r != CUDA_SUCCESS || capturing != 0) {
    if (captured != nullptr) Give(exec, captured, false);
    return r;
  }
  auto launch = std::make_unique<char>();
  Give(exec, launch.get(), false);
  const CUresult result =
      api::cuLaunchHostFunc(stream, LaunchDone, launch.get());
  if (result == CUDA_SUCCESS) {
    [[maybe_unused]] const char* const given = launch.release();
  } else {
    Drop(launch.get());
  }
  return result;
}

namespace api {

CUresult cuUserObjectCreate(CUuserObject* out, void* object, CUhostFn destroy,
                            unsigned references, unsigned flags) {
  if (out == nullptr || destroy == nullptr || references == 0 ||
      flags != kNoDestructorSync) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CERB_OPTIONAL_CONTEXT(context);
  auto made = std::make_unique<UserObject>();
  made->object = object;
  made->destroy = destroy;
  made->held[kProgram] = references;
  const auto handle = reinterpret_cast<CUuserObject>(made.get());
  std::lock_guard<std::mutex> lock(g_mutex);
  g_objects[handle] = std::move(made);
  g_any.store(true, std::memory_order_relaxed);
  *out = handle;
  return CUDA_SUCCESS;
}
CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
  CERB_OPTIONAL_CONTEXT(context);
  return Retain(object, kProgram, count);
}
CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  CERB_OPTIONAL_CONTEXT(context);
  return Release(object, kProgram, count);
}
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object,
                                 unsigned count, unsigned flags) {
  if (graph == nullptr || flags > kMove) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  if (flags == kMove) {
    std::lock_guard<std::mutex> lock(g_mutex);
    if (!Has(object, kProgram, count)) return CUDA_ERROR_INVALID_VALUE;
  }
  if (CUresult r = Retain(object, graph, count); r != CUDA_SUCCESS) return r;
  return flags == kMove ? Release(object, kProgram, count) : CUDA_SUCCESS;
}
CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object,
                                  unsigned count) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CERB_OPTIONAL_CONTEXT(context);
  return Release(object, graph, count);
}

}  // namespace api
}  // namespace cerberus::stub
