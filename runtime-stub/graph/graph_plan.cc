#include "runtime-stub/graph/graph_plan.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"
#include "runtime-stub/api/error.h"
#include "runtime-stub/device/context.h"
#include "runtime-stub/graph/conditional.h"
#include "runtime-stub/graph/graph.h"
#include "runtime-stub/graph/graph_copy.h"
#include "runtime-stub/graph/lanes.h"
#include "runtime-stub/graph/native_exec.h"
#include "runtime-stub/launch/device_launch.h"
#include "runtime-stub/launch/launch.h"
#include "runtime-stub/launch/services.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

// Devices that nodes have to be executed on.
struct GraphDevices {
  Device* first = nullptr;
  bool several = false;

  void Add(Device* device) {
    if (first == nullptr) first = device;
    if (device != nullptr && device != first) several = true;
  }
};

struct Step;
struct Steps {
  std::vector<ConditionPtr> defaults;  // get their value when it begins
  std::vector<std::unique_ptr<Step>> list;
};

// Nodes of one device that HIP launches together; or one of a kernel that
// launches others, of operations on memory, a child graph, a condition. Nodes
// are those that the program knows them by.
struct Step {
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step() {
    if (exec != nullptr) DestroyNative(exec);
    if (graph == nullptr) return;
    if (anew) {
      (void)api::cuGraphDestroy(reinterpret_cast<CUgraph>(graph));
    } else {
      (void)hip.hipGraphDestroy(graph);
    }
  }
  bool is_native() const { return node == nullptr; }
  bool is_child() const { return !graphs.empty() && condition == nullptr; }

  Device* device = nullptr;  // null: any
  CUgraphNode node = nullptr;
  RecordPtr record;     // of a kernel or operations
  bool enabled = true;  // the kernel
  ConditionPtr condition;
  int type = 0;               // of the condition
  std::vector<Steps> graphs;  // the child's, or the bodies

  hipGraph_t graph = nullptr;  // the whole one's copy, without other nodes
  bool anew = false;           // not HIP's copy, but made by its nodes
  hipGraphExec_t exec = nullptr;
  std::map<CUgraphNode, hipGraphNode_t> nodes;  // and what each is in `graph`
};

struct Plan {
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    if (replaced != nullptr) DestroyNative(replaced);
  }

  std::mutex mutex;                   // launches and changes follow one another
  hipGraphExec_t replaced = nullptr;  // HIP's, whose address is the handle
  Lanes lanes;
  Steps steps;
  std::vector<ConditionPtr> conditions;  // of all that is in it
  unsigned long long flags = 0;
};

std::mutex g_mutex;
NeverDestroyed<std::map<CUgraphExec, std::shared_ptr<Plan>>> g_all_plans;
auto& g_plans = *g_all_plans;

std::shared_ptr<Plan> PlanOf(CUgraphExec exec) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = g_plans.find(exec);
  return at == g_plans.end() ? nullptr : at->second;
}

// Calls `use` with all steps, outer ones first, until it returns true.
template <typename Use>
bool AnyStep(Steps& steps, const Use& use) {
  for (const std::unique_ptr<Step>& step : steps.list) {
    if (use(*step)) return true;
    for (Steps& inner : step->graphs) {
      if (AnyStep(inner, use)) return true;
    }
  }
  return false;
}
// That of a kernel, child or condition.
Step* StepOf(Plan* plan, CUgraphNode node) {
  Step* found = nullptr;
  AnyStep(plan->steps, [&](Step& step) {
    if (step.node != node) return false;
    found = &step;
    return true;
  });
  return found;
}

// Whether it is a step of its own.
CUresult IsStep(CUgraphNode node, bool* is) {
  const RecordPtr record = FindRecord(node);
  *is = record != nullptr && record->is_stepped();
  CUgraph child = record != nullptr && !*is ? ChildOf(node) : nullptr;
  return child != nullptr ? NeedsPlan(child, is) : CUDA_SUCCESS;
}

