// An AMD GPU in software: the emulator's public face.
//
//   Result<std::unique_ptr<Device>> device = Device::Create("gfx1100");
//   Result<Allocation> out = device->Allocate(1024, 256, MemoryKind::kDevice);
//   Result<CodeObject*> code = device->LoadCodeObject(bytes);
//   const KernelInfo* kernel = (*code)->FindKernel("vector_add");
//   LaunchConfig launch;             // grid, block, dynamic LDS, kernarg bytes
//   Status done = device->Launch(*kernel, launch);
//
// Device memory is host memory and a device address is a host address, so a
// copy is a memcpy. What a kernel may touch is the set of live allocations;
// anything else is a fault, reported with kernel, instruction, workgroup, lane
// and address. Launch() returns when the last workgroup has ended. Streams,
// events and the HIP calls live above this header.
//
// Every member may be called from several threads at once.
#ifndef CERBERUS_EMULATOR_EMULATOR_H_
#define CERBERUS_EMULATOR_EMULATOR_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/bytes.h"
#include "support/result.h"

namespace cerberus::emulator {

enum class MemoryKind : std::uint8_t {
  kDevice,      // hipMalloc
  kHost,        // hipHostMalloc: pinned
  kManaged,     // hipMallocManaged
  kRegistered,  // hipHostRegister: memory the emulator does not own
  kCode,        // a loaded code object: code, constants, variables
};

struct Allocation {
  std::uint64_t address = 0;  // device address == host address
  std::uint64_t size = 0;
  MemoryKind kind = MemoryKind::kDevice;

