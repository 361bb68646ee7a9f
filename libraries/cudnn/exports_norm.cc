// Batch normalization, under its two names.
#include <cmath>

#include "libraries/cudnn/legacy.h"
#include "libraries/cudnn/norm.h"

namespace cerberus::libraries::cudnn {
namespace {

// cudnnBatchNormOps_t, cudnnNormOps_t: what follows the normalization.
enum Follows : int { kNothing = 0, kActivation = 1, kAddActivation = 2 };

// Of each activation (mode 0) or each channel.
Sizes ParameterSizes(int mode, const Sizes& x) {
  Sizes sizes = x;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d == 0 || (d > 1 && mode != 0)) sizes[d] = 1;
  }
  return sizes;
}
Status Derive(TensorDescriptor* derived, const TensorDescriptor* x, int mode) {
  if (derived == nullptr || !IsSet(x) || x->tensor.sizes.size() < 3) {
    return kBadParam;
  }
  const DataType type = x->tensor.type == kDouble ? kDouble : kFloat;
  const Sizes sizes = ParameterSizes(mode, x->tensor.sizes);
  derived->told = type;
  derived->tensor = {type, sizes, PackedStrides(sizes)};
  return kSuccess;
}

// The operands of all functions here. Those that one lacks are null.
struct Operands {
  const TensorDescriptor* x_desc = nullptr;
  const void* x = nullptr;
  const TensorDescriptor* y_desc = nullptr;
  void* y = nullptr;
  const TensorDescriptor* z_desc = nullptr;
  const void* z = nullptr;
  const TensorDescriptor* parameters = nullptr;  // of scale and bias
  const void* scale = nullptr;
  const void* bias = nullptr;
  const TensorDescriptor* statistics = nullptr;  // of mean and variance
  const ActivationDescriptor* activation = nullptr;
  int follows = kNothing;
  double epsilon = 0;
  const void* alpha = nullptr;
  const void* beta = nullptr;

  Status Check(int mode) const {
    if (!IsSet(x_desc) || !IsSet(y_desc) || !IsSet(parameters) ||
        !IsSet(statistics) || !x || !y || !scale || !alpha || !beta ||
        epsilon < 0 || x_desc->tensor.sizes.size() < 3 ||
        y_desc->tensor.sizes != x_desc->tensor.sizes) {
      return kBadParam;
    }
    const Sizes sizes = ParameterSizes(mode, x_desc->tensor.sizes);
    if (parameters->tensor.sizes != sizes ||
        statistics->tensor.sizes != sizes) {
      return kBadParam;
    }
    if (follows < kNothing || follows > kAddActivation ||
        (follows != kNothing && activation == nullptr) ||
        (follows == kAddActivation &&
         (!IsSet(z_desc) || z == nullptr ||
          z_desc->tensor.sizes != x_desc->tensor.sizes))) {
      return kBadParam;
    }
    return kSuccess;
  }
};

// Scale, shift, and what follows.
struct Finish {
  Input scale, bias, z;
  Activation activation;
  int follows;
  Output y;

  void operator()(Array normal) const {
    const Array shift = bias ? bias.Read() : Array(Sizes{0});
    Array result = ScaleAndShift(std::move(normal), scale.Read(), shift);
    if (follows == kAddActivation) {
      result = Zip(result, z.Read(), std::plus<>());
    }
    if (follows != kNothing) {
      for (double& value : result.values) value = Activate(activation, value);
    }
    y.Store(std::move(result));
  }
};
Finish FinishOf(Call& call, const Operands& o) {
  Finish finish;
  finish.scale = Read(call, o.parameters->tensor, o.scale);
  finish.bias = Read(call, o.parameters->tensor, o.bias);
  if (o.follows == kAddActivation) {
    finish.z = Read(call, o.z_desc->tensor, o.z);
  }
  if (o.activation != nullptr) finish.activation = o.activation->activation;
  finish.follows = o.follows;
  finish.y = Write(call, o.y_desc->tensor, o.y, o.alpha, o.beta);
  return finish;
}

