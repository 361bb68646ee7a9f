#include <cstring>
#include <numeric>

#include "driver.h"

namespace cerberus::stub {
namespace {

class MemoryTest : public DriverTest {};

CUdeviceptr Address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
std::uint8_t* Host(CUdeviceptr address) {
  return reinterpret_cast<std::uint8_t*>(address);
}

TEST_F(MemoryTest, AllocatesAndFrees) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(CU(cuMemAlloc_v2)(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CU(cuMemAlloc_v2)(&pointer, 100), CUDA_SUCCESS);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(CU(cuMemGetAddressRange_v2)(&base, &bytes, pointer + 40),
            CUDA_SUCCESS);
  EXPECT_EQ(base, pointer);
  EXPECT_EQ(bytes, 100u);
  EXPECT_EQ(CU(cuMemFree_v2)(pointer), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemFree_v2)(0), CUDA_SUCCESS);
  std::size_t free = 0, total = 0;
  EXPECT_EQ(CU(cuMemGetInfo_v2)(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, 1000u);
  EXPECT_EQ(total, 2000u);
}

TEST_F(MemoryTest, PitchHoldsARow) {
  CUdeviceptr pointer = 0;
  std::size_t pitch = 0, bytes = 0;
  ASSERT_EQ(CU(cuMemAllocPitch_v2)(&pointer, &pitch, 300, 5, 4), CUDA_SUCCESS);
  EXPECT_GE(pitch, 300u);
  EXPECT_EQ(pitch % 32, 0u);  // the texture pitch alignment
  CU(cuMemGetAddressRange_v2)(nullptr, &bytes, pointer);
  EXPECT_GE(bytes, pitch * 5);
  EXPECT_EQ(CU(cuMemFree_v2)(pointer), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemAllocPitch_v2)(&pointer, &pitch, 300, 5, 3),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemAllocPitch_v2)(&pointer, &pitch, SIZE_MAX - 5, 2, 4),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CU(cuMemAllocPitch_v2)(&pointer, &pitch, SIZE_MAX / 2, 4, 4),
            CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(MemoryTest, OneDimensionalCopies) {
  int a[4] = {1, 2, 3, 4}, b[4] = {}, c[4] = {}, d[4] = {};
  EXPECT_EQ(CU(cuMemcpyHtoD_v2)(Address(b), a, sizeof a), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpyDtoD_v2)(Address(c), Address(b), sizeof b),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpyDtoH_v2)(d, Address(c), sizeof c), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(a, d, sizeof a), 0);
  EXPECT_EQ(CU(cuMemcpy)(Address(a), Address(d), 0), CUDA_SUCCESS);
  EXPECT_EQ(Fake().calls["hipMemcpy"], 3);
}

// A 3 × 2 window copied out of a larger area into another.
TEST_F(MemoryTest, TwoDimensionalCopy) {
  std::uint8_t from[8 * 8], to[10 * 10] = {};
  std::iota(std::begin(from), std::end(from), 0);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.srcPitch = 8;
  copy.srcXInBytes = 2;
  copy.srcY = 3;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = Address(to);
  copy.dstPitch = 10;
  copy.dstXInBytes = 1;
  copy.dstY = 4;
  copy.WidthInBytes = 3;
  copy.Height = 2;
  ASSERT_EQ(CU(cuMemcpy2D_v2)(&copy), CUDA_SUCCESS);
  std::uint8_t expected[10 * 10] = {};
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 3; ++x) {
      expected[(4 + y) * 10 + 1 + x] =
          static_cast<std::uint8_t>((3 + y) * 8 + 2 + x);
    }
  }
  EXPECT_EQ(std::memcmp(to, expected, sizeof to), 0);
  copy.srcPitch = 2;  // smaller than a row
  EXPECT_EQ(CU(cuMemcpy2D_v2)(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcPitch = 8;
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(CU(cuMemcpy2D_v2)(&copy), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuMemcpy2D_v2)(nullptr), CUDA_ERROR_INVALID_VALUE);
}

