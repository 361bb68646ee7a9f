// Fluids: advection, diffusion and projection on a grid with textures and
// surfaces and without; smoothed particles; a lattice of 19 directions.

__device__ float Linear(const float* field, float x, float y, int n) {
  x = fminf(fmaxf(x, 0.5f), n - 1.5f);
  y = fminf(fmaxf(y, 0.5f), n - 1.5f);
  const int i = (int)x, j = (int)y;
  const float s = x - i, t = y - j;
  return (1 - s) * ((1 - t) * field[j * n + i] + t * field[(j + 1) * n + i]) +
         s * ((1 - t) * field[j * n + i + 1] + t * field[(j + 1) * n + i + 1]);
}

__global__ void Advect(float* out, const float* field, const float* u,
                       const float* v, float step, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  const int i = y * n + x;
  out[i] = Linear(field, x - step * n * u[i], y - step * n * v[i], n);
}

__global__ void AdvectTexture(cudaTextureObject_t field, float2* velocities,
                              cudaSurfaceObject_t out, float step, int nx,
                              int ny) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const float2 v = velocities[y * nx + x];
  const float2 moved = tex2D<float2>(field, x + 0.5f - step * v.x * nx,
                                     y + 0.5f - step * v.y * ny);
  surf2Dwrite(moved, out, x * sizeof(float2), y);
  velocities[y * nx + x] = moved;
}

__global__ void Diffuse(float* out, const float* in, float a, float c, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int i = y * n + x;
  out[i] =
      (in[i] + a * (out[i - 1] + out[i + 1] + out[i - n] + out[i + n])) / c;
}

__global__ void Divergence(float* out, const float* u, const float* v, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int i = y * n + x;
  out[i] = -0.5f * (u[i + 1] - u[i - 1] + v[i + n] - v[i - n]) / n;
}

__global__ void Project(float* u, float* v, const float* p, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int i = y * n + x;
  u[i] -= 0.5f * n * (p[i + 1] - p[i - 1]);
  v[i] -= 0.5f * n * (p[i + n] - p[i - n]);
}

__global__ void Edges(float* field, int kind, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
  if (i >= n - 1) return;
  const float sx = kind == 1 ? -1 : 1, sy = kind == 2 ? -1 : 1;
  field[i * n] = sx * field[i * n + 1];
  field[i * n + n - 1] = sx * field[i * n + n - 2];
  field[i] = sy * field[n + i];
  field[(n - 1) * n + i] = sy * field[(n - 2) * n + i];
}

__global__ void Vorticity(float* u, float* v, const float* curl, float strength,
                          float step, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 2 || y < 2 || x >= n - 2 || y >= n - 2) return;
  const int i = y * n + x;
  float dx = fabsf(curl[i + 1]) - fabsf(curl[i - 1]);
  float dy = fabsf(curl[i + n]) - fabsf(curl[i - n]);
  const float length = sqrtf(dx * dx + dy * dy) + 1e-5f;
  dx /= length, dy /= length;
  u[i] += strength * step * curl[i] * dy;
  v[i] -= strength * step * curl[i] * dx;
}

__global__ void Density(const float4* at, float* density, float* pressure,
                        const int* neighbours, const int* counts, float h,
                        float mass, float rest, float stiffness, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float h2 = h * h, poly = 315 / (64 * 3.14159265f * powf(h, 9));
  float sum = mass * poly * h2 * h2 * h2;
  for (int k = 0; k < counts[i]; ++k) {
    const float4 o = at[neighbours[k * n + i]];
    const float dx = o.x - at[i].x, dy = o.y - at[i].y, dz = o.z - at[i].z;
    const float d = h2 - dx * dx - dy * dy - dz * dz;
    if (d > 0) sum += mass * poly * d * d * d;
  }
  density[i] = sum;
  pressure[i] = stiffness * (powf(sum / rest, 7) - 1);
}

__global__ void ParticleForces(const float4* at, const float4* v, float4* force,
                               const float* density, const float* pressure,
                               const int* neighbours, const int* counts,
                               float h, float mass, float viscosity, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float spiky = -45 / (3.14159265f * powf(h, 6));
  float fx = 0, fy = 0, fz = -9.81f * density[i];
  for (int k = 0; k < counts[i]; ++k) {
    const int j = neighbours[k * n + i];
    const float dx = at[i].x - at[j].x, dy = at[i].y - at[j].y,
                dz = at[i].z - at[j].z;
    const float d = sqrtf(dx * dx + dy * dy + dz * dz);
    if (d >= h || d < 1e-6f) continue;
    const float p = -mass * (pressure[i] + pressure[j]) / (2 * density[j]) *
                    spiky * (h - d) * (h - d) / d;
    const float m = -viscosity * mass / density[j] * spiky * (h - d);
    fx += p * dx + m * (v[j].x - v[i].x);
    fy += p * dy + m * (v[j].y - v[i].y);
    fz += p * dz + m * (v[j].z - v[i].z);
  }
  force[i] = make_float4(fx, fy, fz, 0);
}

__constant__ int directions[19][3];
__constant__ float weights[19];

template <class T>
__global__ void Lattice(const T* __restrict__ in, T* __restrict__ out,
                        const unsigned char* solid, T omega, int nx, int ny,
                        int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y, z = blockIdx.z;
  if (x >= nx) return;
  const int cells = nx * ny * nz, here = (z * ny + y) * nx + x;
  T f[19];
#pragma unroll
  for (int d = 0; d < 19; ++d) {
    const int fx = (x - directions[d][0] + nx) % nx;
    const int fy = (y - directions[d][1] + ny) % ny;
    const int fz = (z - directions[d][2] + nz) % nz;
    f[d] = in[d * cells + (fz * ny + fy) * nx + fx];
  }
  if (solid[here]) {
#pragma unroll
    for (int d = 1; d < 19; d += 2) {
      const T kept = f[d];
      f[d] = f[d + 1], f[d + 1] = kept;
    }
  } else {
    T rho = 0, ux = 0, uy = 0, uz = 0;
#pragma unroll
    for (int d = 0; d < 19; ++d) {
      rho += f[d];
      ux += f[d] * directions[d][0];
      uy += f[d] * directions[d][1];
      uz += f[d] * directions[d][2];
    }
    ux /= rho, uy /= rho, uz /= rho;
    const T square = T(1.5) * (ux * ux + uy * uy + uz * uz);
#pragma unroll
    for (int d = 0; d < 19; ++d) {
      const T cu = 3 * (directions[d][0] * ux + directions[d][1] * uy +
                        directions[d][2] * uz);
      const T equal = weights[d] * rho * (1 + cu + cu * cu / 2 - square);
      f[d] -= omega * (f[d] - equal);
    }
  }
#pragma unroll
  for (int d = 0; d < 19; ++d) out[d * cells + here] = f[d];
}
template __global__ void Lattice<float>(const float*, float*,
                                        const unsigned char*, float, int, int,
                                        int);
template __global__ void Lattice<double>(const double*, double*,
                                         const unsigned char*, double, int, int,
                                         int);
