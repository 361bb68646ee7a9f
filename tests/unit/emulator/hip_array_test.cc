// Arrays, their copies, and the objects that describe textures on them.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/unit/emulator/hip_face.h"

namespace {

constexpr hipChannelFormatDesc kFloat = {32, 0, 0, 0,
                                         hipChannelFormatKindFloat};
constexpr hipChannelFormatDesc kByte4 = {8, 8, 8, 8,
                                         hipChannelFormatKindUnsigned};

class HipArray : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(hipInit(0), hipSuccess); }
  void TearDown() override { EXPECT_EQ(hipDeviceReset(), hipSuccess); }

  hipArray_t Make(const hipChannelFormatDesc& desc, hipExtent extent) {
    hipArray_t array = nullptr;
    EXPECT_EQ(hipMalloc3DArray(&array, &desc, extent, 0), hipSuccess);
    return array;
  }
};

// Numbers that say where they came from.
std::vector<std::uint32_t> Numbers(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = first + static_cast<std::uint32_t>(i);
  }
  return numbers;
}

TEST_F(HipArray, WhatAnArrayIsCanBeAsked) {
  const struct {
    hipChannelFormatDesc desc;
    std::uint32_t format;
    unsigned channels;
  } kCases[] = {
      {{8, 0, 0, 0, hipChannelFormatKindSigned}, HIP_AD_FORMAT_SIGNED_INT8, 1},
      {{8, 8, 8, 8, hipChannelFormatKindUnsigned},
       HIP_AD_FORMAT_UNSIGNED_INT8,
       4},
      {{16, 16, 0, 0, hipChannelFormatKindSigned},
       HIP_AD_FORMAT_SIGNED_INT16,
       2},
      {{16, 0, 0, 0, hipChannelFormatKindUnsigned},
       HIP_AD_FORMAT_UNSIGNED_INT16,
       1},
      {{32, 32, 0, 0, hipChannelFormatKindSigned},
       HIP_AD_FORMAT_SIGNED_INT32,
       2},
      {{32, 0, 0, 0, hipChannelFormatKindUnsigned},
       HIP_AD_FORMAT_UNSIGNED_INT32,
       1},
      {{16, 16, 16, 16, hipChannelFormatKindFloat}, HIP_AD_FORMAT_HALF, 4},
      {{32, 32, 32, 32, hipChannelFormatKindFloat}, HIP_AD_FORMAT_FLOAT, 4},
  };
  for (const auto& test : kCases) {
    hipArray_t array = nullptr;
    ASSERT_EQ(hipMalloc3DArray(&array, &test.desc, {7, 5, 3},
                               hipArraySurfaceLoadStore),
              hipSuccess);
    HIP_ARRAY3D_DESCRIPTOR d = {};
    ASSERT_EQ(hipArray3DGetDescriptor(&d, array), hipSuccess);
    EXPECT_EQ(d.Width, 7u);
    EXPECT_EQ(d.Height, 5u);
    EXPECT_EQ(d.Depth, 3u);
    EXPECT_EQ(d.Format, test.format);
    EXPECT_EQ(d.NumChannels, test.channels);
    EXPECT_EQ(d.Flags, hipArraySurfaceLoadStore);
    hipChannelFormatDesc desc = {};
    hipExtent extent = {};
    unsigned flags = 0;
    ASSERT_EQ(hipArrayGetInfo(&desc, &extent, &flags, array), hipSuccess);
    EXPECT_EQ(std::memcmp(&desc, &test.desc, sizeof desc), 0);
    EXPECT_EQ(extent.depth, 3u);
    EXPECT_EQ(flags, hipArraySurfaceLoadStore);
    EXPECT_EQ(hipFreeArray(array), hipSuccess);
    // The driver's description makes the same array.
    ASSERT_EQ(hipArray3DCreate(&array, &d), hipSuccess);
    desc = {};
    ASSERT_EQ(hipGetChannelDesc(&desc, array), hipSuccess);
    EXPECT_EQ(std::memcmp(&desc, &test.desc, sizeof desc), 0);
    EXPECT_EQ(hipArrayDestroy(array), hipSuccess);
    EXPECT_EQ(hipArrayDestroy(array), hipErrorInvalidValue);
    EXPECT_EQ(hipArray3DGetDescriptor(&d, array), hipErrorInvalidHandle);
  }
}

