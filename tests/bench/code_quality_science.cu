// Kernels as programs of physics, chemistry, finance and statistics have them,
// each checked against the host. As code_quality.cu otherwise.
#include "code_quality.h"

// ---- Grids ------------------------------------------------------------------

constexpr int kSide = 24;  // 16 and a halo of 4 on both sides

BOTH float Field(const float* a, int n, int block, int x, int y, int z) {
  return a[(block * 131 + z * 577 + y * kSide + x) & (n - 1)];
}

// Second derivatives of order 8, marching along z.
KERNEL(stencil_order_8) {
  constexpr float kTaps[5] = {-2.8472222f, 1.6f, -0.2f, 0.025396825f,
                              -0.0017857143f};
  __shared__ float plane[kSide][kSide];
  const int t = threadIdx.x, x = t % 16 + 4, y = t / 16 + 4;
  const int block = blockIdx.x;
  float column[9], sum = 0;
#pragma unroll
  for (int z = 0; z < 9; ++z) column[z] = Field(a, n, block, x, y, z);
  for (int z = 4; z < 12; ++z) {
    __syncthreads();
    for (int i = t; i < kSide * kSide; i += 256)
      plane[i / kSide][i % kSide] = Field(a, n, block, i % kSide, i / kSide, z);
    __syncthreads();
    float value = 3 * kTaps[0] * column[4];
#pragma unroll
    for (int r = 1; r <= 4; ++r) {
      value = fmaf(kTaps[r],
                   column[4 - r] + column[4 + r] + plane[y][x - r] +
                       plane[y][x + r] + plane[y - r][x] + plane[y + r][x],
                   value);
    }
    sum = sum * 0.5f + value;
#pragma unroll
    for (int i = 0; i < 8; ++i) column[i] = column[i + 1];
    column[8] = Field(a, n, block, x, y, z + 5);
  }
  out[Global()] = sum;
}

EXPECTED(stencil_order_8) {
  const float taps[5] = {-2.8472222f, 1.6f, -0.2f, 0.025396825f,
                         -0.0017857143f};
  for (int i = 0; i < n; ++i) {
    const int block = i / 256, x = i % 16 + 4, y = i % 256 / 16 + 4;
    float sum = 0;
    for (int z = 4; z < 12; ++z) {
      float value = 3 * taps[0] * Field(a, n, block, x, y, z);
      for (int r = -4; r <= 4; ++r) {
        if (r == 0) continue;
        value += taps[abs(r)] * (Field(a, n, block, x + r, y, z) +
                                 Field(a, n, block, x, y + r, z) +
                                 Field(a, n, block, x, y, z + r));
      }
      sum = sum * 0.5f + value;
    }
    out[i] = sum;
  }
}

// A fluid's cell with 19 velocities in three dimensions: streams and collides.
BOTH float Collide(int t, const float* a, const float* b, const int*, int n) {
  constexpr int kX[19] = {0,  1, -1, 0, 0,  0, 0, 1, -1, 1,
                          -1, 1, -1, 1, -1, 0, 0, 0, 0};
  constexpr int kY[19] = {0, 0, 0, 1, -1, 0, 0,  1, -1, -1,
                          1, 0, 0, 0, 0,  1, -1, 1, -1};
  constexpr int kZ[19] = {0, 0, 0,  0,  0, 1, -1, 0,  0, 0,
                          0, 1, -1, -1, 1, 1, -1, -1, 1};
  float f[19], rho = 0, x = 0, y = 0, z = 0;
#pragma unroll
  for (int q = 0; q < 19; ++q) {
    const float weight = q == 0 ? 1.f / 3 : q < 7 ? 1.f / 18 : 1.f / 36;
    f[q] = weight *
           (1 + 0.1f * a[(t - kX[q] - 16 * kY[q] - 256 * kZ[q]) & (n - 1)] *
                    b[(t + q * 97) & (n - 1)]);
    rho += f[q];
    x += f[q] * kX[q];
    y += f[q] * kY[q];
    z += f[q] * kZ[q];
  }
  const float inverse = 1 / rho;
  x *= inverse, y *= inverse, z *= inverse;
  const float square = 1 - 1.5f * (x * x + y * y + z * z);
  float sum = 0;
#pragma unroll
  for (int q = 0; q < 19; ++q) {
    const float weight = q == 0 ? 1.f / 3 : q < 7 ? 1.f / 18 : 1.f / 36;
    const float along = kX[q] * x + kY[q] * y + kZ[q] * z;
    const float rest = weight * rho * (square + along * (3 + 4.5f * along));
    f[q] += 1.7f * (rest - f[q]);
    sum += f[q] * (q + 1);
  }
  return sum;
}

