// Attention as one graph of its operations: two products, a scale, a mask, and
// softmax by its maximum and its sum.
//
// RUN: %check %s %t %library -l:libcudnn.so.9
#include "dnn_graph.h"

constexpr int kBatch = 2, kHeads = 3, kQ = 6, kK = 8, kDepth = 16;

int main() {
  cudnnHandle_t handle;
  CALL(cudnnCreate(&handle));
  const auto q = Numbers<float>(kBatch * kHeads * kQ * kDepth, 5),
             k = Numbers<float>(kBatch * kHeads * kK * kDepth, 6),
             v = Numbers<float>(kBatch * kHeads * kK * kDepth, 7);
  std::vector<float> mask(kQ * kK);
  for (int i = 0; i < kQ * kK; ++i) mask[i] = i % kK > i / kK + 2 ? -1e9f : 0;
  float* out = Zeros<float>(q.size());
  Graph graph;
  const Sizes scores = {kBatch, kHeads, kQ, kK}, rows = {kBatch, kHeads, kQ, 1};
  const auto tq = graph.Tensor({kBatch, kHeads, kQ, kDepth}, ToDevice(q));
  // K is turned by its strides.
  const auto tk =
      graph.Tensor({kBatch, kHeads, kDepth, kK},
                   {kHeads * kK * kDepth, kK * kDepth, 1, kDepth}, ToDevice(k));
  const auto tv = graph.Tensor({kBatch, kHeads, kK, kDepth}, ToDevice(v));
  const auto to = graph.Tensor({kBatch, kHeads, kQ, kDepth}, out);
  const auto scale =
      graph.Tensor({1, 1, 1, 1}, ToDevice(std::vector<float>{0.25f}));
  const auto tmask = graph.Tensor({1, 1, kQ, kK}, ToDevice(mask));
  const auto s = graph.Tensor(scores, nullptr),
             scaled = graph.Tensor(scores, nullptr),
             masked = graph.Tensor(scores, nullptr),
             most = graph.Tensor(rows, nullptr),
             less = graph.Tensor(scores, nullptr),
             powers = graph.Tensor(scores, nullptr),
             sums = graph.Tensor(rows, nullptr),
             parts = graph.Tensor(scores, nullptr);
  graph.Multiply(tq, tk, s);
  graph.Pointwise(CUDNN_POINTWISE_MUL, s, &scale, scaled);
  graph.Pointwise(CUDNN_POINTWISE_ADD, scaled, &tmask, masked);
  graph.Reduce(CUDNN_REDUCE_TENSOR_MAX, masked, most);
  graph.Pointwise(CUDNN_POINTWISE_SUB, masked, &most, less);
  graph.Pointwise(CUDNN_POINTWISE_EXP, less, nullptr, powers);
  graph.Reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sums);
  graph.Pointwise(CUDNN_POINTWISE_DIV, powers, &sums, parts);
  graph.Multiply(parts, tv, to);
  graph.Build(handle);
  graph.Run(handle);
  CHECK(cudaDeviceSynchronize());
  std::vector<float> want(q.size());
  for (int row = 0; row < kBatch * kHeads * kQ; ++row) {
    const int head = row / kQ, i = row % kQ;
    float weights[kK], total = 0;
    for (int j = 0; j < kK; ++j) {
      float dot = 0;
      for (int d = 0; d < kDepth; ++d) {
        dot += q[row * kDepth + d] * k[(head * kK + j) * kDepth + d];
      }
      weights[j] = std::exp(dot / 4 + mask[i * kK + j]);
      total += weights[j];
    }
    for (int j = 0; j < kK; ++j) {
      for (int d = 0; d < kDepth; ++d) {
        want[row * kDepth + d] +=
            weights[j] / total * v[(head * kK + j) * kDepth + d];
      }
    }
  }
  EXPECT(Near(ToHost(out, q.size()), want, 1e-5));
  CALL(cudnnDestroy(handle));
  return Pass();
}
