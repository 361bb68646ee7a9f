// Calls whose effect shows only in something else: what is destroyed is gone,
// what is asked for is written, what waits does wait, what is handed to HIP
// arrives there. One row per function, run with its per-thread variant too.
#include <optional>
#include <tuple>
#include <vector>

#include "emulated.h"
#include "formats/device_attributes.h"
#include "hip/hip_loader.h"

namespace cerberus::stub {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kBytes = 64 * sizeof(int);

class Effects : public VariantTest {
 public:
  using EmulatedTest::Add;
  using EmulatedTest::AddPtx;
  using EmulatedTest::context_;
  using EmulatedTest::Ints;
  using EmulatedTest::kThreads;
  using EmulatedTest::ValueOf;

  CUstream Stream() {
    CUstream stream = nullptr;
    EXPECT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    return stream;
  }
  CUevent Event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent event = nullptr;
    EXPECT_EQ(CU(cuEventCreate)(&event, flags), CUDA_SUCCESS);
    return event;
  }
  void AddTo(CUdeviceptr ints, int by, CUstream stream) {
    void* params[] = {&ints, &by};
    EXPECT_EQ(CU(cuLaunchKernel)(Add(), 1, 1, 1, kThreads, 1, 1, 0, stream,
                                 params, nullptr),
              CUDA_SUCCESS);
  }
};

// What HIP's function was last called with while this lives; the call itself
// does nothing.
template <typename... Args>
class Asked {
 public:
  Asked(HipFunction<hipError_t(Args...)>* slot, const char* name)
      : slot_(slot), saved_(*slot) {
    BindToHip(&saved_, name);
    last_.reset();
    *slot = [](Args... args) {
      last_.emplace(args...);
      return hipSuccess;
    };
  }
  ~Asked() { *slot_ = saved_; }
  const std::optional<std::tuple<Args...>>& last() const { return last_; }

 private:
  static inline std::optional<std::tuple<Args...>> last_;
  HipFunction<hipError_t(Args...)>* slot_;
  HipFunction<hipError_t(Args...)> saved_;
};
#define ASKED(function, name) Asked name(&hip.function, #function)

// --- values that must be written ---

void DeviceGetHostAtomicCapabilities(Effects*) {
  const CUatomicOperation operations[] = {0, 1};
  unsigned capabilities[] = {99, 99};
  EXPECT_EQ(
      CU(cuDeviceGetHostAtomicCapabilities)(capabilities, operations, 2, 0),
      CUDA_SUCCESS);
  EXPECT_THAT(capabilities, ElementsAre(0u, 0u));
}

void DeviceGetP2PAtomicCapabilities(Effects*) {
  const CUatomicOperation operations[] = {0, 1};
  unsigned capabilities[] = {99, 99};
  EXPECT_EQ(
      CU(cuDeviceGetP2PAtomicCapabilities)(capabilities, operations, 2, 0, 1),
      CUDA_SUCCESS);
  EXPECT_THAT(capabilities, ElementsAre(0u, 0u));
}

void MipmappedArrayGetMemoryRequirements(Effects*) {
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = shape.Height = 64;
  shape.Format = CU_AD_FORMAT_FLOAT;
  shape.NumChannels = 1;
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(CU(cuMipmappedArrayCreate)(&mipmap, &shape, 2), CUDA_SUCCESS);
  CUDA_ARRAY_MEMORY_REQUIREMENTS needed = {};
  EXPECT_EQ(CU(cuMipmappedArrayGetMemoryRequirements)(&needed, mipmap, 0),
            CUDA_SUCCESS);
  EXPECT_GE(needed.size, (64 * 64 + 32 * 32) * sizeof(float));
  EXPECT_EQ(CU(cuMipmappedArrayDestroy)(mipmap), CUDA_SUCCESS);
}

CUlaunchConfig OneBlock() {
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = Effects::kThreads;
  config.blockDimY = config.blockDimZ = 1;
  return config;
}

