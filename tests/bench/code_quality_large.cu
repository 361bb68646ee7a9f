// Kernels of the kinds that fill a GPU's registers or run long: tiles of
// matrices and attention in registers, transforms, factorizations, stencils
// that march, roles for warps, ciphers. As code_quality.cu otherwise.
#include "code_quality.h"

// ---- Tiles in registers -----------------------------------------------------

// A wave's share of a product: R x C sums a thread, both operands through LDS.
template <int R, int C>
__device__ __forceinline__ void Tile(float* out, const float* a, const float* b,
                                     int n) {
  constexpr int kDepth = 8;
  __shared__ float left[kDepth][16 * R], right[kDepth][16 * C];
  const int t = threadIdx.x, row = t / 16, column = t % 16;
  float sums[R][C] = {};
  for (int k = 0; k < 32; k += kDepth) {
    for (int i = t; i < kDepth * 16 * R; i += 256) {
      left[i % kDepth][i / kDepth] = a[(i * 32 + k + blockIdx.x) & (n - 1)];
    }
    for (int i = t; i < kDepth * 16 * C; i += 256) {
      right[i / (16 * C)][i % (16 * C)] = b[(k * 64 + i) & (n - 1)];
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      float x[R], y[C];
#pragma unroll
      for (int i = 0; i < R; ++i) x[i] = left[d][row * R + i];
#pragma unroll
      for (int j = 0; j < C; ++j) y[j] = right[d][column * C + j];
#pragma unroll
      for (int i = 0; i < R; ++i) {
#pragma unroll
        for (int j = 0; j < C; ++j) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < R; ++i) {
#pragma unroll
    for (int j = 0; j < C; ++j) sum += sums[i][j] * (i + j + 1);
  }
  out[Global()] = sum;
}

KERNEL(tile_4x4) { Tile<4, 4>(out, a, b, n); }
KERNEL(tile_8x8) { Tile<8, 8>(out, a, b, n); }
KERNEL(tile_12x12) { Tile<12, 12>(out, a, b, n); }

// A query a thread, with its sums in registers, over tiles of keys and values.
template <int kSize>
__device__ __forceinline__ void Attend(float* out, const float* a,
                                       const float* b, int n) {
  constexpr int kKeys = 16;
  __shared__ float keys[kKeys][kSize], values[kKeys][kSize];
  const int t = threadIdx.x;
  float query[kSize], sum[kSize];
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    query[i] = a[(Global() * 3 + i) & (n - 1)];
    sum[i] = 0;
  }
  float most = -1e30f, total = 0;
  for (int tile = 0; tile < 4; ++tile) {
    for (int i = t; i < kKeys * kSize; i += 256) {
      keys[i / kSize][i % kSize] = b[(tile * 97 + i) & (n - 1)];
      values[i / kSize][i % kSize] = a[(tile * 61 + i * 5) & (n - 1)];
    }
    __syncthreads();
    float scores[kKeys], now = most;
#pragma unroll
    for (int k = 0; k < kKeys; ++k) {
      float s = 0;
#pragma unroll
      for (int i = 0; i < kSize; ++i) s = fmaf(query[i], keys[k][i], s);
      scores[k] = s * 0.125f;
      now = fmaxf(now, scores[k]);
    }
    const float scale = __expf(most - now);
    most = now;
    total *= scale;
#pragma unroll
    for (int i = 0; i < kSize; ++i) sum[i] *= scale;
#pragma unroll
    for (int k = 0; k < kKeys; ++k) {
      const float weight = __expf(scores[k] - most);
      total += weight;
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        sum[i] = fmaf(weight, values[k][i], sum[i]);
    }
    __syncthreads();
  }
  float result = 0;
#pragma unroll
  for (int i = 0; i < kSize; ++i) result += sum[i] * (i + 1);
  out[Global()] = result / total;
}

KERNEL(attention_32) { Attend<32>(out, a, b, n); }
KERNEL(attention_64) { Attend<64>(out, a, b, n); }

KERNEL(convolution_registers) {
  // Five rows of eight slide down a column of 5 x 5 weights.
  float rows[5][12], weights[25];
#pragma unroll
  for (int i = 0; i < 25; ++i) weights[i] = b[i];
#pragma unroll
  for (int r = 0; r < 5; ++r) {
#pragma unroll
    for (int i = 0; i < 12; ++i)
      rows[r][i] = a[(Global() * 8 + r * 64 + i) & (n - 1)];
  }
  float total = 0;
#pragma unroll 1
  for (int step = 0; step < 8; ++step) {
#pragma unroll
    for (int x = 0; x < 8; ++x) {
      float sum = 0;
#pragma unroll
      for (int r = 0; r < 5; ++r) {
#pragma unroll
        for (int i = 0; i < 5; ++i)
          sum = fmaf(rows[r][x + i], weights[r * 5 + i], sum);
      }
      total = total * 0.5f + sum;
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
      for (int i = 0; i < 12; ++i) rows[r][i] = rows[r + 1][i];
    }
#pragma unroll
    for (int i = 0; i < 12; ++i) {
      rows[4][i] = a[(Global() * 8 + (step + 5) * 64 + i) & (n - 1)];
    }
  }
  out[Global()] = total;
}

KERNEL(half_tile) {
  // 8 x 16 sums in halves, two a register.
  const Half2* x = reinterpret_cast<const Half2*>(index);
  Half2 sums[8][8] = {};
  for (int k = 0; k < 8; ++k) {
    Half2 left[8], right[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      left[i] = x[(Global() + k * 8 + i) & (n - 1)];
      right[i] = x[(Global() * 3 + k * 8 + i) & (n - 1)];
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        sums[i][j] = FmaHalf2(left[i], right[j], sums[i][j]);
    }
  }
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      unsigned word;
      __builtin_memcpy(&word, &sums[i][j], 4);
      bits = bits * 31 + (word & 0x00400040u);
    }
  }
  out[Global()] = (float)(bits & 0xff);
}

