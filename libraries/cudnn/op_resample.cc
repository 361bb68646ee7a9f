// Pooling as an operation of graphs.
#include <cmath>

#include "libraries/cudnn/operations.h"
#include "libraries/cudnn/pool.h"

namespace cerberus::libraries::cudnn {
namespace {

// cudnnResampleMode_t, cudnnPaddingMode_t.
enum Mode : Index { kAverageWithPadding = 2, kMaximum = 3, kAverage = 4 };
enum Padding : Index { kZeroPad = 0, kNegativeInfinityPad = 1, kEdgePad = 2 };

// Whole numbers of an attribute that may have fractions.
bool Whole(const Descriptor& config, Name name, std::size_t count,
           Sizes* numbers) {
  for (const double number : config.Numbers(name)) {
    // Not so of what is no number, too.
    if (!(std::abs(number) < 2147483648.0) || number != std::floor(number)) {
      return false;
    }
    numbers->push_back(static_cast<Index>(number));
  }
  return numbers->size() == count;
}

Status ReadPooling(const Descriptor* config, Pooling* p) {
  if (config == nullptr) return BadTensors();
  const Index mode = config->Int(attribute::RESAMPLE_MODE);
  const Index padding = config->Int(attribute::RESAMPLE_PADDING_MODE);
  const auto spatial =
      static_cast<std::size_t>(config->Int(attribute::RESAMPLE_SPATIAL_DIMS));
  if (mode != kMaximum && mode != kAverage && mode != kAverageWithPadding) {
    return Failed(kNotSupported, "interpolation");
  }
  if (spatial < 1 || spatial > 3 ||
      !Whole(*config, attribute::RESAMPLE_WINDOW_DIMS, spatial, &p->window) ||
      !Whole(*config, attribute::RESAMPLE_STRIDES, spatial, &p->strides) ||
      !Whole(*config, attribute::RESAMPLE_PRE_PADDINGS, spatial, &p->before) ||
      !Whole(*config, attribute::RESAMPLE_POST_PADDINGS, spatial, &p->after)) {
    return Failed(kNotSupported, "whole numbers for each dimension are pooled");
  }
  for (std::size_t d = 0; d < spatial; ++d) {
    if (p->window[d] < 1 || p->strides[d] < 1) return BadTensors();
  }
  p->is_max = mode == kMaximum;
  p->counts_padding = mode == kAverageWithPadding;
  if (padding == kEdgePad) p->edge = Pooling::kRepeated;
  else if (padding == kZeroPad && p->is_max) p->edge = Pooling::kZero;
  else p->edge = Pooling::kOutside;
  return kSuccess;
}

void Scale(double alpha, double beta, const TensorRef& to, Values& values,
           Array result) {
  for (Index i = 0; i < result.count(); ++i) {
    result[i] *= alpha;
    if (beta != 0) result[i] += beta * values.Before(to)[i];
  }
  values.Set(to, std::move(result));
}

}  // namespace

Status MakeResampleForward(Builder builder, std::shared_ptr<const Node>* node) {
  Pooling p;
  if (const Status bad =
          ReadPooling(builder.Config(attribute::OPERATION_RESAMPLE_FWD_DESC,
                                     Kind::kResample),
                      &p)) {
    return bad;
  }
  const TensorRef x = builder.In(attribute::OPERATION_RESAMPLE_FWD_XDESC);
  const TensorRef y = builder.Out(attribute::OPERATION_RESAMPLE_FWD_YDESC);
  const TensorRef places =
      builder.Out(attribute::OPERATION_RESAMPLE_FWD_IDXDESC);
  const double alpha =
      builder.d().Number(attribute::OPERATION_RESAMPLE_FWD_ALPHA, 1);
  const double beta =
      builder.d().Number(attribute::OPERATION_RESAMPLE_FWD_BETA, 0);
  if (!x || !y || PooledSizes(p, SizesOf(x)) != SizesOf(y) ||
      (places && (SizesOf(places) != SizesOf(y) || !p.is_max))) {
    return BadTensors();
  }
  if (beta != 0) builder.AddsTo(y);
  return builder.Make(
      [=](Values& values) {
        Array at;
        Array result =
            Pool(p, values.Get(x), SizesOf(y), places ? &at : nullptr);
        Scale(alpha, beta, y, values, std::move(result));
        if (places) values.Set(places, std::move(at));
      },
      node);
}

Status MakeResampleBackward(Builder builder,
                            std::shared_ptr<const Node>* node) {
  Pooling p;
  if (const Status bad =
          ReadPooling(builder.Config(attribute::OPERATION_RESAMPLE_BWD_DESC,
                                     Kind::kResample),
                      &p)) {
    return bad;
  }
  const TensorRef dy = builder.In(attribute::OPERATION_RESAMPLE_BWD_DYDESC);
  const TensorRef dx = builder.Out(attribute::OPERATION_RESAMPLE_BWD_DXDESC);
  const TensorRef places =
      builder.In(attribute::OPERATION_RESAMPLE_BWD_IDXDESC);
  const TensorRef x = builder.In(attribute::OPERATION_RESAMPLE_BWD_XDESC);
  const double alpha =
      builder.d().Number(attribute::OPERATION_RESAMPLE_BWD_ALPHA, 1);
  const double beta =
      builder.d().Number(attribute::OPERATION_RESAMPLE_BWD_BETA, 0);
  if (!dy || !dx || PooledSizes(p, SizesOf(dx)) != SizesOf(dy) ||
      (places && SizesOf(places) != SizesOf(dy)) ||
      (x && SizesOf(x) != SizesOf(dx)) || (p.is_max && !places && !x)) {
    return BadTensors();
  }
  if (beta != 0) builder.AddsTo(dx);
  return builder.Make(
      [=](Values& values) {
        Array at;
        if (p.is_max && places) at = values.Get(places);
        else if (p.is_max) Pool(p, values.Get(x), SizesOf(dy), &at);
        Scale(alpha, beta, dx, values,
              PoolBackward(p, values.Get(dy), SizesOf(dx), &at));
      },
      node);
}

}  // namespace cerberus::libraries::cudnn
