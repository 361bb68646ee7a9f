// The calls that copy. What they describe becomes a box of rows in
// hip/memory/copy.cc.
#include "emulator/hip/memory/array.h"
#include "emulator/hip/memory/copy.h"
#include "emulator/hip/runtime.h"
#include "support/bytes.h"

using namespace cerberus::emulator::hip;

namespace {

hipError_t Linear(void* dst, const void* src, std::size_t bytes,
                  std::uint32_t kind, hipStream_t stream, bool async) {
  Copy3D copy;
  const hipError_t error = CopyOf(dst, src, bytes, kind, &copy);
  return error != hipSuccess ? error : DoCopy(copy, stream, async);
}

template <typename Params>
hipError_t Described(const Params* params, hipStream_t stream, bool async) {
  Copy3D copy;
  const hipError_t error = CopyOf(params, &copy);
  return error != hipSuccess ? error : DoCopy(copy, stream, async);
}

hipError_t DescribedByDriver(const void* params, hipStream_t stream,
                             bool async) {
  if (params == nullptr) return hipErrorInvalidValue;
  Copy3D copy;
  const hipError_t error = CopyOfDriver3D(params, &copy);
  return error != hipSuccess ? error : DoCopy(copy, stream, async);
}

Place Rows(const void* pointer, std::size_t pitch) {
  Place place;
  place.pointer = const_cast<void*>(pointer);
  place.pitch = pitch;
  return place;
}

// `x` in bytes.
Place Corner(hipArray_const_t array, std::size_t x, std::size_t y) {
  Place place;
  place.array = array;
  place.x = x;
  place.y = y;
  return place;
}

// The calls in two dimensions: `kind` names the sides.
hipError_t Flat(Place to, Place from, std::size_t width, std::size_t height,
                std::uint32_t kind, hipStream_t stream, bool async) {
  hipError_t error = SetSides(kind, &from, &to);
  if (error != hipSuccess) return error;
  for (const Place& place : {from, to}) {
    if (place.array != nullptr) continue;
    if (width > place.pitch) return hipErrorInvalidPitchValue;
  }
  Copy3D copy;
  error = MakeCopy(from, to, {width, height, 1}, &copy);
  return error != hipSuccess ? error : DoCopy(copy, stream, async);
}

hipError_t ToArray(hipArray_t dst, std::size_t x, std::size_t y,
                   const void* src, std::size_t pitch, std::size_t width,
                   std::size_t height, std::uint32_t kind, hipStream_t stream,
                   bool async) {
  if (!IsArray(dst)) return hipErrorInvalidHandle;
  return Flat(Corner(dst, x, y), Rows(src, pitch), width, height, kind, stream,
              async);
}

hipError_t FromArray(void* dst, std::size_t pitch, hipArray_const_t src,
                     std::size_t x, std::size_t y, std::size_t width,
                     std::size_t height, std::uint32_t kind, hipStream_t stream,
                     bool async) {
  if (!IsArray(src)) return hipErrorInvalidHandle;
  return Flat(Rows(dst, pitch), Corner(src, x, y), width, height, kind, stream,
              async);
}

// Bytes of an array from an offset on; they go on in the next row. Null if
// there are not as many.
void* Stretch(hipArray_const_t array, std::size_t y, std::size_t x,
              std::size_t bytes) {
  const std::optional<std::uint64_t> rows =
      cerberus::CheckedMul(y, array->pitch());
  const std::optional<std::uint64_t> at =
      rows ? cerberus::CheckedAdd(*rows, x) : std::nullopt;
  if (!at || *at > array->bytes() || bytes > array->bytes() - *at) {
    return nullptr;
  }
  return static_cast<char*>(array->data) + *at;
}

hipError_t StretchToArray(hipArray_t dst, std::size_t x, std::size_t y,
                          const void* src, std::size_t bytes,
                          std::uint32_t kind, hipStream_t stream, bool async) {
  if (!IsArray(dst)) return hipErrorInvalidHandle;
  return Linear(Stretch(dst, y, x, bytes), src, bytes, kind, stream, async);
}

hipError_t StretchFromArray(void* dst, hipArray_const_t src, std::size_t x,
                            std::size_t y, std::size_t bytes,
                            std::uint32_t kind, hipStream_t stream,
                            bool async) {
  if (!IsArray(src)) return hipErrorInvalidHandle;
  return Linear(dst, Stretch(src, y, x, bytes), bytes, kind, stream, async);
}

hipError_t Peer(void* dst, int dst_device, const void* src, int src_device,
                std::size_t bytes, hipStream_t stream, bool async) {
  if (Runtime::Get().gpu(dst_device) == nullptr ||
      Runtime::Get().gpu(src_device) == nullptr) {
    return hipErrorInvalidDevice;
  }
  return Linear(dst, src, bytes, hipMemcpyDeviceToDevice, stream, async);
}

hipError_t CopySymbol(const void* symbol, void* other, std::size_t bytes,
                      std::size_t offset, std::uint32_t kind, bool to_symbol,
                      hipStream_t stream, bool async) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return error;
  void* address = nullptr;
  std::size_t size = 0;
  error = FindHostVariable(symbol, gpu, &address, &size);
  if (error != hipSuccess) return error;
  if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
  const std::uint32_t wrong =
      to_symbol ? hipMemcpyDeviceToHost : hipMemcpyHostToDevice;
  if (kind == wrong || kind == hipMemcpyHostToHost) {
    return hipErrorInvalidMemcpyDirection;
  }
  void* at = static_cast<std::uint8_t*>(address) + offset;
  return to_symbol ? Linear(at, other, bytes, kind, stream, async)
                   : Linear(other, at, bytes, kind, stream, async);
}

}  // namespace