KERNEL(lattice_19) { out[Global()] = Collide(Global(), a, b, index, n); }
EXPECTED_OF_EACH(lattice_19, Collide)

// Light along a ray through a volume, each sample of eight corners.
BOTH float Sample(const float* a, float x, float y, float z, int n) {
  const int i = (int)x, j = (int)y, k = (int)z;
  const float u = x - i, v = y - j, w = z - k;
  const int at = k * 256 + j * 16 + i;
  float corner[8];
#pragma unroll
  for (int c = 0; c < 8; ++c)
    corner[c] =
        a[(at + (c & 1) + (c >> 1 & 1) * 16 + (c >> 2) * 256) & (n - 1)];
#pragma unroll
  for (int c = 0; c < 4; ++c)
    corner[c] = fmaf(u, corner[2 * c + 1] - corner[2 * c], corner[2 * c]);
  corner[0] = fmaf(v, corner[1] - corner[0], corner[0]);
  corner[2] = fmaf(v, corner[3] - corner[2], corner[2]);
  return fmaf(w, corner[2] - corner[0], corner[0]);
}

BOTH float March(int t, const float* a, const float* b, const int*, int n) {
  float x = b[t] * 8, y = b[(t + 1) & (n - 1)] * 8, z = 0;
  const float dx = a[t] * 0.2f, dy = 0.1f, dz = 0.5f;
  float light = 0, open = 1;
  for (int step = 0; step < 28; ++step) {
    const float density = Sample(a, x, y, z, n);
    if (density > 0.3f) {
      const float slope = Sample(a, x + 0.25f, y, z, n) - density;
      const float opacity = 1 - FastExp(-density * 0.4f);
      const float shade =
          fmaxf(0.2f, slope * InverseRoot(slope * slope + 0.1f));
      light = fmaf(open * opacity, shade, light);
      open *= 1 - opacity;
      if (open < 0.01f) break;
    }
    x += dx, y += dy, z += dz;
  }
  return light;
}

KERNEL(ray_march) { out[Global()] = March(Global(), a, b, index, n); }
EXPECTED_OF_EACH(ray_march, March)

// ---- Linear algebra ---------------------------------------------------------

// Six equations, by rows that change places, all in registers.
BOTH float SolveWithPivots(int t, const float* a, const float* b, const int*,
                           int n) {
  float m[6][7];
#pragma unroll
  for (int i = 0; i < 6; ++i) {
#pragma unroll
    for (int j = 0; j < 6; ++j) {
      m[i][j] = a[(t * 5 + i * 6 + j) & (n - 1)] + (j == (i * 5 + 2) % 6) * 3;
    }
    m[i][6] = b[(t + i) & (n - 1)];
  }
#pragma unroll
  for (int k = 0; k < 6; ++k) {
#pragma unroll
    for (int i = k + 1; i < 6; ++i) {
      const bool larger = fabsf(m[i][k]) > fabsf(m[k][k]);
#pragma unroll
      for (int j = k; j < 7; ++j) {
        const float upper = m[k][j], lower = m[i][j];
        m[k][j] = larger ? lower : upper;
        m[i][j] = larger ? upper : lower;
      }
    }
    const float inverse = 1 / m[k][k];
#pragma unroll
    for (int i = k + 1; i < 6; ++i) {
      const float factor = m[i][k] * inverse;
#pragma unroll
      for (int j = k + 1; j < 7; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 5; i >= 0; --i) {
#pragma unroll
    for (int j = i + 1; j < 6; ++j) m[i][6] -= m[i][j] * m[j][6];
    m[i][6] = m[i][6] / m[i][i];
    sum += m[i][6] * (i + 1);
  }
  return sum;
}

KERNEL(lu_pivots) { out[Global()] = SolveWithPivots(Global(), a, b, index, n); }
EXPECTED_OF_EACH(lu_pivots, SolveWithPivots)

// The eigenvalues of a symmetric matrix of four rows, by rotations.
BOTH float Eigenvalues(int t, const float* a, const float*, const int*, int n) {
  float m[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = i; j < 4; ++j)
      m[i][j] = m[j][i] = a[(t * 3 + i * 4 + j) & (n - 1)] + (i == j) * i;
  }
#pragma unroll 1
  for (int sweep = 0; sweep < 4; ++sweep) {
#pragma unroll
    for (int p = 0; p < 3; ++p) {
#pragma unroll
      for (int q = p + 1; q < 4; ++q) {
        if (fabsf(m[p][q]) < 1e-7f) continue;
        const float theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
        const float tangent = (theta < 0 ? -1.f : 1.f) /
                              (fabsf(theta) + sqrtf(theta * theta + 1));
        const float c = 1 / sqrtf(tangent * tangent + 1), s = tangent * c;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float x = m[i][p], y = m[i][q];
          m[i][p] = c * x - s * y;
          m[i][q] = s * x + c * y;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float x = m[p][i], y = m[q][i];
          m[p][i] = c * x - s * y;
          m[q][i] = s * x + c * y;
        }
      }
    }
  }
  return m[0][0] + 2 * m[1][1] + 3 * m[2][2] + 4 * m[3][3];
}