TEST_F(HipArray, ArraysThatCannotBe) {
  hipArray_t array = nullptr;
  const hipChannelFormatDesc kBad[] = {
      {24, 0, 0, 0, hipChannelFormatKindUnsigned},
      {8, 8, 8, 0, hipChannelFormatKindUnsigned},
      {8, 16, 0, 0, hipChannelFormatKindUnsigned},
      {8, 0, 0, 0, hipChannelFormatKindFloat},
      {0, 0, 0, 0, hipChannelFormatKindUnsigned},
      {32, 0, 0, 0, hipChannelFormatKindNone},
  };
  for (const hipChannelFormatDesc& desc : kBad) {
    EXPECT_EQ(hipMallocArray(&array, &desc, 4, 4, 0), hipErrorInvalidValue);
  }
  const struct {
    hipExtent extent;
    unsigned flags;
    hipError_t want;
  } kShapes[] = {
      {{0, 4, 0}, 0, hipErrorInvalidValue},
      {{4, 0, 4}, 0, hipErrorInvalidValue},
      {{4, 0, 4}, hipArrayLayered, hipSuccess},
      {{4, 4, 0}, hipArrayLayered, hipErrorInvalidValue},
      {{4, 4, 6}, hipArrayCubemap, hipSuccess},
      {{4, 5, 6}, hipArrayCubemap, hipErrorInvalidValue},
      {{4, 4, 5}, hipArrayCubemap, hipErrorInvalidValue},
      {{4, 4, 12}, hipArrayCubemap | hipArrayLayered, hipSuccess},
      {{4, 4, 4}, 0x100, hipErrorInvalidValue},
      {{1u << 30, 1u << 30, 1u << 30}, 0, hipErrorOutOfMemory},
  };
  for (const auto& test : kShapes) {
    EXPECT_EQ(hipMalloc3DArray(&array, &kFloat, test.extent, test.flags),
              test.want);
  }
  EXPECT_EQ(hipMallocArray(nullptr, &kFloat, 4, 4, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipFreeArray(nullptr), hipSuccess);
  EXPECT_EQ(hipFreeArray(reinterpret_cast<hipArray_t>(0x10)),
            hipErrorInvalidValue);
}

TEST_F(HipArray, MemoryOfArraysIsCounted) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  hipArray_t array = Make(kFloat, {256, 256, 4});
  ASSERT_EQ(hipMemGetInfo(&during, &total), hipSuccess);
  EXPECT_EQ(before - during, std::size_t{256} * 256 * 4 * 4);
  ASSERT_EQ(hipFreeArray(array), hipSuccess);
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before, after);
}

