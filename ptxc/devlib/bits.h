// Products without carries.
#ifndef CERBERUS_DEVLIB_BITS_H_
#define CERBERUS_DEVLIB_BITS_H_

#include "device.h"

// The lower half of the product of two polynomials over one bit, from products
// of integers. With three zeros between their bits no sum of a place's up to
// 16 ones reaches the next place that is looked at; what the uppermost one
// loses is not part of the half.
INLINE u64 MultiplyPolynomials(u64 a, u64 b) {
  constexpr u64 kPlaces = 0x1111111111111111;
  u64 result = 0;
#pragma clang loop unroll(full)
  for (int place = 0; place < 4; ++place) {
    u64 sum = 0;
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i)
      sum ^= (a & (kPlaces << i)) * (b & (kPlaces << ((place - i) & 3)));
    result |= sum & (kPlaces << place);
  }
  return result;
}

DEV(u64, clmul_lo)(u64 a, u64 b) { return MultiplyPolynomials(a, b); }
// The product of the reversed factors is the reversed product, of 127 bits.
DEV(u64, clmul_hi)(u64 a, u64 b) {
  return __builtin_bitreverse64(MultiplyPolynomials(
             __builtin_bitreverse64(a), __builtin_bitreverse64(b))) >>
         1;
}

#endif  // CERBERUS_DEVLIB_BITS_H_
