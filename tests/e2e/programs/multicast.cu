// A multicast object over two GPUs: what one address of it loads, stores and
// adds is in the memory of both.
//
// RUN: env DEVICES=gfx1100,gfx942 RUN_ENV=CERBERUS_CC=9.0 %check %s %t \
// RUN:     -gencode arch=compute_90,code=compute_90
#include "program.h"

constexpr int kCount = 256;

// Sums of all GPUs' floats, by four.
__global__ void Sum(const float* multicast, float* out) {
  const int at = 4 * threadIdx.x;
  float a, b, c, d;
  asm volatile(
      "multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
      : "l"(multicast + at)
      : "memory");
  out[at] = a;
  out[at + 1] = b;
  out[at + 2] = c;
  out[at + 3] = d;
}
__global__ void Store(float* multicast, float by) {
  const float value = by * threadIdx.x;
  asm volatile("multimem.st.relaxed.sys.global.f32 [%0], %1;" ::"l"(
                   multicast + threadIdx.x),
               "f"(value)
               : "memory");
}
__global__ void Add(unsigned* multicast, unsigned by) {
  asm volatile("multimem.red.release.sys.global.add.u32 [%0], %1;" ::"l"(
                   multicast + threadIdx.x % 2),
               "r"(by)
               : "memory");
}

template <typename T>
std::vector<T> Read(CUdeviceptr from, std::size_t count) {
  std::vector<T> data(count);
  CHECK_DRIVER(cuMemcpyDtoH(data.data(), from, count * sizeof(T)));
  return data;
}

