// Small kernels of the kinds that CUDA programs are made of; code_quality.py
// compares what ptxc makes of them with what clang makes of the same source.
#include "code_quality.h"

// ---- Streams ----------------------------------------------------------------

KERNEL(vector_add) {
  int i = Global();
  if (i < n) out[i] = a[i] + b[i];
}

KERNEL(saxpy_stride) {
  for (int i = Global(); i < n; i += blockDim.x * gridDim.x) {
    out[i] = 2.5f * a[i] + b[i];
  }
}

KERNEL(copy_float4) {
  int i = Global();
  if (i * 4 < n) {
    float4 v = reinterpret_cast<const float4*>(a)[i];
    v.x *= 2.f;
    v.w += 1.f;
    reinterpret_cast<float4*>(out)[i] = v;
  }
}

KERNEL(four_streams) {
  int i = Global();
  if (i >= n / 4) return;
  int q = n / 4;
  float x = a[i], y = a[i + q], z = a[i + 2 * q], w = a[i + 3 * q];
  out[i] = x + y;
  out[i + q] = y * z;
  out[i + 2 * q] = z - w;
  out[i + 3 * q] = w * x;
}

KERNEL(gather) {
  int i = Global();
  if (i < n) out[i] = a[index[i]] + b[index[n - 1 - i]];
}

KERNEL(scatter) {
  int i = Global();
  if (i < n) out[(i * 17 + 5) & (n - 1)] = a[i];
}

KERNEL(bytes_to_gray) {
  int i = Global();
  if (i >= n) return;
  uchar4 p = reinterpret_cast<const uchar4*>(index)[i];
  out[i] = 0.299f * p.x + 0.587f * p.y + 0.114f * p.z;
}

// ---- Neighbours -------------------------------------------------------------

KERNEL(stencil3) {
  int i = Global();
  if (i > 0 && i < n - 1) out[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
}

KERNEL(stencil5) {
  int x = (blockIdx.x & 3) * 16 + (threadIdx.x & 15);
  int y = (blockIdx.x >> 2) * 16 + (threadIdx.x >> 4);
  const int w = 64, h = n / 64;
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1) {
    out[y * w + x] = a[y * w + x] + 0.1f * (a[y * w + x - 1] + a[y * w + x + 1] +
                     a[(y - 1) * w + x] + a[(y + 1) * w + x] - 4.f * a[y * w + x]);
  }
}

__constant__ float weights[16] = {.01f, .02f, .03f, .05f, .08f, .1f, .12f, .14f,
                                  .12f, .1f, .08f, .06f, .04f, .03f, .01f, .01f};
KERNEL(convolution) {
  int i = Global();
  if (i >= n - 16) return;
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += weights[k] * a[i + k];
  out[i] = sum;
}

KERNEL(stencil_shared) {
  __shared__ float tile[256 + 8];
  int i = Global(), t = threadIdx.x;
  tile[t + 4] = i < n ? a[i] : 0.f;
  if (t < 4) tile[t] = i >= 4 ? a[i - 4] : 0.f;
  if (t >= 252) tile[t + 8] = i + 4 < n ? a[i + 4] : 0.f;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 9; ++k) sum += tile[t + k];
  if (i < n) out[i] = sum;
}

// ---- Matrices ---------------------------------------------------------------

KERNEL(transpose) {
  __shared__ float tile[16][17];
  int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
  int bx = blockIdx.x & 3, by = (blockIdx.x >> 2) & 3;
  tile[ty][tx] = a[(by * 16 + ty) * 64 + bx * 16 + tx];
  __syncthreads();
  out[(bx * 16 + ty) * 64 + by * 16 + tx] = tile[tx][ty];
}

KERNEL(matmul) {
  int x = (blockIdx.x & 3) * 16 + (threadIdx.x & 15);
  int y = (blockIdx.x >> 2) * 16 + (threadIdx.x >> 4);
  if (y >= 64) return;
  float sum = 0;
  for (int k = 0; k < 64; ++k) sum += a[y * 64 + k] * b[k * 64 + x];
  out[y * 64 + x] = sum;
}

