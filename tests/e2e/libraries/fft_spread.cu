// Transforms over several GPUs: a filter in the order in which a transform
// leaves a volume, images of real numbers, many transforms at once, and copies
// between orders.
//
// RUN: env "DEVICES=gfx1100,gfx1100 gfx942,gfx942,gfx942 gfx942" \
// RUN:   %check %s %t %library -l:libcufft.so.12
#include <cufftXt.h>

#include <numeric>

#include "fft.h"

// Multiplies element (x, y, z) by x + 2 y + 3 z, of a part of y.
__global__ void Filter(cufftDoubleComplex* part, int sx, int sy, int sz,
                       int first) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= sx * sy * sz) return;
  const int x = i / (sy * sz), y = first + i / sz % sy, z = i % sz;
  part[i].x *= x + 2 * y + 3 * z;
  part[i].y *= x + 2 * y + 3 * z;
}

std::vector<int> Gpus() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  std::vector<int> gpus(count);
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

cufftHandle NewPlan(std::vector<int> sizes, cufftType type, int batches) {
  auto gpus = Gpus();
  cufftHandle plan;
  std::vector<std::size_t> room(gpus.size(), 99);
  CALL(cufftCreate(&plan));
  CALL(cufftXtSetGPUs(plan, int(gpus.size()), gpus.data()));
  CALL(cufftMakePlanMany(plan, int(sizes.size()), sizes.data(), nullptr, 1, 0,
                         nullptr, 1, 0, type, batches, room.data()));
  for (const std::size_t bytes : room) EXPECT(bytes != 99);
  return plan;
}
cudaLibXtDesc* NewArray(cufftHandle plan, void* from) {
  cudaLibXtDesc* array;
  CALL(cufftXtMalloc(plan, &array, CUFFT_XT_FORMAT_INPLACE));
  EXPECT(array->descriptor->nGPUs == int(Gpus().size()));
  CALL(cufftXtMemcpy(plan, array, from, CUFFT_COPY_HOST_TO_DEVICE));
  return array;
}

void Volume() {
  constexpr int kX = 5, kY = 7, kZ = 4;
  auto in = ComplexNumbers<double>(kX * kY * kZ, 3);
  const cufftHandle plan = NewPlan({kX, kY, kZ}, CUFFT_Z2Z, 1);
  cudaLibXtDesc* array = NewArray(plan, in.data());
  CALL(cufftXtExecDescriptorZ2Z(plan, array, array, CUFFT_FORWARD));
  EXPECT(array->subFormat == CUFFT_XT_FORMAT_INPLACE_SHUFFLED);
  const int gpus = array->descriptor->nGPUs;
  int first = 0;
  for (int i = 0; i < gpus; ++i) {
    const int rows = kY / gpus + (i < kY % gpus ? 1 : 0);
    CHECK(cudaSetDevice(array->descriptor->GPUs[i]));
    Filter<<<Blocks(kX * rows * kZ), 128>>>(
        static_cast<cufftDoubleComplex*>(array->descriptor->data[i]), kX, rows,
        kZ, first);
    CHECK(cudaDeviceSynchronize());
    first += rows;
  }
  auto want = Transform(in, {kX, kY, kZ}, -1);
  for (int i = 0; i < kX * kY * kZ; ++i) {
    want[i] *= i / (kY * kZ) + 2 * (i / kZ % kY) + 3 * (i % kZ);
  }
  std::vector<Complex> got(in.size());
  CALL(cufftXtMemcpy(plan, got.data(), array, CUFFT_COPY_DEVICE_TO_HOST));
  EXPECT(Near(got, want, 1e-12));
  // To natural order, and back to the host as it lies there.
  cudaLibXtDesc* natural;
  CALL(cufftXtMalloc(plan, &natural, CUFFT_XT_FORMAT_INPLACE));
  CALL(cufftXtMemcpy(plan, natural, array, CUFFT_COPY_DEVICE_TO_DEVICE));
  const int own = kX / gpus + (kX % gpus != 0 ? 1 : 0);
  CHECK(cudaSetDevice(natural->descriptor->GPUs[0]));
  const auto part = ToHost(static_cast<Complex*>(natural->descriptor->data[0]),
                           own * kY * kZ);
  EXPECT(Near(part,
              std::vector<Complex>(want.begin(), want.begin() + own * kY * kZ),
              1e-12));
  CALL(cufftXtExecDescriptorZ2Z(plan, array, array, CUFFT_INVERSE));
  CALL(cufftXtMemcpy(plan, got.data(), array, CUFFT_COPY_DEVICE_TO_HOST));
  EXPECT(Near(got, Transform(want, {kX, kY, kZ}, 1), 1e-12));
  CALL(cufftXtFree(natural));
  CALL(cufftXtFree(array));
  CALL(cufftDestroy(plan));
}

