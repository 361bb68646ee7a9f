// Handles of a kind: which of them were made and are not destroyed, so that a
// call with another is refused.
#ifndef CERBERUS_LIBRARIES_COMMON_ALIVE_H_
#define CERBERUS_LIBRARIES_COMMON_ALIVE_H_

#include <mutex>
#include <new>
#include <set>
#include <utility>

namespace cerberus::libraries {

template <typename T>
class Alive {
 public:
  // Never destroyed: programs make calls in their own destructors.
  static Alive& All() {
    static auto& all = *new Alive;
    return all;
  }
  // Null: memory is out.
  T* Make(T value = {}) {
    T* const made = new (std::nothrow) T(std::move(value));
    if (made == nullptr) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    alive_.insert(made);
    return made;
  }
  bool Has(const T* one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return alive_.count(one) != 0;
  }
  // False: there is none.
  bool Destroy(const T* one) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (alive_.erase(one) == 0) return false;
    }
    delete one;
    return true;
  }

 private:
  std::mutex mutex_;
  std::set<const T*> alive_;
};

}  // namespace cerberus::libraries

#endif  // CERBERUS_LIBRARIES_COMMON_ALIVE_H_
