// Kernels of our own: PTX that the driver compiles for its GPU, as that of any
// program.
#ifndef CERBERUS_LIBRARIES_COMMON_KERNELS_H_
#define CERBERUS_LIBRARIES_COMMON_KERNELS_H_

#include <map>
#include <mutex>
#include <string>

#include "libraries/common/driver.h"

namespace cerberus::libraries {

struct Grid {
  unsigned x, y, z;
};

class Kernels {
 public:
  // `ptx` ends with a zero, and stays.
  explicit Kernels(const char* ptx) : ptx_(ptx) {}
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // The kernel for the current context. Null: the driver has no code for it,
  // and cannot make any.
  void* Find(const Driver& driver, const std::string& name);

 private:
  const char* const ptx_;
  std::mutex mutex_;
  void* library_ = nullptr;
  bool asked_ = false;
  std::map<std::string, void*> kernels_;
};

// One with a structure for its only argument, in blocks of so many threads.
template <typename T>
bool Launch(const Driver& driver, void* kernel, Grid grid, unsigned threads,
            Stream stream, T argument) {
  void* arguments[] = {&argument};
  return driver.launch(kernel, grid.x, grid.y, grid.z, threads, 1, 1, 0, stream,
                       arguments, nullptr) == 0;
}

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_KERNELS_H_
