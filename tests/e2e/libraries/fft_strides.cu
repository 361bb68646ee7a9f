// cufftPlanMany: real rows that lie apart, their transforms closer together,
// columns of a matrix, and back.
//
// RUN: %check %s %t %library -l:libcufft.so.12
#include "fft.h"

constexpr int kRows = 6, kN = 20, kPitch = 25, kHalf = kN / 2 + 1,
              kHalfPitch = 12;

void Rows() {
  const auto in = Numbers<float>(kRows * kPitch, 3);
  auto* din = ToDevice(in);
  auto* out = Zeros<cufftComplex>(kRows * kHalfPitch);
  int n[] = {kN}, from[] = {kPitch}, to[] = {kHalfPitch};
  cufftHandle forward, inverse;
  CALL(cufftPlanMany(&forward, 1, n, from, 1, kPitch, to, 1, kHalfPitch,
                     CUFFT_R2C, kRows));
  CALL(cufftPlanMany(&inverse, 1, n, to, 1, kHalfPitch, from, 1, kPitch,
                     CUFFT_C2R, kRows));
  CALL(cufftExecR2C(forward, din, out));
  CHECK(cudaDeviceSynchronize());
  const auto got =
      ToHost(reinterpret_cast<std::complex<float>*>(out), kRows * kHalfPitch);
  for (int row = 0; row < kRows; ++row) {
    std::vector<Complex> line(in.begin() + row * kPitch,
                              in.begin() + row * kPitch + kN);
    auto want = Transform(line, {kN}, -1);
    want.resize(kHalf);
    const auto begin = got.begin() + row * kHalfPitch;
    EXPECT(Near(std::vector<std::complex<float>>(begin, begin + kHalf), want,
                1e-5));
    EXPECT(begin[kHalf] == std::complex<float>(0));  // Not touched.
  }
  float* back = Zeros<float>(kRows * kPitch);
  CALL(cufftExecC2R(inverse, out, back));
  CHECK(cudaDeviceSynchronize());
  const auto returned = ToHost(back, kRows * kPitch);
  for (int i = 0; i < kRows * kPitch; ++i) {
    const float want = i % kPitch < kN ? in[i] * kN : 0;
    EXPECT(std::fabs(returned[i] - want) < 1e-4f);
  }
  CALL(cufftDestroy(forward));
  CALL(cufftDestroy(inverse));
}

void Columns() {
  const auto in = ComplexNumbers<double>(kRows * kN, 4);
  auto* data = reinterpret_cast<cufftDoubleComplex*>(ToDevice(in));
  int n[] = {kRows};
  cufftHandle plan;
  std::size_t room = 0;
  CALL(cufftCreate(&plan));
  CALL(cufftMakePlanMany(plan, 1, n, n, kN, 1, n, kN, 1, CUFFT_Z2Z, kN, &room));
  CALL(cufftExecZ2Z(plan, data, data, CUFFT_INVERSE));
  CHECK(cudaDeviceSynchronize());
  auto want = Wide(in);
  for (int j = 0; j < kN; ++j) Sum(want, j, kRows, kN, 1);
  EXPECT(
      Near(ToHost(reinterpret_cast<Complex*>(data), kRows * kN), want, 1e-12));
  CALL(cufftDestroy(plan));
}

int main() {
  Rows();
  Columns();
  return Pass();
}
