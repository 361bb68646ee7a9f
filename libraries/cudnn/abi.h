// Types and numbers of cuDNN's interface (NVIDIA, cuDNN documentation and its
// headers; versions 8 and 9 have the same but for the status).
#ifndef CERBERUS_LIBRARIES_CUDNN_ABI_H_
#define CERBERUS_LIBRARIES_CUDNN_ABI_H_

#include <cstdint>
#include <vector>

namespace cerberus::libraries::cudnn {

using Index = std::int64_t;
using Sizes = std::vector<Index>;

// As in version 9; version 8's are fewer and made of them (version.h).
enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1001,
  kSubLibraryMismatch = 1002,
  kBadParam = 2000,
  kInvalidValue = 2001,
  kNullPointer = 2002,
  kMisaligned = 2003,
  kNotFinalized = 2004,
  kOutOfBound = 2005,
  kSizeInsufficient = 2006,
  kShapeMismatch = 2008,
  kDuplicated = 2009,
  kAttributeType = 2010,
  kDescriptorType = 2012,
  kNotSupported = 3000,
  kUnsupportedPattern = 3001,
  kUnsupportedShape = 3002,
  kUnsupportedType = 3003,
  kUnsupportedLayout = 3004,
  kUnsupportedNativeGraph = 3013,
  kInternalError = 4000,
  kAllocFailed = 4003,
  kExecutionFailed = 5000,
};

enum DataType : int {
  kFloat = 0,
  kDouble = 1,
  kHalf = 2,
  kInt8 = 3,
  kInt32 = 4,
  kInt8x4 = 5,
  kUint8 = 6,
  kUint8x4 = 7,
  kInt8x32 = 8,
  kBfloat16 = 9,
  kInt64 = 10,
  kBoolean = 11,  // eight in a byte
  kE4M3 = 12,
  kE5M2 = 13,
  kFastFloatForFp8 = 14,
  kE8M0 = 15,
  kUint32 = 19,
  kByteBoolean = 22,
};

enum Format : int { kNchw = 0, kNhwc = 1, kNchwVectC = 2 };
enum ConvolutionMode : int { kConvolution = 0, kCrossCorrelation = 1 };
enum NanPropagation : int { kDropNan = 0, kKeepNan = 1 };

enum ReduceOp : int {
  kReduceAdd = 0,
  kReduceMul = 1,
  kReduceMin = 2,
  kReduceMax = 3,
  kReduceAmax = 4,
  kReduceAvg = 5,
  kReduceNorm1 = 6,
  kReduceNorm2 = 7,
  kReduceMulNoZeros = 8,
};

enum ActivationMode : int {
  kSigmoid = 0,
  kRelu = 1,
  kTanh = 2,
  kClippedRelu = 3,
  kElu = 4,
  kIdentity = 5,
  kSwish = 6,
};

enum PoolingMode : int {
  kPoolMax = 0,
  kPoolAverageWithPadding = 1,
  kPoolAverage = 2,
  kPoolMaxDeterministic = 3,
};

enum SoftmaxAlgorithm : int {
  kSoftmaxFast = 0,
  kSoftmaxAccurate = 1,
  kSoftmaxLog = 2,
};
enum SoftmaxMode : int { kSoftmaxInstance = 0, kSoftmaxChannel = 1 };

// cudnnPointwiseMode_t.
enum Pointwise : int {
  kAdd = 0,
  kMul = 1,
  kMin = 2,
  kMax = 3,
  kSqrt = 4,
  kAddSquare = 5,
  kDiv = 6,
  kMod = 7,
  kPow = 8,
  kSub = 9,
  kAbs = 10,
  kCeil = 11,
  kCos = 12,
  kExp = 13,
  kFloor = 14,
  kLog = 15,
  kNeg = 16,
  kRsqrt = 17,
  kSin = 18,
  kTan = 19,
  kErf = 20,
  kCopy = 21,
  kReciprocal = 22,
  kAtan2 = 23,
  kFloorMod = 24,
  kReluForward = 100,
  kTanhForward = 101,
  kSigmoidForward = 102,
  kEluForward = 103,
  kGeluForward = 104,
  kSoftplusForward = 105,
  kSwishForward = 106,
  kGeluTanhForward = 107,
  kReluBackward = 200,
  kTanhBackward = 201,
  kSigmoidBackward = 202,
  kEluBackward = 203,
  kGeluBackward = 204,
  kSoftplusBackward = 205,
  kSwishBackward = 206,
  kGeluTanhBackward = 207,
  kEqual = 300,
  kNotEqual = 301,
  kGreater = 302,
  kGreaterEqual = 303,
  kLess = 304,
  kLessEqual = 305,
  kAnd = 400,
  kOr = 401,
  kNot = 402,
  kGenIndex = 501,
  kSelect = 601,
};

struct Context;
using Handle = Context*;

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_ABI_H_
