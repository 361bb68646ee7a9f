// Recurrent networks as functions.
#include <array>
#include <cmath>
#include <cstring>

#include "libraries/cudnn/legacy.h"
#include "libraries/cudnn/random.h"
#include "libraries/cudnn/rnn.h"

namespace cerberus::libraries::cudnn {

// As cudnnSetRNNDescriptor_v8 was told.
struct RnnDescriptor {
  RnnShape shape;
  int algorithm = 0;
  DataType type = kFloat, compute = kFloat;
  int math = 0;
  DropoutDesc dropout = nullptr;
  std::uint32_t flags = 0;
  int clip_mode = 0;
  NanPropagation clip_nan = kDropNan;
  double clip_low = 0, clip_high = 0;
};
enum DataLayout : int { kTimeMajor = 0, kPacked = 1, kBatchMajor = 2 };
struct RnnDataDescriptor {
  DataType type = kFloat;
  DataLayout layout = kTimeMajor;
  Index vector = 0;
  Sequences sequences;
  std::array<std::byte, 8> fill = {};  // of the elements' type
};

namespace {

Tensor Row(DataType type, Index count) { return {type, {count}, {1}}; }

// Where the elements of time t and sequence n are in memory, in vectors.
Index VectorAt(const RnnDataDescriptor& desc, Index t, Index n) {
  const Sequences& s = desc.sequences;
  switch (desc.layout) {
    case kTimeMajor: return t * s.batch + n;
    case kBatchMajor: return n * s.times + t;
    default: break;
  }
  // All that are before: of earlier times, and of this one.
  Index before = 0;
  for (Index i = 0; i < s.batch; ++i) {
    const Index length = s.lengths[static_cast<std::size_t>(i)];
    before += std::min(length, t);
    if (i < n && t < length) ++before;
  }
  return before;
}
Index VectorsOf(const RnnDataDescriptor& desc) {
  if (desc.layout != kPacked)
    return desc.sequences.times * desc.sequences.batch;
  Index sum = 0;
  for (const Index length : desc.sequences.lengths) sum += length;
  return sum;
}
Tensor MemoryOf(const RnnDataDescriptor& desc) {
  return Row(desc.type, VectorsOf(desc) * desc.vector);
}

// Calls f(place in memory, place in padded sequences, whether it is in one).
template <typename F>
void ForEachVector(const RnnDataDescriptor& desc, const F& f) {
  const Sequences& s = desc.sequences;
  for (Index t = 0; t < s.times; ++t) {
    for (Index n = 0; n < s.batch; ++n) {
      const bool inside = t < s.lengths[static_cast<std::size_t>(n)];
      if (!inside && desc.layout == kPacked) continue;
      f(VectorAt(desc, t, n) * desc.vector, (t * s.batch + n) * desc.vector,
        inside);
    }
  }
}
std::vector<double> Unpack(const RnnDataDescriptor& desc, const void* memory) {
  const Array all = MemoryOf(desc).Read(memory);
  std::vector<double> padded(static_cast<std::size_t>(
      desc.sequences.times * desc.sequences.batch * desc.vector));
  ForEachVector(desc, [&](Index from, Index to, bool inside) {
    for (Index i = 0; inside && i < desc.vector; ++i) {
      padded[static_cast<std::size_t>(to + i)] = all[from + i];
    }
  });
  return padded;
}
void Pack(const RnnDataDescriptor& desc, const std::vector<double>& padded,
          void* memory) {
  const double fill = Row(desc.type, 1).Read(desc.fill.data())[0];
  const Tensor tensor = MemoryOf(desc);
  Array all(tensor.sizes);
  ForEachVector(desc, [&](Index to, Index from, bool inside) {
    for (Index i = 0; i < desc.vector; ++i) {
      all[to + i] = inside ? padded[static_cast<std::size_t>(from + i)] : fill;
    }
  });
  tensor.Write(memory, all);
}

RnnShape ShapeOf(const RnnDescriptor& desc) {
  RnnShape shape = desc.shape;
  if (desc.clip_mode == 1) {
    shape.clip_low = desc.clip_low;
    shape.clip_high = desc.clip_high;
  }
  shape.dropout = desc.dropout != nullptr
                      ? static_cast<double>(desc.dropout->probability)
                      : 0;
  return shape;
}
std::size_t RecordBytes(const RnnShape& shape, const Sequences& s) {
  std::size_t bytes = 0;
  for (const Index size : RecordSizes(shape, s)) {
    bytes += static_cast<std::size_t>(size) * sizeof(double);
  }
  return bytes;
}
void Save(RnnRecord& record, void* memory) {
  auto* to = static_cast<std::byte*>(memory);
  for (int i = 0; i < RnnRecord::kArrays; ++i) {
    const std::vector<double>& array = *record.Arrays(i);
    std::memcpy(to, array.data(), array.size() * sizeof(double));
    to += array.size() * sizeof(double);
  }
}
RnnRecord Restore(const RnnShape& shape, const Sequences& s,
                  const void* memory) {
  RnnRecord record = MakeRecord(shape, s);
  const auto* from = static_cast<const std::byte*>(memory);
  for (int i = 0; i < RnnRecord::kArrays; ++i) {
    std::vector<double>& array = *record.Arrays(i);
    std::memcpy(array.data(), from, array.size() * sizeof(double));
    from += array.size() * sizeof(double);
  }
  return record;
}

// First or last states, or their slopes; zeros where there is no memory.
std::vector<double> ReadState(const Input& state, Index count) {
  if (!state) return std::vector<double>(static_cast<std::size_t>(count), 0.0);
  return state.Read().values;
}
void WriteState(const Output& state, const std::vector<double>& values) {
  if (!state) return;
  Array array(state.tensor.sizes);
  array.values = values;
  state.Store(std::move(array));
}

// What the functions here have in common.
struct Network {
  RnnShape shape;
  Sequences s;
  const RnnDescriptor* desc;
  Index outputs, cells;  // elements of states

