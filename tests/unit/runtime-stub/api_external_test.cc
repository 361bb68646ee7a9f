// Memory and semaphores that come from elsewhere as descriptors, graph nodes
// that wait for what others see, and what instantiation is told.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include "emulated.h"
#include "formats/device_attributes.h"

namespace cerberus::stub {
namespace {

constexpr std::size_t kBytes = 64 * sizeof(int);
constexpr int kOpaqueFd = 1, kTimelineFd = 9, kDmaBufFd = 9;

// A file in memory, seen by the host at `words`.
class SharedFile {
 public:
  static constexpr std::size_t kSize = 64 * 1024;

  SharedFile() : file_(memfd_create("external", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_, kSize), 0);
    void* map =
        mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    EXPECT_NE(map, MAP_FAILED);
    bytes_ = static_cast<char*>(map);
  }
  ~SharedFile() {
    munmap(bytes_, kSize);
    close(file_);
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  char* bytes() { return bytes_; }
  // A descriptor that an import takes over.
  int Descriptor() { return dup(file_); }
  std::atomic<std::uint64_t>& value() {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(bytes_);
  }

 private:
  const int file_;
  char* bytes_ = nullptr;
};

class ExternalTest : public VariantTest {
 protected:
  void SetUp() override {
    VariantTest::SetUp();
    ASSERT_EQ(CU(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    ASSERT_EQ(CU(cuGraphCreate)(&graph_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    CU(cuGraphDestroy)(graph_);
    CU(cuStreamDestroy_v2)(stream_);
    VariantTest::TearDown();
  }

  CUexternalSemaphore Semaphore(int type, int file) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC description = {};
    description.type = type;
    description.handle.fd = file;
    CUexternalSemaphore semaphore = nullptr;
    EXPECT_EQ(CU(cuImportExternalSemaphore)(&semaphore, &description),
              CUDA_SUCCESS);
    return semaphore;
  }
  CUgraphExec Instantiate(unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph_, flags),
              CUDA_SUCCESS);
    return exec;
  }
  void ExpectType(CUgraphNode node, CUgraphNodeType wanted) {
    CUgraphNodeType type = -1;
    EXPECT_EQ(CU(cuGraphNodeGetType)(node, &type), CUDA_SUCCESS);
    EXPECT_EQ(type, wanted);
  }

  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
};

TEST_P(ExternalTest, Memory) {
  constexpr std::size_t kOffset = 4096 + 256;
  for (int type : {kOpaqueFd, kDmaBufFd}) {
    SharedFile file;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
    description.type = type;
    description.handle.fd = file.Descriptor();
    description.size = SharedFile::kSize;
    CUexternalMemory memory = nullptr;
    ASSERT_EQ(CU(cuImportExternalMemory)(&memory, &description), CUDA_SUCCESS);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC range = {};
    range.offset = SharedFile::kSize - kBytes + 4;
    range.size = kBytes;
    CUdeviceptr ints = 0;
    EXPECT_EQ(CU(cuExternalMemoryGetMappedBuffer)(&ints, memory, &range),
              CUDA_ERROR_INVALID_VALUE);
    range.offset = kOffset;
    ASSERT_EQ(CU(cuExternalMemoryGetMappedBuffer)(&ints, memory, &range),
              CUDA_SUCCESS);
    // What is mapped stays without the memory's handle.
    EXPECT_EQ(CU(cuDestroyExternalMemory)(memory), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuDestroyExternalMemory)(memory), CUDA_ERROR_INVALID_HANDLE);
    auto* there = reinterpret_cast<int*>(file.bytes() + kOffset);
    there[0] = 40;
    int by = 2;
    void* params[] = {&ints, &by};
    ASSERT_EQ(CU(cuLaunchKernel)(Add(), 1, 1, 1, kThreads, 1, 1, 0, stream_,
                                 params, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
    EXPECT_EQ(there[0], 42);
    EXPECT_EQ(there[kThreads - 1], 2);
    EXPECT_EQ(there[kThreads], 0);
    EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
    EXPECT_NE(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
  }
}

TEST_P(ExternalTest, MemoryForAnotherDriver) {
  int supported = -1, file = -1;
  ASSERT_EQ(CU(cuDeviceGetAttribute)(&supported,
                                     formats::kAttribute_DMA_BUF_SUPPORTED, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(supported, 1);
  CUdeviceptr ints = 0;
  ASSERT_EQ(CU(cuMemAlloc_v2)(&ints, 4096), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemsetD32_v2)(ints, 5, 1024), CUDA_SUCCESS);
  constexpr CUmemRangeHandleType kDmaBuf = 1;
  EXPECT_EQ(
      CU(cuMemGetHandleForAddressRange)(&file, ints, 4096, kDmaBuf + 1, 0),
      CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CU(cuMemGetHandleForAddressRange)(&file, ints, 4096, kDmaBuf, 0),
            CUDA_SUCCESS);
  void* map = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(map, MAP_FAILED);
  EXPECT_EQ(static_cast<int*>(map)[1023], 5);
  munmap(map, 4096);
  close(file);
  EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
}

TEST_P(ExternalTest, TimelineSemaphores) {
  SharedFile file;
  CUexternalSemaphore semaphore = Semaphore(kTimelineFd, file.Descriptor());
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {};
  wait.fence = 5;
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {};
  signal.fence = 9;
  ASSERT_EQ(CU(cuWaitExternalSemaphoresAsync)(&semaphore, &wait, 1, stream_),
            CUDA_SUCCESS);
  ASSERT_EQ(
      CU(cuSignalExternalSemaphoresAsync)(&semaphore, &signal, 1, stream_),
      CUDA_SUCCESS);
  file.value() = 4;
  EXPECT_TRUE(StaysBusy(stream_));
  EXPECT_EQ(file.value(), 4u);
  file.value() = 6;
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(file.value(), 9u);
  EXPECT_EQ(CU(cuDestroyExternalSemaphore)(semaphore), CUDA_SUCCESS);
  EXPECT_NE(
      CU(cuSignalExternalSemaphoresAsync)(&semaphore, &signal, 1, stream_),
      CUDA_SUCCESS);
}

// They are signalled and unsignalled, whatever the value.
TEST_P(ExternalTest, BinarySemaphores) {
  const int event = eventfd(0, EFD_CLOEXEC);
  CUexternalSemaphore semaphore = Semaphore(kOpaqueFd, dup(event));
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {};
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {};
  ASSERT_EQ(
      CU(cuSignalExternalSemaphoresAsync)(&semaphore, &signal, 1, stream_),
      CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  pollfd ready = {event, POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 0), 1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(CU(cuWaitExternalSemaphoresAsync)(&semaphore, &wait, 1, stream_),
              CUDA_SUCCESS);
  }
  EXPECT_TRUE(StaysBusy(stream_));
  EXPECT_EQ(poll(&ready, 1, 0), 0);
  const std::uint64_t one = 1;
  ASSERT_EQ(write(event, &one, sizeof one), ssize_t{sizeof one});
  EXPECT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuDestroyExternalSemaphore)(semaphore), CUDA_SUCCESS);
  close(event);
}

TEST_P(ExternalTest, WrongDescriptors) {
  SharedFile file;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
  description.handle.fd = file.Descriptor();
  CUexternalMemory memory = nullptr;
  struct {
    int type;
    unsigned long long size;
    CUresult wanted;
  } const rows[] = {
      {kOpaqueFd, 0, CUDA_ERROR_INVALID_VALUE},
      {kOpaqueFd, SharedFile::kSize + 1, CUDA_ERROR_INVALID_VALUE},
      {2, 4096, CUDA_ERROR_NOT_SUPPORTED},  // of Windows
      {8, 4096, CUDA_ERROR_NOT_SUPPORTED},  // NvSci's
  };
  for (const auto& row : rows) {
    description.type = row.type;
    description.size = row.size;
    EXPECT_EQ(CU(cuImportExternalMemory)(&memory, &description), row.wanted)
        << row.type;
  }
  // Still ours.
  EXPECT_EQ(close(description.handle.fd), 0);
}

TEST_P(ExternalTest, SemaphoresInGraphs) {
  SharedFile file, other;
  CUexternalSemaphore semaphore = Semaphore(kTimelineFd, file.Descriptor());
  CUexternalSemaphore second = Semaphore(kTimelineFd, other.Descriptor());
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {};
  wait.fence = 1;
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {};
  signal.fence = 2;
  const CUDA_EXT_SEM_WAIT_NODE_PARAMS waits = {&semaphore, &wait, 1};
  const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals = {&semaphore, &signal, 1};
  CUgraphNode waiter = nullptr, signaller = nullptr;
  ASSERT_EQ(CU(cuGraphAddExternalSemaphoresWaitNode)(&waiter, graph_, nullptr,
                                                     0, &waits),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphAddExternalSemaphoresSignalNode)(&signaller, graph_,
                                                       &waiter, 1, &signals),
            CUDA_SUCCESS);
  ExpectType(signaller, 8);
  ExpectType(waiter, 9);
  CUDA_EXT_SEM_WAIT_NODE_PARAMS waits_got = {};
  ASSERT_EQ(CU(cuGraphExternalSemaphoresWaitNodeGetParams)(waiter, &waits_got),
            CUDA_SUCCESS);
  ASSERT_EQ(waits_got.numExtSems, 1u);
  EXPECT_EQ(waits_got.extSemArray[0], semaphore);
  EXPECT_EQ(waits_got.paramsArray[0].fence, 1u);
  CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals_got = {};
  ASSERT_EQ(
      CU(cuGraphExternalSemaphoresSignalNodeGetParams)(signaller, &signals_got),
      CUDA_SUCCESS);
  EXPECT_EQ(signals_got.paramsArray[0].fence, 2u);

  const CUgraphExec exec = Instantiate();
  ASSERT_EQ(CU(cuGraphLaunch)(exec, stream_), CUDA_SUCCESS);
  EXPECT_TRUE(StaysBusy(stream_));
  file.value() = 1;
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(file.value(), 2u);

  // In what was instantiated: another value to wait for, another semaphore.
  wait.fence = 0;
  signal.fence = 7;
  const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS elsewhere = {&second, &signal, 1};
  ASSERT_EQ(
      CU(cuGraphExecExternalSemaphoresWaitNodeSetParams)(exec, waiter, &waits),
      CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphExecExternalSemaphoresSignalNodeSetParams)(
                exec, signaller, &elsewhere),
            CUDA_SUCCESS);
  file.value() = 0;
  ASSERT_EQ(CU(cuGraphLaunch)(exec, stream_), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(file.value(), 0u);
  EXPECT_EQ(other.value(), 7u);
  EXPECT_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);

