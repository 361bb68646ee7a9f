// Convolutions by AMD's MIOpen in all three directions, each with every
// solution that it offers, and pooling, softmax and an activation, against sums
// on the host. Prints PASS, or what is how far off.
#include <hip/hip_runtime.h>
#include <miopen/miopen.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "device.h"

namespace {

miopenHandle_t handle;
const float kOne = 1, kZero = 0;

struct Tensor {
  Tensor(int n, int c, int h, int w)
      : n(n), c(c), h(h), w(w), host(std::size_t{1} * n * c * h * w) {
    for (float& value : host) value = static_cast<float>(Next());
    device = Upload(host);
    CHECK(miopenCreateTensorDescriptor(&descriptor));
    CHECK(miopenSet4dTensorDescriptor(descriptor, miopenFloat, n, c, h, w));
  }
  std::size_t At(int i, int k, int y, int x) const {
    return ((std::size_t(i) * c + k) * h + y) * w + x;
  }

  int n, c, h, w;
  std::vector<float> host;
  float* device = nullptr;
  miopenTensorDescriptor_t descriptor = nullptr;
};

int failed = 0;
// What the device has, against the host's.
void Compare(const char* what, const Tensor& tensor, double unit) {
  std::vector<float> got(tensor.host.size());
  CHECK(hipMemcpy(got.data(), tensor.device, got.size() * sizeof(float),
                  hipMemcpyDeviceToHost));
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::fmax(worst, std::fabs(got[i] - double(tensor.host[i])));
    if (std::isnan(got[i])) worst = INFINITY;
  }
  std::printf("%s: off by %g\n", what, worst);
  if (!(worst <= unit)) ++failed;
}
void Spoil(const Tensor& tensor) {
  CHECK(hipMemset(tensor.device, 0xff, tensor.host.size() * sizeof(float)));
}

struct Shape {
  int n, c, h, w, k, window, pad, stride;
};

// Calls `use` with the places of x, w and y that make a product.
template <typename Use>
void Products(const Shape& s, const Tensor& x, const Tensor& w, const Tensor& y,
              Use use) {
  for (int n = 0; n < s.n; ++n) {
    for (int k = 0; k < s.k; ++k) {
      for (int oy = 0; oy < y.h; ++oy) {
        for (int ox = 0; ox < y.w; ++ox) {
          for (int c = 0; c < s.c; ++c) {
            for (int ky = 0; ky < s.window; ++ky) {
              for (int kx = 0; kx < s.window; ++kx) {
                const int iy = oy * s.stride + ky - s.pad;
                const int ix = ox * s.stride + kx - s.pad;
                if (iy < 0 || ix < 0 || iy >= s.h || ix >= s.w) continue;
                use(x.At(n, c, iy, ix), w.At(k, c, ky, kx), y.At(n, k, oy, ox));
              }
            }
          }
        }
      }
    }
  }
}

// Runs all solutions that `list` finds by `use`, and compares what they write.
template <typename Count, typename List, typename Use>
void Solutions(const std::string& what, const Tensor& out, double unit,
               Count count_of, List list, Use use) {
  std::size_t count = 0;
  CHECK(count_of(&count));
  std::vector<miopenConvSolution_t> solutions(count);
  CHECK(list(count, &count, solutions.data()));
  solutions.resize(count);
  if (count == 0) ++failed;
  for (const miopenConvSolution_t& one : solutions) {
    void* workspace = nullptr;
    if (one.workspace_size != 0)
      CHECK(hipMalloc(&workspace, one.workspace_size));
    Spoil(out);
    CHECK(use(workspace, one.workspace_size, one.solution_id));
    CHECK(hipDeviceSynchronize());
    const std::string name = what + ", algorithm " +
                             std::to_string(one.algorithm) + ", solution " +
                             std::to_string(one.solution_id);
    Compare(name.c_str(), out, unit);
    CHECK(hipFree(workspace));
  }
}

