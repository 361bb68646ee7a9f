// What HIP programs use beside kernels and copies, by AMD's own headers: each
// part checks itself and prints its name and PASS, FAIL with a line, or what
// the runtime refuses. All parts run, or those that the command names.
// Others of HIP 5 need what the first declares.
// clang-format off
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
// clang-format on
#include <hip/hiprtc.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Failed {
  int line;
  std::string what;
};
#define EXPECT(condition)          \
  if (!(condition)) throw Failed { \
      __LINE__, #condition         \
    }
#define OK(call)                                               \
  if (hipError_t e = (call); e != hipSuccess) throw Failed {   \
      __LINE__, std::string(#call) + ": " + hipGetErrorName(e) \
    }

constexpr int kCount = 1000;

__global__ void AddOne(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t n) : n_(n) { OK(hipMalloc(&at_, n * sizeof(T))); }
  ~Buffer() { (void)hipFree(at_); }
  T* get() const { return at_; }
  void Set(const std::vector<T>& from) {
    OK(hipMemcpy(at_, from.data(), n_ * sizeof(T), hipMemcpyHostToDevice));
  }
  std::vector<T> Get() const {
    std::vector<T> out(n_);
    OK(hipMemcpy(out.data(), at_, n_ * sizeof(T), hipMemcpyDeviceToHost));
    return out;
  }

 private:
  T* at_ = nullptr;
  std::size_t n_;
};

void Launch(int* data, int n, hipStream_t stream = nullptr) {
  AddOne<<<(n + 63) / 64, 64, 0, stream>>>(data, n);
  OK(hipGetLastError());
}

void Query() {
  int count = 0, version = 0, runtime = 0;
  OK(hipGetDeviceCount(&count));
  EXPECT(count >= 1);
  OK(hipDriverGetVersion(&version));
  OK(hipRuntimeGetVersion(&runtime));
  for (int d = 0; d < count; ++d) {
    hipDeviceProp_t p;
    OK(hipGetDeviceProperties(&p, d));
    std::printf(
        "  device %d: %s, %s, %d units, %d lanes, %d MHz, %zu KiB of LDS, "
        "%d KiB of L2, %d threads a unit, %d bits, cooperative %d\n",
        d, p.name, p.gcnArchName, p.multiProcessorCount, p.warpSize,
        p.clockRate / 1000, p.sharedMemPerBlock / 1024, p.l2CacheSize / 1024,
        p.maxThreadsPerMultiProcessor, p.memoryBusWidth, p.cooperativeLaunch);
    EXPECT(p.totalGlobalMem > 1 << 28);
    EXPECT(p.warpSize == 32 || p.warpSize == 64);
    EXPECT(p.maxThreadsPerBlock == 1024);
    EXPECT(p.multiProcessorCount > 0 && p.clockRate > 0);
    EXPECT(std::strstr(p.gcnArchName, "gfx") == p.gcnArchName);
    std::size_t free = 0, total = 0;
    OK(hipSetDevice(d));
    OK(hipMemGetInfo(&free, &total));
    EXPECT(free > 0 && free <= total);
  }
  OK(hipSetDevice(0));
}

void VectorAdd() {
  Buffer<int> data(kCount);
  std::vector<int> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = 7 * i;
  data.Set(host);
  Launch(data.get(), kCount);
  const std::vector<int> back = data.Get();
  for (int i = 0; i < kCount; ++i) EXPECT(back[i] == 7 * i + 1);
}

__global__ void Say(int base) {
  printf("  lane %d says %s %.2f\n", threadIdx.x + base, "hello", 0.25f);
}
void Printf() {
  Say<<<1, 3>>>(40);
  OK(hipDeviceSynchronize());
}

__global__ void Grow(int* out) {
  int* const mine = static_cast<int*>(malloc(64 * sizeof(int)));
  if (mine == nullptr) return;
  for (int i = 0; i < 64; ++i) mine[i] = i + threadIdx.x;
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += mine[i];
  out[threadIdx.x] = sum;
  free(mine);
}
void DeviceMalloc() {
  Buffer<int> out(32);
  out.Set(std::vector<int>(32, 0));
  Grow<<<1, 32>>>(out.get());
  const std::vector<int> sums = out.Get();
  for (int i = 0; i < 32; ++i) EXPECT(sums[i] == 64 * 63 / 2 + 64 * i);
}

