// Handles, buffers and parsed streams. CERBERUS_NVJPEG_MAJOR comes from the
// build, one library for each.
#include <cstdlib>

#include "libraries/common/rocm.h"
#include "libraries/nvjpeg/objects.h"

namespace cerberus::libraries::nvjpeg {
namespace {

Status Property(int property, int* value) {
  if (value == nullptr || property < 0 || property > 2) {
    return kInvalidParameter;
  }
  *value = property == 0 ? CERBERUS_NVJPEG_MAJOR : 0;
  return kSuccess;
}

Status Create(int backend, unsigned flags, Handle** handle) {
  if (handle == nullptr || backend < kDefault || backend > kLosslessBackend) {
    return kInvalidParameter;
  }
  // Engines that an AMD GPU does not have, as many of NVIDIA's do not.
  if (backend == kHardware || backend == kHardwareDevice) {
    return kArchMismatch;
  }
  if (backend == kLosslessBackend) return kImplementationNotSupported;
  const Driver* const driver = FindDriver();
  if (driver == nullptr || !EnsureContext(*driver)) return kNotInitialized;
  SayComputesOnHost(*driver, "nvJPEG");
  return Make(Handle{driver, backend, flags}, handle);
}

// --- Buffers
using Malloc = int (*)(void**, std::size_t);
using PinnedMalloc = int (*)(void**, std::size_t, unsigned);
using Free = int (*)(void*);
using MallocV2 = int (*)(void*, void**, std::size_t, Stream);
using FreeV2 = int (*)(void*, void*, std::size_t, Stream);

int AllocateOurs(const Buffer& b, void** memory, std::size_t size, Stream) {
  if (!b.device) {
    *memory = std::malloc(size);
    return *memory != nullptr ? 0 : 1;
  }
  std::uint64_t address = 0;
  const int status = b.driver->allocate(&address, size);
  *memory = reinterpret_cast<void*>(address);
  return status;
}
int FreeOurs(const Buffer& b, void* memory, std::size_t, Stream) {
  if (b.device) return b.driver->free(reinterpret_cast<std::uint64_t>(memory));
  std::free(memory);
  return 0;
}
int AllocateTheirs(const Buffer& b, void** memory, std::size_t size, Stream) {
  return b.device ? reinterpret_cast<Malloc>(b.own[0])(memory, size)
                  : reinterpret_cast<PinnedMalloc>(b.own[0])(memory, size, 0);
}
int FreeTheirs(const Buffer& b, void* memory, std::size_t, Stream) {
  return reinterpret_cast<Free>(b.own[1])(memory);
}
int AllocateTheirsV2(const Buffer& b, void** memory, std::size_t size,
                     Stream stream) {
  return reinterpret_cast<MallocV2>(b.own[0])(b.own[2], memory, size, stream);
}
int FreeTheirsV2(const Buffer& b, void* memory, std::size_t size,
                 Stream stream) {
  return reinterpret_cast<FreeV2>(b.own[1])(b.own[2], memory, size, stream);
}

// `allocator`: two functions, and in the second version what they are given.
Status MakeBuffer(const Handle* handle, bool device, void* const* allocator,
                  bool second, Buffer** out) {
  if (const Status status = Check(handle)) return status;
  Buffer buffer = {device, handle->driver, AllocateOurs, FreeOurs};
  if (allocator != nullptr) {
    if (allocator[0] == nullptr || allocator[1] == nullptr) {
      return kInvalidParameter;
    }
    buffer.allocate = second ? AllocateTheirsV2 : AllocateTheirs;
    buffer.free = second ? FreeTheirsV2 : FreeTheirs;
    for (int i = 0; i < (second ? 3 : 2); ++i) buffer.own[i] = allocator[i];
  }
  return Make(buffer, out);
}
Status Resize(Buffer* buffer, bool device, std::size_t size, Stream stream) {
  if (const Status status = Check(buffer)) return status;
  if (buffer->device != device) return kInvalidParameter;
  if (size <= buffer->size) return kSuccess;
  if (buffer->memory != nullptr) {
    buffer->free(*buffer, buffer->memory, buffer->size, stream);
  }
  buffer->memory = nullptr;
  buffer->size = 0;
  if (buffer->allocate(*buffer, &buffer->memory, size, stream) != 0) {
    return kAllocatorFailure;
  }
  buffer->size = size;
  return kSuccess;
}
Status Release(Buffer* buffer, bool device) {
  if (const Status status = Check(buffer)) return status;
  if (buffer->device != device) return kInvalidParameter;
  if (buffer->memory != nullptr) {
    buffer->free(*buffer, buffer->memory, buffer->size, nullptr);
  }
  return Destroy(buffer);
}
Status Retrieve(const Buffer* buffer, bool device, std::size_t* size,
                void** memory) {
  if (const Status status = Check(buffer)) return status;
  if (buffer->device != device || size == nullptr || memory == nullptr) {
    return kInvalidParameter;
  }
  *size = buffer->size;
  *memory = buffer->memory;
  return kSuccess;
}
Status Attach(const JpegState* state, const Buffer* buffer, bool device) {
  if (const Status status = CheckAll(state)) return status;
  if (const Status status = Check(buffer)) return status;
  return buffer->device == device ? kSuccess : kInvalidParameter;
}

// --- Streams
Status Parse(const Handle* handle, const std::uint8_t* data, std::size_t length,
             bool save, bool only_tables, JpegStream* stream) {
  if (const Status status = Check(handle)) return status;
  if (const Status status = Check(stream)) return status;
  if (data == nullptr || length == 0) return kInvalidParameter;
  return Guarded([&] {
    Header header;
    const Status status =
        ParseHeader(Bytes(data, length), stream->tables, only_tables, &header);
    if (status != kSuccess) return status;
    if (only_tables && header.components.empty()) {
      stream->tables = header.tables;
      return kSuccess;
    }
    stream->saved.clear();
    stream->data = Bytes(data, length);
    if (save) {
      stream->saved.assign(data, data + length);
      stream->data = stream->saved;
    }
    stream->header = std::move(header);
    return kSuccess;
  });
}
// What is told of a parsed stream: `tell(header)` for outputs that are there.
template <typename F, typename... T>
Status Tell(const JpegStream* stream, const F& tell, const T*... outputs) {
  if (const Status status = Check(stream)) return status;
  if (((outputs == nullptr) || ...)) return kInvalidParameter;
  if (!stream->header) return kInvalidParameter;
  return tell(*stream->header);
}
// The same for one output, of what `value(header)` gives.
template <typename F, typename T>
Status TellOne(const JpegStream* stream, const F& value, T* out) {
  return Tell(
      stream,
      [&](const Header& header) {
        *out = static_cast<T>(value(header));
        return kSuccess;
      },
      out);
}

Status Supported(const Header& header, const DecodeParams* params, int* out) {
  const bool decodes = header.precision == 8 && header.encoding != kLossless;
  const bool four = header.components.size() == 4;
  const int format = params != nullptr ? params->format : kUnchanged;
  const bool colors =
      format == kUnchanged ||
      (four ? params->cmyk && format != kYuv : header.components.size() != 2);
  *out = decodes && colors && format != kUnchanged16 ? 0 : 1;
  return kSuccess;
}

}  // namespace
}  // namespace cerberus::libraries::nvjpeg

