// The bits of one operand, up to 128 of them.
#ifndef CERBERUS_TESTS_EXEC_VALUE_H_
#define CERBERUS_TESTS_EXEC_VALUE_H_

#include <cstdint>
#include <vector>

namespace cerberus::exec {

using Value = unsigned __int128;

inline std::uint64_t Low(Value v) { return static_cast<std::uint64_t>(v); }
inline std::uint64_t High(Value v) {
  return static_cast<std::uint64_t>(v >> 64);
}
// The low `bits` of v.
inline Value Truncate(Value v, int bits) {
  return bits >= 128 ? v : v & ((static_cast<Value>(1) << bits) - 1);
}
// The low `bits` of v, read as a signed number.
inline __int128 SignExtend(Value v, int bits) {
  if (bits >= 128) return static_cast<__int128>(v);
  v = Truncate(v, bits);
  const Value sign = static_cast<Value>(1) << (bits - 1);
  return static_cast<__int128>(v ^ sign) - static_cast<__int128>(sign);
}

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_VALUE_H_
