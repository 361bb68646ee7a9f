// Signals: words that the host and kernels change, and waiting for them.
#ifndef CERBERUS_EMULATOR_HSA_SIGNAL_H_
#define CERBERUS_EMULATOR_HSA_SIGNAL_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "emulator/hsa/abi.h"

namespace cerberus::emulator::hsa {

inline SignalBlock* BlockOf(Signal signal) {
  return reinterpret_cast<SignalBlock*>(signal.handle);
}
inline std::atomic_ref<SignalValue> ValueOf(SignalBlock* signal) {
  return std::atomic_ref<SignalValue>(signal->value);
}

// A signal with a value, or null: no memory.
SignalBlock* MakeSignal(SignalValue value);
void DropSignal(SignalBlock* signal);
// Whether a packet may name it: no signal at all, or one of ours, destroyed or
// not. Whatever else stands in a packet is no address to be followed.
bool IsSignal(Signal signal);

bool Holds(SignalValue value, Condition condition, SignalValue compare);

// Wakes all that wait. Whoever changes a signal by a call of the runtime, and
// a wave that sends an interrupt, calls it behind the change.
void Notify();

// Waits until `done` says so, which is asked again behind each Notify, and now
// and then, since kernels and the host may write to a signal without a word.
// False: `deadline` (of Now()) is over.
bool WaitUntil(const std::function<bool()>& done, std::uint64_t deadline);
inline constexpr std::uint64_t kForever = ~std::uint64_t{0};

// How long to sleep until one looks again, in case something was written
// without a word: longer each time, so that what is idle costs nothing.
class Patience {
 public:
  std::chrono::milliseconds Next() {
    const std::chrono::milliseconds now = next_;
    next_ = std::min(2 * next_, kLongest);
    return now;
  }
  void Reset() { next_ = kShortest; }
  static constexpr std::chrono::milliseconds kShortest{5}, kLongest{320};

 private:
  std::chrono::milliseconds next_ = kShortest;
};

// Takes one from a packet's or copy's completion signal, if it has one, and
// notes when the work was done.
void Complete(Signal signal, const Times& times);

}  // namespace cerberus::emulator::hsa

#endif  // CERBERUS_EMULATOR_HSA_SIGNAL_H_