  // In the graph itself.
  signal.fence = 8;
  ASSERT_EQ(CU(cuGraphExternalSemaphoresWaitNodeSetParams)(waiter, &waits),
            CUDA_SUCCESS);
  ASSERT_EQ(
      CU(cuGraphExternalSemaphoresSignalNodeSetParams)(signaller, &elsewhere),
      CUDA_SUCCESS);
  const CUgraphExec again = Instantiate();
  ASSERT_EQ(CU(cuGraphLaunch)(again, stream_), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(other.value(), 8u);
  EXPECT_EQ(CU(cuGraphExecDestroy)(again), CUDA_SUCCESS);
  for (CUexternalSemaphore each : {semaphore, second}) {
    EXPECT_EQ(CU(cuDestroyExternalSemaphore)(each), CUDA_SUCCESS);
  }
}

TEST_P(ExternalTest, MemoryOperationsInGraphs) {
  constexpr int kWait32 = 1, kWrite32 = 2, kBarrier = 6, kWrite64 = 5;
  constexpr unsigned kEqualAndFlush = 1 | 1u << 30;
  void* host = nullptr;
  ASSERT_EQ(CU(cuMemHostAlloc)(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP),
            CUDA_SUCCESS);
  std::memset(host, 0, 4096);
  auto* words = static_cast<std::atomic<std::uint64_t>*>(host);
  const auto operation = [&](int kind, int word, std::uint64_t value,
                             unsigned flags) {
    CUstreamBatchMemOpParams params = {};
    params.value.operation = kind;
    params.value.address = reinterpret_cast<CUdeviceptr>(&words[word]);
    params.value.word = value;
    params.value.flags = flags;
    return params;
  };
  CUstreamBatchMemOpParams list[] = {operation(kWrite32, 0, 0x100000003, 0),
                                     operation(kBarrier, 0, 0, 0),
                                     operation(kWait32, 1, 4, kEqualAndFlush),
                                     operation(kWrite64, 2, 0x500000005, 0)};
  CUDA_BATCH_MEM_OP_NODE_PARAMS params = {context_, 4, list, 0};
  CUgraphNode node = nullptr;
  ASSERT_EQ(CU(cuGraphAddBatchMemOpNode)(&node, graph_, nullptr, 0, &params),
            CUDA_SUCCESS);
  ExpectType(node, 12);
  CUDA_BATCH_MEM_OP_NODE_PARAMS got = {};
  ASSERT_EQ(CU(cuGraphBatchMemOpNodeGetParams)(node, &got), CUDA_SUCCESS);
  ASSERT_EQ(got.count, 4u);
  EXPECT_EQ(got.ctx, context_);
  EXPECT_EQ(got.paramArray[3].value.word, 0x500000005u);
  const CUgraphExec exec = Instantiate();
  ASSERT_EQ(CU(cuGraphLaunch)(exec, stream_), CUDA_SUCCESS);
  while (words[0] == 0) std::this_thread::yield();
  EXPECT_EQ(words[0], 3u);  // 32 bits of it
  EXPECT_TRUE(StaysBusy(stream_));
  EXPECT_EQ(words[2], 0u);
  words[1] = 4;
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(words[2], 0x500000005u);

  // The same node with other values: in the executable graph, then in the
  // graph.
  CUDA_BATCH_MEM_OP_NODE_PARAMS one = {context_, 1, list, 0};
  list[0] = operation(kWrite64, 3, 7, 0);
  ASSERT_EQ(CU(cuGraphExecBatchMemOpNodeSetParams)(exec, node, &one),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphLaunch)(exec, stream_), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(words[3], 7u);
  EXPECT_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
  list[0] = operation(kWrite64, 3, 8, 0);
  ASSERT_EQ(CU(cuGraphBatchMemOpNodeSetParams)(node, &one), CUDA_SUCCESS);
  const CUgraphExec again = Instantiate();
  ASSERT_EQ(CU(cuGraphLaunch)(again, stream_), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  EXPECT_EQ(words[3], 8u);
  EXPECT_EQ(CU(cuGraphExecDestroy)(again), CUDA_SUCCESS);

  // By the structure for nodes of any kind, and what is refused.
  CUgraphNodeParams any = {};
  any.type = 12;
  any.operations = one;
  CUgraphNode other = nullptr;
  EXPECT_EQ(CU(cuGraphAddNode)(&other, graph_, &node, 1, &any), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphNodeSetParams)(other, &any), CUDA_SUCCESS);
  ExpectType(other, 12);
  list[0].value.address += 2;
  EXPECT_EQ(CU(cuGraphAddBatchMemOpNode)(&other, graph_, nullptr, 0, &one),
            CUDA_ERROR_INVALID_VALUE);
  list[0] = operation(77, 0, 0, 0);
  EXPECT_EQ(CU(cuGraphAddBatchMemOpNode)(&other, graph_, nullptr, 0, &one),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemFreeHost)(host), CUDA_SUCCESS);
}

// What HIP is told, and what the program gets back.
TEST_P(ExternalTest, FlagsOfExecutableGraphs) {
  static unsigned long long native = 0;
  static bool knows_priorities = true;
  using Instantiator =
      HipFunction<hipError_t(hipGraphExec_t*, hipGraph_t, unsigned long long)>;
  static Instantiator real;
  BindToHip(&real, "hipGraphInstantiateWithFlags");
  const Finally restore([] { hip.hipGraphInstantiateWithFlags = real; });
  hip.hipGraphInstantiateWithFlags = [](hipGraphExec_t* exec, hipGraph_t graph,
                                        unsigned long long flags) {
    native = flags;
    if (!knows_priorities && (flags & 8) != 0) return hipErrorInvalidValue;
    return real(exec, graph, flags);
  };
  struct {
    unsigned long long given;
    bool knows_priorities;
    unsigned long long native;
  } const rows[] = {{0, true, 0},  {1, true, 1},  {8, true, 8},
                    {11, true, 9}, {9, false, 1}, {4, true, 0}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.given);
    knows_priorities = row.knows_priorities;
    const CUgraphExec exec = Instantiate(row.given);
    EXPECT_EQ(native, row.native);
    cuuint64_t flags = 99;
    EXPECT_EQ(CU(cuGraphExecGetFlags)(exec, &flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, row.given);
    EXPECT_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuGraphExecGetFlags)(exec, &flags), CUDA_ERROR_INVALID_VALUE);
  }
  CUgraphExec exec = nullptr;
  EXPECT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph_, 16),
            CUDA_ERROR_INVALID_VALUE);
}

