// The driver API over the emulator, within the test's own process: the stub's
// objects are linked in, its functions reached through their slots, so that
// CERBERUS_NOOP (noop.cc) and CERBERUS_TRACE have their effect.
#ifndef CERBERUS_TESTS_UNIT_RUNTIME_STUB_EMULATED_H_
#define CERBERUS_TESTS_UNIT_RUNTIME_STUB_EMULATED_H_

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hip/hip_loader.h"
#include "runtime-stub/api/api.h"

namespace cerberus::stub {

// What stands in the slot of an exported symbol; within the scope of
// PerThreadVariants, of its per-thread variant if it has one.
void* Slot(const char* symbol);
struct PerThreadVariants {
  PerThreadVariants();
  ~PerThreadVariants();
};

// Calls a function of the driver API through its slot:
//   CU(cuMemAlloc_v2)(&pointer, 16)
#define CU(function)                                                         \
  (::cerberus::stub::DriverCall<decltype(&::cerberus::stub::api::function)>{ \
      #function})

// With CERBERUS_TEST_WITHOUT_CONTEXT each call is first made without a current
// context. What it answers then is compared with the row in cuda_api.def, and
// if it was CUDA_ERROR_INVALID_CONTEXT the call is made again, with the
// context.
class WithoutContext {
 public:
  // False: the call is made as it is.
  static bool Tries(const char* symbol);
  WithoutContext();  // takes the thread's contexts away
  // Gives them back. True if the call has to be made again.
  bool Refused(const char* symbol, CUresult result);

 private:
  std::vector<CUcontext> contexts_;  // the current one first
};

template <typename Function>
struct DriverCall;
template <typename... Args>
struct DriverCall<CUresult (*)(Args...)> {
  const char* symbol;

  CUresult operator()(Args... args) const {
    const auto function = reinterpret_cast<CUresult (*)(Args...)>(Slot(symbol));
    if (WithoutContext::Tries(symbol)) {
      WithoutContext without;
      const CUresult result = function(args...);
      if (!without.Refused(symbol, result)) return result;
    }
    return function(args...);
  }
};

// What the row of a function says that it takes its context from; nothing if it
// is not supported.
std::string ContextOfFunction(const std::string& symbol);

// Leaves the function with the result of a call that fails.
#define TRY(call)                                                        \
  do {                                                                   \
    if (CUresult result = (call); result != CUDA_SUCCESS) return result; \
  } while (0)

// Runs at the end of its scope.
class Finally {
 public:
  explicit Finally(std::function<void()> what) : what_(std::move(what)) {}
  ~Finally() { what_(); }
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;

 private:
  std::function<void()> what_;
};

// Later work of a stream waits while this lives.
class Gate {
 public:
  explicit Gate(CUstream stream);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  const CUstream stream_;
  std::atomic<std::uint32_t>* word_ = nullptr;
};

// True if the stream still has work after a while in which it could do it.
bool StaysBusy(CUstream stream);

// HIP's function itself, for what is put in its place: what the stub holds up
// to a first call would put itself back there.
template <typename... Args>
void BindToHip(HipFunction<hipError_t(Args...)>* slot, const char* name) {
  using Pointer = typename HipFunction<hipError_t(Args...)>::Pointer;
  if (void* address = dlsym(hip.library, name)) {
    *slot = reinterpret_cast<Pointer>(address);
  }
}

// Two emulated GPUs, of 32 and of 64 lanes in a wave; the primary context of
// the first is current.
class EmulatedTest : public ::testing::Test {
 protected:
  static constexpr int kThreads = 64;

  static void SetUpTestSuite();
  void SetUp() override;
  void TearDown() override;

  // void add(int* p, int by): p[i] += by, by kThreads threads.
  static const char* AddPtx();
  CUfunction Add();
  // Device memory of kThreads times `value`.
  CUdeviceptr Ints(int value);
  // The same value in all kThreads words, else INT_MIN.
  int ValueOf(CUdeviceptr ints);

  CUcontext context_ = nullptr;

 private:
  CUmodule module_ = nullptr;
};

// Runs with the functions themselves and with their per-thread variants.
class VariantTest : public EmulatedTest,
                    public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) variants_.emplace();
    EmulatedTest::SetUp();
  }

 private:
  std::optional<PerThreadVariants> variants_;
};
#define INSTANTIATE_VARIANTS(suite)                                           \
  INSTANTIATE_TEST_SUITE_P(Api, suite, ::testing::Bool(), [](const auto& i) { \
    return std::string(i.param ? "PerThread" : "Plain");                      \
  })

}  // namespace cerberus::stub

#endif  // CERBERUS_TESTS_UNIT_RUNTIME_STUB_EMULATED_H_
