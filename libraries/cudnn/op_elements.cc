// Operations of graphs that go element by element, or move elements.
#include <algorithm>
#include <cmath>

#include "libraries/cudnn/attention.h"
#include "libraries/cudnn/operations.h"
#include "libraries/cudnn/pointwise.h"
#include "libraries/cudnn/random.h"

namespace cerberus::libraries::cudnn {
namespace {

PointwiseParameters ReadParameters(const Descriptor& config) {
  PointwiseParameters p;
  p.lower_clip =
      config.Number(attribute::POINTWISE_RELU_LOWER_CLIP, p.lower_clip);
  p.upper_clip =
      config.Number(attribute::POINTWISE_RELU_UPPER_CLIP, p.upper_clip);
  p.lower_slope =
      config.Number(attribute::POINTWISE_RELU_LOWER_CLIP_SLOPE, p.lower_slope);
  p.elu_alpha = config.Number(attribute::POINTWISE_ELU_ALPHA, p.elu_alpha);
  p.softplus_beta =
      config.Number(attribute::POINTWISE_SOFTPLUS_BETA, p.softplus_beta);
  p.swish_beta = config.Number(attribute::POINTWISE_SWISH_BETA, p.swish_beta);
  return p;
}

// The index along one dimension.
Array Indices(const Sizes& sizes, std::size_t axis) {
  Array out(sizes);
  Index inner = 1;
  for (std::size_t d = axis + 1; d < sizes.size(); ++d) inner *= sizes[d];
  for (Index i = 0; i < out.count(); ++i) {
    out[i] = static_cast<double>(i / inner % sizes[axis]);
  }
  return out;
}

// An activation's slope times that of its output. By its input, or by its
// output if that is what the operation has.
Status MakePointwiseBackward(Builder builder, Pointwise mode,
                             const PointwiseParameters& p,
                             std::shared_ptr<const Node>* node) {
  TensorRef of = builder.In(attribute::OPERATION_POINTWISE_XDESC);
  const bool by_output = of == nullptr;
  if (by_output) of = builder.In(attribute::OPERATION_POINTWISE_YDESC);
  const TensorRef dy = builder.In(attribute::OPERATION_POINTWISE_DYDESC);
  const TensorRef dx = builder.Out(attribute::OPERATION_POINTWISE_DXDESC);
  if (!of || !dy || !dx || !CanBroadcast(SizesOf(of), SizesOf(dx)) ||
      !CanBroadcast(SizesOf(dy), SizesOf(dx)) ||
      (by_output && !SlopeByOutput(mode, p, 0))) {
    return BadTensors();
  }
  return builder.Make(
      [=](Values& values) {
        const Array a = Broadcast(values.Get(of), SizesOf(dx));
        const Array b = Broadcast(values.Get(dy), SizesOf(dx));
        values.Set(dx, Zip(a, b, [&](double x, double slope) {
                     return by_output ? *SlopeByOutput(mode, p, x) * slope
                                      : ComputePointwise(mode, p, x, slope);
                   }));
      },
      node);
}

// Places of `sizes`, each with f(place).
template <typename F>
void ForEachPlace(const Sizes& sizes, const F& f) {
  Sizes place(sizes.size(), 0);
  do {
    f(place);
  } while (NextPlace(sizes, &place));
}
Index PlaceIn(const Sizes& sizes, const Sizes& place) {
  Index at = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + place[d];
  return at;
}

bool IsPermutation(const Sizes& order, std::size_t n) {
  Sizes sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size(); ++d) {
    if (sorted[d] != static_cast<Index>(d)) return false;
  }
  return sorted.size() == n;
}

}  // namespace