CUarray MakeArray(std::size_t width, std::size_t height, std::size_t depth,
                  unsigned flags = 0) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = {
      width, height, depth, CU_AD_FORMAT_UNSIGNED_INT16, 2, flags};
  CUarray array = nullptr;
  EXPECT_EQ(CU(cuArray3DCreate_v2)(&array, &descriptor), CUDA_SUCCESS);
  return array;
}

TEST_F(MemoryTest, ArraysKeepWhatIsCopiedIn) {
  const CUarray array = MakeArray(5, 3, 0);  // rows of 20 bytes
  std::uint8_t from[60], to[60] = {};
  std::iota(std::begin(from), std::end(from), 0);
  // As one run of bytes, which crosses from row to row.
  EXPECT_EQ(CU(cuMemcpyHtoA_v2)(array, 0, from, 60), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemcpyAtoH_v2)(to, array, 15, 30), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(to, from + 15, 30), 0);
  EXPECT_EQ(CU(cuMemcpyAtoH_v2)(to, array, 31, 30), CUDA_ERROR_INVALID_VALUE);
  // As a window.
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.srcXInBytes = 4;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = to;
  copy.dstPitch = 8;
  copy.WidthInBytes = 8;
  copy.Height = 2;
  EXPECT_EQ(CU(cuMemcpy2D_v2)(&copy), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(to, from + 24, 8), 0);
  EXPECT_EQ(std::memcmp(to + 8, from + 44, 8), 0);
  copy.Height = 3;  // one row too many
  EXPECT_EQ(CU(cuMemcpy2D_v2)(&copy), CUDA_ERROR_INVALID_VALUE);
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  EXPECT_EQ(CU(cuArray3DGetDescriptor_v2)(&descriptor, array), CUDA_SUCCESS);
  EXPECT_EQ(descriptor.Width, 5u);
  EXPECT_EQ(descriptor.NumChannels, 2u);
  EXPECT_EQ(CU(cuArrayDestroy)(array), CUDA_SUCCESS);
}

TEST_F(MemoryTest, ArraysThatCannotBe) {
  CUarray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR d = {4, 4, 0, CU_AD_FORMAT_FLOAT, 3, 0};
  StderrCapture capture;
  EXPECT_EQ(CU(cuArray3DCreate_v2)(&array, &d), CUDA_ERROR_NOT_SUPPORTED);
  d = {0, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  EXPECT_EQ(CU(cuArray3DCreate_v2)(&array, &d), CUDA_ERROR_INVALID_VALUE);
  d = {4, 0, 4, CU_AD_FORMAT_FLOAT, 1, 0};
  EXPECT_EQ(CU(cuArray3DCreate_v2)(&array, &d), CUDA_ERROR_INVALID_VALUE);
  d = {4, 5, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP};
  EXPECT_EQ(CU(cuArray3DCreate_v2)(&array, &d), CUDA_ERROR_INVALID_VALUE);
  d = {std::size_t{1} << 62, 16, 0, CU_AD_FORMAT_FLOAT, 4, 0};
  EXPECT_EQ(CU(cuArray3DCreate_v2)(&array, &d), CUDA_ERROR_OUT_OF_MEMORY);
}

template <typename T>
T Field(CUtexObject object, std::size_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const std::uint8_t*>(object) + offset,
              sizeof value);
  return value;
}

