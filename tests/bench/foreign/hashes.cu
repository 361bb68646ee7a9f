// Hash tables with linear probing and cuckoo hashing, Bloom filters, digests
// (SHA-256, MD5, CRC-32), AES by tables, alignment of sequences, words.
#include <cstdint>

__device__ uint32_t Mix(uint32_t k) {
  k ^= k >> 16, k *= 0x85ebca6bu, k ^= k >> 13, k *= 0xc2b2ae35u;
  return k ^ k >> 16;
}

struct Slot {
  uint32_t key, value;
};
constexpr uint32_t kEmpty = 0xffffffffu;

__global__ void Insert(Slot* table, const Slot* items, uint32_t capacity,
                       int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t at = Mix(items[i].key) & (capacity - 1);
  while (true) {
    const uint32_t seen = atomicCAS(&table[at].key, kEmpty, items[i].key);
    if (seen == kEmpty || seen == items[i].key) {
      table[at].value = items[i].value;
      return;
    }
    at = (at + 1) & (capacity - 1);
  }
}
__global__ void Find(const Slot* table, Slot* items, uint32_t capacity, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t at = Mix(items[i].key) & (capacity - 1);
  for (;; at = (at + 1) & (capacity - 1)) {
    if (table[at].key == items[i].key) {
      items[i].value = table[at].value;
      return;
    }
    if (table[at].key == kEmpty) {
      items[i].value = kEmpty;
      return;
    }
  }
}
__global__ void Cuckoo(unsigned long long* table, const uint32_t* keys,
                       const uint32_t* values, const uint2* seeds, int* failed,
                       uint32_t size, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long entry = (unsigned long long)keys[i] << 32 | values[i];
  const auto place = [&](uint32_t key, int f) {
    return (seeds[f].x * key + seeds[f].y) % 4294967291u % size;
  };
  uint32_t at = place(keys[i], 0);
  for (int round = 0; round < 64; ++round) {
    entry = atomicExch(&table[at], entry);
    const uint32_t key = entry >> 32;
    if (key == kEmpty) return;
    int next = 0;
#pragma unroll
    for (int f = 0; f < 4; ++f) {
      if (place(key, f) == at) next = (f + 1) % 4;
    }
    at = place(key, next);
  }
  atomicAdd(failed, 1);
}
__global__ void Bloom(uint32_t* bits, const uint64_t* keys, uint32_t words,
                      int* found, bool insert, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bool all = true;
#pragma unroll
  for (int k = 0; k < 7; ++k) {
    const uint32_t h = Mix((uint32_t)keys[i] + k * 0x9e3779b9u) ^
                       Mix((uint32_t)(keys[i] >> 32) * (2 * k + 1));
    const uint32_t word = h / 32 % words, bit = 1u << h % 32;
    if (insert) {
      atomicOr(&bits[word], bit);
    } else {
      all &= (bits[word] & bit) != 0;
    }
  }
  if (!insert) found[i] = all;
}

__constant__ uint32_t sha[64], md5[64];
__constant__ unsigned char md5_shifts[64];

template <bool kUnrolled>
__global__ void Sha256(const uint32_t* messages, uint32_t* digests, int blocks,
                       int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto rotate = [](uint32_t x, int by) {
    return __funnelshift_r(x, x, by);
  };
  for (int block = 0; block < blocks; ++block) {
    uint32_t w[16];
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      w[t] = __byte_perm(messages[(i * blocks + block) * 16 + t], 0, 0x0123);
    }
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5],
             g = h[6], k = h[7];
    const auto round = [&](int t) {
      if (t >= 16) {
        const uint32_t w15 = w[(t - 15) & 15], w2 = w[(t - 2) & 15];
        w[t & 15] += (rotate(w15, 7) ^ rotate(w15, 18) ^ w15 >> 3) +
                     w[(t - 7) & 15] +
                     (rotate(w2, 17) ^ rotate(w2, 19) ^ w2 >> 10);
      }
      const uint32_t t1 = k + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                          ((e & f) ^ (~e & g)) + sha[t] + w[t & 15];
      const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                          ((a & b) ^ (a & c) ^ (b & c));
      k = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    };
    if (kUnrolled) {
#pragma unroll
      for (int t = 0; t < 64; ++t) round(t);
    } else {
#pragma unroll 16
      for (int t = 0; t < 64; ++t) round(t);
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d;
    h[4] += e, h[5] += f, h[6] += g, h[7] += k;
  }
#pragma unroll
  for (int t = 0; t < 8; ++t) digests[i * 8 + t] = h[t];
}