HIP_API hipError_t hipMemcpy(void* dst, const void* src, std::size_t bytes,
                             std::uint32_t kind) {
  return Return(Linear(dst, src, bytes, kind, nullptr, false));
}
HIP_API hipError_t hipMemcpyAsync(void* dst, const void* src, std::size_t bytes,
                                  std::uint32_t kind, hipStream_t stream) {
  return Return(Linear(dst, src, bytes, kind, stream, true));
}
HIP_API hipError_t hipMemcpyWithStream(void* dst, const void* src,
                                       std::size_t bytes, std::uint32_t kind,
                                       hipStream_t stream) {
  return Return(Linear(dst, src, bytes, kind, stream, false));
}
HIP_API hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, const void* src,
                                 std::size_t bytes) {
  return Return(Linear(dst, src, bytes, hipMemcpyHostToDevice, nullptr, false));
}
HIP_API hipError_t hipMemcpyDtoH(void* dst, hipDeviceptr_t src,
                                 std::size_t bytes) {
  return Return(Linear(dst, src, bytes, hipMemcpyDeviceToHost, nullptr, false));
}
HIP_API hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src,
                                 std::size_t bytes) {
  return Return(
      Linear(dst, src, bytes, hipMemcpyDeviceToDevice, nullptr, false));
}
HIP_API hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, const void* src,
                                      std::size_t bytes, hipStream_t stream) {
  return Return(Linear(dst, src, bytes, hipMemcpyHostToDevice, stream, true));
}
HIP_API hipError_t hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src,
                                      std::size_t bytes, hipStream_t stream) {
  return Return(Linear(dst, src, bytes, hipMemcpyDeviceToHost, stream, true));
}
HIP_API hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src,
                                      std::size_t bytes, hipStream_t stream) {
  return Return(Linear(dst, src, bytes, hipMemcpyDeviceToDevice, stream, true));
}

HIP_API hipError_t hipMemcpyPeer(void* dst, int dst_device, const void* src,
                                 int src_device, std::size_t bytes) {
  return Return(Peer(dst, dst_device, src, src_device, bytes, nullptr, false));
}
HIP_API hipError_t hipMemcpyPeerAsync(void* dst, int dst_device,
                                      const void* src, int src_device,
                                      std::size_t bytes, hipStream_t stream) {
  return Return(Peer(dst, dst_device, src, src_device, bytes, stream, true));
}

// --- Boxes of rows --------------------------------------------------------

