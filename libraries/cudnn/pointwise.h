// What cuDNN does element by element.
#ifndef CERBERUS_LIBRARIES_CUDNN_POINTWISE_H_
#define CERBERUS_LIBRARIES_CUDNN_POINTWISE_H_

#include <limits>
#include <optional>

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

// The parameters of cudnnPointwiseMode_t's activations, as they are unless set.
struct PointwiseParameters {
  double lower_clip = 0, lower_slope = 0;
  double upper_clip = std::numeric_limits<double>::infinity();
  double elu_alpha = 1, softplus_beta = 1, swish_beta = 1;
};

// How many operands a mode has: 1, 2 (a backward one: X and dY), 3; 0 for a
// number that is no mode.
int OperandsOf(Pointwise mode);

// mode(a), mode(a, b) or, of a selection, mode(a, b, t): t is the mask. For a
// backward one `a` is the forward one's input and `b` the slope at its output.
double ComputePointwise(Pointwise mode, const PointwiseParameters& p, double a,
                        double b = 0, double t = 0);

// The slope of an activation by its output, of those that have one.
std::optional<double> SlopeByOutput(Pointwise backward,
                                    const PointwiseParameters& p, double y);

// The activations of the API before graphs: coefficient as cuDNN 9 has it.
struct Activation {
  ActivationMode mode = kIdentity;
  NanPropagation nan = kDropNan;
  double coefficient = 0, swish_beta = 1;
};
double Activate(const Activation& activation, double x);
// dx by the input x, the output y and the slope there.
double ActivateBackward(const Activation& activation, double x, double y,
                        double dy);

// One way to combine two numbers that reductions have.
double CombineReduced(ReduceOp op, bool keeps_nan, double sum, double value);
// X in Y's sizes: each of Y's is X's or divides it, so that neighbours fall
// together. Averages are of what fell into each.
Array Reduce(ReduceOp op, bool keeps_nan, const Array& x, const Sizes& y);
bool CanReduce(const Sizes& x, const Sizes& y);

// f of two arrays of the same sizes.
template <typename F>
Array Zip(const Array& a, const Array& b, const F& f) {
  Array out(a.sizes);
  for (Index i = 0; i < out.count(); ++i) out[i] = f(a[i], b[i]);
  return out;
}

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_POINTWISE_H_
