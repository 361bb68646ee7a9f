// Graphs node by node: what they are made from, tell, and do. What captures
// make of streams is in hip_capture_test.cc and hip_face_test.cc.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/emulator/hip_face.h"
#include "tests/unit/temp_folder.h"

extern "C" {
using Nodes = const hipGraphNode_t*;
hipError_t hipGraphCreate(hipGraph_t*, unsigned);
hipError_t hipGraphClone(hipGraph_t*, hipGraph_t);
hipError_t hipGraphNodeFindInClone(hipGraphNode_t*, hipGraphNode_t, hipGraph_t);
hipError_t hipGraphDestroyNode(hipGraphNode_t);
hipError_t hipGraphGetEdges(hipGraph_t, hipGraphNode_t*, hipGraphNode_t*,
                            std::size_t*);
hipError_t hipGraphGetRootNodes(hipGraph_t, hipGraphNode_t*, std::size_t*);
hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t, hipGraphNode_t*,
                                         std::size_t*);
hipError_t hipGraphNodeGetType(hipGraphNode_t, std::uint32_t*);
hipError_t hipGraphAddDependencies(hipGraph_t, Nodes, Nodes, std::size_t);
hipError_t hipGraphRemoveDependencies(hipGraph_t, Nodes, Nodes, std::size_t);
hipError_t hipGraphDebugDotPrint(hipGraph_t, const char*, unsigned);
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t, hipGraphNode_t, unsigned);
hipError_t hipGraphNodeGetEnabled(hipGraphExec_t, hipGraphNode_t, unsigned*);
hipError_t hipGraphAddKernelNode(hipGraphNode_t*, hipGraph_t, Nodes,
                                 std::size_t, const hipKernelNodeParams*);
hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t, hipKernelNodeParams*);
hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t,
                                       const hipKernelNodeParams*);
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t, hipGraphNode_t,
                                           const hipKernelNodeParams*);
hipError_t hipGraphAddMemcpyNode(hipGraphNode_t*, hipGraph_t, Nodes,
                                 std::size_t, const hipMemcpy3DParms*);
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t*, hipGraph_t, Nodes,
                                   std::size_t, void*, const void*, std::size_t,
                                   std::uint32_t);
hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t, hipMemcpy3DParms*);
hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t, const hipMemcpy3DParms*);
hipError_t hipGraphAddMemsetNode(hipGraphNode_t*, hipGraph_t, Nodes,
                                 std::size_t, const hipMemsetParams*);
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t, hipMemsetParams*);
hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t, const hipMemsetParams*);
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t, hipGraphNode_t,
                                           const hipMemsetParams*);
hipError_t hipGraphAddHostNode(hipGraphNode_t*, hipGraph_t, Nodes, std::size_t,
                               const hipHostNodeParams*);
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t, hipHostNodeParams*);
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t, hipGraphNode_t,
                                         const hipHostNodeParams*);
hipError_t hipGraphAddChildGraphNode(hipGraphNode_t*, hipGraph_t, Nodes,
                                     std::size_t, hipGraph_t);
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t, hipGraph_t*);
hipError_t hipGraphAddEventRecordNode(hipGraphNode_t*, hipGraph_t, Nodes,
                                      std::size_t, hipEvent_t);
hipError_t hipGraphAddEventWaitNode(hipGraphNode_t*, hipGraph_t, Nodes,
                                    std::size_t, hipEvent_t);
hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t, hipEvent_t*);
hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t, hipEvent_t*);
hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t, hipEvent_t);
hipError_t hipGraphAddMemAllocNode(hipGraphNode_t*, hipGraph_t, Nodes,
                                   std::size_t, hipMemAllocNodeParams*);
hipError_t hipGraphMemAllocNodeGetParams(hipGraphNode_t,
                                         hipMemAllocNodeParams*);
hipError_t hipGraphAddMemFreeNode(hipGraphNode_t*, hipGraph_t, Nodes,
                                  std::size_t, void*);
hipError_t hipGraphMemFreeNodeGetParams(hipGraphNode_t, void*);
}

