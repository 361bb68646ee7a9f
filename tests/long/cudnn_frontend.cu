// NVIDIA's cudnn-frontend, whose headers nvidia_libraries.py fetches, over
// whichever libcudnn.so.9 is found: graphs as its users build them, each
// compared with loops on the host.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <unordered_map>

#include "../e2e/libraries/library.h"

// Where it looks for cuDNN's functions.
void* cudnn_frontend::cudnn_dlhandle = dlopen("libcudnn.so.9", RTLD_NOW);

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;
using Sizes = std::vector<std::int64_t>;

#define FRONTEND(call)                             \
  do {                                             \
    auto error = (call);                           \
    if (!error.is_good()) {                        \
      std::printf("%d: %s: %s\n", __LINE__, #call, \
                  error.get_message().c_str());    \
      std::exit(1);                                \
    }                                              \
  } while (0)

// A graph of f32 and what its tensors are on the device.
struct Graph {
  fe::graph::Graph graph;
  std::unordered_map<Tensor, void*> pointers;

  Graph() {
    graph.set_io_data_type(fe::DataType_t::FLOAT)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }
  static Sizes Packed(const Sizes& sizes) {
    Sizes strides(sizes.size(), 1);
    for (std::size_t i = sizes.size() - 1; i > 0; --i) {
      strides[i - 1] = strides[i] * sizes[i];
    }
    return strides;
  }
  // Channels lie closest.
  static Sizes Last(const Sizes& s) {
    return {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
  }
  Tensor In(const Sizes& sizes, const Sizes& strides,
            const std::vector<float>& values) {
    const Tensor tensor =
        graph.tensor(Tensor_attributes().set_dim(sizes).set_stride(strides));
    pointers[tensor] = ToDevice(values);
    return tensor;
  }
  Tensor In(const Sizes& sizes, const std::vector<float>& values) {
    return In(sizes, Packed(sizes), values);
  }
  float* Out(const Tensor& tensor, const Sizes& sizes, const Sizes& strides) {
    tensor->set_output(true).set_dim(sizes).set_stride(strides);
    std::size_t count = 1;
    for (const auto size : sizes) count *= std::size_t(size);
    float* const memory = Zeros<float>(count);
    pointers[tensor] = memory;
    return memory;
  }
  float* Out(const Tensor& tensor, const Sizes& sizes) {
    return Out(tensor, sizes, Packed(sizes));
  }
  void Run(cudnnHandle_t handle) {
    FRONTEND(graph.validate());
    FRONTEND(graph.build_operation_graph(handle));
    FRONTEND(graph.create_execution_plans(
        {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
    FRONTEND(graph.check_support(handle));
    FRONTEND(graph.build_plans(handle));
    std::int64_t room = 0;
    FRONTEND(graph.get_workspace_size(room));
    FRONTEND(graph.execute(handle, pointers, Zeros<char>(room + 1)));
    CHECK(cudaDeviceSynchronize());
  }
};

void MatmulBiasGelu(cudnnHandle_t handle) {
  constexpr int kB = 2, kM = 6, kN = 5, kK = 7;
  const auto a = Numbers<float>(kB * kM * kK, 1),
             b = Numbers<float>(kB * kK * kN, 2), bias = Numbers<float>(kN, 3);
  Graph g;
  auto c = g.graph.matmul(g.In({kB, kM, kK}, a), g.In({kB, kK, kN}, b),
                          fe::graph::Matmul_attributes());
  auto sum = g.graph.pointwise(
      c, g.In({1, 1, kN}, bias),
      fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
  auto y = g.graph.pointwise(sum, fe::graph::Pointwise_attributes().set_mode(
                                      fe::PointwiseMode_t::GELU_FWD));
  const float* out = g.Out(y, {kB, kM, kN});
  g.Run(handle);
  std::vector<float> want(kB * kM * kN);
  for (int i = 0; i < kB * kM * kN; ++i) {
    const int batch = i / kM / kN, row = i / kN, column = i % kN;
    float x = bias[column];
    for (int k = 0; k < kK; ++k) {
      x += a[row * kK + k] * b[(batch * kK + k) * kN + column];
    }
    want[i] = x * (1 + std::erf(x / std::sqrt(2.f))) / 2;
  }
  EXPECT(Near(ToHost(out, want.size()), want, 1e-5));
}

// Forward with ReLU, and both ways back, channels last.
constexpr int kN = 2, kC = 4, kH = 6, kW = 5, kOut = 3;
template <typename F>
void ForTaps(F tap) {
  for (int y = 0; y < kN * kH * kW; ++y) {
    for (int r = 0; r < 9; ++r) {
      const int row = y / kW % kH + r / 3 - 1, column = y % kW + r % 3 - 1;
      if (row < 0 || row >= kH || column < 0 || column >= kW) continue;
      const int x = (y / kH / kW * kH + row) * kW + column;
      for (int k = 0; k < kOut; ++k) {
        for (int c = 0; c < kC; ++c) {
          tap(x * kC + c, (k * 9 + r) * kC + c, y * kOut + k);
        }
      }
    }
  }
}
void Convolutions(cudnnHandle_t handle) {
  const Sizes sx = {kN, kC, kH, kW}, sw = {kOut, kC, 3, 3},
              sy = {kN, kOut, kH, kW};
  const auto x = Numbers<float>(kN * kC * kH * kW, 4),
             w = Numbers<float>(kOut * kC * 9, 5),
             dy = Numbers<float>(kN * kOut * kH * kW, 6);
  std::vector<float> y(dy.size()), dx(x.size()), dw(w.size());
  ForTaps([&](int xi, int wi, int yi) {
    y[yi] += x[xi] * w[wi];
    dx[xi] += dy[yi] * w[wi];
    dw[wi] += dy[yi] * x[xi];
  });
  for (float& value : y) value = std::fmax(0.f, value);
  {
    Graph g;
    auto conv = g.graph.conv_fprop(g.In(sx, Graph::Last(sx), x),
                                   g.In(sw, Graph::Last(sw), w),
                                   fe::graph::Conv_fprop_attributes()
                                       .set_padding({1, 1})
                                       .set_stride({1, 1})
                                       .set_dilation({1, 1}));
    conv->set_dim(sy).set_stride(Graph::Last(sy));
    auto relu =
        g.graph.pointwise(conv, fe::graph::Pointwise_attributes().set_mode(
                                    fe::PointwiseMode_t::RELU_FWD));
    const float* out = g.Out(relu, sy, Graph::Last(sy));
    g.Run(handle);
    EXPECT(Near(ToHost(out, y.size()), y, 1e-5));
  }
  {
    Graph g;
    auto back = g.graph.conv_dgrad(g.In(sy, Graph::Last(sy), dy),
                                   g.In(sw, Graph::Last(sw), w),
                                   fe::graph::Conv_dgrad_attributes()
                                       .set_padding({1, 1})
                                       .set_stride({1, 1})
                                       .set_dilation({1, 1}));
    const float* out = g.Out(back, sx, Graph::Last(sx));
    g.Run(handle);
    EXPECT(Near(ToHost(out, dx.size()), dx, 1e-5));
  }
  {
    Graph g;
    auto back = g.graph.conv_wgrad(g.In(sy, Graph::Last(sy), dy),
                                   g.In(sx, Graph::Last(sx), x),
                                   fe::graph::Conv_wgrad_attributes()
                                       .set_padding({1, 1})
                                       .set_stride({1, 1})
                                       .set_dilation({1, 1}));
    const float* out = g.Out(back, sw, Graph::Last(sw));
    g.Run(handle);
    EXPECT(Near(ToHost(out, dw.size()), dw, 1e-5));
  }
}

// Of rows; the root of the mean square as well.
void Norms(cudnnHandle_t handle) {
  constexpr int kRows = 6, kWidth = 16;
  const auto x = Numbers<float>(kRows * kWidth, 7),
             scale = Numbers<float>(kWidth, 8),
             bias = Numbers<float>(kWidth, 9);
  for (const bool layer : {true, false}) {
    Graph g;
    const Sizes size = {kRows, kWidth, 1, 1}, one = {1, kWidth, 1, 1};
    auto in = g.In(size, x);
    auto epsilon = g.graph.tensor(1e-5f);
    Tensor y, mean, inverse;
    if (layer) {
      auto made =
          g.graph.layernorm(in, g.In(one, scale), g.In(one, bias),
                            fe::graph::Layernorm_attributes()
                                .set_forward_phase(fe::NormFwdPhase_t::TRAINING)
                                .set_epsilon(epsilon));
      y = made[0], mean = made[1], inverse = made[2];
    } else {
      auto made =
          g.graph.rmsnorm(in, g.In(one, scale),
                          fe::graph::Rmsnorm_attributes()
                              .set_forward_phase(fe::NormFwdPhase_t::TRAINING)
                              .set_epsilon(epsilon));
      y = made[0], inverse = made[1];
    }
    const float* out = g.Out(y, size);
    const float* kept = g.Out(inverse, {kRows, 1, 1, 1});
    if (mean) g.Out(mean, {kRows, 1, 1, 1});
    g.Run(handle);
    std::vector<float> want(x.size()), inverses(kRows);
    for (int row = 0; row < kRows; ++row) {
      float sum = 0, squares = 0;
      for (int i = 0; i < kWidth; ++i) sum += x[row * kWidth + i] / kWidth;
      const float center = layer ? sum : 0;
      for (int i = 0; i < kWidth; ++i) {
        const float off = x[row * kWidth + i] - center;
        squares += off * off / kWidth;
      }
      inverses[row] = 1 / std::sqrt(squares + 1e-5f);
      for (int i = 0; i < kWidth; ++i) {
        want[row * kWidth + i] =
            (x[row * kWidth + i] - center) * inverses[row] * scale[i] +
            (layer ? bias[i] : 0);
      }
    }
    EXPECT(Near(ToHost(out, want.size()), want, 1e-5));
    EXPECT(Near(ToHost(kept, kRows), inverses, 1e-5));
  }
}

// Causal attention in halves, forward and back.
constexpr int kB = 2, kHeads = 2, kS = 64, kD = 32;
int Place(int b, int h, int s, int d) {
  return ((b * kS + s) * kHeads + h) * kD + d;
}

void Attention(cudnnHandle_t handle) {
  constexpr int kSize = kB * kHeads * kS * kD;
  const Sizes size = {kB, kHeads, kS, kD},
              strides = {kS * kHeads * kD, kD, kHeads * kD, 1};
  std::vector<float> q, k, v, slope;
  const auto halves = [&](unsigned seed, std::vector<float>* rounded) {
    std::vector<__half> out;
    for (const float value : Numbers<float>(kSize, seed)) {
      out.push_back(__float2half(value));
      rounded->push_back(__half2float(out.back()));
    }
    return ToDevice(out);
  };
  void* const dq = halves(10, &q);
  void* const dk = halves(11, &k);
  void* const dv = halves(12, &v);
  void* const dslope = halves(13, &slope);
  const auto half = [&](Graph& g, void* data) {
    const Tensor tensor = g.graph.tensor(
        Tensor_attributes().set_dim(size).set_stride(strides).set_data_type(
            fe::DataType_t::HALF));
    g.pointers[tensor] = data;
    return tensor;
  };
  const auto output = [&](Graph& g, const Tensor& tensor) {
    tensor->set_output(true).set_dim(size).set_stride(strides).set_data_type(
        fe::DataType_t::HALF);
    __half* const memory = Zeros<__half>(kSize);
    g.pointers[tensor] = memory;
    return memory;
  };
  const float scale = 1 / std::sqrt(float(kD));
  Graph forward;
  auto [o, stats] = forward.graph.sdpa(half(forward, dq), half(forward, dk),
                                       half(forward, dv),
                                       fe::graph::SDPA_attributes()
                                           .set_generate_stats(true)
                                           .set_causal_mask(true)
                                           .set_attn_scale(scale));
  __half* const out = output(forward, o);
  float* const kept = forward.Out(stats, {kB, kHeads, kS, 1});
  forward.Run(handle);

  std::vector<float> want(kSize), dq_want(kSize), dk_want(kSize),
      dv_want(kSize), logs;
  for (int bh = 0; bh < kB * kHeads; ++bh) {
    const int b = bh / kHeads, h = bh % kHeads;
    for (int i = 0; i < kS; ++i) {
      std::vector<float> p(i + 1), dp(i + 1);
      float total = 0, dot = 0;
      for (int j = 0; j <= i; ++j) {
        for (int d = 0; d < kD; ++d) {
          p[j] += q[Place(b, h, i, d)] * k[Place(b, h, j, d)] * scale;
          dp[j] += slope[Place(b, h, i, d)] * v[Place(b, h, j, d)];
        }
        p[j] = std::exp(p[j]);
        total += p[j];
      }
      logs.push_back(std::log(total));
      for (int j = 0; j <= i; ++j) {
        p[j] /= total;
        dot += p[j] * dp[j];
      }
      for (int j = 0; j <= i; ++j) {
        const float ds = p[j] * (dp[j] - dot) * scale;
        for (int d = 0; d < kD; ++d) {
          want[Place(b, h, i, d)] += p[j] * v[Place(b, h, j, d)];
          dv_want[Place(b, h, j, d)] += p[j] * slope[Place(b, h, i, d)];
          dq_want[Place(b, h, i, d)] += ds * k[Place(b, h, j, d)];
          dk_want[Place(b, h, j, d)] += ds * q[Place(b, h, i, d)];
        }
      }
    }
  }
  const auto floats = [](const __half* memory) {
    std::vector<float> values;
    for (const __half value : ToHost(memory, kSize)) {
      values.push_back(__half2float(value));
    }
    return values;
  };
  EXPECT(Near(floats(out), want, 2e-3));
  EXPECT(Near(ToHost(kept, logs.size()), logs, 1e-3));

  Graph back;
  const Tensor log_sums =
      back.graph.tensor(Tensor_attributes()
                            .set_dim({kB, kHeads, kS, 1})
                            .set_stride({kHeads * kS, kS, 1, 1})
                            .set_data_type(fe::DataType_t::FLOAT));
  back.pointers[log_sums] = kept;
  auto [tq, tk, tv] =
      back.graph.sdpa_backward(half(back, dq), half(back, dk), half(back, dv),
                               half(back, out), half(back, dslope), log_sums,
                               fe::graph::SDPA_backward_attributes()
                                   .set_causal_mask(true)
                                   .set_attn_scale(scale));
  const __half *mq = output(back, tq), *mk = output(back, tk),
               *mv = output(back, tv);
  back.Run(handle);
  EXPECT(Near(floats(mq), dq_want, 5e-3));
  EXPECT(Near(floats(mk), dk_want, 5e-3));
  EXPECT(Near(floats(mv), dv_want, 5e-3));
}

// In f32 with a bias, a window of the last few keys, and sequences of unequal
// length.
void BiasedAttention(cudnnHandle_t handle) {
  constexpr int kWidth = 16, kLast = 5;
  const Sizes q_size = {kB, kHeads, kWidth, kD}, lengths = {kB, 1, 1, 1};
  const int count = kB * kHeads * kWidth * kD;
  const auto q = Numbers<float>(count, 20), k = Numbers<float>(count, 21),
             v = Numbers<float>(count, 22),
             bias = Numbers<float>(kHeads * kWidth * kWidth, 23);
  const std::vector<int> longs = {kWidth, kWidth - 3};
  Graph g;
  const auto of_lengths = [&] {
    const Tensor tensor =
        g.graph.tensor(Tensor_attributes()
                           .set_dim(lengths)
                           .set_stride({1, 1, 1, 1})
                           .set_data_type(fe::DataType_t::INT32));
    g.pointers[tensor] = ToDevice(longs);
    return tensor;
  };
  auto options = fe::graph::SDPA_attributes()
                     .set_generate_stats(false)
                     .set_attn_scale(0.25f)
                     .set_padding_mask(true)
                     .set_seq_len_q(of_lengths())
                     .set_seq_len_kv(of_lengths())
                     .set_bias(g.In({1, kHeads, kWidth, kWidth}, bias))
                     .set_diagonal_band_left_bound(kLast)
                     .set_diagonal_band_right_bound(0);
  auto [o, none] =
      g.graph.sdpa(g.In(q_size, q), g.In(q_size, k), g.In(q_size, v), options);
  const float* out = g.Out(o, q_size);
  g.Run(handle);
  std::vector<float> want(count);
  for (int row = 0; row < kB * kHeads * kWidth; ++row) {
    const int i = row % kWidth, head = row / kWidth;
    if (i >= longs[head / kHeads]) continue;
    std::vector<float> p(kWidth);
    float total = 0;
    for (int j = std::max(0, i - kLast + 1); j <= i; ++j) {
      for (int d = 0; d < kD; ++d) {
        p[j] += q[row * kD + d] * k[(head * kWidth + j) * kD + d] / 4;
      }
      p[j] = std::exp(p[j] + bias[(head % kHeads * kWidth + i) * kWidth + j]);
      total += p[j];
    }
    for (int j = 0; j < kWidth; ++j) {
      for (int d = 0; d < kD; ++d) {
        want[row * kD + d] += p[j] / total * v[(head * kWidth + j) * kD + d];
      }
    }
  }
  EXPECT(Near(ToHost(out, count), want, 1e-5));
}

// Sequences one behind the other, with offsets; forward and back to the slope
// of the values, of which each is a sum over weights.
void PackedAttention(cudnnHandle_t handle) {
  constexpr int kWidth = 16, kToken = kHeads * kD;
  const std::vector<int> longs = {5, kWidth};
  const std::vector<int> starts = {0, 5 * kToken, (5 + kWidth) * kToken};
  const int count = kB * kWidth * kToken, used = starts.back();
  const Sizes size = {kB, kHeads, kWidth, kD},
              strides = {kWidth * kToken, kD, kToken, 1};
  const auto q = Numbers<float>(count, 30), k = Numbers<float>(count, 31),
             v = Numbers<float>(count, 32), slope = Numbers<float>(count, 33);
  const auto whole = [](Graph& g, const Sizes& dims,
                        const std::vector<int>& of) {
    const Tensor tensor =
        g.graph.tensor(Tensor_attributes()
                           .set_dim(dims)
                           .set_stride({1, 1, 1, 1})
                           .set_data_type(fe::DataType_t::INT32));
    g.pointers[tensor] = ToDevice(of);
    return tensor;
  };
  const auto ragged = [&](Graph& g, const float* data) {
    const Tensor tensor = g.graph.tensor(
        Tensor_attributes().set_dim(size).set_stride(strides).set_ragged_offset(
            whole(g, {kB + 1, 1, 1, 1}, starts)));
    g.pointers[tensor] = const_cast<float*>(data);
    return tensor;
  };
  const auto output = [&](Graph& g, const Tensor& tensor) {
    float* const memory = g.Out(tensor, size, strides);
    tensor->set_ragged_offset(whole(g, {kB + 1, 1, 1, 1}, starts));
    return memory;
  };
  float *dq = ToDevice(q), *dk = ToDevice(k), *dv = ToDevice(v);
  Graph g;
  auto [o, stats] =
      g.graph.sdpa(ragged(g, dq), ragged(g, dk), ragged(g, dv),
                   fe::graph::SDPA_attributes()
                       .set_generate_stats(true)
                       .set_attn_scale(0.25f)
                       .set_padding_mask(true)
                       .set_seq_len_q(whole(g, {kB, 1, 1, 1}, longs))
                       .set_seq_len_kv(whole(g, {kB, 1, 1, 1}, longs)));
  const float* out = output(g, o);
  float* const kept = g.Out(stats, {kB, kHeads, kWidth, 1});
  g.Run(handle);
  std::vector<float> want(count), dv_want(count);
  for (int b = 0, first = 0; b < kB; first += longs[b++]) {
    for (int i = 0; i < longs[b] * kHeads; ++i) {
      const int row = (first + i / kHeads) * kToken + i % kHeads * kD;
      std::vector<float> p(longs[b]);
      float total = 0;
      const auto key = [&](int j) {
        return (first + j) * kToken + i % kHeads * kD;
      };
      for (int j = 0; j < longs[b]; ++j) {
        for (int d = 0; d < kD; ++d) p[j] += q[row + d] * k[key(j) + d] / 4;
        total += p[j] = std::exp(p[j]);
      }
      for (int j = 0; j < longs[b]; ++j) {
        for (int d = 0; d < kD; ++d) {
          want[row + d] += p[j] / total * v[key(j) + d];
          dv_want[key(j) + d] += p[j] / total * slope[row + d];
        }
      }
    }
  }
  const auto packed = [&](const float* memory) {
    auto values = ToHost(memory, count);
    values.resize(used);
    return values;
  };
  want.resize(used), dv_want.resize(used);
  EXPECT(Near(packed(out), want, 1e-5));

  Graph back;
  const Tensor log_sums =
      back.graph.tensor(Tensor_attributes()
                            .set_dim({kB, kHeads, kWidth, 1})
                            .set_stride({kHeads * kWidth, kWidth, 1, 1})
                            .set_data_type(fe::DataType_t::FLOAT));
  back.pointers[log_sums] = kept;
  auto [tq, tk, tv] = back.graph.sdpa_backward(
      ragged(back, dq), ragged(back, dk), ragged(back, dv), ragged(back, out),
      ragged(back, ToDevice(slope)), log_sums,
      fe::graph::SDPA_backward_attributes()
          .set_attn_scale(0.25f)
          .set_padding_mask(true)
          .set_seq_len_q(whole(back, {kB, 1, 1, 1}, longs))
          .set_seq_len_kv(whole(back, {kB, 1, 1, 1}, longs)));
  output(back, tq), output(back, tk);
  const float* slope_of_v = output(back, tv);
  back.Run(handle);
  EXPECT(Near(packed(slope_of_v), dv_want, 1e-5));
}

int main() {
  cudnnHandle_t handle;
  CALL(cudnnCreate(&handle));
  MatmulBiasGelu(handle);
  std::puts("matmul");
  Convolutions(handle);
  std::puts("convolution");
  Norms(handle);
  std::puts("norm");
  Attention(handle);
  std::puts("attention");
  BiasedAttention(handle);
  std::puts("attention with a bias");
  PackedAttention(handle);
  CALL(cudnnDestroy(handle));
  return Pass();
}
