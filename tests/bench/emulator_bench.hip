// How fast the emulator is: one loop per kind of instruction, and a matrix
// product against the same loop on the host.
//
//   CERBERUS_EMU_TARGETS=gfx1100 CERBERUS_EMU_THREADS=1 emulator_bench [NAME]
//
// prints the seconds of every kernel (of one, if named), best of several
// launches: processor time of the loops, so that a busy machine does not
// matter much, and wall time of the matrix product. How many
// instructions that were is in the counters of CERBERUS_EMU_STATS; run.py puts
// the two together. Counting costs time, so it has a run of its own.
#include "mini_hip.h"

#include <time.h>

typedef _Float16 Half2 __attribute__((ext_vector_type(2)));

constexpr unsigned kBlock = 256, kGroups = 32;
constexpr unsigned kLanes = kBlock * kGroups;

// Eight independent chains in every loop, as unrolled code has them.
#define EIGHT(statement)                                                 \
  _Pragma("unroll") for (int k = 0; k < 8; ++k) { statement; }
#define LOOP(body)                                                       \
  _Pragma("nounroll") for (int i = 0; i < n; ++i) {                      \
    _Pragma("unroll") for (int repeat = 0; repeat < 4; ++repeat) { body } \
  }

__global__ void fma_f32(float* data, int n) {
  float a[8], b = data[GlobalX()], c = b + 1;
  EIGHT(a[k] = b + k)
  LOOP(EIGHT(a[k] = __builtin_fmaf(a[k], b, c)))
  float sum = 0;
  EIGHT(sum += a[k])
  data[GlobalX()] = sum;
}

__global__ void integer(uint32_t* data, int n) {
  uint32_t a[8], b = data[GlobalX()] | 1;
  EIGHT(a[k] = b + k)
  LOOP(EIGHT(a[k] = (a[k] ^ (a[k] >> 5)) + b) EIGHT(a[k] = a[k] * b))
  uint32_t sum = 0;
  EIGHT(sum += a[k])
  data[GlobalX()] = sum;
}

__global__ void fma_f16(Half2* data, int n) {
  Half2 a[8], b = data[GlobalX()], c = b + (_Float16)1;
  EIGHT(a[k] = b + (_Float16)k)
  LOOP(EIGHT(a[k] = __builtin_elementwise_fma(a[k], b, c)))
  Half2 sum = 0;
  EIGHT(sum += a[k])
  data[GlobalX()] = sum;
}

__global__ void fma_f64(double* data, int n) {
  double a[8], b = data[GlobalX()], c = b + 1;
  EIGHT(a[k] = b + k)
  LOOP(EIGHT(a[k] = __builtin_fma(a[k], b, c)))
  double sum = 0;
  EIGHT(sum += a[k])
  data[GlobalX()] = sum;
}

__global__ void lds(uint32_t* data, int n) {
  __shared__ uint32_t window[2048];
  uint32_t at = ThreadX(), sum = 0;
  EIGHT(window[at + 256 * k] = data[GlobalX()] + k)
  SyncThreads();
  // The texts between keep the loads and stores where they are.
  LOOP(EIGHT(sum += window[at + 256 * k]) asm volatile("" ::: "memory");
       EIGHT(window[at + 256 * k] = sum + k) asm volatile("" ::: "memory");)
  data[GlobalX()] = sum;
}

__global__ void global(uint32_t* data, int n) {
  volatile uint32_t* at = data + GlobalX();
  uint32_t sum = 0;
  LOOP(EIGHT(sum += at[kLanes * k]) EIGHT(at[kLanes * k] = sum + k))
  data[GlobalX()] = sum;
}

// The same LDS through flat addresses.
__global__ void flat(uint32_t* data, int n) {
  __shared__ uint32_t window[2048];
  volatile uint32_t* at = &window[ThreadX()];
  uint32_t sum = 0;
  EIGHT(at[256 * k] = data[GlobalX()] + k)
  SyncThreads();
  LOOP(EIGHT(sum += at[256 * k]) EIGHT(at[256 * k] = sum + k))
  data[GlobalX()] = sum;
}

