// Kernels of machine learning: half precision with matrix instructions, packed
// weights, warps that fetch for others; each checked against the host. As
// code_quality.cu otherwise.
#include "code_quality.h"
#include "portable_matrix.h"

BOTH Half ToHalf(float v) { return (Half)v; }
BOTH float ToFloat(Half v) { return (float)v; }
BOTH float Rounded(float v) { return ToFloat(ToHalf(v)); }

// ---- Matrix instructions ----------------------------------------------------

constexpr int kTile = 64, kDepth = 32, kSteps = 4, kPad = 8;

BOTH float LeftAt(const float* a, int block, int row, int k, int n) {
  return a[(block * 97 + row * 128 + k) & (n - 1)];
}
BOTH float RightAt(const float* b, int block, int k, int column, int n) {
  return b[(block * 31 + k * 64 + column) & (n - 1)] - 0.5f;
}

// A tile of 64 x 64 of a product 128 deep, its next operands fetched while
// these are multiplied.
KERNEL(half_product) {
  __shared__ Half left[2][kTile][kDepth + kPad], right[2][kDepth][kTile + kPad];
  __shared__ float product[kTile][kTile];
  constexpr int kUnits = 256 / kUnit, kEach = 16 / kUnits;
  const int t = threadIdx.x, block = blockIdx.x, first = t / kUnit * kEach;
  Sums sums[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) Clear(sums[i]);
  float x[8], y[8];
  auto fetch = [&](int step) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int at = t + i * 256;
      x[i] = LeftAt(a, block, at / kDepth, step * kDepth + at % kDepth, n);
      y[i] = RightAt(b, block, step * kDepth + at / kTile, at % kTile, n);
    }
  };
  auto keep = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int at = t + i * 256;
      left[buffer][at / kDepth][at % kDepth] = ToHalf(x[i]);
      right[buffer][at / kTile][at % kTile] = ToHalf(y[i]);
    }
  };
  fetch(0);
  keep(0);
  __syncthreads();
#pragma unroll 1
  for (int step = 0; step < kSteps; ++step) {
    const int now = step & 1;
    if (step + 1 < kSteps) fetch(step + 1);
#pragma unroll
    for (int k = 0; k < kDepth; k += 16) {
      Left of_row;
      Load(of_row, &left[now][first / 4 * 16][k], kDepth + kPad);
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        Right of_column;
        Load(of_column, &right[now][k][(first + i) % 4 * 16], kTile + kPad);
        Multiply(sums[i], of_row, of_column);
      }
    }
    if (step + 1 < kSteps) keep(now ^ 1);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    StoreSums(&product[first / 4 * 16][(first + i) % 4 * 16], sums[i], kTile);
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += product[t / 4][t % 4 * 16 + i] * (i + 1);
  out[Global()] = sum;
}

EXPECTED(half_product) {
  for (int t = 0; t < n; ++t) {
    double sum = 0;
    for (int i = 0; i < 16; ++i) {
      for (int k = 0; k < kDepth * kSteps; ++k) {
        sum += (i + 1) *
               (double)Rounded(LeftAt(a, t / 256, t % 256 / 4, k, n)) *
               Rounded(RightAt(b, t / 256, k, t % 4 * 16 + i, n));
      }
    }
    out[t] = (float)sum;
  }
}

constexpr int kHead = 32, kKeys = 32, kKeyTiles = 4, kQueries = 128;

BOTH float QueryAt(const float* a, int block, int row, int i, int n) {
  return (a[(block * 61 + row * kHead + i) & (n - 1)] - 0.5f) * 2;
}
BOTH float KeyAt(const float* b, int row, int i, int n) {
  return (b[(row * kHead + i) & (n - 1)] - 0.5f) * 2;
}
BOTH float ValueAt(const float* a, int row, int i, int n) {
  return a[(row * kHead + i * 3) & (n - 1)];
}

