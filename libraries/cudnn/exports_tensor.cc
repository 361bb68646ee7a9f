// Tensors and filters, and what is done with them element by element.
#include "libraries/cudnn/legacy.h"

namespace cerberus::libraries::cudnn {

struct OpTensorDescriptor {
  int op = 0;
  DataType compute = kFloat;
  NanPropagation nan = kDropNan;
};
struct ReduceDescriptor {
  ReduceOp op = kReduceAdd;
  DataType compute = kFloat;
  NanPropagation nan = kDropNan;
  int indices = 0, index_type = 0;
};

namespace {

Index VectorOf(DataType type) {
  switch (type) {
    case kInt8x4:
    case kUint8x4: return 4;
    case kInt8x32: return 32;
    default: return 1;
  }
}
DataType ElementOf(DataType type) {
  switch (type) {
    case kInt8x4:
    case kInt8x32: return kInt8;
    case kUint8x4: return kUint8;
    default: return type;
  }
}

template <typename N>
Sizes Numbers(int count, const N* numbers) {
  return {numbers, numbers + count};
}
// The first numbers of `from`.
void PutAll(const Sizes& from, int room, int* to) {
  for (std::size_t d = 0; to != nullptr && d < from.size(); ++d) {
    if (static_cast<int>(d) < room) to[d] = static_cast<int>(from[d]);
  }
}

// A described layout: no packed order.
Status SetStrided(TensorDesc desc, DataType type, Sizes sizes, Sizes strides) {
  if (desc == nullptr || BitsOf(type) < 8) return kBadParam;
  const Tensor tensor = {type, std::move(sizes), std::move(strides)};
  if (!tensor.IsAddressable()) return kBadParam;
  desc->told = type;
  desc->tensor = tensor;
  return kSuccess;
}
Status SetPacked(TensorDesc desc, Format format, DataType type,
                 const Sizes& sizes) {
  if (desc == nullptr) return kBadParam;
  Tensor tensor;
  if (const Status bad = LayOut(format, type, sizes, &tensor)) return bad;
  desc->told = type;
  desc->tensor = std::move(tensor);
  return kSuccess;
}
Status SetFilter(FilterDesc desc, DataType type, Format format,
                 const Sizes& sizes) {
  if (desc == nullptr) return kBadParam;
  Tensor tensor;
  if (const Status bad = LayOut(format, type, sizes, &tensor)) return bad;
  *desc = {std::move(tensor), type, format};
  return kSuccess;
}
// What a tensor takes, gaps and all.
std::size_t BytesOf(const Tensor& tensor) { return tensor.SpanBytes(); }

// op(alpha1 a, alpha2 b): cudnnOpTensorOp_t.
double Operate(int op, NanPropagation nan, double a, double b) {
  switch (op) {
    case 0: return a + b;
    case 1: return a * b;
    case 2: return CombineReduced(kReduceMin, nan == kKeepNan, a, b);
    case 3: return CombineReduced(kReduceMax, nan == kKeepNan, a, b);
    case 4: return ComputePointwise(kSqrt, {}, a);
    default: return 1 - a;  // NOT
  }
}

std::size_t IndexBytes(int type) {
  constexpr std::size_t kBytes[] = {4, 8, 2, 1};
  return type >= 0 && type < 4 ? kBytes[type] : 0;
}
bool HasIndices(const ReduceDescriptor& desc) {
  return desc.indices == 1 && desc.op >= kReduceMin && desc.op <= kReduceAmax;
}
// Where along the reduced dimensions each result is, as flattened indices.
Array ExtremeIndices(const ReduceDescriptor& desc, const Array& x,
                     const Array& y) {
  Array found(y.sizes, -1);
  const Sizes strides = PackedStrides(y.sizes);
  Sizes place(x.sizes.size(), 0);
  Index i = 0;
  do {
    Index to = 0, flat = 0;
    for (std::size_t d = 0; d < place.size(); ++d) {
      if (y.sizes[d] == 1) flat = flat * x.sizes[d] + place[d];
      else to += place[d] * strides[d];
    }
    const double value = desc.op == kReduceAmax ? std::abs(x[i]) : x[i];
    if (found[to] < 0 && value == y[to]) found[to] = static_cast<double>(flat);
    ++i;
  } while (NextPlace(x.sizes, &place));
  return found;
}

}  // namespace

Status LayOut(Format format, DataType type, const Sizes& sizes,
              Tensor* tensor) {
  const Index vector = VectorOf(type);
  if (BitsOf(ElementOf(type)) < 8 || ProductOf(sizes) <= 0 ||
      (vector > 1) != (format == kNchwVectC) ||
      (format == kNchwVectC && (sizes.size() < 3 || sizes[1] % vector != 0))) {
    return kBadParam;
  }
  tensor->type = ElementOf(type);
  tensor->sizes = sizes;
  tensor->vector_count = vector;
  tensor->vector_dimension = 1;
  if (format == kNchw || sizes.size() < 3) {
    tensor->strides = PackedStrides(sizes);
  } else if (format == kNchwVectC) {
    Sizes vectors = sizes;
    vectors[1] /= vector;
    tensor->strides = PackedStrides(vectors);
  } else if (format == kNhwc) {
    Sizes turned = sizes;  // channels last
    turned.erase(turned.begin() + 1);
    turned.push_back(sizes[1]);
    tensor->strides = PackedStrides(turned);
    tensor->strides.pop_back();
    tensor->strides.insert(tensor->strides.begin() + 1, 1);
  } else {
    return kBadParam;
  }
  return kSuccess;
}

// --- tensor descriptors
CUDNN_API Told cudnnCreateTensorDescriptor(TensorDesc* desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyTensorDescriptor(TensorDesc desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetTensor4dDescriptor(TensorDesc desc, Format format,
                                          DataType type, int n, int c, int h,
                                          int w) {
  return Tell([&] { return SetPacked(desc, format, type, {n, c, h, w}); });
}
CUDNN_API Told cudnnSetTensor4dDescriptorEx(TensorDesc desc, DataType type,
                                            int n, int c, int h, int w, int ns,
                                            int cs, int hs, int ws) {
  return Tell(
      [&] { return SetStrided(desc, type, {n, c, h, w}, {ns, cs, hs, ws}); });
}
CUDNN_API Told cudnnGetTensor4dDescriptor(const TensorDescriptor* desc,
                                          DataType* type, int* n, int* c,
                                          int* h, int* w, int* ns, int* cs,
                                          int* hs, int* ws) {
  return Tell([&] {
    if (!IsSet(desc) || desc->tensor.sizes.size() != 4) return kBadParam;
    Put(type, desc->told);
    const Sizes& sizes = desc->tensor.sizes;
    const Sizes& strides = desc->tensor.strides;
    Put(n, sizes[0]), Put(c, sizes[1]), Put(h, sizes[2]), Put(w, sizes[3]);
    Put(ns, strides[0]), Put(cs, strides[1]);
    Put(hs, strides[2]), Put(ws, strides[3]);
    return kSuccess;
  });
}
CUDNN_API Told cudnnSetTensorNdDescriptor(TensorDesc desc, DataType type,
                                          int count, const int* sizes,
                                          const int* strides) {
  return Tell([&] {
    if (count > kMostDimensions) return kNotSupported;
    if (count < 1 || sizes == nullptr || strides == nullptr) return kBadParam;
    return SetStrided(desc, type, Numbers(count, sizes),
                      Numbers(count, strides));
  });
}
CUDNN_API Told cudnnSetTensorNdDescriptorEx(TensorDesc desc, Format format,
                                            DataType type, int count,
                                            const int* sizes) {
  return Tell([&] {
    if (count > kMostDimensions) return kNotSupported;
    if (count < 1 || sizes == nullptr) return kBadParam;
    return SetPacked(desc, format, type, Numbers(count, sizes));
  });
}
CUDNN_API Told cudnnGetTensorNdDescriptor(const TensorDescriptor* desc,
                                          int room, DataType* type, int* count,
                                          int* sizes, int* strides) {
  return Tell([&] {
    if (!IsSet(desc) || room < 0) return kBadParam;
    Put(type, desc->told);
    Put(count, desc->tensor.sizes.size());
    PutAll(desc->tensor.sizes, room, sizes);
    PutAll(desc->tensor.strides, room, strides);
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetTensorSizeInBytes(const TensorDescriptor* desc,
                                         std::size_t* bytes) {
  return Tell([&] {
    if (!IsSet(desc) || bytes == nullptr) return kBadParam;
    *bytes = BytesOf(desc->tensor);
    return kSuccess;
  });
}

// --- filter descriptors
CUDNN_API Told cudnnCreateFilterDescriptor(FilterDesc* desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyFilterDescriptor(FilterDesc desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetFilter4dDescriptor(FilterDesc desc, DataType type,
                                          Format format, int k, int c, int h,
                                          int w) {
  return Tell([&] { return SetFilter(desc, type, format, {k, c, h, w}); });
}
CUDNN_API Told cudnnGetFilter4dDescriptor(const FilterDescriptor* desc,
                                          DataType* type, Format* format,
                                          int* k, int* c, int* h, int* w) {
  return Tell([&] {
    if (!IsSet(desc) || desc->tensor.sizes.size() != 4) return kBadParam;
    Put(type, desc->told), Put(format, desc->format);
    const Sizes& sizes = desc->tensor.sizes;
    Put(k, sizes[0]), Put(c, sizes[1]), Put(h, sizes[2]), Put(w, sizes[3]);
    return kSuccess;
  });
}
CUDNN_API Told cudnnSetFilterNdDescriptor(FilterDesc desc, DataType type,
                                          Format format, int count,
                                          const int* sizes) {
  return Tell([&] {
    if (count > kMostDimensions) return kNotSupported;
    if (count < 3 || sizes == nullptr) return kBadParam;
    return SetFilter(desc, type, format, Numbers(count, sizes));
  });
}
CUDNN_API Told cudnnGetFilterNdDescriptor(const FilterDescriptor* desc,
                                          int room, DataType* type,
                                          Format* format, int* count,
                                          int* sizes) {
  return Tell([&] {
    if (!IsSet(desc) || room < 0) return kBadParam;
    Put(type, desc->told), Put(format, desc->format);
    Put(count, desc->tensor.sizes.size());
    PutAll(desc->tensor.sizes, room, sizes);
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetFilterSizeInBytes(const FilterDescriptor* desc,
                                         std::size_t* bytes) {
  return Tell([&] {
    if (!IsSet(desc) || bytes == nullptr) return kBadParam;
    *bytes = BytesOf(desc->tensor);
    return kSuccess;
  });
}

// --- element by element
CUDNN_API Told cudnnTransformTensor(Handle handle, const void* alpha,
                                    const TensorDescriptor* x_desc,
                                    const void* x, const void* beta,
                                    const TensorDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (!IsSet(x_desc) || !IsSet(y_desc) || !alpha || !beta || !x || !y ||
        x_desc->tensor.sizes != y_desc->tensor.sizes) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, x_desc->tensor, x);
    const Output out = Write(call, y_desc->tensor, y, alpha, beta);
    return call.Run([=] { out.Store(in.Read()); });
  });
}
CUDNN_API Told cudnnAddTensor(Handle handle, const void* alpha,
                              const TensorDescriptor* a_desc, const void* a,
                              const void* beta, const TensorDescriptor* c_desc,
                              void* c) {
  return Tell(handle, [&] {
    if (!IsSet(a_desc) || !IsSet(c_desc) || !alpha || !beta || !a || !c ||
        !CanBroadcast(a_desc->tensor.sizes, c_desc->tensor.sizes)) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, a_desc->tensor, a);
    const Output out = Write(call, c_desc->tensor, c, alpha, beta);
    return call.Run([=] { out.Store(Broadcast(in.Read(), out.tensor.sizes)); });
  });
}
CUDNN_API Told cudnnSetTensor(Handle handle, const TensorDescriptor* desc,
                              void* y, const void* value) {
  return Tell(handle, [&] {
    if (!IsSet(desc) || y == nullptr || value == nullptr) return kBadParam;
    Tensor one = desc->tensor;  // a number of the tensor's own type
    one.sizes = one.strides = {1};
    one.vector_count = 1;
    const double number = one.Read(value)[0];
    Call call(handle);
    const Output out = Write(call, desc->tensor, y);
    return call.Run([=] { out.Store(Array(out.tensor.sizes, number)); });
  });
}
CUDNN_API Told cudnnScaleTensor(Handle handle, const TensorDescriptor* desc,
                                void* y, const void* alpha) {
  return Tell(handle, [&] {
    if (!IsSet(desc) || y == nullptr || alpha == nullptr) return kBadParam;
    Call call(handle);
    Output out = Write(call, desc->tensor, y);
    out.alpha = ScalarOf(alpha, desc->tensor.type);
    return call.Run([=] { out.Store(out.tensor.Read(out.memory)); });
  });
}

CUDNN_API Told cudnnCreateOpTensorDescriptor(OpTensorDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyOpTensorDescriptor(OpTensorDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetOpTensorDescriptor(OpTensorDescriptor* desc, int op,
                                          DataType compute,
                                          NanPropagation nan) {
  return Tell([&] {
    if (desc == nullptr || op < 0 || op > 5) return kBadParam;
    *desc = {op, compute, nan};
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetOpTensorDescriptor(const OpTensorDescriptor* desc,
                                          int* op, DataType* compute,
                                          NanPropagation* nan) {
  return Tell([&] {
    if (desc == nullptr) return kBadParam;
    Put(op, desc->op), Put(compute, desc->compute), Put(nan, desc->nan);
    return kSuccess;
  });
}
CUDNN_API Told cudnnOpTensor(Handle handle, const OpTensorDescriptor* desc,
                             const void* alpha1, const TensorDescriptor* a_desc,
                             const void* a, const void* alpha2,
                             const TensorDescriptor* b_desc, const void* b,
                             const void* beta, const TensorDescriptor* c_desc,
                             void* c) {
  return Tell(handle, [&] {
    // Two of the operations have one operand.
    const bool two = desc != nullptr && desc->op < 4;
    if (!desc || !IsSet(a_desc) || !IsSet(c_desc) || !alpha1 || !a || !c ||
        !beta || a_desc->tensor.sizes != c_desc->tensor.sizes ||
        (two && (!IsSet(b_desc) || !b || !alpha2 ||
                 !CanBroadcast(b_desc->tensor.sizes, c_desc->tensor.sizes)))) {
      return kBadParam;
    }
    Call call(handle);
    const Input left = Read(call, a_desc->tensor, a);
    const Input right = two ? Read(call, b_desc->tensor, b) : Input();
    Output out = Write(call, c_desc->tensor, c, beta, beta);
    out.alpha = 1;
    const double of_a = ScalarOf(alpha1, c_desc->tensor.type);
    const double of_b = two ? ScalarOf(alpha2, c_desc->tensor.type) : 0;
    return call.Run([=, op = *desc] {
      Array result = left.Read();
      const Array other =
          two ? Broadcast(right.Read(), result.sizes) : Array(Sizes{0});
      for (Index i = 0; i < result.count(); ++i) {
        result[i] =
            Operate(op.op, op.nan, of_a * result[i], two ? of_b * other[i] : 0);
      }
      out.Store(std::move(result));
    });
  });
}

// --- reductions
CUDNN_API Told cudnnCreateReduceTensorDescriptor(ReduceDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyReduceTensorDescriptor(ReduceDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetReduceTensorDescriptor(ReduceDescriptor* desc,
                                              ReduceOp op, DataType compute,
                                              NanPropagation nan, int indices,
                                              int index_type) {
  return Tell([&] {
    if (desc == nullptr || op < kReduceAdd || op > kReduceMulNoZeros ||
        indices < 0 || indices > 1 || IndexBytes(index_type) == 0) {
      return kBadParam;
    }
    *desc = {op, compute, nan, indices, index_type};
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetReduceTensorDescriptor(const ReduceDescriptor* desc,
                                              ReduceOp* op, DataType* compute,
                                              NanPropagation* nan, int* indices,
                                              int* index_type) {
  return Tell([&] {
    if (desc == nullptr) return kBadParam;
    Put(op, desc->op), Put(compute, desc->compute), Put(nan, desc->nan);
    Put(indices, desc->indices), Put(index_type, desc->index_type);
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetReductionIndicesSize(Handle handle,
                                            const ReduceDescriptor* desc,
                                            const TensorDescriptor* a_desc,
                                            const TensorDescriptor* c_desc,
                                            std::size_t* bytes) {
  return Tell(handle, [&] {
    if (!desc || !IsSet(a_desc) || !IsSet(c_desc) || !bytes) return kBadParam;
    *bytes = HasIndices(*desc)
                 ? static_cast<std::size_t>(c_desc->tensor.count()) *
                       IndexBytes(desc->index_type)
                 : 0;
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetReductionWorkspaceSize(Handle handle,
                                              const ReduceDescriptor* desc,
                                              const TensorDescriptor* a_desc,
                                              const TensorDescriptor* c_desc,
                                              std::size_t* bytes) {
  return Tell(handle, [&] {
    if (!desc || !IsSet(a_desc) || !IsSet(c_desc) || !bytes) return kBadParam;
    *bytes = 0;
    return kSuccess;
  });
}
CUDNN_API Told cudnnReduceTensor(Handle handle, const ReduceDescriptor* desc,
                                 void* indices, std::size_t index_bytes, void*,
                                 std::size_t, const void* alpha,
                                 const TensorDescriptor* a_desc, const void* a,
                                 const void* beta,
                                 const TensorDescriptor* c_desc, void* c) {
  return Tell(handle, [&] {
    if (!desc || !alpha || !beta || !IsSet(a_desc) || !IsSet(c_desc) || !a ||
        !c || !CanBroadcast(c_desc->tensor.sizes, a_desc->tensor.sizes)) {
      return kBadParam;
    }
    const bool indexed = HasIndices(*desc);
    const std::size_t size = IndexBytes(desc->index_type);
    if (indexed && size != 4) return kNotSupported;
    const std::size_t needed =
        static_cast<std::size_t>(c_desc->tensor.count()) * size;
    if (indexed && (indices == nullptr || index_bytes < needed)) {
      return kBadParam;
    }
    Call call(handle);
    const Input in = Read(call, a_desc->tensor, a);
    const Output out = Write(call, c_desc->tensor, c, alpha, beta);
    const Sizes& sizes = c_desc->tensor.sizes;
    const Output places = Write(call, {kInt32, sizes, PackedStrides(sizes)},
                                indexed ? indices : nullptr);
    return call.Run([=, reduce = *desc] {
      const Array x = in.Read();
      Array y = Reduce(reduce.op, reduce.nan == kKeepNan, x, out.tensor.sizes);
      if (indexed) places.Store(ExtremeIndices(reduce, x, y));
      out.Store(std::move(y));
    });
  });
}

}  // namespace cerberus::libraries::cudnn
