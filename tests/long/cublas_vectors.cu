// cuBLAS' operations on vectors, and of a matrix and a vector, against sums in
// double precision on the host. Products of matrices are not here: the library
// has machine code only for them, as for some of a matrix and a vector.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr int kCount = 9216;
int failures = 0;

void Check(int status, const char* what) {
  if (status == 0) return;
  std::printf("%s: status %d\n", what, status);
  ++failures;
}

// `scale` is the sum of the magnitudes that were added up.
void Close(const char* what, double got, double want, double scale) {
  if (std::fabs(got - want) <= 1e-6 * scale) return;
  std::printf("%s: %g, expected %g\n", what, got, want);
  ++failures;
}

float* Upload(const std::vector<float>& values) {
  float* there = nullptr;
  const size_t bytes = values.size() * sizeof(float);
  Check(cudaMalloc(&there, bytes), "cudaMalloc");
  Check(cudaMemcpy(there, values.data(), bytes, cudaMemcpyHostToDevice),
        "cudaMemcpy");
  return there;
}

std::vector<float> Download(const float* there, int count) {
  std::vector<float> values(count);
  Check(cudaMemcpy(values.data(), there, count * sizeof(float),
                   cudaMemcpyDeviceToHost), "cudaMemcpy");
  return values;
}

}  // namespace

int main() {
  cublasHandle_t handle;
  Check(cublasCreate(&handle), "cublasCreate");
  std::vector<float> a(kCount), b(kCount);
  for (int i = 0; i < kCount; ++i) {
    a[i] = std::sin(1.0f * i);
    b[i] = std::cos(0.7f * i);
  }
  a[4321] = -7;
  float* da = Upload(a);
  float* db = Upload(b);

  double dot = 0, squares = 0, magnitudes = 0;
  for (int i = 0; i < kCount; ++i) {
    dot += double(a[i]) * b[i];
    squares += double(a[i]) * a[i];
    magnitudes += std::fabs(a[i]);
  }
  float result = 0;
  int index = 0;
  Check(cublasSdot(handle, kCount, da, 1, db, 1, &result), "cublasSdot");
  Close("cublasSdot", result, dot, magnitudes);
  Check(cublasSnrm2(handle, kCount, da, 1, &result), "cublasSnrm2");
  Close("cublasSnrm2", result, std::sqrt(squares), std::sqrt(squares));
  Check(cublasSasum(handle, kCount, da, 1, &result), "cublasSasum");
  Close("cublasSasum", result, magnitudes, magnitudes);
  Check(cublasIsamax(handle, kCount, da, 1, &index), "cublasIsamax");
  Close("cublasIsamax", index, 4322, 1);

  // A transposed matrix, or a larger one, may get a kernel without PTX.
  const float two = 2, zero = 0;
  const int side = 64;
  float* dy = Upload(std::vector<float>(side));
  Check(cublasSgemv(handle, CUBLAS_OP_N, side, side, &two, da, side, db, 1,
                    &zero, dy, 1), "cublasSgemv");
  const std::vector<float> y = Download(dy, side);
  for (int i = 0; i < side; ++i) {
    double sum = 0;
    for (int k = 0; k < side; ++k) {
      sum += 2 * double(a[k * side + i]) * b[k];
    }
    Close("cublasSgemv", y[i], sum, 2 * side);
  }

  // On a stream of its own, which has a workspace of its own.
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream), "cudaStreamCreate");
  Check(cublasSetStream(handle, stream), "cublasSetStream");
  Check(cublasSaxpy(handle, kCount, &two, da, 1, db, 1), "cublasSaxpy");
  Check(cublasSscal(handle, kCount, &two, da, 1), "cublasSscal");
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const std::vector<float> sums = Download(db, kCount);
  const std::vector<float> doubled = Download(da, kCount);
  for (int i = 0; i < kCount; ++i) {
    Close("cublasSaxpy", sums[i], 2.0 * a[i] + b[i], 10);
    Close("cublasSscal", doubled[i], 2.0 * a[i], 0);
  }
  Check(cublasDestroy(handle), "cublasDestroy");
  std::puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