KERNEL(matmul_runtime_size) {
  int w = n / 64;
  int x = (blockIdx.x & 3) * 16 + (threadIdx.x & 15);
  int y = (blockIdx.x >> 2) * 16 + (threadIdx.x >> 4);
  if (y >= w || x >= w) return;
  float sum = 0;
  for (int k = 0; k < w; ++k) sum += a[y * w + k] * b[k * w + x];
  out[y * w + x] = sum;
}

KERNEL(matmul_tiled) {
  __shared__ float ta[16][16], tb[16][16];
  int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
  int x = (blockIdx.x & 3) * 16 + tx, y = ((blockIdx.x >> 2) & 3) * 16 + ty;
  float sum = 0;
  for (int t = 0; t < 4; ++t) {
    ta[ty][tx] = a[y * 64 + t * 16 + tx];
    tb[ty][tx] = b[(t * 16 + ty) * 64 + x];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += ta[ty][k] * tb[k][tx];
    __syncthreads();
  }
  out[y * 64 + x] = sum;
}

KERNEL(matrix_vector) {
  int row = Global();
  if (row >= 64) return;
  float sum = 0;
  for (int k = 0; k < 64; k += 4) {
    float4 v = reinterpret_cast<const float4*>(a)[(row * 64 + k) / 4];
    sum += v.x * b[k] + v.y * b[k + 1] + v.z * b[k + 2] + v.w * b[k + 3];
  }
  out[row] = sum;
}

KERNEL(sparse_rows) {
  int row = Global();
  if (row >= n / 8) return;
  float sum = 0;
  for (int k = row * 8; k < row * 8 + (row & 7); ++k) sum += a[k] * b[index[k]];
  out[row] = sum;
}

// ---- Reductions and scans ---------------------------------------------------

KERNEL(reduce_shared) {
  __shared__ float sums[256];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = Global(); i < n; i += blockDim.x * gridDim.x) sum += a[i];
  sums[t] = sum;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) sums[t] += sums[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}

KERNEL(reduce_shuffle) {
  int i = Global();
  float sum = i < n ? a[i] : 0.f;
  for (int m = 16; m > 0; m >>= 1) sum += __shfl_xor_sync(~0u, sum, m);
  if ((threadIdx.x & 31) == 0 && i < n) out[i / 32] = sum;
}

KERNEL(reduce_down) {
  int i = Global();
  float best = i < n ? a[i] : 0.f;
  for (int d = 16; d > 0; d >>= 1) best = fmaxf(best, __shfl_down_sync(~0u, best, d));
  if ((threadIdx.x & 31) == 0 && i < n) out[i / 32] = best;
}

KERNEL(scan_shuffle) {
  int i = Global(), lane = threadIdx.x & 31;
  float sum = i < n ? a[i] : 0.f;
  for (int d = 1; d < 32; d <<= 1) {
    float other = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += other;
  }
  if (i < n) out[i] = sum;
}

KERNEL(scan_shared) {
  __shared__ float sums[2][256];
  int t = threadIdx.x, i = Global(), from = 0;
  sums[0][t] = i < n ? a[i] : 0.f;
  __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    sums[1 - from][t] = sums[from][t] + (t >= d ? sums[from][t - d] : 0.f);
    from = 1 - from;
    __syncthreads();
  }
  if (i < n) out[i] = sums[from][t];
}

KERNEL(broadcast_lane) {
  int i = Global();
  float v = i < n ? a[i] : 0.f;
  float first = __shfl_sync(~0u, v, 0), last = __shfl_sync(~0u, v, 31);
  float mine = __shfl_sync(~0u, v, (threadIdx.x * 7) & 31);
  if (i < n) out[i] = first + last * mine;
}

KERNEL(compact_ballot) {
  int i = Global(), lane = threadIdx.x & 31;
  bool keep = i < n && a[i] > 0.5f;
  unsigned kept = __ballot_sync(~0u, keep);
  int place = __popc(kept & ((1u << lane) - 1));
  if (keep) out[(i & ~31) + place] = a[i];
}

KERNEL(softmax_row) {
  int row = Global() / 32, lane = threadIdx.x & 31;
  if (row >= n / 64) return;
  float x = a[row * 64 + lane], y = a[row * 64 + lane + 32];
  float most = fmaxf(x, y);
  for (int m = 16; m > 0; m >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, m));
  x = __expf(x - most);
  y = __expf(y - most);
  float sum = x + y;
  for (int m = 16; m > 0; m >>= 1) sum += __shfl_xor_sync(~0u, sum, m);
  out[row * 64 + lane] = __fdividef(x, sum);
  out[row * 64 + lane + 32] = __fdividef(y, sum);
}

