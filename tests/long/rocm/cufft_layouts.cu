// cuFFT by hipFFT against cuFFT by the host: dimensions, types, strides,
// distances of both sides, in one process. A plan asks who computes when it is
// made.
#include <cuda_runtime.h>
#include <cufft.h>
#include <cufftXt.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CALL(call)                                          \
  do {                                                      \
    if (const int status = static_cast<int>(call)) {        \
      std::printf("%d: %s: %d\n", __LINE__, #call, status); \
      std::exit(1);                                         \
    }                                                       \
  } while (0)

constexpr int kBatches = 3;
constexpr std::size_t kBytes = 1 << 20;

struct Case {
  std::vector<int> n;
  cufftType type;
  int in_stride, in_pad, out_stride, out_pad;  // pads of rows and batches
  int sign;
};

bool IsDouble(cufftType type) { return (type & 0x40) != 0; }
bool IsRealIn(cufftType type) { return type == CUFFT_R2C || type == CUFFT_D2Z; }
bool IsRealOut(cufftType type) {
  return type == CUFFT_C2R || type == CUFFT_Z2D;
}

// Sizes of memory on one side, and the distance of its batches.
int Embed(const Case& c, bool complex, int stride, int pad,
          std::vector<int>* embed) {
  *embed = c.n;
  const bool half = IsRealIn(c.type) || IsRealOut(c.type);
  if (complex && half) embed->back() = c.n.back() / 2 + 1;
  embed->back() += pad;
  int distance = stride;
  for (const int n : *embed) distance *= n;
  return distance + pad;
}

std::vector<char> Run(const char* provider, Case c,
                      const std::vector<char>& in) {
  setenv("CERBERUS_LIBRARY_PROVIDER", provider, 1);
  std::vector<int> from, to;
  const int in_distance =
      Embed(c, !IsRealIn(c.type), c.in_stride, c.in_pad, &from);
  const int out_distance =
      Embed(c, !IsRealOut(c.type), c.out_stride, c.out_pad, &to);
  cufftHandle plan;
  CALL(cufftPlanMany(&plan, static_cast<int>(c.n.size()), c.n.data(),
                     from.data(), c.in_stride, in_distance, to.data(),
                     c.out_stride, out_distance, c.type, kBatches));
  char *device = nullptr, *out = nullptr;
  CALL(cudaMalloc(&device, kBytes));
  CALL(cudaMalloc(&out, kBytes));
  CALL(cudaMemcpy(device, in.data(), kBytes, cudaMemcpyHostToDevice));
  CALL(cudaMemset(out, 0, kBytes));
  CALL(cufftXtExec(plan, device, out, c.sign));
  std::vector<char> got(kBytes);
  CALL(cudaMemcpy(got.data(), out, kBytes, cudaMemcpyDeviceToHost));
  CALL(cudaFree(device));
  CALL(cudaFree(out));
  CALL(cufftDestroy(plan));
  return got;
}

template <typename T>
double Off(const std::vector<char>& got, const std::vector<char>& want) {
  const T* a = reinterpret_cast<const T*>(got.data());
  const T* b = reinterpret_cast<const T*>(want.data());
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < kBytes / sizeof(T); ++i) {
    largest = std::fmax(largest, std::fabs(double(b[i])));
    const double d = std::fabs(double(a[i]) - double(b[i]));
    if (!(d <= off)) off = d;
  }
  return off / largest;
}
template <typename T>
std::vector<char> Input() {
  std::vector<char> bytes(kBytes);
  T* values = reinterpret_cast<T*>(bytes.data());
  unsigned seed = 1;
  for (std::size_t i = 0; i < kBytes / sizeof(T); ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = T((seed >> 8) / double(1 << 23) - 1);
  }
  return bytes;
}

int main() {
  const std::vector<char> singles = Input<float>(), doubles = Input<double>();
  int failed = 0, run = 0;
  for (const std::vector<int>& n :
       std::vector<std::vector<int>>{{16}, {15}, {8, 6}, {6, 5}, {4, 3, 10}}) {
    for (const cufftType type : {CUFFT_R2C, CUFFT_C2R, CUFFT_C2C, CUFFT_Z2D}) {
      for (int layout = 0; layout < 5; ++layout) {
        const int in_stride = layout == 3 ? 2 : 1;
        const int out_stride = layout == 4 ? 2 : 1;
        const int in_pad = layout == 1 ? 1 : layout == 2 ? 2 : 0;
        const int out_pad = layout == 1 ? 1 : layout == 2 ? 4 : 0;
        const Case c{n,
                     type,
                     in_stride,
                     in_pad,
                     out_stride,
                     out_pad,
                     type == CUFFT_C2C && layout == 2 ? CUFFT_INVERSE
                     : IsRealOut(type)                ? CUFFT_INVERSE
                                                      : CUFFT_FORWARD};
        const auto& in = IsDouble(type) ? doubles : singles;
        const auto got = Run("auto", c, in), want = Run("host", c, in);
        const double off =
            IsDouble(type) ? Off<double>(got, want) : Off<float>(got, want);
        ++run;
        if (off <= (IsDouble(type) ? 1e-14 : 1e-6)) continue;
        ++failed;
        std::printf("rank %zu last %d type %x layout %d: off by %g\n", n.size(),
                    n.back(), static_cast<unsigned>(type), layout, off);
      }
    }
  }
  std::printf("%d of %d differ\n", failed, run);
  if (failed == 0) std::printf("PASS\n");
  return failed != 0;
}
