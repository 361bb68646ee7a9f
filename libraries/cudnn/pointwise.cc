#include "libraries/cudnn/pointwise.h"

#include <cmath>
#include <numbers>

namespace cerberus::libraries::cudnn {
namespace {

double Sigmoid(double x) {
  // The exponential of a negative number only: it does not overflow.
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}
double Softplus(double x, double beta) {
  const double z = beta * x;
  return (std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)))) / beta;
}
constexpr double kGeluRoot = 0.7978845608028654;  // sqrt(2 / pi)
constexpr double kGeluCube = 0.044715;

double Relu(const PointwiseParameters& p, double x) {
  if (x < p.lower_clip) {
    // Also of minus infinity.
    if (p.lower_slope == 0) return p.lower_clip;
    return p.lower_clip + p.lower_slope * (x - p.lower_clip);
  }
  return x > p.upper_clip ? p.upper_clip : x;
}
double ReluSlope(const PointwiseParameters& p, double x) {
  if (std::isnan(x)) return x;
  if (x <= p.lower_clip) return p.lower_slope;
  return x >= p.upper_clip ? 0 : 1;
}

double Forward(Pointwise mode, const PointwiseParameters& p, double x) {
  switch (mode) {
    case kReluForward: return Relu(p, x);
    case kTanhForward: return std::tanh(x);
    case kSigmoidForward: return Sigmoid(x);
    case kEluForward: return x < 0 ? p.elu_alpha * std::expm1(x) : x;
    case kGeluForward: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case kSoftplusForward: return Softplus(x, p.softplus_beta);
    case kSwishForward: return x * Sigmoid(p.swish_beta * x);
    case kGeluTanhForward:
      return 0.5 * x * (1 + std::tanh(kGeluRoot * (x + kGeluCube * x * x * x)));
    default: return 0;
  }
}

// The slope of an activation at x.
double Slope(Pointwise backward, const PointwiseParameters& p, double x) {
  switch (backward) {
    case kReluBackward: return ReluSlope(p, x);
    case kTanhBackward: {
      const double y = std::tanh(x);
      return 1 - y * y;
    }
    case kSigmoidBackward: return Sigmoid(x) * Sigmoid(-x);
    case kEluBackward: return x < 0 ? p.elu_alpha * std::exp(x) : 1;
    case kGeluBackward:
      return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) +
             x * std::exp(-0.5 * x * x) * 0.5 * kGeluRoot;
    case kSoftplusBackward: return Sigmoid(p.softplus_beta * x);
    case kSwishBackward: {
      const double s = Sigmoid(p.swish_beta * x);
      return s + p.swish_beta * x * s * (1 - s);
    }
    case kGeluTanhBackward: {
      const double t = std::tanh(kGeluRoot * (x + kGeluCube * x * x * x));
      return 0.5 * (1 + t) +
             0.5 * x * (1 - t * t) * kGeluRoot * (1 + 3 * kGeluCube * x * x);
    }
    default: return 0;
  }
}

double Unary(Pointwise mode, double x) {
  switch (mode) {
    case kSqrt: return std::sqrt(x);
    case kAbs: return std::abs(x);
    case kCeil: return std::ceil(x);
    case kCos: return std::cos(x);
    case kExp: return std::exp(x);
    case kFloor: return std::floor(x);
    case kLog: return std::log(x);
    case kNeg: return -x;
    case kRsqrt: return 1 / std::sqrt(x);
    case kSin: return std::sin(x);
    case kTan: return std::tan(x);
    case kErf: return std::erf(x);
    case kCopy: return x;
    case kReciprocal: return 1 / x;
    case kNot: return x == 0 ? 1 : 0;
    default: return 0;
  }
}

// NaN if one of them is.
double Least(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
}
double Largest(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
}

double Binary(Pointwise mode, double a, double b) {
  switch (mode) {
    case kAdd: return a + b;
    case kMul: return a * b;
    case kMin: return Least(a, b);
    case kMax: return Largest(a, b);
    case kAddSquare: return a + b * b;
    case kDiv: return a / b;
    case kMod: return std::fmod(a, b);
    case kPow: return std::pow(a, b);
    case kSub: return a - b;
    case kAtan2: return std::atan2(a, b);
    case kFloorMod: return a - std::floor(a / b) * b;
    case kEqual: return a == b ? 1 : 0;
    case kNotEqual: return a != b ? 1 : 0;
    case kGreater: return a > b ? 1 : 0;
    case kGreaterEqual: return a >= b ? 1 : 0;
    case kLess: return a < b ? 1 : 0;
    case kLessEqual: return a <= b ? 1 : 0;
    case kAnd: return a != 0 && b != 0 ? 1 : 0;
    case kOr: return a != 0 || b != 0 ? 1 : 0;
    default: return 0;
  }
}

Pointwise ForwardOf(ActivationMode mode) {
  switch (mode) {
    case kSigmoid: return kSigmoidForward;
    case kTanh: return kTanhForward;
    case kElu: return kEluForward;
    case kSwish: return kSwishForward;
    case kIdentity: return kCopy;
    default: return kReluForward;
  }
}

