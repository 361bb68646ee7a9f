#include "emulated.h"

#include <chrono>
#include <climits>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include "runtime-stub/api/dispatch.h"

namespace cerberus::stub {

namespace {
bool per_thread = false;

const ApiRow* Row(std::string_view symbol) {
  for (const ApiRow& row : ApiTable()) {
    if (symbol == row.symbol) {
      return row.status != ApiStatus::kUnsupported ? &row : nullptr;
    }
  }
  return nullptr;
}
}  // namespace

void* Slot(const char* symbol) {
  if (per_thread) {
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      if (const ApiRow* row = Row(std::string(symbol) + suffix)) {
        return *row->slot;
      }
    }
  }
  const ApiRow* row = Row(symbol);
  EXPECT_NE(row, nullptr) << symbol;
  return row != nullptr ? *row->slot : nullptr;
}

PerThreadVariants::PerThreadVariants() { per_thread = true; }
PerThreadVariants::~PerThreadVariants() { per_thread = false; }

namespace {

// What cuda_api.def says that a function takes its context from, and what was
// seen of it.
struct Need {
  std::string from;
  bool refused = false;
  bool done = false;
};
class Needs : public ::testing::Environment {
 public:
  static Needs& Get() {
    static auto& needs = *new Needs;
    return needs;
  }
  std::map<std::string, Need> all;
  std::mutex mutex;

  void TearDown() override {
    for (const auto& [symbol, need] : all) {
      if (std::getenv("CERBERUS_TEST_WITHOUT_CONTEXT") ==
          std::string_view("list")) {
        std::printf("%s\t%s\n", symbol.c_str(),
                    need.refused && need.done ? "HANDLE"
                    : need.refused            ? "CURRENT"
                    : need.done               ? "NONE"
                                              : "not seen");
      }
      const bool wrong = (need.from == "CURRENT" && need.done) ||
                         (need.from == "NONE" && need.refused);
      EXPECT_FALSE(wrong) << symbol << ", which takes its context from '"
                          << need.from << "'"
                          << (need.refused ? ", was refused" : "")
                          << (need.done ? ", was done" : "")
                          << " without a current one";
    }
  }

 private:
  Needs() {
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  if (std::string_view(#status) != "UNSUPPORTED") all[#symbol].from = #context;
#define CUDA_API_PER_THREAD(symbol, base, name, version, status)
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API
  }
};
const auto* const kNeeds =
    std::getenv("CERBERUS_TEST_WITHOUT_CONTEXT") != nullptr
        ? ::testing::AddGlobalTestEnvironment(&Needs::Get())
        : nullptr;

}  // namespace

std::string ContextOfFunction(const std::string& symbol) {
  const auto at = Needs::Get().all.find(symbol);
  return at != Needs::Get().all.end() ? at->second.from : "";
}

bool WithoutContext::Tries(const char* symbol) {
  if (kNeeds == nullptr || ContextOfFunction(symbol) == "THREAD") return false;
  CUcontext context = nullptr;
  return api::cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr;
}

WithoutContext::WithoutContext() {
  CUcontext context = nullptr;
  while (api::cuCtxPopCurrent_v2(&context) == CUDA_SUCCESS) {
    contexts_.push_back(context);
  }
}

bool WithoutContext::Refused(const char* symbol, CUresult result) {
  for (; !contexts_.empty(); contexts_.pop_back()) {
    EXPECT_EQ(api::cuCtxPushCurrent_v2(contexts_.back()), CUDA_SUCCESS)
        << symbol;
  }
  Needs& needs = Needs::Get();
  std::lock_guard<std::mutex> lock(needs.mutex);
  Need& need = needs.all[symbol];
  if (result == CUDA_SUCCESS) need.done = true;
  if (result == CUDA_ERROR_INVALID_CONTEXT) need.refused = true;
  return result == CUDA_ERROR_INVALID_CONTEXT;
}

Gate::Gate(CUstream stream) : stream_(stream) {
  void* word = nullptr;
  EXPECT_EQ(CU(cuMemHostAlloc)(&word, sizeof *word_, CU_MEMHOSTALLOC_DEVICEMAP),
            CUDA_SUCCESS);
  word_ = static_cast<std::atomic<std::uint32_t>*>(word);
  *word_ = 0;
  EXPECT_EQ(CU(cuStreamWaitValue32_v2)(
                stream, reinterpret_cast<CUdeviceptr>(word), 1, 0),
            CUDA_SUCCESS);
}
Gate::~Gate() {
  *word_ = 1;
  EXPECT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemFreeHost)(word_), CUDA_SUCCESS);
}

bool StaysBusy(CUstream stream) {
  for (int i = 0; i < 20; ++i) {
    if (CU(cuStreamQuery)(stream) == CUDA_SUCCESS) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void EmulatedTest::SetUpTestSuite() {
  setenv("CERBERUS_DEVICE", "gfx1100,gfx942", 1);
  setenv("CERBERUS_EMULATOR", EMULATOR, 0);
  setenv("CERBERUS_JIT", JIT, 0);
  setenv("CUDA_CACHE_PATH", CACHE, 0);
}

void EmulatedTest::SetUp() {
  ASSERT_EQ(CU(cuInit)(0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDevicePrimaryCtxRetain)(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
}

void EmulatedTest::TearDown() {
  CU(cuCtxSetCurrent)(context_);
  if (module_ != nullptr) CU(cuModuleUnload)(module_);
  CU(cuDevicePrimaryCtxReset_v2)(0);
  CU(cuCtxSetCurrent)(nullptr);
}

const char* EmulatedTest::AddPtx() {
  return R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 p, .param .s32 by) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<6>;
  ld.param.u64 %rd1, [p];
  ld.param.s32 %r1, [by];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.s32 %r3, [%rd3];
  add.s32 %r4, %r3, %r1;
  st.global.s32 [%rd3], %r4;
  ret;
})";
}

CUfunction EmulatedTest::Add() {
  if (module_ == nullptr) {
    EXPECT_EQ(CU(cuModuleLoadData)(&module_, AddPtx()), CUDA_SUCCESS);
  }
  CUfunction function = nullptr;
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module_, "add"), CUDA_SUCCESS);
  return function;
}

CUdeviceptr EmulatedTest::Ints(int value) {
  CUdeviceptr ints = 0;
  EXPECT_EQ(CU(cuMemAlloc_v2)(&ints, kThreads * sizeof value), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemsetD32_v2)(ints, static_cast<unsigned>(value), kThreads),
            CUDA_SUCCESS);
  return ints;
}

int EmulatedTest::ValueOf(CUdeviceptr ints) {
  int values[kThreads];
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpyDtoH_v2)(values, ints, sizeof values), CUDA_SUCCESS);
  for (int value : values) {
    if (value != values[0]) return INT_MIN;
  }
  return values[0];
}

}  // namespace cerberus::stub