namespace lib = cerberus::libraries;
namespace nj = cerberus::libraries::nvjpeg;
using nj::Status;

NVJPEG_API int nvjpegGetProperty(int property, int* value) {
  return nj::Property(property, value);
}
NVJPEG_API int nvjpegGetCudartProperty(int property, int* value) {
  return nj::Property(property, value);
}
// Memory is taken from the host's, whatever the allocator.
NVJPEG_API int nvjpegCreate(int backend, void*, nj::Handle** handle) {
  return nj::Create(backend, 0, handle);
}
NVJPEG_API int nvjpegCreateSimple(nj::Handle** handle) {
  return nj::Create(nj::kDefault, 0, handle);
}
NVJPEG_API int nvjpegCreateEx(int backend, void*, void*, unsigned flags,
                              nj::Handle** handle) {
  return nj::Create(backend, flags, handle);
}
NVJPEG_API int nvjpegCreateExV2(int backend, void*, void*, unsigned flags,
                                nj::Handle** handle) {
  return nj::Create(backend, flags, handle);
}
NVJPEG_API int nvjpegDestroy(nj::Handle* handle) { return nj::Destroy(handle); }

NVJPEG_API int nvjpegSetDeviceMemoryPadding(std::size_t padding,
                                            nj::Handle* handle) {
  if (const Status status = nj::Check(handle)) return status;
  handle->device_padding = padding;
  return nj::kSuccess;
}
NVJPEG_API int nvjpegGetDeviceMemoryPadding(std::size_t* padding,
                                            nj::Handle* handle) {
  if (const Status status = nj::Check(handle)) return status;
  if (padding == nullptr) return nj::kInvalidParameter;
  *padding = handle->device_padding;
  return nj::kSuccess;
}
NVJPEG_API int nvjpegSetPinnedMemoryPadding(std::size_t padding,
                                            nj::Handle* handle) {
  if (const Status status = nj::Check(handle)) return status;
  handle->pinned_padding = padding;
  return nj::kSuccess;
}
NVJPEG_API int nvjpegGetPinnedMemoryPadding(std::size_t* padding,
                                            nj::Handle* handle) {
  if (const Status status = nj::Check(handle)) return status;
  if (padding == nullptr) return nj::kInvalidParameter;
  *padding = handle->pinned_padding;
  return nj::kSuccess;
}
NVJPEG_API int nvjpegGetHardwareDecoderInfo(nj::Handle* handle,
                                            unsigned* engines,
                                            unsigned* cores) {
  if (const Status status = nj::Check(handle)) return status;
  if (engines == nullptr || cores == nullptr) return nj::kInvalidParameter;
  *engines = *cores = 0;
  return nj::kSuccess;
}
NVJPEG_API int nvjpegGetHardwareEncoderInfo(nj::Handle* handle,
                                            unsigned* engines) {
  if (const Status status = nj::Check(handle)) return status;
  if (engines == nullptr) return nj::kInvalidParameter;
  *engines = 0;
  return nj::kSuccess;
}

