// Connectionist temporal classification (Graves and others, 2006).
#ifndef CERBERUS_LIBRARIES_CUDNN_CTC_H_
#define CERBERUS_LIBRARIES_CUDNN_CTC_H_

#include <vector>

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

// The loss of one sequence: minus the logarithm of the probability of its
// labels (none of which is 0, the blank) given logarithms of probabilities, T
// by A by rows. `slopes`, if not null, gets the loss' slopes by what a softmax
// made these probabilities of. Infinite if the labels do not fit into T.
double CtcLoss(const double* logarithms, Index times, Index alphabet,
               const std::vector<Index>& labels, double* slopes);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_CTC_H_
