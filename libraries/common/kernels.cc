#include "libraries/common/kernels.h"

#include "support/log.h"

namespace cerberus::libraries {

void* Kernels::Find(const Driver& driver, const std::string& name) {
  if (driver.load_library == nullptr || driver.find_kernel == nullptr ||
      driver.function_of_kernel == nullptr || driver.launch == nullptr) {
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const RelaxedCapture relaxed(driver);
  if (!asked_) {
    asked_ = true;
    if (driver.load_library(&library_, ptx_, nullptr, nullptr, 0, nullptr,
                            nullptr, 0) != 0) {
      Log(LogLevel::kInfo, "kernels of our own: the driver takes no PTX");
      library_ = nullptr;
    }
  }
  if (library_ == nullptr) return nullptr;
  void*& kernel = kernels_[name];
  if (kernel == nullptr &&
      driver.find_kernel(&kernel, library_, name.c_str()) != 0) {
    kernel = nullptr;
    return nullptr;
  }
  // It is loaded into each context that asks.
  void* function = nullptr;
  return driver.function_of_kernel(&function, kernel) == 0 ? function : nullptr;
}

}  // namespace cerberus::libraries
