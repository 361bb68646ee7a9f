// Jumps by a table, calls of all kinds, memory that a function asks for on its
// stack, and the instructions that only steer: hints, waits and elections.
//
// RUN: %check %s %t -arch=sm_90
#include "program.h"

namespace {

constexpr int kThreads = 96;
constexpr int kResults = 9;

// brx.idx
__device__ int Table(int choice, int x) {
  int result;
  asm("{\n"
      ".reg .u32 k;\n"
      "and.b32 k, %1, 3;\n"
      "targets: .branchtargets A, B, C, D;\n"
      "brx.idx k, targets;\n"
      "A: add.s32 %0, %2, 1; bra.uni end;\n"
      "B: mul.lo.s32 %0, %2, 5; bra.uni end;\n"
      "C: neg.s32 %0, %2; bra.uni end;\n"
      "D: not.b32 %0, %2;\n"
      "end:\n"
      "}"
      : "=r"(result)
      : "r"(choice), "r"(x));
  return result;
}
int HostTable(int choice, int x) {
  const int results[] = {x + 1, x * 5, -x, ~x};
  return results[choice & 3];
}

// alloca in a loop, given back each time.
__device__ unsigned Stack(int rounds) {
  unsigned sum = 0;
  for (int round = 1; round <= rounds; ++round) {
    unsigned last;
    asm volatile(
        "{\n"
        ".reg .u64 top, at, end;\n"
        ".reg .u32 i, value;\n"
        ".reg .pred more;\n"
        "stacksave.u64 top;\n"
        "mul.wide.u32 at, %1, 16;\n"
        "alloca.u64 at, at, 16;\n"
        "mul.wide.u32 end, %1, 16;\n"
        "add.u64 end, end, at;\n"
        "mov.u32 i, %1;\n"
        "again:\n"
        "st.local.u32 [at], i;\n"
        "ld.local.u32 value, [at];\n"
        "add.u32 i, i, value;\n"
        "add.u64 at, at, 16;\n"
        "setp.lt.u64 more, at, end;\n"
        "@more bra again;\n"
        "mov.u32 %0, i;\n"
        "stackrestore.u64 top;\n"
        "}"
        : "=r"(last)
        : "r"(round));
    sum += last;
  }
  return sum;
}
unsigned HostStack(int rounds) {
  unsigned sum = 0;
  for (int round = 1; round <= rounds; ++round) sum += unsigned(round) << round;
  return sum;
}

// Calls: direct, by itself, through a pointer, through a virtual table.
__host__ __device__ int Ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return Ackermann(m - 1, n == 0 ? 1 : Ackermann(m, n - 1));
}
__host__ __device__ __noinline__ int Twice(int x) { return 2 * x; }
__host__ __device__ __noinline__ int Square(int x) { return x * x; }
struct Shape {
  __host__ __device__ virtual int Area() const = 0;
};
struct Rectangle : Shape {
  __host__ __device__ Rectangle(int w, int h) : w(w), h(h) {}
  __host__ __device__ int Area() const override { return w * h; }
  int w, h;
};
struct Triangle : Shape {
  __host__ __device__ explicit Triangle(int s) : s(s) {}
  __host__ __device__ int Area() const override { return s * s / 2; }
  int s;
};
__host__ __device__ int Calls(int i) {
  int (*function)(int) = i % 3 ? Twice : Square;
  const Rectangle rectangle(i, 3);
  const Triangle triangle(i);
  const Shape* shape = &triangle;
  if (i & 4) shape = &rectangle;
  return function(i) + 1000 * shape->Area();
}

__global__ void Run(int* out, int never) {
  extern __shared__ int shared[];
  __shared__ int counted;
  const int i = threadIdx.x;
  int local[4] = {i, i + 1, i + 2, i + 3};
  int* results = out + kResults * i;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  results[0] = Table(i, i * 7 - 50);
  results[1] = Stack(i % 7);
  results[2] = Ackermann(2, i % 5);
  results[3] = Calls(i);

  // Which space an address is in.
  unsigned spaces = 0;
#define SPACE(bit, space, address)                                          \
  asm volatile("{ .reg .pred p; isspacep." space                            \
               " p, %1; @p or.b32 %0, %0, %2; }"                            \
               : "+r"(spaces)                                               \
               : "l"(address), "n"(1 << bit));
  SPACE(0, "global", out) SPACE(1, "global", local) SPACE(2, "global", shared)
  SPACE(3, "local", out) SPACE(4, "local", local) SPACE(5, "local", shared)
  SPACE(6, "shared", out) SPACE(7, "shared", local) SPACE(8, "shared", shared)
  results[4] = int(spaces) + (local[i & 3] << 16);

  // One lane of each warp is chosen, and all know which.
  unsigned leader;
  int chosen;
  asm volatile(
      "{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.b32 %1, 1, 0, p; }"
      : "=r"(leader), "=r"(chosen));
  if (i == 0) counted = 0;
  __syncthreads();
  if (chosen) atomicAdd(&counted, 1);
  __syncthreads();
  results[5] = counted;
  results[6] = chosen == (leader == i % 32u);

  // Hints. What stops a thread stands behind a condition that never holds.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("nanosleep.u32 20;");
  asm volatile("pmevent 1;");
  if (never) asm volatile("brkpt;");
  if (never) asm volatile("trap;");
  results[7] = __reduce_add_sync(~0u, i);
  if (i >= 64) {  // a warp that ends early
    results[8] = -1;
    asm volatile("exit;");
  }
  asm volatile("barrier.sync 1, 64;" ::: "memory");
  results[8] = i;
}

}  // namespace

int main() {
  int* out = ToDevice(std::vector<int>(kThreads * kResults));
  Run<<<1, kThreads, 64>>>(out, 0);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> got = ToHost(out, kThreads * kResults);
  for (int i = 0; i < kThreads; ++i) {
    const int first = i / 32 * 32;
    const int expected[kResults] = {
        HostTable(i, i * 7 - 50),
        int(HostStack(i % 7)),
        Ackermann(2, i % 5),
        Calls(i),
        0x111 + ((i + (i & 3)) << 16),
        kThreads / 32,
        1,
        32 * first + 31 * 16,
        i < 64 ? i : -1};
    for (int k = 0; k < kResults; ++k) {
      if (got[kResults * i + k] == expected[k]) continue;
      std::printf("thread %d, result %d: %d, expected %d\n", i, k,
                  got[kResults * i + k], expected[k]);
      return 1;
    }
  }
  return Pass();
}
