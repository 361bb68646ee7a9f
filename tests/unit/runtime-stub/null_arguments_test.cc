// Every driver function with nothing but zeros: what needs a pointer or a
// handle says so, and none crashes.
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "driver.h"
#include "runtime-stub/api/dispatch.h"

namespace cerberus::stub {
namespace {

template <typename F>
struct WithZeros;
template <typename... Args>
struct WithZeros<CUresult (*)(Args...)> {
  static CUresult Call(void* function) {
    return reinterpret_cast<CUresult (*)(Args...)>(function)(Args{}...);
  }
};

using Caller = CUresult (*)(void*);
struct Row {
  const char* symbol;
  const char* base;
  Caller call;
};
#define ROW_FORWARD(symbol, base) \
  {#symbol, #base, &WithZeros<decltype(&api::base)>::Call},
#define ROW_IMPL(symbol, base) ROW_FORWARD(symbol, base)
#define ROW_UNSUPPORTED(symbol, base)
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  ROW_##status(symbol, symbol)
#define CUDA_API_PER_THREAD(symbol, base, name, version, status) \
  ROW_##status(symbol, base)
constexpr Row kRows[] = {
#include "runtime-stub/api/cuda_api.def"
};
#undef CUDA_API_PER_THREAD
#undef CUDA_API

// Zero is a device, the default stream, no flag, an empty range, or no
// object at all, of which CUDA's manual says that nothing happens.
const std::set<std::string>& FineWithZeros() {
  static const auto& names = *new std::set<std::string>{
      "cuCtxGetStreamPriorityRange",
      "cuCtxPopCurrent",
      "cuCtxPopCurrent_v2",
      "cuCtxResetPersistingL2Cache",
      "cuCtxSetCacheConfig",
      "cuCtxSetCurrent",
      "cuCtxSetFlags",
      "cuCtxSetLimit",
      "cuCtxSetSharedMemConfig",
      "cuCtxSynchronize",
      "cuCtxSynchronize_v2",
      "cuDeviceGraphMemTrim",
      "cuDevicePrimaryCtxGetState",
      "cuDevicePrimaryCtxRelease",
      "cuDevicePrimaryCtxRelease_v2",
      "cuDevicePrimaryCtxReset",
      "cuDevicePrimaryCtxReset_v2",
      "cuDevicePrimaryCtxSetFlags",
      "cuDevicePrimaryCtxSetFlags_v2",
      "cuInit",
      "cuMemFreeAsync",
      "cuMemFreeHost",
      "cuMemFree_v2",
      "cuMemcpy",
      "cuMemcpyAsync",
      "cuMemcpyDtoDAsync_v2",
      "cuMemcpyDtoD_v2",
      "cuMemcpyDtoHAsync_v2",
      "cuMemcpyDtoH_v2",
      "cuMemcpyHtoDAsync_v2",
      "cuMemcpyHtoD_v2",
      "cuMemsetD16Async",
      "cuMemsetD16_v2",
      "cuMemsetD2D16Async",
      "cuMemsetD2D16_v2",
      "cuMemsetD2D32Async",
      "cuMemsetD2D32_v2",
      "cuMemsetD2D8Async",
      "cuMemsetD2D8_v2",
      "cuMemsetD32Async",
      "cuMemsetD32_v2",
      "cuMemsetD8Async",
      "cuMemsetD8_v2",
      "cuProfilerStart",
      "cuProfilerStop",
      "cuStreamAttachMemAsync",
      "cuStreamCopyAttributes",
      "cuStreamQuery",
      "cuStreamSynchronize",
  };
  return names;
}

using NullArguments = DriverTest;

TEST_F(NullArguments, EveryFunction) {
  const StderrCapture capture;
  for (const Row& row : kRows) {
    // Some calls before have let it go.
    ASSERT_EQ(CU(cuDevicePrimaryCtxRetain)(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
    const CUresult result = row.call(DriverSymbol(row.symbol));
    EXPECT_EQ(result == CUDA_SUCCESS, FineWithZeros().contains(row.base))
        << row.symbol << " answers " << result;
  }
}

// What the rows say of them holds without a context too.
TEST_F(NullArguments, EveryFunctionWithoutAContext) {
  std::map<std::string_view, std::string_view> from = {
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  {#symbol, #context},
#define CUDA_API_PER_THREAD(symbol, base, name, version, status)
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API
  };
  const StderrCapture capture;
  for (const Row& row : kRows) {
    ASSERT_THAT(from[row.base],
                ::testing::AnyOf("NONE", "HANDLE", "CURRENT", "THREAD"))
        << row.base;
    ASSERT_EQ(CU(cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
    const CUresult result = row.call(DriverSymbol(row.symbol));
    if (from[row.base] == "NONE") {
      EXPECT_NE(result, CUDA_ERROR_INVALID_CONTEXT) << row.symbol;
    } else if (from[row.base] == "CURRENT") {
      // Arguments may be looked at first.
      EXPECT_THAT(result, ::testing::AnyOf(CUDA_ERROR_INVALID_CONTEXT,
                                           CUDA_ERROR_INVALID_VALUE,
                                           CUDA_ERROR_FILE_NOT_FOUND,
                                           CUDA_ERROR_INVALID_HANDLE))
          << row.symbol;
    }
  }
}

}  // namespace
}  // namespace cerberus::stub