namespace {

class HipGraph : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hipModuleLoad(&module_, KERNELS), hipSuccess);
    ASSERT_EQ(hipModuleGetFunction(&add_one_, module_, "AddOne"), hipSuccess);
    void* memory = nullptr;
    ASSERT_EQ(hipMallocManaged(&memory, 4096, hipMemAttachGlobal), hipSuccess);
    data_ = static_cast<int*>(memory);
    ASSERT_EQ(hipGraphCreate(&graph_, 0), hipSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
  }
  // AddOne over `*count` numbers at `*data`.
  hipKernelNodeParams Kernel(int** data, int* count) {
    arguments_.push_back({data, count});
    return {{64, 1, 1}, nullptr, add_one_, {1, 1, 1}, arguments_.back().data(),
            0};
  }
  hipGraphNode_t AddKernel(std::vector<hipGraphNode_t> after = {}) {
    hipGraphNode_t node = nullptr;
    const hipKernelNodeParams params = Kernel(&data_, &count_);
    EXPECT_EQ(hipGraphAddKernelNode(&node, graph_, after.data(), after.size(),
                                    &params),
              hipSuccess);
    return node;
  }
  hipGraphExec_t Instantiate() {
    hipGraphExec_t exec = nullptr;
    EXPECT_EQ(hipGraphInstantiate(&exec, graph_, nullptr, nullptr, 0),
              hipSuccess);
    return exec;
  }
  void Run(hipGraphExec_t exec) {
    ASSERT_EQ(hipGraphLaunch(exec, nullptr), hipSuccess);
    ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  }

  hipModule_t module_ = nullptr;
  hipFunction_t add_one_ = nullptr;
  hipGraph_t graph_ = nullptr;
  int* data_ = nullptr;
  int count_ = 4;
  std::vector<std::vector<void*>> arguments_;
};

TEST_F(HipGraph, KernelsTellAndTakeTheirArguments) {
  hipGraphNode_t node = AddKernel();
  hipKernelNodeParams params = {};
  ASSERT_EQ(hipGraphKernelNodeGetParams(node, &params), hipSuccess);
  EXPECT_EQ(params.func, add_one_);
  EXPECT_EQ(params.blockDim.x, 64u);
  EXPECT_EQ(params.gridDim.x, 1u);
  ASSERT_NE(params.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<int**>(params.kernelParams[0]), data_);
  EXPECT_EQ(*static_cast<int*>(params.kernelParams[1]), 4);
  hipGraphExec_t exec = Instantiate();
  // What it told may be given back, changed.
  int two = 2;
  params.kernelParams[1] = &two;
  ASSERT_EQ(hipGraphKernelNodeSetParams(node, &params), hipSuccess);
  Run(exec);  // as it was when it was made
  EXPECT_EQ(data_[3], 1);
  Run(Instantiate());
  EXPECT_EQ(data_[1], 2);
  EXPECT_EQ(data_[3], 1);
  int* other = data_ + 100;
  const hipKernelNodeParams third = Kernel(&other, &two);
  ASSERT_EQ(hipGraphExecKernelNodeSetParams(exec, node, &third), hipSuccess);
  Run(exec);
  EXPECT_EQ(other[1], 1);
  EXPECT_EQ(data_[1], 2);
  hipMemsetParams wrong = {};
  EXPECT_EQ(hipGraphMemsetNodeGetParams(node, &wrong), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphKernelNodeGetParams(node, nullptr), hipErrorInvalidValue);
}

TEST_F(HipGraph, ACapturedKernelTellsItsArguments) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 0), hipSuccess);
  ASSERT_EQ(hipStreamBeginCapture(stream, 0), hipSuccess);
  const hipKernelNodeParams p = Kernel(&data_, &count_);
  ASSERT_EQ(hipModuleLaunchKernel(add_one_, 1, 1, 1, 64, 1, 1, 0, stream,
                                  p.kernelParams, nullptr),
            hipSuccess);
  ASSERT_EQ(hipMemcpyAsync(data_ + 8, data_, 16, hipMemcpyDefault, stream),
            hipSuccess);
  hipGraph_t graph = nullptr;
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
  hipGraphNode_t nodes[2];
  std::size_t count = 2;
  ASSERT_EQ(hipGraphGetNodes(graph, nodes, &count), hipSuccess);
  ASSERT_EQ(count, 2u);
  hipKernelNodeParams kernel = {};
  ASSERT_EQ(hipGraphKernelNodeGetParams(nodes[0], &kernel), hipSuccess);
  EXPECT_EQ(*static_cast<int*>(kernel.kernelParams[1]), 4);
  hipMemcpy3DParms copy = {};
  ASSERT_EQ(hipGraphMemcpyNodeGetParams(nodes[1], &copy), hipSuccess);
  EXPECT_EQ(copy.srcPtr.ptr, data_);
  EXPECT_EQ(copy.dstPtr.ptr, data_ + 8);
  EXPECT_EQ(copy.extent.width, 16u);
  EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
}

