// Recurrent networks, sequence losses, dropout and spatial transformers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/libraries/cudnn_naive.h"

namespace cerberus::libraries::tests {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// --- recurrent networks
struct NetworkCase {
  int mode, biases;
  bool both, skips;
  int input, hidden, projected, layers;
  int layout;
  int gates() const { return mode == 2 ? 4 : mode == 3 ? 3 : 1; }
  int directions() const { return both ? 2 : 1; }
  int output() const { return projected; }
  int parts() const { return layers * directions(); }
};
constexpr int kTimes = 4, kBatch = 3;
const std::vector<int> kLengths = {4, 3, 1};

// One network: its descriptors, and its weights by the library's own places.
class Network {
 public:
  explicit Network(const NetworkCase& c, void* dropout = nullptr) : c_(c) {
    EXPECT_EQ(Dnn("SetRNNDescriptor_v8", rnn.get(), 0, c.mode, c.biases,
                  c.both ? 1 : 0, c.skips ? 1 : 0, kF64, kF64, 0, c.input,
                  c.hidden, c.projected, c.layers, dropout, 1u),
              0);
    EXPECT_EQ(
        Dnn("SetRNNDataDescriptor", x.get(), kF64, c.layout, kTimes, kBatch,
            c.input, kLengths.data(), static_cast<void*>(nullptr)),
        0);
    double fill = -7;
    EXPECT_EQ(Dnn("SetRNNDataDescriptor", y.get(), kF64, c.layout, kTimes,
                  kBatch, c.output() * c.directions(), kLengths.data(),
                  static_cast<void*>(&fill)),
              0);
    EXPECT_EQ(Dnn("GetRNNWeightSpaceSize", DnnHandle(), rnn.get(), &bytes), 0);
    EXPECT_EQ(Dnn("GetRNNTempSpaceSizes", DnnHandle(), rnn.get(), 1, x.get(),
                  &workspace, &reserve),
              0);
    EXPECT_GT(reserve, 0u);
  }
  // The first element of a matrix or a bias among the weights; -1: none.
  Index Place(int part, int number, bool bias) const {
    Desc matrix_desc("Tensor"), bias_desc("Tensor");
    void *matrix = nullptr, *at = nullptr;
    char* base = reinterpret_cast<char*>(4096);
    EXPECT_EQ(Dnn("GetRNNWeightParams", DnnHandle(), rnn.get(), part, bytes,
                  static_cast<void*>(base), number, matrix_desc.get(), &matrix,
                  bias_desc.get(), &at),
              0);
    void* found = bias ? at : matrix;
    return found == nullptr ? -1 : (static_cast<char*>(found) - base) / 8;
  }
  Index VectorsOf() const { return c_.layout == 1 ? 8 : kTimes * kBatch; }

