// Random streams of valid instructions, from random registers, MODE and EXEC,
// on every target. Bytes: target, options, MODE, EXEC, seed (2), then records
// (instruction_stream.h). Every run ends; nothing outside the buffer is
// touched; and a stream of one wave does the same when it runs again under
// another schedule and without the check of missing waits.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "emulator/emulator.h"
#include "tests/fuzz/instruction_stream.h"
#include "tests/unit/emulator/code_object_builder.h"

namespace {

using namespace cerberus;
using namespace cerberus::emulator;

constexpr std::size_t kCanary = 1024, kBuffer = 1024;
// Aligned so that adding an offset to the address never carries.
alignas(8192) std::array<std::uint8_t, kCanary + kBuffer + kCanary> g_memory;

std::uint64_t BufferAddress() {
  return reinterpret_cast<std::uint64_t>(g_memory.data() + kCanary);
}

Device* DeviceOf(const std::string& target, bool random, bool waits) {
  static std::map<std::string, std::unique_ptr<Device>> devices;
  std::unique_ptr<Device>& slot =
      devices[target + (random ? "r" : "") + (waits ? "w" : "")];
  if (!slot) {
    DeviceOptions options;
    options.threads = 1;
    options.instruction_limit = 2000;
    options.check_waits = waits;
    options.random_schedule = random;
    options.random_schedule_seed = 7;
    auto made = Device::Create(target, options);
    if (!made ||
        !(*made)->Register(reinterpret_cast<void*>(BufferAddress()), kBuffer)) {
      std::abort();
    }
    slot = std::move(*made);
  }
  return slot.get();
}

InstructionStream* StreamOf(const std::string& target, unsigned major,
                            bool wave64) {
  // LLVM's context grows with each instruction: a new one now and then.
  static std::map<std::string,
                  std::pair<int, std::unique_ptr<InstructionStream>>>
      streams;
  auto& [uses, slot] = streams[target + (wave64 ? "64" : "32")];
  if (!slot || ++uses % 4096 == 0) {
    slot = InstructionStream::Create(target, major, wave64);
  }
  slot->Clear();
  return slot.get();
}

// What a run leaves: the buffer, and the reason it was stopped for.
struct Outcome {
  std::array<std::uint8_t, kBuffer> buffer;
  std::string fault;
  bool operator==(const Outcome&) const = default;
};

Outcome Run(Device* device, ByteSpan object, const LaunchConfig& config,
            std::uint8_t seed) {
  g_memory.fill(0xa5);
  std::uint32_t state = seed + 1u;
  for (std::size_t i = 0; i < kBuffer; ++i) {
    state = state * 1664525 + 1013904223;
    g_memory[kCanary + i] = static_cast<std::uint8_t>(state >> 24);
  }
  const auto code = device->LoadCodeObject(object);
  if (!code) std::abort();  // the builder's objects are well formed
  Outcome outcome;
  if (!device->Launch((*code)->kernels()[0], config)) {
    const Fault* fault = device->LastFault();
    outcome.fault = fault == nullptr ? "refused" : fault->reason;
  }
  if (!device->UnloadCodeObject(*code)) std::abort();
  for (std::size_t i = 0; i < g_memory.size(); ++i) {
    if ((i < kCanary || i >= kCanary + kBuffer) && g_memory[i] != 0xa5) {
      std::fprintf(stderr, "byte %zd of the buffer was written\n",
                   static_cast<ssize_t>(i) - static_cast<ssize_t>(kCanary));
      std::abort();
    }
  }
  std::memcpy(outcome.buffer.data(), g_memory.data() + kCanary, kBuffer);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  constexpr std::size_t kHeader = 6;
  if (size < kHeader + InstructionStream::kRecord || size > 2048) return 0;
  static const std::vector<std::string> targets = Device::Targets();
  KernelParts parts;
  parts.target = targets[data[0] % targets.size()];
  const std::uint8_t options = data[1];
  const bool random = (options & 1) != 0, waits = (options & 6) == 6;
  const bool several = (options & 8) != 0;
  Device* const device = DeviceOf(parts.target, random, waits);
  const unsigned major = device->info().major;
  const bool wave64 = major == 9 || (options & 16) != 0;
  parts.wavefront_size = wave64 ? 64 : 32;
  parts.lds_size = 256;
  parts.private_size = 64;
  // FLOAT_MODE: rounding and denormals; DX10_CLAMP and IEEE.
  parts.rsrc1 = std::uint32_t{data[2]} << 12 | (options >> 5 & 1u) << 21 |
                (options >> 6 & 1u) << 23;

  static constexpr std::uint64_t kExec[] = {~std::uint64_t{0},
                                            1,
                                            0,
                                            0x5555555555555555,
                                            0xffffffff,
                                            0xffff0000ffff,
                                            std::uint64_t{1} << 63,
                                            0xfffffffffffffffe};
  InstructionStream* const stream = StreamOf(parts.target, major, wave64);
  stream->Prologue(BufferAddress(), kBuffer, kExec[data[3] % 8],
                   data[4] | data[5] << 8);
  int instructions = 0;
  for (std::size_t at = kHeader; at + InstructionStream::kRecord <= size;
       at += InstructionStream::kRecord) {
    instructions += stream->Add(data + at);
  }
  if (instructions == 0) return -1;
  stream->End();
  if (std::getenv("CERBERUS_FUZZ_PRINT") != nullptr) {
    std::fprintf(stderr, "%s wave%d\n%s", parts.target.c_str(),
                 parts.wavefront_size, stream->text().c_str());
  }

  const Bytes object = BuildCodeObject(parts, stream->bytes());
  LaunchConfig config;
  config.grid = {several ? 2u : 1u, 1, 1};
  config.block = {several ? 70u : static_cast<unsigned>(parts.wavefront_size),
                  1, 1};
  const Outcome first = Run(device, object, config, data[4]);
  if (several || waits || !stream->repeatable()) return 0;
  Device* const other = DeviceOf(parts.target, !random, false);
  const Outcome second = Run(other, object, config, data[4]);
  if (first != second) {
    std::fprintf(stderr, "two runs differ: '%s', '%s'\n%s", first.fault.c_str(),
                 second.fault.c_str(), stream->text().c_str());
    std::abort();
  }
  return 0;
}