void Convolutions(const Shape& s) {
  const int h = (s.h + 2 * s.pad - s.window) / s.stride + 1;
  const int wide = (s.w + 2 * s.pad - s.window) / s.stride + 1;
  Tensor x(s.n, s.c, s.h, s.w), w(s.k, s.c, s.window, s.window),
      y(s.n, s.k, h, wide);
  miopenConvolutionDescriptor_t conv = nullptr;
  CHECK(miopenCreateConvolutionDescriptor(&conv));
  CHECK(miopenInitConvolutionDescriptor(conv, miopenConvolution, s.pad, s.pad,
                                        s.stride, s.stride, 1, 1));
  const std::string shape = std::to_string(s.window) + "x" +
                            std::to_string(s.window) + " by " +
                            std::to_string(s.stride);
  const auto sum = [&](Tensor* to, auto add) {
    std::vector<double> sums(to->host.size());
    Products(s, x, w, y, [&](std::size_t a, std::size_t b, std::size_t c) {
      add(&sums, a, b, c);
    });
    std::copy(sums.begin(), sums.end(), to->host.begin());
  };

  Tensor dx = x, dw = w, out = y;  // on the device the same
  sum(&out, [&](auto* sums, auto a, auto b, auto c) {
    (*sums)[c] += double(x.host[a]) * w.host[b];
  });
  Solutions(
      shape + " forward", out, 1e-4,
      [&](std::size_t* count) {
        return miopenConvolutionForwardGetSolutionCount(
            handle, w.descriptor, x.descriptor, conv, y.descriptor, count);
      },
      [&](std::size_t most, std::size_t* count, miopenConvSolution_t* list) {
        return miopenConvolutionForwardGetSolution(
            handle, w.descriptor, x.descriptor, conv, y.descriptor, most, count,
            list);
      },
      [&](void* workspace, std::size_t size, std::uint64_t id) {
        CHECK(miopenConvolutionForwardCompileSolution(
            handle, w.descriptor, x.descriptor, conv, y.descriptor, id));
        return miopenConvolutionForwardImmediate(
            handle, w.descriptor, w.device, x.descriptor, x.device, conv,
            y.descriptor, y.device, workspace, size, id);
      });
  y.device = Upload(y.host);

  sum(&dx, [&](auto* sums, auto a, auto b, auto c) {
    (*sums)[a] += double(y.host[c]) * w.host[b];
  });
  Solutions(
      shape + " backward, data", dx, 1e-4,
      [&](std::size_t* count) {
        return miopenConvolutionBackwardDataGetSolutionCount(
            handle, y.descriptor, w.descriptor, conv, x.descriptor, count);
      },
      [&](std::size_t most, std::size_t* count, miopenConvSolution_t* list) {
        return miopenConvolutionBackwardDataGetSolution(
            handle, y.descriptor, w.descriptor, conv, x.descriptor, most, count,
            list);
      },
      [&](void* workspace, std::size_t size, std::uint64_t id) {
        CHECK(miopenConvolutionBackwardDataCompileSolution(
            handle, y.descriptor, w.descriptor, conv, x.descriptor, id));
        return miopenConvolutionBackwardDataImmediate(
            handle, y.descriptor, y.device, w.descriptor, w.device, conv,
            x.descriptor, dx.device, workspace, size, id);
      });
  x.device = Upload(x.host);

  sum(&dw, [&](auto* sums, auto a, auto b, auto c) {
    (*sums)[b] += double(y.host[c]) * x.host[a];
  });
  Solutions(
      shape + " backward, weights", dw, 1e-3,
      [&](std::size_t* count) {
        return miopenConvolutionBackwardWeightsGetSolutionCount(
            handle, y.descriptor, x.descriptor, conv, w.descriptor, count);
      },
      [&](std::size_t most, std::size_t* count, miopenConvSolution_t* list) {
        return miopenConvolutionBackwardWeightsGetSolution(
            handle, y.descriptor, x.descriptor, conv, w.descriptor, most, count,
            list);
      },
      [&](void* workspace, std::size_t size, std::uint64_t id) {
        CHECK(miopenConvolutionBackwardWeightsCompileSolution(
            handle, y.descriptor, x.descriptor, conv, w.descriptor, id));
        return miopenConvolutionBackwardWeightsImmediate(
            handle, y.descriptor, y.device, x.descriptor, x.device, conv,
            w.descriptor, dw.device, workspace, size, id);
      });
}