Status MakePointwise(Builder builder, std::shared_ptr<const Node>* node) {
  const Descriptor* config = builder.Config(
      attribute::OPERATION_POINTWISE_PW_DESCRIPTOR, Kind::kPointwise);
  if (config == nullptr) return BadTensors();
  const auto mode =
      static_cast<Pointwise>(config->Int(attribute::POINTWISE_MODE));
  const PointwiseParameters p = ReadParameters(*config);
  const int operands = OperandsOf(mode);
  if (operands == 0) return Failed(kNotSupported, "an unknown pointwise mode");
  if (mode >= kReluBackward && mode <= kGeluTanhBackward) {
    return MakePointwiseBackward(std::move(builder), mode, p, node);
  }
  const TensorRef x = builder.In(attribute::OPERATION_POINTWISE_XDESC);
  const TensorRef b =
      operands > 1 ? builder.In(attribute::OPERATION_POINTWISE_BDESC) : nullptr;
  const TensorRef t =
      operands > 2 ? builder.In(attribute::OPERATION_POINTWISE_TDESC) : nullptr;
  const TensorRef y = builder.Out(attribute::OPERATION_POINTWISE_YDESC);
  if (!x || !y || (operands > 1 && !b) || (operands > 2 && !t)) {
    return BadTensors();
  }
  for (const TensorRef& operand : {x, b, t}) {
    if (operand && !CanBroadcast(SizesOf(operand), SizesOf(y))) {
      return BadTensors();
    }
  }
  const Index axis = config->Int(attribute::POINTWISE_AXIS, -1);
  if (mode == kGenIndex) {
    if (axis < 0 || axis >= static_cast<Index>(SizesOf(y).size())) {
      return Failed(kBadParam, "the axis of indices is no dimension");
    }
    return builder.Make(
        [=](Values& values) {
          values.Set(y, Indices(SizesOf(y), static_cast<std::size_t>(axis)));
        },
        node);
  }
  const double alpha1 =
      builder.d().Number(attribute::OPERATION_POINTWISE_ALPHA1, 1);
  const double alpha2 =
      builder.d().Number(attribute::OPERATION_POINTWISE_ALPHA2, 1);
  return builder.Make(
      [=](Values& values) {
        Array out = Broadcast(values.Get(x), SizesOf(y));
        const Array second =
            b ? Broadcast(values.Get(b), SizesOf(y)) : Array(Sizes{0});
        const Array mask =
            t ? Broadcast(values.Get(t), SizesOf(y)) : Array(Sizes{0});
        for (Index i = 0; i < out.count(); ++i) {
          out[i] =
              ComputePointwise(mode, p, alpha1 * out[i],
                               b ? alpha2 * second[i] : 0, t ? mask[i] : 0);
        }
        values.Set(y, std::move(out));
      },
      node);
}

Status MakeReduction(Builder builder, std::shared_ptr<const Node>* node) {
  const Descriptor* config =
      builder.Config(attribute::OPERATION_REDUCTION_DESC, Kind::kReduction);
  const TensorRef x = builder.In(attribute::OPERATION_REDUCTION_XDESC);
  const TensorRef y = builder.Out(attribute::OPERATION_REDUCTION_YDESC);
  if (config == nullptr || !x || !y || !CanReduce(SizesOf(x), SizesOf(y))) {
    return BadTensors();
  }
  const Index op = config->Int(attribute::REDUCTION_OPERATOR);
  if (op < kReduceAdd || op > kReduceMulNoZeros ||
      builder.d().Has(attribute::OPERATION_REDUCTION_GROUP_OFFSET_DESC)) {
    return Failed(kNotSupported, "a reduction that is not computed");
  }
  return builder.Make(
      [=](Values& values) {
        values.Set(y, Reduce(static_cast<ReduceOp>(op), /*keeps_nan=*/true,
                             values.Get(x), SizesOf(y)));
      },
      node);
}

