// Tensor maps (docs/tensor-map.md): what cuda.h asks of a tensor and of the
// boxes that are copied of it, and what code compiled by ptxc can copy.
#include "formats/tensor_map.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "runtime-stub/api/api.h"
#include "support/log.h"

namespace cerberus::stub {
namespace {

using formats::TensorMap;
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));

CUresult Refuse(const char* what) {
  Log(LogLevel::kError, "a tensor map %s is not supported", what);
  return CUDA_ERROR_NOT_SUPPORTED;
}

// log2 of an element's bytes; < 0 for types that copies change on the way or
// whose elements are no whole bytes.
int ElementLog2(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 0;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    // Copied as they are: what takes them leaves the lower bits out.
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 3;
    default: return -1;
  }
}

// What all kinds of maps have.
struct Tensor {
  CUtensorMap* map;
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t* sizes;
  const cuuint64_t* strides;
  const cuuint32_t* steps;
  int interleave, swizzle, promotion, fill;
};

// What cuda.h allows, of the dimensions that there are.
bool IsTensor(const Tensor& t, cuuint32_t least_rank) {
  constexpr cuuint64_t kMostElements = cuuint64_t{1} << 32;
  constexpr cuuint64_t kStrideLimit = cuuint64_t{1} << 40;
  if (t.map == nullptr || t.sizes == nullptr || t.steps == nullptr ||
      (t.rank > 1 && t.strides == nullptr) ||
      reinterpret_cast<std::uintptr_t>(t.map) % 64 != 0 ||
      reinterpret_cast<std::uintptr_t>(t.address) % 16 != 0 ||
      t.rank < least_rank || t.rank > formats::kTensorDimensions ||
      t.type < 0 || t.type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
      t.interleave < 0 || t.interleave > 2 || t.swizzle < 0 ||
      t.swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B || t.promotion < 0 ||
      t.promotion > 3 || t.fill < 0 || t.fill > 1) {
    return false;
  }
  for (cuuint32_t i = 0; i < t.rank; ++i) {
    if (t.sizes[i] == 0 || t.sizes[i] > kMostElements) return false;
    if (t.steps[i] == 0 || t.steps[i] > 8) return false;
    if (i > 0 &&
        (t.strides[i - 1] % 16 != 0 || t.strides[i - 1] >= kStrideLimit)) {
      return false;
    }
  }
  return true;
}

// The map but for what its kind has of its own. `row`: elements of a row.
CUresult MakeMap(const Tensor& t, cuuint32_t row, TensorMap* map) {
  const int log2 = ElementLog2(t.type);
  if (log2 < 0) return Refuse("whose elements change when they are copied");
  if (t.interleave != 0) return Refuse("of an interleaved layout");
  if (t.fill != 0) return Refuse("with NaN outside of the tensor");
  if (t.swizzle > CU_TENSOR_MAP_SWIZZLE_128B) {
    return Refuse("with a swizzle of larger atoms");
  }
  const cuuint32_t bytes = row << log2;
  if (bytes % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  if (t.swizzle != 0) {
    const cuuint32_t span = 16u << t.swizzle;
    if (bytes > span) return CUDA_ERROR_INVALID_VALUE;
    if (bytes < span) return Refuse("whose rows are shorter than its swizzle");
  }
  map->address = reinterpret_cast<std::uintptr_t>(t.address);
  map->rank = static_cast<std::uint8_t>(t.rank);
  map->element_log2 = static_cast<std::uint8_t>(log2);
  map->type = static_cast<std::uint8_t>(t.type);
  map->swizzle = static_cast<std::uint8_t>(t.swizzle);
  map->box[0] = static_cast<std::uint16_t>(row);
  for (cuuint32_t i = 0; i < t.rank; ++i) {
    map->last[i] = static_cast<std::uint32_t>(t.sizes[i] - 1);
    // Without interleaving the step of dimension 0 is not looked at.
    if (i > 0) {
      map->steps[i] = static_cast<std::uint8_t>(t.steps[i]);
      map->strides[i - 1] = t.strides[i - 1];
    }
  }
  return CUDA_SUCCESS;
}

// Corners of a box of pixels, in cuda.h's ranges: 16 bits for one dimension of
// them, 8 for two, 5 for three.
bool AreCorners(cuuint32_t count, const int* lower, const int* upper) {
  constexpr int kLimits[] = {0, 1 << 15, 1 << 7, 1 << 4};
  const auto fits = [&](int corner) {
    return corner >= -kLimits[count] && corner < kLimits[count];
  };
  return std::all_of(lower, lower + count, fits) &&
         std::all_of(upper, upper + count, fits);
}

}  // namespace

namespace api {

CUresult cuTensorMapEncodeTiled(
    CUtensorMap* tensor_map, CUtensorMapDataType type, cuuint32_t rank,
    void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
    const cuuint32_t* box, const cuuint32_t* steps,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const Tensor tensor = {tensor_map, type,      rank,  address,
                         sizes,      strides,   steps, interleave,
                         swizzle,    promotion, fill};
  if (!IsTensor(tensor, 1) || box == nullptr ||
      !std::all_of(box, box + rank,
                   [](cuuint32_t side) { return side > 0 && side <= 256; })) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  TensorMap map;
  if (CUresult r = MakeMap(tensor, box[0], &map); r != CUDA_SUCCESS) return r;
  map.kind = formats::kTensorMapTiled;
  for (cuuint32_t i = 1; i < rank; ++i) {
    map.box[i] = static_cast<std::uint16_t>(box[i]);
  }
  *tensor_map = std::bit_cast<CUtensorMap>(map);
  return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeIm2col(
    CUtensorMap* tensor_map, CUtensorMapDataType type, cuuint32_t rank,
    void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
    const int* lower, const int* upper, cuuint32_t channels, cuuint32_t pixels,
    const cuuint32_t* steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill) {
  constexpr cuuint32_t kLeastRank = 3;
  constexpr cuuint32_t kMostPixels = 1024;
  const Tensor tensor = {tensor_map, type,      rank,  address,
                         sizes,      strides,   steps, interleave,
                         swizzle,    promotion, fill};
  if (!IsTensor(tensor, kLeastRank) || lower == nullptr || upper == nullptr ||
      channels == 0 || channels > 256 || pixels == 0 || pixels > kMostPixels ||
      !AreCorners(rank - 2, lower, upper)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  TensorMap map;
  if (CUresult r = MakeMap(tensor, channels, &map); r != CUDA_SUCCESS) return r;
  map.kind = formats::kTensorMapPixels;
  map.pixels = static_cast<std::uint16_t>(pixels);
  for (cuuint32_t i = 0; i + 2 < rank; ++i) {
    map.lower[i] = static_cast<std::int16_t>(lower[i]);
    map.upper[i] = static_cast<std::int16_t>(upper[i]);
  }
  *tensor_map = std::bit_cast<CUtensorMap>(map);
  return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* tensor_map, void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (tensor_map == nullptr || at % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  auto map = std::bit_cast<TensorMap>(*tensor_map);
  if (map.kind == 0) return CUDA_ERROR_INVALID_VALUE;
  map.address = at;
  *tensor_map = std::bit_cast<CUtensorMap>(map);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
