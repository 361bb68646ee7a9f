// Dropout and spatial transformers.
#include <cmath>

#include "libraries/cudnn/legacy.h"
#include "libraries/cudnn/random.h"

namespace cerberus::libraries::cudnn {

struct SpatialDescriptor {
  DataType type = kFloat;
  Sizes sizes;  // N, C, H, W of the output
};

namespace {

// The states of dropout: how many numbers were drawn, in counters of four.
constexpr std::size_t kStateBytes = 16;
std::size_t MaskBytes(const Tensor& tensor) {
  return (static_cast<std::size_t>(tensor.count()) + 7) / 8;
}

// Where a grid's point is in an image of so many pixels: the first at -1, the
// last at 1.
double PixelAt(double point, Index pixels) {
  return (point + 1) / 2 * static_cast<double>(pixels - 1);
}
// The four neighbours of a point: f(place in the plane, weight, and its slopes
// along x and y).
template <typename F>
void ForEachNeighbour(double x, double y, Index width, Index height,
                      const F& f) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  const double left = std::floor(x), top = std::floor(y);
  for (int i = 0; i < 4; ++i) {
    const double column = left + i % 2, row = top + (i < 2 ? 0 : 1);
    if (column < 0 || row < 0 || column >= static_cast<double>(width) ||
        row >= static_cast<double>(height)) {
      continue;
    }
    const double wx = 1 - std::abs(x - column), wy = 1 - std::abs(y - row);
    const double sx = i % 2 == 0 ? -1 : 1, sy = i / 2 == 0 ? -1 : 1;
    f(static_cast<Index>(row) * width + static_cast<Index>(column), wx * wy,
      sx * wy, sy * wx);
  }
}
Tensor Packed(DataType type, const Sizes& sizes) {
  return {type, sizes, PackedStrides(sizes)};
}

}  // namespace