// The register of which HIP tells gets a 1; a GPU without it needs none.
TEST_P(ExternalTest, WritesOfOtherDevicesAreFlushed) {
  static std::uint32_t flushed = 0;
  flushed = 0;
  using Attribute = HipFunction<hipError_t(int*, hipDeviceAttribute_t, int)>;
  static Attribute real;
  BindToHip(&real, "hipDeviceGetAttribute");
  constexpr int kContext = 0, kToOwner = 100;
  EXPECT_EQ(CU(cuFlushGPUDirectRDMAWrites)(kContext, kToOwner), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuFlushGPUDirectRDMAWrites)(kContext, 7),
            CUDA_ERROR_INVALID_VALUE);
  const Finally restore([] { hip.hipDeviceGetAttribute = real; });
  hip.hipDeviceGetAttribute = [](int* value, hipDeviceAttribute_t attribute,
                                 int device) {
    if (attribute != hipDeviceAttributeHdpMemFlushCntl) {
      return real(value, attribute, device);
    }
    std::uint32_t* address = &flushed;
    std::memcpy(value, &address, sizeof address);
    return hipSuccess;
  };
  EXPECT_EQ(CU(cuFlushGPUDirectRDMAWrites)(kContext, kToOwner), CUDA_SUCCESS);
  EXPECT_EQ(flushed, 1u);
}

INSTANTIATE_VARIANTS(ExternalTest);

}  // namespace
}  // namespace cerberus::stub
