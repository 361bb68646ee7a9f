// Histograms of 64 and 256 bins: a copy a warp, a copy a thread in bytes, by
// atomics of shared and global memory, of colours, joint, and their use.
#include <cstdint>

constexpr int kWarps = 6;

__device__ void AddToWarp(volatile unsigned* bins, unsigned value,
                          unsigned tag) {
  unsigned count;
  do {
    count = bins[value] & 0x07ffffffu;
    count = tag | (count + 1);
    bins[value] = count;
  } while (bins[value] != count);
}

__global__ void WarpTagged(unsigned* out, const unsigned* data, unsigned n) {
  __shared__ unsigned bins[kWarps * 256];
  unsigned* mine = bins + (threadIdx.x >> 5) * 256;
  for (int i = threadIdx.x; i < kWarps * 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  const unsigned tag = threadIdx.x << 27;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += blockDim.x * gridDim.x) {
    const unsigned word = data[i];
    AddToWarp(mine, word & 255, tag);
    AddToWarp(mine, word >> 8 & 255, tag);
    AddToWarp(mine, word >> 16 & 255, tag);
    AddToWarp(mine, word >> 24, tag);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
    unsigned sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += bins[w * 256 + bin] & 0x07ffffffu;
    out[blockIdx.x * 256 + bin] = sum;
  }
}

__global__ void WarpAtomic(unsigned* out, const uint4* data, unsigned n) {
  __shared__ unsigned bins[kWarps * 256];
  unsigned* mine = bins + (threadIdx.x >> 5) * 256;
  for (int i = threadIdx.x; i < kWarps * 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += blockDim.x * gridDim.x) {
    const uint4 words = data[i];
    const unsigned four[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int b = 0; b < 32; b += 8) {
        atomicAdd(mine + (four[k] >> b & 255), 1u);
      }
    }
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
    unsigned sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += bins[w * 256 + bin];
    atomicAdd(out + bin, sum);
  }
}

__global__ void BytesPerThread(unsigned* out, const uint4* data, unsigned n) {
  __shared__ uint8_t bins[64 * 64];
  for (int i = 0; i < 16; ++i) {
    reinterpret_cast<unsigned*>(bins)[threadIdx.x + i * 64] = 0;
  }
  __syncthreads();
  const int place =
      (threadIdx.x & ~63) | (threadIdx.x & 15) << 2 | (threadIdx.x & 48) >> 4;
  for (unsigned i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    const uint4 v = data[i];
    const unsigned four[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      bins[place + (four[k] >> 2 & 63) * 64]++;
      bins[place + (four[k] >> 10 & 63) * 64]++;
      bins[place + (four[k] >> 18 & 63) * 64]++;
      bins[place + (four[k] >> 26 & 63) * 64]++;
    }
  }
  __syncthreads();
  unsigned sum = 0;
  const unsigned* row = reinterpret_cast<unsigned*>(bins) + threadIdx.x * 16;
  for (int i = 0, at = threadIdx.x & 15; i < 16; ++i, at = (at + 1) & 15) {
    const unsigned four = row[at];
    sum += (four & 255) + (four >> 8 & 255) + (four >> 16 & 255) + (four >> 24);
  }
  out[blockIdx.x * 64 + threadIdx.x] = sum;
}

__global__ void MergeBins(unsigned* out, const unsigned* parts, int bins,
                          int count) {
  __shared__ unsigned data[256];
  unsigned sum = 0;
  for (int i = threadIdx.x; i < count; i += 256) {
    sum += parts[blockIdx.x + i * bins];
  }
  data[threadIdx.x] = sum;
  for (int stride = 128; stride > 0; stride >>= 1) {
    __syncthreads();
    if (threadIdx.x < stride) data[threadIdx.x] += data[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = data[0];
}

template <class T, int kBins>
__global__ void Values(const T* in, unsigned* out, T low, T high, int n) {
  __shared__ unsigned bins[kBins];
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    const int bin = (int)((in[i] - low) / (high - low) * kBins);
    if (bin >= 0 && bin < kBins) {
      const unsigned peers = __match_any_sync(__activemask(), bin);
      if ((threadIdx.x & 31) == __ffs(peers) - 1) {
        atomicAdd(&bins[bin], __popc(peers));
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) {
    if (bins[i]) atomicAdd(&out[i], bins[i]);
  }
}

__global__ void Joint(const uint8_t* a, const uint8_t* b, unsigned* out,
                      int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    atomicAdd(out + (a[i] >> 2) * 64 + (b[i] >> 2), 1u);
  }
}

// Contrast by tiles: the histogram's sums are the map.
__global__ void Equalise(const uint8_t* in, uint8_t* out, int width, int height,
                         int limit) {
  __shared__ int bins[256], map[256], excess;
  bins[threadIdx.x] = 0;
  if (threadIdx.x == 0) excess = 0;
  __syncthreads();
  const int x0 = blockIdx.x * 64, y0 = blockIdx.y * 64;
  for (int i = threadIdx.x; i < 64 * 64; i += 256) {
    const int x = x0 + i % 64, y = y0 + i / 64;
    if (x < width && y < height) atomicAdd(&bins[in[y * width + x]], 1);
  }
  __syncthreads();
  const int over = max(bins[threadIdx.x] - limit, 0);
  if (over) atomicAdd(&excess, over);
  __syncthreads();
  map[threadIdx.x] = bins[threadIdx.x] - over + excess / 256;
  for (int offset = 1; offset < 256; offset *= 2) {
    __syncthreads();
    const int other = threadIdx.x >= offset ? map[threadIdx.x - offset] : 0;
    __syncthreads();
    map[threadIdx.x] += other;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 64 * 64; i += 256) {
    const int x = x0 + i % 64, y = y0 + i / 64;
    if (x < width && y < height) {
      out[y * width + x] = map[in[y * width + x]] * 255 / map[255];
    }
  }
}

template __global__ void Values<float, 256>(const float*, unsigned*, float,
                                            float, int);
template __global__ void Values<double, 1024>(const double*, unsigned*, double,
                                              double, int);
template __global__ void Values<int, 128>(const int*, unsigned*, int, int, int);
