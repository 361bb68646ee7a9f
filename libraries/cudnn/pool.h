// Pooling over windows of one to three spatial dimensions.
#ifndef CERBERUS_LIBRARIES_CUDNN_POOL_H_
#define CERBERUS_LIBRARIES_CUDNN_POOL_H_

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

struct Pooling {
  enum Edge { kOutside, kZero, kRepeated };  // what padding is

  bool is_max = true;
  bool counts_padding = false;  // in an average's divisor
  bool keeps_nan = true;
  Edge edge = kOutside;
  Sizes window, before, after, strides;  // one for each spatial dimension
};

// N, C and 1 + (x + before + after - window) / stride; empty if X has another
// number of dimensions.
Sizes PooledSizes(const Pooling& pooling, const Sizes& x);

// Whether Y can be pooled from X: of both the same N and C. Nothing else is
// asked of Y (cudnnPoolingForward in NVIDIA's cuDNN manual): TensorFlow, whose
// padding is wider behind than in front, asks for more windows than fit.
bool CanPool(const Pooling& pooling, const Sizes& x, const Sizes& y);

// `places`, if not null: where in its window each maximum was.
Array Pool(const Pooling& pooling, const Array& x, const Sizes& y,
           Array* places = nullptr);
// dx by dy; of maxima also by their places.
Array PoolBackward(const Pooling& pooling, const Array& dy, const Sizes& x,
                   const Array* places);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_POOL_H_
