// What cuBLAS over the host's BLAS costs beside that BLAS itself, in turns in
// one process: a product of 1024 x 1024 matrices, and the smallest call there
// is until it is done; until it returns, beside a host function that does
// nothing. With an argument, over the rocBLAS of that file, beside a call of
// it. Prints medians in nanoseconds:
//
//   name ours theirs
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "cublas_call.h"

namespace {

double Nanoseconds(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now() - begin)
      .count();
}

double Median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Each `calls` times in a row, in turns.
void Compare(const char* name, int turns, int calls,
             const std::function<void()>& ours,
             const std::function<void()>& theirs) {
  std::vector<double> a, b;
  for (int turn = -1; turn < turns; ++turn) {
    double times[2];
    for (const int who : {0, 1}) {
      times[who] = Nanoseconds([&] {
                     for (int i = 0; i < calls; ++i) {
                       who == 0 ? ours() : theirs();
                     }
                   }) /
                   calls;
    }
    if (turn < 0) continue;  // to warm up
    a.push_back(times[0]);
    b.push_back(times[1]);
  }
  std::printf("%s %.0f %.0f\n", name, Median(a), Median(b));
}

}  // namespace

int OverRocblas(const char* file) {
  const auto saxpy = Find<Axpy>(dlopen(file, RTLD_NOW), "rocblas_saxpy");
  float* x;
  Check(cudaMalloc(&x, 1024), "cudaMalloc");
  void* handle;
  Check(cublasCreate_v2(&handle), "cublasCreate");
  const float one = 1;
  Compare(
      "rocblas", 31, 1000,
      [&] {
        Check(cublasSaxpy_v2(handle, 1, &one, x, 1, x + 64, 1), "cublasSaxpy");
      },
      [&] { saxpy(handle, 1, &one, x, 1, x + 64, 1); });
  Check(cublasDestroy_v2(handle), "cublasDestroy");
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1) return OverRocblas(argv[1]);
  constexpr int kN = 1024;
  void* const blas = dlopen("libopenblas.so.0", RTLD_NOW);
  Check(blas == nullptr, "libopenblas.so.0");
  const auto sgemm = Find<void (*)(
      const char*, const char*, const int*, const int*, const int*,
      const float*, const float*, const int*, const float*, const int*,
      const float*, float*, const int*)>(blas, "sgemm_");
  const auto saxpy =
      Find<void (*)(const int*, const float*, const float*, const int*, float*,
                    const int*)>(blas, "saxpy_");
  float *a, *b, *c;
  for (float** matrix : {&a, &b, &c}) {
    Check(cudaMalloc(matrix, kN * kN * sizeof(float)), "cudaMalloc");
    std::vector<float> values(kN * kN);
    for (int i = 0; i < kN * kN; ++i) values[i] = float(i % 17) - 8;
    Check(cudaMemcpy(*matrix, values.data(), values.size() * sizeof(float),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }
  std::vector<float> ha(kN * kN, 1.5f), hb(kN * kN, 0.5f), hc(kN * kN);
  void* handle;
  Check(cublasCreate_v2(&handle), "cublasCreate");
  const float one = 1, zero = 0;
  Compare(
      "sgemm", 9, 1,
      [&] {
        Check(cublasSgemm_v2(handle, 0, 0, kN, kN, kN, &one, a, kN, b, kN,
                             &zero, c, kN),
              "cublasSgemm");
        Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      },
      [&] {
        sgemm("N", "N", &kN, &kN, &kN, &one, ha.data(), &kN, hb.data(), &kN,
              &zero, hc.data(), &kN);
      });
  const int step = 1;
  const auto ours = [&] {
    Check(cublasSaxpy_v2(handle, 1, &one, a, 1, b, 1), "cublasSaxpy");
  };
  const auto theirs = [&] {
    saxpy(&step, &one, ha.data(), &step, hb.data(), &step);
  };
  // Any work of the host in a stream's order costs this much.
  Compare("call", 31, 1000, ours, [] {
    Check(cudaLaunchHostFunc(
              nullptr, [](void*) {}, nullptr),
          "cudaLaunchHostFunc");
  });
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  Compare(
      "done", 31, 100,
      [&] {
        ours();
        Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      },
      theirs);
  Check(cublasDestroy_v2(handle), "cublasDestroy");
  return 0;
}
