// Kernels of a module that nothing prebuilt is there for, compiled one by one
// as they are used: libraries have modules of hundreds, of which a program
// takes a few.
//
// A kernel can be compiled alone where it shares no variable and no address of
// a function with others; the compiler finds out (cerberus-jit --kernel). The
// module is compiled whole for one that cannot, for its variables, and where so
// many were asked for that it had better been.
#ifndef CERBERUS_RUNTIME_STUB_MODULE_KERNELS_ALONE_H_
#define CERBERUS_RUNTIME_STUB_MODULE_KERNELS_ALONE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hip/hip_abi.h"
#include "runtime-stub/device/device.h"
#include "runtime-stub/module/image.h"

namespace cerberus::stub {

// CUDA_MODULE_LOADING=EAGER.
bool LoadsEagerly();

// Those of a text that are better compiled so; none where all of it is to be at
// once: a small text, or CUDA_MODULE_LOADING=EAGER.
std::vector<std::string> KernelsToCompileAsUsed(std::string_view ptx);

class KernelsAlone {
 public:
  struct Entry {
    Code code;  // of one kernel, with its forms
    hipModule_t hip_module = nullptr;

    const KernelInfo& info() const { return code.info.kernels.front(); }
  };

  explicit KernelsAlone(std::vector<std::string> names);

  bool Has(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }  // sorted

  // What was compiled; null: nothing yet.
  Entry* Find(std::string_view name);
  // Null where the module is to be compiled whole.
  Entry* Compile(const Image& image, const Device& device,
                 const std::string& name);

  void ForEach(const std::function<void(Entry&)>& visit);

 private:
  std::vector<std::string> names_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_KERNELS_ALONE_H_
