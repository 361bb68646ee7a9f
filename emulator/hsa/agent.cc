// Agents: the host and the emulated GPUs, and what code they take.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "emulator/hsa/memory.h"
#include "emulator/hsa/runtime.h"

namespace cerberus::emulator::hsa {
namespace {

constexpr std::uint32_t kQueueMaxPackets = 131072;
constexpr std::uint32_t kQueueMinPackets = 64;

// Names are of 64 bytes, zeros behind them.
void PutName(void* to, const std::string& name) {
  char buffer[64] = {};
  std::snprintf(buffer, sizeof buffer, "%s", name.c_str());
  std::memcpy(to, buffer, sizeof buffer);
}

void PutGridSizes(void* to) {
  Put<Dim3>(to, {0xffffffff, 0xffffffff, 0xffffffff});
}

// "GPU-" and 16 hexadecimal digits; the host has none.
std::string Uuid(const AgentState& agent) {
  if (!agent.gpu()) return "CPU-XX";
  char text[24];
  std::snprintf(text, sizeof text, "GPU-ce2be205%08x", agent.node - 1);
  return text;
}

// As the kernel has it, "CPU" if it does not say (proc_cpuinfo(5)).
const std::string& HostName() {
  static const std::string* const name = [] {
    std::ifstream lines("/proc/cpuinfo");
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find(": ");
      if (line.starts_with("model name") && colon != line.npos) {
        return new std::string(line.substr(colon + 2));
      }
    }
    return new std::string("CPU");
  }();
  return *name;
}

std::string ProductName(const AgentState& agent) {
  if (!agent.gpu()) return HostName();
  const TargetInfo& info = agent.core->info();
  return std::string(info.board.name) + " (emulated " + info.processor + ")";
}

// What the host and a GPU answer alike but for numbers.
struct Limits {
  std::uint32_t wavefront = 0, group = 0, queues = 0, queue_min = 0,
                queue_max = 0, waves_per_cu = 0, simds = 0, units = 0,
                clock_mhz = 0, memory_mhz = 0, bus = 0, l1 = 0, l2 = 0, l3 = 0,
                chip_id = 0, engines = 0, arrays = 0;
};
Limits LimitsOf(const AgentState& agent) {
  Limits l;
  if (!agent.gpu()) {
    l.units = static_cast<std::uint32_t>(
        std::max<long>(sysconf(_SC_NPROCESSORS_ONLN), 1));
    return l;
  }
  const TargetInfo& info = agent.core->info();
  l.wavefront = info.wavefront_size;
  l.group = info.max_workgroup_size;
  l.queues = 128;
  l.queue_min = kQueueMinPackets;
  l.queue_max = kQueueMaxPackets;
  l.waves_per_cu = info.max_waves_per_simd * info.simds_per_cu;
  l.simds = info.simds_per_cu;
  // A unit of the core's is what HIP calls one: with gfx10 and later a pair
  // that shares LDS. The runtime below HIP counts each by itself.
  l.units = info.compute_units * (info.major >= 10 ? 2 : 1);
  l.clock_mhz = static_cast<std::uint32_t>(info.board.clock_khz / 1000);
  l.memory_mhz = static_cast<std::uint32_t>(info.board.memory_clock_khz / 1000);
  l.bus = static_cast<std::uint32_t>(info.board.bus_bits);
  l.l1 = info.board.l1_kib << 10;
  l.l2 = static_cast<std::uint32_t>(info.board.l2_bytes);
  l.l3 = info.board.l3_kib << 10;
  l.chip_id = info.board.chip_id;
  l.engines = info.board.shader_engines;
  l.arrays = info.board.arrays_per_engine;
  return l;
}

// Images, as AMD's GPUs have them. HIP asks every GPU for these, and computes
// the pitch of memory in two dimensions from them; no image can be made
// (unsupported.cc).
bool ImageInfo(const AgentState& agent, AgentInfo attribute, void* value) {
  const auto put = [&](std::initializer_list<std::uint32_t> numbers) {
    auto* to = static_cast<std::uint8_t*>(value);
    for (const std::uint32_t n : numbers) {
      Put(to, agent.gpu() ? n : 0);
      to += sizeof n;
    }
    return true;
  };
  switch (attribute) {
    case kAgentImage1d:
    case kAgentImage1dArray: return put({16384});
    case kAgentImage1dBuffer: return put({0xffffffff});
    case kAgentImage2d:
    case kAgentImage2dArray:
    case kAgentImage2dDepth:
    case kAgentImage2dDepthArray: return put({16384, 16384});
    case kAgentImage3d: return put({16384, 16384, 8192});
    case kAgentImageLayers: return put({8192});
    case kAgentImageReadHandles:
    case kAgentImageWriteHandles:
    case kAgentSamplerHandles: return put({4096});
    case kAgentImagePitchAlignment: return put({256});
    default: return false;
  }
}

// What the HSA standard itself asks for; false: not of its attributes.
bool StandardInfo(const AgentState& agent, AgentInfo attribute, void* value) {
  const bool gpu = agent.gpu();
  const Limits l = LimitsOf(agent);
  switch (attribute) {
    case kAgentName:
      PutName(value, gpu ? agent.core->info().processor : HostName());
      break;
    case kAgentVendorName: PutName(value, gpu ? "AMD" : "CPU"); break;
    case kAgentFeature: Put<std::uint32_t>(value, gpu ? 1 : 0); break;
    case kAgentMachineModel: Put<std::uint32_t>(value, 1); break;
    case kAgentProfile: Put<std::uint32_t>(value, gpu ? 0 : 1); break;
    case kAgentRoundingMode: Put<std::uint32_t>(value, 2); break;
    case kAgentBaseProfileRoundingModes: Put<std::uint32_t>(value, 2); break;
    case kAgentFastF16: Put<bool>(value, gpu); break;
    case kAgentWavefrontSize: Put(value, l.wavefront); break;
    case kAgentWorkgroupMaxDim: {
      const auto n = static_cast<std::uint16_t>(l.group);
      const std::uint16_t dims[3] = {n, n, n};
      std::memcpy(value, dims, sizeof dims);
      break;
    }
    case kAgentWorkgroupMaxSize: Put(value, l.group); break;
    case kAgentGridMaxDim: PutGridSizes(value); break;
    case kAgentGridMaxSize: Put<std::uint32_t>(value, 0xffffffff); break;
    case kAgentFbarrierMaxSize: Put<std::uint32_t>(value, gpu ? 32 : 0); break;
    case kAgentQueuesMax: Put(value, l.queues); break;
    case kAgentQueueMinSize: Put(value, l.queue_min); break;
    case kAgentQueueMaxSize: Put(value, l.queue_max); break;
    case kAgentQueueType: Put<std::uint32_t>(value, kQueueMulti); break;
    case kAgentNode: Put(value, agent.node); break;
    case kAgentDevice: Put<std::uint32_t>(value, gpu ? 1 : 0); break;
    case kAgentCacheSize: {
      const std::uint32_t sizes[4] = {l.l1, l.l2, l.l3, 0};
      std::memcpy(value, sizes, sizeof sizes);
      break;
    }
    case kAgentIsa: Put<Isa>(value, {gpu ? agent.handle().handle : 0}); break;
    case kAgentExtensions: PutExtensions(value); break;
    case kAgentVersionMajor:
    case kAgentVersionMinor: Put<std::uint16_t>(value, 1); break;
    default: return false;
  }
  return true;
}

// AMD's own attributes.
bool AmdInfo(const AgentState& agent, AgentInfo attribute, void* value) {
  const bool gpu = agent.gpu();
  const Limits l = LimitsOf(agent);
  switch (static_cast<std::uint32_t>(attribute)) {
    case kAgentChipId: Put(value, l.chip_id); break;
    case kAgentCachelineSize: Put<std::uint32_t>(value, gpu ? 128 : 64); break;
    case kAgentComputeUnits:
    case kAgentCooperativeComputeUnits: Put(value, l.units); break;
    case kAgentMaxClock: Put(value, l.clock_mhz); break;
    case kAgentDriverNode: Put(value, agent.node); break;
    case kAgentMaxWatchPoints: Put<std::uint32_t>(value, gpu ? 4 : 1); break;
    case kAgentBdfId:
      // Bus, device and function; the HIP face counts buses from 0xce, too.
      Put<std::uint32_t>(value, gpu ? (0xce + agent.node - 1) << 8 : 0);
      break;
    case kAgentMemoryWidth: Put(value, l.bus); break;
    case kAgentMemoryMaxFrequency: Put(value, l.memory_mhz); break;
    case kAgentProductName: PutName(value, ProductName(agent)); break;
    case kAgentMaxWavesPerCu: Put(value, l.waves_per_cu); break;
    case kAgentSimdsPerCu: Put(value, l.simds); break;
    case kAgentShaderEngines: Put(value, l.engines); break;
    case kAgentShaderArraysPerEngine: Put(value, l.arrays); break;
    case kAgentHdpFlush: std::memset(value, 0, 2 * sizeof(void*)); break;
    case kAgentDomain: Put<std::uint32_t>(value, 0); break;
    case kAgentCooperativeQueues: Put<bool>(value, gpu); break;
    case kAgentUuid: {
      const std::string uuid = Uuid(agent);
      char text[24] = {};
      std::memcpy(text, uuid.c_str(), std::min<std::size_t>(uuid.size(), 20));
      std::memcpy(value, text, 21);
      break;
    }
    case kAgentAsicRevision: Put<std::uint32_t>(value, 0); break;
    case kAgentSvmDirectHostAccess: Put<bool>(value, false); break;
    case kAgentMemoryAvailable:
      Put<std::uint64_t>(value,
                         TotalMemory() - MemoryTable::Get().Used(&agent));
      break;
    case kAgentTimestampFrequency: Put(value, kTicksPerSecond); break;
    case kAgentAsicFamilyId:
    case kAgentUcodeVersion:
    case kAgentSdmaUcodeVersion: Put<std::uint32_t>(value, 0); break;
    case kAgentSdmaEngines: Put<std::uint32_t>(value, gpu ? 2 : 0); break;
    case kAgentXgmiEngines: Put<std::uint32_t>(value, 0); break;
    case kAgentIommuSupport: Put<std::uint32_t>(value, 0); break;
    case kAgentXccCount: Put<std::uint32_t>(value, gpu ? 1 : 0); break;
    case kAgentDriverUid: Put<std::uint32_t>(value, agent.node); break;
    case kAgentNearestCpu: Put(value, Runtime::Live()->host()->handle()); break;
    case kAgentMemoryProperties:
    case kAgentAqlExtensions: std::memset(value, 0, 8); break;
    default: return false;
  }
  return true;
}

}  // namespace
}  // namespace cerberus::emulator::hsa