  void* host() const { return reinterpret_cast<void*>(address); }
};

// One argument of a kernel, from the code object's metadata (LLVM,
// AMDGPUUsage, "Code Object V3 and Above Metadata").
struct KernelArg {
  std::string name;           // often empty
  std::string value_kind;     // "by_value", "global_buffer", "hidden_…"
  std::string address_space;  // "", "global", "local", …
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct KernelInfo {
  std::string name;              // ".name": what a host program asks for
  std::string symbol;            // ".symbol": "<name>.kd"
  std::uint64_t descriptor = 0;  // device address of the 64-byte descriptor
  std::uint64_t entry = 0;       // device address of the first instruction
  std::uint32_t kernarg_size = 0;
  std::uint32_t kernarg_alignment = 0;
  std::uint32_t lds_size = 0;      // static, in bytes
  std::uint32_t private_size = 0;  // scratch per lane, in bytes
  bool dynamic_stack = false;
  std::uint32_t sgprs = 0;
  std::uint32_t vgprs = 0;  // without agprs
  std::uint32_t agprs = 0;
  std::uint32_t sgpr_spills = 0;
  std::uint32_t vgpr_spills = 0;
  std::uint32_t wavefront_size = 0;
  std::uint32_t max_flat_workgroup_size = 0;
  std::array<std::uint32_t, 3> reqd_workgroup_size = {0, 0, 0};  // 0: none
  std::vector<KernelArg> args;  // explicit first, hidden after them

  // Bytes of the explicit arguments: where the hidden ones may begin.
  std::uint32_t explicit_size() const;
};

struct SymbolInfo {
  std::string name;
  std::uint64_t address = 0;  // device address
  std::uint64_t size = 0;
  bool is_variable = false;  // STT_OBJECT that is not a kernel descriptor
};

// A loaded code object. Lives until Device::UnloadCodeObject or the device's
// end; its variables are device memory of kind kCode.
class CodeObject {
 public:
  virtual ~CodeObject() = default;
  virtual const std::string& target() const = 0;  // "gfx1100:…", from metadata
  virtual int version() const = 0;                // 4, 5 or 6
  virtual const std::vector<KernelInfo>& kernels() const = 0;
  virtual const std::vector<SymbolInfo>& symbols() const = 0;
  virtual const KernelInfo* FindKernel(std::string_view name) const = 0;
  virtual const SymbolInfo* FindSymbol(std::string_view name) const = 0;
  // The bytes of an allocated section as loaded (relocated), if present.
  virtual std::optional<ByteSpan> FindSection(std::string_view name) const = 0;
};

struct LaunchConfig {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};   // in workgroups
  std::array<std::uint32_t, 3> block = {1, 1, 1};  // in work-items
  // Work-items of a trailing partial workgroup, 0: none (HIP has no partial
  // workgroups, OpenCL has).
  std::array<std::uint32_t, 3> remainder = {0, 0, 0};
  std::uint32_t dynamic_lds = 0;
  // All groups are resident at once: the caller has made sure that the GPU
  // would hold them.
  bool cooperative = false;
  // The explicit arguments, and the hidden ones if `hidden_args_filled`.
  // Shorter than the kernarg segment: the rest is zero.
  ByteSpan kernarg;
  // Instead of `kernarg`, where the caller keeps these in memory of the device
  // itself, as an HSA runtime does; 0: Launch() makes them. The addresses of
  // the kernarg segment, of the dispatch packet and of the queue's block.
  std::uint64_t kernarg_address = 0;
  std::uint64_t packet_address = 0;
  std::uint64_t queue_address = 0;
  // Bytes of scratch for each lane, if more than the kernel itself says.
  std::uint32_t private_size = 0;
  // False: Launch() fills every hidden argument it knows from this struct and
  // from `heap`, `hostcall` and so on below, as a HIP runtime does.
  bool hidden_args_filled = false;
  std::uint64_t printf_buffer = 0;
  std::uint64_t hostcall_buffer = 0;
  std::uint64_t heap = 0;
  std::uint64_t default_queue = 0;
  std::uint64_t completion_action = 0;
  std::uint64_t multigrid_sync = 0;
};

// What a typical board of a target looks like to a program that asks. The
// emulated device runs no faster for it; the numbers only have to be usable.
struct BoardInfo {
  const char* name = "AMD GPU";
  int clock_khz = 1500000, memory_clock_khz = 1000000;
  int bus_bits = 256, l2_bytes = 4 << 20;
  std::uint32_t chip_id = 0;  // of the PCI bus
  std::uint32_t l1_kib = 16, l3_kib = 0;
  std::uint32_t shader_engines = 4, arrays_per_engine = 2;
};

// What the emulated processor is: for device properties and occupancy.
struct TargetInfo {
  std::string processor;    // "gfx1100"
  std::uint32_t major = 0;  // 11
  std::uint32_t minor = 0;  // 0
  std::uint32_t stepping = 0;
  std::uint32_t wavefront_size = 0;  // the target's default
  std::uint32_t max_workgroup_size = 1024;
  std::uint32_t lds_bytes = 0;           // per workgroup
  std::uint32_t max_waves_per_simd = 0;  // at the default wave size
  std::uint32_t simds_per_cu = 0;
  std::uint32_t total_vgprs = 0;    // per SIMD and lane
  std::uint32_t compute_units = 0;  // of a typical product
  BoardInfo board;
};

struct DeviceOptions {
  unsigned threads = 0;  // 0: one per host processor
  // 0: each workgroup's waves run in order; else a seed for random
  // interleaving of the waves.
  std::uint64_t random_schedule_seed = 0;
  bool random_schedule = false;
  // A pending result read before its s_waitcnt, and wait states that CDNA
  // wants between certain instructions.
  bool check_waits = true;
  // Memory ends where a GPU's does, which has it in pages, and LDS in blocks:
  // AMD's libraries count on what is behind an array.
  bool whole_blocks = false;
  // Loads of device memory or LDS that was never written; of scratch, which
  // unoptimised code does where it reloads a register that has no value.
  bool check_uninitialised = false;
  bool check_scratch = false;
  // Two waves of a group that touch the same byte of LDS between two
  // barriers, one of them writing.
  bool check_races = false;
  // Stores of kernels to code and constants are faults. Hardware carries them
  // out, and AMD's HIP runtime relies on it: it has kernels of its own fill
  // __constant__ variables.
  bool protect_constants = true;
  // Seconds without any wave ending or barrier passing before a launch is
  // stopped as hung; 0: never.
  double watchdog_seconds = 0;
  // Instructions of one wave after which it counts as hung; 0: no limit.
  std::uint64_t instruction_limit = 0;
  std::string stats_path;  // counters are written here as JSON at the end

  // CERBERUS_EMU_THREADS, CERBERUS_EMU_SCHEDULE=random:SEED,
  // CERBERUS_EMU_WAITS=0, CERBERUS_EMU_CHECK=uninit,scratch,races,
  // CERBERUS_EMU_BOUNDS=gpu, CERBERUS_EMU_TIMEOUT=SECONDS,
  // CERBERUS_EMU_STATS.
  static DeviceOptions FromEnvironment();
};

// What stopped a launch. Launch() puts ToString() into the Diag it returns;
// the fault itself can be asked for with Device::LastFault().
struct Fault {
  std::string reason;  // "load of 4 bytes outside any allocation"
  std::string kernel;
  std::string demangled;          // the kernel's name in C++, if it is one
  std::string source;             // "reduce.hip:12", if the code object tells
  std::string instruction;        // as LLVM prints it
  std::uint64_t pc_offset = 0;    // from the kernel's entry
  std::uint64_t code_offset = 0;  // in the code object, as objdump shows it
  std::array<std::uint32_t, 3> workgroup = {0, 0, 0};
  std::uint32_t wave = 0;
  int lane = -1;            // the first one; -1: not about a lane
  std::uint64_t lanes = 0;  // all lanes in fault, where known
  std::optional<std::uint64_t> address;
  std::string nearest;  // "96 bytes past the end of a 400-byte allocation …"

