// RCCL, which computes on AMD GPUs in place of the host: NCCL's own interface
// over HIP. Statuses, types, operations and ids are the same.
#ifndef CERBERUS_LIBRARIES_NCCL_RCCL_H_
#define CERBERUS_LIBRARIES_NCCL_RCCL_H_

#include <functional>
#include <string>
#include <vector>

#include "libraries/common/driver.h"
#include "libraries/nccl/abi.h"
#include "libraries/nccl/operation.h"

namespace cerberus::libraries::nccl {

// RCCL's functions. Those of later versions than 2.12 may be null.
struct Rccl {
  using Comm = void*;
  using HipStream = void*;

  Status (*get_unique_id)(UniqueId*);
  Status (*init_rank)(Comm*, int size, UniqueId, int rank);
  Status (*destroy)(Comm);
  Status (*abort)(Comm);
  Status (*async_error)(Comm, Status*);
  Status (*group_start)();
  Status (*group_end)();
  Status (*all_reduce)(const void*, void*, std::size_t, Type, int, Comm,
                       HipStream);
  Status (*reduce)(const void*, void*, std::size_t, Type, int, int root, Comm,
                   HipStream);
  Status (*broadcast)(const void*, void*, std::size_t, Type, int root, Comm,
                      HipStream);
  Status (*all_gather)(const void*, void*, std::size_t, Type, Comm, HipStream);
  Status (*reduce_scatter)(const void*, void*, std::size_t, Type, int, Comm,
                           HipStream);
  Status (*all_to_all)(const void*, void*, std::size_t, Type, Comm, HipStream);
  Status (*gather)(const void*, void*, std::size_t, Type, int root, Comm,
                   HipStream);
  Status (*scatter)(const void*, void*, std::size_t, Type, int root, Comm,
                    HipStream);
  Status (*send)(const void*, std::size_t, Type, int peer, Comm, HipStream);
  Status (*receive)(void*, std::size_t, Type, int peer, Comm, HipStream);
  Status (*make_factor)(int*, void*, Type, int residence, Comm);
  Status (*destroy_op)(int, Comm);
  Status (*finalize)(Comm);
};

// Null if the host computes. False: the environment insists on RCCL, and it
// cannot be had.
bool FindRccl(const Driver& driver, const Rccl** rccl);
// Who computes, in words.
std::string DescribeRccl();

// A rank of one of RCCL's communicators.
struct RcclRank {
  const Rccl* rccl = nullptr;  // null: the host's communicator
  Rccl::Comm comm = nullptr;
};

// A call of RCCL, in a context; and what follows when the group has ended, if
// that went well.
struct RcclCall {
  const Rccl* rccl;
  const Driver* driver;
  Context context;
  std::function<Status()> call;
  std::function<void()> after;
};
// Together, as a group of RCCL's.
Status RunRccl(const std::vector<RcclCall>& calls);

// The call of an operation. `part` has a factor's number as its operation, of
// two the other one as its root.
Status CallRccl(const RcclRank& rank, const Part& part, bool sends,
                Rccl::HipStream stream);

// Ranks that part, by color and then by key and rank: RCCL before 2.18 has no
// function for that. They tell each other by a gathering, of ids as well, of
// which that of a color's first rank is taken.
struct RcclSplit {
  const Driver* driver;
  Context context;
  RcclRank from;
  int size, rank, color, key;
  // Of the new communicator; its comm is null where the color is none.
  std::function<void(Rccl::Comm comm, int size, int rank)> made;
};
Status SplitRccl(const std::vector<RcclSplit>& splits);

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_RCCL_H_
