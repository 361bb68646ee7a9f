// Kernels as programs of cryptography, sorting, genetics, graphs, pictures and
// archives have them, each checked against the host. As code_quality.cu
// otherwise.
#include <algorithm>

#include "code_quality.h"

// ---- Ciphers and sums -------------------------------------------------------

BOTH unsigned Word(const int* index, int at, int n) {
  return (unsigned)index[at & (n - 1)] * 2654435761u;
}

BOTH uint64_t Rotate64(uint64_t v, int by) {
  return by == 0 ? v : v << by | v >> (64 - by);
}

#define KECCAK_ROUNDS                                          \
  {0x0000000000000001, 0x0000000000008082, 0x800000000000808a, \
   0x8000000080008000, 0x000000000000808b, 0x0000000080000001, \
   0x8000000080008081, 0x8000000000008009, 0x000000000000008a, \
   0x0000000000000088, 0x0000000080008009, 0x000000008000000a, \
   0x000000008000808b, 0x800000000000008b, 0x8000000000008089, \
   0x8000000000008003, 0x8000000000008002, 0x8000000000000080, \
   0x000000000000800a, 0x800000008000000a, 0x8000000080008081, \
   0x8000000000008080, 0x0000000080000001, 0x8000000080008008}
__constant__ uint64_t kKeccakRounds[24] = KECCAK_ROUNDS;
const uint64_t kKeccakRoundsOfHost[24] = KECCAK_ROUNDS;

