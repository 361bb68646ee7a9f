// Running the waves of a launch.
//
// Workgroups start in the order of their ids. A worker takes a group and runs
// its waves in turn until all have ended. A wave gives its turn away at a
// barrier, at s_sleep and after a quantum of instructions; a group whose waves
// only do that is put aside, and the worker starts the next group or takes the
// one that has waited longest. So is a group that has passed barriers for a
// quantum of each of its waves: it may wait for another group in a loop around
// a barrier. So every resident group makes progress, however many there are.
// A wave that goes round a loop that changes none of its registers waits for
// what another one writes: its turn is once round that loop.
// Resident are as many as the emulated GPU would hold (ResidentGroups).
#include <fmt/format.h>

#include <algorithm>

#include "emulator/access/memop.h"
#include "emulator/access/shadow.h"
#include "emulator/device/device.h"
#include "emulator/device/launch.h"
#include "emulator/execute/hazards.h"
#include "emulator/execute/host_env.h"
#include "support/demangle.h"

namespace cerberus::emulator {
namespace {

// Long enough that ordinary kernels never leave a wave early.
constexpr u64 kQuantum = 50000;
// The longest loop that is looked at, in instructions.
constexpr u64 kLongestSpin = 256;
constexpr int kSpinRounds = 4;
// A look costs some hundredths of a turn: a wave that computes has few.
constexpr u32 kTurnsPerLook = 8;
// Once a wave of the launch was seen to wait, others are looked at when they
// have run so far.
constexpr u64 kFirstLook = 512;

enum PropertyBits : u16 {
  kPrivateSegmentBuffer = 1 << 0,
  kDispatchPtr = 1 << 1,
  kQueuePtr = 1 << 2,
  kKernargPtr = 1 << 3,
  kDispatchId = 1 << 4,
  kFlatScratchInit = 1 << 5,
  kPrivateSegmentSize = 1 << 6,
};

void InitMode(u32 rsrc1, Wave* w) {
  u32 mode = (rsrc1 >> 12 & 0xff);
  if (w->gen != Gen::kGfx12) {
    mode |= (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9;
  }
  mode |= (rsrc1 >> 26 & 1) << 23;
  SetModeBits(*w, mode);
}

// What the descriptor asks for, and preloaded arguments. Returns how many
// SGPRs hold it.
u32 InitUserSgprs(const KernelState& k, Wave* w) {
  u32 s = 0;
  const auto put64 = [&](u64 v) {
    w->sgpr[s] = static_cast<u32>(v);
    w->sgpr[s + 1] = static_cast<u32>(v >> 32);
    s += 2;
  };
  if ((k.properties & kPrivateSegmentBuffer) != 0) {
    // Base: the private aperture, which buffer.cc knows; add_tid and swizzle
    // as the hardware's driver sets them.
    w->sgpr[s] = 0;
    w->sgpr[s + 1] =
        static_cast<u32>(kPrivateAperture >> 32 & 0xffff) | 1u << 31;
    w->sgpr[s + 2] = ~0u;
    w->sgpr[s + 3] = 1u << 23;
    s += 4;
  }
  if ((k.properties & kDispatchPtr) != 0) put64(k.dispatch);
  if ((k.properties & kQueuePtr) != 0) put64(k.queue);
  if ((k.properties & kKernargPtr) != 0) put64(k.kernarg);
  if ((k.properties & kDispatchId) != 0) put64(k.dispatch_id);
  if ((k.properties & kFlatScratchInit) != 0) put64(0);
  if ((k.properties & kPrivateSegmentSize) != 0) {
    w->sgpr[s++] = k.scratch_size;
  }
  // Preloaded kernel arguments follow; the count of user registers includes
  // them.
  const u32 preload = k.preload & 0x7f, preload_from = k.preload >> 7;
  for (u32 i = 0; i < preload && s < 16; ++i) {
    const u64 at = 4 * (u64{preload_from} + i);
    u32 v = 0;
    if (at + 4 <= k.info->kernarg_size) {
      std::memcpy(&v, reinterpret_cast<const void*>(k.kernarg + at), 4);
    }
    w->sgpr[s++] = v;
  }
  return std::max(s, k.rsrc2 >> 1 & 31);
}

// Where the hardware says which group and wave this is, behind `s` SGPRs of
// the user.
void InitSystemSgprs(const KernelState& k, u32 s, Wave* w) {
  const Gen gen = w->gen;
  const u32 rsrc2 = k.rsrc2, index = w->index_in_group;
  const Group& group = *w->group;
  if (gen == Gen::kGfx12) {
    w->sgpr[kTtmp + 9] = group.id[0];
    w->sgpr[kTtmp + 7] = (group.id[1] & 0xffff) | group.id[2] << 16;
    w->sgpr[kTtmp + 8] = index << 25;  // wave id in group: bits 25 to 29
  } else {
    for (int d = 0; d < 3; ++d) {
      if ((rsrc2 >> (7 + d) & 1) != 0) w->sgpr[s++] = group.id[d];
    }
    if ((rsrc2 >> 10 & 1) != 0) {  // workgroup info
      w->sgpr[s++] =
          (index == 0 ? 1u << 31 : 0) | (group.items() + k.lanes - 1) / k.lanes;
    }
    // The scratch wave offset: 0, our scratch has its own base per wave.
    // Where flat scratch is architected there is none.
    if ((rsrc2 & 1) != 0 && gen != Gen::kGfx940 && gen != Gen::kGfx950 &&
        gen != Gen::kGfx11) {
      w->sgpr[s++] = 0;
    }
  }
}

// Work-item ids: packed into v0 since gfx90a and gfx11, else as many of v0
// to v2 as ENABLE_VGPR_WORKITEM_ID says.
void InitItems(u32 rsrc2, u32 first, u32 active, Wave* w) {
  const Group& group = *w->group;
  const u32 ids = rsrc2 >> 11 & 3;
  const bool packed = w->gen != Gen::kGfx9 && w->gen != Gen::kGfx10;
  const u32 sx = group.size[0], sy = group.size[1];
  for (u32 lane = 0; lane < active; ++lane) {
    const u32 item = first + lane;
    const u32 x = item % sx, y = item / sx % sy, z = item / (sx * sy);
    if (packed) {
      w->Row(0)[lane] = x | y << 10 | z << 20;
    } else {
      w->Row(0)[lane] = x;
      if (ids >= 1) w->Row(1)[lane] = y;
      if (ids >= 2) w->Row(2)[lane] = z;
    }
  }
}

// The initial state of a wave (AMDGPUUsage, "Initial Kernel Execution
// State").
void InitWave(Launch& launch, Group& group, u32 index, Wave* w) {
  const KernelState& k = launch.kernel;
  const Gen gen = launch.gen;
  w->lanes = k.lanes;
  w->gen = gen;
  w->group = &group;
  w->launch = &launch;
  w->program = launch.FindProgram(k.entry, k.lanes);
  w->next = w->program->At(k.entry);
  w->lds = group.lds.data();
  w->lds_size = static_cast<u32>(group.lds.size());
  w->scratch_stride = k.scratch_size;
  w->scratch = group.scratch.data() +
               static_cast<std::size_t>(index) * k.lanes * k.scratch_size;
  w->index_in_group = index;
  w->memory.Attach(&launch.device->memory());
  w->check_waits = launch.device->options().check_waits;
  w->check_hazards = w->check_waits && IsCdna(gen);
  w->shadow = group.shadow.get();
  w->counting = !launch.device->options().stats_path.empty();

  InitMode(k.rsrc1, w);

  // EXEC: the lanes that are work-items of the group.
  const u32 first = index * k.lanes;
  const u32 active = std::min(group.items() - first, k.lanes);
  w->SetS64(kExec, active == 64 ? ~u64{0} : (u64{1} << active) - 1);

  InitSystemSgprs(k, InitUserSgprs(k, w), w);
  w->SetS64(kSharedBase, kSharedAperture);
  w->SetS64(kSharedLimit, kSharedAperture + kApertureSize - 1);
  w->SetS64(kPrivateBase, kPrivateAperture);
  w->SetS64(kPrivateLimit, kPrivateAperture + kApertureSize - 1);

  InitItems(k.rsrc2, first, active, w);
}

void Report(Launch& launch, Wave& w, const FaultError& e) {
  Fault f;
  f.reason = e.reason;
  f.kernel = launch.kernel.info->name;
  if (std::string text = Demangle(f.kernel); text != f.kernel) {
    f.demangled = std::move(text);
  }
  const Op* const op = w.current;
  u64 pc = 0;
  if (op != nullptr) {
    const u64 address = w.program->AddressOf(op);
    f.instruction = w.program->TextAt(address);
    f.pc_offset = address - launch.kernel.entry;
    pc = address;
  }
  f.workgroup = w.group->id;
  f.wave = w.index_in_group;
  f.lane = e.lane;
  f.lanes = e.lanes;
  if (e.has_address) {
    f.address = e.address;
    const bool aperture = e.address >= kSharedAperture &&
                          e.address < kPrivateAperture + kApertureSize;
    if (!aperture) f.nearest = launch.device->memory().Describe(e.address);
    if (f.nearest.find("that was freed") != std::string::npos) {
      f.nearest += fmt::format("; this launch is call {}", launch.call);
    }
  }
  launch.device->DescribeCode(pc, &f);
  std::lock_guard<std::mutex> lock(launch.mutex);
  if (!launch.fault) launch.fault = std::move(f);
  launch.stop = true;
  launch.wake.notify_all();
}

// An instruction under gfx9's register indexing.
void ExecIndexed(Wave& w, const Op& op, Handler handler) {
  const u32 index = w.sgpr[kM0] & 0xff, chosen = w.sgpr[kM0] >> 12 & 15;
  Op moved;
  moved.CopyFrom(op);
  const auto move = [&](Operand& o, bool on) {
    if (!on || !o.vgpr() || o.reg >= 256) return;
    if (o.reg + index + o.regs > 256) {
      Throw("indexed register is out of range");
    }
    o.reg = static_cast<u16>(o.reg + index);
  };
  for (u32 i = 0; i < 3; ++i) move(moved.src[i], (chosen >> i & 1) != 0);
  move(moved.dst, (chosen >> 3 & 1) != 0);
  handler(w, moved);
}

void CountInstruction(Wave& w, const Op& op) {
  KernelStats& s = w.group->stats;
  ++s.instructions[static_cast<std::size_t>(op.klass)];
  if (IsVector(op.klass)) {
    s.lane_instructions += static_cast<u64>(std::popcount(w.Exec()));
  }
}

// Runs one wave until it ends, blocks or has used its quantum.
void RunWave(Launch& launch, Wave& w, u64 quantum) {
  w.state = WaveState::kRunning;
  u64 left = quantum;
  const bool check = w.check_waits, hazards = w.check_hazards,
             counting = w.counting;
  try {
    while (w.state == WaveState::kRunning) {
      const Op* const op = w.next;
      Handler handler = op->handler.load(std::memory_order_acquire);
      w.current = op;
      if (handler == nullptr) [[unlikely]] {
        w.program->Decode(op);
        handler = op->handler.load(std::memory_order_acquire);
      }
      if (!w.pending.entries.empty() && op->touches.Meets(w.pending.touched))
          [[unlikely]] {
        CheckPending(w, *op);
      }
      if (hazards) TrackHazards(w, *op);
      if (counting) [[unlikely]]
        CountInstruction(w, *op);
      w.next = op + op->dwords;
      if (w.gpr_index_mode != 0 && op->fn != nullptr) [[unlikely]] {
        ExecIndexed(w, *op, handler);
      } else {
        handler(w, *op);
      }
      if (check && op->wait != Wait::kNone) NotePending(w, *op);
      if (--left == 0) {
        if (w.state == WaveState::kRunning) w.state = WaveState::kYield;
        break;
      }
    }
  } catch (const FaultError& e) {
    w.state = WaveState::kEnded;
    Report(launch, w, e);
  }
  ResetEnv(w);
  w.instructions += quantum - left;
  const u64 limit = launch.device->options().instruction_limit;
  if (limit != 0 && w.instructions > limit && w.state != WaveState::kEnded) {
    w.state = WaveState::kEnded;
    Report(
        launch, w,
        FaultError{fmt::format("no end after {} instructions", w.instructions),
                   -1, false, 0});
  }
}

// Vector registers of each kind that the kernel was given, from its descriptor
// (AMDGPUUsage, "GRANULATED_WORKITEM_VGPR_COUNT").
std::size_t RegisterRows(const Launch& launch) {
  const bool by_eight = launch.gen == Gen::kGfx90a ||
                        launch.gen == Gen::kGfx940 ||
                        launch.gen == Gen::kGfx950 ||
                        (!IsCdna(launch.gen) && launch.kernel.lanes == 32);
  const std::size_t count =
      ((launch.kernel.rsrc1 & 63) + std::size_t{1}) * (by_eight ? 8 : 4);
  return std::min<std::size_t>(count, 256);
}

// A digest of what instructions change but memory.
u64 RegisterState(const Launch& launch, const Wave& w) {
  // Four sums, so that multiplications need not wait for each other.
  std::array<u64, 4> sums = {1, 2, 3, 4};
  constexpr u64 kOdd = 0x9e3779b97f4a7c15;
  const auto add = [&](const u32* words, std::size_t count) {
    for (std::size_t i = 0; i + 8 <= count; i += 8) {
      for (std::size_t k = 0; k < 4; ++k) {
        u64 word = 0;
        std::memcpy(&word, words + i + 2 * k, sizeof word);
        sums[k] = (sums[k] ^ word) * kOdd;
        sums[k] ^= sums[k] >> 32;
      }
    }
  };
  static_assert(kNumSlots % 8 == 0);
  add(w.sgpr, kNumSlots);
  const std::size_t used = RegisterRows(launch) * w.lanes;
  add(w.vgpr, used);
  if (IsCdna(launch.gen)) add(w.vgpr + std::size_t{256} * w.lanes, used);
  const u32 rest[8] = {w.scc,
                       ModeBits(w),
                       w.gpr_index_mode,
                       static_cast<u32>(w.clock_reads),
                       w.barrier_signalled,
                       w.barrier_generation,
                       w.named_barrier,
                       w.named_complete};
  add(rest, std::size(rest));
  u64 state = 0;
  for (const u64 sum : sums) state = (state ^ sum) * kOdd;
  return state;
}

// Whether a wave that has used its turn comes back to where it is with the
// same registers.
void FindSpin(Launch& launch, Wave& w) {
  const Spin found = {w.next, 0, RegisterState(launch, w)};
  for (u64 length = 1; length <= kLongestSpin; ++length) {
    RunWave(launch, w, 1);
    if (w.state != WaveState::kYield) return;
    if (w.next != found.at) continue;
    if (RegisterState(launch, w) == found.state) {
      w.spin = {found.at, length, found.state};
      launch.spins.store(true, std::memory_order_relaxed);
    }
    return;
  }
}

// Whether the wave did nothing else than to run until its quantum was used up.
bool UsesUp(Launch& launch, Wave& w, u64 quantum) {
  const u64 before = w.instructions;
  RunWave(launch, w, quantum);
  return w.state == WaveState::kYield && w.instructions - before == quantum;
}

// Runs one wave until it ends, blocks or has used its quantum, or once round
// the loop in which it waits. A few times if that changed its registers: it
// waits on if it only saw another value than the last time, which takes rounds
// to come to all registers that it goes through.
void TakeTurn(Launch& launch, Wave& w, u64 quantum) {
  for (int round = 0; round < kSpinRounds && w.spin.length != 0; ++round) {
    RunWave(launch, w, w.spin.length);
    if (w.state != WaveState::kYield) {
      w.spin = {};
      return;
    }
    if (w.next != w.spin.at) break;
    const u64 state = RegisterState(launch, w);
    if (state == w.spin.state) return;
    w.spin.state = state;
  }
  w.spin = {};
  if (quantum == kQuantum && launch.spins.load(std::memory_order_relaxed)) {
    if (!UsesUp(launch, w, kFirstLook)) return;
    FindSpin(launch, w);
    if (w.state != WaveState::kYield || w.spin.length != 0) return;
  }
  if (UsesUp(launch, w, quantum) && quantum == kQuantum &&
      w.turns_used_up++ % kTurnsPerLook == 0) {
    FindSpin(launch, w);
  }
}

}  // namespace

Group::Group() = default;
Group::~Group() = default;

std::unique_ptr<u32[]> Launch::TakeRegisters(std::size_t words) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!spare_registers.empty()) {
      std::unique_ptr<u32[]> r = std::move(spare_registers.back());
      spare_registers.pop_back();
      return r;
    }
  }
  return std::make_unique<u32[]>(words);
}