void Hiprtc() {
  const char* source =
      "extern \"C\" __global__ void Scale(float* x, float a, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) x[i] = a * x[i] + sqrtf(4.0f);\n"
      "}\n";
  hiprtcProgram program;
  EXPECT(hiprtcCreateProgram(&program, source, "scale.hip", 0, nullptr,
                             nullptr) == HIPRTC_SUCCESS);
  hipDeviceProp_t p;
  OK(hipGetDeviceProperties(&p, 0));
  const std::string arch = std::string("--offload-arch=") + p.gcnArchName;
  const char* options[] = {arch.c_str()};
  const hiprtcResult done = hiprtcCompileProgram(program, 1, options);
  std::size_t size = 0;
  if (done != HIPRTC_SUCCESS) {
    hiprtcGetProgramLogSize(program, &size);
    std::string log(size, ' ');
    hiprtcGetProgramLog(program, log.data());
    throw Failed{__LINE__, log};
  }
  EXPECT(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
  std::vector<char> code(size);
  EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
  hipModule_t module;
  hipFunction_t function;
  OK(hipModuleLoadData(&module, code.data()));
  OK(hipModuleGetFunction(&function, module, "Scale"));
  Buffer<float> data(kCount);
  data.Set(std::vector<float>(kCount, 3.0f));
  float* at = data.get();
  float factor = 5.0f;
  int n = kCount;
  void* arguments[] = {&at, &factor, &n};
  OK(hipModuleLaunchKernel(function, (n + 255) / 256, 1, 1, 256, 1, 1, 0,
                           nullptr, arguments, nullptr));
  for (float x : data.Get()) EXPECT(x == 17.0f);
  OK(hipModuleUnload(module));
  EXPECT(hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS);
}

void CapturedGraph() {
  Buffer<int> data(kCount);
  data.Set(std::vector<int>(kCount, 1));
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  hipGraph_t graph;
  hipGraphExec_t ready;
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  for (int i = 0; i < 10; ++i) Launch(data.get(), kCount, stream);
  OK(hipStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  OK(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 10);
  OK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 5; ++i) OK(hipGraphLaunch(ready, stream));
  OK(hipStreamSynchronize(stream));
  for (int x : data.Get()) EXPECT(x == 51);
  OK(hipGraphExecDestroy(ready));
  OK(hipGraphDestroy(graph));
  OK(hipStreamDestroy(stream));
}

void BuiltGraph() {
  Buffer<int> data(kCount);
  std::vector<int> back(kCount);
  hipGraph_t graph;
  OK(hipGraphCreate(&graph, 0));
  hipMemsetParams set = {};
  set.dst = data.get();
  set.elementSize = 4;
  set.width = kCount;
  set.height = 1;
  set.value = 41;
  hipGraphNode_t first, second, third;
  OK(hipGraphAddMemsetNode(&first, graph, nullptr, 0, &set));
  int* at = data.get();
  int n = kCount;
  void* arguments[] = {&at, &n};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(AddOne);
  kernel.gridDim = dim3((kCount + 63) / 64);
  kernel.blockDim = dim3(64);
  kernel.kernelParams = arguments;
  OK(hipGraphAddKernelNode(&second, graph, &first, 1, &kernel));
  OK(hipGraphAddMemcpyNode1D(&third, graph, &second, 1, back.data(), at,
                             kCount * sizeof(int), hipMemcpyDeviceToHost));
  hipGraphExec_t ready;
  OK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  OK(hipGraphLaunch(ready, nullptr));
  OK(hipDeviceSynchronize());
  for (int x : back) EXPECT(x == 42);
  OK(hipGraphExecDestroy(ready));
  OK(hipGraphDestroy(graph));
}

// Each block adds what all wrote before the grid met.
__global__ void MeetAll(int* parts, int* sums) {
  const auto grid = cooperative_groups::this_grid();
  if (threadIdx.x == 0) parts[blockIdx.x] = blockIdx.x + 1;
  grid.sync();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i];
    sums[blockIdx.x] = sum;
  }
}
void Cooperative() {
  constexpr int kBlocks = 16;
  Buffer<int> parts(kBlocks), sums(kBlocks);
  int* a = parts.get();
  int* b = sums.get();
  void* arguments[] = {&a, &b};
  OK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(MeetAll), kBlocks, 64,
                                arguments, 0, nullptr));
  for (int x : sums.Get()) EXPECT(x == kBlocks * (kBlocks + 1) / 2);
}

