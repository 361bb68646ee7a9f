// Convolutions as functions.
#include "libraries/cudnn/legacy.h"

namespace cerberus::libraries::cudnn {
namespace {

// cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t.
struct Performance {
  int algorithm;
  Told status;
  float time;
  std::size_t memory;
  int determinism;
  int math;
  int reserved[3];
};
static_assert(sizeof(Performance) == 48);

// The numbers of algorithms, all of which do the same here, and which of them
// is said to be it: one that needs no workspace and gives the same each time.
struct Algorithms {
  int count, chosen;
};
constexpr Algorithms kForward = {8, 1}, kData = {6, 1}, kFilter = {7, 1};

Status Choose(const Algorithms& algorithms, const ConvolutionDescriptor& c,
              int room, int* count, Performance* results) {
  if (room < 1 || count == nullptr || results == nullptr) return kBadParam;
  *count = 1;
  *results = {};
  results->algorithm = algorithms.chosen;
  results->status = ToldOf(kSuccess);
  results->time = 1;
  results->determinism = 1;
  results->math = c.math;
  return kSuccess;
}
Status Count(const Algorithms& algorithms, int* count) {
  if (count == nullptr) return kBadParam;
  *count = algorithms.count;
  return kSuccess;
}

Convolution ConvolutionOf(const ConvolutionDescriptor& desc) {
  Convolution c;
  c.before = c.after = desc.padding;
  c.strides = desc.strides;
  c.dilations = desc.dilations;
  c.flips = desc.mode == kConvolution;
  c.wide = desc.compute == kDouble || desc.compute == kInt32;
  return c;
}

// The three tensors of a convolution, whichever of them is the result.
struct Operands {
  const TensorDescriptor* x;
  const FilterDescriptor* w;
  const ConvolutionDescriptor* convolution;
  const TensorDescriptor* y;

  Status Check() const {
    if (!IsSet(x) || !IsSet(w) || !IsSet(y) || convolution == nullptr ||
        convolution->strides.empty()) {
      return kBadParam;
    }
    if (const Status bad =
            CheckConvolution(ConvolutionOf(*convolution), x->tensor.sizes,
                             w->tensor.sizes, y->tensor.sizes)) {
      return bad;
    }
    const bool grouped =
        x->tensor.sizes[1] == w->tensor.sizes[1] * Index{convolution->groups};
    return grouped ? kSuccess : Failed(kBadParam, "the number of groups");
  }
};
// One that only asks.
Status Ask(const Operands& operands, const Algorithms& algorithms, int room,
           int* count, Performance* results) {
  if (const Status bad = operands.Check()) return bad;
  return Choose(algorithms, *operands.convolution, room, count, results);
}
Status Workspace(const Operands& operands, const Algorithms& algorithms,
                 int algorithm, std::size_t* bytes) {
  if (const Status bad = operands.Check()) return bad;
  if (bytes == nullptr || algorithm < 0 || algorithm >= algorithms.count) {
    return kBadParam;
  }
  *bytes = 0;
  return kSuccess;
}

Status RunForward(Handle handle, const void* alpha, const void* x,
                  const void* w, const void* beta, void* y,
                  const Operands& operands) {
  if (!alpha || !beta || !x || !w || !y) return kBadParam;
  if (const Status bad = operands.Check()) return bad;
  Call call(handle);
  const Input image = Read(call, operands.x->tensor, x);
  const Input filter = Read(call, operands.w->tensor, w);
  const Output out = Write(call, operands.y->tensor, y, alpha, beta);
  return call.Run([=, c = ConvolutionOf(*operands.convolution)] {
    out.Store(
        ConvolveForward(c, image.Read(), filter.Read(), out.tensor.sizes));
  });
}

template <typename F>
Status SetConvolution(ConvolutionDesc desc, std::size_t spatial, const F& at,
                      ConvolutionMode mode, DataType compute) {
  if (desc == nullptr || spatial < 1) return kBadParam;
  if (spatial > 3) return kNotSupported;
  if (mode != kConvolution && mode != kCrossCorrelation) return kBadParam;
  Sizes padding, strides, dilations;
  for (std::size_t d = 0; d < spatial; ++d) {
    const auto [pad, stride, dilation] = at(d);
    if (pad < 0 || stride < 1 || dilation < 1) return kBadParam;
    padding.push_back(pad);
    strides.push_back(stride);
    dilations.push_back(dilation);
  }
  desc->padding = std::move(padding);
  desc->strides = std::move(strides);
  desc->dilations = std::move(dilations);
  desc->mode = mode;
  desc->compute = compute;
  return kSuccess;
}
struct Spatial {
  int padding, stride, dilation;
};

}  // namespace

CUDNN_API Told cudnnCreateConvolutionDescriptor(ConvolutionDesc* desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyConvolutionDescriptor(ConvolutionDesc desc) {
  return Destroy(desc);
}
#define CUDNN_FIELD(Field, member, least)                                      \
  CUDNN_API Told cudnnSetConvolution##Field(ConvolutionDesc desc, int value) { \
    return Tell([&] {                                                          \
      if (desc == nullptr || value < (least)) return kBadParam;                \
      desc->member = value;                                                    \
      return kSuccess;                                                         \
    });                                                                        \
  }                                                                            \
  CUDNN_API Told cudnnGetConvolution##Field(ConvolutionDesc desc,              \
                                            int* value) {                      \
    return Tell([&] {                                                          \
      if (desc == nullptr || value == nullptr) return kBadParam;               \
      *value = desc->member;                                                   \
      return kSuccess;                                                         \
    });                                                                        \
  }