KERNEL(jacobi_eigen) { out[Global()] = Eigenvalues(Global(), a, b, index, n); }
EXPECTED_OF_EACH(jacobi_eigen, Eigenvalues)

BOTH int RowLength(const int* index, int row, int n) {
  return 8 + (index[row & (n - 1)] & 63);
}

// Sparse rows, a warp each.
KERNEL(sparse_warps) {
  const int lane = threadIdx.x % 32, first = Global() - lane;
  float mine = 0;
  for (int row = 0; row < 32; ++row) {
    const int begin = (first + row) * 37;
    const int length = RowLength(index, first + row, n);
    float sum = 0;
    for (int i = lane; i < length; i += 32) {
      const int at = (begin + i) & (n - 1);
      sum = fmaf(a[at], b[index[at]], sum);
    }
#pragma unroll
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    if (lane == row) mine = sum;
  }
  out[Global()] = mine;
}

EXPECTED(sparse_warps) {
  for (int row = 0; row < n; ++row) {
    out[row] = 0;
    for (int i = 0; i < RowLength(index, row, n); ++i) {
      const int at = (row * 37 + i) & (n - 1);
      out[row] += a[at] * b[index[at]];
    }
  }
}

// ---- Transforms -------------------------------------------------------------

// 1,024 points a block, four a thread, by fours, through LDS.
KERNEL(fourier_1024) {
  __shared__ float re[1024], im[1024];
  const int t = threadIdx.x;
  float x[4], y[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    x[r] = a[(blockIdx.x * 256 + t + r * 256) & (n - 1)];
    y[r] = b[(blockIdx.x * 256 + t + r * 256) & (n - 1)];
  }
#pragma unroll
  for (int size = 1; size < 1024; size *= 4) {
    const int k = t & (size - 1);
    if (size > 1) {
      __syncthreads();
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const float angle = -1.57079633f * k * r / size;
        const float c = FastCosine(angle), s = FastSine(angle);
        const float u = re[t + r * 256], v = im[t + r * 256];
        x[r] = u * c - v * s;
        y[r] = u * s + v * c;
      }
      __syncthreads();
    }
    const float ax = x[0] + x[2], ay = y[0] + y[2];
    const float bx = x[0] - x[2], by = y[0] - y[2];
    const float cx = x[1] + x[3], cy = y[1] + y[3];
    const float dx = y[1] - y[3], dy = x[3] - x[1];
    const int to = (t & ~(size - 1)) * 4 + k;
    re[to] = ax + cx, im[to] = ay + cy;
    re[to + size] = bx + dx, im[to + size] = by + dy;
    re[to + 2 * size] = ax - cx, im[to + 2 * size] = ay - cy;
    re[to + 3 * size] = bx - dx, im[to + 3 * size] = by - dy;
  }
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int r = 0; r < 4; ++r)
    sum += re[t + r * 256] * (r + 1) - im[t + r * 256];
  out[Global()] = sum;
}

EXPECTED(fourier_1024) {
  std::vector<double> turn(2048);
  for (int i = 0; i < 1024; ++i) {
    turn[2 * i] = cos(-6.283185307179586 * i / 1024);
    turn[2 * i + 1] = sin(-6.283185307179586 * i / 1024);
  }
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int r = 0; r < 4; ++r) {
      const int k = i % 256 + r * 256;
      double x = 0, y = 0;
      for (int j = 0; j < 1024; ++j) {
        const int at = (i / 256 * 256 + j) & (n - 1), w = j * k % 1024 * 2;
        x += a[at] * turn[w] - b[at] * turn[w + 1];
        y += a[at] * turn[w + 1] + b[at] * turn[w];
      }
      sum += x * (r + 1) - y;
    }
    out[i] = (float)sum;
  }
}

