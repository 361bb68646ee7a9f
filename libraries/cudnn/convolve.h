// Convolutions of one to three spatial dimensions, as products of matrices.
#ifndef CERBERUS_LIBRARIES_CUDNN_CONVOLVE_H_
#define CERBERUS_LIBRARIES_CUDNN_CONVOLVE_H_

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

// No size, padding or step is larger.
inline constexpr Index kLargestStep = Index{1} << 31;

struct Convolution {
  // One for each spatial dimension.
  Sizes before, after;  // padding
  Sizes strides, dilations;
  bool flips = false;  // CUDNN_CONVOLUTION: the filter is turned round
  bool wide = false;   // sums are f64, else f32
};

// X is N, groups * C, …; W is K, C, …; Y is N, K, …. kBadParam if they do not
// go together.
Status CheckConvolution(const Convolution& convolution, const Sizes& x,
                        const Sizes& w, const Sizes& y);
// What Y is then: 1 + (x + before + after - ((w - 1) * dilation + 1)) / stride;
// a dimension that is not positive has none.
Sizes ConvolvedSizes(const Convolution& convolution, const Sizes& x,
                     const Sizes& w);

Array ConvolveForward(const Convolution& convolution, const Array& x,
                      const Array& w, const Sizes& y);
Array ConvolveBackwardData(const Convolution& convolution, const Array& w,
                           const Array& dy, const Sizes& x);
Array ConvolveBackwardFilter(const Convolution& convolution, const Array& x,
                             const Array& dy, const Sizes& w);

// Rows (c, …) by columns (places of Y) of the first image: what cudnnIm2Col
// gives.
Array ImageToColumns(const Convolution& convolution, const Array& x,
                     const Sizes& w, const Sizes& y);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_CONVOLVE_H_
