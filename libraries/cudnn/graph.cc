#include "libraries/cudnn/graph.h"

#include <algorithm>
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
    const void* const from =
        value != by_value.end() ? value->second.data() : memory.at(tensor->uid);
    return tensor->starts == nullptr
               ? tensor->tensor.Read(from)
               : tensor->tensor.ReadRagged(from, StartsOf(tensor));
  }
  void Write(const TensorRef& tensor, const Array& array) const {
    void* const to = memory.at(tensor->uid);
    if (tensor->starts == nullptr) tensor->tensor.Write(to, array);
    else tensor->tensor.WriteRagged(to, StartsOf(tensor), array);
  }
  Sizes StartsOf(const TensorRef& tensor) const {
    Sizes starts;
    for (const double start : Read(tensor->starts).values) {
      starts.push_back(static_cast<Index>(start) * tensor->unit);
    }
    return starts;
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
      Write(tensor, values.Get(tensor));
    }
  }
};

// Memory of a tensor where the host finds it. Of a ragged one only its offsets
// tell how much there is, which are waited for where memory is not shared.
// Null: they cannot be had.
void* Map(Work& work, const TensorRef& tensor, const void* starts, void* memory,
          bool out) {
  const Tensor& t = tensor->tensor;
  if (tensor->starts == nullptr) {
    return out ? MapInOut(work, t, memory)
               : const_cast<void*>(MapIn(work, t, memory));
  }
  if (work.shares_memory()) return memory;
  const Tensor& offsets = tensor->starts->tensor;
  std::vector<std::byte> read(offsets.SpanBytes());
  if (starts == nullptr || !work.ReadNow(read.data(), starts, read.size())) {
    return nullptr;
  }
  const Array all = offsets.Read(read.data());
  const auto elements =
      static_cast<std::size_t>(std::max(all.values.back(), 0.0)) *
      static_cast<std::size_t>(tensor->unit);
  const std::size_t bytes =
      (elements * static_cast<std::size_t>(BitsOf(t.type)) + 7) / 8;
  auto* const from = static_cast<std::byte*>(memory);
  return out ? work.InOut(from, bytes)
             : const_cast<std::byte*>(
                   work.In(static_cast<const std::byte*>(from), bytes));
}

Status NoStarts() {
  return Failed(kExecutionFailed, "a ragged tensor's offsets cannot be read");
}

}  // namespace

Status MakeGraph(Nodes nodes, std::shared_ptr<const Graph>* graph) {
  auto made = std::make_shared<Graph>();
  std::map<Index, const Node*> writers;
  if (const Status bad = FindWriters(nodes, &writers)) return bad;
  if (const Status bad = Order(std::move(nodes), writers, &made->nodes)) {
    return bad;
  }
  std::set<Index> seen;
  const auto read_starts = [&](const TensorRef& of) {
    if (!of->is_virtual && of->starts && seen.insert(of->starts->uid).second) {
      made->inputs.push_back(of->starts);
    }
  };
  for (const auto& node : made->nodes) {
    for (const TensorRef& tensor : node->reads) {
      read_starts(tensor);
      if (writers.count(tensor->uid) != 0 || !seen.insert(tensor->uid).second) {
        continue;
      }
      (tensor->is_virtual ? made->open : made->inputs).push_back(tensor);
    }
    for (const TensorRef& tensor : node->writes) {
      read_starts(tensor);
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
  const auto given = [&](const TensorRef& tensor) -> void* {
    const auto found = tensor ? memory.find(tensor->uid) : memory.end();
    return found == memory.end() ? nullptr : found->second;
  };
  for (const TensorRef& tensor : job.graph->inputs) {
    const std::byte* value = tensor->constant.data();
    if (tensor->constant.empty()) {
      value = static_cast<const std::byte*>(given(tensor));
    }
    if (value == nullptr) {
      return Failed(kBadParam, "the variant pack lacks an input");
    }
    if (tensor->by_value) {
      job.by_value[tensor->uid] = {value, value + tensor->tensor.SpanBytes()};
      continue;
    }
    void* const mapped = Map(work, tensor, given(tensor->starts),
                             const_cast<std::byte*>(value), /*out=*/false);
    if (mapped == nullptr) return NoStarts();
    job.memory[tensor->uid] = mapped;
  }
  for (const TensorRef& tensor : job.graph->outputs) {
    void* const place = given(tensor);
    if (place == nullptr) {
      return Failed(kBadParam, "the variant pack lacks an output");
    }
    void* const mapped =
        Map(work, tensor, given(tensor->starts), place, /*out=*/true);
    if (mapped == nullptr) return NoStarts();
    job.memory[tensor->uid] = mapped;
  }
  return work.Run([job = std::move(job)] { job.Run(); }, /*wait=*/false)
             ? kSuccess
             : kExecutionFailed;
}

}  // namespace cerberus::libraries::cudnn
