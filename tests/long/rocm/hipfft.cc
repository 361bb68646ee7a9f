// Transforms by AMD's hipFFT, against sums on the host. Prints PASS, or what is
// how far off.
#include <hip/hip_runtime.h>
#include <hipfft/hipfft.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <vector>

#include "device.h"

namespace {

constexpr int kRows = 12, kColumns = 20;
using Complex = std::complex<double>;

Complex Root(double turns) {
  return std::polar(1.0, -2 * std::numbers::pi * turns);
}
// The transform's value at (u, v).
template <typename T>
Complex At(const std::vector<T>& from, int u, int v) {
  Complex sum = 0;
  for (int y = 0; y < kRows; ++y) {
    for (int x = 0; x < kColumns; ++x) {
      sum += Complex(from[y * kColumns + x]) *
             Root(double(u * y) / kRows + double(v * x) / kColumns);
    }
  }
  return sum;
}
int Report(const char* what, double off, double unit) {
  std::printf("%s: off by %g\n", what, off);
  return !(off <= unit);
}

// There in double precision, and back.
int Whole() {
  std::vector<Complex> host(kRows * kColumns);
  for (Complex& one : host) one = {Next(), Next()};
  Complex* data = Upload(host);
  hipfftHandle plan;
  CHECK(hipfftPlan2d(&plan, kRows, kColumns, HIPFFT_Z2Z));
  auto* const numbers = reinterpret_cast<hipfftDoubleComplex*>(data);
  CHECK(hipfftExecZ2Z(plan, numbers, numbers, HIPFFT_FORWARD));
  std::vector<Complex> got(host.size());
  const std::size_t bytes = got.size() * sizeof(Complex);
  CHECK(hipMemcpy(got.data(), data, bytes, hipMemcpyDeviceToHost));
  double off = 0, back = 0;
  for (int u = 0; u < kRows; ++u) {
    for (int v = 0; v < kColumns; ++v) {
      off = std::fmax(off, std::abs(got[u * kColumns + v] - At(host, u, v)));
    }
  }
  CHECK(hipfftExecZ2Z(plan, numbers, numbers, HIPFFT_BACKWARD));
  CHECK(hipMemcpy(got.data(), data, bytes, hipMemcpyDeviceToHost));
  for (std::size_t i = 0; i < got.size(); ++i) {
    back = std::fmax(back, std::abs(got[i] / double(host.size()) - host[i]));
  }
  CHECK(hipfftDestroy(plan));
  return Report("complex, double", off, 1e-12) +
         Report("and back", back, 1e-14);
}

// Of real numbers.
int Real() {
  std::vector<float> host(kRows * kColumns);
  for (float& one : host) one = static_cast<float>(Next());
  constexpr int kHalf = kColumns / 2 + 1;
  std::vector<std::complex<float>> got(kRows * kHalf);
  auto* const out = Upload(got);
  hipfftHandle plan;
  CHECK(hipfftPlan2d(&plan, kRows, kColumns, HIPFFT_R2C));
  CHECK(
      hipfftExecR2C(plan, Upload(host), reinterpret_cast<hipfftComplex*>(out)));
  CHECK(hipMemcpy(got.data(), out, got.size() * sizeof got[0],
                  hipMemcpyDeviceToHost));
  double off = 0;
  for (int u = 0; u < kRows; ++u) {
    for (int v = 0; v < kHalf; ++v) {
      off = std::fmax(off,
                      std::abs(Complex(got[u * kHalf + v]) - At(host, u, v)));
    }
  }
  CHECK(hipfftDestroy(plan));
  return Report("real, float", off, 1e-4);
}

}  // namespace

int main() {
  const int failed = Whole() + Real();
  if (failed == 0) std::puts("PASS");
  return failed;
}