// ---- Chemistry --------------------------------------------------------------

BOTH double Exponential(double x) {  // of [-700, 0]
  const int power = (int)(x * 1.4426950408889634 - 0.5);
  const double r = fma((double)-power, 0.6931471805599453, x);
  double sum = 1.0 / 39916800;
  double factor = 39916800;
#pragma unroll
  for (int i = 10; i >= 0; --i) {
    factor /= i + 1;
    sum = fma(sum, r, 1 / factor);
  }
  const uint64_t bits = (uint64_t)(power + 1023) << 52;
  double scale;
  __builtin_memcpy(&scale, &bits, 8);
  return sum * scale;
}

// Repulsion between two pairs of Gaussians, contracted, by recursion from
// Boys' function.
BOTH float Repulsion(int t, const float* a, const float* b, const int*, int n) {
  double total = 0;
  for (int i = 0; i < 3; ++i) {
    const double p = 0.5 + a[(t + i) & (n - 1)];
    const double px = a[(t + 3 + i) & (n - 1)], py = a[(t + 7 + i) & (n - 1)];
    for (int j = 0; j < 3; ++j) {
      const double q = 0.7 + b[(t + j) & (n - 1)];
      const double qx = 2 * b[(t + 5 + j) & (n - 1)],
                   qy = 3 * b[(t + 9 + j) & (n - 1)];
      const double x = px - qx, y = py - qy, rho = p * q / (p + q);
      const double u = rho * (x * x + y * y) * 4;
      double boys[5];
      if (u < 12) {
        double term = 1.0 / 9, sum = term;
        for (int k = 1; k < 60 && term > 1e-14 * sum; ++k) {
          term *= 2 * u / (9 + 2 * k);
          sum += term;
        }
        const double e = Exponential(-u);
        boys[4] = e * sum;
#pragma unroll
        for (int m = 3; m >= 0; --m)
          boys[m] = (2 * u * boys[m + 1] + e) / (2 * m + 1);
      } else {
        const double inverse = 1 / u;
        const double e = Exponential(-u);
        boys[0] = 0.886226925452758 * sqrt(inverse);
#pragma unroll
        for (int m = 0; m < 4; ++m)
          boys[m + 1] = ((2 * m + 1) * boys[m] - e) * 0.5 * inverse;
      }
      const double wx = -q / (p + q) * x, wy = -q / (p + q) * y;
      double one[2][4], two[2][3];
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        one[0][m] = px * boys[m] + wx * boys[m + 1];
        one[1][m] = py * boys[m] + wy * boys[m + 1];
      }
#pragma unroll
      for (int m = 0; m < 3; ++m) {
        two[0][m] = px * one[0][m] + wx * one[0][m + 1] +
                    (boys[m] - rho / p * boys[m + 1]) * 0.5 / p;
        two[1][m] = py * one[0][m] + wy * one[0][m + 1];
      }
      const double three = px * two[0][0] + wx * two[0][1] +
                           (one[0][0] - rho / p * one[0][1]) / p;
      const double four = qx * two[1][0] + wy * two[1][1] +
                          0.5 / (p + q) * (one[0][1] + one[1][2]);
      total += (three + four + two[0][2]) / (p * q * sqrt(p + q));
    }
  }
  return (float)total;
}

KERNEL(repulsion) { out[Global()] = Repulsion(Global(), a, b, index, n); }
EXPECTED_OF_EACH(repulsion, Repulsion)

// ---- Chance and groups ------------------------------------------------------

BOTH void Philox(unsigned (&counter)[4], unsigned key0, unsigned key1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = MultiplyHigh(0xd2511f53u, counter[0]),
                   low0 = 0xd2511f53u * counter[0],
                   high1 = MultiplyHigh(0xcd9e8d57u, counter[2]),
                   low1 = 0xcd9e8d57u * counter[2];
    counter[0] = high1 ^ counter[1] ^ key0;
    counter[1] = low1;
    counter[2] = high0 ^ counter[3] ^ key1;
    counter[3] = low0;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
}

