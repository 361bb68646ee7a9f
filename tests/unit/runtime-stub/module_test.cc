// Images, kernels and launches.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "code_object_builder.h"
#include "driver.h"
#include "formats/launch_abi.h"

namespace cerberus::stub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// (u64 pointer, u8, u32[3] by value, u16), as PTX lays it out.
TestKernel MixedKernel() {
  TestKernel kernel;
  kernel.name = "mixed";
  kernel.params = {{0, 8}, {8, 1}, {12, 12}, {24, 2}};
  kernel.launch_block = 32;
  kernel.kernarg_size = 32 + 32 + 64;
  kernel.static_shared = 1024;
  kernel.local_bytes = 48;
  kernel.vgprs = 77;
  return kernel;
}

TestCodeObject Object(std::vector<TestKernel> kernels) {
  TestCodeObject object;
  object.kernels = std::move(kernels);
  return object;
}

class ModuleTest : public DriverTest {
 protected:
  CUfunction Function(const TestCodeObject& object, const char* name) {
    CUfunction function = nullptr;
    EXPECT_EQ(CU(cuModuleGetFunction)(&function, Load(object.Build()), name),
              CUDA_SUCCESS);
    return function;
  }
};

template <typename T>
T At(const std::vector<std::uint8_t>& bytes, std::size_t offset) {
  EXPECT_LE(offset + sizeof(T), bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST_F(ModuleTest, ArgumentsStandAtTheirOffsets) {
  const CUfunction function = Function(Object({MixedKernel()}), "mixed");
  std::uint64_t pointer = 0x1122334455667788;
  std::uint8_t byte = 0x99;
  std::uint32_t triple[3] = {1, 2, 3};
  std::uint16_t last = 0xabcd;
  void* params[] = {&pointer, &byte, triple, &last};
  ASSERT_EQ(CU(cuLaunchKernel)(function, 3, 2, 1, 64, 2, 1, 128, nullptr,
                               params, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(Fake().launches.size(), 1u);
  const FakeLaunch& launch = Fake().launches[0];
  EXPECT_EQ(launch.kernel, "mixed");
  EXPECT_THAT(launch.grid, ElementsAre(3, 2, 1));
  EXPECT_THAT(launch.block, ElementsAre(64, 2, 1));
  EXPECT_EQ(launch.shared_bytes, 128u);
  // The buffer ends behind the launch block: hidden arguments are HIP's.
  ASSERT_EQ(launch.arguments.size(), 80u);
  EXPECT_EQ(At<std::uint64_t>(launch.arguments, 0), pointer);
  EXPECT_EQ(At<std::uint8_t>(launch.arguments, 8), byte);
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 12), 1u);
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 20), 3u);
  EXPECT_EQ(At<std::uint16_t>(launch.arguments, 24), last);
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 32), 128u);  // dynamic shared
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 36), 0u);    // flags
  EXPECT_EQ(At<std::uint64_t>(launch.arguments, 48), 0u);    // workspace
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 56), 64u);   // %ntid
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 60), 2u);
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 64), 1u);
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 68), (1u << 20) / 64);
  EXPECT_EQ(At<std::uint32_t>(launch.arguments, 72), (1u << 20) / 2);
  const auto grid_id = At<std::uint64_t>(launch.arguments, 40);
  ASSERT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params,
                               nullptr),
            CUDA_SUCCESS);
  EXPECT_NE(At<std::uint64_t>(Fake().launches[1].arguments, 40), grid_id);
  // The code is loaded once.
  EXPECT_EQ(Fake().calls["hipModuleLoadData"], 1);
}