// Attention with a softmax that goes along: 128 queries a block, 16 a warp.
KERNEL(flash_attention) {
  __shared__ Half queries[kQueries][kHead], keys[kKeys][kHead],
      values[kKeys][kHead], weights[kQueries][kKeys];
  __shared__ float scores[kQueries][kKeys];
  constexpr int kSets = kUnit / 32;
  const int t = threadIdx.x, block = blockIdx.x, set = t / kUnit * kSets;
  const int row = t / 2, part = t % 2 * 16;
  for (int i = t; i < kQueries * kHead; i += 256)
    queries[i / kHead][i % kHead] =
        ToHalf(QueryAt(a, block, i / kHead, i % kHead, n));
  float most = -1e30f, total = 0, result[16] = {};
#pragma unroll 1
  for (int tile = 0; tile < kKeyTiles; ++tile) {
    __syncthreads();
    for (int i = t; i < kKeys * kHead; i += 256) {
      const int key = tile * kKeys + i / kHead;
      keys[i / kHead][i % kHead] = ToHalf(KeyAt(b, key, i % kHead, n));
      values[i / kHead][i % kHead] = ToHalf(ValueAt(a, key, i % kHead, n));
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      const int first = (set + s) * 16;
#pragma unroll
      for (int column = 0; column < kKeys; column += 16) {
        Sums product;
        Clear(product);
#pragma unroll
        for (int k = 0; k < kHead; k += 16) {
          Left query;
          RightByColumns key;
          Load(query, &queries[first][k], kHead);
          Load(key, &keys[column][k], kHead);
          Multiply(product, query, key);
        }
        StoreSums(&scores[first][column], product, kKeys);
      }
    }
    __syncwarp();
    // Two lanes a row.
    float now = most;
#pragma unroll
    for (int i = 0; i < 16; ++i)
      now = fmaxf(now, scores[row][part + i] * 0.17677669f);
    now = fmaxf(now, __shfl_xor_sync(~0u, now, 1));
    const float scale = FastExp(most - now);
    most = now;
    total *= scale;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const float weight = FastExp(scores[row][part + i] * 0.17677669f - now);
      total += weight;
      result[i] *= scale;
      weights[row][part + i] = ToHalf(weight);
    }
    __syncwarp();
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      const int first = (set + s) * 16;
#pragma unroll
      for (int column = 0; column < kHead; column += 16) {
        Sums product;
        Clear(product);
#pragma unroll
        for (int k = 0; k < kKeys; k += 16) {
          Left weight;
          Right value;
          Load(weight, &weights[first][k], kKeys);
          Load(value, &values[k][column], kHead);
          Multiply(product, weight, value);
        }
        StoreSums(&scores[first][column], product, kKeys);
      }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 16; ++i) result[i] += scores[row][part + i];
    __syncwarp();
  }
  total += __shfl_xor_sync(~0u, total, 1);
  const float inverse = FastDivide(1, total);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += result[i] * inverse * (i + 1);
  out[Global()] = sum;
}

EXPECTED(flash_attention) {
  for (int t = 0; t < n; ++t) {
    const int block = t / 256, row = t % 256 / 2, part = t % 2 * 16;
    double total = 0, sum = 0;
    for (int key = 0; key < kKeys * kKeyTiles; ++key) {
      double score = 0, value = 0;
      for (int i = 0; i < kHead; ++i) {
        score += (double)Rounded(QueryAt(a, block, row, i, n)) *
                 Rounded(KeyAt(b, key, i, n));
      }
      for (int i = 0; i < 16; ++i)
        value += (i + 1) * Rounded(ValueAt(a, key, part + i, n));
      const double weight = exp(score * 0.17677669);
      total += weight;
      sum += weight * value;
    }
    out[t] = (float)(sum / total);
  }
}

// ---- Half precision without -------------------------------------------------

BOTH float Gelu(float x) {
  const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  return x - x * FastDivide(1, 1 + FastExp(2 * inner));
}

BOTH float LayerAt(const float* a, int row, int i, int n) {
  return a[(row * 512 + i) & (n - 1)] * 4 - 2;
}

// Rows of 512 halves, a warp each: mean, variance, and an activation.
KERNEL(layer_norm) {
  const int lane = threadIdx.x % 32, row = Global() / 32;
  Half values[16];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    values[i] = ToHalf(LayerAt(a, row, lane * 16 + i, n));
    sum += ToFloat(values[i]);
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  const float mean = sum * (1.f / 512);
  float squares = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const float off = ToFloat(values[i]) - mean;
    squares = fmaf(off, off, squares);
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2)
    squares += __shfl_xor_sync(~0u, squares, by);
  const float scale = InverseRoot(squares * (1.f / 512) + 1e-5f);
  float result = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const float v = (ToFloat(values[i]) - mean) * scale;
    result += (i + 1) * Gelu(fmaf(v, b[lane * 16 + i],
                                  b[(lane * 16 + i + 512) & (n - 1)]));
  }
  out[Global()] = result;
}

