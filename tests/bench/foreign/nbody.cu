// Bodies that attract each other: all pairs by tiles, in float and double, with
// integration; Lennard-Jones with lists of neighbours and cells.

template <class T>
struct Four;
template <>
struct Four<float> {
  using Type = float4;
};
template <>
struct Four<double> {
  using Type = double4;
};

template <class T>
__device__ T InverseRoot(T x);
template <>
__device__ float InverseRoot(float x) {
  return rsqrtf(x);
}
template <>
__device__ double InverseRoot(double x) {
  return rsqrt(x);
}

template <class T, bool kMany, int kBlock>
__global__ void Integrate(typename Four<T>::Type* next,
                          const typename Four<T>::Type* now,
                          typename Four<T>::Type* velocities, int n,
                          T softening, T step, T damping) {
  using V = typename Four<T>::Type;
  __shared__ V tile[kBlock];
  __shared__ T sums[kMany ? 3 * kBlock : 1];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const V me = now[min(i, n - 1)];
  T ax = 0, ay = 0, az = 0;
  for (int base = 0; base < n; base += kBlock) {
    tile[threadIdx.x + threadIdx.y * blockDim.x] =
        now[(base + threadIdx.x + threadIdx.y * blockDim.x) % n];
    __syncthreads();
    const int first = kMany ? threadIdx.y * blockDim.x : 0;
#pragma unroll 16
    for (int j = 0; j < (kMany ? kBlock / 4 : kBlock); ++j) {
      const V other = tile[first + j];
      const T dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const T square = dx * dx + dy * dy + dz * dz + softening;
      const T inverse = InverseRoot(square);
      const T s = other.w * inverse * inverse * inverse;
      ax += dx * s, ay += dy * s, az += dz * s;
    }
    __syncthreads();
  }
  if (kMany) {
    const int t = threadIdx.x + threadIdx.y * blockDim.x;
    sums[3 * t] = ax, sums[3 * t + 1] = ay, sums[3 * t + 2] = az;
    __syncthreads();
    if (threadIdx.y > 0) return;
    for (int row = 1; row < blockDim.y; ++row) {
      ax += sums[3 * (t + row * blockDim.x)];
      ay += sums[3 * (t + row * blockDim.x) + 1];
      az += sums[3 * (t + row * blockDim.x) + 2];
    }
  }
  if (i >= n) return;
  V v = velocities[i], p = me;
  v.x = (v.x + ax * step) * damping;
  v.y = (v.y + ay * step) * damping;
  v.z = (v.z + az * step) * damping;
  p.x += v.x * step, p.y += v.y * step, p.z += v.z * step;
  next[i] = p;
  velocities[i] = v;
}

template <class T>
__global__ void LennardJones(const typename Four<T>::Type* bodies,
                             const int* __restrict__ neighbours,
                             const int* __restrict__ counts,
                             typename Four<T>::Type* forces, T* energy, T box,
                             T cut, T epsilon, T sigma6, int n, int stride) {
  using V = typename Four<T>::Type;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const V me = bodies[i];
  V f = {0, 0, 0, 0};
  for (int k = 0; k < counts[i]; ++k) {
    const V other = bodies[neighbours[k * stride + i]];
    T dx = me.x - other.x, dy = me.y - other.y, dz = me.z - other.z;
    dx -= box * rint(dx / box);
    dy -= box * rint(dy / box);
    dz -= box * rint(dz / box);
    const T square = dx * dx + dy * dy + dz * dz;
    if (square < cut * cut) {
      const T r2 = 1 / square, r6 = r2 * r2 * r2 * sigma6;
      const T force = 24 * epsilon * r2 * r6 * (2 * r6 - 1);
      f.x += dx * force, f.y += dy * force, f.z += dz * force;
      f.w += 4 * epsilon * r6 * (r6 - 1);
    }
  }
  forces[i] = f;
  atomicAdd(energy, f.w / 2);
}

__device__ int3 CellOf(float3 p, float size, int3 grid) {
  return make_int3(min(max((int)floorf(p.x / size), 0), grid.x - 1),
                   min(max((int)floorf(p.y / size), 0), grid.y - 1),
                   min(max((int)floorf(p.z / size), 0), grid.z - 1));
}

__global__ void HashBodies(unsigned* cells, unsigned* order, const float4* at,
                           float size, int3 grid, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int3 c = CellOf(make_float3(at[i].x, at[i].y, at[i].z), size, grid);
  cells[i] = (c.z * grid.y + c.y) * grid.x + c.x;
  order[i] = i;
}

__global__ void FindStarts(const unsigned* cells, unsigned* starts,
                           unsigned* ends, int n) {
  extern __shared__ unsigned shared[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned cell = 0;
  if (i < n) {
    cell = cells[i];
    shared[threadIdx.x + 1] = cell;
    if (i > 0 && threadIdx.x == 0) shared[0] = cells[i - 1];
  }
  __syncthreads();
  if (i >= n) return;
  if (i == 0 || cell != shared[threadIdx.x]) {
    starts[cell] = i;
    if (i > 0) ends[shared[threadIdx.x]] = i;
  }
  if (i == n - 1) ends[cell] = i + 1;
}

__global__ void Collide(const float4* at, const float4* v, float4* next,
                        const unsigned* starts, const unsigned* ends,
                        float size, int3 grid, float radius, float spring,
                        float damping, float shear, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float3 p = make_float3(at[i].x, at[i].y, at[i].z);
  const float3 w = make_float3(v[i].x, v[i].y, v[i].z);
  const int3 cell = CellOf(p, size, grid);
  float3 force = make_float3(0, 0, 0);
  for (int z = max(cell.z - 1, 0); z <= min(cell.z + 1, grid.z - 1); ++z) {
    for (int y = max(cell.y - 1, 0); y <= min(cell.y + 1, grid.y - 1); ++y) {
      for (int x = max(cell.x - 1, 0); x <= min(cell.x + 1, grid.x - 1); ++x) {
        const unsigned c = (z * grid.y + y) * grid.x + x;
        if (starts[c] == 0xffffffffu) continue;
        for (unsigned j = starts[c]; j < ends[c]; ++j) {
          if (j == i) continue;
          const float dx = at[j].x - p.x, dy = at[j].y - p.y,
                      dz = at[j].z - p.z;
          const float d = sqrtf(dx * dx + dy * dy + dz * dz);
          if (d >= 2 * radius) continue;
          const float nx = dx / d, ny = dy / d, nz = dz / d;
          const float rx = v[j].x - w.x, ry = v[j].y - w.y, rz = v[j].z - w.z;
          const float along = rx * nx + ry * ny + rz * nz;
          const float push = -spring * (2 * radius - d);
          force.x += push * nx + damping * rx + shear * (rx - along * nx);
          force.y += push * ny + damping * ry + shear * (ry - along * ny);
          force.z += push * nz + damping * rz + shear * (rz - along * nz);
        }
      }
    }
  }
  next[i] = make_float4(w.x + force.x, w.y + force.y, w.z + force.z, v[i].w);
}

#define FOR(T)                                                                \
  template __global__ void Integrate<T, false, 256>(                          \
      Four<T>::Type*, const Four<T>::Type*, Four<T>::Type*, int, T, T, T);    \
  template __global__ void Integrate<T, true, 256>(                           \
      Four<T>::Type*, const Four<T>::Type*, Four<T>::Type*, int, T, T, T);    \
  template __global__ void LennardJones<T>(const Four<T>::Type*, const int*,  \
                                           const int*, Four<T>::Type*, T*, T, \
                                           T, T, T, int, int);
FOR(float)
FOR(double)