__global__ void Md5(const uint32_t* messages, uint4* digests, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t m[16];
#pragma unroll
  for (int t = 0; t < 16; ++t) m[t] = messages[t * n + i];
  uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#pragma unroll
  for (int t = 0; t < 64; ++t) {
    uint32_t f;
    int g;
    if (t < 16) f = (b & c) | (~b & d), g = t;
    else if (t < 32) f = (d & b) | (~d & c), g = (5 * t + 1) & 15;
    else if (t < 48) f = b ^ c ^ d, g = (3 * t + 5) & 15;
    else f = c ^ (b | ~d), g = 7 * t & 15;
    f += a + md5[t] + m[g];
    a = d, d = c, c = b;
    b += __funnelshift_l(f, f, md5_shifts[t]);
  }
  digests[i] = make_uint4(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe,
                          d + 0x10325476);
}

__global__ void Crc(const unsigned char* data, const int* offsets,
                    uint32_t* out, int n) {
  __shared__ uint32_t table[256];
  uint32_t entry = threadIdx.x;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
    entry = entry & 1 ? entry >> 1 ^ 0xedb88320u : entry >> 1;
  }
  table[threadIdx.x & 255] = entry;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t crc = ~0u;
  for (int k = offsets[i]; k < offsets[i + 1]; ++k) {
    crc = crc >> 8 ^ table[(crc ^ data[k]) & 255];
  }
  out[i] = ~crc;
}

__constant__ uint32_t round_keys[60], box[256];

template <int kRounds>
__global__ void Aes(const uint4* in, uint4* out, uint64_t counter, int n) {
  __shared__ uint32_t table[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = box[i];
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t s[4] = {(uint32_t)(counter + i), (uint32_t)((counter + i) >> 32), 0,
                   1};
#pragma unroll
  for (int k = 0; k < 4; ++k) s[k] ^= round_keys[k];
#pragma unroll
  for (int r = 1; r < kRounds; ++r) {
    uint32_t t[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const uint32_t a = table[s[k] & 255],
                     b = table[s[(k + 1) & 3] >> 8 & 255],
                     c = table[s[(k + 2) & 3] >> 16 & 255],
                     d = table[s[(k + 3) & 3] >> 24];
      t[k] = a ^ __funnelshift_l(b, b, 8) ^ __funnelshift_l(c, c, 16) ^
             __funnelshift_l(d, d, 24) ^ round_keys[4 * r + k];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) s[k] = t[k];
  }
  const uint4 text = in[i];
  out[i] =
      make_uint4(text.x ^ s[0], text.y ^ s[1], text.z ^ s[2], text.w ^ s[3]);
}

// Smith and Waterman by diagonals, a warp for a pair of sequences.
__global__ void Align(const char* a, const char* b, int* scores, int la, int lb,
                      int match, int mismatch, int open, int extend) {
  const int lane = threadIdx.x;
  a += blockIdx.x * la, b += blockIdx.x * lb;
  int best = 0;
  for (int row = 0; row < la; row += 32) {
    const char mine = row + lane < la ? a[row + lane] : 0;
    int left = 0, diagonal = 0, e = -1000, f = -1000, h = 0;
    for (int step = 0; step < lb + 31; ++step) {
      int up = __shfl_up_sync(~0u, h, 1), uf = __shfl_up_sync(~0u, f, 1);
      if (lane == 0) up = 0, uf = -1000;
      const int column = step - lane;
      if (column >= 0 && column < lb) {
        e = max(left - open, e - extend);
        f = max(up - open, uf - extend);
        const int s = mine == b[column] ? match : -mismatch;
        h = max(max(diagonal + s, 0), max(e, f));
        best = max(best, h);
        left = h;
      }
      diagonal = up;
    }
  }
  best = __reduce_max_sync(~0u, best);
  if (lane == 0) scores[blockIdx.x] = best;
}

__global__ void CountWords(const char* text, int* count, int n) {
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    const auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    mine += letter(text[i]) && (i == 0 || !letter(text[i - 1]));
  }
  mine = __reduce_add_sync(~0u, mine);
  if (threadIdx.x % 32 == 0) atomicAdd(count, mine);
}

template __global__ void Sha256<true>(const uint32_t*, uint32_t*, int, int);
template __global__ void Sha256<false>(const uint32_t*, uint32_t*, int, int);
template __global__ void Aes<10>(const uint4*, uint4*, uint64_t, int);
template __global__ void Aes<14>(const uint4*, uint4*, uint64_t, int);