HIP_API hipError_t hipMemcpy2D(void* dst, std::size_t dst_pitch,
                               const void* src, std::size_t src_pitch,
                               std::size_t width, std::size_t height,
                               std::uint32_t kind) {
  return Return(Flat(Rows(dst, dst_pitch), Rows(src, src_pitch), width, height,
                     kind, nullptr, false));
}
HIP_API hipError_t hipMemcpy2DAsync(void* dst, std::size_t dst_pitch,
                                    const void* src, std::size_t src_pitch,
                                    std::size_t width, std::size_t height,
                                    std::uint32_t kind, hipStream_t stream) {
  return Return(Flat(Rows(dst, dst_pitch), Rows(src, src_pitch), width, height,
                     kind, stream, true));
}
HIP_API hipError_t hipMemcpyParam2D(const hip_Memcpy2D* params) {
  return Return(Described(params, nullptr, false));
}
HIP_API hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* params,
                                         hipStream_t stream) {
  return Return(Described(params, stream, true));
}
HIP_API hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* params) {
  return Return(Described(params, nullptr, false));
}
HIP_API hipError_t hipMemcpy3D(const hipMemcpy3DParms* params) {
  return Return(Described(params, nullptr, false));
}
HIP_API hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* params,
                                    hipStream_t stream) {
  return Return(Described(params, stream, true));
}
HIP_API hipError_t hipMemcpy3DPeer(hipMemcpy3DPeerParms* params) {
  return Return(Described(params, nullptr, false));
}
HIP_API hipError_t hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms* params,
                                        hipStream_t stream) {
  return Return(Described(params, stream, true));
}
HIP_API hipError_t hipDrvMemcpy3D(const void* params) {
  return Return(DescribedByDriver(params, nullptr, false));
}
HIP_API hipError_t hipDrvMemcpy3DAsync(const void* params, hipStream_t stream) {
  return Return(DescribedByDriver(params, stream, true));
}

// --- Arrays ---------------------------------------------------------------

HIP_API hipError_t hipMemcpy2DToArray(hipArray_t dst, std::size_t x,
                                      std::size_t y, const void* src,
                                      std::size_t pitch, std::size_t width,
                                      std::size_t height, std::uint32_t kind) {
  return Return(
      ToArray(dst, x, y, src, pitch, width, height, kind, nullptr, false));
}
HIP_API hipError_t hipMemcpy2DToArrayAsync(hipArray_t dst, std::size_t x,
                                           std::size_t y, const void* src,
                                           std::size_t pitch, std::size_t width,
                                           std::size_t height,
                                           std::uint32_t kind,
                                           hipStream_t stream) {
  return Return(
      ToArray(dst, x, y, src, pitch, width, height, kind, stream, true));
}
HIP_API hipError_t hipMemcpy2DFromArray(void* dst, std::size_t pitch,
                                        hipArray_const_t src, std::size_t x,
                                        std::size_t y, std::size_t width,
                                        std::size_t height,
                                        std::uint32_t kind) {
  return Return(
      FromArray(dst, pitch, src, x, y, width, height, kind, nullptr, false));
}
HIP_API hipError_t hipMemcpy2DFromArrayAsync(
    void* dst, std::size_t pitch, hipArray_const_t src, std::size_t x,
    std::size_t y, std::size_t width, std::size_t height, std::uint32_t kind,
    hipStream_t stream) {
  return Return(
      FromArray(dst, pitch, src, x, y, width, height, kind, stream, true));
}
HIP_API hipError_t hipMemcpy2DArrayToArray(
    hipArray_t dst, std::size_t dst_x, std::size_t dst_y, hipArray_const_t src,
    std::size_t src_x, std::size_t src_y, std::size_t width, std::size_t height,
    std::uint32_t kind) {
  if (!IsArray(dst) || !IsArray(src)) return Return(hipErrorInvalidHandle);
  return Return(Flat(Corner(dst, dst_x, dst_y), Corner(src, src_x, src_y),
                     width, height, kind, nullptr, false));
}
HIP_API hipError_t hipMemcpyToArray(hipArray_t dst, std::size_t x,
                                    std::size_t y, const void* src,
                                    std::size_t bytes, std::uint32_t kind) {
  return Return(StretchToArray(dst, x, y, src, bytes, kind, nullptr, false));
}
HIP_API hipError_t hipMemcpyFromArray(void* dst, hipArray_const_t src,
                                      std::size_t x, std::size_t y,
                                      std::size_t bytes, std::uint32_t kind) {
  return Return(StretchFromArray(dst, src, x, y, bytes, kind, nullptr, false));
}
HIP_API hipError_t hipMemcpyHtoA(hipArray_t dst, std::size_t offset,
                                 const void* src, std::size_t bytes) {
  return Return(StretchToArray(dst, offset, 0, src, bytes,
                               hipMemcpyHostToDevice, nullptr, false));
}
HIP_API hipError_t hipMemcpyHtoAAsync(hipArray_t dst, std::size_t offset,
                                      const void* src, std::size_t bytes,
                                      hipStream_t stream) {
  return Return(StretchToArray(dst, offset, 0, src, bytes,
                               hipMemcpyHostToDevice, stream, true));
}
HIP_API hipError_t hipMemcpyAtoH(void* dst, hipArray_t src, std::size_t offset,
                                 std::size_t bytes) {
  return Return(StretchFromArray(dst, src, offset, 0, bytes,
                                 hipMemcpyDeviceToHost, nullptr, false));
}
HIP_API hipError_t hipMemcpyAtoHAsync(void* dst, hipArray_t src,
                                      std::size_t offset, std::size_t bytes,
                                      hipStream_t stream) {
  return Return(StretchFromArray(dst, src, offset, 0, bytes,
                                 hipMemcpyDeviceToHost, stream, true));
}
HIP_API hipError_t hipMemcpyDtoA(hipArray_t dst, std::size_t offset,
                                 hipDeviceptr_t src, std::size_t bytes) {
  return Return(StretchToArray(dst, offset, 0, src, bytes,
                               hipMemcpyDeviceToDevice, nullptr, false));
}
HIP_API hipError_t hipMemcpyAtoD(hipDeviceptr_t dst, hipArray_t src,
                                 std::size_t offset, std::size_t bytes) {
  return Return(StretchFromArray(dst, src, offset, 0, bytes,
                                 hipMemcpyDeviceToDevice, nullptr, false));
}
HIP_API hipError_t hipMemcpyAtoA(hipArray_t dst, std::size_t dst_offset,
                                 hipArray_t src, std::size_t src_offset,
                                 std::size_t bytes) {
  if (!IsArray(src)) return Return(hipErrorInvalidHandle);
  return Return(StretchToArray(dst, dst_offset, 0,
                               Stretch(src, 0, src_offset, bytes), bytes,
                               hipMemcpyDeviceToDevice, nullptr, false));
}