Status MakeConcat(Builder builder, std::shared_ptr<const Node>* node) {
  const std::vector<TensorRef> parts =
      builder.InAll(attribute::OPERATION_CONCAT_INPUT_DESCS);
  const TensorRef y = builder.Out(attribute::OPERATION_CONCAT_OUTPUT_DESC);
  const auto axis = static_cast<std::size_t>(
      builder.d().Int(attribute::OPERATION_CONCAT_AXIS));
  if (!y || parts.empty() || axis >= SizesOf(y).size()) return BadTensors();
  Index total = 0;
  for (const TensorRef& part : parts) {
    Sizes expected = SizesOf(y);
    if (SizesOf(part).size() != expected.size()) return BadTensors();
    expected[axis] = SizesOf(part)[axis];
    total += expected[axis];
    if (SizesOf(part) != expected || total > SizesOf(y)[axis]) {
      return BadTensors();
    }
  }
  if (total != SizesOf(y)[axis]) return BadTensors();
  return builder.Make(
      [=](Values& values) {
        Array out(SizesOf(y));
        Index begin = 0;
        for (const TensorRef& part : parts) {
          const Array& from = values.Get(part);
          Index i = 0;
          ForEachPlace(from.sizes, [&](Sizes place) {
            place[axis] += begin;
            out[PlaceIn(out.sizes, place)] = from[i++];
          });
          begin += from.sizes[axis];
        }
        values.Set(y, std::move(out));
      },
      node);
}

// Either the elements in their order, or the same memory seen with other
// strides, as the transposed matrices of attention's slopes are: virtual
// tensors have strides, too.
Status MakeReshape(Builder builder, std::shared_ptr<const Node>* node) {
  const TensorRef x = builder.In(attribute::OPERATION_RESHAPE_XDESC);
  const TensorRef y = builder.Out(attribute::OPERATION_RESHAPE_YDESC);
  const bool is_view = builder.d().Int(attribute::OPERATION_RESHAPE_MODE) == 0;
  if (!x || !y || ProductOf(SizesOf(x)) != ProductOf(SizesOf(y))) {
    return BadTensors();
  }
  // As f64, in which the memory is made here.
  Tensor from = x->tensor, to = y->tensor;
  from.type = to.type = kDouble;
  if (is_view && to.SpanBytes() > from.SpanBytes()) return BadTensors();
  return builder.Make(
      [=](Values& values) {
        Array out = values.Get(x);
        if (is_view) {
          std::vector<double> memory(from.SpanBytes() / sizeof(double));
          from.Write(memory.data(), out);
          out = to.Read(memory.data());
        }
        out.sizes = SizesOf(y);
        values.Set(y, std::move(out));
      },
      node);
}

Status MakeTranspose(Builder builder, std::shared_ptr<const Node>* node) {
  const TensorRef x = builder.In(attribute::OPERATION_TRANSPOSE_XDESC);
  const TensorRef y = builder.Out(attribute::OPERATION_TRANSPOSE_YDESC);
  const Sizes order =
      builder.d().Ints(attribute::OPERATION_TRANSPOSE_PERMUTATION);
  if (!x || !y || !IsPermutation(order, SizesOf(x).size()) ||
      SizesOf(y).size() != order.size()) {
    return BadTensors();
  }
  for (std::size_t d = 0; d < order.size(); ++d) {
    if (SizesOf(y)[d] != SizesOf(x)[static_cast<std::size_t>(order[d])]) {
      return BadTensors();
    }
  }
  return builder.Make(
      [=](Values& values) {
        const Array& from = values.Get(x);
        Array out(SizesOf(y));
        Index i = 0;
        ForEachPlace(out.sizes, [&](const Sizes& place) {
          Sizes at(place.size());
          for (std::size_t d = 0; d < place.size(); ++d) {
            at[static_cast<std::size_t>(order[d])] = place[d];
          }
          out[i++] = from[PlaceIn(from.sizes, at)];
        });
        values.Set(y, std::move(out));
      },
      node);
}

