// The descriptors of cuDNN's graph API: attributes of told types, set until the
// descriptor is finalized and read from then on.
#ifndef CERBERUS_LIBRARIES_CUDNN_DESCRIPTOR_H_
#define CERBERUS_LIBRARIES_CUDNN_DESCRIPTOR_H_

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "libraries/cudnn/abi.h"
#include "libraries/cudnn/graph.h"

namespace cerberus::libraries::cudnn {

// cudnnBackendDescriptorType_t.
enum class Kind : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kEngineHeuristics = 4,
  kExecutionPlan = 5,
  kKnobChoice = 7,
  kKnobInfo = 8,
  kLayoutInfo = 9,
  kOperationConvolutionForward = 10,
  kOperationConvolutionBackwardFilter = 11,
  kOperationConvolutionBackwardData = 12,
  kOperationPointwise = 13,
  kOperationGenStats = 14,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kOperationMatmul = 19,
  kOperationBnFinalizeStatistics = 20,
  kReduction = 21,
  kOperationReduction = 22,
  kOperationBnBwdWeights = 23,
  kResample = 24,
  kOperationResampleFwd = 25,
  kOperationResampleBwd = 26,
  kOperationConcat = 27,
  kOperationNormForward = 29,
  kOperationNormBackward = 30,
  kOperationReshape = 31,
  kRng = 32,
  kOperationRng = 33,
  kKernelCache = 34,
  kOperationPagedCacheLoad = 35,
  kDeviceProperties = 38,
  kOperationSdpaFwd = 41,
  kOperationSdpaBwd = 43,
  kOperationDiagonalBandMask = 44,
  kOperationSoftmax = 45,
  kOperationTranspose = 46,
  kOperationSlice = 47,
};

// cudnnBackendAttributeType_t.
enum class Type : int {
  kAny = -1,  // of the table alone
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kDouble = 5,
  kVoidPointer = 6,
  kConvolutionMode = 7,
  kHeurMode = 8,
  kKnobType = 9,
  kNanPropagation = 10,
  kNumericalNote = 11,
  kLayoutType = 12,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kGenStatsMode = 16,
  kStatsMode = 17,
  kReductionOperator = 18,
  kBehaviorNote = 19,
  kReordering = 20,
  kResampleMode = 21,
  kPaddingMode = 22,
  kInt32 = 23,
  kChar = 24,
  kFraction = 26,
  kNormMode = 27,
  kNormPhase = 28,
  kRngDistribution = 29,
  kReshapeMode = 31,
  kGraphMode = 32,
  kGraphRetention = 33,
};

// cudnnBackendAttributeName_t.
namespace attribute {
enum Name : int {
#define CUDNN_ATTRIBUTE(name, number, ...) name = number,
#include "libraries/cudnn/attributes.def"
#undef CUDNN_ATTRIBUTE
};
}  // namespace attribute
using attribute::Name;

// CUDNN_TYPE_FRACTION.
struct Fraction {
  std::int64_t numerator, denominator;
};

struct Descriptor;
struct Value {
  Type type;
  Index count = 0;
  std::vector<std::byte> bytes;
  // Of kDescriptor: what they were when they were set.
  std::vector<std::shared_ptr<const Descriptor>> descriptors;
};

struct Descriptor {
  explicit Descriptor(Kind of) : kind(of) {}

  Kind kind;
  bool finalized = false;
  std::map<int, Value> attributes;
  // What a finalized one stands for, by its kind.
  std::shared_ptr<const GraphTensor> tensor;
  std::shared_ptr<const Node> node;
  std::shared_ptr<const Graph> graph;  // also of engines and plans

  bool Has(Name name) const { return attributes.count(name) != 0; }
  // What was set, as a number; else `otherwise`.
  Index Int(Name name, Index otherwise = 0) const;
  double Number(Name name, double otherwise) const;
  Sizes Ints(Name name) const;
  std::vector<double> Numbers(Name name) const;
  std::vector<void*> Pointers(Name name) const;
  // What was set first, or null.
  const Descriptor* Of(Name name) const;
  std::vector<std::shared_ptr<const Descriptor>> All(Name name) const;
};

// Bytes of an element.
std::size_t SizeOf(Type type);

// As cudnnBackendSetAttribute and its kin have it; `elements` of kDescriptor
// are pointers to Descriptor.
bool IsKind(int number);
Status SetAttribute(Descriptor* descriptor, int name, int type, Index count,
                    const void* elements);
Status GetAttribute(const Descriptor& descriptor, int name, int type,
                    Index room, Index* count, void* elements);
Status Finalize(Descriptor* descriptor);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_DESCRIPTOR_H_