// --- Buffers
#define NVJPEG_BUFFER(Kind, device)                                      \
  NVJPEG_API int nvjpegBuffer##Kind##Create(                             \
      nj::Handle* handle, void* const* allocator, nj::Buffer** buffer) { \
    return nj::MakeBuffer(handle, device, allocator, false, buffer);     \
  }                                                                      \
  NVJPEG_API int nvjpegBuffer##Kind##CreateV2(                           \
      nj::Handle* handle, void* const* allocator, nj::Buffer** buffer) { \
    return nj::MakeBuffer(handle, device, allocator, true, buffer);      \
  }                                                                      \
  NVJPEG_API int nvjpegBuffer##Kind##Resize(                             \
      nj::Buffer* buffer, std::size_t size, lib::Stream stream) {        \
    return nj::Resize(buffer, device, size, stream);                     \
  }                                                                      \
  NVJPEG_API int nvjpegBuffer##Kind##Destroy(nj::Buffer* buffer) {       \
    return nj::Release(buffer, device);                                  \
  }                                                                      \
  NVJPEG_API int nvjpegBuffer##Kind##Retrieve(                           \
      nj::Buffer* buffer, std::size_t* size, void** memory) {            \
    return nj::Retrieve(buffer, device, size, memory);                   \
  }                                                                      \
  NVJPEG_API int nvjpegStateAttach##Kind##Buffer(nj::JpegState* state,   \
                                                 nj::Buffer* buffer) {   \
    return nj::Attach(state, buffer, device);                            \
  }
NVJPEG_BUFFER(Pinned, false)
NVJPEG_BUFFER(Device, true)
#undef NVJPEG_BUFFER