KERNEL(histogram_shared) {
  __shared__ int bins[256];
  int t = threadIdx.x;
  bins[t] = 0;
  __syncthreads();
  for (int i = Global(); i < n; i += blockDim.x * gridDim.x) {
    atomicAdd(&bins[index[i] & 255], 1);
  }
  __syncthreads();
  atomicAdd(&out[t], (float)bins[t]);
}

KERNEL(sum_atomic) {
  int i = Global();
  if (i < n) atomicAdd(reinterpret_cast<int*>(out) + (i & 7), index[i]);
}

KERNEL(maximum_atomic) {
  int i = Global();
  if (i < n) atomicMax(reinterpret_cast<int*>(out), index[i]);
}

// ---- Floating point ---------------------------------------------------------

KERNEL(polynomial) {
  int i = Global();
  if (i >= n) return;
  float x = a[i], y = 1.f;
  for (int k = 0; k < 24; ++k) y = fmaf(y, x, 0.5f);
  out[i] = y;
}

KERNEL(polynomial_f64) {
  int i = Global();
  if (i >= n) return;
  double x = a[i], y = 1.0;
  for (int k = 0; k < 12; ++k) y = fma(y, x, 0.5);
  out[i] = (float)y;
}

KERNEL(polynomial_half2) {
  int i = Global();
  if (i >= n) return;
  Half2 x = reinterpret_cast<const Half2*>(index)[i & 15], y = x, z = x;
  for (int k = 0; k < 12; ++k) {
    y = FmaHalf2(y, x, z);
    z = FmaHalf2(z, y, x);
  }
  reinterpret_cast<Half2*>(out)[i] = z;
}

KERNEL(bodies) {
  int i = Global();
  if (i >= n / 4) return;
  const float4* bodies = reinterpret_cast<const float4*>(a);
  float4 me = bodies[i];
  float fx = 0, fy = 0, fz = 0;
  for (int j = 0; j < 32; ++j) {
    float4 you = bodies[j];
    float dx = you.x - me.x, dy = you.y - me.y, dz = you.z - me.z;
    float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    float s = you.w * r * r * r;
    fx += dx * s;
    fy += dy * s;
    fz += dz * s;
  }
  out[i * 3] = fx;
  out[i * 3 + 1] = fy;
  out[i * 3 + 2] = fz;
}

KERNEL(option_price) {
  int i = Global();
  if (i >= n) return;
  float s = a[i] * 50.f + 10.f, k = b[i] * 50.f + 10.f;
  float d = (__logf(s) - __logf(k) + 0.05f) * rsqrtf(0.09f);
  float u = 1.f + 0.2316419f * fabsf(d);
  float t = __fdividef(1.f, u);
  float p = t * (0.31938153f + t * (-0.356563782f + t * 1.781477937f));
  out[i] = s * p - k * __expf(-0.05f) * (1.f - p);
}

KERNEL(mandelbrot) {
  int i = Global();
  if (i >= n) return;
  float cx = a[i] * 3.f - 2.f, cy = b[i] * 2.f - 1.f, x = 0, y = 0;
  int count = 0;
  while (count < 64 && x * x + y * y < 4.f) {
    float next = x * x - y * y + cx;
    y = 2.f * x * y + cy;
    x = next;
    ++count;
  }
  out[i] = count;
}

KERNEL(divisions) {
  int i = Global();
  if (i >= n) return;
  out[i] = (a[i] + 1.f) / (b[i] + 2.f);
}

// ---- Integers ---------------------------------------------------------------

KERNEL(hash) {
  int i = Global();
  if (i >= n) return;
  unsigned h = index[i];
  for (int k = 0; k < 4; ++k) {
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h = (h << 13) | (h >> 19);
    h = h * 5 + 0xe6546b64u;
  }
  out[i] = (float)(h >> 8);
}

KERNEL(bits) {
  int i = Global();
  if (i >= n) return;
  unsigned v = index[i];
  unsigned field = (v >> 3) & 0x1f, byte = (v >> 8) & 0xff;
  out[i] = (float)(__popc(v) + __clz(v) + (__brev(v) >> 28) + field * byte);
}