  std::string ToString() const;
};

class Device {
 public:
  // `target`: a processor LLVM knows ("gfx1100"), or a target id with
  // features. Errors: not a target the emulator executes.
  static Result<std::unique_ptr<Device>> Create(
      std::string_view target,
      const DeviceOptions& options = DeviceOptions::FromEnvironment());
  // The processors Create() accepts.
  static std::vector<std::string> Targets();

  virtual ~Device() = default;
  virtual const std::string& target() const = 0;
  virtual const TargetInfo& info() const = 0;

  // Memory is zero-filled at first, on its own pages where large.
  virtual Result<Allocation> Allocate(std::uint64_t size,
                                      std::uint64_t alignment,
                                      MemoryKind kind) = 0;
  // Makes existing host memory accessible to kernels; Free() takes it away.
  virtual Status Register(void* host, std::uint64_t size) = 0;
  // What was registered of these addresses is not there any more: the program
  // has unmapped it, since they were given out again.
  virtual void ForgetRegistered(std::uint64_t address, std::uint64_t size) = 0;
  // `address` must be an allocation's first byte. `by`: the call that frees,
  // for the report of a use after it.
  virtual Status Free(std::uint64_t address, std::string_view by = {}) = 0;
  // The host has written to device memory; for check_uninitialised.
  virtual void MarkWritten(std::uint64_t address, std::uint64_t size) = 0;
  // The allocation that contains `address`.
  virtual std::optional<Allocation> Find(std::uint64_t address) const = 0;
  virtual std::uint64_t AllocatedBytes() const = 0;

  virtual Result<CodeObject*> LoadCodeObject(ByteSpan bytes) = 0;
  virtual Status UnloadCodeObject(CodeObject* code) = 0;
  // The kernel of a loaded code object whose descriptor is there, or null.
  virtual const KernelInfo* FindKernelAt(std::uint64_t descriptor) const = 0;

  // Runs the grid to its end. Errors: a configuration the target does not
  // allow, or a fault in the kernel. Memory written before a fault stays
  // written.
  virtual Status Launch(const KernelInfo& kernel,
                        const LaunchConfig& config) = 0;
  // The fault behind the calling thread's last failed Launch(), if any.
  virtual const Fault* LastFault() const = 0;

  // Called, on any thread, when a wave sends the host an interrupt
  // (s_sendmsg MSG_INTERRUPT): it has written to a signal. Set before the
  // first launch.
  virtual void OnInterrupt(std::function<void()> handler) = 0;

  // Workgroups of this kernel that a compute unit holds at once, by the
  // target's register, LDS and wave limits.
  virtual std::uint32_t Occupancy(const KernelInfo& kernel,
                                  std::uint32_t block_size,
                                  std::uint32_t dynamic_lds) const = 0;
  // Waves of it that a SIMD holds at once.
  virtual std::uint32_t WavesPerSimd(const KernelInfo& kernel,
                                     std::uint32_t block_size,
                                     std::uint32_t dynamic_lds) const = 0;
};

// CERBERUS_EMU_TARGETS: one device for each of these, in this order; gfx1100
// if it says nothing.
std::vector<std::string> TargetsFromEnvironment();
// Bytes of memory that a device says it has: CERBERUS_EMU_MEMORY, else half of
// the host's in whole GiB, which a program that takes all of it can be given.
std::uint64_t TotalMemory();
// One line on stderr: "cerberus: emulator: …".
void Report(const std::string& message);

// Every mnemonic that LLVM's disassembler knows for a target, and what the
// emulator does with it; the source of docs/emulator-coverage.md.
struct MnemonicInfo {
  std::string mnemonic;  // without encoding suffix ("v_add_f32")
  bool executed = false;
  std::string reason;  // why not, where it is out of scope
};
Result<std::vector<MnemonicInfo>> ListMnemonics(std::string_view target);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_EMULATOR_H_