std::unique_ptr<Group> MakeGroup(Launch& launch, u64 linear) {
  auto group = std::make_unique<Group>();
  const LaunchConfig& c = launch.config;
  group->linear = linear;
  group->id[0] = static_cast<u32>(linear % c.grid[0]);
  group->id[1] = static_cast<u32>(linear / c.grid[0] % c.grid[1]);
  group->id[2] = static_cast<u32>(linear / c.grid[0] / c.grid[1]);
  u32 items = 1;
  for (int d = 0; d < 3; ++d) {
    const bool partial = c.remainder[d] != 0 && group->id[d] + 1 == c.grid[d];
    group->size[d] = partial ? c.remainder[d] : c.block[d];
    items *= group->size[d];
  }
  const u32 lanes = launch.kernel.lanes;
  const u32 waves = (items + lanes - 1) / lanes;
  const bool agprs = IsCdna(launch.gen);
  const std::size_t rows = agprs ? 512 : 256;
  // Some registers behind the last one: tuples never end past them.
  const std::size_t words = rows * lanes;
  // As many as a full group has: any other one can have them next.
  const u32 full = c.block[0] * c.block[1] * c.block[2];
  group->registers =
      launch.TakeRegisters(words * ((full + lanes - 1) / lanes) + 16);
  // Hardware gives LDS in blocks of that size. The least is a word: atomic
  // accesses to less are accesses to it.
  constexpr u32 kLdsBlock = 512;
  group->lds.resize(
      AlignUp(launch.kernel.lds_size,
              launch.device->options().whole_blocks ? kLdsBlock : 4));
  group->scratch.resize(static_cast<std::size_t>(waves) * lanes *
                        launch.kernel.scratch_size);
  const DeviceOptions& options = launch.device->options();
  if (options.check_uninitialised || options.check_scratch ||
      options.check_races) {
    group->shadow =
        std::make_unique<GroupShadow>(static_cast<u32>(group->lds.size()),
                                      group->scratch.size(), waves, options);
  }
  const std::uintptr_t raw =
      reinterpret_cast<std::uintptr_t>(group->registers.get());
  u32* const base = reinterpret_cast<u32*>((raw + 63) & ~std::uintptr_t{63});
  // Registers are zero at first; those the kernel was not given stay so.
  const std::size_t used = RegisterRows(launch) * lanes;
  for (u32 i = 0; i < waves; ++i) {
    auto w = std::make_unique<Wave>();
    w->vgpr = base + words * i;
    std::memset(w->vgpr, 0, used * 4);
    if (agprs) std::memset(w->vgpr + 256 * lanes, 0, used * 4);
    w->lanes = lanes;
    InitWave(launch, *group, i, w.get());
    group->waves.push_back(std::move(w));
  }
  group->alive = waves;
  group->stats.waves = waves;
  group->stats.groups = 1;
  return group;
}

