// Random numbers and what is simulated with them: XORWOW, Philox, MRG32k3a,
// Mersenne twister, Sobol; pi, options, Asian options, Ising, photons.
#include <cstdint>

struct Xorwow {
  unsigned x[5], d;
  __device__ Xorwow(unsigned seed, unsigned number) {
    for (int i = 0; i < 5; ++i) {
      seed = seed * 1664525u + 1013904223u + number;
      x[i] = seed ^ seed >> 15;
    }
    d = seed;
  }
  __device__ unsigned Next() {
    const unsigned t = x[0] ^ x[0] >> 2;
    x[0] = x[1], x[1] = x[2], x[2] = x[3], x[3] = x[4];
    x[4] = x[4] ^ x[4] << 4 ^ t ^ t << 1;
    return x[4] + (d += 362437);
  }
};

struct Philox {
  uint4 counter;
  uint2 key;
  uint4 result;
  int left = 0;
  __device__ Philox(unsigned seed, unsigned number)
      : counter{0, 0, number, 0}, key{seed, ~seed} {}
  __device__ void Round(uint4& c, uint2 k) {
    const unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
    const unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
  }
  __device__ unsigned Next() {
    if (left == 0) {
      uint4 c = counter;
      uint2 k = key;
#pragma unroll
      for (int i = 0; i < 10; ++i) {
        Round(c, k);
        k.x += 0x9E3779B9u, k.y += 0xBB67AE85u;
      }
      result = c;
      if (++counter.x == 0) ++counter.y;
      left = 4;
    }
    --left;
    const unsigned v = result.x;
    result.x = result.y, result.y = result.z, result.z = result.w;
    return v;
  }
};

struct Mrg {
  double s1[3], s2[3];
  __device__ Mrg(unsigned seed, unsigned number) {
    for (int i = 0; i < 3; ++i) {
      seed = seed * 69069u + number + 1;
      s1[i] = seed % 4294967087u, s2[i] = (seed ^ 0x5555) % 4294944443u;
    }
  }
  __device__ unsigned Next() {
    double p1 = 1403580.0 * s1[1] - 810728.0 * s1[0];
    p1 -= floor(p1 / 4294967087.0) * 4294967087.0;
    s1[0] = s1[1], s1[1] = s1[2], s1[2] = p1;
    double p2 = 527612.0 * s2[2] - 1370589.0 * s2[0];
    p2 -= floor(p2 / 4294944443.0) * 4294944443.0;
    s2[0] = s2[1], s2[1] = s2[2], s2[2] = p2;
    return (unsigned)(p1 > p2 ? p1 - p2 : p1 - p2 + 4294967087.0);
  }
};

template <class G>
__device__ float Uniform(G& g) {
  return (g.Next() >> 8) * (1.0f / (1 << 24)) + 3e-8f;
}
template <class G>
__device__ float2 Normals(G& g) {
  const float r = sqrtf(-2 * logf(Uniform(g))), a = 6.2831853f * Uniform(g);
  float s, c;
  sincosf(a, &s, &c);
  return make_float2(r * s, r * c);
}

template <class G>
__global__ void Pi(unsigned* hits, unsigned seed, int count) {
  G g(seed, blockIdx.x * blockDim.x + threadIdx.x);
  unsigned mine = 0;
  for (int i = 0; i < count; ++i) {
    const float x = Uniform(g), y = Uniform(g);
    mine += x * x + y * y < 1;
  }
  mine = __reduce_add_sync(0xffffffffu, mine);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, mine);
}

template <class G>
__global__ void Options(float* values, const float3* options, float rate,
                        float volatility, unsigned seed, int paths) {
  __shared__ float sums[256], squares[256];
  const float3 o = options[blockIdx.x];
  G g(seed, blockIdx.x * blockDim.x + threadIdx.x);
  const float drift = (rate - volatility * volatility / 2) * o.z;
  const float spread = volatility * sqrtf(o.z);
  float sum = 0, square = 0;
  for (int i = threadIdx.x; i < paths; i += blockDim.x) {
    const float2 z = Normals(g);
    const float a = fmaxf(o.x * expf(drift + spread * z.x) - o.y, 0);
    const float b = fmaxf(o.x * expf(drift + spread * z.y) - o.y, 0);
    sum += a + b, square += a * a + b * b;
  }
  sums[threadIdx.x] = sum, squares[threadIdx.x] = square;
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    __syncthreads();
    if (threadIdx.x < s) {
      sums[threadIdx.x] += sums[threadIdx.x + s];
      squares[threadIdx.x] += squares[threadIdx.x + s];
    }
  }
  if (threadIdx.x == 0) {
    values[2 * blockIdx.x] = expf(-rate * o.z) * sums[0] / paths;
    values[2 * blockIdx.x + 1] = squares[0];
  }
}

template <class G, class T>
__global__ void Asian(T* values, T spot, T strike, T rate, T sigma, T step,
                      int steps, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  G g(seed, i);
  T price = spot, mean = 0;
  for (int s = 0; s < steps; s += 2) {
    const float2 z = Normals(g);
    price *= exp((rate - sigma * sigma / 2) * step + sigma * sqrt(step) * z.x);
    mean += price;
    price *= exp((rate - sigma * sigma / 2) * step + sigma * sqrt(step) * z.y);
    mean += price;
  }
  values[i] = fmax(mean / steps - strike, T(0));
}

template <class G>
__global__ void Ising(signed char* spins, float beta, int colour, int nx,
                      int ny, unsigned seed) {
  const int y = blockIdx.y;
  const int x =
      2 * (blockIdx.x * blockDim.x + threadIdx.x) + ((y + colour) & 1);
  if (x >= nx) return;
  G g(seed, y * nx + x);
  const int sum =
      spins[y * nx + (x + 1) % nx] + spins[y * nx + (x + nx - 1) % nx] +
      spins[(y + 1) % ny * nx + x] + spins[(y + ny - 1) % ny * nx + x];
  if (Uniform(g) < expf(-2 * beta * spins[y * nx + x] * sum)) {
    spins[y * nx + x] = -spins[y * nx + x];
  }
}

