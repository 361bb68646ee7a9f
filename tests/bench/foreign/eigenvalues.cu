// Numbers of matrices: eigenvalues of tridiagonal ones by bisection, Jacobi
// rotations of small ones, QR by Householder, Cholesky by blocks, conjugate
// gradients of a stencil with cooperative groups, power iteration.
#include <cooperative_groups.h>

template <class T>
__device__ int Smaller(const T* d, const T* s, T x, int n) {
  T delta = d[0] - x;
  int count = delta < 0;
  for (int i = 1; i < n; ++i) {
    delta = d[i] - x - s[i] * s[i] / delta;
    count += delta < 0;
  }
  return count;
}

template <class T>
__global__ void Bisect(const T* diagonal, const T* beside, T* values, T low,
                       T high, T precision, int n) {
  __shared__ T d[256], s[256];
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  T left = low, right = high;
  while (right - left > precision) {
    const T middle = (left + right) / 2;
    int count = 0;
    T delta = 1;
    for (int base = 0; base < n; base += 256) {
      __syncthreads();
      if (base + threadIdx.x < n) {
        d[threadIdx.x] = diagonal[base + threadIdx.x];
        s[threadIdx.x] = beside[base + threadIdx.x];
      }
      __syncthreads();
      const int most = min(256, n - base);
      for (int i = 0; i < most; ++i) {
        delta = d[i] - middle - s[i] * s[i] / delta;
        count += delta < 0;
      }
    }
    if (count > k) right = middle;
    else left = middle;
    if (__syncthreads_and(right - left <= precision)) break;
  }
  if (k < n) values[k] = (left + right) / 2;
}

template <class T>
__global__ void Intervals(const T* d, const T* s, T* lefts, T* rights,
                          int* counts, int* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const T l = lefts[i], r = rights[i], m = (l + r) / 2;
  const int below = Smaller(d, s, m, n), left = Smaller(d, s, l, n),
            right = Smaller(d, s, r, n);
  if (below > left) {
    const int at = atomicAdd(total, 1);
    lefts[at] = l, rights[at] = m, counts[at] = below - left;
  }
  if (right > below) {
    const int at = atomicAdd(total, 1);
    lefts[at] = m, rights[at] = r, counts[at] = right - below;
  }
}

template <class T, int kSize>
__global__ void Jacobi(T* matrices, T* vectors, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  T a[kSize][kSize], v[kSize][kSize];
#pragma unroll
  for (int r = 0; r < kSize; ++r) {
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      a[r][c] = matrices[(r * kSize + c) * count + i];
      v[r][c] = r == c;
    }
  }
  for (int sweep = 0; sweep < 12; ++sweep) {
#pragma unroll
    for (int p = 0; p < kSize; ++p) {
#pragma unroll
      for (int q = p + 1; q < kSize; ++q) {
        if (fabs(a[p][q]) < T(1e-12)) continue;
        const T theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const T t =
            copysign(T(1), theta) / (fabs(theta) + sqrt(theta * theta + 1));
        const T c = 1 / sqrt(t * t + 1), s = t * c;
#pragma unroll
        for (int k = 0; k < kSize; ++k) {
          const T x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
        }
#pragma unroll
        for (int k = 0; k < kSize; ++k) {
          const T x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
          const T vx = v[k][p], vy = v[k][q];
          v[k][p] = c * vx - s * vy, v[k][q] = s * vx + c * vy;
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kSize; ++r) {
#pragma unroll
    for (int c = 0; c < kSize; ++c) {
      matrices[(r * kSize + c) * count + i] = a[r][c];
      vectors[(r * kSize + c) * count + i] = v[r][c];
    }
  }
}

template <class T, int kRows, int kColumns>
__global__ void Householder(T* matrices) {
  __shared__ T a[kRows][kColumns + 1], sums[kRows];
  T* matrix = matrices + blockIdx.x * kRows * kColumns;
  const int t = threadIdx.x;
  for (int i = t; i < kRows * kColumns; i += blockDim.x) {
    a[i / kColumns][i % kColumns] = matrix[i];
  }
  for (int k = 0; k < kColumns; ++k) {
    __syncthreads();
    sums[t] = t >= k ? a[t][k] * a[t][k] : T(0);
    for (int s = kRows / 2; s > 0; s /= 2) {
      __syncthreads();
      if (t < s) sums[t] += sums[t + s];
    }
    __syncthreads();
    const T norm = sqrt(sums[0]), head = a[k][k];
    const T alpha = head > 0 ? -norm : norm;
    const T scale = 1 / (norm * (norm + fabs(head)));
    __syncthreads();
    if (t == k) a[k][k] = head - alpha;
    __syncthreads();
    for (int c = k + 1 + t; c < kColumns; c += blockDim.x) {
      T dot = 0;
      for (int r = k; r < kRows; ++r) dot += a[r][k] * a[r][c];
      for (int r = k; r < kRows; ++r) a[r][c] -= scale * dot * a[r][k];
    }
    __syncthreads();
    if (t == k) a[k][k] = alpha;
  }
  __syncthreads();
  for (int i = t; i < kRows * kColumns; i += blockDim.x) {
    matrix[i] = a[i / kColumns][i % kColumns];
  }
}

template <class T>
__global__ void Cholesky(T* a, int n) {
  extern __shared__ char bytes[];
  T* column = reinterpret_cast<T*>(bytes);
  a += blockIdx.x * n * n;
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) a[k * n + k] = sqrt(a[k * n + k]);
    __syncthreads();
    for (int r = k + 1 + threadIdx.x; r < n; r += blockDim.x) {
      column[r] = a[r * n + k] /= a[k * n + k];
    }
    __syncthreads();
    for (int c = k + 1; c < n; ++c) {
      for (int r = c + threadIdx.x; r < n; r += blockDim.x) {
        a[r * n + c] -= column[r] * column[c];
      }
    }
  }
}