void Image() {
  constexpr int kY = 8, kX = 10, kHalf = kX / 2 + 1;
  const auto image = Numbers<float>(kY * kX, 9);
  std::vector<float> padded(kY * kHalf * 2);
  for (int i = 0; i < kY * kX; ++i) {
    padded[i / kX * kHalf * 2 + i % kX] = image[i];
  }
  const cufftHandle there = NewPlan({kY, kX}, CUFFT_R2C, 1);
  const cufftHandle back = NewPlan({kY, kX}, CUFFT_C2R, 1);
  cudaLibXtDesc* array = NewArray(there, padded.data());
  CALL(cufftXtExecDescriptorR2C(there, array, array));
  std::vector<std::complex<float>> half(kY * kHalf);
  CALL(cufftXtMemcpy(there, half.data(), array, CUFFT_COPY_DEVICE_TO_HOST));
  const auto whole = Transform(Wide(image), {kY, kX}, -1);
  std::vector<Complex> want;
  for (int i = 0; i < kY * kHalf; ++i) {
    want.push_back(whole[i / kHalf * kX + i % kHalf]);
  }
  EXPECT(Near(Wide(half), want, 1e-5));
  CALL(cufftXtExecDescriptorC2R(back, array, array));
  EXPECT(array->subFormat == CUFFT_XT_FORMAT_INPLACE);
  CALL(cufftXtMemcpy(back, padded.data(), array, CUFFT_COPY_DEVICE_TO_HOST));
  std::vector<float> got, scaled;
  for (int i = 0; i < kY * kX; ++i) {
    got.push_back(padded[i / kX * kHalf * 2 + i % kX]);
    scaled.push_back(image[i] * kX * kY);
  }
  EXPECT(Near(got, scaled, 1e-5));
  CALL(cufftXtFree(array));
  CALL(cufftDestroy(there));
  CALL(cufftDestroy(back));
}

void Lines() {
  constexpr int kN = 12, kBatches = 7;
  auto in = ComplexNumbers<float>(kN * kBatches, 4);
  const cufftHandle plan = NewPlan({kN}, CUFFT_C2C, kBatches);
  cudaLibXtDesc* array = NewArray(plan, in.data());
  // Descriptors of the program's own over that memory, as cupy has them.
  cudaXtDesc memory{};
  memory.nGPUs = array->descriptor->nGPUs;
  for (int i = 0; i < memory.nGPUs; ++i) {
    memory.GPUs[i] = array->descriptor->GPUs[i];
    memory.data[i] = array->descriptor->data[i];
    memory.size[i] = array->descriptor->size[i];
  }
  cudaLibXtDesc own{};
  own.descriptor = &memory;
  own.subFormat = array->subFormat;
  CALL(cufftXtExecDescriptorC2C(plan, &own, &own, CUFFT_INVERSE));
  std::vector<std::complex<float>> got(in.size());
  CALL(cufftXtMemcpy(plan, got.data(), &own, CUFFT_COPY_DEVICE_TO_HOST));
  EXPECT(cufftXtFree(&own) != CUFFT_SUCCESS);
  const auto wide = Wide(in);
  std::vector<Complex> want;
  for (int b = 0; b < kBatches; ++b) {
    const auto line = Transform(
        {wide.begin() + b * kN, wide.begin() + (b + 1) * kN}, {kN}, 1);
    want.insert(want.end(), line.begin(), line.end());
  }
  EXPECT(Near(Wide(got), want, 1e-5));
  CALL(cufftXtFree(array));
  EXPECT(cufftXtFree(array) != CUFFT_SUCCESS);
  EXPECT(cufftExecC2C(plan, nullptr, nullptr, 1) != CUFFT_SUCCESS);
  CALL(cufftDestroy(plan));
}

int main() {
  Volume();
  Image();
  Lines();
  int unknown[] = {0, 64};
  cufftHandle plan;
  CALL(cufftCreate(&plan));
  EXPECT(cufftXtSetGPUs(plan, 2, unknown) != CUFFT_SUCCESS);
  constexpr auto kThreads = NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS;
  long long threads = 0;
  CALL(cufftGetPlanPropertyInt64(plan, kThreads, &threads));
  EXPECT(threads == 1);
  CALL(cufftSetPlanPropertyInt64(plan, kThreads, 8));
  CALL(cufftGetPlanPropertyInt64(plan, kThreads, &threads));
  EXPECT(threads == 8);
  CALL(cufftResetPlanProperty(plan, kThreads));
  CALL(cufftGetPlanPropertyInt64(plan, kThreads, &threads));
  EXPECT(threads == 1);
  return Pass();
}