template <class G>
__global__ void Photons(float* absorbed, int3 size, float scatter, float absorb,
                        float anisotropy, unsigned seed, int count) {
  G g(seed, blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = 0; i < count; ++i) {
    float3 p = make_float3(size.x / 2, size.y / 2, 0);
    float3 d = make_float3(0, 0, 1);
    float weight = 1;
    while (weight > 0) {
      const float length = -logf(Uniform(g)) / (scatter + absorb);
      p.x += d.x * length, p.y += d.y * length, p.z += d.z * length;
      const int x = (int)p.x, y = (int)p.y, z = (int)p.z;
      if (x < 0 || y < 0 || z < 0 || x >= size.x || y >= size.y ||
          z >= size.z) {
        break;
      }
      const float loss = weight * absorb / (scatter + absorb);
      atomicAdd(&absorbed[(z * size.y + y) * size.x + x], loss);
      weight -= loss;
      float cosine = 2 * Uniform(g) - 1;
      if (anisotropy != 0) {
        const float f = (1 - anisotropy * anisotropy) /
                        (1 - anisotropy + 2 * anisotropy * Uniform(g));
        cosine = (1 + anisotropy * anisotropy - f * f) / (2 * anisotropy);
      }
      const float sine = sqrtf(fmaxf(1 - cosine * cosine, 0));
      float s, c;
      __sincosf(6.2831853f * Uniform(g), &s, &c);
      if (fabsf(d.z) > 0.99999f) {
        d = make_float3(sine * c, sine * s, copysignf(cosine, d.z));
      } else {
        const float t = sqrtf(1 - d.z * d.z);
        d = make_float3(sine * (d.x * d.z * c - d.y * s) / t + d.x * cosine,
                        sine * (d.y * d.z * c + d.x * s) / t + d.y * cosine,
                        -sine * c * t + d.z * cosine);
      }
      if (weight < 1e-4f) weight = Uniform(g) < 0.1f ? weight * 10 : 0;
    }
  }
}

__global__ void Twister(float* out, const uint4* parameters, int count) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const uint4 p = parameters[t];
  unsigned state[19];
  state[0] = p.w;
  for (int i = 1; i < 19; ++i) {
    state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;
  }
  int i = 0;
  for (int n = 0; n < count; ++n) {
    const int next = i + 1 == 19 ? 0 : i + 1, middle = (i + 9) % 19;
    unsigned x = (state[i] & 0xfffffffeu) | (state[next] & 1);
    x = state[middle] ^ x >> 1 ^ (x & 1 ? p.x : 0);
    state[i] = x;
    i = next;
    x ^= x >> 12;
    x ^= x << 7 & p.y;
    x ^= x << 15 & p.z;
    x ^= x >> 18;
    out[n * gridDim.x * blockDim.x + t] = (x + 1.0f) / 4294967296.0f;
  }
}

__device__ float InverseNormal(float p) {
  const float q = p - 0.5f;
  if (fabsf(q) <= 0.42f) {
    const float z = q * q;
    return q *
           (((-25.44106f * z + 41.39120f) * z - 18.61500f) * z + 2.506628f) /
           ((((3.130829f * z - 21.06224f) * z + 23.08337f) * z - 8.473511f) *
                z +
            1);
  }
  float z = q > 0 ? 1 - p : p;
  z = logf(-logf(z));
  z = 0.3374755f +
      z * (0.9761690f +
           z * (0.1607979f +
                z * (0.02764388f +
                     z * (0.003840573f +
                          z * (0.0003951897f +
                               z * (3.21768e-05f + z * (2.888167e-07f +
                                                        z * 3.96032e-07f)))))));
  return q > 0 ? z : -z;
}

__global__ void Sobol(const unsigned* directions, float* out, int n, int count,
                      bool normal) {
  __shared__ unsigned v[32];
  directions += 32 * blockIdx.y;
  out += count * blockIdx.y;
  if (threadIdx.x < 32) v[threadIdx.x] = directions[threadIdx.x];
  __syncthreads();
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  const int stride = gridDim.x * blockDim.x, bit = __ffs(stride) - 1;
  unsigned gray = first ^ first >> 1, x = 0;
  for (int k = 0; k < bit - 1; ++k, gray >>= 1) x ^= (gray & 1) ? v[k] : 0;
  const unsigned two = v[bit - 2 < 0 ? 0 : bit - 2];
  for (int i = first; i < count; i += stride) {
    const float u = x * (1.0f / 4294967296.0f);
    out[i] = normal ? InverseNormal(u + 1e-10f) : u;
    x ^= two ^ v[__ffs(~((i + stride) - 1) | (stride - 1)) - 1 & 31];
  }
}

#define FOR(G)                                                                 \
  template __global__ void Pi<G>(unsigned*, unsigned, int);                    \
  template __global__ void Options<G>(float*, const float3*, float, float,     \
                                      unsigned, int);                          \
  template __global__ void Asian<G, float>(float*, float, float, float, float, \
                                           float, int, unsigned);              \
  template __global__ void Asian<G, double>(double*, double, double, double,   \
                                            double, double, int, unsigned);    \
  template __global__ void Ising<G>(signed char*, float, int, int, int,        \
                                    unsigned);                                 \
  template __global__ void Photons<G>(float*, int3, float, float, float,       \
                                      unsigned, int);
FOR(Xorwow)
FOR(Philox)
FOR(Mrg)
