// The host's floating-point control register (MXCSR).
#ifndef CERBERUS_EMULATOR_EXECUTE_HOST_ENV_H_
#define CERBERUS_EMULATOR_EXECUTE_HOST_ENV_H_

#include <cstdint>

namespace cerberus::emulator {

// All exceptions masked, round to nearest, denormals kept.
inline constexpr std::uint32_t kMxcsrDefault = 0x1f80;
inline constexpr std::uint32_t kMxcsrDaz = 0x0040;
inline constexpr std::uint32_t kMxcsrFtz = 0x8000;
inline constexpr std::uint32_t kMxcsrDown = 0x2000;
inline constexpr std::uint32_t kMxcsrUp = 0x4000;

inline std::uint32_t ReadMxcsr() {
  std::uint32_t v;
  asm volatile("stmxcsr %0" : "=m"(v) : : "memory");
  return v;
}
// The memory clobber keeps loads, and so the arithmetic on them, behind it.
inline void WriteMxcsr(std::uint32_t v) {
  asm volatile("ldmxcsr %0" : : "m"(v) : "memory");
}

// Round to nearest with denormals while it lives.
class NearestEnv {
 public:
  NearestEnv() : saved_(ReadMxcsr()) {
    if ((saved_ & ~0x3fu) != kMxcsrDefault) WriteMxcsr(kMxcsrDefault);
  }
  ~NearestEnv() {
    if ((saved_ & ~0x3fu) != kMxcsrDefault) WriteMxcsr(saved_);
  }
  NearestEnv(const NearestEnv&) = delete;
  NearestEnv& operator=(const NearestEnv&) = delete;

 private:
  std::uint32_t saved_;
};

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_EXECUTE_HOST_ENV_H_