TEST_F(HipArray, RowsGoInAndComeOut) {
  hipArray_t array = Make(kFloat, {8, 6, 0});
  const std::vector<std::uint32_t> in = Numbers(48, 100);
  ASSERT_EQ(hipMemcpy2DToArray(array, 0, 0, in.data(), 32, 32, 6,
                               hipMemcpyHostToDevice),
            hipSuccess);
  // A part in the middle, into rows with gaps.
  std::vector<std::uint32_t> out(30, 0);
  ASSERT_EQ(hipMemcpy2DFromArray(out.data(), 40, array, 8, 1, 12, 3,
                                 hipMemcpyDeviceToHost),
            hipSuccess);
  for (std::uint32_t y = 0; y < 3; ++y) {
    for (std::uint32_t x = 0; x < 3; ++x) {
      EXPECT_EQ(out[y * 10 + x], 100 + (y + 1) * 8 + x + 2);
    }
    EXPECT_EQ(out[y * 10 + 3], 0u);
  }
  // What lies beyond the array is refused.
  const auto from = [&](std::size_t x, std::size_t y, std::size_t width,
                        std::size_t height) {
    return hipMemcpy2DFromArray(out.data(), 40, array, x, y, width, height,
                                hipMemcpyDeviceToHost);
  };
  EXPECT_EQ(from(24, 0, 8, 1), hipSuccess);
  EXPECT_EQ(from(28, 0, 8, 1), hipErrorInvalidValue);
  EXPECT_EQ(from(0, 5, 4, 2), hipErrorInvalidValue);
  EXPECT_EQ(from(~std::size_t{0}, 0, 4, 1), hipErrorInvalidValue);
  EXPECT_EQ(from(0, ~std::size_t{0}, 4, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy2DFromArray(out.data(), 8, array, 0, 0, 12, 1,
                                 hipMemcpyDeviceToHost),
            hipErrorInvalidPitchValue);
  EXPECT_EQ(hipMemcpy2DFromArray(out.data(), 40, array, 0, 0, 12, 1,
                                 hipMemcpyHostToDevice),
            hipErrorInvalidValue);
}

TEST_F(HipArray, OneArrayToAnother) {
  hipArray_t a = Make(kFloat, {8, 4, 0}), b = Make(kFloat, {4, 8, 0});
  const std::vector<std::uint32_t> in = Numbers(32, 0);
  ASSERT_EQ(hipMemcpyToArray(a, 0, 0, in.data(), 128, hipMemcpyHostToDevice),
            hipSuccess);
  ASSERT_EQ(
      hipMemcpy2DArrayToArray(b, 4, 2, a, 16, 1, 8, 3, hipMemcpyDeviceToDevice),
      hipSuccess);
  std::vector<std::uint32_t> out(32, ~0u);
  ASSERT_EQ(hipMemcpyFromArray(out.data(), b, 0, 0, 128, hipMemcpyDeviceToHost),
            hipSuccess);
  for (std::uint32_t y = 0; y < 8; ++y) {
    for (std::uint32_t x = 0; x < 4; ++x) {
      const bool inside = y >= 2 && y < 5 && x >= 1 && x < 3;
      EXPECT_EQ(out[y * 4 + x], inside ? (y - 1) * 8 + x + 3 : 0);
    }
  }
}

TEST_F(HipArray, BytesInALine) {
  hipArray_t line = Make(kByte4, {16, 0, 0}), other = Make(kByte4, {4, 4, 0});
  std::vector<unsigned char> in(64), out(64);
  for (std::size_t i = 0; i < 64; ++i) in[i] = static_cast<unsigned char>(i);
  ASSERT_EQ(hipMemcpyHtoA(line, 0, in.data(), 64), hipSuccess);
  // Rows of 16 bytes follow each other.
  ASSERT_EQ(hipMemcpyAtoA(other, 8, line, 20, 30), hipSuccess);
  ASSERT_EQ(hipMemcpyAtoH(out.data(), other, 8, 30), hipSuccess);
  EXPECT_EQ(std::memcmp(out.data(), &in[20], 30), 0);
  ASSERT_EQ(
      hipMemcpyFromArray(out.data(), other, 0, 1, 16, hipMemcpyDeviceToHost),
      hipSuccess);
  EXPECT_EQ(std::memcmp(out.data(), &in[28], 16), 0);
  void* device = nullptr;
  ASSERT_EQ(hipMalloc(&device, 64), hipSuccess);
  ASSERT_EQ(hipMemcpyAtoD(device, line, 4, 60), hipSuccess);
  ASSERT_EQ(hipMemcpyDtoA(line, 0, device, 60), hipSuccess);
  ASSERT_EQ(hipMemcpyAtoH(out.data(), line, 0, 60), hipSuccess);
  EXPECT_EQ(std::memcmp(out.data(), &in[4], 60), 0);
  EXPECT_EQ(hipMemcpyAtoH(out.data(), line, 60, 5), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyHtoA(line, 65, in.data(), 0), hipSuccess);
  EXPECT_EQ(hipMemcpyHtoA(line, ~std::size_t{0}, in.data(), 2),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyHtoA(nullptr, 0, in.data(), 2), hipErrorInvalidHandle);
}

// In the runtime's copies an array's positions and, with one, the extent
// count elements; positions in memory count bytes.
TEST_F(HipArray, BoxesOfElements) {
  hipArray_t array = Make(kFloat, {6, 5, 4});
  const std::vector<std::uint32_t> in = Numbers(120, 0);
  hipMemcpy3DParms p = {};
  p.srcPtr = {const_cast<std::uint32_t*>(in.data()), 24, 6, 5};
  p.dstArray = array;
  p.extent = {6, 5, 4};
  p.kind = hipMemcpyHostToDevice;
  ASSERT_EQ(hipMemcpy3D(&p), hipSuccess);

  std::vector<std::uint32_t> out(120, 0);
  hipMemcpy3DParms part = {};
  part.srcArray = array;
  part.srcPos = {2, 1, 1};
  part.dstPtr = {out.data(), 24, 6, 5};
  part.dstPos = {4, 1, 0};  // one element and one row in
  part.extent = {3, 2, 3};
  part.kind = hipMemcpyDeviceToHost;
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithFlags(&stream, 0), hipSuccess);
  ASSERT_EQ(hipMemcpy3DAsync(&part, stream), hipSuccess);
  ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
  for (std::uint32_t z = 0; z < 4; ++z) {
    for (std::uint32_t y = 0; y < 5; ++y) {
      for (std::uint32_t x = 0; x < 6; ++x) {
        const bool inside = z < 3 && y >= 1 && y < 3 && x >= 1 && x < 4;
        const std::uint32_t want = (z + 1) * 30 + y * 6 + (x + 1);
        EXPECT_EQ(out[z * 30 + y * 6 + x], inside ? want : 0);
      }
    }
  }
  part.srcPos.x = 4;  // 4 + 3 > 6
  EXPECT_EQ(hipMemcpy3D(&part), hipErrorInvalidValue);
  part.srcPos.x = 2;
  part.srcPtr = part.dstPtr;  // both an array and memory
  EXPECT_EQ(hipMemcpy3D(&part), hipErrorInvalidValue);
  part.srcPtr = {};
  part.srcArray = nullptr;  // neither
  EXPECT_EQ(hipMemcpy3D(&part), hipErrorInvalidValue);
  // Arrays of different elements.
  p = {};
  p.srcArray = array;
  p.dstArray = Make({8, 0, 0, 0, hipChannelFormatKindUnsigned}, {6, 5, 4});
  p.extent = {1, 1, 1};
  p.kind = hipMemcpyDeviceToDevice;
  EXPECT_EQ(hipMemcpy3D(&p), hipErrorInvalidValue);
}

