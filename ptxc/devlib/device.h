// Types and macros of the device library.
#ifndef CERBERUS_DEVLIB_DEVICE_H_
#define CERBERUS_DEVLIB_DEVICE_H_

#include <stdint.h>

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s32 = int32_t;
using s64 = int64_t;

#define SHARED __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))

// A function that lowered code calls.
#define DEV(result, name) \
  extern "C" __attribute__((visibility("default"))) result __cerberus_dev_##name
#define INLINE static inline __attribute__((always_inline))
#define INLINE_MEMBER inline __attribute__((always_inline))

// Of the thread's warp and place in the block; ptxc/passes/lanes/waves.h.
#define WAVE(result, name) \
  extern "C" __attribute__((const)) result __cerberus_wave_##name
WAVE(u32, thread_x)();
WAVE(u32, thread_y)();
WAVE(u32, thread_z)();
WAVE(u32, lane)();
WAVE(u32, first_lane)();
WAVE(u32, ballot)(bool) __attribute__((convergent));
#undef WAVE

// Whether this lane is the first of those in the mask, of its warp.
INLINE bool IsFirstOf(u32 lanes) {
  return __cerberus_wave_lane() == static_cast<u32>(__builtin_ctz(lanes));
}

INLINE u32 BitsOf(float v) { return __builtin_bit_cast(u32, v); }
INLINE u64 BitsOf(double v) { return __builtin_bit_cast(u64, v); }
INLINE u16 BitsOf(_Float16 v) { return __builtin_bit_cast(u16, v); }

#endif  // CERBERUS_DEVLIB_DEVICE_H_
