// A driver whose streams do everything at once, and whose device memory the
// host must not touch but by copies (or may, as on the emulator).
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_DRIVER_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_DRIVER_H_

#include <cstdlib>
#include <cstring>

#include "libraries/common/driver.h"

namespace cerberus::libraries {

inline Driver FakeDriver(bool shares_memory) {
  Driver driver = {};
  driver.launch_host = [](Stream, void (*f)(void*), void* data) {
    f(data);
    return 0;
  };
  driver.synchronize = [](Stream) { return 0; };
  driver.capture_info = [](Stream, int* status, std::uint64_t*, void**,
                           const void***, std::size_t*) {
    *status = 0;
    return 0;
  };
  driver.copy = [](std::uint64_t to, std::uint64_t from, std::size_t bytes,
                   Stream) {
    std::memcpy(reinterpret_cast<void*>(to),
                reinterpret_cast<const void*>(from), bytes);
    return 0;
  };
  driver.copy_2d = [](const Copy2d* c, Stream) {
    for (std::size_t i = 0; i < c->height; ++i) {
      std::memcpy(
          reinterpret_cast<void*>(c->target_device + i * c->target_pitch),
          reinterpret_cast<const void*>(c->source_device + i * c->source_pitch),
          c->width);
    }
    return 0;
  };
  driver.exchange_capture_mode = [](int*) { return 0; };
  driver.allocate_host = [](void** pointer, std::size_t bytes) {
    *pointer = std::malloc(bytes);
    return *pointer == nullptr ? 1 : 0;
  };
  driver.shares_memory = shares_memory;
  return driver;
}

}  // namespace cerberus::libraries

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_DRIVER_H_
