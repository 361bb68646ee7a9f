// Many matrices in one call: arrays of pointers and strides.
#ifndef CERBERUS_LIBRARIES_COMMON_POINTERS_H_
#define CERBERUS_LIBRARIES_COMMON_POINTERS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libraries/common/work.h"

namespace cerberus::libraries {

// An array of pointers in device memory. Where that is the host's it is read
// when the stream comes to the call, else at once, as each matrix has to be
// copied.
template <typename T>
class Pointers {
 public:
  // `map` maps one matrix (Work::InMatrix, …).
  template <typename Map>
  Pointers(const Work& work, T* const* array, std::int64_t count,
           const Map& map)
      : array_(array) {
    if (work.shares_memory()) return;
    std::vector<T*> read(static_cast<std::size_t>(count));
    failed_ = !work.ReadNow(read.data(), array, read.size() * sizeof(T*));
    if (failed_) return;
    auto mapped = std::make_shared<std::vector<T*>>();
    for (std::int64_t i = 0; i < count; ++i) {
      mapped->push_back(map(read[static_cast<std::size_t>(i)], i));
    }
    mapped_ = std::move(mapped);
  }
  bool failed() const { return failed_; }
  T* operator[](std::int64_t i) const {
    return mapped_ ? (*mapped_)[static_cast<std::size_t>(i)] : array_[i];
  }

 private:
  T* const* array_;
  std::shared_ptr<const std::vector<T*>> mapped_;
  bool failed_ = false;
};

// A matrix out of an array with a stride.
template <typename T>
class Strided {
 public:
  template <typename Map>
  Strided(T* first, std::int64_t stride, std::int64_t count, const Map& map) {
    for (std::int64_t i = 0; i < count; ++i)
      places_.push_back(map(first + i * stride));
  }
  T* operator[](std::int64_t i) const {
    return places_[static_cast<std::size_t>(i)];
  }

 private:
  std::vector<T*> places_;
};

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_POINTERS_H_
