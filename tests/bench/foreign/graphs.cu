// Graphs and sparse matrices: breadth first by levels and by frontiers, short
// ways, components, page ranks, triangles, colouring, products with a vector in
// four formats, Borůvka's minimum tree.

__global__ void Levels(const int* rows, const int* columns, int* levels,
                       int* changed, int level, int n) {
  for (int v = blockIdx.x * blockDim.x + threadIdx.x; v < n;
       v += gridDim.x * blockDim.x) {
    if (levels[v] != level) continue;
    for (int e = rows[v]; e < rows[v + 1]; ++e) {
      if (levels[columns[e]] < 0) {
        levels[columns[e]] = level + 1;
        *changed = 1;
      }
    }
  }
}

__global__ void Frontier(const int* rows, const int* columns, const int* now,
                         int count, int* next, int* next_count, int* parents) {
  __shared__ int queue[1024], queued, base;
  if (threadIdx.x == 0) queued = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    const int v = now[i];
    for (int e = rows[v]; e < rows[v + 1]; ++e) {
      const int to = columns[e];
      if (parents[to] < 0 && atomicCAS(&parents[to], -1, v) == -1) {
        const int at = atomicAdd(&queued, 1);
        if (at < 1024) {
          queue[at] = to;
        } else {
          next[atomicAdd(next_count, 1)] = to;
        }
      }
    }
  }
  __syncthreads();
  const int mine = min(queued, 1024);
  if (threadIdx.x == 0) base = atomicAdd(next_count, mine);
  __syncthreads();
  for (int k = threadIdx.x; k < mine; k += blockDim.x)
    next[base + k] = queue[k];
}

// Lanes of a warp share the edges of one vertex after the other.
__global__ void WarpFrontier(const int* rows, const int* columns,
                             const int* now, int count, int* next,
                             int* next_count, unsigned* visited) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  for (int i = warp; i < count; i += gridDim.x * blockDim.x / 32) {
    const int v = now[i], end = rows[v + 1];
    for (int e = rows[v]; e < end; e += 32) {
      const int to = e + lane < end ? columns[e + lane] : -1;
      bool found = false;
      if (to >= 0 && !(visited[to / 32] >> to % 32 & 1)) {
        found = !(atomicOr(&visited[to / 32], 1u << to % 32) >> to % 32 & 1);
      }
      const unsigned mask = __ballot_sync(0xffffffffu, found);
      if (mask == 0) continue;
      int base = 0;
      if (lane == 0) base = atomicAdd(next_count, __popc(mask));
      base = __shfl_sync(0xffffffffu, base, 0);
      if (found) next[base + __popc(mask & ((1u << lane) - 1))] = to;
    }
  }
}

__device__ float MinimumOf(float* at, float value) {
  int* bits = reinterpret_cast<int*>(at);
  int old = *bits;
  while (__int_as_float(old) > value) {
    const int seen = atomicCAS(bits, old, __float_as_int(value));
    if (seen == old) break;
    old = seen;
  }
  return __int_as_float(old);
}
__global__ void Relax(const int* rows, const int* columns, const float* weights,
                      float* distances, int* changed, int n) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || distances[v] > 1e29f) return;
  for (int e = rows[v]; e < rows[v + 1]; ++e) {
    const float way = distances[v] + weights[e];
    if (way < distances[columns[e]] &&
        MinimumOf(&distances[columns[e]], way) > way) {
      *changed = 1;
    }
  }
}

__global__ void FloydBlock(float* d, int n, int k, int phase) {
  __shared__ float a[32][33], b[32][33];
  int i = blockIdx.y, j = blockIdx.x;
  if (phase == 0) i = j = k;
  if (phase == 1) blockIdx.y == 0 ? i = k : (j = i, i = blockIdx.x, j = k);
  const int x = threadIdx.x, y = threadIdx.y;
  a[y][x] = d[(i * 32 + y) * n + k * 32 + x];
  b[y][x] = d[(k * 32 + y) * n + j * 32 + x];
  float best = d[(i * 32 + y) * n + j * 32 + x];
  __syncthreads();
  for (int q = 0; q < 32; ++q) {
    best = fminf(best, a[y][q] + b[q][x]);
    if (phase < 2) {
      __syncthreads();
      if (j == k) a[y][x] = best;
      if (i == k) b[y][x] = best;
      __syncthreads();
    }
  }
  d[(i * 32 + y) * n + j * 32 + x] = best;
}

__global__ void Hook(const int* from, const int* to, int* parents, int* changed,
                     int edges) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= edges) return;
  const int a = parents[from[e]], b = parents[to[e]];
  if (a == b) return;
  *changed = 1;
  const int high = max(a, b), low = min(a, b);
  atomicMin(&parents[high], low);
}
__global__ void Jump(int* parents, int n) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int p = parents[v];
  while (p != parents[p]) p = parents[p];
  parents[v] = p;
}

