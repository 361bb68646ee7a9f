// An RCCL for the ranks of one process, over HIP's streams: it computes as our
// NCCL does on the host, and counts its calls.
#include <dlfcn.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "libraries/nccl/clique.h"

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::nccl {
namespace {

using HipStream = void*;

template <typename... A>
int Hip(const char* name, A... arguments) {
  static void* const hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<int (*)(A...)>(dlsym(hip, name))(arguments...);
}

struct Factor {
  Type type;
  std::vector<std::byte> value;
  const void* on_device = nullptr;
};
struct Comm {
  std::shared_ptr<Clique> clique;
  int rank = 0, device = 0;
  std::uint64_t calls = 0;
  std::map<std::pair<int, int>, std::uint64_t> between;
  std::map<int, std::shared_ptr<Factor>> factors;
};
struct Task {
  std::shared_ptr<Clique> clique;
  Meeting meeting;
  int seat;
  Part part;
  std::shared_ptr<Factor> factor;
};

struct Group {
  int depth = 0;
  std::map<std::pair<int, HipStream>, std::vector<Task>> tasks;
  std::vector<std::function<void()>> joins;
};
thread_local Group group;
std::atomic<int> calls = 0;

// What one stream does in a group.
void Launch(int device, HipStream stream, std::vector<Task> tasks) {
  struct Queued {
    std::vector<Task> tasks;
    std::uint64_t runs = 0;
  };
  int before = 0;
  Hip("hipGetDevice", &before);
  Hip("hipSetDevice", device);
  // Of a graph it may run again: it is kept.
  static auto& kept = *new std::vector<std::unique_ptr<Queued>>;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::make_unique<Queued>(Queued{std::move(tasks)}));
  Queued* const queued = kept.back().get();
  Hip(
      "hipLaunchHostFunc", stream,
      +[](void* data) {
        auto* const all = static_cast<Queued*>(data);
        const std::uint64_t run = all->runs++;
        const auto meeting = [&](const Task& task) {
          Meeting of_run = task.meeting;
          of_run.run = run;
          return of_run;
        };
        for (const Task& task : all->tasks) {
          task.clique->Arrive(meeting(task), task.seat, task.part);
        }
        for (const Task& task : all->tasks) {
          task.clique->Wait(meeting(task), task.seat);
        }
      },
      static_cast<void*>(queued));
  Hip("hipSetDevice", before);
}

Status Submit(Comm* comm, Task task, HipStream stream) {
  ++calls;
  if (group.depth == 0) {
    Launch(comm->device, stream, {std::move(task)});
  } else {
    group.tasks[{comm->device, stream}].push_back(std::move(task));
  }
  return kSuccess;
}

Status Call(Comm* comm, Kind kind, const void* in, void* out, std::size_t count,
            Type type, int op, int root, HipStream stream) {
  Task task = {comm->clique, {}, comm->rank, {}, nullptr};
  task.part = {kind, in, out, count, type, static_cast<Op>(op), nullptr, root};
  // What a rank does not have is null, however it is told.
  const auto ranks = static_cast<std::size_t>(comm->clique->size());
  if (BytesIn(task.part, comm->rank, ranks) == 0) task.part.in = nullptr;
  if (BytesOut(task.part, comm->rank, ranks) == 0) task.part.out = nullptr;
  if (op >= kFirstOwn) {
    const auto found = comm->factors.find(op);
    if (found == comm->factors.end() || found->second->type != type) {
      return kInvalidArgument;
    }
    task.factor = found->second;
    task.part.op = kSum;
    task.part.factor = task.factor->on_device != nullptr
                           ? task.factor->on_device
                           : task.factor->value.data();
  }
  task.meeting.number = comm->calls++;
  return Submit(comm, std::move(task), stream);
}

Status Between(Comm* comm, bool sends, const void* in, void* out,
               std::size_t count, Type type, int peer, HipStream stream) {
  const int side = sends ? 0 : 1;
  Task task = {comm->clique, {}, side, {}, nullptr};
  task.part.kind = Kind::kSendReceive;
  task.part.in = in;
  task.part.out = out;
  task.part.count = count;
  task.part.type = type;
  task.meeting.from = sends ? comm->rank : peer;
  task.meeting.to = sends ? peer : comm->rank;
  task.meeting.number = comm->between[{side, peer}]++;
  return Submit(comm, std::move(task), stream);
}

}  // namespace

FAKE_API int fake_rccl_calls() { return calls; }

