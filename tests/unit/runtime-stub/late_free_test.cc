// What a program lets go while work that uses it is queued serves that work to
// its end, as with NVIDIA's driver: a stream is held back, what its work uses
// is destroyed, and then the work runs.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#include "emulated.h"

namespace cerberus::stub {
namespace {

constexpr int kThreads = 64;
constexpr std::size_t kBytes = kThreads * sizeof(int);

// By a texture (tex.1d and, from its second row, tex.2d) or a surface, and a
// variable of the module; out[i] = what thread i read.
constexpr char kReaders[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 base;
.visible .entry read_texture(.param .u64 object, .param .u64 out) {
  .reg .b64 %rd<5>;
  .reg .b32 %r<8>;
  ld.param.u64 %rd1, [object];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {%r1}];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r2;
  ret;
}
.visible .entry read_surface(.param .u64 object, .param .u64 out) {
  .reg .b64 %rd<5>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [object];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  suld.b.1d.b32.trap {%r3}, [%rd1, {%r2}];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r3;
  ret;
}
.visible .entry read_variable(.param .u64 object, .param .u64 out) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  ld.global.u32 %r2, [base];
  add.u32 %r2, %r2, %r1;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
})";

class LateFreeTest : public EmulatedTest {
 protected:
  void SetUp() override {
    EmulatedTest::SetUp();
    ASSERT_EQ(CU(cuModuleLoadData)(&readers_, kReaders), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    ASSERT_EQ(CU(cuMemAlloc_v2)(&out_, kBytes), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuMemsetD8_v2)(out_, 0, kBytes), CUDA_SUCCESS);
    void* word = nullptr;
    ASSERT_EQ(
        CU(cuMemHostAlloc)(&word, sizeof *word_, CU_MEMHOSTALLOC_DEVICEMAP),
        CUDA_SUCCESS);
    word_ = static_cast<std::atomic<std::uint32_t>*>(word);
    *word_ = 0;
  }

  CUfunction Reader(const char* name) {
    CUfunction function = nullptr;
    EXPECT_EQ(CU(cuModuleGetFunction)(&function, readers_, name), CUDA_SUCCESS);
    return function;
  }
  void Launch(CUfunction function, unsigned long long object) {
    void* params[] = {&object, &out_};
    EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, kThreads, 1, 1, 0, stream_,
                                 params, nullptr),
              CUDA_SUCCESS);
  }
  // Later work of the stream waits.
  void HoldBack() {
    EXPECT_EQ(CU(cuStreamWaitValue32_v2)(
                  stream_, reinterpret_cast<CUdeviceptr>(word_), 1, 0),
              CUDA_SUCCESS);
  }
  void GoOn() { *word_ = 1; }
  // While the stream's work waits, which goes on soon: letting go may wait.
  template <typename LetGo>
  void WhileQueued(LetGo let_go) {
    std::thread later([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      GoOn();
    });
    EXPECT_EQ(let_go(), CUDA_SUCCESS);
    later.join();
  }
  // What the work has written.
  std::vector<int> Out() {
    std::vector<int> out(kThreads);
    EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemcpyDtoH_v2)(out.data(), out_, kBytes), CUDA_SUCCESS);
    return out;
  }

  static std::vector<int> From(int first) {
    std::vector<int> values(kThreads);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  CUdeviceptr Memory(int first) {
    CUdeviceptr memory = 0;
    const std::vector<int> values = From(first);
    EXPECT_EQ(CU(cuMemAlloc_v2)(&memory, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuMemcpyHtoD_v2)(memory, values.data(), kBytes), CUDA_SUCCESS);
    return memory;
  }
  static constexpr CUDA_ARRAY3D_DESCRIPTOR kLine = {
      kThreads, 0, 0, CU_AD_FORMAT_SIGNED_INT32, 1, 0};
  void Fill(CUarray array, int first) {
    const std::vector<int> values = From(first);
    EXPECT_EQ(CU(cuMemcpyHtoA_v2)(array, 0, values.data(), kBytes),
              CUDA_SUCCESS);
  }
  CUtexObject Texture(const CUDA_RESOURCE_DESC& resource) {
    CUDA_TEXTURE_DESC texture = {};
    texture.flags = CU_TRSF_READ_AS_INTEGER;
    CUtexObject object = 0;
    EXPECT_EQ(CU(cuTexObjectCreate)(&object, &resource, &texture, nullptr),
              CUDA_SUCCESS);
    return object;
  }
  CUtexObject TextureOf(CUdeviceptr memory) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = memory;
    resource.res.linear.format = CU_AD_FORMAT_SIGNED_INT32;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = kBytes;
    return Texture(resource);
  }
  static CUDA_RESOURCE_DESC ResourceOf(CUarray array) {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }

  CUmodule readers_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr out_ = 0;
  std::atomic<std::uint32_t>* word_ = nullptr;
};

