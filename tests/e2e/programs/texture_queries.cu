// What a kernel can do with a texture or surface beside reading and writing
// its elements: take the four that a filter would blend, ask how large it is,
// and count in it.
//
// RUN: %check %s %t
#include <algorithm>
#include <cmath>

#include "program.h"

namespace {

constexpr int kWidth = 13, kHeight = 7;
constexpr int kPoints = 64;

__global__ void Gather(cudaTextureObject_t texture, const float2* points,
                       float4* out) {
  const int i = threadIdx.x;
  const float2 at = points[i];
  out[4 * i] = tex2Dgather<float4>(texture, at.x, at.y, 0);
  out[4 * i + 1] = tex2Dgather<float4>(texture, at.x, at.y, 1);
  float4 blue, alpha;
  asm("tld4.b.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
      : "=f"(blue.x), "=f"(blue.y), "=f"(blue.z), "=f"(blue.w)
      : "l"(texture), "f"(at.x), "f"(at.y));
  asm("tld4.a.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
      : "=f"(alpha.x), "=f"(alpha.y), "=f"(alpha.z), "=f"(alpha.w)
      : "l"(texture), "f"(at.x), "f"(at.y));
  out[4 * i + 2] = blue;
  out[4 * i + 3] = alpha;
}

__global__ void Query(cudaTextureObject_t texture, cudaSurfaceObject_t surface,
                      int* out) {
  asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(texture));
  asm("txq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(texture));
  asm("txq.normalized_coords.b32 %0, [%1];" : "=r"(out[2]) : "l"(texture));
  asm("suq.width.b32 %0, [%1];" : "=r"(out[3]) : "l"(surface));
  asm("suq.height.b32 %0, [%1];" : "=r"(out[4]) : "l"(surface));
}

// Each thread adds to the element of its column, and each warp raises one.
__global__ void Reduce(cudaSurfaceObject_t counters) {
  const int x = threadIdx.x % 4 * int(sizeof(unsigned));
  asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;" ::"l"(counters),
               "r"(x), "r"(0), "r"(threadIdx.x));
  asm volatile("sured.b.max.2d.s32.trap [%0, {%1, %2}], %3;" ::"l"(counters),
               "r"(x), "r"(1), "r"(int(threadIdx.x) - 40));
}

// The element of component c that clamping addresses choose.
float Element(const std::vector<float4>& data, int x, int y, int c) {
  const float4& e = data[std::clamp(y, 0, kHeight - 1) * kWidth +
                         std::clamp(x, 0, kWidth - 1)];
  return c == 0 ? e.x : c == 1 ? e.y : c == 2 ? e.z : e.w;
}

}  // namespace

int main() {
  std::vector<float4> data(kWidth * kHeight);
  for (int i = 0; i < kWidth * kHeight; ++i) {
    data[i] = make_float4(i, i + 0.25f, -i, 1000 + i);
  }
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
  CHECK(cudaMallocArray(&array, &format, kWidth, kHeight,
                        cudaArraySurfaceLoadStore | cudaArrayTextureGather));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, data.data(), kWidth * sizeof(float4),
                            kWidth * sizeof(float4), kHeight,
                            cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.filterMode = cudaFilterModePoint;
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  CHECK(cudaCreateSurfaceObject(&surface, &resource));

  std::vector<float2> points(kPoints);
  for (int i = 0; i < kPoints; ++i) {  // some of them outside
    points[i] = make_float2(i * 0.27f - 1.1f, i * 3 % 37 * 0.23f - 0.6f);
  }
  float4* out = ToDevice(std::vector<float4>(4 * kPoints));
  Gather<<<1, kPoints>>>(texture, ToDevice(points), out);
  CHECK(cudaDeviceSynchronize());
  const std::vector<float4> got = ToHost(out, 4 * kPoints);
  for (int i = 0; i < kPoints; ++i) {
    const int x = std::floor(points[i].x - 0.5f);
    const int y = std::floor(points[i].y - 0.5f);
    for (int c = 0; c < 4; ++c) {
      // PTX ISA, "tld4": counter-clockwise from the lower left.
      const float4 value = got[4 * i + c];
      EXPECT(value.x == Element(data, x, y + 1, c));
      EXPECT(value.y == Element(data, x + 1, y + 1, c));
      EXPECT(value.z == Element(data, x + 1, y, c));
      EXPECT(value.w == Element(data, x, y, c));
    }
  }

  int* answers = ToDevice(std::vector<int>(5, -1));
  Query<<<1, 1>>>(texture, surface, answers);
  CHECK(cudaDeviceSynchronize());
  EXPECT(ToHost(answers, 5) ==
         (std::vector<int>{kWidth, kHeight, 0, kWidth, kHeight}));
  const cudaChannelFormatDesc word = cudaCreateChannelDesc<unsigned>();
  CHECK(cudaMallocArray(&array, &word, 4, 2, cudaArraySurfaceLoadStore));
  unsigned counts[2][4] = {{0, 0, 0, 0}, {0, 0, 0, unsigned(-99)}};
  CHECK(cudaMemcpy2DToArray(array, 0, 0, counts, sizeof counts[0],
                            sizeof counts[0], 2, cudaMemcpyHostToDevice));
  resource.res.array.array = array;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  Reduce<<<1, 32>>>(surface);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy2DFromArray(counts, sizeof counts[0], array, 0, 0,
                              sizeof counts[0], 2, cudaMemcpyDeviceToHost));
  for (int x = 0; x < 4; ++x) {
    EXPECT(counts[0][x] == unsigned(8 * x + 4 * 28));
    EXPECT(int(counts[1][x]) == (x == 3 ? 31 - 40 : 0));
  }
  return Pass();
}
