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
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 3;
    default: return -1;
  }
}

// What cuda.h allows, of the dimensions that there are.
bool IsTensor(cuuint32_t rank, const cuuint64_t* sizes,
              const cuuint64_t* strides, const cuuint32_t* box,
              const cuuint32_t* steps) {
  constexpr cuuint64_t kMostElements = cuuint64_t{1} << 32;
  constexpr cuuint64_t kStrideLimit = cuuint64_t{1} << 40;
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || sizes[i] > kMostElements) return false;
    if (box[i] == 0 || box[i] > 256) return false;
    if (steps[i] == 0 || steps[i] > 8) return false;
    if (i > 0 && (strides[i - 1] % 16 != 0 || strides[i - 1] >= kStrideLimit)) {
      return false;
    }
  }
  return true;
}

}  // namespace

namespace api {

CUresult cuTensorMapEncodeTiled(
    CUtensorMap* tensor_map, CUtensorMapDataType type, cuuint32_t rank,
    void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
    const cuuint32_t* box, const cuuint32_t* steps,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (tensor_map == nullptr || sizes == nullptr || box == nullptr ||
      steps == nullptr || (rank > 1 && strides == nullptr) ||
      reinterpret_cast<std::uintptr_t>(tensor_map) % 64 != 0 || at % 16 != 0 ||
      rank == 0 || rank > formats::kTensorDimensions || type < 0 ||
      type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B || interleave < 0 ||
      interleave > 2 || swizzle < 0 ||
      swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B || promotion < 0 ||
      promotion > 3 || fill < 0 || fill > 1 ||
      !IsTensor(rank, sizes, strides, box, steps)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int log2 = ElementLog2(type);
  if (log2 < 0) return Refuse("whose elements change when they are copied");
  if (interleave != 0) return Refuse("of an interleaved layout");
  if (fill != 0) return Refuse("with NaN outside of the tensor");
  if (swizzle > CU_TENSOR_MAP_SWIZZLE_128B) {
    return Refuse("with a swizzle of larger atoms");
  }
  // Without interleaving the step of dimension 0 is not looked at.
  const cuuint32_t row = box[0] << log2;
  if (row % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  if (swizzle != 0) {
    const cuuint32_t span = 16u << swizzle;
    if (row > span) return CUDA_ERROR_INVALID_VALUE;
    if (row < span) return Refuse("whose rows are shorter than its swizzle");
  }
  TensorMap map;
  map.address = at;
  map.rank = static_cast<std::uint8_t>(rank);
  map.element_log2 = static_cast<std::uint8_t>(log2);
  map.type = static_cast<std::uint8_t>(type);
  map.swizzle = static_cast<std::uint8_t>(swizzle);
  map.kind = formats::kTensorMapTiled;
  for (cuuint32_t i = 0; i < rank; ++i) {
    map.last[i] = static_cast<std::uint32_t>(sizes[i] - 1);
    map.box[i] = static_cast<std::uint16_t>(box[i]);
    if (i > 0) {
      map.steps[i] = static_cast<std::uint8_t>(steps[i]);
      map.strides[i - 1] = strides[i - 1];
    }
  }
  *tensor_map = std::bit_cast<CUtensorMap>(map);
  return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* tensor_map, void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (tensor_map == nullptr || at % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  auto map = std::bit_cast<TensorMap>(*tensor_map);
  if (map.kind != formats::kTensorMapTiled) return CUDA_ERROR_INVALID_VALUE;
  map.address = at;
  *tensor_map = std::bit_cast<CUtensorMap>(map);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace cerberus::stub
