// Handles and what is set in them, work in a stream's order, and the table as a
// whole.
#include <dlfcn.h>

#include <string>

#include "libraries/cusolver/rows.h"
#include "tests/unit/libraries/cusolver.h"
#include "tests/unit/libraries/exported.h"

namespace cerberus::libraries::tests::solver {
namespace {

#define CUSOLVER_EXPORT(type, name, ...) #name,
#define CUSOLVER_HELPER(name) #name,
#define CUSOLVER_REFUSED(name)
const char* const kAnswered[] = {
#include "libraries/cusolver/cusolver.def"
};
#undef CUSOLVER_EXPORT
#undef CUSOLVER_HELPER
#undef CUSOLVER_REFUSED
#define CUSOLVER_EXPORT(type, name, ...)
#define CUSOLVER_HELPER(name)
#define CUSOLVER_REFUSED(name) #name,
const char* const kRefused[] = {
#include "libraries/cusolver/cusolver.def"
};

TEST(CusolverTable, IsExportedByEachVersion) {
  SolverHandle();  // makes a context current
  for (const int major : {11, 12}) {
    const std::string file = "libcusolver.so." + std::to_string(major);
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto find = [&](const char* name) {
      void* const found = libraries::ExportedBy(library, file, name);
      EXPECT_NE(found, nullptr) << file << ": " << name;
      return found;
    };
    for (const char* name : kAnswered) find(name);
    for (const char* name : kRefused) {
      EXPECT_EQ(reinterpret_cast<int (*)()>(find(name))(), kNotSupported);
    }
    int version = 0, property = 0;
    EXPECT_EQ(
        reinterpret_cast<int (*)(int*)>(find("cusolverGetVersion"))(&version),
        kSuccess);
    EXPECT_EQ(version / 1000, major);
    EXPECT_EQ(reinterpret_cast<int (*)(int, int*)>(find("cusolverGetProperty"))(
                  0, &property),
              kSuccess);
    EXPECT_EQ(property, major);
    dlclose(library);
  }
}

TEST(CusolverHandles, AreMadeAndDestroyed) {
  for (const std::string kind : {"cusolverDn", "cusolverSp"}) {
    Handle handle = nullptr;
    void* stream = nullptr;
    void* got = nullptr;
    EXPECT_EQ(Solver(kind + "Create", static_cast<Handle*>(nullptr)),
              kInvalidValue);
    EXPECT_EQ(Solver(kind + "Create", &handle), kSuccess);
    ASSERT_EQ(Cuda("cuStreamCreate", &stream, 1u), 0);
    EXPECT_EQ(Solver(kind + "GetStream", handle, &got), kSuccess);
    EXPECT_EQ(got, nullptr);
    EXPECT_EQ(Solver(kind + "SetStream", handle, stream), kSuccess);
    EXPECT_EQ(Solver(kind + "GetStream", handle, &got), kSuccess);
    EXPECT_EQ(got, stream);
    EXPECT_EQ(Solver(kind + "Destroy", handle), kSuccess);
    EXPECT_EQ(Solver(kind + "Destroy", handle), kNotInitialized);
    EXPECT_EQ(Solver(kind + "SetStream", handle, stream), kNotInitialized);
    EXPECT_EQ(Solver(kind + "GetStream", handle, &got), kNotInitialized);
    EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
  }
}

// A program may find functions in one version and others in another.
TEST(CusolverHandles, AreOfBothVersions) {
  SolverHandle();  // of version 12
  void* const library = dlopen("libcusolver.so.11", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  Handle handle = nullptr;
  EXPECT_EQ(reinterpret_cast<int (*)(Handle*)>(
                dlsym(library, "cusolverDnCreate"))(&handle),
            kSuccess);
  int mode = 0;
  EXPECT_EQ(Solver("cusolverDnGetDeterministicMode", handle, &mode), kSuccess);
  EXPECT_EQ(mode, 1);
  EXPECT_EQ(Solver("cusolverDnDestroy", handle), kSuccess);
  EXPECT_EQ(reinterpret_cast<int (*)(Handle)>(
                dlsym(library, "cusolverDnDestroy"))(handle),
            kNotInitialized);
}

TEST(CusolverHandles, KeepWhatIsSet) {
  const Handle handle = SolverHandle();
  int value = 0;
  for (const std::string name :
       {"DeterministicMode", "MathMode", "EmulationStrategy",
        "EmulationSpecialValuesSupport", "FixedPointEmulationMantissaControl",
        "FixedPointEmulationMaxMantissaBitCount",
        "FixedPointEmulationMantissaBitOffset"}) {
    int first = 0;
    EXPECT_EQ(Solver("cusolverDnGet" + name, handle, &first), kSuccess);
    EXPECT_EQ(Solver("cusolverDnSet" + name, handle, 2), kSuccess);
    EXPECT_EQ(Solver("cusolverDnGet" + name, handle, &value), kSuccess);
    EXPECT_EQ(value, 2) << name;
    EXPECT_EQ(Solver("cusolverDnGet" + name, handle, nullptr), kInvalidValue);
    EXPECT_EQ(Solver("cusolverDnSet" + name, nullptr, 2), kNotInitialized);
    EXPECT_EQ(Solver("cusolverDnSet" + name, handle, first), kSuccess);
  }
  EXPECT_EQ(Solver("cusolverDnSetDeterministicMode", handle, 3), kInvalidValue);
  EXPECT_EQ(Solver("cusolverGetVersion", nullptr), kInvalidValue);
  EXPECT_EQ(Solver("cusolverGetProperty", 3, &value), kInvalidValue);
}

TEST(CusolverParams, TakeAlgorithms) {
  void* params = nullptr;
  EXPECT_EQ(Solver("cusolverDnCreateParams", &params), kSuccess);
  for (int function = 0; function < 7; ++function) {
    EXPECT_EQ(Solver("cusolverDnSetAdvOptions", params, function, 1), kSuccess);
  }
  EXPECT_EQ(Solver("cusolverDnSetAdvOptions", params, 7, 1), kInvalidValue);
  EXPECT_EQ(Solver("cusolverDnSetAdvOptions", params, 0, 3), kInvalidValue);
  EXPECT_EQ(Solver("cusolverDnDestroyParams", params), kSuccess);
  EXPECT_EQ(Solver("cusolverDnDestroyParams", params), kInvalidValue);
}

TEST(CusolverParams, OfRotations) {
  for (const std::string kind : {"Syevj", "Gesvdj"}) {
    void* const info = JacobiInfo(kind);
    const std::string name =
        kind == "Syevj" ? "cusolverDnXsyevj" : "cusolverDnXgesvdj";
    EXPECT_EQ(Solver(name + "SetTolerance", info, 1e-7), kSuccess);
    EXPECT_EQ(Solver(name + "SetMaxSweeps", info, 15), kSuccess);
    EXPECT_EQ(Solver(name + "SetMaxSweeps", info, -1), kInvalidValue);
    EXPECT_EQ(Solver(name + "SetSortEig", info, 0), kSuccess);
    EXPECT_EQ(Solver("cusolverDnDestroy" + kind + "Info", info), kSuccess);
    EXPECT_EQ(Solver(name + "SetTolerance", info, 1e-7), kInvalidValue);
  }
}

// The expert's form of refined solutions, with what may be wrong about it.
TEST(CusolverRefined, ByParameters) {
  constexpr int kParamsNotInitialized = 12, kBadPrecision = 14,
                kBadRefinement = 15, kBadIterations = 16,
                kInfosNotInitialized = 25;
  Numbers numbers;
  const Matrix a = RandomSolvable<double>(numbers, 5, 5);
  const Matrix x = RandomMatrix<double>(numbers, 5, 1);
  const OnDevice<double> memory(a), b(Times(a, x)), to(Matrix(5, 1));
  const Info info;
  void *params = nullptr, *infos = nullptr, *history = params;
  int iterations = 777, count = 0;
  std::size_t size = 0;
  const Handle handle = SolverHandle();
  const auto ld = static_cast<int>(memory.ld());
  const auto gesv = [&] {
    return Solver("cusolverDnIRSXgesv", handle, params, infos, 5, 1,
                  static_cast<void*>(memory.get()), ld,
                  static_cast<void*>(b.get()), ld, static_cast<void*>(to.get()),
                  ld, static_cast<void*>(nullptr), size, &iterations,
                  info.get());
  };
  EXPECT_EQ(gesv(), kParamsNotInitialized);
  EXPECT_EQ(Solver("cusolverDnIRSParamsCreate", &params), kSuccess);
  EXPECT_EQ(gesv(), kBadPrecision);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetSolverMainPrecision", params, 1),
            kBadPrecision);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetSolverMainPrecision", params, 1203),
            kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetSolverLowestPrecision", params, 1204),
            kSuccess);
  EXPECT_EQ(
      Solver("cusolverDnIRSParamsSetSolverPrecisions", params, 1203, 1205),
      kSuccess);
  EXPECT_EQ(gesv(), kBadRefinement);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetRefinementSolver", params, 1099),
            kBadRefinement);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetRefinementSolver", params, 1104),
            kSuccess);
  EXPECT_EQ(gesv(), kInfosNotInitialized);
  EXPECT_EQ(Solver("cusolverDnIRSInfosCreate", &infos), kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetTol", params, 1e-10), kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetTolInner", params, 1e-4), kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetMaxIters", params, -1),
            kBadIterations);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetMaxIters", params, 30), kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSParamsSetMaxItersInner", params, 20),
            kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSParamsGetMaxIters", params, &count), kSuccess);
  EXPECT_EQ(count, 30);
  EXPECT_EQ(Solver("cusolverDnIRSParamsDisableFallback", params), kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSParamsEnableFallback", params), kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSInfosRequestResidual", infos), kSuccess);
  EXPECT_EQ(
      Solver("cusolverDnIRSXgesv_bufferSize", handle, params, 5, 1, &size),
      kSuccess);
  EXPECT_GT(size, 0u);
  EXPECT_EQ(gesv(), kSuccess);
  EXPECT_EQ(info.Read(), 0);
  EXPECT_GE(iterations, 0);
  ExpectMatrix<double>(to.Read(), x, 1 << 17, "IRSXgesv");
  EXPECT_EQ(
      Solver("cusolverDnIRSXgels_bufferSize", handle, params, 5, 5, 1, &size),
      kSuccess);
  EXPECT_EQ(
      Solver("cusolverDnIRSXgels", handle, params, infos, 5, 5, 1,
             static_cast<void*>(memory.get()), ld, static_cast<void*>(b.get()),
             ld, static_cast<void*>(to.get()), ld, static_cast<void*>(nullptr),
             size, &iterations, info.get()),
      kSuccess);
  ExpectMatrix<double>(to.Read(), x, 1 << 17, "IRSXgels");
  for (const char* name : {"Niters", "OuterNiters"}) {
    EXPECT_EQ(
        Solver(std::string("cusolverDnIRSInfosGet") + name, infos, &count),
        kSuccess);
    EXPECT_EQ(count, 0);
  }
  EXPECT_EQ(Solver("cusolverDnIRSInfosGetMaxIters", infos, &count), kSuccess);
  EXPECT_EQ(count, 30);
  EXPECT_EQ(Solver("cusolverDnIRSInfosGetResidualHistory", infos, &history),
            kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSInfosDestroy", infos), kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSInfosDestroy", infos), kInfosNotInitialized);
  EXPECT_EQ(Solver("cusolverDnIRSParamsDestroy", params), kSuccess);
  EXPECT_EQ(Solver("cusolverDnIRSParamsDestroy", params),
            kParamsNotInitialized);
}