// Nothing waits, and what is made meanwhile takes no place of theirs.
TEST_F(LateFreeTest, TextureObjects) {
  const CUdeviceptr memory = Memory(100), others = Memory(500);
  const CUtexObject texture = TextureOf(memory);
  HoldBack();
  Launch(Reader("read_texture"), texture);
  ASSERT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
  for (int i = 0; i < 5000; ++i) {
    const CUtexObject other = TextureOf(others);
    ASSERT_NE(other, texture);
    ASSERT_EQ(CU(cuTexObjectDestroy)(other), CUDA_SUCCESS);
  }
  EXPECT_TRUE(StaysBusy(stream_));
  GoOn();
  EXPECT_EQ(Out(), From(100));
}

// Their memory serves again when nothing can read it any more.
TEST_F(LateFreeTest, TextureObjectsTakeNoMoreMemoryForEver) {
  const CUdeviceptr memory = Memory(0);
  const auto free_after = [&](int objects) {
    for (int i = 0; i < objects; ++i) {
      EXPECT_EQ(CU(cuTexObjectDestroy)(TextureOf(memory)), CUDA_SUCCESS);
    }
    std::size_t free_bytes = 0, total = 0;
    EXPECT_EQ(CU(cuMemGetInfo_v2)(&free_bytes, &total), CUDA_SUCCESS);
    return free_bytes;
  };
  EXPECT_EQ(free_after(6000), free_after(6000));
}

// CUDA does not allow it, but it works there, and programs do it: an object
// that another one's copy has destroyed (SiftGPU's CuTexObj).
TEST_F(LateFreeTest, TextureObjectsDestroyedBeforeTheLaunch) {
  const CUdeviceptr memory = Memory(100);
  const CUtexObject texture = TextureOf(memory);
  ASSERT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
  const CUtexObject other = TextureOf(Memory(500));
  EXPECT_NE(other, texture);
  Launch(Reader("read_texture"), texture);
  EXPECT_EQ(Out(), From(100));
}

// The same: pycolmap 4.2.1 gives up at an error here.
TEST_F(LateFreeTest, ObjectsDestroyedTwice) {
  CUDA_RESOURCE_DESC resource = {};
  const CUtexObject texture = TextureOf(Memory(100));
  ASSERT_EQ(CU(cuTexObjectGetResourceDesc)(&resource, texture), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
  EXPECT_NE(CU(cuTexObjectGetResourceDesc)(&resource, texture), CUDA_SUCCESS);
  EXPECT_NE(CU(cuTexObjectDestroy)(texture + 1), CUDA_SUCCESS);
  CUarray array = nullptr;
  ASSERT_EQ(CU(cuArray3DCreate_v2)(&array, &kLine), CUDA_SUCCESS);
  resource = ResourceOf(array);
  CUsurfObject surface = 0;
  ASSERT_EQ(CU(cuSurfObjectCreate)(&surface, &resource), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuSurfObjectDestroy)(surface), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuSurfObjectDestroy)(surface), CUDA_SUCCESS);
}

