// Multicast addresses: which memory they mean (docs/launch-abi.md, "Multicast
// memory").
#ifndef CERBERUS_DEVLIB_MULTIMEM_H_
#define CERBERUS_DEVLIB_MULTIMEM_H_

#include "convert.h"
#include "device.h"
#include "formats/launch_abi.h"
#include "services.h"

// The range that all these bytes lie in; null if there is none.
DEV(GLOBAL const MulticastRange*, multicast_range)(u64 context, u64 address,
                                                   u64 bytes) {
  if (context == 0) return nullptr;
  GLOBAL const ContextBlock* block = BlockAt(context);
  // Stubs that know no multicast memory leave 0 there, and no table behind.
  if ((block->fields & kHasMulticast) == 0) return nullptr;
  u64 at = block->multicast;
  if (at == 0) return nullptr;
#pragma clang loop unroll(disable)
  for (;;) {
    GLOBAL const MulticastRange* range =
        reinterpret_cast<GLOBAL const MulticastRange*>(at);
    if (range->bytes == 0) return nullptr;  // the table's end
    const u64 offset = address - range->first;
    if (offset < range->bytes && bytes <= range->bytes - offset) return range;
    at += sizeof(MulticastRange) + range->members * sizeof(u64);
  }
}

// What to add to an address of the range for the memory of one of its devices.
DEV(u64, multicast_member)(GLOBAL const MulticastRange* range, u32 member) {
  return reinterpret_cast<GLOBAL const u64*>(range + 1)[member];
}

// ---- 8-bit numbers ----------------------------------------------------------

// To nearest even. e4m3 has no infinity: what is beyond its numbers becomes the
// largest one, as cvt has it.
DEV(u32, narrow_e4m3)(float v) { return Encode(v, kE4M3); }
DEV(u32, narrow_e5m2)(float v) {
  constexpr u32 kInfinity = 0x7c;
  const u32 magnitude = BitsOf(v) & 0x7fffffff;
  const bool overflows = magnitude >= BitsOf(61440.0f);
  if (!overflows || magnitude > 0x7f800000) return Encode(v, kE5M2);
  return (BitsOf(v) >> 31 ? kE5M2.sign : 0) | kInfinity;
}

// Of as many numbers as are next to each other in a word.
template <typename Change>
INLINE u32 OfEach(u32 a, u32 b, u32 count, Change change) {
  u32 result = 0;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < 8 * count; i += 8) {
    result |= change(a >> i & 0xff, b >> i & 0xff) << i;
  }
  return result;
}
DEV(u32, sum_e4m3)(u32 a, u32 b, u32 count) {
  return OfEach(a, b, count, [](u32 x, u32 y) {
    return __cerberus_dev_narrow_e4m3(Decode(x, kE4M3) + Decode(y, kE4M3));
  });
}
DEV(u32, sum_e5m2)(u32 a, u32 b, u32 count) {
  return OfEach(a, b, count, [](u32 x, u32 y) {
    return __cerberus_dev_narrow_e5m2(Decode(x, kE5M2) + Decode(y, kE5M2));
  });
}

// What is above `last` is no number, and ignored.
INLINE u32 Extreme(u32 a, u32 b, u32 count, u32 last, bool is_max) {
  // By size: -0 is less than +0.
  const auto order = [](u32 x) {
    return x & 0x80 ? -1 - static_cast<s32>(x & 0x7f) : static_cast<s32>(x);
  };
  return OfEach(a, b, count, [&](u32 x, u32 y) {
    if ((x & 0x7f) > last) return y;
    if ((y & 0x7f) > last) return x;
    return (order(x) < order(y)) != is_max ? x : y;
  });
}
DEV(u32, min_e4m3)(u32 a, u32 b, u32 count) {
  return Extreme(a, b, count, 0x7e, false);
}
DEV(u32, max_e4m3)(u32 a, u32 b, u32 count) {
  return Extreme(a, b, count, 0x7e, true);
}
DEV(u32, min_e5m2)(u32 a, u32 b, u32 count) {
  return Extreme(a, b, count, 0x7c, false);
}
DEV(u32, max_e5m2)(u32 a, u32 b, u32 count) {
  return Extreme(a, b, count, 0x7c, true);
}

#endif  // CERBERUS_DEVLIB_MULTIMEM_H_