void OccupancyMaxActiveClusters(Effects* test) {
  const CUlaunchConfig config = OneBlock();
  int clusters = -1, blocks = 0, multiprocessors = 0;
  EXPECT_EQ(CU(cuOccupancyMaxActiveClusters)(&clusters, test->Add(), &config),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(
                &blocks, test->Add(), Effects::kThreads, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuDeviceGetAttribute)(
                &multiprocessors, formats::kAttribute_MULTIPROCESSOR_COUNT, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(clusters, blocks * multiprocessors);
}

void OccupancyMaxPotentialClusterSize(Effects* test) {
  const CUlaunchConfig config = OneBlock();
  int size = -1;
  EXPECT_EQ(CU(cuOccupancyMaxPotentialClusterSize)(&size, test->Add(), &config),
            CUDA_SUCCESS);
  EXPECT_EQ(size, 8);
}

CUDA_RESOURCE_DESC LinearResource(CUdeviceptr memory) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {memory, CU_AD_FORMAT_SIGNED_INT32, 1, kBytes};
  return resource;
}

void TexObjectGetTextureDesc(Effects* test) {
  const CUDA_RESOURCE_DESC resource = LinearResource(test->Ints(0));
  CUDA_TEXTURE_DESC texture = {}, got = {};
  texture.flags = CU_TRSF_READ_AS_INTEGER;
  texture.addressMode[1] = 3;
  CUtexObject object = 0;
  ASSERT_EQ(CU(cuTexObjectCreate)(&object, &resource, &texture, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuTexObjectGetTextureDesc)(&got, object), CUDA_SUCCESS);
  EXPECT_EQ(got.flags, texture.flags);
  EXPECT_EQ(got.addressMode[1], 3);
  EXPECT_EQ(CU(cuTexObjectDestroy)(object), CUDA_SUCCESS);
}

void SurfObjectGetResourceDesc(Effects*) {
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = 16;
  shape.Format = CU_AD_FORMAT_SIGNED_INT32;
  shape.NumChannels = 1;
  shape.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CUDA_RESOURCE_DESC resource = {}, got = {};
  ASSERT_EQ(CU(cuArray3DCreate_v2)(&resource.res.array.hArray, &shape),
            CUDA_SUCCESS);
  CUsurfObject surface = 0;
  ASSERT_EQ(CU(cuSurfObjectCreate)(&surface, &resource), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuSurfObjectGetResourceDesc)(&got, surface), CUDA_SUCCESS);
  EXPECT_EQ(got.res.array.hArray, resource.res.array.hArray);
  EXPECT_EQ(CU(cuSurfObjectDestroy)(surface), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuArrayDestroy)(resource.res.array.hArray), CUDA_SUCCESS);
}

void TexRefSetAddress2D(Effects* test) {
  const CUdeviceptr memory = test->Ints(0);
  CUtexref reference = nullptr;
  ASSERT_EQ(CU(cuTexRefCreate)(&reference), CUDA_SUCCESS);
  const CUDA_ARRAY_DESCRIPTOR shape = {16, 4, CU_AD_FORMAT_FLOAT, 1};
  EXPECT_EQ(CU(cuTexRefSetAddress2D_v2)(reference, &shape, memory, 64),
            CUDA_SUCCESS);
  CUdeviceptr got = 0;
  EXPECT_EQ(CU(cuTexRefGetAddress_v2)(&got, reference), CUDA_SUCCESS);
  EXPECT_EQ(got, memory);
  EXPECT_EQ(CU(cuTexRefDestroy)(reference), CUDA_SUCCESS);
}

void ModuleLoadFatBinary(Effects*) {
  CUmodule module = nullptr;
  EXPECT_EQ(CU(cuModuleLoadFatBinary)(&module, Effects::AddPtx()),
            CUDA_SUCCESS);
  ASSERT_NE(module, nullptr);
  CUfunction function = nullptr;
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "add"), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
}

// --- attributes of nodes ---

