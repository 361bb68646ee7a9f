// A 2-D or 3-D copy, as addresses and strides.
#ifndef CERBERUS_RUNTIME_STUB_MEMORY_COPY_REGION_H_
#define CERBERUS_RUNTIME_STUB_MEMORY_COPY_REGION_H_

#include <cstddef>
#include <cstdint>

#include "hip/hip_abi.h"
#include "runtime-stub/api/cuda_abi.h"

namespace cerberus::stub {

struct Side {
  std::uint8_t* start = nullptr;
  std::size_t pitch = 0;   // bytes from row to row
  std::size_t height = 0;  // rows from slice to slice
  int type = 0;            // CU_MEMORYTYPE_*
};

struct Region {
  Side to, from;
  std::size_t width = 0, height = 0, depth = 0;  // bytes, rows, slices
};

// Errors: no memory type, strides smaller than the region, CUDA arrays.
CUresult RegionOf(const CUDA_MEMCPY3D* copy, Region* region);

hipMemcpyKind KindOfCopy(const Region& region);
// HIP 5.7.1, told to find out, counts a place within page-locked memory twice
// in copies of rows.
hipMemcpyKind KindOfRows(const Side& to, const Side& from, hipMemcpyKind kind);

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MEMORY_COPY_REGION_H_
