// Layers of networks: normalization, softmax, attention, convolutions with
// their gradients, activations in half precision, optimizers, embeddings,
// quantization, sampling.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T>
__device__ float F(T v) {
  return (float)v;
}
template <class T>
__device__ float BlockSum(float v) {
  __shared__ float parts[32];
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : 0;
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
template <class T>
__device__ float BlockMax(float v) {
  __shared__ float parts[32];
  for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : -1e30f;
  for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

template <class T>
__global__ void LayerNorm(T* out, const T* in, const T* gain, const T* bias,
                          float epsilon, int n) {
  in += (long)blockIdx.x * n, out += (long)blockIdx.x * n;
  float sum = 0, square = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += F(in[i]), square += F(in[i]) * F(in[i]);
  }
  const float mean = BlockSum<T>(sum) / n;
  const float inverse = rsqrtf(BlockSum<T>(square) / n - mean * mean + epsilon);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    out[i] = T((F(in[i]) - mean) * inverse * F(gain[i]) + F(bias[i]));
  }
}
template <class T>
__global__ void LayerNormGradient(const T* in, const T* gradient, const T* gain,
                                  float* d_gain, float* d_bias, T* d_in,
                                  float epsilon, int n) {
  in += (long)blockIdx.x * n, gradient += (long)blockIdx.x * n;
  float sum = 0, square = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += F(in[i]), square += F(in[i]) * F(in[i]);
  }
  const float mean = BlockSum<T>(sum) / n;
  const float inverse = rsqrtf(BlockSum<T>(square) / n - mean * mean + epsilon);
  float g = 0, gx = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float x = (F(in[i]) - mean) * inverse, d = F(gradient[i]);
    atomicAdd(&d_gain[i], d * x);
    atomicAdd(&d_bias[i], d);
    g += d * F(gain[i]), gx += d * F(gain[i]) * x;
  }
  g = BlockSum<T>(g) / n, gx = BlockSum<T>(gx) / n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const float x = (F(in[i]) - mean) * inverse;
    d_in[(long)blockIdx.x * n + i] =
        T(inverse * (F(gradient[i]) * F(gain[i]) - g - x * gx));
  }
}
template <class T>
__global__ void Softmax(T* out, const T* in, float scale, bool causal, int n) {
  const int row = blockIdx.x;
  in += (long)row * n, out += (long)row * n;
  const int most = causal ? min(n, row % n + 1) : n;
  float top = -1e30f;
  for (int i = threadIdx.x; i < most; i += blockDim.x) {
    top = fmaxf(top, F(in[i]) * scale);
  }
  top = BlockMax<T>(top);
  float sum = 0;
  for (int i = threadIdx.x; i < most; i += blockDim.x) {
    sum += __expf(F(in[i]) * scale - top);
  }
  sum = BlockSum<T>(sum);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    out[i] = T(i < most ? __expf(F(in[i]) * scale - top) / sum : 0.0f);
  }
}
template <class T, int kHead, int kKeys>
__global__ void Attention(const T* q, const T* k, const T* v, T* out,
                          int length, float scale) {
  __shared__ float keys[kKeys][kHead + 1], values[kKeys][kHead];
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const long head = (long)blockIdx.y * length * kHead;
  float query[kHead], sum[kHead] = {};
  for (int d = 0; d < kHead; ++d) {
    query[d] = row < length ? F(q[head + row * kHead + d]) * scale : 0;
  }
  float top = -1e30f, total = 0;
  for (int base = 0; base < length; base += kKeys) {
    __syncthreads();
    for (int i = threadIdx.x; i < kKeys * kHead; i += blockDim.x) {
      const int at = base + i / kHead;
      keys[i / kHead][i % kHead] =
          at < length ? F(k[head + (long)base * kHead + i]) : 0;
      values[i / kHead][i % kHead] =
          at < length ? F(v[head + (long)base * kHead + i]) : 0;
    }
    __syncthreads();
    float scores[kKeys], now = top;
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {
      float s = 0;
#pragma unroll
      for (int d = 0; d < kHead; ++d) s += query[d] * keys[j][d];
      scores[j] = base + j < length ? s : -1e30f;
      now = fmaxf(now, scores[j]);
    }
    const float fade = __expf(top - now);
    total *= fade;
#pragma unroll
    for (int d = 0; d < kHead; ++d) sum[d] *= fade;
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {
      const float w = __expf(scores[j] - now);
      total += w;
#pragma unroll
      for (int d = 0; d < kHead; ++d) sum[d] += w * values[j][d];
    }
    top = now;
  }
  if (row >= length) return;
#pragma unroll
  for (int d = 0; d < kHead; ++d) {
    out[head + row * kHead + d] = T(sum[d] / total);
  }
}
template <class T, int kSize>
__global__ void Convolution(const T* in, const T* weights, const T* bias,
                            T* out, int channels, int height, int width,
                            int stride, int pad) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y,
            o = blockIdx.z;
  const int ow = (width + 2 * pad - kSize) / stride + 1;
  if (x >= ow) return;
  float sum = F(bias[o]);
  for (int c = 0; c < channels; ++c) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