__global__ void transcendental(float* data, int n) {
  float a[8], b = data[GlobalX()];
  EIGHT(a[k] = b + k + 1)
  LOOP(EIGHT(a[k] = __builtin_amdgcn_rcpf(a[k]))
           EIGHT(a[k] = __builtin_amdgcn_exp2f(a[k]))
               EIGHT(a[k] = __builtin_amdgcn_sqrtf(a[k]))
                   EIGHT(a[k] = __builtin_amdgcn_sinf(a[k]) + 2))
  float sum = 0;
  EIGHT(sum += a[k])
  data[GlobalX()] = sum;
}

__global__ void dpp(int* data, int n) {
  int a[8], b = data[GlobalX()];
  EIGHT(a[k] = b + k)
  // quad_perm:[1,0,3,2] and row_ror:3.
  LOOP(EIGHT(a[k] += __builtin_amdgcn_update_dpp(0, a[k], 0xb1, 15, 15, true))
           EIGHT(a[k] ^= __builtin_amdgcn_update_dpp(0, a[k], 0x123, 15, 15,
                                                     true)))
  int sum = 0;
  EIGHT(sum += a[k])
  data[GlobalX()] = sum;
}

__global__ void permute(int* data, int n) {
  int a[8], b = data[GlobalX()];
  const int from = static_cast<int>(((LaneId() * 5 + 1) % WaveSize()) * 4);
  EIGHT(a[k] = b + k)
  LOOP(EIGHT(a[k] += __builtin_amdgcn_ds_bpermute(from, a[k])))
  int sum = 0;
  EIGHT(sum += a[k])
  data[GlobalX()] = sum;
}

__global__ void atomics(uint32_t* data, int n) {
  __shared__ uint32_t bins[256];
  bins[ThreadX()] = 0;
  SyncThreads();
  const uint32_t at = ThreadX() * 7 & 255;
  LOOP(EIGHT(__hip_atomic_fetch_add(&bins[at ^ k], at, __ATOMIC_RELAXED,
                                    __HIP_MEMORY_SCOPE_WORKGROUP))
           EIGHT(__hip_atomic_fetch_add(&data[GlobalX() ^ k], at,
                                        __ATOMIC_RELAXED,
                                        __HIP_MEMORY_SCOPE_AGENT)))
  SyncThreads();
  data[GlobalX()] = bins[ThreadX()];
}

// A product of 16x16 matrices of f16, summed up in f32, where there is one.
__global__ void matrix(float* data, int n) {
  typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
  typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
  typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
  typedef float Float8 __attribute__((ext_vector_type(8)));
  typedef float Float4 __attribute__((ext_vector_type(4)));
#if defined(__GFX11__)
  Half16 a = (_Float16)data[GlobalX()];
  Float8 sum = {};
  LOOP(sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, a, sum);)
#elif defined(__GFX12__)
  Half8 a = (_Float16)data[GlobalX()];
  Float8 sum = {};
  LOOP(sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, a, sum);)
#elif defined(__GFX9__)
  Half4 a = (_Float16)data[GlobalX()];
  Float4 sum = {};
  LOOP(sum = __builtin_amdgcn_mfma_f32_16x16x16f16(a, a, sum, 0, 0, 0);)
#else
  float sum[1] = {};
#endif
  data[GlobalX()] = sum[0];
}

// The loop that AMD publishes a time of its own emulator for: 512 workgroups of
// one wave, 128 iterations of four independent products of f16.
constexpr unsigned kMatrixGroups = 512, kMatrixIterations = 128;
__global__ void matrix_loop(float* data) {
#if defined(__GFX11__) || defined(__GFX12__)
  typedef float Float8 __attribute__((ext_vector_type(8)));
#if defined(__GFX11__)
  typedef _Float16 Half __attribute__((ext_vector_type(16)));
#define PRODUCT __builtin_amdgcn_wmma_f32_16x16x16_f16_w32
#else
  typedef _Float16 Half __attribute__((ext_vector_type(8)));
#define PRODUCT __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12
#endif
  Half a = (_Float16)data[GlobalX()];
  Float8 sum[4] = {};
  _Pragma("nounroll") for (unsigned i = 0; i < kMatrixIterations; ++i) {
    for (Float8& s : sum) s = PRODUCT(a, a, s);
  }
  data[GlobalX()] = sum[0][0] + sum[1][0] + sum[2][0] + sum[3][0];
#endif
}

constexpr int kSize = 512, kTile = 32, kRows = 4;