TEST(CusolverLogger, IsTakenAndSaysNothing) {
  EXPECT_EQ(Solver("cusolverDnLoggerSetCallback", nullptr), kSuccess);
  EXPECT_EQ(Solver("cusolverDnLoggerSetFile", nullptr), kSuccess);
  EXPECT_EQ(Solver("cusolverDnLoggerOpenFile", nullptr), kInvalidValue);
  EXPECT_EQ(Solver("cusolverDnLoggerOpenFile", "log"), kSuccess);
  EXPECT_EQ(Solver("cusolverDnLoggerSetLevel", 5), kSuccess);
  EXPECT_EQ(Solver("cusolverDnLoggerSetLevel", 6), kInvalidValue);
  EXPECT_EQ(Solver("cusolverDnLoggerSetMask", 3), kSuccess);
  EXPECT_EQ(Solver("cusolverDnLoggerForceDisable"), kSuccess);
}

// In front of a call stands what makes its matrix, captured into a graph that
// is launched twice.
TEST(CusolverStream, IsCaptured) {
  void *stream = nullptr, *graph = nullptr, *instance = nullptr;
  Handle handle = nullptr;
  ASSERT_NE(stream = NewStream(1), nullptr);
  EXPECT_EQ(Solver("cusolverDnCreate", &handle), kSuccess);
  EXPECT_EQ(Solver("cusolverDnSetStream", handle, stream), kSuccess);
  const Device<float> source({4, 2, 2, 5}), a({0, 0, 0, 0});
  const Info info;
  ASSERT_EQ(Cuda("cuStreamBeginCapture_v2", stream, 1), 0);
  ASSERT_EQ(
      Cuda("cuMemcpyDtoDAsync_v2", reinterpret_cast<std::uint64_t>(a.get()),
           reinterpret_cast<std::uint64_t>(source.get()), std::size_t{16},
           stream),
      0);
  EXPECT_EQ(Solver("cusolverDnSpotrf", handle, kLower, 2, a.get(), 2,
                   static_cast<float*>(nullptr), 32, info.get()),
            kSuccess);
  ASSERT_EQ(Cuda("cuStreamEndCapture", stream, &graph), 0);
  ASSERT_EQ(Cuda("cuGraphInstantiateWithFlags", &instance, graph,
                 static_cast<unsigned long long>(0)),
            0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Cuda("cuGraphLaunch", instance, stream), 0);
    ASSERT_EQ(Cuda("cuStreamSynchronize", stream), 0);
    EXPECT_EQ(a.Read(), (std::vector<float>{2, 1, 2, 2}));
    EXPECT_EQ(info.Read(), 0);
  }
  EXPECT_EQ(Cuda("cuGraphExecDestroy", instance), 0);
  EXPECT_EQ(Cuda("cuGraphDestroy", graph), 0);
  EXPECT_EQ(Solver("cusolverDnDestroy", handle), kSuccess);
  EXPECT_EQ(Cuda("cuStreamDestroy_v2", stream), 0);
}

// A function that no test has called is a failure.
class Coverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    std::string missing;
    for (const char* name : kAnswered) {
      if (CalledSolver().count(name) == 0) missing += std::string(" ") + name;
    }
    EXPECT_EQ(missing, "") << "not called by any test";
  }
};
[[maybe_unused]] const auto* const kCoverage =
    ::testing::AddGlobalTestEnvironment(new Coverage);

}  // namespace
}  // namespace cerberus::libraries::tests::solver