BOTH float Keccak(int t, const uint64_t* rounds, const int* index, int n) {
  constexpr int kTurns[25] = {0,  1, 62, 28, 27, 36, 44, 6,  55,
                              20, 3, 10, 43, 25, 39, 41, 45, 15,
                              21, 8, 18, 2,  61, 56, 14};
  uint64_t s[25];
#pragma unroll
  for (int i = 0; i < 25; ++i)
    s[i] = (uint64_t)Word(index, t + i, n) << 32 | Word(index, t * 3 + i, n);
#pragma unroll 1
  for (int round = 0; round < 24; ++round) {
    uint64_t c[5], moved[25];
#pragma unroll
    for (int x = 0; x < 5; ++x)
      c[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
#pragma unroll
    for (int x = 0; x < 5; ++x) {
      const uint64_t d = c[(x + 4) % 5] ^ Rotate64(c[(x + 1) % 5], 1);
#pragma unroll
      for (int y = 0; y < 5; ++y)
        moved[y + (2 * x + 3 * y) % 5 * 5] =
            Rotate64(s[x + 5 * y] ^ d, kTurns[x + 5 * y]);
    }
#pragma unroll
    for (int y = 0; y < 5; ++y) {
#pragma unroll
      for (int x = 0; x < 5; ++x) {
        s[x + 5 * y] = moved[x + 5 * y] ^ (~moved[(x + 1) % 5 + 5 * y] &
                                           moved[(x + 2) % 5 + 5 * y]);
      }
    }
    s[0] ^= rounds[round];
  }
  return (float)((s[0] ^ s[7] ^ s[24]) >> 40);
}

KERNEL(keccak) { out[Global()] = Keccak(Global(), kKeccakRounds, index, n); }
EXPECTED(keccak) {
  for (int t = 0; t < n; ++t) out[t] = Keccak(t, kKeccakRoundsOfHost, index, n);
}

// A block cipher by a table in LDS, ten rounds, as AES has them.
BOTH float Encrypt(const unsigned* table, int t, const int* index, int n) {
  unsigned s[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) s[i] = Word(index, t * 4 + i, n);
#pragma unroll 1
  for (int round = 0; round < 10; ++round) {
    unsigned next[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned u = table[s[(i + 1) % 4] >> 8 & 255],
                     v = table[s[(i + 2) % 4] >> 16 & 255],
                     w = table[s[(i + 3) % 4] >> 24];
      next[i] = table[s[i] & 255] ^ (u << 8 | u >> 24) ^ (v << 16 | v >> 16) ^
                (w << 24 | w >> 8) ^ Word(index, round * 4 + i, n);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) s[i] = next[i];
  }
  return (float)((s[0] ^ s[1] ^ s[2] ^ s[3]) >> 8);
}

KERNEL(table_cipher) {
  __shared__ unsigned table[256];
  table[threadIdx.x] = Word(index, threadIdx.x, n);
  __syncthreads();
  out[Global()] = Encrypt(table, Global(), index, n);
}

EXPECTED(table_cipher) {
  unsigned table[256];
  for (int i = 0; i < 256; ++i) table[i] = Word(index, i, n);
  for (int t = 0; t < n; ++t) out[t] = Encrypt(table, t, index, n);
}

// ---- Order ------------------------------------------------------------------

// Two passes of a radix sort by four bits, stable, of a block's 256 keys.
KERNEL(radix_digits) {
  __shared__ int keys[256], starts[16][8];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  int key = index[Global()];
  for (int shift = 0; shift < 8; shift += 4) {
    if (t < 128) starts[t / 8][t % 8] = 0;
    __syncthreads();
    const int digit = key >> shift & 15;
    unsigned same = ~0u;
#pragma unroll
    for (int bit = 0; bit < 4; ++bit) {
      const bool set = digit >> bit & 1;
      const unsigned vote = __ballot_sync(~0u, set);
      same &= set ? vote : ~vote;
    }
    const int rank = __popc(same & ((1u << lane) - 1));
    if (rank == 0) starts[digit][warp] = __popc(same);
    __syncthreads();
    if (warp == 0) {
      int count[4], sum = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        count[i] = sum;
        sum += starts[lane / 2][lane % 2 * 4 + i];
      }
      int before = sum;
#pragma unroll
      for (int by = 1; by < 32; by *= 2) {
        const int other = __shfl_up_sync(~0u, before, by);
        if (lane >= by) before += other;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
        starts[lane / 2][lane % 2 * 4 + i] = before - sum + count[i];
    }
    __syncthreads();
    keys[starts[digit][warp] + rank] = key;
    __syncthreads();
    key = keys[t];
  }
  out[Global()] = (float)key;
}

EXPECTED(radix_digits) {
  for (int first = 0; first < n; first += 256) {
    float* to = out + first;
    for (int byte = 0; byte < 256; ++byte) {
      for (int i = first; i < first + 256; ++i) {
        if ((index[i] & 255) == byte) *to++ = (float)index[i];
      }
    }
  }
}

// ---- Sequences --------------------------------------------------------------

BOTH int Base(const int* index, int at, int n) {
  return index[at & (n - 1)] >> 3 & 3;
}

// The best local alignment of 32 bases with 64, a warp each, along diagonals.
KERNEL(align) {
  const int lane = threadIdx.x % 32, first = Global() - lane;
  const int mine = Base(index, first + lane, n);
  int best = 0, here = 0, gap_left = -100, diagonal = 0;
  int gap_up = -100;
  for (int step = 0; step < 64 + 31; ++step) {
    const int column = step - lane;
    int above = __shfl_up_sync(~0u, here, 1);
    int above_gap = __shfl_up_sync(~0u, gap_up, 1);
    if (lane == 0) above = 0, above_gap = -100;
    if (column >= 0 && column < 64) {
      const bool match = mine == Base(index, first * 5 + column, n);
      gap_left = max(gap_left - 1, here - 3);
      gap_up = max(above_gap - 1, above - 3);
      here = max(max(0, diagonal + (match ? 2 : -1)), max(gap_left, gap_up));
      best = max(best, here);
    }
    diagonal = above;
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2)
    best = max(best, __shfl_xor_sync(~0u, best, by));
  out[Global()] = (float)best;
}

EXPECTED(align) {
  for (int first = 0; first < n; first += 32) {
    int scores[33][65] = {}, left[33][65], up[33][65], best = 0;
    std::fill(&left[0][0], &left[0][0] + 33 * 65, -100);
    std::fill(&up[0][0], &up[0][0] + 33 * 65, -100);
    for (int i = 1; i <= 32; ++i) {
      for (int j = 1; j <= 64; ++j) {
        const bool match =
            Base(index, first + i - 1, n) == Base(index, first * 5 + j - 1, n);
        left[i][j] = std::max(left[i][j - 1] - 1, scores[i][j - 1] - 3);
        up[i][j] = std::max(up[i - 1][j] - 1, scores[i - 1][j] - 3);
        scores[i][j] = std::max(
            {0, scores[i - 1][j - 1] + (match ? 2 : -1), left[i][j], up[i][j]});
        best = std::max(best, scores[i][j]);
      }
    }
    for (int i = 0; i < 32; ++i) out[first + i] = (float)best;
  }
}

BOTH int LeadingZeros(unsigned v) {
#if ON_DEVICE
  return __clz((int)v);
#else
  return v == 0 ? 32 : __builtin_clz(v);
#endif
}

// Numbers of as many bits as the zeros in front of them say.
BOTH float Decode(int t, const float*, const float*, const int* index, int n) {
  uint64_t bits = 0;
  int held = 0, next = t * 3;
  unsigned sum = 0;
  for (int i = 0; i < 40; ++i) {
    if (held <= 32) {
      bits |= (uint64_t)Word(index, next++, n) << (32 - held);
      held += 32;
    }
    const int zeros = min(LeadingZeros((unsigned)(bits >> 32)), 12);
    const int length = 2 * zeros + 1;
    const unsigned value = (unsigned)(bits >> (64 - length)) - 1;
    bits <<= length;
    held -= length;
    if (value == 5) {
      bits <<= 3;
      held -= 3;
    } else if (value & 1) {
      sum -= value >> 1;
    }
    sum = sum * 5 + value;
  }
  return (float)(sum >> 8);
}

KERNEL(bit_stream) { out[Global()] = Decode(Global(), a, b, index, n); }
EXPECTED_OF_EACH(bit_stream, Decode)

// ---- Graphs and trees -------------------------------------------------------

BOTH void Edge(const int* index, int vertex, int i, int n, int& to,
               int& length) {
  const int word = index[(vertex * 7 + i * 13) & (n - 1)];
  to = word & 255;
  length = 1 + (word >> 8);
}

// Shortest ways among a block's 256 places, until none becomes shorter.
KERNEL(shortest_ways) {
  __shared__ int distance[256], changed;
  const int t = threadIdx.x, first = blockIdx.x * 256;
  const int edges = 1 + (index[first + t] & 7);
  distance[t] = t == 0 ? 0 : 1 << 20;
  do {
    __syncthreads();
    if (t == 0) changed = 0;
    __syncthreads();
    const int here = distance[t];
    if (here < 1 << 20) {
      for (int i = 0; i < edges; ++i) {
        int to, length;
        Edge(index, first + t, i, n, to, length);
        if (atomicMin(&distance[to], here + length) > here + length)
          changed = 1;
      }
    }
    __syncthreads();
  } while (changed);
  out[Global()] = (float)distance[t];
}

EXPECTED(shortest_ways) {
  for (int first = 0; first < n; first += 256) {
    std::vector<int> distance(256, 1 << 20);
    distance[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (int t = 0; t < 256; ++t) {
        if (distance[t] == 1 << 20) continue;
        for (int i = 0; i <= (index[first + t] & 7); ++i) {
          int to, length;
          Edge(index, first + t, i, n, to, length);
          if (distance[t] + length >= distance[to]) continue;
          distance[to] = distance[t] + length;
          changed = true;
        }
      }
    }
    std::copy(distance.begin(), distance.end(), out + first);
  }
}

// How far along a ray node `i` of a tree of spheres is met; beyond 1e29 not.
BOTH float Meets(const float* a, int i, float x, float y, float dx, float dy,
                 int n) {
  const int level = 31 - LeadingZeros(i + 1);
  const float px = 4 * a[(i * 3) & (n - 1)] - x,
              py = 4 * a[(i * 3 + 1) & (n - 1)] - y,
              pz = 4 * a[(i * 3 + 2) & (n - 1)];
  const float along = px * dx + py * dy + pz;
  const float size = dx * dx + dy * dy + 1;
  const float reach = 4 - 0.4f * level;
  const float off =
      along * along - size * (px * px + py * py + pz * pz - reach * reach);
  return off < 0 ? 2e30f : along - sqrtf(off);
}

// The nearest leaf that a ray meets, with a stack of its own.
BOTH float Walk(int t, const float* a, const float* b, const int*, int n) {
  const float x = 4 * b[t], y = 4 * a[t];
  const float dx = b[(t + 7) & (n - 1)] - 0.5f,
              dy = a[(t + 3) & (n - 1)] - 0.5f;
  int stack[12], height = 0, node = 0, visited = 0;
  float nearest = 1e30f;
  for (;;) {
    ++visited;
    if (node >= 127) {
      nearest = fminf(nearest, Meets(a, node, x, y, dx, dy, n));
    } else {
      int close = 2 * node + 1, other = close + 1;
      float one = Meets(a, close, x, y, dx, dy, n);
      float two = Meets(a, other, x, y, dx, dy, n);
      if (two < one) {
        const float s = one;
        one = two, two = s;
        ++close, --other;
      }
      if (two < nearest) stack[height++] = other;
      if (one < nearest) {
        node = close;
        continue;
      }
    }
    if (height == 0) break;
    node = stack[--height];
  }
  return (nearest < 1e29f ? nearest : 0) + 0.001f * visited;
}

KERNEL(tree_walk) { out[Global()] = Walk(Global(), a, b, index, n); }
EXPECTED_OF_EACH(tree_walk, Walk)

// ---- Pictures ---------------------------------------------------------------

// A convolution of 3 x 3 over eight channels, by Winograd's products of 4 x 4.
BOTH float Winograd(int t, const float* a, const float* b, const int*, int n) {
  float sums[4][4] = {};
#pragma unroll 1
  for (int channel = 0; channel < 8; ++channel) {
    float d[4][4], g[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        d[i][j] = a[(t * 2 + channel * 173 + i * 64 + j) & (n - 1)];
    }
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const float x = b[channel * 9 + j], y = b[channel * 9 + 3 + j],
                  z = b[channel * 9 + 6 + j];
      g[0][j] = x, g[1][j] = 0.5f * (x + y + z);
      g[2][j] = 0.5f * (x - y + z), g[3][j] = z;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float x = g[i][0], y = g[i][1], z = g[i][2];
      g[i][1] = 0.5f * (x + y + z), g[i][2] = 0.5f * (x - y + z), g[i][3] = z;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float w = d[0][j], x = d[1][j], y = d[2][j], z = d[3][j];
      d[0][j] = w - y, d[1][j] = x + y, d[2][j] = y - x, d[3][j] = x - z;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float w = d[i][0], x = d[i][1], y = d[i][2], z = d[i][3];
      sums[i][0] = fmaf(w - y, g[i][0], sums[i][0]);
      sums[i][1] = fmaf(x + y, g[i][1], sums[i][1]);
      sums[i][2] = fmaf(y - x, g[i][2], sums[i][2]);
      sums[i][3] = fmaf(x - z, g[i][3], sums[i][3]);
    }
  }
  float result = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float upper = sums[0][j] + sums[1][j] + sums[2][j],
                lower = sums[1][j] - sums[2][j] - sums[3][j];
    result += j < 3 ? upper + 2 * lower : 0.f;
    result += j == 0 ? 0.f : (j == 1 ? 3.f : -3.f) * upper;
  }
  return result;
}

KERNEL(winograd) { out[Global()] = Winograd(Global(), a, b, index, n); }
EXPECTED_OF_EACH(winograd, Winograd)

static const Entry kEntries[] = {
    CHECKED(keccak, 0),        CHECKED(table_cipher, 0),
    CHECKED(radix_digits, 0),  CHECKED(align, 0),
    CHECKED(bit_stream, 0),    CHECKED(shortest_ways, 0),
    CHECKED(tree_walk, 2e-3f), CHECKED(winograd, 1e-3f)};

int main() { return RunAll(kEntries); }