// docs/launch-abi.md, "Warps": one warp in each wave of 64.
TEST_F(ModuleTest, HalfWavesDoubleTheWorkGroup) {
  TestKernel kernel = SimpleKernel("half");
  kernel.wave_size = 64;
  kernel.warps_per_wave = 1;
  const CUfunction function = Function(Object({kernel}), "half");
  std::uint64_t pointer = 0;
  void* params[] = {&pointer};
  const auto launch = [&](unsigned x, unsigned y, unsigned z) {
    return CU(cuLaunchKernel)(function, 5, 1, 1, x, y, z, 0, nullptr, params,
                              nullptr);
  };
  ASSERT_EQ(launch(11, 3, 2), CUDA_SUCCESS);
  EXPECT_THAT(Fake().launches[0].grid, ElementsAre(5, 1, 1));
  EXPECT_THAT(Fake().launches[0].block, ElementsAre(192, 1, 1));
  const auto& arguments = Fake().launches[0].arguments;
  EXPECT_EQ(At<std::uint32_t>(arguments, 8 + 24), 11u);
  EXPECT_EQ(At<std::uint32_t>(arguments, 8 + 28), 3u);
  EXPECT_EQ(At<std::uint32_t>(arguments, 8 + 32), 2u);
  EXPECT_EQ(launch(512, 1, 1), CUDA_SUCCESS);
  {
    StderrCapture capture;
    EXPECT_EQ(launch(513, 1, 1), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_THAT(capture.Text(),
                HasSubstr("blocks of 513 threads, at most 512 on"));
  }
  StderrCapture capture;
  EXPECT_EQ(launch(513, 1, 1), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(capture.Text(), "");  // said once
  int threads = 0;
  EXPECT_EQ(CU(cuFuncGetAttribute)(
                &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
            CUDA_SUCCESS);
  EXPECT_EQ(threads, 512);
}

TEST_F(ModuleTest, PackedArguments) {
  const CUfunction function = Function(Object({MixedKernel()}), "mixed");
  std::uint8_t buffer[26] = {};
  buffer[24] = 0x5a;
  std::size_t size = sizeof buffer;
  void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), buffer,
                   reinterpret_cast<void*>(kLaunchParamBufferSize), &size,
                   nullptr};
  ASSERT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                               extra),
            CUDA_SUCCESS);
  const FakeLaunch& launch = Fake().launches[0];
  ASSERT_EQ(launch.arguments.size(), 80u);
  EXPECT_EQ(At<std::uint16_t>(launch.arguments, 24), 0x5a);
  size = 25;  // ends within the last parameter
  EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                               extra),
            CUDA_ERROR_INVALID_VALUE);
  // A buffer that runs on must not reach the launch block.
  std::vector<std::uint8_t> large(4096, 0xff);
  size = large.size();
  extra[1] = large.data();
  ASSERT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 64, nullptr, nullptr,
                               extra),
            CUDA_SUCCESS);
  EXPECT_EQ(At<std::uint32_t>(Fake().launches[1].arguments, 32), 64u);
}

