// Any bytes as a code object: loading must report, not crash; what loads is
// launched with a small limit.
#include <cstdint>

#include "emulator/emulator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus;
  using namespace cerberus::emulator;
  DeviceOptions options;
  options.threads = 1;
  options.instruction_limit = 2000;
  static const auto device = Device::Create("gfx1100", options);
  if (!device) return 0;
  const auto code = (*device)->LoadCodeObject(ByteSpan(data, size));
  if (!code) return 0;
  for (const SymbolInfo& s : (*code)->symbols()) {
    (void)(*code)->FindSymbol(s.name);
  }
  int launches = 0;
  for (const KernelInfo& k : (*code)->kernels()) {
    if (++launches > 2) break;
    if (k.private_size > 65536 || k.kernarg_size > 65536) continue;
    LaunchConfig config;
    config.block = {33, 1, 1};
    (void)(*device)->Launch(k, config);
  }
  (void)(*device)->UnloadCodeObject(*code);
  return 0;
}
