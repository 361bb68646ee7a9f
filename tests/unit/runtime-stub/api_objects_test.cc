// Objects that graphs keep, pools that are shared, hints about managed memory,
// linking, and what is known of a stream: calls whose effect shows only when
// something else asks.
#include <gmock/gmock.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <future>
#include <vector>

#include "emulated.h"
#include "formats/tensor_map.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::stub {
namespace {

constexpr std::size_t kBytes = 64 * sizeof(int);

class ObjectsTest : public VariantTest {};

void Count(void* times) { ++*static_cast<int*>(times); }

TEST_P(ObjectsTest, GraphsKeepUserObjects) {
  constexpr unsigned kNoDestructorSync = 1, kMove = 1;
  int destroyed = 0;
  CUuserObject object = nullptr;
  ASSERT_EQ(
      CU(cuUserObjectCreate)(&object, &destroyed, Count, 1, kNoDestructorSync),
      CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
  // Two more references here, one of which the graph takes over.
  ASSERT_EQ(CU(cuUserObjectRetain)(object, 2), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphRetainUserObject)(graph, object, 1, kMove), CUDA_SUCCESS);
  // Nobody releases more than there is.
  EXPECT_EQ(CU(cuUserObjectRelease)(object, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuGraphReleaseUserObject)(graph, object, 2),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuGraphRetainUserObject)(graph, object, 3, kMove),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CU(cuUserObjectRelease)(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);
  ASSERT_EQ(CU(cuUserObjectRelease)(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);  // the graph has one
  ASSERT_EQ(CU(cuGraphReleaseUserObject)(graph, object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(CU(cuUserObjectRelease)(object, 1), CUDA_ERROR_INVALID_VALUE);

  ASSERT_EQ(
      CU(cuUserObjectCreate)(&object, &destroyed, Count, 1, kNoDestructorSync),
      CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphRetainUserObject)(graph, object, 1, kMove), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 2);
}

TEST_P(ObjectsTest, LaunchesKeepUserObjects) {
  constexpr unsigned kNoDestructorSync = 1, kMove = 1;
  int destroyed = 0;
  std::promise<void> go;
  CUgraph graph = nullptr;
  ASSERT_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
  CUDA_HOST_NODE_PARAMS waits = {
      [](void* promise) {
        static_cast<std::promise<void>*>(promise)->get_future().wait();
      },
      &go};
  CUgraphNode node = nullptr;
  ASSERT_EQ(CU(cuGraphAddHostNode)(&node, graph, nullptr, 0, &waits),
            CUDA_SUCCESS);
  CUuserObject object = nullptr;
  ASSERT_EQ(
      CU(cuUserObjectCreate)(&object, &destroyed, Count, 1, kNoDestructorSync),
      CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphRetainUserObject)(graph, object, 1, kMove), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
  CUgraph clone = nullptr;
  ASSERT_EQ(CU(cuGraphClone)(&clone, graph), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphDestroy)(clone), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);  // the launch is not done
  go.set_value();
  ASSERT_EQ(CU(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(CU(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
}

TEST_P(ObjectsTest, EventsOfAnExecutableGraph) {
  CUevent one = nullptr, two = nullptr;
  ASSERT_EQ(CU(cuEventCreate)(&one, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventCreate)(&two, 0), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
  CUgraphNode record = nullptr;
  ASSERT_EQ(CU(cuGraphAddEventRecordNode)(&record, graph, nullptr, 0, one),
            CUDA_SUCCESS);
  constexpr cuuint64_t kAutoFreeOnLaunch = 1;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, kAutoFreeOnLaunch),
            CUDA_SUCCESS);
  cuuint64_t flags = 99;
  EXPECT_EQ(CU(cuGraphExecGetFlags)(exec, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, kAutoFreeOnLaunch);
  // `two` has never been recorded, so that no time can be told from it.
  float milliseconds = -1;
  ASSERT_EQ(CU(cuEventRecord)(one, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventElapsedTime)(&milliseconds, one, two),
            CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(CU(cuGraphExecEventRecordNodeSetEvent)(exec, record, two),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphLaunch)(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventElapsedTime)(&milliseconds, one, two), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);
  for (CUevent event : {one, two}) {
    EXPECT_EQ(CU(cuEventDestroy_v2)(event), CUDA_SUCCESS);
  }
}

// What a stream does is added behind nodes that a graph has.
TEST_P(ObjectsTest, CaptureIntoAGraph) {
  CUdeviceptr ints = Ints(0);
  CUgraph graph = nullptr, captured = nullptr;
  ASSERT_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
  CUDA_MEMSET_NODE_PARAMS set = {};
  set.dst = ints;
  set.elementSize = 4;
  set.width = kThreads;
  set.height = 1;
  set.value = 40;
  CUgraphNode first = nullptr;
  ASSERT_EQ(CU(cuGraphAddMemsetNode)(&first, graph, nullptr, 0, &set, context_),
            CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUfunction add = Add();
  ASSERT_EQ(
      CU(cuStreamBeginCaptureToGraph)(stream, graph, &first, nullptr, 1, 2),
      CUDA_SUCCESS);
  int by = 2;
  void* params[] = {&ints, &by};
  ASSERT_EQ(CU(cuLaunchKernel)(add, 1, 1, 1, kThreads, 1, 1, 0, stream, params,
                               nullptr),
            CUDA_SUCCESS);
  // Through an event, and by another stream.
  CUevent event = nullptr;
  CUstream other = nullptr;
  ASSERT_EQ(CU(cuEventCreate)(&event, 2), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventRecord)(event, stream), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamWaitEvent)(other, event, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuLaunchKernel)(add, 1, 1, 1, kThreads, 1, 1, 0, other, params,
                               nullptr),
            CUDA_SUCCESS);
  CUstreamCaptureStatus status = 0;
  cuuint64_t id = 0;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(CU(cuStreamGetCaptureInfo_v2)(other, &status, &id, &captured,
                                          &nodes, &count),
            CUDA_SUCCESS);
  EXPECT_EQ(captured, graph);
  ASSERT_EQ(count, 1u);
  CUgraphNode last = nodes[0], before[2] = {};
  count = 2;
  ASSERT_EQ(CU(cuGraphNodeGetDependencies)(last, before, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  CUgraphNode middle = before[0];
  count = 2;
  ASSERT_EQ(CU(cuGraphNodeGetDependencies)(middle, before, &count),
            CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(before[0], first);
  // The next one is behind `middle` and `last`, which HIP need not have seen.
  ASSERT_EQ(CU(cuStreamUpdateCaptureDependencies)(other, &middle, 1, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventRecord)(event, other), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamWaitEvent)(stream, event, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamEndCapture)(stream, &captured), CUDA_SUCCESS);
  EXPECT_EQ(captured, graph);
  EXPECT_EQ(CU(cuStreamDestroy_v2)(other), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventDestroy_v2)(event), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphGetNodes)(graph, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 3u);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(ValueOf(ints), 44);
  EXPECT_EQ(CU(cuGraphExecDestroy)(exec), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
}

TEST_P(ObjectsTest, PoolsOfADevice) {
  constexpr CUmemAllocationHandleType kFile = 1;
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.handleTypes = kFile;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr, usual = nullptr, got = nullptr;
  ASSERT_EQ(CU(cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
  CUmemAccess_flags access = 99;
  EXPECT_EQ(CU(cuMemPoolGetAccess)(&access, pool, &properties.location),
            CUDA_SUCCESS);
  EXPECT_EQ(access, 3u);  // to read and to write
  ASSERT_EQ(CU(cuDeviceGetMemPool)(&usual, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDeviceSetMemPool)(0, pool), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDeviceGetMemPool)(&got, 0), CUDA_SUCCESS);
  EXPECT_EQ(got, pool);
  ASSERT_EQ(CU(cuMemSetMemPool)(&properties.location, 1, usual), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuDeviceGetMemPool)(&got, 0), CUDA_SUCCESS);
  EXPECT_EQ(got, usual);
  int file = -1;
  ASSERT_EQ(CU(cuMemPoolExportToShareableHandle)(&file, pool, kFile, 0),
            CUDA_SUCCESS);
  EXPECT_GE(file, 0);
  EXPECT_EQ(close(file), 0);
  CUdeviceptr memory = 0;
  ASSERT_EQ(CU(cuMemAllocFromPoolAsync)(&memory, kBytes, pool, nullptr),
            CUDA_SUCCESS);
  CUmemPoolPtrExportData data = {}, nothing = {};
  ASSERT_EQ(CU(cuMemPoolExportPointer)(&data, memory), CUDA_SUCCESS);
  EXPECT_NE(std::memcmp(&data, &nothing, sizeof data), 0);
  EXPECT_EQ(CU(cuMemFreeAsync)(memory, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemPoolTrimTo)(pool, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemPoolDestroy)(pool), CUDA_SUCCESS);
}

// A process asks for pools, memory and graphs before it makes a context.
TEST_P(ObjectsTest, PoolsMemoryAndGraphsNeedNoContext) {
  CUcontext popped = nullptr;
  ASSERT_EQ(CU(cuCtxPopCurrent_v2)(&popped), CUDA_SUCCESS);
  const Finally push(
      [&] { EXPECT_EQ(CU(cuCtxPushCurrent_v2)(popped), CUDA_SUCCESS); });

  constexpr CUmemPool_attribute kReleaseThreshold = 4;
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(CU(cuDeviceGetDefaultMemPool)(&pool, 1), CUDA_SUCCESS);
  cuuint64_t before = 0, keep = 4096, kept = 0;
  EXPECT_EQ(CU(cuMemPoolGetAttribute)(pool, kReleaseThreshold, &before),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemPoolSetAttribute)(pool, kReleaseThreshold, &keep),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemPoolGetAttribute)(pool, kReleaseThreshold, &kept),
            CUDA_SUCCESS);
  EXPECT_EQ(kept, keep);
  EXPECT_EQ(CU(cuMemPoolSetAttribute)(pool, kReleaseThreshold, &before),
            CUDA_SUCCESS);

  CUmemAllocationProp properties = {};
  properties.type = 1;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  std::size_t bytes = 0;
  ASSERT_EQ(CU(cuMemGetAllocationGranularity)(&bytes, &properties, 0),
            CUDA_SUCCESS);
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr at = 0;
  ASSERT_EQ(CU(cuMemCreate)(&memory, bytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemAddressReserve)(&at, bytes, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemMap)(at, bytes, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemUnmap)(at, bytes), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemAddressFree)(at, bytes), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemRelease)(memory), CUDA_SUCCESS);

  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  std::size_t nodes = 0;
  ASSERT_EQ(CU(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphAddEmptyNode)(&node, graph, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuGraphGetNodes)(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);

  CUdeviceptr pointer = 0;
  EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 4), CUDA_ERROR_INVALID_CONTEXT);
}

// Memory of two devices under one address; tests/e2e/programs/multicast.cu has
// kernels that use it.
TEST_P(ObjectsTest, MulticastObjectsBindMemoryOfEachDevice) {
  CUmulticastObjectProp object = {2, 0, 0, 0};
  std::size_t unit = 0;
  ASSERT_EQ(CU(cuMulticastGetGranularity)(&unit, &object, 0), CUDA_SUCCESS);
  ASSERT_GE(unit, 4096u);
  EXPECT_EQ(CU(cuMulticastGetGranularity)(&unit, &object, 2),
            CUDA_ERROR_INVALID_VALUE);

  CUmemGenericAllocationHandle multicast = 0;
  const auto refused = [&](CUmulticastObjectProp p) {
    return CU(cuMulticastCreate)(&multicast, &p);
  };
  EXPECT_EQ(refused({2, 0, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused({2, unit / 2, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused({0, unit, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused({3, unit, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused({2, unit, 0, 1}), CUDA_ERROR_INVALID_VALUE);
  // For other processes.
  EXPECT_EQ(refused({2, unit, 1, 0}), CUDA_ERROR_NOT_SUPPORTED);
  object.size = 2 * unit;
  ASSERT_EQ(CU(cuMulticastCreate)(&multicast, &object), CUDA_SUCCESS);

  EXPECT_EQ(CU(cuMulticastAddDevice)(multicast, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(CU(cuMulticastAddDevice)(multicast + 8, 0),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CU(cuMulticastAddDevice)(multicast, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMulticastAddDevice)(multicast, 0), CUDA_ERROR_INVALID_DEVICE);
  ASSERT_EQ(CU(cuMulticastAddDevice)(multicast, 1), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMulticastAddDevice)(multicast, 1), CUDA_ERROR_INVALID_VALUE);

  CUmemGenericAllocationHandle memory[2] = {};
  CUdeviceptr own[2] = {};
  for (int d = 0; d < 2; ++d) {
    CUmemAllocationProp properties = {};
    properties.type = 1;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, d};
    ASSERT_EQ(CU(cuMemCreate)(&memory[d], 2 * unit, &properties, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(CU(cuMemAddressReserve)(&own[d], 2 * unit, 0, 0, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(CU(cuMemMap)(own[d], 2 * unit, 0, memory[d], 0), CUDA_SUCCESS);
  }
  const auto bind = [&](std::size_t offset, std::size_t from, std::size_t bytes,
                        unsigned long long flags = 0) {
    return CU(cuMulticastBindMem)(multicast, offset, memory[0], from, bytes,
                                  flags);
  };
  EXPECT_EQ(bind(0, 0, unit / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(unit / 2, 0, unit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(unit, 0, 2 * unit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, 0, unit, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(bind(0, 0, unit), CUDA_SUCCESS);
  EXPECT_EQ(bind(0, unit, unit), CUDA_ERROR_INVALID_VALUE);  // taken
  EXPECT_EQ(
      CU(cuMulticastBindMem_v2)(multicast, 1, unit, memory[0], unit, unit, 0),
      CUDA_ERROR_INVALID_DEVICE);
  ASSERT_EQ(
      CU(cuMulticastBindMem_v2)(multicast, 0, unit, memory[0], unit, unit, 0),
      CUDA_SUCCESS);
  CUdeviceptr other = 0;
  ASSERT_EQ(CU(cuMemAlloc_v2)(&other, unit), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMulticastBindAddr)(multicast, 0, other, unit, 0),
            CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(CU(cuMulticastBindAddr)(multicast, 0, own[1] + unit, unit, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMulticastBindAddr_v2)(multicast, 0, unit, own[1], unit, 0),
            CUDA_ERROR_INVALID_DEVICE);
  ASSERT_EQ(CU(cuMulticastBindAddr_v2)(multicast, 1, unit, own[1], unit, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMulticastUnbind)(multicast, 1, 0, 2 * unit),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMulticastUnbind)(multicast, 1, unit, unit), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMulticastUnbind)(multicast, 1, unit, unit),
            CUDA_ERROR_INVALID_VALUE);

  // Mapped, allowed, asked for, unmapped.
  CUdeviceptr all = 0;
  ASSERT_EQ(CU(cuMemAddressReserve)(&all, 2 * unit, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemMap)(other, unit, 0, multicast, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemMap)(all, 2 * unit, unit, multicast, 0),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CU(cuMemMap)(all, 2 * unit, 0, multicast, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemMap)(all + unit, unit, 0, memory[0], 0),
            CUDA_ERROR_INVALID_VALUE);
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, 3};
  EXPECT_EQ(CU(cuMemSetAccess)(all, unit, &access, 1),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CU(cuMemSetAccess)(all, 2 * unit, &access, 1), CUDA_SUCCESS);
  unsigned long long flags = 0;
  EXPECT_EQ(CU(cuMemGetAccess)(&flags, &access.location, all + unit),
            CUDA_SUCCESS);
  EXPECT_EQ(flags, 3u);
  access.location.id = 0;
  EXPECT_EQ(CU(cuMemGetAccess)(&flags, &access.location, all), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
  CUmemGenericAllocationHandle kept = 0;
  EXPECT_EQ(
      CU(cuMemRetainAllocationHandle)(&kept, reinterpret_cast<void*>(all)),
      CUDA_SUCCESS);
  EXPECT_EQ(kept, multicast);
  int file = -1;
  EXPECT_EQ(CU(cuMemExportToShareableHandle)(&file, kept, 1, 0),
            CUDA_ERROR_INVALID_VALUE);
  CUmemAllocationProp properties = {};
  EXPECT_EQ(CU(cuMemGetAllocationPropertiesFromHandle)(&properties, kept),
            CUDA_ERROR_INVALID_VALUE);
  char byte = 0;
  EXPECT_EQ(CU(cuMemcpyDtoH_v2)(&byte, all, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemRelease)(kept), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemRelease)(multicast), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemAddressFree)(all, 2 * unit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemUnmap)(all, unit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemUnmap)(all, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemAddressFree)(all, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMulticastAddDevice)(multicast, 1), CUDA_ERROR_INVALID_VALUE);
  for (int d = 0; d < 2; ++d) {
    EXPECT_EQ(CU(cuMemUnmap)(own[d], 2 * unit), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemAddressFree)(own[d], 2 * unit), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemRelease)(memory[d]), CUDA_SUCCESS);
  }
  EXPECT_EQ(CU(cuMemFree_v2)(other), CUDA_SUCCESS);
}

TEST_P(ObjectsTest, HintsAboutManagedMemory) {
  constexpr CUmem_advise kReadMostly = 1, kPreferredLocation = 3;
  constexpr CUmem_range_attribute kIsReadMostly = 1, kLastPrefetch = 4;
  CUdeviceptr memory = 0;
  ASSERT_EQ(CU(cuMemAllocManaged)(&memory, 4096, CU_MEM_ATTACH_GLOBAL),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemAdvise)(memory, 4096, kReadMostly, 0), CUDA_SUCCESS);
  const CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  ASSERT_EQ(CU(cuMemAdvise_v2)(memory, 4096, kPreferredLocation, there),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemPrefetchAsync)(memory, 4096, 0, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  int mostly = -9, last = -9, preferred = -9;
  void* values[] = {&mostly, &last};
  std::size_t sizes[] = {sizeof mostly, sizeof last};
  CUmem_range_attribute attributes[] = {kIsReadMostly, kLastPrefetch};
  ASSERT_EQ(
      CU(cuMemRangeGetAttributes)(values, sizes, attributes, 2, memory, 4096),
      CUDA_SUCCESS);
  EXPECT_EQ(mostly, 1);
  EXPECT_EQ(last, 0);
  ASSERT_EQ(
      CU(cuMemRangeGetAttribute)(&preferred, sizeof preferred, 2, memory, 4096),
      CUDA_SUCCESS);
  EXPECT_EQ(preferred, 1);
  ASSERT_EQ(CU(cuMemPrefetchAsync_v2)(memory, 4096, there, 0, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemRangeGetAttribute)(&last, sizeof last, kLastPrefetch,
                                       memory, 4096),
            CUDA_SUCCESS);
  EXPECT_EQ(last, 1);
  EXPECT_EQ(CU(cuMemFree_v2)(memory), CUDA_SUCCESS);
}

// Both ABIs, from memory and from a file.
TEST_P(ObjectsTest, Linking) {
  constexpr CUjitInputType kPtx = 1;
  const TempFolder folder;
  const std::string path = folder.path() + "/add.ptx";
  std::ofstream(path) << AddPtx();
  std::string text = AddPtx();
  for (int way = 0; way < 4; ++way) {
    CUlinkState state = nullptr;
    ASSERT_EQ((way < 2 ? CU(cuLinkCreate) : CU(cuLinkCreate_v2))(
                  0, nullptr, nullptr, &state),
              CUDA_SUCCESS);
    if (way % 2 == 0) {
      ASSERT_EQ((way < 2 ? CU(cuLinkAddData) : CU(cuLinkAddData_v2))(
                    state, kPtx, text.data(), text.size() + 1, "add", 0,
                    nullptr, nullptr),
                CUDA_SUCCESS);
    } else {
      ASSERT_EQ((way < 2 ? CU(cuLinkAddFile) : CU(cuLinkAddFile_v2))(
                    state, kPtx, path.c_str(), 0, nullptr, nullptr),
                CUDA_SUCCESS);
    }
    void* code = nullptr;
    std::size_t size = 0;
    ASSERT_EQ(CU(cuLinkComplete)(state, &code, &size), CUDA_SUCCESS);
    CUmodule module = nullptr;
    ASSERT_EQ(CU(cuModuleLoadData)(&module, code), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuLinkDestroy)(state), CUDA_SUCCESS);
    CUfunction function = nullptr;
    EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "add"), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
  }
}

TEST_P(ObjectsTest, WhatAStreamIs) {
  CUstream stream = nullptr;
  ASSERT_EQ(CU(cuStreamCreateWithPriority)(&stream, CU_STREAM_NON_BLOCKING, -1),
            CUDA_SUCCESS);
  unsigned flags = 99;
  EXPECT_EQ(CU(cuStreamGetFlags)(stream, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_STREAM_NON_BLOCKING});
  int priority = 99;
  EXPECT_EQ(CU(cuStreamGetPriority)(stream, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, -1);
  CUdevice device = 99;
  EXPECT_EQ(CU(cuStreamGetDevice)(stream, &device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  CUcontext context = nullptr, again = nullptr;
  CUgreenCtx green = reinterpret_cast<CUgreenCtx>(&context);
  EXPECT_EQ(CU(cuStreamGetCtx)(stream, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(CU(cuStreamGetCtx_v2)(stream, &again, &green), CUDA_SUCCESS);
  EXPECT_EQ(again, context_);
  EXPECT_EQ(green, nullptr);
  CUdevResource of_device = {}, of_stream = {};
  EXPECT_EQ(CU(cuDeviceGetDevResource)(0, &of_device, 1), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamGetDevResource)(stream, &of_stream, 1), CUDA_SUCCESS);
  EXPECT_EQ(of_stream.sm.smCount, of_device.sm.smCount);
  EXPECT_EQ(CU(cuStreamGetDevResource)(stream, &of_stream, 1000),
            CUDA_ERROR_INVALID_RESOURCE_TYPE);
  int calls = 0;
  EXPECT_EQ(
      CU(cuLaunchHostFunc_v2)(
          stream, [](void* data) { ++*static_cast<int*>(data); }, &calls, 0),
      CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(CU(cuStreamDestroy)(stream), CUDA_SUCCESS);
}

// A matrix of 5 rows of 100 halves, 256 bytes from each other, in boxes of 3
// rows of 32, every second one of them.
struct Tiles {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  cuuint32_t rank = 2;
  std::uintptr_t address = 0x10000;
  cuuint64_t sizes[5] = {100, 5};
  cuuint64_t strides[4] = {256};
  cuuint32_t box[5] = {32, 3};
  cuuint32_t steps[5] = {1, 2};
  int interleave = 0, swizzle = 2, promotion = 3, fill = 0;

  CUresult Encode(CUtensorMap* map) const {
    return CU(cuTensorMapEncodeTiled)(
        map, type, rank, reinterpret_cast<void*>(address), sizes, strides, box,
        steps, interleave, swizzle, promotion, fill);
  }
};

TEST(TensorMaps, AreWhatCopiesRead) {
  CUtensorMap map = {};
  ASSERT_EQ(Tiles().Encode(&map), CUDA_SUCCESS);
  const auto got = std::bit_cast<formats::TensorMap>(map);
  EXPECT_EQ(got.address, 0x10000u);
  EXPECT_EQ(got.strides[0], 256u);
  EXPECT_THAT(got.last, ::testing::ElementsAre(99, 4, 0, 0, 0));
  EXPECT_THAT(got.box, ::testing::ElementsAre(32, 3, 1, 1, 1));
  EXPECT_THAT(got.steps, ::testing::ElementsAre(1, 2, 1, 1, 1));
  EXPECT_EQ(got.rank, 2);
  EXPECT_EQ(got.element_log2, 1);
  EXPECT_EQ(got.swizzle, 2);
  EXPECT_EQ(got.kind, formats::kTensorMapTiled);
}

// Images of 20 by 30 pixels with 64 channels, of which a copy takes 32 of 100
// pixels.
CUresult EncodePixels(CUtensorMap* map, const int (&lower)[2],
                      const int (&upper)[2], cuuint32_t channels,
                      cuuint32_t pixels, cuuint32_t rank = 4) {
  const cuuint64_t sizes[] = {64, 20, 30, 4};
  const cuuint64_t strides[] = {128, 2560, 76800};
  const cuuint32_t steps[] = {1, 2, 3, 1};
  return CU(cuTensorMapEncodeIm2col)(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank,
                                     reinterpret_cast<void*>(0x10000), sizes,
                                     strides, lower, upper, channels, pixels,
                                     steps, 0, 2, 0, 0);
}

TEST(TensorMaps, OfPixels) {
  CUtensorMap map = {};
  ASSERT_EQ(EncodePixels(&map, {-1, -2}, {-3, 4}, 32, 100), CUDA_SUCCESS);
  const auto got = std::bit_cast<formats::TensorMap>(map);
  EXPECT_EQ(got.kind, formats::kTensorMapPixels);
  EXPECT_EQ(got.rank, 4);
  EXPECT_THAT(got.last, ::testing::ElementsAre(63, 19, 29, 3, 0));
  EXPECT_THAT(got.strides, ::testing::ElementsAre(128, 2560, 76800, 0));
  EXPECT_THAT(got.steps, ::testing::ElementsAre(1, 2, 3, 1, 1));
  EXPECT_THAT(got.lower, ::testing::ElementsAre(-1, -2, 0));
  EXPECT_THAT(got.upper, ::testing::ElementsAre(-3, 4, 0));
  EXPECT_EQ(got.box[0], 32);
  EXPECT_EQ(got.pixels, 100);
  // Corners out of range, nothing to copy, too much, too few dimensions.
  EXPECT_EQ(EncodePixels(&map, {-129, 0}, {0, 0}, 32, 100),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(EncodePixels(&map, {0, 0}, {0, 128}, 32, 100),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(EncodePixels(&map, {0, 0}, {0, 0}, 0, 100),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(EncodePixels(&map, {0, 0}, {0, 0}, 32, 1025),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(EncodePixels(&map, {0, 0}, {0, 0}, 32, 100, 2),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(TensorMaps, MoveToOtherTensors) {
  CUtensorMap map = {};
  ASSERT_EQ(Tiles().Encode(&map), CUDA_SUCCESS);
  auto want = std::bit_cast<formats::TensorMap>(map);
  want.address = 0x20010;
  EXPECT_EQ(CU(cuTensorMapReplaceAddress)(
                &map, reinterpret_cast<void*>(want.address)),
            CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(&map, &want, sizeof want), 0);
  EXPECT_EQ(
      CU(cuTensorMapReplaceAddress)(&map, reinterpret_cast<void*>(0x20008)),
      CUDA_ERROR_INVALID_VALUE);
  CUtensorMap none = {};
  EXPECT_EQ(
      CU(cuTensorMapReplaceAddress)(&none, reinterpret_cast<void*>(0x20000)),
      CUDA_ERROR_INVALID_VALUE);
}

// What cuda.h does not allow, and what it does but copies here do not do.
TEST(TensorMaps, OthersAreRefused) {
  alignas(64) CUtensorMap maps[2] = {};
  const auto with = [&maps](auto change) {
    Tiles tiles;
    change(tiles);
    return tiles.Encode(maps);
  };
  using T = Tiles&;
  for (const CUresult result :
       {with([](T t) { t.rank = 0; }), with([](T t) { t.rank = 6; }),
        with([](T t) { t.type = 16; }), with([](T t) { t.address = 8; }),
        with([](T t) { t.sizes[1] = 0; }),
        with([](T t) { t.sizes[0] = (cuuint64_t{1} << 32) + 1; }),
        with([](T t) { t.strides[0] = 200; }),
        with([](T t) { t.strides[0] = cuuint64_t{1} << 40; }),
        with([](T t) { t.box[1] = 257; }), with([](T t) { t.box[1] = 0; }),
        with([](T t) {
          t.box[0] = 36;
          t.swizzle = 0;
        }),
        with([](T t) { t.box[0] = 64; }), with([](T t) { t.steps[1] = 9; }),
        with([](T t) { t.interleave = 3; }),
        with([](T t) { t.swizzle = 7; })}) {
    EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(Tiles().Encode(reinterpret_cast<CUtensorMap*>(
                reinterpret_cast<char*>(maps) + 32)),
            CUDA_ERROR_INVALID_VALUE);
  for (const CUresult result :
       {with([](T t) { t.type = 10; }), with([](T t) { t.fill = 1; }),
        with([](T t) { t.interleave = 1; }), with([](T t) { t.swizzle = 5; }),
        with([](T t) { t.box[0] = 16; })}) {
    EXPECT_EQ(result, CUDA_ERROR_NOT_SUPPORTED);
  }
}

INSTANTIATE_VARIANTS(ObjectsTest);

}  // namespace
}  // namespace cerberus::stub
