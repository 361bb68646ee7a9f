// Normalizations: batch, instance, layer and root mean square, told apart by
// what their statistics are of.
#ifndef CERBERUS_LIBRARIES_CUDNN_NORM_H_
#define CERBERUS_LIBRARIES_CUDNN_NORM_H_

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

struct Statistics {
  Array mean, inverse_deviation;  // 1 / sqrt(variance + epsilon)
  Array variance;                 // of the elements themselves, not unbiased
};
// Of sizes that are X's, or 1 where it is of all of that dimension. With
// `centred` false means are 0 (root mean square).
Statistics ComputeStatistics(const Array& x, const Sizes& sizes, double epsilon,
                             bool centred);

// (x - mean) * inverse deviation; each is repeated over X.
Array Normalize(const Array& x, const Array& mean,
                const Array& inverse_deviation);
// scale * x + bias, if there are such: empty arrays are none.
Array ScaleAndShift(Array x, const Array& scale, const Array& bias);

struct NormSlopes {
  Array dx, dscale, dbias;  // the last two in the sizes of scale
};
NormSlopes NormBackward(const Array& x, const Array& dy, const Array& scale,
                        const Array& mean, const Array& inverse_deviation,
                        bool centred);

// (1 - factor) * before + factor * now; with a factor of 1, that of the first
// call of a series, what was there is any bits.
void Average(double factor, const Array& now, Array* before);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_NORM_H_