__global__ void PageRank(const int* rows, const int* columns, const float* now,
                         const int* degrees, float* next, float damping,
                         float* change, int n) {
  __shared__ float sums[32];
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  float difference = 0;
  if (v < n) {
    float sum = 0;
    for (int e = rows[v]; e < rows[v + 1]; ++e) {
      sum += now[columns[e]] / degrees[columns[e]];
    }
    next[v] = (1 - damping) / n + damping * sum;
    difference = fabsf(next[v] - now[v]);
  }
  for (int o = 16; o > 0; o /= 2) {
    difference += __shfl_xor_sync(0xffffffffu, difference, o);
  }
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = difference;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) difference += sums[w];
    atomicAdd(change, difference);
  }
}

__global__ void Triangles(const int* rows, const int* columns,
                          unsigned long long* count, int n) {
  unsigned mine = 0;
  for (int v = blockIdx.x; v < n; v += gridDim.x) {
    for (int e = rows[v] + threadIdx.x; e < rows[v + 1]; e += blockDim.x) {
      int i = rows[v], j = rows[columns[e]];
      const int ie = rows[v + 1], je = rows[columns[e] + 1];
      while (i < ie && j < je) {
        const int a = columns[i], b = columns[j];
        mine += a == b;
        i += a <= b, j += b <= a;
      }
    }
  }
  mine = __reduce_add_sync(0xffffffffu, mine);
  if (threadIdx.x % 32 == 0) atomicAdd(count, (unsigned long long)mine);
}

__global__ void Colour(const int* rows, const int* columns,
                       const unsigned* priorities, int* colours, int* left,
                       int n) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || colours[v] >= 0) return;
  unsigned long long used = 0;
  bool highest = true;
  for (int e = rows[v]; e < rows[v + 1]; ++e) {
    const int to = columns[e];
    if (colours[to] >= 0) {
      used |= 1ull << (colours[to] & 63);
    } else {
      highest &= priorities[v] > priorities[to] ||
                 (priorities[v] == priorities[to] && v > to);
    }
  }
  if (highest) {
    colours[v] = __ffsll(~used) - 1;
  } else {
    *left = 1;
  }
}

template <class T>
__global__ void SparseScalar(const int* rows, const int* columns,
                             const T* values, const T* x, T* y, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  T sum = 0;
  for (int e = rows[row]; e < rows[row + 1]; ++e)
    sum += values[e] * x[columns[e]];
  y[row] = sum;
}
template <class T, int kLanes>
__global__ void SparseVector(const int* rows, const int* columns,
                             const T* values, const T* __restrict__ x, T* y,
                             int n) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  T sum = 0;
  if (row < n) {
    for (int e = rows[row] + lane; e < rows[row + 1]; e += kLanes) {
      sum += values[e] * x[columns[e]];
    }
  }
#pragma unroll
  for (int o = kLanes / 2; o > 0; o /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, o, kLanes);
  }
  if (lane == 0 && row < n) y[row] = sum;
}
template <class T>
__global__ void SparseEll(const int* columns, const T* values, const T* x, T* y,
                          int n, int width, int pitch) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  T sum = 0;
#pragma unroll 4
  for (int k = 0; k < width; ++k) {
    const int c = columns[k * pitch + row];
    if (c >= 0) sum += values[k * pitch + row] * x[c];
  }
  y[row] = sum;
}
template <class T>
__global__ void SparseCoo(const int* rows, const int* columns, const T* values,
                          const T* x, T* y, int count) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const int row = e < count ? rows[e] : -1;
  T sum = e < count ? values[e] * x[columns[e]] : T(0);
#pragma unroll
  for (int o = 1; o < 32; o *= 2) {
    const T other = __shfl_up_sync(0xffffffffu, sum, o);
    const int its = __shfl_up_sync(0xffffffffu, row, o);
    if (lane >= o && its == row) sum += other;
  }
  const int next = __shfl_down_sync(0xffffffffu, row, 1);
  if (row >= 0 && (lane == 31 || next != row)) atomicAdd(&y[row], sum);
}

#define FOR(T)                                                               \
  template __global__ void SparseScalar<T>(const int*, const int*, const T*, \
                                           const T*, T*, int);               \
  template __global__ void SparseVector<T, 4>(const int*, const int*,        \
                                              const T*, const T*, T*, int);  \
  template __global__ void SparseVector<T, 32>(const int*, const int*,       \
                                               const T*, const T*, T*, int); \
  template __global__ void SparseEll<T>(const int*, const T*, const T*, T*,  \
                                        int, int, int);                      \
  template __global__ void SparseCoo<T>(const int*, const int*, const T*,    \
                                        const T*, T*, int);
FOR(float)
FOR(double)
