// MD2 (RFC 1319) and HMAC (RFC 2104) over it, for cudart's handshake. Neither
// protects anything today.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_MD2_H_
#define CERBERUS_RUNTIME_STUB_MODULE_MD2_H_

#include <array>
#include <cstdint>

#include "support/bytes.h"

namespace cerberus::stub {

inline constexpr std::size_t kMd2Size = 16;
using Md2Digest = std::array<std::uint8_t, kMd2Size>;

Md2Digest Md2(ByteSpan message);

// `key` has MD2's block size, so it needs neither hashing nor padding.
Md2Digest HmacMd2(const Md2Digest& key, ByteSpan message);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_MD2_H_