// --- Variables of the program ---------------------------------------------

HIP_API hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (address == nullptr) return Return(hipErrorInvalidValue);
  std::size_t size = 0;
  return Return(FindHostVariable(symbol, gpu, address, &size));
}
HIP_API hipError_t hipGetSymbolSize(std::size_t* size, const void* symbol) {
  Gpu* gpu = nullptr;
  hipError_t error = CheckCurrent(&gpu);
  if (error != hipSuccess) return Return(error);
  if (size == nullptr) return Return(hipErrorInvalidValue);
  void* address = nullptr;
  return Return(FindHostVariable(symbol, gpu, &address, size));
}
HIP_API hipError_t hipMemcpyToSymbol(const void* symbol, const void* src,
                                     std::size_t bytes, std::size_t offset,
                                     std::uint32_t kind) {
  return Return(CopySymbol(symbol, const_cast<void*>(src), bytes, offset, kind,
                           true, nullptr, false));
}
HIP_API hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* src,
                                          std::size_t bytes, std::size_t offset,
                                          std::uint32_t kind,
                                          hipStream_t stream) {
  return Return(CopySymbol(symbol, const_cast<void*>(src), bytes, offset, kind,
                           true, stream, true));
}
HIP_API hipError_t hipMemcpyFromSymbol(void* dst, const void* symbol,
                                       std::size_t bytes, std::size_t offset,
                                       std::uint32_t kind) {
  return Return(
      CopySymbol(symbol, dst, bytes, offset, kind, false, nullptr, false));
}
HIP_API hipError_t hipMemcpyFromSymbolAsync(void* dst, const void* symbol,
                                            std::size_t bytes,
                                            std::size_t offset,
                                            std::uint32_t kind,
                                            hipStream_t stream) {
  return Return(
      CopySymbol(symbol, dst, bytes, offset, kind, false, stream, true));
}
