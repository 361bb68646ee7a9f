// Objects of the program that graphs keep alive: whoever drops the last
// reference, the program or a graph with all that was made from it, has the
// object destroyed.
#include <map>
#include <mutex>

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/runtime.h"

using namespace cerberus::emulator::hip;

namespace cerberus::emulator::hip {

struct UserObject {
  void* object;
  hipHostFn_t destroy;

  UserObject(void* o, hipHostFn_t d) : object(o), destroy(d) {}
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
  ~UserObject() { destroy(object); }
};

}  // namespace cerberus::emulator::hip

namespace {

// What the program itself holds; it may hold nothing of an object of a graph.
struct Held {
  std::weak_ptr<UserObject> object;
  std::shared_ptr<UserObject> mine;
  unsigned count = 0;
};

std::mutex g_mutex;
std::map<hipUserObject_t, Held> g_held;

// Null if there is no such object any more.
std::shared_ptr<UserObject> Find(hipUserObject_t handle) {
  const auto found = g_held.find(handle);
  return found == g_held.end() ? nullptr : found->second.object.lock();
}

// References beyond those that there are cannot be given back.
hipError_t Release(hipUserObject_t handle, unsigned count) {
  std::shared_ptr<UserObject> last;  // destroyed behind the lock
  std::lock_guard<std::mutex> lock(g_mutex);
  last = Find(handle);
  if (!last) return hipErrorInvalidValue;
  Held& held = g_held[handle];
  if (count == 0 || count > held.count) return hipErrorInvalidValue;
  held.count -= count;
  if (held.count == 0) held.mine.reset();
  return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipUserObjectCreate(hipUserObject_t* out, void* object,
                                       hipHostFn_t destroy, unsigned count,
                                       unsigned flags) {
  constexpr unsigned kNoDestructorSync = 1;
  if (out == nullptr || destroy == nullptr || count == 0 ||
      flags != kNoDestructorSync) {
    return Return(hipErrorInvalidValue);
  }
  const auto made = std::make_shared<UserObject>(object, destroy);
  *out = made.get();
  std::lock_guard<std::mutex> lock(g_mutex);
  g_held[*out] = {made, made, count};
  return Return(hipSuccess);
}

HIP_API hipError_t hipUserObjectRetain(hipUserObject_t handle, unsigned count) {
  std::lock_guard<std::mutex> lock(g_mutex);
  std::shared_ptr<UserObject> object = Find(handle);
  if (!object || count == 0) return Return(hipErrorInvalidValue);
  Held& held = g_held[handle];
  held.mine = std::move(object);
  held.count += count;
  return Return(hipSuccess);
}

HIP_API hipError_t hipUserObjectRelease(hipUserObject_t handle,
                                        unsigned count) {
  return Return(Release(handle, count));
}

// Flags: 1 moves the program's own references to the graph.
HIP_API hipError_t hipGraphRetainUserObject(hipGraph_t handle,
                                            hipUserObject_t object,
                                            unsigned count, unsigned flags) {
  const std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph || count == 0 || flags > 1) return Return(hipErrorInvalidValue);
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    std::shared_ptr<UserObject> found = Find(object);
    if (!found || (flags == 1 && g_held[object].count < count)) {
      return Return(hipErrorInvalidValue);
    }
    KeptObject& kept = graph->kept[object];
    kept.object = std::move(found);
    kept.count += count;
  }
  return Return(flags == 1 ? Release(object, count) : hipSuccess);
}

HIP_API hipError_t hipGraphReleaseUserObject(hipGraph_t handle,
                                             hipUserObject_t object,
                                             unsigned count) {
  const std::shared_ptr<Graph> graph = GraphOf(handle);
  if (!graph) return Return(hipErrorInvalidValue);
  const auto kept = graph->kept.find(object);
  if (kept == graph->kept.end() || count == 0 || count > kept->second.count) {
    return Return(hipErrorInvalidValue);
  }
  kept->second.count -= count;
  if (kept->second.count == 0) graph->kept.erase(kept);
  return Return(hipSuccess);
}
