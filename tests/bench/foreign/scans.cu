// Prefix sums: of a block in shared memory, by shuffles, by a chain of blocks;
// of segments; and what is built of them: compaction, run lengths.

template <class T>
__device__ T WarpScan(T value) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const T other = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += other;
  }
  return value;
}

template <class T, int kBlock>
__device__ T BlockScan(T value, T* total) {
  __shared__ T sums[kBlock / 32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  value = WarpScan(value);
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    T sum = lane < kBlock / 32 ? sums[lane] : T(0);
    sum = WarpScan(sum);
    if (lane < kBlock / 32) sums[lane] = sum;
  }
  __syncthreads();
  if (warp > 0) value += sums[warp - 1];
  *total = sums[kBlock / 32 - 1];
  __syncthreads();
  return value;
}

template <class T, int kBlock, int kItems>
__global__ void ScanTiles(const T* in, T* out, T* totals, int n) {
  const int first = (blockIdx.x * kBlock + threadIdx.x) * kItems;
  T items[kItems];
  T sum = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    items[i] = first + i < n ? in[first + i] : T(0);
    sum += items[i];
  }
  T total;
  T before = BlockScan<T, kBlock>(sum, &total) - sum;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    before += items[i];
    if (first + i < n) out[first + i] = before;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

template <class T>
__global__ void AddTotals(T* out, const T* totals, int n) {
  __shared__ T before;
  if (threadIdx.x == 0) before = blockIdx.x ? totals[blockIdx.x - 1] : T(0);
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += before;
}

// Up-sweep and down-sweep with padding against bank conflicts.
template <class T>
__global__ void Sweep(const T* in, T* out, int n) {
  extern __shared__ int bytes[];
  T* shared = reinterpret_cast<T*>(bytes);
  const int t = threadIdx.x, half = n / 2;
  const int a = t + (t >> 5), b = t + half + ((t + half) >> 5);
  shared[a] = in[blockIdx.x * n + t];
  shared[b] = in[blockIdx.x * n + t + half];
  int step = 1;
  for (int d = half; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) {
      int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1;
      left += left >> 5, right += right >> 5;
      shared[right] += shared[left];
    }
    step *= 2;
  }
  if (t == 0) shared[n - 1 + ((n - 1) >> 5)] = 0;
  for (int d = 1; d < n; d *= 2) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1;
      left += left >> 5, right += right >> 5;
      const T kept = shared[left];
      shared[left] = shared[right];
      shared[right] += kept;
    }
  }
  __syncthreads();
  out[blockIdx.x * n + t] = shared[a];
  out[blockIdx.x * n + t + half] = shared[b];
}

// One pass: each block waits for what the one before it has published.
template <int kBlock>
__global__ void ChainedScan(const int* in, int* out, volatile int* flags,
                            volatile int* sums, int* ticket, int n) {
  __shared__ int tile, before;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = tile * kBlock + threadIdx.x;
  int total;
  const int sum = BlockScan<int, kBlock>(i < n ? in[i] : 0, &total);
  if (threadIdx.x == 0) {
    int previous = 0;
    if (tile > 0) {
      while (flags[tile - 1] == 0) {
      }
      __threadfence();
      previous = sums[tile - 1];
    }
    sums[tile] = previous + total;
    __threadfence();
    flags[tile] = 1;
    before = previous;
  }
  __syncthreads();
  if (i < n) out[i] = before + sum;
}

template <int kBlock>
__global__ void Compact(const float* in, float* out, int* count, float limit,
                        int n) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  const float value = i < n ? in[i] : 0;
  const bool keep = i < n && value > limit;
  __shared__ int base;
  int total;
  const int at = BlockScan<int, kBlock>(keep, &total) - 1;
  if (threadIdx.x == 0) base = atomicAdd(count, total);
  __syncthreads();
  if (keep) out[base + at] = value;
}

template <class T>
__global__ void SegmentedScan(const T* in, const int* heads, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  T value = i < n ? in[i] : T(0);
  const unsigned flags =
      __ballot_sync(0xffffffffu, i < n ? heads[i] != 0 : true) | 1;
  const int head = 31 - __clz(flags & (0xffffffffu >> (31 - lane)));
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const T other = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane - offset >= head) value += other;
  }
  if (i < n) out[i] = value;
}

__global__ void RunLengths(const int* in, int* starts, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool begins = i < n && (i == 0 || in[i] != in[i - 1]);
  const unsigned mask = __ballot_sync(0xffffffffu, begins);
  const int lane = threadIdx.x & 31, before = __popc(mask & ((1u << lane) - 1));
  int base = 0;
  if (lane == 0 && mask) base = atomicAdd(count, __popc(mask));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (begins) starts[base + before] = i;
}

#define FOR(T)                                                           \
  template __global__ void ScanTiles<T, 256, 4>(const T*, T*, T*, int);  \
  template __global__ void ScanTiles<T, 512, 8>(const T*, T*, T*, int);  \
  template __global__ void ScanTiles<T, 128, 16>(const T*, T*, T*, int); \
  template __global__ void AddTotals<T>(T*, const T*, int);              \
  template __global__ void Sweep<T>(const T*, T*, int);                  \
  template __global__ void SegmentedScan<T>(const T*, const int*, T*, int);
FOR(int)
FOR(float)
FOR(double)
template __global__ void ChainedScan<256>(const int*, int*, volatile int*,
                                          volatile int*, int*, int);
template __global__ void Compact<256>(const float*, float*, int*, float, int);
