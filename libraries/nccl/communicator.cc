#include "libraries/nccl/communicator.h"

#include <new>
#include <utility>

#include "libraries/common/stream_memory.h"
#include "libraries/common/work.h"

namespace cerberus::libraries::nccl {
namespace {

struct Group {
  int depth = 0;
  std::vector<Operation> operations;
  std::vector<std::function<Status()>> later;
  std::vector<RcclCall> of_rccl;
  std::vector<RcclSplit> splits;
};
thread_local Group group;

// What one stream does in a group: all its parts are brought before it waits
// for any, so that two ranks may send to each other.
Status Hand(std::vector<Operation> operations) {
  const Communicator& c = *operations.front().communicator;
  const Current current(*c.driver, c.context);
  Work work(*c.driver, operations.front().stream);
  struct Task {
    std::shared_ptr<Clique> clique;
    Meeting meeting;
    int seat;
    Part part;
    std::shared_ptr<const Communicator::Factor> factor;
  };
  std::vector<Task> tasks;
  for (const Operation& o : operations) {
    Part part = o.part;
    // What is written first, so that memory that is both comes back.
    part.out = work.InOut(part.out, o.bytes_out);
    part.in = work.In(part.in, o.bytes_in);
    if (o.factor != nullptr) {
      part.factor = o.factor->on_device != nullptr
                        ? work.In(o.factor->on_device, SizeOf(o.factor->type))
                        : o.factor->value.data();
    }
    tasks.push_back(
        {o.communicator->clique, o.meeting, o.seat, part, o.factor});
  }
  // In a graph it is run more than once.
  const auto runs = std::make_shared<std::uint64_t>(0);
  const bool done = work.Run(
      [tasks = std::move(tasks), runs] {
        const std::uint64_t run = (*runs)++;
        const auto meeting = [&](const Task& task) {
          Meeting of_run = task.meeting;
          of_run.run = run;
          return of_run;
        };
        for (const Task& task : tasks) {
          task.clique->Arrive(meeting(task), task.seat, task.part);
        }
        for (const Task& task : tasks) {
          task.clique->Wait(meeting(task), task.seat);
        }
      },
      /*wait=*/false);
  return done ? kSuccess : kUnhandledCudaError;
}

Status HandAll(std::vector<Operation> operations) {
  Status status = kSuccess;
  while (!operations.empty()) {
    const auto key = [](const Operation& o) {
      return std::pair(o.communicator->context, o.stream);
    };
    const auto of_stream = key(operations.front());
    std::vector<Operation> together, rest;
    for (Operation& o : operations) {
      (key(o) == of_stream ? together : rest).push_back(std::move(o));
    }
    try {
      if (const Status bad = Hand(std::move(together))) status = bad;
    } catch (const std::bad_alloc&) {
      status = kSystemError;
    }
    operations = std::move(rest);
  }
  return status;
}

}  // namespace

Status Submit(Operation operation) {
  if (group.depth == 0) return HandAll({std::move(operation)});
  group.operations.push_back(std::move(operation));
  return kSuccess;
}

Status AtGroupEnd(std::function<Status()> later) {
  if (group.depth == 0) return later();
  group.later.push_back(std::move(later));
  return kSuccess;
}

Status Submit(RcclCall call) {
  if (group.depth == 0) return RunRccl({std::move(call)});
  group.of_rccl.push_back(std::move(call));
  return kSuccess;
}
Status Submit(RcclSplit split) {
  if (group.depth == 0) return SplitRccl({std::move(split)});
  group.splits.push_back(std::move(split));
  return kSuccess;
}

Status SubmitToRccl(const Communicator& c, const Part& part, bool sends,
                    Stream stream) {
  const Driver* const driver = c.driver;
  const RcclRank rank = c.rccl;
  const std::size_t bytes =
      part.count * SizeOf(part.type) * static_cast<std::size_t>(c.size);
  // RCCL has it not in place. The copy is there until the group has ended.
  const bool needs_copy = part.kind == Kind::kAllToAll && part.in == part.out;
  const auto copy = std::make_shared<std::unique_ptr<StreamMemory>>();
  const auto call = [=]() -> Status {
    void* hip = nullptr;
    if (driver->hip_stream(stream, &hip) != 0) return kUnhandledCudaError;
    Part own = part;
    if (needs_copy) {
      *copy = std::make_unique<StreamMemory>(*driver, stream, bytes);
      own.in = (*copy)->get();
      if (!(*copy)->has()) return kSystemError;
      if (driver->copy(reinterpret_cast<std::uint64_t>(own.in),
                       reinterpret_cast<std::uint64_t>(part.in), bytes,
                       stream) != 0) {
        return kUnhandledCudaError;
      }
    }
    return CallRccl(rank, own, sends, hip);
  };
  return Submit(
      RcclCall{rank.rccl, driver, c.context, call, [copy] { copy->reset(); }});
}

void StartGroup() { ++group.depth; }

Status EndGroup() {
  if (group.depth == 0) return kInvalidUsage;
  if (--group.depth != 0) return kSuccess;
  Status status = kSuccess;
  for (const auto& later : std::exchange(group.later, {})) {
    if (const Status bad = later()) status = bad;
  }
  if (const Status bad = RunRccl(std::exchange(group.of_rccl, {}))) {
    status = bad;
  }
  if (const Status bad = SplitRccl(std::exchange(group.splits, {}))) {
    status = bad;
  }
  if (const Status bad = HandAll(std::exchange(group.operations, {}))) {
    status = bad;
  }
  return status;
}

bool ForgetGroup() {
  if (group.depth == 0 || !group.later.empty() || !group.splits.empty()) {
    return false;
  }
  if (--group.depth != 0) return true;
  for (const Operation& o : std::exchange(group.operations, {})) {
    Communicator& c = *o.communicator;
    const Meeting& m = o.meeting;
    if (m.from < 0) --c.calls;
    else --c.between[{o.seat, o.seat == 0 ? m.to : m.from}];
  }
  group.of_rccl.clear();
  return true;
}

}  // namespace cerberus::libraries::nccl
