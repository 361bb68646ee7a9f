// AMD's rocFFT, whose kernels hiprtc compiles as it runs, against the sum that
// defines a transform. Prints PASS, or which transform is how far off.
#include <hip/hip_runtime.h>
#include <rocfft/rocfft.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

#include "device.h"

namespace {

using Complex = std::complex<double>;

// Along one axis of an array whose lines lie `stride` apart.
void Transform(std::vector<Complex>* data, std::size_t begin, std::size_t n,
               std::size_t stride, int sign) {
  const double step = sign * 2 * 3.14159265358979323846 / double(n);
  std::vector<Complex> out(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      out[k] += (*data)[begin + j * stride] *
                std::polar(1.0, step * double(j * k % n));
    }
  }
  for (std::size_t k = 0; k < n; ++k) (*data)[begin + k * stride] = out[k];
}

void Transform(std::vector<Complex>* data, const std::vector<size_t>& lengths,
               int sign) {
  std::size_t stride = 1;
  for (const std::size_t n : lengths) {
    for (std::size_t begin = 0; begin < data->size(); ++begin) {
      if (begin / stride % n == 0) Transform(data, begin, n, stride, sign);
    }
    stride *= n;
  }
}

template <typename T>
bool Check(const std::vector<std::size_t>& lengths, int sign) {
  std::size_t total = 1;
  for (const std::size_t n : lengths) total *= n;
  std::vector<std::complex<T>> host(total);
  std::vector<Complex> expected(total);
  unsigned state = 12345;
  const auto next = [&] {
    state = state * 1664525 + 1013904223;
    return double(state >> 8) / (1 << 24) - 0.5;
  };
  for (std::size_t i = 0; i < total; ++i) {
    host[i] = {T(next()), T(next())};
    expected[i] = host[i];
  }
  Transform(&expected, lengths, sign);
  const std::size_t bytes = total * sizeof(host[0]);
  void* device = nullptr;
  CHECK(hipMalloc(&device, bytes));
  CHECK(hipMemcpy(device, host.data(), bytes, hipMemcpyHostToDevice));
  rocfft_plan plan = nullptr;
  CHECK(rocfft_plan_create(
      &plan, rocfft_placement_inplace,
      sign < 0 ? rocfft_transform_type_complex_forward
               : rocfft_transform_type_complex_inverse,
      sizeof(T) == 4 ? rocfft_precision_single : rocfft_precision_double,
      lengths.size(), lengths.data(), 1, nullptr));
  std::size_t work = 0;
  CHECK(rocfft_plan_get_work_buffer_size(plan, &work));
  rocfft_execution_info info = nullptr;
  void* buffer = nullptr;
  CHECK(rocfft_execution_info_create(&info));
  if (work != 0) {
    CHECK(hipMalloc(&buffer, work));
    CHECK(rocfft_execution_info_set_work_buffer(info, buffer, work));
  }
  CHECK(rocfft_execute(plan, &device, nullptr, info));
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(host.data(), device, bytes, hipMemcpyDeviceToHost));
  CHECK(rocfft_execution_info_destroy(info));
  CHECK(rocfft_plan_destroy(plan));
  CHECK(hipFree(device));
  CHECK(hipFree(buffer));
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < total; ++i) {
    worst = std::fmax(worst, std::abs(Complex(host[i]) - expected[i]));
    largest = std::fmax(largest, std::abs(expected[i]));
  }
  const double limit = sizeof(T) == 4 ? 1e-5 : 1e-13;
  std::printf("  %s %d:", sizeof(T) == 4 ? "float" : "double", sign);
  for (const std::size_t n : lengths) std::printf(" %zu", n);
  std::printf(": off by %.1e\n", worst / largest);
  return worst <= limit * largest;
}

}  // namespace

int main() {
  CHECK(rocfft_setup());
  bool good = true;
  for (const int sign : {-1, 1}) {
    good &= Check<float>({16}, sign);
    good &= Check<float>({1024}, sign);
    good &= Check<float>({60}, sign);
    good &= Check<float>({97}, sign);  // by Bluestein's algorithm
    good &= Check<float>({32, 24}, sign);
    good &= Check<double>({128}, sign);
    good &= Check<double>({8, 12, 10}, sign);
  }
  CHECK(rocfft_cleanup());
  std::puts(good ? "PASS" : "FAIL");
  return !good;
}