KERNEL(tile_f64) {
  double sums[4][6] = {};
  for (int k = 0; k < 16; ++k) {
    double x[4], y[6];
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = a[(Global() * 4 + k * 4 + i) & (n - 1)];
#pragma unroll
    for (int j = 0; j < 6; ++j) y[j] = b[(Global() + k * 6 + j) & (n - 1)];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 6; ++j) sums[i][j] = fma(x[i], y[j], sums[i][j]);
    }
  }
  double sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 6; ++j) sum += sums[i][j] * (i + j + 1);
  }
  out[Global()] = (float)sum;
}

// ---- Transforms and factorizations ------------------------------------------

template <int kPoints>
__device__ __forceinline__ void Fourier(float (&re)[kPoints],
                                        float (&im)[kPoints]) {
  constexpr float kCosines[8] = {1.f, 0.92387953f,  0.70710678f,  0.38268343f,
                                 0.f, -0.38268343f, -0.70710678f, -0.92387953f};
#pragma unroll
  for (int half = kPoints / 2; half >= 1; half /= 2) {
#pragma unroll
    for (int i = 0; i < kPoints / 2; ++i) {
      const int low = i / half * 2 * half + i % half, high = low + half;
      const int turn = i % half * (8 / half);
      const float c = kCosines[turn],
                  s = -kCosines[(turn + 12) % 8] * (turn >= 4 ? -1.f : 1.f);
      const float x = re[low] - re[high], y = im[low] - im[high];
      re[low] += re[high];
      im[low] += im[high];
      re[high] = x * c - y * s;
      im[high] = x * s + y * c;
    }
  }
}

KERNEL(fourier_16) {
  float re[16], im[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    re[i] = a[(Global() + i * 256) & (n - 1)];
    im[i] = b[(Global() + i * 256) & (n - 1)];
  }
  Fourier(re, im);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += re[i] * (i + 1) - im[i];
  out[Global()] = sum;
}

KERNEL(cosine_8x8) {
  // Rows and columns of a block of 64 in registers.
  float v[8][8];
#pragma unroll
  for (int i = 0; i < 64; ++i)
    v[i / 8][i % 8] = a[(Global() * 64 + i) & (n - 1)];
#pragma unroll
  for (int pass = 0; pass < 2; ++pass) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float x[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] = pass ? v[j][i] : v[i][j];
      float s[4], d[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        s[j] = x[j] + x[7 - j];
        d[j] = x[j] - x[7 - j];
      }
      x[0] = s[0] + s[1] + s[2] + s[3];
      x[4] = s[0] - s[1] - s[2] + s[3];
      x[2] = (s[0] - s[3]) * 1.3065630f + (s[1] - s[2]) * 0.5411961f;
      x[6] = (s[0] - s[3]) * 0.5411961f - (s[1] - s[2]) * 1.3065630f;
      x[1] = d[0] * 1.3870398f + d[1] * 1.1758756f + d[2] * 0.7856950f +
             d[3] * 0.2758994f;
      x[3] = d[0] * 1.1758756f - d[1] * 0.2758994f - d[2] * 1.3870398f -
             d[3] * 0.7856950f;
      x[5] = d[0] * 0.7856950f - d[1] * 1.3870398f + d[2] * 0.2758994f +
             d[3] * 1.1758756f;
      x[7] = d[0] * 0.2758994f - d[1] * 0.7856950f + d[2] * 1.1758756f -
             d[3] * 1.3870398f;
#pragma unroll
      for (int j = 0; j < 8; ++j) (pass ? v[j][i] : v[i][j]) = x[j];
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) sum += fabsf(v[i / 8][i % 8]) * (1.f / (i + 1));
  out[Global()] = sum;
}