// --- dropout
CUDNN_API Told cudnnCreateDropoutDescriptor(DropoutDesc* desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyDropoutDescriptor(DropoutDesc desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnDropoutGetStatesSize(Handle handle, std::size_t* bytes) {
  return Tell(handle, [&] {
    if (bytes == nullptr) return kBadParam;
    *bytes = kStateBytes;
    return kSuccess;
  });
}
CUDNN_API Told cudnnDropoutGetReserveSpaceSize(const TensorDescriptor* x,
                                               std::size_t* bytes) {
  return Tell([&] {
    if (!IsSet(x) || bytes == nullptr) return kBadParam;
    *bytes = MaskBytes(x->tensor);
    return kSuccess;
  });
}
CUDNN_API Told cudnnRestoreDropoutDescriptor(DropoutDesc desc, Handle handle,
                                             float probability, void* states,
                                             std::size_t bytes,
                                             unsigned long long seed) {
  return Tell(handle, [&] {
    if (desc == nullptr || !(probability >= 0 && probability <= 1)) {
      return kBadParam;
    }
    if (states != nullptr && bytes < kStateBytes) return kSizeInsufficient;
    *desc = {probability, states, seed};
    return kSuccess;
  });
}
CUDNN_API Told cudnnSetDropoutDescriptor(DropoutDesc desc, Handle handle,
                                         float probability, void* states,
                                         std::size_t bytes,
                                         unsigned long long seed) {
  const Told told = cudnnRestoreDropoutDescriptor(desc, handle, probability,
                                                  states, bytes, seed);
  if (told != ToldOf(kSuccess) || states == nullptr) return told;
  return Tell([&] {
    Call call(handle);
    auto* drawn =
        call.work().InOut(static_cast<std::uint64_t*>(states), kStateBytes);
    return call.Run([=] { drawn[0] = drawn[1] = 0; });
  });
}
CUDNN_API Told cudnnGetDropoutDescriptor(const DropoutDescriptor* desc,
                                         Handle handle, float* probability,
                                         void** states,
                                         unsigned long long* seed) {
  return Tell(handle, [&] {
    if (desc == nullptr) return kBadParam;
    Put(probability, desc->probability), Put(seed, desc->seed);
    if (states != nullptr) *states = desc->states;
    return kSuccess;
  });
}
CUDNN_API Told cudnnDropoutForward(Handle handle, const DropoutDescriptor* desc,
                                   const TensorDescriptor* x_desc,
                                   const void* x,
                                   const TensorDescriptor* y_desc, void* y,
                                   void* reserve, std::size_t bytes) {
  return Tell(handle, [&] {
    if (!desc || !desc->states || !IsSet(x_desc) || !IsSet(y_desc) || !x ||
        !y || !reserve || x_desc->tensor.sizes != y_desc->tensor.sizes) {
      return kBadParam;
    }
    const std::size_t needed = MaskBytes(x_desc->tensor);
    if (bytes < needed) return kSizeInsufficient;
    Call call(handle);
    auto* drawn = call.work().InOut(static_cast<std::uint64_t*>(desc->states),
                                    kStateBytes);
    const Input in = Read(call, x_desc->tensor, x);
    const Output out = Write(call, y_desc->tensor, y);
    void* mask = call.work().InOut(static_cast<std::byte*>(reserve), needed);
    return call.Run([=, dropout = *desc] {
      Array array = in.Read();
      Array kept(array.sizes);
      Distribution of;
      of.probability = 1 - static_cast<double>(dropout.probability);
      Draw(of, dropout.seed, drawn[0], &kept);
      drawn[0] += static_cast<std::uint64_t>((array.count() + 3) / 4);
      Packed(kBoolean, {kept.count()}).Write(mask, kept);
      const double scale = of.probability > 0 ? 1 / of.probability : 0;
      for (Index i = 0; i < array.count(); ++i) array[i] *= scale * kept[i];
      out.Store(std::move(array));
    });
  });
}
CUDNN_API Told cudnnDropoutBackward(Handle handle,
                                    const DropoutDescriptor* desc,
                                    const TensorDescriptor* dy_desc,
                                    const void* dy,
                                    const TensorDescriptor* dx_desc, void* dx,
                                    void* reserve, std::size_t bytes) {
  return Tell(handle, [&] {
    if (!desc || !IsSet(dy_desc) || !IsSet(dx_desc) || !dy || !dx || !reserve ||
        dy_desc->tensor.sizes != dx_desc->tensor.sizes) {
      return kBadParam;
    }
    const std::size_t needed = MaskBytes(dy_desc->tensor);
    if (bytes < needed) return kSizeInsufficient;
    Call call(handle);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Output out = Write(call, dx_desc->tensor, dx);
    const void* mask = call.work().In(static_cast<std::byte*>(reserve), needed);
    return call.Run([=, probability = desc->probability] {
      Array array = slope.Read();
      const Array kept = Packed(kBoolean, {array.count()}).Read(mask);
      const double scale =
          probability < 1 ? 1 / (1 - static_cast<double>(probability)) : 0;
      for (Index i = 0; i < array.count(); ++i) array[i] *= scale * kept[i];
      out.Store(std::move(array));
    });
  });
}

// --- spatial transformers
CUDNN_API Told
cudnnCreateSpatialTransformerDescriptor(SpatialDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told
cudnnDestroySpatialTransformerDescriptor(SpatialDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetSpatialTransformerNdDescriptor(SpatialDescriptor* desc,
                                                      int sampler,
                                                      DataType type, int count,
                                                      const int* sizes) {
  return Tell([&] {
    if (!desc || sampler != 0 || !sizes || BitsOf(type) < 16) return kBadParam;
    if (count != 4) return kNotSupported;
    const Sizes told(sizes, sizes + count);
    if (ProductOf(told) <= 0) return kBadParam;
    *desc = {type, told};
    return kSuccess;
  });
}
// grid(n, h, w) = theta(n) (x, y, 1), x and y from -1 to 1.
CUDNN_API Told cudnnSpatialTfGridGeneratorForward(Handle handle,
                                                  const SpatialDescriptor* desc,
                                                  const void* theta,
                                                  void* grid) {
  return Tell(handle, [&] {
    if (!desc || desc->sizes.empty() || !theta || !grid) return kBadParam;
    const Sizes& s = desc->sizes;
    Call call(handle);
    const Input in = Read(call, Packed(desc->type, {s[0], 2, 3}), theta);
    const Output out =
        Write(call, Packed(desc->type, {s[0], s[2], s[3], 2}), grid);
    return call.Run([=] {
      const Array t = in.Read();
      Array result(out.tensor.sizes);
      const Index height = result.sizes[1], width = result.sizes[2];
      const auto along = [](Index i, Index n) {
        return n > 1 ? -1 + 2.0 * static_cast<double>(i) /
                                static_cast<double>(n - 1)
                     : -1.0;
      };
      for (Index i = 0; i < result.count(); ++i) {
        const Index point = i / 2, row = i / 2 / width % height;
        const Index first = (point / width / height * 2 + i % 2) * 3;
        result[i] = t[first] * along(point % width, width) +
                    t[first + 1] * along(row, height) + t[first + 2];
      }
      out.Store(std::move(result));
    });
  });
}
CUDNN_API Told cudnnSpatialTfGridGeneratorBackward(
    Handle handle, const SpatialDescriptor* desc, const void* dgrid,
    void* dtheta) {
  return Tell(handle, [&] {
    if (!desc || desc->sizes.empty() || !dgrid || !dtheta) return kBadParam;
    const Sizes& s = desc->sizes;
    Call call(handle);
    const Input in =
        Read(call, Packed(desc->type, {s[0], s[2], s[3], 2}), dgrid);
    const Output out = Write(call, Packed(desc->type, {s[0], 2, 3}), dtheta);
    return call.Run([=] {
      const Array slope = in.Read();
      Array result(out.tensor.sizes);
      const Index height = slope.sizes[1], width = slope.sizes[2];
      const auto along = [](Index i, Index n) {
        return n > 1 ? -1 + 2.0 * static_cast<double>(i) /
                                static_cast<double>(n - 1)
                     : -1.0;
      };
      for (Index i = 0; i < slope.count(); ++i) {
        const Index point = i / 2, row = i / 2 / width % height;
        const Index first = (point / width / height * 2 + i % 2) * 3;
        result[first] += slope[i] * along(point % width, width);
        result[first + 1] += slope[i] * along(row, height);
        result[first + 2] += slope[i];
      }
      out.Store(std::move(result));
    });
  });
}
CUDNN_API Told cudnnSpatialTfSamplerForward(
    Handle handle, const SpatialDescriptor* desc, const void* alpha,
    const TensorDescriptor* x_desc, const void* x, const void* grid,
    const void* beta, const TensorDescriptor* y_desc, void* y) {
  return Tell(handle, [&] {
    if (!desc || desc->sizes.empty() || !alpha || !beta || !x || !grid || !y ||
        !IsSet(x_desc) || !IsSet(y_desc) || x_desc->tensor.sizes.size() != 4 ||
        y_desc->tensor.sizes != desc->sizes ||
        x_desc->tensor.sizes[0] != desc->sizes[0] ||
        x_desc->tensor.sizes[1] != desc->sizes[1]) {
      return kBadParam;
    }
    const Sizes& s = desc->sizes;
    Call call(handle);
    const Input image = Read(call, x_desc->tensor, x);
    const Input points =
        Read(call, Packed(desc->type, {s[0], s[2], s[3], 2}), grid);
    const Output out = Write(call, y_desc->tensor, y, alpha, beta);
    return call.Run([=] {
      const Array in = image.Read(), at = points.Read();
      Array result(out.tensor.sizes);
      const Index height = in.sizes[2], width = in.sizes[3];
      const Index channels = in.sizes[1], plane = height * width;
      const Index places = result.sizes[2] * result.sizes[3];
      for (Index p = 0; p < at.count() / 2; ++p) {
        const Index n = p / places;
        ForEachNeighbour(
            PixelAt(at[2 * p], width), PixelAt(at[2 * p + 1], height), width,
            height, [&](Index place, double weight, double, double) {
              for (Index c = 0; c < channels; ++c) {
                result[(n * channels + c) * places + p % places] +=
                    weight * in[(n * channels + c) * plane + place];
              }
            });
      }
      out.Store(std::move(result));
    });
  });
}
CUDNN_API Told cudnnSpatialTfSamplerBackward(
    Handle handle, const SpatialDescriptor* desc, const void* alpha,
    const TensorDescriptor* x_desc, const void* x, const void* beta,
    const TensorDescriptor* dx_desc, void* dx, const void* alpha_grid,
    const TensorDescriptor* dy_desc, const void* dy, const void* grid,
    const void* beta_grid, void* dgrid) {
  return Tell(handle, [&] {
    if (!desc || desc->sizes.empty() || !alpha || !beta || !alpha_grid ||
        !beta_grid || !x || !dx || !dy || !grid || !dgrid || !IsSet(x_desc) ||
        !IsSet(dx_desc) || !IsSet(dy_desc) ||
        x_desc->tensor.sizes.size() != 4 ||
        dx_desc->tensor.sizes != x_desc->tensor.sizes ||
        dy_desc->tensor.sizes != desc->sizes ||
        x_desc->tensor.sizes[0] != desc->sizes[0] ||
        x_desc->tensor.sizes[1] != desc->sizes[1]) {
      return kBadParam;
    }
    const Sizes& s = desc->sizes;
    const Tensor grid_tensor = Packed(desc->type, {s[0], s[2], s[3], 2});
    Call call(handle);
    const Input image = Read(call, x_desc->tensor, x);
    const Input points = Read(call, grid_tensor, grid);
    const Input slope = Read(call, dy_desc->tensor, dy);
    const Output out = Write(call, dx_desc->tensor, dx, alpha, beta);
    const Output out_grid =
        Write(call, grid_tensor, dgrid, alpha_grid, beta_grid);
    return call.Run([=] {
      const Array in = image.Read(), at = points.Read(), dys = slope.Read();
      Array dxs(in.sizes), dgrids(at.sizes);
      const Index height = in.sizes[2], width = in.sizes[3];
      const Index channels = in.sizes[1], plane = height * width;
      const Index places = dys.sizes[2] * dys.sizes[3];
      for (Index p = 0; p < at.count() / 2; ++p) {
        const Index n = p / places;
        ForEachNeighbour(
            PixelAt(at[2 * p], width), PixelAt(at[2 * p + 1], height), width,
            height, [&](Index place, double weight, double sx, double sy) {
              for (Index c = 0; c < channels; ++c) {
                const Index to = (n * channels + c) * plane + place;
                const double d = dys[(n * channels + c) * places + p % places];
                dxs[to] += weight * d;
                dgrids[2 * p] +=
                    sx * in[to] * d * static_cast<double>(width - 1) / 2;
                dgrids[2 * p + 1] +=
                    sy * in[to] * d * static_cast<double>(height - 1) / 2;
              }
            });
      }
      out.Store(std::move(dxs));
      out_grid.Store(std::move(dgrids));
    });
  });
}

}  // namespace cerberus::libraries::cudnn
