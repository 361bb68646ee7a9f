// primes [LIMIT]: how many prime numbers there are below LIMIT. A CUDA program.
#include <cstdio>
#include <cstdlib>

__global__ void CountPrimes(unsigned limit, unsigned* count) {
  const unsigned stride = blockDim.x * gridDim.x;
  unsigned mine = 0;
  for (unsigned n = blockIdx.x * blockDim.x + threadIdx.x + 2; n < limit;
       n += stride) {
    bool is_prime = true;
    for (unsigned d = 2; d * d <= n && is_prime; ++d) is_prime = n % d != 0;
    mine += is_prime;
  }
  atomicAdd(count, mine);
}

static void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "primes: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

int main(int argc, char** argv) {
  const unsigned limit =
      argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
  unsigned* count = nullptr;
  unsigned result = 0;
  Check(cudaMalloc(&count, sizeof *count), "cudaMalloc");
  Check(cudaMemset(count, 0, sizeof *count), "cudaMemset");
  CountPrimes<<<16, 128>>>(limit, count);
  Check(cudaGetLastError(), "launch");
  Check(cudaMemcpy(&result, count, sizeof result, cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  Check(cudaFree(count), "cudaFree");
  std::printf("%u primes below %u\n", result, limit);
}