TEST_F(HipGraph, CopiesAndFillsTellAndTake) {
  hipGraphNode_t fill = nullptr, copy = nullptr;
  hipMemsetParams set = {data_, 4, 1, 0, 7, 3};
  ASSERT_EQ(hipGraphAddMemsetNode(&fill, graph_, nullptr, 0, &set), hipSuccess);
  ASSERT_EQ(hipGraphAddMemcpyNode1D(&copy, graph_, &fill, 1, data_ + 10, data_,
                                    12, hipMemcpyDeviceToDevice),
            hipSuccess);
  hipGraphExec_t exec = Instantiate();
  Run(exec);
  EXPECT_EQ(data_[12], 7);
  EXPECT_EQ(data_[3], 0);
  hipMemsetParams told = {};
  ASSERT_EQ(hipGraphMemsetNodeGetParams(fill, &told), hipSuccess);
  EXPECT_EQ(told.value, 7u);
  told.value = 9;
  ASSERT_EQ(hipGraphExecMemsetNodeSetParams(exec, fill, &told), hipSuccess);
  Run(exec);
  EXPECT_EQ(data_[12], 9);
  told.value = 11;
  ASSERT_EQ(hipGraphMemsetNodeSetParams(fill, &told), hipSuccess);
  hipMemcpy3DParms box = {};
  ASSERT_EQ(hipGraphMemcpyNodeGetParams(copy, &box), hipSuccess);
  EXPECT_EQ(box.kind, hipMemcpyDeviceToDevice);
  box.dstPtr.ptr = data_ + 20;
  ASSERT_EQ(hipGraphMemcpyNodeSetParams(copy, &box), hipSuccess);
  Run(Instantiate());
  EXPECT_EQ(data_[22], 11);
  EXPECT_EQ(data_[12], 9);
  EXPECT_EQ(hipGraphMemcpyNodeSetParams(fill, &box), hipErrorInvalidValue);
}

TEST_F(HipGraph, HostFunctions) {
  hipGraphNode_t node = nullptr;
  int calls[2] = {};
  hipHostNodeParams params = {[](void* n) { ++*static_cast<int*>(n); },
                              &calls[0]};
  ASSERT_EQ(hipGraphAddHostNode(&node, graph_, nullptr, 0, &params),
            hipSuccess);
  hipGraphExec_t exec = Instantiate();
  Run(exec);
  hipHostNodeParams told = {};
  ASSERT_EQ(hipGraphHostNodeGetParams(node, &told), hipSuccess);
  EXPECT_EQ(told.userData, &calls[0]);
  told.userData = &calls[1];
  ASSERT_EQ(hipGraphExecHostNodeSetParams(exec, node, &told), hipSuccess);
  Run(exec);
  EXPECT_EQ(calls[0], 1);
  EXPECT_EQ(calls[1], 1);
}