struct TwoKernelNodes {
  explicit TwoKernelNodes(Effects* test) {
    EXPECT_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
    CUdeviceptr ints = test->Ints(0);
    int by = 1;
    void* arguments[] = {&ints, &by};
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = test->Add();
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = Effects::kThreads;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    for (CUgraphNode* node : {&one, &two}) {
      EXPECT_EQ(CU(cuGraphAddKernelNode_v2)(node, graph, nullptr, 0, &params),
                CUDA_SUCCESS);
    }
  }
  ~TwoKernelNodes() { EXPECT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS); }
  static int PriorityOf(CUgraphNode node) {
    CUkernelNodeAttrValue value = {};
    EXPECT_EQ(CU(cuGraphKernelNodeGetAttribute)(
                  node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
              CUDA_SUCCESS);
    return value.priority;
  }
  CUgraph graph = nullptr;
  CUgraphNode one = nullptr, two = nullptr;
};

void GraphKernelNodeSetAttribute(Effects* test) {
  const TwoKernelNodes nodes(test);
  CUkernelNodeAttrValue value = {};
  value.priority = -1;
  EXPECT_EQ(CU(cuGraphKernelNodeSetAttribute)(
                nodes.one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(nodes.PriorityOf(nodes.one), -1);
  EXPECT_EQ(nodes.PriorityOf(nodes.two), 0);
}

void GraphKernelNodeCopyAttributes(Effects* test) {
  const TwoKernelNodes nodes(test);
  CUkernelNodeAttrValue value = {};
  value.priority = -1;
  ASSERT_EQ(CU(cuGraphKernelNodeSetAttribute)(
                nodes.one, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphKernelNodeCopyAttributes)(nodes.two, nodes.one),
            CUDA_SUCCESS);
  EXPECT_EQ(nodes.PriorityOf(nodes.two), -1);
}

// --- work that runs, and in its order ---

void SetLegacyParams(CUfunction function, CUdeviceptr ints, int by) {
  EXPECT_EQ(CU(cuFuncSetBlockShape)(function, Effects::kThreads, 1, 1),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuParamSetSize)(function, 12), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuParamSetv)(function, 0, &ints, sizeof ints), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuParamSeti)(function, 8, static_cast<unsigned>(by)),
            CUDA_SUCCESS);
}

void Launch(Effects* test) {
  const CUdeviceptr ints = test->Ints(1);
  SetLegacyParams(test->Add(), ints, 3);
  EXPECT_EQ(CU(cuLaunch)(test->Add()), CUDA_SUCCESS);
  EXPECT_EQ(test->ValueOf(ints), 4);
}

void LaunchGridAsync(Effects* test) {
  const CUdeviceptr ints = test->Ints(1);
  const CUstream stream = test->Stream();
  SetLegacyParams(test->Add(), ints, 4);
  {
    const Gate gate(stream);
    EXPECT_EQ(CU(cuLaunchGridAsync)(test->Add(), 1, 1, stream), CUDA_SUCCESS);
  }
  EXPECT_EQ(test->ValueOf(ints), 5);
}

