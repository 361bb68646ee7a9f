#include "libraries/cudnn/graph.h"

#include <set>

#include "libraries/cudnn/status.h"

namespace cerberus::libraries::cudnn {
namespace {

using Nodes = std::vector<std::shared_ptr<const Node>>;

// Which node writes each tensor.
Status FindWriters(const Nodes& nodes, std::map<Index, const Node*>* writers) {
  for (const auto& node : nodes) {
    for (const TensorRef& tensor : node->writes) {
      if (!writers->emplace(tensor->uid, node.get()).second) {
        return Failed(kBadParam, "a tensor is written by two operations");
      }
    }
  }
  return kSuccess;
}

// Takes nodes out of `rest` whose inputs are there, until none is left.
Status Order(Nodes rest, const std::map<Index, const Node*>& writers,
             Nodes* ordered) {
  std::set<const Node*> done;
  while (!rest.empty()) {
    Nodes waiting;
    for (auto& node : rest) {
      bool ready = true;
      for (const TensorRef& tensor : node->reads) {
        const auto writer = writers.find(tensor->uid);
        ready &= writer == writers.end() || done.count(writer->second) != 0;
      }
      if (ready) {
        done.insert(node.get());
        ordered->push_back(std::move(node));
      } else {
        waiting.push_back(std::move(node));
      }
    }
    if (waiting.size() == rest.size()) {
      return Failed(kBadParam, "operations wait for each other's results");
    }
    rest = std::move(waiting);
  }
  return kSuccess;
}

// Where the host finds a graph's tensors.
struct Job {
  std::shared_ptr<const Graph> graph;
  std::map<Index, void*> memory;
  std::map<Index, std::vector<std::byte>> by_value;

  Array Read(const TensorRef& tensor) const {
    const auto value = by_value.find(tensor->uid);
    return tensor->tensor.Read(value != by_value.end()
                                   ? value->second.data()
                                   : memory.at(tensor->uid));
  }
  void Run() const {
    Values values;
    for (const TensorRef& tensor : graph->inputs) {
      values.Set(tensor, Read(tensor));
    }
    for (const TensorRef& tensor : graph->adds_to) {
      values.SetBefore(tensor->uid, Read(tensor));
    }
    for (const auto& node : graph->nodes) node->run(values);
    for (const TensorRef& tensor : graph->outputs) {
      tensor->tensor.Write(memory.at(tensor->uid), values.Get(tensor));
    }
  }
};

}  // namespace

Status MakeGraph(Nodes nodes, std::shared_ptr<const Graph>* graph) {
  auto made = std::make_shared<Graph>();
  std::map<Index, const Node*> writers;
  if (const Status bad = FindWriters(nodes, &writers)) return bad;
  if (const Status bad = Order(std::move(nodes), writers, &made->nodes)) {
    return bad;
  }
  std::set<Index> seen;
  for (const auto& node : made->nodes) {
    for (const TensorRef& tensor : node->reads) {
      if (writers.count(tensor->uid) != 0 || !seen.insert(tensor->uid).second) {
        continue;
      }
      (tensor->is_virtual ? made->open : made->inputs).push_back(tensor);
    }
    for (const TensorRef& tensor : node->writes) {
      if (!tensor->is_virtual) made->outputs.push_back(tensor);
    }
    for (const TensorRef& tensor : node->adds_to) {
      if (tensor->is_virtual) {
        return Failed(kBadParam, "a virtual tensor has nothing to add to");
      }
      made->adds_to.push_back(tensor);
    }
  }
  *graph = std::move(made);
  return kSuccess;
}

Status RunGraph(const Driver& driver, Stream stream,
                std::shared_ptr<const Graph> graph,
                const std::map<Index, void*>& memory) {
  Job job;
  job.graph = std::move(graph);
  Work work(driver, stream);
  for (const TensorRef& tensor : job.graph->inputs) {
    const auto found = memory.find(tensor->uid);
    const std::byte* value = tensor->constant.data();
    if (tensor->constant.empty()) {
      if (found == memory.end() || found->second == nullptr) {
        return Failed(kBadParam, "the variant pack lacks an input");
      }
      value = static_cast<const std::byte*>(found->second);
    }
    if (tensor->by_value) {
      job.by_value[tensor->uid] = {value, value + tensor->tensor.SpanBytes()};
    } else {
      job.memory[tensor->uid] =
          const_cast<void*>(MapIn(work, tensor->tensor, value));
    }
  }
  for (const TensorRef& tensor : job.graph->outputs) {
    const auto found = memory.find(tensor->uid);
    if (found == memory.end() || found->second == nullptr) {
      return Failed(kBadParam, "the variant pack lacks an output");
    }
    job.memory[tensor->uid] = MapInOut(work, tensor->tensor, found->second);
  }
  return work.Run([job = std::move(job)] { job.Run(); }, /*wait=*/false)
             ? kSuccess
             : kExecutionFailed;
}

}  // namespace cerberus::libraries::cudnn