int main() {
  CHECK(cudaSetDevice(0));
  for (int d = 0; d < 2; ++d) {
    int supported = 0;
    CHECK_DRIVER(cuDeviceGetAttribute(
        &supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, d));
    EXPECT(supported == 1);
  }
  CUmulticastObjectProp object = {};
  object.numDevices = 2;
  std::size_t grain = 0;
  CHECK_DRIVER(cuMulticastGetGranularity(&grain, &object,
                                         CU_MULTICAST_GRANULARITY_MINIMUM));
  EXPECT(grain >= 4096 && (grain & (grain - 1)) == 0);
  object.size = 2 * grain;
  CUmemGenericAllocationHandle multicast;
  CHECK_DRIVER(cuMulticastCreate(&multicast, &object));
  CHECK_DRIVER(cuMulticastAddDevice(multicast, 0));
  CHECK_DRIVER(cuMulticastAddDevice(multicast, 1));

  // Each GPU's memory, at an address of its own.
  CUdeviceptr own[2];
  CUmemGenericAllocationHandle memory[2];
  for (int d = 0; d < 2; ++d) {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, d};
    CUmemAccessDesc access = {prop.location,
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK_DRIVER(cuMemCreate(&memory[d], 2 * grain, &prop, 0));
    CHECK_DRIVER(cuMemAddressReserve(&own[d], 2 * grain, 0, 0, 0));
    CHECK_DRIVER(cuMemMap(own[d], 2 * grain, 0, memory[d], 0));
    CHECK_DRIVER(cuMemSetAccess(own[d], 2 * grain, &access, 1));
  }
  CHECK_DRIVER(cuMulticastBindMem(multicast, 0, memory[0], 0, 2 * grain, 0));
  // In two parts.
  CHECK_DRIVER(cuMulticastBindAddr(multicast, 0, own[1], grain, 0));
  CHECK_DRIVER(cuMulticastBindAddr(multicast, grain, own[1] + grain, grain, 0));

  CUdeviceptr all;
  CHECK_DRIVER(cuMemAddressReserve(&all, 2 * grain, 0, 0, 0));
  CHECK_DRIVER(cuMemMap(all, 2 * grain, 0, multicast, 0));
  CUmemAccessDesc both[2];
  for (int d = 0; d < 2; ++d) {
    both[d] = {{CU_MEM_LOCATION_TYPE_DEVICE, d},
               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  }
  CHECK_DRIVER(cuMemSetAccess(all, 2 * grain, both, 2));
  unsigned long long flags = 0;
  CHECK_DRIVER(cuMemGetAccess(&flags, &both[1].location, all));
  EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  for (int d = 0; d < 2; ++d) {
    std::vector<float> values(kCount);
    for (int i = 0; i < kCount; ++i) values[i] = (d + 1) * 0.5f * i;
    CHECK_DRIVER(cuMemcpyHtoD(own[d], values.data(), kCount * sizeof(float)));
    CHECK_DRIVER(cuMemsetD32(own[d] + grain, 10 * (d + 1), 2));
  }
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    float* out = nullptr;
    CHECK(cudaMalloc(&out, kCount * sizeof(float)));
    Sum<<<1, kCount / 4>>>(reinterpret_cast<float*>(all), out);
    Add<<<1, 64>>>(reinterpret_cast<unsigned*>(all + grain), d + 1);
    CHECK(cudaDeviceSynchronize());
    const std::vector<float> sums = ToHost(out, kCount);
    for (int i = 0; i < kCount; ++i) EXPECT(sums[i] == 1.5f * i);
    CHECK(cudaFree(out));
  }
  // 32 threads of each GPU for each of two words.
  for (int d = 0; d < 2; ++d) {
    const auto words = Read<unsigned>(own[d] + grain, 3);
    EXPECT(words[0] == 10u * (d + 1) + 96 && words[1] == words[0]);
    EXPECT(words[2] == 0);
  }
  CHECK(cudaSetDevice(1));
  Store<<<1, kCount>>>(reinterpret_cast<float*>(all), 3);
  CHECK(cudaDeviceSynchronize());
  for (int d = 0; d < 2; ++d) {
    const auto values = Read<float>(own[d], kCount);
    for (int i = 0; i < kCount; ++i) EXPECT(values[i] == 3.0f * i);
  }

  // Other memory takes the place of one GPU's second part.
  CHECK_DRIVER(cuMulticastUnbind(multicast, 1, grain, grain));
  EXPECT(cuMulticastUnbind(multicast, 1, grain, grain) ==
         CUDA_ERROR_INVALID_VALUE);
  CHECK_DRIVER(cuMulticastBindMem(multicast, grain, memory[1], 0, grain, 0));
  Add<<<1, 2>>>(reinterpret_cast<unsigned*>(all + grain), 5);
  CHECK(cudaDeviceSynchronize());
  EXPECT(Read<unsigned>(own[0] + grain, 1)[0] == 10 + 96 + 5);
  EXPECT(Read<unsigned>(own[1], 1)[0] == 5);

  // Mapped once more, the second part first.
  CUdeviceptr again;
  CHECK_DRIVER(cuMemAddressReserve(&again, grain, 0, 0, 0));
  CHECK_DRIVER(cuMemMap(again, grain, grain, multicast, 0));
  CHECK_DRIVER(cuMemSetAccess(again, grain, both, 2));
  CHECK_DRIVER(cuMemRelease(multicast));
  Add<<<1, 1>>>(reinterpret_cast<unsigned*>(again), 7);
  CHECK(cudaDeviceSynchronize());
  EXPECT(Read<unsigned>(own[0] + grain, 1)[0] == 10 + 96 + 5 + 7);
  EXPECT(Read<unsigned>(own[1], 1)[0] == 12);

  EXPECT(cuMemAddressFree(all, 2 * grain) == CUDA_ERROR_INVALID_VALUE);
  CHECK_DRIVER(cuMemUnmap(all, 2 * grain));
  Add<<<1, 1>>>(reinterpret_cast<unsigned*>(again), 1);
  CHECK(cudaDeviceSynchronize());
  CHECK_DRIVER(cuMemUnmap(again, grain));
  CHECK_DRIVER(cuMemAddressFree(again, grain));
  CHECK_DRIVER(cuMemAddressFree(all, 2 * grain));
  for (int d = 0; d < 2; ++d) {
    CHECK_DRIVER(cuMemUnmap(own[d], 2 * grain));
    CHECK_DRIVER(cuMemRelease(memory[d]));
    CHECK_DRIVER(cuMemAddressFree(own[d], 2 * grain));
  }
  // Nothing is mapped there any more.
  Add<<<1, 1>>>(reinterpret_cast<unsigned*>(all), 1);
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  return Pass();
}
