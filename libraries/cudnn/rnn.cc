#include "libraries/cudnn/rnn.h"

#include <algorithm>
#include <cmath>

#include "libraries/cublas/math.h"

namespace cerberus::libraries::cudnn {
namespace {

std::size_t At(Index i) { return static_cast<std::size_t>(i); }

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// C += A B by rows; A may be turned, or B.
void AddProduct(bool turn_a, bool turn_b, Index m, Index n, Index k,
                const double* a, Index lda, const double* b, Index ldb,
                double* c, Index ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  cublas::Gemm<double>(turn_b ? cublas::kT : cublas::kN,
                       turn_a ? cublas::kT : cublas::kN, n, m, k, 1, b, ldb, a,
                       lda, 1, c, ldc);
}

// One layer in one direction: its weights, and where its share of a record is.
class Part {
 public:
  Part(const RnnShape& shape, const Sequences& s, Index part)
      : shape_(shape), s_(s), part_(part) {}

  bool backwards() const { return part_ % shape_.directions() == 1; }
  Index width() const { return shape_.gates() * shape_.hidden; }
  // The first element of time t of a record's array with so many elements for
  // each sequence.
  std::size_t Row(Index t, Index size) const {
    return At((part_ * s_.times + t) * s_.batch * size);
  }
  // The time of step i, and whether sequence n has it.
  Index Time(Index i) const { return backwards() ? s_.times - 1 - i : i; }
  bool Has(Index t, Index n) const { return t < s_.lengths[At(n)]; }
  // Step before t within sequence n; -1: none, its first state.
  Index Before(Index t, Index n) const {
    const Index before = backwards() ? t + 1 : t - 1;
    return before >= 0 && before < s_.lengths[At(n)] ? before : -1;
  }

  const double* Matrix(const std::vector<double>& weights, Index number) const {
    return weights.data() + MatrixPlace(shape_, part_, number).offset;
  }
  // Adds the biases of one side to rows of gates.
  void AddBias(const std::vector<double>& weights, bool recurrent, Index rows,
               double* to) const {
    for (Index g = 0; g < shape_.gates(); ++g) {
      const WeightPlace place =
          BiasPlace(shape_, part_, g + (recurrent ? shape_.gates() : 0));
      for (Index r = 0; place.rows > 0 && r < rows; ++r) {
        for (Index i = 0; i < shape_.hidden; ++i) {
          to[r * width() + g * shape_.hidden + i] +=
              weights[At(place.offset + i)];
        }
      }
    }
  }

