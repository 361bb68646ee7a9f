// Products, softmax and attention as operations of graphs.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "libraries/cudnn/attention.h"
#include "libraries/cudnn/operations.h"
#include "libraries/cudnn/pointwise.h"
#include "libraries/cudnn/random.h"

namespace cerberus::libraries::cudnn {
namespace {

// How many rows, columns or terms of each batch's product count.
class Limit {
 public:
  Limit(Values& values, const TensorRef& tensor) {
    if (tensor) numbers_ = &values.Get(tensor);
  }
  bool IsSet() const { return numbers_ != nullptr; }
  // Of a place among the batches: its first dimension tells.
  Index Of(Index batch) const {
    const Index at = numbers_->count() == 1 ? 0 : batch;
    return static_cast<Index>((*numbers_)[at]);
  }

 private:
  const Array* numbers_ = nullptr;
};

// Elements (i, j) of matrices become `value` where i or j is beyond a limit.
void Fill(const Limit& rows, const Limit& columns, double value,
          Array* matrices) {
  if (!rows.IsSet() && !columns.IsSet()) return;
  const std::size_t n = matrices->sizes.size();
  const Index width = matrices->sizes[n - 1], height = matrices->sizes[n - 2];
  const Index batch =
      n > 2 ? matrices->count() / matrices->sizes[0] : matrices->count();
  for (Index i = 0; i < matrices->count(); ++i) {
    const Index b = i / batch;
    if ((rows.IsSet() && i / width % height >= rows.Of(b)) ||
        (columns.IsSet() && i % width >= columns.Of(b))) {
      (*matrices)[i] = value;
    }
  }
}

std::vector<Index> Lengths(const Values& values, const TensorRef& tensor) {
  std::vector<Index> lengths;
  if (tensor == nullptr) return lengths;
  for (const double value : values.Get(tensor).values) {
    lengths.push_back(static_cast<Index>(value));
  }
  return lengths;
}
bool AreLengths(const TensorRef& tensor, Index batches) {
  return tensor == nullptr || ProductOf(SizesOf(tensor)) == batches;
}

// Or one number for all batches.
bool AreLengthsOrOne(const TensorRef& tensor, Index batches) {
  return AreLengths(tensor, batches) || ProductOf(SizesOf(tensor)) == 1;
}

bool IsWideAttention(const TensorRef& q) { return q->tensor.type == kDouble; }

Status OtherAttention() {
  return Failed(kNotSupported, "a kind of attention that is not computed");
}

// Attributes of attention that are not computed.
Status RefuseOthers(const Descriptor& d, std::initializer_list<Name> computed) {
  for (const auto& [name, value] : d.attributes) {
    bool known = false;
    for (const Name one : computed) known |= one == name;
    if (!known && value.count > 0) return OtherAttention();
  }
  return kSuccess;
}

// The numbers of a tensor that may be left out.
std::vector<double> NumbersOf(const Values& values, const TensorRef& tensor) {
  return tensor ? values.Get(tensor).values : std::vector<double>();
}
double NumberOf(const Values& values, const TensorRef& tensor) {
  return tensor ? values.Get(tensor)[0] : 1;
}

// One score of no key for each head.
bool IsSink(const TensorRef& sink, const Sizes& scores) {
  return sink == nullptr ||
         (scores.size() == 4 && SizesOf(sink) == Sizes{1, scores[1], 1, 1});
}

// Weights that are dropped: the same by seed and offset, forward and back.
struct Dropout {
  TensorRef seed, offset, drawn;
  double probability = 0;

