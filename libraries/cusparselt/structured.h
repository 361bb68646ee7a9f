// Matrices of which in each strip of four along what a product sums over two
// are not zero (of two one, where they have 32 bits): pruned to that, and kept
// without the zeros.
#ifndef CERBERUS_LIBRARIES_CUSPARSELT_STRUCTURED_H_
#define CERBERUS_LIBRARIES_CUSPARSELT_STRUCTURED_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libraries/cublas/math.h"
#include "libraries/cublas/typed.h"

namespace cerberus::libraries::cusparselt {

using cublas::DataType;
using cublas::Index;

// A matrix as it is told, by columns or rows, and its batch.
struct Shape {
  DataType type;
  Index rows, columns, ld;
  bool by_rows;
  Index batches, stride;  // a stride of 0: all are one

  Index PlaceOf(Index i, Index j) const {
    return by_rows ? i * ld + j : i + j * ld;
  }
  // How many matrices there are in memory, and elements from the first to the
  // last.
  Index matrices() const { return stride == 0 ? 1 : batches; }
  Index span() const {
    return (matrices() - 1) * stride + PlaceOf(rows - 1, columns - 1) + 1;
  }
};

// A structured one, in strips along its columns (rows have them: `along_rows`)
// or its rows.
struct Structured {
  Shape shape;
  bool along_rows;

  Index strip() const { return cublas::SizeOf(shape.type) == 4 ? 2 : 4; }
  Index kept() const { return strip() / 2; }
  // Along the strips, and across.
  Index length() const { return along_rows ? shape.columns : shape.rows; }
  Index lines() const { return along_rows ? shape.rows : shape.columns; }
  Index strips() const { return (length() + strip() - 1) / strip(); }
  Index PlaceOf(Index line, Index at) const {
    return along_rows ? shape.PlaceOf(line, at) : shape.PlaceOf(at, line);
  }
  std::size_t CompressedBytes() const;
};

// cusparseLtPruneAlg_t: whole tiles, of which each row and column keeps as
// many, or strips by themselves. What has the largest sum of absolute values
// stays.
enum PruneAlgorithm : int { kTile = 0, kStrip = 1 };
void Prune(const Structured& s, PruneAlgorithm algorithm, const void* in,
           void* out);
// Whether no strip has more than may be.
bool IsPruned(const Structured& s, const void* in);

// Values without zeros, and a byte for each strip that says where they were. Of
// a strip that has too many the first ones are kept.
void Compress(const Structured& s, const void* in, void* out);
// One matrix of the batch, dense and by columns.
template <typename T>
std::vector<T> Expand(const Structured& s, const void* compressed, Index batch);

}  // namespace cerberus::libraries::cusparselt

#endif  // CERBERUS_LIBRARIES_CUSPARSELT_STRUCTURED_H_
