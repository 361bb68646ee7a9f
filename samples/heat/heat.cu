// The heat equation in two dimensions, many small launches recorded once as a
// CUDA graph and replayed; pitched memory, double precision.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
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

__global__ void Step(const double* in, double* out, size_t pitch, int width,
                     int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  size_t i = y * pitch + x;
  double value = in[i];
  if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
    // Powers of two as weights: the host's sum below is rounded the same.
    value = 0.5 * value +
            0.125 * (in[i - 1] + in[i + 1] + in[i - pitch] + in[i + pitch]);
  }
  out[i] = value;
}

int main() {
  const int width = 61, height = 47, steps = 8, replays = 5;
  std::vector<double> heat(width * height, 0.0);
  for (int x = 0; x < width; ++x) heat[x] = 100.0 + x;
  for (int y = 0; y < height; ++y) heat[y * width] = 50.0 - y;

  double *a, *b;
  size_t pitch, pitch_b;
  CHECK(cudaMallocPitch(&a, &pitch, width * sizeof(double), height));
  CHECK(cudaMallocPitch(&b, &pitch_b, width * sizeof(double), height));
  CHECK(cudaMemcpy2D(a, pitch, heat.data(), width * sizeof(double),
                     width * sizeof(double), height, cudaMemcpyHostToDevice));

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  dim3 threads(32, 8);
  dim3 blocks((width + 31) / 32, (height + 7) / 8);
  for (int i = 0; i < steps; i += 2) {
    Step<<<blocks, threads, 0, stream>>>(a, b, pitch / sizeof(double), width,
                                         height);
    Step<<<blocks, threads, 0, stream>>>(b, a, pitch / sizeof(double), width,
                                         height);
  }
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < replays; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::vector<double> found(width * height);
  CHECK(cudaMemcpy2D(found.data(), width * sizeof(double), a, pitch,
                     width * sizeof(double), height, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));

  std::vector<double> next = heat;
  for (int step = 0; step < steps * replays; ++step) {
    for (int y = 1; y < height - 1; ++y) {
      for (int x = 1; x < width - 1; ++x) {
        int i = y * width + x;
        next[i] = 0.5 * heat[i] + 0.125 * (heat[i - 1] + heat[i + 1] +
                                           heat[i - width] + heat[i + width]);
      }
    }
    std::swap(heat, next);
  }
  bool ok = true;
  for (int i = 0; i < width * height && ok; ++i) {
    if (found[i] != heat[i]) {
      std::printf("(%d, %d) is %.17g, expected %.17g\n", i % width, i / width,
                  found[i], heat[i]);
      ok = false;
    }
  }
  std::printf("heat: %d steps on %dx%d points, as a graph: %s\n",
              steps * replays, width, height, ok ? "PASS" : "FAIL");
  return ok ? 0 : 1;
}