// A tile of 32 x 32; each thread has four of its elements.
__global__ void matmul(const float* a, const float* b, float* c) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int x = ThreadX() % kTile, y = ThreadX() / kTile * kRows;
  const int row = BlockY() * kTile + y, column = BlockX() * kTile + x;
  float sum[kRows] = {};
  for (int k0 = 0; k0 < kSize; k0 += kTile) {
    for (int r = 0; r < kRows; ++r) {
      tile_a[y + r][x] = a[(row + r) * kSize + k0 + x];
      tile_b[y + r][x] = b[(k0 + y + r) * kSize + column];
    }
    SyncThreads();
    for (int k = 0; k < kTile; ++k) {
      for (int r = 0; r < kRows; ++r) {
        sum[r] = __builtin_fmaf(tile_a[y + r][k], tile_b[k][x], sum[r]);
      }
    }
    SyncThreads();
  }
  for (int r = 0; r < kRows; ++r) c[(row + r) * kSize + column] = sum[r];
}

// The same loop nest, one "thread" after the other.
void HostMatmul(const float* a, const float* b, float* c) {
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      float sum = 0;
      for (int k = 0; k < kSize; ++k) {
        sum += a[row * kSize + k] * b[k * kSize + column];
      }
      c[row * kSize + column] = sum;
    }
  }
}

double Now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

template <typename F>
double BestSeconds(clockid_t clock, F&& run) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = Now(clock);
    run();
    const double time = Now(clock) - begin;
    best = time < best ? time : best;
  }
  return best;
}

const char* only = nullptr;
bool Wanted(const char* name) {
  return only == nullptr || strcmp(only, name) == 0;
}

template <typename T>
void Measure(const char* name, void (*kernel)(T*, int), int n) {
  if (!Wanted(name)) return;
  Buffer<uint32_t> data(std::vector<uint32_t>(kLanes * 16, 0));
  const double seconds = BestSeconds(CLOCK_PROCESS_CPUTIME_ID, [&] {
    kernel<<<kGroups, kBlock>>>((T*)data.data, n);
    CHECK_HIP(hipDeviceSynchronize());
  });
  printf("%s %.6f\n", name, seconds);
}

void MeasureMatmul() {
  if (!Wanted("matmul")) return;
  std::vector<float> a(kSize * kSize), b(kSize * kSize), expected(a.size());
  Random random;
  // Small whole numbers: every sum is exact, in whatever order.
  for (float& v : a) v = (float)(random.Next() % 17) - 8;
  for (float& v : b) v = (float)(random.Next() % 17) - 8;
  Buffer<float> da(a), db(b), dc(a.size());
  const dim3 grid(kSize / kTile, kSize / kTile);
  const double emulated = BestSeconds(CLOCK_MONOTONIC, [&] {
    matmul<<<grid, kTile * kTile / kRows>>>(da.data, db.data, dc.data);
    CHECK_HIP(hipDeviceSynchronize());
  });
  const double host = BestSeconds(CLOCK_MONOTONIC, [&] {
    HostMatmul(a.data(), b.data(), expected.data());
  });
  EXPECT(dc.Read() == expected, "the product is wrong");
  printf("matmul %.6f\nmatmul_host %.6f\n", emulated, host);
}

void MeasureMatrixLoop() {
  if (!Wanted("matrix_loop")) return;
  Buffer<float> data(std::vector<float>(kMatrixGroups * 32, 0));
  const double seconds = BestSeconds(CLOCK_PROCESS_CPUTIME_ID, [&] {
    matrix_loop<<<kMatrixGroups, 32>>>(data.data);
    CHECK_HIP(hipDeviceSynchronize());
  });
  printf("matrix_loop %.6f\n", seconds);
}

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  constexpr int kLoops = 100;
  Measure("fma_f32", fma_f32, kLoops);
  Measure("integer", integer, kLoops / 2);
  Measure("fma_f16", fma_f16, kLoops);
  Measure("fma_f64", fma_f64, kLoops);
  Measure("lds", lds, kLoops / 2);
  Measure("global", global, kLoops / 2);
  Measure("flat", flat, kLoops / 2);
  Measure("transcendental", transcendental, kLoops / 10);
  Measure("dpp", dpp, kLoops / 2);
  Measure("permute", permute, kLoops / 2);
  Measure("atomics", atomics, kLoops / 10);
  Measure("matrix", matrix, kLoops / 2);
  MeasureMatrixLoop();
  MeasureMatmul();
  return 0;
}
