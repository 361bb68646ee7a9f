// Images: convolutions by rows and columns, of any kernel, bilateral and
// non-local means, boxes, Sobel, medians, bicubic resizing, colours, DCT 8 x 8
// with quantization, optical flow.

__constant__ float weights[65];

template <int kRadius, int kX, int kY, int kSteps>
__global__ void ConvolveRows(float* out, const float* in, int width,
                             int height) {
  __shared__ float tile[kY][(kSteps + 2) * kX];
  const int x0 = (blockIdx.x * kSteps - 1) * kX + threadIdx.x;
  const int y = blockIdx.y * kY + threadIdx.y;
  in += y * width, out += y * width;
#pragma unroll
  for (int i = 0; i < kSteps + 2; ++i) {
    const int x = x0 + i * kX;
    tile[threadIdx.y][threadIdx.x + i * kX] = x >= 0 && x < width ? in[x] : 0;
  }
  __syncthreads();
#pragma unroll
  for (int i = 1; i <= kSteps; ++i) {
    float sum = 0;
#pragma unroll
    for (int j = -kRadius; j <= kRadius; ++j) {
      sum += weights[kRadius - j] * tile[threadIdx.y][threadIdx.x + i * kX + j];
    }
    if (x0 + i * kX < width) out[x0 + i * kX] = sum;
  }
}

template <int kRadius, int kX, int kY, int kSteps>
__global__ void ConvolveColumns(float* out, const float* in, int width,
                                int height) {
  __shared__ float tile[kX][(kSteps + 2) * kY + 1];
  const int x = blockIdx.x * kX + threadIdx.x;
  const int y0 = (blockIdx.y * kSteps - 1) * kY + threadIdx.y;
#pragma unroll
  for (int i = 0; i < kSteps + 2; ++i) {
    const int y = y0 + i * kY;
    tile[threadIdx.x][threadIdx.y + i * kY] =
        y >= 0 && y < height ? in[y * width + x] : 0;
  }
  __syncthreads();
#pragma unroll
  for (int i = 1; i <= kSteps; ++i) {
    float sum = 0;
#pragma unroll
    for (int j = -kRadius; j <= kRadius; ++j) {
      sum += weights[kRadius - j] * tile[threadIdx.x][threadIdx.y + i * kY + j];
    }
    if (y0 + i * kY < height) out[(y0 + i * kY) * width + x] = sum;
  }
}

__device__ float4 Colour(unsigned rgba) {
  return make_float4(rgba & 255, rgba >> 8 & 255, rgba >> 16 & 255, rgba >> 24);
}
__device__ unsigned Packed(float4 c) {
  return (unsigned)__saturatef(c.x / 255) * 255 |
         (unsigned)(__saturatef(c.y / 255) * 255) << 8 |
         (unsigned)(__saturatef(c.z / 255) * 255) << 16 |
         (unsigned)(__saturatef(c.w / 255) * 255) << 24;
}

__global__ void Bilateral(unsigned* out, const unsigned* in, int width,
                          int height, float e, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float4 centre = Colour(in[y * width + x]);
  float4 sum = make_float4(0, 0, 0, 0);
  float total = 0;
  for (int i = -radius; i <= radius; ++i) {
    for (int j = -radius; j <= radius; ++j) {
      const int xx = min(max(x + j, 0), width - 1);
      const int yy = min(max(y + i, 0), height - 1);
      const float4 c = Colour(in[yy * width + xx]);
      const float d = (c.x - centre.x) * (c.x - centre.x) +
                      (c.y - centre.y) * (c.y - centre.y) +
                      (c.z - centre.z) * (c.z - centre.z);
      const float w =
          weights[i + radius] * weights[j + radius] * __expf(-d / (2 * e * e));
      total += w;
      sum.x += w * c.x, sum.y += w * c.y, sum.z += w * c.z, sum.w += w * c.w;
    }
  }
  out[y * width + x] = Packed(
      make_float4(sum.x / total, sum.y / total, sum.z / total, sum.w / total));
}

