// Every atomic operation of HIP on global memory and LDS, 32 and 64 bits,
// with and without the old value.
#include "mini_hip.h"

#define SCOPE __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT

struct Result {
  int add, sub, min, max, and_, or_, xor_, exchange, cas;
  unsigned umin, umax;
  long long add64, min64, max64, xor64, cas64;
  unsigned long long umax64;
  float fadd;
  double dadd;
};

template <typename R>
__device__ void Apply(R* r, int i) {
  __hip_atomic_fetch_add(&r->add, i, SCOPE);
  __hip_atomic_fetch_sub(&r->sub, i, SCOPE);
  __hip_atomic_fetch_min(&r->min, i - 50, SCOPE);
  __hip_atomic_fetch_max(&r->max, i - 50, SCOPE);
  __hip_atomic_fetch_and(&r->and_, ~(1 << (i & 31)), SCOPE);
  __hip_atomic_fetch_or(&r->or_, 1 << (i & 31), SCOPE);
  __hip_atomic_fetch_xor(&r->xor_, i * 77, SCOPE);
  __hip_atomic_fetch_min(&r->umin, 0xfffffff0u - i, SCOPE);
  __hip_atomic_fetch_max(&r->umax, 0x80000000u + i, SCOPE);
  __hip_atomic_fetch_add(&r->add64, (long long)i << 33, SCOPE);
  __hip_atomic_fetch_min(&r->min64, -((long long)i << 40), SCOPE);
  __hip_atomic_fetch_max(&r->max64, (long long)i << 40, SCOPE);
  __hip_atomic_fetch_xor(&r->xor64, (long long)i << 31, SCOPE);
  __hip_atomic_fetch_max(&r->umax64, ~0ull - i, SCOPE);
  __hip_atomic_fetch_add(&r->fadd, (float)i, SCOPE);
  __hip_atomic_fetch_add(&r->dadd, i * 0.5, SCOPE);
  // Each of these loops adds one, by compare and swap.
  int seen = __hip_atomic_load(&r->cas, SCOPE);
  while (!__hip_atomic_compare_exchange_strong(
      &r->cas, &seen, seen + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
      __HIP_MEMORY_SCOPE_AGENT)) {
  }
  long long seen64 = __hip_atomic_load(&r->cas64, SCOPE);
  while (!__hip_atomic_compare_exchange_strong(
      &r->cas64, &seen64, seen64 + (1ll << 35), __ATOMIC_RELAXED,
      __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
  }
}

__global__ void Global(Result* r, int* exchanged) {
  Apply(r, GlobalX());
  exchanged[GlobalX()] =
      __hip_atomic_exchange(&r->exchange, (int)GlobalX() + 1, SCOPE);
}

__global__ void Local(Result* out, const Result* initial) {
  __shared__ Result r;
  if (ThreadX() == 0) r = *initial;
  SyncThreads();
  Apply(&r, ThreadX());
  SyncThreads();
  if (ThreadX() == 0) *out = r;
}

Result Expected(int n) {
  Result r = {};
  r.and_ = -1;
  r.umin = ~0u;
  r.min64 = 0;
  for (int i = 0; i < n; ++i) {
    r.add += i;
    r.sub -= i;
    r.min = i - 50 < r.min ? i - 50 : r.min;
    r.max = i - 50 > r.max ? i - 50 : r.max;
    r.and_ &= ~(1 << (i & 31));
    r.or_ |= 1 << (i & 31);
    r.xor_ ^= i * 77;
    r.umin = 0xfffffff0u - i < r.umin ? 0xfffffff0u - i : r.umin;
    r.umax = 0x80000000u + i > r.umax ? 0x80000000u + i : r.umax;
    r.add64 += (long long)i << 33;
    long long w = (long long)i << 40;
    r.min64 = -w < r.min64 ? -w : r.min64;
    r.max64 = w > r.max64 ? w : r.max64;
    r.xor64 ^= (long long)i << 31;
    r.umax64 = ~0ull - i > r.umax64 ? ~0ull - i : r.umax64;
    r.fadd += (float)i;
    r.dadd += i * 0.5;
    r.cas += 1;
    r.cas64 += 1ll << 35;
  }
  return r;
}

void Compare(const char* what, const Result& a, const Result& b) {
#define SAME(field) \
  EXPECT(a.field == b.field, "%s %s: %g, host %g", what, #field, \
         (double)a.field, (double)b.field)
  SAME(add); SAME(sub); SAME(min); SAME(max); SAME(and_); SAME(or_);
  SAME(xor_); SAME(umin); SAME(umax); SAME(add64); SAME(min64); SAME(max64);
  SAME(xor64); SAME(umax64); SAME(fadd); SAME(dadd); SAME(cas); SAME(cas64);
}

int main() {
  Result initial = {};
  initial.and_ = -1;
  initial.umin = ~0u;
  Buffer<Result> r(std::vector<Result>{initial}), local(1),
      start(std::vector<Result>{initial});
  Buffer<int> exchanged(512);
  Global<<<4, 128>>>(r.data, exchanged.data);
  Local<<<1, 256>>>(local.data, start.data);
  Compare("global", r.Read()[0], Expected(512));
  Compare("LDS", local.Read()[0], Expected(256));
  // Each value that was put in comes out once, but for the last.
  std::vector<bool> seen(513, false);
  for (int v : exchanged.Read()) {
    EXPECT(v >= 0 && v <= 512 && !seen[v], "exchange gave %d twice", v);
    seen[v] = true;
  }
  EXPECT(!seen[r.Read()[0].exchange], "last exchanged value seen before");
  return Pass();
}
