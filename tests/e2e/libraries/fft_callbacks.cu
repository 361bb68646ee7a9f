// Images in two dimensions, in place with padded rows; a program that would
// give callbacks is refused and computes as before.
//
// RUN: %check %s %t %library -l:libcufft.so.12
#include <cufftXt.h>

#include "fft.h"

constexpr int kY = 9, kX = 12, kPadded = kX / 2 + 1;

int main() {
  const auto image = Numbers<float>(kY * kX, 7);
  std::vector<float> padded(kY * kPadded * 2);
  for (int i = 0; i < kY * kX; ++i) {
    padded[i / kX * kPadded * 2 + i % kX] = image[i];
  }
  float* data = ToDevice(padded);
  cufftHandle plan;
  CALL(cufftPlan2d(&plan, kY, kX, CUFFT_R2C));
  void* callback = data;
  EXPECT(cufftXtSetCallback(plan, &callback, CUFFT_CB_LD_REAL, nullptr) !=
         CUFFT_SUCCESS);
  // Nor as code for the linker, before the plan is made.
  cufftHandle linked;
  CALL(cufftCreate(&linked));
  EXPECT(cufftXtSetJITCallback(linked, "callback", data, 16, CUFFT_CB_LD_REAL,
                               nullptr) != CUFFT_SUCCESS);
  CALL(cufftDestroy(linked));
  CALL(cufftExecR2C(plan, data, reinterpret_cast<cufftComplex*>(data)));
  CHECK(cudaDeviceSynchronize());
  const auto whole = Transform(Wide(image), {kY, kX}, -1);
  std::vector<Complex> half;
  for (int i = 0; i < kY * kPadded; ++i) {
    half.push_back(whole[i / kPadded * kX + i % kPadded]);
  }
  EXPECT(
      Near(ToHost(reinterpret_cast<std::complex<float>*>(data), kY * kPadded),
           half, 1e-5));
  CALL(cufftDestroy(plan));
  int version = 0;
  CALL(cufftGetVersion(&version));
  EXPECT(version >= 12000);
  return Pass();
}