CUDNN_FIELD(MathType, math, 0)
CUDNN_FIELD(GroupCount, groups, 1)
CUDNN_FIELD(ReorderType, reorder, 0)
#undef CUDNN_FIELD

CUDNN_API Told cudnnSetConvolution2dDescriptor(ConvolutionDesc desc, int pad_h,
                                               int pad_w, int u, int v,
                                               int dilation_h, int dilation_w,
                                               ConvolutionMode mode,
                                               DataType compute) {
  return Tell([&] {
    const Spatial both[] = {{pad_h, u, dilation_h}, {pad_w, v, dilation_w}};
    return SetConvolution(
        desc, 2, [&](std::size_t d) { return both[d]; }, mode, compute);
  });
}
CUDNN_API Told cudnnGetConvolution2dDescriptor(
    const ConvolutionDescriptor* desc, int* pad_h, int* pad_w, int* u, int* v,
    int* dilation_h, int* dilation_w, ConvolutionMode* mode,
    DataType* compute) {
  return Tell([&] {
    if (desc == nullptr || desc->strides.size() != 2) return kBadParam;
    Put(pad_h, desc->padding[0]), Put(pad_w, desc->padding[1]);
    Put(u, desc->strides[0]), Put(v, desc->strides[1]);
    Put(dilation_h, desc->dilations[0]), Put(dilation_w, desc->dilations[1]);
    Put(mode, desc->mode), Put(compute, desc->compute);
    return kSuccess;
  });
}
CUDNN_API Told cudnnSetConvolutionNdDescriptor(
    ConvolutionDesc desc, int count, const int* padding, const int* strides,
    const int* dilations, ConvolutionMode mode, DataType compute) {
  return Tell([&] {
    if (count < 1 || !padding || !strides || !dilations) return kBadParam;
    return SetConvolution(
        desc, static_cast<std::size_t>(count),
        [&](std::size_t d) {
          return Spatial{padding[d], strides[d], dilations[d]};
        },
        mode, compute);
  });
}
CUDNN_API Told cudnnGetConvolutionNdDescriptor(
    const ConvolutionDescriptor* desc, int room, int* count, int* padding,
    int* strides, int* dilations, ConvolutionMode* mode, DataType* compute) {
  return Tell([&] {
    if (desc == nullptr || room < 0) return kBadParam;
    Put(count, desc->strides.size());
    for (int d = 0; d < room; ++d) {
      const auto at = static_cast<std::size_t>(d);
      if (at >= desc->strides.size()) break;
      if (padding != nullptr) Put(padding + d, desc->padding[at]);
      if (strides != nullptr) Put(strides + d, desc->strides[at]);
      if (dilations != nullptr) Put(dilations + d, desc->dilations[at]);
    }
    Put(mode, desc->mode), Put(compute, desc->compute);
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetConvolutionNdForwardOutputDim(
    const ConvolutionDescriptor* desc, const TensorDescriptor* x,
    const FilterDescriptor* w, int count, int* sizes) {
  return Tell([&] {
    if (!desc || !IsSet(x) || !IsSet(w) || !sizes ||
        x->tensor.sizes.size() != desc->strides.size() + 2 ||
        w->tensor.sizes.size() != x->tensor.sizes.size() ||
        count != static_cast<int>(x->tensor.sizes.size()) ||
        x->tensor.sizes[1] != w->tensor.sizes[1] * Index{desc->groups}) {
      return kBadParam;
    }
    const Sizes y =
        ConvolvedSizes(ConvolutionOf(*desc), x->tensor.sizes, w->tensor.sizes);
    for (std::size_t d = 0; d < y.size(); ++d) {
      if (y[d] < 1) return kBadParam;
      sizes[d] = static_cast<int>(y[d]);
    }
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetConvolution2dForwardOutputDim(
    const ConvolutionDescriptor* desc, const TensorDescriptor* x,
    const FilterDescriptor* w, int* n, int* c, int* h, int* w_out) {
  int sizes[4];
  const Told told = cudnnGetConvolutionNdForwardOutputDim(desc, x, w, 4, sizes);
  if (told != ToldOf(kSuccess)) return told;
  Put(n, sizes[0]), Put(c, sizes[1]), Put(h, sizes[2]), Put(w_out, sizes[3]);
  return told;
}

// --- forward
CUDNN_API Told cudnnGetConvolutionForwardAlgorithmMaxCount(Handle handle,
                                                           int* count) {
  return Tell(handle, [&] { return Count(kForward, count); });
}
CUDNN_API Told cudnnGetConvolutionForwardAlgorithm_v7(
    Handle handle, const TensorDescriptor* x, const FilterDescriptor* w,
    const ConvolutionDescriptor* c, const TensorDescriptor* y, int room,
    int* count, Performance* results) {
  return Tell(handle, [&] {
    return Ask({x, w, c, y}, kForward, room, count, results);
  });
}
CUDNN_API Told cudnnFindConvolutionForwardAlgorithm(
    Handle handle, const TensorDescriptor* x, const FilterDescriptor* w,
    const ConvolutionDescriptor* c, const TensorDescriptor* y, int room,
    int* count, Performance* results) {
  return cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, c, y, room, count,
                                                results);
}
CUDNN_API Told cudnnFindConvolutionForwardAlgorithmEx(
    Handle handle, const TensorDescriptor* x, const void*,
    const FilterDescriptor* w, const void*, const ConvolutionDescriptor* c,
    const TensorDescriptor* y, void*, int room, int* count,
    Performance* results, void*, std::size_t) {
  return cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, c, y, room, count,
                                                results);
}
CUDNN_API Told cudnnGetConvolutionForwardWorkspaceSize(
    Handle handle, const TensorDescriptor* x, const FilterDescriptor* w,
    const ConvolutionDescriptor* c, const TensorDescriptor* y, int algorithm,
    std::size_t* bytes) {
  return Tell(handle, [&] {
    return Workspace({x, w, c, y}, kForward, algorithm, bytes);
  });
}
CUDNN_API Told cudnnConvolutionForward(
    Handle handle, const void* alpha, const TensorDescriptor* x_desc,
    const void* x, const FilterDescriptor* w_desc, const void* w,
    const ConvolutionDescriptor* c, int algorithm, void*, std::size_t,
    const void* beta, const TensorDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (algorithm < 0 || algorithm >= kForward.count) return kBadParam;
    return RunForward(handle, alpha, x, w, beta, y,
                      {x_desc, w_desc, c, y_desc});
  });
}
CUDNN_API Told cudnnConvolutionBiasActivationForward(
    Handle handle, const void* alpha1, const TensorDescriptor* x_desc,
    const void* x, const FilterDescriptor* w_desc, const void* w,
    const ConvolutionDescriptor* c, int algorithm, void*, std::size_t,
    const void* alpha2, const TensorDescriptor* z_desc, const void* z,
    const TensorDescriptor* bias_desc, const void* bias,
    const ActivationDescriptor* activation, const TensorDescriptor* y_desc,
    void* y) {
  return Tell(handle, [&] {
    const Operands operands = {x_desc, w_desc, c, y_desc};
    if (!alpha1 || !alpha2 || !x || !w || !y || !bias || !activation ||
        !IsSet(bias_desc) || algorithm < 0 || algorithm >= kForward.count) {
      return kBadParam;
    }
    if (const Status bad = operands.Check()) return bad;
    const double of_z = ScalarOf(alpha2, y_desc->tensor.type);
    if (!CanBroadcast(bias_desc->tensor.sizes, y_desc->tensor.sizes) ||
        (of_z != 0 && (z == nullptr || !IsSet(z_desc) ||
                       z_desc->tensor.sizes != y_desc->tensor.sizes))) {
      return kBadParam;
    }
    Call call(handle);
    const Input image = Read(call, x_desc->tensor, x);
    const Input filter = Read(call, w_desc->tensor, w);
    const Input shift = Read(call, bias_desc->tensor, bias);
    const Input side = of_z != 0 ? Read(call, z_desc->tensor, z) : Input();
    const Output out = Write(call, y_desc->tensor, y);
    const double of_x = ScalarOf(alpha1, y_desc->tensor.type);
    return call.Run([=, c = ConvolutionOf(*c), a = activation->activation] {
      const Sizes& sizes = out.tensor.sizes;
      Array result = ConvolveForward(c, image.Read(), filter.Read(), sizes);
      const Array shifts = Broadcast(shift.Read(), sizes);
      const Array sides = side ? side.Read() : Array(Sizes{0});
      for (Index i = 0; i < result.count(); ++i) {
        const double beside = side ? of_z * sides[i] : 0;
        result[i] = Activate(a, of_x * result[i] + beside + shifts[i]);
      }
      out.Store(std::move(result));
    });
  });
}
CUDNN_API Told cudnnIm2Col(Handle handle, const TensorDescriptor* x_desc,
                           const void* x, const FilterDescriptor* w,
                           const ConvolutionDescriptor* desc, void* columns) {
  return Tell(handle, [&] {
    if (!IsSet(x_desc) || !IsSet(w) || !desc || !x || !columns ||
        x_desc->tensor.sizes.size() != desc->strides.size() + 2 ||
        w->tensor.sizes.size() != x_desc->tensor.sizes.size()) {
      return kBadParam;
    }
    const Convolution c = ConvolutionOf(*desc);
    const Sizes y = ConvolvedSizes(c, x_desc->tensor.sizes, w->tensor.sizes);
    if (const Status bad =
            CheckConvolution(c, x_desc->tensor.sizes, w->tensor.sizes, y)) {
      return bad;
    }
    const Sizes sizes = {w->tensor.count() / w->tensor.sizes[0],
                         ProductOf({y.begin() + 2, y.end()})};
    Call call(handle);
    const Input image = Read(call, x_desc->tensor, x);
    const Output out = Write(
        call, {x_desc->tensor.type, sizes, PackedStrides(sizes)}, columns);
    return call.Run([=, filter = w->tensor.sizes] {
      out.Store(ImageToColumns(c, image.Read(), filter, y));
    });
  });
}

// --- backward
CUDNN_API Told cudnnGetConvolutionBackwardDataAlgorithmMaxCount(Handle handle,
                                                                int* count) {
  return Tell(handle, [&] { return Count(kData, count); });
}
CUDNN_API Told cudnnGetConvolutionBackwardDataAlgorithm_v7(
    Handle handle, const FilterDescriptor* w, const TensorDescriptor* dy,
    const ConvolutionDescriptor* c, const TensorDescriptor* dx, int room,
    int* count, Performance* results) {
  return Tell(handle,
              [&] { return Ask({dx, w, c, dy}, kData, room, count, results); });
}
CUDNN_API Told cudnnFindConvolutionBackwardDataAlgorithm(
    Handle handle, const FilterDescriptor* w, const TensorDescriptor* dy,
    const ConvolutionDescriptor* c, const TensorDescriptor* dx, int room,
    int* count, Performance* results) {
  return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, dy, c, dx, room,
                                                     count, results);
}
CUDNN_API Told cudnnFindConvolutionBackwardDataAlgorithmEx(
    Handle handle, const FilterDescriptor* w, const void*,
    const TensorDescriptor* dy, const void*, const ConvolutionDescriptor* c,
    const TensorDescriptor* dx, void*, int room, int* count,
    Performance* results, void*, std::size_t) {
  return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, dy, c, dx, room,
                                                     count, results);
}
CUDNN_API Told cudnnGetConvolutionBackwardDataWorkspaceSize(
    Handle handle, const FilterDescriptor* w, const TensorDescriptor* dy,
    const ConvolutionDescriptor* c, const TensorDescriptor* dx, int algorithm,
    std::size_t* bytes) {
  return Tell(handle, [&] {
    return Workspace({dx, w, c, dy}, kData, algorithm, bytes);
  });
}
CUDNN_API Told cudnnConvolutionBackwardData(
    Handle handle, const void* alpha, const FilterDescriptor* w_desc,
    const void* w, const TensorDescriptor* dy_desc, const void* dy,
    const ConvolutionDescriptor* c, int algorithm, void*, std::size_t,
    const void* beta, const TensorDescriptor* dx_desc, void* dx) {
  return Tell(handle, [&] {
    const Operands operands = {dx_desc, w_desc, c, dy_desc};
    if (!alpha || !beta || !w || !dy || !dx || algorithm < 0 ||
        algorithm >= kData.count) {
      return kBadParam;
    }
    if (const Status bad = operands.Check()) return bad;
    Call call(handle);
    const Input filter = Read(call, w_desc->tensor, w);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Output out = Write(call, dx_desc->tensor, dx, alpha, beta);
    return call.Run([=, c = ConvolutionOf(*c)] {
      out.Store(ConvolveBackwardData(c, filter.Read(), slope.Read(),
                                     out.tensor.sizes));
    });
  });
}
CUDNN_API Told cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(Handle handle,
                                                                  int* count) {
  return Tell(handle, [&] { return Count(kFilter, count); });
}
CUDNN_API Told cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    Handle handle, const TensorDescriptor* x, const TensorDescriptor* dy,
    const ConvolutionDescriptor* c, const FilterDescriptor* dw, int room,
    int* count, Performance* results) {
  return Tell(handle, [&] {
    return Ask({x, dw, c, dy}, kFilter, room, count, results);
  });
}
CUDNN_API Told cudnnFindConvolutionBackwardFilterAlgorithm(
    Handle handle, const TensorDescriptor* x, const TensorDescriptor* dy,
    const ConvolutionDescriptor* c, const FilterDescriptor* dw, int room,
    int* count, Performance* results) {
  return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x, dy, c, dw,
                                                       room, count, results);
}
CUDNN_API Told cudnnFindConvolutionBackwardFilterAlgorithmEx(
    Handle handle, const TensorDescriptor* x, const void*,
    const TensorDescriptor* dy, const void*, const ConvolutionDescriptor* c,
    const FilterDescriptor* dw, void*, int room, int* count,
    Performance* results, void*, std::size_t) {
  return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x, dy, c, dw,
                                                       room, count, results);
}
CUDNN_API Told cudnnGetConvolutionBackwardFilterWorkspaceSize(
    Handle handle, const TensorDescriptor* x, const TensorDescriptor* dy,
    const ConvolutionDescriptor* c, const FilterDescriptor* dw, int algorithm,
    std::size_t* bytes) {
  return Tell(handle, [&] {
    return Workspace({x, dw, c, dy}, kFilter, algorithm, bytes);
  });
}
CUDNN_API Told cudnnConvolutionBackwardFilter(
    Handle handle, const void* alpha, const TensorDescriptor* x_desc,
    const void* x, const TensorDescriptor* dy_desc, const void* dy,
    const ConvolutionDescriptor* c, int algorithm, void*, std::size_t,
    const void* beta, const FilterDescriptor* dw_desc, void* dw) {
  return Tell(handle, [&] {
    const Operands operands = {x_desc, dw_desc, c, dy_desc};
    if (!alpha || !beta || !x || !dy || !dw || algorithm < 0 ||
        algorithm >= kFilter.count) {
      return kBadParam;
    }
    if (const Status bad = operands.Check()) return bad;
    Call call(handle);
    const Input image = Read(call, x_desc->tensor, x);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Output out = Write(call, dw_desc->tensor, dw, alpha, beta);
    return call.Run([=, c = ConvolutionOf(*c)] {
      out.Store(ConvolveBackwardFilter(c, image.Read(), slope.Read(),
                                       out.tensor.sizes));
    });
  });
}
CUDNN_API Told cudnnConvolutionBackwardBias(Handle handle, const void* alpha,
                                            const TensorDescriptor* dy_desc,
                                            const void* dy, const void* beta,
                                            const TensorDescriptor* db_desc,
                                            void* db) {
  return Tell(handle, [&] {
    if (!alpha || !beta || !dy || !db || !IsSet(dy_desc) || !IsSet(db_desc) ||
        !CanBroadcast(db_desc->tensor.sizes, dy_desc->tensor.sizes)) {
      return kBadParam;
    }
    Call call(handle);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Output out = Write(call, db_desc->tensor, db, alpha, beta);
    return call.Run([=] {
      out.Store(Reduce(kReduceAdd, true, slope.Read(), out.tensor.sizes));
    });
  });
}

}  // namespace cerberus::libraries::cudnn