void LaunchKernelEx(Effects* test) {
  CUdeviceptr ints = test->Ints(1);
  int by = 5;
  void* params[] = {&ints, &by};
  const CUlaunchConfig config = OneBlock();
  EXPECT_EQ(CU(cuLaunchKernelEx)(&config, test->Add(), params, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(test->ValueOf(ints), 6);
}

void EventRecordWithFlags(Effects* test) {
  const CUstream stream = test->Stream();
  const CUevent event = test->Event();
  {
    const Gate gate(stream);
    EXPECT_EQ(CU(cuEventRecordWithFlags)(event, stream, 0), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
  }
  EXPECT_EQ(CU(cuEventQuery)(event), CUDA_SUCCESS);
}

void StreamWaitEvent(Effects* test) {
  const CUstream first = test->Stream(), second = test->Stream();
  const CUevent event = test->Event();
  const CUdeviceptr ints = test->Ints(1);
  test->Add();  // loaded while nothing waits
  {
    const Gate gate(first);
    ASSERT_EQ(CU(cuEventRecord)(event, first), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuStreamWaitEvent)(second, event, 0), CUDA_SUCCESS);
    test->AddTo(ints, 1, second);
    EXPECT_TRUE(StaysBusy(second));
  }
  EXPECT_EQ(test->ValueOf(ints), 2);
}

void GraphExecEventWaitNodeSetEvent(Effects* test) {
  const CUstream first = test->Stream(), second = test->Stream();
  const CUevent never = test->Event(), later = test->Event();
  CUgraph graph = nullptr;
  CUgraphNode wait = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphAddEventWaitNode)(&wait, graph, nullptr, 0, never),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphExecEventWaitNodeSetEvent)(exec, wait, later),
            CUDA_SUCCESS);
  {
    const Gate gate(first);
    ASSERT_EQ(CU(cuEventRecord)(later, first), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuGraphLaunch)(exec, second), CUDA_SUCCESS);
    EXPECT_TRUE(StaysBusy(second));
  }
  EXPECT_EQ(CU(cuStreamSynchronize)(second), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);
}

void MemcpyBatchAsync(Effects* test) {
  const CUstream stream = test->Stream();
  CUdeviceptr to[] = {test->Ints(0), test->Ints(0)};
  CUdeviceptr from[] = {test->Ints(5), test->Ints(6)};
  std::size_t sizes[] = {kBytes, kBytes}, indices[] = {0};
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = 1;
  EXPECT_EQ(CU(cuMemcpyBatchAsync_v2)(to, from, sizes, 2, &attributes, indices,
                                      1, stream),
            CUDA_SUCCESS);
  EXPECT_EQ(test->ValueOf(to[0]), 5);
  EXPECT_EQ(test->ValueOf(to[1]), 6);
}

void Memcpy3DBatchAsync(Effects* test) {
  const CUstream stream = test->Stream();
  const CUdeviceptr to = test->Ints(0);
  CUDA_MEMCPY3D_BATCH_OP operation = {};
  operation.src.type = operation.dst.type = 1;
  operation.src.op.ptr.ptr = test->Ints(7);
  operation.dst.op.ptr.ptr = to;
  operation.extent = {kBytes, 1, 1};
  operation.srcAccessOrder = 1;
  EXPECT_EQ(CU(cuMemcpy3DBatchAsync_v2)(1, &operation, 0, stream),
            CUDA_SUCCESS);
  EXPECT_EQ(test->ValueOf(to), 7);
}

// --- where managed memory goes ---

using PrefetchBatch = DriverCall<decltype(&api::cuMemPrefetchBatchAsync)>;
void PrefetchesTo(const PrefetchBatch& prefetch) {
  constexpr CUmem_range_attribute kLastPrefetch = 4;
  CUdeviceptr memory = 0;
  ASSERT_EQ(CU(cuMemAllocManaged)(&memory, 4096, CU_MEM_ATTACH_GLOBAL),
            CUDA_SUCCESS);
  std::size_t bytes = 4096, index = 0;
  CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  EXPECT_EQ(prefetch(&memory, &bytes, 1, &there, &index, 1, 0, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  int last = -9;
  EXPECT_EQ(CU(cuMemRangeGetAttribute)(&last, sizeof last, kLastPrefetch,
                                       memory, bytes),
            CUDA_SUCCESS);
  EXPECT_EQ(last, 1);
  EXPECT_EQ(CU(cuMemFree_v2)(memory), CUDA_SUCCESS);
}
void MemPrefetchBatchAsync(Effects*) {
  PrefetchesTo(CU(cuMemPrefetchBatchAsync));
}
void MemDiscardAndPrefetchBatchAsync(Effects*) {
  PrefetchesTo(CU(cuMemDiscardAndPrefetchBatchAsync));
}

// --- what is destroyed is gone ---

void EventDestroy(Effects* test) {
  const CUevent event = test->Event();
  EXPECT_EQ(CU(cuEventDestroy)(event), CUDA_SUCCESS);
  // The emulator knows its events by name and does not look into them.
  EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_INVALID_HANDLE);
}

void StreamDestroy(Effects* test) {
  const CUstream stream = test->Stream();
  ASKED(hipStreamDestroy, asked);
  EXPECT_EQ(CU(cuStreamDestroy)(stream), CUDA_SUCCESS);
  EXPECT_TRUE(asked.last().has_value());
}

void MemPoolDestroy(Effects*) {
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr, usual = nullptr, got = nullptr;
  ASSERT_EQ(CU(cuDeviceGetMemPool)(&usual, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDeviceSetMemPool)(0, pool), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemPoolDestroy)(pool), CUDA_SUCCESS);
  // A device whose pool goes has its default one again (CUDA Driver API,
  // cuMemPoolDestroy).
  EXPECT_EQ(CU(cuDeviceGetMemPool)(&got, 0), CUDA_SUCCESS);
  EXPECT_EQ(got, usual);
  EXPECT_EQ(CU(cuDeviceSetMemPool)(0, usual), CUDA_SUCCESS);
}

