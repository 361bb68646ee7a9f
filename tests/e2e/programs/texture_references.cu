// Texture and surface references: variables of a module, as nvcc up to CUDA 11
// made them of texture<>, bound by the driver API.
//
// RUN: %check %s %t -Wno-deprecated-declarations
#include "program.h"

const char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.global .texref plane;
.global .texref line;
.global .surfref target;
.visible .entry sample(.param .u64 out, .param .f32 x, .param .f32 y) {
  .reg .f32 %f<8>; .reg .b64 %d;
  ld.param.u64 %d, [out];
  ld.param.f32 %f0, [x];
  ld.param.f32 %f1, [y];
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [plane, {%f0, %f1}];
  st.global.v4.f32 [%d], {%f2, %f3, %f4, %f5};
  ret;
}
.visible .entry fetch(.param .u64 out, .param .u32 i) {
  .reg .b32 %r<6>; .reg .b64 %d;
  ld.param.u64 %d, [out];
  ld.param.u32 %r0, [i];
  tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [line, {%r0}];
  st.global.u32 [%d], %r1;
  ret;
}
.visible .entry store(.param .u32 i, .param .u32 value) {
  .reg .b32 %r<3>;
  ld.param.u32 %r0, [i];
  ld.param.u32 %r1, [value];
  shl.b32 %r0, %r0, 2;
  sust.b.1d.b32.trap [target, {%r0}], {%r1};
  ret;
}
.visible .entry kinds(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %d, %t, %s; .reg .pred %p<4>;
  ld.param.u64 %d, [out];
  mov.u64 %t, plane;
  mov.u64 %s, target;
  istypep.texref %p0, %t;
  istypep.surfref %p1, %t;
  istypep.texref %p2, %s;
  istypep.surfref %p3, %s;
  selp.u32 %r0, 1, 0, %p0;
  selp.u32 %r1, 1, 0, %p1;
  selp.u32 %r2, 1, 0, %p2;
  selp.u32 %r3, 1, 0, %p3;
  st.global.v4.u32 [%d], {%r0, %r1, %r2, %r3};
  ret;
}
)";

CUmodule module;

std::vector<float> Sample(float x, float y) {
  CUfunction sample;
  CHECK_DRIVER(cuModuleGetFunction(&sample, module, "sample"));
  float* out = ToDevice(std::vector<float>(4, -1));
  void* args[] = {&out, &x, &y};
  CHECK_DRIVER(cuLaunchKernel(sample, 1, 1, 1, 1, 1, 1, 0, 0, args, nullptr));
  const std::vector<float> result = ToHost(out, 4);
  CHECK(cudaFree(out));
  return result;
}

unsigned Fetch(unsigned i) {
  CUfunction fetch;
  CHECK_DRIVER(cuModuleGetFunction(&fetch, module, "fetch"));
  unsigned* out = ToDevice(std::vector<unsigned>(1, 0));
  void* args[] = {&out, &i};
  CHECK_DRIVER(cuLaunchKernel(fetch, 1, 1, 1, 1, 1, 1, 0, 0, args, nullptr));
  const unsigned result = ToHost(out, 1)[0];
  CHECK(cudaFree(out));
  return result;
}

CUarray Array(std::size_t width, std::size_t height, const void* texels) {
  const CUDA_ARRAY_DESCRIPTOR d = {width, height, CU_AD_FORMAT_FLOAT, 1};
  CUarray array;
  CHECK_DRIVER(cuArrayCreate(&array, &d));
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = texels;
  copy.srcPitch = copy.WidthInBytes = width * 4;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.Height = height == 0 ? 1 : height;
  CHECK_DRIVER(cuMemcpy2D(&copy));
  return array;
}

