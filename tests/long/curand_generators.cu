// Numbers of cuRAND's generators on the device against the same generators
// of the library's host side: uniform ones bit for bit, normal and log-normal
// ones within a few units in the last place, Poisson ones nearly all.
#include <cuda_runtime.h>
#include <curand.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr size_t kCount = 20000;
int failures = 0;

void Check(int status, const char* what) {
  if (status == 0) return;
  std::printf("%s: status %d\n", what, status);
  ++failures;
}

struct Pair {
  curandGenerator_t device, host;
};

// Fills from both sides and compares; `distance` says how far two numbers may
// be apart, relative, and `outliers` how many may be further.
template <typename T, typename Generate>
void Compare(const std::string& name, const Pair& pair, double distance,
             size_t outliers, Generate generate) {
  T* there = nullptr;
  std::vector<T> got(kCount), want(kCount);
  Check(cudaMalloc(&there, kCount * sizeof(T)), "cudaMalloc");
  Check(generate(pair.device, there), name.c_str());
  Check(cudaMemcpy(got.data(), there, kCount * sizeof(T),
                   cudaMemcpyDeviceToHost), "cudaMemcpy");
  Check(generate(pair.host, want.data()), name.c_str());
  Check(cudaFree(there), "cudaFree");
  size_t different = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double a = double(got[i]), b = double(want[i]);
    if (!(std::fabs(a - b) <= distance * (1 + std::fabs(b)))) ++different;
  }
  if (different > outliers) {
    std::printf("%s: %zu of %zu differ\n", name.c_str(), different, kCount);
    ++failures;
  }
}

void Distributions(const std::string& name, const Pair& pair) {
  Compare<float>(name + " uniform", pair, 0, 0, [](auto g, float* p) {
    return curandGenerateUniform(g, p, kCount);
  });
  Compare<double>(name + " uniform double", pair, 0, 0, [](auto g, double* p) {
    return curandGenerateUniformDouble(g, p, kCount);
  });
  Compare<float>(name + " normal", pair, 1e-5, 0, [](auto g, float* p) {
    return curandGenerateNormal(g, p, kCount, 1, 2);
  });
  // The host side's MTGP32 has normal doubles of a float's precision.
  const double apart = name == "MTGP32" ? 1e-6 : 1e-11;
  Compare<double>(name + " normal double", pair, apart, 0,
                  [](auto g, double* p) {
    return curandGenerateNormalDouble(g, p, kCount, 1, 2);
  });
  Compare<float>(name + " log-normal", pair, 1e-4, 0, [](auto g, float* p) {
    return curandGenerateLogNormal(g, p, kCount, 0, 1);
  });
  Compare<unsigned>(name + " Poisson", pair, 0, kCount / 1000,
                    [](auto g, unsigned* p) {
    return curandGeneratePoisson(g, p, kCount, 12.5);
  });
}

}  // namespace

int main() {
  const struct {
    curandRngType_t type;
    const char* name;
  } kinds[] = {{CURAND_RNG_PSEUDO_XORWOW, "XORWOW"},
               {CURAND_RNG_PSEUDO_MRG32K3A, "MRG32k3a"},
               {CURAND_RNG_PSEUDO_MTGP32, "MTGP32"},
               {CURAND_RNG_PSEUDO_PHILOX4_32_10, "Philox"},
               {CURAND_RNG_QUASI_SOBOL32, "Sobol32"},
               {CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, "scrambled Sobol32"}};
  for (const auto& kind : kinds) {
    Pair pair;
    Check(curandCreateGenerator(&pair.device, kind.type), kind.name);
    Check(curandCreateGeneratorHost(&pair.host, kind.type), kind.name);
    for (curandGenerator_t generator : {pair.device, pair.host}) {
      if (kind.type < CURAND_RNG_QUASI_DEFAULT) {
        Check(curandSetPseudoRandomGeneratorSeed(generator, 1234), kind.name);
      }
    }
    Distributions(kind.name, pair);
    Check(curandDestroyGenerator(pair.device), kind.name);
    Check(curandDestroyGenerator(pair.host), kind.name);
    std::printf("%s: compared\n", kind.name);
  }
  std::puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
