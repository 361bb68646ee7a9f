// Any bytes as a program for Windows: what the file headers say of the machine
// is set right, so that all that is behind them is reached.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/plan_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus;  // NOLINT
  constexpr std::size_t kSignatureField = 0x3c;
  Bytes bytes(data, data + size);
  if (bytes.size() > 2) {
    bytes[0] = 'M';
    bytes[1] = 'Z';
  }
  if (bytes.size() >= kSignatureField + 4) {
    const std::size_t at =
        LoadLe<std::uint32_t>(bytes.data() + kSignatureField) & 0xfff;
    StoreLe(bytes.data() + kSignatureField, static_cast<std::uint32_t>(at));
    if (at + 26 <= bytes.size()) {
      constexpr std::uint8_t kSignature[] = {'P', 'E', 0, 0, 0x64, 0x86};
      std::copy(std::begin(kSignature), std::end(kSignature),
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
      StoreLe<std::uint16_t>(bytes.data() + at + 24, 0x20b);
    }
  }
  rewriter::testing::CheckPlans(bytes, size % 2 == 1);
  return 0;
}