Device* DeviceOf(const NodeRecord& record) {
  Context* context = ContextOf(record.context);
  return context != nullptr ? context->device : nullptr;
}
CUresult FindDevices(CUgraph graph, GraphDevices* found);
CUresult FindDevices(CUgraphNode node, GraphDevices* found) {
  const RecordPtr record = FindRecord(node);
  if (record == nullptr) return CUDA_SUCCESS;
  if (CUgraph child = ChildOf(node)) return FindDevices(child, found);
  found->Add(DeviceOf(*record));
  return CUDA_SUCCESS;
}
CUresult FindDevices(CUgraph graph, GraphDevices* found) {
  std::vector<CUgraphNode> nodes;
  CUresult result = ListNodes(graph, &nodes);
  for (std::size_t i = 0; result == CUDA_SUCCESS && i < nodes.size(); ++i) {
    result = FindDevices(nodes[i], found);
  }
  return result;
}

// Of all that HIP says.
GraphDevices DevicesOf(CUgraph graph) {
  GraphDevices devices;
  if (DeviceCount() > 1) (void)FindDevices(graph, &devices);
  return devices;
}

struct Ordered {
  CUgraphNode node;
  bool is_step;
  Device* device;  // null: any
};

// Each node behind those it depends on, and with others of its device; those
// that are steps as late as possible, so that there are few.
CUresult Order(CUgraph graph, std::vector<Ordered>* order) {
  struct Waiting {
    bool is_step = false;
    GraphDevices devices;
    std::size_t for_nodes = 0;
    std::vector<CUgraphNode> dependents;
  };
  std::map<CUgraphNode, Waiting> waiting;
  std::vector<CUgraphNode> nodes;
  if (CUresult r = ListNodes(graph, &nodes); r != CUDA_SUCCESS) return r;
  for (CUgraphNode node : nodes) {
    std::size_t count = 0;
    hipError_t error =
        hip.hipGraphNodeGetDependencies(Native(node), nullptr, &count);
    std::vector<CUgraphNode> before(count);
    if (error == hipSuccess && count != 0) {
      error = hip.hipGraphNodeGetDependencies(Native(node),
                                              Native(before.data()), &count);
    }
    if (error != hipSuccess) return FromHip(error);
    Waiting& own = waiting[node];
    own.for_nodes = count;
    CUresult result = IsStep(node, &own.is_step);
    if (result == CUDA_SUCCESS && DeviceCount() > 1) {
      result = FindDevices(node, &own.devices);
    }
    if (result != CUDA_SUCCESS) return result;
    for (CUgraphNode one : before) waiting[one].dependents.push_back(node);
  }
  std::map<Device*, std::vector<CUgraphNode>> ready;
  std::vector<CUgraphNode> ready_steps;
  const auto add = [&](CUgraphNode node) {
    const Waiting& own = waiting[node];
    (own.is_step ? ready_steps : ready[own.devices.first]).push_back(node);
  };
  for (CUgraphNode node : nodes) {
    if (waiting[node].for_nodes == 0) add(node);
  }
  Device* device = nullptr;
  const auto next_list = [&]() -> std::vector<CUgraphNode>& {
    if (!ready[nullptr].empty()) return ready[nullptr];
    if (!ready[device].empty()) return ready[device];
    for (auto& [other, list] : ready) {
      if (list.empty()) continue;
      device = other;
      return list;
    }
    return ready_steps;
  };
  for (auto* from = &next_list(); !from->empty(); from = &next_list()) {
    CUgraphNode node = from->back();
    from->pop_back();
    const Waiting& own = waiting[node];
    order->push_back({node, own.is_step, own.devices.first});
    for (CUgraphNode next : own.dependents) {
      if (--waiting[next].for_nodes == 0) add(next);
    }
  }
  // A circle.
  return order->size() == nodes.size() ? CUDA_SUCCESS
                                       : CUDA_ERROR_INVALID_VALUE;
}

// Makes the steps of a graph, and of all in it.
class StepMaker {
 public:
  StepMaker(unsigned long long flags, const NodeNames* names,
            PlanFailure* failure)
      : flags_(flags), names_(names), failure_(failure) {}

