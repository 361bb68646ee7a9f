// Sorting: radix by digits of four bits, bitonic and odd-even networks in
// shared and global memory, merges by ranks, quicksort of small pieces.
#include <cstdint>

template <class K, class V>
__device__ void Exchange(K& a, V& va, K& b, V& vb, bool up) {
  if ((a > b) == up) {
    const K key = a;
    a = b, b = key;
    const V value = va;
    va = vb, vb = value;
  }
}

template <class K, class V, int kSize>
__global__ void BitonicShared(K* keys, V* values, bool up) {
  __shared__ K k[kSize];
  __shared__ V v[kSize];
  const int t = threadIdx.x, base = blockIdx.x * kSize;
  k[t] = keys[base + t], k[t + kSize / 2] = keys[base + t + kSize / 2];
  v[t] = values[base + t], v[t + kSize / 2] = values[base + t + kSize / 2];
  for (int size = 2; size <= kSize; size <<= 1) {
    const bool direction = size < kSize ? (t & (size / 2)) == 0 : up;
    for (int stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      const int at = 2 * t - (t & (stride - 1));
      Exchange(k[at], v[at], k[at + stride], v[at + stride], direction);
    }
  }
  __syncthreads();
  keys[base + t] = k[t], keys[base + t + kSize / 2] = k[t + kSize / 2];
  values[base + t] = v[t], values[base + t + kSize / 2] = v[t + kSize / 2];
}

template <class K, class V>
__global__ void BitonicGlobal(K* keys, V* values, int n, int size, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int at = 2 * i - (i & (stride - 1));
  if (at + stride >= n) return;
  K a = keys[at], b = keys[at + stride];
  V va = values[at], vb = values[at + stride];
  Exchange(a, va, b, vb, (i & (size / 2)) == 0);
  keys[at] = a, keys[at + stride] = b;
  values[at] = va, values[at + stride] = vb;
}

template <class K>
__global__ void OddEven(K* keys, int n) {
  extern __shared__ int bytes[];
  K* shared = reinterpret_cast<K*>(bytes);
  for (int i = threadIdx.x; i < n; i += blockDim.x) shared[i] = keys[i];
  for (int round = 0; round < n; ++round) {
    __syncthreads();
    for (int i = 2 * threadIdx.x + (round & 1); i + 1 < n;
         i += 2 * blockDim.x) {
      if (shared[i] > shared[i + 1]) {
        const K key = shared[i];
        shared[i] = shared[i + 1], shared[i + 1] = key;
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) keys[i] = shared[i];
}

template <int kBits, class K>
__global__ void RadixCount(const K* keys, unsigned* counts, int shift, int n) {
  __shared__ unsigned bins[1 << kBits];
  for (int i = threadIdx.x; i < 1 << kBits; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[(keys[i] >> shift) & ((1 << kBits) - 1)], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 1 << kBits; i += blockDim.x) {
    counts[i * gridDim.x + blockIdx.x] = bins[i];
  }
}

// A tile is sorted by one bit after the other, then written where its digits'
// keys begin.
template <int kBits, class K>
__global__ void RadixScatter(const K* keys, const unsigned* values, K* out_keys,
                             unsigned* out_values, const unsigned* offsets,
                             int shift, int n) {
  constexpr int kBlock = 256, kItems = 4;
  __shared__ K k[kBlock * kItems];
  __shared__ unsigned v[kBlock * kItems], sums[kBlock / 32];
  __shared__ unsigned begins[1 << kBits];
  K key[kItems];
  unsigned value[kItems];
  const int base = blockIdx.x * kBlock * kItems;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = base + threadIdx.x * kItems + i;
    key[i] = at < n ? keys[at] : ~K(0);
    value[i] = at < n ? values[at] : 0;
  }
#pragma unroll
  for (int bit = shift; bit < shift + kBits; ++bit) {
    unsigned zeros = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) zeros += (key[i] >> bit & 1) == 0;
    unsigned sum = zeros;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const unsigned other = __shfl_up_sync(0xffffffffu, sum, offset);
      if ((threadIdx.x & 31) >= offset) sum += other;
    }
    if ((threadIdx.x & 31) == 31) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    unsigned before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < kBlock / 32; ++w) {
      if (w < threadIdx.x / 32) before += sums[w];
      all += sums[w];
    }
    unsigned zero = before + sum - zeros;
    unsigned one = all + threadIdx.x * kItems - zero;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const unsigned at = (key[i] >> bit & 1) == 0 ? zero++ : one++;
      k[at] = key[i];
      v[at] = value[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      key[i] = k[threadIdx.x * kItems + i];
      value[i] = v[threadIdx.x * kItems + i];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = threadIdx.x * kItems + i;
    const unsigned digit = key[i] >> shift & ((1 << kBits) - 1);
    k[at] = key[i];
    if (at == 0 ||
        digit != (unsigned)(k[at - 1] >> shift & ((1 << kBits) - 1))) {
      begins[digit] = at;
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = threadIdx.x * kItems + i;
    if (base + at >= n) continue;
    const unsigned digit = key[i] >> shift & ((1 << kBits) - 1);
    const unsigned to =
        offsets[digit * gridDim.x + blockIdx.x] + at - begins[digit];
    out_keys[to] = key[i];
    out_values[to] = value[i];
  }
}

