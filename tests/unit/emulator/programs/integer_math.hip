// Integer arithmetic of all widths against the host's.
#include "mini_hip.h"

typedef long long i64;
typedef unsigned long long u64;

struct Out {
  int div, mod;
  unsigned udiv, umod, mulhi, clz, ctz, pop, rev, rot;
  i64 div64, mod64, mul64, ashr;
  u64 udiv64, umod64, umulhi64, shl, shr;
  int clz64, pop64;
  short s16;
  unsigned char u8;
  unsigned bfe, sat, absd;
};

__host__ __device__ inline Out Compute(u64 a, u64 b) {
  Out o = {};
  int x = (int)a, y = (int)b | 1;
  unsigned ux = (unsigned)a, uy = (unsigned)b | 1;
  if (!(x == (int)0x80000000 && y == -1)) {
    o.div = x / y;
    o.mod = x % y;
  }
  o.udiv = ux / uy;
  o.umod = ux % uy;
  o.mulhi = (unsigned)(((u64)ux * uy) >> 32);
  o.clz = ux ? __builtin_clz(ux) : 32;
  o.ctz = ux ? __builtin_ctz(ux) : 32;
  o.pop = __builtin_popcount(ux);
  o.rev = __builtin_bitreverse32(ux);
  o.rot = __builtin_rotateleft32(ux, uy % 32);
  i64 w = (i64)a, v = (i64)b | 1;
  if (!(w == (i64)(1ull << 63) && v == -1)) {
    o.div64 = w / v;
    o.mod64 = w % v;
  }
  o.mul64 = (i64)((u64)w * (u64)v);
  o.ashr = w >> (b % 64);
  o.udiv64 = a / (b | 1);
  o.umod64 = a % (b | 1);
  o.umulhi64 = (u64)(((unsigned __int128)a * b) >> 64);
  o.shl = a << (b % 64);
  o.shr = a >> (b % 64);
  o.clz64 = a ? __builtin_clzll(a) : 64;
  o.pop64 = __builtin_popcountll(a);
  o.s16 = (short)((short)a * (short)b + (short)(a >> 7));
  o.u8 = (unsigned char)((unsigned char)a + (unsigned char)b);
  o.bfe = (ux >> 5) & 0x3ff;
  o.sat = __builtin_elementwise_add_sat(ux, uy);
  o.absd = x > y ? (unsigned)x - (unsigned)y : (unsigned)y - (unsigned)x;
  return o;
}

__global__ void Kernel(const u64* a, const u64* b, Out* out) {
  unsigned i = GlobalX();
  out[i] = Compute(a[i], b[i]);
}

int main() {
  const unsigned n = 512;
  Random random;
  const u64 edges[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff,
                       0x100000000, 0x7fffffffffffffff, 1ull << 63, ~0ull,
                       10, 0xfffffffffffffff6};
  std::vector<u64> a(n), b(n);
  for (unsigned i = 0; i < n; ++i) {
    u64 r = (u64)random.Next() << 32 | random.Next();
    a[i] = i < 144 ? edges[i % 12] : r >> random.Next() % 64;
    r = (u64)random.Next() << 32 | random.Next();
    b[i] = i < 144 ? edges[i / 12] : r >> random.Next() % 64;
  }
  Buffer<u64> da(a), db(b);
  Buffer<Out> out(n);
  CHECK_HIP(hipMemset(out.data, 0, n * sizeof(Out)));
  Kernel<<<4, n / 4>>>(da.data, db.data, out.data);
  std::vector<Out> got = out.Read();
  for (unsigned i = 0; i < n; ++i) {
    Out h = Compute(a[i], b[i]);
    const Out& g = got[i];
#define SAME(f) \
  EXPECT(g.f == h.f, #f " of %llx, %llx: %llx, host %llx", a[i], b[i], \
         (u64)g.f, (u64)h.f)
    SAME(div); SAME(mod); SAME(udiv); SAME(umod); SAME(mulhi); SAME(clz);
    SAME(ctz); SAME(pop); SAME(rev); SAME(rot); SAME(div64); SAME(mod64);
    SAME(mul64); SAME(ashr); SAME(udiv64); SAME(umod64); SAME(umulhi64);
    SAME(shl); SAME(shr); SAME(clz64); SAME(pop64); SAME(s16); SAME(u8);
    SAME(bfe); SAME(sat); SAME(absd);
  }
  return Pass();
}