template <int kWindow, int kBlock>
__global__ void NonLocal(float* out, cudaTextureObject_t image, int width,
                         int height, float noise, float lerp) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float count = 0, total = 0, sum = 0;
  for (int i = -kWindow; i <= kWindow; ++i) {
    for (int j = -kWindow; j <= kWindow; ++j) {
      float distance = 0;
#pragma unroll
      for (int n = -kBlock; n <= kBlock; ++n) {
#pragma unroll
        for (int m = -kBlock; m <= kBlock; ++m) {
          const float d =
              tex2D<float>(image, x + j + m + 0.5f, y + i + n + 0.5f) -
              tex2D<float>(image, x + m + 0.5f, y + n + 0.5f);
          distance += d * d;
        }
      }
      const float w = __expf(-(distance * noise + (i * i + j * j) * 0.02f));
      sum += w * tex2D<float>(image, x + j + 0.5f, y + i + 0.5f);
      total += w;
      count += w > 0.02f;
    }
  }
  const float own = tex2D<float>(image, x + 0.5f, y + 0.5f);
  const float mix = count > 24 ? lerp : 1 - lerp;
  out[y * width + x] = sum / total + (own - sum / total) * mix;
}

__global__ void BoxRows(float* out, const float* in, int width, int height,
                        int radius) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= height) return;
  in += y * width, out += y * width;
  float sum = in[0] * radius;
  for (int x = 0; x <= radius; ++x) sum += in[x];
  const float scale = 1.0f / (2 * radius + 1);
  for (int x = 0; x < width; ++x) {
    out[x] = sum * scale;
    sum += in[min(x + radius + 1, width - 1)] - in[max(x - radius, 0)];
  }
}

__global__ void Sobel(unsigned char* out, const unsigned char* in, int width,
                      int height, float scale) {
  __shared__ unsigned char tile[18][18 + 2];
  const int x = blockIdx.x * 16 + threadIdx.x,
            y = blockIdx.y * 16 + threadIdx.y;
  for (int i = threadIdx.y; i < 18; i += 16) {
    for (int j = threadIdx.x; j < 18; j += 16) {
      const int xx = min(max((int)(blockIdx.x * 16 + j) - 1, 0), width - 1);
      const int yy = min(max((int)(blockIdx.y * 16 + i) - 1, 0), height - 1);
      tile[i][j] = in[yy * width + xx];
    }
  }
  __syncthreads();
  const auto at = [&](int i, int j) -> int {
    return tile[threadIdx.y + i][threadIdx.x + j];
  };
  const int h =
      at(0, 2) + 2 * at(1, 2) + at(2, 2) - at(0, 0) - 2 * at(1, 0) - at(2, 0);
  const int v =
      at(0, 0) + 2 * at(0, 1) + at(0, 2) - at(2, 0) - 2 * at(2, 1) - at(2, 2);
  if (x < width && y < height) {
    out[y * width + x] = min((int)(scale * (abs(h) + abs(v))), 255);
  }
}

template <int kSize>
__global__ void Median(float* out, const float* in, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < kSize / 2 || y < kSize / 2 || x >= width - kSize / 2 ||
      y >= height - kSize / 2) {
    return;
  }
  float v[kSize * kSize];
#pragma unroll
  for (int i = 0; i < kSize * kSize; ++i) {
    v[i] = in[(y + i / kSize - kSize / 2) * width + x + i % kSize - kSize / 2];
  }
#pragma unroll
  for (int i = 0; i <= kSize * kSize / 2; ++i) {
#pragma unroll
    for (int j = i + 1; j < kSize * kSize; ++j) {
      const float low = fminf(v[i], v[j]);
      v[j] = fmaxf(v[i], v[j]);
      v[i] = low;
    }
  }
  out[y * width + x] = v[kSize * kSize / 2];
}

__device__ float Cubic(float x) {
  x = fabsf(x);
  return x < 1   ? (1.5f * x - 2.5f) * x * x + 1
         : x < 2 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2
                 : 0;
}
__global__ void Bicubic(uchar4* out, const uchar4* in, int width, int height,
                        int to_width, int to_height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= to_width || y >= to_height) return;
  const float u = (x + 0.5f) * width / to_width - 0.5f;
  const float v = (y + 0.5f) * height / to_height - 0.5f;
  const int i0 = (int)floorf(u), j0 = (int)floorf(v);
  float r = 0, g = 0, b = 0, a = 0;