// docs/texture-descriptor.md, field by field.
TEST_F(MemoryTest, TextureDescriptorOfAnArray) {
  const CUarray array = MakeArray(7, 5, 3, CUDA_ARRAY3D_LAYERED);
  CUDA_RESOURCE_DESC resource = {};
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC texture = {};
  texture.addressMode[0] = 1;
  texture.addressMode[1] = 2;
  texture.addressMode[2] = 3;
  texture.filterMode = 1;
  texture.flags = CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB;
  texture.borderColor[1] = 0.5f;
  CUtexObject object = 0;
  ASSERT_EQ(CU(cuTexObjectCreate)(&object, &resource, &texture, nullptr),
            CUDA_SUCCESS);
  EXPECT_NE(Field<std::uint64_t>(object, 0), 0u);
  EXPECT_EQ(Field<std::uint32_t>(object, 8), 7u);
  EXPECT_EQ(Field<std::uint32_t>(object, 12), 5u);
  EXPECT_EQ(Field<std::uint32_t>(object, 16), 1u);
  EXPECT_EQ(Field<std::uint32_t>(object, 20), 3u);
  const auto row_bytes = Field<std::uint64_t>(object, 24);
  EXPECT_GE(row_bytes, 28u);
  EXPECT_EQ(Field<std::uint64_t>(object, 32), 5 * row_bytes);
  EXPECT_EQ(Field<std::uint32_t>(object, 40), 2u);
  EXPECT_EQ(Field<std::uint32_t>(object, 44), 2u);
  EXPECT_EQ(Field<std::uint32_t>(object, 48), 1u | 2u | 8u);
  EXPECT_EQ(Field<std::uint32_t>(object, 52), 1u);
  EXPECT_EQ(Field<std::uint32_t>(object, 56), 2u);
  EXPECT_EQ(Field<std::uint32_t>(object, 60), 3u);
  EXPECT_EQ(Field<float>(object, 68), 0.5f);
  EXPECT_EQ(Field<std::uint32_t>(object, 80), 1u);
  EXPECT_EQ(Field<std::uint64_t>(object, 96), 0u);
  CUDA_RESOURCE_DESC same = {};
  EXPECT_EQ(CU(cuTexObjectGetResourceDesc)(&same, object), CUDA_SUCCESS);
  EXPECT_EQ(same.res.array.hArray, array);
  EXPECT_EQ(CU(cuTexObjectDestroy)(object), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuTexObjectGetResourceDesc)(&same, object),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuTexObjectDestroy)(object), CUDA_SUCCESS);  // as SiftGPU does
  EXPECT_EQ(CU(cuTexObjectDestroy)(object + 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuArrayDestroy)(array), CUDA_SUCCESS);
}