  const NetworkCase c_;
  Desc rnn{"RNN"}, x{"RNNData"}, y{"RNNData"};
  std::size_t bytes = 0, workspace = 0, reserve = 0;
};

std::size_t Slot(Index i) { return static_cast<std::size_t>(i); }
// Where it is if times follow each other.
Index Padded(Index t, Index n) { return t * kBatch + n; }

// Where time t of sequence n is, by the layout.
Index VectorAt(int layout, Index t, Index n) {
  if (layout == 0) return Padded(t, n);
  if (layout == 2) return n * kTimes + t;
  constexpr Index kBefore[] = {0, 3, 5, 7};
  return kBefore[t] + n;
}

struct Weights {
  Values all;
  std::vector<Index> matrices, biases;  // by part and number
};

// One step of a cell: what comes out before a projection. `row` gives a row of
// a matrix times a vector, with its bias.
template <typename Row>
Values Step(const NetworkCase& c, const Row& row, const Values& v,
            const Values& last, Values* cells) {
  const Index g = c.gates(), h = c.hidden;
  Values& cell = *cells;
  Values raw(Slot(h));
  for (Index i = 0; i < h; ++i) {
    const auto at = Slot(i);
    const auto sum = [&](Index gate) {
      return row(gate, v, i) + row(g + gate, last, i);
    };
    if (c.mode == 0) raw[at] = std::max(0.0, sum(0));
    if (c.mode == 1) raw[at] = std::tanh(sum(0));
    if (c.mode == 2) {
      cell[at] =
          Sigmoid(sum(1)) * cell[at] + Sigmoid(sum(0)) * std::tanh(sum(2));
      raw[at] = Sigmoid(sum(3)) * std::tanh(cell[at]);
    }
    if (c.mode == 3) {
      const double r = Sigmoid(sum(0)), z = Sigmoid(sum(1));
      const double fresh = std::tanh(row(2, v, i) + r * row(5, last, i));
      raw[at] = (1 - z) * fresh + z * last[at];
    }
  }
  return raw;
}

// The network by its definition. Outputs padded with -7; last states.
struct Result {
  Values y, hy, cy;
};
Result Want(const NetworkCase& c, const Weights& w, const Values& x,
            const Values& hx, const Values& cx) {
  const Index g = c.gates(), h = c.hidden, out = c.output(), d = c.directions();
  const Index numbers = 2 * g + 1;
  Result result;
  result.hy = hx, result.cy = cx;
  std::vector<Values> in(Slot(Padded(kTimes, 0)));
  for (Index t = 0; t < kTimes; ++t) {
    for (Index n = 0; n < kBatch; ++n) {
      if (t >= kLengths[Slot(n)]) continue;
      const auto first = x.begin() + VectorAt(c.layout, t, n) * c.input;
      in[Slot(Padded(t, n))] = {first, first + c.input};
    }
  }
  for (Index layer = 0; layer < c.layers; ++layer) {
    std::vector<Values> outs(in.size());
    for (Index dir = 0; dir < d; ++dir) {
      const Index part = layer * d + dir;
      const auto place = [&](const std::vector<Index>& of, Index number) {
        return of[Slot(part * numbers + number)];
      };
      // Row i of matrix `number` times v, and its bias.
      const auto row = [&](Index number, const Values& v, Index i) {
        double sum = 0;
        const Index m = place(w.matrices, number), b = place(w.biases, number);
        const auto columns = static_cast<Index>(v.size());
        if (m < 0) sum = v[Slot(i)];  // skipped
        for (Index k = 0; m >= 0 && k < columns; ++k) {
          sum += w.all[Slot(m + i * columns + k)] * v[Slot(k)];
        }
        return b < 0 ? sum : sum + w.all[Slot(b + i)];
      };
      for (Index n = 0; n < kBatch; ++n) {
        const Index length = kLengths[Slot(n)];
        const Index state = Padded(part, n);
        Values last(hx.begin() + state * out, hx.begin() + (state + 1) * out);
        Values cell(Slot(h), 0);
        if (c.mode == 2) {
          cell = Values(cx.begin() + state * h, cx.begin() + (state + 1) * h);
        }
        for (Index step = 0; step < length; ++step) {
          const Index t = dir == 0 ? step : length - 1 - step;
          const Values& v = in[Slot(Padded(t, n))];
          const Values raw = Step(c, row, v, last, &cell);
          Values next(Slot(out));
          for (Index i = 0; i < out; ++i) {
            next[Slot(i)] = out < h ? row(2 * g, raw, i) : raw[Slot(i)];
          }
          last = next;
          Values& to = outs[Slot(Padded(t, n))];
          to.insert(to.end(), last.begin(), last.end());
        }
        std::copy(last.begin(), last.end(), result.hy.begin() + state * out);
        if (c.mode == 2) {
          std::copy(cell.begin(), cell.end(), result.cy.begin() + state * h);
        }
      }
    }
    in = outs;
  }
  result.y.assign(Slot((c.layout == 1 ? 8 : Padded(kTimes, 0)) * out * d), -7);
  for (Index t = 0; t < kTimes; ++t) {
    for (Index n = 0; n < kBatch; ++n) {
      const Values& from = in[Slot(Padded(t, n))];
      std::copy(from.begin(), from.end(),
                result.y.begin() + VectorAt(c.layout, t, n) * out * d);
    }
  }
  return result;
}

Weights WeightsOf(const Network& net, const Values& all) {
  Weights w;
  w.all = all;
  const NetworkCase& c = net.c_;
  for (int part = 0; part < c.parts(); ++part) {
    for (int i = 0; i <= 2 * c.gates(); ++i) {
      const bool projection = i == 2 * c.gates();
      const bool has = !projection || c.projected < c.hidden;
      w.matrices.push_back(has ? net.Place(part, i, false) : -1);
      w.biases.push_back(projection ? -1 : net.Place(part, i, true));
    }
  }
  return w;
}

TEST(Cudnn, RecurrentNetworks) {
  void* handle = DnnHandle();
  void* none = nullptr;
  const std::size_t nothing = 0;
  const std::int32_t* lengths = nullptr;
  for (const NetworkCase& c : {NetworkCase{0, 1, false, false, 3, 2, 2, 1, 0},
                               NetworkCase{1, 2, true, false, 2, 3, 3, 2, 1},
                               NetworkCase{2, 2, false, false, 3, 2, 2, 2, 2},
                               NetworkCase{2, 0, true, false, 2, 3, 2, 2, 0},
                               NetworkCase{3, 2, true, false, 2, 2, 2, 2, 1},
                               NetworkCase{3, 3, false, true, 2, 2, 2, 2, 0}}) {
    const std::string what = "mode " + std::to_string(c.mode);
    const Network net(c);
    const Index states = c.parts() * kBatch;
    Field x(kF64, {net.VectorsOf() * c.input});
    Field y(kF64, {net.VectorsOf() * c.output() * c.directions()});
    Field weights(kF64, {static_cast<Index>(net.bytes / 8)}, {}, 2);
    Field hx(kF64, {c.parts(), kBatch, c.output()}, {}, 3),
        hy(kF64, hx.sizes());
    Field cx(kF64, {c.parts(), kBatch, c.hidden}, {}, 4), cy(kF64, cx.sizes());
    EXPECT_EQ(Count(hx.sizes()), states * c.output());
    DeviceBytes reserve(net.reserve);
    ASSERT_EQ(Dnn("RNNForward", handle, net.rnn.get(), 1, lengths, net.x.get(),
                  x.get(), net.y.get(), y.get(), hx.desc(), hx.get(), hy.get(),
                  cx.desc(), cx.get(), cy.get(), net.bytes, weights.get(),
                  nothing, none, net.reserve, reserve.get()),
              0)
        << what;
    const auto want = [&](const Values& w, const Values& xs, const Values& h,
                          const Values& cells) {
      return Want(c, WeightsOf(net, w), xs, h, cells);
    };
    const Result result =
        want(weights.values(), x.values(), hx.values(), cx.values());
    ExpectNear(y.Get(), result.y, 1e-12, what);
    ExpectNear(hy.Get(), result.hy, 1e-12, what + ", last outputs");
    if (c.mode == 2) {
      ExpectNear(cy.Get(), result.cy, 1e-12, what + ", last cells");
    }

    // Slopes of y, hy and cy together.
    Field dy(kF64, y.sizes(), {}, 5), dx(kF64, x.sizes());
    Field dhy(kF64, hx.sizes(), {}, 6), dcy(kF64, cx.sizes(), {}, 7);
    Field dhx(kF64, hx.sizes()), dcx(kF64, cx.sizes());
    Field dweights(kF64, weights.sizes(), {}, 8);
    Values slope = dy.values();
    slope.insert(slope.end(), dhy.values().begin(), dhy.values().end());
    slope.insert(slope.end(), dcy.values().begin(), dcy.values().end());
    const auto joined = [](Result r) {
      r.y.insert(r.y.end(), r.hy.begin(), r.hy.end());
      r.y.insert(r.y.end(), r.cy.begin(), r.cy.end());
      return r.y;
    };
    ASSERT_EQ(Dnn("RNNBackwardData_v8", handle, net.rnn.get(), lengths,
                  net.y.get(), y.get(), dy.get(), net.x.get(), dx.get(),
                  hx.desc(), hx.get(), dhy.get(), dhx.get(), cx.desc(),
                  cx.get(), dcy.get(), dcx.get(), net.bytes, weights.get(),
                  nothing, none, net.reserve, reserve.get()),
              0);
    ASSERT_EQ(Dnn("RNNBackwardWeights_v8", handle, net.rnn.get(), 0, lengths,
                  net.x.get(), x.get(), hx.desc(), hx.get(), net.y.get(),
                  y.get(), net.bytes, dweights.get(), nothing, none,
                  net.reserve, reserve.get()),
              0);
    const Values &w = weights.values(), &xs = x.values(), &hs = hx.values();
    const Values& cs = cx.values();
    Values of_x = Slopes(
        [&](const Values& v) { return joined(want(w, v, hs, cs)); }, xs, slope);
    ExpectNear(dx.Get(), of_x, 1e-6, what + ", dx");
    ExpectNear(
        dhx.Get(),
        Slopes([&](const Values& v) { return joined(want(w, xs, v, cs)); }, hs,
               slope),
        1e-6, what + ", dhx");
    if (c.mode == 2) {
      ExpectNear(
          dcx.Get(),
          Slopes([&](const Values& v) { return joined(want(w, xs, hs, v)); },
                 cs, slope),
          1e-6, what + ", dcx");
    }
    Values of_w = Slopes(
        [&](const Values& v) { return joined(want(v, xs, hs, cs)); }, w, slope);
    for (std::size_t i = 0; i < of_w.size(); ++i) {
      of_w[i] += dweights.values()[i];  // added to what was there
    }
    ExpectNear(dweights.Get(), of_w, 1e-6, what + ", weights");
    // Inference needs no reserve, and states that are not there are zeros.
    ASSERT_EQ(
        Dnn("RNNForward", handle, net.rnn.get(), 0, lengths, net.x.get(),
            x.get(), net.y.get(), y.get(), hx.desc(), none, none, cx.desc(),
            none, none, net.bytes, weights.get(), nothing, none, nothing, none),
        0);
    ExpectNear(y.Get(),
               want(w, xs, Values(hs.size(), 0), Values(cs.size(), 0)).y, 1e-12,
               what + " from zeros");
  }
}

TEST(Cudnn, RecurrentNetworksDescriptors) {
  const NetworkCase c{2, 2, true, false, 3, 4, 2, 2, 0};
  Network net(c);
  int told[13] = {};
  void* dropout = &told;
  std::uint32_t flags = 0;
  ASSERT_EQ(Dnn("GetRNNDescriptor_v8", net.rnn.get(), told, told + 1, told + 2,
                told + 3, told + 4, told + 5, told + 6, told + 7, told + 8,
                told + 9, told + 10, told + 11, &dropout, &flags),
            0);
  EXPECT_EQ(std::vector<int>(told, told + 12),
            (std::vector<int>{0, 2, 2, 1, 0, kF64, kF64, 0, 3, 4, 2, 2}));
  EXPECT_EQ(dropout, nullptr);
  EXPECT_EQ(flags, 1u);
  int lengths[3] = {}, layout = -1, times, batch, vector, type;
  double fill = 0;
  ASSERT_EQ(Dnn("GetRNNDataDescriptor", net.y.get(), &type, &layout, &times,
                &batch, &vector, 3, lengths, static_cast<void*>(&fill)),
            0);
  EXPECT_EQ(std::vector<int>(lengths, lengths + 3), kLengths);
  EXPECT_EQ(vector, 4);
  EXPECT_EQ(fill, -7);
  const int wrong[] = {1, 3, 2};  // packed ones are sorted
  EXPECT_EQ(Dnn("SetRNNDataDescriptor", net.y.get(), kF64, 1, 4, 3, 4, wrong,
                static_cast<void*>(nullptr)),
            kBadParam);
  EXPECT_EQ(Dnn("BuildRNNDynamic", DnnHandle(), net.rnn.get(), 3), 0);
  int mode = -1, nan = -1;
  double low = 0, high = 0;
  EXPECT_EQ(Dnn("RNNSetClip_v8", net.rnn.get(), 1, 1, -0.5, 0.5), 0);
  EXPECT_EQ(Dnn("RNNGetClip_v9", net.rnn.get(), &mode, &low, &high), 0);
  EXPECT_EQ((Values{static_cast<double>(mode), low, high}),
            (Values{1, -0.5, 0.5}));
  EXPECT_EQ(Dnn("RNNSetClip_v9", net.rnn.get(), 1, -0.25, 0.25), 0);
  EXPECT_EQ(Dnn("RNNGetClip_v8", net.rnn.get(), &mode, &nan, &low, &high), 0);
  EXPECT_EQ(high, 0.25);
  EXPECT_EQ(Dnn("RNNSetClip_v9", net.rnn.get(), 1, 1.0, 0.5), kBadParam);
  // Weights of one kind follow each other: matrices of the input's gates.
  const Index first = net.Place(0, 0, false);
  EXPECT_EQ(net.Place(0, 1, false), first + 12);
  // A projection of a network that is no LSTM; sizes of nothing.
  EXPECT_EQ(Dnn("SetRNNDescriptor_v8", net.rnn.get(), 0, 3, 2, 0, 0, kF32, kF32,
                0, 3, 4, 2, 1, static_cast<void*>(nullptr), 0u),
            kUnsupported);
  EXPECT_EQ(Dnn("SetRNNDescriptor_v8", net.rnn.get(), 0, 2, 2, 0, 0, kF32, kF32,
                0, 0, 4, 4, 1, static_cast<void*>(nullptr), 0u),
            kBadParam);
}

// --- dropout
TEST(Cudnn, Dropout) {
  void* handle = DnnHandle();
  Desc desc("Dropout");
  std::size_t bytes = 0, mask_bytes = 0;
  ASSERT_EQ(Dnn("DropoutGetStatesSize", handle, &bytes), 0);
  DeviceBytes states(bytes);
  ASSERT_EQ(Dnn("SetDropoutDescriptor", desc.get(), handle, 0.25f, states.get(),
                bytes, 7ull),
            0);
  float probability = 0;
  void* told = nullptr;
  unsigned long long seed = 0;
  EXPECT_EQ(Dnn("GetDropoutDescriptor", desc.get(), handle, &probability, &told,
                &seed),
            0);
  EXPECT_EQ(probability, 0.25f);
  EXPECT_EQ(told, states.get());
  EXPECT_EQ(seed, 7u);
  Field x(kF32, {4, 500}), y(kF32, {4, 500}), again(kF32, {4, 500});
  x.Set(Values(2000, 3));
  ASSERT_EQ(Dnn("DropoutGetReserveSpaceSize", x.desc(), &mask_bytes), 0);
  DeviceBytes mask(mask_bytes);
  const auto forward = [&](Field& to) {
    ASSERT_EQ(Dnn("DropoutForward", handle, desc.get(), x.desc(), x.get(),
                  to.desc(), to.get(), mask.get(), mask_bytes),
              0);
  };
  forward(again);
  forward(y);  // other numbers than before
  EXPECT_NE(y.Get(), again.Get());
  const Values kept = y.Get();
  const auto dropped = std::count(kept.begin(), kept.end(), 0.0);
  EXPECT_NEAR(static_cast<double>(dropped), 500, 80);
  for (const double v : kept) EXPECT_TRUE(v == 0 || v == 4);
  // The slope goes where the value went.
  ASSERT_EQ(Dnn("DropoutBackward", handle, desc.get(), x.desc(), x.get(),
                again.desc(), again.get(), mask.get(), mask_bytes),
            0);
  EXPECT_EQ(again.Get(), kept);
  // Set anew it begins anew; restored it goes on.
  ASSERT_EQ(Dnn("SetDropoutDescriptor", desc.get(), handle, 0.25f, states.get(),
                bytes, 7ull),
            0);
  forward(again);
  ASSERT_EQ(Dnn("RestoreDropoutDescriptor", desc.get(), handle, 0.25f,
                states.get(), bytes, 7ull),
            0);
  forward(again);
  EXPECT_EQ(again.Get(), kept);
  EXPECT_EQ(Dnn("DropoutForward", handle, desc.get(), x.desc(), x.get(),
                y.desc(), y.get(), mask.get(), mask_bytes - 1),
            2006);
  EXPECT_EQ(Dnn("SetDropoutDescriptor", desc.get(), handle, 1.25f, states.get(),
                bytes, 7ull),
            kBadParam);
}

// Between the layers of a network: what is dropped has no slope.
TEST(Cudnn, DropoutBetweenLayers) {
  void* handle = DnnHandle();
  Desc dropout("Dropout");
  DeviceBytes states(16);
  ASSERT_EQ(Dnn("SetDropoutDescriptor", dropout.get(), handle, 0.999f,
                states.get(), std::size_t{16}, 7ull),
            0);
  const NetworkCase c{1, 0, false, false, 3, 3, 3, 2, 0};
  const Network net(c, dropout.get());
  Field x(kF64, {36}), y(kF64, {36}), weights(kF64, {36}, {}, 2),
      dx(kF64, {36});
  ASSERT_EQ(net.bytes, 288u);
  DeviceBytes reserve(net.reserve);
  void* none = nullptr;
  const std::size_t nothing = 0;
  const std::int32_t* lengths = nullptr;
  ASSERT_EQ(
      Dnn("RNNForward", handle, net.rnn.get(), 1, lengths, net.x.get(), x.get(),
          net.y.get(), y.get(), none, none, none, none, none, none, net.bytes,
          weights.get(), nothing, none, net.reserve, reserve.get()),
      0);
  ASSERT_EQ(Dnn("RNNBackwardData_v8", handle, net.rnn.get(), lengths,
                net.y.get(), y.get(), x.get(), net.x.get(), dx.get(), none,
                none, none, none, none, none, none, none, net.bytes,
                weights.get(), nothing, none, net.reserve, reserve.get()),
            0);
  const Values got = y.Get(), slopes = dx.Get();
  EXPECT_EQ(std::count(got.begin(), got.end(), 0.0), 24);  // of 8 vectors
  EXPECT_EQ(std::count(slopes.begin(), slopes.end(), 0.0), 36);
}

// --- losses
// Minus the logarithm of the sum over all paths that spell the labels.
double AllPaths(const Values& p, Index times, Index letters,
                const std::vector<int>& labels) {
  double total = 0;
  std::vector<int> path(Slot(times), 0);
  for (;;) {
    std::vector<int> spelt;
    double chance = 1;
    for (Index t = 0; t < times; ++t) {
      const int letter = path[Slot(t)];
      chance *= p[Slot(t * letters + letter)];
      if (letter != 0 && (t == 0 || letter != path[Slot(t - 1)])) {
        spelt.push_back(letter);
      }
    }
    if (spelt == labels) total += chance;
    std::size_t t = 0;
    while (t < path.size() && ++path[t] == letters) path[t++] = 0;
    if (t == path.size()) return -std::log(total);
  }
}

TEST(Cudnn, SequenceLosses) {
  void* handle = DnnHandle();
  constexpr Index kLong = 4, kLetters = 3, kMany = 4;
  const std::vector<std::vector<int>> spelt = {{1, 2}, {1, 1}, {}, {2, 2, 2}};
  const std::vector<int> labels = {1, 2, 1, 1, 2, 2, 2};
  const std::vector<int> label_lengths = {2, 2, 0, 3};
  const std::vector<int> input_lengths = {4, 3, 2, 4};  // the last is too short
  Field x(kF32, {kLong, kMany, kLetters});
  const auto want = [&](const Values& v) {
    Values losses;
    for (Index n = 0; n < kMany; ++n) {
      Values p;
      for (Index t = 0; t < input_lengths[Slot(n)]; ++t) {
        double sum = 0;
        const auto first = v.begin() + (t * kMany + n) * kLetters;
        for (Index a = 0; a < kLetters; ++a) sum += std::exp(first[a]);
        for (Index a = 0; a < kLetters; ++a) {
          p.push_back(std::exp(first[a]) / sum);
        }
      }
      const double loss =
          AllPaths(p, input_lengths[Slot(n)], kLetters, spelt[Slot(n)]);
      losses.push_back(loss);
    }
    return losses;
  };
  const Values losses = want(x.values());
  ASSERT_TRUE(std::isinf(losses[3]));
  const auto finite = [&](const Values& v) {
    Values all = want(v);
    all[3] = 0;
    return all;
  };
  const Values slopes = Slopes(finite, x.values(), Values(kMany, 1));
  Desc desc("CTCLoss");
  void* none = nullptr;
  const std::size_t nothing = 0;
  Field device_labels(kI32, {7}), device_lengths(kI32, {4});
  Field device_inputs(kI32, {4});
  device_labels.Set({1, 2, 1, 1, 2, 2, 2});
  device_lengths.Set({2, 2, 0, 3}), device_inputs.Set({4, 3, 2, 4});
  for (const int version : {7, 8, 9}) {
    Field costs(kF32, {kMany}), gradient(kF32, x.sizes());
    const Values before = gradient.values();
    const bool skips = version == 9;
    int type = -1, normalization = -1, mode = -1, longest = -1;
    std::size_t bytes = 1;
    if (version == 7) {
      ASSERT_EQ(Dnn("SetCTCLossDescriptorEx", desc.get(), kF32, 1, 0), 0);
      EXPECT_EQ(Dnn("GetCTCLossDescriptorEx", desc.get(), &type, &normalization,
                    &mode),
                0);
      ASSERT_EQ(Dnn("GetCTCLossWorkspaceSize", handle, x.desc(),
                    gradient.desc(), labels.data(), label_lengths.data(),
                    input_lengths.data(), 0, desc.get(), &bytes),
                0);
      ASSERT_EQ(
          Dnn("CTCLoss", handle, x.desc(), x.get(), labels.data(),
              label_lengths.data(), input_lengths.data(), costs.get(),
              gradient.desc(), gradient.get(), 0, desc.get(), none, nothing),
          0);
    } else {
      const std::string v = version == 8 ? "_v8" : "_v9";
      ASSERT_EQ(Dnn("SetCTCLossDescriptor" + v, desc.get(), kF32, 1,
                    skips ? 1 : 0, 3),
                0);
      EXPECT_EQ(Dnn("GetCTCLossDescriptor" + v, desc.get(), &type,
                    &normalization, &mode, &longest),
                0);
      EXPECT_EQ(longest, 3);
      ASSERT_EQ(Dnn("GetCTCLossWorkspaceSize_v8", handle, 0, desc.get(),
                    x.desc(), gradient.desc(), &bytes),
                0);
      ASSERT_EQ(
          Dnn("CTCLoss_v8", handle, 0, desc.get(), x.desc(), x.get(),
              device_labels.get(), device_lengths.get(), device_inputs.get(),
              costs.get(), gradient.desc(), gradient.get(), nothing, none),
          0);
    }
    EXPECT_EQ(bytes, 0u);
    EXPECT_EQ(normalization, 1);
    const Values got = costs.Get(), to = gradient.Get();
    for (std::size_t n = 0; n < 3; ++n) EXPECT_NEAR(got[n], losses[n], 1e-5);
    EXPECT_TRUE(std::isinf(got[3]));
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool impossible = static_cast<Index>(i) / kLetters % kMany == 3;
      EXPECT_NEAR(to[i], impossible && skips ? before[i] : slopes[i], 1e-5);
    }
  }
}