template <int kOrder>
__device__ __forceinline__ float Cholesky(const float* a, int first, int n) {
  float m[kOrder][kOrder];
#pragma unroll
  for (int i = 0; i < kOrder; ++i) {
#pragma unroll
    for (int j = 0; j <= i; ++j) {
      m[i][j] = a[(first + i * kOrder + j) & (n - 1)] + (i == j ? 16.f : 0.f);
    }
  }
#pragma unroll
  for (int k = 0; k < kOrder; ++k) {
    const float inverse = rsqrtf(m[k][k]);
    m[k][k] = inverse;
#pragma unroll
    for (int i = k + 1; i < kOrder; ++i) m[i][k] *= inverse;
#pragma unroll
    for (int j = k + 1; j < kOrder; ++j) {
#pragma unroll
      for (int i = j; i < kOrder; ++i) m[i][j] -= m[i][k] * m[j][k];
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kOrder; ++i) {
#pragma unroll
    for (int j = 0; j <= i; ++j) sum += m[i][j] * (i + 1);
  }
  return sum;
}

KERNEL(cholesky_8) { out[Global()] = Cholesky<8>(a, Global() * 7, n); }
KERNEL(cholesky_18) { out[Global()] = Cholesky<18>(a, Global() * 7, n); }

KERNEL(tridiagonal) {
  float upper[24], right[24];
  float c = 0, d = 0;
#pragma unroll
  for (int i = 0; i < 24; ++i) {
    const float low = a[(Global() + i) & (n - 1)];
    const float inverse = __fdividef(1.f, 4.f - low * c);
    c = upper[i] = b[(Global() + i) & (n - 1)] * inverse;
    d = right[i] = (low + 1.f - low * d) * inverse;
  }
  float x = 0, sum = 0;
#pragma unroll
  for (int i = 23; i >= 0; --i) {
    x = right[i] - upper[i] * x;
    sum += x * (i + 1);
  }
  out[Global()] = sum;
}

// ---- Stencils that march ----------------------------------------------------

KERNEL(stencil_march) {
  // 25 points in three dimensions, a queue of nine along the march.
  float queue[9];
  const int at = Global();
#pragma unroll
  for (int i = 0; i < 9; ++i) queue[i] = a[(at + i * 256) & (n - 1)];
  float sum = 0;
#pragma unroll 1
  for (int z = 0; z < 24; ++z) {
    float v = queue[4] * b[0];
#pragma unroll
    for (int r = 1; r <= 4; ++r) {
      const int here = at + (z + 4) * 256;
      v = fmaf(b[r],
               queue[4 - r] + queue[4 + r] + a[(here - r) & (n - 1)] +
                   a[(here + r) & (n - 1)] + a[(here - r * 16) & (n - 1)] +
                   a[(here + r * 16) & (n - 1)],
               v);
    }
    sum = sum * 0.75f + v;
#pragma unroll
    for (int i = 0; i < 8; ++i) queue[i] = queue[i + 1];
    queue[8] = a[(at + (z + 9) * 256) & (n - 1)];
  }
  out[at] = sum;
}

KERNEL(stencil_in_time) {
  // Eight steps of 24 points in registers.
  float v[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) v[i] = a[(Global() * 24 + i) & (n - 1)];
#pragma unroll
  for (int step = 1; step <= 8; ++step) {
    float before = v[step - 1];
#pragma unroll
    for (int i = step; i < 40 - step; ++i) {
      const float now = v[i];
      v[i] = 0.25f * (before + v[i + 1]) + 0.5f * now;
      before = now;
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 8; i < 32; ++i) sum += v[i] * (i - 7);
  out[Global()] = sum;
}

KERNEL(lattice_boltzmann) {
  // Nine densities of a cell, relaxed and streamed in place.
  float f[9];
  const int at = Global();
#pragma unroll
  for (int i = 0; i < 9; ++i) f[i] = a[(at + i * 256) & (n - 1)] + 0.1f;
#pragma unroll 1
  for (int step = 0; step < 8; ++step) {
    const float rho =
        f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    const float inverse = __fdividef(1.f, rho);
    const float u = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) * inverse;
    const float v = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) * inverse;
    const float square = 1.f - 1.5f * (u * u + v * v);
    const float dots[9] = {0, u, v, -u, -v, u + v, v - u, -u - v, u - v};
#pragma unroll
    for (int i = 0; i < 9; ++i) {
      const float weight = i == 0 ? 4.f / 9 : i < 5 ? 1.f / 9 : 1.f / 36;
      const float e = dots[i];
      f[i] += 0.6f * (weight * rho * (square + 3.f * e + 4.5f * e * e) - f[i]);
    }
#pragma unroll
    for (int i = 1; i < 9; ++i) f[i] = __shfl_xor_sync(~0u, f[i], 1 << (i % 5));
  }
  out[at] = f[0] + 2 * f[1] + 3 * f[5] - f[7];
}

