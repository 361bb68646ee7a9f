// The operations of graphs, made of their descriptors.
#ifndef CERBERUS_LIBRARIES_CUDNN_OPERATIONS_H_
#define CERBERUS_LIBRARIES_CUDNN_OPERATIONS_H_

#include <memory>
#include <utility>

#include "libraries/cudnn/descriptor.h"
#include "libraries/cudnn/status.h"

namespace cerberus::libraries::cudnn {

// The node that a descriptor stands for; null for one that is no operation.
// kBadParam: tensors that do not go together.
Status MakeNode(const Descriptor& descriptor,
                std::shared_ptr<const Node>* node);

// Collects what an operation reads and writes while its descriptor is read.
class Builder {
 public:
  explicit Builder(const Descriptor& d) : d_(d) {}

  const Descriptor& d() const { return d_; }
  // The tensor of an attribute; null if none is set.
  TensorRef In(Name name) { return Find(name, &node_.reads); }
  TensorRef Out(Name name) { return Find(name, &node_.writes); }
  // All tensors of an attribute.
  std::vector<TensorRef> InAll(Name name) {
    std::vector<TensorRef> found;
    for (const auto& descriptor : d_.All(name)) {
      if (descriptor->tensor == nullptr) return {};
      node_.reads.push_back(descriptor->tensor);
      found.push_back(descriptor->tensor);
    }
    return found;
  }
  // A result that the operation adds to.
  void AddsTo(const TensorRef& tensor) { node_.adds_to.push_back(tensor); }
  // All that a graph within the operation reads and writes in memory.
  void Includes(const Graph& graph) {
    node_.reads.insert(node_.reads.end(), graph.inputs.begin(),
                       graph.inputs.end());
    node_.writes.insert(node_.writes.end(), graph.outputs.begin(),
                        graph.outputs.end());
  }
  // A configuration of that kind; null if there is none.
  const Descriptor* Config(Name name, Kind kind) const {
    const Descriptor* found = d_.Of(name);
    return found != nullptr && found->kind == kind ? found : nullptr;
  }

  template <typename F>
  Status Make(F run, std::shared_ptr<const Node>* node) {
    node_.run = std::move(run);
    *node = std::make_shared<Node>(std::move(node_));
    return kSuccess;
  }

 private:
  TensorRef Find(Name name, std::vector<TensorRef>* list) {
    const Descriptor* found = d_.Of(name);
    if (found == nullptr || found->tensor == nullptr) return nullptr;
    list->push_back(found->tensor);
    return found->tensor;
  }

  const Descriptor& d_;
  Node node_;
};

// As MakeNode, by kinds; required attributes are there, though they may be
// descriptors of another kind.
using NodeMaker = Status(Builder builder, std::shared_ptr<const Node>* node);
NodeMaker MakeConvolutionForward, MakeConvolutionBackwardData,
    MakeConvolutionBackwardFilter;
NodeMaker MakePointwise, MakeReduction, MakeConcat, MakeReshape, MakeTranspose,
    MakeSlice, MakeRng, MakePagedLoad;
NodeMaker MakeGenStats, MakeBnFinalize, MakeBnBackwardWeights, MakeNormForward,
    MakeNormBackward;
NodeMaker MakeMatmul, MakeSoftmax, MakeSdpaForward, MakeSdpaBackward,
    MakeBandMask;
NodeMaker MakeResampleForward, MakeResampleBackward;

inline const Sizes& SizesOf(const TensorRef& tensor) {
  return tensor->tensor.sizes;
}
inline Status BadTensors() {
  return Failed(kBadParam, "the operation's tensors do not go together");
}

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_OPERATIONS_H_
