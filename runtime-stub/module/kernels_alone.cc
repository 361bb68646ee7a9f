#include "runtime-stub/module/kernels_alone.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "images/fatbin.h"

namespace cerberus::stub {
namespace {

// Of PTX: less is compiled in a second or two.
constexpr std::size_t kFewBytes = 300'000;
constexpr std::size_t kFewKernels = 8;
// Reading the text takes its time for each kernel, and all of them are compiled
// on all processors.
constexpr std::size_t kShareOfKernels = 4;

}  // namespace

bool LoadsEagerly() {
  const char* loading = std::getenv("CUDA_MODULE_LOADING");
  return loading != nullptr && std::strcmp(loading, "EAGER") == 0;
}

std::vector<std::string> KernelsToCompileAsUsed(std::string_view ptx) {
  if (ptx.size() < kFewBytes || LoadsEagerly()) return {};
  std::vector<std::string> names = images::KernelNames(ptx);
  if (names.size() < kFewKernels) return {};
  return names;
}

KernelsAlone::KernelsAlone(std::vector<std::string> names)
    : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end());
}

bool KernelsAlone::Has(std::string_view name) const {
  return std::binary_search(names_.begin(), names_.end(), name);
}

KernelsAlone::Entry* KernelsAlone::Find(std::string_view name) {
  const auto at = entries_.find(name);
  return at != entries_.end() ? &at->second : nullptr;
}

KernelsAlone::Entry* KernelsAlone::Compile(const Image& image,
                                           const Device& device,
                                           const std::string& name) {
  if (entries_.size() >=
      std::max(kFewKernels, names_.size() / kShareOfKernels)) {
    return nullptr;
  }
  return Add(image, device, name);
}

KernelsAlone::Entry* KernelsAlone::Variables(const Image& image,
                                             const Device& device) {
  Entry* known = Find("");
  return known != nullptr ? known : Add(image, device, "");
}

KernelsAlone::Entry* KernelsAlone::Add(const Image& image, const Device& device,
                                       const std::string& name) {
  Code code;
  if (!CompileAlone(image, device, name, &code)) return nullptr;
  Entry& entry = entries_[name];
  entry.code = std::move(code);
  return &entry;
}

}  // namespace cerberus::stub