Status Infer(Handle handle, int mode, const Operands& o, const void* mean,
             const void* variance) {
  if (const Status bad = o.Check(mode)) return bad;
  if (!o.bias || !mean || !variance) return kBadParam;
  Call call(handle);
  const Input x = Read(call, o.x_desc->tensor, o.x);
  const Input means = Read(call, o.statistics->tensor, mean);
  const Input variances = Read(call, o.statistics->tensor, variance);
  const Finish finish = FinishOf(call, o);
  return call.Run([=, epsilon = o.epsilon] {
    Array inverse = variances.Read();
    for (double& v : inverse.values) v = 1 / std::sqrt(v + epsilon);
    finish(Normalize(x.Read(), means.Read(), inverse));
  });
}

// What a training step keeps; null for what is not wanted.
struct Kept {
  double factor;
  void* running_mean;
  void* running_variance;
  void* mean;
  void* inverse;
};
Status Train(Handle handle, int mode, const Operands& o, const Kept& kept) {
  if (const Status bad = o.Check(mode)) return bad;
  if (!o.bias ||
      (kept.running_mean == nullptr) != (kept.running_variance == nullptr) ||
      (kept.mean == nullptr) != (kept.inverse == nullptr)) {
    return kBadParam;
  }
  Call call(handle);
  const Tensor& of = o.statistics->tensor;
  const Input x = Read(call, o.x_desc->tensor, o.x);
  const Output running_mean = Write(call, of, kept.running_mean);
  const Output running_variance = Write(call, of, kept.running_variance);
  const Output saved_mean = Write(call, of, kept.mean);
  const Output saved_inverse = Write(call, of, kept.inverse);
  const Finish finish = FinishOf(call, o);
  return call.Run([=, epsilon = o.epsilon, factor = kept.factor] {
    const Array in = x.Read();
    const Statistics s = ComputeStatistics(in, of.sizes, epsilon, true);
    saved_mean.Store(s.mean);
    saved_inverse.Store(s.inverse_deviation);
    if (running_mean) {
      Array mean = of.Read(running_mean.memory);
      Average(factor, s.mean, &mean);
      running_mean.Store(std::move(mean));
      // Of the whole that the batch is a sample of.
      const double n =
          static_cast<double>(in.count()) / static_cast<double>(s.mean.count());
      Array unbiased = s.variance;
      for (double& v : unbiased.values) v *= n > 1 ? n / (n - 1) : 1;
      Array variance = of.Read(running_variance.memory);
      Average(factor, unbiased, &variance);
      running_variance.Store(std::move(variance));
    }
    finish(Normalize(in, s.mean, s.inverse_deviation));
  });
}

