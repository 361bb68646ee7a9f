// Where NVIDIA's driver has its libraries. Absolute paths only: the loader
// would take the plain names for the libraries of this project.
#ifndef CERBERUS_HIP_NVIDIA_PATHS_H_
#define CERBERUS_HIP_NVIDIA_PATHS_H_

namespace cerberus {

// Debian, Fedora, Arch, Debian's alternatives, WSL, NixOS, and the NVIDIA
// container toolkit.
inline constexpr const char* kNvidiaFolders[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib64/nvidia",
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
};

}  // namespace cerberus

#endif  // CERBERUS_HIP_NVIDIA_PATHS_H_
