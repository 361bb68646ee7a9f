// Handles and what they are set to, copies, cublas.h's state, cublasXt.
#include <gmock/gmock.h>

#include "libraries/cublas/rows.h"
#include "tests/unit/libraries/cublas.h"

namespace cerberus::libraries::tests {
namespace {

constexpr int kAllocFailed = 3;
using testing::HasSubstr;

TEST(CublasHelpers, HandlesLiveFromCreateToDestroy) {
  CublasHandle();  // makes a context current
  Handle handle = nullptr;
  EXPECT_EQ(Cublas("cublasCreate_v2", Raw<Handle*>(nullptr).value),
            kInvalidValue);
  ASSERT_EQ(Cublas("cublasCreate_v2", &handle), kSuccess);
  int mode = -1;
  EXPECT_EQ(Cublas("cublasGetPointerMode_v2", handle, &mode), kSuccess);
  EXPECT_EQ(mode, 0);
  EXPECT_EQ(Cublas("cublasDestroy_v2", handle), kSuccess);
  EXPECT_EQ(Cublas("cublasDestroy_v2", handle), kNotInitialized);
  EXPECT_EQ(Cublas("cublasDestroy_v2", Handle{nullptr}), kNotInitialized);
  EXPECT_EQ(Cublas("cublasGetPointerMode_v2", handle, &mode), kNotInitialized);
  const Device<float> x({1, 2});
  float result = 0;
  EXPECT_EQ(Cublas("cublasSasum_v2", handle, 2, x.get(), 1, &result),
            kNotInitialized);
}

TEST(CublasHelpers, Versions) {
  int version = 0;
  EXPECT_EQ(Cublas("cublasGetVersion_v2", CublasHandle(), &version), kSuccess);
  EXPECT_EQ(version / 10000, 13);
  EXPECT_EQ(Cublas("cublasGetVersion_v2", CublasHandle(), (int*)nullptr),
            kInvalidValue);
  version = 0;
  EXPECT_EQ(Cublas("cublasGetVersion", &version), kSuccess);
  EXPECT_EQ(version / 10000, 13);
  int major = 0;
  EXPECT_EQ(Cublas("cublasGetProperty", 0, &major), kSuccess);
  EXPECT_EQ(major, 13);
  for (const int part : {1, 2}) {
    EXPECT_EQ(Cublas("cublasGetProperty", part, &major), kSuccess);
  }
  EXPECT_EQ(Cublas("cublasGetProperty", 3, &major), kInvalidValue);
  EXPECT_EQ(Cublas("cublasGetProperty", 0, (int*)nullptr), kInvalidValue);
  EXPECT_EQ(Cublas<std::size_t>("cublasGetCudartVersion") / 1000, 13u);
}

TEST(CublasHelpers, StreamOfAHandle) {
  Handle handle = nullptr;
  void *stream = nullptr, *got = &handle;
  ASSERT_EQ(Cublas("cublasCreate_v2", &handle), kSuccess);
  ASSERT_EQ(Cuda("cuStreamCreate", &stream, 0u), 0);
  EXPECT_EQ(Cublas("cublasGetStream_v2", handle, &got), kSuccess);
  EXPECT_EQ(got, nullptr);
  EXPECT_EQ(Cublas("cublasSetStream_v2", handle, stream), kSuccess);
  EXPECT_EQ(Cublas("cublasGetStream_v2", handle, &got), kSuccess);
  EXPECT_EQ(got, stream);
  EXPECT_EQ(Cublas("cublasGetStream_v2", handle, (void**)nullptr),
            kInvalidValue);
  EXPECT_EQ(Cublas("cublasSetStream_v2", Handle{nullptr}, stream),
            kNotInitialized);
  EXPECT_EQ(Cublas("cublasGetStream_v2", Handle{nullptr}, &got),
            kNotInitialized);
  EXPECT_EQ(Cublas("cublasDestroy_v2", handle), kSuccess);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}

TEST(CublasHelpers, Workspace) {
  const Device<float> memory(std::vector<float>(1024));
  const auto set = [&](Handle handle, float* to, std::size_t bytes) {
    return Cublas("cublasSetWorkspace_v2", handle, to, bytes);
  };
  EXPECT_EQ(set(CublasHandle(), memory.get(), std::size_t{4096}), kSuccess);
  EXPECT_EQ(set(CublasHandle(), nullptr, std::size_t{0}), kSuccess);
  // It must begin at a multiple of 256 bytes.
  EXPECT_EQ(set(CublasHandle(), memory.get() + 1, std::size_t{1024}),
            kInvalidValue);
  EXPECT_EQ(set(nullptr, memory.get(), std::size_t{4096}), kNotInitialized);
}

TEST(CublasHelpers, SettingsAreKept) {
  Handle handle = nullptr;
  ASSERT_EQ(Cublas("cublasCreate_v2", &handle), kSuccess);
  struct Setting {
    std::string name;
    int value;
  };
  for (const Setting& s : {Setting{"PointerMode_v2", 1},
                           {"AtomicsMode", 1},
                           {"MathMode", 3},
                           {"SmCountTarget", 2},
                           {"EnvironmentMode", 1},
                           {"EmulationStrategy", 1},
                           {"EmulationSpecialValuesSupport", 1},
                           {"FixedPointEmulationMantissaControl", 1},
                           {"FixedPointEmulationMaxMantissaBitCount", 40},
                           {"FixedPointEmulationMantissaBitOffset", -2}}) {
    int got = -7;
    EXPECT_EQ(Cublas("cublasSet" + s.name, handle, s.value), kSuccess);
    EXPECT_EQ(Cublas("cublasGet" + s.name, handle, &got), kSuccess);
    EXPECT_EQ(got, s.value) << s.name;
    EXPECT_EQ(Cublas("cublasGet" + s.name, handle, (int*)nullptr),
              kInvalidValue);
    EXPECT_EQ(Cublas("cublasSet" + s.name, Handle{nullptr}, s.value),
              kNotInitialized);
    EXPECT_EQ(Cublas("cublasGet" + s.name, Handle{nullptr}, &got),
              kNotInitialized);
  }
  EXPECT_EQ(Cublas("cublasSetPointerMode_v2", handle, 2), kInvalidValue);
  EXPECT_EQ(Cublas("cublasSetSmCountTarget", handle, -1), kInvalidValue);
  int *pointer = nullptr, value = 0;
  const std::string name = "FixedPointEmulationMantissaBitCountPointer";
  EXPECT_EQ(Cublas("cublasSet" + name, handle, &value), kSuccess);
  EXPECT_EQ(Cublas("cublasGet" + name, handle, &pointer), kSuccess);
  EXPECT_EQ(pointer, &value);
  EXPECT_EQ(Cublas("cublasDestroy_v2", handle), kSuccess);
}

void Log(const char*) {}
TEST(CublasHelpers, Logging) {
  using Callback = void (*)(const char*);
  Callback got = nullptr;
  EXPECT_EQ(Cublas("cublasLoggerConfigure", 0, 0, 0, (const char*)nullptr),
            kSuccess);
  EXPECT_EQ(Cublas("cublasSetLoggerCallback", &Log), kSuccess);
  EXPECT_EQ(Cublas("cublasGetLoggerCallback", &got), kSuccess);
  EXPECT_EQ(got, &Log);
  EXPECT_EQ(Cublas("cublasGetLoggerCallback", (Callback*)nullptr),
            kInvalidValue);
  EXPECT_EQ(Cublas("cublasSetLoggerCallback", Callback{nullptr}), kSuccess);
}

TEST(CublasHelpers, NamesOfErrors) {
  const std::pair<int, const char*> names[] = {
      {0, "SUCCESS"},           {1, "NOT_INITIALIZED"}, {3, "ALLOC_FAILED"},
      {7, "INVALID_VALUE"},     {8, "ARCH_MISMATCH"},   {11, "MAPPING_ERROR"},
      {13, "EXECUTION_FAILED"}, {14, "INTERNAL_ERROR"}, {15, "NOT_SUPPORTED"},
      {16, "LICENSE_ERROR"}};
  for (const auto& [status, name] : names) {
    EXPECT_STREQ(Cublas<const char*>("cublasGetStatusName", status),
                 (std::string("CUBLAS_STATUS_") + name).c_str());
    EXPECT_STRNE(Cublas<const char*>("cublasGetStatusString", status), "");
  }
  EXPECT_NE(Cublas<const char*>("cublasGetStatusName", 2), nullptr);
  EXPECT_NE(Cublas<const char*>("cublasGetStatusString", 2), nullptr);
  testing::internal::CaptureStderr();
  Cublas<void>("cublasXerbla", "SGEMM ", 3);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("SGEMM"), HasSubstr("3")));
}

