#include "libraries/nccl/rccl.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "libraries/common/rocm.h"
#include "libraries/nccl/clique.h"

namespace cerberus::libraries::nccl {
namespace {

constexpr int kNoColor = -1;  // NCCL_SPLIT_NOCOLOR

std::string VersionOf(const RocmLibrary& library) {
  Status (*tell)(int*) = nullptr;
  int version = 0;
  if (!library.Find("ncclGetVersion", &tell) || tell(&version) != kSuccess) {
    return "";
  }
  // 2.9 and later count ten thousands.
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

const RocmKind kKind = {
    "NCCL", "RCCL", {{0, "librccl.so.1"}}, LacksTarget, VersionOf};

struct Found {
  Rccl functions = {};
  bool complete = false;
};
Found Load(const RocmLibrary& library) {
  Found found;
  Rccl& f = found.functions;
  found.complete = library.Find("ncclGetUniqueId", &f.get_unique_id) &&
                   library.Find("ncclCommInitRank", &f.init_rank) &&
                   library.Find("ncclCommDestroy", &f.destroy) &&
                   library.Find("ncclCommAbort", &f.abort) &&
                   library.Find("ncclCommGetAsyncError", &f.async_error) &&
                   library.Find("ncclGroupStart", &f.group_start) &&
                   library.Find("ncclGroupEnd", &f.group_end) &&
                   library.Find("ncclAllReduce", &f.all_reduce) &&
                   library.Find("ncclReduce", &f.reduce) &&
                   library.Find("ncclBroadcast", &f.broadcast) &&
                   library.Find("ncclAllGather", &f.all_gather) &&
                   library.Find("ncclReduceScatter", &f.reduce_scatter) &&
                   library.Find("ncclAllToAll", &f.all_to_all) &&
                   library.Find("ncclGather", &f.gather) &&
                   library.Find("ncclScatter", &f.scatter) &&
                   library.Find("ncclSend", &f.send) &&
                   library.Find("ncclRecv", &f.receive);
  library.Find("ncclRedOpCreatePreMulSum", &f.make_factor);
  library.Find("ncclRedOpDestroy", &f.destroy_op);
  library.Find("ncclCommFinalize", &f.finalize);
  return found;
}

// As long as it lives a context is current, and HIP's device that of it.
class InContext {
 public:
  InContext(const Driver& driver, Context context) : driver_(driver) {
    driver_.context(&before_);
    void* stream = nullptr;
    good_ = driver_.set_context(context) == 0 &&
            driver_.hip_stream(nullptr, &stream) == 0;
  }
  ~InContext() { driver_.set_context(before_); }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  bool good() const { return good_; }

 private:
  const Driver& driver_;
  Context before_ = nullptr;
  bool good_ = false;
};

// What a rank tells the others of where it goes.
struct Telling {
  int color, key;
  UniqueId id;
};

// One rank's part of a gathering among all.
class Gathering {
 public:
  explicit Gathering(const RcclSplit& split) : split_(split) {}
  ~Gathering() {
    if (memory_ == 0) return;
    const InContext in(*split_.driver, split_.context);
    split_.driver->free(memory_);
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  Status Begin(std::vector<RcclCall>* calls) {
    const Driver& driver = *split_.driver;
    const InContext in(driver, split_.context);
    Telling own = {split_.color, split_.key, {}};
    if (const Status bad = split_.from.rccl->get_unique_id(&own.id)) return bad;
    const auto size = static_cast<std::size_t>(split_.size);
    if (!in.good() || driver.allocate(&memory_, size * sizeof own) != 0) {
      return kUnhandledCudaError;
    }
    const std::uint64_t place =
        memory_ + static_cast<std::size_t>(split_.rank) * sizeof own;
    if (driver.copy(place, reinterpret_cast<std::uint64_t>(&own), sizeof own,
                    nullptr) != 0 ||
        driver.synchronize(nullptr) != 0) {
      return kUnhandledCudaError;
    }
    calls->push_back({split_.from.rccl,
                      split_.driver,
                      split_.context,
                      [this, place] {
                        void* stream = nullptr;
                        split_.driver->hip_stream(nullptr, &stream);
                        return split_.from.rccl->all_gather(
                            reinterpret_cast<const void*>(place),
                            reinterpret_cast<void*>(memory_), sizeof(Telling),
                            kInt8, split_.from.comm, stream);
                      },
                      {}});
    return kSuccess;
  }
  Status End(std::vector<Telling>* all) const {
    const InContext in(*split_.driver, split_.context);
    all->resize(static_cast<std::size_t>(split_.size));
    return split_.driver->copy(reinterpret_cast<std::uint64_t>(all->data()),
                               memory_, all->size() * sizeof(Telling),
                               nullptr) == 0 &&
                   split_.driver->synchronize(nullptr) == 0
               ? kSuccess
               : kUnhandledCudaError;
  }

 private:
  const RcclSplit& split_;
  std::uint64_t memory_ = 0;
};

// The call that makes a rank of the new communicator.
RcclCall Joining(const RcclSplit& split, const std::vector<Telling>& all) {
  std::map<int, Clique::Told> told;
  for (std::size_t i = 0; i < all.size(); ++i) {
    told[static_cast<int>(i)] = {all[i].color, all[i].key};
  }
  const std::vector<int> members = MembersOf(told, split.color);
  const auto size = static_cast<int>(members.size());
  const auto place = static_cast<int>(
      std::find(members.begin(), members.end(), split.rank) - members.begin());
  const UniqueId id = all[static_cast<std::size_t>(members[0])].id;
  const auto comm = std::make_shared<Rccl::Comm>(nullptr);
  const Rccl* const rccl = split.from.rccl;
  return {rccl, split.driver, split.context,
          [=] { return rccl->init_rank(comm.get(), size, id, place); },
          [=, made = split.made] { made(*comm, size, place); }};
}

}  // namespace

bool FindRccl(const Driver& driver, const Rccl** rccl) {
  *rccl = nullptr;
  const RocmLibrary* library = nullptr;
  if (!ChooseRocm(driver, kKind, &library)) return false;
  if (library == nullptr) return true;
  // One library is opened in a process.
  static const Found found = Load(*library);
  if (found.complete) *rccl = &found.functions;
  return found.complete;
}

std::string DescribeRccl() { return DescribeProvider(kKind); }

Status RunRccl(const std::vector<RcclCall>& calls) {
  if (calls.empty()) return kSuccess;
  const Rccl& rccl = *calls.front().rccl;
  Status status = rccl.group_start();
  for (const RcclCall& one : calls) {
    const InContext in(*one.driver, one.context);
    const Status bad = in.good() ? one.call() : kUnhandledCudaError;
    if (status == kSuccess) status = bad;
  }
  const Status ended = rccl.group_end();
  if (status == kSuccess) status = ended;
  if (status != kSuccess) return status;
  for (const RcclCall& one : calls) {
    if (one.after) one.after();
  }
  return kSuccess;
}

Status CallRccl(const RcclRank& rank, const Part& p, bool sends,
                Rccl::HipStream stream) {
  const Rccl& f = *rank.rccl;
  const int op = p.op;
  switch (p.kind) {
    case Kind::kAllReduce:
      return f.all_reduce(p.in, p.out, p.count, p.type, op, rank.comm, stream);
    case Kind::kReduce:
      return f.reduce(p.in, p.out, p.count, p.type, op, p.root, rank.comm,
                      stream);
    case Kind::kBroadcast:
      return f.broadcast(p.in, p.out, p.count, p.type, p.root, rank.comm,
                         stream);
    case Kind::kAllGather:
      return f.all_gather(p.in, p.out, p.count, p.type, rank.comm, stream);
    case Kind::kReduceScatter:
      return f.reduce_scatter(p.in, p.out, p.count, p.type, op, rank.comm,
                              stream);
    case Kind::kAllToAll:
      return f.all_to_all(p.in, p.out, p.count, p.type, rank.comm, stream);
    case Kind::kGather:
      return f.gather(p.in, p.out, p.count, p.type, p.root, rank.comm, stream);
    case Kind::kScatter:
      return f.scatter(p.in, p.out, p.count, p.type, p.root, rank.comm, stream);
    case Kind::kSendReceive:
      return sends
                 ? f.send(p.in, p.count, p.type, p.root, rank.comm, stream)
                 : f.receive(p.out, p.count, p.type, p.root, rank.comm, stream);
  }
  return kInternalError;
}

Status SplitRccl(const std::vector<RcclSplit>& splits) {
  std::vector<std::unique_ptr<Gathering>> gatherings;
  std::vector<RcclCall> calls;
  for (const RcclSplit& split : splits) {
    gatherings.push_back(std::make_unique<Gathering>(split));
    if (const Status bad = gatherings.back()->Begin(&calls)) return bad;
  }
  if (const Status bad = RunRccl(calls)) return bad;
  calls.clear();
  for (std::size_t i = 0; i < splits.size(); ++i) {
    std::vector<Telling> all;
    if (const Status bad = gatherings[i]->End(&all)) return bad;
    if (splits[i].color == kNoColor) splits[i].made(nullptr, 0, 0);
    else calls.push_back(Joining(splits[i], all));
  }
  return RunRccl(calls);
}

}  // namespace cerberus::libraries::nccl