KERNEL(divide_by_parameter) {
  int i = Global();
  if (i >= n) return;
  int w = n >> 6;
  out[i] = a[(i / w) + (i % w)];
}

KERNEL(long_arithmetic) {
  int i = Global();
  if (i >= n) return;
  uint64_t v = (uint64_t)index[i] * 0x9e3779b97f4a7c15ull + i;
  v ^= v >> 29;
  v *= 0xbf58476d1ce4e5b9ull;
  out[i] = (float)(unsigned)(v >> 40);
}

KERNEL(collatz) {
  int i = Global();
  if (i >= n) return;
  unsigned v = (index[i] & 63) + 1;
  int steps = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v >> 1;
    ++steps;
  }
  out[i] = steps;
}

KERNEL(search) {
  int i = Global();
  if (i >= n) return;
  int low = 0, high = 256, want = i & 255;
  while (low < high) {
    int middle = (low + high) >> 1;
    if ((index[middle] & 0) + middle < want) low = middle + 1; else high = middle;
  }
  out[i] = low;
}

KERNEL(choose) {
  int i = Global();
  if (i >= n) return;
  float x = a[i];
  switch (index[i] & 7) {
    case 0: x = x * 2.f; break;
    case 1: x = x + 3.f; break;
    case 2: x = -x; break;
    case 3: x = x * x; break;
    case 4: x = b[i]; break;
    default: x = 1.f; break;
  }
  out[i] = x;
}

KERNEL(bitonic) {
  __shared__ float keys[256];
  int t = threadIdx.x, i = Global();
  keys[t] = i < n ? a[i] : 0.f;
  __syncthreads();
  for (int k = 2; k <= 256; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      int other = t ^ j;
      if (other > t) {
        float x = keys[t], y = keys[other];
        if ((x > y) == ((t & k) == 0)) {
          keys[t] = y;
          keys[other] = x;
        }
      }
      __syncthreads();
    }
  }
  if (i < n) out[i] = keys[t];
}

KERNEL(sort_in_registers) {
  int i = Global();
  if (i >= n / 8) return;
  float v[8];
  for (int k = 0; k < 8; ++k) v[k] = a[i * 8 + k];
#pragma unroll
  for (int r = 0; r < 8; ++r) {
#pragma unroll
    for (int k = r & 1; k < 7; k += 2) {
      float low = fminf(v[k], v[k + 1]), high = fmaxf(v[k], v[k + 1]);
      v[k] = low;
      v[k + 1] = high;
    }
  }
  for (int k = 0; k < 8; ++k) out[i * 8 + k] = v[k];
}

// ---- The program ------------------------------------------------------------

static const Entry kEntries[] = {
    ENTRY(vector_add), ENTRY(saxpy_stride), ENTRY(copy_float4),
    ENTRY(four_streams), ENTRY(gather), ENTRY(scatter), ENTRY(bytes_to_gray),
    ENTRY(stencil3), ENTRY(stencil5), ENTRY(convolution),
    ENTRY(stencil_shared), ENTRY(transpose), ENTRY(matmul),
    ENTRY(matmul_runtime_size), ENTRY(matmul_tiled), ENTRY(matrix_vector),
    ENTRY(sparse_rows), ENTRY(reduce_shared), ENTRY(reduce_shuffle),
    ENTRY(reduce_down), ENTRY(scan_shuffle), ENTRY(scan_shared),
    ENTRY(broadcast_lane), ENTRY(compact_ballot), ENTRY(softmax_row),
    ENTRY(histogram_shared), ENTRY(sum_atomic), ENTRY(maximum_atomic),
    ENTRY(polynomial), ENTRY(polynomial_f64), ENTRY(polynomial_half2),
    ENTRY(bodies), ENTRY(option_price), ENTRY(mandelbrot), ENTRY(divisions),
    ENTRY(hash), ENTRY(bits), ENTRY(divide_by_parameter),
    ENTRY(long_arithmetic), ENTRY(collatz), ENTRY(search), ENTRY(choose),
    ENTRY(bitonic), ENTRY(sort_in_registers)};

int main() { return RunAll(kEntries); }