// The driver's copies count bytes everywhere.
TEST_F(HipArray, DriverBoxes) {
  hipArray_t array = Make(kFloat, {6, 5, 4});
  const std::vector<std::uint32_t> in = Numbers(120, 1000);
  HIP_MEMCPY3D p = {};
  p.srcMemoryType = hipMemoryTypeHost;
  p.srcHost = in.data();
  p.dstMemoryType = hipMemoryTypeArray;
  p.dstArray = array;
  p.WidthInBytes = 24;
  p.Height = 5;
  p.Depth = 4;
  ASSERT_EQ(hipDrvMemcpy3D(&p), hipSuccess);
  std::vector<std::uint32_t> out(8, 0);
  hip_Memcpy2D flat = {};
  flat.srcMemoryType = hipMemoryTypeArray;
  flat.srcArray = array;
  flat.srcXInBytes = 8;
  flat.srcY = 3;
  flat.dstMemoryType = hipMemoryTypeHost;
  flat.dstHost = out.data();
  flat.dstPitch = 16;
  flat.WidthInBytes = 12;
  flat.Height = 2;
  ASSERT_EQ(hipMemcpyParam2DAsync(&flat, nullptr), hipSuccess);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{1020, 1021, 1022, 0, 1026, 1027,
                                             1028, 0}));
  HIP_MEMCPY3D back = {};
  back.srcMemoryType = hipMemoryTypeArray;
  back.srcArray = array;
  back.srcZ = 3;
  back.srcY = 4;
  back.srcXInBytes = 4;
  back.dstMemoryType = hipMemoryTypeHost;
  back.dstHost = out.data();
  back.WidthInBytes = 20;
  back.Height = back.Depth = 1;
  ASSERT_EQ(hipDrvMemcpy3DAsync(&back, nullptr), hipSuccess);
  EXPECT_EQ(out[0], 1115u);
  EXPECT_EQ(out[4], 1119u);
  back.srcZ = 4;
  EXPECT_EQ(hipDrvMemcpy3D(&back), hipErrorInvalidValue);
  back.srcZ = 3;
  back.srcLOD = 1;
  EXPECT_EQ(hipDrvMemcpy3D(&back), hipErrorInvalidValue);
}