// A price along 16 steps, four normal numbers at a time.
BOTH float Path(int t, const float* a, const float*, const int*, int) {
  float price = 1, mean = 0;
  const float volatility = 0.05f + 0.1f * a[t];
#pragma unroll 1
  for (int step = 0; step < 4; ++step) {
    unsigned word[4] = {(unsigned)t, (unsigned)step, 0, 0};
    Philox(word, 42, 7);
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const float u = ((word[i] >> 8) + 0.5f) * (1.f / (1 << 24));
      const float angle = (word[i + 1] >> 8) * (6.2831853f / (1 << 24));
      const float radius = sqrtf(-2 * FastLog(u));
      price *= FastExp(volatility * radius * FastCosine(angle) - 0.005f);
      mean += price;
      price *= FastExp(volatility * radius * FastSine(angle) - 0.005f);
      mean += price;
    }
  }
  return fmaxf(mean * (1.f / 16) - 0.9f, 0) + price;
}

KERNEL(philox_paths) { out[Global()] = Path(Global(), a, b, index, n); }
EXPECTED_OF_EACH(philox_paths, Path)

constexpr int kGroups = 16, kAxes = 4;

BOTH int Nearest(const float (&point)[kAxes],
                 const float (&centres)[kGroups][kAxes], float& distance) {
  int best = 0;
  distance = 1e30f;
  for (int g = 0; g < kGroups; ++g) {
    float d = 0;
#pragma unroll
    for (int i = 0; i < kAxes; ++i) {
      const float off = point[i] - centres[g][i];
      d = fmaf(off, off, d);
    }
    if (d < distance) distance = d, best = g;
  }
  return best;
}

BOTH float Coordinate(const float* a, int t, int i, int n) {
  return a[(t * kAxes + i) & (n - 1)];
}

// Three rounds over the points of a block.
KERNEL(k_means) {
  __shared__ float centres[kGroups][kAxes], sums[kGroups][kAxes];
  __shared__ int counts[kGroups];
  const int t = threadIdx.x, first = blockIdx.x * 256;
  float point[kAxes], distance = 0;
#pragma unroll
  for (int i = 0; i < kAxes; ++i) point[i] = Coordinate(a, first + t, i, n);
  if (t < kGroups * kAxes)
    centres[t / kAxes][t % kAxes] = b[(first + t) & (n - 1)];
  for (int round = 0; round < 3; ++round) {
    if (t < kGroups * kAxes) sums[t / kAxes][t % kAxes] = 0;
    if (t < kGroups) counts[t] = 0;
    __syncthreads();
    const int group = Nearest(point, centres, distance);
#pragma unroll
    for (int i = 0; i < kAxes; ++i) atomicAdd(&sums[group][i], point[i]);
    atomicAdd(&counts[group], 1);
    __syncthreads();
    if (t < kGroups * kAxes && counts[t / kAxes] > 0)
      centres[t / kAxes][t % kAxes] =
          sums[t / kAxes][t % kAxes] / counts[t / kAxes];
    __syncthreads();
  }
  out[Global()] = distance;
}

EXPECTED(k_means) {
  for (int first = 0; first < n; first += 256) {
    float centres[kGroups][kAxes];
    for (int i = 0; i < kGroups * kAxes; ++i)
      centres[i / kAxes][i % kAxes] = b[(first + i) & (n - 1)];
    for (int round = 0; round < 3; ++round) {
      float sums[kGroups][kAxes] = {};
      int counts[kGroups] = {};
      for (int t = first; t < first + 256; ++t) {
        float point[kAxes];
        for (int i = 0; i < kAxes; ++i) point[i] = Coordinate(a, t, i, n);
        const int group = Nearest(point, centres, out[t]);
        for (int i = 0; i < kAxes; ++i) sums[group][i] += point[i];
        ++counts[group];
      }
      for (int g = 0; g < kGroups; ++g) {
        for (int i = 0; i < kAxes && counts[g] > 0; ++i)
          centres[g][i] = sums[g][i] / counts[g];
      }
    }
  }
}

static const Entry kEntries[] = {
    CHECKED(stencil_order_8, 1e-4f), CHECKED(lattice_19, 1e-4f),
    CHECKED(ray_march, 2e-3f),       CHECKED(lu_pivots, 1e-3f),
    CHECKED(jacobi_eigen, 1e-3f),    CHECKED(sparse_warps, 1e-4f),
    CHECKED(fourier_1024, 1e-3f),    CHECKED(repulsion, 1e-5f),
    CHECKED(philox_paths, 1e-3f),    CHECKED(k_means, 1e-3f)};

int main() { return RunAll(kEntries); }
