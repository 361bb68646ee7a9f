// Recurrent networks: layers of cells that go along sequences in one direction
// or both.
#ifndef CERBERUS_LIBRARIES_CUDNN_RNN_H_
#define CERBERUS_LIBRARIES_CUDNN_RNN_H_

#include <vector>

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

enum CellMode : int {
  kRnnRelu = 0,
  kRnnTanh = 1,
  kLstm = 2,
  kGru = 3,
};
enum BiasMode : int {
  kNoBias = 0,
  kInputBias = 1,
  kBothBiases = 2,
  kRecurrentBias = 3,
};

// What a network is: sizes, and which weights it has.
struct RnnShape {
  CellMode mode = kLstm;
  BiasMode biases = kBothBiases;
  bool both_directions = false;
  bool skips_input = false;  // the first layer's input goes to each gate as is
  Index input = 0, hidden = 0, projected = 0, layers = 0;
  double dropout = 0;
  double clip_low = 0, clip_high = 0;  // of cells, if they differ

  Index directions() const { return both_directions ? 2 : 1; }
  Index gates() const { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }
  bool projects() const { return mode == kLstm && projected < hidden; }
  Index output() const { return projects() ? projected : hidden; }
  // Of a layer and direction: layer * directions + direction.
  Index parts() const { return layers * directions(); }
  Index InputOf(Index part) const {
    return part < directions() ? input : output() * directions();
  }
};

// A matrix or a bias among the weights: its first element, and how many rows
// and columns; none has no rows. `number` counts the matrices that take the
// input, then those that take the last output, then the projection.
struct WeightPlace {
  Index offset = 0, rows = 0, columns = 0;
};
WeightPlace MatrixPlace(const RnnShape& shape, Index part, Index number);
WeightPlace BiasPlace(const RnnShape& shape, Index part, Index number);
Index WeightCount(const RnnShape& shape);

// Sequences of one batch, padded: time, sequence, element.
struct Sequences {
  Index times = 0, batch = 0;
  std::vector<Index> lengths;
};

// What the way forward keeps for the way back, and that for the weights: for
// each part, time and sequence.
struct RnnRecord {
  std::vector<double> gates;      // activated
  std::vector<double> recurrent;  // of GRU's new state: what r multiplies
  std::vector<double> cells;
  std::vector<double> raw;  // outputs before the projection
  std::vector<double> outputs;
  std::vector<double> kept;       // dropout's factors of the outputs
  std::vector<double> by_input;   // slopes of the gates, as the input has them
  std::vector<double> by_output;  // and as the last output has them
  std::vector<double> by_projection;

  static constexpr int kArrays = 9;
  std::vector<double>* Arrays(int i);
};
// Elements of each array.
std::vector<Index> RecordSizes(const RnnShape& shape, const Sequences& s);
RnnRecord MakeRecord(const RnnShape& shape, const Sequences& s);

// States: part, sequence, element. Outputs and states are of zeros where no
// sequence is. The record's `kept` is drawn before.
struct RnnStates {
  std::vector<double> outputs, cells;
};
std::vector<double> RnnForward(const RnnShape& shape, const Sequences& s,
                               const std::vector<double>& weights,
                               const std::vector<double>& x,
                               const RnnStates& first, RnnStates* last,
                               RnnRecord* record);
// dx by dy; `slopes` are those of the last states and become those of the
// first.
std::vector<double> RnnBackward(const RnnShape& shape, const Sequences& s,
                                const std::vector<double>& weights,
                                const std::vector<double>& dy,
                                const RnnStates& first, RnnStates* slopes,
                                RnnRecord* record);
// Adds the slopes of the weights, after RnnBackward.
void RnnWeightSlopes(const RnnShape& shape, const Sequences& s,
                     const std::vector<double>& x, const RnnStates& first,
                     const RnnRecord& record, std::vector<double>* weights);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_RNN_H_
