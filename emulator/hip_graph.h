// Graphs of the HIP face: nodes of stream work, built by calls or recorded
// by a capture, run any number of times.
#ifndef CERBERUS_EMULATOR_HIP_GRAPH_H_
#define CERBERUS_EMULATOR_HIP_GRAPH_H_

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "emulator/hip_stream.h"

namespace cerberus::emulator::hip {

struct GraphNode {
  Work work;
  std::vector<GraphNode*> after;
  std::shared_ptr<struct Graph> child;  // a node that is a whole graph
};

// Nodes stand in an order in which each comes behind what it depends on.
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;

  GraphNode* Add(Work work, std::vector<GraphNode*> after);
  // A deep copy; `*map` tells the copy of each node.
  std::shared_ptr<Graph> Clone(
      std::unordered_map<const GraphNode*, GraphNode*>* map) const;
  // The order to run in; false if the dependencies form a circle.
  bool Order(std::vector<GraphNode*>* out) const;
};

// A capture that runs: the streams that take part and, for each, the nodes
// that its next node depends on.
class Capture {
 public:
  Capture(Stream* origin, unsigned mode, std::uint64_t id);

  void Add(Stream* stream, Work work);
  std::vector<GraphNode*> Front(Stream* stream);
  // `stream` waits for `nodes` from now on, and joins if it is not yet in.
  void Join(Stream* stream, const std::vector<GraphNode*>& nodes);
  // Later work of `stream` depends on nothing, until a Join().
  void ClearFront(Stream* stream);
  void Invalidate();
  bool invalid();
  // True if some stream's front is not an ancestor of the origin's.
  bool Unjoined();

  Stream* origin() const { return origin_; }
  unsigned mode() const { return mode_; }
  std::uint64_t id() const { return id_; }
  std::shared_ptr<Graph> graph() const { return graph_; }
  std::vector<Stream*> streams();

 private:
  Stream* const origin_;
  const unsigned mode_;
  const std::uint64_t id_;
  const std::shared_ptr<Graph> graph_;
  std::mutex mutex_;
  bool invalid_ = false;
  std::unordered_map<Stream*, std::vector<GraphNode*>> front_;
};

}  // namespace cerberus::emulator::hip

#endif  // CERBERUS_EMULATOR_HIP_GRAPH_H_
