// Global wave sync: barriers and semaphores of waves of all groups
// (AMD's ISA manuals, "Global Wave Sync" among the LDS instructions; the values
// as LLVM's llvm.amdgcn.ds.gws.init and .barrier define them).
//
// A resource is named by M0[21:16] plus the instruction's offset. What an
// instruction takes, it takes of its first active lane. A wave that waits
// executes its instruction anew each time that it is its turn.
#include <bit>
#include <mutex>

#include "emulator/device/device.h"
#include "emulator/device/launch.h"
#include "emulator/execute/salu.h"

namespace cerberus::emulator {
namespace {

GwsResource& ResourceOf(Wave& w, const Text& t) {
  const u64 index =
      (w.sgpr[kM0] >> 16 & 63) + static_cast<u64>(t.Number("offset", 0));
  return w.launch->device->gws()[index % DeviceImpl::kGwsResources];
}

// The first active lane's word of the instruction's register.
u32 DataOf(Wave& w, const Text& t) {
  if (t.operands.empty()) Throw("malformed " + t.mnemonic);
  const Operand data = w.program->ParseOperand(t.operands[0], Type::kB32);
  const u64 exec = w.Exec();
  alignas(64) u32 buffer[128];
  return SourceRow(w, data, buffer)[exec == 0 ? 0 : std::countr_zero(exec)];
}

void Again(Wave& w, const Op& op) {
  w.next = &op;
  w.state = WaveState::kYield;
}

// One wave less than those that will come to the barrier.
void Init(Wave& w, const Op& op) {
  GwsResource& r = ResourceOf(w, TextOf(op));
  const u32 value = DataOf(w, TextOf(op));
  std::lock_guard<std::mutex> lock(r.mutex);
  r.count = value;
}

void GwsBarrier(Wave& w, const Op& op) {
  GwsResource& r = ResourceOf(w, TextOf(op));
  const u32 value = DataOf(w, TextOf(op));
  std::lock_guard<std::mutex> lock(r.mutex);
  if (w.gws_phase) {
    if (*w.gws_phase == r.phase) return Again(w, op);
    w.gws_phase.reset();
    return;
  }
  if (r.count != 0) {
    --r.count;
    w.gws_phase = r.phase;
    return Again(w, op);
  }
  r.count = value;  // for the next round
  ++r.phase;
  w.launch->progress.fetch_add(1, std::memory_order_relaxed);
}

void Signal(Wave& w, const Op& op) {
  GwsResource& r = ResourceOf(w, TextOf(op));
  std::lock_guard<std::mutex> lock(r.mutex);
  ++r.count;
}
void SignalMany(Wave& w, const Op& op) {
  GwsResource& r = ResourceOf(w, TextOf(op));
  const u32 value = DataOf(w, TextOf(op));
  std::lock_guard<std::mutex> lock(r.mutex);
  r.count += value;
}
// Those that wait now go on; the count stays.
void ReleaseAll(Wave& w, const Op& op) {
  GwsResource& r = ResourceOf(w, TextOf(op));
  std::lock_guard<std::mutex> lock(r.mutex);
  ++r.phase;
}
void Take(Wave& w, const Op& op) {
  GwsResource& r = ResourceOf(w, TextOf(op));
  std::lock_guard<std::mutex> lock(r.mutex);
  const bool released = w.gws_phase && *w.gws_phase != r.phase;
  if (!released && r.count == 0) {
    w.gws_phase = r.phase;
    return Again(w, op);
  }
  if (!released) --r.count;
  w.gws_phase.reset();
  w.launch->progress.fetch_add(1, std::memory_order_relaxed);
}

constexpr Row kRows[] = {
    {"ds_gws_init", Raw(Init)},
    {"ds_gws_barrier", Raw(GwsBarrier, OpClass::kBarrier)},
    {"ds_gws_sema_v", Raw(Signal)},
    {"ds_gws_sema_br", Raw(SignalMany)},
    {"ds_gws_sema_p", Raw(Take)},
    {"ds_gws_sema_release_all", Raw(ReleaseAll)},
};

}  // namespace

std::span<const Row> GwsRows() { return kRows; }

}  // namespace cerberus::emulator
