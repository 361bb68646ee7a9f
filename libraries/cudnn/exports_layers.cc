// Pooling, activations, softmax, response normalization.
#include <cmath>

#include "libraries/cudnn/attention.h"
#include "libraries/cudnn/legacy.h"
#include "libraries/cudnn/pool.h"

namespace cerberus::libraries::cudnn {

struct PoolingDescriptor {
  PoolingMode mode = kPoolMax;
  NanPropagation nan = kDropNan;
  Sizes window, padding, strides;
};
struct ResponseDescriptor {
  unsigned n = 5;
  double alpha = 1e-4, beta = 0.75, k = 2;
};

namespace {

Pooling PoolingOf(const PoolingDescriptor& desc) {
  Pooling p;
  p.is_max = desc.mode == kPoolMax || desc.mode == kPoolMaxDeterministic;
  p.counts_padding = desc.mode == kPoolAverageWithPadding;
  p.keeps_nan = desc.nan == kKeepNan;
  p.window = desc.window;
  p.before = p.after = desc.padding;
  p.strides = desc.strides;
  return p;
}
struct Window {
  int size, padding, stride;
};
template <typename F>
Status SetPooling(PoolingDescriptor* desc, PoolingMode mode, NanPropagation nan,
                  std::size_t spatial, const F& at) {
  if (desc == nullptr || spatial < 1 || mode < kPoolMax ||
      mode > kPoolMaxDeterministic) {
    return kBadParam;
  }
  if (spatial > 3) return kNotSupported;
  PoolingDescriptor made;
  made.mode = mode;
  made.nan = nan;
  for (std::size_t d = 0; d < spatial; ++d) {
    const Window w = at(d);
    if (w.size < 1 || w.padding < 0 || w.stride < 1) return kBadParam;
    made.window.push_back(w.size);
    made.padding.push_back(w.padding);
    made.strides.push_back(w.stride);
  }
  *desc = std::move(made);
  return kSuccess;
}

// Runs along the channels, or over all but the first dimension.
struct Runs {
  Index length, step;
};
Runs RunsOf(SoftmaxMode mode, const Sizes& sizes) {
  const Index channels = sizes.size() > 1 ? sizes[1] : 1;
  const Index image = ProductOf(sizes) / sizes[0];
  if (mode == kSoftmaxInstance) return {image, 1};
  return {channels, image / channels};
}

// k + alpha / n * the sum of the squares of the channels around each.
Array Responses(const ResponseDescriptor& desc, const Array& x) {
  const Index channels = x.sizes[1];
  const Index plane = x.count() / x.sizes[0] / channels;
  const Index behind = (static_cast<Index>(desc.n) - 1) / 2;
  const Index ahead = static_cast<Index>(desc.n) - behind - 1;
  Array out(x.sizes);
  for (Index i = 0; i < x.count(); ++i) {
    const Index c = i / plane % channels;
    double sum = 0;
    for (Index o = std::max(-behind, -c); o <= ahead && c + o < channels; ++o) {
      const double value = x[i + o * plane];
      sum += value * value;
    }
    out[i] = desc.k + desc.alpha / desc.n * sum;
  }
  return out;
}
Array ResponseBackward(const ResponseDescriptor& desc, const Array& x,
                       const Array& dy) {
  const Array s = Responses(desc, x);
  const Index channels = x.sizes[1];
  const Index plane = x.count() / x.sizes[0] / channels;
  const Index behind = (static_cast<Index>(desc.n) - 1) / 2;
  const Index ahead = static_cast<Index>(desc.n) - behind - 1;
  Array dx(x.sizes);
  for (Index i = 0; i < x.count(); ++i) {
    const Index c = i / plane % channels;
    double sum = 0;
    // The channels that have this one around them.
    for (Index o = std::max(-ahead, -c); o <= behind && c + o < channels; ++o) {
      const Index j = i + o * plane;
      sum += dy[j] * x[j] * std::pow(s[j], -desc.beta - 1);
    }
    dx[i] = dy[i] * std::pow(s[i], -desc.beta) -
            2 * desc.beta * desc.alpha / desc.n * x[i] * sum;
  }
  return dx;
}

}  // namespace

// --- pooling
CUDNN_API Told cudnnCreatePoolingDescriptor(PoolingDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyPoolingDescriptor(PoolingDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetPooling2dDescriptor(PoolingDescriptor* desc,
                                           PoolingMode mode, NanPropagation nan,
                                           int h, int w, int pad_h, int pad_w,
                                           int stride_h, int stride_w) {
  return Tell([&] {
    const Window both[] = {{h, pad_h, stride_h}, {w, pad_w, stride_w}};
    return SetPooling(desc, mode, nan, 2,
                      [&](std::size_t d) { return both[d]; });
  });
}
CUDNN_API Told cudnnGetPooling2dDescriptor(const PoolingDescriptor* desc,
                                           PoolingMode* mode,
                                           NanPropagation* nan, int* h, int* w,
                                           int* pad_h, int* pad_w,
                                           int* stride_h, int* stride_w) {
  return Tell([&] {
    if (desc == nullptr || desc->window.size() != 2) return kBadParam;
    Put(mode, desc->mode), Put(nan, desc->nan);
    Put(h, desc->window[0]), Put(w, desc->window[1]);
    Put(pad_h, desc->padding[0]), Put(pad_w, desc->padding[1]);
    Put(stride_h, desc->strides[0]), Put(stride_w, desc->strides[1]);
    return kSuccess;
  });
}
CUDNN_API Told cudnnSetPoolingNdDescriptor(PoolingDescriptor* desc,
                                           PoolingMode mode, NanPropagation nan,
                                           int count, const int* window,
                                           const int* padding,
                                           const int* strides) {
  return Tell([&] {
    if (count < 1 || !window || !padding || !strides) return kBadParam;
    return SetPooling(desc, mode, nan, static_cast<std::size_t>(count),
                      [&](std::size_t d) {
                        return Window{window[d], padding[d], strides[d]};
                      });
  });
}
CUDNN_API Told cudnnGetPoolingNdDescriptor(const PoolingDescriptor* desc,
                                           int room, PoolingMode* mode,
                                           NanPropagation* nan, int* count,
                                           int* window, int* padding,
                                           int* strides) {
  return Tell([&] {
    if (desc == nullptr || room < 0) return kBadParam;
    Put(mode, desc->mode), Put(nan, desc->nan);
    Put(count, desc->window.size());
    for (std::size_t d = 0; d < desc->window.size(); ++d) {
      if (static_cast<int>(d) >= room) break;
      if (window != nullptr) Put(window + d, desc->window[d]);
      if (padding != nullptr) Put(padding + d, desc->padding[d]);
      if (strides != nullptr) Put(strides + d, desc->strides[d]);
    }
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetPoolingNdForwardOutputDim(const PoolingDescriptor* desc,
                                                 const TensorDescriptor* x,
                                                 int count, int* sizes) {
  return Tell([&] {
    if (!desc || !IsSet(x) || !sizes) return kBadParam;
    const Sizes y = PooledSizes(PoolingOf(*desc), x->tensor.sizes);
    if (y.empty() || count != static_cast<int>(y.size())) return kBadParam;
    for (std::size_t d = 0; d < y.size(); ++d) {
      if (y[d] < 1) return kBadParam;
      sizes[d] = static_cast<int>(y[d]);
    }
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetPooling2dForwardOutputDim(const PoolingDescriptor* desc,
                                                 const TensorDescriptor* x,
                                                 int* n, int* c, int* h,
                                                 int* w) {
  int sizes[4];
  const Told told = cudnnGetPoolingNdForwardOutputDim(desc, x, 4, sizes);
  if (told != ToldOf(kSuccess)) return told;
  Put(n, sizes[0]), Put(c, sizes[1]), Put(h, sizes[2]), Put(w, sizes[3]);
  return told;
}
CUDNN_API Told cudnnPoolingForward(Handle handle, const PoolingDescriptor* desc,
                                   const void* alpha,
                                   const TensorDescriptor* x_desc,
                                   const void* x, const void* beta,
                                   const TensorDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (!desc || !alpha || !beta || !x || !y || !IsSet(x_desc) ||
        !IsSet(y_desc) ||
        !CanPool(PoolingOf(*desc), x_desc->tensor.sizes,
                 y_desc->tensor.sizes)) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, x_desc->tensor, x);
    const Output out = Write(call, y_desc->tensor, y, alpha, beta);
    return call.Run([=, p = PoolingOf(*desc)] {
      out.Store(Pool(p, in.Read(), out.tensor.sizes));
    });
  });
}
CUDNN_API Told cudnnPoolingBackward(
    Handle handle, const PoolingDescriptor* desc, const void* alpha,
    const TensorDescriptor* y_desc, const void* y,
    const TensorDescriptor* dy_desc, const void* dy,
    const TensorDescriptor* x_desc, const void* x, const void* beta,
    const TensorDescriptor* dx_desc, void* dx) {
  return Tell(handle, [&] {
    if (!desc || !alpha || !beta || !dy || !dx || !IsSet(dy_desc) ||
        !IsSet(dx_desc) ||
        !CanPool(PoolingOf(*desc), dx_desc->tensor.sizes,
                 dy_desc->tensor.sizes)) {
      return kBadParam;
    }
    const Pooling p = PoolingOf(*desc);
    if (p.is_max && (!x || !y || !IsSet(x_desc) || !IsSet(y_desc) ||
                     x_desc->tensor.sizes != dx_desc->tensor.sizes ||
                     y_desc->tensor.sizes != dy_desc->tensor.sizes)) {
      return kBadParam;
    }
    Call call(handle);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Input in = p.is_max ? Read(call, x_desc->tensor, x) : Input();
    const Output out = Write(call, dx_desc->tensor, dx, alpha, beta);
    return call.Run([=] {
      Array places;
      if (p.is_max) Pool(p, in.Read(), slope.tensor.sizes, &places);
      out.Store(PoolBackward(p, slope.Read(), out.tensor.sizes, &places));
    });
  });
}

// --- activations
CUDNN_API Told cudnnCreateActivationDescriptor(ActivationDesc* desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyActivationDescriptor(ActivationDesc desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetActivationDescriptor(ActivationDesc desc,
                                            ActivationMode mode,
                                            NanPropagation nan,
                                            double coefficient) {
  return Tell([&] {
    if (desc == nullptr || mode < kSigmoid || mode > kSwish) return kBadParam;
    desc->activation.mode = mode;
    desc->activation.nan = nan;
    desc->activation.coefficient = coefficient;
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetActivationDescriptor(const ActivationDescriptor* desc,
                                            ActivationMode* mode,
                                            NanPropagation* nan,
                                            double* coefficient) {
  return Tell([&] {
    if (desc == nullptr) return kBadParam;
    Put(mode, desc->activation.mode), Put(nan, desc->activation.nan);
    Put(coefficient, desc->activation.coefficient);
    return kSuccess;
  });
}
CUDNN_API Told cudnnSetActivationDescriptorSwishBeta(ActivationDesc desc,
                                                     double beta) {
  return Tell([&] {
    if (desc == nullptr) return kBadParam;
    desc->activation.swish_beta = beta;
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetActivationDescriptorSwishBeta(ActivationDesc desc,
                                                     double* beta) {
  return Tell([&] {
    if (desc == nullptr || beta == nullptr) return kBadParam;
    *beta = desc->activation.swish_beta;
    return kSuccess;
  });
}
CUDNN_API Told cudnnActivationForward(Handle handle,
                                      const ActivationDescriptor* desc,
                                      const void* alpha,
                                      const TensorDescriptor* x_desc,
                                      const void* x, const void* beta,
                                      const TensorDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (!desc || !alpha || !beta || !x || !y || !IsSet(x_desc) ||
        !IsSet(y_desc) || x_desc->tensor.sizes != y_desc->tensor.sizes) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, x_desc->tensor, x);
    const Output out = Write(call, y_desc->tensor, y, alpha, beta);
    return call.Run([=, a = desc->activation] {
      Array array = in.Read();
      for (double& value : array.values) value = Activate(a, value);
      out.Store(std::move(array));
    });
  });
}
CUDNN_API Told cudnnActivationBackward(
    Handle handle, const ActivationDescriptor* desc, const void* alpha,
    const TensorDescriptor* y_desc, const void* y,
    const TensorDescriptor* dy_desc, const void* dy,
    const TensorDescriptor* x_desc, const void* x, const void* beta,
    const TensorDescriptor* dx_desc, void* dx) {
  return Tell(handle, [&] {
    if (!desc || !alpha || !beta || !y || !dy || !x || !dx || !IsSet(y_desc) ||
        !IsSet(dy_desc) || !IsSet(x_desc) || !IsSet(dx_desc)) {
      return kBadParam;
    }
    for (const TensorDescriptor* one : {y_desc, dy_desc, x_desc}) {
      if (one->tensor.sizes != dx_desc->tensor.sizes) return kBadParam;
    }
    Call call(handle);
    const Input result = Read(call, y_desc->tensor, y);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Input in = Read(call, x_desc->tensor, x);
    const Output out = Write(call, dx_desc->tensor, dx, alpha, beta);
    const Activation a = Stored(desc->activation, y_desc->tensor.type);
    return call.Run([=] {
      Array array = slope.Read();
      const Array ys = result.Read(), xs = in.Read();
      for (Index i = 0; i < array.count(); ++i) {
        array[i] = ActivateBackward(a, xs[i], ys[i], array[i]);
      }
      out.Store(std::move(array));
    });
  });
}

// --- softmax
CUDNN_API Told cudnnSoftmaxForward(Handle handle, SoftmaxAlgorithm algorithm,
                                   SoftmaxMode mode, const void* alpha,
                                   const TensorDescriptor* x_desc,
                                   const void* x, const void* beta,
                                   const TensorDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (!alpha || !beta || !x || !y || !IsSet(x_desc) || !IsSet(y_desc) ||
        x_desc->tensor.sizes != y_desc->tensor.sizes ||
        algorithm < kSoftmaxFast || algorithm > kSoftmaxLog ||
        mode < kSoftmaxInstance || mode > kSoftmaxChannel) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, x_desc->tensor, x);
    const Output out = Write(call, y_desc->tensor, y, alpha, beta);
    return call.Run([=] {
      Array array = in.Read();
      const Runs runs = RunsOf(mode, array.sizes);
      Softmax(algorithm == kSoftmaxLog, runs.length, runs.step, &array);
      out.Store(std::move(array));
    });
  });
}
CUDNN_API Told cudnnSoftmaxBackward(Handle handle, SoftmaxAlgorithm algorithm,
                                    SoftmaxMode mode, const void* alpha,
                                    const TensorDescriptor* y_desc,
                                    const void* y,
                                    const TensorDescriptor* dy_desc,
                                    const void* dy, const void* beta,
                                    const TensorDescriptor* dx_desc, void* dx) {
  return Tell(handle, [&] {
    if (!alpha || !beta || !y || !dy || !dx || !IsSet(y_desc) ||
        !IsSet(dy_desc) || !IsSet(dx_desc) ||
        y_desc->tensor.sizes != dy_desc->tensor.sizes ||
        dx_desc->tensor.sizes != dy_desc->tensor.sizes ||
        algorithm < kSoftmaxFast || algorithm > kSoftmaxLog ||
        mode < kSoftmaxInstance || mode > kSoftmaxChannel) {
      return kBadParam;
    }
    Call call(handle);
    const Input result = Read(call, y_desc->tensor, y);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Output out = Write(call, dx_desc->tensor, dx, alpha, beta);
    return call.Run([=] {
      Array array = slope.Read();
      const Runs runs = RunsOf(mode, array.sizes);
      SoftmaxBackward(algorithm == kSoftmaxLog, result.Read(), runs.length,
                      runs.step, &array);
      out.Store(std::move(array));
    });
  });
}

// --- local response normalization
CUDNN_API Told cudnnCreateLRNDescriptor(ResponseDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyLRNDescriptor(ResponseDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetLRNDescriptor(ResponseDescriptor* desc, unsigned n,
                                     double alpha, double beta, double k) {
  return Tell([&] {
    // CUDNN_LRN_MIN_N and its kin.
    if (desc == nullptr || n < 1 || n > 16 || k < 1e-5 || beta < 0.01) {
      return kBadParam;
    }
    *desc = {n, alpha, beta, k};
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetLRNDescriptor(const ResponseDescriptor* desc,
                                     unsigned* n, double* alpha, double* beta,
                                     double* k) {
  return Tell([&] {
    if (desc == nullptr) return kBadParam;
    Put(n, desc->n), Put(alpha, desc->alpha);
    Put(beta, desc->beta), Put(k, desc->k);
    return kSuccess;
  });
}
CUDNN_API Told cudnnLRNCrossChannelForward(
    Handle handle, const ResponseDescriptor* desc, int mode, const void* alpha,
    const TensorDescriptor* x_desc, const void* x, const void* beta,
    const TensorDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (!desc || mode != 0 || !alpha || !beta || !x || !y || !IsSet(x_desc) ||
        !IsSet(y_desc) || x_desc->tensor.sizes.size() < 3 ||
        x_desc->tensor.sizes != y_desc->tensor.sizes) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, x_desc->tensor, x);
    const Output out = Write(call, y_desc->tensor, y, alpha, beta);
    return call.Run([=, response = *desc] {
      const Array array = in.Read();
      out.Store(
          Zip(array, Responses(response, array), [&](double value, double s) {
            return value * std::pow(s, -response.beta);
          }));
    });
  });
}
CUDNN_API Told cudnnLRNCrossChannelBackward(
    Handle handle, const ResponseDescriptor* desc, int mode, const void* alpha,
    const TensorDescriptor* y_desc, const void* y,
    const TensorDescriptor* dy_desc, const void* dy,
    const TensorDescriptor* x_desc, const void* x, const void* beta,
    const TensorDescriptor* dx_desc, void* dx) {
  return Tell(handle, [&] {
    if (!desc || mode != 0 || !alpha || !beta || !y || !dy || !x || !dx ||
        !IsSet(y_desc) || !IsSet(dy_desc) || !IsSet(x_desc) ||
        !IsSet(dx_desc) || x_desc->tensor.sizes.size() < 3 ||
        x_desc->tensor.sizes != dy_desc->tensor.sizes ||
        x_desc->tensor.sizes != dx_desc->tensor.sizes) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, x_desc->tensor, x);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Output out = Write(call, dx_desc->tensor, dx, alpha, beta);
    return call.Run([=, response = *desc] {
      out.Store(ResponseBackward(response, in.Read(), slope.Read()));
    });
  });
}

}  // namespace cerberus::libraries::cudnn