TEST_F(LateFreeTest, SurfaceObjectsAndArrays) {
  CUarray array = nullptr;
  ASSERT_EQ(CU(cuArray3DCreate_v2)(&array, &kLine), CUDA_SUCCESS);
  Fill(array, 200);
  const CUDA_RESOURCE_DESC resource = ResourceOf(array);
  CUsurfObject surface = 0;
  ASSERT_EQ(CU(cuSurfObjectCreate)(&surface, &resource), CUDA_SUCCESS);
  HoldBack();
  Launch(Reader("read_surface"), surface);
  ASSERT_EQ(CU(cuSurfObjectDestroy)(surface), CUDA_SUCCESS);
  WhileQueued([&] { return CU(cuArrayDestroy)(array); });
  EXPECT_EQ(Out(), From(200));
}

TEST_F(LateFreeTest, MipmappedArrays) {
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(CU(cuMipmappedArrayCreate)(&mipmap, &kLine, 3), CUDA_SUCCESS);
  CUarray level = nullptr;
  ASSERT_EQ(CU(cuMipmappedArrayGetLevel)(&level, mipmap, 0), CUDA_SUCCESS);
  Fill(level, 300);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = mipmap;
  const CUtexObject texture = Texture(resource);
  HoldBack();
  Launch(Reader("read_texture"), texture);
  ASSERT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
  WhileQueued([&] { return CU(cuMipmappedArrayDestroy)(mipmap); });
  EXPECT_EQ(Out(), From(300));
}

TEST_F(LateFreeTest, ModulesAndLibraries) {
  const int base = 40;
  CUdeviceptr variable = 0;
  ASSERT_EQ(CU(cuModuleGetGlobal_v2)(&variable, nullptr, readers_, "base"),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemcpyHtoD_v2)(variable, &base, sizeof base), CUDA_SUCCESS);
  HoldBack();
  Launch(Reader("read_variable"), 0);
  WhileQueued([&] { return CU(cuModuleUnload)(readers_); });
  EXPECT_EQ(Out(), From(40));

  CUlibrary library = nullptr;
  ASSERT_EQ(CU(cuLibraryLoadData)(&library, kReaders, nullptr, nullptr, 0,
                                  nullptr, nullptr, 0),
            CUDA_SUCCESS);
  CUkernel kernel = nullptr;
  ASSERT_EQ(CU(cuLibraryGetKernel)(&kernel, library, "read_variable"),
            CUDA_SUCCESS);
  *word_ = 0;
  HoldBack();
  Launch(reinterpret_cast<CUfunction>(kernel), 0);
  WhileQueued([&] { return CU(cuLibraryUnload)(library); });
  EXPECT_EQ(Out(), From(0));
}

TEST_F(LateFreeTest, EventsAndStreams) {
  CUstream other = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  HoldBack();
  ASSERT_EQ(CU(cuMemsetD32Async)(out_, 1, kThreads, stream_), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventRecord)(event, stream_), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamWaitEvent)(other, event, 0), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventDestroy_v2)(event), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemsetD32Async)(out_, 2, kThreads / 2, other), CUDA_SUCCESS);
  WhileQueued([&] { return CU(cuStreamDestroy_v2)(stream_); });
  ASSERT_EQ(CU(cuStreamDestroy_v2)(other), CUDA_SUCCESS);
  std::vector<int> expected(kThreads, 2);
  std::fill(expected.begin() + kThreads / 2, expected.end(), 1);
  EXPECT_EQ(Out(), expected);
}

TEST_F(LateFreeTest, GraphsAndWhatWasMadeOfThem) {
  const CUdeviceptr memory = Memory(100);
  const CUtexObject texture = TextureOf(memory);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(CU(cuStreamBeginCapture_v2)(stream_, 0), CUDA_SUCCESS);
  Launch(Reader("read_texture"), texture);
  ASSERT_EQ(CU(cuStreamEndCapture)(stream_, &graph), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
  HoldBack();
  ASSERT_EQ(CU(cuGraphLaunch)(exec, stream_), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuGraphDestroy)(graph), CUDA_SUCCESS);
  WhileQueued([&] { return CU(cuGraphExecDestroy)(exec); });
  EXPECT_EQ(Out(), From(100));
}