// The operands of the way back beside Operands, whose y is the forward
// result.
struct Slopes {
  const TensorDescriptor* dy_desc;
  const void* dy;
  const TensorDescriptor* dx_desc;
  void* dx;
  const TensorDescriptor* dz_desc;
  void* dz;
  void* dscale;
  void* dbias;
  const void* alpha;  // of dscale and dbias
  const void* beta;
  const void* mean;  // saved; null: computed again
  const void* inverse;
};
Status Backward(Handle handle, int mode, const Operands& o, const Slopes& s) {
  if (!IsSet(o.x_desc) || !IsSet(s.dy_desc) || !IsSet(s.dx_desc) || !o.x ||
      !s.dy || !s.dx || !IsSet(o.parameters) || !IsSet(o.statistics) ||
      !o.scale || !s.dscale || !s.dbias || !o.alpha || !o.beta || !s.alpha ||
      !s.beta || (s.mean == nullptr) != (s.inverse == nullptr) ||
      o.x_desc->tensor.sizes.size() < 3) {
    return kBadParam;
  }
  const Sizes& sizes = o.x_desc->tensor.sizes;
  if (s.dy_desc->tensor.sizes != sizes || s.dx_desc->tensor.sizes != sizes ||
      o.parameters->tensor.sizes != ParameterSizes(mode, sizes) ||
      o.statistics->tensor.sizes != ParameterSizes(mode, sizes)) {
    return kBadParam;
  }
  const bool activates = o.follows != kNothing;
  if (activates && (!o.activation || !IsSet(o.y_desc) || !o.y ||
                    o.y_desc->tensor.sizes != sizes)) {
    return kBadParam;
  }
  const bool adds = o.follows == kAddActivation;
  if (adds &&
      (!IsSet(s.dz_desc) || !s.dz || s.dz_desc->tensor.sizes != sizes)) {
    return kBadParam;
  }
  Call call(handle);
  const Input x = Read(call, o.x_desc->tensor, o.x);
  const Input dy = Read(call, s.dy_desc->tensor, s.dy);
  const Input y = activates ? Read(call, o.y_desc->tensor, o.y) : Input();
  const Input scale = Read(call, o.parameters->tensor, o.scale);
  const Input mean = Read(call, o.statistics->tensor, s.mean);
  const Input inverse = Read(call, o.statistics->tensor, s.inverse);
  const Output dx = Write(call, s.dx_desc->tensor, s.dx, o.alpha, o.beta);
  const Output dz = adds ? Write(call, s.dz_desc->tensor, s.dz) : Output();
  const Tensor& of = o.parameters->tensor;
  const Output dscale = Write(call, of, s.dscale, s.alpha, s.beta);
  const Output dbias = Write(call, of, s.dbias, s.alpha, s.beta);
  const Activation activation =
      activates ? Stored(o.activation->activation, y.tensor.type)
                : Activation();
  return call.Run([=, epsilon = o.epsilon] {
    const Array in = x.Read();
    Array slope = dy.Read();
    if (activates) {
      slope = Zip(y.Read(), slope, [&](double out, double d) {
        return ActivateBackward(activation, out, out, d);
      });
    }
    Statistics statistics;
    if (mean) {
      statistics.mean = mean.Read();
      statistics.inverse_deviation = inverse.Read();
    } else {
      statistics = ComputeStatistics(in, scale.tensor.sizes, epsilon, true);
    }
    NormSlopes slopes =
        NormBackward(in, slope, scale.Read(), statistics.mean,
                     statistics.inverse_deviation, /*centred=*/true);
    dscale.Store(std::move(slopes.dscale));
    dbias.Store(std::move(slopes.dbias));
    dx.Store(std::move(slopes.dx));
    dz.Store(std::move(slope));
  });
}

// No function here needs memory beside its operands.
Told NoBytes(Handle handle, const TensorDescriptor* x, std::size_t* bytes) {
  return Tell(handle, [&] {
    if (!IsSet(x) || bytes == nullptr) return kBadParam;
    *bytes = 0;
    return kSuccess;
  });
}
Status OneGroup(int groups) {
  return groups == 1 ? kSuccess : Failed(kNotSupported, "groups of channels");
}

}  // namespace