  CUresult Make(CUgraph graph, bool in_body, Steps* steps);
  std::vector<ConditionPtr> conditions;

 private:
  CUresult Fail(CUresult result, int what, CUgraphNode node) {
    *failure_ = {what, node};
    return result;
  }
  CUgraphNode NameOf(CUgraphNode node) const {
    if (names_ == nullptr) return node;
    const auto at = names_->find(node);
    return at == names_->end() ? node : at->second;
  }
  CUresult TakeConditions(CUgraph graph, Steps* steps);
  CUresult MakeStep(CUgraphNode node, bool in_body, Step* step);
  hipError_t CopyPart(CUgraph whole, const std::vector<Ordered>& all,
                      const std::vector<CUgraphNode>& own, Step* step);
  CUresult MakePart(CUgraph whole, const std::vector<CUgraphNode>& own,
                    Step* step);
  CUresult MakeGraph(CUgraph whole, const std::vector<Ordered>& all,
                     const std::vector<CUgraphNode>& own, Step* step);
  hipError_t PairNodes(CUgraphNode node, hipGraphNode_t copy, Step* step);

  const unsigned long long flags_;
  const NodeNames* const names_;
  PlanFailure* const failure_;
};

CUresult StepMaker::TakeConditions(CUgraph graph, Steps* steps) {
  for (const ConditionPtr& condition : ConditionsFor(graph)) {
    if (condition->node == nullptr) {
      Log(LogLevel::kError, "a graph's conditional handle is no node's");
      return Fail(CUDA_ERROR_INVALID_VALUE, PlanFailure::kHandleUnused,
                  nullptr);
    }
    if (condition->assign_default) steps->defaults.push_back(condition);
    conditions.push_back(condition);
  }
  return CUDA_SUCCESS;
}

// A node with those of the graph in it, whose copies stand in the same order.
hipError_t StepMaker::PairNodes(CUgraphNode node, hipGraphNode_t copy,
                                Step* step) {
  step->nodes[NameOf(node)] = copy;
  CUgraph child = ChildOf(node);
  if (child == nullptr) return hipSuccess;
  hipGraph_t inner = nullptr;
  hipError_t error = hip.hipGraphChildGraphNodeGetGraph(copy, &inner);
  if (error != hipSuccess) return error;
  const std::vector<CUgraphNode> nodes = NodesOf(child),
                                 copies =
                                     NodesOf(reinterpret_cast<CUgraph>(inner));
  for (std::size_t i = 0; i < nodes.size() && i < copies.size(); ++i) {
    error = PairNodes(nodes[i], Native(copies[i]), step);
    if (error != hipSuccess) return error;
  }
  return hipSuccess;
}

// HIP's copy without the other nodes.
hipError_t StepMaker::CopyPart(CUgraph whole, const std::vector<Ordered>& all,
                               const std::vector<CUgraphNode>& own,
                               Step* step) {
  const CurrentDevice current(step->device);
  hipError_t error = hip.hipGraphClone(&step->graph, Native(whole));
  if (error != hipSuccess) return error;
  std::map<CUgraphNode, bool> stays;
  for (CUgraphNode node : own) stays[node] = true;
  for (const Ordered& each : all) {
    hipGraphNode_t copy = nullptr;
    error = hip.hipGraphNodeFindInClone(&copy, Native(each.node), step->graph);
    if (error == hipSuccess) {
      error = stays[each.node] ? PairNodes(each.node, copy, step)
                               : hip.hipGraphDestroyNode(copy);
    }
    if (error != hipSuccess) return error;
  }
  return hipSuccess;
}

// The nodes made again.
CUresult StepMaker::MakePart(CUgraph whole, const std::vector<CUgraphNode>& own,
                             Step* step) {
  GraphCopy copy;
  CUgraph graph = nullptr;
  std::vector<CUgraphNode> made;
  CUresult result = CopyGraph(whole, &copy);
  if (result == CUDA_SUCCESS) result = api::cuGraphCreate(&graph, 0);
  if (result != CUDA_SUCCESS) return result;
  step->graph = Native(graph);
  step->anew = true;
  copy.Keep({own.begin(), own.end()});
  copy = copy.WithoutMemory();
  result = AddCopy(copy, graph, &made);
  for (std::size_t i = 0; result == CUDA_SUCCESS && i < made.size(); ++i) {
    result = FromHip(PairNodes(copy.nodes[i].original, Native(made[i]), step));
  }
  return result;
}

