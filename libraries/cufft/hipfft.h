// A plan of hipFFT's under one of ours.
#ifndef CERBERUS_LIBRARIES_CUFFT_HIPFFT_H_
#define CERBERUS_LIBRARIES_CUFFT_HIPFFT_H_

#include <memory>
#include <mutex>
#include <string>

#include "libraries/common/rocm.h"
#include "libraries/cufft/plan.h"

namespace cerberus::libraries::cufft {

class HipfftPlan {
 public:
  // For a plan that is made, and the current context's device; null if the host
  // computes. False: the environment insists on hipFFT, and it cannot be had.
  // Who computes, in words.
  static std::string Describe();
  static bool Make(const Driver& driver, const Plan& plan,
                   std::shared_ptr<HipfftPlan>* made);
  ~HipfftPlan();
  HipfftPlan(const HipfftPlan&) = delete;
  HipfftPlan& operator=(const HipfftPlan&) = delete;

  // False: it did nothing, and the host has to.
  bool Execute(const Driver& driver, const Plan& plan, const void* input,
               void* output, int sign, Status* status);

 private:
  struct Object;  // of hipFFT

  HipfftPlan(const RocmLibrary& library, Object* object)
      : library_(library), object_(object) {}

  const RocmLibrary& library_;
  Object* const object_;
  std::mutex mutex_;
};

}  // namespace cerberus::libraries::cufft

#endif  // CERBERUS_LIBRARIES_CUFFT_HIPFFT_H_
