#include "emulator/device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "emulator/device/board.h"
#include "emulator/device/occupancy.h"
#include "support/targets/target_id.h"

namespace cerberus::emulator {
namespace {

// Sizes from the manuals and from LLVM's occupancy rules
// (AMDGPUBaseInfo, IsaInfo).
constexpr Target kTargets[] = {
    // name, generation, version, wave32, LDS, waves, SIMDs, VGPRs, CUs, ELF
    {"gfx900", Gen::kGfx9, 9, 0, 0, false, 65536, 10, 4, 256, 64, 0x2c},
    {"gfx902", Gen::kGfx9, 9, 0, 2, false, 65536, 10, 4, 256, 11, 0x2d},
    {"gfx904", Gen::kGfx9, 9, 0, 4, false, 65536, 10, 4, 256, 20, 0x2e},
    {"gfx906", Gen::kGfx9, 9, 0, 6, false, 65536, 10, 4, 256, 60, 0x2f},
    {"gfx908", Gen::kGfx9, 9, 0, 8, false, 65536, 10, 4, 256, 120, 0x30},
    {"gfx909", Gen::kGfx9, 9, 0, 9, false, 65536, 10, 4, 256, 3, 0x31},
    {"gfx90a", Gen::kGfx90a, 9, 0, 10, false, 65536, 8, 4, 512, 104, 0x3f},
    {"gfx90c", Gen::kGfx9, 9, 0, 12, false, 65536, 10, 4, 256, 8, 0x32},
    {"gfx942", Gen::kGfx940, 9, 4, 2, false, 65536, 8, 4, 512, 304, 0x4c},
    {"gfx950", Gen::kGfx950, 9, 5, 0, false, 163840, 8, 4, 512, 256, 0x4f},
    {"gfx1010", Gen::kGfx10, 10, 1, 0, true, 65536, 20, 2, 1024, 40, 0x33},
    {"gfx1011", Gen::kGfx10, 10, 1, 1, true, 65536, 20, 2, 1024, 40, 0x34},
    {"gfx1012", Gen::kGfx10, 10, 1, 2, true, 65536, 20, 2, 1024, 24, 0x35},
    {"gfx1013", Gen::kGfx10, 10, 1, 3, true, 65536, 20, 2, 1024, 24, 0x42},
    {"gfx1030", Gen::kGfx10, 10, 3, 0, true, 65536, 16, 2, 1024, 40, 0x36},
    {"gfx1031", Gen::kGfx10, 10, 3, 1, true, 65536, 16, 2, 1024, 20, 0x37},
    {"gfx1032", Gen::kGfx10, 10, 3, 2, true, 65536, 16, 2, 1024, 16, 0x38},
    {"gfx1033", Gen::kGfx10, 10, 3, 3, true, 65536, 16, 2, 1024, 4, 0x39},
    {"gfx1034", Gen::kGfx10, 10, 3, 4, true, 65536, 16, 2, 1024, 8, 0x3e},
    {"gfx1035", Gen::kGfx10, 10, 3, 5, true, 65536, 16, 2, 1024, 6, 0x3d},
    {"gfx1036", Gen::kGfx10, 10, 3, 6, true, 65536, 16, 2, 1024, 1, 0x45},
    {"gfx1100", Gen::kGfx11, 11, 0, 0, true, 65536, 16, 2, 1536, 48, 0x41},
    {"gfx1101", Gen::kGfx11, 11, 0, 1, true, 65536, 16, 2, 1536, 30, 0x46},
    {"gfx1102", Gen::kGfx11, 11, 0, 2, true, 65536, 16, 2, 1024, 16, 0x47},
    {"gfx1103", Gen::kGfx11, 11, 0, 3, true, 65536, 16, 2, 1024, 6, 0x44},
    {"gfx1150", Gen::kGfx11, 11, 5, 0, true, 65536, 16, 2, 1024, 8, 0x43},
    {"gfx1151", Gen::kGfx11, 11, 5, 1, true, 65536, 16, 2, 1536, 20, 0x4a},
    {"gfx1152", Gen::kGfx11, 11, 5, 2, true, 65536, 16, 2, 1024, 4, 0x55},
    {"gfx1153", Gen::kGfx11, 11, 5, 3, true, 65536, 16, 2, 1024, 1, 0x58},
    {"gfx1200", Gen::kGfx12, 12, 0, 0, true, 65536, 16, 2, 1536, 16, 0x48},
    {"gfx1201", Gen::kGfx12, 12, 0, 1, true, 65536, 16, 2, 1536, 32, 0x4e},
};

thread_local std::optional<Fault> last_fault;

// Features that a target id may name (AMDGPUUsage, table "AMDGPU Processors").
bool HasFeature(const Target& t, std::string_view name) {
  const std::string_view processor = t.name;
  if (name == "sramecc") {
    return processor == "gfx906" || processor == "gfx908" ||
           t.gen == Gen::kGfx90a || t.gen == Gen::kGfx940 ||
           t.gen == Gen::kGfx950;
  }
  return name == "xnack" && (IsCdna(t.gen) || processor.starts_with("gfx101"));
}

}  // namespace

const Target* FindTarget(std::string_view processor) {
  for (const Target& t : kTargets) {
    if (processor == t.name) return &t;
  }
  return nullptr;
}

std::vector<std::string> Device::Targets() {
  std::vector<std::string> names;
  for (const Target& t : kTargets) names.push_back(t.name);
  return names;
}

DeviceOptions DeviceOptions::FromEnvironment() {
  DeviceOptions o;
  const auto get = [](const char* name) -> std::string {
    const char* v = secure_getenv(name);  // of which one names a file
    return v == nullptr ? "" : v;
  };
  o.threads = static_cast<unsigned>(
      std::strtoul(get("CERBERUS_EMU_THREADS").c_str(), nullptr, 10));
  const std::string schedule = get("CERBERUS_EMU_SCHEDULE");
  if (schedule.starts_with("random")) {
    o.random_schedule = true;
    const std::size_t colon = schedule.find(':');
    o.random_schedule_seed =
        colon == std::string::npos
            ? 1
            : std::strtoull(schedule.c_str() + colon + 1, nullptr, 0);
  }
  o.check_waits = get("CERBERUS_EMU_WAITS") != "0";
  o.whole_blocks = get("CERBERUS_EMU_BOUNDS") == "gpu";
  const std::string checks = "," + get("CERBERUS_EMU_CHECK") + ",";
  o.check_uninitialised = checks.find(",uninit,") != std::string::npos;
  o.check_scratch = checks.find(",scratch,") != std::string::npos;
  o.check_races = checks.find(",races,") != std::string::npos;
  o.watchdog_seconds =
      std::strtod(get("CERBERUS_EMU_TIMEOUT").c_str(), nullptr);
  o.stats_path = get("CERBERUS_EMU_STATS");
  return o;
}

namespace {

// "3, 5-7"
std::string LaneList(std::uint64_t lanes) {
  std::string out;
  for (int i = 0; i < 64; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    int last = i;
    while (last < 63 && (lanes >> (last + 1) & 1) != 0) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", i);
    if (last > i) out += fmt::format("-{}", last);
    i = last;
  }
  return out;
}

}  // namespace

std::string Fault::ToString() const {
  std::string s = fmt::format("kernel '{}'", kernel);
  if (!demangled.empty()) s += fmt::format(" ({})", demangled);
  s += ": " + reason;
  if (address) s += fmt::format(" at {:#x}", *address);
  if (!nearest.empty()) s += fmt::format(" ({})", nearest);
  s += fmt::format("; instruction '{}' at {:#x} ({:#x} in the code object)",
                   instruction, pc_offset, code_offset);
  if (!source.empty()) s += ", " + source;
  s += fmt::format(", workgroup ({}, {}, {}), wave {}", workgroup[0],
                   workgroup[1], workgroup[2], wave);
  if (lane >= 0) s += fmt::format(", lane {}", lane);
  if ((lanes & (lanes - 1)) != 0) {
    s += fmt::format(" (lanes {})", LaneList(lanes));
  }
  return s;
}

Result<std::unique_ptr<Device>> Device::Create(std::string_view target,
                                               const DeviceOptions& options) {
  CERB_TRY(const TargetId id, TargetId::Parse(target));
  const Target* t = FindTarget(id.processor);
  if (t == nullptr) {
    return Err(DiagCode::kUnsupported,
               fmt::format("the emulator does not execute {}", id.processor));
  }
  for (const std::string& feature : id.features) {
    if (!HasFeature(*t,
                    std::string_view(feature).substr(0, feature.size() - 1))) {
      return Err(DiagCode::kUsage, fmt::format("'{}' is no feature of {}",
                                               feature, id.processor));
    }
  }
  return std::unique_ptr<Device>(
      std::make_unique<DeviceImpl>(*t, id.ToString(), options));
}

DeviceImpl::DeviceImpl(const Target& target, std::string id,
                       const DeviceOptions& options)
    : target_(target), id_(std::move(id)), options_(options) {
  info_.processor = target.name;
  info_.major = target.major;
  info_.minor = target.minor;
  info_.stepping = target.stepping;
  info_.wavefront_size = target.wave32 ? 32 : 64;
  info_.lds_bytes = target.lds_bytes;
  info_.max_waves_per_simd = target.waves_per_simd;
  info_.simds_per_cu = target.simds;
  info_.total_vgprs = target.vgprs;
  info_.compute_units = target.compute_units;
  info_.board = BoardOf(target.name);
  if (options_.check_uninitialised) memory_.TrackWrites();
  if (!options_.protect_constants) memory_.ProtectNothing();
  if (options_.threads == 0) {
    options_.threads = std::max(1u, std::thread::hardware_concurrency());
  }
}

DeviceImpl::~DeviceImpl() {
  if (!options_.stats_path.empty()) WriteStats(options_.stats_path);
}

Result<Allocation> DeviceImpl::Allocate(std::uint64_t size,
                                        std::uint64_t alignment,
                                        MemoryKind kind) {
  constexpr std::uint64_t kPage = 4096;
  if (options_.whole_blocks) size = AlignUp(size, kPage);
  return memory_.Allocate(size, std::max<std::uint64_t>(alignment, 256), kind);
}
Status DeviceImpl::Register(void* host, std::uint64_t size) {
  return memory_.Register(host, size, MemoryKind::kRegistered);
}
void DeviceImpl::ForgetRegistered(std::uint64_t address, std::uint64_t size) {
  memory_.ForgetRegistered(address, size);
}
Status DeviceImpl::Free(std::uint64_t address, std::string_view by) {
  return memory_.Free(address, by);
}
void DeviceImpl::MarkWritten(std::uint64_t address, std::uint64_t size) {
  memory_.MarkWritten(address, size);
}
std::optional<Allocation> DeviceImpl::Find(std::uint64_t address) const {
  return memory_.Find(address);
}
std::uint64_t DeviceImpl::AllocatedBytes() const {
  return memory_.AllocatedBytes();
}

Result<CodeObject*> DeviceImpl::LoadCodeObject(ByteSpan bytes) {
  auto loaded = std::make_unique<Loaded>();
  CERB_TRY(loaded->code, LoadedCode::Load(bytes, id_, memory_));
  CodeObject* const result = loaded->code.get();
  std::unique_lock<std::shared_mutex> lock(code_mutex_);
  code_.push_back(std::move(loaded));
  return result;
}

Status DeviceImpl::UnloadCodeObject(CodeObject* code) {
  std::unique_lock<std::shared_mutex> lock(code_mutex_);
  const auto at = std::find_if(
      code_.begin(), code_.end(),
      [&](const auto& loaded) { return loaded->code.get() == code; });
  if (at == code_.end()) return Err(DiagCode::kUsage, "not a loaded module");
  code_.erase(at);
  return {};
}

const KernelInfo* DeviceImpl::FindKernelAt(std::uint64_t descriptor) const {
  std::shared_lock<std::shared_mutex> lock(code_mutex_);
  for (const auto& loaded : code_) {
    if (!loaded->code->Contains(descriptor)) continue;
    return loaded->code->FindKernelAt(descriptor);
  }
  return nullptr;
}

Program* DeviceImpl::FindProgram(std::uint64_t address, u32 lanes) {
  const int which = lanes == 64 ? 1 : 0;
  {
    std::shared_lock<std::shared_mutex> lock(code_mutex_);
    for (const auto& loaded : code_) {
      const LoadedCode& c = *loaded->code;
      if (address < c.text_begin() || address >= c.text_end()) continue;
      if (loaded->programs[which] != nullptr) {
        return loaded->programs[which].get();
      }
    }
  }
  std::unique_lock<std::shared_mutex> lock(code_mutex_);
  for (const auto& loaded : code_) {
    const LoadedCode& c = *loaded->code;
    if (address < c.text_begin() || address >= c.text_end()) continue;
    if (loaded->programs[which] == nullptr) {
      std::string features;
      if (target_.major >= 10) {
        features = lanes == 64 ? "+wavefrontsize64,-wavefrontsize32"
                               : "+wavefrontsize32,-wavefrontsize64";
      }
      auto disassembler = Disassembler::Create(target_.name, features);
      if (!disassembler) return nullptr;
      loaded->programs[which] =
          std::make_unique<Program>(c.text_begin(), c.text_end(), target_.gen,
                                    lanes, std::move(*disassembler));
    }
    return loaded->programs[which].get();
  }
  return nullptr;
}

void DeviceImpl::DescribeCode(std::uint64_t pc, Fault* fault) const {
  std::shared_lock<std::shared_mutex> lock(code_mutex_);
  for (const auto& loaded : code_) {
    const LoadedCode& c = *loaded->code;
    if (c.Contains(pc)) {
      fault->code_offset = pc - c.base();
      fault->source = c.SourceOf(pc);
    }
    if (fault->address && c.Contains(*fault->address)) {
      const std::string place = c.PlaceOf(*fault->address);
      if (!place.empty()) fault->nearest = place;
    }
  }
}

namespace {

u32 Dimensions(const LaunchConfig& config) {
  return config.grid[2] * config.block[2] > 1   ? 3
         : config.grid[1] * config.block[1] > 1 ? 2
                                                : 1;
}

// Whose command processor loads kernel arguments into registers (AMDGPUUsage,
// "Preloaded Kernel Arguments"); elsewhere the field is reserved.
bool Preloads(Gen gen) {
  return gen == Gen::kGfx90a || gen == Gen::kGfx940 || gen == Gen::kGfx950;
}

// Hidden arguments as a HIP runtime fills them (AMDGPUUsage, "Code Object V5
// Metadata", value kinds).
void FillHidden(const KernelInfo& kernel, const LaunchConfig& config, u64 queue,
                std::uint8_t* kernarg) {
  for (const KernelArg& a : kernel.args) {
    if (!a.value_kind.starts_with("hidden_")) continue;
    if (a.size > 8 || u64{a.offset} + a.size > kernel.kernarg_size) continue;
    const std::string_view kind = std::string_view(a.value_kind).substr(7);
    u64 v = 0;
    const auto dimension = [&](std::string_view prefix, int* d) {
      if (!kind.starts_with(prefix) || kind.size() != prefix.size() + 1) {
        return false;
      }
      *d = kind.back() - 'x';
      return *d >= 0 && *d < 3;
    };
    int d = 0;
    if (dimension("block_count_", &d)) {
      v = config.grid[d] - (config.remainder[d] != 0 ? 1 : 0);
    } else if (dimension("group_size_", &d)) {
      v = config.block[d];
    } else if (dimension("remainder_", &d)) {
      v = config.remainder[d];
    } else if (dimension("global_offset_", &d)) {
      v = 0;
    } else if (kind == "grid_dims") {
      v = Dimensions(config);
    } else if (kind == "printf_buffer") {
      v = config.printf_buffer;
    } else if (kind == "hostcall_buffer") {
      v = config.hostcall_buffer;
    } else if (kind == "heap_v1") {
      v = config.heap;
    } else if (kind == "default_queue") {
      v = config.default_queue;
    } else if (kind == "completion_action") {
      v = config.completion_action;
    } else if (kind == "multigrid_sync_arg") {
      v = config.multigrid_sync;
    } else if (kind == "dynamic_lds_size") {
      v = config.dynamic_lds;
    } else if (kind == "queue_ptr") {
      v = queue;
    } else if (kind == "private_base") {
      v = kPrivateAperture >> 32;
    } else if (kind == "shared_base") {
      v = kSharedAperture >> 32;
    }
    std::memcpy(kernarg + a.offset, &v, a.size);
  }
}

tl::unexpected<Diag> Refuse(const KernelInfo& kernel, const std::string& why) {
  return Err(DiagCode::kUsage,
             fmt::format("kernel '{}': {}", kernel.name, why));
}

u64 Product(const std::array<u32, 3>& of) { return u64{of[0]} * of[1] * of[2]; }

}  // namespace

Result<Allocation> DeviceImpl::TakeKernarg(std::uint64_t size) {
  {
    std::lock_guard<std::mutex> lock(kernarg_mutex_);
    for (std::size_t i = 0; i < free_kernargs_.size(); ++i) {
      if (free_kernargs_[i].size >= size) {
        const Allocation a = free_kernargs_[i];
        free_kernargs_.erase(free_kernargs_.begin() +
                             static_cast<std::ptrdiff_t>(i));
        return a;
      }
    }
  }
  return memory_.Allocate(AlignUp(size, 4096), 256, MemoryKind::kHost);
}

Status DeviceImpl::CheckLimits(const KernelInfo& kernel,
                               const LaunchConfig& config) const {
  for (int d = 0; d < 3; ++d) {
    if (config.grid[d] == 0 || config.block[d] == 0 || config.block[d] > 1024 ||
        config.remainder[d] >= config.block[d]) {
      return Refuse(kernel, "empty grid or impossible block");
    }
  }
  const u64 items = Product(config.block);
  // The kernel's own limit is the compiler's promise, which HIP holds programs
  // to. The hardware takes what its registers hold, and AMD's HIP 6.4 relies on
  // that: it copies with groups of 512 of a kernel for 256.
  const bool is_bound =
      config.packet_address == 0 && kernel.max_flat_workgroup_size != 0;
  const u32 most = is_bound ? std::min(info_.max_workgroup_size,
                                       kernel.max_flat_workgroup_size)
                            : info_.max_workgroup_size;
  if (items > most) {
    return Refuse(kernel, fmt::format("{} work-items in a group, the limit is "
                                      "{}",
                                      items, most));
  }
  // Preloaded arguments are read before the first instruction.
  if (Preloads(target_.gen) && config.kernarg_address != 0) {
    const std::optional<Allocation> at = memory_.Find(config.kernarg_address);
    const u64 into = at ? config.kernarg_address - at->address : 0;
    if (!at || kernel.kernarg_size > at->size - into) {
      return Refuse(kernel,
                    fmt::format("{} bytes of arguments at {:#x}, which "
                                "are not the GPU's",
                                kernel.kernarg_size, config.kernarg_address));
    }
  }
  const u64 lds = u64{kernel.lds_size} + config.dynamic_lds;
  if (lds > info_.lds_bytes) {
    return Refuse(kernel, fmt::format("{} bytes of LDS, {} has {}", lds,
                                      info_.processor, info_.lds_bytes));
  }
  return {};
}

KernelState DeviceImpl::StateOf(const KernelInfo& kernel,
                                const LaunchConfig& config) const {
  KernelState k;
  k.info = &kernel;
  const auto* const descriptor =
      reinterpret_cast<const std::uint8_t*>(kernel.descriptor);
  k.rsrc3 = LoadLe<std::uint32_t>(descriptor + 44);
  k.rsrc1 = LoadLe<std::uint32_t>(descriptor + 48);
  k.rsrc2 = LoadLe<std::uint32_t>(descriptor + 52);
  k.properties = LoadLe<std::uint16_t>(descriptor + 56);
  if (Preloads(target_.gen)) {
    k.preload = LoadLe<std::uint16_t>(descriptor + 58);
  }
  k.lanes = kernel.wavefront_size;
  k.lds_size = kernel.lds_size + config.dynamic_lds;
  // A dynamic stack has no size of its own; HIP's default limit is used.
  k.scratch_size = static_cast<u32>(
      AlignUp(std::max<u64>({kernel.private_size, config.private_size,
                             kernel.dynamic_stack ? 16384u : 0u}),
              16));
  // The first 256 bytes of a kernel with preloaded arguments are for
  // hardware that does not preload.
  k.entry = kernel.entry + ((k.preload & 0x7f) != 0 ? 256 : 0);
  return k;
}

// The kernarg segment, the dispatch packet and the queue share a block.
Result<Allocation> DeviceImpl::FillBlock(const LaunchConfig& config,
                                         KernelState& k) {
  const KernelInfo& kernel = *k.info;
  const u64 kernarg_size = AlignUp(
      std::max<u64>(kernel.kernarg_size, config.kernarg.size()) + 64, 64);
  CERB_TRY(const Allocation block, TakeKernarg(kernarg_size + 64 + 256));
  auto* const bytes = static_cast<std::uint8_t*>(block.host());
  std::memset(bytes, 0, kernarg_size + 64 + 256);
  if (!config.kernarg.empty()) {
    std::memcpy(bytes, config.kernarg.data(), config.kernarg.size());
  }
  k.kernarg = block.address;
  k.dispatch = block.address + kernarg_size;
  k.queue = k.dispatch + 64;
  k.dispatch_id = dispatches_.fetch_add(1, std::memory_order_relaxed);
  if (!config.hidden_args_filled) FillHidden(kernel, config, k.queue, bytes);
  // amd_queue_t: the packets, how many, and the apertures' upper halves.
  std::uint8_t* const queue = bytes + kernarg_size + 64;
  StoreLe<std::uint64_t>(queue + 8, k.dispatch);
  StoreLe<std::uint32_t>(queue + 24, 1);
  StoreLe<std::uint32_t>(queue + 64, kSharedAperture >> 32);
  StoreLe<std::uint32_t>(queue + 68, kPrivateAperture >> 32);
  // hsa_kernel_dispatch_packet_t: type 2, fences of system scope.
  std::uint8_t* const packet = bytes + kernarg_size;
  StoreLe<std::uint16_t>(packet, 2 | 2 << 9 | 2 << 11);
  StoreLe<std::uint16_t>(packet + 2,
                         static_cast<std::uint16_t>(Dimensions(config)));
  for (int d = 0; d < 3; ++d) {
    StoreLe<std::uint16_t>(packet + 4 + 2 * d,
                           static_cast<std::uint16_t>(config.block[d]));
    const u32 full = config.grid[d] - (config.remainder[d] != 0 ? 1 : 0);
    StoreLe<std::uint32_t>(packet + 12 + 4 * d,
                           full * config.block[d] + config.remainder[d]);
  }
  StoreLe<std::uint32_t>(packet + 24, k.scratch_size);
  StoreLe<std::uint32_t>(packet + 28, k.lds_size);
  StoreLe<std::uint64_t>(packet + 32, kernel.descriptor);
  StoreLe<std::uint64_t>(packet + 40, k.kernarg);
  if (config.kernarg_address != 0) k.kernarg = config.kernarg_address;
  if (config.packet_address != 0) k.dispatch = config.packet_address;
  if (config.queue_address != 0) k.queue = config.queue_address;
  return block;
}

Status DeviceImpl::Launch(const KernelInfo& kernel,
                          const LaunchConfig& config) {
  last_fault.reset();
  CERB_TRY_VOID(CheckLimits(kernel, config));
  const u64 groups = Product(config.grid);
  const u64 items = Product(config.block);

  cerberus::emulator::Launch launch;
  launch.device = this;
  launch.gen = target_.gen;
  launch.config = config;
  launch.groups_total = groups;
  launch.call = memory_.NextCall();
  launch.started = std::chrono::steady_clock::now();
  KernelState& k = launch.kernel;
  k = StateOf(kernel, config);
  launch.max_resident =
      config.cooperative
          ? groups
          : std::max<u64>(
                ResidentGroups(target_, kernel, static_cast<u32>(items),
                               config.dynamic_lds, k.scratch_size),
                options_.threads);
  if (FindProgram(k.entry, k.lanes) == nullptr) {
    return Refuse(kernel, "its code object is not loaded");
  }
  // One group's scratch is one block of host memory: what a header asks for
  // must not end the host program.
  constexpr u64 kMaxScratch = u64{1} << 30;
  const u64 lanes_used = AlignUp(items, k.lanes);
  if (u64{k.scratch_size} * lanes_used > kMaxScratch) {
    return Refuse(kernel,
                  fmt::format("{} bytes of scratch for each of {} work-items",
                              k.scratch_size, items));
  }
  CERB_TRY(const Allocation block, FillBlock(config, k));

  const u64 workers = std::min<u64>(options_.threads, groups);
  std::vector<std::thread> threads;
  for (u64 i = 1; i < workers; ++i) {
    threads.emplace_back([&launch] { launch.Work(); });
  }
  launch.Work();
  for (std::thread& t : threads) t.join();
  {
    std::lock_guard<std::mutex> lock(kernarg_mutex_);
    free_kernargs_.push_back(block);
  }
  if (!options_.stats_path.empty()) RecordStats(launch, kernel, config);
  if (launch.fault) {
    last_fault = launch.fault;
    return Err(DiagCode::kUnknown, "emulator: " + launch.fault->ToString());
  }
  return {};
}

const Fault* DeviceImpl::LastFault() const {
  return last_fault ? &*last_fault : nullptr;
}

std::uint32_t DeviceImpl::Occupancy(const KernelInfo& kernel,
                                    std::uint32_t block_size,
                                    std::uint32_t dynamic_lds) const {
  return ComputeOccupancy(target_, kernel, block_size, dynamic_lds)
      .groups_per_cu;
}

std::uint32_t DeviceImpl::WavesPerSimd(const KernelInfo& kernel,
                                       std::uint32_t block_size,
                                       std::uint32_t dynamic_lds) const {
  return ComputeOccupancy(target_, kernel, block_size, dynamic_lds)
      .waves_per_simd;
}

void DeviceImpl::RecordStats(const cerberus::emulator::Launch& launch,
                             const KernelInfo& kernel,
                             const LaunchConfig& config) const {
  const double seconds = std::chrono::duration<double>(
                             std::chrono::steady_clock::now() - launch.started)
                             .count();
  const u32 items = config.block[0] * config.block[1] * config.block[2];
  RecordLaunch(options_.stats_path, id_, kernel, target_.gen, launch.stats,
               ComputeOccupancy(target_, kernel, items, config.dynamic_lds),
               launch.kernel.lds_size, seconds);
}

}  // namespace cerberus::emulator
