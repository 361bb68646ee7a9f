// A loop whose rounds run on several threads.
#ifndef CERBERUS_PACKAGER_PARALLEL_H_
#define CERBERUS_PACKAGER_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace cerberus::packager {

// Calls body(i) for each i below `count`, in their order but several at a time,
// until one of them returns false.
inline void ParallelFor(std::size_t count, unsigned threads,
                        const std::function<bool(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < count && !stopped; i = next++) {
      if (!body(i)) stopped = true;
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& thread : others) thread.join();
}

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_PARALLEL_H_