void MipmappedArrayDestroy(Effects*) {
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = shape.Height = 1024;
  shape.Format = CU_AD_FORMAT_FLOAT;
  shape.NumChannels = 4;
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(CU(cuMemGetInfo_v2)(&before, &total), CUDA_SUCCESS);
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(CU(cuMipmappedArrayCreate)(&mipmap, &shape, 2), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMipmappedArrayDestroy)(mipmap), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemGetInfo_v2)(&after, &total), CUDA_SUCCESS);
  EXPECT_EQ(before, after);
}

// --- what is handed to HIP ---

void MemPoolTrimTo(Effects*) {
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(CU(cuDeviceGetMemPool)(&pool, 0), CUDA_SUCCESS);
  ASKED(hipMemPoolTrimTo, asked);
  EXPECT_EQ(CU(cuMemPoolTrimTo)(pool, 4096), CUDA_SUCCESS);
  ASSERT_TRUE(asked.last().has_value());
  EXPECT_EQ(std::get<1>(*asked.last()), 4096u);
}

void MemPoolSetAccess(Effects*) {
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(CU(cuDeviceGetMemPool)(&pool, 0), CUDA_SUCCESS);
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, 3};
  ASKED(hipMemPoolSetAccess, asked);
  EXPECT_EQ(CU(cuMemPoolSetAccess)(pool, &access, 1), CUDA_SUCCESS);
  ASSERT_TRUE(asked.last().has_value());
  EXPECT_EQ(std::get<2>(*asked.last()), 1u);
}

void DeviceSetGraphMemAttribute(Effects*) {
  constexpr CUgraphMem_attribute kUsedHigh = 1;
  cuuint64_t zero = 0;
  ASKED(hipDeviceSetGraphMemAttribute, asked);
  EXPECT_EQ(CU(cuDeviceSetGraphMemAttribute)(1, kUsedHigh, &zero),
            CUDA_SUCCESS);
  ASSERT_TRUE(asked.last().has_value());
  EXPECT_EQ(std::get<0>(*asked.last()), 1);
  EXPECT_EQ(std::get<1>(*asked.last()), kUsedHigh);
}

void GraphUpload(Effects*) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
  ASKED(hipGraphUpload, asked);
  EXPECT_EQ(CU(cuGraphUpload)(exec, nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(asked.last().has_value());
  EXPECT_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);
}

// --- hints, which still know wrong from right ---

constexpr CUfunc_cache kPreferL1 = 2, kNoCacheConfig = 4;
constexpr CUsharedconfig kEightByteBanks = 2, kNoSharedConfig = 3;