// ---- Warps with roles -------------------------------------------------------

KERNEL(warp_roles) {
  // One warp fetches what the seven others work on next.
  __shared__ float buffer[2][224];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  if (warp == 0) {
    for (int i = lane; i < 224; i += 32)
      buffer[0][i] = a[(blockIdx.x * 224 + i) & (n - 1)];
  }
  __syncthreads();
  for (int tile = 0; tile < 8; ++tile) {
    if (warp == 0) {
      for (int i = lane; i < 224; i += 32) {
        buffer[(tile + 1) & 1][i] =
            a[((blockIdx.x + tile + 1) * 224 + i) & (n - 1)];
      }
    } else {
      const int mine = (warp - 1) * 32;
      for (int i = 0; i < 32; ++i) {
        sum = fmaf(buffer[tile & 1][mine + (lane ^ i)], 0.5f + i, sum);
      }
    }
    __syncthreads();
  }
  out[Global()] = sum;
}

// ---- Integers ---------------------------------------------------------------

__device__ __forceinline__ unsigned Rotate(unsigned v, int by) {
  return v << by | v >> (32 - by);
}

KERNEL(chacha) {
  unsigned x[16];
#pragma unroll
  for (int i = 0; i < 16; ++i)
    x[i] = (unsigned)index[(Global() + i) & (n - 1)] * 2654435761u;
#pragma unroll 1
  for (int round = 0; round < 10; ++round) {
#pragma unroll
    for (int q = 0; q < 8; ++q) {
      const int d = q / 4, i = q % 4;
      unsigned &s = x[i], &t = x[4 + (i + d) % 4], &u = x[8 + (i + 2 * d) % 4],
               &v = x[12 + (i + 3 * d) % 4];
      s += t, v = Rotate(v ^ s, 16);
      u += v, t = Rotate(t ^ u, 12);
      s += t, v = Rotate(v ^ s, 8);
      u += v, t = Rotate(t ^ u, 7);
    }
  }
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum ^= x[i];
  out[Global()] = (float)(sum >> 8);
}

KERNEL(sha_256) {
  constexpr unsigned kFirst[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                  0xa54ff53a, 0x510e527f, 0x9b05688c,
                                  0x1f83d9ab, 0x5be0cd19};
  unsigned w[16], h[8];
#pragma unroll
  for (int i = 0; i < 16; ++i) w[i] = (unsigned)index[(Global() + i) & (n - 1)];
#pragma unroll
  for (int i = 0; i < 8; ++i) h[i] = kFirst[i];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    if (i >= 16) {
      const unsigned early = w[(i + 1) % 16], late = w[(i + 14) % 16];
      w[i % 16] += (Rotate(early, 25) ^ Rotate(early, 14) ^ early >> 3) +
                   w[(i + 9) % 16] +
                   (Rotate(late, 15) ^ Rotate(late, 13) ^ late >> 10);
    }
    const unsigned x = h[7] +
                       (Rotate(h[4], 26) ^ Rotate(h[4], 21) ^ Rotate(h[4], 7)) +
                       ((h[4] & h[5]) ^ (~h[4] & h[6])) + w[i % 16] +
                       0x428a2f98u * (unsigned)(i + 1);
    const unsigned y =
        (Rotate(h[0], 30) ^ Rotate(h[0], 19) ^ Rotate(h[0], 10)) +
        ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
#pragma unroll
    for (int j = 7; j > 0; --j) h[j] = h[j - 1];
    h[4] += x;
    h[0] = x + y;
  }
  out[Global()] = (float)((h[0] ^ h[4] ^ h[7]) >> 8);
}