  bool IsSet() const { return probability != 0; }
  Status Check(const Sizes& scores) const {
    if (!(probability >= 0 && probability < 1) ||
        (drawn && SizesOf(drawn) != scores)) {
      return BadTensors();
    }
    return kSuccess;
  }
  // 0 for what is dropped, else what the rest is multiplied with.
  Array Draw(Values& values, const Sizes& sizes) const {
    const auto number = [&](const TensorRef& tensor) -> std::uint64_t {
      return tensor ? static_cast<std::uint64_t>(
                          static_cast<Index>(values.Get(tensor)[0]))
                    : 0;
    };
    Distribution stays;
    stays.probability = 1 - probability;
    Array mask(sizes);
    cudnn::Draw(stays, number(seed), number(offset), &mask);
    if (drawn) values.Set(drawn, mask);
    for (double& one : mask.values) one /= 1 - probability;
    return mask;
  }
};
void MultiplyBy(const Array& factors, Array* values) {
  for (Index i = 0; i < values->count(); ++i) (*values)[i] *= factors[i];
}
double LargestOf(const Array& array) {
  double largest = 0;
  for (const double value : array.values) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// What stands in attention between its two products: a graph with one tensor
// that goes in and one that comes out.
struct Inner {
  std::shared_ptr<const Graph> graph;
  TensorRef in, out;

  // Null for a graph that is none such, of scores of these sizes.
  static std::optional<Inner> Of(const std::shared_ptr<const Graph>& graph,
                                 Index in, Index out, const Sizes& sizes) {
    if (graph == nullptr || graph->open.size() != 1 ||
        graph->open[0]->uid != in || !graph->adds_to.empty()) {
      return std::nullopt;
    }
    Inner inner = {graph, graph->open[0], nullptr};
    for (const auto& node : graph->nodes) {
      for (const TensorRef& tensor : node->writes) {
        if (tensor->uid == out) inner.out = tensor;
      }
    }
    if (!inner.out || SizesOf(inner.in) != sizes ||
        SizesOf(inner.out) != sizes) {
      return std::nullopt;
    }
    return inner;
  }
  Array Run(Values& values, Array scores) const {
    Values inside;
    for (const TensorRef& tensor : graph->inputs) {
      inside.Set(tensor, values.Get(tensor));
    }
    inside.Set(in, std::move(scores));
    for (const auto& node : graph->nodes) node->run(inside);
    for (const TensorRef& tensor : graph->outputs) {
      values.Set(tensor, inside.Get(tensor));
    }
    return inside.Get(out);
  }
};

// The graph and the softmax that an attention has of its own.
Status FindInner(Builder* builder, const Sizes& scores,
                 std::optional<Inner>* change, std::optional<Inner>* softmax) {
  const Descriptor& d = builder->d();
  if (d.Has(attribute::OPERATION_SDPA_FWD_SUBGRAPH)) {
    const Descriptor* graph = builder->Config(
        attribute::OPERATION_SDPA_FWD_SUBGRAPH, Kind::kOperationGraph);
    if (graph == nullptr) return BadTensors();
    *change = Inner::Of(
        graph->graph, d.Int(attribute::OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID),
        d.Int(attribute::OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID), scores);
    if (!*change) return BadTensors();
  }
  if (d.Has(attribute::OPERATION_SDPA_FWD_SOFTMAX_DESC)) {
    const Descriptor* own = builder->Config(
        attribute::OPERATION_SDPA_FWD_SOFTMAX_DESC, Kind::kOperationSoftmax);
    if (own == nullptr || own->node == nullptr) return BadTensors();
    std::shared_ptr<const Graph> graph;
    if (const Status bad = MakeGraph({own->node}, &graph)) return bad;
    *softmax = Inner::Of(
        graph, own->Of(attribute::OPERATION_SOFTMAX_XDESC)->tensor->uid,
        own->Of(attribute::OPERATION_SOFTMAX_YDESC)->tensor->uid, scores);
    if (!*softmax) return BadTensors();
  }
  for (const auto& inner : {*change, *softmax}) {
    if (inner) builder->Includes(*inner->graph);
  }
  return kSuccess;
}

}  // namespace

Status MakeMatmul(Builder builder, std::shared_ptr<const Node>* node) {
  const Descriptor* config =
      builder.Config(attribute::OPERATION_MATMUL_DESC, Kind::kMatmul);
  const TensorRef a = builder.In(attribute::OPERATION_MATMUL_ADESC);
  const TensorRef b = builder.In(attribute::OPERATION_MATMUL_BDESC);
  const TensorRef c = builder.Out(attribute::OPERATION_MATMUL_CDESC);
  const TensorRef m =
      builder.In(attribute::OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC);
  const TensorRef n =
      builder.In(attribute::OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC);
  const TensorRef k =
      builder.In(attribute::OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC);
  if (config == nullptr || !a || !b || !c ||
      !CanMultiply(SizesOf(a), SizesOf(b), SizesOf(c))) {
    return BadTensors();
  }
  for (const TensorRef& limit : {m, n, k}) {
    if (limit && ProductOf(SizesOf(limit)) != 1 &&
        ProductOf(SizesOf(limit)) != SizesOf(c)[0]) {
      return BadTensors();
    }
  }
  const auto type =
      static_cast<DataType>(config->Int(attribute::MATMUL_COMP_TYPE));
  const bool wide = type == kDouble || type == kInt32 || type == kInt64;
  const double padding = config->Number(attribute::MATMUL_PADDING_VALUE, 0);
  return builder.Make(
      [=](Values& values) {
        const Limit rows(values, m), columns(values, n), terms(values, k);
        Array left = values.Get(a), right = values.Get(b);
        Fill(Limit(values, nullptr), terms, 0, &left);
        Fill(terms, Limit(values, nullptr), 0, &right);
        Array out = Multiply(wide, left, false, right, false, SizesOf(c));
        Fill(rows, columns, padding, &out);
        values.Set(c, std::move(out));
      },
      node);
}

Status MakeSoftmax(Builder builder, std::shared_ptr<const Node>* node) {
  const TensorRef x = builder.In(attribute::OPERATION_SOFTMAX_XDESC);
  const TensorRef y = builder.Out(attribute::OPERATION_SOFTMAX_YDESC);
  const TensorRef stats = builder.Out(attribute::OPERATION_SOFTMAX_STATS_DESC);
  const TensorRef most = builder.Out(attribute::OPERATION_SOFTMAX_MAX_DESC);
  const TensorRef sum = builder.Out(attribute::OPERATION_SOFTMAX_SUM_EXP_DESC);
  const TensorRef sink = builder.In(attribute::OPERATION_SOFTMAX_SINK_DESC);
  if (!x || !y || SizesOf(x) != SizesOf(y) || !IsSink(sink, SizesOf(x))) {
    return BadTensors();
  }
  Sizes rows = SizesOf(x);
  rows.back() = 1;
  for (const TensorRef& one : {stats, most, sum}) {
    if (one && SizesOf(one) != rows) return BadTensors();
  }
  const double unit =
      builder.d().Int(attribute::OPERATION_SOFTMAX_STATS_LOG2) != 0
          ? std::numbers::log2e
          : 1;
  return builder.Make(
      [=](Values& values) {
        Array out = values.Get(x);
        SoftmaxStatistics s;
        if (sink) SoftmaxWithSink(values.Get(sink).values, &out, &s);
        else Softmax(false, out.sizes.back(), 1, &out, &s);
        Array sums(rows), largest(rows), logs(rows);
        for (Index i = 0; i < sums.count(); ++i) {
          largest[i] = s.largest[static_cast<std::size_t>(i)];
          sums[i] = s.sum[static_cast<std::size_t>(i)];
          logs[i] = unit * (largest[i] + std::log(sums[i]));
        }
        if (stats) values.Set(stats, std::move(logs));
        if (most) values.Set(most, std::move(largest));
        if (sum) values.Set(sum, std::move(sums));
        values.Set(y, std::move(out));
      },
      node);
}

#define FORWARD(name) attribute::OPERATION_SDPA_FWD_##name
namespace {

// Keys or values, which may be the pages of a cache.
struct Cached {
  TensorRef tensor, table;
  Sizes sizes;

