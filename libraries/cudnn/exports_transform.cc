// Tensors and filters in another order, with other padding.
#include "libraries/cudnn/legacy.h"

namespace cerberus::libraries::cudnn {

struct TransformDescriptor {
  Format format = kNchw;
  Sizes before, after;  // padding; cut off where it is negative
  Sizes folds;
  int direction = 0;
};

namespace {

Sizes PaddedSizes(const TransformDescriptor& desc, const Sizes& sizes) {
  if (sizes.size() != desc.before.size()) return {};
  Sizes padded = sizes;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    padded[d] += desc.before[d] + desc.after[d];
    if (padded[d] < 1) return {};
  }
  return padded;
}
bool Folds(const TransformDescriptor& desc) {
  return std::any_of(desc.folds.begin(), desc.folds.end(),
                     [](Index fold) { return fold > 1; });
}
Array Padded(const TransformDescriptor& desc, const Array& x,
             const Sizes& sizes) {
  Array out(sizes);
  const Sizes strides = PackedStrides(x.sizes);
  Sizes place(sizes.size(), 0);
  Index to = 0;
  do {
    Index from = 0;
    bool inside = true;
    for (std::size_t d = 0; d < place.size(); ++d) {
      const Index i = place[d] - desc.before[d];
      inside &= i >= 0 && i < x.sizes[d];
      from += i * strides[d];
    }
    if (inside) out[to] = x[from];
    ++to;
  } while (NextPlace(sizes, &place));
  return out;
}
Status Transform(Handle handle, const TransformDescriptor* desc,
                 const void* alpha, const Tensor& from, const void* x,
                 const void* beta, const Tensor& to, void* y) {
  if (!desc || desc->before.empty() || !alpha || !beta || !x || !y ||
      PaddedSizes(*desc, from.sizes) != to.sizes) {
    return kBadParam;
  }
  if (Folds(*desc)) return Failed(kNotSupported, "folding");
  Call call(handle);
  const Input in = Read(call, from, x);
  const Output out = Write(call, to, y, alpha, beta);
  return call.Run([=, transform = *desc] {
    out.Store(Padded(transform, in.Read(), out.tensor.sizes));
  });
}

}  // namespace

CUDNN_API Told
cudnnCreateTensorTransformDescriptor(TransformDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told
cudnnDestroyTensorTransformDescriptor(TransformDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetTensorTransformDescriptor(
    TransformDescriptor* desc, std::uint32_t count, Format format,
    const std::int32_t* before, const std::int32_t* after,
    const std::uint32_t* folds, int direction) {
  return Tell([&] {
    if (!desc || count < 3 || count > kMostDimensions || format < kNchw ||
        format > kNhwc || direction < 0 || direction > 1) {
      return kBadParam;
    }
    TransformDescriptor made;
    made.format = format;
    made.direction = direction;
    for (std::uint32_t d = 0; d < count; ++d) {
      made.before.push_back(before != nullptr ? before[d] : 0);
      made.after.push_back(after != nullptr ? after[d] : 0);
    }
    // Of the spatial dimensions.
    for (std::uint32_t d = 0; d + 2 < count; ++d) {
      made.folds.push_back(folds != nullptr ? folds[d] : 1);
    }
    *desc = std::move(made);
    return kSuccess;
  });
}
CUDNN_API Told cudnnGetTensorTransformDescriptor(
    const TransformDescriptor* desc, std::uint32_t room, Format* format,
    std::int32_t* before, std::int32_t* after, std::uint32_t* folds,
    int* direction) {
  return Tell([&] {
    if (desc == nullptr) return kBadParam;
    Put(format, desc->format), Put(direction, desc->direction);
    for (std::size_t d = 0; d < desc->before.size() && d < room; ++d) {
      if (before != nullptr) Put(before + d, desc->before[d]);
      if (after != nullptr) Put(after + d, desc->after[d]);
      if (folds != nullptr && d < desc->folds.size()) {
        Put(folds + d, desc->folds[d]);
      }
    }
    return kSuccess;
  });
}
CUDNN_API Told cudnnInitTransformDest(const TransformDescriptor* desc,
                                      const TensorDescriptor* from,
                                      TensorDescriptor* to,
                                      std::size_t* bytes) {
  return Tell([&] {
    if (!desc || desc->before.empty() || !IsSet(from) || !to || !bytes) {
      return kBadParam;
    }
    if (Folds(*desc)) return Failed(kNotSupported, "folding");
    const Sizes sizes = PaddedSizes(*desc, from->tensor.sizes);
    if (sizes.empty()) return kBadParam;
    Tensor tensor;
    if (const Status bad = LayOut(desc->format, from->told, sizes, &tensor)) {
      return bad;
    }
    to->told = from->told;
    to->tensor = std::move(tensor);
    *bytes = to->tensor.SpanBytes();
    return kSuccess;
  });
}
CUDNN_API Told cudnnTransformTensorEx(Handle handle,
                                      const TransformDescriptor* desc,
                                      const void* alpha,
                                      const TensorDescriptor* x_desc,
                                      const void* x, const void* beta,
                                      const TensorDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (!IsSet(x_desc) || !IsSet(y_desc)) return kBadParam;
    return Transform(handle, desc, alpha, x_desc->tensor, x, beta,
                     y_desc->tensor, y);
  });
}
CUDNN_API Told cudnnTransformFilter(Handle handle,
                                    const TransformDescriptor* desc,
                                    const void* alpha,
                                    const FilterDescriptor* x_desc,
                                    const void* x, const void* beta,
                                    const FilterDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (!IsSet(x_desc) || !IsSet(y_desc)) return kBadParam;
    return Transform(handle, desc, alpha, x_desc->tensor, x, beta,
                     y_desc->tensor, y);
  });
}

}  // namespace cerberus::libraries::cudnn