TEST_F(HipGraph, EdgesComeAndGo) {
  hipGraphNode_t a = AddKernel(), b = AddKernel({a}), c = AddKernel({a, b});
  hipGraphNode_t from[4], to[4];
  std::size_t count = 0;
  ASSERT_EQ(hipGraphGetEdges(graph_, nullptr, nullptr, &count), hipSuccess);
  EXPECT_EQ(count, 3u);
  count = 4;
  ASSERT_EQ(hipGraphGetEdges(graph_, from, to, &count), hipSuccess);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(from[0], a);
  EXPECT_EQ(to[0], b);
  EXPECT_EQ(from[2], b);
  EXPECT_EQ(to[2], c);
  EXPECT_EQ(from[3], nullptr);
  count = 4;
  ASSERT_EQ(hipGraphNodeGetDependentNodes(a, to, &count), hipSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(to[0], b);
  EXPECT_EQ(to[1], c);
  ASSERT_EQ(hipGraphRemoveDependencies(graph_, &a, &c, 1), hipSuccess);
  EXPECT_EQ(hipGraphRemoveDependencies(graph_, &a, &c, 1),
            hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddDependencies(graph_, &a, &b, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddDependencies(graph_, &a, &a, 1), hipErrorInvalidValue);
  // A circle cannot be run.
  ASSERT_EQ(hipGraphAddDependencies(graph_, &c, &a, 1), hipSuccess);
  hipGraphExec_t exec = nullptr;
  EXPECT_EQ(hipGraphInstantiate(&exec, graph_, nullptr, nullptr, 0),
            hipErrorInvalidValue);
  ASSERT_EQ(hipGraphRemoveDependencies(graph_, &c, &a, 1), hipSuccess);
  ASSERT_EQ(hipGraphDestroyNode(b), hipSuccess);
  ASSERT_EQ(hipGraphGetRootNodes(graph_, nullptr, &count), hipSuccess);
  EXPECT_EQ(count, 2u);
  Run(Instantiate());
  EXPECT_EQ(data_[0], 2);
}

TEST_F(HipGraph, ClonesAndChildren) {
  hipGraphNode_t node = AddKernel(), copy = nullptr, child = nullptr;
  hipGraph_t clone = nullptr, inner = nullptr;
  ASSERT_EQ(hipGraphClone(&clone, graph_), hipSuccess);
  ASSERT_EQ(hipGraphNodeFindInClone(&copy, node, clone), hipSuccess);
  EXPECT_NE(copy, node);
  EXPECT_EQ(hipGraphNodeFindInClone(&copy, node, graph_), hipErrorInvalidValue);
  hipGraph_t other = nullptr;
  ASSERT_EQ(hipGraphClone(&other, graph_), hipSuccess);
  ASSERT_EQ(hipGraphNodeFindInClone(&copy, node, other), hipSuccess);
  EXPECT_EQ(hipGraphDestroyNode(copy), hipSuccess);
  EXPECT_EQ(hipGraphNodeFindInClone(&copy, node, other), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphDestroy(other), hipSuccess);
  ASSERT_EQ(hipGraphAddChildGraphNode(&child, graph_, &node, 1, clone),
            hipSuccess);
  ASSERT_EQ(hipGraphChildGraphNodeGetGraph(child, &inner), hipSuccess);
  std::size_t count = 0;
  ASSERT_EQ(hipGraphGetNodes(inner, nullptr, &count), hipSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(hipGraphChildGraphNodeGetGraph(node, &inner), hipErrorInvalidValue);
  Run(Instantiate());
  EXPECT_EQ(data_[0], 2);
  EXPECT_EQ(hipGraphDestroy(clone), hipSuccess);
}

TEST_F(HipGraph, EventsOfGraphs) {
  hipEvent_t start = nullptr, stop = nullptr, told = nullptr;
  ASSERT_EQ(hipEventCreateWithFlags(&start, 0), hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&stop, 0), hipSuccess);
  hipGraphNode_t first = nullptr, wait = nullptr, last = nullptr;
  ASSERT_EQ(hipGraphAddEventRecordNode(&first, graph_, nullptr, 0, stop),
            hipSuccess);
  ASSERT_EQ(hipGraphEventRecordNodeSetEvent(first, start), hipSuccess);
  ASSERT_EQ(hipGraphEventRecordNodeGetEvent(first, &told), hipSuccess);
  EXPECT_EQ(told, start);
  ASSERT_EQ(hipGraphAddEventWaitNode(&wait, graph_, &first, 1, start),
            hipSuccess);
  ASSERT_EQ(hipGraphEventWaitNodeGetEvent(wait, &told), hipSuccess);
  EXPECT_EQ(told, start);
  EXPECT_EQ(hipGraphEventRecordNodeGetEvent(wait, &told), hipErrorInvalidValue);
  hipGraphNode_t sleep = nullptr;
  const hipHostNodeParams nap = {[](void*) { usleep(20000); }, nullptr};
  ASSERT_EQ(hipGraphAddHostNode(&sleep, graph_, &wait, 1, &nap), hipSuccess);
  ASSERT_EQ(hipGraphAddEventRecordNode(&last, graph_, &sleep, 1, stop),
            hipSuccess);
  Run(Instantiate());
  float milliseconds = 0;
  ASSERT_EQ(hipEventElapsedTime(&milliseconds, start, stop), hipSuccess);
  EXPECT_GE(milliseconds, 19.f);
  std::uint32_t type = 99;
  ASSERT_EQ(hipGraphNodeGetType(wait, &type), hipSuccess);
  EXPECT_EQ(type, 6u);
  ASSERT_EQ(hipGraphNodeGetType(last, &type), hipSuccess);
  EXPECT_EQ(type, 7u);
  EXPECT_EQ(hipGraphAddEventWaitNode(&wait, graph_, nullptr, 0, nullptr),
            hipErrorInvalidHandle);
}

TEST_F(HipGraph, MemoryOfGraphs) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  hipGraph_t graph = nullptr;
  ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
  hipMemAllocNodeParams params = {};
  params.poolProps.allocType = 1;
  params.poolProps.location = {1, 0};
  params.bytesize = 1 << 16;
  hipGraphNode_t make = nullptr, fill = nullptr, copy = nullptr,
                 release = nullptr;
  ASSERT_EQ(hipGraphAddMemAllocNode(&make, graph, nullptr, 0, &params),
            hipSuccess);
  ASSERT_NE(params.dptr, nullptr);
  const hipMemsetParams set = {params.dptr, 4, 1, 0, 5, 1};
  ASSERT_EQ(hipGraphAddMemsetNode(&fill, graph, &make, 1, &set), hipSuccess);
  ASSERT_EQ(hipGraphAddMemcpyNode1D(&copy, graph, &fill, 1, data_, params.dptr,
                                    4, hipMemcpyDeviceToDevice),
            hipSuccess);
  ASSERT_EQ(hipGraphAddMemFreeNode(&release, graph, &copy, 1, params.dptr),
            hipSuccess);
  hipMemAllocNodeParams told = {};
  ASSERT_EQ(hipGraphMemAllocNodeGetParams(make, &told), hipSuccess);
  EXPECT_EQ(told.dptr, params.dptr);
  void* freed = nullptr;
  ASSERT_EQ(hipGraphMemFreeNodeGetParams(release, &freed), hipSuccess);
  EXPECT_EQ(freed, params.dptr);
  hipGraphExec_t exec = nullptr;
  ASSERT_EQ(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
  for (int i = 0; i < 3; ++i) {
    data_[0] = 0;
    Run(exec);
    EXPECT_EQ(data_[0], 5);
  }
  ASSERT_EQ(hipMemGetInfo(&during, &total), hipSuccess);
  EXPECT_EQ(before - during, 1u << 16);
  ASSERT_EQ(hipGraphDestroy(graph), hipSuccess);
  ASSERT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before, after);
  params.bytesize = 0;
  EXPECT_EQ(hipGraphAddMemAllocNode(&make, graph_, nullptr, 0, &params),
            hipErrorInvalidValue);
}

TEST_F(HipGraph, NodesCanBeSwitchedOff) {
  hipGraphNode_t a = AddKernel(), b = AddKernel({a}), empty = nullptr;
  ASSERT_EQ(hipGraphAddEmptyNode(&empty, graph_, &b, 1), hipSuccess);
  hipGraphExec_t exec = Instantiate();
  unsigned enabled = 9;
  ASSERT_EQ(hipGraphNodeSetEnabled(exec, a, 0), hipSuccess);
  ASSERT_EQ(hipGraphNodeGetEnabled(exec, a, &enabled), hipSuccess);
  EXPECT_EQ(enabled, 0u);
  Run(exec);
  EXPECT_EQ(data_[0], 1);
  ASSERT_EQ(hipGraphNodeSetEnabled(exec, a, 1), hipSuccess);
  Run(exec);
  EXPECT_EQ(data_[0], 3);
  EXPECT_EQ(hipGraphNodeSetEnabled(exec, empty, 0), hipErrorInvalidValue);
}

TEST_F(HipGraph, APictureOfAGraph) {
  hipGraphNode_t a = AddKernel(), b = AddKernel({a});
  hipMemsetParams set = {data_, 4, 1, 0, 7, 3};
  hipGraphNode_t fill = nullptr;
  ASSERT_EQ(hipGraphAddMemsetNode(&fill, graph_, &b, 1, &set), hipSuccess);
  const cerberus::TempFolder folder;
  const std::string path = folder.path() + "/graph.dot";
  ASSERT_EQ(hipGraphDebugDotPrint(graph_, path.c_str(), 0), hipSuccess);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char* part :
       {"digraph", "kernel AddOne", "memset", "n0 -> n1;", "n1 -> n2;"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(hipGraphDebugDotPrint(graph_, "/no/such/folder/x.dot", 0),
            hipErrorOperatingSystem);
}

}  // namespace