  Status Check(const RnnDescriptor* rnn, const RnnDataDescriptor* x,
               const RnnDataDescriptor* y, const TensorDescriptor* h,
               const TensorDescriptor* c, std::size_t weight_bytes) {
    if (rnn == nullptr || x == nullptr || y == nullptr ||
        rnn->shape.layers == 0 || x->sequences.batch == 0) {
      return kBadParam;
    }
    desc = rnn;
    shape = ShapeOf(*rnn);
    s = x->sequences;
    outputs = shape.parts() * s.batch * shape.output();
    cells = shape.parts() * s.batch * shape.hidden;
    const std::size_t needed = static_cast<std::size_t>(WeightCount(shape)) *
                               static_cast<std::size_t>(BitsOf(rnn->type)) / 8;
    if (x->vector != shape.input ||
        y->vector != shape.output() * shape.directions() ||
        y->sequences.times != s.times || y->sequences.lengths != s.lengths ||
        weight_bytes < needed || x->type != rnn->type || y->type != rnn->type ||
        (h != nullptr && (!IsSet(h) || h->tensor.count() != outputs)) ||
        (c != nullptr && shape.mode == kLstm &&
         (!IsSet(c) || c->tensor.count() != cells))) {
      return kBadParam;
    }
    return kSuccess;
  }
  Tensor Weights() const { return Row(desc->type, WeightCount(shape)); }
  Input ReadOf(Call& call, const TensorDescriptor* of, const void* p) const {
    return of != nullptr && p != nullptr ? Read(call, of->tensor, p) : Input();
  }
  Output WriteOf(Call& call, const TensorDescriptor* of, void* p) const {
    return of != nullptr && p != nullptr ? Write(call, of->tensor, p)
                                         : Output();
  }
};

// Draws what dropout keeps of the outputs between layers.
void DrawKept(const RnnShape& shape, const DropoutDescriptor& dropout,
              std::uint64_t* drawn, RnnRecord* record) {
  Array kept({static_cast<Index>(record->kept.size())});
  Distribution of;
  of.probability = 1 - shape.dropout;
  Draw(of, dropout.seed, drawn[0], &kept);
  drawn[0] += static_cast<std::uint64_t>((kept.count() + 3) / 4);
  const double scale = of.probability > 0 ? 1 / of.probability : 0;
  for (Index i = 0; i < kept.count(); ++i) {
    record->kept[static_cast<std::size_t>(i)] = scale * kept[i];
  }
}

}  // namespace

CUDNN_API Told cudnnCreateRNNDescriptor(RnnDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyRNNDescriptor(RnnDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetRNNDescriptor_v8(
    RnnDescriptor* desc, int algorithm, CellMode mode, BiasMode biases,
    int direction, int input_mode, DataType type, DataType compute, int math,
    std::int32_t input, std::int32_t hidden, std::int32_t projected,
    std::int32_t layers, DropoutDesc dropout, std::uint32_t flags) {
  return Tell([&] {
    if (!desc || mode < kRnnRelu || mode > kGru || biases < kNoBias ||
        biases > kRecurrentBias || direction < 0 || direction > 1 ||
        input_mode < 0 || input_mode > 1 || input < 1 || hidden < 1 ||
        layers < 1 || projected < 0 || projected > hidden || algorithm < 0 ||
        algorithm > 3) {
      return kBadParam;
    }
    if (type != kFloat && type != kDouble && type != kHalf &&
        type != kBfloat16) {
      return kNotSupported;
    }
    if (input_mode == 1 && input != hidden) return kBadParam;
    if (projected == 0) projected = hidden;
    if (projected < hidden && mode != kLstm) return kNotSupported;
    RnnDescriptor made;
    made.shape = {mode,  biases, direction == 1, input_mode == 1,
                  input, hidden, projected,      layers};
    made.algorithm = algorithm;
    made.type = type;
    made.compute = compute;
    made.math = math;
    made.dropout = dropout;
    made.flags = flags;
    made.clip_mode = desc->clip_mode;
    made.clip_nan = desc->clip_nan;
    made.clip_low = desc->clip_low;
    made.clip_high = desc->clip_high;
    *desc = made;
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetRNNDescriptor_v8(
    const RnnDescriptor* desc, int* algorithm, CellMode* mode, BiasMode* biases,
    int* direction, int* input_mode, DataType* type, DataType* compute,
    int* math, std::int32_t* input, std::int32_t* hidden,
    std::int32_t* projected, std::int32_t* layers, DropoutDesc* dropout,
    std::uint32_t* flags) {
  return Tell([&] {
    if (desc == nullptr) return kBadParam;
    const RnnShape& shape = desc->shape;
    Put(algorithm, desc->algorithm), Put(mode, shape.mode);
    Put(biases, shape.biases), Put(direction, shape.both_directions);
    Put(input_mode, shape.skips_input), Put(type, desc->type);
    Put(compute, desc->compute), Put(math, desc->math);
    Put(input, shape.input), Put(hidden, shape.hidden);
    Put(projected, shape.projected), Put(layers, shape.layers);
    if (dropout != nullptr) *dropout = desc->dropout;
    Put(flags, desc->flags);
    return kSuccess;
  });
}
CUDNN_API Told cudnnRNNSetClip_v8(RnnDescriptor* desc, int mode,
                                  NanPropagation nan, double low, double high) {
  return Tell([&] {
    if (desc == nullptr || mode < 0 || mode > 1) return kBadParam;
    if (mode == 1 && !(low < high)) return kBadParam;
    desc->clip_mode = mode;
    desc->clip_nan = nan;
    desc->clip_low = low;
    desc->clip_high = high;
    return kSuccess;
  });
}
CUDNN_API Told cudnnRNNSetClip_v9(RnnDescriptor* desc, int mode, double low,
                                  double high) {
  return cudnnRNNSetClip_v8(desc, mode, kDropNan, low, high);
}
CUDNN_API Told cudnnRNNGetClip_v8(const RnnDescriptor* desc, int* mode,
                                  NanPropagation* nan, double* low,
                                  double* high) {
  return Tell([&] {
    if (desc == nullptr) return kBadParam;
    Put(mode, desc->clip_mode), Put(nan, desc->clip_nan);
    Put(low, desc->clip_low), Put(high, desc->clip_high);
    return kSuccess;
  });
}
CUDNN_API Told cudnnRNNGetClip_v9(const RnnDescriptor* desc, int* mode,
                                  double* low, double* high) {
  return cudnnRNNGetClip_v8(desc, mode, nullptr, low, high);
}
CUDNN_API Told cudnnBuildRNNDynamic(Handle handle, const RnnDescriptor* desc,
                                    int batch) {
  return Tell(handle, [&] {
    return desc != nullptr && batch > 0 ? kSuccess : kBadParam;
  });
}

CUDNN_API Told cudnnCreateRNNDataDescriptor(RnnDataDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyRNNDataDescriptor(RnnDataDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetRNNDataDescriptor(RnnDataDescriptor* desc, DataType type,
                                         DataLayout layout, int times,
                                         int batch, int vector,
                                         const int* lengths, void* fill) {
  return Tell([&] {
    if (!desc || times < 1 || batch < 1 || vector < 1 || !lengths ||
        layout < kTimeMajor || layout > kBatchMajor) {
      return kBadParam;
    }
    if (!IsFloating(type) || BitsOf(type) < 16) return kNotSupported;
    RnnDataDescriptor made;
    made.type = type;
    made.layout = layout;
    made.vector = vector;
    made.sequences = {times, batch, {lengths, lengths + batch}};
    for (int n = 0; n < batch; ++n) {
      if (lengths[n] < 0 || lengths[n] > times) return kBadParam;
      // Packed ones are sorted, the longest first.
      if (layout == kPacked && n > 0 && lengths[n] > lengths[n - 1]) {
        return kBadParam;
      }
    }
    if (fill != nullptr) {
      std::memcpy(made.fill.data(), fill,
                  static_cast<std::size_t>(BitsOf(type)) / 8);
    }
    *desc = std::move(made);
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetRNNDataDescriptor(const RnnDataDescriptor* desc,
                                         DataType* type, DataLayout* layout,
                                         int* times, int* batch, int* vector,
                                         int room, int* lengths, void* fill) {
  return Tell([&] {
    if (desc == nullptr || room < 0) return kBadParam;
    const Sequences& s = desc->sequences;
    Put(type, desc->type), Put(layout, desc->layout), Put(times, s.times);
    Put(batch, s.batch), Put(vector, desc->vector);
    for (int n = 0; lengths != nullptr && n < room && n < s.batch; ++n) {
      Put(lengths + n, s.lengths[static_cast<std::size_t>(n)]);
    }
    if (fill != nullptr) {
      std::memcpy(fill, desc->fill.data(),
                  static_cast<std::size_t>(BitsOf(desc->type)) / 8);
    }
    return kSuccess;
  });
}

CUDNN_API Told cudnnGetRNNTempSpaceSizes(Handle handle,
                                         const RnnDescriptor* desc, int trains,
                                         const RnnDataDescriptor* x,
                                         std::size_t* workspace,
                                         std::size_t* reserve) {
  return Tell(handle, [&] {
    if (!desc || desc->shape.layers == 0 || !x || x->sequences.batch == 0) {
      return kBadParam;
    }
    Put(workspace, 0);
    Put(reserve, trains != 0 ? RecordBytes(ShapeOf(*desc), x->sequences) : 0);
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetRNNWeightSpaceSize(Handle handle,
                                          const RnnDescriptor* desc,
                                          std::size_t* bytes) {
  return Tell(handle, [&] {
    if (!desc || desc->shape.layers == 0 || !bytes) return kBadParam;
    *bytes = static_cast<std::size_t>(WeightCount(desc->shape)) *
             static_cast<std::size_t>(BitsOf(desc->type)) / 8;
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetRNNWeightParams(Handle handle, const RnnDescriptor* desc,
                                       std::int32_t part, std::size_t bytes,
                                       const void* weights, std::int32_t number,
                                       TensorDescriptor* matrix_desc,
                                       void** matrix,
                                       TensorDescriptor* bias_desc,
                                       void** bias) {
  return Tell(handle, [&] {
    if (!desc || desc->shape.layers == 0) return kBadParam;
    const RnnShape& shape = desc->shape;
    const Index gates = shape.gates();
    const auto size = static_cast<std::size_t>(BitsOf(desc->type)) / 8;
    const Index last = 2 * gates + (shape.projects() ? 1 : 0);
    if (part < 0 || part >= shape.parts() || number < 0 || number >= last ||
        bytes < static_cast<std::size_t>(WeightCount(shape)) * size) {
      return kBadParam;
    }
    const auto tell = [&](WeightPlace place, TensorDescriptor* of, void** at) {
      if (at != nullptr) *at = nullptr;
      if (place.rows == 0) {
        if (of != nullptr) of->tensor = {};
        return;
      }
      if (of != nullptr) {
        const Sizes sizes = {1, place.rows, place.columns};
        of->told = desc->type;
        of->tensor = {desc->type, sizes, PackedStrides(sizes)};
      }
      if (at != nullptr && weights != nullptr) {
        const auto* first = static_cast<const std::byte*>(weights);
        *at = const_cast<std::byte*>(
            first + static_cast<std::size_t>(place.offset) * size);
      }
    };
    tell(MatrixPlace(shape, part, number), matrix_desc, matrix);
    tell(number < 2 * gates ? BiasPlace(shape, part, number) : WeightPlace(),
         bias_desc, bias);
    return kSuccess;
  });
}

CUDNN_API Told cudnnRNNForward(
    Handle handle, const RnnDescriptor* desc, int trains, const std::int32_t*,
    const RnnDataDescriptor* x_desc, const void* x,
    const RnnDataDescriptor* y_desc, void* y, const TensorDescriptor* h_desc,
    const void* hx, void* hy, const TensorDescriptor* c_desc, const void* cx,
    void* cy, std::size_t weight_bytes, const void* weights, std::size_t, void*,
    std::size_t reserve_bytes, void* reserve) {
  return Tell(handle, [&] {
    Network net;
    if (const Status bad =
            net.Check(desc, x_desc, y_desc, h_desc, c_desc, weight_bytes)) {
      return bad;
    }
    if (!x || !y || !weights) return kBadParam;
    const std::size_t needed = RecordBytes(net.shape, net.s);
    if (trains != 0 && (!reserve || reserve_bytes < needed)) return kBadParam;
    const bool drops =
        trains != 0 && net.shape.dropout > 0 && net.shape.layers > 1;
    if (drops && desc->dropout->states == nullptr) return kBadParam;
    if (trains != 0 && net.shape.clip_low < net.shape.clip_high) {
      return Failed(kNotSupported, "training with cells that are clipped");
    }
    Call call(handle);
    const Input in = Read(call, MemoryOf(*x_desc), x);
    const Output out = Write(call, MemoryOf(*y_desc), y);
    const Input first_h = net.ReadOf(call, h_desc, hx);
    const Input first_c = net.ReadOf(call, c_desc, cx);
    const Output last_h = net.WriteOf(call, h_desc, hy);
    const Output last_c = net.WriteOf(call, c_desc, cy);
    const Input parameters = Read(call, net.Weights(), weights);
    void* kept = trains != 0 ? call.work().InOut(
                                   static_cast<std::byte*>(reserve), needed)
                             : nullptr;
    std::uint64_t* drawn =
        drops ? call.work().InOut(
                    static_cast<std::uint64_t*>(desc->dropout->states), 16)
              : nullptr;
    const DropoutDescriptor dropout =
        drops ? *desc->dropout : DropoutDescriptor();
    return call.Run([=, xd = *x_desc, yd = *y_desc] {
      RnnRecord record = MakeRecord(net.shape, net.s);
      if (drops) DrawKept(net.shape, dropout, drawn, &record);
      const RnnStates first = {ReadState(first_h, net.outputs),
                               ReadState(first_c, net.cells)};
      RnnStates last;
      const std::vector<double> result =
          RnnForward(net.shape, net.s, parameters.Read().values,
                     Unpack(xd, in.memory), first, &last, &record);
      Pack(yd, result, out.memory);
      WriteState(last_h, last.outputs);
      if (net.shape.mode == kLstm) WriteState(last_c, last.cells);
      if (kept != nullptr) Save(record, kept);
    });
  });
}
CUDNN_API Told cudnnRNNBackwardData_v8(
    Handle handle, const RnnDescriptor* desc, const std::int32_t*,
    const RnnDataDescriptor* y_desc, const void*, const void* dy,
    const RnnDataDescriptor* x_desc, void* dx, const TensorDescriptor* h_desc,
    const void* hx, const void* dhy, void* dhx, const TensorDescriptor* c_desc,
    const void* cx, const void* dcy, void* dcx, std::size_t weight_bytes,
    const void* weights, std::size_t, void*, std::size_t reserve_bytes,
    void* reserve) {
  return Tell(handle, [&] {
    Network net;
    if (const Status bad =
            net.Check(desc, x_desc, y_desc, h_desc, c_desc, weight_bytes)) {
      return bad;
    }
    const std::size_t needed = RecordBytes(net.shape, net.s);
    if (!dy || !dx || !weights || !reserve || reserve_bytes < needed) {
      return kBadParam;
    }
    Call call(handle);
    const Input slope = Read(call, MemoryOf(*y_desc), dy);
    const Output out = Write(call, MemoryOf(*x_desc), dx);
    const Input first_h = net.ReadOf(call, h_desc, hx);
    const Input first_c = net.ReadOf(call, c_desc, cx);
    const Input last_h = net.ReadOf(call, h_desc, dhy);
    const Input last_c = net.ReadOf(call, c_desc, dcy);
    const Output slope_h = net.WriteOf(call, h_desc, dhx);
    const Output slope_c = net.WriteOf(call, c_desc, dcx);
    const Input parameters = Read(call, net.Weights(), weights);
    void* kept = call.work().InOut(static_cast<std::byte*>(reserve), needed);
    return call.Run([=, xd = *x_desc, yd = *y_desc] {
      RnnRecord record = Restore(net.shape, net.s, kept);
      const RnnStates first = {ReadState(first_h, net.outputs),
                               ReadState(first_c, net.cells)};
      RnnStates slopes = {ReadState(last_h, net.outputs),
                          ReadState(last_c, net.cells)};
      const std::vector<double> result =
          RnnBackward(net.shape, net.s, parameters.Read().values,
                      Unpack(yd, slope.memory), first, &slopes, &record);
      Pack(xd, result, out.memory);
      WriteState(slope_h, slopes.outputs);
      if (net.shape.mode == kLstm) WriteState(slope_c, slopes.cells);
      Save(record, kept);
    });
  });
}
// The slopes are added to what is there (mode 0) or written.
CUDNN_API Told cudnnRNNBackwardWeights_v8(
    Handle handle, const RnnDescriptor* desc, int mode, const std::int32_t*,
    const RnnDataDescriptor* x_desc, const void* x,
    const TensorDescriptor* h_desc, const void* hx,
    const RnnDataDescriptor* y_desc, const void*, std::size_t weight_bytes,
    void* dweights, std::size_t, void*, std::size_t reserve_bytes,
    void* reserve) {
  return Tell(handle, [&] {
    Network net;
    if (const Status bad =
            net.Check(desc, x_desc, y_desc, h_desc, nullptr, weight_bytes)) {
      return bad;
    }
    const std::size_t needed = RecordBytes(net.shape, net.s);
    if (!x || !dweights || !reserve || reserve_bytes < needed || mode < 0 ||
        mode > 1) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, MemoryOf(*x_desc), x);
    const Input first_h = net.ReadOf(call, h_desc, hx);
    const Output out = Write(call, net.Weights(), dweights);
    const void* kept = call.work().In(static_cast<std::byte*>(reserve), needed);
    return call.Run([=, xd = *x_desc] {
      Array sums =
          mode == 0 ? out.tensor.Read(out.memory) : Array(out.tensor.sizes);
      const RnnStates first = {ReadState(first_h, net.outputs), {}};
      RnnWeightSlopes(net.shape, net.s, Unpack(xd, in.memory), first,
                      Restore(net.shape, net.s, kept), &sums.values);
      out.Store(std::move(sums));
    });
  });
}

}  // namespace cerberus::libraries::cudnn
