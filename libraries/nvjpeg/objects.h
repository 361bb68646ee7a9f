// What the handles of nvJPEG lead to.
#ifndef CERBERUS_LIBRARIES_NVJPEG_OBJECTS_H_
#define CERBERUS_LIBRARIES_NVJPEG_OBJECTS_H_

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "libraries/common/alive.h"
#include "libraries/common/driver.h"
#include "libraries/nvjpeg/colors.h"
#include "libraries/nvjpeg/jpeg.h"

#define NVJPEG_API extern "C" __attribute__((visibility("default")))

namespace cerberus::libraries::nvjpeg {

// nvjpegBackend_t.
enum Backend : int {
  kDefault = 0,
  kHardware = 3,
  kGpuHybridDevice = 4,  // streams lie in device memory
  kHardwareDevice = 5,
  kLosslessBackend = 6,
};
inline constexpr unsigned kStrict = 1 << 2;
inline constexpr unsigned kInterpolate = 1 << 5;

struct Handle {
  const Driver* driver;
  int backend;
  unsigned flags;
  std::size_t device_padding = 0, pinned_padding = 0;
};
struct JpegStream {
  Tables tables;  // of a stream of its own
  std::optional<Header> header;
  Bytes data;
  std::vector<std::uint8_t> saved;
};
struct DecodeParams {
  int format = kUnchanged;
  bool cmyk = false;
  int orientation = 0, shift = 0;
  std::optional<Window> window;
};
struct Decoder {
  Handle* handle;
};
struct JpegState {
  // Of a batch.
  int batch = 0, format = kUnchanged;
  Tables tables;
  // Between the phases of one.
  std::shared_ptr<const Image> image;
  DecodeParams params;
};
struct EncoderParams {
  EncoderParams() { SetQuality(70, &settings); }
  EncodeSettings settings;
  int subsampling = k444;
};
struct EncoderState {
  bool is_encoded = false;
  std::vector<std::uint8_t> stream;
};
// Memory that a program may have its decoder use: it is asked for, and not
// needed here.
struct Buffer {
  bool device;
  const Driver* driver;
  // nvjpegDevAllocator_t, nvjpegPinnedAllocator_t and their second versions.
  int (*allocate)(const Buffer&, void**, std::size_t, Stream);
  int (*free)(const Buffer&, void*, std::size_t, Stream);
  void* own[3] = {};  // what the program gave
  void* memory = nullptr;
  std::size_t size = 0;
};

template <typename T>
Status Check(const T* object) {
  if (object == nullptr) return kInvalidParameter;
  return Alive<T>::All().Has(object) ? kSuccess : kNotInitialized;
}
// The first that is none.
template <typename... T>
Status CheckAll(const T*... objects) {
  Status status = kSuccess;
  ((status == kSuccess ? status = Check(objects) : status), ...);
  return status;
}
template <typename T>
Status Make(T value, T** out) {
  if (out == nullptr) return kInvalidParameter;
  *out = Alive<T>::All().Make(std::move(value));
  return *out != nullptr ? kSuccess : kAllocatorFailure;
}
template <typename T>
Status Destroy(T* object) {
  if (object == nullptr) return kInvalidParameter;
  return Alive<T>::All().Destroy(object) ? kSuccess : kNotInitialized;
}
template <typename F>
Status Guarded(const F& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return kAllocatorFailure;
  }
}

}  // namespace cerberus::libraries::nvjpeg

#endif  // CERBERUS_LIBRARIES_NVJPEG_OBJECTS_H_