void Pools() {
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  hipMemPool_t pool;
  OK(hipDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t keep = ~std::uint64_t{0};
  OK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep));
  for (int round = 0; round < 20; ++round) {
    int* at = nullptr;
    OK(hipMallocAsync(reinterpret_cast<void**>(&at), kCount * 4, stream));
    OK(hipMemsetAsync(at, 0, kCount * 4, stream));
    Launch(at, kCount, stream);
    std::vector<int> back(kCount);
    OK(hipMemcpyAsync(back.data(), at, kCount * 4, hipMemcpyDeviceToHost,
                      stream));
    OK(hipFreeAsync(at, stream));
    OK(hipStreamSynchronize(stream));
    for (int x : back) EXPECT(x == 1);
  }
  OK(hipMemPoolTrimTo(pool, 0));
  OK(hipStreamDestroy(stream));
}

void Priorities() {
  int least = 0, greatest = 0;
  OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  for (int priority = greatest; priority <= least; ++priority) {
    hipStream_t stream;
    OK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority));
    Buffer<int> data(kCount);
    data.Set(std::vector<int>(kCount, priority));
    Launch(data.get(), kCount, stream);
    OK(hipStreamSynchronize(stream));
    int is = 99;
    OK(hipStreamGetPriority(stream, &is));
    EXPECT(is == priority);
    for (int x : data.Get()) EXPECT(x == priority + 1);
    OK(hipStreamDestroy(stream));
  }
}

void Callbacks() {
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  Buffer<int> data(kCount);
  data.Set(std::vector<int>(kCount, 0));
  struct Seen {
    const int* device;
    std::vector<int> order;
  } seen = {data.get(), {}};
  const auto note = [](void* to) {
    static_cast<Seen*>(to)->order.push_back(1);
  };
  const auto add = [](hipStream_t, hipError_t status, void* to) {
    static_cast<Seen*>(to)->order.push_back(status == hipSuccess ? 2 : -1);
  };
  Launch(data.get(), kCount, stream);
  OK(hipLaunchHostFunc(stream, note, &seen));
  Launch(data.get(), kCount, stream);
  OK(hipStreamAddCallback(stream, add, &seen, 0));
  OK(hipStreamSynchronize(stream));
  EXPECT((seen.order == std::vector<int>{1, 2}));
  for (int x : data.Get()) EXPECT(x == 2);
  OK(hipStreamDestroy(stream));
}

