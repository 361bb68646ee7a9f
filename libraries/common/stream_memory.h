// Device memory for one call, in the stream's order: there for what is put into
// the stream within its scope.
#ifndef CERBERUS_LIBRARIES_COMMON_STREAM_MEMORY_H_
#define CERBERUS_LIBRARIES_COMMON_STREAM_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "libraries/common/driver.h"

namespace cerberus::libraries {

class StreamMemory {
 public:
  StreamMemory(const Driver& driver, Stream stream, std::size_t bytes)
      : driver_(driver), stream_(stream) {
    // A capture would make nodes of it, which not every HIP has.
    has_ = bytes == 0 ||
           (driver.allocate_in != nullptr && driver.free_in != nullptr &&
            !IsCaptured(driver, stream) &&
            driver.allocate_in(&address_, bytes, stream) == 0);
  }
  ~StreamMemory() {
    if (address_ != 0) driver_.free_in(address_, stream_);
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  // False: there is none.
  bool has() const { return has_; }
  std::byte* get() const { return reinterpret_cast<std::byte*>(address_); }

 private:
  const Driver& driver_;
  const Stream stream_;
  std::uint64_t address_ = 0;
  bool has_ = false;
};

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_STREAM_MEMORY_H_