TEST_F(HipArray, LevelsHalve) {
  hipMipmappedArray_t mipmap = nullptr;
  ASSERT_EQ(hipMallocMipmappedArray(&mipmap, &kFloat, {13, 6, 0}, 99, 0),
            hipSuccess);
  const hipExtent kLevels[] = {{13, 6, 0}, {6, 3, 0}, {3, 1, 0}, {1, 1, 0}};
  hipArray_t level = nullptr;
  for (unsigned i = 0; i < 4; ++i) {
    ASSERT_EQ(hipGetMipmappedArrayLevel(&level, mipmap, i), hipSuccess);
    hipExtent extent = {};
    ASSERT_EQ(hipArrayGetInfo(nullptr, &extent, nullptr, level), hipSuccess);
    EXPECT_EQ(extent.width, kLevels[i].width);
    EXPECT_EQ(extent.height, kLevels[i].height);
    EXPECT_EQ(extent.depth, kLevels[i].depth);
    const std::vector<std::uint32_t> in =
        Numbers(extent.width * extent.height, i * 1000);
    ASSERT_EQ(hipMemcpyHtoA(level, 0, in.data(), in.size() * 4), hipSuccess);
    EXPECT_EQ(hipFreeArray(level), hipErrorInvalidValue);
  }
  // No level lies on another.
  for (unsigned i = 0; i < 4; ++i) {
    ASSERT_EQ(hipMipmappedArrayGetLevel(&level, mipmap, i), hipSuccess);
    const std::size_t count = kLevels[i].width * kLevels[i].height;
    std::vector<std::uint32_t> out(count);
    ASSERT_EQ(hipMemcpyAtoH(out.data(), level, 0, count * 4), hipSuccess);
    EXPECT_EQ(out, Numbers(count, i * 1000));
  }
  EXPECT_EQ(hipGetMipmappedArrayLevel(&level, mipmap, 4), hipErrorInvalidValue);
  EXPECT_EQ(hipFreeMipmappedArray(mipmap), hipSuccess);
  EXPECT_EQ(hipFreeMipmappedArray(mipmap), hipErrorInvalidValue);
  EXPECT_EQ(hipArrayGetInfo(nullptr, nullptr, nullptr, level),
            hipErrorInvalidHandle);
  const HIP_ARRAY3D_DESCRIPTOR layered = {
      8, 8, 5, HIP_AD_FORMAT_FLOAT, 1, hipArrayLayered};
  ASSERT_EQ(hipMipmappedArrayCreate(&mipmap, &layered, 2), hipSuccess);
  ASSERT_EQ(hipMipmappedArrayGetLevel(&level, mipmap, 1), hipSuccess);
  HIP_ARRAY3D_DESCRIPTOR d = {};
  ASSERT_EQ(hipArray3DGetDescriptor(&d, level), hipSuccess);
  EXPECT_EQ(d.Width, 4u);
  EXPECT_EQ(d.Depth, 5u);  // layers stay
  EXPECT_EQ(hipMipmappedArrayDestroy(mipmap), hipSuccess);
}

TEST_F(HipArray, AResetTakesArraysAway) {
  hipArray_t array = Make(kFloat, {4, 4, 0});
  ASSERT_EQ(hipDeviceReset(), hipSuccess);
  EXPECT_EQ(hipFreeArray(array), hipErrorInvalidValue);
}