  const RnnShape& shape_;
  const Sequences& s_;
  const Index part_;
};

// The gates of one cell: `in` what the input gives, `of` what the last output
// gives; activated in place of `in`.
void Activate(const RnnShape& shape, double* in, const double* of,
              double* recurrent) {
  const Index h = shape.hidden;
  if (shape.mode == kGru) {
    for (Index i = 0; i < h; ++i) {
      const double r = in[i] = Sigmoid(in[i] + of[i]);
      in[h + i] = Sigmoid(in[h + i] + of[h + i]);
      recurrent[i] = of[2 * h + i];
      in[2 * h + i] = std::tanh(in[2 * h + i] + r * of[2 * h + i]);
    }
    return;
  }
  for (Index i = 0; i < shape.gates() * h; ++i) {
    const double sum = in[i] + of[i];
    if (shape.mode == kRnnRelu) in[i] = std::max(0.0, sum);
    else if (shape.mode == kRnnTanh || i / h == 2) in[i] = std::tanh(sum);
    else in[i] = Sigmoid(sum);
  }
}

// The state after a cell by its gates: output before a projection, and cell.
void Advance(const RnnShape& shape, const double* gates, const double* last,
             const double* last_cell, double* raw, double* cell) {
  const Index h = shape.hidden;
  for (Index i = 0; i < h; ++i) {
    if (shape.mode == kLstm) {
      cell[i] = gates[h + i] * last_cell[i] + gates[i] * gates[2 * h + i];
      if (shape.clip_low < shape.clip_high) {
        cell[i] = std::clamp(cell[i], shape.clip_low, shape.clip_high);
      }
      raw[i] = gates[3 * h + i] * std::tanh(cell[i]);
    } else if (shape.mode == kGru) {
      raw[i] = (1 - gates[h + i]) * gates[2 * h + i] + gates[h + i] * last[i];
    } else {
      raw[i] = gates[i];
    }
  }
}

// The slopes of a cell's gates by that of its output, `d`. Adds to the slopes
// of the output and cell before.
struct CellSlopes {
  const double* gates;
  const double* recurrent;
  const double* last;
  const double* last_cell;
  const double* cell;
  double* by_input;
  double* by_output;
};
void CellBackward(const RnnShape& shape, const CellSlopes& c, const double* d,
                  double* of_last, double* of_cell) {
  const Index h = shape.hidden;
  const double* g = c.gates;
  for (Index i = 0; i < h; ++i) {
    if (shape.mode == kLstm) {
      const double in = g[i], forget = g[h + i], fresh = g[2 * h + i];
      const double out = g[3 * h + i], t = std::tanh(c.cell[i]);
      const double of = of_cell[i] + d[i] * out * (1 - t * t);
      c.by_input[i] = of * fresh * in * (1 - in);
      c.by_input[h + i] = of * c.last_cell[i] * forget * (1 - forget);
      c.by_input[2 * h + i] = of * in * (1 - fresh * fresh);
      c.by_input[3 * h + i] = d[i] * t * out * (1 - out);
      of_cell[i] = of * forget;
    } else if (shape.mode == kGru) {
      const double r = g[i], z = g[h + i], fresh = g[2 * h + i];
      const double of = d[i] * (1 - z) * (1 - fresh * fresh);
      c.by_input[i] = of * c.recurrent[i] * r * (1 - r);
      c.by_input[h + i] = d[i] * (c.last[i] - fresh) * z * (1 - z);
      c.by_input[2 * h + i] = of;
      of_last[i] += d[i] * z;
    } else {
      const double y = g[i];
      c.by_input[i] = shape.mode == kRnnTanh ? d[i] * (1 - y * y)
                      : y > 0                ? d[i]
                                             : 0;
    }
  }
  std::copy_n(c.by_input, shape.gates() * h, c.by_output);
  for (Index i = 0; shape.mode == kGru && i < h; ++i) {
    c.by_output[2 * h + i] *= g[i];
  }
}

// What a layer takes: the network's input, or the outputs of the layer below.
std::vector<double> LayerInput(const RnnShape& shape, const Sequences& s,
                               Index layer, const std::vector<double>& x,
                               const RnnRecord& record) {
  if (layer == 0) return x;
  const Index rows = s.times * s.batch, out = shape.output();
  const Index width = out * shape.directions();
  std::vector<double> in(At(rows * width));
  for (Index d = 0; d < shape.directions(); ++d) {
    const Index part = (layer - 1) * shape.directions() + d;
    for (Index i = 0; i < rows * out; ++i) {
      const std::size_t from = At(part * rows * out + i);
      in[At(i / out * width + d * out + i % out)] =
          record.outputs[from] * (record.kept.empty() ? 1 : record.kept[from]);
    }
  }
  return in;
}

void ForwardPart(const Part& p, const std::vector<double>& weights,
                 const std::vector<double>& x, const RnnStates& first,
                 RnnStates* last, RnnRecord* record) {
  const RnnShape& shape = p.shape_;
  const Index batch = p.s_.batch, h = shape.hidden, out = shape.output();
  const Index gates = shape.gates(), width = p.width();
  const Index in = shape.InputOf(p.part_), rows = p.s_.times * batch;
  double* all = record->gates.data() + p.Row(0, width);
  std::fill_n(all, rows * width, 0.0);
  for (Index g = 0; g < gates; ++g) {
    if (shape.skips_input && p.part_ < shape.directions()) {
      for (Index i = 0; i < rows * h; ++i) {
        all[i / h * width + g * h + i % h] = x[At(i)];
      }
    } else {
      AddProduct(false, true, rows, h, in, x.data(), in, p.Matrix(weights, g),
                 in, all + g * h, width);
    }
  }
  p.AddBias(weights, false, rows, all);
  const std::size_t state = At(p.part_ * batch);
  double* output = last->outputs.data() + state * At(out);
  double* cell = last->cells.data() + state * At(h);
  std::copy_n(first.outputs.data() + state * At(out), batch * out, output);
  std::copy_n(first.cells.data() + state * At(h), batch * h, cell);
  std::vector<double> of(At(batch * width));
  for (Index step = 0; step < p.s_.times; ++step) {
    const Index t = p.Time(step);
    std::fill(of.begin(), of.end(), 0.0);
    for (Index g = 0; g < gates; ++g) {
      AddProduct(false, true, batch, h, out, output, out,
                 p.Matrix(weights, gates + g), out, of.data() + g * h, width);
    }
    p.AddBias(weights, true, batch, of.data());
    for (Index n = 0; n < batch; ++n) {
      if (!p.Has(t, n)) continue;
      double* g = all + (t * batch + n) * width;
      double* raw = record->raw.data() + p.Row(t, h) + n * h;
      double* y = record->outputs.data() + p.Row(t, out) + n * out;
      Activate(shape, g, of.data() + n * width,
               record->recurrent.data() + p.Row(t, h) + n * h);
      Advance(shape, g, output + n * out, cell + n * h, raw, cell + n * h);
      std::copy_n(cell + n * h, h, record->cells.data() + p.Row(t, h) + n * h);
      if (shape.projects()) {
        std::fill_n(y, out, 0.0);
        AddProduct(false, true, 1, out, h, raw, h, p.Matrix(weights, 2 * gates),
                   h, y, out);
      } else {
        std::copy_n(raw, h, y);
      }
      std::copy_n(y, out, output + n * out);
    }
  }
}

// Slopes of the outputs of a part become those of its gates.
void BackwardPart(const Part& p, const std::vector<double>& weights,
                  const std::vector<double>& dy, const RnnStates& first,
                  RnnStates* slopes, RnnRecord* record) {
  const RnnShape& shape = p.shape_;
  const Index batch = p.s_.batch, h = shape.hidden, out = shape.output();
  const Index gates = shape.gates(), width = p.width();
  const std::size_t state = At(p.part_ * batch);
  double* of_output = slopes->outputs.data() + state * At(out);
  double* of_cell = slopes->cells.data() + state * At(h);
  std::vector<double> d(At(h));
  for (Index step = p.s_.times; step-- > 0;) {
    const Index t = p.Time(step);
    for (Index n = 0; n < batch; ++n) {
      if (!p.Has(t, n)) continue;
      double* of = of_output + n * out;
      double* of_projection =
          record->by_projection.data() + p.Row(t, out) + n * out;
      for (Index i = 0; i < out; ++i) {
        of_projection[i] = of[i] + dy[p.Row(t, out) + At(n * out + i)];
        of[i] = 0;
      }
      if (shape.projects()) {
        std::fill(d.begin(), d.end(), 0.0);
        AddProduct(false, false, 1, h, out, of_projection, out,
                   p.Matrix(weights, 2 * gates), h, d.data(), h);
      } else {
        std::copy_n(of_projection, h, d.data());
      }
      const Index before = p.Before(t, n);
      const auto kept = [&](const std::vector<double>& record_of,
                            const std::vector<double>& first_of, Index size) {
        return before < 0 ? first_of.data() + (state + At(n)) * At(size)
                          : record_of.data() + p.Row(before, size) + n * size;
      };
      const CellSlopes c = {
          record->gates.data() + p.Row(t, width) + n * width,
          record->recurrent.data() + p.Row(t, h) + n * h,
          kept(record->outputs, first.outputs, out),
          kept(record->cells, first.cells, h),
          record->cells.data() + p.Row(t, h) + n * h,
          record->by_input.data() + p.Row(t, width) + n * width,
          record->by_output.data() + p.Row(t, width) + n * width};
      CellBackward(shape, c, d.data(), of, of_cell + n * h);
      for (Index g = 0; g < gates; ++g) {
        AddProduct(false, false, 1, out, h, c.by_output + g * h, h,
                   p.Matrix(weights, gates + g), out, of, out);
      }
    }
  }
}

}  // namespace

std::vector<double>* RnnRecord::Arrays(int i) {
  std::vector<double>* const arrays[kArrays] = {
      &gates, &recurrent, &cells,     &raw,          &outputs,
      &kept,  &by_input,  &by_output, &by_projection};
  return arrays[i];
}
std::vector<Index> RecordSizes(const RnnShape& shape, const Sequences& s) {
  const Index cells = shape.parts() * s.times * s.batch;
  const Index hidden = cells * shape.hidden, out = cells * shape.output();
  const Index width = hidden * shape.gates();
  return {width, hidden, hidden, hidden, out, out, width, width, out};
}
RnnRecord MakeRecord(const RnnShape& shape, const Sequences& s) {
  RnnRecord record;
  const std::vector<Index> sizes = RecordSizes(shape, s);
  for (int i = 0; i < RnnRecord::kArrays; ++i) {
    record.Arrays(i)->assign(At(sizes[At(i)]), 0.0);
  }
  std::fill(record.kept.begin(), record.kept.end(), 1.0);
  return record;
}

WeightPlace MatrixPlace(const RnnShape& shape, Index part, Index number) {
  const Index gates = shape.gates();
  WeightPlace place;
  for (Index p = 0; p <= part; ++p) {
    for (Index i = 0; i < 2 * gates + (shape.projects() ? 1 : 0); ++i) {
      const bool skipped =
          i < gates && shape.skips_input && p < shape.directions();
      place.rows = skipped          ? 0
                   : i == 2 * gates ? shape.projected
                                    : shape.hidden;
      place.columns = i < gates        ? shape.InputOf(p)
                      : i == 2 * gates ? shape.hidden
                                       : shape.output();
      if (p == part && i == number) return place;
      place.offset += place.rows * place.columns;
    }
  }
  place.rows = place.columns = 0;
  return place;
}
WeightPlace BiasPlace(const RnnShape& shape, Index part, Index number) {
  const Index gates = shape.gates();
  WeightPlace place;
  // Behind all matrices.
  place.offset = MatrixPlace(shape, shape.parts() - 1, -1).offset;
  const auto has = [&](Index i) {
    return shape.biases == kBothBiases ||
           (shape.biases == kInputBias && i < gates) ||
           (shape.biases == kRecurrentBias && i >= gates);
  };
  for (Index p = 0; p <= part; ++p) {
    for (Index i = 0; i < 2 * gates; ++i) {
      if (p == part && i == number) {
        place.rows = has(i) ? shape.hidden : 0;
        place.columns = 1;
        return place;
      }
      if (has(i)) place.offset += shape.hidden;
    }
  }
  return place;
}
Index WeightCount(const RnnShape& shape) {
  return BiasPlace(shape, shape.parts() - 1, -1).offset;
}

std::vector<double> RnnForward(const RnnShape& shape, const Sequences& s,
                               const std::vector<double>& weights,
                               const std::vector<double>& x,
                               const RnnStates& first, RnnStates* last,
                               RnnRecord* record) {
  *last = first;
  for (Index part = 0; part < shape.parts(); ++part) {
    ForwardPart(Part(shape, s, part), weights,
                LayerInput(shape, s, part / shape.directions(), x, *record),
                first, last, record);
  }
  RnnRecord plain;  // of the last layer nothing is dropped
  plain.outputs = record->outputs;
  return LayerInput(shape, s, shape.layers, x, plain);
}

std::vector<double> RnnBackward(const RnnShape& shape, const Sequences& s,
                                const std::vector<double>& weights,
                                const std::vector<double>& dy,
                                const RnnStates& first, RnnStates* slopes,
                                RnnRecord* record) {
  const Index rows = s.times * s.batch, out = shape.output();
  const Index directions = shape.directions(), h = shape.hidden;
  std::vector<double> above = dy;  // slopes of a layer's outputs, side by side
  for (Index layer = shape.layers; layer-- > 0;) {
    const Index in = shape.InputOf(layer * directions);
    std::vector<double> of_part(At(shape.parts() * rows * out), 0.0);
    std::vector<double> below(At(rows * in), 0.0);
    for (Index d = 0; d < directions; ++d) {
      const Index index = layer * directions + d;
      const Part part(shape, s, index);
      for (Index i = 0; i < rows * out; ++i) {
        const std::size_t at = At(index * rows * out + i);
        of_part[at] = above[At((i / out * directions + d) * out + i % out)];
        if (layer + 1 < shape.layers) of_part[at] *= record->kept[at];
      }
      BackwardPart(part, weights, of_part, first, slopes, record);
      const double* by_input =
          record->by_input.data() + part.Row(0, part.width());
      for (Index g = 0; g < shape.gates(); ++g) {
        if (shape.skips_input && layer == 0) {
          for (Index i = 0; i < rows * h; ++i) {
            below[At(i)] += by_input[i / h * part.width() + g * h + i % h];
          }
        } else {
          AddProduct(false, false, rows, in, h, by_input + g * h, part.width(),
                     part.Matrix(weights, g), in, below.data(), in);
        }
      }
    }
    above = std::move(below);
  }
  return above;
}

void RnnWeightSlopes(const RnnShape& shape, const Sequences& s,
                     const std::vector<double>& x, const RnnStates& first,
                     const RnnRecord& record, std::vector<double>* weights) {
  const Index rows = s.times * s.batch, out = shape.output();
  const Index h = shape.hidden, gates = shape.gates();
  for (Index index = 0; index < shape.parts(); ++index) {
    const Part part(shape, s, index);
    const Index width = part.width(), in = shape.InputOf(index);
    const std::vector<double> input =
        LayerInput(shape, s, index / shape.directions(), x, record);
    std::vector<double> before(At(rows * out), 0.0);
    for (Index row = 0; row < rows; ++row) {
      const Index t = row / s.batch, n = row % s.batch;
      if (!part.Has(t, n)) continue;
      const Index last = part.Before(t, n);
      const double* from =
          last < 0 ? first.outputs.data() + (index * s.batch + n) * out
                   : record.outputs.data() + part.Row(last, out) + n * out;
      std::copy_n(from, out, before.data() + row * out);
    }
    const double* by_input = record.by_input.data() + part.Row(0, width);
    const double* by_output = record.by_output.data() + part.Row(0, width);
    for (Index g = 0; g < 2 * gates; ++g) {
      const bool recurrent = g >= gates;
      const double* by =
          (recurrent ? by_output + (g - gates) * h : by_input + g * h);
      const WeightPlace matrix = MatrixPlace(shape, index, g);
      if (matrix.rows > 0) {
        AddProduct(true, false, h, matrix.columns, rows, by, width,
                   recurrent ? before.data() : input.data(),
                   recurrent ? out : in, weights->data() + matrix.offset,
                   matrix.columns);
      }
      const WeightPlace bias = BiasPlace(shape, index, g);
      for (Index i = 0; bias.rows > 0 && i < rows * h; ++i) {
        (*weights)[At(bias.offset + i % h)] += by[i / h * width + i % h];
      }
    }
    if (shape.projects()) {
      AddProduct(true, false, out, h, rows,
                 record.by_projection.data() + part.Row(0, out), out,
                 record.raw.data() + part.Row(0, h), h,
                 weights->data() + MatrixPlace(shape, index, 2 * gates).offset,
                 h);
    }
  }
}

}  // namespace cerberus::libraries::cudnn