CUDNN_API Told cudnnDeriveBNTensorDescriptor(TensorDescriptor* derived,
                                             const TensorDescriptor* x,
                                             int mode) {
  return Tell([&] { return Derive(derived, x, mode); });
}
CUDNN_API Told cudnnBatchNormalizationForwardInference(
    Handle handle, int mode, const void* alpha, const void* beta,
    const TensorDescriptor* x_desc, const void* x,
    const TensorDescriptor* y_desc, void* y, const TensorDescriptor* parameters,
    const void* scale, const void* bias, const void* mean, const void* variance,
    double epsilon) {
  return Tell(handle, [&] {
    Operands o = {x_desc,  x,          y_desc, y,    nullptr,
                  nullptr, parameters, scale,  bias, parameters};
    o.epsilon = epsilon, o.alpha = alpha, o.beta = beta;
    return Infer(handle, mode, o, mean, variance);
  });
}
CUDNN_API Told cudnnBatchNormalizationForwardTraining(
    Handle handle, int mode, const void* alpha, const void* beta,
    const TensorDescriptor* x_desc, const void* x,
    const TensorDescriptor* y_desc, void* y, const TensorDescriptor* parameters,
    const void* scale, const void* bias, double factor, void* running_mean,
    void* running_variance, double epsilon, void* mean, void* inverse) {
  return Tell(handle, [&] {
    Operands o = {x_desc,  x,          y_desc, y,    nullptr,
                  nullptr, parameters, scale,  bias, parameters};
    o.epsilon = epsilon, o.alpha = alpha, o.beta = beta;
    return Train(handle, mode, o,
                 {factor, running_mean, running_variance, mean, inverse});
  });
}
CUDNN_API Told cudnnBatchNormalizationForwardTrainingEx(
    Handle handle, int mode, int follows, const void* alpha, const void* beta,
    const TensorDescriptor* x_desc, const void* x,
    const TensorDescriptor* z_desc, const void* z,
    const TensorDescriptor* y_desc, void* y, const TensorDescriptor* parameters,
    const void* scale, const void* bias, double factor, void* running_mean,
    void* running_variance, double epsilon, void* mean, void* inverse,
    const ActivationDescriptor* activation, void*, std::size_t, void*,
    std::size_t) {
  return Tell(handle, [&] {
    const Operands o = {x_desc,     x,          y_desc,  y,     z_desc,
                        z,          parameters, scale,   bias,  parameters,
                        activation, follows,    epsilon, alpha, beta};
    return Train(handle, mode, o,
                 {factor, running_mean, running_variance, mean, inverse});
  });
}
CUDNN_API Told cudnnBatchNormalizationBackward(
    Handle handle, int mode, const void* alpha, const void* beta,
    const void* alpha_parameters, const void* beta_parameters,
    const TensorDescriptor* x_desc, const void* x,
    const TensorDescriptor* dy_desc, const void* dy,
    const TensorDescriptor* dx_desc, void* dx,
    const TensorDescriptor* parameters, const void* scale, void* dscale,
    void* dbias, double epsilon, const void* mean, const void* inverse) {
  return Tell(handle, [&] {
    Operands o = {x_desc,  x,          nullptr, nullptr, nullptr,
                  nullptr, parameters, scale,   nullptr, parameters};
    o.epsilon = epsilon, o.alpha = alpha, o.beta = beta;
    return Backward(handle, mode, o,
                    {dy_desc, dy, dx_desc, dx, nullptr, nullptr, dscale, dbias,
                     alpha_parameters, beta_parameters, mean, inverse});
  });
}
CUDNN_API Told cudnnBatchNormalizationBackwardEx(
    Handle handle, int mode, int follows, const void* alpha, const void* beta,
    const void* alpha_parameters, const void* beta_parameters,
    const TensorDescriptor* x_desc, const void* x,
    const TensorDescriptor* y_desc, const void* y,
    const TensorDescriptor* dy_desc, const void* dy,
    const TensorDescriptor* dz_desc, void* dz, const TensorDescriptor* dx_desc,
    void* dx, const TensorDescriptor* parameters, const void* scale,
    const void* bias, void* dscale, void* dbias, double epsilon,
    const void* mean, const void* inverse,
    const ActivationDescriptor* activation, void*, std::size_t, void*,
    std::size_t) {
  return Tell(handle, [&] {
    const Operands o = {x_desc,  x,          y_desc,     const_cast<void*>(y),
                        nullptr, nullptr,    parameters, scale,
                        bias,    parameters, activation, follows,
                        epsilon, alpha,      beta};
    return Backward(handle, mode, o,
                    {dy_desc, dy, dx_desc, dx, dz_desc, dz, dscale, dbias,
                     alpha_parameters, beta_parameters, mean, inverse});
  });
}
CUDNN_API Told cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    Handle handle, int, int, const TensorDescriptor* x, const TensorDescriptor*,
    const TensorDescriptor*, const TensorDescriptor*,
    const ActivationDescriptor*, std::size_t* bytes) {
  return NoBytes(handle, x, bytes);
}
CUDNN_API Told cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    Handle handle, int, int, const TensorDescriptor* x, const TensorDescriptor*,
    const TensorDescriptor*, const TensorDescriptor*, const TensorDescriptor*,
    const TensorDescriptor*, const ActivationDescriptor*, std::size_t* bytes) {
  return NoBytes(handle, x, bytes);
}
CUDNN_API Told cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    Handle handle, int, int, const ActivationDescriptor*,
    const TensorDescriptor* x, std::size_t* bytes) {
  return NoBytes(handle, x, bytes);
}