// HIP's graph of these nodes alone. HIP before 5.3 does not stand nodes and
// edges that go, and 6.4 copies kernels of one device alone.
CUresult StepMaker::MakeGraph(CUgraph whole, const std::vector<Ordered>& all,
                              const std::vector<CUgraphNode>& own, Step* step) {
  GraphDevices devices;
  for (const Ordered& each : all) devices.Add(each.device);
  CUresult result = hip.is_before_5_3 || devices.several
                        ? MakePart(whole, own, step)
                        : FromHip(CopyPart(whole, all, own, step));
  if (result != CUDA_SUCCESS) return result;
  const CurrentDevice current(step->device);
  return FromHip(
      hip.hipGraphInstantiateWithFlags(&step->exec, step->graph, flags_));
}

CUresult StepMaker::MakeStep(CUgraphNode node, bool in_body, Step* step) {
  const RecordPtr record = FindRecord(node);
  step->node = NameOf(node);
  if (record->type == kKernelNode || record->type == kOperationsNode) {
    step->record = record;
    return CUDA_SUCCESS;
  }
  std::vector<CUgraph> graphs = record->bodies;
  if (record->type == kConditionalNode) {
    step->condition = ConditionOf(*record);
    step->type = record->conditional.type;
    if (step->condition == nullptr) return CUDA_ERROR_INVALID_VALUE;
  } else {
    graphs = {ChildOf(node)};
  }
  step->graphs.resize(graphs.size());
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const CUresult result = Make(
        graphs[i], in_body || step->condition != nullptr, &step->graphs[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// What CUDA has in bodies (CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out).
bool MayBeInBody(CUgraphNodeType type) {
  return type == kKernelNode || type == kEmptyNode || type == kChildNode ||
         type == kMemsetNode || type == kMemcpyNode || type == kConditionalNode;
}

CUresult StepMaker::Make(CUgraph graph, bool in_body, Steps* steps) {
  if (CUresult r = TakeConditions(graph, steps); r != CUDA_SUCCESS) return r;
  std::vector<Ordered> order;
  if (CUresult r = Order(graph, &order); r != CUDA_SUCCESS) return r;
  std::vector<std::vector<CUgraphNode>> own;  // of each step
  for (const auto& [node, alone, device] : order) {
    CUgraphNodeType type = 0;
    CUresult result = api::cuGraphNodeGetType(node, &type);
    if (result != CUDA_SUCCESS) return result;
    if (in_body && !MayBeInBody(type)) {
      Log(LogLevel::kError,
          "a conditional node's graph has a node of type %d, which CUDA has "
          "not there",
          type);
      return Fail(CUDA_ERROR_NOT_SUPPORTED, PlanFailure::kNodeNotSupported,
                  node);
    }
    const Step* last = steps->list.empty() ? nullptr : steps->list.back().get();
    if (alone || last == nullptr || !last->is_native() ||
        (device != nullptr && last->device != nullptr &&
         last->device != device)) {
      steps->list.push_back(std::make_unique<Step>());
      own.emplace_back();
    }
    own.back().push_back(node);
    if (device != nullptr) steps->list.back()->device = device;
    if (!alone) continue;
    result = MakeStep(node, in_body, steps->list.back().get());
    if (result != CUDA_SUCCESS) return result;
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    Step* step = steps->list[i].get();
    if (!step->is_native()) continue;
    const CUresult result = MakeGraph(graph, order, own[i], step);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// --- launches ---

class Launcher {
 public:
  Launcher(Lanes* lanes, Context* context, hipStream_t stream)
      : lanes_(lanes), context_(context), stream_(stream) {}

  // Errors: what a launch answers. Faults of kernels end it, and stay with the
  // context, as when nobody waits.
  CUresult Run(const Steps& steps);

 private:
  CUresult RunNative(const Step& step);
  CUresult RunKernel(const NodeRecord& record);
  CUresult RunCondition(const Step& step);
  // Of a condition, when all before it has ended.
  CUresult Await(const Condition& condition, std::uint32_t* value);

  Lanes* const lanes_;
  Context* const context_;
  const hipStream_t stream_;
  bool ended_ = false;
};

CUresult Launcher::RunNative(const Step& step) {
  const hipError_t error = lanes_->On(
      step.device, context_, stream_,
      [&](hipStream_t stream) { return LaunchNative(step.exec, stream); });
  return NoteResult(context_, error);
}

CUresult Launcher::RunKernel(const NodeRecord& record) {
  Context* context = ContextOf(record.context);
  if (context == nullptr) context = context_;
  const CUDA_KERNEL_NODE_PARAMS& p = record.kernel;
  Grid grid = {};
  if (CUresult r = GridOf(p, record.attributes, &grid); r != CUDA_SUCCESS) {
    return r;
  }
  CUfunction function =
      p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);
  CUresult result = CUDA_SUCCESS;
  const hipError_t error =
      lanes_->On(context->device, context_, stream_, [&](hipStream_t stream) {
        LaunchTarget target;
        result = FindLaunchTarget(context, function, &grid, &target);
        if (result == CUDA_SUCCESS) {
          result = LaunchWithChildren(context, target, grid, stream,
                                      p.kernelParams, nullptr);
        }
        return hipSuccess;
      });
  return result == CUDA_SUCCESS ? FromHip(error) : result;
}

CUresult Launcher::Await(const Condition& condition, std::uint32_t* value) {
  const hipError_t error = hip.hipStreamSynchronize(stream_);
  FlushOutput(context_->device);
  const CUresult result = NoteResult(context_, error);
  ended_ = result != CUDA_SUCCESS;
  *value = condition.value();
  return IsSticky(result) ? CUDA_SUCCESS : result;
}

CUresult Launcher::RunCondition(const Step& step) {
  std::uint32_t value = 0;
  CUresult result = Await(*step.condition, &value);
  if (step.type == kConditionWhile) {
    while (result == CUDA_SUCCESS && !ended_ && value != 0) {
      result = Run(step.graphs[0]);
      if (result == CUDA_SUCCESS && !ended_) {
        result = Await(*step.condition, &value);
      }
    }
    return result;
  }
  const std::size_t chosen = step.type == kConditionSwitch ? value
                             : value != 0                  ? 0
                                                           : 1;
  return result == CUDA_SUCCESS && !ended_ && chosen < step.graphs.size()
             ? Run(step.graphs[chosen])
             : result;
}

CUresult Launcher::Run(const Steps& steps) {
  for (const ConditionPtr& condition : steps.defaults) {
    const hipError_t error = hip.hipMemsetD32Async(
        reinterpret_cast<void*>(condition->handle),
        static_cast<int>(condition->default_value), 1, stream_);
    if (error != hipSuccess) return NoteResult(context_, error);
  }
  for (const std::unique_ptr<Step>& step : steps.list) {
    CUresult result = CUDA_SUCCESS;
    if (step->is_native()) {
      result = RunNative(*step);
    } else if (step->record != nullptr) {
      if (!step->enabled) continue;
      result = step->record->type == kKernelNode
                   ? RunKernel(*step->record)
                   : RunOperations(context_, stream_, *step->record);
    } else {
      result = step->is_child() ? Run(step->graphs[0]) : RunCondition(*step);
    }
    if (result != CUDA_SUCCESS || ended_) return result;
  }
  return CUDA_SUCCESS;
}

// Gives the plan's conditions to it. Under g_mutex.
CUresult OwnConditions(Plan* plan, const Plan* instead_of) {
  for (const ConditionPtr& condition : plan->conditions) {
    if (condition->plan != nullptr && condition->plan != instead_of) {
      Log(LogLevel::kError,
          "a graph with conditional nodes has one executable graph at a time");
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (const ConditionPtr& condition : plan->conditions) {
    condition->plan = plan;
  }
  return CUDA_SUCCESS;
}
void DisownConditions(const Plan& plan) {
  for (const ConditionPtr& condition : plan.conditions) {
    if (condition->plan == &plan) condition->plan = nullptr;
  }
}

// The plan gets the steps of another one, which gets its own.
CUresult TakeOver(Plan* plan, Plan* made) {
  std::lock_guard<std::mutex> plan_lock(plan->mutex);
  std::lock_guard<std::mutex> lock(g_mutex);
  if (CUresult r = OwnConditions(made, plan); r != CUDA_SUCCESS) return r;
  std::swap(plan->steps, made->steps);
  std::swap(plan->conditions, made->conditions);
  for (const ConditionPtr& condition : plan->conditions) {
    condition->plan = plan;
  }
  // Of the old ones: those that are not the new ones too.
  for (const ConditionPtr& condition : made->conditions) {
    bool stays = false;
    for (const ConditionPtr& kept : plan->conditions) {
      stays = stays || kept == condition;
    }
    if (!stays) condition->plan = nullptr;
  }
  return CUDA_SUCCESS;
}

// Calls `use` with the step that such a node is. False: there is none.
template <typename Use>
bool WithPlanStep(CUgraphExec exec, CUgraphNode node, int type, Use use) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  if (plan == nullptr) return false;
  std::lock_guard<std::mutex> lock(plan->mutex);
  Step* step = StepOf(plan.get(), node);
  if (step == nullptr || step->record == nullptr ||
      step->record->type != type) {
    return false;
  }
  use(step);
  return true;
}

}  // namespace

CurrentDevice::CurrentDevice(const Device* device)
    : before_(device != nullptr ? CurrentContextOrNull() : nullptr) {
  if (device != nullptr) (void)Activate(device->primary.get());
}
CurrentDevice::~CurrentDevice() {
  if (before_ != nullptr) (void)Activate(before_);
}

Device* DeviceOfNodes(CUgraph graph) {
  const GraphDevices devices = DevicesOf(graph);
  return devices.several ? nullptr : devices.first;
}
CUresult DeviceToCopyOn(CUgraph graph, Device** device) {
  const GraphDevices devices = DevicesOf(graph);
  *device = devices.several ? nullptr : devices.first;
  if (!devices.several || hip.major != 6) return CUDA_SUCCESS;
  Log(LogLevel::kError, "HIP 6 copies no graph with nodes of several devices");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult NeedsPlan(CUgraph graph, bool* needs) {
  *needs = DevicesOf(graph).several;
  if (*needs || !AnySteppedNode()) return CUDA_SUCCESS;
  // Also where none of them is a node's yet, which is refused.
  *needs = !ConditionsFor(graph).empty() || AnyLostEdges();
  std::vector<CUgraphNode> nodes;
  CUresult result = ListNodes(graph, &nodes);
  for (std::size_t i = 0; result == CUDA_SUCCESS && !*needs && i < nodes.size();
       ++i) {
    result = IsStep(nodes[i], needs);
  }
  return result;
}

CUresult MakePlan(Context* context, CUgraph graph, unsigned long long flags,
                  CUgraphExec* exec, PlanFailure* failure) {
  auto plan = std::make_shared<Plan>();
  plan->flags = flags;
  StepMaker maker(flags, nullptr, failure);
  CUresult result = maker.Make(graph, IsBody(graph), &plan->steps);
  if (result != CUDA_SUCCESS) return result;
  plan->conditions = std::move(maker.conditions);
  NoteSteppedNode();
  auto* handle = reinterpret_cast<CUgraphExec>(plan.get());
  std::lock_guard<std::mutex> lock(g_mutex);
  result = OwnConditions(plan.get(), nullptr);
  if (result != CUDA_SUCCESS) return result;
  g_plans[handle] = std::move(plan);
  *exec = handle;
  return CUDA_SUCCESS;
}

CUresult UpdatePlan(CUgraphExec exec, CUgraph graph, unsigned long long flags,
                    const NodeNames& names) {
  std::shared_ptr<Plan> plan = PlanOf(exec);
  const bool is_new = plan == nullptr;
  if (is_new) {
    plan = std::make_shared<Plan>();
    plan->flags = flags;
  }
  std::vector<CUgraphNode> disabled;
  for (const auto& [node, name] : names) {
    unsigned enabled = 1;
    (void)api::cuGraphNodeGetEnabled(exec, name, &enabled);
    if (enabled == 0) disabled.push_back(name);
  }
  PlanFailure failure;
  Plan made;
  StepMaker maker(plan->flags, &names, &failure);
  CUresult result = maker.Make(graph, IsBody(graph), &made.steps);
  if (result != CUDA_SUCCESS) return result;
  made.conditions = std::move(maker.conditions);
  result = TakeOver(plan.get(), &made);
  if (result != CUDA_SUCCESS) return result;
  if (is_new) {
    std::lock_guard<std::mutex> lock(g_mutex);
    plan->replaced = Native(exec);
    g_plans[exec] = std::move(plan);
    NoteSteppedNode();
  }
  for (CUgraphNode node : disabled) {
    (void)api::cuGraphNodeSetEnabled(exec, node, 0);
  }
  return CUDA_SUCCESS;
}

bool IsPlan(CUgraphExec exec) { return PlanOf(exec) != nullptr; }

CUresult LaunchPlan(Context* context, CUgraphExec exec, hipStream_t stream) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  std::lock_guard<std::mutex> lock(plan->mutex);
  return Launcher(&plan->lanes, context, stream).Run(plan->steps);
}

void DestroyPlan(CUgraphExec exec) {
  std::shared_ptr<Plan> plan = PlanOf(exec);
  std::lock_guard<std::mutex> lock(g_mutex);
  DisownConditions(*plan);
  g_plans.erase(exec);
}

bool IsPlanStep(CUgraphExec exec, CUgraphNode node, int type) {
  return WithPlanStep(exec, node, type, [](const Step*) {});
}
void SetPlanStep(CUgraphExec exec, CUgraphNode node, RecordPtr record) {
  WithPlanStep(exec, node, record->type,
               [&](Step* step) { step->record = std::move(record); });
}
bool SetPlanKernelEnabled(CUgraphExec exec, CUgraphNode node, bool enabled) {
  return WithPlanStep(exec, node, kKernelNode,
                      [&](Step* step) { step->enabled = enabled; });
}
std::optional<bool> IsPlanKernelEnabled(CUgraphExec exec, CUgraphNode node) {
  std::optional<bool> enabled;
  WithPlanStep(exec, node, kKernelNode,
               [&](const Step* step) { enabled = step->enabled; });
  return enabled;
}

bool IsPlanChild(CUgraphExec exec, CUgraphNode node) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  if (plan == nullptr) return false;
  std::lock_guard<std::mutex> lock(plan->mutex);
  const Step* step = StepOf(plan.get(), node);
  return step != nullptr && step->is_child();
}
CUresult SetPlanChild(Context* context, CUgraphExec exec, CUgraphNode node,
                      CUgraph child, const NodeNames& names) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  PlanFailure failure;
  Steps steps;
  StepMaker maker(plan->flags, &names, &failure);
  const CUresult result = maker.Make(child, false, &steps);
  if (result != CUDA_SUCCESS) return result;
  std::lock_guard<std::mutex> lock(plan->mutex);
  StepOf(plan.get(), node)->graphs[0] = std::move(steps);
  return CUDA_SUCCESS;
}

NodeOfExec FindNodeOfExec(CUgraphExec exec, CUgraphNode node) {
  const std::shared_ptr<Plan> plan = PlanOf(exec);
  if (plan == nullptr) return {Native(exec), Native(node)};
  NodeOfExec found = {nullptr, nullptr};
  std::lock_guard<std::mutex> lock(plan->mutex);
  AnyStep(plan->steps, [&](const Step& step) {
    const auto at = step.nodes.find(node);
    if (at == step.nodes.end()) return false;
    found = {step.exec, at->second};
    return true;
  });
  return found;
}

}  // namespace cerberus::stub
