// The descriptors of cuBLASLt, which programs may hold in memory of their own
// (cublasLtMatmulDescInit and its kin), so that each has the size that NVIDIA's
// has. Attributes are numbered; each is so many bytes in its descriptor.
#ifndef CERBERUS_LIBRARIES_CUBLASLT_DESCRIPTORS_H_
#define CERBERUS_LIBRARIES_CUBLASLT_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>

#include "libraries/cublas/abi.h"

namespace cerberus::libraries::cublaslt {

using cublas::ComputeType;
using cublas::DataType;
using cublas::Operation;
using cublas::Status;

// By columns, by rows, and by tiles of 32 columns (layout.h).
enum Order : std::int32_t {
  kColumns = 0,
  kRows = 1,
  kColumns32 = 2,
  kColumns4Rows8 = 3,
  kColumns32Rows32 = 4,
};

enum BatchMode : std::int32_t { kStrided = 0, kPointerArray = 1 };

enum PointerMode : std::int32_t {
  kHost = 0,
  kDevice = 1,
  kDeviceVector = 2,  // alpha and beta: one for each row of D
  kAlphaVectorBetaZero = 3,
  kAlphaVectorBetaHost = 4,
};

// Bits of an epilogue. What it does to the sum x, in this order: DRELU, DGELU
// take what they need from the auxiliary buffer; the bias is added; the
// auxiliary buffer gets x, or of RELU which are positive; RELU or GELU.
enum Epilogue : std::uint32_t {
  kDefault = 1,
  kRelu = 2,
  kBias = 4,
  kDRelu = 8,
  kBiasGradient = 16,
  kGelu = 32,
  kDGelu = 64,
  kAux = 128,
  kBiasGradientA = 256,
  kBiasGradientB = 512,
};

// How scales of a matrix are stored (scales.h).
enum ScaleMode : std::int8_t {
  kScalar = 0,
  kBlocksOf16 = 1,
  kBlocksOf32 = 2,
  kOuterVector = 3,
  kBlocksOf128 = 4,
  kSquaresOf128 = 5,
  kScalarOfBatch = 6,
};

struct Layout {
  DataType type;
  Order order;
  std::uint64_t rows, columns;
  std::int64_t ld;
  std::int64_t batch_offset;
  // Bytes from the real parts to the imaginary ones; 0: they alternate.
  std::int64_t plane_offset;
  std::int32_t batches;
  std::int32_t batch_mode;
};
static_assert(sizeof(Layout) <= 8 * 8);

// Of products that are emulated on fewer bits, which none is here.
struct EmulationDesc {
  std::int32_t strategy, special_values, mantissa_control, most_bits, more_bits;
  std::int32_t* bits_used;
};
static_assert(sizeof(EmulationDesc) <= 8 * 8);

struct MatmulDesc {
  ComputeType compute = cublas::k32F;
  DataType scale;
  PointerMode pointer_mode;
  Operation a, b, c;
  cublas::Fill fill;
  std::uint32_t epilogue;
  const void* bias;
  void* aux;
  const void* emulation;  // EmulationDesc
  std::int64_t bias_stride, aux_ld, aux_stride, alpha_stride;
  const void* scale_of_a;
  const void* scale_of_b;
  const float* scale_of_c;
  const float* scale_of_d;
  float* amax_of_d;
  const float* scale_of_aux;
  float* amax_of_aux;
  void* scales_out;                  // of D's blocks, which are found
  std::int32_t aux_type, bias_type;  // -1: D's
  std::int32_t sm_count;
  std::int8_t fast_accumulation;
  // ScaleMode: of A, B, C, D, the auxiliary buffer, and of `scales_out`.
  std::int8_t scale_modes[6];
};
static_assert(sizeof(MatmulDesc) <= 23 * 8);

struct TransformDesc {
  DataType scale;
  std::int32_t pointer_mode;
  Operation a, b;
};
static_assert(sizeof(TransformDesc) <= 8 * 8);

struct Preference {
  std::uint64_t workspace_bytes;
  std::uint64_t implementations;
  std::uint32_t search_mode, reductions;
  std::uint32_t alignments[4];
  float waves;
};
static_assert(sizeof(Preference) <= 8 * 8);

struct Algorithm {
  std::int32_t config[16];
};
static_assert(sizeof(Algorithm) == 8 * 8);

struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  std::int32_t reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

// Where an attribute is, and how large to the program; `stored` bytes of it are
// kept (the modes of scales in one).
struct Attribute {
  std::int32_t number;
  std::size_t offset, size, stored;
};

Status SetAttribute(const Attribute* table, std::size_t count, void* descriptor,
                    std::int32_t number, const void* buffer, std::size_t size);
Status GetAttribute(const Attribute* table, std::size_t count,
                    const void* descriptor, std::int32_t number, void* buffer,
                    std::size_t size, std::size_t* written);

}  // namespace cerberus::libraries::cublaslt

#endif  // CERBERUS_LIBRARIES_CUBLASLT_DESCRIPTORS_H_
