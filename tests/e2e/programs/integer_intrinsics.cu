// Integer instructions that C++ has no operator for, by CUDA's functions where
// it has one and as PTX where it has none.
//
// RUN: %check %s %t
#include <algorithm>

#include "program.h"

namespace {

constexpr int kResults = 42;
constexpr int kCases = 256;

struct Case {
  std::uint32_t a, b, c;
};

// `code` with operands %1, %2 and %3, and %0 for its result.
#define PTX(result, code, in)              \
  asm(code : "=r"(result) : "r"(in.a), "r"(in.b), "r"(in.c))

__device__ void Compute(const Case& in, std::uint32_t* out) {
  const std::uint32_t a = in.a, b = in.b, c = in.c;
  const int sa = int(a), sb = int(b), sc = int(c);
  int n = 0;
  // CUDA's functions.
  out[n++] = __brev(a);
  out[n++] = __clz(sa);
  out[n++] = __ffs(sa);
  out[n++] = __popc(a);
  out[n++] = __byte_perm(a, b, c);
  out[n++] = __mul24(sa, sb);
  out[n++] = __umul24(a, b);
  out[n++] = __mulhi(sa, sb);
  out[n++] = __umulhi(a, b);
  out[n++] = __sad(sa, sb, c);
  out[n++] = __usad(a, b, c);
  out[n++] = __hadd(sa, sb);
  out[n++] = __urhadd(a, b);
  out[n++] = __funnelshift_l(a, b, c);
  out[n++] = __funnelshift_rc(a, b, c);
  out[n++] = __fns(a, b & 31, int(c % 9) - 4);
  out[n++] = __dp4a(sa, sb, sc);
  out[n++] = __dp4a(a, b, c);
  out[n++] = __dp2a_lo(sa, sb, sc);
  out[n++] = __dp2a_hi(a, b, c);
  // PTX.
  PTX(out[n++], "bfe.u32 %0, %1, %2, %3;", in);
  PTX(out[n++], "bfe.s32 %0, %1, %2, %3;", in);
  PTX(out[n++], "bfi.b32 %0, %1, %2, %3, 7;", in);
  PTX(out[n++], "bfind.u32 %0, %1;", in);
  PTX(out[n++], "bfind.shiftamt.s32 %0, %1;", in);
  PTX(out[n++], "bmsk.clamp.b32 %0, %1, %2;", in);
  PTX(out[n++], "bmsk.wrap.b32 %0, %1, %2;", in);
  PTX(out[n++], "szext.clamp.s32 %0, %1, %2;", in);
  PTX(out[n++], "szext.wrap.u32 %0, %1, %2;", in);
  PTX(out[n++], "cnot.b32 %0, %1;", in);
  PTX(out[n++], "lop3.b32 %0, %1, %2, %3, 0x1d;", in);
  PTX(out[n++], "mul24.lo.s32 %0, %1, %2;", in);
  PTX(out[n++], "mul24.hi.u32 %0, %1, %2;", in);
  PTX(out[n++], "mad24.hi.s32 %0, %1, %2, %3;", in);
  PTX(out[n++], "mad24.lo.u32 %0, %1, %2, %3;", in);
  PTX(out[n++], "prmt.b32.f4e %0, %1, %2, %3;", in);
  PTX(out[n++], "prmt.b32.ecr %0, %1, %2, %3;", in);
  PTX(out[n++], "slct.u32.s32 %0, %1, %2, %3;", in);
  PTX(out[n++], "set.le.u32.s32 %0, %1, %2;", in);
  PTX(out[n++], "add.sat.s32 %0, %1, %2;", in);
  PTX(out[n++], "shf.l.clamp.b32 %0, %1, %2, %3;", in);
  PTX(out[n++],
      "{ .reg .pred p, q; setp.lt.and.u32 p|q, %1, %2, 1; selp.u32 %0, %3, "
      "%1, q; }",
      in);
}

__global__ void Run(const Case* cases, std::uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Compute(cases[i], out + kResults * i);
}

std::int64_t Signed(std::uint32_t value, int bits) {
  const std::int64_t low = value & ((std::uint64_t{1} << bits) - 1);
  return low >> (bits - 1) ? low - (std::int64_t{1} << bits) : low;
}

int HighestBit(std::uint32_t value) {
  int bit = 31;
  while (bit >= 0 && !(value >> bit & 1)) --bit;
  return bit;
}

int Count(std::uint32_t value) {
  int count = 0;
  for (; value; value &= value - 1) ++count;
  return count;
}

// PTX ISA, "bfe": bits beyond the number's are its sign's.
std::uint32_t Field(std::uint32_t a, std::uint32_t start, std::uint32_t length,
                    bool is_signed) {
  start &= 255;
  length &= 255;
  if (length == 0) return 0;
  const std::uint32_t last = start + length - 1 < 31 ? start + length - 1 : 31;
  const bool sign = is_signed && (a >> last & 1);
  std::uint32_t field = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const bool inside = i < length && start + i <= 31;
    const bool bit = inside ? a >> (start + i) & 1 : sign;
    field |= std::uint32_t(bit) << i;
  }
  return field;
}

std::uint32_t Permute(std::uint32_t a, std::uint32_t b,
                      std::uint32_t selector) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const int choice = selector >> (4 * i) & 15;
    std::uint32_t byte = bytes >> (8 * (choice & 7)) & 255;
    if (choice & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

// PTX ISA, "fns": the n-th set bit from `base` on, upwards or downwards.
std::uint32_t NthSet(std::uint32_t mask, int base, int n) {
  if (n == 0) return mask >> base & 1 ? base : 0xffffffff;
  int left = n > 0 ? n : -n;
  for (int bit = base; bit >= 0 && bit < 32; bit += n > 0 ? 1 : -1) {
    if ((mask >> bit & 1) && --left == 0) return bit;
  }
  return 0xffffffff;
}

std::uint32_t DotBytes(const Case& in, bool is_signed) {
  std::int64_t sum = in.c;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t x = in.a >> (8 * i) & 255, y = in.b >> (8 * i) & 255;
    sum += is_signed ? Signed(x, 8) * Signed(y, 8) : std::int64_t{x} * y;
  }
  return sum;
}

