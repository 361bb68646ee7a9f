// What Cerberus reads in AMD's code objects and writes into its own:
// docs/launch-abi.md, and LLVM, User Guide for AMDGPU Backend, "ELF Header",
// "Note Records" and "Code Object V3 and Above Metadata".
//
// The emulator has a reader of its own, and these numbers again: it proves
// what is written here.
#ifndef CERBERUS_FORMATS_CODE_OBJECT_H_
#define CERBERUS_FORMATS_CODE_OBJECT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cerberus::formats {

inline constexpr std::uint16_t kElfMachineAmdGpu = 224;  // EM_AMDGPU
inline constexpr std::uint16_t kElfMachineCuda = 190;    // EM_CUDA

// The code object's version: a byte of the ELF header (EI_ABIVERSION).
inline constexpr std::size_t kAbiVersionOffset = 8;
inline constexpr std::uint8_t kAbiVersion4 = 2;
inline constexpr std::uint8_t kAbiVersion5 = 3;

// The note with the metadata.
inline constexpr std::uint32_t kMetadataNoteType = 32;  // NT_AMDGPU_METADATA
inline constexpr std::string_view kMetadataNoteName = "AMDGPU";
inline constexpr std::uint64_t kMetadataNoteAlign = 4;
inline constexpr std::string_view kMetadataTarget = "amdhsa.target";
inline constexpr std::string_view kMetadataTargetPrefix = "amdgcn-amd-amdhsa--";
inline constexpr std::string_view kMetadataKernels = "amdhsa.kernels";

// What Cerberus adds: a MessagePack map.
inline constexpr char kInfoSection[] = ".cerberus.info";
inline constexpr std::string_view kInfoAbi = "abi";
inline constexpr std::string_view kInfoPtxc = "ptxc";
inline constexpr std::string_view kInfoPtx = "ptx";
inline constexpr std::string_view kInfoSm = "sm";
inline constexpr std::string_view kInfoArch = "arch";
inline constexpr std::string_view kInfoConst = "const";
inline constexpr std::string_view kInfoKernels = "kernels";
inline constexpr std::string_view kInfoFailed = "failed";
inline constexpr std::string_view kInfoManaged = "managed";
// Of a kernel.
inline constexpr std::string_view kInfoWarpsPerWave = "warps_per_wave";
inline constexpr std::string_view kInfoMaxntid = "maxntid";
inline constexpr std::string_view kInfoReqntid = "reqntid";
inline constexpr std::string_view kInfoMinnctapersm = "minnctapersm";
inline constexpr std::string_view kInfoOwnShared = "own_shared";
inline constexpr std::string_view kInfoWindow = "window";
inline constexpr std::string_view kInfoTensor = "tensor";
inline constexpr std::string_view kInfoClusters = "clusters";
inline constexpr std::string_view kInfoCluster = "cluster";
inline constexpr std::string_view kInfoMaxCluster = "max_cluster";
inline constexpr std::string_view kInfoExplicitCluster = "explicit_cluster";
inline constexpr std::string_view kInfoBlocksAreClusters =
    "blocks_are_clusters";
inline constexpr std::string_view kInfoLaunches = "launches";
inline constexpr std::string_view kInfoHandle = "handle";

}  // namespace cerberus::formats

#endif  // CERBERUS_FORMATS_CODE_OBJECT_H_
