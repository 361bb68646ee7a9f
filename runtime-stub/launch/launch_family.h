// All that one kernel launches, and what that launches, in the order that
// CUDA's device runtime defines (CUDA C++ Programming Guide, "CUDA Dynamic
// Parallelism").
#ifndef CERBERUS_RUNTIME_STUB_LAUNCH_LAUNCH_FAMILY_H_
#define CERBERUS_RUNTIME_STUB_LAUNCH_LAUNCH_FAMILY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "formats/launch_abi.h"
#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"
#include "runtime-stub/device/context.h"

namespace cerberus::stub {

// The queue that a family's kernels write to, and streams of HIP's for them.
struct LaunchSlot {
  std::uint32_t number = 0;  // as the launch block names it; from 1 on
  formats::LaunchQueue* queue = nullptr;
  std::uint64_t device_address = 0;
  // Made when needed.
  std::array<hipStream_t, 4> streams = {};
  bool busy = false;
};

// What a kernel launches with cudaGraphLaunch.
struct DeviceGraphLaunch {
  CUgraphExec exec;
  std::uint64_t stream;  // formats::kGraphStream…
};

// Runs in rounds: whatever may begin is launched, then all of it is waited
// for, and what it has put into the queue is sorted in.
class LaunchFamily {
 public:
  LaunchFamily(Context* context, LaunchSlot* slot)
      : context_(context), slot_(*slot) {}

  // Waits for the grid of that number in `stream`, and for all it launches.
  hipError_t Run(hipStream_t stream, std::uint64_t grid);
  // Graphs that it has launched, in that order: for the caller to run.
  const std::vector<DeviceGraphLaunch>& graphs() const { return graphs_; }

 private:
  struct Grid;
  struct Operation {
    formats::LaunchRecord record;
    std::vector<std::uint64_t> content;
    std::shared_ptr<bool> event;  // recorded or waited for
  };
  // A stream of one grid.
  struct Stream {
    Grid* grid = nullptr;
    std::deque<Operation> operations;  // that have not begun
    bool open = false;                 // not all that was put in has ended
    bool waits = false;  // for a grid that launches, and its children
    bool in_flight = false;
  };
  // Stream, then block, then thread.
  using StreamKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  // A grid that may launch.
  struct Grid {
    std::uint64_t id = 0;
    Stream* from = nullptr;  // where it was launched; null for the first one
    bool ended = false;      // the kernel itself
    std::map<StreamKey, Stream> streams;
    std::size_t open_streams = 0;
    Stream tail;  // begins when all others have ended
    std::map<std::uint64_t, std::shared_ptr<bool>> events;  // last recorded
  };

  Grid* AddGrid(std::uint64_t id, Stream* from);
  // Sorts in what kernels have put into the queue. None may run.
  void ReadQueue();
  void SortIn(Grid* grid, Operation operation);
  hipError_t RunRound();
  hipError_t Begin(Stream* stream, hipStream_t on);
  hipError_t BeginKernel(Stream* stream, const Operation& operation,
                         hipStream_t on);
  hipError_t BeginCopy(const Operation& operation, hipStream_t on);
  hipError_t BeginFill(const Operation& operation, hipStream_t on);
  // Notes that the grid, and those it completes, may have come to their end.
  void Settle(Grid* grid);

  Context* context_;
  LaunchSlot& slot_;
  std::map<std::uint64_t, std::unique_ptr<Grid>> grids_;
  std::vector<Stream*> ready_;   // with something that may begin
  std::vector<Grid*> launched_;  // in this round
  std::vector<std::shared_ptr<bool>> recorded_;  // behind what is in flight
  std::vector<DeviceGraphLaunch> graphs_;
  std::uint64_t forgotten_ = 0;  // launches that nothing is ordered with
  bool complete_ = false;
};

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_LAUNCH_LAUNCH_FAMILY_H_