EXPECTED(layer_norm) {
  for (int t = 0; t < n; ++t) {
    double sum = 0, squares = 0, result = 0;
    for (int i = 0; i < 512; ++i) sum += Rounded(LayerAt(a, t / 32, i, n));
    for (int i = 0; i < 512; ++i) {
      const double off = Rounded(LayerAt(a, t / 32, i, n)) - sum / 512;
      squares += off * off;
    }
    for (int i = 0; i < 16; ++i) {
      const int at = t % 32 * 16 + i;
      const double v = (Rounded(LayerAt(a, t / 32, at, n)) - sum / 512) /
                       sqrt(squares / 512 + 1e-5);
      result += (i + 1) * Gelu((float)(v * b[at] + b[(at + 512) & (n - 1)]));
    }
    out[t] = (float)result;
  }
}

// Rows of weights of four bits, a scale for every 32, by a vector of halves;
// a warp a row.
BOTH float FourBits(const int* index, int at, int i, int n) {
  const unsigned word = (unsigned)index[at & (n - 1)] * 2654435761u;
  return (float)((int)(word >> (4 * i) & 15) - 8);
}

KERNEL(four_bit_weights) {
  const int lane = threadIdx.x % 32, row = Global() / 32;
  Half2 sums[2] = {};
#pragma unroll 2
  for (int step = 0; step < 8; ++step) {
    const int word = step * 32 + lane;
    const float scale = b[(row * 64 + word / 4) & (n - 1)] * 0.125f;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      Half2 weight, value;
      weight.x = ToHalf(FourBits(index, row * 256 + word, i, n) * scale);
      weight.y = ToHalf(FourBits(index, row * 256 + word, i + 1, n) * scale);
      value.x = ToHalf(a[(word * 8 + i) & (n - 1)]);
      value.y = ToHalf(a[(word * 8 + i + 1) & (n - 1)]);
      sums[i / 2 % 2] = FmaHalf2(weight, value, sums[i / 2 % 2]);
    }
  }
  float sum = ToFloat(sums[0].x) + ToFloat(sums[0].y) + ToFloat(sums[1].x) +
              ToFloat(sums[1].y);
#pragma unroll
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  out[Global()] = sum * (lane + 1);
}

EXPECTED(four_bit_weights) {
  for (int t = 0; t < n; ++t) {
    const int row = t / 32;
    double sum = 0;
    for (int i = 0; i < 2048; ++i) {
      sum += FourBits(index, row * 256 + i / 8, i % 8, n) *
             b[(row * 64 + i / 32) & (n - 1)] * 0.125 * a[i & (n - 1)];
    }
    out[t] = (float)sum * (t % 32 + 1);
  }
}

// ---- Warps with roles -------------------------------------------------------

// A barrier for the two warps of a pair; HIP has none but the block's.
__device__ __forceinline__ void PairBarrier(int pair) {
#ifdef __HIP__
  (void)pair;
  __syncthreads();
#else
  asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
#endif
}

BOTH float StreamAt(const float* a, int block, int pair, int tile, int i,
                    int n) {
  return a[(block * 211 + pair * 1024 + tile * 128 + i) & (n - 1)];
}

// Four warps fetch and prepare, each for one that computes.
KERNEL(warp_pairs) {
  __shared__ float buffer[4][2][128];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pair = warp % 4;
  float sum = 0;
  if (warp < 4) {
    for (int tile = 0; tile < 8; ++tile) {
#pragma unroll
      for (int i = lane; i < 128; i += 32) {
        const float v = StreamAt(a, blockIdx.x, pair, tile, i, n);
        buffer[pair][tile & 1][i] = v;
        sum += v;
      }
      PairBarrier(pair);
    }
  } else {
    for (int tile = 0; tile < 8; ++tile) {
      PairBarrier(pair);
#pragma unroll 8
      for (int i = 0; i < 128; ++i)
        sum = fmaf(buffer[pair][tile & 1][(i + lane) & 127], 0.25f + (i & 3),
                   sum * 0.5f);
    }
  }
  out[Global()] = sum;
}

