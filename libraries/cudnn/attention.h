// Products of batches of matrices, softmax, and attention, which is made of
// them.
#ifndef CERBERUS_LIBRARIES_CUDNN_ATTENTION_H_
#define CERBERUS_LIBRARIES_CUDNN_ATTENTION_H_

#include <functional>

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

// The last two dimensions are a matrix; those before are batches, of which one
// operand may have fewer: a size that divides the result's is repeated, each
// matrix for neighbours.
bool CanMultiply(const Sizes& a, const Sizes& b, const Sizes& c);
// f32 sums, f64 with `wide`. `turn_a`, `turn_b`: of the transposed matrices.
Array Multiply(bool wide, const Array& a, bool turn_a, const Array& b,
               bool turn_b, const Sizes& c);

// Along runs of `length` elements that lie `step` apart. Statistics, if they
// are asked for, have one element for each run, in order.
struct SoftmaxStatistics {
  std::vector<double> largest, sum;  // of exp(x - largest)
};
void Softmax(bool logarithm, Index length, Index step, Array* x,
             SoftmaxStatistics* statistics = nullptr);
// Of scores B, H, Sq, Skv along the last dimension, with one more score for
// each head, which has no weight in the result but its part in the sum.
void SoftmaxWithSink(const std::vector<double>& sink, Array* scores,
                     SoftmaxStatistics* statistics);
// dx in place of dy, by the forward one's result.
void SoftmaxBackward(bool logarithm, const Array& y, Index length, Index step,
                     Array* dy);

// The pages of a cache, gathered to `sizes` (B, H, S, D): place s of sequence b
// is in page table[b][s / block]. What is behind a sequence's length, or in a
// page that is none, is zero.
bool ArePages(const Sizes& pages, const Sizes& table, const Sizes& sizes);
Array LoadPages(const Array& pages, const Array& table, const Array& lengths,
                const Sizes& sizes);

// O := softmax(scale Q K^T) V. Q is B, Hq, Sq, D; K is B, Hk, Skv, D; V is B,
// Hv, Skv, Dv; O is B, Hq, Sq, Dv.
struct Attention {
  bool wide = false;
  double scale = 1;
  // Of each sequence: how many queries and keys count; empty: all.
  std::vector<Index> queries, keys;
  // What else becomes of the scaled scores, and softmax, if these are others';
  // what becomes of the weights.
  std::function<Array(Array)> change, softmax, drop;
  // By head, a score of no key; empty: none.
  std::vector<double> sink;
};
bool CanAttend(const Sizes& q, const Sizes& k, const Sizes& v, const Sizes& o);
// `statistics`: log of the sum of exponentials for each row; may be null.
Array Attend(const Attention& attention, const Array& q, const Array& k,
             const Array& v, Array* statistics);
struct AttentionSlopes {
  Array dq, dk, dv;
  std::vector<double> dsink;  // by head, if there is a sink
};
AttentionSlopes AttendBackward(const Attention& attention, const Array& q,
                               const Array& k, const Array& v, const Array& o,
                               const Array& slope_of_o,
                               const Array& statistics);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_ATTENTION_H_