  Cached(TensorRef of, TensorRef pages, const TensorRef& q)
      : tensor(std::move(of)), table(std::move(pages)) {
    if (tensor) sizes = SizesOf(tensor);
    if (table && q && sizes.size() == 4 && SizesOf(table).size() == 4) {
      sizes[2] *= SizesOf(table)[2];
      sizes[0] = SizesOf(q)[0];
    }
  }
  bool IsGood(const TensorRef& lengths) const {
    return tensor &&
           (table == nullptr ||
            (lengths && ArePages(SizesOf(tensor), SizesOf(table), sizes)));
  }
  Array Read(const Values& values, const TensorRef& lengths) const {
    if (table == nullptr) return values.Get(tensor);
    return LoadPages(values.Get(tensor), values.Get(table), values.Get(lengths),
                     sizes);
  }
};

// How attention over 8-bit floats is scaled; ones else.
struct Scaling {
  TensorRef of_q, of_k, of_v, of_s, to_s, to_o, largest_s, largest_o;

  explicit Scaling(Builder* builder)
      : of_q(builder->In(FORWARD(DESCALE_QDESC))),
        of_k(builder->In(FORWARD(DESCALE_KDESC))),
        of_v(builder->In(FORWARD(DESCALE_VDESC))),
        of_s(builder->In(FORWARD(DESCALE_SDESC))),
        to_s(builder->In(FORWARD(SCALE_SDESC))),
        to_o(builder->In(FORWARD(SCALE_ODESC))),
        largest_s(builder->Out(FORWARD(AMAX_SDESC))),
        largest_o(builder->Out(FORWARD(AMAX_ODESC))) {}
  bool IsGood() const {
    for (const TensorRef& one :
         {of_q, of_k, of_v, of_s, to_s, to_o, largest_s, largest_o}) {
      if (one && ProductOf(SizesOf(one)) != 1) return false;
    }
    return true;
  }
  bool HasWeights() const { return to_s || largest_s; }
  // Weights as the second product takes them, and what comes of it.
  Array Weights(Values& values, DataType type, Array weights) const {
    if (largest_s) {
      values.Set(largest_s, Array(SizesOf(largest_s), LargestOf(weights)));
    }
    if (to_s) {
      for (double& one : weights.values) one *= NumberOf(values, to_s);
      RoundTo(type, &weights);
    }
    return weights;
  }
  Array Result(Values& values, Array o) const {
    const double back = NumberOf(values, of_v) * NumberOf(values, of_s);
    for (double& one : o.values) one *= back;
    if (largest_o) {
      values.Set(largest_o, Array(SizesOf(largest_o), LargestOf(o)));
    }
    for (double& one : o.values) one *= NumberOf(values, to_o);
    return o;
  }
};

// All that an attention is made of.
struct Forward {
  TensorRef q, o, stats, scale, queries, keys;
  Cached k, v;
  Dropout dropout;
  Scaling scaling;
  std::optional<Inner> change, softmax;

