// The functions of nccl.def.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "libraries/common/rocm.h"
#include "libraries/nccl/board.h"
#include "libraries/nccl/communicator.h"
#include "libraries/nccl/shared_clique.h"

#define NCCL_API extern "C" __attribute__((visibility("default")))

extern "C" const char* ncclGetErrorString(
    cerberus::libraries::nccl::Status status);

namespace cerberus::libraries::nccl {
namespace {

constexpr int kVersion = 23203;

// --- unique ids: the name of a folder in which the ranks find each other
constexpr char kMagic[8] = {'c', 'e', 'r', 'b', 'e', 'r', 'u', 's'};
constexpr std::size_t kNameLength = 32;
std::string FolderOf(const UniqueId& id) {
  return "/dev/shm/cerberus-nccl-" +
         std::string(id.bytes + sizeof kMagic, kNameLength);
}
UniqueId IdOf(std::string_view name) {
  UniqueId id = {};
  std::memcpy(id.bytes, kMagic, sizeof kMagic);
  std::memcpy(id.bytes + sizeof kMagic, name.data(), kNameLength);
  return id;
}
bool IsId(const UniqueId& id) {
  const char* name = id.bytes + sizeof kMagic;
  return std::memcmp(id.bytes, kMagic, sizeof kMagic) == 0 &&
         std::all_of(name, name + kNameLength, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// Of the thread, for ncclGetLastError.
thread_local std::string last_error;
Status Fail(Status status, const char* text) {
  last_error = text;
  return status;
}

struct State {
  std::mutex mutex;
  std::set<const Communicator*> alive;
  // Of ranks that are all in this process, by the folder of their id.
  std::map<std::string, std::weak_ptr<Clique>> local;
};
State& All() {
  static auto& state = *new State;
  return state;
}

bool IsAlive(const Communicator* c) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  return c != nullptr && All().alive.count(c) != 0;
}

// A status of RCCL's.
Status Failed(Status status) {
  if (status != kSuccess) {
    last_error = "RCCL: " + std::string(ncclGetErrorString(status));
  }
  return status;
}
// RCCL, if it computes for the current context's device.
Status Find(const Driver& driver, const Rccl** rccl) {
  return FindRccl(driver, rccl)
             ? kSuccess
             : Fail(kSystemError, "RCCL is wanted, and cannot be had");
}

// Who makes the id says who computes.
Status MakeId(UniqueId* id) {
  if (id == nullptr) return Fail(kInvalidArgument, "the id is null");
  *id = {};
  const Driver* const driver = FindDriver();
  if (driver != nullptr && EnsureContext(*driver)) {
    const Rccl* rccl = nullptr;
    if (const Status bad = Find(*driver, &rccl)) return bad;
    if (rccl != nullptr) return Failed(rccl->get_unique_id(id));
  }
  *id = IdOf(RandomName());
  return kSuccess;
}

// In the context that is current, not yet a rank of a clique or of RCCL's.
Status Prepare(int size, int rank, std::unique_ptr<Communicator>* out) {
  const Driver* driver = FindDriver();
  auto made = std::make_unique<Communicator>();
  if (driver == nullptr || !EnsureContext(*driver) ||
      driver->context(&made->context) != 0 ||
      driver->device(&made->device) != 0) {
    return Fail(kUnhandledCudaError, "there is no CUDA device");
  }
  made->driver = driver;
  made->size = size;
  made->rank = rank;
  *out = std::move(made);
  return kSuccess;
}
void Hand(std::unique_ptr<Communicator> made, Communicator** out) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  All().alive.insert(made.get());
  *out = made.release();
}
Status Make(std::shared_ptr<Clique> clique, const std::string& name, int rank,
            Communicator** out) {
  std::unique_ptr<Communicator> made;
  if (const Status bad = Prepare(clique->size(), rank, &made)) return bad;
  made->clique = std::move(clique);
  made->name = name;
  Hand(std::move(made), out);
  return kSuccess;
}

// A rank of RCCL's, in the context that is current.
Status JoinRccl(const Rccl* rccl, Communicator** out, int size,
                const UniqueId& id, int rank) {
  std::unique_ptr<Communicator> made;
  if (const Status bad = Prepare(size, rank, &made)) return bad;
  made->rccl.rccl = rccl;
  const std::shared_ptr<Communicator> of_call = std::move(made);
  return Failed(Submit(RcclCall{
      rccl, of_call->driver, of_call->context,
      [=] { return rccl->init_rank(&of_call->rccl.comm, size, id, rank); },
      [=] { Hand(std::make_unique<Communicator>(*of_call), out); }}));
}

// What a rank tells of itself: numbers of processes are not enough, since two
// may have the same in containers of their own.
struct Joining {
  char process[kNameLength];
  int size;
};
Joining OwnJoining(int size) {
  static const std::string process = RandomName();
  Joining out = {};
  std::memcpy(out.process, process.data(), sizeof out.process);
  out.size = size;
  return out;
}

// The clique of the ranks that are told of; null if they do not agree.
std::shared_ptr<Clique> CliqueOf(const std::string& folder, int size,
                                 const std::vector<Note*>& notes) {
  const Joining own = OwnJoining(size);
  bool is_local = true;
  for (const Note* note : notes) {
    Joining other;
    if (note->size() < sizeof other) return nullptr;
    std::memcpy(&other, note->bytes(), sizeof other);
    if (other.size != size) return nullptr;
    is_local &=
        std::memcmp(other.process, own.process, sizeof own.process) == 0;
  }
  if (!is_local) return std::make_shared<SharedClique>(folder, size);
  const std::lock_guard<std::mutex> lock(All().mutex);
  std::weak_ptr<Clique>& known = All().local[folder];
  std::shared_ptr<Clique> clique = known.lock();
  if (clique == nullptr) known = clique = std::make_shared<LocalClique>(size);
  return clique;
}

Status Join(Communicator** out, int size, const UniqueId& id, int rank) {
  if (out == nullptr || size < 1 || rank < 0 || rank >= size) {
    return Fail(kInvalidArgument, "the rank is none of the communicator's");
  }
  const Driver* driver = FindDriver();
  Context context = nullptr;
  if (driver == nullptr || !EnsureContext(*driver) ||
      driver->context(&context) != 0) {
    return Fail(kUnhandledCudaError, "there is no CUDA device");
  }
  const bool is_none = std::all_of(std::begin(id.bytes), std::end(id.bytes),
                                   [](char c) { return c == 0; });
  if (!IsId(id) && !is_none) {
    const Rccl* rccl = nullptr;
    if (const Status bad = Find(*driver, &rccl)) return bad;
    if (rccl != nullptr) return JoinRccl(rccl, out, size, id, rank);
  }
  if (!IsId(id)) {
    return Fail(kInvalidArgument, "the id is not of ncclGetUniqueId");
  }
  const auto board = std::make_shared<Board>(FolderOf(id));
  const Joining joining = OwnJoining(size);
  const auto* first = reinterpret_cast<const std::byte*>(&joining);
  if (!board->Put("join", rank, {first, first + sizeof joining})) {
    return Fail(kInvalidUsage,
                "the rank is there already, or /dev/shm takes no files");
  }
  // Others of the group may be of this thread.
  return AtGroupEnd([=]() -> Status {
    const auto seats = static_cast<std::size_t>(size);
    const std::shared_ptr<Clique> clique =
        CliqueOf(board->folder(), size, board->Read("join", rank, seats));
    board->Finish("join", rank, seats);
    if (clique == nullptr) return Fail(kInvalidUsage, "sizes differ");
    const Current current(*driver, context);
    return Make(clique, {id.bytes + sizeof kMagic, kNameLength}, rank, out);
  });
}

Status JoinAll(Communicator** out, int size, const int* devices) {
  if (out == nullptr || size < 1) {
    return Fail(kInvalidArgument, "there are no communicators to make");
  }
  const Driver* driver = FindDriver();
  Context before = nullptr;
  if (driver == nullptr || driver->init(0) != 0 ||
      driver->context(&before) != 0) {
    return Fail(kUnhandledCudaError, "there is no CUDA device");
  }
  // The first rank's device says who computes.
  UniqueId id = {};
  const Rccl* rccl = nullptr;
  Context first = nullptr;
  if (driver->retain_primary(&first, devices != nullptr ? devices[0] : 0) ==
          0 &&
      driver->set_context(first) == 0) {
    const Status bad = Find(*driver, &rccl);
    if (bad == kSuccess && rccl != nullptr) rccl->get_unique_id(&id);
    driver->set_context(before);
    if (bad != kSuccess) return bad;
  }
  const auto clique = std::make_shared<LocalClique>(size);
  const std::string name = RandomName();
  Status status = kSuccess;
  StartGroup();
  for (int rank = 0; rank < size && status == kSuccess; ++rank) {
    Context context = nullptr;
    const int device = devices != nullptr ? devices[rank] : rank;
    if (driver->retain_primary(&context, device) != 0 ||
        driver->set_context(context) != 0) {
      status = Fail(kInvalidArgument, "there is no such device");
    } else {
      status = rccl != nullptr ? JoinRccl(rccl, &out[rank], size, id, rank)
                               : Make(clique, name, rank, &out[rank]);
    }
  }
  driver->set_context(before);
  const Status ended = EndGroup();
  return status != kSuccess ? status : Failed(ended);
}

Status Free(Communicator* c, bool gives_up) {
  {
    const std::lock_guard<std::mutex> lock(All().mutex);
    if (All().alive.erase(c) == 0) {
      return Fail(kInvalidArgument, "the communicator is none");
    }
  }
  const std::unique_ptr<Communicator> freed(c);
  if (c->rccl.rccl != nullptr) {
    if (c->rccl.comm == nullptr) return kSuccess;
    return Failed(gives_up ? c->rccl.rccl->abort(c->rccl.comm)
                           : c->rccl.rccl->destroy(c->rccl.comm));
  }
  if (gives_up) c->clique->GiveUp();
  return kSuccess;
}

Status Split(Communicator* c, int color, int key, Communicator** out) {
  if (!IsAlive(c) || out == nullptr) {
    return Fail(kInvalidArgument, "the communicator is none");
  }
  *out = nullptr;
  if (c->rccl.rccl != nullptr) {
    const Communicator like = *c;
    return Failed(
        Submit(RcclSplit{c->driver, c->context, c->rccl, c->size, c->rank,
                         color, key, [=](Rccl::Comm comm, int size, int rank) {
                           if (comm == nullptr) return;
                           auto made = std::make_unique<Communicator>();
                           made->rccl = {like.rccl.rccl, comm};
                           made->size = size;
                           made->rank = rank;
                           made->device = like.device;
                           made->context = like.context;
                           made->driver = like.driver;
                           Hand(std::move(made), out);
                         }}));
  }
  const std::uint64_t number = c->splits++;
  const std::shared_ptr<Clique> clique = c->clique;
  const int rank = c->rank;
  const Context context = c->context;
  const Driver* driver = c->driver;
  const std::string name =
      NameFrom(c->name + ".split." + std::to_string(number) + "." +
               std::to_string(color));
  clique->Tell(number, rank, {color, key});
  return AtGroupEnd([=]() -> Status {
    std::vector<int> members;
    const std::shared_ptr<Clique> made = clique->Split(number, rank, &members);
    if (made == nullptr) return kSuccess;
    const auto place = std::find(members.begin(), members.end(), rank);
    const Current current(*driver, context);
    return Make(made, name, static_cast<int>(place - members.begin()), out);
  });
}

// By what a communicator's ranks meet, and others who are told, to make a new
// one. None of them need ask the others.
UniqueId NextId(const Communicator& c, const std::string& how) {
  return IdOf(NameFrom(c.name + how));
}

constexpr int kShrinkAbort = 1;  // NCCL_SHRINK_ABORT

Status Shrink(Communicator* c, const int* excluded, int count,
              Communicator** out, int flags) {
  if (!IsAlive(c) || out == nullptr || (flags & ~kShrinkAbort) != 0) {
    return Fail(kInvalidArgument, "the communicator or the flags are none");
  }
  *out = nullptr;
  if (excluded == nullptr || count < 1) {
    return Fail(kInvalidArgument, "no ranks are excluded");
  }
  const std::set<int> without(excluded, excluded + count);
  if (without.size() != static_cast<std::size_t>(count) ||
      *without.begin() < 0 || *without.rbegin() >= c->size ||
      without.count(c->rank) != 0) {
    return Fail(kInvalidArgument,
                "an excluded rank is none, the own one or there twice");
  }
  if (c->rccl.rccl != nullptr) {
    return Fail(kInvalidUsage, "RCCL's communicators do not shrink");
  }
  if (flags == kShrinkAbort) c->clique->GiveUp();
  // Those who are excluded do not know of it.
  std::string how = ".shrink." + std::to_string(c->shrinkings[without]++);
  for (const int rank : without) how += "." + std::to_string(rank);
  const auto before =
      std::distance(without.begin(), without.lower_bound(c->rank));
  const Current current(*c->driver, c->context);
  return Join(out, c->size - count, NextId(*c, how),
              c->rank - static_cast<int>(before));
}

UniqueId NextGrowth(const Communicator& c) {
  return NextId(c, ".grow." + std::to_string(c.growths));
}
// Of a communicator of the host's that is there.
Status CheckGrowing(const Communicator* c) {
  if (!IsAlive(c)) return Fail(kInvalidArgument, "no communicator");
  return c->rccl.rccl != nullptr
             ? Fail(kInvalidUsage, "RCCL's communicators do not grow")
             : kSuccess;
}
Status Grow(Communicator* c, int size, const UniqueId* id, int rank,
            Communicator** out) {
  if (out == nullptr) return Fail(kInvalidArgument, "no place for it");
  if (c == nullptr) {
    if (id == nullptr) return Fail(kInvalidArgument, "a new rank has no id");
    return Join(out, size, *id, rank);
  }
  if (const Status bad = CheckGrowing(c)) return bad;
  *out = nullptr;
  if (rank != -1 || size <= c->size) {
    return Fail(kInvalidArgument,
                "a rank that is there keeps its number (-1), "
                "and others are to come");
  }
  const UniqueId own = NextGrowth(*c);
  if (id != nullptr && std::memcmp(id, &own, sizeof own) != 0) {
    return Fail(kInvalidArgument, "the id is not of ncclCommGetUniqueId");
  }
  ++c->growths;
  const Current current(*c->driver, c->context);
  return Join(out, size, own, c->rank);
}

// ncclSimInfo_t, and what says that it is one.
struct SimInfo {
  std::size_t size;
  unsigned magic, version;
  float estimated_time;
};
constexpr unsigned kSimInfoMagic = 0x74685283;

// --- operations
struct Buffers {
  const void* in;
  void* out;
  // In elements, how often `count` goes into each.
  std::size_t times_in, times_out;
};

// Of RCCL's, which keeps none that is given up.
bool IsRevoked(const Communicator& c) {
  return c.rccl.rccl != nullptr && c.rccl.comm == nullptr;
}

Status Check(Communicator* c, Type type, int root) {
  if (!IsAlive(c)) return Fail(kInvalidArgument, "the communicator is none");
  if (SizeOf(type) == 0) return Fail(kInvalidArgument, "the type is none");
  if (root < 0 || root >= c->size) {
    return Fail(kInvalidArgument, "the root is no rank");
  }
  if (IsRevoked(*c)) return Fail(kInvalidUsage, "the communicator is revoked");
  if (c->is_suspended) {
    return Fail(kInvalidUsage, "the communicator is suspended");
  }
  return kSuccess;
}

Status Call(Communicator* c, Kind kind, const Buffers& buffers,
            std::size_t count, Type type, int op, int root, Stream stream) {
  if (const Status bad = Check(c, type, root)) return bad;
  const std::size_t bytes = count * SizeOf(type);
  Operation o = {};
  o.communicator = c;
  o.stream = stream;
  o.part.kind = kind;
  o.part.in = buffers.times_in != 0 ? buffers.in : nullptr;
  o.part.out = buffers.times_out != 0 ? buffers.out : nullptr;
  o.part.count = count;
  o.part.type = type;
  o.part.root = root;
  o.bytes_in = buffers.times_in * bytes;
  o.bytes_out = buffers.times_out * bytes;
  if (count != 0 && ((o.bytes_in != 0 && o.part.in == nullptr) ||
                     (o.bytes_out != 0 && o.part.out == nullptr))) {
    return Fail(kInvalidArgument, "a buffer is null");
  }
  if (c->rccl.rccl != nullptr) {
    o.part.op = static_cast<Op>(op);
    return Failed(SubmitToRccl(*c, o.part, /*sends=*/false, stream));
  }
  if (op >= kFirstOwn) {
    const auto found = c->factors.find(op);
    if (found == c->factors.end() || found->second->type != type) {
      return Fail(kInvalidArgument, "the operation is none of the type");
    }
    o.factor = found->second;
    o.part.op = kSum;
  } else if (op < 0) {
    return Fail(kInvalidArgument, "the operation is none");
  } else {
    o.part.op = static_cast<Op>(op);
  }
  o.meeting.number = c->calls++;
  o.seat = c->rank;
  return Submit(std::move(o));
}

Status SendOrReceive(Communicator* c, bool sends, const void* in, void* out,
                     std::size_t count, Type type, int peer, Stream stream) {
  if (const Status bad = Check(c, type, peer)) return bad;
  if (count != 0 && in == nullptr && out == nullptr) {
    return Fail(kInvalidArgument, "the buffer is null");
  }
  Operation o = {};
  o.communicator = c;
  o.stream = stream;
  o.part.kind = Kind::kSendReceive;
  o.part.in = in;
  o.part.out = out;
  o.part.count = count;
  o.part.type = type;
  if (c->rccl.rccl != nullptr) {
    o.part.root = peer;
    return Failed(SubmitToRccl(*c, o.part, sends, stream));
  }
  (sends ? o.bytes_in : o.bytes_out) = count * SizeOf(type);
  o.meeting.from = sends ? c->rank : peer;
  o.meeting.to = sends ? peer : c->rank;
  // Each side counts for itself; of those to oneself there are two.
  const int side = sends ? 0 : 1;
  o.meeting.number = c->between[{side, peer}]++;
  o.seat = side;
  return Submit(std::move(o));
}

template <typename T>
Status Tell(const Communicator* c, T* to, T value) {
  if (!IsAlive(c) || to == nullptr) {
    return Fail(kInvalidArgument, "the communicator is none");
  }
  *to = value;
  return kSuccess;
}

Status MakeFactor(int* op, const void* scalar, Type type, int residence,
                  Communicator* c) {
  if (!IsAlive(c) || op == nullptr || scalar == nullptr || SizeOf(type) == 0 ||
      (residence != 0 && residence != 1)) {
    return Fail(kInvalidArgument, "an operation cannot be made of this");
  }
  if (const Rccl* const rccl = c->rccl.rccl) {
    if (rccl->make_factor == nullptr) {
      return Fail(kInvalidUsage, "this RCCL makes no operations");
    }
    return Failed(rccl->make_factor(op, const_cast<void*>(scalar), type,
                                    residence, c->rccl.comm));
  }
  Communicator::Factor factor{type, nullptr, {}};
  if (residence == 0) {
    factor.on_device = scalar;
  } else {
    const auto* bytes = static_cast<const std::byte*>(scalar);
    factor.value.assign(bytes, bytes + SizeOf(type));
  }
  *op = c->next_factor++;
  c->factors[*op] =
      std::make_shared<const Communicator::Factor>(std::move(factor));
  return kSuccess;
}

std::size_t RanksOf(const Communicator* c) {
  return IsAlive(c) ? static_cast<std::size_t>(c->size) : 0;
}
// How much of a buffer the root has, and the others.
std::size_t IfRoot(const Communicator* c, int root, std::size_t times) {
  return IsAlive(c) && c->rank == root ? times : 0;
}

}  // namespace

// For `cerberus doctor`.
NCCL_API const char* ncclCerberusProvider() {
  static const std::string text = DescribeRccl();
  return text.c_str();
}

// --- what is not a communicator's
NCCL_API Status ncclGetVersion(int* version) {
  if (version == nullptr) return Fail(kInvalidArgument, "version is null");
  *version = kVersion;
  return kSuccess;
}
NCCL_API const char* ncclGetErrorString(Status status) {
  switch (status) {
    case kSuccess: return "no error";
    case kUnhandledCudaError: return "unhandled cuda error";
    case kSystemError: return "unhandled system error";
    case kInternalError: return "internal error";
    case kInvalidArgument: return "invalid argument";
    case kInvalidUsage: return "invalid usage";
    case kRemoteError: return "remote process exited or network error";
    case kInProgress: return "operation in progress";
  }
  return "unknown result code";
}
NCCL_API const char* ncclGetLastError(const Communicator*) {
  return last_error.c_str();
}
NCCL_API void ncclResetDebugInit() {}
NCCL_API Status ncclMemAlloc(void** pointer, std::size_t bytes) {
  const Driver* driver = FindDriver();
  std::uint64_t address = 0;
  if (pointer == nullptr) return Fail(kInvalidArgument, "pointer is null");
  if (driver == nullptr || !EnsureContext(*driver) ||
      driver->allocate(&address, bytes) != 0) {
    return Fail(kUnhandledCudaError, "out of memory");
  }
  *pointer = reinterpret_cast<void*>(address);
  return kSuccess;
}
NCCL_API Status ncclMemFree(void* pointer) {
  const Driver* driver = FindDriver();
  return driver != nullptr &&
                 driver->free(reinterpret_cast<std::uint64_t>(pointer)) == 0
             ? kSuccess
             : Fail(kUnhandledCudaError, "not memory of ncclMemAlloc");
}
NCCL_API Status ncclGetUniqueId(UniqueId* id) { return MakeId(id); }

// --- communicators
NCCL_API Status ncclCommInitRank(Communicator** out, int size, UniqueId id,
                                 int rank) {
  return Join(out, size, id, rank);
}
NCCL_API Status ncclCommInitRankConfig(Communicator** out, int size,
                                       UniqueId id, int rank, const void*) {
  return Join(out, size, id, rank);
}
// One of the ids is enough.
NCCL_API Status ncclCommInitRankScalable(Communicator** out, int size, int rank,
                                         int ids, const UniqueId* id,
                                         const void*) {
  if (ids < 1 || id == nullptr) return Fail(kInvalidArgument, "no id");
  return Join(out, size, id[0], rank);
}
NCCL_API Status ncclCommInitAll(Communicator** out, int size,
                                const int* devices) {
  return JoinAll(out, size, devices);
}
NCCL_API Status ncclCommSplit(Communicator* c, int color, int key,
                              Communicator** out, const void*) {
  return Split(c, color, key, out);
}
NCCL_API Status ncclCommShrink(Communicator* c, int* excluded, int count,
                               Communicator** out, const void*, int flags) {
  return Shrink(c, excluded, count, out, flags);
}
NCCL_API Status ncclCommGetUniqueId(const Communicator* c, UniqueId* id) {
  if (const Status bad = CheckGrowing(c)) return bad;
  return Tell(c, id, NextGrowth(*c));
}
NCCL_API Status ncclCommGrow(Communicator* c, int size, const UniqueId* id,
                             int rank, Communicator** out, const void*) {
  return Grow(c, size, id, rank, out);
}
NCCL_API Status ncclCommFinalize(const Communicator* c) {
  if (!IsAlive(c)) return Fail(kInvalidArgument, "no communicator");
  const bool asks =
      c->rccl.rccl != nullptr && c->rccl.rccl->finalize && !IsRevoked(*c);
  return asks ? Failed(c->rccl.rccl->finalize(c->rccl.comm)) : kSuccess;
}
NCCL_API Status ncclCommDestroy(Communicator* c) { return Free(c, false); }
NCCL_API Status ncclCommAbort(Communicator* c) { return Free(c, true); }
NCCL_API Status ncclCommRevoke(Communicator* c, int) {
  if (!IsAlive(c)) return Fail(kInvalidArgument, "no communicator");
  if (c->rccl.rccl != nullptr) {
    Rccl::Comm const revoked = std::exchange(c->rccl.comm, nullptr);
    return revoked ? Failed(c->rccl.rccl->abort(revoked)) : kSuccess;
  }
  c->clique->GiveUp();
  return kSuccess;
}
NCCL_API Status ncclCommGetAsyncError(const Communicator* c, Status* error) {
  if (!IsAlive(c)) return Fail(kInvalidArgument, "no communicator");
  if (c->rccl.rccl != nullptr && error != nullptr && !IsRevoked(*c)) {
    return Failed(c->rccl.rccl->async_error(c->rccl.comm, error));
  }
  return Tell(c, error, c->clique ? c->clique->error() : kSuccess);
}
NCCL_API Status ncclCommCount(const Communicator* c, int* count) {
  return Tell(c, count, static_cast<int>(RanksOf(c)));
}
NCCL_API Status ncclCommCuDevice(const Communicator* c, int* device) {
  return Tell(c, device, IsAlive(c) ? c->device : 0);
}
NCCL_API Status ncclCommUserRank(const Communicator* c, int* rank) {
  return Tell(c, rank, IsAlive(c) ? c->rank : 0);
}
// Memory needs no registration; what is given back must not be null.
NCCL_API Status ncclCommRegister(const Communicator* c, void* memory,
                                 std::size_t, void** handle) {
  return Tell(c, handle, memory);
}
NCCL_API Status ncclCommDeregister(const Communicator* c, void*) {
  return IsAlive(c) ? kSuccess : Fail(kInvalidArgument, "no communicator");
}
// The handle of a window leads to its memory, for the program to ask; kernels
// cannot reach that of other ranks by it.
NCCL_API Status ncclCommWindowRegister(Communicator* c, void* memory,
                                       std::size_t bytes, void** window,
                                       int flags) {
  constexpr int kFlags = 15;
  if (!IsAlive(c) || window == nullptr || (flags & ~kFlags) != 0 ||
      (memory == nullptr && bytes != 0)) {
    return Fail(kInvalidArgument, "this cannot be a window");
  }
  *window = c->windows.insert(std::make_shared<void*>(memory)).first->get();
  return kSuccess;
}
NCCL_API Status ncclCommWindowDeregister(Communicator* c, const void* window) {
  const bool known =
      IsAlive(c) && std::erase_if(c->windows, [&](const auto& w) {
                      return w.get() == window;
                    }) != 0;
  return known ? kSuccess : Fail(kInvalidArgument, "the window is none");
}
NCCL_API Status ncclWinGetUserPtr(const Communicator* c, const void* window,
                                  void** memory) {
  if (IsAlive(c) && memory != nullptr) {
    for (const auto& w : c->windows) {
      if (w.get() != window) continue;
      *memory = *w;
      return kSuccess;
    }
  }
  return Fail(kInvalidArgument, "the window is none");
}
// Communicators hold no memory of the device, on the host; what RCCL holds
// stays.
NCCL_API Status ncclCommSuspend(Communicator* c, int flags) {
  constexpr int kMemory = 1;  // NCCL_SUSPEND_MEM
  if (!IsAlive(c) || flags != kMemory) {
    return Fail(kInvalidArgument, "the communicator or the flags are none");
  }
  if (std::exchange(c->is_suspended, true)) {
    return Fail(kInvalidUsage, "the communicator is suspended");
  }
  return kSuccess;
}
NCCL_API Status ncclCommResume(Communicator* c) {
  if (!IsAlive(c)) return Fail(kInvalidArgument, "no communicator");
  return std::exchange(c->is_suspended, false)
             ? kSuccess
             : Fail(kInvalidUsage, "the communicator is not suspended");
}
NCCL_API Status ncclCommMemStats(const Communicator* c, int what,
                                 std::uint64_t* value) {
  constexpr int kCount = 4, kSuspended = 1;  // of ncclCommMemStat_t
  if (what < 0 || what >= kCount) {
    return Fail(kInvalidArgument, "there is no such number");
  }
  const bool is_one = IsAlive(c) && what == kSuspended && c->is_suspended;
  return Tell(c, value, std::uint64_t{is_one});
}
NCCL_API Status ncclRedOpCreatePreMulSum(int* op, void* scalar, Type type,
                                         int residence, Communicator* c) {
  return MakeFactor(op, scalar, type, residence, c);
}
NCCL_API Status ncclRedOpDestroy(int op, Communicator* c) {
  if (IsAlive(c) && c->rccl.rccl != nullptr && c->rccl.rccl->destroy_op) {
    return Failed(c->rccl.rccl->destroy_op(op, c->rccl.comm));
  }
  return IsAlive(c) && c->factors.erase(op) != 0
             ? kSuccess
             : Fail(kInvalidArgument, "no operation of the communicator's");
}

// --- operations of all
NCCL_API Status ncclAllReduce(const void* in, void* out, std::size_t count,
                              Type type, int op, Communicator* c,
                              Stream stream) {
  return Call(c, Kind::kAllReduce, {in, out, 1, 1}, count, type, op, 0, stream);
}
NCCL_API Status ncclReduce(const void* in, void* out, std::size_t count,
                           Type type, int op, int root, Communicator* c,
                           Stream stream) {
  return Call(c, Kind::kReduce, {in, out, 1, IfRoot(c, root, 1)}, count, type,
              op, root, stream);
}
NCCL_API Status ncclBroadcast(const void* in, void* out, std::size_t count,
                              Type type, int root, Communicator* c,
                              Stream stream) {
  return Call(c, Kind::kBroadcast, {in, out, IfRoot(c, root, 1), 1}, count,
              type, kSum, root, stream);
}
NCCL_API Status ncclBcast(void* memory, std::size_t count, Type type, int root,
                          Communicator* c, Stream stream) {
  return ncclBroadcast(memory, memory, count, type, root, c, stream);
}
NCCL_API Status ncclAllGather(const void* in, void* out, std::size_t count,
                              Type type, Communicator* c, Stream stream) {
  return Call(c, Kind::kAllGather, {in, out, 1, RanksOf(c)}, count, type, kSum,
              0, stream);
}
NCCL_API Status ncclReduceScatter(const void* in, void* out, std::size_t count,
                                  Type type, int op, Communicator* c,
                                  Stream stream) {
  return Call(c, Kind::kReduceScatter, {in, out, RanksOf(c), 1}, count, type,
              op, 0, stream);
}
NCCL_API Status ncclAlltoAll(const void* in, void* out, std::size_t count,
                             Type type, Communicator* c, Stream stream) {
  return Call(c, Kind::kAllToAll, {in, out, RanksOf(c), RanksOf(c)}, count,
              type, kSum, 0, stream);
}
NCCL_API Status ncclGather(const void* in, void* out, std::size_t count,
                           Type type, int root, Communicator* c,
                           Stream stream) {
  return Call(c, Kind::kGather, {in, out, 1, IfRoot(c, root, RanksOf(c))},
              count, type, kSum, root, stream);
}
NCCL_API Status ncclScatter(const void* in, void* out, std::size_t count,
                            Type type, int root, Communicator* c,
                            Stream stream) {
  return Call(c, Kind::kScatter, {in, out, IfRoot(c, root, RanksOf(c)), 1},
              count, type, kSum, root, stream);
}

// With how a program would have it done, which changes nothing.
#define NCCL_WITH_CONFIG(name, parameters, arguments) \
  NCCL_API Status name##Config parameters { return name arguments; }
NCCL_WITH_CONFIG(ncclAllReduce,
                 (const void* in, void* out, std::size_t count, Type type,
                  int op, Communicator* c, Stream stream, const void*),
                 (in, out, count, type, op, c, stream))
NCCL_WITH_CONFIG(ncclReduce,
                 (const void* in, void* out, std::size_t count, Type type,
                  int op, int root, Communicator* c, Stream stream,
                  const void*),
                 (in, out, count, type, op, root, c, stream))
NCCL_WITH_CONFIG(ncclBroadcast,
                 (const void* in, void* out, std::size_t count, Type type,
                  int root, Communicator* c, Stream stream, const void*),
                 (in, out, count, type, root, c, stream))
NCCL_WITH_CONFIG(ncclAllGather,
                 (const void* in, void* out, std::size_t count, Type type,
                  Communicator* c, Stream stream, const void*),
                 (in, out, count, type, c, stream))
NCCL_WITH_CONFIG(ncclReduceScatter,
                 (const void* in, void* out, std::size_t count, Type type,
                  int op, Communicator* c, Stream stream, const void*),
                 (in, out, count, type, op, c, stream))
NCCL_WITH_CONFIG(ncclAlltoAll,
                 (const void* in, void* out, std::size_t count, Type type,
                  Communicator* c, Stream stream, const void*),
                 (in, out, count, type, c, stream))
NCCL_WITH_CONFIG(ncclGather,
                 (const void* in, void* out, std::size_t count, Type type,
                  int root, Communicator* c, Stream stream, const void*),
                 (in, out, count, type, root, c, stream))
NCCL_WITH_CONFIG(ncclScatter,
                 (const void* in, void* out, std::size_t count, Type type,
                  int root, Communicator* c, Stream stream, const void*),
                 (in, out, count, type, root, c, stream))
#undef NCCL_WITH_CONFIG

// --- between two, and groups
NCCL_API Status ncclSend(const void* in, std::size_t count, Type type, int peer,
                         Communicator* c, Stream stream) {
  return SendOrReceive(c, true, in, nullptr, count, type, peer, stream);
}
NCCL_API Status ncclRecv(void* out, std::size_t count, Type type, int peer,
                         Communicator* c, Stream stream) {
  return SendOrReceive(c, false, nullptr, out, count, type, peer, stream);
}
NCCL_API Status ncclGroupStart() {
  StartGroup();
  return kSuccess;
}
NCCL_API Status ncclGroupEnd() {
  const Status status = EndGroup();
  return status == kInvalidUsage ? Fail(status, "no group has begun") : status;
}

// How long it would take is not known here.
NCCL_API Status ncclGroupSimulateEnd(SimInfo* info) {
  if (info != nullptr && info->magic != kSimInfoMagic) {
    return Fail(kInvalidArgument, "not an ncclSimInfo_t");
  }
  if (!ForgetGroup()) {
    return Fail(kInvalidUsage, "no group has begun, or it makes communicators");
  }
  if (info != nullptr) info->estimated_time = -1;  // NCCL_UNDEF_FLOAT
  return kSuccess;
}

#define NCCL_ANSWERED(name)                        \
  extern "C" __attribute__((visibility("default"), \
                            alias(#name))) decltype(name) p##name;
#define NCCL_REFUSED(name)                                 \
  NCCL_API Status name() {                                 \
    return Fail(kInvalidUsage, #name " is not supported"); \
  }                                                        \
  NCCL_API Status p##name() { return name(); }
#include "libraries/nccl/nccl.def"

}  // namespace cerberus::libraries::nccl