// --- Streams
NVJPEG_API int nvjpegJpegStreamCreate(nj::Handle* handle,
                                      nj::JpegStream** stream) {
  if (const Status status = nj::Check(handle)) return status;
  return nj::Make(nj::JpegStream{}, stream);
}
NVJPEG_API int nvjpegJpegStreamDestroy(nj::JpegStream* stream) {
  return nj::Destroy(stream);
}
NVJPEG_API int nvjpegJpegStreamParse(nj::Handle* handle,
                                     const std::uint8_t* data,
                                     std::size_t length, int, int save_stream,
                                     nj::JpegStream* stream) {
  return nj::Parse(handle, data, length, save_stream != 0, false, stream);
}
NVJPEG_API int nvjpegJpegStreamParseHeader(nj::Handle* handle,
                                           const std::uint8_t* data,
                                           std::size_t length,
                                           nj::JpegStream* stream) {
  return nj::Parse(handle, data, length, false, false, stream);
}
NVJPEG_API int nvjpegJpegStreamParseTables(nj::Handle* handle,
                                           const std::uint8_t* data,
                                           std::size_t length,
                                           nj::JpegStream* stream) {
  return nj::Parse(handle, data, length, false, true, stream);
}
NVJPEG_API int nvjpegJpegStreamGetJpegEncoding(nj::JpegStream* stream,
                                               int* encoding) {
  return nj::TellOne(
      stream, [](const nj::Header& header) { return header.encoding; },
      encoding);
}
NVJPEG_API int nvjpegJpegStreamGetFrameDimensions(nj::JpegStream* stream,
                                                  unsigned* width,
                                                  unsigned* height) {
  return nj::Tell(
      stream,
      [&](const nj::Header& header) {
        *width = static_cast<unsigned>(header.width);
        *height = static_cast<unsigned>(header.height);
        return nj::kSuccess;
      },
      width, height);
}
NVJPEG_API int nvjpegJpegStreamGetComponentsNum(nj::JpegStream* stream,
                                                unsigned* count) {
  return nj::TellOne(
      stream, [](const nj::Header& header) { return header.components.size(); },
      count);
}
NVJPEG_API int nvjpegJpegStreamGetComponentDimensions(nj::JpegStream* stream,
                                                      unsigned component,
                                                      unsigned* width,
                                                      unsigned* height) {
  return nj::Tell(
      stream,
      [&](const nj::Header& header) {
        if (component >= header.components.size()) return nj::kInvalidParameter;
        *width = static_cast<unsigned>(header.components[component].width);
        *height = static_cast<unsigned>(header.components[component].height);
        return nj::kSuccess;
      },
      width, height);
}
NVJPEG_API int nvjpegJpegStreamGetExifOrientation(nj::JpegStream* stream,
                                                  int* orientation) {
  return nj::TellOne(
      stream, [](const nj::Header& header) { return header.orientation; },
      orientation);
}
NVJPEG_API int nvjpegJpegStreamGetSamplePrecision(nj::JpegStream* stream,
                                                  unsigned* precision) {
  return nj::TellOne(
      stream, [](const nj::Header& header) { return header.precision; },
      precision);
}
NVJPEG_API int nvjpegJpegStreamGetChromaSubsampling(nj::JpegStream* stream,
                                                    int* subsampling) {
  return nj::TellOne(
      stream,
      [](const nj::Header& header) { return nj::SubsamplingOf(header); },
      subsampling);
}

// 0: it is.
NVJPEG_API int nvjpegDecoderJpegSupported(nj::Decoder* decoder,
                                          nj::JpegStream* stream,
                                          nj::DecodeParams* params, int* out) {
  if (const Status status = nj::Check(decoder)) return status;
  if (params != nullptr) {
    if (const Status status = nj::Check(params)) return status;
  }
  return nj::Tell(
      stream,
      [&](const nj::Header& header) {
        return nj::Supported(header, params, out);
      },
      out);
}
NVJPEG_API int nvjpegDecodeBatchedSupported(nj::Handle* handle,
                                            nj::JpegStream* stream, int* out) {
  if (const Status status = nj::Check(handle)) return status;
  return nj::Tell(
      stream,
      [&](const nj::Header& header) {
        return nj::Supported(header, nullptr, out);
      },
      out);
}
NVJPEG_API int nvjpegDecodeBatchedSupportedEx(nj::Handle* handle,
                                              nj::JpegStream* stream,
                                              nj::DecodeParams* params,
                                              int* out) {
  if (const Status status = nj::CheckAll(handle)) return status;
  if (const Status status = nj::Check(params)) return status;
  return nj::Tell(
      stream,
      [&](const nj::Header& header) {
        return nj::Supported(header, params, out);
      },
      out);
}
