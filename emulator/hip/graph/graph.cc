#include "emulator/hip/graph/graph.h"

#include <algorithm>
#include <unordered_set>

namespace cerberus::emulator::hip {

GraphNode* Graph::Add(Work work, std::vector<GraphNode*> after) {
  std::unique_ptr<GraphNode> node = std::make_unique<GraphNode>();
  node->work = std::move(work);
  node->after = std::move(after);
  node->owner = this;
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

void GraphNode::SetCooperative(bool cooperative) {
  Launch launch = std::get<Launch>(work.params->value);
  if (launch.cooperative == cooperative) return;
  launch.cooperative = cooperative;
  Gpu* gpu = launch.function->module->gpu;
  work = LaunchWork(gpu, std::move(launch));
}

std::shared_ptr<Graph> Graph::Clone(
    std::unordered_map<const GraphNode*, GraphNode*>* map) const {
  std::shared_ptr<Graph> copy = std::make_shared<Graph>();
  copy->kept = kept;
  for (const std::unique_ptr<GraphNode>& node : nodes) {
    GraphNode* made = copy->Add(node->work, {});
    made->enabled = node->enabled;
    made->attributes = node->attributes;
    if (node->child) made->child = node->child->Clone(map);
    (*map)[node.get()] = made;
  }
  for (const std::unique_ptr<GraphNode>& node : nodes) {
    for (GraphNode* before : node->after) {
      (*map)[node.get()]->after.push_back((*map)[before]);
    }
  }
  return copy;
}

bool Graph::Order(std::vector<GraphNode*>* out) const {
  std::unordered_set<const GraphNode*> done;
  while (out->size() < nodes.size()) {
    const std::size_t before = out->size();
    for (const std::unique_ptr<GraphNode>& node : nodes) {
      if (done.count(node.get()) != 0) continue;
      const bool ready = std::all_of(
          node->after.begin(), node->after.end(),
          [&done](const GraphNode* n) { return done.count(n) != 0; });
      if (!ready) continue;
      done.insert(node.get());
      out->push_back(node.get());
    }
    if (out->size() == before) return false;
  }
  return true;
}

Capture::Capture(Stream* origin, unsigned mode, std::uint64_t id,
                 std::shared_ptr<Graph> graph, std::vector<GraphNode*> front)
    : origin_(origin),
      mode_(mode),
      id_(id),
      made_graph_(graph == nullptr),
      graph_(graph ? std::move(graph) : std::make_shared<Graph>()) {
  front_[origin] = std::move(front);
}

void Capture::Add(Stream* stream, Work work) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<GraphNode*>& front = front_[stream];
  front = {graph_->Add(std::move(work), front)};
}

std::vector<GraphNode*> Capture::Front(Stream* stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  return front_[stream];
}

void Capture::Join(Stream* stream, const std::vector<GraphNode*>& nodes) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<GraphNode*>& front = front_[stream];
  for (GraphNode* node : nodes) {
    if (std::find(front.begin(), front.end(), node) == front.end()) {
      front.push_back(node);
    }
  }
}

void Capture::ClearFront(Stream* stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  front_[stream].clear();
}

void Capture::Leave(Stream* stream) {
  if (stream == origin_) return Invalidate();
  std::lock_guard<std::mutex> lock(mutex_);
  const std::vector<GraphNode*>& front = front_[stream];
  left_.insert(left_.end(), front.begin(), front.end());
  front_.erase(stream);
}

void Capture::Invalidate() {
  std::lock_guard<std::mutex> lock(mutex_);
  invalid_ = true;
}

bool Capture::invalid() {
  std::lock_guard<std::mutex> lock(mutex_);
  return invalid_;
}

bool Capture::Unjoined() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::unordered_set<const GraphNode*> seen;
  std::vector<const GraphNode*> todo(front_[origin_].begin(),
                                     front_[origin_].end());
  while (!todo.empty()) {
    const GraphNode* node = todo.back();
    todo.pop_back();
    if (!seen.insert(node).second) continue;
    todo.insert(todo.end(), node->after.begin(), node->after.end());
  }
  const auto is_new = [&seen](const GraphNode* node) {
    return seen.count(node) == 0;
  };
  for (const auto& [stream, front] : front_) {
    if (std::any_of(front.begin(), front.end(), is_new)) return true;
  }
  return std::any_of(left_.begin(), left_.end(), is_new);
}

bool IsCapturing(const std::shared_ptr<Stream>& stream) {
  std::lock_guard<std::mutex> lock(stream->gpu()->order);
  return stream->capture != nullptr;
}

std::string DotOf(const Graph& graph) {
  static constexpr const char* kNames[] = {
      "kernel", "memcpy",           "memset",         "host",
      "empty",  "event wait",       "event record",   "allocate",
      "free",   "semaphore signal", "semaphore wait", "memory operations"};
  std::unordered_map<const GraphNode*, std::size_t> numbers;
  std::string text = "digraph graph_of_hip {\n";
  for (const std::unique_ptr<GraphNode>& node : graph.nodes) {
    const std::size_t number = numbers.size();
    numbers[node.get()] = number;
    std::string label = node->child
                            ? "graph"
                            : kNames[static_cast<std::size_t>(node->work.kind)];
    if (node->work.params) {
      const Launch* launch = std::get_if<Launch>(&node->work.params->value);
      if (launch != nullptr) label += " " + launch->function->info->name;
    }
    text += "  n" + std::to_string(number) + " [label=\"" + label + "\"];\n";
  }
  for (const std::unique_ptr<GraphNode>& node : graph.nodes) {
    for (const GraphNode* before : node->after) {
      text += "  n" + std::to_string(numbers[before]) + " -> n" +
              std::to_string(numbers[node.get()]) + ";\n";
    }
  }
  return text + "}\n";
}

}  // namespace cerberus::emulator::hip