__managed__ int managed_value = 5;
__global__ void ReadManaged(int* out) { *out = 2 * managed_value; }
void Managed() {
  int* shared = nullptr;
  OK(hipMallocManaged(reinterpret_cast<void**>(&shared), kCount * 4,
                      hipMemAttachGlobal));
  for (int i = 0; i < kCount; ++i) shared[i] = i;
  OK(hipMemPrefetchAsync(shared, kCount * 4, 0, nullptr));
  Launch(shared, kCount);
  OK(hipDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT(shared[i] == i + 1);
  managed_value = 21;
  ReadManaged<<<1, 1>>>(shared);
  OK(hipDeviceSynchronize());
  EXPECT(shared[0] == 42);
  OK(hipFree(shared));
}

void HostMemory() {
  int* mapped = nullptr;
  OK(hipHostMalloc(reinterpret_cast<void**>(&mapped), kCount * 4,
                   hipHostMallocMapped | hipHostMallocCoherent));
  for (int i = 0; i < kCount; ++i) mapped[i] = -i;
  Launch(mapped, kCount);
  OK(hipDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT(mapped[i] == 1 - i);
  OK(hipHostFree(mapped));
  std::vector<int> own(kCount, 3);
  OK(hipHostRegister(own.data(), kCount * 4, hipHostRegisterDefault));
  void* device = nullptr;
  OK(hipHostGetDevicePointer(&device, own.data(), 0));
  Launch(static_cast<int*>(device), kCount);
  OK(hipDeviceSynchronize());
  for (int x : own) EXPECT(x == 4);
  OK(hipHostUnregister(own.data()));
}

// On one device there is nothing to show.
void Peers() {
  int count = 0;
  OK(hipGetDeviceCount(&count));
  if (count < 2) return;
  int can = 0;
  OK(hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT(can == 1);
  OK(hipSetDevice(1));
  Buffer<int> there(kCount);
  there.Set(std::vector<int>(kCount, 10));
  OK(hipSetDevice(0));
  OK(hipDeviceEnablePeerAccess(1, 0));
  Launch(there.get(), kCount);  // the other's memory
  OK(hipDeviceSynchronize());
  Buffer<int> here(kCount);
  OK(hipMemcpyPeer(here.get(), 0, there.get(), 1, kCount * 4));
  for (int x : here.Get()) EXPECT(x == 11);
  OK(hipDeviceDisablePeerAccess(1));
}

void Events() {
  hipStream_t one, two;
  hipEvent_t begin, end;
  OK(hipStreamCreate(&one));
  OK(hipStreamCreate(&two));
  OK(hipEventCreate(&begin));
  OK(hipEventCreate(&end));
  Buffer<int> data(kCount);
  data.Set(std::vector<int>(kCount, 0));
  OK(hipEventRecord(begin, one));
  for (int i = 0; i < 20; ++i) Launch(data.get(), kCount, one);
  OK(hipEventRecord(end, one));
  OK(hipStreamWaitEvent(two, end, 0));
  Launch(data.get(), kCount, two);
  OK(hipStreamSynchronize(two));
  float ms = -1;
  OK(hipEventElapsedTime(&ms, begin, end));
  EXPECT(ms > 0);
  for (int x : data.Get()) EXPECT(x == 21);
  OK(hipEventDestroy(begin));
  OK(hipEventDestroy(end));
  OK(hipStreamDestroy(one));
  OK(hipStreamDestroy(two));
}

void Copies() {
  // A rectangle out of a pitched allocation.
  constexpr std::size_t kWidth = 100, kHeight = 7;
  void* pitched = nullptr;
  std::size_t pitch = 0;
  OK(hipMallocPitch(&pitched, &pitch, kWidth, kHeight));
  std::vector<unsigned char> from(kWidth * kHeight), to(kWidth * kHeight);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<unsigned char>(3 * i);
  }
  OK(hipMemcpy2D(pitched, pitch, from.data(), kWidth, kWidth, kHeight,
                 hipMemcpyHostToDevice));
  OK(hipMemset2D(pitched, pitch, 9, 10, 2));
  OK(hipMemcpy2D(to.data(), kWidth, pitched, pitch, kWidth, kHeight,
                 hipMemcpyDeviceToHost));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool set = i % kWidth < 10 && i / kWidth < 2;
    EXPECT(to[i] == (set ? 9 : from[i]));
  }
  OK(hipFree(pitched));
  // Sizes around what runtimes stage and pin.
  for (std::size_t size : {1, 4095, 65537, 1 << 20, (5 << 20) + 3}) {
    Buffer<char> a(size), b(size);
    std::vector<char> host(size);
    for (std::size_t i = 0; i < size; ++i) host[i] = static_cast<char>(i * 7);
    a.Set(host);
    OK(hipMemcpy(b.get(), a.get(), size, hipMemcpyDeviceToDevice));
    EXPECT(b.Get() == host);
    OK(hipMemset(b.get(), 77, size));
    EXPECT(b.Get() == std::vector<char>(size, 77));
  }
}

__device__ int symbol[4] = {1, 2, 3, 4};
__constant__ int constant;
__global__ void UseSymbols(int* out) {
  out[threadIdx.x] = symbol[threadIdx.x] * constant;
}
void Symbols() {
  int value = 6;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(constant), &value, 4, 0,
                       hipMemcpyHostToDevice));
  Buffer<int> out(4);
  UseSymbols<<<1, 4>>>(out.get());
  EXPECT((out.Get() == std::vector<int>{6, 12, 18, 24}));
}

