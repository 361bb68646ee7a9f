// Everything that CUDA's printf prints, and when.
#include <cstdio>

__device__ char g_text[] = "device";

__global__ void Formats(int n, const char* format) {
  printf("ints %d %i %u %o %x %X %+d|% d|%05d|%-5d|\n", n, -n, 4000000000u, 8,
         255, 255, n, n, n, n);
  printf("wide %ld %lld %llu %lx %zu %hd %hhd\n", -5000000000L,
         -9223372036854775807LL - 1, 18446744073709551615ULL, 0xabcdef012345L,
         sizeof(double), 65537, 257);
  printf("real %f %5.2f %.0f %e %E %g %G %a %8.3e|%-8.1f|%08.2f\n", 1.5,
         3.14159, 2.5, 12345.678, 0.00012, 1e-5, 1e20, 1.0, 123.456, 1.25,
         -3.5);
  printf("float %f %f %f\n", 0.1f, 1.0 / 0.0, 0.0f);
  printf("text %s|%8s|%-8s|%.3s|%c%c|%5c|%%|%s\n", g_text, "right", "left",
         "precise", 'o', 'k', 'x', static_cast<const char*>(nullptr));
  printf("star %*d|%-*d|%.*f|%.*s\n", 6, n, 6, n, 3, 2.0 / 3, 2, "cut");
  printf("pointer %p\n", reinterpret_cast<void*>(0x1234abcd));
  char local[4] = {'l', 'o', 'c', 0};
  local[0] += n - 7;
  printf("own %s %c\n", local, local[2]);
  printf(format, n, 2.0);
  printf("mixed %c %f %d %lld %d %f\n", 'a', 1.0, 2, 3LL, 4, 5.0);
  const int none = printf("");
  const int three = printf("%d %s %f\n", 1, "two", 3.0);
  printf("counts %d %d\n", none, three);
}

__global__ void Threads() {
  if (threadIdx.x % 2 == 0) {
    printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
  }
}

__global__ void Much() {
  printf("line %d of a text that fills the buffer\n", threadIdx.x);
}

int main() {
  char* format;
  cudaMalloc(&format, 32);
  cudaMemcpy(format, "made by the host: %d %f\n", 25, cudaMemcpyHostToDevice);
  printf("before\n");
  Formats<<<1, 1>>>(7, format);
  cudaDeviceSynchronize();
  printf("between\n");
  Threads<<<2, 64>>>();
  int word;
  cudaMemcpy(&word, format, 4, cudaMemcpyDeviceToHost);  // shows them too
  printf("after\n");
  size_t fifo = 0, heap = 0, stack = 0;
  cudaDeviceGetLimit(&fifo, cudaLimitPrintfFifoSize);
  cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  cudaDeviceGetLimit(&stack, cudaLimitStackSize);
  printf("limits %zu %zu %zu\n", fifo, heap, stack);
  // Several rounds through the buffer.
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  for (int round = 0; round < 40; ++round) {
    Much<<<1, 1024, 0, stream>>>();
    cudaStreamSynchronize(stream);
  }
  cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 8192);
  cudaDeviceGetLimit(&fifo, cudaLimitPrintfFifoSize);
  printf("limit %zu\n", fifo);
  Much<<<1, 1024>>>();
  cudaDeviceReset();
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