void Pooling() {
  Tensor x(2, 3, 8, 8), y(2, 3, 4, 4);
  miopenPoolingDescriptor_t pooling = nullptr;
  CHECK(miopenCreatePoolingDescriptor(&pooling));
  for (const auto mode : {miopenPoolingMax, miopenPoolingAverage}) {
    CHECK(miopenSet2dPoolingDescriptor(pooling, mode, 2, 2, 0, 0, 2, 2));
    for (int i = 0; i < x.n * x.c; ++i) {
      for (int at = 0; at < 16; ++at) {
        const float* from = &x.host[i * 64 + at / 4 * 16 + at % 4 * 2];
        float& to = y.host[i * 16 + at];
        to = mode == miopenPoolingMax
                 ? std::max({from[0], from[1], from[8], from[9]})
                 : (from[0] + from[1] + from[8] + from[9]) / 4;
      }
    }
    Spoil(y);
    CHECK(miopenPoolingForward(handle, pooling, &kOne, x.descriptor, x.device,
                               &kZero, y.descriptor, y.device, false, nullptr,
                               0));
    CHECK(hipDeviceSynchronize());
    Compare(mode == miopenPoolingMax ? "largest of four" : "mean of four", y,
            mode == miopenPoolingMax ? 0 : 1e-6);
  }
}

void Softmax() {
  Tensor x(4, 17, 1, 3), y(4, 17, 1, 3);
  for (int n = 0; n < x.n; ++n) {
    for (int at = 0; at < x.w; ++at) {
      double sum = 0;
      for (int c = 0; c < x.c; ++c) sum += std::exp(x.host[x.At(n, c, 0, at)]);
      for (int c = 0; c < x.c; ++c) {
        const std::size_t i = x.At(n, c, 0, at);
        y.host[i] = static_cast<float>(std::exp(double(x.host[i])) / sum);
      }
    }
  }
  Spoil(y);
  CHECK(miopenSoftmaxForward_V2(handle, &kOne, x.descriptor, x.device, &kZero,
                                y.descriptor, y.device, MIOPEN_SOFTMAX_ACCURATE,
                                MIOPEN_SOFTMAX_MODE_CHANNEL));
  CHECK(hipDeviceSynchronize());
  Compare("softmax", y, 1e-6);
}

void Activation() {
  Tensor x(2, 5, 7, 9), y(2, 5, 7, 9);
  miopenActivationDescriptor_t activation = nullptr;
  CHECK(miopenCreateActivationDescriptor(&activation));
  CHECK(
      miopenSetActivationDescriptor(activation, miopenActivationTANH, 1, 2, 0));
  for (std::size_t i = 0; i < x.host.size(); ++i) {
    y.host[i] = static_cast<float>(2 * std::tanh(double(x.host[i])));
  }
  Spoil(y);
  CHECK(miopenActivationForward(handle, activation, &kOne, x.descriptor,
                                x.device, &kZero, y.descriptor, y.device));
  CHECK(hipDeviceSynchronize());
  Compare("tanh", y, 1e-5);
}

}  // namespace

int main() {
  CHECK(miopenCreate(&handle));
  Softmax();
  Activation();
  Pooling();
  Convolutions({2, 4, 8, 10, 8, 3, 1, 1});
  Convolutions({2, 4, 8, 8, 8, 1, 0, 1});
  Convolutions({1, 3, 12, 12, 4, 5, 2, 2});
  std::printf(failed == 0 ? "PASS\n" : "%d are wrong\n", failed);
  return failed != 0;
}