template <class T>
__device__ T GridSum(cooperative_groups::grid_group grid, T value, T* to) {
  for (int o = 16; o > 0; o /= 2) value += __shfl_down_sync(~0u, value, o);
  if (threadIdx.x % 32 == 0) atomicAdd(to, value);
  grid.sync();
  return *to;
}
template <class T>
__global__ void Gradients(T* x, T* r, T* p, T* ap, T* sums, int nx, int ny,
                          T tolerance, int most) {
  const auto grid = cooperative_groups::this_grid();
  const int n = nx * ny, stride = gridDim.x * blockDim.x;
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  T rr = 0;
  for (int i = first; i < n; i += stride) p[i] = r[i], rr += r[i] * r[i];
  rr = GridSum(grid, rr, &sums[0]);
  for (int k = 1; k < most && rr > tolerance * tolerance; ++k) {
    T pap = 0;
    for (int i = first; i < n; i += stride) {
      const int c = i % nx, w = i / nx;
      T sum = 4 * p[i];
      if (c > 0) sum -= p[i - 1];
      if (c < nx - 1) sum -= p[i + 1];
      if (w > 0) sum -= p[i - nx];
      if (w < ny - 1) sum -= p[i + nx];
      ap[i] = sum;
      pap += p[i] * sum;
    }
    pap = GridSum(grid, pap, &sums[2 * k]);
    const T alpha = rr / pap;
    T next = 0;
    for (int i = first; i < n; i += stride) {
      x[i] += alpha * p[i];
      r[i] -= alpha * ap[i];
      next += r[i] * r[i];
    }
    next = GridSum(grid, next, &sums[2 * k + 1]);
    const T beta = next / rr;
    rr = next;
    for (int i = first; i < n; i += stride) p[i] = r[i] + beta * p[i];
    grid.sync();
  }
}

#define FOR(T)                                                              \
  template __global__ void Bisect<T>(const T*, const T*, T*, T, T, T, int); \
  template __global__ void Intervals<T>(const T*, const T*, T*, T*, int*,   \
                                        int*, int);                         \
  template __global__ void Jacobi<T, 3>(T*, T*, int);                       \
  template __global__ void Jacobi<T, 4>(T*, T*, int);                       \
  template __global__ void Householder<T, 64, 32>(T*);                      \
  template __global__ void Cholesky<T>(T*, int);                            \
  template __global__ void Gradients<T>(T*, T*, T*, T*, T*, int, int, T, int);
FOR(float)
FOR(double)