GroupState RunGroup(Launch& launch, Group& group, std::mt19937_64* random) {
  std::vector<Wave*> order;
  for (const auto& w : group.waves) {
    if (w->state != WaveState::kEnded) order.push_back(w.get());
  }
  u64 executed = 0;
  for (;;) {
    if (random != nullptr) std::shuffle(order.begin(), order.end(), *random);
    bool advanced = false, yielded = false;
    for (Wave* w : order) {
      if (w->state == WaveState::kEnded || w->state == WaveState::kBarrier) {
        continue;
      }
      u64 quantum = random != nullptr ? 1 + (*random)() % 64 : kQuantum;
      if (const u64 limit = launch.device->options().instruction_limit;
          limit != 0) {
        quantum = std::min(quantum, limit + 1 - w->instructions);
      }
      const u64 before = w->instructions;
      TakeTurn(launch, *w, quantum);
      executed += w->instructions - before;
      if (launch.stop.load(std::memory_order_relaxed)) {
        return GroupState::kDone;
      }
      if (w->state == WaveState::kEnded) {
        --group.alive;
        launch.progress.fetch_add(1, std::memory_order_relaxed);
        advanced = true;
      } else if (w->state == WaveState::kYield) {
        yielded = true;
      } else {
        advanced = true;
      }
    }
    if (group.alive == 0) return GroupState::kDone;
    // All that are left have arrived: the barrier opens.
    u32 waiting = 0;
    for (const Wave* w : order) {
      if (w->state == WaveState::kBarrier) ++waiting;
    }
    if (waiting == group.alive) {
      if (group.shadow != nullptr) {
        for (const Wave* w : order) group.shadow->Arrive(w->index_in_group);
        for (const Wave* w : order) group.shadow->Leave(w->index_in_group);
      }
      for (Wave* w : order) {
        if (w->state == WaveState::kBarrier) w->state = WaveState::kRunning;
      }
      launch.progress.fetch_add(1, std::memory_order_relaxed);
      if (executed > kQuantum * group.alive) return GroupState::kYielded;
      continue;
    }
    if (random != nullptr) {
      // Turns are short: leave the group now and then, so that groups are
      // interleaved too.
      if (yielded && (*random)() % 16 == 0) return GroupState::kYielded;
      continue;
    }
    if (yielded && !advanced) return GroupState::kYielded;
  }
}