// `suffix` and I: int, or "_64" and 64 bits. With a stream the copies are in
// its order.
template <typename I>
void TestCopies(const std::string& suffix, bool async) {
  void* stream = nullptr;
  ASSERT_EQ(Cuda("cuStreamCreate", &stream, 0u), 0);
  const auto call = [&](const std::string& name, auto... arguments) {
    return async ? Cublas(name + "Async" + suffix, arguments..., stream)
                 : Cublas(name + suffix, arguments...);
  };
  const auto settle = [&] {
    if (async) EXPECT_EQ(Cuda("cuStreamSynchronize", stream), 0);
  };
  const I size = 4;
  for (const auto& [incx, incy] : {std::pair<I, I>{1, 1}, {2, 3}, {3, 1}}) {
    const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7};
    const Device<float> d(std::vector<float>(7, 777));
    std::vector<float> want(7, 777), back(7, 777), want_back(7, 777);
    for (std::size_t i = 0; i < 3; ++i) {
      want[i * static_cast<std::size_t>(incy)] =
          x[i * static_cast<std::size_t>(incx)];
      want_back[i * static_cast<std::size_t>(incx)] =
          x[i * static_cast<std::size_t>(incx)];
    }
    EXPECT_EQ(
        call("cublasSetVector", I{3}, size, x.data(), incx, d.get(), incy),
        kSuccess);
    settle();
    EXPECT_EQ(d.Read(), want);
    EXPECT_EQ(
        call("cublasGetVector", I{3}, size, d.get(), incy, back.data(), incx),
        kSuccess);
    settle();
    EXPECT_EQ(back, want_back);
  }
  const std::vector<float> a = {1, 2, 9, 3, 4, 9, 5, 6, 9};
  const Device<float> d(std::vector<float>(12, 777));
  std::vector<float> back(9, 9);
  EXPECT_EQ(
      call("cublasSetMatrix", I{2}, I{3}, size, a.data(), I{3}, d.get(), I{4}),
      kSuccess);
  settle();
  EXPECT_EQ(d.Read(), (std::vector<float>{1, 2, 777, 777, 3, 4, 777, 777, 5, 6,
                                          777, 777}));
  EXPECT_EQ(call("cublasGetMatrix", I{2}, I{3}, size, d.get(), I{4},
                 back.data(), I{3}),
            kSuccess);
  settle();
  EXPECT_EQ(back, a);
  for (const std::string name : {"cublasSetVector", "cublasGetVector"}) {
    const auto with = [&](I n, I bytes, I incx, I incy) {
      return call(name, n, bytes, back.data(), incx, back.data(), incy);
    };
    EXPECT_EQ(with(0, 4, 1, 1), kSuccess);
    EXPECT_EQ(with(-1, 4, 1, 1), kInvalidValue);
    EXPECT_EQ(with(1, 0, 1, 1), kInvalidValue);
    EXPECT_EQ(with(1, 4, 0, 1), kInvalidValue);
    EXPECT_EQ(with(1, 4, 1, 0), kInvalidValue);
  }
  for (const std::string name : {"cublasSetMatrix", "cublasGetMatrix"}) {
    const auto with = [&](I rows, I columns, I bytes, I lda, I ldb) {
      return call(name, rows, columns, bytes, back.data(), lda, back.data(),
                  ldb);
    };
    EXPECT_EQ(with(0, 3, 4, 1, 1), kSuccess);
    EXPECT_EQ(with(-1, 3, 4, 3, 3), kInvalidValue);
    EXPECT_EQ(with(2, -3, 4, 3, 3), kInvalidValue);
    EXPECT_EQ(with(2, 3, 0, 3, 3), kInvalidValue);
    EXPECT_EQ(with(2, 3, 4, 1, 3), kInvalidValue);
    EXPECT_EQ(with(2, 3, 4, 3, 1), kInvalidValue);
  }
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}
TEST(CublasHelpers, CopiesOfVectorsAndMatrices) {
  CublasHandle();
  TestCopies<int>("", false);
  TestCopies<int>("", true);
  TestCopies<std::int64_t>("_64", false);
  TestCopies<std::int64_t>("_64", true);
}

