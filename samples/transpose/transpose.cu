// Transposes matrices of several element types: through a padded tile in
// shared memory, so that both reads and writes are coalesced.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                     \
  do {                                                                  \
    cudaError_t status = (call);                                        \
    if (status != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status));                         \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

constexpr int kTile = 32;
constexpr int kRows = 8;  // rows of threads; each thread moves kTile / kRows

template <typename T>
__global__ void Transpose(const T* in, T* out, int width, int height) {
  __shared__ T tile[kTile][kTile + 1];  // padded: no bank conflicts
  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kRows) {
    if (x < width && y + i < height) {
      tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
    }
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kRows) {
    if (x < height && y + i < width) {
      out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
    }
  }
}

template <typename T>
T Element(int i);
template <>
unsigned char Element(int i) { return i * 7 % 251; }
template <>
short Element(int i) { return i * 31 % 64000 - 32000; }
template <>
float Element(int i) { return i * 0.25f - 1000.0f; }
template <>
double Element(int i) { return i / 3.0; }
template <>
float4 Element(int i) { return make_float4(i, -i, i * 0.5f, 1.0f); }

bool Same(float4 a, float4 b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}
template <typename T>
bool Same(T a, T b) {
  return a == b;
}

template <typename T>
bool Test(const char* type, int width, int height) {
  const int n = width * height;
  std::vector<T> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = Element<T>(i);
  T *device_in, *device_out;
  CHECK(cudaMalloc(&device_in, n * sizeof(T)));
  CHECK(cudaMalloc(&device_out, n * sizeof(T)));
  CHECK(cudaMemcpy(device_in, in.data(), n * sizeof(T),
                   cudaMemcpyHostToDevice));
  CHECK(cudaMemset(device_out, 0xee, n * sizeof(T)));
  dim3 threads(kTile, kRows);
  dim3 blocks((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  Transpose<<<blocks, threads>>>(device_in, device_out, width, height);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(out.data(), device_out, n * sizeof(T),
                   cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(device_out));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (!Same(out[x * height + y], in[y * width + x])) {
        std::printf("%s %dx%d: element (%d, %d) is wrong\n", type, width,
                    height, x, y);
        return false;
      }
    }
  }
  return true;
}

int main() {
  bool ok = true;
  ok &= Test<float>("float", 160, 96);
  ok &= Test<float>("float", 101, 67);
  ok &= Test<unsigned char>("unsigned char", 77, 130);
  ok &= Test<short>("short", 130, 50);
  ok &= Test<double>("double", 65, 63);
  ok &= Test<float4>("float4", 40, 70);
  std::printf("transpose: 5 element types: %s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
