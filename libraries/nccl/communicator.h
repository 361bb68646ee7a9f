// A rank of a communicator, and groups of calls, which are handed to their
// streams together.
#ifndef CERBERUS_LIBRARIES_NCCL_COMMUNICATOR_H_
#define CERBERUS_LIBRARIES_NCCL_COMMUNICATOR_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libraries/common/driver.h"
#include "libraries/nccl/clique.h"
#include "libraries/nccl/rccl.h"

namespace cerberus::libraries::nccl {

struct Communicator {
  std::shared_ptr<Clique> clique;  // null where RCCL computes
  // All its ranks know it, and nobody else: 32 digits; empty where RCCL
  // computes.
  std::string name;
  RcclRank rccl;
  int size = 0, rank = 0;
  int device = 0;
  Context context = nullptr;
  const Driver* driver = nullptr;
  // How many operations of all, between two, and splits have been called.
  std::uint64_t calls = 0, splits = 0;
  std::map<std::pair<int, int>, std::uint64_t> between;
  // Of ncclRedOpCreatePreMulSum, from kFirstOwn on.
  struct Factor {
    Type type;
    const void* on_device;  // or null
    std::vector<std::byte> value;
  };
  std::map<int, std::shared_ptr<const Factor>> factors;
  int next_factor = kFirstOwn;
  // How often it has grown, and shrunk by which ranks.
  std::uint64_t growths = 0;
  std::map<std::set<int>, std::uint64_t> shrinkings;
  bool is_suspended = false;
  // Memory that was registered, by handle.
  std::set<std::shared_ptr<void*>> windows;
};

// Makes a context current for as long as it lives.
class Current {
 public:
  Current(const Driver& driver, Context context) : driver_(driver) {
    driver_.context(&before_);
    driver_.set_context(context);
  }
  ~Current() { driver_.set_context(before_); }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Driver& driver_;
  Context before_ = nullptr;
};

// A call that is to be done: at once, or with the group that is open in this
// thread.
struct Operation {
  Communicator* communicator;
  Stream stream;
  Part part;
  std::size_t bytes_in, bytes_out;
  std::shared_ptr<const Communicator::Factor> factor;
  Meeting meeting;
  int seat;
};
Status Submit(Operation operation);

// Runs `later` when the group ends, behind what every call in it did first.
Status AtGroupEnd(std::function<Status()> later);
// The same for calls of RCCL, which stay together, and for ranks that part.
Status Submit(RcclCall call);
Status Submit(RcclSplit split);
// Of a communicator of RCCL's, in the order of the stream.
Status SubmitToRccl(const Communicator& c, const Part& part, bool sends,
                    Stream stream);
void StartGroup();
Status EndGroup();
// Ends a group as if none of its calls had been made. False, and nothing
// happens, if none has begun or a call in it makes communicators.
bool ForgetGroup();

}  // namespace cerberus::libraries::nccl

#endif  // CERBERUS_LIBRARIES_NCCL_COMMUNICATOR_H_