PointwiseParameters ParametersOf(const Activation& activation) {
  PointwiseParameters p;
  if (activation.mode == kClippedRelu) p.upper_clip = activation.coefficient;
  p.elu_alpha = activation.coefficient;
  p.swish_beta = activation.swish_beta;
  return p;
}

}  // namespace

int OperandsOf(Pointwise mode) {
  switch (mode) {
    case kSqrt:
    case kAbs:
    case kCeil:
    case kCos:
    case kExp:
    case kFloor:
    case kLog:
    case kNeg:
    case kRsqrt:
    case kSin:
    case kTan:
    case kErf:
    case kCopy:
    case kReciprocal:
    case kNot:
    case kGenIndex: return 1;
    case kSelect: return 3;
    default: break;
  }
  if (mode >= kReluForward && mode <= kGeluTanhForward) return 1;
  const bool two = (mode >= kAdd && mode <= kFloorMod) ||
                   (mode >= kReluBackward && mode <= kGeluTanhBackward) ||
                   (mode >= kEqual && mode <= kLessEqual) || mode == kAnd ||
                   mode == kOr;
  return two ? 2 : 0;
}

double ComputePointwise(Pointwise mode, const PointwiseParameters& p, double a,
                        double b, double t) {
  if (mode == kSelect) return t != 0 ? a : b;
  if (mode >= kReluForward && mode <= kGeluTanhForward) {
    return Forward(mode, p, a);
  }
  if (mode >= kReluBackward && mode <= kGeluTanhBackward) {
    return Slope(mode, p, a) * b;
  }
  return OperandsOf(mode) == 1 ? Unary(mode, a) : Binary(mode, a, b);
}

std::optional<double> SlopeByOutput(Pointwise backward,
                                    const PointwiseParameters& p, double y) {
  switch (backward) {
    case kReluBackward: return ReluSlope(p, y);
    case kTanhBackward: return 1 - y * y;
    case kSigmoidBackward: return y * (1 - y);
    case kEluBackward: return y < 0 ? y + p.elu_alpha : 1;
    case kSoftplusBackward: return -std::expm1(-p.softplus_beta * y);
    default: return std::nullopt;
  }
}

double Activate(const Activation& activation, double x) {
  if (std::isnan(x) && activation.nan == kDropNan &&
      (activation.mode == kRelu || activation.mode == kClippedRelu)) {
    return 0;
  }
  return ComputePointwise(ForwardOf(activation.mode), ParametersOf(activation),
                          x);
}
double ActivateBackward(const Activation& activation, double x, double y,
                        double dy) {
  const PointwiseParameters p = ParametersOf(activation);
  switch (activation.mode) {
    case kIdentity: return dy;
    case kSwish: return Slope(kSwishBackward, p, x) * dy;
    case kRelu:
    case kClippedRelu:
      if (std::isnan(y)) return activation.nan == kDropNan ? 0 : y;
      return ReluSlope(p, y) * dy;
    case kSigmoid: return *SlopeByOutput(kSigmoidBackward, p, y) * dy;
    case kTanh: return *SlopeByOutput(kTanhBackward, p, y) * dy;
    case kElu: return *SlopeByOutput(kEluBackward, p, y) * dy;
  }
  return 0;
}

double CombineReduced(ReduceOp op, bool keeps_nan, double sum, double value) {
  switch (op) {
    case kReduceMul: return sum * value;
    case kReduceMulNoZeros: return value == 0 ? sum : sum * value;
    case kReduceMin:
      return keeps_nan ? Least(sum, value) : std::fmin(sum, value);
    case kReduceAmax:
    case kReduceMax: {
      const double v = op == kReduceAmax ? std::abs(value) : value;
      return keeps_nan ? Largest(sum, v) : std::fmax(sum, v);
    }
    case kReduceNorm1: return sum + std::abs(value);
    case kReduceNorm2: return sum + value * value;
    default: return sum + value;
  }
}

bool CanReduce(const Sizes& x, const Sizes& y) {
  if (x.size() != y.size()) return false;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (y[d] < 1 || x[d] % y[d] != 0) return false;
  }
  return true;
}

Array Reduce(ReduceOp op, bool keeps_nan, const Array& x, const Sizes& y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double first = 0;
  if (op == kReduceMul || op == kReduceMulNoZeros) first = 1;
  if (op == kReduceMin) first = kInfinity;
  if (op == kReduceMax) first = -kInfinity;
  Array out(y, first);
  const Sizes strides = PackedStrides(y);
  Sizes factors(y.size());
  for (std::size_t d = 0; d < y.size(); ++d) factors[d] = x.sizes[d] / y[d];
  if (x.count() == 0) return out;
  Sizes place(y.size(), 0);
  Index i = 0;
  do {
    Index to = 0;
    for (std::size_t d = 0; d < y.size(); ++d) {
      to += place[d] / factors[d] * strides[d];
    }
    out[to] = CombineReduced(op, keeps_nan, out[to], x[i++]);
  } while (NextPlace(x.sizes, &place));
  const double parts =
      static_cast<double>(x.count()) / static_cast<double>(out.count());
  for (double& value : out.values) {
    if (op == kReduceAvg) value /= parts;
    if (op == kReduceNorm2) value = std::sqrt(value);
  }
  return out;
}

}  // namespace cerberus::libraries::cudnn