TEST(CublasHelpers, OldInterface) {
  CublasHandle();
  InitOld();
  EXPECT_EQ(Cublas("cublasInit"), kSuccess);
  void* memory = nullptr;
  EXPECT_EQ(Cublas("cublasAlloc", 8, 4, &memory), kSuccess);
  Upload(memory, std::vector<float>{1, -2, 3}.data(), 12);
  EXPECT_EQ(Cublas<float>("cublasSasum", 3, memory, 1), 6);
  EXPECT_EQ(Cublas("cublasFree", memory), kSuccess);
  EXPECT_EQ(Cublas("cublasAlloc", 0, 4, &memory), kInvalidValue);
  EXPECT_EQ(Cublas("cublasAlloc", 8, 0, &memory), kInvalidValue);
  EXPECT_EQ(Cublas("cublasAlloc", 8, 4, (void**)nullptr), kInvalidValue);
  EXPECT_EQ(Cublas("cublasAlloc", 0x7fffffff, 0x7fffffff, &memory),
            kAllocFailed);
  void* stream = nullptr;
  ASSERT_EQ(Cuda("cuStreamCreate", &stream, 0u), 0);
  EXPECT_EQ(Cublas("cublasSetKernelStream", stream), kSuccess);
  EXPECT_EQ(Cublas("cublasSetKernelStream", (void*)nullptr), kSuccess);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
  // The first error stays until it is asked for; letters that are none are
  // one.
  const Device<float> d(std::vector<float>(4, 1));
  Cublas<void>("cublasSgemv", 'q', 2, 2, 1.0f, d.get(), 2, d.get(), 1, 1.0f,
               d.get(), 1);
  Cublas<void>("cublasSscal", 1, 1.0f, d.get(), 1);
  EXPECT_EQ(Cublas("cublasGetError"), kInvalidValue);
  EXPECT_EQ(Cublas("cublasGetError"), kSuccess);

  EXPECT_EQ(Cublas("cublasShutdown"), kSuccess);
  EXPECT_EQ(Cublas("cublasShutdown"), kNotInitialized);
  EXPECT_EQ(Cublas("cublasAlloc", 8, 4, &memory), kNotInitialized);
  EXPECT_EQ(Cublas("cublasFree", memory), kNotInitialized);
  Cublas<void>("cublasSscal", 1, 1.0f, d.get(), 1);
  EXPECT_EQ(Cublas("cublasGetError"), kNotInitialized);
  EXPECT_EQ(Cublas("cublasInit"), kSuccess);
}

