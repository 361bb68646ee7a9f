// Any bytes as instructions. The first two bytes choose the target, the wave
// size and the schedule; the kernel gets pointers to a buffer, LDS and
// scratch. Nothing outside them may be touched, and every run ends.
#include <array>
#include <cstdint>
#include <cstring>

#include "emulator/emulator.h"
#include "tests/unit/emulator/code_object_builder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace cerberus;
  using namespace cerberus::emulator;
  if (size < 6 || size > 4096) return 0;
  static constexpr const char* kTargets[] = {"gfx1100", "gfx1201", "gfx950",
                                             "gfx90a",  "gfx1030", "gfx942"};
  KernelParts parts;
  parts.target = kTargets[data[0] % 6];
  const bool cdna = parts.target.starts_with("gfx9");
  parts.wavefront_size = cdna || (data[1] & 1) != 0 ? 64 : 32;
  parts.lds_size = 256;
  parts.private_size = 64;
  DeviceOptions options;
  options.threads = 1;
  options.instruction_limit = 2000;
  options.check_waits = (data[1] & 2) != 0;
  options.random_schedule = (data[1] & 4) != 0;
  options.random_schedule_seed = data[1];
  const auto device = Device::Create(parts.target, options);
  if (!device) return 0;
  // Bytes around the buffer that no kernel may change.
  static std::array<std::uint8_t, 768> memory;
  memory.fill(0xa5);
  if (!(*device)->Register(memory.data() + 256, 256)) return 0;
  const Bytes object =
      BuildCodeObject(parts, ByteSpan(data + 2, (size - 2) & ~std::size_t{3}));
  const auto code = (*device)->LoadCodeObject(object);
  if (!code) __builtin_trap();  // the builder's objects are well formed
  std::array<std::uint64_t, 8> arguments;
  arguments.fill(reinterpret_cast<std::uint64_t>(memory.data() + 256));
  LaunchConfig config;
  config.grid = {2, 1, 1};
  config.block = {70, 1, 1};
  config.kernarg =
      ByteSpan(reinterpret_cast<const std::uint8_t*>(arguments.data()),
               sizeof arguments);
  (void)(*device)->Launch((*code)->kernels()[0], config);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if ((i < 256 || i >= 512) && memory[i] != 0xa5) __builtin_trap();
  }
  return 0;
}