FAKE_API Status ncclGetVersion(int* version) {
  *version = 21304;
  return kSuccess;
}
FAKE_API Status ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> next = 1;
  *id = {};
  id->bytes[0] = 'r';
  id->bytes[1] = static_cast<char>(next++);
  return kSuccess;
}
FAKE_API Status ncclCommInitRank(void** out, int size, UniqueId id, int rank) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Clique>> cliques;
  ++calls;
  int device = 0;
  Hip("hipGetDevice", &device);
  const std::string name(id.bytes, sizeof id.bytes);
  const auto join = [=] {
    const std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<Clique>& known = cliques[name];
    std::shared_ptr<Clique> clique = known.lock();
    if (clique == nullptr) {
      known = clique = std::make_shared<LocalClique>(size);
    }
    *out = new Comm{clique, rank, device, 0, {}, {}};
  };
  if (group.depth == 0) join();
  else group.joins.emplace_back(join);
  return kSuccess;
}
FAKE_API Status ncclCommDestroy(Comm* comm) {
  ++calls;
  delete comm;
  return kSuccess;
}
FAKE_API Status ncclCommAbort(Comm* comm) {
  comm->clique->GiveUp();
  return ncclCommDestroy(comm);
}
FAKE_API Status ncclCommGetAsyncError(Comm* comm, Status* error) {
  *error = comm->clique->error();
  return kSuccess;
}
FAKE_API Status ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}
FAKE_API Status ncclGroupEnd() {
  if (--group.depth != 0) return kSuccess;
  for (const auto& join : std::exchange(group.joins, {})) join();
  for (auto& [place, tasks] : std::exchange(group.tasks, {})) {
    Launch(place.first, place.second, std::move(tasks));
  }
  return kSuccess;
}
FAKE_API Status ncclAllReduce(const void* in, void* out, std::size_t count,
                              Type type, int op, Comm* c, HipStream stream) {
  return Call(c, Kind::kAllReduce, in, out, count, type, op, 0, stream);
}
FAKE_API Status ncclReduce(const void* in, void* out, std::size_t count,
                           Type type, int op, int root, Comm* c,
                           HipStream stream) {
  return Call(c, Kind::kReduce, in, out, count, type, op, root, stream);
}
FAKE_API Status ncclBroadcast(const void* in, void* out, std::size_t count,
                              Type type, int root, Comm* c, HipStream stream) {
  return Call(c, Kind::kBroadcast, in, out, count, type, 0, root, stream);
}
FAKE_API Status ncclAllGather(const void* in, void* out, std::size_t count,
                              Type type, Comm* c, HipStream stream) {
  return Call(c, Kind::kAllGather, in, out, count, type, 0, 0, stream);
}
FAKE_API Status ncclReduceScatter(const void* in, void* out, std::size_t count,
                                  Type type, int op, Comm* c,
                                  HipStream stream) {
  return Call(c, Kind::kReduceScatter, in, out, count, type, op, 0, stream);
}
FAKE_API Status ncclAllToAll(const void* in, void* out, std::size_t count,
                             Type type, Comm* c, HipStream stream) {
  return Call(c, Kind::kAllToAll, in, out, count, type, 0, 0, stream);
}
FAKE_API Status ncclGather(const void* in, void* out, std::size_t count,
                           Type type, int root, Comm* c, HipStream stream) {
  return Call(c, Kind::kGather, in, out, count, type, 0, root, stream);
}
FAKE_API Status ncclScatter(const void* in, void* out, std::size_t count,
                            Type type, int root, Comm* c, HipStream stream) {
  return Call(c, Kind::kScatter, in, out, count, type, 0, root, stream);
}
FAKE_API Status ncclSend(const void* in, std::size_t count, Type type, int peer,
                         Comm* c, HipStream stream) {
  return Between(c, true, in, nullptr, count, type, peer, stream);
}
FAKE_API Status ncclRecv(void* out, std::size_t count, Type type, int peer,
                         Comm* c, HipStream stream) {
  return Between(c, false, nullptr, out, count, type, peer, stream);
}
FAKE_API Status ncclRedOpCreatePreMulSum(int* op, void* scalar, Type type,
                                         int residence, Comm* c) {
  ++calls;
  auto factor = std::make_shared<Factor>();
  factor->type = type;
  if (residence == 0) {
    factor->on_device = scalar;
  } else {
    const auto* bytes = static_cast<const std::byte*>(scalar);
    factor->value.assign(bytes, bytes + SizeOf(type));
  }
  *op = kFirstOwn + static_cast<int>(c->factors.size());
  c->factors[*op] = std::move(factor);
  return kSuccess;
}
FAKE_API Status ncclRedOpDestroy(int op, Comm* c) {
  return c->factors.erase(op) != 0 ? kSuccess : kInvalidArgument;
}

}  // namespace cerberus::libraries::nccl