TEST_F(ModuleTest, CooperativeLaunchPassesEveryArgument) {
  const CUfunction function = Function(Object({MixedKernel()}), "mixed");
  std::uint64_t pointer = 1;
  std::uint8_t byte = 2;
  std::uint32_t triple[3] = {};
  std::uint16_t last = 3;
  void* params[] = {&pointer, &byte, triple, &last};
  ASSERT_EQ(CU(cuLaunchCooperativeKernel)(function, 48, 1, 1, 1024, 1, 1, 0,
                                          nullptr, params),
            CUDA_SUCCESS);
  ASSERT_EQ(Fake().launches.size(), 1u);
  EXPECT_TRUE(Fake().launches[0].cooperative);
  EXPECT_EQ(Fake().launches[0].pointers.size(), 5u);  // and the launch block
  // A workspace of its own for every cooperative grid, where the barrier of
  // cooperative groups stands.
  ASSERT_EQ(CU(cuLaunchCooperativeKernel)(function, 1, 1, 1, 1, 1, 1, 0,
                                          nullptr, params),
            CUDA_SUCCESS);
  EXPECT_EQ(Fake().workspaces.size(), 2u);
  EXPECT_NE(Fake().workspaces[0], 0u);
  EXPECT_NE(Fake().workspaces[0], Fake().workspaces[1]);
  // 48 multiprocessors hold two blocks of 1,024 threads each.
  EXPECT_EQ(CU(cuLaunchCooperativeKernel)(function, 97, 1, 1, 1024, 1, 1, 0,
                                          nullptr, params),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_F(ModuleTest, LaunchWithAttributes) {
  const CUfunction function =
      Function(Object({SimpleKernel("simple")}), "simple");
  std::uint64_t pointer = 1;
  void* params[] = {&pointer};
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[1].value.cooperative = 1;
  CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, nullptr, attributes, 1};
  ASSERT_EQ(CU(cuLaunchKernelEx)(&config, function, params, nullptr),
            CUDA_SUCCESS);
  EXPECT_FALSE(Fake().launches[0].cooperative);
  config.numAttrs = 2;
  ASSERT_EQ(CU(cuLaunchKernelEx)(&config, function, params, nullptr),
            CUDA_SUCCESS);
  EXPECT_TRUE(Fake().launches[1].cooperative);
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[0].value.clusterDim = {2, 1, 1};
  EXPECT_EQ(CU(cuLaunchKernelEx)(&config, function, params, nullptr),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  attributes[0].value.clusterDim = {1, 0, 1};
  EXPECT_EQ(CU(cuLaunchKernelEx)(&config, function, params, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

struct BadLaunch {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
};

TEST_F(ModuleTest, ConfigurationsOutOfRangeAreRefused) {
  TestKernel limited = SimpleKernel("limited");
  limited.maxntid = {128, 1, 1};
  const CUfunction function = Function(Object({limited}), "limited");
  std::uint64_t pointer = 1;
  void* params[] = {&pointer};
  for (const BadLaunch& bad :
       {BadLaunch{{0, 1, 1}, {1, 1, 1}, 0}, BadLaunch{{1, 1, 1}, {0, 1, 1}, 0},
        BadLaunch{{1, 1, 1}, {1025, 1, 1}, 0},
        // Fewer than the device's limit but more than the kernel's.
        BadLaunch{{1, 1, 1}, {129, 1, 1}, 0},
        BadLaunch{{1, 1, 1}, {64, 3, 1}, 0},
        BadLaunch{{1, 1, 1}, {1, 1, 65}, 0},
        BadLaunch{{1, 65536, 1}, {1, 1, 1}, 0},
        BadLaunch{{1, 1, 1}, {1, 1, 1}, 48 * 1024 + 1}}) {
    EXPECT_EQ(
        CU(cuLaunchKernel)(function, bad.grid[0], bad.grid[1], bad.grid[2],
                           bad.block[0], bad.block[1], bad.block[2], bad.shared,
                           nullptr, params, nullptr),
        CUDA_ERROR_INVALID_VALUE)
        << bad.block[0] << " " << bad.shared;
  }
  EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 128, 1, 1, 48 * 1024, nullptr,
                               params, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                               nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, params,
                               nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ModuleTest, RequiredBlockSizeIsKept) {
  TestKernel fixed = SimpleKernel("fixed");
  fixed.reqntid = {32, 2, 1};
  const CUfunction function = Function(Object({fixed}), "fixed");
  std::uint64_t pointer = 1;
  void* params[] = {&pointer};
  EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 32, 2, 1, 0, nullptr, params,
                               nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 64, 1, 1, 0, nullptr, params,
                               nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ModuleTest, Attributes) {
  const CUfunction function = Function(Object({MixedKernel()}), "mixed");
  struct Row {
    CUfunction_attribute id;
    int value;
  };
  for (const Row& row :
       {Row{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        Row{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1024},
        Row{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 48},
        Row{CU_FUNC_ATTRIBUTE_NUM_REGS, 77},
        Row{CU_FUNC_ATTRIBUTE_PTX_VERSION, 75},
        Row{CU_FUNC_ATTRIBUTE_BINARY_VERSION, 86},
        Row{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 47 * 1024},
        // Of CUDA 13.3 and 13.4: nodes that devices update, oversized shared
        // memory.
        Row{16, 0}, Row{17, 0}}) {
    int value = -1;
    EXPECT_EQ(CU(cuFuncGetAttribute)(&value, row.id, function), CUDA_SUCCESS);
    EXPECT_EQ(value, row.value) << row.id;
    value = -1;
    // A CUfunction is good as a CUkernel.
    EXPECT_EQ(CU(cuKernelGetAttribute)(&value, row.id,
                                       reinterpret_cast<CUkernel>(function), 0),
              CUDA_SUCCESS);
    EXPECT_EQ(value, row.value) << row.id;
  }
  std::size_t offset = 0, size = 0;
  EXPECT_EQ(CU(cuFuncGetParamInfo)(function, 2, &offset, &size), CUDA_SUCCESS);
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(size, 12u);
  EXPECT_EQ(CU(cuFuncGetParamInfo)(function, 4, &offset, &size),
            CUDA_ERROR_INVALID_VALUE);
  std::size_t count = 0, count_of_kernel = 0;
  EXPECT_EQ(CU(cuFuncGetParamCount)(function, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(CU(cuKernelGetParamCount)(reinterpret_cast<CUkernel>(function),
                                      &count_of_kernel),
            CUDA_SUCCESS);
  EXPECT_EQ(count_of_kernel, 4u);
}

TEST_F(ModuleTest, SharedMemoryUpToTheGpusLimit) {
  const CUfunction function = Function(Object({MixedKernel()}), "mixed");
  const int id = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(CU(cuFuncSetAttribute)(function, id, 63 * 1024), CUDA_SUCCESS);
  std::uint64_t pointer = 1;
  std::uint8_t byte = 0;
  std::uint32_t triple[3] = {};
  std::uint16_t last = 0;
  void* params[] = {&pointer, &byte, triple, &last};
  EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 63 * 1024, nullptr,
                               params, nullptr),
            CUDA_SUCCESS);
  StderrCapture capture;
  EXPECT_EQ(CU(cuFuncSetAttribute)(function, id, 63 * 1024 + 1),
            CUDA_ERROR_INVALID_VALUE);
  const std::string text = capture.Text();
  EXPECT_THAT(text, HasSubstr("65537"));
  EXPECT_THAT(text, HasSubstr("65536"));
}

TEST_F(ModuleTest, KernelsThatAreNotThere) {
  TestCodeObject object = Object({SimpleKernel("there")});
  object.failed = {{"lost", "'wgmma' is not supported"}};
  const CUmodule module = Load(object.Build());
  CUfunction function = nullptr;
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "nowhere"),
            CUDA_ERROR_NOT_FOUND);
  StderrCapture capture;
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "lost"),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(capture.Text(), HasSubstr("'wgmma' is not supported"));
  unsigned count = 0;
  EXPECT_EQ(CU(cuModuleGetFunctionCount)(&count, module), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(CU(cuModuleEnumerateFunctions)(&function, 1, module), CUDA_SUCCESS);
  const char* name = nullptr;
  EXPECT_EQ(CU(cuFuncGetName)(&name, function), CUDA_SUCCESS);
  EXPECT_STREQ(name, "there");
}

TEST_F(ModuleTest, VariablesKeepTheirAddress) {
  Fake().globals["counter"] = std::vector<std::uint8_t>(24);
  const Bytes image = Object({SimpleKernel("k")}).Build();
  CUlibrary library = nullptr;
  ASSERT_EQ(CU(cuLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
            CUDA_SUCCESS);
  CUdeviceptr first = 0, second = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(CU(cuLibraryGetGlobal)(&first, nullptr, library, "counter"),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuLibraryGetGlobal)(&second, &bytes, library, "counter"),
            CUDA_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first,
            reinterpret_cast<CUdeviceptr>(Fake().globals["counter"].data()));
  EXPECT_EQ(bytes, 24u);
  EXPECT_EQ(CU(cuLibraryGetGlobal)(&first, nullptr, library, "other"),
            CUDA_ERROR_NOT_FOUND);
  CUmodule module = nullptr;
  EXPECT_EQ(CU(cuLibraryGetModule)(&module, library), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuModuleGetGlobal_v2)(&second, nullptr, module, "counter"),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuLibraryUnload)(library), CUDA_SUCCESS);
}

// cudart asks for managed variables before it has made a context current.
TEST_F(ModuleTest, ManagedVariablesNeedNoCurrentContext) {
  Fake().globals["shared_counter"] = std::vector<std::uint8_t>(4);
  const Bytes image = Object({SimpleKernel("k")}).Build();
  CUlibrary library = nullptr;
  ASSERT_EQ(CU(cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
            CUDA_SUCCESS);
  CUdeviceptr address = 0;
  EXPECT_EQ(
      CU(cuLibraryGetManaged)(&address, nullptr, library, "shared_counter"),
      CUDA_SUCCESS);
  EXPECT_EQ(address, reinterpret_cast<CUdeviceptr>(
                         Fake().globals["shared_counter"].data()));
  EXPECT_EQ(CU(cuLibraryUnload)(library), CUDA_SUCCESS);
}

// Modules with device services are given the context block before the first
// launch.
TEST_F(ModuleTest, ContextBlockIsSetWhenAModuleAsksForIt) {
  Fake().globals["__cerberus_ctx"] = std::vector<std::uint8_t>(8);
  const CUfunction function = Function(Object({SimpleKernel("k")}), "k");
  std::uint64_t pointer = 1;
  void* params[] = {&pointer};
  ASSERT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params,
                               nullptr),
            CUDA_SUCCESS);
  const auto block = At<std::uint64_t>(Fake().globals["__cerberus_ctx"], 0);
  ASSERT_NE(block, 0u);
  EXPECT_EQ(*reinterpret_cast<std::uint32_t*>(block),
            unsigned{formats::kLaunchAbi});
  auto* record = *reinterpret_cast<std::uint32_t**>(block + 8);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record[0], 0u);
  // What a kernel writes there is an error of the next call that waits.
  static const char kName[256] = "broken";
  record[1] = 42;
  *reinterpret_cast<const void**>(record + 8) = kName;
  record[0] = 2;  // an assertion
  StderrCapture capture;
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ASSERT);
  EXPECT_THAT(capture.Text(), HasSubstr("kernel 'broken'"));
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ASSERT);
}

