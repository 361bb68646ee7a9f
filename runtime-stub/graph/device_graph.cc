#include "runtime-stub/graph/device_graph.h"

#include <deque>

#include "formats/launch_abi.h"
#include "hip/hip_loader.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_exec.h"
#include "runtime-stub/graph/graph_plan.h"
#include "runtime-stub/launch/launch_family.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

// A graph while this thread runs it, within the one that has launched it.
struct Running {
  explicit Running(CUgraphExec exec) : exec(exec), outer(innermost) {
    innermost = this;
  }
  ~Running() { innermost = outer; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  const CUgraphExec exec;
  Running* const outer;
  std::vector<CUgraphExec> tail;

  static thread_local Running* innermost;
};
thread_local Running* Running::innermost = nullptr;

bool IsRunning(CUgraphExec exec) {
  for (const Running* r = Running::innermost; r != nullptr; r = r->outer) {
    if (r->exec == exec) return true;
  }
  return false;
}

// What CUDA answers in the kernel that launches, which has ended here.
bool MayBeLaunched(CUgraphExec exec, bool in_tail) {
  const char* why = nullptr;
  if (!IsForDevice(exec)) {
    why = "is none that was instantiated for launches from the device";
  } else if (!in_tail && IsRunning(exec)) {
    why = "runs still";
  }
  if (why == nullptr) return true;
  Log(LogLevel::kError, "a graph that a kernel launches %s", why);
  return false;
}

}  // namespace

CUgraphExec CurrentGraph() {
  return Running::innermost != nullptr ? Running::innermost->exec : nullptr;
}

CUresult RunGraph(Context* context, CUgraphExec exec, hipStream_t stream) {
  std::deque<CUgraphExec> next = {exec};
  while (!next.empty()) {
    Running running(next.front());
    next.pop_front();
    const CUresult result =
        AnySteppedNode() && IsPlan(running.exec)
            ? LaunchPlan(context, running.exec, stream)
            : LaunchExecutable(context, running.exec, stream);
    if (result != CUDA_SUCCESS) return result;
    next.insert(next.begin(), running.tail.begin(), running.tail.end());
  }
  return CUDA_SUCCESS;
}

CUresult RunDeviceGraphs(Context* context, hipStream_t stream,
                         const std::vector<DeviceGraphLaunch>& launches) {
  std::vector<CUgraphExec> tail;
  CUresult result = CUDA_SUCCESS;
  for (const DeviceGraphLaunch& launch : launches) {
    const bool in_tail = launch.stream == formats::kGraphStreamTail;
    if (!MayBeLaunched(launch.exec, in_tail)) continue;
    if (in_tail) {
      tail.push_back(launch.exec);
    } else {
      result = RunGraph(context, launch.exec, stream);
      if (result != CUDA_SUCCESS) return result;
    }
  }
  if (Running* within = Running::innermost) {
    within->tail.insert(within->tail.end(), tail.begin(), tail.end());
    return CUDA_SUCCESS;
  }
  for (CUgraphExec exec : tail) {
    result = RunGraph(context, exec, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace cerberus::stub