using namespace cerberus::emulator::hsa;

HSA_API Status hsa_iterate_agents(Status (*callback)(Agent, void*),
                                  void* data) {
  HSA_LIVE(runtime);
  if (callback == nullptr) return kErrorInvalidArgument;
  for (const auto& agent : runtime->agents()) {
    const Status status = callback(agent->handle(), data);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

HSA_API Status hsa_agent_get_info(Agent handle, AgentInfo attribute,
                                  void* value) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (value == nullptr) return kErrorInvalidArgument;
  if (StandardInfo(*agent, attribute, value)) return kSuccess;
  if (AmdInfo(*agent, attribute, value)) return kSuccess;
  if (ImageInfo(*agent, attribute, value)) return kSuccess;
  return kErrorInvalidArgument;
}

HSA_API Status hsa_amd_image_get_info_max_dim(Agent handle, AgentInfo attribute,
                                              void* value) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (value == nullptr || attribute > kAgentImageLayers ||
      !ImageInfo(*agent, attribute, value)) {
    return kErrorInvalidArgument;
  }
  return kSuccess;
}

HSA_API Status hsa_agent_get_exception_policies(Agent agent, std::uint32_t,
                                                std::uint16_t* mask) {
  HSA_LIVE(runtime);
  if (runtime->Find(agent) == nullptr) return kErrorInvalidAgent;
  if (mask == nullptr) return kErrorInvalidArgument;
  *mask = 0;
  return kSuccess;
}

