// What a wheel requires of NVIDIA's wheels, once our libraries answer for those
// in them.
#ifndef CERBERUS_CLI_PACKAGES_NVIDIA_WHEELS_H_
#define CERBERUS_CLI_PACKAGES_NVIDIA_WHEELS_H_

#include <optional>
#include <string>

namespace cerberus::cli {

struct RewrittenRequirement {
  // The value of Requires-Dist; none if it goes.
  std::optional<std::string> text;
  // Of one that stays and does not work here: "nvidia-cutensor-cu12"; else "".
  std::string unanswered;
};

// "nvidia-cublas-cu12==12.9.1.4; platform_system == 'Linux'" goes,
// "cuda-toolkit[cublas,nvrtc]==13.0.*" becomes "cuda-toolkit[nvrtc]==13.0.*".
RewrittenRequirement WithoutAnswered(const std::string& requirement);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_PACKAGES_NVIDIA_WHEELS_H_