TEST(CublasHelpers, Xt) {
  Handle handle = nullptr;
  EXPECT_EQ(Cublas("cublasXtCreate", (Handle*)nullptr), kInvalidValue);
  ASSERT_EQ(Cublas("cublasXtCreate", &handle), kSuccess);
  int device = 0, number = 0;
  EXPECT_EQ(Cublas("cublasXtDeviceSelect", handle, 1, &device), kSuccess);
  EXPECT_EQ(Cublas("cublasXtDeviceSelect", handle, 0, &device), kInvalidValue);
  EXPECT_EQ(Cublas("cublasXtDeviceSelect", handle, 1, (int*)nullptr),
            kInvalidValue);
  EXPECT_EQ(Cublas("cublasXtGetNumBoards", 1, &device, &number), kSuccess);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(Cublas("cublasXtMaxBoards", &number), kSuccess);
  EXPECT_GE(number, 1);
  EXPECT_EQ(Cublas("cublasXtSetBlockDim", handle, 512), kSuccess);
  EXPECT_EQ(Cublas("cublasXtGetBlockDim", handle, &number), kSuccess);
  EXPECT_EQ(number, 512);
  EXPECT_EQ(Cublas("cublasXtSetBlockDim", handle, 0), kInvalidValue);
  EXPECT_EQ(Cublas("cublasXtSetPinningMemMode", handle, 1), kSuccess);
  EXPECT_EQ(Cublas("cublasXtGetPinningMemMode", handle, &number), kSuccess);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(Cublas("cublasXtSetCpuRatio", handle, 0, 0, 0.5f), kSuccess);
  EXPECT_EQ(Cublas("cublasXtSetCpuRoutine", handle, 0, 0, (void*)nullptr),
            kSuccess);
  EXPECT_EQ(Cublas("cublasXtDestroy", handle), kSuccess);
  EXPECT_EQ(Cublas("cublasXtDestroy", handle), kNotInitialized);
  EXPECT_EQ(Cublas("cublasXtGetBlockDim", handle, &number), kNotInitialized);
}

// cublasXt's matrices are the host's, and all is done when it returns.
TEST(CublasHelpers, XtOverMemoryOfTheHost) {
  ForAll([]<typename T>() {
    Numbers numbers;
    const Matrix a = RandomMatrix<T>(numbers, 40, 30);
    const Matrix b = RandomMatrix<T>(numbers, 30, 20);
    const Matrix want = Times(a, b);
    const std::vector<T> ma = Stored<T>(a, 41, kNan),
                         mb = Stored<T>(b, 33, kNan);
    std::vector<T> mc(42 * 20, To<T>(kGuard));
    EXPECT_EQ(Invoke(kXt, Name<T>("gemm"), Op(kN), Op(kN), Size(40), Size(20),
                     Size(30), Scalar(T(1)), Raw(ma.data()), Ld(41, 40),
                     Raw(mb.data()), Ld(33, 30), Scalar(T(0)), Raw(mc.data()),
                     Ld(42, 40)),
              kSuccess);
    ExpectNear(Widened(mc), Stored<Complex64>(want, 42, kGuard),
               64 * std::numeric_limits<Real<T>>::epsilon(), "cublasXt gemm");
  });
}

TEST(CublasHelpers, WhatIsNotThereSaysSo) {
#define CUBLAS_EXPORT(...)
#define CUBLAS_EXPORT_OLD(...)
#define CUBLAS_EXPORT_OLD_RESULT(...)
#define CUBLAS_EXPORT_XT(...)
#define CUBLAS_HELPER(name)
#define CUBLAS_REFUSED(name) EXPECT_EQ(Cublas(#name), kNotSupported) << #name;
#include "libraries/cublas/cublas.def"
}

}  // namespace
}  // namespace cerberus::libraries::tests
