// The descriptors of cuDNN's API before graphs, and how its functions name
// what they read and write.
#ifndef CERBERUS_LIBRARIES_CUDNN_LEGACY_H_
#define CERBERUS_LIBRARIES_CUDNN_LEGACY_H_

#include <algorithm>

#include "libraries/cudnn/convolve.h"
#include "libraries/cudnn/handle.h"
#include "libraries/cudnn/pointwise.h"

namespace cerberus::libraries::cudnn {

inline constexpr int kMostDimensions = 8;  // CUDNN_DIM_MAX

struct TensorDescriptor {
  Tensor tensor;           // without sizes until it is set
  DataType told = kFloat;  // with the vectors of kInt8x4 and its kin
};
using TensorDesc = TensorDescriptor*;

struct FilterDescriptor {
  Tensor tensor;
  DataType told = kFloat;
  Format format = kNchw;
};
using FilterDesc = FilterDescriptor*;

struct ConvolutionDescriptor {
  Sizes padding, strides, dilations;
  ConvolutionMode mode = kConvolution;
  DataType compute = kFloat;
  int groups = 1, math = 0, reorder = 0;
};
using ConvolutionDesc = ConvolutionDescriptor*;

struct ActivationDescriptor {
  Activation activation;
};
using ActivationDesc = ActivationDescriptor*;

struct DropoutDescriptor {
  float probability = 0;
  void* states = nullptr;
  unsigned long long seed = 0;
};
using DropoutDesc = DropoutDescriptor*;

// A packed tensor's strides in that order; of vectors for kNchwVectC.
Status LayOut(Format format, DataType type, const Sizes& sizes, Tensor* tensor);
inline bool IsSet(const TensorDescriptor* desc) {
  return desc != nullptr && !desc->tensor.sizes.empty();
}
inline bool IsSet(const FilterDescriptor* desc) {
  return desc != nullptr && !desc->tensor.sizes.empty();
}

// An activation by its results in memory of a type: clipped ones are what that
// type has for the end.
inline Activation Stored(Activation activation, DataType type) {
  if (activation.mode == kClippedRelu) {
    Array end({1}, activation.coefficient);
    RoundTo(type, &end);
    activation.coefficient = end[0];
  }
  return activation;
}

// A scaling factor: f64 for tensors of f64, else f32, in the host's memory.
inline double ScalarOf(const void* scalar, DataType type) {
  return type == kDouble
             ? *static_cast<const double*>(scalar)
             : static_cast<double>(*static_cast<const float*>(scalar));
}

// What the work reads, and writes: alpha * result + beta * what was there.
struct Input {
  Tensor tensor;
  const void* memory = nullptr;

  Array Read() const { return tensor.Read(memory); }
  explicit operator bool() const { return memory != nullptr; }
};
struct Output {
  Tensor tensor;
  void* memory = nullptr;
  double alpha = 1, beta = 0;

  void Store(Array result) const {
    if (memory == nullptr) return;
    if (alpha != 1) {
      for (double& value : result.values) value *= alpha;
    }
    if (beta != 0) {
      const Array before = tensor.Read(memory);
      for (Index i = 0; i < result.count(); ++i) result[i] += beta * before[i];
    }
    tensor.Write(memory, result);
  }
  explicit operator bool() const { return memory != nullptr; }
};
inline Input Read(Call& call, const Tensor& tensor, const void* memory) {
  return {tensor, memory == nullptr ? nullptr : call.In(tensor, memory)};
}
inline Output Write(Call& call, const Tensor& tensor, void* memory) {
  return {tensor, memory == nullptr ? nullptr : call.Out(tensor, memory)};
}
inline Output Write(Call& call, const Tensor& tensor, void* memory,
                    const void* alpha, const void* beta) {
  Output output = Write(call, tensor, memory);
  output.alpha = ScalarOf(alpha, tensor.type);
  output.beta = ScalarOf(beta, tensor.type);
  return output;
}

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_LEGACY_H_