  explicit Forward(Builder* builder)
      : q(builder->In(FORWARD(QDESC))),
        o(builder->Out(FORWARD(ODESC))),
        stats(builder->Out(FORWARD(STATSDESC))),
        scale(builder->In(FORWARD(SCALEDESC))),
        queries(builder->In(FORWARD(SEQ_LEN_QDESC))),
        keys(builder->In(FORWARD(SEQ_LEN_KVDESC))),
        k(builder->In(FORWARD(KDESC)), builder->In(FORWARD(PAGE_TABLE_KDESC)),
          q),
        v(builder->In(FORWARD(VDESC)), builder->In(FORWARD(PAGE_TABLE_VDESC)),
          q),
        dropout{builder->In(FORWARD(DROPOUT_SEED_DESC)),
                builder->In(FORWARD(DROPOUT_OFFSET_DESC)),
                builder->Out(FORWARD(DROPOUT_RNG_DUMP_DESC)),
                builder->d().Number(FORWARD(DROPOUT_PROBABILITY), 0)},
        scaling(builder) {}

  Sizes Scores() const {
    return {SizesOf(q)[0], SizesOf(q)[1], SizesOf(q)[2], k.sizes[2]};
  }
  bool IsGood() const {
    return q && o && k.IsGood(keys) && v.IsGood(keys) && scaling.IsGood() &&
           CanAttend(SizesOf(q), k.sizes, v.sizes, SizesOf(o)) &&
           AreLengths(queries, SizesOf(q)[0]) &&
           AreLengths(keys, SizesOf(q)[0]) &&
           (!stats || SizesOf(stats) == Sizes{SizesOf(q)[0], SizesOf(q)[1],
                                              SizesOf(q)[2], 1});
  }
  Attention Make(Values& values) const {
    Attention attention;
    attention.wide = IsWideAttention(q);
    attention.scale = NumberOf(values, scale) * NumberOf(values, scaling.of_q) *
                      NumberOf(values, scaling.of_k);
    attention.queries = Lengths(values, queries);
    attention.keys = Lengths(values, keys);
    if (change) {
      attention.change = [&](Array scores) {
        return change->Run(values, std::move(scores));
      };
    }
    if (softmax) {
      attention.softmax = [&](Array scores) {
        return softmax->Run(values, std::move(scores));
      };
    }
    if (!dropout.IsSet() && !scaling.HasWeights()) return attention;
    attention.drop = [&](Array weights) {
      weights = scaling.Weights(values, q->tensor.type, std::move(weights));
      if (dropout.IsSet()) {
        MultiplyBy(dropout.Draw(values, weights.sizes), &weights);
      }
      return weights;
    };
    return attention;
  }
  void Run(Values& values) const {
    Array statistics;
    Array result = Attend(Make(values), values.Get(q), k.Read(values, keys),
                          v.Read(values, keys), stats ? &statistics : nullptr);
    values.Set(o, scaling.Result(values, std::move(result)));
    if (stats) values.Set(stats, std::move(statistics));
  }
};

}  // namespace

Status MakeSdpaForward(Builder builder, std::shared_ptr<const Node>* node) {
  for (const Name name : {FORWARD(BLOCK_MASK_DESC), FORWARD(CU_SEQ_LEN_QDESC),
                          FORWARD(CU_SEQ_LEN_KVDESC)}) {
    if (builder.d().Has(name)) return OtherAttention();
  }
  Forward forward(&builder);
  if (!forward.IsGood()) return BadTensors();
  const Sizes scores = forward.Scores();
  if (const Status bad = forward.dropout.Check(scores)) return bad;
  if (const Status bad =
          FindInner(&builder, scores, &forward.change, &forward.softmax)) {
    return bad;
  }
  if (forward.stats && forward.softmax) return BadTensors();
  return builder.Make([=](Values& values) { forward.Run(values); }, node);
}
#undef FORWARD

#define BACKWARD(name) attribute::OPERATION_SDPA_BWD_##name
Status MakeSdpaBackward(Builder builder, std::shared_ptr<const Node>* node) {
  if (const Status bad = RefuseOthers(
          builder.d(),
          {BACKWARD(QDESC), BACKWARD(KDESC), BACKWARD(VDESC), BACKWARD(ODESC),
           BACKWARD(STATSDESC), BACKWARD(SCALEDESC), BACKWARD(DQDESC),
           BACKWARD(DKDESC), BACKWARD(DVDESC), BACKWARD(DODDESC),
           BACKWARD(SEQ_LEN_QDESC), BACKWARD(SEQ_LEN_KVDESC),
           BACKWARD(SINK_DESC), BACKWARD(DSINK_DESC),
           BACKWARD(MAX_TOTAL_SEQ_LEN_Q), BACKWARD(MAX_TOTAL_SEQ_LEN_KV),
           BACKWARD(DROPOUT_SEED_DESC), BACKWARD(DROPOUT_OFFSET_DESC),
           BACKWARD(DROPOUT_PROBABILITY)})) {
    return bad;
  }
  const TensorRef q = builder.In(BACKWARD(QDESC));
  const TensorRef k = builder.In(BACKWARD(KDESC));
  const TensorRef v = builder.In(BACKWARD(VDESC));
  const TensorRef o = builder.In(BACKWARD(ODESC));
  const TensorRef slope = builder.In(BACKWARD(DODDESC));
  const TensorRef stats = builder.In(BACKWARD(STATSDESC));
  const TensorRef scale = builder.In(BACKWARD(SCALEDESC));
  const TensorRef queries = builder.In(BACKWARD(SEQ_LEN_QDESC));
  const TensorRef keys = builder.In(BACKWARD(SEQ_LEN_KVDESC));
  const TensorRef dq = builder.Out(BACKWARD(DQDESC));
  const TensorRef dk = builder.Out(BACKWARD(DKDESC));
  const TensorRef dv = builder.Out(BACKWARD(DVDESC));
  const TensorRef sink = builder.In(BACKWARD(SINK_DESC));
  const TensorRef dsink = builder.Out(BACKWARD(DSINK_DESC));
  const Dropout dropout = {
      builder.In(BACKWARD(DROPOUT_SEED_DESC)),
      builder.In(BACKWARD(DROPOUT_OFFSET_DESC)), nullptr,
      builder.d().Number(BACKWARD(DROPOUT_PROBABILITY), 0)};
  if (!q || !k || !v || !o || !slope || !stats || !dq || !dk || !dv ||
      !CanAttend(SizesOf(q), SizesOf(k), SizesOf(v), SizesOf(o)) ||
      SizesOf(slope) != SizesOf(o) || SizesOf(dq) != SizesOf(q) ||
      SizesOf(dk) != SizesOf(k) || SizesOf(dv) != SizesOf(v) ||
      ProductOf(SizesOf(stats)) != ProductOf(SizesOf(q)) / SizesOf(q)[3] ||
      !AreLengths(queries, SizesOf(q)[0]) || !AreLengths(keys, SizesOf(q)[0])) {
    return BadTensors();
  }
  const Sizes scores = {SizesOf(q)[0], SizesOf(q)[1], SizesOf(q)[2],
                        SizesOf(k)[2]};
  if (const Status bad = dropout.Check(scores)) return bad;
  if (!IsSink(sink, scores) || !IsSink(dsink, scores) || (dsink && !sink)) {
    return BadTensors();
  }
  return builder.Make(
      [=](Values& values) {
        Attention attention;
        attention.wide = IsWideAttention(q);
        attention.scale = NumberOf(values, scale);
        attention.queries = Lengths(values, queries);
        attention.keys = Lengths(values, keys);
        attention.sink = NumbersOf(values, sink);
        if (dropout.IsSet()) {
          const Array factors = dropout.Draw(values, scores);
          attention.drop = [factors](Array weights) {
            MultiplyBy(factors, &weights);
            return weights;
          };
        }
        AttentionSlopes slopes = AttendBackward(
            attention, values.Get(q), values.Get(k), values.Get(v),
            values.Get(o), values.Get(slope), values.Get(stats));
        values.Set(dq, std::move(slopes.dq));
        values.Set(dk, std::move(slopes.dk));
        values.Set(dv, std::move(slopes.dv));
        if (dsink) {
          Array of_sink(SizesOf(dsink));
          of_sink.values = std::move(slopes.dsink);
          values.Set(dsink, std::move(of_sink));
        }
      },
      node);
}
#undef BACKWARD

// X where it is on the right side of a diagonal, elsewhere B or minus infinity.
// The mode compares the row, moved by the right bound, with the column, or the
// column, moved by the left bound, with the row. Where the lengths of the
// sequences are told, the diagonal ends in their last row and column.
#define MASK(name) attribute::OPERATION_DIAGONAL_BAND_MASK_##name
Status MakeBandMask(Builder builder, std::shared_ptr<const Node>* node) {
  if (const Status bad = RefuseOthers(
          builder.d(),
          {MASK(XDESC), MASK(YDESC), MASK(BDESC), MASK(SEQ_LEN_QDESC),
           MASK(SEQ_LEN_KVDESC), MASK(LEFT_BOUND_DESC),
           MASK(SHIFT_RIGHT_BOUND_DESC), MASK(COMPARISON_MODE)})) {
    return bad;
  }
  const TensorRef x = builder.In(MASK(XDESC));
  const TensorRef b = builder.In(MASK(BDESC));
  const TensorRef queries = builder.In(MASK(SEQ_LEN_QDESC));
  const TensorRef keys = builder.In(MASK(SEQ_LEN_KVDESC));
  const TensorRef left = builder.In(MASK(LEFT_BOUND_DESC));
  const TensorRef right = builder.In(MASK(SHIFT_RIGHT_BOUND_DESC));
  const TensorRef y = builder.Out(MASK(YDESC));
  const auto mode =
      static_cast<Pointwise>(builder.d().Int(MASK(COMPARISON_MODE)));
  if (!x || !y || (left && right) || SizesOf(x) != SizesOf(y) ||
      SizesOf(x).size() < 3 || (b && !CanBroadcast(SizesOf(b), SizesOf(y))) ||
      (left && ProductOf(SizesOf(left)) != 1) ||
      (right && ProductOf(SizesOf(right)) != 1) ||
      !AreLengthsOrOne(queries, SizesOf(x)[0]) ||
      !AreLengthsOrOne(keys, SizesOf(x)[0])) {
    return BadTensors();
  }
  if (mode < kEqual || mode > kLessEqual) {
    return Failed(kBadParam, "a band is no comparison's");
  }
  return builder.Make(
      [=](Values& values) {
        Array out = values.Get(x);
        const Array other =
            b ? Broadcast(values.Get(b), out.sizes) : Array(Sizes{0});
        const Limit rows(values, queries), columns(values, keys);
        const double bound = left    ? values.Get(left)[0]
                             : right ? values.Get(right)[0]
                                     : 0;
        const Index width = out.sizes.back();
        const Index height = out.sizes[out.sizes.size() - 2];
        const Index batch = out.count() / std::max<Index>(out.sizes[0], 1);
        for (Index i = 0; i < out.count(); ++i) {
          const auto row = static_cast<double>(i / width % height);
          const auto column = static_cast<double>(i % width);
          const double longer = static_cast<double>(
              (columns.IsSet() ? columns.Of(i / batch) : 0) -
              (rows.IsSet() ? rows.Of(i / batch) : 0));
          const double stays =
              left ? ComputePointwise(mode, {}, column + bound - longer, row)
                   : ComputePointwise(mode, {}, row + longer + bound, column);
          if (stays == 0) out[i] = b ? other[i] : -HUGE_VAL;
        }
        values.Set(y, std::move(out));
      },
      node);
}
#undef MASK

}  // namespace cerberus::libraries::cudnn
