// Each call of HIP fails in turn: a sequence of driver calls ends in the CUDA
// error for it, without a crash, and succeeds when it is made again.
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emulated.h"
#include "runtime-stub/hip_loader.h"
#include "sequences.h"

namespace cerberus::stub {
namespace {

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
template <typename... Args, HipFunction<hipError_t(Args...)> Hip::*Member>
struct Injected<Member> {
  static inline const char* name;
  static hipError_t Call(Args... args) {
    if (injection.calls++ == injection.fail_at) {
      injection.failed = name;
      return injection.error;
    }
    return (real.*Member)(args...);
  }
};

void InjectIntoHip() {
  if (real.major != 0) return;
  real = hip;
#define HIP_FN(need, function, parameters)    \
  Injected<&Hip::function>::name = #function; \
  hip.function = Injected<&Hip::function>::Call;
#include "runtime-stub/hip_api.def"
#undef HIP_FN
}

class FaultTest : public EmulatedTest,
                  public ::testing::WithParamInterface<Sequence> {
 public:
  // Where the sequence goes on: code that HIP does not take is compiled again,
  // and what ends an object ends it, whatever HIP says.
  static bool MayGoUnnoticed(const std::string& function) {
    static const auto& names =
        *new std::set<std::string>{"hipModuleLoadData", "hipModuleUnload",
                                   "hipGraphGetNodes", "hipDeviceSynchronize"};
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

INSTANTIATE_TEST_SUITE_P(Fault, FaultTest,
                         ::testing::ValuesIn(Sequences().begin(),
                                             Sequences().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace cerberus::stub