void FuncSetCacheConfig(Effects* test) {
  EXPECT_EQ(CU(cuFuncSetCacheConfig)(test->Add(), kPreferL1), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuFuncSetCacheConfig)(test->Add(), kNoCacheConfig),
            CUDA_ERROR_INVALID_VALUE);
}
void KernelSetCacheConfig(Effects* test) {
  const CUkernel kernel = reinterpret_cast<CUkernel>(test->Add());
  EXPECT_EQ(CU(cuKernelSetCacheConfig)(kernel, kPreferL1, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuKernelSetCacheConfig)(kernel, kNoCacheConfig, 0),
            CUDA_ERROR_INVALID_VALUE);
}
void FuncSetSharedMemConfig(Effects* test) {
  EXPECT_EQ(CU(cuFuncSetSharedMemConfig)(test->Add(), kEightByteBanks),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuFuncSetSharedMemConfig)(test->Add(), kNoSharedConfig),
            CUDA_ERROR_INVALID_VALUE);
}
void PointerSetAttribute(Effects* test) {
  const unsigned on = 1;
  EXPECT_EQ(CU(cuPointerSetAttribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                      test->Ints(0)),
            CUDA_SUCCESS);
  // No memory of CUDA's.
  EXPECT_EQ(CU(cuPointerSetAttribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                      reinterpret_cast<CUdeviceptr>(&on)),
            CUDA_ERROR_INVALID_VALUE);
}
void MemDiscardBatchAsync(Effects*) {
  CUdeviceptr memory = 0;
  std::size_t bytes = 4096;
  ASSERT_EQ(CU(cuMemAllocManaged)(&memory, bytes, CU_MEM_ATTACH_GLOBAL),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemDiscardBatchAsync)(&memory, &bytes, 1, 0, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemDiscardBatchAsync)(&memory, &bytes, 1, 1, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemFree_v2)(memory), CUDA_SUCCESS);
}

struct Effect {
  const char* name;
  void (*check)(Effects* test);
};
#define EFFECT(name) {#name, name}
constexpr Effect kEffects[] = {
    EFFECT(DeviceGetHostAtomicCapabilities),
    EFFECT(DeviceGetP2PAtomicCapabilities),
    EFFECT(DeviceSetGraphMemAttribute),
    EFFECT(EventDestroy),
    EFFECT(EventRecordWithFlags),
    EFFECT(FuncSetCacheConfig),
    EFFECT(FuncSetSharedMemConfig),
    EFFECT(GraphExecEventWaitNodeSetEvent),
    EFFECT(GraphKernelNodeCopyAttributes),
    EFFECT(GraphKernelNodeSetAttribute),
    EFFECT(GraphUpload),
    EFFECT(KernelSetCacheConfig),
    EFFECT(Launch),
    EFFECT(LaunchGridAsync),
    EFFECT(LaunchKernelEx),
    EFFECT(MemDiscardAndPrefetchBatchAsync),
    EFFECT(MemDiscardBatchAsync),
    EFFECT(MemPoolDestroy),
    EFFECT(MemPoolSetAccess),
    EFFECT(MemPoolTrimTo),
    EFFECT(MemPrefetchBatchAsync),
    EFFECT(Memcpy3DBatchAsync),
    EFFECT(MemcpyBatchAsync),
    EFFECT(MipmappedArrayDestroy),
    EFFECT(MipmappedArrayGetMemoryRequirements),
    EFFECT(ModuleLoadFatBinary),
    EFFECT(OccupancyMaxActiveClusters),
    EFFECT(OccupancyMaxPotentialClusterSize),
    EFFECT(PointerSetAttribute),
    EFFECT(StreamDestroy),
    EFFECT(StreamWaitEvent),
    EFFECT(SurfObjectGetResourceDesc),
    EFFECT(TexObjectGetTextureDesc),
    EFFECT(TexRefSetAddress2D),
};

TEST_P(Effects, EachFunctionHasItsOwn) {
  for (const Effect& effect : kEffects) {
    SCOPED_TRACE(effect.name);
    effect.check(this);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_VARIANTS(Effects);

}  // namespace
}  // namespace cerberus::stub
