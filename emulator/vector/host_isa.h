// For the files that are compiled once for each ISA of the host: how loops over
// lanes are told to the compiler, and rows of 0 and all-ones as bits.
#ifndef CERBERUS_EMULATOR_VECTOR_HOST_ISA_H_
#define CERBERUS_EMULATOR_VECTOR_HOST_ISA_H_

#include <immintrin.h>

#include "emulator/vector/float16.h"

namespace cerberus::emulator {

// How many of the host's vectors of words make up 32 lanes.
#if defined(__AVX512F__)
inline constexpr int kInterleave = 2;
#elif defined(__AVX2__)
inline constexpr int kInterleave = 4;
#else
inline constexpr int kInterleave = 1;
#endif

// Before a loop over 32 lanes: that many are worked on side by side. Left
// alone, the compiler unrolls short loops before it makes vectors of them, and
// then makes none.
#define CERBERUS_EMU_SIDE_BY_SIDE \
  _Pragma("clang loop unroll(disable) interleave_count(kInterleave)")

// The top bits of 32 words.
CERBERUS_EMU_INLINE u32 PackPiece(const u32* row) {
  u32 bits = 0;
#if defined(__AVX512DQ__)
  for (u32 i = 0; i < 32; i += 16) {
    bits |= static_cast<u32>(_mm512_movepi32_mask(_mm512_loadu_si512(row + i)))
            << i;
  }
#elif defined(__AVX2__)
  for (u32 i = 0; i < 32; i += 8) {
    const __m256i v =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + i));
    bits |= static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(v))) << i;
  }
#else
  for (u32 i = 0; i < 32; i += 4) {
    const __m128i v =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i));
    bits |= static_cast<u32>(_mm_movemask_ps(_mm_castsi128_ps(v))) << i;
  }
#endif
  return bits;
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_HOST_ISA_H_
