// Graphs of operations over tensors, and how they are run.
#ifndef CERBERUS_LIBRARIES_CUDNN_GRAPH_H_
#define CERBERUS_LIBRARIES_CUDNN_GRAPH_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

struct GraphTensor;
using TensorRef = std::shared_ptr<const GraphTensor>;

struct GraphTensor {
  Index uid = 0;
  Tensor tensor;
  bool is_virtual = false;  // has no memory
  bool by_value = false;    // its pointer is the host's, read at the call
  std::vector<std::byte> constant;  // by value, from the descriptor
  // Of a ragged one: where the first dimension's parts begin, in so many
  // elements, and the last one ends.
  TensorRef starts;
  Index unit = 1;
};

// The arrays of a graph while it runs, by the tensors' ids.
class Values {
 public:
  const Array& Get(const TensorRef& tensor) const {
    return arrays_.at(tensor->uid);
  }
  // As it is in the tensor's type.
  void Set(const TensorRef& tensor, Array array) {
    RoundTo(tensor->tensor.type, &array);
    arrays_[tensor->uid] = std::move(array);
  }
  bool Has(Index uid) const { return arrays_.count(uid) != 0; }
  const Array& Before(const TensorRef& tensor) const {
    return before_.at(tensor->uid);
  }
  void SetBefore(Index uid, Array array) { before_[uid] = std::move(array); }

 private:
  std::map<Index, Array> arrays_;
  std::map<Index, Array> before_;  // of results that are added to
};

// One operation.
struct Node {
  std::vector<TensorRef> reads, writes;
  std::vector<TensorRef> adds_to;  // of those it writes
  std::function<void(Values&)> run;
};

struct Graph {
  // In an order in which each comes behind those it reads from.
  std::vector<std::shared_ptr<const Node>> nodes;
  std::vector<TensorRef> inputs;   // to be read from memory
  std::vector<TensorRef> adds_to;  // also, before they are written
  std::vector<TensorRef> outputs;  // to be written to memory
  // Virtual ones that nothing writes: such a graph is part of an operation.
  std::vector<TensorRef> open;
};

// kBadParam with a reason for one that writes a tensor twice or goes in
// circles.
Status MakeGraph(std::vector<std::shared_ptr<const Node>> nodes,
                 std::shared_ptr<const Graph>* graph);

// In the stream's order, with memory for each tensor by its id.
Status RunGraph(const Driver& driver, Stream stream,
                std::shared_ptr<const Graph> graph,
                const std::map<Index, void*>& memory);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_GRAPH_H_
