// Arrays that are spread over several GPUs (cufftXt.h, cudalibxt.h), and their
// transforms: what the GPUs hold is gathered on the host, transformed there,
// and spread again, before a call returns.
//
// Many transforms: each GPU has whole ones. Of one, of sizes X, Y, Z, a GPU has
// a part of X in natural order, and in "shuffled" order, in which a transform
// leaves it, a part of Y: of three dimensions as [x][y][z], of two as [y][x].
// Of one dimension the order stays natural. Where a size is no multiple of the
// number of GPUs, the first ones have one more. Real arrays have rows as in
// place: two more numbers, or one.
#ifndef CERBERUS_LIBRARIES_CUFFT_SPREAD_H_
#define CERBERUS_LIBRARIES_CUFFT_SPREAD_H_

#include "libraries/common/driver.h"
#include "libraries/cufft/plan.h"

namespace cerberus::libraries::cufft {

inline constexpr int kMostGpus = 16;

// cufftXtSubFormat.
enum Format : int {
  kInput = 0,
  kOutput = 1,
  kInPlace = 2,
  kInPlaceShuffled = 3,
  k1dInputShuffled = 4,
};
// cufftXtCopyType.
enum CopyKind : int { kToDevice = 0, kToHost = 1, kOnDevice = 2 };

// cudaXtDesc.
struct SpreadMemory {
  int version;
  int count;
  int gpus[64];
  void* data[64];
  std::size_t size[64];
  void* state;
};
// cudaLibXtDesc.
struct Spread {
  int version;
  SpreadMemory* memory;
  int library;
  Format format;
  void* plan;
};
static_assert(sizeof(SpreadMemory) == 8 + 64 * 20 + 8);
static_assert(sizeof(Spread) == 32);

// Of plans over several GPUs.
Status NewSpread(const Driver& driver, const Plan& plan, Format format,
                 Spread** made);
Status FreeSpread(const Driver& driver, Spread* spread);
// Arrays of the host are in natural order.
Status CopySpread(const Driver& driver, const Plan& plan, void* to, void* from,
                  CopyKind kind);
Status ExecuteSpread(const Driver& driver, const Plan& plan, Spread* input,
                     Spread* output, int sign);

}  // namespace cerberus::libraries::cufft

#endif  // CERBERUS_LIBRARIES_CUFFT_SPREAD_H_
