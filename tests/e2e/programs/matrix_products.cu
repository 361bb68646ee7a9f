// C = A * B by mma.sync in inline PTX, for each kind of element: fragments as
// the PTX manual's figures lay them, four warps of different tiles in a block.
// Values are small integers, so that every sum is exact.
//
// RUN: %check %s %t -arch=sm_80
#include "program.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int kM = 64, kN = 16;  // of C; a warp has 16 rows

// What a kind of product is made of. An instruction multiplies 16 x kK by
// kK x 8; Code() is an element's bits for a small integer.
struct Half {
  static constexpr int kK = 16, kBits = 16;
  using Sum = float;
  __host__ __device__ static uint64_t Code(int v) {
    return __half_as_ushort(__int2half_rn(v));
  }
  __device__ static void Multiply(Sum (&d)[4], const uint32_t* a,
                                  const uint32_t* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct Bfloat {
  static constexpr int kK = 16, kBits = 16;
  using Sum = float;
  __host__ __device__ static uint64_t Code(int v) {
    return __bfloat16_as_ushort(__float2bfloat16(static_cast<float>(v)));
  }
  __device__ static void Multiply(Sum (&d)[4], const uint32_t* a,
                                  const uint32_t* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct Tf32 {
  static constexpr int kK = 8, kBits = 32;
  using Sum = float;
  __host__ __device__ static uint64_t Code(int v) {
    const float f = static_cast<float>(v);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
  }
  __device__ static void Multiply(Sum (&d)[4], const uint32_t* a,
                                  const uint32_t* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct Bytes {
  static constexpr int kK = 32, kBits = 8;
  using Sum = int;
  __host__ __device__ static uint64_t Code(int v) { return v & 0xff; }
  __device__ static void Multiply(Sum (&d)[4], const uint32_t* a,
                                  const uint32_t* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct Nibbles {
  static constexpr int kK = 64, kBits = 4;
  using Sum = int;
  __host__ __device__ static uint64_t Code(int v) { return v & 0xf; }
  __device__ static void Multiply(Sum (&d)[4], const uint32_t* a,
                                  const uint32_t* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

__host__ __device__ inline int ElementA(int row, int k) {
  return (row * 5 + k * 3) % 7 - 3;
}
__host__ __device__ inline int ElementB(int k, int column) {
  return (k * 11 + column * 2) % 9 - 4;
}

// A register: elements of a line from place k on.
template <typename Kind, typename Element>
__device__ uint32_t Pack(int k, Element element) {
  uint32_t word = 0;
  for (int i = 0; i < 32 / Kind::kBits; ++i) {
    word |= static_cast<uint32_t>(Kind::Code(element(k + i)))
            << (i * Kind::kBits);
  }
  return word;
}

// Every second warp takes twice as many steps: the loops of two warps that
// share a wave end apart.
template <typename Kind>
__global__ void Multiply(typename Kind::Sum* c, int steps) {
  constexpr int kIn = 32 / Kind::kBits;
  const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4;
  const int thread = threadIdx.x % 4;
  const int mine = warp % 2 == 0 ? steps : 2 * steps;
  for (int n = 0; n < kN; n += 8) {
    typename Kind::Sum sums[4] = {};
    for (int step = 0; step < mine; ++step) {
      const int k = step * Kind::kK + thread * kIn;
      uint32_t a[4], b[2];
      for (int i = 0; i < 4; ++i) {
        const int row = 16 * warp + group + i % 2 * 8;
        a[i] = Pack<Kind>(k + i / 2 * 4 * kIn,
                          [&](int at) { return ElementA(row, at); });
      }
      for (int i = 0; i < 2; ++i) {
        b[i] = Pack<Kind>(k + i * 4 * kIn, [&](int at) {
          return ElementB(at, n + group);
        });
      }
      Kind::Multiply(sums, a, b);
    }
    for (int i = 0; i < 4; ++i) {
      c[(16 * warp + group + i / 2 * 8) * kN + n + thread * 2 + i % 2] =
          sums[i];
    }
  }
}

template <typename Kind>
void Check() {
  using Sum = typename Kind::Sum;
  constexpr int kSteps = 2;
  Sum* c = ToDevice(std::vector<Sum>(kM * kN));
  Multiply<Kind><<<1, 2 * kM>>>(c, kSteps);
  const std::vector<Sum> got = ToHost(c, kM * kN);
  for (int i = 0; i < kM; ++i) {
    const int depth = (i / 16 % 2 == 0 ? 1 : 2) * kSteps * Kind::kK;
    for (int j = 0; j < kN; ++j) {
      int want = 0;
      for (int k = 0; k < depth; ++k) want += ElementA(i, k) * ElementB(k, j);
      EXPECT(got[i * kN + j] == static_cast<Sum>(want));
    }
  }
  CHECK(cudaFree(c));
}

// f64: mma.m8n8k4, a warp for 8 rows and 8 columns.
__global__ void MultiplyDoubles(double* c, int depth) {
  const int group = threadIdx.x / 4, thread = threadIdx.x % 4;
  double d0 = 0, d1 = 0;
  for (int k = 0; k < depth; k += 4) {
    const double a = ElementA(group, k + thread);
    const double b = ElementB(k + thread, group);
    asm volatile(
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
        "{%0, %1}, {%2}, {%3}, {%0, %1};\n"
        : "+d"(d0), "+d"(d1)
        : "d"(a), "d"(b));
  }
  c[group * 8 + 2 * thread] = d0;
  c[group * 8 + 2 * thread + 1] = d1;
}

// mma.sp: of every four elements of a row the first and the last are kept.
__global__ void MultiplySparse(float* c) {
  const int group = threadIdx.x / 4, thread = threadIdx.x % 4;
  uint32_t a[4], b[4];
  for (int i = 0; i < 4; ++i) {
    const int row = group + i % 2 * 8;
    const int k = 4 * thread + i / 2 * 16;
    a[i] = static_cast<uint32_t>(Half::Code(ElementA(row, k)) |
                                 Half::Code(ElementA(row, k + 3)) << 16);
    b[i] = Pack<Half>(2 * thread + i * 8,
                      [&](int at) { return ElementB(at, group); });
  }
  float d[4] = {};
  asm volatile(
      "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, "
      "{%0, %1, %2, %3}, %12, 0x0;\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
        "r"(b[2]), "r"(b[3]), "r"(0xccccccccu));
  for (int i = 0; i < 4; ++i) {
    c[(group + i / 2 * 8) * 8 + thread * 2 + i % 2] = d[i];
  }
}

int main() {
  Check<Half>();
  Check<Bfloat>();
  Check<Tf32>();
  Check<Bytes>();
  Check<Nibbles>();

  double* doubles = ToDevice(std::vector<double>(64));
  MultiplyDoubles<<<1, 32>>>(doubles, 16);
  const std::vector<double> of_doubles = ToHost(doubles, 64);
  float* sparse = ToDevice(std::vector<float>(128));
  MultiplySparse<<<1, 32>>>(sparse);
  const std::vector<float> of_sparse = ToHost(sparse, 128);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      int want = 0, want_sparse = 0;
      for (int k = 0; k < 32; ++k) {
        const int product = ElementA(i, k) * ElementB(k, j);
        if (k < 16) want += product;
        if (k % 4 == 0 || k % 4 == 3) want_sparse += product;
      }
      if (i < 8) EXPECT(of_doubles[i * 8 + j] == want);
      EXPECT(of_sparse[i * 8 + j] == want_sparse);
    }
  }
  return Pass();
}