EXPECTED(warp_pairs) {
  for (int t = 0; t < n; ++t) {
    const int lane = t % 32, warp = t % 256 / 32, pair = warp % 4;
    float sum = 0;
    for (int tile = 0; tile < 8; ++tile) {
      for (int i = 0; i < 128; ++i) {
        if (warp >= 4) {
          sum = sum * 0.5f +
                StreamAt(a, t / 256, pair, tile, (i + lane) & 127, n) *
                    (0.25f + (i & 3));
        } else if (i % 32 == lane) {
          sum += StreamAt(a, t / 256, pair, tile, i, n);
        }
      }
    }
    out[t] = sum;
  }
}

// Barriers in shared memory, as bulk copies use them; for HIP the block's.
#ifdef __HIP__
typedef int Ring;
#define RING_BARRIERS(name, count) Ring name[count]
__device__ inline void RingInit(Ring*, int) {}
__device__ inline void RingArrive(Ring*) {}
__device__ inline void RingWait(Ring*, int) {}
#define RING_STEP() __syncthreads()
#else
typedef uint64_t Ring;
#define RING_BARRIERS(name, count) __shared__ Ring name[count]
__device__ inline unsigned RingAddress(Ring* ring) {
  return (unsigned)__cvta_generic_to_shared(ring);
}
__device__ inline void RingInit(Ring* ring, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(RingAddress(ring)),
               "r"(count)
               : "memory");
}
__device__ inline void RingArrive(Ring* ring) {
  asm volatile(
      "{ .reg .b64 state;\n"
      "mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(RingAddress(ring))
      : "memory");
}
__device__ inline void RingWait(Ring* ring, int phase) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
      "@done bra out;\n"
      "nanosleep.u32 20;\n"
      "bra again;\n"
      "out: }" ::"r"(RingAddress(ring)),
      "r"(phase)
      : "memory");
}
#define RING_STEP() ((void)0)
#endif

// One warp fills a ring of three tiles that seven work on.
KERNEL(ring_of_tiles) {
  constexpr int kStages = 3, kTiles = 9, kSize = 224;
  __shared__ float ring[kStages][kSize];
  RING_BARRIERS(full, kStages);
  RING_BARRIERS(empty, kStages);
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t < kStages) {
    RingInit(&full[t], 32);
    RingInit(&empty[t], kSize);
  }
  __syncthreads();
  float sum = 0;
  for (int tile = 0; tile < kTiles; ++tile) {
    const int stage = tile % kStages, phase = tile / kStages & 1;
    if (warp == 0) {
      if (tile >= kStages) RingWait(&empty[stage], phase ^ 1);
      for (int i = lane; i < kSize; i += 32)
        ring[stage][i] = StreamAt(a, blockIdx.x, 0, tile, i, n);
      RingArrive(&full[stage]);
    }
    RING_STEP();
    if (warp > 0) {
      RingWait(&full[stage], phase);
#pragma unroll 8
      for (int i = 0; i < 64; ++i)
        sum = fmaf(ring[stage][(t - 32) ^ i & 31], 0.25f + i, sum * 0.5f);
      RingArrive(&empty[stage]);
    }
  }
  out[Global()] = sum;
}

EXPECTED(ring_of_tiles) {
  for (int t = 0; t < n; ++t) {
    float sum = 0;
    for (int tile = 0; tile < 9 && t % 256 >= 32; ++tile) {
      for (int i = 0; i < 64; ++i) {
        const int at = (t % 256 - 32) ^ (i & 31);
        sum = sum * 0.5f + StreamAt(a, t / 256, 0, tile, at, n) * (0.25f + i);
      }
    }
    out[t] = sum;
  }
}

static const Entry kEntries[] = {
    CHECKED(half_product, 1e-3f), CHECKED(flash_attention, 5e-3f),
    CHECKED(layer_norm, 1e-3f),   CHECKED(four_bit_weights, 2e-2f),
    CHECKED(warp_pairs, 1e-4f),   CHECKED(ring_of_tiles, 1e-4f)};

int main() { return RunAll(kEntries); }
