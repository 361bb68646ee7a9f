// Random packets in a queue of the HSA face. Each comes to its end or ends the
// queue with an error that the program is told of; no address in a packet but
// those of signals and of a loaded kernel is followed by the host.
//
// An input is records of 65 bytes: what to set right in the packet, and the
// packet. Grids are kept small, and barriers are let go, so that all end soon.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "emulator/hsa/abi.h"
#include "tests/unit/emulator/code_object_builder.h"

using namespace cerberus::emulator::hsa;

extern "C" {
Status hsa_init();
Status hsa_iterate_agents(Status (*)(Agent, void*), void*);
Status hsa_agent_get_info(Agent, AgentInfo, void*);
Status hsa_code_object_reader_create_from_memory(const void*, std::size_t,
                                                 Reader*);
Status hsa_executable_create_alt(std::uint32_t, std::uint32_t, const char*,
                                 ExecutableHandle*);
Status hsa_executable_load_agent_code_object(ExecutableHandle, Agent, Reader,
                                             const char*, LoadedCodeObject*);
Status hsa_executable_get_symbol_by_name(ExecutableHandle, const char*,
                                         const Agent*, Symbol*);
Status hsa_executable_symbol_get_info(Symbol, SymbolInfoKind, void*);
Status hsa_signal_create(SignalValue, std::uint32_t, const Agent*, Signal*);
void hsa_signal_store_screlease(Signal, SignalValue);
Status hsa_queue_create(Agent, std::uint32_t, std::uint32_t, QueueCallback,
                        void*, std::uint32_t, std::uint32_t, Queue**);
Status hsa_queue_destroy(Queue*);
std::uint64_t hsa_queue_load_read_index_scacquire(const Queue*);
}

namespace {

#define REQUIRE(condition) \
  if (!(condition)) std::abort()

constexpr std::size_t kRecord = 65, kMostPackets = 16;
std::atomic<bool> has_failed{false};

// s_endpgm alone: what a kernel does is not the packet's matter.
constexpr std::uint8_t kEnd[] = {0x00, 0x00, 0xb0, 0xbf};

struct World {
  Agent gpu = {};
  std::uint64_t kernel = 0;
  Signal signal = {}, open = {};  // of values 1 and 0

  World() {
    setenv("CERBERUS_EMU_TARGETS", "gfx1100", 1);
    setenv("CERBERUS_EMU_THREADS", "1", 1);
    REQUIRE(hsa_init() == kSuccess);
    const auto see = [](Agent agent, void* to) {
      std::uint32_t type = 0;
      hsa_agent_get_info(agent, kAgentDevice, &type);
      if (type == 1) *static_cast<Agent*>(to) = agent;
      return kSuccess;
    };
    hsa_iterate_agents(see, &gpu);
    static const cerberus::Bytes code = cerberus::emulator::BuildCodeObject(
        {}, cerberus::ByteSpan(kEnd, sizeof kEnd));
    Reader reader = {};
    ExecutableHandle executable = {};
    Symbol symbol = {};
    REQUIRE(hsa_code_object_reader_create_from_memory(code.data(), code.size(),
                                                      &reader) == kSuccess);
    REQUIRE(hsa_executable_create_alt(0, 0, nullptr, &executable) == kSuccess);
    REQUIRE(hsa_executable_load_agent_code_object(
                executable, gpu, reader, nullptr, nullptr) == kSuccess);
    REQUIRE(hsa_executable_get_symbol_by_name(executable, "k.kd", &gpu,
                                              &symbol) == kSuccess);
    REQUIRE(hsa_executable_symbol_get_info(symbol, kSymbolKernelObject,
                                           &kernel) == kSuccess);
    REQUIRE(hsa_signal_create(1, 0, nullptr, &signal) == kSuccess);
    REQUIRE(hsa_signal_create(0, 0, nullptr, &open) == kSuccess);
  }
};

Packet MakePacket(const World& world, const std::uint8_t* record) {
  Packet p;
  std::memcpy(p.bytes, record + 1, sizeof p.bytes);
  const std::uint8_t right = record[0];
  const std::uint8_t type = p.bytes[0];
  if (type == kPacketInvalid) p.bytes[0] = kPacketDispatch;
  if ((right & 1) != 0) p.dispatch.completion = world.signal;
  if (p.bytes[0] == kPacketDispatch) {
    if ((right & 2) != 0) p.dispatch.kernel_object = world.kernel;
    // What a group may have takes seconds to clear for a thousand of them.
    if ((right & 4) != 0) {
      p.dispatch.private_bytes &= 0xfff;
    } else {
      p.dispatch.private_bytes |= 0x80000000;
    }
    for (std::uint32_t& n : p.dispatch.grid_size) n &= 0x3f;
    for (std::uint16_t& n : p.dispatch.group_size) {
      if ((right & 8) != 0) n &= 0x3f;
    }
    if ((right & 16) != 0) p.dispatch.group_bytes &= 0xffff;
  } else if (p.bytes[0] == kPacketBarrierAnd ||
             p.bytes[0] == kPacketBarrierOr) {
    for (Signal& s : p.barrier.dependencies) {
      if ((right & 2) != 0) s = (s.handle & 1) != 0 ? world.open : Signal{0};
    }
  } else if ((right & 2) != 0) {
    p.barrier_value.signal = world.open;
  }
  return p;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const World* const world = new World;
  Queue* queue = nullptr;
  has_failed = false;
  const auto fail = [](Status, Queue*, void*) { has_failed = true; };
  REQUIRE(hsa_queue_create(world->gpu, kMostPackets, kQueueMulti, fail, nullptr,
                           0, 0, &queue) == kSuccess);
  std::size_t count = 0;
  for (; count < kMostPackets && size >= (count + 1) * kRecord; ++count) {
    const Packet p = MakePacket(*world, data + count * kRecord);
    auto* const to = static_cast<Packet*>(queue->base) + count;
    std::memcpy(to->bytes + 2, p.bytes + 2, sizeof p.bytes - 2);
    std::atomic_ref<std::uint16_t>(to->header).store(p.header);
  }
  hsa_signal_store_screlease(queue->doorbell, static_cast<SignalValue>(count));
  // A barrier may wait for ever for a value: what is left is dropped.
  for (int i = 0; i < 50 && !has_failed &&
                  hsa_queue_load_read_index_scacquire(queue) != count;
       ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  REQUIRE(hsa_queue_destroy(queue) == kSuccess);
  return 0;
}
