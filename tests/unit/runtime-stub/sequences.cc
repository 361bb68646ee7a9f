#include "sequences.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "emulated.h"

namespace cerberus::stub {
namespace {

constexpr int kThreads = 64;
constexpr std::size_t kBytes = kThreads * sizeof(int);
// What clean-up has met; a sequence that fails before it is judged by that.
thread_local CUresult clean_up = CUDA_SUCCESS;
void Note(CUresult result) {
  if (clean_up == CUDA_SUCCESS) clean_up = result;
}

// What a sequence answers if all calls succeed and a value is wrong.
constexpr auto kWrongValue = static_cast<CUresult>(-1);

CUresult Holds(CUdeviceptr ints, int value) {
  int values[kThreads];
  TRY(CU(cuMemcpyDtoH_v2)(values, ints, kBytes));
  for (int v : values) {
    if (v != value) return kWrongValue;
  }
  return CUDA_SUCCESS;
}

CUresult Launch(CUfunction function, CUdeviceptr ints, int by,
                CUstream stream = nullptr) {
  void* params[] = {&ints, &by};
  return CU(cuLaunchKernel)(function, 1, 1, 1, kThreads, 1, 1, 0, stream,
                            params, nullptr);
}

#define WITH_INTS(ints)                  \
  CUdeviceptr ints = 0;                  \
  TRY(CU(cuMemAlloc_v2)(&ints, kBytes)); \
  const Finally free_##ints([&ints] { Note(CU(cuMemFree_v2)(ints)); })
#define WITH_STREAM(stream)            \
  CUstream stream = nullptr;           \
  TRY(CU(cuStreamCreate)(&stream, 1)); \
  const Finally destroy_##stream(      \
      [&stream] { Note(CU(cuStreamDestroy_v2)(stream)); })
#define WITH_FUNCTION(function)                                          \
  CUmodule module = nullptr;                                             \
  TRY(CU(cuModuleLoadData)(&module, ptx));                               \
  const Finally unload([&module] { Note(CU(cuModuleUnload)(module)); }); \
  CUfunction function = nullptr;                                         \
  TRY(CU(cuModuleGetFunction)(&function, module, "add"))

CUresult Memory(const char*) {
  WITH_INTS(a);
  WITH_INTS(b);
  std::vector<int> host(kThreads, 7);
  TRY(CU(cuMemcpyHtoD_v2)(a, host.data(), kBytes));
  TRY(CU(cuMemcpyDtoD_v2)(b, a, kBytes));
  TRY(Holds(b, 7));
  TRY(CU(cuMemsetD32_v2)(b, 9, kThreads));
  TRY(Holds(b, 9));
  TRY(CU(cuMemsetD2D8_v2)(b, 16, 1, 16, kBytes / 16));
  return Holds(b, 0x01010101);
}

CUresult HostMemory(const char*) {
  void* host = nullptr;
  TRY(CU(cuMemHostAlloc)(&host, kBytes, CU_MEMHOSTALLOC_DEVICEMAP));
  const Finally free_host([&] { Note(CU(cuMemFreeHost)(host)); });
  CUdeviceptr mapped = 0;
  TRY(CU(cuMemHostGetDevicePointer_v2)(&mapped, host, 0));
  TRY(CU(cuMemsetD32_v2)(mapped, 5, kThreads));
  TRY(CU(cuCtxSynchronize)());
  CUdeviceptr managed = 0;
  TRY(CU(cuMemAllocManaged)(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  const Finally free_managed([&] { Note(CU(cuMemFree_v2)(managed)); });
  TRY(CU(cuMemcpy)(managed, mapped, kBytes));
  return Holds(managed, 5);
}

CUresult Pitched(const char*) {
  CUdeviceptr rows = 0;
  std::size_t pitch = 0;
  TRY(CU(cuMemAllocPitch_v2)(&rows, &pitch, 16, 16, 4));
  const Finally free_rows([&] { Note(CU(cuMemFree_v2)(rows)); });
  std::vector<int> host(kThreads, 3), back(kThreads);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 16;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = rows;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 16;
  copy.Height = 16;
  TRY(CU(cuMemcpy2D_v2)(&copy));
  CUDA_MEMCPY3D out = {};
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = rows;
  out.srcPitch = pitch;
  out.srcHeight = 16;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = back.data();
  out.dstPitch = 16;
  out.dstHeight = 16;
  out.WidthInBytes = 16;
  out.Height = 16;
  out.Depth = 1;
  TRY(CU(cuMemcpy3D_v2)(&out));
  return back == host ? CUDA_SUCCESS : kWrongValue;
}

CUresult LoadAndLaunch(const char* ptx) {
  WITH_FUNCTION(function);
  WITH_INTS(ints);
  TRY(CU(cuMemsetD32_v2)(ints, 1, kThreads));
  TRY(Launch(function, ints, 2));
  TRY(CU(cuCtxSynchronize)());
  return Holds(ints, 3);
}

CUresult Linking(const char* ptx) {
  constexpr CUjitInputType kPtx = 1;
  CUlinkState state = nullptr;
  TRY(CU(cuLinkCreate_v2)(0, nullptr, nullptr, &state));
  const Finally destroy([&] { Note(CU(cuLinkDestroy)(state)); });
  std::string text = ptx;
  TRY(CU(cuLinkAddData_v2)(state, kPtx, text.data(), text.size() + 1, "add", 0,
                           nullptr, nullptr));
  void* code = nullptr;
  std::size_t size = 0;
  TRY(CU(cuLinkComplete)(state, &code, &size));
  return LoadAndLaunch(static_cast<const char*>(code));
}

CUresult LibraryAndAttributes(const char* ptx) {
  CUlibrary library = nullptr;
  TRY(CU(cuLibraryLoadData)(&library, ptx, nullptr, nullptr, 0, nullptr,
                            nullptr, 0));
  const Finally unload([&] { Note(CU(cuLibraryUnload)(library)); });
  CUkernel kernel = nullptr;
  TRY(CU(cuLibraryGetKernel)(&kernel, library, "add"));
  CUfunction function = nullptr;
  TRY(CU(cuKernelGetFunction)(&function, kernel));
  int threads = 0, blocks = 0;
  TRY(CU(cuFuncGetAttribute)(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                             function));
  TRY(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, function, 64,
                                                      0));
  WITH_INTS(ints);
  TRY(CU(cuMemsetD32_v2)(ints, 1, kThreads));
  void* params[] = {&ints, &blocks};
  TRY(CU(cuLaunchCooperativeKernel)(function, 1, 1, 1, kThreads, 1, 1, 0,
                                    nullptr, params));
  return Holds(ints, 1 + blocks);
}

CUresult StreamsAndEvents(const char* ptx) {
  WITH_FUNCTION(function);
  WITH_INTS(ints);
  WITH_STREAM(one);
  WITH_STREAM(two);
  CUevent begin = nullptr, end = nullptr;
  TRY(CU(cuEventCreate)(&begin, 0));
  const Finally destroy_begin([&] { Note(CU(cuEventDestroy_v2)(begin)); });
  TRY(CU(cuEventCreate)(&end, 0));
  const Finally destroy_end([&] { Note(CU(cuEventDestroy_v2)(end)); });
  TRY(CU(cuEventRecord)(begin, one));
  TRY(CU(cuMemsetD32Async)(ints, 4, kThreads, one));
  TRY(Launch(function, ints, 5, one));
  TRY(CU(cuEventRecord)(end, one));
  TRY(CU(cuStreamWaitEvent)(two, end, 0));
  TRY(Launch(function, ints, 6, two));
  TRY(CU(cuStreamSynchronize)(two));
  TRY(CU(cuEventSynchronize)(end));
  TRY(CU(cuStreamQuery)(one));
  TRY(CU(cuEventQuery)(end));
  float milliseconds = -1;
  TRY(CU(cuEventElapsedTime)(&milliseconds, begin, end));
  if (milliseconds < 0) return kWrongValue;
  return Holds(ints, 15);
}

CUresult HostFunctions(const char*) {
  WITH_STREAM(stream);
  int called = 0;
  const CUhostFn add = [](void* data) { ++*static_cast<int*>(data); };
  // The words outlive the stream's work.
  const Finally wait([&] { Note(CU(cuStreamSynchronize)(stream)); });
  TRY(CU(cuLaunchHostFunc)(stream, add, &called));
  TRY(CU(cuStreamAddCallback)(
      stream,
      [](CUstream, CUresult, void* data) { ++*static_cast<int*>(data); },
      &called, 0));
  TRY(CU(cuStreamSynchronize)(stream));
  return called == 2 ? CUDA_SUCCESS : kWrongValue;
}

CUresult RunGraph(CUgraph graph, CUdeviceptr ints, int value) {
  CUgraphExec exec = nullptr;
  TRY(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  const Finally destroy([&] { Note(CU(cuGraphExecDestroy)(exec)); });
  WITH_STREAM(stream);
  TRY(CU(cuGraphLaunch)(exec, stream));
  TRY(CU(cuStreamSynchronize)(stream));
  return Holds(ints, value);
}

CUresult BuiltGraph(const char* ptx) {
  WITH_FUNCTION(function);
  WITH_INTS(ints);
  CUgraph graph = nullptr;
  TRY(CU(cuGraphCreate)(&graph, 0));
  const Finally destroy([&] { Note(CU(cuGraphDestroy)(graph)); });
  CUDA_MEMSET_NODE_PARAMS set = {ints, kBytes, 8, 4, kThreads, 1};
  CUgraphNode first = nullptr, second = nullptr, third = nullptr;
  CUcontext context = nullptr;
  TRY(CU(cuCtxGetCurrent)(&context));
  TRY(CU(cuGraphAddMemsetNode)(&first, graph, nullptr, 0, &set, context));
  int by = 3;
  void* params[] = {&ints, &by};
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = function;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kThreads;
  kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = params;
  TRY(CU(cuGraphAddKernelNode_v2)(&second, graph, &first, 1, &kernel));
  int called = 0;
  // The word outlives the graph's work.
  const Finally wait([] { Note(CU(cuCtxSynchronize)()); });
  CUDA_HOST_NODE_PARAMS host = {[](void* data) { ++*static_cast<int*>(data); },
                                &called};
  TRY(CU(cuGraphAddHostNode)(&third, graph, &second, 1, &host));
  TRY(RunGraph(graph, ints, 11));
  return called == 1 ? CUDA_SUCCESS : kWrongValue;
}

CUresult CapturedGraph(const char* ptx) {
  WITH_FUNCTION(function);
  WITH_INTS(ints);
  WITH_STREAM(stream);
  // Loaded before: not possible while a stream is captured.
  TRY(Launch(function, ints, 0));
  TRY(CU(cuCtxSynchronize)());
  TRY(CU(cuStreamBeginCapture_v2)(stream, 1));
  CUgraph graph = nullptr;
  const auto record = [&] {
    TRY(CU(cuMemsetD32Async)(ints, 20, kThreads, stream));
    return Launch(function, ints, 2, stream);
  };
  const CUresult recorded = record();
  const CUresult ended = CU(cuStreamEndCapture)(stream, &graph);
  const Finally destroy([&] {
    if (graph != nullptr) Note(CU(cuGraphDestroy)(graph));
  });
  TRY(recorded);
  TRY(ended);
  return RunGraph(graph, ints, 22);
}

// A node that is run by its handle's default, with a kernel in its body, and a
// child graph behind it.
CUresult ConditionalGraph(const char* ptx) {
  WITH_FUNCTION(function);
  WITH_INTS(ints);
  TRY(CU(cuMemsetD32_v2)(ints, 5, kThreads));
  CUgraph graph = nullptr, child = nullptr;
  TRY(CU(cuGraphCreate)(&graph, 0));
  const Finally destroy([&] { Note(CU(cuGraphDestroy)(graph)); });
  TRY(CU(cuGraphCreate)(&child, 0));
  const Finally destroy_child([&] { Note(CU(cuGraphDestroy)(child)); });
  int by = 3;
  void* params[] = {&ints, &by};
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = function;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kThreads;
  kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = params;
  CUgraphNodeParams conditional = {};
  conditional.type = 13;
  conditional.conditional.size = 2;
  TRY(CU(cuGraphConditionalHandleCreate)(&conditional.conditional.handle, graph,
                                         nullptr, 1, 1));
  CUgraphNode node = nullptr, inner = nullptr, behind = nullptr;
  TRY(CU(cuGraphAddNode_v2)(&node, graph, nullptr, nullptr, 0, &conditional));
  TRY(CU(cuGraphAddKernelNode_v2)(
      &inner, conditional.conditional.phGraph_out[0], nullptr, 0, &kernel));
  TRY(CU(cuGraphAddKernelNode_v2)(&inner, child, nullptr, 0, &kernel));
  TRY(CU(cuGraphAddChildGraphNode)(&behind, graph, &node, 1, child));
  return RunGraph(graph, ints, 11);
}

CUresult Pools(const char*) {
  WITH_STREAM(stream);
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr;
  TRY(CU(cuMemPoolCreate)(&pool, &properties));
  const Finally destroy([&] { Note(CU(cuMemPoolDestroy)(pool)); });
  CUdeviceptr a = 0, b = 0;
  TRY(CU(cuMemAllocFromPoolAsync)(&a, kBytes, pool, stream));
  const Finally free_a([&] {
    Note(CU(cuMemFreeAsync)(a, stream));
    Note(CU(cuStreamSynchronize)(stream));
  });
  TRY(CU(cuMemAllocAsync)(&b, kBytes, stream));
  const Finally free_b([&] { Note(CU(cuMemFreeAsync)(b, stream)); });
  TRY(CU(cuMemsetD32Async)(a, 6, kThreads, stream));
  TRY(CU(cuMemcpyDtoDAsync_v2)(b, a, kBytes, stream));
  TRY(CU(cuStreamSynchronize)(stream));
  return Holds(b, 6);
}

CUresult ArraysAndTextures(const char*) {
  CUDA_ARRAY_DESCRIPTOR shape = {16, 4, CU_AD_FORMAT_SIGNED_INT32, 1};
  CUarray array = nullptr;
  TRY(CU(cuArrayCreate_v2)(&array, &shape));
  const Finally destroy_array([&] { Note(CU(cuArrayDestroy)(array)); });
  std::vector<int> host(kThreads, 2), back(kThreads);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 64;
  copy.Height = 4;
  TRY(CU(cuMemcpy2D_v2)(&copy));
  CUDA_MEMCPY2D out = {};
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = array;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = back.data();
  out.WidthInBytes = 64;
  out.Height = 4;
  TRY(CU(cuMemcpy2D_v2)(&out));
  CUDA_RESOURCE_DESC resource = {};
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC texture = {};
  CUtexObject object = 0;
  TRY(CU(cuTexObjectCreate)(&object, &resource, &texture, nullptr));
  const Finally destroy_object([&] { Note(CU(cuTexObjectDestroy)(object)); });
  CUsurfObject surface = 0;
  TRY(CU(cuSurfObjectCreate)(&surface, &resource));
  const Finally destroy_surface(
      [&] { Note(CU(cuSurfObjectDestroy)(surface)); });
  return back == host ? CUDA_SUCCESS : kWrongValue;
}

CUresult VirtualMemory(const char*) {
  CUmemAllocationProp properties = {};
  properties.type = 1;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  std::size_t bytes = 0;
  TRY(CU(cuMemGetAllocationGranularity)(&bytes, &properties, 0));
  CUmemGenericAllocationHandle memory = 0;
  TRY(CU(cuMemCreate)(&memory, bytes, &properties, 0));
  const Finally release([&] { Note(CU(cuMemRelease)(memory)); });
  CUdeviceptr at = 0;
  TRY(CU(cuMemAddressReserve)(&at, bytes, 0, 0, 0));
  const Finally leave([&] { Note(CU(cuMemAddressFree)(at, bytes)); });
  TRY(CU(cuMemMap)(at, bytes, 0, memory, 0));
  const Finally unmap([&] { Note(CU(cuMemUnmap)(at, bytes)); });
  CUmemAccessDesc access = {properties.location, 3};
  TRY(CU(cuMemSetAccess)(at, bytes, &access, 1));
  TRY(CU(cuMemsetD32_v2)(at, 12, kThreads));
  return Holds(at, 12);
}

// Memory and a semaphore that another interface could have made.
CUresult External(const char*) {
  const int file = memfd_create("external", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 4096) != 0) return kWrongValue;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
  description.type = 1;  // a file descriptor
  description.handle.fd = file;
  description.size = 4096;
  CUexternalMemory memory = nullptr;
  const CUresult imported = CU(cuImportExternalMemory)(&memory, &description);
  if (imported != CUDA_SUCCESS) close(file);  // still ours
  TRY(imported);
  const Finally destroy([&] { Note(CU(cuDestroyExternalMemory)(memory)); });
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC range = {};
  range.size = kBytes;
  CUdeviceptr ints = 0;
  TRY(CU(cuExternalMemoryGetMappedBuffer)(&ints, memory, &range));
  const Finally free_ints([&] { Note(CU(cuMemFree_v2)(ints)); });
  TRY(CU(cuMemsetD32_v2)(ints, 13, kThreads));
  TRY(Holds(ints, 13));

  const int event = eventfd(0, EFD_CLOEXEC);
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC binary = {};
  binary.type = 1;
  binary.handle.fd = event;
  CUexternalSemaphore semaphore = nullptr;
  const CUresult made = CU(cuImportExternalSemaphore)(&semaphore, &binary);
  if (made != CUDA_SUCCESS) close(event);
  TRY(made);
  const Finally forget(
      [&] { Note(CU(cuDestroyExternalSemaphore)(semaphore)); });
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {};
  CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {};
  WITH_STREAM(stream);
  TRY(CU(cuSignalExternalSemaphoresAsync)(&semaphore, &signal, 1, stream));
  TRY(CU(cuWaitExternalSemaphoresAsync)(&semaphore, &wait, 1, stream));
  return CU(cuStreamSynchronize)(stream);
}

CUresult OperationsInAGraph(const char*) {
  WITH_INTS(ints);
  TRY(CU(cuMemsetD32_v2)(ints, 1, kThreads));
  CUgraph graph = nullptr;
  TRY(CU(cuGraphCreate)(&graph, 0));
  const Finally destroy([&] { Note(CU(cuGraphDestroy)(graph)); });
  std::vector<CUstreamBatchMemOpParams> list(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    list[i].value = {2, ints + 4 * i, 14, 0, 0};  // writes of 32 bits
  }
  CUDA_BATCH_MEM_OP_NODE_PARAMS params = {nullptr, kThreads, list.data(), 0};
  CUgraphNode node = nullptr;
  TRY(CU(cuGraphAddBatchMemOpNode)(&node, graph, nullptr, 0, &params));
  return RunGraph(graph, ints, 14);
}

CUresult Contexts(const char*) {
  CUcontext context = nullptr;
  TRY(CU(cuCtxCreate_v2)(&context, 0, 1));
  const Finally destroy([&] { Note(CU(cuCtxDestroy_v2)(context)); });
  TRY(CU(cuCtxSetLimit)(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 20));
  WITH_INTS(ints);
  TRY(CU(cuMemsetD32_v2)(ints, 30, kThreads));
  std::size_t free_bytes = 0, total = 0;
  TRY(CU(cuMemGetInfo_v2)(&free_bytes, &total));
  return Holds(ints, 30);
}

constexpr Sequence kSequences[] = {
    {"Memory", Memory},
    {"HostMemory", HostMemory},
    {"Pitched", Pitched},
    {"LoadAndLaunch", LoadAndLaunch},
    {"Linking", Linking},
    {"LibraryAndAttributes", LibraryAndAttributes},
    {"StreamsAndEvents", StreamsAndEvents},
    {"HostFunctions", HostFunctions},
    {"BuiltGraph", BuiltGraph},
    {"CapturedGraph", CapturedGraph},
    {"ConditionalGraph", ConditionalGraph},
    {"Pools", Pools},
    {"ArraysAndTextures", ArraysAndTextures},
    {"VirtualMemory", VirtualMemory},
    {"External", External},
    {"OperationsInAGraph", OperationsInAGraph},
    {"Contexts", Contexts},
};

}  // namespace

std::span<const Sequence> Sequences() { return kSequences; }

CUresult RunSequence(const Sequence& sequence, const char* ptx) {
  clean_up = CUDA_SUCCESS;
  const CUresult result = sequence.run(ptx);
  return result != CUDA_SUCCESS ? result : clean_up;
}

}  // namespace cerberus::stub
