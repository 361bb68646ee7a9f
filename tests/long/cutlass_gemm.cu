// CUTLASS' matrix products on all kinds of units, against sums in double
// precision on the host.
#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

using Columns = cutlass::layout::ColumnMajor;
template <int M, int N, int K>
using Shape = cutlass::gemm::GemmShape<M, N, K>;
using Swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>;

template <typename T, typename Sum, typename Tile, typename Warp,
          typename Instruction, int kStages>
using TensorGemm = cutlass::gemm::device::Gemm<
    T, Columns, T, Columns, Sum, Columns, Sum,
    cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, Tile, Warp,
    Instruction,
    cutlass::epilogue::thread::LinearCombination<
        Sum, 16 / sizeof(Sum) / (sizeof(Sum) == 8 ? 2 : 1), Sum, Sum>,
    Swizzle, kStages>;

template <typename T>
T* Upload(const std::vector<T>& values) {
  T* there = nullptr;
  cudaMalloc(&there, values.size() * sizeof(T));
  cudaMemcpy(there, values.data(), values.size() * sizeof(T),
             cudaMemcpyHostToDevice);
  return there;
}

// Small integers over 4: every product and sum is exact in every type.
template <typename T>
std::vector<T> Numbers(int count, int step, int modulus) {
  std::vector<T> numbers(count);
  for (int i = 0; i < count; ++i) {
    numbers[i] = T(float(i * step % modulus - modulus / 2) / 4);
  }
  return numbers;
}

template <typename Gemm, typename T, typename Sum>
bool Run(const char* name, int m, int n, int k) {
  const std::vector<T> a = Numbers<T>(m * k, 7, 11);
  const std::vector<T> b = Numbers<T>(k * n, 5, 13);
  std::vector<Sum> c(m * n);
  T* da = Upload(a);
  T* db = Upload(b);
  Sum* dc = Upload(c);
  const cutlass::Status status =
      Gemm()({{m, n, k}, {da, m}, {db, k}, {dc, m}, {dc, m}, {Sum(1), Sum(0)}});
  if (status != cutlass::Status::kSuccess) {
    std::printf("%s: %s\n", name, cutlassGetStatusString(status));
    return false;
  }
  cudaMemcpy(c.data(), dc, c.size() * sizeof(Sum), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int i = 0; i < k; ++i) {
        sum += double(float(a[i * m + row])) * double(float(b[column * k + i]));
      }
      if (double(c[column * m + row]) != sum) ++wrong;
    }
  }
  std::printf("%s: %d of %d wrong\n", name, wrong, m * n);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
  return wrong == 0;
}

}  // namespace

int main() {
  using cutlass::bfloat16_t;
  using cutlass::half_t;
  using Simt = cutlass::gemm::device::Gemm<float, Columns, float, Columns,
                                           float, Columns>;
  // A warp's tile of 64x64 takes half of a lane's registers for its sums.
  using Half = TensorGemm<half_t, float, Shape<128, 128, 32>, Shape<64, 64, 32>,
                          Shape<16, 8, 16>, 3>;
  using Bfloat = TensorGemm<bfloat16_t, float, Shape<64, 64, 32>,
                            Shape<32, 32, 32>, Shape<16, 8, 16>, 3>;
  using Double = TensorGemm<double, double, Shape<32, 32, 16>,
                            Shape<16, 16, 16>, Shape<8, 8, 4>, 3>;
  bool good = Run<Simt, float, float>("float, without matrix units", 96, 80, 64);
  good &= Run<Half, half_t, float>("half", 128, 256, 64);
  good &= Run<Bfloat, bfloat16_t, float>("bfloat16", 64, 128, 96);
  good &= Run<Double, double, double>("double", 64, 32, 32);
  std::puts(good ? "PASS" : "FAIL");
  return !good;
}
