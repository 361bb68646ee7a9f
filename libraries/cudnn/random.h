// Random numbers by counters: Philox 4x32 with ten rounds (Salmon and others,
// "Parallel Random Numbers: As Easy as 1, 2, 3").
#ifndef CERBERUS_LIBRARIES_CUDNN_RANDOM_H_
#define CERBERUS_LIBRARIES_CUDNN_RANDOM_H_

#include <array>
#include <cstdint>

#include "libraries/cudnn/tensor.h"

namespace cerberus::libraries::cudnn {

std::array<std::uint32_t, 4> Philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

struct Distribution {
  enum Kind : int { kBernoulli = 0, kUniform = 1, kNormal = 2 };
  Kind kind = kBernoulli;
  double probability = 0;  // of 1
  double mean = 0, deviation = 1;
  double least = 0, largest = 1;
  bool IsValid() const;
};

// Element i is drawn by counter offset + i / 4.
void Draw(const Distribution& of, std::uint64_t seed, std::uint64_t offset,
          Array* array);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_RANDOM_H_
