#include "tests/exec/ptx_runner.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "cerberus/ptxc.h"
#include "formats/launch_abi.h"
#include "tests/exec/executed.h"

namespace cerberus::exec {
namespace {

struct Diagnostics {
  std::string errors;
  std::string warnings;
};

void CollectDiag(const cerberus_ptxc_diag* diag, void* user) {
  Diagnostics* all = static_cast<Diagnostics*>(user);
  (diag->severity == CERBERUS_PTXC_ERROR ? all->errors : all->warnings) +=
      std::string(diag->text) + "\n";
}

}  // namespace

std::string TestArch() {
  const char* arch = std::getenv("CERBERUS_TEST_ARCH");
  return arch != nullptr && *arch != 0 ? arch : "gfx1100";
}

std::shared_ptr<emulator::Device> SharedDevice() {
  static std::shared_ptr<emulator::Device> device = [] {
    Result<std::unique_ptr<emulator::Device>> created =
        emulator::Device::Create(TestArch());
    if (!created) {
      std::fprintf(stderr, "%s\n", created.error().ToString().c_str());
      std::abort();
    }
    return std::shared_ptr<emulator::Device>(std::move(*created));
  }();
  return device;
}

Buffer::Buffer(emulator::Device& device, std::uint64_t size) : device_(device) {
  Result<emulator::Allocation> allocation =
      device.Allocate(size, 256, emulator::MemoryKind::kDevice);
  if (!allocation) {
    std::fprintf(stderr, "%s\n", allocation.error().ToString().c_str());
    std::abort();
  }
  allocation_ = *allocation;
}

Buffer::~Buffer() { (void)device_.Free(allocation_.address); }

Result<std::unique_ptr<PtxModule>> PtxModule::Compile(
    std::string_view ptx, std::shared_ptr<emulator::Device> device,
    bool overflow) {
  const std::string arch = TestArch();
  Diagnostics diagnostics;
  cerberus_ptxc_options options = {};
  options.size = sizeof options;
  options.arch = arch.c_str();
  options.one_warp_per_wave =
      std::getenv("CERBERUS_TEST_ONE_WARP_PER_WAVE") != nullptr;
  options.serial_lanes = std::getenv("CERBERUS_TEST_SERIAL_LANES") != nullptr;
  if (const char* level = std::getenv("CERBERUS_TEST_OPT_LEVEL")) {
    // 0 in the options is the default.
    options.opt_level = std::atoi(level) == 0 ? -1 : std::atoi(level);
  }
  options.shared_overflow =
      std::getenv("CERBERUS_TEST_SHARED_IN_WINDOW") != nullptr ? 2
      : overflow                                               ? 1
                                                               : 0;
  options.on_diag = CollectDiag;
  options.user = &diagnostics;
  cerberus_ptxc_result* result = nullptr;
  const cerberus_ptxc_status status =
      cerberus_ptxc_compile(ptx.data(), ptx.size(), &options, &result);
  if (status != CERBERUS_PTXC_OK) {
    cerberus_ptxc_result_free(result);
    return Err(DiagCode::kCompiler, diagnostics.errors.empty()
                                        ? "ptxc failed without a word"
                                        : diagnostics.errors);
  }
  std::unique_ptr<PtxModule> module(new PtxModule);
  module->text_ = ptx;
  module->device_ = device ? std::move(device) : SharedDevice();
  module->warnings_ = std::move(diagnostics.warnings);
  const ByteSpan bytes(
      static_cast<const std::uint8_t*>(cerberus_ptxc_result_data(result)),
      cerberus_ptxc_result_size(result));
  Result<emulator::CodeObject*> code = module->device_->LoadCodeObject(bytes);
  Result<stub::CodeObjectInfo> info = stub::ReadCodeObject(bytes);
  cerberus_ptxc_result_free(result);
  if (!info) return Err(info.error());
  module->info_ = *std::move(info);
  if (!code) return Err(code.error());
  module->code_ = *code;
  return module;
}

PtxModule::~PtxModule() {
  if (code_ != nullptr) (void)device_->UnloadCodeObject(code_);
}

Status PtxModule::Run(std::string_view kernel, const Launch& launch) {
  const stub::KernelInfo* first = info_.FindKernel(kernel);
  if (first == nullptr) {
    return Err(DiagCode::kInternal,
               "no kernel '" + std::string(kernel) + "' in the code object");
  }
  const auto [x, y, z] = launch.block;
  const stub::KernelInfo& facts = first->FormFor(
      x * y * z, launch.dynamic_shared, device_->info().lds_bytes,
      launch.cluster != std::array<std::uint32_t, 3>{1, 1, 1});
  const emulator::KernelInfo* info = code_->FindKernel(facts.name);
  if (x * y * z > facts.max_threads) {
    return Err(DiagCode::kUsage, "a block has at most " +
                                     std::to_string(facts.max_threads) +
                                     " threads");
  }
  Bytes kernarg = launch.raw;
  if (kernarg.empty()) {
    for (std::uint64_t param : launch.params) AppendLe(kernarg, param);
  }
  kernarg.resize(AlignUp(kernarg.size(), 8));
  std::optional<Buffer> memory;
  if (facts.window) {
    formats::WindowBlock window;
    window.bytes = static_cast<std::uint32_t>(AlignUp(
        facts.tensor_memory + facts.static_shared + launch.dynamic_shared + 1,
        formats::kWindowAlign));
    const std::uint64_t blocks =
        std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    const std::uint64_t barriers =
        AlignUp(blocks * formats::kClusterBarrierBytes, formats::kWindowAlign);
    memory.emplace(*device_, barriers + window.bytes * blocks);
    std::memset(memory->as<std::uint8_t>(), 0, barriers);
    window.memory = memory->address() + barriers;
    window.cluster =
        launch.cluster[0] | launch.cluster[1] << 8 | launch.cluster[2] << 16;
    AppendLe(kernarg, window);
  }
  formats::LaunchBlock block;
  block.dynamic_shared = launch.dynamic_shared;
  block.SetBlock(x, y, z);
  AppendLe(kernarg, block);
  emulator::LaunchConfig config;
  config.grid = launch.grid;
  config.block = facts.WorkGroupOf(x, y, z);
  config.dynamic_lds = facts.HardwareShared(launch.dynamic_shared);
  config.kernarg = kernarg;
  const Status status = device_->Launch(*info, config);
  if (status && executed_.emplace(kernel).second) RecordExecuted(text_, kernel);
  return status;
}

std::uint64_t PtxModule::Symbol(std::string_view name) const {
  const emulator::SymbolInfo* symbol = code_->FindSymbol(name);
  return symbol == nullptr ? 0 : symbol->address;
}

}  // namespace cerberus::exec
