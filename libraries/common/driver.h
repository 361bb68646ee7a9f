// The CUDA driver of the process, as far as NVIDIA's other libraries need it:
// the stub's libcuda.so.1, which the program's runtime has opened already.
#ifndef CERBERUS_LIBRARIES_COMMON_DRIVER_H_
#define CERBERUS_LIBRARIES_COMMON_DRIVER_H_

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "formats/hip_of_context.h"

namespace cerberus::libraries {

// As in CUDA's cuda.h; a stream of the runtime is one of the driver's.
using Stream = struct CUstream_st*;
using Context = struct CUctx_st*;

// CUDA_MEMCPY2D of cuda.h, version 2.
struct Copy2d {
  std::size_t source_x, source_y;
  unsigned source_kind;
  const void* source_host;
  std::uint64_t source_device;
  void* source_array;
  std::size_t source_pitch;
  std::size_t target_x, target_y;
  unsigned target_kind;
  void* target_host;
  std::uint64_t target_device;
  void* target_array;
  std::size_t target_pitch;
  std::size_t width, height;
};
static_assert(sizeof(Copy2d) == 128, "CUDA_MEMCPY2D has 128 bytes");
inline constexpr unsigned kUnified = 4;  // CU_MEMORYTYPE_UNIFIED

// Of the stub alone.
using formats::HipOfContext;

struct Driver {
  int (*init)(unsigned);
  int (*context)(Context*);
  int (*retain_primary)(Context*, int);
  int (*set_context)(Context);
  int (*launch_host)(Stream, void (*)(void*), void*);
  int (*synchronize)(Stream);
  int (*capture_info)(Stream, int* status, std::uint64_t* id, void** graph,
                      const void*** dependencies, std::size_t* count);
  int (*make_user_object)(void** object, void* pointer, void (*destroy)(void*),
                          unsigned references, unsigned flags);
  int (*graph_retain)(void* graph, void* object, unsigned count,
                      unsigned flags);
  int (*copy)(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream);
  int (*copy_2d)(const Copy2d*, Stream);
  int (*allocate)(std::uint64_t* address, std::size_t bytes);
  int (*free)(std::uint64_t address);
  int (*allocate_host)(void** pointer, std::size_t bytes);
  int (*exchange_capture_mode)(int* mode);
  int (*device)(int*);
  // Null of drivers that lack them.
  int (*allocate_in)(std::uint64_t* address, std::size_t bytes, Stream);
  int (*free_in)(std::uint64_t address, Stream);
  int (*set_words)(std::uint64_t address, unsigned word, std::size_t count,
                   Stream);
  int (*load_library)(void** library, const void* code, void*, void*, unsigned,
                      void*, void*, unsigned);
  int (*find_kernel)(void** kernel, void* library, const char* name);
  int (*function_of_kernel)(void** function, void* kernel);
  int (*launch)(void* function, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, unsigned shared, Stream, void** arguments,
                void** extra);
  // Of the stub alone: whether kernels run in the memory of the process, as on
  // the emulator, so that the host may work on theirs in place.
  bool shares_memory;
  // Of the stub alone, null of other drivers. The second is HIP's stream of a
  // stream, whose device becomes HIP's current one.
  int (*describe_hip)(HipOfContext*);
  int (*hip_stream)(Stream, void**);
};

// Looks a function up. False if the library lacks it.
template <typename F>
bool Look(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

// Null if there is no driver, or it lacks what is needed.
const Driver* FindDriver();

// Makes the first device's primary context current where the thread has none,
// as CUDA's runtime would. False if there is no device.
bool EnsureContext(const Driver& driver);

// Within its scope this thread may do what a capture would forbid it, as to
// allocate: AMD's HIP 6 asks for that where a stream is captured.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver)
      : driver_(driver), relaxed_(driver.exchange_capture_mode(&mode_) == 0) {}
  ~RelaxedCapture() {
    if (relaxed_) driver_.exchange_capture_mode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
  const bool relaxed_;
};

// Whether the stream is captured, so that nothing can be waited for; also if
// it does not say.
bool IsCaptured(const Driver& driver, Stream stream);

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_DRIVER_H_