void Planes() {
  const float texels[] = {10, 20, 30, 40};
  CUarray array = Array(2, 2, texels), got;
  CUtexref plane, again;
  CHECK_DRIVER(cuModuleGetTexRef(&plane, module, "plane"));
  CHECK_DRIVER(cuModuleGetTexRef(&again, module, "plane"));
  EXPECT(plane == again);
  EXPECT(cuModuleGetTexRef(&again, module, "none") == CUDA_ERROR_NOT_FOUND);
  EXPECT(cuTexRefGetArray(&got, plane) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(cuTexRefSetArray(plane, array, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK_DRIVER(cuTexRefSetArray(plane, array, CU_TRSA_OVERRIDE_FORMAT));
  CHECK_DRIVER(cuTexRefGetArray(&got, plane));
  EXPECT(got == array);
  CUarray_format format;
  int channels = 0;
  CHECK_DRIVER(cuTexRefGetFormat(&format, &channels, plane));
  EXPECT(format == CU_AD_FORMAT_FLOAT && channels == 1);
  EXPECT((Sample(1.5f, 0.5f) == std::vector<float>{20, 0, 0, 1}));

  // State set after the binding counts too.
  CHECK_DRIVER(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_LINEAR));
  EXPECT(Sample(1, 1)[0] == 25);
  CHECK_DRIVER(cuTexRefSetFlags(plane, CU_TRSF_NORMALIZED_COORDINATES));
  EXPECT(Sample(0.5f, 0.5f)[0] == 25);
  CHECK_DRIVER(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_POINT));
  CHECK_DRIVER(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_WRAP));
  EXPECT(Sample(1.25f, 0.25f)[0] == 10);
  CHECK_DRIVER(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_CLAMP));
  EXPECT(Sample(1.25f, 0.25f)[0] == 20);
  float colour[4] = {7, 8, 9, 6}, colour_got[4];
  CHECK_DRIVER(cuTexRefSetBorderColor(plane, colour));
  CHECK_DRIVER(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_BORDER));
  EXPECT(Sample(1.25f, 0.25f)[0] == 7);
  CHECK_DRIVER(cuTexRefGetBorderColor(colour_got, plane));
  EXPECT(std::memcmp(colour, colour_got, sizeof colour) == 0);
  CUaddress_mode mode;
  CHECK_DRIVER(cuTexRefGetAddressMode(&mode, plane, 0));
  EXPECT(mode == CU_TR_ADDRESS_MODE_BORDER);
  EXPECT(cuTexRefSetAddressMode(plane, 3, mode) == CUDA_ERROR_INVALID_VALUE);
  CUfilter_mode filter = CU_TR_FILTER_MODE_LINEAR;
  CHECK_DRIVER(cuTexRefGetFilterMode(&filter, plane));
  EXPECT(filter == CU_TR_FILTER_MODE_POINT);
  unsigned flags = 0;
  CHECK_DRIVER(cuTexRefGetFlags(&flags, plane));
  EXPECT(flags == CU_TRSF_NORMALIZED_COORDINATES);
  CHECK_DRIVER(cuTexRefSetFlags(plane, 0));
  CHECK_DRIVER(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_CLAMP));

  // Rows in linear memory, 256 bytes apart.
  std::vector<float> rows(128);
  rows[1] = 5;
  rows[65] = 6;
  float* memory = ToDevice(rows);
  const CUDA_ARRAY_DESCRIPTOR d = {2, 2, CU_AD_FORMAT_FLOAT, 1};
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  CHECK_DRIVER(cuTexRefSetAddress2D(plane, &d, address, 256));
  EXPECT(Sample(1.5f, 0.5f)[0] == 5 && Sample(1.5f, 1.5f)[0] == 6);
  CUdeviceptr address_got = 0;
  CHECK_DRIVER(cuTexRefGetAddress(&address_got, plane));
  EXPECT(address_got == address);
  EXPECT(cuTexRefGetArray(&got, plane) == CUDA_ERROR_INVALID_VALUE);
  CHECK_DRIVER(cuTexRefSetArray(plane, array, CU_TRSA_OVERRIDE_FORMAT));
  EXPECT(cuTexRefGetAddress(&address_got, plane) == CUDA_ERROR_INVALID_VALUE);
  CHECK_DRIVER(cuArrayDestroy(array));
}

void Mipmaps() {
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = d.Height = 4;
  d.Format = CU_AD_FORMAT_FLOAT;
  d.NumChannels = 1;
  CUmipmappedArray mipmap, got;
  CHECK_DRIVER(cuMipmappedArrayCreate(&mipmap, &d, 2));
  CUtexref plane;
  CHECK_DRIVER(cuModuleGetTexRef(&plane, module, "plane"));
  EXPECT(cuTexRefGetMipmappedArray(&got, plane) == CUDA_ERROR_INVALID_VALUE);
  CHECK_DRIVER(
      cuTexRefSetMipmappedArray(plane, mipmap, CU_TRSA_OVERRIDE_FORMAT));
  CHECK_DRIVER(cuTexRefGetMipmappedArray(&got, plane));
  EXPECT(got == mipmap);
  CHECK_DRIVER(cuTexRefSetMipmapFilterMode(plane, CU_TR_FILTER_MODE_LINEAR));
  CUfilter_mode filter = CU_TR_FILTER_MODE_POINT;
  CHECK_DRIVER(cuTexRefGetMipmapFilterMode(&filter, plane));
  EXPECT(filter == CU_TR_FILTER_MODE_LINEAR);
  CHECK_DRIVER(cuTexRefSetMipmapLevelBias(plane, 0.5f));
  CHECK_DRIVER(cuTexRefSetMipmapLevelClamp(plane, 0.25f, 1));
  CHECK_DRIVER(cuTexRefSetMaxAnisotropy(plane, 4));
  float bias = 0, least = 0, greatest = 0;
  int ratio = 0;
  CHECK_DRIVER(cuTexRefGetMipmapLevelBias(&bias, plane));
  CHECK_DRIVER(cuTexRefGetMipmapLevelClamp(&least, &greatest, plane));
  CHECK_DRIVER(cuTexRefGetMaxAnisotropy(&ratio, plane));
  EXPECT(bias == 0.5f && least == 0.25f && greatest == 1 && ratio == 4);
}

