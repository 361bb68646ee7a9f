// Elements that another thread of the host may be writing: an aligned b64 or
// b128 is loaded and stored whole, as on a GPU, where it is one access to one
// line. Processors with AVX promise this of aligned moves of 16 bytes; older
// ones have shown nothing else. The moves are volatile, or the compiler would
// make of them what the words are needed for.
#ifndef CERBERUS_EMULATOR_ACCESS_WHOLE_H_
#define CERBERUS_EMULATOR_ACCESS_WHOLE_H_

#include <emmintrin.h>

#include <cstring>

#include "emulator/decode/op.h"

namespace cerberus::emulator {

// `words` of them are 1 to 4.
[[gnu::always_inline]] inline void GetWhole(const u8* from, u32 words,
                                            u32* out) {
  using Unaligned64 [[gnu::aligned(1), gnu::may_alias]] = u64;
  if (words == 4) {
    const __m128i all = *reinterpret_cast<const volatile __m128i_u*>(from);
    std::memcpy(out, &all, sizeof all);
    return;
  }
  if (words >= 2) {
    const u64 pair = *reinterpret_cast<const volatile Unaligned64*>(from);
    std::memcpy(out, &pair, sizeof pair);
  }
  if (words % 2 != 0) {
    std::memcpy(out + words - 1, from + 4 * (words - 1), 4);
  }
}

[[gnu::always_inline]] inline void PutWhole(u8* to, u32 words, const u32* in) {
  using Unaligned64 [[gnu::aligned(1), gnu::may_alias]] = u64;
  if (words == 4) {
    __m128i all;
    std::memcpy(&all, in, sizeof all);
    *reinterpret_cast<volatile __m128i_u*>(to) = all;
    return;
  }
  if (words >= 2) {
    u64 pair;
    std::memcpy(&pair, in, sizeof pair);
    *reinterpret_cast<volatile Unaligned64*>(to) = pair;
  }
  if (words % 2 != 0) {
    std::memcpy(to + 4 * (words - 1), in + words - 1, 4);
  }
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_ACCESS_WHOLE_H_
