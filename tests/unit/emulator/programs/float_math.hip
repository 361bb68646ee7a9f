// Floating point that IEEE 754 defines to the last bit: the same on host and
// device, denormals included.
#include "mini_hip.h"

template <typename T>
struct Out {
  T add, sub, mul, div, fma, sqrt, min, max, floor, ceil, trunc, rint, ldexp;
  int to_int;
  unsigned to_unsigned;
  float to_float;
  double to_double;
  T from_int, from_unsigned, from_long;
  int less, equal, unordered;
};

template <typename T>
__host__ __device__ inline Out<T> Compute(T a, T b, T c, int k) {
  Out<T> o;
  o.add = a + b;
  o.sub = a - b;
  o.mul = a * b;
  o.div = a / b;
  o.fma = __builtin_elementwise_fma(a, b, c);
  o.sqrt = __builtin_elementwise_sqrt(__builtin_elementwise_abs(a));
  o.min = a < b ? a : b;
  o.max = a > b ? a : b;
  o.floor = __builtin_elementwise_floor(a);
  o.ceil = __builtin_elementwise_ceil(a);
  o.trunc = __builtin_elementwise_trunc(a);
  o.rint = __builtin_elementwise_roundeven(a);
  o.ldexp = a * (T)0.5f;
  T small = a > (T)-60000.0f && a < (T)60000.0f ? a : (T)1.0f;
  o.to_int = (int)small;
  o.to_unsigned = (unsigned)__builtin_elementwise_abs(small);
  o.to_float = (float)a;
  o.to_double = (double)a;
  o.from_int = (T)k;
  o.from_unsigned = (T)(unsigned)k;
  o.from_long = (T)((long long)k * 1000003);
  o.less = a < b;
  o.equal = a == b;
  o.unordered = a != a || b != b;
  return o;
}

template <typename T>
__global__ void Kernel(const T* a, const T* b, const T* c, const int* k,
                       Out<T>* out) {
  unsigned i = GlobalX();
  out[i] = Compute(a[i], b[i], c[i], k[i]);
}

template <typename T>
bool Same(T a, T b) {
  return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

template <typename T, typename Bits>
void Run(const char* name, const std::vector<Bits>& edges, bool exact_wide) {
  const unsigned n = 1024;
  Random random;
  std::vector<T> a(n), b(n), c(n);
  std::vector<int> k(n);
  auto value = [&](unsigned i, unsigned slot) {
    Bits bits = (Bits)((uint64_t)random.Next() << 32 | random.Next());
    if (random.Next() % 3 == 0) bits = edges[random.Next() % edges.size()];
    T x;
    memcpy(&x, &bits, sizeof x);
    if (random.Next() % 3 == 0) x = (T)((random.Unit() - 0.5f) * 2000);
    return x;
  };
  for (unsigned i = 0; i < n; ++i) {
    a[i] = value(i, 0);
    b[i] = value(i, 1);
    c[i] = value(i, 2);
    k[i] = (int)random.Next() >> random.Next() % 20;
  }
  Buffer<T> da(a), db(b), dc(c);
  Buffer<int> dk(k);
  Buffer<Out<T>> out(n);
  Kernel<T><<<8, n / 8>>>(da.data, db.data, dc.data, dk.data, out.data);
  std::vector<Out<T>> got = out.Read();
  for (unsigned i = 0; i < n; ++i) {
    Out<T> h = Compute(a[i], b[i], c[i], k[i]);
    const Out<T>& g = got[i];
#define SAME(f)                                                              \
  EXPECT(Same(g.f, h.f), "%s " #f " of %a, %a, %a, %d: %a, host %a", name, \
         (double)a[i], (double)b[i], (double)c[i], k[i], (double)g.f,        \
         (double)h.f)
    SAME(add); SAME(sub); SAME(mul); SAME(min); SAME(max);
    SAME(floor); SAME(ceil); SAME(trunc); SAME(rint); SAME(ldexp);
    SAME(to_int); SAME(to_unsigned); SAME(to_float); SAME(to_double);
    SAME(from_int); SAME(from_unsigned); SAME(less); SAME(equal);
    SAME(unordered);
    if (exact_wide) {
      SAME(div); SAME(fma); SAME(sqrt); SAME(from_long);
    }
  }
}

int main() {
  Run<float, uint32_t>(
      "f32", {0, 0x80000000, 0x3f800000, 1, 0x807fffff, 0x00800000,
              0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x33800000,
              0x4b000000, 0x3effffff, 0x3f000000}, true);
  Run<double, uint64_t>(
      "f64", {0, 1ull << 63, 0x3ff0000000000000, 1, 0x800fffffffffffff,
              0x0010000000000000, 0x7fefffffffffffff, 0x7ff0000000000000,
              0xfff0000000000000, 0x7ff8000000000000, 0x3fe0000000000000,
              0x36a0000000000000, 0x380fffffffffffff}, true);
  return Pass();
}