void Occupancy() {
  int blocks = 0, grid = 0, block = 0;
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, AddOne, 256, 0));
  EXPECT(blocks > 0);
  OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, AddOne, 0, 0));
  EXPECT(grid > 0 && block > 0 && block <= 1024);
}

void VirtualMemory() {
  hipMemAllocationProp p = {};
  p.type = hipMemAllocationTypePinned;
  p.location.type = hipMemLocationTypeDevice;
  p.location.id = 0;
  std::size_t granule = 0;
  OK(hipMemGetAllocationGranularity(&granule, &p,
                                    hipMemAllocationGranularityMinimum));
  const std::size_t size = 2 * granule;
  void* at = nullptr;
  OK(hipMemAddressReserve(&at, size, 0, nullptr, 0));
  hipMemGenericAllocationHandle_t handles[2];
  hipMemAccessDesc access = {};
  access.location = p.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  for (int i = 0; i < 2; ++i) {
    OK(hipMemCreate(&handles[i], granule, &p, 0));
    OK(hipMemMap(static_cast<char*>(at) + i * granule, granule, 0, handles[i],
                 0));
  }
  OK(hipMemSetAccess(at, size, &access, 1));
  const int n = static_cast<int>(size / 4);
  OK(hipMemset(at, 0, size));
  Launch(static_cast<int*>(at), n);
  std::vector<int> back(n);
  OK(hipMemcpy(back.data(), at, size, hipMemcpyDeviceToHost));
  for (int x : back) EXPECT(x == 1);
  for (int i = 0; i < 2; ++i) {
    OK(hipMemUnmap(static_cast<char*>(at) + i * granule, granule));
    OK(hipMemRelease(handles[i]));
  }
  OK(hipMemAddressFree(at, size));
}

__global__ void Fetch(hipTextureObject_t texture, float* out) {
#if !defined(__HIP_NO_IMAGE_SUPPORT) || !__HIP_NO_IMAGE_SUPPORT
  out[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);
#else
  out[threadIdx.x] = threadIdx.x;
#endif
}
void Textures() {
  int images = 0;
  OK(hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0));
  if (images == 0) return;
  Buffer<float> data(64), out(64);
  std::vector<float> host(64);
  for (int i = 0; i < 64; ++i) host[i] = static_cast<float>(i);
  data.Set(host);
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = data.get();
  resource.res.linear.desc = hipCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = 256;
  hipTextureDesc how = {};
  hipTextureObject_t texture;
  OK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  Fetch<<<1, 64>>>(texture, out.get());
  EXPECT(out.Get() == host);
  OK(hipDestroyTextureObject(texture));
}

struct Part {
  const char* name;
  void (*run)();
};
constexpr Part kParts[] = {
    {"query", Query},
    {"vector_add", VectorAdd},
    {"copies", Copies},
    {"symbols", Symbols},
    {"printf", Printf},
    {"device_malloc", DeviceMalloc},
    {"hiprtc", Hiprtc},
    {"captured_graph", CapturedGraph},
    {"built_graph", BuiltGraph},
    {"cooperative", Cooperative},
    {"pools", Pools},
    {"priorities", Priorities},
    {"callbacks", Callbacks},
    {"managed", Managed},
    {"host_memory", HostMemory},
    {"peers", Peers},
    {"events", Events},
    {"occupancy", Occupancy},
    {"virtual_memory", VirtualMemory},
    {"textures", Textures},
};

}  // namespace

int main(int argc, char** argv) {
  int failed = 0;
  for (const Part& part : kParts) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i)
      wanted |= std::strcmp(argv[i], part.name) == 0;
    if (!wanted) continue;
    try {
      part.run();
      std::printf("%s: PASS\n", part.name);
    } catch (const Failed& f) {
      std::printf("%s: FAIL at line %d: %s\n", part.name, f.line,
                  f.what.c_str());
      ++failed;
    }
    std::fflush(stdout);
  }
  return failed != 0;
}
