#include "libraries/cudnn/random.h"

#include <cmath>
#include <numbers>

namespace cerberus::libraries::cudnn {
namespace {

// In (0, 1].
double Unit(std::uint32_t bits) {
  return (static_cast<double>(bits) + 1) / 4294967296.0;
}

}  // namespace

std::array<std::uint32_t, 4> Philox(std::array<std::uint32_t, 4> c,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key[0],
         static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key[1],
         static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

bool Distribution::IsValid() const {
  switch (kind) {
    case kBernoulli: return probability >= 0 && probability <= 1;
    case kUniform: return least <= largest;
    case kNormal: return deviation >= 0;
  }
  return false;
}

void Draw(const Distribution& of, std::uint64_t seed, std::uint64_t offset,
          Array* array) {
  const std::array<std::uint32_t, 2> key = {
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  std::array<std::uint32_t, 4> bits = {};
  for (Index i = 0; i < array->count(); ++i) {
    if (i % 4 == 0) {
      const std::uint64_t at = offset + static_cast<std::uint64_t>(i / 4);
      bits = Philox({static_cast<std::uint32_t>(at),
                     static_cast<std::uint32_t>(at >> 32), 0, 0},
                    key);
    }
    const auto lane = static_cast<std::size_t>(i % 4);
    const double u = Unit(bits[lane]);
    switch (of.kind) {
      case Distribution::kBernoulli:
        (*array)[i] = u <= of.probability ? 1 : 0;
        break;
      case Distribution::kUniform:
        (*array)[i] = of.least + u * (of.largest - of.least);
        break;
      case Distribution::kNormal: {
        // Box and Muller: two of two.
        const double angle = 2 * std::numbers::pi * Unit(bits[lane | 1]);
        const double radius = std::sqrt(-2 * std::log(Unit(bits[lane & 2])));
        (*array)[i] =
            of.mean + of.deviation * radius *
                          (lane % 2 == 0 ? std::cos(angle) : std::sin(angle));
        break;
      }
    }
  }
}

}  // namespace cerberus::libraries::cudnn
