// Handles of one of ROCm's libraries, one for each stream, since the calls of a
// handle share its memory: who changes a handle's stream has to wait for the
// one before (AMD, rocBLAS documentation, "Streams and Synchronization").
#ifndef CERBERUS_LIBRARIES_COMMON_STREAM_HANDLES_H_
#define CERBERUS_LIBRARIES_COMMON_STREAM_HANDLES_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "libraries/common/driver.h"
#include "libraries/common/rocm.h"

namespace cerberus::libraries {

// `Entry` has `handle` and HIP's `stream`, and may keep more. Of the library's
// statuses, `S`, 0 is success. Not for two threads at once.
template <typename Entry, typename S>
class StreamHandles {
 public:
  using Handle = decltype(Entry::handle);

  // `prefix` is that of the library's functions: "rocblas_".
  StreamHandles(const Driver& driver, const RocmLibrary& library,
                const std::string& prefix)
      : driver_(driver) {
    library.Find((prefix + "create_handle").c_str(), &create_);
    library.Find((prefix + "destroy_handle").c_str(), &destroy_);
    library.Find((prefix + "set_stream").c_str(), &set_stream_);
  }
  ~StreamHandles() {
    for (const Entry& one : entries_) destroy_(one.handle);
  }
  StreamHandles(const StreamHandles&) = delete;
  StreamHandles& operator=(const StreamHandles&) = delete;

  // Null: none can be made.
  Entry* Choose(Stream stream) {
    // Makes the context's device HIP's current one, which a handle is for.
    void* hip_stream = nullptr;
    if (driver_.hip_stream(stream, &hip_stream) != 0) return nullptr;
    const auto found = std::find_if(
        entries_.begin(), entries_.end(),
        [&](const Entry& one) { return one.stream == hip_stream; });
    if (found != entries_.end()) {
      std::rotate(found, found + 1, entries_.end());
      return &entries_.back();
    }
    if (create_ == nullptr || destroy_ == nullptr || set_stream_ == nullptr) {
      return nullptr;
    }
    const RelaxedCapture relaxed(driver_);
    // Streams come and go. The end of a handle waits for the device.
    constexpr std::size_t kMost = 16;
    if (entries_.size() >= kMost && !IsCaptured(driver_, stream)) {
      destroy_(entries_.front().handle);
      entries_.erase(entries_.begin());
    }
    Entry made = {};
    made.stream = hip_stream;
    if (create_(&made.handle) != S{}) return nullptr;
    entries_.push_back(made);
    return set_stream_(made.handle, hip_stream) == S{} ? &entries_.back()
                                                       : nullptr;
  }
  // The one that was chosen last.
  const Entry& last() const { return entries_.back(); }

 private:
  const Driver& driver_;
  S (*create_)(Handle*) = nullptr;
  S (*destroy_)(Handle) = nullptr;
  S (*set_stream_)(Handle, void*) = nullptr;
  std::vector<Entry> entries_;  // the last used last
};

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_STREAM_HANDLES_H_
