// C = A * B with tiles in shared memory: once with tiles of a fixed size in
// static shared memory, once with a tile width chosen at run time in dynamic
// shared memory. The matrices' sizes are no multiples of the tiles'.
#include <cuda_runtime.h>

#include <cmath>
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

constexpr int kTile = 16;

// The sizes of a product: C (m x n) = A (m x k) * B (k x n), row by row.
struct Shape {
  int m, n, k;
};

__global__ void MatmulStatic(const float* a, const float* b, float* c,
                             Shape shape) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  int row = blockIdx.y * kTile + threadIdx.y;
  int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int base = 0; base < shape.k; base += kTile) {
    int ka = base + threadIdx.x;
    int kb = base + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] =
        row < shape.m && ka < shape.k ? a[row * shape.k + ka] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] =
        column < shape.n && kb < shape.k ? b[kb * shape.n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) {
      sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    }
    __syncthreads();
  }
  if (row < shape.m && column < shape.n) c[row * shape.n + column] = sum;
}

__global__ void MatmulDynamic(const float* a, const float* b, float* c,
                              Shape shape) {
  extern __shared__ float tiles[];
  const int width = blockDim.x;
  float* tile_a = tiles;
  float* tile_b = tiles + width * width;
  int row = blockIdx.y * width + threadIdx.y;
  int column = blockIdx.x * width + threadIdx.x;
  float sum = 0.0f;
  for (int base = 0; base < shape.k; base += width) {
    int ka = base + threadIdx.x;
    int kb = base + threadIdx.y;
    tile_a[threadIdx.y * width + threadIdx.x] =
        row < shape.m && ka < shape.k ? a[row * shape.k + ka] : 0.0f;
    tile_b[threadIdx.y * width + threadIdx.x] =
        column < shape.n && kb < shape.k ? b[kb * shape.n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < width; ++i) {
      sum += tile_a[threadIdx.y * width + i] * tile_b[i * width + threadIdx.x];
    }
    __syncthreads();
  }
  if (row < shape.m && column < shape.n) c[row * shape.n + column] = sum;
}

// Compares with the product in double precision.
int CountErrors(const char* name, const std::vector<float>& a,
                const std::vector<float>& b, const std::vector<float>& c,
                Shape shape) {
  int errors = 0;
  for (int row = 0; row < shape.m; ++row) {
    for (int column = 0; column < shape.n; ++column) {
      double expected = 0.0;
      for (int i = 0; i < shape.k; ++i) {
        expected += double(a[row * shape.k + i]) * b[i * shape.n + column];
      }
      float found = c[row * shape.n + column];
      // Written so that a NaN counts as an error.
      if (!(std::fabs(found - expected) <= 1e-4) && errors++ < 5) {
        std::printf("%s: c[%d][%d] is %g, expected %g\n", name, row, column,
                    found, expected);
      }
    }
  }
  return errors;
}

int main() {
  const Shape shape = {70, 91, 83};
  std::vector<float> a(shape.m * shape.k), b(shape.k * shape.n);
  std::vector<float> c(shape.m * shape.n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = (int(i * 7 % 33) - 16) / 16.0f;
  for (size_t i = 0; i < b.size(); ++i) b[i] = (int(i * 5 % 29) - 14) / 16.0f;

  float *device_a, *device_b, *device_c;
  CHECK(cudaMalloc(&device_a, a.size() * sizeof(float)));
  CHECK(cudaMalloc(&device_b, b.size() * sizeof(float)));
  CHECK(cudaMalloc(&device_c, c.size() * sizeof(float)));
  CHECK(cudaMemcpy(device_a, a.data(), a.size() * sizeof(float),
                   cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), b.size() * sizeof(float),
                   cudaMemcpyHostToDevice));

  int errors = 0;
  {
    CHECK(cudaMemset(device_c, 0xff, c.size() * sizeof(float)));
    dim3 threads(kTile, kTile);
    dim3 blocks((shape.n + kTile - 1) / kTile, (shape.m + kTile - 1) / kTile);
    MatmulStatic<<<blocks, threads>>>(device_a, device_b, device_c, shape);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), device_c, c.size() * sizeof(float),
                     cudaMemcpyDeviceToHost));
    errors += CountErrors("static", a, b, c, shape);
  }
  for (int width : {8, 13}) {
    CHECK(cudaMemset(device_c, 0xff, c.size() * sizeof(float)));
    dim3 threads(width, width);
    dim3 blocks((shape.n + width - 1) / width, (shape.m + width - 1) / width);
    size_t shared_bytes = 2 * width * width * sizeof(float);
    MatmulDynamic<<<blocks, threads, shared_bytes>>>(device_a, device_b,
                                                     device_c, shape);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), device_c, c.size() * sizeof(float),
                     cudaMemcpyDeviceToHost));
    errors += CountErrors("dynamic", a, b, c, shape);
  }

  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));
  CHECK(cudaFree(device_c));
  std::printf("matmul: %dx%dx%d, static and dynamic tiles: %s\n", shape.m,
              shape.n, shape.k, errors ? "FAIL" : "PASS");
  return errors ? 1 : 0;
}