KERNEL(wide_product) {
  // 256 bits by 256 bits.
  unsigned x[8], y[8], z[16] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    x[i] = (unsigned)index[(Global() + i) & (n - 1)] * 2654435761u;
    y[i] = (unsigned)index[(Global() * 5 + i) & (n - 1)] * 2246822519u;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    uint64_t carry = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      carry += (uint64_t)x[i] * y[j] + z[i + j];
      z[i + j] = (unsigned)carry;
      carry >>= 32;
    }
    z[i + 8] = (unsigned)carry;
  }
  unsigned sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum ^= z[i];
  out[Global()] = (float)(sum >> 8);
}

// ---- Branches ---------------------------------------------------------------

KERNEL(rays) {
  // Of 24 spheres the nearest that a ray meets, three times reflected.
  float x = a[Global()], y = b[Global()], z = -4, dx = 0.1f, dy = 0.2f, dz = 1;
  float light = 0;
  for (int bounce = 0; bounce < 3; ++bounce) {
    float nearest = 1e30f;
    int hit = -1;
    for (int i = 0; i < 24; ++i) {
      const float px = x - 4 * a[i * 3], py = y - 4 * a[i * 3 + 1],
                  pz = z - 4 * a[i * 3 + 2];
      const float half = px * dx + py * dy + pz * dz;
      const float c = px * px + py * py + pz * pz - 0.5f;
      const float root = half * half - c * (dx * dx + dy * dy + dz * dz);
      if (root <= 0) continue;
      const float t = -half - root * rsqrtf(root);
      if (t > 1e-3f && t < nearest) nearest = t, hit = i;
    }
    if (hit < 0) break;
    light += 1.f / (1 + bounce);
    x += dx * nearest, y += dy * nearest, z += dz * nearest;
    const float nx = x - 4 * a[hit * 3], ny = y - 4 * a[hit * 3 + 1],
                nz = z - 4 * a[hit * 3 + 2];
    const float d = 2 * (nx * dx + ny * dy + nz * dz);
    dx -= d * nx, dy -= d * ny, dz -= d * nz;
  }
  out[Global()] = light;
}

KERNEL(states) {
  // A little machine of eight instructions.
  float r[4] = {a[Global()], b[Global()], 1, 0};
  int at = index[Global()];
  for (int step = 0; step < 48; ++step) {
    const int code = index[at & (n - 1)];
    switch (code & 7) {
      case 0: r[0] += r[1]; break;
      case 1: r[1] *= 0.5f; break;
      case 2: r[2] = r[0] - r[1]; break;
      case 3: r[3] = fmaxf(r[2], r[3]); break;
      case 4: r[0] = fminf(r[0], 100.f) * 0.75f; break;
      case 5:
        if (r[2] > r[1]) at += code >> 3 & 7;
        break;
      case 6: r[1] += r[3] * 0.125f; break;
      default: r[2] = fabsf(r[2]) + 0.25f; break;
    }
    ++at;
  }
  out[Global()] = r[0] + r[1] + r[2] + r[3];
}

static const Entry kEntries[] = {ENTRY(tile_4x4),
                                 ENTRY(tile_8x8),
                                 ENTRY(tile_12x12),
                                 ENTRY(attention_32),
                                 ENTRY(attention_64),
                                 ENTRY(convolution_registers),
                                 ENTRY(half_tile),
                                 ENTRY(tile_f64),
                                 ENTRY(fourier_16),
                                 ENTRY(cosine_8x8),
                                 ENTRY(cholesky_8),
                                 ENTRY(cholesky_18),
                                 ENTRY(tridiagonal),
                                 ENTRY(stencil_march),
                                 ENTRY(stencil_in_time),
                                 ENTRY(lattice_boltzmann),
                                 ENTRY(warp_roles),
                                 ENTRY(chacha),
                                 ENTRY(sha_256),
                                 ENTRY(wide_product),
                                 ENTRY(rays),
                                 ENTRY(states)};

int main() { return RunAll(kEntries); }