#pragma unroll
  for (int j = -1; j <= 2; ++j) {
#pragma unroll
    for (int i = -1; i <= 2; ++i) {
      const uchar4 c = in[min(max(j0 + j, 0), height - 1) * width +
                          min(max(i0 + i, 0), width - 1)];
      const float w = Cubic(u - i0 - i) * Cubic(v - j0 - j);
      r += w * c.x, g += w * c.y, b += w * c.z, a += w * c.w;
    }
  }
  const auto byte = [](float f) {
    return (unsigned char)fminf(fmaxf(f + 0.5f, 0), 255);
  };
  out[y * to_width + x] = make_uchar4(byte(r), byte(g), byte(b), byte(a));
}

__global__ void ToYuv(const uchar3* in, unsigned char* luma, uchar2* chroma,
                      int width, int height) {
  const int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  const int y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  int u = 0, v = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uchar3 c = in[(y + i / 2) * width + x + i % 2];
    luma[(y + i / 2) * width + x + i % 2] =
        (66 * c.x + 129 * c.y + 25 * c.z + 128 >> 8) + 16;
    u += (-38 * c.x - 74 * c.y + 112 * c.z + 128 >> 8) + 128;
    v += (112 * c.x - 94 * c.y - 18 * c.z + 128 >> 8) + 128;
  }
  chroma[y / 2 * (width / 2) + x / 2] = make_uchar2(u / 4, v / 4);
}

__device__ void Dct8(float* v, int stride, bool back) {
  constexpr float a = 1.387039845f, b = 1.306562965f, c = 1.175875602f,
                  d = 0.785694958f, e = 0.541196100f, f = 0.275899379f,
                  n = 0.353553391f;
  float x[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = v[i * stride];
  if (!back) {
    const float s0 = x[0] + x[7], d0 = x[0] - x[7], s1 = x[1] + x[6],
                d1 = x[1] - x[6], s2 = x[2] + x[5], d2 = x[2] - x[5],
                s3 = x[3] + x[4], d3 = x[3] - x[4];
    const float e0 = s0 + s3, o0 = s0 - s3, e1 = s1 + s2, o1 = s1 - s2;
    v[0] = n * (e0 + e1), v[4 * stride] = n * (e0 - e1);
    v[2 * stride] = n * (b * o0 + e * o1);
    v[6 * stride] = n * (e * o0 - b * o1);
    v[stride] = n * (a * d0 + c * d1 + d * d2 + f * d3);
    v[3 * stride] = n * (c * d0 - f * d1 - a * d2 - d * d3);
    v[5 * stride] = n * (d * d0 - a * d1 + f * d2 + c * d3);
    v[7 * stride] = n * (f * d0 - d * d1 + c * d2 - a * d3);
  } else {
    const float e0 = x[0] + x[4], e1 = x[0] - x[4], o0 = b * x[2] + e * x[6],
                o1 = e * x[2] - b * x[6];
    const float s0 = e0 + o0, s3 = e0 - o0, s1 = e1 + o1, s2 = e1 - o1;
    const float d0 = a * x[1] + c * x[3] + d * x[5] + f * x[7],
                d1 = c * x[1] - f * x[3] - a * x[5] - d * x[7],
                d2 = d * x[1] - a * x[3] + f * x[5] + c * x[7],
                d3 = f * x[1] - d * x[3] + c * x[5] - a * x[7];
    v[0] = n * (s0 + d0), v[7 * stride] = n * (s0 - d0);
    v[stride] = n * (s1 + d1), v[6 * stride] = n * (s1 - d1);
    v[2 * stride] = n * (s2 + d2), v[5 * stride] = n * (s2 - d2);
    v[3 * stride] = n * (s3 + d3), v[4 * stride] = n * (s3 - d3);
  }
}

__constant__ short quantization[64];

template <bool kBack>
__global__ void DctBlocks(const short* in, short* out, int pitch) {
  __shared__ float block[4][8][9 * 4];
  const int k = threadIdx.y, i = threadIdx.x, part = i / 8, column = i % 8;
  in += blockIdx.y * 8 * pitch * 4 + k * 8 * pitch + blockIdx.x * 32 + i;
  out += blockIdx.y * 8 * pitch * 4 + k * 8 * pitch + blockIdx.x * 32 + i;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const int q = quantization[r * 8 + column];
    block[k][r][part * 9 + column] = kBack ? in[r * pitch] * q : in[r * pitch];
  }
  __syncthreads();
  Dct8(&block[k][0][part * 9 + column], 36, kBack);
  __syncthreads();
  Dct8(&block[k][column][part * 9], 1, kBack);
  __syncthreads();
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const float v = block[k][r][part * 9 + column];
    const int q = quantization[r * 8 + column];
    out[r * pitch] =
        kBack ? (short)rintf(v) : (short)((v > 0 ? v + q / 2 : v - q / 2) / q);
  }
}