// A printed record is written to stdout by the calls that wait, a failed
// assertion is said as CUDA says it, and the limits size ring and heap.
TEST_F(ModuleTest, ServicesOfTheContextBlock) {
  Fake().globals["__cerberus_ctx"] = std::vector<std::uint8_t>(8);
  ASSERT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_PRINTF_FIFO_SIZE, 64 << 10),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, 2 << 20),
            CUDA_SUCCESS);
  const CUfunction function = Function(Object({SimpleKernel("k")}), "k");
  std::uint64_t pointer = 1;
  void* params[] = {&pointer};
  const auto launch = [&] {
    return CU(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params,
                              nullptr);
  };
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  auto* block = *reinterpret_cast<std::uint64_t**>(
      Fake().globals["__cerberus_ctx"].data());
  EXPECT_GE(block[3], 64u << 10);
  EXPECT_GE(block[5], 2u << 20);
  auto* heap = reinterpret_cast<std::uint64_t*>(block[4]);
  for (int i = 0; i < 136; ++i) EXPECT_EQ(heap[i], 0u) << i;

  const auto print = [&](char letter) {
    auto* ring = reinterpret_cast<std::uint64_t*>(block[2]);
    std::uint64_t* at = ring + 4 + ring[0] % (block[3] / 8);
    at[0] = std::uint64_t{3} << 32 | 24;  // 3 bytes of format in 24 bytes
    std::memcpy(at + 1, "<%c", 3);
    at[2] = static_cast<unsigned char>(letter);
    ring[0] += 3;
  };
  testing::internal::CaptureStdout();
  print('a');
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  print('b');
  EXPECT_EQ(CU(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
  print('c');
  int word = 0;
  EXPECT_EQ(CU(cuMemcpyDtoH_v2)(&word, reinterpret_cast<CUdeviceptr>(heap), 4),
            CUDA_SUCCESS);
  print('d');
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  print('e');
  EXPECT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_PRINTF_FIFO_SIZE, 256 << 10),
            CUDA_SUCCESS);
  EXPECT_GE(block[3], 256u << 10);
  print('f');
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "<a<b<c<d<e<f");

  EXPECT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, 4 << 20),
            CUDA_SUCCESS);
  EXPECT_GE(block[5], 4u << 20);
  *reinterpret_cast<std::uint64_t*>(block[4]) = 64;  // something is allocated
  EXPECT_EQ(CU(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, 2 << 20),
            CUDA_ERROR_INVALID_VALUE);
  std::size_t limit = 0;
  EXPECT_EQ(CU(cuCtxGetLimit)(&limit, CU_LIMIT_MALLOC_HEAP_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(limit, 4u << 20);

  struct {
    std::uint32_t kind, line, block[3], thread[3];
    const char *kernel, *message, *file, *function;
  } record = {0x80000002u, 7,       {1, 2, 3}, {4, 5, 6},
              "k",         "n < 3", "a.cu",    "void k(int)"};
  static_assert(sizeof record == 64);
  void* place = reinterpret_cast<void*>(block[1]);
  std::memcpy(place, &record, sizeof record);
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);  // still being written
  record.kind = 2;
  std::memcpy(place, &record, sizeof record);
  StderrCapture capture;
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ASSERT);
  EXPECT_EQ(capture.Text(),
            "a.cu:7: void k(int): block: [1,2,3], thread: [4,5,6] Assertion "
            "`n < 3` failed.\n");
}

