// Products of matrices by AMD's hipBLASLt, with a bias and an activation in the
// same kernel, against sums on the host. Prints PASS, or which product is how
// far off.
#include <hip/hip_runtime.h>
#include <hipblaslt/hipblaslt.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "device.h"

namespace {

constexpr std::size_t kWorkspace = 4 << 20;

// The upper half of a float.
struct BFloat16 {
  BFloat16() = default;
  explicit BFloat16(float value)
      : bits(std::bit_cast<std::uint32_t>(value) >> 16) {}
  explicit operator float() const {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
  std::uint16_t bits = 0;
};

hipDataType TypeOf(float) { return HIP_R_32F; }
hipDataType TypeOf(_Float16) { return HIP_R_16F; }
hipDataType TypeOf(BFloat16) { return HIP_R_16BF; }
// What a product's sums, and its result, may be rounded by.
double Unit(float) { return 1e-5; }
double Unit(_Float16) { return 1e-3; }
double Unit(BFloat16) { return 8e-3; }

template <typename T>
double Value(T number) {
  return static_cast<float>(number);
}

struct Case {
  bool ta, tb;
  int m, n, k;
  hipblasLtEpilogue_t epilogue;
};

// The value of the sum behind bias and activation.
double Finish(double sum, double bias, hipblasLtEpilogue_t epilogue) {
  switch (epilogue) {
    case HIPBLASLT_EPILOGUE_BIAS: return sum + bias;
    case HIPBLASLT_EPILOGUE_RELU_BIAS: return std::fmax(sum + bias, 0);
    default: return sum;
  }
}

template <typename T>
hipblasLtMatrixLayout_t Layout(int rows, int columns) {
  hipblasLtMatrixLayout_t layout = nullptr;
  CHECK(hipblasLtMatrixLayoutCreate(&layout, TypeOf(T()), rows, columns, rows));
  return layout;
}

template <typename T>
hipblasLtMatmulDesc_t Describe(const Case& c, const T* bias) {
  hipblasLtMatmulDesc_t matmul = nullptr;
  CHECK(hipblasLtMatmulDescCreate(&matmul, HIPBLAS_COMPUTE_32F, HIP_R_32F));
  const auto set = [&](hipblasLtMatmulDescAttributes_t what, auto value) {
    CHECK(hipblasLtMatmulDescSetAttribute(matmul, what, &value, sizeof value));
  };
  set(HIPBLASLT_MATMUL_DESC_TRANSA, c.ta ? HIPBLAS_OP_T : HIPBLAS_OP_N);
  set(HIPBLASLT_MATMUL_DESC_TRANSB, c.tb ? HIPBLAS_OP_T : HIPBLAS_OP_N);
  set(HIPBLASLT_MATMUL_DESC_EPILOGUE, c.epilogue);
  if (c.epilogue != HIPBLASLT_EPILOGUE_DEFAULT) {
    set(HIPBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    set(HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, TypeOf(T()));
  }
  return matmul;
}

template <typename T>
bool Check(hipblasLtHandle_t handle, void* workspace, const Case& c) {
  const auto numbers = [](std::size_t count) {
    std::vector<T> made(count);
    for (T& x : made) x = T(float(Next()));
    return made;
  };
  const std::vector<T> a = numbers(std::size_t(c.m) * c.k),
                       b = numbers(std::size_t(c.k) * c.n),
                       old = numbers(std::size_t(c.m) * c.n),
                       bias = numbers(c.m);
  const float alpha = 1.25f, beta = -0.5f;
  T *da = Upload(a), *db = Upload(b), *dc = Upload(old), *dbias = Upload(bias);
  const auto la = c.ta ? Layout<T>(c.k, c.m) : Layout<T>(c.m, c.k),
             lb = c.tb ? Layout<T>(c.n, c.k) : Layout<T>(c.k, c.n),
             lc = Layout<T>(c.m, c.n);
  const hipblasLtMatmulDesc_t matmul = Describe(c, dbias);
  hipblasLtMatmulPreference_t wish = nullptr;
  CHECK(hipblasLtMatmulPreferenceCreate(&wish));
  CHECK(hipblasLtMatmulPreferenceSetAttribute(
      wish, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
      sizeof kWorkspace));
  hipblasLtMatmulHeuristicResult_t found[4];
  int count = 0;
  CHECK(hipblasLtMatmulAlgoGetHeuristic(handle, matmul, la, lb, lc, lc, wish, 4,
                                        found, &count));
  double worst = count == 0 ? INFINITY : 0;
  // Each that it would choose.
  for (int i = 0; i < count; ++i) {
    CHECK(hipMemcpy(dc, old.data(), old.size() * sizeof(T),
                    hipMemcpyHostToDevice));
    CHECK(hipblasLtMatmul(handle, matmul, &alpha, da, la, db, lb, &beta, dc, lc,
                          dc, lc, &found[i].algo, workspace, kWorkspace,
                          nullptr));
    std::vector<T> got(old.size());
    CHECK(hipMemcpy(got.data(), dc, got.size() * sizeof(T),
                    hipMemcpyDeviceToHost));
    for (int column = 0; column < c.n; ++column) {
      for (int row = 0; row < c.m; ++row) {
        double sum = 0;
        for (int l = 0; l < c.k; ++l) {
          sum += Value(a[c.ta ? l + row * c.k : row + l * c.m]) *
                 Value(b[c.tb ? column + l * c.n : l + column * c.k]);
        }
        const std::size_t at = row + std::size_t(column) * c.m;
        const double want = Finish(alpha * sum + beta * Value(old[at]),
                                   Value(bias[row]), c.epilogue);
        worst = std::fmax(worst, std::fabs(Value(got[at]) - want));
      }
    }
  }
  std::printf("  %zu bytes, %d%d, %d x %d x %d, %d, %d ways: off by %.1e\n",
              sizeof(T), c.ta, c.tb, c.m, c.n, c.k, int(c.epilogue), count,
              worst);
  for (void* memory : {static_cast<void*>(da), static_cast<void*>(db),
                       static_cast<void*>(dc), static_cast<void*>(dbias)}) {
    CHECK(hipFree(memory));
  }
  return worst < Unit(T()) * std::sqrt(double(c.k));
}

}  // namespace

int main() {
  hipblasLtHandle_t handle = nullptr;
  CHECK(hipblasLtCreate(&handle));
  void* workspace = nullptr;
  CHECK(hipMalloc(&workspace, kWorkspace));
  bool good = true;
  const Case cases[] = {
      {false, false, 64, 48, 32, HIPBLASLT_EPILOGUE_DEFAULT},
      {true, false, 33, 17, 65, HIPBLASLT_EPILOGUE_BIAS},
      {false, true, 128, 64, 96, HIPBLASLT_EPILOGUE_RELU_BIAS},
  };
  for (const Case& c : cases) {
    good &= Check<float>(handle, workspace, c);
    good &= Check<_Float16>(handle, workspace, c);
    good &= Check<BFloat16>(handle, workspace, c);
  }
  CHECK(hipblasLtDestroy(handle));
  std::puts(good ? "PASS" : "FAIL");
  return !good;
}