__global__ void OpticalFlow(const float* du0, const float* dv0, const float* ix,
                            const float* iy, const float* iz, float* du1,
                            float* dv1, int w, int h, int stride, float alpha) {
  __shared__ volatile float du[34 * 8], dv[34 * 8];
  const int x = threadIdx.x + blockIdx.x * 32, y = threadIdx.y + blockIdx.y * 6;
  const int at = min(y, h - 1) * stride + min(x, w - 1);
  const int here = threadIdx.x + 1 + (threadIdx.y + 1) * 34;
  du[here] = du0[at], dv[here] = dv0[at];
  if (threadIdx.y == 0) {
    const int up = abs(y - 1) * stride + min(x, w - 1);
    du[threadIdx.x + 1] = du0[up], dv[threadIdx.x + 1] = dv0[up];
    const int down = min(y + 6, h - 1) * stride + min(x, w - 1);
    du[threadIdx.x + 1 + 7 * 34] = du0[down];
    dv[threadIdx.x + 1 + 7 * 34] = dv0[down];
  }
  if (threadIdx.x == 0) {
    const int left = min(y, h - 1) * stride + abs((int)(blockIdx.x * 32) - 1);
    du[(threadIdx.y + 1) * 34] = du0[left];
    dv[(threadIdx.y + 1) * 34] = dv0[left];
    const int right =
        min(y, h - 1) * stride + min((int)(blockIdx.x * 32) + 32, w - 1);
    du[(threadIdx.y + 1) * 34 + 33] = du0[right];
    dv[(threadIdx.y + 1) * 34 + 33] = dv0[right];
  }
  __syncthreads();
  if (x >= w || y >= h) return;
  const float su =
      (du[here - 1] + du[here + 1] + du[here - 34] + du[here + 34]) / 4;
  const float sv =
      (dv[here - 1] + dv[here + 1] + dv[here - 34] + dv[here + 34]) / 4;
  const int p = y * stride + x;
  const float f = (ix[p] * su + iy[p] * sv + iz[p]) /
                  (ix[p] * ix[p] + iy[p] * iy[p] + alpha);
  du1[p] = su - ix[p] * f, dv1[p] = sv - iy[p] * f;
}

template __global__ void ConvolveRows<8, 16, 4, 8>(float*, const float*, int,
                                                   int);
template __global__ void ConvolveRows<3, 16, 4, 8>(float*, const float*, int,
                                                   int);
template __global__ void ConvolveColumns<8, 16, 8, 8>(float*, const float*, int,
                                                      int);
template __global__ void ConvolveColumns<3, 16, 8, 8>(float*, const float*, int,
                                                      int);
template __global__ void NonLocal<3, 3>(float*, cudaTextureObject_t, int, int,
                                        float, float);
template __global__ void Median<3>(float*, const float*, int, int);
template __global__ void Median<5>(float*, const float*, int, int);
template __global__ void DctBlocks<false>(const short*, short*, int);
template __global__ void DctBlocks<true>(const short*, short*, int);
