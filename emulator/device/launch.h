// One launch: its workgroups, and what their waves ask of it.
#ifndef CERBERUS_EMULATOR_DEVICE_LAUNCH_H_
#define CERBERUS_EMULATOR_DEVICE_LAUNCH_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "emulator/decode/decode.h"
#include "emulator/execute/wave.h"
#include "emulator/report/stats.h"

namespace cerberus::emulator {

class DeviceImpl;

// gfx12's named barriers; S_BARRIER_INIT says how many waves one has.
struct NamedBarrier {
  u32 signals = 0;
  u32 members = 0;
  bool valid = false;
};

// A resident workgroup. One worker at a time runs it, so its LDS and its
// waves need no locks.
struct Group {
  std::array<u32, 3> id = {};
  std::array<u32, 3> size = {};  // work-items: smaller in a partial group
  u64 linear = 0;
  std::vector<std::unique_ptr<Wave>> waves;
  std::unique_ptr<u32[]> registers;
  std::vector<u8> lds;
  std::vector<u8> scratch;
  u32 alive = 0;
  // gfx12's split barrier.
  u32 signalled = 0;
  u32 generation = 0;
  static constexpr u32 kNamedBarriers = 16;
  std::array<NamedBarrier, kNamedBarriers> named = {};
  KernelStats stats;
  std::unique_ptr<GroupShadow> shadow;

  Group();
  ~Group();
  u32 items() const { return size[0] * size[1] * size[2]; }
};

// Everything that the initial registers of a wave are made of.
struct KernelState {
  const KernelInfo* info = nullptr;
  u32 rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  u16 properties = 0, preload = 0;
  u32 lanes = 32;
  u64 kernarg = 0;  // device addresses
  u64 dispatch = 0;
  u64 queue = 0;
  u64 dispatch_id = 0;
  u32 lds_size = 0;
  u32 scratch_size = 0;
  u64 entry = 0;
};

struct Launch {
  DeviceImpl* device = nullptr;
  Gen gen = Gen::kGfx11;
  KernelState kernel;
  LaunchConfig config;
  u64 groups_total = 0;
  u64 call = 0;  // Memory::NextCall
  std::chrono::steady_clock::time_point started;

  // The program that holds an address, decoded for this wave size.
  Program* FindProgram(u64 address, u32 lanes);
  void Waited(Wave& w, const Op& op);
  u64 RealTime() const;  // a 100 MHz counter
  u32 SignalBarrier(Wave& w);
  bool BarrierDone(Wave& w);

  // --- the scheduler's ---
  std::mutex mutex;
  std::condition_variable wake;
  u64 next_group = 0;
  u64 resident = 0;
  u64 max_resident = 0;
  u64 finished = 0;
  u32 running = 0;
  bool prefer_suspended = false;
  std::deque<std::unique_ptr<Group>> suspended;
  std::atomic<bool> stop{false};
  std::optional<Fault> fault;
  std::atomic<u64> progress{0};    // waves ended and barriers passed
  std::atomic<bool> spins{false};  // a wave was seen to wait in a loop
  KernelStats stats;
  // Register files of groups that ended.
  std::vector<std::unique_ptr<u32[]>> spare_registers;
  std::unique_ptr<u32[]> TakeRegisters(std::size_t words);

  std::string WhyItHangs();
  void Work();  // a worker's loop: returns when the launch is done
};

// pending.cc: the check of missing waits.
struct WaitLimits {  // how much may be outstanding; -1: any number
  i32 vm = -1, lds = -1, smem = -1, lgkm = -1;
};
WaitLimits ParseWait(const Text& text);
void NoteRegisters(Op* op, u32 lanes);  // fills Op::touches
void NotePending(Wave& w, const Op& op);
void CheckPending(Wave& w, const Op& op);
void CheckLdsPending(const Wave& w, u64 offset, u32 bytes, int lane);

// scheduler.cc
std::unique_ptr<Group> MakeGroup(Launch& launch, u64 linear);
enum class GroupState { kDone, kYielded };
GroupState RunGroup(Launch& launch, Group& group, std::mt19937_64* random);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_DEVICE_LAUNCH_H_
