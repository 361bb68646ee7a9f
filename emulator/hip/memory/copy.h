// Copies: what every call describes in its own way becomes one box of rows.
#ifndef CERBERUS_EMULATOR_HIP_MEMORY_COPY_H_
#define CERBERUS_EMULATOR_HIP_MEMORY_COPY_H_

#include <cstddef>
#include <cstdint>

#include "emulator/hip/abi.h"
#include "emulator/hip/stream.h"

namespace cerberus::emulator::hip {

// What a call says about a pointer.
enum class Side { kAny, kHost, kDevice };

struct Copy3D {
  const std::uint8_t* src = nullptr;
  std::uint8_t* dst = nullptr;
  Side src_side = Side::kAny, dst_side = Side::kAny;
  std::size_t src_pitch = 0, src_slice = 0;
  std::size_t dst_pitch = 0, dst_slice = 0;
  std::size_t width = 0, height = 0, depth = 0;  // width in bytes

  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  // Bytes from the first to behind the last; all ones if beyond 64 bits.
  std::size_t src_bytes() const;
  std::size_t dst_bytes() const;
  void Run() const;
};

// One side of a copy: a corner in rows of memory, or in an array.
struct Place {
  Side side = Side::kAny;
  void* pointer = nullptr;
  hipArray_const_t array = nullptr;  // if not null, instead of `pointer`
  std::size_t pitch = 0;             // bytes from row to row; 0: no gaps
  std::size_t height = 0;            // rows from slice to slice; 0: no gaps
  std::size_t x = 0, y = 0, z = 0;   // x in bytes
};

// A copy of extent.width bytes, not elements, times height times depth.
hipError_t MakeCopy(const Place& from, const Place& to, hipExtent extent,
                    Copy3D* out);
// The sides that a hipMemcpyKind names.
hipError_t SetSides(std::uint32_t kind, Place* from, Place* to);

// The copies that calls and graph nodes describe.
hipError_t CopyOf(void* dst, const void* src, std::size_t bytes,
                  std::uint32_t kind, Copy3D* out);
hipError_t CopyOf(const hipMemcpy3DParms* params, Copy3D* out);
hipError_t CopyOf(const hipMemcpy3DPeerParms* params, Copy3D* out);
hipError_t CopyOf(const hip_Memcpy2D* params, Copy3D* out);
// HIP_MEMCPY3D in the layout of the caller's version.
hipError_t CopyOfDriver3D(const void* params, Copy3D* out);

// That both sides of a copy lie in memory as they say; pageable is memory
// that no call of HIP made or registered.
hipError_t CheckCopy(const Copy3D& copy, bool* src_pageable,
                     bool* dst_pageable);
hipError_t CheckSide(const void* pointer, std::size_t bytes, Side side,
                     bool* pageable);
Work CopyWork(const Copy3D& copy);  // in hip/graph/graph_nodes.cc
// Runs or queues a copy.
hipError_t DoCopy(Copy3D copy, hipStream_t stream, bool async);

// `pattern` of 1, 2 or 4 bytes over boxes of `width` elements.
struct Fill {
  std::uint8_t* dst = nullptr;
  std::uint32_t pattern = 0;
  unsigned element = 1;
  std::size_t pitch = 0, slice = 0;
  std::size_t width = 0, height = 1, depth = 1;

  void Run() const;
};

}  // namespace cerberus::emulator::hip

#endif  // CERBERUS_EMULATOR_HIP_MEMORY_COPY_H_