std::string Launch::WhyItHangs() {
  std::string text = "no wave has made progress: the kernel hangs";
  const std::lock_guard<std::mutex> lock(mutex);
  if (next_group < groups_total) {
    text += fmt::format(
        "; {} of {} groups are resident, and what these wait for may be one of "
        "the others, which begin only as these end, on the GPU too",
        resident, groups_total);
  }
  return text;
}

void Launch::Work() {
  const DeviceOptions& options = device->options();
  std::unique_ptr<std::mt19937_64> random;
  if (options.random_schedule) {
    random = std::make_unique<std::mt19937_64>(options.random_schedule_seed);
  }
  u64 seen_progress = progress.load();
  auto last_progress = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    if (stop || finished == groups_total) break;
    std::unique_ptr<Group> group;
    const bool can_start = next_group < groups_total && resident < max_resident;
    if (can_start && (suspended.empty() || !prefer_suspended)) {
      const u64 linear = next_group++;
      ++resident;
      prefer_suspended = true;
      ++running;
      lock.unlock();
      group = MakeGroup(*this, linear);
    } else if (!suspended.empty()) {
      const std::size_t at =
          random == nullptr ? 0 : (*random)() % suspended.size();
      group = std::move(suspended[at]);
      suspended.erase(suspended.begin() + static_cast<std::ptrdiff_t>(at));
      prefer_suspended = false;
      ++running;
      lock.unlock();
    } else {
      // Others run the groups that are left.
      wake.wait_for(lock, std::chrono::milliseconds(50));
      continue;
    }
    const GroupState state = RunGroup(*this, *group, random.get());
    if (options.watchdog_seconds > 0 && state == GroupState::kYielded) {
      const auto now = std::chrono::steady_clock::now();
      const u64 p = progress.load();
      if (p != seen_progress) {
        seen_progress = p;
        last_progress = now;
      } else if (std::chrono::duration<double>(now - last_progress).count() >
                 options.watchdog_seconds) {
        for (const auto& w : group->waves) {
          if (w->state == WaveState::kEnded) continue;
          Report(*this, *w, FaultError{WhyItHangs(), -1, false, 0});
          break;
        }
      }
    }
    lock.lock();
    --running;
    if (state == GroupState::kDone) {
      stats.Add(group->stats);
      spare_registers.push_back(std::move(group->registers));
      --resident;
      ++finished;
      if (finished == groups_total) wake.notify_all();
    } else {
      suspended.push_back(std::move(group));
      wake.notify_one();
    }
  }
  wake.notify_all();
}

Program* Launch::FindProgram(u64 address, u32 lanes) {
  return device->FindProgram(address, lanes);
}

u64 Launch::RealTime() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<u64>(
             std::chrono::duration_cast<std::chrono::nanoseconds>(now)
                 .count()) /
         10;
}

u32 Launch::SignalBarrier(Wave& w) {
  Group& g = *w.group;
  const u32 generation = g.generation;
  if (++g.signalled >= g.alive) {
    g.signalled = 0;
    ++g.generation;
    progress.fetch_add(1, std::memory_order_relaxed);
  }
  return generation;
}

bool Launch::BarrierDone(Wave& w) {
  Group& g = *w.group;
  if (g.generation != w.barrier_generation) return true;
  // Waves that ended do not signal any more.
  if (g.signalled != 0 && g.signalled >= g.alive) {
    g.signalled = 0;
    ++g.generation;
    return true;
  }
  return false;
}

}  // namespace cerberus::emulator
