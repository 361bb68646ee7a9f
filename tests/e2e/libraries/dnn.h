// What the programs of cuDNN share: tensors of f32 and their descriptions.
#include <cudnn.h>

#include <functional>

#include "library.h"

struct Tensor {
  int n, c, h, w;
  cudnnTensorDescriptor_t description = nullptr;
  float* data = nullptr;

  // Zeros.
  Tensor(int n, int c, int h, int w) : n(n), c(c), h(h), w(w) {
    CALL(cudnnCreateTensorDescriptor(&description));
    CALL(cudnnSetTensor4dDescriptor(description, CUDNN_TENSOR_NCHW,
                                    CUDNN_DATA_FLOAT, n, c, h, w));
    data = Zeros<float>(size());
  }
  Tensor(int n, int c, int h, int w, unsigned seed) : Tensor(n, c, h, w) {
    Set(Numbers<float>(size(), seed));
  }
  int size() const { return n * c * h * w; }
  int At(int i, int j, int y, int x) const {
    return ((i * c + j) * h + y) * w + x;
  }
  std::vector<float> Get() const {
    CHECK(cudaDeviceSynchronize());
    return ToHost(data, size());
  }
  void Set(const std::vector<float>& values) {
    CHECK(cudaMemcpy(data, values.data(), values.size() * sizeof(float),
                     cudaMemcpyHostToDevice));
  }
};

// Whether `slope` is how sum(weights * forward(x)) grows with each of x.
inline bool IsSlope(Tensor& x, const std::vector<float>& weights,
                    const std::function<std::vector<float>()>& forward,
                    const std::vector<float>& slope, double tolerance,
                    float step = 1.f / 64) {
  const std::vector<float> at = x.Get();
  const auto total = [&] {
    const auto y = forward();
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += double(weights[i]) * y[i];
    return sum;
  };
  std::vector<double> want;
  std::vector<float> got;
  // Some of them.
  for (std::size_t i = 0; i < at.size(); i += 1 + at.size() / 12) {
    auto moved = at;
    moved[i] = at[i] + step;
    x.Set(moved);
    const double up = total();
    moved[i] = at[i] - step;
    x.Set(moved);
    want.push_back((up - total()) / (2 * step));
    got.push_back(slope[i]);
  }
  x.Set(at);
  return Near(got, want, tolerance);
}
