// AMD's rocRAND: Philox and Sobol numbers against their definitions, those of
// other generators by their moments. Prints PASS, or what is wrong.
#include <hip/hip_runtime.h>
#include <rocrand/rocrand.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "device.h"

namespace {

constexpr std::size_t kCount = 1 << 16;

template <typename T, typename Generate>
std::vector<T> Make(rocrand_rng_type type, Generate generate,
                    bool seeded = true) {
  rocrand_generator generator = nullptr;
  CHECK(rocrand_create_generator(&generator, type));
  if (seeded) CHECK(rocrand_set_seed(generator, 0x123456789abcull));
  T* device = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&device), kCount * sizeof(T)));
  CHECK(generate(generator, device));
  std::vector<T> out(kCount);
  CHECK(
      hipMemcpy(out.data(), device, kCount * sizeof(T), hipMemcpyDeviceToHost));
  CHECK(hipFree(device));
  CHECK(rocrand_destroy_generator(generator));
  return out;
}

int Generate32(rocrand_generator g, unsigned* out) {
  return static_cast<int>(rocrand_generate(g, out, kCount));
}

// Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2,
// 3", 2011).
void Philox(std::uint64_t block, std::uint64_t key, std::uint32_t* c) {
  c[0] = static_cast<std::uint32_t>(block);
  c[1] = static_cast<std::uint32_t>(block >> 32);
  c[2] = c[3] = 0;
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * c[0];
    const std::uint64_t b = std::uint64_t{0xcd9e8d57} * c[2];
    const std::uint32_t next[4] = {
        static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0,
        static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1,
        static_cast<std::uint32_t>(a)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
}

bool PhiloxIsRight() {
  const auto got = Make<unsigned>(ROCRAND_RNG_PSEUDO_PHILOX4_32_10, Generate32);
  for (std::size_t i = 0; i < kCount; i += 4) {
    std::uint32_t expected[4];
    Philox(i / 4, 0x123456789abcull, expected);
    for (int j = 0; j < 4; ++j) {
      if (got[i + j] == expected[j]) continue;
      std::printf("Philox's number %zu: %08x, not %08x\n", i + j, got[i + j],
                  expected[j]);
      return false;
    }
  }
  return true;
}

// One dimension of Sobol's: the bits of the index's Gray code, reversed.
bool SobolIsRight() {
  const auto got = Make<unsigned>(ROCRAND_RNG_QUASI_SOBOL32, Generate32, false);
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto gray = static_cast<std::uint32_t>(i ^ (i >> 1));
    std::uint32_t expected = 0;
    for (int bit = 0; bit < 32; ++bit) {
      if ((gray >> bit & 1) != 0) expected |= 0x80000000u >> bit;
    }
    if (got[i] == expected) continue;
    std::printf("Sobol's number %zu: %08x, not %08x\n", i, got[i], expected);
    return false;
  }
  return true;
}

template <typename T>
bool Moments(const char* name, const std::vector<T>& got, double mean,
             double deviation) {
  double sum = 0, squares = 0;
  for (const T x : got) sum += double(x), squares += double(x) * double(x);
  const double m = sum / kCount, d = std::sqrt(squares / kCount - m * m);
  // Five standard errors of either.
  const double margin = 5 * deviation / std::sqrt(double(kCount));
  if (std::fabs(m - mean) < margin && std::fabs(d - deviation) < margin) {
    return true;
  }
  std::printf("%s: mean %g, deviation %g\n", name, m, d);
  return false;
}

}  // namespace

int main() {
  bool good = PhiloxIsRight();
  good &= SobolIsRight();
  struct Row {
    const char* name;
    rocrand_rng_type type;
  };
  for (const Row& row : {Row{"XORWOW", ROCRAND_RNG_PSEUDO_XORWOW},
                         Row{"MRG32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A},
                         Row{"MTGP32", ROCRAND_RNG_PSEUDO_MTGP32},
                         Row{"Philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10}}) {
    good &=
        Moments(row.name,
                Make<float>(row.type,
                            [](rocrand_generator g, float* out) {
                              return rocrand_generate_uniform(g, out, kCount);
                            }),
                0.5, std::sqrt(1.0 / 12));
    good &= Moments(row.name,
                    Make<double>(row.type,
                                 [](rocrand_generator g, double* out) {
                                   return rocrand_generate_normal_double(
                                       g, out, kCount, 3, 2);
                                 }),
                    3, 2);
  }
  std::puts(good ? "PASS" : "FAIL");
  return !good;
}
