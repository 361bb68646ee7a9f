#include "libraries/cudnn/operations.h"

#include "libraries/cudnn/convolve.h"

namespace cerberus::libraries::cudnn {
namespace {

// Whether sums are to be f64: of f64 and, to be exact, of integers.
bool IsWide(DataType type) {
  return type == kDouble || type == kInt32 || type == kInt64;
}

bool ReadConvolution(const Descriptor* config, Convolution* c) {
  if (config == nullptr) return false;
  c->before = config->Ints(attribute::CONVOLUTION_PRE_PADDINGS);
  c->after = config->Ints(attribute::CONVOLUTION_POST_PADDINGS);
  c->strides = config->Ints(attribute::CONVOLUTION_FILTER_STRIDES);
  c->dilations = config->Ints(attribute::CONVOLUTION_DILATIONS);
  c->flips = config->Int(attribute::CONVOLUTION_CONV_MODE) == kConvolution;
  c->wide = IsWide(
      static_cast<DataType>(config->Int(attribute::CONVOLUTION_COMP_TYPE)));
  return true;
}

// alpha * result + beta * what was there.
void Blend(double alpha, double beta, const TensorRef& to, Array result,
           Values& values) {
  for (double& value : result.values) value *= alpha;
  if (beta != 0) {
    const Array& before = values.Before(to);
    for (Index i = 0; i < result.count(); ++i) result[i] += beta * before[i];
  }
  values.Set(to, std::move(result));
}

// The names of one direction's attributes: two that it reads, one it writes.
struct ConvolutionNames {
  Name first, second, result, config, alpha, beta;
};
// `check` and `run` take the three tensors in the order of the names.
template <typename Check, typename Run>
Status MakeConvolution(Builder builder, const ConvolutionNames& names,
                       const Check& check, const Run& run,
                       std::shared_ptr<const Node>* node) {
  Convolution c;
  const TensorRef first = builder.In(names.first);
  const TensorRef second = builder.In(names.second);
  const TensorRef result = builder.Out(names.result);
  if (!first || !second || !result ||
      !ReadConvolution(builder.Config(names.config, Kind::kConvolution), &c)) {
    return BadTensors();
  }
  if (const Status bad =
          check(c, SizesOf(first), SizesOf(second), SizesOf(result))) {
    return Failed(bad, "the tensors make no convolution");
  }
  const double alpha = builder.d().Number(names.alpha, 1);
  const double beta = builder.d().Number(names.beta, 0);
  if (beta != 0) builder.AddsTo(result);
  return builder.Make(
      [=](Values& values) {
        Blend(alpha, beta, result,
              run(c, values.Get(first), values.Get(second), SizesOf(result)),
              values);
      },
      node);
}

}  // namespace

Status MakeConvolutionForward(Builder builder,
                              std::shared_ptr<const Node>* node) {
  constexpr ConvolutionNames kNames = {
      attribute::OPERATION_CONVOLUTION_FORWARD_X,
      attribute::OPERATION_CONVOLUTION_FORWARD_W,
      attribute::OPERATION_CONVOLUTION_FORWARD_Y,
      attribute::OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      attribute::OPERATION_CONVOLUTION_FORWARD_ALPHA,
      attribute::OPERATION_CONVOLUTION_FORWARD_BETA};
  return MakeConvolution(std::move(builder), kNames, CheckConvolution,
                         ConvolveForward, node);
}
Status MakeConvolutionBackwardData(Builder builder,
                                   std::shared_ptr<const Node>* node) {
  constexpr ConvolutionNames kNames = {
      attribute::OPERATION_CONVOLUTION_BWD_DATA_W,
      attribute::OPERATION_CONVOLUTION_BWD_DATA_DY,
      attribute::OPERATION_CONVOLUTION_BWD_DATA_DX,
      attribute::OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      attribute::OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      attribute::OPERATION_CONVOLUTION_BWD_DATA_BETA};
  const auto check = [](const Convolution& c, const Sizes& w, const Sizes& dy,
                        const Sizes& dx) {
    return CheckConvolution(c, dx, w, dy);
  };
  return MakeConvolution(std::move(builder), kNames, check,
                         ConvolveBackwardData, node);
}
Status MakeConvolutionBackwardFilter(Builder builder,
                                     std::shared_ptr<const Node>* node) {
  constexpr ConvolutionNames kNames = {
      attribute::OPERATION_CONVOLUTION_BWD_FILTER_X,
      attribute::OPERATION_CONVOLUTION_BWD_FILTER_DY,
      attribute::OPERATION_CONVOLUTION_BWD_FILTER_DW,
      attribute::OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      attribute::OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      attribute::OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  const auto check = [](const Convolution& c, const Sizes& x, const Sizes& dy,
                        const Sizes& dw) {
    return CheckConvolution(c, x, dw, dy);
  };
  return MakeConvolution(std::move(builder), kNames, check,
                         ConvolveBackwardFilter, node);
}

Status MakeNode(const Descriptor& d, std::shared_ptr<const Node>* node) {
  const Builder b(d);
  switch (d.kind) {
    case Kind::kOperationConvolutionForward:
      return MakeConvolutionForward(b, node);
    case Kind::kOperationConvolutionBackwardData:
      return MakeConvolutionBackwardData(b, node);
    case Kind::kOperationConvolutionBackwardFilter:
      return MakeConvolutionBackwardFilter(b, node);
    case Kind::kOperationPointwise: return MakePointwise(b, node);
    case Kind::kOperationReduction: return MakeReduction(b, node);
    case Kind::kOperationConcat: return MakeConcat(b, node);
    case Kind::kOperationReshape: return MakeReshape(b, node);
    case Kind::kOperationTranspose: return MakeTranspose(b, node);
    case Kind::kOperationSlice: return MakeSlice(b, node);
    case Kind::kOperationRng: return MakeRng(b, node);
    case Kind::kOperationPagedCacheLoad: return MakePagedLoad(b, node);
    case Kind::kOperationGenStats: return MakeGenStats(b, node);
    case Kind::kOperationBnFinalizeStatistics: return MakeBnFinalize(b, node);
    case Kind::kOperationBnBwdWeights: return MakeBnBackwardWeights(b, node);
    case Kind::kOperationNormForward: return MakeNormForward(b, node);
    case Kind::kOperationNormBackward: return MakeNormBackward(b, node);
    case Kind::kOperationMatmul: return MakeMatmul(b, node);
    case Kind::kOperationSoftmax: return MakeSoftmax(b, node);
    case Kind::kOperationSdpaFwd: return MakeSdpaForward(b, node);
    case Kind::kOperationSdpaBwd: return MakeSdpaBackward(b, node);
    case Kind::kOperationDiagonalBandMask: return MakeBandMask(b, node);
    case Kind::kOperationResampleFwd: return MakeResampleForward(b, node);
    case Kind::kOperationResampleBwd: return MakeResampleBackward(b, node);
    default: return kSuccess;  // what others are made of
  }
}

}  // namespace cerberus::libraries::cudnn
