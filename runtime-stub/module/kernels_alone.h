// Kernels of a module that nothing prebuilt is there for, compiled one by one
// as they are used: libraries have modules of hundreds, of which a program
// takes a few.
//
// A kernel can be compiled alone where it takes no address of code; the
// compiler finds out (cerberus-jit --kernel). All kernels are compiled for one
// that cannot, and where so many were asked for that they had better been.
// Variables that kernels share have a code object of their own, whichever of
// the kernels are compiled (docs/launch-abi.md, "Variables of kernels that are
// compiled apart").
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
    Code code;  // of one kernel, with its forms, or of the variables
    hipModule_t hip_module = nullptr;

    const KernelInfo& info() const { return code.info.kernels.front(); }
  };

  explicit KernelsAlone(std::vector<std::string> names);

  bool Has(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }  // sorted

  // Whether nothing was compiled yet.
  bool empty() const { return entries_.empty(); }
  // What was compiled; null: nothing yet.
  Entry* Find(std::string_view name);
  // Null where all kernels are to be compiled.
  Entry* Compile(const Image& image, const Device& device,
                 const std::string& name);
  // Null where they do not compile.
  Entry* Variables(const Image& image, const Device& device);

  // By names, that of the variables is empty.
  std::map<std::string, Entry, std::less<>>& entries() { return entries_; }

 private:
  Entry* Add(const Image& image, const Device& device, const std::string& name);

  std::vector<std::string> names_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace cerberus::stub

#endif  // CERBERUS_RUNTIME_STUB_MODULE_KERNELS_ALONE_H_