CUDNN_API Told cudnnDeriveNormTensorDescriptor(TensorDescriptor* parameters,
                                               TensorDescriptor* statistics,
                                               const TensorDescriptor* x,
                                               int mode, int groups) {
  return Tell([&] {
    if (const Status bad = OneGroup(groups)) return bad;
    if (const Status bad = Derive(parameters, x, mode)) return bad;
    return Derive(statistics, x, mode);
  });
}
CUDNN_API Told cudnnNormalizationForwardInference(
    Handle handle, int mode, int follows, int, const void* alpha,
    const void* beta, const TensorDescriptor* x_desc, const void* x,
    const TensorDescriptor* parameters, const void* scale, const void* bias,
    const TensorDescriptor* statistics, const void* mean, const void* variance,
    const TensorDescriptor* z_desc, const void* z,
    const ActivationDescriptor* activation, const TensorDescriptor* y_desc,
    void* y, double epsilon, int groups) {
  return Tell(handle, [&] {
    if (const Status bad = OneGroup(groups)) return bad;
    const Operands o = {x_desc,     x,          y_desc,  y,     z_desc,
                        z,          parameters, scale,   bias,  statistics,
                        activation, follows,    epsilon, alpha, beta};
    return Infer(handle, mode, o, mean, variance);
  });
}
CUDNN_API Told cudnnNormalizationForwardTraining(
    Handle handle, int mode, int follows, int, const void* alpha,
    const void* beta, const TensorDescriptor* x_desc, const void* x,
    const TensorDescriptor* parameters, const void* scale, const void* bias,
    double factor, const TensorDescriptor* statistics, void* running_mean,
    void* running_variance, double epsilon, void* mean, void* inverse,
    const ActivationDescriptor* activation, const TensorDescriptor* z_desc,
    const void* z, const TensorDescriptor* y_desc, void* y, void*, std::size_t,
    void*, std::size_t, int groups) {
  return Tell(handle, [&] {
    if (const Status bad = OneGroup(groups)) return bad;
    const Operands o = {x_desc,     x,          y_desc,  y,     z_desc,
                        z,          parameters, scale,   bias,  statistics,
                        activation, follows,    epsilon, alpha, beta};
    return Train(handle, mode, o,
                 {factor, running_mean, running_variance, mean, inverse});
  });
}
CUDNN_API Told cudnnNormalizationBackward(
    Handle handle, int mode, int follows, int, const void* alpha,
    const void* beta, const void* alpha_parameters, const void* beta_parameters,
    const TensorDescriptor* x_desc, const void* x,
    const TensorDescriptor* y_desc, const void* y,
    const TensorDescriptor* dy_desc, const void* dy,
    const TensorDescriptor* dz_desc, void* dz, const TensorDescriptor* dx_desc,
    void* dx, const TensorDescriptor* parameters, const void* scale,
    const void* bias, void* dscale, void* dbias, double epsilon,
    const TensorDescriptor* statistics, const void* mean, const void* inverse,
    const ActivationDescriptor* activation, void*, std::size_t, void*,
    std::size_t, int groups) {
  return Tell(handle, [&] {
    if (const Status bad = OneGroup(groups)) return bad;
    const Operands o = {x_desc,  x,          y_desc,     const_cast<void*>(y),
                        nullptr, nullptr,    parameters, scale,
                        bias,    statistics, activation, follows,
                        epsilon, alpha,      beta};
    return Backward(handle, mode, o,
                    {dy_desc, dy, dx_desc, dx, dz_desc, dz, dscale, dbias,
                     alpha_parameters, beta_parameters, mean, inverse});
  });
}
CUDNN_API Told cudnnGetNormalizationForwardTrainingWorkspaceSize(
    Handle handle, int, int, int, const TensorDescriptor* x,
    const TensorDescriptor*, const TensorDescriptor*, const TensorDescriptor*,
    const ActivationDescriptor*, const TensorDescriptor*, std::size_t* bytes,
    int) {
  return NoBytes(handle, x, bytes);
}
CUDNN_API Told cudnnGetNormalizationBackwardWorkspaceSize(
    Handle handle, int, int, int, const TensorDescriptor* x,
    const TensorDescriptor*, const TensorDescriptor*, const TensorDescriptor*,
    const TensorDescriptor*, const TensorDescriptor*,
    const ActivationDescriptor*, const TensorDescriptor*, std::size_t* bytes,
    int) {
  return NoBytes(handle, x, bytes);
}
CUDNN_API Told cudnnGetNormalizationTrainingReserveSpaceSize(
    Handle handle, int, int, int, const ActivationDescriptor*,
    const TensorDescriptor* x, std::size_t* bytes, int) {
  return NoBytes(handle, x, bytes);
}

}  // namespace cerberus::libraries::cudnn