void Lines() {
  CUtexref line;
  CHECK_DRIVER(cuModuleGetTexRef(&line, module, "line"));
  std::vector<unsigned char> bytes(64);
  for (int i = 0; i < 64; ++i) bytes[i] = static_cast<unsigned char>(3 * i);
  const auto address = reinterpret_cast<CUdeviceptr>(ToDevice(bytes));
  std::size_t offset = 1;
  CHECK_DRIVER(cuTexRefSetFlags(line, CU_TRSF_READ_AS_INTEGER));
  CHECK_DRIVER(cuTexRefSetFormat(line, CU_AD_FORMAT_UNSIGNED_INT8, 1));
  CHECK_DRIVER(cuTexRefSetAddress(&offset, line, address, 64));
  EXPECT(Fetch(static_cast<unsigned>(7 + offset)) == 21);
  // Another format of the same bytes; past their end there is nothing.
  CHECK_DRIVER(cuTexRefSetFormat(line, CU_AD_FORMAT_UNSIGNED_INT32, 1));
  EXPECT(Fetch(1) == 0x15120f0c && Fetch(16) == 0);

  CUfunction fetch;
  CHECK_DRIVER(cuModuleGetFunction(&fetch, module, "fetch"));
  CHECK_DRIVER(cuParamSetTexRef(fetch, CU_PARAM_TR_DEFAULT, line));
  CUtexref own;
  CHECK_DRIVER(cuTexRefCreate(&own));
  EXPECT(cuParamSetTexRef(fetch, CU_PARAM_TR_DEFAULT, own) ==
         CUDA_ERROR_INVALID_VALUE);
  CHECK_DRIVER(cuTexRefSetFormat(own, CU_AD_FORMAT_HALF, 2));
  CUarray_format format;
  int channels = 0;
  CHECK_DRIVER(cuTexRefGetFormat(&format, &channels, own));
  EXPECT(format == CU_AD_FORMAT_HALF && channels == 2);
  CHECK_DRIVER(cuTexRefDestroy(own));
  EXPECT(cuTexRefGetFormat(&format, &channels, own) != CUDA_SUCCESS);
  EXPECT(cuTexRefDestroy(line) != CUDA_SUCCESS);
}

void Surfaces() {
  CUsurfref target;
  CUtexref wrong;
  CHECK_DRIVER(cuModuleGetSurfRef(&target, module, "target"));
  EXPECT(cuModuleGetTexRef(&wrong, module, "target") == CUDA_ERROR_NOT_FOUND);
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = 8;
  d.Format = CU_AD_FORMAT_UNSIGNED_INT32;
  d.NumChannels = 1;
  d.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CUarray array, got = nullptr;
  CHECK_DRIVER(cuArray3DCreate(&array, &d));
  CHECK_DRIVER(cuSurfRefSetArray(target, array, 0));
  CHECK_DRIVER(cuSurfRefGetArray(&got, target));
  EXPECT(got == array);
  CUfunction store;
  CHECK_DRIVER(cuModuleGetFunction(&store, module, "store"));
  unsigned i = 5, value = 1234;
  void* args[] = {&i, &value};
  CHECK_DRIVER(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, 0, args, nullptr));
  unsigned texels[8] = {};
  CHECK_DRIVER(cuMemcpyAtoH(texels, array, 0, sizeof texels));
  EXPECT(texels[5] == 1234);
}

// What a reference is can be asked of its address, once it is bound.
void Kinds() {
  CUfunction kinds;
  CHECK_DRIVER(cuModuleGetFunction(&kinds, module, "kinds"));
  unsigned* out = ToDevice(std::vector<unsigned>(4, 9));
  void* args[] = {&out};
  CHECK_DRIVER(cuLaunchKernel(kinds, 1, 1, 1, 1, 1, 1, 0, 0, args, nullptr));
  EXPECT((ToHost(out, 4) == std::vector<unsigned>{1, 0, 0, 1}));
}

int main() {
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(nullptr));
  CHECK_DRIVER(cuModuleLoadData(&module, kPtx));
  Planes();
  Mipmaps();
  Lines();
  Surfaces();
  Kinds();
  CUtexref line;
  CHECK_DRIVER(cuModuleGetTexRef(&line, module, "line"));
  CHECK_DRIVER(cuModuleUnload(module));
  unsigned flags = 0;
  EXPECT(cuTexRefGetFlags(&flags, line) == CUDA_ERROR_INVALID_HANDLE);
  return Pass();
}
