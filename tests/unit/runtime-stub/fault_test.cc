// Each call of HIP, and each allocation of the stub, fails in turn: a sequence
// of driver calls ends in the CUDA error for it, without a crash, and succeeds
// when it is made again.
#include <cstdlib>
#include <new>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulated.h"
#include "hip/hip_loader.h"
#include "sequences.h"

namespace {

// --- memory with one allocation that fails ---

// In this thread, and not within HIP.
struct Memory {
  int fail_at = -1;  // the number of the allocation
  int allocations = 0;
  bool counting = false;
  bool failed = false;
};
thread_local Memory memory;

[[maybe_unused]] void* Allocate(std::size_t bytes) {
  if (memory.counting && memory.allocations++ == memory.fail_at) {
    memory.failed = true;
    return nullptr;
  }
  return std::malloc(bytes != 0 ? bytes : 1);
}

}  // namespace

// A sanitizer's runtime has these itself.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define CERB_ALLOCATIONS_CAN_FAIL 1
void* operator new(std::size_t bytes) {
  void* allocated = Allocate(bytes);
  if (allocated == nullptr) throw std::bad_alloc();
  return allocated;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes);
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept {
  std::free(pointer);
}
#endif

namespace cerberus::stub {
namespace {

using ::testing::AnyOf;

// --- HIP with one call that fails ---

struct Injection {
  int fail_at = -1;  // the number of the call
  int calls = 0;
  hipError_t error = hipSuccess;
  const char* failed = nullptr;  // the function that did
};
Injection injection;
Hip real;

template <auto Member>
struct Injected;
template <typename... Args, HipFunction<hipError_t(Args...)> Hip::* Member>
struct Injected<Member> {
  static inline const char* name;
  static hipError_t Call(Args... args) {
    if (injection.calls++ == injection.fail_at) {
      injection.failed = name;
      return injection.error;
    }
    const bool counting = std::exchange(memory.counting, false);
    const hipError_t result = (real.*Member)(args...);
    memory.counting = counting;
    return result;
  }
};

void InjectIntoHip() {
  if (real.major != 0) return;
  real = hip;
#define HIP_FN(need, function, parameters)    \
  BindToHip(&real.function, #function);       \
  Injected<&Hip::function>::name = #function; \
  hip.function = Injected<&Hip::function>::Call;
#include "hip/hip_api.def"
#undef HIP_FN
}

class FaultTest : public EmulatedTest,
                  public ::testing::WithParamInterface<Sequence> {
 public:
  // Where the sequence goes on: code that HIP does not take is compiled again,
  // what ends an object ends it, whatever HIP says, leave is asked for to do
  // what a capture would forbid, whether a stream captures is asked again,
  // where the host's memory is for the device is where it is, and which capture
  // ends only tells what is to be forgotten.
  static bool MayGoUnnoticed(const std::string& function) {
    static const auto& names =
        *new std::set<std::string>{"hipModuleLoadData",
                                   "hipModuleUnload",
                                   "hipGraphGetNodes",
                                   "hipDeviceSynchronize",
                                   "hipThreadExchangeStreamCaptureMode",
                                   "hipStreamIsCapturing",
                                   "hipStreamGetCaptureInfo",
                                   "hipGraphDestroy",
                                   "hipGraphExecDestroy",
                                   "hipHostFree",
                                   "hipHostGetDevicePointer"};
    return names.contains(function);
  }
};

TEST_P(FaultTest, EachCallOfHip) {
  InjectIntoHip();
  const Finally heal([] { injection = {}; });
  // Code and tables that stay are made here.
  ASSERT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS);
  injection = {};
  ASSERT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS);
  const int calls = injection.calls;
  ASSERT_GT(calls, 0);
  struct Fault {
    int hip;
    CUresult cuda;
  };
  for (const Fault& fault :
       {Fault{2, CUDA_ERROR_OUT_OF_MEMORY}, Fault{999, CUDA_ERROR_UNKNOWN}}) {
    for (int call = 0; call < calls; ++call) {
      injection = {call, 0, static_cast<hipError_t>(fault.hip), nullptr};
      const CUresult result = RunSequence(GetParam(), AddPtx());
      const std::string function =
          injection.failed != nullptr ? injection.failed : "nothing";
      injection = {};
      if (result != fault.cuda &&
          !(result == CUDA_SUCCESS && MayGoUnnoticed(function))) {
        ADD_FAILURE() << function << " (call " << call << ") answers "
                      << fault.hip << ": " << result;
      }
      ASSERT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS)
          << "after " << function << " (call " << call << ") answered "
          << fault.hip;
    }
  }
}

#if CERB_ALLOCATIONS_CAN_FAIL
TEST_P(FaultTest, EachAllocation) {
  InjectIntoHip();
  ASSERT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS);
  for (int allocation = 0;; ++allocation) {
    std::optional<CUresult> result;  // none: the test's own memory
    memory = {allocation, 0, true, false};
    try {
      result = RunSequence(GetParam(), AddPtx());
    } catch (const std::bad_alloc&) {
    }
    const bool failed = memory.failed;
    memory = {};
    if (!failed) {
      EXPECT_EQ(result, CUDA_SUCCESS);
      break;
    }
    // What is lost may be words of the log only.
    EXPECT_THAT(result,
                AnyOf(std::nullopt, CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY))
        << "allocation " << allocation;
    ASSERT_EQ(RunSequence(GetParam(), AddPtx()), CUDA_SUCCESS)
        << "after allocation " << allocation;
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Fault, FaultTest,
                         ::testing::ValuesIn(Sequences().begin(),
                                             Sequences().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace cerberus::stub