// Of probabilities, which softmax made before.
TEST(Cudnn, SequenceLossesOfProbabilities) {
  Desc desc("CTCLoss");
  void* none = nullptr;
  const std::size_t nothing = 0;
  ASSERT_EQ(Dnn("SetCTCLossDescriptor", desc.get(), kF32), 0);
  int type = -1;
  EXPECT_EQ(Dnn("GetCTCLossDescriptor", desc.get(), &type), 0);
  EXPECT_EQ(type, kF32);
  Field p(kF32, {2, 1, 2}), cost(kF32, {1});
  p.Set({0.25, 0.75, 0.5, 0.5});
  const int one[] = {1}, two[] = {2};
  ASSERT_EQ(Dnn("CTCLoss", DnnHandle(), p.desc(), p.get(), one, one, two,
                cost.get(), p.desc(), none, 0, desc.get(), none, nothing),
            0);
  EXPECT_NEAR(cost.Get()[0], -std::log(0.875), 1e-6);
  EXPECT_EQ(Dnn("SetCTCLossDescriptor", desc.get(), kF16), kBadParam);
}

// --- spatial transformers
TEST(Cudnn, SpatialTransformers) {
  void* handle = DnnHandle();
  Desc desc("SpatialTransformer");
  const int sizes[] = {2, 2, 3, 4};
  ASSERT_EQ(
      Dnn("SetSpatialTransformerNdDescriptor", desc.get(), 0, kF64, 4, sizes),
      0);
  Field theta(kF64, {2, 2, 3}), grid(kF64, {2, 3, 4, 2});
  Values turns = {0.5, 0.25, 0.11,  -0.31, 0.7, -0.23,
                  1.1, 0.01, 0.053, 0.21,  1.3, 0.083};
  theta.Set(turns);
  const auto grids = [&](const Values& t) {
    Values out;
    ForEachPlace({2, 3, 4, 2}, [&](const Sizes& p) {
      const double x = -1 + 2.0 * static_cast<double>(p[2]) / 3;
      const double y = -1 + static_cast<double>(p[1]);
      const auto row =
          t.begin() + static_cast<std::ptrdiff_t>((p[0] * 2 + p[3]) * 3);
      out.push_back(row[0] * x + row[1] * y + row[2]);
    });
    return out;
  };
  ASSERT_EQ(Dnn("SpatialTfGridGeneratorForward", handle, desc.get(),
                theta.get(), grid.get()),
            0);
  ExpectNear(grid.Get(), grids(turns), 1e-13, "grid");
  Field dgrid(kF64, grid.sizes(), {}, 3), dtheta(kF64, theta.sizes());
  ASSERT_EQ(Dnn("SpatialTfGridGeneratorBackward", handle, desc.get(),
                dgrid.get(), dtheta.get()),
            0);
  ExpectNear(dtheta.Get(), Slopes(grids, turns, dgrid.values()), kOfDifferences,
             "dtheta");

  // An image of 5 by 6 pixels, -1 and 1 at the middle of its outer ones.
  Field x(kF64, {2, 2, 5, 6}), y(kF64, {2, 2, 3, 4});
  const auto sampled = [&](const Values& image, const Values& at) {
    Values out;
    ForEachPlace({2, 2, 3, 4}, [&](const Sizes& p) {
      const auto point = at.begin() + static_cast<std::ptrdiff_t>(
                                          ((p[0] * 3 + p[2]) * 4 + p[3]) * 2);
      const double column = (point[0] + 1) * 2.5, row = (point[1] + 1) * 2;
      double sum = 0;
      for (Index i = 0; i < 5; ++i) {
        for (Index j = 0; j < 6; ++j) {
          const double weight =
              std::max(0.0, 1 - std::abs(column - static_cast<double>(j))) *
              std::max(0.0, 1 - std::abs(row - static_cast<double>(i)));
          sum += weight * image[static_cast<std::size_t>(
                              At({2, 2, 5, 6}, {p[0], p[1], i, j}))];
        }
      }
      out.push_back(sum);
    });
    return out;
  };
  const Values at = grids(turns);
  ASSERT_EQ(Dnn("SpatialTfSamplerForward", handle, desc.get(), &kWideOne,
                x.desc(), x.get(), grid.get(), &kWideZero, y.desc(), y.get()),
            0);
  ExpectNear(y.Get(), sampled(x.values(), at), 1e-12, "sampled");
  Field dy(kF64, y.sizes(), {}, 5), dx(kF64, x.sizes());
  ASSERT_EQ(Dnn("SpatialTfSamplerBackward", handle, desc.get(), &kWideOne,
                x.desc(), x.get(), &kWideZero, dx.desc(), dx.get(), &kWideOne,
                dy.desc(), dy.get(), grid.get(), &kWideZero, dgrid.get()),
            0);
  ExpectNear(dx.Get(),
             Slopes([&](const Values& v) { return sampled(v, at); }, x.values(),
                    dy.values()),
             kOfDifferences, "dx");
  ExpectNear(dgrid.Get(),
             Slopes([&](const Values& v) { return sampled(x.values(), v); }, at,
                    dy.values()),
             kOfDifferences, "dgrid");
  EXPECT_EQ(
      Dnn("SetSpatialTransformerNdDescriptor", desc.get(), 0, kF64, 5, sizes),
      kUnsupported);
}

}  // namespace
}  // namespace cerberus::libraries::tests
