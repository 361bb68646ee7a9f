// Relaxed and volatile accesses of 16 bytes are seen whole, as CUB's look-back
// counts on: a state and a value that one instruction writes.
//
// RUN: %check %s %t -arch=sm_80
#include "program.h"

struct alignas(16) Both {
  unsigned long long a, b;
};

template <int kHow>
__device__ void Store(Both* to, Both v) {
  if (kHow == 0) {
    asm volatile("st.relaxed.gpu.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(v.a),
                 "l"(v.b)
                 : "memory");
  } else if (kHow == 1) {
    asm volatile("st.volatile.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to),
                 "r"(unsigned(v.a)), "r"(unsigned(v.a >> 32)),
                 "r"(unsigned(v.b)), "r"(unsigned(v.b >> 32))
                 : "memory");
  } else {
    asm volatile(
        "{.reg .b128 t; mov.b128 t, {%1, %2}; st.release.gpu.b128 [%0], t;}" ::
            "l"(to),
        "l"(v.a), "l"(v.b)
        : "memory");
  }
}
template <int kHow>
__device__ Both Load(const Both* from) {
  Both v;
  if (kHow == 0) {
    asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];"
                 : "=l"(v.a), "=l"(v.b)
                 : "l"(from)
                 : "memory");
  } else if (kHow == 1) {
    unsigned w[4];
    asm volatile("ld.volatile.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "l"(from)
                 : "memory");
    v.a = w[0] | static_cast<unsigned long long>(w[1]) << 32;
    v.b = w[2] | static_cast<unsigned long long>(w[3]) << 32;
  } else {
    asm volatile(
        "{.reg .b128 t; ld.acquire.gpu.b128 t, [%2]; mov.b128 {%0, %1}, t;}"
        : "=l"(v.a), "=l"(v.b)
        : "l"(from)
        : "memory");
  }
  return v;
}

// Of each pair of blocks one writes what the other reads.
template <int kHow>
__global__ void Race(Both* at, int rounds, int* torn) {
  Both* mine = at + blockIdx.x / 2 * blockDim.x + threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
    if (blockIdx.x % 2 == 0) {
      const unsigned long long v = (i + 1) * 0x9e3779b97f4a7c15ull;
      Store<kHow>(mine, {v, ~v});
    } else {
      const Both v = Load<kHow>(mine);
      if (v.a != ~v.b) atomicAdd(torn, 1);
    }
  }
}

template <int kHow>
void Check() {
  constexpr int kPairs = 4, kThreads = 64;
  Both* at = ToDevice(std::vector<Both>(kPairs * kThreads, Both{0, ~0ull}));
  int* torn = ToDevice(std::vector<int>{0});
  Race<kHow><<<2 * kPairs, kThreads>>>(at, 2000, torn);
  EXPECT(ToHost(torn, 1)[0] == 0);
}

int main() {
  Check<0>();
  Check<1>();
#if __CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ >= 3
  Check<2>();
#endif
  return Pass();
}