TEST_F(LateFreeTest, MemoryOfEveryKind) {
  struct Kind {
    const char* name;
    CUdeviceptr memory;
    std::function<CUresult()> let_go;
  };
  const CUdeviceptr device = Memory(100);
  CUdeviceptr managed = 0, pooled = 0;
  ASSERT_EQ(CU(cuMemAllocManaged)(&managed, kBytes, CU_MEM_ATTACH_GLOBAL),
            CUDA_SUCCESS);
  void* pinned = nullptr;
  ASSERT_EQ(CU(cuMemHostAlloc)(&pinned, kBytes, 0), CUDA_SUCCESS);
  std::vector<int> registered(kThreads);
  ASSERT_EQ(CU(cuMemHostRegister_v2)(registered.data(), kBytes, 0),
            CUDA_SUCCESS);
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(CU(cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemAllocFromPoolAsync)(&pooled, kBytes, pool, stream_),
            CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
  const auto address = [](void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
  };
  const Kind kinds[] = {
      {"device", device, [&] { return CU(cuMemFree_v2)(device); }},
      {"managed", managed, [&] { return CU(cuMemFree_v2)(managed); }},
      {"pinned", address(pinned), [&] { return CU(cuMemFreeHost)(pinned); }},
      {"registered", address(registered.data()),
       [&] { return CU(cuMemHostUnregister)(registered.data()); }},
      {"pooled", pooled,
       [&] {
         const CUresult result = CU(cuMemFreeAsync)(pooled, stream_);
         return result == CUDA_SUCCESS ? CU(cuMemPoolDestroy)(pool) : result;
       }},
  };
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    const std::vector<int> values = From(100);
    ASSERT_EQ(CU(cuMemcpy)(kind.memory,
                           address(const_cast<int*>(values.data())), kBytes),
              CUDA_SUCCESS);
    ASSERT_EQ(CU(cuMemsetD8_v2)(out_, 0, kBytes), CUDA_SUCCESS);
    const CUtexObject texture = TextureOf(kind.memory);
    *word_ = 0;
    HoldBack();
    Launch(Reader("read_texture"), texture);
    ASSERT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
    WhileQueued(kind.let_go);
    EXPECT_EQ(Out(), From(100));
  }
}

TEST_F(LateFreeTest, ExternalMemory) {
  const int file = memfd_create("external", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
  description.type = 1;  // a file descriptor
  description.handle.fd = file;
  description.size = 4096;
  CUexternalMemory memory = nullptr;
  ASSERT_EQ(CU(cuImportExternalMemory)(&memory, &description), CUDA_SUCCESS);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC range = {};
  range.size = kBytes;
  CUdeviceptr mapped = 0;
  ASSERT_EQ(CU(cuExternalMemoryGetMappedBuffer)(&mapped, memory, &range),
            CUDA_SUCCESS);
  const std::vector<int> values = From(100);
  ASSERT_EQ(CU(cuMemcpyHtoD_v2)(mapped, values.data(), kBytes), CUDA_SUCCESS);
  const CUtexObject texture = TextureOf(mapped);
  HoldBack();
  Launch(Reader("read_texture"), texture);
  ASSERT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
  WhileQueued([&] {
    const CUresult result = CU(cuMemFree_v2)(mapped);
    return result == CUDA_SUCCESS ? CU(cuDestroyExternalMemory)(memory)
                                  : result;
  });
  EXPECT_EQ(Out(), From(100));
}

// A context's end ends its work.
TEST_F(LateFreeTest, Contexts) {
  CUcontext context = nullptr;
  ASSERT_EQ(CU(cuCtxCreate_v2)(&context, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr memory = Memory(100);
  const CUtexObject texture = TextureOf(memory);
  CUstream theirs = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&theirs, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  std::swap(stream_, theirs);
  HoldBack();
  Launch(Reader("read_texture"), texture);
  WhileQueued([&] { return CU(cuCtxDestroy_v2)(context); });
  EXPECT_EQ(Out(), From(100));
}

}  // namespace
}  // namespace cerberus::stub
