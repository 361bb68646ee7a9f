#include "runtime-stub/graph/native_exec.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/stream/capture.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// When the last launch in each stream has ended.
using Ends = std::map<hipStream_t, hipEvent_t>;
struct Launches {
  std::mutex mutex;
  std::map<hipGraphExec_t, Ends> running;
  std::vector<std::pair<hipGraphExec_t, Ends>> going;  // to be destroyed
};
NeverDestroyed<Launches> g_all_launches;
auto& g_launches = *g_all_launches;

bool HaveEnded(Ends* ends) {
  while (!ends->empty()) {
    const auto at = ends->begin();
    if (hip.hipEventQuery(at->second) == hipErrorNotReady) return false;
    (void)hip.hipEventDestroy(at->second);
    ends->erase(at);
  }
  return true;
}

}  // namespace

hipError_t LaunchNative(hipGraphExec_t exec, hipStream_t stream) {
  hipError_t error = hip.hipGraphLaunch(exec, stream);
  if (hip.major != 5 || error != hipSuccess) return error;
  constexpr unsigned kNoTime = 2;
  std::lock_guard<std::mutex> lock(g_launches.mutex);
  hipEvent_t& end = g_launches.running[exec][stream];
  if (end == nullptr) error = hip.hipEventCreateWithFlags(&end, kNoTime);
  return error == hipSuccess ? hip.hipEventRecord(end, stream) : error;
}

hipError_t DestroyNative(hipGraphExec_t exec) {
  if (hip.major != 5) return hip.hipGraphExecDestroy(exec);
  const RelaxedCapture relaxed;
  std::lock_guard<std::mutex> lock(g_launches.mutex);
  auto& going = g_launches.going;
  going.emplace_back(exec, std::move(g_launches.running[exec]));
  g_launches.running.erase(exec);
  hipError_t result = hipSuccess;
  for (auto at = going.begin(); at != going.end();) {
    if (!HaveEnded(&at->second)) {
      ++at;
      continue;
    }
    const hipError_t error = hip.hipGraphExecDestroy(at->first);
    if (at->first == exec) result = error;
    at = going.erase(at);
  }
  return result;
}

}  // namespace cerberus::stub