TEST_F(ModuleTest, LibrariesOutliveAReset) {
  const Bytes image = Object({SimpleKernel("k")}).Build();
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_EQ(CU(cuLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuLibraryGetKernel)(&kernel, library, "k"), CUDA_SUCCESS);
  std::uint64_t pointer = 1;
  void* params[] = {&pointer};
  const auto launch = [&] {
    return CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1,
                              1, 1, 0, nullptr, params, nullptr);
  };
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuDevicePrimaryCtxReset_v2)(0), CUDA_SUCCESS);
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(Fake().calls["hipModuleLoadData"], 2);
  EXPECT_EQ(CU(cuLibraryUnload)(library), CUDA_SUCCESS);
  EXPECT_EQ(Fake().calls["hipModuleUnload"], 2);
  EXPECT_EQ(CU(cuLibraryUnload)(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ModuleTest, Occupancy) {
  const CUfunction function = Function(Object({MixedKernel()}), "mixed");
  int blocks = 0;
  EXPECT_EQ(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, function,
                                                            256, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, function,
                                                            1025, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(blocks, 0);
  int grid = 0, block = 0;
  EXPECT_EQ(CU(cuOccupancyMaxPotentialBlockSize)(&grid, &block, function,
                                                 nullptr, 0, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * 48);
  EXPECT_EQ(CU(cuOccupancyMaxPotentialBlockSize)(&grid, &block, function,
                                                 nullptr, 0, 100),
            CUDA_SUCCESS);
  EXPECT_LE(block, 100);
}

TEST_F(ModuleTest, ImagesThatCannotRun) {
  TestCodeObject cubin = Object({SimpleKernel("k")});
  cubin.machine = 190;
  TestCodeObject other_abi = Object({SimpleKernel("k")});
  other_abi.abi = 99;
  Bytes text(64, 'x');
  text.back() = 0;
  CUmodule module = nullptr;
  StderrCapture capture;
  EXPECT_EQ(CU(cuModuleLoadData)(&module, cubin.Build().data()),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(CU(cuModuleLoadData)(&module, other_abi.Build().data()),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(CU(cuModuleLoadData)(&module, text.data()),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(CU(cuModuleLoadData)(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuModuleLoad)(&module, "/nonexistent/file.ptx"),
            CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_THAT(capture.Text(), HasSubstr("launch ABI 99 is not 2"));
}

// --- PTX ---

constexpr char kPtx[] =
    "//\n// made by hand\n//\n\n.version 9.0\n.target sm_75\n"
    ".address_size 64\n.visible .entry twice(.param .u64 p) { ret; }\n";

TEST_F(ModuleTest, PtxTextIsCompiledWithoutAWord) {
  CUmodule module = nullptr;
  StderrCapture capture;
  ASSERT_EQ(CU(cuModuleLoadData)(&module, kPtx), CUDA_SUCCESS);
  EXPECT_EQ(capture.Text(), "");
  CUfunction function = nullptr;
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "twice"), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
}

TEST_F(ModuleTest, PtxFileIsCompiled) {
  TempFolder folder;
  const std::string path = folder.path() + "/k.ptx";
  std::ofstream(path) << kPtx;
  CUmodule module = nullptr;
  StderrCapture capture;
  ASSERT_EQ(CU(cuModuleLoad)(&module, path.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
}

TEST_F(ModuleTest, CompilerMessagesReachTheProgram) {
  const std::string ptx = std::string(kPtx) + "// test: error\n";
  char log[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  StderrCapture capture;
  EXPECT_EQ(CU(cuModuleLoadDataEx)(&module, ptx.c_str(), 2, options, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(log, HasSubstr("no such instruction"));
  EXPECT_GT(reinterpret_cast<std::uintptr_t>(values[1]), 10u);
  EXPECT_LT(reinterpret_cast<std::uintptr_t>(values[1]), sizeof log);
  EXPECT_THAT(capture.Text(), HasSubstr("no such instruction"));
}

TEST_F(ModuleTest, KernelsThatCompileAreKept) {
  const std::string ptx = std::string(kPtx) + "// test: partial\n";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  StderrCapture capture;
  ASSERT_EQ(CU(cuModuleLoadData)(&module, ptx.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "twice"), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "bad"),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(capture.Text(), HasSubstr("'bad' is odd"));
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
}

TEST_F(ModuleTest, LinkingOneModuleCompilesIt) {
  CUlinkState state = nullptr;
  StderrCapture capture;
  ASSERT_EQ(CU(cuLinkCreate_v2)(0, nullptr, nullptr, &state), CUDA_SUCCESS);
  EXPECT_EQ(
      CU(cuLinkAddData_v2)(state, CU_JIT_INPUT_PTX, const_cast<char*>(kPtx),
                           sizeof kPtx, "k", 0, nullptr, nullptr),
      CUDA_SUCCESS);
  EXPECT_EQ(
      CU(cuLinkAddData_v2)(state, CU_JIT_INPUT_CUBIN, const_cast<char*>(kPtx),
                           sizeof kPtx, "k", 0, nullptr, nullptr),
      CUDA_ERROR_NO_BINARY_FOR_GPU);
  void* code = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(CU(cuLinkComplete)(state, &code, &size), CUDA_SUCCESS);
  EXPECT_GT(size, 64u);
  CUmodule module = nullptr;
  EXPECT_EQ(CU(cuModuleLoadData)(&module, code), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuLinkDestroy)(state), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
}

TEST_F(ModuleTest, LinkingHandsAllModulesToTheCompiler) {
  const std::string good = kPtx;
  const std::string bad = good + "// test: error\n";
  for (const auto& [first, second] : {std::pair(good, bad), {bad, good}}) {
    CUlinkState state = nullptr;
    StderrCapture capture;
    ASSERT_EQ(CU(cuLinkCreate_v2)(0, nullptr, nullptr, &state), CUDA_SUCCESS);
    void* code = nullptr;
    std::size_t size = 0;
    EXPECT_EQ(CU(cuLinkComplete)(state, &code, &size),
              CUDA_ERROR_INVALID_VALUE);
    for (const std::string& text : {first, second}) {
      EXPECT_EQ(CU(cuLinkAddData_v2)(state, CU_JIT_INPUT_PTX,
                                     const_cast<char*>(text.c_str()),
                                     text.size() + 1, "k", 0, nullptr, nullptr),
                CUDA_SUCCESS);
    }
    EXPECT_EQ(CU(cuLinkComplete)(state, &code, &size), CUDA_ERROR_INVALID_PTX);
    EXPECT_EQ(CU(cuLinkDestroy)(state), CUDA_SUCCESS);
  }
}

TEST_F(ModuleTest, LoadingModeFollowsTheEnvironment) {
  CUmoduleLoadingMode mode = 0;
  EXPECT_EQ(CU(cuModuleGetLoadingMode)(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_MODULE_LAZY_LOADING);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  CU(cuModuleGetLoadingMode)(&mode);
  EXPECT_EQ(mode, CU_MODULE_EAGER_LOADING);
  unsetenv("CUDA_MODULE_LOADING");
}

}  // namespace
}  // namespace cerberus::stub
