// Sums, extrema and arguments of extrema of arrays, by the ways that tutorials
// go through: interleaved, sequential, unrolled, by shuffles, of many elements
// a thread.
#include <cstdint>

template <class T>
struct Shared {
  __device__ operator T*() {
    extern __shared__ int bytes[];
    return reinterpret_cast<T*>(bytes);
  }
};
template <>
struct Shared<double> {
  __device__ operator double*() {
    extern __shared__ double doubles[];
    return doubles;
  }
};

template <class T>
__device__ T WarpSum(T value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

template <class T>
__global__ void Interleaved(const T* in, T* out, unsigned n) {
  T* shared = Shared<T>();
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  shared[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (t % (2 * s) == 0) shared[t] += shared[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

template <class T>
__global__ void Sequential(const T* in, T* out, unsigned n) {
  T* shared = Shared<T>();
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
  T sum = i < n ? in[i] : 0;
  if (i + blockDim.x < n) sum += in[i + blockDim.x];
  shared[t] = sum;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) shared[t] = sum = sum + shared[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sum;
}

template <class T, unsigned kBlock, bool kPowerOfTwo>
__global__ void Unrolled(const T* in, T* out, unsigned n) {
  T* shared = Shared<T>();
  const unsigned t = threadIdx.x;
  T sum = 0;
  for (unsigned i = blockIdx.x * kBlock * 2 + t; i < n;
       i += kBlock * 2 * gridDim.x) {
    sum += in[i];
    if (kPowerOfTwo || i + kBlock < n) sum += in[i + kBlock];
  }
  shared[t] = sum;
  __syncthreads();
  if (kBlock >= 512) {
    if (t < 256) shared[t] = sum = sum + shared[t + 256];
    __syncthreads();
  }
  if (kBlock >= 256) {
    if (t < 128) shared[t] = sum = sum + shared[t + 128];
    __syncthreads();
  }
  if (kBlock >= 128) {
    if (t < 64) shared[t] = sum = sum + shared[t + 64];
    __syncthreads();
  }
  if (t < 32) {
    if (kBlock >= 64) sum += shared[t + 32];
    sum = WarpSum(sum);
  }
  if (t == 0) out[blockIdx.x] = sum;
}

template <class T>
struct Best {
  T value;
  int at;
};

template <class T, class Better>
__device__ Best<T> WarpBest(Best<T> mine, Better better) {
  for (int offset = 16; offset > 0; offset >>= 1) {
    const T value = __shfl_xor_sync(0xffffffffu, mine.value, offset);
    const int at = __shfl_xor_sync(0xffffffffu, mine.at, offset);
    if (better(value, mine.value) || (value == mine.value && at < mine.at)) {
      mine = {value, at};
    }
  }
  return mine;
}

template <class T, class Better>
__device__ void BestOf(const T* in, Best<T>* out, int n, Better better) {
  __shared__ T values[32];
  __shared__ int places[32];
  Best<T> mine = {in[0], 0};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    if (better(in[i], mine.value)) mine = {in[i], i};
  }
  mine = WarpBest(mine, better);
  if (threadIdx.x % 32 == 0) {
    values[threadIdx.x / 32] = mine.value;
    places[threadIdx.x / 32] = mine.at;
  }
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const int warps = blockDim.x / 32, from = min(threadIdx.x, warps - 1);
  mine = WarpBest(Best<T>{values[from], places[from]}, better);
  if (threadIdx.x == 0) out[blockIdx.x] = mine;
}

template <class T>
__global__ void ArgMax(const T* in, Best<T>* out, int n) {
  BestOf(in, out, n, [](T a, T b) { return a > b; });
}
template <class T>
__global__ void ArgMin(const T* in, Best<T>* out, int n) {
  BestOf(in, out, n, [](T a, T b) { return a < b; });
}

// Mean and variance in one go, joined as Chan and others do.
__global__ void Moments(const float* in, float3* out, int n) {
  float count = 0, mean = 0, squares = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    count += 1;
    const float delta = in[i] - mean;
    mean += delta / count;
    squares += delta * (in[i] - mean);
  }
  __shared__ float3 parts[32];
  for (int round = 0; round < 2; ++round) {
    for (int offset = 16; offset > 0; offset >>= 1) {
      const float c = __shfl_down_sync(0xffffffffu, count, offset);
      const float m = __shfl_down_sync(0xffffffffu, mean, offset);
      const float s = __shfl_down_sync(0xffffffffu, squares, offset);
      const float total = count + c;
      if (total > 0) {
        const float delta = m - mean;
        mean += delta * c / total;
        squares += s + delta * delta * count * c / total;
        count = total;
      }
    }
    if (round == 1) break;
    if (threadIdx.x % 32 == 0) {
      parts[threadIdx.x / 32] = make_float3(count, mean, squares);
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const bool filled = threadIdx.x < blockDim.x / 32;
    const float3 part = filled ? parts[threadIdx.x] : make_float3(0, 0, 0);
    count = part.x, mean = part.y, squares = part.z;
  }
  if (threadIdx.x == 0) out[blockIdx.x] = make_float3(count, mean, squares);
}

#define FOR(T)                                                              \
  template __global__ void Interleaved<T>(const T*, T*, unsigned);          \
  template __global__ void Sequential<T>(const T*, T*, unsigned);           \
  template __global__ void Unrolled<T, 512, true>(const T*, T*, unsigned);  \
  template __global__ void Unrolled<T, 256, true>(const T*, T*, unsigned);  \
  template __global__ void Unrolled<T, 128, false>(const T*, T*, unsigned); \
  template __global__ void Unrolled<T, 64, false>(const T*, T*, unsigned);  \
  template __global__ void ArgMax<T>(const T*, Best<T>*, int);              \
  template __global__ void ArgMin<T>(const T*, Best<T>*, int);
FOR(int)
FOR(float)
FOR(double)
FOR(int64_t)