// An ISA's handle is its agent's, and so is that of the agent's second cache.
HSA_API Status hsa_agent_iterate_isas(Agent handle,
                                      Status (*callback)(Isa, void*),
                                      void* data) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (callback == nullptr) return kErrorInvalidArgument;
  return agent->gpu() ? callback({handle.handle}, data) : kSuccess;
}

HSA_API Status hsa_isa_from_name(const char* name, Isa* out) {
  HSA_LIVE(runtime);
  if (name == nullptr || out == nullptr) return kErrorInvalidArgument;
  for (const auto& agent : runtime->agents()) {
    if (agent->gpu() && agent->isa == name) {
      out->handle = agent->handle().handle;
      return kSuccess;
    }
  }
  return kErrorInvalidIsaName;
}

HSA_API Status hsa_isa_get_info_alt(Isa isa, IsaInfo attribute, void* value) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(Agent{isa.handle});
  if (agent == nullptr || !agent->gpu()) return kErrorInvalidIsa;
  if (value == nullptr) return kErrorInvalidArgument;
  const Limits l = LimitsOf(*agent);
  switch (attribute) {
    case kIsaNameLength:  // with the zero at its end
      Put<std::uint32_t>(value,
                         static_cast<std::uint32_t>(agent->isa.size() + 1));
      break;
    case kIsaName:
      std::memcpy(value, agent->isa.c_str(), agent->isa.size() + 1);
      break;
    case kIsaCallConventionCount: Put<std::uint32_t>(value, 1); break;
    case kIsaWavefrontSize: Put(value, l.wavefront); break;
    case kIsaWavefrontsPerComputeUnit: Put(value, l.waves_per_cu); break;
    case kIsaMachineModels: {  // small, large
      const bool models[2] = {false, true};
      std::memcpy(value, models, sizeof models);
      break;
    }
    case kIsaProfiles: {  // base, full
      const bool profiles[2] = {true, false};
      std::memcpy(value, profiles, sizeof profiles);
      break;
    }
    case kIsaRoundingModes:
    case kIsaBaseProfileRoundingModes: {  // default, zero, near
      const bool modes[3] = {false, false, true};
      std::memcpy(value, modes, sizeof modes);
      break;
    }
    case kIsaFastF16: Put<bool>(value, true); break;
    case kIsaWorkgroupMaxDim: {
      const auto n = static_cast<std::uint16_t>(l.group);
      const std::uint16_t dims[3] = {n, n, n};
      std::memcpy(value, dims, sizeof dims);
      break;
    }
    case kIsaWorkgroupMaxSize: Put(value, l.group); break;
    case kIsaGridMaxDim: PutGridSizes(value); break;
    case kIsaGridMaxSize: Put<std::uint64_t>(value, 0xffffffff); break;
    case kIsaFbarrierMaxSize: Put<std::uint32_t>(value, 32); break;
    default: return kErrorInvalidArgument;
  }
  return kSuccess;
}
HSA_API Status hsa_isa_get_info(Isa isa, IsaInfo attribute, std::uint32_t index,
                                void* value) {
  if (index != 0) return kErrorInvalidArgument;
  return hsa_isa_get_info_alt(isa, attribute, value);
}

