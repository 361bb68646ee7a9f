#include "cli/packages/nvidia_wheels.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "packager/wheel/wheel_family.h"
#include "packager/wheel/wheel_name.h"

namespace cerberus::cli {
namespace {

// Behind "nvidia-", without "-cu12"; extras of cuda-toolkit, too.
constexpr std::string_view kAnswered[] = {"cublas",   "cudnn",    "cufft",
                                          "cusolver", "cusparse", "nccl"};
// These hold no kernels, or PTX.
constexpr std::string_view kWorking[] = {
    "cuda-cccl",    "cuda-crt",           "cuda-nvcc",     "cuda-nvrtc",
    "cuda-runtime", "cudnn-frontend",     "cufile",        "curand",
    "ml-py",        "cuda-profiler-api",  "nvjitlink",     "nvtx",
    "nvvm",         "cuda-cuobjdump",     "cuda-nvdisasm", "cuda-opencl",
    "cuda-nvprune", "cuda-sanitizer-api", "nvfatbin",      "nvptxcompiler"};

template <std::size_t n>
bool Is(const std::string_view (&list)[n], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// "-cu12" and "-cu110" at the end.
std::string_view WithoutCuda(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 &&
         std::isdigit(static_cast<unsigned char>(name[end - 1])) != 0) {
    --end;
  }
  constexpr std::string_view kMark = "-cu";
  const std::string_view front = name.substr(0, end);
  const bool has = end < name.size() && front.size() > kMark.size() &&
                   front.substr(front.size() - kMark.size()) == kMark;
  return has ? front.substr(0, front.size() - kMark.size()) : name;
}

// The extras in "cuda-toolkit[a, b]==13", without those that are answered.
RewrittenRequirement OfToolkit(const std::string& requirement) {
  const std::size_t open = requirement.find('[');
  const std::size_t close = requirement.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open ||
      requirement.find(';') < open) {
    return {requirement, ""};
  }
  std::string extras;
  std::string_view rest(requirement);
  rest = rest.substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string extra(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    extra.erase(
        std::remove_if(extra.begin(), extra.end(),
                       [](unsigned char c) { return std::isspace(c) != 0; }),
        extra.end());
    if (Is(kAnswered, packager::NormalizeName(extra))) continue;
    extras += (extras.empty() ? "" : ",") + extra;
  }
  const std::string in_brackets = extras.empty() ? "" : "[" + extras + "]";
  return {
      requirement.substr(0, open) + in_brackets + requirement.substr(close + 1),
      ""};
}

}  // namespace

RewrittenRequirement WithoutAnswered(const std::string& requirement) {
  const std::string project =
      packager::NormalizeName(packager::ProjectOf(requirement));
  if (project == "cuda-toolkit") return OfToolkit(requirement);
  constexpr std::string_view kPrefix = "nvidia-";
  if (project.rfind(kPrefix, 0) != 0) return {requirement, ""};
  const std::string_view name =
      WithoutCuda(std::string_view(project).substr(kPrefix.size()));
  if (Is(kAnswered, name)) return {};
  return {requirement, Is(kWorking, name) ? "" : project};
}

}  // namespace cerberus::cli
