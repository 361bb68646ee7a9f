// Handles and other objects of the process. Of two versions of the library that
// are loaded, as `cerberus run` does, either takes what the other has made: a
// program may find a function in another than that which made its handle.
#ifndef CERBERUS_LIBRARIES_CUSOLVER_REGISTRY_H_
#define CERBERUS_LIBRARIES_CUSOLVER_REGISTRY_H_

#include <atomic>

#include "libraries/common/alive.h"

namespace cerberus::libraries::cusolver {

struct Context;
struct DnParams;
struct IrsInformation;
struct IrsParameters;
struct JacobiParameters;
struct RefactorContext;
struct SparseInformation;

// Each kind's number, which all versions have.
enum Kind {
  kContexts,
  kParams,
  kIrsInfos,
  kIrsParams,
  kJacobis,
  kRefactors,
  kSparseInfos,
  kKinds
};
template <typename T>
inline constexpr Kind kKindOf = kKinds;
template <>
inline constexpr Kind kKindOf<Context> = kContexts;
template <>
inline constexpr Kind kKindOf<DnParams> = kParams;
template <>
inline constexpr Kind kKindOf<IrsInformation> = kIrsInfos;
template <>
inline constexpr Kind kKindOf<IrsParameters> = kIrsParams;
template <>
inline constexpr Kind kKindOf<JacobiParameters> = kJacobis;
template <>
inline constexpr Kind kKindOf<RefactorContext> = kRefactors;
template <>
inline constexpr Kind kKindOf<SparseInformation> = kSparseInfos;

// Where the objects of a kind are: in that version which had one first.
std::atomic<void*>* Slot(Kind kind);

template <typename T>
Alive<T>& All() {
  static Alive<T>& all = *[] {
    std::atomic<void*>& slot = *Slot(kKindOf<T>);
    void* there = slot.load();
    if (there == nullptr) {
      auto* const made = new Alive<T>;
      if (slot.compare_exchange_strong(there, made)) there = made;
      else delete made;
    }
    return static_cast<Alive<T>*>(there);
  }();
  return all;
}

}  // namespace cerberus::libraries::cusolver

#endif  // CERBERUS_LIBRARIES_CUSOLVER_REGISTRY_H_