std::uint32_t DotHalves(const Case& in, bool is_signed, bool high) {
  std::int64_t sum = in.c;
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t x = in.a >> (16 * i) & 0xffff;
    const std::uint32_t y = in.b >> (8 * i + 16 * high) & 255;
    sum += is_signed ? Signed(x, 16) * Signed(y, 8) : std::int64_t{x} * y;
  }
  return sum;
}

std::uint32_t Mask(std::uint32_t start, std::uint32_t length) {
  std::uint64_t mask = 0;
  for (std::uint64_t i = start; i < std::uint64_t{start} + length && i < 32;
       ++i) {
    mask |= std::uint64_t{1} << i;
  }
  return mask;
}

std::vector<std::uint32_t> Expected(const Case& in) {
  const std::uint32_t a = in.a, b = in.b, c = in.c;
  const std::int64_t sa = Signed(a, 32), sb = Signed(b, 32);
  const std::int64_t a24 = Signed(a, 24), b24 = Signed(b, 24);
  std::vector<std::uint32_t> out;
  const auto put = [&](std::int64_t value) { out.push_back(value); };
  std::uint32_t reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (a >> i & 1) << (31 - i);
  put(reversed);
  put(31 - HighestBit(a));
  put(a ? HighestBit(a & -a) + 1 : 0);
  put(Count(a));
  put(Permute(a, b, c & 0x7777));  // __byte_perm knows no sign
  put(a24 * b24);
  put(std::uint64_t{a & 0xffffff} * (b & 0xffffff));
  put(sa * sb >> 32);
  put(std::uint64_t{a} * b >> 32);
  put((sa > sb ? sa - sb : sb - sa) + c);
  put((a > b ? a - b : b - a) + c);
  put((sa + sb) >> 1);
  put((std::uint64_t{a} + b + 1) >> 1);
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  put(both << (c & 31) >> 32);
  put(both >> (c < 32 ? c : 32));
  put(NthSet(a, b & 31, int(c % 9) - 4));
  put(DotBytes(in, true));
  put(DotBytes(in, false));
  put(DotHalves(in, true, false));
  put(DotHalves(in, false, true));

  put(Field(a, b, c, false));
  put(Field(a, b, c, true));
  const std::uint32_t position = c & 255;
  const std::uint32_t hole = position < 32 ? Mask(position, 7) : 0;
  put((b & ~hole) | (position < 32 ? a << position & hole : 0));
  put(HighestBit(a));
  const int high = HighestBit(sa < 0 ? ~a : a);
  put(high < 0 ? -1 : 31 - high);
  put(Mask(a, b));
  put(Mask(a & 31, b & 31));
  put(b == 0 ? 0 : Signed(a, b < 32 ? b : 32));
  put(a & Mask(0, b & 31));
  put(a == 0);
  std::uint32_t logic = 0;
  for (int i = 0; i < 32; ++i) {
    const int row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
    logic |= (0x1du >> row & 1) << i;
  }
  put(logic);
  put(a24 * b24);
  put(std::uint64_t{a & 0xffffff} * (b & 0xffffff) >> 16);
  put((a24 * b24 >> 16) + c);
  put(std::uint64_t{a & 0xffffff} * (b & 0xffffff) + c);
  const std::uint32_t start = c & 3;
  put(both >> (8 * start));
  std::uint32_t clamped = 0;  // edge clamp to the right
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t byte = i < start ? i : start;
    clamped |= (a >> (8 * byte) & 255) << (8 * i);
  }
  put(clamped);
  put(Signed(c, 32) >= 0 ? a : b);
  put(sa <= sb ? -1 : 0);
  const long long sum = sa + sb;
  put(std::min(std::max(sum, -(1ll << 31)), (1ll << 31) - 1));
  put(both << (c < 32 ? c : 32) >> 32);
  put(a >= b ? c : a);
  return out;
}

}  // namespace

int main() {
  const std::uint32_t edges[] = {0,  1,  4,    7,          8,          24, 31,
                                 32, 33, 0xff, 0x7fffffff, 0x80000000, ~0u};
  std::uint32_t random = 12345;
  std::vector<Case> cases(kCases);
  for (int i = 0; i < kCases; ++i) {
    std::uint32_t* words[] = {&cases[i].a, &cases[i].b, &cases[i].c};
    for (std::uint32_t* word : words) {
      random = random * 1664525 + 1013904223;
      *word = random % 3 ? random ^ random >> 13 : edges[(random >> 8) % 13];
    }
  }
  std::uint32_t* out = ToDevice(std::vector<std::uint32_t>(kCases * kResults));
  Run<<<kCases / 64, 64>>>(ToDevice(cases), out);
  CHECK(cudaDeviceSynchronize());
  const std::vector<std::uint32_t> got = ToHost(out, kCases * kResults);
  int wrong = 0;
  for (int i = 0; i < kCases; ++i) {
    const std::vector<std::uint32_t> expected = Expected(cases[i]);
    for (int k = 0; k < kResults; ++k) {
      if (got[i * kResults + k] == expected[k] || ++wrong > 20) continue;
      std::printf("result %d of %08x %08x %08x: %08x, expected %08x\n", k,
                  cases[i].a, cases[i].b, cases[i].c, got[i * kResults + k],
                  expected[k]);
    }
  }
  return wrong ? 1 : Pass();
}
