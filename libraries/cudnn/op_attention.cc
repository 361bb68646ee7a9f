// Products, softmax and attention as operations of graphs.
#include <cmath>
#include <numbers>

#include "libraries/cudnn/attention.h"
#include "libraries/cudnn/operations.h"

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

bool IsWideAttention(const TensorRef& q) { return q->tensor.type == kDouble; }

// Attributes of attention that are not computed.
Status RefuseOthers(const Descriptor& d, std::initializer_list<Name> computed) {
  for (const auto& [name, value] : d.attributes) {
    bool known = false;
    for (const Name one : computed) known |= one == name;
    if (!known && value.count > 0) {
      return Failed(kNotSupported, "a kind of attention that is not computed");
    }
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
  if (builder.d().Has(attribute::OPERATION_SOFTMAX_SINK_DESC)) {
    return Failed(kNotSupported, "softmax with a sink");
  }
  if (!x || !y || SizesOf(x) != SizesOf(y)) return BadTensors();
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
        Softmax(false, out.sizes.back(), 1, &out, &s);
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
Status MakeSdpaForward(Builder builder, std::shared_ptr<const Node>* node) {
  if (const Status bad = RefuseOthers(
          builder.d(),
          {FORWARD(QDESC), FORWARD(KDESC), FORWARD(VDESC), FORWARD(ODESC),
           FORWARD(STATSDESC), FORWARD(SCALEDESC), FORWARD(SEQ_LEN_QDESC),
           FORWARD(SEQ_LEN_KVDESC), FORWARD(UNFUSE_FMA)})) {
    return bad;
  }
  const TensorRef q = builder.In(FORWARD(QDESC));
  const TensorRef k = builder.In(FORWARD(KDESC));
  const TensorRef v = builder.In(FORWARD(VDESC));
  const TensorRef o = builder.Out(FORWARD(ODESC));
  const TensorRef stats = builder.Out(FORWARD(STATSDESC));
  const TensorRef scale = builder.In(FORWARD(SCALEDESC));
  const TensorRef queries = builder.In(FORWARD(SEQ_LEN_QDESC));
  const TensorRef keys = builder.In(FORWARD(SEQ_LEN_KVDESC));
  if (!q || !k || !v || !o ||
      !CanAttend(SizesOf(q), SizesOf(k), SizesOf(v), SizesOf(o)) ||
      !AreLengths(queries, SizesOf(q)[0]) || !AreLengths(keys, SizesOf(q)[0])) {
    return BadTensors();
  }
  if (stats &&
      SizesOf(stats) != Sizes{SizesOf(q)[0], SizesOf(q)[1], SizesOf(q)[2], 1}) {
    return BadTensors();
  }
  return builder.Make(
      [=](Values& values) {
        const Attention attention = {
            IsWideAttention(q), scale ? values.Get(scale)[0] : 1,
            Lengths(values, queries), Lengths(values, keys)};
        Array statistics;
        values.Set(o, Attend(attention, values.Get(q), values.Get(k),
                             values.Get(v), stats ? &statistics : nullptr));
        if (stats) values.Set(stats, std::move(statistics));
      },
      node);
}
#undef FORWARD

#define BACKWARD(name) attribute::OPERATION_SDPA_BWD_##name
Status MakeSdpaBackward(Builder builder, std::shared_ptr<const Node>* node) {
  if (const Status bad = RefuseOthers(
          builder.d(),
          {BACKWARD(QDESC), BACKWARD(KDESC), BACKWARD(VDESC), BACKWARD(ODESC),
           BACKWARD(STATSDESC), BACKWARD(SCALEDESC), BACKWARD(DQDESC),
           BACKWARD(DKDESC), BACKWARD(DVDESC), BACKWARD(DODDESC),
           BACKWARD(SEQ_LEN_QDESC), BACKWARD(SEQ_LEN_KVDESC)})) {
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
  if (!q || !k || !v || !o || !slope || !stats || !dq || !dk || !dv ||
      !CanAttend(SizesOf(q), SizesOf(k), SizesOf(v), SizesOf(o)) ||
      SizesOf(slope) != SizesOf(o) || SizesOf(dq) != SizesOf(q) ||
      SizesOf(dk) != SizesOf(k) || SizesOf(dv) != SizesOf(v) ||
      ProductOf(SizesOf(stats)) != ProductOf(SizesOf(q)) / SizesOf(q)[3] ||
      !AreLengths(queries, SizesOf(q)[0]) || !AreLengths(keys, SizesOf(q)[0])) {
    return BadTensors();
  }
  return builder.Make(
      [=](Values& values) {
        const Attention attention = {
            IsWideAttention(q), scale ? values.Get(scale)[0] : 1,
            Lengths(values, queries), Lengths(values, keys)};
        AttentionSlopes slopes = AttendBackward(
            attention, values.Get(q), values.Get(k), values.Get(v),
            values.Get(o), values.Get(slope), values.Get(stats));
        values.Set(dq, std::move(slopes.dq));
        values.Set(dk, std::move(slopes.dk));
        values.Set(dv, std::move(slopes.dv));
      },
      node);
}
#undef BACKWARD

}  // namespace cerberus::libraries::cudnn