HSA_API Status hsa_isa_compatible(Isa code, Isa agent, bool* result) {
  HSA_LIVE(runtime);
  if (result == nullptr) return kErrorInvalidArgument;
  AgentState* const a = runtime->Find(Agent{code.handle});
  AgentState* const b = runtime->Find(Agent{agent.handle});
  if (a == nullptr || b == nullptr) return kErrorInvalidIsa;
  *result = a->isa == b->isa;
  return kSuccess;
}

HSA_API Status hsa_isa_iterate_wavefronts(Isa isa,
                                          Status (*callback)(Wavefront, void*),
                                          void* data) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(Agent{isa.handle});
  if (agent == nullptr || !agent->gpu()) return kErrorInvalidIsa;
  if (callback == nullptr) return kErrorInvalidArgument;
  return callback({isa.handle}, data);
}
HSA_API Status hsa_wavefront_get_info(Wavefront wavefront,
                                      std::uint32_t attribute, void* value) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(Agent{wavefront.handle});
  if (agent == nullptr || !agent->gpu()) return kErrorInvalidWavefront;
  if (attribute != 0 || value == nullptr) return kErrorInvalidArgument;
  Put(value, agent->core->info().wavefront_size);
  return kSuccess;
}

HSA_API Status hsa_agent_iterate_caches(Agent handle,
                                        Status (*callback)(Cache, void*),
                                        void* data) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(handle);
  if (agent == nullptr) return kErrorInvalidAgent;
  if (callback == nullptr) return kErrorInvalidArgument;
  return agent->gpu() ? callback({handle.handle}, data) : kSuccess;
}
HSA_API Status hsa_cache_get_info(Cache cache, CacheInfo attribute,
                                  void* value) {
  HSA_LIVE(runtime);
  AgentState* const agent = runtime->Find(Agent{cache.handle});
  if (agent == nullptr || !agent->gpu() || value == nullptr) {
    return kErrorInvalidArgument;
  }
  const std::string name = agent->core->info().processor + " L2";
  switch (attribute) {
    case kCacheNameLength:
      Put<std::uint32_t>(value, static_cast<std::uint32_t>(name.size()));
      break;
    case kCacheName: std::memcpy(value, name.c_str(), name.size()); break;
    case kCacheLevel: Put<std::uint8_t>(value, 2); break;
    case kCacheSize: Put(value, LimitsOf(*agent).l2); break;
    default: return kErrorInvalidArgument;
  }
  return kSuccess;
}

// The only coherency there is here is the strongest.
HSA_API Status hsa_amd_coherency_get_type(Agent agent, std::uint32_t* type) {
  HSA_LIVE(runtime);
  if (runtime->Find(agent) == nullptr) return kErrorInvalidAgent;
  if (type == nullptr) return kErrorInvalidArgument;
  *type = 0;
  return kSuccess;
}
HSA_API Status hsa_amd_coherency_set_type(Agent agent, std::uint32_t type) {
  HSA_LIVE(runtime);
  if (runtime->Find(agent) == nullptr) return kErrorInvalidAgent;
  return type > 1 ? kErrorInvalidArgument : kSuccess;
}
