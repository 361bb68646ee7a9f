// Finite differences: of several radii in three dimensions with queues in
// registers, heat, waves, Jacobi and red-black sweeps, a tile with halo.

template <int kRadius, int kX, int kY>
__global__ void Difference3d(float* out, const float* in,
                             const float* __restrict__ weights, int nx, int ny,
                             int nz) {
  __shared__ float tile[kY + 2 * kRadius][kX + 2 * kRadius];
  const int x = blockIdx.x * kX + threadIdx.x;
  const int y = blockIdx.y * kY + threadIdx.y;
  const int tx = threadIdx.x + kRadius, ty = threadIdx.y + kRadius;
  const int pitch = nx + 2 * kRadius, slice = pitch * (ny + 2 * kRadius);
  int at = (y + kRadius) * pitch + x + kRadius;
  float behind[kRadius], front[kRadius], current;
  const bool inside = x < nx && y < ny;
#pragma unroll
  for (int i = kRadius - 1; i >= 0; --i) {
    behind[i] = inside ? in[at] : 0;
    at += slice;
  }
  current = inside ? in[at] : 0;
  const int first = at;
  int store = at;
  at += slice;
#pragma unroll
  for (int i = 0; i < kRadius; ++i) {
    front[i] = inside ? in[at] : 0;
    at += slice;
  }
  int here = first;
  for (int z = 0; z < nz; ++z) {
    if (z > 0) {
#pragma unroll
      for (int i = kRadius - 1; i > 0; --i) behind[i] = behind[i - 1];
      behind[0] = current;
      current = front[0];
#pragma unroll
      for (int i = 0; i < kRadius - 1; ++i) front[i] = front[i + 1];
      front[kRadius - 1] = inside ? in[at] : 0;
      at += slice, here += slice, store += slice;
    }
    __syncthreads();
    if (threadIdx.y < kRadius) {
      tile[threadIdx.y][tx] = in[here - kRadius * pitch];
      tile[threadIdx.y + kY + kRadius][tx] = in[here + kY * pitch];
    }
    if (threadIdx.x < kRadius) {
      tile[ty][threadIdx.x] = in[here - kRadius];
      tile[ty][threadIdx.x + kX + kRadius] = in[here + kX];
    }
    tile[ty][tx] = current;
    __syncthreads();
    float value = weights[0] * current;
#pragma unroll
    for (int i = 1; i <= kRadius; ++i) {
      value +=
          weights[i] * (front[i - 1] + behind[i - 1] + tile[ty - i][tx] +
                        tile[ty + i][tx] + tile[ty][tx - i] + tile[ty][tx + i]);
    }
    if (inside) out[store] = value;
  }
}

template <class T>
__global__ void Heat2d(const T* in, T* out, T alpha, int nx, int ny) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x <= 0 || y <= 0 || x >= nx - 1 || y >= ny - 1) return;
  const int i = y * nx + x;
  out[i] = in[i] + alpha * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] -
                            4 * in[i]);
}

template <class T>
__global__ void Wave3d(const T* now, const T* before, T* next, T c, int nx,
                       int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= nx - 1 || y >= ny - 1) return;
  for (int z = 1; z < nz - 1; ++z) {
    const int i = (z * ny + y) * nx + x;
    const T sum = now[i - 1] + now[i + 1] + now[i - nx] + now[i + nx] +
                  now[i - nx * ny] + now[i + nx * ny];
    next[i] = 2 * now[i] - before[i] + c * (sum - 6 * now[i]);
  }
}

template <class T>
__global__ void RedBlack(T* grid, const T* right, T omega, int colour, int nx,
                         int ny, T* residual) {
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  const int x =
      2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((y + colour) & 1);
  T change = 0;
  if (x < nx - 1 && y < ny - 1) {
    const int i = y * nx + x;
    const T value =
        (grid[i - 1] + grid[i + 1] + grid[i - nx] + grid[i + nx] - right[i]) /
        4;
    change = omega * (value - grid[i]);
    grid[i] += change;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    change += __shfl_xor_sync(0xffffffffu, change * change, offset);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(residual, change);
}

// 27 neighbours, periodic.
__global__ void Neighbours27(const double* in, double* out, const double* w,
                             int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y, z = blockIdx.z;
  if (x >= n) return;
  double sum = 0;
#pragma unroll
  for (int dz = -1; dz <= 1; ++dz) {
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy) {
#pragma unroll
      for (int dx = -1; dx <= 1; ++dx) {
        const int xx = (x + dx + n) % n, yy = (y + dy + n) % n,
                  zz = (z + dz + n) % n;
        sum += w[abs(dx) + abs(dy) + abs(dz)] * in[(zz * n + yy) * n + xx];
      }
    }
  }
  out[(z * n + y) * n + x] = sum;
}

// Life, 32 cells a word.
__global__ void Life(const unsigned* in, unsigned* out, int words, int rows) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= words) return;
  unsigned ones = 0, twos = 0, fours = 0, me = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    const unsigned* row = in + (y + dy + rows) % rows * words;
    const unsigned middle = row[x];
    const unsigned left = middle << 1 | row[(x + words - 1) % words] >> 31;
    const unsigned right = middle >> 1 | row[(x + 1) % words] << 31;
    const unsigned parts[3] = {left, right, dy ? middle : 0};
    if (dy == 0) me = middle;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      const unsigned carry = ones & parts[i];
      ones ^= parts[i];
      fours |= twos & carry;
      twos ^= carry;
    }
  }
  out[y * words + x] = twos & ~fours & (ones | me);
}

template __global__ void Difference3d<1, 32, 16>(float*, const float*,
                                                 const float*, int, int, int);
template __global__ void Difference3d<2, 32, 16>(float*, const float*,
                                                 const float*, int, int, int);
template __global__ void Difference3d<4, 32, 16>(float*, const float*,
                                                 const float*, int, int, int);
template __global__ void Difference3d<8, 32, 8>(float*, const float*,
                                                const float*, int, int, int);
template __global__ void Heat2d<float>(const float*, float*, float, int, int);
template __global__ void Heat2d<double>(const double*, double*, double, int,
                                        int);
template __global__ void Wave3d<float>(const float*, const float*, float*,
                                       float, int, int, int);
template __global__ void Wave3d<double>(const double*, const double*, double*,
                                        double, int, int, int);
template __global__ void RedBlack<float>(float*, const float*, float, int, int,
                                         int, float*);
template __global__ void RedBlack<double>(double*, const double*, double, int,
                                          int, int, double*);