#pragma unroll
      for (int j = 0; j < kSize; ++j) {
        const int yy = y * stride + i - pad, xx = x * stride + j - pad;
        if (yy >= 0 && yy < height && xx >= 0 && xx < width) {
          sum += F(in[(c * height + yy) * width + xx]) *
                 F(weights[((o * channels + c) * kSize + i) * kSize + j]);
        }
      }
    }
  }
  out[(o * gridDim.y + y) * ow + x] = T(fmaxf(sum, 0));
}
template <class T>
__global__ void MaxPool(const T* in, T* out, int* where, int height, int width,
                        int size, int stride) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  in += (long)blockIdx.z * height * width;
  const int ow = (width - size) / stride + 1;
  if (x >= ow) return;
  float best = -1e30f;
  int at = 0;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      const int k = (y * stride + i) * width + x * stride + j;
      if (F(in[k]) > best) best = F(in[k]), at = k;
    }
  }
  const long to = ((long)blockIdx.z * gridDim.y + y) * ow + x;
  out[to] = T(best), where[to] = at;
}
template <class T, int kKind>
__global__ void Activate(T* out, const T* in, const T* bias, int columns,
                         int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    const float x = F(in[i]) + F(bias[i % columns]);
    float y = x;
    if (kKind == 0) y = x / (1 + __expf(-x));
    if (kKind == 1) y = 0.5f * x * (1 + erff(x * 0.70710678f));
    if (kKind == 2) {
      y = 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    }
    if (kKind == 3) y = x > 0 ? x : expm1f(x);
    if (kKind == 4) y = x * tanhf(log1pf(__expf(x)));
    out[i] = T(y);
  }
}
template <class T>
__global__ void Adam(T* weights, float* master, const T* gradients, float* m,
                     float* v, float rate, float b1, float b2, float epsilon,
                     float decay, int step, int n) {
  const float c1 = 1 - powf(b1, step), c2 = 1 - powf(b2, step);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    const float g = F(gradients[i]);
    m[i] = b1 * m[i] + (1 - b1) * g;
    v[i] = b2 * v[i] + (1 - b2) * g * g;
    master[i] -=
        rate * (m[i] / c1 / (sqrtf(v[i] / c2) + epsilon) + decay * master[i]);
    weights[i] = T(master[i]);
  }
}
template <class T>
__global__ void Rotate(T* q, const int* positions, float base, int heads,
                       int size) {
  const int half = size / 2;
  for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
    T* row = q + ((long)blockIdx.x * heads + i / half) * size;
    const int d = i % half;
    float s, c;
    sincosf(positions[blockIdx.x] * powf(base, -2.0f * d / size), &s, &c);
    const float a = F(row[d]), b = F(row[d + half]);
    row[d] = T(a * c - b * s), row[d + half] = T(a * s + b * c);
  }
}
template <class T>
__global__ void Quantize(const T* in, signed char* out, float* scales, int n) {
  in += (long)blockIdx.x * n, out += (long)blockIdx.x * n;
  float top = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    top = fmaxf(top, fabsf(F(in[i])));
  top = BlockMax<T>(top);
  const float scale = top > 0 ? 127 / top : 1;
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    out[i] = (signed char)rintf(F(in[i]) * scale);
  }
}
__global__ void ProductOfBytes(const int* a, const int* b, float* out,
                               const float* sa, const float* sb, int k, int n) {
  const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= n) return;
  int sum = 0;
  for (int i = 0; i < k / 4; ++i) {
    sum = __dp4a(a[row * k / 4 + i], b[column * k / 4 + i], sum);
  }
  out[row * n + column] = sum / (sa[row] * sb[column]);
}
template <class T>
__global__ void TopK(const T* in, float* values, int* at, int n, int k) {
  __shared__ float best[32];
  __shared__ int where[32];
  in += (long)blockIdx.x * n;
  float last = 1e30f;
  int last_at = -1;
  for (int round = 0; round < k; ++round) {
    float mine = -1e30f;
    int place = n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      const float v = F(in[i]);
      if ((v < last || (v == last && i > last_at)) && v > mine)
        mine = v, place = i;
    }
    for (int o = 16; o > 0; o /= 2) {
      const float v = __shfl_xor_sync(~0u, mine, o);
      const int p = __shfl_xor_sync(~0u, place, o);
      if (v > mine || (v == mine && p < place)) mine = v, place = p;
    }
    if (threadIdx.x % 32 == 0) {
      best[threadIdx.x / 32] = mine, where[threadIdx.x / 32] = place;
    }
    __syncthreads();
    for (int w = 0; w < blockDim.x / 32; ++w) {
      if (best[w] > mine || (best[w] == mine && where[w] < place)) {
        mine = best[w], place = where[w];
      }
    }
    last = mine, last_at = place;
    if (threadIdx.x == 0) {
      values[blockIdx.x * k + round] = mine, at[blockIdx.x * k + round] = place;
    }
    __syncthreads();
  }
}