template <class K>
__device__ int Rank(const K* keys, int n, K key, bool upper) {
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (upper ? keys[middle] <= key : keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class K, class V>
__global__ void MergeByRanks(const K* keys, const V* values, K* out_keys,
                             V* out_values, int run, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int pair = i / (2 * run) * (2 * run);
  const bool second = i - pair >= run;
  const int mine = second ? pair + run : pair;
  const int other = second ? pair : pair + run;
  const int length = max(0, min(run, n - other));
  const int at =
      pair + (i - mine) + Rank(keys + other, length, keys[i], second);
  out_keys[at] = keys[i];
  out_values[at] = values[i];
}

template <class K>
__global__ void QuickSort(K* keys, int piece, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * piece;
  if (first >= n) return;
  int stack[64];
  int depth = 0;
  stack[depth++] = first;
  stack[depth++] = min(first + piece, n) - 1;
  while (depth > 0) {
    const int high = stack[--depth], low = stack[--depth];
    if (high - low < 12) {
      for (int i = low + 1; i <= high; ++i) {
        const K key = keys[i];
        int j = i - 1;
        for (; j >= low && keys[j] > key; --j) keys[j + 1] = keys[j];
        keys[j + 1] = key;
      }
      continue;
    }
    const K pivot = keys[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
      while (keys[i] < pivot) ++i;
      while (pivot < keys[j]) --j;
      if (i <= j) {
        const K key = keys[i];
        keys[i++] = keys[j], keys[j--] = key;
      }
    }
    if (low < j && depth < 62) stack[depth++] = low, stack[depth++] = j;
    if (i < high && depth < 62) stack[depth++] = i, stack[depth++] = high;
  }
}

#define FOR(K)                                                                 \
  template __global__ void BitonicShared<K, unsigned, 512>(K*, unsigned*,      \
                                                           bool);              \
  template __global__ void BitonicShared<K, unsigned, 1024>(K*, unsigned*,     \
                                                            bool);             \
  template __global__ void BitonicGlobal<K, unsigned>(K*, unsigned*, int, int, \
                                                      int);                    \
  template __global__ void OddEven<K>(K*, int);                                \
  template __global__ void MergeByRanks<K, unsigned>(                          \
      const K*, const unsigned*, K*, unsigned*, int, int);                     \
  template __global__ void QuickSort<K>(K*, int, int);
FOR(unsigned)
FOR(float)
FOR(double)
FOR(int64_t)
#define RADIX(K, B)                                                         \
  template __global__ void RadixCount<B, K>(const K*, unsigned*, int, int); \
  template __global__ void RadixScatter<B, K>(                              \
      const K*, const unsigned*, K*, unsigned*, const unsigned*, int, int);
RADIX(unsigned, 4)
RADIX(uint64_t, 4)
RADIX(unsigned, 6)