TEST_F(HipArray, TexturesRememberTheirDescription) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = Make(kFloat, {16, 16, 0});
  hipTextureDesc sampling = {};
  sampling.addressMode[0] = 1;
  sampling.filterMode = 1;
  sampling.normalizedCoords = 1;
  hipTextureObject_t texture = nullptr;
  ASSERT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, nullptr),
            hipSuccess);
  ASSERT_NE(texture, nullptr);
  hipResourceDesc resource_out = {};
  hipTextureDesc sampling_out = {};
  hipResourceViewDesc view = {};
  ASSERT_EQ(hipGetTextureObjectResourceDesc(&resource_out, texture),
            hipSuccess);
  EXPECT_EQ(resource_out.res.array.array, resource.res.array.array);
  ASSERT_EQ(hipGetTextureObjectTextureDesc(&sampling_out, texture), hipSuccess);
  EXPECT_EQ(std::memcmp(&sampling, &sampling_out, sizeof sampling), 0);
  EXPECT_EQ(hipGetTextureObjectResourceViewDesc(&view, texture),
            hipErrorInvalidValue);
  HIP_RESOURCE_DESC driver = {};
  EXPECT_EQ(hipTexObjectGetResourceDesc(&driver, texture),
            hipErrorInvalidValue);
  EXPECT_EQ(hipDestroyTextureObject(texture), hipSuccess);
  EXPECT_EQ(hipDestroyTextureObject(texture), hipErrorInvalidValue);

  view = {22, 16, 16, 0, 0, 0, 0, 0};
  ASSERT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, &view),
            hipSuccess);
  hipResourceViewDesc view_out = {};
  ASSERT_EQ(hipGetTextureObjectResourceViewDesc(&view_out, texture),
            hipSuccess);
  EXPECT_EQ(view_out.format, 22u);
  EXPECT_EQ(view_out.width, 16u);
  EXPECT_EQ(hipBindTexture(nullptr), hipErrorNotSupported);
}

TEST_F(HipArray, TexturesOfMemory) {
  void* memory = nullptr;
  ASSERT_EQ(hipMalloc(&memory, 4096), hipSuccess);
  HIP_RESOURCE_DESC resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D = {memory, HIP_AD_FORMAT_FLOAT, 1, 60, 16, 256};
  HIP_TEXTURE_DESC sampling = {};
  sampling.flags = 2;
  hipTextureObject_t texture = nullptr;
  ASSERT_EQ(hipTexObjectCreate(&texture, &resource, &sampling, nullptr),
            hipSuccess);
  HIP_RESOURCE_DESC out = {};
  ASSERT_EQ(hipTexObjectGetResourceDesc(&out, texture), hipSuccess);
  EXPECT_EQ(out.res.pitch2D.devPtr, memory);
  EXPECT_EQ(out.res.pitch2D.width, 60u);
  HIP_TEXTURE_DESC sampling_out = {};
  ASSERT_EQ(hipTexObjectGetTextureDesc(&sampling_out, texture), hipSuccess);
  EXPECT_EQ(sampling_out.flags, 2u);
  EXPECT_EQ(hipTexObjectDestroy(texture), hipSuccess);
  resource.res.pitch2D.width = 65;  // 65 * 4 > 256
  EXPECT_EQ(hipTexObjectCreate(&texture, &resource, &sampling, nullptr),
            hipErrorInvalidValue);

  hipResourceDesc linear = {};
  linear.resType = hipResourceTypeLinear;
  linear.res.linear = {memory, kByte4, 4096};
  hipTextureDesc plain = {};
  EXPECT_EQ(hipCreateTextureObject(&texture, &linear, &plain, nullptr),
            hipSuccess);
  linear.res.linear.devPtr = static_cast<char*>(memory) + 4;
  EXPECT_EQ(hipCreateTextureObject(&texture, &linear, &plain, nullptr),
            hipErrorInvalidValue);
  linear.res.linear.devPtr = memory;
  plain.filterMode = 1;  // integers are not filtered
  EXPECT_EQ(hipCreateTextureObject(&texture, &linear, &plain, nullptr),
            hipErrorInvalidValue);
  plain.readMode = hipReadModeNormalizedFloat;
  EXPECT_EQ(hipCreateTextureObject(&texture, &linear, &plain, nullptr),
            hipSuccess);
}

TEST_F(HipArray, SurfacesAreOfArrays) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = Make(kFloat, {16, 16, 0});
  hipSurfaceObject_t surface = nullptr;
  ASSERT_EQ(hipCreateSurfaceObject(&surface, &resource), hipSuccess);
  EXPECT_EQ(hipDestroySurfaceObject(surface), hipSuccess);
  EXPECT_EQ(hipDestroySurfaceObject(surface), hipErrorInvalidValue);
  resource.resType = hipResourceTypeLinear;
  EXPECT_EQ(hipCreateSurfaceObject(&surface, &resource), hipErrorInvalidValue);
}

}  // namespace