#define FOR(T)                                                                 \
  template __global__ void LayerNorm<T>(T*, const T*, const T*, const T*,      \
                                        float, int);                           \
  template __global__ void LayerNormGradient<T>(                               \
      const T*, const T*, const T*, float*, float*, T*, float, int);           \
  template __global__ void Softmax<T>(T*, const T*, float, bool, int);         \
  template __global__ void Attention<T, 32, 16>(const T*, const T*, const T*,  \
                                                T*, int, float);               \
  template __global__ void Convolution<T, 3>(const T*, const T*, const T*, T*, \
                                             int, int, int, int, int);         \
  template __global__ void MaxPool<T>(const T*, T*, int*, int, int, int, int); \
  template __global__ void Activate<T, 0>(T*, const T*, const T*, int, int);   \
  template __global__ void Activate<T, 1>(T*, const T*, const T*, int, int);   \
  template __global__ void Activate<T, 2>(T*, const T*, const T*, int, int);   \
  template __global__ void Activate<T, 3>(T*, const T*, const T*, int, int);   \
  template __global__ void Activate<T, 4>(T*, const T*, const T*, int, int);   \
  template __global__ void Adam<T>(T*, float*, const T*, float*, float*,       \
                                   float, float, float, float, float, int,     \
                                   int);                                       \
  template __global__ void Rotate<T>(T*, const int*, float, int, int);         \
  template __global__ void Quantize<T>(const T*, signed char*, float*, int);   \
  template __global__ void TopK<T>(const T*, float*, int*, int, int);
FOR(float)
FOR(half)
FOR(__nv_bfloat16)
