// A convolution with bias and ReLU, by the algorithm that is found, and its
// three ways back.
//
// RUN: %check %s %t %library -l:libcudnn.so.9
#include "dnn.h"

constexpr int kStride = 2, kPad = 1;
const float kOne = 1, kZero = 0;

// The sum over its definition, in groups.
std::vector<float> Convolved(const Tensor& x, const std::vector<float>& in,
                             const Tensor& w, const std::vector<float>& filter,
                             const Tensor& y, int groups) {
  std::vector<float> out(y.size());
  const int each = y.c / groups;
  for (int i = 0; i < y.size(); ++i) {
    const int n = i / (y.c * y.h * y.w), k = i / (y.h * y.w) % y.c,
              oy = i / y.w % y.h, ox = i % y.w;
    for (int c = 0; c < w.c; ++c) {
      for (int r = 0; r < w.h * w.w; ++r) {
        const int iy = oy * kStride - kPad + r / w.w,
                  ix = ox * kStride - kPad + r % w.w;
        if (iy < 0 || iy >= x.h || ix < 0 || ix >= x.w) continue;
        out[i] += in[x.At(n, k / each * w.c + c, iy, ix)] *
                  filter[w.At(k, c, r / w.w, r % w.w)];
      }
    }
  }
  return out;
}

int main() {
  cudnnHandle_t handle;
  CALL(cudnnCreate(&handle));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CALL(cudnnSetStream(handle, stream));
  for (const int groups : {1, 2}) {
    Tensor x(2, 4, 9, 8, 1), w(6, 4 / groups, 3, 3, 2), bias(1, 6, 1, 1, 3);
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
    CALL(cudnnCreateFilterDescriptor(&filter));
    CALL(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                    w.n, w.c, w.h, w.w));
    CALL(cudnnCreateConvolutionDescriptor(&convolution));
    CALL(cudnnSetConvolution2dDescriptor(convolution, kPad, kPad, kStride,
                                         kStride, 1, 1, CUDNN_CROSS_CORRELATION,
                                         CUDNN_DATA_FLOAT));
    CALL(cudnnSetConvolutionGroupCount(convolution, groups));
    int n, c, h, width;
    CALL(cudnnGetConvolution2dForwardOutputDim(convolution, x.description,
                                               filter, &n, &c, &h, &width));
    EXPECT(n == 2 && c == 6 && h == 5 && width == 4);
    Tensor y(n, c, h, width), plain(n, c, h, width);
    cudnnConvolutionFwdAlgoPerf_t found[4];
    int count = 0;
    CALL(cudnnGetConvolutionForwardAlgorithm_v7(handle, x.description, filter,
                                                convolution, y.description, 4,
                                                &count, found));
    EXPECT(count > 0 && found[0].status == CUDNN_STATUS_SUCCESS);
    std::size_t room = 0;
    CALL(cudnnGetConvolutionForwardWorkspaceSize(handle, x.description, filter,
                                                 convolution, y.description,
                                                 found[0].algo, &room));
    char* work = Zeros<char>(room + 1);
    const auto forward = [&] {
      CALL(cudnnConvolutionForward(
          handle, &kOne, x.description, x.data, filter, w.data, convolution,
          found[0].algo, work, room, &kZero, plain.description, plain.data));
      return plain.Get();
    };
    const auto want = Convolved(x, x.Get(), w, w.Get(), y, groups);
    EXPECT(Near(forward(), want, 1e-5));
    cudnnActivationDescriptor_t relu;
    CALL(cudnnCreateActivationDescriptor(&relu));
    CALL(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU,
                                      CUDNN_NOT_PROPAGATE_NAN, 0));
    CALL(cudnnConvolutionBiasActivationForward(
        handle, &kOne, x.description, x.data, filter, w.data, convolution,
        found[0].algo, work, room, &kZero, y.description, y.data,
        bias.description, bias.data, relu, y.description, y.data));
    auto active = want;
    const auto biases = bias.Get();
    for (int i = 0; i < y.size(); ++i) {
      active[i] = std::fmax(0.f, active[i] + biases[i / (y.h * y.w) % y.c]);
    }
    EXPECT(Near(y.Get(), active, 1e-5));

    Tensor dy(n, c, h, width, 4), dx(x.n, x.c, x.h, x.w),
        dw(w.n, w.c, w.h, w.w), db(1, 6, 1, 1);
    CALL(cudnnConvolutionBackwardData(
        handle, &kOne, filter, w.data, dy.description, dy.data, convolution,
        CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, nullptr, 0, &kZero, dx.description,
        dx.data));
    CALL(cudnnConvolutionBackwardFilter(handle, &kOne, x.description, x.data,
                                        dy.description, dy.data, convolution,
                                        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
                                        nullptr, 0, &kZero, filter, dw.data));
    CALL(cudnnConvolutionBackwardBias(handle, &kOne, dy.description, dy.data,
                                      &kZero, db.description, db.data));
    EXPECT(IsSlope(x, dy.Get(), forward, dx.Get(), 1e-3));
    EXPECT(IsSlope(w, dy.Get(), forward, dw.Get(), 1e-3));
    std::vector<float> sums(6);
    const auto slopes = dy.Get();
    for (int i = 0; i < dy.size(); ++i) sums[i / (h * width) % c] += slopes[i];
    EXPECT(Near(db.Get(), sums, 1e-5));
  }
  CALL(cudnnDestroy(handle));
  return Pass();
}