TEST_F(MemoryTest, TextureDescriptorOfAMipmap) {
  const CUDA_ARRAY3D_DESCRIPTOR d = {8, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(CU(cuMipmappedArrayCreate)(&mipmap, &d, 99), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = mipmap;
  const CUDA_TEXTURE_DESC texture = {};
  CUtexObject object = 0;
  ASSERT_EQ(CU(cuTexObjectCreate)(&object, &resource, &texture, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(Field<std::uint32_t>(object, 80), 4u);  // 8×4, 4×2, 2×1, 1×1
  const auto records = Field<std::uint64_t>(object, 96);
  ASSERT_NE(records, 0u);
  EXPECT_EQ(Field<std::uint32_t>(records, 2 * 40 + 8), 2u);
  EXPECT_EQ(Field<std::uint32_t>(records, 2 * 40 + 12), 1u);
  CUarray level = nullptr;
  EXPECT_EQ(CU(cuMipmappedArrayGetLevel)(&level, mipmap, 3), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMipmappedArrayGetLevel)(&level, mipmap, 4),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuTexObjectDestroy)(object), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMipmappedArrayDestroy)(mipmap), CUDA_SUCCESS);
}

// Outside of linear memory texels are zero, whatever the program asked for.
TEST_F(MemoryTest, TextureDescriptorOfLinearMemory) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(CU(cuMemAlloc_v2)(&memory, 400), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {memory, CU_AD_FORMAT_SIGNED_INT32, 1, 400};
  CUDA_TEXTURE_DESC texture = {};
  texture.borderColor[0] = 1.0f;
  CUtexObject object = 0;
  ASSERT_EQ(CU(cuTexObjectCreate)(&object, &resource, &texture, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(Field<std::uint64_t>(object, 0), memory);
  EXPECT_EQ(Field<std::uint32_t>(object, 8), 100u);
  EXPECT_EQ(Field<std::uint32_t>(object, 48), 4u);  // integers
  EXPECT_EQ(Field<std::uint32_t>(object, 52), 3u);  // border
  EXPECT_EQ(Field<float>(object, 64), 0.0f);
  EXPECT_EQ(CU(cuTexObjectDestroy)(object), CUDA_SUCCESS);
  CU(cuMemFree_v2)(memory);
}

TEST_F(MemoryTest, ThreeDimensionalCopy) {
  constexpr int kX = 5, kY = 4, kZ = 3;
  std::uint8_t from[kX * kY * kZ], to[7 * 6 * 5] = {};
  std::iota(std::begin(from), std::end(from), 1);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.srcPitch = kX;
  copy.srcHeight = kY;
  copy.srcXInBytes = 1;
  copy.srcY = 1;
  copy.srcZ = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = Address(to);
  copy.dstPitch = 7;
  copy.dstHeight = 6;
  copy.dstXInBytes = 2;
  copy.dstY = 3;
  copy.dstZ = 2;
  copy.WidthInBytes = 4;
  copy.Height = 3;
  copy.Depth = 2;
  ASSERT_EQ(CU(cuMemcpy3D_v2)(&copy), CUDA_SUCCESS);
  std::uint8_t expected[7 * 6 * 5] = {};
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 3; ++y) {
      for (int x = 0; x < 4; ++x) {
        expected[((2 + z) * 6 + 3 + y) * 7 + 2 + x] =
            static_cast<std::uint8_t>(1 + ((1 + z) * kY + 1 + y) * kX + 1 + x);
      }
    }
  }
  EXPECT_EQ(std::memcmp(to, expected, sizeof to), 0);
}

TEST_F(MemoryTest, Sets) {
  std::uint32_t words[6] = {};
  const CUdeviceptr at = Address(words);
  EXPECT_EQ(CU(cuMemsetD32_v2)(at, 0x01020304u, 2), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemsetD16_v2)(at + 8, 0xabcd, 2), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemsetD8_v2)(at + 12, 0xee, 4), CUDA_SUCCESS);
  EXPECT_EQ(words[0], 0x01020304u);
  EXPECT_EQ(words[1], 0x01020304u);
  EXPECT_EQ(words[2], 0xabcdabcdu);
  EXPECT_EQ(words[3], 0xeeeeeeeeu);
  EXPECT_EQ(words[4], 0u);
  EXPECT_EQ(CU(cuMemsetD32_v2)(at + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, SetsOfRows) {
  std::uint16_t area[4 * 8] = {};
  // Two rows of three elements, eight elements apart.
  EXPECT_EQ(CU(cuMemsetD2D16_v2)(Address(area + 1), 16, 0x1234, 3, 2),
            CUDA_SUCCESS);
  for (int i = 0; i < 4 * 8; ++i) {
    const bool inside = i / 8 < 2 && i % 8 >= 1 && i % 8 < 4;
    EXPECT_EQ(area[i], inside ? 0x1234 : 0) << i;
  }
  std::uint8_t bytes[3 * 5] = {};
  EXPECT_EQ(CU(cuMemsetD2D8_v2)(Address(bytes), 5, 7, 2, 3), CUDA_SUCCESS);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(bytes[i], i % 5 < 2 ? 7 : 0) << i;
}

TEST_F(MemoryTest, PointerAttributes) {
  CUdeviceptr pointer = 0;
  ASSERT_EQ(CU(cuMemAlloc_v2)(&pointer, 64), CUDA_SUCCESS);
  CUcontext context = nullptr;
  unsigned type = 0;
  CUdeviceptr device_pointer = 0;
  void* host_pointer = Host(1);
  int ordinal = -1;
  std::size_t range = 0;
  CUpointer_attribute ids[] = {1, 2, 3, 4, 9, 12};
  void* data[] = {&context,      &type,    &device_pointer,
                  &host_pointer, &ordinal, &range};
  ASSERT_EQ(CU(cuPointerGetAttributes)(6, ids, data, pointer + 8),
            CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(type, 2u);
  EXPECT_EQ(device_pointer, pointer + 8);
  EXPECT_EQ(host_pointer, nullptr);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(range, 64u);
  // A pointer that CUDA never saw.
  int local = 0;
  ASSERT_EQ(CU(cuPointerGetAttributes)(6, ids, data, Address(&local)),
            CUDA_SUCCESS);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(CU(cuPointerGetAttribute)(&type, 2, Address(&local)),
            CUDA_ERROR_INVALID_VALUE);
  CU(cuMemFree_v2)(pointer);
}

TEST_F(MemoryTest, HostMemory) {
  void* pinned = nullptr;
  ASSERT_EQ(CU(cuMemHostAlloc)(&pinned, 32, 0), CUDA_SUCCESS);
  CUdeviceptr device_pointer = 0;
  EXPECT_EQ(CU(cuMemHostGetDevicePointer_v2)(&device_pointer, pinned, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(device_pointer, Address(pinned));
  EXPECT_EQ(CU(cuMemFreeHost)(pinned), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemHostAlloc)(&pinned, 32, 0x80), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr managed = 0;
  EXPECT_EQ(CU(cuMemAllocManaged)(&managed, 16, 1), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemFree_v2)(managed), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemAllocManaged)(&managed, 16, 0), CUDA_ERROR_INVALID_VALUE);
}

// What this HIP lacks is refused, not invented.
TEST_F(MemoryTest, MissingHipFunctionsAreNotSupported) {
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(CU(cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_ERROR_NOT_SUPPORTED);
  CUipcMemHandle handle;
  EXPECT_EQ(CU(cuIpcGetMemHandle)(&handle, 4096), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(MemoryTest, Streams) {
  CUstream stream = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  unsigned flags = 0;
  EXPECT_EQ(CU(cuStreamGetFlags)(stream, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 1u);
  CUcontext context = nullptr;
  EXPECT_EQ(CU(cuStreamGetCtx)(stream, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(CU(cuStreamSynchronize)(stream), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamQuery)(nullptr), CUDA_SUCCESS);
  int a = 5, b = 0;
  EXPECT_EQ(CU(cuMemcpyHtoDAsync_v2)(Address(&b), &a, sizeof a, stream),
            CUDA_SUCCESS);
  EXPECT_EQ(b, 5);
  static CUstream seen_stream;
  static CUresult seen_status;
  EXPECT_EQ(CU(cuStreamAddCallback)(
                stream,
                [](CUstream s, CUresult status, void* data) {
                  seen_stream = s;
                  seen_status = status;
                  *static_cast<int*>(data) = 11;
                },
                &a, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(seen_stream, stream);
  EXPECT_EQ(seen_status, CUDA_SUCCESS);
  EXPECT_EQ(a, 11);
  // This HIP has no hipLaunchHostFunc; its callback does the same.
  EXPECT_EQ(CU(cuLaunchHostFunc)(
                stream, [](void* data) { *static_cast<int*>(data) = 12; }, &a),
            CUDA_SUCCESS);
  EXPECT_EQ(a, 12);
  const CUhostFn next = [](void* data) { ++*static_cast<int*>(data); };
  EXPECT_EQ(CU(cuLaunchHostFunc_v2)(stream, next, &a, 1), CUDA_SUCCESS);
  EXPECT_EQ(a, 13);
  EXPECT_EQ(CU(cuLaunchHostFunc_v2)(stream, next, &a, 2),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuStreamDestroy_v2)(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuStreamCreate)(&stream, 8), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryTest, Events) {
  CUevent event = nullptr;
  ASSERT_EQ(CU(cuEventCreate)(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventRecord)(event, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(CU(cuEventSynchronize)(event), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(CU(cuEventElapsedTime_v2)(&milliseconds, event, event),
            CUDA_SUCCESS);
  EXPECT_EQ(milliseconds, 1.5f);
  EXPECT_EQ(CU(cuEventDestroy_v2)(event), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventRecord)(nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuEventCreate)(&event, 64), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cerberus::stub