Status MakeSlice(Builder builder, std::shared_ptr<const Node>* node) {
  const TensorRef x = builder.In(attribute::OPERATION_SLICE_XDESC);
  const TensorRef y = builder.Out(attribute::OPERATION_SLICE_YDESC);
  const Sizes begin =
      builder.d().Ints(attribute::OPERATION_SLICE_START_INDICES);
  const Sizes end = builder.d().Ints(attribute::OPERATION_SLICE_LIMIT_INDICES);
  Sizes steps = builder.d().Ints(attribute::OPERATION_SLICE_STRIDES);
  if (!x || !y) return BadTensors();
  const std::size_t n = SizesOf(x).size();
  if (steps.empty()) steps.assign(n, 1);
  if (begin.size() != n || end.size() != n || steps.size() != n ||
      SizesOf(y).size() != n) {
    return BadTensors();
  }
  for (std::size_t d = 0; d < n; ++d) {
    if (begin[d] < 0 || end[d] > SizesOf(x)[d] || begin[d] >= end[d] ||
        steps[d] < 1 || steps[d] > SizesOf(x)[d] ||
        SizesOf(y)[d] != (end[d] - begin[d] + steps[d] - 1) / steps[d]) {
      return BadTensors();
    }
  }
  return builder.Make(
      [=](Values& values) {
        const Array& from = values.Get(x);
        Array out(SizesOf(y));
        Index i = 0;
        ForEachPlace(out.sizes, [&](Sizes place) {
          for (std::size_t d = 0; d < n; ++d) {
            place[d] = begin[d] + place[d] * steps[d];
          }
          out[i++] = from[PlaceIn(from.sizes, place)];
        });
        values.Set(y, std::move(out));
      },
      node);
}

Status MakeRng(Builder builder, std::shared_ptr<const Node>* node) {
  const Descriptor* config =
      builder.Config(attribute::OPERATION_RNG_DESC, Kind::kRng);
  const TensorRef seed = builder.In(attribute::OPERATION_RNG_SEED);
  const TensorRef offset = builder.In(attribute::OPERATION_RNG_OFFSET_DESC);
  const TensorRef y = builder.Out(attribute::OPERATION_RNG_YDESC);
  if (config == nullptr || !y) return BadTensors();
  const Index told_seed =
      seed ? 0 : builder.d().Int(attribute::OPERATION_RNG_SEED);
  Distribution of;
  of.kind =
      static_cast<Distribution::Kind>(config->Int(attribute::RNG_DISTRIBUTION));
  of.probability =
      config->Number(attribute::RNG_BERNOULLI_DIST_PROBABILITY, -1);
  of.mean = config->Number(attribute::RNG_NORMAL_DIST_MEAN, -1);
  of.deviation =
      config->Number(attribute::RNG_NORMAL_DIST_STANDARD_DEVIATION, -1);
  of.least = config->Number(attribute::RNG_UNIFORM_DIST_MINIMUM, -1);
  of.largest = config->Number(attribute::RNG_UNIFORM_DIST_MAXIMUM, -1);
  if (!of.IsValid()) return Failed(kBadParam, "a distribution's parameters");
  return builder.Make(
      [=](Values& values) {
        const auto number = [&](const TensorRef& tensor, Index otherwise) {
          return static_cast<std::uint64_t>(
              tensor ? static_cast<Index>(values.Get(tensor)[0]) : otherwise);
        };
        Array out(SizesOf(y));
        Draw(of, number(seed, told_seed), number(offset, 0), &out);
        values.Set(y, std::move(out));
      },
      node);
}

Status MakePagedLoad(Builder builder, std::shared_ptr<const Node>* node) {
  const TensorRef pages =
      builder.In(attribute::OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC);
  const TensorRef table =
      builder.In(attribute::OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC);
  const TensorRef lengths =
      builder.In(attribute::OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC);
  const TensorRef y = builder.Out(attribute::OPERATION_PAGED_CACHE_LOAD_YDESC);
  if (!pages || !table || !lengths || !y ||
      !ArePages(SizesOf(pages), SizesOf(table), SizesOf(y)) ||
      ProductOf(SizesOf(lengths)) != SizesOf(y)[0]) {
    return BadTensors();
  }
  return builder.Make(
      [=](Values& values) {
        values.Set(y, LoadPages(values.Get(pages), values.Get(table),
                                values.Get(lengths), SizesOf(y)));
      },
      node);
}

}  // namespace cerberus::libraries::cudnn
